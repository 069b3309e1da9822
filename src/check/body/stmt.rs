//! Statements.

use super::known::assigned;
use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Place, Root, Stmt, StmtKind};
use crate::check::types::value::{FunctionName, Operand, Reported, Res};
use crate::diag::Applicability;
use crate::ir::AtomicOp;
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::types::{BOOL, I32, Type};

impl Body<'_, '_> {
    pub fn block(&mut self, statements: &[ast::Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(statements.len());
        for statement in statements {
            let (outer, at) = (std::mem::take(&mut self.statement.pending), out.len());
            if self.statement(statement, &mut out).is_err() {
                self.failed = true;
            }
            self.settle(outer, at, &mut out);
        }
        out
    }

    /// Looks at the branches of a condition that is not known: perhaps only one of them is ever
    /// compiled, so what they assign and return says nothing about the code behind them.
    fn either(&mut self, then: &[ast::Stmt], otherwise: &[ast::Stmt]) {
        let (scope, results, mark) = (self.scope.clone(), self.summary.results.clone(), self.mark());
        let names: Vec<String> = assigned(then).union(&assigned(otherwise)).map(|name| (*name).to_string()).collect();
        for branch in [then, otherwise] {
            self.block(branch);
            self.scope.clone_from(&scope);
            self.summary.results.clone_from(&results);
            self.drop_changes(mark);
        }
        for name in names {
            self.scope.insert(name, Binding::Broken);
        }
    }

    fn statement(&mut self, statement: &ast::Stmt, out: &mut Vec<Stmt>) -> Res<()> {
        let span = statement.span;
        if self.nesting.unrolled > 0 {
            self.c.charge_unrolled(span)?;
        }
        let mut push = |kind| out.push(Stmt { kind, span });
        match &statement.kind {
            ast::StmtKind::Assign { targets, value } => match targets.as_slice() {
                [target] => {
                    let from = out.len();
                    self.note_adjoint_write(target);
                    self.assign(target, value, span, out)?;
                    self.guard_statements(from, out);
                }
                targets => {
                    // What they would be is said once.
                    for target in targets {
                        if let ast::ExprKind::Name(name) = &target.kind {
                            self.scope.entry(name.clone()).or_insert(Binding::Broken);
                        }
                    }
                    let text = |span| self.c.sources.text(span).to_string();
                    let help = match targets {
                        [first, .., last] => {
                            let (first, last) = (text(first.span), text(last.span));
                            format!(
                                "write one assignment per target: `{last} = {}`, then `{first} = {last}`",
                                text(value.span)
                            )
                        }
                        _ => "write one assignment per target".to_string(),
                    };
                    return self.unsupported(span, "an assignment to several targets", Some(&help));
                }
            },
            ast::StmtKind::AugAssign { target, op, value } => {
                let from = out.len();
                self.note_adjoint_write(target);
                self.aug_assign(target, *op, value, span, out)?;
                self.guard_statements(from, out);
            }
            ast::StmtKind::AnnAssign { target, annotation, value } => {
                if let ast::ExprKind::Name(name) = &target.kind {
                    self.scope.entry(name.clone()).or_insert(Binding::Broken);
                }
                let mut diagnostic = messages::statements::annotated_assignment(span);
                if let Some(value) = value {
                    let text = |e: &ast::Expr| self.c.sources.text(e.span).to_string();
                    let repaired = format!("{} = {}({})", text(target), text(annotation), text(value));
                    diagnostic = messages::repairs::value_converted_instead(diagnostic, &repaired, span);
                }
                return Err(self.report(diagnostic));
            }
            ast::StmtKind::If { condition, then, otherwise } => {
                match self.expr(condition) {
                    // Of a compile-time condition, only the live branch is checked.
                    Ok(Operand::Const(c)) => {
                        let live = if self.meant(&c).is_true() { then } else { otherwise };
                        out.extend(self.block(live));
                    }
                    Ok(operand) => {
                        let condition = self.truth(operand, condition.span);
                        self.nesting.depth += 1;
                        let before = self.known.clone();
                        let mark = self.mark();
                        let mut then = self.branch(then);
                        let after_then = std::mem::replace(&mut self.known, before);
                        let ends = self.turn_back(mark);
                        let mark = self.mark();
                        let mut otherwise = self.branch(otherwise);
                        self.join_known(&after_then);
                        self.nesting.depth -= 1;
                        self.join_ways(mark, ends, &mut then, &mut otherwise);
                        push(StmtKind::If { condition: condition?, then, otherwise });
                    }
                    Err(Reported) => {
                        self.either(then, otherwise);
                        return Err(Reported);
                    }
                }
            }
            ast::StmtKind::While { condition, body, otherwise } => {
                self.forget_assigned(std::slice::from_ref(statement));
                self.enter_loop(body, out);
                let before = self.statement.pending.len();
                let checked = self.expr(condition).and_then(|operand| self.truth(operand, condition.span));
                let alone = self.nothing_pending(before, condition.span);
                let checked_body = self.loop_body(body);
                self.leave_loop();
                alone?;
                self.no_loop_else(body, otherwise)?;
                out.push(Stmt { kind: StmtKind::While { condition: checked?, body: checked_body }, span });
            }
            ast::StmtKind::For { target, iter, body, otherwise } => {
                self.for_loop(target, iter, body, span, out)?;
                self.no_loop_else(body, otherwise)?;
            }
            ast::StmtKind::Break | ast::StmtKind::Continue => {
                let is_break = matches!(statement.kind, ast::StmtKind::Break);
                if self.nesting.loops == 0 {
                    let word = if is_break { "break" } else { "continue" };
                    let diagnostic = messages::statements::outside_loop(word, span);
                    return Err(match self.function.kernel {
                        true => self.replaced(messages::details::return_ends_thread(diagnostic), span, "return"),
                        false => self.report(diagnostic),
                    });
                }
                self.note_leave();
                push(if is_break { StmtKind::Break } else { StmtKind::Continue });
            }
            ast::StmtKind::Return(value) => self.return_(value.as_ref(), span, out)?,
            ast::StmtKind::Expr(expr) => self.expression_statement(expr, span, out)?,
            ast::StmtKind::Assert { condition, message } => {
                let shown = self.c.sources.text(condition.span).to_string();
                let operand = self.expr(condition)?;
                let checked = self.truth(operand, condition.span)?;
                let message = match message {
                    Some(ast::Expr { kind: ast::ExprKind::Str(text), .. }) => text.clone(),
                    // Nothing is computed for a message: it is said as it is written.
                    Some(message) => as_written(self.c.sources.text(message.span)),
                    None => shown,
                };
                push(StmtKind::Assert { condition: checked, message });
            }
            ast::StmtKind::Pass => {}
            ast::StmtKind::Unsupported(what) => {
                self.forgive_defined(what, span);
                return self.unsupported(span, what, None);
            }
            ast::StmtKind::Error => {
                self.forgive(span);
                return Err(Reported);
            }
        }
        Ok(())
    }

    /// The names in a line that could not be read: it may have been meant to define them, so their
    /// uses are no errors.
    fn forgive(&mut self, span: Span) {
        let text = self.c.sources.text(span);
        for range in crate::syntax::names(text) {
            let Some(name) = text.get(range) else { continue };
            if !self.c.visible_names().iter().any(|known| *known == name) {
                self.scope.entry(name.to_string()).or_insert(Binding::Broken);
            }
        }
    }

    /// The names that a statement would have defined: their uses are no errors of their own.
    fn forgive_defined(&mut self, what: &str, span: Span) {
        let text = self.c.sources.text(span);
        let names: Vec<&str> = crate::syntax::names(text).into_iter().filter_map(|range| text.get(range)).collect();
        let defined = match what {
            "`global`" | "`nonlocal`" | "`import` in a function" | "`with`" => names,
            "a nested function" | "a nested class" => names.into_iter().take(1).collect(),
            _ => Vec::new(),
        };
        for name in defined {
            self.scope.entry(name.to_string()).or_insert(Binding::Broken);
        }
    }

    /// The body of a loop whose iterations are not known one by one; what it assigns is forgotten
    /// already.
    pub fn loop_body(&mut self, body: &[ast::Stmt]) -> Vec<Stmt> {
        self.nesting.loops += 1;
        self.nesting.depth += 1;
        let before = self.known.clone();
        let body = self.branch(body);
        self.join_known(&before);
        self.nesting.depth -= 1;
        self.nesting.loops -= 1;
        body
    }

    pub fn unsupported<T>(&mut self, span: Span, what: &str, help: Option<&str>) -> Res<T> {
        let mut diagnostic = messages::statements::unsupported(what, span);
        if let Some(help) = help.or(crate::check::names::habits::of_construct(what)) {
            diagnostic = diagnostic.help(help);
        }
        Err(self.report(diagnostic))
    }

    fn no_loop_else(&mut self, body: &[ast::Stmt], otherwise: &[ast::Stmt]) -> Res<()> {
        let Some(first) = otherwise.first() else { return Ok(()) };
        let between = Span {
            start: body.last().map_or(first.span.start, |last| last.span.end),
            end: first.span.start,
            ..first.span
        };
        let mut lines = self.c.sources.text(between).split_inclusive('\n').scan(between.start, |at, line| {
            let start = *at + (line.len() - line.trim_start().len()) as u32;
            *at += line.len() as u32;
            Some((start, line.trim_start()))
        });
        let word = lines.find(|(_, line)| line.starts_with("else"));
        let at = word.map_or(first.span, |(start, _)| Span { start, end: start + 4, ..first.span });
        self.unsupported(at, "`else` after a loop", Some("set a flag before `break` and test it after the loop"))
    }

    fn assign(&mut self, target: &ast::Expr, value: &ast::Expr, span: Span, out: &mut Vec<Stmt>) -> Res<()> {
        match &target.kind {
            ast::ExprKind::Name(name) => {
                let result = self.assign_name(name, target.span, value, span, out);
                if result.is_err() {
                    self.scope.entry(name.clone()).or_insert(Binding::Broken);
                }
                result
            }
            ast::ExprKind::Tuple(targets) => {
                let result = self.assign_tuple(targets, value, span, out);
                if result.is_err() {
                    for target in targets {
                        if let ast::ExprKind::Name(name) = &target.kind {
                            self.scope.entry(name.clone()).or_insert(Binding::Broken);
                        }
                    }
                }
                result
            }
            _ => {
                let value_operand = self.expr(value)?;
                if self.assign_tile_part(target, &value_operand, value.span, span)? {
                    return Ok(());
                }
                if self.assign_slice(target, &value_operand, value.span, span, out)? {
                    return Ok(());
                }
                if self.assign_component(target, &value_operand, value.span, span, out)? {
                    return Ok(());
                }
                let place = self.place(target)?;
                let expr = self.coerce(value_operand, place.ty, value.span)?;
                if expr.ty != place.ty {
                    return self.store_mismatch(&place, &expr);
                }
                out.push(Stmt { kind: StmtKind::Assign(place, expr), span });
                Ok(())
            }
        }
    }

    fn assign_name(&mut self, name: &str, at: Span, value: &ast::Expr, span: Span, out: &mut Vec<Stmt>) -> Res<()> {
        let outer = self.literals.assigning.take();
        self.literals.assigning = match self.scope.get(name) {
            Some(Binding::Local(id)) => Some(*id),
            _ => None,
        };
        let result = self.expr(value);
        self.literals.assigning = outer;
        let mut operand = result?;
        // A name of a view gives its elements, as in Warp; what is no name gives the view.
        if let (ast::ExprKind::Name(_), Some(elements)) = (&value.kind, self.tile_elements(&operand))
            && elements.is_view
        {
            operand = Operand::Tile(self.kept(elements, span)?);
        }
        if let (Operand::Function(FunctionName::Builtin(word)), false) = (&operand, self.is_library())
            && word == "tid"
        {
            let text = self.c.sources.text(value.span).to_string();
            let diagnostic = messages::statements::tid_not_called(&text, value.span);
            return Err(self.replaced(diagnostic, value.span, &format!("{text}()")));
        }
        if let Operand::Stack(stack) = operand {
            return self.assign_stack(name, stack, span);
        }
        if matches!(operand, Operand::Tile(_)) || self.is_tile(&operand) && !self.is_view(&operand) {
            return self.assign_tile(name, at, &operand, value.span, span);
        }
        let operand = match operand {
            Operand::Value(view) if self.is_local_view(&view) => {
                let frozen = self.freeze_view(view, out);
                return self.name_view(name, Operand::Value(frozen), span);
            }
            Operand::Value(_) | Operand::Const(_) => operand,
            Operand::Results(call, types) if types.len() == 1 => {
                return self.assign_results(&[(name, at)], call, &types, (value.span, span), out);
            }
            Operand::Results(call, types) if types.len() > 1 => {
                let (ids, _) = self.tuple_variables(name, &types, at);
                self.call_into(call, &ids, span, out);
                self.bind_tuple(name, ids, at);
                return Ok(());
            }
            Operand::Tuple(items) if items.iter().any(|item| matches!(item, Operand::Tuple(_))) => {
                let kept = self.kept_items(items, (value.span, span), out)?;
                self.means(name, Binding::Alias(Operand::Tuple(kept)), at);
                return Ok(());
            }
            Operand::Tuple(items) => {
                return self.assign_elements_of(name, items, (at, value.span, span), out);
            }
            // The extents are those that the array has here, whatever its name means later.
            Operand::Shape(array) if self.has_elements(name, &array) => {
                let extents = self.extents(&array, value.span);
                return self.assign_elements_of(name, extents, (at, value.span, span), out);
            }
            Operand::Shape(array) if !matches!(array.ty, Type::Local(_)) => {
                let id = self.new_local("", array.ty, value.span);
                let kept = Expr::new(ExprKind::Local(id), array.ty, value.span);
                out.push(self.assign_local(id, array, span));
                self.means(name, Binding::Alias(Operand::Shape(kept)), at);
                return Ok(());
            }
            Operand::Function(_)
            | Operand::Gradient(_)
            | Operand::Type(_)
            | Operand::Shape(_)
            | Operand::Module(_)
            | Operand::Enum(_) => {
                self.means(name, Binding::Alias(operand), at);
                return Ok(());
            }
            other => {
                self.materialize(other, value.span)?;
                return Err(Reported);
            }
        };
        let literal = match &operand {
            Operand::Const(c) if c.scalar.is_none() => Some(*c),
            _ => None,
        };
        let start = self.literal_number(&operand);
        // A literal of library code takes the type of the variable it goes to.
        let expr = match self.scope.get(name) {
            Some(Binding::Local(id)) => {
                let ty = self.locals[*id].ty;
                self.coerce(operand, ty, value.span)?
            }
            _ => self.start_value(operand, at, value.span)?,
        };
        if let Type::Local(_) = expr.ty {
            return self.assign_array(name, expr, (at, span), out);
        }
        let is_new = !matches!(self.scope.get(name), Some(Binding::Local(_)));
        let id = self.assigned_local(name, expr.ty, at, value.span)?;
        if let Some(constant) = literal {
            self.known.insert(id, constant);
        }
        if is_new {
            self.note_start(id, start, &expr);
        } else {
            self.note_computed_float(id, start.is_some(), expr.ty);
        }
        out.push(self.assign_local(id, expr, span));
        Ok(())
    }

    pub fn assign_local(&self, id: LocalId, value: Expr, span: Span) -> Stmt {
        let place = self.local_place(id, span);
        Stmt { kind: StmtKind::Assign(place, value), span }
    }

    pub(super) fn local_operand(&self, id: LocalId, span: Span) -> Operand {
        Operand::Value(Expr::new(ExprKind::Local(id), self.locals[id].ty, span))
    }

    fn assign_tuple(&mut self, targets: &[ast::Expr], value: &ast::Expr, span: Span, out: &mut Vec<Stmt>) -> Res<()> {
        let mut names = Vec::new();
        for target in targets {
            match &target.kind {
                ast::ExprKind::Name(name) => names.push((name.as_str(), target.span)),
                _ => {
                    return self.unsupported(
                        target.span,
                        "nested or indexed targets in a tuple assignment",
                        Some("unpack into plain names first"),
                    );
                }
            }
        }
        let count = names.len();
        if self.is_tid_call(value) {
            if let ast::ExprKind::Call { args, .. } = &value.kind
                && !args.is_empty()
            {
                return self.tid_takes_none(args.len(), value.span);
            }
            return self.assign_tid(&names, span, out);
        }
        let items = match self.expr(value)? {
            Operand::Results(call, types) if !types.is_empty() => {
                if types.len() != count {
                    return self.count_mismatch(value.span, types.len(), &names);
                }
                return self.assign_results(&names, call, &types, (value.span, span), out);
            }
            Operand::Tuple(items) => items,
            Operand::Shape(array) => self.extents(&array, value.span),
            Operand::Value(expr)
                if expr.ty.step_count(&self.c.output.structs) > 0
                    && matches!(expr.ty, Type::Vec(..) | Type::Quat(_)) =>
            {
                let steps = expr.ty.step_count(&self.c.output.structs);
                let id = self.new_local("", expr.ty, value.span);
                let whole = Expr::new(ExprKind::Local(id), expr.ty, value.span);
                out.push(self.assign_local(id, expr, span));
                let expr = whole;
                (0..steps)
                    .map(|k| Operand::Value(self.part(expr.clone(), crate::check::tree::Step::At(k), value.span)))
                    .collect()
            }
            other => {
                let expr = self.materialize(other, value.span)?;
                let shown = self.show(expr.ty);
                let text = self.c.sources.text(value.span).to_string();
                let mut diagnostic = messages::statements::one_value_unpacked(&shown, value.span);
                if let Some((first, _)) = names.first().filter(|_| !text.contains('\n')) {
                    diagnostic = messages::repairs::one_name(diagnostic, first, &text);
                }
                return Err(self.report(diagnostic));
            }
        };
        if items.len() != count {
            return self.count_mismatch(value.span, items.len(), &names);
        }
        let is_array =
            |item: &Operand| matches!(item, Operand::Tile(_) | Operand::Value(Expr { ty: Type::Local(_), .. }));
        if items.iter().any(is_array) && !self.is_exchange(&names, &items) {
            return self.assign_arrays(&names, items, (value.span, span));
        }
        if items.iter().any(|item| matches!(item, Operand::Tuple(_))) {
            return self.assign_nested(&names, items, (value.span, span), out);
        }
        let mut assignments = Vec::new();
        for (&name, item) in names.iter().zip(items) {
            assignments.push(self.assigned_item(name, item, value.span)?);
        }
        out.push(Stmt { kind: StmtKind::AssignMany(assignments), span });
        Ok(())
    }

    /// A name of `a, b = x, y`, and what it is assigned.
    pub(super) fn assigned_item(
        &mut self,
        (name, at): (&str, Span),
        item: Operand,
        value: Span,
    ) -> Res<(LocalId, Expr)> {
        let literal = self.literal_number(&item);
        let is_new = !matches!(self.scope.get(name), Some(Binding::Local(_)));
        let expr = match self.scope.get(name) {
            Some(Binding::Local(id)) => {
                let ty = self.locals[*id].ty;
                let item = self.adapted(item, ty, value);
                self.materialize(item, value)?
            }
            _ => self.start_value(item, at, value)?,
        };
        let id = self.assigned_local(name, expr.ty, at, value)?;
        if is_new {
            self.note_start(id, literal, &expr);
        }
        Ok((id, expr))
    }

    fn count_mismatch<T>(&mut self, span: Span, found: usize, names: &[(&str, Span)]) -> Res<T> {
        let wanted = names.len();
        let mut diagnostic = messages::statements::number_of_values(found, wanted, span);
        if let [(_, first), .., (_, last)] = names {
            let targets = Span { end: last.end, ..*first };
            diagnostic = messages::details::number_of_targets(diagnostic, wanted, targets);
        }
        if found > wanted {
            diagnostic = messages::repairs::name_for_each(diagnostic);
        }
        Err(self.report(diagnostic))
    }

    fn is_tid_call(&mut self, expr: &ast::Expr) -> bool {
        let ast::ExprKind::Call { callee, .. } = &expr.kind else { return false };
        let last = match &callee.kind {
            ast::ExprKind::Name(name) => name,
            ast::ExprKind::Attribute { name, .. } => &name.text,
            _ => return false,
        };
        // Only resolved when it can be `tid`, so that nothing is reported twice.
        last == "tid"
            && matches!(self.expr(callee), Ok(Operand::Function(FunctionName::Builtin(name))) if name == "tid")
    }

    fn assign_tid(&mut self, names: &[(&str, Span)], span: Span, out: &mut Vec<Stmt>) -> Res<()> {
        self.tid_allowed(span)?;
        if names.len() > 4 {
            return Err(self.report(messages::statements::too_many_coordinates(names.len(), span)));
        }
        self.summary.rank = self.summary.rank.max(names.len() as u8);
        for (k, (name, at)) in names.iter().enumerate() {
            let id = self.assigned_local(name, I32, *at, span)?;
            out.push(self.assign_local(id, Expr::new(ExprKind::ThreadIndex(k as u8), I32, span), span));
        }
        Ok(())
    }

    pub fn tid_allowed(&mut self, span: Span) -> Res<()> {
        if self.function.kernel {
            return Ok(());
        }
        Err(self.report(messages::statements::tid_outside_kernel(span)))
    }

    pub(super) fn store_mismatch<T>(&mut self, place: &crate::check::tree::Place, value: &Expr) -> Res<T> {
        let (wanted, found) = (self.show(place.ty), self.show(value.ty));
        let what = match (&place.root, place.path.is_empty()) {
            (Root::Element { .. }, true) => "the array's elements are",
            (Root::Element { .. }, false) => "this part of the array's elements is",
            (Root::Local(_), _) => "this part is",
        };
        let mut diagnostic = messages::types::stored_type(&found, what, &wanted, value.span, place.span);
        diagnostic = self.label_origin(diagnostic, value, value.span);
        diagnostic = self.suggest_element(diagnostic, value.ty, value.span, place.ty);
        if let ExprKind::And(_) | ExprKind::Or(_) = value.kind {
            // In Python these give one of their operands.
            diagnostic = messages::repairs::conditional_for_logic(diagnostic);
        } else if let (Type::Scalar(to), Type::Scalar(_)) = (place.ty, value.ty) {
            diagnostic = self.suggest_cast(diagnostic, value.span, (value.ty, to), "it", Applicability::Machine);
        } else if let Type::Array(array) = value.ty {
            let text = self.c.sources.text(value.span);
            if let Some(element) = element_of(text, array.ndim) {
                diagnostic = messages::repairs::index_for_each_dimension(diagnostic, &element);
            }
        } else if let (Type::Scalar(_), Type::Vec(..)) = (place.ty, value.ty) {
            let text = self.c.sources.text(value.span);
            if text.lines().count() == 1 {
                let part = if text.contains(' ') { format!("({text})[0]") } else { format!("{text}[0]") };
                diagnostic = messages::repairs::component_or_length(diagnostic, &part, text);
            }
        } else if let (Type::Vec(_, to), Type::Scalar(from)) = (place.ty, value.ty)
            && to == from
        {
            let whole = format!("wp.{wanted}({})", self.c.sources.text(value.span));
            diagnostic = messages::repairs::vector_of_number(diagnostic, &whole, value.span);
        }
        Err(self.report(diagnostic))
    }

    fn aug_assign(
        &mut self,
        target: &ast::Expr,
        op: BinaryOp,
        value: &ast::Expr,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        let right = match self.expr(value) {
            Ok(right) => right,
            Err(Reported) => {
                // What the variable would have become is not known.
                if let ast::ExprKind::Name(name) = &target.kind {
                    self.forget(name);
                }
                return Err(Reported);
            }
        };
        if self.update_tile(target, op, &right, (value.span, span))? {
            return Ok(());
        }
        if self.update_slice(target, op, &right, value.span, span, out)? {
            return Ok(());
        }
        if self.update_component(target, op, &right, (value.span, span), out)? {
            return Ok(());
        }
        let place = self.place(target)?;
        self.update(place, op, right, (target.span, value.span, span), out)
    }

    /// `place op= right`. The spans are those of the place, the value and the statement.
    pub fn update(
        &mut self,
        place: Place,
        op: BinaryOp,
        right: Operand,
        (at_place, at_value, span): (Span, Span, Span),
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        let atomic = match op {
            BinaryOp::Add => Some(AtomicOp::Add),
            BinaryOp::Sub => Some(AtomicOp::Sub),
            BinaryOp::BitAnd => Some(AtomicOp::And),
            BinaryOp::BitOr => Some(AtomicOp::Or),
            BinaryOp::BitXor => Some(AtomicOp::Xor),
            _ => None,
        };
        // Small integers have no atomics; local arrays belong to one thread.
        let bits = matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
        let wide = place.ty.scalar_part().is_some_and(|s| if s.is_float() { !bits } else { s.size() >= 4 });
        let shared = matches!(&place.root, Root::Element { array, .. } if matches!(array.ty, Type::Array(_)));
        let place = self.updated_by_each(place);
        if let Some(op) = atomic.filter(|_| !self.has_user_operator(op))
            && shared
            && wide
        {
            let expr = self.coerce(right, place.ty, at_value)?;
            if expr.ty != place.ty {
                return self.store_mismatch(&place, &expr);
            }
            out.push(Stmt { kind: StmtKind::AtomicUpdate { op, place, value: expr }, span });
            return Ok(());
        }
        if let (Root::Local(id), true) = (&place.root, place.path.is_empty()) {
            self.known.remove(id);
        }
        // `n += 1` makes no float of `n`.
        let is_literal = self.literal_number(&right).is_some();
        let right = match op {
            BinaryOp::Pow | BinaryOp::Shl | BinaryOp::Shr => right,
            _ if self.has_user_operator(op) => right,
            _ => self.adapted(right, place.ty, at_value),
        };
        if let Some(refused) = self.refuse_widening(op, &place, &right, (at_place, at_value)) {
            return Err(refused);
        }
        let place = self.evaluate_once(place, out);
        let old = self.read_place(&place);
        let result = self.updated_element(&place, op, old, right, (span, at_place, at_value))?;
        let expr = self.materialize(result, span)?;
        if expr.ty != place.ty {
            return self.store_mismatch(&place, &expr);
        }
        if let (Root::Local(id), true) = (&place.root, place.path.is_empty()) {
            self.note_computed_float(*id, is_literal, expr.ty);
        }
        out.push(Stmt { kind: StmtKind::Assign(place, expr), span });
        Ok(())
    }

    /// Whether an expression is a call of `print` or `printf`, under whatever name.
    pub(super) fn is_print(&mut self, expr: &ast::Expr) -> bool {
        let ast::ExprKind::Call { callee, .. } = &expr.kind else { return false };
        let is_name = match &callee.kind {
            ast::ExprKind::Name(name) => match self.scope.get(name) {
                Some(Binding::Alias(Operand::Function(_))) => true,
                Some(_) => false,
                None => matches!(name.as_str(), "print" | "printf"),
            },
            ast::ExprKind::Attribute { name, .. } => matches!(name.text.as_str(), "print" | "printf"),
            _ => false,
        };
        let is_builtin = |operand| matches!(operand, Ok(Operand::Function(FunctionName::Builtin(name))) if matches!(name.as_str(), "print" | "printf"));
        is_name && is_builtin(self.expr(callee))
    }

    pub(super) fn expression_statement(&mut self, expr: &ast::Expr, span: Span, out: &mut Vec<Stmt>) -> Res<()> {
        if matches!(expr.kind, ast::ExprKind::Str(_)) {
            return Ok(());
        }
        if self.is_print(expr)
            && let ast::ExprKind::Call { callee, args } = &expr.kind
            && let Operand::Function(FunctionName::Builtin(name)) = self.expr(callee)?
        {
            let kind = self.print(&name, args, span)?;
            let kind = self.each_thread(kind, span);
            out.push(Stmt { kind, span });
            return Ok(());
        }
        self.statement.dropped = Some(expr.span);
        let operand = self.expr(expr);
        self.statement.dropped = None;
        let kind = match operand? {
            Operand::Results(call, types) if types.iter().any(|ty| matches!(ty, Type::Local(_))) => {
                return self.results_of(call, &types, span).map(|_| ());
            }
            Operand::Results(call, _) => StmtKind::Call(call),
            Operand::Value(Expr { kind: ExprKind::Call(call), .. }) => StmtKind::Call(call),
            Operand::Value(value) => StmtKind::Expr(value),
            // Functions of elements may have effects.
            Operand::Tile(elements) => return self.kept(elements, span).map(|_| ()),
            _ => return Ok(()),
        };
        out.push(Stmt { kind, span });
        Ok(())
    }

    /// An operand as a condition: bool as it is, numbers by `!= 0`, arrays by being set.
    pub fn truth(&mut self, operand: Operand, span: Span) -> Res<Expr> {
        let expr = self.materialize(operand, span)?;
        match expr.ty {
            BOOL => Ok(expr),
            Type::Scalar(_) => Ok(Expr::new(ExprKind::Cast(Box::new(expr)), BOOL, span)),
            Type::Array(_) => Ok(Expr::new(ExprKind::IsSet(Box::new(expr)), BOOL, span)),
            ty => {
                let shown = self.show(ty);
                Err(self.report(messages::types::not_a_condition(&shown, span)))
            }
        }
    }
}

/// A computed message of `assert`, as the source has it; of one f-string what is between the
/// quotes.
fn as_written(text: &str) -> String {
    let inner = |text: &str| {
        let quoted = text.strip_prefix(['f', 'F'])?;
        let quotes = ["\"\"\"", "\'\'\'", "\"", "\'"];
        quotes.iter().find_map(|quote| {
            let inner = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
            (!inner.contains(quote)).then(|| inner.to_string())
        })
    };
    inner(text).unwrap_or_else(|| text.to_string())
}

/// An element of an array, or of a row of one, that has so many dimensions: `x[i]` with one is
/// `x[i, j]`.
fn element_of(text: &str, dims: u8) -> Option<String> {
    let names = ["i", "j", "k", "l"];
    let (before, given) = match text.strip_suffix(']') {
        Some(before) => (format!("{before}, "), 1 + text.matches(',').count()),
        None if text.chars().all(|c| c.is_alphanumeric() || c == '_') => (format!("{text}["), 0),
        None => return None,
    };
    let missing = names.get(given..given + usize::from(dims))?;
    Some(format!("{before}{}]", missing.join(", ")))
}
