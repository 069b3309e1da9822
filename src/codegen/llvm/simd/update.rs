//! How do lanes update memory atomically? One after the other, in the order of the threads; but
//! lanes that all add to one place, and do not ask what was there, are summed first.

use smallvec::SmallVec;

use crate::codegen::llvm::builder::{IntPredicate, Ty, Val};
use crate::codegen::llvm::lower::{Frame, Lower, Scalars};
use crate::ir::{Access, AtomicOp, Inst, ValueId};
use crate::types::Scalar;

/// A vector in memory: its address, and the type and bytes of one lane.
type Slot<'ctx> = (Val<'ctx>, Ty<'ctx>, u32);

/// Updates of more components than this take the lanes in a loop, even where all of them run.
const UNROLLED: usize = 4;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    pub fn atomic_lanes(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        value: ValueId,
        inst: &'a Inst,
    ) -> Scalars<'ctx> {
        let ll = self.ll;
        let operands = frame.get(value).clone();
        let unused = inst.results.iter().all(|&r| self.mode.lanes().is_some_and(|lanes| !lanes.plan.is_used(r)));
        let place = self.lane_access(frame, access, inst.span);
        let mask = self.lanes_within(&place);
        let s = place.part.scalar_part().expect("verified IR: atomics work on scalars and composites");
        let base = self.lane_base(&place);
        let local = self.target.is_alone();
        let update = move |lower: &mut Self, pointer: Val<'ctx>, operand: Val<'ctx>| {
            if local {
                let old = lower.read(s, pointer);
                let new = lower.combine(op, s, old, operand);
                lower.write(s, pointer, new);
                old
            } else {
                lower.atomic_scalar(op, s, pointer, operand)
            }
        };
        let pointer_of =
            move |lower: &Self, base: Val<'ctx>, k: usize| lower.ll.offset_by(base, (k * s.size() as usize) as u64);
        if unused
            && place.is_uniform()
            && let Some(identity) = self.identity(op, s)
        {
            let some = mask.map(|mask| ll.any(mask));
            self.when(some, |lower| {
                let own = operands.iter().map(|operand| {
                    let operand = ll.splat(*operand, lower.simd_width());
                    mask.map_or(operand, |mask| ll.select(mask, operand, identity))
                });
                let own: Scalars = own.collect();
                let sum_lanes = |lower: &mut Self| {
                    for (k, own) in own.iter().enumerate() {
                        // What several threads subtract is the sum of it.
                        let combine = if op == AtomicOp::Sub { AtomicOp::Add } else { op };
                        let sum = lower.across(combine, s, *own);
                        let pointer = pointer_of(lower, base, k);
                        update(lower, pointer, sum);
                    }
                };
                match lower.copy_of(frame, op, access, &place, inst) {
                    None => sum_lanes(lower),
                    Some((exists, copy)) => {
                        lower.either(exists, |lower| lower.add_to_copy(op, s, copy, &own), sum_lanes)
                    }
                }
                Scalars::new()
            });
            return operands.iter().map(|_| ll.zero(self.ops.ty(s))).collect();
        }
        let own = self.mode.lanes().is_some_and(|lanes| lanes.plan.is_private(frame.function, access.array));
        // Nobody else is there, and no two lanes are at one place.
        if own || local && place.is_spread() {
            let old = self.read_lanes(&place, mask);
            let new = old.iter().zip(&operands).map(|(old, own)| self.combine(op, s, *old, *own)).collect();
            self.write_lanes(&place, mask, &new);
            return old;
        }
        self.ask_for_later(&place);
        let offsets = self.lane_offsets(&place);
        self.lane_by_lane(mask, offsets, &[operands], s, |lower, offset, operands| {
            let lane = ll.offset(base, offset);
            operands.iter().enumerate().map(|(k, o)| update(lower, pointer_of(lower, lane, k), o[0])).collect()
        })
    }

    pub fn atomic_cas_lanes(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        access: &Access,
        [expected, new]: [ValueId; 2],
        inst: &'a Inst,
    ) -> Scalars<'ctx> {
        let ll = self.ll;
        let both = [frame.get(expected).clone(), frame.get(new).clone()];
        let place = self.lane_access(frame, access, inst.span);
        let mask = self.lanes_within(&place);
        let s = place.part.scalar_part().expect("verified IR: atomics work on scalars and composites");
        let base = self.lane_base(&place);
        let offsets = self.lane_offsets(&place);
        let local = self.target.is_alone();
        self.lane_by_lane(mask, offsets, &both, s, |lower, offset, operands| {
            let lane = ll.offset(base, offset);
            let each = operands.iter().enumerate().map(|(k, o)| {
                let pointer = ll.offset_by(lane, (k * s.size() as usize) as u64);
                lower.compare_and_swap(s, pointer, local, o[0], o[1])
            });
            each.collect()
        })
    }

    /// Runs `each` for every lane of the mask in turn: the lane's byte offset, and for each
    /// component its operands. Gives the results as vectors, zero where no lane ran.
    fn lane_by_lane(
        &mut self,
        mask: Option<Val<'ctx>>,
        offsets: Val<'ctx>,
        operands: &[Scalars<'ctx>],
        s: Scalar,
        each: impl Fn(&mut Self, Val<'ctx>, &[SmallVec<[Val<'ctx>; 2]>]) -> Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let ll = self.ll;
        let lanes = self.simd_width();
        let (entry, function) = (self.into.entry, self.into.function);
        // SIMD lanes are picked by number from memory, which costs less than from registers.
        let spill = |value: Val<'ctx>| {
            let ty = ll.ty(value);
            let size = ll.bits(ll.lane_ty(ty)).max(8) / 8;
            let slot = ll.alloca(entry, u64::from(size * lanes), size * lanes);
            ll.store(value, slot, size * lanes);
            (slot, ll.lane_ty(ty), size)
        };
        // Bools and narrow floats as their bits.
        let bits = |v: &Val<'ctx>| self.ops.to_bits(s, ll.splat(*v, lanes));
        let offset_slot = spill(offsets);
        let slots: Vec<Vec<_>> = operands.iter().map(|o| o.iter().map(|v| spill(bits(v))).collect()).collect();
        let count = operands.first().map_or(0, |o| o.len());
        let none = ll.zero(ll.vector_ty(ll.int_ty(s.size() * 8), lanes));
        let results: Vec<_> = (0..count).map(|_| spill(none)).collect();
        // Where all lanes run, their numbers are known, and what each does is short if it needs no
        // atomics.
        let all = ll.int(ll.int_ty(lanes), u64::MAX);
        let unrolled = self.target.is_alone() && count <= UNROLLED;
        let (next, done) = (ll.block(function, "lane"), ll.block(function, "lanesdone"));
        let set = mask.map_or(all, |mask| ll.mask_bits(mask));
        if unrolled {
            let (every, some) = (ll.block(function, "everylane"), ll.block(function, "somelanes"));
            ll.cond_br(ll.icmp(IntPredicate::EQ, set, all), every, some);
            ll.position_at_end(every);
            for lane in 0..lanes {
                self.one_lane(ll.const_i64(lane.into()), offset_slot, &slots, &results, s, &each);
            }
            ll.br(done);
            ll.position_at_end(some);
        }
        let before = ll.current_block();
        ll.cond_br(ll.icmp(IntPredicate::NE, set, ll.zero(ll.ty(set))), next, done);
        ll.position_at_end(next);
        let left = ll.phi(ll.ty(all));
        ll.add_incoming(left, set, before);
        let lane = ll.intrinsic("llvm.cttz", &[ll.ty(all)], &[left, ll.bool(true)]);
        let lane = if lanes == 64 { lane } else { ll.zext(lane, ll.i64()) };
        self.one_lane(lane, offset_slot, &slots, &results, s, &each);
        let rest = ll.and(left, ll.sub(left, ll.int(ll.int_ty(lanes), 1)));
        ll.add_incoming(left, rest, ll.current_block());
        ll.cond_br(ll.icmp(IntPredicate::NE, rest, ll.zero(ll.ty(rest))), next, done);
        ll.position_at_end(done);
        results
            .iter()
            .map(|(slot, ty, size)| {
                let raw = ll.load(ll.vector_ty(*ty, lanes), *slot, size * lanes);
                self.ops.from_bits(s, raw)
            })
            .collect()
    }

    /// Runs `each` for one lane, whose operands and offset are in the slots, and puts what it gives
    /// into those of the results.
    fn one_lane(
        &mut self,
        lane: Val<'ctx>,
        offset: Slot<'ctx>,
        operands: &[Vec<Slot<'ctx>>],
        results: &[Slot<'ctx>],
        s: Scalar,
        each: &impl Fn(&mut Self, Val<'ctx>, &[SmallVec<[Val<'ctx>; 2]>]) -> Scalars<'ctx>,
    ) {
        let ll = self.ll;
        let at = |(slot, _, size): Slot<'ctx>| ll.offset(slot, ll.mul(lane, ll.const_i64(size.into())));
        let pick = |slot: Slot<'ctx>| ll.load(slot.1, at(slot), slot.2);
        let own: Vec<SmallVec<[Val; 2]>> =
            (0..results.len()).map(|k| operands.iter().map(|o| self.ops.from_bits(s, pick(o[k]))).collect()).collect();
        let offset = pick(offset);
        let values = each(self, offset, &own);
        for (value, &slot) in values.iter().zip(results) {
            ll.store(self.ops.to_bits(s, *value), at(slot), slot.2);
        }
    }

    /// What changes nothing when it is combined with something; None where lanes cannot be combined
    /// first.
    fn identity(&self, op: AtomicOp, s: Scalar) -> Option<Val<'ctx>> {
        let ll = self.ll;
        let int = |bits: u64| (s.is_int()).then(|| ll.int(self.ops.ty(s), bits));
        match op {
            AtomicOp::Add | AtomicOp::Sub => match s {
                Scalar::F32 => Some(ll.const_f32(-0.0)),
                Scalar::F64 => Some(ll.const_f64(-0.0)),
                _ => int(0),
            },
            AtomicOp::Or | AtomicOp::Xor => int(0),
            AtomicOp::And => int(u64::MAX),
            // NaN: the other operand counts.
            AtomicOp::Min | AtomicOp::Max if s == Scalar::F32 => Some(ll.const_f32(f32::NAN)),
            AtomicOp::Min | AtomicOp::Max if s == Scalar::F64 => Some(ll.const_f64(f64::NAN)),
            AtomicOp::Min if s.is_signed_int() => int((1 << (s.bits() - 1)) - 1),
            AtomicOp::Min => int(u64::MAX),
            AtomicOp::Max if s.is_signed_int() => int(1 << (s.bits() - 1)),
            AtomicOp::Max => int(0),
            AtomicOp::Exchange => None,
        }
    }

    /// All lanes combined, halves first: always in one order.
    pub fn across(&self, op: AtomicOp, s: Scalar, vector: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let (mut vector, mut width) = (vector, self.simd_width() as i32);
        while width > 1 {
            width /= 2;
            let any = ll.undefined(ll.ty(vector));
            let low: Vec<i32> = (0..width).collect();
            let high: Vec<i32> = (width..2 * width).collect();
            vector = self.combine(op, s, ll.shuffle(vector, any, &low), ll.shuffle(vector, any, &high));
        }
        ll.extract_lane(vector, ll.const_i64(0))
    }
}
