//! What do the rarer operations on words compute: permutations by a rule, masks, fields, products
//! of 24 bits?

use super::arithmetic::{lanes, permuted};
use super::modifiers::Modifiers;
use crate::ptx::{Kind, Type};
use crate::sim::value::{Alu, Compute, LANES, Lane, Lanes};

/// `prmt` with its mode.
pub fn permutation(m: &mut Modifiers) -> Option<Alu> {
    /// Byte `n` of the result is the one of this number.
    macro_rules! of {
        (|$n:ident, $choice:ident| $e:expr) => {
            Some(lanes!(|a: u32, b: u32, c: u32| {
                let $choice = c & 3;
                let picks = (0..4u32).fold(0, |picks, $n| picks | ($e & 7) << (4 * $n));
                permuted(a, b, picks)
            }))
        };
    }
    let mode = m.find(|m| matches!(m, "f4e" | "b4e" | "rc8" | "ecl" | "ecr" | "rc16").then(|| m.to_string()));
    match mode.as_deref() {
        None => Some(lanes!(|a: u32, b: u32, c: u32| permuted(a, b, c))),
        Some("f4e") => of!(|n, from| from + n),
        Some("b4e") => of!(|n, from| from.wrapping_sub(n)),
        Some("rc8") => of!(|_n, from| from),
        Some("ecl") => of!(|n, from| from.max(n)),
        Some("ecr") => of!(|n, from| from.min(n)),
        _ => of!(|n, from| (from & 1) * 2 + n % 2),
    }
}

pub fn function(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    let signed = match ty {
        Type { kind: Kind::Signed, bits: 32 } => true,
        Type { kind: Kind::Unsigned | Kind::Bits, bits: 32 } => false,
        _ => return None,
    };
    let mut clamps = || {
        let found = (m.take("clamp"), m.take("wrap"));
        (found.0 != found.1).then_some(found.0)
    };
    match opcode {
        "bmsk" => match clamps()? {
            true => Some(lanes!(|a: u32, b: u32| mask(a, b))),
            false => Some(lanes!(|a: u32, b: u32| mask(a & 31, b & 31))),
        },
        "szext" => match (clamps()?, signed) {
            (true, true) => Some(lanes!(|a: u32, b: u32| extended(a, b, true))),
            (true, false) => Some(lanes!(|a: u32, b: u32| extended(a, b, false))),
            (false, true) => Some(lanes!(|a: u32, b: u32| extended(a, b & 31, true))),
            (false, false) => Some(lanes!(|a: u32, b: u32| extended(a, b & 31, false))),
        },
        _ => None,
    }
}

/// `mul24`, `mad24`: of the 48 bits of a product the upper or the lower 32.
pub fn of_24_bits(adds: bool, high: bool, ty: Type) -> Option<Alu> {
    fn signed(a: i32) -> i64 {
        i64::from(a << 8 >> 8)
    }
    fn unsigned(a: u32) -> u64 {
        u64::from(a & 0x00ff_ffff)
    }
    match (ty.kind, ty.bits, high, adds) {
        (Kind::Signed, 32, false, false) => Some(lanes!(|a: i32, b: i32| (signed(a) * signed(b)) as i32)),
        (Kind::Signed, 32, true, false) => Some(lanes!(|a: i32, b: i32| ((signed(a) * signed(b)) >> 16) as i32)),
        (Kind::Unsigned, 32, false, false) => Some(lanes!(|a: u32, b: u32| (unsigned(a) * unsigned(b)) as u32)),
        (Kind::Unsigned, 32, true, false) => Some(lanes!(|a: u32, b: u32| ((unsigned(a) * unsigned(b)) >> 16) as u32)),
        (Kind::Signed, 32, false, true) => {
            Some(lanes!(|a: i32, b: i32, c: i32| ((signed(a) * signed(b)) as i32).wrapping_add(c)))
        }
        (Kind::Signed, 32, true, true) => {
            Some(lanes!(|a: i32, b: i32, c: i32| (((signed(a) * signed(b)) >> 16) as i32).wrapping_add(c)))
        }
        (Kind::Unsigned, 32, false, true) => {
            Some(lanes!(|a: u32, b: u32, c: u32| ((unsigned(a) * unsigned(b)) as u32).wrapping_add(c)))
        }
        (Kind::Unsigned, 32, true, true) => {
            Some(lanes!(|a: u32, b: u32, c: u32| (((unsigned(a) * unsigned(b)) >> 16) as u32).wrapping_add(c)))
        }
        _ => None,
    }
}

/// Ones from bit `start` on, `count` of them.
fn mask(start: u32, count: u32) -> u32 {
    let from = |bit: u32| u32::MAX.checked_shl(bit).unwrap_or(0);
    if start >= 32 { 0 } else { from(start) & !from(start.saturating_add(count)) }
}

/// The lowest `count` bits, and their sign above them.
fn extended(a: u32, count: u32, signed: bool) -> u32 {
    match (count, signed) {
        (0, _) => 0,
        (32.., _) => a,
        (_, true) => ((a << (32 - count)) as i32 >> (32 - count)) as u32,
        (_, false) => a & (u32::MAX >> (32 - count)),
    }
}

/// `cvt` to tf32: float32 with 10 bits of fraction, in a register of 32 bits; the nearest, of two
/// the one farther from 0.
pub fn to_tf32() -> Alu {
    lanes!(|a: f32| {
        let bits = a.to_bits();
        if a.is_nan() { 0x7fff_ffff } else { bits.wrapping_add(if a.is_infinite() { 0 } else { 0x1000 }) & 0xffff_e000 }
    })
}
