//! What is at an offset? The parts of the syntax tree around it.

use super::File;
use super::names::{Occurrence, Symbol};
use crate::source::Span;
use crate::syntax::ast::{self, Expr, ExprKind, Item};
use crate::syntax::visit::{each_statement, expressions};

fn touches(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}

impl File {
    /// The decorated function around an offset.
    pub fn function_at(&self, offset: u32) -> Option<&ast::Function> {
        let span = self.enclosing(offset)?;
        self.functions().find(|function| function.span == span)
    }

    /// The decorated functions of the file.
    pub fn functions(&self) -> impl Iterator<Item = &ast::Function> {
        self.analysis.parsed.functions().into_iter().filter(|function| !function.decorators.is_empty())
    }

    /// The structs and enumerations of the file.
    pub fn classes(&self) -> impl Iterator<Item = &ast::Class> {
        self.analysis.parsed.all_items().into_iter().filter_map(|item| match item {
            Item::Class(class) => Some(class),
            _ => None,
        })
    }

    /// The access that begins at an offset: `x[i]`, `x[i].y`, `wp.atomic_add(x, i, 1.0)`.
    pub fn access_at(&self, offset: u32) -> Option<Span> {
        let is_access = |expr: &&&Expr| {
            let kind = &expr.kind;
            expr.span.start == offset && matches!(kind, ExprKind::Subscript { .. } | ExprKind::Call { .. })
        };
        // The longest: `m[i][j]` is read where it begins, not `m[i]`.
        self.expressions_at(offset).iter().find(is_access).map(|expr| expr.span)
    }

    /// The call of `tile_matmul` whose name is at an offset.
    pub fn product_at(&self, offset: u32) -> Option<Span> {
        let is_product = |name: &Occurrence| matches!(&name.symbol, Symbol::Builtin(name) if name == "tile_matmul");
        self.names.at(offset).filter(|name| is_product(name))?;
        let called = |expr: &&&Expr| match &expr.kind {
            ExprKind::Call { callee, .. } => touches(callee.span, offset),
            _ => false,
        };
        self.expressions_at(offset).iter().rev().find(called).map(|call| call.span)
    }

    /// The expressions around an offset, outermost first.
    pub fn expressions_at(&self, offset: u32) -> Vec<&Expr> {
        let Some(function) = self.function_at(offset) else { return Vec::new() };
        let mut found = Vec::new();
        let look = |expr: &'_ Expr| -> bool { touches(expr.span, offset) };
        let mut roots: Vec<&Expr> = Vec::new();
        for param in &function.params {
            roots.extend(param.annotation.iter().chain(&param.default).filter(|expr| look(expr)));
        }
        roots.extend(function.decorators.iter().map(|d| &d.expr).filter(|expr| look(expr)));
        each_statement(&function.body, &mut |stmt| {
            if touches(stmt.span, offset) {
                expressions(stmt, &mut |expr| {
                    if look(expr) {
                        roots.push(expr);
                    }
                });
            }
        });
        let mut next = roots.pop();
        while let Some(expr) = next {
            found.push(expr);
            next = None;
            expr.each_child(&mut |child| {
                if touches(child.span, offset) {
                    next = Some(child);
                }
            });
        }
        found
    }
}

/// Whether a function is a kernel: `@wp.kernel`, `@kernel`, with or without arguments.
pub fn is_kernel(function: &ast::Function) -> bool {
    decorator(function).is_some_and(|word| word == "kernel")
}

/// The last word of a function's first decorator: `kernel`, `func`, `func_grad`.
pub fn decorator(function: &ast::Function) -> Option<&str> {
    let first = &function.decorators.first()?.expr;
    let path = if let ExprKind::Call { callee, .. } = &first.kind { callee } else { first };
    match &path.kind {
        ExprKind::Attribute { name, .. } => Some(&name.text),
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}
