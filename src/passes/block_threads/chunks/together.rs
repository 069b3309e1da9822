//! Which elements of a thread are summed together? A sum that a loop takes for one element after the other is taken for all of them at once:
//! the loop goes around the elements, so that what several of them need is read once for each iteration, and is not kept for the next element.

use super::registers_by;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{Access, BlockId, Function, Inst, InstId, Op, ValueId, Values};
use crate::passes::copy::Copier;
use crate::passes::rebuild::replace_each;
use crate::types::{Element, I32, LocalArrayType, Scalar, Type};

/// Takes the sums of elements in registers together.
pub(super) fn sum(function: &mut Function) {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if let Some(sums) = Sums::of(function, inst) {
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

impl Sums {
    fn of(function: &Function, inst: &Inst) -> Option<Sums> {
        let Op::For { start, end, step, ref init, body: elements } = inst.op else { return None };
        let count = registers_by(function, [start, end, step], elements).filter(|_| init.is_empty())?;
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
        let sums: Vec<(ValueId, Scalar)> = self
            .first
            .iter()
            .zip(&self.results)
            .filter_map(|(&first, &result)| {
                let scalar = b.ty(first).as_scalar()?;
                let shape = [self.count, 1, 1, 1];
                let ty = LocalArrayType { element: Element::Scalar(scalar), shape, ndim: 1, block: false };
                let sums = b.one(Op::LocalArray, Type::Local(ty));
                b.function.values[sums].name = b.function.values[result].name.clone();
                if b.function.values[sums].name.is_none() {
                    b.name(sums, "sums");
                }
                Some((sums, scalar))
            })
            .collect();
        let zero = |b: &Builder, &v: &ValueId| {
            let is_zero = b.function.def(v).is_some_and(|inst| matches!(inst.op, Op::Zero));
            is_zero || b.function.as_const(v).is_some_and(|c| c.bits == 0)
        };
        // Arrays are made of zeros.
        if !self.first.iter().all(|first| zero(b, first)) {
            self.each(b, |copier, b, e| {
                for (&(sums, _), &first) in sums.iter().zip(&self.first) {
                    let value = copier.value(first);
                    b.effect(Op::Store { access: Access::element(sums, &[e]), value });
                }
            });
        }
        let params = b.params(self.body).to_vec();
        let bounds = self.bounds.map(|bound| match b.function.as_const(bound) {
            Some(c) => b.constant(c),
            None => bound,
        });
        let ty = b.ty(bounds[0]);
        let turn = b.new_block(&[ty]);
        let k = b.params(turn)[0];
        b.function.values[k].name = b.function.values[params[0]].name.clone();
        b.switch_to(turn);
        self.each(b, |copier, b, e| {
            copier.map(params[0], k);
            for (&(sums, scalar), &param) in sums.iter().zip(&params[1..]) {
                let sum = b.one(Op::Load(Access::element(sums, &[e])), Type::Scalar(scalar));
                copier.map(param, sum);
            }
            let Op::Yield(values) = copier.insts(b, self.body) else { return };
            for (&(sums, _), &value) in sums.iter().zip(&values) {
                b.effect(Op::Store { access: Access::element(sums, &[e]), value });
            }
        });
        b.yield_(&[]);
        b.switch_to(block);
        let [start, end, step] = bounds;
        b.effect(Op::For { start, end, step, init: Values::new(), body: turn });
        // What is left of the loop takes the sums from their arrays.
        let e = b.params(self.elements)[0];
        b.function.blocks[self.elements].insts.clear();
        b.switch_to(self.elements);
        self.before.iter().for_each(|&id| b.append(id));
        let read: Vec<ValueId> = sums
            .iter()
            .map(|&(sums, scalar)| b.one(Op::Load(Access::element(sums, &[e])), Type::Scalar(scalar)))
            .collect();
        for &id in &self.behind {
            b.function.insts[id].op.for_each_operand_mut(|v| {
                *v = self.results.iter().zip(&read).find(|&(result, _)| result == v).map_or(*v, |(_, &read)| read);
            });
            b.append(id);
        }
        b.switch_to(block);
        b.append(id);
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
