//! W1307: a statement that computes a value and drops it. Calls may have effects, and are left
//! alone; so are texts, and elements: one of a tile makes Warp keep the tile in shared memory.

use super::Written;
use crate::check::messages;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{CompareOp, Expr, ExprKind, StmtKind};
use crate::syntax::visit::{each_statement, walk};

pub(super) fn check(written: &Written, found: &mut Vec<Diagnostic>) {
    each_statement(&written.function.body, &mut |stmt| {
        let StmtKind::Expr(value) = &stmt.kind else { return };
        if !only_computes(value) {
            return;
        }
        let text = |span: Span| written.sources.text(span);
        let diagnostic = messages::lints::unused_value(value.span);
        found.push(match assignment(value) {
            Some((target, right)) => {
                let assigned = format!("{} = {}", text(target.span), text(right.span));
                messages::lint_repairs::assignment_for_comparison(diagnostic, &assigned, value.span)
            }
            None => messages::lint_repairs::assigned_or_removed(diagnostic),
        });
    });
}

/// Whether an expression has no effect, whatever it is worth.
fn only_computes(expr: &Expr) -> bool {
    let computes = matches!(
        expr.kind,
        ExprKind::Name(_)
            | ExprKind::Attribute { .. }
            | ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Logic { .. }
            | ExprKind::Compare { .. }
            | ExprKind::Conditional { .. }
    );
    let mut calls = false;
    walk(expr, &mut |part| calls |= matches!(part.kind, ExprKind::Call { .. }));
    computes && !calls
}

/// The sides of an assignment that is written `a == b`.
fn assignment(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let ExprKind::Compare { first, rest } = &expr.kind else { return None };
    let [(CompareOp::Eq, right)] = rest.as_slice() else { return None };
    let place = matches!(first.kind, ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Subscript { .. });
    place.then_some((first, right))
}
