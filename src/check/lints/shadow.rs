//! W1303: a name that hides a built-in or a module, so that the rest of the function cannot use it.

use super::Written;
use crate::check::messages;
use crate::diag::Diagnostic;
use crate::syntax::visit::{bound_names, each_statement, targets};

/// The built-ins without a prefix.
const BUILTINS: &[&str] =
    &["float", "int", "bool", "abs", "min", "max", "round", "pow", "len", "range", "reversed", "print", "type"];

pub(super) fn check(written: &Written, found: &mut Vec<Diagnostic>) {
    let mut seen: Vec<String> = Vec::new();
    let mut look = |name: &str, span: crate::source::Span| {
        let module = written.modules.contains(&name);
        if !(module || BUILTINS.contains(&name)) || seen.iter().any(|s| s == name) {
            return;
        }
        seen.push(name.to_string());
        let what = if module { "the module" } else { "the built-in" };
        found.push(messages::lints::shadowed(name, what, span));
    };
    for param in &written.function.params {
        look(&param.name.text, param.name.span);
    }
    each_statement(&written.function.body, &mut |stmt| {
        for target in targets(stmt) {
            bound_names(target, &mut |target, name| look(name, target.span));
        }
    });
}
