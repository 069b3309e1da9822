//! How do the threads of a warp add to one place? Where the address is the same for every thread of the launch, a whole
//! warp sums its operands through shuffles and one thread brings the sum to memory: 1 atomic instead of 32 that wait for
//! each other. For floats only: the assembler does this for integers itself (`REDUX`).
//!
//! - Which threads run together here is asked for when it happens (`activemask`): a warp of which some threads have left, or
//!   went another way, adds thread by thread. Between the question and the last shuffle nothing branches, so the threads
//!   named in the mask all take part ("Using CUDA Warp-Level Primitives", NVIDIA, 2018: opportunistic programming).
//! - "The same" is proved, not looked at: [`Uniformity`](crate::analysis::uniformity::Uniformity) shows that there is one address
//!   for the whole launch. Variables of loops and values read from memory do not count, because threads of a warp may meet in
//!   different iterations.
//! - The order of float additions between threads is open (rule 15 of the IR), so any tree of them will do.

use super::builder::{Attribute, AttributeLoc, IntPredicate, Val};
use super::control::Join;
use super::lower::{Frame, Lower, Scalars};
use crate::ir::{Access, AtomicOp, Inst, Op};
use crate::types::{Scalar, Type};

/// Sums of more scalars than this take more shuffles than they save.
const MAX_SCALARS: usize = 16;
const ALL_LANES: i32 = -1;
/// `shfl.sync.down` within the whole warp (PTX ISA, "shfl.sync": the last lane, no segments).
const WHOLE_WARP: i32 = 31;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// Whether an atomic is one that a warp does together: nobody asks for the old value, and all threads mean one place.
    pub fn is_of_warp(&self, frame: &Frame<'a, 'ctx>, op: AtomicOp, access: &Access, inst: &Inst) -> bool {
        let Some(&result) = inst.results.first() else { return false };
        let mut same = true;
        access.for_each_operand(|v| same &= frame.known.uniformity.is_invariant(v));
        self.target.is_gpu()
            && matches!(op, AtomicOp::Add | AtomicOp::Sub | AtomicOp::Min | AtomicOp::Max)
            && frame.scalar_ty(result).is_float()
            && matches!(frame.ty(access.array), Type::Array(_))
            && same
            && crate::analysis::uses(frame.function)[result] == 0
    }

    /// Waits for the block, and for the copies of each thread. On the host a block is one thread.
    pub fn barrier(&mut self, frame: &Frame<'a, 'ctx>) {
        if self.target.is_gpu() {
            let ll = self.ll;
            if frame.function.has(|inst| matches!(inst.op, Op::Copy(..))) {
                ll.effect_intrinsic("llvm.nvvm.cp.async.wait.all", &[]);
            }
            // Or LLVM would copy the code around it into branches that threads of a block take differently.
            ll.add_attribute(self.llvm_function, AttributeLoc::Function, Attribute::Flag("convergent"));
            ll.block_barrier();
        }
    }

    /// The atomic `op` at each of `places` with an operand each: (address, operand).
    pub fn atomic_of_warp(&mut self, op: AtomicOp, s: Scalar, places: &[(Val<'ctx>, Val<'ctx>)]) {
        let ll = self.ll;
        if places.len() > MAX_SCALARS {
            for &(pointer, operand) in places {
                self.atomic_scalar(op, s, pointer, operand);
            }
            return;
        }
        // What is subtracted is added up first.
        let combined = if op == AtomicOp::Sub { AtomicOp::Add } else { op };
        let active = ll.intrinsic("llvm.nvvm.activemask", &[], &[]);
        let whole = ll.eq(active, ll.const_i32(ALL_LANES));
        let together = ll.block(self.llvm_function, "warp");
        let mut types: Vec<_> = places.iter().map(|(_, operand)| ll.ty(*operand)).collect();
        types.push(ll.i1());
        let mut join = Join::new(ll, self.llvm_function, "lanes", &types);
        let mut values: Scalars = places.iter().map(|(_, operand)| *operand).collect();
        values.push(ll.bool(true));
        join.come_from_here(ll, &values);
        ll.cond_br(whole, together, join.block);

        ll.position_at_end(together);
        values.pop();
        for distance in [16, 8, 4, 2, 1] {
            for value in &mut values {
                let other = self.shuffle_down(s, *value, distance);
                *value = self.combine(combined, s, *value, other);
            }
        }
        let lane = ll.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[]);
        values.push(ll.icmp(IntPredicate::EQ, lane, ll.const_i32(0)));
        join.jump(ll, &values);

        let mut values = join.enter(ll);
        let adds = values.pop();
        self.when(adds, |lower| {
            for (&(pointer, _), value) in places.iter().zip(values) {
                lower.atomic_scalar(op, s, pointer, value);
            }
            Scalars::new()
        });
    }

    /// The value of the lane `distance` above in a whole warp; where there is none, the lane's own.
    fn shuffle_down(&self, s: Scalar, value: Val<'ctx>, distance: i32) -> Val<'ctx> {
        let ll = self.ll;
        let shuffle = |name, value| {
            ll.intrinsic(name, &[], &[ll.const_i32(ALL_LANES), value, ll.const_i32(distance), ll.const_i32(WHOLE_WARP)])
        };
        if s == Scalar::F32 {
            return shuffle("llvm.nvvm.shfl.sync.down.f32", value);
        }
        let bits = self.ops.to_bits(s, value);
        if s.size() < 4 {
            let other = shuffle("llvm.nvvm.shfl.sync.down.i32", ll.zext(bits, ll.i32()));
            return self.ops.from_bits(s, ll.trunc(other, ll.ty(bits)));
        }
        let half = |bits| shuffle("llvm.nvvm.shfl.sync.down.i32", ll.trunc(bits, ll.i32()));
        let (low, high) = (half(bits), half(ll.lshr(bits, ll.const_i64(32))));
        let high = ll.shl(ll.zext(high, ll.i64()), ll.const_i64(32));
        self.ops.from_bits(s, ll.or(high, ll.zext(low, ll.i64())))
    }
}
