//! Which value does a name have that the file binds more than once, or that the program changes?

use crate::check::Checker;
use crate::check::state::globals::{Global, Scope, Unknown, Why};
use crate::check::types::value::ScopeId;
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind};
use crate::syntax::{Change, Changed};

impl Checker<'_> {
    /// Binds a name in the current scope. At module level the last binding holds. In host functions
    /// and blocks, where the order of events is not known, a name with several values has none that
    /// is known.
    pub fn bind(&mut self, name: &str, global: Global) {
        use Global::{Constant, Host, Member, Module, Value};
        let certain = self.scopes.here().parent.is_none() && !self.scopes.conditional;
        if let (Some(old @ (Constant(_) | Value(_) | Global::Unknown(_))), Constant(new)) =
            (self.names().get(name), &global)
            && certain
            && self.sources.text(new.span).contains(name)
        {
            let old = old.clone();
            self.scopes.here_mut().earlier.entry(name.to_string()).or_default().push(old);
        }
        if let (Some(Constant(_) | Value(_) | Global::Unknown(_)), Constant(new), true) =
            (self.names().get(name), &global, certain)
        {
            self.scopes.here_mut().rebound.insert(name.to_string(), new.span);
        }
        let global = match (self.names().get(name), global) {
            // `except ImportError: np = None`
            (Some(old @ (Module(_) | Member { .. })), Constant(_)) if self.scopes.conditional => old.clone(),
            // `P = 3.0`, and below it `from math import pi as P`.
            (Some(old @ (Module(_) | Member { .. })), Constant(value))
                if certain && self.is_imported_below(name, value.span) =>
            {
                old.clone()
            }
            (Some(Constant(old)), Constant(new)) if self.sources.text(old.span) == self.sources.text(new.span) => {
                Constant(new)
            }
            (Some(Constant(_) | Value(_) | Global::Unknown(_)), Constant(value)) if !certain => {
                Global::Unknown(Unknown { name: name.to_string(), place: value.span, why: Why::Rebound })
            }
            (Some(Global::Functions(_) | Global::Struct(_)), Host(place)) if self.scopes.conditional => {
                Global::Unknown(Unknown { name: name.to_string(), place, why: Why::Rebound })
            }
            // A third one does not tell which of them it is.
            (Some(Global::Unknown(unknown)), Global::Functions(_) | Global::Struct(_))
                if self.scopes.conditional && unknown.why == Why::Rebound =>
            {
                Global::Unknown(unknown.clone())
            }
            // `A = S`: what the name means now, whatever it is bound to later.
            (_, Constant(value)) => match &value.kind {
                ExprKind::Name(other) => match self.names().get(other) {
                    Some(made @ Global::Struct(_)) => made.clone(),
                    _ => Constant(value),
                },
                _ => Constant(value),
            },
            (_, new) => new,
        };
        self.scopes.here_mut().names.insert(name.to_string(), global);
    }

    /// Where host code changes a name's value, or what a name of a function or file is bound to,
    /// behind the back of what is read.
    pub fn changed(&self, scope: ScopeId, name: &str, value: &ast::Expr) -> Option<Span> {
        let file = self.module_of(scope);
        if let Scope { is_class: true, name: Some(class), .. } = &self.scopes[scope] {
            return self.member_changed(scope, class, name);
        }
        let owner = if scope == file { &None } else { &self.scopes[scope].name };
        let numbers =
            matches!(value.kind, ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Str(_));
        let found = self.scopes[file].changes.iter().find(|change| {
            change.name.text == name && change.owner == *owner && (change.what == Changed::Name || !numbers)
        });
        found.map(|change| change.name.span)
    }

    /// Where host code changes a member of a class of the file.
    pub fn member_changed(&self, scope: ScopeId, class: &str, member: &str) -> Option<Span> {
        let changes = &self.scopes[self.module_of(scope)].changes;
        let is = |change: &&Change| {
            change.name.text == class && matches!(&change.what, Changed::Member(name) if name == member)
        };
        changes.iter().find(is).map(|change| change.name.span)
    }

    /// `w = v` names the same list: what changes by one name changes by the other.
    pub(super) fn note_aliases(&mut self, scope: ScopeId) {
        let Scope { names, changes, .. } = &self.scopes[scope];
        let mut more: Vec<Change> = Vec::new();
        for change in changes.iter().filter(|change| change.owner.is_none() && change.what != Changed::Name) {
            let mut name = &change.name.text;
            // Names of each other end, too.
            for _ in 0..names.len().min(64) {
                let Some(Global::Constant(ast::Expr { kind: ExprKind::Name(other), .. })) = names.get(name) else {
                    break;
                };
                let text = other.clone();
                more.push(Change { name: ast::Name { text, ..change.name.clone() }, ..change.clone() });
                name = other;
            }
        }
        self.scopes[scope].changes.extend(more);
    }

    fn is_imported_below(&self, name: &str, place: Span) -> bool {
        let imported = self.scopes.here().imported.get(name);
        imported.is_some_and(|import| import.file == place.file && import.start > place.start)
    }

    /// Whether two functions have parameters of the same annotations, as they are written.
    pub(super) fn takes_alike(&self, one: &ast::Function, other: &ast::Function) -> bool {
        let texts = |function: &ast::Function| -> Vec<String> {
            let annotation = |param: &ast::Param| param.annotation.as_ref().map(|a| self.sources.text(a.span));
            let written = function.params.iter().map(|param| annotation(param).unwrap_or_default());
            written.map(|text| text.split_whitespace().collect()).collect()
        };
        texts(one) == texts(other)
    }
}
