//! Floats of eight bits (P. Micikevicius and others, "FP8 formats for deep learning", 2022), and
//! what `cvt` makes of them (PTX ISA, "cvt").

/// A format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Float8 {
    /// Four bits of exponent, three of fraction; no infinity, and one NaN of each sign.
    E4m3,
    /// Five bits of exponent, two of fraction: the upper half of a float16.
    E5m2,
}

/// What `cvt` makes of a NaN, in both formats.
const NAN: u8 = 0x7f;

impl Float8 {
    fn fraction_bits(self) -> i32 {
        match self {
            Float8::E4m3 => 3,
            Float8::E5m2 => 2,
        }
    }

    fn bias(self) -> i32 {
        match self {
            Float8::E4m3 => 7,
            Float8::E5m2 => 15,
        }
    }

    /// The largest finite number, and its bits.
    fn largest(self) -> (f64, u8) {
        match self {
            Float8::E4m3 => (448.0, 0x7e),
            Float8::E5m2 => (57344.0, 0x7b),
        }
    }

    pub fn number(self, bits: u8) -> f64 {
        let (width, size) = (self.fraction_bits(), i32::from(bits & 0x7f));
        let (exponent, fraction) = (size >> width, size & ((1 << width) - 1));
        let number = match (self, exponent, fraction) {
            (Float8::E4m3, 15, 7) => f64::NAN,
            (Float8::E5m2, 31, 0) => f64::INFINITY,
            (Float8::E5m2, 31, _) => f64::NAN,
            (_, 0, _) => f64::from(fraction) * 2f64.powi(1 - self.bias() - width),
            _ => f64::from(fraction + (1 << width)) * 2f64.powi(exponent - self.bias() - width),
        };
        if bits >> 7 == 1 { -number } else { number }
    }

    /// The nearest number, of two the even one; beyond the largest, that one (`.rn.satfinite`).
    pub fn nearest(self, x: f64) -> u8 {
        if x.is_nan() {
            return NAN;
        }
        let (size, (largest, most)) = (x.abs(), self.largest());
        let bits = if size >= largest {
            most
        } else {
            // A float64 of float32's range is no subnormal of its own.
            let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(1 - self.bias());
            let steps = (size * 2f64.powi(self.fraction_bits() - exponent)).round_ties_even() as i32;
            // The leading bit of normal numbers adds one to the exponent, as a carry does.
            (((exponent + self.bias() - 1) << self.fraction_bits()) + steps) as u8
        };
        bits | if x.is_sign_negative() { 0x80 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_floats() {
        let numbers = [0x00, 0x01, 0x08, 0x38, 0x3c, 0x7e, 0xb8].map(|bits| Float8::E4m3.number(bits));
        assert_eq!(numbers, [0.0, 2f64.powi(-9), 2f64.powi(-6), 1.0, 1.5, 448.0, -1.0]);
        assert!(Float8::E4m3.number(0x7f).is_nan() && Float8::E4m3.number(0xff).is_nan());
        let numbers = [0x3c, 0x40, 0xbe, 0x7b, 0x7c, 0x01].map(|bits| Float8::E5m2.number(bits));
        assert_eq!(numbers, [1.0, 2.0, -1.5, 57344.0, f64::INFINITY, 2f64.powi(-16)]);
    }

    /// Every number is its own nearest, what lies between two goes to the nearer, and halfway to
    /// the even one.
    #[test]
    fn numbers_go_to_the_nearest_float() {
        for format in [Float8::E4m3, Float8::E5m2] {
            let (_, most) = format.largest();
            for bits in 0..most {
                let (low, high) = (format.number(bits), format.number(bits + 1));
                let (between, even) = (low + (high - low) / 2.0, bits + bits % 2);
                let found = [low, between, between * 0.9999 + low * 0.0001, between * 0.9999 + high * 0.0001];
                assert_eq!(found.map(|x| format.nearest(x)), [bits, even, bits, bits + 1], "{format:?} {bits:x}");
                assert_eq!(format.nearest(-between), even | 0x80);
            }
            assert_eq!([1e30, f64::INFINITY, -1e30].map(|x| format.nearest(x)), [most, most, most | 0x80]);
            assert_eq!([f64::NAN, 0.0, -0.0, 1e-300].map(|x| format.nearest(x)), [0x7f, 0, 0x80, 0]);
        }
    }
}
