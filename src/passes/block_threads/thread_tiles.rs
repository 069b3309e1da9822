//! What is of one thread alone, where a block has as many threads as iterations are dealt out?
//!
//! Then each thread has one iteration of such a loop, and the same one in each: what is in a tile
//! at its number is a variable of the thread, and the loop is straight code.

use super::accesses::{Memory, Touch, all_touches, memory, touches};
use super::distribute::{Dealt, Share};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::{BlockId, CompareOp, Const, Function, InstId, Op, ValueId, Values};
use crate::passes::rebuild::Rebuild;
use crate::types::{LocalArrayType, Scalar, Type};

/// Makes variables of the threads of tiles with an element for each thread that nobody else
/// touches.
pub(super) fn keep(function: &mut Function, effects: &EffectTable, shares: &IdMap<InstId, Share>, threads: u32) {
    let mut own: IdSet<ValueId> = IdSet::default();
    function.walk(function.entry, &mut |_, inst| {
        let tile = inst.results.first().filter(|_| matches!(inst.op, Op::SharedArray));
        let fits = |&v: &ValueId| matches!(function.ty(v), Type::Local(ty) if ty.ndim == 1 && ty.shape[0] == threads);
        own.extend(tile.copied().filter(fits));
    });
    let mut accesses: IdSet<InstId> = IdSet::default();
    others(function, effects, shares, function.entry, threads, &mut own, &mut accesses);
    // Views are other names.
    function.walk(function.entry, &mut |_, inst| {
        if inst.op.access().is_none() {
            inst.op.for_each_operand(|v| _ = own.remove(&v));
        }
    });
    if own.is_empty() {
        return;
    }
    let is_own = |function: &Function, array: ValueId| match memory(function, array) {
        Memory::Block(tile) => own.contains(&tile),
        _ => false,
    };
    accesses.retain(|&id| function.insts[id].op.access().is_some_and(|access| is_own(function, access.array)));
    let entry = function.entry;
    let mut rebuild = Rebuild::start(function);
    let insts = rebuild.take(entry);
    rebuild.b.switch_to(entry);
    let zero = rebuild.b.int(Scalar::I32, 0);
    for id in insts {
        let inst = &mut rebuild.b.function.insts[id];
        if let (Op::SharedArray, Some(&tile)) = (&inst.op, inst.results.first())
            && own.contains(&tile)
            && let Type::Local(ty) = rebuild.b.ty(tile)
        {
            rebuild.b.function.insts[id].op = Op::LocalArray;
            rebuild.b.function.values[tile].ty = Type::Local(LocalArrayType { shape: [1; 4], block: false, ..ty });
        }
        rebuild.b.append(id);
    }
    for id in accesses {
        if let Op::Load(access) | Op::Store { access, .. } | Op::Atomic { access, .. } | Op::AtomicCas { access, .. } =
            &mut rebuild.b.function.insts[id].op
        {
            access.indices = Values::from_slice(&[zero]);
        }
    }
    rebuild.finish(function);
}

/// Takes the tiles out of `own` of which some thread touches an element that is not its own.
fn others(
    function: &Function,
    effects: &EffectTable,
    shares: &IdMap<InstId, Share>,
    block: BlockId,
    threads: u32,
    own: &mut IdSet<ValueId>,
    accesses: &mut IdSet<InstId>,
) {
    let tile = |touch: &Touch| match touch.memory {
        Memory::Block(tile) => Some(tile),
        _ => None,
    };
    for &id in &function.blocks[block].insts {
        let number = match shares.get(&id) {
            Some(Share::Dealt(dealt)) => number(dealt, threads),
            Some(Share::OneThread) => None,
            None => {
                let mut found = Vec::new();
                touches(function, effects, id, &mut found);
                found.iter().filter_map(tile).for_each(|tile| _ = own.remove(&tile));
                for &nested in function.insts[id].op.blocks().iter() {
                    others(function, effects, shares, nested, threads, own, accesses);
                }
                continue;
            }
        };
        for &nested in function.insts[id].op.blocks().iter() {
            for touch in all_touches(function, effects, nested) {
                let Some(tile) = tile(&touch) else { continue };
                match (number, &touch.indices) {
                    (Some(number), Some(indices)) if touch.array == tile && indices[..] == [number] => {
                        accesses.insert(touch.at);
                    }
                    _ => _ = own.remove(&tile),
                }
            }
        }
    }
}

/// The variable of a loop of which each thread has the iteration of its number.
fn number(dealt: &Dealt, threads: u32) -> Option<ValueId> {
    match dealt.indices[..] {
        [(number, Some(count))] if dealt.start.is_none() && count == u64::from(threads) => Some(number),
        _ => None,
    }
}

/// Makes straight code of loops of which a thread has one iteration, and branches of those of which
/// it has one or none.
pub(super) fn straighten(function: &mut Function, shares: &IdMap<InstId, Share>, threads: u32) {
    let entry = function.entry;
    for inst in function.insts.values_mut() {
        if matches!(inst.op, Op::BlockDim) {
            inst.op = Op::Const(Const::int(Scalar::I32, threads.into()));
        }
    }
    let mut rebuild = Rebuild::start(function);
    block(&mut rebuild, shares, entry, threads);
    rebuild.finish(function);
}

fn block(rebuild: &mut Rebuild, shares: &IdMap<InstId, Share>, at: BlockId, threads: u32) {
    let outside = rebuild.b.switch_to(at);
    insts(rebuild, shares, at, threads, false);
    rebuild.b.switch_to(outside);
}

/// `body`: of a loop, whose end goes.
fn insts(rebuild: &mut Rebuild, shares: &IdMap<InstId, Share>, from: BlockId, threads: u32, body: bool) {
    for id in rebuild.take(from) {
        let op = rebuild.visit(id);
        let total = match shares.get(&id) {
            Some(Share::Dealt(dealt)) if dealt.start.is_none() => {
                dealt.indices.iter().try_fold(1u64, |all, (_, count)| all.checked_mul((*count)?))
            }
            _ => None,
        };
        if let (&Op::For { start, end, body, ref init, .. }, Some(total)) = (&op, total)
            && init.is_empty()
            && total <= threads.into()
        {
            let variable = rebuild.b.params(body)[0];
            rebuild.replace(variable, start);
            if total == u64::from(threads) {
                insts(rebuild, shares, body, threads, true);
                continue;
            }
            let condition = rebuild.b.compare(CompareOp::Lt, start, end);
            let (then, otherwise) = (rebuild.b.new_block(&[]), rebuild.b.new_block(&[]));
            let outside = rebuild.b.switch_to(then);
            insts(rebuild, shares, body, threads, true);
            rebuild.b.yield_(&[]);
            rebuild.b.switch_to(otherwise);
            rebuild.b.yield_(&[]);
            rebuild.b.switch_to(outside);
            rebuild.b.effect(Op::If { condition, then, otherwise });
        } else if !body || !op.is_terminator() {
            op.blocks().iter().for_each(|&nested| block(rebuild, shares, nested, threads));
            rebuild.b.append(id);
        }
    }
}
