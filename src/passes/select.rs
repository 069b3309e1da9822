//! Keeps chosen kernel entries and what they call: nothing else is worth compiling.

use crate::ids::IdVec;
use crate::ir::{FuncId, Function, Module};

/// Drops every function that none of the wanted entries reaches, through calls or derivatives. The order of the others
/// stays.
pub fn select(module: &mut Module, wanted: impl Fn(&Function) -> bool) {
    let reached = module.needed_by(module.kernels().filter(|(_, entry)| wanted(entry)).map(|(id, _)| id));
    if reached.values().all(|&reached| reached) {
        return;
    }
    let mut next = 0;
    let renamed: IdVec<FuncId, FuncId> = reached
        .values()
        .map(|&reached| {
            next += u32::from(reached);
            // Those that go have no name; unreachable instructions may call them, which nothing runs.
            FuncId(if reached { next - 1 } else { 0 })
        })
        .collect();
    let functions = std::mem::take(&mut module.functions);
    for (mut function, _) in functions.into_iter().zip(reached.values()).filter(|(_, reached)| **reached) {
        for named in function.derivative.functions_mut() {
            *named = renamed[*named];
        }
        function.for_each_callee_mut(|callee| *callee = renamed[*callee]);
        module.functions.push(function);
    }
}
