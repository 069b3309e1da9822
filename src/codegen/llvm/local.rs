//! Where do local arrays lie, and how do they become zero?

use smallvec::smallvec;

use super::builder::{Attribute, AttributeLoc, IntPredicate, Val};
use super::lower::{Frame, Lower, Scalars, Target};
use super::memory::MAX_ALIGN;
use crate::ir::ValueId;
use crate::passes::loops::is_set_whole_first;
use crate::types::Layout;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// The address of a new local array, all zeros.
    pub fn local_array(&mut self, frame: &Frame<'a, 'ctx>, array: ValueId) -> Scalars<'ctx> {
        let layout = Layout::of(frame.ty(array), &self.ir.structs);
        let lanes = self.mode.lanes().map_or(1, |lanes| lanes.count);
        let lanes = if self.is_of_lane(frame, array) { lanes } else { 1 };
        let (size, align) = (u64::from(layout.size) * u64::from(lanes), layout.align * lanes);
        if self.target.is_gpu() {
            let zeroed = !is_set_whole_first(frame.function, array);
            return smallvec![match zeroed {
                true => self.zeroed_on_device(size, align),
                false => self.ll.alloca(self.into.entry, size, align),
            }];
        }
        let slot = self.ll.alloca(self.into.entry, size, align);
        self.ll.memset_zero(slot, size, align);
        smallvec![slot]
    }

    /// Memory of the block for an array. A block of the host is one thread, and has its own.
    pub fn shared_array(&mut self, frame: &Frame<'a, 'ctx>, array: ValueId) -> Scalars<'ctx> {
        let layout = Layout::of(frame.ty(array), &self.ir.structs);
        let (size, align) = (u64::from(layout.size), layout.align.max(MAX_ALIGN));
        smallvec![match self.target {
            Target::Host { .. } => self.ll.alloca(self.into.entry, size, align),
            Target::Nvptx { .. } => {
                let (ll, function) = (self.ll, frame.function);
                // `sanitize_thread` keeps LLVM from hoisting loads of shared memory across
                // branches.
                ll.add_attribute(self.into.function, AttributeLoc::Function, Attribute::Flag("sanitize_thread"));
                if let Some(&at) = self.mode.kernel().and_then(|kernel| kernel.asked_places.get(&array)) {
                    return smallvec![ll.offset_by(ll.asked_shared("block_memory", align), at)];
                }
                let own = function.values[array].name.as_deref().unwrap_or("tile");
                let name = format!("{}_{own}", function.name).replace(|c: char| !c.is_ascii_alphanumeric(), "_");
                ll.shared(&name, size, align)
            }
        }]
    }

    /// The number of the thread in its block.
    pub fn lane(&self) -> Val<'ctx> {
        match self.target {
            Target::Host { .. } => self.ll.const_i32(0),
            Target::Nvptx { .. } => self.ll.intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", &[], &[]),
        }
    }

    /// Room for a local array of a GPU's thread, set to zero in stores of 8 and 16 bytes. Of one
    /// `memset` of 128 bytes or more, LLVM's back end makes a loop over bytes.
    fn zeroed_on_device(&mut self, size: u64, align: u32) -> Val<'ctx> {
        const STEP: u64 = 64;
        const MOST_STEPS: u64 = 16;
        let ll = self.ll;
        let align = if size >= u64::from(MAX_ALIGN) { align.max(MAX_ALIGN) } else { align };
        let slot = ll.alloca(self.into.entry, size, align);
        let (steps, rest) = (size / STEP, size % STEP);
        if steps <= MOST_STEPS {
            for step in 0..steps {
                ll.memset_zero(ll.offset_by(slot, step * STEP), STEP, align);
            }
        } else {
            let before = ll.current_block();
            let (more, done) = (ll.block(self.into.function, "zero"), ll.block(self.into.function, "zeroed"));
            ll.br(more);
            ll.position_at_end(more);
            let at = ll.phi(ll.i64());
            ll.add_incoming(at, ll.const_i64(0), before);
            ll.memset_zero(ll.offset(slot, at), STEP, align);
            let next = ll.add(at, ll.const_i64(STEP as i64));
            ll.add_incoming(at, next, more);
            ll.cond_br(ll.icmp(IntPredicate::ULT, next, ll.const_i64((steps * STEP) as i64)), more, done);
            ll.position_at_end(done);
        }
        if rest > 0 {
            ll.memset_zero(ll.offset_by(slot, steps * STEP), rest, align);
        }
        slot
    }
}
