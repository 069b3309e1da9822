//! What does a run get from the compiler?

use crate::run::messages;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::diag::{Code, Diagnostic, Level};
use crate::ir::{BlockThreads, FuncId, Module, Nudged, Phase};
use crate::passes::same_arrays::SameArrays;
use crate::run::launch::{Launch, other_block_threads};
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
    /// Only this kernel; None: all of them.
    pub kernel: Option<String>,
    /// With this, only the one kernel and its backward entry; None: the forward entries of the
    /// kernels.
    pub gradient_of: Option<String>,
    /// The arrays that are one in the launch.
    pub same_arrays: Option<SameArrays>,
    /// How it is launched, where threads of a block have values of their own.
    pub block_threads: Option<BlockThreads>,
    /// With the checks of checked runs.
    pub checked: bool,
    /// Next to the points at which functions of the library have no derivative.
    pub nudged: Option<Nudged>,
}

impl Wanted {
    /// The forward entries of the kernels of a file, for arguments that share no memory.
    pub fn of(source: &Path, checked: bool) -> Wanted {
        Wanted {
            source: source.to_path_buf(),
            kernel: None,
            gradient_of: None,
            same_arrays: None,
            block_threads: None,
            checked,
            nudged: None,
        }
    }
}

/// Compiles a source file.
pub type Compile<'a> = dyn FnMut(&Wanted) -> Program + 'a;

/// The program as a launch needs it: made for its blocks, where threads of one have values of their
/// own.
pub fn compiled_for(
    wanted: &mut Wanted,
    launch: &Launch,
    compile: &mut dyn FnMut(&Wanted) -> Rc<Program>,
) -> Rc<Program> {
    let found = |program: &Program| kernel(program, &launch.source, launch.kernel.as_deref()).ok();
    let block_threads = |program: &Program, id: FuncId| {
        other_block_threads(&program.module.functions[id], &launch.dim, launch.block_dim)
    };
    let program = compile(wanted);
    let first = found(&program);
    let made_for = match first {
        Some(id) => block_threads(&program, id),
        // It may need to know that.
        None => {
            (launch.block_dim > 1).then_some(BlockThreads { threads: launch.block_dim, counted: false, last: None })
        }
    };
    if made_for.is_none() {
        return program;
    }
    let name = first.map(|id| program.module.functions[id].source_name.clone());
    (wanted.block_threads, wanted.kernel) = (made_for, name.or_else(|| launch.kernel.clone()));
    let mut made = compile(wanted);
    let id = found(&made);
    if let Some(other) = id.and_then(|id| block_threads(&made, id)) {
        wanted.block_threads = Some(other);
        made = compile(wanted);
    }
    if first.or(id).is_none() {
        (wanted.block_threads, wanted.kernel) = (None, None);
        return program;
    }
    made
}

/// The kernel called `name`, or the only one. The errors are those of the source where they are the
/// reason.
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
    let shown = source.display().to_string();
    let mut error = match (name, names.is_empty()) {
        (_, true) => messages::no_kernels(&shown),
        (Some(name), _) => messages::no_such_kernel(&shown, name, &super::list(&names)),
        (None, _) => messages::several_kernels(&shown, &super::list(&names)),
    };
    // Kernels that are checked and not compiled have no entries.
    let left = |d: &&Diagnostic| matches!(d.code, Code::W0504 | Code::W0505 | Code::W0506);

    for found in program.diagnostics.iter().filter(left).take(3) {
        error = error.note(format!("{} ({})", found.message, found.code.name()));
    }
    Err(vec![error])
}
