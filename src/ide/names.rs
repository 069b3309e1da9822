//! Which name is where, and what does it mean? Every occurrence of the names of kernels in one
//! file.
//!
//! The language's scopes are Python's: a name that a function assigns anywhere is its own, every
//! other one is the file's. What depends on types (fields, built-ins behind an attribute) comes
//! from the checker's facts.

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
    /// A name that the file has for a Python module, or for something of another file.
    Module(String),
    /// A name of another file, where an import or an attribute says its module.
    Member { module: String, name: String },
    /// The parameter of another file's function, in a call; the place is that of the function's
    /// name.
    Keyword { function: Span, name: String },
}

/// What a file's name is imported as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// As written: `.x` counts from the file's package.
    pub module: String,
    /// None: the module itself.
    pub member: Option<String>,
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
    /// What the file's names of other files are, `import a.b` by its whole path.
    pub imports: HashMap<String, Import>,
    /// The modules whose names are all imported.
    pub stars: Vec<String>,
}

impl Names {
    pub fn of<'a>(parsed: &'a ast::Parsed, facts: &'a EditorFacts, text: &'a str) -> Names {
        let mut walker = Walker {
            facts,
            text,
            items: HashSet::new(),
            modules: HashMap::new(),
            imports: HashMap::new(),
            stars: Vec::new(),
            import_places: Vec::new(),
            locals: None,
            found: Vec::new(),
        };
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
        let Walker { found: mut list, imports, stars, .. } = walker;
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
        Names { list, imports, stars }
    }

    /// The occurrence that an offset touches; its end counts, so that a cursor behind a name finds
    /// it.
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

/// Whether a module is another file's, not one that the language knows.
fn is_foreign(module: &str) -> bool {
    !["warp", "math", "numpy", "typing", "enum"].contains(&module.split('.').next().unwrap_or_default())
}

/// `a.b.c` as its text.
fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Attribute { base, name } => Some(format!("{}.{}", dotted(base)?, name.text)),
        _ => None,
    }
}

/// The names before a dot that ends at an offset: `a.b` before the `c` of `a.b.c`.
fn chain_before(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?.strip_suffix('.')?;
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let start = before.char_indices().rev().take_while(|(_, c)| part(*c)).last().map(|(at, _)| at)?;
    before.get(start..)
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
    text: &'a str,
    /// The names of the file's functions, classes and constants.
    items: HashSet<&'a str>,
    /// The file's names for modules and their members, each with its path.
    modules: HashMap<String, String>,
    imports: HashMap<String, Import>,
    stars: Vec<String>,
    import_places: Vec<Span>,
    /// The function around, and the names it binds.
    locals: Option<(Span, HashSet<String>)>,
    found: Vec<Occurrence>,
}

impl<'a> Walker<'a> {
    fn declare(&mut self, parsed: &'a ast::Parsed) {
        for item in parsed.all_items() {
            match item {
                Item::Import(import) => self.import(import),
                Item::Function(function) => {
                    self.items.insert(&function.name.text);
                }
                Item::Class(class) => {
                    self.items.insert(&class.name.text);
                }
                Item::Constant(constant) => {
                    self.items.insert(&constant.name.text);
                }
                Item::Region(_) | Item::Attribute(_) | Item::Call(_) | Item::Return(_) => {}
            }
        }
    }

    fn import(&mut self, import: &ast::Import) {
        let module = &import.module;
        self.import_places.push(import.span);
        if import.names.is_empty() {
            let first = module.split('.').next().unwrap_or_default();
            let name = import.alias.as_ref().map_or(first, |alias| &alias.text);
            self.modules.insert(name.to_string(), module.clone());
            let whole = import.alias.as_ref().map_or(module, |alias| &alias.text);
            self.imports.insert(whole.clone(), Import { module: module.clone(), member: None });
        }
        for imported in &import.names {
            if imported.name.text == "*" {
                self.stars.push(module.clone());
                continue;
            }
            let name = imported.alias.as_ref().unwrap_or(&imported.name);
            self.modules.insert(name.text.clone(), format!("{module}.{}", imported.name.text));
            let member = Some(imported.name.text.clone());
            self.imports.insert(name.text.clone(), Import { module: module.clone(), member });
            if is_foreign(module) {
                let symbol = Symbol::Member { module: module.clone(), name: imported.name.text.clone() };
                let found = [(imported.name.span, symbol)].into_iter();
                let alias = imported.alias.iter().map(|alias| (alias.span, Symbol::Module(alias.text.clone())));
                let found = found.chain(alias).filter(|(span, _)| !span.is_empty());
                let host = |(span, symbol)| Occurrence { span, symbol, role: Role::Read, host: true };
                self.found.extend(found.map(host));
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
        let foreign = self.imports.get(name).is_some_and(|import| is_foreign(&import.module));
        match self.facts.expressions.get(&span) {
            Some(Meaning::Builtin(name)) => return Some(Symbol::Builtin(name.clone())),
            // Another file's: what it is called there is for all files together to say.
            Some(_) if foreign || !self.modules.contains_key(name) && self.may_be_starred(span) => {
                return Some(Symbol::Module(name.to_string()));
            }
            Some(Meaning::Type(_)) => return Some(Symbol::Builtin(name.to_string())),
            _ => {}
        }
        let path = self.modules.get(name)?;
        match path.strip_prefix("warp.") {
            Some(member) if self.locals.is_some() || !member.contains('.') => Some(Symbol::Builtin(member.to_string())),
            _ => Some(Symbol::Module(name.to_string())),
        }
    }

    /// Whether a name that the file does not bind can come with `from module import *`.
    fn may_be_starred(&self, span: Span) -> bool {
        use Meaning::{Constant, Enum, Function, Value};
        let of_files = match self.facts.expressions.get(&span) {
            Some(Meaning::Type(Type::Struct(_)) | Value(_) | Constant(..) | Function(_) | Enum(_)) => true,
            Some(Meaning::Type(_) | Meaning::Builtin(_) | Meaning::Module(_) | Meaning::Text | Meaning::Many(_))
            | None => false,
        };
        of_files && self.stars.iter().any(|module| is_foreign(module))
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
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Unsupported(_) | ExprKind::Lambda(_) => self.unread(expr.span),
            _ => expr.each_child(&mut |child| self.expr(child, Role::Read)),
        }
    }

    /// The names of an expression that has no tree, such as an f-string.
    fn unread(&mut self, span: Span) {
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        for range in crate::syntax::names(text) {
            let place = Span { start: span.start + range.start as u32, end: span.start + range.end as u32, ..span };
            let is_attribute = text[..range.start].ends_with('.');
            if let Some(symbol) = self.name(&text[range], place).filter(|_| !is_attribute) {
                self.add(place, symbol, Role::Read);
            }
        }
    }

    /// The names of a comprehension except for those that it binds itself.
    fn comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        let from = self.found.len();
        let mut own = HashSet::new();
        self.expr(&comprehension.element, Role::Read);
        for clause in &comprehension.clauses {
            bound_names(&clause.target, &mut |_, name| own.extend([name]));
            self.expr(&clause.iter, Role::Read);
            clause.conditions.iter().for_each(|condition| self.expr(condition, Role::Read));
        }
        let text = self.text;
        let named = |found: &Occurrence| text.get(found.span.start as usize..found.span.end as usize).unwrap_or("");
        let kept: Vec<Occurrence> = self.found.drain(from..).filter(|found| !own.contains(named(found))).collect();
        self.found.extend(kept);
    }

    fn attribute(&self, expr: &Expr, base: &Expr, name: &ast::Name) -> Option<Symbol> {
        let written = dotted(base).filter(|chain| !self.is_local(chain));
        let module = written.and_then(|chain| self.module_of(&chain));
        match self.facts.expressions.get(&expr.span) {
            Some(Meaning::Builtin(builtin)) => return Some(Symbol::Builtin(builtin.clone())),
            _ if let Some(module) = module => return Some(Symbol::Member { module, name: name.text.clone() }),
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

    /// Whether a chain of names begins with a variable of the function.
    fn is_local(&self, chain: &str) -> bool {
        let first = chain.split('.').next().unwrap_or_default();
        self.locals.as_ref().is_some_and(|(_, bound)| bound.contains(first))
    }

    /// The module of another file that a chain of names means.
    fn module_of(&self, chain: &str) -> Option<String> {
        let import = self.imports.get(chain).filter(|import| is_foreign(&import.module))?;
        Some(match &import.member {
            None => import.module.clone(),
            Some(member) if import.module.ends_with('.') => format!("{}{member}", import.module),
            Some(member) => format!("{}.{member}", import.module),
        })
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
                if called.name.file != arg.value.span.file {
                    let named = called.params.get(slot)? == name;
                    return named.then(|| Symbol::Keyword { function: called.name, name: name.clone() });
                }
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
            let at = Span::new(parsed.file, start, end);
            if self.import_places.iter().any(|place| place.start <= start && end <= place.end) {
                continue;
            }
            let Some(name) = text.get(range.clone()) else { continue };
            if let Some(module) = chain_before(text, range.start).and_then(|chain| self.module_of(chain)) {
                let symbol = Symbol::Member { module, name: name.to_string() };
                self.found.push(Occurrence { span: at, symbol, role: Role::Read, host: true });
                continue;
            }
            let item = self.items.contains(name);
            let foreign = self.imports.get(name).is_some_and(|import| is_foreign(&import.module));
            if !item && !foreign {
                continue;
            }
            let before = text.get(..range.start).unwrap_or_default().trim_end_matches([' ', '\t']);
            let after = text.get(range.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
            let keyword = after.starts_with('=') && !after.starts_with("==") && before.ends_with(['(', ',']);
            if before.ends_with('.') || keyword {
                continue;
            }
            let role = if defined.contains(&start) { Role::Definition } else { Role::Read };
            let symbol = if item { Symbol::Item(name.to_string()) } else { Symbol::Module(name.to_string()) };
            self.found.push(Occurrence { span: at, symbol, role, host: true });
        }
    }
}
