//! W1204: a comparison that is done in double precision because one side is `float64`. GPUs for
//! graphics and games do 1 such operation for 32 or 64 in single precision.

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::types::{F32, F64};

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    visit::each_expression(&subject.function.body, &mut |expr| {
        let ExprKind::Compare(_, left, right) = &expr.kind else { return };
        for (side, other) in [(left, right), (right, left)] {
            let ExprKind::Cast(inner) = &side.kind else { continue };
            // A conversion that the user wrote has more text than its operand.
            if side.ty != F64 || inner.ty != F32 || inner.span != side.span || other.ty != F64 {
                continue;
            }
            let text = subject.text(inner.span);
            found.push(messages::lints::mixed_precision(text, inner.span, other.span));
        }
    });
}
