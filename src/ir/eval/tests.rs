use super::*;
use Scalar::*;

fn int(scalar: Scalar, value: i128) -> Const {
    Const::int(scalar, value)
}

fn float(scalar: Scalar, value: f64) -> Const {
    Const::float(scalar, value)
}

#[test]
fn integer_table() {
    use BinaryOp::*;
    let min = i128::from(i32::MIN);
    let table: &[(BinaryOp, Scalar, i128, i128, i128)] = &[
        (Add, I32, i128::from(i32::MAX), 1, min),
        (Sub, U8, 0, 1, 255),
        (Mul, I8, 100, 3, 44),
        (Div, I32, 7, 0, 0),
        (Div, I32, -7, 2, -3),
        (Div, I32, min, -1, min),
        (Div, U32, 0xffff_ffff, 2, 0x7fff_ffff),
        (FloorDiv, I32, -7, 2, -4),
        (FloorDiv, I32, 7, -2, -4),
        (FloorDiv, I32, -8, 2, -4),
        (FloorDiv, I32, min, -1, min),
        (FloorDiv, I64, 5, 0, 0),
        (FloorDiv, U16, 7, 2, 3),
        (Rem, I32, -7, 2, -1),
        (Rem, I32, 7, -2, 1),
        (Rem, I32, min, -1, 0),
        (Rem, I32, -7, 0, -7),
        (Shl, I32, 1, 31, min),
        (Shl, I32, 1, 32, 0),
        (Shl, I32, 1, -1, 0),
        (Shr, I32, -8, 1, -4),
        (Shr, I32, -8, 32, -1),
        (Shr, I32, -8, -1, -1),
        (Shr, I32, 8, 40, 0),
        (Shr, U8, 0x80, 7, 1),
        (Shr, U8, 0x80, 8, 0),
        (Shl, U64, 1, 63, 1 << 63),
        (Min, I8, -1, 1, -1),
        (Min, U8, 255, 1, 1),
        (Xor, U16, 0xff00, 0x0ff0, 0xf0f0),
        (MulHigh, U32, 0xffff_ffff, 0xffff_ffff, 0xffff_fffe),
        (MulHigh, U64, u64::MAX as i128, 2, 1),
        (AbsDiff, U8, 3, 250, 247),
        (AbsDiff, U8, 255, 0, 255),
        (AbsDiff, I8, 100, -27, 127),
        (AbsDiff, I8, 100, -28, -128),
        (AbsDiff, I8, -128, 127, -1),
        (AbsDiff, I16, -5, -9, 4),
        (AbsDiff, U16, 1, 65_535, 65_534),
        (AbsDiff, I32, min, 0, min),
        (AbsDiff, I32, min, i128::from(i32::MAX), -1),
        (AbsDiff, U32, 0, 0xffff_ffff, 0xffff_ffff),
        (AbsDiff, I64, i128::from(i64::MIN), i128::from(i64::MAX), -1),
        (AbsDiff, I64, -1, 1, 2),
        (AbsDiff, U64, 1, u64::MAX as i128, u64::MAX as i128 - 1),
    ];
    for &(op, s, a, b, expected) in table {
        assert_eq!(binary(op, int(s, a), int(s, b)), Some(int(s, expected)), "{} {a} {b}", op.name());
    }
    let unary_table: &[(UnaryOp, Scalar, i128, i128)] = &[
        (UnaryOp::Neg, I32, min, min),
        (UnaryOp::Abs, I32, min, min),
        (UnaryOp::Abs, I8, -5, 5),
        (UnaryOp::Abs, U8, 200, 200),
        (UnaryOp::Neg, U8, 1, 255),
        (UnaryOp::BitNot, U16, 1, 0xfffe),
        (UnaryOp::BitNot, I16, 1, -2),
        (UnaryOp::PopCount, I8, -1, 8),
        (UnaryOp::LeadingZeros, I8, 0, 8),
        (UnaryOp::LeadingZeros, I16, 1, 15),
        (UnaryOp::LeadingZeros, U64, 0, 64),
        (UnaryOp::LeadingZeros, I32, -1, 0),
    ];
    for &(op, s, a, expected) in unary_table {
        assert_eq!(unary(op, int(s, a)), Some(int(s, expected)), "{} {a}", op.name());
    }
}

#[test]
fn operations_that_a_type_lacks() {
    assert_eq!(unary(UnaryOp::Sqrt, int(I32, 4)), None);
    assert_eq!(unary(UnaryOp::Not, int(I32, 4)), None);
    assert_eq!(unary(UnaryOp::Neg, Const::bool(true)), None);
    assert_eq!(unary(UnaryOp::PopCount, float(F32, 1.0)), None);
    assert_eq!(binary(BinaryOp::Add, int(I32, 1), int(I64, 1)), None);
    assert_eq!(binary(BinaryOp::Rem, float(F32, 1.0), float(F32, 1.0)), None);
    assert_eq!(binary(BinaryOp::MulHigh, int(I32, 1), int(I32, 1)), None);
    assert_eq!(binary(BinaryOp::MulHigh, int(U16, 1), int(U16, 1)), None);
    assert_eq!(binary(BinaryOp::AbsDiff, float(F32, 1.0), float(F32, 2.0)), None);
    assert_eq!(binary(BinaryOp::AbsDiff, float(F16, 1.0), float(F16, 2.0)), None);
    assert_eq!(binary(BinaryOp::AbsDiff, Const::bool(true), Const::bool(false)), None);
    assert_eq!(binary(BinaryOp::Add, Const::bool(true), Const::bool(true)), None);
    assert_eq!(compare(CompareOp::Lt, Const::bool(false), Const::bool(true)), None);
    assert_eq!(fma(int(I32, 1), int(I32, 1), int(I32, 1)), None);
    assert_eq!(bitcast(int(I32, 1), F64), None);
    assert_eq!(bitcast(int(U8, 2), Bool), None);
}

#[test]
fn min_max_zero_and_nan() {
    for s in [F16, BF16, F32, F64] {
        let (nan, one) = (float(s, f64::NAN), float(s, 1.0));
        let (minus, plus) = (float(s, -0.0), float(s, 0.0));
        for (a, b) in [(minus, plus), (plus, minus)] {
            assert_eq!(binary(BinaryOp::Min, a, b), Some(minus));
            assert_eq!(binary(BinaryOp::Max, a, b), Some(plus));
            assert_eq!(compare(CompareOp::Eq, a, b), Some(Const::bool(true)));
        }
        for (a, b) in [(nan, one), (one, nan)] {
            assert_eq!(binary(BinaryOp::Min, a, b), Some(one));
            assert_eq!(binary(BinaryOp::Max, a, b), Some(one));
            for op in CompareOp::ALL {
                assert_eq!(compare(*op, a, b), Some(Const::bool(*op == CompareOp::Ne)));
            }
        }
        assert!(binary(BinaryOp::Min, nan, nan).and_then(Const::as_float).is_some_and(f64::is_nan));
        assert_eq!(unary(UnaryOp::Neg, plus), Some(minus));
        assert_eq!(binary(BinaryOp::CopySign, one, minus), Some(float(s, -1.0)));
    }
}

#[test]
fn rounding_operations() {
    for s in [F16, BF16, F32, F64] {
        for (op, a, expected) in [
            (UnaryOp::RoundEven, 2.5, 2.0),
            (UnaryOp::Round, 2.5, 3.0),
            (UnaryOp::Round, -2.5, -3.0),
            (UnaryOp::Floor, -0.5, -1.0),
            (UnaryOp::Ceil, -0.5, -0.0),
            (UnaryOp::Trunc, -1.5, -1.0),
            (UnaryOp::Sqrt, 4.0, 2.0),
        ] {
            assert_eq!(unary(op, float(s, a)), Some(float(s, expected)), "{} {a}", op.name());
        }
    }
    // The greatest number below one half must not round up to 1.
    let below_half = f64::from(f32::from_bits(0.5f32.to_bits() - 1));
    assert_eq!(unary(UnaryOp::Round, float(F32, below_half)), Some(float(F32, 0.0)));
}

#[test]
fn casts() {
    let table: &[(f64, Scalar, i128)] = &[
        (f64::NAN, I32, 0),
        (f64::INFINITY, I32, i128::from(i32::MAX)),
        (f64::NEG_INFINITY, I32, i128::from(i32::MIN)),
        (-1.5, I8, -1),
        (-1.5, U8, 0),
        (300.0, U8, 255),
        (-300.0, I8, -128),
        (1e30, U64, u64::MAX as i128),
        (-0.0, Bool, 0),
        (0.25, Bool, 1),
        (f64::NAN, Bool, 1),
    ];
    for &(value, to, expected) in table {
        for from in [F32, F64] {
            assert_eq!(cast(float(from, value), to), int(to, expected), "{value} to {}", to.name());
        }
    }
    assert_eq!(cast(int(I32, -1), U8), int(U8, 255));
    assert_eq!(cast(int(I32, -1), U64), int(U64, u64::MAX as i128));
    assert_eq!(cast(int(U8, 200), I8), int(I8, -56));
    assert_eq!(cast(int(I32, 256), Bool), Const::bool(true));
    assert_eq!(cast(Const::bool(true), F16), float(F16, 1.0));
    // One rounding: 2^24 + 1 + a little lies above the middle of two `float32` numbers only because
    // of the little.
    let value = (1i128 << 54) + (1 << 30) + 1;
    assert_eq!(cast(int(I64, value), F32).as_float(), Some((1u64 << 54) as f64 + (1u64 << 31) as f64));
    // The same for `bfloat16`, where `f64` would lose the little.
    let value = (1i128 << 62) + (1 << 54) + 1;
    assert_eq!(cast(int(I64, value), BF16).as_float(), Some((1u64 << 62) as f64 + (1u64 << 55) as f64));
    assert_eq!(cast(int(I64, -value), BF16).as_float(), Some(-((1u64 << 62) as f64 + (1u64 << 55) as f64)));
    assert_eq!(cast(int(I32, 65519), F16).as_float(), Some(65504.0));
    assert_eq!(cast(int(I32, 65520), F16).as_float(), Some(f64::INFINITY));
    // From `f64`: just above the middle of 1 and the next `float16`.
    let next = 1.0 + 2f64.powi(-10);
    assert_eq!(float(F16, 1.0 + 2f64.powi(-11)).as_float(), Some(1.0));
    assert_eq!(float(F16, 1.0 + 2f64.powi(-11) + 2f64.powi(-50)).as_float(), Some(next));
    assert_eq!(float(F16, 2f64.powi(-25)).as_float(), Some(0.0));
    assert_eq!(float(F16, 2f64.powi(-25) + 2f64.powi(-70)).as_float(), Some(2f64.powi(-24)));
    assert_eq!(float(BF16, f64::MAX).as_float(), Some(f64::INFINITY));
    assert_eq!(bitcast(float(F32, 1.0), U32), Some(int(U32, 0x3f80_0000)));
    assert_eq!(bitcast(int(U32, 0xffff_ffff), I32), Some(int(I32, -1)));
    assert_eq!(bitcast(int(I16, -1), F16), Some(Const::new(F16, 0xffff)));
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The number nearest to `value * 2^-UNIT` by search among the format's finite positive numbers: an
/// oracle that does exact integer arithmetic only.
fn nearest(scalar: Scalar, numbers: &[i128], value: i128) -> Const {
    let magnitude = value.abs();
    let above = numbers.partition_point(|&n| n < magnitude).min(numbers.len() - 1);
    let below = above.saturating_sub(1);
    let (to_below, to_above) = ((magnitude - numbers[below]).abs(), (numbers[above] - magnitude).abs());
    let at = match to_below.cmp(&to_above) {
        std::cmp::Ordering::Less => below,
        std::cmp::Ordering::Greater => above,
        std::cmp::Ordering::Equal if below % 2 == 0 => below,
        std::cmp::Ordering::Equal => above,
    };
    let sign = if value < 0 { sign_bit(scalar) } else { 0 };
    Const::new(scalar, at as u64 | sign)
}

#[test]
fn float16_rounds_once() {
    const UNIT: i32 = 48;
    let in_units = |c: Const| (c.as_float().unwrap() * 2f64.powi(UNIT)) as i128;
    let numbers: Vec<i128> = (0..0x7c00).map(|bits| in_units(Const::new(F16, bits))).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut checked = 0;
    while checked < 60_000 {
        let r = random.next();
        // Half the products with a small and a large factor, so that ties and near ties are common.
        let mask = if r >> 63 == 0 { 0xffff } else { 0xfff0 };
        let [a, b, c] = [r & mask, r >> 16 & 0xffff, r >> 32 & 0xffff].map(|bits| Const::new(F16, bits));
        if [a, b, c].iter().any(|x| !x.as_float().unwrap().is_finite()) {
            continue;
        }
        let product = (in_units(a) >> 24) * (in_units(b) >> 24);
        let limit = in_units(float(F16, 65504.0));
        for (exact, result) in [
            (in_units(a) + in_units(b), binary(BinaryOp::Add, a, b)),
            (in_units(a) - in_units(b), binary(BinaryOp::Sub, a, b)),
            (product, binary(BinaryOp::Mul, a, b)),
            (product + in_units(c), fma(a, b, c)),
        ] {
            if exact != 0 && exact.abs() < limit {
                assert_eq!(result, Some(nearest(F16, &numbers, exact)), "{a:?} {b:?} {c:?}");
                checked += 1;
            }
        }
    }
}

#[test]
fn bfloat16_rounds_once() {
    // Exponents are kept within -20..20 so that the oracle's integers fit.
    const UNIT: i32 = 60;
    let in_units = |c: Const| (c.as_float().unwrap() * 2f64.powi(UNIT)) as i128;
    let numbers: Vec<i128> =
        (0..0x7f80).map(|bits| Const::new(BF16, bits)).map(|c| in_units(c).min(i128::MAX / 4)).collect();
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..30_000 {
        let r = random.next();
        let number = |r: u64| {
            let exponent = 127 - 20 + (r >> 8) % 40;
            Const::new(BF16, (r >> 7 & 1) << 15 | exponent << 7 | r & 0x7f)
        };
        let [a, b, c] = [number(r), number(r >> 20), number(r >> 40)];
        let product = (in_units(a) >> 30) * (in_units(b) >> 30);
        for (exact, result) in [
            (in_units(a) + in_units(b), binary(BinaryOp::Add, a, b)),
            (product, binary(BinaryOp::Mul, a, b)),
            (product + in_units(c), fma(a, b, c)),
        ] {
            // Below 2^-50 the table is too coarse to be the oracle.
            if exact.abs() > 1 << 20 {
                assert_eq!(result, Some(nearest(BF16, &numbers, exact)), "{a:?} {b:?} {c:?}");
            }
        }
    }
    // Far apart: the small term decides a tie.
    let (one, tiny) = (float(BF16, 1.0), float(BF16, 2f64.powi(-100)));
    let half_step = float(BF16, 1.0 + 2f64.powi(-7));
    let tie = fma(half_step, float(BF16, 1.5), tiny);
    let below_tie = fma(half_step, float(BF16, 1.5), unary(UnaryOp::Neg, tiny).unwrap());
    assert_ne!(tie, below_tie);
    assert_eq!(binary(BinaryOp::Add, one, tiny), Some(one));
}

#[test]
fn narrow_division_and_root_agree_with_exact_comparison() {
    let mut random = Random(77);
    for _ in 0..50_000 {
        let r = random.next();
        let [a, b] = [r & 0x7bff, r >> 16 & 0x7bff].map(|bits| Const::new(F16, bits));
        if b.bits == 0 || a.bits == 0 {
            continue;
        }
        let (x, y) = (a.as_float().unwrap(), b.as_float().unwrap());
        let quotient = binary(BinaryOp::Div, a, b).unwrap();
        if quotient.bits > 0 && quotient.bits < 0x7bff {
            let near = |delta: u64, other: u64| Const::new(F16, quotient.bits + delta - other).as_float().unwrap();
            // q is right when a / b lies between the middles to its neighbours; middles times b are
            // exact.
            let (low, high) = ((near(0, 1) + near(0, 0)) / 2.0, (near(1, 0) + near(0, 0)) / 2.0);
            assert!(low * y <= x && x <= high * y, "{x} / {y}");
            if low * y == x || x == high * y {
                assert_eq!(quotient.bits % 2, 0, "{x} / {y} is a tie");
            }
        }
        let root = unary(UnaryOp::Sqrt, a).unwrap();
        let at = |bits: u64| Const::new(F16, bits).as_float().unwrap();
        let (low, high) = ((at(root.bits - 1) + at(root.bits)) / 2.0, (at(root.bits) + at(root.bits + 1)) / 2.0);
        assert!(low * low <= x && x <= high * high, "sqrt {x}");
    }
}
