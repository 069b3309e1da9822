//! Where the state of a loop waits: a local array or a tape with slots for each iteration.
//! Snapshots are in [`super::snapshots`].

use super::reverse::Reverse;
use super::state::{Kept, Tape, Taped};
use crate::autodiff::Store;
use crate::autodiff::storage::buffers::{Slots, add, height, slots_of};
use crate::autodiff::storage::plan::{Plan, body_of};
use crate::ir::{Access, BinaryOp, CompareOp, Inst, Op, ValueId};
use crate::types::{LocalArrayType, Scalar, Type};

impl Reverse<'_> {
    /// A local array for one value per index, with its name and a remark for readers; made once, at
    /// the start of the function.
    pub fn local_array(&mut self, ty: Type, len: u32, name: Option<(&str, String)>) -> Option<ValueId> {
        let local = LocalArrayType { element: ty.element()?, shape: [len.max(1), 1, 1, 1], ndim: 1, block: false };
        let entry = self.b.function.entry;
        let outside = self.b.switch_to(entry);
        let array = self.b.one(Op::LocalArray, Type::Local(local));
        let insts = &mut self.b.function.blocks[entry].insts;
        let inst = insts.pop()?;
        insts.insert(0, inst);
        self.b.switch_to(outside);
        if let Some((name, remark)) = name {
            self.b.name(array, name);
            self.b.function.notes.insert(inst, remark);
        }
        Some(array)
    }

    /// An array for each of some slots of a loop's state; `what` goes on from the slot's name.
    pub fn arrays_for(&mut self, inst: &Inst, slots: &[usize], len: u32, what: &str) -> Vec<(usize, ValueId)> {
        let old = self.old;
        let Some((body, first)) = body_of(&inst.op) else { return Vec::new() };
        let mut arrays = Vec::new();
        for &n in slots {
            let param = old.blocks[body].params[first + n];
            let name = old.values[param].name.as_ref().map(|name| (format!("{name}_kept"), format!("{name} {what}")));
            let name = name.as_ref().map(|(name, remark)| (name.as_str(), remark.clone()));
            match self.local_array(old.ty(param), len, name) {
                Some(array) => arrays.push((n, array)),
                None => self.faults.push("a loop carries an array".into()),
            }
        }
        arrays
    }

    pub fn make_store(&mut self, plan: &Plan, inst: &Inst) -> Option<Kept> {
        if plan.store == Store::Tape {
            return self.make_room(plan, inst).map(Kept::Tape);
        }
        let iterations = u32::try_from(plan.iterations?).ok()?;
        let what = "at the start of each iteration, which its reverse needs";
        Some(Kept::Local(self.arrays_for(inst, &plan.kept(), iterations, what)))
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

    /// Moves the top of the tape behind a loop that ran `iterations` times, and reports what was
    /// missing. bool: all iterations had room.
    pub fn close_tape(&mut self, taped: &Taped, iterations: ValueId) -> ValueId {
        let starts = self.b.function.as_const(taped.base).and_then(|c| c.as_int());
        let end = match (starts, taped.width) {
            (Some(0), 1) => iterations,
            _ => self.tape_end(taped, iterations),
        };
        if let Some(tape) = &mut self.tape {
            tape.top = end;
            tape.buffers.report(&mut self.b, end);
        }
        let fits = self.b.compare(CompareOp::Le, iterations, taped.room);
        self.b.name(fits, "all_kept");
        fits
    }

    /// The first slot behind those of all iterations, or the greatest number there is.
    fn tape_end(&mut self, taped: &Taped, iterations: ValueId) -> ValueId {
        let [base, count] = [taped.base, iterations].map(|v| self.b.cast(v, Scalar::I64));
        let width = self.b.int(Scalar::I64, i128::from(taped.width));
        let size = self.b.binary(BinaryOp::Mul, count, width);
        let end = self.b.binary(BinaryOp::Add, base, size);
        let most = self.b.int(Scalar::I64, i128::from(i32::MAX));
        let end = self.b.binary(BinaryOp::Min, end, most);
        let end = self.b.cast(end, Scalar::I32);
        self.b.name(end, "top");
        end
    }

    /// The first slot of an iteration.
    fn iteration_slot(&mut self, taped: &Taped, iteration: ValueId) -> ValueId {
        let width = self.b.int(Scalar::I32, i128::from(taped.width));
        let distance = if taped.width == 1 { iteration } else { self.b.binary(BinaryOp::Mul, iteration, width) };
        self.b.binary(BinaryOp::Add, taped.base, distance)
    }

    /// Keeps the state at the start of an iteration; `params` are the old carried values.
    pub fn save(&mut self, kept: &Kept, iteration: ValueId, params: &[ValueId]) {
        match kept {
            Kept::Iterations(_) => {}
            Kept::Local(slots) => {
                for &(n, array) in slots {
                    let value = self.primal(params[n]);
                    self.b.effect(Op::Store { access: Access::element(array, &[iteration]), value });
                }
            }
            Kept::Tape(taped) => {
                let Some(Tape { buffers, .. }) = self.tape.clone() else { return };
                let structs = &self.world.module.structs;
                let room = self.b.compare(CompareOp::Lt, iteration, taped.room);
                self.guarded(room, None, |this| {
                    let slot = this.iteration_slot(taped, iteration);
                    for (n, offset) in &taped.slots {
                        let value = this.primal(params[*n]);
                        buffers.put(&mut this.b, structs, value, Some(slot), offset);
                    }
                    None
                });
            }
        }
    }

    /// Sets the old carried values to the state at the start of an iteration.
    pub fn restore(&mut self, kept: &Kept, iteration: ValueId, params: &[ValueId]) {
        match kept {
            Kept::Iterations(_) => {}
            Kept::Local(slots) => {
                for &(n, array) in slots {
                    let ty = self.old.ty(params[n]);
                    let value = self.b.one(Op::Load(Access::element(array, &[iteration])), ty);
                    self.bind(params[n], value);
                }
            }
            Kept::Tape(taped) => {
                let Some(Tape { buffers, .. }) = self.tape.clone() else { return };
                let structs = &self.world.module.structs;
                let slot = self.iteration_slot(taped, iteration);
                for (n, offset) in &taped.slots {
                    let ty = self.old.ty(params[*n]);
                    let value = buffers.get(&mut self.b, structs, ty, Some(slot), offset);
                    self.bind(params[*n], value);
                }
            }
        }
    }
}
