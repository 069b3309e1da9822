//! How does the reverse of a loop get the state at the start of each iteration?

use std::collections::BTreeSet;
use std::rc::Rc;

use super::buffers::slots_of;
use crate::autodiff::analysis::facts::ForwardFacts;
use crate::autodiff::analysis::needed::closure;
use crate::autodiff::analysis::world::World;
use crate::autodiff::{Options, Store};
use crate::ids::{IdMap, IdSet};
use crate::ir::{BinaryOp, BlockId, Function, Inst, InstId, Op, ValueId, jumps, straight};
use crate::passes::loops::trips;
use crate::types::{Layout, Scalar};

/// The bytes per thread that a loop may keep in local memory.
const STACK_BYTES: u64 = 2048;

/// The same where local memory is asked for.
const MOST_STACK_BYTES: u64 = 1 << 18;

/// The most instructions that the loops of a function are unrolled to, all together; with tiles,
/// each is code of a whole block, which takes the passes and LLVM far longer.
const MAX_UNROLLED: [u64; 2] = [1 << 14, 1 << 11];

/// What is left to unroll in a function.
pub struct Unrolled {
    left: u64,
    /// The loops in one that is unrolled, which paid for them.
    inside: IdSet<InstId>,
}

impl Unrolled {
    pub fn none_yet(function: &Function) -> Unrolled {
        Unrolled { left: MAX_UNROLLED[usize::from(function.by_block)], inside: IdSet::default() }
    }

    /// Whether a loop is unrolled; outer ones are asked about first.
    pub fn takes(&mut self, function: &Function, id: InstId) -> bool {
        let inst = &function.insts[id];
        let Some(size) = unrolled_size(function, inst) else { return false };
        if !self.inside.contains(&id) {
            let Some(left) = self.left.checked_sub(size) else { return false };
            self.left = left;
        }
        for block in inst.op.blocks() {
            function.walk(block, &mut |id, _| _ = self.inside.insert(id));
        }
        true
    }
}

/// The bytes per thread that the snapshots of a loop may take, and how many there are at least and
/// at most.
const SNAPSHOT_BYTES: u64 = 512;
const SNAPSHOTS: [u64; 2] = [12, 32];

/// Where one carried value of a loop is at the start of iteration k of the reverse sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Nothing reads it.
    Dead,
    /// At start + k * amount (or minus).
    Linear { amount: ValueId, minus: bool },
    /// At the largest or smallest value so far, which only its own `max` or `min` reads. From the
    /// iteration on in which it came to its final value, it is that. Before, its adjoint is zero
    /// already, and all that matters is that it was another: the start will do.
    Extreme,
    /// Where the loop's store put it.
    Kept,
}

/// How one loop is reversed.
#[derive(Clone, Debug)]
pub struct Plan {
    pub store: Store,
    pub slots: Vec<Slot>,
    /// The slots that going on from a snapshot takes: those kept, and what computes them.
    pub snapshot: Vec<usize>,
    /// The slots that are linear in the number of the iteration, needed in reverse or only for
    /// going on; the others `Dead`.
    pub counters: Vec<Slot>,
    /// What the reverse of an iteration computes again, and what going on from a snapshot computes.
    pub needs: Rc<IdSet<ValueId>>,
    pub steps: Rc<IdSet<ValueId>>,
    /// The number of iterations, where it is known.
    pub iterations: Option<u64>,
    /// The snapshots that there is room for, if it is checkpointed.
    pub snapshots: u32,
    /// Active values from outside that the body uses: their adjoints go round the reverse loop.
    pub outer: Vec<ValueId>,
    /// The slots whose adjoints go round.
    pub active: Vec<usize>,
}

impl Plan {
    /// The numbers of the slots whose value follows from when they came to their final one.
    pub fn extremes(&self) -> Vec<usize> {
        (0..self.slots.len()).filter(|&n| self.slots[n] == Slot::Extreme).collect()
    }

    pub fn keeps(&self) -> bool {
        self.slots.contains(&Slot::Kept)
    }

    /// The numbers of the slots that a store keeps.
    pub fn kept(&self) -> Vec<usize> {
        (0..self.slots.len()).filter(|&n| self.slots[n] == Slot::Kept).collect()
    }
}

/// A loop's body and the number of its parameters that are not carried.
pub fn body_of(op: &Op) -> Option<(BlockId, usize)> {
    match op {
        Op::For { body, .. } => Some((*body, 1)),
        Op::While { body, .. } => Some((*body, 0)),
        straight!() | Op::If { .. } | jumps!() => None,
    }
}

pub fn plan(
    world: &World<'_>,
    function: &Function,
    facts: &ForwardFacts,
    reads: &IdMap<InstId, Vec<ValueId>>,
    leaves: &IdMap<InstId, Option<ValueId>>,
    inst: &Inst,
    options: &Options,
) -> Plan {
    let (body, first) = body_of(&inst.op).expect("called for loops");
    let all = &function.blocks[body].params;
    let params = &all[first..];
    let inside = function.computed_in(body);
    let given: IdSet<ValueId> = all.iter().copied().collect();
    let mut roots = Vec::new();
    let mut used = BTreeSet::new();
    function.walk(body, &mut |id, inst| {
        roots.extend(reads.get(&id).into_iter().flatten().copied());
        inst.op.for_each_operand(|v| {
            used.insert(v);
        });
    });
    let outer = used
        .into_iter()
        .filter(|v| facts.activity.is_active(*v) && !inside.contains(v) && !given.contains(v))
        .collect();
    // At the start of an iteration its parameters are there, and all that is outside the loop.
    // (Looking behind what an outer loop carries would lead back into this one.)
    let there = |value: ValueId| !inside.contains(&value);
    let needs = closure(function, &facts.holders, &facts.fills, roots, &there, leaves);
    let next = function.yielded(body);
    let slots: Vec<Slot> = params
        .iter()
        .zip(next)
        .map(|(&param, &value)| match needs.contains(&param) {
            false => Slot::Dead,
            true => linear(function, param, value, &inside, &given)
                .or_else(|| {
                    extreme(function, inst, body, param, value).filter(|_| options.store != Some(Store::Unroll))
                })
                .unwrap_or(Slot::Kept),
        })
        .collect();
    let iterations =
        if let Op::For { start, end, step, .. } = inst.op { trips(function, start, end, step) } else { None };
    // Going on from a snapshot computes the next kept values, which takes others again.
    let mut snapshot: BTreeSet<usize> = (0..slots.len()).filter(|&n| slots[n] == Slot::Kept).collect();
    let steps = loop {
        let steps = closure(function, &facts.holders, &facts.fills, snapshot.iter().map(|&n| next[n]), &there, leaves);
        let before = snapshot.len();
        snapshot.extend((0..slots.len()).filter(|&n| {
            steps.contains(&params[n]) && linear(function, params[n], next[n], &inside, &given).is_none()
        }));
        if snapshot.len() == before {
            break steps;
        }
    };
    let counters = params
        .iter()
        .zip(next)
        .map(|(&param, &value)| linear(function, param, value, &inside, &given).unwrap_or(Slot::Dead))
        .collect();
    let size = |n: usize| u64::from(Layout::of(function.ty(params[n]), &world.module.structs).size);
    let bytes: u64 = (0..slots.len()).filter(|&n| slots[n] == Slot::Kept).map(size).sum();
    // A snapshot also says which iteration it is of.
    let snapshot_bytes = snapshot.iter().map(|&n| size(n)).sum::<u64>() + 4;
    let snapshots = (SNAPSHOT_BYTES / snapshot_bytes).clamp(SNAPSHOTS[0], SNAPSHOTS[1]);
    let snapshots = iterations.map_or(snapshots, |iterations| iterations.min(snapshots)).max(1) as u32;
    let fits = iterations.is_some_and(|iterations| iterations.saturating_mul(bytes) <= STACK_BYTES);
    let small = iterations.is_some_and(|iterations| iterations.saturating_mul(bytes) <= MOST_STACK_BYTES);
    // Only kernels are given buffers.
    let can_tape = function.is_kernel()
        && (0..slots.len()).all(|n| slots_of(function.ty(params[n]), &world.module.structs).is_some());
    let store = match options.store {
        Some(Store::Unroll) => Store::Unroll,
        Some(Store::Checkpoint) => Store::Checkpoint,
        Some(Store::Stack) if small => Store::Stack,
        Some(Store::Tape | Store::Stack) if can_tape => Store::Tape,
        _ if fits => Store::Stack,
        _ => Store::Checkpoint,
    };
    let active = (0..slots.len())
        .filter(|&n| {
            facts.activity.is_active(params[n])
                || facts.activity.is_active(inst.results[n])
                || facts.activity.is_active(next[n])
        })
        .collect();
    Plan {
        store,
        slots,
        snapshot: snapshot.into_iter().collect(),
        counters,
        needs: Rc::new(needs),
        steps: Rc::new(steps),
        iterations,
        snapshots,
        outer,
        active,
    }
}

/// The largest or smallest value so far: `next` is that of `param` and another value, in every
/// iteration, and nothing else reads either of them.
fn extreme(function: &Function, inst: &Inst, body: BlockId, param: ValueId, next: ValueId) -> Option<Slot> {
    let Op::For { .. } = inst.op else { return None };
    // Of two that are equal the left one counts: the first of all.
    let Op::Binary(BinaryOp::Max | BinaryOp::Min, left, right) = function.def(next)?.op else { return None };
    let every_time = function.blocks[body].insts.iter().any(|&id| function.insts[id].results.contains(&next));
    if left != param || right == param || !every_time || !function.ty(param).as_scalar().is_some_and(Scalar::is_float) {
        return None;
    }
    let (mut of_param, mut of_next) = (0, 0);
    function.walk(body, &mut |_, inst| {
        inst.op.for_each_operand(|v| {
            of_param += u32::from(v == param);
            of_next += u32::from(v == next);
        });
    });
    (of_param == 1 && of_next == 1).then_some(Slot::Extreme)
}

/// The instructions of a `for` with a known number of iterations when it and those inside it are
/// unrolled; None: it has none.
fn unrolled_size(function: &Function, inst: &Inst) -> Option<u64> {
    let Op::For { start, end, step, body, .. } = inst.op else { return None };
    Some(trips(function, start, end, step)?.saturating_mul(block_size(function, body)))
}

fn block_size(function: &Function, block: BlockId) -> u64 {
    let size = |inst: &Inst| {
        let nested =
            || inst.op.blocks().into_iter().map(|block| block_size(function, block)).fold(1, u64::saturating_add);
        unrolled_size(function, inst).unwrap_or_else(nested)
    };
    function.blocks[block].insts.iter().map(|&id| size(&function.insts[id])).fold(0, u64::saturating_add)
}

/// A counter: an integer that every iteration changes by an amount that the loop does not change.
pub fn linear(
    function: &Function,
    param: ValueId,
    next: ValueId,
    inside: &IdSet<ValueId>,
    given: &IdSet<ValueId>,
) -> Option<Slot> {
    if !function.ty(param).is_int() {
        return None;
    }
    let fixed = |v: ValueId| function.as_const(v).is_some() || !(inside.contains(&v) || given.contains(&v));
    match function.def(next)?.op {
        Op::Binary(BinaryOp::Add, a, b) if a == param && fixed(b) => Some(Slot::Linear { amount: b, minus: false }),
        Op::Binary(BinaryOp::Add, a, b) if b == param && fixed(a) => Some(Slot::Linear { amount: a, minus: false }),
        Op::Binary(BinaryOp::Sub, a, b) if a == param && fixed(b) => Some(Slot::Linear { amount: b, minus: true }),
        // Another next value is kept.
        _ => None,
    }
}
