//! Which updates of elements may threads make at the same time, as atomic operations?
//!
//! `t[i] += 1` of integers, where several threads may have one `i`, as in a histogram: the sum is the same in any order. That of
//! floats is not, so there one thread makes the updates of all.

use super::accesses::{Kind, Memory, Touch, memory};
use super::plan::{Nest, Plan};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdVec};
use crate::ir::{AtomicOp, BinaryOp, BlockId, Function, InstId, Op, Value, ValueDef, ValueId};

/// An element of a tile that is read, changed and written, and what changes it.
#[derive(Clone, Debug)]
pub(in crate::passes) struct Update {
    pub load: InstId,
    pub store: InstId,
    op: AtomicOp,
    value: ValueId,
}

/// Those of integers in a block and in those nested in it.
pub(super) fn integers(
    function: &Function,
    effects: &EffectTable,
    uses: &IdVec<ValueId, u32>,
    block: BlockId,
) -> Vec<Update> {
    let mut found = Vec::new();
    among(function, effects, uses, block, &mut found);
    function.walk(block, &mut |_, inst| {
        inst.op.blocks().iter().for_each(|&nested| among(function, effects, uses, nested, &mut found));
    });
    found
}

fn among(
    function: &Function,
    effects: &EffectTable,
    uses: &IdVec<ValueId, u32>,
    block: BlockId,
    found: &mut Vec<Update>,
) {
    let insts = &function.blocks[block].insts;
    // By what is read of a tile, with nothing written since.
    let mut loads: IdMap<ValueId, InstId> = IdMap::default();
    for &id in insts {
        let inst = &function.insts[id];
        if let Some(update) = update(function, uses, &loads, id) {
            found.push(update);
        }
        match (&inst.op, inst.results.first()) {
            (Op::Load(_), Some(&result)) => _ = loads.insert(result, id),
            (op, _) if effects.properties(op).writes || !op.blocks().is_empty() => loads.clear(),
            _ => {}
        }
    }
}

fn update(
    function: &Function,
    uses: &IdVec<ValueId, u32>,
    loads: &IdMap<ValueId, InstId>,
    store: InstId,
) -> Option<Update> {
    let Op::Store { access, value } = &function.insts[store].op else { return None };
    let once = |v: ValueId| uses.get(v) == Some(&1);
    let integer = function.ty(*value).as_scalar().is_some_and(|scalar| scalar.is_int() && scalar.size() >= 4);
    if !integer || !once(*value) || !matches!(memory(function, access.array), Memory::Block(_)) {
        return None;
    }
    let &Op::Binary(op, a, b) = &function.def(*value)?.op else { return None };
    let is_old = |v: ValueId| {
        let load = loads.get(&v).filter(|_| once(v)).copied()?;
        matches!(&function.insts[load].op, Op::Load(read) if read == access).then_some(load)
    };
    let (op, commutes) = match op {
        BinaryOp::Add => (AtomicOp::Add, true),
        BinaryOp::Sub => (AtomicOp::Sub, false),
        BinaryOp::Min => (AtomicOp::Min, true),
        BinaryOp::Max => (AtomicOp::Max, true),
        BinaryOp::And => (AtomicOp::And, true),
        BinaryOp::Or => (AtomicOp::Or, true),
        BinaryOp::Xor => (AtomicOp::Xor, true),
        _ => return None,
    };
    let (load, value) = match (is_old(a), is_old(b)) {
        (Some(load), _) => (load, b),
        (None, Some(load)) if commutes => (load, a),
        _ => return None,
    };
    Some(Update { load, store, op, value })
}

/// Lets accesses count as parts of atomic operations.
pub(super) fn mark(touches: &mut [Touch], updates: &[Update]) {
    for touch in touches {
        if updates.iter().any(|update| [update.load, update.store].contains(&touch.at)) {
            touch.kind = Kind::Atomic;
        }
    }
}

/// Makes atomic operations of the updates in loops that are dealt out.
pub(super) fn make(function: &mut Function, plans: &IdMap<InstId, Plan>) {
    let nests = plans.values().filter_map(|plan| match plan {
        Plan::Deal(Nest { updates, .. }) => Some(updates),
        _ => None,
    });
    for &Update { store, op, value, .. } in nests.flatten() {
        let inst = &mut function.insts[store];
        if let Op::Store { access, .. } = &inst.op {
            inst.op = Op::Atomic { op, access: access.clone(), value };
            let (ty, span) = (function.values[value].ty, inst.span);
            let old = Value { ty, def: ValueDef::Result(store, 0), name: None, span };
            function.insts[store].results.push(function.values.push(old));
        }
    }
}
