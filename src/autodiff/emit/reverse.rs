//! Walks a function backwards and builds its reverse: blocks and branches. Loops are in [`super::loops`], memory in
//! [`super::memory`], calls in [`super::calls`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::SmallVec;

use super::adjoints::Parts;
use super::loops::Sweep;
use super::memory::Shadow;
use crate::analysis::alias::Root;
use crate::analysis::effects::EffectTable;
use crate::autodiff::analysis::activity::yields;
use crate::autodiff::analysis::facts::Facts;
use crate::autodiff::analysis::finite::Tame;
use crate::autodiff::storage::buffers::Buffers;
use crate::autodiff::storage::stores::Tape;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::{BlockId, FuncId, Function, Inst, InstId, Module, Op, ValueId};
use crate::types::Type;

/// What the reverse of one function needs to know of the module.
pub struct World<'a> {
    pub module: &'a Module,
    pub effects: &'a EffectTable,
    /// The adjoint function of each differentiated device function that is called.
    pub adjoints: &'a IdMap<FuncId, FuncId>,
    /// Functions that were made by differentiation.
    pub generated: &'a IdSet<FuncId>,
    /// The function that places snapshots, where one is called ([`crate::autodiff::storage::snapshots`]).
    pub next_snapshot: Option<FuncId>,
    /// What was found about functions so far.
    pub tame: &'a RefCell<Tame>,
    /// The names of all functions.
    pub names: &'a IdSet<String>,
}

impl World<'_> {
    /// A name that no function of the module has.
    pub fn unique_name(&self, wanted: String) -> String {
        if !self.names.contains(&wanted) {
            return wanted;
        }
        let numbered = (2..).map(|n| format!("{wanted}_{n}"));
        numbered.into_iter().find(|name| !self.names.contains(name)).expect("there are infinitely many")
    }
}

/// A reverse function under construction.
///
/// Values of the forward function are `old`, those of the one being built `new`. The maps hold what is visible at the
/// cursor: code for an old block is built anew wherever it is needed, and the latest copy is the one in scope.
pub struct Reverse<'a> {
    pub world: &'a World<'a>,
    pub old: &'a Function,
    pub facts: &'a Facts,
    pub b: Builder,
    /// The copy of each old value.
    pub primals: IdVec<ValueId, Option<ValueId>>,
    /// The adjoint of each old value so far; none is zero.
    pub adjoints: BTreeMap<ValueId, ValueId>,
    /// What has come to parts of values besides.
    pub parts: BTreeMap<ValueId, Parts>,
    pub shadows: BTreeMap<Root, Shadow>,
    /// The old values that code at the cursor computes again: those needed in the innermost loop that is being reversed.
    pub scope: Rc<IdSet<ValueId>>,
    /// What the forward sweeps of the loops of the blocks around the cursor have kept.
    pub sweeps: IdMap<InstId, Sweep>,
    /// What the forward entry logged.
    pub log: Option<Buffers>,
    /// Where loops keep state on a tape.
    pub tape: Option<Tape>,
    /// Instead of building something of use: the old values that were read.
    pub reads: Option<Vec<ValueId>>,
    /// Faults of kc found while building.
    pub faults: Vec<String>,
}

impl<'a> Reverse<'a> {
    pub fn new(world: &'a World<'a>, old: &'a Function, facts: &'a Facts, b: Builder) -> Reverse<'a> {
        Reverse {
            world,
            old,
            facts,
            b,
            primals: old.values.ids().map(|_| None).collect(),
            adjoints: BTreeMap::new(),
            parts: BTreeMap::new(),
            shadows: BTreeMap::new(),
            scope: facts.needed.clone(),
            sweeps: IdMap::default(),
            log: None,
            tape: None,
            reads: None,
            faults: Vec::new(),
        }
    }

    pub fn is_active(&self, value: ValueId) -> bool {
        self.facts.activity.is_active(value)
    }

    /// The copy of an old value.
    pub fn primal(&mut self, value: ValueId) -> ValueId {
        if let Some(reads) = &mut self.reads {
            reads.push(value);
        }
        if let Some(copy) = self.primals[value] {
            return copy;
        }
        // Constants are copied where they are read.
        if let Some(constant) = self.old.as_const(value) {
            return self.b.constant(constant);
        }
        if self.reads.is_none() {
            self.faults.push(format!("the value {value} of @{} is read but not computed", self.old.name));
        }
        self.b.zero(self.old.ty(value))
    }

    pub fn primals(&mut self, values: &[ValueId]) -> SmallVec<[ValueId; 4]> {
        values.iter().map(|&v| self.primal(v)).collect()
    }

    /// Gives a new value the name of an old one, with a prefix.
    pub fn name_after(&mut self, new: ValueId, prefix: &str, old: ValueId) {
        let into = &mut self.b.function.values[new].name;
        if into.is_none()
            && self.reads.is_none()
            && let Some(name) = &self.old.values[old].name
        {
            *into = Some([prefix, name].concat());
        }
    }

    /// Computes a block again and then reverses it. `seed` gives the adjoints of what the block yields.
    pub fn block(&mut self, block: BlockId, seed: impl FnOnce(&mut Self)) {
        let top = self.tape.as_ref().map(|tape| tape.top);
        self.replay(block, true);
        seed(self);
        let old = self.old;
        for &id in old.blocks[block].insts.iter().rev() {
            self.inst(id);
        }
        // What the loops of this block kept has served.
        if let (Some(tape), Some(top)) = (&mut self.tape, top) {
            tape.top = top;
        }
    }

    pub fn inst(&mut self, id: InstId) {
        let old = self.old;
        let inst = &old.insts[id];
        if !self.facts.reversed.contains(&id) {
            return;
        }
        let span = std::mem::replace(&mut self.b.span, inst.span);
        match &inst.op {
            Op::If { condition, then, otherwise } => self.branch(inst, *condition, [*then, *otherwise]),
            Op::For { .. } | Op::While { .. } => self.reverse_loop(id, inst),
            Op::Load(access) => {
                if let Some(d) = self.take(inst.results[0]) {
                    self.reverse_load(inst.results[0], access, d);
                }
            }
            Op::Store { access, value } => self.reverse_store(id, access, *value),
            Op::Atomic { op, access, value } => self.reverse_atomic(inst.results[0], *op, access, *value),
            Op::Call(callee, args) => self.reverse_call(id, inst, *callee, args),
            _ => {
                if let Some(&result) = inst.results.first()
                    && let Some(d) = self.take(result)
                {
                    self.rule(inst, d);
                }
            }
        }
        self.b.span = span;
    }

    fn branch(&mut self, inst: &Inst, condition: ValueId, blocks: [BlockId; 2]) {
        let seeds: Vec<Option<ValueId>> = inst.results.iter().map(|&r| self.take(r)).collect();
        if seeds.iter().all(Option::is_none) && !self.facts.stores_floats(self.old, inst) {
            return;
        }
        let condition = self.primal(condition);
        let before = self.adjoints.clone();
        let parts = std::mem::take(&mut self.parts);
        let mut ends = Vec::new();
        for block in blocks {
            self.adjoints = before.clone();
            let new = self.b.new_block(&[]);
            let outside = self.b.switch_to(new);
            self.block(block, |this| {
                let given = yields(this.old, block);
                for (seed, &value) in seeds.iter().zip(given) {
                    if let Some(seed) = *seed {
                        this.add(value, seed);
                    }
                }
            });
            self.flush_all();
            self.b.switch_to(outside);
            ends.push((new, std::mem::take(&mut self.adjoints)));
        }
        // Values outside whose adjoints one of the branches has changed.
        let changed: Vec<ValueId> = ends[0]
            .1
            .keys()
            .chain(ends[1].1.keys())
            .copied()
            .filter(|value| ends.iter().any(|(_, end)| end.get(value) != before.get(value)))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        for (block, end) in &ends {
            let outside = self.b.switch_to(*block);
            let values: Vec<ValueId> = changed
                .iter()
                .map(|value| end.get(value).copied().unwrap_or_else(|| self.b.zero(self.old.ty(*value))))
                .collect();
            self.b.yield_(&values);
            self.b.switch_to(outside);
        }
        let types: Vec<Type> = changed.iter().map(|&v| self.old.ty(v)).collect();
        let op = Op::If { condition, then: ends[0].0, otherwise: ends[1].0 };
        let results = self.b.push(op, &types);
        self.adjoints = before;
        self.parts = parts;
        for (&value, result) in changed.iter().zip(results) {
            self.name_after(result, "adj_", value);
            self.adjoints.insert(value, result);
        }
    }
}
