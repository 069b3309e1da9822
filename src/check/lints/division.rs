//! W1201: `/` and `%` on integers do in kernels what C does, not what Python does.
//!
//! `/` truncates where Python gives a float. `%` has the sign of its left side where Python's has that of the right one: this
//! is told where the left side is a difference or a negation, the usual `(i - 1) % n`.

use super::Subject;
use crate::check::tree::*;
use crate::check::visit;
use crate::diag::{Applicability, Code, Diagnostic};
use crate::ir::{BinaryOp, UnaryOp};

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    visit::each_expression(&subject.function.body, &mut |expr| {
        let ExprKind::Binary(op, left, right) = &expr.kind else { return };
        let Some(scalar) = expr.ty.as_scalar().filter(|s| s.is_int()) else { return };
        let (l, r) = (subject.text(left.span), subject.text(right.span));
        // What the checker put together itself has no such text.
        let written = subject.text(expr.span);
        match op {
            BinaryOp::Div if written.contains('/') && !written.contains("//") => found.push(
                Diagnostic::new(Code::W1201, "`/` on integers drops the fraction in a kernel")
                    .label(expr.span, format!("this is `{}`", scalar.name()))
                    .note("Python gives a float here; C and kernels give an integer")
                    .help(format!("write `{l} // {r}`, or `{} / {}` for the fraction", as_float(l), as_float(r)))
                    .fix("divide as integers", expr.span, format!("{l} // {r}"), Applicability::Maybe),
            ),
            BinaryOp::Rem if written.contains('%') && scalar.is_signed_int() && may_be_negative(left) => found.push(
                Diagnostic::new(Code::W1201, "`%` of a negative number is negative in a kernel")
                    .label(left.span, "this may be below zero")
                    .note("Python's `%` has the sign of the right side; C's and kernels' that of the left side")
                    .help(format!("to wrap around, add the divisor first: `({l} + {r}) % {r}`")),
            ),
            _ => {}
        }
    });
}

/// The text of an integer as a float.
fn as_float(text: &str) -> String {
    let bare = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    let bare = bare.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(text);
    if bare.parse::<u64>().is_ok() { format!("{bare}.0") } else { format!("float({bare})") }
}

/// A difference or a negation of something that is no constant.
fn may_be_negative(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Sub, left, right) => {
            // `n - 1 - i` counts down from an extent; only a subtraction from a bare variable or index is the pattern.
            matches!(left.kind, ExprKind::Local(_) | ExprKind::ThreadIndex(_)) && right.as_number().is_some()
        }
        ExprKind::Unary(UnaryOp::Neg, operand) => operand.as_number().is_none(),
        _ => false,
    }
}
