//! Where do the values wait that the reverse sweep needs?

pub mod buffers;
pub mod log;
pub mod plan;
pub mod report;
pub mod snapshots;
pub mod stores;
