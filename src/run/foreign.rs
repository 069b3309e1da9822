//! How is a kernel run that is PTX already? Its arguments are bound as those of a kernel whose
//! parameters are what the launch file says; arrays are passed as addresses.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use super::args::Arguments;
use super::devices::Ptx;
use super::launch::{ArgumentKind, DType, Direction, GridOfBlocks, Launch};
use super::program::Program;
use super::session::{Finished, Options};
use super::{Result, fail};
use crate::diag::Code;
use crate::ir::build::Builder;
use crate::ir::{FunctionKind, Module};
use crate::source::{SourceFile, SourceMap, Span};
use crate::types::{ArrayType, Type};

/// A larger text is refused unread.
const MAX_BYTES: u64 = 256 << 20;

/// Runs the launch; what came of it is in `finished`.
pub fn run(
    options: &Options,
    launch: &Launch,
    grid: &GridOfBlocks,
    origin: &str,
    finished: &mut Finished,
) -> Result<()> {
    if launch.direction != Direction::Forward {
        return Err(fail(Code::E1103, format!("{origin}: a kernel that is PTX has no gradient")));
    }
    let mut sources = SourceMap::default();
    let file = sources.add(SourceFile::new(&launch.source, read(&launch.source)?));
    let mut params = Vec::new();
    for argument in &launch.args {
        let ty = match &argument.kind {
            ArgumentKind::Value { dtype: Some(DType::Plain(element)), .. } => Type::from(*element),
            ArgumentKind::Array(array) => match (&array.dtype, array.ndim) {
                (Some(DType::Plain(element)), Some(ndim)) => {
                    Type::Array(ArrayType { element: *element, ndim: ndim as u8 })
                }
                _ => return Err(no_struct(origin, &argument.name)),
            },
            _ => return Err(no_struct(origin, &argument.name)),
        };
        params.push((argument.name.clone(), ty));
    }
    let name = launch.kernel.as_deref().unwrap_or("kernel");
    let span = Span::new(file, 0, 0);
    let mut module = Module::default();
    let kernel = module.functions.push(Builder::new(name, FunctionKind::Kernel { rank: 1 }, &params, span).finish());
    let program = Rc::new(Program { module, sources, diagnostics: Vec::new() });
    finished.program = Some(program.clone());
    let function = &program.module.functions[kernel];
    let arguments = Arguments::bind(launch, origin, function, &program.module.structs)?;
    let memory = arguments.memory();
    let start = Instant::now();
    let report = options.device.run_ptx(&Ptx {
        text: &program.sources.file(file).text,
        file,
        entry: launch.kernel.as_deref(),
        grid: grid.grid,
        block: grid.block,
        shared_bytes: grid.shared_bytes,
        params: &params,
        args: arguments.block(),
        memory: &memory,
        trial: options.trial,
    })?;
    finished.seconds = report.seconds.unwrap_or_else(|| start.elapsed().as_secs_f64());
    finished.printed = String::from_utf8_lossy(&report.printed.bytes).into_owned();
    finished.take(report.findings, None);
    finished.counted = report.counted;
    finished.arguments = Some(arguments);
    Ok(())
}

fn no_struct(origin: &str, name: &str) -> super::Fail {
    fail(Code::E1005, format!("{origin}: argument `{name}`: PTX takes numbers, vectors, matrices and arrays of them"))
}

fn read(path: &Path) -> Result<String> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| fail(Code::E0901, format!("cannot read {shown}: {e}"));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.len() > MAX_BYTES {
        return Err(fail(Code::E0903, format!("{shown} has {} bytes, more than 256 MiB", metadata.len())));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| fail(Code::E0902, format!("{shown} is no UTF-8 text")))
}
