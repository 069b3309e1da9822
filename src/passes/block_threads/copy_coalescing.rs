//! Which tiles hold what another one holds? One whose elements are copied from it, as the adjoints
//! of a sum are those of each part, while nothing sets elements of one of them any more: the copy
//! is not needed.

use super::accesses::{Kind, Memory, Touch, all_touches, touches_with_blocks};
use super::distribute::{Dealt, Share};
use super::loop_fusion;
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::{BlockId, Function, InstId, Op, Phase, ValueDef, ValueId};
use crate::passes::{dead_stores, zero_sums};

/// Uses, for a tile that is copied, the one that it is copied from.
pub(super) fn find(function: &mut Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) {
    for (&id, share) in shares {
        if let (Share::Dealt(dealt), &Op::For { body, .. }) = (share, &function.insts[id].op) {
            loop_fusion::forward(function, effects, body, dealt);
        }
    }
    if function.phase == Phase::Backward {
        zero_sums::start_without_zero(function);
    }
    dead_stores::run_tiles(function, effects);
    drop_same(function, effects);
    for block in function.blocks.ids().collect::<Vec<_>>() {
        while let Some((at, [from, to])) = copy(function, effects, shares, block) {
            function.blocks[block].insts.remove(at);
            for inst in function.insts.values_mut() {
                inst.op.for_each_operand_mut(|v| *v = if *v == to { from } else { *v });
            }
        }
    }
}

/// A loop in a block that copies a tile to another one, where the copy is not needed.
fn copy(
    function: &Function,
    effects: &EffectTable,
    shares: &IdMap<InstId, Share>,
    block: BlockId,
) -> Option<(usize, [ValueId; 2])> {
    let insts = &function.blocks[block].insts;
    insts.iter().enumerate().find_map(|(at, &id)| {
        let (Some(Share::Dealt(dealt)), &Op::For { body, .. }) = (shares.get(&id), &function.insts[id].op) else {
            return None;
        };
        let [from, to] = copied(function, dealt, body)?;
        let all = all_touches(function, effects, function.entry);
        let mut behind: Vec<Touch> = Vec::new();
        let mut last = 0;
        for &id in &insts[at + 1..] {
            let before = behind.len();
            behind.extend(touches_with_blocks(function, effects, id));
            if behind[before..].iter().any(|touch| touch.memory == Memory::Block(to)) {
                last = behind.len();
            }
        }
        let of = |touches: &[Touch], tile: ValueId, kind: Option<Kind>| {
            let fits = |touch: &&Touch| {
                touch.memory == Memory::Block(tile)
                    && kind.is_none_or(|kind| (kind == Kind::Read) == (touch.kind == Kind::Read))
            };
            touches.iter().filter(fits).count()
        };
        // The loop alone sets it, everything reads it behind the loop, and until then nothing sets
        // the other one.
        let unchanged = of(&all, to, None) == of(&behind, to, Some(Kind::Read)) + 1
            && of(&behind[..last], from, Some(Kind::Write)) == 0
            && is_named_in_accesses(function, to);
        unchanged.then_some((at, [from, to]))
    })
}

/// The tiles, where all that a loop does is to copy each element of one to the same place of
/// another one.
fn copied(function: &Function, dealt: &Dealt, body: BlockId) -> Option<[ValueId; 2]> {
    let (mut load, mut store) = (None, None);
    for &id in &function.blocks[body].insts {
        let op = &function.insts[id].op;
        if let Op::Load(access) = op
            && load.is_none()
        {
            load = Some((id, access));
        } else if let Op::Store { access, value } = op
            && store.is_none()
        {
            store = Some((access, *value));
        } else if !op.properties().is_value() && !matches!(op, Op::Yield(_)) {
            return None;
        }
    }
    let ((load, from), (to, value)) = (load?, store?);
    let is_loaded = matches!(function.values[value].def, ValueDef::Result(of, _) if of == load);
    let [a, b] = [from, to].map(|access| access.array);
    let alike = is_loaded && a != b && function.ty(a) == function.ty(b) && from.path.is_empty() && to.path.is_empty();
    let block = |tile: ValueId| function.def(tile).is_some_and(|inst| matches!(inst.op, Op::SharedArray));
    let whole = alike && from.indices == to.indices && block(a) && block(b) && dealt.is_own(function, b, to);
    whole.then_some([a, b])
}

/// Whether nothing but accesses, products and copies names a tile.
fn is_named_in_accesses(function: &Function, tile: ValueId) -> bool {
    let mut only = true;
    function.walk(function.entry, &mut |_, inst| {
        let access = inst.op.access().is_some() || matches!(inst.op, Op::Product(..) | Op::Copy(..));
        inst.op.for_each_operand(|v| only &= v != tile || access);
    });
    only
}

/// Takes out what sets an element to what has just been read from it.
pub(super) fn drop_same(function: &mut Function, effects: &EffectTable) {
    for block in function.blocks.ids().collect::<Vec<_>>() {
        drop_in(function, effects, block);
    }
}

fn drop_in(function: &mut Function, effects: &EffectTable, block: BlockId) {
    let mut same: IdSet<InstId> = IdSet::default();
    let insts = &function.blocks[block].insts;
    for (n, &id) in insts.iter().enumerate() {
        let Op::Store { access, value } = &function.insts[id].op else { continue };
        let ValueDef::Result(load, _) = function.values[*value].def else { continue };
        let is_read = matches!(&function.insts[load].op, Op::Load(read) if read == access);
        let tile = Memory::Block(access.array);
        let Some(from) = insts[..n].iter().position(|&id| id == load).filter(|_| is_read) else { continue };
        let mut between = insts[from..n].iter().flat_map(|&id| touches_with_blocks(function, effects, id));
        let in_block = function.ty(access.array).is_tile();
        if in_block && between.all(|touch| touch.memory != tile || touch.kind == Kind::Read) {
            same.insert(id);
        }
    }
    function.blocks[block].insts.retain(|id| !same.contains(id));
}
