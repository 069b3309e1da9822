//! The derivative of each operation without blocks: how its result's tangent follows from those of
//! its operands.

use smallvec::smallvec;

use super::Copy;
use crate::autodiff::analysis::floats::{Leaf, has_tangent, leaves};
use crate::ir::*;
use crate::types::{BOOL, Scalar, Type};

impl Copy<'_, '_, '_> {
    /// The tangent of `result`, or of nothing for operations that only have effects; None: zero.
    /// The value itself is computed already.
    pub(super) fn rule(&mut self, op: &Op, result: Option<ValueId>) -> Option<ValueId> {
        let ty = result.map(|r| self.old.ty(r));
        match op {
            Op::Unary(op, a) => self.unary(*op, *a, result?),
            Op::Binary(op, a, b) => self.binary(*op, *a, *b, result?),
            Op::Fma(a, b, c) => {
                let product = self.product(*a, *b);
                self.sum(BinaryOp::Add, product, self.tangent(*c))
            }
            Op::Cast(a) => {
                let scalar = ty?.scalar_part().filter(|s| s.is_float())?;
                let t = self.tangent(*a)?;
                Some(self.new.cast(t, scalar))
            }
            Op::Select { condition, then, otherwise } => self.select(*condition, *then, *otherwise),
            Op::Construct(parts) => {
                if parts.iter().all(|&p| self.tangent(p).is_none()) {
                    return None;
                }
                // Parts without floats stay zero, or null.
                let parts = parts.iter().map(|&p| self.tangent_or_zero(p)).collect();
                Some(self.new.one(Op::Construct(parts), ty?))
            }
            Op::Extract(whole, path) => {
                let whole = self.tangent(*whole).filter(|_| has_tangent(ty.unwrap_or(BOOL), &self.structs))?;
                let path = self.path(path);
                Some(self.new.one(Op::Extract(whole, path), ty?))
            }
            Op::Insert(whole, path, part) => {
                if !self.has_tangent(*part) || self.tangent(*whole).is_none() && self.tangent(*part).is_none() {
                    return self.tangent(*whole);
                }
                let (whole, part, path) = (self.tangent_or_zero(*whole), self.tangent_or_zero(*part), self.path(path));
                Some(self.new.one(Op::Insert(whole, path, part), ty?))
            }
            Op::Gradient(a) => {
                let tangents = self.tangent(*a)?;
                Some(self.new.one(Op::Gradient(tangents), ty?))
            }
            // The memory of its adjoints holds its tangents.
            Op::ArrayAt { .. } => {
                let array = self.value(result?);
                has_tangent(ty?, &self.structs).then(|| self.new.one(Op::Gradient(array), ty.unwrap_or(BOOL)))
            }
            Op::LocalArray => has_tangent(ty?, &self.structs).then(|| self.new.one(Op::LocalArray, ty.unwrap_or(BOOL))),
            Op::View(a, dims) => {
                let (tangents, ty) = (self.tangent(*a)?, ty?);
                let dims = dims
                    .iter()
                    .map(|dim| match *dim {
                        ViewIndex::At(v) => ViewIndex::At(self.value(v)),
                        ViewIndex::Range { start, stop, step } => {
                            let [start, stop, step] = [start, stop, step].map(|v| self.value(v));
                            ViewIndex::Range { start, stop, step }
                        }
                    })
                    .collect();
                let view =
                    self.where_set(tangents, &[ty], |this| smallvec![this.new.one(Op::View(tangents, dims), ty)]);
                Some(view[0])
            }
            Op::Load(access) => {
                let (tangents, ty) = (self.tangent(access.array)?, ty.filter(|&ty| has_tangent(ty, &self.structs))?);
                let load = Op::Load(self.access(tangents, access));
                Some(self.where_set(tangents, &[ty], |this| smallvec![this.new.one(load, ty)])[0])
            }
            Op::Store { access, value } => {
                let tangents = self.tangent(access.array).filter(|_| self.has_tangent(*value))?;
                let access = self.access(tangents, access);
                self.where_set(tangents, &[], |this| {
                    let value = this.tangent_or_zero(*value);
                    this.new.effect(Op::Store { access, value });
                    smallvec![]
                });
                None
            }
            Op::Atomic { op, access, value } => {
                let (tangents, ty) = (self.tangent(access.array)?, ty.filter(|&ty| has_tangent(ty, &self.structs))?);
                let access = self.access(tangents, access);
                let old = self.value(result?);
                Some(
                    self.where_set(tangents, &[ty], |this| {
                        let t = this.tangent_or_zero(*value);
                        if matches!(op, AtomicOp::Add | AtomicOp::Sub) {
                            let op = Op::Atomic { op: *op, access, value: t };
                            return smallvec![this.new.one(op, ty)];
                        }
                        let before = this.new.one(Op::Load(access.clone()), ty);
                        let after = match op {
                            AtomicOp::Min | AtomicOp::Max => {
                                // What is there already stays in a tie.
                                let replaces = if *op == AtomicOp::Min { CompareOp::Lt } else { CompareOp::Gt };
                                let value = this.value(*value);
                                this.each(ty, &[value, old, t, before], |this, _, v| {
                                    let wins = this.new.compare(replaces, v[0], v[1]);
                                    this.new.select(wins, v[2], v[3])
                                })
                            }
                            // Exchange; the others are for integers.
                            _ => t,
                        };
                        this.new.effect(Op::Store { access, value: after });
                        smallvec![before]
                    })[0],
                )
            }
            Op::AtomicCas { access, expected, new } => {
                let (tangents, ty) = (self.tangent(access.array)?, ty.filter(|&ty| has_tangent(ty, &self.structs))?);
                let access = self.access(tangents, access);
                let (old, expected) = (self.value(result?), self.value(*expected));
                Some(
                    self.where_set(tangents, &[ty], |this| {
                        let t = this.tangent_or_zero(*new);
                        let before = this.new.one(Op::Load(access.clone()), ty);
                        let after = this.each(ty, &[old, expected, t, before], |this, _, v| {
                            let same = this.new.compare(CompareOp::Eq, v[0], v[1]);
                            this.new.select(same, v[2], v[3])
                        });
                        this.new.effect(Op::Store { access, value: after });
                        smallvec![before]
                    })[0],
                )
            }
            // Zero tangents (constants, bits, null arrays), or nothing to differentiate.
            op @ (Op::Const(_)
            | Op::Zero
            | Op::Compare(..)
            | Op::Bitcast(_)
            | threads!()
            | Op::Call(..)
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Address(_)
            | Op::SharedArray
            | effects!()
            | nested!()
            | jumps!()) => {
                // A fault of kc: the table says that derivatives flow through it, and there is no
                // rule.
                if !op.smooth_operands().is_empty() {
                    self.missing.get_or_insert_with(|| format!("there is no rule for the tangent of {op:?}"));
                }
                None
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, a: ValueId, result: ValueId) -> Option<ValueId> {
        let t = self.tangent(a)?;
        let (ty, x, y) = (self.old.ty(a), self.value(a), self.value(result));
        match op {
            UnaryOp::Neg => Some(self.new.unary(UnaryOp::Neg, t)),
            UnaryOp::Tf32 => Some(t),
            UnaryOp::Abs => Some(self.each(ty, &[x, t], |this, s, v| {
                let zero = this.float(s, 0.0);
                let negative = this.new.compare(CompareOp::Lt, v[0], zero);
                let positive = this.new.compare(CompareOp::Gt, v[0], zero);
                let minus = this.new.unary(UnaryOp::Neg, v[1]);
                let rest = this.new.select(negative, minus, zero);
                this.new.select(positive, v[1], rest)
            })),
            UnaryOp::Sqrt => Some(self.each(ty, &[y, t], |this, s, v| {
                let two = this.float(s, 2.0);
                let twice = this.new.binary(BinaryOp::Mul, two, v[0]);
                let slope = this.new.binary(BinaryOp::Div, v[1], twice);
                this.unless_zero(s, v[1], slope)
            })),
            // Rounding: steps, whose slope is 0.
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven | UnaryOp::Round => None,
            // Of integers and truths: nothing flows through them.
            UnaryOp::Not | UnaryOp::BitNot | UnaryOp::PopCount | UnaryOp::LeadingZeros => None,
        }
    }

    fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId, result: ValueId) -> Option<ValueId> {
        let (ta, tb) = (self.tangent(a), self.tangent(b));
        if ta.is_none() && tb.is_none() {
            return None;
        }
        let (ty, x, y) = (self.old.ty(result), self.value(a), self.value(b));
        match op {
            BinaryOp::Add | BinaryOp::Sub => self.sum(op, ta, tb),
            BinaryOp::Mul => self.product(a, b),
            BinaryOp::Div => {
                let (quotient, ta, tb) = (self.value(result), self.tangent_or_zero(a), self.tangent_or_zero(b));
                Some(self.each(ty, &[y, quotient, ta, tb], |this, s, v| {
                    let part = this.new.binary(BinaryOp::Mul, v[1], v[3]);
                    let part = this.unless_zero(s, v[3], part);
                    let top = this.new.binary(BinaryOp::Sub, v[2], part);
                    let slope = this.new.binary(BinaryOp::Div, top, v[0]);
                    this.unless_zero(s, top, slope)
                }))
            }
            BinaryOp::Min | BinaryOp::Max => {
                let (ta, tb) = (self.tangent_or_zero(a), self.tangent_or_zero(b));
                let first = if op == BinaryOp::Min { CompareOp::Le } else { CompareOp::Ge };
                Some(self.each(ty, &[x, y, ta, tb], |this, _, v| {
                    let wins = this.new.compare(first, v[0], v[1]);
                    let nan = this.new.compare(CompareOp::Ne, v[1], v[1]);
                    let rest = this.new.select(nan, v[2], v[3]);
                    this.new.select(wins, v[2], rest)
                }))
            }
            BinaryOp::CopySign => {
                let (ta, z) = (ta?, self.value(result));
                Some(self.each(ty, &[x, z, ta], |this, s, v| {
                    let one = this.float(s, 1.0);
                    let [before, after] = [v[0], v[1]].map(|v| this.new.binary(BinaryOp::CopySign, one, v));
                    let same = this.new.compare(CompareOp::Eq, before, after);
                    let minus = this.new.unary(UnaryOp::Neg, v[2]);
                    this.new.select(same, v[2], minus)
                }))
            }
            // Of integers: nothing flows through them.
            BinaryOp::FloorDiv
            | BinaryOp::Rem
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::MulHigh
            | BinaryOp::AbsDiff => None,
        }
    }

    /// The tangent of a * b, of which one may be a scalar.
    fn product(&mut self, a: ValueId, b: ValueId) -> Option<ValueId> {
        let (x, y) = (self.value(a), self.value(b));
        let left = self.tangent(a).map(|t| self.new.binary(BinaryOp::Mul, t, y));
        let right = self.tangent(b).map(|t| self.new.binary(BinaryOp::Mul, x, t));
        self.sum(BinaryOp::Add, left, right)
    }

    fn sum(&mut self, op: BinaryOp, a: Option<ValueId>, b: Option<ValueId>) -> Option<ValueId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.new.binary(op, a, b)),
            (None, Some(b)) if op == BinaryOp::Sub => Some(self.new.unary(UnaryOp::Neg, b)),
            (a, b) => a.or(b),
        }
    }

    fn select(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Option<ValueId> {
        if self.tangent(then).is_none() && self.tangent(otherwise).is_none() {
            return None;
        }
        let guarded = self.guarded_by(condition, then, otherwise);
        let (t, u, mut condition) =
            (self.tangent_or_zero(then), self.tangent_or_zero(otherwise), self.value(condition));
        if let Some((op, adjoint)) = guarded {
            // The guard itself is no branch: the product is zero there, and its tangent is not.
            let zero = self.new.zero(self.new.ty(adjoint));
            let moves = self.new.compare(op, adjoint, zero);
            let join = if op == CompareOp::Eq { BinaryOp::And } else { BinaryOp::Or };
            condition = self.new.binary(join, condition, moves);
        }
        Some(self.new.select(condition, t, u))
    }

    /// The comparison and the tangent of x in `x == 0 ? 0 : ...` and `x != 0 ? ... : 0` of reverse
    /// code.
    fn guarded_by(&self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Option<(CompareOp, ValueId)> {
        let zero = |v: ValueId| {
            let constant = self.old.as_const(v).and_then(Const::as_float).is_some_and(|x| x == 0.0);
            constant || self.old.def(v).is_some_and(|inst| inst.op == Op::Zero)
        };
        let Op::Compare(op, x, y) = self.old.def(condition)?.op else { return None };
        let is_guard = match op {
            CompareOp::Eq => zero(then),
            CompareOp::Ne => zero(otherwise),
            _ => false,
        };
        if is_guard && self.pass.guards && zero(y) { Some((op, self.tangent(x)?)) } else { None }
    }

    /// `sum` + the dot product of two values of one type, over all floats in them; a zero of `b`
    /// takes the term away.
    pub(super) fn dot(&mut self, mut sum: ValueId, scalar: Scalar, a: ValueId, b: ValueId) -> ValueId {
        for leaf in leaves(self.new.ty(a), &self.structs) {
            let part = Type::Scalar(leaf.scalar);
            let (x, y) = (self.part(a, &leaf.path, part), self.part(b, &leaf.path, part));
            let term = self.new.binary(BinaryOp::Mul, x, y);
            let term = self.unless_zero(leaf.scalar, y, term);
            let term = self.new.cast(term, scalar);
            sum = self.new.binary(BinaryOp::Add, sum, term);
        }
        sum
    }

    /// The zero value `zero` with 1 at the leaf.
    pub(super) fn with_one(&mut self, zero: ValueId, leaf: &Leaf) -> ValueId {
        let one = self.float(leaf.scalar, 1.0);
        self.with_part(zero, &leaf.path, one)
    }

    /// Applies a rule for scalars to each component of values of type `ty`; a scalar among
    /// composites meets each.
    fn each(
        &mut self,
        ty: Type,
        values: &[ValueId],
        mut f: impl FnMut(&mut Self, Scalar, &[ValueId]) -> ValueId,
    ) -> ValueId {
        let mut whole = None;
        for leaf in leaves(ty, &self.structs) {
            let part = Type::Scalar(leaf.scalar);
            let parts: Vec<ValueId> =
                values.iter().map(|&v| if self.new.ty(v) == ty { self.part(v, &leaf.path, part) } else { v }).collect();
            let value = f(self, leaf.scalar, &parts);
            let into = match whole {
                Some(whole) => whole,
                None if leaf.path.is_empty() => value,
                None => self.new.zero(ty),
            };
            whole = Some(self.with_part(into, &leaf.path, value));
        }
        whole.unwrap_or_else(|| self.new.zero(ty))
    }

    /// 0 where `t` is 0, else `value`.
    fn unless_zero(&mut self, scalar: Scalar, t: ValueId, value: ValueId) -> ValueId {
        let zero = self.float(scalar, 0.0);
        let none = self.new.compare(CompareOp::Eq, t, zero);
        self.new.select(none, zero, value)
    }

    fn float(&mut self, scalar: Scalar, value: f64) -> ValueId {
        self.new.constant(Const::float(scalar, value))
    }

    fn values(&self, olds: &[ValueId]) -> Values {
        olds.iter().map(|&v| self.value(v)).collect()
    }

    /// Where the tangent is of what an operation addresses.
    fn access(&self, tangents: ValueId, access: &Access) -> Access {
        Access { array: tangents, indices: self.values(&access.indices), path: self.path(&access.path) }
    }

    fn path(&self, path: &Path) -> Path {
        path.iter()
            .map(|step| match *step {
                Step::Dynamic(v) => Step::Dynamic(self.value(v)),
                fixed => fixed,
            })
            .collect()
    }
}
