//! What does reverse code under construction remember of what it has built?

use crate::autodiff::storage::buffers::{Buffers, Slots};
use crate::ir::{Path, ValueId};

/// Contributions to parts of a value that its adjoint does not hold yet.
pub type Parts = Vec<(Path, ValueId)>;

/// The array of adjoints of an array, and whether it is there.
#[derive(Clone, Copy, Debug)]
pub struct Shadow {
    pub array: ValueId,
    pub set: ValueId,
}

/// What the forward sweep of a loop leaves for the reverse sweep.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// The number of iterations, where the sweep counted them (int32).
    pub iterations: Option<ValueId>,
    pub kept: Option<Kept>,
    /// Of each slot that holds the largest or smallest value so far: its number, its value at the
    /// end, and the number of iterations after which it had that (int32).
    pub extremes: Vec<(usize, ValueId, ValueId)>,
    /// Whether all iterations were kept; None: always.
    pub complete: Option<ValueId>,
}

/// State that a forward sweep kept.
#[derive(Clone, Debug)]
pub enum Kept {
    /// Of an unrolled loop: per iteration, the number and the value of each kept slot.
    Iterations(Vec<Vec<(usize, ValueId)>>),
    /// Per kept slot, its number and its array.
    Local(Vec<(usize, ValueId)>),
    Tape(Taped),
}

/// State on the tape: iteration k has the slots from `base + k * width` on.
#[derive(Clone, Debug)]
pub struct Taped {
    /// Per kept slot of the loop, its number and its slots among those of an iteration.
    pub slots: Vec<(usize, Slots)>,
    pub base: ValueId,
    pub width: u32,
    /// The iterations that there is room for.
    pub room: ValueId,
}

/// The tape of a backward entry, like a stack: the first free slot moves up with each loop that
/// keeps state.
#[derive(Clone, Debug)]
pub struct Tape {
    pub buffers: Buffers,
    pub top: ValueId,
}
