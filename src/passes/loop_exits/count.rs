//! When does a counting loop end? The condition and the next counter of a `for` (rule 4), for a
//! `while`.

use crate::ir::build::Builder;
use crate::ir::{BinaryOp, CompareOp, Const, Op, ValueId};
use crate::types::{Scalar, Type};

/// The end of a counting loop.
pub(super) struct CountEnd {
    end: ValueId,
    step: ValueId,
    /// The step, where it is known.
    known: Option<i128>,
    /// Whether the step is positive, and whether it is negative.
    signs: Option<(ValueId, ValueId)>,
}

impl CountEnd {
    pub(super) fn new(b: &mut Builder, end: ValueId, step: ValueId) -> CountEnd {
        let known = b.function.as_const(step).and_then(Const::as_int);
        let signs = known.is_none().then(|| {
            let zero = b.zero(b.ty(step));
            (b.compare(CompareOp::Gt, step, zero), b.compare(CompareOp::Lt, step, zero))
        });
        CountEnd { end, step, known, signs }
    }

    /// Whether an iteration with this counter takes place.
    pub(super) fn not_reached(&self, b: &mut Builder, counter: ValueId) -> ValueId {
        match (self.known, self.signs) {
            (Some(0), _) => b.constant(Const::bool(false)),
            (Some(1..), _) => b.compare(CompareOp::Lt, counter, self.end),
            (None, Some((up, down))) => {
                let below = b.compare(CompareOp::Lt, counter, self.end);
                let above = b.compare(CompareOp::Gt, counter, self.end);
                let up = b.binary(BinaryOp::And, up, below);
                let down = b.binary(BinaryOp::And, down, above);
                b.binary(BinaryOp::Or, up, down)
            }
            _ => b.compare(CompareOp::Gt, counter, self.end),
        }
    }

    /// The next counter; the end itself where the sum would reach or pass it, so that it never
    /// overflows.
    pub(super) fn next(&self, b: &mut Builder, counter: ValueId) -> ValueId {
        let next = b.binary(BinaryOp::Add, counter, self.step);
        if matches!(self.known, Some(-1..=1)) {
            return next;
        }
        let up = |b: &mut Builder| b.binary(BinaryOp::Sub, self.end, counter);
        let down = |b: &mut Builder| b.binary(BinaryOp::Sub, counter, self.end);
        let zero = b.zero(b.ty(self.step));
        let (distance, size) = match (self.known, self.signs) {
            (None, Some((positive, _))) => {
                let (ahead, behind) = (up(b), down(b));
                let opposite = b.binary(BinaryOp::Sub, zero, self.step);
                (b.select(positive, ahead, behind), b.select(positive, self.step, opposite))
            }
            (Some(step), _) if step < 0 => (down(b), b.binary(BinaryOp::Sub, zero, self.step)),
            _ => (up(b), self.step),
        };
        // The distance may need all bits.
        let (distance, size) = (unsigned(b, distance), unsigned(b, size));
        let fits = b.compare(CompareOp::Gt, distance, size);
        b.select(fits, next, self.end)
    }
}

fn unsigned(b: &mut Builder, value: ValueId) -> ValueId {
    let to = match b.ty(value) {
        Type::Scalar(Scalar::I8) => Scalar::U8,
        Type::Scalar(Scalar::I16) => Scalar::U16,
        Type::Scalar(Scalar::I32) => Scalar::U32,
        Type::Scalar(Scalar::I64) => Scalar::U64,
        _ => return value,
    };
    b.one(Op::Bitcast(value), Type::Scalar(to))
}
