//! W0701: threads write one element without an atomic, and what they write differs or builds on what was there.
//!
//! Certain is: the index leaves out a coordinate of the launch, nothing around the store picks one thread of it, and the
//! value depends on that coordinate or on the element itself. A store of the same value by all threads is left alone.

use super::Subject;
use super::threads::{Control, Threads};
use crate::analysis::uniformity::Coordinates;
use crate::check::tree::*;
use crate::diag::{Applicability, Code, Diagnostic};
use crate::ir::BinaryOp;
use crate::types::Type;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let Some(threads) = &subject.threads else { return };
    block(subject, threads, &subject.function.body, &mut Control::default(), found);
}

fn block(subject: &Subject, threads: &Threads, body: &[Stmt], control: &mut Control, found: &mut Vec<Diagnostic>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign(place, value) => store(subject, threads, stmt, place, value, control.mask(), found),
            StmtKind::If { condition, then, otherwise } => {
                let outer = control.nested;
                control.nested |= threads.mask(condition);
                block(subject, threads, then, control, found);
                block(subject, threads, otherwise, control, found);
                control.nested = outer;
            }
            StmtKind::For { start, end, step, body, .. } => {
                let outer = control.nested;
                control.nested |= threads.mask(start) | threads.mask(end) | threads.mask(step);
                block(subject, threads, body, control, found);
                control.nested = outer;
            }
            StmtKind::While { condition, body } => {
                let outer = control.nested;
                control.nested |= threads.mask(condition);
                block(subject, threads, body, control, found);
                control.nested = outer;
            }
            _ => {}
        }
        control.after(stmt);
    }
}

fn store(
    subject: &Subject,
    threads: &Threads,
    stmt: &Stmt,
    place: &Place,
    value: &Expr,
    control: Coordinates,
    found: &mut Vec<Diagnostic>,
) {
    let Root::Element { array, index } = &place.root else { return };
    if !matches!(array.ty, Type::Array(_)) {
        return;
    }
    let cell = index.iter().fold(threads.mask(array), |mask, part| mask | threads.mask(part));
    let shared = threads.launch.without(cell | control);
    // The last of several coordinates may be that of the threads of a block, which do a tile operation together.
    let last = subject.function.kernel_rank.filter(|&rank| subject.function.by_block && rank > 1);
    if shared.is_empty() || last.is_some_and(|rank| shared == Coordinates::one(rank - 1)) {
        return;
    }
    let builds_on = reads(subject, value, place);
    if !builds_on && (threads.mask(value) & shared).is_empty() {
        return;
    }
    let element = subject.text(place.span);
    let mut diagnostic = Diagnostic::new(Code::W0701, format!("threads race on `{element}`"));
    diagnostic = diagnostic.label(place.span, "many threads write this element");
    diagnostic = if builds_on {
        diagnostic.label(value.span, "and read it before: updates of other threads are lost")
    } else {
        diagnostic.label(value.span, "with different values: the last one wins, whichever that is")
    };
    if !cell.is_empty() {
        diagnostic = diagnostic.note("the index does not depend on every coordinate of `wp.tid()`");
    }
    if let Some(text) = atomic(subject, place, array, index, value) {
        diagnostic = diagnostic.help(format!("write `{text}`")).fix(
            "make the update atomic",
            stmt.span,
            text,
            Applicability::Machine,
        );
    } else {
        diagnostic = diagnostic.help("give each thread an element of its own, or let one thread write");
    }
    found.push(diagnostic);
}

/// Whether the value contains a load of the place itself, by the same text.
fn reads(subject: &Subject, value: &Expr, place: &Place) -> bool {
    let wanted = subject.text(place.span);
    let mut found = false;
    crate::check::visit::walk(value, &mut |part| {
        found |= matches!(part.kind, ExprKind::Load { .. }) && subject.text(part.span) == wanted;
    });
    found
}

/// `wp.atomic_add(x, 0, v)` for `x[0] = x[0] + v`, and the like for `-`, `min`, `max` as far as there is an atomic for the
/// element type.
fn atomic(subject: &Subject, place: &Place, array: &Expr, index: &[Expr], value: &Expr) -> Option<String> {
    if !place.path.is_empty() || !place.ty.scalar_part().is_some_and(|s| s.is_float() || s.size() >= 4) {
        return None;
    }
    let wanted = subject.text(place.span);
    let is_cell = |expr: &Expr| matches!(expr.kind, ExprKind::Load { .. }) && subject.text(expr.span) == wanted;
    let (name, by) = match &value.kind {
        ExprKind::Binary(BinaryOp::Add, l, r) if is_cell(l) => ("atomic_add", r),
        ExprKind::Binary(BinaryOp::Add, l, r) if is_cell(r) => ("atomic_add", l),
        ExprKind::Binary(BinaryOp::Sub, l, r) if is_cell(l) => ("atomic_sub", r),
        _ => return None,
    };
    if by.ty != place.ty || reads(subject, by, place) {
        return None;
    }
    let indices: Vec<&str> = index.iter().map(|part| subject.text(part.span)).collect();
    let (array, by) = (subject.text(array.span), subject.text(by.span));
    if array.is_empty() || by.is_empty() || indices.iter().any(|text| text.is_empty()) {
        return None;
    }
    Some(format!("wp.{name}({array}, {}, {by})", indices.join(", ")))
}
