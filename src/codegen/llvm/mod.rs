//! IR to PTX, host objects and code that runs in this process, through LLVM.
//!
//! | file | question it answers |
//! |---|---|
//! | `builder`, `instructions` | how is LLVM IR written? |
//! | `ffi` | what of LLVM has no wrapper in inkwell? |
//! | `flatten` | how does a value become LLVM scalars? |
//! | `lower`, `control` | how do function bodies become instructions and blocks? |
//! | `calls` | which functions are called rather than inlined? |
//! | `ops` | what does each scalar operation compute? |
//! | `memory`, `atomics` | how is memory addressed, read and written? |
//! | `warp` | how do the threads of a warp add to one place? |
//! | `block_sums` | how do those of a block? |
//! | `rotated_loops` | where do warps begin that add to the same elements? |
//! | `zero_scatters` | which sums of zero are left out? |
//! | `private_sums` | how do they add to few elements that they find by numbers in memory? |
//! | `results` | how does a function give several numbers? |
//! | `run_reports`, `print_format` | how do prints and errors leave the kernel? |
//! | `affine` | which indices need no check? |
//! | `inside_launch` | which are inside for all threads of a launch? |
//! | `simd`, `vector` | how do several threads run as the lanes of vectors? |
//! | `nvptx`, `host` | how do threads reach the body on the device, on the host? |
//! | `host_module` | how is a module for the host compiled? |
//! | `library` | which library functions does lean code call, and where are their texts? |
//! | `param_names` | what are the parameters of PTX called? |
//! | `join`, `join_ir` | how do the PTX texts, or the LLVM IR, of several modules become one? |
//! | `report` | how will the host run a kernel, and why so? |
//! | `jit` | how is host code run in this process? |
//! | `processor` | which processors are there, and what do accesses cost them? |
//! | `versions` | how does one object run on several processors? |
//! | `assembly` | which place of the source does an instruction of the host come from? |
//! | `debug_locations` | which place of the source does a line of PTX come from? |
//! | `debug_info` | what do debuggers and profilers see of a kernel in an object? |
//! | `object` | what does a program link? |
//! | `frames` | how much of the stack does an entry of an object need? |
//! | `vector_sums` | which sums add a whole vector in one instruction? |
//! | `approximate` | what does a GPU compute in place of exact functions? |
//! | `options` | how may code be made, and why is there none? |
//! | `local_memory` | how much memory do the local arrays of a kernel need? |
//! | `machine`, `host_passes`, `effort` | which machine and which passes, and how much work may they be? |

mod affine;
mod approximate;
mod assembly;
mod atomics;
mod block_sums;
mod builder;
mod calls;
mod control;
mod debug_info;
mod debug_locations;
mod dense;
mod effort;
mod fatal;
mod ffi;
mod flatten;
mod frames;
mod host;
mod host_module;
mod host_passes;
mod indices;
mod inside_launch;
mod instructions;
mod jit;
mod join;
mod join_ir;
mod known;
mod library;
mod local;
mod local_memory;
mod lower;
mod machine;
mod memory;
mod nvptx;
mod object;
mod ops;
pub(super) mod options;
mod param_names;
mod prefetch;
mod print_format;
mod private_sums;
mod processor;
mod report;
mod results;
mod rotated_loops;
mod rows;
mod run_reports;
mod simd;
pub mod strips;
mod tensor;
mod vector;
mod vector_sums;
mod versions;
mod warp;
mod zero_scatters;

pub use crate::passes::block_threads::TensorCores;
pub use assembly::emit_assembly;
pub use block_sums::{has_block_sums, one_block_keeps_order};
pub use debug_info::DebugTexts;
pub use dense::DenseArrays;
pub use fatal::on_fatal_error;
pub use jit::HostModule;
pub use library::Parts;
pub use machine::{Arch, Machine, native_processor};
pub use nvptx::{asked_shared, emit_ptx, emit_ptx_located, emit_ptx_marked};
pub use object::{Object, emit_object};
pub use options::{
    ArrayLayout, Atomics, Checks, CodegenError, Cpu, Grid, HostOptions, LlvmTarget, Opt, Prints, PtxOptions,
};
pub use private_sums::PrivateSums;
pub use processor::Processor;
pub use report::emit_plan;

use crate::ir::{self, FuncId};

/// The optimised LLVM IR of the kernels, as text. `known`: as for [`emit_ptx`].
pub fn emit_llvm_ir(
    module: &ir::Module,
    kernels: &[FuncId],
    target: LlvmTarget,
    known: &Parts,
) -> Result<String, CodegenError> {
    match target {
        LlvmTarget::Ptx(options) => nvptx::emit_ir(module, kernels, &options, known),
        LlvmTarget::Host(options) => {
            let context = builder::Context::create();
            let extras = host_module::Extras { names: true, ..host_module::Extras::default() };
            Ok(host_module::compile(&context, module, kernels, &options, extras)?.ll.print())
        }
    }
}

/// Device code as both texts, from one compilation: the optimised LLVM IR and its PTX.
pub fn emit_device(
    module: &ir::Module,
    kernels: &[FuncId],
    options: &PtxOptions,
    known: &Parts,
) -> Result<(String, String), CodegenError> {
    nvptx::emit_both(module, kernels, options, known)
}
