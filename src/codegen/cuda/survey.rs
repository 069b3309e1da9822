//! What has to be known of all functions of a text before one is printed: their order, whom they
//! call, what their calls read and write, which operations on composites they use.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::effects::{Effects, FunctionEffects};
use crate::ids::{IdMap, IdSet};
use crate::ir::fingerprint::Fingerprints;
use crate::ir::{FuncId, Function, InstId, Module, Op};

/// What one walk over a function tells.
pub struct Summary {
    /// In order.
    pub calls: Vec<InstId>,
    /// What its own instructions read and write, calls left out.
    pub effects: Effects,
    /// The names of operations on composites.
    pub operations: BTreeSet<&'static str>,
}

impl Summary {
    pub fn of(function: &Function) -> Summary {
        let mut found = Summary { calls: Vec::new(), effects: Effects::default(), operations: BTreeSet::new() };
        function.walk(function.entry, &mut |id, inst| {
            if let Op::Call(..) = inst.op {
                return found.calls.push(id);
            }
            found.effects.join(Effects::of(function, inst));
            let name = if let Op::Unary(op, _) = inst.op {
                op.name()
            } else if let Op::Binary(op, ..) = inst.op {
                op.name()
            } else {
                return;
            };
            if inst.results.iter().any(|&r| function.ty(r).is_composite()) {
                found.operations.insert(name);
            }
        });
        found
    }

    /// The callees, in order; one that is called twice is listed twice.
    pub fn callees(&self, function: &Function) -> impl Iterator<Item = FuncId> {
        self.calls
            .iter()
            .filter_map(|&call| if let Op::Call(callee, _) = function.insts[call].op { Some(callee) } else { None })
    }
}

/// What is known of the functions of a module so far. Several texts of one module are printed over
/// one survey.
pub struct Survey<'a> {
    module: &'a Module,
    /// None: nothing is kept from text to text.
    fingerprints: Option<Fingerprints<'a>>,
    summaries: IdMap<FuncId, Arc<Summary>>,
    pub effects: FunctionEffects,
}

/// The functions of one text.
#[derive(Default)]
pub struct Order {
    seen: IdSet<FuncId>,
    /// Those to print, callees first, each with its fingerprint if its text may be kept.
    pub printed: Vec<(FuncId, Option<u128>)>,
    /// Those to name.
    pub named: Vec<FuncId>,
}

impl<'a> Survey<'a> {
    /// `keep`: library functions are looked up in a table ([`super::Texts`]).
    pub fn new(module: &'a Module, keep: bool) -> Survey<'a> {
        Survey {
            module,
            fingerprints: keep.then(|| Fingerprints::new(module)),
            summaries: IdMap::default(),
            effects: FunctionEffects::default(),
        }
    }

    /// Looks at some kernels and what they call.
    pub fn order(&mut self, kernels: &[FuncId]) -> Order {
        let mut order = Order::default();
        kernels.iter().for_each(|&kernel| self.visit(kernel, &mut order));
        order
    }

    /// What was found in a function that is to be printed.
    pub fn summary(&self, id: FuncId) -> Option<&Arc<Summary>> {
        self.summaries.get(&id)
    }

    fn visit(&mut self, id: FuncId, order: &mut Order) {
        if !order.seen.insert(id) {
            return;
        }
        let function = &self.module.functions[id];
        if function.cuda_name.is_some() && !function.is_kernel() {
            // It has no text, and computes a number from numbers.
            order.named.push(id);
            return;
        }
        let fingerprint = match &mut self.fingerprints {
            Some(fingerprints) if function.library && !function.is_kernel() => fingerprints.of(id),
            _ => None,
        };
        let known = self.summaries.get(&id).cloned();
        let is_new = known.is_none();
        let summary = known.unwrap_or_else(|| match self.module.functions.linked(id) {
            Some(linked) => linked.facts.get_or_find(|| Summary::of(function)),
            None => Arc::new(Summary::of(function)),
        });
        summary.callees(function).for_each(|callee| self.visit(callee, order));
        if is_new {
            self.effects.add(id, function, &summary);
            self.summaries.insert(id, summary);
        }
        order.printed.push((id, fingerprint));
        order.named.push(id);
    }
}
