//! What does an array look like? A small table for the terminal.

use crate::run::args::elements::{Leaf, leaves};
use crate::run::args::literal::{load, to_f64};
use crate::run::args::parameters::FloatParameter;
use crate::run::args::{Arguments, BoundArray, Named};
use crate::types::{Scalar, StructTable, Type};

/// Columns of numbers in a table row.
const COLUMNS: usize = 8;

/// Rows that `--print NAME` shows.
pub const ROWS: usize = 10;

/// A table of the first `rows` rows. A row is an element of a one-dimensional array, else a line
/// along the last dimension.
pub fn table(arguments: &Arguments, key: &str, named: Named, structs: &StructTable, rows: usize) -> String {
    let array = named.array;
    let shape: Vec<String> = array.shape.iter().map(u32::to_string).collect();
    let ty = Type::from(array.ty.element).display(structs);
    let mut out = format!("{key}: {ty} ({})\n", shape.join(", "));
    for leaf in leaves(array.ty.element.into(), structs).unwrap_or_default() {
        let bytes = arguments.contents(named, &leaf);
        if !leaf.suffix.is_empty() {
            out.push_str(&format!(" {}\n", leaf.suffix));
        }
        leaf_rows(&mut out, array, &leaf, &bytes, rows);
    }
    out
}

/// The gradient of what a kernel is given by value; None where the run computed none.
pub fn parameter(parameter: &FloatParameter) -> Option<String> {
    let numbers: Vec<String> = parameter.gradient.as_ref()?.iter().map(|x| format!("{x:?}")).collect();
    let shape: Vec<String> = parameter.shape().iter().map(u64::to_string).collect();
    Some(format!("{}.grad: float64 ({})\n  {}\n", parameter.key, shape.join(", "), numbers.join("  ")))
}

fn leaf_rows(out: &mut String, array: &BoundArray, leaf: &Leaf, bytes: &[u8], rows: usize) {
    let components = leaf.shape.iter().product::<u64>() as usize;
    let inner = match array.shape.as_slice() {
        [_] => 1,
        [.., last] => *last as usize,
        [] => 1,
    };
    let size = leaf.scalar.size() as usize;
    let element = components * size;
    if element == 0 || inner == 0 {
        return;
    }
    let leading: Vec<usize> = match array.shape.as_slice() {
        [n] => vec![*n as usize],
        [first @ .., _] => first.iter().map(|&n| n as usize).collect(),
        [] => vec![],
    };
    let count: usize = leading.iter().product();
    for (n, row) in bytes.chunks_exact(element * inner).take(rows).enumerate() {
        let mut index = Vec::new();
        let mut rest = n;
        for &extent in leading.iter().rev() {
            index.push((rest % extent).to_string());
            rest /= extent;
        }
        index.reverse();
        let cells: Vec<String> = row
            .chunks_exact(element)
            .take(COLUMNS)
            .map(|e| {
                let numbers: Vec<String> = e.chunks_exact(size).map(|s| show_scalar(s, leaf.scalar)).collect();
                if components == 1 { numbers.join("") } else { format!("({})", numbers.join(", ")) }
            })
            .collect();
        let more = if inner > COLUMNS { "  ..." } else { "" };
        let cells: String = cells.iter().map(|c| format!("  {c:>12}")).collect();
        out.push_str(&format!("  [{}]{cells}{more}\n", index.join(", ")));
    }
    if count > rows {
        out.push_str(&format!("  ... {} more rows\n", count - rows));
    }
    let finite: Vec<f64> = bytes.chunks_exact(size).map(|s| to_f64(s, leaf.scalar)).filter(|x| x.is_finite()).collect();
    if finite.len() > 1 {
        let (low, high) = range(&finite);
        let mean = finite.iter().sum::<f64>() / finite.len() as f64;
        let odd = bytes.len() / size - finite.len();
        let odd = if odd > 0 { format!(", {odd} not finite") } else { String::new() };
        let digits = if leaf.scalar.is_float() { 6 } else { 0 };
        out.push_str(&format!("  min {low:.digits$}, max {high:.digits$}, mean {mean:.6}{odd}\n"));
    }
}

fn show_scalar(bytes: &[u8], scalar: Scalar) -> String {
    let c = load(bytes, scalar);
    match (scalar, c.as_int()) {
        (Scalar::Bool, Some(b)) => (b != 0).to_string(),
        (_, Some(i)) => i.to_string(),
        // The shortest text that reads back as the same float.
        (Scalar::F64, None) => format!("{:?}", to_f64(bytes, scalar)),
        (_, None) => format!("{:?}", to_f64(bytes, scalar) as f32),
    }
}

pub(super) fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
}
