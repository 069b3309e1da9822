//! What does the derivative of one function need to know of the module around it?

use std::cell::RefCell;

use super::finite::Sizes;
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::{FuncId, Module};

/// What the reverse of one function needs to know of the module.
pub struct World<'a> {
    pub module: &'a Module,
    pub effects: &'a EffectTable,
    /// The adjoint function of each differentiated device function that is called.
    pub adjoints: &'a IdMap<FuncId, FuncId>,
    /// Functions that were made by differentiation.
    pub generated: &'a IdSet<FuncId>,
    /// The function that places snapshots, where one is called ([`super::snapshots`]).
    pub next_snapshot: Option<FuncId>,
    /// What was found about functions so far.
    pub sizes: &'a RefCell<Sizes>,
    /// The names of all functions.
    pub names: &'a IdSet<String>,
}

impl World<'_> {
    /// A name that no function of the module has.
    pub fn unique_name(&self, wanted: String) -> String {
        if !self.names.contains(&wanted) {
            return wanted;
        }
        let numbered = (2..).map(|n| format!("{wanted}_{n}"));
        numbered.into_iter().find(|name| !self.names.contains(name)).expect("there are infinitely many")
    }
}
