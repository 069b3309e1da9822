//! Which form of a module is for readers?

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::{Compiler, Gradients};
use crate::diag::Diagnostics;
use crate::ir::{self, Module};
use crate::{autodiff, passes};

/// A module with its short loops in place. It is differentiated when it is first asked for: most
/// verbs never ask.
#[derive(Debug)]
pub struct Readable {
    loops: Module,
    gradients: Gradients,
    made: OnceLock<Option<Module>>,
}

impl Readable {
    pub fn new(loops: Module, gradients: Gradients) -> Readable {
        Readable { loops, gradients, made: OnceLock::new() }
    }

    /// The module with its gradients, if it has the same entries with the same parameters as
    /// `machine`, the one with loops written out: headers and descriptions tell of both.
    pub fn module(&self, machine: &Module, compiler: &Compiler) -> Option<&Module> {
        let make = || {
            let mut module = self.loops.clone();
            // The findings are those of the other module, which has told them.
            let ignored = &mut Diagnostics::default();
            autodiff::differentiate(&mut module, &self.gradients, &compiler.cache.adjoints, ignored);
            passes::pipelines::drop_tests(&mut module);
            passes::select(&mut module, |_| true);
            passes::fast_math::spread(&mut module);
            let sound = ir::verify::verify(&module);
            debug_assert_eq!(sound, Ok(()), "the module for readers");
            (sound.is_ok() && entries(&module) == entries(machine)).then_some(module)
        };
        self.made.get_or_init(make).as_ref()
    }
}

/// The names of the entries, with the types of their parameters.
fn entries(module: &Module) -> BTreeMap<&str, Vec<crate::types::Type>> {
    let types = |f: &ir::Function| f.params().iter().map(|&param| f.ty(param)).collect();
    module.kernels().map(|(_, f)| (f.name.as_str(), types(f))).collect()
}
