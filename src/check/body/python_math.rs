//! What the functions of Python's `math` and of NumPy give for numbers: in double precision, and
//! integers of integers.

use crate::check::types::value::{Constant, Number};

/// Functions of `math` whose result is no float.
pub fn in_math(name: &str, constants: &[Constant]) -> Option<Number> {
    let x = constants.first().filter(|_| constants.len() == 1)?.number.as_f64();
    Some(Number::Bool(match name {
        "isnan" => x.is_nan(),
        "isinf" => x.is_infinite(),
        "isfinite" => x.is_finite(),
        _ => return None,
    }))
}

/// Whether a function of `numpy` gives integers for integers: where [`in_numpy`] has none, it wraps
/// or stops.
pub fn keeps_integers(name: &str, constants: &[Constant]) -> bool {
    let keeps = matches!(name, "power" | "absolute" | "fmod");
    keeps && constants.iter().all(|constant| constant.as_int().is_some())
}

/// Functions of `numpy` that keep integers, choose, or ask.
pub fn in_numpy(name: &str, constants: &[Constant]) -> Option<Number> {
    if let Some(truth) = in_math(name, constants) {
        return Some(truth);
    }
    if let ("where", [condition, a, b]) = (name, constants) {
        let taken = if condition.number.is_true() { a } else { b };
        // Of an integer and a float it makes floats.
        let whole = a.as_int().is_some() && b.as_int().is_some();
        return (taken.scalar.is_none())
            .then(|| if whole { taken.number } else { Number::Float(taken.number.as_f64()) });
    }
    if constants.iter().any(|constant| constant.scalar.is_some()) {
        return None;
    }
    let integers: Option<Vec<i128>> = constants.iter().map(|constant| constant.as_int()).collect();
    if let Some(integers) = integers {
        let result = match (name, integers.as_slice()) {
            ("abs" | "absolute", [x]) => x.checked_abs()?,
            ("sign", [x]) => x.signum(),
            ("square", [x]) => x.checked_mul(*x)?,
            ("maximum", [x, y]) => *x.max(y),
            ("minimum", [x, y]) => *x.min(y),
            ("mod" | "remainder", [x, y]) if *y != 0 => (x % y + y) % y,
            ("fmod", [x, y]) if *y != 0 => x % y,
            ("power", [x, y]) => x.checked_pow(u32::try_from(*y).ok()?)?,
            ("clip", [x, low, high]) => *x.max(low).min(high),
            _ => return None,
        };
        // Others wrap there.
        return i64::try_from(result).is_ok().then_some(Number::Int(result));
    }
    let numbers: Vec<f64> = constants.iter().map(|constant| constant.number.as_f64()).collect();
    // NaN is passed on.
    let greater = |x: f64, y: f64| if x.is_nan() || x > y { x } else { y };
    let less = |x: f64, y: f64| if x.is_nan() || x < y { x } else { y };
    Some(Number::Float(match (name, numbers.as_slice()) {
        ("abs", [x]) => x.abs(),
        ("sign", [x]) if *x == 0.0 => 0.0,
        ("sign", [x]) if !x.is_nan() => x.signum(),
        ("square", [x]) => x * x,
        ("maximum", [x, y]) => greater(*x, *y),
        ("minimum", [x, y]) => less(*x, *y),
        // With the sign of the divisor.
        ("mod" | "remainder", [x, y]) => {
            let rest = x % y;
            if rest == 0.0 {
                rest.copysign(*y)
            } else if (rest < 0.0) != (*y < 0.0) {
                rest + y
            } else {
                rest
            }
        }
        ("clip", [x, low, high]) => less(greater(*x, *low), *high),
        _ => return None,
    }))
}

/// Functions of `math` and `numpy` by their names in either. None: not one of these, or not with so
/// many arguments.
pub fn in_double(name: &str, numbers: &[f64]) -> Option<f64> {
    Some(match *numbers {
        [x] => match name {
            "sin" => x.sin(),
            "cos" => x.cos(),
            "tan" => x.tan(),
            "asin" | "arcsin" => x.asin(),
            "acos" | "arccos" => x.acos(),
            "atan" | "arctan" => x.atan(),
            "sinh" => x.sinh(),
            "cosh" => x.cosh(),
            "tanh" => x.tanh(),
            "asinh" | "arcsinh" => asinh(x),
            "acosh" | "arccosh" => x.acosh(),
            "atanh" | "arctanh" => x.atanh(),
            "exp" => x.exp(),
            "exp2" => x.exp2(),
            "expm1" => x.exp_m1(),
            "log" => x.ln(),
            "log2" => x.log2(),
            "log10" => x.log10(),
            "log1p" => x.ln_1p(),
            "sqrt" => x.sqrt(),
            "cbrt" => x.cbrt(),
            "fabs" | "absolute" => x.abs(),
            "floor" => x.floor(),
            "ceil" => x.ceil(),
            "trunc" => x.trunc(),
            "rint" | "round" | "around" => x.round_ties_even(),
            "radians" | "deg2rad" => x * (std::f64::consts::PI / 180.0),
            "degrees" | "rad2deg" => x * (180.0 / std::f64::consts::PI),
            _ => return None,
        },
        [x, y] => match name {
            "atan2" | "arctan2" => x.atan2(y),
            "hypot" => hypot(x, y),
            "pow" | "power" | "float_power" => x.powf(y),
            "copysign" => x.copysign(y),
            "fmod" => x % y,
            "log" => x.ln() / y.ln(),
            _ => return None,
        },
        _ => return None,
    })
}

fn asinh(x: f64) -> f64 {
    let inverse = 1.0 / x.abs();
    (x.abs() + x.abs() / (hypot(1.0, inverse) + inverse)).ln_1p().copysign(x)
}

/// The length of `(x, y)`, to less than an ulp. That of the C library, which Rust's `asinh` calls,
/// too, would be the one function here that asks for version 2.35 of it (`python/needs.py`).
fn hypot(x: f64, y: f64) -> f64 {
    if x.is_infinite() || y.is_infinite() {
        return f64::INFINITY;
    }
    let (large, small) = if x.abs() < y.abs() { (y.abs(), x.abs()) } else { (x.abs(), y.abs()) };
    if large.is_nan() || small <= large * (f64::EPSILON / 4.0) {
        return large + small;
    }
    // Squares are to be numbers, and exact in two parts.
    let scale = match () {
        _ if large > 1e150 => 2f64.powi(-600),
        _ if small < 1e-130 => 2f64.powi(600),
        _ => 1.0,
    };
    let (a, b) = (large * scale, small * scale);
    let length = a.mul_add(a, b * b).sqrt();
    let (square, of_a) = (length * length, a * a);
    let over = (-b).mul_add(b, square - of_a) + length.mul_add(length, -square) - a.mul_add(a, -of_a);
    (length - over / (2.0 * length)) / scale
}

#[cfg(test)]
mod tests {
    use super::{asinh, hypot, in_numpy, keeps_integers};
    use crate::check::types::value::{Constant, Number};

    #[test]
    fn integers_that_numpy_wraps_are_not_computed() {
        let int = |n: i128| Constant::untyped(Number::Int(n));
        let float = |x: f64| Constant::untyped(Number::Float(x));
        assert_eq!(in_numpy("power", &[int(3), int(4)]), Some(Number::Int(81)));
        for (name, x, y) in [("power", 2, 70), ("power", 2, -1), ("fmod", 7, 0)] {
            assert_eq!(in_numpy(name, &[int(x), int(y)]), None);
            assert!(keeps_integers(name, &[int(x), int(y)]));
        }
        assert!(!keeps_integers("power", &[float(2.0), int(-1)]));
        let zero = |y: f64| match in_numpy("mod", &[float(-4.0), float(y)]) {
            Some(Number::Float(rest)) => rest.to_bits(),
            other => panic!("{other:?}"),
        };
        assert_eq!((zero(2.0), zero(-2.0)), (0f64.to_bits(), (-0f64).to_bits()));
    }

    #[test]
    fn the_length_is_that_of_the_c_library() {
        let mut bits = 1u64;
        let mut number = |range: u64| {
            bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let exponent = 1023 - range / 2 + (bits >> 20) % range;
            f64::from_bits(exponent << 52 | bits >> 12)
        };
        for range in [2, 40, 1000, 2040] {
            for _ in 0..20_000 {
                let (x, y) = (number(range), number(range));
                let (found, wanted) = (hypot(x, -y), x.hypot(y));
                assert!(
                    found == wanted || (found - wanted).abs() <= wanted * f64::EPSILON,
                    "{x:e} {y:e}: {found:e}, {wanted:e}"
                );
            }
        }
        for x in [0.0, 1e-300, 1e-3, -0.5, 2.0, 1e9, -1e300, f64::INFINITY] {
            assert_eq!(asinh(x), x.asinh());
        }
        assert_eq!((hypot(3.0, -4.0), hypot(0.0, -0.0), hypot(5e-324, 0.0)), (5.0, 0.0, 5e-324));
        assert_eq!(hypot(f64::NAN, f64::NEG_INFINITY), f64::INFINITY);
        assert!(hypot(f64::NAN, 1.0).is_nan() && hypot(1.0, f64::NAN).is_nan());
    }
}
