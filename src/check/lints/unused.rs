//! W1301: a variable that is assigned and never read. Names that begin with `_` say that this is
//! meant.
//!
//! Loop variables and parts of a tuple are left alone: they are there for their neighbours. So is
//! the thread index.

use std::collections::{HashMap, HashSet};

use super::Written;
use crate::check::messages;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, Stmt, StmtKind};
use crate::syntax::visit::{blocks, each_statement, walk};

pub(super) fn check(written: &Written, found: &mut Vec<Diagnostic>) {
    let body = &written.function.body;
    let mut read: Vec<&str> = Vec::new();
    each_statement(body, &mut |stmt| reads(stmt, &mut |name| read.push(name)));
    read.sort_unstable();
    let mut assigned: HashMap<&str, usize> = HashMap::new();
    assignments(body, &mut |_, name, _, _, _| *assigned.entry(name).or_default() += 1);
    let mut updated: HashSet<&str> = HashSet::new();
    each_statement(body, &mut |stmt| {
        if let StmtKind::AugAssign { target: Expr { kind: ExprKind::Name(name), .. }, .. } = &stmt.kind {
            updated.insert(name);
        }
    });
    // In the order of the text; a variable is reported once, at its first assignment.
    let mut told: HashSet<&str> = HashSet::new();
    assignments(body, &mut |stmt, name, at, value, alone| {
        // A parameter may be a reference, which the caller reads.
        let param = written.function.params.iter().any(|param| param.name.text == name);
        if param && is_array(written, name) && read.binary_search(&name).is_err() && told.insert(name) {
            found.push(messages::lints::array_never_read(name, at));
            return;
        }
        if param || read.binary_search(&name).is_ok() || name.starts_with('_') || !told.insert(name) {
            return;
        }
        // `i = wp.tid()` also says how the kernel is launched.
        if value.is_some_and(is_tid) {
            return;
        }
        // What `+=` does to a view of a tile, the tile shows.
        if updated.contains(name) && value.is_some_and(|value| may_be_view(written, value)) {
            return;
        }
        let mut diagnostic = messages::lints::never_read(name, at);
        let once = assigned.get(name) == Some(&1);
        if value.is_some_and(|value| once && !has_call(value)) {
            diagnostic = match whole_line(written, stmt.span).filter(|_| !alone) {
                Some(line) => messages::lint_repairs::no_line(diagnostic, line),
                None => messages::lint_repairs::no_assignment(diagnostic, stmt.span),
            };
        }
        found.push(diagnostic);
    });
}

/// Whether a parameter is annotated as an array, and not as a reference.
fn is_array(written: &Written, name: &str) -> bool {
    let param = written.function.params.iter().find(|param| param.name.text == name);
    let Some(annotation) = param.and_then(|param| param.annotation.as_ref()) else { return false };
    let text = written.sources.text(annotation.span);
    text.contains("array") && !text.contains("ref[")
}

/// Whether a value may be another name for elements of a tile: a part of what is no array, or what
/// a built-in makes of a tile.
fn may_be_view(written: &Written, value: &Expr) -> bool {
    const VIEWS: &[&str] = &["tile_view", "tile_squeeze", "tile_reshape", "tile_transpose", "tile_broadcast"];
    match &value.kind {
        ExprKind::Subscript { base, .. } => match &base.kind {
            ExprKind::Name(name) => !is_array(written, name),
            _ => may_be_view(written, base),
        },
        ExprKind::Call { callee, .. } => match &callee.kind {
            ExprKind::Attribute { name, .. } => VIEWS.contains(&name.text.as_str()),
            ExprKind::Name(name) => VIEWS.contains(&name.as_str()),
            _ => false,
        },
        _ => false,
    }
}

/// Calls `f` with the statement, the name, its place, the value, and whether the statement is its
/// block's only one.
fn assignments<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt, &'a str, Span, Option<&'a Expr>, bool)) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                if let [Expr { kind: ExprKind::Name(name), span }] = targets.as_slice() {
                    f(stmt, name, *span, Some(value), body.len() == 1);
                }
            }
            StmtKind::AugAssign { target: Expr { kind: ExprKind::Name(name), span }, .. } => {
                f(stmt, name, *span, None, body.len() == 1);
            }
            _ => {}
        }
        blocks(stmt).into_iter().for_each(|block| assignments(block, f));
    }
}

/// The names that a statement itself reads. `x += 1` alone does not make `x` read.
fn reads<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a str)) {
    match &stmt.kind {
        StmtKind::Assign { targets, value } => {
            names(value, f);
            targets.iter().filter(|t| !matches!(t.kind, ExprKind::Name(_))).for_each(|t| places(t, f));
        }
        StmtKind::AugAssign { target, value, .. } => {
            names(value, f);
            if !matches!(target.kind, ExprKind::Name(_)) {
                names(target, f);
            }
        }
        StmtKind::AnnAssign { target, value, .. } => {
            value.iter().for_each(|v| names(v, f));
            names(target, f);
        }
        StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => names(condition, f),
        StmtKind::For { iter, .. } => names(iter, f),
        StmtKind::Return(value) => value.iter().for_each(|v| names(v, f)),
        StmtKind::Expr(value) => names(value, f),
        StmtKind::Assert { condition, message } => {
            names(condition, f);
            message.iter().for_each(|m| names(m, f));
        }
        StmtKind::Pass | StmtKind::Break | StmtKind::Continue | StmtKind::Unsupported(_) | StmtKind::Error => {}
    }
}

/// The names read by an assignment's target: all but plain variables. Writing a part of a variable
/// counts as a read, because the variable may be a reference.
fn places<'a>(target: &'a Expr, f: &mut dyn FnMut(&'a str)) {
    match &target.kind {
        ExprKind::Tuple(items) => {
            items.iter().filter(|t| !matches!(t.kind, ExprKind::Name(_))).for_each(|t| places(t, f))
        }
        _ => names(target, f),
    }
}

fn names<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a str)) {
    walk(expr, &mut |part| {
        if let ExprKind::Name(name) = &part.kind {
            f(name);
        }
    });
}

/// `wp.tid()`, `tid()`
fn is_tid(expr: &Expr) -> bool {
    let ExprKind::Call { callee, .. } = &expr.kind else { return false };
    match &callee.kind {
        ExprKind::Attribute { name, .. } => name.text == "tid",
        ExprKind::Name(name) => name == "tid",
        _ => false,
    }
}

fn has_call(expr: &Expr) -> bool {
    let mut found = false;
    walk(expr, &mut |part| found |= matches!(part.kind, ExprKind::Call { .. }));
    found
}

/// The line of a statement that has it for itself, with its line end.
fn whole_line(written: &Written, span: Span) -> Option<Span> {
    let text = &written.sources.file(span.file).text;
    let start = text.get(..span.start as usize)?.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(span.end as usize..)?;
    let (tail, end) = match rest.find('\n') {
        Some(at) => (&rest[..at], span.end as usize + at + 1),
        None => (rest, text.len()),
    };
    // A comment about the line goes with it.
    let tail = tail.trim_start();
    let clean = text.get(start..span.start as usize)?.trim().is_empty() && (tail.is_empty() || tail.starts_with('#'));
    clean.then(|| Span::new(span.file, start as u32, end as u32))
}
