//! How do elements of several components, side by side in memory, become one vector for each
//! component, and back? Components of all lanes lie interleaved there: `x0 y0 z0 x1 y1 z1 ..`.

use std::ops::Range;

use crate::codegen::llvm::builder::{Ty, Val};
use crate::codegen::llvm::lower::Lower;

/// Elements of so many components at most are taken apart by shuffles of all that the lanes read:
/// each vector collects its lanes from as many vectors as there are components, so that the number
/// of shuffles grows with its square.
const MOST_COLLECTED: u32 = 9;

/// Those of more are transposed as squares of so many components at least, and at most.
const TRANSPOSED: Range<u32> = 8..17;

/// Whether wide accesses and shuffles beat a gather for each component.
pub fn is_interleaved(components: u32) -> bool {
    components <= MOST_COLLECTED || components < TRANSPOSED.end && side(components, TRANSPOSED.end) >= TRANSPOSED.start
}

/// The instructions that take elements apart, or put them together: one or more for each vector
/// that a vector collects lanes from; `bits`: of vectors, since those of 512 bits have a shuffle of
/// any lanes of two vectors and others take two for that.
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

/// Component `k` of all lanes out of as many vectors as there are components. `shuffle` gives lanes
/// of two vectors, as they lie one after the other; -1: any.
///
/// With `g` the greatest common divisor of components and lanes, each `g`th part of the vectors has
/// the components of a `g`th part of the lanes, no two of them at one place: there, one vector is
/// made of them by choices between two, in which all stay where they are. Two of these are put in
/// order at once.
fn collected<V: Clone>(parts: &[V], lanes: i32, k: i32, shuffle: &dyn Fn(V, V, &[i32]) -> V) -> V {
    let components = parts.len() as i32;
    let groups = 1 << components.trailing_zeros().min(lanes.trailing_zeros());
    let (members, own) = (components / groups, lanes / groups);
    let place = |lane: i32| (lane * components + k) % lanes;
    let choice = |(found, n): (V, i32), next: &V| {
        let here = |at: i32| ((n + 1) * lanes + at) % components == k;
        let order: Vec<i32> = (0..lanes).map(|at| if here(at) { lanes + at } else { at }).collect();
        (shuffle(found, next.clone(), &order), n + 1)
    };
    let chosen = |(parts, first): (&[V], i32)| parts[1..].iter().fold((parts[0].clone(), first), choice).0;
    if groups == 1 {
        let (last, rest) = parts.split_last().expect("a component");
        let of_last = |lane: i32| (lane * components + k) / lanes == components - 1;
        let order: Vec<i32> = (0..lanes).map(|n| if of_last(n) { lanes + place(n) } else { place(n) }).collect();
        return match rest {
            [] => last.clone(),
            _ => shuffle(chosen((rest, 0)), last.clone(), &order),
        };
    }
    let mut found: Vec<V> = parts.chunks(members as usize).zip((0..).step_by(members as usize)).map(chosen).collect();
    let mut width = own;
    while found.len() > 1 {
        let pair = |(pair, begin): (&[V], i32)| {
            let order = |lane: i32| match (lane - begin).div_euclid(width) {
                0 if width == own => place(lane),
                0 => lane,
                1 if width == own => lanes + place(lane),
                1 => lanes + lane,
                _ => -1,
            };
            shuffle(pair[0].clone(), pair[1].clone(), &(0..lanes).map(order).collect::<Vec<_>>())
        };
        found = found.chunks(2).zip((0..).step_by(2 * width as usize)).map(pair).collect();
        width *= 2;
    }
    found[0].clone()
}

impl<'ctx> Lower<'_, '_, 'ctx> {
    /// One vector for each of the `wanted` components of the elements from `base` on; `ty`: of a
    /// component in memory, of `size` bytes.
    pub(super) fn read_interleaved(
        &self,
        base: Val<'ctx>,
        components: u32,
        wanted: Range<u32>,
        (ty, size): (Ty<'ctx>, u32),
    ) -> Vec<Val<'ctx>> {
        let ll = self.ll;
        let lanes = self.simd_width();
        let side = side(components, lanes);
        if side < TRANSPOSED.start || wanted.len() as u32 * 2 < side {
            // Not as one vector: LLVM squares such a one as a whole, to take both apart, and where
            // it reaches another block, it gets there in scalars.
            let part_ty = ll.vector_ty(ty, lanes);
            let part = |n: u32| ll.load(part_ty, ll.offset_by(base, u64::from(n * lanes * size)), size);
            let parts: Vec<Val> = (0..components).map(part).collect();
            let shuffle = |a, b, order: &[i32]| ll.shuffle(a, b, order);
            return wanted.map(|k| collected(&parts, lanes as i32, k as i32, &shuffle)).collect();
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

    /// Writes elements whose components are `vectors` from `base` on.
    pub(super) fn write_interleaved(&self, base: Val<'ctx>, vectors: Vec<Val<'ctx>>, size: u32) {
        let ll = self.ll;
        let lanes = self.simd_width();
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

    /// Vectors of one width, one after the other in one vector, filled up to `count` of them (a
    /// power of two) with what nobody uses.
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

    /// Transposes squares that lie beside each other in `rows`: as many rows as a square is wide,
    /// in steps that swap halves, quarters and so on.
    fn transposed(&self, mut rows: Vec<Val<'ctx>>, side: u32) -> Vec<Val<'ctx>> {
        let ll = self.ll;
        let lanes = self.simd_width() as i32;
        let mut distance = 1;
        while distance < side as i32 {
            // Of two rows: what stays in place, and what comes from the other, `distance` further
            // left or right.
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
        let shuffle = |a: Vec<i32>, b: Vec<i32>, order: &[i32]| {
            let both = [a, b].concat();
            order.iter().map(|&at| usize::try_from(at).map_or(-1, |at| both[at])).collect()
        };
        for (components, lanes) in (1..=16).flat_map(|components| [4, 8, 16, 32].map(|lanes| (components, lanes))) {
            let parts: Vec<Vec<i32>> = (0..components).map(|n| (n * lanes..(n + 1) * lanes).collect()).collect();
            for k in 0..components {
                let wanted: Vec<i32> = (0..lanes).map(|lane| lane * components + k).collect();
                assert_eq!(collected(&parts, lanes, k, &shuffle), wanted, "{components}, {lanes}");
            }
        }
    }
}
