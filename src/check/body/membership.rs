//! How `x is None` and `i in [a, b]` are written.

use super::{Binding, Body};
use crate::check::types::fraction::tight;
use crate::source::Span;
use crate::syntax::ast::{CompareOp, Expr, ExprKind};
use crate::types::Type;

impl Body<'_, '_> {
    /// What to write instead of a comparison that kernels do not have: the text itself, or advice
    /// where no text means the same. None: this is another comparison.
    pub fn other_comparison(&self, first: &Expr, op: CompareOp, other: &Expr) -> Option<Result<String, String>> {
        let text = |span: Span| self.c.sources.text(span);
        let subject = text(first.span);
        match (op, &other.kind) {
            (CompareOp::Is | CompareOp::Eq | CompareOp::IsNot | CompareOp::Ne, ExprKind::None) => {
                let is = matches!(op, CompareOp::Is | CompareOp::Eq);
                Some(match self.never_missing(first) {
                    true => Err(format!("`{subject}` is a value, which is never `None`: leave the condition away")),
                    false if is => Ok(format!("not {subject}")),
                    false => Ok(subject.to_string()),
                })
            }
            (CompareOp::In | CompareOp::NotIn, ExprKind::List(items) | ExprKind::Tuple(items)) if !items.is_empty() => {
                let (compare, join) = if op == CompareOp::In { ("==", " or ") } else { ("!=", " and ") };
                let join = |subject: &str| {
                    let each = items.iter().map(|item| format!("{subject} {compare} {}", text(item.span)));
                    each.collect::<Vec<_>>().join(join)
                };
                // What is written twice is computed twice.
                if items.len() > 1 && calls(first) {
                    return Some(Err(format!("give it a name first: `value = {subject}`, then `{}`", join("value"))));
                }
                let whole = join(&tight(subject));
                Some(Ok(if items.len() == 1 { whole } else { format!("({whole})") }))
            }
            _ => None,
        }
    }

    /// Whether an expression is no array: a variable of another type, an element, a result.
    fn never_missing(&self, expr: &Expr) -> bool {
        let name = match &expr.kind {
            ExprKind::Name(name) => name,
            ExprKind::Attribute { .. } => return false,
            _ => return true,
        };
        match self.scope.get(name) {
            Some(Binding::Local(id)) => {
                let ty = self.locals[*id].ty;
                !matches!(ty, Type::Array(_)) && self.c.as_indexed(ty).is_none()
            }
            _ => false,
        }
    }
}

/// Whether an expression calls something.
fn calls(expr: &Expr) -> bool {
    let mut found = false;
    crate::syntax::visit::walk(expr, &mut |part| found |= matches!(part.kind, ExprKind::Call { .. }));
    found
}
