//! What did threads on a GPU print, and what did they do wrong, of launches that nobody waited for?
//! They write it where the host reads it ([`Resident::recorded`]); who has waited asks here.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::derivative::shown;
use super::kernel::rank;
use super::{Error, Warning};
use crate::ir::FuncId;
use crate::run::devices::{Resident, cuda};
use crate::run::program::Program;
use crate::run::run_errors::{note_of, trap_of};

/// A kernel with tests that is loaded.
struct Watched {
    ordinal: i32,
    loaded: Weak<Resident>,
    program: Arc<Program>,
    entry: FuncId,
    /// A gradient of it was said to be near-degenerate.
    noted: bool,
}

/// How many there are: most programs have none, and need no lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// [`told`] tells what a kernel records from now on, as long as it is loaded.
pub(super) fn watch(ordinal: i32, loaded: &Arc<Resident>, program: &Arc<Program>, entry: FuncId) {
    let mut list = watched();
    list.retain(|one| one.loaded.strong_count() > 0);
    if !list.iter().any(|one| std::ptr::eq(one.loaded.as_ptr(), Arc::as_ptr(loaded))) {
        let (loaded, program) = (Arc::downgrade(loaded), program.clone());
        list.push(Watched { ordinal, loaded, program, entry, noted: false });
    }
    COUNT.store(list.len(), Ordering::SeqCst);
}

/// What kernels on a GPU printed since the last call, as far as their threads have run.
#[doc(hidden)]
pub fn printed(ordinal: i32) -> String {
    String::from_utf8_lossy(&cuda::printed(ordinal)).into_owned()
}

/// What threads of launches on a GPU recorded, as far as it is known: the error of one, and what
/// there is to say of gradients. Further errors are told by the next calls.
#[doc(hidden)]
pub fn told(ordinal: i32) -> (Option<Error>, Vec<Warning>) {
    let mut warnings = Vec::new();
    if COUNT.load(Ordering::SeqCst) == 0 {
        return (None, warnings);
    }
    for one in watched().iter_mut().filter(|one| one.ordinal == ordinal) {
        let Some(loaded) = one.loaded.upgrade() else { continue };
        let (trap, note) = loaded.recorded();
        let dims = rank(&one.program, one.entry).max(1);
        let coordinates = |at: [u32; 4]| at.iter().take(dims).map(|&n| u64::from(n)).collect::<Vec<u64>>();
        if let Some((note, at)) = note.filter(|_| !std::mem::replace(&mut one.noted, true)) {
            warnings.push(shown(&note_of(&note, &coordinates(at)), &one.program));
        }
        if let Some((trap, at)) = trap {
            let thread = coordinates(at);
            let error = trap_of(&trap, &thread);
            return (Some(Error::new(vec![error], one.program.clone()).with_trap(trap, thread)), warnings);
        }
    }
    (None, warnings)
}
