//! What is the gradient of a kernel? IR to IR: the backward entry of each kernel, right or refused.
//!
//! # The method
//!
//! A backward entry computes, in each thread, what the forward thread computed (the *replay*, without its stores), then
//! walks the same program from its end to its start (the *reverse sweep*) and passes adjoints from results to operands.
//!
//! 1. **Normal form** (`passes`): functions that can't keep a function-level adjoint are inlined, `break`, `continue` and
//!    early `return` become flags, so that every region has one exit; local arrays become SSA values; loads of an element
//!    that the thread itself has just stored become the stored value.
//! 2. **Activity**: a value is active if it varies with a float in an array (or an active parameter of a function) and a
//!    store of floats (or a result) depends on it. Integers and bool never are. Only active values have adjoints.
//! 3. **Reverse of a block**: its instructions from last to first. The primal values that the rules read are those of the
//!    replay of the same block; what is not read after all is removed by `passes::dce`.
//! 4. **If**: the reverse is an `if` on the same condition; a branch replays its inside, or the forward `if` yields what
//!    is costly to compute again.
//! 5. **Loops**: the reverse loop runs the turns from last to first. A turn needs the carried values as they were at its
//!    start: nothing if no rule reads them (a sum keeps 0 bytes), a closed form for counters, else one of four *stores*
//!    ([`Store`]). It replays its body from there, and reverses it. All stores give the same bits.
//! 6. **Memory**: a load adds its adjoint to the array of adjoints; a store takes the adjoint of the element and leaves 0.
//!    Where a rule reads a value that was loaded from memory that the launch overwrites, the *augmented* forward entry
//!    records it, and the backward entry takes the record.
//! 7. **Functions**: a pure function gets an adjoint function of its own; one with a [`crate::ir::Derivative::Rule`] is
//!    replaced by that.
//!
//! The adjoint of a kernel's array parameter `x` is the array in the adjoint parameter `adj_x`, or when that is null the
//! one behind `x`'s own gradient pointer; when both are null, `x` has no gradient and nothing is written for it.

use std::collections::HashMap;

use self::facts::Facts;
use self::reverse::World;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::verify::verify_function;
use crate::ir::{Derivative, FuncId, Function, Module, Phase};

mod activity;
mod adjoints;
mod arrays;
mod calls;
mod entry;
mod facts;
pub mod floats;
pub mod jvp;
mod loops;
mod memory;
mod needed;
mod normal;
mod plan;
mod refuse;
mod replay;
mod reverse;
mod rules;
mod stores;
#[cfg(test)]
mod tests;

/// What is wanted of [`differentiate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Make the backward entries of kernels. Without, only the bodies of [`crate::ir::Derivative::AdjointOf`] functions are
    /// written, which the forward code itself calls.
    pub backward: bool,
    /// The store for the state of all loops that it can serve; None: each loop gets the cheapest.
    pub store: Option<Store>,
}

impl Default for Options {
    fn default() -> Self {
        Options { backward: true, store: None }
    }
}

/// Appends to a simplified module the backward entry of each forward kernel that has none yet, and its augmented entry
/// where the launch overwrites what the backward entry needs. A gradient that can't be right is an error, and the kernel
/// keeps its forward entry alone. The result is not simplified.
pub fn differentiate(module: &mut Module, options: &Options, diagnostics: &mut Diagnostics) {
    let mut work = Work { module, options, adjoints: HashMap::new(), found: Vec::new() };
    if options.backward {
        let kernels: Vec<FuncId> = work.module.kernels().map(|(id, _)| id).collect();
        for id in kernels {
            work.kernel(id);
        }
    }
    let stubs: Vec<(FuncId, FuncId)> = work
        .module
        .functions
        .iter()
        .filter_map(|(id, f)| if let Derivative::AdjointOf(of) = f.derivative { Some((id, of)) } else { None })
        .collect();
    for (id, of) in stubs {
        work.fill_adjoint(id, of);
    }
    for diagnostic in work.found {
        diagnostics.push(diagnostic);
    }
}

struct Work<'a> {
    module: &'a mut Module,
    options: &'a Options,
    /// The adjoint functions made so far; None: there is none, and it was said why.
    adjoints: HashMap<FuncId, Option<FuncId>>,
    found: Vec<Diagnostic>,
}

impl Work<'_> {
    fn kernel(&mut self, id: FuncId) {
        let kernel = &self.module.functions[id];
        if kernel.phase != Phase::Forward || kernel.derivative != Derivative::Body {
            return;
        }
        let name = &kernel.source_name;
        let done = |f: &Function| f.phase == Phase::Backward && f.source_name == *name;
        if self.module.functions.values().any(done) {
            return;
        }
        if let Some(normal) = self.normal_form(id)
            && let Some(backward) = self.reverse(&normal, entry::backward)
        {
            self.push(backward);
        }
    }

    /// Adds a function to the module, unless it breaks the rules of the IR: then that is said, and there is none.
    fn push(&mut self, function: Function) -> Option<FuncId> {
        let span = function.span;
        let before = self.module.functions.len();
        let id = self.module.functions.push(function);
        let Err(faults) = verify_function(self.module, id) else { return Some(id) };
        self.found.push(refuse::fault(span, &faults.join("; ")));
        self.module.functions = self.module.functions.values().take(before).cloned().collect();
        None
    }

    /// A copy of a function in the form that can be reversed. None: it was said why not.
    fn normal_form(&mut self, id: FuncId) -> Option<Function> {
        normal::normal_form(self.module, id).map_err(|diagnostic| self.found.push(diagnostic)).ok()
    }

    /// Builds the reverse of a function in normal form, after those of the functions it calls. None: it was said why.
    fn reverse(
        &mut self,
        normal: &Function,
        build: impl FnOnce(&World<'_>, &Function, &Facts) -> Result<Function, Vec<String>>,
    ) -> Option<Function> {
        let none = HashMap::new();
        let world = World { module: self.module, adjoints: &none };
        let facts = Facts::of(&world, normal, self.options);
        let findings = refuse::findings(&world, normal, &facts);
        let callees = entry::active_callees(self.module, normal, &facts);
        let refused = !findings.is_empty();
        self.found.extend(findings);
        if refused {
            return None;
        }
        let mut adjoints = HashMap::new();
        for callee in callees {
            adjoints.insert(callee, self.adjoint_of(callee)?);
        }
        let world = World { module: self.module, adjoints: &adjoints };
        match build(&world, normal, &facts) {
            Ok(function) => Some(function),
            Err(faults) => {
                self.found.extend(faults.iter().map(|fault| refuse::fault(normal.span, fault)));
                None
            }
        }
    }

    /// Writes the body of a function that is to be the adjoint of another one.
    fn fill_adjoint(&mut self, id: FuncId, of: FuncId) {
        let mut of = of;
        if let Derivative::Replay(stand_in) = self.module.functions[of].derivative {
            of = stand_in;
        }
        let adjoint = match &self.module.functions[of].derivative {
            Derivative::Rule { adjoint, .. } => Some(*adjoint),
            Derivative::Zero(_) => None,
            Derivative::None(reason) => {
                let (name, span) = (&self.module.functions[of].source_name, self.module.functions[id].span);
                self.found.push(refuse::no_gradient(name, reason, span));
                None
            }
            _ => self.adjoint_of(of),
        };
        if let Some(adjoint) = adjoint {
            let stub = &self.module.functions[id];
            self.module.functions[id] = entry::forward_to(stub, adjoint);
        }
    }

    /// The adjoint function of a device function.
    fn adjoint_of(&mut self, id: FuncId) -> Option<FuncId> {
        if let Some(&known) = self.adjoints.get(&id) {
            return known;
        }
        let normal = self.normal_form(id);
        let adjoint = normal.and_then(|normal| self.reverse(&normal, entry::adjoint));
        let made = adjoint.and_then(|function| self.push(function));
        self.adjoints.insert(id, made);
        made
    }
}

/// Where the state of a loop waits for the reverse sweep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Store {
    /// No loop is left: as many copies of the body as it has turns. Needs a constant number of turns.
    Unroll,
    /// A local array with one slot per turn. Needs a constant bound on the number of turns.
    Stack,
    /// A buffer that the host provides, `[slot][thread]`. A thread that needs more slots than there are writes nothing
    /// beyond them and reports the number.
    Tape,
    /// A fixed number of snapshots; turns between them are computed again (binomial checkpointing; Griewank and Walther,
    /// ACM TOMS 26(1), 2000).
    Checkpoint,
}
