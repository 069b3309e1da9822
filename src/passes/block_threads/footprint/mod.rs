//! Do two iterations of a loop touch the same element? The answer by computing the indices of every
//! iteration.
//!
//! The threads of a block are as many as is known while compiling, so what an index is in each of
//! them can be computed, whatever its formula: `r * 8 + c`, `63 - i`, `(i % 32) * 32 + i // 32`.
//! Values that are the same for all threads (*uniform*) need not be known: they cancel out where
//! both indices have them. Where they do not, as in
//!
//! ```text
//! if i < w: s[i] += s[i + w]            if i % (2 * d) == 0: s[i] += s[i + d]
//! ```
//!
//! only few of them can make the indices meet. Each of these is tried, with the conditions under
//! which the accesses are made.

mod values;

use std::collections::{BTreeMap, HashMap};

use super::accesses::Count;
use crate::analysis::guards::Guard;
use crate::ids::IdMap;
use crate::ir::{BinaryOp, BlockId, CompareOp, Function, Op, Value, ValueDef, ValueId};
use crate::types::MAX_DIMS;
use values::{Evaluation, Form, at};

/// Loops with more iterations are not looked at.
pub(in crate::passes) const MOST_ITERATIONS: u64 = 1 << 12;

/// Elements of all iterations together, and iterations times numbers that are tried.
const MOST_ELEMENTS: usize = 1 << 18;
const MOST_TRIED: i64 = 1 << 23;

/// The iterations of a loop, or the threads of a block.
pub(in crate::passes) struct Iterations<'a> {
    pub function: &'a Function,
    /// What differs between them: `first`, `first + 1`, ...
    pub variable: Option<ValueId>,
    pub first: i64,
    pub count: usize,
    /// The coordinate of the thread, where each iteration is one's.
    pub coordinate: Option<ValueId>,
    /// Whether a value is the same in all of them.
    pub uniform: &'a dyn Fn(ValueId) -> bool,
    /// Never negative.
    pub natural: &'a dyn Fn(ValueId) -> bool,
    /// The value that an index represents.
    pub plain: &'a dyn Fn(ValueId) -> ValueId,
    /// By their bodies, start and end of the loops that count upward.
    pub loops: &'a IdMap<BlockId, [ValueId; 2]>,
    /// By their variables, the loops that count by 1, up or down, between constants.
    pub counts: &'a IdMap<ValueId, Count>,
}

/// Elements that an instruction touches.
pub(in crate::passes) struct Elements<'a> {
    pub indices: &'a [ValueId],
    pub guards: &'a [Guard],
}

/// What is known of a dimension of the memory: its extent, or else whether both indices surely
/// count from its start.
#[derive(Clone, Copy, Debug)]
pub(in crate::passes) enum Dimension {
    Extent(u32),
    FromStart(bool),
}

impl Iterations<'_> {
    /// Whether no element that one iteration touches at `a` is one that another iteration touches
    /// at `b`.
    pub fn are_apart(&self, a: &Elements<'_>, b: &Elements<'_>, dimensions: &[Dimension]) -> bool {
        let mut query = Query { iterations: self, a, b, dimensions };
        query.try_with(None)
            || query.candidates().into_iter().any(|(value, numbers)| {
                let tried = numbers.end().saturating_sub(*numbers.start()).saturating_add(1);
                tried.saturating_mul(self.count as i64) <= MOST_TRIED
                    && numbers.into_iter().all(|number| query.try_with(Some((value, number))))
            })
    }
}

impl Iterations<'_> {
    /// Whether one iteration surely touches at `a` an element that another one touches at `b`, in
    /// each block of threads or in those in which a coordinate is 0.
    pub fn surely_meet(&self, a: &Elements<'_>, b: &Elements<'_>) -> bool {
        let coordinate = |(id, value): (ValueId, &Value)| {
            let ValueDef::Result(inst, _) = value.def else { return None };
            matches!(self.function.insts[inst].op, Op::ThreadIndex(_)).then_some(Some((id, 0)))
        };
        let coordinates = self.function.values.iter().filter_map(coordinate);
        std::iter::once(None).chain(coordinates).any(|given| self.surely_meet_with(given, a, b))
    }

    fn surely_meet_with(&self, given: Option<(ValueId, i64)>, a: &Elements<'_>, b: &Elements<'_>) -> bool {
        let mut evaluation = Evaluation::new(self, given);
        let (Some(active_a), Some(active_b)) = (
            surely_active(&mut evaluation, a.guards, self.count),
            surely_active(&mut evaluation, b.guards, self.count),
        ) else {
            return false;
        };
        let mut pairs = Vec::new();
        for (&i, &j) in a.indices.iter().zip(b.indices) {
            let (Some(first), Some(second)) = (evaluation.of(i), evaluation.of(j)) else { return false };
            if first.terms != second.terms || first.low != first.high || second.low != second.high {
                return false;
            }
            pairs.push((first, second));
        }
        let mut owners: HashMap<Vec<i64>, usize> = HashMap::new();
        for n in (0..self.count).filter(|&n| active_a[n]) {
            owners.insert(pairs.iter().map(|(first, _)| at(&first.low, n)).collect(), n);
        }
        (0..self.count).filter(|&n| active_b[n]).any(|n| {
            let element: Vec<i64> = pairs.iter().map(|(_, second)| at(&second.low, n)).collect();
            owners.get(&element).is_some_and(|&owner| owner != n)
        })
    }
}

/// The iterations in which all conditions hold. None: not all of them are known.
fn surely_active(evaluation: &mut Evaluation<'_>, guards: &[Guard], count: usize) -> Option<Vec<bool>> {
    let known = guards
        .iter()
        .all(|guard| evaluation.of(guard.condition).is_some_and(|form| form.terms.is_empty() && form.low == form.high));
    known.then(|| active(evaluation, guards, count))
}

/// The iterations in which all conditions may hold.
fn active(evaluation: &mut Evaluation<'_>, guards: &[Guard], count: usize) -> Vec<bool> {
    let mut all = vec![true; count];
    for guard in guards {
        let Some(form) = evaluation.of(guard.condition).filter(|form| form.terms.is_empty()) else { continue };
        for (n, active) in all.iter_mut().enumerate() {
            *active &= if guard.holds { at(&form.high, n) == 1 } else { at(&form.low, n) == 0 };
        }
    }
    all
}

struct Query<'a> {
    iterations: &'a Iterations<'a>,
    a: &'a Elements<'a>,
    b: &'a Elements<'a>,
    dimensions: &'a [Dimension],
}

type Numbers = std::ops::RangeInclusive<i64>;

impl Query<'_> {
    fn try_with(&mut self, given: Option<(ValueId, i64)>) -> bool {
        let count = self.iterations.count;
        let mut evaluation = Evaluation::new(self.iterations, given);
        let active_a = active(&mut evaluation, self.a.guards, count);
        let active_b = active(&mut evaluation, self.b.guards, count);
        let mut compared = Vec::new();
        for ((&i, &j), dimension) in self.a.indices.iter().zip(self.b.indices).zip(self.dimensions) {
            let modulus = match *dimension {
                Dimension::Extent(extent) => Some(i64::from(extent.max(1))),
                Dimension::FromStart(true) => None,
                Dimension::FromStart(false) => continue,
            };
            if let (Some(first), Some(second)) = (evaluation.of(i), evaluation.of(j))
                && first.terms == second.terms
            {
                compared.push((first, second, modulus));
            }
        }
        let mut owners = Owners::new(compared.iter().map(|(_, _, modulus)| *modulus).collect());
        let firsts: Vec<&Form> = compared.iter().map(|(first, _, _)| &**first).collect();
        let seconds: Vec<&Form> = compared.iter().map(|(_, second, _)| &**second).collect();
        owners.each(&firsts, &active_a, |owner, iteration| {
            *owner = if *owner == NOBODY || *owner == iteration { iteration } else { SEVERAL };
            true
        }) && owners.each(&seconds, &active_b, |owner, iteration| *owner == NOBODY || *owner == iteration)
    }

    /// Uniform values of which all but these numbers keep the indices apart.
    fn candidates(&self) -> Vec<(ValueId, Numbers)> {
        let mut evaluation = Evaluation::new(self.iterations, None);
        let mut found: Vec<(ValueId, Numbers)> = Vec::new();
        for ((&i, &j), dimension) in self.a.indices.iter().zip(self.b.indices).zip(self.dimensions) {
            let wrapped = match *dimension {
                Dimension::Extent(extent) => i64::from(extent),
                Dimension::FromStart(true) => 0,
                Dimension::FromStart(false) => continue,
            };
            let (Some(first), Some(second)) = (evaluation.of(i), evaluation.of(j)) else { continue };
            let distance = first.terms_less(&second);
            if let Some((value, most)) = bounded(&distance, first.reach(&second).saturating_add(wrapped)) {
                found.extend(self.source(value, most));
                found.push((value, -most..=most));
            }
        }
        for guard in self.a.guards.iter().chain(self.b.guards) {
            let mut leaves = Vec::new();
            self.leaves(guard.condition, &mut leaves, 0);
            for leaf in leaves {
                found.extend(self.counted(leaf).or_else(|| self.periodic(&mut evaluation, leaf)).map(|n| (leaf, n)));
            }
            if guard.holds
                && let Some(&Op::Compare(CompareOp::Eq, x, y)) = self.op(guard.condition)
                && let (Some(x), Some(y)) = (evaluation.of(x), evaluation.of(y))
                && let Some((value, most)) = bounded(&x.terms_less(&y), x.reach(&y))
            {
                found.push((value, -most..=most));
            }
        }
        found
    }

    fn op(&self, value: ValueId) -> Option<&Op> {
        self.iterations.function.op(value)
    }

    fn int(&self, value: ValueId) -> Option<i64> {
        i64::try_from(self.iterations.function.as_const(value)?.as_int()?).ok()
    }

    /// A uniform value that another one is computed from, by steps that never go down (or never
    /// up), and the numbers beyond which that is further from 0 than `most`.
    fn source(&self, value: ValueId, most: i64) -> Option<(ValueId, Numbers)> {
        let mut at = value;
        while let Some(op) = self.op(at) {
            let next = match *op {
                Op::Binary(BinaryOp::Add | BinaryOp::Mul, a, b) if self.int(b).is_some_and(|n| n != 0) => a,
                Op::Binary(BinaryOp::Add | BinaryOp::Mul, a, b) if self.int(a).is_some_and(|n| n != 0) => b,
                Op::Binary(BinaryOp::Sub, a, b) if self.int(b).is_some() => a,
                Op::Binary(BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Shr, a, b)
                    if self.int(b).is_some_and(|n| n > 0) =>
                {
                    a
                }
                // Others may repeat themselves: the search ends here.
                _ => break,
            };
            if !(self.iterations.uniform)(next) || self.int(next).is_some() {
                break;
            }
            at = next;
        }
        let mut reach = most.max(1);
        while at != value && reach < MOST_TRIED {
            let beyond = |number: i64| {
                let form = Evaluation::new(self.iterations, Some((at, number))).of(value);
                form.and_then(|form| form.constant()).is_some_and(|result| result.abs() > most)
            };
            if beyond(reach) && beyond(-reach) {
                return Some((at, -reach..=reach));
            }
            reach *= 2;
        }
        None
    }

    /// The uniform values that a condition comes of.
    fn leaves(&self, value: ValueId, found: &mut Vec<ValueId>, depth: u32) {
        if self.int(value).is_some() || found.contains(&value) || depth > 16 {
            return;
        }
        if let Some(
            op @ (Op::Binary(..) | Op::Unary(..) | Op::Compare(..) | Op::Cast(_) | Op::Select { .. } | Op::If { .. }),
        ) = self.op(value)
        {
            op.for_each_operand(|v| self.leaves(v, found, depth + 1));
        } else if (self.iterations.uniform)(value) {
            found.push(value);
        }
    }

    /// The numbers of a loop's variable between constants.
    fn counted(&self, value: ValueId) -> Option<Numbers> {
        let &Count { least, trips } = self.iterations.counts.get(&value)?;
        Some(least..=least.checked_add(i64::try_from(trips).ok()?)? - 1)
    }

    /// Numbers of which every other one does to the conditions what one of them does: those that
    /// only say what the rest by a constant is.
    fn periodic(&self, evaluation: &mut Evaluation<'_>, leaf: ValueId) -> Option<Numbers> {
        let (mut period, mut reach) = (1i64, 0i64);
        for guard in self.a.guards.iter().chain(self.b.guards) {
            let (p, most) = self.period(evaluation, guard.condition, leaf, 0)?;
            period = period.checked_mul(p).filter(|&p| p <= 4096)?;
            reach = reach.max(most);
        }
        let all = self.a.indices.iter().chain(self.b.indices);
        for &index in all {
            if self.comes_of(index, leaf, 0) {
                return None;
            }
        }
        Some(-(reach + 2 * period)..=reach + 2 * period)
    }

    fn comes_of(&self, value: ValueId, leaf: ValueId, depth: u32) -> bool {
        let mut found = value == leaf || depth > 16;
        if let Some(op) = self.op(value).filter(|_| !found && self.int(value).is_none()) {
            op.for_each_operand(|v| found |= self.comes_of(v, leaf, depth + 1));
        }
        found
    }

    /// After how much more of `leaf` a value is the same again, and from which distance to 0 on
    /// that is so.
    fn period(&self, evaluation: &mut Evaluation<'_>, value: ValueId, leaf: ValueId, depth: u32) -> Option<(i64, i64)> {
        if !self.comes_of(value, leaf, 0) {
            return Some((1, 0));
        }
        match *self.op(value)? {
            Op::Binary(op @ (BinaryOp::Rem | BinaryOp::And), a, b) if self.int(b).is_some_and(|n| n > 0) => {
                let by = self.int(b)?;
                let form = evaluation.of(a)?;
                let period = if op == BinaryOp::Rem {
                    by
                } else {
                    i64::try_from((by as u64 + 1).checked_next_power_of_two()?).ok()?
                };
                let linear = form.terms.len() == 1 && form.terms.get(&leaf).is_some_and(|times| times.abs() == 1);
                let reach = form.low.iter().chain(&form.high).map(|n| n.abs()).max()?;
                linear.then_some((period, reach))
            }
            ref op @ (Op::Binary(..) | Op::Unary(..) | Op::Compare(..)) if depth < 16 => {
                let (mut period, mut reach) = (Some(1i64), 0i64);
                op.for_each_operand(|v| {
                    let found = self.period(evaluation, v, leaf, depth + 1);
                    period = period.zip(found).and_then(|(p, (q, _))| p.checked_mul(q));
                    reach = reach.max(found.map_or(0, |(_, most)| most));
                });
                period.map(|period| (period, reach))
            }
            // Of others no period is known.
            _ => None,
        }
    }
}

/// The only uniform value of a difference, and how far from 0 it can be where its part of that is
/// `most` at most.
fn bounded(terms: &BTreeMap<ValueId, i64>, most: i64) -> Option<(ValueId, i64)> {
    let mut terms = terms.iter();
    match (terms.next(), terms.next()) {
        (Some((&value, times)), None) => Some((value, most / times.abs())),
        _ => None,
    }
}

const NOBODY: i32 = -1;
const SEVERAL: i32 = -2;

/// Which iteration touches an element.
struct Owners {
    moduli: Vec<Option<i64>>,
    /// By the row-major number, where all extents are known; else by the index.
    dense: Vec<i32>,
    sparse: HashMap<[i64; MAX_DIMS], i32>,
    elements: usize,
}

impl Owners {
    fn new(moduli: Vec<Option<i64>>) -> Owners {
        let total = moduli.iter().try_fold(1i64, |total, extent| total.checked_mul((*extent)?));
        let dense = total.filter(|&total| total <= MOST_ELEMENTS as i64).map_or(0, |total| total as usize);
        Owners { moduli, dense: vec![NOBODY; dense], sparse: HashMap::new(), elements: 0 }
    }

    /// Looks at each element of each iteration, until `look` says no or there are too many.
    fn each(&mut self, forms: &[&Form], active: &[bool], look: impl Fn(&mut i32, i32) -> bool) -> bool {
        let mut index = [0; MAX_DIMS];
        let mut all = active.iter().enumerate().filter(|(_, active)| **active);
        all.all(|(n, _)| self.elements_of(forms, n, 0, &mut index, &look))
    }

    fn elements_of(
        &mut self,
        forms: &[&Form],
        iteration: usize,
        dim: usize,
        index: &mut [i64; MAX_DIMS],
        look: &impl Fn(&mut i32, i32) -> bool,
    ) -> bool {
        let Some(form) = forms.get(dim) else {
            self.elements += 1;
            return self.elements <= MOST_ELEMENTS && look(self.owner(index), iteration as i32);
        };
        let (mut low, mut high) = (at(&form.low, iteration), at(&form.high, iteration));
        let modulus = self.moduli[dim];
        if let Some(extent) = modulus {
            // What is outside is no element.
            if form.terms.is_empty() {
                (low, high) = (low.max(-extent), high.min(extent - 1));
            }
            high = high.min(low + extent - 1);
        }
        high - low <= MOST_ELEMENTS as i64
            && (low..=high).all(|i| {
                index[dim] = modulus.map_or(i, |extent| i.rem_euclid(extent));
                self.elements_of(forms, iteration, dim + 1, index, look)
            })
    }

    fn owner(&mut self, index: &[i64; MAX_DIMS]) -> &mut i32 {
        if self.dense.is_empty() {
            return self.sparse.entry(*index).or_insert(NOBODY);
        }
        let number = self.moduli.iter().zip(index).fold(0, |number, (extent, i)| number * extent.unwrap_or(1) + i);
        &mut self.dense[number as usize]
    }
}
