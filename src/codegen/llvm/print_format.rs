//! What does a C format string ask for? Rewrites it so that every conversion reads exactly what is passed: integers as 64
//! bits, floats as double. A conversion without an argument is printed as it stands.

use crate::types::Scalar;

/// What a conversion reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 64-bit signed.
    Signed,
    /// 64-bit unsigned.
    Unsigned,
    /// A 32-bit character.
    Character,
    /// double
    Float,
}

/// An argument and the way it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    pub arg: usize,
    pub kind: Kind,
}

/// The rewritten format and its arguments in order.
pub fn normalise(format: &str, args: &[Scalar]) -> (String, Vec<Wanted>) {
    let mut text = String::with_capacity(format.len() + 8);
    let mut wanted = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            text.push_str("%%");
            rest = after;
            continue;
        }
        let flags_end = rest.find(|c: char| !"-+ #0123456789.".contains(c)).unwrap_or(rest.len());
        let (flags, after_flags) = rest.split_at(flags_end);
        let after_length = after_flags.trim_start_matches(['h', 'l', 'j', 'z', 't', 'L', 'q']);
        let mut letters = after_length.chars();
        let letter = letters.next();
        match letter.zip(args.get(wanted.len())).and_then(|(c, s)| conversion(c, *s)) {
            Some((kind, ending)) => {
                text.push('%');
                text.push_str(flags);
                text.push_str(&ending);
                wanted.push(Wanted { arg: wanted.len(), kind });
                rest = letters.as_str();
            }
            // Not a conversion that can be served: its text.
            None => text.push_str("%%"),
        }
    }
    text.push_str(rest);
    (text, wanted)
}

/// How a conversion letter reads a scalar, and the letters that say so. A conversion that does not fit its argument's type
/// gives way to one that does.
fn conversion(letter: char, s: Scalar) -> Option<(Kind, String)> {
    let integer = |letter: char| Some((Kind::Unsigned, format!("ll{letter}")));
    match (letter, s.is_float()) {
        ('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 'p', true) => Some((Kind::Float, "f".to_string())),
        ('d' | 'i', false) if s.is_unsigned_int() => integer('u'),
        ('d' | 'i', false) => Some((Kind::Signed, "lld".to_string())),
        ('u' | 'x' | 'X' | 'o', false) => integer(letter),
        ('p', false) => integer('x'),
        ('c', false) => Some((Kind::Character, "c".to_string())),
        ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A', _) => Some((Kind::Float, letter.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_widened() {
        let (text, wanted) = normalise("%d %5.2f 100%% %u\n", &[Scalar::I32, Scalar::F32, Scalar::U64]);
        assert_eq!(text, "%lld %5.2f 100%% %llu\n");
        assert_eq!(wanted.iter().map(|w| w.kind).collect::<Vec<_>>(), [Kind::Signed, Kind::Float, Kind::Unsigned]);
    }

    #[test]
    fn what_cannot_be_served_is_text() {
        assert_eq!(normalise("%s %n %d", &[]).0, "%%s %%n %%d");
        assert_eq!(normalise("50%", &[Scalar::I32]).0, "50%%");
        assert_eq!(normalise("%", &[]).0, "%%");
        assert_eq!(normalise("%d", &[Scalar::F32]).0, "%f");
    }
}
