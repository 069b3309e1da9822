//! What are the words of the text? One at a time, with its place; comments and spaces are between
//! them.

use super::{Error, Place, Result};

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Token<'t> {
    /// `add`, `%r1`, `$L__BB0_1`
    Word(&'t str),
    /// `.f32`, `.L1::no_allocate`: without its dot.
    Dot(&'t str),
    Int(u64),
    F32(u32),
    F64(u64),
    Text(&'t str),
    Mark(u8),
    End,
}

pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    line_start: usize,
    /// The next token, and where it begins.
    pub token: Token<'t>,
    pub place: Place,
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Result<Lexer<'t>> {
        let mut lexer =
            Lexer { text, at: 0, line: 1, line_start: 0, token: Token::End, place: Place { line: 1, column: 1 } };
        lexer.advance()?;
        Ok(lexer)
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn new_line(&mut self) {
        self.line += 1;
        self.line_start = self.at;
    }

    fn here(&self) -> Place {
        Place { line: self.line, column: (self.at - self.line_start) as u32 + 1 }
    }

    /// Skips what is between words.
    fn skip(&mut self) -> Result<()> {
        loop {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' | 0x0c => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    self.new_line();
                }
                b'/' if self.byte(1) == b'/' => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.byte(1) == b'*' => {
                    let start = self.here();
                    self.at += 2;
                    while !(self.byte(0) == b'*' && self.byte(1) == b'/') {
                        if self.at >= self.text.len() {
                            return Err(Error::malformed(start, "a comment does not end"));
                        }
                        let byte = self.byte(0);
                        self.at += 1;
                        if byte == b'\n' {
                            self.new_line();
                        }
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn word_end(&self, mut end: usize) -> usize {
        let bytes = self.text.as_bytes();
        while bytes.get(end).is_some_and(|&b| in_word(b)) {
            end += 1;
        }
        end
    }

    /// Goes on to the next token.
    pub fn advance(&mut self) -> Result<()> {
        self.skip()?;
        self.place = self.here();
        let start = self.at;
        let byte = self.byte(0);
        self.token = match byte {
            0 if start >= self.text.len() => Token::End,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%' => {
                self.at = self.word_end(start + 1);
                Token::Word(&self.text[start..self.at])
            }
            b'.' if in_word(self.byte(1)) => {
                self.at = self.word_end(start + 1);
                while self.byte(0) == b':' && self.byte(1) == b':' {
                    self.at = self.word_end(self.at + 2);
                }
                Token::Dot(&self.text[start + 1..self.at])
            }
            b'0'..=b'9' => self.number()?,
            b'"' => {
                let rest = &self.text.as_bytes()[start + 1..];
                let length = rest.iter().position(|&b| b == b'"' || b == b'\n').unwrap_or(rest.len());
                if rest.get(length) != Some(&b'"') {
                    return Err(Error::malformed(self.place, "a text does not end"));
                }
                self.at = start + length + 2;
                Token::Text(&self.text[start + 1..self.at - 1])
            }
            b'!'..=b'~' => {
                self.at += 1;
                Token::Mark(byte)
            }
            _ => return Err(Error::malformed(self.place, "a character that PTX does not have")),
        };
        Ok(())
    }

    fn number(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        let mut end = self.word_end(start);
        let bytes = self.text.as_bytes();
        let word = &self.text[start..end];
        let bad = |word: &str| Error::malformed(self.place, format!("`{word}` is no number"));
        let radix = |word: &str, digits: &str, radix| {
            let digits = digits.strip_suffix('U').unwrap_or(digits);
            u64::from_str_radix(digits, radix).map_err(|_| bad(word))
        };
        let token = match word.as_bytes() {
            [b'0', b'f' | b'F', rest @ ..] => {
                let bits = radix(word, &word[2..], 16)?;
                let bits = u32::try_from(bits).ok().filter(|_| rest.len() == 8).ok_or_else(|| bad(word))?;
                Token::F32(bits)
            }
            [b'0', b'd' | b'D', rest @ ..] => {
                let bits = radix(word, &word[2..], 16)?;
                Token::F64(if rest.len() == 16 { bits } else { return Err(bad(word)) })
            }
            [b'0', b'x' | b'X', ..] => Token::Int(radix(word, &word[2..], 16)?),
            [b'0', b'b' | b'B', ..] => Token::Int(radix(word, &word[2..], 2)?),
            _ if bytes.get(end) == Some(&b'.') || word.contains(['e', 'E']) => {
                // A decimal float: digits, a point, an exponent with its sign.
                if bytes.get(end) == Some(&b'.') {
                    end = self.word_end(end + 1);
                }
                if matches!(bytes[end - 1], b'e' | b'E') && matches!(bytes.get(end), Some(b'+' | b'-')) {
                    end = self.word_end(end + 1);
                }
                let word = &self.text[start..end];
                let value: f64 = word.parse().map_err(|_| bad(word))?;
                Token::F64(value.to_bits())
            }
            [b'0', _, ..] => Token::Int(radix(word, &word[1..], 8)?),
            _ => Token::Int(radix(word, word, 10)?),
        };
        self.at = end;
        Ok(token)
    }
}
