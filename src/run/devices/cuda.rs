//! How does an NVIDIA GPU run a kernel? As PTX, on the first one that the driver knows, or on the
//! one with a number.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use super::{Device, Executable, Found, How, Note, Trap};
use crate::abi::LaunchBounds;
use crate::ir::{FuncId, Module};
use crate::run::Result;

#[cfg(feature = "cuda")]
mod card;
#[cfg(feature = "cuda")]
mod context;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(not(feature = "cuda"))]
mod no_card;
#[cfg(feature = "cuda")]
mod prints;
#[cfg(feature = "cuda")]
mod status;
#[cfg(feature = "cuda")]
mod under_way;

#[cfg(feature = "cuda")]
pub use card::{Card, Event, Graph};
#[cfg(not(feature = "cuda"))]
pub use no_card::{Card, Event, Graph};

/// An NVIDIA GPU, through the CUDA driver.
pub struct Cuda {
    name: &'static str,
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "there is no driver to ask"))]
    ordinal: i32,
}

/// The first one.
pub static FIRST: Cuda = Cuda { name: "cuda", ordinal: 0 };

/// The GPU of a name such as `cuda:1`. None: it is another name.
pub fn numbered(name: &str) -> Option<&'static dyn Device> {
    static KNOWN: Mutex<BTreeMap<u16, &'static Cuda>> = Mutex::new(BTreeMap::new());
    let number =
        name.strip_prefix("cuda:").filter(|number| number.bytes().all(|b| b.is_ascii_digit()) && number.len() <= 4)?;
    let ordinal: u16 = number.parse().ok()?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let made = || {
        let name = Box::leak(format!("cuda:{ordinal}").into_boxed_str());
        &*Box::leak(Box::new(Cuda { name, ordinal: ordinal.into() }))
    };
    // Each number is made once, and stays.
    Some(*known.entry(ordinal).or_insert_with(made))
}

impl Device for Cuda {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        "The first NVIDIA GPU, through its driver; `cuda:1` is the second"
    }

    #[cfg(feature = "cuda")]
    fn found(&self) -> Result<Vec<Found>> {
        let (version, list) = driver::devices()?;
        Ok(list.iter().map(|gpu| gpu.found(version)).collect())
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, module: &Module, kernel: FuncId, how: &How) -> Result<Box<dyn Executable>> {
        Ok(Box::new(driver::Kernel::load(module, kernel, how, self.ordinal)?))
    }

    #[cfg(not(feature = "cuda"))]
    fn found(&self) -> Result<Vec<Found>> {
        Err(left_out())
    }

    #[cfg(not(feature = "cuda"))]
    fn prepare(&self, _: &Module, _: FuncId, _: &How) -> Result<Box<dyn Executable>> {
        Err(left_out())
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn can_keep_order(&self, module: &Module, kernel: FuncId) -> bool {
        runs_in_order(module, kernel)
    }
}

/// Whether one thread of a GPU can run the threads of a launch in their order. Those of a block
/// share the work of a kernel with tiles; and whoever waits for others does not run after them.
pub fn runs_in_order(module: &Module, kernel: FuncId) -> bool {
    !module.functions[kernel].by_block && module.grid_sync_below(kernel).is_none()
}

/// An error and a note of threads, with their coordinates.
pub type Told = (Option<(Trap, [u32; 4])>, Option<(Note, [u32; 4])>);

/// What kernels on a GPU printed since the last call.
#[cfg(feature = "cuda")]
pub use prints::printed;

/// Nothing.
#[cfg(not(feature = "cuda"))]
pub fn printed(_: i32) -> Vec<u8> {
    Vec::new()
}

/// A kernel on one GPU, for arrays that are in its memory already.
pub struct Resident {
    #[cfg(feature = "cuda")]
    kernel: driver::Kernel,
}

#[cfg(feature = "cuda")]
impl Resident {
    /// Compiles a kernel for a GPU and loads it.
    pub fn load(module: &Module, kernel: FuncId, how: &How, ordinal: i32) -> Result<Resident> {
        driver::Kernel::load(module, kernel, how, ordinal).map(|kernel| Resident { kernel })
    }

    /// Puts a launch behind what a stream does already, and does not wait for it.
    ///
    /// # Safety
    /// `args` is the struct of arguments of this kernel. Its arrays, and the stream, stay until the
    /// launch is over.
    pub unsafe fn launch(&self, stream: u64, bounds: &LaunchBounds, args: *const c_void, block: u32) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernel.launch_behind(stream, bounds, args, block) }
    }

    /// What threads recorded since the last call, of code with tests: an error, and a gradient that
    /// is near-degenerate; each with the coordinates of its thread.
    pub fn recorded(&self) -> Told {
        self.kernel.recorded()
    }

    /// The GPU in whose memory an address is.
    pub fn ordinal_of(address: u64) -> Result<i32> {
        driver::ordinal_of(address)
    }

    /// Whether another library captures a stream for a graph: nothing can be loaded meanwhile. kc's
    /// own captures let it.
    pub fn is_captured(ordinal: i32, stream: u64) -> bool {
        !card::captures(ordinal, stream) && driver::is_captured(ordinal, stream)
    }

    /// Whether anybody captures a stream: nothing that it does can be waited for.
    pub fn runs_later(ordinal: i32, stream: u64) -> bool {
        driver::is_captured(ordinal, stream)
    }
}

#[cfg(not(feature = "cuda"))]
impl Resident {
    /// Fails: see [`left_out`].
    pub fn load(_: &Module, _: FuncId, _: &How, _: i32) -> Result<Resident> {
        Err(left_out())
    }

    /// Fails.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe fn launch(&self, _: u64, _: &LaunchBounds, _: *const c_void, _: u32) -> Result<()> {
        Err(left_out())
    }

    /// There is none.
    pub fn recorded(&self) -> Told {
        (None, None)
    }

    /// Fails.
    pub fn ordinal_of(_: u64) -> Result<i32> {
        Err(left_out())
    }

    /// There is no stream.
    pub fn is_captured(_: i32, _: u64) -> bool {
        false
    }

    /// There is none.
    pub fn runs_later(_: i32, _: u64) -> bool {
        false
    }
}

/// Why there is no such device in this program.
#[cfg(not(feature = "cuda"))]
fn left_out() -> crate::run::Fail {
    let message = "the device `cuda` is not available: kc was built without it (the feature `cuda`)";
    crate::run::fail(crate::diag::Code::E1104, message)
}
