//! Walks a function backwards and builds its reverse: blocks and branches. Loops are in
//! [`super::loops`], memory in [`super::shadows`], calls in [`super::calls`].

use super::reverse::Reverse;
use crate::ir::{BlockId, Check, Inst, InstId, Op, ValueId, Values, arrays, jumps, reports, values};
use crate::types::Type;

impl Reverse<'_> {
    /// Computes a block again and then reverses it. `seed` gives the adjoints of what the block
    /// yields.
    pub fn block(&mut self, block: BlockId, seed: impl FnOnce(&mut Self)) {
        let top = self.tape.as_ref().map(|tape| tape.top);
        self.replay_alone(block, true);
        self.tile_shadows(block);
        seed(self);
        let old = self.old;
        for &id in old.blocks[block].insts.iter().rev() {
            self.inst(id);
        }
        // What the loops of this block kept has served.
        if let (Some(tape), Some(top)) = (&mut self.tape, top) {
            tape.top = top;
        }
    }

    pub fn inst(&mut self, id: InstId) {
        let old = self.old;
        let inst = &old.insts[id];
        if !self.facts.reversed.contains(&id) {
            return;
        }
        let span = std::mem::replace(&mut self.b.span, inst.span);
        match &inst.op {
            Op::If { condition, then, otherwise } => self.branch(id, inst, *condition, [*then, *otherwise]),
            Op::For { .. } | Op::While { .. } => self.reverse_loop(id, inst),
            Op::Load(access) => {
                if let Some(d) = self.take(inst.results[0]) {
                    self.reverse_load(inst.results[0], access, d);
                }
            }
            Op::Store { access, value } => self.reverse_store(id, access, *value),
            Op::Atomic { op, access, value } => self.reverse_atomic(inst.results[0], *op, access, *value),
            Op::Call(callee, args) => self.reverse_call(id, inst, *callee, args),
            // Behind it other threads read what was written before it: in reverse their adjoints
            // must be there.
            Op::Barrier => self.b.effect(Op::Barrier),
            Op::Check(Check::Visit, operands) => {
                let holds = self.primal(operands[0]);
                self.b.effect(Op::Check(Check::Visit, Values::from_slice(&[holds])));
            }
            values!()
            | arrays!()
            | Op::AtomicCas { .. }
            // Kernels that have it are refused.
            | Op::GridSync
            | Op::Product(..)
            | Op::Copy(..)
            | Op::Exchange(..)
            | reports!()
            | jumps!() => {
                if let Some(&result) = inst.results.first()
                    && let Some(d) = self.take(result)
                {
                    self.in_rule = true;
                    self.rule(inst, d);
                    self.in_rule = false;
                }
            }
        }
        self.b.span = span;
    }

    fn branch(&mut self, id: InstId, inst: &Inst, condition: ValueId, blocks: [BlockId; 2]) {
        let seeds: Vec<Option<ValueId>> = inst.results.iter().map(|&r| self.take(r)).collect();
        if seeds.iter().all(Option::is_none) && !self.facts.stores_floats(id) {
            return;
        }
        let condition = self.primal(condition);
        let before = self.adjoints.clone();
        let parts = std::mem::take(&mut self.parts);
        let mut ends = Vec::new();
        for block in blocks {
            self.adjoints = before.clone();
            let new = self.b.new_block(&[]);
            let outside = self.b.switch_to(new);
            self.block(block, |this| {
                let given = this.old.yielded(block);
                for (seed, &value) in seeds.iter().zip(given) {
                    if let Some(seed) = *seed {
                        this.add(value, seed);
                    }
                }
            });
            self.flush_all();
            self.b.switch_to(outside);
            ends.push((new, std::mem::take(&mut self.adjoints)));
        }
        // Values outside whose adjoints one of the branches has changed.
        let changed: Vec<ValueId> = ends[0]
            .1
            .keys()
            .chain(ends[1].1.keys())
            .copied()
            .filter(|value| ends.iter().any(|(_, end)| end.get(value) != before.get(value)))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        for (block, end) in &ends {
            let outside = self.b.switch_to(*block);
            let values: Vec<ValueId> = changed
                .iter()
                .map(|value| end.get(value).copied().unwrap_or_else(|| self.b.zero(self.old.ty(*value))))
                .collect();
            self.b.yield_(&values);
            self.b.switch_to(outside);
        }
        let types: Vec<Type> = changed.iter().map(|&v| self.old.ty(v)).collect();
        let op = Op::If { condition, then: ends[0].0, otherwise: ends[1].0 };
        let results = self.b.push(op, &types);
        self.adjoints = before;
        self.parts = parts;
        for (&value, result) in changed.iter().zip(results) {
            self.name_after(result, "adj_", value);
            self.adjoints.insert(value, result);
        }
    }
}
