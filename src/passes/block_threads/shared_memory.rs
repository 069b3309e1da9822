//! Allocation of shared memory: which tiles are in the same memory? One whose elements a loop sets
//! may take the place of one that the loop reads for the last time, where each iteration has read
//! what it needs of it before it sets an element, and iterations have elements of their own.
//!
//! Threads need not be thought of: who waits for whom because of the one tile that is left is seen
//! from its accesses as always ([`barriers`](super::barriers)).

use std::collections::BTreeSet;

use super::barriers;
use super::copy_coalescing;
use super::distribute::Share;
use super::liveness::needed;
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::{Function, InstId, Op, ValueId};
use crate::types::{Layout, StructTable};

/// The memory that a block has without asking for more (CUDA C++ Programming Guide, "Compute
/// Capabilities").
pub const MOST_BYTES: u64 = 48 << 10;

/// What a block can ask for on each architecture since `sm_80` (the same place says 99 KB for the
/// least of them).
pub(super) const MORE_BYTES: u64 = 96 << 10;

/// What the address of a tile is a multiple of.
const ALIGN: u64 = 16;

/// A tile with fewer bytes takes the place of another one only where no thread has to wait for
/// that.
const LEAST_BYTES: u64 = 1024;

/// So many small tiles are looked at: for each, it is found out anew where barriers stand.
const MOST_SMALL: usize = 24;

/// Lets tiles take the places of those that they are computed from. Where all together are more
/// than `most` bytes, those that are never needed at the same time are in one place, too.
pub(super) fn share(
    function: &mut Function,
    structs: &StructTable,
    effects: &EffectTable,
    shares: &IdMap<InstId, Share>,
    most: u64,
) {
    let mut tiles = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        tiles.extend(inst.results.first().filter(|_| matches!(inst.op, Op::SharedArray)));
    });
    if tiles.len() < 2 {
        return;
    }
    let found = needed(function, effects, shares);
    let bytes = |tile: ValueId| u64::from(Layout::of(function.ty(tile), structs).size).next_multiple_of(ALIGN);
    let mut groups = Groups { function, apart: found.apart, groups: tiles.iter().map(|&tile| vec![tile]).collect() };
    let mut small = Vec::new();
    for [tile, heir] in found.heirs {
        match bytes(tile) < LEAST_BYTES {
            true => small.push([tile, heir]),
            false => _ = groups.join(tile, heir),
        }
    }
    for &[tile, heir] in small.iter().take(MOST_SMALL) {
        let barriers = |groups: &Groups<'_>| {
            let mut joined = function.clone();
            rename(&mut joined, &groups.places(&tiles));
            barriers::count(&joined, effects, shares)
        };
        let before = groups.groups.clone();
        if groups.join(tile, heir) {
            let with = barriers(&groups);
            let joined = std::mem::replace(&mut groups.groups, before);
            if with <= barriers(&groups) {
                groups.groups = joined;
            }
        }
    }
    let mut largest = tiles.clone();
    largest.sort_by_key(|&tile| std::cmp::Reverse(bytes(tile)));
    for (n, &tile) in largest.iter().enumerate() {
        for &other in &largest[..n] {
            if groups.groups.iter().map(|group| bytes(group[0])).sum::<u64>() > most {
                groups.join(other, tile);
            }
        }
    }
    let places = groups.places(&tiles);
    if places.is_empty() {
        return;
    }
    rename(function, &places);
    copy_coalescing::drop_same(function, effects);
}

/// Uses for tiles those whose places they get.
fn rename(function: &mut Function, places: &IdMap<ValueId, ValueId>) {
    for inst in function.insts.values_mut() {
        inst.op.for_each_operand_mut(|v| *v = places.get(v).copied().unwrap_or(*v));
    }
    for (tile, place) in places {
        if function.values[*place].name.is_none() {
            function.values[*place].name = function.values[*tile].name.clone();
        }
    }
    for block in function.blocks.ids().collect::<Vec<_>>() {
        let mut insts = std::mem::take(&mut function.blocks[block].insts);
        insts.retain(|&id| !function.insts[id].results.first().is_some_and(|tile| places.contains_key(tile)));
        function.blocks[block].insts = insts;
    }
}

/// Tiles in one place each.
struct Groups<'a> {
    function: &'a Function,
    /// Pairs that are needed at the same time.
    apart: BTreeSet<[ValueId; 2]>,
    groups: Vec<Vec<ValueId>>,
}

impl Groups<'_> {
    /// Puts two tiles in one place, if that is possible.
    fn join(&mut self, a: ValueId, b: ValueId) -> bool {
        let of = |tile: ValueId| self.groups.iter().position(|group| group.contains(&tile));
        let (Some(x), Some(y)) = (of(a), of(b)) else { return false };
        let are_apart = |a: ValueId, b: ValueId| self.apart.contains(&[a.min(b), a.max(b)]);
        let fits = x != y
            && self.function.ty(a) == self.function.ty(b)
            && self.groups[x].iter().all(|&a| self.groups[y].iter().all(|&b| !are_apart(a, b)));
        if fits {
            let moved = self.groups.swap_remove(x.max(y));
            self.groups[x.min(y)].extend(moved);
        }
        fits
    }

    /// For tiles that get the place of another one, the first in the order given: which one.
    fn places(&self, order: &[ValueId]) -> IdMap<ValueId, ValueId> {
        let mut places = IdMap::default();
        for group in &self.groups {
            let Some(&place) = order.iter().find(|tile| group.contains(tile)) else { continue };
            places.extend(group.iter().filter(|&&tile| tile != place).map(|&tile| (tile, place)));
        }
        places
    }
}
