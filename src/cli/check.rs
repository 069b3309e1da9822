//! `kc check`: findings without artefacts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::inputs::Input;
use super::watch::{self, Seen};
use super::{Exit, FormatArg, GradientArgs, Report, TypesArg, output};
use crate::diag::policy::Policy;
use crate::diag::render::{count, sarif_log};
use crate::diag::{Code, Level, counted};
use crate::driver::{Compilation, Compiler, End, Gradients, Overlaid, Request, Verdict, on_workers, project};

/// So many files are checked on all cores at once. Their findings come in the order of the files.
const AHEAD: usize = 32;

/// Checks kernel files and reports errors and warnings.
///
/// It writes no files.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Python files with kernels; folders and patterns (`'src/**/*.py'`) stand for the Python files
    /// there, `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    types: TypesArg,
    #[command(flatten)]
    gradients: GradientArgs,
    /// Say where a program would not run under Warp, whose literals have their own types.
    #[arg(long)]
    strict_warp: bool,
    /// Check again whenever a file changes, until kc is ended.
    #[arg(long)]
    watch: bool,
    /// Print what became of each kernel, as one JSON object a line: its `file`, `name`, first and
    /// last `line`, and `end`: `ok`, `unresolved` or `errors`.
    #[arg(long, hide = true)]
    kernels: bool,
    #[command(flatten)]
    report: Report,
}

/// Findings go to standard output: they are what was asked for. The summary goes to standard error.
pub(super) fn run(args: &Args) -> Exit {
    let policy = match args.report.levels.policy() {
        Ok(policy) => policy,
        Err(message) => {
            output::err(&format!("error: {message}\n"));
            return Exit::Usage;
        }
    };
    let compiler = Compiler::new();
    watch::run(&args.files, args.watch, |inputs, seen| check(args, inputs, &policy, &compiler, seen))
}

fn check(args: &Args, inputs: &[Input], policy: &Policy, compiler: &Compiler, seen: &mut Seen) -> Exit {
    let gradients = args.gradients.options();
    let request = Request {
        types: args.types.types.clone(),
        block_dim: args.types.block_dim.map(u32::from),
        gradients: Gradients { findings: !gradients.parameters, ..gradients },
        strict: args.strict_warp,
        ..Request::default()
    };
    let mut exit = Exit::Ok;
    let mut results = String::new();
    let mut without = 0;
    let mut told = HashSet::new();
    let check = |input: &Input| {
        let policy = project::policy_of(&input.path).map(|project| policy.clone().over(project));
        let quiet = policy.as_ref().is_ok_and(Policy::is_quiet_about_gradients);
        let request = Request { quiet, ..request.clone() };
        (compiler.check(&input.path, input.files(&Overlaid::default()), &request), policy)
    };
    let checked = inputs.chunks(AHEAD).flat_map(|some| {
        let all = match some {
            [one] => vec![check(one)],
            _ => on_workers(|| some.par_iter().with_max_len(1).map(check).collect()),
        };
        some.iter().zip(all)
    });
    for (input, (mut compilation, policy)) in checked {
        let path = input.path.as_path();
        seen.note(path, &compilation.sources);
        if input.found {
            compilation.diagnostics.retain(|finding| finding.code != Code::W0907);
        }
        match policy {
            Ok(policy) => policy.apply(&mut compilation.diagnostics, &compilation.sources),
            Err(message) => {
                output::err(&format!("error: {message}\n"));
                return Exit::Usage;
            }
        }
        tell_once(&mut compilation, &mut told);
        let kernels = compilation.kernels.clone();
        let unresolved = compilation.unresolved.len();
        exit = exit.max(Exit::after(compilation.diagnostics.iter()));
        if args.kernels
            && let Err(exit) = print(&verdicts(path, &compilation))
        {
            return exit;
        }
        let findings = compilation.diagnostics.into_sorted();
        let text = args.report.render(&findings, &compilation.sources, output::stdout_style());
        if args.report.is_one_document() {
            results.push_str(&text);
        } else if let Err(exit) = print(&text) {
            return exit;
        }
        if input.found && kernels.is_empty() && unresolved == 0 && findings.is_empty() {
            without += 1;
        } else if matches!(args.report.format, FormatArg::Full) {
            let found = count(&findings);
            let ok = match kernels.len() {
                0 => String::new(),
                n => format!("{} ok, ", counted(n, "kernel")),
            };
            let summary = match unresolved {
                0 => format!("{ok}{found}"),
                n => format!("{ok}{n} unresolved, {found}"),
            };
            output::note(&format!("{}: {summary}\n", path.display()));
        }
    }
    if without > 0 && matches!(args.report.format, FormatArg::Full) {
        output::note(&format!("{} without kernels\n", counted(without, "file")));
    }
    if args.report.is_one_document()
        && let Err(exit) = print(&sarif_log(&results))
    {
        return exit;
    }
    exit
}

/// Leaves out warnings about a file that were told of it before: those of a module that several
/// files import.
fn tell_once(compilation: &mut Compilation, told: &mut HashSet<(Code, PathBuf, u32, String)>) {
    let sources = &compilation.sources;
    compilation.diagnostics.retain(|finding| {
        let Some(span) = finding.span().filter(|_| finding.level != Level::Error) else { return true };
        let path = sources.file(span.file).path.clone();
        told.insert((finding.code, path, span.start, finding.message.clone()))
    });
}

/// What became of each kernel of a file.
fn verdicts(path: &Path, compilation: &Compilation) -> String {
    let line = |verdict: &Verdict| {
        let file = compilation.sources.file(verdict.span.file);
        let lines = [verdict.span.start, verdict.span.end].map(|at| file.line_column(at).line);
        let end = match verdict.end {
            End::Ok => "ok",
            End::Unresolved => "unresolved",
            End::Errors => "errors",
        };
        let object = serde_json::json!({"file": path, "name": verdict.name, "lines": lines, "end": end});
        format!("{object}\n")
    };
    compilation.verdicts.iter().map(line).collect()
}

fn print(text: &str) -> Result<(), Exit> {
    output::out(text.as_bytes()).map_err(|diagnostic| {
        output::err(&format!("error: {}\n", diagnostic.message));
        Exit::Errors
    })
}
