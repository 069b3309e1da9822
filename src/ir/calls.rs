//! Who calls whom?

use super::{FuncId, Function, Module, Op};
use crate::ids::{IdSet, IdVec};

impl Function {
    /// Whether it is known without a look that no instruction calls anything.
    pub fn is_leaf(&self) -> bool {
        self.leaf && self.content.is_some()
    }

    /// Whether no instruction calls anything, be it one that stands in no block any more.
    pub fn calls_nothing(&self) -> bool {
        !self.insts.values().any(|inst| matches!(inst.op, Op::Call(..)))
    }

    /// The functions that a function calls, in the order of the calls; one that is called twice stands there twice.
    pub fn callees(&self) -> Vec<FuncId> {
        let mut found = Vec::new();
        if self.is_leaf() {
            return found;
        }
        self.walk(self.entry, &mut |_, inst| {
            if let Op::Call(callee, _) = inst.op {
                found.push(callee);
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
            let Some(function) = self.functions.get(id).filter(|function| enter(function)) else { continue };
            if seen.insert(id) {
                order.push(id);
                open.extend(function.callees());
            }
        }
        order
    }

    /// Of each function whether it is one of `from`, or reached from them through calls or derivatives.
    pub fn needed_by(&self, from: impl Iterator<Item = FuncId>) -> IdVec<FuncId, bool> {
        let mut work: Vec<FuncId> = from.collect();
        let mut needed: IdVec<FuncId, bool> = self.functions.ids().map(|_| false).collect();
        while let Some(id) = work.pop() {
            if !std::mem::replace(&mut needed[id], true) {
                work.extend(self.functions[id].derivative.functions());
                work.extend(self.functions[id].callees());
            }
        }
        needed
    }

    /// A function that is CUDA text ([`Function::native`]), among a function and those that it calls, itself or through
    /// others, and of which `test` holds.
    pub fn native_below(&self, from: FuncId, test: impl Fn(FuncId) -> bool) -> Option<FuncId> {
        self.reached_from(from).into_iter().find(|&id| self.functions[id].native.is_some() && test(id))
    }
}
