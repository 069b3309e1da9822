//! What does one scalar operation compute? The semantics rules of [`super`] (7 to 11) on constants:
//! used by the interpreter, by constant folding and by the checker's constant evaluator, so that
//! all three agree to the bit.
//!
//! # Rounding once
//!
//! `float32` and `float64` operations are the machine's. `float16` (11 significant bits) and
//! `bfloat16` (8) are computed in `f64` and rounded to the narrow format, which must give the same
//! as rounding the exact result once:
//!
//! - The last step, [`narrow`], goes through `f32` rounded *to odd*: an inexact result gets its
//!   last bit set. Rounding that to a format at least two bits shorter is the same as rounding the
//!   exact value (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
//!   algorithms using rounding to odd", 2008).
//! - Products are exact in `f64` (22 bits, exponents far inside its range). `float16` sums are
//!   exact (41 bits).
//! - A `bfloat16` sum that is inexact in `f64` has a smaller operand more than 2^44 times below the
//!   larger: the sum lies next to a `bfloat16` number, never next to the middle of two, and both
//!   roundings go to that number.
//! - A quotient or root differs from any middle of two narrow numbers by a relative 2^-24 or more,
//!   or is that middle exactly: its `f64` rounding (2^-53) lies on the same side.
//! - `fma` adds an exact product to a term; the `f64` sum is rounded to odd with the error term of
//!   the sum.

use super::{BinaryOp, CompareOp, Const, UnaryOp};
use crate::types::Scalar;

/// The result of a unary operation; None if the operand's type does not have it.
#[inline]
pub fn unary(op: UnaryOp, a: Const) -> Option<Const> {
    let bits = match a.scalar {
        Scalar::Bool => match op {
            UnaryOp::Not => a.bits ^ 1,
            _ => return None,
        },
        s if s.is_float() => float_unary(op, a)?,
        s => int_unary(op, s, a.bits)?,
    };
    Some(Const::new(a.scalar, bits))
}

/// The result of a binary operation; None unless both operands have one type that has it.
#[inline]
pub fn binary(op: BinaryOp, a: Const, b: Const) -> Option<Const> {
    if a.scalar != b.scalar {
        return None;
    }
    let bits = match a.scalar {
        Scalar::Bool => match op {
            BinaryOp::And => a.bits & b.bits,
            BinaryOp::Or => a.bits | b.bits,
            BinaryOp::Xor => a.bits ^ b.bits,
            _ => return None,
        },
        Scalar::I8 => int_binary_i8(op, a.bits, b.bits)?,
        Scalar::I16 => int_binary_i16(op, a.bits, b.bits)?,
        Scalar::I32 => int_binary_i32(op, a.bits, b.bits)?,
        Scalar::I64 => int_binary_i64(op, a.bits, b.bits)?,
        Scalar::U8 => int_binary_u8(op, a.bits, b.bits)?,
        Scalar::U16 => int_binary_u16(op, a.bits, b.bits)?,
        Scalar::U32 => int_binary_u32(op, a.bits, b.bits)?,
        Scalar::U64 => int_binary_u64(op, a.bits, b.bits)?,
        _ if op == BinaryOp::CopySign => {
            let sign = sign_bit(a.scalar);
            (a.bits & !sign) | (b.bits & sign)
        }
        Scalar::F32 => {
            u64::from(float_binary_f32(op, f32::from_bits(a.bits as u32), f32::from_bits(b.bits as u32))?.to_bits())
        }
        Scalar::F64 => float_binary_f64(op, f64::from_bits(a.bits), f64::from_bits(b.bits))?.to_bits(),
        Scalar::F16 | Scalar::BF16 => narrow(a.scalar, float_binary_f64(op, a.as_float()?, b.as_float()?)?),
    };
    Some(Const::new(a.scalar, bits))
}

/// A bool; None unless both operands have one type. `bool` has `eq` and `ne` only.
#[inline]
pub fn compare(op: CompareOp, a: Const, b: Const) -> Option<Const> {
    use std::cmp::Ordering;
    if a.scalar != b.scalar {
        return None;
    }
    let order = match a.scalar {
        Scalar::Bool if !matches!(op, CompareOp::Eq | CompareOp::Ne) => return None,
        Scalar::F32 => f32::from_bits(a.bits as u32).partial_cmp(&f32::from_bits(b.bits as u32)),
        s if s.is_float() => a.as_float()?.partial_cmp(&b.as_float()?),
        s if s.is_signed_int() => Some((a.bits as i64).cmp(&(b.bits as i64))),
        _ => Some(a.bits.cmp(&b.bits)),
    };
    Some(Const::bool(match op {
        CompareOp::Eq => order == Some(Ordering::Equal),
        CompareOp::Ne => order != Some(Ordering::Equal),
        CompareOp::Lt => order == Some(Ordering::Less),
        CompareOp::Le => order.is_some_and(Ordering::is_le),
        CompareOp::Gt => order == Some(Ordering::Greater),
        CompareOp::Ge => order.is_some_and(Ordering::is_ge),
    }))
}

/// a * b + c, rounded once; None unless all three have one float type.
#[inline]
pub fn fma(a: Const, b: Const, c: Const) -> Option<Const> {
    if a.scalar != b.scalar || b.scalar != c.scalar {
        return None;
    }
    let bits = match a.scalar {
        Scalar::F32 => {
            let of = |x: Const| f32::from_bits(x.bits as u32);
            u64::from(of(a).mul_add(of(b), of(c)).to_bits())
        }
        Scalar::F64 => {
            let of = |x: Const| f64::from_bits(x.bits);
            of(a).mul_add(of(b), of(c)).to_bits()
        }
        Scalar::F16 | Scalar::BF16 => narrow(a.scalar, add_to_odd(a.as_float()? * b.as_float()?, c.as_float()?)),
        _ => return None,
    };
    Some(Const::new(a.scalar, bits))
}

/// Converts by value (rule 11).
#[inline]
pub fn cast(a: Const, to: Scalar) -> Const {
    match (a.scalar, to) {
        (from, to) if from == to => return a,
        // The most frequent one, without the way through 128 bits.
        (Scalar::I32, Scalar::F32) => return Const::new(to, u64::from((a.bits as i32 as f32).to_bits())),
        _ => {}
    }
    match (a.as_int(), a.as_float()) {
        (Some(value), _) => Const::int(to, value),
        (None, Some(value)) => float_to(value, to),
        (None, None) => Const::new(to, 0),
    }
}

/// The same bits as another type; None unless both have one size. To `bool` and from it there is
/// none, because a `bool` holds only 0 and 1.
pub fn bitcast(a: Const, to: Scalar) -> Option<Const> {
    if a.scalar.size() != to.size() || a.scalar == Scalar::Bool || to == Scalar::Bool {
        return None;
    }
    Some(from_memory(to, a.bits))
}

/// The constant whose memory image is the low bytes of `bits`: extends integers and takes any
/// nonzero byte as true.
#[inline]
pub fn from_memory(scalar: Scalar, bits: u64) -> Const {
    let bits = match scalar {
        Scalar::Bool => u64::from(bits as u8 != 0),
        Scalar::I8 => bits as i8 as i64 as u64,
        Scalar::I16 => bits as i16 as i64 as u64,
        Scalar::I32 => bits as i32 as i64 as u64,
        Scalar::U8 => u64::from(bits as u8),
        Scalar::U16 | Scalar::F16 | Scalar::BF16 => u64::from(bits as u16),
        Scalar::U32 | Scalar::F32 => u64::from(bits as u32),
        Scalar::I64 | Scalar::U64 | Scalar::F64 => bits,
    };
    Const::new(scalar, bits)
}

/// Bits of an integer rounded once to a float type.
pub fn int_to_float(to: Scalar, value: i128) -> u64 {
    match to {
        Scalar::F32 => u64::from((value as f32).to_bits()),
        Scalar::F64 => (value as f64).to_bits(),
        _ => {
            // To odd, so that `narrow` does the only rounding.
            let near = value as f64;
            let back = near as i128;
            let odd = match back.unsigned_abs().cmp(&value.unsigned_abs()) {
                std::cmp::Ordering::Equal => near,
                order => odd_from_near(near, order.is_gt()),
            };
            narrow(to, odd)
        }
    }
}

/// Bits of an exact value rounded once to `float16` or `bfloat16`.
pub fn narrow(to: Scalar, value: f64) -> u64 {
    let near = value as f32;
    let exact = f64::from(near);
    let odd = if exact == value || value.is_nan() {
        near
    } else {
        // The neighbour toward zero with the last bit set; a finite value beyond `f32` becomes its
        // largest number.
        let down = if exact.abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
        f32::from_bits(down | 1)
    };
    match to {
        Scalar::F16 => u64::from(half::f16::from_f32(odd).to_bits()),
        _ => u64::from(half::bf16::from_f32(odd).to_bits()),
    }
}

/// a + b rounded to odd: nearest first, then corrected with the exact error of the sum (Knuth's
/// TwoSum).
fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let from_b = sum - a;
    let error = (a - (sum - from_b)) + (b - from_b);
    if error == 0.0 { sum } else { odd_from_near(sum, (error < 0.0) == (sum > 0.0)) }
}

/// Turns an inexact result rounded to nearest into the one rounded to odd; `above`: its magnitude
/// is above the exact one.
fn odd_from_near(near: f64, above: bool) -> f64 {
    f64::from_bits((near.to_bits() - u64::from(above)) | 1)
}

fn float_to(value: f64, to: Scalar) -> Const {
    // `as` truncates, saturates and maps NaN to 0.
    match to {
        Scalar::Bool => Const::bool(value != 0.0),
        Scalar::I8 => Const::int(to, i128::from(value as i8)),
        Scalar::I16 => Const::int(to, i128::from(value as i16)),
        Scalar::I32 => Const::int(to, i128::from(value as i32)),
        Scalar::I64 => Const::int(to, i128::from(value as i64)),
        Scalar::U8 => Const::int(to, i128::from(value as u8)),
        Scalar::U16 => Const::int(to, i128::from(value as u16)),
        Scalar::U32 => Const::int(to, i128::from(value as u32)),
        Scalar::U64 => Const::int(to, i128::from(value as u64)),
        Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 => Const::float(to, value),
    }
}

fn sign_bit(scalar: Scalar) -> u64 {
    1 << (scalar.bits() - 1)
}

fn int_unary(op: UnaryOp, s: Scalar, bits: u64) -> Option<u64> {
    let mask = u64::MAX >> (64 - s.bits());
    let value = match op {
        UnaryOp::Neg => bits.wrapping_neg(),
        UnaryOp::BitNot => !bits,
        UnaryOp::Abs if s.is_signed_int() => (bits as i64).wrapping_abs() as u64,
        UnaryOp::Abs => bits,
        UnaryOp::PopCount => u64::from((bits & mask).count_ones()),
        UnaryOp::LeadingZeros => u64::from((bits & mask).leading_zeros() - (64 - s.bits())),
        _ => return None,
    };
    Some(from_memory(s, value).bits)
}

fn float_unary(op: UnaryOp, a: Const) -> Option<u64> {
    // The sign operations work on the bits, so that NaN keeps its payload.
    match op {
        UnaryOp::Neg => return Some(a.bits ^ sign_bit(a.scalar)),
        UnaryOp::Abs => return Some(a.bits & !sign_bit(a.scalar)),
        UnaryOp::Tf32 => return (a.scalar == Scalar::F32).then_some(a.bits),
        _ => {}
    }
    if a.scalar == Scalar::F32 {
        let a = f32::from_bits(a.bits as u32);
        let value = match op {
            UnaryOp::Sqrt => a.sqrt(),
            UnaryOp::Floor => a.floor(),
            UnaryOp::Ceil => a.ceil(),
            UnaryOp::Trunc => a.trunc(),
            UnaryOp::RoundEven => a.round_ties_even(),
            UnaryOp::Round => a.round(),
            _ => return None,
        };
        return Some(u64::from(value.to_bits()));
    }
    let x = a.as_float()?;
    let value = match op {
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Trunc => x.trunc(),
        UnaryOp::RoundEven => x.round_ties_even(),
        UnaryOp::Round => x.round(),
        _ => return None,
    };
    Some(if a.scalar == Scalar::F64 { value.to_bits() } else { narrow(a.scalar, value) })
}

macro_rules! int_binary {
    ($name:ident, $t:ty, $bits:expr) => {
        #[inline]
        fn $name(op: BinaryOp, a: u64, b: u64) -> Option<u64> {
            let (a, b) = (a as $t, b as $t);
            #[allow(unused_comparisons)]
            let value: $t = match op {
                BinaryOp::Add => a.wrapping_add(b),
                BinaryOp::Sub => a.wrapping_sub(b),
                BinaryOp::Mul => a.wrapping_mul(b),
                BinaryOp::Div => {
                    if b == 0 {
                        0
                    } else {
                        a.wrapping_div(b)
                    }
                }
                BinaryOp::FloorDiv => {
                    if b == 0 {
                        0
                    } else {
                        let quotient = a.wrapping_div(b);
                        let inexact = a.wrapping_rem(b) != 0;
                        if inexact && ((a < 0) != (b < 0)) { quotient.wrapping_sub(1) } else { quotient }
                    }
                }
                BinaryOp::Rem => {
                    if b == 0 {
                        a
                    } else {
                        a.wrapping_rem(b)
                    }
                }
                BinaryOp::Min => a.min(b),
                BinaryOp::Max => a.max(b),
                BinaryOp::And => a & b,
                BinaryOp::Or => a | b,
                BinaryOp::Xor => a ^ b,
                BinaryOp::Shl => {
                    if b >= 0 && (b as u64) < $bits {
                        a << b
                    } else {
                        0
                    }
                }
                BinaryOp::Shr => {
                    if b >= 0 && (b as u64) < $bits {
                        a >> b
                    } else if a < 0 {
                        !0
                    } else {
                        0
                    }
                }
                BinaryOp::CopySign => return None,
                BinaryOp::MulHigh => {
                    if $bits < 32 || <$t>::MIN != 0 {
                        return None;
                    }
                    ((a as u128 * b as u128) >> $bits) as $t
                }
                BinaryOp::AbsDiff => a.max(b).wrapping_sub(a.min(b)),
            };
            Some(value as i64 as u64)
        }
    };
}

int_binary!(int_binary_i8, i8, 8);
int_binary!(int_binary_i16, i16, 16);
int_binary!(int_binary_i32, i32, 32);
int_binary!(int_binary_i64, i64, 64);
int_binary!(int_binary_u8, u8, 8);
int_binary!(int_binary_u16, u16, 16);
int_binary!(int_binary_u32, u32, 32);
int_binary!(int_binary_u64, u64, 64);

macro_rules! float_binary {
    ($name:ident, $t:ty) => {
        #[inline]
        fn $name(op: BinaryOp, a: $t, b: $t) -> Option<$t> {
            Some(match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div => a / b,
                BinaryOp::Min if b.is_nan() || a < b || (a == b && a.is_sign_negative()) => a,
                BinaryOp::Max if b.is_nan() || a > b || (a == b && a.is_sign_positive()) => a,
                BinaryOp::Min | BinaryOp::Max => b,
                _ => return None,
            })
        }
    };
}

float_binary!(float_binary_f32, f32);
float_binary!(float_binary_f64, f64);

#[cfg(test)]
mod tests;
