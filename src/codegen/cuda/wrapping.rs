//! Which integer arithmetic may wrap, and how is it written?
//!
//! Integers of the IR wrap (rule 7). C++ leaves the overflow of signed integers undefined (section
//! 7.1, paragraph 4, of the C++17 standard), and compilers rely on it: `x + 1 > x` is true for
//! them. So a sum that may wrap is computed without sign: `(int)((unsigned)x + 1)`. Ranges say
//! where none is needed. Two things stay plain: a number that is only an index, for where it
//! overflows no array has the element, and small steps from extents and from numbers of threads,
//! which are taken to be below 2^31 - 2^16.

use std::collections::HashSet;

use super::prelude::Prelude;
use super::scalar::{self, OperandFacts};
use super::tree::{Expr, Infix};
use super::types::scalar_name;
use crate::analysis::interval::Interval;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet};
use crate::ir::{BinaryOp, BlockId, FuncId, Function, Inst, Op, UnaryOp, ValueDef, ValueId};
use crate::types::Scalar;

/// The integers of a function that arithmetic may wrap to.
#[derive(Default)]
pub struct Wrapping {
    values: IdSet<ValueId>,
}

impl Wrapping {
    /// `ranges` are those of the function. `most`: what its caller promises of the integers and
    /// sizes that it passes. `wrap`: a function whose first argument is an index.
    pub fn of(function: &Function, ranges: &Ranges, most: Option<i32>, wrap: Option<FuncId>) -> Wrapping {
        let mut values = IdSet::default();
        function.walk(function.entry, &mut |_, inst| {
            if may_wrap(function, ranges, inst) {
                values.extend(inst.results.first());
            }
        });
        if values.is_empty() {
            return Wrapping { values };
        }
        let ranges = match most {
            Some(most) => Ranges::of_small_sizes(function, most),
            None => Ranges::of_usual_sizes(function),
        };
        let numbers = numbers(function, wrap);
        values.retain(|value| {
            numbers.contains(value) && function.def(*value).is_some_and(|inst| may_wrap(function, &ranges, inst))
        });
        Wrapping { values }
    }

    /// Whether the result of an instruction may be another number than C++ has for it.
    pub fn is_at(&self, inst: &Inst) -> bool {
        inst.results.first().is_some_and(|result| self.values.contains(result))
    }
}

/// The values that are more than indices. What goes through the function `wrap` is an index.
fn numbers(function: &Function, wrap: Option<FuncId>) -> IdSet<ValueId> {
    let sizes = Sizes::of(function, wrap);
    let mut left: Vec<ValueId> = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        // Whether operands of arithmetic are depends on its result.
        if is_arithmetic(&inst.op) {
            return;
        }
        let is_guard = matches!(inst.op, Op::Compare(..));
        let mut indices = indices_of(inst, wrap);
        inst.op.for_each_operand(|operand| match indices.iter().position(|&index| index == operand) {
            Some(at) => _ = indices.swap_remove(at),
            None if is_guard && sizes.is_guarded(function, operand) => {}
            None => left.push(operand),
        });
    });
    let mut numbers = IdSet::default();
    while let Some(value) = left.pop() {
        if numbers.insert(value)
            && let Some(inst) = function.def(value)
            && matches!(inst.op, Op::Binary(..) | Op::Unary(..))
        {
            inst.op.for_each_operand(|operand| left.push(operand));
        }
    }
    numbers
}

/// The operands of an instruction that are indices.
fn indices_of(inst: &Inst, wrap: Option<FuncId>) -> Vec<ValueId> {
    if let Op::Call(callee, args) = &inst.op {
        let indices = if wrap == Some(*callee) { 1 } else { 0 };
        return args[..indices].to_vec();
    }
    inst.op.access().map_or(Vec::new(), |access| access.indices.to_vec())
}

/// Whether it may wrap, for some operands.
fn is_arithmetic(op: &Op) -> bool {
    matches!(op, Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) | Op::Unary(UnaryOp::Neg, _))
}

/// What follows from the numbers of threads, extents and constants alone. As an index it overflows
/// only where the launch goes far beyond the array, and so the guard of the access need not wrap.
struct Sizes {
    /// Start, end and step of loops, by their bodies.
    loops: IdMap<BlockId, [ValueId; 3]>,
    /// Indices, and what they are sums and products of.
    indices: IdSet<ValueId>,
    /// The operations of indices: a guard computes them again.
    forms: HashSet<(BinaryOp, ValueId, ValueId)>,
}

impl Sizes {
    fn of(function: &Function, wrap: Option<FuncId>) -> Sizes {
        let mut found = Sizes { loops: IdMap::default(), indices: IdSet::default(), forms: HashSet::new() };
        let mut left: Vec<ValueId> = Vec::new();
        function.walk(function.entry, &mut |_, inst| {
            left.extend(indices_of(inst, wrap));
            if let Op::For { start, end, step, body, .. } = inst.op {
                found.loops.insert(body, [start, end, step]);
            }
        });
        while let Some(value) = left.pop() {
            if found.indices.insert(value)
                && let Some(Op::Binary(op, a, b)) = function.op(value)
                && symbol(*op).is_some()
            {
                found.forms.insert((*op, *a, *b));
                left.extend([*a, *b]);
            }
        }
        found
    }

    fn is_guarded(&self, function: &Function, value: ValueId) -> bool {
        let is_form = || {
            let Some(Op::Binary(op, a, b)) = function.op(value) else { return false };
            self.forms.contains(&(*op, *a, *b))
        };
        (self.indices.contains(&value) || is_form()) && self.is_size(function, value, MAX_DEPTH)
    }

    fn is_size(&self, function: &Function, value: ValueId, depth: u32) -> bool {
        let all = |list: &[ValueId]| depth > 0 && list.iter().all(|&part| self.is_size(function, part, depth - 1));
        match function.values[value].def {
            ValueDef::Param(block, 0) => self.loops.get(&block).is_some_and(|parts| all(parts)),
            ValueDef::Param(..) => false,
            ValueDef::Result(id, _) => {
                let op = &function.insts[id].op;
                let mut operands = Vec::new();
                op.for_each_operand(|operand| operands.push(operand));
                let begins = matches!(op, Op::Const(_) | Op::ThreadIndex(_) | Op::ThreadNumber | Op::ThreadInBlock)
                    || matches!(op, Op::BlockDim | Op::Extent(..));
                begins || matches!(op, Op::Binary(..) | Op::Cast(_)) && all(&operands)
            }
        }
    }
}

/// Deeper expressions count as numbers.
const MAX_DEPTH: u32 = 12;

/// Whether the sum, difference, product or negation of integers may leave their type.
fn may_wrap(function: &Function, ranges: &Ranges, inst: &Inst) -> bool {
    let Some(scalar) = inst.results.first().and_then(|&result| function.ty(result).as_scalar()) else { return false };
    if !is_undefined_in_c(scalar) {
        return false;
    }
    let bounds = |value| ranges.interval(value).or(Interval::full(scalar));
    if !is_arithmetic(&inst.op) {
        return false;
    }
    let mut exact = None;
    if let Op::Binary(op, a, b) = &inst.op {
        exact = bounds(*a).zip(bounds(*b)).and_then(|(a, b)| a.binary(*op, b, scalar));
    }
    if let Op::Unary(op, a) = &inst.op {
        exact = bounds(*a).and_then(|a| a.unary(*op, scalar));
    }
    !exact.zip(Interval::full(scalar)).is_some_and(|(exact, full)| full.contains(exact))
}

/// The types whose overflow C++ leaves undefined: narrower ones are computed as `int`.
fn is_undefined_in_c(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::I32 | Scalar::I64)
}

/// The operator of arithmetic that wraps.
fn symbol(op: BinaryOp) -> Option<Infix> {
    match op {
        BinaryOp::Add => Some(Infix::Add),
        BinaryOp::Sub => Some(Infix::Sub),
        BinaryOp::Mul => Some(Infix::Mul),
        _ => None,
    }
}

/// `(int)((unsigned)a + b)`, where the plain form does not wrap.
pub fn binary(op: BinaryOp, s: Scalar, a: Expr, b: Expr, prelude: &mut Prelude) -> Expr {
    let (Some(operator), Some(unsigned)) = (symbol(op), unsigned(s, prelude)) else {
        return scalar::binary(op, s, a, b, OperandFacts::default(), prelude);
    };
    let b = modulo(s, &b).unwrap_or(b);
    let (operator, b) = match (operator, b.as_negative_literal()) {
        (Infix::Add, Some(positive)) => (Infix::Sub, Expr::atom(positive)),
        (Infix::Sub, Some(positive)) => (Infix::Add, Expr::atom(positive)),
        _ => (operator, b),
    };
    Expr::cast(scalar_name(s), Expr::infix(operator, without_sign(s, a, unsigned), b))
}

/// `(int)(0u - a)`, where the plain form does not wrap.
pub fn unary(op: UnaryOp, s: Scalar, a: Expr, prelude: &mut Prelude) -> Expr {
    match (op, unsigned(s, prelude)) {
        (UnaryOp::Neg, Some(unsigned)) => {
            let a = modulo(s, &a).unwrap_or(a);
            let zero = without_sign(s, Expr::atom("0"), unsigned);
            Expr::cast(scalar_name(s), Expr::infix(Infix::Sub, zero, a))
        }
        _ => scalar::unary(op, s, a, prelude),
    }
}

/// The unsigned type in which a signed one wraps.
fn unsigned(s: Scalar, prelude: &mut Prelude) -> Option<&'static str> {
    match s {
        Scalar::I32 => Some("unsigned"),
        Scalar::I64 => {
            prelude.scalar(Scalar::I64);
            prelude.scalar(Scalar::U64);
            Some(scalar_name(Scalar::U64))
        }
        _ => None,
    }
}

/// An operand without its sign, so that the operation has none.
fn without_sign(s: Scalar, e: Expr, unsigned: &'static str) -> Expr {
    if let Some(inner) = modulo(s, &e) {
        return inner;
    }
    literal(&e).unwrap_or_else(|| Expr::cast(unsigned, e))
}

/// `1u` for `1`, `1ull` for `1ll`.
fn literal(e: &Expr) -> Option<Expr> {
    let Expr::Atom(text) = e else { return None };
    let digits = text.trim_end_matches("ll");
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| Expr::atom(format!("{digits}u{}", &text[digits.len()..])))
}

/// What [`binary`] and [`unary`] cast to a type with sign.
fn modulo(s: Scalar, e: &Expr) -> Option<Expr> {
    match e {
        Expr::Cast(ty, inner) if ty == scalar_name(s) && has_no_sign(inner) => Some((**inner).clone()),
        _ => None,
    }
}

/// Whether arithmetic begins with an operand without sign.
fn has_no_sign(e: &Expr) -> bool {
    match e {
        Expr::Infix(Infix::Add | Infix::Sub | Infix::Mul, left, _) => match &**left {
            Expr::Cast(ty, _) => is_unsigned(ty),
            Expr::Atom(text) => text.ends_with('u') || text.ends_with("ull"),
            inner => has_no_sign(inner),
        },
        _ => false,
    }
}

/// What a variable of its type may be set to in place of arithmetic that wraps: the conversion
/// needs no cast there.
pub fn assigned(e: &Expr) -> &Expr {
    match e {
        Expr::Cast(ty, inner) if (ty == "int" || ty == scalar_name(Scalar::I64)) && has_no_sign(inner) => inner,
        _ => e,
    }
}

/// `x += 1u` in the place of `x = (unsigned)x + 1`: the operator and what is right of it.
pub fn update(target: &Expr, value: &Expr) -> Option<(Infix, Expr)> {
    let Expr::Infix(op, left, right) = assigned(value) else { return None };
    let is_target = |e: &Expr| matches!(e, Expr::Cast(ty, inner) if is_unsigned(ty) && **inner == *target);
    if is_target(left) {
        let Expr::Cast(unsigned, _) = &**left else { return None };
        let right = match &**right {
            inner if has_no_sign(inner) => inner.clone(),
            inner => literal(inner).unwrap_or_else(|| Expr::cast(unsigned.clone(), inner.clone())),
        };
        return Some((*op, right));
    }
    // `(unsigned)y + x`
    let commutes = matches!(op, Infix::Add | Infix::Mul) && !std::ptr::eq(assigned(value), value);
    (commutes && **right == *target).then(|| (*op, (**left).clone()))
}

fn is_unsigned(ty: &str) -> bool {
    ty == "unsigned" || ty == scalar_name(Scalar::U64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::cuda::composite::text;

    fn x() -> Expr {
        Expr::atom("x")
    }

    #[test]
    fn sums_are_computed_without_sign() {
        let mut prelude = Prelude::new(true, false);
        let mut sum = |op, a, b| binary(op, Scalar::I32, a, b, &mut prelude);
        let one = sum(BinaryOp::Add, x(), Expr::atom("1"));
        assert_eq!(text(&one), "(int)((unsigned)x + 1)");
        let more = sum(BinaryOp::Mul, one.clone(), Expr::atom("y"));
        assert_eq!(text(&more), "(int)(((unsigned)x + 1) * y)");
        let less = sum(BinaryOp::Add, x(), Expr::atom("-3"));
        assert_eq!(text(&less), "(int)((unsigned)x - 3)");
        assert_eq!(text(&sum(BinaryOp::Mul, Expr::atom("2"), x())), "(int)(2u * x)");
        assert_eq!(text(&sum(BinaryOp::Sub, x(), one)), "(int)((unsigned)x - ((unsigned)x + 1))");
        let wide = binary(BinaryOp::Add, Scalar::I64, Expr::atom("1ll"), x(), &mut prelude);
        assert_eq!(text(&wide), "(int64)(1ull + x)");
        assert_eq!(text(&unary(UnaryOp::Neg, Scalar::I32, x(), &mut prelude)), "(int)(0u - x)");
        assert_eq!(text(&binary(BinaryOp::Add, Scalar::U32, x(), x(), &mut prelude)), "x + x");
    }

    #[test]
    fn updates_have_no_cast() {
        let mut prelude = Prelude::new(true, false);
        let mut updated = |op, a, b| {
            let value = binary(op, Scalar::I32, a, b, &mut prelude);
            update(&x(), &value).map(|(op, right)| format!("x {}= {}", op.symbol(), text(&right)))
        };
        assert_eq!(updated(BinaryOp::Add, x(), Expr::atom("1")).as_deref(), Some("x += 1u"));
        assert_eq!(updated(BinaryOp::Sub, x(), Expr::atom("y")).as_deref(), Some("x -= (unsigned)y"));
        assert_eq!(updated(BinaryOp::Mul, Expr::atom("3"), x()).as_deref(), Some("x *= 3u"));
        assert_eq!(updated(BinaryOp::Sub, Expr::atom("3"), x()), None);
    }
}
