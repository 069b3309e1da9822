//! Sums that begin with zero, in reverse code, where the sign of a zero means nothing.

use crate::ids::IdMap;
use crate::ir::{BinaryOp, Function, Inst, InstId, Op, UnaryOp, ValueId};

/// `0 + x` and `x + 0` are x: a sum of adjoints starts with its first part, and `0 - x` is -x. (The
/// sign of a zero adjoint means nothing.)
pub fn start_without_zero(function: &mut Function) -> bool {
    let mut same: IdMap<ValueId, ValueId> = IdMap::default();
    let mut negated: Vec<(InstId, ValueId)> = Vec::new();
    let is_zero = |value: ValueId| matches!(function.def(value), Some(Inst { op: Op::Zero, .. }));
    function.walk(function.entry, &mut |id, inst| {
        if let Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) = inst.op
            && let Some((zero, x)) = match op {
                _ if is_zero(a) => Some((a, b)),
                BinaryOp::Add if is_zero(b) => Some((b, a)),
                _ => None,
            }
            && function.ty(x).scalar_part().is_some_and(|s| s.is_float())
            && function.ty(zero) == function.ty(x)
        {
            if op == BinaryOp::Sub {
                return negated.push((id, x));
            }
            let x = same.get(&x).copied().unwrap_or(x);
            same.insert(inst.results[0], x);
        }
    });
    if same.is_empty() && negated.is_empty() {
        return false;
    }
    for (inst, x) in negated {
        function.insts[inst].op = Op::Unary(UnaryOp::Neg, x);
    }
    for inst in function.insts.values_mut() {
        inst.op.for_each_operand_mut(|v| *v = same.get(v).copied().unwrap_or(*v));
    }
    for (old, new) in same {
        let name = function.values[old].name.clone();
        let into = &mut function.values[new].name;
        *into = into.take().or(name);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    #[test]
    fn sums_begin_with_their_first_part() {
        let text = "func @f(%x: float64) -> (float64) {
            %z: float64 = zero
            %s: float64 = add %z, %x
            %t: float64 = add %s, %x
            return %t
            }";
        let mut module = parse(text).unwrap();
        let id = module.find("f").unwrap();
        assert!(start_without_zero(&mut module.functions[id]));
        let x = module.functions[id].params()[0];
        assert!(module.functions[id].has(|inst| inst.op == Op::Binary(BinaryOp::Add, x, x)));
    }

    #[test]
    fn what_is_taken_from_zero_is_negated() {
        let text = "func @f(%x: float64) -> (float64) {
            %z: float64 = zero
            %s: float64 = sub %z, %x
            return %s
            }";
        let mut module = parse(text).unwrap();
        let id = module.find("f").unwrap();
        assert!(start_without_zero(&mut module.functions[id]));
        let x = module.functions[id].params()[0];
        assert!(module.functions[id].has(|inst| inst.op == Op::Unary(UnaryOp::Neg, x)));
    }
}
