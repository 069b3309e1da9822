//! Which updates of elements may threads make at the same time, as atomic operations?
//!
//! `t[i] += 1` of integers, where several threads may have one `i`, as in a histogram: the sum is
//! the same in any order. That of floats is not, so there one thread makes the updates of all.

use super::accesses::{Kind, Memory, Touch, memory};
use super::plan::{Nest, Plan};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::{Access, AtomicOp, BinaryOp, BlockId, Function, InstId, Op, Value, ValueDef, ValueId};
use crate::passes::loops::trips;

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
        if let (Op::Load(_), Some(&result)) = (&inst.op, inst.results.first()) {
            loads.insert(result, id);
        } else if effects.properties(&inst.op).writes || !inst.op.blocks().is_empty() {
            loads.clear();
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
        let number = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
        let same = |(&i, &j): (&ValueId, &ValueId)| i == j || number(i).is_some() && number(i) == number(j);
        let is_same = |read: &Access| {
            read.array == access.array && read.path == access.path && read.indices.iter().zip(&access.indices).all(same)
        };
        matches!(&function.insts[load].op, Op::Load(read) if is_same(read)).then_some(load)
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

/// The tiles of which threads change elements of their own choice, or integers together: they stay
/// in memory of the block, however few elements they have.
pub(super) fn of_threads(function: &Function, effects: &EffectTable, threads: u32) -> IdSet<ValueId> {
    let uses = crate::analysis::uses(function);
    let mut found = IdSet::default();
    function.walk(function.entry, &mut |_, inst| {
        let Op::For { start, end, step, body, .. } = inst.op else { return };
        let Some(&variable) = function.blocks[body].params.first() else { return };
        if trips(function, start, end, step) != Some(threads.into()) {
            return;
        }
        let mut differ: IdSet<ValueId> = IdSet::default();
        differ.insert(variable);
        function.walk(body, &mut |id, inst| {
            if let Op::Store { access, .. } = &inst.op
                && access.indices.iter().any(|index| differ.contains(index))
                && let Memory::Block(tile) = memory(function, access.array)
            {
                found.insert(tile);
            }
            let mut any = false;
            function.insts[id].op.for_each_operand(|v| any |= differ.contains(&v));
            if any {
                differ.extend(inst.results.iter().copied());
            }
        });
        for update in integers(function, effects, &uses, body) {
            if let Some(access) = function.insts[update.store].op.access()
                && let Memory::Block(tile) = memory(function, access.array)
            {
                found.insert(tile);
            }
        }
    });
    found
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
