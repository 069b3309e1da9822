//! How does compiled code end before it returns?
//!
//! Kernels look at no flag: a test in every loop costs time, and keeps loops from being vectorised.
//! A call that runs for long gets a signal instead. Its handler runs on the thread of the call and
//! asks whether the call is to end; if so, the thread goes on behind the call, as if it had
//! returned. That is sound where the thread was in instructions that kc made: they hold no lock,
//! and nothing that wants to be dropped. Elsewhere (in `memcpy`, say) the next signal decides.

use std::cell::Cell;
use std::ffi::{c_int, c_long, c_void};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use super::stop::{PERIOD, Stop};
use crate::abi::{HostEntry, HostStatus, LaunchBounds};
use crate::process::OfProcess;

/// What a call of compiled code passes, and the code.
#[repr(C)]
pub struct Call {
    pub bounds: *const LaunchBounds,
    pub args: *const c_void,
    pub begin: u64,
    pub end: u64,
    pub status: *mut HostStatus,
    pub entry: HostEntry,
}

// `kc_enter` keeps the registers that a function has to keep, stores the stack pointer, and makes
// the call. `kc_left` goes on as if the call had returned.
#[cfg_attr(target_arch = "x86_64", path = "leave/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "leave/aarch64.rs")]
mod processor;

unsafe extern "C" {
    fn kc_enter(frame: *mut usize, call: *const Call);
    fn kc_left();
}

/// What a thread runs; the watcher and the handler look at it.
struct Slot {
    /// The stack pointer of the call; 0: there is none.
    frame: AtomicUsize,
    /// Counts calls.
    calls: AtomicU64,
    /// Of the launch that the call is a part of.
    stop: AtomicPtr<Stop>,
    /// The process and the thread in the system's count.
    process: c_int,
    thread: c_int,
    forks: u32,
}

/// The slot of a thread, until the thread ends.
struct Registered(Arc<Slot>);

impl Drop for Registered {
    fn drop(&mut self) {
        SLOT.set(std::ptr::null());
        if self.0.forks == FORKS.load(Ordering::Relaxed) {
            watch().lock().retain(|slot| !Arc::ptr_eq(slot, &self.0));
        }
    }
}

thread_local! {
    static SLOT: Cell<*const Slot> = const { Cell::new(std::ptr::null()) };
    static OWN: Cell<Option<Registered>> = const { Cell::new(None) };
}

/// How often this process came of a fork: the watcher of its parent is not in it.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// A fork made this process. Nothing of kc runs in it.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The watcher of this process: it wakes up while calls are made, and sleeps if there are none.
struct Watch {
    slots: Mutex<Vec<Arc<Slot>>>,
    woken: Condvar,
    asleep: AtomicBool,
}

fn watch() -> &'static Watch {
    static WATCH: OfProcess<Watch> = OfProcess::new();
    WATCH.get(|| Watch { slots: Mutex::default(), woken: Condvar::new(), asleep: AtomicBool::new(true) })
}

/// Whether the watcher sleeps: nobody has to ask for the process to know.
static ASLEEP: AtomicBool = AtomicBool::new(false);

/// Periods without a call, after which the watcher sleeps.
const IDLE: u32 = 20;

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let _slots = self.lock();
        ASLEEP.store(false, Ordering::Relaxed);
        self.asleep.store(false, Ordering::Relaxed);
        self.woken.notify_all();
    }

    /// The life of the watcher.
    fn go(&self) {
        let (mut seen, mut idle): (Vec<(c_int, u64)>, u32) = (Vec::new(), 0);
        loop {
            thread::sleep(PERIOD);
            let mut slots = self.lock();
            let now: Vec<(c_int, u64)> =
                slots.iter().map(|slot| (slot.thread, slot.calls.load(Ordering::Acquire))).collect();
            let runs = |slot: &Slot| slot.frame.load(Ordering::Acquire) != 0;
            // The same call as a period ago.
            let long = |slot: &Slot, call: &(c_int, u64)| runs(slot) && seen.contains(call);
            if slots.iter().zip(&now).any(|(slot, call)| long(slot, call)) {
                find_code();
                // A thread takes its slot away under the lock before it ends.
                slots.iter().zip(&now).filter(|(slot, call)| long(slot, call)).for_each(|(slot, _)| send(slot));
            }
            idle = if now == seen && !slots.iter().any(|slot| runs(slot)) { idle + 1 } else { 0 };
            seen = now;
            // Between these two looks, threads that go past the flag are seen here: what a core
            // has stored is in memory long before a period is over.
            if idle == IDLE {
                ASLEEP.store(true, Ordering::Relaxed);
                self.asleep.store(true, Ordering::Relaxed);
            } else if idle > IDLE {
                while self.asleep.load(Ordering::Relaxed) {
                    slots = self.woken.wait(slots).unwrap_or_else(PoisonError::into_inner);
                }
                idle = 0;
            } else {
                ASLEEP.store(false, Ordering::Relaxed);
            }
        }
    }
}

/// The signal: one that does nothing where nobody waits for it.
const SIGNAL: c_int = libc::SIGURG;

fn send(slot: &Slot) {
    // SAFETY: a system call without memory. (`pthread_kill` has a younger version in new C
    // libraries than old ones know.)
    unsafe { libc::syscall(libc::SYS_tgkill, c_long::from(slot.process), c_long::from(slot.thread), SIGNAL) };
}

/// The addresses of code without a file, which is kc's where kc's code runs: pairs of begin and
/// end, and zeros behind them.
static CODE: [AtomicUsize; 512] = [const { AtomicUsize::new(0) }; 512];

fn find_code() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    let ranges = maps.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (begin, end) = fields.next()?.split_once('-')?;
        let rights = fields.next()?.as_bytes();
        // An emulator shows neighbouring pages with the rights of the first one, which may hold
        // constants of the code: what is not writable counts.
        let is_code = rights.get(2) == Some(&b'x') || rights.get(..2) == Some(b"r-");
        // Offset, device and inode; then a path, if there is one.
        let without_file = fields.nth(2)? == "0" && fields.next().is_none();
        let parse = |text| usize::from_str_radix(text, 16).ok();
        (is_code && without_file).then_some([parse(begin)?, parse(end)?])
    });
    let addresses: Vec<usize> = ranges.take(CODE.len() / 2).flatten().collect();
    for (n, place) in CODE.iter().enumerate() {
        place.store(addresses.get(n).copied().unwrap_or(0), Ordering::Relaxed);
    }
}

fn is_code(at: usize) -> bool {
    CODE.chunks(2).any(|range| (range[0].load(Ordering::Relaxed)..range[1].load(Ordering::Relaxed)).contains(&at))
}

/// The handler that was there before.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handle(signal: c_int, about: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the slot is this thread's, and stays until the thread ends.
    let slot = unsafe { SLOT.get().as_ref() };
    let frame = slot.map_or(0, |slot| slot.frame.load(Ordering::Relaxed));
    if frame == 0 {
        // SAFETY: what `sigaction` gave for three arguments.
        let before = BEFORE.load(Ordering::Relaxed);
        if before != 0 {
            let before: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute::<usize, _>(before) };
            before(signal, about, context);
        }
        return;
    }
    let Some(slot) = slot else { return };
    // SAFETY: the system passes the interrupted thread's registers.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    if !is_code(processor::instruction(registers)) {
        return;
    }
    // SAFETY: a call has a stop, which outlives it.
    let Some(stop) = (unsafe { slot.stop.load(Ordering::Relaxed).as_ref() }) else { return };
    // SAFETY: the address of this thread's `errno`.
    let errno = unsafe { *libc::__errno_location() };
    // The interrupted code holds no lock, so what is asked may take any.
    let ends = stop.says_stop_now();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    if ends {
        processor::go_on(registers, kc_left as *const () as usize, frame, slot.frame.as_ptr() as usize);
    }
}

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: plain data, of which zeros are a value; the handler has the form of `SA_SIGINFO`.
        unsafe {
            let (mut action, mut before): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
            action.sa_sigaction = handle as *const () as usize;
            // What is asked may launch kernels of its own, which may have to end too.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
            if libc::sigaction(SIGNAL, &raw const action, &raw mut before) == 0
                && before.sa_flags & libc::SA_SIGINFO != 0
            {
                BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
            }
        }
    });
}

/// The slot of this thread.
fn slot() -> *const Slot {
    let (slot, forks) = (SLOT.get(), FORKS.load(Ordering::Relaxed));
    // SAFETY: it stays until the thread ends.
    if unsafe { slot.as_ref() }.is_some_and(|slot| slot.forks == forks) {
        return slot;
    }
    install();
    // SAFETY: a system call without memory.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as c_int;
    let made = Arc::new(Slot {
        frame: AtomicUsize::new(0),
        calls: AtomicU64::new(0),
        stop: AtomicPtr::new(std::ptr::null_mut()),
        process: std::process::id() as c_int,
        thread,
        forks,
    });
    let watch = watch();
    watch.lock().push(made.clone());
    static WATCHED: AtomicU32 = AtomicU32::new(u32::MAX);
    if WATCHED.swap(forks, Ordering::Relaxed) != forks {
        watch.wake();
        // Without a watcher, long calls go on.
        let _ = thread::Builder::new().name("kc-watch".to_string()).spawn(|| watch.go());
    }
    SLOT.set(Arc::as_ptr(&made));
    // The one of the parent process is no longer of use.
    std::mem::forget(OWN.take());
    OWN.set(Some(Registered(made)));
    SLOT.get()
}

/// Makes a call, which ends early if `stop` says so.
///
/// # Safety
/// As for the entry of the call.
pub unsafe fn enter(call: &Call, stop: &Stop) {
    // SAFETY: it stays until the thread ends.
    let slot = unsafe { &*slot() };
    // A call may be made while another one asks.
    let outer = (slot.frame.load(Ordering::Relaxed), slot.stop.load(Ordering::Relaxed));
    slot.stop.store(std::ptr::from_ref(stop).cast_mut(), Ordering::Relaxed);
    slot.calls.store(slot.calls.load(Ordering::Relaxed) + 1, Ordering::Release);
    if ASLEEP.load(Ordering::Relaxed) {
        watch().wake();
    }
    // SAFETY: the caller's promise; the slot's frame is this thread's.
    unsafe { kc_enter(slot.frame.as_ptr(), call) };
    slot.stop.store(outer.1, Ordering::Relaxed);
    slot.frame.store(outer.0, Ordering::Relaxed);
}
