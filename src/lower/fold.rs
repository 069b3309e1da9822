//! What is the value of an integer operation on constants? Lowering folds these alone: unrolled loops and lengths of
//! vectors turn indices into constants, and a component step by a constant is a different thing from one by a value.

use crate::ir::{BinaryOp, CompareOp, Const, UnaryOp};
use crate::types::Scalar;

/// The result of an operation on two integers of one type; None for operations that are left to the passes.
pub(super) fn binary(op: BinaryOp, a: Const, b: Const) -> Option<Const> {
    if a.scalar != b.scalar {
        return None;
    }
    let (x, y) = (a.as_int()?, b.as_int()?);
    if a.scalar == Scalar::Bool {
        return Some(Const::bool(match op {
            BinaryOp::And => x & y != 0,
            BinaryOp::Or => x | y != 0,
            BinaryOp::Xor => x != y,
            _ => return None,
        }));
    }
    let value = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        // 64-bit factors can exceed 128 bits only in bits that wrapping drops.
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div => x.checked_div(y).unwrap_or(0),
        BinaryOp::Rem => x.checked_rem(y).unwrap_or(x),
        BinaryOp::FloorDiv => {
            let quotient = x.checked_div(y).unwrap_or(0);
            if y != 0 && x % y != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
        }
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        _ => return None,
    };
    Some(Const::int(a.scalar, value))
}

/// A comparison of two integers or bools of one type.
pub(super) fn compare(op: CompareOp, a: Const, b: Const) -> Option<Const> {
    let (x, y) = (a.as_int()?, b.as_int()?);
    Some(Const::bool(match op {
        CompareOp::Eq => x == y,
        CompareOp::Ne => x != y,
        CompareOp::Lt => x < y,
        CompareOp::Le => x <= y,
        CompareOp::Gt => x > y,
        CompareOp::Ge => x >= y,
    }))
}

pub(super) fn unary(op: UnaryOp, a: Const) -> Option<Const> {
    let x = a.as_int()?;
    match op {
        UnaryOp::Neg if a.scalar.is_int() => Some(Const::int(a.scalar, -x)),
        UnaryOp::Not if a.scalar == Scalar::Bool => Some(Const::bool(x == 0)),
        _ => None,
    }
}

/// An integer as another integer type.
pub(super) fn cast(a: Const, to: Scalar) -> Option<Const> {
    if to.is_int() { Some(Const::int(to, a.as_int()?)) } else { None }
}
