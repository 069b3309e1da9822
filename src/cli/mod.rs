//! The command line: what can the user ask for? One file per verb.
//!
//! Exit codes: 0 all went well; 1 errors in the input; 2 the command line is wrong; 70 a fault of
//! kc itself. `kc gpu` ends as the program that it runs.

mod bench;
mod check;
mod compile;
mod completions;
mod dataset;
mod depfile;
mod devices;
mod doc;
mod explain;
mod explore;
mod fast_math;
mod fix;
mod gpu;
mod gradcheck;
mod inputs;
mod launch;
mod lsp;
mod man;
mod messages;
mod output;
mod profile;
mod registers;
mod run;
mod supervise;
mod tensor_cores;
mod trial;
mod verify;
mod watch;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::diag::policy::{Policy, Setting};
use crate::diag::render::{Format, Style, render};
use crate::diag::{Code, Diagnostic, Level};
use crate::driver;
use crate::source::SourceMap;

/// Compiles GPU kernels written in a Python subset to PTX, CUDA C++ and native host code.
#[derive(Parser, Debug)]
#[command(name = "kc", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Command {
    #[command(flatten)]
    show: output::Show,
    #[command(subcommand)]
    verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 errors in the input, 2 wrong usage, 70 a fault of kc itself.\n\
                          Colours: on when writing to a terminal, unless NO_COLOR is set; --color decides otherwise.";

#[derive(Subcommand, Debug)]
enum Verb {
    Compile(compile::Args),
    Check(check::Args),
    Fix(fix::Args),
    Explain(explain::Args),
    Explore(explore::Args),
    Doc(doc::Args),
    Run(run::Args),
    Devices(devices::Args),
    Gpu(gpu::Args),
    Gradcheck(gradcheck::Args),
    Dataset(dataset::Args),
    Lsp(lsp::Args),
    Bench(bench::Args),
    Verify(verify::Args),
    Profile(profile::Args),
    Launch(launch::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Exit {
    Ok,
    /// Errors in the input, all of them reported.
    Errors,
    /// The command line asks for something that does not exist.
    Usage,
    /// Our fault, reported as E0999.
    Internal,
    /// A program that kc ran ended so.
    Program(u8),
}

impl Exit {
    /// The end of a command with these findings.
    fn after<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>) -> Exit {
        let errors = findings.into_iter().filter(|finding| finding.level == Level::Error);
        errors
            .map(|error| if error.code == Code::E0999 { Exit::Internal } else { Exit::Errors })
            .max()
            .unwrap_or(Exit::Ok)
    }
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Errors => 1,
            Exit::Usage => 2,
            Exit::Internal => 70,
            Exit::Program(code) => code,
        }
    }
}

/// Runs one command line, program name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run_within(args))
}

/// The same in a process that goes on: gives the exit code.
pub fn run_within(args: impl IntoIterator<Item = OsString>) -> u8 {
    let command = match Command::try_parse_from(args) {
        Ok(command) => command,
        Err(error) => {
            // `--help` and `--version` come here too, with code 0. A closed pipe is not worth a
            // word.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    output::configure(&command.show);
    output::survive_limits();
    driver::on_fatal_error(|reason| {
        // LLVM would end the process with status 1 and words of its own.
        let fault = driver::Fault { message: reason.to_string(), place: "LLVM".to_string() };
        internal_error(fault);
        std::process::exit(70);
    });
    let outcome = driver::guard(move || match command.verb {
        Verb::Compile(args) => compile::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Fix(args) => fix::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Explore(args) => explore::run(&args),
        Verb::Doc(args) => doc::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Devices(args) => devices::run(&args),
        Verb::Gpu(args) => gpu::run(&args),
        Verb::Gradcheck(args) => gradcheck::run(&args),
        Verb::Dataset(args) => dataset::run(&args),
        Verb::Lsp(args) => lsp::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Verify(args) => verify::run(&args),
        Verb::Profile(args) => profile::run(&args),
        Verb::Launch(args) => launch::run(&args),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
    });
    outcome.unwrap_or_else(internal_error).code()
}

/// Reports a panic as a finding.
fn internal_error(fault: driver::Fault) -> Exit {
    output::err(&render(&fault.into(), &SourceMap::default(), Format::Full, output::style()));
    Exit::Internal
}

/// `--format`.
#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum FormatArg {
    /// Source text with labels.
    Full,
    /// One line per finding.
    Short,
    /// One JSON object per finding.
    Json,
    /// A SARIF 2.1.0 log, for code scanning services.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Full => Format::Full,
            FormatArg::Short => Format::Short,
            FormatArg::Json => Format::Json,
            FormatArg::Sarif => Format::Sarif,
            FormatArg::Github => Format::Github,
        }
    }
}

/// For which types generic kernels are compiled; shared by the verbs that compile.
#[derive(clap::Args, Clone, Debug)]
struct TypesArg {
    /// Compile a generic kernel for these types, written as a call:
    /// `scale(x=wp.array(dtype=wp.float64), s=wp.float64)`; may be repeated, also for one kernel.
    /// The entry's name ends with the types (`scale_float64`).
    #[arg(long, value_name = "KERNEL(NAME=TYPE, ...)")]
    types: Vec<String>,
    /// Threads in a block, for kernels with tiles in which they have values of their own; else as
    /// many as the launches of the file say with `block_dim`, if they all say the same, or one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    block_dim: Option<u16>,
}

/// How gradients are made; shared by the verbs that compile.
#[derive(clap::Args, Clone, Debug)]
struct GradientArgs {
    /// Forward entries only: gradients are neither made nor checked.
    #[arg(long)]
    no_backward: bool,
    /// Where backward entries keep the state of loops, for all loops that can; by default each loop
    /// gets the cheapest.
    #[arg(long, value_enum, value_name = "STORE", conflicts_with = "no_backward")]
    store: Option<StoreArg>,
    /// Backward entries give the gradients of numbers, vectors, matrices and struct fields that
    /// kernels are given by value, too: in an array of float64 that they take after the adjoints.
    #[arg(long, conflicts_with = "no_backward")]
    parameter_gradients: bool,
}

/// `--store`.
#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum StoreArg {
    /// Nowhere: the loop is unrolled.
    Unroll,
    /// In local memory of the thread.
    Stack,
    /// In a buffer that the caller provides.
    Tape,
    /// In a few snapshots; the rest is computed again.
    Checkpoint,
}

impl From<StoreArg> for driver::Store {
    fn from(store: StoreArg) -> driver::Store {
        match store {
            StoreArg::Unroll => driver::Store::Unroll,
            StoreArg::Stack => driver::Store::Stack,
            StoreArg::Tape => driver::Store::Tape,
            StoreArg::Checkpoint => driver::Store::Checkpoint,
        }
    }
}

impl GradientArgs {
    fn options(&self) -> driver::Gradients {
        let store = self.store.map(Into::into);
        driver::Gradients {
            backward: !self.no_backward,
            store,
            parameters: self.parameter_gradients,
            ..driver::Gradients::default()
        }
    }
}

/// How findings are shown; shared by the verbs that read kernel files.
#[derive(clap::Args, Clone, Debug)]
struct Report {
    /// Form of the findings.
    #[arg(long, value_enum, default_value = "full")]
    format: FormatArg,
    /// Errors shown per file; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    max_errors: usize,
    #[command(flatten)]
    levels: Levels,
}

/// Which findings count; shared by the verbs that read kernel files.
#[derive(clap::Args, Clone, Debug)]
struct Levels {
    /// Show this warning or remark. CODE is a code, its name, or `warnings` for all.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    warn: Vec<String>,
    /// Make this warning an error.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    deny: Vec<String>,
    /// Leave this warning out.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    allow: Vec<String>,
}

impl Levels {
    /// # Errors
    /// A message about an unknown code.
    fn policy(&self) -> Result<Policy, String> {
        let mut policy = Policy::default();
        for (option, names, setting) in [
            ("--warn", &self.warn, Setting::Warn),
            ("--deny", &self.deny, Setting::Deny),
            ("--allow", &self.allow, Setting::Allow),
        ] {
            for name in names {
                policy.set(name, setting).map_err(|message| format!("{option}: {message}"))?;
            }
        }
        Ok(policy)
    }
}

/// The wishes for a file: those of the command line, and of its project where they say nothing.
///
/// # Errors
/// The end of the command, whose reason was said: the project's table has a rule that is none.
fn with_project(policy: &Policy, path: &Path) -> Result<Policy, Exit> {
    match driver::project::policy_of(path) {
        Ok(project) => Ok(policy.clone().over(project)),
        Err(message) => {
            output::err(&format!("error: {message}\n"));
            Err(Exit::Usage)
        }
    }
}

impl Report {
    /// The findings as text in the chosen form; those of a document in pieces.
    fn render(&self, findings: &[Diagnostic], sources: &SourceMap, style: Style) -> String {
        crate::diag::render::render_all(findings, sources, self.format.into(), style, self.max_errors)
    }

    /// Whether the findings of all files make one document.
    fn is_one_document(&self) -> bool {
        matches!(self.format, FormatArg::Sarif)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_kc_end_with_their_own_code() {
        let of = |codes: &[Code]| {
            let findings: Vec<Diagnostic> = codes.iter().map(|&code| Diagnostic::new(code, "message")).collect();
            Exit::after(&findings)
        };
        assert_eq!(of(&[]), Exit::Ok);
        assert_eq!(of(&[Code::W0504]), Exit::Ok);
        assert_eq!(of(&[Code::E0301, Code::W0504]), Exit::Errors);
        assert_eq!(of(&[Code::E0999, Code::E0301]), Exit::Internal);
    }
}
