//! The only place that knows the order of the stages: how does a file become artefacts?

mod analyse;
mod child;
mod compiler;
mod emit;
pub mod fix;
mod folders;
mod guard;
mod input;
mod installed;
mod lineinfo;
mod messages;
mod options;
mod products;
pub mod project;
mod quiet;
mod readable;
pub mod remarks;
mod timings;

use std::path::Path;

pub use crate::autodiff::{Options as Gradients, Store};
pub use crate::codegen::llvm::on_fatal_error;
pub use analyse::{Analysis, Memory, Pending, Reads};
pub use child::{ends_with_this, started_by, this_program};
pub use compiler::{Compiler, Compilers, LaunchSettings};
pub use folders::python_files;
pub use guard::{Fault, abandon, catch, guard, on_workers};
pub use input::{Disk, MAX_SOURCE_BYTES, Overlaid, Stamp, read, read_stdin, reason};
pub use options::{Abi, Arch, ArrayLayout, Artefact, BlockThreads, Cpu, Grid, Opt, Options, Request, SameArrays};
pub use products::Product;
pub use timings::Timings;

use quiet::Quiet;
use readable::Readable;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::analysis::effects::effects;
use crate::check;
use crate::check::Checked;
pub use crate::check::End;
use crate::check::Unresolved;
pub use crate::check::Verdict;
use crate::check::lints::Allows;
use crate::diag::explain::distance;
use crate::diag::{Code, Diagnostic, Diagnostics, Level, first_of};
use crate::ir::{self, Module, OF_LAST, Phase};
use crate::passes::block_threads::{self, Unordered};
use crate::passes::thread_loops::{Doubt, Form, Outcome};
use crate::source::{FileId, SourceMap, Span};
use crate::syntax::{self, ast::Parsed};
use crate::{analysis, autodiff, passes};

/// One source file on its way: what was found in it, and the IR of what is good.
#[derive(Debug, Default)]
pub struct Compilation {
    /// The one that made it.
    pub compiler: Compiler,
    pub sources: SourceMap,
    pub diagnostics: Diagnostics,
    /// The kernels without errors and what they call, simplified: what runs, and becomes machine
    /// code.
    pub module: Module,
    /// The same for readers, with short loops in place, where that is another one: what CUDA C++ is
    /// made of.
    readable: Option<Readable>,
    /// The names of the kernels without errors, in source order.
    pub kernels: Vec<String>,
    /// The file's name without its folder: artefacts must not tell where it stood.
    name: String,
    /// The names of the file's decorated functions, good or not.
    declared: Vec<String>,
    /// The kernels without errors that cannot be compiled, because they need what only Python
    /// knows.
    pub unresolved: Vec<Unresolved>,
    /// Where the kernels are that the file launches with one thread alone.
    alone: Vec<Span>,
    /// What became of each kernel of the file, as it is written.
    pub verdicts: Vec<Verdict>,
    /// It has gradients, and the rules for them.
    differentiable: bool,
    /// The findings that comments of the file allow.
    allows: Allows,
    pub timings: Timings,
    /// The bytes of the stack that each entry of the object needs, once that was made.
    stack: BTreeMap<String, u64>,
}

impl Compilation {
    fn read(&mut self, path: &Path) -> Option<FileId> {
        let Compilation { sources, diagnostics, timings, .. } = self;
        timings.time("read", || read(path, sources, diagnostics))
    }

    fn expect_kernels(&mut self, file: FileId) {
        let told = self.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::W0907);
        if self.kernels.is_empty() && self.unresolved.is_empty() && !self.diagnostics.has_errors() && !told {
            let path = self.sources.path(file).display().to_string();
            self.diagnostics.push(messages::no_kernels(&path));
        }
    }

    fn compile(&mut self, file: FileId, request: &Request) {
        if is_ir(self.sources.path(file)) {
            self.ir_text(file);
            self.select(&request.kernels);
            if !request.gradients.backward || request.same_arrays.is_some() {
                passes::select(&mut self.module, |entry| entry.phase == Phase::Forward);
            }
        } else {
            let Compilation { sources, diagnostics, timings, .. } = self;
            let parsed = timings.time("parse", || syntax::parse(file, &sources.file(file).text, diagnostics));
            self.compile_parsed(file, &parsed, request);
        }
        self.conclude(file, request);
    }

    /// Checks what was parsed, and makes IR of it.
    fn compile_parsed(&mut self, file: FileId, parsed: &Parsed, request: &Request) {
        let checked = self.front(
            file,
            parsed,
            &check::Options {
                backward: request.gradients.backward,
                facts: false,
                tests: request.checked && request.gradients.backward,
                nudged: request.nudged,
                double: request.double,
                strict: request.strict,
                types: request.types.clone(),
                block_dim: request.block_threads.map(|block_threads| block_threads.threads).or(request.block_dim),
                last_threads: request
                    .block_threads
                    .and_then(|block_threads| block_threads.last)
                    .map(|last| last.threads),
            },
        );
        let (threads, launched) = (checked.block_dim, checked.launched.clone());
        self.module = self.timings.time("lower", || self.compiler.cache.linker.link(&checked, request.checked));
        self.select(&request.kernels);
        passes::fast_math::mark(&mut self.module, |kernel| checked.fast.contains(&kernel.span));
        let Compilation { module, timings, .. } = self;
        timings.time("simplify", || passes::simplify(module));
        self.refuse_grid_syncs();
        self.go_through_threads(threads, &launched, request);
    }

    /// Refuses kernels that wait for all threads of the launch where some threads do not come, or
    /// where a block is one thread.
    fn refuse_grid_syncs(&mut self) {
        let Compilation { module, diagnostics, kernels, .. } = self;
        let waits: Vec<(ir::FuncId, Span)> =
            module.kernels().filter_map(|(id, _)| Some((id, module.grid_sync_below(id)?))).collect();
        if waits.is_empty() {
            return;
        }
        let some = analysis::barriers::divergent(module);
        for (id, at) in waits {
            let kernel = &module.functions[id];
            let divergent = some.iter().find(|found| found.of_grid && found.kernel == id);
            diagnostics.push(match divergent {
                _ if kernel.by_block => messages::grid_sync_in_block(&kernel.source_name, at),
                Some(found) => messages::grid_sync_of_some(&kernel.source_name, found.span),
                None => continue,
            });
            kernels.retain(|name| *name != kernel.source_name);
        }
        passes::select(module, |entry| kernels.contains(&entry.source_name));
    }

    /// Brings kernels whose threads have values of their own into the form of a block.
    fn go_through_threads(&mut self, threads: u32, launched: &HashMap<String, Option<usize>>, request: &Request) {
        if threads == 1 {
            return;
        }
        let form = |kernel: &ir::Function| {
            let dims = launched.get(&kernel.source_name).copied().flatten();
            match (request.block_threads, dims, kernel.kind) {
                (Some(block_threads), ..) => Form::Counted(block_threads.counted),
                (None, Some(dims), ir::FunctionKind::Kernel { rank }) => Form::Counted(dims <= rank.into()),
                _ => Form::Either,
            }
        };
        let last = request.block_threads.and_then(|block_threads| block_threads.last);
        let Compilation { module, diagnostics, kernels, timings, .. } = self;
        let Outcome { refused, doubts } =
            timings.time("thread loops", || passes::thread_loops::run(module, threads, last, &form));
        let labelled = |diagnostic: Diagnostic, labels: Vec<(Span, String)>| {
            labels.into_iter().fold(diagnostic, |diagnostic, (span, text)| diagnostic.label(span, text))
        };
        for (id, refused) in refused {
            let kernel = &module.functions[id];
            let diagnostic = messages::no_thread_loops(&refused.message, refused.help);
            diagnostics.push(labelled(diagnostic, refused.labels));
            kernels.retain(|name| *name != kernel.source_name);
        }
        for (id, Doubt(refused)) in doubts {
            let name = &module.functions[id].source_name;
            let diagnostic = messages::coordinates_of_blocks(name, threads, &refused.message);
            diagnostics.push(labelled(diagnostic, refused.labels));
        }
        timings.time("select", || passes::select(module, |entry| kernels.contains(&entry.source_name)));
    }

    /// What is done with IR, wherever it comes from.
    fn conclude(&mut self, file: FileId, request: &Request) {
        let name = self.sources.path(file).file_name().unwrap_or_default();
        self.name = name.to_string_lossy().into_owned();
        if request.fast_math {
            passes::fast_math::mark_all(&mut self.module);
        }
        self.join_arrays(request);
        self.write_out(&request.gradients);
        if request.gradients.findings {
            self.find_unordered();
            self.verify();
            if request.quiet {
                self.drop_quiet();
            }
            self.differentiate(&request.gradients);
        } else {
            self.differentiate(&request.gradients);
            self.find_unordered();
        }
        drop_echoes(&mut self.diagnostics, &self.alone);
        self.allows.apply(file, &mut self.diagnostics);
        self.allows.report_unused(&mut self.diagnostics);
        if !request.gradients.findings {
            self.verify();
        }
    }

    /// Takes the kernels out of whose gradients nothing is said.
    fn drop_quiet(&mut self) {
        let Compilation { module, sources, timings, .. } = self;
        timings.time("find quiet kernels", || {
            let mut quiet = Quiet::new(module, sources);
            let names: HashSet<String> =
                module.kernels().filter(|(id, _)| quiet.is_quiet(*id)).map(|(_, kernel)| kernel.name.clone()).collect();
            if !names.is_empty() {
                passes::select(module, |entry| !names.contains(&entry.name));
            }
        });
    }

    /// Release builds too: IR that breaks its rules must end as an error, never as code. What is
    /// linked was verified when it was made. Debug builds verify it again.
    fn verify(&mut self) {
        let Compilation { module, timings, .. } = self;
        let known = |id: ir::FuncId| !cfg!(debug_assertions) && module.functions.is_linked(id);
        let verify = || ir::verify::verify_but(module, known).and_then(|()| waits_together(module));
        if let Err(faults) = timings.time("verify", verify) {
            self.diagnostics.push(messages::broken_ir(&faults));
            self.module = Module::default();
            self.readable = None;
            self.kernels.clear();
        }
    }

    /// Says of kernels where the threads of a block have no order.
    fn find_unordered(&mut self) {
        let Compilation { module, diagnostics, timings, .. } = self;
        let kernels = || module.kernels().filter(|(_, kernel)| kernel.phase == Phase::Forward);
        if !kernels().any(|(_, kernel)| block_threads::own_threads(kernel).is_some()) {
            return;
        }
        timings.time("find races in blocks", || {
            let effects = effects(module);
            for (id, kernel) in kernels() {
                let found = block_threads::unordered(module, id, &effects);
                found.iter().for_each(|found| diagnostics.push(no_order(kernel.span, found)));
            }
        });
    }

    /// Writes short loops out for machine code, and keeps what readers see beside it. (Loops are
    /// not written out after the differentiation: the reverse of straight code knows which elements
    /// the loops before read too, and adds to their adjoints once.)
    fn write_out(&mut self, gradients: &Gradients) {
        let Compilation { module, timings, .. } = self;
        let Some(written) = timings.time("write out", || passes::write_out(module)) else { return };
        self.readable = Some(Readable::new(std::mem::replace(module, written), *gradients));
    }

    /// The module as a person reads it, where that is another one than [`Compilation::module`].
    pub fn apart(&self) -> Option<&Module> {
        self.readable.as_ref()?.module(&self.module, &self.compiler)
    }

    /// Gives the array parameters of a kernel that are one array in the launch one name.
    fn join_arrays(&mut self, request: &Request) {
        let Some(SameArrays { kernel, pairs }) = &request.same_arrays else { return };
        let Some(id) = self.module.entry(kernel, Phase::Forward) else { return };
        if !passes::same_arrays::run(&mut self.module, id, pairs) {
            self.diagnostics.push(messages::shared_array_in_struct(kernel));
            self.module = Module::default();
            self.kernels.clear();
        }
    }

    fn differentiate(&mut self, options: &Gradients) {
        self.differentiable = options.backward;
        let Compilation { module, diagnostics, timings, compiler, .. } = self;
        timings
            .time("differentiate", || autodiff::differentiate(module, options, &compiler.cache.adjoints, diagnostics));
        timings.time("drop tests", || passes::pipelines::drop_tests(module));
        // Adjoints that were written out where they are called.
        if module.kernels().next().is_some() {
            timings.time("select", || passes::select(module, |_| true));
        }
        passes::fast_math::spread(module);
    }

    /// For derivatives in forward mode. None: it was compiled without gradients, and has no rules
    /// for those of functions.
    pub fn differentiable(&mut self) -> Option<Differentiable<'_>> {
        self.differentiable.then_some(Differentiable(self))
    }

    fn front(&mut self, file: FileId, parsed: &Parsed, options: &check::Options) -> Checked {
        let Compilation { sources, diagnostics, timings, compiler, .. } = self;
        let checked =
            timings.time("check", || check::check(parsed, options, &compiler.cache.instances, sources, diagnostics));
        self.allows = Allows::read(parsed, &sources.file(file).text);
        self.declared.clone_from(&checked.declared);
        self.alone.clone_from(&checked.alone);
        self.verdicts.clone_from(&checked.verdicts);
        self.unresolved.clone_from(&checked.unresolved);
        self.kernels = checked.kernels.iter().map(|&id| checked.functions[id].name.clone()).collect();
        checked
    }

    fn ir_text(&mut self, file: FileId) {
        let Compilation { sources, diagnostics, timings, .. } = self;
        let source = sources.file(file);
        let found = timings.time("parse", || ir::parse::parse(&source.text));
        match found {
            Ok(module) => match ir::verify::verify(&module).and_then(|()| waits_together(&module)) {
                Ok(()) => {
                    let forward = module.kernels().filter(|(_, kernel)| kernel.phase == Phase::Forward);
                    self.kernels = forward.map(|(_, kernel)| kernel.source_name.clone()).collect();
                    self.declared = self.kernels.clone();
                    self.module = module;
                }
                Err(faults) => {
                    for fault in faults {
                        diagnostics.push(messages::invalid_ir(fault));
                    }
                }
            },
            Err(error) => {
                let line = source.line_range(error.line);
                diagnostics.push(messages::unreadable_ir(error.message, Span::new(file, line.start, line.end)));
            }
        }
    }

    /// Keeps only the named kernels, if any are named. When all of them are good, errors elsewhere
    /// in the file no longer count.
    fn select(&mut self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let mut complete = true;
        for name in names.iter().filter(|name| !self.kernels.contains(name)) {
            complete = false;
            if let Some(kernel) = self.unresolved.iter().find(|kernel| kernel.name == *name) {
                // A warning for the file is an error for who wants this kernel.
                let why = [Code::W0504, Code::W0505, Code::W0506];
                self.diagnostics.update(|diagnostic| {
                    if why.contains(&diagnostic.code) && diagnostic.span() == Some(kernel.span) {
                        diagnostic.level = Level::Error;
                    }
                    true
                });
            } else if !self.declared.contains(name) {
                self.diagnostics.push(self.unknown_kernel(name));
            }
        }
        if complete {
            self.diagnostics.retain(|diagnostic| diagnostic.level < Level::Error);
        }
        self.kernels.retain(|kernel| names.contains(kernel));
        let Compilation { module, kernels, timings, .. } = self;
        // Those for a last block go with those for the others.
        let wanted = |name: &str| kernels.iter().any(|kernel| kernel == name.trim_end_matches(OF_LAST));
        timings.time("select", || passes::select(module, |entry| wanted(&entry.source_name)));
    }

    fn unknown_kernel(&self, name: &str) -> Diagnostic {
        let diagnostic = messages::unknown_kernel(name);
        let near = self.kernels.iter().map(|kernel| (distance(kernel, name), kernel)).min();
        match near {
            Some((steps, kernel)) if steps <= name.chars().count() / 3 => {
                diagnostic.help(format!("did you mean `{kernel}`?"))
            }
            Some(_) => {
                let names: Vec<String> = self.kernels.iter().map(|name| format!("`{name}`")).collect();
                diagnostic.note(format!("the kernels are {}", first_of(&names, 12)))
            }
            None => diagnostic,
        }
    }
}

/// Threads of a block touch one element in no order of their own.
fn no_order(kernel: Span, found: &Unordered) -> Diagnostic {
    let &Unordered { threads, accesses: [write, other], ref array, serial } = found;
    // What functions of the library do is reported at the kernel.
    let at = |span: Span| if span.file == kernel.file { span } else { kernel };
    let (write, other) = (at(write), at(other));
    let array = array.as_ref().map_or("a tile".to_string(), |name| format!("`{name}`"));
    let other = Some(other).filter(|other| *other != write);
    match serial {
        true => messages::one_store_for_all(&array, threads, write, other),
        false => messages::no_barrier(&array, write, other),
    }
}

/// A compilation with gradients.
pub struct Differentiable<'a>(&'a mut Compilation);

impl Differentiable<'_> {
    /// Adds the forward-mode kernel of the kernel `name`, or of the only one
    /// ([`autodiff::jvp::jvp`]). The error says why there is none.
    pub fn forward_mode(&mut self, name: Option<&str>) -> Result<ir::FuncId, String> {
        let forward = |(_, f): &(ir::FuncId, &ir::Function)| {
            f.phase == Phase::Forward && name.is_none_or(|name| f.source_name == name)
        };
        let Some((kernel, function)) = self.0.module.kernels().find(forward) else {
            return Err("there is no such kernel".to_string());
        };
        if let ir::Derivative::None(why) = &function.derivative {
            return Err(why.clone());
        }
        let made = autodiff::jvp::jvp(&mut self.0.module, kernel).map_err(|refused| refused.reason)?;
        ir::verify::verify(&self.0.module).map_err(|faults| faults.join("; "))?;
        Ok(made)
    }

    /// Adds forward mode of the entries of a gradient run of the kernel `name`: of its augmented
    /// entry where it has one, else of its forward entry, and of its backward entry. Together they
    /// give Hessian-vector products.
    pub fn second_order(&mut self, name: &str) -> Result<(ir::FuncId, ir::FuncId), String> {
        let first = self.0.module.entry(name, Phase::Augmented).or_else(|| self.0.module.entry(name, Phase::Forward));
        let (Some(first), Some(backward)) = (first, self.0.module.entry(name, Phase::Backward)) else {
            return Err("it has no backward entry".to_string());
        };
        let mut made = |entry| autodiff::jvp::jvp(&mut self.0.module, entry).map_err(|refused| refused.reason);
        let (first, backward) = (made(first)?, made(backward)?);
        ir::verify::verify(&self.0.module).map_err(|faults| faults.join("; "))?;
        Ok((first, backward))
    }
}

/// A race that the checker tells is not told again for the gradient, and no race of kernels that
/// the file launches with one thread `alone`.
fn drop_echoes(diagnostics: &mut Diagnostics, alone: &[Span]) {
    let races: Vec<Span> = diagnostics
        .iter()
        .filter(|d| matches!(d.code, Code::W0701 | Code::W0702))
        .filter_map(Diagnostic::span)
        .collect();
    diagnostics.retain(|d| d.code != Code::W0602 || !d.labels.iter().any(|label| races.contains(&label.span)));
    // One thread meets no other.
    let meets = |d: &Diagnostic| matches!(d.code, Code::W0602 | Code::W0606);
    diagnostics.retain(|d| !meets(d) || !alone.iter().any(|kernel| d.is_within(*kernel)));
}

/// Barriers that only some threads of a block come to, as faults of the module.
fn waits_together(module: &Module) -> Result<(), Vec<String>> {
    let faults: Vec<String> = analysis::barriers::divergent(module).into_iter().map(|found| found.text).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn is_ir(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ir")
}
