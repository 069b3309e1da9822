//! Ctrl-C while a kernel runs: a client that handles the signal (Python does) would hear of it only
//! when the call ends, so the call ends. A client that does not handle it is ended by the system.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static CAME: AtomicBool = AtomicBool::new(false);
/// What the client does with the signal: the address of its function, and whether that takes three
/// arguments.
static OWN: AtomicUsize = AtomicUsize::new(0);
static OWN_TAKES_THREE: AtomicBool = AtomicBool::new(false);

type Plain = extern "C" fn(c_int);
type Full = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

extern "C" fn note(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    CAME.store(true, Ordering::Relaxed);
    let own = OWN.load(Ordering::Relaxed);
    if own == 0 {
        return;
    }
    // SAFETY: the address is that of the client's handler, of the kind that it said.
    unsafe {
        match OWN_TAKES_THREE.load(Ordering::Relaxed) {
            true => std::mem::transmute::<usize, Full>(own)(signal, info, context),
            false => std::mem::transmute::<usize, Plain>(own)(signal),
        }
    }
}

/// While it lives, Ctrl-C is noted and then handed to the client's handler.
pub struct Watch(Option<libc::sigaction>);

impl Watch {
    /// Nothing is watched where the client has no handler.
    pub fn new() -> Watch {
        CAME.store(false, Ordering::Relaxed);
        // SAFETY: the structure is plain data, and the calls read and write it alone.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut old) != 0
                || matches!(old.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
            {
                return Watch(None);
            }
            OWN.store(old.sa_sigaction, Ordering::Relaxed);
            OWN_TAKES_THREE.store(old.sa_flags & libc::SA_SIGINFO != 0, Ordering::Relaxed);
            let mut new = old;
            let note: Full = note;
            new.sa_sigaction = note as usize;
            new.sa_flags = old.sa_flags & !libc::SA_RESETHAND | libc::SA_SIGINFO;
            let done = libc::sigaction(libc::SIGINT, &raw const new, std::ptr::null_mut()) == 0;
            Watch(done.then_some(old))
        }
    }

    /// Whether the signal came.
    pub fn came() -> bool {
        CAME.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(old) = &self.0 else { return };
        // SAFETY: puts back what was there.
        unsafe { libc::sigaction(libc::SIGINT, old, std::ptr::null_mut()) };
    }
}
