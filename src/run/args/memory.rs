//! Where do the arrays of a launch live? In zeroed, aligned buffers, within the memory that this
//! machine has.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::diag::Code;
use crate::run::{Result, fail};

/// Wide enough for every vector load of the host and a cache line.
const ALIGN: usize = 64;

/// What the system can map as one page. Larger buffers start at a multiple of it, and such pages
/// are asked for: an array that is read at random places then needs far fewer entries of the
/// processor's address tables.
const LARGE_PAGE: usize = 2 << 20;

/// A block of memory that does not move.
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
    memory: BufferSource,
}

/// Where a buffer comes from.
enum BufferSource {
    Allocator(Layout),
    /// None only while it is dropped.
    Scratch(Option<Scratch>),
    /// None only while it is dropped.
    Pages(Option<Pages>),
    /// The owner's, who has it back.
    Lent,
}

/// Small memory whose contents nobody asks for.
struct Scratch {
    start: NonNull<u8>,
    layout: Layout,
}

impl Scratch {
    /// Memory of a buffer that this thread has dropped, or new.
    fn of(layout: Layout) -> Option<Scratch> {
        let again = SPARE.with_borrow_mut(|spare| {
            let at = spare.iter().rposition(|scratch| scratch.layout == layout)?;
            Some(spare.swap_remove(at))
        });
        // SAFETY: the layout's size is at least 1.
        again.or_else(|| Some(Scratch { start: NonNull::new(unsafe { alloc_zeroed(layout) })?, layout }))
    }

    /// Keeps it for the next buffer, if there is room.
    fn keep(self) {
        // A thread that ends has no list any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.iter().map(|scratch| scratch.layout.size()).sum::<usize>() + self.layout.size() <= MAX_SPARE {
                spare.push(self);
            }
        });
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: the layout is the one of the allocation.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// No more bytes than this are kept for a thread.
const MAX_SPARE: usize = 16 << 20;

thread_local! {
    static SPARE: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
}

/// Pages from the system.
struct Pages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: pages are memory, which has no ties to a thread.
unsafe impl Send for Pages {}

/// Pages of buffers that are gone. A launch on several cores takes copies of arrays each time, and
/// new pages cost more than the zeros that old ones are filled with.
static IDLE: Mutex<Vec<Pages>> = Mutex::new(Vec::new());

/// No more bytes than this are kept.
const MAX_IDLE: usize = 128 << 20;

impl Pages {
    /// Where a buffer starts in them.
    fn start(&self) -> NonNull<u8> {
        // SAFETY: the shift is less than the bytes that every buffer asks for beyond its own.
        unsafe { self.base.add(self.base.as_ptr().align_offset(LARGE_PAGE)) }
    }

    /// New pages, which are zero.
    fn new(bytes: usize) -> Option<Pages> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at a place of the system's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let pages = Pages { base: NonNull::new(base.cast())?, bytes };
        // SAFETY: inside the mapping. That the advice is not taken is no failure.
        unsafe { libc::madvise(pages.start().as_ptr().cast(), bytes - LARGE_PAGE, libc::MADV_HUGEPAGE) };
        Some(pages)
    }

    /// Kept pages of just so many bytes, which are not zero.
    fn again(bytes: usize) -> Option<Pages> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|pages| pages.bytes == bytes)?;
        Some(idle.swap_remove(at))
    }

    /// Keeps them for the next buffer, if there is room.
    fn keep(self) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.iter().map(|pages| pages.bytes).sum::<usize>().saturating_add(self.bytes) <= MAX_IDLE {
            idle.push(self);
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the whole of the mapping, which nobody else knows.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: a buffer owns its memory as a `Vec<u8>` does, or has it lent for itself.
unsafe impl Send for Buffer {}
// SAFETY: shared references only read; kernels that write get the address from an exclusive one
// (`address`).
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `what` names the owner in messages. Large buffers are not touched, so an unused part costs
    /// nothing.
    pub fn zeroed(len: u64, what: &str) -> Result<Buffer> {
        let too_large = || fail(Code::E1006, format!("{what} needs {len} bytes, more than this machine has free"));
        let len = usize::try_from(len).map_err(|_| too_large())?;
        if len >= LARGE_PAGE {
            return Buffer::pages(len, true).ok_or_else(too_large);
        }
        let layout = Layout::from_size_align(len.max(1), ALIGN).map_err(|_| too_large())?;
        // SAFETY: the layout's size is at least 1.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(too_large)?;
        Ok(Buffer { start, len, memory: BufferSource::Allocator(layout) })
    }

    /// Memory for what is written before it is read: it may hold anything. To fill such buffers
    /// with zeros took most of the time of gradients of a few threads.
    pub fn scratch(len: u64, what: &str) -> Result<Buffer> {
        let too_large = || fail(Code::E1006, format!("{what} needs {len} bytes, more than this machine has free"));
        let len = usize::try_from(len).map_err(|_| too_large())?;
        if len >= LARGE_PAGE {
            return Buffer::pages(len, false).ok_or_else(too_large);
        }
        let layout = Layout::from_size_align(len.max(1), ALIGN).map_err(|_| too_large())?;
        let scratch = Scratch::of(layout).ok_or_else(too_large)?;
        Ok(Buffer { start: scratch.start, len, memory: BufferSource::Scratch(Some(scratch)) })
    }

    /// BufferSource that belongs to someone else. Without bytes it may be anywhere.
    ///
    /// # Safety
    /// So many bytes at the address are initialised, stay where they are as long as the buffer
    /// lives, and are used by nobody else while references to them are held; they are only written
    /// if the owner lent them for that.
    pub unsafe fn lent(address: u64, len: usize) -> Buffer {
        let start = NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize));
        let (start, len) = start.map_or((NonNull::dangling(), 0), |start| (start, len));
        Buffer { start, len, memory: BufferSource::Lent }
    }

    /// A buffer of pages of its own.
    fn pages(len: usize, zeroed: bool) -> Option<Buffer> {
        let bytes = len.checked_add(LARGE_PAGE)?;
        let pages = match Pages::again(bytes) {
            Some(pages) => {
                if zeroed {
                    // SAFETY: so many bytes are behind the start.
                    unsafe { pages.start().write_bytes(0, len) };
                }
                pages
            }
            None => Pages::new(bytes)?,
        };
        Some(Buffer { start: pages.start(), len, memory: BufferSource::Pages(Some(pages)) })
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes are owned, and no kernel runs while a reference to them
        // is held.
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
        match &mut self.memory {
            // SAFETY: the layout is the one of the allocation.
            BufferSource::Allocator(layout) => unsafe { dealloc(self.start.as_ptr(), *layout) },
            BufferSource::Scratch(scratch) => {
                if let Some(scratch) = scratch.take() {
                    scratch.keep();
                }
            }
            BufferSource::Pages(pages) => {
                if let Some(pages) = pages.take() {
                    pages.keep();
                }
            }
            BufferSource::Lent => {}
        }
    }
}

/// Whether so many bytes are at most this part of what is available. Only about what is not small
/// the system is asked, which takes as long as a small launch.
pub fn allows(bytes: u64, part: u64) -> bool {
    const SMALL: u64 = 16 << 20;
    bytes <= SMALL || bytes <= available() / part
}

/// Bytes that arrays may take: what the system says is free, or 64 GiB where it does not say.
/// Allocation itself does not fail on Linux until the memory is written, when it is too late for a
/// message.
pub fn available() -> u64 {
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    free.map_or(64 << 30, |kib| kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_aligned_and_zero_again_and_again() {
        for _ in 0..3 {
            for len in [0, 1, 4097, LARGE_PAGE as u64 - 1, LARGE_PAGE as u64, 3 * LARGE_PAGE as u64 + 17] {
                let mut buffer = Buffer::zeroed(len, "a test").expect("little memory");
                let align = if len >= LARGE_PAGE as u64 { LARGE_PAGE } else { ALIGN };
                assert_eq!(buffer.address() % align as u64, 0);
                assert_eq!(buffer.bytes().len() as u64, len);
                assert!(buffer.bytes().iter().all(|&b| b == 0));
                buffer.bytes_mut().fill(7);
            }
        }
        assert!(Buffer::zeroed(1 << 60, "too large a test").is_err());
    }

    #[test]
    fn scratch_is_used_again_and_never_by_two() {
        let scratch = |len| Buffer::scratch(len, "a test").expect("little memory");
        let first = scratch(4000).address();
        let (again, other) = (scratch(4000), scratch(4000));
        assert_eq!(again.address(), first);
        assert_ne!(other.address(), first);
        assert_eq!(scratch(LARGE_PAGE as u64 + 1).address() % LARGE_PAGE as u64, 0);
        drop((again, other));
        // What others get is zero as before.
        let mut used = scratch(4000);
        used.bytes_mut().fill(7);
        drop(used);
        assert!(Buffer::zeroed(4000, "a test").expect("little memory").bytes().iter().all(|&b| b == 0));
        assert!(Buffer::scratch(1 << 60, "too large a test").is_err());
    }
}
