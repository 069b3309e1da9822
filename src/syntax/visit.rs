//! What are the parts of a statement or an expression of the syntax tree? The one place that knows
//! how the tree nests.

use super::ast::{Expr, ExprKind, Stmt, StmtKind};

/// Calls `f` on every statement, nested ones included, in the order of the text.
pub fn each_statement<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        f(stmt);
        blocks(stmt).into_iter().for_each(|block| each_statement(block, f));
    }
}

/// The two blocks of a statement: the body, and that of its `else`. Empty where it has none.
pub fn blocks(stmt: &Stmt) -> [&[Stmt]; 2] {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => [then, otherwise],
        StmtKind::For { body, otherwise, .. } | StmtKind::While { body, otherwise, .. } => [body, otherwise],
        StmtKind::Assign { .. }
        | StmtKind::AugAssign { .. }
        | StmtKind::AnnAssign { .. }
        | StmtKind::Return(_)
        | StmtKind::Expr(_)
        | StmtKind::Assert { .. }
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Unsupported(_)
        | StmtKind::Error => [&[], &[]],
    }
}

/// What a statement itself assigns to.
pub fn targets(stmt: &Stmt) -> &[Expr] {
    match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets,
        StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } | StmtKind::For { target, .. } => {
            std::slice::from_ref(target)
        }
        _ => &[],
    }
}

/// Calls `f` on the names that an assignment's target binds: itself, or parts of a tuple or list.
pub fn bound_names<'a>(target: &'a Expr, f: &mut dyn FnMut(&'a Expr, &'a str)) {
    match &target.kind {
        ExprKind::Name(name) => f(target, name),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|item| bound_names(item, f)),
        ExprKind::Starred(inner) => bound_names(inner, f),
        _ => {}
    }
}

/// Calls `f` on the expressions that stand directly in a statement, targets first; not on those of
/// statements in it.
pub fn expressions<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    match &stmt.kind {
        StmtKind::Assign { targets, value } => {
            targets.iter().for_each(&mut *f);
            f(value);
        }
        StmtKind::AugAssign { target, value, .. } => {
            f(target);
            f(value);
        }
        StmtKind::AnnAssign { target, annotation, value } => {
            f(target);
            f(annotation);
            value.iter().for_each(f);
        }
        StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => f(condition),
        StmtKind::For { target, iter, .. } => {
            f(target);
            f(iter);
        }
        StmtKind::Return(value) => value.iter().for_each(f),
        StmtKind::Expr(value) => f(value),
        StmtKind::Assert { condition, message } => {
            f(condition);
            message.iter().for_each(f);
        }
        StmtKind::Pass | StmtKind::Break | StmtKind::Continue | StmtKind::Unsupported(_) | StmtKind::Error => {}
    }
}

/// Calls `f` on every part of an expression, itself included, in the order of the text.
pub fn walk<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(expr);
    expr.each_child(&mut |child| walk(child, f));
}

impl Expr {
    /// Calls `f` on the direct parts, in the order of the text.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::Attribute { base, .. } => f(base),
            ExprKind::Unary { operand, .. } => f(operand),
            ExprKind::Binary { left, right, .. } => {
                f(left);
                f(right);
            }
            ExprKind::Logic { operands, .. } => operands.iter().for_each(f),
            ExprKind::Compare { first, rest } => {
                f(first);
                rest.iter().for_each(|(_, operand)| f(operand));
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                f(then);
                f(condition);
                f(otherwise);
            }
            ExprKind::Call { callee, args } => {
                f(callee);
                args.iter().for_each(|arg| f(&arg.value));
            }
            ExprKind::Subscript { base, indices } => {
                f(base);
                indices.iter().for_each(f);
            }
            ExprKind::Slice { lower, upper, step } => [lower, upper, step].into_iter().flatten().for_each(|e| f(e)),
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(f),
            ExprKind::Dict(pairs) => {
                for (key, value) in pairs {
                    f(key);
                    f(value);
                }
            }
            ExprKind::Starred(inner) => f(inner),
            ExprKind::Name(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::None
            // Its names are its own.
            | ExprKind::Comprehension(_)
            | ExprKind::Lambda(_)
            | ExprKind::Unsupported(_)
            | ExprKind::Opaque
            | ExprKind::Error => {}
        }
    }
}
