//! Does a `wp.launch` fit its kernel, as far as the file shows? A warning each, as Python decides
//! when it runs.

use crate::check::Checker;
use crate::check::host::launches::{MAX_STEPS, parts_of};
use crate::check::messages;
use crate::check::state::definition::{Definition, Signature};
use crate::check::state::globals::Global;
use crate::check::types::pattern::Pattern;
use crate::check::types::value::{Number, Operand};
use crate::diag::{Diagnostic, counted, quoted};
use crate::syntax::ast::{Arg, Expr, ExprKind};
use crate::types::{MAX_DIMS, Scalar, Type};

/// What is known of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Type(Type),
    /// A number with a fraction; Python's other numbers fit any scalar.
    Fraction,
    Number,
}

impl Checker<'_> {
    /// Looks at every launch of the file.
    pub fn check_launches(&mut self) {
        // In double precision the kernels' types are others than those written.
        if self.settings.double {
            return;
        }
        for (scope, call) in self.host.launches.clone() {
            let found = self.within(scope, |c| c.launch_finding(&call));
            if let Some(finding) = found.filter(|_| call.span.file == self.modules.main) {
                self.diagnostics.push(finding);
            }
        }
    }

    /// Notes a call of host code, if it may be a launch.
    pub fn note_launch(&mut self, call: &Expr) {
        if self.in_main() {
            self.host.launches.push((self.scopes.current, call.clone()));
        }
    }

    fn launch_finding(&mut self, call: &Expr) -> Option<Diagnostic> {
        let ExprKind::Call { callee, args } = &call.kind else { return None };
        if let Some((name, definition)) = self.kernel_called(callee) {
            let given: Vec<&str> = args.iter().map(|arg| self.sources.text(arg.value.span)).collect();
            let written = format!("wp.launch({name}, dim=..., inputs=[{}])", given.join(", "));
            return Some(messages::host::called(&name, &written, call.span, definition.ast.name.span));
        }
        if self.warp_word(callee)? != "launch" {
            return None;
        }
        let first = args.iter().find(|arg| arg.name.as_ref().is_none_or(|name| name.text == "kernel"))?;
        if let ExprKind::Call { callee, args: given } = &first.value.kind
            && let Some((name, definition)) = self.kernel_called(callee)
        {
            let given: Vec<&str> = given.iter().map(|arg| self.sources.text(arg.value.span)).collect();
            return Some(messages::host::launched_call(
                &name,
                &given.join(", "),
                first.value.span,
                definition.ast.name.span,
            ));
        }
        let (kernel, lists) = parts_of(args)?;
        let kernel = self.sources.text(kernel.span).to_string();
        let Some((_, Global::Kernel(definition))) = self.follow(&kernel) else { return None };
        let errors = self.diagnostics.error_count();
        let signature = self.signature(&definition).ok()?;
        if self.diagnostics.error_count() != errors || !signature.unknown.is_empty() {
            return None;
        }
        // A recorded launch gets its arguments later.
        let recorded = args.iter().any(|arg| arg.name.as_ref().is_some_and(|name| name.text == "record_cmd"));
        if recorded || args.iter().any(|arg| matches!(arg.value.kind, ExprKind::Starred(_) | ExprKind::Dict(_))) {
            return None;
        }
        self.dim_finding(call, args, &kernel, &definition)
            .or_else(|| self.argument_finding(call, &kernel, &definition, &signature, &lists))
    }

    /// `k(x)`, `k[blocks, threads](x)`
    fn kernel_called(&mut self, callee: &Expr) -> Option<(String, std::sync::Arc<Definition>)> {
        let name = match &callee.kind {
            ExprKind::Name(name) => name,
            ExprKind::Subscript { base, .. } => match &base.kind {
                ExprKind::Name(name) => name,
                _ => return None,
            },
            _ => return None,
        };
        match self.follow(name)? {
            (_, Global::Kernel(definition)) => Some((name.clone(), definition)),
            _ => None,
        }
    }

    fn dim_finding(&mut self, call: &Expr, args: &[Arg], kernel: &str, definition: &Definition) -> Option<Diagnostic> {
        let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| name.text == "dim"));
        let dim = named.or_else(|| args.get(1).filter(|arg| arg.name.is_none()));
        let Some(dim) = dim else {
            return Some(messages::host::no_dim(kernel, call.span));
        };
        let given = self.dimensions(args)?;
        let (asked, place) = coordinates(definition)?;
        (1..=MAX_DIMS).contains(&given).then_some(())?;
        (given < asked).then(|| {
            let dimensions = counted(given, "dimension");
            messages::host::rank(
                kernel,
                asked,
                &dimensions,
                &["n", "m", "k", "l"][..asked].join(", "),
                dim.value.span,
                place,
            )
        })
    }

    fn argument_finding(
        &mut self,
        call: &Expr,
        kernel: &str,
        definition: &Definition,
        signature: &Signature,
        lists: &[Expr],
    ) -> Option<Diagnostic> {
        let mut given: Vec<Expr> = Vec::new();
        for list in lists {
            given.extend(self.items_of(list, MAX_STEPS)?);
        }
        let place = definition.ast.name.span;
        let named = |n: usize| self.sources.text(signature.params[n].span).to_string();
        if given.len() != signature.params.len() {
            let (wanted, n) = (signature.params.len(), given.len());

            let all = quoted((0..wanted).map(named));
            let at = lists.first().map_or(call.span, |list| list.span);
            return Some(messages::host::number_of_arguments(kernel, (wanted, n), &all, at, place));
        }
        let known: Vec<Option<Known>> =
            given.iter().zip(&signature.params).map(|(arg, param)| self.known_argument(arg, &param.pattern)).collect();
        let fits = |n: usize, known: Option<Known>| match (&signature.params[n].pattern, known) {
            (_, None) => true,
            (Pattern::Exact(wanted), Some(Known::Type(ty))) => *wanted == ty,
            (Pattern::Exact(Type::Scalar(s)), Some(Known::Fraction)) => s.is_float(),
            (Pattern::Exact(Type::Scalar(_)), Some(Known::Number)) => true,
            // A number for a vector is old, but Warp takes it.
            (Pattern::Exact(Type::Array(_)) | Pattern::Array(..), Some(Known::Fraction | Known::Number)) => false,
            (Pattern::Array(_, ndim), Some(Known::Type(Type::Array(array)))) => ndim.is_none_or(|n| n == array.ndim),
            (Pattern::Array(..), Some(Known::Type(_))) => false,
            _ => true,
        };
        let wrong = (0..given.len()).find(|&n| !fits(n, known[n]))?;
        let param = &signature.params[wrong];
        let found = match known[wrong]? {
            Known::Type(ty) => format!("`{}`", self.show(ty)),
            Known::Fraction | Known::Number => "a number".to_string(),
        };
        let wanted = match &param.pattern {
            Pattern::Exact(ty) => self.show(*ty),
            other => other.display(&self.output.structs),
        };
        let diagnostic = messages::host::argument(&param.name, kernel, &wanted, &found, given[wrong].span, param.span);
        let swapped = (0..given.len()).find(|&n| {
            let all = |k: usize| {
                if k == n {
                    wrong
                } else if k == wrong {
                    n
                } else {
                    k
                }
            };
            n != wrong && known[n].is_some() && (0..given.len()).all(|k| fits(k, known[all(k)]))
        });
        Some(match swapped {
            Some(other) => {
                let text = |n: usize| self.sources.text(given[n].span).to_string();
                let edits = vec![(given[wrong].span, text(other)), (given[other].span, text(wrong))];
                messages::repairs::swapped_arguments(diagnostic, &text(wrong), &text(other), edits)
            }
            None => match (known[wrong]?, &param.pattern) {
                (Known::Type(Type::Array(a)), Pattern::Exact(Type::Array(b))) if a.ndim != b.ndim => {
                    messages::repairs::other_rank(diagnostic, b.ndim.into(), a.ndim.into())
                }
                (Known::Type(Type::Array(_)), Pattern::Exact(Type::Array(b))) => {
                    let element = self.show(b.element.into());
                    messages::repairs::elements_of_array(diagnostic, &element)
                }
                _ => messages::repairs::declared_type(diagnostic, self.sources.text(param.span)),
            },
        })
    }

    fn known_argument(&mut self, arg: &Expr, pattern: &Pattern) -> Option<Known> {
        // Arrays that the file makes, before anything asks for their value: in a kernel `wp.zeros`
        // means something else.
        let ty = self.argument_type(arg, &Pattern::Any, MAX_STEPS);
        if let Some(ty @ Type::Array(_)) = ty {
            return Some(Known::Type(ty));
        }
        let constant = match self.host_value(arg) {
            Some(Operand::Const(constant)) => Some(constant),
            _ => None,
        };
        if let Some(constant) = constant.filter(|c| c.scalar.is_none()) {
            return Some(match constant.number {
                Number::Float(_) => Known::Fraction,
                _ => Known::Number,
            });
        }
        // Of other values Python knows more than the file says.
        match ty? {
            Type::Scalar(s) if !matches!(pattern, Pattern::Exact(Type::Scalar(_))) && s != Scalar::Bool => {
                Some(Known::Number)
            }
            _ => None,
        }
    }
}

/// How many coordinates a kernel asks for, and where: the most names that a `wp.tid()` is unpacked
/// into.
fn coordinates(definition: &Definition) -> Option<(usize, crate::source::Span)> {
    use crate::syntax::ast::StmtKind;
    let mut found: Option<(usize, crate::source::Span)> = None;
    crate::syntax::visit::each_statement(&definition.ast.body, &mut |stmt| {
        let StmtKind::Assign { targets, value } = &stmt.kind else { return };
        let ([Expr { kind: ExprKind::Tuple(names), span }], ExprKind::Call { callee, .. }) =
            (targets.as_slice(), &value.kind)
        else {
            return;
        };
        let tid = match &callee.kind {
            ExprKind::Attribute { name, .. } => name.text == "tid",
            ExprKind::Name(name) => name == "tid",
            _ => false,
        };
        if tid && found.is_none_or(|(most, _)| names.len() > most) {
            found = Some((names.len(), *span));
        }
    });
    found.filter(|(asked, _)| *asked <= MAX_DIMS)
}
