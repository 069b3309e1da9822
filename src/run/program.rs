//! What does a run get from the compiler?

use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic, Level};
use crate::ir::{FuncId, Module, Phase};
use crate::passes::same_arrays::SameArrays;
use crate::source::SourceMap;

/// A compiled source file.
#[derive(Default)]
pub struct Program {
    /// The kernels that compiled, and what they call.
    pub module: Module,
    pub sources: SourceMap,
    /// What the compiler found, in order.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a source file is compiled for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wanted {
    pub source: PathBuf,
    /// With this, only the one kernel and its backward entry; None: the forward entries of all kernels.
    pub gradient_of: Option<String>,
    /// The arrays that are one in the launch.
    pub same_arrays: Option<SameArrays>,
    /// With the checks of checked runs.
    pub checked: bool,
}

impl Wanted {
    /// The forward entries of the kernels of a file, for arguments that share no memory.
    pub fn of(source: &Path, checked: bool) -> Wanted {
        Wanted { source: source.to_path_buf(), gradient_of: None, same_arrays: None, checked }
    }
}

/// Compiles a source file.
pub type Compile<'a> = dyn FnMut(&Wanted) -> Program + 'a;

/// The kernel called `name`, or the only one. The errors are those of the source where they are the reason.
pub fn kernel(program: &Program, source: &Path, name: Option<&str>) -> std::result::Result<FuncId, Vec<Diagnostic>> {
    let forward = program.module.kernels().filter(|(_, f)| f.phase == Phase::Forward);
    let kernels: Vec<(FuncId, &str)> = forward.map(|(id, f)| (id, f.source_name.as_str())).collect();
    match (name, kernels.as_slice()) {
        (None, &[(id, _)]) => return Ok(id),
        (Some(name), list) => {
            if let Some((id, _)) = list.iter().find(|(_, n)| *n == name) {
                return Ok(*id);
            }
        }
        _ => {}
    }
    let errors: Vec<Diagnostic> = program.diagnostics.iter().filter(|d| d.level == Level::Error).cloned().collect();
    if !errors.is_empty() && (name.is_some() || kernels.is_empty()) {
        return Err(errors);
    }
    let names: Vec<String> = kernels.iter().map(|(_, n)| n.to_string()).collect();
    let shown = source.display();
    let (code, message) = match (name, names.is_empty()) {
        (_, true) => (Code::E0908, format!("{shown} has no kernels")),
        (Some(name), _) => (Code::E0905, format!("{shown} has no kernel `{name}`; it has {}", super::list(&names))),
        (None, _) => (Code::E1003, format!("{shown} has several kernels, name one: {}", super::list(&names))),
    };
    Err(vec![Diagnostic::new(code, message)])
}
