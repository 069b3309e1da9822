//! Which barriers do some threads of a block not come to? Those that wait there wait for ever (CUDA
//! C++ Programming Guide, "Synchronization Functions": a barrier in conditional code is allowed
//! only where the condition is the same for the whole block).

use std::collections::{BTreeSet, HashSet};

use super::effects::{EffectTable, effects};
use super::uniformity::{Coordinates, Dependence, Uniformity};
use crate::ir::*;
use crate::source::Span;

/// A barrier, or a call of a function with one, that only some threads of a kernel may come to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Divergent {
    /// A line that says so.
    pub text: String,
    pub kernel: FuncId,
    pub span: Span,
    /// It waits for all threads of the launch, and not for those of a block alone.
    pub of_grid: bool,
}

/// All of them in a module.
pub fn divergent(module: &Module) -> Vec<Divergent> {
    let barriers = |function: &Function| {
        let mut any = false;
        function.walk(function.entry, &mut |_, inst| {
            any |= inst.op.properties().synchronises && !matches!(inst.op, Op::Call(..))
        });
        any
    };
    // Most programs have none, and those of the library are known from earlier ones.
    let waits = |id: FuncId| match module.functions.linked(id) {
        Some(linked) => linked.facts.get_or_find(|| HasBarrier(barriers(&module.functions[id]))).0,
        None => barriers(&module.functions[id]),
    };
    if !module.functions.ids().any(waits) {
        return Vec::new();
    }
    let mut search =
        Search { module, effects: effects(module), kernel: FuncId(0), seen: HashSet::new(), found: BTreeSet::new() };
    for (id, _) in module.kernels() {
        search.kernel = id;
        search.function(id, &[]);
    }
    search.found.into_iter().collect()
}

/// What is remembered of a function of the library.
struct HasBarrier(bool);

struct Search<'m> {
    module: &'m Module,
    effects: EffectTable,
    /// Where the search began.
    kernel: FuncId,
    /// Functions, with what their arguments depend on.
    seen: HashSet<(FuncId, Vec<Dependence>)>,
    found: BTreeSet<Divergent>,
}

impl Search<'_> {
    /// All threads come to this call, whose arguments depend on these.
    fn function(&mut self, id: FuncId, args: &[Dependence]) {
        let function = &self.module.functions[id];
        if function.native.is_some() || !self.seen.insert((id, args.to_vec())) {
            return;
        }
        let uniformity = Uniformity::of_call(function, &self.effects, args);
        for (inst, control) in uniformity.waits() {
            let op = &function.insts[inst].op;
            if let Op::Call(callee, args) = op
                && control.is_empty()
            {
                let args: Vec<Dependence> = args.iter().map(|&arg| uniformity.dependence(arg)).collect();
                self.function(*callee, &args);
            }
            // CUDA text may wait: what it does is unknown.
            let is_text = matches!(op, Op::Call(callee, _) if self.module.functions[*callee].native.is_some());
            if !is_text && !control.is_empty() {
                self.report(function, inst, control);
            }
        }
    }

    fn report(&mut self, function: &Function, inst: InstId, control: Coordinates) {
        let Inst { op, span, .. } = &function.insts[inst];
        let of_grid = if let Op::Call(callee, _) = op {
            self.module.grid_sync_below(*callee).is_some()
        } else {
            matches!(op, Op::GridSync)
        };
        let what = if let Op::Call(callee, _) = op {
            format!("a call of `{}`, which has a barrier,", self.module.functions[*callee].source_name)
        } else {
            "a barrier".to_string()
        };
        let threads = if of_grid { "the launch" } else { "a block" };
        let along: Vec<String> = (0..4).filter(|&n| control.contains(n)).map(|n| n.to_string()).collect();
        let text = format!(
            "in `{}`, only some threads of {threads} come to {what} for which their index along dimension {} decides; the others would \
             wait for ever",
            function.source_name,
            along.join(" and "),
        );
        self.found.insert(Divergent { text, kernel: self.kernel, span: *span, of_grid });
    }
}
