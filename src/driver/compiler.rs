//! What lives longer than one program: a compiler, with what it knows of the library.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::{Analysis, Compilation, Disk, Pending, Request};
use crate::autodiff::Adjoints;
use crate::check::Instances;
use crate::codegen::{cuda, llvm};
use crate::link::Linker;
use crate::memo::lock;
use crate::source::{FileId, FileSystem, SourceFile, SourceMap};
use crate::syntax::ast::Parsed;

/// Compiles programs, one after the other or from several threads at once. The library functions
/// that programs share are checked, simplified, differentiated and printed once per compiler; what
/// comes out for a program does not depend on the programs before it. Clones share what they know.
#[derive(Clone, Debug)]
pub struct Compiler {
    pub(super) cache: Arc<LibraryCache>,
    launches: LaunchSettings,
}

/// What the program that kc is a part of wants of launches of a compiler's kernels.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct LaunchSettings {
    /// Host code is kept in this folder for other processes.
    pub objects: Option<Arc<Path>>,
    /// Called from time to time on threads that launch; says whether the launch is to end.
    pub stop: Option<fn() -> bool>,
}

/// What a compiler knows of the library, within a bound on its memory.
#[derive(Debug)]
pub(super) struct LibraryCache {
    pub instances: Instances,
    pub linker: Linker,
    pub adjoints: Adjoints,
    pub cuda: cuda::Texts,
    pub device: llvm::Parts,
}

/// The library functions that are kept where nobody says how many: those of some thousand programs.
const FUNCTIONS: usize = 4096;

impl LibraryCache {
    fn new(functions: usize) -> LibraryCache {
        LibraryCache {
            instances: Instances::new(functions),
            linker: Linker::new(functions),
            adjoints: Adjoints::new(functions / 4),
            // The bytes of text, of which few functions have much.
            cuda: cuda::Texts::new(functions << 11),
            device: llvm::Parts::new(functions << 12),
        }
    }
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler::new()
    }
}

impl Compiler {
    /// A compiler that knows nothing of the library yet.
    pub fn new() -> Compiler {
        Compiler::with_room_for(FUNCTIONS)
    }

    /// The same; at most about so many library functions are kept from program to program, some 20
    /// kB each in all forms.
    pub fn with_room_for(functions: usize) -> Compiler {
        Compiler { cache: Arc::new(LibraryCache::new(functions)), launches: LaunchSettings::default() }
    }

    /// The same compiler; host code of its kernels is kept in this folder for other processes. The
    /// folder is made when it is first needed.
    #[doc(hidden)]
    #[must_use]
    pub fn keep_objects_in(mut self, folder: &Path) -> Compiler {
        self.launches.objects = Some(folder.into());
        self
    }

    /// The same compiler; `ask` is called from time to time on threads that launch its kernels. It
    /// says whether the launch is to end: then threads of it have not run, and whoever asked knows.
    #[doc(hidden)]
    #[must_use]
    pub fn ask_during_launches(mut self, ask: fn() -> bool) -> Compiler {
        self.launches.stop = Some(ask);
        self
    }

    #[doc(hidden)]
    pub fn launches(&self) -> &LaunchSettings {
        &self.launches
    }

    /// Reads a file from `files` and looks for errors, in its gradients too if the request wants
    /// them. A file without kernels is one.
    #[doc(hidden)]
    pub fn check(&self, path: &Path, files: Arc<super::Overlaid>, request: &Request) -> Compilation {
        let (mut this, file) = self.open(path, files);
        if let Some(file) = file {
            this.compile(file, request);
            this.expect_kernels(file);
        }
        this
    }

    /// Looks for errors in a text, as if it stood in a file at `path`.
    #[doc(hidden)]
    pub fn check_text(&self, path: &Path, text: String, request: &Request) -> Compilation {
        self.check_among(path, text, Arc::new(Disk), request)
    }

    /// The same, with imported files read from `files`.
    #[doc(hidden)]
    pub fn check_among(&self, path: &Path, text: String, files: Arc<dyn FileSystem>, request: &Request) -> Compilation {
        let mut this = self.load_among(path, text, files, request);
        this.expect_kernels(Analysis::FILE);
        this
    }

    /// Reads a file and compiles it as far as IR. A file named `*.ir` holds IR text already.
    #[doc(hidden)]
    pub fn load(&self, path: &Path, request: &Request) -> Compilation {
        let mut this = self.begin(SourceMap::with_files(Arc::new(Disk)));
        if let Some(file) = this.read(path) {
            this.compile(file, request);
        }
        this
    }

    /// The same, with this file and what it imports read from `files`.
    #[doc(hidden)]
    pub fn load_from(&self, path: &Path, files: Arc<super::Overlaid>, request: &Request) -> Compilation {
        let (mut this, file) = self.open(path, files);
        if let Some(file) = file {
            this.compile(file, request);
        }
        this
    }

    /// The same of a text, with what it imports read from `files`.
    #[doc(hidden)]
    pub fn load_among(&self, path: &Path, text: String, files: Arc<dyn FileSystem>, request: &Request) -> Compilation {
        let mut this = self.begin(SourceMap::with_files(files));
        let file = this.sources.add(SourceFile::new(path, text));
        this.compile(file, request);
        this
    }

    /// Begins with a file. None: it cannot be read, which is reported.
    fn open(&self, path: &Path, files: Arc<super::Overlaid>) -> (Compilation, Option<FileId>) {
        let text = files.text(path);
        let mut this = self.begin(SourceMap::with_files(files));
        let file = match text {
            Some(text) => Some(this.sources.add(SourceFile::new(path, text))),
            None => this.read(path),
        };
        (this, file)
    }

    /// Compiles a text that is alone as far as IR, as if it stood in a file at `path`.
    #[doc(hidden)]
    pub fn load_text(&self, path: &Path, text: String, request: &Request) -> Compilation {
        let mut this = self.begin(SourceMap::default());
        let file = this.sources.add(SourceFile::new(path, text));
        this.compile(file, request);
        this
    }

    /// The same for a text that was parsed without a finding already.
    #[doc(hidden)]
    pub fn load_parsed(&self, path: &Path, text: String, parsed: &Parsed, request: &Request) -> Compilation {
        let mut this = self.begin(SourceMap::default());
        let file = this.sources.add(SourceFile::new(path, text));
        debug_assert_eq!(file, parsed.file, "its places are in the first file");
        this.compile_parsed(file, parsed, request);
        this.conclude(file, request);
        this
    }

    fn begin(&self, sources: SourceMap) -> Compilation {
        Compilation { compiler: self.clone(), sources, ..Compilation::default() }
    }

    /// The texts of library functions in CUDA C++.
    pub fn cuda_texts(&self) -> &cuda::Texts {
        &self.cache.cuda
    }

    /// The texts of library functions for devices.
    pub fn device_parts(&self) -> &llvm::Parts {
        &self.cache.device
    }

    /// Parses and checks a text for an editor, as if it stood in a file at `path`; imported files
    /// are read from `files`.
    pub fn analyse(&self, path: &Path, text: String, files: Arc<dyn FileSystem>) -> (Analysis, Pending) {
        Analysis::new(path, text, files, &self.cache.instances)
    }
}

/// Compilers for the threads that compile programs of one kind: each uses one at a time, so that
/// none waits for another.
#[derive(Debug, Default)]
pub struct Compilers {
    idle: Mutex<Vec<Compiler>>,
}

impl Compilers {
    /// Does some work with a compiler that nobody else uses in the meantime.
    pub fn lend<T>(&self, work: impl FnOnce(&Compiler) -> T) -> T {
        let compiler = lock(&self.idle).pop().unwrap_or_default();
        let result = work(&compiler);
        lock(&self.idle).push(compiler);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Abi, Arch, ArrayLayout, Artefact, Cpu, Grid, Opt, Options};

    /// `call`: of `x[i]`.
    fn program(call: &str, ty: &str) -> String {
        let head = format!("import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype={ty}), y: wp.array(dtype={ty})):\n");
        format!("{head}    i = wp.tid()\n    y[i] = wp.{call}\n")
    }

    #[test]
    fn what_a_compiler_keeps_stays_within_its_bound() {
        const ROOM: usize = 24;
        let compiler = Compiler::with_room_for(ROOM);
        let ptx = Artefact::Ptx(Arch::ALL[0]);
        let options = Options {
            opt: Opt::Lean,
            fmad: true,
            layout: ArrayLayout::Strided,
            grid: Grid::Any,
            abi: Abi::Warp,
            lineinfo: false,
            cpu: Cpu::Native,
            checked: false,
            ptx: Vec::new(),
            ..Options::default()
        };
        let mut most = [0; 5];
        let known =
            "sin cos exp log tan tanh asin sinh erf cbrt log2 atan".split(' ').map(|name| format!("{name}(x[i])"));
        let through_their_bodies = ["smoothstep(x[0], x[1], x[i])", "clamp(wp.lerp(x[0], x[1], x[i]), x[2], x[3])"];
        for call in known.chain(through_their_bodies.map(str::to_string)) {
            for ty in ["float", "wp.float64"] {
                let text = program(&call, ty);
                let mut made = compiler.load_text(Path::new("k.py"), text, &Request::default());
                assert!(made.emit(Artefact::Cuda, &options).is_some() && made.emit(ptx, &options).is_some());
                let LibraryCache { instances, linker, adjoints, cuda, device } = &*compiler.cache;
                let sizes = [instances.size(), linker.size(), adjoints.size(), cuda.size(), device.size()];
                most.iter_mut().zip(sizes).for_each(|(most, size)| *most = size.max(*most));
            }
        }
        assert_eq!((most[0], most[1]), (ROOM, ROOM), "as many as there is room for");
        assert!((1..=ROOM / 4).contains(&most[2]), "{most:?}");
        // No more than the bound and one text.
        assert!((1..(ROOM << 11) + (64 << 10)).contains(&most[3]), "{most:?}");
        assert!((1..(ROOM << 12) + (256 << 10)).contains(&most[4]), "{most:?}");
    }

    /// Forward mode reads the rules that come with gradients: without these it can't be asked for.
    #[test]
    fn forward_mode_needs_gradients() {
        use crate::driver::Gradients;
        for backward in [false, true] {
            let gradients = Gradients { backward, ..Gradients::default() };
            let text = program("sin(x[i])", "float");
            let mut made =
                Compiler::new().load_text(Path::new("k.py"), text, &Request { gradients, ..Request::default() });
            let forward = made.differentiable().map(|mut with| with.forward_mode(Some("k")).is_ok());
            assert_eq!(forward, backward.then_some(true));
        }
    }

    #[test]
    fn compilers_go_from_thread_to_thread() {
        fn shared_by_threads<T: Send + Sync>() {}
        shared_by_threads::<Compiler>();
    }
}
