//! Which tokens does the text hold? A lexer over all of Python's tokens that never fails: what it
//! cannot read becomes [`Tok::Error`] and a [`Fault`].

use logos::Logos;

use super::fault::{Fault, FaultKind};

/// The kind of a token. Tokens carry no payload: names and literals are read from the text by their
/// place.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(extras = Lexing)]
#[logos(skip r"[ \t\x0C]+")]
#[logos(skip(r"#[^\r\n]*", allow_greedy = true))]
pub enum Tok {
    /// The end of a physical line. Only the layout sees it.
    #[regex(r"\r\n|\n|\r")]
    Newline,
    /// A backslash at the end of a line. Only the lexer sees it; it is no `skip`, because the
    /// generated code nests one call for each text that it skips in a row.
    #[regex(r"\\(\r\n|\n|\r)")]
    Continuation,
    #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*")]
    Name,
    #[regex(r"0[xX](_?[0-9a-fA-F])+", priority = 20)]
    #[regex(r"0[oO](_?[0-7])+", priority = 20)]
    #[regex(r"0[bB](_?[01])+", priority = 20)]
    #[regex(r"[1-9](_?[0-9])*|0(_?0)*", priority = 20)]
    Int,
    #[regex(r"([0-9](_?[0-9])*)?\.[0-9](_?[0-9])*([eE][+-]?[0-9](_?[0-9])*)?")]
    #[regex(r"[0-9](_?[0-9])*\.([eE][+-]?[0-9](_?[0-9])*)?")]
    #[regex(r"[0-9](_?[0-9])*[eE][+-]?[0-9](_?[0-9])*")]
    Float,
    /// `2j`
    #[regex(r"([0-9](_?[0-9])*|([0-9](_?[0-9])*)?\.[0-9](_?[0-9])*|[0-9](_?[0-9])*\.)([eE][+-]?[0-9](_?[0-9])*)?[jJ]")]
    Complex,
    /// Any string literal with its prefix and quotes: plain, raw, bytes or formatted.
    #[regex(
        r#"([rR]|[uU]|[bB]|[fF]|[tT]|[bB][rR]|[rR][bB]|[fF][rR]|[rR][fF]|[tT][rR]|[rR][tT])?("""|'''|"|')"#,
        string
    )]
    Str,

    #[token("False")]
    False,
    #[token("None")]
    None,
    #[token("True")]
    True,
    #[token("and")]
    And,
    #[token("as")]
    As,
    #[token("assert")]
    Assert,
    #[token("async")]
    Async,
    #[token("await")]
    Await,
    #[token("break")]
    Break,
    #[token("class")]
    Class,
    #[token("continue")]
    Continue,
    #[token("def")]
    Def,
    #[token("del")]
    Del,
    #[token("elif")]
    Elif,
    #[token("else")]
    Else,
    #[token("except")]
    Except,
    #[token("finally")]
    Finally,
    #[token("for")]
    For,
    #[token("from")]
    From,
    #[token("global")]
    Global,
    #[token("if")]
    If,
    #[token("import")]
    Import,
    #[token("in")]
    In,
    #[token("is")]
    Is,
    #[token("lambda")]
    Lambda,
    #[token("nonlocal")]
    Nonlocal,
    #[token("not")]
    Not,
    #[token("or")]
    Or,
    #[token("pass")]
    Pass,
    #[token("raise")]
    Raise,
    #[token("return")]
    Return,
    #[token("try")]
    Try,
    #[token("while")]
    While,
    #[token("with")]
    With,
    #[token("yield")]
    Yield,

    #[token("(")]
    LeftParen,
    #[token(")")]
    RightParen,
    #[token("[")]
    LeftBracket,
    #[token("]")]
    RightBracket,
    #[token("{")]
    LeftBrace,
    #[token("}")]
    RightBrace,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token(".")]
    Dot,
    #[token("...")]
    Ellipsis,
    #[token("->")]
    Arrow,
    #[token(":=")]
    Walrus,
    #[token("@")]
    At,
    #[token("=")]
    Assign,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("**")]
    DoubleStar,
    #[token("/")]
    Slash,
    #[token("//")]
    DoubleSlash,
    #[token("%")]
    Percent,
    #[token("&")]
    Amper,
    #[token("|")]
    Bar,
    #[token("^")]
    Caret,
    #[token("~")]
    Tilde,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("+=")]
    PlusAssign,
    #[token("-=")]
    MinusAssign,
    #[token("*=")]
    StarAssign,
    #[token("/=")]
    SlashAssign,
    #[token("//=")]
    DoubleSlashAssign,
    #[token("%=")]
    PercentAssign,
    #[token("**=")]
    DoubleStarAssign,
    #[token("@=")]
    AtAssign,
    #[token("&=")]
    AmperAssign,
    #[token("|=")]
    BarAssign,
    #[token("^=")]
    CaretAssign,
    #[token("<<=")]
    ShiftLeftAssign,
    #[token(">>=")]
    ShiftRightAssign,

    /// A number that Python refuses, such as `0777` or `0x`.
    #[regex(r"0(_?0)*_?[1-9](_?[0-9])*", priority = 10)]
    #[regex(r"0[xXoObB][0-9a-zA-Z_]*", priority = 10)]
    BadNumber,
    /// Text that is no token. The grammar reads it as a value, so that the rest of the line stays
    /// useful.
    Error,
}

/// A token and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Tok,
    pub start: u32,
    pub end: u32,
}

/// All tokens of a text, line ends among them, and what is wrong with single ones, both in the
/// order of the text.
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub faults: Vec<Fault>,
}

/// What the lexer remembers between tokens.
#[derive(Default)]
pub struct Lexing {
    unclosed: Option<FaultKind>,
    /// A triple-quoted string without an end was met. From then on such strings end where a new
    /// item seems to start, which keeps the time linear.
    torn: bool,
    /// Bytes read in vain as f-strings with nested quotes; after [`VAIN_LIMIT`] they are no longer
    /// looked for.
    vain: usize,
}

/// Keeps the time linear for texts made of broken f-strings.
const VAIN_LIMIT: usize = 1 << 20;

/// Reads the whole text. A byte order mark is no token.
pub fn lex(text: &str) -> Lexed {
    let mut lexer = Tok::lexer(text);
    if text.starts_with('\u{feff}') {
        lexer.bump('\u{feff}'.len_utf8());
    }
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4);
    let mut faults: Vec<Fault> = Vec::new();
    while let Some(result) = lexer.next() {
        let span = lexer.span();
        let (start, end) = (span.start as u32, span.end as u32);
        let (kind, fault) = match result {
            Ok(Tok::Continuation) => continue,
            Ok(Tok::Str) => match lexer.extras.unclosed.take() {
                Some(fault) => (Tok::Error, Some(fault)),
                None => (Tok::Str, None),
            },
            Ok(Tok::BadNumber) => (Tok::Error, Some(FaultKind::BadNumber)),
            Ok(kind) => (kind, None),
            Err(()) => (Tok::Error, Some(FaultKind::BadCharacter)),
        };
        if let Some(kind) = fault {
            // A run of unknown characters is one finding.
            match (tokens.last_mut(), faults.last_mut()) {
                (Some(token), Some(fault))
                    if kind == FaultKind::BadCharacter
                        && fault.kind == kind
                        && token.kind == Tok::Error
                        && token.end == start =>
                {
                    token.end = end;
                    fault.end = end;
                    continue;
                }
                _ => faults.push(Fault { kind, start, end }),
            }
        }
        tokens.push(Token { kind, start, end });
    }
    Lexed { tokens, faults }
}

/// Reads a string literal behind its opening quotes up to its closing ones.
fn string(lexer: &mut logos::Lexer<'_, Tok>) {
    let opening = lexer.slice();
    let prefix = opening.trim_end_matches(['"', '\'']);
    let formatted = prefix.contains(['f', 'F', 't', 'T']);
    let quotes = &opening[prefix.len()..];
    let rest = lexer.remainder();
    let (length, closed) = if quotes.len() == 3 {
        triple(rest, quotes, &mut lexer.extras.torn)
    } else {
        let mut nested = None;
        if formatted && lexer.extras.vain < VAIN_LIMIT {
            nested = formatted_length(rest.as_bytes(), quotes.as_bytes(), 0);
            if nested.is_none() {
                lexer.extras.vain += rest.find(['\r', '\n']).unwrap_or(rest.len());
            }
        }
        nested.map_or_else(|| single(rest, quotes.as_bytes()), |length| (length, true))
    };
    if !closed {
        lexer.extras.unclosed =
            Some(if quotes.len() == 3 { FaultKind::UnclosedTripleString } else { FaultKind::UnclosedString });
    }
    lexer.bump(length);
}

/// The length of the rest of a one-line string with its closing quote, and whether there is one.
fn single(rest: &str, quote: &[u8]) -> (usize, bool) {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += escape_length(&bytes[at..]),
            b'\n' | b'\r' => return (at, false),
            _ if [byte] == quote => return (at + 1, true),
            _ => at += 1,
        }
    }
    (at.min(bytes.len()), false)
}

/// Like [`single`] for triple quotes. A string without an end stops where the next item of the file
/// seems to begin.
fn triple(rest: &str, quotes: &str, torn: &mut bool) -> (usize, bool) {
    let bytes = rest.as_bytes();
    let mut at = 0;
    let mut stop = None;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' {
            at += escape_length(&bytes[at..]);
        } else if bytes[at..].starts_with(quotes.as_bytes()) {
            return (at + 3, true);
        } else {
            at += 1;
            if byte == b'\n' && stop.is_none() && starts_item(&bytes[at..]) {
                stop = Some(at - 1);
                if *torn {
                    break;
                }
            }
        }
    }
    *torn = true;
    (stop.unwrap_or(at.min(bytes.len())), false)
}

/// The bytes of a backslash and what it protects; `\` before CR LF protects both.
fn escape_length(bytes: &[u8]) -> usize {
    match bytes {
        [_, b'\r', b'\n', ..] => 3,
        [_, next, ..] if next.is_ascii() => 2,
        // Within a character of several bytes: the remaining ones match nothing.
        [_, ..] => 1,
        [] => 0,
    }
}

fn starts_item(line: &[u8]) -> bool {
    [b"@".as_slice(), b"def ", b"class ", b"import ", b"from "].iter().any(|word| line.starts_with(word))
}

/// The length of the rest of a one-line f-string whose replacement fields may hold the same quotes
/// (Python 3.12). None where the text cannot be read so; then the plain rule holds.
fn formatted_length(bytes: &[u8], quote: &[u8], depth: u32) -> Option<usize> {
    if depth > 8 {
        return None;
    }
    let mut at = 0;
    let mut braces = 0u32;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' | b'\r' => return None,
            b'\\' if braces == 0 => at += escape_length(&bytes[at..]),
            b'{' if braces == 0 && bytes.get(at + 1) == Some(&b'{') => at += 2,
            b'{' => {
                braces += 1;
                at += 1;
            }
            b'}' => {
                braces = braces.saturating_sub(1);
                at += 1;
            }
            _ if braces == 0 && [byte] == quote => return Some(at + 1),
            b'"' | b'\'' if braces > 0 => {
                at += 1;
                at += formatted_length(bytes.get(at..)?, &[byte], depth + 1)?;
            }
            _ => at += 1,
        }
    }
    None
}

impl Tok {
    /// `=`, `+=` and the like.
    pub fn assigns(self) -> bool {
        self == Tok::Assign || self.augments()
    }

    /// `+=` and the like.
    pub fn augments(self) -> bool {
        use Tok::*;
        matches!(
            self,
            PlusAssign
                | MinusAssign
                | StarAssign
                | SlashAssign
                | DoubleSlashAssign
                | PercentAssign
                | DoubleStarAssign
                | AtAssign
                | AmperAssign
                | BarAssign
                | CaretAssign
                | ShiftLeftAssign
                | ShiftRightAssign
        )
    }

    /// Whether the token opens a bracket; its closing token.
    pub fn closing(self) -> Option<Tok> {
        Some(match self {
            Tok::LeftParen => Tok::RightParen,
            Tok::LeftBracket => Tok::RightBracket,
            Tok::LeftBrace => Tok::RightBrace,
            _ => return None,
        })
    }

    pub fn is_closing(self) -> bool {
        matches!(self, Tok::RightParen | Tok::RightBracket | Tok::RightBrace)
    }

    /// Whether a line that starts so has a block.
    pub fn opens_block(self) -> bool {
        use Tok::*;
        matches!(self, If | Elif | Else | For | While | Def | Class | With | Try | Except | Finally | Async)
    }

    /// A keyword that starts statements and is nowhere inside brackets.
    pub fn only_starts_lines(self) -> bool {
        use Tok::*;
        matches!(
            self,
            Assert
                | Break
                | Class
                | Continue
                | Def
                | Del
                | Elif
                | Except
                | Finally
                | Global
                | Import
                | Nonlocal
                | Pass
                | Raise
                | Return
                | Try
                | While
                | With
        )
    }

    /// A reserved word.
    pub fn is_keyword(self) -> bool {
        (Tok::False as u8..=Tok::Yield as u8).contains(&(self as u8))
    }

    /// Whether an expression can end with this token.
    pub fn ends_value(self) -> bool {
        use Tok::*;
        matches!(
            self,
            Name | Int
                | Float
                | Complex
                | Str
                | False
                | None
                | True
                | RightParen
                | RightBracket
                | RightBrace
                | Ellipsis
                | Error
        )
    }

    /// Whether only an expression can start with this token (brackets and signs can also go on with
    /// one).
    pub fn starts_value(self) -> bool {
        use Tok::*;
        matches!(self, Name | Int | Float | Complex | Str | False | None | True | Ellipsis | Lambda | Tilde | Error)
    }
}
