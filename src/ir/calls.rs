//! Who calls whom?

use super::{FuncId, Function, Inst, InstId, Module, Op};
use crate::ids::{IdSet, IdVec};
use crate::source::Span;

impl Function {
    /// The instructions that call, in order. None if there is also a call that is in no block.
    pub(super) fn standing_calls(&self) -> Option<Box<[InstId]>> {
        let is_call = |inst: &Inst| matches!(inst.op, Op::Call(..));
        let mut found = Vec::new();
        self.walk(self.entry, &mut |id, inst| found.extend(is_call(inst).then_some(id)));
        (found.len() == self.insts.values().filter(|inst| is_call(inst)).count()).then(|| found.into())
    }

    /// Calls `f` on all callees, in place, those of calls that stand in no block too.
    pub(super) fn for_each_callee_mut(&mut self, mut f: impl FnMut(&mut FuncId)) {
        for inst in self.insts.values_mut() {
            if let Op::Call(callee, _) = &mut inst.op {
                f(callee);
            }
        }
    }

    /// The functions that a function calls, in the order of the calls; one that is called twice is
    /// there twice. Of a function of a module, [`super::Functions::callees`] is quicker.
    pub fn callees(&self) -> Vec<FuncId> {
        let mut found = Vec::new();
        self.walk(self.entry, &mut |_, inst| {
            if let Op::Call(callee, _) = inst.op {
                found.push(callee);
            }
        });
        found
    }

    /// Where it waits itself for all threads of the launch.
    fn grid_sync(&self) -> Option<Span> {
        let mut found = None;
        self.walk(self.entry, &mut |_, inst| {
            if matches!(inst.op, Op::GridSync) && found.is_none() {
                found = Some(inst.span);
            }
        });
        found
    }
}

impl Module {
    /// A function and those that it calls, itself or through others, each once.
    pub fn reached_from(&self, from: FuncId) -> Vec<FuncId> {
        self.reached_through(from, |_| true)
    }

    /// The same, without those of which `enter` does not hold and what only they call.
    pub fn reached_through(&self, from: FuncId, enter: impl Fn(&Function) -> bool) -> Vec<FuncId> {
        let (mut seen, mut open, mut order) = (IdSet::default(), vec![from], Vec::new());
        while let Some(id) = open.pop() {
            if self.functions.get(id).is_some_and(&enter) && seen.insert(id) {
                order.push(id);
                open.extend(self.functions.callees(id));
            }
        }
        order
    }

    /// Of each function whether it is one of `from`, or reached from them through calls or
    /// derivatives.
    pub fn needed_by(&self, from: impl Iterator<Item = FuncId>) -> IdVec<FuncId, bool> {
        let mut work: Vec<FuncId> = from.collect();
        let mut needed: IdVec<FuncId, bool> = self.functions.ids().map(|_| false).collect();
        while let Some(id) = work.pop() {
            if !std::mem::replace(&mut needed[id], true) {
                work.extend(self.functions[id].derivative.functions());
                work.extend(self.functions.callees(id));
            }
        }
        needed
    }

    /// A function that is CUDA text ([`Function::native`]), among a function and those that it
    /// calls, itself or through others, and of which `test` holds.
    pub fn native_below(&self, from: FuncId, test: impl Fn(FuncId) -> bool) -> Option<FuncId> {
        self.reached_from(from).into_iter().find(|&id| self.functions[id].native.is_some() && test(id))
    }

    /// Where a function, or one that it calls, waits for all threads of the launch
    /// ([`Op::GridSync`]).
    pub fn grid_sync_below(&self, from: FuncId) -> Option<Span> {
        self.reached_from(from).into_iter().find_map(|id| self.functions[id].grid_sync())
    }

    /// The same, also in the derivatives that are written for them.
    pub fn grid_sync_in_derivatives(&self, from: FuncId) -> Option<Span> {
        let needed = self.needed_by(std::iter::once(from));
        needed.iter().filter(|(_, needed)| **needed).find_map(|(id, _)| self.functions[id].grid_sync())
    }
}
