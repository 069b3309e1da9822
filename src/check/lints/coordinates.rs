//! On which thread coordinates can a variable of the source depend? Lints speak of expressions as
//! they are written, so they look at the typed tree; the sets and the rules are those of
//! [`uniformity`](crate::analysis::uniformity).
//!
//! The answer errs on the side of "depends": a value is called the same for all threads only where
//! it surely is.

use crate::analysis::uniformity::Coordinates;
use crate::check::tree::*;
use crate::check::visit;
use crate::ids::{Id, IdVec};
use crate::ir::CompareOp;
use crate::types::Type;

pub(super) struct Threads {
    /// For each variable, over its whole life.
    locals: IdVec<LocalId, Coordinates>,
    /// The coordinates of the launch, as far as the kernel asks for them.
    pub launch: Coordinates,
}

impl Threads {
    /// None when the function never asks which thread it is.
    pub fn of(function: &Function) -> Option<Threads> {
        let rank = function.kernel_rank?;
        let mut locals = IdVec::new();
        function.locals.values().for_each(|_| {
            locals.push(Coordinates::NONE);
        });
        let mut this = Threads { locals, launch: Coordinates::first(rank) };
        if !asks_for_thread(&function.body) {
            return None;
        }
        loop {
            let before = this.locals.clone();
            let mut control = Control::default();
            this.block(&function.body, &mut control);
            if this.locals == before {
                return Some(this);
            }
        }
    }

    fn grow(&mut self, local: LocalId, by: Coordinates) {
        if local.index() < self.locals.len() {
            self.locals[local] |= by;
        }
    }

    /// What the values of a variable depend on.
    pub fn of_local(&self, local: LocalId) -> Coordinates {
        self.locals.get(local).copied().unwrap_or(Coordinates::ALL)
    }

    /// What the value of an expression depends on.
    pub fn mask(&self, expr: &Expr) -> Coordinates {
        match &expr.kind {
            ExprKind::ThreadIndex(k) => Coordinates::one(*k),
            // `thread_in_block < 0` marks what each thread does by itself, and says nothing of the
            // thread.
            ExprKind::Compare(CompareOp::Lt, thread, zero) if matches!((&thread.kind, &zero.kind), (ExprKind::ThreadInBlock, ExprKind::Const(c)) if c.as_int() == Some(0)) => {
                Coordinates::NONE
            }
            ExprKind::ThreadInBlock => Coordinates::THREAD_IN_BLOCK,
            ExprKind::Local(id) => self.locals[*id],
            // Old values differ by the order of the threads; memory of a thread is its own.
            ExprKind::Atomic { .. } | ExprKind::AtomicCas { .. } => Coordinates::ALL,
            ExprKind::Load { array, .. } if is_of_thread(array.ty) => Coordinates::ALL,
            _ => {
                let mut mask = Coordinates::NONE;
                visit::children(expr, &mut |child| mask |= self.mask(child));
                mask
            }
        }
    }

    /// The variables that expressions assign: those of `Let`, and by-reference arguments.
    fn inner(&mut self, expr: &Expr, control: Coordinates) {
        let mut assigned = Vec::new();
        visit::walk(expr, &mut |part| match &part.kind {
            ExprKind::Let { local, value, .. } => assigned.push((*local, self.mask(value))),
            ExprKind::Call(call) => {
                let mask = call.args.iter().fold(Coordinates::NONE, |mask, arg| mask | self.mask(arg));
                assigned.extend(visit::by_ref_locals(call).chain(tiles_of(call)).map(|local| (local, mask)));
            }
            ExprKind::Atomic { place, .. } | ExprKind::AtomicCas { place, .. } => {
                assigned.extend(tile_of(place).map(|local| (local, Coordinates::ALL)));
            }
            _ => {}
        });
        for (local, mask) in assigned {
            self.grow(local, mask | control);
        }
    }

    fn call(&mut self, call: &Call, targets: &[Option<LocalId>], control: Coordinates) {
        let mask = call.args.iter().fold(control, |mask, arg| mask | self.mask(arg));
        for local in targets.iter().copied().flatten().chain(visit::by_ref_locals(call)).chain(tiles_of(call)) {
            self.grow(local, mask);
        }
    }

    fn block(&mut self, body: &[Stmt], control: &mut Control) {
        for stmt in body {
            let now = control.mask();
            visit::expressions(stmt, &mut |expr| self.inner(expr, now));
            match &stmt.kind {
                StmtKind::Assign(place, value) => {
                    if let Root::Local(id) = place.root {
                        let steps = place.path.iter().fold(Coordinates::NONE, |mask, step| match step {
                            Step::Dynamic(index) => mask | self.mask(index),
                            Step::At(_) => mask,
                        });
                        let mask = self.mask(value) | steps | now;
                        self.grow(id, mask);
                    }
                    // A tile has what its elements are set to, wherever that is.
                    if let (Root::Element { index, .. }, Some(tile)) = (&place.root, tile_of(place)) {
                        let mask = index.iter().fold(self.mask(value) | now, |mask, index| mask | self.mask(index));
                        self.grow(tile, mask);
                    }
                }
                StmtKind::AtomicUpdate { place, .. } => {
                    tile_of(place).into_iter().for_each(|tile| self.grow(tile, Coordinates::ALL));
                }
                StmtKind::AssignMany(pairs) => {
                    for (id, value) in pairs {
                        let mask = self.mask(value) | now;
                        self.grow(*id, mask);
                    }
                }
                StmtKind::AssignCall { targets, call } => self.call(call, targets, now),
                StmtKind::Call(call) | StmtKind::ReturnCall(call) => self.call(call, &[], now),
                StmtKind::If { condition, then, otherwise } => {
                    let outer = control.nested;
                    control.nested |= self.mask(condition);
                    if is_turn(then) {
                        control.nested |= Coordinates::ALL;
                    }
                    self.block(then, control);
                    self.block(otherwise, control);
                    control.nested = outer;
                }
                StmtKind::For { variable, start, end, step, body } => {
                    let range = self.mask(start) | self.mask(end) | self.mask(step);
                    self.grow(*variable, range | now);
                    self.repeat(range, body, control);
                }
                StmtKind::While { condition, body } => {
                    let mask = self.mask(condition);
                    self.repeat(mask, body, control);
                }
                _ => {}
            }
            control.after(stmt);
        }
    }

    /// A loop's body; twice if the first time tells anything new, because what leaves it in one
    /// iteration decides about the next.
    fn repeat(&mut self, iterations: Coordinates, body: &[Stmt], control: &mut Control) {
        let outer = control.nested;
        control.nested |= iterations;
        let before = (self.locals.clone(), *control);
        self.block(body, control);
        if (&self.locals, &*control) != (&before.0, &before.1) {
            self.block(body, control);
        }
        control.nested = outer;
    }
}

/// Whether this reads an element of a tile and sets it by what it was, if that will do, as pushing
/// to a stack and popping from it are made: one thread after the other does it, and as with an
/// atomic each finds another value there.
fn is_turn(body: &[Stmt]) -> bool {
    let [Stmt { kind: StmtKind::Assign(_, value), .. }, Stmt { kind: StmtKind::If { then, .. }, .. }] = body else {
        return false;
    };
    let ExprKind::Load { array, .. } = &value.kind else { return false };
    let sets = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Assign(place, _) if tile_of(place) == tile(array));
    tile(array).is_some() && then.iter().any(sets)
}

/// Whether the elements of an array are those of one thread, and not of a block.
fn is_of_thread(ty: Type) -> bool {
    matches!(ty, Type::Local(array) if !array.block)
}

/// The tile of which a place is an element.
fn tile_of(place: &Place) -> Option<LocalId> {
    match &place.root {
        Root::Element { array, .. } => tile(array),
        _ => None,
    }
}

fn tile(array: &Expr) -> Option<LocalId> {
    match (&array.kind, array.ty) {
        (ExprKind::Local(id), Type::Local(array)) if array.block => Some(*id),
        (ExprKind::View { array, .. }, _) => tile(array),
        _ => None,
    }
}

/// The tiles that a call gets: it may change them.
fn tiles_of(call: &Call) -> impl Iterator<Item = LocalId> + '_ {
    call.args.iter().filter_map(tile)
}

/// Which coordinates decide whether a statement is reached.
#[derive(Clone, Copy, PartialEq, Default)]
pub(super) struct Control {
    /// By the conditions around it.
    pub nested: Coordinates,
    /// By a `return`, `break` or `continue` before it.
    pub left: Coordinates,
}

impl Control {
    pub fn mask(self) -> Coordinates {
        self.nested | self.left
    }

    /// Takes note of a statement that leaves.
    pub fn after(&mut self, stmt: &Stmt) {
        if matches!(stmt.kind, StmtKind::Return(_) | StmtKind::ReturnCall(_) | StmtKind::Break | StmtKind::Continue) {
            self.left |= self.nested;
        }
    }
}

fn asks_for_thread(body: &[Stmt]) -> bool {
    let mut found = false;
    visit::each_statement(body, &mut |stmt| {
        visit::expressions(stmt, &mut |expr| {
            visit::walk(expr, &mut |part| found |= matches!(part.kind, ExprKind::ThreadIndex(_)));
        });
    });
    found
}
