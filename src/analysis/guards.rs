//! Under which conditions is an access made?

use crate::ids::IdMap;
use crate::ir::{BinaryOp, BlockId, Function, InstId, Op, UnaryOp, ValueId};

/// A condition under which code is executed: that it holds, or that it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    pub condition: ValueId,
    pub holds: bool,
}

/// The guards of accesses, by instruction.
pub type Guards = IdMap<InstId, Vec<Guard>>;

/// The guards of the accesses in a block.
pub fn guards(function: &Function, block: BlockId) -> Guards {
    let (mut found, mut held) = (Guards::default(), Vec::new());
    function.blocks[block].insts.iter().for_each(|&id| note_guards(function, id, &mut held, &mut found));
    found
}

/// Those of the accesses in an instruction.
pub fn guards_in(function: &Function, id: InstId) -> Guards {
    let mut found = Guards::default();
    note_guards(function, id, &mut Vec::new(), &mut found);
    found
}

fn note_guards(function: &Function, id: InstId, held: &mut Vec<Guard>, found: &mut Guards) {
    let op = &function.insts[id].op;
    if !held.is_empty() && op.access().is_some() {
        found.insert(id, held.clone());
    }
    let mut inside = |block: BlockId, held: &mut Vec<Guard>| {
        function.blocks[block].insts.iter().for_each(|&id| note_guards(function, id, held, found));
    };
    if let &Op::If { condition, then, otherwise } = op {
        let before = held.len();
        for (holds, block) in [(true, then), (false, otherwise)] {
            hold(function, Guard { condition, holds }, held);
            inside(block, held);
            held.truncate(before);
        }
    } else {
        op.blocks().iter().for_each(|&nested| inside(nested, held));
    }
}

/// Adds a guard, taken apart: both operands of an `and` that holds, and of an `or` that does not.
fn hold(function: &Function, guard: Guard, held: &mut Vec<Guard>) {
    let mut all = vec![guard];
    while let Some(Guard { condition, holds }) = all.pop() {
        let with = |condition| Guard { condition, holds };
        match function.op(condition) {
            Some(&Op::Unary(UnaryOp::Not, a)) => all.push(Guard { condition: a, holds: !holds }),
            Some(&Op::Binary(BinaryOp::And, a, b)) if holds => all.extend([with(a), with(b)]),
            Some(&Op::Binary(BinaryOp::Or, a, b)) if !holds => all.extend([with(a), with(b)]),
            // `a and b`, where `b` is evaluated only if `a` holds, and `a or b`, where only if it
            // does not.
            Some(&Op::If { condition: first, then, otherwise }) => {
                match (yielded(function, then), yielded(function, otherwise)) {
                    (Some(second), Some(end)) if holds && is_bool(function, end, false) => {
                        all.extend([with(first), with(second)]);
                    }
                    (Some(end), Some(second)) if !holds && is_bool(function, end, true) => {
                        all.extend([with(first), with(second)]);
                    }
                    _ => held.push(with(condition)),
                }
            }
            // Any other condition is a guard as it is.
            _ => held.push(with(condition)),
        }
    }
}

fn is_bool(function: &Function, value: ValueId, wanted: bool) -> bool {
    function.as_const(value).is_some_and(|c| c.bits == u64::from(wanted))
}

/// What a block yields, if it is one value.
fn yielded(function: &Function, block: BlockId) -> Option<ValueId> {
    if let [value] = function.yielded(block)[..] { Some(value) } else { None }
}
