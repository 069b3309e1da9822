//! Some faults make LLVM end the process at once, without a result that could be returned. Who
//! hears of it?

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use inkwell::support::error_handling::install_fatal_error_handler;

static HANDLER: OnceLock<fn(&str)> = OnceLock::new();

/// Calls `handler` with LLVM's reason before LLVM ends the process; the handler may end it itself.
/// Only the first handler counts.
pub fn on_fatal_error(handler: fn(&str)) {
    if HANDLER.set(handler).is_ok() {
        // SAFETY: the function stays alive for the whole process, and HANDLER was set before.
        unsafe { install_fatal_error_handler(tell) };
    }
}

extern "C" fn tell(reason: *const c_char) {
    let reason = match reason.is_null() {
        true => "no reason given".into(),
        // SAFETY: LLVM passes a C string that lives during the call.
        false => unsafe { CStr::from_ptr(reason) }.to_string_lossy(),
    };
    if let Some(handler) = HANDLER.get() {
        handler(&reason);
    }
}
