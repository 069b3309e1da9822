//! Faults that the checker finds in names, types and calls.

use super::sites::{Faults, Sites, builtin, is_atom, range};
use crate::dataset::random::Random;
use crate::syntax::ast::{ExprKind, StmtKind};
use crate::syntax::visit;

pub fn faults(sites: &Sites, random: &mut Random, out: &mut Faults) {
    names(sites, random, out);
    literals(sites, out);
    calls(sites, out);
    signatures(sites, out);
}

/// A word as fingers write it: two letters swapped, one left out, or one doubled.
fn misspelt(word: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + random.below(letters.len().saturating_sub(2));
    match random.below(3) {
        0 if letters[at] != letters[at - 1] => letters.swap(at - 1, at),
        1 => letters.insert(at, letters[at]),
        _ => {
            letters.remove(at);
        }
    }
    letters.into_iter().collect()
}

fn names(sites: &Sites, random: &mut Random, out: &mut Faults) {
    for site in &sites.exprs {
        match &site.expr.kind {
            ExprKind::Name(name) if name.len() >= 4 => {
                let is_target = visit::targets(site.stmt).iter().any(|target| target.span == site.expr.span);
                let (known, wrong) = (sites.names(site.function), misspelt(name, random));
                if !is_target && known.contains(&name.as_str()) && !known.contains(&wrong.as_str()) {
                    let note = format!("`{name}` is misspelt");
                    out.replace("misspelt-name", note, range(site.expr.span), wrong);
                }
            }
            ExprKind::Attribute { base, name } if sites.at(base.span) == "wp" && name.text.len() >= 3 => {
                let note = format!("`wp.{}` is misspelt", name.text);
                out.replace("misspelt-builtin", note, range(name.span), misspelt(&name.text, random));
                if ["sin", "cos", "sqrt", "exp", "log", "abs", "floor", "pow", "tanh"].contains(&name.text.as_str()) {
                    let note = format!("`{}` is taken from another module", name.text);
                    let module = *random.pick(&["math", "np"]);
                    out.replace("host-function", note, range(base.span), module);
                    let note = format!("`{}` lacks its module", name.text);
                    let at = base.span.start as usize..name.span.start as usize;
                    out.replace("missing-module", note, at, "");
                }
            }
            _ => {}
        }
    }
}

fn literals(sites: &Sites, out: &mut Faults) {
    for site in &sites.exprs {
        match &site.expr.kind {
            ExprKind::Binary { left, right, .. } => {
                for side in [left, right] {
                    let text = sites.at(side.span);
                    match side.kind {
                        ExprKind::Float(_) if text.ends_with(".0") => {
                            let note = format!("`{text}` is written as an integer");
                            let whole = text.trim_end_matches(".0");
                            out.replace("integer-for-float", note, range(side.span), whole);
                        }
                        ExprKind::Int(_) => {
                            let note = format!("`{text}` is written as a float");
                            out.replace("float-for-integer", note, range(side.span), format!("{text}.0"));
                        }
                        _ => {}
                    }
                }
            }
            ExprKind::Compare { first, rest } if matches!(site.stmt.kind, StmtKind::If { .. }) && rest.len() == 1 => {
                let note = "the condition lacks its comparison".to_string();
                let all = first.span.end as usize..site.expr.span.end as usize;
                out.replace("missing-comparison", note, all, "");
            }
            _ => {}
        }
    }
    for (_, stmt) in &sites.statements {
        match &stmt.kind {
            StmtKind::Assign { value, .. } if sites.at(value.span) == "float(0.0)" => {
                let note = "the accumulator begins as an integer".to_string();
                out.replace("variable-type", note, range(value.span), "0");
            }
            StmtKind::For { iter, .. } => {
                let ExprKind::Call { args, .. } = &iter.kind else { continue };
                for arg in args.iter().filter(|arg| matches!(arg.value.kind, ExprKind::Int(_))) {
                    let text = sites.at(arg.value.span);
                    let note = "a bound of the loop is a float".to_string();
                    out.replace("float-for-integer", note, range(arg.value.span), format!("{text}.0"));
                }
            }
            _ => {}
        }
    }
}

fn calls(sites: &Sites, out: &mut Faults) {
    let constructors = ["vec", "mat", "quat", "transform", "spatial", "array"];
    for (site, callee, args) in sites.calls() {
        let name = builtin(callee).unwrap_or(callee);
        if let ("float" | "int" | "float32" | "int32", [arg]) = (name, args)
            && !matches!(arg.value.kind, ExprKind::Float(_) | ExprKind::Int(_))
        {
            let inner = sites.at(arg.value.span);
            let text = if is_atom(&arg.value) { inner.to_string() } else { format!("({inner})") };
            let note = format!("the conversion of `{inner}` with `{callee}` is missing");
            out.replace("missing-cast", note, range(site.expr.span), text);
            continue;
        }
        if constructors.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        if let [.., before, last] = args {
            let gap = before.value.span.end..last.value.span.end;
            let end = site.expr.span.end;
            if sites.find(before.value.span.end, last.value.span.start, ", ").is_some()
                && last.value.span.end + 1 == end
            {
                let note = format!("the last argument of `{callee}` is missing");
                out.replace("missing-argument", note, gap.start as usize..gap.end as usize, "");
            }
        }
        if let Some(last) = args.last()
            && is_atom(&last.value)
            && last.value.span.end + 1 == site.expr.span.end
        {
            let at = last.value.span.end as usize;
            let note = format!("`{callee}` gets one argument too many");
            out.replace("extra-argument", note, at..at, format!(", {}", sites.at(last.value.span)));
        }
        for arg in args {
            if let Some(keyword) = &arg.name {
                let mut wrong = keyword.text.clone();
                wrong.pop();
                let note = format!("the keyword `{}` is misspelt", keyword.text);
                out.replace("misspelt-keyword-argument", note, range(keyword.span), wrong);
            }
        }
    }
}

fn signatures(sites: &Sites, out: &mut Faults) {
    for function in &sites.functions {
        let is_kernel = sites.kernel().is_some_and(|kernel| kernel.span == function.span);
        for param in &function.params {
            let Some(annotation) = &param.annotation else { continue };
            let text = sites.at(annotation.span);
            let name = &param.name.text;
            if is_kernel {
                let at = param.name.span.end as usize..annotation.span.end as usize;
                out.replace("missing-annotation", format!("the parameter `{name}` has no type"), at, "");
            }
            let others: &[(&str, &str)] = match text.starts_with("wp.array") {
                true => &[
                    ("dtype=float", "dtype=int"),
                    ("dtype=int", "dtype=float"),
                    ("dtype=wp.vec3", "dtype=float"),
                    ("dtype=float", "dtype=wp.float64"),
                ],
                false => &[("float", "int"), ("int", "float"), ("wp.vec3", "float")],
            };
            for (right, wrong) in others {
                if text == *right || right.starts_with("dtype") && text.contains(right) {
                    let note = format!("`{name}` has the type `{}`", text.replace(right, wrong));
                    out.replace("wrong-dtype", note, range(annotation.span), text.replace(right, wrong));
                }
            }
        }
        if is_kernel {
            continue;
        }
        if let Some(decorator) = function.decorators.first() {
            let at = sites.whole_lines(decorator.expr.span);
            let note = format!("`{}` is not decorated with `@wp.func`", function.name.text);
            out.replace("missing-decorator", note, at, "");
        }
        if let Some(last) = function.body.last()
            && let StmtKind::Return(Some(value)) = &last.kind
        {
            let at = last.span.start as usize..value.span.start as usize;
            let open = sites.text.get(at.clone()).is_some_and(|text| text.contains('('));
            if !open {
                let note = format!("`{}` does not return its result", function.name.text);
                out.replace("missing-return", note, at, "result = ");
            }
        }
    }
}
