//! How does a `printf` of a kernel look in CUDA C++? Each value has the type that its conversion
//! reads: C converts none of them.

use super::tree::Expr;
use crate::ir::print_format::{Conversion, Piece, pieces};
use crate::types::Scalar;

/// The arguments of `printf`: the format, whose lengths are those of the values, and the values.
///
/// A conversion without a value shows as nothing, as on the host.
pub fn arguments(format: &str, values: impl Iterator<Item = (Scalar, Expr)>) -> Vec<Expr> {
    let mut values = values;
    let mut text = String::new();
    let mut arguments = vec![Expr::atom(String::new())];
    for piece in pieces(format) {
        let found = match piece {
            Piece::Conversion(found) if found.is_known() => found,
            Piece::Conversion(Conversion { written, .. }) | Piece::Text(written) => {
                text.push_str(&written.replace('%', "%%"));
                continue;
            }
            Piece::Percent => {
                text.push_str("%%");
                continue;
            }
        };
        let stars: Vec<Expr> =
            values.by_ref().take(found.stars()).map(|(scalar, value)| width(scalar, value)).collect();
        let Some((scalar, value)) = values.next() else { continue };
        let (ending, value) = converted(found.letter, scalar, value);
        text.push_str(found.head());
        text.push_str(&ending);
        arguments.extend(stars);
        arguments.push(value);
    }
    arguments[0] = Expr::atom(quoted(&text));
    arguments
}

/// An `int` for `*`.
fn width(scalar: Scalar, value: Expr) -> Expr {
    if scalar.is_float() || scalar.size() == 8 { Expr::cast("int", value) } else { value }
}

/// The length and the letter of a conversion, and the value with the type that they read.
fn converted(letter: char, scalar: Scalar, value: Expr) -> (String, Expr) {
    let wide = scalar.size() == 8;
    match letter {
        's' if scalar == Scalar::Bool => {
            let word = |text| Box::new(Expr::atom(quoted(text)));
            ("s".to_string(), Expr::Conditional(Box::new(value), word("True"), word("False")))
        }
        's' if scalar.is_float() => converted('g', scalar, value),
        's' if matches!(scalar, Scalar::U32 | Scalar::U64) => converted('u', scalar, value),
        's' => converted('d', scalar, value),
        'c' => ("c".to_string(), width(scalar, value)),
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
            let value = match (scalar.is_float(), wide) {
                (true, true) => Expr::cast("long long", value),
                (true, false) => Expr::cast("int", value),
                (false, _) => value,
            };
            (format!("{}{letter}", if wide { "ll" } else { "" }), value)
        }
        _ if super::scalar::is_half(scalar) => (letter.to_string(), Expr::cast("float", value)),
        _ if scalar.is_float() => (letter.to_string(), value),
        _ => (letter.to_string(), Expr::cast("double", value)),
    }
}

/// A C string literal.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(byte)),
            // Three digits, so that a digit after it stays apart.
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: &str, values: &[(Scalar, &str)]) -> String {
        let values = values.iter().map(|&(scalar, name)| (scalar, Expr::atom(name.to_string())));
        let shown: Vec<String> = arguments(format, values).iter().map(crate::codegen::cuda::composite::text).collect();
        shown.join(", ")
    }

    #[test]
    fn values_have_the_types_that_conversions_read() {
        let floats = [(Scalar::F32, "x"), (Scalar::F64, "y"), (Scalar::F16, "h"), (Scalar::I32, "n")];
        assert_eq!(text("%d %d %f %g\n", &floats), r#""%d %lld %f %g\n", (int)x, (long long)y, (float)h, (double)n"#);
        let integers = [(Scalar::I64, "a"), (Scalar::U8, "b"), (Scalar::I32, "c")];
        assert_eq!(text("%5d|%lld|%hhx", &integers), r#""%5lld|%d|%x", a, b, c"#);
    }

    #[test]
    fn words_widths_and_what_is_no_conversion() {
        assert_eq!(text("%s 100%% %q", &[(Scalar::Bool, "t")]), r#""%s 100%% %%q", t ? "True" : "False""#);
        assert_eq!(text("%*d", &[(Scalar::I64, "w"), (Scalar::I32, "n")]), r#""%*d", (int)w, n"#);
        assert_eq!(text("%d %d tail", &[(Scalar::I32, "n")]), r#""%d  tail", n"#);
    }
}
