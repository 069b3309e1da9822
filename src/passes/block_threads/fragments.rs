//! How long are the rows of a matrix that instructions for matrices read and write? The threads of
//! a warp have places that the fragments of [`Product`] say, and are to meet in as few banks of
//! shared memory as may be: eight rows at once, 16 bytes of each, in factors of 16 bits; four or
//! eight rows in others and in results.

use std::collections::BTreeMap;

use super::banks::{LANES, Lanes, passes};
use crate::ir::{Function, Op, Product, Unit, ValueId};
use crate::types::Type;

/// Rows begin at multiples of so many bytes: what an instruction reads or copies at once.
const ALIGNMENT: u32 = 16;

/// Longer rows than by these repeat what they do.
const MOST: u32 = 128;

/// Factors are read in each step, results once before and once after all of them.
const STEPS: u64 = 8;

/// What the lanes of a warp touch at once: a row and a column for each, and bytes from there.
struct Places {
    at: [[i64; 2]; LANES],
    bytes: u32,
    weight: u64,
}

/// By how many elements the rows of tiles should become longer.
pub(super) fn longer_rows(function: &Function) -> Vec<(ValueId, u32)> {
    let mut places: BTreeMap<ValueId, Vec<Places>> = BTreeMap::new();
    function.walk(function.entry, &mut |_, inst| {
        let Op::Product(product, arrays) = &inst.op else { return };
        let size = |n: usize| size(function, arrays[n]);
        if let Some(size) = size(0) {
            places.entry(arrays[0]).or_default().push(of_result(size));
        }
        for n in 0..if product.part.has_factors() { 2 } else { 0 } {
            if let Some(size) = size(n + 1) {
                places.entry(arrays[n + 1]).or_default().push(of_factor(product, n, size));
            }
        }
    });
    let longer = |(tile, places): (ValueId, Vec<Places>)| Some((tile, longer(function, tile, &places)?));
    places.into_iter().filter_map(longer).collect()
}

/// The fewest more elements of a row with the fewest passes through memory.
fn longer(function: &Function, tile: ValueId, places: &[Places]) -> Option<u32> {
    let (Type::Local(ty), Some(size)) = (function.ty(tile), size(function, tile)) else { return None };
    let row = ty.shape[usize::from(ty.ndim).checked_sub(1)?] * size;
    let cost = |more: u32| places.iter().map(|one| one.weight * one.passes(row + more)).sum::<u64>();
    let most = if row.is_multiple_of(ALIGNMENT) { MOST } else { 0 };
    let more = (0..=most).step_by(ALIGNMENT as usize).min_by_key(|&more| (cost(more), more))?;
    (more > 0).then_some(more / size)
}

fn size(function: &Function, tile: ValueId) -> Option<u32> {
    let Type::Local(ty) = function.ty(tile) else { return None };
    ty.block.then(|| Type::from(ty.element).as_scalar())?.map(|scalar| scalar.size())
}

impl Places {
    fn passes(&self, row: u32) -> u64 {
        let words: Lanes = self.at.map(|[down, right]| (down * i64::from(row) + right) / 4);
        passes(&words, u32::MAX, i64::from(self.bytes.div_ceil(4)))
    }
}

/// Thread `4 g + t` has columns `2 t` and `2 t + 1` of row `g` of a result.
fn of_result(size: u32) -> Places {
    let at = std::array::from_fn(|lane| [lane as i64 / 4, 2 * (lane as i64 % 4) * i64::from(size)]);
    Places { at, bytes: 2 * size, weight: 1 }
}

/// What a warp reads of a factor, `n` 0 or 1.
fn of_factor(product: &Product, n: usize, size: u32) -> Places {
    let at = |place: fn(i64) -> [i64; 2]| std::array::from_fn(|lane| place(lane as i64));
    if matches!(product.unit, Unit::F16 | Unit::F16Short | Unit::Bf16) {
        // `ldmatrix`: eight threads name the rows of a matrix, which they get in one pass.
        return Places { at: at(|lane| [lane % 8, 0]), bytes: ALIGNMENT, weight: STEPS };
    }
    // Rows of the first one are columns of the second, and either may be turned.
    let rows = (n == 0) != product.turned[n];
    let at = match (rows, product.in_pairs() && product.unit != Unit::F64) {
        (true, false) => at(|lane| [lane / 4, lane % 4]),
        (true, true) => at(|lane| [lane / 4, 2 * (lane % 4)]),
        (false, false) => at(|lane| [lane % 4, lane / 4]),
        (false, true) => at(|lane| [2 * (lane % 4), lane / 4]),
    };
    Places { at: at.map(|[row, column]| [row, column * i64::from(size)]), bytes: size, weight: STEPS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Part;

    /// Passes of one access with rows of so many bytes.
    fn passes_of(unit: Unit, n: usize, size: u32, row: u32) -> u64 {
        passes_turned([false; 2], unit, n, size, row)
    }

    fn passes_turned(turned: [bool; 2], unit: Unit, n: usize, size: u32, row: u32) -> u64 {
        of_factor(&Product { part: Part::Set, unit, size: [64; 3], turned }, n, size).passes(row)
    }

    #[test]
    fn longer_rows_keep_the_threads_of_a_fragment_apart() {
        // Halves: four matrices, each in one pass where rows have an odd number of 16 bytes.
        assert_eq!(passes_of(Unit::F16, 0, 2, 128), 32);
        assert_eq!(passes_of(Unit::F16, 0, 2, 128 + 16), 4);
        // TensorFloat-32: eight rows of four words, and four rows of eight.
        assert_eq!(passes_of(Unit::Tf32, 0, 4, 256), 8);
        assert_eq!(passes_of(Unit::Tf32, 0, 4, 256 + 16), 1);
        assert_eq!(passes_of(Unit::Tf32, 1, 4, 256 + 16), 2);
        assert_eq!(passes_of(Unit::Tf32, 1, 4, 256 + 32), 1);
        // Where both go down a column, every second row.
        assert_eq!(passes_turned([true, false], Unit::Tf32, 1, 4, 256 + 16), 1);
        assert_eq!(passes_turned([true, false], Unit::Tf32, 0, 4, 256 + 16), 1);
        // Two neighbouring sums a thread, by halves of a warp.
        assert_eq!(of_result(4).passes(256), 8);
        assert_eq!(of_result(4).passes(256 + 32), 2);
    }
}
