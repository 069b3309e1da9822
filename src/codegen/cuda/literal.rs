//! Constants as a person writes them: every float is the shortest decimal that reads back as the
//! same bits.

use super::prelude::Prelude;
use super::tree::{Expr, Infix};
use super::types::scalar_name;
use crate::ir::Const;
use crate::types::Scalar;

/// A constant as an expression whose C++ type is the constant's own, except that integers narrower
/// than 32 bits are `int`.
pub fn literal(c: Const, prelude: &mut Prelude) -> Expr {
    match c.scalar {
        Scalar::Bool => Expr::atom(if c.bits != 0 { "true" } else { "false" }),
        Scalar::F64 => double(f64::from_bits(c.bits), prelude),
        Scalar::F32 => float(f32::from_bits(c.bits as u32), prelude),
        Scalar::F16 | Scalar::BF16 => {
            prelude.scalar(c.scalar);
            // Exact: both formats are subsets of float.
            let value = c.as_float().unwrap_or(0.0) as f32;
            Expr::call(scalar_name(c.scalar), [float(value, prelude)])
        }
        Scalar::I64 => match c.bits as i64 {
            i64::MIN => Expr::infix(Infix::Sub, Expr::atom("-9223372036854775807ll"), Expr::atom("1")),
            value => Expr::atom(format!("{value}ll")),
        },
        Scalar::U64 => Expr::atom(unsigned(c.bits, "ull")),
        Scalar::U32 => Expr::atom(unsigned(c.bits, "u")),
        Scalar::I32 if c.bits as i32 == i32::MIN => Expr::infix(Infix::Sub, Expr::atom("-2147483647"), Expr::atom("1")),
        Scalar::I8 | Scalar::I16 | Scalar::I32 => Expr::atom((c.bits as i64).to_string()),
        Scalar::U8 | Scalar::U16 => Expr::atom(c.bits.to_string()),
    }
}

/// Masks, single high bits and the large constants of hash functions read better in hexadecimal.
fn unsigned(value: u64, suffix: &str) -> String {
    let is_mask = value >= 0xff && (value.is_power_of_two() || value.wrapping_add(1).is_power_of_two());
    if is_mask || value >= 1 << 31 { format!("{value:#x}{suffix}") } else { format!("{value}{suffix}") }
}

fn float(value: f32, prelude: &mut Prelude) -> Expr {
    if value.is_nan() {
        if value.to_bits() == 0x7fc0_0000 {
            prelude.not_a_number();
            return Expr::atom("NAN");
        }
        return Expr::call("__uint_as_float", [Expr::atom(format!("{:#x}u", value.to_bits()))]);
    }
    if value.is_infinite() {
        prelude.infinity();
        return Expr::atom(if value > 0.0 { "INFINITY" } else { "-INFINITY" });
    }
    Expr::atom(format!("{value:?}f"))
}

fn double(value: f64, prelude: &mut Prelude) -> Expr {
    if value.is_nan() {
        if value.to_bits() == 0x7ff8 << 48 {
            prelude.not_a_number();
            return Expr::cast("double", Expr::atom("NAN"));
        }
        return Expr::call("__longlong_as_double", [Expr::atom(format!("{:#x}ll", value.to_bits()))]);
    }
    if value.is_infinite() {
        return Expr::cast("double", float(value as f32, prelude));
    }
    Expr::atom(format!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::cuda::tree::Var;

    struct NoVariables;

    impl super::super::print::Variables for NoVariables {
        fn name(&self, _: Var) -> &str {
            ""
        }
        fn declaration(&self, _: Var) -> String {
            String::new()
        }
    }

    fn text(c: Const) -> String {
        super::super::print::expression(&literal(c, &mut Prelude::new(true, false)), &NoVariables)
    }

    #[test]
    fn floats_are_short_and_exact() {
        for (value, expected) in [
            (2.0f32, "2.0f"),
            (1e-6, "1e-6f"),
            (0.1, "0.1f"),
            (-0.0, "-0.0f"),
            (16777216.0, "16777216.0f"),
            (f32::MAX, "3.4028235e38f"),
            (f32::from_bits(1), "1e-45f"),
            (f32::INFINITY, "INFINITY"),
            (f32::NEG_INFINITY, "-INFINITY"),
        ] {
            let constant = Const::new(Scalar::F32, value.to_bits().into());
            assert_eq!(text(constant), expected);
        }
        assert_eq!(text(Const::float(Scalar::F64, 0.1)), "0.1");
        assert_eq!(text(Const::float(Scalar::F64, f64::INFINITY)), "(double)INFINITY");
        assert_eq!(text(Const::float(Scalar::F16, 0.1)), "float16(0.099975586f)");
    }

    #[test]
    fn integers_keep_their_type() {
        assert_eq!(text(Const::int(Scalar::I32, -7)), "-7");
        assert_eq!(text(Const::int(Scalar::I32, i32::MIN.into())), "-2147483647 - 1");
        assert_eq!(text(Const::int(Scalar::I64, i64::MIN.into())), "-9223372036854775807ll - 1");
        assert_eq!(text(Const::int(Scalar::U32, 42)), "42u");
        assert_eq!(text(Const::int(Scalar::U32, 0x9e37_79b9)), "0x9e3779b9u");
        assert_eq!(text(Const::int(Scalar::U32, 0xffff)), "0xffffu");
        assert_eq!(text(Const::int(Scalar::U64, 5)), "5ull");
    }
}
