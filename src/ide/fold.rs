//! What can be folded away, and what grows when a selection widens?

use super::File;
use crate::source::Span;
use crate::syntax::ast::StmtKind;
use crate::syntax::visit::each_statement;

/// The most places that [`around`] returns.
const MAX_LEVELS: usize = 40;

/// The places that fold: items and blocks.
pub fn folds(file: &File) -> Vec<Span> {
    let mut list: Vec<Span> = file.inside.clone();
    for function in file.functions() {
        each_statement(&function.body, &mut |stmt| {
            if matches!(stmt.kind, StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::While { .. }) {
                list.push(stmt.span);
            }
        });
    }
    list.retain(|span| file.slice(*span).contains('\n'));
    list
}

/// The places around an offset, smallest first: name, expressions, statements, function.
pub fn around(file: &File, offset: u32) -> Vec<Span> {
    let mut list: Vec<Span> = file.names.at(offset).map(|o| o.span).into_iter().collect();
    list.extend(file.expressions_at(offset).into_iter().rev().map(|expr| expr.span));
    if let Some(function) = file.function_at(offset) {
        let mut statements = Vec::new();
        each_statement(&function.body, &mut |stmt| {
            if stmt.span.start <= offset && offset <= stmt.span.end {
                statements.push(stmt.span);
            }
        });
        statements.reverse();
        list.extend(statements);
        list.push(function.span);
    }
    list.sort_by_key(|span| span.len());
    list.dedup();
    // Each holds the one before.
    let mut nested: Vec<Span> = Vec::new();
    for span in list {
        if nested.last().is_none_or(|last| span.start <= last.start && last.end <= span.end) {
            nested.push(span);
        }
    }
    // Nobody widens a selection a hundred times, and answers nest as deep as the list is long.
    if nested.len() > MAX_LEVELS {
        nested.drain(MAX_LEVELS / 2..nested.len() - MAX_LEVELS / 2);
    }
    nested
}
