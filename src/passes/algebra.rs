//! Which instructions are another value, or a simpler instruction, whatever their operands are?
//! Only identities that hold to the bit: `x * 1` is x, but `x + 0.0` is not (x may be -0.0), and
//! `x * 0.0` is not 0.

use smallvec::SmallVec;

use crate::ir::{BinaryOp, CompareOp, Const, Function, Op, Path, Phase, Step, UnaryOp, ValueId, Values};
use crate::types::{StructTable, Type};

/// What replaces an instruction.
pub enum Rewrite {
    /// Its one result is this value.
    Same(ValueId),
    /// Another operation with the same result.
    Op(Op),
}

/// A simpler form of an instruction with one result of type `ty`; None if no rule applies.
pub fn simpler(function: &Function, structs: &StructTable, op: &Op, ty: Type) -> Option<Rewrite> {
    let constant = |value: ValueId| function.as_const(value);
    match op {
        Op::Unary(outer @ (UnaryOp::Neg | UnaryOp::Not | UnaryOp::BitNot), a) => {
            if let Op::Unary(inner, x) = function.def(*a)?.op
                && inner == *outer
            {
                Some(Rewrite::Same(x))
            } else {
                None
            }
        }
        Op::Binary(op, a, b) => binary(function, *op, *a, *b, ty),
        Op::Fma(a, b, nothing) if constant(*nothing).is_some_and(Const::is_minus_zero) => {
            Some(Rewrite::Op(Op::Binary(BinaryOp::Mul, *a, *b)))
        }
        Op::Compare(op, a, b) if a == b && function.ty(*a).is_int() => {
            let holds = matches!(op, CompareOp::Eq | CompareOp::Le | CompareOp::Ge);
            Some(Rewrite::Op(Op::Const(Const::bool(holds))))
        }
        Op::Cast(a) | Op::Bitcast(a) if function.ty(*a) == ty => Some(Rewrite::Same(*a)),
        // Bits there and back again.
        Op::Bitcast(a) => {
            if let Op::Bitcast(x) = function.def(*a)?.op
                && function.ty(x) == ty
            {
                Some(Rewrite::Same(x))
            } else {
                None
            }
        }
        Op::Select { then, otherwise, .. } if then == otherwise => Some(Rewrite::Same(*then)),
        Op::Select { condition, then, otherwise } => {
            let taken = if constant(*condition)?.bits != 0 { then } else { otherwise };
            Some(Rewrite::Same(*taken))
        }
        Op::Construct(args) => construct(function, args, ty),
        Op::Extract(whole, path) => extract(function, structs, *whole, path),
        Op::Insert(whole, path, part) => {
            let Op::Insert(inner, inner_path, _) = &function.def(*whole)?.op else { return None };
            let covers = is_static(path) && path == inner_path;
            covers.then(|| Rewrite::Op(Op::Insert(*inner, path.clone(), *part)))
        }
        // Others have no simpler form.
        _ => None,
    }
}

fn binary(function: &Function, op: BinaryOp, a: ValueId, b: ValueId, ty: Type) -> Option<Rewrite> {
    let left = Rewrite::Same(a);
    let (ca, cb) = (function.as_const(a), function.as_const(b));
    // An integer's value or a float's exact value; -0.0 is not 0.
    let is = |c: Option<Const>, value: i128| {
        c.is_some_and(|c| c.bits == Const::int(c.scalar, value).bits && !(c.scalar.is_float() && value < 0))
    };
    let scalar = ty.scalar_part()?;
    let float = scalar.is_float();
    let zero = || Rewrite::Op(Op::Zero);
    let same = a == b;
    // What is negated here, unless the source has a name for the result.
    let is_adjoint = |name: &str| function.phase == Phase::Backward && name.starts_with("adj_");
    let unnamed = |value: ValueId| function.values[value].name.as_deref().is_none_or(is_adjoint);
    let negated = |value: ValueId| {
        if let Op::Unary(UnaryOp::Neg, x) = function.def(value)?.op
            && unnamed(value)
        {
            Some(x)
        } else {
            None
        }
    };
    match op {
        // `a + -b` and the like; IEEE 754 defines a difference as that sum.
        BinaryOp::Add | BinaryOp::Sub if negated(b).is_some() => {
            let other = if op == BinaryOp::Add { BinaryOp::Sub } else { BinaryOp::Add };
            Some(Rewrite::Op(Op::Binary(other, a, negated(b)?)))
        }
        BinaryOp::Add if negated(a).is_some() => Some(Rewrite::Op(Op::Binary(BinaryOp::Sub, b, negated(a)?))),
        // A composite's partner of one is a scalar, so the result is the composite.
        BinaryOp::Mul if is(cb, 1) && function.ty(a) == ty => Some(left),
        BinaryOp::Mul if is(ca, 1) && function.ty(b) == ty => Some(Rewrite::Same(b)),
        BinaryOp::Div | BinaryOp::FloorDiv if is(cb, 1) && function.ty(a) == ty => Some(left),
        BinaryOp::Mul if !float && (is(ca, 0) || is(cb, 0)) => Some(zero()),
        BinaryOp::Sub if is(cb, 0) => Some(left),
        BinaryOp::Add if cb.is_some_and(Const::is_minus_zero) => Some(left),
        BinaryOp::Add if ca.is_some_and(Const::is_minus_zero) => Some(Rewrite::Same(b)),
        _ if float => match op {
            BinaryOp::Min | BinaryOp::Max | BinaryOp::CopySign if same => Some(left),
            _ => None,
        },
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr if is(cb, 0) => Some(left),
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor if is(ca, 0) => Some(Rewrite::Same(b)),
        BinaryOp::And if is(ca, 0) || is(cb, 0) => Some(zero()),
        BinaryOp::And if all_ones(cb) => Some(left),
        BinaryOp::And if all_ones(ca) => Some(Rewrite::Same(b)),
        BinaryOp::Or if all_ones(ca) => Some(left),
        BinaryOp::Or if all_ones(cb) => Some(Rewrite::Same(b)),
        BinaryOp::Rem if is(cb, 1) => Some(zero()),
        BinaryOp::Sub | BinaryOp::Xor | BinaryOp::AbsDiff if same => Some(zero()),
        BinaryOp::AbsDiff if is(cb, 0) => Some(Rewrite::Op(Op::Unary(UnaryOp::Abs, a))),
        BinaryOp::AbsDiff if is(ca, 0) => Some(Rewrite::Op(Op::Unary(UnaryOp::Abs, b))),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Min | BinaryOp::Max if same => Some(left),
        _ => None,
    }
}

fn all_ones(c: Option<Const>) -> bool {
    c.is_some_and(|c| {
        !c.scalar.is_float() && c.bits == Const::int(c.scalar, if c.scalar.is_int() { -1 } else { 1 }).bits
    })
}

fn is_static(path: &Path) -> bool {
    path.iter().all(|step| matches!(step, Step::At(_)))
}

/// A composite put together from all parts of another is that one.
fn construct(function: &Function, args: &Values, ty: Type) -> Option<Rewrite> {
    let mut source = None;
    for (n, &arg) in args.iter().enumerate() {
        let Op::Extract(whole, path) = &function.def(arg)?.op else { return None };
        let in_place = match ty {
            Type::Mat(_, columns, _) => {
                let (row, column) = (n as u32 / u32::from(columns), n as u32 % u32::from(columns));
                path.as_slice() == [Step::At(row), Step::At(column)]
            }
            Type::Transform(_) if n < 3 => path.as_slice() == [Step::At(0), Step::At(n as u32)],
            Type::Transform(_) => path.as_slice() == [Step::At(1), Step::At(n as u32 - 3)],
            _ => path.as_slice() == [Step::At(n as u32)],
        };
        if !in_place || function.ty(*whole) != ty || *source.get_or_insert(*whole) != *whole {
            return None;
        }
    }
    source.map(Rewrite::Same)
}

/// Part of a value that was just put together.
fn extract(function: &Function, structs: &StructTable, whole: ValueId, path: &Path) -> Option<Rewrite> {
    let def = function.def(whole)?;
    let rest = |from: ValueId, steps: &[Step]| match steps {
        [] => Rewrite::Same(from),
        steps => Rewrite::Op(Op::Extract(from, SmallVec::from_slice(steps))),
    };
    match &def.op {
        Op::Zero => Some(Rewrite::Op(Op::Zero)),
        Op::Construct(args) => {
            let (&Step::At(first), tail) = path.split_first()? else { return None };
            let arg = |n: u32| args.get(n as usize).copied();
            let ty = function.ty(whole);
            // How many of the scalars one step covers; None where each argument is a part.
            let width = match ty {
                Type::Mat(_, columns, _) => u32::from(columns),
                Type::Transform(_) => 3,
                _ => return Some(rest(arg(first)?, tail)),
            };
            let start = first * width;
            match *tail {
                [Step::At(n)] => Some(Rewrite::Same(arg(start + n)?)),
                [] => {
                    let count = ty.step(Some(first), structs)?.scalar_count()?;
                    let parts = args.get(start as usize..(start + count) as usize)?;
                    Some(Rewrite::Op(Op::Construct(SmallVec::from_slice(parts))))
                }
                _ => None,
            }
        }
        Op::Insert(inner, inserted, part) => {
            let common = inserted.len().min(path.len());
            // A step by a run-time value may lead to the same part or outside.
            let apart = inserted.iter().zip(path).find(|(a, b)| a != b || matches!(a, Step::Dynamic(_)));
            match apart {
                Some((Step::At(_), Step::At(_))) => Some(Rewrite::Op(Op::Extract(*inner, path.clone()))),
                Some(_) => None,
                None if common == inserted.len() => Some(rest(*part, &path[common..])),
                None => None,
            }
        }
        // A row with a name of its own stays, as the source has it.
        Op::Extract(outer, first) if function.values[whole].name.is_none() => {
            let steps = first.iter().chain(path).copied().collect();
            Some(Rewrite::Op(Op::Extract(*outer, steps)))
        }
        // Of others, the parts are not known.
        _ => None,
    }
}
