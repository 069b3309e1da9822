//! What does one logical line say? Runs the grammar over its tokens; where it fails, tries the
//! repairs that are known for common mistakes, so that one mistake costs one finding and the line
//! is still understood.

use lalrpop_util::ParseError;

use super::builder::{Builder, Line};
use super::fault::{self, Fault, FaultKind};
use super::layout::{self, Layout};
use super::token::{Tok, Token};
use crate::diag::Diagnostics;
use crate::limits::{MAX_FAULTS, MAX_OPERATORS};
use crate::source::FileId;

lalrpop_util::lalrpop_mod!(
    #[allow(clippy::all, clippy::pedantic, unused_parens, unused_imports, dead_code)]
    kernel
);

/// Reads lines of one file and reports what is wrong with them.
pub struct LineReader<'t> {
    pub file: FileId,
    pub text: &'t str,
    pub layout: &'t Layout,
    grammar: kernel::LineParser,
    diagnostics: &'t mut Diagnostics,
    reported: usize,
}

/// A line as read.
pub struct Read {
    /// None: it could not be read.
    pub line: Option<Line>,
    /// Whether it holds Python that kernels do not have.
    pub unsupported: bool,
    /// What is wrong with it, not yet reported.
    pub faults: Vec<Fault>,
}

impl<'t> LineReader<'t> {
    pub fn new(file: FileId, text: &'t str, layout: &'t Layout, diagnostics: &'t mut Diagnostics) -> Self {
        Self { file, text, layout, grammar: kernel::LineParser::new(), diagnostics, reported: 0 }
    }

    /// Reports a finding, up to the limit.
    pub fn report(&mut self, fault: &Fault) {
        if self.reported > MAX_FAULTS {
            return;
        }
        self.reported += 1;
        let last = Fault { kind: FaultKind::TooManyFaults, ..*fault };
        let fault = if self.reported > MAX_FAULTS { &last } else { fault };
        self.diagnostics.push(fault.diagnostic(self.file, self.text));
    }

    pub fn report_at(&mut self, kind: FaultKind, token: Token) {
        self.report(&Fault::at(kind, token));
    }

    pub fn tokens(&self, line: &layout::Line) -> &'t [Token] {
        self.layout.tokens.get(line.first..line.end).unwrap_or(&[])
    }

    /// Reads a line and reports everything that is wrong with it.
    pub fn line(&mut self, index: usize) -> Read {
        if self.reported > MAX_FAULTS {
            return Read { line: None, unsupported: false, faults: Vec::new() };
        }
        let mut read = self.quiet(index);
        // An unclosed string leaves its text behind as unknown characters, and one of these a line
        // is enough.
        let mut characters = read.faults.iter().any(Fault::tears_layout);
        for fault in std::mem::take(&mut read.faults) {
            let hidden = fault.kind == FaultKind::BadCharacter && std::mem::replace(&mut characters, true);
            if !hidden && !fault.tears_layout() {
                self.report(&fault);
            }
        }
        read
    }

    /// Reads a line; the result says what is wrong with it.
    pub fn quiet(&self, index: usize) -> Read {
        let Some(line) = self.layout.lines.get(index) else {
            return Read { line: None, unsupported: false, faults: Vec::new() };
        };
        let tokens = self.tokens(line);
        let mut faults = self.line_faults(index);
        if faults.iter().any(|fault| fault.kind == FaultKind::TooManyBrackets) {
            return Read { line: None, unsupported: false, faults };
        }
        if deep(tokens) {
            faults.extend(tokens.first().map(|&token| Fault::at(FaultKind::TooLong, token)));
            return Read { line: None, unsupported: false, faults };
        }
        let was_broken = !faults.is_empty();
        let mut read = match self.attempt(tokens) {
            Ok(read) => read,
            Err(at) => {
                if let Some(read) = self.move_closer(tokens, at) {
                    read
                } else if let Some((read, fault)) = self.repair(tokens, at, was_broken) {
                    faults.push(fault);
                    read
                } else {
                    // A line that the lexer or the layout complained about is not complained about
                    // again.
                    if !was_broken {
                        faults.push(fault::unusable(tokens, at, self.text));
                    }
                    Read { line: None, unsupported: false, faults: Vec::new() }
                }
            }
        };
        faults.append(&mut read.faults);
        read.faults = faults;
        read
    }

    /// What the lexer and the layout found from the start of this line to the start of the next
    /// one.
    fn line_faults(&self, index: usize) -> Vec<Fault> {
        let start = |line: Option<&layout::Line>| line.and_then(|l| self.layout.tokens.get(l.first)).map(|t| t.start);
        let from = start(self.layout.lines.get(index)).unwrap_or(0);
        let to = start(self.layout.lines.get(index + 1)).unwrap_or(u32::MAX);
        let all = &self.layout.faults;
        let first = all.partition_point(|fault| fault.start < from);
        all[first..].iter().take_while(|fault| fault.start < to).cloned().collect()
    }

    /// Runs the grammar; fails with the index of the token that it could not use.
    pub fn attempt(&self, tokens: &[Token]) -> Result<Read, usize> {
        let mut builder = Builder::new(self.file, self.text);
        let mut used = 0usize;
        let result = self.grammar.parse(
            &mut builder,
            tokens.iter().map(|token| {
                used += 1;
                (token.start, token.kind, token.end)
            }),
        );
        match result {
            Ok(line) => Ok(Read { line: Some(line), unsupported: builder.unsupported, faults: builder.faults }),
            Err(ParseError::UnrecognizedEof { .. }) => Err(tokens.len()),
            // The grammar looks one token ahead.
            Err(_) => Err(used.saturating_sub(1)),
        }
    }

    /// The layout puts a missing closer at the end of its line; perhaps it belongs where the
    /// grammar stopped.
    fn move_closer(&self, tokens: &[Token], at: usize) -> Option<Read> {
        let closer = (at..tokens.len()).find(|&i| tokens[i].kind.is_closing() && tokens[i].start == tokens[i].end)?;
        let mut changed = tokens.to_vec();
        let moved = Token { start: tokens[at].start, end: tokens[at].start, ..changed.remove(closer) };
        changed.insert(at, moved);
        self.attempt(&changed).ok()
    }

    /// Tries the repairs of common mistakes; the first one that makes the line readable is taken.
    fn repair(&self, tokens: &[Token], at: usize, was_broken: bool) -> Option<(Read, Fault)> {
        let header = tokens.first().is_some_and(|token| token.kind.opens_block());
        let before = at.checked_sub(1).and_then(|i| tokens.get(i)).copied();
        let found = tokens.get(at).copied();
        let replaced = |from: usize, to: usize, by: Token| {
            let mut changed = tokens.to_vec();
            changed.splice(from..to, [by]);
            self.attempt(&changed).ok()
        };
        if header
            && let (Some(before), Some(found)) = (before, found)
            && before.kind == Tok::Else
            && found.kind == Tok::If
        {
            let by = Token { kind: Tok::Elif, start: before.start, end: found.end };
            if let Some(read) = replaced(at - 1, at + 1, by) {
                return Some((read, Fault::at(FaultKind::ElseIf, by)));
            }
        }
        if header && let Some(before) = before {
            let colon = Token { kind: Tok::Colon, start: before.end, end: before.end };
            if let Some(read) = replaced(at, at, colon) {
                return Some((read, Fault::at(FaultKind::MissingColon, colon)));
            }
        }
        if let Some(found) = found
            && found.kind == Tok::Assign
            && !was_broken
            && let Some(read) = replaced(at, at + 1, Token { kind: Tok::Equal, ..found })
        {
            return Some((read, Fault::at(FaultKind::AssignInExpression, found)));
        }
        None
    }
}

/// Whether the expression tree could become too deep for the stages that walk it: the operators
/// that enclose one another, counted from above.
fn deep(tokens: &[Token]) -> bool {
    if tokens.len() < MAX_OPERATORS {
        return false;
    }
    let mut levels = vec![0usize];
    let mut total = 0;
    for token in tokens {
        if token.kind.is_closing() {
            if levels.len() > 1 {
                total -= levels.pop().unwrap_or(0);
            }
            continue;
        }
        match token.kind {
            Tok::Comma | Tok::Semicolon | Tok::Assign => {
                if let Some(level) = levels.last_mut() {
                    total -= std::mem::take(level);
                }
            }
            // The end of an operand.
            kind if kind.ends_value() => {}
            kind => {
                total += 1;
                if let Some(level) = levels.last_mut() {
                    *level += 1;
                }
                if kind.closing().is_some() {
                    levels.push(0);
                }
            }
        }
        if total > MAX_OPERATORS {
            return true;
        }
    }
    false
}
