//! Which types are written, expected and found, and what can an expression denote?

pub(super) mod advice;
mod alias;
mod annotation;
mod closed;
mod digits;
mod double;
mod foreign_type;
pub(super) mod fraction;
mod meaning;
pub(super) mod pattern;
mod quoted;
pub mod value;
