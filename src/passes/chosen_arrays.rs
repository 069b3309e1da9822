//! Arrays that a branch or a loop chooses, as numbers: an access of such an array becomes branches
//! on the number of the array, with an access of a known array in each.
//!
//! An array value comes from a few *origins*: a parameter, a field of one, a local array or null,
//! cut by views. What merges them (`if`, `select`, the values that loops carry) gets a number
//! beside the array, which says from which of them it came, and for each of them the indices of its
//! views. `a, b = b, a` in a loop then swaps two numbers, and `r = x[i]` chooses a row by a number
//! and an index. The arrays themselves stay where they are, for the sweep to take.
//!
//! What has no few origins stays as it is: an array out of an element of another, more than
//! [`MAX_ORIGINS`], or views of more than [`MAX_VIEWS`] views.

use std::collections::{BTreeSet, HashMap};

use smallvec::SmallVec;

use super::loop_exits::is_single_exit;
use super::rebuild::Rebuild;
use crate::analysis::alias::{Root, root};
use crate::ir::{
    BlockId, CompareOp, Function, InstId, Op, Step, ValueId, Values, ViewIndex, accesses, arithmetic, arrays, effects,
    jumps, nested, threads,
};
use crate::limits::{MAX_ORIGINS, MAX_VIEWS};
use crate::types::{I32, Scalar, StructTable, Type};

/// Rewrites a function whose regions have one exit each; says whether anything changed.
pub fn run(function: &mut Function, structs: &StructTable) -> bool {
    let merges = merges(function, structs);
    if merges.is_empty() || !is_single_exit(function) {
        return false;
    }
    let survey = Survey::of(function, structs, &merges);
    if survey.few.is_empty() {
        return false;
    }
    let entry = function.entry;
    let mut choice = Choice { rebuild: Rebuild::start(function), structs, survey, known: HashMap::new() };
    choice.block(entry, &[]);
    choice.rebuild.finish(function);
    true
}

/// An array, or one inside a struct: the value, and the fields that lead to it.
type Place = (ValueId, Vec<u32>);

/// A place that may be one of several.
struct Merge {
    place: Place,
    /// The values that it may be, each with the same fields.
    given: Vec<ValueId>,
    /// Where it is made.
    home: BlockId,
}

/// What becomes one array of several.
fn merges(function: &Function, structs: &StructTable) -> Vec<Merge> {
    let mut found = Vec::new();
    for home in function.blocks.ids() {
        for &id in &function.blocks[home].insts {
            let inst = &function.insts[id];
            let mut note = |value: ValueId, given: &[ValueId]| {
                for fields in arrays_in(function.ty(value), structs) {
                    found.push(Merge { place: (value, fields), given: given.to_vec(), home });
                }
            };
            match &inst.op {
                Op::Select { then, otherwise, .. } => note(inst.results[0], &[*then, *otherwise]),
                Op::If { then, otherwise, .. } => {
                    for (n, &result) in inst.results.iter().enumerate() {
                        let given = [*then, *otherwise].into_iter().filter_map(|block| yielded(function, block, n));
                        note(result, &given.collect::<Values>());
                    }
                }
                Op::For { init, body, .. } | Op::While { init, body, .. } => {
                    for (n, &start) in init.iter().enumerate() {
                        let given: Values = std::iter::once(start).chain(yielded(function, *body, n)).collect();
                        for value in carried(function, &inst.op, &inst.results, n) {
                            note(value, &given);
                        }
                    }
                }
                arithmetic!()
                | Op::Zero
                | Op::Construct(_)
                | Op::Extract(..)
                | Op::Insert(..)
                | threads!()
                | Op::Call(..)
                | arrays!()
                | accesses!()
                | effects!()
                | jumps!() => {}
            }
        }
    }
    found
}

/// The fields that lead to each array in a value; none lead to an array itself.
fn arrays_in(ty: Type, structs: &StructTable) -> Vec<Vec<u32>> {
    match ty {
        Type::Array(_) | Type::Local(_) => vec![Vec::new()],
        Type::Struct(id) if ty.bears_array(structs) => {
            let fields = structs[id].fields.iter().zip(0..);
            let inside = |(field, n)| arrays_in(field, structs).into_iter().map(move |rest| [vec![n], rest].concat());
            fields.flat_map(|(field, n)| inside((field.ty, n))).collect()
        }
        _ => Vec::new(),
    }
}

/// The place that a place is a part or a copy of, a view of it at most (then with how it is cut).
fn behind(function: &Function, (value, fields): &Place) -> Option<(Place, Option<SmallVec<[ViewIndex; 4]>>)> {
    let path = |steps: &[Step]| -> Option<Vec<u32>> {
        steps.iter().map(|step| if let Step::At(n) = step { Some(*n) } else { None }).collect()
    };
    match &function.def(*value)?.op {
        Op::View(inner, dims) => Some(((*inner, fields.clone()), Some(dims.clone()))),
        Op::Extract(whole, steps) => Some(((*whole, [path(steps)?, fields.clone()].concat()), None)),
        Op::Construct(parts) => {
            let (first, rest) = fields.split_first()?;
            Some(((*parts.get(*first as usize)?, rest.to_vec()), None))
        }
        Op::Insert(whole, steps, part) => {
            // A component that is chosen is of a vector or matrix, which has no arrays.
            let fixed: Vec<u32> =
                steps.iter().map_while(|step| if let Step::At(n) = step { Some(*n) } else { None }).collect();
            match fields.strip_prefix(&fixed[..]) {
                Some(rest) if fixed.len() == steps.len() => Some(((*part, rest.to_vec()), None)),
                Some(_) => None,
                None => Some(((*whole, fields.clone()), None)),
            }
        }
        arithmetic!()
        | Op::Zero
        | Op::Select { .. }
        | threads!()
        | Op::Call(..)
        | Op::Extent(..)
        | Op::IsSet(_)
        | Op::Gradient(_)
        | Op::Address(_)
        | Op::ArrayAt { .. }
        | Op::LocalArray
        | Op::SharedArray
        | accesses!()
        | effects!()
        | nested!()
        | jumps!() => None,
    }
}

fn yielded(function: &Function, block: BlockId, n: usize) -> Option<ValueId> {
    function.yielded(block).get(n).copied()
}

/// All that value `n` that a loop carries is called: in its blocks, and as its result.
fn carried<'a>(
    function: &'a Function,
    op: &Op,
    results: &'a [ValueId],
    n: usize,
) -> impl Iterator<Item = ValueId> + use<'a> {
    let own = usize::from(matches!(op, Op::For { .. }));
    let blocks = op.blocks();
    let inside: Vec<ValueId> = blocks
        .iter()
        .enumerate()
        .filter_map(|(k, &block)| {
            let skipped = if k + 1 == blocks.len() { own } else { 0 };
            function.blocks[block].params.get(n + skipped).copied()
        })
        .collect();
    inside.into_iter().chain(results.get(n).copied())
}

/// How a view cuts, without the numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cut {
    dims: SmallVec<[bool; 4]>,
    /// In the order of the table of origins; a type has no order of its own.
    ty: usize,
}

/// Where an array may come from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Origin {
    /// None: null.
    root: Option<Root>,
    /// The type of the root, by number.
    ty: usize,
    cuts: Vec<Cut>,
}

impl Origin {
    /// Whether the array is visible wherever what merges it in a block is.
    fn is_seen_from(&self, function: &Function, around: &Around, home: BlockId) -> bool {
        match &self.root {
            Some(Root::Local(local)) => around.is_in(home, |block| {
                function.blocks[block].insts.iter().any(|&id| function.insts[id].results.contains(local))
            }),
            _ => true,
        }
    }
}

/// The block around each block.
struct Around(HashMap<BlockId, BlockId>);

impl Around {
    fn of(function: &Function) -> Around {
        let holds = |block: BlockId| function.blocks[block].insts.iter().flat_map(|&id| function.insts[id].op.blocks());
        Around(function.blocks.ids().flat_map(|outer| holds(outer).map(move |inner| (inner, outer))).collect())
    }

    /// Whether a block, or one around it, is wanted.
    fn is_in(&self, block: BlockId, wanted: impl Fn(BlockId) -> bool) -> bool {
        std::iter::successors(Some(block), |block| self.0.get(block).copied()).any(wanted)
    }
}

/// Whether an array is a part of its root.
fn is_view(function: &Function, array: ValueId) -> bool {
    if let Some(Op::View(..)) = function.op(array) {
        true
    } else if let Some(Op::Extract(inner, _)) = function.op(array) {
        is_view(function, *inner)
    } else {
        false
    }
}

/// The origins of all arrays that have few.
struct Survey {
    origins: Vec<Origin>,
    types: Vec<Type>,
    /// The numbers of the origins of each merged array, and of each view of one.
    few: HashMap<Place, BTreeSet<usize>>,
}

impl Survey {
    fn of(function: &Function, structs: &StructTable, merges: &[Merge]) -> Survey {
        let mut survey = Survey { origins: Vec::new(), types: Vec::new(), few: HashMap::new() };
        // None: too many, or not known.
        let mut all: HashMap<Place, Option<BTreeSet<usize>>> =
            merges.iter().map(|merge| (merge.place.clone(), Some(BTreeSet::new()))).collect();
        let around = Around::of(function);
        loop {
            let mut changed = false;
            for Merge { place, given, home } in merges {
                let Some(Some(before)) = all.get(place) else { continue };
                let mut now = Some(before.clone());
                for &value in given {
                    let more = survey.origins_of(function, structs, &(value, place.1.clone()), &all);
                    now = now.zip(more).map(|(now, more)| now.union(&more).copied().collect());
                }
                let seen = |&origin: &usize| survey.origins[origin].is_seen_from(function, &around, *home);
                now = now.filter(|now| now.len() <= MAX_ORIGINS && now.iter().all(seen));
                if all.get(place) != Some(&now) {
                    all.insert(place.clone(), now);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        survey.few = all.into_iter().filter_map(|(place, set)| Some((place, set?))).collect();
        survey
    }

    fn type_number(&mut self, ty: Type) -> usize {
        self.types.iter().position(|&known| known == ty).unwrap_or_else(|| {
            self.types.push(ty);
            self.types.len() - 1
        })
    }

    fn number(&mut self, origin: Origin) -> usize {
        self.origins.iter().position(|known| *known == origin).unwrap_or_else(|| {
            self.origins.push(origin);
            self.origins.len() - 1
        })
    }

    /// None: they are not few, or not known.
    fn origins_of(
        &mut self,
        function: &Function,
        structs: &StructTable,
        place: &Place,
        merged: &HashMap<Place, Option<BTreeSet<usize>>>,
    ) -> Option<BTreeSet<usize>> {
        if let Some(known) = merged.get(place) {
            return known.clone();
        }
        let (value, fields) = place;
        let root = match root(function, *value) {
            Root::Param(n, outer) if !is_view(function, *value) => {
                Some(Root::Param(n, [outer, fields.clone()].concat()))
            }
            Root::Local(local) if local == *value => Some(Root::Local(local)),
            _ => None,
        };
        let is_null = matches!(function.op(*value), Some(Op::Zero));
        if root.is_some() || is_null {
            let inside = |ty: Type, &n: &u32| ty.step(Some(n), structs);
            let ty = fields.iter().try_fold(function.ty(*value), inside)?;
            let ty = self.type_number(ty);
            return Some(BTreeSet::from([self.number(Origin { root, ty, cuts: Vec::new() })]));
        }
        let (inner, dims) = behind(function, place)?;
        let origins = self.origins_of(function, structs, &inner, merged)?;
        match dims {
            Some(dims) => origins.into_iter().map(|origin| self.cut(origin, &dims, function.ty(*value))).collect(),
            None => Some(origins),
        }
    }

    /// The origin that a view of another one is.
    fn cut(&mut self, origin: usize, dims: &[ViewIndex], ty: Type) -> Option<usize> {
        let dims = dims.iter().map(|dim| matches!(dim, ViewIndex::At(_))).collect();
        let cut = Cut { dims, ty: self.type_number(ty) };
        let mut origin = self.origins[origin].clone();
        origin.cuts.push(cut);
        (origin.cuts.len() <= MAX_VIEWS).then(|| self.number(origin))
    }

    /// How many numbers the views of an origin have.
    fn numbers(&self, origin: usize) -> usize {
        let of = |cut: &Cut| cut.dims.iter().map(|&at| if at { 1 } else { 3 }).sum::<usize>();
        self.origins[origin].cuts.iter().map(of).sum()
    }
}

/// What an array is at run time.
#[derive(Clone)]
struct Chosen {
    /// The number of its origin.
    which: ValueId,
    /// The numbers of the views of each origin that it may have.
    views: Vec<(usize, Values)>,
}

struct Choice<'a> {
    rebuild: Rebuild,
    structs: &'a StructTable,
    survey: Survey,
    /// The merged arrays so far.
    known: HashMap<Place, Chosen>,
}

impl Choice<'_> {
    /// `given`: the slots of the region around whose numbers its `yield` has to give, with the
    /// array of each.
    fn block(&mut self, block: BlockId, given: &[(usize, Place)]) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            self.inst(id, given);
        }
        self.rebuild.b.switch_to(outside);
    }

    fn inst(&mut self, id: InstId, given: &[(usize, Place)]) {
        let mut op = self.rebuild.visit(id);
        let results = self.rebuild.b.function.insts[id].results.clone();
        match &mut op {
            Op::Select { condition, then, otherwise } => {
                self.rebuild.b.append(id);
                for (_, place) in self.slots(&results) {
                    let [one, other] = [*then, *otherwise].map(|value| self.numbers_for(value, &place));
                    let both = one.into_iter().zip(other);
                    let values = both.map(|(one, other)| self.rebuild.b.select(*condition, one, other)).collect();
                    self.note(place, values);
                }
            }
            Op::If { then, otherwise, .. } => {
                let slots = self.slots(&results);
                for block in [*then, *otherwise] {
                    self.block(block, &slots);
                }
                self.results(id, slots);
            }
            Op::For { init, .. } | Op::While { init, .. } => {
                let slots = self.slots(&results);
                let more: Values = slots.iter().flat_map(|(n, place)| self.numbers_for(init[*n], place)).collect();
                init.extend(more);
                let body = *op.blocks().last().expect("a loop has a body");
                for block in op.blocks() {
                    let own = usize::from(matches!(op, Op::For { .. }) && block == body);
                    for (n, place) in &slots {
                        let values = (0..self.count(place)).map(|_| self.rebuild.b.add_param(block, I32)).collect();
                        let param = self.rebuild.b.function.blocks[block].params[n + own];
                        self.note((param, place.1.clone()), values);
                    }
                    // The condition gives one bool.
                    self.block(block, if block == body { &slots } else { &[] });
                }
                self.rebuild.b.function.insts[id].op = op;
                self.results(id, slots);
            }
            Op::Yield(values) => {
                let more: Values = given.iter().flat_map(|(n, place)| self.numbers_for(values[*n], place)).collect();
                values.extend(more);
                self.rebuild.b.function.insts[id].op = op;
                self.rebuild.b.append(id);
            }
            // Views are made again where they are read.
            Op::View(..) | Op::Extract(..) | Op::Return(_) | Op::Construct(_) | Op::Insert(..) | Op::Gradient(_) => {
                self.rebuild.b.append(id);
            }
            arithmetic!()
            | Op::Zero
            | threads!()
            | Op::Call(..)
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::LocalArray
            | Op::SharedArray
            | accesses!()
            | effects!()
            | Op::Break(_)
            | Op::Continue(_) => {
                let types: Vec<Type> = results.iter().map(|&result| self.rebuild.b.ty(result)).collect();
                let gives_array = types.iter().any(|ty| matches!(ty, Type::Array(_) | Type::Local(_)));
                match self.chosen_operand(&op) {
                    Some(array) if !gives_array => {
                        for (&old, new) in results.iter().zip(self.dispatch(&op, array, &types)) {
                            self.rebuild.replace(old, new);
                        }
                    }
                    _ => self.rebuild.b.append(id),
                }
            }
        }
    }

    /// The places with few origins among the results of a region, each with the number of its
    /// result.
    fn slots(&self, results: &[ValueId]) -> Vec<(usize, Place)> {
        let mut found = Vec::new();
        for (n, &result) in results.iter().enumerate() {
            let places = arrays_in(self.rebuild.b.ty(result), self.structs).into_iter().map(|fields| (result, fields));
            found.extend(places.filter(|place| self.survey.few.contains_key(place)).map(|place| (n, place)));
        }
        found
    }

    fn results(&mut self, id: InstId, slots: Vec<(usize, Place)>) {
        for (_, place) in slots {
            let values = (0..self.count(&place)).map(|_| self.rebuild.b.add_result(id, I32)).collect();
            self.note(place, values);
        }
        self.rebuild.b.append(id);
    }

    /// How many numbers stand for a merged array.
    fn count(&self, place: &Place) -> usize {
        1 + self.survey.few[place].iter().map(|&origin| self.survey.numbers(origin)).sum::<usize>()
    }

    /// Notes the numbers that stand for a merged array.
    fn note(&mut self, place: Place, numbers: Vec<ValueId>) {
        let mut rest = numbers.into_iter();
        let which = rest.next().expect("a number comes first");
        let function = &mut self.rebuild.b.function;
        let name = function.values[place.0].name.as_ref().map(|name| format!("chosen_{name}"));
        function.values[which].name = name;
        let views = self.survey.few[&place]
            .iter()
            .map(|&origin| (origin, rest.by_ref().take(self.survey.numbers(origin)).collect()))
            .collect();
        self.known.insert(place, Chosen { which, views });
    }

    /// The numbers that make a value what the merged array may be.
    fn numbers_for(&mut self, value: ValueId, merged: &Place) -> Vec<ValueId> {
        let chosen = self.chosen(&(value, merged.1.clone())).expect("what a merged array may be has an origin");
        let mut numbers = vec![chosen.which];
        for &origin in &self.survey.few[merged] {
            match chosen.views.iter().find(|(of, _)| *of == origin) {
                Some((_, views)) => numbers.extend(views),
                None => {
                    for _ in 0..self.survey.numbers(origin) {
                        numbers.push(self.rebuild.b.zero(I32));
                    }
                }
            }
        }
        numbers
    }

    /// What an array is. None: it is not known.
    fn chosen(&mut self, place: &Place) -> Option<Chosen> {
        if let Some(known) = self.known.get(place) {
            return Some(known.clone());
        }
        let function = &self.rebuild.b.function;
        if let Some(origins) = self.survey.origins_of(function, self.structs, place, &HashMap::new())
            && let [origin] = *origins.into_iter().collect::<Vec<_>>()
            && self.survey.origins[origin].cuts.is_empty()
        {
            let which = self.rebuild.b.int(Scalar::I32, origin as i128);
            return Some(Chosen { which, views: vec![(origin, Values::new())] });
        }
        let (inner, dims) = behind(function, place)?;
        let ty = function.ty(place.0);
        let inner = self.chosen(&inner)?;
        match dims {
            Some(dims) => self.view(&inner, &dims, ty),
            None => Some(inner),
        }
    }

    /// A view of an array.
    fn view(&mut self, of: &Chosen, dims: &[ViewIndex], ty: Type) -> Option<Chosen> {
        let numbers: Values = dims
            .iter()
            .flat_map(|dim| match *dim {
                ViewIndex::At(at) => vec![at],
                ViewIndex::Range { start, stop, step } => vec![start, stop, step],
            })
            .collect();
        let (mut which, mut views) = (None, Vec::new());
        for (origin, before) in &of.views {
            let cut = self.survey.cut(*origin, dims, ty)?;
            views.push((cut, before.iter().chain(&numbers).copied().collect()));
            let b = &mut self.rebuild.b;
            let number = b.int(Scalar::I32, cut as i128);
            which = Some(match which {
                None => number,
                Some(other) => {
                    let own = b.int(Scalar::I32, *origin as i128);
                    let is = b.compare(CompareOp::Eq, of.which, own);
                    b.select(is, number, other)
                }
            });
        }
        Some(Chosen { which: which?, views })
    }

    /// The first operand that is a merged array, or comes from one.
    fn chosen_operand(&self, op: &Op) -> Option<ValueId> {
        let function = &self.rebuild.b.function;
        let is_chosen = |value: ValueId| {
            let mut place = (value, Vec::new());
            while !self.known.contains_key(&place) {
                match behind(function, &place) {
                    Some((inner, _)) => place = inner,
                    None => return false,
                }
            }
            true
        };
        let mut found = None;
        op.for_each_operand(|v| {
            let is_array = matches!(function.ty(v), Type::Array(_) | Type::Local(_));
            found = found.or((is_array && is_chosen(v)).then_some(v));
        });
        found
    }

    /// The operation in a branch for each origin of its operand `array`; its results.
    fn dispatch(&mut self, op: &Op, array: ValueId, types: &[Type]) -> Vec<ValueId> {
        let Some(chosen) = self.chosen(&(array, Vec::new())) else {
            return self.rebuild.b.push(op.clone(), types).to_vec();
        };
        self.branch(op, array, &chosen, &chosen.views, types)
    }

    fn branch(
        &mut self,
        op: &Op,
        array: ValueId,
        chosen: &Chosen,
        left: &[(usize, Values)],
        types: &[Type],
    ) -> Vec<ValueId> {
        let Some(((origin, views), others)) = left.split_first() else { return Vec::new() };
        if others.is_empty() {
            return self.with(op, array, *origin, views, types);
        }
        let b = &mut self.rebuild.b;
        let number = b.int(Scalar::I32, *origin as i128);
        let condition = b.compare(CompareOp::Eq, chosen.which, number);
        let (then, otherwise) = (b.new_block(&[]), b.new_block(&[]));
        let outside = b.switch_to(then);
        let values = self.with(op, array, *origin, views, types);
        self.rebuild.b.yield_(&values);
        self.rebuild.b.switch_to(otherwise);
        let values = self.branch(op, array, chosen, others, types);
        self.rebuild.b.yield_(&values);
        self.rebuild.b.switch_to(outside);
        self.rebuild.b.push(Op::If { condition, then, otherwise }, types).to_vec()
    }

    /// The operation on the array of one origin.
    fn with(&mut self, op: &Op, array: ValueId, origin: usize, views: &[ValueId], types: &[Type]) -> Vec<ValueId> {
        let known = self.make(origin, views);
        let mut op = op.clone();
        op.for_each_operand_mut(|v| *v = if *v == array { known } else { *v });
        match self.chosen_operand(&op) {
            Some(other) => self.dispatch(&op, other, types),
            None => self.rebuild.b.push(op, types).to_vec(),
        }
    }

    /// The array of an origin.
    fn make(&mut self, origin: usize, views: &[ValueId]) -> ValueId {
        let Origin { root, ty, cuts } = self.survey.origins[origin].clone();
        let b = &mut self.rebuild.b;
        let ty = self.survey.types[ty];
        let mut array = match root {
            Some(Root::Param(n, fields)) => {
                let param = b.function.params()[n as usize];
                let path = fields.into_iter().map(Step::At).collect::<SmallVec<_>>();
                if path.is_empty() { param } else { b.one(Op::Extract(param, path), ty) }
            }
            Some(Root::Local(local)) => local,
            _ => b.zero(ty),
        };
        let mut numbers = views.iter().copied();
        for cut in cuts {
            let mut next = || numbers.next().expect("a view has its numbers");
            let dims = cut
                .dims
                .iter()
                .map(|&at| match at {
                    true => ViewIndex::At(next()),
                    false => ViewIndex::Range { start: next(), stop: next(), step: next() },
                })
                .collect();
            array = b.one(Op::View(array, dims), self.survey.types[cut.ty]);
        }
        array
    }
}
