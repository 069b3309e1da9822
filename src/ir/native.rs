//! Which functions are CUDA text, and who reaches them?

use super::{FuncId, Module, Op};
use std::collections::HashSet;

impl Module {
    /// A function with [`super::Function::native`] that `from` calls, itself or through others, and of which `test` holds.
    pub fn native_below(&self, from: FuncId, test: impl Fn(FuncId) -> bool) -> Option<FuncId> {
        let (mut seen, mut open) = (HashSet::new(), vec![from]);
        while let Some(id) = open.pop() {
            let Some(function) = self.functions.get(id).filter(|_| seen.insert(id)) else { continue };
            if function.native.is_some() && test(id) {
                return Some(id);
            }
            function.walk(function.entry, &mut |_, inst| {
                if let Op::Call(callee, _) = inst.op {
                    open.push(callee);
                }
            });
        }
        None
    }
}
