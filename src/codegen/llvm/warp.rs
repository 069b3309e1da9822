//! How do the threads of a warp tell each other values, and add to one place? Where all of them
//! mean the same address, a whole warp sums its operands through shuffles and one thread brings the
//! sum to memory: 1 atomic instead of 32 that wait for each other. For floats only: the assembler
//! does this for integers itself (`REDUX`).
//!
//! - Which threads run together here is asked for when it happens (`activemask`): a warp of which
//!   some threads have left, or went another way, adds thread by thread. Between the question and
//!   the last shuffle nothing branches, so the threads named in the mask all take part ("Using CUDA
//!   Warp-Level Primitives", NVIDIA, 2018: opportunistic programming).
//! - "The same" is proved where [`Uniformity`](crate::analysis::uniformity::Uniformity) shows that
//!   there is one address for the whole launch. An address that depends on no coordinate, but on
//!   the variable of a loop or on memory, is most likely the same; threads of a warp may meet in
//!   different iterations, so they ask each other.
//! - The order of float additions between threads is open (rule 15 of the IR), so any tree of them
//!   will do.

use super::builder::{Attribute, AttributeLoc, IntPredicate, Val};
use super::control::Join;
use super::flatten::{LeafKind, leaves};
use super::lower::{Frame, Lower, Scalars};
use crate::analysis::uniformity::Dependence;
use crate::ir::{Access, Ask, AtomicOp, Exchange, Inst, Op, ValueId};
use crate::types::{Scalar, Type};

/// Sums of more scalars than this take more shuffles than they save.
const MAX_SCALARS: usize = 16;
const ALL_LANES: i32 = -1;
/// The lane that is the bound of a shuffle within the whole warp: of `up` the first, of all others
/// the last (PTX ISA, "shfl.sync": no segments).
const FIRST_LANE: i32 = 0;
const LAST_LANE: i32 = 31;

/// When the threads of a warp mean one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Same {
    /// What is added `waits` if it may until the thread is at its end.
    Always { waits: bool },
    /// As long as they are in the same iteration of the loops around, and read the same of memory.
    Together,
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// When the threads of a warp mean one place with an atomic whose old value nobody asks for, so
    /// that they do it together.
    pub fn same_in_warp(&self, frame: &Frame<'a, 'ctx>, op: AtomicOp, access: &Access, inst: &Inst) -> Option<Same> {
        let &result = inst.results.first()?;
        let mut depends = Dependence::NONE;
        access.for_each_operand(|v| depends = depends | frame.known.uniformity.dependence(v));
        let may = self.target.is_gpu()
            && matches!(op, AtomicOp::Add | AtomicOp::Sub | AtomicOp::Min | AtomicOp::Max)
            && frame.scalar_ty(result).is_float()
            && matches!(frame.ty(access.array), Type::Array(_))
            && depends.coordinates.is_empty()
            && crate::analysis::uses(frame.function)[result] == 0;
        let waits = frame.known.deferrable.contains(&frame.at);
        may.then_some(if depends.time { Same::Together } else { Same::Always { waits } })
    }

    /// Waits for the block, and for the copies of each thread. On the host a block is one thread.
    pub fn barrier(&mut self, frame: &Frame<'a, 'ctx>) {
        if self.target.is_gpu() {
            let ll = self.ll;
            if frame.function.has(|inst| matches!(inst.op, Op::Copy(..))) {
                ll.effect_intrinsic("llvm.nvvm.cp.async.wait.all", &[]);
            }
            // Or LLVM would copy the code around it into branches that threads of a block take
            // differently.
            ll.add_attribute(self.into.function, AttributeLoc::Function, Attribute::Flag("convergent"));
            ll.block_barrier();
        }
    }

    /// Waits for all blocks of the launch, as CUDA's `cooperative_groups` does: each block adds 1
    /// to a word that the driver gives to a cooperative launch, the first block what is missing to
    /// the top bit, and all wait until that has turned. Where there is no such word the kernel
    /// stops.
    pub fn grid_sync(&mut self) {
        let ll = self.ll;
        ll.add_attribute(self.into.function, AttributeLoc::Function, Attribute::Flag("convergent"));
        ll.block_barrier_unaligned();
        let special = |name| ll.intrinsic(name, &[], &[]);
        let [first, none, arrives, waits, there] =
            ["first", "plain", "arrives", "waits", "there"].map(|name| ll.block(self.into.function, name));
        let thread = special("llvm.nvvm.read.ptx.sreg.tid.x");
        ll.cond_br(ll.eq(thread, ll.const_i32(0)), first, there);

        ll.position_at_end(first);
        // See `get_grid_workspace` there.
        let [high, low] = ["llvm.nvvm.read.ptx.sreg.envreg1", "llvm.nvvm.read.ptx.sreg.envreg2"].map(special);
        let wide = |half| ll.zext(half, ll.i64());
        let workspace = ll.or(ll.shl(wide(high), ll.const_i64(32)), wide(low));
        ll.cond_br(ll.eq(workspace, ll.const_i64(0)), none, arrives);
        ll.position_at_end(none);
        ll.effect_intrinsic("llvm.trap", &[]);
        ll.br(arrives);

        ll.position_at_end(arrives);
        // The word follows the bytes of the workspace.
        let count = ll.add(workspace, ll.const_i64(4));
        let blocks = special("llvm.nvvm.read.ptx.sreg.nctaid.x");
        let missing = ll.sub(ll.const_i32(i32::MIN + 1), blocks);
        let block = special("llvm.nvvm.read.ptx.sreg.ctaid.x");
        let own = ll.select(ll.eq(block, ll.const_i32(0)), missing, ll.const_i32(1));
        let old = ll.ptx_add_release(count, own);
        ll.br(waits);
        ll.position_at_end(waits);
        let now = ll.ptx_load_acquire(count);
        let turned = ll.icmp(IntPredicate::SLT, ll.xor(old, now), ll.const_i32(0));
        ll.cond_br(turned, there, waits);
        ll.position_at_end(there);
        ll.block_barrier_unaligned();
    }

    /// The atomic `op` at each of `places` with an operand each: (address, operand). The addresses
    /// are so far apart in all threads.
    pub fn atomic_of_warp(&mut self, op: AtomicOp, s: Scalar, same: Same, places: &[(Val<'ctx>, Val<'ctx>)]) {
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
        let together = ll.block(self.into.function, "warp");
        let mut types: Vec<_> = places.iter().map(|(_, operand)| ll.ty(*operand)).collect();
        types.push(ll.i1());
        let mut join = Join::new(ll, self.into.function, "lanes", &types);
        let mut values: Scalars = places.iter().map(|(_, operand)| *operand).collect();
        values.push(ll.bool(true));
        join.come_from_here(ll, &values);
        ll.cond_br(whole, together, join.block);

        ll.position_at_end(together);
        if let (Same::Together, Some(&(pointer, _))) = (same, places.first()) {
            let sums = ll.block(self.into.function, "sums");
            join.come_from_here(ll, &values);
            ll.cond_br(self.is_the_same(pointer), sums, join.block);
            ll.position_at_end(sums);
        }
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

    /// Whether an address is the same in all threads of a whole warp.
    fn is_the_same(&self, pointer: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let address = ll.ptr_to_int(pointer, ll.i64());
        let first = self.shuffle(Ask::Shuffle, Scalar::U64, ll.const_i32(ALL_LANES), address, ll.const_i32(FIRST_LANE));
        let alike = ll.intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[ll.const_i32(ALL_LANES), ll.eq(address, first)]);
        ll.eq(alike, ll.const_i32(ALL_LANES))
    }

    /// What the threads of a warp tell each other. On the host a warp is one thread.
    pub fn exchange(&mut self, frame: &Frame<'a, 'ctx>, exchange: Exchange, operands: &[ValueId]) -> Scalars<'ctx> {
        let ll = self.ll;
        if !self.target.is_gpu() {
            return match exchange.ask {
                Ask::Match => Scalars::from_slice(&[ll.const_i32(1)]),
                Ask::Ballot => Scalars::from_slice(&[ll.zext(frame.scalar(operands[0]), ll.i32())]),
                _ => frame.flat(&operands[..1]),
            };
        }
        // Or LLVM would copy the code around it into branches that threads of a warp take
        // differently.
        ll.add_attribute(self.into.function, AttributeLoc::Function, Attribute::Flag("convergent"));
        let members = match exchange.part() {
            Some((0, part)) => ll.const_i32(part as i32),
            Some((first, part)) => {
                let last = ll.icmp(IntPredicate::UGE, self.lane(), ll.const_i32(first as i32));
                ll.select(last, ll.const_i32(part as i32), ll.const_i32(ALL_LANES))
            }
            None => ll.const_i32(ALL_LANES),
        };
        match exchange.ask {
            Ask::Ballot => {
                let holds = frame.scalar(operands[0]);
                Scalars::from_slice(&[ll.intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[members, holds])])
            }
            Ask::Match => {
                let s = frame.scalar_ty(operands[0]);
                let (value, name) = match s.size() {
                    8 => (frame.scalar(operands[0]), "llvm.nvvm.match.any.sync.i64"),
                    4 => (frame.scalar(operands[0]), "llvm.nvvm.match.any.sync.i32"),
                    _ => (ll.zext(frame.scalar(operands[0]), ll.i32()), "llvm.nvvm.match.any.sync.i32"),
                };
                Scalars::from_slice(&[ll.intrinsic(name, &[], &[members, value])])
            }
            ask => {
                let by = frame.scalar(operands[1]);
                let leaves = leaves(frame.ty(operands[0]), &self.ir.structs);
                let values = frame.flat(&operands[..1]);
                let shuffled = leaves.iter().zip(values).map(|(leaf, value)| match leaf.kind {
                    LeafKind::Scalar(s) => self.shuffle(ask, s, members, value, by),
                    // Of an array in a struct.
                    LeafKind::Pointer => {
                        let address = ll.ptr_to_int(value, ll.i64());
                        let address = self.shuffle(ask, Scalar::U64, members, address, by);
                        ll.int_to_ptr(address, ll.ty(value))
                    }
                    LeafKind::Local => value,
                });
                shuffled.collect()
            }
        }
    }

    /// The value of the lane `distance` above in a whole warp; where there is none, the lane's own.
    fn shuffle_down(&self, s: Scalar, value: Val<'ctx>, distance: i32) -> Val<'ctx> {
        self.shuffle(Ask::Down, s, self.ll.const_i32(ALL_LANES), value, self.ll.const_i32(distance))
    }

    /// Values of 64 bits go in two halves.
    pub(super) fn shuffle(
        &self,
        ask: Ask,
        s: Scalar,
        members: Val<'ctx>,
        value: Val<'ctx>,
        by: Val<'ctx>,
    ) -> Val<'ctx> {
        let ll = self.ll;
        let (of_float, of_int, bound) = match ask {
            Ask::Up => ("llvm.nvvm.shfl.sync.up.f32", "llvm.nvvm.shfl.sync.up.i32", FIRST_LANE),
            Ask::Down => ("llvm.nvvm.shfl.sync.down.f32", "llvm.nvvm.shfl.sync.down.i32", LAST_LANE),
            Ask::Xor => ("llvm.nvvm.shfl.sync.bfly.f32", "llvm.nvvm.shfl.sync.bfly.i32", LAST_LANE),
            _ => ("llvm.nvvm.shfl.sync.idx.f32", "llvm.nvvm.shfl.sync.idx.i32", LAST_LANE),
        };
        let shuffle = |name, value| ll.intrinsic(name, &[], &[members, value, by, ll.const_i32(bound)]);
        if s == Scalar::F32 {
            return shuffle(of_float, value);
        }
        let bits = self.ops.to_bits(s, value);
        if s.size() < 4 {
            let other = shuffle(of_int, ll.zext(bits, ll.i32()));
            return self.ops.from_bits(s, ll.trunc(other, ll.ty(bits)));
        }
        if s.size() == 4 {
            return self.ops.from_bits(s, shuffle(of_int, bits));
        }
        let half = |bits| shuffle(of_int, ll.trunc(bits, ll.i32()));
        let (low, high) = (half(bits), half(ll.lshr(bits, ll.const_i64(32))));
        let high = ll.shl(ll.zext(high, ll.i64()), ll.const_i64(32));
        self.ops.from_bits(s, ll.or(high, ll.zext(low, ll.i64())))
    }
}
