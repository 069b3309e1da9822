//! Which atomic updates may wait until their thread is at its end? Those whose old value nobody
//! asks for, after which the thread reaches no other access that could mean the same place: arrays
//! may overlap wherever they have numbers of one type. Updates that wait commute with each other.
//! What other threads see of it meanwhile is open (rule 15 of the IR).

use std::collections::HashSet;

use super::effects::EffectTable;
use crate::ir::{AtomicOp, BlockId, Function, InstId, Op, ValueId, jumps, straight};
use crate::types::{Element, Scalar, Type};

/// Sums of floats; what they are added to does not matter to the thread any more.
pub fn deferrable(function: &Function, effects: &EffectTable) -> HashSet<InstId> {
    let mut found = Search { function, effects, uses: super::uses(function), found: HashSet::new() };
    found.block(function.entry, &mut Later::default());
    found.found
}

/// What a thread reaches later.
#[derive(Clone, Default)]
struct Later {
    scalars: Vec<Scalar>,
    /// Memory of any type.
    all: bool,
}

impl Later {
    fn add(&mut self, other: &Later) {
        self.all |= other.all;
        other.scalars.iter().for_each(|&s| self.add_scalar(s));
    }

    fn add_scalar(&mut self, s: Scalar) {
        if !self.scalars.contains(&s) {
            self.scalars.push(s);
        }
    }
}

struct Search<'a> {
    function: &'a Function,
    effects: &'a EffectTable,
    uses: crate::ids::IdVec<ValueId, u32>,
    found: HashSet<InstId>,
}

impl Search<'_> {
    /// From the end of a block to its start. In a loop the next iteration comes later, too.
    fn block(&mut self, block: BlockId, later: &mut Later) {
        for &id in self.function.blocks[block].insts.iter().rev() {
            let op = &self.function.insts[id].op;
            match op {
                Op::If { .. } => {
                    let after = later.clone();
                    for inner in op.blocks() {
                        let mut own = after.clone();
                        self.block(inner, &mut own);
                        later.add(&own);
                    }
                }
                Op::For { .. } | Op::While { .. } => {
                    for inner in op.blocks() {
                        self.accesses(inner, later);
                    }
                    for inner in op.blocks() {
                        self.block(inner, &mut later.clone());
                    }
                }
                straight!() | jumps!() => match self.sum(id) {
                    Some(s) => {
                        if !later.all && !later.scalars.contains(&s) {
                            self.found.insert(id);
                        }
                    }
                    None => self.access(op, later),
                },
            }
        }
    }

    /// All that a block does.
    fn accesses(&self, block: BlockId, later: &mut Later) {
        self.function.walk(block, &mut |id, inst| {
            if self.sum(id).is_none() {
                self.access(&inst.op, later);
            }
        });
    }

    /// The type of the numbers that an instruction adds to, if it is a sum that nobody asks for.
    fn sum(&self, id: InstId) -> Option<Scalar> {
        let inst = &self.function.insts[id];
        let Op::Atomic { op: AtomicOp::Add | AtomicOp::Sub, access, .. } = &inst.op else { return None };
        let &result = inst.results.first()?;
        let Type::Array(array) = self.function.ty(access.array) else { return None };
        let scalar = scalar_of(array.element).filter(|s| s.is_float())?;
        (self.uses[result] == 0).then_some(scalar)
    }

    fn access(&self, op: &Op, later: &mut Later) {
        let properties = self.effects.properties(op);
        if !(properties.reads || properties.writes || properties.atomic) {
            return;
        }
        match op.access().map(|access| self.function.ty(access.array)) {
            Some(Type::Local(_)) => {}
            Some(Type::Array(array)) => match scalar_of(array.element) {
                Some(s) => later.add_scalar(s),
                None => later.all = true,
            },
            _ => later.all = true,
        }
    }
}

/// None: a struct's numbers may be of several types.
fn scalar_of(element: Element) -> Option<Scalar> {
    Type::from(element).scalar_part()
}
