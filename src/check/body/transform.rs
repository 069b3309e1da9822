//! Components of a transform by one index: 0 to 2 are those of its position, 3 to 6 those of its
//! rotation.

use crate::check::body::Body;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, Place, Step, Stmt, StmtKind};
use crate::check::types::value::{Constant, Number, Operand, Res, cast_to};
use crate::ir::{BinaryOp as IrBinary, CompareOp};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::types::{BOOL, I32, Scalar, Type};

/// The component that an index names at run time: of the position, or of the rotation.
pub(super) struct Either {
    in_position: Expr,
    position: Place,
    rotation: Place,
}

impl Body<'_, '_> {
    /// `t[k]`: one of the 7 numbers of a transform.
    pub(super) fn index_transform(
        &mut self,
        base: Expr,
        scalar: Scalar,
        index: &ast::Expr,
        span: Span,
    ) -> Res<Operand> {
        let value = self.int_value(index)?;
        match self.number(&value) {
            Some(Number::Int(k)) if (-7..7).contains(&k) => {
                let k = k.rem_euclid(7);
                let (half, rest) = if k < 3 { (0, k) } else { (1, k - 3) };
                let part = self.part(base, Step::At(half), span);
                Ok(Operand::Value(self.part(part, Step::At(rest as u32), span)))
            }
            Some(_) => Err(self.report(messages::indices::outside_transform(index.span))),
            None => {
                let mut lets = Vec::new();
                let base = self.shared(base, &mut lets);
                let mut numbers = Vec::new();
                for (half, count) in [(0, 3), (1, 4)] {
                    let part = self.part(base.clone(), Step::At(half), span);
                    numbers.extend((0..count).map(|k| self.part(part.clone(), Step::At(k), span)));
                }
                let vector = Expr::new(ExprKind::Construct(numbers), Type::Vec(7, scalar), span);
                let component = self.part(vector, Step::Dynamic(Box::new(value)), span);
                Ok(Operand::Value(self.wrap(lets, component)))
            }
        }
    }

    /// The places of `t[k]`, where `t` is a transform and `k` not known; None for every other
    /// target.
    pub(super) fn transform_places(&mut self, target: &ast::Expr, out: &mut Vec<Stmt>) -> Res<Option<Either>> {
        let ast::ExprKind::Subscript { base, indices } = &target.kind else { return Ok(None) };
        let [index] = indices.as_slice() else { return Ok(None) };
        if matches!(index.kind, ast::ExprKind::Slice { .. } | ast::ExprKind::Int(_)) || !self.may_be_transform(base) {
            return Ok(None);
        }
        let Operand::Value(base) = self.expr(base)? else { return Ok(None) };
        let (Type::Transform(scalar), Some(place)) = (base.ty, self.as_place(base)) else { return Ok(None) };
        let index = self.int_value(index)?;
        if self.number(&index).is_some() {
            return Ok(None);
        }
        let span = target.span;
        let place = self.evaluate_once(place, out);
        let mut keep = |body: &mut Self, value: Expr| {
            let id = body.new_local("", value.ty, span);
            out.push(body.assign_local(id, value, span));
            Expr::new(ExprKind::Local(id), body.locals[id].ty, span)
        };
        let number = |n: i128| Constant::untyped(Number::Int(n)).expr_as(Scalar::I32, span);
        let sum = |a: &Expr, n: i128| {
            Expr::new(ExprKind::Binary(IrBinary::Add, Box::new(a.clone()), Box::new(number(n))), I32, span)
        };
        let less = |a: &Expr, n: i128| {
            Expr::new(ExprKind::Compare(CompareOp::Lt, Box::new(a.clone()), Box::new(number(n))), BOOL, span)
        };
        let select = |condition: Expr, then: Expr, otherwise: Expr| {
            let (condition, then, otherwise) = (Box::new(condition), Box::new(then), Box::new(otherwise));
            Expr::new(ExprKind::Select { condition, then, otherwise }, I32, span)
        };
        let index = keep(self, cast_to(index, Scalar::I32));
        let wrapped = keep(self, select(less(&index, 0), sum(&index, 7), index.clone()));
        // What lies before the first component is behind the last one, so that its bounds tell of
        // it.
        let inside = keep(self, select(less(&wrapped, 0), number(7), wrapped.clone()));
        let half = |at: u32, index: Expr| {
            let mut place = place.clone();
            place.path.extend([Step::At(at), Step::Dynamic(Box::new(index))]);
            Place { ty: Type::Scalar(scalar), span, ..place }
        };
        let (position, rotation) = (half(0, inside.clone()), half(1, sum(&inside, -3)));
        Ok(Some(Either { in_position: less(&inside, 3), position, rotation }))
    }

    /// Whether the base of an index can be a transform: then it is evaluated to see.
    fn may_be_transform(&mut self, base: &ast::Expr) -> bool {
        let mut root = base;
        while let ast::ExprKind::Subscript { base, .. } | ast::ExprKind::Attribute { base, .. } = &root.kind {
            root = base;
        }
        let ast::ExprKind::Name(name) = &root.kind else { return false };
        match self.scope.get(name.as_str()) {
            Some(crate::check::body::Binding::Local(id)) => match self.locals[*id].ty {
                Type::Transform(_) | Type::Struct(_) => true,
                Type::Array(array) => matches!(Type::from(array.element), Type::Transform(_) | Type::Struct(_)),
                Type::Local(array) => {
                    !array.block && matches!(Type::from(array.element), Type::Transform(_) | Type::Struct(_))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// `t[k] = value`, where `t` is a transform and `k` not known; false for every other target.
    pub(super) fn assign_component(
        &mut self,
        target: &ast::Expr,
        value: &Operand,
        at: Span,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Res<bool> {
        let Some(either) = self.transform_places(target, out)? else { return Ok(false) };
        let value = self.component_value(value.clone(), &either, at, out)?;
        let set = |place: Place| vec![Stmt { kind: StmtKind::Assign(place, value.clone()), span }];
        let (then, otherwise) = (set(either.position), set(either.rotation));
        out.push(Stmt { kind: StmtKind::If { condition: either.in_position, then, otherwise }, span });
        Ok(true)
    }

    /// `t[k] op= value`, where `t` is a transform and `k` not known; false for every other target.
    pub(super) fn update_component(
        &mut self,
        target: &ast::Expr,
        op: BinaryOp,
        value: &Operand,
        (at, span): (Span, Span),
        out: &mut Vec<Stmt>,
    ) -> Res<bool> {
        let Some(either) = self.transform_places(target, out)? else { return Ok(false) };
        let value = self.component_value(value.clone(), &either, at, out)?;
        let (mut then, mut otherwise) = (Vec::new(), Vec::new());
        for (place, side) in [(either.position, &mut then), (either.rotation, &mut otherwise)] {
            self.update(place, op, Operand::Value(value.clone()), (target.span, at, span), side)?;
        }
        out.push(Stmt { kind: StmtKind::If { condition: either.in_position, then, otherwise }, span });
        Ok(true)
    }

    /// The number for a component, computed once.
    fn component_value(&mut self, value: Operand, either: &Either, at: Span, out: &mut Vec<Stmt>) -> Res<Expr> {
        let value = self.coerce(value, either.position.ty, at)?;
        if value.ty != either.position.ty {
            return self.store_mismatch(&either.position, &value);
        }
        let id = self.new_local("", value.ty, at);
        out.push(self.assign_local(id, value, at));
        Ok(Expr::new(ExprKind::Local(id), self.locals[id].ty, at))
    }
}
