//! On what does a kernel run? A device is a file of this folder and a line of [`ALL`].
//!
//! | file | question it answers |
//! |---|---|
//! | [`host`] | how does compiled code run on the cores of this machine? |
//! | `idle` | which threads of a launch need not run there? |
//! | [`interp`] | how does the reference interpreter run a kernel? |
//! | [`cuda`] | how does an NVIDIA GPU run one? |
//! | [`sim`] | how would one run it, and what does it do wrong? |
//! | [`copies`] | how do arguments get to a device with memory of its own? |
//! | [`engines`] | how do meshes, trees, hash grids and textures get there? |
//! | [`entry`] | which code does a launch need? |
//! | `recorded` | what does an error mean that compiled code recorded? |
//! | [`stop`] | may a launch go on? |
//! | `leave` | how does compiled code end before it returns? |
//! | [`objects`] | which code is on the disk already? |
//! | [`pieces`], [`pool`], `privatization` | how do the workers of the host share a launch? |

pub mod copies;
pub mod cuda;
pub mod engines;
mod entry;
pub mod host;
mod idle;
pub mod interp;
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
mod leave;
pub mod objects;
pub mod pieces;
pub mod pool;
mod privatization;
mod recorded;
pub mod sim;
pub mod stop;

use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

use crate::abi::LaunchBounds;
pub use crate::codegen::llvm::{Cpu, TensorCores};
use crate::diag::{Code, Diagnostic};
use crate::ir::{FuncId, Module};
use crate::run::{Result, fail};
use crate::sim::Measured;
use crate::source::{FileId, Span};
use crate::types::Type;

pub use cuda::{Card, Resident, numbered, runs_in_order};
pub use entry::Entry;

pub use crate::ir::interp::Note;

/// Every device, in the order in which they are reported of. The first one is the default.
pub static ALL: &[&dyn Device] = &[&host::Host, &interp::Interp, &cuda::FIRST, &sim::Sim];

/// Something that kernels run on.
pub trait Device: Send + Sync {
    /// The word for it: `--device host`.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// Those of this kind that the machine has.
    fn found(&self) -> Result<Vec<Found>>;

    /// Makes a kernel ready. Kernels that call CUDA text do not come here ([`prepare`]).
    fn prepare(&self, module: &Module, kernel: FuncId, how: &How) -> Result<Box<dyn Executable>>;

    /// Runs a kernel that is PTX.
    fn run_ptx(&self, _: &Ptx) -> Result<Report> {
        let mut error = fail(Code::E1104, format!("the device `{}` does not run a source that is PTX", self.name()));
        error.help = Some("`--device sim` does".to_string());
        Err(error)
    }

    /// Can it run the threads of a launch one after the other?
    fn keeps_order(&self) -> bool {
        true
    }

    /// Can it do so with this entry, at least?
    fn can_keep_order(&self, _: &Module, _: FuncId) -> bool {
        self.keeps_order()
    }

    /// Does it count what a launch costs, if it is asked to ([`Trial::counts`])?
    fn counts(&self) -> bool {
        false
    }

    /// Does it tell where in its code the accesses are that nothing orders?
    fn finds_races(&self) -> bool {
        false
    }

    /// Is it right by definition, so that others are compared with it?
    fn is_reference(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for dyn Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The device that kernels run on where none is named.
pub fn default() -> &'static dyn Device {
    ALL[0]
}

/// The device that counts what launches cost.
pub fn counting() -> Result<&'static dyn Device> {
    let device = ALL.iter().copied().find(|device| device.counts());
    device.ok_or_else(|| fail(Code::E1104, "no device counts what a launch costs"))
}

/// The device of this name.
pub fn named(name: &str) -> Result<&'static dyn Device> {
    let found = ALL.iter().copied().find(|device| device.name() == name);
    found.or_else(|| cuda::numbered(name)).ok_or_else(|| {
        let known: Vec<String> = ALL.iter().map(|device| device.name().to_string()).collect();
        fail(Code::E1104, format!("there is no device `{name}`; kc knows {}", crate::run::list(&known)))
    })
}

/// One device of this machine.
#[derive(Clone, Debug)]
pub struct Found {
    /// `host`, `cuda:0`
    pub name: String,
    /// For people.
    pub about: String,
    /// The same for programs, by name.
    pub facts: serde_json::Map<String, serde_json::Value>,
}

/// How a kernel is compiled for a device, as far as the device has a choice.
#[derive(Clone, Debug)]
pub struct How {
    /// Every array index is tested. The interpreter does in any case.
    pub checked: bool,
    /// A GPU may fuse a * b + c into one rounding.
    pub fmad: bool,
    /// Which products of tiles a GPU's instructions for matrices do.
    pub tensor_cores: TensorCores,
    /// For launches that one worker runs: then host code needs no atomics.
    pub alone: bool,
    /// The threads of a launch run one after the other, on a device that does so when it is asked
    /// to ([`Device::can_keep_order`]).
    pub in_order: bool,
    /// The processor that host code is made for: this machine's, or an older one.
    pub cpu: Cpu,
    pub trial: Trial,
    /// The folder in which host code is kept for other processes.
    pub objects: Option<Arc<Path>>,
}

/// What a device that looks for faults tries, as far as it has a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// How often a launch runs, each time in another order of its threads; 1: in their order.
    pub schedules: u32,
    /// Which orders these are.
    pub seed: u64,
    /// The instructions that a warp may run before it is taken for endless.
    pub steps: u64,
    pub races: bool,
    pub uninitialised: bool,
    /// Count what a profiler counts.
    pub counts: bool,
}

impl Trial {
    /// One run in order, with all checks.
    pub const PLAIN: Trial =
        Trial { schedules: 1, seed: 0, steps: crate::sim::How::LIMIT, races: true, uninitialised: true, counts: false };
}

/// A kernel made ready for a device.
pub trait Executable: Send + Sync {
    /// Runs a launch; `module` is the one that it was made of.
    ///
    /// # Safety
    /// `job.args` points to the argument struct of the kernel, whose arrays are null or describe
    /// valid memory that nobody else writes meanwhile, and nobody else reads if the kernel writes
    /// it. All of it lies in `job.memory` or `job.constant`.
    unsafe fn run(&self, module: &Module, job: &Job) -> Result<Report>;
}

/// Makes a kernel ready for a device.
pub fn prepare(device: &dyn Device, module: &Module, kernel: FuncId, how: &How) -> Result<Box<dyn Executable>> {
    holds_no_cuda_text(module, kernel)?;
    device.prepare(module, kernel, how)
}

/// Whether all that a kernel calls is there to be compiled.
pub fn holds_no_cuda_text(module: &Module, kernel: FuncId) -> Result<()> {
    if let Some(text) = module.native_below(kernel, |_| true) {
        let (kernel, span) = (&module.functions[kernel].source_name, module.functions[text].span);
        let error = fail(Code::E0821, format!("kernel `{kernel}` calls a function whose body is CUDA text"));
        return Err(Box::new(error.label(span, "it only runs where `--emit cuda` is compiled")));
    }
    Ok(())
}

/// One launch, ready to go.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub bounds: LaunchBounds,
    /// The argument struct of [`crate::abi::argument_layout`].
    pub args: *const c_void,
    /// Worker threads; 0: one per core.
    pub threads: usize,
    /// Threads in a block of a GPU.
    pub block_dim: u32,
    /// Address and bytes of all memory that the arrays lie in: a GPU works on a copy of it.
    pub memory: &'a [(u64, u64)],
    /// Of more memory, which the kernel only reads.
    pub constant: &'a [(u64, u64)],
    /// Called from time to time on the thread that launches; says whether the launch is to end.
    pub stop: Option<fn() -> bool>,
}

impl Job<'_> {
    /// The threads in a block of a GPU where nothing else is asked for.
    pub const BLOCK_DIM: u32 = 256;

    /// A launch without memory.
    pub fn new(bounds: LaunchBounds, args: *const c_void, threads: usize) -> Self {
        Job { bounds, args, threads, block_dim: Self::BLOCK_DIM, memory: &[], constant: &[], stop: None }
    }

    /// The threads of a block on a GPU. A kernel without tiles does the same in blocks of any size,
    /// and where a launch says nothing of them it has 1, which would leave 31 threads of each warp
    /// idle.
    pub fn usual_blocks(block_dim: u32, by_block: bool) -> u32 {
        if block_dim == 1 && !by_block { Self::BLOCK_DIM } else { block_dim }
    }
}

/// A launch of a kernel that is PTX.
pub struct Ptx<'a> {
    pub text: &'a str,
    pub file: FileId,
    /// None: the only one.
    pub entry: Option<&'a str>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    /// Names and types of its arguments; arrays are passed as addresses.
    pub params: &'a [(String, Type)],
    /// As those of [`Job`].
    pub args: *const c_void,
    pub memory: &'a [(u64, u64)],
    pub trial: Trial,
}

/// What came of a launch, besides the contents of its arrays.
#[derive(Debug, Default)]
pub struct Report {
    pub printed: Printed,
    pub trap: Option<Trap>,
    /// The first gradient that is near-degenerate.
    pub note: Option<Note>,
    /// A place where the gradient of a library function would have been near-degenerate for an
    /// adjoint that is not 0.
    pub visited: Option<Span>,
    /// Of the kernel alone, where the device tells.
    pub seconds: Option<f64>,
    /// What a device found that looks for faults.
    pub findings: Vec<Diagnostic>,
    /// What the entry cost, if it was counted.
    pub counted: Vec<Measured>,
}

/// An error of a run; the first thread that met one tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    pub kind: TrapKind,
    /// The access or the assertion.
    pub span: Span,
    /// Linear index of the thread.
    pub thread: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TrapKind {
    /// `array` is the array's name in the source, where it has one; `index` is as written, before
    /// the extent is added.
    OutOfBounds {
        array: Option<String>,
        dim: u32,
        index: i64,
        extent: i64,
    },
    /// `name` is what has the `count` components, where it has a name; `index` is as written.
    Component {
        name: Option<String>,
        index: i64,
        count: i64,
    },
    Assert {
        message: String,
    },
    /// The thread waits for one that has ended.
    Waits {
        message: String,
    },
}

/// The note for a gradient that passes a place where a convention decides, or where digits are
/// lost.
pub fn near_degenerate(thread: &str, why: &str) -> String {
    format!("a gradient is near-degenerate in {thread}: {why}")
}

/// What a kernel printed, up to a limit: a runaway kernel must not fill the memory.
#[derive(Debug, Default)]
pub struct Printed {
    pub bytes: Vec<u8>,
    truncated: bool,
}

impl Printed {
    const LIMIT: usize = 64 << 20;

    pub fn push(&mut self, text: &[u8]) {
        if self.bytes.len() + text.len() <= Self::LIMIT {
            self.bytes.extend_from_slice(text);
        } else if !self.truncated {
            self.truncated = true;
            self.bytes.extend_from_slice(b"\n... further output was dropped\n");
        }
    }
}

/// The coordinates of a thread: as many as the launch has dimensions.
pub fn coordinates(bounds: &LaunchBounds, dims: usize, thread: u64) -> Vec<u64> {
    let mut rest = thread;
    let mut at = vec![0; dims.clamp(1, bounds.shape.len())];
    for (c, &n) in at.iter_mut().zip(&bounds.shape).rev() {
        *c = rest % u64::from(n.max(1));
        rest /= u64::from(n.max(1));
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_lead_to_their_devices() {
        for device in ALL {
            let found = named(device.name()).expect("a device that is listed");
            assert_eq!(found.name(), device.name());
            assert!(!device.about().is_empty());
            assert_eq!(ALL.iter().filter(|other| other.name() == device.name()).count(), 1);
        }
        let error = named("abacus").expect_err("no such device");
        assert_eq!(error.code, Code::E1104);
        assert!(ALL.iter().all(|device| error.message.contains(device.name())), "{}", error.message);
    }
}
