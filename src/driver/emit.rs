//! From IR to one artefact: which back end makes it?

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::compiler::LibraryCache;
use super::guard::on_workers;
use super::lineinfo::with_directives;
use super::readable::Readable;
use super::remarks::remarks;
use super::{Artefact, Compilation, Compiler, Options, Timings};
use crate::check::precision_kept;
use crate::codegen::cuda::{self, CudaOptions, Remarks};
use crate::codegen::header::{self, Source};
use crate::codegen::llvm::{
    self, Atomics, Checks, CodegenError, DebugTexts, HostOptions, LlvmTarget, Prints, PtxOptions,
};
use crate::codegen::meta::{self, MetaOptions};
use crate::codegen::rust;
use crate::codegen::sites::{SitePlace, Sites};
use crate::diag::{Diagnostic, Diagnostics};
use crate::driver::messages;
use crate::ir::{self, FuncId, Module};
use crate::passes::block_threads::{self, Tensor};
use crate::source::lined::Lined;
use crate::source::{FileId, SourceMap};

impl Compilation {
    /// One artefact of the good kernels. A kernel that the back end refuses is reported and left
    /// out; None when nothing is left.
    pub fn emit(&mut self, artefact: Artefact, options: &Options) -> Option<Vec<u8>> {
        if options.lineinfo && matches!(artefact, Artefact::Ptx(_)) {
            let ptx = self.emit_lined(artefact, options)?;
            let (kernel, _) = self.module.kernels().next()?;
            let path = self.sources.path(self.module.functions[kernel].span.file).display().to_string();
            return Some(with_directives(&ptx, &path).into_bytes());
        }
        let Compilation { module, readable, diagnostics, timings, name, sources, compiler, allows, stack, .. } = self;
        let module = &*options.linkage.prefixed(for_artefact(artefact, module, readable.as_ref(), compiler, timings));
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        let known = RefCell::new(std::mem::take(stack));
        let job = Job { module, cache: &compiler.cache, sources, name, artefact, options, marked: None, stack: &known };
        let bytes = timings.time(stage(artefact), || job.for_kernels(&kernels, diagnostics));
        *stack = known.into_inner();
        if let Some(&kernel) = kernels.first() {
            allows.apply(module.functions[kernel].span.file, diagnostics);
        }
        bytes
    }

    /// The text of an artefact (PTX, CUDA C++, IR or assembly) with the source lines that its lines
    /// come from; otherwise as [`Compilation::emit`]. None for artefacts that have no lines.
    pub fn emit_lined(&mut self, artefact: Artefact, options: &Options) -> Option<Lined> {
        if !matches!(artefact, Artefact::Ptx(_) | Artefact::Cuda | Artefact::Ir | Artefact::Assembly) {
            return None;
        }
        let Compilation { module, readable, diagnostics, timings, name, sources, compiler, allows, .. } = self;
        let module = &*options.linkage.prefixed(for_artefact(artefact, module, readable.as_ref(), compiler, timings));
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        let file = module.functions.get(*kernels.first()?)?.span.file;
        let (stack, marked) = (&RefCell::default(), Some(file));
        let job = Job { module, cache: &compiler.cache, sources, name, artefact, options, marked, stack };
        let bytes = timings.time(stage(artefact), || job.for_kernels(&kernels, diagnostics));
        allows.apply(file, diagnostics);
        let bytes = bytes?;
        Some(Lined::read(&String::from_utf8_lossy(&bytes), file, sources.file(file)))
    }
}

/// The form of the module that an artefact is made of.
fn for_artefact<'m>(
    artefact: Artefact,
    module: &'m Module,
    readable: Option<&'m Readable>,
    compiler: &Compiler,
    timings: &mut Timings,
) -> &'m Module {
    match (artefact, readable) {
        (Artefact::Cuda, Some(readable)) => {
            timings.time("differentiate", || readable.module(module, compiler)).unwrap_or(module)
        }
        _ => module,
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
        Artefact::Assembly => "assembly",
        Artefact::Plan => "plan",
        Artefact::Header => "header",
        Artefact::Rust => "rust",
        Artefact::Metadata => "metadata",
    }
}

/// What is to be made.
struct Job<'a> {
    module: &'a Module,
    cache: &'a LibraryCache,
    sources: &'a SourceMap,
    /// The source file's name, without its folder.
    name: &'a str,
    artefact: Artefact,
    options: &'a Options,
    /// The text has marks for places of this file.
    marked: Option<FileId>,
    /// The bytes of the stack that each entry of the object needs, once that was made.
    stack: &'a RefCell<BTreeMap<String, u64>>,
}

impl Job<'_> {
    /// One kernel must not take the others down: on a fault each is tried by itself, and the good
    /// ones once more together.
    fn for_kernels(&self, kernels: &[FuncId], diagnostics: &mut Diagnostics) -> Option<Vec<u8>> {
        let fault = match self.backend(kernels) {
            Ok(bytes) => {
                self.precision(kernels, diagnostics);
                return Some(bytes);
            }
            Err(fault) => fault,
        };
        let mut good = Vec::new();
        for &kernel in kernels.iter().filter(|_| kernels.len() > 1) {
            match self.backend(&[kernel]) {
                Ok(_) => good.push(kernel),
                // The entries of one kernel have one reason.
                Err(fault) if diagnostics.iter().any(|d| d.message == fault.message && d.span() == fault.span()) => {}
                Err(fault) => diagnostics.push(*fault),
            }
        }
        if good.is_empty() || good.len() == kernels.len() {
            diagnostics.push(*fault);
            return None;
        }
        let bytes = self.backend(&good).map_err(|fault| diagnostics.push(*fault)).ok()?;
        self.precision(&good, diagnostics);
        Some(bytes)
    }

    /// Says which products an architecture computes with more bits than the program asks for.
    fn precision(&self, kernels: &[FuncId], diagnostics: &mut Diagnostics) {
        let tensor = match self.artefact {
            Artefact::Ptx(arch) | Artefact::Llvm(arch) => Tensor::of_ptx(self.options.tensor_cores, arch.number),
            Artefact::Cuda => self.options.text_tensor(),
            _ => return,
        };
        for (span, why) in block_threads::precision_kept(self.module, kernels, tensor) {
            let kept = precision_kept(span, &why);
            let same = |other: &Diagnostic| (other.code, other.span()) == (kept.code, kept.span());
            if !diagnostics.iter().any(same) {
                diagnostics.push(kept);
            }
        }
    }

    /// What an object of these options may report.
    fn sites(&self) -> Vec<SitePlace> {
        Sites::of(self.module, self.options.checked).places(self.sources)
    }

    /// The file that the kernels are of.
    fn source(&self) -> Source<'_> {
        let first = self.module.kernels().next().map(|(_, kernel)| kernel.span.file);
        Source { name: self.name, text: first.map_or("", |file| &self.sources.file(file).text) }
    }

    fn backend(&self, kernels: &[FuncId]) -> Result<Vec<u8>, Box<Diagnostic>> {
        let &Options { opt, fmad, tensor_cores, layout, grid, abi, cpu, checked, .. } = self.options;
        let (checks, prints) = (if checked { Checks::Recorded } else { Checks::None }, Prints::Driver);
        let device = |arch| PtxOptions { arch, opt, fmad, layout, grid, checks, prints, tensor_cores };
        let boxed = |error: CodegenError| Box::new(Diagnostic::from(error));
        let module = self.module;
        let translated = matches!(
            self.artefact,
            Artefact::Ptx(_) | Artefact::Llvm(_) | Artefact::Object | Artefact::Assembly | Artefact::Plan
        );
        if let Some((kernel, text)) =
            kernels.iter().filter(|_| translated).find_map(|&k| Some((k, module.native_below(k, |_| true)?)))
        {
            return Err(Box::new(native(module, kernel, text)));
        }
        let text = match self.artefact {
            Artefact::Ptx(arch) => {
                let (marked, known) = (self.marked, &self.cache.device);
                let emit = || match marked {
                    Some(file) => llvm::emit_ptx_marked(module, kernels, &device(arch), known, file),
                    None => llvm::emit_ptx(module, kernels, &device(arch), known),
                };
                // A single kernel, with three entries at most, is not worth the threads.
                let text = if kernels.len() > 3 { on_workers(emit) } else { emit() };
                text.map_err(boxed)?
            }
            Artefact::Llvm(arch) => {
                llvm::emit_llvm_ir(module, kernels, LlvmTarget::Ptx(device(arch)), &self.cache.device).map_err(boxed)?
            }
            Artefact::Object => {
                let host = HostOptions { checked, opt, cpu, atomics: Atomics::Called };
                let entries = header::entries(module, kernels, &self.source());
                let (exported, debug) = (
                    self.options.linkage.exported,
                    self.options.debug.as_deref().map(|folder| DebugTexts { sources: self.sources, folder }),
                );
                let object = llvm::emit_object(module, kernels, &host, &entries, exported, debug).map_err(boxed)?;
                self.stack.replace(object.stack);
                return Ok(object.bytes);
            }
            Artefact::Assembly => {
                let host = HostOptions { checked, opt, cpu, atomics: Atomics::Shared };
                llvm::emit_assembly(module, kernels, &host, self.marked.map(|file| (self.sources, file)))
                    .map_err(boxed)?
            }
            Artefact::Plan => {
                let host = HostOptions { checked, opt, cpu, atomics: Atomics::Called };
                llvm::emit_plan(module, kernels, &host, self.options.tensor())
            }
            Artefact::Cuda => {
                let file = kernels.first().map(|&kernel| module.functions[kernel].span.file);
                let remarks = file.map_or_else(Remarks::default, |file| remarks(file, self.sources.file(file)));
                let options = CudaOptions {
                    source_name: self.name.to_string(),
                    remarks,
                    abi,
                    promises: cuda::Promises::default(),
                    shared: self.options.block_memory(),
                    fmad,
                    tensor: self.options.text_tensor(),
                };
                match self.marked {
                    Some(_) => cuda::emit_marked(module, kernels, &options)?,
                    None => cuda::emit(module, kernels, &options, &self.cache.cuda)?,
                }
            }
            Artefact::Ir if self.marked.is_some() => ir::print::print_marked(module),
            Artefact::Ir => ir::print::print(module),
            Artefact::Header => {
                let source = self.source();
                let tensors = [self.options.tensor(), self.options.text_tensor()];
                header::emit(module, kernels, &source, &self.sites(), tensors, &self.options.linkage)
            }
            Artefact::Rust => rust::emit(module, kernels, &self.source(), &self.sites(), checked),
            Artefact::Metadata => {
                let architectures = self.options.ptx.iter().map(|arch| arch.name.to_string()).collect();
                let options = MetaOptions {
                    source_name: self.name.to_string(),
                    architectures,
                    contiguous: layout == llvm::ArrayLayout::Contiguous,
                    covering: grid == llvm::Grid::Covering,
                    processors: cpu.version_names(),
                    sites: self.sites(),
                    tensor: self.options.tensor(),
                    text_tensor: self.options.text_tensor(),
                    stack: self.stack.borrow().clone(),
                };
                meta::emit(module, kernels, options)
            }
        };
        Ok(text.into_bytes())
    }
}

/// Why a kernel that calls CUDA text has no other form.
fn native(module: &Module, kernel: FuncId, text: FuncId) -> Diagnostic {
    let (kernel, text) = (&module.functions[kernel], &module.functions[text]);
    messages::calls_cuda_text(&kernel.source_name, text.span)
}
