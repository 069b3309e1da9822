//! Where do the values wait that the reverse sweep needs? What is kept, what is logged, and what is
//! computed again.

pub mod buffers;
pub mod log;
pub mod plan;
pub mod report;

use std::rc::Rc;

use self::buffers::slots_of;
use self::log::Log;
use self::plan::{Plan, Unrolled, plan};
use super::analysis::facts::ForwardFacts;
use super::analysis::needed::closure;
use super::analysis::world::World;
use super::{Options, Store};
use crate::ids::{IdMap, IdSet};
use crate::ir::{BlockId, Function, InstId, Op, ValueDef, ValueId};
use crate::types::StructTable;

/// How many values are looked at to find what to log, at most.
const MAX_LOOKS: usize = 4_000_000;

/// How the reverse of one function comes by the values of the forward program.
#[derive(Default)]
pub struct Strategy {
    /// The values that reverse code computes again, in whatever scope.
    pub needed: Rc<IdSet<ValueId>>,
    /// Of these, those that the rules name.
    roots: Vec<ValueId>,
    /// How each loop that is reversed gets its state.
    pub plans: IdMap<InstId, Plan>,
    /// What the forward entry writes down.
    pub log: Log,
    /// The instructions whose results can't be computed again, with what finding them in the log
    /// takes.
    leaves: IdMap<InstId, Option<ValueId>>,
}

impl Strategy {
    /// Decides for a function whose reverse reads `reads` and can read the log.
    pub fn of(
        world: &World<'_>,
        function: &Function,
        facts: &ForwardFacts,
        reads: &IdMap<InstId, Vec<ValueId>>,
        options: &Options,
        log: Log,
    ) -> Strategy {
        // What was logged need not be computed again, be it possible or not.
        let mut leaves: IdMap<InstId, Option<ValueId>> =
            facts.stale.iter().chain(log.at.keys()).map(|&id| (id, log.at.get(&id).and_then(|at| at.base))).collect();
        let mut outdated = facts.fills.outdated(function, &facts.known.ranges, &facts.holders);
        loop {
            let strategy = Strategy::with(world, function, facts, reads, options, &leaves);
            outdated.retain(|(id, _)| !leaves.contains_key(id));
            let lost = strategy.misread(function, facts, reads, &outdated);
            if lost.is_empty() {
                return Strategy { log, ..strategy };
            }
            leaves.extend(lost.into_iter().map(|id| (id, None)));
        }
    }

    /// The same, if only the results of `leaves` can't be computed again.
    fn with(
        world: &World<'_>,
        function: &Function,
        facts: &ForwardFacts,
        reads: &IdMap<InstId, Vec<ValueId>>,
        options: &Options,
        leaves: &IdMap<InstId, Option<ValueId>>,
    ) -> Strategy {
        let roots: Vec<ValueId> = reads.values().flatten().copied().collect();
        let needed = closure(function, &facts.holders, &facts.fills, roots.iter().copied(), &|_| false, leaves);
        let (mut plans, mut unrolled) = (IdMap::default(), Unrolled::none_yet(function));
        function.walk(function.entry, &mut |id, inst| {
            if facts.reversed.contains(&id) && matches!(inst.op, Op::For { .. } | Op::While { .. }) {
                let mut options = *options;
                if options.store == Some(Store::Unroll) && !unrolled.takes(function, id) {
                    options.store = Some(Store::Stack);
                }
                plans.insert(id, plan(world, function, facts, reads, leaves, inst, &options));
            }
        });
        Strategy { needed: Rc::new(needed), roots, plans, log: Log::default(), leaves: leaves.clone() }
    }

    /// Of the reads of tiles that are right only while the tile is made anew, those that the
    /// reverse of a block inside the tile's home does again: by then the tile holds something else.
    fn misread(
        &self,
        function: &Function,
        facts: &ForwardFacts,
        reads: &IdMap<InstId, Vec<ValueId>>,
        outdated: &[(InstId, BlockId)],
    ) -> IdSet<InstId> {
        let mut found = IdSet::default();
        if outdated.is_empty() {
            return found;
        }
        function.walk(function.entry, &mut |id, inst| {
            if !facts.reversed.contains(&id) {
                return;
            }
            for block in inst.op.blocks() {
                let inside = function.computed_in(block);
                let again = match self.plans.get(&id) {
                    Some(plan) => plan.needs.union(&plan.steps).copied().collect(),
                    None => {
                        let mut roots = Vec::new();
                        function.walk(block, &mut |id, _| roots.extend(reads.get(&id).into_iter().flatten()));
                        let there = |value: ValueId| !inside.contains(&value);
                        closure(function, &facts.holders, &facts.fills, roots, &there, &self.leaves)
                    }
                };
                for &(load, home) in outdated {
                    let read = &function.insts[load].results;
                    if read.iter().any(|r| inside.contains(r) && again.contains(r)) && !holds(function, block, home) {
                        found.insert(load);
                    }
                }
            }
        });
        found
    }

    /// The instructions whose results are needed, can't be computed again and are not logged.
    pub fn lost(&self, function: &Function) -> Vec<InstId> {
        let needed = |id: &InstId| function.insts[*id].results.iter().any(|r| self.needed.contains(r));
        self.leaves.keys().copied().filter(|id| needed(id) && !self.log.at.contains_key(id)).collect()
    }

    /// What to log for the values that are lost: these, or the conditions of branches that are all
    /// they are needed for, where that takes fewer slots.
    pub fn to_log(&self, function: &Function, facts: &ForwardFacts, structs: &StructTable) -> Vec<InstId> {
        let size = |list: &[InstId]| -> u32 {
            let results = list.iter().flat_map(|&id| &function.insts[id].results);
            results.map(|&r| slots_of(function.ty(r), structs).map_or(0, |slots| slots.values().sum())).sum()
        };
        let mut best = self.lost(function);
        let mut leaves = self.leaves.clone();
        let mut conditions: Vec<InstId> = Vec::new();
        let mut candidates = Vec::new();
        function.walk(function.entry, &mut |id, inst| {
            if let (Op::If { condition, .. }, true) = (&inst.op, facts.reversed.contains(&id))
                && let ValueDef::Result(test, _) = function.values[*condition].def
                && function.insts[test].op.blocks().is_empty()
                && function.as_const(*condition).is_none()
                && !leaves.contains_key(&test)
            {
                candidates.push(test);
            }
        });
        let takes = |roots: &[ValueId], leaves: &IdMap<InstId, Option<ValueId>>| {
            closure(function, &facts.holders, &facts.fills, roots.iter().copied(), &|_| false, leaves)
        };
        let mut lost: IdSet<InstId> = best.iter().copied().collect();
        let mut all = size(&best);
        // How many values were looked at: of a long function, the first candidates are.
        let mut looks = 0;
        for test in candidates {
            if looks >= MAX_LOOKS || leaves.contains_key(&test) {
                continue;
            }
            // It has to take fewer slots than what it saves, which is some of what it takes to
            // compute it.
            let own = takes(&function.insts[test].results, &leaves);
            looks += own.len();
            let defined_by = |value: &ValueId| match function.values[*value].def {
                ValueDef::Result(inst, _) => lost.contains(&inst).then_some(inst),
                ValueDef::Param(..) => None,
            };
            let saved: IdSet<InstId> = own.iter().filter_map(defined_by).collect();
            if size(&[test]) >= size(&saved.into_iter().collect::<Vec<_>>()) {
                continue;
            }
            leaves.insert(test, None);
            let needed = takes(&self.roots, &leaves);
            looks += needed.len();
            let is_lost = |id: &InstId| function.insts[*id].results.iter().any(|r| needed.contains(r));
            let left: Vec<InstId> = best.iter().copied().filter(is_lost).collect();
            let without_test = size(&left);
            if without_test + size(&[test]) < all {
                (best, all) = (left, without_test);
                lost = best.iter().copied().collect();
                conditions.push(test);
            } else {
                leaves.remove(&test);
            }
        }
        best.extend(conditions);
        best
    }
}

/// Whether a block is another one, or nested in it.
fn holds(function: &Function, outer: BlockId, block: BlockId) -> bool {
    let mut found = outer == block;
    function.walk(outer, &mut |_, inst| found |= inst.op.blocks().contains(&block));
    found
}
