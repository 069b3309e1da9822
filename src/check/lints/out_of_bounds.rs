//! W0703: a constant index outside a local array, whose extents are known.

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::types::value::Number;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::types::Type;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let mut look = |array: &Expr, index: &[Expr]| {
        let Type::Local(local) = array.ty else { return };
        for (part, &extent) in index.iter().zip(&local.shape) {
            let Some(Number::Int(k)) = part.as_number() else { continue };
            let extent = i128::from(extent);
            if !(-extent..extent).contains(&k) {
                let shown = subject.show(array.ty);
                found.push(messages::lints::out_of_bounds(k, extent, &shown, part.span, array.span));
            }
        }
    };
    visit::each_expression(&subject.function.body, &mut |expr| {
        if let ExprKind::Load { array, index, .. } = &expr.kind {
            look(array, index);
        }
    });
    visit::each_statement(&subject.function.body, &mut |stmt| {
        if let StmtKind::Assign(Place { root: Root::Element { array, index }, .. }, _)
        | StmtKind::AtomicUpdate { place: Place { root: Root::Element { array, index }, .. }, .. } = &stmt.kind
        {
            look(array, index);
        }
    });
}
