//! How long are the rows of tiles? The threads of a warp that multiply a matrix read eight rows of
//! it at once, 16 bytes of each, and threads that sum a row each do the same. They get them at once
//! where these lie in different banks of shared memory, which an odd number of 16 bytes in a row
//! sees to.

use super::accesses::Sum;
use super::distribute::Share;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Function, InstId, Op, ValueId};
use crate::types::{Layout, StructTable, Type};

const BANKS: u32 = 16;

/// Makes the rows of factors longer, as long as all tiles fit into so many bytes.
pub(super) fn lengthen(function: &mut Function, structs: &StructTable, most: u64) {
    let mut factors: Vec<ValueId> = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Product(product, arrays) = &inst.op
            && product.part.has_factors()
        {
            factors.extend(arrays.iter().skip(1).take(2).filter(|&v| function.ty(*v).is_tile()));
        }
    });
    lengthen_all(function, structs, factors, most, |size| BANKS / size);
}

/// The same for tiles in whose columns the threads of a block go downward, each thread in a row of
/// its own, or in a few.
pub(super) fn spread(function: &mut Function, structs: &StructTable, shares: &IdMap<InstId, Share>, most: u64) {
    let (mut read, mut read_in_parts) = (Vec::new(), Vec::new());
    for (&id, share) in shares {
        let (Share::Dealt(dealt), Op::For { body, .. }) = (share, &function.insts[id].op) else { continue };
        // Threads that follow each other differ in these.
        let Some(&(last, _)) = dealt.indices.last() else { continue };
        let lanes: Vec<ValueId> = Sum::of(function, last).terms.into_keys().collect();
        let goes_down = |row: ValueId, column: ValueId| {
            let [row, column] = [row, column].map(|index| Sum::of(function, index).terms);
            lanes.iter().any(|lane| row.get(lane).is_some_and(|n| n.abs() == 1) && !column.contains_key(lane))
        };
        function.walk(*body, &mut |_, inst| {
            if let Op::Load(access) = &inst.op
                && access.path.is_empty()
                && matches!(function.ty(access.array), Type::Local(ty) if ty.block && ty.ndim == 2)
                && let &[row, column] = &access.indices[..]
                && goes_down(row, column)
            {
                if dealt.run == 1 { &mut read } else { &mut read_in_parts }.push(access.array);
            }
        });
    }
    // The instructions for matrices, and copies, take 16 bytes of a row at once.
    let mut whole: IdSet<ValueId> = IdSet::default();
    function.walk(function.entry, &mut |_, inst| {
        if matches!(inst.op, Op::Product(..) | Op::Copy(..)) {
            inst.op.for_each_operand(|v| _ = whole.insert(v));
        }
    });
    read_in_parts.retain(|tile| !whole.contains(tile));
    lengthen_all(function, structs, read_in_parts, most, |_| 1);
    lengthen_all(function, structs, read, most, |size| BANKS / size);
}

/// Makes the rows of tiles longer where they have an even number of 16 bytes, as long as all tiles
/// fit into so many bytes: by so many elements of a size.
fn lengthen_all(
    function: &mut Function,
    structs: &StructTable,
    mut tiles: Vec<ValueId>,
    most: u64,
    by: impl Fn(u32) -> u32,
) {
    tiles.sort_unstable();
    tiles.dedup();
    if tiles.is_empty() {
        return;
    }
    let mut total = total(function, structs);
    let rigid = rigid(function, &tiles.iter().copied().collect());
    for tile in tiles.into_iter().filter(|tile| !rigid.contains(tile)) {
        let Type::Local(mut ty) = function.ty(tile) else { continue };
        let Some(size) = Type::from(ty.element).as_scalar().map(|s| s.size()) else { continue };
        let Some(last) = usize::from(ty.ndim).checked_sub(1) else { continue };
        let row = ty.shape[last] * size;
        if row % (2 * BANKS) != 0 {
            continue;
        }
        ty.shape[last] += by(size);
        let longer = Type::Local(ty);
        let with = total - bytes(function.ty(tile), structs) + bytes(longer, structs);
        if with <= most {
            total = with;
            function.values[tile].ty = longer;
        }
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
