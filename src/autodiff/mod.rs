//! What is the gradient of a kernel? IR to IR: the backward entry of each kernel, right or refused.
//!
//! # The method
//!
//! A backward entry computes, in each thread, what the forward thread computed (the *replay*,
//! without its stores), then walks the same program from its end to its start (the *reverse sweep*)
//! and passes adjoints from results to operands.
//!
//! 1. **Normal form** (`passes`): functions that can't keep a function-level adjoint are inlined,
//!    `break`, `continue` and early `return` become flags, so that every region has one exit; local
//!    arrays become SSA values; loads of an element that the thread itself has just stored become
//!    the stored value.
//! 2. **Activity**: a value is active if it varies with a float in an array (or an active parameter
//!    of a function) and a store of floats (or a result) depends on it. Integers and bool never
//!    are. Only active values have adjoints.
//! 3. **Reverse of a block**: its instructions from last to first. The primal values that the rules
//!    read are those of the replay of the same block; what is not read after all is removed by
//!    `passes::dce`.
//! 4. **If**: the reverse is an `if` on the same condition; a branch replays its inside, or the
//!    forward `if` yields what is costly to compute again.
//! 5. **Loops**: the reverse loop runs the iterations from last to first. An iteration needs the
//!    carried values as they were at its start: nothing if no rule reads them (a sum keeps 0
//!    bytes), a closed form for counters, else one of four *stores* ([`Store`]). It replays its
//!    body from there, and reverses it. All stores give the same bits (except for what reverse
//!    loops add up through tiles, in [chains](crate::passes::reverse_sums::in_chains), where no
//!    loop is left).
//! 6. **Memory**: a load adds its adjoint to the array of adjoints; a store takes the adjoint of
//!    the element and leaves 0. A tile has such an array too, made where the reverse of the block
//!    begins that makes the tile. Where a rule reads a value that was loaded from memory that the
//!    launch overwrites, the *augmented* forward entry records it, and the backward entry takes the
//!    record.
//! 7. **Functions**: a pure function gets an adjoint function of its own; one with a
//!    [`crate::ir::Derivative::Rule`] is replaced by that.
//!
//! The adjoint of a kernel's array parameter `x` is the array in the adjoint parameter `adj_x`, or
//! when that is null the one behind `x`'s own gradient pointer; when both are null, `x` has no
//! gradient and nothing is written for it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;

use crate::analysis::effects::EffectTable;
use crate::autodiff::analysis::bits::BitFunctions;
use crate::autodiff::analysis::facts::ForwardFacts;
use crate::autodiff::analysis::finite::Sizes;
use crate::autodiff::analysis::world::World;
use crate::autodiff::storage::Strategy;
use crate::diag::{Code, Diagnostic, Diagnostics, Label, Level};
use crate::ids::{IdMap, IdSet};
use crate::ir::verify::verify_function;
use crate::ir::{Derivative, FuncId, Function, Module, Op, Phase};
use crate::limits::MAX_DIFFERENTIATED;
use crate::passes;

mod analysis;
mod emit;
pub mod jvp;
mod memo;
mod normal;
mod storage;
#[cfg(test)]
mod tests;

pub use memo::Adjoints;

/// What is wanted of [`differentiate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Make the backward entries of kernels. Without, only the bodies of
    /// [`crate::ir::Derivative::AdjointOf`] functions are written, which the forward code itself
    /// calls.
    pub backward: bool,
    /// The store for the state of all loops that it can serve; None: each loop gets the cheapest.
    pub store: Option<Store>,
    /// Floats that kernels are given by value have gradients too, in a buffer that backward entries
    /// take besides ([`crate::ir::TapeRole::Parameters`]).
    pub parameters: bool,
    /// Only make the findings: no kernel gets a backward entry, and nothing is simplified.
    pub findings: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { backward: true, store: None, parameters: false, findings: false }
    }
}

/// Simplifies a gradient rule of a module, which is simplified, further than other functions, as
/// [`differentiate`] does otherwise. `effects`: what is known of the module.
pub fn simplify_rule(module: &mut Module, rule: FuncId, effects: &mut EffectTable) {
    emit::finish::rule(module, rule, effects);
}

/// Appends to a simplified module the backward entry of each forward kernel that has none yet, and
/// its augmented entry where the launch overwrites what the backward entry needs. A gradient that
/// can't be right is an error, and the kernel keeps its forward entry alone. The new functions are
/// simplified; what nothing calls any more stays. `known`: the adjoints of linked functions that
/// earlier programs asked for.
pub fn differentiate(module: &mut Module, options: &Options, known: &Adjoints, diagnostics: &mut Diagnostics) {
    emit::finish::rules(module);
    let names = module.functions.values().map(|function| function.name.clone()).collect();
    let mut work = Work {
        module,
        options,
        known,
        effects: EffectTable::default(),
        prepared: IdSet::default(),
        adjoints: IdMap::default(),
        generated: IdSet::default(),
        made: Vec::new(),
        next_snapshot: None,
        sizes: RefCell::default(),
        names,
        polished: IdSet::default(),
        remembers: false,
        missing: IdSet::default(),
        losses: IdMap::default(),
        bit_functions: None,
        parameters: false,
        found: Vec::new(),
    };
    // Gradients that forward code asks for come first: kernels may be differentiated through them.
    let stubs: Vec<FuncId> = work
        .module
        .functions
        .iter()
        .filter(|(_, f)| matches!(f.derivative, Derivative::AdjointOf(_)))
        .map(|(id, _)| id)
        .collect();
    work.remembers = stubs.is_empty() && options.store.is_none();
    for id in stubs {
        work.fill_adjoint(id);
    }
    if options.backward {
        let of = |phase: Phase| move |(_, f): &(FuncId, &Function)| f.phase == phase;
        let done: HashSet<String> =
            work.module.kernels().filter(of(Phase::Backward)).map(|(_, f)| f.source_name.clone()).collect();
        let forward = work.module.kernels().filter(of(Phase::Forward));
        let open: Vec<FuncId> = forward.filter(|(_, f)| !done.contains(&f.source_name)).map(|(id, _)| id).collect();
        for id in open {
            let known = work.found.len();
            work.kernel(id);
            work.name_kernel(id, known);
        }
    }
    if !options.findings {
        emit::finish::run(work.module, &work.effects, &work.made, &work.polished);
        work.drop_idle_entries();
    }
    work.drop_kernels_without_adjoints();
    for diagnostic in work.found {
        diagnostics.push(diagnostic);
    }
}

/// Why a kernel has no backward entry that would do nothing.
const NOTHING_TO_DO: &str = "it stores no floats, so there is nothing to differentiate";

struct Work<'a> {
    module: &'a mut Module,
    options: &'a Options,
    known: &'a Adjoints,
    /// Those of the functions looked at so far, and of all that they call.
    effects: EffectTable,
    /// The functions that [`Work::prepare`] has been through.
    prepared: IdSet<FuncId>,
    /// The adjoint functions made so far; None: there is none, and it was said why.
    adjoints: IdMap<FuncId, Option<FuncId>>,
    /// The adjoint functions that were made here, which may be differentiated again.
    generated: IdSet<FuncId>,
    /// All that was made, callees before callers.
    made: Vec<FuncId>,
    /// The function that places snapshots, once one was needed.
    next_snapshot: Option<FuncId>,
    sizes: RefCell<Sizes>,
    /// Of all functions.
    names: IdSet<String>,
    /// Of the functions made, those that [`finish::polish`] has been through.
    polished: IdSet<FuncId>,
    /// Adjoints of library functions are kept ([`memo`]).
    remembers: bool,
    /// Those that could not be made although forward code calls them.
    missing: IdSet<FuncId>,
    /// The functions that were looked through for lost gradients, and whether one must not be lost
    /// there.
    losses: IdMap<FuncId, bool>,
    /// What functions do with the bits of floats, once it is asked for.
    bit_functions: Option<BitFunctions>,
    /// The kernel at hand is differentiated by its parameters too.
    parameters: bool,
    found: Vec<Diagnostic>,
}

impl Work<'_> {
    /// Says in the findings after the first `known` ones which kernel has no backward entry. What
    /// kc cannot reverse may be in a function that it calls: that is said once, for the first
    /// kernel, and of a function of another file at the kernel.
    fn name_kernel(&mut self, id: FuncId, known: usize) {
        let kernel = &self.module.functions[id];
        for mut finding in self.found.split_off(known) {
            let cause = finding.span();
            if finding.code == Code::W0607 {
                let outside = cause.filter(|cause| !kernel.span.contains(*cause));
                let is_known = |other: &Diagnostic| {
                    other.code == Code::W0607 && other.labels.iter().any(|label| Some(label.span) == outside)
                };
                if self.found.iter().any(is_known) {
                    continue;
                }
                if let Some(cause) = outside {
                    let message = format!("kernel `{}` calls it", kernel.source_name);
                    let at = if cause.file == kernel.span.file { finding.labels.len() } else { 0 };
                    finding.labels.insert(at, Label { span: kernel.span, message });
                }
                finding.message = format!("kernel `{}`: {}", kernel.source_name, finding.message);
            }
            self.found.push(finding);
        }
    }

    fn kernel(&mut self, id: FuncId) {
        if self.module.functions[id].derivative != Derivative::Body {
            return;
        }
        let functions = &self.module.functions;
        let blind = |id: FuncId| matches!(functions[id].derivative, Derivative::None(_));
        let native = functions.iter().any(|(id, function)| function.native.is_some() && blind(id));
        if native && let Some(text) = self.module.native_below(id, blind) {
            let what = format!("the CUDA text of `{}`, which has no `adj_snippet`", functions[text].source_name);
            let span = functions[text].span;
            self.found.push(analysis::refuse::limit(span, what));
            return;
        }
        if let Some(span) = self.module.grid_sync_in_derivatives(id) {
            self.found.push(analysis::refuse::limit(span, analysis::refuse::GRID_SYNC.to_string()));
            return;
        }
        let Some(mut normal) = self.normal_form(id) else { return };
        let structs = &self.module.structs;
        if !self.options.parameters || !normal.params().iter().any(|&p| normal.ty(p).holds_floats(structs)) {
            self.backward_entry(id, &normal);
            return;
        }
        let plain = normal.clone();
        normal::read_fields_once(&mut normal, structs);
        // What has no gradient by the parameters may have one by arrays.
        let before = self.found.len();
        self.parameters = true;
        let made = self.backward_entry(id, &normal);
        self.parameters = false;
        if made {
            return;
        }
        let reasons = self.found.split_off(before);
        self.losses = IdMap::default();
        if !self.backward_entry(id, &plain) {
            self.found.truncate(before);
            self.found.extend(reasons);
        } else if let Some(mut reason) = reasons.into_iter().max_by_key(|reason| reason.level) {
            reason.level = reason.level.min(Level::Warning);
            self.found
                .push(reason.note("so the numbers that the kernel is given by value get no gradients; its arrays do"));
        }
    }

    /// Makes the backward entry of a kernel in normal form, and the augmented one; says whether
    /// there is one now.
    fn backward_entry(&mut self, id: FuncId, normal: &Function) -> bool {
        if self.loses(id) {
            return false;
        }
        let mut forward = None;
        let backward = self.reverse(id, normal, |world, function, facts, strategy| {
            if !strategy.log.at.is_empty() {
                forward = Some(storage::log::augmented(world, function, &strategy.log));
            }
            emit::entry::backward(world, function, facts, strategy)
        });
        let Some((backward, _)) = backward else { return false };
        forward.is_none_or(|forward| self.push(forward).is_some()) && self.push(backward).is_some()
    }

    /// Adds a function to the module. Debug builds see whether it breaks the rules of the IR: then
    /// that is said, and there is none.
    fn push(&mut self, function: Function) -> Option<FuncId> {
        let id = self.add(function)?;
        self.note_made(id);
        Some(id)
    }

    /// Notes a function that was added to the module.
    fn note_made(&mut self, id: FuncId) {
        self.names.insert(self.module.functions[id].name.clone());
        self.effects.cover(self.module, id);
        self.made.push(id);
    }

    /// The same, for what is not finished. Release builds verify all functions once, when they are
    /// finished.
    fn add(&mut self, function: Function) -> Option<FuncId> {
        let span = function.span;
        let before = self.module.functions.len();
        let id = self.module.functions.push(function);
        if !cfg!(debug_assertions) {
            return Some(id);
        }
        let Err(faults) = verify_function(self.module, id) else { return Some(id) };
        self.found.push(analysis::refuse::fault(span, &faults.join("; ")));
        self.module.functions.truncate(before);
        None
    }

    /// A copy of a function in the form that can be reversed. None: it was said why not.
    fn normal_form(&mut self, id: FuncId) -> Option<Function> {
        self.prepare(id);
        let normal = normal::normal_form(self.module, &self.effects, id, &self.generated);
        let normal = normal.map_err(|diagnostic| self.found.push(diagnostic)).ok()?;
        self.bounded(id, &normal)?;
        Some(normal)
    }

    /// Builds the reverse of the function `id`, given in normal form, after those of the functions
    /// it calls, and returns these functions too. None: it was said why.
    fn reverse(
        &mut self,
        id: FuncId,
        normal: &Function,
        build: impl FnOnce(&World<'_>, &Function, &ForwardFacts, &Strategy) -> Result<Function, Vec<String>>,
    ) -> Option<(Function, Vec<FuncId>)> {
        let none = IdMap::default();
        let world = self.world(&none);
        let mut normal = Cow::Borrowed(normal);
        let rereads = analysis::reread::add(&world, &mut normal);
        // What the log takes in turn may be needed too.
        let mut logged = IdSet::default();
        let (normal, facts, strategy, lost) = loop {
            let mut function = Cow::Borrowed(&*normal);
            let log = match storage::log::thread(&mut function, &self.module.structs, &logged) {
                Ok(log) => log,
                Err(no) => {
                    self.found.push(analysis::refuse::limit(no.span, no.why));
                    return None;
                }
            };
            let mut facts = ForwardFacts::of(&world, &function, self.generated.contains(&id), self.parameters);
            facts.rereads.clone_from(&rereads);
            let reads = emit::reads::reads(&world, &function, &facts);
            let strategy = Strategy::of(&world, &function, &facts, &reads, self.options, log);
            let lost = strategy.lost(&function);
            if lost.is_empty() || !function.is_kernel() {
                break (function, facts, strategy, lost);
            }
            if let Some(replay) = self.replay_function(id) {
                let what =
                    format!("`{replay}` has a replay function, and the kernel overwrites what its gradient needs");
                self.found.push(analysis::refuse::limit(normal.span, what));
                return None;
            }
            logged.extend(strategy.to_log(&function, &facts, &self.module.structs));
        };
        let normal = &*normal;
        let findings = analysis::refuse::findings(&world, normal, &facts, &lost);
        let (shared, assumed_disjoint) = analysis::sharing::findings(&world, normal, &facts);
        let callees = emit::entry::active_callees(self.module, normal, &facts);
        let refused = !findings.is_empty()
            || shared.iter().any(|finding| finding.level == Level::Error || finding.code == Code::W0607);
        self.found.extend(findings.into_iter().chain(shared));
        if refused {
            return None;
        }
        let mut adjoints = IdMap::default();
        for &callee in &callees {
            adjoints.insert(callee, self.adjoint_of(callee)?);
        }
        if self.options.findings && normal.is_kernel() {
            if !normal.library {
                self.found.extend(storage::report::remarks(&self.world(&adjoints), normal, &strategy));
            }
            return None;
        }
        let checkpoints = |plan: &storage::plan::Plan| plan.store == Store::Checkpoint && plan.keeps();
        if self.next_snapshot.is_none() && strategy.plans.values().any(checkpoints) {
            let function = emit::snapshots::next_snapshot(&self.world(&adjoints), normal.span);
            self.next_snapshot = self.push(function);
        }
        let world = self.world(&adjoints);
        match build(&world, normal, &facts, &strategy) {
            Ok(mut function) => {
                function.assumed_disjoint = assumed_disjoint;
                if !normal.library {
                    self.found.extend(storage::report::remarks(&world, normal, &strategy));
                }
                Some((function, callees))
            }
            Err(faults) => {
                self.found.extend(faults.iter().map(|fault| analysis::refuse::fault(normal.span, fault)));
                None
            }
        }
    }

    fn world<'a>(&'a self, adjoints: &'a IdMap<FuncId, FuncId>) -> World<'a> {
        World {
            module: self.module,
            effects: &self.effects,
            adjoints,
            generated: &self.generated,
            next_snapshot: self.next_snapshot,
            sizes: &self.sizes,
            names: &self.names,
        }
    }

    /// A function that reverse code replaces by another one, among those that a function calls. The
    /// normal form holds that other one, so it is no forward code.
    fn replay_function(&self, id: FuncId) -> Option<String> {
        let replaced = |id: &FuncId| matches!(self.module.functions[*id].derivative, Derivative::Replay(_));
        let found = self.module.reached_from(id).into_iter().skip(1).find(replaced)?;
        Some(self.module.functions[found].source_name.clone())
    }

    /// Tells of gradients that get lost in a function and the functions that it calls, once each;
    /// says whether one must not.
    fn loses(&mut self, id: FuncId) -> bool {
        if let Some(&known) = self.losses.get(&id) {
            return known;
        }
        let function = &self.module.functions[id];
        // Nothing is said about the library, which calls nothing else.
        let silent = function.library || self.generated.contains(&id);
        self.losses.insert(id, false);
        if silent {
            return false;
        }
        let bits = self.bit_functions.get_or_insert_with(|| BitFunctions::of(self.module));
        let found = analysis::lossy::findings(self.module, &self.effects, bits, function, self.parameters);
        let mut refused = found.iter().any(|finding| finding.level == Level::Error);
        self.found.extend(found);
        for callee in self.module.functions.callees(id) {
            if self.module.functions[callee].derivative == Derivative::Body {
                refused |= self.loses(callee);
            }
        }
        self.losses.insert(id, refused);
        refused
    }

    /// Writes the body of a function that is to be the adjoint of another one.
    fn fill_adjoint(&mut self, id: FuncId) {
        let Derivative::AdjointOf(mut of) = self.module.functions[id].derivative else { return };
        // From here on it is a function like others, with zeros as its results.
        self.module.functions[id].derivative = Derivative::Body;
        self.generated.insert(id);
        self.sizes.get_mut().clear();
        if let Derivative::Replay(stand_in) = self.module.functions[of].derivative {
            of = stand_in;
        }
        let (name, span) = (self.module.functions[of].source_name.clone(), self.module.functions[id].span);
        let adjoint = match &self.module.functions[of].derivative {
            Derivative::Rule { adjoint, .. } => Some(*adjoint),
            Derivative::Zero(_) => return,
            Derivative::None(reason) => {
                self.found.push(analysis::refuse::no_gradient(&name, reason, span));
                None
            }
            _ => self.adjoint_of(of),
        };
        // The function of a rule is not called; others are, with all that they call.
        let waits = match adjoint {
            Some(rule) if matches!(self.module.functions[of].derivative, Derivative::Rule { .. }) => {
                self.module.grid_sync_below(rule)
            }
            _ => self.module.grid_sync_in_derivatives(of),
        };
        let adjoint = adjoint.filter(|_| waits.is_none());
        if let Some(span) = waits {
            self.found.push(analysis::refuse::limit(span, analysis::refuse::GRID_SYNC.to_string()));
        }
        match adjoint {
            Some(adjoint) => {
                let stub = &self.module.functions[id];
                self.module.functions[id] = emit::entry::forward_to(stub, adjoint);
                self.sizes.get_mut().clear();
            }
            None => {
                let reason = "kc cannot make it, and forward code asks for it with `wp.grad`";
                self.found.push(analysis::refuse::no_gradient(&name, reason, span));
                self.missing.insert(id);
            }
        }
    }

    /// Before a function is differentiated: writes the adjoints that it asks for, itself or in what
    /// it calls, and looks at the effects.
    fn prepare(&mut self, id: FuncId) {
        if !self.prepared.insert(id) {
            return;
        }
        for callee in self.module.functions.callees(id) {
            self.fill_adjoint(callee);
            self.prepare(callee);
            if let Derivative::Replay(stand_in) = self.module.functions[callee].derivative {
                self.prepare(stand_in);
            }
        }
        self.effects.cover(self.module, id);
    }

    /// Backward entries that do nothing: the kernel has nothing to differentiate, and is reported
    /// so.
    fn drop_idle_entries(&mut self) {
        let idle = |id: &FuncId| {
            let function = &self.module.functions[*id];
            // What only tells of an error changes nothing.
            let does = |op: &Op| !matches!(op, Op::Check(..)) && op.properties().has_side_effect();
            function.phase == Phase::Backward && !function.has(|inst| does(&inst.op))
        };
        let idle: Vec<String> =
            self.made.iter().filter(|id| idle(id)).map(|&id| self.module.functions[id].name.clone()).collect();
        if idle.is_empty() {
            return;
        }
        for &id in &self.made {
            let function = &self.module.functions[id];
            if idle.contains(&function.name)
                && let Some(kernel) = self.module.entry(&function.source_name.clone(), Phase::Forward)
            {
                self.module.functions[kernel].derivative = Derivative::Zero(NOTHING_TO_DO.to_string());
            }
        }
        passes::select(self.module, |kernel| !idle.contains(&kernel.name));
    }

    /// Kernels whose forward code asks for a gradient that there is not: they would compute
    /// something else.
    fn drop_kernels_without_adjoints(&mut self) {
        let mut bad = std::mem::take(&mut self.missing);
        if bad.is_empty() {
            return;
        }
        loop {
            let before = bad.len();
            for id in self.module.functions.ids() {
                if self.module.functions.callees(id).iter().any(|callee| bad.contains(callee)) {
                    bad.insert(id);
                }
            }
            if bad.len() == before {
                break;
            }
        }
        let names: HashSet<String> = bad.iter().map(|&id| self.module.functions[id].name.clone()).collect();
        passes::select(self.module, |kernel| !names.contains(&kernel.name));
    }

    /// The adjoint function of a device function.
    fn adjoint_of(&mut self, id: FuncId) -> Option<FuncId> {
        if let Some(&known) = self.adjoints.get(&id) {
            return known;
        }
        self.fill_adjoint(id);
        let reached = if self.remembers { memo::Reached::of(self.module, id) } else { None };
        let recalled = reached.as_ref().and_then(|reached| self.recall(id, reached));
        let made = recalled.or_else(|| self.make_adjoint(id, reached));
        self.adjoints.insert(id, made);
        self.generated.extend(made);
        made
    }

    /// Makes the adjoint of a function, and keeps it if it is one for other programs too.
    fn make_adjoint(&mut self, id: FuncId, reached: Option<memo::Reached>) -> Option<FuncId> {
        let before = (self.found.len(), self.next_snapshot);
        let normal = self.normal_form(id)?;
        let (function, asked) = self.reverse(id, &normal, emit::entry::adjoint)?;
        let Some(reached) = reached else { return self.push(function) };
        let made = self.add(function)?;
        emit::finish::polish(self.module, made, &self.effects);
        self.polished.insert(made);
        self.note_made(made);
        let unasked = before == (self.found.len(), self.next_snapshot);
        if unasked {
            reached.keep(self.known, self.module, made, &asked, &self.adjoints);
        }
        Some(made)
    }

    /// Refuses to differentiate a function that inlining and gradients of gradients made too large.
    fn bounded(&mut self, id: FuncId, normal: &Function) -> Option<()> {
        if normal.insts.len() <= MAX_DIFFERENTIATED {
            return Some(());
        }
        let function = &self.module.functions[id];
        let what = format!("`{}` has more than {MAX_DIFFERENTIATED} operations", function.source_name);
        self.found.push(analysis::refuse::limit(function.span, what));
        None
    }

    /// The adjoint of a function, if it was made for an earlier program.
    fn recall(&mut self, id: FuncId, reached: &memo::Reached) -> Option<FuncId> {
        let kept = reached.kept(self.known)?;
        for &asked in &kept.asked {
            self.adjoint_of(reached.ids[asked])?;
        }
        let name = self.world(&IdMap::default()).unique_name(format!("adj_{}", self.module.functions[id].name));
        let made = kept.link(self.module, reached, &self.adjoints, name)?;
        self.polished.insert(made);
        self.note_made(made);
        Some(made)
    }
}

/// Where the state of a loop waits for the reverse sweep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Store {
    /// No loop is left: as many copies of the body as it has iterations. Needs a constant number of
    /// iterations.
    Unroll,
    /// A local array with one slot per iteration. Needs a constant bound on the number of
    /// iterations.
    Stack,
    /// A buffer that the host provides, `[slot][thread]`. A thread that needs more slots than there
    /// are writes nothing beyond them and reports the number.
    Tape,
    /// A fixed number of snapshots; iterations between them are computed again (binomial
    /// checkpointing; Griewank and Walther, ACM TOMS 26(1), 2000).
    Checkpoint,
}
