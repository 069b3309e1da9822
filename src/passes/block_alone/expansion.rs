//! What is the same for many elements goes to those that lie side by side first.
//!
//! ```text
//! for n in range(32):                          for n in range(32): values[n] = sums[n]
//!     value = sums[n]                          for row in range(rows):
//!     for row in range(rows):          =>          for n in range(32):
//!         t[row * 32 + n] += value                     t[row * 32 + n] += values[n]
//! ```
//!
//! So are the chains of a sum reversed ([`chains`](super::chains)). Each element is touched in one
//! iteration alone, so that their order does not matter.

use super::{counts_all, dependent};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{Access, BlockId, Function, Inst, InstId, Op, ValueId, Values};
use crate::passes::block_threads::accesses::{Kind, Memory, Sum, all_touches, touches};
use crate::passes::block_threads::plan::leaves;
use crate::passes::copy::Copier;
use crate::passes::loops::{counter, trips};
use crate::passes::rebuild::replace_each;
use crate::types::{Element, I32, LocalArrayType, Scalar, Type};

/// Fewer elements are no vector.
const ELEMENTS: std::ops::RangeInclusive<u64> = 8..=4096;

/// A loop over what is spread, with one over where it goes in it.
struct Spread {
    count: u64,
    variable: ValueId,
    body: BlockId,
    /// What is computed first: copied to where it is used, or kept for that.
    copied: Vec<InstId>,
    kept: Vec<(ValueId, Element)>,
    inner: InstId,
}

pub(super) fn run(function: &mut Function, effects: &EffectTable) {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if let Some(spread) = spread(function, effects, inst) {
            found.insert(id, spread);
        }
    });
    replace_each(function, found, |b, id, spread| spread.emit(b, id));
}

fn spread(function: &Function, effects: &EffectTable, inst: &Inst) -> Option<Spread> {
    let Op::For { start, end, step, ref init, body } = inst.op else { return None };
    let count = trips(function, start, end, step).filter(|count| ELEMENTS.contains(count))?;
    let whole = counts_all(function, start, step, count);
    let variable = *function.blocks[body].params.first()?;
    let [before @ .., last, _] = &function.blocks[body].insts[..] else { return None };
    let Op::For { start, end, step, init: ref carried, body: row } = function.insts[*last].op else { return None };
    let row_variable = *function.blocks[row].params.first()?;
    let types = function.ty(variable) == I32 && function.ty(row_variable) == I32;
    let inside = function.defined_in(body);
    let outside = |v: ValueId| function.as_const(v).is_some() || !inside.contains(&v);
    if !whole || !init.is_empty() || !carried.is_empty() || !types || leaves(function, inst, false) {
        return None;
    }
    let plain = |id: &InstId| {
        let op = &function.insts[*id].op;
        matches!(op, Op::Load(_) | Op::Store { .. } | Op::Yield(_))
            || op.blocks().is_empty() && effects.properties(op).is_value()
    };
    if ![start, end, step].into_iter().all(outside) || !before.iter().chain(&function.blocks[row].insts).all(plain) {
        return None;
    }
    // What is written is in tiles, and what one of the two loops writes the other one does not
    // touch.
    let mut first = Vec::new();
    before.iter().for_each(|&id| touches(function, effects, id, &mut first));
    let second = all_touches(function, effects, row);
    let in_tiles = first
        .iter()
        .chain(&second)
        .all(|touch| touch.kind == Kind::Read || touch.kind == Kind::Write && matches!(touch.memory, Memory::Block(_)));
    let apart = first
        .iter()
        .all(|a| second.iter().all(|b| a.memory != b.memory || a.kind == Kind::Read && b.kind == Kind::Read));
    // Each element that is written is of one iteration: `row * many + n`.
    let ends = trips(function, start, end, step)
        .and_then(|rows| Some((counter(function, start, step, 0)?, counter(function, start, step, rows.max(1) - 1)?)));
    let from_start = ends.is_some_and(|(first, last)| first >= 0 && last >= 0);
    let (by_row, by_element) = (dependent(function, row, row_variable), dependent(function, body, variable));
    let own = |access: &Access| {
        let Some((last, above)) = access.indices.split_last() else { return false };
        let sum = Sum::of(function, *last);
        let times = |v: ValueId| sum.terms.get(&v).copied().unwrap_or(0);
        let free =
            |v: &ValueId| !by_row.contains(v) && !by_element.contains(v) && ![variable, row_variable].contains(v);
        // No index counts from the end: then two iterations might mean one element.
        times(variable) == 1
            && times(row_variable) >= i128::from(count)
            && sum.terms.len() == 2
            && sum.constant >= 0
            && from_start
            && above.iter().all(free)
            && access.path.is_empty()
    };
    let mut some = false;
    let one_each = second.iter().filter(|touch| touch.kind == Kind::Write).all(|write| {
        some = true;
        let at = |id: InstId| function.insts[id].op.access();
        let Some(access) = at(write.at).filter(|access| own(access)) else { return false };
        second.iter().filter(|touch| touch.memory == write.memory).all(|touch| at(touch.at) == Some(access))
    });
    if !in_tiles || !apart || !one_each || !some {
        return None;
    }
    // What comes of the number of the element alone is computed again; all else is kept, if the
    // inner loop uses it.
    let mut again: IdSet<ValueId> = IdSet::default();
    let (mut copied, mut kept) = (Vec::new(), Vec::new());
    let mut used: IdSet<ValueId> = IdSet::default();
    function.walk(row, &mut |_, inst| inst.op.for_each_operand(|v| _ = used.insert(v)));
    for &id in before {
        let inst = &function.insts[id];
        let mut pure = effects.properties(&inst.op).is_value();
        inst.op.for_each_operand(|v| pure &= v == variable || again.contains(&v) || !inside.contains(&v));
        if pure {
            again.extend(inst.results.iter().copied());
            copied.push(id);
            continue;
        }
        for &value in inst.results.iter().filter(|value| used.contains(value)) {
            kept.push((value, function.ty(value).element()?));
        }
    }
    Some(Spread { count, variable, body, copied, kept, inner: *last })
}

impl Spread {
    fn emit(self, b: &mut Builder, id: InstId) {
        b.span = b.function.insts[id].span;
        let block = b.block();
        let Op::For { start, end, step, body: row, .. } = b.function.insts[self.inner].op.clone() else {
            return b.append(id);
        };
        let arrays: Vec<ValueId> = self
            .kept
            .iter()
            .map(|&(_, element)| {
                let shape = [self.count as u32, 1, 1, 1];
                b.one(Op::SharedArray, Type::Local(LocalArrayType { element, shape, ndim: 1, block: true }))
            })
            .collect();
        let mut insts = std::mem::take(&mut b.function.blocks[self.body].insts);
        let last = insts.pop();
        b.switch_to(self.body);
        insts.iter().filter(|&&id| id != self.inner).for_each(|&id| b.append(id));
        for (&array, &(value, _)) in arrays.iter().zip(&self.kept) {
            b.effect(Op::Store { access: Access::element(array, &[self.variable]), value });
        }
        last.into_iter().for_each(|id| b.append(id));
        b.switch_to(block);
        b.append(id);
        let [start, end, step] = [start, end, step].map(|bound| match b.function.as_const(bound) {
            Some(known) => b.constant(known),
            None => bound,
        });
        let (rows, elements) = (b.new_block(&[I32]), b.new_block(&[I32]));
        b.switch_to(elements);
        let mut copier = Copier::within();
        let n = b.params(elements)[0];
        copier.map(self.variable, n);
        copier.map(b.params(row)[0], b.params(rows)[0]);
        self.copied.iter().for_each(|&id| copier.inst(b, id));
        for (&array, &(value, element)) in arrays.iter().zip(&self.kept) {
            let read = b.one(Op::Load(Access::element(array, &[n])), element.into());
            copier.map(value, read);
        }
        copier.insts(b, row);
        b.yield_(&[]);
        b.switch_to(rows);
        let [first, many, one] = [0, self.count.into(), 1].map(|n| b.int(Scalar::I32, n));
        b.effect(Op::For { start: first, end: many, step: one, init: Values::new(), body: elements });
        b.yield_(&[]);
        b.switch_to(block);
        b.effect(Op::For { start, end, step, init: Values::new(), body: rows });
    }
}
