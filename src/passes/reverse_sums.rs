//! Sums that reverse code carries through the elements of a tile, as the adjoint of a number that
//! went to all of them, have chains.
//!
//! ```text
//! for e in elements:               for r in elements / 32: for c in 32:
//!     sum = sum + x(e)                 chains[c] = chains[c] + x(r * 32 + c)
//!                          =>      sum = sum + (all chains, in pairs)
//! ```
//!
//! Else each element waits for the one before, and on a GPU one thread does them all. In which
//! order such a sum is taken is ours to say, since no source does: the host, the interpreter and
//! code of the threads of a block follow this one, with the same bits.
//!
//! The threads of a block compute all `x(e)` first, each some of them, where a thread would go
//! through those of a chain one after the other.

use std::borrow::Cow;

use crate::analysis::uses;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::{
    Access, BinaryOp, BlockId, Const, FuncId, Function, InstId, Module, Op, Phase, ValueDef, ValueId, Values,
};
use crate::passes::block_threads::products::{Counted, counted, each, reverse};
use crate::passes::block_threads::rows::total;
use crate::passes::copy::Copier;
use crate::passes::loops::has_loop;
use crate::passes::rebuild::Rebuild;
use crate::types::{Element, LocalArrayType, Scalar, Type};

/// Sums of fewer elements are as they were.
const LEAST_ELEMENTS: u64 = 64;

/// As many chains as divide the elements of a row: 32 are two vectors, or four.
const CHAINS: [u32; 3] = [32, 16, 8];

/// Loops one in another that carry the same sums.
struct Nest {
    /// The outermost first.
    levels: Vec<Counted>,
    chains: u32,
    /// The types of the numbers to which the innermost loop adds a term in each turn.
    sums: Vec<Scalar>,
    /// No turn adds more than one term to a sum.
    one_term: bool,
}

/// Where the terms of chains are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terms {
    /// Where they are added.
    There,
    /// Before, in tiles, as long as all tiles of a kernel take so many bytes at most.
    Before(u64),
}

/// The module with such sums of these kernels in chains.
pub fn in_chains<'m>(module: &'m Module, kernels: &[FuncId], terms: Terms) -> Cow<'m, Module> {
    let mut changed = Cow::Borrowed(module);
    for &id in kernels {
        let function = &module.functions[id];
        if function.by_block && function.phase == Phase::Backward {
            let found = nests(function);
            if !found.is_empty() {
                let room = match terms {
                    Terms::There => 0,
                    Terms::Before(most) => most.saturating_sub(total(function, &module.structs)),
                };
                Pass::run(&mut changed.to_mut().functions[id], found, room);
            }
        }
    }
    changed
}

fn nests(function: &Function) -> IdMap<InstId, Nest> {
    let mut found = IdMap::default();
    // Reversed products have sums of their own.
    let mut products: IdSet<BlockId> = IdSet::default();
    let mut uses_of = None;
    function.walk(function.entry, &mut |id, inst| {
        let Op::For { init, body, .. } = &inst.op else { return };
        if let Some(product) = reverse(function, id) {
            products.extend(product.loops.map(|level| level.body));
        }
        if init.is_empty() || products.contains(body) {
            return;
        }
        if let Some(nest) = nest(function, uses_of.get_or_insert_with(|| uses(function)), id) {
            found.insert(id, nest);
        }
    });
    found
}

/// The nest whose outermost loop this is.
fn nest(function: &Function, uses: &IdVec<ValueId, u32>, id: InstId) -> Option<Nest> {
    let mut levels = vec![downward(function, id)?];
    while let Some(inner) = same_sums(function, levels[levels.len() - 1].body) {
        levels.push(downward(function, inner)?);
    }
    let row = levels[levels.len() - 1];
    let elements: u64 = levels.iter().map(|level| u64::from(level.trips)).product();
    let chains = CHAINS.into_iter().find(|n| row.trips.is_multiple_of(*n))?;
    let block = &function.blocks[row.body];
    let straight = |id: &InstId| function.insts[*id].op.blocks().iter().all(|&nested| !has_loop(function, nested));
    if elements < LEAST_ELEMENTS || !block.insts.iter().all(straight) {
        return None;
    }
    let Op::Yield(next) = &function.insts[*block.insts.last()?].op else { return None };
    let mut one_term = true;
    let sum = |(&before, &after): (&ValueId, &ValueId)| {
        let Type::Scalar(scalar) = function.ty(after) else { return None };
        // All that is done with it is to add to it, in some ways through the turn.
        let [read, terms] = additions(function, uses, before, after)?;
        one_term &= terms <= 1;
        (scalar.is_float() && before != after && uses[before] == read).then_some(scalar)
    };
    let sums = block.params[1..].iter().zip(next).map(sum).collect::<Option<Vec<_>>>()?;
    Some(Nest { levels, chains, sums, one_term })
}

/// How often `before` is read on the way to `after`, which is that and terms, or that alone in some
/// branches, and how many terms there are at most. None: it is something else.
pub fn additions(function: &Function, uses: &IdVec<ValueId, u32>, before: ValueId, after: ValueId) -> Option<[u32; 2]> {
    if after == before {
        return Some([1, 0]);
    }
    let one_more = |[read, terms]: [u32; 2]| [read, terms + 1];
    let ValueDef::Result(inst, n) = function.values[after].def else { return None };
    if uses[after] != 1 {
        return None;
    }
    match &function.insts[inst].op {
        Op::Binary(BinaryOp::Add, a, b) => {
            let found = additions(function, uses, before, *a).or_else(|| additions(function, uses, before, *b));
            found.map(one_more)
        }
        Op::Binary(BinaryOp::Sub, a, _) => additions(function, uses, before, *a).map(one_more),
        Op::If { then, otherwise, .. } => {
            let given = |block: BlockId| additions(function, uses, before, *function.yielded(block).get(n as usize)?);
            let ([read, terms], [more, others]) = (given(*then)?, given(*otherwise)?);
            Some([read + more, terms.max(others)])
        }
        // Another value is no sum.
        _ => None,
    }
}

/// A loop of reverse code through all elements, from the last one on. Those that go forward are the
/// source's, which says in what order they add.
fn downward(function: &Function, id: InstId) -> Option<Counted> {
    counted(function, id).filter(|level| level.bounds[2] == -1)
}

/// The loop that a block consists of, if it takes over what the block is given and gives back what
/// comes of it.
fn same_sums(function: &Function, block: BlockId) -> Option<InstId> {
    let mut insts = function.blocks[block].insts.iter().filter(|&&id| !matches!(function.insts[id].op, Op::Const(_)));
    let (&inner, &last, None) = (insts.next()?, insts.next()?, insts.next()) else { return None };
    let (Op::For { init, .. }, Op::Yield(next)) = (&function.insts[inner].op, &function.insts[last].op) else {
        return None;
    };
    let same = init[..] == function.blocks[block].params[1..] && next[..] == function.insts[inner].results[..];
    same.then_some(inner)
}

struct Pass {
    rebuild: Rebuild,
    found: IdMap<InstId, Nest>,
    /// The bytes that tiles of terms may take.
    room: u64,
}

impl Pass {
    fn run(function: &mut Function, found: IdMap<InstId, Nest>, room: u64) {
        let entry = function.entry;
        let mut pass = Pass { rebuild: Rebuild::start(function), found, room };
        pass.block(entry);
        pass.rebuild.finish(function);
    }

    fn block(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            let op = self.rebuild.visit(id);
            let Some(nest) = self.found.remove(&id) else {
                op.blocks().iter().for_each(|&nested| self.block(nested));
                self.rebuild.b.append(id);
                continue;
            };
            let Op::For { init, .. } = op else { continue };
            // What is inside may use what has been replaced before.
            self.update(nest.levels[0].body);
            let results = self.rebuild.b.function.insts[id].results.clone();
            let before = nest.one_term && nest.bytes() <= self.room;
            if before {
                self.room -= nest.bytes();
            }
            let sums = nest.emit(&mut self.rebuild.b, &init, before);
            results.iter().zip(sums).for_each(|(&old, new)| self.rebuild.replace(old, new));
        }
        self.rebuild.b.switch_to(outside);
    }

    fn update(&mut self, block: BlockId) {
        for id in self.rebuild.b.function.blocks[block].insts.clone() {
            let nested = self.rebuild.update(id).blocks();
            nested.iter().for_each(|&nested| self.update(nested));
        }
    }
}

impl Nest {
    /// What tiles of all terms take.
    fn bytes(&self) -> u64 {
        let elements: u64 = self.levels.iter().map(|level| u64::from(level.trips)).product();
        self.sums.iter().map(|scalar| elements * u64::from(scalar.size())).sum()
    }

    /// A tile for each sum.
    fn tiles(&self, b: &mut Builder, extents: &[u32]) -> Vec<ValueId> {
        let mut shape = [1; 4];
        shape.iter_mut().zip(extents).for_each(|(extent, &given)| *extent = given);
        let tile = |&scalar: &Scalar| {
            let ty = LocalArrayType { element: Element::Scalar(scalar), shape, ndim: extents.len() as u8, block: true };
            b.one(Op::LocalArray, Type::Local(ty))
        };
        self.sums.iter().map(tile).collect()
    }

    /// The sums, with what was there before. `terms_before`: terms come before the chains.
    fn emit(&self, b: &mut Builder, init: &Values, terms_before: bool) -> Vec<ValueId> {
        let terms = terms_before.then(|| self.terms(b));
        let arrays = self.tiles(b, &[self.chains]);
        let (mut copier, mut at) = (Copier::within(), Vec::new());
        match &terms {
            None => self.level(b, &mut at, &mut copier, &mut |b, copier, _, n| self.element(b, &arrays, copier, n)),
            Some(terms) => self.level(b, &mut at, &mut copier, &mut |b, _, at, n| self.add(b, &arrays, terms, at, n)),
        }
        let zero = b.int(Scalar::I32, 0);
        let whole = |b: &mut Builder, (&array, &scalar): (&ValueId, &Scalar)| {
            let mut half = self.chains / 2;
            while half > 0 {
                let some = Counted { bounds: [0, half.into(), 1], trips: half, ..self.levels[0] };
                each(b, some, &[], |b, low, _| {
                    let by = b.int(Scalar::I32, half.into());
                    let high = b.binary(BinaryOp::Add, low, by);
                    let parts = [low, high].map(|at| chain(b, array, at, scalar));
                    let value = b.binary(BinaryOp::Add, parts[0], parts[1]);
                    b.effect(Op::Store { access: Access::element(array, &[low]), value });
                    Vec::new()
                });
                half /= 2;
            }
            chain(b, array, zero, scalar)
        };
        let pairs: Vec<ValueId> = arrays.iter().zip(&self.sums).map(|pair| whole(b, pair)).collect();
        init.iter().zip(pairs).map(|(&before, sum)| b.binary(BinaryOp::Add, before, sum)).collect()
    }

    /// Tiles with all terms: what a turn makes of the number to which nothing but a term is added,
    /// as it were.
    fn terms(&self, b: &mut Builder) -> Vec<ValueId> {
        let extents: Vec<u32> = self.levels.iter().map(|level| level.trips).collect();
        let terms = self.tiles(b, &extents);
        self.nest(b, 0, &mut Copier::within(), &mut Vec::new(), &mut |b, copier, at| {
            let row = self.levels[self.levels.len() - 1];
            for (&scalar, param) in self.sums.iter().zip(b.function.blocks[row.body].params[1..].to_vec()) {
                // `-0.0 + x` is `x`, whatever it is, and `s + -0.0` is `s`.
                let none = b.constant(Const::new(scalar, 1 << (8 * scalar.size() - 1)));
                copier.map(param, none);
            }
            if let Op::Yield(next) = copier.insts(b, row.body) {
                for (&array, value) in terms.iter().zip(next) {
                    b.effect(Op::Store { access: Access::element(array, at), value });
                }
            }
        });
        terms
    }

    /// Loops through all elements, with what `copier` needs of those around, and the indices of
    /// one.
    fn nest(
        &self,
        b: &mut Builder,
        depth: usize,
        copier: &mut Copier<'static>,
        at: &mut Vec<ValueId>,
        body: &mut dyn FnMut(&mut Builder, &mut Copier<'static>, &[ValueId]),
    ) {
        let Some(&level) = self.levels.get(depth) else { return body(b, copier, at) };
        each(b, level, &[], |b, n, _| {
            self.enter(b, level, n, depth, copier);
            at.push(n);
            self.nest(b, depth + 1, copier, at, body);
            at.pop();
            Vec::new()
        });
    }

    /// Within a loop: its variable, and constants for the loops inside.
    fn enter(&self, b: &mut Builder, level: Counted, n: ValueId, depth: usize, copier: &mut Copier<'static>) {
        let block = &b.function.blocks[level.body];
        copier.map(block.params[0], n);
        if depth + 1 < self.levels.len() {
            let constants =
                block.insts.clone().into_iter().filter(|&id| matches!(b.function.insts[id].op, Op::Const(_)));
            constants.collect::<Vec<_>>().into_iter().for_each(|id| copier.inst(b, id));
        }
    }

    /// The loops from one on, in chains, within what `copier` has copied: `body` has the indices of
    /// an element, and the number of its chain.
    fn level(
        &self,
        b: &mut Builder,
        at: &mut Vec<ValueId>,
        copier: &mut Copier<'static>,
        body: &mut dyn FnMut(&mut Builder, &mut Copier<'static>, &[ValueId], ValueId),
    ) {
        let depth = at.len();
        let level = self.levels[depth];
        if depth + 1 < self.levels.len() {
            each(b, level, &[], |b, n, _| {
                self.enter(b, level, n, depth, copier);
                at.push(n);
                self.level(b, at, copier, body);
                at.pop();
                Vec::new()
            });
            return;
        }
        let down = |trips: u32| Counted { bounds: [i128::from(trips) - 1, -1, -1], trips, ..level };
        each(b, down(level.trips / self.chains), &[], |b, row, _| {
            each(b, down(self.chains), &[], |b, n, _| {
                let many = b.int(Scalar::I32, self.chains.into());
                let first = b.binary(BinaryOp::Mul, row, many);
                let element = b.binary(BinaryOp::Add, first, n);
                self.enter(b, level, element, depth, copier);
                at.push(element);
                body(b, copier, at, n);
                at.pop();
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Adds to chain `n` what a turn adds.
    fn element(&self, b: &mut Builder, arrays: &[ValueId], copier: &mut Copier<'static>, n: ValueId) {
        let body = self.levels[self.levels.len() - 1].body;
        let params = b.function.blocks[body].params.clone();
        for ((&array, &scalar), &param) in arrays.iter().zip(&self.sums).zip(&params[1..]) {
            let before = chain(b, array, n, scalar);
            copier.map(param, before);
        }
        if let Op::Yield(next) = copier.insts(b, body) {
            for (&array, value) in arrays.iter().zip(next) {
                b.effect(Op::Store { access: Access::element(array, &[n]), value });
            }
        }
    }

    /// Adds to chain `n` the terms of an element.
    fn add(&self, b: &mut Builder, arrays: &[ValueId], terms: &[ValueId], at: &[ValueId], n: ValueId) {
        for ((&array, &terms), &scalar) in arrays.iter().zip(terms).zip(&self.sums) {
            let before = chain(b, array, n, scalar);
            let term = b.one(Op::Load(Access::element(terms, at)), Type::Scalar(scalar));
            let value = b.binary(BinaryOp::Add, before, term);
            b.effect(Op::Store { access: Access::element(array, &[n]), value });
        }
    }
}

fn chain(b: &mut Builder, array: ValueId, at: ValueId, scalar: Scalar) -> ValueId {
    b.one(Op::Load(Access::element(array, &[at])), Type::Scalar(scalar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// The form of a sum that a backward entry carries through `rows` times `columns` numbers by
    /// `step`, each added by `add`.
    fn carried(rows: u32, columns: u32, step: i32, add: &str) -> String {
        carried_by(rows, columns, step, add, Terms::There)
    }

    fn carried_by(rows: u32, columns: u32, step: i32, add: &str, terms: Terms) -> String {
        let range = |count: u32| if step < 0 { (i64::from(count) - 1, -1) } else { (0, i64::from(count)) };
        let ([first_row, end_row], [first, end]) =
            ([range(rows).0, range(rows).1], [range(columns).0, range(columns).1]);
        let text = format!(
            "kernel @k(%x: array2d(dtype=float32), %adj_x: array2d(dtype=float32)) rank 1 by_block backward {{\n\
             %0: int32 = const 0\n%first_row: int32 = const {first_row}\n%end_row: int32 = const {end_row}\n\
             %step: int32 = const {step}\n%two: float32 = const 2.0\n%t: tile(float32, {rows}, {columns}) = local_array\n\
             %s: float32 = for %r: int32 = %first_row to %end_row step %step carry %a: float32 = %two {{\n\
             %first: int32 = const {first}\n%end: int32 = const {end}\n\
             %b: float32 = for %c: int32 = %first to %end step %step carry %d: float32 = %a {{\n\
             %e: float32 = load %x[%r, %c]\n{add}yield %f\n}}\nyield %b\n}}\nstore %adj_x[%0, %0], %s\nreturn\n}}\n"
        );
        let module = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(verify(&module), Ok(()));
        let made = in_chains(&module, &[module.find("k").expect("a kernel")], terms).into_owned();
        assert_eq!(verify(&made), Ok(()), "{}", print(&made));
        print(&made)
    }

    #[test]
    fn sums_that_reverse_code_carries_have_chains() {
        let added = "%f: float32 = add %d, %e\n";
        // In some turns nothing is added, or in two steps.
        let test = "%g: bool = lt %e, %two\n%f: float32 = if %g {\n%h: float32 = add %d, %e\nyield %h\n} else {\nyield %d\n}\n";
        let steps = "%g: float32 = add %d, %e\n%f: float32 = sub %g, %two\n";
        for add in [added, "%f: float32 = add %e, %d\n", "%f: float32 = sub %d, %e\n", test, steps] {
            let text = carried(4, 64, -1, add);
            assert!(!text.contains("carry"), "{text}");
            // Two loops in that over the rows, and five that halve the chains.
            assert_eq!((text.matches("for ").count(), text.matches("tile(float32, 32)").count()), (8, 1), "{text}");
        }
        assert!(carried(8, 24, -1, added).contains("tile(float32, 8)"));
        for other in [
            // As the source has it; few elements; rows without chains.
            carried(4, 64, 1, added),
            carried(4, 8, -1, added),
            carried(4, 65, -1, added),
            // No sums, or sums that something else looks at.
            carried(4, 64, -1, "%f: float32 = mul %d, %e\n"),
            carried(4, 64, -1, "%f: float32 = sub %e, %d\n"),
            carried(4, 64, -1, "%f: float32 = add %d, %d\n"),
            carried(4, 64, -1, "%f: float32 = add %d, %e\nstore %t[%0, %0], %f\n"),
            carried(4, 64, -1, "%f: float32 = add %d, %e\nstore %t[%0, %0], %d\n"),
            carried(4, 64, -1, &test.replace("yield %d", "yield %e")),
            carried(4, 64, -1, &test.replace("lt %e", "lt %d")),
            carried(4, 64, -1, &test.replace("yield %h", "store %t[%0, %0], %h\nyield %h")),
            carried(4, 64, -1, &steps.replace("sub %g, %two", "sub %g, %g")),
        ] {
            assert!(other.contains("carry"), "{other}");
        }
    }
}
