//! W1201: `/` and `%` on integers do in kernels what C does, not what Python does.
//!
//! `/` truncates where Python gives a float: this is reported where the quotient becomes a float.
//! An integer place would drop the fraction in NumPy, too. Below zero `/` does not round down, and
//! `%` has the sign of its left side where Python's has that of the right one: both are reported
//! where the left side is a difference or a negation, the usual `(i - 1) % n`.

use std::collections::HashSet;

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::types::fraction::converted;
use crate::check::types::value::Number;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::ids::Id;
use crate::ir::{BinaryOp, CompareOp, UnaryOp};
use crate::source::Span;
use crate::types::Scalar;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let quotients = Quotients::of(subject);
    visit::each_expression(&subject.function.body, &mut |expr| {
        let ExprKind::Binary(op, left, right) = &expr.kind else { return };
        let Some(scalar) = expr.ty.as_scalar().filter(|s| s.is_int()) else { return };
        let (l, r) = (subject.text(left.span), subject.text(right.span));
        // What the checker put together itself has no such text.
        let written = subject.text(expr.span);
        match op {
            // An index has no fraction.
            BinaryOp::Div if quotients.indices.contains(&expr.span) => {}
            BinaryOp::Div
                if !quotients.is_float(expr.span, l, r) && !may_be_negative(subject.function, left, right) => {}
            // Who writes `int32(2)` means an integer.
            BinaryOp::Div if is_converted_literal(l) || is_converted_literal(r) => {}
            BinaryOp::Div if written.contains('/') && !written.contains("//") => {
                let whole = format!("{l} // {r}");
                let fraction = format!("{} / {}", converted(l, Scalar::F32), converted(r, Scalar::F32));
                let diagnostic = messages::lints::integer_division(scalar.name(), expr.span);
                let same = [left, right].iter().all(|side| never_negative(subject.function, side, &mut Vec::new()));
                found.push(match same {
                    true => messages::lint_repairs::integer_division(diagnostic, &whole, &fraction, expr.span),
                    false => messages::lint_repairs::rounded_division(diagnostic, &fraction, &whole),
                });
            }
            BinaryOp::Rem
                if written.contains('%')
                    && scalar.is_signed_int()
                    && may_be_negative(subject.function, left, right) =>
            {
                found.push(messages::lints::negative_remainder(l, r, left.span))
            }
            _ => {}
        }
    });
}

/// Whether a text is a conversion of a whole number to an integer: `wp.int32(16)`.
fn is_converted_literal(text: &str) -> bool {
    let Some((name, number)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else { return false };
    let name = name.rsplit('.').next().unwrap_or(name);
    let is_integer = name == "int" || Scalar::from_name(name).is_some_and(|scalar| scalar.is_int());
    is_integer && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The divisions of a function by what their quotients become, there or by way of variables.
struct Quotients {
    /// Floats: Python keeps the fraction there.
    floats: HashSet<Span>,
    /// Indices, which have no fraction.
    indices: HashSet<Span>,
    /// Operands, as text, of which the function takes the remainder as well, by `%` or as what a
    /// product leaves (`x - y * n`): the quotient is meant to be whole.
    remainders: HashSet<(String, String)>,
}

impl Quotients {
    fn of(subject: &Subject) -> Quotients {
        let (mut floats, mut indices, mut remainders) = (Flow::default(), Flow::default(), HashSet::new());
        let texts = |a: &Expr, b: &Expr| (subject.text(a.span).to_string(), subject.text(b.span).to_string());
        each_index(subject.function, &mut |index| indices.add(index));
        visit::each_expression(&subject.function.body, &mut |expr| match &expr.kind {
            ExprKind::Cast(value) if expr.ty.as_scalar().is_some_and(|s| s.is_float()) => floats.add(value),
            ExprKind::Binary(BinaryOp::Rem, left, right) => _ = remainders.insert(texts(left, right)),
            ExprKind::Binary(BinaryOp::Sub, left, right) => {
                if let ExprKind::Binary(BinaryOp::Mul, a, b) = &right.kind {
                    remainders.extend([texts(left, a), texts(left, b)]);
                }
            }
            _ => {}
        });
        let [floats, indices] = [floats, indices].map(|flow| flow.through(subject.function));
        Quotients { floats, indices, remainders }
    }

    /// Whether a quotient becomes a float where nothing says that it is meant to be whole.
    fn is_float(&self, at: Span, left: &str, right: &str) -> bool {
        self.floats.contains(&at) && !self.remainders.contains(&(left.to_string(), right.to_string()))
    }
}

/// The integers that some values are computed from.
#[derive(Default)]
struct Flow {
    divisions: HashSet<Span>,
    locals: HashSet<LocalId>,
}

impl Flow {
    /// What an integer is computed from: neither indices of what is read there nor conditions.
    fn add(&mut self, expr: &Expr) {
        if !expr.ty.as_scalar().is_some_and(|scalar| scalar.is_int()) {
            return;
        }
        match &expr.kind {
            ExprKind::Local(id) => _ = self.locals.insert(*id),
            ExprKind::Binary(op, left, right) => {
                if *op == BinaryOp::Div {
                    self.divisions.insert(expr.span);
                }
                self.add(left);
                self.add(right);
            }
            ExprKind::Unary(_, value) | ExprKind::Cast(value) => self.add(value),
            ExprKind::Conditional { then, otherwise, .. } | ExprKind::Select { then, otherwise, .. } => {
                self.add(then);
                self.add(otherwise);
            }
            ExprKind::Let { local, value, body } => {
                self.add(body);
                self.add_to(*local, value);
            }
            _ => {}
        }
    }

    /// What a variable is assigned, if it is among these.
    fn add_to(&mut self, local: LocalId, value: &Expr) {
        if self.locals.contains(&local) {
            self.add(value);
        }
    }

    /// The divisions, with those that variables are computed from.
    fn through(mut self, function: &Function) -> HashSet<Span> {
        loop {
            let before = self.locals.len();
            visit::each_statement(&function.body, &mut |stmt| match &stmt.kind {
                StmtKind::Assign(Place { root: Root::Local(to), .. }, value) => self.add_to(*to, value),
                StmtKind::AssignMany(pairs) => pairs.iter().for_each(|(to, value)| self.add_to(*to, value)),
                _ => {}
            });
            if self.locals.len() == before {
                return self.divisions;
            }
        }
    }
}

/// Calls `f` on the indices of a function.
fn each_index(function: &Function, f: &mut dyn FnMut(&Expr)) {
    let of_place = |place: &Place, f: &mut dyn FnMut(&Expr)| {
        if let Root::Element { index, .. } = &place.root {
            index.iter().for_each(f);
        }
    };
    visit::each_statement(&function.body, &mut |stmt| {
        if let StmtKind::Assign(place, _) | StmtKind::AtomicUpdate { place, .. } = &stmt.kind {
            of_place(place, f);
        }
    });
    visit::each_expression(&function.body, &mut |expr| match &expr.kind {
        ExprKind::Load { index, .. } => index.iter().for_each(&mut *f),
        ExprKind::Atomic { place, .. } | ExprKind::AtomicCas { place, .. } => of_place(place, f),
        ExprKind::View { index, .. } => {
            for index in index {
                if let ViewIndex::At(index) = index {
                    f(index);
                }
            }
        }
        _ => {}
    });
}

/// Whether an integer is surely zero or more, so that `/` and `//` agree: thread indices, extents,
/// and what adds up of such. `seen` are the variables that are looked at: what they are assigned
/// decides, wherever they are used.
fn never_negative(function: &Function, expr: &Expr, seen: &mut Vec<LocalId>) -> bool {
    let mut of = |expr: &Expr| never_negative(function, expr, seen);
    match &expr.kind {
        _ if expr.ty.as_scalar().is_some_and(Scalar::is_unsigned_int) => true,
        ExprKind::ThreadIndex(_) | ExprKind::Extent(..) | ExprKind::BlockDim => true,
        ExprKind::Binary(
            BinaryOp::Add | BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Min,
            left,
            right,
        ) => of(left) && of(right),
        ExprKind::Binary(BinaryOp::Rem, left, _) => of(left),
        ExprKind::Local(id) if seen.contains(id) => true,
        ExprKind::Local(id) if id.index() >= function.param_count as usize => {
            seen.push(*id);
            assigned_values(function, *id)
                .is_some_and(|values| values.iter().all(|v| never_negative(function, v, seen)))
        }
        _ => matches!(expr.as_number(), Some(Number::Int(n)) if n >= 0),
    }
}

/// What a variable is assigned, with the start and the step of its loops. None: what a function
/// gives is among it.
fn assigned_values(function: &Function, id: LocalId) -> Option<Vec<&Expr>> {
    let (mut values, mut known) = (Vec::new(), true);
    let changes = |call: &Call| visit::by_ref_locals(call).any(|changed| changed == id);
    visit::each_statement(&function.body, &mut |stmt| {
        match &stmt.kind {
            StmtKind::Assign(Place { root: Root::Local(to), .. }, value) if *to == id => values.push(value),
            StmtKind::AssignMany(pairs) => {
                values.extend(pairs.iter().filter(|(to, _)| *to == id).map(|(_, value)| value));
            }
            StmtKind::For { variable, start, step, .. } if *variable == id => values.extend([start, step]),
            StmtKind::AssignCall { targets, .. } => known &= !targets.contains(&Some(id)),
            _ => {}
        }
        visit::expressions(stmt, &mut |expr| {
            visit::walk(expr, &mut |part| {
                known &= !matches!(&part.kind, ExprKind::Call(call) if changes(call));
            });
        });
        if let StmtKind::Call(call) | StmtKind::ReturnCall(call) | StmtKind::AssignCall { call, .. } = &stmt.kind {
            known &= !changes(call);
        }
    });
    known.then_some(values)
}

/// Whether a left side is a difference or a negation that nothing keeps above zero.
fn may_be_negative(function: &Function, left: &Expr, right: &Expr) -> bool {
    let number = |expr: &Expr| match expr.as_number() {
        Some(Number::Int(n)) => Some(n),
        _ => None,
    };
    match &left.kind {
        ExprKind::Binary(BinaryOp::Sub, from, less) => {
            // `n - 1 - i` counts down from an extent; only a subtraction from a bare variable or
            // index is the pattern.
            let is_bare = matches!(from.kind, ExprKind::Local(_) | ExprKind::ThreadIndex(_));
            // Less a multiple of the divisor changes nothing for those that are large enough.
            let is_shift = |less: i128| number(right).is_some_and(|n| less.checked_rem(n) == Some(0));
            is_bare
                && number(less).is_some_and(|less| !is_shift(less) && !is_set_apart(function, from, less))
                && !has_lower_bound(function, from)
        }
        ExprKind::Unary(UnaryOp::Neg, operand) => operand.as_number().is_none(),
        _ => false,
    }
}

/// Whether a variable is read on the other way of `if i < 3`, where it is `least` or more.
fn is_set_apart(function: &Function, variable: &Expr, least: i128) -> bool {
    let mut found = false;
    visit::each_statement(&function.body, &mut |stmt| {
        if let StmtKind::If { condition, otherwise, .. } = &stmt.kind
            && let ExprKind::Compare(op @ (CompareOp::Lt | CompareOp::Le), left, right) = &condition.kind
            && let Some(Number::Int(bound)) = right.as_number()
        {
            let from = if *op == CompareOp::Le { bound + 1 } else { bound };
            let inside = otherwise.iter().any(|stmt| stmt.span.contains(variable.span));
            found |= is_same(left, variable) && from >= least && inside;
        }
    });
    found
}

/// Whether two expressions are one variable, or one index of the thread.
fn is_same(one: &Expr, other: &Expr) -> bool {
    match (&one.kind, &other.kind) {
        (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
        (ExprKind::ThreadIndex(a), ExprKind::ThreadIndex(b)) => a == b,
        _ => false,
    }
}

/// Whether a function compares a variable with a number that it may have to exceed, `if i > 0`, or
/// sets the case apart that it is equal to something, `if i == first`.
fn has_lower_bound(function: &Function, variable: &Expr) -> bool {
    let is_same = |expr: &Expr| is_same(expr, variable);
    let mut found = false;
    visit::each_expression(&function.body, &mut |expr| {
        if let ExprKind::Compare(op, left, right) = &expr.kind {
            found |= match op {
                CompareOp::Gt | CompareOp::Ge => is_same(left) && right.as_number().is_some(),
                CompareOp::Lt | CompareOp::Le => is_same(right) && left.as_number().is_some(),
                CompareOp::Eq | CompareOp::Ne => is_same(left) || is_same(right),
            };
        }
    });
    found
}
