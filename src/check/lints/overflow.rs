//! W1202: integer arithmetic that surely wraps, or that is done in 32 bits before it is widened.

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::types::value::Number;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::ir::BinaryOp;
use crate::types::Type;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    visit::each_expression(&subject.function.body, &mut |expr| match &expr.kind {
        ExprKind::Binary(_, left, right) => {
            let (Some(scalar), Some(value)) = (expr.ty.as_scalar().filter(|s| s.is_int()), exact(expr)) else { return };
            let (low, high) = scalar.int_range();
            // Only where it goes wrong first.
            let inner = [left, right].iter().any(|side| exact(side).is_some_and(|v| !(low..=high).contains(&v)));
            if !(low..=high).contains(&value) && !inner {
                found.push(messages::lints::wrapping_constant(value, scalar.name(), expr.span));
            }
        }
        ExprKind::Cast(inner) => {
            let (Some(to), Some(from)) = (expr.ty.as_scalar(), inner.ty.as_scalar()) else { return };
            let ExprKind::Binary(BinaryOp::Mul, left, right) = &inner.kind else { return };
            if !(to.is_int() && from.is_int() && to.size() == 8 && from.size() == 4) {
                return;
            }
            if left.as_number().is_some() || right.as_number().is_some() {
                return;
            }
            let (l, r) = (subject.text(left.span), subject.text(right.span));
            let (to, from) = (Type::from(to), Type::from(from));
            let (to, from) = (subject.show(to), subject.show(from));
            let text = format!("wp.{to}({l}) * wp.{to}({r})");
            found.push(messages::lints::widened_too_late(&from, &text, inner.span, expr.span));
        }
        _ => {}
    });
}

/// The value that arithmetic on constants would have with unbounded integers.
fn exact(expr: &Expr) -> Option<i128> {
    match &expr.kind {
        ExprKind::Binary(op, left, right) => {
            let (l, r) = (exact(left)?, exact(right)?);
            match op {
                BinaryOp::Add => l.checked_add(r),
                BinaryOp::Sub => l.checked_sub(r),
                BinaryOp::Mul => l.checked_mul(r),
                BinaryOp::Shl if (0..64).contains(&r) => l.checked_mul(1 << r),
                _ => None,
            }
        }
        _ => match expr.as_number()? {
            Number::Int(value) => Some(value),
            _ => None,
        },
    }
}
