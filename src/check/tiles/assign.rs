//! Variables of tiles.

use std::rc::Rc;

use super::elements::{Elements, set, tile_type};
use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::tree::{Call, Expr, ExprKind, LocalId, Stmt};
use crate::check::types::value::{Operand, Res, cast_to};
use crate::check::visit;
use crate::ids::Id;
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::types::{LocalArrayType, Type};

impl Body<'_, '_> {
    /// `name = tile`: the variable gets the elements. A view is another name for elements that the
    /// program has named.
    pub fn assign_tile(&mut self, name: &str, at: Span, operand: &Operand, value: Span, span: Span) -> Res<()> {
        let Some(elements) = self.tile_elements(operand) else { return Ok(()) };
        if elements.is_view {
            return self.name_view(name, Operand::Tile(elements), span);
        }
        let ty = Type::Local(elements.ty);
        self.same_in_all_ways(name, span)?;
        let known = match self.scope.get(name) {
            Some(Binding::Local(id)) => Some(*id),
            _ => None,
        };
        // Of a parameter the caller keeps what it has. Without a branch around it, a name may also
        // get another shape.
        let own = known.filter(|&id| {
            id.index() >= self.function.parameters && (self.locals[id].ty == ty || self.nesting.depth > 0)
        });
        match (own, known) {
            (Some(_), _) => {
                let id = self.assigned_local(name, ty, at, value)?;
                self.no_view_of(id, name, span)?;
                self.fill(id, &elements, span)
            }
            (None, Some(id)) if self.nesting.depth > 0 => {
                Err(self.report(messages::tiles::parameter_reassigned(name, span, self.locals[id].span)))
            }
            (None, _) => {
                let id = match self.unnamed(operand) {
                    Some(id) => {
                        self.locals[id].name = name.to_string();
                        self.locals[id].span = at;
                        id
                    }
                    None => {
                        let id = self.new_local(name, ty, at);
                        self.fill(id, &elements, span)?;
                        id
                    }
                };
                self.means(name, Binding::Local(id), at);
                Ok(())
            }
        }
    }

    /// Whether `a, b = b, a` gives variables of one type to each other: then no element moves.
    /// Views would show others, and in a branch or loop the threads of a block would not know whose
    /// elements of a tile they touch.
    pub fn is_exchange(&self, names: &[(&str, Span)], items: &[Operand]) -> bool {
        let target = |name: &str| match self.scope.get(name) {
            Some(Binding::Local(id)) => Some(*id),
            _ => None,
        };
        let source = |item: &Operand| match item {
            Operand::Value(Expr { kind: ExprKind::Local(id), .. }) => Some(*id),
            _ => None,
        };
        let targets: Option<Vec<LocalId>> = names.iter().map(|(name, _)| target(name)).collect();
        let sources: Option<Vec<LocalId>> = items.iter().map(source).collect();
        let (Some(mut targets), Some(mut sources)) = (targets, sources) else { return false };
        let same = targets.iter().zip(&sources).all(|(to, from)| self.locals[*to].ty == self.locals[*from].ty);
        let viewed = targets.iter().any(|&id| !self.views_of(id).is_empty());
        targets.sort();
        sources.sort();
        targets.dedup();
        let chosen = self.nesting.depth > 0
            && targets.iter().any(|&id| matches!(self.locals[id].ty, Type::Local(LocalArrayType { block: true, .. })));
        same && !viewed && !chosen && targets == sources
    }

    /// `a, b = array, value`, with tiles or local arrays among what is assigned: all values are
    /// computed before the first name gets its own.
    pub fn assign_arrays(
        &mut self,
        names: &[(&str, Span)],
        items: Vec<Operand>,
        (value, span): (Span, Span),
    ) -> Res<()> {
        let targets = names.iter().filter_map(|(name, _)| match self.scope.get(*name) {
            Some(Binding::Local(id)) => Some(*id),
            _ => None,
        });
        let targets: Vec<LocalId> = targets.collect();
        let mut values = Vec::new();
        for item in items {
            values.push(match self.tile_elements(&item) {
                Some(elements) if elements.is_view && !targets.iter().any(|&id| elements.reads(id)) => match item {
                    Operand::Value(view) => Operand::Value(self.frozen_view(view)),
                    view => view,
                },
                Some(elements) if self.unnamed(&item).is_none() => Operand::Tile(self.kept(elements, value)?),
                Some(_) => item,
                None => {
                    let item = self.materialize(item, value)?;
                    let mut before = Vec::new();
                    let item = match item.ty {
                        Type::Local(_) if self.is_local_view(&item) => self.freeze_view(item, &mut before),
                        Type::Local(_) => self.copied_array(item, span, &mut before),
                        _ => self.hidden(item),
                    };
                    self.statement.pending.append(&mut before);
                    Operand::Value(item)
                }
            });
        }
        for (&(name, at), item) in names.iter().zip(values) {
            if self.is_view(&item) {
                self.name_view(name, item, span)?;
            } else if self.is_tile(&item) {
                self.assign_tile(name, at, &item, value, span)?;
            } else {
                let item = self.materialize(item, value)?;
                let mut assigned = Vec::new();
                if let Type::Local(_) = item.ty {
                    self.assign_array(name, item, (at, span), &mut assigned)?;
                } else {
                    let id = self.assigned_local(name, item.ty, at, value)?;
                    assigned.push(self.assign_local(id, item, span));
                }
                self.statement.pending.append(&mut assigned);
            }
        }
        Ok(())
    }

    /// Whether a name that represents it names a part of a tile or of a local array.
    pub fn is_part(&self, operand: &Operand) -> bool {
        self.is_tile(operand) || self.is_view(operand)
    }

    /// A name for a part of a tile, or of a local array, whose indices are variables.
    pub fn name_view(&mut self, name: &str, view: Operand, span: Span) -> Res<()> {
        if self.is_known_outside(name) {
            return Err(self.report(messages::tiles::tile_becomes_view(name, span)));
        }
        self.means(name, Binding::Alias(view), span);
        Ok(())
    }

    /// Refuses a new value for a view that was named outside of this branch or loop: the name would
    /// stand for the view on one way, and for another tile on the other.
    fn same_in_all_ways(&mut self, name: &str, span: Span) -> Res<()> {
        let is_view = matches!(self.scope.get(name), Some(Binding::Alias(operand)) if self.is_tile(operand));
        if !is_view || !self.is_known_outside(name) {
            return Ok(());
        }
        Err(self.report(messages::tiles::view_becomes_tile(name, span)))
    }

    /// The variable of a tile that was just computed and has no name.
    fn unnamed(&self, operand: &Operand) -> Option<LocalId> {
        let id = match operand {
            Operand::Tile(Elements { result, .. }) => (*result)?,
            _ => return None,
        };
        self.locals[id].name.is_empty().then_some(id)
    }

    /// Refuses a new value for a variable that a view names: the view is of the old one.
    fn no_view_of(&mut self, id: LocalId, name: &str, span: Span) -> Res<()> {
        let Some(view) = self.views_of(id).first().map(|view| view.to_string()) else { return Ok(()) };
        Err(self.report(messages::tiles::viewed_tile_reassigned(name, &view, span)))
    }

    /// The names of the views of a variable.
    fn views_of(&self, id: LocalId) -> Vec<&String> {
        let views = |operand: &Operand| match operand {
            Operand::Tile(elements) => elements.reads(id),
            Operand::Value(view) => {
                let mut found = false;
                visit::walk(view, &mut |part| found |= matches!(part.kind, ExprKind::Local(of) if of == id));
                found && matches!(view.ty, Type::Local(LocalArrayType { block: true, .. }))
            }
            _ => false,
        };
        let mut names: Vec<&String> = self
            .scope
            .iter()
            .filter(|(_, binding)| matches!(binding, Binding::Alias(operand) if views(operand)))
            .map(|(name, _)| name)
            .collect();
        names.sort();
        names
    }

    /// `target = tile`, where the target is a part of a tile; false for every other target.
    pub fn assign_tile_part(&mut self, target: &ast::Expr, value: &Operand, at: Span, span: Span) -> Res<bool> {
        let Some(place) = self.tile_target(target)? else { return Ok(false) };
        if !self.is_tile(value) {
            return Err(self.number_for_tile(&place, value, at, target.span));
        }
        self.assign_place(place, value.clone(), span)?;
        Ok(true)
    }

    /// `target op= value`, where the target is a tile or a part of one; false for every other
    /// target.
    pub fn update_tile(
        &mut self,
        target: &ast::Expr,
        op: BinaryOp,
        value: &Operand,
        (at, span): (Span, Span),
    ) -> Res<bool> {
        let Some(place) = self.tile_target(target)? else { return Ok(false) };
        let sum = self.tile_binary(op, place.clone(), value.clone(), (span, target.span, at))?;
        match &target.kind {
            // As in Warp, the name then represents another tile: a view's variable and a caller's
            // tile stay as they are.
            ast::ExprKind::Name(name) if !(in_place(op) && self.is_tile(value)) => {
                self.assign_tile(name, target.span, &sum, at, span)?;
            }
            _ => self.assign_place(place, sum, span)?,
        }
        Ok(true)
    }

    pub(super) fn assign_place(&mut self, place: Operand, value: Operand, span: Span) -> Res<()> {
        match place {
            Operand::Value(place) => self.assign_part(place, value, span),
            place => match (self.tile_elements(&place), self.tile_elements(&value)) {
                (Some(to), Some(from)) => self.assign_elements(to, from, span),
                _ => Err(self.report(messages::tiles::assigned_to_tile(span))),
            },
        }
    }

    /// The elements as those of another tile: numbers are converted.
    pub(super) fn converted(&mut self, from: Elements, to: &Elements) -> Res<Elements> {
        if to.element() == from.element() {
            return Ok(from);
        }
        let (Type::Scalar(scalar), Type::Scalar(_)) = (to.element(), from.element()) else {
            let (wanted, found) = (self.show(to.element()), self.show(from.element()));
            return Err(self.report(messages::tiles::stored_elements(&found, &wanted, from.span)));
        };
        let (ty, at) = (tile_type(to.ty.element, from.ty.extents()), from.at.clone());
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            Ok(cast_to(at(body, index, sure)?, scalar))
        });
        Ok(Elements { ty, at, is_view: false, result: None, ..from })
    }

    /// Sets what a view names.
    pub(super) fn assign_elements(&mut self, to: Elements, from: Elements, span: Span) -> Res<()> {
        self.same_shape(&to, &from, span)?;
        let from = self.converted(from, &to)?;
        let from = if to.reads.iter().any(|read| from.reads(read.tile)) { self.kept(from, span)? } else { from };
        let stmts = self.where_sure(&from.checks, span, |this, sure| {
            this.over(to.ty.extents(), span, |this, index| {
                let (value, target) = ((from.at)(this, index, sure)?, (to.at)(this, index, sure)?);
                match target.kind {
                    ExprKind::Load { array, index, .. } => Ok(vec![set(*array, &index, value, span)]),
                    _ => this.not_assignable(span),
                }
            })
        })?;
        self.all_together(stmts, span);
        Ok(())
    }

    /// The tile, or the part of one, that a target of an assignment names.
    fn tile_target(&mut self, target: &ast::Expr) -> Res<Option<Operand>> {
        let mut base = target;
        while let ast::ExprKind::Subscript { base: inner, .. } = &base.kind {
            base = inner;
        }
        let ast::ExprKind::Name(name) = &base.kind else { return Ok(None) };
        let is_tile = match self.scope.get(name.as_str()) {
            Some(Binding::Local(id)) => matches!(self.locals[*id].ty, Type::Local(LocalArrayType { block: true, .. })),
            Some(Binding::Alias(operand)) => self.is_tile(operand),
            _ => false,
        };
        if !is_tile {
            return Ok(None);
        }
        let operand = self.expr(target)?;
        Ok(self.is_tile(&operand).then_some(operand))
    }

    /// What a call gives, computed before the current statement: a value, or a tuple of several.
    pub fn results_of(&mut self, call: Call, types: &[Type], span: Span) -> Res<Operand> {
        let ids: Vec<LocalId> = types.iter().map(|&ty| self.new_local("", ty, span)).collect();
        let mut stmts = Vec::new();
        self.call_into(call, &ids, span, &mut stmts);
        self.statement.pending.append(&mut stmts);
        let mut results = Vec::new();
        for (&id, &ty) in ids.iter().zip(types) {
            results.push(match ty {
                Type::Local(LocalArrayType { block: true, .. }) => Operand::Tile(self.result(id, span)?),
                _ => Operand::Value(Expr::new(ExprKind::Local(id), ty, span)),
            });
        }
        Ok(if results.len() == 1 { results.remove(0) } else { Operand::Tuple(results) })
    }

    /// Whether an operand is a part of a variable, which is assigned as another name for it.
    pub fn is_view(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Value(expr) if self.is_local_view(expr))
    }

    /// Puts what the parts of a statement asked for before the statement.
    pub fn settle(&mut self, outer: Vec<Stmt>, at: usize, out: &mut Vec<Stmt>) {
        let pending = std::mem::replace(&mut self.statement.pending, outer);
        out.splice(at..at, pending);
    }

    /// Refuses tile operations, and calls that return local arrays, in an expression that runs
    /// again, or perhaps not at all: they come before its statement.
    pub fn nothing_pending(&mut self, before: usize, span: Span) -> Res<()> {
        if self.statement.pending.len() == before {
            return Ok(());
        }
        self.statement.pending.truncate(before);
        if !self.summary.by_block {
            return Err(self.report(messages::statements::local_array_of_call(span)));
        }
        Err(self.report(messages::tiles::operation_in_expression(span)))
    }
}

/// Whether `t op= u` changes the elements of `t`, where both are tiles.
fn in_place(op: BinaryOp) -> bool {
    use BinaryOp::{Add, BitAnd, BitOr, BitXor, Sub};
    matches!(op, Add | Sub | BitAnd | BitOr | BitXor)
}
