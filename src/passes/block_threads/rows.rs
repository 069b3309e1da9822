//! How long are the rows of tiles? The threads of a warp that multiply a matrix read eight rows of
//! it at once, 16 bytes of each ([`fragments`]), and threads that sum a row each do the same
//! ([`banks`]). They get them at once where these lie in different banks of shared memory, which an
//! odd number of 16 bytes in a row sees to.

use super::banks;
use super::distribute::Share;
use super::fragments;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Function, InstId, Op, ValueId};
use crate::types::{Layout, StructTable, Type};

const BANKS: u32 = 16;

/// Makes the rows of matrices longer whose fragments the threads of a warp read and write, as long
/// as all tiles fit into so many bytes.
pub(super) fn lengthen(function: &mut Function, structs: &StructTable, most: u64) {
    let found = fragments::longer_rows(function);
    if found.is_empty() {
        return;
    }
    let rigid = rigid(function, &found.iter().map(|&(tile, _)| tile).collect());
    let mut total = total(function, structs);
    for (tile, more) in found.into_iter().filter(|(tile, _)| !rigid.contains(tile)) {
        longer(function, structs, &mut total, most, (tile, more));
    }
}

/// Makes the rows of tiles so long that the threads of a warp meet in as few banks as may be, as
/// long as all tiles fit into so many bytes ([`banks`]).
pub(super) fn spread(function: &mut Function, structs: &StructTable, shares: &IdMap<InstId, Share>, most: u64) {
    // The instructions for matrices read as rows were lengthened for them. Copies are of 16 bytes
    // of a row each.
    let (mut fixed, mut copied): (IdSet<ValueId>, IdSet<ValueId>) = Default::default();
    function.walk(function.entry, &mut |_, inst| {
        if matches!(inst.op, Op::Product(..)) {
            inst.op.for_each_operand(|v| _ = fixed.insert(v));
        } else if matches!(inst.op, Op::Copy(..)) {
            inst.op.for_each_operand(|v| _ = copied.insert(v));
        }
    });
    let mut found = banks::better_rows(function, shares, |tile, longer| {
        let Type::Local(ty) = function.ty(tile) else { return false };
        !copied.contains(&tile) || (longer * Layout::of(ty.element.into(), structs).size).is_multiple_of(BANKS)
    });
    let tiles: IdSet<ValueId> = found.iter().map(|row| row.tile).collect();
    let rigid = rigid(function, &tiles);
    found.retain(|row| !rigid.contains(&row.tile) && !fixed.contains(&row.tile));
    found.sort_by_key(|row| (std::cmp::Reverse(row.gain), row.tile));
    let mut total = total(function, structs);
    for row in found {
        longer(function, structs, &mut total, most, (row.tile, row.longer_by));
    }
}

/// Makes the rows of a tile longer, if all tiles then fit into so many bytes; `total` is what they
/// take.
fn longer(function: &mut Function, structs: &StructTable, total: &mut u64, most: u64, (tile, more): (ValueId, u32)) {
    let Type::Local(mut ty) = function.ty(tile) else { return };
    let Some(last) = usize::from(ty.ndim).checked_sub(1) else { return };
    ty.shape[last] += more;
    let longer = Type::Local(ty);
    let with = *total - bytes(function.ty(tile), structs) + bytes(longer, structs);
    if with <= most {
        *total = with;
        function.values[tile].ty = longer;
    }
}

/// The bytes that a tile takes.
pub(super) fn bytes(ty: Type, structs: &StructTable) -> u64 {
    u64::from(Layout::of(ty, structs).size).next_multiple_of(BANKS.into())
}

/// The bytes of all tiles that something uses.
pub(in crate::passes) fn total(function: &Function, structs: &StructTable) -> u64 {
    let (mut tiles, mut used): (Vec<ValueId>, IdSet<ValueId>) = Default::default();
    function.walk(function.entry, &mut |_, inst| {
        tiles.extend(inst.results.first().filter(|_| matches!(inst.op, Op::SharedArray | Op::LocalArray)));
        inst.op.for_each_operand(|v| _ = used.insert(v));
    });
    tiles
        .iter()
        .filter(|&tile| used.contains(tile) && function.ty(*tile).is_tile())
        .map(|&tile| bytes(function.ty(tile), structs))
        .sum()
}

/// The arrays in which an index may count from the end, or that something else than an access
/// knows: their rows stay.
fn rigid(function: &Function, arrays: &IdSet<ValueId>) -> IdSet<ValueId> {
    let ranges = Ranges::of(function);
    let mut rigid = IdSet::default();
    function.walk(function.entry, &mut |id: InstId, inst| {
        let mut keep = |v: ValueId| {
            if arrays.contains(&v) {
                rigid.insert(v);
            }
        };
        if let Some(access) = inst.op.access() {
            if !access.indices.iter().all(|&index| ranges.is_at_least(id, index, 0)) {
                keep(access.array);
            }
        } else if !matches!(inst.op, Op::Product(..) | Op::Copy(..)) {
            inst.op.for_each_operand(keep);
        }
    });
    rigid
}
