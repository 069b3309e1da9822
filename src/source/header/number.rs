//! Which number is an expression of C constants?

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use super::lines::Macros;

/// The value of a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Int(i64),
    Float(f64),
}

/// How many macros and parentheses may be inside one another.
const DEEPEST: u32 = 32;
/// How many numbers and names an expression may have, with those of its macros.
const MOST_WORDS: u32 = 1000;

/// The number that an expression is. None: it is none that is surely known.
pub(super) fn of(text: &str, macros: &Macros, known: &HashMap<String, Number>) -> Option<Number> {
    Reader { words: Words::of(text), macros, known, depth: 0, left: &Cell::new(MOST_WORDS) }.all()
}

pub(super) fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The words of C code: names, numbers, operators.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    pub fn of(text: &'a str) -> Words<'a> {
        Words { text, at: 0 }
    }

    fn peek(&self) -> Option<&'a str> {
        self.clone().next().map(|(word, _)| word)
    }

    /// The next word, if it is a name.
    pub fn name(&mut self) -> Option<&'a str> {
        let name = self.peek().filter(|word| is_name(word))?;
        self.next();
        Some(name)
    }

    /// The text before the next comma or closing brace that no parentheses hold.
    pub fn until_comma(&mut self) -> Option<&'a str> {
        let start = self.at;
        let mut depth = 0;
        loop {
            let before = self.at;
            match self.next()?.0 {
                "(" => depth += 1,
                ")" => depth -= 1,
                "," | "}" if depth == 0 => {
                    self.at = before;
                    return Some(&self.text[start..before]);
                }
                ";" | "{" => return None,
                _ => {}
            }
        }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = (&'a str, Range<u32>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        // A backslash continues a line.
        let start = self.at + rest.find(|c: char| !c.is_whitespace() && c != '\\')?;
        let rest = &self.text[start..];
        let bytes = rest.as_bytes();
        let len = match bytes[0] {
            b'.' | b'0'..=b'9' => number_length(bytes),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
            }
            b'<' | b'>' if bytes.get(1) == Some(&bytes[0]) => 2,
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        self.at = start + len;
        Some((&rest[..len], start as u32..self.at as u32))
    }
}

/// How long the number is that a text begins with: `1.5e-3f`.
fn number_length(bytes: &[u8]) -> usize {
    let hex = bytes.starts_with(b"0x") || bytes.starts_with(b"0X");
    let mut len = 1;
    while let Some(&byte) = bytes.get(len) {
        let sign = matches!(byte, b'+' | b'-') && !hex && matches!(bytes[len - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || byte == b'.' || sign) {
            break;
        }
        len += 1;
    }
    len
}

struct Reader<'a> {
    words: Words<'a>,
    macros: &'a Macros,
    known: &'a HashMap<String, Number>,
    depth: u32,
    left: &'a Cell<u32>,
}

/// The operators of two integers, from those that bind least to those that bind most.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*"]];

impl Reader<'_> {
    fn all(&mut self) -> Option<Number> {
        let (mut words, mut name) = (self.words.clone(), "");
        if words.name().inspect(|word| name = word).is_some()
            && words.next().is_none()
            && let Some(Some((text, _))) = self.macros.get(name)
            && !self.known.contains_key(name)
        {
            self.depth += 1;
            self.words = Words::of(text);
            return if self.depth > DEEPEST { None } else { self.all() };
        }
        let number = self.binary(0)?;
        self.words.next().is_none().then_some(number)
    }

    fn binary(&mut self, level: usize) -> Option<Number> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.words.peek().filter(|word| operators.contains(word)) {
            self.words.next();
            let (Number::Int(a), Number::Int(b)) = (left, self.binary(level + 1)?) else { return None };
            left = Number::Int(combine(operator, a, b)?);
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Number> {
        self.depth += 1;
        self.left.set(self.left.get().checked_sub(1)?);
        if self.depth > DEEPEST {
            return None;
        }
        let (word, _) = self.words.next()?;
        let number = match word {
            "-" => match self.unary()? {
                Number::Int(value) => Number::Int(value.checked_neg()?),
                Number::Float(value) => Number::Float(-value),
            },
            "+" => self.unary()?,
            "(" => {
                let inner = self.binary(0)?;
                (self.words.next()?.0 == ")").then_some(inner)?
            }
            name if is_name(name) => match (self.known.get(name), self.macros.get(name)) {
                (Some(number), None) => *number,
                // Its text takes its place: beside operators, what binds it may be another one.
                (None, Some(Some((text, _)))) if stands_alone(text) => {
                    Reader { words: Words::of(text), ..*self }.all()?
                }
                _ => return None,
            },
            literal => literal_of(literal)?,
        };
        self.depth -= 1;
        Some(number)
    }
}

/// Whether a text is one operand, whatever is beside it: a word, or all of it in parentheses.
fn stands_alone(text: &str) -> bool {
    let mut words = Words::of(text);
    let mut depth = 0;
    while let Some((word, _)) = words.next() {
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            "-" if depth == 0 => continue,
            _ => {}
        }
        if depth == 0 {
            return words.next().is_none();
        }
    }
    false
}

/// The result, where `int` holds it: what C does beyond depends on types.
fn combine(operator: &str, a: i64, b: i64) -> Option<i64> {
    let (a, b) = (i32::try_from(a).ok()?, i32::try_from(b).ok()?);
    let shift = || u32::try_from(b).ok().filter(|by| *by < 31 && a >= 0);
    let result = match operator {
        "|" => i64::from(a | b),
        "^" => i64::from(a ^ b),
        "&" => i64::from(a & b),
        "<<" => i64::from(a) << shift()?,
        ">>" => i64::from(a) >> shift()?,
        "+" => i64::from(a) + i64::from(b),
        "-" => i64::from(a) - i64::from(b),
        "*" => i64::from(a) * i64::from(b),
        _ => return None,
    };
    i32::try_from(result).ok().map(i64::from)
}

fn literal_of(word: &str) -> Option<Number> {
    let lower = word.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return i64::from_str_radix(hex.trim_end_matches(['u', 'l']), 16).ok().map(Number::Int);
    }
    if !lower.contains(['.', 'e']) {
        let digits = lower.trim_end_matches(['u', 'l']);
        let radix = if digits.len() > 1 && digits.starts_with('0') { 8 } else { 10 };
        return i64::from_str_radix(digits, radix).ok().map(Number::Int);
    }
    match lower.strip_suffix('f') {
        Some(digits) => digits.parse::<f32>().ok().map(|value| Number::Float(f64::from(value))),
        None => lower.parse().ok().map(Number::Float),
    }
}
