//! How are the entries of a gradient run, and are the derivatives right?

pub mod beside;
pub mod double;
pub mod gradcheck;
pub mod gradient;
pub mod second_order;
pub mod seed;
pub mod tape;
