//! I0705: neighbouring threads touch memory far apart. On a GPU the loads of 32 threads are one
//! transaction when they lie side by side; the last index should follow the last coordinate of
//! `tid()`.

use super::Subject;
use crate::analysis::uniformity::Coordinates;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::Type;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let (Some(threads), Some(rank)) = (&subject.threads, subject.function.kernel_rank) else { return };
    let fastest = rank.clamp(1, 4) - 1;
    let mut look = |array: &Expr, index: &[Expr], span: Span| {
        if !matches!(array.ty, Type::Array(_)) || !threads.mask(array).is_empty() {
            return;
        }
        let Some((last, before)) = index.split_last() else { return };
        let fast = Coordinates::one(fastest) | Coordinates::THREAD_IN_BLOCK;
        let depends = |expr: &Expr| threads.mask(expr).meets(fast);
        // An index that is loaded from memory could point anywhere; only the plain coordinate is
        // certain.
        let Some(slow) = before.iter().find(|expr| depends(expr) && is_coordinate(expr)) else { return };
        // A constant, or the counter of a loop, picks the parts of a record; a slower coordinate
        // means that the dimensions are swapped.
        if depends(last) || threads.mask(last).is_empty() {
            return;
        }
        let text = subject.text(span);
        found.push(messages::lints::row_apart(text, slow.span, last.span));
    };
    visit::each_expression(&subject.function.body, &mut |expr| {
        if let ExprKind::Load { array, index, .. } = &expr.kind {
            look(array, index, expr.span);
        }
    });
    visit::each_statement(&subject.function.body, &mut |stmt| {
        if let StmtKind::Assign(place, _) = &stmt.kind
            && let Root::Element { array, index } = &place.root
        {
            look(array, index, place.span);
        }
    });
}

/// A variable, or one plus or minus something.
fn is_coordinate(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Local(_) | ExprKind::ThreadIndex(_) => true,
        ExprKind::Binary(crate::ir::BinaryOp::Add | crate::ir::BinaryOp::Sub, l, r) => {
            is_coordinate(l) || is_coordinate(r)
        }
        _ => false,
    }
}
