//! Do the threads of a launch keep to the elements that its gradient takes them to keep to? Looked at before a gradient
//! run, on the interpreter, where the compiler could not prove it.

use crate::abi::LaunchBounds;
use crate::diag::Code;
use crate::ir::interp::{Outcome, Owners, Program};
use crate::ir::{FuncId, FunctionKind, Module, Phase};
use crate::run::args::Arguments;
use crate::run::{Result, devices, fail};

/// The instructions that are looked at: a second of the interpreter, about.
const STEPS: u64 = 50_000_000;

/// Fails where two threads store to one element although the backward entry of the kernel takes it that none do. The arrays
/// are as before afterwards. A launch that takes longer than [`STEPS`] is looked at in part.
pub fn check(module: &Module, forward: FuncId, bounds: &LaunchBounds, arguments: &mut Arguments) -> Result<()> {
    let kernel = &module.functions[forward];
    let Some(backward) = module.entry(&kernel.source_name, Phase::Backward) else { return Ok(()) };
    let stores = &module.functions[backward].assumed_disjoint;
    if stores.is_empty() {
        return Ok(());
    }
    let before = arguments.snapshot();
    let mut outcome = Outcome::new(|_| {});
    outcome.steps = Some(STEPS);
    outcome.owners = Some(Owners::of(stores.iter().copied()));
    // SAFETY: the block was made for this kernel, and nothing else runs on its arrays.
    unsafe { Program::new(module, forward).run(bounds, arguments.block(), 0, u64::MAX, &mut outcome) };
    let clash = outcome.owners.take().and_then(|owners| owners.clash);
    drop(outcome);
    arguments.restore(&before);
    let Some(clash) = clash else { return Ok(()) };
    let FunctionKind::Kernel { rank } = kernel.kind else { return Ok(()) };
    let thread = |n: u64| {
        let at: Vec<String> = devices::coordinates(bounds, rank.into(), n).iter().map(u64::to_string).collect();
        at.join(", ")
    };
    let message = format!(
        "AD-OVERWRITE: threads ({}) and ({}) store to one element, and the gradient assumes that no two threads do",
        thread(clash.threads[0]),
        thread(clash.threads[1])
    );
    let mut error = fail(Code::E1108, message);
    *error = (*error).label(clash.span, "the last one wins, whichever that is");
    error.help = Some("use `wp.atomic_add`, or give each thread elements of its own".to_string());
    Err(error)
}
