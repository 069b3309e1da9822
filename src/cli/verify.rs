//! `kc verify`: do devices agree on launches?

use std::path::{Path, PathBuf};

use super::fast_math::FastMathArg;
use super::run::{With, compile, report};
use super::trial::TrialArgs;
use super::{Exit, output};
use crate::diag::Level;
use crate::diag::render::{Format, render};
use crate::ir::Phase;
use crate::run::Result;
use crate::run::devices::Device;
use crate::run::launch::{self, Direction, Launch, make};
use crate::run::program::Wanted;
use crate::run::session::{Finished, Options, Session};
use crate::run::verify::{self, Row};
use crate::source::SourceMap;

/// The seed of made-up arguments.
const MADE_UP: u64 = 1;

/// Runs launches on several devices and compares the results.
///
/// It compares every array, and what the kernels print. The exit code is 1 if devices disagree or a
/// launch fails. With `--quiet`, only what disagrees is shown.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Launch files (.json); or source files (.py, .ir), whose kernels are launched with made-up
    /// arguments.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The devices; the others are compared with the last that is `interp`, or else with the first.
    #[arg(long, value_delimiter = ',', default_value = "host,interp", value_parser = super::devices::parser())]
    devices: Vec<&'static dyn Device>,
    /// Worker threads on the host; 0 takes one per core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
    #[command(flatten)]
    fast_math: FastMathArg,
    #[command(flatten)]
    trial: TrialArgs,
}

impl Args {
    fn with(&self) -> With {
        With { fast_math: self.fast_math.on, ..With::default() }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    let mut exit = Exit::Ok;
    for path in &args.files {
        let is_launch = path.extension().is_some_and(|end| end == "json");
        let end =
            if is_launch { launch::read(path).and_then(|launch| one(args, &launch, path)) } else { source(args, path) };
        let end = end.unwrap_or_else(|error| {
            report(&error, &SourceMap::default());
            Exit::after([&*error])
        });
        exit = exit.max(end);
    }
    exit
}

/// All kernels of a source file.
fn source(args: &Args, path: &Path) -> Result<Exit> {
    let program = compile(&Wanted::of(path, true), args.with());
    let mut exit = Exit::Ok;
    for error in program.diagnostics.iter().filter(|found| found.level == Level::Error) {
        output::err(&render(error, &program.sources, Format::Full, output::style()));
        exit = Exit::Errors;
    }
    for (forward, function) in program.module.kernels().filter(|(_, f)| f.phase == Phase::Forward) {
        match make::launch(&program, forward, path, MADE_UP) {
            Ok((launch, _)) => {
                let launch = Launch { direction: Direction::Forward, ..launch };
                exit = exit.max(one(args, &launch, path)?);
            }
            Err(error) => {
                let text =
                    format!("{}\n  not compared: {}: {}\n", function.source_name, error.code.name(), error.message);
                output::out(text.as_bytes()).map_err(Box::new)?;
                exit = exit.max(Exit::after([&*error]));
            }
        }
    }
    Ok(exit)
}

fn one(args: &Args, launch: &Launch, path: &Path) -> Result<Exit> {
    let origin = path.display().to_string();
    let mut runs: Vec<(&dyn Device, Finished)> = Vec::new();
    for &device in &args.devices {
        let options = Options { threads: args.threads.into(), trial: args.trial.trial(), ..Options::of(device) };
        let mut compile = |wanted: &Wanted| compile(wanted, args.with());
        runs.push((device, Session::new(options, &mut compile).run(launch, &origin)));
    }
    let believed = runs.iter().rposition(|(device, _)| device.is_reference()).unwrap_or(0);
    let Some((_, expected)) = runs.get(believed) else { return Ok(Exit::Ok) };
    let (mut text, mut exit) = (String::new(), Exit::Ok);
    for (n, (device, found)) in runs.iter().enumerate() {
        let name = format!("{}, {}", launch.id, device.name());
        if let Some(error) = found.errors.first() {
            text += &format!("{name}: error {}: {}\n", error.code.name(), found.message(error));
            let same = expected.errors.first().is_some_and(|e| e.code == error.code);
            // An error that all report is agreement, but no success.
            text += match () {
                () if same || n == believed => "",
                () if error.code.is_of_back_ends() => "  NOT COMPARED: this device does not take the kernel\n",
                () => "  DISAGREES: the other device reports no such error\n",
            };
            exit = Exit::Errors;
            continue;
        }
        if n == believed {
            continue;
        }
        if let Some(error) = expected.errors.first() {
            text += &format!("{name}: DISAGREES: no error, but {} there\n", error.code.name());
            exit = Exit::Errors;
            continue;
        }
        let (Some(a), Some(b), Some(program)) = (&expected.arguments, &found.arguments, &expected.program) else {
            continue;
        };
        let fast = program.module.kernels().any(|(_, kernel)| kernel.fast_math);
        let rows = verify::compare(a, b, &program.module.structs, fast);
        let prints = expected.printed == found.printed
            || !device.keeps_order() && lines(&expected.printed) == lines(&found.printed);
        if !prints || rows.iter().any(|row| row.wrong > 0) {
            exit = Exit::Errors;
        }
        text += &table(&name, &rows, prints, output::quiet());
        if fast && !output::quiet() {
            text += "  fast_math is on: GPU code approximates float32, whose bounds are ten times as wide\n";
        }
        if found.allowed > 0 && !output::quiet() {
            text += &format!("  findings                 {:>10} allowed by the source\n", found.allowed);
        }
    }
    output::out(text.as_bytes()).map_err(Box::new)?;
    Ok(exit)
}

/// The lines of what a launch printed, in an order that does not depend on that of its threads.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn table(name: &str, rows: &[Row], prints: bool, quiet: bool) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| !quiet || row.wrong > 0) {
        let verdict = match (row.wrong, row.same_bits) {
            (0, true) => "the same bits".to_string(),
            (0, false) => format!("near, at most {:.1e} apart", row.difference),
            (wrong, _) => format!("DISAGREES in {wrong}, up to {:.1e} apart", row.difference),
        };
        text += &format!("  {:<24} {:>10} scalars  {verdict}\n", row.array, row.scalars);
    }
    if !prints {
        text += "  printed text             DISAGREES\n";
    }
    if text.is_empty() && quiet {
        return text;
    }
    format!("{name}\n{text}")
}
