//! What comes of a source text?

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use kc::embed::Given;
use kc::library::Library;
use kc::run::devices::stop;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error;

/// A warning: its code, its message, the file and line, and its text with the source.
type Finding = (&'static str, String, Option<(String, u32)>, String);

/// The compiler of this process, with what it knows of the library.
fn compiler() -> &'static kc::Compiler {
    static COMPILER: OnceLock<kc::Compiler> = OnceLock::new();
    COMPILER.get_or_init(|| {
        let compiler = kc::Compiler::new().ask_during_launches(crate::kernel::interrupted);
        match cache_folder() {
            Some(folder) => compiler.keep_objects_in(&folder),
            None => compiler,
        }
    })
}

/// Runs `work` without Python's lock. Where a signal handler raises meanwhile, that is the error,
/// and the work goes on by itself.
pub fn interruptible<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let made = py.detach(|| stop::unless_stopped(Some(crate::kernel::interrupted), work));
    made.ok_or_else(|| crate::kernel::raised().unwrap_or_else(|| PyRuntimeError::new_err("the work was ended")))
}

/// How many compilations go on that nobody waits for.
#[pyfunction]
pub fn abandoned() -> usize {
    stop::abandoned()
}

/// A fork made this process.
#[pyfunction]
pub fn forked() {
    stop::forked();
}

/// Where compiled code is kept: `KC_CACHE_DIR` (empty: nowhere), or else the user's folder for such
/// files.
fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match std::env::var_os("KC_CACHE_DIR") {
        Some(given) => std::path::absolute(given).ok(),
        None => set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache"))).map(|folder| folder.join("kc")),
    }
}

/// How many objects came from the disk, and how many went there.
#[pyfunction]
pub fn kept_objects() -> (u64, u64) {
    kc::run::devices::objects::counts()
}

/// The compiled kernels of one source text.
#[pyclass(frozen, module = "kc._native")]
pub struct Module {
    pub module: kc::Module,
    /// The texts that were asked for already.
    texts: Mutex<Vec<(String, String)>>,
}

/// Compiles a file (`text` is None), or a text as if it stood in a file at `path`. `given` are the
/// only files that it imports from: paths, names for messages, and texts.
#[pyfunction]
#[pyo3(signature = (path, text=None, given=None, types=None, strict=false))]
pub fn compile(
    py: Python<'_>,
    path: PathBuf,
    text: Option<String>,
    given: Option<Vec<(PathBuf, PathBuf, String)>>,
    types: Option<Vec<String>>,
    strict: bool,
) -> PyResult<Module> {
    let compiler = compiler();
    let compiled = interruptible(py, move || match (text, given) {
        (None, _) => compiler.compile(&path),
        (Some(text), None) if strict => compiler.compile_strict(&path, text),
        (Some(text), None) => compiler.compile_text(&path, text),
        (Some(text), Some(given)) => {
            let given = given.into_iter().map(|(path, shown, text)| Given { path, shown, text }).collect();
            compiler.compile_given(&path, text, given, types.unwrap_or_default(), strict)
        }
    })?;
    match compiled {
        Ok(module) => Ok(Module::new(module)),
        Err(error) => Err(error::raise(py, &error)),
    }
}

/// What `kc check` says of a text, as if it were in a file at `path`: each finding as a JSON
/// object and as text. `given` are the only files that it imports from.
#[pyfunction]
#[pyo3(signature = (path, text, given=None, types=None, strict=false))]
pub fn check(
    py: Python<'_>,
    path: PathBuf,
    text: String,
    given: Option<Vec<(PathBuf, PathBuf, String)>>,
    types: Option<Vec<String>>,
    strict: bool,
) -> PyResult<Vec<(String, String)>> {
    let compiler = compiler();
    let given = given.map(|given| given.into_iter().map(|(path, shown, text)| Given { path, shown, text }).collect());
    interruptible(py, move || compiler.findings_of(&path, text, given, types.unwrap_or_default(), strict))?
        .map_err(|error| error::raise(py, &error))
}

/// The `kc` command: gives its exit code. The program's name comes first.
/// `again` are the words that start it once more.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>, again: Vec<std::ffi::OsString>) -> u8 {
    kc::driver::started_by(again);
    py.detach(|| kc::cli::run_within(arguments))
}

/// What a built-in takes and does: signature, parameters and documentation of each form.
#[pyfunction]
pub fn described(name: &str) -> Vec<(String, Vec<String>, String)> {
    let forms = kc::library::reference::builtin(name).into_iter();
    forms.map(|form| (form.signature, form.params, form.doc)).collect()
}

/// The names of the kernel language's functions.
#[pyfunction]
pub fn builtins() -> Vec<&'static str> {
    Library::public_names().collect()
}

/// kc's version.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

impl Module {
    pub fn new(module: kc::Module) -> Module {
        Module { module, texts: Mutex::default() }
    }

    /// A text that is made once.
    fn text(
        &self,
        py: Python<'_>,
        what: &str,
        make: impl FnOnce(kc::Module) -> Result<String, kc::Error> + Send + 'static,
    ) -> PyResult<String> {
        let known = |module: &Module| {
            let texts = module.texts.lock().unwrap_or_else(PoisonError::into_inner);
            texts.iter().find(|(name, _)| name == what).map(|(_, text)| text.clone())
        };
        if let Some(text) = known(self) {
            return Ok(text);
        }
        let module = self.module.clone();
        let text = interruptible(py, move || make(module))?.map_err(|error| error::raise(py, &error))?;
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).push((what.to_string(), text.clone()));
        Ok(text)
    }
}

#[pymethods]
impl Module {
    /// The names of the kernels, in the order of the source.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.module.kernels().map(str::to_string).collect()
    }

    /// What the compiler warns of, with source lines.
    #[getter]
    fn warnings(&self) -> String {
        self.module.warnings()
    }

    /// The same one by one: code, message, file, line, and text.
    fn findings(&self) -> Vec<Finding> {
        let told = self.module.findings().into_iter();
        told.map(|found| {
            let place = found.place.map(|(path, line)| (path.display().to_string(), line));
            (found.code, found.message, place, found.text)
        })
        .collect()
    }

    #[getter]
    fn cuda(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, "cuda", |module| module.cuda())
    }

    #[getter]
    fn header(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, "header", |module| module.header())
    }

    #[getter]
    fn ir(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, "ir", |module| module.ir())
    }

    #[getter]
    fn plan(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, "plan", |module| module.plan())
    }

    #[pyo3(signature = (arch="sm_90"))]
    fn ptx(&self, py: Python<'_>, arch: &str) -> PyResult<String> {
        let wanted = arch.to_string();
        self.text(py, &format!("ptx {arch}"), move |module| module.ptx(&wanted))
    }

    fn __repr__(&self) -> String {
        format!("<kc module of {}>", self.names().join(", "))
    }
}
