//! What is known of a function before its reverse is built: activity, what is reversed, what is needed, how loops are kept.

use std::rc::Rc;

use super::accumulate::Accumulations;
use super::activity::{Activity, writing_calls};
use super::finite::Finite;
use super::needed::{bounds, closure, holders};
use super::written::Written;
use crate::analysis::privatization::{IndexFacts, PrivateArrays, Sharing, private_arrays_among};
use crate::autodiff::Options;
use crate::autodiff::emit::reverse::{Reverse, World};
use crate::autodiff::storage::buffers::slots_of;
use crate::autodiff::storage::log::{Log, stale};
use crate::autodiff::storage::plan::{Plan, plan};
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{Access, AtomicOp, Derivative, Function, FunctionKind, Inst, InstId, Op, ValueDef, ValueId};
use crate::types::{StructTable, Type};

pub struct Facts {
    pub activity: Activity,
    pub written: Written,
    private: PrivateArrays,
    /// The instructions with something to do in reverse.
    pub reversed: IdSet<InstId>,
    /// Where guards are needed.
    pub finite: Finite,
    pub accumulations: Accumulations,
    /// The values that reverse code computes again, in whatever scope.
    pub needed: Rc<IdSet<ValueId>>,
    /// Of these, those that the rules name.
    roots: Vec<ValueId>,
    pub plans: IdMap<InstId, Plan>,
    pub holders: Vec<Option<InstId>>,
    /// Bounds of the integers, and what is equal.
    pub known: IndexFacts,
    /// The function is reverse code itself: `x == 0 ? 0 : ...` guards factors without bounds and is no branch of the user's.
    pub guards: bool,
    pub log: Log,
    /// The calls that write to arrays by themselves.
    pub writing: IdSet<InstId>,
    /// The instructions whose results can't be computed again, with what finding them in the log takes.
    pub leaves: IdMap<InstId, Option<ValueId>>,
}

impl Facts {
    pub fn of(world: &World<'_>, function: &Function, options: &Options, guards: bool, log: Log) -> Facts {
        let writing = writing_calls(world.module, world.effects, function);
        let activity = Activity::of(world.module, &writing, function);
        let written = Written::of(&world.module.structs, world.effects, function);
        let stale = stale(world.module, function, &written);
        // What was logged need not be computed again, be it possible or not.
        let leaves =
            stale.iter().chain(log.at.keys()).map(|&id| (id, log.at.get(&id).and_then(|at| at.base))).collect();
        let known = IndexFacts::of(function);
        let mut facts = Facts {
            reversed: reversed(world, function, &activity, &writing),
            written,
            private: private_arrays_among(function, &world.module.structs, Sharing::SameType, &known, &|_| true),
            log,
            leaves,
            finite: Finite::of(world.module, function, &mut world.tame.borrow_mut()),
            accumulations: Accumulations::of(function),
            needed: Rc::default(),
            roots: Vec::new(),
            plans: IdMap::default(),
            holders: holders(function),
            known,
            guards,
            activity,
            writing,
        };
        let reads = reads(world, function, &facts);
        facts.roots = reads.values().flatten().copied().collect();
        let all = facts.roots.iter().copied();
        facts.needed = Rc::new(closure(function, &facts.holders, all, &|_| false, &facts.leaves));
        let mut plans = IdMap::default();
        function.walk(function.entry, &mut |id, inst| {
            if facts.reversed.contains(&id) && matches!(inst.op, Op::For { .. } | Op::While { .. }) {
                plans.insert(id, plan(world, function, &facts, &reads, inst, options));
            }
        });
        facts.plans = plans;
        facts
    }

    /// The instructions whose results are needed, can't be computed again and are not logged.
    pub fn lost(&self, function: &Function) -> Vec<InstId> {
        let needed = |id: &InstId| function.insts[*id].results.iter().any(|r| self.needed.contains(r));
        self.leaves.keys().copied().filter(|id| needed(id) && !self.log.at.contains_key(id)).collect()
    }

    /// What to log for the values that are lost: these, or the conditions of branches that are all they are needed for, where
    /// that takes fewer slots.
    pub fn to_log(&self, function: &Function, structs: &StructTable) -> Vec<InstId> {
        let size = |list: &[InstId]| -> u32 {
            let results = list.iter().flat_map(|&id| &function.insts[id].results);
            results.map(|&r| slots_of(function.ty(r), structs).map_or(0, |slots| slots.values().sum())).sum()
        };
        let mut best = self.lost(function);
        let mut leaves = self.leaves.clone();
        let mut conditions: Vec<InstId> = Vec::new();
        let mut candidates = Vec::new();
        function.walk(function.entry, &mut |id, inst| {
            if let (Op::If { condition, .. }, true) = (&inst.op, self.reversed.contains(&id))
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
            let needed = closure(function, &self.holders, roots, &|_| false, &leaves);
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

    /// Whether the instruction holds stores or atomics with something to do in reverse.
    pub fn stores_floats(&self, function: &Function, inst: &Inst) -> bool {
        holds_effect(function, inst, &self.reversed)
    }

    /// Whether only this thread touches the elements of an array that it touches, so that the adjoints of those are its own,
    /// too. Takes it that the launch has no more dimensions than the kernel has coordinates.
    pub fn private(&self, function: &Function, array: ValueId) -> bool {
        self.private.contains(function, array)
    }
}

fn holds_effect(function: &Function, inst: &Inst, reversed: &IdSet<InstId>) -> bool {
    let mut found = false;
    for block in inst.op.blocks() {
        function.walk(block, &mut |id, inst| {
            found |= reversed.contains(&id) && inst.op.properties().has_side_effect();
        });
    }
    found
}

fn reversed(world: &World<'_>, function: &Function, activity: &Activity, writing: &IdSet<InstId>) -> IdSet<InstId> {
    let mut found = IdSet::default();
    let mut outer = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        let works = match &inst.op {
            // What a store leaves in an array does not depend on what was there before, active or not.
            Op::Store { access: Access { array, .. }, value } => {
                matches!(function.ty(*array), Type::Array(_)) && function.ty(*value).holds_floats(&world.module.structs)
            }
            // So does one that may replace the content.
            Op::Atomic { op: AtomicOp::Min | AtomicOp::Max | AtomicOp::Exchange, value, .. } => {
                function.ty(*value).holds_floats(&world.module.structs)
            }
            Op::Atomic { value, .. } => activity.is_active(*value),
            // A rule says what becomes of the adjoints of what its function writes.
            Op::Call(callee, _) if writing.contains(&id) => {
                matches!(world.module.functions[*callee].derivative, Derivative::Rule { .. })
            }
            _ => activity.any_result(inst),
        };
        if works {
            found.insert(id);
        }
        if !inst.op.blocks().is_empty() {
            outer.push(id);
        }
    });
    for id in outer {
        if holds_effect(function, &function.insts[id], &found) {
            found.insert(id);
        }
    }
    found
}

/// The values that the reverse of each instruction reads: what its adjoint rule asks for, tried on a scratch function.
fn reads(world: &World<'_>, function: &Function, facts: &Facts) -> IdMap<InstId, Vec<ValueId>> {
    let mut scratch = Builder::new("scratch", FunctionKind::Device, &[], function.span);
    scratch.reserve(2 * function.insts.len());
    let mut reverse = Reverse::new(world, function, facts, scratch);
    reverse.scratch_shadows();
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if !facts.reversed.contains(&id) {
            return;
        }
        let mut read = Vec::new();
        match &inst.op {
            Op::If { condition, .. } => read.push(*condition),
            Op::For { .. } | Op::While { .. } => bounds(function, id, &mut read),
            _ => {
                for &result in inst.results.iter().filter(|&&r| facts.activity.is_active(r)) {
                    let seed = reverse.b.zero(function.ty(result));
                    reverse.adjoints.insert(result, seed);
                }
                reverse.reads = Some(Vec::new());
                reverse.inst(id);
                read = reverse.reads.take().unwrap_or_default();
                reverse.adjoints.clear();
                reverse.parts.clear();
            }
        }
        found.insert(id, read);
    });
    found
}
