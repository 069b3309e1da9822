//! Where do the arrays of a launch live? In zeroed, aligned buffers, within the memory that this machine has.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::{Result, fail};
use crate::diag::Code;

/// Wide enough for every vector load of the host and a cache line.
const ALIGN: usize = 64;

/// A zeroed block of memory that does not move.
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a buffer owns its memory as a `Vec<u8>` does.
unsafe impl Send for Buffer {}
// SAFETY: shared references only read; kernels that write get the address from an exclusive one (`address`).
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `what` names the owner in messages. Pages are not touched, so an unused part costs nothing.
    pub fn zeroed(len: u64, what: &str) -> Result<Buffer> {
        let too_large = || fail(Code::E1006, format!("{what} needs {len} bytes, more than this machine has free"));
        let layout = usize::try_from(len)
            .ok()
            .and_then(|n| Layout::from_size_align(n.max(1), ALIGN).ok())
            .ok_or_else(too_large)?;
        // SAFETY: the layout's size is at least 1.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(too_large)?;
        Ok(Buffer { start, len: len as usize })
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes are owned, and no kernel runs while a reference to them is held.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The address for kernels, which may write through it while no reference to the bytes is held.
    pub fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the layout is the one of the allocation.
        unsafe { dealloc(self.start.as_ptr(), Layout::from_size_align_unchecked(self.len.max(1), ALIGN)) }
    }
}

/// Bytes that arrays may take: what the system says is free, or 64 GiB where it does not say. Allocation itself does
/// not fail on Linux until the memory is written, when it is too late for a message.
pub fn available() -> u64 {
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    free.map_or(64 << 30, |kib| kib.saturating_mul(1024))
}
