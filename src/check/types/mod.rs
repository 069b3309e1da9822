//! Which types are written, expected and found, and what can an expression denote?

pub(super) mod advice;
mod annotation;
mod double;
pub(super) mod pattern;
pub mod value;
