//! From IR to one artefact: which back end makes it?

use super::{Artefact, Compilation, Options};
use crate::codegen::llvm::{self, ArrayLayout, HostOptions, LlvmTarget, PtxOptions};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::{self, FuncId, Module};

impl Compilation {
    /// One artefact of the good kernels. A kernel that the back end refuses is reported and left out; None when
    /// nothing is left.
    pub fn emit(&mut self, artefact: Artefact, options: &Options) -> Option<Vec<u8>> {
        let Compilation { module, diagnostics, timings, .. } = self;
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        timings.time(stage(artefact), || of_kernels(module, &kernels, artefact, options, diagnostics))
    }
}

/// The name of the stage in `--timings`.
fn stage(artefact: Artefact) -> &'static str {
    match artefact {
        Artefact::Ptx(_) => "ptx",
        Artefact::Llvm(_) => "llvm text",
        Artefact::Cuda => "cuda text",
        Artefact::Ir => "ir text",
        Artefact::Object => "object",
        Artefact::Header => "header",
        Artefact::Metadata => "metadata",
    }
}

fn of_kernels(
    module: &Module,
    kernels: &[FuncId],
    artefact: Artefact,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let fault = match backend(module, kernels, artefact, options) {
        Ok(bytes) => return Some(bytes),
        Err(fault) => fault,
    };
    // One kernel must not take the others down: each is tried by itself, and the good ones once more together.
    let alone = |&kernel: &FuncId| match backend(module, &[kernel], artefact, options) {
        Ok(_) => true,
        Err(fault) => {
            diagnostics.push(*fault);
            false
        }
    };
    let good: Vec<FuncId> = if kernels.len() > 1 { kernels.iter().copied().filter(alone).collect() } else { vec![] };
    if good.is_empty() || good.len() == kernels.len() {
        diagnostics.push(*fault);
        return None;
    }
    match backend(module, &good, artefact, options) {
        Ok(bytes) => Some(bytes),
        Err(fault) => {
            diagnostics.push(*fault);
            None
        }
    }
}

fn backend(
    module: &Module,
    kernels: &[FuncId],
    artefact: Artefact,
    options: &Options,
) -> Result<Vec<u8>, Box<Diagnostic>> {
    let Options { opt, fmad, cpu, checked } = *options;
    let device = |arch| PtxOptions { arch, opt, fmad, layout: ArrayLayout::Strided };
    let text = match artefact {
        Artefact::Ptx(arch) => llvm::emit_ptx(module, kernels, &device(arch)),
        Artefact::Llvm(arch) => llvm::emit_llvm_ir(module, kernels, LlvmTarget::Ptx(device(arch))),
        Artefact::Object => {
            return llvm::emit_object(module, kernels, &HostOptions { checked, opt, cpu })
                .map_err(|error| Box::new(error.into()));
        }
        Artefact::Ir => Ok(ir::print::print(module)),
        Artefact::Cuda | Artefact::Header | Artefact::Metadata => {
            return Err(Box::new(Diagnostic::new(crate::diag::Code::E0999, "this artefact is not wired yet")));
        }
    };
    text.map(String::into_bytes).map_err(|error| Box::new(error.into()))
}
