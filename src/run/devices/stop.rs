//! May a launch go on? A program that kc is a part of can be asked while one runs: Python is, about
//! Ctrl-C.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Between two questions: nobody waits longer for the end, and asking costs nothing beside it.
pub(super) const PERIOD: Duration = Duration::from_millis(50);

/// Whether a launch that several threads work on is to end.
pub struct Stop {
    ask: fn() -> bool,
    /// The thread that launched: others must not ask in its name.
    thread: ThreadId,
    says: AtomicBool,
    last: Cell<Option<Instant>>,
}

// SAFETY: only the thread that launched uses `last`.
unsafe impl Sync for Stop {}

thread_local! {
    static THIS: ThreadId = thread::current().id();
}

impl Stop {
    /// Of a launch of this thread, with [`Job::stop`](super::Job::stop). None: nobody wants to be
    /// asked.
    pub fn begin(stop: Option<fn() -> bool>) -> Option<Stop> {
        stop.map(|ask| Stop { ask, thread: THIS.with(|id| *id), says: AtomicBool::new(false), last: Cell::new(None) })
    }

    /// Whether the launch is to end; the thread that launched asks if it is time.
    pub fn says_stop(&self) -> bool {
        if self.says.load(Ordering::Relaxed) {
            return true;
        }
        if self.thread != THIS.with(|id| *id) {
            return false;
        }
        let now = Instant::now();
        match self.last.get() {
            Some(last) if now - last >= PERIOD => self.says_stop_now(),
            Some(_) => false,
            None => {
                self.last.set(Some(now));
                false
            }
        }
    }

    /// The same without a look at the time.
    pub fn says_stop_now(&self) -> bool {
        if !self.says.load(Ordering::Relaxed) && self.thread == THIS.with(|id| *id) {
            self.last.set(Some(Instant::now()));
            if (self.ask)() {
                self.says.store(true, Ordering::Relaxed);
            }
        }
        self.says.load(Ordering::Relaxed)
    }
}

/// A fork made this process: what watches long calls in its parent is not in it.
pub fn forked() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
    super::leave::forked();
}

static ABANDONED: AtomicUsize = AtomicUsize::new(0);

/// How many threads still do what nobody waits for any more.
pub fn abandoned() -> usize {
    ABANDONED.load(Ordering::Acquire)
}

/// Runs `work`. Where this is to end before it is done, gives None; the work goes on by itself, on
/// a thread of its own.
pub fn unless_stopped<T: Send + 'static>(
    stop: Option<fn() -> bool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let Some(ask) = stop else { return Some(work()) };
    let (send, receive) = mpsc::sync_channel(1);
    let left = Arc::new(AtomicBool::new(false));
    let theirs = left.clone();
    // The closure must survive a thread that could not be made.
    let work = Arc::new(Mutex::new(Some(work)));
    let taken = work.clone();
    let take = move || taken.lock().unwrap_or_else(PoisonError::into_inner).take();
    let run = move || {
        if let Some(work) = take() {
            // The receiver may have left.
            let _ = send.send(work());
        }
        if theirs.swap(true, Ordering::AcqRel) {
            ABANDONED.fetch_sub(1, Ordering::AcqRel);
        }
    };
    if thread::Builder::new().name("kc-compile".to_string()).spawn(run).is_err() {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        return work.map(|work| work());
    }
    loop {
        match receive.recv_timeout(PERIOD) {
            Ok(made) => return Some(made),
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(mpsc::RecvTimeoutError::Timeout) if ask() => {
                ABANDONED.fetch_add(1, Ordering::AcqRel);
                if left.swap(true, Ordering::AcqRel) {
                    ABANDONED.fetch_sub(1, Ordering::AcqRel);
                }
                return None;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
}
