//! Why did something not work? kc's findings with the source lines they are about.

use crate::embed::messages;
use std::path::Path;
use std::sync::Arc;

use crate::diag::render::{Format, Style, render, render_all};
use crate::diag::{Diagnostic, Level};
use crate::driver::Fault;
use crate::run::devices::{Trap, TrapKind};
use crate::run::program::Program;

/// Why kernels could not be compiled, found or launched: one or more findings of kc, each with a
/// code (`kc explain CODE` tells more) and, where it is about the source, with a place in it.
///
/// `{error}` shows them all as the `kc` command does, with source lines and without colours.
pub struct Error(Box<Findings>);

struct Findings {
    /// At least one; the first counts.
    list: Vec<Diagnostic>,
    /// Whose sources the findings are about.
    program: Arc<Program>,
    printed: String,
    trap: Option<(Trap, Vec<u64>)>,
}

/// A place in a source text. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl Error {
    pub(super) fn new(list: Vec<Diagnostic>, program: Arc<Program>) -> Error {
        let no_reason = || vec![messages::no_reason()];
        let list = if list.is_empty() { no_reason() } else { list };
        Error(Box::new(Findings { list, program, printed: String::new(), trap: None }))
    }

    /// A failure that has no place in a source text.
    pub(super) fn plain(diagnostic: Diagnostic) -> Error {
        Error::new(vec![diagnostic], Arc::default())
    }

    /// The same, for bindings of other languages.
    #[doc(hidden)]
    pub fn of(fail: crate::run::Fail) -> Error {
        Error::plain(*fail)
    }

    /// A fault of kc itself.
    pub(super) fn fault(fault: Fault) -> Error {
        Error::plain(fault.into())
    }

    pub(super) fn with_printed(mut self, printed: String) -> Error {
        self.0.printed = printed;
        self
    }

    pub(super) fn with_trap(mut self, trap: Trap, thread: Vec<u64>) -> Error {
        self.0.trap = Some((trap, thread));
        self
    }

    /// The coordinates of the thread that was in error.
    pub fn thread(&self) -> Option<&[u64]> {
        self.0.trap.as_ref().map(|(_, thread)| thread.as_slice())
    }

    /// What the thread did that was in error.
    #[doc(hidden)]
    pub fn trap(&self) -> Option<&TrapKind> {
        self.0.trap.as_ref().map(|(trap, _)| &trap.kind)
    }

    /// The code of the first finding: `E1101`.
    pub fn code(&self) -> &'static str {
        self.first().map_or("E0999", |first| first.code.name())
    }

    /// The codes of all findings, in their order.
    pub fn codes(&self) -> impl Iterator<Item = &'static str> {
        self.0.list.iter().map(|finding| finding.code.name())
    }

    /// What the first finding says, in one line.
    pub fn message(&self) -> &str {
        self.first().map_or("", |first| &first.message)
    }

    /// Where in the source the first finding is; None for errors of arguments, files and devices.
    pub fn location(&self) -> Option<Location<'_>> {
        let span = self.first()?.span()?;
        let file = self.0.program.sources.file(span.file);
        let at = file.line_column(span.start);
        Some(Location { path: &file.path, line: at.line, column: at.column })
    }

    /// What the kernel printed before it failed.
    pub fn printed(&self) -> &str {
        &self.0.printed
    }

    /// All findings for programs: one JSON object a line, as `kc check --format json` writes them.
    pub fn json(&self) -> String {
        render_all(&self.0.list, &self.0.program.sources, Format::Json, Style::PLAIN, 0)
    }

    fn first(&self) -> Option<&Diagnostic> {
        self.0.list.iter().find(|finding| finding.level == Level::Error).or(self.0.list.first())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text: String =
            self.0.list.iter().map(|one| render(one, &self.0.program.sources, Format::Full, Style::PLAIN)).collect();
        f.write_str(text.trim_end())
    }
}

/// The same text: it is what `fn main() -> Result<(), kc::Error>` shows.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
