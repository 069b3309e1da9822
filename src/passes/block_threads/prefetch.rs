//! Which parts of arrays are asked for before they are needed? Those that each iteration of a loop
//! copies into tiles and then multiplies: they are copied into two sets of tiles in turn, so that
//! the part of the next iteration is on its way while the threads multiply this one's. It also
//! takes half the barriers: what says that all have read one set says that all of the other one has
//! come.

use super::accesses::{Kind, Memory, Touch, touches_with_blocks};
use super::distribute::Share;
use super::plan::leaves;
use super::rows;
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::properties::Io;
use crate::ir::{BinaryOp, BlockId, CompareOp, Function, InstId, Op, ValueId, Values};
use crate::passes::copy::Copier;
use crate::passes::rebuild::replace_each;
use crate::types::{Scalar, StructTable};

/// Who multiplies what is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    /// Instructions for matrices.
    Products,
    /// Threads, element by element.
    Chains,
}

/// Copies parts of arrays an iteration ahead, as long as all tiles fit into so many bytes.
pub(super) fn copy(
    function: &mut Function,
    structs: &StructTable,
    effects: &EffectTable,
    shares: &mut IdMap<InstId, Share>,
    what: Copied,
    most: u64,
) {
    let mut loops = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        if matches!(inst.op, Op::For { .. }) && !shares.contains_key(&id) {
            loops.push(id);
        }
    });
    for id in loops {
        let Some(found) = Copies::of(function, effects, shares, what, id) else { continue };
        let more: u64 = found.tiles.iter().map(|&tile| rows::bytes(function.ty(tile), structs)).sum();
        if rows::total(function, structs) + more <= most {
            let entry = function.entry;
            let second = found.tiles.iter().map(|&tile| (tile, another(function, entry, tile))).collect();
            let here = [(id, found)].into_iter().collect();
            replace_each(function, here, |b, id, found| found.ahead(b, shares, id, &second));
        }
    }
}

/// A tile like another one, at the beginning of the function.
fn another(function: &mut Function, entry: BlockId, tile: ValueId) -> ValueId {
    Builder::edit(function, entry, |b| {
        b.span = b.function.values[tile].span;
        let insts = std::mem::take(&mut b.function.blocks[entry].insts);
        let second = b.one(Op::SharedArray, b.ty(tile));
        if let Some(name) = b.function.values[tile].name.clone() {
            b.name(second, &name);
        }
        insts.into_iter().for_each(|id| b.append(id));
        second
    })
}

/// A loop, parted where the first product is.
struct Copies {
    /// What is computed from the counter for the copies.
    values: Vec<InstId>,
    /// What copies, or loads where the part is not inside of its array.
    copies: Vec<InstId>,
    tiles: Vec<ValueId>,
    rest: Vec<InstId>,
    step: i128,
}

impl Copies {
    fn of(
        function: &Function,
        effects: &EffectTable,
        shares: &IdMap<InstId, Share>,
        what: Copied,
        id: InstId,
    ) -> Option<Copies> {
        let inst = &function.insts[id];
        let Op::For { step, body, .. } = inst.op else { return None };
        let step = function.as_const(step)?.as_int().filter(|step| step.abs() == 1)?;
        let insts = &function.blocks[body].insts;
        let at = first_use(function, effects, insts)?;
        if matches!(function.insts[insts[at]].op, Op::Product(..)) != (what == Copied::Products) {
            return None;
        }
        let (before, rest) = insts.split_at(at);
        let is_value = |id: &InstId| function.insts[*id].op.properties().is_value();
        let (values, copies): (Vec<InstId>, Vec<InstId>) = before.iter().partition(|id| is_value(id));
        // What one iteration copies does not depend on what the one before has computed.
        let carried = &function.blocks[body].params[1..];
        let mut fixed = !leaves(function, inst, false);
        let mut is_copied = false;
        let mut look = |op: &Op| {
            let own = effects.properties(op);
            op.for_each_operand(|v| fixed &= !carried.contains(&v));
            fixed &= own.io == Io::None && !own.may_not_return && !own.synchronises;
            is_copied |= matches!(op, Op::Copy(..));
        };
        before.iter().for_each(|&id| each(function, id, &mut look));
        let touched = |insts: &[InstId]| -> Vec<Touch> {
            insts.iter().flat_map(|&id| touches_with_blocks(function, effects, id)).collect()
        };
        let (copying, using) = (touched(&copies), touched(rest));
        let mut tiles: Vec<ValueId> = Vec::new();
        for touch in &copying {
            match (&touch.memory, touch.kind) {
                (Memory::Global(_), Kind::Read) => {}
                (Memory::Block(tile), Kind::Write) if !tiles.contains(tile) => tiles.push(*tile),
                (Memory::Block(_), Kind::Write) => {}
                _ => return None,
            }
        }
        let harmless = |touch: &Touch| match &touch.memory {
            Memory::Global(_) => touch.kind == Kind::Read,
            Memory::Block(tile) => touch.kind == Kind::Read || !tiles.contains(tile),
            Memory::Thread(_) => true,
        };
        let alone = copies.iter().all(|&id| function.insts[id].results.is_empty() || shares.contains_key(&id));
        let own = tiles.iter().all(|&tile| is_of(function, tile, body));
        let fits = fixed && is_copied && alone && own && using.iter().all(harmless);
        fits.then(|| Copies { values, copies, tiles, rest: rest.to_vec(), step })
    }

    /// Appends what copies for the iteration of a counter, if that is one of the loop's.
    fn when(
        &self,
        b: &mut Builder,
        shares: &mut IdMap<InstId, Share>,
        (copier, condition): (&mut Copier<'_>, ValueId),
    ) {
        let (then, otherwise) = (b.new_block(&[]), b.new_block(&[]));
        let outside = b.switch_to(then);
        self.copies.iter().for_each(|&id| copied(b, copier, shares, id));
        b.yield_(&[]);
        b.switch_to(otherwise);
        b.yield_(&[]);
        b.switch_to(outside);
        b.effect(Op::If { condition, then, otherwise });
    }

    /// The loop does two iterations, the second one if there is one.
    fn ahead(self, b: &mut Builder, shares: &mut IdMap<InstId, Share>, id: InstId, second: &IdMap<ValueId, ValueId>) {
        let Op::For { start, end, init, body, .. } = b.function.insts[id].op.clone() else { return b.append(id) };
        let span = b.function.insts[id].span;
        b.span = span;
        let scalar = b.ty(start).as_scalar().unwrap_or(Scalar::I32);
        let less = if self.step > 0 { CompareOp::Lt } else { CompareOp::Gt };
        let params = b.params(body).to_vec();
        let (k, carried) = (params[0], &params[1..]);
        // The first part.
        let mut copier = Copier::within();
        copier.map(k, start);
        self.values.iter().for_each(|&id| copier.inst(b, id));
        let any = b.compare(less, start, end);
        self.when(b, shares, (&mut copier, any));
        let twice = b.int(scalar, 2 * self.step);
        let block = b.switch_to(body);
        b.function.blocks[body].insts.clear();
        self.values.iter().for_each(|&id| b.append(id));
        b.span = span;
        let mut next = |b: &mut Builder, k: ValueId, tiles: Option<&IdMap<ValueId, ValueId>>| {
            b.span = span;
            let step = b.int(scalar, self.step);
            let k = b.binary(BinaryOp::Add, k, step);
            let mut copier = Copier::within();
            copier.map(params[0], k);
            tiles.into_iter().flatten().for_each(|(&tile, &second)| copier.map(tile, second));
            self.values.iter().for_each(|&id| copier.inst(b, id));
            b.span = span;
            let more = b.compare(less, k, end);
            self.when(b, shares, (&mut copier, more));
            (k, more, copier)
        };
        let (after, more, mut copier) = next(b, k, Some(second));
        let Some((&last, rest)) = self.rest.split_last() else { return };
        rest.iter().for_each(|&id| b.append(id));
        let Op::Yield(first) = b.function.insts[last].op.clone() else { return };
        let (then, otherwise) = (b.new_block(&[]), b.new_block(&[]));
        b.switch_to(then);
        next(b, after, None);
        carried.iter().zip(&first).for_each(|(&param, &value)| copier.map(param, value));
        rest.iter().for_each(|&id| copied(b, &mut copier, shares, id));
        let values: Values = first.iter().map(|&value| copier.value(value)).collect();
        b.yield_(&values);
        b.switch_to(otherwise);
        b.yield_(&first);
        b.switch_to(body);
        b.span = span;
        let types: Vec<_> = first.iter().map(|&value| b.ty(value)).collect();
        let results = b.push(Op::If { condition: more, then, otherwise }, &types);
        b.yield_(&results);
        b.switch_to(block);
        b.function.insts[id].op = Op::For { start, end, step: twice, init, body };
        b.append(id);
    }
}

/// Where a list of instructions first reads a tile that it has copied a part of an array into.
fn first_use(function: &Function, effects: &EffectTable, insts: &[InstId]) -> Option<usize> {
    let mut copied: IdSet<ValueId> = IdSet::default();
    insts.iter().position(|&id| {
        let reads = |touch: &Touch| {
            touch.kind == Kind::Read && matches!(&touch.memory, Memory::Block(tile) if copied.contains(tile))
        };
        let found = touches_with_blocks(function, effects, id).iter().any(reads);
        each(function, id, &mut |op| {
            if let Op::Copy(_, operands) = op {
                copied.extend(operands.first());
            }
        });
        found
    })
}

/// An instruction and those in it.
fn each(function: &Function, id: InstId, look: &mut impl FnMut(&Op)) {
    let op = &function.insts[id].op;
    look(op);
    op.blocks().iter().for_each(|&block| function.walk(block, &mut |_, inst| look(&inst.op)));
}

/// Whether nothing outside of a block names a tile.
fn is_of(function: &Function, tile: ValueId, block: BlockId) -> bool {
    let count = |block: BlockId| {
        let mut uses = 0;
        function.walk(block, &mut |_, inst| inst.op.for_each_operand(|v| uses += usize::from(v == tile)));
        uses
    };
    count(function.entry) == count(block)
}

/// Appends a copy of an instruction, which the threads share as they share it.
fn copied(b: &mut Builder, copier: &mut Copier<'_>, shares: &mut IdMap<InstId, Share>, id: InstId) {
    fn shared(function: &Function, copier: &Copier<'_>, shares: &mut IdMap<InstId, Share>, [old, new]: [InstId; 2]) {
        if let Some(mut share) = shares.get(&old).cloned() {
            if let Share::Dealt(dealt) = &mut share {
                dealt.indices.iter_mut().for_each(|(index, _)| *index = copier.value(*index));
                dealt.start = dealt.start.map(|start| copier.value(start));
            }
            shares.insert(new, share);
        }
        let [old, new] = [old, new].map(|id| function.insts[id].op.blocks());
        for (&old, &new) in old.iter().zip(new.iter()) {
            let pairs = function.blocks[old].insts.iter().zip(&function.blocks[new].insts);
            pairs.for_each(|(&old, &new)| shared(function, copier, shares, [old, new]));
        }
    }
    copier.inst(b, id);
    if let Some(&new) = b.function.blocks[b.block()].insts.last() {
        shared(&b.function, copier, shares, [id, new]);
    }
}
