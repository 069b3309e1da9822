//! Which arrays does each thread of a launch use for itself? Where an element is used by one thread
//! alone, what is done to it need not be atomic.
//!
//! An array is *private by element* if the thread can be read off the indices of every access to
//! it: for each coordinate of the kernel there is a dimension in which all accesses have the index
//! `c * coordinate + u + r`, with the same constant c, the same u, equal for all threads, and r
//! within a span of less than |c|. A coordinate is also known where all accesses are made under one
//! condition `coordinate == u`: no two threads that differ in it make them. Under such a condition
//! an index without the coordinate has it, too: `u` is `coordinate`.
//!
//! Assumptions, which the caller must be content with:
//! * The launch has no more dimensions than the kernel's rank: others repeat threads
//!   ([`crate::abi::LaunchBounds`]).
//! * What [`Sharing`] says about the memory of different arrays.
//! * An index that overflowed names no element (rule 13); for a launch that is known
//!   ([`IndexFacts::of_launch`]) this is not assumed: what may overflow tells nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::alias::{Root, location, root};
use super::effects::EffectTable;
use super::guards::{Guard, guards};
use super::interval::Interval;
use super::ranges::{LaunchFacts, Ranges};
use super::uniformity::Uniformity;
use super::value_numbering::numbering;
use crate::ids::{IdSet, IdVec};
use crate::ir::*;
use crate::types::{ArrayType, Element, MAX_DIMS, Scalar, StructTable, Type};

/// Which array parameters may share memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// None: each is looked at by itself.
    Never,
    /// Those with elements of one type. They are private together or not at all; and of arrays that
    /// are only read only one is, because two of them may be shifted parts of one array.
    SameType,
}

/// The arrays that are private by element.
#[derive(Clone, Debug, Default)]
pub struct PrivateArrays(BTreeSet<Root>);

impl PrivateArrays {
    /// Whether every element of this array (a parameter or a view of one, or a local array) is used
    /// by one thread at most.
    pub fn contains(&self, function: &Function, array: ValueId) -> bool {
        matches!(function.ty(array), Type::Local(_)) || self.0.contains(&root(function, array))
    }
}

/// An access to an array that was found.
struct Found {
    element: Element,
    root: Root,
    writes: bool,
    /// One per dimension of the root. None: it tells nothing about the thread.
    forms: Vec<Option<Form>>,
    /// The coordinates that a condition around it fixes, each with the number that they are.
    fixed: BTreeMap<u8, Form>,
}

impl Found {
    /// The index in a dimension with the coordinates and uniform values of another access. A
    /// condition around this one may say what a coordinate is: where `i == 0`, index 0 is `i`.
    fn form_like(&self, dim: usize, other: &Form) -> Option<Form> {
        let mut form = self.forms.get(dim)?.clone()?;
        if form.coordinates.is_empty() {
            for (n, &factor) in &other.coordinates {
                let number = self.fixed.get(n).filter(|number| number.coordinates.is_empty())?;
                form = form.plus(number, factor.checked_neg()?)?;
            }
            form.coordinates = other.coordinates.clone();
        }
        (form.coordinates == other.coordinates && form.uniform == other.uniform).then_some(form)
    }
}

/// What is known of the values that indices are computed from.
pub struct IndexFacts {
    pub ranges: Ranges,
    /// Of a kernel alone, as the next one.
    pub uniformity: Uniformity,
    /// See [`numbering`]; empty unless the function is a kernel.
    pub first: IdVec<ValueId, ValueId>,
    /// Threads along each coordinate, where one launch is looked at.
    threads: Option<[u32; MAX_DIMS]>,
    /// Where only the threads of one row are looked at.
    row: Option<Row>,
}

/// Threads that differ in one coordinate only.
struct Row {
    coordinate: u8,
    /// By value: it is another one in each iteration of a loop.
    changes: IdVec<ValueId, bool>,
}

impl IndexFacts {
    /// Of a kernel in one launch.
    pub fn of_launch(function: &Function, launch: &LaunchFacts) -> IndexFacts {
        IndexFacts {
            ranges: Ranges::of_launch(function, launch),
            threads: Some(launch.threads),
            ..IndexFacts::of(function)
        }
    }

    pub fn of(function: &Function) -> IndexFacts {
        match function.is_kernel() {
            true => IndexFacts {
                ranges: Ranges::of(function),
                // What calls give is taken to differ.
                uniformity: Uniformity::of(function, &EffectTable::default()),
                first: numbering(function),
                threads: None,
                row: None,
            },
            false => IndexFacts {
                ranges: Ranges::of(function),
                uniformity: Uniformity::default(),
                first: IdVec::new(),
                threads: None,
                row: None,
            },
        }
    }

    /// The same of threads that differ in one coordinate only, and have the others in common.
    pub fn in_row(self, function: &Function, coordinate: u8) -> IndexFacts {
        let mut changes: IdVec<ValueId, bool> = function.values.ids().map(|_| false).collect();
        function.walk(function.entry, &mut |_, inst| {
            if let Op::For { .. } | Op::While { .. } = inst.op {
                for block in inst.op.blocks() {
                    function.blocks[block].params.iter().for_each(|&param| changes[param] = true);
                    function.walk(block, &mut |_, inner| {
                        let params = inner.op.blocks().into_iter().flat_map(|b| &function.blocks[b].params);
                        params.chain(&inner.results).for_each(|&value| changes[value] = true);
                    });
                }
            }
        });
        IndexFacts { row: Some(Row { coordinate, changes }), ..self }
    }

    /// Whether there is one value for all threads that are looked at, at all times.
    fn is_same(&self, function: &Function, value: ValueId) -> bool {
        self.uniformity.is_invariant(value)
            || self.row.as_ref().is_some_and(|row| {
                let once = !row.changes[value] || matches!(function.op(value), Some(Op::ThreadIndex(_)));
                once && !self.uniformity.varies_along(value, row.coordinate)
            })
    }

    /// Whether the threads that are looked at may have different values.
    pub fn differs(&self, value: ValueId) -> bool {
        match &self.row {
            Some(row) => self.uniformity.varies_along(value, row.coordinate),
            None => !self.uniformity.is_invariant(value),
        }
    }

    /// The coordinates in which the threads differ that are looked at.
    fn differing(&self, rank: u8) -> Range<u8> {
        self.row.as_ref().map_or(0..rank, |row| row.coordinate..row.coordinate + 1)
    }
}

/// Looks at all accesses of a kernel; for other functions nothing is private.
pub fn private_arrays(function: &Function, structs: &StructTable, sharing: Sharing) -> PrivateArrays {
    private_arrays_among(function, structs, sharing, &IndexFacts::of(function), &|_| true)
}

/// The same, of accesses and calls for which `counts` holds.
pub fn private_arrays_among(
    function: &Function,
    structs: &StructTable,
    sharing: Sharing,
    known: &IndexFacts,
    counts: &dyn Fn(&Op) -> bool,
) -> PrivateArrays {
    let FunctionKind::Kernel { rank } = function.kind else { return PrivateArrays::default() };
    let mut forms = Forms { function, known, overflows: true };
    let guards = guards(function, function.entry);
    let mut accesses: Vec<Found> = Vec::new();
    // Element types of arrays that something unknown is done to.
    let mut unknown = IdSet::default();
    function.walk(function.entry, &mut |id, inst| match &inst.op {
        op if !counts(op) => {}
        op => match op.access() {
            Some(Access { array, indices, .. }) => {
                if let Type::Array(ArrayType { element, .. }) = function.ty(*array) {
                    let place = location(function, *array, indices);
                    if place.root == Root::Unknown {
                        unknown.insert(element);
                    }
                    let indices = place.index.iter().map(|i| forms.index(id, (*i)?)).collect();
                    let fixed = fixed(function, known, guards.get(&id).map_or(&[], |guards| &guards[..]));
                    accesses.push(Found {
                        element,
                        root: place.root,
                        writes: op.properties().writes,
                        forms: indices,
                        fixed,
                    });
                }
            }
            // What a callee does with its arrays is not known here.
            None if op.properties().accesses_memory() => op.for_each_operand(|operand| {
                elements(function.ty(operand), structs, &mut |element| {
                    unknown.insert(element);
                });
            }),
            None => {}
        },
    });
    let written: BTreeSet<&Root> = accesses.iter().filter(|a| a.writes).map(|a| &a.root).collect();
    let is_private = |access: &&Found| {
        let same = |other: &&Found| match sharing {
            Sharing::Never => other.root == access.root,
            Sharing::SameType => other.element == access.element,
        };
        let group: Vec<&Found> = accesses.iter().filter(same).collect();
        let only_read = |other: &Found| !written.contains(&other.root);
        let shifted = only_read(access) && group.iter().any(|other| only_read(other) && other.root != access.root);
        !unknown.contains(&access.element) && !shifted && tells_thread(&group, known.differing(rank), known.threads)
    };
    let mut seen = BTreeSet::new();
    let firsts = accesses.iter().filter(|access| seen.insert(&access.root));
    PrivateArrays(firsts.filter(is_private).map(|access| access.root.clone()).collect())
}

/// The coordinates that are one number, the same for all threads, where these conditions hold.
fn fixed(function: &Function, known: &IndexFacts, guards: &[Guard]) -> BTreeMap<u8, Form> {
    let mut found = BTreeMap::new();
    for guard in guards {
        let wanted = if guard.holds { CompareOp::Eq } else { CompareOp::Ne };
        let Some(&Op::Compare(op, a, b)) = function.op(guard.condition) else { continue };
        for (coordinate, number) in [(a, b), (b, a)] {
            if let Some(&Op::ThreadIndex(n)) = function.op(coordinate)
                && op == wanted
                && known.uniformity.is_invariant(number)
            {
                let form = Forms { function, known, overflows: false }.form(number);
                found.insert(n, form);
            } else if op == wanted
                && let Some((n, at)) = fixed_within(function, known, coordinate, number)
            {
                found.insert(n, Form::constant(at));
            }
        }
    }
    found
}

/// The coordinate that is known, and what it is, where `32 * coordinate + k` with k below 32 is a
/// certain number: the thread of a block, counted through the launch. (Its product does not
/// overflow: a launch has no more threads than an integer can number.)
fn fixed_within(function: &Function, known: &IndexFacts, value: ValueId, number: ValueId) -> Option<(u8, i128)> {
    let number = function.as_const(number)?.as_int()?;
    let form = Forms { function, known, overflows: true }.form(value);
    let (&n, &factor) = form.coordinates.first_key_value()?;
    let one = form.coordinates.len() == 1 && form.uniform.is_empty();
    let apart = factor > 1 && form.rest.high.checked_sub(form.rest.low)? < factor;
    (one && apart).then(|| (n, (number - form.rest.low).div_euclid(factor)))
}

/// The element types of the arrays in a type.
fn elements(ty: Type, structs: &StructTable, f: &mut impl FnMut(Element)) {
    match ty {
        Type::Array(a) => f(a.element),
        Type::Struct(id) => structs[id].fields.iter().for_each(|field| elements(field.ty, structs, f)),
        _ => {}
    }
}

/// Whether every wanted coordinate can be read off a dimension, in the same way in all accesses. A
/// dimension tells one coordinate, or with `threads` along each of them known, several, as
/// `i * width + j` does.
fn tells_thread(accesses: &[&Found], wanted: Range<u8>, threads: Option<[u32; MAX_DIMS]>) -> bool {
    let Some((first, others)) = accesses.split_first() else { return false };
    let mut told = BTreeSet::new();
    for dim in 0..first.forms.len() {
        let forms = accesses.iter().filter_map(|access| access.forms.get(dim)?.as_ref());
        let Some(head) = forms.max_by_key(|form| form.coordinates.len()) else { continue };
        let alike: Option<Vec<Form>> = accesses.iter().map(|access| access.form_like(dim, head)).collect();
        let Some(alike) = alike else { continue };
        let low = alike.iter().map(|form| form.rest.low).min();
        let high = alike.iter().map(|form| form.rest.high).max();
        let span = low.zip(high).map_or(head.rest, |(low, high)| Interval { low, high });
        let mut factors: Vec<(u8, i128)> = head.coordinates.iter().map(|(&n, c)| (n, c.abs())).collect();
        factors.sort_by_key(|&(_, c)| c);
        if threads.is_none() && factors.len() != 1 {
            continue;
        }
        // Each factor is larger than all that the ones before can make.
        let mut reach = span.high - span.low;
        let apart = factors.iter().all(|&(n, c)| {
            let apart = reach < c;
            let most = threads.map_or(0, |threads| i128::from(threads[usize::from(n)].max(1)) - 1);
            reach = reach.saturating_add(c.saturating_mul(most));
            apart
        });
        if apart {
            told.extend(factors.iter().map(|&(n, _)| n));
        }
    }
    let is_fixed =
        |&n: &u8| first.fixed.get(&n).is_some_and(|at| others.iter().all(|other| other.fixed.get(&n) == Some(at)));
    told.extend(wanted.clone().filter(is_fixed));
    let alone = |n: u8| threads.is_some_and(|threads| threads[usize::from(n)] <= 1);
    wanted.clone().all(|n| told.contains(&n) || alone(n))
}

/// An integer as `sum of constant * coordinate + sum of constant * uniform value + rest`, exactly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    pub coordinates: BTreeMap<u8, i128>,
    pub uniform: BTreeMap<ValueId, i128>,
    pub rest: Interval,
}

impl Form {
    fn constant(value: i128) -> Form {
        Form { coordinates: BTreeMap::new(), uniform: BTreeMap::new(), rest: Interval::exactly(value) }
    }

    fn plus(mut self, other: &Form, factor: i128) -> Option<Form> {
        fn add<K: Ord + Copy>(to: &mut BTreeMap<K, i128>, from: &BTreeMap<K, i128>, factor: i128) -> Option<()> {
            for (&key, &n) in from {
                let sum = to.entry(key).or_insert(0);
                *sum = sum.checked_add(n.checked_mul(factor)?)?;
            }
            to.retain(|_, n| *n != 0);
            Some(())
        }
        add(&mut self.coordinates, &other.coordinates, factor)?;
        add(&mut self.uniform, &other.uniform, factor)?;
        let (a, b) = (other.rest.low.checked_mul(factor)?, other.rest.high.checked_mul(factor)?);
        self.rest.low = self.rest.low.checked_add(a.min(b))?;
        self.rest.high = self.rest.high.checked_add(a.max(b))?;
        Some(self)
    }
}

pub(super) struct Forms<'a> {
    pub function: &'a Function,
    pub known: &'a IndexFacts,
    /// A sum or product that names no element if it overflowed is taken for exact.
    pub overflows: bool,
}

impl Forms<'_> {
    /// The form of an index that does not count from the end.
    fn index(&mut self, at: InstId, value: ValueId) -> Option<Form> {
        let from_start = match self.known.threads {
            None => self.known.ranges.counts_from_start(at, value),
            Some(_) => self.known.ranges.is_at_least(at, value, 0),
        };
        from_start.then(|| self.form(value))
    }

    fn range(&self, value: ValueId) -> Option<Interval> {
        self.known.ranges.interval(value).or_else(|| Interval::full(self.function.ty(value).as_scalar()?))
    }

    /// Not negative, or a sum or product of such numbers, which then overflowed (rule 13).
    fn counts_up(&self, value: ValueId) -> bool {
        self.overflows
            && self.known.threads.is_none()
            && self.known.ranges.bounds(value).is_some_and(|bounds| bounds.from_start)
    }

    /// The same, more or less constants: `32 * i - 3 + k`.
    fn counts_up_beside(&self, value: ValueId) -> bool {
        let constant = |v| self.function.as_const(v).is_some();
        self.counts_up(value)
            || match self.function.op(value) {
                Some(&Op::Binary(BinaryOp::Add, a, b)) => [(a, b), (b, a)]
                    .into_iter()
                    .any(|(a, b)| self.counts_up_beside(a) && (constant(b) || self.counts_up(b))),
                Some(&Op::Binary(BinaryOp::Sub, a, b)) => constant(b) && self.counts_up_beside(a),
                // It may go down: it is not said to count up.
                _ => false,
            }
    }

    /// Whether an operation's result is that of unbounded integers.
    fn is_exact(&self, op: BinaryOp, a: ValueId, b: ValueId, scalar: Scalar) -> bool {
        let all = self.range(a).zip(self.range(b)).zip(Interval::full(scalar));
        all.is_some_and(|((a, b), full)| a.binary(op, b, scalar).is_some_and(|range| full.contains(range)))
    }

    pub fn form(&mut self, value: ValueId) -> Form {
        self.sum(value).unwrap_or_else(|| self.leaf(value))
    }

    fn leaf(&mut self, value: ValueId) -> Form {
        let mut form = Form::constant(0);
        if self.known.is_same(self.function, value) {
            form.uniform.insert(self.known.first[value], 1);
        } else {
            // Wider than any factor, if nothing is known.
            let unbounded = Interval { low: -(1 << 64), high: 1 << 64 };
            form.rest = self.range(value).unwrap_or(unbounded);
        }
        form
    }

    fn sum(&mut self, value: ValueId) -> Option<Form> {
        let function = self.function;
        if let Some(constant) = function.as_const(value) {
            return Some(Form::constant(constant.as_int()?));
        }
        let scalar = function.ty(value).as_scalar()?;
        match &function.def(value)?.op {
            Op::ThreadIndex(n) if self.known.row.as_ref().is_none_or(|row| row.coordinate == *n) => {
                let mut form = Form::constant(0);
                form.coordinates.insert(*n, 1);
                Some(form)
            }
            // Exact, or a sum or product that names no element if it is not.
            Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b)
                if self.is_exact(*op, *a, *b, scalar)
                    || *op == BinaryOp::Mul && self.counts_up(*a) && self.counts_up(*b)
                    || *op != BinaryOp::Mul && self.counts_up_beside(value) =>
            {
                match op {
                    BinaryOp::Add => self.form(*a).plus(&self.form(*b), 1),
                    BinaryOp::Sub => self.form(*a).plus(&self.form(*b), -1),
                    _ => {
                        let exact = |v| self.range(v).filter(|range| range.low == range.high).map(|range| range.low);
                        let known = |v| function.as_const(v).and_then(Const::as_int).or_else(|| exact(v));
                        let (factor, other) = known(*b).map(|n| (n, *a)).or_else(|| known(*a).map(|n| (n, *b)))?;
                        Form::constant(0).plus(&self.form(other), factor)
                    }
                }
            }
            // Keeps every value.
            Op::Cast(a) if self.range(*a).zip(Interval::full(scalar)).is_some_and(|(r, full)| full.contains(r)) => {
                function.ty(*a).is_int().then(|| self.form(*a))
            }
            // The index of another value has no known form: the element has no known owner.
            _ => None,
        }
    }
}
