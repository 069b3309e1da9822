//! Warnings: what compiles and is probably not meant. One file per warning.
//!
//! A lint reads a finished function: the typed tree where meaning matters, the syntax where only
//! the text does. It reports what it can show, and stays silent where it would have to guess;
//! functions with errors are not looked at.

mod allow;
mod atomics;
mod coalescing;
mod coordinates;
mod division;
mod endless;
pub mod literal;
mod maybe_unset;
mod missing_return;
mod out_of_bounds;
mod overflow;
mod precision;
mod race;
mod shadow;
mod unreachable;
mod unused;
mod unused_value;

use crate::check::tree::{FnId, Function};
use crate::diag::{Diagnostic, Diagnostics, Level};
use crate::ids::IdVec;
use crate::source::{FileId, SourceMap, Span};
use crate::syntax::ast;
use crate::types::{StructTable, Type};

pub use allow::Allows;

/// A checked function, and what a lint needs to speak of it.
struct Subject<'a> {
    function: &'a Function,
    /// Which thread each value depends on, where the function asks for that.
    threads: Option<coordinates::Threads>,
    structs: &'a StructTable,
    sources: &'a SourceMap,
}

impl Subject<'_> {
    fn text(&self, span: Span) -> &str {
        self.sources.text(span)
    }

    fn show(&self, ty: Type) -> String {
        ty.display(self.structs)
    }
}

/// A function as written, with the names this file has for modules.
struct Written<'a> {
    function: &'a ast::Function,
    /// `wp`, `np`
    modules: &'a [&'a str],
    sources: &'a SourceMap,
}

/// The named variables of a kernel, each with whether its value can differ between threads. A
/// kernel that never asks which thread it is has none that does.
pub(super) fn per_thread(function: &Function) -> Vec<(String, bool)> {
    if function.kernel_rank.is_none() {
        return Vec::new();
    }
    let threads = coordinates::Threads::of(function);
    let differs = |id| threads.as_ref().is_some_and(|threads| !threads.of_local(id).is_empty());
    let named = function.locals.iter().filter(|(_, local)| !local.name.is_empty());
    named.map(|(id, local)| (local.name.clone(), differs(id))).collect()
}

/// Runs every lint: on the checked `functions` of `file`, which have no errors, and on those
/// `written` functions that have none.
pub(super) fn run(
    file: FileId,
    functions: &IdVec<FnId, Function>,
    structs: &StructTable,
    written: &[&ast::Function],
    modules: &[&str],
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) {
    let mut found: Vec<Diagnostic> = Vec::new();
    for function in functions.values().filter(|function| function.span.file == file) {
        let subject = Subject { function, threads: coordinates::Threads::of(function), structs, sources };
        race::check(&subject, &mut found);
        coalescing::check(&subject, &mut found);
        maybe_unset::check(&subject, &mut found);
        missing_return::check(&subject, &mut found);
        out_of_bounds::check(&subject, &mut found);
        division::check(&subject, &mut found);
        overflow::check(&subject, &mut found);
        precision::check(&subject, &mut found);
    }
    let wrong: Vec<Span> =
        diagnostics.iter().filter(|d| d.level == Level::Error).filter_map(Diagnostic::span).collect();
    for function in written {
        let whole = function.span;
        if wrong.iter().any(|e| e.file == whole.file && whole.start <= e.start && e.end <= whole.end) {
            continue;
        }
        let written = Written { function, modules, sources };
        unused::check(&written, &mut found);
        unused_value::check(&written, &mut found);
        unreachable::check(&written, &mut found);
        endless::check(&written, &mut found);
        shadow::check(&written, &mut found);
    }
    for finding in found {
        // One place, one finding of a kind: instances of a generic function differ only in types.
        if !diagnostics.has_at(finding.code, finding.span()) {
            diagnostics.push(finding);
        }
    }
}
