//! IR to simpler IR. This file is the table of contents: order and reason.

mod select;

pub use select::select;
