//! Constants that outlive the place where they were computed.

use std::collections::HashMap;

use crate::check::budget::expr_parts;
use crate::check::tree::{Expr, ExprKind, LocalId};
use crate::check::types::value::Operand;
use crate::limits::MAX_CONSTANT_PARTS;

impl Operand {
    /// A constant without the variables of the place where it was computed: each use of one is
    /// replaced by its value, which has no effects. None: that would make it too large.
    pub(in crate::check) fn closed(self) -> Option<Operand> {
        let mut inliner = Inliner { values: HashMap::new(), left: MAX_CONSTANT_PARTS };
        inliner.operand(self)
    }
}

struct Inliner {
    values: HashMap<LocalId, Expr>,
    /// The parts that may still be added.
    left: usize,
}

impl Inliner {
    fn operand(&mut self, operand: Operand) -> Option<Operand> {
        Some(match operand {
            Operand::Value(expr) => Operand::Value(self.expr(expr)?),
            Operand::Tuple(items) => {
                Operand::Tuple(items.into_iter().map(|item| self.operand(item)).collect::<Option<_>>()?)
            }
            other => other,
        })
    }

    fn expr(&mut self, expr: Expr) -> Option<Expr> {
        let Expr { kind, ty, span } = expr;
        let kind = match kind {
            ExprKind::Local(id) => match self.values.get(&id) {
                Some(value) => {
                    self.left = self.left.checked_sub(expr_parts(value))?;
                    return Some(value.clone());
                }
                None => ExprKind::Local(id),
            },
            ExprKind::Let { local, value, body } => {
                let value = self.expr(*value)?;
                self.values.insert(local, value);
                return self.expr(*body);
            }
            ExprKind::Unary(op, a) => ExprKind::Unary(op, self.boxed(a)?),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(op, self.boxed(a)?, self.boxed(b)?),
            ExprKind::Compare(op, a, b) => ExprKind::Compare(op, self.boxed(a)?, self.boxed(b)?),
            ExprKind::Fma(a, b, c) => ExprKind::Fma(self.boxed(a)?, self.boxed(b)?, self.boxed(c)?),
            ExprKind::Cast(a) => ExprKind::Cast(self.boxed(a)?),
            ExprKind::Bitcast(a) => ExprKind::Bitcast(self.boxed(a)?),
            ExprKind::Select { condition, then, otherwise } => {
                let (condition, then, otherwise) = (self.boxed(condition)?, self.boxed(then)?, self.boxed(otherwise)?);
                ExprKind::Select { condition, then, otherwise }
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let (condition, then, otherwise) = (self.boxed(condition)?, self.boxed(then)?, self.boxed(otherwise)?);
                ExprKind::Conditional { condition, then, otherwise }
            }
            ExprKind::Part { base, path } => ExprKind::Part { base: self.boxed(base)?, path },
            ExprKind::Construct(parts) => ExprKind::Construct(self.all(parts)?),
            ExprKind::And(parts) => ExprKind::And(self.all(parts)?),
            ExprKind::Or(parts) => ExprKind::Or(self.all(parts)?),
            ExprKind::Call(mut call) => {
                call.args = self.all(call.args)?;
                ExprKind::Call(call)
            }
            other => other,
        };
        Some(Expr { kind, ty, span })
    }

    fn boxed(&mut self, part: Box<Expr>) -> Option<Box<Expr>> {
        self.expr(*part).map(Box::new)
    }

    fn all(&mut self, parts: Vec<Expr>) -> Option<Vec<Expr>> {
        parts.into_iter().map(|part| self.expr(part)).collect()
    }
}
