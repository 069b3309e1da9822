//! Keeps chosen kernel entries and what they call: nothing else is worth compiling.

use crate::ir::{Function, Module};

/// Drops every function that none of the wanted entries reaches, through calls or derivatives. The
/// order of the others stays.
pub fn select(module: &mut Module, wanted: impl Fn(&Function) -> bool) {
    let reached = module.needed_by(module.kernels().filter(|(_, entry)| wanted(entry)).map(|(id, _)| id));
    if reached.values().all(|&reached| reached) {
        return;
    }
    module.functions.retain(&reached);
}
