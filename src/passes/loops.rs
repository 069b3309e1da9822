//! How often does a loop run, and where are there any?

use crate::ir::{BlockId, Function, Op, ValueId};

/// Whether there is a loop in a block or in those nested in it.
pub fn has_loop(function: &Function, block: BlockId) -> bool {
    let mut some = false;
    function.walk(block, &mut |_, inst| some |= matches!(inst.op, Op::For { .. } | Op::While { .. }));
    some
}

/// The number of iterations of a `for` with constant bounds (rule 4).
pub fn trips(function: &Function, start: ValueId, end: ValueId, step: ValueId) -> Option<u64> {
    let int = |value: ValueId| function.as_const(value)?.as_int();
    let (start, end, step) = (int(start)?, int(end)?, int(step)?);
    let distance = match step {
        0 => 0,
        1.. => end - start,
        _ => start - end,
    };
    // Bounds have 64 bits at most, so that 128 hold everything.
    u64::try_from(if distance <= 0 { 0 } else { (distance + step.abs() - 1) / step.abs() }).ok()
}

/// The counter of iteration `n` (rule 4: it fits in its type where the iteration takes place).
pub fn counter(function: &Function, start: ValueId, step: ValueId, iteration: u64) -> Option<i128> {
    let int = |value: ValueId| function.as_const(value)?.as_int();
    Some(int(start)? + int(step)? * i128::from(iteration))
}
