//! What does an editor need to know about a text? Everything the stages found, kept apart from any artefact.

use std::path::Path;

use super::{Compilation, Request};
use crate::check::facts::Facts;
use crate::check::lints::Allows;
use crate::check::{self, Checked};
use crate::diag::{Diagnostics, Level};
use crate::source::{FileId, SourceFile, SourceMap};
use crate::syntax::{self, ast};
use crate::{lower, passes};

/// A text with all that was found in it. The text is file 0 of `sources`; the others are library files.
#[derive(Debug)]
pub struct Analysis {
    pub sources: SourceMap,
    pub parsed: ast::Parsed,
    pub facts: Facts,
    pub diagnostics: Diagnostics,
}

impl Analysis {
    /// The file that is analysed.
    pub const FILE: FileId = FileId(0);

    /// Looks at a text as if it stood in a file at `path`. `stop` is asked between the steps; when it says yes, the rest is
    /// left out and there is no result.
    pub fn new(path: &Path, text: String, stop: &dyn Fn() -> bool) -> Option<Analysis> {
        let mut work = Compilation::default();
        let (parsed, checked) = work.editor_front(path, text);
        let facts = checked.facts.clone();
        if !parsed_has_kernels(&parsed) || stop() {
            return (!stop()).then_some(Analysis {
                sources: work.sources,
                parsed,
                facts,
                diagnostics: work.diagnostics,
            });
        }
        work.module = lower::lower(&checked);
        if stop() {
            return None;
        }
        passes::simplify(&mut work.module);
        if stop() {
            return None;
        }
        let request = Request::default();
        crate::autodiff::differentiate(&mut work.module, &request.gradients, &mut work.diagnostics);
        work.allows.apply(Self::FILE, &mut work.diagnostics);
        work.allows.report_unused(&mut work.diagnostics);
        Some(Analysis { sources: work.sources, parsed, facts, diagnostics: work.diagnostics })
    }

    /// What stands in a text, without a look at gradients: quick, for the moment between two keys.
    pub fn quick(path: &Path, text: String) -> Analysis {
        let mut work = Compilation::default();
        let (parsed, checked) = work.editor_front(path, text);
        Analysis { sources: work.sources, parsed, facts: checked.facts, diagnostics: work.diagnostics }
    }

    /// The text that is analysed.
    pub fn text(&self) -> &str {
        &self.sources.file(Self::FILE).text
    }

    /// Whether an error was found.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.level == Level::Error)
    }
}

impl Compilation {
    fn editor_front(&mut self, path: &Path, text: String) -> (ast::Parsed, Checked) {
        let file = self.sources.add(SourceFile::new(path, text));
        let Compilation { sources, diagnostics, .. } = self;
        let parsed = syntax::parse(file, &sources.file(file).text, diagnostics);
        let options = check::Options { facts: true, ..check::Options::default() };
        let checked = check::check(&parsed, &options, sources, diagnostics);
        self.allows = Allows::read(&parsed, &sources.file(file).text);
        (parsed, checked)
    }
}

/// Whether there is a decorated function: only then is anything to be compiled.
fn parsed_has_kernels(parsed: &ast::Parsed) -> bool {
    parsed.items.iter().any(|item| matches!(item, ast::Item::Function(function) if !function.decorators.is_empty()))
}
