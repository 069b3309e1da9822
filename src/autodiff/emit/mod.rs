//! How is reverse code built?

mod adjoints;
mod calls;
pub mod entry;
pub mod finish;
pub mod loops;
pub mod reads;
mod repeated;
mod replay;
pub mod reverse;
mod rules;
mod search;
pub mod shadows;
pub mod snapshots;
mod state;
mod stores;
mod unrolled;
mod walk;
