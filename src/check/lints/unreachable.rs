//! W1302: statements behind a `return`, `break` or `continue`.

use super::Written;
use crate::check::messages;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{Stmt, StmtKind};

pub(super) fn check(written: &Written, found: &mut Vec<Diagnostic>) {
    block(&written.function.body, found);
}

/// Whether the end of a block is never reached, and by which statement.
fn block(body: &[Stmt], found: &mut Vec<Diagnostic>) -> Option<Span> {
    let mut left: Option<Span> = None;
    for stmt in body {
        if let Some(by) = left {
            // An ellipsis or `pass` behind a `return` is no code.
            if matches!(stmt.kind, StmtKind::Pass) {
                continue;
            }
            let last = body.last().map_or(stmt.span, |last| last.span);
            found.push(messages::lints::unreachable(stmt.span.to(last), by));
            return left;
        }
        left = match &stmt.kind {
            StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => Some(stmt.span),
            StmtKind::If { then, otherwise, .. } => {
                let (a, b) = (block(then, found), block(otherwise, found));
                a.and(b)
            }
            StmtKind::For { body, otherwise, .. } | StmtKind::While { body, otherwise, .. } => {
                block(body, found);
                block(otherwise, found);
                None
            }
            _ => None,
        };
    }
    left
}
