//! Which errors only follow from another one? One slip should not be reported twice: what the
//! parser lost is unknown to the checker, and brackets or blocks that lost their beginning go wrong
//! on the next lines, too.

use std::collections::{BTreeSet, HashSet};

use crate::diag::{Code, Diagnostic, Diagnostics, Level};
use crate::source::{SourceMap, Span};
use crate::syntax::ast::{Item, Parsed};

/// Leaves out what follows from the errors of the parser.
pub(in crate::check) fn quiet(parsed: &Parsed, sources: &SourceMap, diagnostics: &mut Diagnostics) {
    let mut syntax: Vec<Span> =
        diagnostics.iter().filter(|d| d.code.is_syntax()).filter_map(Diagnostic::span).collect();
    syntax.retain(|span| span.file == parsed.file);
    syntax.sort();
    let file = sources.file(parsed.file);
    let line = |span: Span| file.line_column(span.start).line;
    // What is on a line that could not be read may have been a definition.
    let mut lost: HashSet<&str> = HashSet::new();
    let is_unknown = |diagnostic: &Diagnostic| matches!(diagnostic.code, Code::E0201 | Code::E0202);
    let lines: BTreeSet<_> = syntax.iter().map(|span| line(*span)).collect();
    for line in lines.into_iter().filter(|_| diagnostics.iter().any(is_unknown)) {
        let range = file.line_range(line);
        let text = file.text.get(range.start as usize..range.end as usize).unwrap_or_default();
        lost.extend(crate::syntax::names(text).into_iter().filter_map(|range| text.get(range)));
    }
    let items = parsed.all_items().into_iter().filter_map(|item| match item {
        Item::Function(function) => Some(function.span),
        Item::Class(class) => Some(class.span),
        _ => None,
    });
    let holds = |item: &Span, span: Span| item.start <= span.start && span.end <= item.end;
    let damaged: Vec<Span> = items.filter(|item| syntax.iter().any(|span| holds(item, *span))).collect();
    let before = |span: Span| syntax.iter().rev().find(|other| other.start < span.start);
    let near = |span: Span| before(span).is_some_and(|other| line(span) <= line(*other) + 1);
    let follows = |diagnostic: &Diagnostic| {
        let Some(span) = diagnostic.span().filter(|span| span.file == parsed.file) else { return false };
        match diagnostic.code {
            Code::E0201 => damaged.iter().any(|item| holds(item, span)) || lost.contains(sources.text(span)),
            Code::E0202 => lost.contains(sources.text(span)) || syntax.iter().any(|other| line(*other) == line(span)),
            // A header whose brackets do not end.
            Code::E0108 | Code::E0109 => {
                diagnostics.iter().filter(|d| d.code == Code::E0104).filter_map(Diagnostic::span).any(|other| {
                    other.start < span.start && damaged.iter().any(|item| holds(item, other) && holds(item, span))
                })
            }
            // Parts of something that began on the line before, or on the same one.
            Code::E0106 | Code::E0107 | Code::E0112 => near(span),
            // The end of a bracket over several lines whose beginning is lost: those are indented
            // for no reason.
            Code::E0105 => {
                let shifted = diagnostics.iter().filter(|d| d.code == Code::E0106).filter_map(Diagnostic::span);
                near(span) || shifted.into_iter().any(|other| other < span && line(span) <= line(other) + 8)
            }
            // An `else` whose `if` could not be read.
            Code::E0114 => before(span).is_some_and(|other| line(span) <= line(*other) + 8),
            _ => false,
        }
    };
    let follows: Vec<bool> = diagnostics.iter().map(follows).collect();
    let mut follows = follows.into_iter();
    let mut said: HashSet<(Code, String)> = HashSet::new();
    diagnostics.retain(|diagnostic| {
        let follows = follows.next().unwrap_or(false);
        // What the slip took away is missing wherever it is used.
        let again = match diagnostic.code {
            Code::E0203 => !said.insert((diagnostic.code, diagnostic.message.clone())),
            // One function without its `return`, however often it is called.
            Code::E0313 if diagnostic.message.ends_with(" returns nothing") => {
                !said.insert((diagnostic.code, diagnostic.message.clone()))
            }
            Code::E0201 | Code::E0202 | Code::E0404 if !syntax.is_empty() => {
                !said.insert((diagnostic.code, diagnostic.message.clone()))
            }
            _ => false,
        };
        diagnostic.level < Level::Error || !follows && !again
    });
}
