//! Scopes of Python code outside kernels: which names they have, and what each means.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::definition::Definition;
use crate::check::types::value::{EnumClass, Operand, ScopeId};
use crate::source::Span;
use crate::syntax::Change;
use crate::syntax::ast::{self, Item};
use crate::types::StructId;

/// The scope of the checked file.
pub(crate) const MODULE: ScopeId = ScopeId(0);

/// The names of one scope.
#[derive(Debug)]
pub(crate) struct Scope {
    pub parent: Option<ScopeId>,
    /// The host function or class.
    pub name: Option<String>,
    /// Of a class: functions inside do not see its names.
    pub(crate) is_class: bool,
    pub names: HashMap<String, Global>,
    /// For which values it was made, as the end of a name: `_float32`.
    pub tag: String,
    /// What the host function returns: nothing, one expression, or one of several (None).
    pub returned: Option<Option<ast::Expr>>,
    /// The file has a `from warp import *`: built-ins go without prefix.
    pub star_import: bool,
    /// The file has a `from .. import *` of what is no file that kc reads: it may have any name.
    pub open: bool,
    /// The functions of classes that are names of types.
    pub methods: HashMap<String, ScopeId>,
    /// Of the `__init__` of an object: what it calls the object.
    pub this: Option<String>,
    /// The defaults of parameters whose values are not known.
    pub defaults: HashMap<String, ast::Expr>,
    /// What names meant before they were bound anew by their own value.
    pub(crate) earlier: HashMap<String, Vec<Global>>,
    /// Of a file: what its host code changes.
    pub changes: Vec<Change>,
    /// Of a file: names with several values, and where the last one is.
    pub(crate) rebound: HashMap<String, Span>,
    /// Where names are imported.
    pub(crate) imported: HashMap<String, Span>,
}

impl Scope {
    pub fn new(parent: Option<ScopeId>, name: Option<&str>, is_class: bool) -> Scope {
        let name = name.map(str::to_string);
        Scope {
            parent,
            name,
            is_class,
            names: HashMap::new(),
            tag: String::new(),
            returned: None,
            star_import: false,
            open: false,
            methods: HashMap::new(),
            this: None,
            defaults: HashMap::new(),
            earlier: HashMap::new(),
            changes: Vec::new(),
            rebound: HashMap::new(),
            imported: HashMap::new(),
        }
    }
}

/// A name outside kernels.
#[derive(Clone, Debug)]
pub(crate) enum Global {
    /// `import warp as wp`, `import numpy as np`.
    Module(String),
    /// `from warp import vec3`: a name of a module.
    Member {
        module: String,
        name: String,
    },
    /// Functions of one name: overloads.
    Functions(Vec<Arc<Definition>>),
    Kernel(Arc<Definition>),
    Struct(StructId),
    /// A `@wp.struct` of another file; its first use resolves it.
    ForeignStruct(Rc<ast::Class>),
    /// A `@wp.struct` or a name of a type with errors.
    Broken,
    /// Not evaluated until it is used.
    Constant(ast::Expr),
    /// Under evaluation: using it is a circle.
    Evaluating,
    Value(Operand),
    Enum(Rc<EnumClass>),
    /// A plain Python function or class.
    Host(Span),
    /// A plain Python class that holds kernels or functions.
    Class(ScopeId, Span),
    /// A plain Python function that makes kernels.
    Maker(Rc<Maker>),
    /// Bound to what kc cannot know.
    Unknown(Unknown),
}

/// A host function that holds kernels or calls such a function.
#[derive(Debug)]
pub struct Maker {
    pub name: ast::Name,
    pub(crate) params: Vec<ast::Param>,
    pub(crate) items: Vec<Item>,
    /// Where it is defined.
    pub(crate) scope: ScopeId,
    /// It holds no definitions of ours, and makes none: it is of interest where it is called.
    pub(crate) computes: bool,
}

/// A name whose value kc cannot know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unknown {
    pub name: String,
    /// Where it is bound.
    pub place: Span,
    pub why: Why,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// A parameter of this host function, which no call in the file gives a known value.
    Parameter(String),
    /// Bound more than once.
    Rebound,
    /// Host code changes it elsewhere.
    Changed,
    /// Bound in a loop whose values are not known, or used behind it.
    Loop,
    /// The value is none of our constants; the text says why, if there is more to say.
    Computed(Option<String>),
    /// The type of a parameter of a generic kernel.
    Generic(String),
    /// A `@wp.func_native`, whose body is CUDA text.
    Native,
}
