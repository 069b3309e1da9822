//! Which functions may take a GPU's approximations? Kernels that ask for it
//! ([`Function::fast_math`](crate::ir::Function::fast_math)), all entries of them, and what only
//! they call: a function that another kernel calls too is as exact for all. A kernel whose gradient
//! compares bits that both entries compute ([`rounding`]) stays exact: approximations are joined as
//! the code around them allows.
//!
//! Nothing but code generation for GPUs asks, so that this runs when gradients are made.

use std::collections::HashSet;

use crate::analysis::rounding;
use crate::ir::{FuncId, Module};

/// Marks every kernel.
pub fn mark_all(module: &mut Module) {
    mark(module, |_| true);
}

/// Marks kernels.
pub fn mark(module: &mut Module, wanted: impl Fn(&crate::ir::Function) -> bool) {
    let kernels: Vec<FuncId> = module.kernels().filter(|(_, kernel)| wanted(kernel)).map(|(id, _)| id).collect();
    kernels.into_iter().for_each(|id| module.functions[id].fast_math = true);
}

/// Marks the other entries of marked kernels, and the functions that they alone call.
pub fn spread(module: &mut Module) {
    let fast: HashSet<String> =
        module.kernels().filter(|(_, kernel)| kernel.fast_math).map(|(_, kernel)| kernel.source_name.clone()).collect();
    if fast.is_empty() {
        return;
    }
    mark(module, |kernel| fast.contains(&kernel.source_name));
    for id in rounding::as_written(module) {
        if module.functions[id].is_kernel() {
            module.functions[id].fast_math = false;
        }
    }
    let kernels = |fast: bool| module.kernels().filter(move |(_, kernel)| kernel.fast_math == fast).map(|(id, _)| id);
    let calls = |from: Vec<FuncId>| {
        let (mut work, mut found) = (from, HashSet::new());
        while let Some(id) = work.pop() {
            if found.insert(id) {
                work.extend(module.functions.callees(id));
            }
        }
        found
    };
    let exact = calls(kernels(false).collect());
    let callees: Vec<FuncId> = calls(kernels(true).collect()).difference(&exact).copied().collect();
    callees.into_iter().for_each(|id| module.functions[id].fast_math = true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    #[test]
    fn what_an_exact_kernel_calls_stays_exact() {
        let text = "func @own() {\n  return\n}\nfunc @both() {\n  call @own()\n  return\n}\nfunc @alone() {\n  return\n}\n\
                    kernel @a() rank 1 fast_math {\n  call @both()\n  call @alone()\n  return\n}\n\
                    kernel @b() rank 1 {\n  call @both()\n  return\n}\n";
        let mut module = parse(text).expect("IR");
        spread(&mut module);
        let fast: Vec<&str> = module.functions.values().filter(|f| f.fast_math).map(|f| f.name.as_str()).collect();
        assert_eq!(fast, ["alone", "a"]);
    }
}
