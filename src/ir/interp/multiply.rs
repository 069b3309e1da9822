//! Products of tiles (rule 22 of the IR), which a block of one thread adds up element by element.

use super::{memory, ops};
use crate::ir::{Part, Product};
use crate::types::{Scalar, Type};

/// A product with the slots of its tiles.
#[derive(Debug)]
pub(super) struct Multiply {
    product: Product,
    /// Of the result and the factors.
    tiles: [Tile; 3],
    /// From what is given in registers to what is given back: first slots and their number. Such a
    /// block has nothing there.
    pub kept: Option<[u32; 3]>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// Of the address.
    pub slot: u32,
    scalar: Scalar,
    columns: u32,
}

impl Tile {
    pub fn new(slot: u32, ty: Type) -> Tile {
        match ty {
            Type::Local(ty) => {
                Tile { slot, scalar: Type::from(ty.element).as_scalar().unwrap_or(Scalar::F32), columns: ty.shape[1] }
            }
            _ => Tile { slot, scalar: Scalar::F32, columns: 0 },
        }
    }

    fn at(&self, base: u64, row: u32, column: u32) -> u64 {
        base + u64::from(self.scalar.size()) * (u64::from(row) * u64::from(self.columns) + u64::from(column))
    }
}

impl Multiply {
    pub fn new(product: Product, tiles: [Tile; 3], kept: Option<[u32; 3]>) -> Multiply {
        Multiply { product, tiles, kept }
    }

    /// # Safety
    /// The slots hold the addresses of tiles that are as large as the product says.
    pub unsafe fn run(&self, frame: &[u64]) {
        let Product { part, unit, size: [rows, columns, inner], turned } = self.product;
        let sums = unit.sums();
        let [c, a, b] = self.tiles.map(|tile| (tile, frame[tile.slot as usize]));
        let read = |(tile, base): (Tile, u64), row: u32, column: u32| {
            // SAFETY: verified IR: indices are below the tile's extents; the caller vouches for the
            // address.
            let bits = unsafe { memory::read(tile.at(base, row, column), tile.scalar) };
            ops::cast(tile.scalar, sums)(bits)
        };
        let turn = |turned: bool, row: u32, column: u32| if turned { (column, row) } else { (row, column) };
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let mut sum = if part == Part::Set { 0 } else { read(c, row, column) };
            for l in 0..inner {
                let (left, right) = (turn(turned[0], row, l), turn(turned[1], l, column));
                sum = ops::fma(sums)(read(a, left.0, left.1), read(b, right.0, right.1), sum);
            }
            let (tile, base) = c;
            // SAFETY: as for reads.
            unsafe { memory::write(tile.at(base, row, column), tile.scalar, ops::cast(sums, tile.scalar)(sum)) };
        }
    }
}
