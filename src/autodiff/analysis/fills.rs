//! What makes the content of a tile, and which reads of it see that content again once it is made
//! anew?
//!
//! Reverse code makes a tile where it replays the block that makes it, its *home*, and there does
//! again, in order, all that writes the tile. Whatever is read then is right. What is deeper inside
//! is reversed later, when the tile holds what it held at the end of its home: a read there sees
//! what the forward program saw only if nothing wrote its element after it.

use crate::analysis::alias::{Root, root};
use crate::analysis::dependence::{Dependences, Positions, positions};
use crate::analysis::effects::EffectTable;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Access, BlockId, Function, InstId, Module, Op, ValueId};

/// The tiles of a function that reverse code can make anew.
#[derive(Default)]
pub struct Fills {
    tiles: IdMap<ValueId, Tile>,
    /// The tiles that an instruction, or what it holds, writes and that are made outside of it.
    written_by: IdMap<InstId, Vec<ValueId>>,
    /// The position of each instruction: its block, and its place there.
    at: Positions,
}

/// So many stores to a tile are looked at one by one, for each read.
const MOST_STORES: usize = 64;

struct Tile {
    home: BlockId,
    /// The instructions that write it, and those between them and its home, which hold them.
    fills: Vec<InstId>,
    /// Those of them that are stores.
    stores: Vec<InstId>,
}

impl Fills {
    pub fn of(module: &Module, effects: &EffectTable, function: &Function, holders: &[Option<InstId>]) -> Fills {
        let mut all = Fills { at: positions(function), ..Fills::default() };
        for (id, &(home, _)) in &all.at {
            let inst = &function.insts[*id];
            if let (Op::LocalArray, [tile]) = (&inst.op, &inst.results[..])
                && function.ty(*tile).is_local_array()
            {
                all.tiles.insert(*tile, Tile { home, fills: Vec::new(), stores: Vec::new() });
            }
        }
        if all.tiles.is_empty() {
            return Fills::default();
        }
        let mut opaque = IdSet::default();
        let mut any_opaque = false;
        function.walk(function.entry, &mut |id, inst| {
            if let Op::Call(callee, args) = &inst.op {
                // Calls are not done again: what else they do is not looked into.
                let written = args.iter().filter(|_| effects[*callee].writes_memory());
                for &arg in written.filter(|&&arg| function.ty(arg).bears_array(&module.structs)) {
                    match root(function, arg) {
                        Root::Local(tile) => _ = opaque.insert(tile),
                        Root::Unknown => any_opaque = true,
                        _ => {}
                    }
                }
            } else if let Some(access) = inst.op.access()
                && inst.op.properties().writes
                && function.ty(access.array).is_local_array()
            {
                match root(function, access.array) {
                    Root::Local(tile) if matches!(inst.op, Op::Store { .. }) => all.note(tile, id, holders),
                    // What an atomic operation finds is not found again.
                    Root::Local(tile) => _ = opaque.insert(tile),
                    _ => any_opaque = true,
                }
            }
        });
        if any_opaque {
            return Fills::default();
        }
        all.drop_tiles(&opaque);
        all
    }

    /// Notes that an instruction writes a tile.
    fn note(&mut self, tile: ValueId, writer: InstId, holders: &[Option<InstId>]) {
        let Some(home) = self.tiles.get_mut(&tile).map(|tile| {
            tile.stores.push(writer);
            tile.home
        }) else {
            return;
        };
        let mut next = Some(writer);
        while let Some(id) = next {
            let written = self.written_by.entry(id).or_default();
            if written.contains(&tile) {
                return;
            }
            written.push(tile);
            if let Some(tile) = self.tiles.get_mut(&tile) {
                tile.fills.push(id);
            }
            let block = self.at[&id].0;
            next = if block == home { None } else { holders[block.0 as usize] };
        }
    }

    fn drop_tiles(&mut self, opaque: &IdSet<ValueId>) {
        self.tiles.retain(|tile, _| !opaque.contains(tile));
        for written in self.written_by.values_mut() {
            written.retain(|tile| !opaque.contains(tile));
        }
    }

    /// Whether reverse code can make the tile behind an array anew.
    pub fn refills(&self, function: &Function, array: ValueId) -> bool {
        matches!(root(function, array), Root::Local(tile) if self.tiles.contains_key(&tile))
    }

    /// What making a tile anew takes: the instructions that write it, and those that hold them.
    pub fn fills(&self, tile: ValueId) -> &[InstId] {
        self.tiles.get(&tile).map_or(&[], |tile| &tile.fills)
    }

    /// The tiles made outside of an instruction that it writes, or what it holds does.
    pub fn written_by(&self, id: InstId) -> &[ValueId] {
        self.written_by.get(&id).map_or(&[], |tiles| tiles)
    }

    /// The reads of tiles that don't see what the tile holds at the end of its home, each with that
    /// home.
    pub fn outdated(&self, function: &Function, ranges: &Ranges, holders: &[Option<InstId>]) -> Vec<(InstId, BlockId)> {
        let mut found = Vec::new();
        if self.tiles.is_empty() {
            return found;
        }
        let dependences = Dependences::of(function, ranges);
        function.walk(function.entry, &mut |id, inst| {
            if let Op::Load(Access { array, .. }) = &inst.op
                && let Root::Local(tile) = root(function, *array)
                && let Some(Tile { home, stores, .. }) = self.tiles.get(&tile)
                && self.is_written_after(function, id, tile, *home, holders)
                && (stores.len() > MOST_STORES || stores.iter().any(|&store| dependences.may_depend(id, store, *home)))
            {
                found.push((id, *home));
            }
        });
        found
    }

    /// Whether anything may write a tile after an instruction inside its home. In the home itself
    /// all is read in order.
    fn is_written_after(
        &self,
        function: &Function,
        id: InstId,
        tile: ValueId,
        home: BlockId,
        holders: &[Option<InstId>],
    ) -> bool {
        let writes = |id: &InstId| self.written_by(*id).contains(&tile);
        let (mut block, mut place) = self.at[&id];
        if block == home {
            return false;
        }
        loop {
            if function.blocks[block].insts[place + 1..].iter().any(writes) {
                return true;
            }
            if block == home {
                return false;
            }
            let Some(holder) = holders[block.0 as usize] else { return true };
            // The next iteration comes after this one.
            if matches!(function.insts[holder].op, Op::For { .. } | Op::While { .. }) && writes(&holder) {
                return true;
            }
            (block, place) = self.at[&holder];
        }
    }
}
