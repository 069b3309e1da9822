//! What does a C format string ask for? Rewrites it so that every conversion reads exactly what is
//! passed: integers as 64 bits, floats as double, whatever types the arguments have. The text that
//! comes out is that of the interpreter's `format`.

use crate::types::Scalar;

/// What a conversion reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
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
    pub kind: Kind,
}

/// The rewritten format and what it reads, in order. A conversion without an argument shows as
/// nothing, an unknown one as it is written.
pub fn normalise(format: &str, args: &[Scalar]) -> (String, Vec<Wanted>) {
    let mut text = String::with_capacity(format.len() + 8);
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut arg = 0;
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let head = directive_head(after);
        let lengths = &after[head..];
        let letters = lengths.trim_start_matches(['h', 'l', 'j', 'z', 't', 'L']);
        let Some(letter) = letters.chars().next() else {
            text.push_str("%%");
            rest = after;
            continue;
        };
        let written = after.len() - letters.len() + letter.len_utf8();
        rest = &after[written..];
        if letter == '%' {
            text.push_str("%%");
            continue;
        }
        if !"diuxXocfFeEgGs".contains(letter) {
            text.push_str("%%");
            text.push_str(&after[..written].replace('%', "%%"));
            continue;
        }
        let stars = after[..head].matches('*').count();
        let Some(&scalar) = args.get(arg + stars) else {
            arg += stars;
            continue;
        };
        wanted.extend((arg..arg + stars).map(|arg| Wanted { arg, kind: Kind::Width }));
        let (kind, ending) = conversion(letter, scalar);
        wanted.push(Wanted { arg: arg + stars, kind });
        arg += stars + 1;
        text.push('%');
        text.push_str(&after[..head]);
        text.push_str(ending);
    }
    text.push_str(rest);
    (text, wanted)
}

/// The length of the flags, width and precision at the start of a directive.
fn directive_head(text: &str) -> usize {
    let bytes = text.as_bytes();
    let skip = |mut at: usize, set: &[u8]| {
        while bytes.get(at).is_some_and(|b| set.contains(b)) {
            at += 1;
        }
        at
    };
    let number = |at: usize| if bytes.get(at) == Some(&b'*') { at + 1 } else { skip(at, b"0123456789") };
    let width = number(skip(0, b"-+ #0"));
    if bytes.get(width) == Some(&b'.') { number(width + 1) } else { width }
}

/// How a known conversion letter reads a scalar, and the letters that say so.
fn conversion(letter: char, s: Scalar) -> (Kind, &'static str) {
    match letter {
        'd' | 'i' => (Kind::Signed, "lld"),
        'u' => (Kind::Unsigned, "llu"),
        'x' => (Kind::Unsigned, "llx"),
        'X' => (Kind::Unsigned, "llX"),
        'o' => (Kind::Unsigned, "llo"),
        'c' => (Kind::Character, "c"),
        'f' => (Kind::Double, "f"),
        'F' => (Kind::Double, "F"),
        'e' => (Kind::Double, "e"),
        'E' => (Kind::Double, "E"),
        'G' => (Kind::Double, "G"),
        's' if s == Scalar::Bool => (Kind::Truth, "s"),
        's' if s == Scalar::U64 || s == Scalar::U32 => (Kind::Unsigned, "llu"),
        's' if !s.is_float() => (Kind::Signed, "lld"),
        _ => (Kind::Double, "g"),
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
        let kinds: Vec<Kind> = wanted.iter().map(|w| w.kind).collect();
        assert_eq!(kinds, [Kind::Signed, Kind::Double, Kind::Unsigned, Kind::Truth]);
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
