//! Does the order of threads show in what a kernel leaves?

use crate::ir::properties::Io;
use crate::ir::{AtomicOp, FuncId, Function, Inst, Module, Op, ValueId};

/// Does a thread of the kernel print? Such kernels run in order on one thread, so that the output is always the same.
pub fn prints(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |_, inst| inst.op.properties().io == Io::Output)
}

/// Does a thread of the kernel update memory atomically?
pub fn has_atomics(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |_, inst| inst.op.properties().atomic)
}

/// Can the order in which threads reach their atomic updates show in the results? Sums of floats round by their order, and
/// old values tell who came first; sums, minima and the like of integers come out the same in any order.
pub fn order_shows(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |function, inst| match &inst.op {
        Op::Atomic { op, value, .. } => {
            let rounds =
                matches!(op, AtomicOp::Add | AtomicOp::Sub) && function.ty(*value).holds_floats(&module.structs);
            rounds || *op == AtomicOp::Exchange || inst.results.iter().any(|&old| is_used(function, old))
        }
        op => op.properties().atomic,
    })
}

/// Does a thread take or replace floats atomically? In forward mode the tangent follows by a load and a store, which are right
/// only where threads run one after the other.
pub fn moves_floats(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |function, inst| match &inst.op {
        Op::Atomic { op: AtomicOp::Min | AtomicOp::Max | AtomicOp::Exchange, value, .. }
        | Op::AtomicCas { new: value, .. } => function.ty(*value).holds_floats(&module.structs),
        _ => false,
    })
}

fn is_used(function: &Function, value: ValueId) -> bool {
    let mut used = false;
    function.walk(function.entry, &mut |_, inst| inst.op.for_each_operand(|v| used |= v == value));
    used
}

/// Whether some instruction of the kernel, or of what it calls, is such an operation; the calls themselves are none.
fn reaches(module: &Module, kernel: FuncId, test: impl Fn(&Function, &Inst) -> bool) -> bool {
    module.reached_from(kernel).into_iter().any(|id| {
        let function = &module.functions[id];
        let mut found = false;
        function.walk(function.entry, &mut |_, inst| {
            found |= !matches!(inst.op, Op::Call(..)) && test(function, inst);
        });
        found
    })
}
