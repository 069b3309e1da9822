//! Views of per-thread arrays. A local array is a reference to the whole array, so a part of one
//! (`rows = a[1]`, `a[:2, 1:]`) is no value of its own: it is kept as the array and what its
//! dimensions name, and further indices are computed into those of the whole array. The bounds of
//! its slices are constants.

use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Place, Root, Stmt, StmtKind, ViewIndex};
use crate::check::types::value::{Constant, Number, Operand, Reported, Res};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::types::{BOOL, I32, LocalArrayType, MAX_DIMS, Scalar, Type};

/// A slice of one dimension: `count` elements from `start` in steps of `step`.
#[derive(Clone, Copy)]
pub(in crate::check) struct Cut {
    pub start: i128,
    pub step: i128,
    pub count: i128,
}

impl Body<'_, '_> {
    /// A part of a local array: an element when every dimension has an index, else a view.
    pub fn local_part(&mut self, array: Expr, ty: LocalArrayType, dims: Vec<ViewIndex>, span: Span) -> Res<Expr> {
        // Of a view, the dimensions that are already fixed stay; the new indices go to the others
        // in order.
        let (whole, mut named) = match array.kind {
            ExprKind::View { array: inner, index } => (*inner, index),
            kind => {
                let all = (0..usize::from(ty.ndim)).map(|_| full()).collect();
                (Expr { kind, ..array }, all)
            }
        };
        let Type::Local(outer) = whole.ty else { return Err(Reported) };
        let mut dims = dims.into_iter();
        for (d, slot) in named.iter_mut().enumerate() {
            let extent = i128::from(outer.shape.get(d).copied().unwrap_or(1));
            let Some(cut) = cut_of(slot, extent) else { continue };
            let Some(dim) = dims.next() else { break };
            *slot = match dim {
                ViewIndex::At(index) => ViewIndex::At(self.index_in_cut(index, cut, extent)),
                range => range_of(self.cut_again(range, cut, span)?, span),
            };
        }
        if named.iter().all(|dim| matches!(dim, ViewIndex::At(_))) {
            let index = named.into_iter().filter_map(|dim| if let ViewIndex::At(e) = dim { Some(e) } else { None });
            let kind = ExprKind::Load { array: Box::new(whole), index: index.collect(), path: Vec::new() };
            return Ok(Expr::new(kind, outer.element.into(), span));
        }
        let mut view = LocalArrayType { shape: [1; MAX_DIMS], ndim: 0, ..outer };
        for (d, slot) in named.iter().enumerate() {
            if let Some(cut) = cut_of(slot, i128::from(outer.shape[d])) {
                view.shape[usize::from(view.ndim)] = cut.count as u32;
                view.ndim += 1;
            }
        }
        Ok(Expr::new(ExprKind::View { array: Box::new(whole), index: named }, Type::Local(view), span))
    }

    /// The index into the whole dimension for an index into a cut of it. An index outside the cut
    /// becomes one outside the dimension, so that checked runs find it.
    fn index_in_cut(&mut self, index: Expr, cut: Cut, extent: i128) -> Expr {
        if cut.start == 0 && cut.step == 1 && cut.count == extent {
            return index;
        }
        let span = index.span;
        let number = |n: i128| Constant::untyped(Number::Int(n)).expr(span);
        if let Some(Number::Int(k)) = self.number(&index) {
            let k = if k < 0 { k + cut.count } else { k };
            let inside = (0..cut.count).contains(&k);
            return number(if inside { cut.start + k * cut.step } else { extent });
        }
        let mut lets = Vec::new();
        let index = crate::check::types::value::cast_to(index, Scalar::I32);
        let index = self.shared(index, &mut lets);
        let binary = |op, a: Expr, b: Expr| Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), I32, span);
        let compare = |op, a: Expr, b: Expr| Expr::new(ExprKind::Compare(op, Box::new(a), Box::new(b)), BOOL, span);
        let select = |c: Expr, a: Expr, b: Expr| {
            let (condition, then, otherwise) = (Box::new(c), Box::new(a), Box::new(b));
            Expr::new(ExprKind::Select { condition, then, otherwise }, I32, span)
        };
        let negative = compare(CompareOp::Lt, index.clone(), number(0));
        let wrapped = select(negative, binary(BinaryOp::Add, index.clone(), number(cut.count)), index);
        let wrapped = self.shared(wrapped, &mut lets);
        let inside = Expr::new(
            ExprKind::And(vec![
                compare(CompareOp::Ge, wrapped.clone(), number(0)),
                compare(CompareOp::Lt, wrapped.clone(), number(cut.count)),
            ]),
            BOOL,
            span,
        );
        let scaled = binary(BinaryOp::Mul, wrapped, number(cut.step));
        let moved = select(inside, binary(BinaryOp::Add, scaled, number(cut.start)), number(extent));
        self.wrap(lets, moved)
    }

    /// A slice of a slice.
    pub(in crate::check) fn cut_again(&mut self, range: ViewIndex, cut: Cut, span: Span) -> Res<Cut> {
        let ViewIndex::Range { start, stop, step } = range else { return Ok(cut) };
        let mut bound = |bound: Option<Expr>| -> Res<Option<i128>> {
            let Some(bound) = bound else { return Ok(None) };
            match self.number(&bound) {
                Some(Number::Int(n)) => Ok(Some(n)),
                _ => Err(self.report(messages::indices::slice_bounds_of_part(bound.span))),
            }
        };
        let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1));
        if step == 0 {
            return Err(self.report(messages::indices::step_of_elements_is_zero(span)));
        }
        let n = cut.count;
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let wrap = |k: i128| (if k < 0 { k + n } else { k }).clamp(low, high);
        let (first, past) = if step > 0 { (low, high) } else { (high, low) };
        let (start, stop) = (start.map_or(first, wrap), stop.map_or(past, wrap));
        let distance = if step > 0 { stop - start } else { start - stop };
        let count = (distance.max(0) + step.abs() - 1) / step.abs();
        Ok(Cut { start: cut.start + start * cut.step, step: cut.step * step, count })
    }

    /// The view with its indices moved to variables: a name for it means the part that it was when
    /// it was named.
    pub fn freeze_view(&mut self, view: Expr, out: &mut Vec<Stmt>) -> Expr {
        let Expr { kind, ty, span } = view;
        let ExprKind::View { array, index } = kind else { return Expr::new(kind, ty, span) };
        let index = index.into_iter().map(|dim| match dim {
            ViewIndex::At(at) if !matches!(at.kind, ExprKind::Const(_)) => {
                let id = self.new_local("", at.ty, span);
                let frozen = Expr::new(ExprKind::Local(id), at.ty, span);
                out.push(self.assign_local(id, at, span));
                ViewIndex::At(frozen)
            }
            dim => dim,
        });
        let index = index.collect();
        Expr::new(ExprKind::View { array, index }, ty, span)
    }

    /// The same before the current statement.
    pub fn frozen_view(&mut self, view: Expr) -> Expr {
        let mut before = Vec::new();
        let view = self.freeze_view(view, &mut before);
        self.statement.pending.append(&mut before);
        view
    }

    /// Whether an expression is a part of a local array, which has no value of its own.
    pub fn is_local_view(&self, expr: &Expr) -> bool {
        matches!(expr.ty, Type::Local(_)) && matches!(expr.kind, ExprKind::View { .. })
    }

    /// Copies the elements of one local array to another of the same type, one loop for each
    /// dimension.
    pub fn copy_local(&mut self, from: Expr, to: LocalId, ty: LocalArrayType, span: Span) -> Stmt {
        let number = |n: u32| Constant::untyped(Number::Int(i128::from(n))).expr(span);
        let counters: Vec<LocalId> = (0..ty.ndim).map(|_| self.new_local("", I32, span)).collect();
        let index = || counters.iter().map(|&id| Expr::new(ExprKind::Local(id), I32, span)).collect::<Vec<_>>();
        let target = Expr::new(ExprKind::Local(to), Type::Local(ty), span);
        let place = Place {
            root: Root::Element { array: Box::new(target), index: index() },
            path: Vec::new(),
            ty: ty.element.into(),
            span,
        };
        let load = ExprKind::Load { array: Box::new(from), index: index(), path: Vec::new() };
        let assign = StmtKind::Assign(place, Expr::new(load, ty.element.into(), span));
        let innermost = Stmt { kind: assign, span };
        counters.iter().zip(ty.shape).rev().fold(innermost, |body, (&variable, extent)| {
            let (start, end, step) = (number(0), number(extent), number(1));
            Stmt { kind: StmtKind::For { variable, start, end, step, body: vec![body] }, span }
        })
    }

    /// `name = array` of local arrays of single threads: the variable gets the elements.
    pub fn assign_array(&mut self, name: &str, value: Expr, (at, span): (Span, Span), out: &mut Vec<Stmt>) -> Res<()> {
        let Type::Local(ty) = value.ty else { return Err(Reported) };
        let known = matches!(self.scope.get(name), Some(Binding::Local(_)));
        let id = self.assigned_local(name, value.ty, at, value.span)?;
        let makes = matches!(value.kind, ExprKind::LocalArray);
        if !known && self.nesting.depth == 0 {
            self.tiles.own_arrays.insert(id);
        }
        if !makes && self.tiles.own_arrays.contains(&id) && known {
            out.push(self.copy_local(value, id, ty, span));
            return Ok(());
        }
        // It may have no array yet, or that of a caller. In a loop one that is made is in the place
        // of the one before, so a variable never has what was made for another.
        let value = if makes { value } else { self.copied_array(value, span, out) };
        out.push(self.assign_local(id, value, span));
        Ok(())
    }

    /// The elements of a local array in a new one.
    pub fn copied_array(&mut self, value: Expr, span: Span, out: &mut Vec<Stmt>) -> Expr {
        let Type::Local(array) = value.ty else { return value };
        let made = self.new_local("", value.ty, span);
        let copy = Expr::new(ExprKind::Local(made), value.ty, span);
        out.push(self.assign_local(made, Expr::new(ExprKind::LocalArray, value.ty, span), span));
        out.push(self.copy_local(value, made, array, span));
        copy
    }

    /// `return`, with local arrays among the values: their elements go to the hidden last
    /// parameters.
    pub fn return_arrays(&mut self, values: Vec<Expr>, span: Span, out: &mut Vec<Stmt>) -> Res<Vec<Expr>> {
        let (arrays, others): (Vec<Expr>, Vec<Expr>) =
            values.into_iter().partition(|value| matches!(value.ty, Type::Local(_)));
        if arrays.iter().any(|array| self.is_local_view(array)) {
            return Err(self.report(messages::statements::part_of_local_array_returned(span)));
        }
        // A first look at the body has no parameters for them: it is for their types.
        let params: Vec<LocalId> = self.summary.returned_arrays.iter().map(|array| array.param).collect();
        for (array, param) in arrays.into_iter().zip(params) {
            if let Type::Local(ty) = array.ty {
                let copy = self.copy_local(array, param, ty, span);
                out.push(copy);
            }
        }
        Ok(others)
    }

    /// The extents of an array or local array as numbers.
    pub fn extents(&self, array: &Expr, span: Span) -> Vec<Operand> {
        match array.ty {
            Type::Local(local) => local.shape[..usize::from(local.ndim)]
                .iter()
                .map(|&n| Operand::Const(Constant::untyped(Number::Int(i128::from(n)))))
                .collect(),
            ty if self.c.as_indexed(ty).is_some() => {
                self.indexed_extents(array, span).into_iter().map(Operand::Value).collect()
            }
            ty => (0..self.rank_of(ty))
                .map(|d| Operand::Value(Expr::new(ExprKind::Extent(Box::new(array.clone()), d), I32, span)))
                .collect(),
        }
    }
}

fn full() -> ViewIndex {
    ViewIndex::Range { start: None, stop: None, step: None }
}

/// The cut that a dimension of a view is; None for a fixed one.
fn cut_of(dim: &ViewIndex, extent: i128) -> Option<Cut> {
    let number = |e: &Option<Expr>, default: i128| match e.as_ref().and_then(Expr::as_number) {
        Some(Number::Int(n)) => n,
        _ => default,
    };
    match dim {
        ViewIndex::At(_) => None,
        // As `range_of` writes it: start, count, step.
        ViewIndex::Range { start, stop, step } => {
            Some(Cut { start: number(start, 0), step: number(step, 1), count: number(stop, extent) })
        }
    }
}

/// A cut as a dimension of a view of a local array, where `stop` holds the count.
fn range_of(cut: Cut, span: Span) -> ViewIndex {
    let number = |n: i128| Some(Constant::untyped(Number::Int(n)).expr(span));
    ViewIndex::Range { start: number(cut.start), stop: number(cut.count), step: number(cut.step) }
}
