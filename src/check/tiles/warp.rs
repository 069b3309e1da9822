//! What the threads of a warp tell each other, as CUDA's kernels do it. Warp has no such names.
//!
//! Values go through a tile with an element for each thread, so all threads of a block come
//! together, gradients are those of tiles, and results are the same everywhere. With one thread
//! there is nobody to ask.

use super::elements::{Elements, all_of, arithmetic, compare, count, number, variable};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::value::{Constant, Number, Operand, Res, cast_to};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::types::{BOOL, Element, I32, Scalar, Type};

/// The threads of a warp.
const WARP: u32 = 32;

/// From which thread of its warp does each get a value?
#[derive(Clone, Copy)]
pub(super) enum Shuffle {
    From,
    Up,
    Down,
    Xor,
}

fn mask(n: u32, span: Span) -> Expr {
    Constant::untyped(Number::Int(n.into())).expr_as(Scalar::U32, span)
}

fn select(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    let (ty, span) = (then.ty, then.span);
    let (condition, then, otherwise) = (Box::new(condition), Box::new(then), Box::new(otherwise));
    Expr::new(ExprKind::Select { condition, then, otherwise }, ty, span)
}

impl Body<'_, '_> {
    /// `lane()`: the number of the thread in its block.
    pub(super) fn thread_in_block_number(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        self.arguments_of("lane", &[], 0, given, span)?;
        self.summary.by_thread = true;
        Ok(Operand::Value(self.thread_in_block(span)))
    }

    /// `sync()`: what threads did before is seen by all behind it.
    pub(in crate::check) fn sync(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        self.arguments_of("sync", &[], 0, given, span)?;
        self.summary.by_thread = true;
        self.meet(span);
        Ok(Operand::Tuple(Vec::new()))
    }

    /// The number of the first thread of the warp, and that of the thread in it.
    fn warp(&mut self, span: Span) -> (Expr, Expr) {
        let thread = self.thread_in_block(span);
        let inside = arithmetic(BinaryOp::And, thread.clone(), number(WARP - 1, span));
        let inside = self.hidden(inside);
        let first = arithmetic(BinaryOp::Sub, thread, inside.clone());
        (self.hidden(first), inside)
    }

    /// Whether there is a thread of this number; None: there always is.
    fn is_thread(&self, thread: &Expr) -> Option<Expr> {
        let (threads, span) = (self.c.settings.block_dim, thread.span);
        (!threads.is_multiple_of(WARP)).then(|| compare(CompareOp::Lt, thread.clone(), number(threads, span)))
    }

    pub(super) fn shuffle(&mut self, way: Shuffle, given: &[Given], span: Span) -> Res<Operand> {
        let (name, by) = match way {
            Shuffle::From => ("shuffle", "source"),
            Shuffle::Up => ("shuffle_up", "delta"),
            Shuffle::Down => ("shuffle_down", "delta"),
            Shuffle::Xor => ("shuffle_xor", "mask"),
        };
        let args = self.arguments_of(name, &["value", by], 2, given, span)?;
        let (Some(value), Some(by)) = (args.get("value"), args.get(by)) else {
            return Err(self.report(messages::tile_arguments::of_shuffle(name, span)));
        };
        self.summary.by_thread = true;
        let by = self.integer_argument(&by.operand, by.span)?;
        let at = value.span;
        let value = self.materialize(value.operand.clone(), at)?;
        let Some(element) = value.ty.element() else {
            let shown = self.show(value.ty);
            return Err(self.report(messages::tile_arguments::shuffled(name, &shown, at)));
        };
        let value = self.hidden(value);
        if self.c.settings.block_dim == 1 {
            return Ok(Operand::Value(value));
        }
        let all = self.set_by_threads(value, element, &[], span)?;
        let (first, own) = self.warp(span);
        let other = match way {
            Shuffle::From => arithmetic(BinaryOp::And, by, number(WARP - 1, span)),
            Shuffle::Up => arithmetic(BinaryOp::Sub, own, by),
            Shuffle::Down => arithmetic(BinaryOp::Add, own, by),
            Shuffle::Xor => Expr::new(ExprKind::Binary(BinaryOp::Xor, Box::new(own), Box::new(by)), I32, span),
        };
        let other = self.hidden(other);
        let thread = arithmetic(BinaryOp::Add, first, other.clone());
        let thread = self.hidden(thread);
        let in_warp = |op, n: u32| compare(op, other.clone(), number(n, span));
        let mut there = vec![in_warp(CompareOp::Ge, 0), in_warp(CompareOp::Lt, WARP)];
        there.extend(self.is_thread(&thread));
        let source = select(all_of(there, span), thread, self.thread_in_block(span));
        let source = self.hidden(source);
        let found = (all.at)(self, &[source], false)?;
        Ok(Operand::Value(self.hidden(found)))
    }

    /// `so_far = so_far | 1 << k` where a condition holds.
    fn set_bit(&mut self, so_far: LocalId, k: &Expr, conditions: Vec<Expr>, span: Span) -> Stmt {
        let binary = |op, a: Expr, b: Expr| {
            let ty = a.ty;
            Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
        };
        let bit = binary(BinaryOp::Shl, mask(1, span), cast_to(k.clone(), Scalar::U32));
        let next = binary(BinaryOp::Or, variable(so_far, Type::Scalar(Scalar::U32), span), bit);
        let then = vec![self.assign_local(so_far, next, span)];
        Stmt { kind: StmtKind::If { condition: all_of(conditions, span), then, otherwise: Vec::new() }, span }
    }

    /// `ballot(predicate)`: the threads of the warp for which it holds, as bits.
    pub(super) fn ballot(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("ballot", &["predicate"], 1, given, span)?;
        let Some(predicate) = args.get("predicate") else {
            return Err(self.report(messages::tile_arguments::of_ballot(span)));
        };
        self.summary.by_thread = true;
        let holds = self.truth(predicate.operand.clone(), predicate.span)?;
        let bit = self.hidden(select(holds, mask(1, span), mask(0, span)));
        if self.c.settings.block_dim == 1 {
            return Ok(Operand::Value(bit));
        }
        let all = self.set_by_threads(bit, Element::Scalar(Scalar::U32), &[], span)?;
        self.threads_where(&all, |element| compare(CompareOp::Ne, element, mask(0, span)), span)
    }

    /// The threads of the warp whose element holds, as bits.
    fn threads_where(&mut self, all: &Elements, holds: impl Fn(Expr) -> Expr, span: Span) -> Res<Operand> {
        let (first, _) = self.warp(span);
        let (so_far, k) = (self.new_local("", Type::Scalar(Scalar::U32), span), self.new_local("", I32, span));
        let k_value = variable(k, I32, span);
        let thread = arithmetic(BinaryOp::Add, first, k_value.clone());
        let element = (all.at)(self, std::slice::from_ref(&thread), false)?;
        let mut conditions: Vec<Expr> = self.is_thread(&thread).into_iter().collect();
        conditions.push(holds(element));
        let set_bit = self.set_bit(so_far, &k_value, conditions, span);
        let begin = self.assign_local(so_far, mask(0, span), span);
        self.statement.pending.push(begin);
        self.statement.pending.push(count(k, [0, WARP.min(self.c.settings.block_dim)], vec![set_bit], span));
        Ok(Operand::Value(variable(so_far, Type::Scalar(Scalar::U32), span)))
    }

    /// `match(value)`: the threads of the warp with the same value, as bits.
    pub(super) fn match_value(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("match", &["value"], 1, given, span)?;
        let Some(value) = args.get("value") else {
            return Err(self.report(messages::tile_arguments::of_match(span)));
        };
        self.summary.by_thread = true;
        let at = value.span;
        let value = self.materialize(value.operand.clone(), at)?;
        let Some(scalar) = value.ty.as_scalar().filter(|scalar| !scalar.is_float()) else {
            let shown = self.show(value.ty);
            return Err(self.report(messages::tile_arguments::matched(&shown, at)));
        };
        let value = self.hidden(value);
        if self.c.settings.block_dim == 1 {
            return Ok(Operand::Value(mask(1, span)));
        }
        let all = self.set_by_threads(value, Element::Scalar(scalar), &[], span)?;
        let own = (all.at)(self, &[self.thread_in_block(span)], false)?;
        let own = self.hidden(own);
        let same =
            |element| Expr::new(ExprKind::Compare(CompareOp::Eq, Box::new(element), Box::new(own.clone())), BOOL, span);
        self.threads_where(&all, same, span)
    }
}
