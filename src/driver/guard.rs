//! Catches panics, and runs the stages on a large stack.
//!
//! The stages recurse over expressions and blocks, so their depth is the input's. They run on a
//! thread whose stack is far larger than any source file of the permitted size can fill; its pages
//! are only taken from the system when they are used.

use crate::driver::messages;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::diag::Diagnostic;
use crate::process::OfProcess;

/// Stack sizes in bytes, tried in order: a system may refuse to set aside the first.
const STACKS: [usize; 4] = [4 << 30, 1 << 30, 256 << 20, 64 << 20];

/// A panic of kc: always a fault of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub message: String,
    /// `src/lower/expr.rs:42`
    pub place: String,
}

impl From<Fault> for Diagnostic {
    fn from(fault: Fault) -> Diagnostic {
        messages::panicked(&fault.place, &fault.message)
    }
}

static LAST: Mutex<Option<Fault>> = Mutex::new(None);
static HOOK: Once = Once::new();

thread_local! {
    /// This thread works for kc: a panic on it is kc's, and kept for [`catch`]. Those of other
    /// threads are for the program that kc is a part of.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Has the panics of kc's threads kept, and leaves those of others to the hook that was there.
fn keep_panics() {
    HOOK.call_once(|| {
        // Test runners have their own hook, which says which test it was.
        if cfg!(test) {
            return;
        }
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !CAUGHT.get() {
                return others(info);
            }
            let place =
                info.location().map_or("an unknown place".to_string(), |at| format!("{}:{}", at.file(), at.line()));
            let message = info.payload_as_str().unwrap_or("no message").to_string();
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Fault { message, place });
        }));
    });
}

/// Runs `work`; a panic in it becomes a [`Fault`], and nothing is printed.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    keep_panics();
    let outside = CAUGHT.replace(true);
    // Nothing that `work` left half-done is seen again: its caller drops it all.
    let result = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(outside);
    result.map_err(|_| {
        LAST.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .unwrap_or_else(|| Fault { message: "no message".to_string(), place: "an unknown place".to_string() })
    })
}

/// Runs `work` as [`catch`] does, on a thread with a large stack. Where LLVM ends that work for
/// good ([`abandon`]), the thread is left standing, and this returns.
pub fn guard<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Fault> {
    let desk = desk();
    if let Some(fault) = lock(&desk.state).ended.clone() {
        return Err(fault);
    }
    // The closure must survive a thread that could not be made.
    let (work, result) = (Mutex::new(Some(work)), Mutex::new(None));
    let run = || {
        let taken = lock(&work).take();
        if let Some(work) = taken {
            let made = catch(work);
            *lock(&result) = Some(made);
        }
    };
    for size in STACKS {
        let run: Box<dyn FnOnce() + Send + '_> = Box::new(run);
        // SAFETY: what it borrows lives until `ready` is set, which is the last it does, or the
        // thread is still for ever.
        let run = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send>>(run) };
        let ready = Arc::new(AtomicBool::new(false));
        let done = Done(ready.clone());
        let begun = move || {
            let done = done;
            run();
            drop(done);
        };
        if std::thread::Builder::new().stack_size(size).spawn(begun).is_err() {
            continue;
        }
        let mut state = lock(&desk.state);
        while !ready.load(Ordering::Acquire) {
            if let Some(fault) = state.ended.clone() {
                // What the thread had stays where it is: it holds references to it.
                return Err(fault);
            }
            state = desk.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        break;
    }
    let made = lock(&result).take();
    match (made, lock(&work).take()) {
        (Some(made), _) => made,
        // The system has no room for a thread.
        (None, Some(work)) => catch(work),
        (None, None) => Err(Fault { message: "the work was lost".into(), place: "src/driver/guard.rs".into() }),
    }
}

/// Where threads that wait for guarded work hear of its end.
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Why nothing is compiled any more.
    ended: Option<Fault>,
}

/// Tells that work is over, also where it unwinds.
struct Done(Arc<AtomicBool>);

impl Drop for Done {
    fn drop(&mut self) {
        let desk = desk();
        let _state = lock(&desk.state);
        self.0.store(true, Ordering::Release);
        desk.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That of this process: a forked one has no thread of its parent, whose locks may be held.
fn desk() -> &'static Desk {
    static CURRENT: OfProcess<Desk> = OfProcess::new();
    CURRENT.get(|| Desk { state: Mutex::default(), changed: Condvar::new() })
}

/// What LLVM calls before it ends the process, in programs that kc is only a part of: the work
/// fails, and nothing is compiled in this process any more, because LLVM may hold locks. Kernels
/// that are compiled still run. The calling thread never goes on.
pub fn abandon(reason: &str) {
    let message = format!("LLVM gave up: {reason}");
    let desk = desk();
    lock(&desk.state).ended.get_or_insert(Fault { message, place: "LLVM".to_string() });
    desk.changed.notify_all();
    loop {
        std::thread::park();
    }
}

/// Runs `work` on one of several threads with stacks as large, one per core, which it may share
/// with the others. On the caller's own thread if the system refuses to make them.
pub fn on_workers<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static POOL: OfProcess<Option<ThreadPool>> = OfProcess::new();
    let build = |size| ThreadPoolBuilder::new().stack_size(size).start_handler(|_| CAUGHT.set(true)).build().ok();
    match POOL.get(|| STACKS.into_iter().find_map(build)) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_recursion_fits() {
        fn depth(n: u64) -> u64 {
            let pad = std::hint::black_box([n; 16]);
            if n == 0 { 0 } else { depth(n - 1) + pad[7] - pad[3] + 1 }
        }
        assert_eq!(guard(|| depth(300_000)), Ok(300_000));
    }
}
