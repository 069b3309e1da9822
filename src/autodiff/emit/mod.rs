//! How is reverse code built?

mod adjoints;
mod calls;
pub mod entry;
pub mod finish;
pub mod loops;
pub mod memory;
mod repeated;
mod replay;
pub mod reverse;
mod rules;
mod unrolled;
