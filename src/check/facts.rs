//! What did the checker learn about the expressions and variables of the user's text? Kept when an
//! editor asks, also for functions with errors, which are not in the typed tree.

use std::collections::{HashMap, HashSet};

use crate::source::{FileId, Span};
use crate::types::{StructTable, Type};

/// What an expression denotes.
#[derive(Clone, PartialEq, Debug)]
pub enum Meaning {
    /// A run-time value.
    Value(Type),
    /// A number known at compile time, as text, and the type that it has or takes.
    Constant(String, Type),
    Type(Type),
    /// A function of the file.
    Function(String),
    /// A function of the library.
    Builtin(String),
    Module(String),
    Enum(String),
    Text,
    /// `a.shape`, and calls with several results: the types of the parts.
    Many(Vec<Type>),
}

/// A variable of a function, parameters included.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// The whole function as written.
    pub function: Span,
    pub name: String,
    pub ty: Type,
    /// Where it is declared or first assigned.
    pub span: Span,
}

/// The overload that a call means.
#[derive(Clone, PartialEq, Debug)]
pub struct Callee {
    /// The name in its definition, in the user's file or the library's.
    pub name: Span,
    /// The names of the parameters.
    pub params: Vec<String>,
    /// The parameter that each argument fills, in the order of the call.
    pub slots: Vec<usize>,
}

/// What is known about the user's file. Of a generic function, the first instance speaks.
#[derive(Clone, Debug, Default)]
pub struct EditorFacts {
    /// By the place of the expression.
    pub expressions: HashMap<Span, Meaning>,
    /// By the place of the whole call.
    pub calls: HashMap<Span, Callee>,
    pub variables: Vec<Variable>,
    /// Functions and names of the variables.
    named: HashSet<(Span, String)>,
    /// For each variable of a good kernel, by the kernel's place and its name: whether its value
    /// can differ between the threads of a launch.
    pub per_thread: HashMap<(Span, String), bool>,
    /// The structs, also when no kernel is good.
    pub structs: StructTable,
}

impl EditorFacts {
    /// The variable of this name in the function at `function`.
    pub fn variable(&self, function: Span, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.function == function && v.name == name)
    }

    pub(super) fn expression(&mut self, span: Span, meaning: impl FnOnce() -> Option<Meaning>) {
        if span.file == FileId(0)
            && let Some(meaning) = meaning()
        {
            self.expressions.entry(span).or_insert(meaning);
        }
    }

    pub(super) fn call(&mut self, span: Span, callee: impl FnOnce() -> Callee) {
        if span.file == FileId(0) {
            self.calls.entry(span).or_insert_with(callee);
        }
    }

    /// A function is looked at again, with other types of its variables.
    pub(super) fn forget(&mut self, function: Span) {
        let outside =
            |span: &Span| span.file != function.file || span.start < function.start || span.end > function.end;
        self.expressions.retain(|span, _| outside(span));
        self.calls.retain(|span, _| outside(span));
        self.variables.retain(|variable| variable.function != function);
        self.named.retain(|(of, _)| *of != function);
    }

    pub(super) fn variable_of(&mut self, variable: Variable) {
        let is_own = !variable.name.is_empty() && variable.span.file == FileId(0);
        if is_own && self.named.insert((variable.function, variable.name.clone())) {
            self.variables.push(variable);
        }
    }
}
