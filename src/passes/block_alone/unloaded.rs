//! Which tiles need no memory, because the array that they come from has it?
//!
//! ```text
//! if inside:                                   if not inside:
//!     for n in range(64): t[n] = x[n]              ...
//! else: ...                                    if inside: for n in range(64): s[n % 8] += x[n]
//! for n in range(64): s[n % 8] += t[n]    =>   else: for n in range(64): s[n % 8] += t[n]
//! ```
//!
//! That is done where nothing is written to arrays before the last element is read, and each index
//! is known to be one of the tile.

use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Access, BlockId, Function, InstId, Op, ValueId};
use crate::passes::block_threads::accesses::{Kind, Memory, Sum, Touch, all_touches, memory, touches};
use crate::passes::copy::Copier;
use crate::passes::loops::{counter, trips};
use crate::passes::rebuild::Rebuild;
use crate::types::Type;

/// Readers of one tile at most, and all instructions in them: they are there twice afterwards.
const READERS: usize = 3;
const INSTS: usize = 120;

/// Tiles that are looked at again.
const TILES: usize = 16;

/// A tile whose elements need not be kept.
struct Tile {
    /// Where the branch is that fills it, and its condition.
    block: BlockId,
    inside: ValueId,
    /// The block that copies an array, and the loop over elements in it: variable and body.
    then: BlockId,
    variable: ValueId,
    body: BlockId,
    array: ValueId,
    readers: Vec<InstId>,
}

pub(super) fn run(function: &mut Function, effects: &EffectTable) {
    for _ in 0..TILES {
        let Some(tile) = find(function, effects) else { return };
        let mut rebuild = Rebuild::start(function);
        read_from_array(&mut rebuild, &tile);
        rebuild.finish(function);
    }
}

/// The least and the greatest value of the counters of loops between constants.
fn counters(function: &Function) -> IdMap<ValueId, (i128, i128)> {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |_, inst| {
        let Op::For { start, end, step, body, .. } = inst.op else { return };
        let Some(count) = trips(function, start, end, step).filter(|&count| count > 0) else { return };
        let ends = [0, count - 1].map(|n| counter(function, start, step, n));
        if let (&[variable, ..], [Some(first), Some(last)]) = (&function.blocks[body].params[..], ends) {
            found.insert(variable, (first.min(last), first.max(last)));
        }
    });
    found
}

fn find(function: &Function, effects: &EffectTable) -> Option<Tile> {
    let counters = counters(function);
    let mut blocks = vec![function.entry];
    function.walk(function.entry, &mut |_, inst| blocks.extend(inst.op.blocks().iter().copied()));
    blocks.into_iter().find_map(|block| {
        let insts = &function.blocks[block].insts;
        (0..insts.len()).find_map(|at| tile(function, effects, &counters, block, at))
    })
}

/// The tile that the instruction at a place fills from an array, if its readers can read that.
fn tile(
    function: &Function,
    effects: &EffectTable,
    counters: &IdMap<ValueId, (i128, i128)>,
    block: BlockId,
    at: usize,
) -> Option<Tile> {
    let insts = &function.blocks[block].insts;
    let fill = insts[at];
    let Op::If { condition: inside, then, otherwise } = function.insts[fill].op else { return None };
    // One loop, which does nothing but to copy.
    let mut loops = function.blocks[then].insts.iter().filter(|&&id| !matches!(function.insts[id].op, Op::Const(_)));
    let (&around, &last, None) = (loops.next()?, loops.next()?, loops.next()) else { return None };
    let Op::For { start, end, step, ref init, body } = function.insts[around].op else { return None };
    let variable = *function.blocks[body].params.first()?;
    let count = i128::from(trips(function, start, end, step)?);
    let by_one = counters.get(&variable) == Some(&(0, count - 1));
    let ascending = counter(function, start, step, 1) == Some(1);
    let [index @ .., load, store, _] = &function.blocks[body].insts[..] else { return None };
    let (Op::Load(from), Op::Store { access, value }) = (&function.insts[*load].op, &function.insts[*store].op) else {
        return None;
    };
    let plain = index.iter().all(|&id| {
        let op = &function.insts[id].op;
        op.blocks().is_empty() && effects.properties(op).is_value()
    });
    let copies = function.insts[*load].results[..] == [*value] && access.indices[..] == [variable];
    let array = access.array;
    let whole = matches!(memory(function, array), Memory::Block(tile) if tile == array)
        && matches!(memory(function, from.array), Memory::Global(_))
        && access.path.is_empty()
        && from.path.is_empty();
    let no_more = init.is_empty()
        && function.insts[fill].results.is_empty()
        && function.insts[last].op.is_terminator()
        && matches!(function.ty(array), Type::Local(ty) if *ty.extents() == [count as u32]);
    if !(no_more && by_one && ascending && plain && copies && whole) {
        return None;
    }
    // All other uses are loads in what follows.
    let filling: IdSet<InstId> = [then, otherwise]
        .into_iter()
        .flat_map(|block| all_touches(function, effects, block))
        .filter(|touch| touch.array == array && touch.kind == Kind::Write)
        .map(|touch| touch.at)
        .collect();
    let mut uses: IdMap<InstId, bool> = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        let mut used = false;
        inst.op.for_each_operand(|v| used |= v == array);
        if used && !filling.contains(&id) {
            let fits = matches!(&inst.op, Op::Load(access) if reads_inside(function, counters, access, count));
            uses.insert(id, fits);
        }
    });
    let all = uses.len();
    if all == 0 || uses.values().any(|fits| !fits) {
        return None;
    }
    let (mut readers, mut known, mut size) = (Vec::new(), 0, 0);
    for &id in &insts[at + 1..] {
        let inst = &function.insts[id];
        let mut within: Vec<Touch> = Vec::new();
        let (mut own, mut effect, mut insts) = (0, false, 0);
        let mut look = |id: InstId, inst: &crate::ir::Inst| {
            touches(function, effects, id, &mut within);
            own += usize::from(uses.contains_key(&id));
            effect |= matches!(inst.op, Op::Call(..)) && effects.properties(&inst.op).has_side_effect();
            insts += 1;
        };
        look(id, inst);
        inst.op.blocks().iter().for_each(|&nested| function.walk(nested, &mut look));
        if effect || within.iter().any(|touch| touch.kind != Kind::Read && matches!(touch.memory, Memory::Global(_))) {
            return None;
        }
        if own > 0 {
            if !inst.results.is_empty() || inst.op.blocks().is_empty() {
                return None;
            }
            readers.push(id);
            (known, size) = (known + own, size + insts);
        }
        if known == all {
            break;
        }
    }
    let fits = known == all && readers.len() <= READERS && size <= INSTS;
    fits.then_some(Tile { block, inside, then, variable, body, array, readers })
}

/// Whether an element that is read is one of `count` in a row, whatever the counters of loops are.
fn reads_inside(function: &Function, counters: &IdMap<ValueId, (i128, i128)>, access: &Access, count: i128) -> bool {
    let ([index], true) = (&access.indices[..], access.path.is_empty()) else { return false };
    let sum = Sum::of(function, *index);
    let (mut least, mut most) = (sum.constant, sum.constant);
    for (term, times) in &sum.terms {
        let Some(&(low, high)) = counters.get(term) else { return false };
        least += (low * times).min(high * times);
        most += (low * times).max(high * times);
    }
    least >= 0 && most < count
}

fn read_from_array(rebuild: &mut Rebuild, tile: &Tile) {
    // Nobody reads what was copied.
    if let Some(last) = rebuild.take(tile.then).pop() {
        rebuild.b.function.blocks[tile.then].insts.push(last);
    }
    let outside = rebuild.b.switch_to(tile.block);
    for id in rebuild.take(tile.block) {
        if !tile.readers.contains(&id) {
            rebuild.b.append(id);
            continue;
        }
        rebuild.visit(id);
        let [then, otherwise] = [(); 2].map(|()| rebuild.b.new_block(&[]));
        let here = rebuild.b.switch_to(then);
        Copier::within().inst(&mut rebuild.b, id);
        rebuild.b.yield_(&[]);
        rebuild.b.switch_to(otherwise);
        rebuild.b.append(id);
        rebuild.b.yield_(&[]);
        rebuild.b.switch_to(here);
        rebuild.b.effect(Op::If { condition: tile.inside, then, otherwise });
        let mut blocks = vec![then];
        rebuild.b.function.walk(then, &mut |_, inst| blocks.extend(inst.op.blocks().iter().copied()));
        blocks.into_iter().for_each(|block| loads(rebuild, tile, block));
    }
    rebuild.b.switch_to(outside);
}

/// Has the loads of the tile in a block read the array.
fn loads(rebuild: &mut Rebuild, tile: &Tile, block: BlockId) {
    let outside = rebuild.b.switch_to(block);
    for id in rebuild.take(block) {
        let index = if let Op::Load(access) = &rebuild.b.function.insts[id].op
            && access.array == tile.array
        {
            access.indices[0]
        } else {
            rebuild.b.append(id);
            continue;
        };
        let body = rebuild.b.function.blocks[tile.body].insts.clone();
        let mut copier = Copier::within();
        copier.map(tile.variable, index);
        let [before @ .., load, _, _] = &body[..] else { continue };
        // Constants of the branch that copied are not known here.
        for inst in before.iter().chain([load]) {
            let mut operands = Vec::new();
            rebuild.b.function.insts[*inst].op.for_each_operand(|v| operands.push(v));
            for operand in operands {
                if let Some(known) = rebuild.b.function.as_const(operand) {
                    let again = rebuild.b.constant(known);
                    copier.map(operand, again);
                }
            }
        }
        before.iter().for_each(|&inst| copier.inst(&mut rebuild.b, inst));
        let mut op = rebuild.b.function.insts[*load].op.clone();
        op.for_each_operand_mut(|v| *v = copier.value(*v));
        rebuild.b.function.insts[id].op = op;
        rebuild.b.append(id);
    }
    rebuild.b.switch_to(outside);
}
