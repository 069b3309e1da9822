//! Expressions.

use crate::check::body::{Binding, Body, Mode};
use crate::check::messages;
use crate::check::names::member::is_core;
use crate::check::state::globals::Global;
use crate::check::tree::{Expr, ExprKind};
use crate::check::types::value::{Constant, Number, Operand, Reported, Res};
use crate::ir::{BinaryOp, Derived, NamedConstant};
use crate::syntax::ast::{self, BoolOp};
use crate::types::{BOOL, Type};

impl Body<'_, '_> {
    pub fn expr(&mut self, expr: &ast::Expr) -> Res<Operand> {
        let result = self.meaning(expr).map(|operand| self.in_double(operand));
        if let Ok(operand) = &result {
            self.note_name(expr, operand);
        }
        if let (Some(facts), Ok(operand)) = (&mut self.c.output.facts, &result) {
            facts.expression(expr.span, || operand.meaning());
        }
        result
    }

    /// Notes where the source has a name for a constant: readers of generated code want to see it.
    fn note_name(&mut self, expr: &ast::Expr, operand: &Operand) {
        let composite = match operand {
            Operand::Const(_) => false,
            Operand::Value(Expr { kind: ExprKind::Construct(parts), .. }) => {
                if !parts.iter().all(|part| matches!(part.kind, ExprKind::Const(_))) {
                    return;
                }
                true
            }
            _ => return,
        };
        if self.mode != Mode::User {
            return;
        }
        let name = match &expr.kind {
            ast::ExprKind::Binary { op, left, right } => self.derived_constant(*op, left, right),
            _ => self.constant_name(expr).map(|name| NamedConstant::new(name, composite)),
        };
        if let Some(name) = name {
            let id = self.c.output.constants.enter(name);
            self.summary.named.insert(expr.span, id);
        }
    }

    /// What a name means outside of the function.
    fn outside(&self, name: &str) -> Option<&Global> {
        if self.scope.contains_key(name) { None } else { self.c.lookup(name).map(|(_, global)| global) }
    }

    /// The name of a constant.
    fn constant_name(&self, expr: &ast::Expr) -> Option<String> {
        match &expr.kind {
            ast::ExprKind::Name(name) => matches!(self.outside(name), Some(Global::Value(_))).then(|| name.to_string()),
            ast::ExprKind::Attribute { base, name } => match &base.kind {
                ast::ExprKind::Name(base) => match self.outside(base) {
                    Some(Global::Module(module)) if !is_core(module) => Some(name.text.to_string()),
                    Some(Global::Enum(_) | Global::Class(..)) => Some(format!("{base}_{}", name.text)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// `width - 1`, where `width` is the name of an integer.
    fn derived_constant(&mut self, op: ast::BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Option<NamedConstant> {
        let (ast::ExprKind::Name(name), ast::ExprKind::Int(Some(number))) = (&left.kind, &right.kind) else {
            return None;
        };
        let (op, symbol) = match op {
            ast::BinaryOp::Add => (BinaryOp::Add, "+"),
            ast::BinaryOp::Sub => (BinaryOp::Sub, "-"),
            ast::BinaryOp::Mul => (BinaryOp::Mul, "*"),
            ast::BinaryOp::Div => (BinaryOp::Div, "/"),
            ast::BinaryOp::FloorDiv => (BinaryOp::FloorDiv, "//"),
            _ => return None,
        };
        let Some(Global::Value(Operand::Const(Constant { number: Number::Int(value), .. }))) = self.outside(name)
        else {
            return None;
        };
        let (value, number) = (i64::try_from(*value).ok()?, i64::try_from(*number).ok()?);
        let of = self.c.output.constants.enter(NamedConstant::new(name.to_string(), false));
        let derived = Some(Derived { of, value, op, number });
        Some(NamedConstant { name: format!("{name} {symbol} {number}"), composite: false, derived })
    }

    fn meaning(&mut self, expr: &ast::Expr) -> Res<Operand> {
        let span = expr.span;
        if let Some(value) = self.python_value(expr) {
            return value;
        }
        if let Some(reported) = self.foreign(expr) {
            return Err(reported);
        }
        let untyped = |number| Ok(Operand::Const(Constant::untyped(number)));
        match &expr.kind {
            ast::ExprKind::Name(name) => self.name(name, span),
            ast::ExprKind::Attribute { base, name } => self.attribute(base, name, span),
            ast::ExprKind::Int(Some(value)) => match i128::try_from(*value) {
                Ok(value) => untyped(Number::Int(value)),
                Err(_) => Err(self.report(messages::values::integer_beyond_64_bits(span))),
            },
            ast::ExprKind::Int(None) => Err(self.report(messages::values::integer_beyond_64_bits(span))),
            ast::ExprKind::Float(value) => untyped(Number::Float(*value)),
            ast::ExprKind::Bool(value) => untyped(Number::Bool(*value)),
            ast::ExprKind::Str(text) => Ok(Operand::Str(text.clone())),
            ast::ExprKind::None => self.unsupported(span, "`None`", None),
            ast::ExprKind::Unary { op, operand } => {
                let value = self.expr(operand)?;
                self.unary(*op, value, span, operand.span)
            }
            ast::ExprKind::Binary { op, left, right } => self.binary_chain(*op, left, right, span),
            ast::ExprKind::Logic { op, operands } => self.logic(*op, operands, expr),
            ast::ExprKind::Compare { first, rest } => self.comparison(first, rest, span),
            ast::ExprKind::Conditional { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise, expr)
            }
            ast::ExprKind::Call { callee, args } => match self.slice_object(expr)? {
                Some(range) => Ok(Operand::Slice(Box::new(range))),
                None => self.call(callee, args, span),
            },
            ast::ExprKind::Subscript { base, indices } => self.subscript(base, indices, span),
            ast::ExprKind::Slice { .. } => self.unsupported(span, "slices outside an index", None),
            ast::ExprKind::Tuple(items) => {
                let items: Res<Vec<Operand>> = items.iter().map(|item| self.expr(item)).collect();
                Ok(Operand::Tuple(items?))
            }
            ast::ExprKind::List(_) => {
                let diagnostic = messages::statements::lists(span);
                Err(match self.vector_text(expr) {
                    Some(vector) => self.replaced(diagnostic, span, &vector),
                    None => self.report(messages::repairs::vector_for_list(diagnostic)),
                })
            }
            ast::ExprKind::Starred(_) => self.unsupported(span, "starred expressions here", None),
            ast::ExprKind::Dict(_) => self.unsupported(span, "a dict", None),
            ast::ExprKind::Comprehension(comprehension) => self.unsupported(span, comprehension.what, None),
            ast::ExprKind::Lambda(_) if self.is_host() => Err(self.report(messages::values::opaque_value(span))),
            ast::ExprKind::Lambda(_) => self.unsupported(span, "a lambda", None),
            ast::ExprKind::Unsupported(what) => {
                // What `:=` names is said once.
                if what.contains(":=")
                    && let Some((name, _)) = self.c.sources.text(span).split_once(":=")
                {
                    self.scope.entry(name.trim_matches([' ', '(']).to_string()).or_insert(Binding::Broken);
                }
                self.unsupported(span, what, None)
            }
            ast::ExprKind::Opaque => Err(self.report(messages::values::opaque_value(span))),
            ast::ExprKind::Error => {
                self.failed = true;
                Err(Reported)
            }
        }
    }

    /// Left-nested chains such as sums of thousands of terms, without deep recursion.
    fn binary_chain(
        &mut self,
        op: ast::BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: crate::source::Span,
    ) -> Res<Operand> {
        let mut pending = vec![(op, right, span)];
        let mut first = left;
        while let ast::ExprKind::Binary { op, left, right } = &first.kind {
            pending.push((*op, right, first.span));
            first = left;
        }
        let mut value = self.expr(first);
        let mut at = first.span;
        for (op, right, span) in pending.into_iter().rev() {
            // Both sides are checked, so that errors in both are reported.
            let other = self.expr(right);
            value = match (value, other) {
                (Ok(l), Ok(r)) => self.binary(op, l, r, span, at, right.span),
                _ => Err(Reported),
            };
            at = span;
        }
        value
    }

    fn logic(&mut self, op: BoolOp, operands: &[ast::Expr], expr: &ast::Expr) -> Res<Operand> {
        if let Some(result) = self.python_logic(op, operands) {
            return result;
        }
        let mut values = Vec::new();
        let mut constants = Vec::new();
        let mut failed = false;
        for operand in operands {
            let before = self.statement.pending.len();
            let value = self.expr(operand);
            if !values.is_empty() {
                self.nothing_pending(before, operand.span)?;
            }
            match value {
                Ok(Operand::Const(c)) if values.is_empty() => {
                    // A constant that decides ends the expression: what follows is not looked at.
                    if self.meant(&c).is_true() == (op == BoolOp::Or) {
                        return Ok(Operand::Const(Constant::untyped(Number::Bool(op == BoolOp::Or))));
                    }
                    constants.push(c);
                }
                Ok(value) => match self.truth(value, operand.span) {
                    Ok(value) => values.push(value),
                    Err(Reported) => failed = true,
                },
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        Ok(match values.len() {
            0 => Operand::Const(Constant::untyped(Number::Bool(op == BoolOp::And))),
            1 => Operand::Value(values.remove(0)),
            _ => {
                let kind = if op == BoolOp::And { ExprKind::And(values) } else { ExprKind::Or(values) };
                Operand::Value(Expr::new(kind, BOOL, expr.span))
            }
        })
    }

    /// Two operands as values. In library code an untyped literal takes the scalar type of the
    /// other side.
    pub fn unify(
        &mut self,
        left: Operand,
        right: Operand,
        at_left: crate::source::Span,
        at_right: crate::source::Span,
    ) -> Res<(Expr, Expr)> {
        let adapted = |c: &Constant, v: &Expr| v.ty.scalar_part().filter(|&s| self.is_library() && c.adapts_to(s));
        let (left, right) = match (left, right) {
            (Operand::Const(c), Operand::Value(v)) if let Some(s) = adapted(&c, &v) => {
                return Ok((c.expr_as(s, at_left), v));
            }
            (Operand::Value(v), Operand::Const(c)) if let Some(s) = adapted(&c, &v) => {
                return Ok((v, c.expr_as(s, at_right)));
            }
            others => others,
        };
        Ok((self.materialize(left, at_left)?, self.materialize(right, at_right)?))
    }

    /// The operand as a value for a place of type `ty`: in library code literals take that type.
    pub fn coerce(&mut self, operand: Operand, ty: Type, span: crate::source::Span) -> Res<Expr> {
        if let (Operand::Const(c), Some(scalar), true) = (&operand, ty.as_scalar(), self.is_library())
            && c.adapts_to(scalar)
        {
            return Ok(c.expr_as(scalar, span));
        }
        let operand = self.adapted(operand, ty, span);
        if let (Operand::Value(Expr { kind: ExprKind::Local(id), ty: own, .. }), Some(scalar)) =
            (&operand, ty.as_scalar())
            && *own != ty
        {
            self.wish(*id, scalar, false);
        }
        self.materialize(operand, span)
    }
}
