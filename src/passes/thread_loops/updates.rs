//! Which instructions set an element of a tile to what comes of the same element? `t[i] += x` reads
//! it first, then `x` is computed, then it is set. A thread has to do all of that before the next
//! one reads, or an addition is lost; so the read reaches where the element is set, behind what
//! threads read of other elements for `x`.

use super::run::same_element;
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Function, InstId, Op, ValueId};
use crate::passes::block_threads::accesses::{Kind, Memory, Touch, touches};

/// By the read of an element, the instruction that sets it to what comes of it.
pub(super) type Updates = IdMap<InstId, InstId>;

/// Brings the parts of each update in a list of instructions together.
pub(super) fn gather(function: &Function, effects: &EffectTable, mut insts: Vec<InstId>) -> (Vec<InstId>, Updates) {
    let mut found = Updates::default();
    let tiles = elements(function, effects, &insts);
    let sets: Vec<InstId> =
        insts.iter().copied().filter(|id| matches!(function.insts[*id].op, Op::Store { .. })).collect();
    for set in sets {
        let Some(write) = tiles.get(&set).filter(|touch| touch.kind == Kind::Write) else { continue };
        let Some(end) = insts.iter().position(|&id| id == set) else { continue };
        // The last read of the element that it comes of.
        let reads = |id: &InstId| {
            tiles.get(id).is_some_and(|read| read.kind == Kind::Read && same_element(function, read, write))
        };
        let Some(start) = insts[..end].iter().rposition(reads) else { continue };
        let (read, between) = (insts[start], &insts[start + 1..end]);
        let Some(&element) = function.insts[read].results.first() else { continue };
        let needs = dependent(function, between, element);
        let mut is_needed = false;
        function.insts[set].op.for_each_operand(|v| is_needed |= needs.contains(&v));
        if !is_needed {
            continue;
        }
        found.insert(read, set);
        let is_moved = |id: &InstId| function.insts[*id].results.iter().any(|result| needs.contains(result));
        let is_value = |id: &InstId| effects.properties(&function.insts[*id].op).is_value();
        let stays = |id: &InstId| !uses(function, *id, &needs) && !writes(function, effects, *id, write);
        if between.iter().all(|id| if is_moved(id) { is_value(id) } else { stays(id) }) {
            let (mut moved, mut kept): (Vec<InstId>, Vec<InstId>) = between.iter().partition(|id| is_moved(id));
            moved.insert(0, read);
            kept.extend(moved);
            insts.splice(start..end, kept);
        }
    }
    (insts, found)
}

/// What each update in a function reads, by the instruction that sets the element.
pub(super) fn all(function: &Function, effects: &EffectTable) -> IdMap<InstId, ValueId> {
    let mut found = IdMap::default();
    for block in function.blocks.values() {
        let (_, updates) = gather(function, effects, block.insts.clone());
        found.extend(updates.into_iter().map(|(read, set)| (set, function.insts[read].results[0])));
    }
    found
}

/// The accesses to elements of tiles among instructions.
fn elements(function: &Function, effects: &EffectTable, insts: &[InstId]) -> IdMap<InstId, Touch> {
    let (mut found, mut all) = (IdMap::default(), Vec::new());
    for &id in insts {
        touches(function, effects, id, &mut all);
        let tile = all.drain(..).find(|touch| matches!(touch.memory, Memory::Block(_)));
        found.extend(tile.map(|touch| (id, touch)));
    }
    found
}

/// The values that come of one, itself too.
fn dependent(function: &Function, insts: &[InstId], value: ValueId) -> IdSet<ValueId> {
    let mut found: IdSet<ValueId> = IdSet::default();
    found.insert(value);
    for &id in insts {
        if uses(function, id, &found) {
            found.extend(function.insts[id].results.iter().copied());
        }
    }
    found
}

/// Whether an instruction, or one in it, uses one of the values.
fn uses(function: &Function, id: InstId, values: &IdSet<ValueId>) -> bool {
    any(function, id, |id| {
        let mut found = false;
        function.insts[id].op.for_each_operand(|v| found |= values.contains(&v));
        found
    })
}

/// Whether an instruction, or one in it, sets elements of the same tile, or may.
fn writes(function: &Function, effects: &EffectTable, id: InstId, write: &Touch) -> bool {
    any(function, id, |id| {
        let op = &function.insts[id].op;
        let mut all = Vec::new();
        touches(function, effects, id, &mut all);
        let sets = all.iter().any(|touch| touch.kind != Kind::Read && touch.memory == write.memory);
        sets || matches!(op, Op::Call(..)) && effects.properties(op).has_side_effect()
    })
}

fn any(function: &Function, id: InstId, holds: impl Fn(InstId) -> bool) -> bool {
    let mut found = holds(id);
    for &block in function.insts[id].op.blocks().iter() {
        function.walk(block, &mut |id, _| found |= holds(id));
    }
    found
}
