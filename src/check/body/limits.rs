//! What does NumPy say of a number's type? `np.finfo(np.float32).eps` and `np.iinfo(np.int32).max`
//! are constants.

use super::Body;
use crate::check::state::globals::Global;
use crate::check::types::value::{Constant, Number, Operand, Reported, Res, TypeWord};
use crate::syntax::ast::{self, ExprKind};
use crate::types::Scalar;

impl Body<'_, '_> {
    /// `base.name`, where `base` is `np.finfo(type)` or `np.iinfo(type)`. None: it is something
    /// else.
    pub fn limit_of_type(&mut self, base: &ast::Expr, name: &ast::Name) -> Option<Res<Operand>> {
        let ExprKind::Call { callee, args } = &base.kind else { return None };
        let ExprKind::Attribute { base: module, name: function } = &callee.kind else { return None };
        let (ExprKind::Name(module), "finfo" | "iinfo") = (&module.kind, function.text.as_str()) else { return None };
        let is_numpy = matches!(self.c.lookup(module), Some((_, Global::Module(path))) if path == "numpy");
        let ([ast::Arg { name: None, value }], true) = (args.as_slice(), is_numpy && !self.scope.contains_key(module))
        else {
            return None;
        };
        let scalar = match self.expr(value) {
            Ok(Operand::Type(TypeWord::Type(ty))) => ty.as_scalar()?,
            Err(Reported) => return Some(Err(Reported)),
            Ok(_) => return None,
        };
        let number = match scalar.is_float() && function.text == "finfo" {
            true => of_float(scalar, &name.text)?,
            false if function.text == "iinfo" && !scalar.is_float() && scalar != Scalar::Bool => {
                match name.text.as_str() {
                    "min" => Number::Int(scalar.int_range().0),
                    "max" => Number::Int(scalar.int_range().1),
                    "bits" => Number::Int(scalar.bits().into()),
                    _ => return None,
                }
            }
            false => return None,
        };
        Some(Ok(Operand::Const(Constant::untyped(number))))
    }
}

/// Of a binary float with p digits and least exponent e: 2^(1-p), the greatest, the least normal
/// 2^e and subnormal 2^(e-p+1).
fn of_float(scalar: Scalar, name: &str) -> Option<Number> {
    let (digits, lowest, greatest) = match scalar {
        Scalar::F16 => (11, -14, 65504.0),
        Scalar::F32 => (24, -126, f64::from(f32::MAX)),
        Scalar::F64 => (53, -1022, f64::MAX),
        _ => return None,
    };
    Some(Number::Float(match name {
        "eps" => 2f64.powi(1 - digits),
        "max" => greatest,
        "min" => -greatest,
        "tiny" | "smallest_normal" => 2f64.powi(lowest),
        "smallest_subnormal" => 2f64.powi(lowest) * 2f64.powi(1 - digits),
        "bits" => return Some(Number::Int(scalar.bits().into())),
        _ => return None,
    }))
}
