//! Why does no overload take a call's arguments?

use std::collections::BTreeSet;
use std::sync::Arc;

use super::call::Given;
use super::keyword::unknown_keyword;
use crate::check::body::Body;
use crate::check::messages;
use crate::check::state::definition::{Definition, Signature};
use crate::check::tree::Expr;
use crate::check::types::advice::left_moves;
use crate::check::types::pattern::{Bindings, Pattern};
use crate::check::types::value::{FunctionName, Operand, Reported, Res, TypeWord};
use crate::diag::{Applicability, counted, listed};
use crate::source::Span;
use crate::types::{F32, Scalar, Type};

impl Body<'_, '_> {
    /// Reports a call that no function of a name takes.
    pub fn no_match(&mut self, name: &FunctionName, given: &[Given], span: Span) -> Res<Operand> {
        let text = name.text().to_string();
        let candidates = self.c.candidates(name);
        // Of a damaged definition the parameters are not known.
        if candidates.iter().any(|candidate| self.c.modules.is_repaired(candidate.ast.span)) {
            self.failed = true;
            return Err(Reported);
        }
        // An argument that is no value at all has an explanation of its own.
        let takes_types = self.takes_types(&candidates);
        for arg in given {
            let is_taken = match arg.operand {
                Operand::Type(_) => takes_types,
                Operand::Value(_) | Operand::Const(_) | Operand::Function(_) => true,
                _ => false,
            };
            if !is_taken {
                self.materialize(arg.operand.clone(), arg.span)?;
            }
        }
        let types: Vec<String> = given.iter().map(|arg| self.show_operand(&arg.operand)).collect();
        if let [only] = &*candidates {
            let signature = self.c.signature(only)?;
            return self.explain(only, &signature, given, &text, span);
        }
        let mut diagnostic = match self.takes(&candidates).filter(|(counts, _)| !counts.contains(&given.len())) {
            Some((_, takes)) => messages::calls::wrong_number_for_all(&text, &takes, given.len(), span),
            None => messages::calls::no_overload(&text, &types.join(", "), span),
        };
        let scalars: Vec<(Scalar, Span)> = given
            .iter()
            .filter_map(|arg| match &arg.operand {
                Operand::Value(expr) => Some((expr.ty.as_scalar()?, arg.span)),
                Operand::Const(c) => Some((c.scalar(), arg.span)),
                _ => None,
            })
            .collect();
        for arg in given {
            if let Operand::Value(expr) = &arg.operand {
                diagnostic = self.label_origin(diagnostic, expr, arg.span);
            }
        }
        // Two numbers of different types: one moves, as in arithmetic.
        if let [(a, at_a), (b, at_b)] = scalars.as_slice()
            && a != b
            && given.len() == 2
        {
            let (at, from, to) = if left_moves(*a, *b) { (*at_a, *a, *b) } else { (*at_b, *b, *a) };
            diagnostic = self.suggest_cast(diagnostic, at, (from.into(), to), "one of them", Applicability::Maybe);
        }
        let source = |arg: &Given| self.c.sources.text(arg.span).to_string();
        match (text.as_str(), given) {
            ("min" | "max", [first, second, rest @ ..]) if !rest.is_empty() => {
                let callee = format!("wp.{text}");
                let pair = format!("{callee}({}, {})", source(first), source(second));
                let nested = rest.iter().fold(pair, |inner, arg| format!("{callee}({inner}, {})", source(arg)));
                diagnostic = messages::repairs::nested_calls(diagnostic, &nested, span);
            }
            ("min" | "max", [Given { operand: Operand::Value(Expr { ty: Type::Array(_), .. }), .. }]) => {
                let step = format!("m = wp.{text}(m, x[j])");
                diagnostic = messages::repairs::loop_over_elements(diagnostic, &step);
            }
            (word, [Given { operand: Operand::Const(_), .. }, ..])
                if word.starts_with("rand") && word != "rand_init" =>
            {
                diagnostic = messages::repairs::state_first(diagnostic, word);
            }
            _ => {}
        }
        let shown: Vec<String> = candidates.iter().take(8).filter_map(|c| self.show_signature(c)).collect();
        if !shown.is_empty() {
            diagnostic = messages::details::candidates(diagnostic, &shown.join(", "));
        }
        if candidates.len() > 8 {
            diagnostic = messages::details::more_candidates(diagnostic, candidates.len() - 8);
        }
        Err(self.report(diagnostic))
    }

    /// Whether a function of a name takes types as arguments.
    fn takes_types(&mut self, candidates: &[Arc<Definition>]) -> bool {
        let mut signatures = candidates.iter().filter_map(|candidate| self.c.signature(candidate).ok());
        signatures.any(|signature| signature.params.iter().any(|param| matches!(param.pattern, Pattern::Type(_))))
    }

    /// How many arguments the functions of a name take, and that in words. None: it is not known.
    fn takes(&mut self, candidates: &[Arc<Definition>]) -> Option<(BTreeSet<usize>, String)> {
        let mut counts = BTreeSet::new();
        for candidate in candidates {
            let signature = self.c.signature(candidate).ok()?;
            let required = signature.params.iter().filter(|param| param.default.is_none()).count();
            counts.extend(required..=signature.params.len());
        }
        let numbers: Vec<String> = counts.iter().map(usize::to_string).collect();
        let takes = match numbers.len() {
            0 => return None,
            1 => counted(*counts.first()?, "argument"),
            _ => format!("{} arguments", listed(&numbers, "or")),
        };
        Some((counts, takes))
    }

    /// Why the only function of a name does not take the arguments.
    fn explain(
        &mut self,
        definition: &Arc<Definition>,
        signature: &Arc<Signature>,
        given: &[Given],
        name: &str,
        span: Span,
    ) -> Res<Operand> {
        let place = definition.ast.name.span;
        for arg in given {
            if let Some(keyword) = &arg.name
                && !signature.params.iter().any(|p| p.name == keyword.text)
            {
                let message = format!("`{name}` has no parameter `{}`", keyword.text);
                let known = signature.params.iter().map(|param| param.name.as_str());
                let diagnostic = unknown_keyword(message, keyword, known);
                let diagnostic = match self.show_signature(definition) {
                    Some(shown) if definition.entry.is_some() => messages::details::signature(diagnostic, &shown),
                    _ => messages::details::defined_here(diagnostic, place),
                };
                return Err(self.report(diagnostic));
            }
        }
        if let Some(reported) = self.twice_filled(signature, given, name) {
            return Err(reported);
        }
        let required = signature.params.iter().filter(|p| p.default.is_none()).count();
        if given.len() < required || given.len() > signature.params.len() {
            let wanted = signature.params.len();
            let mut diagnostic = messages::calls::wrong_number(name, wanted, given.len(), span);
            if name == "round" && given.len() == 2 {
                diagnostic = messages::repairs::round_to_decimals(diagnostic);
            }
            diagnostic = match self.show_signature(definition) {
                Some(shown) if definition.entry.is_some() => messages::details::signature(diagnostic, &shown),
                _ => messages::details::defined_here(diagnostic, place),
            };
            return Err(self.report(diagnostic));
        }
        let mut bindings = Bindings::default();
        for (k, arg) in given.iter().enumerate() {
            let param = match arg.keyword() {
                Some(keyword) => signature.params.iter().find(|p| p.name == keyword),
                None => signature.params.get(k),
            };
            let Some(param) = param else { continue };
            let ty = match &arg.operand {
                Operand::Value(expr) => expr.ty,
                Operand::Const(c) => c.scalar().into(),
                Operand::Type(TypeWord::Type(ty)) if let Pattern::Type(inner) = &param.pattern => {
                    inner.matches(*ty, &mut bindings);
                    continue;
                }
                _ => continue,
            };
            if self.c.fits(&param.pattern, ty, &mut bindings) {
                continue;
            }
            let wanted = match param.pattern.resolve(&bindings) {
                Some(ty) => self.show(ty),
                None => param.pattern.display(&self.c.output.structs),
            };
            let found = self.show(ty);
            let mut diagnostic = messages::calls::other_type(name, &wanted, &param.name, &found, arg.span);
            if let Operand::Value(expr) = &arg.operand {
                diagnostic = self.label_origin(diagnostic, expr, arg.span);
            }
            match self.show_signature(definition) {
                Some(shown) if definition.entry.is_some() => {
                    diagnostic = messages::details::signature(diagnostic, &shown);
                }
                _ => diagnostic = messages::details::declared_here(diagnostic, &param.name, param.span),
            }
            if name == "cross" && matches!(ty, Type::Vec(2, _)) {
                let help = "of two components it is a number: `a[0] * b[1] - a[1] * b[0]`";
                return Err(self.report(diagnostic.help(help)));
            }
            let in_order = self.condition_first(name, given, span).or_else(|| self.exchanged(signature, given, span));
            if let Some(repaired) = in_order {
                return Err(self.replaced(diagnostic, span, &repaired));
            }
            if let (Some(Type::Scalar(to)), Type::Scalar(_)) = (param.pattern.resolve(&bindings), ty) {
                diagnostic = self.suggest_cast(diagnostic, arg.span, (ty, to), "it", Applicability::Machine);
            } else if let Type::Scalar(s) = ty
                && s.is_int()
                && param.pattern.matches(F32, &mut bindings.clone())
            {
                let sure = if matches!(arg.operand, Operand::Const(_)) {
                    Applicability::Machine
                } else {
                    Applicability::Maybe
                };
                diagnostic = self.suggest_cast(diagnostic, arg.span, (ty, Scalar::F32), "it", sure);
            }
            return Err(self.report(diagnostic));
        }
        let types: Vec<String> = given.iter().map(|arg| self.show_operand(&arg.operand)).collect();
        Err(self.report(messages::calls::do_not_fit(name, &types.join(", "), span)))
    }

    fn show_operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Value(expr) => self.show(expr.ty),
            Operand::Const(c) => c.scalar().name().to_string(),
            Operand::Function(name) => format!("function {}", name.text()),
            Operand::Type(TypeWord::Type(ty)) => format!("type {}", self.show(*ty)),
            _ => "?".into(),
        }
    }

    fn show_signature(&mut self, definition: &Arc<Definition>) -> Option<String> {
        let signature = self.c.signature(definition).ok()?;
        let params: Vec<String> = signature
            .params
            .iter()
            .map(|p| format!("{}: {}", p.name, p.pattern.display(&self.c.output.structs)))
            .collect();
        Some(format!("`{}({})`", definition.ast.name.text, params.join(", ")))
    }
}
