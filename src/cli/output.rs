//! The standard streams and output files: the only file that prints.

use crate::cli::messages;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use super::Exit;
use crate::diag::Diagnostic;
use crate::diag::render::{Format, Style, render};
use crate::run::files::whole::write_whole;
use crate::source::SourceMap;

/// How kc talks; every command has these options.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub(super) struct Show {
    /// Colours in findings.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Show findings and results, and nothing else.
    #[arg(short, long, global = true)]
    quiet: bool,
}

/// `--color`.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Debug)]
enum Color {
    /// When writing to a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

static SHOW: OnceLock<Show> = OnceLock::new();

/// Takes the options over. The first ones count: a process has one command line.
pub(super) fn configure(show: &Show) {
    let _ = SHOW.set(*show);
}

fn show() -> Show {
    SHOW.get().copied().unwrap_or_default()
}

/// Whether only findings and results are to be shown.
pub(super) fn quiet() -> bool {
    show().quiet
}

/// How text for standard error is shown.
pub(super) fn style() -> Style {
    style_for(std::io::stderr().is_terminal())
}

/// How text for standard output is shown.
pub(super) fn stdout_style() -> Style {
    style_for(std::io::stdout().is_terminal())
}

fn style_for(terminal: bool) -> Style {
    // NO_COLOR counts when it is set to anything but the empty text (no-color.org).
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(Style::PLAIN.width);
    let color = match show().color {
        Color::Auto => terminal && !no_color,
        Color::Always => true,
        Color::Never => false,
    };
    Style { color, width }
}

/// Writes to standard error. Errors are ignored: there is nowhere to report them.
pub(super) fn err(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Says on standard error what was done: neither a finding nor a result.
pub(super) fn note(text: &str) {
    if !quiet() {
        err(text);
    }
}

/// Reports why a command could not be done.
pub(super) fn fail(error: &Diagnostic) -> Exit {
    err(&render(error, &SourceMap::default(), Format::Full, style()));
    Exit::after([error])
}

/// Reports what is wrong with the command line.
pub(super) fn refuse(error: &Diagnostic) -> Exit {
    fail(error);
    Exit::Usage
}

/// Writes to standard output. A reader that went away (`kc ... | head`) is not an error.
pub(super) fn out(bytes: &[u8]) -> Result<(), Diagnostic> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritten("standard output", &error)),
        _ => Ok(()),
    }
}

/// A write beyond the limit of the process (`ulimit -f`) becomes an error like others: the system's
/// answer is to end the process.
pub(super) fn survive_limits() {
    #[cfg(unix)]
    // SAFETY: no handler is installed; the signal is ignored from here on.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Writes a file, whole or not at all. Missing folders are made.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        write_whole(path, |file| file.write_all(bytes))
    };
    write().map_err(|error| unwritten(&format!("`{}`", path.display()), &error))
}

fn unwritten(what: &str, error: &std::io::Error) -> Diagnostic {
    messages::unwritten(what, &crate::driver::reason(error))
}
