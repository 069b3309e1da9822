//! Fourier transforms, along the last dimension: one pass of `stdlib/fourier.py` for each factor of
//! its length.

use std::rc::Rc;

use super::arguments::shape_text;
use super::elements::{Elements, flatten, tile_type, unflatten};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Step};
use crate::check::types::value::{Constant, Number, Operand, Res};
use crate::source::Span;
use crate::types::{Element, Scalar, Type};

/// The lengths of sums that have a pass of their own in the library, those first that come first.
const PASSES: [u32; 5] = [8, 4, 2, 5, 3];

/// The shared memory that a block of any GPU has, and what of it is left for other tiles of a
/// kernel, in bytes.
const SHARED_BYTES: u64 = 48 << 10;
const ELSE_BYTES: u64 = 8 << 10;

impl Body<'_, '_> {
    /// `tile_fft(t)`, `tile_ifft(t)`: each line along the last dimension becomes its transform,
    /// without a factor.
    pub(super) fn tile_fft(&mut self, inverse: bool, given: &[Given], span: Span) -> Res<Operand> {
        let name = if inverse { "tile_ifft" } else { "tile_fft" };
        let args = self.arguments_of(name, &["inout"], 1, given, span)?;
        let tile = self.tile_argument(&args, "inout")?;
        let Type::Vec(2, scalar @ (Scalar::F32 | Scalar::F64)) = tile.element() else {
            let shown = self.show(tile.element());
            return Err(self.report(messages::tile_arguments::complex_elements(name, &shown, tile.span)));
        };
        let extents = tile.ty.extents().to_vec();
        if extents.len() < 2 {
            return Err(self.report(messages::tile_shapes::lines_of_transform(name, &shape_text(&tile.ty), tile.span)));
        }
        let place = self.changed(&args, "inout")?;
        let n = extents[extents.len() - 1];
        let lines = [extents.iter().product::<u32>() / n, n];
        let mut tiles = Vec::new();
        for k in 0..2 {
            let (ty, at, extents) = (tile_type(Element::Scalar(scalar), &lines), tile.at.clone(), extents.clone());
            let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
                let (line, last) = index.split_at(1);
                let index =
                    [&unflatten(&flatten(line, &lines[..1], span), &extents[..extents.len() - 1])[..], last].concat();
                let value = at(body, &index, sure)?;
                Ok(body.part(value, Step::At(k), span))
            });
            let reads = tile.reads.iter().map(|read| super::elements::Read { in_place: false, ..*read }).collect();
            let part = Elements { reads, memory: tile.memory, cheap: false, ..Elements::free(ty, span, at) };
            tiles.push(self.copied(&part, span)?);
        }
        for _ in 0..2 {
            tiles.push(self.unfilled(scalar, &lines, span));
        }
        if inverse {
            // The inverse is the transform with real and imaginary parts exchanged, before and
            // behind.
            tiles.swap(0, 1);
            tiles.swap(2, 3);
        }
        let mut parts = self.passes(scalar, lines, tiles, span)?;
        if inverse {
            parts.swap(0, 1);
        }
        let (re, im) = (self.result(parts[0], span)?, self.result(parts[1], span)?);
        let (ty, element) = (tile.ty, tile.element());
        let reads = re.reads.iter().chain(&im.reads).map(|read| super::elements::Read { in_place: false, ..*read });
        let reads = reads.collect();
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            let (above, k) = index.split_at(extents.len() - 1);
            let index = [&unflatten(&flatten(above, &extents[..above.len()], span), &lines[..1])[..], k].concat();
            let parts = vec![(re.at)(body, &index, sure)?, (im.at)(body, &index, sure)?];
            Ok(Expr::new(ExprKind::Construct(parts), element, span))
        });
        let transformed = Elements { reads, cheap: false, ..Elements::free(ty, span, at) };
        self.assign_place(place, Operand::Tile(transformed), span)?;
        Ok(Operand::Tuple(Vec::new()))
    }

    /// Calls the passes, from the first pair of tiles to the second and back in turns; gives the
    /// pair with the transform.
    fn passes(&mut self, scalar: Scalar, [lines, n]: [u32; 2], tiles: Vec<LocalId>, span: Span) -> Res<[LocalId; 2]> {
        let (mut from, mut to) = ([tiles[0], tiles[1]], [tiles[2], tiles[3]]);
        let number = |n: u32| {
            let operand = Operand::Const(Constant::untyped(Number::Int(n.into())));
            Given { name: None, operand, span }
        };
        let mut turns = None;
        let mut stride = 1;
        for radix in radices(n) {
            let mut given = vec![from[0], from[1], to[0], to[1]];
            let mut numbers = vec![number(lines), number(stride)];
            let mut function = format!("_fourier_{radix}");
            if !PASSES.contains(&radix) {
                function = "_fourier_any".to_string();
                numbers.push(number(radix));
                let table = match turns {
                    Some(table) => table,
                    None => self.turns(scalar, [lines, n], number(n), span)?,
                };
                turns = Some(table);
                given.push(table);
            }
            self.work(&function, &given, &numbers, span)?;
            std::mem::swap(&mut from, &mut to);
            stride *= radix;
        }
        Ok(from)
    }

    /// Cosines and sines of all turns, for sums of any length. Where they would take the last
    /// shared memory that a block on a GPU surely has, there is no room for them.
    fn turns(&mut self, scalar: Scalar, [lines, n]: [u32; 2], count: Given, span: Span) -> Res<LocalId> {
        let bytes = |numbers: u32| u64::from(numbers) * u64::from(scalar.size());
        // The tile itself, and two pairs.
        let (others, table) = (6 * u64::from(lines) * bytes(n), 2 * bytes(n));
        let room = others > SHARED_BYTES || others + table <= SHARED_BYTES - ELSE_BYTES;
        let id = self.unfilled(scalar, &[2, if room { n } else { 1 }], span);
        if room {
            self.work("_fourier_turns", &[id], &[count], span)?;
        }
        Ok(id)
    }

    /// A tile for the library to work in.
    fn unfilled(&mut self, scalar: Scalar, extents: &[u32], span: Span) -> LocalId {
        let (id, _) = self.scratch(Element::Scalar(scalar), extents, span);
        self.tiles.filled.insert(id, id);
        id
    }
}

/// The factors of a length, in the order of their passes. Few large ones are few ways through
/// memory; with 8 in front vectors of eight are dense from the second pass on.
fn radices(n: u32) -> Vec<u32> {
    let mut left = n;
    let mut found = Vec::new();
    for radix in PASSES {
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
