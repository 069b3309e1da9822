//! Are the zeros of a new tile needed? Most tiles are set whole right after they are made.

use super::accesses::{Kind, Memory, all_touches};
use super::plan::{Level, Nest, Plan};
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::{Function, Inst, InstId, Op, ValueId};
use crate::types::Type;

/// What becomes of the zeros of a new tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::passes) enum Fill {
    /// They are needed.
    Zeros,
    /// All elements are set first.
    Whole,
    /// This product sets all elements, if it adds to nothing.
    Product(InstId),
    /// In this loop each thread reads and writes, of the tile, only its own elements: it clears
    /// each where it begins with it.
    Each(InstId),
}

/// What becomes of the zeros of new tiles.
pub(in crate::passes) fn fills(
    function: &Function,
    effects: &EffectTable,
    plans: &IdMap<InstId, Plan>,
) -> IdMap<InstId, Fill> {
    let mut found = IdMap::default();
    for block in function.blocks.values() {
        for (n, &id) in block.insts.iter().enumerate() {
            let inst = &function.insts[id];
            if let (Op::LocalArray, Some(&array)) = (&inst.op, inst.results.first())
                && function.ty(array).is_tile()
            {
                found.insert(id, filled(function, effects, plans, &block.insts[n + 1..], array));
            }
        }
    }
    found
}

/// `rest`: what comes after the tile is made.
fn filled(
    function: &Function,
    effects: &EffectTable,
    plans: &IdMap<InstId, Plan>,
    rest: &[InstId],
    array: ValueId,
) -> Fill {
    let Some(&first) = rest.iter().find(|&&id| mentions(function, &function.insts[id], array)) else {
        return Fill::Whole;
    };
    match (plans.get(&first), &function.insts[first].op) {
        (Some(Plan::Deal(nest)), _) if sets_all(function, effects, nest, array) => Fill::Whole,
        (Some(Plan::Deal(nest)), _) if keeps_to_own(function, effects, nest, array) => Fill::Each(first),
        (Some(Plan::Product(found, _)), _) if found.c == array && found.is_whole(function) => Fill::Product(first),
        (Some(Plan::Copy(copied)), _) if copied.tile == array => Fill::Whole,
        // What it adds up in goes into another tile.
        (Some(Plan::Product(found, _)), _) if ![found.a, found.b, found.c].contains(&array) => Fill::Whole,
        (None, &Op::If { condition, then, otherwise }) if condition != array => {
            let whole = [then, otherwise].into_iter().all(|block| {
                let rest = &function.blocks[block].insts;
                let set = rest.iter().any(|&id| mentions(function, &function.insts[id], array));
                set && filled(function, effects, plans, rest, array) == Fill::Whole
            });
            if whole { Fill::Whole } else { Fill::Zeros }
        }
        // Of any other use it is not known what it reads.
        _ => Fill::Zeros,
    }
}

fn mentions(function: &Function, inst: &Inst, array: ValueId) -> bool {
    let mut found = false;
    inst.op.for_each_operand(|v| found |= v == array);
    for block in inst.op.blocks().iter() {
        function.walk(*block, &mut |_, inst| inst.op.for_each_operand(|v| found |= v == array));
    }
    found
}

/// Whether the loops that are dealt out go over all elements of a tile: one for each dimension,
/// except for those of one element.
fn covers(function: &Function, nest: &Nest, array: ValueId, indices: &[ValueId]) -> bool {
    let Type::Local(ty) = function.ty(array) else { return false };
    let mut dealt = nest.dealt();
    let each = indices.iter().zip(ty.extents()).all(|(&index, &extent)| {
        let single = extent == 1 && function.as_const(index).and_then(|c| c.as_int()) == Some(0);
        let along = |level: &Level| level.variable == index && level.known == Some((0, extent.into()));
        single || dealt.next().is_some_and(along)
    });
    each && dealt.next().is_none()
}

fn sets_all(function: &Function, effects: &EffectTable, nest: &Nest, array: ValueId) -> bool {
    let Some(last) = nest.loops.last() else { return false };
    let touches = all_touches(function, effects, nest.loops[0].body);
    let reads = touches.iter().any(|t| t.memory == Memory::Block(array) && t.kind != Kind::Write);
    let stores = function.blocks[last.body].insts.iter().any(|&id| {
        let Op::Store { access, .. } = &function.insts[id].op else { return false };
        access.array == array && access.path.is_empty() && covers(function, nest, array, &access.indices)
    });
    !reads && stores && nest.loops.iter().all(|level| level.dealt)
}

fn keeps_to_own(function: &Function, effects: &EffectTable, nest: &Nest, array: ValueId) -> bool {
    let Type::Local(ty) = function.ty(array) else { return false };
    // An element is cleared at the indices of the loops, and at 0 along a dimension that has none.
    let (dealt, long) = (nest.dealt().count(), ty.extents().iter().filter(|&&extent| extent > 1).count());
    let by_loops =
        |indices: &[ValueId]| [long, indices.len()].contains(&dealt) && covers(function, nest, array, indices);
    let touches = all_touches(function, effects, nest.loops[0].body);
    touches
        .iter()
        .filter(|t| t.memory == Memory::Block(array))
        .all(|touch| touch.array == array && touch.indices.as_ref().is_some_and(|indices| by_loops(indices)))
}
