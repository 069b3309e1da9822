//! Loops: the forward sweep that keeps state, and the reverse sweep from the last iteration to the
//! first.

use super::reverse::Reverse;
use super::snapshots::NUMBER;
use super::state::{Kept, Sweep};
use crate::autodiff::Store;
use crate::autodiff::storage::plan::{Plan, Slot, body_of};
use crate::ir::{BinaryOp, BlockId, CompareOp, Inst, InstId, Op, ValueDef, ValueId, Values, jumps, straight};
use crate::types::{I32, Scalar, Type};

/// The counter of a `for` and how it goes backwards.
pub enum Backwards {
    /// By a `for` over the counter itself.
    Direct { start: ValueId, end: ValueId, step: ValueId },
    /// The same over the counter plus the step, where a bound less the step may not fit.
    Shifted { start: ValueId, end: ValueId, step: ValueId },
    /// Forwards over the same range, where the type has no negative step; the counter is
    /// `last - (at - start)`.
    Mirrored { start: ValueId, end: ValueId, step: ValueId, last: ValueId },
    /// By the number of the iteration.
    Iterations(ValueId),
}

impl Reverse<'_> {
    /// Runs a loop forwards: for its results, and if `keep`, for what its reverse sweep needs.
    pub fn forward_sweep(&mut self, id: InstId, inst: &Inst, keep: bool) {
        let old = self.old;
        let (body, first) = body_of(&inst.op).expect("a loop");
        let params = &old.blocks[body].params;
        if self.strategy.plans.get(&id).is_some_and(|plan| plan.store == Store::Unroll) {
            return self.unrolled_sweep(id, inst, keep);
        }
        let plan = keep.then(|| self.strategy.plans[&id].clone());
        // A checkpointed loop keeps nothing on the way; it starts again from snapshots.
        let keeps = plan.as_ref().is_some_and(|plan| plan.keeps() && plan.store != Store::Checkpoint);
        let counts = keep && first == 0;
        let wanted = self.fills(id) || inst.results.iter().any(|r| self.scope.contains(r));
        let extremes = plan.as_ref().map_or(Vec::new(), Plan::extremes);
        if !(wanted || keeps || counts || !extremes.is_empty()) {
            self.sweeps.insert(id, Sweep::default());
            return;
        }
        let live = self.live_slots(inst, params, first);
        let kept = if keeps { self.make_store(plan.as_ref().expect("kept"), inst) } else { None };
        let numbers_extremes = !extremes.is_empty() && !self.iteration_from_counter(&inst.op);
        let numbered = counts
            || numbers_extremes
            || (keeps && (matches!(kept, Some(Kept::Tape(_))) || !self.iteration_from_counter(&inst.op)));
        let mut types: Vec<Type> = live.iter().map(|&n| old.ty(inst.results[n])).collect();
        types.extend(numbered.then_some(I32));
        types.extend(extremes.iter().map(|_| I32));
        let (Op::For { init: starts, .. } | Op::While { init: starts, .. }) = &inst.op else { return };
        let mut init: Values = live.iter().map(|&n| self.primal(starts[n])).collect();
        if numbered {
            init.push(self.b.int(Scalar::I32, 0));
        }
        extremes.iter().for_each(|_| init.push(self.b.int(Scalar::I32, 0)));
        let iteration_at = numbered.then_some(live.len());
        let op = match &inst.op {
            Op::For { start, end, step, .. } => {
                let (start, end, step) = (self.primal(*start), self.primal(*end), self.primal(*step));
                let body = self.sweep_body(inst, body, 1, &live, &types, iteration_at, &extremes, kept.as_ref());
                Op::For { start, end, step, init, body }
            }
            Op::While { condition, .. } => {
                let test = self.condition_block(*condition, &live, &types);
                let body = self.sweep_body(inst, body, 0, &live, &types, iteration_at, &extremes, kept.as_ref());
                Op::While { init, condition: test, body }
            }
            straight!() | Op::If { .. } | jumps!() => return,
        };
        let results = self.b.push(op, &types);
        for (&n, &new) in live.iter().zip(&results) {
            self.bind(inst.results[n], new);
        }
        let iterations = iteration_at.map(|n| results[n]);
        if keep {
            if let Some(iterations) = iterations {
                self.b.name(iterations, "iterations");
            }
            let complete = match (&kept, iterations) {
                (Some(Kept::Tape(taped)), Some(iterations)) => Some(self.close_tape(taped, iterations)),
                _ => None,
            };
            let reached = results.iter().skip(live.len() + usize::from(numbered));
            let extremes =
                extremes.iter().zip(reached).map(|(&n, &reached)| (n, self.primal(inst.results[n]), reached));
            let extremes = extremes.collect();
            self.sweeps.insert(id, Sweep { iterations, kept, extremes, complete });
        }
    }

    /// The slots of a loop that computing it again takes.
    pub fn live_slots(&self, inst: &Inst, params: &[ValueId], first: usize) -> Vec<usize> {
        let tested =
            if let Op::While { condition, .. } = inst.op { self.old.blocks[condition].params.as_slice() } else { &[] };
        let in_scope = |v: Option<&ValueId>| v.is_some_and(|v| self.scope.contains(v));
        (0..inst.results.len())
            .filter(|&n| [inst.results.get(n), params.get(first + n), tested.get(n)].into_iter().any(in_scope))
            .collect()
    }

    /// A copy of a `while`'s condition.
    fn condition_block(&mut self, condition: BlockId, live: &[usize], types: &[Type]) -> BlockId {
        let old = self.old;
        let test = self.b.new_block(types);
        let outside = self.b.switch_to(test);
        for (at, &n) in live.iter().enumerate() {
            self.bind(old.blocks[condition].params[n], self.b.params(test)[at]);
        }
        self.replay(condition, false);
        let holds = self.primals(old.yielded(condition));
        self.b.yield_(&holds);
        self.b.switch_to(outside);
        test
    }

    /// A copy of a loop's body, with the iteration's number among what it carries and the state
    /// kept at its start.
    #[expect(clippy::too_many_arguments, reason = "one caller's locals")]
    fn sweep_body(
        &mut self,
        inst: &Inst,
        body: BlockId,
        first: usize,
        live: &[usize],
        types: &[Type],
        iteration_at: Option<usize>,
        extremes: &[usize],
        kept: Option<&Kept>,
    ) -> BlockId {
        let old = self.old;
        let params = &old.blocks[body].params;
        let mut all: Vec<Type> = params[..first].iter().map(|&p| old.ty(p)).collect();
        all.extend(types);
        let copy = self.b.new_block(&all);
        let outside = self.b.switch_to(copy);
        for (n, &param) in params[..first].iter().enumerate() {
            self.bind(param, self.b.params(copy)[n]);
        }
        for (at, &n) in live.iter().enumerate() {
            self.bind(params[first + n], self.b.params(copy)[first + at]);
        }
        let iteration = iteration_at.map(|at| self.b.params(copy)[first + at]);
        if let Some(iteration) = iteration {
            self.b.name(iteration, "iteration");
        }
        if let Some(kept) = kept {
            let number = match iteration {
                Some(iteration) => iteration,
                None => self.iteration_of_counter(&inst.op, params[0]),
            };
            self.save(kept, number, &params[first..]);
        }
        self.replay(body, false);
        let mut next: Vec<ValueId> = live.iter().map(|&n| self.primal(old.yielded(body)[n])).collect();
        if let Some(iteration) = iteration {
            let one = self.b.int(Scalar::I32, 1);
            next.push(self.b.binary(BinaryOp::Add, iteration, one));
        }
        let reached: Vec<ValueId> = self.b.params(copy)[all.len() - extremes.len()..].to_vec();
        for (&n, &reached) in extremes.iter().zip(&reached) {
            self.b.name(reached, "reached");
            let (before, after) = (self.primal(params[first + n]), self.primal(old.yielded(body)[n]));
            let changed = self.changes(inst, n, [before, after]);
            let number = match iteration {
                Some(iteration) => iteration,
                None => self.iteration_of_counter(&inst.op, params[0]),
            };
            let one = self.b.int(Scalar::I32, 1);
            let done = self.b.binary(BinaryOp::Add, number, one);
            next.push(self.b.select(changed, done, reached));
        }
        self.b.yield_(&next);
        self.b.switch_to(outside);
        copy
    }

    /// Whether this iteration changes the extreme that slot `n` carries, from `before` to `after`.
    fn changes(&mut self, inst: &Inst, n: usize, [before, after]: [ValueId; 2]) -> ValueId {
        // A number is exceeded, or stays; what is no number gives way to every number.
        let (Op::For { init, .. } | Op::While { init, .. }) = &inst.op else { return after };
        let start = self.old.as_const(init[n]).and_then(|c| c.as_float());
        let at = match self.b.function.values[after].def {
            ValueDef::Result(at, _) if start.is_some_and(|start| !start.is_nan()) => at,
            _ => return self.b.compare(CompareOp::Ne, after, before),
        };
        let (op, found) = match self.b.function.insts[at].op {
            Op::Binary(BinaryOp::Max, a, found) if a == before => (CompareOp::Gt, found),
            Op::Binary(BinaryOp::Min, a, found) if a == before => (CompareOp::Lt, found),
            // Not the kept extreme itself: compare.
            _ => return self.b.compare(CompareOp::Ne, after, before),
        };
        let changed = self.b.compare(op, found, before);
        // In front of the new value, which then takes the place of the old one.
        let block = self.b.block();
        let insts = &mut self.b.function.blocks[block].insts;
        if let Some(place) = insts.iter().position(|&inst| inst == at) {
            insts[place..].rotate_right(1);
        }
        changed
    }

    /// 1 or -1 where a `for` steps by that.
    pub fn unit_step(&self, op: &Op) -> Option<i128> {
        let Op::For { step, .. } = op else { return None };
        self.old.as_const(*step)?.as_int().filter(|step| step.abs() == 1)
    }

    /// Whether the number of an iteration follows from the counter without a division.
    fn iteration_from_counter(&self, op: &Op) -> bool {
        self.unit_step(op).is_some()
    }

    /// The number (int32, from 0) of the iteration whose counter is the old value `counter`.
    fn iteration_of_counter(&mut self, op: &Op, counter: ValueId) -> ValueId {
        let Op::For { start, .. } = op else { return self.b.int(Scalar::I32, 0) };
        let first = self.old.as_const(*start).and_then(|c| c.as_int());
        let step = self.unit_step(op).unwrap_or(1);
        let mut counter = self.primal(counter);
        // The distance may not fit in a narrow type with a sign.
        let narrow = self.b.ty(counter).as_scalar().is_some_and(|s| s.is_signed_int() && s.bits() < 32);
        if narrow {
            counter = self.b.cast(counter, Scalar::I32);
        }
        let distance = if first == Some(0) && step == 1 {
            counter
        } else {
            let mut start = self.primal(*start);
            if narrow {
                start = self.b.cast(start, Scalar::I32);
            }
            let (a, b) = if step == 1 { (counter, start) } else { (start, counter) };
            self.b.binary(BinaryOp::Sub, a, b)
        };
        self.b.cast(distance, Scalar::I32)
    }

    pub fn reverse_loop(&mut self, id: InstId, inst: &Inst) {
        let old = self.old;
        let plan = self.strategy.plans[&id].clone();
        let seeds: Vec<Option<ValueId>> = plan.active.iter().map(|&n| self.take(inst.results[n])).collect();
        if seeds.iter().all(Option::is_none) && !self.facts.stores_floats(id) {
            return;
        }
        let sweep = self.sweeps.get(&id).cloned().unwrap_or_default();
        let mut types: Vec<Type> = plan.active.iter().map(|&n| old.ty(inst.results[n])).collect();
        types.extend(plan.outer.iter().map(|&v| old.ty(v)));
        let mut init: Values =
            seeds.iter().zip(&types).map(|(seed, &ty)| seed.unwrap_or_else(|| self.b.zero(ty))).collect();
        init.extend(plan.outer.iter().map(|&v| self.take_or_zero(v)));
        if plan.store == Store::Unroll {
            return self.reverse_unrolled(id, inst, &plan, init);
        }
        if self.is_search(id, inst, &plan, &sweep) {
            return self.reverse_search(inst, &plan, &sweep, init, &types);
        }
        let snapshots = (plan.store == Store::Checkpoint && plan.keeps()).then(|| self.make_snapshots(&plan, inst));
        if let Some(snapshots) = &snapshots {
            init.push(snapshots.top);
            types.push(NUMBER);
        }
        let backwards = if let Op::For { start, end, step, .. } = &inst.op {
            match sweep.iterations.filter(|_| self.unit_step(&inst.op).is_none()) {
                // The forward sweep has counted them.
                Some(iterations) => Backwards::Iterations(iterations),
                None => self.backwards(&plan, &inst.op, [*start, *end, *step]),
            }
        } else {
            Backwards::Iterations(sweep.iterations.unwrap_or_else(|| self.b.int(Scalar::I32, 0)))
        };
        let (counter_ty, range) = self.range(&backwards);
        let mut all = vec![counter_ty];
        all.extend(&types);
        let block = self.b.new_block(&all);
        let outside = self.b.switch_to(block);
        let params: Vec<ValueId> = self.b.params(block).to_vec();
        let iteration = self.bind_counter(inst, &plan, &backwards, params[0]);
        let (body, first) = body_of(&inst.op).expect("a loop");
        let body_params = &old.blocks[body].params[first..];
        let top = match (&snapshots, &sweep.kept) {
            (Some(snapshots), _) => {
                Some(self.go_to_iteration(snapshots, &plan, inst, iteration, *params.last().expect("the top")))
            }
            (None, Some(kept)) => {
                self.restore(kept, iteration, body_params);
                None
            }
            _ => None,
        };
        self.bind_linear(inst, &plan, body_params, iteration);
        self.bind_extremes(inst, &sweep, body_params, iteration);
        let before = (std::mem::take(&mut self.adjoints), std::mem::take(&mut self.parts));
        let mut next = self.reverse_iteration(&plan, body, body_params, &params[1..]);
        next.extend(top);
        self.b.yield_(&next);
        self.b.switch_to(outside);
        let [mut start, end, step] = range;
        if let Some(complete) = sweep.complete {
            // Too small a tape: the run fails, and nothing is read that is not there.
            start = self.b.select(complete, start, end);
        }
        let results = self.b.push(Op::For { start, end, step, init, body: block }, &types);
        (self.adjoints, self.parts) = before;
        self.pass_out_of_loop(inst, &plan, &results);
    }

    /// The reverse of one iteration. `carried`: the adjoints that go round, those of the slots and
    /// then those of values from outside; returns what they become.
    pub fn reverse_iteration(
        &mut self,
        plan: &Plan,
        body: BlockId,
        params: &[ValueId],
        carried: &[ValueId],
    ) -> Vec<ValueId> {
        let old = self.old;
        let (slots, outer) = carried.split_at(plan.active.len());
        let mut seeds = Vec::new();
        for (&n, &adjoint) in plan.active.iter().zip(slots) {
            self.name_after(adjoint, "adj_", params[n]);
            seeds.push((old.yielded(body)[n], adjoint));
        }
        let outer = self.reverse_seeded(plan, body, outer, &seeds);
        let mut next: Vec<ValueId> = plan.active.iter().map(|&n| self.take_or_zero(params[n])).collect();
        next.extend(outer);
        next
    }

    /// The reverse of one iteration from adjoints of some of its values. `outer`: the adjoints of
    /// values from outside; returns what they become.
    pub fn reverse_seeded(
        &mut self,
        plan: &Plan,
        body: BlockId,
        outer: &[ValueId],
        seeds: &[(ValueId, ValueId)],
    ) -> Vec<ValueId> {
        for (&v, &adjoint) in plan.outer.iter().zip(outer) {
            self.name_after(adjoint, "adj_", v);
            self.adjoints.insert(v, adjoint);
        }
        let scope = std::mem::replace(&mut self.scope, plan.needs.clone());
        self.block(body, |this| seeds.iter().for_each(|&(value, adjoint)| this.add(value, adjoint)));
        self.scope = scope;
        plan.outer.iter().map(|&v| self.take_or_zero(v)).collect()
    }

    /// What went round a reverse loop reaches the values from outside and to what the loop started
    /// with.
    pub fn pass_out_of_loop(&mut self, inst: &Inst, plan: &Plan, results: &[ValueId]) {
        for (&v, &result) in plan.outer.iter().zip(&results[plan.active.len()..]) {
            self.name_after(result, "adj_", v);
            self.adjoints.insert(v, result);
        }
        if let Op::For { init, .. } | Op::While { init, .. } = &inst.op {
            for (&n, &result) in plan.active.iter().zip(results) {
                self.add(init[n], result);
            }
        }
    }

    fn backwards(&mut self, plan: &Plan, op: &Op, bounds: [ValueId; 3]) -> Backwards {
        let [start, end, _] = bounds;
        let Some(unit) = self.unit_step(op) else {
            let iterations = match plan.iterations {
                Some(iterations) => self.b.int(Scalar::I32, i128::from(iterations)),
                None => self.count_iterations(bounds),
            };
            return Backwards::Iterations(iterations);
        };
        let scalar = self.old.ty(start).as_scalar().unwrap_or(Scalar::I32);
        if !scalar.is_signed_int() {
            let (start, end) = (self.primal(start), self.primal(end));
            let step = self.b.int(scalar, 1);
            let last = self.b.binary(BinaryOp::Sub, end, step);
            return Backwards::Mirrored { start, end, step, last };
        }
        // Counting down from `end - 1` to `start` ends at `start - 1`, which must fit.
        let fits = [start, end].iter().all(|&v| {
            let least = self.facts.known.ranges.interval(v).map(|r| if unit > 0 { r.low } else { -r.high });
            least.is_some_and(|least| unit > 0 && least > scalar.int_range().0)
        });
        let (start, end) = (self.primal(start), self.primal(end));
        let back = self.b.int(scalar, -unit);
        if fits {
            let one = self.b.int(scalar, unit);
            let last = self.b.binary(BinaryOp::Sub, end, one);
            let before = self.b.binary(BinaryOp::Sub, start, one);
            // An empty range stays empty: last is at most before.
            return Backwards::Direct { start: last, end: before, step: back };
        }
        Backwards::Shifted { start: end, end: start, step: back }
    }

    /// The number of iterations of a `for` (int32), computed in 64 bits without a sign, where every
    /// distance fits.
    fn count_iterations(&mut self, bounds: [ValueId; 3]) -> ValueId {
        let signed = self.old.ty(bounds[0]).as_scalar().is_none_or(Scalar::is_signed_int);
        let rising = self.old.as_const(bounds[2]).and_then(|c| c.as_int()).map(|step| step > 0);
        let [start, end, step] = bounds.map(|v| {
            let copy = self.primal(v);
            self.b.cast(copy, if signed { Scalar::I64 } else { Scalar::U64 })
        });
        let zero = self.b.zero(self.b.ty(step));
        let up = match rising {
            Some(false) if signed => None,
            _ => Some(self.iterations_towards(start, end, step)),
        };
        let down = match rising {
            Some(true) => None,
            _ if !signed => None,
            _ => {
                let size = self.b.binary(BinaryOp::Sub, zero, step);
                Some(self.iterations_towards(end, start, size))
            }
        };
        let iterations = match (up, down) {
            (Some(up), Some(down)) => {
                let rises = self.b.compare(CompareOp::Gt, step, zero);
                self.b.select(rises, up, down)
            }
            (Some(iterations), None) | (None, Some(iterations)) => iterations,
            (None, None) => return self.b.int(Scalar::I32, 0),
        };
        let iterations = if rising.is_none() {
            let stands = self.b.compare(CompareOp::Eq, step, zero);
            let none = self.b.zero(self.b.ty(iterations));
            self.b.select(stands, none, iterations)
        } else {
            iterations
        };
        self.b.cast(iterations, Scalar::I32)
    }

    /// The iterations (uint64) from `from` up to `to` by a step that is positive, or as its bits
    /// without a sign are.
    fn iterations_towards(&mut self, from: ValueId, to: ValueId, step: ValueId) -> ValueId {
        let some = self.b.compare(CompareOp::Lt, from, to);
        let distance = self.b.binary(BinaryOp::Sub, to, from);
        let (distance, step) = (self.b.cast(distance, Scalar::U64), self.b.cast(step, Scalar::U64));
        let (zero, one) = (self.b.int(Scalar::U64, 0), self.b.int(Scalar::U64, 1));
        let less = self.b.binary(BinaryOp::Sub, distance, one);
        let whole = self.b.binary(BinaryOp::Div, less, step);
        let iterations = self.b.binary(BinaryOp::Add, whole, one);
        self.b.select(some, iterations, zero)
    }

    /// The bounds of the reverse `for`, and the type of its counter.
    fn range(&mut self, backwards: &Backwards) -> (Type, [ValueId; 3]) {
        match *backwards {
            Backwards::Direct { start, end, step }
            | Backwards::Shifted { start, end, step }
            | Backwards::Mirrored { start, end, step, .. } => (self.b.ty(start), [start, end, step]),
            Backwards::Iterations(iterations) => {
                let one = self.b.int(Scalar::I32, 1);
                let last = self.b.binary(BinaryOp::Sub, iterations, one);
                let minus = self.b.int(Scalar::I32, -1);
                (I32, [last, minus, minus])
            }
        }
    }

    /// Gives the old counter its value in this iteration of the reverse loop; the number of the
    /// iteration, where it is needed.
    pub fn bind_counter(&mut self, inst: &Inst, plan: &Plan, backwards: &Backwards, at: ValueId) -> ValueId {
        let old = self.old;
        let numbered = plan.slots.iter().any(|slot| *slot != Slot::Dead);
        let Op::For { start, step, body, .. } = &inst.op else {
            self.b.name(at, "iteration");
            return at;
        };
        let counter = old.blocks[*body].params[0];
        match backwards {
            Backwards::Direct { .. } => self.bind(counter, at),
            Backwards::Shifted { step, .. } => {
                let value = self.b.binary(BinaryOp::Add, at, *step);
                self.bind(counter, value);
            }
            Backwards::Mirrored { start, last, .. } => {
                let distance = self.b.binary(BinaryOp::Sub, at, *start);
                let value = self.b.binary(BinaryOp::Sub, *last, distance);
                self.bind(counter, value);
            }
            Backwards::Iterations(_) => {
                self.b.name(at, "iteration");
                let scalar = old.ty(counter).as_scalar().unwrap_or(Scalar::I32);
                let (start, step) = (self.primal(*start), self.primal(*step));
                let iteration = self.b.cast(at, scalar);
                let distance = self.b.binary(BinaryOp::Mul, iteration, step);
                let value = self.b.binary(BinaryOp::Add, start, distance);
                self.bind(counter, value);
                return at;
            }
        }
        if numbered { self.iteration_of_counter(&inst.op, counter) } else { at }
    }

    /// The values of counters at the start of an iteration.
    pub fn bind_linear(&mut self, inst: &Inst, plan: &Plan, params: &[ValueId], iteration: ValueId) {
        for (n, slot) in plan.slots.iter().enumerate() {
            self.bind_slot(inst, n, *slot, params[n], iteration);
        }
    }

    /// What came to its final value after so many iterations.
    pub fn bind_extremes(&mut self, inst: &Inst, sweep: &Sweep, params: &[ValueId], iteration: ValueId) {
        let Op::For { init, .. } = &inst.op else { return };
        for &(n, last, reached) in &sweep.extremes {
            let start = self.primal(init[n]);
            let is_there = self.b.compare(CompareOp::Ge, iteration, reached);
            let value = self.b.select(is_there, last, start);
            self.bind(params[n], value);
        }
    }

    pub fn bind_slot(&mut self, inst: &Inst, n: usize, slot: Slot, param: ValueId, iteration: ValueId) {
        let (Op::For { init, .. } | Op::While { init, .. }) = &inst.op else { return };
        if let Slot::Linear { amount, minus } = slot {
            let scalar = self.old.ty(param).as_scalar().unwrap_or(Scalar::I32);
            let start = self.primal(init[n]);
            // A constant may stand inside the loop, where its copies are out of sight.
            let amount = match self.old.as_const(amount) {
                Some(constant) => self.b.constant(constant),
                None => self.primal(amount),
            };
            let iteration = self.b.cast(iteration, scalar);
            let distance = self.b.binary(BinaryOp::Mul, iteration, amount);
            let op = if minus { BinaryOp::Sub } else { BinaryOp::Add };
            let value = self.b.binary(op, start, distance);
            self.bind(param, value);
        }
    }
}
