//! The form that can be reversed: one exit per region, local arrays as values, and calls only of functions that keep an
//! adjoint of their own.

use crate::analysis::effects::EffectTable;
use crate::autodiff::analysis::written::Written;
use crate::diag::Diagnostic;
use crate::ids::IdSet;
use crate::ir::{Derivative, FuncId, Function, Module, Op};
use crate::passes::inline;
use crate::passes::pipelines::reversible;

/// Calls nest no deeper than this (each round inlines one level of those that only then turn out to need it).
const MAX_ROUNDS: usize = 64;

/// A copy of a function in normal form. Calls of functions that differentiation made stay.
pub(super) fn normal_form(
    module: &Module,
    effects: &EffectTable,
    id: FuncId,
    generated: &IdSet<FuncId>,
) -> Result<Function, Diagnostic> {
    let mut copy = module.functions[id].clone();
    for _ in 0..MAX_ROUNDS {
        replace_by_replay(module, &mut copy);
        let calls = calls_to_inline(module, &copy, effects, generated);
        let wanted = |callee: FuncId| calls.contains(&callee);
        match inline::run(&mut copy, module, &wanted) {
            Ok(true) => {}
            Ok(false) => break,
            Err(large) => {
                let name = &module.functions[large.callee].source_name;
                return Err(crate::autodiff::analysis::refuse::limit(
                    large.span,
                    format!("with `{name}` the code grows too large"),
                ));
            }
        }
    }
    // The choices in reverse code are guards, which have rules of their own.
    reversible(&mut copy, &module.structs, effects, !generated.contains(&id));
    Ok(copy)
}

/// Functions that have a stand-in for reverse code.
fn replace_by_replay(module: &Module, function: &mut Function) {
    for inst in function.insts.values_mut() {
        if let Op::Call(callee, _) = &mut inst.op
            && let Derivative::Replay(stand_in) = module.functions[*callee].derivative
        {
            *callee = stand_in;
        }
    }
}

/// Functions with effects, and those given an array that this function writes: an adjoint function could not tell whether what
/// they read is still there.
fn calls_to_inline(
    module: &Module,
    function: &Function,
    effects: &EffectTable,
    generated: &IdSet<FuncId>,
) -> Vec<FuncId> {
    let written = Written::of(&module.structs, effects, function);
    let mut found = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        let Op::Call(callee, args) = &inst.op else { return };
        let body = matches!(module.functions[*callee].derivative, Derivative::Body | Derivative::Replay(_));
        if !body || generated.contains(callee) || found.contains(callee) {
            return;
        }
        let shared = args.iter().any(|&arg| {
            function.ty(arg).bears_array(&module.structs)
                && (matches!(function.ty(arg), crate::types::Type::Local(_)) || written.overwrites_any(function, arg))
        });
        if !effects[*callee].is_removable() || shared {
            found.push(*callee);
        }
    });
    found
}
