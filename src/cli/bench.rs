//! `kc bench`: how fast are launches?

use std::path::{Path, PathBuf};

use super::run::{DeviceArg, compile, report};
use super::{Exit, output};
use crate::run::bench::{self, Row};
use crate::run::launch::{self, Direction};
use crate::run::session::{Wanted, kernel};
use crate::run::{Fail, Result};
use crate::source::SourceMap;

/// Runs launches again and again on the same contents and tells how long each entry takes: the median and the least of the
/// wall times, the processor time of all cores, and the rate at which the arrays that the entry reads and writes went by.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Launch files.
    #[arg(required = true, value_name = "LAUNCH")]
    files: Vec<PathBuf>,
    /// Where to run.
    #[arg(long, value_enum, default_value = "host")]
    device: DeviceArg,
    /// Timed runs, after one that is not.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Worker threads on the host; 0 takes one per core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
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

pub(super) fn run(args: &Args) -> Exit {
    let mut exit = Exit::Ok;
    if !args.json {
        let head = format!(
            "{:<28} {:<9} {:>12} {:>12} {:>12} {:>9} {:>10}\n",
            "launch", "entry", "median ms", "least ms", "cpu ms", "GB/s", "ns/thread"
        );
        exit = output::out(head.as_bytes()).map_or(Exit::Errors, |()| exit);
    }
    for path in &args.files {
        let mut sources = SourceMap::default();
        if let Err(error) = one(args, path, &mut sources) {
            report(&error, &sources);
            exit = exit.max(Exit::Errors);
        }
    }
    exit
}

fn one(args: &Args, path: &Path, sources: &mut SourceMap) -> Result<()> {
    let mut launch = launch::read(path)?;
    if args.gradient {
        launch.direction = Direction::Gradient;
    }
    let mut program = compile(&Wanted { source: launch.source.clone(), gradient_of: None }, None);
    let named = |program: &_| kernel(program, &launch.source, launch.kernel.as_deref());
    let mut found = named(&program);
    if let (Ok(id), true) = (&found, launch.direction != Direction::Forward) {
        let gradient_of = Some(program.module.functions[*id].source_name.clone());
        program = compile(&Wanted { source: launch.source.clone(), gradient_of }, None);
        found = named(&program);
    }
    let origin = path.display().to_string();
    let options = bench::Options {
        device: args.device.into(),
        checked: !args.unchecked,
        threads: args.threads.into(),
        repeats: args.repeats,
    };
    let rows = found
        .map_err(|mut errors| -> Fail { Box::new(errors.swap_remove(0)) })
        .and_then(|id| bench::bench(&program, id, &launch, &origin, &options));
    *sources = program.sources;
    let text: String = rows?.iter().map(|row| if args.json { json(row) } else { line(row) }).collect();
    output::out(text.as_bytes()).map_err(Box::new)
}

fn json(row: &Row) -> String {
    format!("{}\n", serde_json::json!(row))
}

fn line(row: &Row) -> String {
    let (median, least) = Row::median_and_least(&row.wall);
    let (cpu, _) = Row::median_and_least(&row.cpu);
    let rate = if median > 0.0 { row.bytes as f64 / median * 1e-9 } else { 0.0 };
    let each = median * 1e9 / row.launched.max(1) as f64;
    format!(
        "{:<28} {:<9} {:>12.4} {:>12.4} {:>12.4} {rate:>9.2} {each:>10.3}\n",
        row.id,
        row.phase.name(),
        median * 1e3,
        least * 1e3,
        cpu * 1e3
    )
}
