//! What does an arithmetic instruction compute, by operation, modifiers and type? The table of what
//! registers are made of registers.

use half::{bf16, f16};

use super::modifiers::Modifiers;
use super::words;
use crate::ptx::{Kind, Type};
use crate::sim::code::Carry;
use crate::sim::value::{Alu, Compute, Exact, LANES, Lane, Lanes, Round, flush, greatest, least};

/// A function of lanes, of up to three operands of types.
macro_rules! lanes {
    (|$a:ident: $ta:ty| $e:expr) => {
        lanes!(|a, _b, _c, l| {
            let $a = <$ta as Lane>::of(a[l]);
            Lane::bits($e)
        })
    };
    (|$a:ident: $ta:ty, $b:ident: $tb:ty| $e:expr) => {
        lanes!(|a, b, _c, l| {
            let ($a, $b) = (<$ta as Lane>::of(a[l]), <$tb as Lane>::of(b[l]));
            Lane::bits($e)
        })
    };
    (|$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty| $e:expr) => {
        lanes!(|a, b, c, l| {
            let ($a, $b, $c) = (<$ta as Lane>::of(a[l]), <$tb as Lane>::of(b[l]), <$tc as Lane>::of(c[l]));
            Lane::bits($e)
        })
    };
    (|$a:ident, $b:ident, $c:ident, $l:ident| $e:expr) => {{
        struct Body;
        impl Compute for Body {
            #[inline(always)]
            fn compute(out: &mut Lanes, $a: &Lanes, $b: &Lanes, $c: &Lanes) {
                for $l in 0..LANES {
                    out[$l] = $e;
                }
            }
        }
        Alu::of::<Body>()
    }};
}
pub(super) use lanes;

/// The same function for each integer type.
macro_rules! ints {
    ($ty:expr, |$($v:ident),*| $e:expr) => {
        match ($ty.kind, $ty.bits) {
            (Kind::Signed, 16) => Some(lanes!(|$($v: i16),*| $e)),
            (Kind::Signed, 32) => Some(lanes!(|$($v: i32),*| $e)),
            (Kind::Signed, 64) => Some(lanes!(|$($v: i64),*| $e)),
            (Kind::Unsigned | Kind::Bits, 16) => Some(lanes!(|$($v: u16),*| $e)),
            (Kind::Unsigned | Kind::Bits, 32) => Some(lanes!(|$($v: u32),*| $e)),
            (Kind::Unsigned | Kind::Bits, 64) => Some(lanes!(|$($v: u64),*| $e)),
            _ => None,
        }
    };
}

/// The same function for float32, perhaps flushed or saturated, and float64.
macro_rules! floats {
    ($m:expr, $ty:expr, |$($v:ident),*| $e:expr) => {{
        let (ftz, sat) = ($m.take("ftz"), $m.take("sat"));
        match ($ty.bits, ftz, sat) {
            (32, false, false) => Some(lanes!(|$($v: f32),*| $e)),
            (32, true, false) => Some(lanes!(|$($v: f32),*| { $(let $v = flush($v);)* flush($e) })),
            (32, false, true) => Some(lanes!(|$($v: f32),*| saturated($e))),
            (32, true, true) => Some(lanes!(|$($v: f32),*| { $(let $v = flush($v);)* saturated(flush($e)) })),
            (64, false, false) => Some(lanes!(|$($v: f64),*| $e)),
            _ => None,
        }
    }};
}

fn saturated(x: f32) -> f32 {
    // A NaN becomes 0, and so does -0.
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// A function of pairs of halves: each half by itself.
macro_rules! pairs {
    ($half:ty, |$($v:ident),*| $e:expr) => {
        lanes!(|$($v: u32),*| {
            let part = |shift: u32| { $(let $v = <$half as Lane>::of(u64::from($v >> shift & 0xffff));)* Lane::bits($e) as u32 };
            part(0) | part(16) << 16
        })
    };
}

/// Halves are computed in float32, whose rounding on the way does not show (24 bits are twice 11
/// and 2).
macro_rules! halves {
    ($m:expr, $ty:expr, |$($v:ident),*| $e:expr) => {{
        let (ftz, sat) = ($m.take("ftz"), $m.take("sat"));
        match ($ty.kind, ftz, sat) {
            (_, true, _) | (_, _, true) => None,
            (Kind::Float, ..) => Some(lanes!(|$($v: f16),*| f16::from_f32({ $(let $v = $v.to_f32();)* $e }))),
            (Kind::HalfPair, ..) => Some(pairs!(f16, |$($v),*| f16::from_f32({ $(let $v = $v.to_f32();)* $e }))),
            (Kind::Brain, ..) => Some(lanes!(|$($v: bf16),*| bf16::from_f32({ $(let $v = $v.to_f32();)* $e }))),
            (Kind::BrainPair, ..) => Some(pairs!(bf16, |$($v),*| bf16::from_f32({ $(let $v = $v.to_f32();)* $e }))),
            _ => None,
        }
    }};
}

/// Whether the type has halves in it.
pub fn is_half(ty: Type) -> bool {
    ty.kind == Kind::Float && ty.bits == 16 || matches!(ty.kind, Kind::Brain | Kind::HalfPair | Kind::BrainPair)
}

fn is_float(ty: Type) -> bool {
    ty.kind == Kind::Float || is_half(ty)
}

/// What `opcode` computes of registers of type `ty`; None: there is no such instruction, or kc does
/// not know it. Modifiers that it knows are taken.
pub fn function(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    if is_float(ty) && opcode != "mov" {
        return float(opcode, m, ty);
    }
    // Bits are moved, whatever they mean.
    let bits = Type { kind: Kind::Bits, bits: ty.bits };
    integer(opcode, m, if opcode == "mov" { bits } else { ty })
}

fn float(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    let rounds = matches!(opcode, "add" | "sub" | "mul" | "fma" | "mad" | "div" | "rcp" | "sqrt");
    let round = if rounds { m.rounding().unwrap_or(Round::Near) } else { Round::Near };
    if is_half(ty) {
        return if round == Round::Near { half_float(opcode, m, ty) } else { None };
    }
    if round != Round::Near {
        return directed(opcode, m, ty, round);
    }
    let approximate = m.take("approx");
    let full = m.take("full");
    if (approximate || full)
        && !matches!(opcode, "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "ex2" | "lg2" | "tanh")
    {
        return None;
    }
    match opcode {
        "add" => floats!(m, ty, |a, b| a + b),
        "sub" => floats!(m, ty, |a, b| a - b),
        "mul" => floats!(m, ty, |a, b| a * b),
        "fma" | "mad" => floats!(m, ty, |a, b, c| a.mul_add(b, c)),
        "div" => floats!(m, ty, |a, b| a / b),
        // In 64 bits only the upper half is computed (PTX ISA, "rcp.approx.ftz.f64").
        "rcp" if approximate && ty.bits == 64 && m.take("ftz") => Some(lanes!(|a: f64| upper(1.0 / upper(a)))),
        "rsqrt" if ty.bits == 64 && m.take("ftz") => Some(lanes!(|a: f64| upper(1.0 / upper(a).sqrt()))),
        "rcp" => floats!(m, ty, |a| 1.0 / a),
        "sqrt" => floats!(m, ty, |a| a.sqrt()),
        "rsqrt" if ty.bits == 64 => Some(lanes!(|a: f64| 1.0 / a.sqrt())),
        "neg" | "abs" | "copysign" => signs(opcode, m, ty),
        "min" | "max" => extremes(opcode, m, ty),
        "rsqrt" | "sin" | "cos" | "ex2" | "lg2" | "tanh" if ty.bits == 32 => approximated(opcode, m),
        _ => None,
    }
}

/// Without the lower half of its bits.
fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() >> 32 << 32)
}

/// Functions that a GPU approximates: rounded from float64, which is within the bounds of the PTX
/// manual.
fn approximated(opcode: &str, m: &mut Modifiers) -> Option<Alu> {
    macro_rules! of {
        (|$v:ident| $e:expr) => {
            match m.take("ftz") {
                false => Some(lanes!(|a: f32| {
                    let $v = f64::from(a);
                    $e as f32
                })),
                true => Some(lanes!(|a: f32| {
                    let $v = f64::from(flush(a));
                    flush($e as f32)
                })),
            }
        };
    }
    match opcode {
        "rsqrt" => of!(|x| 1.0 / x.sqrt()),
        "sin" => of!(|x| x.sin()),
        "cos" => of!(|x| x.cos()),
        "ex2" => of!(|x| x.exp2()),
        "lg2" => of!(|x| x.log2()),
        "tanh" => of!(|x| x.tanh()),
        _ => None,
    }
}

/// The sign bit alone: NaNs keep their bits.
fn signs(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    let ftz = m.take("ftz");
    const TOP32: u64 = 1 << 31;
    const TOP64: u64 = 1 << 63;
    fn flushed(bits: u64) -> u64 {
        flush(f32::from_bits(bits as u32)).to_bits().into()
    }
    match (opcode, ty.bits, ftz) {
        ("neg", 32, false) => Some(lanes!(|a: u64| (a & 0xffff_ffff) ^ TOP32)),
        ("neg", 32, true) => Some(lanes!(|a: u64| flushed(a) ^ TOP32)),
        ("neg", 64, false) => Some(lanes!(|a: u64| a ^ TOP64)),
        ("abs", 32, false) => Some(lanes!(|a: u64| (a & 0xffff_ffff) & !TOP32)),
        ("abs", 32, true) => Some(lanes!(|a: u64| flushed(a) & !TOP32)),
        ("abs", 64, false) => Some(lanes!(|a: u64| a & !TOP64)),
        // The sign of the first and the rest of the second.
        ("copysign", 32, false) => Some(lanes!(|a: u32, b: u32| a & 1 << 31 | b & !(1 << 31))),
        ("copysign", 64, false) => Some(lanes!(|a: u64, b: u64| a & TOP64 | b & !TOP64)),
        _ => None,
    }
}

fn extremes(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    match (opcode, m.take("NaN")) {
        ("min", false) => floats!(m, ty, |a, b| least(a, b)),
        ("max", false) => floats!(m, ty, |a, b| greatest(a, b)),
        ("min", true) => floats!(m, ty, |a, b| if a.is_nan() || b.is_nan() { a + b } else { least(a, b) }),
        ("max", true) => floats!(m, ty, |a, b| if a.is_nan() || b.is_nan() { a + b } else { greatest(a, b) }),
        _ => None,
    }
}

fn half_float(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    // Compilers say that subnormals stay.
    m.take("noftz");
    match opcode {
        "add" => halves!(m, ty, |a, b| a + b),
        "sub" => halves!(m, ty, |a, b| a - b),
        "mul" => halves!(m, ty, |a, b| a * b),
        "fma" => {
            if m.take("ftz") || m.take("sat") {
                return None;
            }
            let relu = m.take("relu");
            fn fused16(a: f16, b: f16, c: f16) -> f16 {
                f16::from_f64(fused(a.to_f64(), b.to_f64(), c.to_f64()))
            }
            fn fused_brain(a: bf16, b: bf16, c: bf16) -> bf16 {
                bf16::from_f64(fused(a.to_f64(), b.to_f64(), c.to_f64()))
            }
            // Zero stays of both signs, and what is no number stays so.
            fn positive16(x: f16) -> f16 {
                if x < f16::ZERO { f16::ZERO } else { x }
            }
            fn positive_brain(x: bf16) -> bf16 {
                if x < bf16::ZERO { bf16::ZERO } else { x }
            }
            match ty.kind {
                Kind::Float if relu => Some(lanes!(|a: f16, b: f16, c: f16| positive16(fused16(a, b, c)))),
                Kind::HalfPair if relu => Some(pairs!(f16, |a, b, c| positive16(fused16(a, b, c)))),
                Kind::Brain if relu => Some(lanes!(|a: bf16, b: bf16, c: bf16| positive_brain(fused_brain(a, b, c)))),
                Kind::BrainPair if relu => Some(pairs!(bf16, |a, b, c| positive_brain(fused_brain(a, b, c)))),
                Kind::Float => Some(lanes!(|a: f16, b: f16, c: f16| fused16(a, b, c))),
                Kind::HalfPair => Some(pairs!(f16, |a, b, c| fused16(a, b, c))),
                Kind::Brain => Some(lanes!(|a: bf16, b: bf16, c: bf16| fused_brain(a, b, c))),
                Kind::BrainPair => Some(pairs!(bf16, |a, b, c| fused_brain(a, b, c))),
                _ => None,
            }
        }
        "neg" if matches!(ty.kind, Kind::Float | Kind::Brain) => Some(lanes!(|a: u16| a ^ 0x8000)),
        "abs" if matches!(ty.kind, Kind::Float | Kind::Brain) => Some(lanes!(|a: u16| a & 0x7fff)),
        "neg" => Some(lanes!(|a: u32| a ^ 0x8000_8000)),
        "abs" => Some(lanes!(|a: u32| a & 0x7fff_7fff)),
        "min" | "max" => {
            let nan = m.take("NaN");
            match (opcode, nan) {
                ("min", false) => halves!(m, ty, |a, b| least(a, b)),
                ("max", false) => halves!(m, ty, |a, b| greatest(a, b)),
                ("min", true) => halves!(m, ty, |a, b| if a.is_nan() || b.is_nan() { f32::NAN } else { least(a, b) }),
                _ => halves!(m, ty, |a, b| if a.is_nan() || b.is_nan() { f32::NAN } else { greatest(a, b) }),
            }
        }
        "ex2" | "tanh" => {
            m.take("approx");
            match opcode {
                "ex2" => halves!(m, ty, |a| f64::from(a).exp2() as f32),
                _ => halves!(m, ty, |a| f64::from(a).tanh() as f32),
            }
        }
        _ => None,
    }
}

/// a * b + c, rounded so that rounding it to a half is rounding the exact number.
fn fused(a: f64, b: f64, c: f64) -> f64 {
    // The product is exact.
    Exact::sum(a * b, c).odd()
}

/// Rounding to a side.
fn directed(opcode: &str, m: &mut Modifiers, ty: Type, round: Round) -> Option<Alu> {
    macro_rules! rounded {
        (|$($v:ident),*| $e:expr) => {{
            if m.take("sat") {
                return None;
            }
            let ftz = m.take("ftz");
            macro_rules! side {
                ($how:expr) => {
                    match (ty.bits, ftz) {
                        (32, false) => Some(lanes!(|$($v: f32),*| { $(let $v = f64::from($v);)* Exact::round32($e, $how) })),
                        (32, true) => Some(lanes!(|$($v: f32),*| { $(let $v = f64::from(flush($v));)* flush(Exact::round32($e, $how)) })),
                        (64, false) => Some(lanes!(|$($v: f64),*| Exact::round64($e, $how))),
                        _ => None,
                    }
                };
            }
            match round {
                Round::Zero => side!(Round::Zero),
                Round::Down => side!(Round::Down),
                Round::Up => side!(Round::Up),
                Round::Near => None,
            }
        }};
    }
    match opcode {
        "add" => rounded!(|a, b| Exact::sum(a, b)),
        "sub" => rounded!(|a, b| Exact::sum(a, -b)),
        "mul" => rounded!(|a, b| Exact::product(a, b)),
        "div" => rounded!(|a, b| Exact::quotient(a, b)),
        "rcp" => rounded!(|a| Exact::quotient(1.0, a)),
        "sqrt" => rounded!(|a| Exact::root(a)),
        // The exact product of float64s takes twice the bits.
        "fma" | "mad" if ty.bits == 32 => rounded!(|a, b, c| Exact::sum(a * b, c)),
        _ => None,
    }
}

fn integer(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    // For 16 and 32 bits, wide results of twice the bits.
    let (wide, hi) = (m.take("wide"), m.take("hi"));
    let lo = m.take("lo");
    if m.take("sat") {
        return match (opcode, ty) {
            ("add", Type { kind: Kind::Signed, bits: 32 }) => Some(lanes!(|a: i32, b: i32| a.saturating_add(b))),
            ("sub", Type { kind: Kind::Signed, bits: 32 }) => Some(lanes!(|a: i32, b: i32| a.saturating_sub(b))),
            _ => None,
        };
    }
    if matches!(opcode, "mul24" | "mad24") {
        return if hi != lo && !wide { words::of_24_bits(opcode == "mad24", hi, ty) } else { None };
    }
    if (wide || hi || lo) && !matches!(opcode, "mul" | "mad") {
        return None;
    }
    match opcode {
        "mul" | "mad" if wide => multiplied_wide(opcode == "mad", ty),
        "mul" | "mad" if hi => multiplied_high(opcode == "mad", ty),
        "mul" => ints!(ty, |a, b| a.wrapping_mul(b)),
        "mad" => ints!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        "add" => ints!(ty, |a, b| a.wrapping_add(b)),
        "sub" => ints!(ty, |a, b| a.wrapping_sub(b)),
        // Division by zero gives all ones, and the remainder is the dividend.
        "div" => ints!(ty, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => ints!(ty, |a, b| if b == 0 { a } else { a.wrapping_rem(b) }),
        "neg" => ints!(ty, |a| a.wrapping_neg()),
        "abs" if ty.kind == Kind::Signed => match ty.bits {
            16 => Some(lanes!(|a: i16| a.wrapping_abs())),
            32 => Some(lanes!(|a: i32| a.wrapping_abs())),
            64 => Some(lanes!(|a: i64| a.wrapping_abs())),
            _ => None,
        },
        "min" => ints!(ty, |a, b| a.min(b)),
        "max" => ints!(ty, |a, b| a.max(b)),
        "and" => ints!(ty, |a, b| a & b),
        "or" => ints!(ty, |a, b| a | b),
        "xor" => ints!(ty, |a, b| a ^ b),
        "not" => ints!(ty, |a| !a),
        "cnot" => ints!(ty, |a| if a == 0 { a | 1 } else { Default::default() }),
        "mov" => match ty.bits {
            8 | 16 => Some(lanes!(|a: u16| a)),
            32 => Some(lanes!(|a: u32| a)),
            64 => Some(lanes!(|a: u64| a)),
            _ => None,
        },
        "shl" => match ty.bits {
            16 => Some(lanes!(|a: u16, b: u32| if b < 16 { a << b } else { 0 })),
            32 => Some(lanes!(|a: u32, b: u32| if b < 32 { a << b } else { 0 })),
            64 => Some(lanes!(|a: u64, b: u32| if b < 64 { a << b } else { 0 })),
            _ => None,
        },
        "shr" => match (ty.kind == Kind::Signed, ty.bits) {
            (false, 16) => Some(lanes!(|a: u16, b: u32| if b < 16 { a >> b } else { 0 })),
            (false, 32) => Some(lanes!(|a: u32, b: u32| if b < 32 { a >> b } else { 0 })),
            (false, 64) => Some(lanes!(|a: u64, b: u32| if b < 64 { a >> b } else { 0 })),
            (true, 16) => Some(lanes!(|a: i16, b: u32| a >> b.min(15))),
            (true, 32) => Some(lanes!(|a: i32, b: u32| a >> b.min(31))),
            (true, 64) => Some(lanes!(|a: i64, b: u32| a >> b.min(63))),
            _ => None,
        },
        "sad" => match (ty.kind, ty.bits) {
            (Kind::Signed, 32) => Some(lanes!(|a: i32, b: i32, c: u32| c.wrapping_add(a.abs_diff(b)))),
            (Kind::Unsigned, 32) => Some(lanes!(|a: u32, b: u32, c: u32| c.wrapping_add(a.abs_diff(b)))),
            (Kind::Unsigned, 16) => Some(lanes!(|a: u16, b: u16, c: u16| c.wrapping_add(a.abs_diff(b)))),
            (Kind::Signed, 16) => Some(lanes!(|a: i16, b: i16, c: u16| c.wrapping_add(a.abs_diff(b)))),
            (Kind::Signed, 64) => Some(lanes!(|a: i64, b: i64, c: u64| c.wrapping_add(a.abs_diff(b)))),
            (Kind::Unsigned, 64) => Some(lanes!(|a: u64, b: u64, c: u64| c.wrapping_add(a.abs_diff(b)))),
            _ => None,
        },
        _ => bits(opcode, m, ty),
    }
}

fn multiplied_wide(adds: bool, ty: Type) -> Option<Alu> {
    match (adds, ty.kind, ty.bits) {
        (false, Kind::Signed, 16) => Some(lanes!(|a: i16, b: i16| i32::from(a) * i32::from(b))),
        (false, Kind::Unsigned, 16) => Some(lanes!(|a: u16, b: u16| u32::from(a) * u32::from(b))),
        (false, Kind::Signed, 32) => Some(lanes!(|a: i32, b: i32| i64::from(a) * i64::from(b))),
        (false, Kind::Unsigned, 32) => Some(lanes!(|a: u32, b: u32| u64::from(a) * u64::from(b))),
        (true, Kind::Signed, 16) => {
            Some(lanes!(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)))
        }
        (true, Kind::Unsigned, 16) => {
            Some(lanes!(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)))
        }
        (true, Kind::Signed, 32) => {
            Some(lanes!(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)))
        }
        (true, Kind::Unsigned, 32) => {
            Some(lanes!(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)))
        }
        _ => None,
    }
}

/// The upper half of a product.
macro_rules! high {
    ($narrow:ty, $wide:ty, $a:expr, $b:expr) => {
        ((<$wide>::from($a) * <$wide>::from($b)) >> <$narrow>::BITS) as $narrow
    };
}

fn multiplied_high(adds: bool, ty: Type) -> Option<Alu> {
    match (adds, ty.kind, ty.bits) {
        (false, Kind::Signed, 16) => Some(lanes!(|a: i16, b: i16| high!(i16, i32, a, b))),
        (false, Kind::Unsigned, 16) => Some(lanes!(|a: u16, b: u16| high!(u16, u32, a, b))),
        (false, Kind::Signed, 32) => Some(lanes!(|a: i32, b: i32| high!(i32, i64, a, b))),
        (false, Kind::Unsigned, 32) => Some(lanes!(|a: u32, b: u32| high!(u32, u64, a, b))),
        (false, Kind::Signed, 64) => Some(lanes!(|a: i64, b: i64| high!(i64, i128, a, b))),
        (false, Kind::Unsigned, 64) => Some(lanes!(|a: u64, b: u64| high!(u64, u128, a, b))),
        (true, Kind::Signed, 32) => Some(lanes!(|a: i32, b: i32, c: i32| high!(i32, i64, a, b).wrapping_add(c))),
        (true, Kind::Unsigned, 32) => Some(lanes!(|a: u32, b: u32, c: u32| high!(u32, u64, a, b).wrapping_add(c))),
        (true, Kind::Signed, 64) => Some(lanes!(|a: i64, b: i64, c: i64| high!(i64, i128, a, b).wrapping_add(c))),
        (true, Kind::Unsigned, 64) => Some(lanes!(|a: u64, b: u64, c: u64| high!(u64, u128, a, b).wrapping_add(c))),
        _ => None,
    }
}

/// A field of a number: `bfe`.
fn field(a: u64, start: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (start, length) = (start & 255, length & 255);
    if length == 0 {
        return 0;
    }
    let top = (start + length - 1).min(bits - 1);
    let sign = signed && a >> top & 1 == 1;
    let fill = if sign { u64::MAX } else { 0 };
    let shifted = if start >= bits { 0 } else { a >> start };
    // Beyond the number's top is its sign.
    let kept = if start >= bits { 0 } else { length.min(bits - start) };
    let mask = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    let whole = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    (shifted & mask | fill & !mask) & whole
}

/// A number with a field replaced: `bfi`.
fn inserted(a: u64, b: u64, start: u32, length: u32, bits: u32) -> u64 {
    let (start, length) = (start & 255, length & 255);
    if length == 0 || start >= bits {
        return b;
    }
    let length = length.min(bits - start);
    let mask = (if length >= 64 { u64::MAX } else { (1 << length) - 1 }) << start;
    b & !mask | a << start & mask
}

/// `prmt`: each byte is one of eight, or its sign everywhere.
pub fn permuted(a: u32, b: u32, choice: u32) -> u32 {
    let whole = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |made, n| {
        let pick = choice >> (4 * n) & 15;
        let byte = (whole >> (8 * (pick & 7))) as u32 & 255;
        let byte = if pick & 8 == 0 { byte } else { (byte >> 7) * 255 };
        made | byte << (8 * n)
    })
}

fn bits(opcode: &str, m: &mut Modifiers, ty: Type) -> Option<Alu> {
    let signed = ty.kind == Kind::Signed;
    match (opcode, ty.bits) {
        ("popc", 32) => Some(lanes!(|a: u32| a.count_ones())),
        ("popc", 64) => Some(lanes!(|a: u64| a.count_ones())),
        ("clz", 32) => Some(lanes!(|a: u32| a.leading_zeros())),
        ("clz", 64) => Some(lanes!(|a: u64| a.leading_zeros())),
        ("brev", 32) => Some(lanes!(|a: u32| a.reverse_bits())),
        ("brev", 64) => Some(lanes!(|a: u64| a.reverse_bits())),
        // The highest bit that is not the sign, or the shift that brings it to the top.
        ("bfind", 32 | 64) => {
            fn highest(a: u64, bits: u32, shift: bool) -> u32 {
                let zeros = a.leading_zeros() - (64 - bits);
                if zeros == bits {
                    u32::MAX
                } else if shift {
                    zeros
                } else {
                    bits - 1 - zeros
                }
            }
            match (signed, ty.bits, m.take("shiftamt")) {
                (false, 32, false) => Some(lanes!(|a: u32| highest(a.into(), 32, false))),
                (false, 32, true) => Some(lanes!(|a: u32| highest(a.into(), 32, true))),
                (false, _, false) => Some(lanes!(|a: u64| highest(a, 64, false))),
                (false, _, true) => Some(lanes!(|a: u64| highest(a, 64, true))),
                (true, 32, false) => Some(lanes!(|a: i32| highest(((a ^ a >> 31) as u32).into(), 32, false))),
                (true, 32, true) => Some(lanes!(|a: i32| highest(((a ^ a >> 31) as u32).into(), 32, true))),
                (true, _, false) => Some(lanes!(|a: i64| highest((a ^ a >> 63) as u64, 64, false))),
                (true, _, true) => Some(lanes!(|a: i64| highest((a ^ a >> 63) as u64, 64, true))),
            }
        }
        ("bfe", 32) if signed => Some(lanes!(|a: u32, b: u32, c: u32| field(a.into(), b, c, 32, true) as u32)),
        ("bfe", 32) => Some(lanes!(|a: u32, b: u32, c: u32| field(a.into(), b, c, 32, false) as u32)),
        ("bfe", 64) if signed => Some(lanes!(|a: u64, b: u32, c: u32| field(a, b, c, 64, true))),
        ("bfe", 64) => Some(lanes!(|a: u64, b: u32, c: u32| field(a, b, c, 64, false))),
        ("prmt", 32) => words::permutation(m),
        ("shf", 32) => match (m.take("l"), m.take("r"), m.take("wrap"), m.take("clamp")) {
            (true, false, true, false) => Some(lanes!(|a: u32, b: u32, c: u32| funnel(a, b, c & 31, true))),
            (true, false, false, true) => Some(lanes!(|a: u32, b: u32, c: u32| funnel(a, b, c.min(32), true))),
            (false, true, true, false) => Some(lanes!(|a: u32, b: u32, c: u32| funnel(a, b, c & 31, false))),
            (false, true, false, true) => Some(lanes!(|a: u32, b: u32, c: u32| funnel(a, b, c.min(32), false))),
            _ => None,
        },
        _ => words::function(opcode, m, ty),
    }
}

/// Two words shifted as one.
fn funnel(a: u32, b: u32, by: u32, left: bool) -> u32 {
    let whole = u64::from(b) << 32 | u64::from(a);
    if left { ((u128::from(whole) << by) >> 32) as u32 } else { (u128::from(whole) >> by) as u32 }
}

/// `bfi`, of registers of so many bits.
pub fn insert(bits: u32) -> fn(u64, u64, u32, u32) -> u64 {
    if bits == 64 {
        |a, b, start, length| inserted(a, b, start, length, 64)
    } else {
        |a, b, start, length| inserted(a & 0xffff_ffff, b & 0xffff_ffff, start, length, 32) & 0xffff_ffff
    }
}

/// `lop3`: a function of three bits, by its table.
pub fn looked_up(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..8).filter(|n| table >> n & 1 == 1).fold(0, |made, n| {
        let pick = |v: u32, set: bool| if set { v } else { !v };
        made | pick(a, n & 4 != 0) & pick(b, n & 2 != 0) & pick(c, n & 1 != 0)
    })
}

/// `dp4a`: products of bytes, added up.
pub fn dot(a: u32, b: u32, c: u32, signed: (bool, bool)) -> u32 {
    let part = |v: u32, n: u32, signed: bool| {
        let byte = (v >> (8 * n)) as u8;
        if signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    (0..4).fold(c, |sum, n| sum.wrapping_add((part(a, n, signed.0) * part(b, n, signed.1)) as u32))
}

/// `dp2a`: products of halves and two bytes, the upper ones if `high`, added up.
pub fn dot_of_halves(a: u32, b: u32, c: u32, signed: (bool, bool), high: bool) -> u32 {
    let half = |n: u32| {
        let half = (a >> (16 * n)) as u16;
        if signed.0 { i32::from(half as i16) } else { i32::from(half) }
    };
    let byte = |n: u32| {
        let byte = (b >> (8 * n + if high { 16 } else { 0 })) as u8;
        if signed.1 { i32::from(byte as i8) } else { i32::from(byte) }
    };
    (0..2).fold(c, |sum, n| sum.wrapping_add((half(n) * byte(n)) as u32))
}

/// Addition and the like with the carry flag.
pub fn with_carry(opcode: &str, high: bool, ty: Type) -> Option<Carry> {
    macro_rules! carry {
        ($narrow:ty, $wide:ty, |$a:ident, $b:ident, $c:ident, $carry:ident| $e:expr) => {
            (|a, b, c, carry| {
                let ($a, $b, $c) =
                    (<$wide>::from(a as $narrow), <$wide>::from(b as $narrow), <$wide>::from(c as $narrow));
                let $carry = <$wide>::from(carry);
                let _ = ($c, $carry);
                let whole: $wide = $e;
                ((whole as $narrow) as u64, whole >> <$narrow>::BITS & 1 == 1)
            }) as Carry
        };
    }
    macro_rules! both {
        (|$a:ident, $b:ident, $c:ident, $carry:ident| $narrow:expr, $wide:expr) => {
            match ty.bits {
                32 => Some(carry!(u32, u64, |$a, $b, $c, $carry| $narrow)),
                64 => Some(carry!(u64, u128, |$a, $b, $c, $carry| $wide)),
                _ => None,
            }
        };
    }
    match (opcode, high) {
        ("add", _) => both!(|a, b, _c, _carry| a + b, a + b),
        ("addc", _) => both!(|a, b, _c, carry| a + b + carry, a + b + carry),
        ("sub", _) => both!(|a, b, _c, _carry| a.wrapping_sub(b), a.wrapping_sub(b)),
        ("subc", _) => {
            both!(|a, b, _c, carry| a.wrapping_sub(b).wrapping_sub(carry), a.wrapping_sub(b).wrapping_sub(carry))
        }
        ("mad", false) => both!(|a, b, c, _carry| ((a * b) & 0xffff_ffff) + c, ((a * b) & u128::from(u64::MAX)) + c),
        ("mad", true) => both!(|a, b, c, _carry| ((a * b) >> 32) + c, ((a * b) >> 64) + c),
        ("madc", false) => {
            both!(|a, b, c, carry| ((a * b) & 0xffff_ffff) + c + carry, ((a * b) & u128::from(u64::MAX)) + c + carry)
        }
        ("madc", true) => both!(|a, b, c, carry| ((a * b) >> 32) + c + carry, ((a * b) >> 64) + c + carry),
        _ => None,
    }
}
