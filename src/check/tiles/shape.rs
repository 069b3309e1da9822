//! Views: the same elements under other indices; parts of tiles.

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, Read, arithmetic, compare, flatten, number, tile_type, unflatten};
use crate::check::body::{Binding, Body};
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, Step, ViewIndex};
use crate::check::types::value::{Constant, Number, Operand, Reported, Res, cast_to};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{I32, Scalar, Type};

impl Body<'_, '_> {
    /// `tile_view(t, offset, shape)`: with a shape the part there, without the rest of the
    /// dimensions that the offset does not name.
    pub(super) fn tile_view(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_view", &["t", "offset", "shape"], 2, given, span)?;
        let tile = self.tile_argument(&args, "t")?;
        let whole = tile.ty.extents().to_vec();
        let Some(offset) = args.get("offset") else { return Err(Reported) };
        let slices = match &offset.operand {
            Operand::Tuple(items) => items.iter().any(|item| matches!(item, Operand::Slice(_))),
            one => matches!(one, Operand::Slice(_)),
        };
        if slices {
            if let Some(shape) = args.get("shape") {
                return Err(self.report(messages::tile_shapes::shape_beside_slice(shape.span)));
            }
            return self.view_by_slices(args.get("t"), &tile, offset, span);
        }
        let Some(shape) = args.get("shape") else {
            let named = match &offset.operand {
                Operand::Tuple(items) => items.len(),
                _ => 1,
            };
            if named >= whole.len() {
                return Err(self.report(messages::tile_shapes::view_of_element(named, whole.len(), offset.span)));
            }
            let fixed = self.offset_argument(Some(offset), named, span)?;
            // A part that can be assigned, where the indices are in range.
            if let Some(Operand::Value(place)) = args.get("t").map(|given| &given.operand)
                && let Type::Local(ty) = place.ty
            {
                let rest = (named..whole.len()).map(|_| ViewIndex::Range { start: None, stop: None, step: None });
                let dims = fixed.into_iter().map(ViewIndex::At).chain(rest).collect();
                return self.local_part(place.clone(), ty, dims, span).map(Operand::Value);
            }
            let to = move |_: &mut Body, index: &[Expr]| fixed.iter().chain(index).cloned().collect();
            return Ok(Operand::Tile(tile.reindexed(&whole[named..], span, to)));
        };
        let extents = self.shape_argument(shape)?;
        if extents.len() != whole.len() {
            return Err(self.report(messages::tile_shapes::rank_of_view(extents.len(), whole.len(), shape.span)));
        }
        let offset = self.part_offset(offset, &whole, &extents, span)?;
        if let Some(Operand::Value(place)) = args.get("t").map(|given| &given.operand)
            && let Type::Local(ty) = place.ty
            && let Some(starts) = offset.iter().map(constant_index).collect::<Option<Vec<i128>>>()
        {
            let bound = |n: i128| Some(number(n, span));
            let range = |(start, &count): (i128, &u32)| ViewIndex::Range {
                start: bound(start),
                stop: bound(start + i128::from(count)),
                step: None,
            };
            let dims = starts.into_iter().zip(&extents).map(range).collect();
            return self.local_part(place.clone(), ty, dims, span).map(Operand::Value);
        }
        let to = move |_: &mut Body, index: &[Expr]| {
            index.iter().zip(&offset).map(|(i, o)| arithmetic(BinaryOp::Add, o.clone(), i.clone())).collect()
        };
        Ok(Operand::Tile(tile.reindexed(&extents, span, to)))
    }

    /// Where a part of a tile begins. What is known to leave the tile is refused.
    fn part_offset(&mut self, given: &Given, whole: &[u32], part: &[u32], span: Span) -> Res<Vec<Expr>> {
        let offset = self.offset_argument(Some(given), whole.len(), span)?;
        for (k, (start, (&whole, &part))) in offset.iter().zip(whole.iter().zip(part)).enumerate() {
            let room = i128::from(whole) - i128::from(part);
            if room < 0 || constant_index(start).is_some_and(|start| !(0..=room).contains(&start)) {
                return Err(self.report(messages::tile_shapes::part_leaves_tile(k, part, whole, given.span)));
            }
        }
        Ok(offset)
    }

    pub(super) fn tile_squeeze(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_squeeze", &["t", "axis"], 1, given, span)?;
        let tile = self.tile_argument(&args, "t")?;
        let whole = tile.ty.extents().to_vec();
        let mut dropped: Vec<usize> = (0..whole.len()).filter(|&k| whole[k] == 1).collect();
        if let Some(axis) = args.get("axis") {
            let axes = self.constants(axis, "an axis")?;
            dropped.clear();
            for n in axes {
                let at = if n < 0 { n + whole.len() as i128 } else { n };
                match usize::try_from(at).ok().filter(|&at| whole.get(at) == Some(&1)) {
                    Some(at) => dropped.push(at),
                    None => {
                        return Err(self.report(messages::tile_shapes::squeezed(n, &shape_text(&tile.ty), axis.span)));
                    }
                }
            }
        }
        // One dimension stays at least.
        if dropped.len() == whole.len() {
            dropped.pop();
        }
        let kept: Vec<u32> = (0..whole.len()).filter(|k| !dropped.contains(k)).map(|k| whole[k]).collect();
        let ndim = whole.len();
        let to = move |_: &mut Body, index: &[Expr]| {
            let mut index = index.iter().cloned();
            let zero = || number(0, span);
            (0..ndim).map(|k| if dropped.contains(&k) { zero() } else { index.next().unwrap_or_else(zero) }).collect()
        };
        Ok(Operand::Tile(tile.reindexed(&kept, span, to)))
    }

    pub(super) fn tile_reshape(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_reshape", &["t", "shape"], 2, given, span)?;
        let tile = self.tile_argument(&args, "t")?;
        let Some(shape) = args.get("shape") else { return Err(Reported) };
        let mut numbers = self.constants(shape, "the shape of a tile")?;
        let total = i128::from(tile.ty.len());
        let open: Vec<usize> = (0..numbers.len()).filter(|&k| numbers[k] == -1).collect();
        if let [open] = open[..] {
            let others: i128 = numbers.iter().filter(|&&n| n != -1).product();
            numbers[open] = if others > 0 { total / others } else { 0 };
        }
        let extents = self.extents_of(&numbers, shape.span)?;
        if extents.iter().map(|&n| i128::from(n)).product::<i128>() != total {
            return Err(self.report(messages::tile_shapes::reshaped(&shape_text(&tile.ty), total, shape.span)));
        }
        let (old, new) = (tile.ty.extents().to_vec(), extents.clone());
        let to = move |_: &mut Body, index: &[Expr]| unflatten(&flatten(index, &new, span), &old);
        Ok(Operand::Tile(tile.reindexed(&extents, span, to)))
    }

    pub(super) fn tile_transpose(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_transpose", &["t"], 1, given, span)?;
        let tile = self.tile_argument(&args, "t")?;
        let [rows, columns] = *tile.ty.extents() else {
            return Err(self.report(messages::tile_shapes::not_a_matrix(
                "tile_transpose",
                &shape_text(&tile.ty),
                tile.span,
            )));
        };
        Ok(Operand::Tile(tile.reindexed(&[columns, rows], span, |_, index| index.iter().rev().cloned().collect())))
    }

    pub(super) fn tile_broadcast(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_broadcast", &["t", "shape"], 2, given, span)?;
        let tile = self.tile_argument(&args, "t")?;
        let Some(shape) = args.get("shape") else { return Err(Reported) };
        let extents = self.shape_argument(shape)?;
        let old = tile.ty.extents().to_vec();
        // Dimensions pair up from the last one.
        let added = extents.len().checked_sub(old.len());
        let fits = added.is_some_and(|added| old.iter().zip(&extents[added..]).all(|(&n, &m)| n == 1 || n == m));
        let (Some(added), true) = (added, fits) else {
            return Err(self.report(messages::tile_shapes::broadcast(&shape_text(&tile.ty), shape.span)));
        };
        let repeats = extents != old;
        let to = move |_: &mut Body, index: &[Expr]| {
            let kept = index[added..].iter().zip(&old);
            kept.map(|(i, &n)| if n == 1 { number(0, span) } else { i.clone() }).collect()
        };
        let view = tile.reindexed(&extents, span, to);
        Ok(Operand::Tile(Elements { repeats: view.repeats || repeats, ..view }))
    }

    pub(super) fn tile_assign(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_assign", &["dst", "src", "offset"], 2, given, span)?;
        let place = self.changed(&args, "dst")?;
        let (dst, src) = (self.tile_argument(&args, "dst")?, self.tile_argument(&args, "src")?);
        let (whole, part) = (dst.ty.extents().to_vec(), src.ty.extents().to_vec());
        if whole.len() != part.len() {
            return Err(self.report(messages::tile_shapes::assigned_part(
                &shape_text(&src.ty),
                &shape_text(&dst.ty),
                src.span,
            )));
        }
        let zero = Given { name: None, operand: Operand::Tuple(zeros(whole.len())), span };
        let offset = self.part_offset(args.get("offset").unwrap_or(&zero), &whole, &part, span)?;
        if whole == part {
            self.assign_place(place, Operand::Tile(src), span)?;
            return Ok(Operand::Tuple(Vec::new()));
        }
        // As a view, whose elements are written one by one.
        let to = move |_: &mut Body, index: &[Expr]| {
            index.iter().zip(&offset).map(|(i, o)| arithmetic(BinaryOp::Add, o.clone(), i.clone())).collect()
        };
        let target = dst.reindexed(&part, span, to);
        self.assign_elements(target, src, span)?;
        Ok(Operand::Tuple(Vec::new()))
    }

    /// `t[indices, :]`: the elements along an axis that a tile of indices names, as a new tile;
    /// None where no index is a tile.
    pub fn tile_gather(&mut self, base: &Operand, indices: &[ast::Expr], span: Span) -> Res<Option<Operand>> {
        if !self.is_tile(base) {
            return Ok(None);
        }
        let names_tile = |expr: &ast::Expr| match &expr.kind {
            ast::ExprKind::Name(name) => match self.scope.get(name.as_str()) {
                Some(Binding::Local(id)) => matches!(self.locals[*id].ty, Type::Local(_)),
                Some(Binding::Alias(operand)) => self.is_tile(operand),
                _ => false,
            },
            _ => false,
        };
        let may_be_tile = |index: &ast::Expr| match &index.kind {
            ast::ExprKind::Name(_) => names_tile(index),
            ast::ExprKind::Call { args, .. } if args.iter().any(|arg| names_tile(&arg.value)) => true,
            ast::ExprKind::Call { .. } | ast::ExprKind::Binary { .. } => {
                let text = self.c.sources.text(index.span);
                text.contains("tile") && !text.contains(']')
            }
            ast::ExprKind::Subscript { .. } => self.c.sources.text(index.span).contains(':'),
            _ => false,
        };
        let candidates: Vec<usize> = (0..indices.len()).filter(|&axis| may_be_tile(&indices[axis])).collect();
        let mut found = None;
        for axis in candidates {
            let (index, before) = (&indices[axis], self.statement.pending.len());
            let operand = self.expr(index)?;
            match self.tile_elements(&operand) {
                Some(elements) => found = Some((axis, Elements { span: index.span, ..elements })),
                // A number after all, which is looked at again as one.
                None => self.statement.pending.truncate(before),
            }
        }
        let Some((axis, picked)) = found else { return Ok(None) };
        let is_whole =
            |index: &ast::Expr| matches!(&index.kind, ast::ExprKind::Slice { lower: None, upper: None, step: None });
        if indices.iter().enumerate().any(|(k, index)| k != axis && !is_whole(index)) {
            return Err(self.report(messages::tile_shapes::other_dimensions(span)));
        }
        if picked.ty.ndim != 1 || !Type::from(picked.ty.element).is_int() {
            let shown = self.show(Type::Local(picked.ty));
            return Err(self.report(messages::tile_shapes::indices(&shown, picked.span)));
        }
        let Some(tile) = self.tile_elements(base) else { return Err(Reported) };
        let picked = self.cheap(picked, span)?;
        let mut extents = tile.ty.extents().to_vec();
        let whole = std::mem::replace(&mut extents[axis], picked.ty.shape[0]);
        let (ty, at) = (tile_type(tile.ty.element, &extents), tile.at.clone());
        let reads = tile.reads.iter().chain(&picked.reads).map(|read| Read { in_place: false, ..*read }).collect();
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            let place = (picked.at)(body, std::slice::from_ref(&index[axis]), sure)?;
            let mut lets = Vec::new();
            let place = body.shared(cast_to(place, Scalar::I32), &mut lets);
            // As everywhere: a negative index counts from the end.
            let wrapped = arithmetic(BinaryOp::Add, place.clone(), number(whole, span));
            let condition = Box::new(compare(CompareOp::Lt, place.clone(), number(0, span)));
            let (then, otherwise) = (Box::new(wrapped), Box::new(place));
            let place = Expr::new(ExprKind::Select { condition, then, otherwise }, I32, span);
            let mut index = index.to_vec();
            index[axis] = place;
            let value = at(body, &index, sure)?;
            Ok(body.wrap(lets, value))
        });
        // Another tile, not a view of this one.
        self.kept(Elements { reads, ..Elements::free(ty, span, at) }, span).map(|kept| Some(Operand::Tile(kept)))
    }

    /// `tile_extract(t, i, ...)`: an element, or with more indices a part of one.
    pub(super) fn tile_extract(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let Some((first, indices)) = given.split_first() else {
            return Err(self.report(messages::tile_arguments::extract_of_nothing(span)));
        };
        let tile = self.tile_given("tile_extract", first)?;
        let ndim = usize::from(tile.ty.ndim);
        if indices.len() < ndim {
            return Err(self.report(messages::tile_shapes::too_few_indices(indices.len(), ndim, span)));
        }
        let mut index = Vec::new();
        for arg in indices {
            index.push(self.integer_argument(&arg.operand, arg.span)?);
        }
        let whole = self.materialize(first.operand.clone(), first.span)?;
        let dims = index[..ndim].iter().cloned().map(ViewIndex::At).collect();
        let mut part = self.array_part(whole, dims, span)?;
        for (step, at) in index[ndim..].iter().zip(&indices[ndim..]) {
            let count = part.ty.step_count(&self.c.output.structs);
            let (true, count) = (part.ty.is_composite() && count > 0, i128::from(count)) else {
                let shown = self.show(part.ty);
                return Err(self.report(messages::tile_shapes::index_of_element(&shown, at.span)));
            };
            let step = match constant_index(step) {
                Some(n) if (-count..count).contains(&n) => Step::At(n.rem_euclid(count) as u32),
                Some(n) => {
                    return Err(self.report(messages::tile_shapes::outside_element(n, count, at.span)));
                }
                None => Step::Dynamic(Box::new(step.clone())),
            };
            part = self.part(part, step, span);
        }
        Ok(Operand::Value(part))
    }
}

fn constant_index(index: &Expr) -> Option<i128> {
    match (&index.kind, index.as_number()) {
        (ExprKind::Const(_), Some(Number::Int(n))) => Some(n),
        _ => None,
    }
}

fn zeros(count: usize) -> Vec<Operand> {
    (0..count).map(|_| Operand::Const(Constant::untyped(Number::Int(0)))).collect()
}
