//! What does a thread remember of the library's functions? Most of what a program consists of are instances of library
//! definitions, and one for given types is the same in every program but for its name and the numbers of what it calls.
//! So a thread keeps such instances, checked and simplified, for the programs that it compiles later ([`Kept`]).
//!
//! Why this can't give a wrong answer: library code sees the names of the library only, so that an instance depends on its
//! definition and its types. Not kept is what involves a type or function of the user, or a diagnostic, or a function that
//! is not kept. A kept function enters a program at the moment when it would have been checked, after its callees in the
//! order in which its check asked for them: names and numbers are given out as without it.
//!
//! [`MAX_KEPT`] bounds the memory. What an editor asks for ([`crate::check::Options::facts`]) is found only by checking, so there
//! nothing is shared.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use super::gradient;
use crate::check::tree::{Derivative, FnId, Function};
use crate::check::types::value::{Reported, Res};
use crate::check::{Checked, Checker, Definition, Instance, InstanceArg, InstanceKey};
use crate::ids::Id;
use crate::ir::{self, content::Contents};
use crate::memo::Memo;
use crate::types::{Element, Type};

/// The most functions that a thread keeps (about 10 kB each); when there are more, it begins anew.
const MAX_KEPT: usize = 4096;

thread_local! {
    static KEPT: RefCell<Memo<InstanceKey, Rc<Kept>>> = const { RefCell::new(Memo::new(MAX_KEPT)) };
}

/// An instance of a library definition that programs share, or the gradient rule of one.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The instance; of a rule, the instance that it belongs to.
    key: InstanceKey,
    definition: Rc<Definition>,
    /// What its check asked for, in the order of the first requests.
    callees: Vec<Rc<Kept>>,
    /// The name that it has where that is free.
    name: String,
    /// Once a program that needed it was simplified.
    done: OnceCell<Done>,
    /// It is a rule.
    is_rule: bool,
    /// The rule of its gradient, once a program needed that.
    rule: RefCell<Option<Rc<Kept>>>,
}

#[derive(Debug)]
struct Done {
    /// The checked function as its callers see it: parameters, no body.
    head: Function,
    /// Simplified. Calls name [`Kept::callees`] by their positions.
    code: ir::Function,
}

/// That a function of a program is shared with other programs.
#[derive(Clone, Debug)]
pub struct Shared {
    kept: Rc<Kept>,
    /// [`Kept::callees`] in this program.
    callees: Vec<FnId>,
    /// It and all that it calls have the names that they were kept with.
    as_kept: bool,
}

/// What was asked for while a function was checked, and how things were before.
#[derive(Debug)]
pub(in crate::check) struct Requests {
    callees: Vec<FnId>,
    /// Something failed, be it without a report.
    failed: bool,
    diagnostics: usize,
    structs: usize,
    functions: usize,
}

impl Shared {
    /// The function as [`crate::passes::simplify`] leaves it, under its name in the program; None if nobody has simplified
    /// it yet. `number`: where functions of the program stand in its IR.
    pub fn code(&self, function: &Function, number: impl Fn(FnId) -> ir::FuncId) -> Option<ir::Function> {
        let mut code = self.kept.done.get()?.code.clone();
        code.name.clone_from(&function.name);
        code.content = code.content.filter(|_| self.as_kept);
        code.for_each_callee_mut(|callee| *callee = number(self.callees[callee.index()]));
        Some(code)
    }

    /// Whether there is [`Shared::code`].
    fn is_simplified(&self) -> bool {
        self.kept.done.get().is_some()
    }

    /// Keeps what `function` has become, which is in its place of `module`, if that is right.
    fn keep(&self, function: &Function, contents: &mut Contents<'_>, module: &ir::Module, id: ir::FuncId) {
        let kept = &self.kept;
        let has_callees = || kept.callees.iter().all(|callee| callee.done.get().is_some());
        if self.is_simplified() || !has_callees() || ir::verify::verify_function(module, id).is_err() {
            return;
        }
        let mut code = module.functions[id].clone();
        // Callees that were kept before may have other names here.
        let mut as_kept = self.callees.iter().zip(&kept.callees).map(|(&callee, kept)| {
            let known = kept.done.get().and_then(|done| done.code.content);
            known.is_some() && contents.of(ir::FuncId::new(callee.index())) == known
        });
        code.calls = code.find_calls();
        code.content = if as_kept.all(|same| same) { contents.of(id) } else { None };
        for inst in code.insts.values_mut() {
            if let ir::Op::Call(callee, _) = &mut inst.op {
                let Some(at) = self.callees.iter().position(|known| known.index() == callee.index()) else { return };
                *callee = ir::FuncId::new(at);
            }
        }
        let locals = function.locals.values().take(function.param_count as usize);
        let head = Function {
            locals: locals.cloned().collect(),
            accumulators: Vec::new(),
            derivative: Derivative::Body,
            body: Vec::new(),
            shared: None,
            // The rest is as it stands, for its callers.
            name: String::new(),
            source_name: function.source_name.clone(),
            kernel_rank: None,
            library: true,
            cuda_name: function.cuda_name.clone(),
            native: None,
            param_count: function.param_count,
            results: function.results.clone(),
            by_ref: function.by_ref.clone(),
            out: function.out,
            span: function.span,
        };
        // Whoever kept it in the meantime kept the same.
        let _ = kept.done.set(Done { head, code });
        if !kept.is_rule {
            let forgotten = KEPT.with_borrow_mut(|all| all.keep(kept.key.clone(), kept.clone(), 1));
            // A rule may call its function, which keeps the rule: such circles are opened.
            forgotten.values().for_each(|kept| _ = kept.rule.take());
        }
    }
}

/// Whether a function of a program came as it was kept. `id`: its place.
pub fn is_simplified(checked: &Checked, id: ir::FuncId) -> bool {
    checked.functions[FnId::new(id.index())].shared.as_ref().is_some_and(Shared::is_simplified)
}

/// Keeps the shared functions of a program for later ones. `module` has the functions in the same places, simplified.
pub fn keep(checked: &Checked, module: &ir::Module) {
    let mut contents = Contents::new(module);
    for (function, id) in checked.functions.values().zip(module.functions.ids()) {
        if let Some(shared) = &function.shared {
            shared.keep(function, &mut contents, module, id);
        }
    }
}

impl Checker<'_> {
    /// Begins to note what is asked for.
    pub(in crate::check) fn start_requests(&mut self) {
        self.requests.push(Requests {
            callees: Vec::new(),
            failed: false,
            diagnostics: self.diagnostics.len(),
            structs: self.structs.len(),
            functions: self.functions.len(),
        });
    }

    /// Notes what an instance that was asked for came to.
    pub(in crate::check) fn note_request(&mut self, result: Res<FnId>) {
        if let Some(requests) = self.requests.last_mut() {
            match result {
                Ok(id) if requests.callees.contains(&id) => {}
                Ok(id) => requests.callees.push(id),
                Err(Reported) => requests.failed = true,
            }
        }
    }

    /// Ends what [`Checker::start_requests`] began: whether the function that was checked since then can be shared. `of`: the
    /// instance that it is, or whose rule it is.
    pub(in crate::check) fn end_requests(
        &mut self,
        definition: &Rc<Definition>,
        of: &InstanceKey,
        is_rule: bool,
    ) -> Option<Shared> {
        let requests = self.requests.pop()?;
        let clean = !requests.failed
            && self.facts.is_none()
            && definition.library()
            && requests.diagnostics == self.diagnostics.len()
            && requests.structs == self.structs.len()
            && of.args.iter().all(is_plain);
        if !clean {
            return None;
        }
        // What was made on the way, and what was there.
        let made = (requests.functions..self.functions.len()).map(FnId::new);
        if !made.chain(requests.callees.iter().copied()).all(|id| self.functions[id].shared.is_some()) {
            return None;
        }
        let kept = |id: &FnId| self.functions[*id].shared.as_ref().map(|shared| shared.kept.clone());
        let kept = Kept {
            key: of.clone(),
            is_rule,
            definition: definition.clone(),
            callees: requests.callees.iter().filter_map(kept).collect(),
            name: if is_rule { String::new() } else { self.wanted_name(definition, &of.args) },
            done: OnceCell::new(),
            rule: RefCell::default(),
        };
        Some(Shared { kept: Rc::new(kept), callees: requests.callees, as_kept: false })
    }

    /// A kept function, as a function of this program.
    pub(in crate::check) fn place_kept(&mut self, definition: &Rc<Definition>, key: &InstanceKey) -> Option<FnId> {
        if !definition.library() || self.facts.is_some() {
            return None;
        }
        let kept = KEPT.with_borrow(|all| all.get(key).cloned())?;
        self.place(&kept)
    }

    fn place(&mut self, kept: &Rc<Kept>) -> Option<FnId> {
        if let Some(&Instance::Done(id)) = self.instances.get(&kept.key) {
            return Some(id);
        }
        let id = self.place_as(kept, &kept.name)?;
        let underived = gradient::Underived { id, definition: kept.definition.clone(), args: kept.key.args.clone() };
        self.underived.push(underived);
        self.instances.insert(kept.key.clone(), Instance::Done(id));
        Some(id)
    }

    /// Adds a function behind those that it calls.
    fn place_as(&mut self, kept: &Rc<Kept>, name: &str) -> Option<FnId> {
        let done = kept.done.get()?;
        let callees = kept.callees.iter().map(|callee| self.place(callee)).collect::<Option<Vec<_>>>()?;
        let name = self.unique_name(name);
        let is_as_kept = |id: &FnId| self.functions[*id].shared.as_ref().is_some_and(|shared| shared.as_kept);
        let as_kept = name == done.code.name && callees.iter().all(is_as_kept);
        let shared = Some(Shared { kept: kept.clone(), callees, as_kept });
        Some(self.functions.push(Function { name, shared, ..done.head.clone() }))
    }

    /// The kept rule of a function of this program, as a function of this program.
    pub(in crate::check) fn place_rule(&mut self, of: FnId) -> Option<FnId> {
        let function = &self.functions[of];
        let rule = function.shared.as_ref()?.kept.rule.borrow().clone()?;
        let name = format!("adj_{}", function.name);
        self.place_as(&rule, &name)
    }

    /// Keeps the rule of a function, which was checked for this program.
    pub(in crate::check) fn keep_rule(&mut self, of: FnId, rule: FnId) {
        if let (Some(of), Some(rule)) = (&self.functions[of].shared, &self.functions[rule].shared) {
            of.kept.rule.replace(Some(rule.kept.clone()));
        }
    }
}

/// Types that mean the same in every program.
fn is_plain(arg: &InstanceArg) -> bool {
    let element = match arg {
        InstanceArg::Type(Type::Array(array)) => array.element,
        InstanceArg::Type(Type::Local(array)) => array.element,
        InstanceArg::Type(Type::Struct(_)) | InstanceArg::Function(_) | InstanceArg::Unknown => return false,
        InstanceArg::Type(_) => return true,
    };
    !matches!(element, Element::Struct(_))
}
