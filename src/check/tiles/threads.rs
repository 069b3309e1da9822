//! The values of single threads of a block: as a tile, from a tile, and scattered into one.
//!
//! How many threads a block has is known here
//! ([`Checker::block_dim`](crate::check::Checker::block_dim)): it is a dimension of such tiles.
//! With one thread there is nothing that could differ. With more, the code made here is that of any
//! of them, and [`thread_loops`](crate::passes::thread_loops) makes that of the block; what all
//! threads do together is between two statements that say so ([`Body::together`]).

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, all_of, compare, count, number, set, tile_type, variable};
use crate::check::body::{Body, Mode};
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Place, Root, Step, Stmt, StmtKind};
use crate::check::types::value::{Operand, Res};
use crate::ir::{CompareOp, Const};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{BOOL, Element, I32, LocalArrayType, Type};

/// The built-ins that each thread has a part of its own in.
pub(super) const BY_THREAD: &[&str] = &[
    "tile_extract",
    "tile_from_thread",
    "tile_scatter_add",
    "tile_scatter_masked",
    "tile_stack_push",
    "tile_stack_pop",
    "tile_stack_count",
];

/// The components of a vector or matrix at most.
const MOST: u32 = 1024;

impl Body<'_, '_> {
    /// Says that what follows, or what came before, all threads of a block do together.
    pub(super) fn together(&mut self, begins: bool, span: Span) {
        if self.c.settings.block_dim > 1 {
            self.statement.pending.push(Stmt { kind: StmtKind::Together { begins }, span });
        }
    }

    /// Says that all threads come here before one goes on.
    pub(super) fn meet(&mut self, span: Span) {
        self.together(true, span);
        self.together(false, span);
    }

    /// Statements that all threads of a block do together.
    pub(super) fn all_together(&mut self, stmts: Vec<Stmt>, span: Span) {
        self.together(true, span);
        self.statement.pending.extend(stmts);
        self.together(false, span);
    }

    /// The number of the thread in its block.
    pub(super) fn thread_in_block(&self, span: Span) -> Expr {
        if self.c.settings.block_dim == 1 { number(0, span) } else { Expr::new(ExprKind::ThreadInBlock, I32, span) }
    }

    /// The index, as one that counts as different in each thread where launches count threads: for
    /// what each of them does by itself, be it the same ([`crate::passes::thread_loops::is_own`]).
    pub(in crate::check) fn of_each_thread(&self, index: Expr) -> Expr {
        if self.c.settings.block_dim == 1 || self.mode != Mode::User {
            return index;
        }
        let (ty, span) = (index.ty, index.span);
        // Another value than any index, so that the choice stays until threads are known.
        let none = ty.scalar_part().map_or(ExprKind::Zero, |scalar| ExprKind::Const(Const::new(scalar, u64::MAX)));
        let (condition, then) = (self.no_thread(span), Box::new(Expr::new(none, ty, span)));
        let kind = ExprKind::Select { condition: Box::new(condition), then, otherwise: Box::new(index) };
        Expr::new(kind, ty, span)
    }

    /// The place of an update, which each thread makes by itself: an element of an array or tile.
    pub(in crate::check) fn updated_by_each(&self, mut place: Place) -> Place {
        if let Root::Element { array, index } = &mut place.root
            && matches!(array.ty, Type::Array(_) | Type::Local(LocalArrayType { block: true, .. }))
            && let Some(first) = index.first_mut()
        {
            *first = self.of_each_thread(first.clone());
        }
        place
    }

    /// A statement for which the same is true.
    pub(in crate::check) fn each_thread(&self, kind: StmtKind, span: Span) -> StmtKind {
        if self.c.settings.block_dim == 1 || self.mode != Mode::User {
            return kind;
        }
        let otherwise = vec![Stmt { kind, span }];
        StmtKind::If { condition: self.no_thread(span), then: Vec::new(), otherwise }
    }

    /// What holds in no thread, of which [`crate::passes::thread_loops`] knows what is meant.
    fn no_thread(&self, span: Span) -> Expr {
        compare(CompareOp::Lt, Expr::new(ExprKind::ThreadInBlock, I32, span), number(0, span))
    }

    /// The variable of a tile in which each thread sets the elements that `index` and `value` say.
    pub(super) fn set_by_threads(&mut self, value: Expr, element: Element, parts: &[u32], span: Span) -> Res<Elements> {
        let mut extents = parts.to_vec();
        extents.push(self.c.settings.block_dim);
        let (id, array) = self.scratch(element, &extents, span);
        // Whoever reads the elements of others before is done.
        self.meet(span);
        let counters: Vec<LocalId> = parts.iter().map(|_| self.new_local("", I32, span)).collect();
        let mut index: Vec<Expr> = counters.iter().map(|&id| variable(id, I32, span)).collect();
        let steps = index.iter().map(|i| Step::Dynamic(Box::new(i.clone())));
        let part = steps.fold(value, |part, step| self.part(part, step, span));
        index.push(self.thread_in_block(span));
        let innermost = vec![set(array, &index, part, span)];
        let stmts =
            counters.iter().zip(parts).rev().fold(innermost, |body, (&id, &n)| vec![count(id, [0, n], body, span)]);
        self.tiles.filled.insert(id, id);
        self.fills(id, &stmts);
        self.statement.pending.extend(stmts);
        self.result(id, span)
    }

    /// `tile(x)`: the values of the threads along the last dimension, the components of vectors and
    /// matrices along those before.
    pub(super) fn tile_of_threads(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile", &["x", "preserve_type"], 1, given, span)?;
        let Some(x) = args.get("x") else {
            return Err(self.report(messages::tile_arguments::nothing_given("value", span)));
        };
        let whole = self.flag_argument(args.get("preserve_type"), false)?;
        self.summary.by_thread = true;
        let value = self.materialize(x.operand.clone(), x.span)?;
        let Some(element) = value.ty.element() else {
            let shown = self.show(value.ty);
            return Err(self.report(messages::tile_arguments::held_by_tile(&shown, x.span)));
        };
        let value = self.hidden(value);
        let parts: Vec<u32> = match value.ty {
            Type::Vec(..) | Type::Quat(_) if !whole => vec![value.ty.step_count(&self.c.output.structs)],
            Type::Mat(..) if !whole => {
                let rows = value.ty.step_count(&self.c.output.structs);
                let row = value.ty.step(Some(0), &self.c.output.structs).unwrap_or(value.ty);
                vec![rows, row.step_count(&self.c.output.structs)]
            }
            _ => Vec::new(),
        };
        let scalar = value.ty.scalar_part().filter(|_| !parts.is_empty());
        if self.c.settings.block_dim > 1 {
            return self
                .set_by_threads(value, scalar.map_or(element, Element::Scalar), &parts, span)
                .map(Operand::Tile);
        }
        let Some(scalar) = scalar else { return Ok(Operand::Tile(Elements::single(value, element))) };
        let mut extents = parts;
        extents.push(1);
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
        self.summary.by_thread = true;
        let extents = tile.ty.extents().to_vec();
        let threads = self.c.settings.block_dim;
        if extents.last() != Some(&threads) {
            let shown = shape_text(&tile.ty);
            let last = extents.last().copied().unwrap_or(0);
            let diagnostic = messages::tile_shapes::untiled(threads, last, &shown, tile.span);
            return Err(self.report(self.blocks_of_one(diagnostic)));
        }
        self.together(true, span);
        let tile = self.cheap(tile, span)?;
        self.together(false, span);
        let parts = &extents[..extents.len() - 1];
        let ty = match (tile.element(), parts) {
            (element, []) => element,
            (Type::Scalar(scalar), [n]) if *n <= MOST => Type::Vec(*n as u16, scalar),
            (Type::Scalar(scalar), [rows, columns]) if rows.saturating_mul(*columns) <= MOST => {
                Type::Mat(*rows as u16, *columns as u16, scalar)
            }
            _ => {
                let shown = self.show(Type::Local(tile.ty));
                return Err(self.report(messages::tile_arguments::untiled(&shown, tile.span)));
            }
        };
        let mut values = Vec::new();
        for n in 0..parts.iter().product() {
            let mut index = constant_index(n, parts, span);
            index.push(self.thread_in_block(span));
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
            return Err(self.report(messages::tile_arguments::nothing_given("shape, value or thread", span)));
        };
        let extents = self.shape_argument(shape)?;
        let thread = self.integer_argument(&thread.operand, thread.span)?;
        let value = self.materialize(value.operand.clone(), value.span)?;
        let Some(element) = value.ty.element() else {
            return Err(self.report(messages::tile_arguments::not_an_element(value.span)));
        };
        let mut value = self.hidden(value);
        if self.c.settings.block_dim > 1 {
            self.summary.by_thread = true;
            let all = self.set_by_threads(value, element, &[], span)?;
            self.together(true, span);
            let one = (all.at)(self, &[thread], false)?;
            value = self.hidden(one);
            self.together(false, span);
        }
        let at = Rc::new(move |_: &mut Body<'_, '_>, _: &[Expr], _| Ok(value.clone()));
        Ok(Operand::Tile(Elements::free(tile_type(element, &extents), span, at)))
    }

    /// `tile_scatter_add(t, i, ..., value, has_value)`: threads that have a value add it to the
    /// element at their index; with `tile_scatter_masked` the element becomes the value.
    pub(super) fn tile_scatter(&mut self, adds: bool, given: &[Given], span: Span) -> Res<Operand> {
        let name = if adds { "tile_scatter_add" } else { "tile_scatter_masked" };
        let Some(first) = given.first() else {
            return Err(self.report(messages::tile_arguments::takes_a_tile(name, span)));
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
        self.summary.by_thread |= adds || self.c.settings.block_dim > 1;
        self.meet(span);
        let mut index = Vec::new();
        for param in &params[1..=usize::from(tile.ty.ndim)] {
            let Some(i) = args.get(param) else {
                return Err(self.report(messages::tile_arguments::nothing_given("index", span)));
            };
            let i = self.integer_argument(&i.operand, i.span)?;
            index.push(self.hidden(i));
        }
        let (Some(value), Some(mask)) = (args.get("value"), args.get("has_value")) else {
            return Err(self.report(messages::tile_arguments::nothing_given("value", span)));
        };
        let at = value.span;
        let value = match (&value.operand, tile.element()) {
            (Operand::Const(c), Type::Scalar(scalar)) => c.expr_as(scalar, at),
            (operand, _) => self.materialize(operand.clone(), at)?,
        };
        if value.ty != tile.element() {
            let (found, wanted) = (self.show(value.ty), self.show(tile.element()));
            return Err(self.report(messages::tiles::stored_element(&found, &wanted, at)));
        }
        let value = self.hidden(value);
        let condition = self.materialize(mask.operand.clone(), mask.span)?;
        if condition.ty != BOOL {
            let shown = self.show(condition.ty);
            return Err(self.report(messages::tile_arguments::has_value(&shown, mask.span)));
        }
        // Each thread that has a value does this, although all may have the same.
        let condition = match self.c.settings.block_dim {
            1 => condition,
            _ => all_of(vec![compare(CompareOp::Ge, self.thread_in_block(span), number(0, span)), condition], span),
        };
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
        self.statement.pending.push(Stmt { kind: StmtKind::If { condition, then, otherwise: Vec::new() }, span });
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
