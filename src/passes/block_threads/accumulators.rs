//! Which products stay in registers through a loop? Those that add to a tile which nothing else in
//! the loop touches: each warp takes its patch of the tile before the loop, and puts it back behind
//! it.

use super::accesses::{Memory, all_touches};
use super::distribute::Share;
use super::plan::leaves;
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{BlockId, Function, InstId, Op, Part, Product, Values};
use crate::passes::rebuild::replace_each;
use crate::types::Type;

/// So many registers of a thread the products of a loop have at most, of the 255 that there are.
const MOST_REGISTERS: u32 = 128;

/// Keeps the tiles that products add to in registers, through the innermost loops around them.
pub(super) fn keep(function: &mut Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) {
    let mut found: IdMap<InstId, Vec<InstId>> = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if let Op::For { body, .. } = inst.op
            && !shares.contains_key(&id)
            && !leaves(function, inst, false)
        {
            let products = products(function, effects, body);
            if !products.is_empty() {
                found.insert(id, products);
            }
        }
    });
    replace_each(function, found, |b, id, products| through(b, id, &products));
}

/// The products in a loop's body that can be kept.
fn products(function: &Function, effects: &EffectTable, body: BlockId) -> Vec<InstId> {
    let adds = |id: &&InstId| matches!(&function.insts[**id].op, Op::Product(p, _) if p.part == Part::Add);
    let mut candidates = function.blocks[body].insts.iter().filter(adds).peekable();
    if candidates.peek().is_none() {
        return Vec::new();
    }
    let (touches, inside) = (all_touches(function, effects, body), function.defined_in(body));
    let mut left = MOST_REGISTERS;
    let mut kept = Vec::new();
    for &id in candidates {
        let Op::Product(product, arrays) = &function.insts[id].op else { continue };
        let Some(&result) = arrays.first() else { continue };
        let alone = touches.iter().filter(|touch| touch.memory == Memory::Block(result)).all(|touch| touch.at == id);
        let registers = registers(product);
        if alone && !inside.contains(&result) && registers <= left {
            left -= registers;
            kept.push(id);
        }
    }
    kept
}

fn registers(product: &Product) -> u32 {
    match product.kept() {
        Type::Vec(count, scalar) => u32::from(count) * scalar.size().div_ceil(4),
        _ => 0,
    }
}

/// Appends a loop with what goes before and behind it.
fn through(b: &mut Builder, id: InstId, products: &[InstId]) {
    let Op::For { start, end, step, mut init, body } = b.function.insts[id].op.clone() else { return b.append(id) };
    b.span = b.function.insts[id].span;
    let mut kept = Vec::new();
    for &inside in products {
        let Op::Product(product, arrays) = b.function.insts[inside].op.clone() else { continue };
        let Some(&result) = arrays.first() else { continue };
        let ty = product.kept();
        let taken = Product { part: Part::Take, turned: [false; 2], ..product };
        init.push(b.one(Op::Product(taken, Values::from_slice(&[result])), ty));
        let mut operands = arrays;
        operands.push(b.add_param(body, ty));
        b.function.insts[inside].op = Op::Product(Product { part: Part::Keep, ..product }, operands);
        kept.push((taken, result, ty, b.add_result(inside, ty)));
    }
    if let Some(&last) = b.function.blocks[body].insts.last()
        && let Op::Yield(values) = &mut b.function.insts[last].op
    {
        values.extend(kept.iter().map(|&(.., value)| value));
    }
    b.function.insts[id].op = Op::For { start, end, step, init, body };
    b.append(id);
    for (product, result, ty, _) in kept {
        let value = b.add_result(id, ty);
        let put = Product { part: Part::Put, ..product };
        b.effect(Op::Product(put, Values::from_slice(&[result, value])));
    }
}
