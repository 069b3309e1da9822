//! How is a number of integers written as one of floats, so that its divisions keep their
//! fractions?

use super::digits::expression_at;
use super::value::cast_name;
use crate::source::{SourceMap, Span};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Function, UnaryOp};
use crate::types::Scalar;

/// What is computed has a meaning for integers alone, such as a remainder of a quotient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepsInteger;

/// The text of a scalar as another type: `float(i + 1)` for `(i + 1)`, `2.0` for `2`.
pub fn converted(text: &str, to: Scalar) -> String {
    let bare = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    let bare = bare.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(text);
    let literal = bare.parse::<i64>().is_ok() && to == Scalar::F32;
    if literal { format!("{bare}.0") } else { format!("{}({bare})", cast_name(to)) }
}

/// The text of an operand, in brackets unless nothing binds tighter: `(x + 1)`, but `x[i + 1]`.
pub fn tight(text: &str) -> String {
    let mut depth = 0_i32;
    let plain = text.chars().all(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        depth > 0 || c.is_alphanumeric() || "_.)]".contains(c)
    });
    if plain { text.to_string() } else { format!("({text})") }
}

/// The expression at a place with the operands of its divisions as floats: `float(i) / 2.0` for
/// `i / 2`. None: it divides nothing, so that converting its value loses nothing.
pub fn fraction(
    function: &Function,
    at: Span,
    to: Scalar,
    sources: &SourceMap,
) -> Option<Result<String, KeepsInteger>> {
    let whole = expression_at(function, at).filter(|expr| divides(expr))?;
    let mut operands = Vec::new();
    if !take_operands(whole, &mut operands) {
        return Some(Err(KeepsInteger));
    }
    let mut text = String::new();
    let mut from = at.start;
    for operand in operands {
        text += sources.text(Span { start: from, end: operand.start, ..at });
        text += &converted(sources.text(operand), to);
        from = operand.end;
    }
    text += sources.text(Span { start: from, ..at });
    Some(Ok(text))
}

/// Whether a quotient is part of an expression's value, and not of an argument or index in it.
fn divides(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary { op, left, right } => *op == BinaryOp::Div || divides(left) || divides(right),
        ExprKind::Unary { operand, .. } => divides(operand),
        ExprKind::Conditional { then, otherwise, .. } => divides(then) || divides(otherwise),
        _ => false,
    }
}

/// The places of the operands between which arithmetic is that of floats once they are; false where
/// it cannot be.
fn take_operands(expr: &Expr, places: &mut Vec<Span>) -> bool {
    match &expr.kind {
        _ if !divides(expr) => {
            places.push(expr.span);
            true
        }
        ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, left, right } => {
            take_operands(left, places) && take_operands(right, places)
        }
        ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::Pos, operand } => take_operands(operand, places),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{converted, tight};
    use crate::types::Scalar;

    #[test]
    fn numbers_are_converted_as_short_as_can_be() {
        assert_eq!(converted("2", Scalar::F32), "2.0");
        assert_eq!(converted("(-2)", Scalar::F32), "-2.0");
        assert_eq!(converted("2", Scalar::F64), "wp.float64(2)");
        assert_eq!(converted("(i + 1)", Scalar::F32), "float(i + 1)");
        assert_eq!(converted("(i) + (1)", Scalar::F32), "float((i) + (1))");
    }

    #[test]
    fn operands_are_bracketed_where_they_would_come_apart() {
        for plain in ["x", "x[i + 1]", "s.x", "wp.sin(x - 1.0)", "(a + b)", "2.5"] {
            assert_eq!(tight(plain), plain);
        }
        for loose in ["x + 1", "-x", "(a) * (b)", "a if b else c"] {
            assert_eq!(tight(loose), format!("({loose})"));
        }
    }
}
