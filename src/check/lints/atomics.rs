//! Which atomic does what a racy update means?

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::ir::{AtomicOp, BinaryOp};
use crate::source::Span;

/// An update of an element as an atomic, with what it is called and by what it changes the element.
struct Update<'a> {
    name: &'static str,
    by: &'a Expr,
}

/// Adds to the finding of a racy store, a [`crate::diag::Code::W0701`], what to write instead;
/// `before` is the statement before it.
///
/// A fix is safe only if nothing else reads the element: a number that was read before the atomic
/// may be that of another thread, too. The usual `slot = c[0]` before `c[0] = c[0] + 1` takes what
/// the atomic gives.
pub(super) fn instead(subject: &Subject, diagnostic: Diagnostic, before: Option<&Stmt>, stmt: &Stmt) -> Diagnostic {
    let StmtKind::Assign(place, value) = &stmt.kind else { return diagnostic };
    let first = before.and_then(|before| Some((before, reads_into(subject, before, place)?)));
    let update = update(subject, place, value, first.map(|(_, local)| local));
    let Some((Update { name, by }, text)) =
        update.and_then(|u| call(subject, u.name, place, u.by).map(|text| (u, text)))
    else {
        return match counted(subject, place) {
            Some(text) => messages::lint_repairs::element_by_count(diagnostic, &text),
            None => messages::lint_repairs::element_for_each_thread(diagnostic),
        };
    };
    let reads = loads(subject, place).into_iter().filter(|at| !stmt.span.contains(*at)).collect::<Vec<_>>();
    match (first, reads.as_slice()) {
        (_, []) => messages::lint_repairs::atomic_update(diagnostic, &text, stmt.span),
        (Some((before, local)), &[at]) if before.span.contains(at) && !mentions(by, local) => {
            let kept = format!("{} = {text}", subject.function.locals[local].name);
            let diagnostic = messages::lint_repairs::value_before(diagnostic, &kept, name);
            match subject.sources.whole_line(before.span) {
                Some(line) => messages::lint_repairs::value_of_atomic(diagnostic, line, (stmt.span, kept)),
                None => diagnostic,
            }
        }
        _ => messages::lint_repairs::update_and_read(diagnostic, &text),
    }
}

/// Where the index is a number that was read of a counter before its update, `slot = c[0]` before
/// `c[0] += 1`: the two as one.
fn counted(subject: &Subject, place: &Place) -> Option<String> {
    let Root::Element { index, .. } = &place.root else { return None };
    let mut locals = index.iter().filter_map(|part| match part.kind {
        ExprKind::Local(id) => Some(id),
        _ => None,
    });
    locals.find_map(|local| {
        let mut update = None;
        visit::each_statement(&subject.function.body, &mut |stmt| {
            if let StmtKind::AtomicUpdate { op: AtomicOp::Add, place, value } = &stmt.kind {
                update = Some((place, value));
            }
        });
        let (counter, by) = update?;
        let mut reads = false;
        visit::each_statement(&subject.function.body, &mut |stmt| {
            reads |= reads_into(subject, stmt, counter) == Some(local);
        });
        let text = call(subject, "atomic_add", counter, by).filter(|_| reads)?;
        Some(format!("{} = {text}", subject.function.locals[local].name))
    })
}

/// The variable that a statement reads the place into: `slot = c[0]`.
pub(super) fn reads_into(subject: &Subject, stmt: &Stmt, place: &Place) -> Option<LocalId> {
    match &stmt.kind {
        StmtKind::Assign(Place { root: Root::Local(id), path, .. }, value) if path.is_empty() => {
            is_cell(subject, value, place).then_some(*id)
        }
        _ => None,
    }
}

/// Whether an expression is the element at a place, by the same text.
pub(super) fn is_cell(subject: &Subject, expr: &Expr, place: &Place) -> bool {
    matches!(expr.kind, ExprKind::Load { .. }) && subject.text(expr.span) == subject.text(place.span)
}

/// The places in the function that may read the element, or hand its array on.
fn loads(subject: &Subject, place: &Place) -> Vec<Span> {
    let Root::Element { array, index: wanted } = &place.root else { return Vec::new() };
    let is_it = |expr: &Expr| subject.text(expr.span) == subject.text(array.span);
    let differs = |(a, b): (&Expr, &Expr)| a.as_number().zip(b.as_number()).is_some_and(|(a, b)| a != b);
    let mut found = Vec::new();
    visit::each_expression(&subject.function.body, &mut |expr| match &expr.kind {
        ExprKind::Load { array, index, .. } if is_it(array) && !index.iter().zip(wanted).any(differs) => {
            found.push(expr.span);
        }
        ExprKind::View { array, .. } if is_it(array) => found.push(expr.span),
        ExprKind::Call(call) if call.args.iter().any(is_it) => found.push(expr.span),
        _ => {}
    });
    visit::each_statement(&subject.function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Call(call) | StmtKind::AssignCall { call, .. } if call.args.iter().any(is_it) => {
            found.push(call.span)
        }
        _ => {}
    });
    found
}

/// Whether a variable is part of a value.
pub(super) fn mentions(value: &Expr, local: LocalId) -> bool {
    let mut found = false;
    visit::walk(value, &mut |part| found |= matches!(part.kind, ExprKind::Local(id) if id == local));
    found
}

/// `atomic_add` by `v` for `x[0] = x[0] + v`, and the like for `-`; `read` is a variable that has
/// the element's value.
fn update<'a>(subject: &Subject, place: &Place, value: &'a Expr, read: Option<LocalId>) -> Option<Update<'a>> {
    let cell =
        |expr: &Expr| is_cell(subject, expr, place) || matches!(expr.kind, ExprKind::Local(id) if Some(id) == read);
    let (name, by) = match &value.kind {
        ExprKind::Binary(BinaryOp::Add, l, r) if cell(l) => ("atomic_add", r),
        ExprKind::Binary(BinaryOp::Add, l, r) if cell(r) => ("atomic_add", l),
        ExprKind::Binary(BinaryOp::Sub, l, r) if cell(l) => ("atomic_sub", r),
        _ => return None,
    };
    let mut again = false;
    visit::walk(by, &mut |part| again |= cell(part));
    (by.ty == place.ty && !again).then_some(Update { name, by })
}

/// The text of an atomic call on the element at a place, as far as there is one for its type.
pub(super) fn call(subject: &Subject, name: &str, place: &Place, by: &Expr) -> Option<String> {
    let Root::Element { array, index } = &place.root else { return None };
    if !place.path.is_empty() || !place.ty.scalar_part().is_some_and(|s| s.is_float() || s.size() >= 4) {
        return None;
    }
    let indices: Vec<&str> = index.iter().map(|part| subject.text(part.span)).collect();
    let (array, by) = (subject.text(array.span), subject.text(by.span));
    if array.is_empty() || by.is_empty() || indices.iter().any(|text| text.is_empty()) {
        return None;
    }
    Some(format!("wp.{name}({array}, {}, {by})", indices.join(", ")))
}
