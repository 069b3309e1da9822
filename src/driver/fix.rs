//! What does a file look like with its fixes applied?
//!
//! Fixes are applied in rounds, because one may uncover another. A round that would bring new
//! errors is done fix by fix, and those at fault are left out.

use std::path::Path;

use super::{Compilation, Compiler, Request};
use crate::diag::{Applicability, Diagnostic, Diagnostics, Fix};
use crate::source::{FileId, SourceMap, Span};

/// More rounds than any chain of fixes needs.
const MAX_ROUNDS: usize = 10;

/// A text after its fixes.
#[derive(Debug)]
pub struct Fixed {
    pub text: String,
    /// The fixes that were applied, in their own words.
    pub applied: Vec<String>,
    /// The findings that are left in `text`.
    pub compilation: Compilation,
}

/// Applies the fixes of a text: those that are safe, and with `maybe` also those that a person
/// should look at. `judge` decides which findings count (see [`crate::diag::policy`]).
pub fn fix(
    path: &Path,
    text: String,
    request: &Request,
    maybe: bool,
    judge: impl Fn(&mut Diagnostics, &SourceMap),
) -> Fixed {
    let compiler = Compiler::new();
    let check = |text: &str| {
        let mut compilation = compiler.check_text(path, text.to_string(), request);
        judge(&mut compilation.diagnostics, &compilation.sources);
        compilation
    };
    let mut fixed = Fixed { compilation: check(&text), text, applied: Vec::new() };
    for _ in 0..MAX_ROUNDS {
        let wanted = |finding: &&Diagnostic| {
            finding.fix.as_ref().is_some_and(|fix| maybe || fix.applicability == Applicability::Machine)
        };
        let found: Vec<Diagnostic> = fixed.compilation.diagnostics.iter().filter(wanted).cloned().collect();
        let all: Vec<&Diagnostic> = found.iter().collect();
        let mut progress = attempt(&mut fixed, &all, &check);
        if !progress {
            // The places of the others hold until one is applied.
            progress = all.iter().any(|one| attempt(&mut fixed, &[one], &check));
        }
        if !progress {
            break;
        }
    }
    fixed
}

/// Applies the fixes of findings if the text has no more errors afterwards, and no more of its
/// syntax: one error of syntax can hide many others. A fix that leaves what it is for repairs
/// nothing, and would be applied to its own result.
fn attempt(fixed: &mut Fixed, found: &[&Diagnostic], check: &impl Fn(&str) -> Compilation) -> bool {
    let fixes: Vec<&Fix> = found.iter().filter_map(|finding| finding.fix.as_ref()).collect();
    let (text, applied) = apply(&fixed.text, &fixes);
    if applied.is_empty() || text == fixed.text {
        return false;
    }
    let after = check(&text);
    let before = &fixed.compilation;
    if after.diagnostics.error_count() > before.diagnostics.error_count()
        || syntax_errors(&after.diagnostics) > syntax_errors(&before.diagnostics)
        || found.iter().any(|finding| remains(finding, before, &after))
    {
        return false;
    }
    fixed.text = text;
    fixed.applied.extend(applied);
    fixed.compilation = after;
    true
}

/// Whether a finding is still there, about the same text, around which its fix has written
/// something.
fn remains(finding: &Diagnostic, before: &Compilation, after: &Compilation) -> bool {
    let text = |finding: &Diagnostic, of: &Compilation| finding.span().map(|span| of.sources.text(span).to_string());
    let (Some(fix), Some(about)) = (&finding.fix, text(finding, before)) else { return false };
    let wraps = |(span, with): &(Span, String)| before.sources.text(*span) == about && with.contains(&about);
    let count = |of: &Compilation| {
        let same = |other: &&Diagnostic| other.code == finding.code && other.message == finding.message;
        of.diagnostics.iter().filter(same).filter(|other| text(other, of).as_ref() == Some(&about)).count()
    };
    fix.edits.iter().any(wraps) && count(after) >= count(before)
}

/// How many findings say that the text is no Python.
fn syntax_errors(diagnostics: &Diagnostics) -> usize {
    diagnostics.iter().filter(|diagnostic| diagnostic.code.is_syntax()).count()
}

/// The text with those fixes applied that do not overlap an earlier one, and their messages. Fixes
/// of other files than the first are left out.
pub fn apply(text: &str, fixes: &[&Fix]) -> (String, Vec<String>) {
    let main = FileId(0);
    let mut edits: Vec<(usize, usize, &str)> = Vec::new();
    let mut applied = Vec::new();
    for fix in fixes {
        let new: Vec<(usize, usize, &str)> =
            fix.edits.iter().map(|(span, with)| (span.start as usize, span.end as usize, with.as_str())).collect();
        let sound = fix.edits.iter().all(|(span, _)| span.file == main)
            && new.iter().all(|&(start, end, _)| text.get(start..end).is_some());
        let free = new.iter().all(|&(start, end, _)| {
            edits.iter().all(|&(s, e, _)| end <= s || e <= start) && !edits.iter().any(|&(s, _, _)| s == start)
        });
        if sound && free && !new.is_empty() {
            edits.extend(new);
            applied.push(fix.message.clone());
        }
    }
    edits.sort_by_key(|&(start, end, _)| (start, end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, with) in edits {
        out.push_str(text.get(at..start).unwrap_or_default());
        out.push_str(with);
        at = end.max(at);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (out, applied)
}
