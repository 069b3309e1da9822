//! Which instructions of threads may stand in one loop over the threads, and what may be computed
//! before it?
//!
//! In a loop, a thread does all of its instructions before the next one begins. So one that reads
//! of a tile what another thread sets before comes into the next loop. An update, `t[i] += x`,
//! reads and sets the same element: threads do it one after the other. Of the caller's arrays,
//! threads see what others set where all of them have done something together since.

use super::updates::Updates;
use crate::analysis::effects::EffectTable;
use crate::analysis::guards::{Guard, Guards, guards_in};
use crate::ids::IdSet;
use crate::ir::properties::Io;
use crate::ir::{Function, InstId, Op};
use crate::passes::block_threads::accesses::{Kind, Memory, Touch, touches};
use crate::passes::block_threads::footprint::{Dimension, Elements, Iterations};
use crate::types::Type;

/// What an instruction touches, with all that is in it.
pub(super) struct Reach {
    touches: Vec<Touch>,
    guards: Guards,
    /// It prints, or calls what has effects that are not known one by one.
    pub effects: bool,
}

impl Reach {
    pub(super) fn of(function: &Function, effects: &EffectTable, id: InstId) -> Reach {
        let mut reach = Reach { touches: Vec::new(), guards: guards_in(function, id), effects: false };
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
        self.guards.extend(other.guards);
        self.effects |= other.effects;
        self
    }

    /// Whether it reads a tile that it also sets: what is read is what all threads have set by
    /// then.
    pub(super) fn rereads(&self) -> bool {
        self.reread(&|_, _| true).is_some()
    }

    /// What it sets and reads of one tile, if that `matters`.
    pub(super) fn reread(&self, matters: &dyn Fn(&Touch, &Touch) -> bool) -> Option<(&Touch, &Touch)> {
        let of_tiles = self.touches.iter().filter(|touch| matches!(touch.memory, Memory::Block(_)));
        let sets = of_tiles.filter(|touch| touch.kind != Kind::Read);
        sets.flat_map(|set| self.touches.iter().map(move |other| (set, other)))
            .find(|(set, other)| other.kind == Kind::Read && other.memory == set.memory && matters(set, other))
    }

    /// Two places that set elements of one tile, or one that is come to `again`, if that `matters`:
    /// where another thread sets the element too, the order of threads and places shows.
    pub(super) fn resets(&self, again: &IdSet<InstId>, matters: &dyn Fn(&Touch, &Touch) -> bool) -> bool {
        let sets = |touch: &&Touch| matches!(touch.memory, Memory::Block(_)) && touch.kind != Kind::Read;
        let sets: Vec<&Touch> = self.touches.iter().filter(sets).collect();
        let both_atomic = |a: &Touch, b: &Touch| a.kind == Kind::Atomic && b.kind == Kind::Atomic;
        sets.iter().enumerate().any(|(n, a)| {
            let others = sets[n..].iter().filter(|b| a.at != b.at || again.contains(&a.at));
            others.into_iter().any(|b| a.memory == b.memory && !both_atomic(a, b) && matters(a, b))
        })
    }

    pub(super) fn guards(&self, touch: &Touch) -> &[Guard] {
        self.guards.get(&touch.at).map_or(&[], |guards| &guards[..])
    }
}

/// Decides about elements that different threads touch.
pub(super) struct Threads<'a> {
    /// With what differs between the threads.
    pub iterations: Iterations<'a>,
    pub updates: &'a Updates,
}

impl Threads<'_> {
    /// Whether no thread touches at `a` what another one touches at `b`.
    pub(super) fn are_apart(&self, a: (&Touch, &[Guard]), b: (&Touch, &[Guard])) -> bool {
        let ((first, of_first), (second, of_second)) = (a, b);
        let (Some(i), Some(j)) = (&first.indices, &second.indices) else { return false };
        let Type::Local(ty) = self.iterations.function.ty(first.array) else { return false };
        let dimensions: Vec<Dimension> = ty.extents().iter().map(|&extent| Dimension::Extent(extent)).collect();
        first.array == second.array
            && self.iterations.are_apart(
                &Elements { indices: i, guards: of_first },
                &Elements { indices: j, guards: of_second },
                &dimensions,
            )
    }

    fn function(&self) -> &Function {
        self.iterations.function
    }
}

/// Instructions that come into one loop.
#[derive(Default)]
pub(super) struct Run {
    pub insts: Vec<InstId>,
    touches: Vec<Touch>,
    guards: Guards,
    effects: bool,
    /// The first touches: after these, all threads did something together.
    sealed: usize,
}

impl Run {
    pub(super) fn push(&mut self, id: InstId, reach: Reach) {
        self.insts.push(id);
        self.touches.extend(reach.touches);
        self.guards.extend(reach.guards);
        self.effects |= reach.effects;
    }

    pub(super) fn seal(&mut self) {
        self.sealed = self.touches.len();
    }

    pub(super) fn clear(&mut self) -> Vec<InstId> {
        std::mem::take(self).insts
    }

    /// Whether something that is done once, and is behind these instructions, cannot be done before
    /// them.
    pub(super) fn holds_up(&self, next: &Reach) -> bool {
        let both =
            |a: &Touch, b: &Touch| (a.kind != Kind::Read || b.kind != Kind::Read) && may_meet(&a.memory, &b.memory);
        self.effects && (next.effects || !next.touches.is_empty())
            || next.effects && !self.touches.is_empty()
            || self.touches.iter().any(|a| next.touches.iter().any(|b| both(a, b)))
    }

    /// Whether the next instruction of threads has to wait for these of all threads.
    pub(super) fn ends_before(&self, next: &Reach, threads: &Threads<'_>) -> bool {
        let function = threads.function();
        let guards = |touch: &Touch| self.guards.get(&touch.at).map_or(&[][..], |guards| &guards[..]);
        self.touches.iter().enumerate().any(|(n, first)| {
            next.touches.iter().any(|second| match (first.kind, second.kind) {
                (Kind::Read, Kind::Read) => false,
                _ if !may_meet(&first.memory, &second.memory) => false,
                _ if !matches!(first.memory, Memory::Block(_)) => n < self.sealed,
                (_, Kind::Read) => true,
                // Both parts of an update, which a thread does before the next one does it.
                (Kind::Read, _) if threads.updates.get(&first.at) == Some(&second.at) => false,
                // The last thread has the last word, in one loop as in two.
                (Kind::Write, Kind::Write)
                    if guards(first).is_empty()
                        && next.guards(second).is_empty()
                        && same_element(function, first, second) =>
                {
                    false
                }
                _ => {
                    !apart(function, first, second)
                        && !threads.are_apart((first, guards(first)), (second, next.guards(second)))
                }
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

/// Whether two accesses are to different elements, whatever the threads are: an index is another
/// constant.
fn apart(function: &Function, a: &Touch, b: &Touch) -> bool {
    let (Some(first), Some(second)) = (&a.indices, &b.indices) else { return false };
    let number = |v| function.as_const(v).and_then(|c| c.as_int());
    a.array == b.array
        && first
            .iter()
            .zip(second)
            .any(|(&i, &j)| matches!((number(i), number(j)), (Some(i), Some(j)) if i >= 0 && j >= 0 && i != j))
}
