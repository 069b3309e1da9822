//! Which chains are computed side by side?
//!
//! ```text
//! for n in range(32):                          for n in range(32): sums[n] = 0
//!     sum = 0                                  for row in range(rows):
//!     for row in range(rows):          =>          for n in range(32):
//!         sum = sum + t[row * 32 + n]                  sums[n] = sums[n] + t[row * 32 + n]
//!     chains[n] = sum                          for n in range(32): chains[n] = sums[n]
//! ```
//!
//! That is done where neighbouring chains read neighbouring elements: then the innermost loop is
//! one for vectors, which keep short rows of sums in registers.

use super::{counts_all, dependent};
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{Access, BlockId, Function, Inst, InstId, Op, ValueId, Values};
use crate::passes::block_threads::accesses::{Kind, Memory, Sum, Touch, touches_with_blocks};
use crate::passes::block_threads::plan::leaves;
use crate::passes::copy::Copier;
use crate::passes::loops::trips;
use crate::passes::rebuild::Rebuild;
use crate::types::{Element, I32, LocalArrayType, Type};

/// Fewer chains are no vector; more have their sums in memory that takes longer to reach than it
/// saves.
const CHAINS: std::ops::RangeInclusive<u64> = 8..=4096;

/// A loop over chains.
struct Chains {
    count: u64,
    variable: ValueId,
    /// Before the loop over the rows, and behind it.
    before: Vec<InstId>,
    after: Vec<InstId>,
    inner: InstId,
    elements: Vec<Element>,
}

pub(super) fn run(function: &mut Function, effects: &EffectTable) {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if let Some(chains) = chains(function, effects, inst) {
            found.insert(id, chains);
        }
    });
    if found.is_empty() {
        return;
    }
    let entry = function.entry;
    let mut pass = Pass { rebuild: Rebuild::start(function), found };
    pass.block(entry);
    pass.rebuild.finish(function);
}

fn chains(function: &Function, effects: &EffectTable, inst: &Inst) -> Option<Chains> {
    let Op::For { start, end, step, ref init, body } = inst.op else { return None };
    let count = trips(function, start, end, step).filter(|count| CHAINS.contains(count))?;
    let variable = *function.blocks[body].params.first()?;
    if !init.is_empty()
        || !counts_all(function, start, step, count)
        || function.ty(variable) != I32
        || leaves(function, inst, false)
    {
        return None;
    }
    let insts = &function.blocks[body].insts;
    let at = insts.iter().position(|&id| matches!(function.insts[id].op, Op::For { .. }))?;
    let (before, inner, after) = (insts[..at].to_vec(), insts[at], insts[at + 1..insts.len() - 1].to_vec());
    let Op::For { start, end, step, ref init, body: row } = function.insts[inner].op else { return None };
    let elements: Vec<Element> = init.iter().map(|&v| function.ty(v).element()).collect::<Option<_>>()?;
    let depends = dependent(function, body, variable);
    let outside = |v: ValueId| function.as_const(v).is_some() || is_outside(function, body, v);
    if elements.is_empty() || ![start, end, step].into_iter().all(outside) {
        return None;
    }
    // What the chains read nothing of this writes, and what is set afterwards is set in the order
    // that it had.
    let of = |insts: &[InstId]| -> Vec<Touch> {
        insts.iter().flat_map(|&id| touches_with_blocks(function, effects, id)).collect()
    };
    let (first, behind) = (of(&insts[..=at]), of(&after));
    let global = |memory: &Memory| matches!(memory, Memory::Global(_));
    for write in behind.iter().filter(|touch| touch.kind != Kind::Read) {
        let meets = |read: &Touch| read.memory == write.memory || global(&read.memory) && global(&write.memory);
        if write.kind == Kind::Atomic || first.iter().any(meets) {
            return None;
        }
    }
    if first.iter().any(|touch| touch.kind != Kind::Read) {
        return None;
    }
    let mut plain = true;
    function.walk(body, &mut |id, inst| {
        let own = effects.properties(&inst.op);
        let fits = matches!(inst.op, Op::If { .. } | Op::Yield(_) | Op::Load(_) | Op::Store { .. });
        plain &= id == inner || fits || own.is_value();
    });
    if !plain {
        return None;
    }
    // What is read lies side by side.
    let mut some = false;
    let mut all = true;
    function.walk(row, &mut |_, inst| {
        if let Op::Load(Access { array, indices, .. }) = &inst.op {
            let Some((last, above)) = indices.split_last() else { return };
            let sum = Sum::of(function, *last);
            let others = sum.terms.keys().any(|term| *term != variable && depends.contains(term));
            all &= !others && !depends.contains(array) && !above.iter().any(|index| depends.contains(index));
            if let Some(times) = sum.terms.get(&variable) {
                (some, all) = (true, all && *times == 1);
            }
        }
    });
    (some && all).then_some(Chains { count, variable, before, after, inner, elements })
}

/// Whether a value is defined outside of a block.
fn is_outside(function: &Function, block: BlockId, value: ValueId) -> bool {
    !function.defined_in(block).contains(&value)
}

struct Pass {
    rebuild: Rebuild,
    found: IdMap<InstId, Chains>,
}

impl Pass {
    fn b(&mut self) -> &mut Builder {
        &mut self.rebuild.b
    }

    fn block(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            let op = self.rebuild.visit(id);
            match self.found.remove(&id) {
                Some(chains) => self.rows(id, &chains),
                None => {
                    op.blocks().iter().for_each(|&nested| self.block(nested));
                    self.rebuild.b.append(id);
                }
            }
        }
        self.rebuild.b.switch_to(outside);
    }

    fn rows(&mut self, id: InstId, chains: &Chains) {
        let function = &self.rebuild.b.function;
        let results = function.insts[chains.inner].results.clone();
        let Op::For { start, end, step, ref init, body } = function.insts[chains.inner].op else { return };
        let (init, params) = (init.clone(), function.blocks[body].params.clone());
        let arrays: Vec<ValueId> = chains
            .elements
            .iter()
            .map(|&element| {
                let shape = [chains.count as u32, 1, 1, 1];
                let ty = LocalArrayType { element, shape, ndim: 1, block: true };
                self.rebuild.b.one(Op::SharedArray, Type::Local(ty))
            })
            .collect();
        let set = |this: &mut Self, n: ValueId, values: &Values| {
            for (&array, &value) in arrays.iter().zip(values) {
                this.b().effect(Op::Store { access: Access::element(array, &[n]), value });
            }
        };
        let get = |this: &mut Self, n: ValueId, copier: &mut Copier<'static>, names: &[ValueId]| {
            for ((&array, &element), &name) in arrays.iter().zip(&chains.elements).zip(names) {
                let value = this.b().one(Op::Load(Access::element(array, &[n])), element.into());
                copier.map(name, value);
            }
        };
        self.each(id, chains, |this, n, copier| {
            let first = init.iter().map(|&value| copier.value(value)).collect();
            set(this, n, &first);
        });
        let [start, end, step] = [start, end, step].map(|bound| {
            let known = self.rebuild.b.function.as_const(bound);
            known.map_or(bound, |known| self.b().constant(known))
        });
        let row = self.rebuild.b.new_block(&[I32]);
        let at = self.rebuild.b.params(row)[0];
        let outside = self.rebuild.b.switch_to(row);
        self.each(id, chains, |this, n, copier| {
            copier.map(params[0], at);
            get(this, n, copier, &params[1..]);
            if let Op::Yield(next) = copier.insts(this.b(), body) {
                set(this, n, &next);
            }
        });
        self.b().yield_(&[]);
        self.rebuild.b.switch_to(outside);
        self.b().effect(Op::For { start, end, step, init: Values::new(), body: row });
        self.each(id, chains, |this, n, copier| {
            get(this, n, copier, &results);
            chains.after.iter().for_each(|&inst| copier.inst(this.b(), inst));
        });
    }

    /// A loop over the chains around what `body` makes, which may use all that is before the loop
    /// over the rows.
    fn each(&mut self, id: InstId, chains: &Chains, body: impl FnOnce(&mut Self, ValueId, &mut Copier<'static>)) {
        let Op::For { start, end, step, .. } = self.rebuild.b.function.insts[id].op else { return };
        let block = self.rebuild.b.new_block(&[I32]);
        let n = self.rebuild.b.params(block)[0];
        let outside = self.rebuild.b.switch_to(block);
        let mut copier = Copier::within();
        copier.map(chains.variable, n);
        chains.before.iter().for_each(|&inst| copier.inst(self.b(), inst));
        body(self, n, &mut copier);
        self.b().yield_(&[]);
        self.rebuild.b.switch_to(outside);
        self.b().effect(Op::For { start, end, step, init: Values::new(), body: block });
    }
}
