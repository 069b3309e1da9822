//! Which kernels are faster if a thread does four tasks? Those that wait for memory. A thread that
//! loads one element of each array and stores one leaves an H200 at 2.7 to 3.1 of its 4.3 TB/s;
//! with the loads of four tasks under way at once it moves 3.8 (`saxpy` of 80 million numbers:
//! 0.315 and 0.254 ms).
//!
//! The loads of all four have to come before the stores. The assembler moves them there if no store
//! changes what they read, which `ld.global.nc` says. So an entry tests at its start whether arrays
//! that are written overlap with those that are only read, and has its code for four tasks and for
//! one. Tasks of a thread lie a grid apart: threads side by side still touch memory side by side.

use super::builder::{IntPredicate, Val};
use super::flatten::ARRAY_DATA;
use super::lower::{Lower, Scalars};
use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::ir::{FuncId, Function, Module, Op};
use crate::types::Type;

/// The tasks that a thread does at once.
pub const TASKS: u64 = 4;

/// A kernel with more instructions computes more than it waits.
const MOST_INSTRUCTIONS: usize = 96;

/// The array parameters of such a kernel, by number.
pub struct Strips {
    /// Those that it only reads.
    read: Vec<usize>,
    written: Vec<usize>,
}

/// How many threads a launch of such a kernel has: one for [`TASKS`] tasks, but at least as many as
/// the GPU holds.
pub fn threads(tasks: u64, resident: u64) -> u64 {
    tasks.div_ceil(TASKS).max(tasks.min(resident))
}

impl Strips {
    /// None: a thread of the kernel does one task. All that each thread does is straight code:
    /// loads, arithmetic, stores.
    pub fn of(module: &Module, kernel: FuncId) -> Option<Strips> {
        let function = &module.functions[kernel];
        let params = function.params();
        let insts = &function.blocks[function.entry].insts;
        let structs = params.iter().any(|&param| matches!(function.ty(param), Type::Struct(_)));
        if function.by_block || structs || insts.len() > MOST_INSTRUCTIONS {
            return None;
        }
        let mut effects = EffectTable::default();
        function.callees().into_iter().for_each(|callee| effects.cover(module, callee));
        let number = |array| match root(function, array) {
            Root::Param(n, path) if path.is_empty() => Some(n as usize),
            _ => None,
        };
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        let plain = insts.iter().all(|&id| {
            let op = &function.insts[id].op;
            if let Op::Load(access) = op {
                number(access.array).map(|n| loads.push(n)).is_some()
            } else if let Op::Store { access, .. } = op {
                number(access.array).map(|n| stores.push(n)).is_some()
            } else {
                op.is_terminator() || op.blocks().is_empty() && effects.properties(op).is_value()
            }
        });
        loads.retain(|n| !stores.contains(n));
        [&mut loads, &mut stores].into_iter().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        let fits = plain && !loads.is_empty() && !stores.is_empty();
        fits.then_some(Strips { read: loads, written: stores })
    }
}

impl<'ctx> Lower<'_, '_, 'ctx> {
    /// Whether no array that is written overlaps with one that is only read. `args`: of the kernel.
    pub fn are_apart(&self, function: &Function, strips: &Strips, args: &[Scalars<'ctx>]) -> Val<'ctx> {
        let ll = self.ll;
        let reach = |&n: &usize| match function.ty(function.params()[n]) {
            Type::Array(ty) => Some(self.reach(&args[n], ty)),
            _ => None,
        };
        let read: Vec<[Val; 2]> = strips.read.iter().filter_map(reach).collect();
        let mut apart = ll.bool(true);
        for [start, end] in strips.written.iter().filter_map(reach) {
            for &[from, to] in &read {
                let before = ll.icmp(IntPredicate::ULE, end, from);
                apart = ll.and(apart, ll.or(before, ll.icmp(IntPredicate::ULE, to, start)));
            }
        }
        apart
    }

    /// Says of the arrays that are only read that nothing changes them, until [`Self::may_change`].
    pub fn stay(&mut self, strips: &Strips, args: &[Scalars<'ctx>]) {
        self.unchanging.extend(strips.read.iter().map(|&n| args[n][ARRAY_DATA]));
    }

    pub fn may_change(&mut self) {
        self.unchanging.clear();
    }
}
