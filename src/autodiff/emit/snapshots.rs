//! Checkpointed loops: snapshots of the state at the start of some iterations, from which the
//! iterations between them are computed again (binomial checkpointing; Griewank and Walther, ACM
//! TOMS 26(1), 2000).

use smallvec::smallvec;

use super::reverse::Reverse;
use crate::autodiff::analysis::world::World;
use crate::autodiff::storage::plan::{Plan, body_of};
use crate::ir::build::Builder;
use crate::ir::{
    Access, BinaryOp, CompareOp, Derivative, Function, FunctionKind, Inst, Op, ResultInfo, ResultRole, ValueDef,
    ValueId, Values,
};
use crate::source::Span;
use crate::types::{BOOL, I32, Scalar, Type};

/// The type of a snapshot's number, which is never negative.
pub const NUMBER: Type = Type::Scalar(Scalar::U32);

const I64: Type = Type::Scalar(Scalar::I64);

/// Room for snapshots of a loop's state.
#[derive(Clone, Debug)]
pub struct Snapshots {
    /// The iteration at whose start each was taken.
    iterations: ValueId,
    /// Per slot of the state, its array.
    slots: Vec<(usize, ValueId)>,
    /// The number of the latest snapshot before the reverse sweep.
    pub top: ValueId,
}

/// The function that says at which iteration the next snapshot is best taken: on the way from
/// iteration `from`, whose state is there, to iteration `to`, with room for `free` more snapshots.
pub fn next_snapshot(world: &World<'_>, span: Span) -> Function {
    let params = ["from", "to", "free"].map(|name| (name.to_string(), I32));
    let name = world.unique_name("next_snapshot".to_string());
    let mut b = Builder::new(&name, FunctionKind::Device, &params, span);
    b.function.source_name = "next_snapshot".to_string();
    b.function.library = true;
    b.function.derivative = Derivative::Zero("it counts iterations".to_string());
    b.function.results = vec![ResultInfo { ty: I32, role: ResultRole::Return, name: None }];
    let [from, to, free] = [0, 1, 2].map(|n| b.function.params()[n]);
    let zero = b.int(Scalar::I32, 0);
    let room = b.compare(CompareOp::Gt, free, zero);
    let (then, otherwise) = (b.new_block(&[]), b.new_block(&[]));
    let outside = b.switch_to(then);
    let found = best_step(&mut b, [from, to, free]);
    b.yield_(&[found]);
    b.switch_to(otherwise);
    b.yield_(&[to]);
    b.switch_to(outside);
    let next = b.push(Op::If { condition: room, then, otherwise }, &[I32])[0];
    if let ValueDef::Result(inst, _) = b.function.values[next].def {
        let text = "where the next snapshot is best taken on the way to iteration `to` (binomial checkpointing)";
        b.function.notes.insert(inst, text.to_string());
    }
    b.effect(Op::Return(smallvec![next]));
    b.finish()
}

/// Of n + 1 snapshots and r repetitions of each iteration, (n + 1 + r choose r) iterations can be
/// reversed. The next snapshot is taken where r - 1 repetitions suffice for what lies before it.
fn best_step(b: &mut Builder, [from, to, free]: [ValueId; 3]) -> ValueId {
    let one = b.int(Scalar::I64, 1);
    let distance = b.binary(BinaryOp::Sub, to, from);
    let distance = b.cast(distance, Scalar::I64);
    b.name(distance, "distance");
    let free = b.cast(free, Scalar::I64);
    let snapshots = b.binary(BinaryOp::Add, free, one);
    b.name(snapshots, "snapshots");
    let covered = b.binary(BinaryOp::Add, snapshots, one);
    // Carried: repetitions r, the iterations that r cover, and that r - 1 cover.
    let types = [I64; 3];
    let test = b.new_block(&types);
    let outside = b.switch_to(test);
    let known = b.params(test)[1];
    let short = b.compare(CompareOp::Le, known, distance);
    b.yield_(&[short]);
    let grow = b.new_block(&types);
    b.switch_to(grow);
    let (repetitions, known) = (b.params(grow)[0], b.params(grow)[1]);
    for (n, name) in ["repetitions", "covered", "covered_before"].into_iter().enumerate() {
        b.name(b.params(grow)[n], name);
    }
    let next = b.binary(BinaryOp::Add, repetitions, one);
    let total = b.binary(BinaryOp::Add, snapshots, next);
    let product = b.binary(BinaryOp::Mul, known, total);
    let more = b.binary(BinaryOp::Div, product, next);
    b.yield_(&[next, more, known]);
    b.switch_to(outside);
    let init: Values = smallvec![one, covered, one];
    let found = b.push(Op::While { init, condition: test, body: grow }, &types)[2];
    let step = b.binary(BinaryOp::Min, found, distance);
    let step = b.cast(step, Scalar::I32);
    b.binary(BinaryOp::Add, from, step)
}

impl Reverse<'_> {
    /// Room for the snapshots of a loop, with the first: the state before the first iteration.
    pub fn make_snapshots(&mut self, plan: &Plan, inst: &Inst) -> Snapshots {
        let (Op::For { init, .. } | Op::While { init, .. }) = &inst.op else { unreachable!("called for loops") };
        let what = "at the start of some iterations; the iterations between them are computed again";
        let slots = self.arrays_for(inst, &plan.snapshot, plan.snapshots, what);
        let iterations = self.local_array(
            I32,
            plan.snapshots,
            Some(("iteration_kept", "the iterations that were kept".to_string())),
        );
        let iterations = iterations.expect("int32 is an element");
        let top = self.b.int(Scalar::U32, 0);
        for &(n, array) in &slots {
            let value = self.primal(init[n]);
            self.b.effect(Op::Store { access: Access::element(array, &[top]), value });
        }
        let zero = self.b.int(Scalar::I32, 0);
        self.b.effect(Op::Store { access: Access::element(iterations, &[top]), value: zero });
        Snapshots { iterations, slots, top }
    }

    /// Computes the state at the start of iteration `iteration` from the latest snapshot, leaving
    /// new ones on the way. Returns the number of the snapshot that is the latest for the
    /// iterations before.
    pub fn go_to_iteration(
        &mut self,
        snapshots: &Snapshots,
        plan: &Plan,
        inst: &Inst,
        iteration: ValueId,
        top: ValueId,
    ) -> ValueId {
        let old = self.old;
        let (body, first) = body_of(&inst.op).expect("a loop");
        let params = &old.blocks[body].params[first..];
        let at = |this: &mut Self, array: ValueId, index: ValueId, ty: Type| {
            this.b.one(Op::Load(Access::element(array, &[index])), ty)
        };
        // Carried: the iteration reached, the latest snapshot, the state.
        let reached = at(self, snapshots.iterations, top, I32);
        let mut init: Values = smallvec![reached, top];
        let mut types = vec![I32, NUMBER];
        for &(n, array) in &snapshots.slots {
            let ty = old.ty(params[n]);
            init.push(at(self, array, top, ty));
            types.push(ty);
        }
        let test = self.b.new_block(&types);
        let outside = self.b.switch_to(test);
        let holds = self.b.compare(CompareOp::Lt, self.b.params(test)[0], iteration);
        self.b.yield_(&[holds]);
        let advance = self.b.new_block(&types);
        self.b.switch_to(advance);
        let state: Vec<ValueId> = self.b.params(advance).to_vec();
        let (from, latest) = (state[0], state[1]);
        self.b.name(from, "reached");
        self.b.name(latest, "latest");
        let last = self.b.int(Scalar::U32, i128::from(plan.snapshots) - 1);
        let to = self.next_stop(from, iteration, last, latest);
        let stepped = self.run_iterations(snapshots, plan, inst, from, to, &state[2..]);
        // With room left, what was reached becomes the latest snapshot.
        let room = self.b.compare(CompareOp::Lt, latest, last);
        let (then, otherwise) = (self.b.new_block(&[]), self.b.new_block(&[]));
        let here = self.b.switch_to(then);
        let one = self.b.int(Scalar::U32, 1);
        let next = self.b.binary(BinaryOp::Add, latest, one);
        for (&(_, array), &value) in snapshots.slots.iter().zip(&stepped) {
            self.b.effect(Op::Store { access: Access::element(array, &[next]), value });
        }
        self.b.effect(Op::Store { access: Access::element(snapshots.iterations, &[next]), value: to });
        self.b.yield_(&[next]);
        self.b.switch_to(otherwise);
        self.b.yield_(&[latest]);
        self.b.switch_to(here);
        let latest = self.b.push(Op::If { condition: room, then, otherwise }, &[NUMBER])[0];
        let mut next = vec![to, latest];
        next.extend(stepped);
        self.b.yield_(&next);
        self.b.switch_to(outside);
        let found = self.b.push(Op::While { init, condition: test, body: advance }, &types);
        self.note("from the latest snapshot to this iteration, leaving new snapshots on the way");
        for (&(n, _), &value) in snapshots.slots.iter().zip(&found[2..]) {
            self.bind(params[n], value);
        }
        // A snapshot of this very iteration is of no use for those before.
        let top = found[1];
        let taken = at(self, snapshots.iterations, top, I32);
        let used = self.b.compare(CompareOp::Eq, taken, iteration);
        let one = self.b.int(Scalar::U32, 1);
        let before = self.b.binary(BinaryOp::Sub, top, one);
        let zero = self.b.int(Scalar::U32, 0);
        let positive = self.b.compare(CompareOp::Gt, top, zero);
        let drop = self.b.one(Op::Binary(BinaryOp::And, used, positive), BOOL);
        self.b.select(drop, before, top)
    }

    /// A comment on the latest instruction.
    fn note(&mut self, text: &str) {
        let latest = self.b.function.blocks[self.b.block()].insts.last().copied();
        if let Some(latest) = latest {
            self.b.function.notes.insert(latest, text.to_string());
        }
    }

    /// The iteration to go to from iteration `from` on the way to `iteration`.
    fn next_stop(&mut self, from: ValueId, iteration: ValueId, last: ValueId, latest: ValueId) -> ValueId {
        let free = self.b.binary(BinaryOp::Sub, last, latest);
        let free = self.b.cast(free, Scalar::I32);
        match self.world.next_snapshot {
            Some(function) => self.b.one(Op::Call(function, smallvec![from, iteration, free]), I32),
            None => {
                self.faults.push("the function that places snapshots is missing".into());
                iteration
            }
        }
    }

    /// The iterations `from..to` of a loop, on the state alone.
    fn run_iterations(
        &mut self,
        snapshots: &Snapshots,
        plan: &Plan,
        inst: &Inst,
        from: ValueId,
        to: ValueId,
        state: &[ValueId],
    ) -> Vec<ValueId> {
        let old = self.old;
        let (body, first) = body_of(&inst.op).expect("a loop");
        let params = &old.blocks[body].params;
        let types: Vec<Type> = state.iter().map(|&v| self.b.ty(v)).collect();
        let mut all = vec![I32];
        all.extend(&types);
        let block = self.b.new_block(&all);
        let outside = self.b.switch_to(block);
        let iteration = self.b.params(block)[0];
        self.b.name(iteration, "iteration");
        let outer: Vec<Option<ValueId>> = params.iter().map(|&p| self.primals[p]).collect();
        if let Op::For { start, step, .. } = &inst.op {
            let scalar = old.ty(params[0]).as_scalar().unwrap_or(Scalar::I32);
            let (start, step) = (self.primal(*start), self.primal(*step));
            let number = self.b.cast(iteration, scalar);
            let distance = self.b.binary(BinaryOp::Mul, number, step);
            let counter = self.b.binary(BinaryOp::Add, start, distance);
            self.bind(params[0], counter);
        }
        for (at, &(n, _)) in snapshots.slots.iter().enumerate() {
            self.bind(params[first + n], self.b.params(block)[1 + at]);
        }
        let scope = std::mem::replace(&mut self.scope, plan.steps.clone());
        for (n, &slot) in plan.counters.iter().enumerate() {
            if self.scope.contains(&params[first + n]) {
                self.bind_slot(inst, n, slot, params[first + n], iteration);
            }
        }
        self.replay_alone(body, false);
        let next: Vec<ValueId> = snapshots.slots.iter().map(|&(n, _)| self.primal(old.yielded(body)[n])).collect();
        self.b.yield_(&next);
        self.b.switch_to(outside);
        self.scope = scope;
        params.iter().zip(outer).for_each(|(&p, copy)| self.primals[p] = copy);
        let one = self.b.int(Scalar::I32, 1);
        let op = Op::For { start: from, end: to, step: one, init: Values::from_slice(state), body: block };
        self.b.push(op, &types).to_vec()
    }
}
