//! What are the texels of lower levels of detail? Means of two neighbours along each axis, in
//! float64, rounded once to the numbers of the texture: as `wp.Texture` computes them.

use half::f16;

use super::form::{Form, Numbers};

/// Writes the levels behind the first one. `memory` holds all of them.
pub(super) fn fill(form: &Form, levels: &[[i64; 3]], memory: &mut [u8]) {
    let mut from = 0;
    for pair in levels.windows(2) {
        let to = from + form.bytes_of(pair[0]).unwrap_or(0);
        let (upper, lower) = memory.split_at_mut(to);
        let mut size = pair[0].map(|extent| extent as usize);
        let mut values = read(form.numbers, &upper[from..]);
        for axis in 0..3 {
            if pair[0][axis] != pair[1][axis] {
                values = halved(&values, size, axis, form.channels as usize);
                size[axis] = pair[1][axis] as usize;
            }
        }
        write(form.numbers, &values, lower);
        from = to;
    }
}

/// Means of pairs along an axis; a last one alone is left out.
fn halved(values: &[f64], size: [usize; 3], axis: usize, channels: usize) -> Vec<f64> {
    // Numbers from one texel to the next along the axis, and how many runs of such there are.
    let step = channels * size[..axis].iter().product::<usize>();
    let run = step * size[axis];
    let mut out = Vec::with_capacity(values.len() / 2);
    for run in values.chunks_exact(run) {
        for pair in run.chunks_exact(2 * step) {
            let (even, odd) = pair.split_at(step);
            out.extend(even.iter().zip(odd).map(|(a, b)| (a + b) * 0.5));
        }
    }
    out
}

fn read(numbers: Numbers, bytes: &[u8]) -> Vec<f64> {
    macro_rules! read {
        ($type:ty, $of:expr) => {
            bytes
                .chunks_exact(size_of::<$type>())
                .map(|chunk| $of(<$type>::from_ne_bytes(std::array::from_fn(|k| chunk[k]))))
                .collect()
        };
    }
    match numbers {
        Numbers::U8 => read!(u8, f64::from),
        Numbers::U16 => read!(u16, f64::from),
        Numbers::F32 => read!(f32, f64::from),
        Numbers::I8 => read!(i8, f64::from),
        Numbers::I16 => read!(i16, f64::from),
        Numbers::F16 => read!(f16, f64::from),
        Numbers::U32 => read!(u32, f64::from),
        Numbers::I32 => read!(i32, f64::from),
    }
}

/// Halves of integers go to the even one.
fn write(numbers: Numbers, values: &[f64], bytes: &mut [u8]) {
    macro_rules! write {
        ($type:ty, $of:expr) => {
            for (chunk, value) in bytes.chunks_exact_mut(size_of::<$type>()).zip(values) {
                let number: $type = $of(*value);
                chunk.copy_from_slice(&number.to_ne_bytes());
            }
        };
    }
    match numbers {
        Numbers::U8 => write!(u8, |x: f64| x.round_ties_even() as u8),
        Numbers::U16 => write!(u16, |x: f64| x.round_ties_even() as u16),
        Numbers::F32 => write!(f32, |x: f64| x as f32),
        Numbers::I8 => write!(i8, |x: f64| x.round_ties_even() as i8),
        Numbers::I16 => write!(i16, |x: f64| x.round_ties_even() as i16),
        Numbers::F16 => write!(f16, f16::from_f64),
        Numbers::U32 => write!(u32, |x: f64| x.round_ties_even() as u32),
        Numbers::I32 => write!(i32, |x: f64| x.round_ties_even() as i32),
    }
}
