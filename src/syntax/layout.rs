//! Which tokens make one logical line, and how deep is it indented? Brackets and backslashes join
//! physical lines.
//!
//! A bracket that is never closed must not swallow the rest of the file. Brackets are paired first;
//! a word that can only start a statement, at the start of a line, ends the search. An opener
//! without a partner is then closed where its line seems to end: before the first line that is not
//! deeper than its own. The closer is put in as a token without text, so that the grammar can read
//! the line. This is the recipe of error recovery: repair the tokens, report once.

use super::fault::{Fault, FaultKind};
use super::token::{Lexed, Tok, Token};
use crate::limits::MAX_NESTING;

/// A logical line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its tokens in [`Layout::tokens`]; at least one.
    pub first: usize,
    pub end: usize,
    /// Its indentation with tab stops every 8 columns, and with tabs of one column. Lines that the
    /// two order differently mix tabs and spaces.
    pub column: u32,
    pub narrow: u32,
}

/// The text as logical lines.
pub struct Layout {
    /// Without line ends.
    pub tokens: Vec<Token>,
    pub lines: Vec<Line>,
    /// Of the lexer and the layout, in the order of the text.
    pub faults: Vec<Fault>,
}

/// What becomes of a bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Not a bracket, or one that has its partner.
    Plain,
    /// An opener that ends before the closer of an outer one.
    EndsBefore(u32),
    /// An opener that ends with its line.
    EndsWithLine,
    /// A closer without opener.
    Stray,
}

/// Divides the tokens into logical lines.
pub fn layout(text: &str, lexed: Lexed) -> Layout {
    let Lexed { tokens: raw, mut faults } = lexed;
    let (fates, mut found) = pair_brackets(&raw, &faults);
    let mut out = Layout { tokens: Vec::with_capacity(raw.len()), lines: Vec::new(), faults: Vec::new() };
    let mut open: Vec<(Tok, Fate)> = Vec::new();
    let mut first = 0;
    let mut place: Option<Indentation> = None;
    for (index, &token) in raw.iter().enumerate() {
        if token.kind == Tok::Newline {
            let line = &out.tokens[first..];
            if line.is_empty() {
                place = None;
            } else if let Some(start) = place
                && ends_line(text, &raw, index, &open, line, &start)
            {
                close_line(&mut out, &mut open, first, start);
                first = out.tokens.len();
                place = None;
            }
            continue;
        }
        place.get_or_insert_with(|| Indentation::of(text, token.start));
        match fates.get(index).copied().unwrap_or(Fate::Plain) {
            Fate::Stray => {
                // The line stays readable without it.
                continue;
            }
            fate if token.kind.closing().is_some() => open.push((token.kind, fate)),
            _ if token.kind.is_closing() => {
                while let Some(&(kind, Fate::EndsBefore(at))) = open.last() {
                    if at as usize != index {
                        break;
                    }
                    open.pop();
                    out.tokens.push(virtual_closer(kind, token.start));
                }
                open.pop();
            }
            _ => {}
        }
        out.tokens.push(token);
    }
    if first < out.tokens.len() {
        close_line(&mut out, &mut open, first, place.unwrap_or_default());
    }
    faults.append(&mut found);
    faults.sort_by_key(|fault| fault.start);
    out.faults = faults;
    out
}

/// Where a logical line starts.
#[derive(Clone, Copy, Default)]
struct Indentation {
    column: u32,
    narrow: u32,
}

impl Indentation {
    fn of(text: &str, offset: u32) -> Indentation {
        let before = text.get(..offset as usize).unwrap_or("");
        let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let mut place = Indentation::default();
        for byte in before[start..].bytes() {
            match byte {
                b'\t' => place = Indentation { column: place.column / 8 * 8 + 8, narrow: place.narrow + 1 },
                b'\x0c' => place = Indentation::default(),
                b' ' => place = Indentation { column: place.column + 1, narrow: place.narrow + 1 },
                // A byte order mark, or a backslash that joins an empty line.
                _ => {}
            }
        }
        place
    }
}

fn virtual_closer(opener: Tok, at: u32) -> Token {
    Token { kind: opener.closing().unwrap_or(Tok::RightParen), start: at, end: at }
}

/// Finds the partner of each bracket, in one pass.
fn pair_brackets(raw: &[Token], lexer_faults: &[Fault]) -> (Vec<Fate>, Vec<Fault>) {
    let mut faults = Vec::new();
    let mut fates = vec![Fate::Plain; raw.len()];
    let mut open: Vec<usize> = Vec::new();
    // How many of each kind are open, so that a closer without a partner is known at once.
    let mut counts = [0usize; 3];
    let mut line_start = true;
    // The brackets opened on earlier lines.
    let mut before_line = 0;
    let mut too_deep = false;
    for (index, &token) in raw.iter().enumerate() {
        if line_start && token.kind.only_starts_lines() {
            for opener in open.drain(..) {
                fates[opener] = Fate::EndsWithLine;
                faults.push(Fault::at(FaultKind::UnclosedBracket, raw[opener]));
            }
            counts = [0; 3];
        }
        line_start = token.kind == Tok::Newline;
        if line_start {
            before_line = open.len();
        } else if token.kind == Tok::Error && is_unclosed_string(lexer_faults, token) {
            // It has swallowed the closers of its line.
            for opener in open.drain(before_line.min(open.len())..) {
                fates[opener] = Fate::EndsWithLine;
                counts[shape(raw[opener].kind)] -= 1;
            }
        }
        if token.kind.closing().is_some() {
            open.push(index);
            counts[shape(token.kind)] += 1;
            if open.len() > MAX_NESTING && !too_deep {
                too_deep = true;
                faults.push(Fault::at(FaultKind::TooManyBrackets, token));
            }
        } else if token.kind.is_closing() {
            let partner = |&opener: &usize| raw[opener].kind.closing() == Some(token.kind);
            let known = counts[shape(token.kind)] > 0;
            match if known { open.iter().rev().position(partner) } else { None } {
                Some(inner) => {
                    for opener in open.drain(open.len() - inner..) {
                        fates[opener] = Fate::EndsBefore(index as u32);
                        faults.push(Fault::at(FaultKind::UnclosedBracket, raw[opener]));
                        counts[shape(raw[opener].kind)] -= 1;
                    }
                    open.pop();
                    counts[shape(token.kind)] -= 1;
                }
                None => {
                    fates[index] = Fate::Stray;
                    faults.push(Fault::at(FaultKind::StrayBracket, token));
                }
            }
        }
        too_deep &= !open.is_empty();
    }
    for opener in open {
        fates[opener] = Fate::EndsWithLine;
        faults.push(Fault::at(FaultKind::UnclosedBracket, raw[opener]));
    }
    (fates, faults)
}

/// Which of the three kinds of brackets it is.
fn shape(bracket: Tok) -> usize {
    match bracket {
        Tok::LeftParen | Tok::RightParen => 0,
        Tok::LeftBracket | Tok::RightBracket => 1,
        _ => 2,
    }
}

/// Whether an error token is a string without an end. The faults of the lexer come in the order of
/// the text.
fn is_unclosed_string(lexer_faults: &[Fault], token: Token) -> bool {
    lexer_faults
        .binary_search_by_key(&token.start, |fault| fault.start)
        .ok()
        .and_then(|at| lexer_faults.get(at))
        .is_some_and(|fault| matches!(fault.kind, FaultKind::UnclosedString | FaultKind::UnclosedTripleString))
}

/// Whether the line end at `index` ends the logical line.
fn ends_line(
    text: &str,
    raw: &[Token],
    index: usize,
    open: &[(Tok, Fate)],
    line: &[Token],
    place: &Indentation,
) -> bool {
    // Openers without a partner lie below those that have one.
    match open.last() {
        None => return true,
        Some((_, Fate::EndsWithLine)) => {}
        Some(_) => return false,
    }
    if ends_header(line) {
        return true;
    }
    match raw.get(index + 1) {
        // Empty lines decide nothing.
        Some(next) if next.kind == Tok::Newline => false,
        Some(next) => next.kind.only_starts_lines() || Indentation::of(text, next.start).column <= place.column,
        None => true,
    }
}

/// Whether the line is `if ... :` or the like.
fn ends_header(line: &[Token]) -> bool {
    line.first().is_some_and(|token| token.kind.opens_block()) && line.last().is_some_and(|t| t.kind == Tok::Colon)
}

/// Ends a logical line: openers still open are closed at its end, before the `:` of a header.
fn close_line(out: &mut Layout, open: &mut Vec<(Tok, Fate)>, first: usize, place: Indentation) {
    let colon = if !open.is_empty() && ends_header(&out.tokens[first..]) { out.tokens.pop() } else { None };
    let at = out.tokens.last().map_or(0, |token| token.end);
    while let Some((kind, _)) = open.pop() {
        out.tokens.push(virtual_closer(kind, at));
    }
    out.tokens.extend(colon);
    out.lines.push(Line { first, end: out.tokens.len(), column: place.column, narrow: place.narrow });
}
