//! Where do the arrays of tiles stand?
//!
//! A variable's array is made, all zeros, in the innermost list of statements that has all its
//! uses, before the first one: so an iteration of a loop has arrays of its own. That may be inside
//! a loop only if the first use sets all elements: else the elements of the iteration before count,
//! and the array is outside of all loops.

use std::collections::HashMap;

use crate::check::tree::{Expr, ExprKind, Local, LocalId, Place, Root, Stmt, StmtKind};
use crate::check::visit;
use crate::ids::IdVec;
use crate::types::{LocalArrayType, Type};

/// Puts the arrays of tiles into a body. `filled`: the tile that a loop, named by its counter, or a
/// call, named by the tile itself, sets all elements of.
pub fn place(
    body: &mut Vec<Stmt>,
    locals: &IdVec<LocalId, Local>,
    own: impl Fn(LocalId) -> bool,
    filled: &HashMap<LocalId, LocalId>,
) {
    let is_tile = |id: &LocalId| matches!(locals[*id].ty, Type::Local(LocalArrayType { block: true, .. }));
    for id in locals.ids().filter(|id| is_tile(id) && own(*id)) {
        let home = Home { id, ty: locals[id].ty, filled };
        if body.iter().any(|stmt| home.mentions(stmt)) {
            home.place(body, false);
        }
    }
}

struct Home<'a> {
    id: LocalId,
    ty: Type,
    filled: &'a HashMap<LocalId, LocalId>,
}

impl Home<'_> {
    /// Whether a place was found; inside a loop there may be none.
    fn place(&self, stmts: &mut Vec<Stmt>, in_loop: bool) -> bool {
        let mut users = stmts.iter_mut().enumerate().filter(|(_, stmt)| self.mentions(stmt));
        let Some((first, stmt)) = users.next() else { return false };
        let alone = users.next().is_none();
        if alone && !self.named_directly(stmt) {
            let looping = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::While { .. });
            let nested: Vec<&mut Vec<Stmt>> = match &mut stmt.kind {
                StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
                StmtKind::For { body, .. } | StmtKind::While { body, .. } => vec![body],
                _ => Vec::new(),
            };
            let mut users: Vec<_> = nested.into_iter().filter(|list| list.iter().any(|s| self.mentions(s))).collect();
            if let [only] = &mut users[..]
                && self.place(only, in_loop || looping)
            {
                return true;
            }
        }
        if in_loop && !self.is_filled_by(&stmts[first]) {
            return false;
        }
        let span = stmts[first].span;
        let place = Place { root: Root::Local(self.id), path: Vec::new(), ty: self.ty, span };
        let kind = StmtKind::Assign(place, Expr::new(ExprKind::LocalArray, self.ty, span));
        stmts.insert(first, Stmt { kind, span });
        true
    }

    fn is_filled_by(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::For { variable, .. } => self.filled.get(variable) == Some(&self.id),
            // By a call, or by each thread of a block an element.
            StmtKind::Call(_) | StmtKind::AssignCall { .. } => self.filled.get(&self.id) == Some(&self.id),
            StmtKind::Assign(Place { root: Root::Element { array, .. }, .. }, _) => {
                matches!(array.kind, ExprKind::Local(id) if id == self.id)
                    && self.filled.get(&self.id) == Some(&self.id)
            }
            StmtKind::If { then, otherwise, .. } => {
                [then, otherwise].into_iter().all(|side| matches!(&side[..], [only] if self.is_filled_by(only)))
            }
            _ => false,
        }
    }

    fn mentions(&self, stmt: &Stmt) -> bool {
        let mut found = false;
        visit::each_statement(std::slice::from_ref(stmt), &mut |stmt| found |= self.named_directly(stmt));
        found
    }

    /// Whether an expression of the statement itself names the variable, not one of a statement in
    /// it.
    fn named_directly(&self, stmt: &Stmt) -> bool {
        let mut found =
            matches!(&stmt.kind, StmtKind::Assign(Place { root: Root::Local(id), .. }, _) if *id == self.id);
        visit::expressions(stmt, &mut |expr| {
            visit::walk(expr, &mut |part| found |= matches!(part.kind, ExprKind::Local(id) if id == self.id));
        });
        found
    }
}
