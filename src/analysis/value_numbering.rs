//! Which values are equal because they are computed the same way from equal values?

use crate::ids::{IdMap, IdVec};
use crate::ir::*;
use crate::types::Type;

/// For each value, the first one in program order that is surely equal to it wherever both are
/// visible. Operations on values alone are compared; what memory gives, and what branches and loops
/// give, equals itself only.
pub fn numbering(function: &Function) -> IdVec<ValueId, ValueId> {
    let mut first: IdVec<ValueId, ValueId> = function.values.ids().collect();
    let mut known: IdMap<(Op, Type), ValueId> = IdMap::default();
    known.reserve(function.insts.len());
    function.walk(function.entry, &mut |_, inst| {
        let [result] = inst.results[..] else { return };
        if !inst.op.properties().is_value() {
            return;
        }
        let mut op = inst.op.clone();
        op.for_each_operand_mut(|v| *v = first[*v]);
        if let Op::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::AbsDiff, a, b)
        | Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b)
        | Op::Compare(CompareOp::Eq | CompareOp::Ne, a, b) = &mut op
            && *b < *a
            && function.ty(*a) == function.ty(*b)
        {
            std::mem::swap(a, b);
        }
        if let Op::Zero = op
            && let Some(constant) = function.as_const(result)
        {
            op = Op::Const(constant);
        }
        first[result] = *known.entry((op, function.ty(result))).or_insert(result);
    });
    first
}
