//! What would a kernel compute in double precision? The same program with every float type of the
//! file as float64 ([`crate::check::Options::double`]): types, literals, fields, elements, casts.
//! The library is not touched, for its float32 functions have algorithms of their own: calls choose
//! the float64 ones, and where there is none the program is refused by the ordinary error. What
//! only a float32 can be (random numbers) is converted.
//!
//! Everything that the file's code says goes through [`Body::expr`], so this is one step after it.

use super::value::{Constant, Number, Operand, TypeWord};
use crate::check::body::Body;
use crate::check::tree::{Expr, ExprKind};
use crate::types::{Scalar, Type};

impl Body<'_, '_> {
    /// The meaning of an expression of the file in double precision; itself if that is not wanted,
    /// or in library code.
    pub(in crate::check) fn in_double(&self, operand: Operand) -> Operand {
        if !self.c.settings.double || self.is_library() {
            return operand;
        }
        match operand {
            Operand::Const(Constant { number: number @ Number::Float(_), .. }) => {
                Operand::Const(Constant { number, scalar: Some(Scalar::F64) })
            }
            Operand::Const(Constant { number, scalar: Some(scalar) }) if scalar.is_float() => {
                Operand::Const(Constant { number, scalar: Some(Scalar::F64) })
            }
            Operand::Type(TypeWord::Type(ty)) => Operand::Type(TypeWord::Type(wide(ty))),
            Operand::Value(expr) if wide(expr.ty) != expr.ty => {
                let (ty, span) = (wide(expr.ty), expr.span);
                Operand::Value(Expr::new(ExprKind::Cast(Box::new(expr)), ty, span))
            }
            Operand::Tuple(items) => Operand::Tuple(items.into_iter().map(|item| self.in_double(item)).collect()),
            other => other,
        }
    }

    /// The float type where the file names none.
    pub(in crate::check) fn default_float(&self) -> Scalar {
        if self.c.settings.double && !self.is_library() { Scalar::F64 } else { Scalar::F32 }
    }
}

/// A scalar or composite type with double floats; other types are as they are, for their parts were
/// resolved before.
fn wide(ty: Type) -> Type {
    match ty {
        Type::Scalar(s) if s.is_float() => Type::Scalar(Scalar::F64),
        Type::Vec(n, s) if s.is_float() => Type::Vec(n, Scalar::F64),
        Type::Mat(r, c, s) if s.is_float() => Type::Mat(r, c, Scalar::F64),
        Type::Quat(_) => Type::Quat(Scalar::F64),
        Type::Transform(_) => Type::Transform(Scalar::F64),
        other => other,
    }
}
