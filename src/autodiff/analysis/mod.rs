//! What is true of the forward program: what varies, what is written, what is needed, what cannot
//! be reversed?

pub mod accumulate;
pub mod activity;
pub mod bits;
pub mod facts;
pub mod fills;
pub mod finite;
pub mod floats;
pub mod lossy;
mod messages;
pub mod needed;
pub mod refuse;
pub mod reread;
mod run_time;
pub mod sharing;
pub mod world;
pub mod written;
