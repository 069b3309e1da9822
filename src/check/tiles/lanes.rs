//! The values of single threads of a block: as a tile, from a tile, and scattered into one. Here a block has one thread:
//! [`Body::by_lane`] keeps launches with larger blocks away from such kernels.

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, number, tile_type};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::tree::{Expr, ExprKind, Place, Root, Step, Stmt, StmtKind};
use crate::check::types::value::{Operand, Res};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{BOOL, Element, Type};

/// The threads of a block.
const BLOCK_DIM: u32 = 1;

/// The components of a vector or matrix at most.
const MOST: u32 = 1024;

impl Body<'_, '_> {
    /// `tile(x)`: the values of the threads along the last dimension, the components of vectors and matrices along those before.
    pub(super) fn tile_of_lanes(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile", &["x", "preserve_type"], 1, given, span)?;
        let Some(x) = args.get("x") else { return self.error(Code::E0402, span, "no value", "here") };
        let whole = self.flag_argument(args.get("preserve_type"), false)?;
        self.by_lane = true;
        let value = self.materialize(x.operand.clone(), x.span)?;
        let Some(element) = value.ty.element() else {
            let shown = self.show(value.ty);
            let message = "a tile holds numbers, vectors or structs";
            return self.error(Code::E0401, x.span, message, format!("this is `{shown}`"));
        };
        let value = self.hidden(value);
        let extents: Vec<u32> = match (value.ty, value.ty.scalar_part()) {
            (Type::Vec(..) | Type::Quat(_), _) if !whole => vec![value.ty.step_count(&self.c.structs), BLOCK_DIM],
            (Type::Mat(..), _) if !whole => {
                let rows = value.ty.step_count(&self.c.structs);
                let row = value.ty.step(Some(0), &self.c.structs).unwrap_or(value.ty);
                vec![rows, row.step_count(&self.c.structs), BLOCK_DIM]
            }
            _ => return Ok(Operand::Tile(Elements::single(value, element))),
        };
        let Some(scalar) = value.ty.scalar_part() else { return Ok(Operand::Tile(Elements::single(value, element))) };
        let ty = tile_type(Element::Scalar(scalar), &extents);
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], _| {
            let steps = index[..index.len() - 1].iter().map(|i| Step::Dynamic(Box::new(i.clone())));
            Ok(steps.fold(value.clone(), |part, step| body.part(part, step, span)))
        });
        Ok(Operand::Tile(Elements::free(ty, span, at)))
    }

    /// `untile(t)`: what `tile(x)` was made of, for each thread.
    pub(super) fn untile(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("untile", &["a"], 1, given, span)?;
        let tile = self.tile_argument(&args, "a")?;
        self.by_lane = true;
        let extents = tile.ty.extents().to_vec();
        if extents.last() != Some(&BLOCK_DIM) {
            let message =
                format!("`untile` takes a tile whose last dimension is `block_dim`, not {}", shape_text(&tile.ty));
            let label = format!("the last dimension is {}", extents.last().copied().unwrap_or(0));
            let diagnostic = Diagnostic::new(Code::E0319, message).label(tile.span, label);
            return Err(self.report(self.blocks_of_one(diagnostic)));
        }
        let tile = self.cheap(tile, span)?;
        let parts = &extents[..extents.len() - 1];
        let ty = match (tile.element(), parts) {
            (element, []) => element,
            (Type::Scalar(scalar), [n]) if *n <= MOST => Type::Vec(*n as u16, scalar),
            (Type::Scalar(scalar), [rows, columns]) if rows.saturating_mul(*columns) <= MOST => {
                Type::Mat(*rows as u16, *columns as u16, scalar)
            }
            _ => {
                let shown = self.show(Type::Local(tile.ty));
                let message = "`untile` gives numbers, vectors and matrices";
                return self.error(Code::E0319, tile.span, message, format!("this is `{shown}`"));
            }
        };
        let mut values = Vec::new();
        for n in 0..parts.iter().product() {
            let mut index = constant_index(n, parts, span);
            index.push(number(0, span));
            values.push((tile.at)(self, &index, false)?);
        }
        Ok(Operand::Value(match parts {
            [] => values.remove(0),
            _ => Expr::new(ExprKind::Construct(values), ty, span),
        }))
    }

    /// `tile_from_thread(shape, value, thread_idx)`: each element is the value of one thread.
    pub(super) fn tile_from_thread(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args =
            self.arguments_of("tile_from_thread", &["shape", "value", "thread_idx", "storage"], 3, given, span)?;
        let (Some(shape), Some(value), Some(thread)) = (args.get("shape"), args.get("value"), args.get("thread_idx"))
        else {
            return self.error(Code::E0402, span, "no shape, value or thread", "here");
        };
        let extents = self.shape_argument(shape)?;
        // All threads of a block have the same value where launches with lanes are refused.
        self.integer_argument(&thread.operand, thread.span)?;
        let value = self.materialize(value.operand.clone(), value.span)?;
        let Some(element) = value.ty.element() else {
            return self.error(Code::E0401, value.span, "a tile holds numbers, vectors or structs", "not an element");
        };
        let value = self.hidden(value);
        let at = Rc::new(move |_: &mut Body<'_, '_>, _: &[Expr], _| Ok(value.clone()));
        Ok(Operand::Tile(Elements::free(tile_type(element, &extents), span, at)))
    }

    /// `tile_scatter_add(t, i, ..., value, has_value)`: threads that have a value add it to the element at their index; with
    /// `tile_scatter_masked` the element becomes the value.
    pub(super) fn tile_scatter(&mut self, adds: bool, given: &[Given], span: Span) -> Res<Operand> {
        let name = if adds { "tile_scatter_add" } else { "tile_scatter_masked" };
        let Some(first) = given.first() else {
            return self.error(Code::E0402, span, format!("`{name}` takes a tile"), "none given");
        };
        let tile = self.tile_given(name, first)?;
        let all = ["i", "j", "k", "l"];
        let mut params = vec!["a"];
        params.extend(&all[..usize::from(tile.ty.ndim)]);
        params.extend(["value", "has_value"]);
        let required = params.len();
        params.extend(adds.then_some("atomic"));
        let args = self.arguments_of(name, &params, required, given, span)?;
        self.flag_argument(args.get("atomic"), true)?;
        self.by_lane |= adds;
        let mut index = Vec::new();
        for param in &params[1..=usize::from(tile.ty.ndim)] {
            let Some(i) = args.get(param) else { return self.error(Code::E0402, span, "no index", "here") };
            index.push(self.integer_argument(&i.operand, i.span)?);
        }
        let (Some(value), Some(mask)) = (args.get("value"), args.get("has_value")) else {
            return self.error(Code::E0402, span, "no value", "here");
        };
        let at = value.span;
        let value = match (&value.operand, tile.element()) {
            (Operand::Const(c), Type::Scalar(scalar)) => c.expr_as(scalar, at),
            (operand, _) => self.materialize(operand.clone(), at)?,
        };
        if value.ty != tile.element() {
            let (found, wanted) = (self.show(value.ty), self.show(tile.element()));
            let message = format!("cannot store `{found}` where the tile's elements are `{wanted}`");
            return self.error(Code::E0303, at, message, format!("this is `{found}`"));
        }
        let value = self.hidden(value);
        let condition = self.materialize(mask.operand.clone(), mask.span)?;
        if condition.ty != BOOL {
            let shown = self.show(condition.ty);
            return self.error(Code::E0401, mask.span, "`has_value` is a bool", format!("this is `{shown}`"));
        }
        let target = (tile.at)(self, &index, false)?;
        let ExprKind::Load { array, index, .. } = target.kind else { return self.not_assignable(span) };
        let place = Place {
            root: Root::Element { array: array.clone(), index: index.clone() },
            path: Vec::new(),
            ty: value.ty,
            span,
        };
        let old = Expr::new(ExprKind::Load { array, index, path: Vec::new() }, value.ty, span);
        let value = match adds {
            true => {
                let (old, value) = (Operand::Value(old), Operand::Value(value));
                let sum = self.element_binary(ast::BinaryOp::Add, old, value, (span, span, span))?;
                self.materialize(sum, span)?
            }
            false => value,
        };
        let then = vec![Stmt { kind: StmtKind::Assign(place, value), span }];
        self.pending.push(Stmt { kind: StmtKind::If { condition, then, otherwise: Vec::new() }, span });
        Ok(Operand::Tuple(Vec::new()))
    }
}

/// The index of element `n`, in row-major order.
pub(super) fn constant_index(mut n: u32, extents: &[u32], span: Span) -> Vec<Expr> {
    let mut index = Vec::new();
    for &extent in extents.iter().rev() {
        index.insert(0, number(n % extent, span));
        n /= extent;
    }
    index
}
