//! Products of matrices.

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, arithmetic, compare, load, set, tile_type, variable};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt};
use crate::check::types::value::{Constant, Number, Operand, Res, cast_to};
use crate::diag::Diagnostic;
use crate::ir::{BinaryOp, CompareOp, UnaryOp, Unit};
use crate::source::Span;
use crate::types::{Element, LocalArrayType, Scalar, Type};

/// A product that allows a GPU less than `float32`, and has it; `span` is where.
pub fn precision_kept(span: Span, why: &str) -> Diagnostic {
    messages::builtins::precision_kept(why, span)
}

impl Body<'_, '_> {
    /// `tile_matmul(a, b, out, alpha, beta)`: `out = alpha * a @ b + beta * out`;
    /// `tile_matmul(a, b, alpha)`: the product.
    pub(super) fn tile_matmul(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let third_is_tile = given.get(2).is_some_and(|g| g.name.is_none() && self.is_tile(&g.operand));
        let in_place = third_is_tile || given.iter().any(|g| g.keyword() == Some("out"));
        let params: &[&str] = match in_place {
            true => &["a", "b", "out", "alpha", "beta", "precision"],
            false => &["a", "b", "alpha", "precision"],
        };
        let args = self.arguments_of("tile_matmul", params, if in_place { 3 } else { 2 }, given, span)?;
        let (a, b) = (self.tile_argument(&args, "a")?, self.tile_argument(&args, "b")?);
        let (out, place) = match in_place {
            true => (Some(self.tile_argument(&args, "out")?), Some(self.changed(&args, "out")?)),
            false => (None, None),
        };
        let scalar = self.float_of(out.as_ref().unwrap_or(&a))?;
        for side in [&a, &b] {
            self.float_of(side)?;
        }
        let ([m, k], [k2, n]) = (self.matrix(&a)?, self.matrix(&b)?);
        if k != k2 {
            return Err(self.report(messages::tile_shapes::product(
                &shape_text(&a.ty),
                &shape_text(&b.ty),
                k,
                k2,
                a.span,
                b.span,
            )));
        }
        if let Some(out) = &out
            && out.ty.extents() != [m, n]
        {
            return Err(self.report(messages::tile_shapes::product_into(m, n, &shape_text(&out.ty), out.span)));
        }
        let types = [Some(&a), Some(&b), out.as_ref()].into_iter().flatten();
        let all_float32 = types.into_iter().all(|tile| tile.element() == Type::Scalar(Scalar::F32));
        let tf32 = self.precision_argument(args.get("precision"), all_float32, [m, n, k])?;
        let alpha = self.factor(args.get("alpha"), scalar)?;
        let beta = self.factor(args.get("beta"), scalar)?;
        // Half floats are summed in float32 and rounded once.
        let wide = if scalar.size() < 4 { Scalar::F32 } else { scalar };
        let (a, b) = (self.cheap(a, span)?, self.cheap(b, span)?);
        if alpha.is_none()
            && beta.is_none()
            && let Some(Operand::Value(Expr { kind: ExprKind::Local(tile), .. })) = place
            && wide == scalar
            && ![&a, &b].iter().any(|factor| factor.reads(tile))
        {
            let stmts = self.add_products(tile, [a, b], [m, k, n], tf32, span)?;
            self.all_together(stmts, span);
            return Ok(Operand::Tuple(Vec::new()));
        }
        let product = self.product([a, b], [m, k, n], wide, tf32, span)?;
        let Some(place) = place else {
            if alpha.is_none() && wide == scalar {
                return Ok(Operand::Tile(product));
            }
            return self.scaled(product, alpha, None, scalar, span).map(Operand::Tile);
        };
        let old = out.map(|out| (out, beta));
        let sum = self.scaled(product, alpha, old, scalar, span)?;
        self.assign_place(place, Operand::Tile(sum), span)?;
        Ok(Operand::Tuple(Vec::new()))
    }

    /// `precision`: the word says how few bits of the factors a GPU may multiply. Whether they may
    /// be rounded to those of TensorFloat-32.
    fn precision_argument(&mut self, given: Option<&Given>, all_float32: bool, size: [u32; 3]) -> Res<bool> {
        let Some(given) = given else { return Ok(false) };
        match &given.operand {
            Operand::Str(word) if word == "default" => Ok(false),
            Operand::Str(word) if word == "tf32" && all_float32 => {
                if let Some(why) = Unit::Tf32.misfit(size) {
                    self.c.report(precision_kept(given.span, &why));
                }
                Ok(true)
            }
            // All types are others than those written.
            Operand::Str(word) if word == "tf32" && self.c.settings.double => Ok(false),
            Operand::Str(word) if word == "tf32" => {
                Err(self.report(messages::tile_arguments::tf32_of_others(given.span)))
            }
            _ => Err(self.report(messages::tile_arguments::precision(given.span))),
        }
    }

    /// The products and sums themselves, in a variable that begins with zeros.
    fn product(
        &mut self,
        factors: [Elements; 2],
        size: [u32; 3],
        scalar: Scalar,
        tf32: bool,
        span: Span,
    ) -> Res<Elements> {
        let [m, _, n] = size;
        let (id, _) = self.scratch(Element::Scalar(scalar), &[m, n], span);
        let stmts = self.add_products(id, factors, size, tf32, span)?;
        self.fills(id, &stmts);
        self.statement.pending.extend(stmts);
        self.result(id, span)
    }

    /// Adds the products to the elements of a variable: for each a chain of `fma` over the inner
    /// index, upward, that begins with the element. `tf32`: instructions may round the factors.
    fn add_products(
        &mut self,
        sums: LocalId,
        [a, b]: [Elements; 2],
        [m, k, n]: [u32; 3],
        tf32: bool,
        span: Span,
    ) -> Res<Vec<Stmt>> {
        let ty = self.locals[sums].ty;
        let result = variable(sums, ty, span);
        let scalar = match ty {
            Type::Local(LocalArrayType { element: Element::Scalar(scalar), .. }) => scalar,
            _ => return Err(self.report(messages::tile_arguments::product_added(span))),
        };
        let marked = |factor: Expr| match tf32 {
            true => Expr::new(ExprKind::Unary(UnaryOp::Tf32, Box::new(factor)), scalar.into(), span),
            false => factor,
        };
        let factor = self.new_local("", Type::Scalar(scalar), span);
        // Along a row last: what is added to lies side by side.
        self.over_named(&[m, k], &["row", "k"], span, |this, index| {
            let [i, l] = index else { return Ok(Vec::new()) };
            let left = marked(cast_to((a.at)(this, &[i.clone(), l.clone()], false)?, scalar));
            let mut stmts: Vec<Stmt> = vec![this.assign_local(factor, left, span)];
            stmts.extend(this.over_named(&[n], &["column"], span, |this, column| {
                let right = marked(cast_to((b.at)(this, &[l.clone(), column[0].clone()], false)?, scalar));
                let at = [i.clone(), column[0].clone()];
                let sum = load(result.clone(), scalar.into(), &at, span);
                let left = variable(factor, scalar, span);
                let fma = ExprKind::Fma(Box::new(left), Box::new(right), Box::new(sum));
                Ok(vec![set(result.clone(), &at, Expr::new(fma, scalar.into(), span), span)])
            })?);
            Ok(stmts)
        })
    }

    /// `alpha * product + beta * old` in the type `scalar`; a factor that is None is 1.
    fn scaled(
        &mut self,
        product: Elements,
        alpha: Option<Expr>,
        old: Option<(Elements, Option<Expr>)>,
        scalar: Scalar,
        span: Span,
    ) -> Res<Elements> {
        let wide = product.element().as_scalar().unwrap_or(scalar);
        let is_zero = |e: &Expr| matches!(e.as_number(), Some(Number::Float(x)) if x == 0.0);
        // With a factor of 0 the old elements do not count, not even as NaN.
        let old = old.filter(|(_, beta)| !beta.as_ref().is_some_and(is_zero));
        let mut reads = product.reads.clone();
        reads.extend(old.iter().flat_map(|(old, _)| old.reads.iter().copied()));
        let times = move |factor: &Option<Expr>, value: Expr| match factor {
            Some(factor) => arithmetic(BinaryOp::Mul, cast_to(factor.clone(), wide), value),
            None => value,
        };
        let (ty, at) = (tile_type(Element::Scalar(scalar), product.ty.extents()), product.at.clone());
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            let mut value = times(&alpha, at(body, index, sure)?);
            if let Some((old, beta)) = &old {
                let old = times(beta, cast_to((old.at)(body, index, sure)?, wide));
                let sum = arithmetic(BinaryOp::Add, value.clone(), old);
                value = match beta {
                    Some(beta) if beta.as_number().is_none() => {
                        let zero = Constant::untyped(Number::Float(0.0)).expr_as(scalar, span);
                        let condition = Box::new(compare(CompareOp::Eq, beta.clone(), zero));
                        let (then, otherwise) = (Box::new(value), Box::new(sum));
                        Expr::new(ExprKind::Conditional { condition, then, otherwise }, Type::Scalar(wide), span)
                    }
                    _ => sum,
                };
            }
            Ok(cast_to(value, scalar))
        });
        Ok(Elements { reads, cheap: false, ..Elements::free(ty, span, at) })
    }

    /// A factor of the product, evaluated once; None: 1.
    fn factor(&mut self, given: Option<&Given>, scalar: Scalar) -> Res<Option<Expr>> {
        let Some(given) = given else { return Ok(None) };
        let value = match &given.operand {
            Operand::Const(Constant { number, scalar: None }) if number.as_f64() == 1.0 => return Ok(None),
            operand => self.materialize(operand.clone(), given.span)?,
        };
        if value.ty.as_scalar().is_none() {
            let shown = self.show(value.ty);
            return Err(self.report(messages::tile_arguments::factor(&shown, given.span)));
        }
        let value = cast_to(value, scalar);
        Ok(Some(self.hidden(value)))
    }

    fn float_of(&mut self, tile: &Elements) -> Res<Scalar> {
        match tile.element() {
            Type::Scalar(scalar) if scalar.is_float() => Ok(scalar),
            ty => {
                let shown = self.show(ty);
                Err(self.report(messages::tile_arguments::product_of_others(&shown, tile.span)))
            }
        }
    }

    fn matrix(&mut self, tile: &Elements) -> Res<[u32; 2]> {
        match *tile.ty.extents() {
            [rows, columns] => Ok([rows, columns]),
            _ => Err(self.report(messages::tile_shapes::not_a_matrix("tile_matmul", &shape_text(&tile.ty), tile.span))),
        }
    }
}
