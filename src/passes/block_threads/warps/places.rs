//! Is an index that of a thread of the same warp, and of which one?

use super::super::accesses::Sum;
use super::ThreadLoop;
use crate::analysis::ranges::Ranges;
use crate::ids::IdSet;
use crate::ir::build::Builder;
use crate::ir::{Ask, BinaryOp, BlockId, CompareOp, Exchange, Function, InstId, Op, ValueId};
use crate::types::{I32, Scalar};

/// The thread of a warp that is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub ask: Ask,
    by: By,
    /// All threads ask with the same number.
    pub same: bool,
    /// The number of the thread in the block.
    index: ValueId,
}

/// The number that is asked with.
#[derive(Clone, Copy, Debug)]
enum By {
    Value(ValueId),
    Constant(u32),
    /// That of the thread in the warp.
    Thread,
}

impl Source {
    /// The operand of the exchange.
    pub fn named(self, b: &mut Builder) -> ValueId {
        match self.by {
            By::Value(v) => v,
            By::Constant(n) => b.int(Scalar::I32, n.into()),
            By::Thread => self.number(b),
        }
    }

    /// The number of the thread in the warp.
    pub fn number(self, b: &mut Builder) -> ValueId {
        let mask = b.int(Scalar::I32, LAST);
        b.binary(BinaryOp::And, self.index, mask)
    }
}

/// The last thread of a warp.
const LAST: i128 = Exchange::WARP as i128 - 1;

/// Is in sums for the number of the thread in its warp, where that is not the one in the block.
const IN_WARP: ValueId = ValueId(u32::MAX);

/// Where values lie in relation to the number of a thread.
pub(super) struct Places<'a> {
    function: &'a Function,
    ranges: &'a Ranges,
    /// The number of the thread in the block, and how many there are.
    pub thread: ValueId,
    pub threads: u32,
    /// What is defined in the loop over the threads.
    inside: IdSet<ValueId>,
    all: &'a [ThreadLoop],
}

impl<'a> Places<'a> {
    pub fn new(
        function: &'a Function,
        ranges: &'a Ranges,
        around: &ThreadLoop,
        threads: u32,
        all: &'a [ThreadLoop],
    ) -> Self {
        let inside = function.defined_in(around.body);
        Places { function, ranges, thread: around.variable, threads, inside, all }
    }

    fn has_whole_warps(&self) -> bool {
        self.threads.is_multiple_of(Exchange::WARP)
    }

    fn op(&self, value: ValueId) -> Option<&'a Op> {
        (value != IN_WARP).then(|| self.function.op(value)).flatten()
    }

    /// The number of the thread in the warp, as a term of sums.
    fn in_warp(&self) -> ValueId {
        if self.threads <= Exchange::WARP { self.thread } else { IN_WARP }
    }

    fn is_in_warp(&self, value: ValueId) -> bool {
        let last = |v: ValueId| self.function.as_const(v).and_then(|c| c.as_int()) == Some(LAST);
        if let Some(&Op::Binary(BinaryOp::And, a, b)) = self.op(value) {
            a == self.thread && last(b) || b == self.thread && last(a)
        } else {
            value == self.in_warp()
        }
    }

    fn sum(&self, value: ValueId) -> Sum {
        let mut sum = Sum::default();
        let found = Sum::of(self.function, value);
        sum.constant = found.constant;
        for (term, times) in found.terms {
            let term = if self.is_in_warp(term) { self.in_warp() } else { term };
            *sum.terms.entry(term).or_default() += times;
        }
        sum.terms.retain(|_, times| *times != 0);
        sum
    }

    /// A number of a thread in the block as one in the warp.
    fn number(&self, mut thread: Sum) -> Sum {
        if self.threads > Exchange::WARP {
            *thread.terms.entry(self.thread).or_default() -= 1;
            *thread.terms.entry(self.in_warp()).or_default() += 1;
            thread.terms.retain(|_, times| *times != 0);
        }
        thread
    }

    /// Whether an index is the first thread of the warp and `k`.
    pub fn counts_warp(&self, index: ValueId, k: ValueId) -> bool {
        let number = self.number(self.sum(index));
        number.constant == 0 && number.terms.len() == 1 && number.terms.get(&k) == Some(&1)
    }

    /// The least and the greatest value of a sum.
    fn interval(&self, at: InstId, sum: &Sum) -> Option<(i128, i128)> {
        let mut all = (sum.constant, sum.constant);
        for (&term, &times) in &sum.terms {
            let (low, high) = match term == self.in_warp() {
                true => (0, LAST.min(i128::from(self.threads) - 1)),
                false => self.bounds(at, term)?,
            };
            let ends = [low * times, high * times];
            all = (all.0 + ends[0].min(ends[1]), all.1 + ends[0].max(ends[1]));
        }
        Some(all)
    }

    fn bounds(&self, at: InstId, value: ValueId) -> Option<(i128, i128)> {
        let interval = self.ranges.bounds_at(at, value)?.interval;
        Some((interval.low, interval.high))
    }

    /// Which thread of the warp an index names; None: it may be of another one.
    pub fn source(&self, at: InstId, index: ValueId) -> Option<Source> {
        let found = self.computed(at, index).or_else(|| self.kept(index));
        found.filter(|_| self.function.ty(index) == I32)
    }

    fn computed(&self, at: InstId, index: ValueId) -> Option<Source> {
        let (mut conditions, thread) = if let Some(&Op::Select { condition, then, otherwise }) = self.op(index)
            && otherwise == self.thread
        {
            (vec![condition], then)
        } else {
            (Vec::new(), index)
        };
        let chosen = !conditions.is_empty();
        let sum = self.sum(thread);
        let number = self.number(sum.clone());
        let int = |v: ValueId| self.function.as_const(v).and_then(|c| c.as_int());
        // Sums that may overflow say nothing.
        let fits = |&(low, high): &(i128, i128)| low >= i32::MIN.into() && high <= i32::MAX.into();
        let (low, high) = self.interval(at, &number).filter(fits).unwrap_or((i128::MIN, i128::MAX));
        let (mut lower, mut upper) = (low >= 0, high <= LAST);
        let (mut exists, mut exact) = (self.has_whole_warps(), true);
        while let Some(condition) = conditions.pop() {
            match self.op(condition) {
                Some(&Op::Binary(BinaryOp::And, a, b)) => conditions.extend([a, b]),
                Some(&Op::Compare(CompareOp::Ge, a, b)) if int(b) == Some(0) && self.sum(a) == number => lower = true,
                Some(&Op::Compare(CompareOp::Lt, a, b)) if int(b) == Some(LAST + 1) && self.sum(a) == number => {
                    upper = true;
                }
                Some(&Op::Compare(CompareOp::Lt, a, b))
                    if int(b) == Some(self.threads.into()) && self.sum(a) == sum =>
                {
                    exists = true;
                }
                // Another condition may hold for other threads.
                _ => exact = false,
            }
        }
        if !(lower && upper && exists) {
            return None;
        }
        // What the hardware does where there is no such thread is what was meant, if nothing else
        // is tested.
        let (ask, by) = self.way(at, &number).filter(|_| exact).unwrap_or((Ask::Shuffle, By::Thread));
        let (ask, by) = match (by, single(&number)) {
            // Without a choice, whom it names is there.
            (By::Thread, Some(term)) if !chosen && term != self.in_warp() => (Ask::Shuffle, By::Value(term)),
            (By::Thread, None) if !chosen && number.terms.is_empty() => {
                (Ask::Shuffle, By::Constant(number.constant as u32))
            }
            _ => (ask, by),
        };
        let same = match by {
            By::Value(v) => !self.inside.contains(&v) || self.function.as_const(v).is_some(),
            By::Constant(_) => true,
            By::Thread => false,
        };
        Some(Source { ask, by, same, index })
    }

    /// How the hardware is asked for a thread of this number in the warp.
    fn way(&self, at: InstId, number: &Sum) -> Option<(Ask, By)> {
        if number.terms.is_empty() {
            return None;
        }
        let short = |v: ValueId| v != IN_WARP && self.bounds(at, v).is_some_and(|(low, high)| low >= 0 && high <= LAST);
        if let Some(&Op::Binary(BinaryOp::Xor, a, b)) = single(number).and_then(|term| self.op(term)) {
            let mask = if self.is_in_warp(a) { b } else { a };
            let fits = self.has_whole_warps() && (self.is_in_warp(a) || self.is_in_warp(b)) && short(mask);
            return fits.then_some((Ask::Xor, By::Value(mask)));
        }
        let mut distance = number.clone();
        *distance.terms.entry(self.in_warp()).or_default() -= 1;
        distance.terms.retain(|_, times| *times != 0);
        let mut terms = distance.terms.iter();
        let (up, by) = match (terms.next(), terms.next()) {
            (None, _) if distance.constant.abs() <= LAST => {
                (distance.constant <= 0, By::Constant(distance.constant.unsigned_abs() as u32))
            }
            (Some((&term, &times)), None) if distance.constant == 0 && times.abs() == 1 && short(term) => {
                (times < 0, By::Value(term))
            }
            _ => return None,
        };
        // Down, a thread of the last warp may name one that is not there.
        (up || self.has_whole_warps()).then_some((if up { Ask::Up } else { Ask::Down }, by))
    }

    /// An index that an earlier loop left for each thread.
    fn kept(&self, index: ValueId) -> Option<Source> {
        let function = self.function;
        let Some(Op::Load(access)) = self.op(index) else { return None };
        let array = access.array;
        let is_tile = matches!(self.op(array), Some(Op::LocalArray)) && function.ty(array).is_tile();
        if !is_tile || access.indices[..] != [self.thread] {
            return None;
        }
        let here = self.all.iter().find(|around| around.variable == self.thread)?;
        // Whoever mentions the array sets or reads the element of its thread.
        let (mut fits, mut stores) = (true, Vec::new());
        function.walk(function.entry, &mut |id, inst| {
            let mut mentioned = false;
            inst.op.for_each_operand(|v| mentioned |= v == array);
            if mentioned {
                if let Op::Load(of) = &inst.op {
                    fits &= of.array == array
                } else if let Op::Store { access, value } = &inst.op {
                    fits &= access.array == array && access.path.is_empty();
                    stores.push((id, access.indices.clone(), *value));
                } else {
                    fits = false
                }
            }
        });
        let mut set_before = false;
        for (id, indices, value) in stores {
            let &[thread] = &indices[..] else { return None };
            let around = self.all.iter().find(|around| around.variable == thread)?;
            let places = Places::new(function, self.ranges, around, self.threads, self.all);
            fits &= value == thread || places.computed(id, value).is_some();
            set_before |=
                function.blocks[around.body].insts.contains(&id) && comes_before(function, around.inst, here.inst);
        }
        (fits && set_before).then_some(Source { ask: Ask::Shuffle, by: By::Thread, same: false, index })
    }
}

/// The value that a sum is, if it is one.
fn single(sum: &Sum) -> Option<ValueId> {
    let (&term, &times) = sum.terms.first_key_value()?;
    (sum.constant == 0 && sum.terms.len() == 1 && times == 1).then_some(term)
}

/// Whether an instruction is done each time before another one is.
fn comes_before(function: &Function, first: InstId, second: InstId) -> bool {
    fn path(function: &Function, block: BlockId, to: InstId, found: &mut Vec<(BlockId, usize)>) -> bool {
        for (n, &id) in function.blocks[block].insts.iter().enumerate() {
            let inside = || function.insts[id].op.blocks();
            found.push((block, n));
            if id == to || inside().iter().any(|&nested| path(function, nested, to, found)) {
                return true;
            }
            found.pop();
        }
        false
    }
    let (mut to_first, mut to_second) = (Vec::new(), Vec::new());
    if !path(function, function.entry, first, &mut to_first) || !path(function, function.entry, second, &mut to_second)
    {
        return false;
    }
    to_first.last().is_some_and(|&(block, at)| to_second.iter().any(|&(b, n)| b == block && at < n))
}
