//! Keeps chosen kernel entries and what they call: nothing else is worth compiling.

use std::collections::HashMap;

use crate::ir::{FuncId, Function, Module, Op};

/// Drops every function that none of the wanted entries reaches, through calls or derivatives. The order of the others
/// stays.
pub fn select(module: &mut Module, wanted: impl Fn(&Function) -> bool) {
    let mut reached: Vec<FuncId> = module.kernels().filter(|(_, entry)| wanted(entry)).map(|(id, _)| id).collect();
    let mut next = 0;
    while let Some(&caller) = reached.get(next) {
        next += 1;
        let function = &module.functions[caller];
        for named in function.derivative.functions() {
            if !reached.contains(&named) {
                reached.push(named);
            }
        }
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Call(callee, _) = inst.op
                && !reached.contains(&callee)
            {
                reached.push(callee);
            }
        });
    }
    reached.sort();
    let renamed: HashMap<FuncId, FuncId> =
        reached.iter().enumerate().map(|(new, &old)| (old, FuncId(new as u32))).collect();
    let functions = std::mem::take(&mut module.functions);
    for (id, function) in functions.iter() {
        if !renamed.contains_key(&id) {
            continue;
        }
        let mut function = function.clone();
        for named in function.derivative.functions_mut() {
            *named = renamed[named];
        }
        for inst in function.insts.values_mut() {
            // Unreachable instructions may call functions that are gone; nothing runs them.
            if let Op::Call(callee, _) = &mut inst.op {
                *callee = renamed.get(callee).copied().unwrap_or(FuncId(0));
            }
        }
        module.functions.push(function);
    }
}
