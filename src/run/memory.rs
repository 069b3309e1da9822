//! Where do the arrays of a launch live? In zeroed, aligned buffers, within the memory that this machine has.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::{Result, fail};
use crate::diag::Code;

/// Wide enough for every vector load of the host and a cache line.
const ALIGN: usize = 64;

/// What the system can map as one page. Larger buffers start at a multiple of it, and such pages are asked for: an array
/// that is read at random places then needs far fewer entries of the processor's address tables.
const LARGE_PAGE: usize = 2 << 20;

/// A zeroed block of memory that does not move.
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
    memory: Memory,
}

/// Where a buffer comes from.
enum Memory {
    Allocator(Layout),
    /// Pages of its own, from here on, so many bytes.
    Pages(NonNull<u8>, usize),
}

// SAFETY: a buffer owns its memory as a `Vec<u8>` does.
unsafe impl Send for Buffer {}
// SAFETY: shared references only read; kernels that write get the address from an exclusive one (`address`).
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `what` names the owner in messages. Large buffers are not touched, so an unused part costs nothing.
    pub fn zeroed(len: u64, what: &str) -> Result<Buffer> {
        let too_large = || fail(Code::E1006, format!("{what} needs {len} bytes, more than this machine has free"));
        let len = usize::try_from(len).map_err(|_| too_large())?;
        if len >= LARGE_PAGE {
            return Buffer::pages(len).ok_or_else(too_large);
        }
        let layout = Layout::from_size_align(len.max(1), ALIGN).map_err(|_| too_large())?;
        // SAFETY: the layout's size is at least 1.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(too_large)?;
        Ok(Buffer { start, len, memory: Memory::Allocator(layout) })
    }

    /// A buffer of pages of its own, which the system makes zero.
    fn pages(len: usize) -> Option<Buffer> {
        let bytes = len.checked_add(LARGE_PAGE)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at a place of the system's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let base = NonNull::new(base.cast::<u8>())?;
        let shift = base.as_ptr().align_offset(LARGE_PAGE);
        // SAFETY: the shift is less than the bytes added. That the advice is not taken is no failure.
        let start = unsafe {
            let start = base.add(shift);
            libc::madvise(start.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
            start
        };
        Some(Buffer { start, len, memory: Memory::Pages(base, bytes) })
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
        match self.memory {
            // SAFETY: the layout is the one of the allocation.
            Memory::Allocator(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            // SAFETY: the whole of the mapping, which nobody else knows.
            Memory::Pages(base, bytes) => unsafe {
                libc::munmap(base.as_ptr().cast(), bytes);
            },
        }
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
