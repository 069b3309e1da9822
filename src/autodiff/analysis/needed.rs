//! Which values of the forward program does reverse code read? The adjoint rules name the first
//! ones; the rest is what it takes to compute those again.

use super::fills::Fills;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Function, InstId, Op, ValueDef, ValueId, accesses, effects, jumps, straight, values};

/// All values that computing `roots` takes, themselves included, on the way not looking behind
/// those that are `given`. The results of `leaves` are not computed again: they take only the value
/// given there, if any. A tile takes all that fills it.
pub fn closure(
    function: &Function,
    holders: &[Option<InstId>],
    fills: &Fills,
    roots: impl IntoIterator<Item = ValueId>,
    given: &dyn Fn(ValueId) -> bool,
    leaves: &IdMap<InstId, Option<ValueId>>,
) -> IdSet<ValueId> {
    let mut found = IdSet::default();
    let mut work: Vec<ValueId> = roots.into_iter().collect();
    while let Some(value) = work.pop() {
        if !found.insert(value) || given(value) {
            continue;
        }
        match function.values[value].def {
            ValueDef::Result(inst, _) if leaves.contains_key(&inst) => work.extend(leaves[&inst]),
            ValueDef::Result(inst, n) => match &function.insts[inst].op {
                Op::If { condition, then, otherwise } => {
                    work.push(*condition);
                    work.extend([then, otherwise].iter().filter_map(|&&b| function.yielded(b).get(n as usize)));
                }
                Op::For { .. } | Op::While { .. } => slot(function, inst, n as usize, &mut work),
                Op::LocalArray => {
                    for &writer in fills.fills(value) {
                        control(function, writer, &mut work);
                    }
                }
                op @ (values!()
                | Op::Call(..)
                | Op::Extent(..)
                | Op::IsSet(_)
                | Op::Gradient(_)
                | Op::Address(_)
                | Op::ArrayAt { .. }
                | Op::View(..)
                | Op::SharedArray
                | accesses!()
                | effects!()
                | jumps!()) => op.for_each_operand(|v| work.push(v)),
            },
            ValueDef::Param(block, n) => {
                if let Some(inst) = holders[block.0 as usize] {
                    let first = u32::from(matches!(function.insts[inst].op, Op::For { .. }));
                    match n.checked_sub(first) {
                        Some(n) => slot(function, inst, n as usize, &mut work),
                        None => bounds(function, inst, &mut work),
                    }
                }
            }
        }
    }
    found
}

/// What computing slot `n` of a loop takes.
fn slot(function: &Function, inst: InstId, n: usize, work: &mut Vec<ValueId>) {
    bounds(function, inst, work);
    if let Op::For { init, body, .. } | Op::While { init, body, .. } = &function.insts[inst].op {
        work.extend(init.get(n));
        work.extend(function.yielded(*body).get(n));
    }
}

/// What doing an instruction again for its effects takes besides those of the instructions in it.
fn control(function: &Function, inst: InstId, work: &mut Vec<ValueId>) {
    match &function.insts[inst].op {
        Op::If { condition, .. } => work.push(*condition),
        Op::For { .. } | Op::While { .. } => bounds(function, inst, work),
        op @ (straight!() | jumps!()) => op.for_each_operand(|v| work.push(v)),
    }
}

/// What decides the number of iterations.
pub fn bounds(function: &Function, inst: InstId, work: &mut Vec<ValueId>) {
    match &function.insts[inst].op {
        Op::For { start, end, step, .. } => work.extend([*start, *end, *step]),
        Op::While { condition, .. } => work.extend(function.yielded(*condition)),
        straight!() | Op::If { .. } | jumps!() => {}
    }
}
