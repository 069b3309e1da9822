//! Where does a gradient take it for granted that the threads of a launch do not meet in memory?
//!
//! A store that two threads make to one element has no gradient (the last one wins, whichever that
//! is), and neither has a value that another thread of the same launch has stored. Where the
//! indices prove that neither happens, nothing is said; elsewhere the assumption is named.

use crate::autodiff::analysis::messages;
use std::collections::{BTreeMap, BTreeSet};

use super::facts::ForwardFacts;
use super::needed::closure;
use super::run_time::RunTime;
use super::world::World;
use crate::analysis::alias::{Root, root};
use crate::analysis::ownership::{Sharing, private_arrays_among};
use crate::diag::Diagnostic;
use crate::ids::{IdMap, IdVec};
use crate::ir::{Access, AtomicOp, BinaryOp, BlockId, Function, FunctionKind, Inst, InstId, Op, ValueId};
use crate::source::Span;
use crate::types::Type;

/// What is done to one array.
#[derive(Default)]
struct Uses {
    /// The first of each kind.
    active_load: Option<(Span, ValueId)>,
    store: Option<(Span, ValueId)>,
    stores: Vec<Span>,
    /// Whether a run has to tell the indices of each store apart.
    left_to_runs: bool,
    /// For each store how quotient and remainder of the thread's number are among its indices.
    pairs: Vec<Option<Pair>>,
    sum: Option<Span>,
    extreme: Option<Span>,
    /// The first atomic of a value with a gradient.
    active_update: Option<Span>,
    /// The elements of sums and of extremes, where all are constants.
    sums: Elements,
    extremes: Elements,
    /// The first store that may come after an extreme, and the elements of them all.
    later: Option<Span>,
    laters: Elements,
    /// Of the stores in the outermost loop that is walked: its number, the first, their elements.
    looped: (usize, Option<Span>, Elements),
}

impl Uses {
    /// A store, in an outermost loop or outside of all (0).
    fn stored(&mut self, span: Span, turn: usize, function: &Function, array: ValueId, indices: &[ValueId]) {
        if self.looped.0 != turn {
            self.looped = (turn, None, Elements::default());
        }
        if turn != 0 {
            self.looped.1.get_or_insert(span);
            self.looped.2.add(function, array, indices);
        }
        if self.extreme.is_some() {
            self.later.get_or_insert(span);
            self.laters.add(function, array, indices);
        }
    }

    /// An extreme: what the same loop stored before comes after it in the next iteration.
    fn extreme_in(&mut self, turn: usize) {
        if turn != 0 && self.looped.0 == turn {
            self.later = self.later.or(self.looped.1);
            self.laters.join(&self.looped.2);
        }
    }
}

/// `a[i // n, i % n]`: the indices that are quotient and remainder, and `n`.
type Pair = (usize, usize, ValueId);

/// The pair among indices that tells the number of a thread in a row of them, where `n` is more
/// than 0: it is assumed, as all that is said here.
fn pair(function: &Function, first: &IdVec<ValueId, ValueId>, indices: &[ValueId]) -> Option<Pair> {
    let FunctionKind::Kernel { rank: 1 } = function.kind else { return None };
    let through_casts = |value: ValueId| {
        let mut at = value;
        while let Some(&Op::Cast(inner)) = function.op(at) {
            at = inner;
        }
        at
    };
    let by = |value: ValueId, wanted: &[BinaryOp]| {
        let Some(&Op::Binary(op, thread, n)) = function.op(through_casts(value)) else { return None };
        let is_thread = matches!(function.op(through_casts(thread)), Some(Op::ThreadIndex(0)));
        let n = through_casts(n);
        (wanted.contains(&op) && is_thread).then(|| first.get(n).copied().unwrap_or(n))
    };
    let whole = |value| by(value, &[BinaryOp::Div, BinaryOp::FloorDiv]);
    let rest = |value| by(value, &[BinaryOp::Rem]);
    let (quotient, n) = indices.iter().enumerate().find_map(|(at, &index)| Some((at, whole(index)?)))?;
    let (remainder, same) = indices.iter().enumerate().find_map(|(at, &index)| Some((at, rest(index)?)))?;
    let equal = n == same || function.as_const(n).is_some_and(|n| function.as_const(same) == Some(n));
    equal.then_some((quotient, remainder, n))
}

/// Indices that are constants.
#[derive(Default)]
struct Elements {
    known: BTreeSet<Vec<i128>>,
    others: bool,
    /// The arrays and indices of the others.
    values: BTreeSet<(ValueId, Vec<ValueId>)>,
}

impl Elements {
    fn add(&mut self, function: &Function, array: ValueId, index: &[ValueId]) {
        let whole = !matches!(function.op(array), Some(Op::View(..)));
        let constants: Option<Vec<i128>> =
            index.iter().map(|&i| function.as_const(i)?.as_int().filter(|&i| i >= 0)).collect();
        match constants.filter(|_| whole) {
            Some(element) => _ = self.known.insert(element),
            None => {
                self.others = true;
                self.values.insert((array, index.to_vec()));
            }
        }
    }

    fn join(&mut self, other: &Elements) {
        self.known.extend(other.known.iter().cloned());
        self.others |= other.others;
        self.values.extend(other.values.iter().cloned());
    }

    fn may_meet(&self, other: &Elements) -> bool {
        self.others || other.others || self.known.intersection(&other.known).next().is_some()
    }

    /// Whether both surely have an element in common.
    fn meet(&self, other: &Elements) -> bool {
        self.known.intersection(&other.known).next().is_some()
            || self.values.intersection(&other.values).next().is_some()
    }
}

/// Whether a value depends on elements of this array, itself or by way of memory that the kernel
/// writes.
fn comes_from(function: &Function, facts: &ForwardFacts, value: ValueId, array: Root) -> bool {
    if !facts.activity.is_active(value) {
        return false;
    }
    let from = closure(function, &facts.holders, &facts.fills, [value], &|_| false, &IdMap::default());
    let roots: Vec<Root> = function
        .insts
        .values()
        .filter(|inst| inst.results.iter().any(|result| from.contains(result)))
        .filter_map(|inst| {
            let Op::Load(access) = &inst.op else { return None };
            facts.activity.any_result(inst).then(|| root(function, access.array))
        })
        .collect();
    let mut written = false;
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Store { access, .. } | Op::Atomic { access, .. } | Op::AtomicCas { access, .. } = &inst.op {
            written |= roots.contains(&root(function, access.array));
        }
    });
    roots.contains(&array) || written
}

/// The findings about a kernel in normal form: warnings that name an assumption, and errors; and
/// the stores that are taken to be made by different threads to different elements.
pub fn findings(world: &World<'_>, function: &Function, facts: &ForwardFacts) -> (Vec<Diagnostic>, Vec<Span>) {
    if !function.is_kernel() || function.library {
        return (Vec::new(), Vec::new());
    }
    let structs = &world.module.structs;
    let run = RunTime::new(function, &facts.known.uniformity, &facts.known.first);
    let mut arrays: BTreeMap<Root, (ValueId, Uses)> = BTreeMap::new();
    each_in_turn(function, &mut |id, inst, turn| {
        let (access, kind) = match &inst.op {
            Op::Load(access) if facts.activity.any_result(inst) => (access, None),
            Op::Store { access, value } if function.ty(*value).holds_floats(structs) => (access, None),
            // What has no gradient itself changes what others are compared with.
            Op::Atomic { op, access, value } if function.ty(*value).holds_floats(structs) => (access, Some(*op)),
            // No other operation reads or changes an element with a gradient.
            _ => return,
        };
        let Access { array, ref indices, .. } = *access;
        if !matches!(function.ty(array), Type::Array(_)) {
            return;
        }
        let uses = &mut arrays.entry(root(function, array)).or_insert_with(|| (array, Uses::default())).1;
        match (kind, &inst.op) {
            (Some(AtomicOp::Min | AtomicOp::Max), Op::Atomic { value, .. }) => {
                // An extreme of what its own array held takes an earlier extreme's place, as a
                // store does.
                if comes_from(function, facts, *value, root(function, array)) {
                    uses.stored(inst.span, turn, function, array, indices);
                }
                if facts.activity.is_active(*value) {
                    uses.active_update.get_or_insert(inst.span);
                }
                uses.extreme.get_or_insert(inst.span);
                uses.extremes.add(function, array, indices);
                uses.extreme_in(turn);
            }
            (Some(kind), Op::Atomic { value, .. }) => {
                if facts.activity.is_active(*value) {
                    uses.active_update.get_or_insert(inst.span);
                } else if kind == AtomicOp::Exchange {
                    return;
                }
                uses.sum.get_or_insert(inst.span);
                uses.sums.add(function, array, indices);
            }
            (_, Op::Load(_)) => _ = uses.active_load.get_or_insert((inst.span, array)),
            // A store: nothing else has come here.
            _ => {
                uses.left_to_runs = run.decides(id, access) && (uses.stores.is_empty() || uses.left_to_runs);
                uses.store.get_or_insert((inst.span, array));
                uses.stores.push(inst.span);
                uses.pairs.push(pair(function, &facts.known.first, indices));
                uses.stored(inst.span, turn, function, array, indices);
            }
        }
    });
    // A kernel that never asks which thread it is runs on one.
    let mut asks = false;
    function.walk(function.entry, &mut |_, inst| asks |= matches!(inst.op, Op::ThreadIndex(_) | Op::ThreadNumber));
    let mut all = None;
    let mut stores = None;
    let mut found = Vec::new();
    let mut assumed_disjoint = Vec::new();
    for (array, uses) in arrays.values() {
        let name = name(function, *array);
        if let (Some(sum), Some(extreme)) = (uses.sum, uses.extreme)
            && uses.sums.may_meet(&uses.extremes)
        {
            let diagnostic = match uses.sums.meet(&uses.extremes) {
                true => messages::sums_and_extremes(&name, sum),
                // Perhaps of different elements: the launch is right then, and its gradient is not
                // known to be.
                false => {
                    let what = format!("sums and extremes of {name}, perhaps of one element");
                    messages::limit(sum, what)
                }
            };
            found.push(
                diagnostic
                    .label(extreme, "an extreme")
                    .help("use two launches or two arrays, or mark the kernel `enable_backward=False`"),
            );
            continue;
        }
        // The derivative of an extreme looks at what is left in its element.
        if let (Some((load, _)), Some(store), Some(extreme)) = (uses.active_load, uses.later, uses.extreme)
            && uses.laters.may_meet(&uses.extremes)
        {
            found.push(messages::stored_extreme(&name, store, extreme, load));
            continue;
        }
        let written = uses.store.map(|(span, _)| span).or(uses.active_update);
        if let (Some((load, array)), Some(written)) = (uses.active_load, written) {
            let private = all.get_or_insert_with(|| {
                private_arrays_among(function, structs, Sharing::Never, &facts.known, &|op| !matches!(op, Op::Call(..)))
            });
            if asks && !private.contains(function, array) {
                found.push(messages::read_and_written(&name, load, written));
                continue;
            }
        }
        if let Some((store, array)) = uses.store {
            let private = stores.get_or_insert_with(|| {
                private_arrays_among(function, structs, Sharing::Never, &facts.known, &|op| {
                    matches!(op, Op::Store { .. })
                })
            });
            if !private.contains(function, array) {
                assumed_disjoint.extend(uses.stores.iter().copied());
                if !asks || uses.pairs.iter().all(|pair| pair.is_some() && *pair == uses.pairs[0]) {
                    continue;
                }
                let finding = messages::stored_twice(&name, store);
                found.push(if uses.left_to_runs { finding.left_to_runs() } else { finding });
            }
        }
    }
    (found, assumed_disjoint)
}

fn name(function: &Function, array: ValueId) -> String {
    let mut at = array;
    loop {
        if let Some(name) = &function.values[at].name {
            return format!("`{name}`");
        }
        let Some(Op::View(inner, _) | Op::Extract(inner, _)) = function.op(at) else { return "an array".to_string() };
        at = *inner;
    }
}

/// Visits the instructions of a function in order, each with the number of the outermost loop that
/// it is in (0: none).
fn each_in_turn(function: &Function, visit: &mut impl FnMut(InstId, &Inst, usize)) {
    fn of_block(
        f: &Function,
        block: BlockId,
        turn: usize,
        loops: &mut usize,
        visit: &mut impl FnMut(InstId, &Inst, usize),
    ) {
        for &id in &f.blocks[block].insts {
            let inst = &f.insts[id];
            visit(id, inst, turn);
            let inner = if let Op::For { .. } | Op::While { .. } = inst.op
                && turn == 0
            {
                *loops += 1;
                *loops
            } else {
                turn
            };
            for nested in inst.op.blocks() {
                of_block(f, nested, inner, loops, visit);
            }
        }
    }
    of_block(function, function.entry, 0, &mut 0, visit);
}
