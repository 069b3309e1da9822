//! Which loops over elements read for one element what others need, too? Those of products,
//! `c[i, j] = sum(a[i, k] * b[k, j])`: a thread that has a part of some rows and columns reads each
//! number of the factors once for a row or a column of it.

use super::{LEAST_ELEMENTS, Part, count, patch, together};
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{BinaryOp, BlockId, Function, InstId, Op, ValueId, Values};
use crate::passes::block_threads::accesses::Sum;
use crate::passes::block_threads::distribute::{Dealt, Share};
use crate::passes::rebuild::replace_each;
use crate::types::{Element, I32, LocalArrayType, Scalar, Type};

/// Gives each thread parts of several elements in such loops, and takes their sums together. What
/// tiles there are, and which are in the same memory, is known before: a loop does not tell any
/// more that it sets all of a tile.
pub(in super::super) fn share(function: &mut Function, shares: &mut IdMap<InstId, Share>) {
    let mut found = IdMap::default();
    for (&id, share) in &*shares {
        if let Share::Dealt(dealt) = share
            && let Some(product) = Product::of(function, id, dealt)
        {
            found.insert(id, product);
        }
    }
    let mut sums = IdMap::default();
    replace_each(function, found, |b, id, product| {
        if let Some(Share::Dealt(dealt)) = shares.get_mut(&id) {
            sums.extend(product.parted(b, dealt, id));
        }
        b.append(id);
    });
    together::sum(function, &sums);
}

/// A loop over elements that takes a sum for each of them, of numbers that do not depend on all of
/// its indices.
struct Product {
    /// The elements: a tile's, or as many.
    ty: LocalArrayType,
    /// Elements that are set before their sums are taken, and again with these.
    cleared: Vec<InstId>,
    /// See [`Part::apart`].
    apart: bool,
}

impl Product {
    fn of(function: &Function, id: InstId, dealt: &Dealt) -> Option<Product> {
        let Op::For { end, ref init, body, .. } = function.insts[id].op else { return None };
        if dealt.run != 1 || dealt.start.is_some() || dealt.indices.len() < 2 || !init.is_empty() {
            return None;
        }
        let insts = &function.blocks[body].insts;
        let at = insts.iter().position(|&id| !function.insts[id].op.blocks().is_empty())?;
        let Op::For { init, body: turn, .. } = &function.insts[insts[at]].op else { return None };
        let &[Type::Scalar(sum)] = &init.iter().map(|&value| function.ty(value)).collect::<Vec<_>>()[..] else {
            return None;
        };
        let ndim = u8::try_from(dealt.indices.len()).ok().filter(|&ndim| ndim <= 4)?;
        let mut ty = LocalArrayType { element: Element::Scalar(sum), shape: [1; 4], ndim, block: false };
        for (extent, (_, count)) in ty.shape.iter_mut().zip(&dealt.indices) {
            *extent = u32::try_from((*count)?).ok()?;
        }
        let is_all = function.as_const(end)?.as_int() == Some(ty.len().into()) && ty.len() <= i32::MAX as u64 / 2;
        if !is_all || ty.len() < LEAST_ELEMENTS || !has_factors(function, body, *turn, dealt) {
            return None;
        }
        let computes = |id: &InstId| {
            let op = &function.insts[*id].op;
            op.properties().is_value() || matches!(op, Op::Load(_) | Op::Store { .. } | Op::Yield(_))
        };
        if !insts[..at].iter().chain(&insts[at + 1..]).all(computes) {
            return None;
        }
        let mut cleared = Vec::new();
        for &id in &insts[..at] {
            let Op::Store { access, .. } = &function.insts[id].op else { continue };
            let is_set =
                |id: &InstId| matches!(&function.insts[*id].op, Op::Store { access: later, .. } if later == access);
            // Arrays of the caller's may be the same by other names.
            let is_tile = matches!(function.ty(access.array), Type::Local(ty) if ty.block);
            let mut is_read = !is_tile;
            function.walk(body, &mut |_, inst| {
                is_read |= matches!(&inst.op, Op::Load(from) if from.array == access.array);
            });
            if is_read || !insts[at..].iter().any(is_set) {
                return None;
            }
            cleared.push(id);
        }
        let mut ways = Ways::default();
        ways.look(function, body, dealt, None);
        Some(Product { ty, cleared, apart: ways.go_down() })
    }

    /// Makes of the loop one over parts, from `thread * count` to `elements` by `threads * count`,
    /// with `for k in range(count)` in it. Gives the body of the inner loop, and `count`.
    fn parted(&self, b: &mut Builder, dealt: &mut Dealt, id: InstId) -> Option<(BlockId, u32)> {
        let Op::For { start: thread, end, step: threads, body: each, .. } = b.function.insts[id].op else {
            return None;
        };
        let own = count(self.ty)?;
        let patch = patch(self.ty, own)?;
        b.span = b.function.insts[id].span;
        let (body, elements) = (b.new_block(&[I32]), b.new_block(&[I32]));
        let mine = b.params(body)[0];
        b.name(mine, "element");
        let part = Part { ty: self.ty, count: own, mine, registers: None, apart: self.apart };
        let outside = b.switch_to(body);
        let mut same = part.patched(b, dealt, patch, elements);
        let around = part.range(b, elements);
        b.effect(around);
        b.yield_(&[]);
        b.switch_to(elements);
        let insts = std::mem::take(&mut b.function.blocks[each].insts);
        insts.into_iter().filter(|id| !self.cleared.contains(id)).for_each(|id| b.append(id));
        b.switch_to(outside);
        // Nothing but the indices is computed from the number.
        same.insert(b.function.blocks[each].params[0], mine);
        let mut inside = Vec::new();
        b.function.walk(elements, &mut |id, _| inside.push(id));
        for id in inside {
            b.function.insts[id].op.for_each_operand_mut(|v| *v = same.get(v).copied().unwrap_or(*v));
        }
        dealt.indices.iter_mut().for_each(|(index, _)| *index = same.get(index).copied().unwrap_or(*index));
        dealt.run = own;
        dealt.apart = self.apart;
        let number = b.int(Scalar::I32, own.into());
        let [start, step] = [thread, threads].map(|v| b.binary(BinaryOp::Mul, v, number));
        b.function.insts[id].op = Op::For { start, end, step, init: Values::new(), body };
        Some((elements, u32::try_from(own).ok()?))
    }
}

/// Which ways threads side by side go through the matrices that they read.
#[derive(Default)]
pub(super) struct Ways {
    down: bool,
    along: bool,
}

impl Ways {
    /// Looks at a loop over elements; not at what it reads of `except`.
    pub fn look(&mut self, function: &Function, body: BlockId, dealt: &Dealt, except: Option<ValueId>) {
        let Some(&(index, _)) = dealt.indices.last() else { return };
        function.walk(body, &mut |_, inst| {
            let Op::Load(access) = &inst.op else { return };
            let has = |at: &ValueId| Sum::of(function, *at).terms.contains_key(&index);
            let is_tile = matches!(function.ty(access.array), Type::Local(ty) if ty.block);
            if is_tile
                && except != Some(access.array)
                && let Some((column, rows)) = access.indices.split_last()
            {
                self.along |= has(column);
                self.down |= !has(column) && rows.iter().any(has);
            }
        });
    }

    /// Down rows alone: where they go along, too, neighbours are better read by one access.
    pub fn go_down(&self) -> bool {
        self.down && !self.along
    }
}

/// Whether a sum reads at least two elements of tiles in each turn, none of which depends on all
/// indices.
fn has_factors(function: &Function, body: BlockId, turn: BlockId, dealt: &Dealt) -> bool {
    let changes = function.defined_in(body);
    let is_index = |v: &ValueId| dealt.indices.iter().any(|(index, _)| index == v);
    let is_known = |v: &ValueId| is_index(v) || !changes.contains(v) || function.blocks[turn].params[0] == *v;
    let mut loads = 0;
    for &id in &function.blocks[turn].insts {
        let op = &function.insts[id].op;
        let Op::Load(access) = op else {
            if op.properties().is_value() || matches!(op, Op::Yield(_)) {
                continue;
            }
            return false;
        };
        let terms: IdSet<ValueId> =
            access.indices.iter().flat_map(|&at| Sum::of(function, at).terms.into_keys()).collect();
        let is_tile = matches!(function.ty(access.array), Type::Local(ty) if ty.block);
        let is_shared = terms.iter().filter(|v| is_index(v)).count() < dealt.indices.len();
        if !is_tile || !is_shared || !terms.iter().all(is_known) {
            return false;
        }
        loads += 1;
    }
    loads > 1
}
