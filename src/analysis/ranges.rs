//! Between which bounds does an integer lie, at the place where it is read? With this the rule for
//! negative indices (13) costs nothing where an index cannot be one.
//!
//! A forward walk over the tree of blocks with an interval for each value (Cousot and Cousot,
//! 1977), narrowed by the conditions on the way: inside `if i > 0`, and behind `if i <= 0: return`,
//! `i` is at least 1 and `i - 1` at least 0.
//!
//! Sound without assumptions about arithmetic: a sum that may wrap has no bounds but its type's.
//! `i + 1` still is bounded where it matters, because a thread index is at most 2^31 - 2 (rule 18),
//! a loop counter is below its end, and a comparison on the way narrows the values it names. What a
//! loop carries is tried as "never below its start", then as "never above", and kept only if every
//! iteration confirms it. The one premise about the world: the extents of an array are not
//! negative.

use std::collections::BTreeMap;

use super::alias::{Root, root};
use super::interval::Interval;
use crate::ids::{IdMap, IdVec};
use crate::ir::*;
use crate::types::{MAX_DIMS, Scalar, Type};

/// What one launch of a kernel says about its threads and arguments.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LaunchFacts {
    /// Threads along each coordinate.
    pub threads: [u32; MAX_DIMS],
    /// Integers among the parameters and their fields.
    pub integers: BTreeMap<Root, i128>,
    /// The extents of arrays among them.
    pub extents: BTreeMap<Root, [u32; MAX_DIMS]>,
}

/// The most elements that an array has, and threads that a launch has, along a dimension (rules 13
/// and 18).
const MOST: i128 = i32::MAX as i128;

/// What is known of an integer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bounds {
    pub interval: Interval,
    /// It is not negative, or a sum or product of such numbers, which then overflowed: as an index
    /// it never counts from the end (rule 13). Holds wherever the interval has no negative number.
    pub from_start: bool,
}

impl From<Interval> for Bounds {
    fn from(interval: Interval) -> Bounds {
        Bounds { interval, from_start: interval.low >= 0 }
    }
}

impl Bounds {
    fn full(scalar: Scalar) -> Option<Bounds> {
        Interval::full(scalar).map(Bounds::from)
    }

    /// Those of either; None counts as empty.
    pub fn union(a: Option<Bounds>, b: Option<Bounds>) -> Option<Bounds> {
        match (a, b) {
            (Some(a), Some(b)) => {
                let interval = Interval::union(Some(a.interval), Some(b.interval))?;
                Some(Bounds { interval, from_start: a.from_start && b.from_start })
            }
            (a, b) => a.or(b),
        }
    }

    fn contains(self, other: Bounds) -> bool {
        self.interval.contains(other.interval) && (other.from_start || !self.from_start)
    }

    /// The same value, of which `interval` was learned as well.
    fn narrowed(self, interval: Interval) -> Bounds {
        Bounds { interval, from_start: self.from_start || interval.low >= 0 }
    }

    /// Any number from `least` to the largest extent of an array.
    pub fn at_least(least: i128) -> Bounds {
        Interval { low: least, high: i32::MAX.into() }.into()
    }

    /// Of a value of which both hold.
    pub fn both(self, other: Bounds) -> Bounds {
        let interval = self.interval.intersection(other.interval).unwrap_or(self.interval);
        Bounds { interval, from_start: self.from_start || other.from_start || interval.low >= 0 }
    }
}

/// The bounds of a function's integers.
#[derive(Clone, Default, Debug)]
pub struct Ranges {
    /// Where the value is defined, and so everywhere. None: not an integer, or never defined.
    defined: IdVec<ValueId, Option<Bounds>>,
    /// Where an instruction reads the value and conditions on the way say more; see [`asks`].
    read: IdMap<(InstId, ValueId), Bounds>,
}

impl Ranges {
    pub fn of(function: &Function) -> Ranges {
        Ranges::of_call(function, &[])
    }

    /// Of one call, whose arguments lie in these bounds (None or missing: any).
    pub fn of_call(function: &Function, arguments: &[Option<Bounds>]) -> Ranges {
        Ranges::with(function, arguments, None, MOST)
    }

    /// Of one launch of a kernel.
    pub fn of_launch(function: &Function, launch: &LaunchFacts) -> Ranges {
        Ranges::with(function, &[], Some(launch), MOST)
    }

    /// As if no extent and no number of threads were within 2^16 of 2^31.
    pub fn of_usual_sizes(function: &Function) -> Ranges {
        Ranges::with(function, &[], None, MOST - (1 << 16))
    }

    /// As if no integer parameter, extent or number of threads were beyond `most`.
    pub fn of_small_sizes(function: &Function, most: i32) -> Ranges {
        let most = i128::from(most);
        let is_integer = |ty: Type| ty.as_scalar().is_some_and(Scalar::is_int);
        let bounds =
            |&param: &ValueId| is_integer(function.ty(param)).then_some(Interval { low: -most, high: most }.into());
        let arguments: Vec<Option<Bounds>> = function.params().iter().map(bounds).collect();
        Ranges::with(function, &arguments, None, most)
    }

    fn with(function: &Function, arguments: &[Option<Bounds>], launch: Option<&LaunchFacts>, most: i128) -> Ranges {
        let known = Ranges { defined: function.values.ids().map(|_| None).collect(), read: IdMap::default() };
        let mut analysis = Analysis { function, launch, most, known, depth: 0, narrowed: Vec::new() };
        for (n, &param) in function.params().iter().enumerate() {
            analysis.set_full(param);
            let given = arguments.get(n).copied().flatten();
            let given = given.or_else(|| Some(analysis.launched(param)?.into()));
            if let (Some(all), Some(given)) = (analysis.known.defined[param], given) {
                analysis.known.defined[param] = Some(all.both(given));
            }
        }
        analysis.block(function.entry, &mut Joins::default());
        analysis.known
    }

    /// The bounds of a value wherever it is visible; None for values of other types, and
    /// unreachable ones.
    pub fn bounds(&self, value: ValueId) -> Option<Bounds> {
        self.defined.get(value).copied().flatten()
    }

    /// Its interval.
    pub fn interval(&self, value: ValueId) -> Option<Interval> {
        self.bounds(value).map(|bounds| bounds.interval)
    }

    /// The bounds of a value where the instruction `at` reads it.
    pub fn bounds_at(&self, at: InstId, value: ValueId) -> Option<Bounds> {
        self.read.get(&(at, value)).copied().or_else(|| self.bounds(value))
    }

    /// The bounds of the result of an operation on scalars whose operands lie in such bounds.
    pub fn of_operation(
        function: &Function,
        result: ValueId,
        operand: &dyn Fn(ValueId) -> Option<Bounds>,
    ) -> Option<Bounds> {
        let analysis =
            Analysis { function, launch: None, most: MOST, known: Ranges::default(), depth: 0, narrowed: Vec::new() };
        analysis.simple(&function.def(result)?.op, function.ty(result).as_scalar()?, operand)
    }

    /// Whether a value is at least `least` where the instruction reads it.
    pub fn is_at_least(&self, at: InstId, value: ValueId, least: i128) -> bool {
        self.bounds_at(at, value).is_some_and(|bounds| bounds.interval.low >= least)
    }

    /// Whether `0 <= value < count` where the instruction reads it.
    pub fn is_below(&self, at: InstId, value: ValueId, count: u32) -> bool {
        let inside = Interval { low: 0, high: i128::from(count) - 1 };
        self.bounds_at(at, value).is_some_and(|bounds| inside.contains(bounds.interval))
    }

    /// Whether an index never counts from the end where the instruction uses it, by rule 13.
    pub fn counts_from_start(&self, at: InstId, index: ValueId) -> bool {
        self.bounds_at(at, index).is_some_and(|bounds| bounds.from_start)
    }
}

/// Whether somebody asks for the bounds of an operation's operands at that very place: those of
/// indices, of divisions and shifts, and of arguments.
fn asks(op: &Op) -> bool {
    matches!(
        op,
        Op::Load(_)
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | Op::View(..)
            | Op::Extract(..)
            | Op::Insert(..)
            | Op::Call(..)
            | Op::Binary(BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr, ..)
    )
}

/// Beyond this nesting of loops, nothing is tried for what they carry: each trial walks the body
/// again.
const MAX_TRIAL_DEPTH: u32 = 3;

/// How many definitions are followed, from a condition back to what it is computed from, and from
/// an operand.
const MAX_DEFINITIONS: u32 = 4;

/// The joined bounds of the values that terminators carry, per slot; None: none yet.
#[derive(Default)]
struct Joins {
    yielded: Vec<Option<Bounds>>,
    continued: Vec<Option<Bounds>>,
    broken: Vec<Option<Bounds>>,
}

/// Bounds to put back.
type Old = Vec<(ValueId, Option<Bounds>)>;

struct Analysis<'a> {
    function: &'a Function,
    launch: Option<&'a LaunchFacts>,
    /// The largest extent or number of threads along a dimension.
    most: i128,
    known: Ranges,
    /// Loops around the current block.
    depth: u32,
    /// Values whose bounds are narrowed here: they are visible here.
    narrowed: Vec<ValueId>,
}

impl Analysis<'_> {
    /// The value of a parameter or of a field of one.
    fn launched(&self, value: ValueId) -> Option<Interval> {
        let known = self.launch?.integers.get(&root(self.function, value))?;
        Some(Interval::exactly(*known))
    }

    /// An extent of an array that is an argument.
    fn extent(&self, array: ValueId, dim: u8) -> Option<Interval> {
        let whole = !matches!(self.function.op(array), Some(Op::View(..)));
        let extents = self.launch.filter(|_| whole)?.extents.get(&root(self.function, array))?;
        Some(Interval::exactly((*extents.get(usize::from(dim))?).into()))
    }

    /// The bounds, or every value of the type.
    fn bounds_or_full(&self, value: ValueId) -> Option<Bounds> {
        self.known.defined[value].or_else(|| Bounds::full(self.function.ty(value).as_scalar()?))
    }

    fn set(&mut self, value: ValueId, bounds: Option<Bounds>) {
        self.known.defined[value] = bounds;
    }

    fn set_full(&mut self, value: ValueId) {
        self.set(value, self.function.ty(value).as_scalar().and_then(Bounds::full));
    }

    fn join(&self, slots: &mut Vec<Option<Bounds>>, values: &[ValueId]) {
        slots.resize(slots.len().max(values.len()), None);
        for (slot, &value) in slots.iter_mut().zip(values) {
            *slot = Bounds::union(*slot, self.bounds_or_full(value));
        }
    }

    fn block(&mut self, block: BlockId, joins: &mut Joins) {
        let function = self.function;
        let mut narrowed = Old::new();
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            match &inst.op {
                Op::If { condition, then, otherwise } => {
                    self.branch(inst, *condition, *then, *otherwise, joins, &mut narrowed);
                }
                Op::For { start, end, step, init, body } => self.for_loop(inst, [*start, *end, *step], init, *body),
                Op::While { init, condition, body } => self.while_loop(inst, init, *condition, *body),
                Op::Yield(values) => self.join(&mut joins.yielded, values),
                Op::Continue(values) => self.join(&mut joins.continued, values),
                Op::Break(values) => self.join(&mut joins.broken, values),
                op @ (straight!() | Op::Return(_)) => {
                    if asks(op) {
                        self.record(id, op);
                    }
                    for &result in &inst.results {
                        self.set_full(result);
                    }
                    if let [result] = inst.results[..]
                        && let Some(scalar) = function.ty(result).as_scalar()
                        && let Some(bounds) = self.simple(op, scalar, &|v| self.bounds_or_full(v))
                    {
                        let same = self.narrowed.iter().filter(|&&v| self.is_same(v, result, MAX_DEFINITIONS));
                        let bounds = same.filter_map(|&v| self.known.defined[v]).fold(bounds, Bounds::both);
                        self.set(result, Some(bounds));
                    }
                }
            }
        }
        self.restore(narrowed);
    }

    /// Whether two values are computed the same way from equal ones: what a condition says of
    /// `k + 1` holds for the next `k + 1`, too.
    fn is_same(&self, a: ValueId, b: ValueId, depth: u32) -> bool {
        if a == b {
            return true;
        }
        let (Some(x), Some(y), Some(depth)) = (self.function.def(a), self.function.def(b), depth.checked_sub(1)) else {
            return false;
        };
        if self.function.ty(a) != self.function.ty(b) {
            return false;
        }
        match (&x.op, &y.op) {
            (Op::Const(a), Op::Const(b)) => a == b,
            (&Op::Binary(op, a, b), &Op::Binary(of, c, d)) => {
                op == of && self.is_same(a, c, depth) && self.is_same(b, d, depth)
            }
            (&Op::Cast(a), &Op::Cast(b)) => self.is_same(a, b, depth),
            // They may differ: nothing is narrowed.
            _ => false,
        }
    }

    /// Keeps what is known of an instruction's operands here beyond what is known everywhere.
    fn record(&mut self, id: InstId, op: &Op) {
        if self.narrowed.is_empty() && self.known.read.is_empty() {
            return;
        }
        op.for_each_operand(|value| {
            // The walk that came here before had other assumptions.
            self.known.read.remove(&(id, value));
            if !self.narrowed.is_empty()
                && let Some(bounds) = self.refined(value, MAX_DEFINITIONS)
            {
                self.known.read.insert((id, value), bounds);
            }
        });
    }

    /// The bounds of a value here, computed once more from what is known here of its operands: they
    /// may have been narrowed behind its definition.
    fn refined(&self, value: ValueId, depth: u32) -> Option<Bounds> {
        let known = self.known.defined[value]?;
        let again = || {
            let depth = depth.checked_sub(1)?;
            let op = &self.function.def(value)?.op;
            if !matches!(op, Op::Unary(..) | Op::Binary(..) | Op::Cast(_)) {
                return None;
            }
            let operand = |v| self.refined(v, depth).or_else(|| self.bounds_or_full(v));
            self.simple(op, self.function.ty(value).as_scalar()?, &operand)
        };
        Some(again().map_or(known, |more| known.both(more)))
    }

    fn branch(
        &mut self,
        inst: &Inst,
        condition: ValueId,
        then: BlockId,
        otherwise: BlockId,
        joins: &mut Joins,
        narrowed: &mut Old,
    ) {
        let mut inner = Joins::default();
        for (block, holds) in [(then, true), (otherwise, false)] {
            let mut here = Old::new();
            self.narrow(condition, holds, MAX_DEFINITIONS, &mut here);
            std::mem::swap(&mut inner.continued, &mut joins.continued);
            std::mem::swap(&mut inner.broken, &mut joins.broken);
            self.block(block, &mut inner);
            std::mem::swap(&mut inner.continued, &mut joins.continued);
            std::mem::swap(&mut inner.broken, &mut joins.broken);
            self.restore(here);
        }
        for (n, &result) in inst.results.iter().enumerate() {
            self.set_full(result);
            if let Some(&Some(bounds)) = inner.yielded.get(n) {
                self.set(result, Some(bounds));
            }
        }
        // Behind `if i >= n: return`, i is below n for the rest of this block.
        let leaves =
            |block: BlockId| self.function.terminator(block).is_some_and(|inst| !matches!(inst.op, Op::Yield(_)));
        match (leaves(then), leaves(otherwise)) {
            (true, false) => self.narrow(condition, false, MAX_DEFINITIONS, narrowed),
            (false, true) => self.narrow(condition, true, MAX_DEFINITIONS, narrowed),
            _ => {}
        }
    }

    /// Narrows the values that a condition compares, given whether it holds; the old bounds go to
    /// `old`.
    fn narrow(&mut self, condition: ValueId, holds: bool, depth: u32, old: &mut Old) {
        let function = self.function;
        let (Some(inst), Some(depth)) = (function.def(condition), depth.checked_sub(1)) else { return };
        match inst.op {
            Op::Compare(op, a, b) => {
                let op = if holds { op } else { inverse(op) };
                if let (Some(ba), Some(bb)) = (self.known.defined[a], self.known.defined[b]) {
                    for (value, interval) in [
                        (a, ba.interval.compared(op, bb.interval)),
                        (b, bb.interval.compared(op.mirrored(), ba.interval)),
                    ] {
                        if let Some(interval) = interval {
                            self.narrow_value(value, interval, depth, old);
                        }
                    }
                }
            }
            Op::Unary(UnaryOp::Not, a) => self.narrow(a, !holds, depth, old),
            Op::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) if holds == (op == BinaryOp::And) => {
                self.narrow(a, holds, depth, old);
                self.narrow(b, holds, depth, old);
            }
            // `p and q` that runs q only if p holds: the other side gives a constant.
            Op::Select { condition: first, then, otherwise } => {
                self.narrow_choice(first, then, otherwise, holds, depth, old);
            }
            Op::If { condition: first, then, otherwise } => {
                let ValueDef::Result(_, n) = function.values[condition].def else { return };
                let yielded = |block| function.yielded(block).get(n as usize).copied();
                if let (Some(then), Some(otherwise)) = (yielded(then), yielded(otherwise)) {
                    self.narrow_choice(first, then, otherwise, holds, depth, old);
                }
            }
            // Another condition narrows nothing.
            _ => {}
        }
    }

    /// The same for a choice between two conditions, one of which is a constant that says
    /// otherwise.
    fn narrow_choice(
        &mut self,
        first: ValueId,
        then: ValueId,
        otherwise: ValueId,
        holds: bool,
        depth: u32,
        old: &mut Old,
    ) {
        let contradicts = |value| self.function.as_const(value) == Some(Const::bool(!holds));
        let (chosen, value) = match (contradicts(then), contradicts(otherwise)) {
            (false, true) => (true, then),
            (true, false) => (false, otherwise),
            _ => return,
        };
        self.narrow(first, chosen, depth, old);
        self.narrow(value, holds, depth, old);
    }

    /// Notes that a value lies in an interval here, and so do the values that it is a copy of or a
    /// constant away from.
    fn narrow_value(&mut self, value: ValueId, interval: Interval, depth: u32, old: &mut Old) {
        let Some(known) = self.known.defined[value] else { return };
        let Some(interval) = known.interval.intersection(interval).filter(|narrow| *narrow != known.interval) else {
            return;
        };
        old.push((value, Some(known)));
        self.narrowed.push(value);
        self.set(value, Some(known.narrowed(interval)));
        let (Some(inst), Some(depth)) = (self.function.def(value), depth.checked_sub(1)) else { return };
        let Some(full) = self.function.ty(value).as_scalar().and_then(Interval::full) else { return };
        let constant = |v| self.function.as_const(v).and_then(Const::as_int);
        let (source, shift) = if let Op::Cast(a) = inst.op {
            (a, 0)
        } else if let Op::Binary(BinaryOp::Add, a, b) = inst.op {
            match (constant(a), constant(b)) {
                (_, Some(b)) => (a, b),
                (Some(a), _) => (b, a),
                _ => return,
            }
        } else if let Op::Binary(BinaryOp::Sub, a, b) = inst.op {
            match constant(b) {
                Some(b) => (a, -b),
                None => return,
            }
        } else {
            return;
        };
        // Only where nothing wrapped.
        if let Some(from) = self.known.defined[source]
            && full.contains(from.interval.shifted(shift))
        {
            self.narrow_value(source, interval.shifted(-shift), depth, old);
        }
    }

    fn restore(&mut self, old: Old) {
        self.narrowed.truncate(self.narrowed.len() - old.len());
        for (value, bounds) in old.into_iter().rev() {
            self.set(value, bounds);
        }
    }

    fn for_loop(&mut self, inst: &Inst, bounds: [ValueId; 3], init: &[ValueId], body: BlockId) {
        let params = &self.function.blocks[body].params;
        let scalar = self.function.ty(bounds[0]).as_scalar();
        let [Some(start), Some(end), Some(step)] = bounds.map(|v| self.bounds_or_full(v).map(|b| b.interval)) else {
            return;
        };
        let up = Interval { low: start.low, high: end.high - 1 };
        let down = Interval { low: end.low + 1, high: start.high };
        let counter = match (step.low > 0, step.high < 0) {
            (true, _) => Some(up),
            (_, true) => Some(down),
            _ => Interval::union(Some(up), Some(down)),
        };
        // Empty: the body never runs, and anything is true of it.
        let counter = counter.filter(|r| r.low <= r.high).or_else(|| Interval::full(scalar?));
        self.iterations(inst, init, &params[1..], |analysis, joins| {
            analysis.set(params[0], counter.map(Bounds::from));
            analysis.block(body, joins);
        });
    }

    fn while_loop(&mut self, inst: &Inst, init: &[ValueId], condition: BlockId, body: BlockId) {
        let function = self.function;
        let before = &function.blocks[condition].params;
        self.iterations(inst, init, before, |analysis, joins| {
            analysis.block(condition, &mut Joins::default());
            let mut narrowed = Old::new();
            if let Some(&holds) = function.yielded(condition).first() {
                analysis.narrow(holds, true, MAX_DEFINITIONS, &mut narrowed);
            }
            for (&param, &value) in function.blocks[body].params.iter().zip(before) {
                analysis.set(param, analysis.known.defined[value]);
            }
            analysis.block(body, joins);
            analysis.restore(narrowed);
        });
    }

    /// Finds bounds for what a loop carries: `params` first stay at or above their start, then at
    /// or below it; those that an iteration takes elsewhere become unbounded, until the rest holds.
    /// `iteration` walks one.
    fn iterations(
        &mut self,
        inst: &Inst,
        init: &[ValueId],
        params: &[ValueId],
        iteration: impl Fn(&mut Self, &mut Joins),
    ) {
        let starts: Vec<Option<Bounds>> = init.iter().map(|&v| self.bounds_or_full(v)).collect();
        let full: Vec<Option<Bounds>> =
            params.iter().map(|&p| self.function.ty(p).as_scalar().and_then(Bounds::full)).collect();
        let trials = |n: usize| -> Vec<Bounds> {
            let (Some(&Some(start)), Some(full)) = (starts.get(n), full[n]) else { return Vec::new() };
            let above = Interval { low: start.interval.low, ..full.interval };
            let below = Interval { high: start.interval.high, ..full.interval };
            let mut trials = vec![full];
            if self.depth < MAX_TRIAL_DEPTH {
                trials.push(Bounds::from(below));
                if start.from_start {
                    // Sums that may overflow have no bounds, but still count from the start.
                    trials.push(Bounds { from_start: true, ..full });
                }
                trials.push(Bounds::from(above));
            }
            trials
        };
        // What is left to try, best last; the whole type always holds.
        let mut trials: Vec<Vec<Bounds>> = (0..params.len()).map(trials).collect();
        self.depth += 1;
        loop {
            for (&param, trials) in params.iter().zip(&trials) {
                self.set(param, trials.last().copied());
            }
            let mut joins = Joins::default();
            iteration(self, &mut joins);
            let slot = |list: &[Option<Bounds>], n: usize| list.get(n).copied().flatten();
            let next = |n: usize| Bounds::union(slot(&joins.yielded, n), slot(&joins.continued, n));
            let mut confirmed = true;
            for (n, trials) in trials.iter_mut().enumerate() {
                while let (Some(bounds), Some(next)) = (trials.last(), next(n))
                    && trials.len() > 1
                    && !bounds.contains(next)
                {
                    trials.pop();
                    confirmed = false;
                }
            }
            if confirmed {
                for (n, &result) in inst.results.iter().enumerate() {
                    let bounds = Bounds::union(starts.get(n).copied().flatten(), next(n));
                    self.set(result, Bounds::union(bounds, slot(&joins.broken, n)));
                }
                break;
            }
        }
        self.depth -= 1;
    }

    /// The bounds of what an instruction without blocks computes, of operands in the bounds that
    /// `at` gives.
    fn simple(&self, op: &Op, scalar: Scalar, at: &dyn Fn(ValueId) -> Option<Bounds>) -> Option<Bounds> {
        let full = Interval::full(scalar)?;
        let max = self.most;
        let mut from_start = false;
        let interval = match op {
            Op::Const(c) => Some(Interval::exactly(c.as_int()?)),
            Op::Zero => Some(Interval::exactly(0)),
            Op::Unary(op, a) => at(*a)?.interval.unary(*op, scalar),
            Op::Binary(op, a, b) => {
                let (a, b) = (at(*a)?, at(*b)?);
                from_start = matches!(op, BinaryOp::Add | BinaryOp::Mul) && a.from_start && b.from_start;
                a.interval.binary(*op, b.interval, scalar)
            }
            Op::Cast(a) => match self.function.ty(*a) {
                Type::Scalar(Scalar::Bool) => Some(Interval { low: 0, high: 1 }),
                _ => {
                    let a = at(*a)?;
                    from_start = a.from_start && full.contains(a.interval);
                    Some(a.interval)
                }
            },
            Op::Select { then, otherwise, .. } => {
                let either = Bounds::union(at(*then), at(*otherwise))?;
                from_start = either.from_start;
                Some(either.interval)
            }
            Op::ThreadIndex(n) if usize::from(*n) < MAX_DIMS => {
                let threads = self.launch.map(|launch| i128::from(launch.threads[usize::from(*n)]));
                Some(Interval { low: 0, high: threads.unwrap_or(max).clamp(1, max) - 1 })
            }
            Op::ThreadNumber => Some(Interval { low: 0, high: max }),
            // What CUDA allows (CUDA C++ Programming Guide, "Technical Specifications per Compute
            // Capability").
            Op::BlockDim => Some(Interval { low: 1, high: 1024 }),
            Op::ThreadInBlock => Some(Interval { low: 0, high: 1023 }),
            Op::Extent(array, dim) => Some(match self.function.ty(*array) {
                Type::Local(local) => Interval::exactly(i128::from(*local.shape.get(usize::from(*dim))?)),
                _ => self.extent(*array, *dim).unwrap_or(Interval { low: 0, high: max }),
            }),
            Op::Compare(..)
            | Op::Fma(..)
            | Op::Bitcast(_)
            | Op::Construct(_)
            | Op::Extract(..)
            | Op::Insert(..)
            | Op::ThreadIndex(_)
            | Op::Call(..)
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::View(..)
            | Op::LocalArray
            | Op::SharedArray
            | accesses!()
            | effects!()
            | nested!()
            | jumps!() => None,
        };
        // What does not fit may wrap to anything.
        let interval = interval.filter(|interval| full.contains(*interval)).unwrap_or(full);
        Some(Bounds { interval, from_start: from_start || interval.low >= 0 })
    }
}

/// The comparison that holds when `op` does not, on integers.
fn inverse(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Eq => CompareOp::Ne,
        CompareOp::Ne => CompareOp::Eq,
        CompareOp::Lt => CompareOp::Ge,
        CompareOp::Ge => CompareOp::Lt,
        CompareOp::Gt => CompareOp::Le,
        CompareOp::Le => CompareOp::Gt,
    }
}
