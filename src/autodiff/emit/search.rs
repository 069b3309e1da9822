//! Loops that look for the largest or smallest value: only the iteration that found it has a
//! derivative, so the reverse is a branch, no loop.

use super::loops::Backwards;
use super::reverse::Reverse;
use super::state::Sweep;
use crate::autodiff::storage::plan::{Plan, body_of};
use crate::ir::{BinaryOp, CompareOp, Inst, InstId, Op, ValueId, Values};
use crate::types::{Scalar, Type};

impl Reverse<'_> {
    /// Whether all that a loop differentiates is largest and smallest values, each found by one
    /// iteration. `Slot::Extreme` says that nothing but `max` or `min` reads a value so far; then
    /// no adjoint enters the body but through what was found.
    pub fn is_search(&self, id: InstId, inst: &Inst, plan: &Plan, sweep: &Sweep) -> bool {
        let found = |n: &usize| sweep.extremes.iter().any(|(slot, ..)| slot == n);
        matches!(inst.op, Op::For { .. })
            && !plan.active.is_empty()
            && plan.active.iter().all(found)
            && !plan.keeps()
            && !self.facts.stores_floats(id)
    }

    /// The reverse of a search. `carried`: the adjoints of the slots and then of values from
    /// outside, as round a loop.
    pub fn reverse_search(&mut self, inst: &Inst, plan: &Plan, sweep: &Sweep, mut carried: Values, types: &[Type]) {
        for &(n, _, reached) in &sweep.extremes {
            let Some(at) = plan.active.iter().position(|&slot| slot == n) else { continue };
            let zero = self.b.int(Scalar::I32, 0);
            let condition = self.b.compare(CompareOp::Gt, reached, zero);
            let (then, otherwise) = (self.b.new_block(&[]), self.b.new_block(&[]));
            let outside = self.b.switch_to(then);
            let before = (std::mem::take(&mut self.adjoints), std::mem::take(&mut self.parts));
            let next = self.reverse_found(inst, plan, sweep, &carried, at, reached);
            (self.adjoints, self.parts) = before;
            self.b.yield_(&next);
            self.b.switch_to(otherwise);
            self.b.yield_(&carried);
            self.b.switch_to(outside);
            carried = self.b.push(Op::If { condition, then, otherwise }, types).into_iter().collect();
        }
        self.pass_out_of_loop(inst, plan, &carried);
    }

    /// The reverse of the iteration that found the value of the active slot `at`: its adjoint goes
    /// to what was found there, and nothing is left for the value before.
    fn reverse_found(
        &mut self,
        inst: &Inst,
        plan: &Plan,
        sweep: &Sweep,
        carried: &[ValueId],
        at: usize,
        reached: ValueId,
    ) -> Vec<ValueId> {
        let old = self.old;
        let (body, first) = body_of(&inst.op).expect("a loop");
        let params = &old.blocks[body].params[first..];
        let iteration = self.bind_found(inst, plan, reached);
        self.bind_linear(inst, plan, params, iteration);
        self.bind_extremes(inst, sweep, params, iteration);
        let slots = plan.active.len();
        let (seed, ty) = (carried[at], self.b.ty(carried[at]));
        let Some(&Op::Binary(BinaryOp::Max | BinaryOp::Min, _, found)) = old.op(old.yielded(body)[plan.active[at]])
        else {
            unreachable!("an extreme is what `max` or `min` gives")
        };
        let none = self.b.zero(ty);
        let rest = self.reverse_seeded(plan, body, &carried[slots..], &[(found, seed)]);
        let mut next: Vec<ValueId> = carried[..slots].to_vec();
        next[at] = none;
        next.extend(rest);
        next
    }

    /// Gives the counter its value in the iteration before `reached` were done; the number of that
    /// iteration.
    fn bind_found(&mut self, inst: &Inst, plan: &Plan, reached: ValueId) -> ValueId {
        let one = self.b.int(Scalar::I32, 1);
        let last = self.b.binary(BinaryOp::Sub, reached, one);
        let Op::For { start, body, .. } = &inst.op else { return last };
        let first = self.old.as_const(*start).and_then(|c| c.as_int());
        let (Some(first), Some(1)) = (first, self.unit_step(&inst.op)) else {
            return self.bind_counter(inst, plan, &Backwards::Iterations(reached), last);
        };
        // One sum, not two: from 1 on, the counter is `reached`.
        let counter = self.old.blocks[*body].params[0];
        let scalar = self.old.ty(counter).as_scalar().unwrap_or(Scalar::I32);
        let (before, reached) = (first.abs_diff(1), self.b.cast(reached, scalar));
        let op = if first < 1 { BinaryOp::Sub } else { BinaryOp::Add };
        let distance = self.b.int(scalar, i128::try_from(before).unwrap_or(0));
        let value = self.b.binary(op, reached, distance);
        self.bind(counter, value);
        // It is read in a few places, and says more there than by a name.
        self.b.function.values[value].name = None;
        last
    }
}
