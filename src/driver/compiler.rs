//! What lives longer than one program: a compiler, with what it knows of the library.

use std::path::Path;
use std::sync::Arc;

use super::{Compilation, Disk, Request};
use crate::source::{FileSystem, SourceFile, SourceMap};
use crate::syntax::ast::Parsed;

/// Compiles programs, one after the other or from several threads at once. The library functions that programs share are
/// checked, simplified, differentiated and printed once per compiler; what comes out for a program does not depend on the
/// programs before it. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    cache: Arc<LibraryCache>,
}

/// What a compiler knows of the library, within a bound on its memory.
#[derive(Debug, Default)]
pub(super) struct LibraryCache {}

impl Compiler {
    /// A compiler that knows nothing of the library yet.
    pub fn new() -> Compiler {
        Compiler::default()
    }

    /// Reads a file and looks for errors, in its gradients too if the request wants them. A file without kernels is one.
    #[doc(hidden)]
    pub fn check(&self, path: &Path, request: &Request) -> Compilation {
        let mut this = self.begin(SourceMap::with_files(Arc::new(Disk)));
        if let Some(file) = this.read(path) {
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
        let mut this = self.begin(SourceMap::with_files(files));
        let file = this.sources.add(SourceFile::new(path, text));
        this.compile(file, request);
        this.expect_kernels(file);
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

    /// Compiles a text that stands alone as far as IR, as if it stood in a file at `path`.
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
        Compilation { cache: self.cache.clone(), sources, ..Compilation::default() }
    }
}
