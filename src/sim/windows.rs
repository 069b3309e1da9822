//! Which addresses belong to which space? A generic address says its space by its window; global
//! and constant memory are addressed by it, shared and local memory count from 0 in their own
//! space, and parameters have one address for both.
//!
//! The windows lie beyond all addresses that a process can have (57 bits at most): a device's
//! memory may be anywhere below. With a stack without limit Linux puts it at 0x2aaa_0000_0000.

use crate::ptx::Space;

pub const SHARED: u64 = 1 << 57;
pub const LOCAL: u64 = 1 << 58;
pub const PARAM: u64 = 1 << 59;
/// Where functions have their addresses, one each: nothing is read there.
pub const FUNCTIONS: u64 = 1 << 60;
pub const GLOBAL: u64 = 0x7f00_0000_0000;
/// Of the windows besides the last.
pub const SIZE: u64 = 1 << 44;

/// What is added to an address of the space to make it generic.
pub fn base(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        _ => 0,
    }
}

/// The space of a generic address, and the address in it.
pub fn resolve(address: u64) -> (Space, u64) {
    match address {
        SHARED..LOCAL => (Space::Shared, address - SHARED),
        LOCAL..PARAM => (Space::Local, address - LOCAL),
        _ if (PARAM..PARAM + SIZE).contains(&address) => (Space::Param, address),
        _ => (Space::Global, address),
    }
}
