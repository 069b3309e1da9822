//! W1201: `/` and `%` on integers do in kernels what C does, not what Python does.
//!
//! `/` truncates where Python gives a float. `%` has the sign of its left side where Python's has
//! that of the right one: this is reported where the left side is a difference or a negation, the
//! usual `(i - 1) % n`.

use std::collections::HashSet;

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::types::fraction::converted;
use crate::check::types::value::Number;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::ids::Id;
use crate::ir::{BinaryOp, UnaryOp};
use crate::source::Span;
use crate::types::Scalar;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let indexing = Indexing::of(subject.function);
    visit::each_expression(&subject.function.body, &mut |expr| {
        let ExprKind::Binary(op, left, right) = &expr.kind else { return };
        let Some(scalar) = expr.ty.as_scalar().filter(|s| s.is_int()) else { return };
        let (l, r) = (subject.text(left.span), subject.text(right.span));
        // What the checker put together itself has no such text.
        let written = subject.text(expr.span);
        match op {
            // An index has no fraction.
            BinaryOp::Div if indexing.divisions.contains(&expr.span) => {}
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
            BinaryOp::Rem if written.contains('%') && scalar.is_signed_int() && may_be_negative(left) => {
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

/// The divisions whose results are indices, there or by way of variables.
#[derive(Default)]
struct Indexing {
    divisions: HashSet<Span>,
}

impl Indexing {
    fn of(function: &Function) -> Indexing {
        let (mut divisions, mut locals) = (HashSet::new(), HashSet::new());
        each_index(function, &mut |index| inside(index, &mut divisions, &mut locals));
        // What a variable is computed from serves as it does.
        loop {
            let before = locals.len();
            visit::each_statement(&function.body, &mut |stmt| {
                if let StmtKind::Assign(Place { root: Root::Local(to), .. }, value) = &stmt.kind
                    && locals.contains(to)
                {
                    inside(value, &mut divisions, &mut locals);
                }
            });
            if locals.len() == before {
                return Indexing { divisions };
            }
        }
    }
}

/// The integer divisions and the variables that an integer is computed from.
fn inside(expr: &Expr, divisions: &mut HashSet<Span>, locals: &mut HashSet<LocalId>) {
    visit::walk(expr, &mut |part| match &part.kind {
        ExprKind::Binary(BinaryOp::Div, ..) => _ = divisions.insert(part.span),
        ExprKind::Local(id) if part.ty.as_scalar().is_some_and(|s| s.is_int()) => _ = locals.insert(*id),
        _ => {}
    });
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

/// A difference or a negation of something that is no constant.
fn may_be_negative(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Sub, left, right) => {
            // `n - 1 - i` counts down from an extent; only a subtraction from a bare variable or
            // index is the pattern.
            matches!(left.kind, ExprKind::Local(_) | ExprKind::ThreadIndex(_)) && right.as_number().is_some()
        }
        ExprKind::Unary(UnaryOp::Neg, operand) => operand.as_number().is_none(),
        _ => false,
    }
}
