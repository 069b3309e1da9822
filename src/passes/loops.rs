//! How often does a loop run, and where are there any? Which arrays does a loop set whole?

use crate::ir::{BlockId, Function, Inst, Op, ValueDef, ValueId};
use crate::types::Type;

/// Whether there is a loop in a block or in those nested in it.
pub fn has_loop(function: &Function, block: BlockId) -> bool {
    let mut some = false;
    function.walk(block, &mut |_, inst| some |= matches!(inst.op, Op::For { .. } | Op::While { .. }));
    some
}

/// The number of iterations of a `for` with constant bounds (rule 4).
pub fn trips(function: &Function, start: ValueId, end: ValueId, step: ValueId) -> Option<u64> {
    let int = |value: ValueId| function.as_const(value)?.as_int();
    let (start, end, step) = (int(start)?, int(end)?, int(step)?);
    let distance = match step {
        0 => 0,
        1.. => end - start,
        _ => start - end,
    };
    // Bounds have 64 bits at most, so that 128 hold everything.
    u64::try_from(if distance <= 0 { 0 } else { (distance + step.abs() - 1) / step.abs() }).ok()
}

/// The counter of iteration `n` (rule 4: it fits in its type where the iteration takes place).
pub fn counter(function: &Function, start: ValueId, step: ValueId, iteration: u64) -> Option<i128> {
    let int = |value: ValueId| function.as_const(value)?.as_int();
    Some(int(start)? + int(step)? * i128::from(iteration))
}

/// Whether the first that is done with a local array is a loop that sets all its elements, so that
/// nothing reads the zeros that it is made of.
pub fn is_set_whole_first(function: &Function, array: ValueId) -> bool {
    let (ValueDef::Result(made, _), Type::Local(ty)) = (function.values[array].def, function.ty(array)) else {
        return false;
    };
    let Some(block) = function.blocks.values().find(|block| block.insts.contains(&made)) else { return false };
    let names = |inst: &Inst| {
        let mut found = false;
        inst.op.for_each_operand(|v| found |= v == array);
        found
    };
    let mentions = |inst: &Inst| {
        let mut found = names(inst);
        let blocks = inst.op.blocks();
        blocks.iter().for_each(|&nested| function.walk(nested, &mut |_, inst| found |= names(inst)));
        found
    };
    let behind = block.insts.iter().skip_while(|&&id| id != made).skip(1);
    let Some(first) = behind.map(|&id| &function.insts[id]).find(|inst| mentions(inst)) else { return false };
    let Op::For { start, end, step, body, .. } = first.op else { return false };
    let zero = function.as_const(start).is_some_and(|c| c.bits == 0);
    let all = zero && ty.ndim == 1 && trips(function, start, end, step) == Some(ty.len());
    let variable = function.blocks[body].params.first();
    let (mut others, mut leaves) = (false, false);
    function.walk(body, &mut |_, inst| {
        others |= names(inst) && !matches!(inst.op, Op::Store { .. });
        leaves |= matches!(inst.op, Op::Break(_) | Op::Continue(_) | Op::Return(_));
    });
    let sets = |inst: &Inst| {
        let Op::Store { access, .. } = &inst.op else { return false };
        access.array == array && access.path.is_empty() && access.indices.first() == variable
    };
    let set = function.blocks[body].insts.iter().any(|&id| sets(&function.insts[id]));
    all && set && !others && !leaves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    /// Whether the array of a kernel is set whole before anything reads it.
    fn is_set(rest: &str) -> bool {
        let text = format!(
            "kernel @k(%x: array(dtype=float32)) rank 1 {{\n%a: local(float32, 8) = local_array\n%0: int32 = const 0\n\
             %1: int32 = const 1\n%7: int32 = const 7\n%8: int32 = const 8\n%v: float32 = load %x[%0]\n{rest}\
             %l: float32 = load %a[%0]\nstore %x[%0], %l\nreturn\n}}"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let function = &module.functions[module.find("k").expect("the kernel")];
        let array = function.values.ids().find(|&v| matches!(function.op(v), Some(Op::LocalArray)));
        is_set_whole_first(function, array.expect("an array"))
    }

    #[test]
    fn zeros_that_a_loop_overwrites_are_not_needed() {
        let all = "for %k: int32 = %0 to %8 step %1 {\nstore %a[%k], %v\n}\n";
        assert!(is_set(all));
        assert!(!is_set(""));
        assert!(!is_set(&all.replace("to %8", "to %7")));
        assert!(!is_set(&all.replace("%a[%k]", "%a[%0]")));
        assert!(!is_set(&all.replace("store", "%w: float32 = load %a[%7]\nstore")));
        assert!(!is_set(&format!("store %x[%0], %v\n%r: float32 = load %a[%1]\nstore %x[%1], %r\n{all}")));
        let sometimes = all.replace("store", "%c: bool = lt %k, %7\nif %c {\nstore").replace("%v\n}", "%v\n}\n}");
        assert!(!is_set(&sometimes));
    }
}
