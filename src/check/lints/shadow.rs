//! W1303: a name that hides a built-in or a module, so that the rest of the function cannot use it.

use super::Written;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{self, ExprKind, StmtKind};

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
        found.push(
            Diagnostic::new(Code::W1303, format!("`{name}` hides {what} `{name}`"))
                .label(span, format!("{what} cannot be used in this function"))
                .help(format!("choose another name, such as `{name}_`")),
        );
    };
    for param in &written.function.params {
        look(&param.name.text, param.name.span);
    }
    super::unused::each_statement(&written.function.body, &mut |stmt| {
        let targets: &[ast::Expr] = match &stmt.kind {
            StmtKind::Assign { targets, .. } => targets,
            StmtKind::For { target, .. } => std::slice::from_ref(target),
            _ => &[],
        };
        for target in targets {
            match &target.kind {
                ExprKind::Name(name) => look(name, target.span),
                ExprKind::Tuple(items) => {
                    for item in items {
                        if let ExprKind::Name(name) = &item.kind {
                            look(name, item.span);
                        }
                    }
                }
                _ => {}
            }
        }
    });
}
