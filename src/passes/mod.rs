//! IR to simpler IR: one pass per file.
//!
//! The CUDA text is printed from what comes out, so the passes keep source names and structure:
//! most remove and replace single instructions, carried values and branches that are never taken.
//! Those that move code say so in the table. They never change a result: floats keep every bit
//! (which NaN a NaN is aside). An access whose value nothing uses goes, and its bounds check with
//! it.
//!
//! | pass | what it does |
//! |---|---|
//! | [`rewrite`] | replaces operations by simpler ones, with the rules of [`fold`] and [`algebra`] |
//! | [`dce`] | removes what nothing needs |
//! | [`same_arrays`] | gives two parameters that are one array one name |
//! | [`select()`] | removes functions that no kernel calls, and kernels that nobody wants |
//! | [`inline`] | replaces calls by the code they run |
//! | [`test_inside`] | moves conditions of loops that write to memory into the loops |
//! | [`loop_exits`] | removes `break`, `continue` and early `return` |
//! | [`chosen_arrays`] | makes branches between known arrays of an access of one that was chosen |
//! | [`local_arrays`] | makes values of arrays that only this thread sees |
//! | [`fast_math`] | says which functions may take a GPU's approximations |
//! | [`forward_loads`] | reads no element again that this thread has just written |
//! | [`computed_once`] | calls a function once for equal arguments |
//! | [`dead_stores`] | removes stores that the next one overwrites |
//! | [`own_sums`] | makes plain sums of atomic ones into elements that only their thread touches |
//! | [`zero_adjoints`] | leaves out, on a GPU, dear reverse code of an adjoint that is zero |
//! | [`zero_sums`] | lets sums of adjoints begin with their first part |
//! | [`code_sinking`] | moves under a branch what only one side of a choice needs |
//! | [`adjacent`] | joins neighbouring branches on one condition |
//! | [`join_stores`] | makes one store of those that end both branches |
//! | [`loop_reversal`] | lets reverse loops that only add to adjoints go forward, which changes the order of these sums |
//! | [`unread_stores`] | removes stores to tiles that nothing reads afterwards |
//! | [`unroll`] | makes straight code of short loops |
//! | [`thread_loops`] | goes in loops through the threads of a block that have values of their own |
//! | [`index_checks`] | says which indices may be outside of tiles and local arrays, for the simulator |
//! | [`reverse_sums`] | gives chains to the sums that reverse code carries through tiles |
//! | [`block_alone`] | orders loops over elements of tiles for one thread with vectors |
//! | [`block_threads`] | shares among the threads of a block what a kernel with tiles does |
//!
//! [`pipelines`] has the orders in which they run. [`mod@copy`] repeats code, for these and for
//! others.

pub mod adjacent;
pub mod algebra;
#[cfg(test)]
mod barrier_tests;
pub mod block_alone;
pub mod block_threads;
pub mod chosen_arrays;
pub mod code_sinking;
pub mod computed_once;
pub mod copy;
pub mod dce;
pub mod dead_stores;
pub mod fast_math;
pub mod fold;
pub mod forward_loads;
pub mod index_checks;
pub mod inline;
pub mod join_stores;
pub mod local_arrays;
pub mod loop_exits;
pub mod loop_reversal;
pub mod loops;
pub mod own_sums;
pub mod pipelines;
mod rebuild;
pub mod reverse_sums;
pub mod rewrite;
pub mod same_arrays;
mod select;
#[cfg(test)]
mod select_tests;
pub mod test_inside;
#[cfg(test)]
mod tests;
pub mod thread_loops;
pub mod unread_stores;
pub mod unroll;
pub mod zero_adjoints;
pub mod zero_sums;

pub use dce::forget_calls;
pub use pipelines::{simplify, simplify_function, write_out};
pub use select::select;
