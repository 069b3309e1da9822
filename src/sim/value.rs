//! What is in a register? The values of 32 lanes, each as bits with zeros above its width.

use half::{bf16, f16};

pub const LANES: usize = 32;

/// A register of a warp.
pub type Lanes = [u64; LANES];

/// What an instruction computes of three registers at most, for all lanes: made for any processor,
/// and again for those with AVX2, which do it several times as fast (a fused multiply-add without
/// them is a call).
#[derive(Clone, Copy, Debug)]
pub struct Alu(unsafe fn(&mut Lanes, &Lanes, &Lanes, &Lanes));

/// A body of an [`Alu`].
pub trait Compute {
    fn compute(out: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes);
}

impl Alu {
    pub fn of<C: Compute>() -> Alu {
        #[cfg(target_arch = "x86_64")]
        if is_wide() {
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn wide<C: Compute>(out: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes) {
                C::compute(out, a, b, c);
            }
            return Alu(wide::<C>);
        }
        Alu(C::compute)
    }

    #[inline(always)]
    pub fn run(self, out: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes) {
        // SAFETY: `of` took what this processor can run.
        unsafe { (self.0)(out, a, b, c) }
    }
}

/// The lanes in which a comparison holds, as [`Alu`].
#[derive(Clone, Copy, Debug)]
pub struct Test(unsafe fn(&Lanes, &Lanes) -> u32);

/// A body of a [`Test`].
pub trait Compare {
    fn compare(a: &Lanes, b: &Lanes) -> u32;
}

impl Test {
    pub fn of<C: Compare>() -> Test {
        #[cfg(target_arch = "x86_64")]
        if is_wide() {
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn wide<C: Compare>(a: &Lanes, b: &Lanes) -> u32 {
                C::compare(a, b)
            }
            return Test(wide::<C>);
        }
        Test(C::compare)
    }

    #[inline(always)]
    pub fn run(self, a: &Lanes, b: &Lanes) -> u32 {
        // SAFETY: `of` took what this processor can run.
        unsafe { (self.0)(a, b) }
    }
}

/// Whether the processor has what the wide bodies ask for.
#[cfg(target_arch = "x86_64")]
pub fn is_wide() -> bool {
    // Each answer is remembered by the standard library.
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// A type that lanes compute with.
pub trait Lane: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! int_lanes {
    ($($ty:ty as $unsigned:ty),*) => {$(
        impl Lane for $ty {
            #[inline(always)]
            fn of(bits: u64) -> Self {
                bits as $ty
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }
        }
    )*};
}

int_lanes!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, i8 as u8, i16 as u16, i32 as u32, i64 as u64);

impl Lane for f32 {
    #[inline(always)]
    fn of(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    /// Arithmetic gives one NaN only (PTX ISA, "Floating point comparisons"; "add").
    #[inline(always)]
    fn bits(self) -> u64 {
        if self.is_nan() { 0x7fff_ffff } else { self.to_bits().into() }
    }
}

impl Lane for f64 {
    #[inline(always)]
    fn of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

impl Lane for f16 {
    #[inline(always)]
    fn of(bits: u64) -> f16 {
        f16::from_bits(bits as u16)
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        if self.is_nan() { 0x7fff } else { self.to_bits().into() }
    }
}

impl Lane for bf16 {
    #[inline(always)]
    fn of(bits: u64) -> bf16 {
        bf16::from_bits(bits as u16)
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        if self.is_nan() { 0x7fff } else { self.to_bits().into() }
    }
}

/// Zero for subnormals, with their sign: `.ftz`.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    Near,
    Zero,
    Down,
    Up,
}

/// A number that is `near + rest` exactly, or on that side of `near`.
#[derive(Clone, Copy)]
pub struct Exact {
    pub near: f64,
    pub rest: f64,
}

impl Exact {
    /// a + b.
    pub fn sum(a: f64, b: f64) -> Exact {
        let near = a + b;
        let part = near - a;
        let rest = (a - (near - part)) + (b - part);
        Exact { near, rest: if near.is_finite() { rest } else { 0.0 } }
    }

    pub fn product(a: f64, b: f64) -> Exact {
        let near = a * b;
        Exact { near, rest: if near.is_finite() { a.mul_add(b, -near) } else { 0.0 } }
    }

    pub fn quotient(a: f64, b: f64) -> Exact {
        let near = a / b;
        let rest = if near.is_finite() && near != 0.0 && b.is_finite() { (-near).mul_add(b, a) } else { 0.0 };
        Exact { near, rest: rest * 1f64.copysign(b) }
    }

    pub fn root(a: f64) -> Exact {
        let near = a.sqrt();
        Exact { near, rest: if near.is_finite() && near > 0.0 { (-near).mul_add(near, a) } else { 0.0 } }
    }

    /// With its last bit set where it is not exact: rounding that to at most 51 bits is rounding
    /// the number.
    pub fn odd(self) -> f64 {
        if self.rest == 0.0 || !self.near.is_finite() || self.near.to_bits() & 1 == 1 {
            return self.near;
        }
        if (self.rest > 0.0) == (self.near > 0.0) {
            f64::from_bits(self.near.to_bits() + 1)
        } else {
            f64::from_bits(self.near.to_bits() - 1)
        }
    }

    /// The nearest float64 on the asked side.
    pub fn round64(self, how: Round) -> f64 {
        let (above, below) = (self.rest > 0.0, self.rest < 0.0);
        match how {
            Round::Down if below => self.near.next_down(),
            Round::Up if above => self.near.next_up(),
            Round::Zero if below && self.near > 0.0 => self.near.next_down(),
            Round::Zero if above && self.near < 0.0 => self.near.next_up(),
            _ => self.near,
        }
    }

    pub fn round32(self, how: Round) -> f32 {
        let odd = self.odd();
        let near = odd as f32;
        if !odd.is_finite() {
            return near;
        }
        let (above, below) = (odd > f64::from(near), odd < f64::from(near));
        match how {
            Round::Down if below => near.next_down(),
            Round::Up if above => near.next_up(),
            Round::Zero if below && odd > 0.0 => near.next_down(),
            Round::Zero if above && odd < 0.0 => near.next_up(),
            _ => near,
        }
    }
}

/// The lesser one; of a number and a NaN the number, and -0 is less than 0.
#[inline(always)]
pub fn least<T: PartialOrd + Copy + Signed>(a: T, b: T) -> T {
    if a.nan() {
        b
    } else if b.nan() || a < b || a == b && a.negative() {
        a
    } else {
        b
    }
}

#[inline(always)]
pub fn greatest<T: PartialOrd + Copy + Signed>(a: T, b: T) -> T {
    if a.nan() {
        b
    } else if b.nan() || a > b || a == b && !a.negative() {
        a
    } else {
        b
    }
}

/// What comparing floats needs to know.
pub trait Signed {
    fn nan(self) -> bool;
    fn negative(self) -> bool;
}

macro_rules! signed {
    ($($ty:ty),*) => {$(
        impl Signed for $ty {
            #[inline(always)]
            fn nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    )*};
}

signed!(f16, bf16, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_to_a_side_is_exact() {
        let third = Exact::quotient(1.0, 3.0);
        assert_eq!(third.round32(Round::Near), 1.0 / 3.0);
        assert!(f64::from(third.round32(Round::Down)) < 1.0 / 3.0 && f64::from(third.round32(Round::Up)) > 1.0 / 3.0);
        assert_eq!(third.round32(Round::Zero), third.round32(Round::Down));
        let tiny = Exact::sum(1.0, -1e-300);
        assert_eq!((tiny.round64(Round::Down), tiny.round64(Round::Near)), (1f64.next_down(), 1.0));
        assert_eq!(Exact::quotient(-1.0, 3.0).round64(Round::Zero), -Exact::quotient(1.0, 3.0).round64(Round::Down));
        // The nearest float32 lies below the root.
        assert_eq!(Exact::root(2.0).round32(Round::Up), std::f32::consts::SQRT_2.next_up());
        assert_eq!(Exact::sum(f64::from(f32::MAX), 1e30).round32(Round::Zero), f32::MAX);
    }

    #[test]
    fn minima_know_nan_and_the_sign_of_zero() {
        assert_eq!(least(f32::NAN, 1.0), 1.0);
        assert!(least(0.0f64, -0.0).is_sign_negative() && least(-0.0f64, 0.0).is_sign_negative());
        assert!(greatest(0.0f32, -0.0).is_sign_positive() && greatest(-0.0f32, 0.0).is_sign_positive());
        assert!(greatest(f64::NAN, f64::NAN).is_nan());
    }
}
