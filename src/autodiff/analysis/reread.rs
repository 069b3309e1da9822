//! Which values can reverse code read where the forward program stored them, in the place of
//! computing them again?
//!
//! The reverse of a loop computes an iteration's values anew, with the loops inside it: for the
//! factor of a matrix that is another loop for each of its elements. Where such a value was stored
//! into a tile whose element nothing changes afterwards, the rules read it there: a load behind the
//! store represents the value.

use std::borrow::Cow;

use super::fills::Fills;
use super::world::World;
use crate::analysis::alias::{Root, root};
use crate::analysis::holders;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{Access, BlockId, Function, InstId, Op, ValueDef, ValueId, arrays, effects, jumps, values};

/// By value, the load that represents it.
pub type Rereads = IdMap<ValueId, ValueId>;

/// A store of a value that takes a loop to compute.
struct Candidate {
    store: InstId,
    block: BlockId,
    value: ValueId,
}

/// Adds the loads to a function in normal form.
pub fn add(world: &World<'_>, function: &mut Cow<'_, Function>) -> Rereads {
    let found = candidates(function);
    if found.is_empty() {
        return Rereads::default();
    }
    let mut rereads = Rereads::default();
    let mut changed = function.clone().into_owned();
    for Candidate { store, block, value } in &found {
        let Op::Store { access, .. } = changed.insts[*store].op.clone() else { continue };
        let ty = changed.ty(*value);
        let again = Builder::edit(&mut changed, *block, |b| {
            b.span = b.function.insts[*store].span;
            b.one(Op::Load(access), ty)
        });
        let insts = &mut changed.blocks[*block].insts;
        if let Some(at) = insts.iter().position(|id| id == store) {
            insts[at + 1..].rotate_right(1);
        }
        rereads.insert(*value, again);
    }
    // What changes its element later reads something else by then.
    let holders = holders(&changed);
    let fills = Fills::of(world.module, world.effects, &changed, &holders);
    let outdated = fills.outdated(&changed, &Ranges::of(&changed), &holders);
    let outdated: IdSet<ValueId> =
        outdated.iter().flat_map(|(load, _)| changed.insts[*load].results.iter().copied()).collect();
    rereads.retain(|_, again| !outdated.contains(again) && is_refilled(&fills, &changed, *again));
    if !rereads.is_empty() {
        *function = Cow::Owned(changed);
    }
    rereads
}

fn is_refilled(fills: &Fills, function: &Function, load: ValueId) -> bool {
    matches!(function.op(load), Some(Op::Load(Access { array, .. })) if fills.refills(function, *array))
}

/// The stores into tiles that are made further outside, of values that stand in the store's block
/// and take a loop there.
fn candidates(function: &Function) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for block in function.blocks.ids() {
        let insts = &function.blocks[block].insts;
        let is_loop = |id: &InstId| matches!(function.insts[*id].op, Op::For { .. } | Op::While { .. });
        if !insts.iter().any(is_loop) {
            continue;
        }
        let here: IdSet<InstId> = insts.iter().copied().collect();
        for &store in insts {
            if let Op::Store { access: Access { array, .. }, value } = &function.insts[store].op
                && let Root::Local(tile) = root(function, *array)
                && function.ty(tile).is_local_array()
                && !matches!(function.values[tile].def, ValueDef::Result(made, _) if here.contains(&made))
                && found.iter().all(|other| other.value != *value)
                && takes_loop(function, &here, *value)
            {
                found.push(Candidate { store, block, value: *value });
            }
        }
    }
    found
}

/// Whether computing a value takes a loop among these instructions. What loads give is read again,
/// not computed.
fn takes_loop(function: &Function, here: &IdSet<InstId>, value: ValueId) -> bool {
    let mut seen = IdSet::default();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        let ValueDef::Result(id, _) = function.values[value].def else { continue };
        if !here.contains(&id) || !seen.insert(id) {
            continue;
        }
        match &function.insts[id].op {
            Op::For { .. } | Op::While { .. } => return true,
            Op::Load(_) => {}
            op @ (values!()
            | Op::Call(..)
            | arrays!()
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | effects!()
            | Op::If { .. }
            | jumps!()) => op.for_each_operand(|v| work.push(v)),
        }
    }
    false
}
