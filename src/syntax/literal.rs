//! What value does a literal have?

use std::borrow::Cow;

/// The value of an integer literal with its base prefix and `_`; None if it does not fit in 128
/// bits.
pub fn int(text: &str) -> Option<u128> {
    let digits = text.replace('_', "");
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits.as_str()),
    };
    u128::from_str_radix(digits, radix).ok()
}

/// The value of a float literal; too large ones are infinite, as in Python.
pub fn float(text: &str) -> f64 {
    // The lexer admits nothing that the conversion refuses.
    text.replace('_', "").parse().unwrap_or(f64::NAN)
}

/// What a string literal holds.
#[derive(PartialEq, Eq, Debug)]
pub enum Text {
    /// `bad_escape` is the place within the literal of the first escape that Python refuses, such
    /// as `\x` without digits.
    Plain {
        value: String,
        bad_escape: Option<u32>,
    },
    Bytes,
    Formatted,
    /// Holds a character by its Unicode name, `\N{...}`; kc has no table of these names.
    Named,
}

/// Reads a string literal with its prefix and quotes.
pub fn string(literal: &str) -> Text {
    let prefix_length = literal.find(['"', '\'']).unwrap_or(0);
    let (prefix, rest) = literal.split_at(prefix_length);
    let has = |letter: char| prefix.contains([letter, letter.to_ascii_uppercase()]);
    if has('b') {
        return Text::Bytes;
    }
    if has('f') || has('t') {
        return Text::Formatted;
    }
    let quotes = if rest.starts_with("\"\"\"") || rest.starts_with("'''") { 3 } else { 1 };
    let inner = rest.get(quotes..rest.len().saturating_sub(quotes)).unwrap_or("");
    let inner = lines(inner);
    if has('r') {
        return Text::Plain { value: inner.into_owned(), bad_escape: None };
    }
    let mut named = false;
    let mut value = String::with_capacity(inner.len());
    let mut bad_escape = None;
    let mut rest = inner.as_ref();
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        rest = &rest[at..];
        named |= rest.starts_with("\\N{");
        let length = match escape(rest) {
            Some((character, length)) => {
                value.extend(character);
                length
            }
            None => {
                let place = prefix_length + quotes + inner.len() - rest.len();
                bad_escape.get_or_insert(place as u32);
                value.push('\\');
                1
            }
        };
        rest = rest.get(length..).unwrap_or("");
    }
    if named {
        return Text::Named;
    }
    value.push_str(rest);
    Text::Plain { value, bad_escape }
}

/// Python reads every kind of line end as `\n`.
fn lines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}

/// The meaning of the escape that the text starts with and its length in bytes. None: Python
/// refuses it.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let next = text.chars().nth(1)?;
    let simple = |c: char| Some((Some(c), 2));
    match next {
        '\n' => Some((None, 2)),
        '\\' | '\'' | '"' => simple(next),
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        'x' => hex(text, 2),
        'u' => hex(text, 4),
        'U' => hex(text, 8),
        '0'..='7' => {
            let digits = text[1..].bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            let code = u32::from_str_radix(text.get(1..1 + digits)?, 8).ok()?;
            Some((Some(char::from_u32(code)?), 1 + digits))
        }
        // Python keeps an unknown escape as it is.
        _ => Some((Some('\\'), 1)),
    }
}

fn hex(text: &str, digits: usize) -> Option<(Option<char>, usize)> {
    let code = text.get(2..2 + digits)?;
    if !code.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    // Half of a surrogate pair is a character in Python only.
    let character = char::from_u32(u32::from_str_radix(code, 16).ok()?).unwrap_or('\u{fffd}');
    Some((Some(character), 2 + digits))
}

/// A docstring without the indentation that its lines share and without blank lines at both ends.
pub fn dedent(doc: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let shared = doc.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let mut lines = vec![doc.lines().next().unwrap_or("").trim()];
    lines.extend(doc.lines().skip(1).map(|line| line.get(shared..).unwrap_or(line.trim_start()).trim_end()));
    let start = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(start, |last| last + 1);
    lines[start..end].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Text {
        Text::Plain { value: text.to_owned(), bad_escape: None }
    }

    #[test]
    fn integers_of_all_bases() {
        assert_eq!(int("1_000"), Some(1000));
        assert_eq!(int("0x_fF"), Some(255));
        assert_eq!(int("0o17"), Some(15));
        assert_eq!(int("0B1_0"), Some(2));
        assert_eq!(int(&"9".repeat(40)), None);
        assert_eq!(int("00"), Some(0));
    }

    #[test]
    fn floats() {
        assert_eq!(float("1_0.5e-1"), 1.05);
        assert_eq!(float("1."), 1.0);
        assert_eq!(float(".5E1"), 5.0);
        assert_eq!(float("1e999"), f64::INFINITY);
    }

    #[test]
    fn strings_and_their_escapes() {
        assert_eq!(string(r"'a\tb\x41\u00e4\101\q'"), plain("a\tbAäA\\q"));
        assert_eq!(string(r#"r"a\n""#), plain(r"a\n"));
        assert_eq!(string("'''a\\\r\nb\r\nc\\r\\n'''"), plain("ab\nc\r\n"));
        assert_eq!(string("''"), plain(""));
        assert_eq!(string("b'a'"), Text::Bytes);
        assert_eq!(string("Rf'a'"), Text::Formatted);
        assert_eq!(string(r"'ab\xg'"), Text::Plain { value: r"ab\xg".to_owned(), bad_escape: Some(3) });
    }

    #[test]
    fn docstrings_lose_their_indentation() {
        assert_eq!(dedent("Sum.\n\n    More.\n      Deep.\n    "), "Sum.\n\nMore.\n  Deep.");
        assert_eq!(dedent("\n    Sum."), "Sum.");
        assert_eq!(dedent(""), "");
    }
}
