//! What belongs to this process and its user alone: singletons that survive a fork, since a program
//! that embeds kc may fork, as Python does for its workers; and private folders.

mod private;

use std::sync::atomic::{AtomicPtr, Ordering};

pub use private::PrivateFolder;

/// Something that this process has one of, made when it is first asked for. A process that was
/// forked makes its own: it has none of its parent's threads, and locks that they held stay locked.
pub struct OfProcess<T>(AtomicPtr<(u32, T)>);

impl<T: Sync> OfProcess<T> {
    pub const fn new() -> OfProcess<T> {
        OfProcess(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub fn get(&'static self, make: impl Fn() -> T) -> &'static T {
        let process = std::process::id();
        loop {
            let current = self.0.load(Ordering::Acquire);
            // SAFETY: null, or made below and never freed.
            if let Some((owner, thing)) = unsafe { current.as_ref() }
                && *owner == process
            {
                return thing;
            }
            let made = Box::into_raw(Box::new((process, make())));
            if self.0.compare_exchange(current, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once() {
        static NUMBER: OfProcess<u32> = OfProcess::new();
        let all: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|n| scope.spawn(move || std::ptr::from_ref(NUMBER.get(|| n)).addr())).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(all.iter().all(|at| *at == all[0]));
    }
}
