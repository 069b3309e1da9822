//! What did the threads of a loaded kernel record? Code with tests has a record in its module
//! ([`DeviceStatus`]), which names memory of the host that is written as well. So nothing is
//! copied: who has waited for a launch looks there.

use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys;

use super::driver::refused;
use crate::abi::{DEVICE_STATUS, DeviceStatus, HostStatus};
use crate::codegen::sites::Sites;
use crate::run::Result;
use crate::run::devices::recorded::Recorded;
use crate::run::devices::{Note, Trap};

/// What a thread recorded, and its coordinates.
pub type Found<T> = (T, [u32; 4]);

/// The record of a loaded module.
pub struct Status {
    host: NonNull<DeviceStatus>,
    device: sys::CUdeviceptr,
    sites: Arc<Sites>,
}

// SAFETY: the memory is read and written as single words, by volatile accesses.
unsafe impl Send for Status {}
// SAFETY: as above.
unsafe impl Sync for Status {}

impl Status {
    /// The record of a module whose code has tests. The context is current.
    pub fn of(module: sys::CUmodule, sites: Arc<Sites>) -> Result<Status> {
        let told = |e| refused("the record of a kernel's errors", e);
        let name = std::ffi::CString::new(DEVICE_STATUS).unwrap_or_default();
        let (mut device, mut bytes) = (0, 0);
        // SAFETY: the module is loaded; two numbers are written.
        unsafe { sys::cuModuleGetGlobal_v2(&mut device, &mut bytes, module, name.as_ptr()) }.result().map_err(told)?;
        // SAFETY: plain allocation; `drop` frees it.
        let made = unsafe { result::malloc_host(size_of::<DeviceStatus>(), 0) }.map_err(told)?;
        let Some(host) = NonNull::new(made.cast::<DeviceStatus>()) else {
            return Err(crate::run::fail(crate::diag::Code::E1107, "the driver gives no memory of the host"));
        };
        // SAFETY: the memory has room for it.
        unsafe { host.as_ptr().write_bytes(0, 1) };
        let status = Status { host, device, sites };
        let at = device + offset_of!(DeviceStatus, copy) as u64;
        let address = (host.as_ptr().expose_provenance() as u64).to_le_bytes();
        // SAFETY: the record has a field there.
        unsafe { result::memcpy_htod_sync(at, &address) }.map_err(|e| refused("a copy to the device", e))?;
        Ok(status)
    }

    /// What was recorded first since the last call: an error, and a gradient that is
    /// near-degenerate. The context is current; a launch that may still run shows later.
    pub fn take(&self) -> (Option<Found<Trap>>, Option<Found<Note>>) {
        let at = self.host.as_ptr();
        // SAFETY: the memory is there; a device writes these numbers last.
        let (kind, note) =
            unsafe { ((&raw const (*at).kind).read_volatile(), (&raw const (*at).note).read_volatile()) };
        if kind == HostStatus::OK && note == 0 {
            return (None, None);
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        // SAFETY: as above.
        let said = unsafe { at.read_volatile() };
        let DeviceStatus { site, dim, extent, index, thread, note_thread, .. } = said;
        let recorded = Recorded { kind, site, dim, extent, index };
        let trap = (kind != HostStatus::OK).then(|| (recorded.trap(&self.sites, 0), thread));
        let note = note.checked_sub(1).and_then(|number| self.sites.get(number)).map(|site| {
            let note = Note { span: site.span, thread: 0, why: site.description.clone() };
            (note, note_thread)
        });
        // The host's first: with those of the device set nothing is written there meanwhile.
        // SAFETY: as above; both fields are there. A failure says that the context is broken.
        unsafe {
            (&raw mut (*at).kind).write_volatile(0);
            (&raw mut (*at).note).write_volatile(0);
            for field in [offset_of!(DeviceStatus, kind), offset_of!(DeviceStatus, note)] {
                let _ = result::memset_d8_sync(self.device + field as u64, 0, 4);
            }
        }
        (trap, note)
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        // SAFETY: allocated in `of`, freed once, when the module is gone.
        let _ = unsafe { result::free_host(self.host.as_ptr().cast()) };
    }
}
