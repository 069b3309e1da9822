//! What does a call call, with which arguments, and how is that differentiated?

mod builtin;
pub(crate) mod call;
mod construct;
mod grad_call;
pub(super) mod gradient;
pub mod instances;
pub(super) mod keyword;
mod mismatch;
mod native;
