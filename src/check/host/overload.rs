//! For which types is a generic kernel compiled? For those that the file names
//! (`wp.overload(kernel, [types])`), those of its launches as far as reading the file tells them,
//! and those of `--types` on the command line.

use std::sync::Arc;

use super::launches;
use crate::check::Checker;
use crate::check::checked::Unresolved;
use crate::check::messages;
use crate::check::state::definition::{Definition, GivenTypes, InstanceArg, Overload, Signature};
use crate::check::state::globals::{Global, Unknown};
use crate::check::tree::FnId;
use crate::check::types::pattern::{Bindings, Pattern};
use crate::check::types::value::{Operand, Reported, Res};
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
            ("overload", [ast::Arg { value: ast::Expr { kind: ExprKind::Name(kernel), .. }, .. }, types]) => {
                let given = GivenTypes::Types(listed(&types.value));
                self.host.overloads.push(Overload { kernel: kernel.clone(), scope, span: types.value.span, given });
            }
            ("launch" | "launch_tiled", args) => {
                if let Some((kernel, lists)) = launches::parts_of(args) {
                    let given = GivenTypes::Launch(lists);
                    self.host.overloads.push(Overload { kernel: kernel.to_string(), scope, span, given });
                }
            }
            ("set_module_options", [ast::Arg { value: ast::Expr { kind: ExprKind::Dict(pairs), .. }, .. }, ..]) => {
                for (key, value) in pairs {
                    if let (ExprKind::Str(key), ExprKind::Bool(on)) = (&key.kind, &value.kind)
                        && key == "enable_backward"
                    {
                        self.settings.backward_off = !on;
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
                        self.host.overloads.push(Overload {
                            kernel: kernel.clone(),
                            scope: None,
                            span: call.span,
                            given,
                        });
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
        for overload in wanted {
            let found_id = match &overload.given {
                GivenTypes::Types(_) if !generic => {
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
                    let Some(types) = types.filter(|types| fits(&signature, types)) else { continue };
                    self.resolved(definition, |c| c.kernel_for(definition, types, overload.span))
                }
                GivenTypes::Types(named) => self.resolved(definition, |c| {
                    let types = c.overload_types(&signature, &overload, named, definition)?;
                    c.kernel_for(definition, types, overload.span)
                }),
            };
            asked = true;
            found.extend(found_id.filter(|id| !found.contains(id)));
        }
        if !asked {
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
        let all = self.host.overloads.clone();
        let of = |overload: &Overload| match overload.scope {
            None => self.entry_name(definition) == overload.kernel,
            Some(scope) => self.within(scope, |c| match c.lookup(&overload.kernel) {
                Some((_, Global::Kernel(kernel))) => Arc::ptr_eq(kernel, definition),
                _ => false,
            }),
        };
        let mut of = of;
        all.into_iter().filter(|overload| of(overload)).collect()
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
                return Err(self.report(messages::host::overload_of_no_parameter(&overload.kernel, name, expr.span)));
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
                    return Err(self.report(messages::host::overload_incomplete(
                        &overload.kernel,
                        &param.name,
                        overload.span,
                    )));
                }
            };
            if !param.pattern.matches(ty, &mut bindings) {
                let (wanted, found) = (param.pattern.display(&self.output.structs), self.show(ty));
                return Err(self.report(messages::host::overload_type(
                    &param.name,
                    &overload.kernel,
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

    fn kernel_for(&mut self, definition: &Arc<Definition>, types: Vec<Type>, span: Span) -> Res<FnId> {
        let signature = self.signature(definition)?;
        let mut bindings = Bindings::default();
        for (param, ty) in signature.params.iter().zip(&types) {
            param.pattern.matches(*ty, &mut bindings);
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
                ty => *ty,
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

/// The types of `wp.overload`: a list with one per parameter, or a dict from parameter names.
fn listed(types: &ast::Expr) -> Vec<(Option<String>, ast::Expr)> {
    match &types.kind {
        ExprKind::List(types) | ExprKind::Tuple(types) => types.iter().map(|ty| (None, ty.clone())).collect(),
        ExprKind::Dict(pairs) => {
            let named = pairs.iter().map(|(key, ty)| match &key.kind {
                ExprKind::Str(name) => (Some(name.clone()), ty.clone()),
                _ => (Some(String::new()), ty.clone()),
            });
            named.collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a launch with arguments of these types can be.
fn fits(signature: &Signature, types: &[Type]) -> bool {
    let mut bindings = Bindings::default();
    signature.params.iter().zip(types).all(|(param, ty)| param.pattern.matches(*ty, &mut bindings))
}
