//! Which function computes an operation on slots? What [`eval`] says of each operation and type,
//! with both known: a run need not ask again at every instruction.

use crate::ir::{BinaryOp, CompareOp, Const, UnaryOp, eval};
use crate::types::Scalar;

/// From the bits of an operand to those of the result.
pub(super) type Unary = fn(u64) -> u64;
pub(super) type Binary = fn(u64, u64) -> u64;
pub(super) type Ternary = fn(u64, u64, u64) -> u64;

/// `$body` for whichever variant `$of` is, which `$name` represents as a constant.
macro_rules! each {
    (Scalar, $of:expr, $name:ident => $body:expr) => {
        each!($of, $name => $body, Scalar: Bool I8 I16 I32 I64 U8 U16 U32 U64 F16 BF16 F32 F64)
    };
    (UnaryOp, $of:expr, $name:ident => $body:expr) => {
        each!($of, $name => $body, UnaryOp:
            Neg Not BitNot Abs Sqrt Floor Ceil Trunc RoundEven Round PopCount LeadingZeros Tf32)
    };
    (BinaryOp, $of:expr, $name:ident => $body:expr) => {
        each!($of, $name => $body, BinaryOp:
            Add Sub Mul Div FloorDiv Rem Min Max And Or Xor Shl Shr CopySign MulHigh AbsDiff)
    };
    (CompareOp, $of:expr, $name:ident => $body:expr) => {
        each!($of, $name => $body, CompareOp: Eq Ne Lt Le Gt Ge)
    };
    ($of:expr, $name:ident => $body:expr, $type:ident: $($variant:ident)*) => {
        match $of { $($type::$variant => { const $name: $type = $type::$variant; $body })* }
    };
}

/// What a verified operation computes; the type rules leave no None.
#[inline]
fn value(result: Option<Const>) -> u64 {
    result.map_or(0, |c| c.bits)
}

#[inline]
fn constant(scalar: Scalar, bits: u64) -> Const {
    Const::new(scalar, bits)
}

pub(super) fn unary(op: UnaryOp, scalar: Scalar) -> Unary {
    each!(Scalar, scalar, S => each!(UnaryOp, op, O => |a| value(eval::unary(O, constant(S, a)))))
}

pub(super) fn binary(op: BinaryOp, scalar: Scalar) -> Binary {
    each!(Scalar, scalar, S => each!(BinaryOp, op, O => |a, b| value(eval::binary(O, constant(S, a), constant(S, b)))))
}

pub(super) fn compare(op: CompareOp, scalar: Scalar) -> Binary {
    each!(Scalar, scalar, S => each!(CompareOp, op, O => |a, b| value(eval::compare(O, constant(S, a), constant(S, b)))))
}

pub(super) fn fma(scalar: Scalar) -> Ternary {
    each!(Scalar, scalar, S => |a, b, c| value(eval::fma(constant(S, a), constant(S, b), constant(S, c))))
}

pub(super) fn cast(from: Scalar, to: Scalar) -> Unary {
    each!(Scalar, from, F => each!(Scalar, to, T => |a| eval::cast(constant(F, a), T).bits))
}
