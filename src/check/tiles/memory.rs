//! Tiles from arrays and to arrays. Outside the array a load gives zero, and a store or atomic does
//! nothing.

use std::rc::Rc;

use super::elements::{Elements, all_of, arithmetic, compare, load, number, set, tile_type};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Place, Root, Step, Stmt, StmtKind};
use crate::check::types::value::{Number, Operand, Res};
use crate::ir::{AtomicOp, BinaryOp, CompareOp};
use crate::source::Span;
use crate::types::{ArrayType, BOOL, Element, I32, Scalar, Type};

/// The part of an array that a tile lies on.
#[derive(Clone)]
struct Region {
    array: Expr,
    ty: ArrayType,
    offset: Vec<Expr>,
    /// Every index is inside the array, as the program promises.
    inside: bool,
    /// An axis along which the elements lie where a tile of indices says.
    picked: Option<(usize, Elements)>,
}

/// An element of an array, and the condition under which it exists.
struct Spot {
    index: Vec<Expr>,
    exists: Option<Expr>,
}

impl Region {
    /// Where the element at an index of the tile lies. `sure`: the whole tile is inside.
    fn spot(&self, body: &mut Body<'_, '_>, index: &[Expr], sure: bool, span: Span) -> Res<Spot> {
        let mut at = Vec::new();
        let mut conditions = Vec::new();
        for (k, (i, offset)) in index.iter().zip(&self.offset).enumerate() {
            let (place, picked) = match &self.picked {
                Some((axis, indices)) if *axis == k => ((indices.at)(body, std::slice::from_ref(i), false)?, true),
                _ => (i.clone(), false),
            };
            let place = arithmetic(BinaryOp::Add, offset.clone(), place);
            if picked || !sure && !self.inside {
                let extent = Expr::new(ExprKind::Extent(Box::new(self.array.clone()), k as u8), I32, span);
                conditions.push(compare(CompareOp::Ge, place.clone(), number(0, span)));
                conditions.push(compare(CompareOp::Lt, place.clone(), extent));
            }
            at.push(place);
        }
        let exists = (!conditions.is_empty()).then(|| all_of(conditions, span));
        Ok(Spot { index: at, exists })
    }

    fn element(&self) -> Type {
        self.ty.element.into()
    }
}

impl Body<'_, '_> {
    /// The region of a call's `a`, `offset` and `bounds_check` for a tile of some extents, and the
    /// variable that says whether all of the tile lies inside.
    fn region(
        &mut self,
        args: &super::arguments::Arguments,
        extents: &[u32],
        span: Span,
    ) -> Res<(Region, Vec<LocalId>)> {
        let (array, ty) = self.array_argument(args, "a")?;
        let ndim = usize::from(ty.ndim);
        if extents.len() != ndim {
            let shown = self.show(array.ty);
            return Err(self.report(messages::tile_shapes::does_not_fit_array(extents.len(), &shown, span)));
        }
        let names = match ndim {
            1 => ["first"].as_slice(),
            2 => &["first_row", "first_column"],
            _ => &[],
        };
        let offset = self.offset_argument(args.get("offset"), ndim, span)?;
        offset.iter().zip(names).for_each(|(place, name)| self.name_hidden(name, place));
        let inside = !self.flag_argument(args.get("bounds_check"), true)?;
        self.flag_argument(args.get("aligned"), false)?;
        let mut region = Region { array, ty, offset, inside, picked: None };
        if let Some(indices) = args.get("indices") {
            let indices = self.tile_given("tile_load_indexed", indices)?;
            let axis = match args.get("axis") {
                Some(axis) => self.axis_argument(axis, ndim)?,
                None => 0,
            };
            if indices.ty.ndim != 1 || indices.ty.element != Element::Scalar(Scalar::I32) {
                let shown = self.show(Type::Local(indices.ty));
                return Err(self.report(messages::tile_shapes::indices_of_load(&shown, indices.span)));
            }
            if indices.ty.shape[0] != extents[axis] {
                return Err(self.report(messages::tile_shapes::number_of_indices(
                    indices.ty.shape[0] as usize,
                    extents[axis] as usize,
                    axis,
                    indices.span,
                )));
            }
            let indices = self.cheap(indices, span)?;
            region.picked = Some((axis, indices));
            return Ok((region, Vec::new()));
        }
        if inside {
            return Ok((region, Vec::new()));
        }
        let mut conditions = Vec::new();
        for (k, (offset, &count)) in region.offset.iter().zip(extents).enumerate() {
            let extent = Expr::new(ExprKind::Extent(Box::new(region.array.clone()), k as u8), I32, span);
            if matches!(offset.as_number(), Some(Number::Int(0))) {
                conditions.push(compare(CompareOp::Ge, extent, number(count, span)));
                continue;
            }
            conditions.push(compare(CompareOp::Ge, offset.clone(), number(0, span)));
            if count == 1 {
                conditions.push(compare(CompareOp::Lt, offset.clone(), extent));
                continue;
            }
            // In this order nothing overflows.
            let last = arithmetic(BinaryOp::Sub, extent, number(count, span));
            conditions.push(compare(CompareOp::Le, offset.clone(), last));
        }
        let id = self.new_local("", BOOL, span);
        let assign = self.assign_local(id, all_of(conditions, span), span);
        self.statement.pending.push(assign);
        Ok((region, vec![id]))
    }

    pub(super) fn tile_load(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let params = ["a", "shape", "offset", "storage", "bounds_check", "aligned"];
        let args = self.arguments_of("tile_load", &params, 2, given, span)?;
        let Some(shape) = args.get("shape") else {
            return Err(self.report(messages::tile_arguments::nothing_given("shape", span)));
        };
        let extents = self.shape_argument(shape)?;
        self.loaded(&args, &extents, span)
    }

    pub(super) fn tile_load_indexed(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let params = ["a", "indices", "shape", "offset", "axis", "storage"];
        let args = self.arguments_of("tile_load_indexed", &params, 3, given, span)?;
        let Some(shape) = args.get("shape") else {
            return Err(self.report(messages::tile_arguments::nothing_given("shape", span)));
        };
        let extents = self.shape_argument(shape)?;
        self.loaded(&args, &extents, span)
    }

    fn loaded(&mut self, args: &super::arguments::Arguments, extents: &[u32], span: Span) -> Res<Operand> {
        let (region, checks) = self.region(args, extents, span)?;
        let element = region.element();
        let ty = tile_type(region.ty.element, extents);
        let reads = region.picked.as_ref().map_or_else(Vec::new, |(_, indices)| indices.reads.clone());
        let reads = reads.into_iter().map(|read| super::elements::Read { in_place: false, ..read }).collect();
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            let Spot { index, exists } = region.spot(body, index, sure, span)?;
            let value = load(region.array.clone(), element, &index, span);
            Ok(match exists {
                None => value,
                Some(condition) => {
                    let otherwise = Box::new(Expr::new(ExprKind::Zero, element, span));
                    let (condition, then) = (Box::new(condition), Box::new(value));
                    Expr::new(ExprKind::Conditional { condition, then, otherwise }, element, span)
                }
            })
        });
        Ok(Operand::Tile(Elements { reads, memory: true, cheap: false, checks, ..Elements::free(ty, span, at) }))
    }

    pub(super) fn tile_store(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_store", &["a", "t", "offset", "bounds_check", "aligned"], 2, given, span)?;
        self.stored(&args, span)
    }

    pub(super) fn tile_store_indexed(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_store_indexed", &["a", "indices", "t", "offset", "axis"], 3, given, span)?;
        self.stored(&args, span)
    }

    fn stored(&mut self, args: &super::arguments::Arguments, span: Span) -> Res<Operand> {
        self.written(args, span, |_, _, place, value| vec![Stmt { kind: StmtKind::Assign(place, value), span }])?;
        Ok(Operand::Tuple(Vec::new()))
    }

    pub(super) fn tile_atomic_add(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args =
            self.arguments_of("tile_atomic_add", &["a", "t", "offset", "bounds_check", "aligned"], 2, given, span)?;
        self.added(&args, span)
    }

    pub(super) fn tile_atomic_add_indexed(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args =
            self.arguments_of("tile_atomic_add_indexed", &["a", "indices", "t", "offset", "axis"], 3, given, span)?;
        self.added(&args, span)
    }

    /// Adds a tile to an array. The old values are a tile, unless nobody asks for it.
    fn added(&mut self, args: &super::arguments::Arguments, span: Span) -> Res<Operand> {
        let tile = self.tile_argument(args, "t")?;
        let mut paths = Vec::new();
        if !self.addable(tile.element(), Vec::new(), &mut paths) {
            let shown = self.show(tile.element());
            return Err(self.report(messages::tile_arguments::added_atomically(&shown, tile.span)));
        }
        let op = AtomicOp::Add;
        let part = |body: &Self, place: &Place, value: &Expr, path: &[u32]| {
            let steps = path.iter().map(|&n| Step::At(n));
            let value = path.iter().fold(value.clone(), |v, &n| body.part(v, Step::At(n), span));
            (Place { path: steps.collect(), ty: value.ty, ..place.clone() }, value)
        };
        if self.statement.dropped == Some(span) || paths.len() > 1 {
            self.written(args, span, |this, _, place, value| {
                let of = |path: &Vec<u32>| {
                    let (place, value) = part(this, &place, &value, path);
                    Stmt { kind: StmtKind::AtomicUpdate { op, place, value }, span }
                };
                paths.iter().map(of).collect()
            })?;
            return match self.statement.dropped {
                Some(dropped) if dropped == span => Ok(Operand::Tuple(Vec::new())),
                _ => Err(self.report(messages::tile_arguments::old_structs(span))),
            };
        }
        let (id, old) = self.scratch(tile.ty.element, tile.ty.extents(), span);
        self.written(args, span, |_, index, place, value| {
            let ty = value.ty;
            let added = Expr::new(ExprKind::Atomic { op, place, value: Box::new(value) }, ty, span);
            vec![set(old.clone(), index, added, span)]
        })?;
        self.result(id, span).map(Operand::Tile)
    }

    /// The paths to the parts of an element that are added to one by one: the fields of structs.
    /// False: there is none for some.
    fn addable(&self, ty: Type, path: Vec<u32>, paths: &mut Vec<Vec<u32>>) -> bool {
        if let Type::Struct(id) = ty {
            let fields: Vec<Type> = self.c.output.structs[id].fields.iter().map(|field| field.ty).collect();
            return fields.iter().enumerate().all(|(n, &field)| {
                let path = path.iter().copied().chain([n as u32]).collect();
                self.addable(field, path, paths)
            });
        }
        paths.push(path);
        ty.scalar_part().is_some_and(|s| s.is_float() || s.size() >= 4)
    }

    /// What `write` makes of each element of `t` that lies in `a`.
    fn written(
        &mut self,
        args: &super::arguments::Arguments,
        span: Span,
        write: impl Fn(&Self, &[Expr], Place, Expr) -> Vec<Stmt>,
    ) -> Res<()> {
        let tile = self.tile_argument(args, "t")?;
        let extents = tile.ty.extents().to_vec();
        let (region, mut checks) = self.region(args, &extents, span)?;
        if tile.element() != region.element() {
            let (found, wanted) = (self.show(tile.element()), self.show(region.element()));
            return Err(self.report(messages::tile_arguments::stored_in_array(
                &found,
                &wanted,
                tile.span,
                region.array.span,
            )));
        }
        // What is stored could change elements that are not read yet.
        let tile = if tile.memory { self.kept(tile, span)? } else { tile };
        checks.extend(&tile.checks);
        let element = region.element();
        let stmts = self.where_sure(&checks, span, |this, sure| {
            this.over(&extents, span, |this, index| {
                let value = (tile.at)(this, index, sure)?;
                let Spot { index: at, exists } = region.spot(this, index, sure, span)?;
                let root = Root::Element { array: Box::new(region.array.clone()), index: at };
                let then = write(this, index, Place { root, path: Vec::new(), ty: element, span }, value);
                Ok(match exists {
                    None => then,
                    Some(condition) => {
                        let kind = StmtKind::If { condition, then, otherwise: Vec::new() };
                        vec![Stmt { kind, span }]
                    }
                })
            })
        })?;
        self.all_together(stmts, span);
        Ok(())
    }
}
