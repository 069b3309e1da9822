//! The elements of a tile expression, and the loops that compute them.

use std::fmt;
use std::rc::Rc;

use crate::check::body::Body;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Place, Root, Stmt, StmtKind, ViewIndex};
use crate::check::types::value::{Constant, Number, Operand, Reported, Res};
use crate::check::visit;
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::types::{BOOL, Element, I32, LocalArrayType, MAX_DIMS, Type};

/// The element at an index, one expression of type `int32` for each dimension. `sure`: all of
/// [`Elements::checks`] hold.
pub(crate) type At = Rc<dyn Fn(&mut Body<'_, '_>, &[Expr], bool) -> Res<Expr>>;

/// A tile expression.
#[derive(Clone)]
pub struct Elements {
    pub(crate) ty: LocalArrayType,
    pub(crate) span: Span,
    pub(crate) at: At,
    /// The variables of tiles that are read.
    pub(crate) reads: Vec<Read>,
    /// Arrays are read, too: what is written to arrays can change an element.
    pub(crate) memory: bool,
    /// An element costs no more than reading it from a variable.
    pub(crate) cheap: bool,
    /// It names elements of one variable in another order: what is written there shows here.
    pub(crate) is_view: bool,
    /// A view that has one element of the variable several times.
    pub(crate) repeats: bool,
    /// The variable that was made for it, and has no name.
    pub(crate) result: Option<LocalId>,
    /// Variables of type `bool`: where they all hold, no element needs to ask whether it is inside
    /// its array.
    pub(crate) checks: Vec<LocalId>,
}

/// How an expression reads a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub tile: LocalId,
    /// For the element at an index only the one at the same index.
    pub in_place: bool,
}

impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements").field("ty", &self.ty).field("reads", &self.reads).finish_non_exhaustive()
    }
}

impl Elements {
    /// Elements that depend on no tile.
    pub(crate) fn free(ty: LocalArrayType, span: Span, at: At) -> Elements {
        Elements {
            ty,
            span,
            at,
            reads: Vec::new(),
            memory: false,
            cheap: true,
            is_view: false,
            repeats: false,
            result: None,
            checks: Vec::new(),
        }
    }

    /// A tile of one element.
    pub fn single(value: Expr, element: Element) -> Elements {
        let span = value.span;
        Elements::free(tile_type(element, &[1]), span, Rc::new(move |_, _, _| Ok(value.clone())))
    }

    /// The same elements under other indices: `to` gives the index here for an index there.
    pub(crate) fn reindexed(
        self,
        extents: &[u32],
        span: Span,
        to: impl Fn(&mut Body<'_, '_>, &[Expr]) -> Vec<Expr> + 'static,
    ) -> Elements {
        let (ty, at) = (tile_type(self.ty.element, extents), self.at.clone());
        let reads = self.reads.iter().map(|read| Read { in_place: false, ..*read }).collect();
        // Of a variable it is another name; what has none is computed where it is wanted.
        let is_view = self.cheap && !self.memory && self.result.is_none() && !self.reads.is_empty();
        let at: At = Rc::new(move |body, index, sure| {
            let index = to(body, index);
            at(body, &index, sure)
        });
        Elements { ty, span, at, reads, is_view, result: None, ..self }
    }

    pub fn reads(&self, tile: LocalId) -> bool {
        self.reads.iter().any(|read| read.tile == tile)
    }

    pub fn element(&self) -> Type {
        self.ty.element.into()
    }
}

pub(crate) fn tile_type(element: Element, extents: &[u32]) -> LocalArrayType {
    let mut shape = [1; MAX_DIMS];
    shape.iter_mut().zip(extents).for_each(|(slot, &extent)| *slot = extent);
    LocalArrayType { element, shape, ndim: extents.len() as u8, block: true }
}

/// An `int32`.
pub(super) fn number(n: impl Into<i128>, span: Span) -> Expr {
    Constant::untyped(Number::Int(n.into())).expr(span)
}

pub(super) fn variable(id: LocalId, ty: impl Into<Type>, span: Span) -> Expr {
    Expr::new(ExprKind::Local(id), ty.into(), span)
}

/// `a op b` on two numbers of one type.
pub(super) fn arithmetic(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty, a.span);
    let is = |e: &Expr, n: i128| matches!(e.as_number(), Some(Number::Int(m)) if m == n);
    match op {
        BinaryOp::Add if is(&b, 0) => a,
        BinaryOp::Add if is(&a, 0) => b,
        BinaryOp::Mul if is(&b, 1) => a,
        BinaryOp::Mul if is(&a, 1) => b,
        _ => Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span),
    }
}

pub(super) fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::Compare(op, Box::new(a), Box::new(b)), BOOL, span)
}

pub(super) fn all_of(mut parts: Vec<Expr>, span: Span) -> Expr {
    match parts.len() {
        1 => parts.remove(0),
        0 => Constant::untyped(Number::Bool(true)).expr(span),
        _ => Expr::new(ExprKind::And(parts), BOOL, span),
    }
}

pub(super) fn load(array: Expr, element: Type, index: &[Expr], span: Span) -> Expr {
    let kind = ExprKind::Load { array: Box::new(array), index: index.to_vec(), path: Vec::new() };
    Expr::new(kind, element, span)
}

/// `array[index] = value`
pub(super) fn set(array: Expr, index: &[Expr], value: Expr, span: Span) -> Stmt {
    let root = Root::Element { array: Box::new(array), index: index.to_vec() };
    let place = Place { root, path: Vec::new(), ty: value.ty, span };
    Stmt { kind: StmtKind::Assign(place, value), span }
}

/// `for variable in range(start, end): body`
pub(super) fn count(variable: LocalId, [start, end]: [u32; 2], body: Vec<Stmt>, span: Span) -> Stmt {
    let [start, end, step] = [start, end, 1].map(|n| number(n, span));
    Stmt { kind: StmtKind::For { variable, start, end, step, body }, span }
}

/// The index of element `n` in row-major order.
pub(super) fn unflatten(n: &Expr, extents: &[u32]) -> Vec<Expr> {
    let span = n.span;
    let mut below: u32 = extents.iter().product();
    let mut index = Vec::new();
    for (k, &extent) in extents.iter().enumerate() {
        below /= extent;
        let row = if below == 1 { n.clone() } else { arithmetic(BinaryOp::Div, n.clone(), number(below, span)) };
        // The first one is below its extent by itself.
        index.push(if k == 0 { row } else { arithmetic(BinaryOp::Rem, row, number(extent, span)) });
    }
    index
}

/// The number of the element at an index, in row-major order.
pub(super) fn flatten(index: &[Expr], extents: &[u32], span: Span) -> Expr {
    index.iter().zip(extents).fold(number(0, span), |row, (i, &extent)| {
        let row = match row.as_number() {
            Some(Number::Int(0)) => row,
            _ => arithmetic(BinaryOp::Mul, row, number(extent, span)),
        };
        arithmetic(BinaryOp::Add, row, i.clone())
    })
}

impl Body<'_, '_> {
    pub fn is_tile(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Tile(_) => true,
            Operand::Value(expr) => matches!(expr.ty, Type::Local(LocalArrayType { block: true, .. })),
            _ => false,
        }
    }

    /// The elements of a tile; None for everything else.
    pub fn tile_elements(&self, operand: &Operand) -> Option<Elements> {
        let expr = match operand {
            Operand::Tile(elements) => return Some(elements.clone()),
            Operand::Value(expr) => expr.clone(),
            _ => return None,
        };
        let Type::Local(ty @ LocalArrayType { block: true, .. }) = expr.ty else { return None };
        let (span, element) = (expr.span, ty.element.into());
        let mut reads = Vec::new();
        let whole = matches!(expr.kind, ExprKind::Local(_));
        visit::walk(&expr, &mut |part| {
            if let (ExprKind::Local(tile), Type::Local(_)) = (&part.kind, part.ty) {
                reads.push(Read { tile: *tile, in_place: whole });
            }
        });
        let is_view = matches!(expr.kind, ExprKind::View { .. });
        let at: At = match is_view {
            true => Rc::new(move |body, index, _| {
                let dims = index.iter().cloned().map(ViewIndex::At).collect();
                body.local_part(expr.clone(), ty, dims, span)
            }),
            false => Rc::new(move |_, index, _| Ok(load(expr.clone(), element, index, span))),
        };
        Some(Elements { reads, is_view, ..Elements::free(ty, span, at) })
    }

    /// The elements of a variable without a name that was made for them.
    pub fn result(&self, tile: LocalId, span: Span) -> Res<Elements> {
        match self.tile_elements(&Operand::Value(variable(tile, self.locals[tile].ty, span))) {
            Some(elements) => Ok(Elements { result: Some(tile), ..elements }),
            None => Err(Reported),
        }
    }

    /// A variable that the program does not name.
    pub fn hidden(&mut self, value: Expr) -> Expr {
        if let ExprKind::Const(_) = value.kind {
            return value;
        }
        let (ty, span) = (value.ty, value.span);
        let id = self.new_local("", ty, span);
        let assign = self.assign_local(id, value, span);
        self.statement.pending.push(assign);
        variable(id, ty, span)
    }

    /// Gives a variable that the program does not name a name for people who read the code.
    pub fn name_hidden(&mut self, name: &str, value: &Expr) {
        if let ExprKind::Local(id) = value.kind
            && self.locals[id].name.is_empty()
        {
            self.locals[id].name = name.to_string();
        }
    }

    /// Loops over the indices of a shape, the last one innermost, around what `f` makes of one: one
    /// statement.
    pub fn over(
        &mut self,
        extents: &[u32],
        span: Span,
        f: impl FnOnce(&mut Self, &[Expr]) -> Res<Vec<Stmt>>,
    ) -> Res<Vec<Stmt>> {
        let names = match extents.len() {
            2 => ["row", "column"].as_slice(),
            _ => &[],
        };
        self.over_named(extents, names, span, f)
    }

    /// The same with names of the indices, for people who read the code; those that have none are
    /// called as all counters are.
    pub fn over_named(
        &mut self,
        extents: &[u32],
        names: &[&str],
        span: Span,
        f: impl FnOnce(&mut Self, &[Expr]) -> Res<Vec<Stmt>>,
    ) -> Res<Vec<Stmt>> {
        let named = names.iter().copied().chain(std::iter::repeat(""));
        let counters: Vec<LocalId> =
            extents.iter().zip(named).map(|(_, name)| self.new_local(name, I32, span)).collect();
        let index: Vec<Expr> = counters.iter().map(|&id| variable(id, I32, span)).collect();
        let before = self.statement.pending.len();
        let body = f(self, &index)?;
        if self.statement.pending.len() != before {
            return Err(self.report(messages::tiles::tiles_in_function_of_elements(span)));
        }
        Ok(counters.iter().zip(extents).rev().fold(body, |body, (&id, &n)| vec![count(id, [0, n], body, span)]))
    }

    /// `make(true)` where all checks hold, else `make(false)`: one statement.
    pub fn where_sure(
        &mut self,
        checks: &[LocalId],
        span: Span,
        mut make: impl FnMut(&mut Self, bool) -> Res<Vec<Stmt>>,
    ) -> Res<Vec<Stmt>> {
        let sure = make(self, true)?;
        if checks.is_empty() {
            return Ok(sure);
        }
        let unsure = make(self, false)?;
        let condition = all_of(checks.iter().map(|&check| variable(check, BOOL, span)).collect(), span);
        Ok(vec![Stmt { kind: StmtKind::If { condition, then: sure, otherwise: unsure }, span }])
    }

    /// Sets all elements of a variable.
    pub fn fill(&mut self, tile: LocalId, elements: &Elements, span: Span) -> Res<()> {
        if elements.reads.iter().any(|read| read.tile == tile && !read.in_place) {
            let kept = self.kept(elements.clone(), span)?;
            return self.fill(tile, &kept, span);
        }
        let Elements { ty, at, checks, .. } = elements;
        let array = variable(tile, self.locals[tile].ty, span);
        let stmts = self.where_sure(checks, span, |this, sure| {
            this.over(ty.extents(), span, |this, index| {
                let value = at(this, index, sure)?;
                Ok(vec![set(array.clone(), index, value, span)])
            })
        })?;
        if !elements.reads(tile) {
            self.fills(tile, &stmts);
        }
        self.all_together(stmts, span);
        Ok(())
    }

    /// Notes that a statement sets all elements of a variable, whatever they were.
    pub fn fills(&mut self, tile: LocalId, stmts: &[Stmt]) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::For { variable, .. } => _ = self.tiles.filled.insert(*variable, tile),
                StmtKind::If { then, otherwise, .. } => {
                    self.fills(tile, then);
                    self.fills(tile, otherwise);
                }
                _ => {}
            }
        }
    }

    /// The elements in a variable of their own.
    pub fn kept(&mut self, elements: Elements, span: Span) -> Res<Elements> {
        let id = self.new_local("", Type::Local(elements.ty), span);
        self.fill(id, &elements, span)?;
        self.result(id, span)
    }

    /// The elements, for reading them again and again.
    pub fn cheap(&mut self, elements: Elements, span: Span) -> Res<Elements> {
        if elements.cheap { Ok(elements) } else { self.kept(elements, span) }
    }
}
