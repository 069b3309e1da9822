//! How is a format of C's `printf` read? One reader for the checker, the interpreter and the back
//! ends (`fprintf`, section 7.23.6.1 of the C23 draft N3096).

/// The conversions that kernels have: integers, a character, floats, and `%s` for any scalar.
pub const LETTERS: &str = "diuxXocfFeEgGs";

/// What a format consists of, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'t> {
    /// Printed as it is. A `%` that begins no conversion is text.
    Text(&'t str),
    /// `%%`.
    Percent,
    Conversion(Conversion<'t>),
}

/// A conversion, such as `%-8.3f`: flags, width, precision, length, letter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conversion<'t> {
    /// With the `%`.
    pub written: &'t str,
    pub flags: &'t str,
    pub width: Option<Number>,
    pub precision: Option<Number>,
    pub letter: char,
    /// Of `%` and what is before the length.
    head: usize,
}

/// A width or a precision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// `*`: the next value says it.
    Value,
    Digits(usize),
}

impl<'t> Conversion<'t> {
    /// `%`, flags, width and precision: all but the length and the letter.
    pub fn head(&self) -> &'t str {
        &self.written[..self.head]
    }

    /// The values that say a width or a precision.
    pub fn stars(&self) -> usize {
        [self.width, self.precision].into_iter().filter(|number| *number == Some(Number::Value)).count()
    }

    /// Whether kernels have this conversion.
    pub fn is_known(&self) -> bool {
        LETTERS.contains(self.letter)
    }
}

/// The pieces of a format. Their texts, put together, are the format.
pub fn pieces(format: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = format;
    std::iter::from_fn(move || {
        let at = rest.find('%').unwrap_or(rest.len());
        let (piece, length) = match (at, rest.is_empty()) {
            (_, true) => return None,
            (0, _) => match conversion(rest) {
                Some(found) if found.letter == '%' => (Piece::Percent, found.written.len()),
                Some(found) => (Piece::Conversion(found), found.written.len()),
                None => (Piece::Text(&rest[..1]), 1),
            },
            _ => (Piece::Text(&rest[..at]), at),
        };
        rest = &rest[length..];
        Some(piece)
    })
}

/// The conversion that a text begins with, `%%` among them; None: no letter ends it.
fn conversion(text: &str) -> Option<Conversion<'_>> {
    let after = |at: usize, set: &str| at + text[at..].len() - text[at..].trim_start_matches(|c| set.contains(c)).len();
    let number = |at: usize| match text[at..].starts_with('*') {
        true => (Some(Number::Value), at + 1),
        false => {
            let end = after(at, "0123456789");
            // A number that no width has is one that is too large.
            let digits = (end > at).then(|| Number::Digits(text[at..end].parse().unwrap_or(usize::MAX)));
            (digits, end)
        }
    };
    let flags = after(1, "-+ #0");
    let (width, end) = number(flags);
    let (precision, head) = match text[end..].starts_with('.') {
        true => {
            let (digits, end) = number(end + 1);
            (Some(digits.unwrap_or(Number::Digits(0))), end)
        }
        false => (None, end),
    };
    let letter_at = after(head, "hljztL");
    let letter = text[letter_at..].chars().next()?;
    let written = &text[..letter_at + letter.len_utf8()];
    Some(Conversion { written, flags: &text[1..flags], width, precision, letter, head })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(format: &str) -> Vec<String> {
        let name = |piece| match piece {
            Piece::Text(text) => text.to_string(),
            Piece::Percent => "percent".to_string(),
            Piece::Conversion(c) => format!("{} {} {:?} {:?} {}", c.head(), c.flags, c.width, c.precision, c.letter),
        };
        pieces(format).map(name).collect()
    }

    #[test]
    fn formats_are_read_as_c_reads_them() {
        assert_eq!(shape("é %-08.3lld%%z"), ["é ", "%-08.3 -0 Some(Digits(8)) Some(Digits(3)) d", "percent", "z"]);
        assert_eq!(shape("%*.*f"), ["%*.*  Some(Value) Some(Value) f"]);
        assert_eq!(shape("%.d|"), ["%.  None Some(Digits(0)) d", "|"]);
        assert_eq!(shape("50%"), ["50", "%"]);
        assert_eq!(
            shape("%99999999999999999999d"),
            [format!("%99999999999999999999  Some(Digits({})) None d", usize::MAX)]
        );
        assert_eq!(shape(""), Vec::<String>::new());
    }

    #[test]
    fn stars_are_values_and_unknown_letters_stay() {
        let of = |format: &'static str| match pieces(format).next() {
            Some(Piece::Conversion(found)) => (found.stars(), found.is_known(), found.written),
            _ => panic!("{format}"),
        };
        assert_eq!(of("%*.*f"), (2, true, "%*.*f"));
        assert_eq!(of("%a"), (0, false, "%a"));
        assert_eq!(of("%qd"), (0, false, "%q"));
    }
}
