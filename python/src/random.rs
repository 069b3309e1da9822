//! Which C library does the package need? LLVM asks for random numbers by `arc4random`, which the GNU C library has from 2.36 on;
//! with a function of that name here, 2.34 is enough.

/// Numbers for names of temporary files, from the kernel.
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
