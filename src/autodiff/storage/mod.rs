//! Where do the values wait that the reverse sweep needs? What is kept, what is logged, and what is computed again.

pub mod buffers;
pub mod log;
pub mod plan;
pub mod report;

use std::rc::Rc;

use self::buffers::slots_of;
use self::log::Log;
use self::plan::{Plan, plan};
use super::Options;
use super::analysis::facts::ForwardFacts;
use super::analysis::needed::closure;
use super::analysis::world::World;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Function, InstId, Op, ValueDef, ValueId};
use crate::types::StructTable;

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
    /// The instructions whose results can't be computed again, with what finding them in the log takes.
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
        let leaves: IdMap<InstId, Option<ValueId>> =
            facts.stale.iter().chain(log.at.keys()).map(|&id| (id, log.at.get(&id).and_then(|at| at.base))).collect();
        let roots: Vec<ValueId> = reads.values().flatten().copied().collect();
        let needed = closure(function, &facts.holders, roots.iter().copied(), &|_| false, &leaves);
        let mut plans = IdMap::default();
        function.walk(function.entry, &mut |id, inst| {
            if facts.reversed.contains(&id) && matches!(inst.op, Op::For { .. } | Op::While { .. }) {
                plans.insert(id, plan(world, function, facts, reads, &leaves, inst, options));
            }
        });
        Strategy { needed: Rc::new(needed), roots, plans, log, leaves }
    }

    /// The instructions whose results are needed, can't be computed again and are not logged.
    pub fn lost(&self, function: &Function) -> Vec<InstId> {
        let needed = |id: &InstId| function.insts[*id].results.iter().any(|r| self.needed.contains(r));
        self.leaves.keys().copied().filter(|id| needed(id) && !self.log.at.contains_key(id)).collect()
    }

    /// What to log for the values that are lost: these, or the conditions of branches that are all they are needed for, where
    /// that takes fewer slots.
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
        for &test in &candidates {
            if leaves.insert(test, None).is_some() {
                continue;
            }
            let roots = self.roots.iter().copied();
            let needed = closure(function, &facts.holders, roots, &|_| false, &leaves);
            let is_lost = |id: &InstId| function.insts[*id].results.iter().any(|r| needed.contains(r));
            let left: Vec<InstId> = best.iter().copied().filter(is_lost).collect();
            if size(&left) + size(&[test]) < size(&best) {
                best = left;
                conditions.push(test);
            } else {
                leaves.remove(&test);
            }
        }
        best.extend(conditions);
        best
    }
}
