//! Software prefetching of indirect accesses: which elements will threads further on in a row read
//! or change, where the processor cannot foresee it? An index that is itself read from an array, as
//! in `x[ends[s, 0]]`, names an element anywhere in memory. So the loop over a row reads such
//! indices of a later thread too, and asks for the cache lines that they name (S. Ainsworth, T. M.
//! Jones, "Software prefetching for indirect memory accesses", 2017). Where arrays lie in the
//! caches anyway that would take a third of the time of such threads for nothing: they have a loop
//! of their own.
//!
//! Nothing depends on it but time: an index that changes before its thread comes asks for a line in
//! vain.

use std::mem::offset_of;

use super::builder::{Block, IntPredicate, Llvm, Val};
use super::lower::{Frame, Lower, Scalars};
use super::memory::ArrayParts;
use crate::abi::ArrayDescriptor;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Access, BlockId, Function, Op, ValueId, jumps, straight};
use crate::types::{Scalar, Type};

/// How many threads later: some twenty cache misses are under way at once.
const DISTANCE: i64 = 32;

/// Arrays of fewer bytes than this lie in the caches of a core after all.
const LEAST_BYTES: i64 = 1 << 21;

/// More accesses than this in a thread keep a processor's buffers for misses busy by themselves.
const MOST: usize = 16;

/// What a loop over a row knows of its later threads.
pub struct Ahead<'ctx> {
    /// How many threads later (i64): fewer at the end of a row.
    threads: Val<'ctx>,
    /// Indices that were read from arrays, and what they are for the later thread; where lanes run,
    /// for theirs.
    later: IdMap<Val<'ctx>, Val<'ctx>>,
    /// The arrays and indices that were asked for.
    asked: IdSet<(Val<'ctx>, Val<'ctx>)>,
}

/// The parameters of a kernel that are arrays in which it looks up what another array names, once
/// in a thread.
pub fn looked_up(function: &Function) -> Vec<usize> {
    let mut found = Lookups { function, read: IdSet::default(), arrays: Vec::new() };
    found.visit(function.entry);
    found.arrays
}

struct Lookups<'f> {
    function: &'f Function,
    /// What was read from arrays.
    read: IdSet<ValueId>,
    arrays: Vec<usize>,
}

impl Lookups<'_> {
    fn visit(&mut self, block: BlockId) {
        for &id in &self.function.blocks[block].insts {
            let inst = &self.function.insts[id];
            if let Some(access) = inst.op.access()
                && access.indices.iter().any(|index| self.read.contains(index))
                && let Some(parameter) = self.function.params().iter().position(|&p| p == access.array)
                && matches!(self.function.ty(access.array), Type::Array(_))
                && !self.arrays.contains(&parameter)
            {
                self.arrays.push(parameter);
            }
            match &inst.op {
                Op::Load(access) if matches!(self.function.ty(access.array), Type::Array(_)) => {
                    self.read.extend(inst.results.iter().copied());
                }
                Op::Extract(whole, _) if self.read.contains(whole) => self.read.extend(inst.results.iter().copied()),
                Op::If { .. } => inst.op.blocks().into_iter().for_each(|block| self.visit(block)),
                straight!() | Op::For { .. } | Op::While { .. } | jumps!() => {}
            }
        }
    }
}

/// Whether one of these arrays, by the bytes in the argument struct at which their descriptors
/// begin, is larger than the caches of a core.
pub fn is_far<'ctx>(ll: &Llvm<'ctx>, args: Val<'ctx>, descriptors: impl Iterator<Item = u32>) -> Val<'ctx> {
    let field = |start: u32, field: usize| {
        let at = ll.offset_by(args, u64::from(start) + field as u64);
        ll.sext(ll.load(ll.i32(), at, 4), ll.i64())
    };
    let far = descriptors.map(|start| {
        let extent = field(start, offset_of!(ArrayDescriptor, shape));
        let bytes = ll.mul(extent, field(start, offset_of!(ArrayDescriptor, strides)));
        ll.icmp(IntPredicate::SGE, bytes, ll.const_i64(LEAST_BYTES))
    });
    far.reduce(|a, b| ll.or(a, b)).unwrap_or(ll.bool(false))
}

/// Where the end of the row's loop will be written, which is known once its body is.
pub fn end_of_row<'ctx>(ll: &Llvm<'ctx>, start: Block<'ctx>) -> Val<'ctx> {
    ll.alloca(start, 8, 8)
}

impl<'ctx> Ahead<'ctx> {
    /// In the body of the loop that runs `width` threads from `thread` (i64).
    pub fn new(ll: &Llvm<'ctx>, end_of_row: Val<'ctx>, thread: Val<'ctx>, width: u32) -> Ahead<'ctx> {
        let width = i64::from(width);
        let end = ll.load(ll.i64(), end_of_row, 8);
        let left = ll.sub(ll.sub(end, thread), ll.const_i64(width));
        let threads = ll.intrinsic("llvm.smin", &[ll.i64()], &[left, ll.const_i64(DISTANCE.max(width))]);
        Ahead { threads, later: IdMap::default(), asked: IdSet::default() }
    }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// How many bytes (i64) further a later thread reads what is `bytes` further for the next one,
    /// if it is an index that is worth to be read now.
    pub fn to_later(&self, ty: Type, bytes: Val<'ctx>) -> Option<Val<'ctx>> {
        let ahead = self.mode.row()?.ahead.as_ref().filter(|_| self.loops.depth == 0)?;
        let is_index = matches!(ty.scalar_part(), Some(Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64));
        (is_index && self.ll.as_int(bytes) != Some(0)).then(|| self.ll.mul(ahead.threads, bytes))
    }

    /// Notes what numbers that were read are for a later thread.
    pub fn note_later(&mut self, read: &Scalars<'ctx>, later: &Scalars<'ctx>) {
        if let Some(ahead) = self.mode.row_mut().and_then(|row| row.ahead.as_mut()) {
            ahead.later.extend(read.iter().copied().zip(later.iter().copied()));
        }
    }

    /// How many bytes (i64, of each lane) further the element is that a later thread names, if its
    /// address is to be asked for.
    pub fn later_element(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        access: &Access,
        array: &ArrayParts<'ctx>,
    ) -> Option<Val<'ctx>> {
        let ll = self.ll;
        let ahead = self.mode.row_mut()?.ahead.as_mut().filter(|_| !array.is_local && self.loops.depth == 0)?;
        let later = |i: ValueId| ahead.later.get(&frame.scalar(i)).copied();
        let first = *access.indices.iter().find(|i| later(**i).is_some())?;
        let wide = |i: ValueId, value| if frame.scalar_ty(i).bits() < 64 { ll.sext(value, ll.i64()) } else { value };
        let further = |(&i, &stride): (&ValueId, &Val<'ctx>)| {
            let difference = wide(i, ll.sub(later(i)?, frame.scalar(i)));
            let stride = ll.sext(stride, ll.i64());
            Some(ll.mul(difference, ll.lanes(difference).map_or(stride, |lanes| ll.splat(stride, lanes))))
        };
        let bytes = access.indices.iter().zip(&array.strides).filter_map(further).reduce(|a, b| ll.add(a, b))?;
        let asks = ahead.asked.len() < MOST && ahead.asked.insert((array.data, frame.scalar(first)));
        asks.then_some(bytes)
    }
}
