//! How may code be made, and why is there none?

use super::machine::Arch;
use super::processor::{self, Processor};
use crate::diag::{Code, Diagnostic};
use crate::passes::block_threads::{Tensor, TensorCores};
use crate::source::Span;

/// How much time is spent on the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opt {
    /// None, for code that runs once on the host, where it calls the larger library functions too;
    /// on the device the same as [`Opt::Lean`].
    None,
    /// Little: for bulk work. Device code calls the larger library functions, which are compiled
    /// once for many programs.
    Lean,
    /// As much as pays: kernels of many thousand instructions get little, as the time grows with
    /// their square.
    Full,
}

/// How arrays are addressed on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayLayout {
    /// By the strides in their descriptors.
    Strided,
    /// As dense row-major arrays; the strides in the descriptors are not read. The first element,
    /// and that of the gradient, lies at a multiple of its size, or of the greatest power of two
    /// (at most 16) that divides its size: so do arrays as allocators give them, and slices of
    /// such.
    Contiguous,
    /// So, and no array that the kernel writes shares memory with another one, or with a gradient.
    Apart,
}

impl ArrayLayout {
    /// Strides are not read.
    pub fn is_dense(self) -> bool {
        self != ArrayLayout::Strided
    }
}

/// With which grids device kernels may be launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grid {
    /// With any: a thread runs further tasks where the launch has more than the grid.
    Any,
    /// With those that cover the launch: a thread for each task, and fewer than 2^31 tasks and 2^32
    /// threads. The loop over what one grid leaves, and 64-bit arithmetic on the threads' numbers,
    /// are saved.
    Covering,
    /// With any; code for four tasks at once is there where a thread has so many
    /// ([`super::strips`]).
    Strips,
}

/// Who hears of what a thread on the device does wrong?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checks {
    /// Nobody: nothing is tested.
    None,
    /// The simulator, which sees accesses outside of memory by itself.
    Simulated,
    /// Who launches, by a record in the module ([`abi::DeviceStatus`](crate::abi::DeviceStatus)).
    Recorded,
}

/// Where does device code print to?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prints {
    /// To standard output, by the driver.
    Driver,
    /// To memory that who launches reads ([`abi::PrintRing`](crate::abi::PrintRing)).
    Ring,
}

#[derive(Clone, Copy, Debug)]
pub struct PtxOptions {
    pub arch: Arch,
    pub opt: Opt,
    /// Let multiplications and additions fuse, as nvcc does by default.
    pub fmad: bool,
    pub layout: ArrayLayout,
    pub grid: Grid,
    pub checks: Checks,
    pub prints: Prints,
    /// Which products of tiles the instructions for matrices do.
    pub tensor_cores: TensorCores,
}

impl PtxOptions {
    /// What multiplies matrices.
    pub fn tensor(&self) -> Tensor {
        Tensor::of_ptx(self.tensor_cores, self.arch.number)
    }
}

/// What host code is compiled for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cpu {
    /// The processor that kc runs on.
    Native,
    /// Another one, or any processor of a level.
    Named(&'static Processor),
    /// Any from x86-64-v2 on: objects hold a version of each entry for each of [`Cpu::VERSIONS`],
    /// and take the best that the processor which runs them has.
    Auto,
}

impl Cpu {
    /// `x86-64`
    pub const V1: Cpu = Cpu::Named(&processor::ALL[0]);
    /// `x86-64-v3`
    pub const V3: Cpu = Cpu::Named(&processor::ALL[2]);
    /// `x86-64-v4`
    pub const V4: Cpu = Cpu::Named(&processor::ALL[3]);

    /// What [`Cpu::Auto`] chooses among.
    pub const VERSIONS: [Cpu; 3] = [Cpu::Named(&processor::ALL[1]), Cpu::V3, Cpu::V4];

    /// `native`, `auto`, or the name of a processor or a level.
    pub fn from_name(name: &str) -> Option<Cpu> {
        match name {
            "native" => Some(Cpu::Native),
            "auto" => Some(Cpu::Auto),
            _ => Processor::from_name(name).map(Cpu::Named),
        }
    }

    /// The names that [`Cpu::from_name`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["native", "auto"].into_iter().chain(processor::ALL.iter().map(|processor| processor.name))
    }

    /// The names of several versions that an object for this one holds.
    pub fn version_names(self) -> Vec<String> {
        let versions = if self == Cpu::Auto { Cpu::VERSIONS.to_vec() } else { Vec::new() };
        let name = |cpu| if let Cpu::Named(processor) = cpu { Some(processor.name.to_string()) } else { None };
        versions.into_iter().filter_map(name).collect()
    }

    /// The processors whose code an object for this one holds.
    pub fn versions(self) -> Vec<Cpu> {
        match self {
            Cpu::Auto => Cpu::VERSIONS.to_vec(),
            cpu => vec![cpu],
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct HostOptions {
    /// Check every index and assert (rule 13 of the IR).
    pub checked: bool,
    pub opt: Opt,
    pub cpu: Cpu,
    pub atomics: Atomics,
}

/// How do host entries update memory atomically?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomics {
    /// By plain reads and writes: one worker runs the whole launch, and nobody else touches its
    /// arrays meanwhile.
    Plain,
    /// So that workers may share the arrays.
    Shared,
    /// As the entry is called: plain for a whole launch at once, shared for a part of one. Beside
    /// the entry of a kernel that has some is one that is plain for parts too
    /// ([`abi::alone_entry`](crate::abi::alone_entry)).
    Called,
}

/// Why there is no code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodegenError {
    pub code: Code,
    pub message: String,
    pub span: Option<Span>,
}

impl CodegenError {
    /// LLVM refused.
    pub(super) fn llvm(message: String) -> CodegenError {
        CodegenError { code: Code::E0801, message: format!("LLVM could not compile this: {message}"), span: None }
    }

    /// kc's own fault.
    pub(super) fn internal(message: String) -> CodegenError {
        CodegenError { code: Code::E0999, message, span: None }
    }
}

impl From<CodegenError> for Diagnostic {
    fn from(error: CodegenError) -> Diagnostic {
        let diagnostic = Diagnostic::new(error.code, error.message);
        match error.span {
            Some(span) => diagnostic.label(span, "here"),
            None => diagnostic,
        }
    }
}

impl std::fmt::Display for CodegenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for CodegenError {}

/// For which machine LLVM IR is shown.
#[derive(Clone, Copy, Debug)]
pub enum LlvmTarget {
    Ptx(PtxOptions),
    Host(HostOptions),
}
