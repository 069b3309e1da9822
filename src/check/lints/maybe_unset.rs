//! W0704: a variable is read where some way to the read has not assigned it. It is zero then;
//! Python would raise.
//!
//! A read under a condition of its own is left alone: the condition may be what tells that the
//! variable was assigned. Such a condition is also one before it on whose other way the function
//! or loop is left, and the left side of `and` or `or`. Inside `if k == 1 or k == 2`, the way past
//! `if k == 1` and `elif k == 2` is none; so is that past three or more such comparisons of one
//! value, which name the kinds that there are.

use super::Subject;
use crate::check::messages;
use crate::check::tree::*;
use crate::check::visit;
use crate::diag::Diagnostic;
use crate::ids::Id;
use crate::ir::CompareOp;
use crate::source::Span;

/// So many comparisons of a value with numbers are taken to name all that it may be.
const KINDS: usize = 3;

/// The variables that every way to here has assigned. None: no way leads here.
type Set = Option<Vec<bool>>;

pub(super) fn check(subject: &Subject, found: &mut Vec<Diagnostic>) {
    let function = subject.function;
    let set = (0..function.locals.len()).map(|k| k < function.param_count as usize).collect();
    let mut walk = Walk {
        subject,
        set: Some(set),
        blocks: Vec::new(),
        next: 0,
        first: Vec::new(),
        exits: Vec::new(),
        one_of: Vec::new(),
        failed: Vec::new(),
        arms: Vec::new(),
        found,
    };
    walk.first.resize(function.locals.len(), None);
    walk.block(&function.body);
}

struct Walk<'a, 'f> {
    subject: &'a Subject<'a>,
    set: Set,
    /// The conditional blocks around the statement, each by a number of its own.
    blocks: Vec<u32>,
    next: u32,
    /// Where each variable is first assigned: the blocks around that, and its place.
    first: Vec<Option<(Vec<u32>, Span)>>,
    /// Per loop around the statement, what its `break`s leave with.
    exits: Vec<Vec<Set>>,
    /// The texts of conditions of which one holds here, and of those that do not.
    one_of: Vec<Vec<&'a str>>,
    failed: Vec<&'a str>,
    /// The texts of values that were compared with numbers, and are others here.
    arms: Vec<&'a str>,
    found: &'f mut Vec<Diagnostic>,
}

impl<'a> Walk<'a, '_> {
    /// The value that a condition compares with one number, or with some.
    fn arm(&self, condition: &Expr) -> Option<&'a str> {
        match &condition.kind {
            ExprKind::Compare(CompareOp::Eq, left, right) if right.as_number().is_some() => {
                Some(self.subject.text(left.span))
            }
            ExprKind::Or(parts) => {
                let first = self.arm(parts.first()?)?;
                parts.iter().all(|part| self.arm(part) == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    fn block(&mut self, body: &[Stmt]) {
        let depth = self.blocks.len();
        for stmt in body {
            self.statement(stmt);
        }
        self.blocks.truncate(depth);
    }

    fn nested(&mut self, body: &[Stmt]) {
        self.under_condition(|walk| walk.block(body));
    }

    fn under_condition(&mut self, visit: impl FnOnce(&mut Self)) {
        let depth = self.blocks.len();
        self.next += 1;
        self.blocks.push(self.next);
        visit(self);
        self.blocks.truncate(depth);
    }

    fn statement(&mut self, stmt: &Stmt) {
        if !matches!(stmt.kind, StmtKind::While { .. }) {
            visit::expressions(stmt, &mut |expr| self.read(expr));
        }
        match &stmt.kind {
            StmtKind::Assign(Place { root: Root::Local(id), path, span, .. }, _)
                // Writing a part of a variable does not make the rest.
                if path.is_empty() => {
                    self.assign(*id, *span);
                }
            StmtKind::AssignMany(pairs) => pairs.iter().for_each(|(id, _)| self.assign(*id, stmt.span)),
            StmtKind::AssignCall { targets, .. } => {
                targets.iter().flatten().for_each(|id| self.assign(*id, stmt.span));
            }
            StmtKind::If { condition, then, otherwise } => {
                let before = self.set.clone();
                let text = self.subject.text(condition.span);
                let parts = if let ExprKind::Or(parts) = &condition.kind { &parts[..] } else { &[] };
                self.one_of.push(parts.iter().map(|part| self.subject.text(part.span)).collect());
                self.nested(then);
                self.one_of.pop();
                let after_then = std::mem::replace(&mut self.set, before);
                self.failed.push(text);
                let holds = |text: &&str| !self.failed.contains(text);
                let none = self.one_of.iter().any(|one| !one.is_empty() && !one.iter().any(holds));
                let arm = self.arm(condition);
                self.arms.extend(arm);
                let kinds = arm.map_or(0, |arm| self.arms.iter().filter(|&&other| other == arm).count());
                let none = none || otherwise.is_empty() && kinds >= KINDS;
                if none {
                    self.set = None;
                }
                self.nested(otherwise);
                self.failed.pop();
                if arm.is_some() {
                    self.arms.pop();
                }
                if !none && after_then.is_none() != self.set.is_none() {
                    // What follows in the block is under the condition.
                    self.next += 1;
                    self.blocks.push(self.next);
                }
                self.set = meet(after_then, self.set.take());
            }
            StmtKind::For { variable, start, end, step, body } => {
                let runs = runs(start, end, step);
                let before = self.set.clone();
                self.exits.push(Vec::new());
                self.assign_in(*variable, stmt.span, !runs);
                if runs {
                    self.block(body)
                } else {
                    self.nested(body)
                }
                let after = self.set.take();
                self.set = if runs { after } else { meet(before, after) };
                self.leave();
            }
            StmtKind::While { condition, body } => {
                self.read(condition);
                let endless = condition.as_number().is_some_and(|n| n.is_true());
                let before = self.set.clone();
                self.exits.push(Vec::new());
                if endless {
                    self.block(body)
                } else {
                    self.nested(body)
                }
                self.set = if endless { None } else { meet(before, self.set.take()) };
                self.leave();
            }
            StmtKind::Break => {
                let now = self.set.take();
                if let Some(exits) = self.exits.last_mut() {
                    exits.push(now);
                }
            }
            StmtKind::Continue | StmtKind::Return(_) | StmtKind::ReturnCall(_) => self.set = None,
            _ => {}
        }
        if let StmtKind::AssignCall { call, .. } | StmtKind::Call(call) = &stmt.kind {
            visit::by_ref_locals(call).for_each(|id| self.assign(id, stmt.span));
        }
    }

    /// Behind a loop come the ways of its `break`s.
    fn leave(&mut self) {
        for exit in self.exits.pop().unwrap_or_default() {
            self.set = meet(self.set.take(), exit);
        }
    }

    fn assign(&mut self, id: LocalId, span: Span) {
        self.assign_in(id, span, false);
    }

    /// `within`: the assignment belongs to the conditional block that comes next.
    fn assign_in(&mut self, id: LocalId, span: Span, within: bool) {
        if let Some(set) = &mut self.set
            && let Some(entry) = set.get_mut(id.index())
        {
            *entry = true;
        }
        if let Some(first @ None) = self.first.get_mut(id.index()) {
            let mut blocks = self.blocks.clone();
            blocks.extend(within.then_some(self.next + 1));
            *first = Some((blocks, span));
        }
    }

    fn read(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                let Some((first, others)) = parts.split_first() else { return };
                self.read(first);
                self.under_condition(|walk| others.iter().for_each(|part| walk.read(part)));
                return;
            }
            ExprKind::Let { local, .. } => self.assign(*local, expr.span),
            ExprKind::Local(id) => self.variable(*id, expr.span),
            _ => {}
        }
        visit::children(expr, &mut |part| self.read(part));
    }

    fn variable(&mut self, id: LocalId, span: Span) {
        let Some(set) = &self.set else { return };
        let local = &self.subject.function.locals[id];
        if local.name.is_empty() || set.get(id.index()) != Some(&false) {
            return;
        }
        let Some(Some((blocks, first))) = self.first.get(id.index()) else { return };
        if blocks.len() <= self.blocks.len() || !blocks.starts_with(&self.blocks) {
            return;
        }
        let name = &local.name;
        // Of an element, the tuple is assigned.
        let whole = name.split('[').next().unwrap_or(name);
        self.found.push(messages::lints::maybe_unset(name, whole, span, *first));
        // Once for each variable.
        if let Some(set) = &mut self.set
            && let Some(entry) = set.get_mut(id.index())
        {
            *entry = true;
        }
    }
}

/// What both ways have assigned.
fn meet(a: Set, b: Set) -> Set {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.into_iter().zip(b).map(|(a, b)| a && b).collect()),
        (one, None) | (None, one) => one,
    }
}

/// Whether a loop surely has an iteration.
fn runs(start: &Expr, end: &Expr, step: &Expr) -> bool {
    let number = |expr: &Expr| expr.as_number().map(|n| n.as_f64());
    match (number(start), number(end), number(step)) {
        (Some(start), Some(end), Some(step)) => step > 0.0 && start < end || step < 0.0 && start > end,
        _ => false,
    }
}
