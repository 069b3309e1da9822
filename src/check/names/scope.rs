//! What the names of a file mean, at module level and in host code around kernels.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::habits::Habit;
use super::member::{builtin_word, is_core, is_kc, is_warp};
use crate::check::Checker;
use crate::check::messages;
use crate::check::state::definition::Definition;
use crate::check::state::globals::{Global, MODULE, Scope, Unknown, Why};
use crate::check::types::pattern::Bindings;
use crate::check::types::value::{EnumClass, FunctionName, Operand, Reported, Res, ScopeId, TypeWord, type_of_name};
use crate::diag::{Diagnostic, Spelling};
use crate::library::Library;
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind, Item, Parsed};
use crate::syntax::is_composite_word;
use crate::types::{Field, StructDef, Type};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Kernel,
    Function,
    Struct,
    /// `func_grad`, `func_replay`: belongs to gradients.
    Gradient,
    /// `func_native`
    Native,
}

impl Checker<'_> {
    /// Enters every name of the file.
    pub fn collect(&mut self, parsed: &Parsed) {
        let module = self.scopes.push(Scope::new(None, None, false));
        self.open_main(parsed);
        self.scopes[module].changes.clone_from(&parsed.changes);
        self.within(module, |c| c.collect_scope(&parsed.items));
        self.note_aliases(module);
        self.expand_makers();
        if let Some(place) = self.host.limit {
            self.report(messages::names::too_many_variants(place));
        }
        self.definitions.all.sort_by_key(|definition| definition.ast.span);
        self.name_kernels();
    }

    /// A scope without names.
    pub fn new_scope(&mut self, parent: ScopeId, name: Option<&str>, is_class: bool) -> ScopeId {
        self.scopes.push(Scope::new(Some(parent), name, is_class))
    }

    /// Enters the definitions of the current scope.
    pub fn collect_scope(&mut self, items: &[Item]) {
        // Imports first: decorators are known by the names that modules have here.
        self.collect_imports(items);
        self.collect_items(items);
    }

    fn collect_imports(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Import(import) => self.collect_import(import),
                Item::Region(ast::Region { kind: ast::RegionKind::Block(_), items, .. }) => {
                    self.collect_imports(items);
                }
                _ => {}
            }
        }
    }

    /// Enters the definitions of a block of the current scope. True: it ends with a `return`.
    pub fn collect_items(&mut self, items: &[Item]) -> bool {
        for item in items {
            match item {
                Item::Import(_) => {}
                // What another file does with its kernels is its own business, unless this one
                // calls it with its own.
                Item::Call(_) if self.scopes.here().parent.is_none() && !self.in_main() => {}
                Item::Call(call) => {
                    self.collect_call(call);
                    self.note_launch(call);
                    self.host.calls.push((self.scopes.current, call.clone()));
                }
                Item::Constant(constant) => {
                    // `command = wp.launch(k, ..., record_cmd=True)`
                    if self.in_main() {
                        self.collect_call(&constant.value);
                    }
                    self.bind(&constant.name.text, Global::Constant(constant.value.clone()));
                }
                Item::Attribute(attribute) => {
                    self.bind(&attribute.name.text, Global::Constant(attribute.value.clone()));
                }
                Item::Class(class) => self.collect_class(class),
                Item::Function(function) => self.collect_function(function),
                Item::Region(region) => {
                    if self.collect_region(region) {
                        return true;
                    }
                }
                Item::Return(value) => {
                    let returned = &mut self.scopes.here_mut().returned;
                    *returned = Some(if returned.is_none() { Some(value.clone()) } else { None });
                    return true;
                }
            }
        }
        false
    }

    /// The names of the current scope.
    pub fn names(&self) -> &HashMap<String, Global> {
        &self.scopes.here().names
    }

    /// What a name means in the current scope, and which scope binds it.
    pub fn lookup(&self, name: &str) -> Option<(ScopeId, &Global)> {
        let mut at = Some(self.scopes.current);
        while let Some(id) = at {
            let scope = &self.scopes[id];
            if let Some(global) = scope.names.get(name)
                && (!scope.is_class || id == self.scopes.current)
            {
                return Some((id, global));
            }
            at = scope.parent;
        }
        None
    }

    /// The `@wp.func` functions of a name.
    pub fn user_function(&self, name: &str) -> Option<FunctionName> {
        match self.lookup(name)? {
            (scope, Global::Functions(_)) => Some(FunctionName::User { scope, name: name.to_string() }),
            _ => None,
        }
    }

    /// The scope in which the names of a definition's body are resolved.
    pub fn body_scope(&self, definition: &Definition) -> ScopeId {
        let mut scope = definition.scope;
        while let Scope { is_class: true, parent: Some(parent), .. } = &self.scopes[scope] {
            scope = *parent;
        }
        scope
    }

    /// The names that can be used in the current scope.
    pub fn visible_names(&self) -> Vec<&String> {
        let mut found = Vec::new();
        let mut at = Some(self.scopes.current);
        while let Some(id) = at {
            found.extend(self.scopes[id].names.keys());
            at = self.scopes[id].parent;
        }
        found
    }

    /// The names of all functions and kernels of the file.
    pub fn declared(&self) -> Vec<String> {
        self.definitions.all.iter().map(|definition| self.entry_name(definition)).collect()
    }

    /// What a kernel is called in the output; the source name of a function.
    pub fn entry_name(&self, definition: &Definition) -> String {
        self.definitions.entry_name(definition)
    }

    fn collect_import(&mut self, import: &ast::Import) {
        if import.names.is_empty() {
            let (name, path) = match &import.alias {
                Some(alias) => (alias.text.clone(), import.module.clone()),
                None => {
                    let first = import.module.split('.').next().unwrap_or_default().to_string();
                    (first.clone(), first)
                }
            };
            self.bind(&name, Global::Module(path));
            return;
        }
        let module = self.absolute_module(&import.module);
        for imported in &import.names {
            if imported.name.text == "*" {
                if is_core(&module) {
                    let here = self.module_of(self.scopes.current);
                    self.scopes[here].star_import |= is_warp(&module);
                    continue;
                }
                if self.import_all(&module) {
                    continue;
                }
                let here = self.module_of(self.scopes.current);
                self.scopes[here].open = true;
                // Another file's names come with it, most often those of its own imports.
                for (name, module) in [("wp", "warp"), ("np", "numpy")] {
                    if self.lookup(name).is_none() {
                        self.bind(name, Global::Module(module.into()));
                    }
                }
                continue;
            }
            let name = imported.alias.as_ref().unwrap_or(&imported.name);
            let global = Global::Member { module: module.clone(), name: imported.name.text.clone() };
            self.bind(&name.text, global);
            self.scopes.here_mut().imported.insert(name.text.clone(), name.span);
        }
    }

    fn collect_function(&mut self, function: &Arc<ast::Function>) {
        let name = function.name.text.clone();
        let role = self.role(function);
        let kernel = role == Some(Role::Kernel);
        let native = role == Some(Role::Native);
        let definition = || Arc::new(Definition::new(function.clone(), kernel, native, self.scopes.current));
        match role {
            Some(Role::Kernel) => {
                let definition = definition();
                if self.in_main() {
                    self.definitions.all.push(definition.clone());
                }
                self.bind(&name, Global::Kernel(definition));
            }
            Some(Role::Function | Role::Native) => {
                let definition = definition();
                // There is no body to look at.
                if !native && self.in_main() {
                    self.definitions.all.push(definition.clone());
                }
                let here = self.scopes.here().names.get(&name);
                let alike = |other: &Arc<Definition>| self.takes_alike(&other.ast, function);
                // Which of two that take the same is the function, the condition says.
                if self.scopes.conditional
                    && matches!(here, Some(Global::Functions(others)) if others.iter().any(alike))
                {
                    let unknown = Unknown { name: name.clone(), place: function.name.span, why: Why::Rebound };
                    self.bind(&name, Global::Unknown(unknown));
                    return;
                }
                match self.scopes.here_mut().names.get_mut(&name) {
                    Some(Global::Functions(overloads)) => overloads.push(definition),
                    _ => self.bind(&name, Global::Functions(vec![definition])),
                }
            }
            Some(Role::Gradient) => self.collect_gradient(function),
            Some(Role::Struct) => {}
            None => {
                let misspelt = self.in_main() && self.note_decorators(function);
                let global = if misspelt { Global::Broken } else { Global::Host(function.name.span) };
                self.bind(&name, global);
            }
        }
    }

    fn collect_class(&mut self, class: &ast::Class) {
        let name = class.name.text.clone();
        if class.decorators.iter().any(|d| self.decorator_role(d) == Some(Role::Struct)) {
            let global = match self.in_main() {
                true => self.struct_of(class),
                false => Global::ForeignStruct(Rc::new(class.clone())),
            };
            let is_there = matches!(self.names().get(&name), Some(Global::Struct(_) | Global::ForeignStruct(_)));
            let global = match self.scopes.conditional && is_there {
                true => Global::Unknown(Unknown { name: name.clone(), place: class.name.span, why: Why::Rebound }),
                false => global,
            };
            self.bind(&name, global);
        } else if let ([base], true) = (class.bases.as_slice(), class.members.is_empty())
            && is_composite(base)
        {
            // `class vec6(wp.types.vector(length=6, dtype=float)): pass` is another name of the
            // type.
            self.bind(&name, Global::Constant(base.clone()));
        } else if !class.bases.is_empty()
            || !self.in_main() && class.members.iter().any(|member| member.value.is_some())
        {
            let values = class.members.iter().filter_map(|m| Some((m.name.text.clone(), m.value.clone()?)));
            // What it does not say itself it has of the classes that it extends.
            let mut members: HashMap<String, ast::Expr> = HashMap::new();
            for base in class.bases.iter().rev() {
                if let ast::ExprKind::Name(base) = &base.kind
                    && let Some(Global::Enum(base)) = self.names().get(base)
                {
                    members.extend(base.members.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
            }
            members.extend(values);
            let scope = self.new_scope(self.scopes.current, Some(&name), true);
            self.within(scope, |c| {
                members.iter().for_each(|(name, value)| c.bind(name, Global::Constant(value.clone())))
            });
            let class = EnumClass { name: name.clone(), members, scope };
            self.bind(&name, Global::Enum(Rc::new(class)));
        } else {
            self.bind(&name, Global::Host(class.name.span));
        }
    }

    /// Where the functions of a class are that is an enumeration or a name of a type.
    pub fn methods_scope(&mut self, class: &ast::Name) -> ScopeId {
        if let Some(Global::Enum(class)) = self.names().get(&class.text) {
            return class.scope;
        }
        let scope = self.new_scope(self.scopes.current, Some(&class.text), true);
        self.scopes.here_mut().methods.insert(class.text.clone(), scope);
        scope
    }

    fn struct_of(&mut self, class: &ast::Class) -> Global {
        let (errors, needed) = (self.diagnostics.error_count(), std::mem::take(&mut self.evaluation.unknown));
        let fields = self.struct_fields(class);
        let unknown = std::mem::replace(&mut self.evaluation.unknown, needed);
        match fields {
            Ok(fields) => {
                let name = self.output.names.unique(&class.name.text);
                let id = self.output.structs.push(StructDef { name, fields });
                match self.bounded(Type::Struct(id), class.name.span) {
                    Ok(_) => Global::Struct(id),
                    Err(Reported) => Global::Broken,
                }
            }
            // Every kernel that uses the struct needs what it needs.
            Err(Reported) => match unknown.into_iter().next() {
                Some(unknown) if self.diagnostics.error_count() == errors => Global::Unknown(unknown),
                _ => Global::Broken,
            },
        }
    }

    /// A struct of another file, on its first use.
    fn foreign_struct(&mut self, scope: ScopeId, class: &ast::Class, used: Span) -> Res<Operand> {
        let name = &class.name.text;
        self.scopes[scope].names.insert(name.clone(), Global::Evaluating);
        let known = self.diagnostics.len();
        let made = self.within(scope, |c| c.struct_of(class));
        self.diagnostics.blame(known, used, "needed here");
        let result = match &made {
            Global::Struct(id) => Ok(Operand::Type(TypeWord::Type(Type::Struct(*id)))),
            Global::Unknown(unknown) => Err(self.need_unknown(unknown)),
            _ => Err(Reported),
        };
        // What was not said must be found again.
        let again = result.is_err() && self.evaluation.is_quiet();
        let after = if again { Global::ForeignStruct(Rc::new(class.clone())) } else { made };
        self.scopes[scope].names.insert(name.clone(), after);
        result
    }

    /// A struct of the library; None: it has none of this name.
    pub fn library_struct(&mut self, name: &str) -> Option<Type> {
        // Warp's name of what is a query for a box or a sphere, which here are one.
        let name = if name == "MeshQuery" { "MeshQueryAABB" } else { name };
        let known = self.output.library_structs.get(name).copied();
        let id = match known {
            Some(id) => id,
            None => {
                let class = Library::has_struct(name).then(|| self.known.library.structure(name, self.sources))??;
                let fields = class.members.iter().filter_map(|member| {
                    let pattern = self.annotation(member.annotation.as_ref()?, true).ok()?;
                    Some(Field { name: member.name.text.clone(), ty: pattern.resolve(&Bindings::default())? })
                });
                let fields: Vec<Field> = fields.collect();
                debug_assert_eq!(fields.len(), class.members.len(), "`{name}`: a field without a type");
                let unique = self.output.names.unique(name);
                let id = self.output.structs.push(StructDef { name: unique, fields });
                self.output.library_structs.insert(name.to_string(), id);
                id
            }
        };
        self.instances.structs_named += 1;
        Some(Type::Struct(id))
    }

    /// Refuses the name of what generated code names too, if it is none in C and PTX.
    pub fn interface_name(&mut self, what: &str, name: &ast::Name) -> Res<()> {
        if name.text.is_ascii() {
            return Ok(());
        }
        Err(self.report(messages::names::letters(what, &name.text, name.span)))
    }

    fn struct_fields(&mut self, class: &ast::Class) -> Res<Vec<Field>> {
        let mut fields: Vec<Field> = Vec::new();
        let mut failed = self.interface_name("struct", &class.name).is_err();
        let mut places: HashMap<&str, Span> = HashMap::new();
        for member in &class.members {
            let Some(annotation) = &member.annotation else { continue };
            failed |= self.interface_name("field", &member.name).is_err();
            if let Some(first) = places.insert(&member.name.text, member.name.span) {
                self.report(messages::names::field_twice(&class.name.text, &member.name.text, member.name.span, first));
                failed = true;
                continue;
            }
            if names_itself(annotation, &class.name.text) {
                self.report(messages::types::struct_in_itself(&class.name.text, annotation.span));
                failed = true;
                continue;
            }
            if let Some(value) = member.value.as_ref().filter(|value| self.in_main() && !is_zero(value)) {
                let (owner, field) = (&class.name.text, &member.name.text);
                self.report(messages::names::default_of_field(field, owner, self.sources.text(value.span), value.span));
            }
            let ty = self.concrete_type(annotation, false);
            match ty.and_then(|ty| self.refuse_tile(ty, annotation.span, "a field").map(|()| ty)) {
                Ok(ty) => fields.push(Field { name: member.name.text.clone(), ty }),
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(fields) }
    }

    pub fn role(&mut self, function: &ast::Function) -> Option<Role> {
        function.decorators.iter().find_map(|d| self.decorator_role(d))
    }

    /// `@wp.kernel`, `@wp.kernel(...)`, or `@kernel` after `from warp import kernel` or `*`.
    fn decorator_role(&mut self, decorator: &ast::Decorator) -> Option<Role> {
        self.role_of(&decorator.expr)
    }

    /// What a decorator makes of what it decorates.
    fn role_of(&mut self, decorator: &ast::Expr) -> Option<Role> {
        let path = match &decorator.kind {
            ExprKind::Call { callee, .. } => callee,
            // `wp.func(inline=False) if new else wp.func`
            ExprKind::Conditional { then, otherwise, .. } => {
                let role = self.role_of(then)?;
                return (self.role_of(otherwise)? == role).then_some(role);
            }
            _ => decorator,
        };
        let word = match &path.kind {
            ExprKind::Attribute { base, name } => match &base.kind {
                ExprKind::Name(module) => match self.follow(module) {
                    Some((_, Global::Module(path))) if is_warp(&path) => name.text.clone(),
                    _ => return None,
                },
                _ => return None,
            },
            ExprKind::Name(name) => match self.follow(name) {
                Some((_, Global::Member { module, name })) if is_warp(&module) => name,
                // A name of the file for one of Warp's decorators.
                Some((scope, Global::Constant(value)))
                    if self.scopes[scope].parent.is_none() && !mentions(&value, name) =>
                {
                    return self.within(scope, |c| c.role_of(&value));
                }
                None if self.scopes[self.module_of(self.scopes.current)].star_import => name.clone(),
                _ => return None,
            },
            _ => return None,
        };
        Some(match word.as_str() {
            "kernel" => Role::Kernel,
            "func" => Role::Function,
            "struct" => Role::Struct,
            "func_grad" | "func_replay" => Role::Gradient,
            "func_native" => Role::Native,
            _ => return None,
        })
    }

    /// What a name outside the function means; None when there is no such name.
    pub fn global(&mut self, name: &str, span: Span) -> Option<Res<Operand>> {
        let (scope, global) = self.lookup(name)?;
        let global = global.clone();
        // What Python computes where a definition is has the value of that time; kernels have the
        // last one.
        if let (Global::Constant(_) | Global::Value(_), true) = (&global, self.evaluation.computing > 0)
            && let Some(&last) = self.scopes[scope].rebound.get(name)
            && last.file == span.file
            && span.start < last.start
            && !self.evaluation.own_names.iter().any(|own| own == name)
        {
            let unknown = Unknown { name: name.to_string(), place: last, why: Why::Rebound };
            return Some(Err(self.need_unknown(&unknown)));
        }
        Some(match global {
            Global::Module(path) => Ok(Operand::Module(path)),
            Global::Member { module, name } => self.member_of(&module, &name, true, span),
            Global::Functions(_) => Ok(Operand::Function(FunctionName::User { scope, name: name.to_string() })),
            Global::Kernel(definition) => {
                let place = definition.ast.name.span;
                Err(self.report(messages::names::kernel_in_kernel(name, span, place)))
            }
            Global::Struct(id) => Ok(Operand::Type(TypeWord::Type(Type::Struct(id)))),
            Global::ForeignStruct(class) => self.foreign_struct(scope, &class, span),
            Global::Broken => Err(Reported),
            Global::Value(operand) => Ok(operand),
            Global::Enum(class) => Ok(Operand::Enum(class)),
            Global::Unknown(unknown) => Err(self.need_unknown(&unknown)),
            Global::Evaluating => Err(self.report(messages::names::circular_constant(name, span))),
            Global::Constant(value) => self.global_constant(scope, name, value, span),
            Global::Host(place) | Global::Class(_, place) => Err(self.host_function(name, span, place)),
            Global::Maker(maker) => Err(self.host_function(name, span, maker.name.span)),
        })
    }

    fn host_function(&mut self, name: &str, span: Span, place: Span) -> Reported {
        let text = &self.sources.file(place.file).text;
        let before = text.get(..place.start as usize).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let (indent, word) = (&before[start..], before[start..].trim());
        let is_class = word == "class";
        let (what, decorator, use_) = if is_class {
            ("struct", "struct", "use it in kernels")
        } else {
            ("function", "func", "call it from kernels")
        };
        let decorator = format!("@wp.{decorator}");
        let diagnostic = messages::names::plain_python(name, what, &decorator, use_, span, place);
        if !is_class && word != "def" {
            return self.report(diagnostic);
        }
        let indent = &indent[..indent.len() - indent.trim_start().len()];
        // The decorator of another compiler goes.
        let line_before = before[..start].trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
        let other = line_before.trim().starts_with('@').then(|| start - line_before.len() - 1);
        let from = other.unwrap_or(start) as u32;
        let at = Span { start: from, end: start as u32, ..place };
        self.report(messages::repairs::decorator(diagnostic, &decorator, indent, at))
    }

    /// Adds what the kernel language says instead of the text at `span`.
    pub fn suggest(&self, diagnostic: Diagnostic, habit: Habit, span: Span) -> Diagnostic {
        match habit {
            Habit::Name(near) => {
                let text = format!("wp.{near}");
                messages::repairs::name_here(diagnostic, &text, span)
            }
            Habit::Word(word) => messages::repairs::written_so(diagnostic, word, span),
            Habit::Say(help) => diagnostic.help(help),
        }
    }

    /// The names this file has for modules.
    pub fn module_names(&self) -> Vec<String> {
        let modules = self.scopes[MODULE].names.iter().filter(|(_, global)| matches!(global, Global::Module(_)));
        modules.map(|(name, _)| name.clone()).collect()
    }

    /// The file's name for the module `warp`.
    pub fn warp_alias(&self) -> Option<String> {
        let named = |(name, global): (&String, &Global)| match global {
            Global::Module(path) if path == "warp" => Some(name.clone()),
            _ => None,
        };
        self.scopes[MODULE].names.iter().filter_map(named).min()
    }

    /// How the checked file names what is Warp's.
    pub fn spelling(&self) -> Spelling {
        let main = &self.scopes[MODULE];
        let mut spelling = Spelling { star: main.star_import, ..Spelling::default() };
        let mut modules = Vec::new();
        for (own, global) in &main.names {
            match global {
                // Other packages that have the kernel language's names come after Warp itself.
                Global::Module(path) if path == "warp" || is_kc(path) => {
                    // So do names that start as private ones do: a program that hands over its text
                    // adds such a name.
                    modules.push((path != "warp", own != "wp", own.starts_with('_'), own))
                }
                Global::Member { module, name } if is_warp(module) => {
                    spelling.members.insert(name.clone(), own.clone());
                }
                _ => {}
            }
        }
        spelling.module = modules.into_iter().min().map(|(_, _, _, own)| own.clone());
        spelling
    }

    /// A name that is neither local nor in the file: Python's and Warp's own words.
    pub fn ambient(&mut self, name: &str) -> Option<Operand> {
        let own = match name {
            "float" | "int" | "bool" => type_of_name(name).map(|ty| Operand::Type(TypeWord::Type(ty))),
            "Any" => Some(Operand::Type(TypeWord::Any)),
            "abs" | "min" | "max" | "round" | "pow" | "len" | "range" | "reversed" | "print" | "type" => {
                Some(Operand::Function(FunctionName::Builtin(name.to_string())))
            }
            _ => None,
        };
        // Warp takes its own words without prefix, too.
        let builtin = || Some(Operand::Function(FunctionName::Builtin(name.to_string())));
        own.or_else(|| builtin_word("warp", name)).or_else(|| if self.knows_builtin(name) { builtin() } else { None })
    }

    /// Whether the library has a built-in of this name that users may call.
    pub fn knows_builtin(&self, name: &str) -> bool {
        !name.starts_with('_') && Library::has(name)
    }
}

/// Whether a name is part of an expression.
fn mentions(expr: &ast::Expr, name: &str) -> bool {
    let mut found = false;
    crate::syntax::visit::walk(expr, &mut |part| {
        found |= matches!(&part.kind, ExprKind::Name(other) if other == name);
    });
    found
}

/// Whether a literal is what a struct's field begins with anyway.
fn is_zero(value: &ast::Expr) -> bool {
    matches!(value.kind, ExprKind::Int(Some(0)) | ExprKind::Bool(false))
        || matches!(value.kind, ExprKind::Float(x) if x == 0.0)
}

/// Whether the annotation of a field is the struct's own name, in quotes too.
fn names_itself(annotation: &ast::Expr, class: &str) -> bool {
    match &annotation.kind {
        ExprKind::Name(name) => name == class,
        ExprKind::Str(text) => text.trim() == class,
        _ => false,
    }
}

/// Whether an expression is a type of several numbers by its last word.
fn is_composite(base: &ast::Expr) -> bool {
    match &base.kind {
        ExprKind::Call { callee, .. } => is_composite(callee),
        ExprKind::Attribute { name, .. } => is_composite_word(&name.text),
        ExprKind::Name(name) => is_composite_word(name),
        _ => false,
    }
}
