//! How do elements of several components, side by side in memory, become one vector for each component, and back? Components of all lanes
//! lie interleaved there: `x0 y0 z0 x1 y1 z1 ..`.

use std::ops::Range;

use crate::codegen::llvm::builder::{Ty, Val};
use crate::codegen::llvm::lower::Lower;

/// Elements of so many components at most are taken apart by shuffles of all that the lanes read: each vector collects its lanes from as
/// many vectors as there are components, so that the number of shuffles grows with its square.
const MOST_COLLECTED: u32 = 9;

/// Those of more are transposed as squares of so many components at least, and at most.
const TRANSPOSED: Range<u32> = 8..17;

/// Whether wide accesses and shuffles beat a gather for each component.
pub fn is_interleaved(components: u32) -> bool {
    components <= MOST_COLLECTED || components < TRANSPOSED.end && side(components, TRANSPOSED.end) >= TRANSPOSED.start
}

/// The instructions that take elements apart, or put them together: one or more for each vector that a vector collects lanes from; `bits`: of vectors,
/// since those of 512 bits have a shuffle of any lanes of two vectors and others take two for that.
pub fn cost(components: u32, lanes: u32, bits: u32) -> f64 {
    let side = side(components, lanes);
    if components <= 4 {
        f64::from(3 * components)
    } else if side >= TRANSPOSED.start {
        f64::from(components * (1 + side.ilog2()))
    } else {
        f64::from(components * components.min(lanes) * if bits == 256 { 2 } else { 1 })
    }
}

/// The side of the largest squares that elements of so many components can be cut into.
fn side(components: u32, lanes: u32) -> u32 {
    (1 << components.trailing_zeros()).min(lanes)
}

/// How component `k` of all lanes is collected from as many vectors as there are components: by shuffles of what was found so far and the next vector.
fn orders(components: i32, lanes: i32, k: i32) -> impl Iterator<Item = Vec<i32>> {
    // The vector that has a lane, and the place there.
    let source = move |lane: i32| ((lane * components + k) / lanes, (lane * components + k) % lanes);
    // No two lanes are at one place of their vectors: they may stay there until the last shuffle, which makes the others choices between two vectors.
    let stay = components % 2 == 1;
    (1..components).map(move |n| {
        if stay && n + 1 < components {
            return (0..lanes).map(|at| if (n * lanes + at) % components == k { lanes + at } else { at }).collect();
        }
        let taken = |lane: i32| match source(lane) {
            (from, _) if from > n => -1,
            (from, at) if from == n => lanes + at,
            (_, at) if stay || n == 1 => at,
            _ => lane,
        };
        (0..lanes).map(taken).collect()
    })
}

impl<'ctx> Lower<'_, '_, 'ctx> {
    /// One vector for each of the `wanted` components of the elements from `base` on; `ty`: of a component in memory, of `size` bytes.
    pub(super) fn read_interleaved(
        &self,
        base: Val<'ctx>,
        components: u32,
        wanted: Range<u32>,
        (ty, size): (Ty<'ctx>, u32),
    ) -> Vec<Val<'ctx>> {
        let ll = self.ll;
        let lanes = self.lane_count();
        let side = side(components, lanes);
        if side < TRANSPOSED.start || wanted.len() as u32 * 2 < side {
            // Not as one vector: LLVM squares such a one as a whole, to take both apart, and where it reaches another block, it gets there in scalars.
            let part_ty = ll.vector_ty(ty, lanes);
            let part = |n: u32| ll.load(part_ty, ll.offset_by(base, u64::from(n * lanes * size)), size);
            let parts: Vec<Val> = (0..components).map(part).collect();
            return wanted.map(|k| self.collected(&parts, k)).collect();
        }
        let row_ty = ll.vector_ty(ty, side);
        let columns = (0..components / side).flat_map(|square| {
            let rows = (0..side).map(|row| {
                let of_lane = |lane: u32| {
                    let at = ll.offset_by(base, u64::from((lane * components + square * side) * size));
                    ll.load(row_ty, at, size)
                };
                self.joined((row..lanes).step_by(side as usize).map(of_lane).collect(), lanes / side)
            });
            self.transposed(rows.collect(), side)
        });
        columns.skip(wanted.start as usize).take(wanted.len()).collect()
    }

    /// Component `k` of the elements that lie one after the other in `parts`, of which there are as many as components.
    fn collected(&self, parts: &[Val<'ctx>], k: u32) -> Val<'ctx> {
        let orders = orders(parts.len() as i32, self.lane_count() as i32, k as i32);
        parts[1..].iter().zip(orders).fold(parts[0], |found, (&part, order)| self.ll.shuffle(found, part, &order))
    }

    /// Writes elements whose components are `vectors` from `base` on.
    pub(super) fn write_interleaved(&self, base: Val<'ctx>, vectors: Vec<Val<'ctx>>, size: u32) {
        let ll = self.ll;
        let lanes = self.lane_count();
        let components = vectors.len() as u32;
        let side = side(components, lanes);
        if side < TRANSPOSED.start {
            let order: Vec<i32> =
                (0..lanes).flat_map(|n| (0..components).map(move |k| (k * lanes + n) as i32)).collect();
            // The last two are not joined first: LLVM makes longer code of two shuffles.
            let half = components.next_power_of_two() / 2;
            let (first, rest) = vectors.split_at(half.max(1) as usize);
            let first = self.joined(first.to_vec(), half);
            let rest = if rest.is_empty() { ll.undefined(ll.ty(first)) } else { self.joined(rest.to_vec(), half) };
            return ll.store(ll.shuffle(first, rest, &order), base, size);
        }
        for (square, columns) in vectors.chunks(side as usize).enumerate() {
            for (row, joined) in self.transposed(columns.to_vec(), side).into_iter().enumerate() {
                for first in (0..lanes).step_by(side as usize) {
                    let order: Vec<i32> = (first as i32..(first + side) as i32).collect();
                    let own = ll.shuffle(joined, ll.undefined(ll.ty(joined)), &order);
                    let lane = first + row as u32;
                    let at = ll.offset_by(base, u64::from((lane * components + square as u32 * side) * size));
                    ll.store(own, at, size);
                }
            }
        }
    }

    /// Vectors of one width, one after the other in one vector, filled up to `count` of them (a power of two) with what nobody uses.
    fn joined(&self, mut parts: Vec<Val<'ctx>>, count: u32) -> Val<'ctx> {
        let ll = self.ll;
        for _ in 0..count.ilog2() {
            let width = ll.lanes(parts[0]).unwrap_or(1) as i32;
            let order: Vec<i32> = (0..2 * width).collect();
            let join = |pair: &[Val<'ctx>]| {
                let unused = || ll.undefined(ll.ty(pair[0]));
                ll.shuffle(pair[0], pair.get(1).copied().unwrap_or_else(unused), &order)
            };
            parts = parts.chunks(2).map(join).collect();
        }
        parts[0]
    }

    /// Transposes squares that lie beside each other in `rows`: as many rows as a square is wide, in steps that swap halves, quarters and so on.
    fn transposed(&self, mut rows: Vec<Val<'ctx>>, side: u32) -> Vec<Val<'ctx>> {
        let ll = self.ll;
        let lanes = self.lane_count() as i32;
        let mut distance = 1;
        while distance < side as i32 {
            // Of two rows: what stays in place, and what comes from the other, `distance` further left or right.
            let upper: Vec<i32> =
                (0..lanes).map(|n| if n & distance == 0 { n } else { lanes + n - distance }).collect();
            let lower: Vec<i32> =
                (0..lanes).map(|n| if n & distance == 0 { n + distance } else { lanes + n }).collect();
            for i in (0..rows.len()).filter(|i| i & distance as usize == 0) {
                let (a, b) = (rows[i], rows[i + distance as usize]);
                rows[i] = ll.shuffle(a, b, &upper);
                rows[i + distance as usize] = ll.shuffle(a, b, &lower);
            }
            distance *= 2;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_gets_its_component() {
        for (components, lanes) in (2..=16).flat_map(|components| [4, 8, 16, 32].map(|lanes| (components, lanes))) {
            let part = |n: i32| (n * lanes..(n + 1) * lanes).collect::<Vec<_>>();
            for k in 0..components {
                let found = orders(components, lanes, k).zip(1..).fold(part(0), |found, (order, n)| {
                    let both = [found, part(n)].concat();
                    order.iter().map(|&at| usize::try_from(at).map_or(-1, |at| both[at])).collect()
                });
                assert_eq!(
                    found,
                    (0..lanes).map(|lane| lane * components + k).collect::<Vec<_>>(),
                    "{components}, {lanes}"
                );
            }
        }
    }
}
