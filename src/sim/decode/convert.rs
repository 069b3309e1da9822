//! What does `cvt` compute, by its two types, rounding and saturation?

use half::{bf16, f16};

use super::arithmetic::lanes;
use super::modifiers::Modifiers;
use crate::ptx::{Kind, Type};
use crate::sim::float8::Float8;
use crate::sim::value::{Alu, Compute, Exact, LANES, Lane, Lanes, Round, flush};

/// What a conversion of registers of type `from` gives in a register of `width` bits; None: kc does
/// not know it.
pub fn conversion(m: &mut Modifiers, to: Type, from: Type, width: u32) -> Option<Alu> {
    if let Some(format) = float8(to.kind) {
        return (m.take("rn") && m.take("satfinite")).then(|| to_float8(format, m.take("relu"), from))?;
    }
    if let Some(format) = float8(from.kind) {
        return (to.kind == Kind::HalfPair && m.take("rn")).then(|| of_float8(format, m.take("relu")));
    }
    let (to_int, from_int) = (is_int(to), is_int(from));
    match (to_int, from_int) {
        (true, true) => between_ints(m.take("sat"), to, from, width),
        (false, true) => of_int(m.rounding()?, to, from),
        (true, false) => {
            let how = m.find(whole).or_else(|| m.take("rn").then_some(Round::Near))?;
            // Integers saturate in any case.
            m.take("sat");
            to_whole(how, m.take("ftz"), to, from)
        }
        (false, false) => between_floats(m, to, from),
    }
}

fn is_int(ty: Type) -> bool {
    matches!(ty.kind, Kind::Bits | Kind::Signed | Kind::Unsigned)
}

/// Rounding to whole numbers.
fn whole(modifier: &str) -> Option<Round> {
    match modifier {
        "rni" => Some(Round::Near),
        "rzi" => Some(Round::Zero),
        "rmi" => Some(Round::Down),
        "rpi" => Some(Round::Up),
        _ => None,
    }
}

fn between_ints(sat: bool, to: Type, from: Type, width: u32) -> Option<Alu> {
    // A signed result fills its register with its sign.
    macro_rules! to {
        ($from:ty) => {
            match (sat, to.kind == Kind::Signed, to.bits, width) {
                (false, _, bits, w) if bits >= w => match w {
                    8 | 16 => Some(lanes!(|a: $from| a as u16)),
                    32 => Some(lanes!(|a: $from| a as u32)),
                    64 => Some(lanes!(|a: $from| a as u64)),
                    _ => None,
                },
                (false, false, 8, _) => Some(lanes!(|a: $from| a as u8)),
                (false, false, 16, _) => Some(lanes!(|a: $from| a as u16)),
                (false, false, 32, _) => Some(lanes!(|a: $from| a as u32)),
                (false, true, 8, 16) => Some(lanes!(|a: $from| a as i8 as i16)),
                (false, true, 8, 32) => Some(lanes!(|a: $from| a as i8 as i32)),
                (false, true, 8, 64) => Some(lanes!(|a: $from| a as i8 as i64)),
                (false, true, 16, 32) => Some(lanes!(|a: $from| a as i16 as i32)),
                (false, true, 16, 64) => Some(lanes!(|a: $from| a as i16 as i64)),
                (false, true, 32, 64) => Some(lanes!(|a: $from| a as i32 as i64)),
                (true, false, 8, _) => Some(lanes!(|a: $from| (a as i128).clamp(0, u8::MAX.into()) as u64)),
                (true, false, 16, _) => Some(lanes!(|a: $from| (a as i128).clamp(0, u16::MAX.into()) as u64)),
                (true, false, 32, _) => Some(lanes!(|a: $from| (a as i128).clamp(0, u32::MAX.into()) as u64)),
                (true, false, 64, _) => Some(lanes!(|a: $from| (a as i128).clamp(0, u64::MAX.into()) as u64)),
                (true, true, 8, 32) => {
                    Some(lanes!(|a: $from| (a as i128).clamp(i8::MIN.into(), i8::MAX.into()) as i32))
                }
                (true, true, 16, 16) => {
                    Some(lanes!(|a: $from| (a as i128).clamp(i16::MIN.into(), i16::MAX.into()) as i16))
                }
                (true, true, 16, 32) => {
                    Some(lanes!(|a: $from| (a as i128).clamp(i16::MIN.into(), i16::MAX.into()) as i32))
                }
                (true, true, 32, 32) => {
                    Some(lanes!(|a: $from| (a as i128).clamp(i32::MIN.into(), i32::MAX.into()) as i32))
                }
                (true, true, 64, 64) => {
                    Some(lanes!(|a: $from| (a as i128).clamp(i64::MIN.into(), i64::MAX.into()) as i64))
                }
                _ => None,
            }
        };
    }
    match (from.kind == Kind::Signed, from.bits) {
        (true, 8) => to!(i8),
        (true, 16) => to!(i16),
        (true, 32) => to!(i32),
        (true, 64) => to!(i64),
        (false, 8) => to!(u8),
        (false, 16) => to!(u16),
        (false, 32) => to!(u32),
        (false, 64) => to!(u64),
        _ => None,
    }
}

/// An integer as a sum of two float64s.
fn parts(a: i128) -> Exact {
    let near = a as f64;
    Exact { near, rest: (a - near as i128) as f64 }
}

fn of_int(round: Round, to: Type, from: Type) -> Option<Alu> {
    macro_rules! side {
        ($from:ty, $how:expr) => {
            match (to.kind, to.bits) {
                (Kind::Float, 32) => Some(lanes!(|a: $from| parts(a as i128).round32($how))),
                (Kind::Float, 64) => Some(lanes!(|a: $from| parts(a as i128).round64($how))),
                (Kind::Float, 16) => Some(lanes!(|a: $from| short(parts(a as i128).odd(), $how))),
                (Kind::Brain, _) => Some(lanes!(|a: $from| brain(parts(a as i128).odd(), $how))),
                _ => None,
            }
        };
    }
    macro_rules! of {
        ($from:ty) => {
            match (round, to.kind, to.bits) {
                (Round::Near, Kind::Float, 32) => Some(lanes!(|a: $from| a as f32)),
                (Round::Near, Kind::Float, 64) => Some(lanes!(|a: $from| a as f64)),
                (Round::Near, ..) => side!($from, Round::Near),
                (Round::Zero, ..) => side!($from, Round::Zero),
                (Round::Down, ..) => side!($from, Round::Down),
                (Round::Up, ..) => side!($from, Round::Up),
            }
        };
    }
    match (from.kind == Kind::Signed, from.bits) {
        (true, 8) => of!(i8),
        (true, 16) => of!(i16),
        (true, 32) => of!(i32),
        (true, 64) => of!(i64),
        (false, 8) => of!(u8),
        (false, 16) => of!(u16),
        (false, 32) => of!(u32),
        (false, 64) => of!(u64),
        _ => None,
    }
}

/// A float as float64, by its bits.
fn number(kind: Kind, bits: u32, value: u64) -> f64 {
    match (kind, bits) {
        (Kind::Float, 16) => f16::of(value).to_f64(),
        (Kind::Brain, _) => bf16::of(value).to_f64(),
        (Kind::Float, 32) => f32::of(value).into(),
        _ => f64::of(value),
    }
}

fn rounded(x: f64, how: Round) -> f64 {
    match how {
        Round::Near => x.round_ties_even(),
        Round::Zero => x.trunc(),
        Round::Down => x.floor(),
        Round::Up => x.ceil(),
    }
}

/// A number as a float of 16 bits.
fn short(x: f64, how: Round) -> f16 {
    let near = f16::from_f64(x);
    f16::from_bits(toward(x, how, near.to_bits(), near.to_f64()))
}

fn brain(x: f64, how: Round) -> bf16 {
    let near = bf16::from_f64(x);
    bf16::from_bits(toward(x, how, near.to_bits(), near.to_f64()))
}

/// The bits of the float in a direction, or those of the nearest one, which is `near`.
fn toward(x: f64, how: Round, bits: u16, near: f64) -> u16 {
    let (above, below) = (near > x, near < x);
    let is_negative = bits >> 15 == 1;
    let smaller = match how {
        Round::Near => return bits,
        Round::Zero if is_negative => below,
        Round::Zero => above,
        // Up is to zero below it, and away from it above.
        Round::Down if above => !is_negative,
        Round::Up if below => is_negative,
        Round::Down | Round::Up => return bits,
    };
    match how {
        Round::Zero if !smaller => bits,
        _ if smaller => bits - 1,
        _ => bits + 1,
    }
}

fn to_whole(how: Round, ftz: bool, to: Type, from: Type) -> Option<Alu> {
    macro_rules! of {
        ($kind:pat, $bits:pat, $k:expr, $b:expr, $how:expr) => {
            match (to.kind == Kind::Signed, to.bits) {
                (true, 8) => Some(lanes!(|a: u64| i32::from(rounded(number($k, $b, a), $how) as i8))),
                (true, 16) => Some(lanes!(|a: u64| i32::from(rounded(number($k, $b, a), $how) as i16))),
                (true, 32) => Some(lanes!(|a: u64| rounded(number($k, $b, a), $how) as i32)),
                (false, 8) => Some(lanes!(|a: u64| rounded(number($k, $b, a), $how) as u8)),
                (false, 16) => Some(lanes!(|a: u64| rounded(number($k, $b, a), $how) as u16)),
                (false, 32) => Some(lanes!(|a: u64| rounded(number($k, $b, a), $how) as u32)),
                // A NaN gives the lowest bit pattern's opposite only in 64 bits.
                (true, 64) => Some(lanes!(|a: u64| {
                    let x = number($k, $b, a);
                    if x.is_nan() { i64::MIN } else { rounded(x, $how) as i64 }
                })),
                (false, 64) => Some(lanes!(|a: u64| {
                    let x = number($k, $b, a);
                    if x.is_nan() { 1 << 63 } else { rounded(x, $how) as u64 }
                })),
                _ => None,
            }
        };
    }
    macro_rules! all {
        ($how:expr) => {
            match (from.kind, from.bits) {
                (Kind::Float, 16) => of!(Kind::Float, 16, Kind::Float, 16, $how),
                (Kind::Float, 32) => of!(Kind::Float, 32, Kind::Float, 32, $how),
                (Kind::Float, 64) => of!(Kind::Float, 64, Kind::Float, 64, $how),
                (Kind::Brain, _) => of!(Kind::Brain, 16, Kind::Brain, 16, $how),
                _ => None,
            }
        };
    }
    // Subnormals give 0 or, rounded away from it, 1: there flushing shows.
    if ftz && matches!(how, Round::Down | Round::Up) {
        return match (how, to.kind == Kind::Signed, to.bits, from.bits) {
            (Round::Down, true, 32, 32) => Some(lanes!(|a: f32| flush(a).floor() as i32)),
            (Round::Up, true, 32, 32) => Some(lanes!(|a: f32| flush(a).ceil() as i32)),
            (Round::Down, false, 32, 32) => Some(lanes!(|a: f32| flush(a).floor() as u32)),
            (Round::Up, false, 32, 32) => Some(lanes!(|a: f32| flush(a).ceil() as u32)),
            _ => None,
        };
    }
    match how {
        Round::Near => all!(Round::Near),
        Round::Zero => all!(Round::Zero),
        Round::Down => all!(Round::Down),
        Round::Up => all!(Round::Up),
    }
}

fn between_floats(m: &mut Modifiers, to: Type, from: Type) -> Option<Alu> {
    let (ftz, sat) = (m.take("ftz"), m.take("sat"));
    if let Some(how) = m.find(whole) {
        return to_whole_float(how, ftz, sat, to, from);
    }
    let round = m.rounding().unwrap_or(Round::Near);
    match ((from.kind, from.bits), (to.kind, to.bits), round, ftz, sat) {
        ((Kind::Float, 32), (Kind::Float, 32), _, false, false) => Some(lanes!(|a: f32| a)),
        ((Kind::Float, 32), (Kind::Float, 32), _, true, false) => Some(lanes!(|a: f32| flush(a))),
        ((Kind::Float, 32), (Kind::Float, 32), _, _, true) => {
            Some(lanes!(|a: f32| if a > 0.0 { a.min(1.0) } else { 0.0 }))
        }
        ((Kind::Float, 64), (Kind::Float, 64), _, false, false) => Some(lanes!(|a: f64| a)),
        ((Kind::Float, 64), (Kind::Float, 64), _, false, true) => {
            Some(lanes!(|a: f64| if a > 0.0 { a.min(1.0) } else { 0.0 }))
        }
        ((Kind::Float, 16), (Kind::Float, 16), _, false, false) => Some(lanes!(|a: f16| a)),
        ((Kind::Float, 32), (Kind::Float, 64), _, false, false) => Some(lanes!(|a: f32| f64::from(a))),
        ((Kind::Float, 32), (Kind::Float, 64), _, true, false) => Some(lanes!(|a: f32| f64::from(flush(a)))),
        ((Kind::Float, 64), (Kind::Float, 32), Round::Near, false, false) => Some(lanes!(|a: f64| a as f32)),
        ((Kind::Float, 64), (Kind::Float, 32), Round::Near, true, false) => Some(lanes!(|a: f64| flush(a as f32))),
        ((Kind::Float, 64), (Kind::Float, 32), Round::Zero, false, false) => {
            Some(lanes!(|a: f64| Exact { near: a, rest: 0.0 }.round32(Round::Zero)))
        }
        ((Kind::Float, 64), (Kind::Float, 32), Round::Down, false, false) => {
            Some(lanes!(|a: f64| Exact { near: a, rest: 0.0 }.round32(Round::Down)))
        }
        ((Kind::Float, 64), (Kind::Float, 32), Round::Up, false, false) => {
            Some(lanes!(|a: f64| Exact { near: a, rest: 0.0 }.round32(Round::Up)))
        }
        ((Kind::Float, 16), (Kind::Float, 32), _, _, false) => Some(lanes!(|a: f16| a.to_f32())),
        ((Kind::Float, 16), (Kind::Float, 64), _, false, false) => Some(lanes!(|a: f16| a.to_f64())),
        ((Kind::Float, 32), (Kind::Float, 16), Round::Near, false, false) => Some(lanes!(|a: f32| f16::from_f32(a))),
        ((Kind::Float, 32), (Kind::Float, 16), Round::Near, true, false) => {
            Some(lanes!(|a: f32| f16::from_f32(flush(a))))
        }
        ((Kind::Float, 64), (Kind::Float, 16), Round::Near, false, false) => Some(lanes!(|a: f64| f16::from_f64(a))),
        ((Kind::Brain, _), (Kind::Float, 32), _, _, false) => Some(lanes!(|a: bf16| a.to_f32())),
        ((Kind::Brain, _), (Kind::Float, 64), _, false, false) => Some(lanes!(|a: bf16| a.to_f64())),
        ((Kind::Float, 32), (Kind::Brain, _), Round::Near, false, false) => Some(lanes!(|a: f32| bf16::from_f32(a))),
        ((Kind::Float, 64), (Kind::Brain, _), Round::Near, false, false) => Some(lanes!(|a: f64| bf16::from_f64(a))),
        ((Kind::Float, 32), (Kind::Float, 16), Round::Zero, false, false) => {
            Some(lanes!(|a: f32| short(a.into(), Round::Zero)))
        }
        ((Kind::Float, 32), (Kind::Brain, _), Round::Zero, false, false) => {
            Some(lanes!(|a: f32| brain(a.into(), Round::Zero)))
        }
        ((Kind::Float, 32), (Kind::Float, 16), Round::Down, false, false) => {
            Some(lanes!(|a: f32| short(a.into(), Round::Down)))
        }
        ((Kind::Float, 32), (Kind::Float, 16), Round::Up, false, false) => {
            Some(lanes!(|a: f32| short(a.into(), Round::Up)))
        }
        ((Kind::Float, 32), (Kind::Brain, _), Round::Down, false, false) => {
            Some(lanes!(|a: f32| brain(a.into(), Round::Down)))
        }
        ((Kind::Float, 32), (Kind::Brain, _), Round::Up, false, false) => {
            Some(lanes!(|a: f32| brain(a.into(), Round::Up)))
        }
        ((Kind::Float, 16), (Kind::Brain, _), Round::Near, false, false) => {
            Some(lanes!(|a: f16| bf16::from_f32(a.to_f32())))
        }
        ((Kind::Brain, _), (Kind::Float, 16), Round::Near, false, false) => {
            Some(lanes!(|a: bf16| f16::from_f32(a.to_f32())))
        }
        // Two numbers make a pair, the first of them its upper half.
        ((Kind::Float, 32), (Kind::HalfPair, _), Round::Near, false, false) => {
            Some(lanes!(|a: f32, b: f32| (f16::from_f32(a).bits() << 16 | f16::from_f32(b).bits()) as u32))
        }
        ((Kind::Float, 32), (Kind::BrainPair, _), Round::Near, false, false) => {
            Some(lanes!(|a: f32, b: f32| (bf16::from_f32(a).bits() << 16 | bf16::from_f32(b).bits()) as u32))
        }
        _ => None,
    }
}

/// The format of the numbers of a pair.
fn float8(kind: Kind) -> Option<Float8> {
    match kind {
        Kind::E4m3Pair => Some(Float8::E4m3),
        Kind::E5m2Pair => Some(Float8::E5m2),
        _ => None,
    }
}

/// Two numbers as floats of eight bits, the first of them in the upper byte. `relu`: those below 0
/// become 0.
fn to_float8(format: Float8, relu: bool, from: Type) -> Option<Alu> {
    fn pair(format: Float8, relu: bool, numbers: [f64; 2]) -> u16 {
        let [upper, lower] = numbers.map(|x| u16::from(format.nearest(if relu && x < 0.0 { 0.0 } else { x })));
        upper << 8 | lower
    }
    fn halves(a: u32) -> [f64; 2] {
        [a >> 16, a & 0xffff].map(|bits| f16::from_bits(bits as u16).to_f64())
    }
    macro_rules! of {
        ($format:expr, $relu:expr) => {
            match from {
                Type { kind: Kind::Float, bits: 32 } => {
                    Some(lanes!(|a: f32, b: f32| pair($format, $relu, [a.into(), b.into()])))
                }
                Type { kind: Kind::HalfPair, .. } => Some(lanes!(|a: u32| pair($format, $relu, halves(a)))),
                _ => None,
            }
        };
    }
    match (format, relu) {
        (Float8::E4m3, false) => of!(Float8::E4m3, false),
        (Float8::E4m3, true) => of!(Float8::E4m3, true),
        (Float8::E5m2, false) => of!(Float8::E5m2, false),
        (Float8::E5m2, true) => of!(Float8::E5m2, true),
    }
}

/// A pair of floats of eight bits as one of sixteen.
fn of_float8(format: Float8, relu: bool) -> Alu {
    fn pair(format: Float8, relu: bool, a: u16) -> u32 {
        let half = |bits: u16| {
            let x = format.number(bits as u8);
            let x = if relu && x < 0.0 { 0.0 } else { x };
            u32::from(if x.is_nan() { 0x7fff } else { f16::from_f64(x).to_bits() })
        };
        half(a >> 8) << 16 | half(a & 0xff)
    }
    match (format, relu) {
        (Float8::E4m3, false) => lanes!(|a: u16| pair(Float8::E4m3, false, a)),
        (Float8::E4m3, true) => lanes!(|a: u16| pair(Float8::E4m3, true, a)),
        (Float8::E5m2, false) => lanes!(|a: u16| pair(Float8::E5m2, false, a)),
        (Float8::E5m2, true) => lanes!(|a: u16| pair(Float8::E5m2, true, a)),
    }
}

fn to_whole_float(how: Round, ftz: bool, sat: bool, to: Type, from: Type) -> Option<Alu> {
    if sat || to != from {
        return None;
    }
    macro_rules! side {
        ($how:expr) => {
            match (to.kind, to.bits, ftz) {
                (Kind::Float, 32, false) => Some(lanes!(|a: f32| rounded(a.into(), $how) as f32)),
                (Kind::Float, 32, true) => Some(lanes!(|a: f32| rounded(flush(a).into(), $how) as f32)),
                (Kind::Float, 64, false) => Some(lanes!(|a: f64| rounded(a, $how))),
                (Kind::Float, 16, false) => Some(lanes!(|a: f16| f16::from_f64(rounded(a.to_f64(), $how)))),
                (Kind::Brain, _, false) => Some(lanes!(|a: bf16| bf16::from_f64(rounded(a.to_f64(), $how)))),
                _ => None,
            }
        };
    }
    match how {
        Round::Near => side!(Round::Near),
        Round::Zero => side!(Round::Zero),
        Round::Down => side!(Round::Down),
        Round::Up => side!(Round::Up),
    }
}
