//! `kc fix`: applies the fixes that findings come with.

use std::path::PathBuf;

use similar::TextDiff;

use super::{Exit, Levels, output};
use crate::diag::render::{Format, count, render};
use crate::diag::{Code, Diagnostic};
use crate::driver::{self, fix};
use crate::source::SourceMap;

/// Repairs kernel files: applies every fix that is safe, and checks the result before it is written.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Python files with kernels.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the changes as a unified diff and write nothing.
    #[arg(long)]
    diff: bool,
    /// Also apply fixes that a person should look at afterwards.
    #[arg(long)]
    maybe: bool,
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
    for path in &args.files {
        let mut sources = SourceMap::default();
        let mut diagnostics = crate::diag::Diagnostics::new();
        let Some(file) = driver::read(path, &mut sources, &mut diagnostics) else {
            for diagnostic in diagnostics.iter() {
                output::err(&render(diagnostic, &sources, Format::Full, output::style()));
            }
            exit = Exit::Errors;
            continue;
        };
        let before = sources.file(file).text.clone();
        let fixed = fix::fix(path, before.clone(), args.maybe, |findings| policy.apply(findings));
        exit = exit.max(Exit::after(fixed.compilation.diagnostics.iter()));
        let written = if args.diff {
            output::out(diff(path, &before, &fixed.text).as_bytes())
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
        let fixes = if n == 1 { "1 fix".to_string() } else { format!("{n} fixes") };
        let left: Vec<&Diagnostic> = fixed.compilation.diagnostics.iter().filter(|d| d.code != Code::W0907).collect();
        output::err(&format!("{}: {fixes}, {} left\n", path.display(), count(left)));
    }
    exit
}

fn diff(path: &std::path::Path, before: &str, after: &str) -> String {
    let name = path.display().to_string();
    let (old, new) = (format!("a/{}", name.trim_start_matches('/')), format!("b/{}", name.trim_start_matches('/')));
    TextDiff::from_lines(before, after).unified_diff().header(&old, &new).to_string()
}
