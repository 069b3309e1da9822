//! Tiles made of nothing but numbers.

use std::rc::Rc;

use super::elements::{Elements, arithmetic, tile_type};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind};
use crate::check::types::value::{Constant, Number, Operand, Res, cast_to};
use crate::ir::BinaryOp;
use crate::source::Span;
use crate::types::{Element, F32, Scalar, Type};

impl Body<'_, '_> {
    /// `tile_zeros`, `tile_ones`: all scalars are `value`, or nothing is said of them (which is 0
    /// here as well).
    pub(super) fn tile_constant(
        &mut self,
        name: &str,
        value: Option<i64>,
        given: &[Given],
        span: Span,
    ) -> Res<Operand> {
        let name = match (name, value) {
            ("tile_empty", _) => "tile_empty",
            ("zeros", _) => "zeros",
            (_, Some(_)) => "tile_ones",
            (_, None) => "tile_zeros",
        };
        let args = self.arguments_of(name, &["shape", "dtype", "storage"], 1, given, span)?;
        let Some(shape) = args.get("shape") else {
            return Err(self.report(messages::tile_arguments::nothing_given("shape", span)));
        };
        let extents = self.shape_argument(shape)?;
        let element = self.dtype_argument(args.get("dtype"), Element::Scalar(Scalar::F32))?;
        let ty: Type = element.into();
        let value = match value {
            None => Expr::new(ExprKind::Zero, ty, span),
            Some(n) => match self.uniform_value(ty, n, span) {
                Some(value) => value,
                None => {
                    let shown = self.show(ty);
                    return Err(self.report(messages::tile_arguments::no_ones(name, &shown, span)));
                }
            },
        };
        let at = Rc::new(move |_: &mut Body, _: &[Expr], _| Ok(value.clone()));
        Ok(Operand::Tile(Elements::free(tile_type(element, &extents), span, at)))
    }

    /// `wp.zeros(..., storage="shared")`
    pub(super) fn shared_array(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let storage = given.iter().find(|arg| arg.keyword() == Some("storage"));
        if let Some(storage) = storage
            && !matches!(&storage.operand, Operand::Str(word) if word == "shared")
        {
            return Err(self.report(messages::tile_arguments::storage_of_array(storage.span)));
        }
        self.together(true, span);
        let made = self.tile_constant("zeros", None, given, span);
        self.together(false, span);
        made
    }

    /// The value of a type whose components are all `n`; a quaternion's first one alone.
    fn uniform_value(&self, ty: Type, n: i64, span: Span) -> Option<Expr> {
        let scalar = ty.scalar_part()?;
        let one = |n: i64| Constant::untyped(Number::Int(n.into())).expr_as(scalar, span);
        if let Type::Scalar(_) = ty {
            return Some(one(n));
        }
        let is_set = |k: u32| k == 0 || !matches!(ty, Type::Quat(_));
        let parts = (0..ty.scalar_count()?).map(|k| one(if is_set(k) { n } else { 0 })).collect();
        Some(Expr::new(ExprKind::Construct(parts), ty, span))
    }

    pub(super) fn tile_full(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_full", &["shape", "value", "dtype", "storage"], 2, given, span)?;
        let (Some(shape), Some(value)) = (args.get("shape"), args.get("value")) else {
            return Err(self.report(messages::tile_arguments::nothing_given("shape or no value", span)));
        };
        let extents = self.shape_argument(shape)?;
        let wanted = match args.get("dtype") {
            Some(dtype) => Some(Type::from(self.dtype_argument(Some(dtype), Element::Scalar(Scalar::F32))?)),
            None => None,
        };
        let value = match (&value.operand, wanted.and_then(Type::as_scalar)) {
            (Operand::Const(c), Some(scalar)) => c.expr_as(scalar, value.span),
            (operand, scalar) => {
                let value = self.materialize(operand.clone(), value.span)?;
                match scalar {
                    Some(scalar) if value.ty.as_scalar().is_some() => cast_to(value, scalar),
                    _ => value,
                }
            }
        };
        if let Some(wanted) = wanted.filter(|&wanted| wanted != value.ty) {
            let (found, wanted) = (self.show(value.ty), self.show(wanted));
            return Err(self.report(messages::tile_arguments::fill_value(&wanted, &found, value.span)));
        }
        let Some(element) = value.ty.element() else {
            return Err(self.report(messages::tile_arguments::not_an_element(value.span)));
        };
        let value = self.hidden(value);
        let at = Rc::new(move |_: &mut Body, _: &[Expr], _| Ok(value.clone()));
        Ok(Operand::Tile(Elements::free(tile_type(element, &extents), span, at)))
    }

    /// `tile_arange(stop)`, `(start, stop)`, `(start, stop, step)`, all constants.
    pub(super) fn tile_arange(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let (bounds, named): (Vec<&Given>, Vec<&Given>) = given.iter().partition(|arg| arg.name.is_none());
        let mut dtype = None;
        for arg in named {
            match arg.keyword() {
                Some("dtype") => dtype = Some(arg),
                Some("storage") => {}
                _ => {
                    let at = arg.name.as_ref().map_or(arg.span, |name| name.span);
                    return Err(self.report(messages::tile_arguments::keyword_of_arange(at)));
                }
            }
        }
        let scalar = match dtype {
            Some(dtype) => self.type_argument(dtype)?,
            None => F32,
        };
        let Some(scalar) = scalar.as_scalar() else {
            return Err(self.report(messages::tile_arguments::type_of_arange(span)));
        };
        let mut numbers = Vec::new();
        for bound in &bounds {
            let known = match &bound.operand {
                Operand::Const(c) => Some(c.number),
                Operand::Value(expr) => self.number(expr),
                _ => None,
            };
            match known {
                Some(known) => numbers.push(known),
                None => {
                    return Err(self.report(messages::tile_arguments::bounds_of_arange(bound.span)));
                }
            }
        }
        let (zero, one) = (Number::Int(0), Number::Int(1));
        let (start, stop, step) = match numbers[..] {
            [stop] => (zero, stop, one),
            [start, stop] => (start, stop, one),
            [start, stop, step] => (start, stop, step),
            _ => {
                return Err(self.report(messages::tile_arguments::number_of_bounds(numbers.len(), span)));
            }
        };
        let [from, to, by] = [start, stop, step].map(|number| number.to_const(scalar));
        let count = match [from, to, by].map(|c| c.as_float()) {
            [Some(from), Some(to), Some(by)] => {
                // As the elements have these numbers.
                let single = |x: f64| if scalar == Scalar::F64 { x } else { f64::from(x as f32) };
                let steps = (to - from) / by;
                // A part of a step, however small, is one element.
                let count = if steps > 0.0 { single(steps).ceil().max(1.0) } else { 0.0 };
                if count.is_finite() { count as i128 } else { 0 }
            }
            _ => {
                let [from, to, by] = [from, to, by].map(|c| c.as_int().unwrap_or(0));
                let (distance, size) = if by < 0 { (from - to, -by) } else { (to - from, by) };
                if size == 0 { 0 } else { (distance + size - 1).div_euclid(size) }
            }
        };
        if count < 1 {
            return Err(self.report(messages::tile_shapes::empty_arange(span)));
        }
        let extents = self.extents_of(&[count], span)?;
        let [start, step] = [start, step].map(|number| Constant::untyped(number).expr_as(scalar, span));
        let at = Rc::new(move |_: &mut Body, index: &[Expr], _| {
            let n = cast_to(index[0].clone(), scalar);
            Ok(arithmetic(BinaryOp::Add, start.clone(), arithmetic(BinaryOp::Mul, step.clone(), n)))
        });
        Ok(Operand::Tile(Elements::free(tile_type(Element::Scalar(scalar), &extents), span, at)))
    }
}
