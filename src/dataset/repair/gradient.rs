//! Faults that leave the numbers of a launch alone, or nearly, and take its gradient away.

use super::sites::{Faults, Sites, builtin, range};
use crate::syntax::ast::{ExprKind, StmtKind};
use crate::syntax::visit;

pub fn faults(sites: &Sites, out: &mut Faults) {
    switched_off(sites, out);
    steps(sites, out);
    overwritten(sites, out);
    ordered(sites, out);
}

/// Kernels without a backward entry: what a tape records of them gives no gradient.
fn switched_off(sites: &Sites, out: &mut Faults) {
    for decorator in sites.kernel().into_iter().flat_map(|kernel| &kernel.decorators) {
        let text = sites.at(decorator.expr.span);
        if text == "wp.kernel" {
            let note = "`enable_backward=False` leaves the kernel without a gradient".to_string();
            out.replace(
                "switched-off-gradient",
                note,
                range(decorator.expr.span),
                format!("{text}(enable_backward=False)"),
            );
        }
    }
}

/// Values that go through an integer.
fn steps(sites: &Sites, out: &mut Faults) {
    for (_, stmt) in &sites.statements {
        let (target, value) = match &stmt.kind {
            StmtKind::Assign { targets, value } => match targets.as_slice() {
                [target] => (target, value),
                _ => continue,
            },
            StmtKind::AugAssign { target, value, .. } => (target, value),
            _ => continue,
        };
        let (name, text) = (sites.at(target.span), sites.at(value.span));
        if matches!(value.kind, ExprKind::Float(_) | ExprKind::Int(_)) || text.starts_with("float(0") {
            continue;
        }
        let note = format!("`{name}` goes through an integer: nothing before it gets a gradient");
        out.replace("truncated-value", note, range(value.span), format!("float(int({text}))"));
    }
}

/// Arrays that the launch overwrites although the backward entry needs what stood there.
fn overwritten(sites: &Sites, out: &mut Faults) {
    let Some(kernel) = sites.kernel() else { return };
    let end = sites.whole_lines(kernel.span).end;
    let mut seen: Vec<&str> = Vec::new();
    for (site, array, indices) in sites.elements() {
        let is_store = visit::targets(site.stmt).iter().any(|target| target.span == site.expr.span);
        let plain = indices.iter().all(|index| matches!(index.kind, ExprKind::Name(_)));
        if is_store || !plain || seen.contains(&array) {
            continue;
        }
        seen.push(array);
        let element = sites.at(site.expr.span);
        let zero = match sites.element_type(array) {
            Some("float") => "0.0",
            Some("wp.vec2") => "wp.vec2(0.0, 0.0)",
            Some("wp.vec3") => "wp.vec3(0.0, 0.0, 0.0)",
            _ => continue,
        };
        let note = format!("`{element}` is cleared at the end of the kernel that needs it");
        out.replace("cleared-input", note, end..end, format!("    {element} = {zero}\n"));
        for (store, other, _) in sites.stores() {
            if other != array && sites.array_type(other) == sites.array_type(array) {
                let at = store.expr.span.start as usize;
                let note = format!("the result goes to `{array}`, whose old value the gradient needs");
                out.replace("overwritten-input", note, at..at + other.len(), array);
            }
        }
    }
}

/// Values that depend on the order of the threads.
fn ordered(sites: &Sites, out: &mut Faults) {
    let stores: Vec<_> = sites.stores().collect();
    for (site, callee, args) in sites.calls() {
        let is_sum = matches!(builtin(callee), Some("atomic_add" | "atomic_sub"));
        let Some(array) = args.first().map(|arg| sites.at(arg.value.span)) else { continue };
        if !is_sum || site.stmt.span != site.expr.span || sites.element_type(array) != Some("float") {
            continue;
        }
        for (store, name, _) in &stores {
            let StmtKind::Assign { value, .. } = &store.stmt.kind else { continue };
            if sites.element_type(name) != Some("float") || store.stmt.span.start < site.stmt.span.end {
                continue;
            }
            let start = site.stmt.span.start as usize;
            let edits = vec![
                (start..start, "before = ".to_string()),
                (range(value.span), format!("before + {}", sites.at(value.span))),
            ];
            let note = format!("`{name}` gets what `{callee}` returns, which depends on the order of the threads");
            out.add("order-dependent-value", note, edits);
        }
    }
}
