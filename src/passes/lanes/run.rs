//! Which instructions of threads may stand in one loop over the threads, and what may be computed before it?
//!
//! In a loop, a thread does all of its instructions before the next one begins. So one that reads of a tile what another thread
//! sets before comes into the next loop. An update, `t[i] += x`, reads and sets the same element: threads do it one after the
//! other. Of the caller's arrays, threads see what others set where all of them have done something together since.

use crate::analysis::effects::EffectTable;
use crate::ir::properties::Io;
use crate::ir::{Function, InstId, Op, ValueId};
use crate::passes::block_threads::accesses::{Kind, Memory, Touch, touches};
use crate::passes::block_threads::parted::{Known, guards_in};

/// What an instruction touches, with all that is in it.
pub(super) struct Reach {
    touches: Vec<Touch>,
    /// It prints, or calls what has effects that are not known one by one.
    pub effects: bool,
}

impl Reach {
    pub(super) fn of(function: &Function, effects: &EffectTable, id: InstId) -> Reach {
        let mut reach = Reach { touches: Vec::new(), effects: false };
        reach.add(function, effects, id);
        for &block in function.insts[id].op.blocks().iter() {
            function.walk(block, &mut |id, _| reach.add(function, effects, id));
        }
        reach.touches.retain(|touch| !matches!(touch.memory, Memory::Thread(_)));
        reach
    }

    fn add(&mut self, function: &Function, effects: &EffectTable, id: InstId) {
        let op = &function.insts[id].op;
        touches(function, effects, id, &mut self.touches);
        let own = effects.properties(op);
        self.effects |= own.io == Io::Output;
        if matches!(op, Op::Call(..)) && own.has_side_effect() {
            self.effects = true;
        }
    }

    /// With what another instruction touches.
    pub(super) fn and(mut self, other: Reach) -> Reach {
        self.touches.extend(other.touches);
        self.effects |= other.effects;
        self
    }

    /// Whether it reads a tile that it also sets: what is read is what all threads have set by then. Of elements that are `apart` it
    /// does not matter.
    pub(super) fn rereads(&self, apart: &dyn Fn(&Touch, &Touch) -> bool) -> bool {
        let is_tile = |touch: &&Touch| matches!(touch.memory, Memory::Block(_));
        self.touches.iter().filter(is_tile).filter(|touch| touch.kind != Kind::Read).any(|write| {
            let mut others = self.touches.iter().filter(|other| other.memory == write.memory);
            others.any(|other| other.kind == Kind::Read && !apart(write, other))
        })
    }

    /// The same of an instruction that some threads come to: they may read elements that they set themselves, as updates do, and those that
    /// no thread sets there.
    pub(super) fn rereads_of_others(&self, id: InstId, known: &Known<'_>) -> bool {
        let function = known.function;
        let guards = guards_in(function, id);
        self.rereads(&|write, read| {
            same_element(function, write, read) || {
                let (Some(conditions), Some(set), Some(seen)) = (guards.get(&write.at), &write.indices, &read.indices)
                else {
                    return false;
                };
                // Both stand under them.
                let both: Vec<ValueId> = conditions
                    .iter()
                    .copied()
                    .filter(|c| guards.get(&read.at).is_some_and(|of| of.contains(c)))
                    .collect();
                write.array == read.array && set.iter().zip(seen).any(|(&i, &j)| known.are_parted(&both, i, j))
            }
        })
    }
}

/// Instructions that come into one loop.
#[derive(Default)]
pub(super) struct Run {
    pub insts: Vec<InstId>,
    touches: Vec<Touch>,
    effects: bool,
    /// The first touches: after these, all threads did something together.
    sealed: usize,
}

impl Run {
    pub(super) fn push(&mut self, id: InstId, reach: Reach) {
        self.insts.push(id);
        self.touches.extend(reach.touches);
        self.effects |= reach.effects;
    }

    pub(super) fn seal(&mut self) {
        self.sealed = self.touches.len();
    }

    pub(super) fn clear(&mut self) -> Vec<InstId> {
        std::mem::take(self).insts
    }

    /// Whether something that is done once, and stands behind these instructions, cannot be done before them.
    pub(super) fn holds_up(&self, next: &Reach) -> bool {
        let both =
            |a: &Touch, b: &Touch| (a.kind != Kind::Read || b.kind != Kind::Read) && may_meet(&a.memory, &b.memory);
        self.effects && (next.effects || !next.touches.is_empty())
            || next.effects && !self.touches.is_empty()
            || self.touches.iter().any(|a| next.touches.iter().any(|b| both(a, b)))
    }

    /// Whether the next instruction of threads has to wait for these of all threads.
    pub(super) fn ends_before(&self, function: &Function, next: &Reach) -> bool {
        self.touches.iter().enumerate().any(|(n, first)| {
            next.touches.iter().any(|second| match (first.kind, second.kind) {
                (Kind::Read, Kind::Read) => false,
                _ if !may_meet(&first.memory, &second.memory) => false,
                _ if !matches!(first.memory, Memory::Block(_)) => n < self.sealed,
                (_, Kind::Read) => true,
                _ => !same_element(function, first, second) && !apart(function, first, second),
            })
        })
    }
}

/// A launch may give one array twice, which is not known yet.
fn may_meet(a: &Memory, b: &Memory) -> bool {
    matches!((a, b), (Memory::Global(_), Memory::Global(_))) || a == b
}

pub(super) fn same_element(function: &Function, a: &Touch, b: &Touch) -> bool {
    let (Some(first), Some(second)) = (&a.indices, &b.indices) else { return false };
    let number = |v| function.as_const(v).and_then(|c| c.as_int());
    let same = |(&i, &j)| i == j || number(i).is_some() && number(i) == number(j);
    a.array == b.array && first.iter().zip(second).all(same)
}

/// Whether two accesses are to different elements, whatever the threads are: an index is another constant.
fn apart(function: &Function, a: &Touch, b: &Touch) -> bool {
    let (Some(first), Some(second)) = (&a.indices, &b.indices) else { return false };
    let number = |v| function.as_const(v).and_then(|c| c.as_int());
    a.array == b.array
        && first
            .iter()
            .zip(second)
            .any(|(&i, &j)| matches!((number(i), number(j)), (Some(i), Some(j)) if i >= 0 && j >= 0 && i != j))
}
