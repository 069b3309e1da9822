//! Which functions have to round each operation as it is written?
//!
//! The derivative of an atomic minimum or maximum computes its value again and compares it with
//! what the element holds. Where a multiplication and an addition fuse in one of the two entries
//! and not in the other, the bits differ, and the gradient is lost.

use std::collections::HashSet;

use crate::ids::IdSet;
use crate::ir::{AtomicOp, Derivative, FuncId, Function, Module, Op, Phase, ValueId};

/// All functions of kernels with a gradient whose entries must compute the same bits.
pub fn as_written(module: &Module) -> IdSet<FuncId> {
    let compares = |&id: &FuncId| has_extremes(module, &module.functions[id]);
    let kernels: HashSet<&str> = module
        .kernels()
        .filter(|(_, f)| {
            f.phase == Phase::Forward && !matches!(f.derivative, Derivative::None(_) | Derivative::Zero(_))
        })
        .filter(|&(id, _)| module.reached_from(id).iter().any(compares))
        .map(|(_, f)| f.source_name.as_str())
        .collect();
    let entries = module.kernels().filter(|(_, f)| kernels.contains(f.source_name.as_str()));
    entries.flat_map(|(id, _)| module.reached_from(id)).collect()
}

fn has_extremes(module: &Module, function: &Function) -> bool {
    let mut found = false;
    function.walk(function.entry, &mut |_, inst| {
        found |= matches!(inst.op, Op::Atomic { op: AtomicOp::Min | AtomicOp::Max, value, .. }
            if function.ty(value).holds_floats(&module.structs) && !is_read(function, value));
    });
    found
}

/// Whether a value is what was in memory, and no arithmetic made it.
fn is_read(function: &Function, value: ValueId) -> bool {
    match function.def(value) {
        Some(inst) => matches!(inst.op, Op::Load(_) | Op::Const(_)),
        None => function.params().contains(&value),
    }
}
