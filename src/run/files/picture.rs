//! How are arrays read from and written to pictures (PNG)?

use std::io::{BufReader, BufWriter};
use std::path::Path;

use super::npy::{Array, Header, Kind};
use super::npz;
use super::show::range;
use crate::diag::Code;
use crate::run::args::elements::leaves;
use crate::run::args::literal::to_f64;
use crate::run::args::{Arguments, Named, memory};
use crate::run::{Result, fail};
use crate::types::{Scalar, StructTable, Type};

/// Whether a file is a picture, by its name.
pub fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
}

/// Reads a picture as an array of its samples: of shape (height, width) if it is grey, else with
/// one more dimension for its channels (2: grey and alpha, 3: colours, 4: colours and alpha);
/// `list`: all rows in one dimension. Samples have 8 or 16 bits; colours of a palette are looked
/// up. `check` sees the header before the samples are read; `most`: see [`npz::Room::of`].
pub fn read(path: &Path, list: bool, most: Option<u64>, check: impl FnOnce(&Header) -> Result<()>) -> Result<Array> {
    let bad = |why: String| fail(Code::E1007, format!("{} {why}", path.display()));
    let broken = |error: png::DecodingError| bad(format!("is not a readable PNG picture: {error}"));
    let file = npz::open_at_once(path).map_err(|error| bad(format!("cannot be opened: {error}")))?;
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Err(bad("is not a regular file".to_string()));
    }
    let length = file.metadata().map_or(0, |data| data.len());
    let mut decoder = png::Decoder::new(BufReader::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(broken)?;
    let (width, height) = (reader.info().width, reader.info().height);
    let (color, depth) = reader.output_color_type();
    let item: u32 = if depth == png::BitDepth::Sixteen { 2 } else { 1 };
    let mut shape = match list {
        true => vec![u64::from(width) * u64::from(height)],
        false => vec![height.into(), width.into()],
    };
    shape.extend((color.samples() > 1).then_some(color.samples() as u64));
    let header = Header { kind: Kind::UInt, item, big_endian: false, fortran_order: false, shape };
    check(&header)?;
    // A small file may claim a large picture.
    npz::Room::of(length, most).holds(header.data_bytes().unwrap_or(u64::MAX)).map_err(bad)?;
    let size = reader.output_buffer_size().filter(|&size| (size as u64) <= memory::available());
    let size = size.ok_or_else(|| bad(format!("has {width} x {height} pixels, more than there is memory for")))?;
    let mut bytes = vec![0; size];
    let frame = reader.next_frame(&mut bytes).map_err(broken)?;
    bytes.truncate(frame.buffer_size());
    if item == 2 {
        bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse);
    }
    if Some(bytes.len() as u64) != header.data_bytes() {
        return Err(bad("has another number of samples than it says".to_string()));
    }
    Ok(Array { header, bytes })
}

/// Writes an array as a picture, row 0 at the top. Two-dimensional arrays of scalars become grey
/// (bytes as they are, else 0..1, or the array's own range where it exceeds that), of `vec3` and
/// `vec4` colours (0..1, or bytes), and so do three-dimensional ones with three or four scalars a
/// pixel. `size` gives a one-dimensional array of pixels its width and height.
pub fn write(
    arguments: &Arguments,
    name: &str,
    named: Named,
    structs: &StructTable,
    size: Option<(u32, u32)>,
    path: &Path,
) -> Result<()> {
    let array = named.array;
    let unfit = |why: String| fail(Code::E1012, format!("--png {name}: {why}"));
    let leaf = match leaves(array.ty.element.into(), structs).as_deref() {
        Some([leaf]) if leaf.suffix.is_empty() => leaf.clone(),
        _ => return Err(unfit("an array of structs is no picture".into())),
    };
    let (pixels, channels) = match (leaf.shape.as_slice(), array.shape.as_slice()) {
        ([], [pixels @ .., n @ (3 | 4)]) if pixels.len() == 2 => (pixels, *n as usize),
        ([], pixels) => (pixels, 1),
        ([n @ (3 | 4)], pixels) => (pixels, *n as usize),
        _ => {
            return Err(unfit(format!(
                "elements of type `{}` are no pixels",
                Type::from(array.ty.element).display(structs)
            )));
        }
    };
    let (width, height) = match (pixels, size) {
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
    let bytes = arguments.contents(named, &leaf);
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
