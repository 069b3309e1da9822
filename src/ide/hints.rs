//! What is good to know and not written? The types of variables, and the parameters that literals
//! go to.

use super::File;
use super::names::{Role, Symbol};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::visit::{each_statement, expressions};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// Where it is shown, in bytes.
    pub offset: u32,
    /// `: vec3f`, `x: `
    pub label: String,
    /// Names a parameter; otherwise a type.
    pub parameter: bool,
}

/// The hints between two offsets, in the order of the text.
pub fn hints(file: &File, range: std::ops::Range<u32>) -> Vec<Hint> {
    let facts = &file.analysis.facts;
    let mut list = Vec::new();
    for occurrence in file.names.iter().filter(|o| range.start <= o.span.end && o.span.start <= range.end) {
        let Symbol::Local { function, name } = &occurrence.symbol else { continue };
        let Some(variable) = facts.variable(*function, name) else { continue };
        let owner = file.functions().find(|f| f.span == *function);
        let parameter = owner.is_some_and(|f| f.params.iter().any(|param| param.name.text == *name));
        if occurrence.role == Role::Definition && !parameter {
            let label = format!(": {}", file.show(variable.ty));
            list.push(Hint { offset: occurrence.span.end, label, parameter: false });
        }
    }
    for function in file.functions() {
        if function.span.end < range.start || range.end < function.span.start {
            continue;
        }
        each_statement(&function.body, &mut |stmt| {
            expressions(stmt, &mut |expr| calls(file, expr, &range, &mut list));
        });
    }
    list.sort_by_key(|hint| hint.offset);
    list
}

fn calls(file: &File, expr: &Expr, range: &std::ops::Range<u32>, list: &mut Vec<Hint>) {
    let inside = |span: Span| range.start <= span.end && span.start <= range.end;
    if !inside(expr.span) {
        return;
    }
    if let ExprKind::Call { args, .. } = &expr.kind
        && let Some(callee) = file.analysis.facts.calls.get(&expr.span)
    {
        // One parameter needs no name.
        for (arg, slot) in args.iter().zip(&callee.slots).filter(|_| callee.params.len() > 1) {
            if let (None, true, Some(name)) = (&arg.name, is_literal(&arg.value), callee.params.get(*slot)) {
                list.push(Hint { offset: arg.value.span.start, label: format!("{name}: "), parameter: true });
            }
        }
    }
    expr.each_child(&mut |child| calls(file, child, range, list));
}

/// What says nothing about its purpose.
fn is_literal(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) => true,
        ExprKind::Unary { operand, .. } => is_literal(operand),
        _ => false,
    }
}
