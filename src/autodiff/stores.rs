//! Where the state of a loop waits: a local array or a tape with slots for each turn, and snapshots.

use smallvec::smallvec;

use super::Store;
use super::activity::yields;
use super::buffers::{Buffers, Slots, add, height, slots_of};
use super::plan::{Plan, body_of};
use super::reverse::Reverse;
use crate::ir::{BinaryOp, CompareOp, Inst, Op, Path, ValueId, Values};
use crate::types::{BOOL, I32, LocalArrayType, Scalar, Type};

/// The snapshots that a checkpointed loop has room for.
pub(super) const SNAPSHOTS: u32 = 12;

/// State that a forward sweep kept.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// Of an unrolled loop: per turn, the number and the value of each kept slot.
    Turns(Vec<Vec<(usize, ValueId)>>),
    /// Per kept slot, its number and its array.
    Local(Vec<(usize, ValueId)>),
    Tape(Taped),
}

/// State on the tape: turn k has the slots from `base + k * width` on.
#[derive(Clone, Debug)]
pub(super) struct Taped {
    /// Per kept slot of the loop, its number and where it stands in those of a turn.
    slots: Vec<(usize, Slots)>,
    base: ValueId,
    width: u32,
    /// The turns that there is room for.
    room: ValueId,
}

/// The tape of a backward entry, like a stack: the first free slot moves up with each loop that keeps state.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    pub buffers: Buffers,
    pub top: ValueId,
}

/// Room for snapshots of a loop's state.
#[derive(Clone, Debug)]
pub(super) struct Snapshots {
    /// The turn at whose start each was taken.
    turns: ValueId,
    /// Per slot of the state, its array.
    slots: Vec<(usize, ValueId)>,
    /// The number of the latest snapshot before the reverse sweep.
    pub top: ValueId,
}

impl Reverse<'_> {
    /// A local array for one value per index; made once, at the start of the function.
    fn local_array(&mut self, ty: Type, len: u32, name: Option<&str>) -> Option<ValueId> {
        let local = LocalArrayType { element: ty.element()?, shape: [len.max(1), 1, 1, 1], ndim: 1 };
        let entry = self.b.function.entry;
        let outside = self.b.switch_to(entry);
        let array = self.b.one(Op::LocalArray, Type::Local(local));
        let insts = &mut self.b.function.blocks[entry].insts;
        if let Some(inst) = insts.pop() {
            insts.insert(0, inst);
        }
        self.b.switch_to(outside);
        if let Some(name) = name {
            self.b.name(array, name);
        }
        Some(array)
    }

    fn arrays_for(&mut self, inst: &Inst, slots: &[usize], len: u32) -> Vec<(usize, ValueId)> {
        let old = self.old;
        let Some((body, first)) = body_of(&inst.op) else { return Vec::new() };
        let mut arrays = Vec::new();
        for &n in slots {
            let param = old.blocks[body].params[first + n];
            let name = old.values[param].name.as_ref().map(|name| format!("{name}_kept"));
            match self.local_array(old.ty(param), len, name.as_deref()) {
                Some(array) => arrays.push((n, array)),
                None => self.faults.push("a loop carries an array".into()),
            }
        }
        arrays
    }

    pub(super) fn make_store(&mut self, plan: &Plan, inst: &Inst) -> Option<Kept> {
        if plan.store == Store::Tape {
            return self.make_room(plan, inst).map(Kept::Tape);
        }
        let turns = u32::try_from(plan.turns?).ok()?;
        Some(Kept::Local(self.arrays_for(inst, &plan.kept(), turns)))
    }

    /// Looks how much room the tape has for a loop.
    fn make_room(&mut self, plan: &Plan, inst: &Inst) -> Option<Taped> {
        let old = self.old;
        let (body, first) = body_of(&inst.op)?;
        let Tape { buffers, top } = self.tape.clone()?;
        let mut next = Slots::new();
        let mut slots = Vec::new();
        for n in plan.kept() {
            slots.push((n, next.clone()));
            let ty = old.ty(old.blocks[body].params[first + n]);
            add(&mut next, &slots_of(ty, &self.world.module.structs)?);
        }
        let width = height(&next).max(1);
        let free = self.b.binary(BinaryOp::Sub, buffers.extent, top);
        let each = self.b.int(Scalar::I32, i128::from(width));
        let room = self.b.binary(BinaryOp::Div, free, each);
        self.b.name(room, "room");
        Some(Taped { slots, base: top, width, room })
    }

    /// Moves the top of the tape behind a loop that turned `turns` times, and reports what was missing. bool: all turns had
    /// room.
    pub(super) fn close_tape(&mut self, taped: &Taped, turns: ValueId) -> ValueId {
        let starts = self.b.function.as_const(taped.base).and_then(|c| c.as_int());
        let end = match (starts, taped.width) {
            (Some(0), 1) => turns,
            _ => self.tape_end(taped, turns),
        };
        if let Some(tape) = &mut self.tape {
            tape.top = end;
            tape.buffers.report(&mut self.b, end);
        }
        let fits = self.b.compare(CompareOp::Le, turns, taped.room);
        self.b.name(fits, "all_kept");
        fits
    }

    /// The first slot behind those of all turns, or the greatest number there is.
    fn tape_end(&mut self, taped: &Taped, turns: ValueId) -> ValueId {
        let [base, count] = [taped.base, turns].map(|v| self.b.cast(v, Scalar::I64));
        let width = self.b.int(Scalar::I64, i128::from(taped.width));
        let size = self.b.binary(BinaryOp::Mul, count, width);
        let end = self.b.binary(BinaryOp::Add, base, size);
        let most = self.b.int(Scalar::I64, i128::from(i32::MAX));
        let end = self.b.binary(BinaryOp::Min, end, most);
        let end = self.b.cast(end, Scalar::I32);
        self.b.name(end, "top");
        end
    }

    /// The first slot of a turn.
    fn turn_slot(&mut self, taped: &Taped, turn: ValueId) -> ValueId {
        let width = self.b.int(Scalar::I32, i128::from(taped.width));
        let distance = if taped.width == 1 { turn } else { self.b.binary(BinaryOp::Mul, turn, width) };
        self.b.binary(BinaryOp::Add, taped.base, distance)
    }

    /// Keeps the state at the start of a turn; `params` are the old carried values.
    pub(super) fn save(&mut self, kept: &Kept, turn: ValueId, params: &[ValueId]) {
        match kept {
            Kept::Turns(_) => {}
            Kept::Local(slots) => {
                for &(n, array) in slots {
                    let value = self.primal(params[n]);
                    self.b.effect(Op::Store { array, index: smallvec![turn], path: Path::new(), value });
                }
            }
            Kept::Tape(taped) => {
                let Some(Tape { buffers, .. }) = self.tape.clone() else { return };
                let structs = &self.world.module.structs;
                let room = self.b.compare(CompareOp::Lt, turn, taped.room);
                self.guarded(room, None, |this| {
                    let slot = this.turn_slot(taped, turn);
                    for (n, offset) in &taped.slots {
                        let value = this.primal(params[*n]);
                        buffers.put(&mut this.b, structs, value, Some(slot), offset);
                    }
                    None
                });
            }
        }
    }

    /// Sets the old carried values to the state at the start of a turn.
    pub(super) fn restore(&mut self, kept: &Kept, turn: ValueId, params: &[ValueId]) {
        match kept {
            Kept::Turns(_) => {}
            Kept::Local(slots) => {
                for &(n, array) in slots {
                    let ty = self.old.ty(params[n]);
                    let value = self.b.one(Op::Load { array, index: smallvec![turn], path: Path::new() }, ty);
                    self.bind(params[n], value);
                }
            }
            Kept::Tape(taped) => {
                let Some(Tape { buffers, .. }) = self.tape.clone() else { return };
                let structs = &self.world.module.structs;
                let slot = self.turn_slot(taped, turn);
                for (n, offset) in &taped.slots {
                    let ty = self.old.ty(params[*n]);
                    let value = buffers.get(&mut self.b, structs, ty, Some(slot), offset);
                    self.bind(params[*n], value);
                }
            }
        }
    }

    /// Room for the snapshots of a loop, with the first: the state before the first turn.
    pub(super) fn make_snapshots(&mut self, plan: &Plan, inst: &Inst) -> Snapshots {
        let (Op::For { init, .. } | Op::While { init, .. }) = &inst.op else { unreachable!("called for loops") };
        let count = plan.turns.map_or(SNAPSHOTS, |turns| turns.min(u64::from(SNAPSHOTS)) as u32);
        let slots = self.arrays_for(inst, &plan.snapshot, count.max(1));
        let turns = self.local_array(I32, count.max(1), Some("turn_kept")).expect("int32 is an element");
        let top = self.b.int(Scalar::I32, 0);
        for &(n, array) in &slots {
            let value = self.primal(init[n]);
            self.b.effect(Op::Store { array, index: smallvec![top], path: Path::new(), value });
        }
        self.b.effect(Op::Store { array: turns, index: smallvec![top], path: Path::new(), value: top });
        Snapshots { turns, slots, top }
    }

    /// Computes the state at the start of turn `turn` from the latest snapshot, leaving new ones on the way. Gives the number
    /// of the snapshot that is the latest for the turns before.
    pub(super) fn go_to_turn(
        &mut self,
        snapshots: &Snapshots,
        plan: &Plan,
        inst: &Inst,
        turn: ValueId,
        top: ValueId,
    ) -> ValueId {
        let old = self.old;
        let (body, first) = body_of(&inst.op).expect("a loop");
        let params = &old.blocks[body].params[first..];
        let at = |this: &mut Self, array: ValueId, index: ValueId, ty: Type| {
            this.b.one(Op::Load { array, index: smallvec![index], path: Path::new() }, ty)
        };
        // Carried: the turn reached, the latest snapshot, the state.
        let reached = at(self, snapshots.turns, top, I32);
        let mut init: Values = smallvec![reached, top];
        let mut types = vec![I32, I32];
        for &(n, array) in &snapshots.slots {
            let ty = old.ty(params[n]);
            init.push(at(self, array, top, ty));
            types.push(ty);
        }
        let test = self.b.new_block(&types);
        let outside = self.b.switch_to(test);
        let holds = self.b.compare(CompareOp::Lt, self.b.params(test)[0], turn);
        self.b.yield_(&[holds]);
        let advance = self.b.new_block(&types);
        self.b.switch_to(advance);
        let state: Vec<ValueId> = self.b.params(advance).to_vec();
        let (from, latest) = (state[0], state[1]);
        self.b.name(from, "reached");
        self.b.name(latest, "latest");
        let count = plan.turns.map_or(SNAPSHOTS, |turns| turns.min(u64::from(SNAPSHOTS)) as u32).max(1);
        let last = self.b.int(Scalar::I32, i128::from(count) - 1);
        let free = self.b.binary(BinaryOp::Sub, last, latest);
        let to = self.next_snapshot(from, turn, free);
        let stepped = self.run_turns(snapshots, plan, inst, from, to, &state[2..]);
        // With room left, what was reached becomes the latest snapshot.
        let zero = self.b.int(Scalar::I32, 0);
        let room = self.b.compare(CompareOp::Gt, free, zero);
        let (then, otherwise) = (self.b.new_block(&[]), self.b.new_block(&[]));
        let here = self.b.switch_to(then);
        let one = self.b.int(Scalar::I32, 1);
        let next = self.b.binary(BinaryOp::Add, latest, one);
        for (&(_, array), &value) in snapshots.slots.iter().zip(&stepped) {
            self.b.effect(Op::Store { array, index: smallvec![next], path: Path::new(), value });
        }
        self.b.effect(Op::Store { array: snapshots.turns, index: smallvec![next], path: Path::new(), value: to });
        self.b.yield_(&[next]);
        self.b.switch_to(otherwise);
        self.b.yield_(&[latest]);
        self.b.switch_to(here);
        let latest = self.b.push(Op::If { condition: room, then, otherwise }, &[I32])[0];
        let mut next = vec![to, latest];
        next.extend(stepped);
        self.b.yield_(&next);
        self.b.switch_to(outside);
        let found = self.b.push(Op::While { init, condition: test, body: advance }, &types);
        for (&(n, _), &value) in snapshots.slots.iter().zip(&found[2..]) {
            self.bind(params[n], value);
        }
        // A snapshot of this very turn is of no use for those before.
        let top = found[1];
        let taken = at(self, snapshots.turns, top, I32);
        let used = self.b.compare(CompareOp::Eq, taken, turn);
        let one = self.b.int(Scalar::I32, 1);
        let before = self.b.binary(BinaryOp::Sub, top, one);
        let zero = self.b.int(Scalar::I32, 0);
        let positive = self.b.compare(CompareOp::Gt, top, zero);
        let drop = self.b.one(Op::Binary(BinaryOp::And, used, positive), BOOL);
        self.b.select(drop, before, top)
    }

    /// The turns `from..to` of a loop, on the state alone.
    fn run_turns(
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
        let turn = self.b.params(block)[0];
        self.b.name(turn, "turn");
        let outer: Vec<Option<ValueId>> = params.iter().map(|&p| self.primals[p]).collect();
        if let Op::For { start, step, .. } = &inst.op {
            let scalar = old.ty(params[0]).as_scalar().unwrap_or(Scalar::I32);
            let (start, step) = (self.primal(*start), self.primal(*step));
            let number = self.b.cast(turn, scalar);
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
                self.bind_slot(inst, n, slot, params[first + n], turn);
            }
        }
        self.replay(body, false);
        let next: Vec<ValueId> = snapshots.slots.iter().map(|&(n, _)| self.primal(yields(old, body)[n])).collect();
        self.b.yield_(&next);
        self.b.switch_to(outside);
        self.scope = scope;
        params.iter().zip(outer).for_each(|(&p, copy)| self.primals[p] = copy);
        let one = self.b.int(Scalar::I32, 1);
        let op = Op::For { start: from, end: to, step: one, init: Values::from_slice(state), body: block };
        self.b.push(op, &types).to_vec()
    }

    /// The turn at which to take the next snapshot on the way from turn `from` to turn `to`, with room for `free` more.
    ///
    /// With s snapshots and r repetitions of each turn, (s + r over s) turns can be reversed. For the least r that covers the
    /// way, the next snapshot goes where the part before it can be reversed with all of them in r - 1 repetitions.
    fn next_snapshot(&mut self, from: ValueId, to: ValueId, free: ValueId) -> ValueId {
        let one = self.b.int(Scalar::I64, 1);
        let zero = self.b.int(Scalar::I64, 0);
        let distance = self.b.binary(BinaryOp::Sub, to, from);
        let distance = self.b.cast(distance, Scalar::I64);
        let length = self.b.binary(BinaryOp::Add, distance, one);
        let free64 = self.b.cast(free, Scalar::I64);
        let rooms = self.b.binary(BinaryOp::Add, free64, one);
        // Carried: repetitions r, turns covered by r, turns covered by r - 1.
        let types = [Type::Scalar(Scalar::I64); 3];
        let test = self.b.new_block(&types);
        let outside = self.b.switch_to(test);
        let covered = self.b.params(test)[1];
        let short = self.b.compare(CompareOp::Lt, covered, length);
        self.b.yield_(&[short]);
        let grow = self.b.new_block(&types);
        self.b.switch_to(grow);
        let (r, covered) = (self.b.params(grow)[0], self.b.params(grow)[1]);
        let next = self.b.binary(BinaryOp::Add, r, one);
        let total = self.b.binary(BinaryOp::Add, rooms, next);
        let product = self.b.binary(BinaryOp::Mul, covered, total);
        let more = self.b.binary(BinaryOp::Div, product, next);
        self.b.yield_(&[next, more, covered]);
        self.b.switch_to(outside);
        let init: Values = smallvec![zero, one, one];
        let found = self.b.push(Op::While { init, condition: test, body: grow }, &types);
        let step = self.b.binary(BinaryOp::Min, found[2], distance);
        let nothing_free = self.b.compare(CompareOp::Le, free64, zero);
        let step = self.b.select(nothing_free, distance, step);
        let step = self.b.cast(step, Scalar::I32);
        self.b.binary(BinaryOp::Add, from, step)
    }
}
