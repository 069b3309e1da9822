//! What do kernels on a GPU print? Each `print` writes its number and the bits of what it shows to
//! a ring buffer in memory of the host ([`PrintRing`]), and the text is made here, when somebody
//! has waited. So it comes back as that of a launch on the host does.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::result;
use cudarc::driver::sys;

use super::driver::refused;
use crate::abi::{DEVICE_PRINTS, PRINT_WORDS, PrintRing};
use crate::codegen::prints::Print;
use crate::run::Result;

/// The buffer of a GPU, as long as a kernel is loaded there that prints.
pub struct Ring {
    at: NonNull<PrintRing>,
    known: Mutex<Vec<Print>>,
}

// SAFETY: the memory is read and written as single words, by volatile accesses, and by one thread
// at a time: `known` is locked.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

static RINGS: Mutex<BTreeMap<i32, Weak<Ring>>> = Mutex::new(BTreeMap::new());

fn rings() -> MutexGuard<'static, BTreeMap<i32, Weak<Ring>>> {
    RINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ring {
    /// Tells a loaded module where to print to, whose code has these prints. The context of the GPU
    /// is current.
    pub fn of(ordinal: i32, module: sys::CUmodule, prints: &[Print]) -> Result<Arc<Ring>> {
        let ring = Ring::there(ordinal)?;
        let base = {
            let mut known = ring.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.extend_from_slice(prints);
            known.len() - prints.len()
        };
        let told = |e| refused("a copy to the device", e);
        let name = std::ffi::CString::new(DEVICE_PRINTS).unwrap_or_default();
        let (mut device, mut bytes) = (0, 0);
        // SAFETY: the module is loaded; two numbers are written.
        unsafe { sys::cuModuleGetGlobal_v2(&mut device, &mut bytes, module, name.as_ptr()) }.result().map_err(told)?;
        let words = [ring.at.as_ptr().expose_provenance() as u64, base as u64].map(u64::to_le_bytes).concat();
        // SAFETY: the module has room for both.
        unsafe { result::memcpy_htod_sync(device, &words) }.map_err(told)?;
        Ok(ring)
    }

    fn there(ordinal: i32) -> Result<Arc<Ring>> {
        let mut rings = rings();
        if let Some(ring) = rings.get(&ordinal).and_then(Weak::upgrade) {
            return Ok(ring);
        }
        // SAFETY: plain allocation; `drop` frees it.
        let made = unsafe { result::malloc_host(size_of::<PrintRing>(), 0) }.map_err(|e| refused("memory", e))?;
        let Some(at) = NonNull::new(made.cast::<PrintRing>()) else {
            return Err(crate::run::fail(crate::diag::Code::E1107, "the driver gives no memory of the host"));
        };
        // SAFETY: the memory has room for it.
        unsafe { at.as_ptr().write_bytes(0, 1) };
        let ring = Arc::new(Ring { at, known: Mutex::default() });
        rings.insert(ordinal, Arc::downgrade(&ring));
        Ok(ring)
    }

    /// What was printed since the last call, in the order in which the threads came.
    pub fn take(&self) -> Vec<u8> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, mut text) = (self.at.as_ptr(), Vec::new());
        // SAFETY: the memory is there. A device changes `head`, `lost` and the words from `tail`
        // on, of which the first of each print is written last.
        unsafe {
            let word = |n: u64| (&raw mut (*at).words[(n % PRINT_WORDS) as usize]);
            let mut tail = (*at).tail;
            while tail != (&raw const (*at).head).read_volatile() {
                let first = word(tail).read_volatile();
                // It is under way.
                let Some(number) = (first >> 32).checked_sub(1) else { break };
                fence(Ordering::Acquire);
                let count = u64::from(first as u32).clamp(1, PRINT_WORDS);
                let bits: Vec<u64> = (1..count).map(|n| word(tail + n).read_volatile()).collect();
                (0..count).for_each(|n| word(tail + n).write_volatile(0));
                text.extend(known.get(number as usize).map(|print| print.text(&bits)).unwrap_or_default().into_bytes());
                tail += count;
            }
            fence(Ordering::Release);
            (&raw mut (*at).tail).write_volatile(tail);
            let lost = (&raw const (*at).lost).read_volatile();
            if lost > 0 {
                (&raw mut (*at).lost).write_volatile(0);
                text.extend_from_slice(format!("... {lost} more prints had no room until the next wait\n").as_bytes());
            }
        }
        text
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: allocated in `there`, freed once, when no module uses it any more.
        let _ = unsafe { result::free_host(self.at.as_ptr().cast()) };
    }
}

/// What kernels on a GPU printed since the last call.
pub fn printed(ordinal: i32) -> Vec<u8> {
    let ring = rings().get(&ordinal).and_then(Weak::upgrade);
    ring.map_or_else(Vec::new, |ring| ring.take())
}
