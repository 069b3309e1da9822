//! Which loops do the threads of a block share, and what does one of them do alone?
//!
//! A loop without carried values whose iterations touch different elements is *dealt out*: thread
//! `t` of a block of `B` does the iterations `t, t + B, ...`. Of loops one in another that are all
//! like this, with known bounds, the indices together are dealt out, in row-major order; loops
//! between them that are not, such as that over the inner index of a product, go inside: each
//! thread has elements of its own, and goes through the inner index for each.
//!
//! Products of matrices are done by warps together, where the hardware has an instruction for them
//! ([`products`]).
//!
//! What only sets elements one after the other, such as a sort, is done by one thread. All else,
//! every thread does.

use super::accesses::{Count, Kind, Memory, Region, Sum, Touch, all_touches, counts, upward_loops};
use super::atomic_updates::{self, Update};
use super::products::{self, Copied, Found};
use super::tensor::Tensor;
use crate::analysis::effects::EffectTable;
use crate::analysis::guards::guards;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::{BlockId, Function, Inst, InstId, Op, Unit, ValueId};
use crate::passes::loop_reversal::{OneMore, one_more};
use crate::passes::loops::trips;
use crate::types::I32;

/// What becomes of a loop or branch.
#[derive(Clone, Debug)]
pub(in crate::passes) enum Plan {
    Deal(Nest),
    /// Thread 0 does it.
    OneThread,
    /// Warps multiply matrices.
    Product(Found, Unit),
    /// A part of an array is copied into a tile.
    Copy(Copied),
    /// Something else does it as well.
    Gone,
}

/// Loops one in another, the outermost first.
#[derive(Clone, Debug)]
pub(in crate::passes) struct Nest {
    pub loops: Vec<Level>,
    /// What threads change in elements that several of them may have, by atomic operations.
    pub updates: Vec<Update>,
}

#[derive(Clone, Debug)]
pub(in crate::passes) struct Level {
    pub inst: InstId,
    pub body: BlockId,
    pub variable: ValueId,
    /// Its least index and the number of its iterations, if it counts between constants, up or down
    /// by 1.
    pub known: Option<(i128, u64)>,
    /// The bounds that it has if it goes up, where it goes down by 1.
    pub up: Option<[OneMore; 2]>,
    pub dealt: bool,
}

impl Nest {
    pub fn dealt(&self) -> impl Iterator<Item = &Level> {
        self.loops.iter().filter(|level| level.dealt)
    }

    /// What is dealt out, in such an order that threads side by side touch elements side by side:
    /// the loop along which most accesses go by one comes last.
    pub fn side_by_side(&self, function: &Function) -> Vec<&Level> {
        let mut levels: Vec<&Level> = self.dealt().collect();
        let mut steps = vec![0u32; levels.len()];
        function.walk(self.loops[0].body, &mut |_, inst| {
            let Some(&last) = inst.op.access().and_then(|access| access.indices.last()) else { return };
            let sum = Sum::of(function, last);
            for (steps, level) in steps.iter_mut().zip(&levels) {
                *steps += u32::from(sum.terms.get(&level.variable).is_some_and(|times| times.abs() == 1));
            }
        });
        let Some(most) = steps.iter().copied().max() else { return levels };
        // Of several, the innermost: that is how the source goes through its elements.
        if let Some(at) = steps.iter().rposition(|&steps| steps == most) {
            let last = levels.remove(at);
            levels.push(last);
        }
        levels
    }

    /// The iterations that are dealt out, where their number is known.
    pub fn total(&self) -> Option<u64> {
        self.dealt().map(|level| Some(level.known?.1)).try_fold(1u64, |total, trips| total.checked_mul(trips?))
    }
}

/// A loop whose accesses are more than this is not looked at: pairs of them are compared.
const MOST_TOUCHES: usize = 400;

pub(super) struct Planner<'a> {
    function: &'a Function,
    effects: &'a EffectTable,
    ranges: Ranges,
    loops: IdMap<BlockId, [ValueId; 2]>,
    counts: IdMap<ValueId, Count>,
    uses: IdVec<ValueId, u32>,
    tensor: Tensor,
    plans: IdMap<InstId, Plan>,
    /// The tiles that products multiply, by instructions for matrices or element by element.
    factors: IdSet<ValueId>,
}

/// How many threads a block has where they have values of their own: exactly these, so each has one
/// iteration of a loop over them. Other kernels do with any number.
pub fn own_threads(function: &Function) -> Option<u32> {
    function
        .block_threads
        .map(|block_threads| block_threads.threads)
        .filter(|&threads| function.by_block && threads > 1)
}

/// The plans of a kernel's loops and branches; those without one are done by every thread.
pub(in crate::passes) fn plan(function: &Function, effects: &EffectTable, tensor: Tensor) -> IdMap<InstId, Plan> {
    let mut planner = Planner::new(function, effects, tensor);
    planner.block(function.entry);
    planner.copies();
    planner.plans
}

/// Two accesses to one element of which one writes, in a loop over the threads of the block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meeting {
    /// They may be of different threads; so one thread does the loop alone.
    MayBe([InstId; 2]),
    /// They are of different threads, and the element is the caller's.
    Is([InstId; 2]),
}

/// The first two such accesses in a loop over the threads of the block.
pub(super) fn meeting(function: &Function, effects: &EffectTable, id: InstId, alone: bool) -> Option<Meeting> {
    let planner = Planner::new(function, effects, Tensor::NONE);
    let level = planner.level(id)?;
    let region = planner.region(&level);
    let insts = |pair: [&Touch; 2]| pair.map(|touch| touch.at);
    let serial = || region.conflict(level.variable).filter(|_| alone).map(|pair| Meeting::MayBe(insts(pair)));
    serial().or_else(|| region.unordered_read(level.variable).map(|pair| Meeting::Is(insts(pair))))
}

impl<'a> Planner<'a> {
    fn new(function: &'a Function, effects: &'a EffectTable, tensor: Tensor) -> Planner<'a> {
        let (ranges, loops, uses) = (Ranges::of(function), upward_loops(function), crate::analysis::uses(function));
        let counts = counts(function);
        Planner {
            function,
            effects,
            ranges,
            loops,
            counts,
            uses,
            tensor,
            plans: IdMap::default(),
            factors: IdSet::default(),
        }
    }

    /// Returns whether something in the block is dealt out.
    fn block(&mut self, block: BlockId) -> bool {
        let function = self.function;
        let mut any = false;
        let insts = &function.blocks[block].insts;
        for (n, &id) in insts.iter().enumerate() {
            let inst = &function.insts[id];
            let nested = inst.op.blocks();
            if nested.is_empty() || self.plans.contains_key(&id) {
                continue;
            }
            if let Some(found) = products::find(function, id) {
                self.factors.extend([found.a, found.b]);
                if let Ok(unit) = found.unit(self.tensor) {
                    self.product(id, found, unit, insts.split_at(n));
                    any = true;
                    continue;
                }
            }
            if let Some(nest) = self.nest(id, inst) {
                self.plans.insert(id, Plan::Deal(nest));
                any = true;
                continue;
            }
            let mut dealt = false;
            for &block in nested.iter() {
                dealt |= self.block(block);
            }
            if !dealt && self.is_for_one(inst) {
                nested.iter().for_each(|&nested| self.forget(nested));
                self.plans.insert(id, Plan::OneThread);
            }
            any |= dealt;
        }
        any
    }

    /// What only loads factors of products is copied, where there are instructions for that.
    fn copies(&mut self) {
        if !self.tensor.copies || self.factors.is_empty() {
            return;
        }
        let copied = |plan: &Plan| match plan {
            Plan::Deal(nest) => products::copied(self.function, &self.ranges, nest),
            _ => None,
        };
        let found: Vec<(InstId, Copied)> = self
            .plans
            .iter()
            .filter_map(|(&id, plan)| Some((id, copied(plan)?)))
            .filter(|(_, copied)| self.factors.contains(&copied.tile))
            .collect();
        self.plans.extend(found.into_iter().map(|(id, copied)| (id, Plan::Copy(copied))));
    }

    /// A product; where what comes next adds it to another tile and nothing else reads it, it is
    /// added there at once.
    fn product(&mut self, id: InstId, mut found: Found, unit: Unit, (before, rest): (&[InstId], &[InstId])) {
        let function = self.function;
        let is_value = |id: &&InstId| matches!(function.insts[**id].op, Op::Const(_) | Op::Zero);
        // It is read and written in the product, and read in the sum.
        let passing = found.is_whole(function)
            && self.uses[found.c] == 3
            && before.iter().any(|&id| function.insts[id].results.contains(&found.c));
        if passing
            && let Some(&next) = rest.iter().skip(1).find(|id| !is_value(id))
            && let Some([to, from]) = products::sum_of_tiles(function, next)
            && from == found.c
            && to != found.a
            && to != found.b
        {
            found.c = to;
            self.plans.insert(next, Plan::Gone);
        }
        self.plans.insert(id, Plan::Product(found, unit));
    }

    /// Plans of what is inside a block that one thread does are void.
    fn forget(&mut self, block: BlockId) {
        self.function.walk(block, &mut |id, _| _ = self.plans.remove(&id));
    }

    /// Whether a loop or branch does nothing but set elements: nothing that is computed in it is
    /// used behind it.
    fn is_for_one(&self, inst: &Inst) -> bool {
        let function = self.function;
        if inst.results.iter().any(|&result| self.uses[result] > 0) {
            return false;
        }
        let blocks = inst.op.blocks();
        let mut writes = false;
        let all = blocks.iter().all(|&block| {
            let inside = function.defined_in(block);
            all_touches(function, self.effects, block).iter().all(|touch| {
                writes |= touch.kind != Kind::Read;
                !matches!(&touch.memory, Memory::Thread(array) if touch.kind != Kind::Read && !inside.contains(array))
            })
        });
        let loops = !matches!(inst.op, Op::If { .. });
        all && writes && !self.holds_shared(&blocks) && !leaves(function, inst, loops)
    }

    /// Whether tiles are made in blocks, or threads wait.
    fn holds_shared(&self, blocks: &[BlockId]) -> bool {
        let mut found = false;
        for &block in blocks {
            self.function.walk(block, &mut |_, inst| {
                let tile = inst.results.first().is_some_and(|&result| self.function.ty(result).is_tile());
                found |= tile || self.effects.properties(&inst.op).synchronises;
            });
        }
        found
    }

    fn level(&self, id: InstId) -> Option<Level> {
        let Op::For { start, end, step, ref init, body } = self.function.insts[id].op else { return None };
        let variable = *self.function.blocks[body].params.first()?;
        let int = |v| self.function.as_const(v)?.as_int();
        let known = match (int(start), int(step), trips(self.function, start, end, step)) {
            (Some(start), Some(1), Some(trips)) => Some((start, trips)),
            (Some(start), Some(-1), Some(trips)) => Some((start + 1 - i128::from(trips), trips)),
            _ => None,
        };
        let known = known.filter(|_| self.function.ty(variable) == I32);
        let scalar = self.function.ty(variable).as_scalar()?;
        let more = |bound| one_more(self.function, &self.ranges, bound, scalar);
        let up = if int(step) == Some(-1) { more(end).zip(more(start)).map(<[_; 2]>::from) } else { None };
        Some(Level { inst: id, body, variable, known, up, dealt: init.is_empty() })
    }

    fn region(&self, level: &Level) -> Region<'_> {
        let function = self.function;
        let every = own_threads(function).map(|threads| (0, u64::from(threads)));
        Region {
            function,
            ranges: &self.ranges,
            loops: &self.loops,
            counts: &self.counts,
            touches: all_touches(function, self.effects, level.body),
            guards: guards(function, level.body),
            inside: function.defined_in(level.body),
            threads: every.is_some() && level.known == every,
        }
    }

    /// The loops from this one inward, where one of them can be dealt out.
    fn nest(&self, id: InstId, inst: &Inst) -> Option<Nest> {
        let function = self.function;
        let mut first = self.level(id)?;
        let Op::For { step, .. } = inst.op else { return None };
        let steps = function.as_const(step).and_then(|c| c.as_int()).is_some_and(|step| step != 0);
        if !first.dealt || !steps || leaves(function, inst, false) || self.holds_shared(&[first.body]) {
            return None;
        }
        let mut prints = false;
        function.walk(first.body, &mut |_, inst| prints |= matches!(inst.op, Op::Print { .. }));
        let mut region = self.region(&first);
        let private = |touch: &Touch| {
            touch.kind != Kind::Read && matches!(touch.memory, Memory::Thread(_)) && region.is_outside(&touch.memory)
        };
        if prints || region.touches.len() > MOST_TOUCHES || region.touches.iter().any(private) {
            return None;
        }
        let once = |level: &Level| level.known.is_some_and(|(_, trips)| trips <= 1);
        first.dealt = once(&first) || region.is_independent(first.variable);
        let mut updates = Vec::new();
        if !first.dealt {
            updates = atomic_updates::integers(function, self.effects, &self.uses, first.body);
            atomic_updates::mark(&mut region.touches, &updates);
            first.dealt = !updates.is_empty() && region.is_independent(first.variable);
        }
        let fits = |level: &Level| once(level) || region.is_independent(level.variable);
        // Where threads have values of their own, each has one iteration of a loop over them.
        if !first.dealt && own_threads(function).is_some() {
            return None;
        }
        let known = first.known.is_some() || !first.dealt;
        let (mut body, mut loops) = (first.body, vec![first]);
        while let Some(mut level) = self.only_loop(body).and_then(|inner| self.level(inner)) {
            body = level.body;
            let jumps = leaves(function, &function.insts[level.inst], false);
            level.dealt &= level.known.is_some() && known && !jumps && fits(&level);
            loops.push(level);
        }
        while loops.len() > 1 && loops.last().is_some_and(|level| !level.dealt) {
            loops.pop();
        }
        let mut nest = Nest { loops, updates };
        if nest.total().is_some_and(|total| total > i32::MAX as u64) {
            nest.loops.truncate(1);
        }
        nest.loops.iter().any(|level| level.dealt).then_some(nest)
    }

    /// The loop that is all that a block does, besides computing what the loop uses.
    fn only_loop(&self, block: BlockId) -> Option<InstId> {
        let function = self.function;
        let [before @ .., last, end] = &function.blocks[block].insts[..] else { return None };
        let plain = |id: &InstId| {
            let own = self.effects.properties(&function.insts[*id].op);
            !own.is_fixed() && function.insts[*id].op.blocks().is_empty()
        };
        let ends = matches!(&function.insts[*end].op, Op::Yield(values) if values.is_empty());
        let loops = matches!(&function.insts[*last].op, Op::For { init, .. } if init.is_empty());
        (ends && loops && before.iter().all(plain)).then_some(*last)
    }
}

/// Whether something in a loop or branch leaves it, or returns. `own`: `break` and `continue` of
/// the loop itself do not count.
pub(in crate::passes) fn leaves(function: &Function, inst: &Inst, own: bool) -> bool {
    fn search(function: &Function, block: BlockId, in_loop: bool) -> bool {
        function.blocks[block].insts.iter().any(|&id| {
            let op = &function.insts[id].op;
            let inner = in_loop || matches!(op, Op::For { .. } | Op::While { .. });
            let jumps = matches!(op, Op::Return(_)) || !in_loop && matches!(op, Op::Break(_) | Op::Continue(_));
            jumps || op.blocks().iter().any(|&nested| search(function, nested, inner))
        })
    }
    inst.op.blocks().iter().any(|&block| search(function, block, own))
}
