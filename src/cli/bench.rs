//! `kc bench`: how fast are launches?

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::run::{With, compile, report};
use super::tensor_cores::TensorCoresArg;
use super::{Exit, output};
use crate::codegen::llvm::{Cpu, Machine};
use crate::driver;
use crate::run::bench::{self, Row};
use crate::run::devices::{self, Device};
use crate::run::launch::flags;
use crate::run::launch::{self, Direction};
use crate::run::program::{Program, Wanted, compiled_for, kernel};
use crate::run::{Fail, Result};
use crate::source::SourceMap;

/// Times launches of each kernel entry.
///
/// Repeats every launch on the same contents. For each entry it reports the median and the least
/// wall time, the processor time of all cores, the memory rate (bytes of the arrays that the entry
/// reads and writes, per second), and the rate of floating-point operations.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Launch files.
    #[arg(required_unless_present = "limits", value_name = "LAUNCH")]
    files: Vec<PathBuf>,
    /// Measure first what the device can do at most, copying memory and multiplying, and give each
    /// rate as a part of that.
    #[arg(long)]
    limits: bool,
    /// Where to run.
    #[arg(long, default_value = devices::default().name(), value_parser = super::devices::parser())]
    device: &'static dyn Device,
    /// Timed runs, after one that is not.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Worker threads on the host; 0 takes one per core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
    /// What host code is made for: `native`, or a level of x86-64 that this machine has, to see
    /// what older processors get.
    #[arg(long, default_value = "native", value_name = "LEVEL", value_parser = level)]
    cpu: Cpu,
    #[command(flatten)]
    tensor_cores: TensorCoresArg,
    /// Do not test array indices.
    #[arg(long)]
    unchecked: bool,
    /// Measure the gradient: the forward entry, then the backward one.
    #[arg(long)]
    gradient: bool,
    /// One JSON object per entry, with all times.
    #[arg(long)]
    json: bool,
}

/// A level whose instructions this machine has.
fn level(name: &str) -> std::result::Result<Cpu, String> {
    let runs = |name: &&str| Cpu::from_name(name).is_some_and(Machine::host_runs);
    let known = || Cpu::names().filter(runs).collect::<Vec<_>>().join(", ");
    Some(name).filter(runs).and_then(Cpu::from_name).ok_or_else(|| format!("this machine runs code for {}", known()))
}

pub(super) fn run(args: &Args) -> Exit {
    let mut exit = Exit::Ok;
    if !args.json {
        let head = format!(
            "{:<28} {:<9} {:>12} {:>12} {:>12} {:>9} {:>10} {:>10}\n",
            "launch", "entry", "median ms", "least ms", "cpu ms", "GB/s", "GFLOP/s", "ns/thread"
        );
        exit = output::out(head.as_bytes()).map_or(Exit::Errors, |()| exit);
    }
    let mut limits = None;
    if args.limits {
        let mut sources = SourceMap::default();
        match measure_limits(args, &mut sources) {
            Ok(found) => limits = Some(found),
            Err(error) => {
                report(&error, &sources);
                return Exit::Errors;
            }
        }
    }
    for path in &args.files {
        let mut sources = SourceMap::default();
        if let Err(error) = one(args, path, limits.as_ref(), &mut sources) {
            report(&error, &sources);
            exit = exit.max(Exit::Errors);
        }
    }
    exit
}

/// The rates that no launch on the device exceeds by much, in units per second.
struct Limits {
    bytes: f64,
    operations: f64,
}

/// Times the kernels of `limits.ir`: a copy of 128 MiB, and 2^20 threads of 4096 operations each.
/// These stand in eight chains, so that none waits for the one before; it is IR because Python has
/// no word for a fused multiply and add.
fn measure_limits(args: &Args, sources: &mut SourceMap) -> Result<Limits> {
    let path = Path::new("limits.ir");
    let request = driver::Request {
        gradients: driver::Gradients { backward: false, ..driver::Gradients::default() },
        ..driver::Request::default()
    };
    let compilation = driver::Compiler::new().load_text(path, include_str!("limits.ir").to_string(), &request);
    *sources = compilation.sources;
    let program = Program {
        module: compilation.module,
        sources: SourceMap::default(),
        diagnostics: compilation.diagnostics.into_sorted(),
    };
    let measure = |name: &str, threads: u32| -> Result<Row> {
        let id =
            kernel(&program, path, Some(name)).map_err(|mut errors| -> Fail { Box::new(errors.swap_remove(0)) })?;
        let arrays = [format!("x=ones:{threads}"), format!("y=zeros:{threads}")];
        let function = &program.module.functions[id];
        let launch = flags::launch(path, function, &program.module.structs, Some(&[threads]), &arrays)?;
        let mut rows = bench::bench(&program, id, &launch, name, &options(args))?;
        Ok(rows.swap_remove(0))
    };
    let (copy, fma) = (measure("copy", 1 << 25)?, measure("multiply_add", 1 << 20)?);
    for row in [&copy, &fma] {
        output::out(if args.json { json(row) } else { line(row, None) }.as_bytes()).map_err(Box::new)?;
    }
    let rate = |amount: f64, row: &Row| amount / Row::median_and_least(&row.wall).1;
    Ok(Limits { bytes: rate(copy.bytes as f64, &copy), operations: rate(fma.operations, &fma) })
}

fn options(args: &Args) -> bench::Options {
    bench::Options {
        device: args.device,
        checked: !args.unchecked,
        tensor_cores: args.tensor_cores.choice(),
        cpu: args.cpu,
        threads: args.threads.into(),
        repeats: args.repeats,
    }
}

fn one(args: &Args, path: &Path, limits: Option<&Limits>, sources: &mut SourceMap) -> Result<()> {
    let mut launch = launch::read(path)?;
    if args.gradient {
        launch.direction = Direction::Gradient;
    }
    let mut wanted = Wanted::of(&launch.source, !args.unchecked);
    let mut compile = |wanted: &Wanted| Rc::new(compile(wanted, With::default()));
    let mut program = compiled_for(&mut wanted, &launch, &mut compile);
    let named = |program: &Program| kernel(program, &launch.source, launch.kernel.as_deref());
    let mut found = named(&program);
    if let (Ok(id), true) = (&found, launch.direction != Direction::Forward) {
        wanted.gradient_of = Some(program.module.functions[*id].source_name.clone());
        program = compile(&wanted);
        found = named(&program);
    }
    let origin = path.display().to_string();
    let rows = found
        .map_err(|mut errors| -> Fail { Box::new(errors.swap_remove(0)) })
        .and_then(|id| bench::bench(&program, id, &launch, &origin, &options(args)));
    *sources = Rc::into_inner(program).map_or_else(SourceMap::default, |program| program.sources);
    let text: String = rows?.iter().map(|row| if args.json { json(row) } else { line(row, limits) }).collect();
    output::out(text.as_bytes()).map_err(Box::new)
}

fn json(row: &Row) -> String {
    format!("{}\n", serde_json::json!(row))
}

fn line(row: &Row, limits: Option<&Limits>) -> String {
    let (median, least) = Row::median_and_least(&row.wall);
    let (cpu, _) = Row::median_and_least(&row.cpu);
    let rate = |amount: f64| if median > 0.0 { amount / median } else { 0.0 };
    let (bytes, operations) = (rate(row.bytes as f64), rate(row.operations));
    let each = median * 1e9 / row.launched.max(1) as f64;
    let parts = limits.map_or_else(String::new, |limits| {
        let (of_copy, of_peak) = (100.0 * bytes / limits.bytes, 100.0 * operations / limits.operations);
        format!("  {of_copy:.0} % of copy, {of_peak:.0} % of peak")
    });
    format!(
        "{:<28} {:<9} {:>12.4} {:>12.4} {:>12.4} {:>9.2} {:>10.2} {each:>10.3}{parts}\n",
        row.id,
        row.phase.name(),
        median * 1e3,
        least * 1e3,
        cpu * 1e3,
        bytes * 1e-9,
        operations * 1e-9,
    )
}
