//! Between which bounds does an integer lie? With this the rule for negative indices (13) costs nothing where an index cannot
//! be one.

use super::interval::Interval;
use crate::ids::IdVec;
use crate::ir::*;
use crate::types::{MAX_DIMS, Scalar, Type};

/// A set of values of one function.
#[derive(Clone, Debug)]
pub struct ValueSet(IdVec<ValueId, bool>);

impl ValueSet {
    pub fn contains(&self, value: ValueId) -> bool {
        self.0.get(value) == Some(&true)
    }
}

/// The integer values that are never negative, whatever the input. Sound: see [`ranges`].
pub fn non_negative(function: &Function) -> ValueSet {
    let ranges = ranges(function);
    ValueSet(ranges.values().map(|range| range.is_some_and(|r| r.low >= 0)).collect())
}

/// Bounds of every integer value; None for values of other types (and unreachable ones).
///
/// Sound without assumptions about arithmetic: a sum that may wrap has no bounds but its type's. `i + 1` still is bounded
/// where it matters, because a thread index is at most 2^31 - 2 (rule 18), a loop counter is below its end, and a
/// comparison on the way narrows the values it names. What a loop carries is tried as "never below its start" and kept
/// only if every turn confirms it. The one premise about the world: the extents of an array are not negative.
pub fn ranges(function: &Function) -> IdVec<ValueId, Option<Interval>> {
    let mut analysis = Analysis { function, known: function.values.ids().map(|_| None).collect(), depth: 0 };
    for &param in function.params() {
        analysis.set_full(param);
    }
    analysis.block(function.entry, &mut Joins::default());
    analysis.known
}

/// Beyond this nesting of loops, nothing is tried for what they carry: each trial walks the body again.
const MAX_TRIAL_DEPTH: u32 = 3;

/// The joined ranges of the values that terminators carry, per slot; None: none yet.
#[derive(Default)]
struct Joins {
    yielded: Vec<Option<Interval>>,
    continued: Vec<Option<Interval>>,
    broken: Vec<Option<Interval>>,
}

struct Analysis<'a> {
    function: &'a Function,
    known: IdVec<ValueId, Option<Interval>>,
    /// Loops around the current block.
    depth: u32,
}

impl Analysis<'_> {
    fn range(&self, value: ValueId) -> Option<Interval> {
        self.known[value]
    }

    /// The range, or every value of the type.
    fn range_or_full(&self, value: ValueId) -> Option<Interval> {
        self.known[value].or_else(|| Interval::full(self.function.ty(value).as_scalar()?))
    }

    fn set_full(&mut self, value: ValueId) {
        self.known[value] = self.function.ty(value).as_scalar().and_then(Interval::full);
    }

    fn join(&self, slots: &mut Vec<Option<Interval>>, values: &[ValueId]) {
        slots.resize(slots.len().max(values.len()), None);
        for (slot, &value) in slots.iter_mut().zip(values) {
            *slot = Interval::union(*slot, self.range_or_full(value));
        }
    }

    fn block(&mut self, block: BlockId, joins: &mut Joins) {
        let function = self.function;
        let mut narrowed = Vec::new();
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
                op => {
                    for &result in &inst.results {
                        self.set_full(result);
                    }
                    if let [result] = inst.results[..]
                        && let Some(scalar) = function.ty(result).as_scalar()
                        && let Some(range) = self.simple(op, scalar)
                    {
                        self.known[result] = Some(range);
                    }
                }
            }
        }
        self.restore(narrowed);
    }

    fn branch(
        &mut self,
        inst: &Inst,
        condition: ValueId,
        then: BlockId,
        otherwise: BlockId,
        joins: &mut Joins,
        narrowed: &mut Vec<(ValueId, Option<Interval>)>,
    ) {
        let mut inner = Joins::default();
        for (block, holds) in [(then, true), (otherwise, false)] {
            let mut here = Vec::new();
            self.narrow(condition, holds, &mut here);
            std::mem::swap(&mut inner.continued, &mut joins.continued);
            std::mem::swap(&mut inner.broken, &mut joins.broken);
            self.block(block, &mut inner);
            std::mem::swap(&mut inner.continued, &mut joins.continued);
            std::mem::swap(&mut inner.broken, &mut joins.broken);
            self.restore(here);
        }
        for (n, &result) in inst.results.iter().enumerate() {
            self.set_full(result);
            if let Some(&Some(range)) = inner.yielded.get(n) {
                self.known[result] = Some(range);
            }
        }
        // Behind `if i >= n: return`, i is below n for the rest of this block.
        let leaves =
            |block: BlockId| self.function.terminator(block).is_some_and(|inst| !matches!(inst.op, Op::Yield(_)));
        match (leaves(then), leaves(otherwise)) {
            (true, false) => self.narrow(condition, false, narrowed),
            (false, true) => self.narrow(condition, true, narrowed),
            _ => {}
        }
    }

    /// Narrows the values that a condition compares, given whether it holds; the old ranges go to `old`.
    fn narrow(&mut self, condition: ValueId, holds: bool, old: &mut Vec<(ValueId, Option<Interval>)>) {
        let Some(inst) = self.function.def(condition) else { return };
        match inst.op {
            Op::Compare(op, a, b) => {
                let op = if holds { op } else { inverse(op) };
                if let (Some(ra), Some(rb)) = (self.range(a), self.range(b)) {
                    for (value, range) in [(a, ra.compared(op, rb)), (b, rb.compared(mirrored(op), ra))] {
                        if let Some(range) = range {
                            old.push((value, self.known[value]));
                            self.known[value] = Some(range);
                        }
                    }
                }
            }
            Op::Unary(UnaryOp::Not, a) => self.narrow(a, !holds, old),
            Op::Binary(BinaryOp::And, a, b) if holds => {
                self.narrow(a, true, old);
                self.narrow(b, true, old);
            }
            Op::Binary(BinaryOp::Or, a, b) if !holds => {
                self.narrow(a, false, old);
                self.narrow(b, false, old);
            }
            _ => {}
        }
    }

    fn restore(&mut self, old: Vec<(ValueId, Option<Interval>)>) {
        for (value, range) in old.into_iter().rev() {
            self.known[value] = range;
        }
    }

    fn for_loop(&mut self, inst: &Inst, bounds: [ValueId; 3], init: &[ValueId], body: BlockId) {
        let params = &self.function.blocks[body].params;
        let scalar = self.function.ty(bounds[0]).as_scalar();
        let [Some(start), Some(end), Some(step)] = bounds.map(|v| self.range_or_full(v)) else { return };
        let up = Interval { low: start.low, high: end.high - 1 };
        let down = Interval { low: end.low + 1, high: start.high };
        let counter = match (step.low > 0, step.high < 0) {
            (true, _) => Some(up),
            (_, true) => Some(down),
            _ => Interval::union(Some(up), Some(down)),
        };
        // Empty: the body never runs, and anything is true of it.
        let counter = counter.filter(|r| r.low <= r.high).or_else(|| Interval::full(scalar?));
        self.turns(inst, init, &params[1..], |analysis, joins| {
            analysis.known[params[0]] = counter;
            analysis.block(body, joins);
        });
    }

    fn while_loop(&mut self, inst: &Inst, init: &[ValueId], condition: BlockId, body: BlockId) {
        let function = self.function;
        let before = &function.blocks[condition].params;
        self.turns(inst, init, before, |analysis, joins| {
            analysis.block(condition, &mut Joins::default());
            let mut narrowed = Vec::new();
            if let Some(Op::Yield(values)) = function.terminator(condition).map(|inst| &inst.op)
                && let Some(&holds) = values.first()
            {
                analysis.narrow(holds, true, &mut narrowed);
            }
            for (&param, &value) in function.blocks[body].params.iter().zip(before) {
                analysis.known[param] = analysis.known[value];
            }
            analysis.block(body, joins);
            analysis.restore(narrowed);
        });
    }

    /// Finds ranges for what a loop carries: `params` first stay at or above their start; those that a turn takes below
    /// it become unbounded, until the rest holds. `turn` walks one turn.
    fn turns(&mut self, inst: &Inst, init: &[ValueId], params: &[ValueId], turn: impl Fn(&mut Self, &mut Joins)) {
        let starts: Vec<Option<Interval>> = init.iter().map(|&v| self.range_or_full(v)).collect();
        let full: Vec<Option<Interval>> =
            params.iter().map(|&p| self.function.ty(p).as_scalar().and_then(Interval::full)).collect();
        let trial = |start: &Option<Interval>, full: &Option<Interval>| {
            start.zip(*full).map(|(start, full)| Interval { low: start.low, high: full.high })
        };
        let mut assumed: Vec<Option<Interval>> = if self.depth < MAX_TRIAL_DEPTH {
            starts.iter().zip(&full).map(|(s, f)| trial(s, f)).collect()
        } else {
            full.clone()
        };
        self.depth += 1;
        loop {
            for (&param, &range) in params.iter().zip(&assumed) {
                self.known[param] = range;
            }
            let mut joins = Joins::default();
            turn(self, &mut joins);
            let slot = |list: &[Option<Interval>], n: usize| list.get(n).copied().flatten();
            let next = |n: usize| Interval::union(slot(&joins.yielded, n), slot(&joins.continued, n));
            let mut confirmed = true;
            for n in 0..assumed.len() {
                if let (Some(range), Some(next)) = (assumed[n], next(n))
                    && !range.contains(next)
                {
                    assumed[n] = full[n];
                    confirmed = false;
                }
            }
            if confirmed {
                for (n, &result) in inst.results.iter().enumerate() {
                    let range = Interval::union(starts.get(n).copied().flatten(), next(n));
                    self.known[result] = Interval::union(range, slot(&joins.broken, n));
                }
                break;
            }
        }
        self.depth -= 1;
    }

    /// The range of an instruction without blocks that gives one integer.
    fn simple(&self, op: &Op, scalar: Scalar) -> Option<Interval> {
        let full = Interval::full(scalar)?;
        let at = |value: ValueId| self.range_or_full(value);
        let max = i128::from(i32::MAX);
        let range = match op {
            Op::Const(c) => Interval::exactly(c.as_int()?),
            Op::Zero => Interval::exactly(0),
            Op::Unary(op, a) => at(*a)?.unary(*op, scalar)?,
            Op::Binary(op, a, b) => at(*a)?.binary(*op, at(*b)?, scalar)?,
            Op::Cast(a) => match self.function.ty(*a) {
                Type::Scalar(Scalar::Bool) => Interval { low: 0, high: 1 },
                _ => at(*a)?,
            },
            Op::Select { then, otherwise, .. } => Interval::union(at(*then), at(*otherwise))?,
            Op::ThreadIndex(n) if usize::from(*n) < MAX_DIMS => Interval { low: 0, high: max - 1 },
            Op::ThreadNumber => Interval { low: 0, high: max },
            Op::BlockDim => Interval { low: 1, high: max },
            Op::Extent(array, dim) => match self.function.ty(*array) {
                Type::Local(local) => Interval::exactly(i128::from(*local.shape.get(usize::from(*dim))?)),
                _ => Interval { low: 0, high: max },
            },
            _ => return None,
        };
        // What does not fit may wrap to anything.
        full.contains(range).then_some(range)
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

/// The comparison with its sides exchanged.
fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Ge => CompareOp::Le,
        same => same,
    }
}
