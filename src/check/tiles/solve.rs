//! Sorting, factors and systems of equations: the loops are functions of the library, on the arrays
//! of tiles.

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, arithmetic, compare};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::value::{FunctionName, Operand, Reported, Res};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::types::{Scalar, Type};

/// Which triangle of a matrix counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Triangle {
    Lower,
    Upper,
}

/// A system of equations: with one triangular matrix, or with both factors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Triangle(Triangle),
    Cholesky,
}

impl System {
    fn name(self, in_place: bool) -> &'static str {
        match (self, in_place) {
            (System::Triangle(Triangle::Lower), false) => "tile_lower_solve",
            (System::Triangle(Triangle::Lower), true) => "tile_lower_solve_inplace",
            (System::Triangle(Triangle::Upper), false) => "tile_upper_solve",
            (System::Triangle(Triangle::Upper), true) => "tile_upper_solve_inplace",
            (System::Cholesky, false) => "tile_cholesky_solve",
            (System::Cholesky, true) => "tile_cholesky_solve_inplace",
        }
    }
}

impl Body<'_, '_> {
    /// Calls a function of the library that works on the arrays of tiles and on values.
    pub(super) fn work(&mut self, function: &str, tiles: &[LocalId], more: &[Given], span: Span) -> Res<()> {
        let given = |&id: &LocalId| {
            let tile = Expr::new(ExprKind::Local(id), self.locals[id].ty, span);
            Given { name: None, operand: Operand::Value(tile), span }
        };
        let given = tiles.iter().map(given).chain(more.iter().cloned()).collect();
        match self.call_function(&FunctionName::Builtin(function.to_string()), given, span)? {
            Operand::Results(call, _) => self.statement.pending.push(Stmt { kind: StmtKind::Call(call), span }),
            _ => return Err(self.report(messages::tile_arguments::library_gives_value(function, span))),
        }
        Ok(())
    }

    /// A copy of the elements, to work on.
    pub(super) fn copied(&mut self, tile: &Elements, span: Span) -> Res<LocalId> {
        self.kept(tile.clone(), span)?.result.ok_or(Reported)
    }

    /// Sorts `keys` upward, and `values` with them; equal keys stay in order.
    pub(super) fn tile_sort(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_sort", &["keys", "values"], 2, given, span)?;
        let (keys, values) = (self.tile_argument(&args, "keys")?, self.tile_argument(&args, "values")?);
        self.same_shape(&keys, &values, span)?;
        if keys.ty.ndim != 1 {
            return Err(self.report(messages::tile_shapes::sorted(&shape_text(&keys.ty), keys.span)));
        }
        if !matches!(keys.element(), Type::Scalar(scalar) if scalar != Scalar::Bool) {
            let shown = self.show(keys.element());
            return Err(self.report(messages::tile_arguments::keys(&shown, keys.span)));
        }
        let (to_keys, to_values) = (self.changed(&args, "keys")?, self.changed(&args, "values")?);
        let mut tiles = vec![self.copied(&keys, span)?, self.copied(&values, span)?];
        for tile in [&keys, &values] {
            let (id, _) = self.scratch(tile.ty.element, tile.ty.extents(), span);
            self.tiles.filled.insert(id, id);
            tiles.push(id);
        }
        self.work("_tile_sort", &tiles, &[], span)?;
        for (place, &sorted) in [to_keys, to_values].into_iter().zip(&tiles) {
            let sorted = self.result(sorted, span)?;
            self.assign_place(place, Operand::Tile(sorted), span)?;
        }
        Ok(Operand::Tuple(Vec::new()))
    }

    fn triangle_argument(&mut self, given: Option<&Given>) -> Res<Triangle> {
        match given.map(|given| (&given.operand, given.span)) {
            None => Ok(Triangle::Lower),
            Some((Operand::Str(word), _)) if word == "lower" => Ok(Triangle::Lower),
            Some((Operand::Str(word), _)) if word == "upper" => Ok(Triangle::Upper),
            Some((_, span)) => Err(self.report(messages::tile_arguments::fill_mode(span))),
        }
    }

    /// A square matrix of float32 or float64.
    fn square(&mut self, name: &str, tile: &Elements) -> Res<u32> {
        if !matches!(tile.element(), Type::Scalar(Scalar::F32 | Scalar::F64)) {
            let shown = self.show(tile.element());
            return Err(self.report(messages::tile_arguments::works_on_floats(name, &shown, tile.span)));
        }
        match *tile.ty.extents() {
            [rows, columns] if rows == columns => Ok(rows),
            _ => Err(self.report(messages::tile_shapes::not_square(name, &shape_text(&tile.ty), tile.span))),
        }
    }

    fn transposed(&self, tile: Elements, span: Span) -> Elements {
        let extents: Vec<u32> = tile.ty.extents().iter().rev().copied().collect();
        tile.reindexed(&extents, span, |_, index| index.iter().rev().cloned().collect())
    }

    /// The factor of a symmetric positive definite matrix, of which one triangle is read; the other
    /// one of the result is zero.
    pub(super) fn tile_cholesky(&mut self, in_place: bool, given: &[Given], span: Span) -> Res<Operand> {
        let name = if in_place { "tile_cholesky_inplace" } else { "tile_cholesky" };
        let args = self.arguments_of(name, &["A", "fill_mode"], 1, given, span)?;
        let a = self.tile_argument(&args, "A")?;
        let n = self.square(name, &a)?;
        let triangle = self.triangle_argument(args.get("fill_mode"))?;
        let place = if in_place { Some(self.changed(&args, "A")?) } else { None };
        let element = a.ty.element;
        let a = if triangle == Triangle::Upper { self.transposed(a, span) } else { a };
        let a = self.copied(&a, span)?;
        let (factor, _) = self.scratch(element, &[n, n], span);
        self.tiles.filled.insert(factor, factor);
        self.work("_tile_cholesky", &[a, factor], &[], span)?;
        let mut result = self.result(factor, span)?;
        if triangle == Triangle::Upper {
            let turned = self.transposed(result, span);
            result = self.kept(turned, span)?;
        }
        match place {
            Some(place) => self.assign_place(place, Operand::Tile(result), span).map(|()| Operand::Tuple(Vec::new())),
            None => Ok(Operand::Tile(result)),
        }
    }

    /// The solution of a system with a triangular matrix, or with a factor of `tile_cholesky`.
    pub(super) fn tile_solve(&mut self, system: System, in_place: bool, given: &[Given], span: Span) -> Res<Operand> {
        let name = system.name(in_place);
        let args = match system {
            System::Cholesky => self.arguments_of(name, &["L", "y", "fill_mode"], 2, given, span)?,
            System::Triangle(_) => self.arguments_of(name, &["L", "y"], 2, given, span)?,
        };
        let (matrix, right) = (self.tile_argument(&args, "L")?, self.tile_argument(&args, "y")?);
        let n = self.square(name, &matrix)?;
        let columns = match *right.ty.extents() {
            [rows] if rows == n => 1,
            [rows, columns] if rows == n => columns,
            _ => {
                return Err(self.report(messages::tile_shapes::right_side(&shape_text(&right.ty), n, right.span)));
            }
        };
        if right.element() != matrix.element() {
            let (a, b) = (self.show(matrix.element()), self.show(right.element()));
            return Err(self.report(messages::tile_arguments::one_type(name, &a, &b, right.span)));
        }
        let place = if in_place { Some(self.changed(&args, "y")?) } else { None };
        let shape = right.ty.extents().to_vec();
        let lone = shape.len() == 1;
        let right = match lone {
            true => right.reindexed(&[n, columns], span, |_, index| index[..1].to_vec()),
            false => right,
        };
        let right = self.copied(&right, span)?;
        let x = match system {
            System::Triangle(triangle) => self.solved(triangle, &matrix, right, span)?,
            System::Cholesky => {
                let triangle = self.triangle_argument(args.get("fill_mode"))?;
                let (here, there) = (matrix.clone(), self.transposed(matrix, span));
                let (lower, upper) = if triangle == Triangle::Lower { (here, there) } else { (there, here) };
                let y = self.solved(Triangle::Lower, &lower, right, span)?;
                self.solved(Triangle::Upper, &upper, y, span)?
            }
        };
        let mut result = self.result(x, span)?;
        if lone {
            let zero = super::elements::number(0, span);
            let first = move |_: &mut Body<'_, '_>, index: &[Expr]| vec![index[0].clone(), zero.clone()];
            let column = result.reindexed(&shape, span, first);
            result = self.kept(column, span)?;
        }
        match place {
            Some(place) => self.assign_place(place, Operand::Tile(result), span).map(|()| Operand::Tuple(Vec::new())),
            None => Ok(Operand::Tile(result)),
        }
    }

    /// The solution of a triangular system. It has a tile of its own: reverse code reads what each
    /// element was computed from.
    fn solved(&mut self, triangle: Triangle, matrix: &Elements, right: LocalId, span: Span) -> Res<LocalId> {
        let ty = match self.locals[right].ty {
            Type::Local(ty) => ty,
            _ => return Err(Reported),
        };
        let matrix = self.copied(matrix, span)?;
        let (x, _) = self.scratch(ty.element, ty.extents(), span);
        self.tiles.filled.insert(x, x);
        let function = if triangle == Triangle::Lower { "_tile_lower_solve" } else { "_tile_upper_solve" };
        self.work(function, &[matrix, right, x], &[], span)?;
        Ok(x)
    }

    /// A square matrix with a vector added to its diagonal.
    pub(super) fn tile_diag_add(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_diag_add", &["a", "d"], 2, given, span)?;
        let (a, d) = (self.tile_argument(&args, "a")?, self.tile_argument(&args, "d")?);
        let fits = matches!((a.ty.extents(), d.ty.extents()), ([r, c], [n]) if r == c && c == n);
        if !fits || a.element() != d.element() || a.element().as_scalar().is_none() {
            let (matrix, vector) = (self.show(Type::Local(a.ty)), self.show(Type::Local(d.ty)));
            return Err(self.report(messages::tile_shapes::diagonal(&vector, &matrix, d.span)));
        }
        let (a, d) = (self.cheap(a, span)?, self.cheap(d, span)?);
        let (ty, at, element) = (a.ty, a.at.clone(), a.element());
        let vector = d.clone();
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            let (value, added) = (at(body, index, sure)?, (vector.at)(body, &index[..1], sure)?);
            let condition = Box::new(compare(CompareOp::Eq, index[0].clone(), index[1].clone()));
            let (then, otherwise) = (Box::new(arithmetic(BinaryOp::Add, value.clone(), added)), Box::new(value));
            Ok(Expr::new(ExprKind::Conditional { condition, then, otherwise }, element, span))
        });
        let mut reads = a.reads;
        reads.extend(d.reads.iter().map(|read| super::elements::Read { in_place: false, ..*read }));
        Ok(Operand::Tile(Elements { reads, cheap: false, ..Elements::free(ty, span, at) }))
    }
}
