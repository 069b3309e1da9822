//! Sums, extrema, scans.

use std::rc::Rc;

use super::elements::{Elements, arithmetic, compare, count, number, set, unflatten, variable};
use super::fold::{Fold, Step};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, Stmt, StmtKind};
use crate::check::types::value::{Operand, Res};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::types::{Element, I32, Scalar, Type};

#[derive(Clone, Copy)]
pub(super) enum Extremum {
    Min,
    Max,
}

#[derive(Clone, Copy)]
pub(super) enum Scan {
    Sum { exclusive: bool },
    Extremum(Extremum),
}

impl Extremum {
    pub fn op(self) -> BinaryOp {
        match self {
            Extremum::Min => BinaryOp::Min,
            Extremum::Max => BinaryOp::Max,
        }
    }

    /// What people who read the code call it.
    pub fn name(self) -> &'static str {
        match self {
            Extremum::Min => "least",
            Extremum::Max => "greatest",
        }
    }
}

impl Body<'_, '_> {
    fn optional_axis(&mut self, axis: Option<&Given>, tile: &Elements) -> Res<Option<usize>> {
        axis.map(|axis| self.axis_argument(axis, usize::from(tile.ty.ndim))).transpose()
    }

    pub(super) fn tile_sum(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_sum", &["a", "axis"], 1, given, span)?;
        let tile = self.tile_argument(&args, "a")?;
        let axis = self.optional_axis(args.get("axis"), &tile)?;
        self.folded(tile, axis, &Fold::sum(span), span).map(Operand::Tile)
    }

    /// The sum of the products of the elements; of vectors and matrices the sum over their
    /// components, too.
    pub(super) fn tile_dot(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_dot", &["a", "b"], 2, given, span)?;
        let (a, b) = (self.tile_argument(&args, "a")?, self.tile_argument(&args, "b")?);
        let word = match a.element() {
            Type::Vec(..) | Type::Quat(_) => "dot",
            Type::Mat(..) => "ddot",
            _ => "mul",
        };
        let name = crate::check::types::value::FunctionName::Builtin(word.to_string());
        let function = Given { name: None, operand: Operand::Function(name), span };
        let of = |tile: Elements| Given { name: None, span: tile.span, operand: Operand::Tile(tile) };
        let products = self.tile_map(&[function, of(a), of(b)], span)?;
        match products {
            Operand::Tile(products) => self.folded(products, None, &Fold::sum(span), span).map(Operand::Tile),
            other => Ok(other),
        }
    }

    /// `tile_reduce(f, a, axis)`
    pub(super) fn tile_reduce(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_reduce", &["op", "a", "axis"], 2, given, span)?;
        let tile = self.tile_argument(&args, "a")?;
        let f = self.function_argument(args.get("op"), vec![tile.span; 2], span)?;
        let axis = self.optional_axis(args.get("axis"), &tile)?;
        let (element, at) = (tile.element(), tile.span);
        let step: Step = Rc::new(move |body, so_far, value| {
            let outer = std::mem::replace(&mut body.tiles.computed, vec![at]);
            let result = f(body, vec![Operand::Value(so_far), Operand::Value(value)]);
            body.tiles.computed = outer;
            let result = body.materialize(result?, span)?;
            if result.ty != element {
                let (found, wanted) = (body.show(result.ty), body.show(element));
                return Err(body.report(messages::tiles::type_of_reduction(&found, &wanted, span)));
            }
            Ok(result)
        });
        self.folded(tile, axis, &Fold { step, from_zero: false, name: "reduced" }, span).map(Operand::Tile)
    }

    /// A tile of numbers, for what compares them.
    fn numbers(&mut self, name: &'static str, params: &[&'static str], given: &[Given], span: Span) -> Res<Elements> {
        let args = self.arguments_of(name, params, 1, given, span)?;
        let tile = self.tile_argument(&args, "a")?;
        match tile.element() {
            Type::Scalar(scalar) if scalar != Scalar::Bool => Ok(tile),
            ty => {
                let shown = self.show(ty);
                Err(self.report(messages::tile_arguments::works_on_numbers(name, &shown, tile.span)))
            }
        }
    }

    pub(super) fn tile_extremum(&mut self, which: Extremum, given: &[Given], span: Span) -> Res<Operand> {
        let name = match which {
            Extremum::Min => "tile_min",
            Extremum::Max => "tile_max",
        };
        let tile = self.numbers(name, &["a"], given, span)?;
        self.folded(tile, None, &Fold::extremum(which), span).map(Operand::Tile)
    }

    /// The number of the least or greatest element in row-major order, the first one of equals.
    pub(super) fn tile_arg(&mut self, which: Extremum, given: &[Given], span: Span) -> Res<Operand> {
        let (name, op) = match which {
            Extremum::Min => ("tile_argmin", CompareOp::Lt),
            Extremum::Max => ("tile_argmax", CompareOp::Gt),
        };
        let tile = self.numbers(name, &["a"], given, span)?;
        let tile = self.cheap(tile, span)?;
        let extents = tile.ty.extents().to_vec();
        let element = tile.element();
        let (best, place, n) =
            (self.new_local("", element, span), self.new_local("", I32, span), self.new_local("", I32, span));
        let zeros: Vec<Expr> = extents.iter().map(|_| number(0, span)).collect();
        let first = (tile.at)(self, &zeros, false)?;
        let counter = variable(n, I32, span);
        let value = (tile.at)(self, &unflatten(&counter, &extents), false)?;
        let then = vec![self.assign_local(best, value.clone(), span), self.assign_local(place, counter, span)];
        let condition = compare(op, value, variable(best, element, span));
        let kind = StmtKind::If { condition, then, otherwise: Vec::new() };
        let search = count(n, [1, extents.iter().product()], vec![Stmt { kind, span }], span);
        let start = [self.assign_local(best, first, span), self.assign_local(place, number(0, span), span)];
        self.statement.pending.extend(start);
        self.statement.pending.push(search);
        Ok(Operand::Tile(Elements::single(variable(place, I32, span), Element::Scalar(Scalar::I32))))
    }

    /// Running sums and extrema over all elements in row-major order.
    pub(super) fn tile_scan(&mut self, name: &str, scan: Scan, given: &[Given], span: Span) -> Res<Operand> {
        let name = match (name, scan) {
            (_, Scan::Sum { exclusive: false }) => "tile_scan_inclusive",
            (_, Scan::Sum { exclusive: true }) => "tile_scan_exclusive",
            (_, Scan::Extremum(Extremum::Min)) => "tile_scan_min_inclusive",
            (_, Scan::Extremum(Extremum::Max)) => "tile_scan_max_inclusive",
        };
        let tile = self.numbers(name, &["a"], given, span)?;
        let tile = self.cheap(tile, span)?;
        let extents = tile.ty.extents().to_vec();
        let element = tile.element();
        let (id, result) = self.scratch(tile.ty.element, &extents, span);
        let (so_far, n) = (self.new_local("", element, span), self.new_local("", I32, span));
        let running = variable(so_far, element, span);
        let index = unflatten(&variable(n, I32, span), &extents);
        let value = (tile.at)(self, &index, false)?;
        let (start, op) = match scan {
            Scan::Sum { .. } => (Expr::new(ExprKind::Zero, element, span), BinaryOp::Add),
            Scan::Extremum(which) => {
                let zeros: Vec<Expr> = extents.iter().map(|_| number(0, span)).collect();
                ((tile.at)(self, &zeros, false)?, which.op())
            }
        };
        let next = self.assign_local(so_far, arithmetic(op, running.clone(), value), span);
        let store = set(result, &index, running, span);
        let body = match scan {
            Scan::Sum { exclusive: true } => vec![store, next],
            _ => vec![next, store],
        };
        let begin = self.assign_local(so_far, start, span);
        let stmts = vec![count(n, [0, extents.iter().product()], body, span)];
        self.fills(id, &stmts);
        self.statement.pending.push(begin);
        self.statement.pending.extend(stmts);
        self.result(id, span).map(Operand::Tile)
    }
}
