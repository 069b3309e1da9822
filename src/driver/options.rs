//! What can be asked of the back ends?

use std::path::PathBuf;

pub use crate::codegen::cuda::Abi;
pub use crate::codegen::linkage::Linkage;
pub use crate::codegen::llvm::{Arch, ArrayLayout, Cpu, Grid, Opt, TensorCores};
pub use crate::ir::{BlockThreads, Nudged};
use crate::passes::block_threads::Tensor;
pub use crate::passes::same_arrays::SameArrays;

/// One kind of result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Artefact {
    /// Assembly for NVIDIA GPUs.
    Ptx(Arch),
    /// LLVM IR for the GPU, optimised.
    Llvm(Arch),
    /// Self-contained CUDA C++.
    Cuda,
    /// The textual IR.
    Ir,
    /// Object file for a host processor.
    Object,
    /// Assembly for a host processor.
    Assembly,
    /// How the host runs each kernel: its SIMD lanes, how they use arrays, how workers share a
    /// launch.
    Plan,
    /// C and C++ header.
    Header,
    /// Rust source that calls an object.
    Rust,
    /// JSON description.
    Metadata,
}

/// What is wanted of a file.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The kernels, by their names in the source; empty: all.
    pub kernels: Vec<String>,
    /// Types for generic kernels, each as `kernel(name=type, ...)`.
    pub types: Vec<String>,
    pub gradients: crate::autodiff::Options,
    /// Where only findings are wanted: those about gradients are warnings for files that ask for a
    /// gradient, and errors.
    pub quiet: bool,
    /// The program in double precision: every float type of the file is float64. A file that can't
    /// be had so has errors that it has not otherwise. IR text stays as it is.
    pub double: bool,
    /// Literals have their own types, as in Warp: programs that would not run there have errors.
    pub strict: bool,
    /// GPU code of all kernels takes the hardware's approximations, whatever the file says.
    pub fast_math: bool,
    /// For checked runs: the code has the checks that host objects and the simulator report and
    /// that arrays have no part in.
    pub checked: bool,
    /// Functions of the library that have no derivative at some point compute next to it there:
    /// what the gradient is around such points.
    pub nudged: Option<Nudged>,
    /// How the threads of a block are launched, for kernels in which they have values of their own.
    /// None: as the launches of the file say, or in blocks of one thread.
    pub block_threads: Option<BlockThreads>,
    /// How many threads a block has, for the same kernels, where `block_threads` does not tell.
    pub block_dim: Option<u32>,
    /// Arrays that are one in a launch: code for other launches takes different parameters to share
    /// no memory.
    pub same_arrays: Option<SameArrays>,
}

/// What holds for all artefacts of a compilation.
#[derive(Clone, Debug)]
pub struct Options {
    pub opt: Opt,
    /// GPU code may fuse a * b + c into one rounding.
    pub fmad: bool,
    /// Which products of tiles the GPU's instructions for matrices do, in PTX.
    pub tensor_cores: TensorCores,
    /// They do so in CUDA text too.
    pub cuda_tensor_cores: bool,
    /// How GPU code finds the elements of arrays.
    pub layout: ArrayLayout,
    /// With which grids GPU code may be launched.
    pub grid: Grid,
    /// How kernels of CUDA text take their arguments.
    pub abi: Abi,
    /// PTX names the source lines that its instructions come from.
    pub lineinfo: bool,
    /// Objects have what debuggers show: lines, functions that were inlined, variables. The folder
    /// is that which paths of sources are relative to.
    pub debug: Option<PathBuf>,
    /// The processor that objects are for.
    pub cpu: Cpu,
    /// Objects and PTX test every array index.
    pub checked: bool,
    /// The architectures for which this compilation writes PTX: the metadata names them.
    pub ptx: Vec<Arch>,
    /// The architectures that are asked for: CUDA text is for all of them, metadata and plans speak
    /// of the first. None: [`Arch::DEFAULT`].
    pub archs: Vec<Arch>,
    /// What results call kernels and structs.
    pub linkage: Linkage,
}

impl Options {
    /// What multiplies matrices there.
    pub fn tensor(&self) -> Tensor {
        let arch = self.archs.first().copied().unwrap_or(Arch::DEFAULT);
        Tensor::of_ptx(self.tensor_cores, arch.number)
    }

    /// What multiplies matrices in CUDA text, which is for all architectures.
    pub fn text_tensor(&self) -> Tensor {
        let least = self.archs.iter().map(|arch| arch.number).min().unwrap_or(Arch::DEFAULT.number);
        if self.cuda_tensor_cores { Tensor::of_text(self.tensor_cores, least) } else { Tensor::NONE }
    }

    /// The bytes of shared memory that a block can have on each of the architectures.
    pub fn block_memory(&self) -> u64 {
        self.archs.iter().map(|arch| arch.shared).min().unwrap_or(Arch::DEFAULT.shared)
    }
}

/// As `kc compile` has it.
impl Default for Options {
    fn default() -> Options {
        Options {
            opt: Opt::Full,
            fmad: true,
            tensor_cores: TensorCores::On,
            cuda_tensor_cores: false,
            layout: ArrayLayout::Strided,
            grid: Grid::Any,
            abi: Abi::Warp,
            lineinfo: false,
            debug: None,
            cpu: Cpu::Native,
            checked: false,
            ptx: Vec::new(),
            archs: Vec::new(),
            linkage: Linkage::default(),
        }
    }
}
