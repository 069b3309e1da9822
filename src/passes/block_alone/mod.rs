//! How does one thread do the work of a block fast?
//!
//! On the host a kernel with tiles ([`Function::by_block`]) runs as it is written: one thread goes
//! through the elements. What is best for that differs from what the threads of a GPU's block want,
//! who have an element each:
//!
//! - Tiles that are set whole are not cleared before
//!   ([`zero_fill`](super::block_threads::zero_fill)).
//! - Elements that were only copied from an array are read there ([`unloaded`]).
//! - Chains that lie side by side, such as sums of columns, are computed together, row by row: so
//!   the innermost loop goes over elements that lie side by side, and vectors do it ([`chains`]).
//! - So is what goes to many elements, such as the adjoint of a sum ([`expansion`]).
//! - Reversed products have a nest of loops for each factor's adjoint ([`reversed`]).
//! - A factor that a product reads from row to row is turned first ([`turned`]).
//! - Small loops over triangles are written out ([`triangles`]).
//! - Products of matrices do several rows, and several steps of the inner index, for each element
//!   that they read ([`unroll_and_jam`]).
//!
//! Each element is computed as before, in the same order: results stay the same, bit for bit. What
//! adds up in reverse code has an order of its own before ([`reverse_sums`](super::reverse_sums)),
//! in every form of a kernel.

mod chains;
mod expansion;
mod reversed;
mod triangles;
mod turned;
mod unloaded;
mod unroll_and_jam;

use std::borrow::Cow;

use super::block_threads::{Tensor, has_tiles, plan, products, zero_fill};
use super::loops::counter;
use super::{inline, pipelines};
use crate::analysis::effects::{EffectTable, effects};
use crate::ids::{IdMap, IdSet};
use crate::ir::{BlockId, FuncId, Function, InstId, Module, Op, ValueId};

/// The module with those kernels that work on tiles as code of one thread that has no others beside
/// it.
pub fn alone<'m>(module: &'m Module, kernels: &[FuncId]) -> Cow<'m, Module> {
    let wanted: Vec<FuncId> = kernels.iter().copied().filter(|&id| module.functions[id].by_block).collect();
    if wanted.is_empty() {
        return Cow::Borrowed(module);
    }
    let effects = effects(module);
    let mut changed = Cow::Borrowed(module);
    for id in wanted {
        if let Some(function) = kernel(module, id, &effects) {
            changed.to_mut().functions[id] = function;
        }
    }
    changed
}

/// None: the kernel is too large for that.
fn kernel(module: &Module, id: FuncId, effects: &EffectTable) -> Option<Function> {
    let mut function = module.functions[id].clone();
    inline::run(&mut function, module, &|callee| has_tiles(&module.functions[callee])).ok()?;
    products::forget_tf32(&mut function);
    pipelines::clean(&mut function, &module.structs, effects);
    if triangles::run(&mut function) {
        pipelines::clean(&mut function, &module.structs, effects);
    }
    set_whole(&mut function, effects);
    reversed::run(&mut function);
    turned::run(&mut function);
    unloaded::run(&mut function, effects);
    unroll_and_jam::run(&mut function, effects);
    chains::run(&mut function, effects);
    expansion::run(&mut function, effects);
    pipelines::clean(&mut function, &module.structs, effects);
    Some(function)
}

/// Leaves out the zeros of tiles that are set whole before anything reads them.
fn set_whole(function: &mut Function, effects: &EffectTable) {
    let plans = plan::plan(function, effects, Tensor::NONE);
    let fills: IdMap<InstId, zero_fill::Fill> = zero_fill::fills(function, effects, &plans);
    let whole: IdSet<InstId> =
        fills.into_iter().filter(|(_, fill)| *fill == zero_fill::Fill::Whole).map(|(id, _)| id).collect();
    for id in whole {
        function.insts[id].op = Op::SharedArray;
    }
}

/// Whether a loop of `count` turns goes through all numbers from 0 on, upward or downward.
fn counts_all(function: &Function, start: ValueId, step: ValueId, count: u64) -> bool {
    let Some(last) = count.checked_sub(1) else { return false };
    let ends = [0, last].map(|turn| counter(function, start, step, turn));
    [[0, last], [last, 0]].iter().any(|ordered| ends == ordered.map(|n| Some(i128::from(n))))
}

/// The values in a block, and in those nested in it, that depend on one of its parameters.
fn dependent(function: &Function, block: BlockId, on: ValueId) -> IdSet<ValueId> {
    let mut found = IdSet::default();
    loop {
        let before = found.len();
        function.walk(block, &mut |_, inst| {
            let depends = |v: ValueId, found: &IdSet<ValueId>| v == on || found.contains(&v);
            let mut any = false;
            inst.op.for_each_operand(|v| any |= depends(v, &found));
            // A counter depends on the bounds alone; what else comes of a block may depend on
            // anything inside.
            let counts = usize::from(matches!(inst.op, Op::For { .. }));
            let bounds = if let Op::For { start, end, step, .. } = inst.op {
                [start, end, step].into_iter().any(|v| depends(v, &found))
            } else {
                any
            };
            for &nested in inst.op.blocks().iter() {
                function.walk(nested, &mut |_, inst| inst.op.for_each_operand(|v| any |= depends(v, &found)));
            }
            for &nested in inst.op.blocks().iter().filter(|_| any) {
                let params = &function.blocks[nested].params;
                found.extend(params[if bounds { 0 } else { counts.min(params.len()) }..].iter().copied());
            }
            if any {
                found.extend(inst.results.iter().copied());
            }
        });
        if found.len() == before {
            return found;
        }
    }
}

#[cfg(test)]
mod tests;
