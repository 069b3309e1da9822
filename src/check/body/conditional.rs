//! Conditional expressions: `a if c else b`.

use crate::check::body::Body;
use crate::check::body::ways::same_operand;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::advice::left_moves;
use crate::check::types::value::{Operand, Res, convert_help};
use crate::diag::{Applicability, quoted};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

impl Body<'_, '_> {
    pub(super) fn conditional(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        expr: &ast::Expr,
    ) -> Res<Operand> {
        let condition = match self.expr(condition)? {
            Operand::Const(c) => return self.expr(if self.meant(&c).is_true() { then } else { otherwise }),
            operand => match self.python_truth(&operand) {
                Some(holds) => return self.expr(if holds { then } else { otherwise }),
                None => self.truth(operand, condition.span)?,
            },
        };
        let before = self.statement.pending.len();
        let left = self.expr(then)?;
        let first = self.statement.pending.split_off(before);
        let right = self.expr(otherwise)?;
        let second = self.statement.pending.split_off(before);
        if let Some(chosen) = self.known_choice(&left, &right, (then.span, otherwise.span), expr.span) {
            return chosen;
        }
        if self.has_several(&left) && self.has_several(&right) {
            if self.summary.by_block {
                self.statement.pending.extend(first.iter().chain(&second).cloned());
                self.nothing_pending(before, expr.span)?;
            }
            return self.tuple_choice(condition, (left, first, then.span), (right, second, otherwise.span), expr.span);
        }
        self.statement.pending.extend(first.into_iter().chain(second));
        self.nothing_pending(before, expr.span)?;
        if self.is_tile(&left) && self.is_tile(&right) {
            let given = |operand, span| Given { name: None, operand, span };
            let condition = given(Operand::Value(condition), expr.span);
            return self.tile_choice([condition, given(left, then.span), given(right, otherwise.span)], expr.span);
        }
        let (left, right) = self.adapted_pair(left, right, (then.span, otherwise.span));
        let (left, right) = self.unify(left, right, then.span, otherwise.span)?;
        if left.ty != right.ty {
            let (a, b) = (self.show(left.ty), self.show(right.ty));
            let mut diagnostic = messages::types::sides_of_conditional(&a, &b, then.span, otherwise.span);
            diagnostic = self.label_origin(diagnostic, &left, then.span);
            diagnostic = self.label_origin(diagnostic, &right, otherwise.span);
            diagnostic = match (left.ty, right.ty) {
                (Type::Scalar(a), Type::Scalar(b)) => {
                    let (at, cast) = match left_moves(a, b) {
                        true => (then.span, (left.ty, b)),
                        false => (otherwise.span, (right.ty, a)),
                    };
                    self.suggest_cast(diagnostic, at, cast, "one side", Applicability::Maybe)
                }
                _ => diagnostic.help(convert_help(right.ty)),
            };
            return Err(self.report(diagnostic));
        }
        let ty = left.ty;
        let kind =
            ExprKind::Conditional { condition: Box::new(condition), then: Box::new(left), otherwise: Box::new(right) };
        Ok(Operand::Value(Expr::new(kind, ty, expr.span)))
    }

    /// A choice between what is known while compiling: the same on both sides, or an error. None:
    /// it is a choice between values.
    fn known_choice(
        &mut self,
        left: &Operand,
        right: &Operand,
        (then, otherwise): (Span, Span),
        span: Span,
    ) -> Option<Res<Operand>> {
        use Operand::{Enum, Function, Gradient, Module, Type};
        let known = |operand: &Operand| matches!(operand, Function(_) | Gradient(_) | Type(_) | Module(_) | Enum(_));
        if self.is_host() || !known(left) || !known(right) {
            return None;
        }
        if same_operand(left, right) {
            return Some(Ok(left.clone()));
        }
        let text = |span: Span| self.c.sources.text(span).to_string();
        let (a, b) = (text(then), text(otherwise));
        let diagnostic = messages::values::undecided_choice(&a, &b, span);
        Some(Err(self.report(diagnostic)))
    }

    /// Whether an operand is several values: a tuple, a shape, or what a function with several
    /// results returns.
    fn has_several(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Tuple(_) | Operand::Shape(_) => !self.is_host(),
            Operand::Results(_, types) => types.len() > 1,
            _ => false,
        }
    }

    /// A choice between two tuples: a branch before the statement, in which only one side is
    /// computed.
    fn tuple_choice(
        &mut self,
        condition: Expr,
        left: (Operand, Vec<Stmt>, Span),
        right: (Operand, Vec<Stmt>, Span),
        span: Span,
    ) -> Res<Operand> {
        let (at_left, at_right) = (left.2, right.2);
        let mut ids: Option<Vec<LocalId>> = None;
        let mut sides = Vec::new();
        for (operand, mut side, at) in [left, right] {
            let (types, given) = match operand {
                Operand::Results(call, types) => (types, Err(call)),
                operand => {
                    let items = match operand {
                        Operand::Shape(array) => self.extents(&array, at),
                        Operand::Tuple(items) => items,
                        other => vec![other],
                    };
                    let before = self.statement.pending.len();
                    let values: Res<Vec<Expr>> = items.into_iter().map(|item| self.materialize(item, at)).collect();
                    side.extend(self.statement.pending.split_off(before));
                    let values = values?;
                    (values.iter().map(|value| value.ty).collect(), Ok(values))
                }
            };
            let found: Vec<Type> = ids.iter().flatten().map(|&id| self.locals[id].ty).collect();
            if ids.is_some() && found != types || types.iter().any(|ty| matches!(ty, Type::Local(_))) {
                let shown = |types: &[Type]| quoted(types.iter().map(|&ty| self.show(ty)));
                let (one, other) = (if ids.is_some() { shown(&found) } else { shown(&types) }, shown(&types));
                let diagnostic = messages::types::tuples_of_conditional(&one, &other, at_left, at_right);
                return Err(self.report(diagnostic));
            }
            let ids = &*ids.get_or_insert_with(|| types.iter().map(|&ty| self.new_local("", ty, span)).collect());
            match given {
                Err(call) => self.call_into(call, ids, at, &mut side),
                Ok(values) => {
                    let pairs = ids.iter().copied().zip(values).collect();
                    side.push(Stmt { kind: StmtKind::AssignMany(pairs), span: at });
                }
            }
            sides.push(side);
        }
        let mut sides = sides.into_iter();
        let (then, otherwise) = (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
        self.statement.pending.push(Stmt { kind: StmtKind::If { condition, then, otherwise }, span });
        Ok(Operand::Tuple(ids.unwrap_or_default().into_iter().map(|id| self.local_operand(id, span)).collect()))
    }
}
