//! Which loops are products of matrices, and how do the two products of a reversed one part?
//!
//! What is looked for is what the checker and differentiation make: three loops one in another over
//! whole matrices, that add the products of two tiles' elements to a third tile's. Reversed, such
//! loops add to the adjoints of both factors, each of which another loop would have to share out;
//! [`part`] makes a nest for each, in which every element is added up in the order that it was.

use super::plan as dealt;
use super::tensor::Tensor;
use crate::analysis::ranges::Ranges;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{Access, BinaryOp, BlockId, Function, InstId, Op, UnaryOp, Unit, ValueDef, ValueId, Values};
use crate::passes::loops::trips;
use crate::passes::rebuild::replace_each;
use crate::types::{Element, I32, Scalar, Type};

/// A product as a nest computes it: `c += a b`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::passes) struct Found {
    pub c: ValueId,
    pub a: ValueId,
    pub b: ValueId,
    pub turned: [bool; 2],
    pub size: [u32; 3],
    pub factors: [Scalar; 2],
    /// Factors may be rounded to TensorFloat-32.
    pub tf32: bool,
    sums: Scalar,
}

impl Found {
    pub fn unit(&self, tensor: Tensor) -> Result<Unit, String> {
        tensor.unit(self.factors, self.sums, self.size, self.tf32)
    }

    /// Whether all of `c` is added to.
    pub fn is_whole(&self, function: &Function) -> bool {
        matches!(function.ty(self.c), Type::Local(ty) if ty.extents() == &self.size[..2])
    }
}

/// A loop that counts through all indices from 0, upward or downward.
#[derive(Clone, Copy, Debug)]
pub(in crate::passes) struct Counted {
    pub variable: ValueId,
    pub body: BlockId,
    pub bounds: [i128; 3],
    pub trips: u32,
}

impl Counted {
    /// The same indices, upward.
    pub fn upward(self) -> Counted {
        Counted { bounds: [0, self.trips.into(), 1], ..self }
    }
}

pub(in crate::passes) fn counted(function: &Function, id: InstId) -> Option<Counted> {
    let Op::For { start, end, step, body, .. } = function.insts[id].op else { return None };
    let int = |v| function.as_const(v)?.as_int();
    let (bounds, count) = ([int(start)?, int(end)?, int(step)?], trips(function, start, end, step)?);
    let first = match bounds {
        [0, _, 1] => true,
        [start, _, -1] => start + 1 == i128::from(count),
        _ => false,
    };
    let variable = *function.blocks[body].params.first()?;
    let fits = first && count > 0 && function.ty(variable) == I32;
    Some(Counted { variable, body, bounds, trips: u32::try_from(count).ok().filter(|_| fits)? })
}

/// A product that is added to something: with one rounding, or else after it was rounded.
struct Term {
    factors: [ValueId; 2],
    fused: bool,
}

/// Three loops one in another that do nothing but read and write elements of tiles, multiply and
/// add.
struct Nest<'a> {
    function: &'a Function,
    loops: [Counted; 3],
    innermost: InstId,
    /// In the order of the text: the block, and what is in it.
    stores: Vec<(BlockId, InstId)>,
    loads: Vec<(BlockId, InstId)>,
}

/// An element of a matrix, by the loops whose variables are its indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::passes) struct Place {
    pub array: ValueId,
    pub scalar: Scalar,
    pub at: [usize; 2],
    /// What is read may be rounded to TensorFloat-32.
    pub tf32: bool,
}

impl<'a> Nest<'a> {
    fn of(function: &'a Function, id: InstId) -> Option<Nest<'a>> {
        let outer = counted(function, id)?;
        let inner = |body: BlockId| {
            let mut loops =
                function.blocks[body].insts.iter().filter(|&&id| matches!(function.insts[id].op, Op::For { .. }));
            let only = loops.next().copied();
            only.filter(|_| loops.next().is_none())
        };
        let (middle_id, plain) = (
            inner(outer.body)?,
            |id: InstId| matches!(&function.insts[id].op, Op::For { init, .. } if init.is_empty()),
        );
        let middle = counted(function, middle_id)?;
        let innermost = inner(middle.body)?;
        let loops = [outer, middle, counted(function, innermost)?];
        if !plain(id) || !plain(middle_id) {
            return None;
        }
        let mut nest = Nest { function, loops, innermost, stores: Vec::new(), loads: Vec::new() };
        for (depth, level) in loops.iter().enumerate() {
            for &id in &function.blocks[level.body].insts {
                match &function.insts[id].op {
                    Op::Const(_) | Op::Zero | Op::Cast(_) | Op::Fma(..) | Op::Yield(_) => {}
                    Op::Binary(BinaryOp::Add | BinaryOp::Mul, ..) | Op::Unary(UnaryOp::Tf32, _) => {}
                    Op::For { .. } if depth < 2 => {}
                    Op::Load(_) => nest.loads.push((level.body, id)),
                    Op::Store { .. } => nest.stores.push((level.body, id)),
                    // A product of matrices is made of these alone.
                    _ => return None,
                }
            }
        }
        Some(nest)
    }

    /// What an access names, if it is an element of a matrix that two of the variables are the
    /// indices of.
    fn place(&self, access: &Access) -> Option<Place> {
        let Type::Local(ty) = self.function.ty(access.array) else { return None };
        let Element::Scalar(scalar) = ty.element else { return None };
        let whole = ty.block && ty.ndim == 2 && access.path.is_empty() && scalar.is_float();
        let level = |index: &ValueId| self.loops.iter().position(|level| level.variable == *index);
        let at = [level(access.indices.first()?)?, level(access.indices.get(1)?)?];
        let inside = at.iter().zip(ty.extents()).all(|(&level, &extent)| self.loops[level].trips <= extent);
        let made_outside = !matches!(self.function.values[access.array].def, ValueDef::Param(..));
        let fits = whole && inside && made_outside && at[0] != at[1];
        fits.then_some(Place { array: access.array, scalar, at, tf32: false })
    }

    fn op(&self, value: ValueId) -> Option<&Op> {
        self.function.op(value)
    }

    fn scalar(&self, value: ValueId) -> Option<Scalar> {
        self.function.ty(value).as_scalar()
    }

    /// The value behind a conversion between floats.
    fn before_cast(&self, value: ValueId) -> ValueId {
        if let Some(&Op::Cast(from)) = self.op(value)
            && self.scalar(from).is_some_and(Scalar::is_float)
        {
            from
        } else {
            value
        }
    }

    /// An element that was read, perhaps made wider.
    fn factor(&self, value: ValueId) -> Option<Place> {
        let (value, tf32) =
            if let Some(&Op::Unary(UnaryOp::Tf32, of)) = self.op(value) { (of, true) } else { (value, false) };
        let from = self.before_cast(value);
        let Some(Op::Load(access)) = self.op(from) else { return None };
        let place = Place { tf32, ..self.place(access)? };
        // Made narrower it would be another number.
        (place.scalar == self.scalar(value)? || place.scalar.size() < self.scalar(value)?.size()).then_some(place)
    }

    /// `old + more`, where `old` is an element that was read: what is added.
    fn added(&self, value: ValueId, to: &Access) -> Option<ValueId> {
        let Some(&Op::Binary(BinaryOp::Add, a, b)) = self.op(value) else { return None };
        let reads = |v: ValueId| matches!(self.op(v), Some(Op::Load(access)) if access == to);
        match (reads(a), reads(b)) {
            (true, false) => Some(b),
            (false, true) => Some(a),
            _ => None,
        }
    }

    /// `a * b + sum`, where `is_sum` knows the sum.
    fn term(&self, value: ValueId, is_sum: impl Fn(ValueId) -> bool) -> Option<Term> {
        match *self.op(value)? {
            Op::Fma(a, b, sum) if is_sum(sum) => Some(Term { factors: [a, b], fused: true }),
            Op::Binary(BinaryOp::Add, a, b) => match (is_sum(a), is_sum(b)) {
                (true, false) => self.product(b),
                (false, true) => self.product(a),
                _ => None,
            },
            // No sum of products.
            _ => None,
        }
    }

    /// `a * b`, which is added after it is rounded.
    fn product(&self, value: ValueId) -> Option<Term> {
        let Op::Binary(BinaryOp::Mul, a, b) = *self.op(value)? else { return None };
        Some(Term { factors: [a, b], fused: false })
    }

    /// The product that is added to an element that was read, and the type in which it is computed.
    fn added_product(&self, value: ValueId, to: &Access) -> Option<(Term, Scalar)> {
        let reads = |v: ValueId| matches!(self.op(v), Some(Op::Load(access)) if access == to);
        let fused = self.term(value, reads).filter(|term| term.fused);
        if let Some(term) = fused {
            return Some((term, self.scalar(value)?));
        }
        let product = self.before_cast(self.added(value, to)?);
        Some((self.product(product)?, self.scalar(product)?))
    }

    /// The sum of products that the innermost loop carries, from zero on, if it carries one.
    fn carried(&self) -> Option<(ValueId, Term)> {
        let inst = &self.function.insts[self.innermost];
        let (Op::For { init, body, .. }, &[result]) = (&inst.op, &inst.results[..]) else { return None };
        let (&[start], &[_, sum]) = (&init[..], &self.function.blocks[*body].params[..]) else { return None };
        let last = self.function.blocks[*body].insts.last()?;
        let Op::Yield(next) = &self.function.insts[*last].op else { return None };
        let &[next] = &next[..] else { return None };
        Some((result, self.term(next, |v| v == sum).filter(|_| self.is_zero(start))?))
    }

    fn is_zero(&self, value: ValueId) -> bool {
        matches!(self.op(value), Some(Op::Zero))
            || self
                .function
                .as_const(value)
                .and_then(|c| c.as_float())
                .is_some_and(|x| x == 0.0 && x.is_sign_positive())
    }

    fn carries(&self) -> bool {
        matches!(&self.function.insts[self.innermost].op, Op::For { init, .. } if !init.is_empty())
    }

    fn store(&self, id: InstId) -> Option<(&Access, ValueId)> {
        let Op::Store { access, value } = &self.function.insts[id].op else { return None };
        Some((access, *value))
    }

    /// How many loads there are of an array.
    fn loads_of(&self, array: ValueId) -> usize {
        let of = |id: InstId| self.function.insts[id].op.access().is_some_and(|access| access.array == array);
        self.loads.iter().filter(|&&(_, id)| of(id)).count()
    }
}

/// The product that a nest of loops computes, if that is all that it does.
pub(in crate::passes) fn find(function: &Function, id: InstId) -> Option<Found> {
    let nest = Nest::of(function, id)?;
    let &[(block, store)] = &nest.stores[..] else { return None };
    let (access, value) = nest.store(store)?;
    let c = nest.place(access)?;
    let (Term { factors, .. }, sums) = if nest.carries() {
        let (sum, term) = nest.carried()?;
        let added = nest.added(value, access)?;
        let fits = nest.before_cast(added) == sum && block == nest.loops[1].body && c.at.iter().all(|&at| at < 2);
        (term, nest.scalar(sum).filter(|_| fits)?)
    } else {
        nest.added_product(value, access)?
    };
    let [first, second] = [nest.factor(factors[0])?, nest.factor(factors[1])?];
    let inner = (0..3).find(|level| !c.at.contains(level))?;
    // Which factor has the rows: one has the rows and the inner index, the other one that and the
    // columns.
    let has = |place: &Place, level: usize| place.at.contains(&level);
    let (a, b) = if has(&first, c.at[0]) { (first, second) } else { (second, first) };
    let fits = has(&a, c.at[0]) && has(&a, inner) && has(&b, c.at[1]) && has(&b, inner);
    let count = nest.loads_of(c.array);
    let known = nest.loads.len()
        == count + nest.loads_of(a.array) + if a.array == b.array { 0 } else { nest.loads_of(b.array) };
    let alone = c.array != a.array && c.array != b.array && count == 1 && known;
    let size = [c.at[0], c.at[1], inner].map(|level| nest.loops[level].trips);
    (fits && alone && c.scalar.size() <= sums.size()).then_some(Found {
        c: c.array,
        a: a.array,
        b: b.array,
        turned: [a.at[0] == inner, b.at[1] == inner],
        size,
        factors: [a.scalar, b.scalar],
        tf32: a.tf32 || b.tf32,
        sums,
    })
}

/// A part of an array that is copied into a whole tile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::passes) struct Copied {
    pub tile: ValueId,
    pub array: ValueId,
    pub size: [u32; 2],
    /// The indices of the first element; None: 0.
    pub first: [Option<ValueId>; 2],
}

/// The part that loops which are dealt out copy, if that is all that they do:
/// `tile[i, j] = array[row + i, column + j]`, which the array has.
pub(super) fn copied(function: &Function, ranges: &Ranges, nest: &dealt::Nest) -> Option<Copied> {
    let [outer, inner] = &nest.loops[..] else { return None };
    let (mut load, mut store) = (None, None);
    for body in [outer.body, inner.body] {
        for &id in &function.blocks[body].insts {
            match &function.insts[id].op {
                Op::Const(_) | Op::Yield(_) | Op::Binary(BinaryOp::Add, ..) => {}
                Op::For { .. } if id == inner.inst => {}
                Op::Load(access) if load.is_none() => load = Some((id, access)),
                Op::Store { access, value } if store.is_none() => store = Some((access, *value)),
                // A sum of a column is made of these alone.
                _ => return None,
            }
        }
    }
    let ((id, from), (to, value)) = (load?, store?);
    let (Type::Local(tile), Type::Array(array)) = (function.ty(to.array), function.ty(from.array)) else { return None };
    let here = [outer.variable, inner.variable];
    let known = [outer, inner].map(|level| level.known.filter(|&(least, _)| least == 0 && level.dealt));
    let size = [u32::try_from(known[0]?.1).ok()?, u32::try_from(known[1]?.1).ok()?];
    let whole = to.indices[..] == here && to.path.is_empty() && tile.extents() == size && tile.block;
    let is_loaded = matches!(function.values[value].def, ValueDef::Result(of, _) if of == id);
    let alike = matches!(tile.element, Element::Scalar(s) if s.is_float()) && tile.element == array.element;
    if !whole || !is_loaded || !alike || array.ndim != 2 || !from.path.is_empty() {
        return None;
    }
    let inside = function.defined_in(outer.body);
    let mut first = [None; 2];
    for ((first, &index), variable) in first.iter_mut().zip(&from.indices).zip(here) {
        let base = match function.op(index) {
            _ if index == variable => None,
            Some(&Op::Binary(BinaryOp::Add, a, b)) if b == variable => Some(a),
            Some(&Op::Binary(BinaryOp::Add, a, b)) if a == variable => Some(b),
            // No sum with the variable.
            _ => return None,
        };
        let fixed = base.is_none_or(|base| !inside.contains(&base) && function.ty(base) == I32);
        if !fixed || !ranges.counts_from_start(id, index) {
            return None;
        }
        *first = base;
    }
    let outside = !inside.contains(&from.array);
    outside.then_some(Copied { tile: to.array, array: from.array, size, first })
}

/// `d[i, j] += c[i, j]` for all elements: `[d, c]`.
pub(super) fn sum_of_tiles(function: &Function, id: InstId) -> Option<[ValueId; 2]> {
    let outer = counted(function, id)?;
    let plain = |id: InstId| matches!(&function.insts[id].op, Op::For { init, .. } if init.is_empty());
    let inner_id = *function.blocks[outer.body].insts.iter().find(|&&id| !function.insts[id].op.blocks().is_empty())?;
    let inner = counted(function, inner_id)?;
    if !plain(id) || !plain(inner_id) {
        return None;
    }
    let mut store = None;
    let mut loads = Vec::new();
    for body in [outer.body, inner.body] {
        for &id in &function.blocks[body].insts {
            match &function.insts[id].op {
                Op::Const(_) | Op::Cast(_) | Op::Yield(_) | Op::Binary(BinaryOp::Add, ..) => {}
                Op::For { .. } if id == inner_id => {}
                Op::Load(access) => loads.push(access),
                Op::Store { access, value } if store.is_none() => store = Some((access, *value)),
                // A product of matrices is made of these alone.
                _ => return None,
            }
        }
    }
    let (set, value) = store?;
    let op = |value: ValueId| function.op(value);
    let float = |value: ValueId| function.ty(value).as_scalar().is_some_and(Scalar::is_float);
    let before = |value: ValueId| {
        if let Some(&Op::Cast(from)) = op(value)
            && float(from)
        {
            from
        } else {
            value
        }
    };
    let Some(&Op::Binary(BinaryOp::Add, a, b)) = op(before(value)) else { return None };
    let here = [outer.variable, inner.variable];
    let read = |value: ValueId| {
        if let Some(Op::Load(access)) = op(before(value))
            && access.indices[..] == here
            && access.path.is_empty()
        {
            Some(access.array)
        } else {
            None
        }
    };
    let (a, b) = (read(a)?, read(b)?);
    let other = if a == set.array { b } else { a };
    let (Type::Local(to), Type::Local(from)) = (function.ty(set.array), function.ty(other)) else { return None };
    let whole = to.extents() == [outer.trips, inner.trips] && from.extents() == to.extents() && to.block && from.block;
    let exact = whole && set.indices[..] == here && set.path.is_empty() && loads.len() == 2;
    (exact && a != b && (a == set.array || b == set.array)).then_some([set.array, other])
}

/// A product in reverse: the adjoint of the result, and what the factors that have adjoints get of
/// it.
pub(in crate::passes) struct Reverse {
    pub loops: [Counted; 3],
    pub result: Place,
    pub sums: Scalar,
    /// `adjoint[i, l] += sum over j of result[i, j] * other[l, j]`
    pub first: Option<Share>,
    /// `adjoint[l, j] += result[i, j] * other[i, l]`, one after the other.
    pub second: Option<Share>,
}

/// What goes to the adjoint of a factor: products with the other factor.
#[derive(Clone, Copy)]
pub(in crate::passes) struct Share {
    pub adjoint: Place,
    pub other: Place,
    /// Multiplied and added with one rounding.
    pub fused: bool,
}

pub(in crate::passes) fn reverse(function: &Function, id: InstId) -> Option<Reverse> {
    let nest = Nest::of(function, id)?;
    let position = |id: InstId| function.blocks[nest.loops[2].body].insts.iter().position(|&other| other == id);
    let in_innermost = |block: BlockId| block == nest.loops[2].body;
    // What is taken out of the result's adjoint, and put back: a zero, and a sum with it.
    let mut zeroed: Option<(InstId, Place)> = None;
    for &(_, id) in nest.stores.iter().filter(|(block, _)| in_innermost(*block)) {
        let (access, value) = nest.store(id)?;
        if nest.is_zero(value) && zeroed.is_none() {
            zeroed = Some((id, nest.place(access)?));
        } else if nest.is_zero(value) {
            return None;
        }
    }
    let (mut first, mut second, mut put_back) = (None, None, false);
    let mut result: Option<(ValueId, Place)> = None;
    let mut is_result = |value: ValueId| {
        let place = nest.factor(value).filter(|place| place.at == [0, 2] || place.at == [2, 0])?;
        let known = result.get_or_insert((value, place));
        (*known == (value, place)).then_some(())
    };
    let mut other = |[a, b]: [ValueId; 2], at: [usize; 2]| {
        let is = |value: ValueId| nest.factor(value).filter(|place| place.at == at || place.at == [at[1], at[0]]);
        match (is(a), is(b)) {
            (Some(place), None) => is_result(b).map(|()| place),
            (None, Some(place)) => is_result(a).map(|()| place),
            _ => None,
        }
    };
    let mut sums = None;
    let sum = if nest.carries() { Some(nest.carried()?) } else { None };
    if let Some((sum, term)) = sum {
        sums = nest.scalar(sum);
        let factor = other(term.factors, [1, 2])?;
        let behind: Vec<InstId> = nest.stores.iter().filter(|(block, _)| !in_innermost(*block)).map(|s| s.1).collect();
        let &[store] = &behind[..] else { return None };
        let (access, value) = nest.store(store)?;
        let place = nest.place(access).filter(|place| place.at == [0, 1] || place.at == [1, 0])?;
        let fits = nest.before_cast(nest.added(value, access)?) == sum && nest.loads_of(place.array) == 1;
        first = Some(Share { adjoint: place, other: factor, fused: term.fused }).filter(|_| fits);
        first?;
    } else if nest.stores.iter().any(|(block, _)| !in_innermost(*block)) {
        return None;
    }
    let mut backs = Vec::new();
    for &(_, id) in nest.stores.iter().filter(|(block, _)| in_innermost(*block)) {
        let (access, value) = nest.store(id)?;
        let place = nest.place(access)?;
        if zeroed.is_some_and(|(zero, _)| zero == id) {
            continue;
        }
        if zeroed.is_some_and(|(_, of)| of == place) {
            let Some(&Op::Binary(BinaryOp::Add, x, y)) = nest.op(value) else { return None };
            let both = [x, y].iter().all(|&v| matches!(nest.op(v), Some(Op::Load(read)) if read == access));
            backs.push((id, [x, y].map(|v| function.values[v].def)));
            if !both || x == y {
                return None;
            }
            continue;
        }
        let (term, scalar) = nest.added_product(value, access)?;
        let factor = other(term.factors, [0, 1])?;
        let fits = place.at == [1, 2] || place.at == [2, 1];
        if !fits || second.is_some() || nest.loads_of(place.array) != 1 || *sums.get_or_insert(scalar) != scalar {
            return None;
        }
        second = Some(Share { adjoint: place, other: factor, fused: term.fused });
    }
    let (taken, result) = result?;
    // First the element is read, then it is zero, then that is read and what was read first added,
    // which leaves it as it was.
    if let Some((zero, of)) = zeroed {
        let &[(back, added)] = &backs[..] else { return None };
        let reads = nest
            .loads
            .iter()
            .map(|load| load.1)
            .filter(|&id| function.insts[id].op.access().is_some_and(|access| access.array == of.array));
        let reads: Vec<InstId> = reads.collect();
        let &[before, after] = &reads[..] else { return None };
        let order = [before, zero, after, back].map(position);
        let in_order = order.iter().all(Option::is_some) && order.is_sorted();
        let is = |def: ValueDef, id: InstId| matches!(def, ValueDef::Result(of, _) if of == id);
        let both = [before, after].into_iter().all(|id| added.iter().any(|&def| is(def, id)));
        put_back = of == result && both && in_order && is(function.values[taken].def, before);
    }
    let outputs: Vec<Place> = first.iter().chain(&second).map(|share| share.adjoint).collect();
    let inputs: Vec<Place> = first.iter().chain(&second).map(|share| share.other).chain([result]).collect();
    let parted = outputs.iter().all(|place| inputs.iter().all(|input| input.array != place.array));
    let distinct = outputs.len() < 2 || outputs[0].array != outputs[1].array;
    let apart = inputs.iter().filter(|input| input.array == result.array).count() == 1;
    let expected = outputs.len() + inputs.len() + usize::from(put_back);
    let fits = parted && distinct && apart && nest.loads.len() == expected && (zeroed.is_some() == put_back);
    let sums = sums.filter(|&sums| fits && result.scalar == sums && !outputs.is_empty())?;
    Some(Reverse { loops: nest.loops, result, sums, first, second })
}

/// Forgets which factors may be rounded: products that are computed by instructions are known, and
/// to all else it says nothing.
pub(in crate::passes) fn forget_tf32(function: &mut Function) {
    let of = |function: &Function, value: ValueId| {
        if let Some(&Op::Unary(UnaryOp::Tf32, of)) = function.op(value) { Some(of) } else { None }
    };
    let ids: Vec<InstId> = function.insts.ids().collect();
    for id in ids {
        let mut op = std::mem::replace(&mut function.insts[id].op, Op::Zero);
        op.for_each_operand_mut(|value| {
            while let Some(before) = of(function, *value) {
                *value = before;
            }
        });
        function.insts[id].op = op;
    }
}

/// Parts reversed products into one for each factor. Returns whether there were any.
pub(super) fn part(function: &mut Function) -> bool {
    let mut found: IdMap<InstId, Reverse> = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if matches!(inst.op, Op::For { .. })
            && let Some(reverse) = reverse(function, id)
        {
            found.insert(id, reverse);
        }
    });
    if found.is_empty() {
        return false;
    }
    replace_each(function, found, |b, id, reverse| {
        b.span = b.function.insts[id].span;
        reverse.emit(b);
    });
    true
}

impl Reverse {
    fn emit(&self, b: &mut Builder) {
        let &Reverse { loops: [i, l, j], result, sums, .. } = self;
        if let Some(share) = self.first {
            each(b, i, &[], |b, i, _| {
                each(b, l, &[], |b, l, _| {
                    let zero = b.zero(Type::Scalar(sums));
                    let sum = each(b, j, &[zero], |b, j, sum| {
                        let factors = [result, share.other].map(|place| self.wide(b, &place, [i, l, j]));
                        vec![share.term(b, factors, sum[0])]
                    });
                    share.adjoint.add(b, [i, l, l], sum[0]);
                    Vec::new()
                });
                Vec::new()
            });
        }
        if let Some(share) = self.second {
            each(b, l, &[], |b, l, _| {
                each(b, j, &[], |b, j, _| {
                    each(b, i, &[], |b, i, _| {
                        let factors = [result, share.other].map(|place| self.wide(b, &place, [i, l, j]));
                        share.add(b, [i, l, j], factors);
                        Vec::new()
                    });
                    Vec::new()
                });
                Vec::new()
            });
        }
    }
}

impl Reverse {
    /// An element of a factor, in the type of the sums.
    pub fn wide(&self, b: &mut Builder, place: &Place, at: [ValueId; 3]) -> ValueId {
        let read = place.read(b, at);
        let read = b.cast(read, self.sums);
        if place.tf32 { b.unary(UnaryOp::Tf32, read) } else { read }
    }
}

impl Share {
    /// The sum with one more product.
    pub fn term(&self, b: &mut Builder, [x, y]: [ValueId; 2], sum: ValueId) -> ValueId {
        if self.fused {
            return b.one(Op::Fma(x, y, sum), b.ty(sum));
        }
        let product = b.binary(BinaryOp::Mul, x, y);
        b.binary(BinaryOp::Add, sum, product)
    }

    /// Adds a product to an element of the adjoint.
    pub fn add(&self, b: &mut Builder, at: [ValueId; 3], [x, y]: [ValueId; 2]) {
        if !self.fused {
            let product = b.binary(BinaryOp::Mul, x, y);
            return self.adjoint.add(b, at, product);
        }
        let old = self.adjoint.read(b, at);
        let value = self.term(b, [x, y], old);
        b.effect(Op::Store { access: self.adjoint.access(at), value });
    }
}

impl Place {
    fn access(&self, at: [ValueId; 3]) -> Access {
        Access::element(self.array, &self.at.map(|level| at[level]))
    }

    pub fn read(&self, b: &mut Builder, at: [ValueId; 3]) -> ValueId {
        b.one(Op::Load(self.access(at)), Type::Scalar(self.scalar))
    }

    pub fn add(&self, b: &mut Builder, at: [ValueId; 3], more: ValueId) {
        let more = b.cast(more, self.scalar);
        let old = self.read(b, at);
        let value = b.binary(BinaryOp::Add, old, more);
        b.effect(Op::Store { access: self.access(at), value });
    }
}

/// A loop as it was, with another body.
pub(in crate::passes) fn each(
    b: &mut Builder,
    level: Counted,
    init: &[ValueId],
    body: impl FnOnce(&mut Builder, ValueId, &[ValueId]) -> Vec<ValueId>,
) -> Values {
    let [start, end, step] = level.bounds.map(|bound| b.int(Scalar::I32, bound));
    let types: Vec<Type> = init.iter().map(|&value| b.ty(value)).collect();
    let block = b.new_block(&[I32]);
    types.iter().for_each(|&ty| _ = b.add_param(block, ty));
    let params = b.params(block).to_vec();
    let outside = b.switch_to(block);
    let next = body(b, params[0], &params[1..]);
    b.yield_(&next);
    b.switch_to(outside);
    let results = b.push(Op::For { start, end, step, init: Values::from_slice(init), body: block }, &types);
    Values::from_slice(&results)
}
