//! What is made of a program? Its IR and the texts of all back ends, or the cause why it is left
//! out.

use std::path::Path;

use super::Emit;
use crate::codegen::cuda::{self, CudaOptions};
use crate::codegen::llvm::{
    self, Arch, ArrayLayout, Checks, Cpu, Grid, HostOptions, LlvmTarget, Opt, Prints, PtxOptions, TensorCores,
};
use crate::diag::Level;
use crate::driver::{Compilation, Compiler, Gradients, Request, Timings};
use crate::ir::{self, FuncId, Module, Phase};
use crate::run::program::Program;
use crate::syntax::ast::Parsed;

/// Why a candidate is no row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rejection {
    /// What the counts of causes are kept by: `check E0301`, `out of bounds`.
    pub cause: String,
    pub detail: String,
}

impl Rejection {
    pub fn new(cause: impl Into<String>, detail: impl Into<String>) -> Rejection {
        Rejection { cause: cause.into(), detail: detail.into() }
    }
}

/// A compiled program.
pub struct Compiled {
    pub program: Program,
    /// The one that made it.
    pub compiler: Compiler,
    /// In the order that was asked for, at least one.
    pub kernels: Vec<Kernel>,
    /// The module as a person reads it, and the same entries in it, where that is another one.
    readable: Option<Box<(Module, Vec<Entries>)>>,
}

/// A kernel of a compiled program.
pub struct Kernel {
    pub name: String,
    pub forward: FuncId,
    /// The kernel's other entries.
    pub backward: Option<FuncId>,
    pub augmented: Option<FuncId>,
    /// The forward-mode kernel, for checks.
    pub tangents: Option<FuncId>,
    /// Why there is no backward entry.
    pub no_backward: Option<String>,
}

impl Kernel {
    fn entries(&self) -> Entries {
        Entries { forward: self.forward, backward: self.backward, augmented: self.augmented }
    }
}

/// The entries of a kernel in a module.
#[derive(Clone, Copy)]
struct Entries {
    forward: FuncId,
    backward: Option<FuncId>,
    augmented: Option<FuncId>,
}

impl Entries {
    fn of(module: &Module, name: &str) -> Option<Entries> {
        let find = |phase: Phase| module.entry(name, phase);
        let forward = find(Phase::Forward)?;
        Some(Entries { forward, backward: find(Phase::Backward), augmented: find(Phase::Augmented) })
    }

    /// Those of a gradient, in the order of their launches.
    fn reverse(self) -> impl Iterator<Item = FuncId> {
        self.augmented.filter(|_| self.backward.is_some()).into_iter().chain(self.backward)
    }
}

impl Compiled {
    /// The kernel that is launched first.
    pub fn first(&self) -> &Kernel {
        &self.kernels[0]
    }

    /// Whether a kernel has a gradient.
    pub fn has_backward(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.backward.is_some())
    }

    /// The module as a person reads it, and the forward entries in it, in the order of the kernels.
    pub fn readable_forward(&self) -> (&Module, Vec<FuncId>) {
        let (module, entries) = self.readable();
        (module, entries.iter().map(|entry| entry.forward).collect())
    }

    /// What texts for readers are made of.
    fn readable(&self) -> (&Module, Vec<Entries>) {
        match &self.readable {
            Some(readable) => (&readable.0, readable.1.clone()),
            None => (&self.program.module, self.kernels.iter().map(Kernel::entries).collect()),
        }
    }
}

/// The texts of a row; None: not asked for, or there is none.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Texts {
    pub cuda_forward: Option<String>,
    pub cuda_backward: Option<String>,
    pub standalone: Option<String>,
    pub idiomatic: Option<String>,
    pub adjoint: Option<String>,
    pub llvm_host: Option<String>,
    pub llvm_nvptx: Option<String>,
    pub ptx: Option<String>,
}

/// Compiles a program; warnings count as much as errors, for rows are to be examples.
pub fn compile(
    text: &str,
    parsed: Option<&Parsed>,
    names: &[&str],
    backward: bool,
    checks: bool,
    compiler: &Compiler,
    timings: &mut Timings,
) -> Result<Compiled, Rejection> {
    let request =
        Request { gradients: Gradients { backward, ..Gradients::default() }, strict: true, ..Request::default() };
    let mut compilation = of(text, parsed, &request, compiler);
    let mut no_backward = (!backward).then(|| "not asked for".to_string());
    for finding in compilation.diagnostics.iter() {
        let code = finding.code.name();
        if code.starts_with("W06") {
            no_backward = Some(format!("{code}: {}", finding.message));
        } else if finding.level >= Level::Warning {
            return Err(Rejection::new(format!("check {code}"), finding.message.clone()));
        }
    }
    timings.add(&compilation.timings);
    let tangents: Vec<Option<FuncId>> = names
        .iter()
        .map(|name| {
            let wanted = checks && no_backward.is_none();
            let mut differentiable = compilation.differentiable().filter(|_| wanted)?;
            timings.time("forward mode", || differentiable.forward_mode(Some(name)).ok())
        })
        .collect();
    let Some(mut compiled) = entries(compilation, names) else {
        return Err(Rejection::new("check no kernel", "a kernel did not compile"));
    };
    for (kernel, tangents) in compiled.kernels.iter_mut().zip(tangents) {
        kernel.no_backward.clone_from(&no_backward);
        if kernel.backward.is_none() && no_backward.is_none() {
            kernel.no_backward =
                Some("no kernel of the program has a floating-point result with a gradient".to_string());
        }
        kernel.tangents = tangents;
    }
    Ok(compiled)
}

/// The entries of kernels (at least one), without forward mode; None if one did not compile.
pub fn entries(compilation: Compilation, names: &[&str]) -> Option<Compiled> {
    let of = |module: &Module| names.iter().map(|name| Entries::of(module, name)).collect::<Option<Vec<_>>>();
    let readable = compilation.apart().and_then(|module| Some(Box::new((module.clone(), of(module)?))));
    let module = compilation.module;
    let kernel = |(name, entries): (&&str, Entries)| {
        let Entries { forward, backward, augmented } = entries;
        Kernel { name: name.to_string(), forward, backward, augmented, tangents: None, no_backward: None }
    };
    let kernels = names.iter().zip(of(&module)?).map(kernel).collect();
    let diagnostics = compilation.diagnostics.into_sorted();
    let program = Program { module, sources: compilation.sources, diagnostics };
    Some(Compiled { program, compiler: compilation.compiler, kernels, readable })
}

/// The forward entries of a program, parsed if that gave no finding, in double precision; empty if
/// it cannot be had so.
pub fn double(text: &str, parsed: Option<&Parsed>, compiler: &Compiler) -> Module {
    let gradients = Gradients { backward: false, ..Gradients::default() };
    let request = Request { gradients, double: true, strict: true, ..Request::default() };
    of(text, parsed, &request, compiler).module
}

fn of(text: &str, parsed: Option<&Parsed>, request: &Request, compiler: &Compiler) -> Compilation {
    let (path, owned) = (Path::new("kernel.py"), text.to_string());
    match parsed {
        Some(parsed) => compiler.load_parsed(path, owned, parsed, request),
        None => compiler.load_text(path, owned, request),
    }
}

/// How the PTX of rows is made.
pub fn device(arch: Arch) -> PtxOptions {
    PtxOptions {
        arch,
        opt: Opt::Lean,
        fmad: true,
        layout: ArrayLayout::Strided,
        grid: Grid::Any,
        checks: Checks::None,
        prints: Prints::Driver,
        tensor_cores: TensorCores::On,
    }
}

/// The architecture of device texts: the oldest that kc knows runs them everywhere.
pub fn arch() -> Option<Arch> {
    Arch::from_name("sm_80").or_else(|| Arch::ALL.first().copied())
}

/// Texts that run where the others do.
pub fn cuda_options() -> CudaOptions {
    arch().map_or_else(CudaOptions::default, |arch| CudaOptions { shared: arch.shared, ..CudaOptions::default() })
}

/// All entries in one CUDA text.
pub fn whole_cuda(compiled: &Compiled) -> Result<String, Rejection> {
    let (readable, entries) = compiled.readable();
    let forward = entries.iter().map(|entry| entry.forward);
    let all: Vec<FuncId> = forward.chain(entries.iter().copied().flat_map(Entries::reverse)).collect();
    let module = cuda::tidied(readable);
    let mut printer = cuda::Printer::new(&module, compiled.compiler.cuda_texts());
    let text = printer.emit(&all, &cuda_options());
    text.map_err(|e| Rejection::new("back end cuda", e.message.clone()))
}

/// The texts that are asked for.
pub fn texts(compiled: &Compiled, emit: Emit, timings: &mut Timings) -> Result<Texts, Rejection> {
    let (module, compiler) = (&compiled.program.module, &compiled.compiler);
    let refused = |what: &str, message: String| Rejection::new(format!("back end {what}"), message);
    let (readable, entries) = compiled.readable();
    let forward: Vec<FuncId> = entries.iter().map(|entry| entry.forward).collect();
    let reverse: Vec<FuncId> = entries.iter().copied().flat_map(Entries::reverse).collect();
    let mut out = Texts::default();
    if emit.cuda {
        let module = cuda::tidied(readable);
        let mut printer = cuda::Printer::new(&module, compiler.cuda_texts());
        let mut print =
            |kernels: &[FuncId]| printer.emit(kernels, &cuda_options()).map_err(|e| refused("cuda", e.message.clone()));
        out.cuda_forward = Some(timings.time("cuda text", || print(&forward))?);
        if !reverse.is_empty() {
            out.cuda_backward = Some(timings.time("cuda text", || print(&reverse))?);
        }
    }
    if emit.adjoint && !reverse.is_empty() {
        out.adjoint = Some(timings.time("adjoint text", || ir::print::print_entries(readable, &reverse)));
    }
    let all = || compiled.kernels.iter().map(Kernel::entries);
    let kernels: Vec<FuncId> = all().map(|entry| entry.forward).chain(all().flat_map(Entries::reverse)).collect();
    if let Some(arch) = arch().filter(|_| emit.ptx || emit.llvm) {
        let options = device(arch);
        let failed = |e: llvm::CodegenError| refused("device", e.message);
        let known = compiler.device_parts();
        if emit.ptx && emit.llvm {
            let (ir, ptx) =
                timings.time("device", || llvm::emit_device(module, &kernels, &options, known)).map_err(failed)?;
            (out.llvm_nvptx, out.ptx) = (Some(ir), Some(ptx));
        } else if emit.ptx {
            out.ptx =
                Some(timings.time("device", || llvm::emit_ptx(module, &kernels, &options, known)).map_err(failed)?);
        } else {
            let text = timings.time("device", || llvm::emit_llvm_ir(module, &kernels, LlvmTarget::Ptx(options), known));
            out.llvm_nvptx = Some(text.map_err(failed)?);
        }
    }
    if emit.host {
        let options = HostOptions { checked: false, opt: Opt::Lean, cpu: Cpu::V3, atomics: llvm::Atomics::Shared };
        let text = timings.time("host ir", || {
            llvm::emit_llvm_ir(module, &kernels, LlvmTarget::Host(options), compiler.device_parts())
        });
        out.llvm_host = Some(text.map_err(|e| refused("host", e.message))?);
    }
    Ok(out)
}
