//! Faults that the checker finds in ranks, sizes and components.

use super::sites::{Faults, Sites, builtin, range};
use crate::syntax::ast::ExprKind;

pub fn faults(sites: &Sites, out: &mut Faults) {
    indices(sites, out);
    annotations(sites, out);
    components(sites, out);
}

fn indices(sites: &Sites, out: &mut Faults) {
    for (_, array, indices) in sites.elements() {
        if let [.., before, last] = indices
            && sites.find(before.span.end, last.span.start, ", ").is_some()
        {
            let at = before.span.end as usize..last.span.end as usize;
            out.replace("missing-index", format!("`{array}` gets one index too few"), at, "");
        }
    }
}

fn annotations(sites: &Sites, out: &mut Faults) {
    const RANKS: [(&str, &str); 10] = [
        ("wp.array[", "wp.array2d["),
        ("wp.array2d[", "wp.array["),
        ("wp.array3d[", "wp.array2d["),
        ("wp.array(", "wp.array2d("),
        ("wp.array2d(", "wp.array("),
        ("wp.array3d(", "wp.array2d("),
        ("ndim=1", "ndim=2"),
        ("ndim=2", "ndim=1"),
        ("ndim=2", "ndim=3"),
        ("ndim=3", "ndim=2"),
    ];
    const SIZES: [(&str, &str); 8] = [
        ("wp.vec2", "wp.vec3"),
        ("wp.vec3", "wp.vec2"),
        ("wp.vec3", "wp.vec4"),
        ("wp.vec4", "wp.vec3"),
        ("wp.mat22", "wp.mat33"),
        ("wp.mat33", "wp.mat22"),
        ("wp.mat33", "wp.mat44"),
        ("wp.mat44", "wp.mat33"),
    ];
    for function in &sites.functions {
        let results = function.returns.iter().map(|annotation| (function.name.text.as_str(), annotation));
        let params = function.params.iter().filter_map(|p| Some((p.name.text.as_str(), p.annotation.as_ref()?)));
        for (name, annotation) in params.chain(results) {
            let text = sites.at(annotation.span);
            for (kind, list) in [("wrong-rank", &RANKS[..]), ("wrong-size", &SIZES[..])] {
                for (right, wrong) in list {
                    // `wp.array(..., ndim=2)` has its rank elsewhere.
                    let elsewhere = *right == "wp.array(" && text.contains("ndim=");
                    if text.contains(right) && !elsewhere {
                        let note = format!("`{name}` has the type `{}`", text.replace(right, wrong));
                        out.replace(kind, note, range(annotation.span), text.replace(right, wrong));
                    }
                }
            }
        }
    }
}

fn components(sites: &Sites, out: &mut Faults) {
    for site in &sites.exprs {
        match &site.expr.kind {
            ExprKind::Subscript { base, indices } => {
                if let ExprKind::Name(name) = &base.kind
                    && sites.array_type(name).is_some()
                {
                    continue;
                }
                let base = sites.at(base.span);
                for index in indices {
                    let ExprKind::Int(Some(n)) = index.kind else { continue };
                    for more in [1, 2] {
                        let note = format!("`{base}` has no component {}", n + more);
                        out.replace("wrong-component", note, range(index.span), (n + more).to_string());
                    }
                }
            }
            ExprKind::Attribute { base, name } if ["x", "y", "z", "w"].contains(&name.text.as_str()) => {
                let next = if matches!(name.text.as_str(), "x" | "y") { "z" } else { "w" };
                let note = format!("`{}` has no component `{next}`", sites.at(base.span));
                out.replace("wrong-component", note, range(name.span), next);
            }
            _ => {}
        }
    }
    for (site, callee, args) in sites.calls() {
        let Some(name) = builtin(callee) else { continue };
        let (Some(first), Some(last)) = (args.first(), args.last()) else { continue };
        let is_constructor = ["vec", "mat", "quat"].iter().any(|prefix| name.starts_with(prefix)) && args.len() > 1;
        if !is_constructor || last.value.span.end + 1 != site.expr.span.end {
            continue;
        }
        let end = last.value.span.end as usize;
        if let [.., before, _] = args
            && sites.find(before.value.span.end, last.value.span.start, ", ").is_some()
        {
            let note = format!("`{callee}` gets one component too few");
            out.replace("component-count", note, before.value.span.end as usize..end, "");
        }
        let note = format!("`{callee}` gets one component too many");
        out.replace("component-count", note, end..end, format!(", {}", sites.at(first.value.span)));
        for (right, wrong) in [("vec2", "vec3"), ("vec3", "vec2"), ("vec3", "vec4"), ("vec4", "vec3")] {
            if name == right {
                let at = site.expr.span.start as usize..first.value.span.start as usize;
                out.replace("wrong-size", format!("`wp.{wrong}` stands for `wp.{right}`"), at, format!("wp.{wrong}("));
            }
        }
    }
}
