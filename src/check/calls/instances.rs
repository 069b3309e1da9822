//! Which functions of the library were checked already? Most of what a program consists of are
//! instances of library definitions, and one for given types is the same in every program except
//! for its name and the numbers of what it calls. So a compiler keeps such instances for the
//! programs that it checks later ([`LibraryFunction`]).
//!
//! Why this can't give a wrong answer: library code sees the names of the library only, so that an
//! instance depends on its definition and its types. Not kept is what involves a type or function
//! of the user, or a diagnostic, or a function that is not kept. A kept function enters a program
//! at the moment when it would have been checked, after its callees in the order in which its check
//! asked for them: names and numbers are given out as without it.
//!
//! What an editor asks for ([`crate::check::Options::facts`]) is found only by checking, so there
//! nothing is imported.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::check::Checker;
use crate::check::names::parses::Parses;
use crate::check::state::definition::{
    Callees, Definition, Imported, Instance, InstanceArg, InstanceKey, Key, LibraryFunction, Requests, Underived,
};
use crate::check::tree::{FnId, Function};
use crate::check::types::value::{Reported, Res};
use crate::ids::Id;
use crate::library::Library;
use crate::memo::{Memo, lock};
use crate::source::header::Header;
use crate::types::{Element, Type};

/// The library, and what was checked of it.
#[derive(Debug)]
pub struct Instances {
    pub(in crate::check) library: Library,
    /// The definitions of entries by name. They mean the same in every program, and so do their
    /// parameters.
    definitions: Mutex<HashMap<String, Arc<[Arc<Definition>]>>>,
    functions: Memo<Key, Arc<LibraryFunction>>,
    /// The files that programs import.
    pub(in crate::check) parses: Parses,
    /// The C headers of packages, by their folders.
    pub(in crate::check) headers: Memo<PathBuf, Arc<Header>>,
}

/// The headers that are kept.
const HEADERS: usize = 16;

impl LibraryFunction {
    /// The function with its body.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Whether it is the gradient rule of another one.
    pub fn is_rule(&self) -> bool {
        self.key.is_rule
    }

    /// The function as its callers see it: parameters, no body.
    fn head(&self, name: String, imported: Imported) -> Function {
        let Function {
            name: _,
            source_name,
            kernel_rank,
            library,
            by_block,
            by_thread,
            cuda_name,
            gives,
            native,
            locals,
            param_count,
            results,
            nested,
            accumulators: _,
            by_ref,
            arrays,
            derivative,
            body: _,
            named: _,
            span,
            imported: _,
        } = &self.function;
        Function {
            name,
            source_name: source_name.clone(),
            kernel_rank: *kernel_rank,
            library: *library,
            by_block: *by_block,
            by_thread: *by_thread,
            cuda_name: cuda_name.clone(),
            gives: *gives,
            native: native.clone(),
            locals: locals.values().take(*param_count as usize).cloned().collect(),
            param_count: *param_count,
            results: results.clone(),
            nested: nested.clone(),
            accumulators: Vec::new(),
            by_ref: by_ref.clone(),
            arrays: arrays.clone(),
            derivative: derivative.clone(),
            body: Vec::new(),
            named: Default::default(),
            span: *span,
            imported: Some(imported),
        }
    }
}

impl Imported {
    pub fn function(&self) -> &Arc<LibraryFunction> {
        &self.function
    }

    /// The functions of the program that its check asked for.
    pub fn callees(&self) -> &[FnId] {
        &self.callees
    }

    /// The function of the program that the library function's body calls `id`.
    pub fn callee(&self, id: FnId) -> FnId {
        let at = self.function.callees.iter().position(|(known, _)| *known == id);
        at.map_or(id, |at| self.callees[at])
    }
}

impl Instances {
    /// Nothing is known yet. `most`: the most functions that are kept, some kB each; when there are
    /// more, all are forgotten.
    pub fn new(most: usize) -> Instances {
        Instances {
            library: Library::default(),
            definitions: Mutex::default(),
            functions: Memo::new(most),
            parses: Parses::default(),
            headers: Memo::new(HEADERS),
        }
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.functions.size()
    }

    /// The definitions of this name, made of the library's entries if this is the first time.
    pub(in crate::check) fn definitions(
        &self,
        name: &str,
        make: impl FnOnce() -> Arc<[Arc<Definition>]>,
    ) -> Arc<[Arc<Definition>]> {
        if let Some(known) = lock(&self.definitions).get(name) {
            return known.clone();
        }
        let made = make();
        // Another thread may have been quicker: a definition is known by its address.
        lock(&self.definitions).entry(name.to_string()).or_insert(made).clone()
    }
}

impl Checker<'_> {
    /// Begins to note what is asked for.
    pub(in crate::check) fn start_requests(&mut self) {
        self.instances.requests.push(Requests {
            callees: Vec::new(),
            failed: false,
            diagnostics: self.diagnostics.len(),
            structs: (self.output.structs.len(), self.instances.structs_named),
            functions: self.output.functions.len(),
        });
    }

    /// Notes what an instance that was asked for came to.
    pub(in crate::check) fn note_request(&mut self, result: Res<FnId>) {
        if let Some(requests) = self.instances.requests.last_mut() {
            match result {
                Ok(id) if requests.callees.contains(&id) => {}
                Ok(id) => requests.callees.push(id),
                Err(Reported) => requests.failed = true,
            }
        }
    }

    /// Ends what [`Checker::start_requests`] began: what the function asked for that was checked
    /// since then; None if it is not one that programs share. `of`: the instance that it is, or
    /// whose rule it is.
    pub(in crate::check) fn end_requests(&mut self, definition: &Definition, of: &InstanceKey) -> Option<Callees> {
        let requests = self.instances.requests.pop()?;
        let clean = !requests.failed
            && self.output.facts.is_none()
            && definition.library()
            && requests.diagnostics == self.diagnostics.len()
            && requests.structs == (self.output.structs.len(), self.instances.structs_named)
            && of.args.iter().all(is_plain);
        let shared = |id: FnId| Some(self.output.functions[id].imported.as_ref()?.function.clone());
        // What was made on the way, and what was there.
        if !clean || !(requests.functions..self.output.functions.len()).all(|id| shared(FnId::new(id)).is_some()) {
            return None;
        }
        requests.callees.into_iter().map(|id| Some((id, shared(id)?))).collect()
    }

    /// Keeps a function that was checked for this program, which becomes an imported one.
    pub(in crate::check) fn keep(
        &mut self,
        definition: &Arc<Definition>,
        of: &InstanceKey,
        is_rule: bool,
        callees: Callees,
        function: Function,
    ) -> Function {
        let here = callees.iter().map(|(id, _)| *id).collect();
        let name = if is_rule { String::new() } else { self.wanted_name(definition, &of.args) };
        let key = Key { of: of.clone(), is_rule };
        let in_program = function.name.clone();
        let made =
            Arc::new(LibraryFunction { key: key.clone(), definition: definition.clone(), callees, name, function });
        self.known.functions.keep(key, made.clone(), 1);
        made.head(in_program, Imported { function: made.clone(), callees: here })
    }

    /// A kept function, as a function of this program.
    pub(in crate::check) fn import(&mut self, key: &InstanceKey) -> Option<FnId> {
        if !key.definition.0.library() || self.output.facts.is_some() {
            return None;
        }
        let kept = self.known.functions.get(&Key { of: key.clone(), is_rule: false })?;
        self.import_instance(&kept)
    }

    fn import_instance(&mut self, kept: &Arc<LibraryFunction>) -> Option<FnId> {
        if let Some(Instance::Done(id)) = self.instances.get(&kept.key.of) {
            return Some(id);
        }
        let id = self.import_as(kept, &kept.name)?;
        let args = kept.key.of.args.clone();
        self.gradients.underived.push(Underived { id, definition: kept.definition.clone(), args });
        self.instances.done(kept.key.of.clone(), id);
        Some(id)
    }

    /// Adds a function behind those that it calls.
    fn import_as(&mut self, kept: &Arc<LibraryFunction>, name: &str) -> Option<FnId> {
        let callee = |this: &mut Self, callee: &Arc<LibraryFunction>| {
            let id = this.import_instance(callee)?;
            // If the callee was forgotten and checked anew, so must be who calls it.
            let same =
                this.output.functions[id].imported.as_ref().is_some_and(|known| Arc::ptr_eq(&known.function, callee));
            same.then_some(id)
        };
        let callees = kept.callees.iter().map(|(_, kept)| callee(self, kept)).collect::<Option<Vec<_>>>()?;
        let name = self.output.names.unique(name);
        let function = kept.head(name, Imported { function: kept.clone(), callees });
        Some(self.output.functions.push(function))
    }

    /// The kept rule of a function of this program, as a function of this program.
    pub(in crate::check) fn import_rule(&mut self, of: &Underived) -> Option<FnId> {
        let key = self.output.functions[of.id].imported.as_ref()?.function.key.of.clone();
        let rule = self.known.functions.get(&Key { of: key, is_rule: true })?;
        let name = format!("adj_{}", self.output.functions[of.id].name);
        self.import_as(&rule, &name)
    }
}

/// Types that mean the same in every program.
fn is_plain(arg: &InstanceArg) -> bool {
    let element = match arg {
        InstanceArg::Type(Type::Array(array)) => array.element,
        InstanceArg::Type(Type::Local(array)) => array.element,
        InstanceArg::Type(Type::Struct(_)) | InstanceArg::Function(_) | InstanceArg::Unknown => return false,
        InstanceArg::Word(ty) => return ty.is_composite() || ty.as_scalar().is_some(),
        InstanceArg::Type(_) => return true,
    };
    !matches!(element, Element::Struct(_))
}
