//! IR to simpler IR. This file is the table of contents: order and reason.

mod select;
#[cfg(test)]
mod select_tests;

pub use select::select;
