//! SIMD on the host: loop vectorisation, so that several threads run as the lanes of vectors.
//!
//! The method is ISPC's (Pharr and Mark, "ispc: A SPMD compiler for high-performance CPU
//! programming", 2012): neighbouring threads of a row are the lanes of vectors; a value that is the
//! same for all lanes stays a scalar. Where threads go different ways, both ways are run, each with
//! a mask of the lanes that take it, and loops run until no lane is left. Every lane does the
//! operations that its thread does alone, in the same order and with the same bits.
//!
//! | file | question it answers |
//! |---|---|
//! | `profitability` | which values differ between lanes, and does it pay? |
//! | `refused` | why does a kernel run thread by thread? |
//! | `masks` | how do lanes branch and loop? |
//! | `access` | how do lanes read and write memory? |
//! | `interleave` | how do elements of several components become one vector for each, and back? |
//! | `update` | how do lanes update memory atomically? |
//! | `keys` | what if lanes use the same element of an array that is stored to? |
//! | `lane_copies` | how do lanes add to elements that they share, iteration after iteration? |
//! | `quotients` | how do lanes divide several numbers by one? |
//!
//! What lanes do to a value is reported by its LLVM type: the builder widens a scalar beside a
//! vector (see `vector`).

mod access;
mod interleave;
mod keys;
mod lane_copies;
mod masks;
mod profitability;
mod quotients;
mod refused;
mod registers;
mod update;

pub use lane_copies::Copies;
pub use profitability::{Plan, Reach, prepare};

use super::builder::{Block, Ty, Val};
use super::lower::{Frame, Lower, Scalars};
use crate::ids::Id;
use crate::ir::{BlockId, Op, ValueId};

/// The lanes that a body is lowered for.
pub struct SimdLanes<'ctx> {
    pub count: u32,
    /// In so many vectors.
    pub vectors: u32,
    /// Those that are running; None: all. Never empty where memory is touched.
    pub mask: Option<Val<'ctx>>,
    pub plan: Plan,
    /// Where lanes go of which two have the same key.
    pub one_by_one: Option<Block<'ctx>>,
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// The LLVM types of values, as vectors where lanes differ.
    pub fn types_of(&self, frame: &Frame<'a, 'ctx>, values: &[ValueId]) -> smallvec::SmallVec<[Ty<'ctx>; 4]> {
        values
            .iter()
            .flat_map(|&v| {
                let lanes = self.mode.lanes().filter(|lanes| lanes.plan.varies(v)).map(|lanes| lanes.count);
                let types = self.leaf_types(frame.ty(v));
                types.into_iter().map(move |t| lanes.map_or(t, |n| self.ll.vector_ty(t, n)))
            })
            .collect()
    }

    /// Whether a block yields something that differs between lanes first: the condition of a
    /// `while`.
    pub fn lanes_differ(&self, frame: &Frame<'a, 'ctx>, block: BlockId) -> bool {
        let Some(lanes) = self.mode.lanes() else { return false };
        let last = frame.function.blocks[block].insts.last().map(|&id| &frame.function.insts[id].op);
        matches!(last, Some(Op::Yield(values)) if values.first().is_some_and(|&v| lanes.plan.varies(v)))
    }

    /// Whether some scalar differs between lanes.
    pub fn any_varies(&self, scalars: &Scalars<'ctx>) -> bool {
        self.mode.lanes().is_some() && scalars.iter().any(|v| self.ll.lanes(*v).is_some())
    }

    /// Whether each lane has an array of its own.
    pub fn is_of_lane(&self, frame: &Frame<'a, 'ctx>, array: ValueId) -> bool {
        self.mode.lanes().is_some_and(|lanes| lanes.plan.is_of_lane(frame.function, array))
    }

    fn mask(&self) -> Option<Val<'ctx>> {
        self.mode.lanes().and_then(|lanes| lanes.mask)
    }

    fn simd_width(&self) -> u32 {
        self.mode.lanes().map_or(1, |lanes| lanes.count)
    }

    /// Runs `body` with another mask.
    pub fn with_mask<R>(&mut self, mask: Option<Val<'ctx>>, body: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.mask();
        let set = |lower: &mut Self, mask| {
            if let Some(lanes) = lower.mode.lanes_mut() {
                lanes.mask = mask;
            }
        };
        set(self, mask);
        let result = body(self);
        set(self, before);
        result
    }

    /// The lanes of `condition` that are running.
    pub(super) fn narrowed(&self, condition: Val<'ctx>) -> Val<'ctx> {
        let condition = self.ll.splat(condition, self.simd_width());
        self.mask().map_or(condition, |mask| self.ll.and(mask, condition))
    }

    /// The linear index of the first running thread, for reports.
    pub fn reporting_thread(&self) -> Val<'ctx> {
        match self.mask() {
            Some(mask) => self.ll.add(self.thread.linear, self.ll.first_lane(mask)),
            None => self.thread.linear,
        }
    }
}

/// Whether a value, by its number, is in a set of values.
fn is_in(set: &[bool], value: ValueId) -> bool {
    set.get(value.index()).copied().unwrap_or(false)
}
