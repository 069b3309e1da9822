//! Which libraries of the system does the package need? Functions of the GNU C library that are
//! younger than the systems people have are here, or are asked for by the version that they had
//! there: the GNU C library 2.28 is enough (that of RHEL 8), also for what LLVM and Rust's library
//! call. The wheel has its C++ library in it (`build.rs`), and `needs.py` looks at what is left.
//!
//! Functions here take the place of the C library's in this one file of machine code alone.

#[cfg(not(feature = "llvm-static"))]
use std::ffi::c_void;
use std::ffi::{c_char, c_int};

/// Numbers for names of temporary files, from the kernel. The C library has it from 2.36 on.
#[unsafe(no_mangle)]
pub extern "C" fn arc4random() -> u32 {
    let mut bytes = [0u8; 4];
    // SAFETY: room for so many bytes.
    let given = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if given == 4 {
        return u32::from_ne_bytes(bytes);
    }
    // Before the system has any: the clock is as good for a name, which is tried again if it is
    // taken.
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos())
}

/// `std::condition_variable::wait(std::unique_lock<std::mutex>&)`, which GCC 12 gave a new version
/// (GLIBCXX_3.4.30). On Linux a condition variable is a `pthread_cond_t`, a mutex is a
/// `pthread_mutex_t`, and a lock begins with the address of its mutex.
///
/// # Safety
/// As for the C++ function: the lock owns its mutex.
#[cfg(not(feature = "llvm-static"))]
#[unsafe(export_name = "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE")]
pub unsafe extern "C" fn wait(condition: *mut libc::pthread_cond_t, lock: *const *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { libc::pthread_cond_wait(condition, (*lock).cast()) };
}

/// Whether the process has one thread, so that counts of references need no atomics: never for
/// certain (2.32).
#[unsafe(no_mangle)]
pub static __libc_single_threaded: c_char = 0;

/// The number of the calling thread (2.30).
#[unsafe(no_mangle)]
pub extern "C" fn gettid() -> libc::pid_t {
    // SAFETY: it takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

/// `struct mallinfo2` of `malloc.h`, whose fields hold more than 2 GiB (2.33).
#[repr(C)]
pub struct Mallinfo2([usize; 10]);

/// What is allocated: as far as the older function can tell, which LLVM shows in its statistics of
/// time and memory alone.
#[unsafe(no_mangle)]
pub extern "C" fn mallinfo2() -> Mallinfo2 {
    // SAFETY: it takes nothing.
    let m = unsafe { libc::mallinfo() };
    let fields =
        [m.arena, m.ordblks, m.smblks, m.hblks, m.hblkhd, m.usmblks, m.fsmblks, m.uordblks, m.fordblks, m.keepcost];
    Mallinfo2(fields.map(|field| field as u32 as usize))
}

/// The functions that tell what a file is were inline code around others, up to 2.32; the kernel's
/// `struct stat` is the C library's on x86-64 and on AArch64.
mod files {
    use super::*;

    unsafe fn at(folder: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int) -> c_int {
        // SAFETY: the caller's promise: `path` is a text, `into` has room.
        unsafe { libc::syscall(libc::SYS_newfstatat, folder, path, into, flags) as c_int }
    }

    macro_rules! functions {
        ($($name:ident($($argument:ident: $ty:ty),*) = $folder:expr, $path:expr, $flags:expr;)*) => {$(
            #[doc = concat!("See `", stringify!($name), "(2)`.")]
            ///
            /// # Safety
            /// As for the C function: the path is a text that ends, and `into` has room.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $ty,)* into: *mut libc::stat) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { at($folder, $path, into, $flags) }
            }
        )*};
    }

    functions! {
        stat(path: *const c_char) = libc::AT_FDCWD, path, 0;
        stat64(path: *const c_char) = libc::AT_FDCWD, path, 0;
        lstat(path: *const c_char) = libc::AT_FDCWD, path, libc::AT_SYMLINK_NOFOLLOW;
        lstat64(path: *const c_char) = libc::AT_FDCWD, path, libc::AT_SYMLINK_NOFOLLOW;
        fstat(file: c_int) = file, c"".as_ptr(), libc::AT_EMPTY_PATH;
        fstat64(file: c_int) = file, c"".as_ptr(), libc::AT_EMPTY_PATH;
    }

    /// See `fstatat(2)`.
    ///
    /// # Safety
    /// As for the C function: the path is a text that ends, and `into` has room.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn fstatat64(
        folder: c_int,
        path: *const c_char,
        into: *mut libc::stat,
        flags: c_int,
    ) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { at(folder, path, into, flags) }
    }

    /// See `mknod(2)`.
    ///
    /// # Safety
    /// As for the C function: the path is a text that ends.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn mknod(path: *const c_char, mode: libc::mode_t, device: libc::dev_t) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { libc::syscall(libc::SYS_mknodat, libc::AT_FDCWD, path, mode, device) as c_int }
    }
}

/// The folder of a program that is started (2.29): where the C library has it, that; elsewhere it
/// is said that there is none.
///
/// # Safety
/// As for the C function: `actions` were made, and the path is a text that ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn_file_actions_addchdir_np(
    actions: *mut libc::posix_spawn_file_actions_t,
    path: *const c_char,
) -> c_int {
    type Add = unsafe extern "C" fn(*mut libc::posix_spawn_file_actions_t, *const c_char) -> c_int;
    // SAFETY: a name that ends; what comes behind this library has the C function of that name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"posix_spawn_file_actions_addchdir_np".as_ptr()) };
    if found.is_null() {
        return libc::ENOSYS;
    }
    // SAFETY: that function, and the caller's promise.
    unsafe { std::mem::transmute::<*mut std::ffi::c_void, Add>(found)(actions, path) }
}

/// Goes on in a function whose address the loader has put into the table of addresses.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($name:literal) => {
        concat!("jmp qword ptr [rip + kc_old_", $name, "@GOTPCREL]")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($name:literal) => {
        concat!("adrp x16, :got:kc_old_", $name, "\nldr x16, [x16, :got_lo12:kc_old_", $name, "]\nbr x16")
    };
}

/// Functions that got a new version when the C library took in those of threads and of loading
/// (2.34), or stopped to set `errno` in the old way (2.29): these ask for the version that all
/// systems of the processor have.
macro_rules! as_ever {
    ($($version:literal: $($name:literal)*;)*) => {$($(
        std::arch::global_asm!(
            concat!(".symver kc_old_", $name, ", ", $name, "@GLIBC_", $version),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", %function"),
            concat!($name, ":"),
            jump!($name),
            concat!(".size ", $name, ", . - ", $name),
        );
    )*)*};
}

#[cfg(target_arch = "x86_64")]
macro_rules! all_as_ever {
    ($($name:literal)*) => { as_ever! { "2.2.5": $($name)*; "2.12": "pthread_setname_np"; } };
}
#[cfg(target_arch = "aarch64")]
macro_rules! all_as_ever {
    ($($name:literal)*) => { as_ever! { "2.17": $($name)* "pthread_setname_np"; } };
}

all_as_ever! {
    "dlclose" "dlerror" "dlopen" "dlsym" "dladdr"
    "pthread_create" "pthread_detach" "pthread_join" "pthread_once" "pthread_sigmask" "pthread_getattr_np"
    "pthread_attr_getguardsize" "pthread_attr_getstack" "pthread_attr_setstacksize"
    "pthread_key_create" "pthread_key_delete" "pthread_getspecific" "pthread_setspecific"
    "pthread_mutex_trylock" "pthread_rwlock_rdlock" "pthread_rwlock_unlock" "pthread_rwlock_wrlock"
    "exp" "exp2" "log" "log2" "pow"
}
