//! What does C's `printf` print for these scalars? Formats as C does on the host, but a conversion
//! never reads a wrong type: the arguments know theirs.

use crate::ir::print_format::{self, Number, Piece, pieces};
use crate::ir::{Const, eval};
use crate::types::Scalar;

/// A conversion whose numbers are known, such as `%-8.3f`.
struct Conversion {
    minus: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

/// The longest width or precision that is honoured.
const MAX_WIDTH: usize = 4096;

/// Formats with C's rules for `d i u x X o c f F e E g G s %`. Length letters are ignored. An
/// argument is converted to the kind of number that its conversion shows; `%s` shows any scalar. A
/// missing argument shows as nothing; an unknown conversion shows as it is written.
pub fn format(format: &str, args: &[Const]) -> String {
    let mut text = String::new();
    let mut args = args.iter().copied();
    for piece in pieces(format) {
        match piece {
            Piece::Text(written) => text.push_str(written),
            Piece::Percent => text.push('%'),
            Piece::Conversion(found) => {
                let conversion = Conversion::of(&found, &mut args);
                if !found.is_known() {
                    text.push_str(found.written);
                } else if let Some(arg) = args.next() {
                    text.push_str(&conversion.show(arg));
                }
            }
        }
    }
    text
}

impl Conversion {
    /// Takes the values of `*`.
    fn of(found: &print_format::Conversion<'_>, args: &mut impl Iterator<Item = Const>) -> Conversion {
        let most = MAX_WIDTH as i128;
        let mut number = |number| match number {
            Number::Value => args.next().and_then(Const::as_int).unwrap_or(0).clamp(-most, most),
            Number::Digits(digits) => (digits as i128).min(most),
        };
        let width = found.width.map_or(0, &mut number);
        // A negative precision counts as none.
        let precision = found.precision.and_then(|precision| usize::try_from(number(precision)).ok());
        Conversion {
            minus: found.flags.contains('-') || width < 0,
            plus: found.flags.contains('+'),
            space: found.flags.contains(' '),
            alternate: found.flags.contains('#'),
            zero: found.flags.contains('0'),
            width: width.unsigned_abs() as usize,
            precision,
            letter: found.letter,
        }
    }

    fn show(&self, arg: Const) -> String {
        match self.letter {
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => self.integer(arg),
            'c' => {
                let byte = eval::cast(arg, Scalar::U8).bits as u8;
                self.pad("", &char::from(byte).to_string(), false)
            }
            's' => {
                let text = match (arg.scalar, arg.as_int(), arg.as_float()) {
                    (Scalar::Bool, ..) => if arg.bits != 0 { "True" } else { "False" }.to_string(),
                    (_, Some(value), _) => value.to_string(),
                    (_, None, value) => general(value.unwrap_or(0.0), 6, false),
                };
                let end = text.len().min(self.precision.unwrap_or(usize::MAX));
                self.pad("", &text[..end], false)
            }
            _ => self.float(eval::cast(arg, Scalar::F64).as_float().unwrap_or(0.0)),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match () {
            _ if negative => "-",
            _ if self.plus => "+",
            _ if self.space => " ",
            _ => "",
        }
    }

    /// Types below 32 bits widen to `int` first, as in a C call.
    fn integer(&self, arg: Const) -> String {
        let wide = arg.scalar.size() == 8;
        let signed = if wide { Scalar::I64 } else { Scalar::I32 };
        let unsigned = if wide { Scalar::U64 } else { Scalar::U32 };
        let value = eval::cast(arg, signed);
        let value = value.as_int().unwrap_or(0);
        let bits = Const::int(unsigned, value).bits;
        let (sign, mut digits) = match self.letter {
            'd' | 'i' => (self.sign(value < 0), value.unsigned_abs().to_string()),
            'u' => ("", bits.to_string()),
            'x' => (if self.alternate && bits != 0 { "0x" } else { "" }, format!("{bits:x}")),
            'X' => (if self.alternate && bits != 0 { "0X" } else { "" }, format!("{bits:X}")),
            _ => ("", format!("{bits:o}")),
        };
        if let Some(precision) = self.precision {
            if precision == 0 && bits == 0 {
                digits.clear();
            }
            digits.insert_str(0, &"0".repeat(precision.saturating_sub(digits.len())));
        }
        if self.letter == 'o' && self.alternate && !digits.starts_with('0') {
            digits.insert(0, '0');
        }
        self.pad(sign, &digits, self.precision.is_none())
    }

    fn float(&self, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let precision = self.precision.unwrap_or(6);
        let upper = self.letter.is_ascii_uppercase();
        let text = match self.letter.to_ascii_lowercase() {
            _ if magnitude.is_nan() => "nan".to_string(),
            _ if magnitude.is_infinite() => "inf".to_string(),
            'e' => exponent(magnitude, precision, self.alternate),
            'g' => general(magnitude, precision, self.alternate),
            _ => format!("{magnitude:.precision$}{}", if self.alternate && precision == 0 { "." } else { "" }),
        };
        let text = if upper { text.to_uppercase() } else { text };
        self.pad(sign, &text, magnitude.is_finite())
    }

    fn pad(&self, sign: &str, digits: &str, zeros_allowed: bool) -> String {
        let fill = self.width.saturating_sub(sign.len() + digits.chars().count());
        if self.minus {
            format!("{sign}{digits}{}", " ".repeat(fill))
        } else if self.zero && zeros_allowed {
            format!("{sign}{}{digits}", "0".repeat(fill))
        } else {
            format!("{}{sign}{digits}", " ".repeat(fill))
        }
    }
}

/// `%e` of a finite number: at least two exponent digits.
fn exponent(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{digits}{point}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}

/// `%g`: the shorter of `%e` and `%f`, without trailing zeros unless `alternate`.
fn general(value: f64, precision: usize, alternate: bool) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .to_string();
    }
    let digits = precision.max(1);
    let power: i32 = format!("{value:.*e}", digits - 1).split_once('e').and_then(|(_, p)| p.parse().ok()).unwrap_or(0);
    let trim = |text: &str| match text.contains('.') && !alternate {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if power < -4 || power >= digits as i32 {
        let text = exponent(value, digits - 1, alternate);
        let (number, power) = text.split_once('e').unwrap_or((&text, "+00"));
        format!("{}e{power}", trim(number))
    } else {
        let decimals = (digits as i32 - 1 - power).max(0) as usize;
        trim(&format!("{value:.decimals$}{}", if alternate && decimals == 0 { "." } else { "" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_c() {
        let f = |x: f64| Const::float(Scalar::F64, x);
        let i = |x: i128| Const::int(Scalar::I32, x);
        let table: &[(&str, &[Const], &str)] = &[
            ("%d|%5d|%-5d|%05d|%+d|% d", &[i(7), i(7), i(7), i(-7), i(7), i(7)], "7|    7|7    |-0007|+7| 7"),
            ("%u %x %X %#x %o %#o", &[i(-1), i(255), i(255), i(255), i(8), i(8)], "4294967295 ff FF 0xff 10 010"),
            ("%lld %hhd %zu", &[Const::int(Scalar::I64, -1), i(3), Const::int(Scalar::U64, 9)], "-1 3 9"),
            ("%d", &[Const::int(Scalar::U32, 4_000_000_000)], "-294967296"),
            ("%u", &[Const::int(Scalar::I8, -1)], "4294967295"),
            ("%.3d|%5.3d|%.0d", &[i(7), i(7), i(0)], "007|  007|"),
            ("%#o|%#.3o|%08x|%-8x|", &[i(0), i(8), i(255), i(255)], "0|010|000000ff|ff      |"),
            (
                "%f|%.2f|%8.3f|%-8.1f|%08.2f",
                &[f(1.5), f(2.675), f(-1.0), f(1.25), f(-3.5)],
                "1.500000|2.67|  -1.000|1.2     |-0003.50",
            ),
            ("%e|%.2E|%.0e|%#.0e", &[f(12345.678), f(0.00012), f(5e10), f(5e10)], "1.234568e+04|1.20E-04|5e+10|5.e+10"),
            (
                "%g|%g|%g|%g|%g",
                &[f(0.0001), f(0.00001), f(123456.0), f(1234567.0), f(0.0)],
                "0.0001|1e-05|123456|1.23457e+06|0",
            ),
            ("%g|%.3g|%#g|%G", &[f(100.0), f(1234.5), f(1.0), f(1e-10)], "100|1.23e+03|1.00000|1E-10"),
            (
                "%f|%5f|%F|%05f|%g",
                &[f(f64::INFINITY), f(f64::NAN), f(f64::NEG_INFINITY), f(f64::INFINITY), f(-0.0)],
                "inf|  nan|-INF|  inf|-0",
            ),
            ("%c%c %% %s %s", &[i(72), i(105), i(-3), Const::bool(true)], "Hi % -3 True"),
            ("%*d|%.*f", &[i(4), i(1), i(1), f(0.25)], "   1|0.2"),
            ("100%", &[], "100%"),
            ("%d %d", &[i(1)], "1 "),
            ("%q %d", &[i(1)], "%q 1"),
            ("%d %f", &[f(2.75), i(2)], "2 2.000000"),
            ("é%dé", &[i(1)], "é1é"),
        ];
        for &(text, args, expected) in table {
            assert_eq!(format(text, args), expected, "{text}");
        }
    }
}
