//! For which types is a generic kernel compiled? For those that the file names
//! (`wp.overload(kernel, [types])`), those of its launches as far as reading the file tells them,
//! and those of `--types` on the command line.

use std::sync::Arc;

use super::launches;
use crate::check::Checker;
use crate::check::checked::Unresolved;
use crate::check::messages;
use crate::check::options::FAST_MATH;
use crate::check::state::definition::{Definition, GivenTypes, InstanceArg, Overload, ParamInfo, Signature};
use crate::check::state::globals::{Global, Unknown};
use crate::check::tree::FnId;
use crate::check::types::pattern::{Bindings, Pattern};
use crate::check::types::value::{Dict, HostValue, Operand, Reported, Res, TypeWord};
use crate::diag::Diagnostics;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{self, ExprKind};
use crate::types::Type;

impl Checker<'_> {
    /// Takes note of a call at module level, if it is one that concerns kernels.
    pub fn collect_call(&mut self, call: &ast::Expr) {
        let ExprKind::Call { callee, args } = &call.kind else { return };
        let word = match &callee.kind {
            ExprKind::Attribute { name, .. } => name.text.as_str(),
            ExprKind::Name(name) => name.as_str(),
            _ => return,
        };
        let (scope, span) = (Some(self.scopes.current), call.span);
        match (word, args.as_slice()) {
            ("overload", [kernel, types]) => {
                let given =
                    listed(&types.value).map_or_else(|| GivenTypes::Computed(types.value.clone()), GivenTypes::Types);
                let (kernel, span) = (kernel.value.clone(), types.value.span);
                self.host.overloads.push(Overload { kernel, scope, span, given });
            }
            ("launch" | "launch_tiled", args) => {
                if let Some((kernel, lists)) = launches::parts_of(args) {
                    let given = GivenTypes::Launch(lists);
                    self.host.overloads.push(Overload { kernel: kernel.clone(), scope, span, given });
                }
            }
            ("set_module_options", [ast::Arg { value: ast::Expr { kind: ExprKind::Dict(pairs), .. }, .. }, ..]) => {
                for (key, value) in pairs {
                    match (&key.kind, &value.kind) {
                        (ExprKind::Str(key), ExprKind::Bool(on)) if key == "enable_backward" => {
                            self.settings.backward_off = !on;
                        }
                        (ExprKind::Str(key), _) if key == FAST_MATH && self.in_main() => {
                            self.settings.fast_math = self.fast_math_value(value);
                        }
                        (ExprKind::Str(key), _) if key == "block_dim" && self.in_main() => {
                            self.host.block_dim = Some((self.scopes.current, value.clone()));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes the types for generic kernels that the command line gives: `kernel(name=type, ...)`.
    pub fn take_types(&mut self, texts: &[String]) {
        for text in texts {
            let line = format!("_ = {text}\n");
            let file = self.sources.add(SourceFile::new("--types", line.clone()));
            let mut faults = Diagnostics::new();
            let parsed = crate::syntax::parse(file, &line, &mut faults);
            let call = match parsed.items.as_slice() {
                [ast::Item::Constant(ast::Constant { value, .. })] if faults.is_empty() => value,
                _ => &ast::Expr { kind: ExprKind::Opaque, span: Span::new(file, 4, line.len() as u32 - 1) },
            };
            match &call.kind {
                ExprKind::Call { callee, args } if let ExprKind::Name(kernel) = &callee.kind => {
                    let types = args.iter().map(|arg| (arg.name.as_ref().map(|n| n.text.clone()), arg.value.clone()));
                    let given = GivenTypes::Types(types.collect());
                    let known = self.definitions.all.iter().any(|d| d.kernel && self.entry_name(d) == *kernel);
                    if known {
                        let kernel = (**callee).clone();
                        self.host.overloads.push(Overload { kernel, scope: None, span: call.span, given });
                    } else {
                        self.report(messages::host::overload_of_nothing(kernel, callee.span));
                    }
                }
                _ => {
                    self.report(messages::host::types_not_understood(text));
                }
            }
        }
    }

    /// The kernels that a definition is: one, or for a generic one those that the file and the
    /// command line ask for. What has errors is reported and left out.
    pub fn kernels(&mut self, definition: &Arc<Definition>) -> Vec<FnId> {
        let signature = self.signature(definition);
        self.evaluation.unknown.clear();
        let Ok(signature) = signature else {
            self.leave_out(definition, &[]);
            return Vec::new();
        };
        let generic = signature.params.iter().any(|param| param.pattern.is_open());
        let wanted = self.overloads_of(definition);
        let mut found: Vec<FnId> = Vec::new();
        let mut asked = false;
        // Why the types of an overload are not known.
        let mut unknown: Vec<Unknown> = Vec::new();
        for overload in wanted {
            let found_id = match &overload.given {
                GivenTypes::Types(_) | GivenTypes::Computed(_) if !generic => {
                    if overload.scope.is_none() {
                        let name = self.entry_name(definition);
                        self.report(messages::host::overload_of_concrete(
                            &name,
                            overload.span,
                            definition.ast.name.span,
                        ));
                    }
                    continue;
                }
                GivenTypes::Launch(_) if !generic => continue,
                GivenTypes::Launch(lists) => {
                    let scope = overload.scope.unwrap_or(definition.scope);
                    let (types, _) = self.quietly(|c| c.within(scope, |c| c.launch_types(&signature, lists)));
                    let Some(types) = types.filter(|types| self.all_fit(&signature, types)) else { continue };
                    self.resolved(definition, |c| c.kernel_for(definition, types, overload.span))
                }
                GivenTypes::Types(named) => {
                    self.evaluation.unknown.clear();
                    let errors = self.diagnostics.error_count();
                    let types = self.overload_types(&signature, &overload, named, definition);
                    let needed = std::mem::take(&mut self.evaluation.unknown);
                    match types {
                        Err(Reported) if !needed.is_empty() && self.diagnostics.error_count() == errors => {
                            unknown.extend(needed);
                            continue;
                        }
                        Err(Reported) => {
                            self.leave_out(definition, &needed);
                            None
                        }
                        Ok(types) => self.resolved(definition, |c| c.kernel_for(definition, types, overload.span)),
                    }
                }
                GivenTypes::Computed(list) => {
                    let scope = overload.scope.unwrap_or(definition.scope);
                    let types = self.within(scope, |c| c.computed_types(list));
                    let Some(types) = types.and_then(|named| complete(&signature, &named)) else { continue };
                    if !self.all_fit(&signature, &types) {
                        let (kernel, shown) = (definition.ast.name.text.clone(), self.types_text(&types));
                        let place = definition.ast.name.span;
                        self.report(messages::host::overload_does_not_fit(&kernel, &shown, overload.span, place));
                        asked = true;
                        continue;
                    }
                    self.resolved(definition, |c| c.kernel_for(definition, types, overload.span))
                }
            };
            asked = true;
            found.extend(found_id.filter(|id| !found.contains(id)));
        }
        if !asked && !unknown.is_empty() {
            self.leave_out(definition, &unknown);
        } else if !asked {
            return self.resolved(definition, |c| c.kernel(definition)).into_iter().collect();
        }
        found
    }

    /// What `check` makes of a kernel. One that needs unknown names is reported as unresolved.
    fn resolved(&mut self, definition: &Arc<Definition>, check: impl FnOnce(&mut Self) -> Res<FnId>) -> Option<FnId> {
        self.evaluation.unknown.clear();
        let result = check(self);
        let unknown = std::mem::take(&mut self.evaluation.unknown);
        if result.is_err() {
            self.leave_out(definition, &unknown);
        }
        result.ok()
    }

    /// Reports a kernel that is not compiled for want of these names. Without any it has errors,
    /// which were reported where they are.
    fn leave_out(&mut self, definition: &Arc<Definition>, unknown: &[Unknown]) {
        // No kernel goes without a word, whatever was forgotten on the way.
        if unknown.is_empty() && self.diagnostics.has_errors() {
            return;
        }
        self.report_unresolved(definition, unknown);
        let unresolved = Unresolved { name: self.entry_name(definition), span: definition.ast.name.span };
        if !self.output.unresolved.contains(&unresolved) {
            self.output.unresolved.push(unresolved);
        }
    }

    fn overloads_of(&mut self, definition: &Arc<Definition>) -> Vec<Overload> {
        while let Some(overload) = self.host.overloads.get(self.host.overloaded.len()).cloned() {
            let kernel = self.overloaded_kernel(&overload);
            self.host.overloaded.push(kernel);
        }
        let own = Some(Arc::as_ptr(definition));
        let all = self.host.overloads.iter().zip(&self.host.overloaded);
        all.filter(|(_, kernel)| **kernel == own).map(|(overload, _)| overload.clone()).collect()
    }

    /// The kernel that an overload or a launch names.
    fn overloaded_kernel(&mut self, overload: &Overload) -> Option<*const Definition> {
        let Some(scope) = overload.scope else {
            let name = self.kernel_text(overload);
            let named = self.definitions.all.iter().find(|d| d.kernel && self.entry_name(d) == name);
            return named.map(Arc::as_ptr);
        };
        self.within(scope, |c| match &overload.kernel.kind {
            ExprKind::Name(name) => match c.lookup(name)?.1 {
                Global::Kernel(kernel) => Some(Arc::as_ptr(kernel)),
                Global::Value(Operand::Host(HostValue::Kernel(kernel))) => Some(Arc::as_ptr(&kernel.0)),
                Global::Constant(_) => c.host_kernel(&overload.kernel),
                _ => None,
            },
            ExprKind::Attribute { .. } => None,
            _ => c.host_kernel(&overload.kernel),
        })
    }

    fn host_kernel(&mut self, kernel: &ast::Expr) -> Option<*const Definition> {
        match self.host_value(kernel)? {
            Operand::Host(HostValue::Kernel(kernel)) => Some(Arc::as_ptr(&kernel.0)),
            _ => None,
        }
    }

    fn kernel_text(&self, overload: &Overload) -> String {
        self.sources.text(overload.kernel.span).to_string()
    }

    fn types_text(&self, types: &[Type]) -> String {
        types.iter().map(|ty| format!("`{}`", self.show(*ty))).collect::<Vec<_>>().join(", ")
    }

    /// The types of a list or dict that host code computes.
    fn computed_types(&mut self, list: &ast::Expr) -> Option<Vec<(Option<String>, Type)>> {
        let pairs = match self.host_value(list)? {
            Operand::Tuple(items) => items.into_iter().map(|item| (None, item)).collect(),
            Operand::Dict(dict) => self.named_entries(&dict)?,
            _ => return None,
        };
        pairs.into_iter().map(|(name, value)| Some((name, host_type(&value)?))).collect()
    }

    fn named_entries(&mut self, dict: &Dict) -> Option<Vec<(Option<String>, Operand)>> {
        let entries = dict.entries.iter().map(|(key, value)| {
            let Operand::Str(name) = self.within(dict.scope, |c| c.host_value(key))? else { return None };
            Some((Some(name), self.within(dict.scope, |c| c.host_value(value))?))
        });
        entries.collect()
    }

    /// The type of each parameter in an overload that names types.
    fn overload_types(
        &mut self,
        signature: &Signature,
        overload: &Overload,
        named: &[(Option<String>, ast::Expr)],
        definition: &Definition,
    ) -> Res<Vec<Type>> {
        let scope = overload.scope.unwrap_or(definition.scope);
        let mut bindings = Bindings::default();
        let mut types = Vec::new();
        for (name, expr) in named {
            if let Some(name) = name
                && signature.params.iter().all(|param| param.name != *name)
            {
                let kernel = &definition.ast.name.text;
                return Err(self.report(messages::host::overload_of_no_parameter(kernel, name, expr.span)));
            }
        }
        for (n, param) in signature.params.iter().enumerate() {
            let given = named.iter().enumerate().find(|(at, (name, _))| match name {
                Some(name) => *name == param.name,
                None => *at == n,
            });
            let ty = match (given, &param.pattern) {
                (Some((_, (_, expr))), _) => self.within(scope, |c| c.overload_type(expr))?,
                (None, Pattern::Exact(ty)) => *ty,
                (None, _) => {
                    let kernel = &definition.ast.name.text;
                    return Err(self.report(messages::host::overload_incomplete(kernel, &param.name, overload.span)));
                }
            };
            if !self.fits(&param.pattern, ty, &mut bindings) {
                let (wanted, found) = (param.pattern.display(&self.output.structs), self.show(ty));
                let kernel = &definition.ast.name.text;
                return Err(self.report(messages::host::overload_type(
                    &param.name,
                    kernel,
                    &wanted,
                    &found,
                    overload.span,
                    param.span,
                )));
            }
            types.push(ty);
        }
        Ok(types)
    }

    /// Whether a launch with arguments of these types can be.
    fn all_fit(&self, signature: &Signature, types: &[Type]) -> bool {
        let mut bindings = Bindings::default();
        signature.params.iter().zip(types).all(|(param, ty)| self.fits(&param.pattern, *ty, &mut bindings))
    }

    fn kernel_for(&mut self, definition: &Arc<Definition>, types: Vec<Type>, span: Span) -> Res<FnId> {
        let signature = self.signature(definition)?;
        let mut bindings = Bindings::default();
        for (param, ty) in signature.params.iter().zip(&types) {
            self.fits(&param.pattern, *ty, &mut bindings);
        }
        let args = types.into_iter().map(InstanceArg::Type).collect();
        self.instance(definition, args, bindings, span)
    }

    /// A type, or an example value of it.
    fn overload_type(&mut self, expr: &ast::Expr) -> Res<Type> {
        if let Ok(Operand::Const(constant)) = match &expr.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) => self.constant(expr, false),
            _ => Err(Reported),
        } {
            return Ok(constant.scalar().into());
        }
        self.concrete_type(expr, false)
    }

    /// `scale_float32`: a name for one overload of a generic kernel, from the types of its generic
    /// parameters.
    pub fn overload_name(&mut self, definition: &Arc<Definition>, args: &[InstanceArg]) -> Option<String> {
        let signature = self.signature(definition).ok()?;
        let mut name = self.entry_name(definition);
        let mut seen: Vec<Type> = Vec::new();
        for (param, arg) in signature.params.iter().zip(args) {
            let InstanceArg::Type(ty) = arg else { continue };
            let ty = match ty {
                Type::Array(array) => array.element.into(),
                ty => self.as_indexed(*ty).map_or(*ty, |array| array.element.into()),
            };
            if !param.pattern.is_exact() && !seen.contains(&ty) {
                seen.push(ty);
                let shown = self.show(ty);
                name.push('_');
                name.extend(shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }));
            }
        }
        if seen.is_empty() {
            return None;
        }
        Some(self.output.names.unique(name.trim_end_matches('_')))
    }
}

/// The types of `wp.overload` as they are written: a list with one per parameter, or a dict from
/// parameter names.
fn listed(types: &ast::Expr) -> Option<Vec<(Option<String>, ast::Expr)>> {
    Some(match &types.kind {
        ExprKind::List(types) | ExprKind::Tuple(types) => {
            let plain = types.iter().all(|ty| !matches!(ty.kind, ExprKind::Starred(_)));
            return plain.then(|| types.iter().map(|ty| (None, ty.clone())).collect());
        }
        ExprKind::Dict(pairs) => {
            let named = pairs.iter().map(|(key, ty)| match &key.kind {
                ExprKind::Str(name) => (Some(name.clone()), ty.clone()),
                _ => (Some(String::new()), ty.clone()),
            });
            named.collect()
        }
        _ => return None,
    })
}

/// The type of each parameter, where a list or dict gives those that are open.
fn complete(signature: &Signature, named: &[(Option<String>, Type)]) -> Option<Vec<Type>> {
    let typed = |(n, param): (usize, &ParamInfo)| {
        let given = named.iter().enumerate().find(|(at, (name, _))| match name {
            Some(name) => *name == param.name,
            None => *at == n,
        });
        match (given, &param.pattern) {
            (Some((_, (_, ty))), _) => Some(*ty),
            (None, Pattern::Exact(ty)) => Some(*ty),
            (None, _) => None,
        }
    };
    signature.params.iter().enumerate().map(typed).collect()
}

/// The type that a value of host code is, or is an example of.
fn host_type(value: &Operand) -> Option<Type> {
    match value {
        Operand::Type(TypeWord::Type(ty)) => Some(*ty),
        Operand::Const(constant) => Some(constant.scalar().into()),
        Operand::Value(expr) => Some(expr.ty).filter(|ty| !matches!(ty, Type::Local(_))),
        _ => None,
    }
}
