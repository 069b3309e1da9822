//! IR to simpler IR. This file is the table of contents: order and reason.
//!
//! The CUDA text is printed from what comes out, so the passes keep source names and structure: they remove and replace
//! single instructions, carried values and branches that are never taken, and move nothing. They never change a result:
//! floats keep every bit (which NaN a NaN is aside). An access whose value nothing uses goes, and its bounds check with it.
//!
//! | order | pass | why here |
//! |---|---|---|
//! | 1 | [`rewrite`] with the rules of [`fold`] and [`algebra`] | one walk in program order sees operands before uses |
//! | 2 | [`dce`] | what the rewriting left unused; fewer carried values let 1 find more |
//! | 3 | [`select()`] | calls that are gone no longer keep their functions |
//!
//! 1 and 2 repeat until nothing changes ([`round`]). A user's choice of kernels is a [`select()`] before all this.
//!
//! The others bring a function into a form that another transformation needs; they run on copies that it makes:
//! [`single_exit`] removes `break`, `continue` and early `return`; [`inline`] replaces calls by the code they run;
//! [`unroll`] makes straight code of short loops; [`local_arrays`] makes values of arrays that only this thread sees;
//! [`adjacent`] joins neighbouring branches on one condition; [`sink`] makes branches of choices between values that may not exist; [`forward_loads`] reads no element again that this thread has just written. [`mod@copy`] is what repeats code, for these and for others.

pub mod adjacent;
pub mod algebra;
pub mod copy;
pub mod dce;
pub mod fold;
pub mod forward_loads;
pub mod inline;
pub mod local_arrays;
pub mod loops;
mod rebuild;
pub mod rewrite;
mod select;
#[cfg(test)]
mod select_tests;
pub mod single_exit;
pub mod sink;
#[cfg(test)]
mod tests;
pub mod unroll;

pub use select::select;

use crate::analysis::effects::EffectTable;
use crate::ids::IdVec;
use crate::ir::verify::{verify, verify_function};
use crate::ir::{FuncId, Function, InstId, Module, Op};
use crate::types::StructTable;

/// More rounds than real programs need: each takes at least one thing away, most do all in two.
const MAX_ROUNDS: usize = 10;

/// Runs all passes in order. Debug builds verify the module after every pass; the driver verifies the result always.
pub fn simplify(module: &mut Module) {
    simplify_functions(module, |_| false);
    drop_unneeded(module);
}

/// Steps 1 and 2, for all functions but those that are simple already.
pub fn simplify_functions(module: &mut Module, simple: impl Fn(FuncId) -> bool) {
    let mut effects = EffectTable::default();
    for id in module.functions.ids().filter(|&id| !simple(id)) {
        // What it calls is simple by now: callees stand first, where the compiler made the module.
        for callee in module.functions[id].callees() {
            effects.cover(module, callee);
        }
        for _ in 0..MAX_ROUNDS {
            let more = round(&mut module.functions[id], &module.structs, &effects);
            check("round", module, || verify_function(module, id));
            if !more {
                break;
            }
        }
        forget_calls(&mut module.functions[id]);
    }
}

/// Steps 1 and 2, once; says whether doing them again may find more.
///
/// A walk replaces operands before it comes to their uses, and a sweep takes everything that nothing needs. What they can
/// leave for each other is little: an operation that may have a simpler form in turn, uses of what a loop carries without
/// changing it, and a `while` whose condition turned out to fail after the walk had asked for it.
pub fn round(function: &mut Function, structs: &StructTable, effects: &EffectTable) -> bool {
    let walked = rewrite::walk(function, structs);
    let swept = dce::sweep(function, effects);
    walked.unfinished || swept.replaced || walked.changed && swept.has_while
}

/// Instructions that stand in no block any more name no function: what they called may go.
pub fn forget_calls(function: &mut Function) {
    let mut stands: IdVec<InstId, bool> = function.insts.ids().map(|_| false).collect();
    function.walk(function.entry, &mut |id, _| stands[id] = true);
    for (inst, stands) in function.insts.values_mut().zip(stands) {
        if !stands && matches!(inst.op, Op::Call(..)) {
            inst.op = Op::Zero;
        }
    }
}

/// Step 3.
pub fn drop_unneeded(module: &mut Module) {
    // A module without kernels is a library: all of it is wanted.
    if module.kernels().next().is_some() {
        select(module, |_| true);
        check("select", module, || verify(module));
    }
}

/// A pass that breaks a rule is a fault of kc, found in debug builds and tests.
fn check(pass: &str, module: &Module, verified: impl Fn() -> Result<(), Vec<String>>) {
    if cfg!(debug_assertions)
        && let Err(errors) = verified()
    {
        panic!("after pass {pass}: {}\n{}", errors.join("\n"), crate::ir::print::print(module));
    }
}
