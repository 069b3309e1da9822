//! Does LLVM code compute what the interpreter computes, bit for bit, and does ptxas take the PTX?

#[path = "../common/mod.rs"]
mod common;

mod backward;
mod control;
mod decisions;
mod device;
mod harness;
mod lane_sums;
mod limits;
mod memory;
mod ops;
mod prefetch;
mod quotients;
mod side_by_side;
mod simd;
