//! Fourier transforms, along the last dimension.

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, flatten, tile_type, unflatten};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::tree::{Expr, ExprKind, Step};
use crate::check::types::value::{Operand, Res};
use crate::diag::Code;
use crate::source::Span;
use crate::types::{Element, Scalar, Type};

impl Body<'_, '_> {
    /// `tile_fft(t)`, `tile_ifft(t)`: each line along the last dimension becomes its transform, without a factor.
    pub(super) fn tile_fft(&mut self, inverse: bool, given: &[Given], span: Span) -> Res<Operand> {
        let (name, function) = match inverse {
            false => ("tile_fft", "_tile_fft"),
            true => ("tile_ifft", "_tile_ifft"),
        };
        let args = self.arguments_of(name, &["inout"], 1, given, span)?;
        let tile = self.tile_argument(&args, "inout")?;
        let Type::Vec(2, scalar @ (Scalar::F32 | Scalar::F64)) = tile.element() else {
            let shown = self.show(tile.element());
            let message = format!("`{name}` works on `vec2f` and `vec2d`: the real and the imaginary part");
            return self.error(Code::E0401, tile.span, message, format!("a tile of `{shown}`"));
        };
        let extents = tile.ty.extents().to_vec();
        if extents.len() < 2 {
            let message = format!("`{name}` takes two dimensions or more, not {}", shape_text(&tile.ty));
            return self.error(Code::E0319, tile.span, message, "give it a first dimension of 1");
        }
        let place = self.changed(&args, "inout", &tile)?;
        let n = extents[extents.len() - 1];
        let lines = [extents.iter().product::<u32>() / n, n];
        let mut tiles = Vec::new();
        for k in 0..2 {
            let (ty, at, extents) = (tile_type(Element::Scalar(scalar), &lines), tile.at.clone(), extents.clone());
            let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
                let index = unflatten(&flatten(index, &lines, span), &extents);
                let value = at(body, &index, sure)?;
                Ok(body.part(value, Step::At(k), span))
            });
            let reads = tile.reads.iter().map(|read| super::elements::Read { in_place: false, ..*read }).collect();
            let part = Elements { reads, memory: tile.memory, cheap: false, ..Elements::free(ty, span, at) };
            tiles.push(self.copied(&part, span)?);
        }
        for _ in 0..2 {
            let (id, _) = self.scratch(Element::Scalar(scalar), &lines, span);
            self.filled.insert(id, id);
            tiles.push(id);
        }
        self.work(function, &tiles, &[], span)?;
        let (re, im) = (self.result(tiles[0], span)?, self.result(tiles[1], span)?);
        let (ty, element) = (tile.ty, tile.element());
        let reads = re.reads.iter().chain(&im.reads).map(|read| super::elements::Read { in_place: false, ..*read });
        let reads = reads.collect();
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            let index = unflatten(&flatten(index, &extents, span), &lines);
            let parts = vec![(re.at)(body, &index, sure)?, (im.at)(body, &index, sure)?];
            Ok(Expr::new(ExprKind::Construct(parts), element, span))
        });
        let transformed = Elements { reads, cheap: false, ..Elements::free(ty, span, at) };
        self.assign_place(place, Operand::Tile(transformed), span)?;
        Ok(Operand::Tuple(Vec::new()))
    }
}
