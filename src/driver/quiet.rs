//! Which kernels would `kc check` say nothing of, whatever becomes of their gradients?
//!
//! Warnings about gradients are for files that ask for one. Errors are for all files, and come of
//! few operations: atomics whose order counts, bits of floats, functions without a derivative. A
//! kernel with neither need not be differentiated.

use std::collections::HashMap;

use crate::diag::policy::asks_for_gradient;
use crate::ids::{IdMap, IdSet};
use crate::ir::{AtomicOp, Derivative, FuncId, Function, Module, Op, ValueId};
use crate::library::Library;
use crate::source::{FileId, SourceFile, SourceMap};

/// What is known of the functions of a module.
pub(super) struct Quiet<'a> {
    module: &'a Module,
    sources: &'a SourceMap,
    asks: HashMap<FileId, bool>,
    /// Whether something may be said of a function itself.
    known: IdMap<FuncId, bool>,
}

impl<'a> Quiet<'a> {
    pub(super) fn new(module: &'a Module, sources: &'a SourceMap) -> Quiet<'a> {
        Quiet { module, sources, asks: HashMap::new(), known: IdMap::default() }
    }

    /// Whether nothing is to be said of the gradient of a kernel.
    pub(super) fn is_quiet(&mut self, kernel: FuncId) -> bool {
        // What the library's own rules stand for is not looked into.
        let has_body = |function: &Function| match function.derivative {
            Derivative::Rule { .. } | Derivative::Zero(_) => !function.library,
            _ => true,
        };
        self.module.reached_through(kernel, has_body).into_iter().all(|id| !self.speaks(id))
    }

    fn speaks(&mut self, id: FuncId) -> bool {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let function = &self.module.functions[id];
        let speaks = may_fail(self.module, function) || !function.library && self.is_asked(function);
        self.known.insert(id, speaks);
        speaks
    }

    /// Whether a file that asks for a gradient has a part in a function.
    fn is_asked(&mut self, function: &Function) -> bool {
        let mut files = vec![function.span.file];
        function.walk(function.entry, &mut |_, inst| {
            if !files.contains(&inst.span.file) {
                files.push(inst.span.file);
            }
        });
        let (asks, sources) = (&mut self.asks, self.sources);
        // Nothing is said of what is inlined of the library.
        let of_file = |file: &SourceFile| {
            let library = file.path.to_str().is_some_and(|path| Library::text(path).is_some());
            !library && asks_for_gradient(&file.text)
        };
        files.into_iter().any(|file| *asks.entry(file).or_insert_with(|| of_file(sources.file(file))))
    }
}

/// Whether the gradient of a function may be an error.
fn may_fail(module: &Module, function: &Function) -> bool {
    match function.derivative {
        Derivative::Body => {}
        Derivative::Zero(_) => return false,
        _ => return true,
    }
    let floats = |value: ValueId| function.ty(value).holds_floats(&module.structs);
    let (mut used, mut changed, mut fails) = (IdSet::default(), Vec::new(), function.native.is_some());
    function.walk(function.entry, &mut |_, inst| {
        inst.op.for_each_operand(|operand| _ = used.insert(operand));
        if let Op::Atomic { op, value, .. } = &inst.op
            && floats(*value)
        {
            fails |= matches!(op, AtomicOp::Min | AtomicOp::Max | AtomicOp::Exchange);
            changed.extend(inst.results.iter().copied());
        } else if let Op::AtomicCas { new, .. } = &inst.op {
            fails |= floats(*new);
        }
        fails |= matches!(inst.op, Op::Bitcast(_));
    });
    fails || changed.iter().any(|result| used.contains(result))
}
