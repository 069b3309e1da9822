//! Which libraries of the system does the package need? LLVM asks for functions that are younger than the systems people have;
//! with functions of those names here, the GNU C library 2.34 and the C++ library of GCC 11 are enough.

use std::ffi::c_void;

/// Numbers for names of temporary files, from the kernel. The C library has it from 2.36 on.
#[unsafe(no_mangle)]
pub extern "C" fn arc4random() -> u32 {
    let mut bytes = [0u8; 4];
    // SAFETY: room for so many bytes.
    let given = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if given == 4 {
        return u32::from_ne_bytes(bytes);
    }
    // Before the system has any: the clock is as good for a name, which is tried again if it is taken.
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos())
}

/// `std::condition_variable::wait(std::unique_lock<std::mutex>&)`, which GCC 12 gave a new version (GLIBCXX_3.4.30). On Linux a
/// condition variable is a `pthread_cond_t`, a mutex is a `pthread_mutex_t`, and a lock begins with the address of its mutex.
///
/// # Safety
/// As for the C++ function: the lock owns its mutex.
#[unsafe(export_name = "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE")]
pub unsafe extern "C" fn wait(condition: *mut libc::pthread_cond_t, lock: *const *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { libc::pthread_cond_wait(condition, (*lock).cast()) };
}
