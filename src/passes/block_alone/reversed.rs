//! How are the adjoints of the factors of a product computed fast?
//!
//! Reversed, a product adds to the adjoints of both factors in one nest of loops, in which each
//! term of the one waits for the term before. Here each has a nest of its own, whose innermost loop
//! goes over elements that lie side by side, as [`unroll_and_jam`](super::unroll_and_jam) wants
//! them:
//!
//! ```text
//! for l: for i: for j: adj_b[l, j] += adj_c[i, j] * a[i, l]
//!
//! for j: for l: turned[j, l] = b[l, j]
//! for i: for j: for l: sums[i, l] += adj_c[i, j] * turned[j, l]
//! for i: for l: adj_a[i, l] += sums[i, l]
//! ```
//!
//! Each element takes the terms that it took, in the same order.

use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{Access, Function, Op, ValueId};
use crate::passes::block_threads::products::{Counted, Place, Reverse, Share, each, reverse};
use crate::passes::rebuild::replace_each;
use crate::types::{Element, LocalArrayType, Scalar, Type};

/// Rows of fewer elements are no vectors: they are not worth a turned copy.
const LEAST: u32 = 8;

/// What the sums and turned copies of all products may add to the stack, on which the tiles of a
/// kernel are: as much as those may have.
const MOST_BYTES: u64 = 256 << 10;

/// Parts reversed products into one for each factor.
pub(super) fn run(function: &mut Function) {
    let mut found = IdMap::default();
    let mut left = MOST_BYTES;
    function.walk(function.entry, &mut |id, inst| {
        if matches!(inst.op, Op::For { .. })
            && let Some(product) = reverse(function, id)
            && product.loops[1..].iter().all(|level| level.trips >= LEAST)
            && let Some(rest) = left.checked_sub(bytes(&product))
        {
            left = rest;
            found.insert(id, product);
        }
    });
    replace_each(function, found, |b, id, product: Reverse| {
        b.span = b.function.insts[id].span;
        if let Some(share) = &product.first {
            rows(b, &product, share);
        }
        if let Some(share) = &product.second {
            columns(b, &product, share);
        }
    });
}

/// The bytes of the sums and the turned copy.
fn bytes(product: &Reverse) -> u64 {
    let [i, l, j] = product.loops.map(|level| u64::from(level.trips));
    product
        .first
        .map_or(0, |share| i * l * u64::from(product.sums.size()) + j * l * u64::from(share.other.scalar.size()))
}

/// A tile of a row for each iteration of a loop, and a column for each of another one.
fn tile(b: &mut Builder, op: Op, scalar: Scalar, [rows, columns]: [Counted; 2]) -> ValueId {
    let shape = [rows.trips, columns.trips, 1, 1];
    b.one(op, Type::Local(LocalArrayType { element: Element::Scalar(scalar), shape, ndim: 2, block: true }))
}

/// A loop within a loop.
fn all(b: &mut Builder, [outer, inner]: [Counted; 2], body: impl FnOnce(&mut Builder, [ValueId; 2])) {
    each(b, outer, &[], |b, x, _| {
        each(b, inner, &[], |b, y, _| {
            body(b, [x, y]);
            Vec::new()
        });
        Vec::new()
    });
}

/// `adjoint[i, l] += sum over j of result[i, j] * other[l, j]`
fn rows(b: &mut Builder, product: &Reverse, share: &Share) {
    let [i, l, j] = product.loops;
    let factor = share.other;
    let turned = tile(b, Op::SharedArray, factor.scalar, [j, l]);
    let sums = tile(b, Op::LocalArray, product.sums, [i, l]);
    let turned = Place { array: turned, at: [2, 1], ..factor };
    let sums = Place { array: sums, scalar: product.sums, at: [0, 1], ..product.result };
    let sum = Share { adjoint: sums, ..*share };
    all(b, [j.upward(), l.upward()], |b, [j, l]| {
        let value = factor.read(b, [l, l, j]);
        b.effect(Op::Store { access: Access::element(turned.array, &[j, l]), value });
    });
    each(b, i.upward(), &[], |b, i, _| {
        each(b, j, &[], |b, j, _| {
            let x = product.wide(b, &product.result, [i, i, j]);
            each(b, l.upward(), &[], |b, l, _| {
                let y = product.wide(b, &turned, [i, l, j]);
                sum.add(b, [i, l, j], [x, y]);
                Vec::new()
            });
            Vec::new()
        });
        Vec::new()
    });
    all(b, [i.upward(), l.upward()], |b, [i, l]| {
        let sum = sums.read(b, [i, l, l]);
        share.adjoint.add(b, [i, l, l], sum);
    });
}

/// `adjoint[l, j] += result[i, j] * other[i, l]`, one after the other.
fn columns(b: &mut Builder, product: &Reverse, share: &Share) {
    let [i, l, j] = product.loops;
    each(b, l.upward(), &[], |b, l, _| {
        each(b, i, &[], |b, i, _| {
            let x = product.wide(b, &share.other, [i, l, l]);
            each(b, j.upward(), &[], |b, j, _| {
                let y = product.wide(b, &product.result, [i, l, j]);
                share.add(b, [i, l, j], [x, y]);
                Vec::new()
            });
            Vec::new()
        });
        Vec::new()
    });
}
