//! Tokens of IR text. `//` starts a comment; `#` a note, which belongs to the instruction on the
//! next line.

use super::{ParseError, Parsed};

#[derive(Clone, PartialEq, Debug)]
pub(super) enum TokenKind<'t> {
    /// `x.1` of `%x.1`
    Value(&'t str),
    /// `f` of `@f`
    Function(&'t str),
    Word(&'t str),
    Number(&'t str),
    Text(String),
    /// The line after `# `, to its end.
    Note(&'t str),
    /// A punctuation mark; `>` for `->`.
    Mark(char),
    /// One for any number of line ends.
    LineEnd,
    End,
}

impl std::fmt::Display for TokenKind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TokenKind::Value(name) => write!(f, "`%{name}`"),
            TokenKind::Function(name) => write!(f, "`@{name}`"),
            TokenKind::Word(text) | TokenKind::Number(text) => write!(f, "`{text}`"),
            TokenKind::Text(_) => write!(f, "a string"),
            TokenKind::Note(_) => write!(f, "a note"),
            TokenKind::Mark('>') => write!(f, "`->`"),
            TokenKind::Mark(mark) => write!(f, "`{mark}`"),
            TokenKind::LineEnd => write!(f, "the end of the line"),
            TokenKind::End => write!(f, "the end of the text"),
        }
    }
}

pub(super) struct Token<'t> {
    pub kind: TokenKind<'t>,
    pub line: u32,
    /// The bytes of the text.
    pub start: u32,
    pub end: u32,
}

/// All tokens; the text ends as if with a line end.
pub(super) fn tokens(text: &str) -> Parsed<Vec<Token<'_>>> {
    let mut list: Vec<Token<'_>> = Vec::new();
    let mut line = 1;
    let mut rest = text;
    // Source files are smaller than 4 GiB, and offsets beyond are wrong for reports alone.
    let at = |rest: &str| (text.len() - rest.len()) as u32;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        let error = |message: String| Err(ParseError { line, message });
        let kind = match c {
            '\n' => {
                let last = list.last().map(|t| &t.kind);
                if !matches!(last, None | Some(TokenKind::LineEnd)) {
                    list.push(Token { kind: TokenKind::LineEnd, line, start: at(rest), end: at(rest) });
                }
                line += 1;
                None
            }
            c if c.is_whitespace() => None,
            '/' if rest.starts_with("//") => {
                length = rest.find('\n').unwrap_or(rest.len());
                None
            }
            '#' => {
                length = rest.find('\n').unwrap_or(rest.len());
                let text = &rest[1..length];
                Some(TokenKind::Note(text.strip_prefix(' ').unwrap_or(text)))
            }
            '-' if rest.starts_with("->") => {
                length = 2;
                Some(TokenKind::Mark('>'))
            }
            '-' | '0'..='9' => {
                length = number_length(rest);
                Some(TokenKind::Number(&rest[..length]))
            }
            '%' | '@' => {
                let name = &rest[1..];
                let mut end = word_length(name);
                if let Some(suffix) = name[end..].strip_prefix('.').filter(|_| c == '%') {
                    let digits = suffix.find(|c: char| !c.is_ascii_digit()).unwrap_or(suffix.len());
                    end += if digits > 0 { 1 + digits } else { 0 };
                }
                if end == 0 {
                    return error(format!("expected a name after `{c}`"));
                }
                length = 1 + end;
                Some(if c == '%' { TokenKind::Value(&name[..end]) } else { TokenKind::Function(&name[..end]) })
            }
            '"' => match string(rest) {
                Some((text, end)) => {
                    length = end;
                    Some(TokenKind::Text(text))
                }
                None => return error("the string has no end on its line, or a wrong escape".to_string()),
            },
            c if c == '_' || c.is_alphabetic() => {
                length = word_length(rest);
                length += usize::from(rest[length..].starts_with('\''));
                Some(TokenKind::Word(&rest[..length]))
            }
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | ':' | '=' | '.' => Some(TokenKind::Mark(c)),
            c => return error(format!("unexpected character {c:?}")),
        };
        let (start, end) = (at(rest), at(&rest[length..]));
        list.extend(kind.map(|kind| Token { kind, line, start, end }));
        rest = &rest[length..];
    }
    if !matches!(list.last(), None | Some(Token { kind: TokenKind::LineEnd, .. })) {
        list.push(Token { kind: TokenKind::LineEnd, line, start: at(""), end: at("") });
    }
    Ok(list)
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len())
}

/// A sign, then letters, digits and points, and a sign after an exponent's `e`.
fn number_length(text: &str) -> usize {
    let hexadecimal = text.starts_with("0x");
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let sign = (c == '-' || c == '+') && (at == 0 || (before == 'e' && !hexadecimal));
        if !(sign || c == '.' || c.is_ascii_alphanumeric()) {
            return at;
        }
        before = c;
    }
    text.len()
}

/// The content of the string at the start of `text` and its length with quotes.
fn string(text: &str) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1);
    loop {
        match chars.next()? {
            (at, '"') => return Some((content, at + 1)),
            (_, '\n') => return None,
            (_, '\\') => match chars.next()?.1 {
                'n' => content.push('\n'),
                't' => content.push('\t'),
                'u' => {
                    if chars.next()?.1 != '{' {
                        return None;
                    }
                    let mut code = 0u32;
                    loop {
                        match chars.next()?.1 {
                            '}' => break,
                            digit => code = code.checked_mul(16)?.checked_add(digit.to_digit(16)?)?,
                        }
                    }
                    content.push(char::from_u32(code)?);
                }
                c @ ('"' | '\\') => content.push(c),
                _ => return None,
            },
            (_, c) => content.push(c),
        }
    }
}
