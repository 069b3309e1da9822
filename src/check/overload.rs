//! For which types is a generic kernel compiled? For those that the file names: `wp.overload(kernel, [types])`.

use std::rc::Rc;

use crate::check::pattern::{Bindings, Pattern};
use crate::check::scope::{Global, ScopeId};
use crate::check::tree::{FnId, Unresolved};
use crate::check::value::{Operand, Reported, Res};
use crate::check::{Checker, Definition, InstanceArg};
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{self, ExprKind};
use crate::types::Type;

/// `wp.overload(kernel, types)`
#[derive(Clone, Debug)]
pub(crate) struct Overload {
    kernel: String,
    /// Where the call stands.
    scope: ScopeId,
    /// A list with a type per parameter, or a dict from parameter names to types.
    types: ast::Expr,
}

impl Checker<'_> {
    /// Takes note of a call at module level, if it is one that concerns kernels.
    pub fn collect_call(&mut self, call: &ast::Expr) {
        let ExprKind::Call { callee, args } = &call.kind else { return };
        let word = match &callee.kind {
            ExprKind::Attribute { name, .. } => name.text.as_str(),
            ExprKind::Name(name) => name.as_str(),
            _ => return,
        };
        match (word, args.as_slice()) {
            ("overload", [ast::Arg { value: ast::Expr { kind: ExprKind::Name(kernel), .. }, .. }, types]) => {
                self.overloads.push(Overload { kernel: kernel.clone(), scope: self.scope, types: types.value.clone() });
            }
            ("set_module_options", [ast::Arg { value: ast::Expr { kind: ExprKind::Dict(pairs), .. }, .. }, ..]) => {
                for (key, value) in pairs {
                    if let (ExprKind::Str(key), ExprKind::Bool(on)) = (&key.kind, &value.kind)
                        && key == "enable_backward"
                    {
                        self.backward_off = !on;
                    }
                }
            }
            _ => {}
        }
    }

    /// The kernels that a definition is: one, or for a generic one those that `wp.overload` asks for. What has errors is
    /// reported and left out.
    pub fn kernels(&mut self, definition: &Rc<Definition>) -> Vec<FnId> {
        let signature = self.signature(definition);
        self.unknown.clear();
        let Ok(signature) = signature else { return Vec::new() };
        let generic = !signature.params.iter().all(|param| param.pattern.is_exact());
        let wanted = if generic { self.overloads_of(definition) } else { Vec::new() };
        if wanted.is_empty() {
            return self.resolved(definition, |c| c.kernel(definition)).into_iter().collect();
        }
        let mut found: Vec<FnId> = Vec::new();
        for overload in &wanted {
            if let Some(id) = self.resolved(definition, |c| c.kernel_for(definition, overload))
                && !found.contains(&id)
            {
                found.push(id);
            }
        }
        found
    }

    /// What `check` makes of a kernel. One that needs unknown names is reported as unresolved.
    fn resolved(&mut self, definition: &Rc<Definition>, check: impl FnOnce(&mut Self) -> Res<FnId>) -> Option<FnId> {
        self.unknown.clear();
        let result = check(self);
        let unknown = std::mem::take(&mut self.unknown);
        if result.is_err() && !unknown.is_empty() {
            self.report_unresolved(definition, &unknown);
            let unresolved = Unresolved { name: self.entry_name(definition), span: definition.ast.name.span };
            if !self.unresolved.contains(&unresolved) {
                self.unresolved.push(unresolved);
            }
        }
        result.ok()
    }

    fn overloads_of(&mut self, definition: &Rc<Definition>) -> Vec<Overload> {
        let all = self.overloads.clone();
        let of = |overload: &Overload| {
            self.within(overload.scope, |c| match c.lookup(&overload.kernel) {
                Some((_, Global::Kernel(kernel))) => Rc::ptr_eq(kernel, definition),
                _ => false,
            })
        };
        let mut of = of;
        all.into_iter().filter(|overload| of(overload)).collect()
    }

    fn kernel_for(&mut self, definition: &Rc<Definition>, overload: &Overload) -> Res<FnId> {
        let signature = self.signature(definition)?;
        let named: Vec<(Option<String>, &ast::Expr)> = match &overload.types.kind {
            ExprKind::List(types) | ExprKind::Tuple(types) => types.iter().map(|ty| (None, ty)).collect(),
            ExprKind::Dict(pairs) => pairs
                .iter()
                .map(|(key, ty)| match &key.kind {
                    ExprKind::Str(name) => (Some(name.clone()), ty),
                    _ => (Some(String::new()), ty),
                })
                .collect(),
            _ => Vec::new(),
        };
        let mut bindings = Bindings::default();
        let mut args = Vec::new();
        for (n, param) in signature.params.iter().enumerate() {
            let given = named.iter().enumerate().find(|(at, (name, _))| match name {
                Some(name) => *name == param.name,
                None => *at == n,
            });
            let ty = match (given, &param.pattern) {
                (Some((_, (_, expr))), _) => self.within(overload.scope, |c| c.overload_type(expr))?,
                (None, Pattern::Exact(ty)) => *ty,
                (None, _) => {
                    return self.error(
                        Code::E0315,
                        overload.types.span,
                        format!("this overload of `{}` gives no type for `{}`", overload.kernel, param.name),
                        "a type for each generic parameter is needed",
                    );
                }
            };
            if !param.pattern.matches(ty, &mut bindings) {
                let (wanted, found) = (param.pattern.display(&self.structs), self.show(ty));
                return Err(self.report(
                    Diagnostic::new(
                        Code::E0315,
                        format!("`{}` of kernel `{}` is `{wanted}`, not `{found}`", param.name, overload.kernel),
                    )
                    .label(overload.types.span, "in this overload")
                    .label(param.span, "declared here"),
                ));
            }
            args.push(InstanceArg::Type(ty));
        }
        self.instance(definition, args, bindings, overload.types.span)
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

    /// `scale_float32`: a name for one overload of a generic kernel, from the types of its generic parameters.
    pub fn overload_name(&mut self, definition: &Rc<Definition>, args: &[InstanceArg]) -> Option<String> {
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
        Some(self.unique_name(name.trim_end_matches('_')))
    }
}
