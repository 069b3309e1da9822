//! Diagnostics as data. A stage reports what it found; only `render/` turns it into text.
//!
//! Voice: titles in lower case without a full stop, code in backticks, active, one idea; a label
//! says what is at its place; one help at most.

pub mod codes;
pub mod explain;
pub mod policy;
pub mod render;
mod spelling;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::Id;
use crate::source::{FileId, Span};
pub use codes::Code;
pub use spelling::Spelling;
pub use words::{counted, first_of, listed, quoted};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    Note,
    Warning,
    Error,
}

/// A place in a source text and what is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    pub span: Span,
    pub message: String,
}

/// How far a fix can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applicability {
    /// Applying it gives a program that means what the user meant.
    Machine,
    /// Probably right; a person should look.
    Maybe,
}

/// Edits that repair the finding: each replaces a span with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    pub message: String,
    pub edits: Vec<(Span, String)>,
    pub applicability: Applicability,
}

/// The note of findings about gradients that checked runs look at. A run that did not says so in
/// its place.
pub const CHECKED_IN_GRADIENT_RUNS: &str = "`kc run` checks it in gradient runs";

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub code: Code,
    pub level: Level,
    /// The primary message: if only one thing can be shown, it is this.
    pub message: String,
    /// The first label is the primary place; there is none for findings about a whole file or the
    /// command line.
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Option<String>,
    pub fix: Option<Fix>,
    /// It names something that runs look for themselves: left out unless it is asked for.
    pub is_left_to_runs: bool,
}

impl Diagnostic {
    /// A diagnostic of the code's default level.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            level: code.level(),
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            fix: None,
            is_left_to_runs: false,
        }
    }

    /// Runs look for it themselves.
    pub fn left_to_runs(mut self) -> Self {
        self.is_left_to_runs = true;
        self
    }

    /// Adds a label; the first one added is the primary place.
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Whether it is about a place inside of another one.
    pub fn is_within(&self, whole: Span) -> bool {
        self.span().is_some_and(|span| whole.contains(span))
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn fix(mut self, message: impl Into<String>, span: Span, text: impl Into<String>, how: Applicability) -> Self {
        self.fix = Some(Fix { message: message.into(), edits: vec![(span, text.into())], applicability: how });
        self
    }

    /// A fix of several edits.
    pub fn fix_all(mut self, message: impl Into<String>, edits: Vec<(Span, String)>, how: Applicability) -> Self {
        self.fix = Some(Fix { message: message.into(), edits, applicability: how });
        self
    }

    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }
}

/// Where stages put what they find.
#[derive(Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// The codes and places of all of them, so that a new one is not compared with each. In order:
    /// what a compilation says of itself is the same every time.
    places: BTreeSet<(Code, Option<Span>)>,
    /// Of files that name Warp otherwise than `wp`.
    spellings: BTreeMap<FileId, Spelling>,
}

impl Diagnostics {
    pub fn new() -> Self {
        Self::default()
    }

    /// Says findings of a file in its own words, those so far too.
    pub fn spell(&mut self, file: FileId, spelling: Spelling) {
        self.list.iter_mut().filter(|d| d.span().is_some_and(|span| span.file == file)).for_each(|d| spelling.apply(d));
        self.spellings.insert(file, spelling);
    }

    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if let Some(spelling) = diagnostic.span().and_then(|span| self.spellings.get(&span.file)) {
            spelling.apply(&mut diagnostic);
        }
        // The same finding can be reached twice, for example by two instances of one generic
        // function.
        let is_new_place = self.places.insert((diagnostic.code, diagnostic.span()));
        if is_new_place || !self.list.contains(&diagnostic) {
            self.list.push(diagnostic);
        }
    }

    /// Whether there is a finding of this code at this place.
    pub fn has_at(&self, code: Code, span: Option<Span>) -> bool {
        self.places.contains(&(code, span))
    }

    pub fn has_errors(&self) -> bool {
        self.error_count() > 0
    }

    pub fn error_count(&self) -> usize {
        self.list.iter().filter(|d| d.level == Level::Error).count()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Keeps only the findings for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Diagnostic) -> bool) {
        self.update(|d| keep(d));
    }

    /// Changes each finding in place and keeps those for which `change` gives true.
    pub fn update(&mut self, change: impl FnMut(&mut Diagnostic) -> bool) {
        self.list.retain_mut(change);
        self.places = self.list.iter().map(|d| (d.code, d.span())).collect();
    }

    /// Adds a label to every finding after the first `known` ones: the place that led to them.
    pub fn blame(&mut self, known: usize, span: Span, message: &str) {
        for diagnostic in self.list.iter_mut().skip(known) {
            diagnostic.labels.push(Label { span, message: message.to_string() });
            self.places.insert((diagnostic.code, diagnostic.span()));
        }
    }

    /// Takes back the findings after the first `known` ones.
    pub fn take_after(&mut self, known: usize) -> Vec<Diagnostic> {
        let taken = self.list.split_off(known.min(self.list.len()));
        self.update(|_| true);
        taken
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All findings in the order of their places.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        // Ids of imported files say nothing: they come in the order of their first findings.
        let mut kept: Vec<FileId> = Vec::new();
        for file in self.list.iter().filter_map(|d| Some(d.span()?.file)).filter(|file| file.is_kept()) {
            if !kept.contains(&file) {
                kept.push(file);
            }
        }
        let rank = |file: FileId| match kept.iter().position(|kept| *kept == file) {
            Some(n) => (1, n),
            None => (if file.is_shared() { 2 } else { 0 }, file.index()),
        };
        self.list.sort_by_key(|d| d.span().map(|span| (rank(span.file), span.start, span.end)));
        self.list
    }
}
