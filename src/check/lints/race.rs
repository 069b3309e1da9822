//! W0701: threads write one element without an atomic, and what they write differs or builds on
//! what was there.
//!
//! Certain is: the index leaves out a coordinate of the launch, nothing around the store picks one
//! thread of it, and the value depends on that coordinate or on the element itself. A store of the
//! same value by all threads is left alone. So is one under a condition that tells threads apart,
//! except for `if x > o[0]: o[0] = x`, and one at a slot of a stack or at what an atomic gave. A
//! count that is 1, `if world_count == 1:`, is taken for that of the threads.

use super::Subject;
use super::atomics::{call, instead, is_cell, mentions, reads_into};
use super::coordinates::{Control, Threads};
use crate::analysis::uniformity::Coordinates;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::types::value::Number;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::ids::Id;
use crate::ir::CompareOp;
use crate::types::Type;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let Some(threads) = &subject.threads else { return };
    block(subject, threads, &subject.function.body, &mut Control::default(), found);
}

fn block(subject: &Subject, threads: &Threads, body: &[Stmt], control: &mut Control, found: &mut Vec<Diagnostic>) {
    for (n, stmt) in body.iter().enumerate() {
        match &stmt.kind {
            StmtKind::Assign(..) => {
                let before = n.checked_sub(1).and_then(|n| body.get(n));
                store(subject, threads, (before, stmt), control.mask(), found);
            }
            StmtKind::If { condition, then, otherwise } => {
                extreme(subject, threads, stmt, control.mask(), found);
                let outer = control.nested;
                control.nested |= threads.mask(condition);
                let beside = control.nested;
                if counts_one(subject, condition) {
                    control.nested |= threads.launch;
                }
                block(subject, threads, then, control, found);
                control.nested = beside;
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

/// Whether a condition holds where a parameter that is called a count is 1.
fn counts_one(subject: &Subject, condition: &Expr) -> bool {
    let is_count = |expr: &Expr| match expr.kind {
        ExprKind::Local(id) if id.index() < subject.function.param_count as usize => {
            let name = &subject.function.locals[id].name;
            name.contains("count") || name.contains("num") || name.starts_with('n')
        }
        _ => false,
    };
    let is_one = |expr: &Expr| expr.as_number() == Some(Number::Int(1));
    match &condition.kind {
        ExprKind::And(parts) => parts.iter().any(|part| counts_one(subject, part)),
        ExprKind::Compare(CompareOp::Eq, a, b) => is_count(a) && is_one(b) || is_one(a) && is_count(b),
        _ => false,
    }
}

/// The coordinates of the launch by which threads come to one element, and those that choose the
/// element. None: there is no array of the launch there, or no such coordinate.
fn meeting(
    subject: &Subject,
    threads: &Threads,
    place: &Place,
    control: Coordinates,
) -> Option<(Coordinates, Coordinates)> {
    let Root::Element { array, index } = &place.root else { return None };
    if !matches!(array.ty, Type::Array(_)) {
        return None;
    }
    let cell = index.iter().fold(threads.mask(array), |mask, part| mask | threads.mask(part));
    let shared = threads.launch.without(cell | control);
    // The last of several coordinates may be that of the threads of a block, which do a tile
    // operation together.
    let last = subject.function.kernel_rank.filter(|&rank| subject.function.by_block && rank > 1);
    let alone = shared.is_empty() || last.is_some_and(|rank| shared == Coordinates::one(rank - 1));
    (!alone).then_some((shared, cell))
}

fn store(
    subject: &Subject,
    threads: &Threads,
    (before, stmt): (Option<&Stmt>, &Stmt),
    control: Coordinates,
    found: &mut Vec<Diagnostic>,
) {
    let StmtKind::Assign(place, value) = &stmt.kind else { return };
    let Some((shared, cell)) = meeting(subject, threads, place, control) else { return };
    let read_before = before.and_then(|before| reads_into(subject, before, place));
    let builds_on = reads(subject, value, place) || read_before.is_some_and(|local| mentions(value, local));
    if !builds_on && (threads.mask(value) & shared).is_empty() {
        return;
    }
    let element = subject.text(place.span);
    let mut diagnostic = messages::lints::race(element);
    let of_block = control.meets(Coordinates::THREAD_IN_BLOCK);
    let who = if of_block { "one thread of each block writes this element" } else { "many threads write this element" };
    diagnostic = diagnostic.label(place.span, who);
    if of_block {
        diagnostic = messages::details::one_block(diagnostic);
    }
    diagnostic = if builds_on {
        messages::details::read_before(diagnostic, value.span)
    } else {
        messages::details::last_one_wins(diagnostic, value.span)
    };
    if !cell.is_empty() {
        diagnostic = messages::details::coordinates_left_out(diagnostic);
    }
    found.push(instead(subject, diagnostic, before, stmt));
}

/// `if x > o[0]: o[0] = x`: between the comparison and the store, another thread may store more.
fn extreme(subject: &Subject, threads: &Threads, stmt: &Stmt, control: Coordinates, found: &mut Vec<Diagnostic>) {
    let StmtKind::If { condition, then, otherwise } = &stmt.kind else { return };
    let ExprKind::Compare(op, left, right) = &condition.kind else { return };
    for inner in then {
        let StmtKind::Assign(place, value) = &inner.kind else { continue };
        let (name, other) = match (is_cell(subject, left, place), is_cell(subject, right, place), op) {
            (true, false, CompareOp::Lt | CompareOp::Le) => ("atomic_max", right),
            (true, false, CompareOp::Gt | CompareOp::Ge) => ("atomic_min", right),
            (false, true, CompareOp::Gt | CompareOp::Ge) => ("atomic_max", left),
            (false, true, CompareOp::Lt | CompareOp::Le) => ("atomic_min", left),
            _ => continue,
        };
        let same = subject.text(other.span) == subject.text(value.span);
        let Some((shared, _)) = meeting(subject, threads, place, control) else { continue };
        if !same || (threads.mask(value) & shared).is_empty() {
            continue;
        }
        let diagnostic = messages::lints::race_on_extreme(subject.text(place.span), place.span, condition.span);
        let whole = then.len() == 1 && otherwise.is_empty();
        found.push(match call(subject, name, place, value) {
            Some(text) if whole => messages::lint_repairs::compare_and_store(diagnostic, &text, stmt.span),
            Some(text) => messages::lint_repairs::compared_before(diagnostic, &text),
            None => messages::lint_repairs::element_for_each_thread(diagnostic),
        });
    }
}

/// Whether the value contains a load of the place itself, by the same text.
fn reads(subject: &Subject, value: &Expr, place: &Place) -> bool {
    let mut found = false;
    visit::walk(value, &mut |part| found |= is_cell(subject, part, place));
    found
}
