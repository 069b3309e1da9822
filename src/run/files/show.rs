//! What does an array look like? A small table for the terminal, and a picture as PNG.

use std::io::BufWriter;
use std::path::Path;

use super::npz;
use crate::diag::Code;
use crate::run::args::elements::{Leaf, leaves};
use crate::run::args::literal::{load, to_f64};
use crate::run::args::{Arguments, BoundArray};
use crate::run::{Result, fail};
use crate::types::{Scalar, StructTable, Type};

/// Columns of numbers in a table row.
const COLUMNS: usize = 8;

/// Rows that `--print NAME` shows.
pub const ROWS: usize = 10;

/// A table of the first `rows` rows. A row is an element of a one-dimensional array, else a line along the last
/// dimension.
pub fn table(arguments: &Arguments, array: &BoundArray, structs: &StructTable, rows: usize) -> String {
    let shape: Vec<String> = array.shape.iter().map(u32::to_string).collect();
    let ty = Type::from(array.ty.element).display(structs);
    let mut out = format!("{}: {ty} ({})\n", array.key, shape.join(", "));
    for leaf in leaves(array.ty.element.into(), structs).unwrap_or_default() {
        let bytes = arguments.gather(array, &leaf);
        if !leaf.suffix.is_empty() {
            out.push_str(&format!(" {}\n", leaf.suffix));
        }
        leaf_rows(&mut out, array, &leaf, &bytes, rows);
    }
    out
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

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
}

/// Writes an array as a picture, row 0 at the top. Two-dimensional arrays of scalars become grey (bytes as they are, else
/// 0..1, or the array's own range where it exceeds that), of `vec3` and `vec4` colours (0..1, or bytes). `size`
/// gives a one-dimensional array of pixels its width and height.
pub fn png(
    arguments: &Arguments,
    array: &BoundArray,
    structs: &StructTable,
    size: Option<(u32, u32)>,
    path: &Path,
) -> Result<()> {
    let name = &array.key;
    let unfit = |why: String| fail(Code::E1012, format!("--png {name}: {why}"));
    let leaf = match leaves(array.ty.element.into(), structs).as_deref() {
        Some([leaf]) if leaf.suffix.is_empty() => leaf.clone(),
        _ => return Err(unfit("an array of structs is no picture".into())),
    };
    let channels = match leaf.shape.as_slice() {
        [] => 1,
        [n @ (3 | 4)] => *n as usize,
        _ => {
            return Err(unfit(format!(
                "elements of type `{}` are no pixels",
                Type::from(array.ty.element).display(structs)
            )));
        }
    };
    let (width, height) = match (array.shape.as_slice(), size) {
        (&[h, w], None) => (w, h),
        (&[n], Some((w, h))) if u64::from(w) * u64::from(h) == u64::from(n) => (w, h),
        (shape, Some((w, h))) => return Err(unfit(format!("shape {shape:?} has not the {w} x {h} pixels asked for"))),
        (shape, None) => {
            return Err(unfit(format!(
                "a picture has two dimensions, not {}; a list of pixels needs --png {name}:WxH=FILE",
                shape.len()
            )));
        }
    };
    if width == 0 || height == 0 || width > 65_535 || height > 65_535 {
        return Err(unfit(format!("{width} x {height} is no picture size")));
    }
    let bytes = arguments.gather(array, &leaf);
    let values: Vec<f64> = bytes.chunks_exact(leaf.scalar.size() as usize).map(|s| to_f64(s, leaf.scalar)).collect();
    let (low, high) = if leaf.scalar == Scalar::U8 {
        (0.0, 255.0)
    } else if channels > 1 {
        (0.0, 1.0)
    } else {
        let finite: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
        match range(&finite) {
            (low, high) if low >= 0.0 && high <= 1.0 || finite.is_empty() => (0.0, 1.0),
            (low, high) if low == high => (low - 1.0, high),
            own => own,
        }
    };
    // NaN becomes 0, black.
    let pixels: Vec<u8> = values.iter().map(|x| ((x - low) / (high - low) * 255.0).round() as u8).collect();
    npz::write_whole(path, |file| {
        let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
        encoder.set_color(match channels {
            1 => png::ColorType::Grayscale,
            3 => png::ColorType::Rgb,
            _ => png::ColorType::Rgba,
        });
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels)?;
        writer.finish()?;
        Ok(())
    })
}
