//! Which variables does each `if` and each loop change, in a way that somebody sees?
//!
//! SSA form needs, for every `if`, the locals that become its results, and for every loop the
//! locals it carries. Those are the locals assigned inside that are *live*: read on some way
//! onwards before they are assigned again. Liveness on structured code needs no iteration: what is
//! live at the head of a loop is what is live after it, plus what its body reads before writing
//! (its *exposed* reads). So each statement is visited once for the exposed reads of its innermost
//! loop and once for the final answer.

use std::collections::HashMap;

use super::local_set::LocalSet;
use crate::check::tree::*;
use crate::check::visit::{self, by_ref_locals};

/// The answers for one function. Keys are addresses of nodes of the borrowed tree.
#[derive(Default)]
pub(super) struct Flow {
    statements: HashMap<*const Stmt, FlowFacts>,
    /// Per `and`, `or`, conditional expression: the locals that its lazily evaluated parts assign
    /// through by-reference calls. Only those that assign any are here.
    lazy: HashMap<*const Expr, Vec<LocalId>>,
}

/// About one `if`, `for` or `while`.
#[derive(Default)]
pub(super) struct FlowFacts {
    /// The results of an `if`, the carried locals of a loop; in the order of the locals.
    pub changed: Vec<LocalId>,
    /// Every way through the `then` or `otherwise` part of an `if` ends in a jump.
    pub then_leaves: bool,
    pub otherwise_leaves: bool,
    /// A `break` or `continue` of this loop is in its body.
    pub jumps: bool,
    /// The variable of a `for` chooses a component of a vector, matrix or quaternion in its body.
    pub selects_component: bool,
    /// The condition of a `while` assigns locals by reference.
    pub condition_assigns: bool,
    /// Nodes in the body of a loop.
    pub weight: usize,
}

impl Flow {
    pub fn of(function: &Function) -> Flow {
        let none = LocalSet::new(function.locals.len());
        let mut survey = Survey {
            flow: Flow::default(),
            assigned: HashMap::new(),
            none: none.clone(),
            selectors: none,
            sources: HashMap::new(),
        };
        survey.block(&function.body);
        let Survey { mut flow, assigned, none, .. } = survey;

        let mut at_return = none.clone();
        let kept = function.accumulators.iter().chain(&function.by_ref);
        kept.for_each(|&local| at_return.insert(local));
        let mut liveness = Liveness {
            flow: &mut flow,
            assigned: &assigned,
            exposed: HashMap::new(),
            none,
            at_return: at_return.clone(),
        };
        liveness.block(&function.body, at_return, None, true);
        flow
    }

    /// The facts about an `if`, `for` or `while` of the function.
    pub fn facts(&self, stmt: &Stmt) -> &FlowFacts {
        &self.statements[&std::ptr::from_ref(stmt)]
    }

    /// The locals that the lazily evaluated parts of an expression assign.
    pub fn lazily_assigned(&self, expr: &Expr) -> &[LocalId] {
        self.lazy.get(&std::ptr::from_ref(expr)).map_or(&[], Vec::as_slice)
    }
}

/// Whether control never reaches the end of these statements.
fn leaves(stmts: &[Stmt], flow: &Flow) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::ReturnCall(_) => true,
        StmtKind::If { .. } => {
            let facts = flow.facts(stmt);
            facts.then_leaves && facts.otherwise_leaves
        }
        _ => false,
    })
}

/// What a list of statements does, summed up from the inside out.
struct Summary {
    assigned: LocalSet,
    jumps: bool,
    weight: usize,
}

/// The first pass: what is assigned where, and everything else that does not depend on what comes
/// after.
struct Survey {
    flow: Flow,
    assigned: HashMap<*const Stmt, LocalSet>,
    none: LocalSet,
    /// Locals seen in a component step so far.
    selectors: LocalSet,
    /// The locals that the last value of a local was computed from: those of `i + 1` for
    /// `k = i + 1`, and the index that `v[i] += 1` evaluates once.
    sources: HashMap<LocalId, Vec<LocalId>>,
}

impl Survey {
    fn block(&mut self, stmts: &[Stmt]) -> Summary {
        let mut sum = Summary { assigned: self.none.clone(), jumps: false, weight: 0 };
        for stmt in stmts {
            self.statement(stmt, &mut sum);
        }
        sum
    }

    fn statement(&mut self, stmt: &Stmt, sum: &mut Summary) {
        sum.weight += 1;
        match &stmt.kind {
            StmtKind::If { condition, then, otherwise } => {
                self.expression(condition, sum);
                let mut inside = self.block(then);
                let second = self.block(otherwise);
                inside.assigned.add_all(&second.assigned);
                let facts = FlowFacts {
                    then_leaves: leaves(then, &self.flow),
                    otherwise_leaves: leaves(otherwise, &self.flow),
                    ..FlowFacts::default()
                };
                sum.jumps |= inside.jumps | second.jumps;
                sum.weight += inside.weight + second.weight;
                self.record(stmt, facts, inside.assigned, sum);
            }
            StmtKind::For { variable, start, end, step, body } => {
                for bound in [start, end, step] {
                    self.expression(bound, sum);
                }
                self.selectors.remove(*variable);
                let mut inside = self.block(body);
                inside.assigned.insert(*variable);
                let facts = FlowFacts {
                    jumps: inside.jumps,
                    weight: inside.weight,
                    selects_component: self.selectors.contains(*variable),
                    ..FlowFacts::default()
                };
                sum.weight += inside.weight;
                self.record(stmt, facts, inside.assigned, sum);
            }
            StmtKind::While { condition, body } => {
                let mut head = Summary { assigned: self.none.clone(), jumps: false, weight: 0 };
                self.expression(condition, &mut head);
                let condition_assigns = head.assigned != self.none;
                let mut inside = self.block(body);
                inside.assigned.add_all(&head.assigned);
                let facts =
                    FlowFacts { jumps: inside.jumps, weight: inside.weight, condition_assigns, ..FlowFacts::default() };
                sum.weight += inside.weight + head.weight;
                self.record(stmt, facts, inside.assigned, sum);
            }
            StmtKind::Break | StmtKind::Continue => sum.jumps = true,
            _ => {
                match &stmt.kind {
                    StmtKind::Assign(place, value) => {
                        self.selecting(&place.path);
                        if let Root::Local(local) = place.root {
                            sum.assigned.insert(local);
                            if place.path.is_empty() && value.ty.is_int() {
                                self.sources.insert(local, locals_in(value));
                            }
                        }
                    }
                    StmtKind::AssignMany(pairs) => pairs.iter().for_each(|(local, _)| sum.assigned.insert(*local)),
                    StmtKind::AssignCall { targets, call } => {
                        targets
                            .iter()
                            .flatten()
                            .copied()
                            .chain(by_ref_locals(call))
                            .for_each(|l| sum.assigned.insert(l));
                    }
                    StmtKind::Call(call) | StmtKind::ReturnCall(call) => {
                        by_ref_locals(call).for_each(|local| sum.assigned.insert(local));
                    }
                    StmtKind::AtomicUpdate { place, .. } => self.selecting(&place.path),
                    _ => {}
                }
                visit::expressions(stmt, &mut |expr| self.expression(expr, sum));
            }
        }
    }

    fn record(&mut self, stmt: &Stmt, facts: FlowFacts, assigned: LocalSet, sum: &mut Summary) {
        sum.assigned.add_all(&assigned);
        self.flow.statements.insert(stmt, facts);
        self.assigned.insert(stmt, assigned);
    }

    fn expression(&mut self, expr: &Expr, sum: &mut Summary) {
        let mut by_ref = Vec::new();
        self.nested(expr, sum, &mut by_ref);
        by_ref.into_iter().for_each(|local| sum.assigned.insert(local));
    }

    /// Adds to `by_ref` the locals that `expr` assigns.
    fn nested(&mut self, expr: &Expr, sum: &mut Summary, by_ref: &mut Vec<LocalId>) {
        sum.weight += 1;
        let before = by_ref.len();
        visit::children(expr, &mut |child| self.nested(child, sum, by_ref));
        if !is_table(expr) {
            self.selecting(visit::path(expr));
        }
        match &expr.kind {
            ExprKind::Call(call) => by_ref.extend(by_ref_locals(call)),
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Conditional { .. } if by_ref.len() > before => {
                let mut assigned = by_ref[before..].to_vec();
                assigned.sort();
                assigned.dedup();
                self.flow.lazy.insert(expr, assigned);
            }
            _ => {}
        }
    }

    /// Notes the locals that choose a component, and those that they were computed from. Only
    /// composites have steps by a value.
    fn selecting(&mut self, path: &[Step]) {
        for step in path {
            if let Step::Dynamic(index) = step {
                let mut chosen_by = locals_in(index);
                let mut seen = 0;
                while let Some(&local) = chosen_by.get(seen) {
                    self.selectors.insert(local);
                    let sources = self.sources.get(&local).into_iter().flatten().copied();
                    let new: Vec<LocalId> = sources.filter(|source| !chosen_by.contains(source)).collect();
                    chosen_by.extend(new);
                    seen += 1;
                }
            }
        }
    }
}

/// The locals that an expression reads.
fn locals_in(expr: &Expr) -> Vec<LocalId> {
    let mut found = Vec::new();
    visit::walk(expr, &mut |part| {
        if let ExprKind::Local(local) = part.kind {
            found.push(local);
        }
    });
    found
}

/// Whether an expression picks from a table: numbers known now, more than a loop over components is
/// written out for. It reads the same in a loop as in straight code, which would only be longer.
fn is_table(expr: &Expr) -> bool {
    const MIN_NUMBERS: usize = 3;
    let ExprKind::Part { base, .. } = &expr.kind else { return false };
    let ExprKind::Construct(numbers) = &base.kind else { return false };
    numbers.len() >= MIN_NUMBERS && numbers.iter().all(|number| matches!(number.kind, ExprKind::Const(_)))
}

/// Where `break` and `continue` go: what is live there.
#[derive(Clone, Copy)]
struct Targets<'a> {
    at_break: &'a LocalSet,
    at_continue: &'a LocalSet,
}

/// The second pass, backwards.
struct Liveness<'f> {
    flow: &'f mut Flow,
    assigned: &'f HashMap<*const Stmt, LocalSet>,
    /// Per loop, the locals it reads before it writes them.
    exposed: HashMap<*const Stmt, LocalSet>,
    none: LocalSet,
    at_return: LocalSet,
}

impl Liveness<'_> {
    /// What is live before `stmts`, given what is live after. With `record`, also writes down the
    /// changed locals of the statements inside.
    fn block(&mut self, stmts: &[Stmt], mut live: LocalSet, targets: Option<Targets>, record: bool) -> LocalSet {
        for stmt in stmts.iter().rev() {
            self.statement(stmt, &mut live, targets, record);
        }
        live
    }

    fn statement(&mut self, stmt: &Stmt, live: &mut LocalSet, targets: Option<Targets>, record: bool) {
        match &stmt.kind {
            StmtKind::Assign(Place { root: Root::Local(local), path, .. }, _) => {
                if path.is_empty() {
                    live.remove(*local);
                } else {
                    live.insert(*local);
                }
            }
            StmtKind::AssignMany(pairs) => pairs.iter().for_each(|(local, _)| live.remove(*local)),
            StmtKind::AssignCall { targets, .. } => targets.iter().flatten().for_each(|&local| live.remove(local)),
            StmtKind::If { then, otherwise, .. } => {
                if record {
                    self.set_changed(stmt, live);
                }
                let before = self.block(then, live.clone(), targets, record);
                *live = self.block(otherwise, std::mem::take(live), targets, record);
                live.add_all(&before);
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => {
                let mut head = live.clone();
                head.add_all(&self.exposed(stmt));
                if record {
                    self.set_changed(stmt, &head);
                    self.block(body, head.clone(), Some(Targets { at_break: live, at_continue: &head }), true);
                }
                *live = head;
            }
            StmtKind::Return(_) | StmtKind::ReturnCall(_) => *live = self.at_return.clone(),
            StmtKind::Break => *live = targets.map_or(&self.none, |t| t.at_break).clone(),
            StmtKind::Continue => *live = targets.map_or(&self.none, |t| t.at_continue).clone(),
            _ => {}
        }
        reads(stmt, live);
    }

    /// The locals that a loop (past the bounds of a `for`) reads before it writes them.
    fn exposed(&mut self, stmt: &Stmt) -> LocalSet {
        if let Some(known) = self.exposed.get(&std::ptr::from_ref(stmt)) {
            return known.clone();
        }
        let none = self.none.clone();
        let inside = Some(Targets { at_break: &none, at_continue: &none });
        let exposed = match &stmt.kind {
            StmtKind::For { variable, body, .. } => {
                let mut live = self.block(body, none.clone(), inside, false);
                live.remove(*variable);
                live
            }
            StmtKind::While { body, .. } => {
                let mut live = self.block(body, none.clone(), inside, false);
                reads(stmt, &mut live);
                live
            }
            _ => none.clone(),
        };
        self.exposed.insert(stmt, exposed.clone());
        exposed
    }

    fn set_changed(&mut self, stmt: &Stmt, live: &LocalSet) {
        let key = std::ptr::from_ref(stmt);
        if let (Some(facts), Some(assigned)) = (self.flow.statements.get_mut(&key), self.assigned.get(&key)) {
            facts.changed = assigned.common(live);
        }
    }
}

/// Adds the locals that the expressions of a statement read.
fn reads(stmt: &Stmt, live: &mut LocalSet) {
    let mut read = |expr: &Expr| {
        visit::walk(expr, &mut |part| match &part.kind {
            ExprKind::Local(local) => live.insert(*local),
            ExprKind::Call(call) => by_ref_locals(call).for_each(|local| live.insert(local)),
            _ => {}
        });
    };
    visit::expressions(stmt, &mut read);
    if let StmtKind::AssignCall { call, .. } | StmtKind::Call(call) | StmtKind::ReturnCall(call) = &stmt.kind {
        by_ref_locals(call).for_each(|local| live.insert(local));
    }
}
