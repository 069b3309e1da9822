//! What does a function get of a view? A copy of its elements, which go back behind the call where
//! the function changes them.

use std::collections::HashSet;

use super::elements::{Elements, variable};
use super::threads::constant_index;
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Call, Expr, ExprKind, FnId, LocalId, Place, Root, StmtKind};
use crate::check::types::value::{Number, Operand, Reported, Res};
use crate::check::visit;
use crate::ids::Id;
use crate::ir::BinaryOp;
use crate::source::Span;
use crate::types::{LocalArrayType, Type};

/// Views of more elements are not compared element by element.
const MOST_COMPARED: u32 = 4096;

/// A view that a call gets as a copy.
pub(in crate::check) struct Lent {
    copy: LocalId,
    view: Elements,
}

impl Body<'_, '_> {
    /// Puts tiles that are in no variable of their own into one.
    pub(in crate::check) fn lend_tiles(&mut self, given: &mut [Given]) -> Res<Vec<Lent>> {
        let mut lent = Vec::new();
        for arg in given {
            let span = arg.span;
            let operand = match std::mem::replace(&mut arg.operand, Operand::Tuple(Vec::new())) {
                // Its indices are evaluated once.
                Operand::Value(view) if self.is_local_view(&view) && self.is_tile(&Operand::Value(view.clone())) => {
                    Operand::Value(self.frozen_view(view))
                }
                other => other,
            };
            arg.operand = match self.tile_elements(&operand) {
                Some(view) if view.is_view => {
                    let kept = self.kept(view.clone(), span)?;
                    let copy = kept.result.ok_or(Reported)?;
                    lent.push(Lent { copy, view: Elements { span, ..view } });
                    Operand::Value(variable(copy, self.locals[copy].ty, span))
                }
                Some(_) => Operand::Value(self.materialize(operand, span)?),
                None => operand,
            };
        }
        Ok(lent)
    }

    /// What a call gives that got copies: what it changed of them is changed in the views.
    pub(in crate::check) fn take_back(&mut self, result: Operand, lent: Vec<Lent>, span: Span) -> Res<Operand> {
        let call = match &result {
            Operand::Value(Expr { kind: ExprKind::Call(call), .. }) | Operand::Results(call, _) => Some(call.clone()),
            _ => self.statement.pending.last().and_then(|stmt| match &stmt.kind {
                StmtKind::Call(call) | StmtKind::AssignCall { call, .. } => Some(call.clone()),
                _ => None,
            }),
        };
        let Some(call) = call else { return Ok(result) };
        self.no_changed_twin(&call)?;
        if lent.is_empty() {
            return Ok(result);
        }
        let changed = |this: &Self, tile: LocalId| {
            let given = |arg: &Expr| matches!(arg.kind, ExprKind::Local(id) if id == tile);
            (0..call.args.len()).any(|n| given(&call.args[n]) && this.changes(call.callee, LocalId::new(n)))
        };
        for (n, Lent { copy, view }) in lent.iter().enumerate() {
            // Another argument may name the same elements: then the copy is not what the function
            // would see.
            let mut twin = None;
            for (m, other) in lent.iter().enumerate() {
                if m != n
                    && other.view.reads.iter().any(|read| view.reads(read.tile))
                    && (changed(self, *copy) || changed(self, other.copy))
                    && !self.apart(view, &other.view)?
                {
                    twin = twin.or(Some(other));
                }
            }
            let whole = call.args.iter().find(|arg| match arg.kind {
                ExprKind::Local(id) => view.reads(id) && (changed(self, *copy) || changed(self, id)),
                _ => false,
            });
            if let Some(at) = twin.map(|other| other.view.span).or(whole.map(|arg| arg.span)) {
                return Err(self.report(messages::tiles::view_and_tile_passed(view.span, at)));
            }
        }
        let lent: Vec<Lent> = lent.into_iter().filter(|lent| changed(self, lent.copy)).collect();
        if lent.is_empty() {
            return Ok(result);
        }
        if let Some(Lent { view, .. }) = lent.iter().find(|lent| lent.view.repeats) {
            return Err(self.report(messages::tiles::repeated_elements_passed(view.span)));
        }
        let result = match result {
            Operand::Value(value) => Operand::Value(self.hidden(value)),
            Operand::Results(call, types) => self.results_of(call, &types, span)?,
            other => other,
        };
        for Lent { copy, view } in lent {
            let from = self.tile_elements(&Operand::Value(variable(copy, self.locals[copy].ty, span)));
            self.assign_elements(view, from.ok_or(Reported)?, span)?;
        }
        Ok(result)
    }

    /// Refuses a tile that is given twice to a function that changes it: the function may pass
    /// parts of both parameters on, as copies that know nothing of each other.
    fn no_changed_twin(&mut self, call: &Call) -> Res<()> {
        let tile = |arg: &Expr| match (&arg.kind, arg.ty) {
            (ExprKind::Local(id), Type::Local(LocalArrayType { block: true, .. })) => Some(*id),
            _ => None,
        };
        for (n, arg) in call.args.iter().enumerate() {
            let Some(id) = tile(arg) else { continue };
            let Some(m) = (0..n).find(|&m| tile(&call.args[m]) == Some(id)) else { continue };
            if [m, n].into_iter().any(|k| self.changes(call.callee, LocalId::new(k))) {
                return Err(self.report(messages::tiles::tile_passed_twice(call.args[m].span, arg.span)));
            }
        }
        Ok(())
    }

    /// Whether two views have no element in common, as their constant indices tell.
    fn apart(&mut self, a: &Elements, b: &Elements) -> Res<bool> {
        let (Some(a), Some(b)) = (self.named_elements(a)?, self.named_elements(b)?) else { return Ok(false) };
        Ok(a.is_disjoint(&b))
    }

    /// The elements of variables that a view names; None where only a run knows them.
    fn named_elements(&mut self, view: &Elements) -> Res<Option<HashSet<(LocalId, Vec<i128>)>>> {
        let extents = view.ty.extents().to_vec();
        let count = extents.iter().fold(1, |all: u32, &extent| all.saturating_mul(extent));
        if count > MOST_COMPARED {
            return Ok(None);
        }
        let pending = self.statement.pending.len();
        let mut named = HashSet::new();
        for n in 0..count {
            let element = (view.at)(self, &constant_index(n, &extents, view.span), true);
            self.statement.pending.truncate(pending);
            let ExprKind::Load { array, index, .. } = element?.kind else { return Ok(None) };
            let (ExprKind::Local(tile), Some(index)) = (array.kind, index.iter().map(value).collect()) else {
                return Ok(None);
            };
            named.insert((tile, index));
        }
        Ok(Some(named))
    }

    /// Whether a function changes elements of an array that it is given.
    fn changes(&self, function: FnId, param: LocalId) -> bool {
        let function = &self.c.output.functions[function];
        if function.native.is_some() {
            return true;
        }
        let names = |expr: &Expr| {
            let mut found = false;
            visit::walk(expr, &mut |part| {
                found |= matches!((&part.kind, part.ty), (ExprKind::Local(id), Type::Local(_)) if *id == param);
            });
            found
        };
        let place = |place: &Place| matches!(&place.root, Root::Element { array, .. } if names(array));
        let passed = |call: &Call| {
            let args = call.args.iter().enumerate();
            call.by_ref.iter().any(place)
                || args
                    .filter(|(_, arg)| names(arg) && matches!(arg.ty, Type::Local(_)))
                    .any(|(n, _)| self.changes(call.callee, LocalId::new(n)))
        };
        let mut found = false;
        visit::each_statement(&function.body, &mut |stmt| {
            found |= match &stmt.kind {
                StmtKind::Assign(to, _) | StmtKind::AtomicUpdate { place: to, .. } => place(to),
                StmtKind::AssignCall { call, .. } | StmtKind::Call(call) | StmtKind::ReturnCall(call) => passed(call),
                _ => false,
            };
        });
        visit::each_expression(&function.body, &mut |expr| {
            found |= match &expr.kind {
                ExprKind::Call(call) => passed(call),
                ExprKind::Atomic { place: to, .. } | ExprKind::AtomicCas { place: to, .. } => place(to),
                _ => false,
            };
        });
        found
    }
}

/// The value of an index that is made of constants.
fn value(index: &Expr) -> Option<i128> {
    match &index.kind {
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (value(a)?, value(b)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Div if a >= 0 && b > 0 => Some(a / b),
                BinaryOp::Rem if a >= 0 && b > 0 => Some(a % b),
                _ => None,
            }
        }
        _ => match index.as_number()? {
            Number::Int(n) => Some(n),
            _ => None,
        },
    }
}
