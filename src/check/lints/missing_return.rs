//! W1308: a function that returns a value on some ways through it, and ends without one on another.
//! A loop may end at once, except for one whose condition is always true.

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::types::value::Number;
use crate::check::visit;
use crate::diag::{Diagnostic, quoted};
use crate::source::Span;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let function = subject.function;
    let returned = &function.results;
    if returned.is_empty()
        || function.native.is_some()
        || function.derivative != Derivative::Body
        || ends(&function.body)
    {
        return;
    }
    let mut first = None;
    visit::each_statement(&function.body, &mut |stmt| {
        if matches!(stmt.kind, StmtKind::Return(_) | StmtKind::ReturnCall(_)) {
            first.get_or_insert(stmt.span);
        }
    });
    let Some(first) = first else { return };
    let header = format!("def {}", function.source_name);
    let Some(at) = subject.text(function.span).find(&header) else { return };
    let start = function.span.start + at as u32;
    let header = Span { start, end: start + header.len() as u32, ..function.span };
    let types = quoted(returned.iter().map(|&ty| subject.show(ty)));
    found.push(messages::lints::missing_return(&function.source_name, &types, header, first));
}

/// Whether no way leads behind the last of these statements.
fn ends(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::ReturnCall(_) | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::If { then, otherwise, .. } => ends(then) && ends(otherwise),
        StmtKind::While { condition, body } => {
            matches!(condition.as_number(), Some(Number::Bool(true))) && !breaks(body)
        }
        _ => false,
    })
}

/// Whether a `break` leaves the loop of this body.
fn breaks(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::If { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        _ => false,
    })
}
