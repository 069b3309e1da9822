//! Who runs the pieces of a launch on the host? The thread that launches, and helpers that the
//! process keeps.
//!
//! The launching thread begins at once, and helpers join while pieces are left. A launch that is
//! over before another core woke up therefore waits for nobody; a pool that takes the whole work
//! over, as rayon's does, costs two changes of thread for each launch.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::stop::PERIOD;
use crate::process::OfProcess;

/// The helpers of this process and what they have to do.
struct Pool {
    state: Mutex<State>,
    /// There is a job to join.
    posted: Condvar,
    /// The last helper has left a job.
    left: Condvar,
}

struct State {
    open: Vec<Open>,
    /// Threads that were made; they stay.
    helpers: usize,
}

/// A job that helpers may join.
struct Open {
    job: &'static Job<'static>,
    /// How many more may.
    seats: usize,
}

/// Pieces `0..count`, each run once.
struct Job<'a> {
    run: &'a (dyn Fn(u64) + Sync),
    count: u64,
    /// The next piece that nobody has taken.
    next: AtomicU64,
    /// Helpers at work.
    inside: AtomicUsize,
    /// What a helper panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job<'_> {
    /// Runs pieces until none is left.
    fn work(&self) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.count {
                return;
            }
            (self.run)(piece);
        }
    }
}

/// The pool of this process.
fn pool() -> &'static Pool {
    static CURRENT: OfProcess<Pool> = OfProcess::new();
    CURRENT.get(|| {
        let state = Mutex::new(State { open: Vec::new(), helpers: 0 });
        Pool { state, posted: Condvar::new(), left: Condvar::new() }
    })
}

/// A helper that is about to leave does so within less time than it takes to sleep and be woken.
const SPINS: u32 = 2000;

/// The processor cores that this process may use.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Calls `run` with each number below `count`, on this thread and up to `workers - 1` others, and
/// returns when all calls have. Several threads may do so at once; they share the helpers.
pub fn for_each(workers: usize, count: u64, run: &(dyn Fn(u64) + Sync)) {
    for_each_asked(workers, count, run, None);
}

/// The same; this thread calls `asked` from time to time while it waits for the others.
pub fn for_each_asked(workers: usize, count: u64, run: &(dyn Fn(u64) + Sync), asked: Option<&dyn Fn()>) {
    let helpers = workers.min(usize::try_from(count).unwrap_or(usize::MAX)).saturating_sub(1);
    let job = Job { run, count, next: AtomicU64::new(0), inside: AtomicUsize::new(0), panic: Mutex::new(None) };
    if helpers == 0 {
        return job.work();
    }
    // SAFETY: the pool forgets the job in `leave`, which returns when no helper is inside any more;
    // nothing between here and there unwinds.
    let shared = unsafe { std::mem::transmute::<&Job<'_>, &'static Job<'static>>(&job) };
    let pool = pool();
    pool.post(shared, helpers);
    let own = catch_unwind(AssertUnwindSafe(|| job.work()));
    pool.leave(shared, asked);
    let theirs = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(panic) = own.err().or(theirs) {
        resume_unwind(panic);
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets helpers join a job, and makes them first if there are too few.
    fn post(&'static self, job: &'static Job<'static>, seats: usize) {
        let mut state = self.lock();
        while state.helpers < seats {
            let made = std::thread::Builder::new().name("kc-launch".to_string()).spawn(|| self.help());
            // With fewer helpers the others, and the launching thread, do more.
            if made.is_err() {
                break;
            }
            state.helpers += 1;
        }
        state.open.push(Open { job, seats });
        drop(state);
        (0..seats).for_each(|_| self.posted.notify_one());
    }

    /// Nobody joins the job any more; returns when nobody is in it.
    fn leave(&self, job: &Job, asked: Option<&dyn Fn()>) {
        self.lock().open.retain(|open| !std::ptr::addr_eq(open.job, job));
        let is_empty = || job.inside.load(Ordering::Acquire) == 0;
        for _ in 0..SPINS {
            if is_empty() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        while !is_empty() {
            let Some(asked) = asked else {
                state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (waited, late) = self.left.wait_timeout(state, PERIOD).unwrap_or_else(PoisonError::into_inner);
            state = waited;
            if late.timed_out() {
                drop(state);
                asked();
                state = self.lock();
            }
        }
    }

    /// The life of a helper.
    fn help(&self) {
        let mut state = self.lock();
        loop {
            let Some(open) = state.open.iter_mut().find(|open| open.seats > 0) else {
                state = self.posted.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            open.seats -= 1;
            let job = open.job;
            job.inside.fetch_add(1, Ordering::Relaxed);
            drop(state);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job.work())) {
                *job.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            // The job may be gone from here on, with the thread that launched it.
            job.inside.fetch_sub(1, Ordering::Release);
            state = self.lock();
            self.left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of `count` pieces ran.
    fn runs(workers: usize, count: u64) -> Vec<u64> {
        let runs: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
        for_each(workers, count, &|n| _ = runs[n as usize].fetch_add(1, Ordering::Relaxed));
        runs.into_iter().map(AtomicU64::into_inner).collect()
    }

    #[test]
    fn every_piece_runs_once() {
        for (workers, count) in [(0, 3), (1, 5), (2, 0), (2, 1), (2, 1000), (7, 1000), (64, 3), (4, 10_000)] {
            assert_eq!(runs(workers, count), vec![1; count as usize], "{workers} workers");
        }
    }

    #[test]
    fn many_threads_launch_at_once() {
        std::thread::scope(|scope| {
            for workers in 1..9 {
                scope.spawn(move || (0..200).for_each(|n| assert_eq!(runs(workers, n), vec![1; n as usize])));
            }
        });
    }

    #[test]
    fn helpers_take_part() {
        let caller = std::thread::current().id();
        let seen = Mutex::new(Vec::new());
        // The piece of the launching thread ends only when another thread has one.
        for_each(2, 2, &|_| {
            seen.lock().expect("no panic").push(std::thread::current().id());
            while seen.lock().expect("no panic").len() < 2 {
                std::thread::yield_now();
            }
        });
        let seen = seen.into_inner().expect("no panic");
        assert_eq!(seen.iter().filter(|id| **id == caller).count(), 1);
    }

    #[test]
    fn a_panic_reaches_the_thread_that_launched() {
        let caught = catch_unwind(|| for_each(3, 100, &|n| assert!(n != 50, "piece fifty")));
        assert!(caught.is_err());
        assert_eq!(runs(3, 100), vec![1; 100], "the helpers live on");
    }
}
