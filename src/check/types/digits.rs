//! Which digits does a conversion to `float64` lose? A literal keeps all of its own
//! (`wp.float64(0.1)`), and so does a name of one. What kernels compute from literals is a
//! `float32` before it is converted, as in Warp: `wp.float64(1.0 / 3.0)` has seven digits (W1205).

use crate::check::body::python_math::in_double;
use crate::check::body::{Binding, Body, Mode};
use crate::check::messages;
use crate::check::types::value::{Number, Operand};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Function, StmtKind, UnaryOp};
use crate::syntax::visit::{bound_names, each_statement, expressions, targets, walk};

impl Body<'_, '_> {
    /// Warns where a conversion to `float64`, the call at `span`, gets a constant that was computed
    /// as `float32`.
    pub(in crate::check) fn warn_of_digits(&mut self, at: Span, span: Span) {
        if self.mode != Mode::User || self.c.settings.double {
            return;
        }
        let Some(source) = self.function.source.clone() else { return };
        let Some(expr) = expression_at(&source, at) else { return };
        let assigned = self.assigned_once(&source, expr);
        let computed = assigned.unwrap_or(expr);
        let Some(exact) = self.exact(computed).filter(|exact| exact.is_finite() && f64::from(*exact as f32) != *exact)
        else {
            return;
        };
        let kept = exact as f32;
        let mut diagnostic = messages::types::digits_of_float32(f64::from(kept), exact, computed.span);
        if assigned.is_some() {
            diagnostic = messages::details::converted_here(diagnostic, span);
        }
        if let Some(text) = self.with_digits(computed) {
            let (at, text) = match assigned {
                Some(value) => (value.span, text),
                None => (span, self.bracketed(span, text)),
            };
            diagnostic = messages::type_repairs::digits_kept(diagnostic, &text, at);
        }
        self.c.diagnostics.push(diagnostic);
    }

    /// The text of a constant expression with all digits of a `float64`, and where it goes; None
    /// where converting the value of the expression at a place loses nothing that a kernel had.
    pub(super) fn text_with_digits(&self, at: Span) -> Option<(Span, String)> {
        let source = self.function.source.as_ref()?;
        let expr = expression_at(source, at)?;
        let computed = self.assigned_once(source, expr).unwrap_or(expr);
        let text = self.with_digits(computed)?;
        let text = if computed.span == at { self.bracketed(at, text) } else { text };
        Some((computed.span, text))
    }

    /// What a variable is assigned, if that is a computed constant, once.
    fn assigned_once<'f>(&self, source: &'f Function, expr: &Expr) -> Option<&'f Expr> {
        let ExprKind::Name(name) = &expr.kind else { return None };
        if !matches!(self.scope.get(name), Some(Binding::Local(_))) {
            return None;
        }
        let (mut count, mut value) = (source.params.iter().filter(|param| param.name.text == *name).count(), None);
        each_statement(&source.body, &mut |stmt| {
            for target in targets(stmt) {
                bound_names(target, &mut |_, bound| count += usize::from(bound == name));
            }
            if let StmtKind::Assign { targets, value: assigned } = &stmt.kind
                && let [Expr { kind: ExprKind::Name(bound), .. }] = targets.as_slice()
                && bound == name
            {
                value = Some(assigned);
            }
        });
        value.filter(|_| count == 1)
    }

    /// The number that Python computes for a constant expression.
    fn exact(&mut self, expr: &Expr) -> Option<f64> {
        Some(match &expr.kind {
            ExprKind::Float(value) => *value,
            ExprKind::Int(Some(value)) => *value as f64,
            ExprKind::Unary { op: UnaryOp::Neg, operand } => -self.exact(operand)?,
            ExprKind::Unary { op: UnaryOp::Pos, operand } => self.exact(operand)?,
            ExprKind::Binary { op, left, right } => {
                let (a, b) = (self.exact(left)?, self.exact(right)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a / b,
                    BinaryOp::Pow => a.powf(b),
                    _ => return None,
                }
            }
            ExprKind::Name(_) | ExprKind::Attribute { .. } if self.is_outside(expr) => match self.expr(expr) {
                Ok(Operand::Const(constant)) if constant.scalar.is_none() => match constant.number {
                    Number::Bool(_) => return None,
                    number => number.as_f64(),
                },
                _ => return None,
            },
            ExprKind::Call { callee, args } if self.is_outside(callee) => {
                let numbers: Option<Vec<f64>> = args.iter().map(|arg| self.exact(&arg.value)).collect();
                in_double(last_name(callee)?, &numbers?)?
            }
            _ => return None,
        })
    }

    /// Whether a name or attribute is none of the function's variables.
    fn is_outside(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => !self.scope.contains_key(name),
            ExprKind::Attribute { base, .. } => self.is_outside(base),
            _ => false,
        }
    }

    /// The text of an expression that computes with constants, each of them as a `float64`. None:
    /// it computes nothing, or not with constants alone.
    fn with_digits(&self, expr: &Expr) -> Option<String> {
        let mut leaves = Vec::new();
        if !matches!(expr.kind, ExprKind::Binary { .. } | ExprKind::Call { .. })
            || !self.constant_leaves(expr, &mut leaves)
        {
            return None;
        }
        let (mut text, mut from) = (String::new(), expr.span.start);
        for leaf in leaves {
            text += self.c.sources.text(Span { start: from, end: leaf.start, ..expr.span });
            text += &format!("wp.float64({})", self.c.sources.text(leaf));
            from = leaf.end;
        }
        text += self.c.sources.text(Span { start: from, ..expr.span });
        Some(text)
    }

    fn constant_leaves(&self, expr: &Expr, places: &mut Vec<Span>) -> bool {
        match &expr.kind {
            ExprKind::Float(_) | ExprKind::Int(Some(_)) => {}
            ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::Pos, operand } => match operand.kind {
                ExprKind::Float(_) | ExprKind::Int(Some(_)) => {}
                _ => return self.constant_leaves(operand, places),
            },
            ExprKind::Name(_) | ExprKind::Attribute { .. } if self.is_outside(expr) => {}
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow,
                left,
                right,
            } => return self.constant_leaves(left, places) && self.constant_leaves(right, places),
            ExprKind::Call { callee, args } if self.is_outside(callee) => {
                let known = last_name(callee).is_some_and(|name| in_double(name, &vec![0.5; args.len()]).is_some());
                return known && args.iter().all(|arg| self.constant_leaves(&arg.value, places));
            }
            _ => return false,
        }
        places.push(expr.span);
        true
    }

    /// A text in brackets, unless what is around its place holds it together.
    fn bracketed(&self, at: Span, text: String) -> String {
        let whole = &self.c.sources.file(at.file).text;
        let before = whole.get(..at.start as usize).map_or("", |before| before.trim_end_matches(' '));
        let after = whole.get(at.end as usize..).map_or("", |after| after.trim_start_matches(' '));
        let opens = before.ends_with(['(', '[', ',', ':']) || before.ends_with('=') && !before.ends_with("==");
        let closes = after.is_empty() || after.starts_with([')', ']', ',', '\n', '\r', ';', '#']);
        if opens && closes || is_bracketed(&text) {
            return text;
        }
        format!("({text})")
    }
}

/// The expression of a function at a place.
pub(super) fn expression_at(function: &Function, at: Span) -> Option<&Expr> {
    let mut found = None;
    each_statement(&function.body, &mut |stmt| {
        expressions(stmt, &mut |expr| {
            walk(expr, &mut |part| {
                if part.span == at {
                    found.get_or_insert(part);
                }
            });
        });
    });
    found
}

/// Whether the first bracket of a text closes at its end.
fn is_bracketed(text: &str) -> bool {
    let mut depth = 0_i32;
    let closes = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0
    });
    text.starts_with('(') && closes.is_some_and(|(at, _)| at + 1 == text.len())
}

/// `sqrt` of `math.sqrt`.
fn last_name(callee: &Expr) -> Option<&str> {
    match &callee.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Attribute { name, .. } => Some(&name.text),
        _ => None,
    }
}
