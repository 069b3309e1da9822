//! What does [`Checker`](super::Checker) know, concept by concept?

pub(super) mod definition;
pub(super) mod globals;

use std::collections::{HashMap, HashSet};
use std::ops::{Index, IndexMut};
use std::rc::Rc;
use std::sync::Arc;

use crate::check::checked::{Unresolved, Verdict};
use crate::check::facts::EditorFacts;
use crate::check::state::definition::{
    Custom, CustomWritten, Definition, Instance, InstanceKey, Overload, Requests, Underived,
};
use crate::check::state::globals::{Maker, Scope, Unknown};
use crate::check::tree::{FnId, Function};
use crate::check::types::value::{FunctionName, ScopeId};
use crate::ids::{IdMap, IdVec};
use crate::ir::{ConstantNames, Nudged};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{ArrayType, StructId, StructTable};

/// What the caller and the file set for all kernels.
pub(crate) struct Settings {
    /// [`super::Options::tests`]
    pub tests: bool,
    /// [`super::Options::nudged`]
    pub nudged: Option<Nudged>,
    /// [`super::Options::double`]
    pub double: bool,
    /// [`super::Options::strict`]
    pub strict: bool,
    /// [`super::Options::block_dim`]
    pub block_dim: u32,
    /// The file's `wp.set_module_options({"enable_backward": False})`.
    pub backward_off: bool,
    /// The file's `wp.set_module_options({"fast_math": True})`.
    pub fast_math: bool,
}

/// What names mean. The first scope is the module.
pub(crate) struct Scopes {
    all: IdVec<ScopeId, Scope>,
    /// The scope in which names are resolved.
    pub current: ScopeId,
    /// Entering a block of host code that may not run.
    pub conditional: bool,
}

impl Scopes {
    pub fn new() -> Scopes {
        Scopes { all: IdVec::new(), current: ScopeId(0), conditional: false }
    }

    pub fn push(&mut self, scope: Scope) -> ScopeId {
        self.all.push(scope)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (ScopeId, &Scope)> {
        self.all.iter()
    }

    /// The scope in which names are resolved.
    pub fn here(&self) -> &Scope {
        &self.all[self.current]
    }

    pub fn here_mut(&mut self) -> &mut Scope {
        &mut self.all[self.current]
    }

    /// The scope of the file that a scope is in.
    pub fn module_of(&self, scope: ScopeId) -> ScopeId {
        let mut at = scope;
        while let Some(parent) = self.all[at].parent {
            at = parent;
        }
        at
    }
}

impl Index<ScopeId> for Scopes {
    type Output = Scope;

    fn index(&self, id: ScopeId) -> &Scope {
        &self.all[id]
    }
}

impl IndexMut<ScopeId> for Scopes {
    fn index_mut(&mut self, id: ScopeId) -> &mut Scope {
        &mut self.all[id]
    }
}

/// The kernels and functions of the file.
#[derive(Default)]
pub(crate) struct Definitions {
    /// In the order of the file.
    pub all: Vec<Arc<Definition>>,
    /// The names of the kernels' entries.
    pub entries: HashMap<*const Definition, String>,
    /// The first function that a decorator of another library makes a kernel, that decorator and
    /// its path.
    pub foreign_kernel: Option<(String, Span, String)>,
    /// It was said that Warp is not imported.
    pub missing_warp: bool,
}

impl Definitions {
    pub fn kernels(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.all.iter().filter(|definition| definition.kernel)
    }

    /// What a kernel is called in the output; the source name of a function.
    pub fn entry_name(&self, definition: &Definition) -> String {
        let entry = self.entries.get(&std::ptr::from_ref(definition));
        entry.unwrap_or(&definition.ast.name.text).clone()
    }
}

/// The host code around kernels.
#[derive(Default)]
pub(crate) struct HostCode {
    /// Calls of host functions, and where they stand.
    pub calls: Vec<(ScopeId, ast::Expr)>,
    /// The host functions that make kernels, with the scopes made so far by their arguments.
    pub makers: Vec<(Rc<Maker>, Vec<(String, ScopeId)>)>,
    /// A host function with more variants than the checker follows.
    pub limit: Option<Span>,
    /// The calls of host functions around the value that is computed.
    pub call_depth: u32,
    /// `wp.overload(kernel, types)` in the file.
    pub overloads: Vec<Overload>,
    /// The kernel of each, as far as it is known.
    pub overloaded: Vec<Option<*const Definition>>,
    /// The `block_dim` of `wp.set_module_options`, with its scope.
    pub block_dim: Option<(ScopeId, ast::Expr)>,
    /// The calls that may be launches, with their scopes.
    pub launches: Vec<(ScopeId, ast::Expr)>,
    /// By kernel the dimensions of its launches in the file that say a `block_dim`. None: not
    /// known, or not always as many.
    pub launched: HashMap<String, Option<usize>>,
}

/// The values that are being computed, and who hears of what fails.
#[derive(Default)]
pub(crate) struct Evaluation {
    pub budget: Budget,
    /// How many quiet evaluations are around the current one.
    pub quiet: u32,
    /// Module constants that failed in quiet evaluations.
    pub quiet_failures: HashSet<(ScopeId, String)>,
    /// Values of host code are computed: kernels and functions of Python are among them.
    pub hosting: bool,
    /// Expressions that Python computes where they stand, one within the other.
    pub computing: u32,
    /// The constants that are computed just now.
    pub own_names: Vec<String>,
    /// Names without known values that the current kernel needs.
    pub unknown: Vec<Unknown>,
}

impl Evaluation {
    /// Whether nobody hears of an error.
    pub fn is_quiet(&self) -> bool {
        self.quiet > 0
    }

    /// Notes that the current kernel needs a name without a known value.
    pub fn need(&mut self, unknown: &Unknown) {
        if !self.unknown.contains(unknown) {
            self.unknown.push(unknown.clone());
        }
    }
}

/// How much work the file asked for so far.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// Parts of all compile-time values that were computed or used.
    pub(crate) copied: usize,
    /// Statements of unrolled loops.
    pub(crate) unrolled: usize,
    /// Lookups of functions and constants around the current one.
    pub(crate) nested: usize,
    /// The most gradients of gradients in a function and what it calls.
    pub(crate) gradients: HashMap<FnId, u32>,
    /// Names for which the nearest known one was looked for.
    pub(crate) suggested: usize,
    /// The end of the budget was reported: once is enough.
    pub(crate) spent: bool,
}

/// The versions of functions for types of arguments.
#[derive(Default)]
pub(crate) struct InstanceTable {
    known: IdMap<InstanceKey, Instance>,
    /// Why instances failed without an error.
    failures: HashMap<InstanceKey, Vec<Unknown>>,
    /// What the functions under check asked for, innermost last.
    pub requests: Vec<Requests>,
    /// How often a struct of the library was named: its number is another one in each program.
    pub structs_named: usize,
}

impl InstanceTable {
    pub fn get(&self, key: &InstanceKey) -> Option<Instance> {
        self.known.get(key).copied()
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// From here on, a call to it is a recursion.
    pub fn open(&mut self, key: InstanceKey) {
        self.known.insert(key, Instance::Open);
    }

    pub fn done(&mut self, key: InstanceKey, id: FnId) {
        self.known.insert(key, Instance::Done(id));
    }

    /// It has errors, or needs these names without known values.
    pub fn failed(&mut self, key: InstanceKey, unknown: Vec<Unknown>) {
        self.failures.insert(key.clone(), unknown);
        self.known.insert(key, Instance::Failed);
    }

    pub fn forget(&mut self, key: &InstanceKey) {
        self.known.remove(key);
    }

    /// Forgets those of the user's functions.
    pub fn keep_library(&mut self) {
        self.known.retain(|key, _| key.is_library());
    }

    /// The names without known values for which an instance failed.
    pub fn unknown(&self, key: &InstanceKey) -> Vec<Unknown> {
        self.failures.get(key).cloned().unwrap_or_default()
    }
}

/// How functions are differentiated.
#[derive(Default)]
pub(crate) struct Gradients {
    /// Custom gradients as they are written, until their functions are known.
    pub written: Vec<CustomWritten>,
    /// Custom gradients by their function.
    pub custom: HashMap<FunctionName, Custom>,
    /// Instances whose derivative is not decided.
    pub underived: Vec<Underived>,
    /// The functions that `wp.grad` made.
    pub made: HashMap<FnId, FnId>,
    /// Gradients are part of forward code: the library's rules are needed in any case.
    pub needs_rules: bool,
}

/// What comes out: [`super::Checked`] in the making.
#[derive(Default)]
pub(crate) struct Output {
    pub structs: StructTable,
    pub constants: ConstantNames,
    /// The structs that stand for `wp.indexedarray`, with the elements and the rank of each.
    pub indexed: Vec<(StructId, ArrayType)>,
    /// The structs of the library by their names.
    pub library_structs: HashMap<String, StructId>,
    pub functions: IdVec<FnId, Function>,
    pub names: FreeNames,
    /// The kernels that need unknown names.
    pub unresolved: Vec<Unresolved>,
    /// What became of each kernel.
    pub verdicts: Vec<Verdict>,
    /// [`super::Checked::fast`]
    pub fast: Vec<Span>,
    /// What an editor asks for.
    pub facts: Option<EditorFacts>,
}

/// The function names that are taken in the output.
#[derive(Default)]
pub(crate) struct FreeNames {
    taken: HashSet<String>,
    /// The number of the last name that was made of a wanted one: thousands of functions of one
    /// name would else each try all before them.
    numbers: HashMap<String, usize>,
}

impl FreeNames {
    /// Takes a name, if it is free.
    pub fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_string())
    }

    /// A C identifier that is free: `dot`, `dot_2`.
    pub fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        while !self.take(&name) {
            let n = self.numbers.entry(wanted.to_string()).or_insert(1);
            *n += 1;
            name = format!("{wanted}_{n}");
        }
        name
    }
}
