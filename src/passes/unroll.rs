//! Straight code for short loops: a `for` with constant bounds becomes one copy of its body per
//! iteration.
//!
//! Inner loops go first, so that the size of a body is that of its unrolled code. Bounds that
//! become constant only through unrolling (`for j in range(i)`) show after a round of
//! [`super::simplify`]. A body with `break` or `continue` stays.

use super::copy::Copier;
use super::loops::{counter, trips};
use super::rebuild::Rebuild;
use crate::ir::{BlockId, Function, InstId, Op, Values, straight};

/// A `for` whose number of iterations is known.
pub struct Counted {
    pub body: BlockId,
    pub iterations: u64,
    /// The instructions of the body, blocks in it counted in.
    pub size: usize,
}

/// Unrolls each `for` whose number of iterations is known and which is `wanted`. Says whether there
/// were any.
pub fn run(function: &mut Function, wanted: &dyn Fn(&Function, &Counted) -> bool) -> bool {
    let entry = function.entry;
    let mut unroll = Unroll { rebuild: Rebuild::start(function), wanted, changed: false };
    unroll.block(entry);
    unroll.rebuild.finish(function);
    unroll.changed
}

struct Unroll<'a> {
    rebuild: Rebuild,
    wanted: &'a dyn Fn(&Function, &Counted) -> bool,
    changed: bool,
}

impl Unroll<'_> {
    fn block(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            let op = self.rebuild.visit(id);
            for nested in op.blocks() {
                self.block(nested);
            }
            match self.wanted_iterations(&op) {
                Some(iterations) => self.iterations(id, &op, iterations),
                None => self.rebuild.b.append(id),
            }
        }
        self.rebuild.b.switch_to(outside);
    }

    fn wanted_iterations(&self, op: &Op) -> Option<u64> {
        let function = &self.rebuild.b.function;
        let Op::For { start, end, step, body, .. } = *op else { return None };
        let iterations = trips(function, start, end, step)?;
        let mut size = 0;
        function.walk(body, &mut |_, _| size += 1);
        let counted = Counted { body, iterations, size };
        ((self.wanted)(function, &counted) && !leaves(function, body)).then_some(iterations)
    }

    fn iterations(&mut self, id: InstId, op: &Op, iterations: u64) {
        let Op::For { start, step, init, body, .. } = op else { unreachable!("only `for` has wanted iterations") };
        let span = self.rebuild.b.span;
        let results = self.rebuild.b.function.insts[id].results.clone();
        let params = self.rebuild.b.params(*body).to_vec();
        let mut values: Values = init.clone();
        for iteration in 0..iterations {
            let b = &mut self.rebuild.b;
            b.span = span;
            let (Some(i), Some(scalar)) = (counter(&b.function, *start, *step, iteration), b.ty(*start).as_scalar())
            else {
                unreachable!("the bounds are integer constants")
            };
            let mut copier = Copier::within();
            copier.map(params[0], b.int(scalar, i));
            params[1..].iter().zip(&values).for_each(|(&param, &value)| copier.map(param, value));
            if let Op::Yield(next) = copier.insts(b, *body) {
                values = next;
            }
        }
        results.iter().zip(&values).for_each(|(&result, &value)| self.rebuild.replace(result, value));
        self.changed = true;
    }
}

/// Whether a `break` or `continue` in a loop's body belongs to that loop, or the body does not end
/// in `yield`.
pub(super) fn leaves(function: &Function, body: BlockId) -> bool {
    fn inside(function: &Function, block: BlockId) -> bool {
        function.blocks[block].insts.iter().any(|&id| match &function.insts[id].op {
            Op::Break(_) | Op::Continue(_) => true,
            Op::If { then, otherwise, .. } => inside(function, *then) || inside(function, *otherwise),
            straight!() | Op::For { .. } | Op::While { .. } | Op::Yield(_) | Op::Return(_) => false,
        })
    }
    let yields = function.terminator(body).is_some_and(|inst| matches!(inst.op, Op::Yield(_)));
    !yields || inside(function, body)
}

#[cfg(test)]
mod tests;
