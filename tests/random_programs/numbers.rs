//! Numbers that programs work on: ordinary ones, and the edges of every type.

use kc::ir::Const;
use kc::types::Scalar;

use crate::random::Random;

/// The bits of a number of this type.
pub fn number(random: &mut Random, s: Scalar) -> u64 {
    let edge = random.one_in(4);
    let draw = random.bits();
    if s == Scalar::Bool {
        return Const::bool(draw.is_multiple_of(2)).bits;
    }
    if random.one_in(12) {
        return draw & (u64::MAX >> (64 - s.bits()));
    }
    match (s.is_float(), edge) {
        (true, true) => edge_of(random, s),
        (false, true) => {
            let (low, high) = limits(s);
            let edges = [low, low + 1, high, high - 1, high / 2, 0, 1, 2, if low < 0 { -1 } else { high }];
            Const::int(s, random.pick(&edges)).bits
        }
        (_, false) => among_small(s, draw),
    }
}

/// The bits of a number of this type that is no edge.
pub fn ordinary(random: &mut Random, s: Scalar) -> u64 {
    among_small(s, random.bits())
}

fn among_small(s: Scalar, draw: u64) -> u64 {
    match s {
        Scalar::Bool => Const::bool(draw.is_multiple_of(2)),
        _ if s.is_float() => Const::float(s, (draw % 8001) as f64 / 1000.0 - 4.0),
        _ if s.is_signed_int() => Const::int(s, i128::from(draw % 41) - 20),
        _ => Const::int(s, i128::from(draw % 21)),
    }
    .bits
}

fn limits(s: Scalar) -> (i128, i128) {
    if s.is_signed_int() { (-(1 << (s.bits() - 1)), (1 << (s.bits() - 1)) - 1) } else { (0, (1 << s.bits()) - 1) }
}

/// NaN, the infinities, the zeros, subnormal numbers, the greatest, and those beside the limits of
/// integers.
fn edge_of(random: &mut Random, s: Scalar) -> u64 {
    // Bits of the fraction.
    let fraction = match s {
        Scalar::F16 => 10,
        Scalar::BF16 => 7,
        Scalar::F32 => 23,
        _ => 52,
    };
    let infinity = ((1u64 << (s.bits() - 1 - fraction)) - 1) << fraction;
    let sign = if random.one_in(2) { 1u64 << (s.bits() - 1) } else { 0 };
    let magnitude = match random.below(12) {
        0 | 1 => infinity | 1 << (fraction - 1),
        2 | 3 => infinity,
        4 | 5 => 0,
        6 => 1,
        7 => (1 << fraction) - 1,
        8 => 1 << fraction,
        9 => infinity - 1,
        10 => Const::float(s, random.pick(&[1.0, 0.5, 2.0, 1.5, 2.5])).bits,
        _ => {
            Const::float(
                s,
                random.pick(&[255.0, 65504.0, 2147483648.0, 4294967296.0, 1.8446744073709552e19, 16777217.0]),
            )
            .bits
        }
    };
    magnitude | sign
}
