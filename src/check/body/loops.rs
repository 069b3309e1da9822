//! `for` loops: what they range over, and loops that are unrolled while checking because
//! `wp.static` needs their variable.

use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::value::{Constant, FunctionName, Number, Operand, Reported, Res};
use crate::diag::Applicability;
use crate::ir::{BinaryOp as IrBinary, CompareOp as IrCompare};
use crate::limits::MAX_STATIC_ITERATIONS;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::visit::{self, each_statement};
use crate::types::{BOOL, I32, Scalar, Type};

/// The arguments of `range`, of one integer type.
struct Range {
    scalar: Scalar,
    start: Expr,
    end: Expr,
    step: Expr,
}

/// A loop over the numbers of a range from the last to the first.
enum Mirrored {
    /// It counts down by itself.
    Down(Range),
    /// It counts iterations, and in each the number is computed.
    Iterations { iteration: LocalId, count: Expr, number: Expr },
}

impl Body<'_, '_> {
    pub fn for_loop(
        &mut self,
        target: &ast::Expr,
        iter: &ast::Expr,
        body: &[ast::Stmt],
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        let ast::ExprKind::Name(name) = &target.kind else {
            let refused = self.several_variables(target, iter, body);
            self.forgive_targets(target);
            self.broken_loop(body, out);
            return Err(refused);
        };
        if let Some(done) = self.query_loop((name, target.span), iter, body, span, out) {
            if done.is_err() {
                self.scope.entry(name.clone()).or_insert(Binding::Broken);
            }
            return done;
        }
        if let Some(refused) = self.loop_over_values(target, iter, body) {
            self.scope.entry(name.clone()).or_insert(Binding::Broken);
            self.broken_loop(body, out);
            return Err(refused);
        }
        let header = self.header(iter);
        if let Ok((range, mirrored)) = &header
            && body.iter().any(|stmt| mentions_static(self.c.sources.text(stmt.span)))
            // Such a loop is none of copies, as in Warp: its variable is not known.
            && !jumps(body, &ast::StmtKind::Break)
            && let Some(iterations) = self.constant_iterations(range, *mirrored)
        {
            return self.unroll(name, &iterations, body, span, out);
        }
        let variable = match &header {
            Ok((range, _)) => self.loop_variable(name, range.scalar.into(), target.span, iter.span, span),
            Err(Reported) => Err(Reported),
        };
        if variable.is_err() {
            self.scope.entry(name.clone()).or_insert(Binding::Broken);
        }
        let iterations = header.as_ref().ok().and_then(|(range, mirrored)| self.constant_iterations(range, *mirrored));
        let last = iterations.and_then(|iterations| iterations.last().copied());
        self.forget_assigned(body);
        let plain = !leaves_or_assigns(body, name);
        self.enter_loop(body, out);
        let mut body = self.loop_body(body);
        self.leave_loop();
        // A loop that runs all its known iterations leaves its variable at the last one.
        if let (Some(last), Ok(id), true) = (last, &variable, plain) {
            self.known.insert(*id, Constant::untyped(Number::Int(last)));
        }
        let ((range, mirrored), variable) = (header?, variable?);
        let range = match if mirrored { self.mirror(range, iter.span, out) } else { Mirrored::Down(range) } {
            Mirrored::Down(range) => range,
            Mirrored::Iterations { iteration, count, number } => {
                body.insert(0, self.assign_local(variable, number, iter.span));
                let [start, step] = [0, 1].map(|n| whole(n, count.ty, iter.span));
                out.push(Stmt { kind: StmtKind::For { variable: iteration, start, end: count, step, body }, span });
                return Ok(());
            }
        };
        let Range { start, end, step, .. } = range;
        out.push(Stmt { kind: StmtKind::For { variable, start, end, step, body }, span });
        Ok(())
    }

    /// Looks at the body of a loop whose header has an error.
    fn broken_loop(&mut self, body: &[ast::Stmt], out: &mut Vec<Stmt>) {
        self.forget_assigned(body);
        self.enter_loop(body, out);
        self.loop_body(body);
        self.leave_loop();
    }

    /// The variable that a loop counts with. One of another type has its name until the loop
    /// begins, if nothing reads that one afterwards.
    fn loop_variable(&mut self, name: &str, ty: Type, place: Span, iter: Span, span: Span) -> Res<LocalId> {
        if let Some(Binding::Local(id)) = self.scope.get(name)
            && self.locals[*id].ty != ty
            && let Some(source) = self.function.source.clone()
            && is_of_loops(&source.body, name, Some(span))
        {
            let id = self.new_local(name, ty, place);
            self.means(name, Binding::Local(id), place);
            return Ok(id);
        }
        self.assigned_local(name, ty, place, iter)
    }

    /// One copy of the body for each iteration, with the variable a compile-time constant.
    fn unroll(
        &mut self,
        name: &str,
        iterations: &[i128],
        body: &[ast::Stmt],
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        let outer = self.scope.get(name).cloned();
        self.nesting.unrolled += 1;
        let errors = self.c.diagnostics.error_count();
        for &iteration in iterations {
            let constant = Operand::Const(Constant::untyped(Number::Int(iteration)));
            self.means(name, Binding::Alias(constant), span);
            if jumps(body, &ast::StmtKind::Continue) {
                self.once(body, span, out);
            } else {
                let statements = self.block(body);
                out.extend(statements);
            }
            // The other iterations would say the same, most often.
            if self.c.diagnostics.error_count() > errors || self.c.is_unrolled_enough() {
                self.failed = true;
                break;
            }
        }
        self.nesting.unrolled -= 1;
        // After the loop the name is an ordinary variable with the last value.
        self.unbind(name, outer);
        if let Some(&last) = iterations.last() {
            let value = Constant::untyped(Number::Int(last)).expr(span);
            let id = self.assigned_local(name, value.ty, span, span)?;
            self.known.insert(id, Constant::untyped(Number::Int(last)));
            out.push(self.assign_local(id, value, span));
        }
        Ok(())
    }

    /// A copy of a loop's body that `continue` may leave: a loop of one iteration.
    fn once(&mut self, body: &[ast::Stmt], span: Span, out: &mut Vec<Stmt>) {
        self.enter_loop(body, out);
        let copy = self.loop_body(body);
        self.leave_loop();
        self.forget_assigned(body);
        let variable = self.new_local("", I32, span);
        let [start, end, step] = [0, 1, 1].map(|n| whole(n, I32, span));
        out.push(Stmt { kind: StmtKind::For { variable, start, end, step, body: copy }, span });
    }

    /// What the loop ranges over, `range(...)` or `reversed(range(...))`, and whether from the last
    /// to the first.
    fn header(&mut self, iter: &ast::Expr) -> Res<(Range, bool)> {
        if let Some(reported) = self.foreign(iter) {
            return Err(reported);
        }
        let ast::ExprKind::Call { callee, args } = &iter.kind else { return self.not_iterable(iter.span) };
        match self.expr(callee)? {
            Operand::Function(FunctionName::Builtin(f)) if f == "range" => Ok((self.range(args, iter.span)?, false)),
            Operand::Function(FunctionName::Builtin(f)) if f == "reversed" => match args.as_slice() {
                [inner] => self.header(&inner.value).map(|(range, mirrored)| (range, !mirrored)),
                _ => Err(self.report(messages::statements::arguments_of_reversed(args.len(), iter.span))),
            },
            _ => self.not_iterable(iter.span),
        }
    }

    fn range(&mut self, args: &[ast::Arg], span: Span) -> Res<Range> {
        if args.is_empty() || args.len() > 3 || args.iter().any(|arg| arg.name.is_some()) {
            return Err(self.report(messages::statements::arguments_of_range(args.len(), span)));
        }
        let mut operands = Vec::new();
        for arg in args {
            let operand = match self.expr(&arg.value)? {
                // As in Python, `range(True)` has one iteration.
                Operand::Const(Constant { number: Number::Bool(b), .. }) => {
                    Operand::Const(Constant::untyped(Number::Int(i128::from(b))))
                }
                operand => operand,
            };
            operands.push((operand, arg.value.span));
        }
        // The type is that of the first argument that has one of its own.
        let scalar = operands
            .iter()
            .find_map(|(operand, _)| match operand {
                Operand::Value(expr) => expr.ty.as_scalar(),
                Operand::Const(c) => c.scalar,
                _ => None,
            })
            .unwrap_or(Scalar::I32);
        let ty = Type::Scalar(scalar);
        let mut values = Vec::new();
        for (operand, at) in operands {
            let fraction =
                matches!(&operand, Operand::Const(Constant { number: Number::Float(x), .. }) if x.fract() != 0.0);
            let value = match operand {
                Operand::Const(c) if c.adapts_to(scalar) && scalar.is_int() => c.expr_as(scalar, at),
                other => self.materialize(other, at)?,
            };
            if value.ty != ty || !ty.is_int() {
                let (found, first) = (self.show(value.ty), self.show(ty));
                let mut diagnostic = match value.ty.is_int() {
                    true => messages::statements::bounds_of_range(&first, &found, at),
                    false => messages::statements::bound_is_no_integer(&found, at),
                };
                if fraction {
                    let text = self.c.sources.text(at);
                    diagnostic = messages::repairs::whole_steps(diagnostic, text);
                } else if value.ty.as_scalar().is_some_and(Scalar::is_float) {
                    diagnostic = self.suggest_cast(diagnostic, at, (value.ty, Scalar::I32), "it", Applicability::Maybe);
                }
                return Err(self.report(diagnostic));
            }
            values.push(value);
        }
        let number = |n| Constant::untyped(Number::Int(n)).expr_as(scalar, span);
        let mut values = values.into_iter();
        let (start, end, step) = match (values.next(), values.next(), values.next()) {
            (Some(end), None, _) => (number(0), end, number(1)),
            (Some(start), Some(end), step) => (start, end, step.unwrap_or_else(|| number(1))),
            _ => return Err(Reported),
        };
        if self.number(&step).is_some_and(|n| !n.is_true()) {
            return Err(self.report(messages::statements::step_of_range_is_zero(step.span)));
        }
        Ok(Range { scalar, start, end, step })
    }

    /// The same numbers from the last to the first. No number on the way may leave the type: a
    /// range that counts up from a constant that is not negative has room below it; for others the
    /// iterations are counted, of which an unsigned integer holds any number.
    fn mirror(&mut self, range: Range, span: Span, out: &mut Vec<Stmt>) -> Mirrored {
        let ty = Type::Scalar(range.scalar);
        let signed = range.scalar.is_signed_int();
        let [start, end, step] = [range.start, range.end, range.step].map(|value| {
            if matches!(value.kind, ExprKind::Const(_)) {
                return value;
            }
            let id = self.new_local("", ty, span);
            out.push(self.assign_local(id, value, span));
            Expr::new(ExprKind::Local(id), ty, span)
        });
        let constant = |value: &Expr| match value.as_number() {
            Some(Number::Int(n)) => Some(n),
            _ => None,
        };
        if let (true, Some(first @ 0..), Some(by @ 1..)) = (signed, constant(&start), constant(&step)) {
            let number = |n| whole(n, ty, span);
            let end = if constant(&end).is_some_and(|end| end >= first) {
                end
            } else {
                binary(IrBinary::Max, end, start.clone())
            };
            let last = if by == 1 {
                binary(IrBinary::Sub, end, number(1))
            } else {
                let distance = binary(IrBinary::Sub, binary(IrBinary::Sub, end, start.clone()), number(1));
                let iterations_before_last = binary(IrBinary::FloorDiv, distance, step.clone());
                binary(IrBinary::Add, start, binary(IrBinary::Mul, iterations_before_last, step))
            };
            return Mirrored::Down(Range {
                scalar: range.scalar,
                start: last,
                end: number(first - 1),
                step: number(-by),
            });
        }
        let unsigned = Type::Scalar(range.scalar.to_unsigned());
        let number = |n| whole(n, unsigned, span);
        let bits = |value: &Expr| Expr::new(ExprKind::Cast(Box::new(value.clone())), unsigned, span);
        let compare = |op, a: &Expr, b: &Expr| {
            Expr::new(ExprKind::Compare(op, Box::new(a.clone()), Box::new(b.clone())), BOOL, span)
        };
        let select = |condition: &Expr, then: Expr, otherwise: Expr| {
            let (condition, ty) = (Box::new(condition.clone()), then.ty);
            Expr::new(ExprKind::Select { condition, then: Box::new(then), otherwise: Box::new(otherwise) }, ty, span)
        };
        let zero = whole(0, ty, span);
        let rises = compare(IrCompare::Gt, &step, &zero);
        let some = select(&rises, compare(IrCompare::Lt, &start, &end), compare(IrCompare::Gt, &start, &end));
        let some = Expr::new(ExprKind::And(vec![some, compare(IrCompare::Ne, &step, &zero)]), BOOL, span);
        let up = binary(IrBinary::Sub, bits(&end), bits(&start));
        let down = binary(IrBinary::Sub, bits(&start), bits(&end));
        let distance = binary(IrBinary::Sub, select(&rises, up, down), number(1));
        let size = select(&rises, bits(&step), binary(IrBinary::Sub, number(0), bits(&step)));
        let before_last = binary(IrBinary::Div, distance, size);
        let count = select(&some, binary(IrBinary::Add, before_last, number(1)), number(0));
        let (count_id, iteration) = (self.new_local("", unsigned, span), self.new_local("", unsigned, span));
        out.push(self.assign_local(count_id, count, span));
        let [count, iteration_now] = [count_id, iteration].map(|id| Expr::new(ExprKind::Local(id), unsigned, span));
        let left = binary(IrBinary::Sub, binary(IrBinary::Sub, count.clone(), number(1)), iteration_now);
        let value = binary(IrBinary::Add, bits(&start), binary(IrBinary::Mul, left, bits(&step)));
        Mirrored::Iterations { iteration, count, number: Expr::new(ExprKind::Cast(Box::new(value)), ty, span) }
    }

    /// The values of the loop variable, if they are known and few.
    fn constant_iterations(&self, range: &Range, mirrored: bool) -> Option<Vec<i128>> {
        let number = |expr: &Expr| match self.number(expr) {
            Some(Number::Int(n)) => Some(n),
            _ => None,
        };
        let (start, end, step) = (number(&range.start)?, number(&range.end)?, number(&range.step)?);
        let inside = |k: &i128| if step > 0 { *k < end } else { *k > end };
        let mut iterations: Vec<i128> = std::iter::successors(Some(start), |k| Some(k + step))
            .take_while(inside)
            .take(MAX_STATIC_ITERATIONS + 1)
            .collect();
        if mirrored {
            iterations.reverse();
        }
        (iterations.len() <= MAX_STATIC_ITERATIONS).then_some(iterations)
    }

    fn not_iterable<T>(&mut self, span: Span) -> Res<T> {
        Err(self.report(messages::statements::not_iterable(span)))
    }
}

/// A number of an integer type.
pub(super) fn whole(n: i128, ty: Type, span: Span) -> Expr {
    Constant::untyped(Number::Int(n)).expr_as(ty.as_scalar().unwrap_or(Scalar::I32), span)
}

/// An operation on two integers of one type.
fn binary(op: IrBinary, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty, a.span);
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

/// Whether, from the loop at `from` on, a name is only that of loop variables: nothing behind that
/// loop, or in a loop around it, reads or assigns the name outside of loops over it. Without
/// `from`: all of the statements.
fn is_of_loops(statements: &[ast::Stmt], name: &str, from: Option<Span>) -> bool {
    let is_it = |expr: &ast::Expr| matches!(&expr.kind, ast::ExprKind::Name(word) if word == name);
    let is_free = |expr: &ast::Expr| {
        let mut free = true;
        visit::walk(expr, &mut |part| free &= !is_it(part));
        free
    };
    statements.iter().all(|stmt| {
        let around = from.is_some_and(|from| stmt.span.start <= from.start && from.end <= stmt.span.end);
        if from.is_some_and(|from| stmt.span.end <= from.start || stmt.span == from) {
            return true;
        }
        if let ast::StmtKind::For { target, iter, .. } = &stmt.kind
            && is_it(target)
            && !around
        {
            return is_free(iter);
        }
        // What is in a loop around it comes after it, too.
        let is_loop = matches!(stmt.kind, ast::StmtKind::For { .. } | ast::StmtKind::While { .. });
        let inner = from.filter(|_| around && !is_loop);
        let mut free = true;
        if inner.is_none() {
            visit::expressions(stmt, &mut |expr| free &= is_free(expr));
        }
        free && visit::blocks(stmt).into_iter().all(|block| is_of_loops(block, name, inner))
    })
}

/// Whether a body may leave its loop early, or assigns the loop's variable.
fn leaves_or_assigns(body: &[ast::Stmt], name: &str) -> bool {
    let mut leaves = false;
    each_statement(body, &mut |stmt| leaves |= matches!(stmt.kind, ast::StmtKind::Break));
    leaves || super::known::assigns(body, name)
}

/// Whether a `break` or `continue` in a loop's body belongs to this loop.
pub(super) fn jumps(body: &[ast::Stmt], how: &ast::StmtKind) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        ast::StmtKind::If { then, otherwise, .. } => jumps(then, how) || jumps(otherwise, how),
        kind => std::mem::discriminant(kind) == std::mem::discriminant(how),
    })
}

/// Whether a statement's text has a call of `static`, whose argument may need the loop variable.
fn mentions_static(text: &str) -> bool {
    text.contains("static(")
}
