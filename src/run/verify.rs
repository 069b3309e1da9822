//! Do devices agree? The arrays of a launch after a run on each, compared by the tolerances of the
//! conformance tests: integers and bools are equal; floats within some units in the last place, or
//! within a bound relative to the number and to the largest of its array.

use super::args::Arguments;
use crate::ir::eval;
use crate::run::args::elements::{Leaf, leaves};
use crate::types::{Scalar, StructTable};

/// What came of the comparison of one array.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    /// `x`, `x.grad`, `s.x.pos`.
    pub array: String,
    /// Scalars compared, and those that are too far apart.
    pub scalars: usize,
    pub wrong: usize,
    /// The largest difference.
    pub difference: f64,
    /// Every bit is the same.
    pub same_bits: bool,
}

/// Compares all arrays and gradients of two runs of one launch; `expected` is the one that is
/// believed.
///
/// `fast`: the code takes approximations of `float32`, whose bounds are ten times as wide.
pub fn compare(expected: &Arguments, found: &Arguments, structs: &StructTable, fast: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (one, other) in expected.arrays.iter().zip(&found.arrays) {
        for leaf in leaves(one.ty.element.into(), structs).unwrap_or_default() {
            let (a, b) = (expected.gather(one, &leaf), found.gather(other, &leaf));
            rows.push(row(format!("{}{}", one.key, leaf.suffix), &leaf, (&a, &b), fast));
            if let (Some(grad), Some(a), Some(b)) =
                (&one.grad, expected.gather_grad(one, &leaf), found.gather_grad(other, &leaf))
            {
                rows.push(row(format!("{}{}", grad.key, leaf.suffix), &leaf, (&a, &b), fast));
            }
        }
    }
    rows
}

fn row(array: String, leaf: &Leaf, (expected, found): (&[u8], &[u8]), fast: bool) -> Row {
    let size = leaf.scalar.size() as usize;
    let bits = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..size].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    };
    let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size)).map(|(a, b)| (bits(a), bits(b)));
    let number = |bits: u64| eval::from_memory(leaf.scalar, bits).as_float().unwrap_or(0.0);
    let is_float = leaf.scalar.is_float();
    let largest = if is_float {
        pairs.clone().map(|(a, _)| number(a).abs()).filter(|a| a.is_finite()).fold(1.0, f64::max)
    } else {
        1.0
    };
    let mut row = Row { array, scalars: 0, wrong: 0, difference: 0.0, same_bits: true };
    for (a, b) in pairs {
        row.scalars += 1;
        if a == b {
            continue;
        }
        row.same_bits = false;
        if !is_float {
            row.wrong += 1;
            row.difference = row.difference.max((a as i64 as f64 - b as i64 as f64).abs());
            continue;
        }
        let (x, y) = (number(a), number(b));
        if x.is_nan() && y.is_nan() {
            continue;
        }
        row.difference = row.difference.max((x - y).abs());
        row.wrong += usize::from(!is_near(leaf.scalar, (x, a), (y, b), largest, fast));
    }
    row
}

/// Whether the float `found` may stand for `expected` (each with its bits).
fn is_near(s: Scalar, (x, a): (f64, u64), (y, b): (f64, u64), largest: f64, fast: bool) -> bool {
    if !x.is_finite() || !y.is_finite() {
        return x == y;
    }
    let (units, relative, absolute) = match s {
        Scalar::F16 => (4, 4e-3, 1e-3),
        Scalar::BF16 => (4, 3e-2, 8e-3),
        Scalar::F64 => (16, 1e-12, 1e-13),
        Scalar::F32 if fast => (160, 2e-4, 2e-5),
        _ => (16, 2e-5, 2e-6),
    };
    // Floats in the order of their values.
    let top = 1i128 << (s.bits() - 1);
    let place = |bits: u64| if i128::from(bits) >= top { top - i128::from(bits) } else { i128::from(bits) };
    (x - y).abs() <= absolute * largest + relative * x.abs() || (place(a) - place(b)).abs() <= units
}
