//! `kc profile`: what would launches cost a GPU, and why?

mod sources;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::fast_math::FastMathArg;
use super::run::{With, compile_from, report};
use super::tensor_cores::TensorCoresArg;
use super::trial::TrialArgs;
use super::{Exit, output, registers};
use crate::driver::Overlaid;
use crate::profile::compare::{self, Pair};
use crate::profile::{
    Found, Gate, Kind, Limits, Metric, Page, Picture, Profile, Registers, Text, USUAL, Verdict, find,
    known_architectures, locate,
};
use crate::run::devices;
use crate::run::launch::{self, Launch};
use crate::run::program::{Program, Wanted, kernel};
use crate::run::session::{Finished, Options, Session};
use crate::run::{Result, fail};
use crate::source::{SourceFile, SourceMap};

/// Counts what launches do on a simulated GPU.
///
/// The counters are those of a GPU profiler, under the names of Nsight Compute: sectors, requests,
/// bank conflicts, active lanes, the instruction mix, per line of the source. Each figure is exact,
/// a bound or an estimate, and says which. Occupancy, how long the parts of some GPUs would be busy
/// at least, and advice follow, the most costly first.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Launch files; or source files (`.py`), of whose kernels those launches are counted that
    /// `kc launch new` would write.
    #[arg(required = true, value_name = "LAUNCH")]
    files: Vec<PathBuf>,
    /// Of source files only this kernel; may be repeated.
    #[arg(short, long = "kernel", value_name = "NAME")]
    kernels: Vec<String>,
    /// Only say what needs no launch: registers, occupancy and shared memory of the kernels of
    /// source files.
    #[arg(long, conflicts_with_all = ["html", "roofline", "compare", "fail_if", "all"])]
    no_run: bool,
    /// Threads in a block, for `--no-run`.
    #[arg(long, value_name = "N", default_value_t = 256, requires = "no_run", value_parser = clap::value_parser!(u16).range(1..=1024))]
    block_dim: u16,
    /// For editors: a file, and another one that has its text as it is on the screen; may be
    /// repeated.
    #[arg(long, hide = true, num_args = 2, value_names = ["FILE", "TEXT"])]
    overlay: Vec<PathBuf>,
    /// The architecture whose multiprocessors the occupancy is of.
    #[arg(long, default_value = "sm_90", value_name = "ARCH", value_parser = limits)]
    arch: &'static Limits,
    /// Registers of a thread. Without, `ptxas` is asked, if `KC_PTXAS` or the search path leads to
    /// it; else they limit nothing, a range is told, and the most that would limit nothing.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    registers: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// All metrics, not the usual ones.
    #[arg(long)]
    all: bool,
    /// Write a report too: one HTML file with the source, the heat of its lines, the figures and
    /// the advice.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Draw the launches under the roofs of the architecture's GPU: a picture, SVG or PNG by its
    /// name.
    #[arg(long, value_name = "FILE", value_parser = picture_path)]
    roofline: Option<PathBuf>,
    /// What a GPU counted: an export of Nsight Compute (`ncu --csv`), shown beside the counts of
    /// launches of the same kernels.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Ends with exit code 1 if this holds for a launch, such as
    /// `derived__memory_l2_theoretical_sectors_global_excessive > 0`.
    #[arg(long, value_name = "METRIC OP NUMBER", value_parser = Gate::parse)]
    fail_if: Vec<Gate>,
    #[command(flatten)]
    fast_math: FastMathArg,
    #[command(flatten)]
    tensor_cores: TensorCoresArg,
    #[command(flatten)]
    trial: TrialArgs,
}

pub(super) fn limits(text: &str) -> std::result::Result<&'static Limits, String> {
    Limits::of(text.strip_suffix('a').unwrap_or(text))
        .ok_or_else(|| format!("known architectures: {}", known_architectures().join(", ")))
}

fn picture_path(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let known = |ending: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
    if known("svg") || known("png") { Ok(path) } else { Err("a name that ends in .svg or .png is wanted".to_string()) }
}

/// Kernels without launches.
fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "py" || e == "ir")
}

pub(super) fn run(args: &Args) -> Exit {
    let mut exit = Exit::Ok;
    let measured = match args.compare.as_deref().map(export).transpose() {
        Ok(measured) => measured,
        Err(error) => {
            report(&error, &SourceMap::default());
            return Exit::Errors;
        }
    };
    if let Some(path) = args.files.iter().find(|path| !is_source(path))
        && (args.no_run || !args.kernels.is_empty())
    {
        let message =
            format!("`--kernel` and `--no-run` are for source files; {} says itself what runs", path.display());
        return output::refuse(&fail(crate::diag::Code::E1012, message));
    }
    let known = vec![false; args.fail_if.len()];
    let mut sum = Sum { measured, kernels: Vec::new(), shown: Vec::new(), known };
    let overlays = args.overlay.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
    let overlaid = Arc::new(Overlaid::new(overlays));
    for path in &args.files {
        if args.no_run {
            exit = exit.max(sources::outlines(args, path, &overlaid, &mut sum.kernels));
            continue;
        }
        let origin = path.display().to_string();
        let (launches, end) = match is_source(path) {
            true => sources::launches(args, path, &overlaid),
            false => match launch::read(path) {
                Ok(launch) => (vec![launch], Exit::Ok),
                Err(error) => {
                    report(&error, &SourceMap::default());
                    (Vec::new(), Exit::after([&*error]))
                }
            },
        };
        exit = exit.max(end);
        for launch in &launches {
            let end = one(args, launch, &origin, &overlaid, &mut sum).unwrap_or_else(|error| {
                report(&error, &SourceMap::default());
                Exit::after([&*error])
            });
            exit = exit.max(end);
        }
    }
    let Sum { kernels, shown, known, .. } = sum;
    if args.json
        && let Err(error) = output::out(format!("{:#}\n", json!({ "kernels": kernels })).as_bytes())
    {
        report(&error, &SourceMap::default());
        exit = exit.max(Exit::Errors);
    }
    if let Some(path) = &args.html
        && !shown.is_empty()
    {
        let pages: Vec<Page> = shown.iter().map(|shown| shown.page(args)).collect();
        match output::write_file(path, crate::profile::report(&pages).as_bytes()) {
            Ok(()) => output::note(&format!("wrote {}\n", path.display())),
            Err(error) => {
                report(&error, &SourceMap::default());
                exit = exit.max(Exit::Errors);
            }
        }
    }
    if let Some(path) = &args.roofline {
        exit = exit.max(draw(path, &shown));
    }
    if exit == Exit::Ok || !shown.is_empty() {
        for (gate, _) in args.fail_if.iter().zip(known).filter(|(_, known)| !known) {
            let error = fail(
                crate::diag::Code::E1118,
                format!("no launch has a metric `{}`; `--all` shows those that there are", gate.metric()),
            );
            report(&error, &SourceMap::default());
            exit = exit.max(Exit::Errors);
        }
    }
    exit
}

/// A profile for the report.
struct Shown {
    profile: Profile,
    id: String,
    path: String,
    source: String,
    foreign: bool,
}

impl Shown {
    fn page(&self, args: &Args) -> Page<'_> {
        let &Shown { ref profile, ref id, ref path, ref source, foreign } = self;
        Page { profile, id, path: path.clone(), source, arch: args.arch.arch, foreign }
    }
}

/// Writes the picture of the roofs.
fn draw(path: &Path, shown: &[Shown]) -> Exit {
    let several = shown.iter().any(|one| one.id != shown[0].id);
    let name = |shown: &Shown| match several {
        true => format!("{}: {}", shown.id, shown.profile.measured.entry),
        false => shown.profile.measured.entry.clone(),
    };
    let launches: Vec<_> = shown.iter().filter_map(|one| Some((name(one), one.profile.roofline.as_ref()?))).collect();
    let Some(picture) = Picture::of(&launches) else { return Exit::Ok };
    let bytes: Result<Vec<u8>> = if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg")) {
        Ok(picture.svg(true).into_bytes())
    } else {
        picture.png().map_err(|error| fail(crate::diag::Code::E0999, error.to_string()))
    };
    match bytes.and_then(|bytes| Ok(output::write_file(path, &bytes)?)) {
        Ok(()) => {
            output::note(&format!("wrote {}\n", path.display()));
            Exit::Ok
        }
        Err(error) => {
            report(&error, &SourceMap::default());
            Exit::Errors
        }
    }
}

/// The launches that a GPU counted.
fn export(path: &Path) -> Result<Vec<compare::Launch>> {
    let wrong = |why: String| fail(crate::diag::Code::E1121, format!("cannot compare with {}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    compare::read(&String::from_utf8_lossy(&bytes)).map_err(wrong)
}

/// What the launches of a call come to.
struct Sum {
    /// What a GPU counted, less what was compared already.
    measured: Option<Vec<compare::Launch>>,
    /// For programs.
    kernels: Vec<Value>,
    shown: Vec<Shown>,
    /// Of each gate: whether a launch had its metric.
    known: Vec<bool>,
}

fn one(args: &Args, launch: &Launch, origin: &str, files: &Arc<Overlaid>, sum: &mut Sum) -> Result<Exit> {
    let Sum { measured, kernels, shown, known } = sum;
    let trial = devices::Trial { counts: true, ..args.trial.trial() };
    let with = With { fast_math: args.fast_math.on, ..With::default() };
    let mut compile = |wanted: &Wanted| compile_from(files, wanted, with);
    let tensor_cores = args.tensor_cores.choice();
    let options = Options { trial, tensor_cores, checked: false, ..Options::of(devices::counting()?) };
    let finished = Session::new(options, &mut compile).run(launch, origin);
    let mut exit = told(&finished);
    let source = launch.source.display().to_string();
    let found = founds(&finished);
    let fast = finished.program.as_ref().is_some_and(|p| p.module.kernels().any(|(_, kernel)| kernel.fast_math));
    let Some(file) = finished.program.as_ref().and_then(|program| file(program, launch)) else { return Ok(exit) };
    for mut counted in finished.counted {
        match launch.grid {
            // The lines of PTX are there; what it was made of is not.
            Some(_) => counted.instructions.iter_mut().for_each(|i| (i.line, i.column) = (Some(i.ptx_line), 0)),
            None => locate(&mut counted, |offset| {
                let place = file.line_column(offset);
                (place.line, place.column)
            }),
        }
        let entry = counted.entry.clone();
        let registers = registers_of(args, counted.text.as_ref(), &entry);
        let profile = Profile::of(counted, args.arch, registers);
        let theirs = measured.as_mut().and_then(|list| {
            let at = list.iter().position(|launch| launch.kernel == entry)?;
            Some(list.remove(at))
        });
        let pairs = theirs.map(|theirs| compare::pairs(&profile.metrics, &theirs));
        if measured.is_some() && pairs.as_ref().is_none_or(Vec::is_empty) {
            let message = format!("the file to compare with has no counts of `{entry}` that there are here");
            report(&fail(crate::diag::Code::E1121, message), &SourceMap::default());
            exit = exit.max(Exit::Errors);
        }
        for (gate, known) in args.fail_if.iter().zip(known.iter_mut()) {
            let verdict = gate.check(&profile.metrics);
            *known |= verdict != Verdict::Unknown;
            if let Verdict::Fails(value) = verdict {
                let error = fail(
                    crate::diag::Code::E1118,
                    format!("{}: `{}`: {} is {value}", launch.id, gate.text, gate.metric()),
                );
                report(&error, &SourceMap::default());
                exit = exit.max(Exit::Errors);
            }
        }
        if args.json {
            let mut shown = profile.json(&source, args.arch.arch, &found, pairs.as_deref());
            shown["fast_math"] = json!(fast);
            kernels.push(shown);
        } else {
            let mut text = text(&profile, &launch.id, file, args);
            text += &pairs.map_or_else(String::new, |pairs| compared(&pairs));
            text += if fast { "  fast_math is on: float32 functions are approximations\n" } else { "" };
            output::out(text.as_bytes()).map_err(Box::new)?;
        }
        let (id, path) = (launch.id.clone(), file.path.display().to_string());
        let source = args.html.as_ref().map_or_else(String::new, |_| file.text.clone());
        shown.push(Shown { profile, id, path, source, foreign: launch.grid.is_some() });
    }
    Ok(exit)
}

/// As far as they are known.
fn registers_of(args: &Args, text: Option<&Text>, entry: &str) -> Registers {
    match (args.registers, text) {
        (Some(registers), _) => Registers::Given(registers),
        (None, Some(text)) => registers::of(text, entry, args.arch.arch),
        (None, None) => Registers::Unknown,
    }
}

/// The file that the kernel of a launch is in.
fn file<'a>(program: &'a Program, launch: &Launch) -> Option<&'a SourceFile> {
    let named = kernel(program, &launch.source, launch.kernel.as_deref()).ok();
    let id = named.or_else(|| program.module.kernels().next().map(|(id, _)| id))?;
    Some(program.sources.file(program.module.functions[id].span.file))
}

/// What is wrong with the launch.
fn founds(finished: &Finished) -> Vec<Found> {
    let line = |finding: &crate::diag::Diagnostic| {
        let (span, program) = finding.span().zip(finished.program.as_ref())?;
        Some(program.sources.file(span.file).line_column(span.start).line)
    };
    let one = |finding: &crate::diag::Diagnostic| Found {
        code: finding.code.name(),
        message: finding.message.clone(),
        line: line(finding),
    };
    finished.findings.iter().chain(&finished.errors).map(one).collect()
}

/// The counts beside those of a GPU.
fn compared(pairs: &[Pair]) -> String {
    let mut text = format!("  {:<72} {:>14} {:>14} {:>9}\n", "", "simulated", "measured", "");
    for pair in pairs {
        let percent = pair.percent().map_or_else(String::new, |percent| format!("{percent:+.1} %"));
        let _ = writeln!(
            text,
            "  {:<72} {:>14} {:>14} {percent:>9}  {}",
            pair.name,
            pair.ours,
            pair.theirs,
            pair.kind.name()
        );
    }
    text
}

/// Says what went wrong in the run.
fn told(finished: &Finished) -> Exit {
    let sources = finished.program.as_ref().map(|program| &program.sources);
    let nothing = SourceMap::default();
    for finding in finished.findings.iter().chain(&finished.errors) {
        report(finding, sources.unwrap_or(&nothing));
    }
    Exit::after(&finished.errors)
}

/// The lines that are shown: those with the most sectors, then instructions.
const LINES: usize = 12;

fn text(profile: &Profile, id: &str, file: &SourceFile, args: &Args) -> String {
    let source = file.path.display();
    let measured = &profile.measured;
    let form = measured.form;
    let mut text = format!("{id}: {}\n", measured.entry);
    let dims = |d: [u32; 3]| d.map(|n| n.to_string()).join(" x ");
    let _ = writeln!(text, "  grid {}, block {}", dims(form.grid), dims(form.block));
    for metric in profile.metrics.iter().filter(|metric| args.all || USUAL.contains(&metric.name)) {
        let _ = writeln!(text, "  {:<72} {:>14}  {}", metric.name, shown(metric), metric.kind.name());
    }
    let _ = writeln!(text, "  {}", profile.resident.words());
    if let Some(roof) = &profile.roofline {
        let _ = writeln!(text, "  roofline of {}: {}", roof.gpu.name, roof.words());
    }
    for times in &profile.times {
        let _ = writeln!(text, "  {}", times.words());
    }
    let value = |metrics: &[Metric], name| find(metrics, name).map_or(0.0, |metric| metric.value);
    let sectors = |metrics: &[Metric]| value(metrics, "memory_l2_theoretical_sectors_global");
    let executed = |metrics: &[Metric]| value(metrics, "smsp__inst_executed.sum");
    let mut lines: Vec<_> = profile.lines.iter().collect();
    lines.sort_by(|a, b| {
        let key = |metrics: &[Metric]| (sectors(metrics), executed(metrics));
        key(&b.metrics).partial_cmp(&key(&a.metrics)).unwrap_or(std::cmp::Ordering::Equal)
    });
    if !lines.is_empty() {
        let _ = writeln!(
            text,
            "  {:>6} {:>8} {:>12} {:>12}  lanes  {source}",
            "line", "sectors", "excessive", "warp insts"
        );
    }
    let all = sectors(&profile.metrics).max(1.0);
    for line in lines.iter().take(if args.all { lines.len() } else { LINES }) {
        let _ = writeln!(
            text,
            "  {:>6} {:>7.1}% {:>12} {:>12}  {:>5.1}  {}",
            line.line,
            100.0 * sectors(&line.metrics) / all,
            value(&line.metrics, "derived__memory_l2_theoretical_sectors_global_excessive"),
            executed(&line.metrics),
            value(&line.metrics, "smsp__thread_inst_executed_per_inst_executed.ratio"),
            file.line_text(line.line).trim(),
        );
    }
    for advice in &profile.advice {
        let _ = writeln!(
            text,
            "  {source}:{}: {} ({:.0} % of its kind)",
            advice.line,
            advice.message,
            100.0 * advice.share
        );
    }
    text
}

fn shown(metric: &Metric) -> String {
    match metric.value.fract() == 0.0 {
        true => format!("{}", metric.value),
        false if metric.kind == Kind::Exact => format!("{:.3}", metric.value),
        false => format!("{:.1}", metric.value),
    }
}
