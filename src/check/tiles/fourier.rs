//! Fourier transforms, along the last dimension: one pass of `stdlib/fourier.py` for each factor of its length.

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, flatten, tile_type, unflatten};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::tree::LocalId;
use crate::check::tree::{Expr, ExprKind, Step};
use crate::check::types::value::{Constant, Number, Operand, Res};
use crate::diag::Code;
use crate::source::Span;
use crate::types::{Element, Scalar, Type};

impl Body<'_, '_> {
    /// `tile_fft(t)`, `tile_ifft(t)`: each line along the last dimension becomes its transform, without a factor.
    pub(super) fn tile_fft(&mut self, inverse: bool, given: &[Given], span: Span) -> Res<Operand> {
        let name = if inverse { "tile_ifft" } else { "tile_fft" };
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
            tiles.push(self.unfilled(Element::Scalar(scalar), &lines, span));
        }
        if inverse {
            // The inverse is the transform with real and imaginary parts exchanged, before and behind.
            tiles.swap(0, 1);
            tiles.swap(2, 3);
        }
        let mut parts = self.passes(Element::Scalar(scalar), lines, tiles, span)?;
        if inverse {
            parts.swap(0, 1);
        }
        let (re, im) = (self.result(parts[0], span)?, self.result(parts[1], span)?);
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
    /// Calls the passes, from the first pair of tiles to the second and back in turns; gives the pair with the transform.
    fn passes(&mut self, element: Element, [lines, n]: [u32; 2], tiles: Vec<LocalId>, span: Span) -> Res<[LocalId; 2]> {
        let (mut from, mut to) = ([tiles[0], tiles[1]], [tiles[2], tiles[3]]);
        let number = |n: u32| {
            let operand = Operand::Const(Constant::untyped(Number::Int(n.into())));
            Given { name: None, operand, span }
        };
        let passes = radices(n);
        let turns = self.unfilled(element, &[2, turns(n, &passes)], span);
        self.work("_fourier_turns", &[turns], &[number(n)], span)?;
        let mut stride = 1;
        for radix in passes {
            let given = [from[0], from[1], to[0], to[1], turns];
            match radix {
                2 | 3 | 4 | 5 | 8 => {
                    self.work(&format!("_fourier_{radix}"), &given, &[number(lines), number(stride)], span)?
                }
                _ => self.work("_fourier_any", &given, &[number(lines), number(stride), number(radix)], span)?,
            }
            std::mem::swap(&mut from, &mut to);
            stride *= radix;
        }
        Ok(from)
    }

    /// A tile for the library to work in.
    fn unfilled(&mut self, element: Element, extents: &[u32], span: Span) -> LocalId {
        let (id, _) = self.scratch(element, extents, span);
        self.filled.insert(id, id);
        id
    }
}

/// The factors of a length, in the order of their passes. Few large ones are few ways through memory; with 8 in front vectors of eight are dense from the second pass on.
fn radices(n: u32) -> Vec<u32> {
    let mut left = n;
    let mut found = Vec::new();
    for radix in [8, 4, 2, 5, 3] {
        while left.is_multiple_of(radix) {
            found.push(radix);
            left /= radix;
        }
    }
    let mut prime = 7;
    while left > 1 {
        while left.is_multiple_of(prime) {
            found.push(prime);
            left /= prime;
        }
        prime += 2;
    }
    found
}

/// How many parts of a turn in `n` the passes ask for, from 0 on. Those of a radix ask for the first, second and fourth powers of their turns, and multiply the others of
/// these; a sum of any length asks for all. The last pass asks for none.
fn turns(n: u32, passes: &[u32]) -> u32 {
    let asked = |&radix: &u32| match radix {
        5 | 8 => 4 * n / radix,
        3 | 4 => 2 * n / radix,
        _ => n / radix,
    };
    match passes {
        _ if passes.iter().any(|&radix| radix > 5 && radix != 8) => n,
        [turned @ .., _] => turned.iter().map(asked).max().unwrap_or(1),
        [] => 1,
    }
}
