//! Kernels inside host code: in which scopes do they stand, and what do the names they capture mean
//! there?
//!
//! A host function that makes kernels is a template. Each call of it in the file gives one scope,
//! in which its parameters are the arguments as far as these are known; without a call there is one
//! scope with unknown parameters. A loop over known values gives one scope per value. A kernel that
//! needs an unknown name is checked as far as possible and reported as unresolved.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::check::Checker;
use crate::check::body::Body;
use crate::check::host::values;
use crate::check::messages;
use crate::check::state::definition::Definition;
use crate::check::state::globals::{Global, MODULE, Maker, Unknown, Why};
use crate::check::types::value::{
    Constant, FunctionName, HostValue, Number, Operand, Reported, Res, ScopeId, TypeWord,
};
use crate::diag::{Diagnostics, Level};
use crate::limits::{MAX_HOST_CALLS, MAX_HOST_ITERATIONS, MAX_SCOPES};
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind, Item, RegionKind};
use crate::syntax::{Change, Changed};

impl Checker<'_> {
    /// Runs `f` with names looked up in another scope.
    pub fn within<T>(&mut self, scope: ScopeId, f: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.scopes.current, scope);
        let result = f(self);
        self.scopes.current = outer;
        result
    }

    /// Notes the default of a parameter whose value is not known.
    pub fn note_default(&mut self, param: &ast::Param) {
        if let Some(default) = &param.default {
            self.scopes.here_mut().defaults.insert(param.name.text.clone(), default.clone());
        }
    }

    /// Runs `f` without reporting what it finds. Failures are not remembered, so that they are
    /// found again.
    pub fn quietly<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (T, Quiet) {
        let kept = std::mem::take(self.diagnostics);
        let unknown = std::mem::take(&mut self.evaluation.unknown);
        self.evaluation.quiet += 1;
        let result = f(self);
        self.evaluation.quiet -= 1;
        let unknown = std::mem::replace(&mut self.evaluation.unknown, unknown);
        (result, Quiet { found: std::mem::replace(self.diagnostics, kept), unknown })
    }

    /// The value of a host expression in the current scope, if kc can know it.
    pub fn host_value(&mut self, expr: &ast::Expr) -> Option<Operand> {
        let hosting = std::mem::replace(&mut self.evaluation.hosting, true);
        let (result, _) = self.quietly(|c| c.constant(expr, false));
        self.evaluation.hosting = hosting;
        result.ok()
    }

    /// Notes that the current function needs a name without a known value.
    pub fn need_unknown(&mut self, unknown: &Unknown) -> Reported {
        self.evaluation.need(unknown);
        Reported
    }

    /// Enters a region of host code. True: what follows it does not run.
    pub fn collect_region(&mut self, region: &ast::Region) -> bool {
        match &region.kind {
            RegionKind::Block(runs) => return self.collect_block(runs, &region.items),
            RegionKind::Class(name) => {
                let scope = self.new_scope(self.scopes.current, Some(&name.text), true);
                self.within(scope, |c| c.collect_scope(&region.items));
                self.bind(&name.text, Global::Class(scope, name.span));
            }
            RegionKind::Methods(name) => {
                let scope = self.methods_scope(name);
                self.within(scope, |c| c.collect_scope(&region.items));
            }
            RegionKind::Loop { target, iter } => self.collect_loop(region, target, iter),
            RegionKind::Launching { name, params } => {
                self.bind(&name.text, Global::Host(name.span));
                if self.scopes.len() < MAX_SCOPES {
                    let scope = self.new_scope(self.scopes.current, Some(&name.text), false);
                    self.within(scope, |c| {
                        for param in params {
                            let (name, place) = (param.name.text.clone(), param.name.span);
                            let why = Why::Parameter(c.scopes[scope].name.clone().unwrap_or_default());
                            c.bind(&param.name.text, Global::Unknown(Unknown { name, place, why }));
                            c.note_default(param);
                        }
                        c.collect_scope(&region.items);
                    });
                }
            }
            RegionKind::Function { name, params, computes } => {
                let maker = Rc::new(Maker {
                    name: name.clone(),
                    params: params.clone(),
                    items: region.items.clone(),
                    scope: self.scopes.current,
                    computes: *computes,
                });
                self.bind(&name.text, Global::Maker(maker.clone()));
                self.host.makers.push((maker, Vec::new()));
            }
        }
        false
    }

    /// One scope for each iteration of a loop over known values, else one with an unknown target.
    fn collect_loop(&mut self, region: &ast::Region, target: &ast::Expr, iter: &ast::Expr) {
        let iterations = match self.host_value(iter) {
            // Numbers do not tell launches apart.
            Some(Operand::Tuple(items)) if items.iter().all(is_number) && !holds_definitions(&region.items) => {
                vec![None]
            }
            Some(Operand::Tuple(items)) if items.len() <= MAX_HOST_ITERATIONS => items.into_iter().map(Some).collect(),
            _ => vec![None],
        };
        for iteration in iterations {
            if self.scopes.len() >= MAX_SCOPES {
                break;
            }
            let scope = self.new_scope(self.scopes.current, None, false);
            if let Some(tag) = iteration.as_ref().and_then(|value| self.tag(value)) {
                self.scopes[scope].tag = format!("_{tag}");
            }
            self.within(scope, |c| {
                c.bind_target(target, iteration);
                c.collect_scope(&region.items);
            });
            if self.scopes[scope].returned.is_some() {
                // Which turn returns is not known.
                self.scopes.here_mut().returned = Some(None);
            }
        }
        // Behind the loop its names have the values of the last iteration, if there was one.
        let mut bound = Vec::new();
        bound_names(&region.items, &mut bound);
        target_names(target, &mut bound);
        for (name, place) in bound {
            let unknown = Unknown { name: name.clone(), place, why: Why::Loop };
            if !self.names().contains_key(&name) {
                self.bind(&name, Global::Unknown(unknown));
            }
        }
    }

    fn bind_target(&mut self, target: &ast::Expr, value: Option<Operand>) {
        match (&target.kind, value) {
            (ExprKind::Name(name), Some(value)) => self.bind(name, Global::Value(value)),
            (ExprKind::Tuple(targets), Some(Operand::Tuple(items))) if targets.len() == items.len() => {
                for (target, item) in targets.iter().zip(items) {
                    self.bind_target(target, Some(item));
                }
            }
            _ => {
                let mut names = Vec::new();
                target_names(target, &mut names);
                for (name, place) in names {
                    self.bind(&name.clone(), Global::Unknown(Unknown { name, place, why: Why::Loop }));
                }
            }
        }
    }

    /// Enters the scopes of all host functions: one for each call with other arguments.
    pub fn expand_makers(&mut self) {
        let mut next = 0;
        loop {
            while let Some((scope, call)) = self.host.calls.get(next).cloned() {
                next += 1;
                self.within(scope, |c| c.call_scope(&call));
            }
            // What nobody in the file calls.
            let own = |maker: &Maker| self.module_of(maker.scope) == MODULE;
            let uncalled = self
                .host
                .makers
                .iter()
                .find(|(maker, instances)| instances.is_empty() && own(maker) && !maker.computes);
            let Some(maker) = uncalled.map(|(maker, _)| maker.clone()) else { break };
            self.maker_scope(&maker, vec![None; maker.params.len()]);
        }
    }

    /// The scope that a call of a host function gives.
    pub fn call_scope(&mut self, call: &ast::Expr) -> Option<ScopeId> {
        let ExprKind::Call { callee, args } = &call.kind else { return None };
        let maker = self.maker_of(callee)?;
        self.scope_of_call(&maker, args)
    }

    /// The scope of a host function that is called with these arguments.
    pub fn scope_of_call(&mut self, maker: &Rc<Maker>, args: &[ast::Arg]) -> Option<ScopeId> {
        let mut values: Vec<Option<Operand>> = vec![None; maker.params.len()];
        let plain: Vec<usize> = (0..maker.params.len()).filter(|&n| maker.params[n].star == ast::Star::None).collect();
        let mut given = vec![false; maker.params.len()];
        for (n, arg) in args.iter().enumerate() {
            if matches!(arg.value.kind, ExprKind::Starred(_) | ExprKind::Unsupported(_)) {
                // `*args`, `**options`: what they hold is not known, nor where it goes.
                given = vec![true; maker.params.len()];
                break;
            }
            let slot = match &arg.name {
                Some(name) => maker.params.iter().position(|param| param.name.text == name.text),
                None => plain.get(n).copied(),
            };
            if let Some(slot) = slot {
                given[slot] = true;
                values[slot] = self.host_value(&arg.value);
            }
        }
        for (slot, param) in maker.params.iter().enumerate() {
            if let (false, Some(default)) = (given[slot], &param.default) {
                values[slot] = self.within(maker.scope, |c| c.host_value(default));
            }
        }
        self.maker_scope(maker, values)
    }

    /// The scope of a host function for these arguments.
    pub fn maker_scope(&mut self, maker: &Rc<Maker>, values: Vec<Option<Operand>>) -> Option<ScopeId> {
        let at = self.host.makers.iter().position(|(known, _)| Rc::ptr_eq(known, maker))?;
        let key = format!("{values:?}");
        if let Some((_, scope)) = self.host.makers[at].1.iter().find(|(known, _)| *known == key) {
            return Some(*scope);
        }
        if self.scopes.len() >= MAX_SCOPES {
            if self.host.makers[at].1.is_empty() {
                // Marks it as looked at.
                self.host.makers[at].1.push((key, maker.scope));
            }
            self.host.limit.get_or_insert(maker.name.span);
            return None;
        }
        let scope = self.new_scope(maker.scope, Some(&maker.name.text), false);
        self.host.makers[at].1.push((key, scope));
        let hosts = values.iter().flatten().any(values::is_of_host);
        let mut tag = String::new();
        for (param, value) in maker.params.iter().zip(values) {
            let name = &param.name.text;
            let global = match value {
                Some(value) => {
                    if let Some(text) = self.tag(&value) {
                        tag.push('_');
                        tag.push_str(&text);
                    }
                    Global::Value(value)
                }
                None => {
                    self.within(scope, |c| c.note_default(param));
                    let why = Why::Parameter(maker.name.text.clone());
                    Global::Unknown(Unknown { name: name.clone(), place: param.name.span, why })
                }
            };
            self.scopes[scope].names.insert(name.clone(), global);
        }
        self.scopes[scope].tag = tag;
        let outer = std::mem::replace(&mut self.scopes.conditional, false);
        self.within(scope, |c| c.collect_scope(&maker.items));
        self.scopes.conditional = outer;
        if hosts {
            // It may hand on the kernel that it was given.
            values::calls(&maker.items, &mut |call| self.host.calls.push((scope, call.clone())));
        }
        // Targets of loops that are not read hide names outside.
        let file = self.module_of(maker.scope);
        let own = |change: &&Change| change.owner.as_ref() == Some(&maker.name.text) && change.what == Changed::Name;
        for Change { name, .. } in self.scopes[file].changes.iter().filter(own).cloned().collect::<Vec<_>>() {
            let unknown = Unknown { name: name.text.clone(), place: name.span, why: Why::Loop };
            self.scopes[scope].names.entry(name.text).or_insert(Global::Unknown(unknown));
        }
        Some(scope)
    }

    /// What a call of a host function returns, or only one item of that, if it has one `return` and
    /// kc can know its value.
    pub fn returned(&mut self, call: &ast::Expr, item: Option<&ast::Expr>) -> Res<Operand> {
        if self.host.call_depth >= MAX_HOST_CALLS {
            return Err(Reported);
        }
        self.host.call_depth += 1;
        let scope = self.call_scope(call);
        let result = match scope.and_then(|scope| Some((scope, self.scopes[scope].returned.clone()?))) {
            Some((scope, Some(value))) => {
                let part = item.and_then(|index| match (&value.kind, &index.kind) {
                    (ExprKind::Tuple(items), ExprKind::Int(Some(n))) => items.get(usize::try_from(*n).ok()?).cloned(),
                    _ => None,
                });
                let whole = item.filter(|_| part.is_none()).cloned().map(|index| {
                    let kind = ExprKind::Subscript { base: Box::new(value.clone()), indices: vec![index] };
                    ast::Expr { kind, span: value.span }
                });
                let wanted = part.or(whole).unwrap_or(value);
                let computes = self.callee_computes(call);
                self.returned_value(scope, &wanted, computes)
            }
            _ => Err(Reported),
        };
        self.host.call_depth -= 1;
        result
    }

    /// A short form of a value for names: `float32`, `8`.
    fn tag(&self, value: &Operand) -> Option<String> {
        let text = match value {
            Operand::Const(Constant { number: Number::Int(n), .. }) => n.to_string().replace('-', "m"),
            Operand::Const(Constant { number: Number::Float(x), .. }) => x.to_string().replace('-', "m"),
            Operand::Const(Constant { number: Number::Bool(b), .. }) => b.to_string(),
            Operand::Type(TypeWord::Type(ty)) => self.show(*ty),
            Operand::Function(FunctionName::User { name, .. } | FunctionName::Builtin(name)) => name.clone(),
            Operand::Str(text) if text.len() <= 16 => text.clone(),
            Operand::Tuple(items) if items.len() <= 4 => {
                let items: Vec<String> = items.iter().filter_map(|item| self.tag(item)).collect();
                items.join("_")
            }
            _ => return None,
        };
        Some(text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect())
    }

    /// Gives each kernel the name of its entry: its own; where several have that, one with what
    /// makes them differ.
    pub fn name_kernels(&mut self) {
        let mut groups: HashMap<String, Vec<Arc<Definition>>> = HashMap::new();
        let kernels: Vec<Arc<Definition>> = self.definitions.kernels().cloned().collect();
        for kernel in &kernels {
            groups.entry(kernel.ast.name.text.clone()).or_default().push(kernel.clone());
        }
        let module = MODULE;
        // The name at module level is the one that other files know.
        for (name, group) in &groups {
            let owner = match group.as_slice() {
                [only] => Some(only),
                _ => group.iter().rev().find(|kernel| kernel.scope == module),
            };
            if let Some(owner) = owner
                && self.output.names.take(name)
            {
                self.definitions.entries.insert(Arc::as_ptr(owner), name.clone());
            }
        }
        for kernel in &kernels {
            if self.definitions.entries.contains_key(&Arc::as_ptr(kernel)) {
                continue;
            }
            let name = &kernel.ast.name.text;
            let same = groups.get(name).map_or(&[][..], Vec::as_slice);
            let (path, tag) = self.path_of(kernel.scope);
            let tagged = format!("{name}{tag}");
            let full = if path.is_empty() { tagged.clone() } else { format!("{path}_{tagged}") };
            // One function's variants differ in their arguments; equal names of several functions
            // in the function.
            let one_place = same.iter().all(|other| other.ast.span == kernel.ast.span);
            let wanted = if one_place { tagged } else { full };
            let entry = self.output.names.unique(&wanted);
            self.definitions.entries.insert(Arc::as_ptr(kernel), entry);
        }
    }

    /// The host functions and classes around a scope, joined, and the values that it was made for.
    fn path_of(&self, scope: ScopeId) -> (String, String) {
        let (mut path, mut tag) = (Vec::new(), String::new());
        let mut at = Some(scope);
        while let Some(id) = at {
            let scope = &self.scopes[id];
            path.extend(scope.name.clone());
            tag = format!("{}{tag}", scope.tag);
            at = scope.parent;
        }
        path.reverse();
        (path.join("_"), tag)
    }

    /// Reports a kernel that was checked and cannot be compiled because of names without known
    /// values.
    pub fn report_unresolved(&mut self, definition: &Arc<Definition>, unknown: &[Unknown]) {
        let kernel = &definition.ast.name;
        let Some(first) = unknown.first() else {
            self.diagnostics.push(messages::host::python_alone(&kernel.text, kernel.span));
            return;
        };
        let mut names: Vec<String> = unknown.iter().map(|u| format!("`{}`", u.name)).collect();
        names.sort();
        names.dedup();
        let generic = unknown.iter().all(|u| matches!(u.why, Why::Generic(_)));
        let native = unknown.iter().all(|u| u.why == Why::Native);
        let diagnostic = if native {
            let mut diagnostic = messages::host::cuda_text(&kernel.text, &names.join(", "), kernel.span);
            for unknown in unknown.iter().take(4) {
                diagnostic = diagnostic.label(unknown.place, unknown.label());
            }
            messages::repairs::func_for_cuda_text(diagnostic)
        } else if generic {
            let types: Vec<String> = unknown
                .iter()
                .map(|u| match &u.why {
                    Why::Generic(ty) => format!("`{}: {ty}`", u.name),
                    _ => String::new(),
                })
                .collect();
            let options: Vec<String> = unknown.iter().map(|u| format!("{}=...", u.name)).collect();
            messages::host::generic_kernel(&kernel.text, &types.join(", "), &options.join(", "), kernel.span)
        } else {
            let one = if names.len() == 1 { "a value" } else { "values" };
            let mut diagnostic = messages::host::python_values(&kernel.text, one, &names.join(", "), kernel.span);
            for unknown in unknown.iter().take(4) {
                diagnostic = diagnostic.label(unknown.place, unknown.label());
            }
            match &first.why {
                Why::Parameter(function) => messages::repairs::constant_arguments(diagnostic, function),
                Why::Rebound => messages::repairs::bound_once(diagnostic),
                _ => messages::repairs::constant_or_argument(diagnostic),
            }
        };
        self.diagnostics.push(diagnostic);
    }
}

impl Body<'_, '_> {
    /// A call of a host function in a constant: the value it returns, where kc can know it. None:
    /// it is no such call.
    pub fn call_host_function(&mut self, callee: &ast::Expr, args: &[ast::Arg], span: Span) -> Option<Res<Operand>> {
        self.host_callee(callee)?;
        let call = ExprKind::Call { callee: Box::new(callee.clone()), args: args.to_vec() };
        self.returned_by(&ast::Expr { kind: call, span }, None)
    }

    /// The same for a call, or one item of the tuple that it returns: `f(...)[1]`.
    pub fn returned_by(&mut self, call: &ast::Expr, item: Option<&ast::Expr>) -> Option<Res<Operand>> {
        let ExprKind::Call { callee, .. } = &call.kind else { return None };
        let (name, known) = self.host_callee(callee)?;
        let needed = self.c.evaluation.unknown.len();
        let result = if known { self.c.returned(call, item) } else { Err(Reported) };
        if result.is_err() && self.c.evaluation.unknown.len() == needed {
            self.c.need_unknown(&Unknown { name: name.clone(), place: callee.span, why: Why::Computed(None) });
        }
        Some(result)
    }

    /// The host function that a call names, and whether what it returns can be known.
    fn host_callee<'e>(&mut self, callee: &'e ast::Expr) -> Option<(&'e String, bool)> {
        let name = match &callee.kind {
            ExprKind::Name(name) if self.is_host() && !self.scope.contains_key(name) => name,
            ExprKind::Attribute { name, .. } if self.is_python() && self.c.maker_of(callee).is_some() => {
                return Some((&name.text, true));
            }
            _ => return None,
        };
        match self.c.follow(name)?.1 {
            Global::Maker(_) | Global::Value(Operand::Host(HostValue::Function(_))) => Some((name, true)),
            Global::Host(_) => Some((name, false)),
            _ => None,
        }
    }
}

impl Unknown {
    fn label(&self) -> String {
        let name = &self.name;
        match &self.why {
            Why::Parameter(function) => format!("`{name}` is an argument of `{function}`"),
            Why::Rebound => format!("`{name}` is bound more than once"),
            Why::Changed => format!("the program changes `{name}` here"),
            Why::Loop => format!("`{name}` changes in a Python loop"),
            Why::Computed(None) => format!("`{name}` is computed by Python"),
            Why::Computed(Some(reason)) => format!("`{name}` is computed by Python: {reason}"),
            Why::Generic(ty) => format!("`{name}` is `{ty}`"),
            Why::Native => format!("`{name}` is CUDA text"),
        }
    }
}

/// What [`Checker::quietly`] kept from the report.
pub(crate) struct Quiet {
    found: Diagnostics,
    unknown: Vec<Unknown>,
}

impl Quiet {
    /// Why the value of `name` could not be known.
    pub fn cause(self, name: &str, place: Span) -> Unknown {
        if let Some(unknown) = self.unknown.into_iter().next() {
            return unknown;
        }
        let first = self.found.into_sorted().into_iter().find(|d| d.level == Level::Error);
        Unknown { name: name.to_string(), place, why: Why::Computed(first.map(|d| d.message)) }
    }
}

fn is_number(value: &Operand) -> bool {
    matches!(value, Operand::Const(_))
}

fn holds_definitions(items: &[Item]) -> bool {
    items
        .iter()
        .any(|item| !matches!(item, Item::Constant(_) | Item::Attribute(_) | Item::Import(_)) && !is_launch(item))
}

fn is_launch(item: &Item) -> bool {
    let Item::Call(ast::Expr { kind: ExprKind::Call { callee, .. }, .. }) = item else { return false };
    matches!(&callee.kind, ExprKind::Attribute { name, .. } if name.text.starts_with("launch"))
}

/// The names that host code binds in its own scope.
fn bound_names(items: &[Item], out: &mut Vec<(String, Span)>) {
    for item in items {
        match item {
            Item::Constant(constant) => out.push((constant.name.text.clone(), constant.name.span)),
            Item::Function(function) => out.push((function.name.text.clone(), function.name.span)),
            Item::Class(class) => out.push((class.name.text.clone(), class.name.span)),
            Item::Region(region) => match &region.kind {
                RegionKind::Launching { name, .. } | RegionKind::Function { name, .. } | RegionKind::Class(name) => {
                    out.push((name.text.clone(), name.span));
                }
                RegionKind::Loop { target, .. } => {
                    target_names(target, out);
                    bound_names(&region.items, out);
                }
                RegionKind::Methods(_) => {}
                RegionKind::Block(_) => bound_names(&region.items, out),
            },
            Item::Import(_) | Item::Attribute(_) | Item::Call(_) | Item::Return(_) => {}
        }
    }
}

fn target_names(target: &ast::Expr, out: &mut Vec<(String, Span)>) {
    match &target.kind {
        ExprKind::Name(name) => out.push((name.clone(), target.span)),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|item| target_names(item, out)),
        ExprKind::Starred(inner) => target_names(inner, out),
        _ => {}
    }
}
