//! How do expressions become IR?

use super::Lowering;
use crate::check::tree::*;
use crate::ir::{BinaryOp, CompareOp, Const, ConstantId, Op, UnaryOp, ValueId, eval};
use crate::types::Type;

/// The most nodes of an expression that is evaluated although it may not be needed.
const MAX_EAGER_NODES: usize = 16;

impl<'a> Lowering<'a> {
    pub(super) fn expr(&mut self, expr: &'a Expr) -> ValueId {
        let outer = std::mem::replace(&mut self.b.span, expr.span);
        let value = self.kind(expr);
        self.b.span = outer;
        value
    }

    fn kind(&mut self, expr: &'a Expr) -> ValueId {
        match &expr.kind {
            ExprKind::Const(c) => self.b.constant(Const { named: self.name_at(expr), ..*c }),
            ExprKind::Zero => self.b.zero(expr.ty),
            ExprKind::Local(local) => self.read(*local),
            ExprKind::Unary(op, a) => {
                let a = self.expr(a);
                self.unary(*op, a)
            }
            ExprKind::Binary(op, a, b) => {
                let a = self.expr(a);
                let b = self.expr(b);
                self.binary(*op, a, b)
            }
            ExprKind::Compare(op, a, b) => {
                let a = self.expr(a);
                let b = self.expr(b);
                self.compare(*op, a, b)
            }
            ExprKind::Fma(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|part| self.expr(part));
                self.b.one(Op::Fma(a, b, c), expr.ty)
            }
            ExprKind::And(parts) => self.logic(expr, parts, BinaryOp::And),
            ExprKind::Or(parts) => self.logic(expr, parts, BinaryOp::Or),
            ExprKind::Conditional { condition, then, otherwise } => self.conditional(expr, condition, then, otherwise),
            ExprKind::Select { condition, then, otherwise } => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|part| self.expr(part));
                self.b.select(condition, then, otherwise)
            }
            ExprKind::Cast(a) => {
                let a = self.expr(a);
                self.convert(a, expr.ty)
            }
            ExprKind::Bitcast(a) => {
                let a = self.expr(a);
                if self.b.ty(a) == expr.ty { a } else { self.b.one(Op::Bitcast(a), expr.ty) }
            }
            ExprKind::Let { local, value, body } => {
                let value = self.expr(value);
                self.assign(*local, value);
                self.expr(body)
            }
            ExprKind::Construct(parts) => {
                let named = self.name_at(expr);
                let parts = parts.iter().map(|part| match (&part.kind, named) {
                    (ExprKind::Const(c), Some(_)) => self.b.constant(Const { named, ..*c }),
                    _ => self.expr(part),
                });
                let parts = parts.collect();
                self.b.one(Op::Construct(parts), expr.ty)
            }
            ExprKind::Part { base, path } => {
                let local = if let ExprKind::Local(local) = base.kind { Some(local) } else { None };
                let base = self.expr(base);
                let locals = &self.function.locals;
                let name = || local.map_or(String::new(), |local| locals[local].name.clone());
                let path = self.path(self.b.ty(base), path, name);
                self.part(base, path, expr.ty)
            }
            ExprKind::Load { array, index, path } => {
                let access = self.access(array, index, path);
                self.b.one(Op::Load(access), expr.ty)
            }
            ExprKind::Call(call) => {
                let results = self.call(call);
                results[0]
            }
            ExprKind::ThreadIndex(n) => self.b.one(Op::ThreadIndex(*n), expr.ty),
            ExprKind::BlockDim => self.b.one(Op::BlockDim, expr.ty),
            ExprKind::ThreadInBlock => self.b.one(Op::ThreadInBlock, expr.ty),
            ExprKind::Extent(array, dim) => {
                let array = self.expr(array);
                self.b.extent(array, *dim)
            }
            ExprKind::IsSet(array) => {
                let array = self.expr(array);
                self.b.one(Op::IsSet(array), expr.ty)
            }
            ExprKind::Gradient(array) => {
                let array = self.expr(array);
                self.b.one(Op::Gradient(array), expr.ty)
            }
            ExprKind::Address(array) => {
                let array = self.expr(array);
                self.b.one(Op::Address(array), expr.ty)
            }
            ExprKind::ArrayAt { constant, args } => {
                let args = args.iter().map(|arg| self.expr(arg)).collect();
                self.b.one(Op::ArrayAt { constant: *constant, args }, expr.ty)
            }
            ExprKind::View { array, index } => self.view(array, index, expr.ty),
            ExprKind::LocalArray => self.b.one(Op::LocalArray, expr.ty),
            ExprKind::Atomic { op, place, value } => self.atomic(*op, place, value),
            ExprKind::AtomicCas { place, expected, new } => self.compare_and_swap(place, expected, new),
        }
    }

    /// The constant that the source names where this number or composite is.
    fn name_at(&self, expr: &Expr) -> Option<ConstantId> {
        self.function.named.get(&expr.span).copied()
    }

    fn unary(&mut self, op: UnaryOp, a: ValueId) -> ValueId {
        match self.known(a).and_then(|a| eval::unary(op, a)) {
            Some(result) => self.b.constant(result),
            None => self.b.unary(op, a),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        match self.known(a).zip(self.known(b)).and_then(|(a, b)| eval::binary(op, a, b)) {
            Some(result) => self.b.constant(result),
            None => self.b.binary(op, a, b),
        }
    }

    fn compare(&mut self, op: CompareOp, a: ValueId, b: ValueId) -> ValueId {
        match self.known(a).zip(self.known(b)).and_then(|(a, b)| eval::compare(op, a, b)) {
            Some(result) => self.b.constant(result),
            None => self.b.compare(op, a, b),
        }
    }

    /// A number, or each number of a composite, as the type `to` has it.
    pub(super) fn convert(&mut self, value: ValueId, to: Type) -> ValueId {
        if self.b.ty(value) == to {
            return value;
        }
        match self.known(value).zip(to.as_scalar()) {
            Some((known, to)) => self.b.constant(eval::cast(known, to)),
            None => self.b.one(Op::Cast(value), to),
        }
    }

    /// The constant that an integer or bool value is. Operations on these are folded here, because
    /// unrolled loops and lengths of vectors make constants of indices, and a component step by a
    /// constant is another thing than one by a value; all other folding is the passes' business.
    pub(super) fn known(&self, value: ValueId) -> Option<Const> {
        self.b.function.as_const(value).filter(|known| !known.scalar.is_float())
    }

    pub(super) fn known_bool(&self, value: ValueId) -> Option<bool> {
        self.known(value)?.as_int().map(|bit| bit != 0)
    }

    /// `and`, `or` from left to right. A part that is cheap and harmless is evaluated anyway; any
    /// other only when the parts before it leave the answer open.
    fn logic(&mut self, expr: &'a Expr, parts: &'a [Expr], op: BinaryOp) -> ValueId {
        let decided = op == BinaryOp::Or;
        let changed = self.flow.lazily_assigned(expr).to_vec();
        let mut answer: Option<ValueId> = None;
        for part in parts {
            let Some(so_far) = answer else {
                answer = Some(self.expr(part));
                continue;
            };
            answer = Some(match self.known_bool(so_far) {
                Some(known) if known == decided => so_far,
                Some(_) => self.expr(part),
                None if self.is_harmless(part, true) => {
                    let part = self.expr(part);
                    self.binary(op, so_far, part)
                }
                None => {
                    let evaluate = |this: &mut Self| Some(this.expr(part));
                    let skip = |this: &mut Self| Some(this.b.constant(Const::bool(decided)));
                    let joined = match op {
                        BinaryOp::Or => self.branch(so_far, &changed, skip, evaluate),
                        _ => self.branch(so_far, &changed, evaluate, skip),
                    };
                    joined.unwrap_or(so_far)
                }
            });
        }
        answer.unwrap_or_else(|| self.b.constant(Const::bool(!decided)))
    }

    fn conditional(&mut self, expr: &'a Expr, condition: &'a Expr, then: &'a Expr, otherwise: &'a Expr) -> ValueId {
        let condition = self.expr(condition);
        if let Some(known) = self.known_bool(condition) {
            return self.expr(if known { then } else { otherwise });
        }
        if self.is_harmless(then, false) && self.is_harmless(otherwise, false) {
            let then = self.expr(then);
            let otherwise = self.expr(otherwise);
            return self.b.select(condition, then, otherwise);
        }
        let changed = self.flow.lazily_assigned(expr).to_vec();
        let joined = self.branch(condition, &changed, |this| Some(this.expr(then)), |this| Some(this.expr(otherwise)));
        joined.unwrap_or(condition)
    }

    /// Whether evaluating an expression that may not be needed costs little and changes nothing.
    /// Memory is not read (the index may be outside), and for values that have a gradient nothing
    /// is evaluated whose derivative can be infinite: 0 * infinity would poison the side that was
    /// chosen.
    fn is_harmless(&self, expr: &Expr, is_test: bool) -> bool {
        let mut budget = MAX_EAGER_NODES;
        harmless(expr, is_test, &mut budget)
    }
}

fn harmless(expr: &Expr, is_test: bool, budget: &mut usize) -> bool {
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    let steps_at = |path: &[Step]| path.iter().all(|step| matches!(step, Step::At(_)));
    match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Zero
        | ExprKind::Local(_)
        | ExprKind::ThreadIndex(_)
        | ExprKind::BlockDim
        | ExprKind::ThreadInBlock => true,
        ExprKind::Unary(op, a) => (is_test || *op != UnaryOp::Sqrt) && harmless(a, is_test, budget),
        ExprKind::Binary(op, a, b) => {
            let plain = match op {
                // Integer division is slow and often guarded against 0 by the very test that comes
                // before.
                BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem => {
                    matches!(&b.kind, ExprKind::Const(c) if c.bits != 0)
                }
                _ => true,
            };
            plain && harmless(a, is_test, budget) && harmless(b, is_test, budget)
        }
        ExprKind::Compare(_, a, b) => harmless(a, is_test, budget) && harmless(b, is_test, budget),
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().all(|part| harmless(part, is_test, budget)),
        ExprKind::Cast(a) | ExprKind::Bitcast(a) | ExprKind::Extent(a, _) | ExprKind::IsSet(a) => {
            harmless(a, is_test, budget)
        }
        ExprKind::Part { base, path } => steps_at(path) && harmless(base, is_test, budget),
        _ => false,
    }
}
