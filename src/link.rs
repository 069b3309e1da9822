//! Which library functions of a program are compiled already? The checker says which functions
//! programs share; each is lowered, simplified and finished once per compiler, and linked into
//! every program that has it.

use std::sync::Arc;

use crate::analysis::effects::EffectTable;
use crate::autodiff;
use crate::check::Checked;
use crate::check::tree::Function;
use crate::check::{Imported, LibraryFunction};
use crate::ids::Id;
use crate::ir::{FuncId, LinkedFunction, Module};
use crate::lower::{derivative, func_id, lower_function, without_functions};
use crate::memo::{Memo, Same};
use crate::passes::simplify_function;

/// Compiled library functions.
#[derive(Debug)]
pub struct Linker {
    kept: Memo<Same<LibraryFunction>, Compiled>,
}

/// A library function, and what it calls: places among what its check asked for.
#[derive(Clone, Debug)]
struct Compiled {
    code: Arc<LinkedFunction>,
    callees: Arc<[usize]>,
}

impl Linker {
    /// Nothing is compiled yet. `most`: the most functions that are kept, about 10 kB each with
    /// what is found out about them.
    pub fn new(most: usize) -> Linker {
        Linker { kept: Memo::new(most) }
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.kept.size()
    }

    /// The IR of a checked file, function by function in the same order. Those of the library that
    /// programs share are linked; the others are as they were lowered, with checks or without.
    pub fn link(&self, checked: &Checked, checks: bool) -> Module {
        let mut module = without_functions(checked);
        let mut effects = EffectTable::default();
        for function in checked.functions.values() {
            let linked = function.imported.as_ref().and_then(|imported| self.kept(function, imported, &mut module));
            if linked.is_none() {
                let id = module.functions.push(lower_function(checked, function, checks));
                if let Some(imported) = &function.imported {
                    self.compile(imported, &mut module, id, &mut effects);
                }
            }
        }
        module
    }

    /// Links a function that was compiled for an earlier program, with what that has of its
    /// callees.
    fn kept(&self, function: &Function, imported: &Imported, module: &mut Module) -> Option<FuncId> {
        let Compiled { code, callees } = self.kept.get(&Same(imported.function().clone()))?;
        let callees = callees.iter().map(|&at| func_id(imported.callees()[at])).collect();
        module.functions.link(&code, function.name.clone(), derivative(&function.derivative), callees)
    }

    /// Finishes a function of the library that was lowered, and keeps it.
    fn compile(&self, imported: &Imported, module: &mut Module, id: FuncId, effects: &mut EffectTable) {
        simplify_function(module, id, effects);
        if imported.function().is_rule() {
            autodiff::simplify_rule(module, id, effects);
        }
        let Some(code) = module.seal(id) else { return };
        let place = |callee: &FuncId| imported.callees().iter().position(|known| known.index() == callee.index());
        if let Some(callees) = module.functions.linked_callees(id).iter().map(place).collect() {
            self.kept.keep(Same(imported.function().clone()), Compiled { code, callees }, 1);
        }
    }
}
