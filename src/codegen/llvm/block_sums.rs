//! How do the threads of a block add to one place of the launch? Each warp adds to memory of the
//! block, and at the end of the block one thread brings the sum to the place: 1 atomic for all
//! threads of a block. Atomics on one address are done one after the other, 1.8 ns each on an H200,
//! so that a sum of 80 million numbers took 4.5 ms with one for each warp.
//!
//! Only for what may wait until its thread is at its end
//! ([`deferrable`](crate::analysis::deferrable)), and where every thread of the block reaches the
//! end: in entries whose threads have a task each.

use super::builder::{AtomicRMWBinOp, Attribute, AttributeLoc, IntPredicate, Val};
use super::lower::{BlockSum, Lower, Scalars};
use crate::ir::AtomicOp;
use crate::types::Scalar;

/// More sums than this of one kernel go to their places at once.
const MOST: usize = 16;

/// What the memory for sums is called in PTX.
const NAME: &str = "block_sum";

/// Whether blocks of a kernel add up what they bring to one place: the fewer blocks there are, the
/// fewer atomics wait for each other.
pub fn has_block_sums(ptx: &str) -> bool {
    ptx.contains(NAME)
}

impl<'ctx> Lower<'_, '_, 'ctx> {
    /// Adds to the block's sum for an address, if there is one.
    pub fn add_to_block(&mut self, op: AtomicOp, scalar: Scalar, pointer: Val<'ctx>, operand: Val<'ctx>) -> bool {
        let ll = self.ll;
        if !matches!(scalar, Scalar::F32 | Scalar::F64) {
            return false;
        }
        let Some(sums) =
            self.mode.kernel_mut().and_then(|kernel| kernel.block_sums.as_mut()).filter(|own| own.sums.len() < MOST)
        else {
            return false;
        };
        let sum = ll.shared(NAME, scalar.size().into(), scalar.size());
        let place = ll.shared("block_place", 8, 8);
        sums.sums.push(BlockSum { scalar, sum, place });
        self.atomic_scalar(op, scalar, sum, operand);
        let address = ll.ptr_to_int(pointer, ll.i64());
        ll.atomic_rmw(AtomicRMWBinOp::UMax, place, address, 8);
        true
    }

    /// Before the tasks of a block, when they have been lowered.
    pub fn begin_block_sums(&mut self) {
        let ll = self.ll;
        let Some(sums) = self.mode.take_block_sums().filter(|own| !own.sums.is_empty()) else { return };
        self.by_one_thread(|lower| {
            for sum in &sums.sums {
                lower.write(sum.scalar, sum.sum, ll.zero(lower.ops.ty(sum.scalar)));
                ll.store(ll.const_i64(0), sum.place, 8);
            }
        });
        // Or LLVM would copy the code around it into branches that threads of a block take
        // differently.
        ll.add_attribute(self.into.function, AttributeLoc::Function, Attribute::Flag("convergent"));
        ll.block_barrier();
        if let Some(kernel) = self.mode.kernel_mut() {
            kernel.block_sums = Some(sums);
        }
    }

    /// Behind the tasks of a block.
    pub fn end_block_sums(&mut self) {
        let ll = self.ll;
        let Some(sums) = self.mode.take_block_sums().filter(|own| !own.sums.is_empty()) else { return };
        ll.block_barrier();
        self.by_one_thread(|lower| {
            for sum in &sums.sums {
                let address = ll.load(ll.i64(), sum.place, 8);
                let added = ll.icmp(IntPredicate::NE, address, ll.const_i64(0));
                lower.when(Some(added), |lower| {
                    let total = lower.read(sum.scalar, sum.sum);
                    let place = ll.int_to_ptr(address, ll.ptr(lower.target.array_space()));
                    lower.atomic_scalar(AtomicOp::Add, sum.scalar, place, total);
                    Scalars::new()
                });
            }
        });
    }

    fn by_one_thread(&mut self, body: impl FnOnce(&mut Self)) {
        let first = self.ll.icmp(IntPredicate::EQ, self.lane(), self.ll.const_i32(0));
        self.when(Some(first), |lower| {
            body(lower);
            Scalars::new()
        });
    }
}
