//! Faults that show when threads meet memory: indices outside arrays, and threads that write one
//! element.

use super::sites::{Faults, Sites, builtin, is_atom, range};
use crate::syntax::ast::{BinaryOp, CompareOp, Expr, ExprKind, StmtKind};
use crate::syntax::visit;

/// Indices that leave their arrays.
pub fn bounds(sites: &Sites, out: &mut Faults) {
    for (_, stmt) in &sites.statements {
        match &stmt.kind {
            StmtKind::If { condition, then, otherwise } if otherwise.is_empty() => {
                let [only] = then.as_slice() else { continue };
                let StmtKind::Return(None) = only.kind else { continue };
                let text = sites.at(condition.span);
                let at = sites.whole_lines(stmt.span);
                out.replace("missing-guard", format!("`if {text}: return` is missing"), at, "");
                if let ExprKind::Compare { first, rest } = &condition.kind
                    && let [(CompareOp::Ge, limit)] = rest.as_slice()
                    && let Some(at) = sites.find(first.span.end, limit.span.start, ">=")
                {
                    let note = "the guard lets one thread too many pass".to_string();
                    out.replace("guard-off-by-one", note, at, ">");
                }
            }
            StmtKind::For { iter, .. } => {
                let ExprKind::Call { args, .. } = &iter.kind else { continue };
                let Some(last) = args.get(args.len().saturating_sub(1).min(1)) else { continue };
                let text = match last.value.kind {
                    ExprKind::Int(Some(n)) => (n + 1).to_string(),
                    _ => format!("{} + 1", sites.at(last.value.span)),
                };
                out.replace(
                    "long-loop",
                    "the loop takes one iteration too many".to_string(),
                    range(last.value.span),
                    text,
                );
            }
            _ => {}
        }
    }
    for (_, array, indices) in sites.elements() {
        for index in indices {
            neighbour(sites, array, index, out);
            unlimited(sites, array, index, out);
        }
        if let [first, second, ..] = indices
            && sites.at(first.span) != sites.at(second.span)
        {
            let edits = vec![
                (range(first.span), sites.at(second.span).to_string()),
                (range(second.span), sites.at(first.span).to_string()),
            ];
            out.add("swapped-indices", format!("the indices of `{array}` are swapped"), edits);
        }
    }
}

/// The element beside the one that is meant.
fn neighbour(sites: &Sites, array: &str, index: &Expr, out: &mut Faults) {
    let text = sites.at(index.span);
    if let ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, right, .. } = &index.kind
        && let ExprKind::Int(Some(n)) = right.kind
    {
        let note = format!("`{array}` is taken one element too far");
        out.replace("neighbour-off-by-one", note, range(right.span), (n + 1).to_string());
    } else if let ExprKind::Int(Some(n)) = index.kind {
        let note = format!("`{array}` is taken one element too far");
        out.replace("neighbour-off-by-one", note, range(index.span), (n + 1).to_string());
    } else if is_atom(index) {
        let note = format!("`{array}` is taken one element too far");
        out.replace("neighbour-off-by-one", note, range(index.span), format!("{text} + 1"));
        let note = format!("the elements of `{array}` are taken two apart");
        out.replace("wrong-stride", note, range(index.span), format!("2 * {text}"));
    }
}

/// An index without the function that keeps it inside.
fn unlimited(sites: &Sites, array: &str, index: &Expr, out: &mut Faults) {
    match &index.kind {
        ExprKind::Call { callee, args } => {
            let name = builtin(sites.at(callee.span));
            if let (Some("min" | "max" | "clamp" | "mod"), Some(first)) = (name, args.first()) {
                let note = format!("the index of `{array}` is not limited");
                out.replace("missing-clamp", note, range(index.span), bare(sites.at(first.value.span)));
            }
        }
        ExprKind::Binary { op: BinaryOp::Mod, left, .. } => {
            let note = format!("the index of `{array}` is not limited");
            out.replace("missing-clamp", note, range(index.span), bare(sites.at(left.span)));
        }
        _ => {}
    }
}

/// Indices below 0 whose numbers have no sign: they wrap to the largest one.
pub fn wraps(sites: &Sites, out: &mut Faults) {
    for (site, callee, args) in sites.calls() {
        let (Some("max"), [first, second]) = (builtin(callee), args) else { continue };
        let ExprKind::Binary { op: BinaryOp::Sub, .. } = first.value.kind else { continue };
        if matches!(second.value.kind, ExprKind::Int(Some(0))) {
            let text = sites.at(first.value.span);
            let note = format!("`{text}` is computed without sign: below 0 it overflows to 4294967295");
            let with = format!("int(wp.max(wp.uint32({text}), wp.uint32(0)))");
            out.replace("integer-overflow", note, range(site.expr.span), with);
        }
    }
    for (_, _, indices) in sites.elements() {
        for index in indices {
            let ExprKind::Binary { op: BinaryOp::Mod, left, right } = &index.kind else { continue };
            let (whole, size) = (bare(sites.at(left.span)), sites.at(right.span));
            let text = whole.replacen(&format!(" + {size}"), "", 1).replacen(&format!("{size} + "), "", 1);
            if text.contains(" - ") {
                let note = format!("`{text}` is computed without sign: below 0 it overflows to 4294967295");
                let with = format!("int(wp.uint32({text}) % wp.uint32({size}))");
                out.replace("integer-overflow", note, range(index.span), with);
            }
        }
    }
}

/// A text without the brackets around all of it.
fn bare(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(text)
}

/// Threads that write one element, or read what another writes.
pub fn races(sites: &Sites, out: &mut Faults) {
    for (site, callee, args) in sites.calls() {
        let Some(op) = builtin(callee).and_then(|name| name.strip_prefix("atomic_")) else { continue };
        let ([array, indices @ .., value], true) = (args, site.stmt.span == site.expr.span) else { continue };
        if !matches!(site.stmt.kind, StmtKind::Expr(_)) {
            continue;
        }
        let indices: Vec<&str> = indices.iter().map(|arg| sites.at(arg.value.span)).collect();
        let element = format!("{}[{}]", sites.at(array.value.span), indices.join(", "));
        let text = sites.at(value.value.span);
        let text = if is_atom(&value.value) { text.to_string() } else { format!("({text})") };
        let line = match op {
            "add" => format!("{element} = {element} + {text}"),
            "sub" => format!("{element} = {element} - {text}"),
            "max" | "min" => format!("{element} = wp.{op}({element}, {text})"),
            "or" => format!("{element} = {element} | {text}"),
            "and" => format!("{element} = {element} & {text}"),
            "xor" => format!("{element} = {element} ^ {text}"),
            _ => continue,
        };
        out.replace("plain-store", format!("`{callee}` is written as a plain store"), range(site.stmt.span), line);
    }
    for (_, stmt) in &sites.statements {
        let StmtKind::AugAssign { target, op, value } = &stmt.kind else { continue };
        if matches!(target.kind, ExprKind::Subscript { .. }) {
            let (element, text) = (sites.at(target.span), sites.at(value.span));
            let text = if is_atom(value) { text.to_string() } else { format!("({text})") };
            let note = format!("`{element} {}=` is written as a plain store", op.symbol());
            let line = format!("{element} = {element} {} {text}", op.symbol());
            out.replace("plain-store", note, range(stmt.span), line);
        }
    }
    for (site, array, indices) in sites.stores() {
        if matches!(site.stmt.kind, StmtKind::AugAssign { .. }) {
            continue;
        }
        for index in indices {
            let note = format!("an index of `{array}` is 0 for all threads");
            out.replace("fixed-index", note, range(index.span), "0");
        }
        if let [first, second, ..] = indices {
            let note = format!("`{array}` gets one index twice");
            out.replace("repeated-index", note, range(second.span), sites.at(first.span));
        }
        for other in beside(sites, array) {
            let note = format!("the result goes to `{other}`, of which other threads read elements");
            out.replace("in-place-update", note, store_name(site.expr), other);
        }
    }
}

/// The place of the array's name in `a[i]`.
fn store_name(element: &Expr) -> std::ops::Range<usize> {
    match &element.kind {
        ExprKind::Subscript { base, .. } => range(base.span),
        _ => range(element.span),
    }
}

/// Arrays of the same type that are read at more than one index.
fn beside<'a>(sites: &Sites<'a>, array: &str) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for (site, other, indices) in sites.elements() {
        let is_store = visit::targets(site.stmt).iter().any(|target| target.span == site.expr.span);
        let plain = indices.iter().all(|index| matches!(index.kind, ExprKind::Name(_)));
        let fits = other != array && sites.array_type(other) == sites.array_type(array);
        if !is_store && !plain && fits && !out.contains(&other) {
            out.push(other);
        }
    }
    out
}
