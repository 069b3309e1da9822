//! `kc fix`: applies the fixes that findings come with.

use std::path::PathBuf;

use similar::TextDiff;

use super::inputs::inputs;
use super::{Exit, Levels, output, with_project};
use crate::diag::render::{Format, count, render};
use crate::diag::{Code, Diagnostic, counted};
use crate::driver::{self, Request, fix};
use crate::source::SourceMap;

/// Applies the safe fixes of the findings in kernel files.
///
/// The result is checked before it is written.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Python files with kernels; folders and patterns (`'src/**/*.py'`) stand for the Python files
    /// there. With `-`, standard input is repaired and printed.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the changes as a unified diff and write nothing.
    #[arg(long)]
    diff: bool,
    /// Also apply fixes that a person should look at afterwards.
    #[arg(long)]
    maybe: bool,
    /// Repair what would not run under Warp, whose literals have their own types, too.
    #[arg(long)]
    strict_warp: bool,
    #[command(flatten)]
    levels: Levels,
}

pub(super) fn run(args: &Args) -> Exit {
    let policy = match args.levels.policy() {
        Ok(policy) => policy,
        Err(message) => {
            output::err(&format!("error: {message}\n"));
            return Exit::Usage;
        }
    };
    let mut exit = Exit::Ok;
    let inputs = match inputs(&args.files, "py") {
        Ok(inputs) => inputs,
        Err(error) => return output::fail(&error),
    };
    for input in &inputs {
        let path = input.path.as_path();
        let mut sources = SourceMap::default();
        let mut diagnostics = crate::diag::Diagnostics::new();
        let mut read = |sources: &mut SourceMap| {
            let file = driver::read(path, sources, &mut diagnostics)?;
            Some(sources.file(file).text.clone())
        };
        let Some(before) = input.text.clone().or_else(|| read(&mut sources)) else {
            for diagnostic in diagnostics.iter() {
                output::err(&render(diagnostic, &sources, Format::Full, output::style()));
            }
            exit = Exit::Errors;
            continue;
        };
        let request = Request { strict: args.strict_warp, ..Request::default() };
        let own = match with_project(&policy, path) {
            Ok(policy) => policy,
            Err(exit) => return exit,
        };
        let fixed =
            fix::fix(path, before.clone(), &request, args.maybe, |findings, sources| own.apply(findings, sources));
        exit = exit.max(Exit::after(fixed.compilation.diagnostics.iter()));
        let written = if args.diff {
            output::out(diff(path, &before, &fixed.text).as_bytes())
        } else if input.is_stdin() {
            output::out(fixed.text.as_bytes())
        } else if fixed.text != before {
            output::write_file(path, fixed.text.as_bytes())
        } else {
            Ok(())
        };
        if let Err(diagnostic) = written {
            output::err(&render(&diagnostic, &sources, Format::Full, output::style()));
            exit = Exit::Errors;
            continue;
        }
        let n = fixed.applied.len();
        let fixes = counted(n, "fix");
        let left: Vec<&Diagnostic> = fixed.compilation.diagnostics.iter().filter(|d| d.code != Code::W0907).collect();
        // Of a folder, the files in which there is something to say.
        if !(input.found && n == 0 && left.is_empty()) {
            output::note(&format!("{}: {fixes}, {} left\n", path.display(), count(left)));
        }
    }
    exit
}

fn diff(path: &std::path::Path, before: &str, after: &str) -> String {
    let name = path.display().to_string();
    let (old, new) = (format!("a/{}", name.trim_start_matches('/')), format!("b/{}", name.trim_start_matches('/')));
    TextDiff::from_lines(before, after).unified_diff().header(&old, &new).to_string()
}
