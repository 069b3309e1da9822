//! Slices of vectors, quaternions, transforms and matrices: values to read, places to assign. Their
//! bounds are constants.

use crate::check::body::Body;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, Place, Step, Stmt, StmtKind, ViewIndex};
use crate::check::types::value::{Constant, Number, Operand, Res};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::types::{Scalar, Type};

/// Some components of a composite.
pub(crate) struct Slice {
    /// The way to each scalar component, in order.
    pub parts: Vec<Vec<Step>>,
    /// The slice as a value.
    pub ty: Type,
}

/// What one index of a matrix picks.
enum Pick {
    One(Step),
    Many(Vec<u32>),
}

impl Body<'_, '_> {
    /// The components that indices with a slice among them name; None when there is no slice.
    pub fn composite_slice(
        &mut self,
        base: Type,
        indices: &[ast::Expr],
        span: Span,
        lets: &mut Vec<(crate::check::tree::LocalId, Expr)>,
    ) -> Res<Option<Slice>> {
        if !indices.iter().any(|index| matches!(index.kind, ast::ExprKind::Slice { .. })) {
            return Ok(None);
        }
        let Some(scalar) = base.scalar_part() else { return Ok(None) };
        let wanted = if matches!(base, Type::Mat(..)) { 2 } else { 1 };
        if indices.len() > wanted {
            let shown = self.show(base);
            return Err(self.report(messages::indices::too_many_for_value(indices.len(), &shown, wanted, span)));
        }
        let at = |k: u32| Step::At(k);
        Ok(Some(match base {
            Type::Mat(rows, columns, _) => {
                let row = self.pick(&indices[0], u32::from(rows), (base, 0), span, lets)?;
                let column = match indices.get(1) {
                    Some(index) => self.pick(index, u32::from(columns), (base, 1), span, lets)?,
                    None => Pick::Many((0..u32::from(columns)).collect()),
                };
                let ty = match (&row, &column) {
                    (Pick::Many(r), Pick::Many(c)) => Type::Mat(r.len() as u16, c.len() as u16, scalar),
                    (Pick::Many(all), _) | (_, Pick::Many(all)) => Type::Vec(all.len() as u16, scalar),
                    _ => Type::Scalar(scalar),
                };
                let steps = |pick: Pick| match pick {
                    Pick::One(step) => vec![step],
                    Pick::Many(all) => all.into_iter().map(Step::At).collect(),
                };
                let (rows, columns) = (steps(row), steps(column));
                let parts = rows.iter().flat_map(|r| columns.iter().map(|c| vec![r.clone(), c.clone()])).collect();
                Slice { parts, ty }
            }
            _ => {
                let count = base.scalar_count().unwrap_or(0);
                let Pick::Many(all) = self.pick(&indices[0], count, (base, 0), span, lets)? else { return Ok(None) };
                let ty = Type::Vec(all.len() as u16, scalar);
                let parts = all.into_iter().map(|k| match base {
                    Type::Transform(_) if k < 3 => vec![at(0), at(k)],
                    Type::Transform(_) => vec![at(1), at(k - 3)],
                    _ => vec![at(k)],
                });
                Slice { parts: parts.collect(), ty }
            }
        }))
    }

    fn pick(
        &mut self,
        index: &ast::Expr,
        count: u32,
        base: (Type, usize),
        span: Span,
        lets: &mut Vec<(crate::check::tree::LocalId, Expr)>,
    ) -> Res<Pick> {
        if let ast::ExprKind::Slice { lower, upper, step } = &index.kind {
            return Ok(Pick::Many(self.constant_slice(lower, upper, step, count, span)?));
        }
        Ok(Pick::One(match self.component_step(index, count, base.0, base.1)? {
            Step::Dynamic(value) => Step::Dynamic(Box::new(self.shared(*value, lets))),
            step => step,
        }))
    }

    /// The index number `level` into a composite that has `count` components there: a fixed step
    /// where the index is known.
    pub fn component_step(&mut self, index: &ast::Expr, count: u32, base: Type, level: usize) -> Res<Step> {
        let value = self.int_value(index)?;
        let count = i128::from(count);
        match self.number(&value) {
            Some(Number::Int(k)) if (-count..count).contains(&k) => {
                Ok(Step::At(u32::try_from(k.rem_euclid(count)).unwrap_or(0)))
            }
            Some(Number::Int(k)) => {
                let shown = self.show(base);
                let what = match (base, level) {
                    (Type::Mat(..), 0) => "row",
                    (Type::Mat(..), _) => "column",
                    _ => "component",
                };
                Err(self.report(messages::indices::outside_composite(what, k, count, &shown, index.span)))
            }
            _ => Ok(Step::Dynamic(Box::new(value))),
        }
    }

    /// The slice as a value.
    pub fn read_slice(
        &mut self,
        base: Expr,
        slice: Slice,
        mut lets: Vec<(crate::check::tree::LocalId, Expr)>,
        span: Span,
    ) -> Expr {
        let base = self.shared(base, &mut lets);
        let step = |value: Expr, step: Step| self.part(value, step, span);
        let parts = slice.parts.into_iter().map(|path| path.into_iter().fold(base.clone(), step)).collect();
        let value = Expr::new(ExprKind::Construct(parts), slice.ty, span);
        self.wrap(lets, value)
    }

    /// The places of `target = ...` where the target is a slice of a composite: the whole slice's
    /// type and one place for each component. None for every other target.
    pub fn slice_places(&mut self, target: &ast::Expr, out: &mut Vec<Stmt>) -> Res<Option<(Type, Vec<Place>)>> {
        let ast::ExprKind::Subscript { base, indices } = &target.kind else { return Ok(None) };
        if !indices.iter().any(|index| matches!(index.kind, ast::ExprKind::Slice { .. })) {
            return Ok(None);
        }
        let Operand::Value(base) = self.expr(base)? else { return Ok(None) };
        if !base.ty.is_composite() {
            return Ok(None);
        }
        let mut lets = Vec::new();
        let Some(slice) = self.composite_slice(base.ty, indices, target.span, &mut lets)? else { return Ok(None) };
        for (local, value) in lets {
            out.push(self.assign_local(local, value, target.span));
        }
        let ty = base.ty;
        let Some(place) = self.as_place(base) else { return self.not_assignable(target.span) };
        let place = self.evaluate_once(place, out);
        let places = slice.parts.into_iter().map(|steps| {
            let mut place = place.clone();
            let mut part = ty;
            for step in steps {
                let at = if let Step::At(k) = step { Some(k) } else { None };
                part = part.step(at, &self.c.output.structs).unwrap_or(part);
                place.path.push(step);
            }
            Place { ty: part, span: target.span, ..place }
        });
        Ok(Some((slice.ty, places.collect())))
    }

    /// The scalars that go to the components of a slice: those of a value of the slice's type, or
    /// one number for all.
    pub fn slice_values(
        &mut self,
        value: Operand,
        at: Span,
        slice: Type,
        count: usize,
        out: &mut Vec<Stmt>,
    ) -> Res<Vec<Expr>> {
        let scalar = slice.scalar_part().unwrap_or(Scalar::F32);
        let value = self.coerce(value, scalar.into(), at)?;
        if value.ty != slice && value.ty != Type::Scalar(scalar) {
            let (found, wanted) = (self.show(value.ty), self.show(slice));
            return Err(self.report(messages::indices::stored_in_slice(&found, &wanted, at)));
        }
        // The value is complete before the first component changes.
        let id = self.new_local("", value.ty, at);
        let whole = Expr::new(ExprKind::Local(id), value.ty, at);
        out.push(self.assign_local(id, value, at));
        if whole.ty != slice {
            return Ok(vec![whole; count]);
        }
        let mut parts = Vec::new();
        self.scalars_of(whole, at, &mut parts);
        Ok(parts)
    }

    /// `target = value`, where the target is a slice of a composite; false for every other target.
    pub fn assign_slice(
        &mut self,
        target: &ast::Expr,
        value: &Operand,
        at: Span,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Res<bool> {
        let Some((ty, places)) = self.slice_places(target, out)? else { return Ok(false) };
        let parts = self.slice_values(value.clone(), at, ty, places.len(), out)?;
        for (place, part) in places.into_iter().zip(parts) {
            out.push(Stmt { kind: StmtKind::Assign(place, part), span });
        }
        Ok(true)
    }

    /// `target op= value`, where the target is a slice of a composite; false for every other
    /// target.
    pub fn update_slice(
        &mut self,
        target: &ast::Expr,
        op: BinaryOp,
        value: &Operand,
        at: Span,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Res<bool> {
        let Some((ty, places)) = self.slice_places(target, out)? else { return Ok(false) };
        let parts = self.slice_values(value.clone(), at, ty, places.len(), out)?;
        for (place, part) in places.into_iter().zip(parts) {
            self.update(place, op, Operand::Value(part), (target.span, at, span), out)?;
        }
        Ok(true)
    }

    /// The component numbers of a slice whose bounds are constants.
    pub fn constant_slice(
        &mut self,
        lower: &Option<Box<ast::Expr>>,
        upper: &Option<Box<ast::Expr>>,
        step: &Option<Box<ast::Expr>>,
        count: u32,
        span: Span,
    ) -> Res<Vec<u32>> {
        let n = i128::from(count);
        let step = self.slice_bound(step, 1)?;
        if step == 0 {
            return Err(self.report(messages::indices::step_of_components_is_zero(span)));
        }
        // Python's rule: bounds are wrapped once, then clamped to where the walk can start and end.
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let wrap = |k: i128| (if k < 0 { k + n } else { k }).clamp(low, high);
        let (first, past) = if step > 0 { (low, high) } else { (high, low) };
        let start = if lower.is_some() { wrap(self.slice_bound(lower, 0)?) } else { first };
        let stop = if upper.is_some() { wrap(self.slice_bound(upper, 0)?) } else { past };
        let inside = |k: &i128| if step > 0 { *k < stop } else { *k > stop };
        let components: Vec<u32> =
            std::iter::successors(Some(start), |k| Some(k + step)).take_while(inside).map(|k| k as u32).collect();
        if components.is_empty() {
            return Err(self.report(messages::indices::empty_slice(span)));
        }
        Ok(components)
    }

    fn slice_bound(&mut self, bound: &Option<Box<ast::Expr>>, default: i128) -> Res<i128> {
        let Some(bound) = bound else { return Ok(default) };
        let value = self.value(bound)?;
        match self.number(&value) {
            Some(Number::Int(n)) => Ok(n),
            _ => Err(self.report(messages::indices::slice_bounds(bound.span))),
        }
    }

    /// The items of `*v` in a call: components of a vector, rows of a matrix, items of a tuple,
    /// elements of `*a[2:5]`.
    pub fn star_items(&mut self, inner: &ast::Expr) -> Res<Vec<Operand>> {
        let span = inner.span;
        if let ast::ExprKind::Subscript { base, indices } = &inner.kind
            && let [ast::Expr { kind: ast::ExprKind::Slice { lower, upper, step }, .. }] = indices.as_slice()
            && let Operand::Value(array) = self.expr(base)?
            && let Type::Array(_) | Type::Local(_) = array.ty
        {
            return self.star_array(array, lower, upper, step, span);
        }
        match self.expr(inner)? {
            Operand::Tuple(items) => Ok(items),
            Operand::Shape(array) => Ok(self.extents(&array, span)),
            Operand::Value(expr) if expr.ty.is_composite() && !matches!(expr.ty, Type::Transform(_)) => {
                let mut lets = Vec::new();
                let count = expr.ty.step_count(&self.c.output.structs);
                let whole = if self.as_place(expr.clone()).is_some() { expr } else { self.shared(expr, &mut lets) };
                let items = (0..count).map(|k| self.part(whole.clone(), Step::At(k), span)).collect();
                Ok(self.shared_items(lets, items))
            }
            _ => Err(self.report(messages::indices::not_unpackable(span))),
        }
    }

    fn star_array(
        &mut self,
        array: Expr,
        lower: &Option<Box<ast::Expr>>,
        upper: &Option<Box<ast::Expr>>,
        step: &Option<Box<ast::Expr>>,
        span: Span,
    ) -> Res<Vec<Operand>> {
        let (start, step) = (self.slice_bound(lower, 0)?, self.slice_bound(step, 1)?);
        let stop = if upper.is_some() { self.slice_bound(upper, 0)? } else { -1 };
        if start < 0 || stop < 0 || step <= 0 || (stop - start) / step > 64 {
            return Err(self.report(messages::indices::unpacked_length(span)));
        }
        let mut lets = Vec::new();
        let array = self.shared(array, &mut lets);
        let mut items = Vec::new();
        for k in (start..stop).step_by(step as usize) {
            let at = Constant::untyped(Number::Int(k)).expr(span);
            items.push(self.array_part(array.clone(), vec![ViewIndex::At(at)], span)?);
        }
        Ok(self.shared_items(lets, items))
    }

    /// Items that use shared values: the first one, which is evaluated first, brings them.
    fn shared_items(&self, lets: Vec<(crate::check::tree::LocalId, Expr)>, mut items: Vec<Expr>) -> Vec<Operand> {
        if !items.is_empty() {
            let first = items.remove(0);
            items.insert(0, self.wrap(lets, first));
        }
        items.into_iter().map(Operand::Value).collect()
    }
}
