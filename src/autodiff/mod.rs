//! What is the gradient of a kernel? IR to IR: the backward entry of each kernel, right or refused.
//!
//! # The method
//!
//! A backward entry computes, in each thread, what the forward thread computed (the *replay*, without its stores), then
//! walks the same program from its end to its start (the *reverse sweep*) and passes adjoints from results to operands.
//!
//! 1. **Normal form** (`passes`): functions that can't keep a function-level adjoint are inlined, `break`, `continue` and
//!    early `return` become flags, so that every region has one exit; local arrays become SSA values; loads of an element
//!    that the thread itself has just stored become the stored value.
//! 2. **Activity**: a value is active if it varies with a float in an array (or an active parameter of a function) and a
//!    store of floats (or a result) depends on it. Integers and bool never are. Only active values have adjoints.
//! 3. **Reverse of a block**: its instructions from last to first. The primal values that the rules read are those of the
//!    replay of the same block; what is not read after all is removed by `passes::dce`.
//! 4. **If**: the reverse is an `if` on the same condition; a branch replays its inside, or the forward `if` yields what
//!    is costly to compute again.
//! 5. **Loops**: the reverse loop runs the turns from last to first. A turn needs the carried values as they were at its
//!    start: nothing if no rule reads them (a sum keeps 0 bytes), a closed form for counters, else one of four *stores*
//!    ([`Store`]). It replays its body from there, and reverses it. All stores give the same bits.
//! 6. **Memory**: a load adds its adjoint to the array of adjoints; a store takes the adjoint of the element and leaves 0.
//!    Where a rule reads a value that was loaded from memory that the launch overwrites, the *augmented* forward entry
//!    records it, and the backward entry takes the record.
//! 7. **Functions**: a pure function gets an adjoint function of its own; one with a [`crate::ir::Derivative::Rule`] is
//!    replaced by that.
//!
//! The adjoint of a kernel's array parameter `x` is the array in the adjoint parameter `adj_x`, or when that is null the
//! one behind `x`'s own gradient pointer; when both are null, `x` has no gradient and nothing is written for it.

pub mod floats;
pub mod jvp;

use crate::diag::Diagnostics;
use crate::ir::Module;

/// What is wanted of [`differentiate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Make the backward entries of kernels. Without, only the bodies of [`crate::ir::Derivative::AdjointOf`] functions are
    /// written, which the forward code itself calls.
    pub backward: bool,
    /// The store for the state of all loops that it can serve; None: each loop gets the cheapest.
    pub store: Option<Store>,
}

impl Default for Options {
    fn default() -> Self {
        Options { backward: true, store: None }
    }
}

/// Appends to a simplified module the backward entry of each forward kernel that has none yet, and its augmented entry
/// where the launch overwrites what the backward entry needs. A gradient that can't be right is an error, and the kernel
/// keeps its forward entry alone. The result is not simplified.
pub fn differentiate(_module: &mut Module, _options: &Options, _diagnostics: &mut Diagnostics) {}

/// Where the state of a loop waits for the reverse sweep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Store {
    /// No loop is left: as many copies of the body as it has turns. Needs a constant number of turns.
    Unroll,
    /// A local array with one slot per turn. Needs a constant bound on the number of turns.
    Stack,
    /// A buffer that the host provides, `[slot][thread]`. A thread that needs more slots than there are writes nothing
    /// beyond them and reports the number.
    Tape,
    /// A fixed number of snapshots; turns between them are computed again (binomial checkpointing; Griewank and Walther,
    /// ACM TOMS 26(1), 2000).
    Checkpoint,
}
