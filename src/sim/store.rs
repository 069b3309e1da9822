//! Where do the bytes of memory and what is known of them lie? In a vector, in zeroed pages that
//! take room when they are touched, or in memory that somebody lends for a launch.

use std::ops::{Deref, DerefMut};

/// Many elements in a row.
pub struct Store<T> {
    start: *mut T,
    len: usize,
    owner: Owner<T>,
}

#[derive(Debug)]
enum Owner<T> {
    Vector(Vec<T>),
    Pages(#[expect(dead_code, reason = "it is kept until the store goes")] Pages),
    Lender,
}

/// Larger ones are pages of their own: they need not be cleared, and go back as soon as they are
/// done.
const LARGE: usize = 1 << 20;

/// Types of which every bit pattern, and so zeroed memory, is a value.
///
/// # Safety
/// All bits zero are a value, and it needs no drop.
pub unsafe trait Zero: Copy + Default {}

// SAFETY: numbers.
unsafe impl Zero for u8 {}
// SAFETY: numbers.
unsafe impl Zero for u64 {}

// SAFETY: a store is its elements, wherever they lie; whoever lends memory promises that nobody
// else uses it (`lent`).
unsafe impl<T: Send> Send for Store<T> {}
// SAFETY: shared access reads only.
unsafe impl<T: Sync> Sync for Store<T> {}

impl<T: Zero> Store<T> {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Store<T> {
        let bytes = len.saturating_mul(size_of::<T>());
        let pages = if bytes >= LARGE { Pages::reserve(bytes, true) } else { None };
        match pages {
            Some(pages) => Store { start: pages.start().cast(), len, owner: Owner::Pages(pages) },
            None => Store::from(vec![T::default(); len]),
        }
    }

    /// Elements that lie at `start`.
    ///
    /// # Safety
    /// While the store lives `len` elements can be read and written there, and nobody else does.
    pub unsafe fn lent(start: *mut T, len: usize) -> Store<T> {
        Store { start, len, owner: Owner::Lender }
    }

    /// Makes it longer, with zeros; what is lent stays as it is.
    pub fn grow(&mut self, len: usize) {
        if let Owner::Vector(vector) = &mut self.owner {
            vector.resize(len.max(vector.len()), T::default());
            (self.start, self.len) = (vector.as_mut_ptr(), vector.len());
        }
    }
}

impl<T> From<Vec<T>> for Store<T> {
    fn from(mut vector: Vec<T>) -> Store<T> {
        Store { start: vector.as_mut_ptr(), len: vector.len(), owner: Owner::Vector(vector) }
    }
}

impl<T> Default for Store<T> {
    fn default() -> Store<T> {
        Store::from(Vec::new())
    }
}

/// What it holds, wherever that lies.
impl<T: std::fmt::Debug> std::fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}

/// A copy has its elements in a vector.
impl<T: Clone> Clone for Store<T> {
    fn clone(&self) -> Store<T> {
        Store::from(self.to_vec())
    }
}

impl<T> Deref for Store<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `start` and `len` are those of the vector or the pages, which are not moved or
        // resized elsewhere, or of lent memory.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> DerefMut for Store<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the store is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

/// A range of addresses, with memory or without.
#[derive(Debug)]
pub struct Pages {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: a range belongs to the process, not to a thread.
unsafe impl Send for Pages {}
// SAFETY: the type gives addresses only.
unsafe impl Sync for Pages {}

impl Pages {
    /// A range; `open`: it can be used at once, and takes room where it is touched. None: the
    /// system has no such range.
    pub fn reserve(bytes: usize, open: bool) -> Option<Pages> {
        let access = if open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, which nobody uses yet.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        (start != libc::MAP_FAILED).then(|| Pages { start: start.cast(), bytes })
    }

    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Opens the part from `from` to `to`, in bytes from the start, multiples of pages; whether the
    /// system had room.
    pub fn open(&self, from: usize, to: usize) -> bool {
        if from >= to || to > self.bytes {
            return from == to;
        }
        // SAFETY: the part lies in this range.
        let at = unsafe { self.start.add(from) };
        // SAFETY: the pages are this range's; to open them takes nothing from anybody.
        unsafe { libc::mprotect(at.cast(), to - from, libc::PROT_READ | libc::PROT_WRITE) == 0 }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is this one's alone.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
