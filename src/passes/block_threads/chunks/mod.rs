//! Which tiles are in registers although a block may have any number of threads? One to which a
//! loop adds, each thread to its own elements. A thread has registers for a certain number of
//! elements, and where a block has too few threads it goes through its work again for the elements
//! that are left: from where the tile is cleared to where it is read for the last time.
//!
//! | file | question |
//! |---|---|
//! | `again` | may work be done more than once? |
//! | `factors` | which loops read for one element what others need, too? |
//! | `together` | which elements of a thread are summed together? |

mod again;
mod factors;
mod together;

pub(super) use self::factors::share;

use self::again::Work;
use super::accesses::{Memory, Sum, Touch, all_touches, touches};
use super::distribute::{Dealt, Share, unflatten};
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{Access, BinaryOp, BlockId, CompareOp, Function, Inst, InstId, Op, ValueId, Values};
use crate::passes::loops::trips;
use crate::passes::rebuild::replace_each;
use crate::types::{I32, LocalArrayType, Scalar, Type};

/// A block of so many threads goes through its work once, if that does not take too many registers.
const USUAL_THREADS: u64 = 256;

/// So many registers a thread has for elements of a tile at most.
const MOST_REGISTERS: u64 = 64;

/// So many rows or columns of a patch lie side by side, where it is made of so many: an access of
/// 16 bytes reads them. The next ones lie behind those of the other patches, so that threads side
/// by side read memory side by side.
const TOGETHER: u64 = 4;

/// A tile with fewer elements stays in memory: there is little to be saved.
const LEAST_ELEMENTS: u64 = 1024;

/// Keeps tiles in registers.
pub(super) fn keep(function: &mut Function, effects: &EffectTable, shares: &mut IdMap<InstId, Share>) {
    let mut tiles = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        tiles.extend(inst.results.first().filter(|_| matches!(inst.op, Op::SharedArray)));
    });
    for tile in tiles {
        if let Some(found) = Chunked::of(function, effects, shares, tile) {
            found.carry_out(function, shares);
        }
    }
    together::sum(function, &IdMap::default());
}

/// The instructions that become of a loop whose iterations are code of their own. Patches of
/// products have some 600; the loop around all of a factorisation goes through arrays, too, which
/// are not worth that they are registers.
const MOST_WRITTEN_OUT: u64 = 4096;

/// How often a loop runs that goes through an array of a thread's registers, which are known only
/// where each iteration is code of its own.
pub fn registers_by(function: &Function, [start, end, step]: [ValueId; 3], body: BlockId) -> Option<u32> {
    let count = trips(function, start, end, step).filter(|&count| function.by_block && count <= MOST_REGISTERS)?;
    let variable = *function.blocks[body].params.first()?;
    let is_array = |array: ValueId| {
        let (Some(Op::LocalArray), Type::Local(ty)) = (function.op(array), function.ty(array)) else { return false };
        ty.ndim == 1 && u64::from(ty.shape[0]) == count
    };
    let (mut found, mut size) = (false, 0);
    function.walk(body, &mut |_, inst| {
        found |= inst.op.access().is_some_and(|access| access.indices[..] == [variable] && is_array(access.array));
        size += 1;
    });
    (found && size * count <= MOST_WRITTEN_OUT).then_some(count as u32)
}

/// Whether a loop does nothing but go through an array of a thread's registers in each iteration,
/// as one that sums does.
pub fn goes_around_registers(function: &Function, body: BlockId) -> bool {
    let mut inside = 0;
    let plain = function.blocks[body].insts.iter().all(|&id| {
        if let &Op::For { start, end, step, body, .. } = &function.insts[id].op {
            inside += 1;
            registers_by(function, [start, end, step], body).is_some()
        } else {
            is_value_or_end(&function.insts[id].op)
        }
    });
    plain && inside == 1
}

/// A tile and what is done again.
struct Chunked {
    tile: ValueId,
    ty: LocalArrayType,
    /// Elements of a thread.
    count: u64,
    block: BlockId,
    /// What is in the block from the first to the last that touches the tile.
    region: Vec<InstId>,
    /// The loops over its elements.
    loops: Vec<InstId>,
    /// See [`Part::apart`].
    apart: bool,
    thread: ValueId,
    threads: ValueId,
}

impl Chunked {
    fn of(function: &Function, effects: &EffectTable, shares: &IdMap<InstId, Share>, tile: ValueId) -> Option<Chunked> {
        let Type::Local(ty) = function.ty(tile) else { return None };
        let count = count(ty)?;
        if ty.len() < LEAST_ELEMENTS || ty.len() > i32::MAX as u64 / 2 || is_named(function, tile) {
            return None;
        }
        let (block, region) = region(function, effects, shares, tile)?;
        let mut loops = Vec::new();
        over_elements(function, effects, shares, &region, tile, &mut loops)?;
        let adds = region.iter().any(|&id| {
            let mut inside = false;
            if !shares.contains_key(&id) && !matches!(function.insts[id].op, Op::If { .. }) {
                for &nested in function.insts[id].op.blocks().iter() {
                    function.walk(nested, &mut |id, _| inside |= loops.contains(&id));
                }
            }
            inside
        });
        let Op::For { start: thread, step: threads, .. } = function.insts[*loops.first()?].op else { return None };
        let work = Work { function, effects, shares, region: &region, loops: &loops };
        let mut ways = factors::Ways::default();
        for id in &loops {
            if let (Some(Share::Dealt(dealt)), Op::For { body, .. }) = (shares.get(id), &function.insts[*id].op) {
                ways.look(function, *body, dealt, Some(tile));
            }
        }
        (adds && work.may_be_repeated(tile)).then_some(Chunked {
            tile,
            ty,
            count,
            block,
            region,
            loops,
            apart: ways.go_down() && patch(ty, count).is_some(),
            thread,
            threads,
        })
    }

    fn carry_out(self, function: &mut Function, shares: &mut IdMap<InstId, Share>) {
        let Chunked { tile, ty, count, block, region, mut loops, apart, thread, threads } = self;
        let [mut insts, mut rest] = [std::mem::take(&mut function.blocks[block].insts), Vec::new()];
        if let Some(at) = insts.iter().position(|id| Some(id) == region.first()) {
            rest = insts.split_off(at);
        }
        let behind = rest.split_off(region.len());
        // What is the same each time is computed before. Registers are zero when they are made.
        let (before, mut inside) = again::parted(function, &region);
        if inside.first().is_some_and(|&first| loops.contains(&first) && only_clears(function, first)) {
            let clears = inside.remove(0);
            loops.retain(|&id| id != clears);
            shares.remove(&clears);
        }
        function.blocks[block].insts = insts;
        let mut b = Builder::take(function, block);
        b.span = b.function.values[tile].span;
        before.into_iter().for_each(|id| b.append(id));
        let (zero, end) = (b.int(Scalar::I32, 0), b.int(Scalar::I32, ty.len().into()));
        let own = b.int(Scalar::I32, count.into());
        let step = b.binary(BinaryOp::Mul, own, threads);
        let body = b.new_block(&[I32]);
        b.switch_to(body);
        let first = b.params(body)[0];
        let kept = LocalArrayType { shape: [count as u32, 1, 1, 1], ndim: 1, block: false, ..ty };
        let registers = b.one(Op::LocalArray, Type::Local(kept));
        b.function.values[registers].name = b.function.values[tile].name.clone();
        let own_first = b.binary(BinaryOp::Mul, thread, own);
        let mine = b.binary(BinaryOp::Add, first, own_first);
        b.name(mine, "element");
        inside.into_iter().for_each(|id| b.append(id));
        b.yield_(&[]);
        b.switch_to(block);
        b.effect(Op::For { start: zero, end, step, init: Values::new(), body });
        behind.into_iter().for_each(|id| b.append(id));
        *function = b.finish();
        let part = Part { ty, count, mine, registers: Some((tile, registers)), apart };
        let found = loops.into_iter().map(|id| (id, ())).collect();
        replace_each(function, found, |b, id, ()| {
            part.each(b, shares, id);
            b.append(id);
        });
    }
}

/// How many elements a thread has; a number that rows are made of, if there is one, so that they
/// can be a [`patch`].
fn count(ty: LocalArrayType) -> Option<u64> {
    let most = MOST_REGISTERS / u64::from(Type::from(ty.element).as_scalar()?.size().div_ceil(4));
    let wanted = ty.len().div_ceil(USUAL_THREADS).clamp(1, most);
    let row = u64::from(*ty.extents().last()?);
    (wanted..=most.min(2 * wanted)).find(|&count| row.is_multiple_of(count)).or(Some(wanted))
}

/// Rows and columns of the part of a tile that a thread has, if the tile is made of such parts:
/// about as many of one as of the other, so that a product needs few elements of its factors for
/// them. It follows from the tile's shape and the number alone: threads of two such loops have the
/// same elements ([`Dealt::run`]).
fn patch(ty: LocalArrayType, count: u64) -> Option<[u64; 2]> {
    let extents = ty.extents();
    let is_made_of =
        |at: usize, size: u64| extents.get(at).is_some_and(|&extent| u64::from(extent).is_multiple_of(size));
    let last = extents.len().checked_sub(1)?;
    if count.is_power_of_two() && last > 0 {
        let columns = 1 << count.ilog2().div_ceil(2);
        let rows = count / columns;
        if is_made_of(last, columns) && is_made_of(last - 1, rows) {
            return Some([rows, columns]);
        }
    }
    is_made_of(last, count).then_some([1, count])
}

/// Whether something else than an access names a tile.
fn is_named(function: &Function, tile: ValueId) -> bool {
    let accessed = |inst: &Inst| {
        if let Op::Load(access) | Op::Store { access, .. } = &inst.op { Some(access.array) } else { None }
    };
    let mut named = false;
    function.walk(function.entry, &mut |_, inst| {
        inst.op.for_each_operand(|v| named |= v == tile && accessed(inst) != Some(tile));
    });
    named
}

/// The block in which something touches the tile more than once, and what is there from the first
/// to the last.
fn region(
    function: &Function,
    effects: &EffectTable,
    shares: &IdMap<InstId, Share>,
    tile: ValueId,
) -> Option<(BlockId, Vec<InstId>)> {
    let mut block = function.entry;
    loop {
        let insts = &function.blocks[block].insts;
        let touching = |block: BlockId| {
            all_touches(function, effects, block).iter().any(|touch| touch.memory == Memory::Block(tile))
        };
        let inside = |id: &InstId| function.insts[*id].op.blocks().iter().any(|&nested| touching(nested));
        let (first, last) = (insts.iter().position(inside)?, insts.iter().rposition(inside)?);
        if first < last {
            return Some((block, insts[first..=last].to_vec()));
        }
        let blocks = function.insts[insts[first]].op.blocks();
        let mut nested = blocks.iter().copied().filter(|&nested| touching(nested));
        block = nested.next().filter(|_| nested.next().is_none() && !shares.contains_key(&insts[first]))?;
    }
}

/// Collects the loops in which the tile is touched, if each iteration touches the element of its
/// number.
fn over_elements(
    function: &Function,
    effects: &EffectTable,
    shares: &IdMap<InstId, Share>,
    insts: &[InstId],
    tile: ValueId,
    loops: &mut Vec<InstId>,
) -> Option<()> {
    let of_tile = |touch: &&Touch| touch.memory == Memory::Block(tile);
    for &id in insts {
        let op = &function.insts[id].op;
        let mut here = Vec::new();
        touches(function, effects, id, &mut here);
        if here.iter().any(|touch| of_tile(&touch)) {
            return None;
        }
        let Some(share) = shares.get(&id) else {
            for &block in op.blocks().iter() {
                over_elements(function, effects, shares, &function.blocks[block].insts, tile, loops)?;
            }
            continue;
        };
        op.blocks().iter().for_each(|&block| here.extend(all_touches(function, effects, block)));
        let mut own = here.iter().filter(of_tile).peekable();
        if own.peek().is_none() {
            continue;
        }
        let (Share::Dealt(dealt), &Op::For { body, .. }) = (share, op) else { return None };
        let mut together = false;
        function.walk(body, &mut |_, inst| together |= effects.properties(&inst.op).convergent);
        let is_own = |touch: &Touch| {
            let (Op::Load(access) | Op::Store { access, .. }) = &function.insts[touch.at].op else { return false };
            dealt.is_own(function, tile, access)
        };
        if together || !own.all(is_own) {
            return None;
        }
        loops.push(id);
    }
    Some(())
}

impl Dealt {
    /// Whether an access is to the element of a tile that has the number of the iteration.
    pub(in super::super) fn is_own(&self, function: &Function, tile: ValueId, access: &Access) -> bool {
        let Type::Local(ty) = function.ty(tile) else { return false };
        let whole = access.array == tile && access.path.is_empty() && self.start.is_none();
        let own = |((&at, &extent), &(index, count)): ((&ValueId, &u32), &(ValueId, Option<u64>))| {
            let alone = Sum { terms: [(index, 1)].into_iter().collect(), constant: 0 };
            count == Some(extent.into()) && Sum::of(function, at) == alone
        };
        whole
            && self.indices.len() == access.indices.len()
            && access.indices.iter().zip(ty.extents()).zip(&self.indices).all(own)
    }
}

fn is_value_or_end(op: &Op) -> bool {
    op.properties().is_value() || matches!(op, Op::Yield(_))
}

/// Whether a loop over elements does nothing but set them to zero.
fn only_clears(function: &Function, id: InstId) -> bool {
    let Op::For { body, .. } = function.insts[id].op else { return false };
    function.blocks[body].insts.iter().all(|&id| {
        if let Op::Store { value, .. } = &function.insts[id].op {
            let zero = function.as_const(*value).is_some_and(|c| c.bits == 0);
            zero || function.op(*value) == Some(&Op::Zero)
        } else {
            is_value_or_end(&function.insts[id].op)
        }
    })
}

/// The elements of a tile that one thread has at a time: a [`patch`], or those of a range.
struct Part {
    ty: LocalArrayType,
    count: u64,
    /// The number of the first one.
    mine: ValueId,
    /// The tile, and the registers that are in its place.
    registers: Option<(ValueId, ValueId)>,
    /// The columns of a patch lie as far apart as there are patches beside each other. Threads that
    /// go down the rows of a matrix, for those columns, then read rows side by side, which meet in
    /// no bank of memory where a row has an odd length. Four rows on, they would meet whatever its
    /// length is.
    apart: bool,
}

impl Part {
    /// Makes a loop that deals out elements one over those of this part alone.
    fn each(&self, b: &mut Builder, shares: &mut IdMap<InstId, Share>, id: InstId) {
        let (Op::For { end, body, .. }, Some(Share::Dealt(dealt))) =
            (b.function.insts[id].op.clone(), shares.get_mut(&id))
        else {
            return;
        };
        b.span = b.function.insts[id].span;
        dealt.run = self.count;
        dealt.apart = self.apart;
        let old = b.function.blocks[body].params[0];
        let insts = std::mem::take(&mut b.function.blocks[body].insts);
        let (then, otherwise, block) = (b.new_block(&[]), b.new_block(&[]), b.new_block(&[I32]));
        let k = b.params(block)[0];
        let outside = b.switch_to(otherwise);
        b.yield_(&[]);
        let mut same: IdMap<ValueId, ValueId> = IdMap::default();
        if let Some(patch) = patch(self.ty, self.count) {
            b.switch_to(then);
            same = self.patched(b, dealt, patch, block);
            // Nothing but the indices is computed from the number.
            same.entry(old).or_insert(self.mine);
            let around = self.range(b, block);
            b.switch_to(block);
            insts.into_iter().for_each(|id| b.append(id));
            b.switch_to(then);
            b.effect(around);
            b.yield_(&[]);
            b.switch_to(outside);
            let condition = b.compare(CompareOp::Lt, self.mine, end);
            b.function.insts[id].op = Op::If { condition, then, otherwise };
        } else {
            // `for k in range(count): if mine + k < end: ...`
            b.switch_to(then);
            insts.into_iter().for_each(|id| b.append(id));
            b.switch_to(block);
            let number = b.binary(BinaryOp::Add, self.mine, k);
            same.insert(old, number);
            let condition = b.compare(CompareOp::Lt, number, end);
            b.effect(Op::If { condition, then, otherwise });
            b.yield_(&[]);
            b.switch_to(outside);
            b.function.insts[id].op = self.range(b, block);
        }
        dealt.indices.iter_mut().for_each(|(index, _)| *index = same.get(index).copied().unwrap_or(*index));
        let mut inside = Vec::new();
        for &nested in b.function.insts[id].op.blocks().iter() {
            b.function.walk(nested, &mut |id, _| inside.push(id));
        }
        for id in inside {
            let op = &mut b.function.insts[id].op;
            op.for_each_operand_mut(|v| *v = same.get(v).copied().unwrap_or(*v));
            if let Op::Load(access) | Op::Store { access, .. } = op
                && let Some((tile, registers)) = self.registers
                && access.array == tile
            {
                *access = Access::element(registers, &[k]);
            }
        }
    }

    /// The indices of the elements of a patch, whose numbers `block` takes: all but the last two
    /// are the same for all of them. What is so reaches where the builder is.
    fn patched(
        &self,
        b: &mut Builder,
        dealt: &Dealt,
        [rows, columns]: [u64; 2],
        block: BlockId,
    ) -> IdMap<ValueId, ValueId> {
        let mut extents: Vec<u64> = self.ty.extents().iter().map(|&extent| extent.into()).collect();
        let last = extents.len() - 1;
        extents[last] /= columns;
        if rows > 1 {
            extents[last - 1] /= rows;
        }
        let count = b.int(Scalar::I32, self.count.into());
        let number = b.binary(BinaryOp::Div, self.mine, count);
        b.name(number, "patch");
        let mut index = unflatten(b, number, &extents);
        let (k, inside) = (b.params(block)[0], block);
        for (at, size, below) in [(last, columns, 1), (last.saturating_sub(1), rows, columns)] {
            if size == 1 {
                continue;
            }
            // Neighbours that stay together.
            let together = match size.is_multiple_of(TOGETHER) {
                _ if self.apart && at == last => 1,
                true => TOGETHER,
                false => size,
            };
            let whole = b.int(Scalar::I32, together.into());
            if together > 1 {
                index[at] = b.binary(BinaryOp::Mul, index[at], whole);
                b.name(index[at], if at == last { "patch_column" } else { "patch_row" });
            }
            let outside = b.switch_to(inside);
            let [below, size_of] = [below, size].map(|n| b.int(Scalar::I32, n.into()));
            let mut own = if at == last { k } else { b.binary(BinaryOp::Div, k, below) };
            if at == last {
                own = b.binary(BinaryOp::Rem, own, size_of);
            }
            if together < size {
                let group = b.binary(BinaryOp::Div, own, whole);
                let on = b.int(Scalar::I32, (extents[at] * together).into());
                let start = b.binary(BinaryOp::Mul, group, on);
                let within = b.binary(BinaryOp::Rem, own, whole);
                own = b.binary(BinaryOp::Add, start, within);
            }
            index[at] = b.binary(BinaryOp::Add, index[at], own);
            b.switch_to(outside);
        }
        dealt.indices.iter().map(|&(index, _)| index).zip(index).collect()
    }

    /// `for k in range(count): ...`
    fn range(&self, b: &mut Builder, body: BlockId) -> Op {
        let [start, end, step] = [0, self.count.into(), 1].map(|n| b.int(Scalar::I32, n));
        Op::For { start, end, step, init: Values::new(), body }
    }
}
