//! Functions as they are written, and their instances: one for each list of types that a function
//! is called with.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::globals::Unknown;
use crate::check::tree::{FnId, Function, LocalId};
use crate::check::types::pattern::Pattern;
use crate::check::types::value::{FunctionName, ScopeId};
use crate::memo::Same;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// A function as written, of the user's file or of the library.
#[derive(Debug)]
pub struct Definition {
    pub ast: Arc<ast::Function>,
    /// The library's entry, for built-ins.
    pub entry: Option<Arc<crate::library::Entry>>,
    pub kernel: bool,
    /// Its body is CUDA text.
    pub native: bool,
    /// Where it is.
    pub scope: ScopeId,
    /// Its parameters, resolved at the first use; None: they have errors.
    pub(crate) signature: OnceLock<Option<Arc<Signature>>>,
}

impl Definition {
    pub(crate) fn new(ast: Arc<ast::Function>, kernel: bool, native: bool, scope: ScopeId) -> Definition {
        Definition { ast, entry: None, kernel, native, scope, signature: OnceLock::new() }
    }

    pub(crate) fn of_entry(entry: &Arc<crate::library::Entry>) -> Definition {
        Definition { entry: Some(entry.clone()), ..Definition::new(entry.function.clone(), false, false, ScopeId(0)) }
    }

    pub(crate) fn library(&self) -> bool {
        self.entry.is_some()
    }
}

/// The parameters of a definition, resolved once.
#[derive(Debug)]
pub(crate) struct Signature {
    pub params: Vec<ParamInfo>,
    pub returns: Option<Pattern>,
    /// The names in annotations without a known value; such parameters are [`Pattern::Unknown`].
    pub unknown: Vec<Unknown>,
}

#[derive(Debug)]
pub(crate) struct ParamInfo {
    pub name: String,
    pub pattern: Pattern,
    pub default: Option<ast::Expr>,
    pub span: Span,
}

/// What a definition is instantiated with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct InstanceKey {
    pub(crate) definition: Same<Definition>,
    pub(crate) args: Vec<InstanceArg>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum InstanceArg {
    Type(Type),
    Function(FunctionName),
    /// A type itself.
    Word(Type),
    /// Of a type that is not known: the body is checked without it, and nothing comes out.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Instance {
    /// Being checked: a call to it is a recursion.
    Open,
    Done(FnId),
    Failed,
}

impl InstanceKey {
    /// Whether it is one of a function of the library.
    pub(crate) fn is_library(&self) -> bool {
        self.definition.0.library()
    }

    pub(crate) fn new(definition: &Arc<Definition>, args: Vec<InstanceArg>) -> InstanceKey {
        InstanceKey { definition: Same(definition.clone()), args }
    }
}

/// What was asked for while a function was checked, and how things were before.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) callees: Vec<FnId>,
    /// Something failed, be it without a report.
    pub(crate) failed: bool,
    pub(crate) diagnostics: usize,
    /// How many structs there are, and how often one of the library was named.
    pub(crate) structs: (usize, usize),
    pub(crate) functions: usize,
}

/// Types for a generic kernel.
#[derive(Clone, Debug)]
pub(crate) struct Overload {
    pub(crate) kernel: ast::Expr,
    /// The scope of the kernel's name. None: it is the name of an entry, from the command line.
    pub(crate) scope: Option<ScopeId>,
    pub(crate) span: Span,
    pub(crate) given: GivenTypes,
}

#[derive(Clone, Debug)]
pub(crate) enum GivenTypes {
    /// A type for each parameter, by position or by name.
    Types(Vec<(Option<String>, ast::Expr)>),
    /// The same, where host code computes the list.
    Computed(ast::Expr),
    /// The argument lists of a `wp.launch`.
    Launch(Vec<ast::Expr>),
}

/// An instance whose derivative is not decided yet.
#[derive(Debug)]
pub(crate) struct Underived {
    pub id: FnId,
    pub definition: Arc<Definition>,
    pub args: Vec<InstanceArg>,
}

/// What the user wrote for the functions of one name.
#[derive(Debug, Default)]
pub(crate) struct Custom {
    pub gradients: Vec<Arc<Definition>>,
    pub replays: Vec<Arc<Definition>>,
}

/// A `@wp.func_grad(target)` or `@wp.func_replay(target)` as written in the file.
#[derive(Debug)]
pub(crate) struct CustomWritten {
    pub(crate) target: String,
    pub(crate) definition: Arc<Definition>,
    pub(crate) replay: bool,
}

impl CustomWritten {
    pub fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }
}

/// The adjoints that the body of a rule can name.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    pub(crate) adjoints: HashMap<String, Adjoint>,
    pub(crate) shadows: HashSet<LocalId>,
    /// The parameters whose adjoints the rule writes.
    pub(crate) written: HashSet<String>,
}

/// Where the adjoint of a parameter is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Adjoint {
    /// Of the floats in it outside arrays.
    pub(crate) own: Option<LocalId>,
    /// Of its arrays.
    pub(crate) shadow: Option<LocalId>,
}

/// A library function: an instance, or the gradient rule of one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    /// The instance, or the one that the rule belongs to.
    pub(crate) of: InstanceKey,
    pub(crate) is_rule: bool,
}

/// A checked instance of a library definition, or the gradient rule of one, as all programs have
/// it.
#[derive(Debug)]
pub struct LibraryFunction {
    pub(crate) key: Key,
    pub(crate) definition: Arc<Definition>,
    /// What its check asked for, in the order of the first requests, under the numbers that
    /// `function` knows them by.
    pub(crate) callees: Callees,
    /// The name that it has where that is free; empty for a rule.
    pub(crate) name: String,
    /// In the words of the program that it was checked for.
    pub(crate) function: Function,
}

/// Functions by their numbers in a program.
pub(crate) type Callees = Vec<(FnId, Arc<LibraryFunction>)>;

/// A library function in a program.
#[derive(Clone, Debug)]
pub struct Imported {
    pub(crate) function: Arc<LibraryFunction>,
    /// [`LibraryFunction::callees`] in this program.
    pub(crate) callees: Vec<FnId>,
}
