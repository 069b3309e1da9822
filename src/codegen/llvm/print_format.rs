//! What does a C format string ask for? Rewrites it so that every conversion reads exactly what is
//! passed: integers as 64 bits, floats as double, whatever types the arguments have. The text that
//! comes out is that of the interpreter's `format`.

use crate::ir::print_format::{Conversion, Piece, pieces};
use crate::types::Scalar;

/// What a conversion reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadAs {
    /// A 64-bit integer. What is narrower than 64 bits counts as `int`, for conversions without
    /// sign as `unsigned int`.
    Signed,
    Unsigned,
    /// A byte, as `int`.
    Character,
    /// An `int` that gives a width or precision.
    Width,
    Double,
    /// The word for a bool.
    Truth,
}

/// Which argument is read, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    pub arg: usize,
    pub kind: ReadAs,
}

/// The rewritten format and what it reads, in order. A conversion without an argument shows as
/// nothing, an unknown one as it is written.
pub fn normalise(format: &str, args: &[Scalar]) -> (String, Vec<Wanted>) {
    let mut text = String::with_capacity(format.len() + 8);
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut arg = 0;
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
        let stars = found.stars();
        let Some(&scalar) = args.get(arg + stars) else {
            arg += stars;
            continue;
        };
        wanted.extend((arg..arg + stars).map(|arg| Wanted { arg, kind: ReadAs::Width }));
        let (kind, ending) = conversion(found.letter, scalar);
        wanted.push(Wanted { arg: arg + stars, kind });
        arg += stars + 1;
        text.push_str(found.head());
        text.push_str(ending);
    }
    (text, wanted)
}

/// How a known conversion letter reads a scalar, and the letters that say so.
fn conversion(letter: char, s: Scalar) -> (ReadAs, &'static str) {
    match letter {
        'd' | 'i' => (ReadAs::Signed, "lld"),
        'u' => (ReadAs::Unsigned, "llu"),
        'x' => (ReadAs::Unsigned, "llx"),
        'X' => (ReadAs::Unsigned, "llX"),
        'o' => (ReadAs::Unsigned, "llo"),
        'c' => (ReadAs::Character, "c"),
        'f' => (ReadAs::Double, "f"),
        'F' => (ReadAs::Double, "F"),
        'e' => (ReadAs::Double, "e"),
        'E' => (ReadAs::Double, "E"),
        'G' => (ReadAs::Double, "G"),
        's' if s == Scalar::Bool => (ReadAs::Truth, "s"),
        's' if s == Scalar::U64 || s == Scalar::U32 => (ReadAs::Unsigned, "llu"),
        's' if !s.is_float() => (ReadAs::Signed, "lld"),
        _ => (ReadAs::Double, "g"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_widened() {
        let (text, wanted) =
            normalise("%d %5.2f 100%% %hhu %s\n", &[Scalar::I32, Scalar::F32, Scalar::U64, Scalar::Bool]);
        assert_eq!(text, "%lld %5.2f 100%% %llu %s\n");
        let kinds: Vec<ReadAs> = wanted.iter().map(|w| w.kind).collect();
        assert_eq!(kinds, [ReadAs::Signed, ReadAs::Double, ReadAs::Unsigned, ReadAs::Truth]);
    }

    #[test]
    fn what_cannot_be_served_is_text() {
        assert_eq!(normalise("%s %n %d", &[]).0, " %%n ");
        assert_eq!(normalise("50%", &[Scalar::I32]).0, "50%%");
        assert_eq!(normalise("%*d", &[Scalar::I32]).0, "");
        let (text, wanted) = normalise("%-*.*f|", &[Scalar::I32, Scalar::I8, Scalar::F16]);
        assert_eq!(text, "%-*.*f|");
        assert_eq!(wanted.iter().map(|w| w.arg).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
