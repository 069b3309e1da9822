//! Which integers are certainly not negative, so that an index needs no wrap, or inside a range.
//!
//! Sums and products of such numbers count as such: an index that overflowed would be outside every array anyway.

use crate::ir::{BinaryOp, BlockId, Function, Op, UnaryOp, ValueDef, ValueId};
use crate::types::{Scalar, Type};

/// How many definitions are followed.
const DEPTH: u32 = 12;

#[derive(Clone, Copy)]
pub struct Ranges<'a> {
    function: &'a Function,
}

impl<'a> Ranges<'a> {
    pub fn new(function: &'a Function) -> Ranges<'a> {
        Ranges { function }
    }

    pub fn is_non_negative(self, value: ValueId) -> bool {
        self.at_least(value, 0, DEPTH)
    }

    pub fn is_positive(self, value: ValueId) -> bool {
        self.at_least(value, 1, DEPTH)
    }

    /// Whether `0 <= value < n`.
    pub fn is_below(self, value: ValueId, n: u32) -> bool {
        self.is_non_negative(value) && self.at_most(value, i128::from(n) - 1, DEPTH)
    }

    /// `bound` is 0 or 1.
    fn at_least(self, value: ValueId, bound: i128, depth: u32) -> bool {
        let Type::Scalar(scalar) = self.function.ty(value) else { return false };
        if let Some(constant) = self.function.as_const(value).and_then(|c| c.as_int()) {
            return constant >= bound;
        }
        if bound == 0 && (scalar.is_unsigned_int() || scalar == Scalar::Bool) {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        let is = |v: ValueId, bound| self.at_least(v, bound, depth);
        match self.function.values[value].def {
            ValueDef::Param(block, 0) => self.loop_index(block).is_some_and(|(start, end, step)| {
                match self.function.as_const(step).and_then(|c| c.as_int()) {
                    Some(step) if step > 0 => is(start, bound),
                    Some(step) if step < 0 => {
                        self.function.as_const(end).and_then(|c| c.as_int()).is_some_and(|end| end >= bound - 1)
                            || is(end, bound)
                    }
                    _ => false,
                }
            }),
            ValueDef::Param(..) => false,
            ValueDef::Result(inst, n) => match &self.function.insts[inst].op {
                Op::ThreadIndex(_) | Op::ThreadNumber | Op::Extent(..) => bound == 0,
                Op::BlockDim => true,
                Op::Binary(BinaryOp::Add, a, b) => is(*a, 0) && is(*b, 0) && (bound == 0 || is(*a, 1) || is(*b, 1)),
                Op::Binary(BinaryOp::Mul | BinaryOp::Min, a, b) => is(*a, bound) && is(*b, bound),
                Op::Binary(BinaryOp::Max, a, b) => is(*a, bound) || is(*b, bound),
                Op::Binary(BinaryOp::Div | BinaryOp::FloorDiv, a, b) => bound == 0 && is(*a, 0) && is(*b, 0),
                Op::Binary(BinaryOp::Rem | BinaryOp::Shr, a, _) => bound == 0 && is(*a, 0),
                Op::Binary(BinaryOp::And, a, b) => bound == 0 && (is(*a, 0) || is(*b, 0)),
                Op::Binary(BinaryOp::Or | BinaryOp::Xor, a, b) => bound == 0 && is(*a, 0) && is(*b, 0),
                Op::Unary(UnaryOp::PopCount | UnaryOp::LeadingZeros, _) => bound == 0,
                Op::Select { then, otherwise, .. } => is(*then, bound) && is(*otherwise, bound),
                Op::Cast(a) => self.is_widening(*a, scalar) && is(*a, bound),
                Op::If { then, otherwise, .. } => [*then, *otherwise].iter().all(|&block| {
                    match self.function.terminator(block).map(|inst| &inst.op) {
                        Some(Op::Yield(values)) => values.get(n as usize).is_some_and(|&v| is(v, bound)),
                        // Such a branch gives no value.
                        Some(_) => true,
                        None => false,
                    }
                }),
                _ => false,
            },
        }
    }

    /// For values that are not negative.
    fn at_most(self, value: ValueId, bound: i128, depth: u32) -> bool {
        if let Some(constant) = self.function.as_const(value).and_then(|c| c.as_int()) {
            return constant <= bound;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        let is = |v: ValueId, bound| self.at_most(v, bound, depth);
        match self.function.values[value].def {
            ValueDef::Param(block, 0) => self.loop_index(block).is_some_and(|(start, end, step)| {
                match self.function.as_const(step).and_then(|c| c.as_int()) {
                    Some(step) if step > 0 => is(end, bound + 1),
                    Some(step) if step < 0 => is(start, bound),
                    _ => false,
                }
            }),
            ValueDef::Param(..) => false,
            ValueDef::Result(inst, _) => match &self.function.insts[inst].op {
                Op::Binary(BinaryOp::Rem, _, b) => self.is_positive(*b) && is(*b, bound + 1),
                Op::Binary(BinaryOp::And, a, b) => {
                    self.is_non_negative(*a) && is(*a, bound) || self.is_non_negative(*b) && is(*b, bound)
                }
                Op::Binary(BinaryOp::Min, a, b) => is(*a, bound) || is(*b, bound),
                Op::Binary(BinaryOp::Add, a, b) => self
                    .function
                    .as_const(*b)
                    .and_then(|c| c.as_int())
                    .is_some_and(|b| (0..=bound).contains(&b) && self.is_non_negative(*a) && is(*a, bound - b)),
                // What is left of the widest number.
                Op::Binary(BinaryOp::Shr, a, b) => {
                    let bits = self.function.ty(*a).as_scalar().map_or(64, Scalar::bits);
                    let count = self.function.as_const(*b).and_then(|c| c.as_int());
                    count.is_some_and(|n| {
                        (0..i128::from(bits)).contains(&n) && (1i128 << (i128::from(bits) - n)) - 1 <= bound
                    })
                }
                Op::Select { then, otherwise, .. } => is(*then, bound) && is(*otherwise, bound),
                _ => false,
            },
        }
    }

    /// Start, end and step of the loop that a block is the body of.
    fn loop_index(self, block: BlockId) -> Option<(ValueId, ValueId, ValueId)> {
        self.function.insts.values().find_map(|inst| match inst.op {
            Op::For { start, end, step, body, .. } if body == block => Some((start, end, step)),
            _ => None,
        })
    }

    /// Whether a cast to `to` keeps the sign of every value.
    fn is_widening(self, a: ValueId, to: Scalar) -> bool {
        let Type::Scalar(from) = self.function.ty(a) else { return false };
        from == Scalar::Bool
            || from.is_int()
                && to.is_int()
                && (from.bits() < to.bits() || from.bits() == to.bits() && from.is_signed_int())
    }
}
