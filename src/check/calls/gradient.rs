//! How is each function differentiated? Custom gradients (`@wp.func_grad`, `@wp.func_replay`), the
//! library's rules, and what `wp.adjoint[x]` means in them.
//!
//! A rule takes the parameters of its function, then the adjoint of each returned value.
//! `adjoint[x]` is a variable that starts at zero and is added to the adjoint of the argument `x`
//! afterwards; for an array it is the array of adjoints, which may be null ("no gradient wanted"):
//! it is then read as zeros and not written. Where the function takes `x` by reference,
//! `adjoint[x]` starts as the adjoint of the new value, and ends as that of the old one.

use std::collections::HashSet;
use std::sync::Arc;

use crate::check::Checker;
use crate::check::body::{Binding, Body, Mode};
use crate::check::messages;
use crate::check::state::definition::{CustomWritten, Definition, InstanceArg, InstanceKey, Rule, Underived};
use crate::check::state::globals::Global;
use crate::check::tree::{Derivative, Expr, ExprKind, FnId, Function, Local, LocalId, Place, Root, Stmt, StmtKind};
use crate::check::types::pattern::{Bindings, Pattern};
use crate::check::types::value::{FunctionName, Operand, Reported, Res, TypeWord};
use crate::diag::quoted;
use crate::ids::IdVec;
use crate::library::Decision;
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind as Ast};
use crate::syntax::visit;
use crate::types::{BOOL, Type};

impl Checker<'_> {
    /// Enters a `@wp.func_grad(f)` or `@wp.func_replay(f)` of the file.
    pub fn collect_gradient(&mut self, function: &Arc<ast::Function>) {
        for decorator in &function.decorators {
            let Ast::Call { callee, args } = &decorator.expr.kind else { continue };
            let replay = match &callee.kind {
                Ast::Name(word) => word == "func_replay",
                Ast::Attribute { name, .. } => name.text == "func_replay",
                _ => continue,
            };
            let target = match args.as_slice() {
                [ast::Arg { value: ast::Expr { kind: Ast::Name(name), .. }, .. }] => name,
                _ => continue,
            };
            let definition = Arc::new(Definition::new(function.clone(), false, false, self.scopes.current));
            self.gradients.written.push(CustomWritten { target: target.clone(), definition, replay });
        }
    }

    /// Finds the functions of the custom gradients; reports gradients of things that are no
    /// functions.
    pub fn check_gradient_targets(&mut self) {
        let mut written = std::mem::take(&mut self.gradients.written);
        written.sort_by_key(|custom| custom.definition.ast.span);
        for CustomWritten { target: name, definition, replay } in written {
            let target = self.within(definition.scope, |c| match c.follow(&name) {
                Some((scope, Global::Functions(definitions))) => {
                    Some(FunctionName::User { scope, name: definitions.first()?.ast.name.text.clone() })
                }
                _ => None,
            });
            if let Some(function) = target {
                let custom = self.gradients.custom.entry(function).or_default();
                if replay {
                    custom.replays.push(definition)
                } else {
                    custom.gradients.push(definition)
                }
                continue;
            }
            let at = definition.ast.decorators.first().map_or(definition.ast.name.span, |d| d.expr.span);
            self.report(messages::gradients::of_no_function(&name, at));
        }
    }

    /// Decides the derivative of every instance so far, and of what that brings in. `library`: also
    /// make instances of the library's rules, which only differentiation needs.
    pub fn derive(&mut self, library: bool) {
        while let Some(next) = self.gradients.underived.pop() {
            let derivative = match &next.definition.entry {
                Some(entry) => match &entry.decision {
                    Decision::Zero(reason) => Derivative::Zero(reason.clone()),
                    Decision::None(reason) => Derivative::None(reason.clone()),
                    Decision::Rule if library => self.library_derivative(&next),
                    _ => Derivative::Body,
                },
                None if next.definition.native => self.native_derivative(&next),
                None => self.user_derivative(&next),
            };
            self.output.functions[next.id].derivative = derivative;
        }
    }

    fn library_derivative(&mut self, of: &Underived) -> Derivative {
        if let Some(adjoint) = self.import_rule(of) {
            return Derivative::Rule { adjoint, replay: None };
        }
        let rules = self.builtin_definitions(&format!("{}.grad", of.definition.ast.name.text));
        for rule in rules.iter() {
            // A rule for other types, such as that for floats when these are integers.
            let Some(mut bindings) = self.takes(rule, of) else { continue };
            if self.takes_results(rule, of, &mut bindings).is_err() {
                continue;
            }
            return match self.rule(rule, of, bindings) {
                Ok(adjoint) => Derivative::Rule { adjoint, replay: None },
                Err(Reported) => Derivative::None("the library's rule has an error".into()),
            };
        }
        Derivative::Body
    }

    fn user_derivative(&mut self, of: &Underived) -> Derivative {
        let name = of.definition.ast.name.text.clone();
        let function = FunctionName::User { scope: of.definition.scope, name: name.clone() };
        let Some(custom) = self.gradients.custom.get(&function) else { return Derivative::Body };
        let (gradients, replays) = (custom.gradients.clone(), custom.replays.clone());
        let replay = match self.replay(&replays, of) {
            Ok(replay) => replay,
            Err(Reported) => return Derivative::None(format!("the replay function of `{name}` has an error")),
        };
        let broken = Derivative::None(format!("the custom gradient of `{name}` has an error"));
        for rule in &gradients {
            let Some(mut bindings) = self.takes(rule, of) else {
                if self.signature(rule).is_err() {
                    return broken;
                }
                continue;
            };
            let fits = self.takes_results(rule, of, &mut bindings);
            return match fits.and_then(|()| self.rule(rule, of, bindings)) {
                Ok(adjoint) => Derivative::Rule { adjoint, replay },
                Err(Reported) => broken,
            };
        }
        if let [rule] = gradients.as_slice()
            && self.candidates(&function).len() == 1
        {
            let place = of.definition.ast.name.span;
            self.report(messages::gradients::parameters_differ(&name, rule.ast.name.span, place));
            return broken;
        }
        replay.map_or(Derivative::Body, Derivative::Replay)
    }

    /// The values of the variables of a rule's signature, if its first parameters take the
    /// arguments of the instance.
    fn takes(&mut self, rule: &Arc<Definition>, of: &Underived) -> Option<Bindings> {
        let signature = self.signature(rule).ok()?;
        if signature.params.len() < of.args.len() {
            return None;
        }
        let mut bindings = Bindings::default();
        let fits = signature.params.iter().zip(&of.args).all(|(param, arg)| match (&param.pattern, arg) {
            (Pattern::Function, arg) => matches!(arg, InstanceArg::Function(_)),
            (Pattern::Type(inner), InstanceArg::Word(ty)) => inner.matches(*ty, &mut bindings),
            (pattern, InstanceArg::Type(ty)) => self.fits(pattern, *ty, &mut bindings),
            _ => false,
        });
        fits.then_some(bindings)
    }

    /// Whether the parameters behind those take the adjoints of the results. A user's rule that
    /// doesn't is reported.
    fn takes_results(&mut self, rule: &Arc<Definition>, of: &Underived, bindings: &mut Bindings) -> Res<()> {
        let signature = self.signature(rule)?;
        let extra = signature.params.get(of.args.len()..).unwrap_or_default();
        let results = self.output.functions[of.id].results.clone();
        let fits = extra.len() == results.len()
            && extra.iter().zip(&results).all(|(param, &ty)| param.pattern.matches(ty, bindings));
        if fits {
            return Ok(());
        }
        if rule.library() {
            return Err(Reported);
        }
        let name = &of.definition.ast.name;
        let wanted = quoted(results.iter().map(|&ty| self.show(ty)));
        let wanted = if wanted.is_empty() { "nothing".to_string() } else { wanted };
        let at = extra.first().map_or(rule.ast.name.span, |param| param.span);
        Err(self.report(messages::gradients::adjoints_differ(&name.text, extra.len(), &wanted, at, name.span)))
    }

    fn replay(&mut self, replays: &[Arc<Definition>], of: &Underived) -> Res<Option<FnId>> {
        for definition in replays {
            let signature = self.signature(definition)?;
            let Some(bindings) = self.takes(definition, of) else { continue };
            let same_count = signature.params.len() == of.args.len();
            let id = if same_count {
                Some(self.instance(definition, of.args.clone(), bindings, definition.ast.name.span)?)
            } else {
                None
            };
            let shape = |f: &Function| (f.results.clone(), f.by_ref.clone());
            if id.is_some_and(|id| shape(&self.output.functions[id]) == shape(&self.output.functions[of.id])) {
                return Ok(id);
            }
            let name = &of.definition.ast.name;
            return Err(self.report(messages::gradients::replay_differs(
                &name.text,
                definition.ast.name.span,
                name.span,
            )));
        }
        Ok(None)
    }

    /// The function that a rule is for one instance.
    fn rule(&mut self, rule: &Arc<Definition>, of: &Underived, bindings: Bindings) -> Res<FnId> {
        let errors = self.diagnostics.error_count();
        let scope = self.body_scope(rule);
        self.start_requests();
        let function = self.within(scope, |c| Body::check_rule(c, rule, of, bindings));
        let key = InstanceKey::new(&of.definition, of.args.clone());
        let function = match self.end_requests(rule, &key) {
            Some(callees) => function.map(|function| self.keep(rule, &key, true, callees, function)),
            None => function,
        };
        self.accept(rule, errors, function)
    }

    /// A gradient without effects is wrong more often than meant: the adjoint of each float
    /// argument that the function reads should be written. One that the rule reads is that of an
    /// output.
    fn warn_of_missing_adjoints(&mut self, rule: &Definition, of: &Underived, written: &HashSet<String>) -> Res<()> {
        let name = &of.definition.ast.name;
        // `pass` says that no gradient is meant to go through.
        if rule.ast.body.iter().all(|stmt| matches!(stmt.kind, ast::StmtKind::Pass)) {
            return Ok(());
        }
        for (at, (param, arg)) in rule.ast.params.iter().zip(&of.args).enumerate() {
            let InstanceArg::Type(ty) = arg else { continue };
            let floats = match ty {
                Type::Array(array) => Type::from(array.element).holds_floats(&self.output.structs),
                ty => ty.holds_floats(&self.output.structs),
            };
            let meant = || !reads(&of.definition.ast, at) || reads_adjoint(&rule.ast, &param.name.text);
            if floats && !written.contains(&param.name.text) && !meant() {
                let x = &param.name.text;
                self.diagnostics.push(messages::gradients::adjoint_never_written(
                    x,
                    &name.text,
                    rule.ast.name.span,
                    param.name.span,
                ));
            }
        }
        Ok(())
    }
}

/// Whether a function does more with its parameter `at` than store to its elements.
fn reads(function: &ast::Function, at: usize) -> bool {
    let Some(name) = function.params.get(at).map(|param| &param.name.text) else { return true };
    let mut found = false;
    let mut look = |expr: &ast::Expr| {
        visit::walk(expr, &mut |part| found |= matches!(&part.kind, Ast::Name(used) if used == name));
    };
    visit::each_statement(&function.body, &mut |stmt| {
        let targets = visit::targets(stmt);
        let mut place = 0;
        visit::expressions(stmt, &mut |expr| {
            place += 1;
            match &expr.kind {
                Ast::Subscript { base, indices } if place <= targets.len() && matches!(base.kind, Ast::Name(_)) => {
                    indices.iter().for_each(&mut look);
                }
                _ => look(expr),
            }
        });
    });
    found
}

/// Whether a rule mentions `wp.adjoint[name]`.
fn reads_adjoint(rule: &ast::Function, name: &str) -> bool {
    let mut found = false;
    visit::each_statement(&rule.body, &mut |stmt| {
        visit::expressions(stmt, &mut |expr| {
            visit::walk(expr, &mut |part| {
                let Ast::Subscript { base, indices } = &part.kind else { return };
                let adjoint = match &base.kind {
                    Ast::Attribute { name, .. } => name.text == "adjoint",
                    Ast::Name(name) => name == "adjoint",
                    _ => false,
                };
                found |= adjoint && indices.iter().any(|index| matches!(&index.kind, Ast::Name(used) if used == name));
            });
        });
    });
    found
}

impl<'a> Body<'_, 'a> {
    /// Checks a rule as a function with the signature of [`crate::ir::Derivative::Rule`].
    fn check_rule(c: &mut Checker<'a>, rule: &Arc<Definition>, of: &Underived, bindings: Bindings) -> Res<Function> {
        let signature = c.signature(rule)?;
        let mode = if rule.library() { Mode::Library } else { Mode::User };
        let primal = &c.output.functions[of.id];
        let (name, source_name) = (format!("adj_{}", primal.name), format!("adj_{}", primal.source_name));
        let (results, by_ref) = (primal.results.clone(), primal.by_ref.clone());
        let (on_tiles, by_thread) = (primal.by_block, primal.by_thread);
        let structs = c.output.structs.clone();
        let mut body = Body::new(c, mode, bindings);
        let mut params: Vec<(&str, Type, LocalId)> = Vec::new();
        for (param, arg) in signature.params.iter().zip(&of.args) {
            let binding = match arg {
                InstanceArg::Type(ty) => {
                    let id = body.locals.push(Local { name: param.name.clone(), ty: *ty, span: param.span });
                    params.push((&param.name, *ty, id));
                    Binding::Local(id)
                }
                InstanceArg::Function(name) => Binding::Alias(Operand::Function(name.clone())),
                InstanceArg::Word(ty) => Binding::Alias(Operand::Type(TypeWord::Type(*ty))),
                InstanceArg::Unknown => Binding::Broken,
            };
            body.scope.insert(param.name.clone(), binding);
        }
        let mut made = Rule::default();
        let adjoint_of = |body: &mut Body, name: &str, ty: Type, span: Span| {
            body.locals.push(Local { name: format!("adj_{name}"), ty, span })
        };
        for &(name, ty, _) in params.iter().filter(|(_, ty, _)| ty.bears_array(&structs)) {
            let shadow = adjoint_of(&mut body, name, ty, rule.ast.span);
            made.shadows.insert(shadow);
            made.adjoints.entry(name.to_string()).or_default().shadow = Some(shadow);
        }
        for (param, &ty) in signature.params[of.args.len()..].iter().zip(&results) {
            let id = body.locals.push(Local { name: param.name.clone(), ty, span: param.span });
            body.scope.insert(param.name.clone(), Binding::Local(id));
        }
        for &(name, ty, id) in &params {
            if by_ref.contains(&id) {
                let own = adjoint_of(&mut body, name, ty, rule.ast.span);
                // The adjoint of an array is its shadow, whoever holds the descriptor.
                if !matches!(ty, Type::Array(_)) {
                    made.adjoints.entry(name.to_string()).or_default().own = Some(own);
                }
            }
        }
        let param_count = body.locals.len() as u32;
        let mut accumulators = Vec::new();
        for &(name, ty, _) in params.iter().filter(|(_, ty, _)| ty.holds_floats(&structs)) {
            let own = match made.adjoints.get(name).and_then(|adjoint| adjoint.own) {
                Some(own) => own,
                None => adjoint_of(&mut body, name, ty, rule.ast.span),
            };
            made.adjoints.entry(name.to_string()).or_default().own = Some(own);
            accumulators.push(own);
        }
        body.function.rule = Some(made);
        let mut statements = body.block(&rule.ast.body);
        let own = |id: LocalId| crate::ids::Id::index(id) >= param_count as usize;
        crate::check::tiles::homes::place(&mut statements, &body.locals, own, &body.tiles.filled);
        if let Some((types, at)) = body.summary.results.clone()
            && !types.is_empty()
        {
            body.report(messages::gradients::returns_value(at));
        }
        // How a kernel is run follows from its own code, before its gradient is made.
        if body.summary.by_block && !on_tiles || body.summary.by_thread && !by_thread {
            let what = if on_tiles { "needs the threads of a block" } else { "works on tiles" };
            body.report(messages::gradients::threads_differ(&rule.ast.name.text, what, rule.ast.name.span));
        }
        if body.failed {
            return Err(Reported);
        }
        let (by_block, by_thread) = (body.summary.by_block || on_tiles, body.summary.by_thread || by_thread);
        let written = body.function.rule.take().map(|rule| rule.written).unwrap_or_default();
        let (locals, named): (IdVec<LocalId, Local>, _) = (body.locals, body.summary.named);
        if !rule.library() {
            c.warn_of_missing_adjoints(rule, of, &written)?;
        }
        Ok(Function {
            name: c.output.names.unique(&name),
            source_name,
            kernel_rank: None,
            library: rule.library(),
            by_block,
            by_thread,
            cuda_name: None,
            gives: None,
            native: None,
            locals,
            param_count,
            results: Vec::new(),
            nested: Vec::new(),
            accumulators,
            by_ref: Vec::new(),
            arrays: Vec::new(),
            derivative: Derivative::Body,
            body: statements,
            named,
            span: rule.ast.span,
            imported: None,
        })
    }

    /// `adjoint[x]`
    pub fn adjoint(&mut self, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let Some(rule) = &self.function.rule else {
            return Err(self.report(messages::gradients::adjoint_elsewhere(span)));
        };
        let name = match indices {
            [ast::Expr { kind: Ast::Name(name), .. }] => name,
            _ => "",
        };
        let adjoint = rule.adjoints.get(name).copied().unwrap_or_default();
        let Some(id) = adjoint.own.or(adjoint.shadow) else {
            let known: Vec<String> = rule.adjoints.keys().map(|name| format!("`{name}`")).collect();
            let mut diagnostic = match self.scope.contains_key(name) {
                true => messages::gradients::without_adjoint(name, span),
                false => messages::gradients::no_parameter_named(span),
            };
            if !known.is_empty() {
                let mut known = known;
                known.sort();
                diagnostic = messages::details::known_adjoints(diagnostic, &known.join(", "));
            }
            return Err(self.report(diagnostic));
        };
        let ty = self.locals[id].ty;
        Ok(Operand::Value(Expr::new(ExprKind::Local(id), ty, span)))
    }

    /// Notes that an assignment or call changes `adjoint[x]`, if this expression is it or a part of
    /// it.
    pub fn note_adjoint_write(&mut self, target: &ast::Expr) {
        let Some(rule) = &mut self.function.rule else { return };
        let mut at = target;
        loop {
            match &at.kind {
                Ast::Attribute { base, .. } => at = base,
                Ast::Subscript { base, indices } => {
                    let is_word = match &base.kind {
                        Ast::Name(name) => name == "adjoint",
                        Ast::Attribute { name, .. } => name.text == "adjoint",
                        _ => false,
                    };
                    if let (true, [index]) = (is_word, indices.as_slice()) {
                        let mut root = index;
                        while let Ast::Attribute { base, .. } = &root.kind {
                            root = base;
                        }
                        if let Ast::Name(name) = &root.kind {
                            rule.written.insert(name.clone());
                            return;
                        }
                    }
                    at = base;
                }
                _ => return,
            }
        }
    }

    /// In the adjoint of a struct, arrays are those of the shadow.
    pub fn shadow_of(&self, id: LocalId) -> Option<LocalId> {
        let adjoints = self.function.rule.as_ref()?.adjoints.values();
        adjoints.filter(|adjoint| adjoint.own == Some(id)).find_map(|adjoint| adjoint.shadow)
    }

    /// The array behind a view or part, if it is an array of adjoints in a rule: it may be null.
    fn shadow_root<'e>(&self, array: &'e Expr) -> Option<&'e Expr> {
        let shadows = &self.function.rule.as_ref()?.shadows;
        let mut root = array;
        while let ExprKind::View { array, .. } = &root.kind {
            root = array;
        }
        let local = match &root.kind {
            ExprKind::Part { base, .. } => &base.kind,
            kind => kind,
        };
        matches!(local, ExprKind::Local(id) if shadows.contains(id) && matches!(root.ty, Type::Array(_)))
            .then_some(root)
    }

    /// An access to an element of an array; where the array may be null, zero instead of it.
    pub fn guard_access(&self, access: Expr) -> Expr {
        let array = match &access.kind {
            ExprKind::Load { array, .. } => array,
            ExprKind::Atomic { place: Place { root: Root::Element { array, .. }, .. }, .. } => array,
            _ => return access,
        };
        let Some(root) = self.shadow_root(array) else { return access };
        let (ty, span) = (access.ty, access.span);
        let condition = Box::new(Expr::new(ExprKind::IsSet(Box::new(root.clone())), BOOL, span));
        let otherwise = Box::new(Expr::new(ExprKind::Zero, ty, span));
        Expr::new(ExprKind::Conditional { condition, then: Box::new(access), otherwise }, ty, span)
    }

    /// The access inside [`Body::guard_access`].
    pub fn unguarded(&self, expr: Expr) -> Expr {
        match expr.kind {
            ExprKind::Conditional { condition, then, otherwise }
                if self.function.rule.is_some()
                    && matches!(condition.kind, ExprKind::IsSet(_))
                    && matches!(then.kind, ExprKind::Load { .. })
                    && matches!(otherwise.kind, ExprKind::Zero) =>
            {
                *then
            }
            kind => Expr { kind, ..expr },
        }
    }

    /// Puts the statements that an assignment became under a test, if it writes to an array that
    /// may be null.
    pub fn guard_statements(&self, from: usize, out: &mut Vec<Stmt>) {
        let Some(Stmt { kind, span }) = out.get(from..).and_then(<[Stmt]>::last) else { return };
        let (StmtKind::Assign(place, _) | StmtKind::AtomicUpdate { place, .. }) = kind else { return };
        let Root::Element { array, .. } = &place.root else { return };
        let Some(root) = self.shadow_root(array) else { return };
        let span = *span;
        let condition = Expr::new(ExprKind::IsSet(Box::new(root.clone())), BOOL, span);
        let then = out.split_off(from);
        out.push(Stmt { kind: StmtKind::If { condition, then, otherwise: Vec::new() }, span });
    }
}

impl Checker<'_> {
    /// A kernel is differentiated unless it, or the file, says `enable_backward=False`.
    pub fn kernel_derivative(&mut self, definition: &Definition) -> Derivative {
        self.kernel_options(definition);
        let keyword = definition.ast.decorators.iter().find_map(|decorator| match &decorator.expr.kind {
            Ast::Call { args, .. } => {
                args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| name.text == "enable_backward"))
            }
            _ => None,
        });
        let wanted = keyword.map(|arg| arg.value.clone());
        let off =
            match wanted.map(|value| self.within(definition.scope, |c| c.quietly(|c| c.constant(&value, false)).0)) {
                Some(Ok(Operand::Const(constant))) => !constant.number.is_true(),
                Some(_) => false,
                None => self.settings.backward_off,
            };
        if off { Derivative::None("its kernel has `enable_backward=False`".into()) } else { Derivative::Body }
    }
}
