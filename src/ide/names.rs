//! Which name is where, and what does it mean? Every occurrence of the names of kernels in one file.
//!
//! The language's scopes are Python's: a name that a function assigns anywhere is its own, every other one is the file's.
//! What depends on types (fields, built-ins behind an attribute) comes from the checker's facts.

use std::collections::{HashMap, HashSet};

use crate::check::facts::{EditorFacts, Meaning};
use crate::source::Span;
use crate::syntax::ast::{self, Expr, ExprKind, Item};
use crate::syntax::visit::{bound_names, each_statement, expressions, targets};
use crate::types::Type;

/// What a name means. Two occurrences of one symbol are renamed together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// A variable or parameter of the function at this place.
    Local { function: Span, name: String },
    /// A function, struct, enumeration or constant of the file.
    Item(String),
    /// A field of a struct or a member of an enumeration of the file.
    Field { owner: String, name: String },
    /// A name of the kernel language.
    Builtin(String),
    /// A name that the file has for a Python module.
    Module(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A definition, a parameter, or the first assignment.
    Definition,
    Write,
    Read,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    pub span: Span,
    pub symbol: Symbol,
    pub role: Role,
    /// In plain Python around the kernels.
    pub host: bool,
}

/// All occurrences, in the order of the text.
#[derive(Debug, Default)]
pub struct Names {
    list: Vec<Occurrence>,
}

impl Names {
    pub fn of(parsed: &ast::Parsed, facts: &EditorFacts, text: &str) -> Names {
        let mut walker =
            Walker { facts, items: HashSet::new(), modules: HashMap::new(), locals: None, found: Vec::new() };
        walker.declare(parsed);
        for item in parsed.all_items() {
            match item {
                Item::Function(function) if !function.decorators.is_empty() => walker.function(function),
                Item::Class(class) if !class.decorators.is_empty() || !class.bases.is_empty() => walker.class(class),
                _ => {}
            }
        }
        let inside = decorated(parsed);
        walker.host(parsed, &inside, text);
        let mut list = walker.found;
        list.sort_by_key(|occurrence| (occurrence.span.start, occurrence.span.end));
        list.dedup_by_key(|occurrence| occurrence.span);
        let mut seen = HashSet::new();
        for occurrence in &mut list {
            let local = matches!(occurrence.symbol, Symbol::Local { .. });
            if local && occurrence.role == Role::Write && !seen.contains(&occurrence.symbol) {
                occurrence.role = Role::Definition;
            }
            if local && occurrence.role == Role::Definition {
                seen.insert(occurrence.symbol.clone());
            }
        }
        Names { list }
    }

    /// The occurrence that an offset touches; its end counts, so that a cursor behind a name finds it.
    pub fn at(&self, offset: u32) -> Option<&Occurrence> {
        let after = self.list.partition_point(|occurrence| occurrence.span.start <= offset);
        let before = self.list.get(..after)?;
        before.last().filter(|occurrence| offset <= occurrence.span.end)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Occurrence> {
        self.list.iter()
    }

    /// Every occurrence of a symbol.
    pub fn all<'a>(&'a self, symbol: &'a Symbol) -> impl Iterator<Item = &'a Occurrence> {
        self.list.iter().filter(move |occurrence| occurrence.symbol == *symbol)
    }
}

/// The places of the items that are compiled: decorated functions, structs and enumerations.
pub fn decorated(parsed: &ast::Parsed) -> Vec<Span> {
    let span = |item: &Item| match item {
        Item::Function(function) if !function.decorators.is_empty() => Some(function.span),
        Item::Class(class) if !class.decorators.is_empty() => Some(class.span),
        _ => None,
    };
    parsed.all_items().into_iter().filter_map(span).collect()
}

/// The names that a function binds.
pub fn bound(function: &ast::Function) -> HashSet<String> {
    let mut names: HashSet<String> = function.params.iter().map(|param| param.name.text.clone()).collect();
    each_statement(&function.body, &mut |stmt| {
        for target in targets(stmt) {
            bound_names(target, &mut |_, name| names.extend([name.to_string()]));
        }
    });
    names
}

struct Walker<'a> {
    facts: &'a EditorFacts,
    /// The names of the file's functions, classes and constants.
    items: HashSet<&'a str>,
    /// The file's names for modules and their members, each with its path.
    modules: HashMap<String, String>,
    /// The function around, and the names it binds.
    locals: Option<(Span, HashSet<String>)>,
    found: Vec<Occurrence>,
}

impl<'a> Walker<'a> {
    fn declare(&mut self, parsed: &'a ast::Parsed) {
        for item in parsed.all_items() {
            match item {
                Item::Import(import) => {
                    if import.names.is_empty() {
                        let first = import.module.split('.').next().unwrap_or_default();
                        let name = import.alias.as_ref().map_or(first, |alias| &alias.text);
                        self.modules.insert(name.to_string(), import.module.clone());
                    }
                    for imported in &import.names {
                        let name = imported.alias.as_ref().unwrap_or(&imported.name);
                        self.modules.insert(name.clone(), format!("{}.{}", import.module, imported.name));
                    }
                }
                Item::Function(function) => {
                    self.items.insert(&function.name.text);
                }
                Item::Class(class) => {
                    self.items.insert(&class.name.text);
                }
                Item::Constant(constant) => {
                    self.items.insert(&constant.name.text);
                }
                Item::Region(_) | Item::Call(_) | Item::Return(_) => {}
            }
        }
    }

    fn add(&mut self, span: Span, symbol: Symbol, role: Role) {
        if !span.is_empty() {
            self.found.push(Occurrence { span, symbol, role, host: false });
        }
    }

    fn function(&mut self, function: &'a ast::Function) {
        let item = Symbol::Item(function.name.text.clone());
        self.add(function.name.span, item, Role::Definition);
        function.decorators.iter().for_each(|decorator| self.expr(&decorator.expr, Role::Read));
        for param in &function.params {
            param.annotation.iter().chain(&param.default).for_each(|expr| self.expr(expr, Role::Read));
        }
        function.returns.iter().for_each(|expr| self.expr(expr, Role::Read));
        self.locals = Some((function.span, bound(function)));
        for param in &function.params {
            let symbol = Symbol::Local { function: function.span, name: param.name.text.clone() };
            self.add(param.name.span, symbol, Role::Definition);
        }
        each_statement(&function.body, &mut |stmt| {
            let written = targets(stmt);
            // Targets stand first.
            let mut k = 0;
            expressions(stmt, &mut |expr| {
                self.expr(expr, if k < written.len() { Role::Write } else { Role::Read });
                k += 1;
            });
        });
        self.locals = None;
    }

    fn class(&mut self, class: &'a ast::Class) {
        let owner = class.name.text.clone();
        self.add(class.name.span, Symbol::Item(owner.clone()), Role::Definition);
        class.decorators.iter().for_each(|decorator| self.expr(&decorator.expr, Role::Read));
        for member in &class.members {
            let symbol = Symbol::Field { owner: owner.clone(), name: member.name.text.clone() };
            self.add(member.name.span, symbol, Role::Definition);
            member.annotation.iter().chain(&member.value).for_each(|expr| self.expr(expr, Role::Read));
        }
    }

    /// What a plain name means here.
    fn name(&self, name: &str, span: Span) -> Option<Symbol> {
        if let Some((function, bound)) = &self.locals
            && bound.contains(name)
        {
            return Some(Symbol::Local { function: *function, name: name.to_string() });
        }
        if self.items.contains(name) {
            return Some(Symbol::Item(name.to_string()));
        }
        match self.facts.expressions.get(&span) {
            Some(Meaning::Builtin(name)) => return Some(Symbol::Builtin(name.clone())),
            Some(Meaning::Type(_)) => return Some(Symbol::Builtin(name.to_string())),
            _ => {}
        }
        let path = self.modules.get(name)?;
        match path.strip_prefix("warp.") {
            Some(member) if self.locals.is_some() || !member.contains('.') => Some(Symbol::Builtin(member.to_string())),
            _ => Some(Symbol::Module(name.to_string())),
        }
    }

    fn expr(&mut self, expr: &'a Expr, role: Role) {
        match &expr.kind {
            ExprKind::Name(name) => {
                if let Some(symbol) = self.name(name, expr.span) {
                    self.add(expr.span, symbol, role);
                }
            }
            ExprKind::Attribute { base, name } => {
                self.expr(base, Role::Read);
                if let Some(symbol) = self.attribute(expr, base, name) {
                    self.add(name.span, symbol, role);
                }
            }
            // What an element is assigned to is written, not the variable that finds it.
            ExprKind::Subscript { base, indices } => {
                self.expr(base, Role::Read);
                indices.iter().for_each(|index| self.expr(index, Role::Read));
            }
            ExprKind::Call { callee, args } => {
                self.expr(callee, Role::Read);
                let called = self.facts.calls.get(&expr.span);
                for (k, arg) in args.iter().enumerate() {
                    if let (Some(name), Some(symbol)) = (&arg.name, self.keyword(callee, called, k, arg)) {
                        self.add(name.span, symbol, Role::Read);
                    }
                    self.expr(&arg.value, Role::Read);
                }
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|item| self.expr(item, role)),
            ExprKind::Starred(inner) => self.expr(inner, role),
            _ => expr.each_child(&mut |child| self.expr(child, Role::Read)),
        }
    }

    fn attribute(&self, expr: &Expr, base: &Expr, name: &ast::Name) -> Option<Symbol> {
        match self.facts.expressions.get(&expr.span) {
            Some(Meaning::Builtin(builtin)) => return Some(Symbol::Builtin(builtin.clone())),
            Some(Meaning::Type(_)) => return Some(Symbol::Builtin(name.text.clone())),
            _ => {}
        }
        match self.facts.expressions.get(&base.span) {
            Some(Meaning::Value(Type::Struct(id))) => {
                let owner = self.facts.structs.get(*id)?.name.clone();
                return Some(Symbol::Field { owner, name: name.text.clone() });
            }
            Some(Meaning::Enum(owner)) => {
                return Some(Symbol::Field { owner: owner.clone(), name: name.text.clone() });
            }
            Some(Meaning::Module(_)) | None => {}
            Some(_) => return None,
        }
        let ExprKind::Name(module) = &base.kind else { return None };
        if self.locals.as_ref().is_some_and(|(_, bound)| bound.contains(module)) {
            return None;
        }
        let path = self.modules.get(module)?;
        (path == "warp" || path.starts_with("warp.")).then(|| Symbol::Builtin(name.text.clone()))
    }

    /// The parameter or field that a keyword argument names.
    fn keyword(
        &self,
        callee: &Expr,
        called: Option<&crate::check::facts::Callee>,
        k: usize,
        arg: &ast::Arg,
    ) -> Option<Symbol> {
        let name = &arg.name.as_ref()?.text;
        match self.facts.expressions.get(&callee.span)? {
            Meaning::Function(_) => {
                let called = called?;
                let slot = *called.slots.get(k)?;
                let here = |v: &&crate::check::facts::Variable| {
                    v.function.start <= called.name.start && called.name.end <= v.function.end
                };
                let function = self.facts.variables.iter().find(here)?.function;
                (called.params.get(slot)? == name).then(|| Symbol::Local { function, name: name.clone() })
            }
            Meaning::Type(Type::Struct(id)) => {
                let owner = self.facts.structs.get(*id)?.name.clone();
                Some(Symbol::Field { owner, name: name.clone() })
            }
            _ => None,
        }
    }

    /// The file's names in plain Python: constants, launches, tests.
    fn host(&mut self, parsed: &ast::Parsed, inside: &[Span], text: &str) {
        let defined: HashSet<u32> = parsed
            .all_items()
            .iter()
            .filter_map(|item| match item {
                Item::Constant(constant) => Some(constant.name.span.start),
                Item::Function(function) => Some(function.name.span.start),
                Item::Class(class) => Some(class.name.span.start),
                _ => None,
            })
            .collect();
        let mut inside = inside.to_vec();
        inside.sort();
        for range in crate::syntax::names(text) {
            let (start, end) = (range.start as u32, range.end as u32);
            let next = inside.partition_point(|span| span.start <= start);
            if next.checked_sub(1).and_then(|k| inside.get(k)).is_some_and(|span| start < span.end) {
                continue;
            }
            let Some(name) = text.get(range.clone()).filter(|name| self.items.contains(*name)) else { continue };
            let before = text.get(..range.start).unwrap_or_default().trim_end_matches([' ', '\t']);
            let after = text.get(range.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
            let keyword = after.starts_with('=') && !after.starts_with("==") && before.ends_with(['(', ',']);
            if before.ends_with('.') || keyword {
                continue;
            }
            let role = if defined.contains(&start) { Role::Definition } else { Role::Read };
            let span = Span::new(parsed.file, start, end);
            self.found.push(Occurrence { span, symbol: Symbol::Item(name.to_string()), role, host: true });
        }
    }
}
