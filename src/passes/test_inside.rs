//! Loops whose condition changes memory: what reverses loops looks at their bodies.
//!
//! ```text
//! while next(a, i): ..   becomes   while True: if not next(a, i): break; ..
//! ```

use crate::analysis::effects::EffectTable;
use crate::ir::build::Builder;
use crate::ir::{BlockId, Const, Function, InstId, Op, ValueId};
use crate::types::Type;

/// Moves conditions that write into the bodies of their loops; says whether there were any.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    let mut found: Vec<(InstId, BlockId, BlockId)> = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        if let Op::While { condition, body, .. } = inst.op {
            let mut writes = false;
            function.walk(condition, &mut |_, inst| writes |= effects.properties(&inst.op).writes);
            if writes {
                found.push((id, condition, body));
            }
        }
    });
    for &(id, condition, body) in &found {
        move_into(function, id, condition, body);
    }
    !found.is_empty()
}

fn move_into(function: &mut Function, id: InstId, condition: BlockId, body: BlockId) {
    let carried = function.blocks[body].params.clone();
    let types: Vec<Type> = carried.iter().map(|&param| function.ty(param)).collect();
    let old = function.blocks[condition].params.clone();
    for inst in function.insts.values_mut() {
        let now = |v: ValueId| old.iter().position(|&param| param == v).map_or(v, |n| carried[n]);
        inst.op.for_each_operand_mut(|v| *v = now(*v));
    }
    let mut test = std::mem::take(&mut function.blocks[condition].insts);
    let last = test.pop().map(|last| function.insts[last].op.clone());
    let Some(Op::Yield(holds)) = last else { unreachable!("a condition ends in its value") };
    let rest = std::mem::replace(&mut function.blocks[body].insts, test);

    let span = function.insts[id].span;
    let always = Builder::edit(function, body, |b| {
        b.span = span;
        let (then, otherwise) = (b.new_block(&[]), b.new_block(&[]));
        b.effect(Op::If { condition: holds[0], then, otherwise });
        b.switch_to(then);
        b.yield_(&[]);
        b.switch_to(otherwise);
        b.effect(Op::Break(carried.iter().copied().collect()));
        let always = b.new_block(&types);
        b.switch_to(always);
        let yes = b.constant(Const::bool(true));
        b.yield_(&[yes]);
        always
    });
    function.blocks[body].insts.extend(rest);
    if let Op::While { condition, .. } = &mut function.insts[id].op {
        *condition = always;
    }
}
