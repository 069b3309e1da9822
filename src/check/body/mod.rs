//! One function instance: its variables and the walk over its body.

pub(crate) mod adapt;
mod body_state;
mod conditional;
mod expr;
mod foreign_names;
mod indexed;
pub(super) mod known;
mod limits;
pub(in crate::check) mod local_array;
mod loop_habits;
mod loops;
mod membership;
mod operator;
pub(in crate::check) mod place;
mod promise;
mod python_call;
pub(in crate::check) mod python_math;
pub mod python_value;
mod query_loops;
mod results;
mod slice;
mod stmt;
mod transform;
mod ways;

use std::collections::HashMap;
use std::sync::Arc;

use crate::check::Checker;
use crate::check::body::body_state::{Known, Nesting, OwnFunction, Several, Statement, Summary, Tiles, Ways};
use crate::check::facts::Variable;
use crate::check::messages;
use crate::check::state::definition::{Definition, InstanceArg};
use crate::check::tree::{Derivative, Expr, ExprKind, Function, Local, LocalId, ReturnedArray};
use crate::check::types::pattern::{Bindings, Pattern, ScalarClass};
use crate::check::types::value::{Constant, Number, Operand, Reported, Res, Stack, TypeWord};
use crate::diag::{Applicability, Diagnostic};
use crate::ids::{Id, IdVec};
use crate::library::Meaning;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Scalar, Type};

/// What a name means inside a function.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Local(LocalId),
    /// Known at compile time: a function, a type, a tuple of variables.
    Alias(Operand),
    /// A view of a tile or local array that a branch or loop named: behind it, the name may stand
    /// for another one, or for nothing.
    Left,
    /// Known at compile time, but not one thing on all ways to here.
    Several(Box<Several>),
    /// Assigned from something that had an error: uses are not reported again.
    Broken,
}

/// Whose rules an expression follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Kernel code of the user: literals have their own types.
    User,
    /// Code of the built-in library: literals take the type of the other operand, and internal
    /// names are visible.
    Library,
    /// A module-level constant or the argument of `wp.static`: Python's arithmetic.
    Host { library: bool },
}

/// The result of checking a body once.
struct Look {
    function: Function,
    /// It returns these types, local arrays among them for which this look had no parameters.
    returned: Option<Vec<Type>>,
}

pub(crate) struct Body<'c, 'a> {
    pub c: &'c mut Checker<'a>,
    pub mode: Mode,
    pub function: OwnFunction,
    pub locals: IdVec<LocalId, Local>,
    pub scope: HashMap<String, Binding>,
    pub known: Known,
    /// What its names mean on each way through its branches and loops.
    pub(crate) ways: Ways,
    pub nesting: Nesting,
    pub statement: Statement,
    pub tiles: Tiles,
    pub summary: Summary,
    /// An error was reported in this body.
    pub failed: bool,
    /// Literals that adapt to what they meet.
    pub literals: body_state::Literals,
}

impl<'c, 'a> Body<'c, 'a> {
    pub fn new(c: &'c mut Checker<'a>, mode: Mode, bindings: Bindings) -> Self {
        Body {
            c,
            mode,
            function: OwnFunction { bindings, ..OwnFunction::default() },
            locals: IdVec::new(),
            scope: HashMap::new(),
            known: Known::new(),
            ways: Ways::default(),
            nesting: Nesting::default(),
            statement: Statement::default(),
            tiles: Tiles::default(),
            summary: Summary::default(),
            failed: false,
            literals: body_state::Literals::default(),
        }
    }

    /// The value of an expression outside any function.
    pub fn constant(
        c: &'c mut Checker<'a>,
        expr: &ast::Expr,
        library: bool,
        scope: HashMap<String, Binding>,
        locals: IdVec<LocalId, Local>,
    ) -> Res<Operand> {
        let mut body = Body::new(c, Mode::Host { library }, Bindings::default());
        body.scope = scope;
        body.locals = locals;
        body.c.evaluation.computing += u32::from(!library);
        let value = body.expr(expr);
        body.c.evaluation.computing -= u32::from(!library);
        let value = value?;
        let value = value.closed().ok_or_else(|| c.constant_too_large(expr.span))?;
        c.charge(&value, expr.span)?;
        Ok(value)
    }

    /// Checks the body of a definition for these arguments.
    pub fn check(
        c: &'c mut Checker<'a>,
        definition: &Arc<Definition>,
        args: &[InstanceArg],
        bindings: Bindings,
    ) -> Res<Function> {
        if definition.native {
            return c.native_function(definition, args);
        }
        let mut look = Body::look(c, definition, args, bindings.clone(), &[])?;
        if let Some(returned) = look.returned {
            // The caller has to bring the arrays: look again, with a parameter for each.
            look = Body::look(c, definition, args, bindings, &returned)?;
        }
        let Look { mut function, .. } = look;
        if !definition.kernel {
            function.name = c.instance_name(definition, args);
        } else if let Some(name) = c.overload_name(definition, args) {
            function.source_name.clone_from(&name);
            function.name = name;
        }
        Ok(function)
    }

    /// Checks the body, and again where variables that start with literals are to have other types
    /// from there on.
    fn look(
        c: &mut Checker<'_>,
        definition: &Arc<Definition>,
        args: &[InstanceArg],
        bindings: Bindings,
        returned: &[Type],
    ) -> Res<Look> {
        let mut starts = body_state::Starts::new();
        for _ in 0..body_state::MOST_LOOKS {
            let known = c.diagnostics.len();
            let mut wishes = body_state::Wishes::default();
            let looked = Body::look_once(c, definition, args, bindings.clone(), returned, &starts, &mut wishes);
            if looked.is_ok() || wishes.strong.is_empty() && wishes.weak.is_empty() {
                return looked;
            }
            let findings = c.diagnostics.take_after(known);
            let forget = |c: &mut Checker<'_>| {
                if let Some(facts) = &mut c.output.facts {
                    facts.forget(definition.ast.span);
                }
            };
            if !findings.is_empty() && body_state::grow(&mut starts, &wishes.strong) {
                forget(c);
                continue;
            }
            let mut tried = starts.clone();
            if !findings.is_empty() && body_state::grow(&mut tried, &wishes.weak) {
                forget(c);
                let mut found = body_state::Wishes::default();
                let again = Body::look_once(c, definition, args, bindings.clone(), returned, &tried, &mut found);
                let floats = |(span, _): &(Span, Scalar)| found.computed.contains(span);
                if wishes.weak.iter().all(floats) {
                    if again.is_ok() || found.strong.is_empty() && found.weak.is_empty() {
                        return again;
                    }
                    c.diagnostics.take_after(known);
                    starts = tried;
                    continue;
                }
                c.diagnostics.take_after(known);
            }
            findings.into_iter().for_each(|finding| c.diagnostics.push(finding));
            return looked;
        }
        Body::look_once(c, definition, args, bindings, returned, &starts, &mut body_state::Wishes::default())
    }

    fn look_once(
        c: &mut Checker<'_>,
        definition: &Arc<Definition>,
        args: &[InstanceArg],
        bindings: Bindings,
        returned: &[Type],
        starts: &body_state::Starts,
        wishes: &mut body_state::Wishes,
    ) -> Res<Look> {
        if definition.kernel {
            c.interface_name("kernel", &definition.ast.name)?;
        }
        let signature = c.signature(definition)?;
        let mode = if definition.library() { Mode::Library } else { Mode::User };
        let mut body = Body::new(c, mode, bindings);
        body.function.kernel = definition.kernel;
        body.function.source = Some(definition.ast.clone());
        body.literals.starts.clone_from(starts);
        body.literals.promised = body.promised_scalar(definition);
        for (param, arg) in signature.params.iter().zip(args) {
            let binding = match arg {
                InstanceArg::Type(ty) => {
                    let id = body.locals.push(Local { name: param.name.clone(), ty: *ty, span: param.span });
                    if matches!(param.pattern, Pattern::Ref(_)) {
                        body.function.by_ref.push(id);
                    }
                    Binding::Local(id)
                }
                InstanceArg::Function(name) => Binding::Alias(Operand::Function(name.clone())),
                InstanceArg::Word(ty) => Binding::Alias(Operand::Type(TypeWord::Type(*ty))),
                InstanceArg::Unknown => {
                    // No instance comes out, only what its body says about other things.
                    body.failed = true;
                    Binding::Broken
                }
            };
            if let Some(name) = Stack::of_params(&param.name)
                && let (Binding::Local(count), Some(&Binding::Local(elements))) = (&binding, body.scope.get(name))
            {
                let stack = Stack::new(elements, *count);
                body.scope.insert(name.to_string(), Binding::Alias(Operand::Stack(stack)));
                continue;
            }
            // Two of one name are no Python, which is said already.
            body.failed |= body.scope.insert(param.name.clone(), binding).is_some();
        }
        body.function.parameters = body.locals.len();
        for (position, &ty) in returned.iter().enumerate().filter(|(_, ty)| matches!(ty, Type::Local(_))) {
            let param = body.new_local("", ty, definition.ast.name.span);
            body.summary.returned_arrays.push(ReturnedArray { position, param });
        }
        let param_count = body.locals.len() as u32;
        let mut statements = body.block(&definition.ast.body);
        wishes.strong.append(&mut body.literals.wishes);
        wishes.weak.append(&mut body.literals.weak);
        wishes.computed.extend(body.literals.computed_floats.drain());
        let own = |id: LocalId| id.index() >= param_count as usize;
        crate::check::tiles::homes::place(&mut statements, &body.locals, own, &body.tiles.filled);
        if !body.failed && mode == Mode::User {
            match definition.kernel {
                true => body.no_promise(definition),
                false => body.keep_promise(definition),
            }
        }
        if let Some(facts) = &mut body.c.output.facts {
            for local in body.locals.values() {
                let Local { name, ty, span } = local.clone();
                facts.variable_of(Variable { function: definition.ast.span, name, ty, span });
            }
        }
        if body.failed {
            return Err(Reported);
        }
        let types = body.summary.results.map(|(types, _)| types).unwrap_or_default();
        let (arrays, results): (Vec<Type>, Vec<Type>) =
            types.iter().copied().partition(|ty| matches!(ty, Type::Local(_)));
        let returned = (arrays.len() > body.summary.returned_arrays.len()).then_some(types);
        let arrays = body.summary.returned_arrays;
        let (by_block, by_thread, nested) = (body.summary.by_block, body.summary.by_thread, body.summary.nested);
        let (locals, by_ref, rank, named) = (body.locals, body.function.by_ref, body.summary.rank, body.summary.named);
        let source_name = c.entry_name(definition);
        let name = source_name.clone();
        let derivative = if definition.kernel { c.kernel_derivative(definition) } else { Derivative::Body };
        if definition.kernel && c.is_fast(definition) {
            c.output.fast.push(definition.ast.span);
        }
        let scalar = results.first().and_then(|ty| ty.scalar_part());
        let cuda_name =
            definition.entry.as_ref().and_then(|entry| entry.cuda.as_ref()).and_then(|names| match scalar {
                Some(Scalar::F32) => Some(names.float32.clone()),
                Some(Scalar::F64) => Some(names.float64.clone()),
                _ => None,
            });
        let function = Function {
            name,
            source_name,
            kernel_rank: definition.kernel.then_some(rank),
            library: definition.library(),
            by_block,
            by_thread,
            cuda_name,
            gives: definition.entry.as_ref().and_then(|entry| entry.gives),
            native: None,
            locals,
            param_count,
            results,
            nested,
            accumulators: Vec::new(),
            by_ref,
            arrays,
            derivative,
            body: statements,
            named,
            span: definition.ast.span,
            imported: None,
        };
        Ok(Look { function, returned })
    }

    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.failed = true;
        self.c.report(diagnostic)
    }

    pub fn show(&self, ty: Type) -> String {
        self.c.show(ty)
    }

    pub fn is_host(&self) -> bool {
        matches!(self.mode, Mode::Host { .. })
    }

    pub fn is_library(&self) -> bool {
        matches!(self.mode, Mode::Library | Mode::Host { library: true })
    }

    pub fn new_local(&mut self, name: &str, ty: Type, span: Span) -> LocalId {
        self.locals.push(Local { name: name.to_string(), ty, span })
    }

    /// The variable a name is assigned to: the one it has, or a new one of type `ty`.
    pub fn assigned_local(&mut self, name: &str, ty: Type, span: Span, value: Span) -> Res<LocalId> {
        if let Some(Binding::Local(id)) = self.scope.get(name) {
            let id = *id;
            self.known.remove(&id);
            let local = &self.locals[id];
            if local.ty == ty {
                return Ok(id);
            }
            // A view of another rank: outside branches and loops every later use means the new one.
            if let (Type::Array(old), Type::Array(new)) = (local.ty, ty)
                && old.element == new.element
                && self.nesting.depth == 0
            {
                let id = self.new_local(name, ty, span);
                self.means(name, Binding::Local(id), span);
                return Ok(id);
            }
            let (old, first) = (self.show(local.ty), local.span);
            let new = self.show(ty);
            if let Some(scalar) = ty.as_scalar() {
                self.wish(id, scalar, true);
            }
            let mut diagnostic = messages::types::another_type(name, &old, &new, value, first);
            if let (Type::Scalar(to), Type::Scalar(from)) = (self.locals[id].ty, ty) {
                diagnostic = match to.is_int() && from.is_float() {
                    true => self.suggest_float_from_start(diagnostic, id),
                    false => self.suggest_cast(diagnostic, value, (ty, to), "it", Applicability::Maybe),
                };
            } else {
                diagnostic = messages::repairs::another_name(diagnostic);
            }
            return Err(self.report(diagnostic));
        }
        let id = self.new_local(name, ty, span);
        self.means(name, Binding::Local(id), span);
        Ok(id)
    }

    /// What a name means here.
    pub fn name(&mut self, name: &str, span: Span) -> Res<Operand> {
        match self.scope.get(name) {
            Some(Binding::Local(id)) => {
                let ty = self.locals[*id].ty;
                return Ok(Operand::Value(Expr::new(ExprKind::Local(*id), ty, span)));
            }
            Some(Binding::Alias(operand)) => {
                let operand = operand.clone();
                self.warn_maybe(name, span);
                if let Operand::Tuple(items) = operand {
                    let tuple = Operand::Tuple(items.into_iter().map(|item| at(item, span)).collect());
                    self.c.charge(&tuple, span)?;
                    return Ok(tuple);
                }
                return Ok(operand);
            }
            Some(Binding::Left) => {
                let diagnostic = messages::values::left_view(name, span);
                return Err(self.report(diagnostic));
            }
            Some(Binding::Several(several)) => {
                let several = several.clone();
                let reported = self.several(name, &several, span);
                // Once is enough.
                self.means(name, Binding::Broken, span);
                return Err(reported);
            }
            Some(Binding::Broken) => {
                self.failed = true;
                return Err(Reported);
            }
            None => {}
        }
        if self.is_library() {
            if name == "adjoint" && self.function.rule.is_some() {
                return Ok(Operand::Adjoint);
            }
            if let Some(operand) = self.library_name(name) {
                return operand;
            }
        } else if self.c.is_spent() {
            self.failed = true;
            return Err(Reported);
        } else if let Some(value) = self.host_name(name) {
            return Ok(value);
        } else if let Some(result) = self.c.global(name, span) {
            let result = result.and_then(|operand| self.c.charge(&operand, span).map(|()| operand));
            self.failed |= result.is_err();
            return result.map(|operand| at(operand, span));
        }
        if let Some(operand) = self.c.ambient(name) {
            return Ok(operand);
        }
        let mut diagnostic = messages::names::undefined(name, span);
        if self.c.knows_builtin(name) || crate::check::types::value::type_of_name(name).is_some() {
            let text = format!("wp.{name}");
            diagnostic = messages::repairs::did_you_mean(diagnostic, &text, span);
        } else if let Some(habit) = crate::check::names::habits::of_name(name) {
            diagnostic = self.c.suggest(diagnostic, habit, span);
        } else if let Some(near) = self.nearest_name(name) {
            diagnostic = messages::repairs::did_you_mean(diagnostic, &near, span);
        } else if let Some(own) = self.c.warp_alias().filter(|_| name == "warp") {
            diagnostic = messages::repairs::name_of_warp(diagnostic, &own, span);
        } else {
            diagnostic = match name {
                "math" | "numpy" | "warp" | "kc" => messages::repairs::import_first(diagnostic, name),
                "np" => messages::repairs::import_first(diagnostic, "numpy as np"),
                "wp" => messages::repairs::import_first(diagnostic, "warp as wp"),
                _ if self.is_host() => messages::repairs::define_first(diagnostic, name),
                _ => messages::repairs::assign_first(diagnostic, name),
            };
        }
        // Once is enough.
        self.scope.insert(name.to_string(), Binding::Broken);
        Err(self.report(diagnostic))
    }

    /// Refuses a tuple among the results of a function: its `n`th.
    fn nested_result(&mut self, value: &ast::Expr, n: usize) -> Reported {
        fn flat(expr: &ast::Expr, sources: &crate::source::SourceMap, out: &mut Vec<String>) {
            match &expr.kind {
                ast::ExprKind::Tuple(items) => items.iter().for_each(|item| flat(item, sources, out)),
                _ => out.push(sources.text(expr.span).to_string()),
            }
        }
        let item = if let ast::ExprKind::Tuple(items) = &value.kind { items.get(n) } else { None };
        let item = item.unwrap_or(value);
        let diagnostic = messages::statements::nested_result(item.span);
        let mut parts = Vec::new();
        flat(value, self.c.sources, &mut parts);
        self.report(match &item.kind {
            ast::ExprKind::Tuple(_) => messages::repairs::results_on_one_level(diagnostic, &parts.join(", ")),
            _ => messages::repairs::items_of_result(diagnostic, self.c.sources.text(item.span)),
        })
    }

    /// The known name that an unknown one may be a slip for.
    fn nearest_name(&mut self, name: &str) -> Option<String> {
        if !self.c.may_suggest() {
            return None;
        }
        let known = self
            .scope
            .iter()
            .filter(|(_, binding)| !matches!(binding, Binding::Broken | Binding::Left))
            .map(|(name, _)| name);
        let names = known.chain(self.c.visible_names()).map(String::as_str);
        crate::check::names::suggest::nearest(name, names.chain(["return", "break", "continue", "pass"]))
    }

    /// A name inside library code: the signature's variables, type names, constants and entries of
    /// the library.
    fn library_name(&mut self, name: &str) -> Option<Res<Operand>> {
        if let Some(ty) = self.function.bindings.ty(name) {
            return Some(Ok(Operand::Type(TypeWord::Type(ty))));
        }
        if let Some(n) = self.function.bindings.length(name) {
            return Some(Ok(Operand::Const(Constant::untyped(Number::Int(i128::from(n))))));
        }
        if let Some(class) = ScalarClass::from_name(name) {
            return Some(Ok(Operand::Type(TypeWord::Class(class))));
        }
        if let Some(ty) = crate::check::types::value::type_of_name(name) {
            return Some(Ok(Operand::Type(TypeWord::Type(ty))));
        }
        if let Some(ty) = self.c.library_struct(name) {
            return Some(Ok(Operand::Type(TypeWord::Type(ty))));
        }
        Some(match self.c.known.library.meaning(name, self.c.sources)? {
            Meaning::Constant(value) => self.c.constant(&value, true),
            Meaning::Function => {
                Ok(Operand::Function(crate::check::types::value::FunctionName::Builtin(name.to_string())))
            }
        })
    }

    /// The run-time value of an operand; literals get their own types.
    pub fn materialize(&mut self, operand: Operand, span: Span) -> Res<Expr> {
        match operand {
            Operand::Value(expr) => Ok(expr),
            Operand::Const(constant) => {
                let scalar = constant.scalar();
                if let (Some(value), false) = (constant.as_int(), self.is_host())
                    && scalar.is_int()
                {
                    let (low, high) = scalar.int_range();
                    if !(low..=high).contains(&value) && constant.scalar.is_none() {
                        // Constants of hashes and masks: what counts of them is their bits.
                        let help = match u32::try_from(value) {
                            Ok(bits) => format!(
                                "the same bits are `{}`; or give it another type: `wp.uint32({value})`, `wp.int64({value})`",
                                bits as i32
                            ),
                            Err(_) => format!("give it a wider type: `wp.int64({value})`"),
                        };
                        return Err(self.report(messages::values::literal_beyond_int32(value, &help, span)));
                    }
                }
                if let (Number::Float(value), None, Mode::User) = (constant.number, constant.scalar, self.mode) {
                    let found = crate::check::lints::literal::narrowed(value, span, self.c.sources.text(span));
                    found.into_iter().for_each(|finding| self.c.diagnostics.push(finding));
                }
                Ok(constant.expr(span))
            }
            Operand::Shape(_) if self.c.sources.text(span).ends_with("shape") => {
                let one = format!("{}[0]", self.c.sources.text(span));
                let diagnostic = messages::values::whole_shape(span);
                Err(self.replaced(diagnostic, span, &one))
            }
            Operand::Tuple(_) | Operand::Shape(_) => Err(self.report(messages::values::tuple(span))),
            Operand::Slice(_) => Err(self.report(messages::values::slice(span))),
            Operand::Results(call, types) if types.is_empty() => {
                Err(self.report(messages::values::no_result(&self.c.output.functions[call.callee].source_name, span)))
            }
            // An array is in a variable first.
            Operand::Results(call, types) if types.len() == 1 => {
                let result = self.results_of(call, &types, span)?;
                self.materialize(result, span)
            }
            Operand::Results(_, types) => Err(self.report(messages::values::several_results(types.len(), span))),
            Operand::Tile(elements) => {
                let kept = self.kept(elements, span)?;
                let id = kept.result.ok_or(Reported)?;
                Ok(Expr::new(ExprKind::Local(id), self.locals[id].ty, span))
            }
            Operand::Stack(_) => Err(self.report(messages::values::stack(span))),
            Operand::Adjoint => Err(self.report(messages::values::adjoint(span))),
            Operand::Gradient(name) => Err(self.report(messages::values::gradient(name.text(), span))),
            Operand::Function(name) => Err(self.report(messages::values::function(name.text(), span))),
            Operand::Type(TypeWord::None) => Err(self.report(messages::values::none(span))),
            Operand::Dict(_) => Err(self.report(messages::values::dict(span))),
            Operand::Host(value) => Err(self.report(messages::values::host_value(value.what(), span))),
            Operand::Type(_) => Err(self.report(messages::values::type_(span))),
            Operand::Module(path) => Err(self.report(messages::values::module(&path, span))),
            Operand::Str(text) => {
                // `float("-inf")`
                let number =
                    matches!(text.trim_start_matches(['-', '+']), "inf" | "infinity" | "Infinity" | "nan" | "NaN");
                Err(self.report(messages::values::string(number, span)))
            }
            Operand::Enum(class) => Err(self.report(messages::values::enumeration(&class.name, span))),
        }
    }

    pub fn value(&mut self, expr: &ast::Expr) -> Res<Expr> {
        let operand = self.expr(expr)?;
        self.materialize(operand, expr.span)
    }
}

/// A constant's value, placed where it is used.
fn at(operand: Operand, span: Span) -> Operand {
    match operand {
        Operand::Value(expr) => Operand::Value(Expr { span, ..expr }),
        other => other,
    }
}

impl Checker<'_> {
    /// `dot_vec3f` for library functions, the source name for the user's; with a number where that
    /// is taken.
    pub fn instance_name(&mut self, definition: &Definition, args: &[InstanceArg]) -> String {
        let wanted = self.wanted_name(definition, args);
        self.output.names.unique(&wanted)
    }

    /// The name of an instance where it is free.
    pub fn wanted_name(&self, definition: &Definition, args: &[InstanceArg]) -> String {
        let source = &definition.ast.name.text;
        let plain = |name: &str| -> String {
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
        };
        match args.first() {
            Some(InstanceArg::Type(ty)) if definition.library() => {
                plain(&format!("{source}_{}", self.show(*ty))).trim_end_matches('_').to_string()
            }
            _ => plain(source),
        }
    }
}
