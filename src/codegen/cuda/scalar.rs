//! Scalar operations as C++ expressions that mean exactly what the IR says.
//!
//! Signed arithmetic is printed plainly here; where it may overflow, [`super::wrapping`] prints it.

use super::helpers::Helper;
use super::prelude::Prelude;
use super::tree::{Expr, Infix};
use super::types::scalar_name;
use crate::ir::{BinaryOp, CompareOp, Const, UnaryOp};
use crate::types::Scalar;

/// What is known about the operands of an integer operation.
#[derive(Clone, Copy, Default)]
pub struct OperandFacts {
    /// The right operand, when constant.
    pub right: Option<Const>,
    pub left_is_non_negative: bool,
    pub right_is_positive: bool,
    /// 0 <= right < the width of the type.
    pub right_is_below_width: bool,
}

pub fn is_half(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F16 | Scalar::BF16)
}

/// Integers that C++ promotes to `int`.
fn is_narrow(scalar: Scalar) -> bool {
    scalar.is_int() && scalar.size() < 4
}

/// Wraps a result that C++ computed as `int` to the type's width.
fn narrow(scalar: Scalar, e: Expr, prelude: &mut Prelude) -> Expr {
    if !is_narrow(scalar) {
        return e;
    }
    // It may be the only place that names the type.
    prelude.scalar(scalar);
    Expr::cast(scalar_name(scalar), e)
}

/// The same value as an expression whose C++ type is exactly `scalar`, for overloaded calls and
/// braces.
pub fn typed(scalar: Scalar, e: Expr, prelude: &mut Prelude) -> Expr {
    let exact = match &e {
        Expr::Var(_) | Expr::Index(..) | Expr::Apply(..) | Expr::Member(..) | Expr::Method(..) => true,
        Expr::Cast(ty, _) => ty == scalar_name(scalar),
        _ => false,
    };
    if exact { e } else { narrow(scalar, e, prelude) }
}

fn to_float(e: Expr) -> Expr {
    Expr::cast("float", e)
}

/// Rounds a `float` expression to a 16-bit format.
fn from_float(scalar: Scalar, e: Expr, prelude: &mut Prelude) -> Expr {
    prelude.scalar(scalar);
    Expr::call(scalar_name(scalar), [e])
}

/// `sinf` for float, `sin` for double.
fn math(name: &str, scalar: Scalar) -> String {
    if scalar == Scalar::F64 { name.to_string() } else { format!("{name}f") }
}

/// A call of a float function; 16-bit formats go through `float`, which rounds innocuously.
fn math_call(name: &str, s: Scalar, args: Vec<Expr>, prelude: &mut Prelude) -> Expr {
    if is_half(s) {
        let call = Expr::call(math(name, s), args.into_iter().map(to_float));
        from_float(s, call, prelude)
    } else {
        Expr::call(math(name, s), args)
    }
}

/// What CUDA has for the hardware's approximation of a function.
pub fn approximation(name: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 8] = [
        ("expf", "__expf"),
        ("logf", "__logf"),
        ("log2f", "__log2f"),
        ("log10f", "__log10f"),
        ("powf", "__powf"),
        ("sinf", "__sinf"),
        ("cosf", "__cosf"),
        ("tanf", "__tanf"),
    ];
    NAMES.into_iter().find(|(exact, _)| *exact == name).map(|(_, near)| near)
}

pub fn unary(op: UnaryOp, s: Scalar, a: Expr, prelude: &mut Prelude) -> Expr {
    match op {
        UnaryOp::Neg if is_half(s) => from_float(s, Expr::prefix("-", to_float(a)), prelude),
        UnaryOp::Neg => narrow(s, Expr::prefix("-", a), prelude),
        UnaryOp::Not => a.negate(),
        UnaryOp::BitNot => narrow(s, Expr::prefix("~", a), prelude),
        UnaryOp::Abs if s.is_float() => math_call("fabs", s, vec![a], prelude),
        UnaryOp::Abs if s.is_signed_int() => narrow(s, Expr::call("abs", [a]), prelude),
        UnaryOp::Abs | UnaryOp::Tf32 => a,
        UnaryOp::Sqrt if prelude.fast && s == Scalar::F32 => Expr::call(prelude.helper(Helper::FastSqrt), [a]),
        UnaryOp::Sqrt => math_call("sqrt", s, vec![a], prelude),
        UnaryOp::Floor => math_call("floor", s, vec![a], prelude),
        UnaryOp::Ceil => math_call("ceil", s, vec![a], prelude),
        UnaryOp::Trunc => math_call("trunc", s, vec![a], prelude),
        UnaryOp::RoundEven => math_call("rint", s, vec![a], prelude),
        UnaryOp::Round => math_call("round", s, vec![a], prelude),
        UnaryOp::PopCount => bit_count("__popc", s, a, prelude),
        UnaryOp::LeadingZeros => {
            let count = bit_count("__clz", s, a, prelude);
            if is_narrow(s) {
                let count = if let Expr::Cast(_, inner) = count { *inner } else { count };
                let extra = 32 - s.bits();
                narrow(s, Expr::infix(Infix::Sub, count, Expr::atom(extra.to_string())), prelude)
            } else {
                count
            }
        }
    }
}

/// CUDA's functions take `int` or `long long` and give `int`.
fn bit_count(name: &str, s: Scalar, a: Expr, prelude: &mut Prelude) -> Expr {
    let unsigned = match s {
        Scalar::I8 => Some(Scalar::U8),
        Scalar::I16 => Some(Scalar::U16),
        _ => None,
    };
    let a = match unsigned {
        Some(unsigned) => {
            prelude.scalar(unsigned);
            Expr::cast(scalar_name(unsigned), a)
        }
        None => a,
    };
    let call = if s.size() == 8 { Expr::call(format!("{name}ll"), [a]) } else { Expr::call(name, [a]) };
    if s == Scalar::I32 { call } else { Expr::cast(scalar_name(s), call) }
}

/// `x + 2 - 1` as `x + 1`: a sum and a number with one number in the place of two. It overflows
/// only where they do.
fn shifted(op: Infix, sum: &Expr, number: &Expr) -> Option<Expr> {
    let signed = |op: Infix, number: &Expr| {
        let Expr::Atom(text) = number else { return None };
        let value: i64 = text.parse().ok()?;
        match op {
            Infix::Add => Some(value),
            Infix::Sub => Some(-value),
            _ => None,
        }
    };
    let Expr::Infix(inner, x, first) = sum else { return None };
    let total = signed(*inner, first)? + signed(op, number)?;
    let to = if total < 0 { Infix::Sub } else { Infix::Add };
    i32::try_from(total.unsigned_abs()).ok()?;
    Some(match total {
        0 => (**x).clone(),
        _ => Expr::infix(to, (**x).clone(), Expr::atom(total.unsigned_abs().to_string())),
    })
}

/// The plain operator, with `x + -1` written as `x - 1`.
fn operator(op: Infix, s: Scalar, a: Expr, b: Expr, prelude: &mut Prelude) -> Expr {
    if is_half(s) {
        half_operator(op, s, prelude);
        return Expr::infix(op, a, b);
    }
    if s == Scalar::I32
        && let Some(sum) = shifted(op, &a, &b)
    {
        return sum;
    }
    let flipped = match op {
        Infix::Add => Some(Infix::Sub),
        Infix::Sub => Some(Infix::Add),
        _ => None,
    };
    if let (Some(flipped), Some(text)) = (flipped, b.as_negative_literal()) {
        let positive = Expr::atom(text);
        return Expr::infix(flipped, a, positive);
    }
    // `a + -b * c`: the sign goes through a product unchanged.
    if let (Some(flipped), Expr::Infix(Infix::Mul, left, right)) = (flipped, &b)
        && let Expr::Prefix("-", left) = &**left
    {
        return Expr::infix(flipped, a, Expr::infix(Infix::Mul, (**left).clone(), (**right).clone()));
    }
    Expr::infix(op, a, b)
}

fn half_operator(op: Infix, s: Scalar, prelude: &mut Prelude) {
    prelude.scalar(s);
    let (name, symbol) = (scalar_name(s), op.symbol());
    let compares = matches!(op, Infix::Lt | Infix::Le | Infix::Gt | Infix::Ge | Infix::Eq | Infix::Ne);
    let (result, value) = if compares {
        ("bool", format!("(float)a {symbol} (float)b"))
    } else {
        (name, format!("{name}((float)a {symbol} (float)b)"))
    };
    prelude.function(format!("{result} operator{symbol}({name} a, {name} b)"), |_| format!("{{ return {value}; }}"));
}

pub fn binary(op: BinaryOp, s: Scalar, a: Expr, b: Expr, facts: OperandFacts, prelude: &mut Prelude) -> Expr {
    match op {
        BinaryOp::Add => {
            let e = operator(Infix::Add, s, a, b, prelude);
            narrow(s, e, prelude)
        }
        BinaryOp::Sub => {
            let e = operator(Infix::Sub, s, a, b, prelude);
            narrow(s, e, prelude)
        }
        // The product of two uint16 overflows the int that C++ computes it in.
        BinaryOp::Mul if s == Scalar::U16 => {
            prelude.scalar(Scalar::U32);
            narrow(s, Expr::infix(Infix::Mul, Expr::cast(scalar_name(Scalar::U32), a), b), prelude)
        }
        BinaryOp::Mul if !prelude.fmad && matches!(s, Scalar::F32 | Scalar::F64) => {
            Expr::call(if s == Scalar::F32 { "__fmul_rn" } else { "__dmul_rn" }, [a, b])
        }
        BinaryOp::Mul => {
            let e = operator(Infix::Mul, s, a, b, prelude);
            narrow(s, e, prelude)
        }
        BinaryOp::Div if prelude.fast && s == Scalar::F32 => Expr::call("__fdividef", [a, b]),
        // By a power of two it would be such a product.
        BinaryOp::Div if !prelude.fmad && matches!(s, Scalar::F32 | Scalar::F64) => {
            Expr::call(if s == Scalar::F32 { "__fdiv_rn" } else { "__ddiv_rn" }, [a, b])
        }
        BinaryOp::Div if s.is_float() => operator(Infix::Div, s, a, b, prelude),
        BinaryOp::Rem if s.is_float() => math_call("fmod", s, vec![a, b], prelude),
        BinaryOp::FloorDiv if s.is_float() => {
            let quotient = operator(Infix::Div, s, a, b, prelude);
            math_call("floor", s, vec![quotient], prelude)
        }
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv => divide(op, s, a, b, facts, prelude),
        BinaryOp::Min | BinaryOp::Max => {
            let name = if op == BinaryOp::Min { "min" } else { "max" };
            if s.is_float() { math_call(&format!("f{name}"), s, vec![a, b], prelude) } else { Expr::call(name, [a, b]) }
        }
        BinaryOp::And if s == Scalar::Bool => Expr::infix(Infix::And, a, b),
        BinaryOp::Or if s == Scalar::Bool => Expr::infix(Infix::Or, a, b),
        BinaryOp::Xor if s == Scalar::Bool => Expr::infix(Infix::Ne, a, b),
        BinaryOp::And => Expr::infix(Infix::BitAnd, a, b),
        BinaryOp::Or => Expr::infix(Infix::BitOr, a, b),
        BinaryOp::Xor => Expr::infix(Infix::BitXor, a, b),
        BinaryOp::Shl | BinaryOp::Shr => shift(op == BinaryOp::Shl, s, a, b, facts, prelude),
        BinaryOp::CopySign => math_call("copysign", s, vec![a, b], prelude),
        BinaryOp::MulHigh => Expr::call(if s.size() == 8 { "__umul64hi" } else { "__umulhi" }, [a, b]),
        BinaryOp::AbsDiff => helped(Helper::AbsDiff, s, a, b, prelude),
    }
}

fn divide(op: BinaryOp, s: Scalar, a: Expr, b: Expr, facts: OperandFacts, prelude: &mut Prelude) -> Expr {
    let value = facts.right.and_then(Const::as_int);
    let positive = facts.right_is_positive || value.is_some_and(|v| v > 0);
    // -1 is the other divisor with which C++ leaves a quotient undefined.
    let plain = positive || value.is_some_and(|v| v < -1);
    let rounds_down = s.is_unsigned_int() || facts.left_is_non_negative && positive;
    let (helper, operator, is_plain) = match op {
        BinaryOp::Rem => (Helper::SafeRem, Infix::Rem, plain),
        BinaryOp::FloorDiv if !rounds_down => (Helper::FloorDiv, Infix::Div, false),
        _ => (Helper::SafeDiv, Infix::Div, plain),
    };
    if is_plain { Expr::infix(operator, a, b) } else { helped(helper, s, a, b, prelude) }
}

fn shift(left: bool, s: Scalar, a: Expr, b: Expr, facts: OperandFacts, prelude: &mut Prelude) -> Expr {
    let count = facts.right.and_then(Const::as_int).filter(|&n| (0..i128::from(s.bits())).contains(&n));
    let (operator, helper) = if left { (Infix::Shl, Helper::ShiftLeft) } else { (Infix::Shr, Helper::ShiftRight) };
    match count {
        Some(n) => {
            let shifted = Expr::infix(operator, a, Expr::atom(n.to_string()));
            if left { narrow(s, shifted, prelude) } else { shifted }
        }
        None if facts.right_is_below_width => {
            let shifted = Expr::infix(operator, a, b);
            if left { narrow(s, shifted, prelude) } else { shifted }
        }
        None => helped(helper, s, a, b, prelude),
    }
}

/// A call of a helper that is a template of its operands' type.
fn helped(helper: Helper, s: Scalar, a: Expr, b: Expr, prelude: &mut Prelude) -> Expr {
    let operands = [typed(s, a, prelude), typed(s, b, prelude)];
    Expr::call(prelude.helper(helper), operands)
}

pub fn compare(op: CompareOp, s: Scalar, a: Expr, b: Expr, prelude: &mut Prelude) -> Expr {
    let op = match op {
        CompareOp::Eq => Infix::Eq,
        CompareOp::Ne => Infix::Ne,
        CompareOp::Lt => Infix::Lt,
        CompareOp::Le => Infix::Le,
        CompareOp::Gt => Infix::Gt,
        CompareOp::Ge => Infix::Ge,
    };
    if !is_half(s) {
        return Expr::infix(op, a, b);
    }
    half_operator(op, s, prelude);
    match op {
        Infix::Eq => Expr::infix(Infix::Same, a, b),
        Infix::Ne => {
            // The text may negate it.
            half_operator(Infix::Eq, s, prelude);
            Expr::infix(op, a, b)
        }
        _ => Expr::infix(op, a, b),
    }
}

pub fn fma(s: Scalar, a: Expr, b: Expr, c: Expr, prelude: &mut Prelude) -> Expr {
    if is_half(s) {
        let name = prelude.helper(Helper::FmaRoundToOdd);
        let call = Expr::call(name, [a, b, c].map(to_float));
        return from_float(s, call, prelude);
    }
    Expr::call(math("fma", s), [a, b, c])
}

/// A conversion by value.
pub fn cast(from: Scalar, to: Scalar, a: Expr, prelude: &mut Prelude) -> Expr {
    prelude.scalar(to);
    let name = scalar_name(to);
    if from == to {
        return a;
    }
    if is_half(from) && to != Scalar::Bool {
        let exact = to_float(a);
        return if to == Scalar::F32 { exact } else { cast(Scalar::F32, to, exact, prelude) };
    }
    match (from, to) {
        (_, Scalar::Bool) => {
            let a = if is_half(from) { to_float(a) } else { a };
            let zero = match from {
                Scalar::F64 => "0.0",
                s if s.is_float() => "0.0f",
                Scalar::U32 => "0u",
                _ => "0",
            };
            Expr::infix(Infix::Ne, a, Expr::atom(zero))
        }
        (Scalar::F64, to) if is_half(to) => {
            let odd = Expr::call(prelude.helper(Helper::RoundToOdd), [a]);
            from_float(to, odd, prelude)
        }
        // Integers that bfloat16 has no room for may not be rounded to float first.
        (from, Scalar::BF16) if from.size() >= 4 && from.is_int() => {
            let wide = if from.is_signed_int() { Scalar::I64 } else { Scalar::U64 };
            prelude.scalar(wide);
            let odd = Expr::call(prelude.helper(Helper::IntRoundToOdd), [Expr::cast(scalar_name(wide), a)]);
            from_float(to, odd, prelude)
        }
        (_, to) if is_half(to) => {
            let float = if from == Scalar::F32 { a } else { to_float(a) };
            from_float(to, float, prelude)
        }
        // The instruction saturates and maps NaN to 0; C++ leaves both undefined for a cast.
        (Scalar::F32, Scalar::I32) => Expr::call("__float2int_rz", [a]),
        (Scalar::F32, Scalar::U32) => Expr::call("__float2uint_rz", [a]),
        (from, to) if from.is_float() && to.is_int() => {
            let call = format!("{}<{name}>", prelude.helper(Helper::Saturate));
            Expr::call(call, [a])
        }
        _ => Expr::cast(name, a),
    }
}

/// A conversion bit for bit between types of one size; None where there is no expression for it.
pub fn bitcast(from: Scalar, to: Scalar, a: Expr, prelude: &mut Prelude) -> Option<Expr> {
    prelude.scalar(to);
    Some(match (from, to) {
        _ if from == to => a,
        (Scalar::F32, Scalar::I32) => Expr::call("__float_as_int", [a]),
        (Scalar::F32, Scalar::U32) => Expr::call("__float_as_uint", [a]),
        (Scalar::I32, Scalar::F32) => Expr::call("__int_as_float", [a]),
        (Scalar::U32, Scalar::F32) => Expr::call("__uint_as_float", [a]),
        (Scalar::F64, Scalar::I64) => Expr::call("__double_as_longlong", [a]),
        (Scalar::F64, Scalar::U64) => Expr::cast(scalar_name(to), Expr::call("__double_as_longlong", [a])),
        (Scalar::I64, Scalar::F64) => Expr::call("__longlong_as_double", [a]),
        (Scalar::U64, Scalar::F64) => {
            prelude.scalar(Scalar::I64);
            Expr::call("__longlong_as_double", [Expr::cast(scalar_name(Scalar::I64), a)])
        }
        (from, to) if is_half(from) && to.is_int() => {
            let bits = a.member("bits");
            if to == Scalar::U16 { bits } else { Expr::cast(scalar_name(to), bits) }
        }
        (from, to) if is_half(to) && (from.is_int() || is_half(from)) => {
            let bits = if is_half(from) { a.member("bits") } else { a };
            let signature = format!("{0} {0}_from_bits(unsigned short bits)", scalar_name(to));
            prelude.function(signature, |_| {
                format!("{{\n    {} x;\n    x.bits = bits;\n    return x;\n}}", scalar_name(to))
            });
            Expr::call(format!("{}_from_bits", scalar_name(to)), [bits])
        }
        (from, to) if from.is_int() && to.is_int() => Expr::cast(scalar_name(to), a),
        _ => return None,
    })
}
