//! Results of functions: what is returned, and where a caller puts it.

use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::tree::{Call, Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::advice::left_moves;
use crate::check::types::value::{Operand, Res, cast_name};
use crate::diag::quoted;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

impl Body<'_, '_> {
    pub(super) fn return_(&mut self, value: Option<&ast::Expr>, span: Span, out: &mut Vec<Stmt>) -> Res<()> {
        let mut nested = Vec::new();
        let (types, kind) = match value {
            None => (Vec::new(), StmtKind::Return(Vec::new())),
            Some(value) if matches!(value.kind, ast::ExprKind::None) => (Vec::new(), StmtKind::Return(Vec::new())),
            // `return f(x)` where `f` returns nothing.
            Some(value) if self.is_print(value) => {
                self.expression_statement(value, span, out)?;
                (Vec::new(), StmtKind::Return(Vec::new()))
            }
            Some(value) => match self.returned(value, span)? {
                Operand::Results(call, types) if types.is_empty() => {
                    out.push(Stmt { kind: StmtKind::Call(call), span });
                    (types, StmtKind::Return(Vec::new()))
                }
                Operand::Tuple(items) => {
                    let (mut exprs, mut lengths) = (Vec::new(), Vec::new());
                    for (n, item) in items.into_iter().enumerate() {
                        let (inner, length) = match item {
                            Operand::Tuple(inner) => (inner.clone(), Some(inner.len())),
                            item => (vec![item], None),
                        };
                        let first = exprs.len();
                        for item in inner {
                            if matches!(item, Operand::Tuple(_)) {
                                return Err(self.nested_result(value, n));
                            }
                            exprs.push(self.returned_value(item, None, value.span)?);
                        }
                        if length.is_some() && exprs[first..].iter().any(|e| matches!(e.ty, Type::Local(_))) {
                            return Err(self.nested_result(value, n));
                        }
                        lengths.push(length);
                    }
                    nested = if lengths.iter().any(Option::is_some) { lengths } else { Vec::new() };
                    (exprs.iter().map(|e| e.ty).collect(), StmtKind::Return(exprs))
                }
                Operand::Results(call, types) => (types, StmtKind::ReturnCall(call)),
                operand => {
                    let known = self.summary.results.as_ref().and_then(|(types, _)| types.first().copied());
                    let known = known.or(self.literals.promised.map(Type::from));
                    if self.summary.results.is_none() {
                        self.literals.first_literal =
                            self.literal_number(&operand).map(|constant| (value.span, constant));
                    }
                    let expr = match (known, self.literals.first_literal) {
                        (None, Some(_)) => self.start_value(operand, value.span, value.span)?,
                        _ => self.returned_value(operand, known, value.span)?,
                    };
                    (vec![expr.ty], StmtKind::Return(vec![expr]))
                }
            },
        };
        if self.function.kernel && !types.is_empty() {
            return Err(self.report(messages::statements::kernel_returns_value(span)));
        }
        match &self.summary.results {
            None => (self.summary.results, self.summary.nested) = (Some((types, span)), nested),
            // The same types, in other tuples.
            Some((first, _)) if *first == types && self.summary.nested != nested => {
                let all = value.map_or(span, |value| value.span);
                return Err(self.report(messages::statements::nested_result(all)));
            }
            Some((first, place)) if *first != types => {
                if let (Some((at, constant)), &[Type::Scalar(to)]) = (self.literals.first_literal, types.as_slice())
                    && self.adapts()
                    && constant.adapts_exactly(to)
                {
                    self.literals.wishes.push((at, to));
                }
                let show = |types: &[Type]| match types {
                    [] => "nothing".to_string(),
                    all => quoted(all.iter().map(|&ty| self.show(ty))),
                };
                let (old, new, place) = (show(first), show(&types), *place);
                let mut diagnostic = messages::statements::results_differ(&old, &new, span, place);
                if let (&[Type::Scalar(a)], &[Type::Scalar(b)]) = (first.as_slice(), types.as_slice()) {
                    let (at, to) = if left_moves(a, b) { (place, b) } else { (span, a) };
                    let text = self.c.sources.text(at);
                    let value = text.strip_prefix("return").unwrap_or(text).trim();
                    diagnostic = messages::repairs::converted_result(diagnostic, &cast_name(to), value);
                }
                return Err(self.report(diagnostic));
            }
            Some(_) => {}
        }
        let kind = match kind {
            StmtKind::Return(values) => StmtKind::Return(self.return_arrays(values, span, out)?),
            kind => kind,
        };
        out.push(Stmt { kind, span });
        Ok(())
    }

    /// What is returned. Local arrays that come of a call are in variables first, as their elements
    /// go on to the caller's.
    fn returned(&mut self, value: &ast::Expr, span: Span) -> Res<Operand> {
        match self.expr(value)? {
            Operand::Results(call, types) if types.iter().any(|ty| matches!(ty, Type::Local(_))) => {
                self.results_of(call, &types, span)
            }
            operand => Ok(operand),
        }
    }

    /// An argument of a call: a local array that another call returns is in a variable first.
    pub fn passed(&mut self, value: &ast::Expr) -> Res<Operand> {
        match self.expr(value)? {
            Operand::Results(call, types) if matches!(types[..], [Type::Local(_)]) => {
                self.results_of(call, &types, value.span)
            }
            operand => Ok(operand),
        }
    }

    /// One value of those that are returned.
    fn returned_value(&mut self, operand: Operand, known: Option<Type>, span: Span) -> Res<Expr> {
        // A part of a tile is given as a tile of its own.
        let part = if self.is_view(&operand) { self.tile_elements(&operand) } else { None };
        let operand = match part {
            Some(elements) => Operand::Tile(self.kept(elements, span)?),
            None => operand,
        };
        match known {
            Some(ty) => self.coerce(operand, ty, span),
            None => self.materialize(operand, span),
        }
    }

    /// A call whose results go to these variables, one for each. Local arrays are made here and
    /// filled by the callee, so theirs are no arguments of the call.
    pub fn call_into(&mut self, mut call: Call, ids: &[LocalId], span: Span, out: &mut Vec<Stmt>) {
        let mut targets = Vec::new();
        for &id in ids {
            let ty = self.locals[id].ty;
            let Type::Local(array) = ty else {
                targets.push(Some(id));
                continue;
            };
            if array.block {
                // Where the array of a tile is is decided later.
                self.tiles.filled.insert(id, id);
            } else {
                out.push(self.assign_local(id, Expr::new(ExprKind::LocalArray, ty, span), span));
            }
            call.args.push(Expr::new(ExprKind::Local(id), ty, span));
        }
        let kind = if targets.is_empty() { StmtKind::Call(call) } else { StmtKind::AssignCall { targets, call } };
        out.push(Stmt { kind, span });
    }

    /// `x, y = f()`, where none of the results is a tile.
    pub(super) fn assign_results(
        &mut self,
        names: &[(&str, Span)],
        call: Call,
        types: &[Type],
        (value, span): (Span, Span),
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        let (mut ids, mut behind) = (Vec::new(), Vec::new());
        for (&(name, at), &ty) in names.iter().zip(types) {
            let known = matches!(self.scope.get(name), Some(Binding::Local(_)));
            // The call may read the array that the name represents.
            if known && matches!(ty, Type::Local(_)) {
                let made = self.new_local("", ty, value);
                behind.push((name, at, Expr::new(ExprKind::Local(made), ty, value)));
                ids.push(made);
            } else {
                let id = self.assigned_local(name, ty, at, value)?;
                if self.nesting.depth == 0 && matches!(ty, Type::Local(_)) {
                    self.tiles.own_arrays.insert(id);
                }
                ids.push(id);
            }
        }
        self.call_into(call, &ids, span, out);
        for (name, at, array) in behind {
            self.assign_array(name, array, (at, span), out)?;
        }
        Ok(())
    }

    /// `n, pair = f()`, where tuples are among the values. All are computed before a name changes.
    pub(super) fn assign_nested(
        &mut self,
        names: &[(&str, Span)],
        items: Vec<Operand>,
        (value, span): (Span, Span),
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        let kept = self.kept_items(items, (value, span), out)?;
        for (&(name, at), item) in names.iter().zip(kept) {
            match item {
                Operand::Tuple(inner) => self.assign_elements_of(name, inner, (at, value, span), out)?,
                item => {
                    let (id, expr) = self.assigned_item((name, at), item, value)?;
                    out.push(self.assign_local(id, expr, span));
                }
            }
        }
        Ok(())
    }

    /// Values, and those in tuples among them, in variables of their own; numbers as they are.
    pub(super) fn kept_items(
        &mut self,
        items: Vec<Operand>,
        (value, span): (Span, Span),
        out: &mut Vec<Stmt>,
    ) -> Res<Vec<Operand>> {
        let mut kept = Vec::new();
        for item in items {
            kept.push(match item {
                Operand::Tuple(inner) => Operand::Tuple(self.kept_items(inner, (value, span), out)?),
                Operand::Const(_) => item,
                item => {
                    let expr = self.materialize(item, value)?;
                    let id = self.new_local("", expr.ty, value);
                    out.push(self.assign_local(id, expr, span));
                    self.local_operand(id, value)
                }
            });
        }
        Ok(kept)
    }
}
