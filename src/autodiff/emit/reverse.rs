//! A reverse function under construction: what all that build parts of it share.

use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::SmallVec;

use super::state::{Parts, Shadow, Sweep, Tape};
use crate::analysis::alias::Root;
use crate::autodiff::analysis::facts::ForwardFacts;
use crate::autodiff::analysis::world::World;
use crate::autodiff::storage::Strategy;
use crate::autodiff::storage::buffers::Buffers;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::{Function, InstId, ValueId};

/// A reverse function under construction.
///
/// Values of the forward function are `old`, those of the one being built `new`. The maps hold what
/// is visible at the cursor: code for an old block is built anew wherever it is needed, and the
/// latest copy is the one in scope.
pub struct Reverse<'a> {
    pub world: &'a World<'a>,
    pub old: &'a Function,
    pub facts: &'a ForwardFacts,
    pub strategy: &'a Strategy,
    pub b: Builder,
    /// The copy of each old value.
    pub primals: IdVec<ValueId, Option<ValueId>>,
    /// The adjoint of each old value so far; none is zero.
    pub adjoints: BTreeMap<ValueId, ValueId>,
    /// What has come to parts of values besides.
    pub parts: BTreeMap<ValueId, Parts>,
    pub shadows: BTreeMap<Root, Shadow>,
    /// The old values that code at the cursor computes again: those needed in the innermost loop
    /// that is being reversed.
    pub scope: Rc<IdSet<ValueId>>,
    /// The tiles whose blocks are being replayed at the cursor: what writes them is done again.
    pub filling: IdSet<ValueId>,
    /// What the forward sweeps of the loops of the blocks around the cursor have kept.
    pub sweeps: IdMap<InstId, Sweep>,
    /// What the forward entry logged.
    pub log: Option<Buffers>,
    /// Where loops keep state on a tape.
    pub tape: Option<Tape>,
    /// Instead of building something of use: the old values that were read.
    pub reads: Option<Vec<ValueId>>,
    /// An adjoint rule is at work.
    pub in_rule: bool,
    /// Faults of kc found while building.
    pub faults: Vec<String>,
}

impl<'a> Reverse<'a> {
    pub fn new(
        world: &'a World<'a>,
        old: &'a Function,
        facts: &'a ForwardFacts,
        strategy: &'a Strategy,
        b: Builder,
    ) -> Reverse<'a> {
        Reverse {
            world,
            old,
            facts,
            strategy,
            b,
            primals: old.values.ids().map(|_| None).collect(),
            adjoints: BTreeMap::new(),
            parts: BTreeMap::new(),
            shadows: BTreeMap::new(),
            scope: strategy.needed.clone(),
            filling: IdSet::default(),
            sweeps: IdMap::default(),
            log: None,
            tape: None,
            reads: None,
            in_rule: false,
            faults: Vec::new(),
        }
    }

    pub fn is_active(&self, value: ValueId) -> bool {
        self.facts.activity.is_active(value)
    }

    /// The copy of an old value.
    pub fn primal(&mut self, value: ValueId) -> ValueId {
        let stands_for = if self.in_rule { self.facts.rereads.get(&value).copied() } else { None };
        let value = stands_for.unwrap_or(value);
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
}
