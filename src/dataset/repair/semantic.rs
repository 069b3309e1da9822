//! Faults that no compiler finds: the program runs, and its numbers are wrong.

use super::sites::{Faults, Sites, builtin, is_atom, range};
use crate::dataset::random::Random;
use crate::syntax::ast::{BinaryOp, CompareOp, ExprKind, StmtKind, UnaryOp};
use crate::syntax::visit;

pub fn faults(sites: &Sites, random: &mut Random, out: &mut Faults) {
    operators(sites, out);
    constants(sites, random, out);
    names(sites, random, out);
    calls(sites, out);
    statements(sites, out);
}

fn operators(sites: &Sites, out: &mut Faults) {
    let mut swap = |kind, from: u32, to: u32, right: &str, wrong: &str| {
        if let Some(at) = sites.find(from, to, right) {
            out.replace(kind, format!("`{right}` is written `{wrong}`"), at, wrong);
        }
    };
    for site in &sites.exprs {
        match &site.expr.kind {
            ExprKind::Binary { op, left, right } => {
                let wrong = match op {
                    BinaryOp::Add => "-",
                    BinaryOp::Sub => "+",
                    BinaryOp::Mul => "/",
                    BinaryOp::Div => "*",
                    BinaryOp::BitAnd => "|",
                    BinaryOp::BitOr => "&",
                    BinaryOp::Shl => ">>",
                    BinaryOp::Shr => "<<",
                    _ => continue,
                };
                swap("wrong-operator", left.span.end, right.span.start, op.symbol(), wrong);
            }
            ExprKind::Compare { first, rest } => {
                let Some((op, second)) = rest.first() else { continue };
                let wrong = match op {
                    CompareOp::Lt => ">",
                    CompareOp::Gt => "<",
                    CompareOp::Le => ">=",
                    CompareOp::Ge => "<=",
                    CompareOp::Eq => "!=",
                    CompareOp::Ne => "==",
                    _ => continue,
                };
                swap("wrong-comparison", first.span.end, second.span.start, op.symbol(), wrong);
            }
            ExprKind::Logic { operands, .. } => {
                for pair in operands.windows(2) {
                    swap("wrong-logic", pair[0].span.end, pair[1].span.start, " and ", " or ");
                    swap("wrong-logic", pair[0].span.end, pair[1].span.start, " or ", " and ");
                }
            }
            ExprKind::Unary { op: UnaryOp::Neg, operand } => {
                swap("missing-sign", site.expr.span.start, operand.span.start, "-", "");
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                swap("missing-not", site.expr.span.start, operand.span.start, "not ", "");
            }
            _ => {}
        }
    }
}

fn constants(sites: &Sites, random: &mut Random, out: &mut Faults) {
    for site in &sites.exprs {
        let text = sites.at(site.expr.span);
        let (kind, wrong) = match site.expr.kind {
            ExprKind::Float(0.0) => ("wrong-start", "1.0".to_string()),
            ExprKind::Float(x) => {
                let factor = *random.pick(&[10.0, 0.1, 2.0, 0.5]);
                // As people write it: no tail of digits.
                ("wrong-constant", format!("{:?}", (x * factor * 1e6).round() / 1e6))
            }
            _ => continue,
        };
        if wrong != text && wrong.len() <= text.len() + 2 {
            out.replace(kind, format!("`{text}` is written `{wrong}`"), range(site.expr.span), wrong);
        }
    }
}

fn names(sites: &Sites, random: &mut Random, out: &mut Faults) {
    for site in &sites.exprs {
        match &site.expr.kind {
            ExprKind::Name(name) => {
                let known = sites.names(site.function);
                let is_target = visit::targets(site.stmt).iter().any(|target| target.span == site.expr.span);
                if is_target || !known.contains(&name.as_str()) {
                    continue;
                }
                // Arrays stand for arrays; which other names fit, the checker knows.
                let is_array = sites.array_type(name).is_some();
                let fits = |other: &&&str| **other != name && sites.array_type(other).is_some() == is_array;
                let others: Vec<&&str> = known.iter().filter(fits).collect();
                if !others.is_empty() {
                    let other = **random.pick(&others);
                    let note = format!("`{other}` stands for `{name}`");
                    out.replace("wrong-variable", note, range(site.expr.span), other);
                }
            }
            ExprKind::Subscript { base, indices } => {
                let is_array = matches!(&base.kind, ExprKind::Name(name) if sites.array_type(name).is_some());
                for index in indices.iter().filter(|_| !is_array) {
                    let ExprKind::Int(Some(n)) = index.kind else { continue };
                    let wrong = if n == 0 { 1 } else { n - 1 };
                    let note = format!("component {wrong} stands for component {n}");
                    out.replace("wrong-component", note, range(index.span), wrong.to_string());
                }
            }
            _ => {}
        }
    }
}

/// Functions that are taken for each other.
const SIBLINGS: [(&str, &str); 16] = [
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
    ("length_sq", "length"),
    ("cross", "cw_mul"),
    ("tanh", "sinh"),
    ("sqrt", "cbrt"),
    ("exp", "log"),
];

fn calls(sites: &Sites, out: &mut Faults) {
    for (site, callee, args) in sites.calls() {
        let name = builtin(callee);
        for (right, wrong) in SIBLINGS {
            if name == Some(right) {
                let start = site.expr.span.start as usize;
                let note = format!("`wp.{wrong}` stands for `wp.{right}`");
                out.replace("wrong-function", note, start..start + callee.len(), format!("wp.{wrong}"));
            }
        }
        let atomic = callee.contains("atomic") || callee == "range";
        if let ([first, second, ..], false) = (args, atomic)
            && sites.at(first.value.span) != sites.at(second.value.span)
            && first.name.is_none()
            && second.name.is_none()
        {
            let edits = vec![
                (range(first.value.span), sites.at(second.value.span).to_string()),
                (range(second.value.span), sites.at(first.value.span).to_string()),
            ];
            out.add("swapped-arguments", format!("the first arguments of `{callee}` are swapped"), edits);
        }
        let unary = ["abs", "normalize", "sqrt", "transpose", "neg", "exp", "clamp", "max", "min", "inverse"];
        if let (Some(name), Some(first)) = (name, args.first())
            && unary.contains(&name)
        {
            let inner = sites.at(first.value.span);
            let text = if is_atom(&first.value) { inner.to_string() } else { format!("({inner})") };
            out.replace("missing-call", format!("`{callee}` is forgotten"), range(site.expr.span), text);
        }
        if let ("range", Some(last)) = (callee, args.last())
            && let ExprKind::Int(Some(n)) = last.value.kind
            && n > 1
        {
            let note = "the loop ends one iteration early".to_string();
            out.replace("short-loop", note, range(last.value.span), (n - 1).to_string());
            if args.len() == 1 {
                let note = "the loop begins at 1".to_string();
                out.replace("short-loop", note, range(last.value.span), format!("1, {n}"));
            }
        }
    }
}

fn statements(sites: &Sites, out: &mut Faults) {
    for (function, stmt) in &sites.statements {
        match &stmt.kind {
            StmtKind::AugAssign { target, op, value } if matches!(target.kind, ExprKind::Name(_)) => {
                let name = sites.at(target.span);
                let sign = format!("{}=", op.symbol());
                if let Some(at) = sites.find(target.span.end, value.span.start, &sign) {
                    let note = format!("`{name}` is replaced and not added to");
                    out.replace("lost-accumulation", note, at, "=");
                }
            }
            StmtKind::Assign { targets, .. } => {
                let [target] = targets.as_slice() else { continue };
                let ExprKind::Name(name) = &target.kind else { continue };
                let first = sites.statements.iter().find(|(f, s)| {
                    f.span == function.span && visit::targets(s).iter().any(|t| sites.at(t.span) == name)
                });
                // The first assignment makes the variable.
                if first.is_some_and(|(_, first)| first.span != stmt.span) {
                    let note = format!("`{name}` is not updated");
                    out.replace("missing-update", note, sites.whole_lines(stmt.span), "");
                }
            }
            _ => {}
        }
    }
}
