//! Loops whose iterations each get code of their own: the forward sweep and the reverse sweep of
//! [`crate::autodiff::Store::Unroll`].

use super::reverse::Reverse;
use super::state::{Kept, Sweep};
use crate::autodiff::storage::plan::Plan;
use crate::ir::{Inst, InstId, Op, ValueId, Values};
use crate::passes::loops::counter;
use crate::types::Scalar;

impl Reverse<'_> {
    /// The forward sweep, iteration by iteration: what is kept stays in values.
    pub fn unrolled_sweep(&mut self, id: InstId, inst: &Inst, keep: bool) {
        let Op::For { start, step, init, body, .. } = &inst.op else { return };
        let (old, plan) = (self.old, self.strategy.plans[&id].clone());
        let params = &old.blocks[*body].params;
        let live = self.live_slots(inst, params, 1);
        let mut values: Vec<ValueId> = live.iter().map(|&n| self.primal(init[n])).collect();
        let mut kept = Vec::new();
        for iteration in 0..plan.iterations.unwrap_or(0) {
            self.bind_iteration(*start, *step, params[0], iteration);
            live.iter().zip(&values).for_each(|(&n, &value)| self.bind(params[1 + n], value));
            if keep {
                kept.push(plan.kept().into_iter().map(|n| (n, self.primal(params[1 + n]))).collect());
            }
            self.replay(*body, false);
            values = live.iter().map(|&n| self.primal(old.yielded(*body)[n])).collect();
        }
        live.iter().zip(&values).for_each(|(&n, &value)| self.bind(inst.results[n], value));
        if keep {
            self.sweeps.insert(id, Sweep { kept: Some(Kept::Iterations(kept)), ..Sweep::default() });
        }
    }

    /// Gives the counter of an unrolled loop its value in an iteration.
    fn bind_iteration(&mut self, start: ValueId, step: ValueId, param: ValueId, iteration: u64) {
        let value = counter(self.old, start, step, iteration);
        let scalar = self.old.ty(param).as_scalar().unwrap_or(Scalar::I32);
        let value = self.b.int(scalar, value.unwrap_or(0));
        self.primals[param] = Some(value);
    }

    /// The reverse of an unrolled loop: the same operations in the same order as in a loop, so that
    /// the bits are the same.
    pub fn reverse_unrolled(&mut self, id: InstId, inst: &Inst, plan: &Plan, carried: Values) {
        let Op::For { start, step, body, .. } = &inst.op else { return };
        let params = &self.old.blocks[*body].params;
        let Some(Kept::Iterations(kept)) = self.sweeps.remove(&id).and_then(|sweep| sweep.kept) else {
            self.faults.push("an unrolled loop has no forward sweep".into());
            return;
        };
        let before = (std::mem::take(&mut self.adjoints), std::mem::take(&mut self.parts));
        let mut carried = carried.to_vec();
        for (iteration, state) in kept.iter().enumerate().rev() {
            self.bind_iteration(*start, *step, params[0], iteration as u64);
            state.iter().for_each(|&(n, value)| self.bind(params[1 + n], value));
            let number = self.b.int(Scalar::I32, iteration as i128);
            self.bind_linear(inst, plan, &params[1..], number);
            carried = self.reverse_iteration(plan, *body, &params[1..], &carried);
            self.adjoints.clear();
            self.parts.clear();
        }
        (self.adjoints, self.parts) = before;
        self.pass_out_of_loop(inst, plan, &carried);
    }
}
