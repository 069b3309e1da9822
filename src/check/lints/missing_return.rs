//! W1308: a function that returns a value on some ways through it, and ends without one on another.
//! A loop may end at once, except for one whose condition is always true.

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::types::value::Number;
use crate::check::visit;
use crate::diag::{Diagnostic, quoted};
use crate::ir::CompareOp;
use crate::source::Span;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let function = subject.function;
    let returned = &function.results;
    if returned.is_empty()
        || function.native.is_some()
        || function.derivative != Derivative::Body
        || ends(subject, &function.body, &mut Vec::new())
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

/// A comparison of integers that does not hold, with the texts of its sides.
type Failed<'a> = (CompareOp, &'a str, &'a str);

/// Whether no way leads behind the last of these statements. `failed`: what does not hold there.
fn ends<'a>(subject: &'a Subject<'a>, body: &'a [Stmt], failed: &mut Vec<Failed<'a>>) -> bool {
    let before = failed.len();
    let found = body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::ReturnCall(_) | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::If { condition, then, otherwise } => {
            let leaves = ends(subject, then, failed);
            let known = failed.len();
            fail(subject, condition, failed);
            let none = is_all(&failed[known..], failed);
            let both = leaves && (none || ends(subject, otherwise, failed));
            if !leaves || !otherwise.is_empty() {
                failed.truncate(known);
            }
            both
        }
        StmtKind::While { condition, body } => {
            matches!(condition.as_number(), Some(Number::Bool(true))) && !breaks(body)
        }
        _ => false,
    });
    failed.truncate(before);
    found
}

/// Notes what does not hold where a condition does not: all parts of an `or`.
fn fail<'a>(subject: &'a Subject<'a>, condition: &'a Expr, failed: &mut Vec<Failed<'a>>) {
    match &condition.kind {
        ExprKind::Or(parts) => parts.iter().for_each(|part| fail(subject, part, failed)),
        ExprKind::Compare(op, left, right) if left.ty.as_scalar().is_some_and(|scalar| scalar.is_int()) => {
            failed.push((*op, subject.text(left.span), subject.text(right.span)));
        }
        _ => {}
    }
}

/// Whether a pair of integers among the last ones is neither less, equal nor greater.
fn is_all(last: &[Failed<'_>], failed: &[Failed<'_>]) -> bool {
    let orders = |op: CompareOp| match op {
        CompareOp::Lt => [true, false, false],
        CompareOp::Le => [true, true, false],
        CompareOp::Eq => [false, true, false],
        CompareOp::Ge => [false, true, true],
        CompareOp::Gt => [false, false, true],
        CompareOp::Ne => [true, false, true],
    };
    last.iter().any(|&(_, a, b)| {
        let of = failed.iter().filter(|&&(_, left, right)| (left, right) == (a, b));
        let all: Vec<[bool; 3]> = of.map(|&(op, ..)| orders(op)).collect();
        (0..3).all(|n| all.iter().any(|orders| orders[n]))
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
