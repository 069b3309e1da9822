//! Which functions have no effects, and which write to no array?

use crate::ids::IdVec;
use crate::ir::{Derivative, FuncId, Function, Module, Op};

/// For each function: a call whose results nothing uses can go. A `while` counts as an effect, since it may not end.
pub fn effect_free(module: &Module) -> IdVec<FuncId, bool> {
    without(module, |op| matches!(op, Op::While { .. }) || has_effect(op))
}

/// For each function: it writes to no array.
pub fn read_only(module: &Module) -> IdVec<FuncId, bool> {
    without(module, |op| matches!(op, Op::Store { .. } | Op::Atomic { .. } | Op::AtomicCas { .. }))
}

/// The functions in which no operation does something, nor in those that they call.
fn without(module: &Module, does: impl Fn(&Op) -> bool) -> IdVec<FuncId, bool> {
    // Everything starts as free; effects spread from callees to callers until nothing changes.
    // An adjoint whose body is not yet written adds to the gradients of arrays.
    let open = |f: &Function| {
        let arrays = f.params().iter().any(|&p| f.ty(p).bears_array(&module.structs));
        matches!(f.derivative, Derivative::AdjointOf(_)) && arrays
    };
    let mut free: IdVec<FuncId, bool> = module.functions.values().map(|f| !open(f)).collect();
    loop {
        let mut changed = false;
        for (id, function) in module.functions.iter() {
            let mut ok = true;
            function.walk(function.entry, &mut |_, inst| {
                ok &= match &inst.op {
                    Op::Call(callee, _) => free[*callee],
                    op => !does(op),
                };
            });
            if free[id] && !ok {
                free[id] = false;
                changed = true;
            }
        }
        if !changed {
            return free;
        }
    }
}

/// Whether the operation itself does more than give its results. A load does not: see [`super`].
pub fn has_effect(op: &Op) -> bool {
    matches!(op, Op::Store { .. } | Op::Atomic { .. } | Op::AtomicCas { .. } | Op::Print { .. } | Op::Assert { .. })
}
