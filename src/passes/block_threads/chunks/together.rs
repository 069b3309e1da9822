//! Which elements of a thread are summed together? A sum that a loop takes for one element after
//! the other is taken for all of them at once: the loop goes around the elements, so that what
//! several of them need is read once for each iteration, and is not kept for the next element.

use super::registers_by;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{Access, BinaryOp, BlockId, Function, Inst, InstId, Op, ValueId, Values};
use crate::passes::block_threads::accesses::Sum;
use crate::passes::copy::Copier;
use crate::passes::loops::trips;
use crate::passes::rebuild::replace_each;
use crate::types::{Element, I32, LocalArrayType, Scalar, Type};

/// As many turns at once as an access has numbers of 4 bytes.
const TURNS_AT_ONCE: u64 = 4;

/// Takes the sums of elements in registers together, and those in the bodies of some other loops,
/// by the number of their elements.
pub(super) fn sum(function: &mut Function, others: &IdMap<BlockId, u32>) {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if let Some(sums) = Sums::of(function, inst, others) {
            found.insert(id, sums);
        }
    });
    replace_each(function, found, |b, id, sums| sums.together(b, id));
}

/// A loop over the elements of a thread, `for e in range(count): ...; sums = for k in ...; ...`.
struct Sums {
    count: u32,
    elements: BlockId,
    /// What each element needs for its sums and behind them.
    before: Vec<InstId>,
    /// Bounds of the loop that takes the sums; they are the same for all elements.
    bounds: [ValueId; 3],
    /// What the sums start with, what they are at the end, and where they are added to.
    first: Values,
    results: Vec<ValueId>,
    body: BlockId,
    /// What is done with the sums, and the end of the loop.
    behind: Vec<InstId>,
}

/// Turns of a loop from 0 on that are done so many at once.
struct Turns {
    /// From the last one on.
    down: bool,
    trips: u64,
    many: u64,
}

impl Turns {
    /// Those that are done at once.
    fn order(&self) -> Vec<i128> {
        let many = i128::from(self.many);
        if self.down { (0..many).rev().collect() } else { (0..many).collect() }
    }

    /// Start, end and step of the loop over what is done at once.
    fn bounds(&self) -> [i128; 3] {
        let count = i128::from(self.trips / self.many);
        if self.down { [count - 1, -1, -1] } else { [0, count, 1] }
    }
}

/// Where the sums of all elements of a thread are.
struct Place {
    array: ValueId,
    scalar: Scalar,
    /// It is the registers that the sums begin with and are put back to, and nothing else touches
    /// them meanwhile.
    own: bool,
}

impl Sums {
    fn of(function: &Function, inst: &Inst, others: &IdMap<BlockId, u32>) -> Option<Sums> {
        let Op::For { start, end, step, ref init, body: elements } = inst.op else { return None };
        let other = || others.get(&elements).copied();
        let count = registers_by(function, [start, end, step], elements).or_else(other).filter(|_| init.is_empty())?;
        let insts = &function.blocks[elements].insts;
        let at = insts.iter().position(|&id| matches!(function.insts[id].op, Op::For { .. }))?;
        let (before, behind) = (insts[..at].to_vec(), insts[at + 1..].to_vec());
        let Inst { op: Op::For { start, end, step, init, body }, results, .. } = &function.insts[insts[at]] else {
            return None;
        };
        let computes = |id: &InstId| {
            let op = &function.insts[*id].op;
            op.properties().is_value() || matches!(op, Op::Load(_))
        };
        let stores = |id: &InstId| computes(id) || matches!(function.insts[*id].op, Op::Store { .. } | Op::Yield(_));
        let (last, inside) = function.blocks[*body].insts.split_last()?;
        let plain = before.iter().chain(inside).all(computes)
            && behind.iter().all(stores)
            && matches!(function.insts[*last].op, Op::Yield(_));
        let is_same = |bound: &ValueId| {
            function.as_const(*bound).is_some()
                || !before.iter().any(|&id| function.insts[id].results.contains(bound))
                    && !function.blocks[elements].params.contains(bound)
        };
        let bounds = [*start, *end, *step];
        let are_numbers = init.iter().all(|&value| matches!(function.ty(value), Type::Scalar(_)));
        (plain && !init.is_empty() && are_numbers && bounds.iter().all(is_same)).then(|| Sums {
            count,
            elements,
            before,
            bounds,
            first: init.clone(),
            results: results.to_vec(),
            body: *body,
            behind,
        })
    }

    fn together(self, b: &mut Builder, id: InstId) {
        b.span = b.function.insts[id].span;
        let block = b.block();
        let sums: Vec<Place> =
            self.first.iter().zip(&self.results).filter_map(|(&first, &result)| self.place(b, first, result)).collect();
        let zero = |b: &Builder, &v: &ValueId| {
            let is_zero = b.function.def(v).is_some_and(|inst| matches!(inst.op, Op::Zero));
            is_zero || b.function.as_const(v).is_some_and(|c| c.bits == 0)
        };
        // Arrays are made of zeros.
        if !sums.iter().zip(&self.first).all(|(place, first)| place.own || zero(b, first)) {
            self.each(b, |copier, b, e| {
                for (place, &first) in sums.iter().zip(&self.first).filter(|(place, _)| !place.own) {
                    let value = copier.value(first);
                    b.effect(Op::Store { access: Access::element(place.array, &[e]), value });
                }
            });
        }
        let params = b.params(self.body).to_vec();
        let bounds = self.bounds.map(|bound| match b.function.as_const(bound) {
            Some(c) => b.constant(c),
            None => bound,
        });
        let at_once = self.turns_at_once(&b.function);
        let ty = b.ty(bounds[0]);
        let turn = b.new_block(&[ty]);
        let k = b.params(turn)[0];
        b.function.values[k].name = b.function.values[params[0]].name.clone();
        b.switch_to(turn);
        let each_turn: Vec<ValueId> = match &at_once {
            None => vec![k],
            Some(turns) => {
                let many = b.int(Scalar::I32, i128::from(turns.many));
                let first = b.binary(BinaryOp::Mul, k, many);
                let after = |b: &mut Builder, n: i128| {
                    let n = b.int(Scalar::I32, n);
                    b.binary(BinaryOp::Add, first, n)
                };
                turns.order().into_iter().map(|n| after(b, n)).collect()
            }
        };
        for k in each_turn {
            self.each(b, |copier, b, e| {
                copier.map(params[0], k);
                for (place, &param) in sums.iter().zip(&params[1..]) {
                    let sum = place.read(b, e);
                    copier.map(param, sum);
                }
                let Op::Yield(values) = copier.insts(b, self.body) else { return };
                for (place, &value) in sums.iter().zip(&values) {
                    b.effect(Op::Store { access: Access::element(place.array, &[e]), value });
                }
            });
        }
        b.yield_(&[]);
        b.switch_to(block);
        let [start, end, step] = match at_once {
            None => bounds,
            Some(turns) => turns.bounds().map(|bound| b.int(Scalar::I32, bound)),
        };
        b.effect(Op::For { start, end, step, init: Values::new(), body: turn });
        // What is left of the loop takes the sums from their arrays; those that are where they
        // belong are not put there.
        let is_put = |b: &Builder, id: InstId| {
            let Op::Store { access, .. } = &b.function.insts[id].op else { return false };
            sums.iter().any(|place| place.own && place.array == access.array)
        };
        let behind: Vec<InstId> = self.behind.iter().copied().filter(|&id| !is_put(b, id)).collect();
        if !behind.iter().any(|&id| matches!(b.function.insts[id].op, Op::Store { .. })) {
            return;
        }
        let e = b.params(self.elements)[0];
        b.function.blocks[self.elements].insts.clear();
        b.switch_to(self.elements);
        self.before.iter().for_each(|&id| b.append(id));
        let read: Vec<ValueId> = sums.iter().map(|place| place.read(b, e)).collect();
        for id in behind {
            b.function.insts[id].op.for_each_operand_mut(|v| {
                *v = self.results.iter().zip(&read).find(|&(result, _)| result == v).map_or(*v, |(_, &read)| read);
            });
            b.append(id);
        }
        b.switch_to(block);
        b.append(id);
    }

    /// Turns to do at once: where each turn reads what lies beside that of the turn before in all
    /// factors, so that four numbers are one access.
    fn turns_at_once(&self, function: &Function) -> Option<Turns> {
        let int = |v: ValueId| function.as_const(v)?.as_int();
        let [start, end, step] = self.bounds;
        let (trips, down) = (trips(function, start, end, step)?, int(step)? == -1);
        let least = if down { int(end)? + 1 } else { int(start)? };
        let k = *function.blocks[self.body].params.first()?;
        let (mut along, mut loads) = (0, 0);
        for &id in &function.blocks[self.body].insts {
            if let Op::Load(access) = &function.insts[id].op {
                let last = access.indices.last().map(|&at| Sum::of(function, at));
                loads += 1;
                along += u32::from(last.is_some_and(|sum| sum.terms.get(&k) == Some(&1)));
            }
        }
        let many = TURNS_AT_ONCE;
        let fits = least == 0 && int(step)?.abs() == 1 && trips > many && trips.is_multiple_of(many);
        (fits && along > 1 && along == loads && function.ty(k) == I32).then_some(Turns { down, trips, many })
    }

    /// Where a sum is taken; `first` is what it begins with.
    fn place(&self, b: &mut Builder, first: ValueId, result: ValueId) -> Option<Place> {
        let scalar = b.ty(first).as_scalar()?;
        if let Some(array) = self.registers_of(&b.function, first, result) {
            return Some(Place { array, scalar, own: true });
        }
        let shape = [self.count, 1, 1, 1];
        let ty = LocalArrayType { element: Element::Scalar(scalar), shape, ndim: 1, block: false };
        let array = b.one(Op::LocalArray, Type::Local(ty));
        b.function.values[array].name = b.function.values[result].name.clone();
        if b.function.values[array].name.is_none() {
            b.name(array, "sums");
        }
        Some(Place { array, scalar, own: false })
    }

    /// The registers that a sum begins with and is put back to, if nothing else in the loop touches
    /// them: the sum can be taken there.
    fn registers_of(&self, function: &Function, first: ValueId, result: ValueId) -> Option<ValueId> {
        let e = *function.blocks[self.elements].params.first()?;
        let loads = function.op(first);
        let Some(Op::Load(from)) = loads.filter(|op| op.access().is_some_and(|access| access.indices[..] == [e]))
        else {
            return None;
        };
        let is_array = matches!(function.op(from.array), Some(Op::LocalArray));
        let (mut touches, mut uses, mut puts) = (0, 0, false);
        function.walk(self.elements, &mut |_, inst| {
            inst.op.for_each_operand(|v| {
                touches += usize::from(v == from.array);
                uses += usize::from(v == first);
            });
            puts |= matches!(&inst.op, Op::Store { access, value } if access == from && *value == result);
        });
        // What it began with is gone then.
        (is_array && puts && touches == 2 && uses == 1).then_some(from.array)
    }

    /// `for e in range(count): ...`, with what each element needs copied.
    fn each(&self, b: &mut Builder, body: impl FnOnce(&mut Copier, &mut Builder, ValueId)) {
        let block = b.new_block(&[I32]);
        let (outside, e) = (b.switch_to(block), b.params(block)[0]);
        let mut copier = Copier::within();
        copier.map(b.params(self.elements)[0], e);
        self.before.iter().for_each(|&id| copier.inst(b, id));
        body(&mut copier, b, e);
        b.yield_(&[]);
        b.switch_to(outside);
        let [start, end, step] = [0, self.count.into(), 1].map(|n| b.int(Scalar::I32, n));
        b.effect(Op::For { start, end, step, init: Values::new(), body: block });
    }
}

impl Place {
    fn read(&self, b: &mut Builder, e: ValueId) -> ValueId {
        b.one(Op::Load(Access::element(self.array, &[e])), Type::Scalar(self.scalar))
    }
}
