//! What does a kernel compute, by the book? The reference interpreter: it executes the semantics
//! rules of [`crate::ir`] on real memory, threads in order, with every index checked. It is the
//! oracle for all back ends.
//!
//! [`Program::new`] turns the reachable functions into a compact form ([`code`], made by
//! [`compile`]) in which every value is a range of 64-bit slots, one per scalar; [`exec`] runs it,
//! [`ops`] has what it computes, [`together`] how threads wait for each other. Only [`memory`] is
//! unsafe code, and what reads tiles with it ([`multiply`]).

mod accesses;
mod code;
mod compile;
mod exec;
pub mod format;
mod memory;
mod multiply;
mod ops;
mod together;

use std::ffi::c_void;

use super::{FuncId, Module};
use crate::abi::LaunchBounds;
use crate::source::Span;
pub use accesses::{AccessKind, Accesses, Clash, Update, Visit};
pub use code::Program;
pub use together::MOST_THREADS;

/// Why a run is in error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrapKind {
    /// An index outside the extent, or access to memory that is not there.
    OutOfBounds,
    /// An index of a component that is not there: `extent` is their number, `message` what has
    /// them.
    Component,
    /// A failed `assert`.
    Assert,
    /// The step budget is used up; the run stopped there.
    StepLimit,
    /// Others of the launch end where this thread waits for them; the run stopped there.
    Waits,
}

/// The first error of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trap {
    pub kind: TrapKind,
    /// The access or assert; for `StepLimit` the kernel.
    pub span: Span,
    /// Linear index of the thread.
    pub thread: u64,
    /// Out of bounds: the dimension, the index as written, the extent. An access to a null array
    /// has extent 0.
    pub dim: u32,
    pub index: i64,
    pub extent: i64,
    /// Out of bounds: the address of the array's first element. 0: it has none.
    pub array: u64,
    /// For people.
    pub message: String,
}

/// Where a gradient was near-degenerate, see [`crate::ir::Check::Degenerate`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    pub span: Span,
    /// Linear index of the thread.
    pub thread: u64,
    pub why: String,
}

/// What a run may use and what comes of it. Reuse it to run several ranges of threads: the first
/// trap stays.
pub struct Outcome<'a> {
    pub trap: Option<Trap>,
    /// The first of a run.
    pub note: Option<Note>,
    /// The first place of a [`crate::ir::Check::Visit`] that held.
    pub visited: Option<Span>,
    /// Receives every printed text.
    pub print: Box<dyn FnMut(&str) + 'a>,
    /// Instructions left to run, constants aside; None: no limit. 0 after the run: it stopped for
    /// that, even if `trap` tells of an earlier error.
    pub steps: Option<u64>,
    /// Watches which thread comes where.
    pub accesses: Option<Accesses>,
    /// Counts the operations on floats of every block that is entered: one for each scalar result,
    /// two for a fused multiply and add. None: not counted.
    pub operations: Option<u64>,
    /// An index of an array was negative and counted from the end.
    pub from_end: bool,
}

impl<'a> Outcome<'a> {
    /// An outcome without a trap yet and without a step limit.
    pub fn new(print: impl FnMut(&str) + 'a) -> Outcome<'a> {
        Outcome {
            trap: None,
            note: None,
            visited: None,
            print: Box::new(print),
            steps: None,
            accesses: None,
            operations: None,
            from_end: false,
        }
    }
}

/// Runs the threads `begin..end` (linear index, clipped to the launch) of a kernel. The module is
/// verified.
///
/// # Safety
/// As for a compiled host entry ([`crate::abi::HostEntry`]): `args` points to the kernel's argument
/// struct, the arrays in it are null or describe memory that is valid for reads and writes, and no
/// other thread uses that memory at the same time.
pub unsafe fn run_kernel(
    module: &Module,
    kernel: FuncId,
    launch: &LaunchBounds,
    args: *const c_void,
    begin: u64,
    end: u64,
    outcome: &mut Outcome<'_>,
) {
    // SAFETY: the same contract.
    unsafe { Program::new(module, kernel).run(launch, args, begin, end, outcome) }
}

#[cfg(test)]
mod tests;
