//! What is certain of an index that comes of the number of its element?

use crate::analysis::ranges::Ranges;
use crate::ir::{BinaryOp, CompareOp, Const, Function, Inst, InstId, Op, ValueId};
use crate::types::Scalar;

/// Computes what is certain of an index of a tile, once it comes of the number of its element:
/// `index >= 0`, and quotient and rest of a number by a larger one.
pub(super) fn fold(function: &mut Function) {
    let ranges = Ranges::of(function);
    let int = |value: ValueId| function.as_const(value).and_then(|c| c.as_int());
    let known = |id: InstId, inst: &Inst| {
        let Op::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) = inst.op else {
            let Op::Compare(CompareOp::Ge, a, b) = inst.op else { return None };
            let certain = int(b) == Some(0) && ranges.is_at_least(id, a, 0);
            return certain.then_some(Op::Const(Const::new(Scalar::Bool, 1)));
        };
        let below = ranges.is_below(id, a, u32::try_from(int(b)?).ok()?);
        below.then_some(match op {
            BinaryOp::Div => Op::Zero,
            _ => Op::Binary(BinaryOp::Or, a, a),
        })
    };
    let certain: Vec<(InstId, Op)> =
        function.insts.iter().filter_map(|(id, inst)| Some((id, known(id, inst)?))).collect();
    for (id, op) in certain {
        function.insts[id].op = op;
    }
}
