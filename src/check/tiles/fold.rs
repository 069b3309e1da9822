//! In which order does one value come of many elements?
//!
//! Up to [`CHAINS`] elements that lie side by side, and elements along any axis but the last, are
//! taken one after the other, upward. More elements that lie side by side are taken in as many
//! chains: chain `n` has the elements `n`, `n + 32`, `n + 64`, ... in this order. So each lane of a
//! vector, or thread of a warp, has one. Then chain `n` takes chain `n + 16`, and what comes of
//! that what came of chains `n + 8` and `n + 24`; the eight values that are left are taken upward.

use std::rc::Rc;

use super::elements::{Elements, arithmetic, compare, count, number, set, tile_type, unflatten, variable};
use super::reduce::Extremum;
use crate::check::body::Body;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::value::{Operand, Res};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::I32;

/// The threads of a warp.
const CHAINS: u32 = 32;

/// So many values are left of the chains when those are put together that lie far from each other:
/// vectors have at least half as many lanes, and as many additions one after the other take less
/// time than threads that wait for each other.
const FEW: u32 = 8;

/// What becomes of the value so far and the next element.
pub(super) type Step = Rc<dyn Fn(&mut Body<'_, '_>, Expr, Expr) -> Res<Expr>>;

/// A way to make one value of many.
#[derive(Clone)]
pub(super) struct Fold {
    pub step: Step,
    /// A chain begins with zero, not with its first element.
    pub from_zero: bool,
    /// What people who read the code call the value.
    pub name: &'static str,
}

impl Fold {
    pub fn sum(span: Span) -> Fold {
        let step: Step = Rc::new(move |body, sum, element| {
            let (sum, element) = (Operand::Value(sum), Operand::Value(element));
            let sum = body.element_binary(ast::BinaryOp::Add, sum, element, (span, span, span))?;
            body.materialize(sum, span)
        });
        Fold { step, from_zero: true, name: "sum" }
    }

    pub fn extremum(which: Extremum) -> Fold {
        let step: Step = Rc::new(move |_, so_far, element| Ok(arithmetic(which.op(), so_far, element)));
        Fold { step, from_zero: false, name: which.name() }
    }
}

/// The elements that one value comes of: all, or those along an axis.
struct Line {
    extents: Vec<u32>,
    axis: Option<usize>,
}

impl Line {
    fn total(&self) -> u32 {
        self.extents.iter().product()
    }

    /// The index of an element: where the line is, and where it is in the line.
    fn index(&self, outer: &[Expr], mut inner: Vec<Expr>) -> Vec<Expr> {
        match self.axis {
            None => inner,
            Some(axis) => {
                let mut index = outer.to_vec();
                index.splice(axis..axis, inner.drain(..));
                index
            }
        }
    }

    /// Where element `row * CHAINS + chain` is in the line.
    fn place(&self, row: &Expr, chain: &Expr, span: Span) -> Vec<Expr> {
        let beside = |row: &Expr| {
            let first = arithmetic(BinaryOp::Mul, row.clone(), number(CHAINS, span));
            arithmetic(BinaryOp::Add, first, chain.clone())
        };
        match self.extents.split_last() {
            Some((last, above)) if last % CHAINS == 0 => {
                let rows: Vec<u32> = above.iter().copied().chain([last / CHAINS]).collect();
                let mut index = unflatten(row, &rows);
                index.iter_mut().last().into_iter().for_each(|last| *last = beside(last));
                index
            }
            _ => unflatten(&beside(row), &self.extents),
        }
    }
}

impl Body<'_, '_> {
    /// One value of all elements, or with an axis one of each line along it.
    pub(super) fn folded(&mut self, tile: Elements, axis: Option<usize>, fold: &Fold, span: Span) -> Res<Elements> {
        let extents = tile.ty.extents().to_vec();
        let axis = axis.filter(|_| extents.len() > 1);
        let line = match axis {
            Some(axis) => Line { extents: vec![extents[axis]], axis: Some(axis) },
            None => Line { extents: extents.clone(), axis: None },
        };
        let rest: Vec<u32> = match axis {
            Some(axis) => (0..extents.len()).filter(|&k| k != axis).map(|k| extents[k]).collect(),
            None => Vec::new(),
        };
        let side_by_side = axis.is_none_or(|axis| axis + 1 == extents.len());
        if side_by_side && line.total() > CHAINS {
            return self.in_chains(tile, &rest, line, fold, span);
        }
        // Each element is read once, but a first element twice, and what a check leaves open at
        // both ends of a branch.
        let tile = if fold.from_zero && tile.checks.is_empty() { tile } else { self.cheap(tile, span)? };
        let so_far = self.new_local(fold.name, tile.element(), span);
        let value = variable(so_far, tile.element(), span);
        if axis.is_none() {
            let stmts = self.one_after_the_other(so_far, &tile, &[], &line, fold, span)?;
            self.statement.pending.extend(stmts);
            return Ok(Elements::single(value, tile.ty.element));
        }
        let (id, result) = self.scratch(tile.ty.element, &rest, span);
        let stmts = self.over(&rest, span, |this, outer| {
            let mut stmts = this.one_after_the_other(so_far, &tile, outer, &line, fold, span)?;
            stmts.push(set(result.clone(), outer, value.clone(), span));
            Ok(stmts)
        })?;
        self.fills(id, &stmts);
        self.statement.pending.extend(stmts);
        self.result(id, span)
    }

    /// Statements that make `so_far` the fold of the elements of a line, upward.
    fn one_after_the_other(
        &mut self,
        so_far: LocalId,
        tile: &Elements,
        outer: &[Expr],
        line: &Line,
        fold: &Fold,
        span: Span,
    ) -> Res<Vec<Stmt>> {
        let value = variable(so_far, tile.element(), span);
        let mut stmts = Vec::new();
        if fold.from_zero {
            stmts.push(self.assign_local(so_far, Expr::new(ExprKind::Zero, tile.element(), span), span));
            stmts.extend(self.over(&line.extents, span, |this, index| {
                let element = (tile.at)(this, &line.index(outer, index.to_vec()), false)?;
                let next = (fold.step)(this, value, element)?;
                Ok(vec![this.assign_local(so_far, next, span)])
            })?);
            return Ok(stmts);
        }
        let zeros = line.extents.iter().map(|_| number(0, span)).collect();
        let first = (tile.at)(self, &line.index(outer, zeros), false)?;
        stmts.push(self.assign_local(so_far, first, span));
        let n = self.new_local("", I32, span);
        let index = unflatten(&variable(n, I32, span), &line.extents);
        let element = (tile.at)(self, &line.index(outer, index), false)?;
        let next = (fold.step)(self, value, element)?;
        stmts.push(count(n, [1, line.total()], vec![self.assign_local(so_far, next, span)], span));
        Ok(stmts)
    }

    /// The fold of lines of more than [`CHAINS`] elements.
    fn in_chains(&mut self, tile: Elements, rest: &[u32], line: Line, fold: &Fold, span: Span) -> Res<Elements> {
        let tile = if fold.from_zero { tile } else { self.cheap(tile, span)? };
        let element = tile.ty.element;
        let (rows, more) = (line.total() / CHAINS, line.total() % CHAINS);
        let each: Vec<u32> = rest.iter().copied().chain([CHAINS]).collect();
        let (id, chains) = self.scratch(element, &each, span);
        self.name_hidden("chains", &chains);
        let so_far = self.new_local(fold.name, tile.element(), span);
        let value = variable(so_far, tile.element(), span);
        let stmts = self.where_sure(&tile.checks, span, |this, sure| {
            this.over(&each, span, |this, index| {
                let Some((chain, outer)) = index.split_last() else { return Ok(Vec::new()) };
                let at = |this: &mut Self, row: &Expr| {
                    (tile.at)(this, &line.index(outer, line.place(row, chain, span)), sure)
                };
                let first = match fold.from_zero {
                    true => Expr::new(ExprKind::Zero, tile.element(), span),
                    false => at(this, &number(0, span))?,
                };
                let n = this.new_local("", I32, span);
                let next = at(this, &variable(n, I32, span))?;
                let next = (fold.step)(this, value.clone(), next)?;
                let start = u32::from(!fold.from_zero);
                let step = vec![this.assign_local(so_far, next, span)];
                let mut stmts = vec![this.assign_local(so_far, first, span), count(n, [start, rows], step, span)];
                if more > 0 {
                    let next = at(this, &number(rows, span))?;
                    let next = (fold.step)(this, value.clone(), next)?;
                    let condition = compare(CompareOp::Lt, chain.clone(), number(more, span));
                    let then = vec![this.assign_local(so_far, next, span)];
                    stmts.push(Stmt { kind: StmtKind::If { condition, then, otherwise: Vec::new() }, span });
                }
                stmts.push(set(chains.clone(), index, value.clone(), span));
                Ok(stmts)
            })
        })?;
        self.fills(id, &stmts);
        self.statement.pending.extend(stmts);
        let chains = self.result(id, span)?;
        let axis = (!rest.is_empty()).then_some(rest.len());
        self.folded(narrowed(&chains, rest, fold, span), axis, fold, span)
    }
}

/// Of the chains along the last axis [`FEW`] values: each takes the one half as far away as they
/// reach, again and again.
fn narrowed(chains: &Elements, rest: &[u32], fold: &Fold, span: Span) -> Elements {
    fn value(
        body: &mut Body<'_, '_>,
        (chains, fold): (&Elements, &Fold),
        index: &[Expr],
        [place, width]: [u32; 2],
    ) -> Res<Expr> {
        if width == CHAINS {
            let mut index = index.to_vec();
            let own = |last: &mut Expr| *last = arithmetic(BinaryOp::Add, last.clone(), number(place, last.span));
            index.iter_mut().last().into_iter().for_each(own);
            return (chains.at)(body, &index, true);
        }
        let own = value(body, (chains, fold), index, [place, 2 * width])?;
        let other = value(body, (chains, fold), index, [place + width, 2 * width])?;
        (fold.step)(body, own, other)
    }
    let extents: Vec<u32> = rest.iter().copied().chain([FEW]).collect();
    let reads = chains.reads.iter().map(|read| super::elements::Read { in_place: false, ..*read }).collect();
    let (ty, of) = (tile_type(chains.ty.element, &extents), (chains.clone(), fold.clone()));
    let at =
        Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], _: bool| value(body, (&of.0, &of.1), index, [0, FEW]));
    // Each is read once.
    Elements { reads, cheap: true, ..Elements::free(ty, span, at) }
}
