//! `for` loops: what they range over, and loops that are unrolled while checking because `wp.static` needs their variable.

use crate::check::body::{Binding, Body};
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::value::{Constant, FunctionName, Number, Operand, Reported, Res};
use crate::diag::{Code, Diagnostic};
use crate::ir::{BinaryOp as IrBinary, CompareOp as IrCompare};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::visit::each_statement;
use crate::types::{BOOL, Scalar, Type};

/// The most turns of a loop that is unrolled for `wp.static`.
const MAX_STATIC_TURNS: usize = 4096;

/// The arguments of `range`, of one integer type.
struct Range {
    scalar: Scalar,
    start: Expr,
    end: Expr,
    step: Expr,
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
            return self.unsupported(target.span, "loops over several variables", Some("loop over one index"));
        };
        let header = self.header(iter, out);
        if let Ok(range) = &header
            && body.iter().any(|stmt| mentions_static(self.c.sources.text(stmt.span)))
            && let Some(turns) = self.constant_turns(range)
        {
            return self.unroll(name, &turns, body, span, out);
        }
        let variable = match &header {
            Ok(range) => self.assigned_local(name, range.scalar.into(), target.span, iter.span),
            Err(Reported) => Err(Reported),
        };
        if variable.is_err() {
            self.scope.entry(name.clone()).or_insert(Binding::Broken);
        }
        let last = header.as_ref().ok().and_then(|range| self.constant_turns(range)).and_then(|t| t.last().copied());
        self.forget_assigned(body);
        let plain = !leaves_or_assigns(body, name);
        let body = self.loop_body(body);
        // A loop that runs all its known turns leaves its variable at the last one.
        if let (Some(last), Ok(id), true) = (last, &variable, plain) {
            self.known.insert(*id, Constant::untyped(Number::Int(last)));
        }
        let (Range { start, end, step, .. }, variable): (Range, LocalId) = (header?, variable?);
        out.push(Stmt { kind: StmtKind::For { variable, start, end, step, body }, span });
        Ok(())
    }

    /// One copy of the body for each turn, with the variable a compile-time constant.
    fn unroll(&mut self, name: &str, turns: &[i128], body: &[ast::Stmt], span: Span, out: &mut Vec<Stmt>) -> Res<()> {
        let outer = self.scope.remove(name);
        for &turn in turns {
            let constant = Operand::Const(Constant::untyped(Number::Int(turn)));
            self.scope.insert(name.to_string(), Binding::Alias(constant));
            let statements = self.block(body);
            out.extend(statements);
        }
        // After the loop the name is an ordinary variable with the last value.
        self.scope.remove(name);
        if let Some(outer) = outer {
            self.scope.insert(name.to_string(), outer);
        }
        if let Some(&last) = turns.last() {
            let value = Constant::untyped(Number::Int(last)).expr(span);
            let id = self.assigned_local(name, value.ty, span, span)?;
            self.known.insert(id, Constant::untyped(Number::Int(last)));
            out.push(self.assign_local(id, value, span));
        }
        Ok(())
    }

    /// What the loop ranges over: `range(...)` or `reversed(range(...))`.
    fn header(&mut self, iter: &ast::Expr, out: &mut Vec<Stmt>) -> Res<Range> {
        let ast::ExprKind::Call { callee, args } = &iter.kind else { return self.not_iterable(iter.span) };
        match self.expr(callee)? {
            Operand::Function(FunctionName::Builtin(f)) if f == "range" => self.range(args, iter.span),
            Operand::Function(FunctionName::Builtin(f)) if f == "reversed" => match args.as_slice() {
                [inner] => {
                    let range = self.header(&inner.value, out)?;
                    Ok(self.reverse(range, iter.span, out))
                }
                _ => self.error(
                    Code::E0402,
                    iter.span,
                    "`reversed` takes one range",
                    format!("{} arguments", args.len()),
                ),
            },
            _ => self.not_iterable(iter.span),
        }
    }

    fn range(&mut self, args: &[ast::Arg], span: Span) -> Res<Range> {
        if args.is_empty() || args.len() > 3 || args.iter().any(|arg| arg.name.is_some()) {
            return self.error(
                Code::E0402,
                span,
                "`range` takes one to three arguments",
                format!("{} given", args.len()),
            );
        }
        let mut operands = Vec::new();
        for arg in args {
            let operand = match self.expr(&arg.value)? {
                // As in Python, `range(True)` has one turn.
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
            let value = match operand {
                Operand::Const(c) if c.adapts_to(scalar) && scalar.is_int() => c.expr_as(scalar, at),
                other => self.materialize(other, at)?,
            };
            if value.ty != ty || !ty.is_int() {
                let (found, first) = (self.show(value.ty), self.show(ty));
                let message = if value.ty.is_int() {
                    format!("the arguments of `range` are `{first}` and `{found}`")
                } else {
                    format!("`range` counts in integers, not `{found}`")
                };
                return self.error(Code::E0305, at, message, format!("this is `{found}`"));
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
            return self.error(Code::E0305, step.span, "the step of `range` is 0", "the loop would never end");
        }
        Ok(Range { scalar, start, end, step })
    }

    /// The same numbers from the last to the first. The last is start + ((end - start - sign) // step) * step, which
    /// lies before start when the range is empty.
    fn reverse(&mut self, range: Range, span: Span, out: &mut Vec<Stmt>) -> Range {
        let scalar = range.scalar;
        let ty = Type::Scalar(scalar);
        let [start, end, step] = [range.start, range.end, range.step].map(|value| {
            if matches!(value.kind, ExprKind::Const(_)) {
                return value;
            }
            let id = self.new_local("", ty, span);
            out.push(self.assign_local(id, value, span));
            Expr::new(ExprKind::Local(id), ty, span)
        });
        let number = |n| Constant::untyped(Number::Int(n)).expr_as(scalar, span);
        let binary = |op, a: Expr, b: Expr| Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span);
        let sign = match step.as_number() {
            Some(Number::Int(n)) => number(n.signum()),
            _ => {
                let falls = Expr::new(
                    ExprKind::Compare(IrCompare::Lt, Box::new(step.clone()), Box::new(number(0))),
                    BOOL,
                    span,
                );
                let (then, otherwise) = (Box::new(number(-1)), Box::new(number(1)));
                Expr::new(ExprKind::Select { condition: Box::new(falls), then, otherwise }, ty, span)
            }
        };
        let distance = binary(IrBinary::Sub, binary(IrBinary::Sub, end, start.clone()), sign.clone());
        let turns_before_last = binary(IrBinary::FloorDiv, distance, step.clone());
        let last = binary(IrBinary::Add, start.clone(), binary(IrBinary::Mul, turns_before_last, step.clone()));
        Range {
            scalar,
            start: last,
            end: binary(IrBinary::Sub, start, sign),
            step: binary(IrBinary::Sub, number(0), step),
        }
    }

    /// The values of the loop variable, if they are known and few.
    fn constant_turns(&self, range: &Range) -> Option<Vec<i128>> {
        let number = |expr: &Expr| match self.number(expr) {
            Some(Number::Int(n)) => Some(n),
            _ => None,
        };
        let (start, end, step) = (number(&range.start)?, number(&range.end)?, number(&range.step)?);
        let inside = |k: &i128| if step > 0 { *k < end } else { *k > end };
        let turns: Vec<i128> = std::iter::successors(Some(start), |k| Some(k + step))
            .take_while(inside)
            .take(MAX_STATIC_TURNS + 1)
            .collect();
        (turns.len() <= MAX_STATIC_TURNS).then_some(turns)
    }

    fn not_iterable<T>(&mut self, span: Span) -> Res<T> {
        Err(self.report(
            Diagnostic::new(Code::E0313, "loops go over `range(...)` only")
                .label(span, "not a range")
                .help("loop over the indices: `for i in range(n):`"),
        ))
    }
}

/// Whether a body may leave its loop early, or assigns the loop's variable.
fn leaves_or_assigns(body: &[ast::Stmt], name: &str) -> bool {
    let mut leaves = false;
    each_statement(body, &mut |stmt| leaves |= matches!(stmt.kind, ast::StmtKind::Break));
    leaves || super::known::assigns(body, name)
}

/// Whether a statement's text has a call of `static`, whose argument may need the loop variable.
fn mentions_static(text: &str) -> bool {
    text.contains("static(")
}
