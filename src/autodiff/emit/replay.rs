//! Computes parts of the forward program again inside reverse code: copies of its instructions, and
//! only those that [`crate::autodiff::storage::Strategy`] found to be needed. Of their effects
//! there is only that tiles made there are filled.

use super::reverse::Reverse;
use crate::autodiff::analysis::written::is_stale;
use crate::autodiff::storage::log::{Logged, last_slot};
use crate::ir::{BlockId, Derivative, Inst, InstId, Op, ValueId, jumps, straight};
use crate::types::Type;

impl Reverse<'_> {
    /// Copies a block that is not part of one which is being replayed: tiles made outside of it are
    /// there and stay as they are.
    pub fn replay_alone(&mut self, block: BlockId, keep: bool) {
        let outer = std::mem::take(&mut self.filling);
        self.replay(block, keep);
        self.filling = outer;
    }

    /// Copies a block without its terminator. `keep`: the loops of this very block save their state
    /// for the reverse sweep that follows.
    pub fn replay(&mut self, block: BlockId, keep: bool) {
        let old = self.old;
        for &id in &old.blocks[block].insts {
            self.replay_inst(id, keep);
        }
    }

    fn replay_inst(&mut self, id: InstId, keep: bool) {
        let old = self.old;
        let inst = &old.insts[id];
        let span = std::mem::replace(&mut self.b.span, inst.span);
        let needed = self.fills(id) || inst.results.iter().any(|r| self.scope.contains(r));
        match &inst.op {
            Op::For { .. } | Op::While { .. } => {
                let keep = keep && self.strategy.plans.contains_key(&id);
                if needed || keep {
                    self.forward_sweep(id, inst, keep);
                }
            }
            _ if !needed => {}
            Op::If { condition, then, otherwise } => self.replay_if(inst, *condition, [*then, *otherwise]),
            op @ (straight!() | jumps!()) => self.copy(id, inst, op),
        }
        self.b.span = span;
    }

    /// Whether an instruction, or what it holds, writes a tile that is being made.
    pub fn fills(&self, id: InstId) -> bool {
        self.facts.fills.written_by(id).iter().any(|tile| self.filling.contains(tile))
    }

    /// One instruction without blocks that is needed.
    fn copy(&mut self, id: InstId, inst: &Inst, op: &Op) {
        if let Some(logged) = self.strategy.log.at.get(&id) {
            return self.read_log(inst, logged);
        }
        if is_stale(self.world.module, self.old, &self.facts.written, &self.facts.fills, inst) {
            self.faults.push(format!("a value that the launch overwrites is read again in @{}", self.old.name));
            return;
        }
        let mut op = op.clone();
        op.for_each_operand_mut(|v| *v = self.primal(*v));
        if let Op::Call(callee, _) = &mut op
            && let Derivative::Rule { replay: Some(replay), .. } = self.world.module.functions[*callee].derivative
        {
            *callee = replay;
        }
        let types: Vec<Type> = inst.results.iter().map(|&r| self.old.ty(r)).collect();
        let results = self.b.push(op, &types);
        for (&old, new) in inst.results.iter().zip(results) {
            self.bind(old, new);
            if let Op::LocalArray = inst.op {
                self.filling.insert(old);
            }
        }
    }

    /// The results of an instruction as the forward entry logged them; zero where the log had no
    /// room for them.
    fn read_log(&mut self, inst: &Inst, logged: &Logged) {
        let structs = &self.world.module.structs;
        for &result in &inst.results {
            let ty = self.old.ty(result);
            let base = logged.base.map(|base| self.primal(base));
            let Some(buffers) = self.log.clone() else {
                self.faults.push(format!("@{} has no log", self.old.name));
                return;
            };
            let value = if self.strategy.log.slots.is_some() {
                buffers.get(&mut self.b, structs, ty, base, &logged.offset)
            } else {
                let room = buffers.has_room(&mut self.b, base, last_slot(ty, structs, &logged.offset));
                let value = self
                    .guarded(room, Some(ty), |this| Some(buffers.get(&mut this.b, structs, ty, base, &logged.offset)));
                value.unwrap_or_else(|| self.b.zero(ty))
            };
            self.bind(result, value);
        }
    }

    /// Makes `new` the copy of `old`.
    pub fn bind(&mut self, old: ValueId, new: ValueId) {
        self.primals[old] = Some(new);
        self.name_after(new, "", old);
    }

    fn replay_if(&mut self, inst: &Inst, condition: ValueId, blocks: [BlockId; 2]) {
        let old = self.old;
        let kept: Vec<usize> = (0..inst.results.len()).filter(|&n| self.scope.contains(&inst.results[n])).collect();
        let condition = self.primal(condition);
        let copies = blocks.map(|block| {
            let new = self.b.new_block(&[]);
            let outside = self.b.switch_to(new);
            self.replay(block, false);
            let values: Vec<ValueId> = kept.iter().map(|&n| self.primal(old.yielded(block)[n])).collect();
            self.b.yield_(&values);
            self.b.switch_to(outside);
            new
        });
        let types: Vec<Type> = kept.iter().map(|&n| old.ty(inst.results[n])).collect();
        let results = self.b.push(Op::If { condition, then: copies[0], otherwise: copies[1] }, &types);
        for (&n, new) in kept.iter().zip(results) {
            self.bind(inst.results[n], new);
        }
    }
}
