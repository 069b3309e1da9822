//! Editor features as functions of a text and a place in it: what does an editor want to know?
//! Places are byte offsets; nothing here knows a protocol.
//!
//! - [`names`]: which name is where, and what it means; [`find`]: what is at an offset.
//! - [`hover`], [`complete`], [`signature`], [`define`], [`rename`]: what a place tells.
//! - [`project`]: what names mean in all files together.
//! - [`symbols`], [`tokens`], [`hints`], [`fold`]: what the whole file shows.
//! - [`actions`]: what can be repaired; [`view`]: what a kernel becomes; [`words`]: what the
//!   compiler itself knows.

pub mod actions;
pub mod calls;
pub mod complete;
pub mod define;
pub mod find;
pub mod fold;
pub mod hints;
pub mod hover;
pub mod names;
pub mod project;
pub mod rename;
pub mod signature;
pub mod symbols;
pub mod tokens;
pub mod view;
pub mod words;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::driver::{Analysis, Compiler, Disk, Pending};
use crate::source::{FileSystem, Span};
use names::Names;

/// A text, and what is known about it.
#[derive(Debug)]
pub struct File {
    pub analysis: Analysis,
    pub names: Names,
    /// The places of its kernels, functions and structs.
    pub inside: Vec<Span>,
}

impl File {
    /// Looks at a text, with imported files read from `files`, and tells what is left to do: its
    /// gradients.
    pub fn new(path: &Path, text: String, files: Arc<dyn FileSystem>, compiler: &Compiler) -> (File, Pending) {
        let (analysis, pending) = compiler.analyse(path, text, files);
        let names = Names::of(&analysis.parsed, &analysis.facts, analysis.text());
        let inside = names::decorated(&analysis.parsed);
        (File { analysis, names, inside }, pending)
    }

    /// Looks at a text without its gradients.
    pub fn quick(path: &Path, text: String) -> File {
        File::new(path, text, Arc::new(Disk), &Compiler::new()).0
    }

    pub fn text(&self) -> &str {
        self.analysis.text()
    }

    /// The text at a place of this file.
    pub fn slice(&self, span: Span) -> &str {
        self.analysis.sources.text(span)
    }

    /// A type's name for people.
    pub fn show(&self, ty: crate::types::Type) -> String {
        ty.display(&self.analysis.facts.structs)
    }

    /// Whether there is something of ours in the file at all.
    pub fn has_kernels(&self) -> bool {
        !self.inside.is_empty()
    }

    /// The decorated item around an offset; the lines after it that are indented belong to it, for
    /// there a person writes on.
    pub fn enclosing(&self, offset: u32) -> Option<Span> {
        let found = self.inside.iter().rev().find(|span| span.start <= offset)?;
        if offset <= found.end {
            return Some(*found);
        }
        let rest = self.text().get(found.end as usize..offset as usize)?;
        if !rest.contains('\n') {
            return Some(*found);
        }
        let indented = |line: &str| line.is_empty() || line.starts_with([' ', '\t']);
        let (mut lines, last) = (rest.lines().skip(1), rest.rsplit('\n').next().unwrap_or_default());
        (lines.all(indented) && last.starts_with([' ', '\t'])).then_some(*found)
    }

    /// The findings that concern kernels, each with its primary place inside one. A finding about
    /// plain Python moves to the label that is inside; without one it is left out.
    pub fn findings(&self) -> impl Iterator<Item = (Span, &Diagnostic)> {
        let inside = |span: &Span| {
            let at = self.inside.partition_point(|item| item.start <= span.start);
            span.file == Analysis::FILE && at.checked_sub(1).is_some_and(|k| span.start <= self.inside[k].end)
        };
        self.analysis.diagnostics.iter().filter_map(move |diagnostic| {
            let place = diagnostic.labels.iter().map(|label| label.span).find(inside)?;
            Some((place, diagnostic))
        })
    }
}
