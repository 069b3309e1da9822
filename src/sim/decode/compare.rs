//! What does a comparison hold, by its name and type?

use half::{bf16, f16};

use crate::ptx::{Kind, Type};
use crate::sim::value::{Compare, LANES, Lane, Lanes, Test, flush};

macro_rules! test {
    ($ty:ty, |$a:ident, $b:ident| $e:expr) => {{
        struct Body;
        impl Compare for Body {
            #[inline(always)]
            fn compare(a: &Lanes, b: &Lanes) -> u32 {
                let mut mask = 0;
                for l in 0..LANES {
                    let ($a, $b) = (<$ty as Lane>::of(a[l]), <$ty as Lane>::of(b[l]));
                    mask |= u32::from($e) << l;
                }
                mask
            }
        }
        Test::of::<Body>()
    }};
}

macro_rules! ints {
    ($name:expr, $ty:ty) => {
        match $name {
            "eq" => Some(test!($ty, |a, b| a == b)),
            "ne" => Some(test!($ty, |a, b| a != b)),
            "lt" | "lo" => Some(test!($ty, |a, b| a < b)),
            "le" | "ls" => Some(test!($ty, |a, b| a <= b)),
            "gt" | "hi" => Some(test!($ty, |a, b| a > b)),
            "ge" | "hs" => Some(test!($ty, |a, b| a >= b)),
            _ => None,
        }
    };
}

macro_rules! floats {
    ($name:expr, $ty:ty, $of:expr) => {
        match $name {
            "eq" => Some(test!($ty, |a, b| $of(a) == $of(b))),
            "ne" => Some(test!($ty, |a, b| $of(a) < $of(b) || $of(a) > $of(b))),
            "lt" => Some(test!($ty, |a, b| $of(a) < $of(b))),
            "le" => Some(test!($ty, |a, b| $of(a) <= $of(b))),
            "gt" => Some(test!($ty, |a, b| $of(a) > $of(b))),
            "ge" => Some(test!($ty, |a, b| $of(a) >= $of(b))),
            "equ" => Some(test!($ty, |a, b| !($of(a) < $of(b) || $of(a) > $of(b)))),
            "neu" => Some(test!($ty, |a, b| $of(a) != $of(b))),
            "ltu" => Some(test!($ty, |a, b| !($of(a) >= $of(b)))),
            "leu" => Some(test!($ty, |a, b| !($of(a) > $of(b)))),
            "gtu" => Some(test!($ty, |a, b| !($of(a) <= $of(b)))),
            "geu" => Some(test!($ty, |a, b| !($of(a) < $of(b)))),
            "num" => Some(test!($ty, |a, b| !a.is_nan() && !b.is_nan())),
            "nan" => Some(test!($ty, |a, b| a.is_nan() || b.is_nan())),
            _ => None,
        }
    };
}

/// Whether `name` is the name of a comparison.
pub fn is_name(name: &str) -> bool {
    const INT: Type = Type { kind: Kind::Unsigned, bits: 32 };
    const FLOAT: Type = Type { kind: Kind::Float, bits: 32 };
    comparison(name, INT, false).is_some() || comparison(name, FLOAT, false).is_some()
}

/// The lanes in which the comparison holds.
#[allow(clippy::neg_cmp_op_on_partial_ord)]
pub fn comparison(name: &str, ty: Type, ftz: bool) -> Option<Test> {
    if ftz && (ty.kind, ty.bits) != (Kind::Float, 32) {
        return None;
    }
    match (ty.kind, ty.bits) {
        (Kind::Signed, 16) => ints!(name, i16),
        (Kind::Signed, 32) => ints!(name, i32),
        (Kind::Signed, 64) => ints!(name, i64),
        (Kind::Bits | Kind::Unsigned, 16) => ints!(name, u16),
        (Kind::Bits | Kind::Unsigned, 32) => ints!(name, u32),
        (Kind::Bits | Kind::Unsigned, 64) => ints!(name, u64),
        (Kind::Float, 16) => floats!(name, f16, f16::to_f32),
        (Kind::Brain, _) => floats!(name, bf16, bf16::to_f32),
        (Kind::Float, 32) if ftz => floats!(name, f32, flush),
        (Kind::Float, 32) => floats!(name, f32, f32::from),
        (Kind::Float, 64) => floats!(name, f64, f64::from),
        _ => None,
    }
}
