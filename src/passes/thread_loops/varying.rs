//! Which values differ between the threads of a block?
//!
//! Those that come of the number of the thread, of what it reads where that says, or of a way
//! through the code that it decides about. What a tile holds is the same for all, whoever set it.

use super::{Seeds, updates};
use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet, IdVec};
use crate::ir::{BlockId, FuncId, Function, Inst, InstId, Op, ValueId, jumps, straight};
use crate::types::Type;

pub(super) struct Varying {
    values: IdVec<ValueId, bool>,
}

struct Search<'a> {
    function: &'a Function,
    own: &'a IdSet<FuncId>,
    /// What updates read, by the store.
    updates: IdMap<InstId, ValueId>,
    values: IdVec<ValueId, bool>,
    changed: bool,
}

impl Varying {
    /// `own`: the functions in which each thread does something for itself.
    pub(super) fn of(function: &Function, effects: &EffectTable, seeds: &Seeds, own: &IdSet<FuncId>) -> Varying {
        let values = function.values.ids().map(|value| seeds.has(value)).collect();
        let mut search = Search { function, own, updates: updates::all(function, effects), values, changed: true };
        while std::mem::take(&mut search.changed) {
            search.block(function.entry, false);
        }
        Varying { values: search.values }
    }

    pub(super) fn value(&self, value: ValueId) -> bool {
        self.values.get(value).copied().unwrap_or(false)
    }

    /// Whether an instruction, without what is nested in it, has to do with values that differ.
    pub(super) fn inst(&self, own: &IdSet<FuncId>, inst: &Inst) -> bool {
        let mut any = inst.results.iter().any(|&result| self.value(result));
        inst.op.for_each_operand(|v| any |= self.value(v));
        any || matches!(inst.op, Op::Call(callee, _) if own.contains(&callee))
    }

    /// Whether something in an instruction has.
    pub(super) fn any(&self, function: &Function, own: &IdSet<FuncId>, inst: &Inst) -> bool {
        let mut any = self.inst(own, inst);
        for &block in inst.op.blocks().iter() {
            function.walk(block, &mut |_, inst| any |= self.inst(own, inst));
        }
        any
    }
}

impl Search<'_> {
    fn grow(&mut self, value: ValueId, varies: bool) {
        self.changed |= varies && !self.values[value];
        self.values[value] |= varies;
    }

    fn yields_varying(&self, block: BlockId, n: usize) -> bool {
        self.function.yielded(block).get(n).is_some_and(|&v| self.values[v])
    }

    /// `differ`: whether threads differ in coming here.
    fn block(&mut self, block: BlockId, differ: bool) {
        let function = self.function;
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            match &inst.op {
                &Op::If { condition, then, otherwise } => {
                    let differs = self.values[condition];
                    self.block(then, differ || differs);
                    self.block(otherwise, differ || differs);
                    for (n, &result) in inst.results.iter().enumerate() {
                        let either = self.yields_varying(then, n) || self.yields_varying(otherwise, n);
                        self.grow(result, differs || either);
                    }
                }
                Op::For { start, end, step, init, body } => {
                    let differs = [start, end, step].into_iter().any(|&v| self.values[v]);
                    if let Some((&counter, carried)) = function.blocks[*body].params.split_first() {
                        self.grow(counter, differs);
                        self.iterations(inst, init, carried, *body, differs, differ);
                    }
                }
                Op::While { init, condition, body } => {
                    let differs = self.yields_varying(*condition, 0);
                    self.block(*condition, differ || differs);
                    let params = &function.blocks[*body].params;
                    self.iterations(inst, init, params, *body, differs, differ);
                    for (&tested, &carried) in function.blocks[*condition].params.iter().zip(params) {
                        let varies = self.values[carried];
                        self.grow(tested, varies);
                    }
                }
                op @ (straight!() | jumps!()) => {
                    let mut varies = matches!(op, Op::Call(callee, _) if self.own.contains(callee));
                    op.for_each_operand(|v| varies |= self.values[v]);
                    let changes = matches!(op, Op::Store { .. } | Op::Atomic { .. } | Op::AtomicCas { .. });
                    if let Some(access) = op.access()
                        && changes
                        && (varies || differ)
                    {
                        self.own_array(access.array);
                    }
                    if let Op::Call(_, args) = op
                        && (varies || differ)
                    {
                        args.iter().for_each(|&arg| self.own_array(arg));
                    }
                    inst.results.iter().for_each(|&result| self.grow(result, varies));
                    // One thread after the other updates it: each finds what the one before has
                    // left.
                    if let Some(&read) = self.updates.get(&id) {
                        self.grow(read, varies);
                    }
                }
            }
        }
    }

    /// Of an array of each thread, which may hold other elements in each, all uses are those of
    /// single threads.
    fn own_array(&mut self, array: ValueId) {
        if let (Root::Local(local), Type::Local(_)) = (root(self.function, array), self.function.ty(array))
            && !self.function.ty(local).is_tile()
        {
            self.grow(local, true);
        }
    }

    fn iterations(
        &mut self,
        inst: &Inst,
        init: &[ValueId],
        params: &[ValueId],
        body: BlockId,
        differs: bool,
        differ: bool,
    ) {
        self.block(body, differ || differs);
        for (n, (&param, &result)) in params.iter().zip(&inst.results).enumerate() {
            let from = init.get(n).is_some_and(|&v| self.values[v]);
            let varies = differs || from || self.yields_varying(body, n);
            self.grow(param, varies);
            self.grow(result, varies);
        }
    }
}
