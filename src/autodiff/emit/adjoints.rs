//! The sums of adjoints: what has come to each value so far. What reaches parts of a composite is
//! collected and put together once, so that a vector's adjoint is built as a vector.

use smallvec::{SmallVec, smallvec};

use super::reverse::Reverse;
use super::rules::scalar_path;
use super::state::Parts;
use crate::ir::{BinaryOp, Const, Op, Path, Step, UnaryOp, ValueId, Values};
use crate::types::Type;

/// Composites with more scalars than this are changed part by part.
const MAX_WHOLE: u32 = 16;

impl Reverse<'_> {
    /// Adds to the adjoint of an old value.
    pub fn add(&mut self, value: ValueId, contribution: ValueId) {
        if !self.is_active(value) {
            return;
        }
        let sum = match self.adjoints.get(&value) {
            Some(&sum) => self.sum_of(sum, contribution),
            None => contribution,
        };
        // A contribution may be the adjoint of another value, with a name of its own.
        self.name_after(sum, "adj_", value);
        self.adjoints.insert(value, sum);
    }

    /// a + b of two adjoints; structs field by field. A product with one rounding is added with
    /// that one.
    pub fn sum_of(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.b.ty(a);
        let Type::Struct(id) = ty else {
            return match self.factors_of(b) {
                Some([x, y]) => self.b.one(Op::Fma(x, y, a), ty),
                None => self.b.binary(BinaryOp::Add, a, b),
            };
        };
        let structs = &self.world.module.structs;
        let mut sum = a;
        for (n, field) in structs[id].fields.iter().enumerate() {
            if field.ty.holds_floats(structs) {
                let parts = [a, b].map(|v| self.b.extract_at(v, n as u32, field.ty));
                let part = self.sum_of(parts[0], parts[1]);
                sum = self.b.one(Op::Insert(sum, smallvec![Step::At(n as u32)], part), ty);
            }
        }
        sum
    }

    /// A product that is yet to be added to something: `fma(x, y, -0.0)` has the bits of `x * y`,
    /// and is that where nothing is added.
    pub fn product_to_add(&mut self, x: ValueId, y: ValueId) -> ValueId {
        let ty = self.b.ty(x);
        match ty {
            Type::Scalar(scalar) if scalar.is_float() => {
                let nothing = self.b.constant(Const::float(scalar, -0.0));
                self.b.one(Op::Fma(x, y, nothing), ty)
            }
            _ => self.b.binary(BinaryOp::Mul, x, y),
        }
    }

    /// The factors of a [product that is to be added](Self::product_to_add).
    fn factors_of(&self, value: ValueId) -> Option<[ValueId; 2]> {
        let Op::Fma(x, y, nothing) = self.b.function.def(value)?.op else { return None };
        self.b.function.as_const(nothing)?.is_minus_zero().then_some([x, y])
    }

    /// Adds to the adjoint of a part of an old value; the path holds new values.
    pub fn add_part(&mut self, whole: ValueId, path: Path, contribution: ValueId) {
        if !self.is_active(whole) {
            return;
        }
        let is_static = |path: &Path| path.iter().all(|step| matches!(step, Step::At(_)));
        let parts = self.parts.entry(whole).or_default();
        if let Some((_, part)) = parts.iter_mut().find(|(at, _)| *at == path) {
            let before = *part;
            let sum = self.sum_of(before, contribution);
            let parts = self.parts.entry(whole).or_default();
            parts.iter_mut().filter(|(at, _)| *at == path).for_each(|(_, part)| *part = sum);
            return;
        }
        // Parts that are collected do not overlap.
        let overlaps = parts.iter().any(|(at, _)| at.starts_with(&path) || path.starts_with(at));
        if overlaps || !is_static(&path) {
            self.flush(whole);
        }
        if is_static(&path) {
            self.parts.entry(whole).or_default().push((path, contribution));
        } else {
            self.add_at(whole, path, contribution);
        }
    }

    fn add_at(&mut self, whole: ValueId, path: Path, contribution: ValueId) {
        let ty = self.old.ty(whole);
        let (before, part) = match self.adjoints.get(&whole) {
            Some(&before) => {
                let part = self.b.one(Op::Extract(before, path.clone()), self.b.ty(contribution));
                (before, self.sum_of(part, contribution))
            }
            None => (self.b.zero(ty), contribution),
        };
        let sum = self.b.one(Op::Insert(before, path, part), ty);
        self.name_after(sum, "adj_", whole);
        self.adjoints.insert(whole, sum);
    }

    /// Puts the parts that were collected for a value into its adjoint.
    fn flush(&mut self, value: ValueId) {
        let Some(parts) = self.parts.remove(&value).filter(|parts| !parts.is_empty()) else { return };
        match self.put_together(value, &parts) {
            Some(whole) => self.add(value, whole),
            None => parts.into_iter().for_each(|(path, part)| self.add_at(value, path, part)),
        }
    }

    /// The same for all values: at the end of a block whose values go out of sight.
    pub fn flush_all(&mut self) {
        let waiting: Vec<ValueId> = self.parts.keys().copied().collect();
        waiting.into_iter().for_each(|value| self.flush(value));
    }

    /// A composite of its parts. None: they are better added one by one.
    fn put_together(&mut self, value: ValueId, parts: &Parts) -> Option<ValueId> {
        let ty = self.old.ty(value);
        let count = ty.scalar_count().filter(|&n| n <= MAX_WHOLE && ty.is_composite())?;
        let scalar = Type::Scalar(ty.scalar_part()?);
        let mut scalars: SmallVec<[Option<ValueId>; 4]> = smallvec![None; count as usize];
        for (path, part) in parts {
            for n in 0..count {
                let full = scalar_path(ty, n);
                if full.starts_with(path) {
                    let rest = Path::from_slice(&full[path.len()..]);
                    let at = if rest.is_empty() { *part } else { self.b.one(Op::Extract(*part, rest), scalar) };
                    scalars[n as usize] = Some(at);
                }
            }
        }
        let first = !self.adjoints.contains_key(&value);
        if scalars.iter().any(Option::is_none) {
            // Few of many, or some of a sum: `adj.x += ...`.
            if !first || count > 4 {
                return None;
            }
            let zero = self.b.zero(scalar);
            scalars.iter_mut().for_each(|part| *part = part.or(Some(zero)));
        }
        let scalars: Values = scalars.into_iter().flatten().collect();
        Some(match self.grouped(ty, &scalars) {
            Some(whole) => whole,
            None => self.b.one(Op::Construct(scalars), ty),
        })
    }

    /// A composite that was computed scalar by scalar, as one operation on composites.
    fn grouped(&mut self, ty: Type, scalars: &[ValueId]) -> Option<ValueId> {
        let ops: Vec<Op> = scalars.iter().map(|&v| Some(self.b.function.def(v)?.op.clone())).collect::<Option<_>>()?;
        match ops.first()? {
            &Op::Extract(whole, _) if self.b.ty(whole) == ty => {
                let in_place = |(n, op): (usize, &Op)| *op == Op::Extract(whole, scalar_path(ty, n as u32));
                ops.iter().enumerate().all(in_place).then_some(whole)
            }
            Op::Unary(UnaryOp::Neg, _) => {
                let inner: Option<Values> =
                    ops.iter().map(|op| if let Op::Unary(UnaryOp::Neg, a) = op { Some(*a) } else { None }).collect();
                let inner = self.grouped(ty, &inner?)?;
                Some(self.b.unary(UnaryOp::Neg, inner))
            }
            &Op::Binary(first @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div), ..) => {
                let (mut left, mut right) = (Values::new(), Values::new());
                for op in &ops {
                    let Op::Binary(op, a, b) = *op else { return None };
                    if op != first {
                        return None;
                    }
                    left.push(a);
                    right.push(b);
                }
                let same = |side: &Values| side.iter().all(|v| *v == side[0]).then_some(side[0]);
                match (first, same(&left), same(&right)) {
                    (BinaryOp::Mul | BinaryOp::Div, None, Some(scalar)) => {
                        let a = self.grouped(ty, &left)?;
                        Some(self.b.binary(first, a, scalar))
                    }
                    (BinaryOp::Mul, Some(scalar), None) => {
                        let b = self.grouped(ty, &right)?;
                        Some(self.b.binary(first, b, scalar))
                    }
                    (_, None, None) => {
                        let (a, b) = (self.grouped(ty, &left)?, self.grouped(ty, &right)?);
                        Some(self.b.binary(first, a, b))
                    }
                    _ => None,
                }
            }
            // Others are not grouped.
            _ => None,
        }
    }

    /// Takes the adjoint of a value whose uses have all been reversed.
    pub fn take(&mut self, value: ValueId) -> Option<ValueId> {
        self.flush(value);
        self.adjoints.remove(&value)
    }

    pub fn take_or_zero(&mut self, value: ValueId) -> ValueId {
        let ty = self.old.ty(value);
        self.take(value).unwrap_or_else(|| self.b.zero(ty))
    }
}
