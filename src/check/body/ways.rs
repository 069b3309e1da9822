//! What does a name mean where ways of control flow join? A variable has its value there. A name of
//! something known while compiling (a function, a type, a shape, a tuple) keeps its meaning if all
//! ways give it the same one. Tuples and shapes are variables, one for each element, as soon as
//! they differ. For all else the use behind is an error with both places (E0322).

use crate::check::body::body_state::{Ends, Loop, Meaning, Several};
use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::value::{Operand, Reported, Res, TypeWord};
use crate::diag::counted;
use crate::ids::Id;
use crate::source::Span;
use crate::syntax::{ast, visit};
use crate::types::{I32, Type};

/// What a name means that a loop assigns, when an iteration begins.
const LOOP: &str = "what a loop assigns";

impl Body<'_, '_> {
    /// Gives a name a meaning from here on.
    pub fn means(&mut self, name: &str, binding: Binding, place: Span) {
        self.rebind(name, Some(Meaning { binding, place: Some(place) }));
    }

    /// Gives a name back the meaning it had.
    pub fn unbind(&mut self, name: &str, before: Option<Binding>) {
        self.rebind(name, before.map(|binding| Meaning { binding, place: None }));
    }

    fn rebind(&mut self, name: &str, meaning: Option<Meaning>) {
        if self.nesting.depth > 0 {
            self.ways.journal.push((name.to_string(), self.meaning_of(name)));
        }
        self.ways.maybe.remove(name);
        self.put(name, meaning);
    }

    fn put(&mut self, name: &str, meaning: Option<Meaning>) {
        let place = meaning.as_ref().and_then(|meaning| meaning.place);
        match meaning {
            Some(Meaning { binding, .. }) => self.scope.insert(name.to_string(), binding),
            None => self.scope.remove(name),
        };
        match place {
            Some(place) => self.ways.places.insert(name.to_string(), place),
            None => self.ways.places.remove(name),
        };
    }

    fn meaning_of(&self, name: &str) -> Option<Meaning> {
        let binding = self.scope.get(name)?.clone();
        let place = self.ways.places.get(name).copied();
        let place = place.or_else(|| if let Binding::Local(id) = binding { Some(self.locals[id].span) } else { None });
        Some(Meaning { binding, place })
    }

    /// Statements that may not run, or more than once. What they name views of tiles or local
    /// arrays is that no longer behind them.
    pub(super) fn branch(&mut self, statements: &[ast::Stmt]) -> Vec<Stmt> {
        let mark = self.ways.journal.len();
        self.ways.branches.push(mark);
        let checked = self.block(statements);
        self.ways.branches.pop();
        for (name, before) in self.changed_since(mark) {
            let is_new = before.is_none_or(|meaning| matches!(meaning.binding, Binding::Left));
            let is_view = matches!(self.scope.get(&name), Some(Binding::Alias(operand)) if self.is_part(operand));
            if is_new && is_view {
                self.rebind(&name, Some(Meaning { binding: Binding::Left, place: None }));
            }
        }
        checked
    }

    /// Whether a name is known where the branch or loop begins that the current statement is in.
    pub fn is_known_outside(&self, name: &str) -> bool {
        let Some(&mark) = self.ways.branches.last() else { return false };
        let known = |binding: &Binding| !matches!(binding, Binding::Left);
        match self.ways.journal[mark..].iter().find(|(changed, _)| changed == name) {
            Some((_, before)) => before.as_ref().is_some_and(|meaning| known(&meaning.binding)),
            None => self.scope.get(name).is_some_and(known),
        }
    }

    /// The names that got another meaning since, each once and with the meaning it had then.
    fn changed_since(&self, mark: usize) -> Vec<(String, Option<Meaning>)> {
        let mut found: Vec<(String, Option<Meaning>)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (name, before) in &self.ways.journal[mark..] {
            if seen.insert(name) {
                found.push((name.clone(), before.clone()));
            }
        }
        found
    }

    /// Where the journal ends now.
    pub fn mark(&self) -> usize {
        self.ways.journal.len()
    }

    /// Forgets the changes since, which something else already took into account.
    pub fn drop_changes(&mut self, mark: usize) {
        self.ways.journal.truncate(mark);
    }

    /// Goes from the end of one branch to the beginning of the other: what names mean at that end.
    /// Variables stay.
    pub fn turn_back(&mut self, mark: usize) -> Ends {
        let changed = self.changed_since(mark);
        self.ways.journal.truncate(mark);
        let mut ends = Ends::new();
        for (name, before) in changed {
            let end = self.meaning_of(&name);
            if before.is_none() && matches!(&end, Some(Meaning { binding: Binding::Local(_), .. })) {
                self.ways.journal.push((name, None));
                continue;
            }
            self.put(&name, before);
            ends.insert(name, end);
        }
        ends
    }

    /// Behind a condition: what names mean if both branches lead here. `mark` is that of the second
    /// branch's beginning, `ends` what they mean at the end of the first.
    pub fn join_ways(&mut self, mark: usize, mut ends: Ends, then: &mut Vec<Stmt>, otherwise: &mut Vec<Stmt>) {
        let mut changed = self.changed_since(mark);
        self.ways.journal.truncate(mark);
        let mut others: Vec<String> =
            ends.keys().filter(|name| !changed.iter().any(|(changed, _)| changed == *name)).cloned().collect();
        others.sort();
        changed.extend(others.into_iter().map(|name| {
            let before = self.meaning_of(&name);
            (name, before)
        }));
        let (then_leaves, otherwise_leaves) = (leaves(then), leaves(otherwise));
        for (name, before) in changed {
            let second = self.meaning_of(&name);
            let first = ends.remove(&name).unwrap_or_else(|| before.clone());
            self.put(&name, before);
            let joined = match (then_leaves, otherwise_leaves) {
                (true, false) => second,
                (false, true) => first,
                _ => {
                    let only = first.is_some() != second.is_some();
                    let joined = self.joined(&name, first, second, (&mut *then, &mut *otherwise));
                    self.rebind(&name, joined);
                    if only {
                        self.note_maybe(&name);
                    }
                    continue;
                }
            };
            self.rebind(&name, joined);
        }
    }

    /// A name that has its meaning on some ways to here: a use of it is warned of.
    fn note_maybe(&mut self, name: &str) {
        let Some(Meaning { binding: Binding::Alias(operand), place: Some(place) }) = self.meaning_of(name) else {
            return;
        };
        if !matches!(operand, Operand::Tuple(_) | Operand::Stack(_)) && !self.is_part(&operand) {
            self.ways.maybe.insert(name.to_string(), (self.nesting.depth, place));
        }
    }

    /// Warns of a use of a name that some ways to here do not give its meaning.
    pub fn warn_maybe(&mut self, name: &str, span: Span) {
        let Some(&(depth, place)) = self.ways.maybe.get(name) else { return };
        // A condition around the use may be what says that it has it.
        if self.nesting.depth > depth {
            return;
        }
        self.ways.maybe.remove(name);
        let is_shape = matches!(self.scope.get(name), Some(Binding::Alias(Operand::Shape(_))));
        let diagnostic = messages::values::maybe_unset(name, is_shape, span, place);
        self.c.diagnostics.push(diagnostic);
    }

    fn joined(
        &mut self,
        name: &str,
        first: Option<Meaning>,
        second: Option<Meaning>,
        sides: (&mut Vec<Stmt>, &mut Vec<Stmt>),
    ) -> Option<Meaning> {
        let (first, second) = match (first, second) {
            (Some(first), Some(second)) => (first, second),
            (first, second) => return first.or(second),
        };
        if same(&first.binding, &second.binding) {
            return Some(first);
        }
        for meaning in [&first, &second] {
            if matches!(meaning.binding, Binding::Broken | Binding::Left | Binding::Several(_)) {
                return Some(meaning.clone());
            }
        }
        let span = first.place.or(second.place)?;
        let values = (self.values_of(&first.binding, span), self.values_of(&second.binding, span));
        let (Some((one, tuple)), Some((other, other_tuple))) = values else {
            return Some(self.differs(&first, &second));
        };
        let alike = one.len() == other.len() && one.iter().zip(&other).all(|(a, b)| a.ty == b.ty);
        if !alike || tuple != other_tuple || one.iter().any(|value| matches!(value.ty, Type::Local(_))) {
            return Some(self.differs(&first, &second));
        }
        let own = |value: &Expr| match value.kind {
            ExprKind::Local(id) if id.index() >= self.function.parameters => Some(id),
            _ => None,
        };
        let kept: Option<Vec<LocalId>> = one.iter().map(own).collect();
        let ids = kept.unwrap_or_else(|| self.variables_for(name, &one, tuple, span));
        for (side, values) in [(sides.0, one), (sides.1, other)] {
            let pairs: Vec<(LocalId, Expr)> = ids
                .iter()
                .copied()
                .zip(values)
                .filter(|(id, value)| !matches!(value.kind, ExprKind::Local(from) if from == *id))
                .collect();
            if !pairs.is_empty() {
                side.push(Stmt { kind: StmtKind::AssignMany(pairs), span });
            }
        }
        let binding = match (tuple, ids.as_slice()) {
            (false, &[id]) => Binding::Local(id),
            _ => self.tuple_of(name, ids, span),
        };
        Some(Meaning { binding, place: Some(span) })
    }

    /// A tuple of variables.
    fn tuple_of(&mut self, name: &str, ids: Vec<LocalId>, span: Span) -> Binding {
        let items = ids.iter().map(|&id| self.local_operand(id, span)).collect();
        let sets = self.ways.tuples.entry(name.to_string()).or_default();
        if !sets.contains(&ids) {
            sets.push(ids);
        }
        Binding::Alias(Operand::Tuple(items))
    }

    /// New variables for values of a name.
    fn variables_for(&mut self, name: &str, values: &[Expr], tuple: bool, span: Span) -> Vec<LocalId> {
        let called = |k: usize| if tuple { format!("{name}[{k}]") } else { name.to_string() };
        values.iter().enumerate().map(|(k, value)| self.new_local(&called(k), value.ty, span)).collect()
    }

    /// The values that a name has, if these are known at run time, and whether they are those of a
    /// tuple.
    fn values_of(&self, binding: &Binding, span: Span) -> Option<(Vec<Expr>, bool)> {
        let value = |operand: &Operand| match operand {
            Operand::Value(expr) => Some(expr.clone()),
            Operand::Const(constant) => Some(constant.expr(span)),
            _ => None,
        };
        match binding {
            Binding::Local(id) => Some((vec![Expr::new(ExprKind::Local(*id), self.locals[*id].ty, span)], false)),
            Binding::Alias(Operand::Const(constant)) => Some((vec![constant.expr(span)], false)),
            Binding::Alias(Operand::Tuple(items)) => Some((items.iter().map(value).collect::<Option<_>>()?, true)),
            Binding::Alias(Operand::Shape(array)) => {
                Some((self.extents(array, span).iter().map(value).collect::<Option<_>>()?, true))
            }
            _ => None,
        }
    }

    fn differs(&self, first: &Meaning, second: &Meaning) -> Meaning {
        let (first, second) = if first.place <= second.place { (first, second) } else { (second, first) };
        let described = |meaning: &Meaning| (self.described(&meaning.binding), meaning.place);
        let is_function = |meaning: &Meaning| matches!(meaning.binding, Binding::Alias(Operand::Function(_)));
        let several = Several {
            one: described(first),
            other: described(second),
            called: is_function(first) && is_function(second),
        };
        Meaning { binding: Binding::Several(Box::new(several)), place: second.place }
    }

    fn described(&self, binding: &Binding) -> String {
        match binding {
            Binding::Local(id) => format!("a variable of type `{}`", self.show(self.locals[*id].ty)),
            Binding::Alias(Operand::Function(name)) => format!("the function `{}`", name.text()),
            Binding::Alias(Operand::Gradient(name)) => format!("the gradient of `{}`", name.text()),
            Binding::Alias(Operand::Type(TypeWord::Type(ty))) => format!("the type `{}`", self.show(*ty)),
            Binding::Alias(Operand::Type(_)) => "a type".to_string(),
            Binding::Alias(Operand::Module(path)) => format!("the module `{path}`"),
            Binding::Alias(Operand::Enum(class)) => format!("the enumeration `{}`", class.name),
            Binding::Alias(Operand::Stack(_)) => "a stack".to_string(),
            Binding::Alias(Operand::Tuple(items)) => {
                let shown: Vec<String> = items
                    .iter()
                    .map(|item| match item {
                        Operand::Value(expr) => format!("`{}`", self.show(expr.ty)),
                        _ => "a constant".to_string(),
                    })
                    .collect();
                format!("a tuple of {}", shown.join(", "))
            }
            Binding::Alias(Operand::Shape(array)) => {
                format!("a shape of {}", counted(self.rank_of(array.ty).into(), "extent"))
            }
            Binding::Alias(operand) if self.is_part(operand) => "a view".to_string(),
            Binding::Alias(_) => "a constant".to_string(),
            Binding::Several(_) | Binding::Left | Binding::Broken => "something else".to_string(),
        }
    }

    /// Refuses the use of a name that means several things.
    pub fn several(&mut self, name: &str, several: &Several, span: Span) -> Reported {
        let (one, other) = (&several.one, &several.other);
        let mut diagnostic = messages::values::several_meanings(name, &one.0, &other.0, span);
        for (what, place) in [one, other] {
            if let Some(place) = place {
                let label =
                    if what == LOOP { "the loop assigns it here".into() } else { format!("{what} from here on") };
                diagnostic = diagnostic.label(*place, label);
            }
        }
        self.report(match several.called {
            true => messages::repairs::functions_where_chosen(diagnostic, name),
            false => messages::repairs::where_chosen(diagnostic),
        })
    }

    /// Begins a loop: what it assigns has a value when an iteration begins, which is the one before
    /// the loop in the first only.
    pub fn enter_loop(&mut self, statements: &[ast::Stmt], out: &mut Vec<Stmt>) {
        for (name, at) in targets(statements) {
            let Some(before) = self.meaning_of(name) else { continue };
            let Binding::Alias(operand) = &before.binding else { continue };
            let place = before.place.unwrap_or(at);
            let is_own = |item: &Operand| matches!(item, Operand::Value(Expr { kind: ExprKind::Local(_), .. }));
            let owned = matches!(operand, Operand::Tuple(items) if items.iter().all(is_own));
            if owned || self.is_part(operand) || matches!(operand, Operand::Stack(_)) {
                continue;
            }
            match self.values_of(&before.binding, place) {
                Some((values, tuple)) => {
                    let ids = self.variables_for(name, &values, tuple, place);
                    out.push(Stmt {
                        kind: StmtKind::AssignMany(ids.iter().copied().zip(values).collect()),
                        span: place,
                    });
                    let binding = match (tuple, ids.as_slice()) {
                        (false, &[id]) => Binding::Local(id),
                        _ => self.tuple_of(name, ids, place),
                    };
                    self.means(name, binding, place);
                }
                None => {
                    let one = (self.described(&before.binding), before.place);
                    let called = matches!(before.binding, Binding::Alias(Operand::Function(_)));
                    let other = (LOOP.to_string(), Some(at));
                    let several = Several { one, other, called };
                    self.means(name, Binding::Several(Box::new(several)), place);
                }
            }
        }
        self.ways.loops.push(Loop { mark: self.ways.journal.len(), leaves: Vec::new() });
    }

    /// Notes what names mean at a `break` or `continue`.
    pub fn note_leave(&mut self) {
        let Some(mark) = self.ways.loops.last().map(|inner| inner.mark) else { return };
        let names = self.changed_since(mark);
        let now: Vec<_> = names.into_iter().map(|(name, _)| (self.meaning_of(&name), name)).collect();
        if let Some(inner) = self.ways.loops.last_mut() {
            inner.leaves.extend(now.into_iter().map(|(meaning, name)| (name, meaning)));
        }
    }

    /// Ends a loop: what names mean behind it, where the ways of no iteration, of a whole one and
    /// of its jumps join.
    pub fn leave_loop(&mut self) {
        let Some(Loop { mark, leaves }) = self.ways.loops.pop() else { return };
        let mut changed = self.changed_since(mark);
        self.ways.journal.truncate(mark);
        for (name, _) in &leaves {
            if !changed.iter().any(|(changed, _)| changed == name) {
                changed.push((name.clone(), self.meaning_of(name)));
            }
        }
        for (name, before) in changed {
            let mut meanings: Vec<Meaning> = before.clone().into_iter().collect();
            meanings.extend(self.meaning_of(&name));
            meanings.extend(leaves.iter().filter(|(left, _)| *left == name).filter_map(|(_, meaning)| meaning.clone()));
            let Some(first) = meanings.first().cloned() else { continue };
            let gone = |meaning: &&Meaning| matches!(meaning.binding, Binding::Broken | Binding::Left);
            let other = meanings.iter().find(|meaning| !same(&meaning.binding, &first.binding)).cloned();
            let is_new = before.is_none();
            let joined = match (meanings.iter().find(gone), other) {
                (Some(gone), _) => gone.clone(),
                (None, None) => first,
                // Behind a loop that began with several there are several.
                (None, Some(_)) if matches!(first.binding, Binding::Several(_)) => first,
                // Two loops count with one name, each in a type of its own.
                (None, Some(_)) if meanings.iter().all(|meaning| matches!(meaning.binding, Binding::Local(_))) => {
                    self.meaning_of(&name).unwrap_or(first)
                }
                (None, Some(other)) if is_new => self.differs(&first, &other),
                // Its value was read as the one before the loop.
                (None, Some(other)) => {
                    self.refuse_change(&name, &first, &other);
                    Meaning { binding: Binding::Broken, place: None }
                }
            };
            self.put(&name, before);
            self.rebind(&name, Some(joined));
            if is_new {
                self.note_maybe(&name);
            }
        }
    }

    fn refuse_change(&mut self, name: &str, before: &Meaning, after: &Meaning) {
        let (was, is) = (self.described(&before.binding), self.described(&after.binding));
        let mut diagnostic = messages::types::another_meaning(name, &was, &is);
        for (what, place) in [(&is, after.place), (&was, before.place)] {
            if let Some(place) = place {
                diagnostic = messages::details::meaning_from_here(diagnostic, name, what, place);
            }
        }
        self.report(messages::repairs::another_name_in_loop(diagnostic));
    }

    /// `name = (a, b)`: each element has a variable. Those of an earlier tuple of the name get the
    /// new values all at once.
    pub(super) fn assign_elements_of(
        &mut self,
        name: &str,
        items: Vec<Operand>,
        (at, value, span): (Span, Span, Span),
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        let values: Res<Vec<Expr>> = items.into_iter().map(|item| self.materialize(item, value)).collect();
        let values = values?;
        let types: Vec<Type> = values.iter().map(|value| value.ty).collect();
        let (ids, reused) = self.tuple_variables(name, &types, at);
        if reused {
            let pairs = ids.iter().copied().zip(values).collect();
            out.push(Stmt { kind: StmtKind::AssignMany(pairs), span });
        } else {
            for (&id, value) in ids.iter().zip(values) {
                out.push(self.assign_local(id, value, span));
            }
        }
        let tuple = self.tuple_of(name, ids, at);
        self.means(name, tuple, at);
        Ok(())
    }

    /// The variables for a tuple of a name, and whether they are those of an earlier one.
    pub(super) fn tuple_variables(&mut self, name: &str, types: &[Type], at: Span) -> (Vec<LocalId>, bool) {
        let fits = |ids: &&Vec<LocalId>| {
            ids.len() == types.len()
                && ids.iter().zip(types).all(|(&id, ty)| self.locals[id].ty == *ty)
                && !types.iter().any(|ty| matches!(ty, Type::Local(_)))
        };
        match self.ways.tuples.get(name).and_then(|sets| sets.iter().find(fits)) {
            Some(ids) => (ids.clone(), true),
            None => {
                let new = |(k, &ty): (usize, &Type)| self.new_local(&format!("{name}[{k}]"), ty, at);
                (types.iter().enumerate().map(new).collect(), false)
            }
        }
    }

    /// Whether a name is a tuple of so many integers as an array has dimensions.
    pub(super) fn has_elements(&self, name: &str, array: &Expr) -> bool {
        let Some(Binding::Alias(Operand::Tuple(items))) = self.scope.get(name) else { return false };
        items.len() == self.extents(array, array.span).len()
            && items.iter().all(|item| matches!(item, Operand::Value(value) if value.ty == I32))
    }

    /// `name = f()`, where `f` returns several values.
    pub(super) fn bind_tuple(&mut self, name: &str, ids: Vec<LocalId>, at: Span) {
        let tuple = self.tuple_of(name, ids, at);
        self.means(name, tuple, at);
    }
}

/// Whether two meanings are one.
fn same(a: &Binding, b: &Binding) -> bool {
    match (a, b) {
        (Binding::Local(a), Binding::Local(b)) => a == b,
        (Binding::Alias(a), Binding::Alias(b)) => same_operand(a, b),
        (Binding::Left, Binding::Left) | (Binding::Broken, Binding::Broken) => true,
        _ => false,
    }
}

pub(super) fn same_operand(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Function(a), Operand::Function(b)) | (Operand::Gradient(a), Operand::Gradient(b)) => a == b,
        (Operand::Const(a), Operand::Const(b)) => a == b,
        (Operand::Module(a), Operand::Module(b)) => a == b,
        (Operand::Enum(a), Operand::Enum(b)) => std::rc::Rc::ptr_eq(a, b),
        (Operand::Type(a), Operand::Type(b)) => a == b,
        (Operand::Stack(a), Operand::Stack(b)) => a.is(b),
        (Operand::Tuple(a), Operand::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_operand(a, b))
        }
        (Operand::Value(a), Operand::Value(b)) | (Operand::Shape(a), Operand::Shape(b)) => {
            matches!((&a.kind, &b.kind), (ExprKind::Local(a), ExprKind::Local(b)) if a == b)
        }
        _ => false,
    }
}

/// Whether no way leads to what is behind statements.
fn leaves(statements: &[Stmt]) -> bool {
    match statements.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Return(_) | StmtKind::ReturnCall(_) | StmtKind::Break | StmtKind::Continue) => true,
        Some(StmtKind::If { then, otherwise, .. }) => leaves(then) && leaves(otherwise),
        _ => false,
    }
}

/// The names that statements assign, each with the first place.
fn targets(statements: &[ast::Stmt]) -> Vec<(&str, Span)> {
    let (mut found, mut seen) = (Vec::new(), std::collections::HashSet::new());
    visit::each_statement(statements, &mut |stmt| {
        for target in visit::targets(stmt) {
            visit::bound_names(target, &mut |expr, name| {
                if seen.insert(name) {
                    found.push((name, expr.span));
                }
            });
        }
    });
    found
}
