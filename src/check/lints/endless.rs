//! W1305: a loop that can't end: `while True:` without a `break` or a `return`. On a GPU it hangs
//! the device.

use super::Written;
use crate::check::messages;
use crate::diag::Diagnostic;
use crate::syntax::ast::{Expr, ExprKind, Stmt, StmtKind};
use crate::syntax::visit::{blocks, each_statement};

pub(super) fn check(written: &Written, found: &mut Vec<Diagnostic>) {
    each_statement(&written.function.body, &mut |stmt| {
        let StmtKind::While { condition, body, .. } = &stmt.kind else { return };
        if !is_true(condition) || leaves(body, true) {
            return;
        }
        found.push(messages::lints::endless_loop(condition.span));
    });
}

fn is_true(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Bool(value) => *value,
        ExprKind::Int(Some(value)) => *value != 0,
        _ => false,
    }
}

/// Whether a `return`, or a `break` of this loop (`own`), is in a block. What could not be read may
/// be one.
fn leaves(body: &[Stmt], own: bool) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => own,
        StmtKind::Return(_) | StmtKind::Error | StmtKind::Unsupported(_) => true,
        StmtKind::For { .. } | StmtKind::While { .. } => blocks(stmt).into_iter().any(|block| leaves(block, false)),
        _ => blocks(stmt).into_iter().any(|block| leaves(block, own)),
    })
}
