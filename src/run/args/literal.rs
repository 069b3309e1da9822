//! How does a number become the bits of a scalar? Strictly for integers, with one rounding for
//! floats.

use crate::ir::{Const, eval};
use crate::run::launch::Number;
use crate::types::Scalar;

/// The bits of `number` as a `scalar`. The error completes "value ... for x: ".
pub fn bits(number: Number, scalar: Scalar) -> Result<u64, String> {
    let name = scalar.name();
    if scalar.is_float() {
        let value = match number {
            Number::Bool(b) => f64::from(u8::from(b)),
            Number::Int(i) => i as f64,
            Number::Float(x) => x,
        };
        return Ok(Const::float(scalar, value).bits);
    }
    let (low, high) = scalar.int_range();
    let value = match number {
        Number::Bool(b) => i128::from(b),
        Number::Int(i) => i,
        // Exact within i128, which holds every 64-bit integer.
        Number::Float(x) if x.fract() == 0.0 && x.abs() < 2f64.powi(65) => x as i128,
        Number::Float(x) => return Err(format!("{x:?} is not a whole number, but the type is {name}")),
    };
    if !(low..=high).contains(&value) {
        return Err(format!("{value} is outside the range of {name}, {low} to {high}"));
    }
    Ok(Const::int(scalar, value).bits)
}

/// Writes the low `scalar.size()` bytes of `bits` to the start of `out`, which must be long enough.
pub fn store(bits: u64, scalar: Scalar, out: &mut [u8]) {
    let size = scalar.size() as usize;
    // Little endian, as every machine that kc runs on.
    out[..size].copy_from_slice(&bits.to_le_bytes()[..size]);
}

/// The scalar at the start of `bytes` as a float for people to look at (bool: 0 or 1).
pub fn to_f64(bytes: &[u8], scalar: Scalar) -> f64 {
    let c = load(bytes, scalar);
    c.as_float().or_else(|| c.as_int().map(|i| i as f64)).unwrap_or(f64::NAN)
}

/// The scalar at the start of `bytes`.
pub fn load(bytes: &[u8], scalar: Scalar) -> Const {
    let size = scalar.size() as usize;
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[..size]);
    eval::from_memory(scalar, u64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_or_refused() {
        assert_eq!(bits(Number::Int(u64::MAX.into()), Scalar::U64), Ok(u64::MAX));
        assert_eq!(bits(Number::Int(i64::MIN.into()), Scalar::I64), Ok(i64::MIN as u64));
        assert_eq!(bits(Number::Float(3.0), Scalar::I32), Ok(3));
        assert_eq!(bits(Number::Bool(true), Scalar::I32), Ok(1));
        for (number, scalar) in [
            (Number::Int(128), Scalar::I8),
            (Number::Int(-1), Scalar::U64),
            (Number::Int(2), Scalar::Bool),
            (Number::Int(1 << 64), Scalar::U64),
            (Number::Float(0.5), Scalar::I32),
            (Number::Float(f64::NAN), Scalar::I32),
            (Number::Float(f64::INFINITY), Scalar::U64),
            (Number::Float(1e300), Scalar::I64),
        ] {
            assert!(bits(number, scalar).is_err(), "{number} as {}", scalar.name());
        }
    }

    #[test]
    fn floats_round_once() {
        assert_eq!(bits(Number::Float(0.1), Scalar::F32), Ok(u64::from(0.1f32.to_bits())));
        assert_eq!(bits(Number::Int(1), Scalar::BF16), Ok(0x3f80));
        assert_eq!(bits(Number::Float(f64::NEG_INFINITY), Scalar::F16), Ok(0xfc00));
    }

    #[test]
    fn scalars_come_back() {
        for scalar in Scalar::ALL {
            let value = if scalar == Scalar::Bool { 1 } else { 77 };
            let mut bytes = [0xee; 8];
            store(bits(Number::Int(value), scalar).unwrap(), scalar, &mut bytes);
            assert_eq!(to_f64(&bytes, scalar), value as f64, "{}", scalar.name());
        }
        let mut bytes = [0; 8];
        store(bits(Number::Int(-5), Scalar::I16).unwrap(), Scalar::I16, &mut bytes);
        assert_eq!(load(&bytes, Scalar::I16).as_int(), Some(-5));
    }
}
