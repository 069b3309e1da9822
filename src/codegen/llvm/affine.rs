//! Which indices are affine in the thread's last coordinate?
//!
//! The host runs the threads of a row in an inner loop over the last coordinate j. Where the index
//! of an access is `a*j + b`, with b the same for the whole row, the j for which it is in bounds
//! are an interval, found before the loop: inside it the loop runs without checks and can be
//! vectorised. [`Guards`] collects these conditions while the body is lowered and then emits the
//! interval.
//!
//! Forms hold for 32-bit arithmetic that wraps: the exact value of a form equals the computed one
//! modulo 2^32, and a value inside `0..extent` is less than 2^31, so once the exact value is known
//! to be inside, both are the same.

use std::collections::HashMap;
use std::rc::Rc;

use smallvec::SmallVec;

use super::builder::{Block, IntPredicate, Llvm, Val};
use super::inside_launch::LaunchTests;
use crate::ids::{IdMap, IdSet};
use crate::ir::BinaryOp;
use crate::types::Scalar;

/// What a form is made of, besides the inner coordinate: a 32-bit value, as an exact integer.
#[derive(Clone, PartialEq, Debug)]
enum Leaf<'ctx> {
    /// The same for all threads of a row, and computed before it.
    Invariant { value: Val<'ctx>, signed: bool },
    /// The product of two invariants.
    Product([(Val<'ctx>, bool); 2]),
    /// The int32 variable of a `for` whose range is the same for all threads of a row: it goes by
    /// `step` and not beyond `last`.
    Variable { value: Val<'ctx>, first: Rc<Affine<'ctx>>, last: Rc<Affine<'ctx>>, step: i64 },
}

/// `inner * j + sum of coefficient * leaf + constant`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Affine<'ctx> {
    inner: i64,
    terms: SmallVec<[(i64, Leaf<'ctx>); 2]>,
    constant: i64,
}

/// Bounds that keep exact values inside 64 bits: at most 4 terms of at most 2^20 * 2^32, and one
/// product below 2^62.
const MAX_FACTOR: i64 = 1 << 20;
const MAX_TERMS: usize = 4;
const MAX_CONSTANT: i64 = 1 << 33;

impl<'ctx> Affine<'ctx> {
    fn constant(value: i64) -> Affine<'ctx> {
        Affine { constant: value, ..Affine::default() }
    }

    fn plus(&self, other: &Affine<'ctx>, sign: i64) -> Option<Affine<'ctx>> {
        let mut sum = self.clone();
        sum.inner += sign * other.inner;
        sum.constant += sign * other.constant;
        for (factor, leaf) in &other.terms {
            match sum.terms.iter_mut().find(|(_, l)| l == leaf) {
                Some(term) => term.0 += sign * factor,
                None => sum.terms.push((sign * factor, leaf.clone())),
            }
        }
        sum.terms.retain(|(factor, _)| *factor != 0);
        sum.bounded()
    }

    fn times(&self, factor: i64) -> Option<Affine<'ctx>> {
        if factor.abs() > MAX_FACTOR {
            return None;
        }
        let mut product = self.clone();
        product.inner *= factor;
        product.constant *= factor;
        product.terms.iter_mut().for_each(|term| term.0 *= factor);
        product.terms.retain(|(factor, _)| *factor != 0);
        product.bounded()
    }

    fn bounded(self) -> Option<Affine<'ctx>> {
        let products = self.terms.iter().filter(|(_, leaf)| matches!(leaf, Leaf::Product(_)));
        let small = |n: i64| n.abs() <= MAX_FACTOR;
        let fits = small(self.inner)
            && self.terms.len() <= MAX_TERMS
            && self.constant.abs() <= MAX_CONSTANT
            && self.terms.iter().all(|(factor, leaf)| match leaf {
                Leaf::Product(_) => factor.abs() == 1,
                _ => small(*factor),
            })
            && products.count() <= 1;
        fits.then_some(self)
    }

    /// The least or greatest value over the loops around it, where constants alone say it.
    fn known(&self, bound: Bound) -> Option<i64> {
        let mut sum = Some(self.constant).filter(|_| self.inner == 0)?;
        for (factor, leaf) in &self.terms {
            let Leaf::Variable { first, last, step, .. } = leaf else { return None };
            let value = if bound.is_first(*factor, *step) {
                first.known(bound)?
            } else if step.abs() == 1 {
                last.known(bound)?
            } else {
                let from = first.known(bound)?;
                from + (last.known(bound)? - from) / step * step
            };
            sum += factor * value;
        }
        Some(sum)
    }

    /// The leaf, where the form is nothing else.
    fn as_invariant(&self) -> Option<(Val<'ctx>, bool)> {
        match &self.terms[..] {
            [(1, Leaf::Invariant { value, signed })] if self.inner == 0 && self.constant == 0 => {
                Some((*value, *signed))
            }
            _ => None,
        }
    }

    /// The value (i64) of a form that [`ValueFacts::fixed_form`] gave, in front of the row.
    pub fn emit_fixed(&self, ll: &Llvm<'ctx>) -> Val<'ctx> {
        self.emit(ll, None)
    }

    /// The value without the inner part, as i64: at the cursor for the present iteration of the
    /// loops around it (`bound` None), or its least or greatest value over them.
    fn emit(&self, ll: &Llvm<'ctx>, bound: Option<Bound>) -> Val<'ctx> {
        let extend =
            |value: Val<'ctx>, signed: bool| if signed { ll.sext(value, ll.i64()) } else { ll.zext(value, ll.i64()) };
        let mut sum = None;
        for (factor, leaf) in &self.terms {
            let value = match (leaf, bound) {
                (Leaf::Invariant { value, signed }, _) => extend(*value, *signed),
                (Leaf::Product([a, b]), _) => ll.mul_nsw(extend(a.0, a.1), extend(b.0, b.1)),
                (Leaf::Variable { value, .. }, None) => extend(*value, true),
                (Leaf::Variable { first, last, step, .. }, Some(bound)) => {
                    let (from, to) = (first.emit(ll, None), last.emit(ll, None));
                    if bound.is_first(*factor, *step) {
                        from
                    } else if step.abs() == 1 {
                        to
                    } else {
                        // Longer steps may stop short of that.
                        let step = ll.const_i64(*step);
                        ll.add_nsw(from, ll.mul_nsw(ll.sdiv(ll.sub(to, from), step), step))
                    }
                }
            };
            let scaled = if *factor == 1 { value } else { ll.mul_nsw(value, ll.const_i64(*factor)) };
            sum = Some(sum.map_or(scaled, |s| ll.add_nsw(s, scaled)));
        }
        let constant = ll.const_i64(self.constant);
        match sum {
            None => constant,
            Some(sum) if self.constant == 0 => sum,
            Some(sum) => ll.add_nsw(sum, constant),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Least,
    Most,
}

impl Bound {
    /// Whether `factor` times the variable of a loop has this bound in the first turn, and not in
    /// the last one.
    fn is_first(self, factor: i64, step: i64) -> bool {
        (self == Bound::Least) == (factor.signum() == step.signum())
    }
}

/// The range of a `for` loop; `step` where it is a constant.
#[derive(Clone, Copy)]
pub struct LoopRange<'ctx> {
    pub start: Val<'ctx>,
    pub end: Val<'ctx>,
    pub step: Option<i64>,
}

/// What is known about values of one LLVM function.
#[derive(Default)]
pub struct ValueFacts<'ctx> {
    /// Indices, each with an extent that it is below.
    within: IdSet<(Val<'ctx>, Val<'ctx>)>,
    /// Extents of adjoints, and those in their places.
    same: HashMap<Val<'ctx>, Val<'ctx>>,
    /// Parts of arrays that are inside, by the conditions around the cursor: the first index, the
    /// extent, and how many indices.
    parts: Vec<(Val<'ctx>, Val<'ctx>, u32)>,
    /// Only filled in the host's fast loop.
    forms: IdMap<Val<'ctx>, Affine<'ctx>>,
    affine: bool,
    /// Collected in a GPU's kernel.
    pub launch_tests: Option<LaunchTests<'ctx>>,
}

impl<'ctx> ValueFacts<'ctx> {
    /// Starts to follow affine forms. `inner` is the last coordinate (i32).
    pub fn follow_affine(&mut self, inner: Val<'ctx>) {
        self.affine = true;
        self.forms.insert(inner, Affine { inner: 1, ..Affine::default() });
    }

    /// A 32-bit value that is computed before the row.
    pub fn set_invariant(&mut self, value: Val<'ctx>, signed: bool) {
        if self.affine {
            let terms = SmallVec::from_iter([(1, Leaf::Invariant { value, signed })]);
            self.forms.insert(value, Affine { terms, ..Affine::default() });
        }
    }

    fn form(&self, ll: &Llvm<'ctx>, value: Val<'ctx>) -> Option<Affine<'ctx>> {
        match ll.as_int(value) {
            Some(constant) => Some(Affine::constant(constant)),
            None => self.forms.get(&value).cloned(),
        }
    }

    /// The form of a value that is the same for the whole row and known before it.
    pub fn fixed_form(&self, ll: &Llvm<'ctx>, value: Val<'ctx>) -> Option<Affine<'ctx>> {
        let varies = |(_, leaf): &(i64, Leaf<'ctx>)| matches!(leaf, Leaf::Variable { .. });
        self.form(ll, value).filter(|form| form.inner == 0 && !form.terms.iter().any(varies))
    }

    /// Learns about `result = x op y`.
    pub fn binary(&mut self, ll: &Llvm<'ctx>, op: BinaryOp, s: Scalar, x: Val<'ctx>, y: Val<'ctx>, result: Val<'ctx>) {
        if !s.is_int() || ll.as_int(result).is_some() {
            return;
        }
        if let Some(tests) = self.launch_tests.as_mut().filter(|_| s == Scalar::I32) {
            tests.binary(ll, op, x, y, result);
        }
        if !self.affine || !matches!(s, Scalar::I32 | Scalar::U32) {
            return;
        }
        let (Some(fx), Some(fy)) = (self.form(ll, x), self.form(ll, y)) else { return };
        let form = match op {
            BinaryOp::Add => fx.plus(&fy, 1),
            BinaryOp::Sub => fx.plus(&fy, -1),
            BinaryOp::Mul => match (ll.as_int(x), ll.as_int(y)) {
                (_, Some(n)) => fx.times(n),
                (Some(n), _) => fy.times(n),
                _ => fx.as_invariant().zip(fy.as_invariant()).filter(|(a, b)| a.1 && b.1).map(|(a, b)| Affine {
                    terms: SmallVec::from_iter([(1, Leaf::Product([a, b]))]),
                    ..Affine::default()
                }),
            },
            BinaryOp::Shl => match ll.as_int(y) {
                Some(n @ 0..=20) => fx.times(1 << n),
                _ => None,
            },
            _ => None,
        };
        if let Some(form) = form {
            self.forms.insert(result, form);
        }
    }

    /// The form of a single invariant or constant, exact by itself: a sum may have wrapped.
    fn exact_form(&self, ll: &Llvm<'ctx>, value: Val<'ctx>) -> Option<Affine<'ctx>> {
        self.form(ll, value).filter(|form| {
            form.terms.is_empty() && form.inner == 0 || form.as_invariant().is_some_and(|(_, signed)| signed)
        })
    }

    /// Whether a `for` from `start` to `end` is the same for all threads of a row, so that guards
    /// hold for its variable.
    pub fn is_row_range(&self, ll: &Llvm<'ctx>, start: Val<'ctx>, end: Val<'ctx>) -> bool {
        self.affine && self.exact_form(ll, start).is_some() && self.exact_form(ll, end).is_some()
    }

    /// An index in `0..extent`.
    pub fn set_within(&mut self, value: Val<'ctx>, extent: Val<'ctx>) {
        self.within.insert((value, extent));
    }

    /// An extent is that of another array, or nobody asks for elements.
    pub fn set_same(&mut self, extent: Val<'ctx>, other: Val<'ctx>) {
        self.same.insert(extent, other);
    }

    /// The extent in its place.
    pub fn same(&self, extent: Val<'ctx>) -> Val<'ctx> {
        self.same.get(&extent).copied().unwrap_or(extent)
    }

    pub fn is_within(&self, value: Val<'ctx>, extent: Val<'ctx>) -> bool {
        self.within.contains(&(value, extent))
    }

    /// `first` and so many indices from there are in `0..extent`, until
    /// [`ValueFacts::forget_parts`].
    pub fn set_part(&mut self, first: Val<'ctx>, extent: Val<'ctx>, count: u32) {
        self.parts.push((first, extent, count));
    }

    /// How many parts are known.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Forgets all but so many parts.
    pub fn forget_parts(&mut self, kept: usize) {
        self.parts.truncate(kept);
    }

    /// How many indices from `first` on are in `0..extent`.
    pub fn part(&self, first: Val<'ctx>, extent: Val<'ctx>) -> Option<u32> {
        self.parts.iter().filter(|part| (part.0, part.1) == (first, extent)).map(|part| part.2).max()
    }

    /// Learns about the variable of a `for`.
    pub fn loop_variable(&mut self, ll: &Llvm<'ctx>, s: Scalar, variable: Val<'ctx>, range: LoopRange<'ctx>) {
        let LoopRange { start, end, step: Some(step) } = range else { return };
        if !self.affine || s != Scalar::I32 || step == 0 {
            return;
        }
        let (Some(start), Some(end)) = (self.exact_form(ll, start), self.exact_form(ll, end)) else { return };
        let Some(last) = end.plus(&Affine::constant(step.signum()), -1) else { return };
        let leaf = Leaf::Variable { value: variable, first: Rc::new(start), last: Rc::new(last), step };
        self.forms.insert(variable, Affine { terms: SmallVec::from_iter([(1, leaf)]), ..Affine::default() });
    }
}

/// What must hold for the check-free loop over a row.
pub struct Guards<'ctx> {
    /// The last coordinate as i64.
    pub coordinate: Val<'ctx>,
    /// Extents and strides of array parameters: known before the row.
    pub known: IdSet<Val<'ctx>>,
    within: Vec<Within<'ctx>>,
    strides: Vec<Stride<'ctx>>,
}

/// `form + constant` is in `0..extent` for each constant of a range: the neighbours of one element,
/// however many, are one guard.
struct Within<'ctx> {
    form: Affine<'ctx>,
    extent: Val<'ctx>,
    least: i64,
    most: i64,
    /// It holds for an array without elements, too.
    or_empty: bool,
}

/// May the fast loop run if the array has no elements? Optional arrays that were not given have
/// none, and real kernels have many of them.
#[derive(Clone, Copy, PartialEq)]
pub enum Empty {
    /// The loop touches the array whether a thread does or not.
    Refused,
    /// Nothing tests indices: threads that run touch no such array.
    Trusted,
    /// Each access tests that the array has elements; in a loop, those alone whose index is a
    /// constant.
    Tested { in_loop: bool },
}

/// An index in the fast loop.
pub struct InRow<'ctx> {
    /// As i64 at the cursor, of lanes that of the first one.
    pub first: Val<'ctx>,
    /// How far it is to that of the next thread.
    pub step: i64,
    /// The access has to test that the extent is not 0.
    pub is_tested: bool,
}

/// The stride is `size`, or one of the extents is 0.
struct Stride<'ctx> {
    stride: Val<'ctx>,
    size: u32,
    extents: SmallVec<[Val<'ctx>; 4]>,
}

/// Guards beyond this cost more than they save; further accesses are checked in place.
const MAX_GUARDS: usize = 100;

impl<'ctx> Guards<'ctx> {
    pub fn new(coordinate: Val<'ctx>, known: IdSet<Val<'ctx>>) -> Guards<'ctx> {
        Guards { coordinate, known, within: Vec::new(), strides: Vec::new() }
    }

    /// The fast loop may take this stride of an array with these extents to be `size`: false when
    /// it is not known before the row. An array that was not given has strides of 0, and nothing
    /// reads it.
    pub fn require_stride(&mut self, stride: Val<'ctx>, size: u32, extents: &[Val<'ctx>]) -> bool {
        let known = self.known.contains(&stride);
        if known && !self.strides.iter().any(|guard| guard.stride == stride && guard.size == size) {
            let extents = extents.iter().copied().filter(|extent| self.known.contains(extent)).collect();
            self.strides.push(Stride { stride, size, extents });
        }
        known
    }

    /// An index that is in bounds in the fast loop; None when that cannot be guarded.
    pub fn require_within(
        &mut self,
        ll: &Llvm<'ctx>,
        facts: &ValueFacts<'ctx>,
        [index, extent]: [Val<'ctx>; 2],
        empty: Empty,
    ) -> Option<InRow<'ctx>> {
        if !self.known.contains(&extent) && ll.as_int(extent).is_none() {
            return None;
        }
        let form = facts.form(ll, index)?;
        let constant = form.constant;
        let base = Affine { constant: 0, ..form.clone() };
        let mut or_empty = match empty {
            Empty::Refused => false,
            Empty::Trusted => true,
            // A test in a loop is one exit more, which the loop vectoriser does not bear.
            Empty::Tested { in_loop: true } => form.inner == 0 && form.terms.is_empty(),
            Empty::Tested { in_loop: false } => true,
        };
        let full = self.within.len() == MAX_GUARDS;
        let (least, most) = (form.known(Bound::Least), form.known(Bound::Most));
        let fails = least.is_some_and(|n| n < 0) || most.zip(ll.as_int(extent)).is_some_and(|(n, extent)| n >= extent);
        let holds = least.and(most).and(ll.as_int(extent)).is_some() && !fails;
        match self.within.iter_mut().find(|guard| guard.extent == extent && guard.form == base) {
            // `if k > 0: x[k - 1]` in a loop from 0: no row would have that guard.
            _ if fails => return None,
            _ if holds => or_empty = false,
            Some(guard) => {
                guard.least = guard.least.min(constant);
                guard.most = guard.most.max(constant);
                or_empty &= guard.or_empty;
                guard.or_empty = or_empty;
            }
            None if full => return None,
            None => self.within.push(Within { form: base, extent, least: constant, most: constant, or_empty }),
        }
        let rest = form.emit(ll, None);
        let first = match form.inner {
            0 => rest,
            factor => {
                let scaled =
                    if factor == 1 { self.coordinate } else { ll.mul_nsw(self.coordinate, ll.const_i64(factor)) };
                if ll.as_int(rest) == Some(0) { scaled } else { ll.add_nsw(scaled, rest) }
            }
        };
        Some(InRow { first, step: form.inner, is_tested: or_empty && empty != Empty::Trusted })
    }

    /// Emits the part of `low..high` (i64) in which all guards hold, in `block`, whose end is still
    /// open.
    pub fn emit(&self, ll: &Llvm<'ctx>, block: Block<'ctx>, low: Val<'ctx>, high: Val<'ctx>) -> (Val<'ctx>, Val<'ctx>) {
        ll.position_at_end(block);
        let min = |a, b| ll.intrinsic("llvm.smin", &[ll.i64()], &[a, b]);
        let max = |a, b| ll.intrinsic("llvm.smax", &[ll.i64()], &[a, b]);
        let one = ll.const_i64(1);
        let (mut first, mut end) = (low, high);
        let mut ok = ll.bool(true);
        let no_elements = |extent: Val<'ctx>| ll.eq(extent, ll.zero(ll.ty(extent)));
        for Stride { stride, size, extents } in &self.strides {
            let is_size = ll.eq(*stride, ll.const_i32(*size as i32));
            ok = ll.and(ok, extents.iter().fold(is_size, |holds, extent| ll.or(holds, no_elements(*extent))));
        }
        for Within { form, extent, least, most, or_empty } in &self.within {
            let extent = ll.sext(*extent, ll.i64());
            let is_empty = or_empty.then(|| no_elements(extent));
            let or_empty = |holds| is_empty.map_or(holds, |empty| ll.or(holds, empty));
            let unless_empty = |old, new| is_empty.map_or(new, |empty| ll.select(empty, old, new));
            let bound = |bound, constant| Affine { constant, ..form.clone() }.emit(ll, Some(bound));
            let (least, most) = (bound(Bound::Least, *least), bound(Bound::Most, *most));
            match form.inner {
                0 => {
                    ok = ll.and(ok, or_empty(ll.icmp(IntPredicate::SGE, least, ll.const_i64(0))));
                    ok = ll.and(ok, or_empty(ll.icmp(IntPredicate::SLT, most, extent)));
                }
                a if a > 0 => {
                    // a*j + least >= 0 and a*j + most < extent.
                    first = unless_empty(first, max(first, ceil_div(ll, ll.neg(least), a)));
                    end = unless_empty(end, min(end, ceil_div(ll, ll.sub(extent, most), a)));
                }
                a => {
                    first = unless_empty(first, max(first, ll.add(floor_div(ll, ll.sub(most, extent), -a), one)));
                    end = unless_empty(end, min(end, ll.add(floor_div(ll, least, -a), one)));
                }
            }
        }
        let end = ll.select(ok, max(end, first), low);
        let first = ll.select(ok, first, low);
        // Still inside low..high: bounds may lie beyond either.
        let first = min(first, high);
        (first, max(first, min(end, high)))
    }
}

fn floor_div<'ctx>(ll: &Llvm<'ctx>, x: Val<'ctx>, by: i64) -> Val<'ctx> {
    if by == 1 {
        return x;
    }
    if by.count_ones() == 1 {
        return ll.ashr(x, ll.const_i64(i64::from(by.trailing_zeros())));
    }
    let negative = ll.icmp(IntPredicate::SLT, x, ll.const_i64(0));
    let biased = ll.select(negative, ll.sub(x, ll.const_i64(by - 1)), x);
    ll.sdiv(biased, ll.const_i64(by))
}

fn ceil_div<'ctx>(ll: &Llvm<'ctx>, x: Val<'ctx>, by: i64) -> Val<'ctx> {
    if by == 1 { x } else { floor_div(ll, ll.add(x, ll.const_i64(by - 1)), by) }
}
