//! How is a kernel changed at random? Twenty-four operators on its syntax tree, those of mutation
//! testing (DeMillo, Lipton and Sayward 1978) and some of what goes wrong with arrays and threads.

use crate::dataset::repair::sites::{Faults, Site, Sites, builtin, is_atom, range};
use crate::syntax::ast::{BinaryOp, CompareOp, Expr, ExprKind, Stmt, StmtKind, UnaryOp};
use crate::syntax::visit;

/// All single changes of the kernels and functions of a program.
pub fn all(sites: &Sites) -> Faults {
    let mut out = Faults::default();
    for site in &sites.exprs {
        // Which thread it is stays.
        if sites.at(site.stmt.span).contains("wp.tid()") {
            continue;
        }
        arithmetic(sites, site, &mut out);
        comparison(sites, site, &mut out);
        constant(sites, site, &mut out);
        name(sites, site, &mut out);
        call(sites, site, &mut out);
        index(sites, site, &mut out);
    }
    for (_, stmt) in &sites.statements {
        statement(sites, stmt, &mut out);
    }
    out
}

fn arithmetic(sites: &Sites, site: &Site, out: &mut Faults) {
    match &site.expr.kind {
        ExprKind::Binary { op, left, right } => {
            let swapped = match op {
                BinaryOp::Add => Some(("plus-minus", "-")),
                BinaryOp::Sub => Some(("plus-minus", "+")),
                BinaryOp::Mul => Some(("times-divided", "/")),
                BinaryOp::Div => Some(("times-divided", "*")),
                BinaryOp::BitAnd | BinaryOp::BitOr => Some(("bits", if *op == BinaryOp::BitAnd { "|" } else { "&" })),
                BinaryOp::Shl | BinaryOp::Shr => Some(("bits", if *op == BinaryOp::Shl { ">>" } else { "<<" })),
                _ => None,
            };
            if let Some((kind, other)) = swapped
                && let Some(at) = sites.find(left.span.end, right.span.start, op.symbol())
            {
                out.replace(kind, String::new(), at, other);
            }
            if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div) {
                out.replace("lost-right", String::new(), range(site.expr.span), bracketed(sites, left));
                out.replace("lost-left", String::new(), range(site.expr.span), bracketed(sites, right));
            }
        }
        ExprKind::Unary { op: UnaryOp::Neg, operand } if !matches!(operand.kind, ExprKind::Int(_)) => {
            out.replace("lost-sign", String::new(), range(site.expr.span), bracketed(sites, operand));
        }
        ExprKind::Unary { op: UnaryOp::Not, operand } => {
            out.replace("lost-not", String::new(), range(site.expr.span), bracketed(sites, operand));
        }
        _ => {}
    }
}

/// The text of an operand, in brackets where it needs them.
fn bracketed(sites: &Sites, expr: &Expr) -> String {
    let text = sites.at(expr.span);
    if is_atom(expr) { text.to_string() } else { format!("({text})") }
}

fn comparison(sites: &Sites, site: &Site, out: &mut Faults) {
    match &site.expr.kind {
        ExprKind::Compare { first, rest } => {
            let [(op, second)] = rest.as_slice() else { return };
            let (border, opposite) = match op {
                CompareOp::Lt => (Some("<="), ">="),
                CompareOp::Le => (Some("<"), ">"),
                CompareOp::Gt => (Some(">="), "<="),
                CompareOp::Ge => (Some(">"), "<"),
                CompareOp::Eq => (None, "!="),
                CompareOp::Ne => (None, "=="),
                _ => return,
            };
            let Some(at) = sites.find(first.span.end, second.span.start, op.symbol()) else { return };
            if let Some(border) = border {
                out.replace("border", String::new(), at.clone(), border);
            }
            out.replace("opposite", String::new(), at, opposite);
        }
        ExprKind::Logic { operands, .. } => {
            for pair in operands.windows(2) {
                for (from, to) in [(" and ", " or "), (" or ", " and ")] {
                    if let Some(at) = sites.find(pair[0].span.end, pair[1].span.start, from) {
                        out.replace("logic", String::new(), at, to);
                    }
                }
            }
        }
        _ => {}
    }
}

fn constant(sites: &Sites, site: &Site, out: &mut Faults) {
    match site.expr.kind {
        ExprKind::Float(0.0) => out.replace("zero", String::new(), range(site.expr.span), "1.0"),
        ExprKind::Float(x) => {
            let text = format!("{:?}", x * 1.25);
            out.replace("float", String::new(), range(site.expr.span), text);
        }
        ExprKind::Int(Some(n)) if !sites.at(site.stmt.span).contains("wp.tile_") => {
            out.replace("one-more", String::new(), range(site.expr.span), (n + 1).to_string());
            if n > 0 {
                out.replace("one-less", String::new(), range(site.expr.span), (n - 1).to_string());
            }
        }
        _ => {}
    }
}

fn name(sites: &Sites, site: &Site, out: &mut Faults) {
    let ExprKind::Name(name) = &site.expr.kind else { return };
    let known = sites.names(site.function);
    let is_target = visit::targets(site.stmt).iter().any(|target| target.span == site.expr.span);
    let Some(own) = known.iter().position(|known| known == name).filter(|_| !is_target) else { return };
    let param = |name: &str| site.function.params.iter().find(|param| param.name.text == name);
    let kind_of = |name: &str| param(name).and_then(|param| Some(sites.at(param.annotation.as_ref()?.span)));
    let kind = kind_of(name);
    // The next one of its kind: an array for an array of its type, a number for a number.
    let fits = |other: &&&str| **other != name && kind_of(other) == kind;
    if let Some(other) = known.iter().cycle().skip(own + 1).take(known.len()).find(fits) {
        let operator = if kind.is_some_and(|kind| kind.contains("array")) { "other-array" } else { "other-variable" };
        out.replace(operator, String::new(), range(site.expr.span), *other);
    }
}

/// Functions that are taken for each other.
const SIBLINGS: [(&str, &str); 14] = [
    ("min", "max"),
    ("max", "min"),
    ("sin", "cos"),
    ("cos", "sin"),
    ("floor", "ceil"),
    ("ceil", "floor"),
    ("atomic_add", "atomic_sub"),
    ("atomic_sub", "atomic_add"),
    ("atomic_max", "atomic_min"),
    ("atomic_min", "atomic_max"),
    ("length", "length_sq"),
    ("tanh", "sin"),
    ("sqrt", "abs"),
    ("exp", "sqrt"),
];

fn call(sites: &Sites, site: &Site, out: &mut Faults) {
    let ExprKind::Call { callee, args } = &site.expr.kind else { return };
    let (text, at) = (sites.at(callee.span), range(callee.span));
    let known = builtin(text);
    for (_, other) in SIBLINGS.iter().filter(|(own, _)| known == Some(*own)) {
        out.replace("sibling", String::new(), at.clone(), format!("wp.{other}"));
    }
    if let [first, second, ..] = args.as_slice()
        && first.name.is_none()
        && second.name.is_none()
        && !text.contains("atomic")
        && sites.at(first.value.span) != sites.at(second.value.span)
    {
        let edits = vec![
            (range(first.value.span), sites.at(second.value.span).to_string()),
            (range(second.value.span), sites.at(first.value.span).to_string()),
        ];
        out.add("swapped-arguments", String::new(), edits);
    }
    let unary = ["abs", "normalize", "sqrt", "transpose", "exp", "log", "clamp", "max", "min", "inverse", "floor"];
    if let (Some(name), Some(first)) = (known, args.first())
        && unary.contains(&name)
    {
        out.replace("lost-call", String::new(), range(site.expr.span), bracketed(sites, &first.value));
    }
    if let ("range", Some(last)) = (text, args.last())
        && !matches!(last.value.kind, ExprKind::Int(_))
        && args.len() < 3
    {
        let short = format!("{} - 1", bracketed(sites, &last.value));
        out.replace("short-loop", String::new(), range(last.value.span), short);
    }
}

fn index(sites: &Sites, site: &Site, out: &mut Faults) {
    let ExprKind::Subscript { indices, .. } = &site.expr.kind else { return };
    for one in indices.iter().filter(|one| is_atom(one) && !matches!(one.kind, ExprKind::Int(_))) {
        out.replace("next-element", String::new(), range(one.span), format!("{} + 1", sites.at(one.span)));
    }
    if let [first, second, ..] = indices.as_slice() {
        let edits = vec![
            (range(first.span), sites.at(second.span).to_string()),
            (range(second.span), sites.at(first.span).to_string()),
        ];
        out.add("swapped-indices", String::new(), edits);
    }
}

fn statement(sites: &Sites, stmt: &Stmt, out: &mut Faults) {
    match &stmt.kind {
        StmtKind::AugAssign { target, op, value } => {
            if let Some(at) = sites.find(target.span.end, value.span.start, &format!("{}=", op.symbol())) {
                out.replace("lost-accumulation", String::new(), at, "=");
            }
            lost(stmt, out);
        }
        StmtKind::Assign { targets, .. }
            if matches!(targets.as_slice(), [Expr { kind: ExprKind::Subscript { .. }, .. }]) =>
        {
            lost(stmt, out);
        }
        StmtKind::Expr(Expr { kind: ExprKind::Call { .. }, .. }) => lost(stmt, out),
        StmtKind::If { condition, .. } => {
            for always in ["True", "False"] {
                out.replace("decided", String::new(), range(condition.span), always);
            }
        }
        _ => {}
    }
}

/// A statement that is not there.
fn lost(stmt: &Stmt, out: &mut Faults) {
    out.replace("lost-statement", String::new(), range(stmt.span), "pass");
}
