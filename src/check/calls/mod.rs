//! What does a call call, with which arguments, and how is that differentiated?

mod builtin;
mod call;
mod construct;
mod grad_call;
pub(super) mod gradient;
pub mod instances;
mod native;
