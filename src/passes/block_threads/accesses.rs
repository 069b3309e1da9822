//! What does code touch, and do two iterations of a loop touch the same?

use std::collections::BTreeMap;

use super::footprint::{Dimension, Elements, Iterations, MOST_ITERATIONS};
use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::analysis::guards::{Guard, Guards};
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet};
use crate::ir::{BinaryOp, BlockId, CompareOp, Function, InstId, Op, UnaryOp, ValueDef, ValueId, Values, ViewIndex};
use crate::passes::loops::trips;
use crate::types::Type;

/// Whose memory an array is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::passes) enum Memory {
    /// A tile, named by its definition.
    Block(ValueId),
    /// A local array, of which each thread has its own.
    Thread(ValueId),
    /// The caller's.
    Global(Root),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::passes) enum Kind {
    Read,
    Write,
    Atomic,
}

/// One access of some code.
#[derive(Clone, Debug)]
pub(in crate::passes) struct Touch {
    pub at: InstId,
    pub kind: Kind,
    pub memory: Memory,
    pub array: ValueId,
    /// None: anywhere.
    pub indices: Option<Values>,
}

/// The array, or the given one where an array of adjoints is chosen: both stand for the same.
pub(in crate::passes) fn given(function: &Function, array: ValueId) -> ValueId {
    if let Some(&Op::Select { then, .. }) = function.op(array)
        && matches!(function.ty(array), Type::Array(_))
    {
        given(function, then)
    } else {
        array
    }
}

/// Whose memory `array` is.
pub(in crate::passes) fn memory(function: &Function, array: ValueId) -> Memory {
    let array = given(function, array);
    let found = if let Some(&Op::View(inner, _)) = function.op(array) {
        return memory(function, inner);
    } else {
        root(function, array)
    };
    match (found, function.ty(array)) {
        (Root::Local(local), Type::Local(ty)) if ty.block => Memory::Block(local),
        (Root::Local(local), _) => Memory::Thread(local),
        (found, _) => Memory::Global(found),
    }
}

/// The accesses of an instruction, without those of blocks in it.
pub(in crate::passes) fn touches(function: &Function, effects: &EffectTable, id: InstId, found: &mut Vec<Touch>) {
    let op = &function.insts[id].op;
    if let Op::Call(callee, _) = op {
        // What changes memory or has tiles was inlined; the rest reads what it is given.
        let reads = effects.properties(op).reads || !effects[*callee].loads.is_empty();
        if reads {
            let at = Touch {
                at: id,
                kind: Kind::Read,
                memory: Memory::Global(Root::Unknown),
                array: ValueId(0),
                indices: None,
            };
            found.push(at);
        }
        return;
    }
    if let Op::Product(product, arrays) = op {
        let mut touch = |array: ValueId, kind: Kind| {
            found.push(Touch { at: id, kind, memory: memory(function, array), array, indices: None });
        };
        let (result, factors) = arrays.split_at(1.min(arrays.len()));
        for &array in result {
            touch(array, Kind::Read);
            if product.part.writes() {
                touch(array, Kind::Write);
            }
        }
        factors.iter().filter(|&&v| function.ty(v).is_tile()).for_each(|&array| touch(array, Kind::Read));
        return;
    }
    if let Op::Copy(_, operands) = op
        && let &[tile, array, ..] = &operands[..]
    {
        for (array, kind) in [(tile, Kind::Write), (array, Kind::Read)] {
            found.push(Touch { at: id, kind, memory: memory(function, array), array, indices: None });
        }
        return;
    }
    let Some(access) = op.access() else { return };
    let own = op.properties();
    let kind = match (own.atomic, own.writes) {
        (true, _) => Kind::Atomic,
        (_, true) => Kind::Write,
        _ => Kind::Read,
    };
    let memory = memory(function, access.array);
    found.push(Touch { at: id, kind, memory, array: access.array, indices: Some(access.indices.clone()) });
}

/// The accesses of an instruction and of the blocks in it.
pub(in crate::passes) fn touches_with_blocks(function: &Function, effects: &EffectTable, id: InstId) -> Vec<Touch> {
    let mut found = Vec::new();
    touches(function, effects, id, &mut found);
    for &nested in function.insts[id].op.blocks().iter() {
        found.extend(all_touches(function, effects, nested));
    }
    found
}

/// The accesses in a block and in those nested in it.
pub(in crate::passes) fn all_touches(function: &Function, effects: &EffectTable, block: BlockId) -> Vec<Touch> {
    let mut found = Vec::new();
    function.walk(block, &mut |id, _| touches(function, effects, id, &mut found));
    found
}

/// An integer as a sum: what it is made of, each so many times, and a constant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::passes) struct Sum {
    pub terms: BTreeMap<ValueId, i128>,
    pub constant: i128,
}

/// How far sums are taken apart.
const MAX_DEPTH: u32 = 12;

impl Sum {
    pub fn of(function: &Function, value: ValueId) -> Sum {
        let mut sum = Sum::default();
        sum.add(function, value, 1, MAX_DEPTH);
        sum.terms.retain(|_, times| *times != 0);
        sum
    }

    fn add(&mut self, function: &Function, value: ValueId, times: i128, depth: u32) {
        let constant = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
        if let Some(n) = constant(value) {
            self.constant += times * n;
            return;
        }
        match function.op(value).filter(|_| depth > 0) {
            Some(&Op::Binary(BinaryOp::Add, a, b)) => {
                self.add(function, a, times, depth - 1);
                self.add(function, b, times, depth - 1);
            }
            Some(&Op::Binary(BinaryOp::Sub, a, b)) => {
                self.add(function, a, times, depth - 1);
                self.add(function, b, -times, depth - 1);
            }
            Some(&Op::Unary(UnaryOp::Neg, a)) => self.add(function, a, -times, depth - 1),
            Some(&Op::Binary(BinaryOp::Mul, a, b)) => match (constant(a), constant(b)) {
                (Some(n), _) if n.abs() < 1 << 32 => self.add(function, b, times.saturating_mul(n), depth - 1),
                (_, Some(n)) if n.abs() < 1 << 32 => self.add(function, a, times.saturating_mul(n), depth - 1),
                _ => *self.terms.entry(value).or_default() += times,
            },
            // Any other value is a term.
            _ => *self.terms.entry(value).or_default() += times,
        }
    }

    /// The rest of a sum that has `variable` once, up or down, and otherwise nothing that is
    /// `inside`.
    fn beside(mut self, variable: ValueId, inside: &IdSet<ValueId>) -> Option<(i128, Sum)> {
        let times = self.terms.remove(&variable).filter(|times| times.abs() == 1)?;
        self.terms.keys().all(|term| !inside.contains(term)).then_some((times, self))
    }
}

/// A loop whose iterations are looked at, with all the code in it.
pub(super) struct Region<'a> {
    pub function: &'a Function,
    pub ranges: &'a Ranges,
    pub loops: &'a IdMap<BlockId, [ValueId; 2]>,
    /// By the variables of loops between constants that count by 1: which values they have.
    pub counts: &'a IdMap<ValueId, Count>,
    pub touches: Vec<Touch>,
    /// What holds where a touch is.
    pub guards: Guards,
    /// What is defined in it: other in every iteration.
    pub inside: IdSet<ValueId>,
    /// Iterations are the threads of a block: the order in which they touch an element of the
    /// caller's is nobody's.
    pub threads: bool,
}

impl Region<'_> {
    /// Whether an array was made outside.
    pub fn is_outside(&self, memory: &Memory) -> bool {
        !matches!(memory, Memory::Block(array) | Memory::Thread(array) if self.inside.contains(array))
    }

    /// Whether iterations that differ in a loop's variable touch nothing that one of them writes,
    /// whatever the variables of the loops around and inside are.
    ///
    /// Two arrays of the caller's count as different memory: where a launch gives one array twice,
    /// its kernel is compiled with one array ([`same_arrays`](crate::passes::same_arrays)).
    pub fn is_independent(&self, variable: ValueId) -> bool {
        self.conflict(variable).is_none()
    }

    /// A write, and what another iteration may touch of the same element.
    pub fn conflict(&self, variable: ValueId) -> Option<[&Touch; 2]> {
        let ordered = |touch: &&Touch| self.is_outside(&touch.memory) && !self.is_unordered(&touch.memory);
        let writes = self.touches.iter().filter(|touch| touch.kind != Kind::Read).filter(ordered);
        let meets = |write: &Touch, other: &Touch| {
            let both_atomic = write.kind == Kind::Atomic && other.kind == Kind::Atomic;
            !both_atomic
                && self.may_meet(&write.memory, &other.memory)
                && !self.are_of_one_iteration(write, other, variable)
                && !self.differ(write, other, variable)
        };
        writes.flat_map(|write| self.touches.iter().map(move |other| [write, other])).find(|[a, b]| meets(a, b))
    }

    /// Whether iterations may touch its elements in any order: threads of a launch race for what is
    /// the caller's, whether they are of one block or of two.
    fn is_unordered(&self, memory: &Memory) -> bool {
        self.threads && matches!(memory, Memory::Global(_))
    }

    fn may_meet(&self, a: &Memory, b: &Memory) -> bool {
        match (a, b) {
            (Memory::Global(a), Memory::Global(b)) => a == b || *a == Root::Unknown || *b == Root::Unknown,
            _ => a == b,
        }
    }

    /// Whether both are done only in the iteration in which the variable is one certain number.
    fn are_of_one_iteration(&self, a: &Touch, b: &Touch, variable: ValueId) -> bool {
        let certain =
            |touch: &Touch| self.conditions(touch).filter_map(|condition| self.equal(condition, variable)).next();
        certain(a).is_some_and(|number| certain(b) == Some(number))
    }

    /// What a condition says that a value equals, if that is the same in all iterations.
    fn equal(&self, condition: ValueId, value: ValueId) -> Option<Sum> {
        let Some(&Op::Compare(CompareOp::Eq, a, b)) = self.function.op(condition) else {
            return None;
        };
        let other = if a == value { b } else { a };
        let sum = Sum::of(self.function, other);
        (a == value || b == value).then_some(sum).filter(|sum| sum.terms.keys().all(|term| !self.inside.contains(term)))
    }

    /// Whether both are the variable over a number by which it has no remainder, or always the
    /// same.
    fn is_quotient(&self, [a, b]: [&Touch; 2], [i, j]: [ValueId; 2], variable: ValueId) -> bool {
        let op = |v: ValueId| self.function.op(v);
        let int = |v: ValueId| self.function.as_const(v).and_then(|c| c.as_int());
        let by = |index: ValueId| {
            if let Some(&Op::Binary(BinaryOp::Div | BinaryOp::FloorDiv, of, by)) = op(index)
                && of == variable
            {
                int(by).filter(|&by| by > 0)
            } else {
                None
            }
        };
        let Some(divisor) = by(i).filter(|&divisor| by(j) == Some(divisor)) else { return false };
        let rest = |touch: &Touch| {
            self.conditions(touch)
                .filter_map(|condition| {
                    if let Some(&Op::Compare(CompareOp::Eq, rest, number)) = op(condition) {
                        if let Some(&Op::Binary(BinaryOp::Rem, of, by)) = op(rest)
                            && of == variable
                            && int(by) == Some(divisor)
                        {
                            int(number)
                        } else if let Some(&Op::Binary(BinaryOp::And, of, mask)) = op(rest)
                            && of == variable
                            && divisor & (divisor - 1) == 0
                            && int(mask) == Some(divisor - 1)
                        {
                            // Of negative numbers, only a rest of zero is the quotient's.
                            int(number).filter(|&number| number == 0)
                        } else {
                            None
                        }
                    } else {
                        None
                    }
                })
                .next()
        };
        rest(a).is_some_and(|number| rest(b) == Some(number))
    }

    /// Whether the elements are others in iterations that differ in the variable.
    fn differ(&self, a: &Touch, b: &Touch, variable: ValueId) -> bool {
        let (Some(first), Some(second)) = (&a.indices, &b.indices) else { return false };
        // Through different views, indices say little.
        if a.array != b.array || first.len() != second.len() || !self.is_one_array(a.array) {
            return false;
        }
        let from_start = |touch: &Touch, index| self.ranges.counts_from_start(touch.at, index);
        first.iter().zip(second).any(|(&i, &j)| {
            from_start(a, i)
                && from_start(b, j)
                && (self.moves_with(i, j, variable)
                    || self.is_far_from(i, j, variable)
                    || self.is_digit(i, j, variable)
                    || self.is_quotient([a, b], [i, j], variable)
                    || self.is_below(i, j)
                    || self.is_below(j, i))
        }) || self.have_footprints_apart([a, b], [first, second], variable)
    }

    /// Whether the indices, computed for every iteration, are apart.
    fn have_footprints_apart(&self, [a, b]: [&Touch; 2], [first, second]: [&Values; 2], variable: ValueId) -> bool {
        let Some(&Count { least, trips }) = self.counts.get(&variable).filter(|count| count.trips <= MOST_ITERATIONS)
        else {
            return false;
        };
        let dimension = |n: usize| match self.function.ty(a.array) {
            Type::Local(ty) => Dimension::Extent(ty.shape[n]),
            _ => {
                let from_start = |touch: &Touch, index: ValueId| self.ranges.counts_from_start(touch.at, index);
                Dimension::FromStart(from_start(a, first[n]) && from_start(b, second[n]))
            }
        };
        let dimensions: Vec<Dimension> = (0..first.len()).map(dimension).collect();
        self.with_iterations(variable, (least, trips), |iterations| {
            iterations.are_apart(&self.elements(a, first), &self.elements(b, second), &dimensions)
        })
    }

    /// A write and a read of one element of the caller's by two iterations, where that is certain.
    pub fn unordered_read(&self, variable: ValueId) -> Option<[&Touch; 2]> {
        let &Count { least, trips } = self.counts.get(&variable).filter(|count| count.trips <= MOST_ITERATIONS)?;
        let of_caller = |touch: &&Touch| matches!(touch.memory, Memory::Global(Root::Param(..)));
        let (reads, writes): (Vec<_>, Vec<_>) =
            self.touches.iter().filter(of_caller).partition(|touch| touch.kind == Kind::Read);
        self.with_iterations(variable, (least, trips), |iterations| {
            let meet = |a: &Touch, b: &Touch| {
                let (Some(first), Some(second)) = (&a.indices, &b.indices) else { return false };
                a.array == b.array
                    && self.is_one_array(a.array)
                    && iterations.surely_meet(&self.elements(a, first), &self.elements(b, second))
            };
            let pairs = writes.iter().flat_map(|&write| reads.iter().map(move |&read| [write, read]));
            pairs.into_iter().find(|[write, read]| meet(write, read))
        })
    }

    fn elements<'t>(&'t self, touch: &Touch, indices: &'t [ValueId]) -> Elements<'t> {
        Elements { indices, guards: self.guards_of(touch) }
    }

    fn with_iterations<T>(
        &self,
        variable: ValueId,
        (first, trips): (i64, u64),
        ask: impl FnOnce(&Iterations<'_>) -> T,
    ) -> T {
        let natural = |v: ValueId| {
            self.counts.get(&v).is_some_and(|count| count.least >= 0)
                || matches!(self.function.op(v), Some(Op::ThreadIndex(_) | Op::Extent(..)))
        };
        ask(&Iterations {
            function: self.function,
            variable: Some(variable),
            first,
            count: trips as usize,
            coordinate: None,
            uniform: &|v| !self.inside.contains(&v),
            natural: &natural,
            plain: &|v| v,
            loops: self.loops,
            counts: self.counts,
        })
    }

    fn guards_of(&self, touch: &Touch) -> &[Guard] {
        self.guards.get(&touch.at).map_or(&[], |guards| &guards[..])
    }

    /// The conditions that hold where a touch is.
    fn conditions(&self, touch: &Touch) -> impl Iterator<Item = ValueId> {
        self.guards_of(touch).iter().filter(|guard| guard.holds).map(|guard| guard.condition)
    }

    /// Whether an array is the same in all iterations: made outside, or a part of such a one that
    /// outside says which it is.
    fn is_one_array(&self, array: ValueId) -> bool {
        let outside = |v: ValueId| !self.inside.contains(&v) || self.function.as_const(v).is_some();
        if outside(array) {
            return true;
        }
        let Some(Op::View(of, dims)) = self.function.op(array) else { return false };
        self.is_one_array(*of)
            && dims.iter().all(|dim| match *dim {
                ViewIndex::At(index) => outside(index),
                ViewIndex::Range { start, stop, step } => [start, stop, step].into_iter().all(outside),
            })
    }

    /// Whether both are the variable and one number.
    fn moves_with(&self, i: ValueId, j: ValueId, variable: ValueId) -> bool {
        let beside = |v| Sum::of(self.function, v).beside(variable, &self.inside);
        beside(i).is_some_and(|sum| beside(j).as_ref() == Some(&sum))
    }

    /// Whether both are the variable and a number, and these numbers differ by more than the
    /// variable does.
    fn is_far_from(&self, i: ValueId, j: ValueId, variable: ValueId) -> bool {
        let beside = |v| Sum::of(self.function, v).beside(variable, &self.inside);
        let (Some((times, first)), Some((other, second))) = (beside(i), beside(j)) else { return false };
        let Some(Count { trips, .. }) = self.counts.get(&variable) else { return false };
        times == other
            && first.terms == second.terms
            && (first.constant - second.constant).unsigned_abs() >= u128::from(*trips)
    }

    /// Whether the variable is a digit of both: of their terms, the larger ones count in steps that
    /// the variable with all smaller ones, the same in both, does not reach, and the smaller ones
    /// together do not reach its own step. Of `32 * row + 8 * k + n`, with 4 of `k` and 8 of `n`,
    /// all are digits; the constants may differ, as a part of the steps (`.. + 32 * 5`) or of what
    /// is smaller (`.. + 5`, if `n` has 3 values only).
    fn is_digit(&self, i: ValueId, j: ValueId, variable: ValueId) -> bool {
        let (sum, other) = (Sum::of(self.function, i), Sum::of(self.function, j));
        let (Some(&times), Some(&Count { trips, .. })) = (sum.terms.get(&variable), self.counts.get(&variable)) else {
            return false;
        };
        if other.terms.get(&variable) != Some(&times) {
            return false;
        }
        let step = times.abs();
        let (mut smaller, mut larger) = (0i128, 0i128);
        for term in sum.terms.keys().chain(other.terms.keys().filter(|term| !sum.terms.contains_key(term))) {
            let [a, b] = [&sum, &other].map(|sum| sum.terms.get(term).copied().unwrap_or(0));
            if *term == variable || a == b && !self.inside.contains(term) {
                continue;
            }
            match self.counts.get(term) {
                Some(&Count { trips, .. }) if a == b && a.abs() < step => {
                    smaller += a.abs() * (i128::from(trips) - 1).max(0)
                }
                // Larger digits need not be those of the other sum.
                _ => larger = greatest_divisor(greatest_divisor(larger, a.abs()), b.abs()),
            }
        }
        let distance = (sum.constant - other.constant).abs();
        let all = step * (i128::from(trips) - 1).max(0);
        // A number of 0 is a multiple of all.
        let fits = |smaller: i128, larger: i128| smaller < step && (larger == 0 || all + smaller < larger);
        fits(smaller + distance, larger) || fits(smaller, greatest_divisor(larger, distance))
    }

    /// Whether `a < b`, whatever iterations they belong to.
    fn is_below(&self, a: ValueId, b: ValueId) -> bool {
        let sum = |v| Sum::of(self.function, v);
        let constant = |sum: &Sum| sum.terms.is_empty().then_some(sum.constant);
        let fixed = |sum: &Sum| sum.terms.keys().all(|term| !self.inside.contains(term));
        let (low, high) = (sum(a), sum(b));
        if let (Some(low), Some(high)) = (constant(&low), constant(&high)) {
            return low < high;
        }
        // The counter of a loop up to `b`, or from above `a` on.
        if let Some([_, end]) = self.counted(a)
            && fixed(&high)
        {
            let end = sum(end);
            return end.terms == high.terms && end.constant <= high.constant;
        }
        if let Some([start, _]) = self.counted(b)
            && fixed(&low)
        {
            let start = sum(start);
            // Only `a + 1` is certain not to overflow: an index is below an extent.
            let distance = start.constant - low.constant;
            return start.terms == low.terms && (distance == 1 || distance > 1 && low.terms.is_empty());
        }
        false
    }

    /// Start and end of the loop that counts upward in a value.
    fn counted(&self, variable: ValueId) -> Option<[ValueId; 2]> {
        let ValueDef::Param(block, 0) = self.function.values[variable].def else { return None };
        self.loops.get(&block).copied()
    }
}

fn greatest_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// The values of the variable of a loop: so many, from `least` on.
#[derive(Clone, Copy, Debug)]
pub(in crate::passes) struct Count {
    pub least: i64,
    pub trips: u64,
}

/// By their variables, the loops that count by 1, up or down, between constants.
pub(in crate::passes) fn counts(function: &Function) -> IdMap<ValueId, Count> {
    let mut counts = IdMap::default();
    let int = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
    function.walk(function.entry, &mut |_, inst| {
        if let Op::For { start, end, step, body, .. } = inst.op
            && let Some(by @ (1 | -1)) = int(step)
            && let Some(first) = int(start).and_then(|start| i64::try_from(start).ok())
            && let (Some(&variable), Some(trips)) =
                (function.blocks[body].params.first(), trips(function, start, end, step))
        {
            let last = i64::try_from(trips).map_or(i64::MAX, |trips| trips - 1);
            let least = if by > 0 { first } else { first.saturating_sub(last) };
            counts.insert(variable, Count { least, trips });
        }
    });
    counts
}

/// By their bodies, start and end of the loops that count upward.
pub(in crate::passes) fn upward_loops(function: &Function) -> IdMap<BlockId, [ValueId; 2]> {
    let mut loops = IdMap::default();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::For { start, end, step, body, .. } = inst.op
            && function.as_const(step).and_then(|c| c.as_int()).is_some_and(|step| step > 0)
        {
            loops.insert(body, [start, end]);
        }
    });
    loops
}
