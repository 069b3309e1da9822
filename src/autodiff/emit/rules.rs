//! The adjoint of one operation without blocks: how does the adjoint of its result come to its
//! operands?
//!
//! The same code serves two ends. When code is made, it reads primal values and adds to adjoints;
//! when the needed values are found (`reads::reads`), it runs on a scratch function and only what
//! it reads counts. So the two can't differ.
//!
//! Conventions: `min` and `max` give all to the left operand when both are equal; the derivative of
//! `abs` at 0 is 0; a zero adjoint stays zero through operations whose derivative may be infinite
//! or NaN (see [`crate::autodiff::analysis::finite`]).

use smallvec::smallvec;

use super::reverse::Reverse;
use crate::ir::{
    BinaryOp, CompareOp, Const, Inst, Op, Path, Step, UnaryOp, ValueId, Values, accesses, arrays, effects, jumps,
    nested, threads,
};
use crate::types::{Scalar, Type};

impl Reverse<'_> {
    /// Passes the adjoint `d` of an instruction's one result on to its operands.
    pub fn rule(&mut self, inst: &Inst, d: ValueId) {
        let result = inst.results[0];
        match &inst.op {
            Op::Unary(op, a) => self.unary_rule(*op, *a, result, d),
            Op::Binary(op, a, b) => self.binary_rule(*op, *a, *b, result, d),
            Op::Fma(a, b, c) => {
                for (to, factor) in [(*a, *b), (*b, *a)] {
                    if self.is_active(to) {
                        let product = self.fused_product(result, d, factor);
                        self.add(to, product);
                    }
                }
                self.add(*c, d);
            }
            Op::Cast(a) => {
                if self.is_active(*a)
                    && let Some(scalar) = self.old.ty(*a).scalar_part()
                {
                    let to_a = self.b.cast(d, scalar);
                    self.add(*a, to_a);
                }
            }
            Op::Select { condition, then, otherwise } => {
                let (then, otherwise) = (*then, *otherwise);
                if self.facts.guards
                    && let Some(guarded) = self.guarded_factor(*condition, then, otherwise)
                {
                    self.add(guarded, d);
                } else if self.is_active(then) || self.is_active(otherwise) {
                    let condition = self.primal(*condition);
                    let zero = self.b.zero(self.b.ty(d));
                    if self.is_active(then) {
                        let to_then = self.b.select(condition, d, zero);
                        self.add(then, to_then);
                    }
                    if self.is_active(otherwise) {
                        let to_otherwise = self.b.select(condition, zero, d);
                        self.add(otherwise, to_otherwise);
                    }
                }
            }
            Op::Construct(args) => {
                let ty = self.old.ty(result);
                for (n, &arg) in args.iter().enumerate() {
                    if self.is_active(arg) {
                        let part = self.part_ty(arg);
                        let to_arg = self.b.one(Op::Extract(d, scalar_path(ty, n as u32)), part);
                        self.add(arg, to_arg);
                    }
                }
            }
            Op::Extract(whole, path) if self.is_active(*whole) => {
                let path = self.primal_path(path);
                self.add_part(*whole, path, d);
            }
            Op::Insert(whole, path, part) if (self.is_active(*whole) || self.is_active(*part)) => {
                let path = self.primal_path(path);
                let ty = self.old.ty(*part);
                if self.is_active(*part) {
                    let to_part = self.b.one(Op::Extract(d, path.clone()), ty);
                    self.add(*part, to_part);
                }
                if self.is_active(*whole) {
                    let zero = self.b.zero(ty);
                    let to_whole = self.b.one(Op::Insert(d, path, zero), self.b.ty(d));
                    self.add(*whole, to_whole);
                }
            }
            Op::Extract(..) | Op::Insert(..) => {}
            op @ (Op::Const(_)
            | Op::Zero
            | Op::Compare(..)
            | Op::Bitcast(_)
            | threads!()
            | Op::Call(..)
            | arrays!()
            | accesses!()
            | effects!()
            | nested!()
            | jumps!()) => {
                // A fault of kc: the table says that derivatives flow through it, and there is no
                // rule.
                if !op.smooth_operands().is_empty() {
                    self.faults.push(format!("there is no rule for the reverse of {op:?} in @{}", self.old.name));
                }
            }
        }
    }

    /// What a choice guards, if it is a guard of reverse code: there the guarded product is zero,
    /// and its derivative is not.
    fn guarded_factor(&self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Option<ValueId> {
        let zero = |v: ValueId| {
            let constant = self.old.as_const(v).and_then(Const::as_float).is_some_and(|x| x == 0.0);
            constant || self.old.def(v).is_some_and(|inst| inst.op == Op::Zero)
        };
        let op = |v: ValueId| self.old.op(v);
        let is = |v: ValueId, wanted: CompareOp| {
            let Some(Op::Compare(op, x, y)) = op(v) else { return false };
            *op == wanted && self.is_active(*x) && zero(*y)
        };
        let (some, none) = (|v| is(v, CompareOp::Ne), |v| is(v, CompareOp::Eq));
        let (any, all) = if let Some(Op::Binary(BinaryOp::Or, a, b)) = op(condition) {
            (some(*a) && some(*b), false)
        } else if let Some(Op::Binary(BinaryOp::And, a, b)) = op(condition) {
            (false, none(*a) && none(*b))
        } else {
            (some(condition), none(condition))
        };
        match (any, all) {
            (true, _) if zero(otherwise) => Some(then),
            (_, true) if zero(then) => Some(otherwise),
            _ => None,
        }
    }

    fn part_ty(&self, value: ValueId) -> Type {
        self.old.ty(value)
    }

    fn unary_rule(&mut self, op: UnaryOp, a: ValueId, result: ValueId, d: ValueId) {
        if !self.is_active(a) {
            return;
        }
        let to_a = match op {
            UnaryOp::Neg => self.b.unary(UnaryOp::Neg, d),
            UnaryOp::Tf32 => d,
            UnaryOp::Abs => {
                let pa = self.primal(a);
                self.by_component(&[d, pa], |this, parts| {
                    let (d, a) = (parts[0], parts[1]);
                    let zero = this.b.zero(this.b.ty(a));
                    let positive = this.b.compare(CompareOp::Gt, a, zero);
                    let negative = this.b.compare(CompareOp::Lt, a, zero);
                    let minus = this.b.unary(UnaryOp::Neg, d);
                    let otherwise = this.b.select(negative, minus, zero);
                    this.b.select(positive, d, otherwise)
                })
            }
            UnaryOp::Sqrt => {
                let positive = self.facts.finite.is_positive(result);
                let root = self.primal(result);
                self.by_component(&[d, root], |this, parts| {
                    let (d, root) = (parts[0], parts[1]);
                    let half = this.float(this.b.ty(d), 0.5);
                    let scaled = this.b.binary(BinaryOp::Mul, d, half);
                    let quotient = this.b.binary(BinaryOp::Div, scaled, root);
                    if positive { quotient } else { this.unless_zero(d, quotient) }
                })
            }
            // Rounding: steps, whose slope is 0.
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven | UnaryOp::Round => return,
            // Of integers and truths: nothing flows through them.
            UnaryOp::Not | UnaryOp::BitNot | UnaryOp::PopCount | UnaryOp::LeadingZeros => return,
        };
        self.add(a, to_a);
    }

    fn binary_rule(&mut self, op: BinaryOp, a: ValueId, b: ValueId, result: ValueId, d: ValueId) {
        match op {
            BinaryOp::Add => {
                self.add(a, d);
                self.add(b, d);
            }
            BinaryOp::Sub => {
                self.add(a, d);
                if self.is_active(b) {
                    let minus = self.b.unary(UnaryOp::Neg, d);
                    self.add(b, minus);
                }
            }
            BinaryOp::Mul if a == b && self.is_active(a) => {
                let product = self.product(result, d, a);
                let twice = self.b.binary(BinaryOp::Add, product, product);
                self.add(a, twice);
            }
            BinaryOp::Mul => {
                for (this, other) in [(a, b), (b, a)] {
                    if self.is_active(this) {
                        let product = self.product(result, d, other);
                        // A scalar factor of a composite gets the sum over the components.
                        let product = if self.old.ty(this).is_composite() { product } else { self.sum(product) };
                        self.add(this, product);
                    }
                }
            }
            BinaryOp::Div => self.div_rule(a, b, result, d),
            BinaryOp::Min | BinaryOp::Max => {
                if !(self.is_active(a) || self.is_active(b)) {
                    return;
                }
                let (pa, pr) = (self.primal(a), self.primal(result));
                for (value, left) in [(a, true), (b, false)] {
                    if self.is_active(value) {
                        let share = self.by_component(&[d, pa, pr], |this, parts| {
                            let zero = this.b.zero(this.b.ty(parts[0]));
                            let is_left = this.b.compare(CompareOp::Eq, parts[2], parts[1]);
                            if left {
                                this.b.select(is_left, parts[0], zero)
                            } else {
                                this.b.select(is_left, zero, parts[0])
                            }
                        });
                        self.add(value, share);
                    }
                }
            }
            BinaryOp::CopySign if self.is_active(a) => {
                let (pa, pr) = (self.primal(a), self.primal(result));
                let to_a = self.by_component(&[d, pa, pr], |this, parts| {
                    // By the signs, which zeros have too.
                    let one = this.float(this.b.ty(parts[0]), 1.0);
                    let [before, after] = [1, 2].map(|n| this.b.binary(BinaryOp::CopySign, one, parts[n]));
                    let same = this.b.compare(CompareOp::Eq, before, after);
                    let minus = this.b.unary(UnaryOp::Neg, parts[0]);
                    this.b.select(same, parts[0], minus)
                });
                self.add(a, to_a);
            }
            // The sign of b is a step.
            BinaryOp::CopySign => {}
            // Of integers: nothing flows through them.
            BinaryOp::FloorDiv
            | BinaryOp::Rem
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::MulHigh
            | BinaryOp::AbsDiff => {}
        }
    }

    /// r = a / b: a gets d / b, b gets -d r / b.
    fn div_rule(&mut self, a: ValueId, b: ValueId, result: ValueId, d: ValueId) {
        if !(self.is_active(a) || self.is_active(b)) {
            return;
        }
        let pb = self.primal(b);
        let non_finite = self.facts.finite.may_be_non_finite(result, result);
        let mut quotient = self.b.binary(BinaryOp::Div, d, pb);
        if self.is_active(a) {
            let is_safe = !non_finite || self.old.as_const(b).is_some();
            if !is_safe {
                quotient = self.unless_zero_by(d, b, quotient);
            }
            self.add(a, quotient);
        }
        if self.is_active(b) {
            let pr = self.primal(result);
            // Behind the guard the quotient is that of the other operand, guarded or not.
            let product = self.b.binary(BinaryOp::Mul, quotient, pr);
            // The guard comes last: what is zero then costs nothing where products can be masked.
            let product = if non_finite { self.unless_zero_by(d, b, product) } else { product };
            let sum = if self.old.ty(b).is_composite() { product } else { self.sum(product) };
            let minus = self.b.unary(UnaryOp::Neg, sum);
            self.add(b, minus);
        }
    }

    /// d * factor, which is added with one rounding as the old result was: except where a zero
    /// adjoint must stay one.
    fn fused_product(&mut self, result: ValueId, d: ValueId, factor: ValueId) -> ValueId {
        if self.facts.finite.may_be_non_finite(factor, result) {
            return self.product(result, d, factor);
        }
        let copy = self.primal(factor);
        self.product_to_add(d, copy)
    }

    /// d * factor for an old factor of the old result.
    fn product(&mut self, result: ValueId, d: ValueId, factor: ValueId) -> ValueId {
        let copy = self.primal(factor);
        let product = self.b.binary(BinaryOp::Mul, d, copy);
        if self.facts.finite.may_be_non_finite(factor, result) {
            self.unless_zero_by(d, factor, product)
        } else {
            product
        }
    }

    /// `value`, or zero where all components of the adjoint `d` are zero.
    pub fn unless_zero(&mut self, d: ValueId, value: ValueId) -> ValueId {
        let nothing = self.b.zero(self.b.ty(d));
        let is_set = self.b.compare(CompareOp::Ne, d, nothing);
        let zero = self.b.zero(self.b.ty(value));
        self.b.select(is_set, value, zero)
    }

    /// `value`, which is `d` times or over `factor`, or zero where `d` is: component by component
    /// if both have some.
    fn unless_zero_by(&mut self, d: ValueId, factor: ValueId, value: ValueId) -> ValueId {
        if self.b.ty(d).is_composite() && self.old.ty(factor).is_composite() {
            self.by_component(&[d, value], |this, parts| this.unless_zero(parts[0], parts[1]))
        } else {
            self.unless_zero(d, value)
        }
    }

    /// A float constant of a scalar type.
    pub fn float(&mut self, ty: Type, value: f64) -> ValueId {
        self.b.constant(Const::float(ty.as_scalar().unwrap_or(Scalar::F32), value))
    }

    /// The sum of a composite's components; a scalar is its own.
    fn sum(&mut self, value: ValueId) -> ValueId {
        let ty = self.b.ty(value);
        let (Some(count), Some(scalar), true) = (ty.scalar_count(), ty.scalar_part(), ty.is_composite()) else {
            return value;
        };
        let mut sum = None;
        for n in 0..count {
            let part = self.b.one(Op::Extract(value, scalar_path(ty, n)), Type::Scalar(scalar));
            sum = Some(sum.map_or(part, |sum| self.b.binary(BinaryOp::Add, sum, part)));
        }
        sum.unwrap_or(value)
    }

    /// Applies a function of scalars to values of one type, component by component.
    fn by_component(&mut self, values: &[ValueId], mut apply: impl FnMut(&mut Self, &[ValueId]) -> ValueId) -> ValueId {
        let ty = self.b.ty(values[0]);
        let (Some(count), Some(scalar), true) = (ty.scalar_count(), ty.scalar_part(), ty.is_composite()) else {
            return apply(self, values);
        };
        let mut parts = Values::new();
        for n in 0..count {
            let at: Values =
                values.iter().map(|&v| self.b.one(Op::Extract(v, scalar_path(ty, n)), Type::Scalar(scalar))).collect();
            parts.push(apply(self, &at));
        }
        self.b.one(Op::Construct(parts), ty)
    }

    pub fn primal_path(&mut self, path: &[Step]) -> Path {
        path.iter()
            .map(|step| match *step {
                Step::At(n) => Step::At(n),
                Step::Dynamic(v) => {
                    let index = self.primal(v);
                    if let Some(what) = self.facts.component_checks.get(&v) {
                        self.b.effect(Op::Check(what.clone(), Values::from_slice(&[index])));
                    }
                    Step::Dynamic(index)
                }
            })
            .collect()
    }
}

/// The path to scalar `n` of a composite, or to field `n` of a struct: the parts of a `Construct`.
pub fn scalar_path(ty: Type, n: u32) -> Path {
    match ty {
        Type::Mat(_, columns, _) => {
            let columns = u32::from(columns);
            smallvec![Step::At(n / columns), Step::At(n % columns)]
        }
        Type::Transform(_) if n < 3 => smallvec![Step::At(0), Step::At(n)],
        Type::Transform(_) => smallvec![Step::At(1), Step::At(n - 3)],
        _ => smallvec![Step::At(n)],
    }
}
