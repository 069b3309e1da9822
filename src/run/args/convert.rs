//! What becomes of numbers in a file that have another type than the array?

use super::literal;
use crate::ir::eval;
use crate::run::files::npy::{Array, Header, Kind};
use crate::run::launch::Number;
use crate::types::Scalar;

/// The scalar type of the numbers in a file; None: bytes without meaning.
fn scalar_of(header: &Header) -> Option<Scalar> {
    let holds = |scalar: &Scalar| match header.kind {
        Kind::Bool => *scalar == Scalar::Bool,
        Kind::Int => scalar.is_signed_int() && scalar.size() == header.item,
        Kind::UInt => {
            scalar.is_int() && !scalar.is_signed_int() && *scalar != Scalar::Bool && scalar.size() == header.item
        }
        Kind::Float => scalar.is_float() && *scalar != Scalar::BF16 && scalar.size() == header.item,
        Kind::Raw => false,
    };
    Scalar::ALL.into_iter().find(holds)
}

/// Whether the numbers of a file can be converted at all.
pub fn has_numbers(header: &Header) -> bool {
    scalar_of(header).is_some()
}

/// The numbers as another type: floats are rounded once, integers keep their value or are refused.
/// The error completes "FILE ...".
pub fn convert(array: Array, scalar: Scalar) -> Result<Array, String> {
    map(array, scalar, |number| {
        let bits = literal::bits(number, scalar).map_err(|why| format!("has a value that does not fit: {why}"))?;
        let lost = |x: f64| x.is_finite() && eval::from_memory(scalar, bits).as_float().is_some_and(f64::is_infinite);
        match number {
            Number::Float(x) if lost(x) => {
                Err(format!("has the value {x:?}, which is too large for {}", scalar.name()))
            }
            Number::Int(x) if lost(x as f64) => {
                Err(format!("has the value {x}, which is too large for {}", scalar.name()))
            }
            _ => Ok(bits),
        }
    })
}

/// The samples of a picture as floats from 0 to 1.
pub fn brightness(array: Array, scalar: Scalar) -> Result<Array, String> {
    let most = if array.header.item == 2 { 65_535.0 } else { 255.0 };
    map(array, scalar, |number| match number {
        Number::Int(sample) => literal::bits(Number::Float(sample as f64 / most), scalar),
        _ => Err("has samples that are no integers".to_string()),
    })
}

fn map(array: Array, scalar: Scalar, to_bits: impl Fn(Number) -> Result<u64, String>) -> Result<Array, String> {
    let Some(from) = scalar_of(&array.header) else {
        return Err(format!("has type {}, which is no number", array.header.type_name()));
    };
    let size = scalar.size() as usize;
    let mut bytes = vec![0; array.bytes.len() / from.size() as usize * size];
    for (element, out) in array.bytes.chunks_exact(from.size() as usize).zip(bytes.chunks_exact_mut(size)) {
        let value = literal::load(element, from);
        let number = match (value.as_float(), value.as_int()) {
            (Some(x), _) => Number::Float(x),
            (None, Some(n)) => Number::Int(n),
            (None, None) => return Err("has a value that is no number".to_string()),
        };
        literal::store(to_bits(number)?, scalar, out);
    }
    let kind = match scalar {
        s if s.is_float() => Kind::Float,
        s if s.is_signed_int() => Kind::Int,
        _ => Kind::UInt,
    };
    Ok(Array { header: Header { kind, item: scalar.size(), ..array.header }, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(kind: Kind, item: u32, bytes: Vec<u8>) -> Array {
        let shape = vec![bytes.len() as u64 / u64::from(item)];
        Array { header: Header { kind, item, big_endian: false, fortran_order: false, shape }, bytes }
    }

    #[test]
    fn numbers_keep_their_value_or_are_refused() {
        let doubles = |list: &[f64]| array(Kind::Float, 8, list.iter().flat_map(|x| x.to_le_bytes()).collect());
        let floats = convert(doubles(&[0.1, -2.5, f64::INFINITY]), Scalar::F32).expect("floats");
        let expected: Vec<u8> = [0.1f32, -2.5, f32::INFINITY].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!((floats.bytes, floats.header.item), (expected, 4));
        assert!(convert(doubles(&[f64::NAN]), Scalar::F32).is_ok());
        assert!(convert(doubles(&[1e300]), Scalar::F32).expect_err("too large").contains("1e300"));
        assert!(convert(doubles(&[7e4]), Scalar::F16).is_err());
        assert_eq!(convert(doubles(&[3.0]), Scalar::I32).expect("whole").bytes, [3, 0, 0, 0]);
        assert!(convert(doubles(&[0.5]), Scalar::I32).is_err());
        let longs = |n: i64| array(Kind::Int, 8, n.to_le_bytes().to_vec());
        assert_eq!(convert(longs(-1), Scalar::I8).expect("fits").bytes, [0xff]);
        assert!(convert(longs(-1), Scalar::U8).is_err() && convert(longs(1 << 40), Scalar::I32).is_err());
        assert_eq!(convert(longs(2), Scalar::BF16).expect("a float").bytes, [0x00, 0x40]);
        assert!(convert(array(Kind::Raw, 2, vec![0, 0]), Scalar::F32).is_err());
        assert_eq!(convert(array(Kind::Bool, 1, vec![1]), Scalar::I16).expect("0 or 1").bytes, [1, 0]);
    }

    #[test]
    fn samples_are_parts_of_the_brightest() {
        let half = brightness(array(Kind::UInt, 2, vec![0xff, 0xff, 0, 0]), Scalar::F64).expect("floats");
        assert_eq!(half.bytes, [1.0f64, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
        let byte = brightness(array(Kind::UInt, 1, vec![51]), Scalar::F32).expect("floats");
        assert_eq!(byte.bytes, 0.2f32.to_le_bytes());
    }
}
