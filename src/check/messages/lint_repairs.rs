//! What lints offer: a help, and a fix where it is one edit.

use crate::diag::{Applicability, Diagnostic};
use crate::source::Span;

/// Offers to remove a comment that allows nothing.
pub(in crate::check) fn no_comment(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.fix("remove the comment", at, "", Applicability::Machine)
}

/// Offers an atomic update of an element.
pub(in crate::check) fn atomic_update(diagnostic: Diagnostic, text: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("write `{text}`")).fix("make the update atomic", at, text, Applicability::Machine)
}

/// Offers an atomic update that keeps the value before.
pub(in crate::check) fn value_before(diagnostic: Diagnostic, written: &str, name: &str) -> Diagnostic {
    diagnostic.help(format!("write `{written}`: `{name}` gives the value before"))
}

/// Offers an atomic update that gives the value before.
pub(in crate::check) fn update_and_read(diagnostic: Diagnostic, written: &str) -> Diagnostic {
    diagnostic.help(format!("update and read at once: `{written}` gives the value before"))
}

/// Offers a division of integers, or of floats.
pub(in crate::check) fn integer_division(diagnostic: Diagnostic, whole: &str, fraction: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("write `{whole}`, or `{fraction}` for the fraction")).fix(
        "divide as integers",
        at,
        whole,
        Applicability::Maybe,
    )
}

/// Offers a division of floats, or one that rounds down.
pub(in crate::check) fn rounded_division(diagnostic: Diagnostic, fraction: &str, whole: &str) -> Diagnostic {
    diagnostic.help(format!("write `{fraction}` for the fraction, or `{whole}` to round down, below zero too"))
}

/// Offers an atomic minimum or maximum.
pub(in crate::check) fn compare_and_store(diagnostic: Diagnostic, written: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("write `{written}`")).fix("compare and store at once", at, written, Applicability::Maybe)
}

/// Offers an atomic minimum or maximum that gives the value before.
pub(in crate::check) fn compared_before(diagnostic: Diagnostic, written: &str) -> Diagnostic {
    diagnostic.help(format!("compare and store at once: `{written}` gives the value before"))
}

/// Offers an element for each thread.
pub(in crate::check) fn element_for_each_thread(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("give each thread an element of its own, or let one thread write")
}

/// Offers to remove a line.
pub(in crate::check) fn no_line(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.fix("remove the line", at, "", Applicability::Machine)
}

/// Offers to remove an assignment.
pub(in crate::check) fn no_assignment(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.fix("remove the assignment", at, "pass", Applicability::Machine)
}

/// Offers an assignment for a comparison.
pub(in crate::check) fn assignment_for_comparison(diagnostic: Diagnostic, assigned: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("`=` assigns: `{assigned}`")).fix("assign", at, assigned, Applicability::Maybe)
}

/// Offers to assign a value, or to leave it away.
pub(in crate::check) fn assigned_or_removed(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("assign it, or leave the line away")
}

/// Offers an element for each thread, at the index that an atomic count gives.
pub(in crate::check) fn element_by_count(diagnostic: Diagnostic, count: &str) -> Diagnostic {
    diagnostic.help(format!("give each thread an element of its own: `{count}` gives the value before"))
}

/// Replaces a read and an update by an atomic that gives the value before; `line` is that of the
/// read.
pub(in crate::check) fn value_of_atomic(diagnostic: Diagnostic, line: Span, update: (Span, String)) -> Diagnostic {
    let edits = vec![(line, String::new()), update];
    diagnostic.fix_all("take the value before from an atomic", edits, Applicability::Machine)
}
