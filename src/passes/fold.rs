//! Which instructions are constants?

use crate::ir::{Const, Function, Op, ValueId, accesses, effects, eval, jumps, nested, parts, threads};
use crate::types::{Scalar, Type};

/// The constant that an instruction with one scalar result of type `ty` computes, if its operands
/// are constants.
pub fn fold(function: &Function, op: &Op, ty: Scalar) -> Option<Const> {
    let constant = |value: ValueId| function.as_const(value);
    match op {
        Op::Unary(op, a) => eval::unary(*op, constant(*a)?),
        Op::Binary(op, a, b) => eval::binary(*op, constant(*a)?, constant(*b)?),
        Op::Compare(op, a, b) => eval::compare(*op, constant(*a)?, constant(*b)?),
        Op::Fma(a, b, c) => eval::fma(constant(*a)?, constant(*b)?, constant(*c)?),
        Op::Cast(a) => Some(eval::cast(constant(*a)?, ty)),
        Op::Bitcast(a) => eval::bitcast(constant(*a)?, ty),
        Op::Extent(array, dim) => match function.ty(*array) {
            Type::Local(local) => Some(Const::int(ty, i128::from(*local.shape.get(usize::from(*dim))?))),
            _ => None,
        },
        Op::Const(_)
        | parts!()
        | threads!()
        | Op::Call(..)
        | Op::IsSet(_)
        | Op::Gradient(_)
        | Op::Address(_)
        | Op::ArrayAt { .. }
        | Op::View(..)
        | Op::LocalArray
        | Op::SharedArray
        | accesses!()
        | effects!()
        | nested!()
        | jumps!() => None,
    }
}
