//! Which sums of zero are left out? Those of reverse code to elements that numbers in memory name,
//! where a branch says whether there is anything to add: a neighbour out of reach, a contact that
//! is none. An atomic takes memory as long for a zero as for another number. (The sign of a zero
//! adjoint means nothing.)

use super::builder::{FloatPredicate, Val};
use super::lower::{Frame, Lower, Scalars};
use super::private_sums::from_memory;
use crate::analysis::uses;
use crate::ir::{Access, AtomicOp, BinaryOp, Function, Inst, Op, Phase, UnaryOp, ValueDef, ValueId};
use crate::types::{Scalar, Type};

/// How many definitions of a value, and of an index, are followed.
const MAX_DEPTH: u32 = 16;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// Whether an element is added to at all. None: it is not asked.
    pub fn adds_something(
        &self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        value: ValueId,
        inst: &Inst,
    ) -> Option<Val<'ctx>> {
        let (ll, function) = (self.ll, frame.function);
        let float = matches!(function.ty(value).scalar_part(), Some(Scalar::F32 | Scalar::F64));
        let may = self.target.is_gpu()
            && function.phase == Phase::Backward
            && matches!(op, AtomicOp::Add | AtomicOp::Sub)
            && float
            && matches!(function.ty(access.array), Type::Array(_))
            && access.indices.iter().any(|&at| from_memory(function, at, MAX_DEPTH))
            && is_zero_in_a_branch(function, value, MAX_DEPTH)
            && inst.results.iter().all(|&old| uses(function)[old] == 0);
        let differs = |number: &Val<'ctx>| ll.fcmp(FloatPredicate::UNE, *number, ll.zero(ll.ty(*number)));
        let numbers: &Scalars<'ctx> = frame.get(value);
        if may { numbers.iter().map(differs).reduce(|a, b| ll.or(a, b)) } else { None }
    }
}

/// Whether a value is zero where one that a branch gives is, which is zero on one side.
fn is_zero_in_a_branch(function: &Function, value: ValueId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let of = |value: ValueId| is_zero_in_a_branch(function, value, depth);
    let ValueDef::Result(id, n) = function.values[value].def else { return false };
    let op = &function.insts[id].op;
    if let Op::Binary(BinaryOp::Mul, a, b) = op {
        return of(*a) || of(*b);
    }
    if let Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) = op {
        return of(*a) && of(*b);
    }
    if let Op::Binary(BinaryOp::Div, a, _) | Op::Unary(UnaryOp::Neg, a) | Op::Cast(a) | Op::Extract(a, _) = op {
        return of(*a);
    }
    if let Op::Construct(parts) = op {
        return parts.iter().all(|&part| of(part));
    }
    let Op::If { condition, then, otherwise } = op else { return false };
    let zero = |block| {
        function.yielded(block).get(n as usize).is_some_and(|&given| {
            function.as_const(given).is_some_and(|c| c.bits == 0) || function.op(given) == Some(&Op::Zero)
        })
    };
    // Whether an array of adjoints is there, all threads know alike.
    !matches!(function.op(*condition), Some(Op::IsSet(_))) && (zero(*then) || zero(*otherwise))
}
