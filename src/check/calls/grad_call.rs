//! What does `wp.grad(f)(...)` call? Two functions of the checker's own making: one that takes the
//! arguments of `f` and gives their gradients, and below it the adjoint of `f`, whose body
//! differentiation writes.

use std::sync::Arc;

use crate::check::Checker;
use crate::check::body::Body;
use crate::check::messages;
use crate::check::state::definition::{Definition, Instance, InstanceArg, InstanceKey};
use crate::check::tree::{Call, Derivative, Expr, ExprKind, FnId, Function, Local, LocalId, Step, Stmt, StmtKind};
use crate::check::types::value::{Constant, Number, Operand, Reported, Res};
use crate::ids::{Id, IdVec};
use crate::source::Span;
use crate::types::{Scalar, Type};

impl Body<'_, '_> {
    /// The gradients of the sum of what an instance returns: one value per argument, as
    /// [`Checker::gradient_function`] says.
    pub fn gradient_of(&mut self, primal: FnId, args: Vec<Expr>, span: Span) -> Res<Operand> {
        let function = &self.c.output.functions[primal];
        let (name, results) = (function.source_name.clone(), function.results.clone());
        let array = !function.arrays.is_empty();
        if results.is_empty() || array {
            let what = if array { "an array" } else { "nothing" };
            return Err(self.report(messages::gradients::of_no_value(&name, what, span)));
        }
        if let Some(&ty) = results.iter().find(|ty| ty.scalar_part().is_none_or(|scalar| !scalar.is_float())) {
            let shown = self.show(ty);
            return Err(self.report(messages::gradients::of_other_type(&name, &shown, span)));
        }
        if self.c.charge_gradient(primal, span).is_err() {
            self.failed = true;
            return Err(Reported);
        }
        let callee = self.c.gradient_function(primal);
        let results = self.c.output.functions[callee].results.clone();
        let call = Call { callee, args, by_ref: Vec::new(), test: None, span };
        Ok(match results.as_slice() {
            [ty] => Operand::Value(Expr::new(ExprKind::Call(call), *ty, span)),
            _ => Operand::Results(call, results),
        })
    }
}

impl Checker<'_> {
    /// A function that is only the operation of a library entry.
    pub fn wrapper(
        &mut self,
        definition: &Arc<Definition>,
        key: &[InstanceArg],
        params: Vec<Local>,
        result: Expr,
    ) -> FnId {
        let key = InstanceKey::new(definition, key.to_vec());
        if let Some(Instance::Done(id)) = self.instances.get(&key) {
            return id;
        }
        let name = self.instance_name(definition, &key.args);
        let source_name = definition.ast.name.text.clone();
        let results = vec![result.ty];
        let id = self.made(name, source_name, params, Vec::new(), results, true, definition.ast.span);
        let span = result.span;
        self.output.functions[id].body = vec![Stmt { kind: StmtKind::Return(vec![result]), span }];
        self.instances.done(key, id);
        id
    }

    /// The function that `wp.grad(f)` is for one instance of `f`: it takes the arguments of `f` and
    /// gives for each the gradient of the sum of all that `f` returns. That of a value without
    /// floats is zero; for an array it is the array behind its own gradient pointer, to which the
    /// gradient is added.
    fn gradient_function(&mut self, primal: FnId) -> FnId {
        if let Some(&known) = self.gradients.made.get(&primal) {
            return known;
        }
        let adjoint = self.adjoint_function(primal);
        let of = &self.output.functions[primal];
        let (span, library) = (of.span, of.library);
        let (name, source_name) = (format!("grad_{}", of.name), format!("grad_{}", of.source_name));
        let params: Vec<Local> = of.locals.values().take(of.param_count as usize).cloned().collect();
        let (results, by_ref) = (of.results.clone(), of.by_ref.clone());
        let by_ref: Vec<Type> = by_ref.iter().map(|&param| of.locals[param].ty).collect();
        let mut made: IdVec<LocalId, Local> = params.iter().cloned().collect();
        let ids: Vec<LocalId> = made.ids().collect();
        let local = |id: LocalId| Expr::new(ExprKind::Local(id), params[id.index()].ty, span);
        let mut args: Vec<Expr> = ids.iter().map(|&id| local(id)).collect();
        let arrays = ids.iter().filter(|id| params[id.index()].ty.bears_array(&self.output.structs));
        args.extend(arrays.map(|&id| self.gradients_in(local(id))));
        args.extend(results.iter().map(|&ty| ones(ty, span)));
        args.extend(by_ref.iter().map(|&ty| Expr::new(ExprKind::Zero, ty, span)));
        let mut targets = Vec::new();
        let mut values = Vec::new();
        for (&id, param) in ids.iter().zip(&params) {
            values.push(if param.ty.holds_floats(&self.output.structs) {
                let adj = made.push(Local { name: format!("adj_{}", param.name), ty: param.ty, span });
                targets.push(Some(adj));
                Expr::new(ExprKind::Local(adj), param.ty, span)
            } else if param.ty.bears_array(&self.output.structs) {
                self.gradients_in(local(id))
            } else {
                Expr::new(ExprKind::Zero, param.ty, span)
            });
        }
        let call = Call { callee: adjoint, args, by_ref: Vec::new(), test: None, span };
        let body = [StmtKind::AssignCall { targets, call }, StmtKind::Return(values)];
        let results = params.iter().map(|param| param.ty).collect();
        let name = self.output.names.unique(&name);
        let id = self.made(name, source_name, params, made.values().cloned().collect(), results, library, span);
        self.output.functions[id].body = body.into_iter().map(|kind| Stmt { kind, span }).collect();
        self.gradients.made.insert(primal, id);
        id
    }

    /// The adjoint of an instance, with the signature of a rule. Differentiation writes its body.
    fn adjoint_function(&mut self, primal: FnId) -> FnId {
        self.gradients.needs_rules = true;
        let of = &self.output.functions[primal];
        let (span, library) = (of.span, of.library);
        let (name, source_name) = (format!("adj_{}", of.name), format!("adj_{}", of.source_name));
        let mut params: Vec<Local> = of.locals.values().take(of.param_count as usize).cloned().collect();
        let own = params.iter().map(|param| param.ty).filter(|ty| ty.holds_floats(&self.output.structs));
        let results: Vec<Type> = own.collect();
        let adjoint = |param: &Local| Local { name: format!("adj_{}", param.name), ..param.clone() };
        let shadows: Vec<Local> =
            params.iter().filter(|param| param.ty.bears_array(&self.output.structs)).map(adjoint).collect();
        params.extend(shadows);
        params.extend(of.results.iter().map(|&ty| Local { name: "adj_ret".into(), ty, span }));
        params.extend(of.by_ref.iter().map(|&param| adjoint(&of.locals[param])));
        let zeros = results.iter().map(|&ty| Expr::new(ExprKind::Zero, ty, span)).collect();
        let name = self.output.names.unique(&name);
        let id = self.made(name, source_name, params, Vec::new(), results, library, span);
        self.output.functions[id].body = vec![Stmt { kind: StmtKind::Return(zeros), span }];
        self.output.functions[id].derivative = Derivative::AdjointOf(primal);
        self.output.functions[id].by_block = self.output.functions[primal].by_block;
        self.output.functions[id].by_thread = self.output.functions[primal].by_thread;
        id
    }

    /// A function of the checker's own making, without a body yet. `locals` are all its variables,
    /// if there are others than the parameters.
    #[expect(clippy::too_many_arguments, reason = "the parts of a function")]
    fn made(
        &mut self,
        name: String,
        source_name: String,
        params: Vec<Local>,
        locals: Vec<Local>,
        results: Vec<Type>,
        library: bool,
        span: Span,
    ) -> FnId {
        let param_count = params.len() as u32;
        let locals = if locals.is_empty() { params } else { locals };
        self.output.functions.push(Function {
            name,
            source_name,
            kernel_rank: None,
            library,
            by_block: false,
            by_thread: false,
            cuda_name: None,
            gives: None,
            native: None,
            locals: locals.into_iter().collect(),
            param_count,
            results,
            nested: Vec::new(),
            accumulators: Vec::new(),
            by_ref: Vec::new(),
            arrays: Vec::new(),
            derivative: Derivative::Body,
            body: Vec::new(),
            named: Default::default(),
            span,
            imported: None,
        })
    }

    /// The arrays of adjoints of an array or of the arrays of a struct, whose other fields are
    /// zero.
    fn gradients_in(&self, value: Expr) -> Expr {
        let (ty, span) = (value.ty, value.span);
        let kind = match ty {
            Type::Array(_) => ExprKind::Gradient(Box::new(value)),
            Type::Struct(id) => {
                let fields = self.output.structs[id].fields.iter().zip(0..).map(|(field, k)| {
                    let path = vec![Step::At(k)];
                    let kind = ExprKind::Part { base: Box::new(value.clone()), path };
                    self.gradients_in(Expr::new(kind, field.ty, span))
                });
                ExprKind::Construct(fields.collect())
            }
            _ => ExprKind::Zero,
        };
        Expr::new(kind, ty, span)
    }
}

/// A float or composite of floats with all components 1.
fn ones(ty: Type, span: Span) -> Expr {
    let scalar = ty.scalar_part().unwrap_or(Scalar::F32);
    let one = Constant::untyped(Number::Float(1.0)).expr_as(scalar, span);
    match (ty, ty.scalar_count()) {
        (Type::Scalar(_), _) | (_, None) => one,
        (_, Some(count)) => Expr::new(ExprKind::Construct(vec![one; count as usize]), ty, span),
    }
}
