//! Calls: which overload, with which arguments.

use std::sync::Arc;

use super::native::is_barrier;
use crate::check::Checker;
use crate::check::body::Body;
use crate::check::facts::Callee;
use crate::check::messages;
use crate::check::names::habits;
use crate::check::state::definition::{Definition, InstanceArg, Signature};
use crate::check::state::globals::{Unknown, Why};
use crate::check::tree::{Call, DegeneracyTest, Expr, ExprKind, FnId, Local, LocalId, Place};
use crate::check::types::pattern::{Bindings, Pattern};
use crate::check::types::value::{FunctionName, Operand, Reported, Res, TypeWord};
use crate::diag::Code;
use crate::ids::Id;
use crate::ir::{BinaryOp, CompareOp, Const, UnaryOp};
use crate::library::Library;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{LocalArrayType, Scalar, Type};

/// An argument as given at the call.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub name: Option<ast::Name>,
    pub operand: Operand,
    pub span: Span,
}

impl Given {
    /// The parameter that it names.
    pub fn keyword(&self) -> Option<&str> {
        self.name.as_ref().map(|name| name.text.as_str())
    }
}

/// An overload that fits: for each parameter the argument that fills it (None: its default).
struct Fit {
    definition: Arc<Definition>,
    signature: Arc<Signature>,
    slots: Vec<Option<usize>>,
    bindings: Bindings,
    /// Fewer open parts and conversions are better.
    cost: u32,
}

/// A call whose arguments are evaluated.
struct Bound {
    definition: Arc<Definition>,
    signature: Arc<Signature>,
    bindings: Bindings,
    values: Vec<Expr>,
    /// What chooses the instance.
    key: Vec<InstanceArg>,
    by_ref: Vec<Place>,
    /// Variables for values that the function changes and nobody keeps:
    /// `wp.randf(wp.rand_init(seed))`.
    lost: Vec<(LocalId, Expr)>,
}

impl Bound {
    /// Whether it is a library entry that is an IR operation, and no function.
    fn is_operation(&self) -> bool {
        self.definition.entry.as_ref().is_some_and(|entry| entry.op.is_some())
    }
}

impl Checker<'_> {
    /// The definitions of a library name: `sin`; `sin.grad` for the rules of its gradient.
    pub fn builtin_definitions(&mut self, name: &str) -> Arc<[Arc<Definition>]> {
        let library = &self.known.library;
        library.open(self.sources);
        self.known.definitions(name, || {
            let entries = library.entries(name, self.sources);
            // What the compiler does itself is not called like a function.
            let called = entries.iter().filter(|entry| !entry.intrinsic);
            called.map(|entry| Arc::new(Definition::of_entry(entry))).collect()
        })
    }
}

impl Body<'_, '_> {
    pub fn call(&mut self, callee: &ast::Expr, args: &[ast::Arg], span: Span) -> Res<Operand> {
        if let Some(reported) = self.repeated_keyword(args) {
            return Err(reported);
        }
        if let Some(result) = self.call_host_function(callee, args, span) {
            return result;
        }
        if let Some(result) = self.python_call(callee, args, span) {
            return result;
        }
        if let Some(reported) = self.of_list(callee, args, span) {
            return Err(reported);
        }
        let callee_operand = self.expr(callee);
        // `wp.static(...)` holds host Python: its argument follows other rules.
        if let Ok(Operand::Function(FunctionName::Builtin(name))) = &callee_operand
            && name == "static"
        {
            return match args {
                [arg] => {
                    let result = self.static_value(&arg.value);
                    self.failed |= result.is_err();
                    result
                }
                _ => Err(self.report(messages::calls::of_static(args.len(), span))),
            };
        }
        // What is in a call of a word that is written otherwise is written otherwise, too.
        if let (
            Err(Reported),
            ast::ExprKind::Name(word) | ast::ExprKind::Attribute { name: ast::Name { text: word, .. }, .. },
        ) = (&callee_operand, &callee.kind)
            && matches!(habits::of_name(word), Some(habits::Habit::Say(_)))
        {
            return Err(Reported);
        }
        let mut given = Vec::new();
        let mut failed = callee_operand.is_err();
        for arg in args {
            if let ast::ExprKind::Starred(inner) = &arg.value.kind {
                match self.star_items(inner) {
                    Ok(items) => {
                        given.extend(items.into_iter().map(|operand| Given { name: None, operand, span: inner.span }))
                    }
                    Err(Reported) => failed = true,
                }
                continue;
            }
            self.note_adjoint_write(&arg.value);
            if let Some(tuple) = self.tuple_for_list(callee, arg) {
                let diagnostic = messages::statements::lists(arg.value.span);
                self.replaced(diagnostic, arg.value.span, &tuple);
                failed = true;
                continue;
            }
            match self.passed(&arg.value) {
                Ok(operand) => {
                    given.push(Given { name: arg.name.clone(), operand, span: arg.value.span });
                }
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        match callee_operand? {
            Operand::Function(name) => {
                if let FunctionName::Builtin(word) = &name
                    && let Some(result) = self.call_builtin(word, &given, span)
                {
                    return result;
                }
                let mut given = self.stacks_as_tiles(given);
                let lent = self.lend_tiles(&mut given)?;
                let result = self.call_function(&name, given, span)?;
                self.take_back(result, lent, span)
            }
            Operand::Gradient(name) => self.call_gradient(&name, given, span),
            Operand::Type(word) => self.construct(word, &given, span),
            other @ (Operand::Const(_) | Operand::Value(_)) => {
                let text = self.c.sources.text(callee.span);
                let what =
                    if text.len() < 40 && !text.contains('\n') { format!("`{text}`") } else { "this".to_string() };
                let mut diagnostic = messages::calls::not_a_function(&what, callee.span);
                let called = Span { start: callee.span.end, ..span };
                let index =
                    self.c.sources.text(called).trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
                if let (Operand::Value(Expr { ty: Type::Array(_), .. }), Some(index)) = (&other, index)
                    && !index.trim().is_empty()
                {
                    diagnostic = messages::repairs::index_in_brackets(diagnostic, index, called);
                }
                Err(self.report(diagnostic))
            }
            other => {
                self.materialize(other, callee.span)?;
                Err(Reported)
            }
        }
    }

    /// A call of a built-in that the compiler itself knows; None for every other name.
    /// Reports `wp.vec3([x, y, z])` and the like: the numbers go into the call themselves.
    fn of_list(&mut self, callee: &ast::Expr, args: &[ast::Arg], span: Span) -> Option<Reported> {
        let ([arg], ast::ExprKind::Attribute { name, .. }) = (args, &callee.kind) else { return None };
        let is_composite = ["vec", "mat"].iter().any(|family| name.text.starts_with(family));
        if self.is_host() || !is_composite || arg.name.is_some() {
            return None;
        }
        let text = self.vector_text(&arg.value)?;
        // The size that the call names counts.
        let sized = name.text.bytes().any(|byte| byte.is_ascii_digit());
        let text = match text.split_once('(') {
            Some((_, items)) if sized && !text.contains("shape=") => {
                format!("{}({items}", self.c.sources.text(callee.span))
            }
            _ => text,
        };
        let diagnostic = messages::statements::lists(arg.value.span);
        Some(self.replaced(diagnostic, span, &text))
    }

    fn call_builtin(&mut self, word: &str, given: &[Given], span: Span) -> Option<Res<Operand>> {
        let on_tiles = self.tile_builtin(word, given, span);
        self.summary.by_block |= on_tiles.is_some();
        on_tiles.or_else(|| self.builtin(word, given, span))
    }

    /// Calls a function by name with values, if some overload takes them; None when none does.
    pub fn call_if_matches(&mut self, name: &FunctionName, args: &[(&Expr, Span)], span: Span) -> Option<Res<Operand>> {
        let given: Vec<Given> = args
            .iter()
            .map(|(expr, span)| Given { name: None, operand: Operand::Value((*expr).clone()), span: *span })
            .collect();
        let fit = self.best_fit(name, &given).ok()??;
        Some(self.apply(fit, given, span))
    }

    pub fn call_function(&mut self, name: &FunctionName, given: Vec<Given>, span: Span) -> Res<Operand> {
        if let Some(fit) = self.best_fit(name, &given)? {
            return self.apply(fit, given, span);
        }
        if let Some(open) = self.open_arguments(&given) {
            self.literals.opening = true;
            let fit = self.best_fit(name, &open);
            self.literals.opening = false;
            if let Some(fit) = fit? {
                return self.apply(fit, open, span);
            }
        }
        let values: Vec<Expr> = given
            .iter()
            .filter_map(|given| match &given.operand {
                Operand::Value(expr) => Some(expr.clone()),
                _ => None,
            })
            .collect();
        self.wish_for_operands(values.iter());
        self.no_match(name, &given, span)
    }

    fn best_fit(&mut self, name: &FunctionName, given: &[Given]) -> Res<Option<Fit>> {
        let mut best: Option<Fit> = None;
        let mut broken = false;
        for definition in self.c.candidates(name).iter() {
            let Ok(signature) = self.c.signature(definition) else {
                broken = true;
                continue;
            };
            if !signature.unknown.is_empty() {
                signature.unknown.iter().for_each(|unknown| {
                    self.c.need_unknown(unknown);
                });
                broken = true;
                continue;
            }
            let fit = self.fit(definition, &signature, given);
            // Of functions that take the same the last one is left.
            let anew = |b: &Fit| {
                let patterns =
                    |signature: &Signature| signature.params.iter().map(|p| p.pattern.clone()).collect::<Vec<_>>();
                patterns(&b.signature) == patterns(&signature)
            };
            if let Some(fit) = fit
                && best.as_ref().is_none_or(|b| fit.cost < b.cost || anew(b))
            {
                best = Some(fit);
            }
        }
        if best.is_none() && broken {
            self.failed = true;
            return Err(Reported);
        }
        Ok(best)
    }

    /// How the arguments fill the parameters of one overload, if they do.
    fn fit(&self, definition: &Arc<Definition>, signature: &Arc<Signature>, given: &[Given]) -> Option<Fit> {
        let mut slots: Vec<Option<usize>> = vec![None; signature.params.len()];
        for (k, arg) in given.iter().enumerate() {
            let slot = match arg.keyword() {
                Some(name) => signature.params.iter().position(|p| p.name == name)?,
                None => k,
            };
            let place = slots.get_mut(slot)?;
            if place.replace(k).is_some() {
                return None;
            }
        }
        let mut bindings = Bindings::default();
        let mut cost = 0;
        // Values with types first: they decide what literals become.
        let mut literals = Vec::new();
        for (param, slot) in signature.params.iter().zip(&slots) {
            let Some(k) = *slot else {
                param.default.as_ref()?;
                continue;
            };
            if !param.pattern.is_exact() {
                cost += if matches!(param.pattern, Pattern::Any) { 100 } else { 10 };
            }
            match (&given[k].operand, &param.pattern) {
                (Operand::Function(_), Pattern::Function) => {}
                (Operand::Type(TypeWord::Type(ty)), Pattern::Type(inner)) => {
                    if !inner.matches(*ty, &mut bindings) {
                        return None;
                    }
                }
                (_, Pattern::Function | Pattern::Type(_)) => return None,
                (Operand::Value(expr), pattern) => {
                    if !self.c.fits(pattern, expr.ty, &mut bindings) {
                        return None;
                    }
                }
                (Operand::Const(c), pattern) => literals.push((*c, pattern)),
                _ => return None,
            }
        }
        for (constant, pattern) in literals {
            match pattern.resolve(&bindings).and_then(Type::as_scalar) {
                Some(scalar) if scalar == constant.scalar() => {}
                // Tests compare with plain numbers.
                Some(scalar) if (self.is_library() || is_test(definition)) && constant.adapts_to(scalar) => cost += 1,
                Some(scalar) if self.literals.opening && constant.adapts_exactly(scalar) => cost += 1,
                Some(_) => return None,
                None => {
                    if pattern.matches(constant.scalar().into(), &mut bindings) {
                        continue;
                    }
                    // A whole number where there are only floats.
                    let float = Scalar::F32;
                    let fits = self.literals.opening && constant.adapts_exactly(float);
                    if !fits || !pattern.matches(float.into(), &mut bindings) {
                        return None;
                    }
                    cost += 1;
                }
            }
        }
        Some(Fit { definition: definition.clone(), signature: signature.clone(), slots, bindings, cost })
    }

    fn apply(&mut self, fit: Fit, given: Vec<Given>, span: Span) -> Res<Operand> {
        let (fit, given) = self.nudged(fit, given)?;
        if let Some(facts) = &mut self.c.output.facts {
            facts.call(span, || Callee {
                name: fit.definition.ast.name.span,
                params: fit.signature.params.iter().map(|param| param.name.clone()).collect(),
                slots: (0..given.len()).filter_map(|k| fit.slots.iter().position(|slot| *slot == Some(k))).collect(),
            });
        }
        let mut bound = self.bind(fit, given)?;
        if bound.is_operation() {
            let values = std::mem::take(&mut bound.values);
            return self.operation(&bound, values, span).map(Operand::Value);
        }
        let Bound { definition, signature, bindings, values, key, by_ref, lost } = bound;
        let known = self.c.diagnostics.len();
        let callee = match self.c.instance(&definition, key.clone(), bindings, span) {
            Ok(callee) => callee,
            Err(Reported) if definition.native => return self.native_result(&definition, span),
            Err(Reported) if definition.library() && !self.is_library() => {
                return Err(self.types_without_form(&definition, &key, known, span));
            }
            Err(Reported) => {
                self.failed = true;
                return Err(Reported);
            }
        };
        if self.c.output.functions[callee].native.as_deref().is_some_and(is_barrier) && values.is_empty() {
            return self.sync(&[], span);
        }
        for place in &by_ref {
            if let crate::check::tree::Root::Local(id) = place.root {
                self.known.remove(&id);
            }
        }
        let test = self.degeneracy_test(&definition, callee, span);
        let function = &self.c.output.functions[callee];
        self.summary.by_block |= function.by_block;
        self.summary.by_thread |= function.by_thread;
        let (returned, nested) = (function.returned(), function.nested.clone());
        let call = Call { callee, args: values, by_ref, test, span };
        Ok(match returned.as_slice() {
            [ty] if !matches!(ty, Type::Local(_)) => {
                let result = Expr::new(ExprKind::Call(call), self.c.bounded(*ty, span)?, span);
                Operand::Value(self.wrap(lost, result))
            }
            types if !nested.is_empty() && lost.is_empty() => {
                let Operand::Tuple(flat) = self.results_of(call, types, span)? else { return Err(Reported) };
                let mut flat = flat.into_iter();
                let item = |length: Option<usize>| match length {
                    Some(length) => Some(Operand::Tuple(flat.by_ref().take(length).collect())),
                    None => flat.next(),
                };
                Operand::Tuple(nested.into_iter().filter_map(item).collect())
            }
            _ if !lost.is_empty() => return Err(self.unkept(&definition, &signature, span)),
            types if types.iter().any(|ty| matches!(ty, Type::Local(LocalArrayType { block: true, .. }))) => {
                self.results_of(call, types, span)?
            }
            _ => Operand::Results(call, returned),
        })
    }

    /// Reports a call of a library function with types that the pattern of a parameter takes, but
    /// not what the function calls itself; `known` findings were there before.
    fn types_without_form(&mut self, of: &Definition, args: &[InstanceArg], known: usize, span: Span) -> Reported {
        self.failed = true;
        let found = self.c.diagnostics.take_after(known);
        if found.iter().any(|finding| finding.code != Code::E0401) {
            found.into_iter().for_each(|finding| self.c.diagnostics.push(finding));
            return Reported;
        }
        let types = args.iter().map(|arg| match arg {
            InstanceArg::Type(ty) => self.show(*ty),
            InstanceArg::Word(ty) => format!("type {}", self.show(*ty)),
            InstanceArg::Function(name) => format!("function {}", name.text()),
            InstanceArg::Unknown => "?".into(),
        });
        let types: Vec<String> = types.collect();
        self.report(messages::calls::no_overload(&of.ast.name.text, &types.join(", "), span))
    }

    /// The library's test of a function for points at which its gradient is near-degenerate, for
    /// code of the user's: `_degenerate_f` for `f`. Its docstring has the words. One without the
    /// adjoints of the results knows the points alone.
    fn degeneracy_test(&mut self, of: &Definition, callee: FnId, span: Span) -> Option<Box<DegeneracyTest>> {
        let name = format!("_degenerate_{}", of.ast.name.text);
        if !self.c.settings.tests || self.is_library() || !of.library() || !Library::has(&name) {
            return None;
        }
        let function = &self.c.output.functions[callee];
        let params = function.locals.values().take(function.param_count as usize).map(|local| local.ty);
        let by_ref = function.by_ref.iter().map(|&param| function.locals[param].ty);
        let count = function.param_count as usize;
        let types: Vec<Type> = params.chain(function.results.iter().copied()).chain(by_ref).collect();
        let zero =
            |ty: &Type| Given { name: None, operand: Operand::Value(Expr::new(ExprKind::Zero, *ty, span)), span };
        for (types, adjoints) in [(&types[..], true), (&types[..count], false)] {
            let given: Vec<Given> = types.iter().map(zero).collect();
            let Some(fit) = self.best_fit(&FunctionName::Builtin(name.clone()), &given).ok().flatten() else {
                continue;
            };
            let why = fit.definition.ast.doc.clone().unwrap_or_default();
            if let Ok(Operand::Value(Expr { kind: ExprKind::Call(call), .. })) = self.apply(fit, given, span) {
                return Some(Box::new(DegeneracyTest { callee: call.callee, adjoints, why }));
            }
        }
        None
    }

    /// `_nudged_f` in place of `f`, where the library has it and the program is one for beside.
    fn nudged(&mut self, fit: Fit, mut given: Vec<Given>) -> Res<(Fit, Vec<Given>)> {
        let Some(how) = self.c.settings.nudged.filter(|_| !self.is_library() && fit.definition.library()) else {
            return Ok((fit, given));
        };
        let name = format!("_nudged_{}", fit.definition.ast.name.text);
        if !Library::has(&name) {
            return Ok((fit, given));
        }
        let span = given.last().map_or(fit.definition.ast.name.span, |last| last.span);
        let named = ast::Name { text: "how".into(), span };
        let how = ExprKind::Const(Const::int(Scalar::I32, how as i128));
        let operand = Operand::Value(Expr::new(how, Scalar::I32.into(), span));
        given.push(Given { name: Some(named), operand, span });
        match self.best_fit(&FunctionName::Builtin(name), &given)? {
            Some(nudged) => Ok((nudged, given)),
            None => {
                given.pop();
                Ok((fit, given))
            }
        }
    }

    /// What a call of CUDA text gives: the type is known, so that the caller can be checked; the
    /// caller has no instance.
    fn native_result(&mut self, definition: &Definition, span: Span) -> Res<Operand> {
        let name = &definition.ast.name;
        let unknown = Unknown { name: name.text.clone(), place: name.span, why: Why::Native };
        self.failed = true;
        let needed = self.c.need_unknown(&unknown);
        match &definition.ast.returns {
            None | Some(ast::Expr { kind: ast::ExprKind::None, .. }) => Err(needed),
            Some(returns) => {
                let ty = self.c.within(definition.scope, |c| c.concrete_type(returns, false))?;
                Ok(Operand::Value(Expr::new(ExprKind::Zero, ty, span)))
            }
        }
    }

    /// The expression of a library entry that is an IR operation.
    fn operation(&mut self, bound: &Bound, mut values: Vec<Expr>, span: Span) -> Res<Expr> {
        let op = bound.definition.entry.as_ref().and_then(|entry| entry.op.as_deref()).unwrap_or_default();
        if op == "select"
            && let Some(condition) = values.first_mut()
        {
            *condition = self.truth(Operand::Value(condition.clone()), condition.span)?;
        }
        let ty = match &bound.signature.returns {
            Some(pattern) => pattern.resolve(&bound.bindings),
            None => values.first().map(|v| v.ty),
        };
        match ty.and_then(|ty| primitive(op, values, ty, span)) {
            Some(expr) => Ok(expr),
            None => Err(self.report(messages::calls::no_primitive(&bound.definition.ast.name.text, span))),
        }
    }

    /// `wp.grad(f)(...)`: the gradients of the sum of what `f` returns, one per argument.
    pub fn call_gradient(&mut self, name: &FunctionName, given: Vec<Given>, span: Span) -> Res<Operand> {
        let Some(fit) = self.best_fit(name, &given)? else {
            self.no_match(name, &given, span)?;
            return Err(Reported);
        };
        let bound = self.bind(fit, given)?;
        if !bound.lost.is_empty() {
            return Err(self.unkept(&bound.definition.clone(), &bound.signature.clone(), span));
        }
        let primal = if bound.is_operation() {
            // An operation has no function: one that does nothing else represents it.
            self.operation_function(&bound, span)?
        } else {
            let (definition, key, bindings) = (bound.definition.clone(), bound.key.clone(), bound.bindings.clone());
            match self.c.instance(&definition, key, bindings, span) {
                Ok(primal) => primal,
                Err(Reported) => {
                    self.failed = true;
                    return Err(Reported);
                }
            }
        };
        self.gradient_of(primal, bound.values, span)
    }

    fn operation_function(&mut self, bound: &Bound, span: Span) -> Res<FnId> {
        let param = |(n, expr): (usize, &Expr)| {
            let name = bound.signature.params.get(n).map_or_else(String::new, |param| param.name.clone());
            Local { name, ty: expr.ty, span }
        };
        let params: Vec<Local> = bound.values.iter().enumerate().map(param).collect();
        let local = |(n, param): (usize, &Local)| Expr::new(ExprKind::Local(LocalId::new(n)), param.ty, span);
        let args: Vec<Expr> = params.iter().enumerate().map(local).collect();
        let result = self.operation(bound, args, span)?;
        Ok(self.c.wrapper(&bound.definition, &bound.key, params, result))
    }

    /// Evaluates the arguments of a call.
    fn bind(&mut self, fit: Fit, given: Vec<Given>) -> Res<Bound> {
        // Each fills one parameter.
        let mut given: Vec<Option<Given>> = given.into_iter().map(Some).collect();
        let Fit { definition, signature, slots, mut bindings, .. } = fit;
        let mut values = Vec::new();
        let mut key = Vec::new();
        let mut by_ref: Vec<Place> = Vec::new();
        let mut lost = Vec::new();
        for (param, slot) in signature.params.iter().zip(&slots) {
            let wanted = param.pattern.resolve(&bindings);
            let (operand, at) = match slot.and_then(|k| given[k].take()) {
                Some(given) => (given.operand, given.span),
                None => {
                    let Some(default) = &param.default else { return Err(Reported) };
                    let library = definition.entry.is_some();
                    let operand = self.c.within(definition.scope, |c| c.constant(default, library))?;
                    (operand, default.span)
                }
            };
            if let (Operand::Function(name), Pattern::Function) = (&operand, &param.pattern) {
                key.push(InstanceArg::Function(name.clone()));
                continue;
            }
            if let (Operand::Type(TypeWord::Type(ty)), Pattern::Type(_)) = (&operand, &param.pattern) {
                key.push(InstanceArg::Word(*ty));
                continue;
            }
            let mut expr = match (operand, wanted.and_then(Type::as_scalar)) {
                // A default such as `1` for a float parameter, or a literal of library code.
                (Operand::Const(c), Some(scalar)) if slot.is_none() || c.adapts_to(scalar) => c.expr_as(scalar, at),
                (operand, _) => self.materialize(operand, at)?,
            };
            if slot.is_none() && !param.pattern.matches(expr.ty, &mut bindings) {
                return Err(self.report(messages::calls::default_value(&self.show(expr.ty), at)));
            }
            if let Pattern::Ref(_) = param.pattern {
                if definition.library() && expr.ty.as_scalar().is_some() && self.as_place(expr.clone()).is_none() {
                    let (ty, span) = (expr.ty, expr.span);
                    let id = self.new_local("", ty, span);
                    lost.push((id, std::mem::replace(&mut expr, Expr::new(ExprKind::Local(id), ty, span))));
                }
                match self.as_place(expr.clone()) {
                    Some(place) => by_ref.push(place),
                    None => {
                        let (function, changed) = (&definition.ast.name.text, &param.name);
                        return Err(self.report(messages::calls::change_is_lost(function, changed, at)));
                    }
                }
            }
            if self.is_local_view(&expr) {
                return Err(self.report(match self.is_tile(&Operand::Value(expr)) {
                    true => messages::calls::part_of_tile(at),
                    false => messages::calls::part_of_local_array(at),
                }));
            }
            key.push(InstanceArg::Type(expr.ty));
            values.push(expr);
        }
        Ok(Bound { definition, signature, bindings, values, key, by_ref, lost })
    }

    /// A function changes an argument that is no variable.
    fn unkept(&mut self, definition: &Definition, signature: &Signature, at: Span) -> Reported {
        let changed = signature.params.iter().find(|param| matches!(param.pattern, Pattern::Ref(_)));
        let changed = changed.map_or("", |param| &param.name);
        self.report(messages::calls::change_is_lost(&definition.ast.name.text, changed, at))
    }
}

/// The expression of a library entry that is an IR operation.
fn primitive(op: &str, mut args: Vec<Expr>, ty: Type, span: Span) -> Option<Expr> {
    if let "array_at" | "constant_array_at" = op {
        // The last argument says what the elements are.
        args.pop();
        return Some(Expr::new(ExprKind::ArrayAt { constant: op != "array_at", args }, ty, span));
    }
    let mut args = args.into_iter().map(Box::new);
    let kind = match (args.next(), args.next(), args.next()) {
        (Some(a), None, None) => match op {
            "cast" => ExprKind::Cast(a),
            "bitcast" => ExprKind::Bitcast(a),
            _ => ExprKind::Unary(UnaryOp::from_name(op)?, a),
        },
        (Some(a), Some(b), None) => match CompareOp::from_name(op) {
            Some(compare) => ExprKind::Compare(compare, a, b),
            None => ExprKind::Binary(BinaryOp::from_name(op)?, a, b),
        },
        (Some(a), Some(b), Some(c)) => match op {
            "fma" => ExprKind::Fma(a, b, c),
            "select" => ExprKind::Select { condition: a, then: b, otherwise: c },
            _ => return None,
        },
        _ => return None,
    };
    Some(Expr::new(kind, ty, span))
}

/// `expect_eq`, `expect_near` and the like.
fn is_test(definition: &Definition) -> bool {
    definition.library() && definition.ast.name.text.starts_with("expect_")
}
