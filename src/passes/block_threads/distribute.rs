//! Carries plans out: loops become loops of each thread, and effects stand under `if thread == 0`.

use super::accesses::{self, Memory, Sum, Touch, memory};
use super::plan::{Nest, Plan};
use super::products::{Copied, Found};
use super::zero_fill::{Fill, fills};
use crate::analysis::alias::{Root, location};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::{Access, BinaryOp, BlockId, CompareOp, Function, InstId, Op, Part, Product, Unit, ValueId, Values};
use crate::passes::loop_reversal::OneMore;
use crate::passes::rebuild::Rebuild;
use crate::types::{Element, I32, LocalArrayType, Scalar, Type};

/// Which threads do what is in an instruction.
#[derive(Clone, Debug)]
pub(super) enum Share {
    OneThread,
    Dealt(Dealt),
}

/// How iterations are dealt out.
#[derive(Clone, Debug, Default)]
pub(super) struct Dealt {
    /// The indices, outermost first, each with its number of values, where they are known.
    pub indices: Vec<(ValueId, Option<u64>)>,
    /// Where a single index starts and how it goes on, which says who has which.
    pub start: Option<ValueId>,
    pub step: i128,
    /// So many iterations are of one thread: one, or those of a part of a tile, which follows from
    /// this number and the extents (`chunks::patch`).
    pub run: u64,
    /// The columns of such a part lie as far apart as there are parts beside each other.
    pub apart: bool,
}

/// The function in the form for the threads of a block, except for barriers.
pub(super) struct Shared {
    pub shares: IdMap<InstId, Share>,
}

pub(super) fn deal(function: &mut Function, effects: &EffectTable, plans: &IdMap<InstId, Plan>) -> Shared {
    let uses = crate::analysis::uses(function);
    let fills = fills(function, effects, plans);
    let entry = function.entry;
    let mut dealer = Dealer {
        rebuild: Rebuild::start(function),
        plans,
        uses,
        fills,
        zeros: IdMap::default(),
        setting: IdSet::default(),
        thread: ValueId(0),
        threads: ValueId(0),
        shares: IdMap::default(),
        effects: Vec::new(),
    };
    let insts = dealer.rebuild.take(entry);
    dealer.thread = dealer.rebuild.b.one(Op::ThreadInBlock, I32);
    dealer.threads = dealer.rebuild.b.one(Op::BlockDim, I32);
    dealer.uniform(entry, insts);
    dealer.rebuild.finish(function);
    let shares = dealer.shares;
    arrays_first(function);
    Shared { shares }
}

/// Moves the arrays of the block, which are there all the time, to the beginning.
fn arrays_first(function: &mut Function) {
    let mut arrays = Vec::new();
    for block in function.blocks.ids().collect::<Vec<_>>() {
        let insts = std::mem::take(&mut function.blocks[block].insts);
        let (shared, rest): (Vec<_>, Vec<_>) =
            insts.into_iter().partition(|&id| matches!(function.insts[id].op, Op::SharedArray));
        arrays.extend(shared);
        function.blocks[block].insts = rest;
    }
    let entry = function.entry;
    function.blocks[entry].insts.splice(0..0, arrays);
}

struct Dealer<'a> {
    rebuild: Rebuild,
    plans: &'a IdMap<InstId, Plan>,
    uses: IdVec<ValueId, u32>,
    fills: IdMap<InstId, Fill>,
    /// By the loop that does it for each element that it works on: the tiles that it clears first.
    zeros: IdMap<InstId, Vec<ValueId>>,
    /// The products that add to nothing.
    setting: IdSet<InstId>,
    thread: ValueId,
    /// How many threads the block has.
    threads: ValueId,
    shares: IdMap<InstId, Share>,
    /// Instructions that thread 0 is to do next.
    effects: Vec<InstId>,
}

impl Dealer<'_> {
    fn b(&mut self) -> &mut Builder {
        &mut self.rebuild.b
    }

    fn int(&mut self, value: i128) -> ValueId {
        self.b().int(Scalar::I32, value)
    }

    /// A block that all threads come to together.
    fn nested(&mut self, block: BlockId) {
        let insts = self.rebuild.take(block);
        self.uniform(block, insts);
    }

    fn uniform(&mut self, block: BlockId, insts: Vec<InstId>) {
        let outside = self.rebuild.b.switch_to(block);
        for id in insts {
            let op = self.rebuild.visit(id);
            match self.plans.get(&id) {
                Some(Plan::Deal(nest)) => {
                    self.one_thread();
                    self.deal(nest);
                    continue;
                }
                Some(Plan::OneThread) => {
                    op.blocks().iter().for_each(|&nested| self.keep(nested));
                    self.effects.push(id);
                    continue;
                }
                Some(Plan::Product(found, unit)) => {
                    self.one_thread();
                    self.product(id, found, *unit);
                    continue;
                }
                Some(Plan::Copy(copied)) => {
                    self.one_thread();
                    self.copy(copied);
                    continue;
                }
                Some(Plan::Gone) => continue,
                None => {}
            }
            let own = op.properties();
            let private = op
                .access()
                .is_some_and(|access| matches!(memory(&self.rebuild.b.function, access.array), Memory::Thread(_)));
            if !op.blocks().is_empty() {
                self.one_thread();
                op.blocks().iter().for_each(|&nested| self.nested(nested));
                self.rebuild.b.append(id);
            } else if matches!(op, Op::LocalArray) && self.fills.contains_key(&id) {
                self.tile(id);
            } else if own.has_side_effect() && !private && !matches!(op, Op::Call(..)) {
                self.effect(id);
            } else {
                if !own.is_value() {
                    self.one_thread();
                }
                self.rebuild.b.append(id);
            }
        }
        self.one_thread();
        self.rebuild.b.switch_to(outside);
    }

    fn product(&mut self, id: InstId, found: &Found, unit: Unit) {
        let part = if self.setting.contains(&id) { Part::Set } else { Part::Add };
        let product = Product { part, unit, size: found.size, turned: found.turned };
        self.b().effect(Op::Product(product, Values::from_slice(&[found.c, found.a, found.b])));
    }

    fn copy(&mut self, copied: &Copied) {
        let [row, column] = copied.first.map(|first| match first {
            Some(first) => self.rebuild.current(first),
            None => self.int(0),
        });
        let array = self.rebuild.current(copied.array);
        self.b().effect(Op::Copy(copied.size, Values::from_slice(&[copied.tile, array, row, column])));
    }

    /// A block that stays as it is.
    fn keep(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            let nested = self.rebuild.update(id).blocks();
            nested.iter().for_each(|&nested| self.keep(nested));
            self.rebuild.b.append(id);
        }
        self.rebuild.b.switch_to(outside);
    }

    /// An instruction that one thread does. What it gives, all get through an array of one element.
    fn effect(&mut self, id: InstId) {
        let result = self.rebuild.b.function.insts[id].results.first().copied();
        let used = result.filter(|&result| self.uses.get(result).is_some_and(|&uses| uses > 0));
        let Some((result, element)) = used.and_then(|result| Some((result, self.element(result)?))) else {
            self.effects.push(id);
            return;
        };
        self.one_thread();
        let ty = LocalArrayType { element, shape: [1; 4], ndim: 1, block: true };
        let told = self.b().one(Op::SharedArray, Type::Local(ty));
        let zero = self.int(0);
        self.when_first(|this| {
            this.rebuild.b.append(id);
            this.b().effect(Op::Store { access: Access::element(told, &[zero]), value: result });
        });
        let value = self.b().one(Op::Load(Access::element(told, &[zero])), element.into());
        self.rebuild.replace(result, value);
    }

    /// The type of a value as that of an array's elements.
    fn element(&self, value: ValueId) -> Option<Element> {
        Some(match self.rebuild.b.ty(value) {
            Type::Scalar(s) => Element::Scalar(s),
            Type::Vec(n, s) => Element::Vec(n, s),
            Type::Mat(r, c, s) => Element::Mat(r, c, s),
            Type::Quat(s) => Element::Quat(s),
            Type::Transform(s) => Element::Transform(s),
            Type::Struct(id) => Element::Struct(id),
            Type::Array(_) | Type::Local(_) => return None,
        })
    }

    /// Puts what thread 0 is to do into the code.
    fn one_thread(&mut self) {
        let effects = std::mem::take(&mut self.effects);
        if let Some(&first) = effects.first() {
            self.rebuild.b.span = self.rebuild.b.function.insts[first].span;
            self.when_first(|this| effects.into_iter().for_each(|id| this.rebuild.b.append(id)));
        }
    }

    /// `if thread == 0: ...`
    fn when_first(&mut self, body: impl FnOnce(&mut Self)) {
        let zero = self.int(0);
        let thread = self.thread;
        let condition = self.b().compare(CompareOp::Eq, thread, zero);
        let (then, otherwise) = (self.b().new_block(&[]), self.b().new_block(&[]));
        let outside = self.b().switch_to(then);
        body(self);
        self.b().yield_(&[]);
        self.b().switch_to(otherwise);
        self.b().yield_(&[]);
        self.b().switch_to(outside);
        let inst = self.push(Op::If { condition, then, otherwise });
        self.shares.insert(inst, Share::OneThread);
    }

    fn push(&mut self, op: Op) -> InstId {
        self.b().effect(op);
        InstId(self.rebuild.b.function.insts.len() as u32 - 1)
    }

    /// A new tile: its memory, and zeros if what comes next does not set all elements.
    fn tile(&mut self, id: InstId) {
        self.rebuild.b.function.insts[id].op = Op::SharedArray;
        self.rebuild.b.append(id);
        let Some(&array) = self.rebuild.b.function.insts[id].results.first() else { return };
        match self.fills.get(&id) {
            Some(Fill::Whole) => {}
            Some(Fill::Product(product)) => _ = self.setting.insert(*product),
            Some(Fill::Each(nest)) => self.zeros.entry(*nest).or_default().push(array),
            Some(Fill::Zeros) | None => {
                self.one_thread();
                self.clear(array);
            }
        }
    }

    fn clear(&mut self, array: ValueId) {
        let Type::Local(ty) = self.rebuild.b.ty(array) else { return };
        let extents: Vec<u64> = ty.extents().iter().map(|&n| n.into()).collect();
        let total = extents.iter().product();
        if total == 1 {
            let zero = self.int(0);
            let at = Values::from_elem(zero, extents.len());
            return self.when_first(|this| this.zero(array, &at));
        }
        self.each(total, |this, number| {
            let index = unflatten(this.b(), number, &extents);
            if let &[row, column] = &index[..] {
                this.b().name(row, "row");
                this.b().name(column, "column");
            }
            this.zero(array, &index);
            index.iter().zip(&extents).map(|(&i, &n)| (i, Some(n))).collect()
        });
    }

    fn zero(&mut self, array: ValueId, index: &[ValueId]) {
        let Type::Local(ty) = self.rebuild.b.ty(array) else { return };
        let value = self.b().zero(ty.element.into());
        self.b().effect(Op::Store { access: Access::element(array, index), value });
    }

    /// `for e in range(thread, total, threads): ...`
    fn each(&mut self, total: u64, body: impl FnOnce(&mut Self, ValueId) -> Vec<(ValueId, Option<u64>)>) {
        let (start, step) = (self.thread, self.threads);
        let end = self.int(total.into());
        let block = self.b().new_block(&[I32]);
        let outside = self.b().switch_to(block);
        let number = self.b().params(block)[0];
        let indices = body(self, number);
        self.b().yield_(&[]);
        self.b().switch_to(outside);
        let inst = self.push(Op::For { start, end, step, init: Values::new(), body: block });
        self.shares.insert(inst, Share::Dealt(Dealt { indices, step: 1, run: 1, ..Dealt::default() }));
    }

    fn deal(&mut self, nest: &Nest) {
        let first = nest.loops[0].inst;
        let zeros = self.zeros.remove(&first).unwrap_or_default();
        let Op::For { start, end, step, ref init, body } = self.rebuild.b.function.insts[first].op else { return };
        let init = init.clone();
        match nest.total() {
            Some(0) => {}
            Some(1) => {
                for level in nest.dealt() {
                    let start = self.int(level.known.map_or(0, |(start, _)| start));
                    self.rebuild.replace(level.variable, start);
                }
                self.when_first(|this| {
                    this.clear_own(&zeros, nest);
                    this.level(nest, 0);
                });
            }
            // Their order does not matter.
            Some(total) => self.each(total, |this, number| {
                let levels = nest.side_by_side(&this.rebuild.b.function);
                let extents: Vec<u64> = levels.iter().map(|level| level.known.map_or(1, |(_, trips)| trips)).collect();
                let index = unflatten(this.b(), number, &extents);
                for (level, &at) in levels.iter().zip(&index) {
                    let start = level.known.map_or(0, |(start, _)| start);
                    let mut value = at;
                    if start != 0 {
                        let start = this.int(start);
                        value = this.b().binary(BinaryOp::Add, at, start);
                    }
                    this.rebuild.replace(level.variable, value);
                }
                this.clear_own(&zeros, nest);
                this.level(nest, 0);
                index.into_iter().zip(&extents).map(|(i, &n)| (i, Some(n))).collect()
            }),
            None => {
                let scalar = self.rebuild.b.ty(start).as_scalar().unwrap_or(Scalar::I32);
                let (mut start, mut end, mut step) = (start, end, step);
                // Their order does not matter, and readers expect loops that go up.
                if let Some(bounds) = nest.loops[0].up {
                    let [from, to] = bounds.map(|bound| match bound {
                        OneMore::Value(value) => self.rebuild.current(value),
                        OneMore::Constant(number) => self.rebuild.b.int(scalar, number),
                    });
                    (start, end, step) = (from, to, self.rebuild.b.int(scalar, 1));
                }
                let function = &self.rebuild.b.function;
                let int = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
                let (by, from) = (int(step).unwrap_or(1), int(start));
                let thread = self.rebuild.b.cast(self.thread, scalar);
                let threads = self.rebuild.b.cast(self.threads, scalar);
                let mine = if by == 1 { thread } else { self.b().binary(BinaryOp::Mul, thread, step) };
                let own_start = if from == Some(0) { mine } else { self.b().binary(BinaryOp::Add, start, mine) };
                let own_step = if by == 1 { threads } else { self.b().binary(BinaryOp::Mul, threads, step) };
                let variable = nest.loops[0].variable;
                let outside = self.b().switch_to(body);
                let insts = self.rebuild.take(body);
                self.clear_own(&zeros, nest);
                self.rest(nest, 0, insts);
                self.b().yield_(&[]);
                self.b().switch_to(outside);
                self.rebuild.b.function.insts[first].op = Op::For { start: own_start, end, step: own_step, init, body };
                self.rebuild.b.append(first);
                let indices = vec![(variable, None)];
                let dealt = Dealt { indices, start: Some(start), step: by, run: 1, apart: false };
                self.shares.insert(first, Share::Dealt(dealt));
            }
        }
    }

    /// Zeros for the elements that an iteration works on.
    fn clear_own(&mut self, arrays: &[ValueId], nest: &Nest) {
        for &array in arrays {
            let Type::Local(ty) = self.rebuild.b.ty(array) else { continue };
            let own: Vec<ValueId> = nest.dealt().map(|level| self.rebuild.current(level.variable)).collect();
            let (all, mut own) = (own.len() == ty.extents().len(), own.into_iter());
            let zero = self.int(0);
            // A dimension of one element may have no loop.
            let along = |&extent: &u32| if all || extent > 1 { own.next() } else { None };
            let index: Vec<ValueId> = ty.extents().iter().map(along).map(|at| at.unwrap_or(zero)).collect();
            self.zero(array, &index);
        }
    }

    /// Appends what a level does for an element of a thread; loops that are dealt out are gone.
    fn level(&mut self, nest: &Nest, at: usize) {
        let level = &nest.loops[at];
        if level.dealt {
            return self.splice(nest, at);
        }
        let outside = self.b().switch_to(level.body);
        self.splice(nest, at);
        self.b().yield_(&[]);
        self.b().switch_to(outside);
        self.rebuild.b.append(level.inst);
    }

    /// Appends what the body of a level does, except for its end.
    fn splice(&mut self, nest: &Nest, level: usize) {
        let insts = self.rebuild.take(nest.loops[level].body);
        self.rest(nest, level, insts);
    }

    fn rest(&mut self, nest: &Nest, level: usize, insts: Vec<InstId>) {
        let inner = nest.loops.get(level + 1);
        for id in insts {
            let op = self.rebuild.visit(id);
            match inner {
                _ if op.is_terminator() => {}
                Some(inner) if inner.inst == id => self.level(nest, level + 1),
                _ => {
                    op.blocks().iter().for_each(|&nested| self.keep(nested));
                    self.rebuild.b.append(id);
                }
            }
        }
    }
}

/// The index of element `number`, in row-major order.
pub(super) fn unflatten(b: &mut Builder, number: ValueId, extents: &[u64]) -> Vec<ValueId> {
    let mut below: u64 = extents.iter().product();
    let mut index = Vec::new();
    for (n, &extent) in extents.iter().enumerate() {
        below /= extent;
        let mut row = number;
        if below > 1 {
            let below = b.int(Scalar::I32, below.into());
            row = b.binary(BinaryOp::Div, number, below);
        }
        if n > 0 {
            let extent = b.int(Scalar::I32, extent.into());
            row = b.binary(BinaryOp::Rem, row, extent);
        }
        index.push(row);
    }
    index
}

impl Dealt {
    /// Which thread has an element that is accessed in an iteration, as far as it is known: the
    /// dimensions of the memory by which it is dealt out, and how.
    pub fn owner(&self, function: &Function, touch: &Touch) -> Option<Owner> {
        // Views of other rows have the same dimensions; those that begin anywhere have others.
        let place = location(function, accesses::given(function, touch.array), touch.indices.as_ref()?);
        if place.root == Root::Unknown {
            return None;
        }
        let sums: Vec<Option<Sum>> = place.index.iter().map(|at| at.map(|at| Sum::of(function, at))).collect();
        let mut dims = Vec::new();
        if let Some(dim) = self.number_of(&sums) {
            return Some(Owner { dims: vec![dim], extents: Vec::new(), start: None, step: 1, run: 1, apart: false });
        }
        for &(index, _) in &self.indices {
            let alone = |sum: &Sum| sum.terms.len() == 1 && sum.terms.get(&index) == Some(&1);
            let (dim, sum) =
                sums.iter().enumerate().find_map(|(dim, sum)| Some((dim, sum.as_ref().filter(|s| alone(s))?)))?;
            dims.push((dim, sum.constant));
        }
        let known = self.start.and_then(|start| function.as_const(start)).and_then(|c| c.as_int());
        if let (Some(start), [(_, offset)]) = (known, &mut dims[..]) {
            *offset += start;
        }
        let start = self.start.filter(|_| known.is_none());
        let extents = self.indices.iter().skip(1).map(|(_, extent)| *extent).collect();
        Some(Owner { dims, extents, start, step: self.step, run: self.run, apart: self.apart })
    }
}

impl Dealt {
    /// The dimension in which an element has the number of its iteration, of several indices
    /// together, and what is added to that: `32 * i + k + 5` with 32 of `k`.
    fn number_of(&self, sums: &[Option<Sum>]) -> Option<(usize, i128)> {
        if self.run != 1 || self.start.is_some() || self.indices.len() < 2 {
            return None;
        }
        let mut number = Sum::default();
        let mut below = 1i128;
        for &(index, count) in self.indices.iter().rev() {
            number.terms.insert(index, below);
            below = below.checked_mul(count?.into())?;
        }
        let is_number = |sum: &&Sum| sum.terms == number.terms;
        sums.iter().enumerate().find_map(|(dim, sum)| Some((dim, sum.as_ref().filter(is_number)?.constant)))
    }
}

/// See [`Dealt::owner`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Owner {
    dims: Vec<(usize, i128)>,
    extents: Vec<Option<u64>>,
    /// The first index, where it is no constant: the owner is another one where this has another
    /// value.
    pub start: Option<ValueId>,
    step: i128,
    run: u64,
    apart: bool,
}
