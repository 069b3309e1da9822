//! How do statements become IR?

use smallvec::SmallVec;

use super::{Lowering, print};
use crate::check::tree::*;
use crate::ir::{BlockId, Check, Op, ValueId};

impl<'a> Lowering<'a> {
    /// Lowers statements until one jumps away; those after it are never reached.
    pub(super) fn block(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            if self.b.is_terminated() {
                return;
            }
            self.b.span = stmt.span;
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let value = self.expr(value);
                self.b.span = stmt.span;
                let target = self.target(place);
                self.write(&target, value);
            }
            StmtKind::AssignCall { targets, call } => {
                let values = self.call(call);
                for (target, value) in targets.iter().zip(values) {
                    if let Some(local) = *target {
                        self.assign(local, value);
                    }
                }
            }
            StmtKind::AssignMany(pairs) => {
                let values: Vec<ValueId> = pairs.iter().map(|(_, value)| self.expr(value)).collect();
                for ((local, _), value) in pairs.iter().zip(values) {
                    self.assign(*local, value);
                }
            }
            StmtKind::AtomicUpdate { op, place, value } => {
                self.atomic(*op, place, value);
            }
            StmtKind::Expr(expr) => {
                self.expr(expr);
            }
            StmtKind::Call(call) => {
                self.call(call);
            }
            StmtKind::If { condition, then, otherwise } => self.if_statement(stmt, condition, then, otherwise),
            StmtKind::For { variable, start, end, step, body } => {
                self.for_statement(stmt, *variable, [start, end, step], body);
            }
            StmtKind::While { condition, body } => self.while_statement(stmt, condition, body),
            StmtKind::Break => {
                let values = self.carried_values();
                self.b.effect(Op::Break(values));
            }
            StmtKind::Continue => {
                let values = self.carried_values();
                self.b.effect(Op::Continue(values));
            }
            StmtKind::Return(values) => {
                let values = values.iter().map(|value| self.expr(value)).collect();
                self.b.span = stmt.span;
                self.leave_function(values);
            }
            StmtKind::ReturnCall(call) => {
                let values = self.call(call);
                self.b.span = stmt.span;
                self.leave_function(SmallVec::from_slice(&values));
            }
            StmtKind::GridSync => {
                self.b.effect(Op::GridSync);
            }
            StmtKind::Together { begins } => {
                self.b.effect(Op::Check(Check::Together { begins: *begins }, Default::default()));
            }
            StmtKind::Print { format, args } => {
                let args: Vec<ValueId> = args.iter().map(|arg| self.expr(arg)).collect();
                self.b.span = stmt.span;
                let mut rest = args.as_slice();
                for (format, count) in print::parts(format, args.len()) {
                    let (args, others) = rest.split_at(count);
                    self.b.effect(Op::Print { format: format.to_string(), args: args.iter().copied().collect() });
                    rest = others;
                }
            }
            StmtKind::Assert { condition, message } => {
                let condition = self.expr(condition);
                self.b.span = stmt.span;
                self.b.effect(Op::Assert { condition, message: message.clone() });
            }
        }
    }

    /// The values that a jump carries for the innermost loop.
    pub(super) fn carried_values(&mut self) -> SmallVec<[ValueId; 4]> {
        let carried = self.loops.last().cloned().unwrap_or_default();
        self.read_all(&carried)
    }

    fn if_statement(&mut self, stmt: &'a Stmt, condition: &'a Expr, then: &'a [Stmt], otherwise: &'a [Stmt]) {
        let condition = self.expr(condition);
        if let Some(known) = self.known_bool(condition) {
            return self.block(if known { then } else { otherwise });
        }
        let facts = self.flow.facts(stmt);
        if facts.then_leaves {
            self.guard(stmt, condition, then, true);
            self.block(otherwise);
        } else if facts.otherwise_leaves {
            self.guard(stmt, condition, otherwise, false);
            self.block(then);
        } else {
            let changed = facts.changed.clone();
            self.branch(
                condition,
                &changed,
                |this| {
                    this.block(then);
                    None
                },
                |this| {
                    this.block(otherwise);
                    None
                },
            );
        }
    }

    /// An `if` of which one side is `leaving`, which jumps away on every path, and the other is
    /// empty.
    fn guard(&mut self, stmt: &'a Stmt, condition: ValueId, leaving: &'a [Stmt], when: bool) {
        self.b.span = stmt.span;
        let jump = self.b.new_block(&[]);
        let pass = self.b.new_block(&[]);
        let (then, otherwise) = if when { (jump, pass) } else { (pass, jump) };
        self.b.effect(Op::If { condition, then, otherwise });
        let env = self.env.clone();
        let outside = self.b.switch_to(jump);
        self.block(leaving);
        self.b.switch_to(pass);
        self.b.yield_(&[]);
        self.b.switch_to(outside);
        self.env = env;
    }

    /// An `if` whose results are, where the sides give one, a value of their own, and then the new
    /// values of `changed`, which are assigned. Both sides give a value or neither does.
    pub(super) fn branch(
        &mut self,
        condition: ValueId,
        changed: &[LocalId],
        then: impl FnOnce(&mut Self) -> Option<ValueId>,
        otherwise: impl FnOnce(&mut Self) -> Option<ValueId>,
    ) -> Option<ValueId> {
        let span = self.b.span;
        let blocks = [self.b.new_block(&[]), self.b.new_block(&[])];
        let before = self.env.clone();
        let outside = self.b.switch_to(blocks[0]);
        let value = then(self);
        self.end_side(value, changed);
        self.env.clone_from(&before);
        self.b.switch_to(blocks[1]);
        let second = otherwise(self);
        self.end_side(second, changed);
        self.env = before;
        self.b.switch_to(outside);
        self.b.span = span;
        self.join(condition, blocks, value, changed)
    }

    /// A side can jump away although its statements do not say so: an inner `if` may be decided by
    /// a constant.
    fn end_side(&mut self, value: Option<ValueId>, changed: &[LocalId]) {
        if self.b.is_terminated() {
            return;
        }
        let values: Vec<ValueId> = value.into_iter().chain(self.read_all(changed)).collect();
        self.b.yield_(&values);
    }

    fn join(
        &mut self,
        condition: ValueId,
        [then, otherwise]: [BlockId; 2],
        value: Option<ValueId>,
        changed: &[LocalId],
    ) -> Option<ValueId> {
        let types: Vec<_> = value.map(|v| self.b.ty(v)).into_iter().chain(self.types_of(changed)).collect();
        let results = self.b.push(Op::If { condition, then, otherwise }, &types);
        let own = usize::from(value.is_some());
        self.assign_all(changed, &results[own..]);
        value.map(|_| results[0])
    }
}
