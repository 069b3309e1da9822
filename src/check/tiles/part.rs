//! Parts of views: `b[0, 1]` and `b[1:3]` where `b` is a transposed tile, or another that is no
//! plain part of a variable.

use super::elements::{Elements, all_of, arithmetic, compare, number};
use crate::check::body::Body;
use crate::check::body::local_array::Cut;
use crate::check::body::place::has_components;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, ViewIndex};
use crate::check::types::value::{Number, Operand, Res, cast_to};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{I32, Scalar, Type};

/// What a part names along a dimension.
enum Named {
    At(Expr),
    Cut(Cut),
}

impl Body<'_, '_> {
    pub fn index_view(&mut self, view: Elements, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let rank = usize::from(view.ty.ndim);
        if has_components(view.ty, indices.len()) {
            let element = self.index_view(view, &indices[..rank], span)?;
            return self.component_of(element, &indices[rank..], span);
        }
        let base = Operand::Tile(view.clone());
        if let Some(picked) = self.tile_gather(&base, indices, span)? {
            return Ok(picked);
        }
        let mut dims = Vec::new();
        for index in indices {
            dims.push(self.view_index(index)?);
        }
        self.part_of_view(&view, dims, span)
    }

    /// `tile_view(t, offset)` whose offset has slices.
    pub(super) fn view_by_slices(
        &mut self,
        given: Option<&Given>,
        tile: &Elements,
        offset: &Given,
        span: Span,
    ) -> Res<Operand> {
        let items = match &offset.operand {
            Operand::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let mut dims = Vec::new();
        for item in items {
            dims.push(match item {
                Operand::Slice(range) => *range,
                item => ViewIndex::At(self.integer_argument(&item, offset.span)?),
            });
        }
        self.not_too_many(dims.len(), tile, span)?;
        match given.map(|given| &given.operand) {
            Some(Operand::Value(place)) if let Type::Local(ty) = place.ty => {
                self.local_part(place.clone(), ty, dims, span).map(Operand::Value)
            }
            _ => self.part_of_view(tile, dims, span),
        }
    }

    fn not_too_many(&mut self, given: usize, tile: &Elements, span: Span) -> Res<()> {
        let ndim = usize::from(tile.ty.ndim);
        if given <= ndim {
            return Ok(());
        }
        let shown = self.show(Type::Local(tile.ty));
        Err(self.report(messages::tile_shapes::too_many_indices(given, ndim, &shown, span)))
    }

    /// An element, or a view of the view.
    fn part_of_view(&mut self, view: &Elements, dims: Vec<ViewIndex>, span: Span) -> Res<Operand> {
        self.not_too_many(dims.len(), view, span)?;
        let whole = view.ty.extents().to_vec();
        let mut dims = dims.into_iter();
        let (mut named, mut extents, mut checks) = (Vec::new(), Vec::new(), Vec::new());
        for &extent in &whole {
            let all = Cut { start: 0, step: 1, count: extent.into() };
            named.push(match dims.next() {
                Some(ViewIndex::At(index)) => Named::At(self.wrapped(index, extent, &mut checks, span)),
                Some(range) => Named::Cut(self.cut_again(range, all, span)?),
                None => Named::Cut(all),
            });
            if let Some(Named::Cut(cut)) = named.last() {
                if cut.count == 0 {
                    return Err(self.report(messages::tile_shapes::empty_view(span)));
                }
                extents.push(cut.count as u32);
            }
        }
        let inside = (!checks.is_empty()).then(|| self.hidden(all_of(checks, span)));
        let to = move |_: &mut Body<'_, '_>, index: &[Expr]| {
            let mut index = index.iter().cloned();
            let along = |part: &Named| match part {
                Named::At(at) => at.clone(),
                Named::Cut(cut) => {
                    let at = index.next().unwrap_or_else(|| number(0, span));
                    let scaled = arithmetic(BinaryOp::Mul, at, number(cut.step, span));
                    arithmetic(BinaryOp::Add, scaled, number(cut.start, span))
                }
            };
            named.iter().map(along).collect::<Vec<_>>()
        };
        if !extents.is_empty() {
            // The index of a row is not looked at where all of it is computed from others.
            let part = view.clone().reindexed(&extents, span, to);
            return Ok(Operand::Tile(self.checked_part(part, inside, span)));
        }
        let index = to(self, &[]);
        let element = (view.at)(self, &index, false)?;
        Ok(Operand::Value(outside_or(element, inside)))
    }

    fn checked_part(&mut self, part: Elements, inside: Option<Expr>, span: Span) -> Elements {
        let Some(inside) = inside else { return part };
        let at = part.at.clone();
        let at = std::rc::Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            Ok(outside_or(at(body, index, sure)?, Some(inside.clone())))
        });
        Elements { at, span, ..part }
    }

    /// An index that counts from the end where it is negative, in a variable; and what must hold
    /// for it to be in range.
    fn wrapped(&mut self, index: Expr, extent: u32, checks: &mut Vec<Expr>, span: Span) -> Expr {
        if let Some(Number::Int(n)) = self.number(&index) {
            let n = if n < 0 { n + i128::from(extent) } else { n };
            if !(0..i128::from(extent)).contains(&n) {
                checks.push(crate::check::types::value::Constant::untyped(Number::Bool(false)).expr(span));
                return number(0, span);
            }
            return number(n, span);
        }
        let index = self.hidden(cast_to(index, Scalar::I32));
        let condition = Box::new(compare(CompareOp::Lt, index.clone(), number(0, span)));
        let from_end = Box::new(arithmetic(BinaryOp::Add, index.clone(), number(extent, span)));
        let kind = ExprKind::Select { condition, then: from_end, otherwise: Box::new(index) };
        let index = self.hidden(Expr::new(kind, I32, span));
        checks.push(compare(CompareOp::Ge, index.clone(), number(0, span)));
        checks.push(compare(CompareOp::Lt, index.clone(), number(extent, span)));
        index
    }
}

/// The element where the index was in range; else one outside of the variable's array, so that
/// checked runs find it.
fn outside_or(element: Expr, inside: Option<Expr>) -> Expr {
    let (Some(inside), Expr { kind: ExprKind::Load { array, mut index, path }, ty, span }) = (inside, element.clone())
    else {
        return element;
    };
    if let (Some(first), Type::Local(of)) = (index.first_mut(), array.ty) {
        let then = Box::new(cast_to(first.clone(), Scalar::I32));
        let otherwise = Box::new(number(of.shape[0], span));
        *first = Expr::new(ExprKind::Select { condition: Box::new(inside), then, otherwise }, I32, span);
    }
    Expr::new(ExprKind::Load { array, index, path }, ty, span)
}
