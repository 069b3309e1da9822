//! Static race analysis: in which arrays may threads of a launch race? Where the answer is "in
//! none", the launch gives one result in any order of its threads.
//!
//! An array is safe if nothing writes it; if every element is one thread's alone
//! ([`super::ownership`]); or if all that is done to it are atomic updates of one kind. Different
//! roots are taken to share no memory.
//!
//! Two idioms are not races: a read that only decides whether an atomic minimum or
//! maximum is worth its time, and what a thread does after it asked an atomic whether it may (a
//! lock, the last of all threads): see [`Meetings::ignored`].

use std::collections::{BTreeMap, BTreeSet};

use super::alias::{Root, root};
use super::ownership::{IndexFacts, PrivateArrays, Sharing, private_arrays_among};
use crate::ids::IdSet;
use crate::ir::*;
use crate::source::Span;
use crate::types::{StructTable, Type};

/// Where threads may meet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meetings {
    /// The arrays in which they may; None: in any.
    pub arrays: Option<BTreeSet<Root>>,
    /// The arrays that are written.
    pub written: BTreeSet<Root>,
    /// It reads memory at an address ([`Root::Memory`]), which is taken to be none of the arrays
    /// that are written: whoever knows the addresses has to look.
    pub reads_memory: bool,
    /// The places of accesses whose order is no matter.
    pub ignored: IdSet<Span>,
    /// The same, as long as no gradient is asked for: the threads decide by atomics who comes when.
    pub arranged: IdSet<Span>,
}

/// What is done to one array.
#[derive(Default)]
struct Uses {
    /// One of the accesses.
    array: Option<ValueId>,
    reads: bool,
    stores: bool,
    updates: BTreeSet<u8>,
}

/// Atomics of one number give the same in any order; those without one do not.
fn update(op: &Op) -> Option<u8> {
    if let Op::AtomicCas { .. } = op {
        return Some(6);
    }
    let Op::Atomic { op, .. } = op else { return None };
    match op {
        AtomicOp::Add | AtomicOp::Sub => Some(0),
        AtomicOp::Min => Some(1),
        AtomicOp::Max => Some(2),
        AtomicOp::And => Some(3),
        AtomicOp::Or => Some(4),
        AtomicOp::Xor => Some(5),
        AtomicOp::Exchange => None,
    }
}

/// Of a kernel without calls.
pub fn meetings(function: &Function, structs: &StructTable, known: &IndexFacts) -> Meetings {
    let mut uses: BTreeMap<Root, Uses> = BTreeMap::new();
    let (mut anywhere, mut read_anywhere, mut reads_memory) = (false, false, false);
    function.walk(function.entry, &mut |_, inst| {
        let own = inst.op.properties();
        let Some(access) = inst.op.access() else {
            anywhere |= own.accesses_memory();
            return;
        };
        if !matches!(function.ty(access.array), Type::Array(_)) {
            return;
        }
        let root = root(function, access.array);
        match root {
            Root::Param(..) => {}
            // Nothing writes it during a launch.
            Root::Constant => return,
            Root::Memory if !own.writes && !own.atomic => {
                reads_memory = true;
                return;
            }
            _ => {
                anywhere |= own.writes || own.atomic;
                read_anywhere = true;
            }
        }
        let uses = uses.entry(root).or_default();
        uses.array = Some(access.array);
        match update(&inst.op) {
            _ if !own.atomic => {
                uses.reads |= own.reads;
                uses.stores |= own.writes;
            }
            Some(kind) => _ = uses.updates.insert(kind),
            None => uses.stores = true,
        }
    });
    let changed = |uses: &Uses| uses.stores || !uses.updates.is_empty();
    let written: BTreeSet<Root> = uses.iter().filter(|(_, u)| changed(u)).map(|(root, _)| root.clone()).collect();
    let mut private: Option<PrivateArrays> = None;
    let mut shared = BTreeSet::new();
    for (root, uses) in uses.into_iter().filter(|(_, uses)| changed(uses)) {
        if !uses.stores && !uses.reads && uses.updates.len() == 1 {
            continue;
        }
        let private =
            private.get_or_insert_with(|| private_arrays_among(function, structs, Sharing::Never, known, &|_| true));
        if !uses.array.is_some_and(|array| private.contains(function, array)) {
            shared.insert(root);
        }
    }
    let everywhere = anywhere || read_anywhere && !written.is_empty();
    let arrays = (!everywhere).then_some(shared);
    let mut meetings = Meetings { arrays, written, reads_memory, ..Meetings::default() };
    if meetings.arrays.as_ref().is_none_or(|arrays| !arrays.is_empty()) {
        let habits = Habits { function, known, written: &meetings.written };
        meetings.ignored = habits.guards();
        meetings.arranged = habits.arranged();
    }
    meetings
}

struct Habits<'a> {
    function: &'a Function,
    known: &'a IndexFacts,
    written: &'a BTreeSet<Root>,
}

impl Habits<'_> {
    fn same(&self, a: ValueId, b: ValueId) -> bool {
        a == b || self.known.first.get(a).is_some_and(|first| Some(first) == self.known.first.get(b))
    }

    /// The same, or read from one element that nothing writes.
    fn same_number(&self, a: ValueId, b: ValueId) -> bool {
        let read = |value| if let Some(Op::Load(access)) = self.function.op(value) { Some(access) } else { None };
        self.same(a, b)
            || read(a).zip(read(b)).is_some_and(|(a, b)| {
                let indices = a.indices.len() == b.indices.len();
                indices
                    && a.array == b.array
                    && a.path == b.path
                    && a.indices.iter().zip(&b.indices).all(|(&a, &b)| self.same(a, b))
                    && matches!(self.function.ty(a.array), Type::Array(_))
                    && matches!(root(self.function, a.array), Root::Param(..))
                    && !self.written.contains(&root(self.function, a.array))
            })
    }

    /// The reads of `if x > best[k]: wp.atomic_max(best, k, x)`, and the like.
    fn guards(&self) -> IdSet<Span> {
        let function = self.function;
        // What each value is read by.
        let mut readers: BTreeMap<ValueId, Vec<InstId>> = BTreeMap::new();
        function.walk(function.entry, &mut |id, inst| {
            inst.op.for_each_operand(|value| readers.entry(value).or_default().push(id));
        });
        let only = |value: ValueId| match readers.get(&value).map(Vec::as_slice) {
            Some(&[reader]) => Some(&function.insts[reader].op),
            _ => None,
        };
        let mut found = IdSet::default();
        function.walk(function.entry, &mut |_, inst| {
            let (Op::Load(read), &[content]) = (&inst.op, &inst.results[..]) else { return };
            let Some(Op::Compare(_, a, b)) = only(content) else { return };
            let other = if *a == content { *b } else { *a };
            let Some(&reader) = readers.get(&content).and_then(|list| list.first()) else { return };
            let &[condition] = &function.insts[reader].results[..] else { return };
            let Some(Op::If { then, otherwise, .. }) = only(condition) else { return };
            let fits = |id: &InstId| match &function.insts[*id].op {
                Op::Atomic { op: AtomicOp::Min | AtomicOp::Max, access, value } => {
                    let same = access.indices.iter().zip(&read.indices).all(|(&a, &b)| self.same(a, b));
                    let unused = function.insts[*id].results.iter().all(|old| !readers.contains_key(old));
                    same && unused
                        && access.array == read.array
                        && access.path == read.path
                        && self.same_number(*value, other)
                }
                Op::Yield(values) => values.is_empty(),
                op @ (plain!() | Op::Call(..) | nested!() | Op::Break(_) | Op::Continue(_) | Op::Return(_)) => {
                    op.blocks().is_empty() && (matches!(op, Op::Load(_)) || !op.properties().has_side_effect())
                }
            };
            if [then, otherwise].iter().all(|block| function.blocks[**block].insts.iter().all(fits)) {
                found.insert(inst.span);
            }
        });
        found
    }

    /// What is computed from the old values of atomics, or chosen by them.
    fn told_by_atomics(&self) -> BTreeSet<ValueId> {
        let function = self.function;
        let mut told: BTreeSet<ValueId> = BTreeSet::new();
        loop {
            let before = told.len();
            function.walk(function.entry, &mut |_, inst| {
                let blocks = inst.op.blocks();
                let mut from = inst.op.properties().atomic;
                if blocks.is_empty() {
                    if !inst.op.properties().accesses_memory() {
                        inst.op.for_each_operand(|value| from |= told.contains(&value));
                    }
                } else {
                    // What a branch or loop gives depends on what it was given, and on how its
                    // blocks end.
                    inst.op.for_each_operand(|value| from |= told.contains(&value));
                    for &block in blocks.iter() {
                        function.walk(block, &mut |_, inner| {
                            if inner.op.is_terminator() {
                                inner.op.for_each_operand(|value| from |= told.contains(&value));
                            }
                        });
                    }
                    if from {
                        told.extend(blocks.iter().flat_map(|&block| function.blocks[block].params.iter().copied()));
                    }
                }
                if from {
                    told.extend(inst.results.iter().copied());
                }
            });
            if told.len() == before {
                return told;
            }
        }
    }

    /// The accesses in branches that an atomic's old value decides on; all of them where a loop
    /// waits for one.
    fn arranged(&self) -> IdSet<Span> {
        let function = self.function;
        let told = self.told_by_atomics();
        let mut found = IdSet::default();
        let mut waits = false;
        let accesses = |block: BlockId, found: &mut IdSet<Span>| {
            function.walk(block, &mut |_, inst| {
                if inst.op.access().is_some() {
                    found.insert(inst.span);
                }
            });
        };
        function.walk(function.entry, &mut |_, inst| match &inst.op {
            Op::If { condition, then, otherwise } if told.contains(condition) => {
                [then, otherwise].iter().for_each(|block| accesses(**block, &mut found));
            }
            Op::While { condition, .. } => {
                waits |= function.yielded(*condition).iter().any(|v| told.contains(v));
            }
            straight!() | Op::If { .. } | Op::For { .. } | jumps!() => {}
        });
        if waits {
            accesses(function.entry, &mut found);
        }
        found
    }
}
