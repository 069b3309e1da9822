//! Does the last coordinate of a kernel with tiles count threads or blocks, where no launch says
//! so?
//!
//! A kernel whose threads can do it with a coordinate of their own is done so. One that they cannot
//! do may be meant for a launch of blocks, or be wrong. What tile operations get tells: an offset,
//! an array or a number that comes of the coordinate belongs to the block, and so does the
//! coordinate. Where the coordinate only decides whether, or how often, threads come to a tile
//! operation, there is no such sign.
//!
//! - If each thread then gives the same number to a tile that is made of the threads', the kernel
//!   makes no sense for blocks: it is refused, as its launch would be.
//! - Else it is compiled for blocks, with a warning ([`Doubt`]).

use super::varying::Varying;
use super::{Block, Cause, Refused, Seeds, of_threads, prepared};
use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::ids::IdSet;
use crate::ir::{BlockId, Check, FuncId, Function, Inst, Module, Op, ValueId, jumps, straight};

/// What is known of a kernel that threads with a coordinate of their own cannot do.
pub(super) enum Meant {
    /// Its coordinates are those of blocks.
    Blocks,
    /// It is wrong.
    Threads,
    /// It is compiled for blocks, and may be wrong.
    Unknown,
}

/// Why threads cannot do a kernel that is compiled for blocks.
#[derive(Clone, Debug)]
pub struct Doubt(pub Refused);

pub(super) fn meant(module: &Module, id: FuncId, effects: &EffectTable, threads: u32, why: &Refused) -> Meant {
    if why.cause != Cause::Way {
        return Meant::Blocks;
    }
    let Ok(function) = prepared(module, id, effects) else { return Meant::Blocks };
    let own = of_threads(module);
    let differing = |counted: bool| {
        let mut function = function.clone();
        let seeds = Seeds::gather(&mut function, Block { size: threads, threads, counted });
        let varying = Varying::of(&function, effects, &seeds, &own);
        (function, seeds, varying)
    };
    let (of_threads, seeds, varying) = differing(true);
    if seeds.coordinate.is_some_and(|coordinate| reaches_tiles(&of_threads, effects, coordinate)) {
        return Meant::Blocks;
    }
    let (of_blocks, seeds_of_blocks, once) = differing(false);
    let gives = gives_own(&of_threads, &seeds, &varying) && !gives_own(&of_blocks, &seeds_of_blocks, &once);
    if module.functions[id].block_threads.is_some() && gives {
        return Meant::Threads;
    }
    Meant::Unknown
}

/// Whether threads, each in its own element of a tile, set numbers of their own.
fn gives_own(function: &Function, seeds: &Seeds, varying: &Varying) -> bool {
    function.has(|inst| {
        let mut of_thread = false;
        inst.op.for_each_operand(|v| of_thread |= seeds.thread == Some(v));
        let Op::Store { access, value } = &inst.op else { return false };
        of_thread && tile_of(function, access.array) && varying.value(*value)
    })
}

fn tile_of(function: &Function, array: ValueId) -> bool {
    matches!(root(function, array), Root::Local(local) if function.ty(local).is_tile())
}

/// Whether a tile operation is given what is computed of a value. What the value only decides about
/// does not count: neither the numbers of iterations, nor what branches choose.
fn reaches_tiles(function: &Function, effects: &EffectTable, value: ValueId) -> bool {
    together(function, effects, function.entry, &comes_of(function, &[function.entry], value), false)
}

/// The values of these blocks that are computed from a value, itself too. What branches it decides
/// about does not count.
pub(super) fn comes_of(function: &Function, blocks: &[BlockId], value: ValueId) -> IdSet<ValueId> {
    let mut found = IdSet::default();
    found.insert(value);
    loop {
        let before = found.len();
        blocks.iter().for_each(|&block| spread(function, block, &mut found));
        if found.len() == before {
            return found;
        }
    }
}

fn spread(function: &Function, block: BlockId, found: &mut IdSet<ValueId>) {
    let join = |from: &[ValueId], to: &[ValueId], found: &mut IdSet<ValueId>| {
        for (from, &to) in from.iter().zip(to) {
            if found.contains(from) {
                found.insert(to);
            }
        }
    };
    for &id in &function.blocks[block].insts {
        let inst = &function.insts[id];
        inst.op.blocks().iter().for_each(|&block| spread(function, block, found));
        match &inst.op {
            Op::If { then, otherwise, .. } => {
                [*then, *otherwise].into_iter().for_each(|block| join(function.yielded(block), &inst.results, found));
            }
            Op::For { init, body, .. } => {
                let carried = &function.blocks[*body].params[1..];
                [init.as_slice(), function.yielded(*body)].into_iter().for_each(|from| join(from, carried, found));
                join(carried, &inst.results, found);
            }
            Op::While { init, condition, body } => {
                let (tested, carried) = (&function.blocks[*condition].params, &function.blocks[*body].params);
                [init.as_slice(), function.yielded(*body)].into_iter().for_each(|from| join(from, tested, found));
                join(tested, carried, found);
                join(carried, &inst.results, found);
            }
            op @ (straight!() | jumps!()) => {
                if uses(inst, found) {
                    found.extend(inst.results.iter().copied());
                    // An array of the thread's own holds it from now on.
                    if let (Op::Store { access, .. }, false) = (op, tile_in(function, op))
                        && let Root::Local(local) = root(function, access.array)
                    {
                        found.insert(local);
                    }
                }
            }
        }
    }
}

fn tile_in(function: &Function, op: &Op) -> bool {
    op.access().is_some_and(|access| tile_of(function, access.array))
}

fn uses(inst: &Inst, found: &IdSet<ValueId>) -> bool {
    let mut any = false;
    inst.op.for_each_operand(|v| any |= found.contains(&v));
    any
}

/// Whether one of the values is used by what all threads do together. `within`: the block is in
/// such a part.
fn together(function: &Function, effects: &EffectTable, block: BlockId, found: &IdSet<ValueId>, within: bool) -> bool {
    let mut depth = u32::from(within);
    function.blocks[block].insts.iter().any(|&id| {
        let inst = &function.insts[id];
        if let Op::Check(Check::Together { begins }, _) = inst.op {
            depth = if begins { depth + 1 } else { depth.saturating_sub(1) };
            return false;
        }
        let gets = depth > 0 && !effects.properties(&inst.op).is_value() && uses(inst, found);
        gets || inst.op.blocks().iter().any(|&block| together(function, effects, block, found, depth > 0))
    })
}
