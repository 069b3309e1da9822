//! Which context is current while the driver is asked? That of the GPU, and then the one before:
//! other libraries of the process have theirs.

use std::ptr::null_mut;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use super::driver::{devices, refused, start};
use crate::codegen::llvm::Arch;
use crate::diag::Code;
use crate::run::{Result, fail};

/// The most threads that a multiprocessor holds (CUDA C++ Programming Guide, "Compute
/// Capabilities": 2048, 1536 or 1024).
const THREADS_OF_MULTIPROCESSOR: u64 = 2048;

/// The primary context of a device.
pub(super) struct Context {
    pub(super) ordinal: i32,
    pub(super) device: sys::CUdevice,
    pub(super) raw: sys::CUcontext,
    pub(super) arch: Arch,
    pub(super) multiprocessors: u64,
    /// So many threads may be under way at once.
    pub(super) resident_threads: u64,
}

impl Context {
    pub(super) fn open(ordinal: i32) -> Result<Context> {
        start()?;
        let (_, list) = devices()?;
        let count = list.len();
        let Some(found) = list.into_iter().find(|d| d.ordinal == ordinal) else {
            let what = match count {
                0 => "the driver knows no GPU".to_string(),
                _ => format!("the driver knows no GPU {ordinal}, and {count} before it"),
            };
            return Err(fail(Code::E1104, format!("the device `cuda:{ordinal}` is not available: {what}")));
        };
        let Some(arch) = found.arch else {
            let (major, minor) = found.capability;
            let message = format!(
                "the GPU `{}` has compute capability {major}.{minor}; kc compiles for 7.5 and later",
                found.name
            );
            return Err(fail(Code::E1104, message));
        };
        let device = result::device::get(ordinal).map_err(|e| refused("the device", e))?;
        // SAFETY: `device` came from the driver; `drop` releases what is retained here.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(|e| refused("a context", e))?;
        let multiprocessors = found.multiprocessors.max(1) as u64;
        let resident_threads = multiprocessors * THREADS_OF_MULTIPROCESSOR;
        let this = Context { ordinal, device, raw: context, arch, multiprocessors, resident_threads };
        this.enter()?;
        Ok(this)
    }

    /// Makes it the current one of this thread, which the driver's calls are about.
    pub(super) fn enter(&self) -> Result<()> {
        // SAFETY: the context was retained in `open`.
        unsafe { result::ctx::set_current(self.raw) }.map_err(|e| refused("a context", e))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained in `open`. A failure leaves nothing to do.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Whatever context is current in this thread becomes it again when this goes: other libraries of
/// the process have theirs.
pub(super) struct Beside {
    /// None: it is current all along.
    before: Option<sys::CUcontext>,
}

impl Beside {
    /// The driver was started.
    pub(super) fn begin() -> Result<Beside> {
        current().map(|before| Beside { before: Some(before) })
    }

    /// The same, and a context is current meanwhile. Most programs have it already: then the driver
    /// is asked once.
    pub(super) fn within(context: &Context) -> Result<Beside> {
        let before = current()?;
        if before == context.raw {
            return Ok(Beside { before: None });
        }
        context.enter()?;
        Ok(Beside { before: Some(before) })
    }
}

/// The current context of this thread, or null.
fn current() -> Result<sys::CUcontext> {
    let found = result::ctx::get_current().map_err(|e| refused("the context of this thread", e))?;
    Ok(found.unwrap_or(null_mut()))
}

impl Drop for Beside {
    fn drop(&mut self) {
        let Some(before) = self.before else { return };
        // SAFETY: it was the current one, or none was. A failure leaves nothing to do.
        let _ = unsafe { result::ctx::set_current(before) };
    }
}

/// What a capture of this thread's forbids, as loading code may be, is allowed until this goes:
/// nothing of it is a part of the graph.
pub(super) struct Relaxed {
    before: sys::CUstreamCaptureMode,
}

impl Relaxed {
    /// A context is current.
    pub(super) fn begin() -> Result<Relaxed> {
        let relaxed = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        exchanged(relaxed).map(|before| Relaxed { before }).map_err(|e| refused("to load while a graph is captured", e))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // A failure leaves nothing to do.
        let _ = exchanged(self.before);
    }
}

/// Sets the mode of this thread's captures; gives the one before.
fn exchanged(mut mode: sys::CUstreamCaptureMode) -> std::result::Result<sys::CUstreamCaptureMode, DriverError> {
    // SAFETY: the driver reads and writes one word, a mode that it knows.
    unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result().map(|()| mode)
}
