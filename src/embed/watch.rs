//! Which runs of a gradient may be made again, beside a point at which a function has no
//! derivative?
//!
//! To run it again takes a copy of the arrays from before the run. It is made for the first run,
//! and for those behind a run that came to such a point; of small arrays for more of the first
//! runs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Bytes of arrays that more runs copy. With what goes with a copy, gradients of a few threads take
/// three times as long.
const SMALL: u64 = 1 << 14;
/// So many of the first runs.
const FIRST: u32 = 64;
/// How often runs are compared without a finding, until the kernel is taken to have none.
const COMPARISONS: u32 = 3;

/// Of one kernel. Several threads may run it; which of them copies its arrays does not matter.
#[derive(Debug)]
pub(super) struct Watch {
    /// Comparisons that may still be made.
    left: AtomicU32,
    /// First runs that copy small arrays.
    first: AtomicU32,
    /// The next run copies arrays of any size.
    next: AtomicBool,
}

impl Watch {
    /// `visits`: a run may come to such a point.
    pub fn new(visits: bool) -> Watch {
        let left = AtomicU32::new(if visits { COMPARISONS } else { 0 });
        Watch { left, first: AtomicU32::new(FIRST), next: AtomicBool::new(true) }
    }

    /// Whether a run on so many bytes may have to be made again.
    pub fn takes(&self, bytes: u64) -> bool {
        self.left.load(Relaxed) > 0 && (bytes <= SMALL && self.is_first() || self.next.swap(false, Relaxed))
    }

    fn is_first(&self) -> bool {
        self.first.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// A run came to such a point; `unseen`: without a copy of the arrays before it.
    pub fn visited(&self, unseen: bool) {
        if unseen {
            self.next.store(true, Relaxed);
        }
    }

    /// A run was compared. What was found is reported once.
    pub fn compared(&self, found: bool) {
        let left = if found { 0 } else { self.left.load(Relaxed).saturating_sub(1) };
        self.left.store(left, Relaxed);
        self.next.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{COMPARISONS, FIRST, SMALL, Watch};

    #[test]
    fn large_arrays_are_copied_for_the_first_run_and_behind_a_visit() {
        let watch = Watch::new(true);
        assert!(watch.takes(SMALL + 1) && !watch.takes(SMALL + 1) && watch.takes(SMALL));
        watch.visited(true);
        assert!(watch.takes(SMALL + 1) && !watch.takes(SMALL + 1));
        (0..COMPARISONS).for_each(|_| watch.compared(false));
        assert!(!watch.takes(SMALL));
        assert!(!Watch::new(false).takes(0));
    }

    #[test]
    fn small_arrays_are_copied_for_the_first_runs_and_behind_a_visit() {
        let watch = Watch::new(true);
        assert!((0..FIRST).all(|_| watch.takes(SMALL)));
        // The first run of all has not been asked for large ones.
        assert!(watch.takes(SMALL) && !watch.takes(SMALL));
        watch.visited(true);
        assert!(watch.takes(SMALL) && !watch.takes(SMALL));
    }

    #[test]
    fn what_was_found_is_told_once() {
        let watch = Watch::new(true);
        watch.compared(true);
        assert!(!watch.takes(0));
    }
}
