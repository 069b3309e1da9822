//! Which types are written, expected and found, and what can an expression denote?

pub(super) mod advice;
mod alias;
mod annotation;
mod digits;
mod double;
mod foreign_type;
pub(super) mod fraction;
pub(super) mod pattern;
mod quoted;
pub mod value;
