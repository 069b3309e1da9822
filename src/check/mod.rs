//! Meaning: names, types, overloads, constants. `Parsed` in, `Checked` out.

pub mod tree;
