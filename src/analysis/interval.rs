//! Interval arithmetic on integers: which values can an operation give? Intervals are wide enough
//! that nothing overflows; the caller decides what a result outside the type means.

use crate::ir::{BinaryOp, CompareOp, Const, UnaryOp};
use crate::types::Scalar;

/// The integers `low..=high`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Interval {
    pub low: i128,
    pub high: i128,
}

impl Interval {
    pub fn exactly(value: i128) -> Interval {
        Interval { low: value, high: value }
    }

    /// Every value of an integer type; None for floats and bool.
    pub fn full(scalar: Scalar) -> Option<Interval> {
        let (low, high) = scalar.int_range();
        scalar.is_int().then_some(Interval { low, high })
    }

    pub fn contains(self, other: Interval) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The smallest range with both; None counts as empty.
    pub fn union(a: Option<Interval>, b: Option<Interval>) -> Option<Interval> {
        match (a, b) {
            (Some(a), Some(b)) => Some(Interval { low: a.low.min(b.low), high: a.high.max(b.high) }),
            (a, b) => a.or(b),
        }
    }

    /// The integers in both, if there are any.
    pub fn intersection(self, other: Interval) -> Option<Interval> {
        let both = Interval { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }

    /// Each integer plus `by`.
    pub(super) fn shifted(self, by: i128) -> Interval {
        Interval { low: self.low + by, high: self.high + by }
    }

    /// What is left of `self` where `self op other` holds; None if nothing is learned.
    pub(super) fn compared(self, op: CompareOp, other: Interval) -> Option<Interval> {
        let bound = match op {
            CompareOp::Eq => other,
            // Only an end can be left out.
            CompareOp::Ne if other.low == other.high => Interval {
                low: self.low + i128::from(self.low == other.low),
                high: self.high - i128::from(self.high == other.high),
            },
            CompareOp::Ne => return None,
            CompareOp::Lt => Interval { low: self.low, high: other.high - 1 },
            CompareOp::Le => Interval { low: self.low, high: other.high },
            CompareOp::Gt => Interval { low: other.low + 1, high: self.high },
            CompareOp::Ge => Interval { low: other.low, high: self.high },
        };
        // An empty interval is where nothing runs; the old one is as true.
        self.intersection(bound).filter(|narrow| *narrow != self)
    }

    /// As if the integers had no bounds; None if nothing is known.
    pub fn unary(self, op: UnaryOp, scalar: Scalar) -> Option<Interval> {
        let Interval { low, high } = self;
        Some(match op {
            UnaryOp::Neg => Interval { low: -high, high: -low },
            UnaryOp::BitNot if scalar.is_signed_int() => Interval { low: -1 - high, high: -1 - low },
            UnaryOp::Abs if low >= 0 => self,
            UnaryOp::Abs => Interval { low: if high < 0 { -high } else { 0 }, high: high.max(-low) },
            UnaryOp::PopCount | UnaryOp::LeadingZeros => Interval { low: 0, high: i128::from(scalar.bits()) },
            _ => return None,
        })
    }

    /// As if the integers had no bounds, apart from shifts; None if nothing is known.
    pub fn binary(self, op: BinaryOp, other: Interval, scalar: Scalar) -> Option<Interval> {
        let (a, b) = (self, other);
        let both_positive = a.low >= 0 && b.low >= 0;
        Some(match op {
            BinaryOp::Add => Interval { low: a.low + b.low, high: a.high + b.high },
            BinaryOp::Sub => Interval { low: a.low - b.high, high: a.high - b.low },
            BinaryOp::Mul => {
                // Of 64-bit factors the product may not fit even here.
                let (mut low, mut high) = (i128::MAX, i128::MIN);
                for x in [a.low, a.high] {
                    for y in [b.low, b.high] {
                        let product = x.checked_mul(y)?;
                        low = low.min(product);
                        high = high.max(product);
                    }
                }
                Interval { low, high }
            }
            // x / 0 is 0.
            BinaryOp::Div | BinaryOp::FloorDiv if both_positive => Interval { low: 0, high: a.high / b.low.max(1) },
            BinaryOp::Div if b.low >= 1 => Interval { low: (a.low / b.low).min(0), high: (a.high / b.low).max(0) },
            BinaryOp::FloorDiv if b.low >= 1 => {
                Interval { low: a.low.div_euclid(b.low).min(0), high: (a.high / b.low).max(0) }
            }
            BinaryOp::Rem => {
                // The sign of the dividend, not beyond it (x % 0 is x), and below the divisor if
                // that is not 0.
                let below = if b.low >= 1 || b.high <= -1 { b.low.abs().max(b.high.abs()) - 1 } else { i128::MAX };
                Interval { low: a.low.min(0).max(-below), high: a.high.max(0).min(below) }
            }
            BinaryOp::Min => Interval { low: a.low.min(b.low), high: a.high.min(b.high) },
            BinaryOp::Max => Interval { low: a.low.max(b.low), high: a.high.max(b.high) },
            BinaryOp::AbsDiff => Interval {
                low: (a.low - b.high).max(b.low - a.high).max(0),
                high: (a.high - b.low).max(b.high - a.low),
            },
            BinaryOp::And if both_positive => Interval { low: 0, high: a.high.min(b.high) },
            BinaryOp::And if a.low >= 0 => Interval { low: 0, high: a.high },
            BinaryOp::And if b.low >= 0 => Interval { low: 0, high: b.high },
            BinaryOp::Or | BinaryOp::Xor if both_positive => {
                let ones = 128 - a.high.max(b.high).leading_zeros();
                Interval { low: 0, high: (1 << ones) - 1 }
            }
            BinaryOp::Shl if b.low == b.high && (0..i128::from(scalar.bits())).contains(&b.low) => {
                let factor = 1i128 << b.low;
                Interval { low: a.low.checked_mul(factor)?, high: a.high.checked_mul(factor)? }
            }
            BinaryOp::Shr if b.low == b.high && (0..i128::from(scalar.bits())).contains(&b.low) => {
                Interval { low: a.low >> b.low, high: a.high >> b.low }
            }
            BinaryOp::Shr if a.low >= 0 => Interval { low: 0, high: a.high },
            _ => return None,
        })
    }

    /// Whether an integer constant lies inside.
    pub fn holds(self, c: Const) -> bool {
        c.as_int().is_some_and(|value| self.low <= value && value <= self.high)
    }
}
