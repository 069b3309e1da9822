//! May neighbouring threads of a row run side by side, each operation in all of them before the
//! next one, and leave what they leave one after the other?
//!
//! They may where no two of them use one element of an array that is stored to. Often the indices
//! tell so ([`ownership`](super::ownership), of the threads of a row). Else a *key* may: a value
//! that is an index of every access to the array, in one and the same dimension, and is known
//! before the thread has any effect. Threads with different keys use different elements. Whether
//! keys differ shows at run time, early enough to run the threads one after the other instead.
//!
//! Where every store to an array that nothing reads stores one and the same value, no order shows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::alias::{Root, accessed, location, root};
use super::order::{updates_meet, walk_loops};
use super::ownership::{IndexFacts, Sharing, private_arrays_among};
use crate::ids::IdSet;
use crate::ir::*;
use crate::types::StructTable;

/// What threads do to an array in which they may meet.
#[derive(Default)]
struct Uses {
    /// Stores in a thread; those in loops count twice.
    stores: u32,
    /// What is stored, as long as it is one value for all threads.
    stored: Option<ValueId>,
    /// It is read, or updated atomically.
    reads: bool,
    updates: bool,
    /// The index in each dimension, as long as all accesses have the same there.
    indices: Vec<Option<ValueId>>,
}

impl Uses {
    /// Whether the order of threads that meet shows.
    fn order_shows(&self) -> bool {
        self.stores > 0 && self.reads || self.stores > 1 && self.stored.is_none()
    }
}

/// The keys that have to differ between threads that run side by side; None: their order may show
/// even then. `row`: of the threads of a row. The kernel has no calls.
pub fn keys(function: &Function, structs: &StructTable, row: &IndexFacts) -> Option<Vec<ValueId>> {
    let apart = private_arrays_among(function, structs, Sharing::Never, row, &|_| true);
    let mut uses: BTreeMap<Root, Uses> = BTreeMap::new();
    // Values that are known before the first effect, and once in a thread.
    let mut early: IdSet<ValueId> = IdSet::default();
    let mut has_effects = false;
    walk_loops(function, function.entry, 1, &mut |inst, times| {
        let own = inst.op.properties();
        has_effects |= own.has_side_effect();
        if times == 1 && !has_effects && inst.op.blocks().is_empty() {
            early.extend(inst.results.iter().copied());
        }
        if !own.accesses_memory() || inst.op.access().is_some_and(|access| apart.contains(function, access.array)) {
            return;
        }
        let indices = inst.op.access().map(|access| location(function, access.array, &access.indices).index);
        let indices = indices.unwrap_or_default();
        let uses = match uses.entry(accessed(function, &inst.op)) {
            Entry::Vacant(new) => new.insert(Uses { indices, ..Uses::default() }),
            Entry::Occupied(known) => {
                let uses = known.into_mut();
                uses.indices.truncate(indices.len());
                uses.indices
                    .iter_mut()
                    .zip(indices)
                    .for_each(|(known, index)| *known = known.filter(|_| *known == index));
                uses
            }
        };
        uses.reads |= own.reads;
        uses.updates |= own.atomic;
        if let Op::Store { value, .. } = inst.op {
            let value = row.uniformity.is_invariant(value).then(|| row.first[value]);
            uses.stored = if uses.stores == 0 { value } else { uses.stored.filter(|_| uses.stored == value) };
        } else if own.writes {
            uses.stored = None;
        }
        uses.stores += if own.reads { 0 } else { times };
    });
    let key_of = |uses: &Uses| {
        let is_key = |value: &ValueId| early.contains(value) && row.differs(*value) && function.ty(*value).is_int();
        uses.indices.iter().flatten().copied().find(is_key)
    };
    let mut keys: BTreeMap<Root, ValueId> = BTreeMap::new();
    for (root, uses) in uses.iter().filter(|(_, uses)| uses.order_shows()) {
        if *root == Root::Unknown {
            return None;
        }
        keys.insert(root.clone(), key_of(uses)?);
    }
    if uses.get(&Root::Unknown).is_some_and(|uses| uses.stores > 0) {
        return None;
    }
    if updates_meet(function, &|access| apart.contains(function, access.array)) {
        for (root, uses) in uses.iter().filter(|(root, uses)| uses.updates && **root != Root::Unknown) {
            keys.extend(key_of(uses).map(|key| (root.clone(), key)));
        }
        let is_keyed = |access: &Access| keys.contains_key(&root(function, access.array));
        if updates_meet(function, &|access| apart.contains(function, access.array) || is_keyed(access)) {
            return None;
        }
    }
    // The numbers of neighbours differ.
    let is_number = |key: &ValueId| matches!(function.op(*key), Some(Op::ThreadNumber));
    let mut keys: Vec<ValueId> = keys.into_values().filter(|key| !is_number(key)).collect();
    keys.sort();
    keys.dedup();
    Some(keys)
}
