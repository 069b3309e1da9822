//! What comes of a source file? Kernels that can be launched, and texts for other compilers and
//! machines.

use crate::embed::messages;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::derivative::Form;
use super::kernel::HOW;
use super::{Error, Kernel};
use crate::diag::render::{Format, Style, render_all};
use crate::diag::{Diagnostic, Level};
use crate::driver::{
    self, Arch, Artefact, BlockThreads, Compilation, Compiler, Disk, LaunchSettings, Request, SameArrays,
};
use crate::ir::FuncId;
use crate::run::devices::How;
use crate::run::program::Program;
use crate::source::{FileSystem, SourceMap};

/// The compiled kernels of one source file. Clones share everything.
#[derive(Clone)]
pub struct Module(Arc<Source>);

#[derive(Clone)]
struct Source {
    compiler: Compiler,
    path: PathBuf,
    text: String,
    /// Imported files as they were when they were first read: what is compiled later is of the same
    /// program.
    files: Arc<Recorded>,
    types: Vec<String>,
    /// Literals have their own types, as in Warp.
    strict: bool,
    /// For which launches it is compiled, where threads of a block have values of their own. None:
    /// as the file says.
    block_threads: Option<BlockThreads>,
    /// The only kernel that is compiled, if not all are.
    only: Option<String>,
    program: Arc<Program>,
}

/// A text that represents a file of this path: what a program that has its kernels in memory
/// imports from.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Given {
    pub path: PathBuf,
    /// The name that messages give it.
    pub shown: PathBuf,
    pub text: String,
}

/// What the compiler warns of.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Finding {
    pub code: &'static str,
    /// One line.
    pub message: String,
    /// File and line.
    pub place: Option<(PathBuf, u32)>,
    /// As the `kc` command shows it, without colours.
    pub text: String,
}

impl Compiler {
    /// Compiles the kernels of a Python file. A file named `*.ir` holds IR text.
    ///
    /// # Errors
    /// All errors of the file, if there are any.
    pub fn compile(&self, path: impl AsRef<Path>) -> Result<Module, Error> {
        let (mut sources, mut diagnostics) = (SourceMap::default(), crate::diag::Diagnostics::new());
        let read = driver::read(path.as_ref(), &mut sources, &mut diagnostics);
        match read {
            Some(file) => self.compile_text(path, sources.file(file).text.clone()),
            None => {
                let program = Program { sources, ..Program::default() };
                Err(Error::new(diagnostics.into_sorted(), Arc::new(program)))
            }
        }
    }

    /// Compiles the kernels of a text, as if it stood in a file at `path`: messages name it, and
    /// imports are looked for beside it.
    ///
    /// # Errors
    /// All errors of the text, if there are any.
    pub fn compile_text(&self, path: impl AsRef<Path>, text: impl Into<String>) -> Result<Module, Error> {
        self.compile_source(path.as_ref(), text.into(), Arc::default(), Vec::new(), false)
    }

    /// Compiles a text whose imports are all given, and no other file; `types` are those for
    /// generic kernels, as `--types` of `kc compile` takes them.
    ///
    /// # Errors
    /// All errors of the text, if there are any.
    #[doc(hidden)]
    pub fn compile_given(
        &self,
        path: &Path,
        text: String,
        given: Vec<Given>,
        types: Vec<String>,
        strict: bool,
    ) -> Result<Module, Error> {
        self.compile_source(path, text, Arc::new(Recorded::only(given)), types, strict)
    }

    /// [`Compiler::compile_text`] with literals of their own types, as in Warp: what would not run
    /// there has errors.
    ///
    /// # Errors
    /// All errors of the text, if there are any.
    #[doc(hidden)]
    pub fn compile_strict(&self, path: &Path, text: String) -> Result<Module, Error> {
        self.compile_source(path, text, Arc::default(), Vec::new(), true)
    }

    /// What `kc check` says of a text, one by one: as a JSON object, and as the command shows it.
    /// `given` are the only files that it imports from; None: those on the disk.
    ///
    /// # Errors
    /// A fault of the compiler.
    #[doc(hidden)]
    pub fn findings_of(
        &self,
        path: &Path,
        text: String,
        given: Option<Vec<Given>>,
        types: Vec<String>,
        strict: bool,
    ) -> Result<Vec<(String, String)>, Error> {
        driver::on_fatal_error(driver::abandon);
        let (compiler, path, program) = (self.clone(), path.to_path_buf(), Arc::default());
        let files = given.map_or_else(Arc::default, |given| Arc::new(Recorded::only(given)));
        let source = Source { compiler, path, text, files, types, strict, block_threads: None, only: None, program };
        let Compilation { diagnostics, sources, .. } = source.compile(&Request::default())?;
        let shown = |found: &Diagnostic, format| {
            render_all(std::slice::from_ref(found), &sources, format, Style::PLAIN, 0).trim_end().to_string()
        };
        let found = diagnostics.into_sorted();
        Ok(found.iter().map(|found| (shown(found, Format::Json), shown(found, Format::Full))).collect())
    }

    fn compile_source(
        &self,
        path: &Path,
        text: String,
        files: Arc<Recorded>,
        types: Vec<String>,
        strict: bool,
    ) -> Result<Module, Error> {
        // A program that has a handler of its own has set it before: only the first counts.
        driver::on_fatal_error(driver::abandon);
        let (compiler, path, program) = (self.clone(), path.to_path_buf(), Arc::default());
        let source =
            Source { compiler, path, text, files, types, strict, block_threads: Some(ONE_THREAD), only: None, program };
        // A kernel may need to know how many threads its blocks have.
        let as_stated = Source { block_threads: None, ..source.clone() };
        source.ready().or_else(|error| as_stated.ready().map_err(|_| error))
    }
}

/// Blocks without a word about them.
const ONE_THREAD: BlockThreads = BlockThreads { threads: 1, counted: false, last: None };

impl Source {
    /// With its forward entries.
    fn ready(mut self) -> Result<Module, Error> {
        let forward = driver::Gradients { backward: false, ..driver::Gradients::default() };
        self.program = self.program(&Request { gradients: forward, ..checked() })?;
        let program = &self.program;
        let errors: Vec<Diagnostic> =
            program.diagnostics.iter().filter(|found| found.level == Level::Error).cloned().collect();
        if errors.is_empty() { Ok(Module(Arc::new(self))) } else { Err(Error::new(errors, program.clone())) }
    }

    /// Compiles the text, as far as IR. The stages recurse as deep as the source nests, and a fault
    /// of theirs is not the caller's.
    fn compile(&self, request: &Request) -> Result<Compilation, Error> {
        let (types, block_threads, strict) = (self.types.clone(), self.block_threads, self.strict);
        let mut request = Request { types, block_threads, strict, ..request.clone() };
        if request.kernels.is_empty() {
            request.kernels.extend(self.only.clone());
        }
        let request = &request;
        let work = || self.compiler.check_among(&self.path, self.text.clone(), self.files.clone(), request);
        driver::guard(work).map_err(Error::fault)
    }

    fn program(&self, request: &Request) -> Result<Arc<Program>, Error> {
        self.compile(request).map(|compilation| Arc::new(into_program(compilation)))
    }
}

impl Module {
    /// One kernel of it for launches of other blocks.
    pub(super) fn with_block_threads(&self, kernel: &str, block_threads: BlockThreads) -> Result<Module, Error> {
        Source { block_threads: Some(block_threads), only: Some(kernel.to_string()), ..(*self.0).clone() }.ready()
    }

    /// The threads of the blocks that it is for, if it is that.
    pub(super) fn blocks(&self) -> Option<u32> {
        self.0.only.as_ref().and(self.0.block_threads).map(|block_threads| block_threads.threads)
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// There is none, or it needs a value that only Python knows.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        Kernel::new(self.clone(), name)
    }

    /// The names of the kernels, in the order of the source.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.program.module.kernels().map(|(_, kernel)| kernel.source_name.as_str())
    }

    /// The warnings of the compiler with their source lines; an empty text if there are none.
    pub fn warnings(&self) -> String {
        let found = &self.0.program.diagnostics;
        let found: Vec<Diagnostic> = found.iter().filter(|found| found.level == Level::Warning).cloned().collect();
        render_all(&found, &self.0.program.sources, Format::Full, Style::PLAIN, 0)
    }

    /// The same one by one.
    #[doc(hidden)]
    pub fn findings(&self) -> Vec<Finding> {
        let sources = &self.0.program.sources;
        let found = self.0.program.diagnostics.iter().filter(|found| found.level == Level::Warning);
        let finding = |found: &Diagnostic| {
            let place = found.span().map(|span| {
                let file = sources.file(span.file);
                (file.path.clone(), file.line_column(span.start).line)
            });
            let text = render_all(std::slice::from_ref(found), sources, Format::Full, Style::PLAIN, 0);
            Finding { code: found.code.name(), message: found.message.clone(), place, text }
        };
        found.map(finding).collect()
    }

    /// All kernels and their gradients as PTX, the assembly of NVIDIA GPUs, for an architecture
    /// such as `sm_90`.
    ///
    /// # Errors
    /// The architecture is unknown, or a kernel has no such form.
    pub fn ptx(&self, arch: &str) -> Result<String, Error> {
        let Some(found) = Arch::ALL.iter().find(|known| known.name == arch) else {
            let known: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name).collect();
            return Err(Error::plain(messages::no_architecture(arch, &known.join(", "))));
        };
        self.emit(Artefact::Ptx(*found))
    }

    /// All kernels and their gradients as CUDA C++: one self-contained file for nvcc or NVRTC.
    ///
    /// # Errors
    /// A kernel has no such form.
    pub fn cuda(&self) -> Result<String, Error> {
        self.emit(Artefact::Cuda)
    }

    /// The C and C++ header of the kernels: their entries and the layout of what they take.
    ///
    /// # Errors
    /// A kernel cannot be described.
    pub fn header(&self) -> Result<String, Error> {
        self.emit(Artefact::Header)
    }

    /// kc's intermediate representation of the kernels and their gradients, as text.
    ///
    /// # Errors
    /// A fault of kc.
    pub fn ir(&self) -> Result<String, Error> {
        self.emit(Artefact::Ir)
    }

    /// How each kernel runs on the host: its loops, lanes and products.
    ///
    /// # Errors
    /// A fault of kc.
    pub fn plan(&self) -> Result<String, Error> {
        self.emit(Artefact::Plan)
    }

    fn emit(&self, artefact: Artefact) -> Result<String, Error> {
        if self.kernels().next().is_none() {
            return Err(Error::plain(messages::no_kernels(&self.0.path.display().to_string())));
        }
        // As its launches say, or else as the file does.
        let stated =
            Source { block_threads: self.0.block_threads.filter(|_| self.blocks().is_some()), ..(*self.0).clone() };
        let mut compilation = stated.compile(&Request::default())?;
        let options = driver::Options::default();
        let known = compilation.diagnostics.len();
        let emitted = driver::guard(|| {
            let bytes = compilation.emit(artefact, &options);
            (compilation, bytes)
        });
        let (compilation, bytes) = emitted.map_err(Error::fault)?;
        let refused: Vec<Diagnostic> = compilation.diagnostics.iter().skip(known).cloned().collect();
        match bytes {
            Some(bytes) if refused.is_empty() => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            _ => {
                let program = Program { sources: compilation.sources, ..Program::default() };
                Err(Error::new(refused, Arc::new(program)))
            }
        }
    }

    /// What launches of its kernels are to do.
    pub(super) fn launches(&self) -> &LaunchSettings {
        self.0.compiler.launches()
    }

    /// How its kernels are compiled for devices.
    pub(super) fn how(&self) -> How {
        How { objects: self.launches().objects.clone(), ..HOW }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Its text, if it imports no other file.
    pub(super) fn alone(&self) -> Option<&str> {
        let known = self.0.files.known.lock().unwrap_or_else(PoisonError::into_inner);
        (!known.values().any(|file| matches!(file, Some(Ok(_))))).then_some(&self.0.text)
    }

    /// The forward entries of all kernels.
    pub(super) fn program(&self) -> &Arc<Program> {
        &self.0.program
    }

    /// All entries of one kernel.
    pub(super) fn with_gradient(&self, kernel: &str, form: &Form) -> Result<Arc<Program>, Error> {
        let gradients = driver::Gradients { parameters: form.parameters, ..driver::Gradients::default() };
        let same = SameArrays { kernel: kernel.to_string(), pairs: form.same.clone() };
        let same_arrays = (!same.pairs.is_empty()).then_some(same);
        let (kernels, nudged) = (vec![kernel.to_string()], form.nudged);
        self.0.program(&Request { kernels, gradients, same_arrays, nudged, ..checked() })
    }

    /// All entries of one kernel, to which more may be added.
    pub(super) fn compiled(&self, kernel: &str) -> Result<Compilation, Error> {
        let gradients = driver::Gradients { parameters: false, ..driver::Gradients::default() };
        self.0.compile(&Request { kernels: vec![kernel.to_string()], gradients, ..checked() })
    }

    /// The forward entry of one kernel, and its forward mode.
    pub(super) fn with_tangents(&self, kernel: &str) -> Result<(Arc<Program>, FuncId), Error> {
        // The rules for derivatives come with the backward entry.
        let request = Request { kernels: vec![kernel.to_string()], ..checked() };
        let mut compilation = self.0.compile(&request)?;
        let made = driver::guard(|| {
            let made = match compilation.differentiable() {
                Some(mut differentiable) => differentiable.forward_mode(Some(kernel)),
                None => Err("it was compiled without gradients".to_string()),
            };
            (compilation, made)
        });
        let (compilation, made) = made.map_err(Error::fault)?;
        let program = Arc::new(into_program(compilation));
        match made {
            Ok(id) => Ok((program, id)),
            Err(why) => Err(Error::new(vec![messages::no_forward_mode(kernel, &why)], program)),
        }
    }
}

/// What is compiled to be run: all runs from programs are checked ones.
fn checked() -> Request {
    Request { checked: true, ..Request::default() }
}

pub(super) fn into_program(compilation: Compilation) -> Program {
    Program {
        module: compilation.module,
        sources: compilation.sources,
        diagnostics: compilation.diagnostics.into_sorted(),
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernels: Vec<&str> = self.kernels().collect();
        f.debug_struct("Module").field("path", &self.0.path).field("kernels", &kernels).finish()
    }
}

/// The files on the disk, each as it was when it was first asked for.
#[derive(Debug, Default)]
struct Recorded {
    known: Mutex<HashMap<PathBuf, Option<Result<String, String>>>>,
    /// The names of texts that are no files; then the disk is not asked.
    given: Option<HashMap<PathBuf, PathBuf>>,
}

impl Recorded {
    /// These, and nothing on the disk.
    fn only(given: Vec<Given>) -> Recorded {
        let known = given.iter().map(|file| (file.path.clone(), Some(Ok(file.text.clone())))).collect();
        let shown = given.into_iter().map(|file| (file.path, file.shown)).collect();
        Recorded { known: Mutex::new(known), given: Some(shown) }
    }
}

impl FileSystem for Recorded {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if self.given.is_some() {
            return known.get(path).cloned().flatten();
        }
        known.entry(path.to_path_buf()).or_insert_with(|| Disk.read(path)).clone()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        Disk.absolute(path)
    }

    fn written(&self, path: &Path) -> PathBuf {
        Disk.written(path)
    }

    fn installed(&self, path: &Path) -> Vec<PathBuf> {
        if self.given.is_some() { Vec::new() } else { Disk.installed(path) }
    }

    fn shown(&self, path: &Path) -> Option<PathBuf> {
        self.given.as_ref()?.get(path).cloned()
    }
}
