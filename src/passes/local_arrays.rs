//! Local arrays as values: a `local_array` whose elements are read and written by this function
//! alone becomes vectors and matrices in SSA form, threaded through branches and loops.
//!
//! An array of n scalars is a `vec(n)`; an array of n vectors a `mat(n, c)`; any other element is
//! split into such *parts* (`parts`), one per matrix row, quaternion component or struct field.
//! Several dimensions are laid out row by row. Loads become `extract`, stores `insert`.
//!
//! An index outside the extent is an error of a checked run (rule 13). The values keep its effect
//! (a load gives zero, a store changes nothing, as rule 14 has it for steps) but no longer report
//! it: promote in code that runs after code that did, such as the replay of a kernel.

use std::collections::BTreeSet;

use parts::{Part, parts};
use smallvec::{SmallVec, smallvec};

use super::rebuild::Rebuild;
use crate::ids::{IdMap, IdSet};
use crate::ir::{
    Access, BinaryOp, BlockId, CompareOp, Const, Function, InstId, Op, Path, Step, ValueId, Values, straight,
};
use crate::source::Span;
use crate::types::{LocalArrayType, Scalar, StructTable, Type};

mod parts;

/// A local array that stays in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The array, the result of `local_array`.
    pub array: ValueId,
    /// What keeps it there.
    pub span: Span,
    /// Why, as the rest of a sentence: "the array is ...".
    pub reason: &'static str,
}

/// Promotes the local arrays with at most `max_scalars` scalars; returns those that it can't
/// promote. The function may have any shape.
pub fn run(function: &mut Function, structs: &StructTable, max_scalars: u64) -> Vec<Kept> {
    promote(function, structs, max_scalars, &|_| true)
}

/// The same without these tiles.
pub fn run_without(function: &mut Function, structs: &StructTable, max_scalars: u64, tiles: &IdSet<ValueId>) {
    promote(function, structs, max_scalars, &|array| !tiles.contains(&array));
}

/// The same without tiles: all threads of a block see those.
pub fn of_threads(function: &mut Function, structs: &StructTable, max_scalars: u64) -> Vec<Kept> {
    let tiles: IdSet<ValueId> = function.values.ids().filter(|&v| function.ty(v).is_tile()).collect();
    promote(function, structs, max_scalars, &|array| !tiles.contains(&array))
}

fn promote(
    function: &mut Function,
    structs: &StructTable,
    max_scalars: u64,
    wanted: &dyn Fn(ValueId) -> bool,
) -> Vec<Kept> {
    let mut survey = Survey { function, structs, max_scalars, wanted, arrays: IdMap::default(), kept: Vec::new() };
    survey.find();
    let (arrays, kept) = (survey.arrays, survey.kept);
    if arrays.is_empty() {
        return kept;
    }
    let mut stored = IdMap::default();
    writes(function, function.entry, &arrays, &mut stored);
    let entry = function.entry;
    let mut promotion = Promotion { rebuild: Rebuild::start(function), structs, arrays, stored, now: IdMap::default() };
    promotion.block(entry, &Carried::default());
    promotion.rebuild.finish(function);
    kept
}

/// Which arrays can be promoted?
struct Survey<'a> {
    function: &'a Function,
    structs: &'a StructTable,
    max_scalars: u64,
    wanted: &'a dyn Fn(ValueId) -> bool,
    arrays: IdMap<ValueId, Vec<Part>>,
    kept: Vec<Kept>,
}

impl Survey<'_> {
    fn find(&mut self) {
        let function = self.function;
        let mut found = Vec::new();
        function.walk(function.entry, &mut |_, inst| {
            if let (Op::LocalArray, Some(&array)) = (&inst.op, inst.results.first())
                && let Type::Local(ty) = function.ty(array)
                && (self.wanted)(array)
            {
                found.push((array, ty, inst.span));
            }
        });
        for (array, ty, span) in found {
            match parts(ty, self.structs, self.max_scalars) {
                Ok(parts) => {
                    self.arrays.insert(array, parts);
                }
                Err(reason) => self.kept.push(Kept { array, span, reason }),
            }
        }
        self.uses(function.entry, None);
    }

    fn keep(&mut self, array: ValueId, span: Span, reason: &'static str) {
        if self.arrays.remove(&array).is_some() {
            self.kept.push(Kept { array, span, reason });
        }
    }

    /// Looks for uses that need a place in memory; `condition`: the arrays that were there before
    /// the condition block around this code.
    fn uses(&mut self, block: BlockId, condition: Option<&BTreeSet<ValueId>>) {
        let function = self.function;
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            if let Some(array) = stored_array(&inst.op)
                && condition.is_some_and(|before| before.contains(&array))
            {
                self.keep(array, inst.span, "changed in the condition of a loop");
            }
            let accessed = accessed_array(&inst.op);
            let mut operands: SmallVec<[ValueId; 8]> = SmallVec::new();
            inst.op.for_each_operand(|v| operands.push(v));
            for value in operands {
                // The array of an access is its only operand with the array's type.
                if accessed != Some(value) {
                    let reason = if let Op::Call(..) = inst.op {
                        "passed to a function"
                    } else if let Op::AtomicCas { .. } = inst.op {
                        "changed by an atomic operation"
                    } else {
                        "one of several that are chosen from at run time"
                    };
                    self.keep(value, inst.span, reason);
                }
            }
            if let Op::While { condition: test, .. } = inst.op {
                let inside = function.computed_in(test);
                let before = self.arrays.keys().copied().filter(|array| !inside.contains(array)).collect();
                self.uses(test, Some(&before));
            }
            for nested in inst.op.blocks() {
                self.uses(nested, condition);
            }
        }
    }
}

/// The array of an access that a promoted one can serve.
fn accessed_array(op: &Op) -> Option<ValueId> {
    if let Op::Load(access) | Op::Store { access, .. } | Op::Atomic { access, .. } = op {
        Some(access.array)
    } else if let Op::Extent(array, _) = op {
        Some(*array)
    } else {
        None
    }
}

fn stored_array(op: &Op) -> Option<ValueId> {
    if let Op::Store { access, .. } | Op::Atomic { access, .. } = op { Some(access.array) } else { None }
}

/// Finds the promoted arrays that a block and those in it write, for each block.
fn writes(
    function: &Function,
    block: BlockId,
    arrays: &IdMap<ValueId, Vec<Part>>,
    stored: &mut IdMap<BlockId, BTreeSet<ValueId>>,
) -> BTreeSet<ValueId> {
    let mut all = BTreeSet::new();
    for &id in &function.blocks[block].insts {
        let op = &function.insts[id].op;
        all.extend(stored_array(op).filter(|array| arrays.contains_key(array)));
        for nested in op.blocks() {
            all.append(&mut writes(function, nested, arrays, stored));
        }
    }
    stored.insert(block, all.clone());
    all
}

/// The arrays whose values terminators pass on.
#[derive(Clone, Default)]
struct Carried {
    /// With `yield`.
    yielded: Vec<ValueId>,
    /// With `break` and `continue`.
    looped: Vec<ValueId>,
}

struct Promotion<'a> {
    rebuild: Rebuild,
    structs: &'a StructTable,
    arrays: IdMap<ValueId, Vec<Part>>,
    /// The arrays that each block writes.
    stored: IdMap<BlockId, BTreeSet<ValueId>>,
    /// The present value of each part of the visible arrays.
    now: IdMap<ValueId, Values>,
}

impl Promotion<'_> {
    fn block(&mut self, block: BlockId, carried: &Carried) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            self.inst(id, carried);
        }
        self.rebuild.b.switch_to(outside);
    }

    fn inst(&mut self, id: InstId, carried: &Carried) {
        let mut op = self.rebuild.visit(id);
        let results = self.rebuild.b.function.insts[id].results.clone();
        match &mut op {
            Op::LocalArray if self.arrays.contains_key(&results[0]) => {
                let types: Vec<Type> = self.arrays[&results[0]].iter().map(|part| part.ty).collect();
                let values = types.iter().map(|&ty| self.rebuild.b.zero(ty)).collect();
                self.set(results[0], values);
            }
            Op::Extent(array, dim) if self.arrays.contains_key(array) => {
                let extent = shape(self.rebuild.b.ty(*array)).get(usize::from(*dim)).copied().unwrap_or(1);
                let value = self.rebuild.b.int(Scalar::I32, i128::from(extent));
                self.rebuild.replace(results[0], value);
            }
            Op::Load(Access { array, indices, path }) if self.arrays.contains_key(array) => {
                let at = self.step(*array, indices);
                let value = self.load(*array, at, path);
                self.rebuild.replace(results[0], value);
            }
            Op::Store { access: Access { array, indices, path }, value } if self.arrays.contains_key(array) => {
                let at = self.step(*array, indices);
                self.store(*array, at, path, *value);
            }
            Op::Atomic { op, access: Access { array, indices, path }, value } if self.arrays.contains_key(array) => {
                let at = self.step(*array, indices);
                let old = self.load(*array, at, path);
                let new = match op.binary() {
                    Some(op) => self.rebuild.b.binary(op, old, *value),
                    None => *value,
                };
                self.store(*array, at, path, new);
                self.rebuild.replace(results[0], old);
            }
            Op::If { then, otherwise, .. } => {
                let written = self.written(&[*then, *otherwise]);
                let context = Carried { yielded: written.clone(), looped: carried.looped.clone() };
                let before = self.now.clone();
                self.block(*then, &context);
                self.now.clone_from(&before);
                self.block(*otherwise, &context);
                self.now = before;
                self.results(id, &written);
            }
            Op::For { init, body, .. } => {
                let written = self.written(&[*body]);
                init.extend(self.values(&written));
                self.looped(*body, &written);
                self.rebuild.b.function.insts[id].op = op;
                self.results(id, &written);
            }
            Op::While { init, condition, body } => {
                let written = self.written(&[*body]);
                init.extend(self.values(&written));
                let before = self.now.clone();
                self.params(*condition, &written);
                self.block(*condition, &Carried::default());
                self.now = before;
                self.looped(*body, &written);
                self.rebuild.b.function.insts[id].op = op;
                self.results(id, &written);
            }
            Op::Yield(values) => self.terminator(id, values.clone(), &carried.yielded, Op::Yield),
            Op::Break(values) => self.terminator(id, values.clone(), &carried.looped, Op::Break),
            Op::Continue(values) => self.terminator(id, values.clone(), &carried.looped, Op::Continue),
            straight!() | Op::Return(_) => self.rebuild.b.append(id),
        }
    }

    /// The visible arrays that some blocks write.
    fn written(&self, blocks: &[BlockId]) -> Vec<ValueId> {
        let all: BTreeSet<ValueId> = blocks.iter().filter_map(|b| self.stored.get(b)).flatten().copied().collect();
        all.into_iter().filter(|array| self.now.contains_key(array)).collect()
    }

    /// The present values of arrays, part by part.
    fn values(&self, arrays: &[ValueId]) -> Values {
        arrays.iter().filter_map(|array| self.now.get(array)).flatten().copied().collect()
    }

    fn set(&mut self, array: ValueId, values: Values) {
        let name = self.rebuild.b.function.values[array].name.clone();
        for &value in &values {
            let slot = &mut self.rebuild.b.function.values[value].name;
            if slot.is_none() {
                slot.clone_from(&name);
            }
        }
        self.now.insert(array, values);
    }

    fn types(&self, array: ValueId) -> Vec<Type> {
        self.arrays.get(&array).into_iter().flatten().map(|part| part.ty).collect()
    }

    /// Appends an `if` or loop, with results for arrays that it writes.
    fn results(&mut self, id: InstId, written: &[ValueId]) {
        for &array in written {
            let types = self.types(array);
            let values = types.into_iter().map(|ty| self.rebuild.b.add_result(id, ty)).collect();
            self.set(array, values);
        }
        self.rebuild.b.append(id);
    }

    /// Parameters of a loop's block for arrays.
    fn params(&mut self, block: BlockId, written: &[ValueId]) {
        for &array in written {
            let types = self.types(array);
            let values = types.into_iter().map(|ty| self.rebuild.b.add_param(block, ty)).collect();
            self.set(array, values);
        }
    }

    fn looped(&mut self, body: BlockId, written: &[ValueId]) {
        let before = self.now.clone();
        self.params(body, written);
        self.block(body, &Carried { yielded: written.to_vec(), looped: written.to_vec() });
        self.now = before;
    }

    fn terminator(&mut self, id: InstId, mut values: Values, arrays: &[ValueId], op: fn(Values) -> Op) {
        values.extend(self.values(arrays));
        self.rebuild.b.function.insts[id].op = op(values);
        self.rebuild.b.append(id);
    }

    /// The step to an element: to one that is not there if an index is outside its extent.
    fn step(&mut self, array: ValueId, index: &[ValueId]) -> Step {
        let b = &mut self.rebuild.b;
        let extents = shape(b.ty(array));
        let known: Option<Vec<i128>> = index.iter().map(|&i| b.function.as_const(i)?.as_int()).collect();
        if let Some(known) = known {
            let inside = |i: i128, n: u32| {
                let i = if i < 0 { i + i128::from(n) } else { i };
                u32::try_from(i).ok().filter(|&i| i < n)
            };
            let at = known.into_iter().zip(&extents).try_fold(0, |at, (i, &n)| Some(at * n + inside(i, n)?));
            return match at {
                Some(at) => Step::At(at),
                None => Step::Dynamic(b.int(Scalar::I64, i128::from(i32::MAX))),
            };
        }
        if let [index] = *index {
            return Step::Dynamic(index);
        }
        let count: i128 = extents.iter().map(|&n| i128::from(n)).product();
        let i64_type = Type::Scalar(Scalar::I64);
        let mut all_inside = b.constant(Const::bool(true));
        let mut at = b.zero(i64_type);
        for (&index, &n) in index.iter().zip(&extents) {
            // A huge unsigned index must not become a negative one.
            let index = if b.ty(index) == Type::Scalar(Scalar::U64) {
                let n = b.int(Scalar::U64, i128::from(n));
                b.binary(BinaryOp::Min, index, n)
            } else {
                index
            };
            let index = b.cast(index, Scalar::I64);
            let (zero, n) = (b.zero(i64_type), b.int(Scalar::I64, i128::from(n)));
            let negative = b.compare(CompareOp::Lt, index, zero);
            let from_end = b.binary(BinaryOp::Add, index, n);
            let index = b.select(negative, from_end, index);
            for inside in [b.compare(CompareOp::Ge, index, zero), b.compare(CompareOp::Lt, index, n)] {
                all_inside = b.binary(BinaryOp::And, all_inside, inside);
            }
            let row = b.binary(BinaryOp::Mul, at, n);
            at = b.binary(BinaryOp::Add, row, index);
        }
        let outside = b.int(Scalar::I64, count);
        Step::Dynamic(b.select(all_inside, at, outside))
    }

    /// The part that holds all of a path, and the rest of the path in it.
    fn part_of(&self, array: ValueId, path: &[Step]) -> Option<(usize, Path)> {
        let parts = self.arrays.get(&array)?;
        let n = parts.iter().position(|part| path.starts_with(&part.path))?;
        Some((n, SmallVec::from_slice(&path[parts[n].path.len()..])))
    }

    /// The number of steps of a path before its first run-time one.
    fn fixed(path: &[Step]) -> usize {
        path.iter().position(|step| matches!(step, Step::Dynamic(_))).unwrap_or(path.len())
    }

    fn element_part(&self, array: ValueId, path: &[Step]) -> Option<Type> {
        let Type::Local(local) = self.rebuild.b.ty(array) else { return None };
        path.iter().try_fold(Type::from(local.element), |ty, step| {
            let n = if let Step::At(n) = step { Some(*n) } else { None };
            ty.step(n, self.structs)
        })
    }

    fn load(&mut self, array: ValueId, at: Step, path: &[Step]) -> ValueId {
        let ty = self.element_part(array, path).expect("a verified path leads to a part");
        if let Some((n, rest)) = self.part_of(array, path) {
            let steps = std::iter::once(at).chain(rest).collect();
            let whole = self.now[&array][n];
            return self.rebuild.b.one(Op::Extract(whole, steps), ty);
        }
        let (fixed, rest) = path.split_at(Self::fixed(path));
        if !rest.is_empty() {
            let whole = self.load(array, at, fixed);
            return self.rebuild.b.one(Op::Extract(whole, SmallVec::from_slice(rest)), ty);
        }
        let pieces = match ty {
            Type::Struct(id) => {
                let count = self.structs[id].fields.len() as u32;
                (0..count).map(|n| self.load(array, at, &joined(path, n))).collect()
            }
            _ => self.scalars(array, at, path, ty),
        };
        self.rebuild.b.one(Op::Construct(pieces), ty)
    }

    /// The scalars of a composite that several parts hold.
    fn scalars(&mut self, array: ValueId, at: Step, path: &[Step], ty: Type) -> Values {
        if let Type::Scalar(_) = ty {
            return smallvec![self.load(array, at, path)];
        }
        let count = ty.step_count(self.structs);
        let mut all = Values::new();
        for n in 0..count {
            let part = ty.step(Some(n), self.structs).expect("the step is inside");
            all.extend(self.scalars(array, at, &joined(path, n), part));
        }
        all
    }

    fn store(&mut self, array: ValueId, at: Step, path: &[Step], value: ValueId) {
        if let Some((n, rest)) = self.part_of(array, path) {
            let steps = std::iter::once(at).chain(rest).collect();
            let mut values = self.now[&array].clone();
            let ty = self.rebuild.b.ty(values[n]);
            values[n] = self.rebuild.b.one(Op::Insert(values[n], steps, value), ty);
            return self.set(array, values);
        }
        let (fixed, rest) = path.split_at(Self::fixed(path));
        if !rest.is_empty() {
            let whole = self.load(array, at, fixed);
            let ty = self.rebuild.b.ty(whole);
            let whole = self.rebuild.b.one(Op::Insert(whole, SmallVec::from_slice(rest), value), ty);
            return self.store(array, at, fixed, whole);
        }
        let paths: Vec<Path> = self.arrays[&array].iter().map(|part| part.path.clone()).collect();
        for part in paths.iter().filter(|part| part.starts_with(path)) {
            let ty = self.element_part(array, part).expect("a part is somewhere in the element");
            let steps = SmallVec::from_slice(&part[path.len()..]);
            let piece = self.rebuild.b.one(Op::Extract(value, steps), ty);
            self.store(array, at, part, piece);
        }
    }
}

fn joined(path: &[Step], n: u32) -> Path {
    path.iter().copied().chain([Step::At(n)]).collect()
}

/// The extents of a local array.
fn shape(ty: Type) -> SmallVec<[u32; 4]> {
    match ty {
        Type::Local(LocalArrayType { shape, ndim, .. }) => shape.into_iter().take(usize::from(ndim)).collect(),
        _ => SmallVec::new(),
    }
}

#[cfg(test)]
mod tests;
