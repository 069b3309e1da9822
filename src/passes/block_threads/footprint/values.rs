//! What is an integer in each iteration of a loop? An abstract interpretation that evaluates all
//! iterations at once.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::Iterations;
use crate::ir::{BinaryOp, CompareOp, Function, Op, UnaryOp, ValueDef, ValueId};
use crate::passes::block_threads::accesses::Count;
use crate::types::{BOOL, Scalar};

/// Numbers beyond this are not followed.
const MOST: i64 = 1 << 40;

/// How many definitions are followed.
const MAX_DEPTH: u32 = 48;

/// An integer or bool in every iteration: from `low` to `high` of that iteration, plus a sum of
/// uniform values. One number in `low` or `high` is that of all iterations.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Form {
    pub low: Vec<i64>,
    pub high: Vec<i64>,
    /// The uniform values that no constant is known for, each so many times.
    pub terms: BTreeMap<ValueId, i64>,
}

pub(super) fn at(numbers: &[i64], iteration: usize) -> i64 {
    numbers[if numbers.len() == 1 { 0 } else { iteration }]
}

fn zip(a: &[i64], b: &[i64], f: impl Fn(i64, i64) -> i64) -> Vec<i64> {
    (0..a.len().max(b.len())).map(|n| f(at(a, n), at(b, n))).collect()
}

impl Form {
    pub fn exact(numbers: Vec<i64>) -> Form {
        Form { low: numbers.clone(), high: numbers, terms: BTreeMap::new() }
    }

    fn between(low: Vec<i64>, high: Vec<i64>) -> Form {
        Form { low, high, terms: BTreeMap::new() }
    }

    fn uniform(value: ValueId) -> Form {
        Form { terms: BTreeMap::from([(value, 1)]), ..Form::exact(vec![0]) }
    }

    fn unknown_bool() -> Form {
        Form::between(vec![0], vec![1])
    }

    /// The numbers, where each iteration has one and nothing is added.
    fn numbers(&self) -> Option<&[i64]> {
        (self.terms.is_empty() && self.low == self.high).then_some(&self.low[..])
    }

    /// The number that it is in all iterations.
    pub fn constant(&self) -> Option<i64> {
        match self.numbers()? {
            &[number] => Some(number),
            _ => None,
        }
    }

    fn scaled(&self, by: i64) -> Form {
        let times = |numbers: &[i64]| numbers.iter().map(|n| n.saturating_mul(by)).collect::<Vec<_>>();
        let (low, high) = if by < 0 { (&self.high, &self.low) } else { (&self.low, &self.high) };
        let mut terms = self.terms.clone();
        terms.values_mut().for_each(|times| *times = times.saturating_mul(by));
        terms.retain(|_, times| *times != 0);
        Form { low: times(low), high: times(high), terms }
    }

    fn plus(&self, other: &Form) -> Form {
        let mut terms = self.terms.clone();
        for (&term, times) in &other.terms {
            *terms.entry(term).or_default() += times;
        }
        terms.retain(|_, times| *times != 0);
        let sum = |a: &[i64], b: &[i64]| zip(a, b, i64::saturating_add);
        Form { low: sum(&self.low, &other.low), high: sum(&self.high, &other.high), terms }
    }

    fn less(&self, other: &Form) -> Form {
        self.plus(&other.scaled(-1))
    }

    /// The terms that one has and the other has not.
    pub fn terms_less(&self, other: &Form) -> BTreeMap<ValueId, i64> {
        self.less(other).terms
    }

    /// How far the numbers of any two iterations are apart at most.
    pub fn reach(&self, other: &Form) -> i64 {
        let least = |form: &Form| form.low.iter().copied().min().unwrap_or(0);
        let most = |form: &Form| form.high.iter().copied().max().unwrap_or(0);
        (most(self) - least(other)).max(most(other) - least(self)).max(0)
    }

    fn is_small(&self) -> bool {
        let small = |n: &i64| n.abs() <= MOST;
        self.low.iter().all(small) && self.high.iter().all(small) && self.terms.values().all(small)
    }

    fn is_natural(&self, natural: &dyn Fn(ValueId) -> bool) -> bool {
        self.low.iter().all(|&n| n >= 0) && self.terms.iter().all(|(&term, &times)| times > 0 && natural(term))
    }
}

/// One evaluation: with a number for one of the uniform values, if any.
pub(super) struct Evaluation<'a> {
    iterations: &'a Iterations<'a>,
    given: Option<(ValueId, i64)>,
    known: HashMap<ValueId, Option<Rc<Form>>>,
}

impl<'a> Evaluation<'a> {
    pub fn new(iterations: &'a Iterations<'a>, given: Option<(ValueId, i64)>) -> Self {
        Evaluation { iterations, given, known: HashMap::new() }
    }

    fn function(&self) -> &'a Function {
        self.iterations.function
    }

    pub fn of(&mut self, value: ValueId) -> Option<Rc<Form>> {
        self.at_depth(value, MAX_DEPTH)
    }

    fn at_depth(&mut self, value: ValueId, depth: u32) -> Option<Rc<Form>> {
        let value = (self.iterations.plain)(value);
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let found = self.compute(value, depth).filter(Form::is_small).map(Rc::new);
        self.known.insert(value, found.clone());
        found
    }

    fn compute(&mut self, value: ValueId, depth: u32) -> Option<Form> {
        let function = self.function();
        if let Some(seed) = self.seed(value) {
            return Some(seed);
        }
        if let Some((_, number)) = self.given.filter(|(given, _)| *given == value) {
            return Some(Form::exact(vec![number]));
        }
        if let Some(number) = function.as_const(value).and_then(|c| c.as_int()) {
            return Some(Form::exact(vec![i64::try_from(number).ok()?]));
        }
        let uniform = (self.iterations.uniform)(value);
        let scalar = function.ty(value).as_scalar().filter(|scalar| !scalar.is_float())?;
        let found = match function.values[value].def {
            _ if depth == 0 => None,
            ValueDef::Param(..) if uniform => None,
            ValueDef::Param(..) if let Some(&Count { least, trips }) = self.iterations.counts.get(&value) => {
                let most = least.checked_add(i64::try_from(trips).ok()?)?;
                Some(Form::between(vec![least], vec![least.max(most - 1)]))
            }
            ValueDef::Param(block, 0) => {
                let [start, end] = self.iterations.loops.get(&block).copied()?;
                let (start, end) = (self.at_depth(start, depth - 1)?, self.at_depth(end, depth - 1)?);
                let last: Vec<i64> = end.high.iter().map(|n| n - 1).collect();
                (start.terms == end.terms).then(|| Form {
                    high: zip(&start.low, &last, i64::max),
                    low: start.low.clone(),
                    terms: start.terms.clone(),
                })
            }
            ValueDef::Result(id, n) => self.result(&function.insts[id].op, n as usize, scalar, depth - 1),
            _ => None,
        };
        match found.filter(|found| fits(found, scalar)) {
            Some(found) => Some(found),
            None if uniform && scalar != Scalar::Bool => Some(Form::uniform(value)),
            None if function.ty(value) == BOOL => Some(Form::unknown_bool()),
            None => None,
        }
    }

    /// The variable of the iterations, or the coordinate of the thread that has one: the variable,
    /// and the number of threads as often as the block has others before it. As a term, the
    /// coordinate represents that number of blocks.
    fn seed(&self, value: ValueId) -> Option<Form> {
        let &Iterations { variable, coordinate, first, count, .. } = self.iterations;
        let numbers = || Form::exact((0..count as i64).map(|n| first + n).collect());
        if variable == Some(value) {
            return Some(numbers());
        }
        let threads = i64::try_from(count).ok().filter(|_| coordinate == Some(value))?;
        Some(match self.given {
            Some((given, block)) if given == value => numbers().plus(&Form::exact(vec![threads.saturating_mul(block)])),
            _ => Form { terms: BTreeMap::from([(value, threads)]), ..numbers() },
        })
    }

    fn result(&mut self, op: &Op, n: usize, scalar: Scalar, depth: u32) -> Option<Form> {
        match *op {
            Op::Binary(op, a, b) => {
                let (a, b) = (self.at_depth(a, depth)?, self.at_depth(b, depth)?);
                self.binary(op, &a, &b, scalar)
            }
            Op::Unary(UnaryOp::Neg, a) => Some(self.at_depth(a, depth)?.scaled(-1)),
            Op::Unary(UnaryOp::Not, a) => {
                let a = self.at_depth(a, depth)?;
                let not = |numbers: &[i64]| numbers.iter().map(|n| 1 - n).collect();
                a.terms.is_empty().then(|| Form::between(not(&a.high), not(&a.low)))
            }
            Op::Compare(op, a, b) => {
                let integer = |v| self.function().ty(v).as_scalar().is_some_and(|scalar| !scalar.is_float());
                if !integer(a) || !integer(b) {
                    return None;
                }
                let (a, b) = (self.at_depth(a, depth)?, self.at_depth(b, depth)?);
                let distance = a.less(&b);
                distance.terms.is_empty().then(|| compare(op, &distance))
            }
            Op::Select { condition, then, otherwise } => self.chosen(condition, then, otherwise, depth),
            Op::If { condition, then, otherwise } => {
                let yielded = |block| self.function().yielded(block).get(n).copied();
                self.chosen(condition, yielded(then)?, yielded(otherwise)?, depth)
            }
            Op::Cast(a) => {
                let from = self.function().ty(a).as_scalar()?;
                let a = self.at_depth(a, depth)?;
                let natural = a.is_natural(self.iterations.natural);
                let fits = a.terms.is_empty() && natural && a.high.iter().all(|&n| n <= i32::MAX.into());
                let signed = |scalar: Scalar| matches!(scalar, Scalar::I32 | Scalar::I64);
                let same = signed(from) && scalar == Scalar::I64 || from == scalar;
                let whole = |scalar: Scalar| scalar.size() >= 4 && !scalar.is_float();
                (same || fits && whole(scalar)).then(|| (*a).clone())
            }
            // Of others no bounds are known.
            _ => None,
        }
    }

    fn chosen(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId, depth: u32) -> Option<Form> {
        let condition = self.at_depth(condition, depth)?;
        let (then, otherwise) = (self.at_depth(then, depth), self.at_depth(otherwise, depth));
        if condition.low.iter().all(|&n| n == 1) {
            return then.map(|form| (*form).clone());
        }
        if condition.high.iter().all(|&n| n == 0) {
            return otherwise.map(|form| (*form).clone());
        }
        let (then, otherwise) = (then?, otherwise?);
        if then.terms != otherwise.terms {
            return None;
        }
        let all = [&condition.low, &condition.high, &then.low, &then.high, &otherwise.low, &otherwise.high];
        let count = all.iter().map(|numbers| numbers.len()).max().unwrap_or(1);
        let (mut low, mut high) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for n in 0..count {
            let (a, b) = ((at(&then.low, n), at(&then.high, n)), (at(&otherwise.low, n), at(&otherwise.high, n)));
            let (from, to) = match (at(&condition.low, n), at(&condition.high, n)) {
                (1, _) => a,
                (_, 0) => b,
                _ => (a.0.min(b.0), a.1.max(b.1)),
            };
            low.push(from);
            high.push(to);
        }
        Some(Form { low, high, terms: then.terms.clone() })
    }

    fn binary(&self, op: BinaryOp, a: &Form, b: &Form, scalar: Scalar) -> Option<Form> {
        match op {
            BinaryOp::Add => return Some(a.plus(b)),
            BinaryOp::Sub => return Some(a.less(b)),
            BinaryOp::Mul => match (a.constant(), b.constant()) {
                (Some(n), _) => return Some(b.scaled(n)),
                (_, Some(n)) => return Some(a.scaled(n)),
                _ => {}
            },
            BinaryOp::Shl => {
                if let Some(by @ 0..=30) = b.constant() {
                    return Some(a.scaled(1 << by));
                }
            }
            _ => {}
        }
        if let Some(by) = b.constant()
            && let Some(found) = self.by_constant(op, a, by)
        {
            return Some(found);
        }
        if !a.terms.is_empty() || !b.terms.is_empty() {
            return None;
        }
        let grows = match op {
            BinaryOp::Min | BinaryOp::Max => true,
            BinaryOp::And | BinaryOp::Or => scalar == Scalar::Bool,
            _ => false,
        };
        let one = |x: i64, y: i64| number(op, x, y);
        if grows {
            let all = |x: &[i64], y: &[i64]| -> Option<Vec<i64>> {
                (0..x.len().max(y.len())).map(|n| one(at(x, n), at(y, n))).collect()
            };
            return Some(Form::between(all(&a.low, &b.low)?, all(&a.high, &b.high)?));
        }
        let (x, y) = (a.numbers()?, b.numbers()?);
        let all: Option<Vec<i64>> = (0..x.len().max(y.len())).map(|n| one(at(x, n), at(y, n))).collect();
        Some(Form::exact(all?))
    }

    /// Quotients, rests, shifts and masks by a constant: also of intervals, and of sums whose terms
    /// are multiples.
    fn by_constant(&self, op: BinaryOp, a: &Form, by: i64) -> Option<Form> {
        let power = |mask: i64| (mask >= 0 && (mask + 1) & mask == 0).then_some(mask + 1);
        let (rest, divisor) = match op {
            BinaryOp::Div | BinaryOp::FloorDiv => (false, by),
            BinaryOp::Shr if (0..=30).contains(&by) => (false, 1 << by),
            BinaryOp::Rem => (true, by),
            BinaryOp::And => (true, power(by)?),
            _ => return None,
        };
        if divisor <= 0 || !a.is_natural(self.iterations.natural) || a.terms.values().any(|times| times % divisor != 0)
        {
            return None;
        }
        let quotient = |numbers: &[i64]| numbers.iter().map(|n| n / divisor).collect::<Vec<_>>();
        if !rest {
            let mut terms = a.terms.clone();
            terms.values_mut().for_each(|times| *times /= divisor);
            return Some(Form { low: quotient(&a.low), high: quotient(&a.high), terms });
        }
        let within = |x: i64, y: i64| x / divisor == y / divisor;
        let low = zip(&a.low, &a.high, |x, y| if within(x, y) { x % divisor } else { 0 });
        let high = zip(&a.low, &a.high, |x, y| if within(x, y) { y % divisor } else { divisor - 1 });
        Some(Form::between(low, high))
    }
}

/// Whether no iteration's number wraps around in this type. What is added is not known, and is
/// taken to fit.
fn fits(form: &Form, scalar: Scalar) -> bool {
    let (signed, bits) = (scalar.is_signed_int(), 8 * scalar.size().min(4));
    let [least, most] = match (scalar, signed) {
        (Scalar::Bool, _) => [0, 1],
        (Scalar::I64, _) => [-MOST, MOST],
        (_, true) => [-(1 << (bits - 1)), (1 << (bits - 1)) - 1],
        (_, false) => [0, (1 << bits) - 1],
    };
    let inside = |n: &i64| (least..=most).contains(n);
    if !form.terms.is_empty() {
        return scalar.size() >= 4
            && (signed || form.terms.values().all(|&times| times > 0) && form.low.iter().all(|&n| n >= 0));
    }
    form.low.iter().all(inside) && form.high.iter().all(inside)
}

fn number(op: BinaryOp, x: i64, y: i64) -> Option<i64> {
    Some(match op {
        BinaryOp::Mul => x.checked_mul(y)?,
        BinaryOp::Div => x.checked_div(y)?,
        BinaryOp::FloorDiv => x.checked_div_euclid(y).filter(|_| y > 0)?,
        BinaryOp::Rem => x.checked_rem(y)?,
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl if (0..=30).contains(&y) => x << y,
        BinaryOp::Shr if (0..=30).contains(&y) => x >> y,
        _ => return None,
    })
}

/// The comparison with 0 in each iteration.
fn compare(op: CompareOp, distance: &Form) -> Form {
    let each = |certain: &dyn Fn(i64, i64) -> bool| zip(&distance.low, &distance.high, |a, b| certain(a, b).into());
    match op {
        CompareOp::Eq => Form::between(each(&|a, b| a == 0 && b == 0), each(&|a, b| a <= 0 && b >= 0)),
        CompareOp::Ne => Form::between(each(&|a, b| a > 0 || b < 0), each(&|a, b| a != 0 || b != 0)),
        CompareOp::Lt => Form::between(each(&|_, b| b < 0), each(&|a, _| a < 0)),
        CompareOp::Le => Form::between(each(&|_, b| b <= 0), each(&|a, _| a <= 0)),
        CompareOp::Gt => Form::between(each(&|a, _| a > 0), each(&|_, b| b > 0)),
        CompareOp::Ge => Form::between(each(&|a, _| a >= 0), each(&|_, b| b >= 0)),
    }
}
