//! Which statements make a body? Builds blocks from the indentation of lines; each line is read on
//! its own, so a mistake stays in its line.

use super::ast::*;
use super::builder::{Line, Small};
use super::fault::FaultKind;
use super::line::LineReader;
use super::token::Tok;
use crate::limits::{MAX_CLAUSES, MAX_NESTING};
use crate::source::Span;

/// Reads the lines of one item.
pub struct Blocks<'r, 't> {
    pub lines: &'r mut LineReader<'t>,
    /// The line to be read next, and the one behind the item.
    pub next: usize,
    pub end: usize,
    /// Where a header could not be read: clauses at this indentation belong to it and are not
    /// alone.
    pub lost: Option<u32>,
}

/// One `if` or `elif` with its block.
struct Clause {
    condition: Expr,
    body: Vec<Stmt>,
    start: Span,
}

impl Blocks<'_, '_> {
    /// The indentation of a line; None behind the last one.
    fn column(&self, index: usize) -> Option<u32> {
        if index >= self.end { None } else { self.lines.layout.lines.get(index).map(|line| line.column) }
    }

    /// The kinds of the first two tokens and of the last one of a line.
    fn outline(&self, index: usize) -> (Option<Tok>, Option<Tok>, Option<Tok>) {
        let Some(line) = self.lines.layout.lines.get(index) else { return (None, None, None) };
        let tokens = self.lines.tokens(line);
        let kind = |at: usize| tokens.get(at).map(|token| token.kind);
        (kind(0), kind(1), tokens.last().map(|token| token.kind))
    }

    fn first_text(&self, index: usize) -> &str {
        let Some(line) = self.lines.layout.lines.get(index) else { return "" };
        let token = self.lines.tokens(line).first();
        token.and_then(|t| self.lines.text.get(t.start as usize..t.end as usize)).unwrap_or("")
    }

    /// From the first to the last token of a range of lines.
    pub fn span(&self, from: usize, to: usize) -> Span {
        let lines = &self.lines.layout.lines;
        let tokens = &self.lines.layout.tokens;
        let start = lines.get(from).and_then(|line| tokens.get(line.first)).map_or(0, |token| token.start);
        let last = lines.get(to.saturating_sub(1)).and_then(|line| tokens.get(line.end.saturating_sub(1)));
        Span::new(self.lines.file, start, last.map_or(start, |token| token.end).max(start))
    }

    fn fault(&mut self, kind: FaultKind, index: usize) {
        if let Some(line) = self.lines.layout.lines.get(index)
            && let Some(&token) = self.lines.tokens(line).first()
        {
            self.lines.report_at(kind, token);
        }
    }

    /// Passes over all lines that are deeper than a column.
    fn skip_deeper(&mut self, column: u32) {
        while self.column(self.next).is_some_and(|c| c > column) {
            self.next += 1;
        }
    }

    /// The body of the header line `header`, whose suite on the same line is given.
    pub fn body(&mut self, header: usize, suite: Vec<Small>, depth: usize) -> Vec<Stmt> {
        let column = self.column(header).unwrap_or(0);
        let deeper = self.column(self.next).is_some_and(|c| c > column);
        if !suite.is_empty() {
            let mut body = Vec::new();
            statements(suite, &mut body);
            if deeper {
                self.fault(FaultKind::UnexpectedIndent, self.next);
                body.extend(self.block(column, depth + 1));
            }
            return body;
        }
        if !deeper {
            self.fault(FaultKind::MissingBody, header);
            return Vec::new();
        }
        self.block(column, depth + 1)
    }

    /// All statements from the next line on that are deeper than `outer`.
    fn block(&mut self, outer: u32, depth: usize) -> Vec<Stmt> {
        let mut out = Vec::new();
        let Some(mut base) = self.column(self.next).filter(|&column| column > outer) else { return out };
        if depth > MAX_NESTING {
            self.fault(FaultKind::TooManyBlocks, self.next);
            let span = self.span(self.next, self.next + 1);
            self.skip_deeper(outer);
            out.push(Stmt { kind: StmtKind::Error, span });
            return out;
        }
        let mut narrow = self.lines.layout.lines.get(self.next).map_or(0, |line| line.narrow);
        let mut tolerated = base;
        while let Some(column) = self.column(self.next)
            && column > outer
        {
            let at = self.next;
            let line_narrow = self.lines.layout.lines.get(at).map_or(0, |line| line.narrow);
            let mut fault = None;
            if column.cmp(&base) != line_narrow.cmp(&narrow) {
                fault = Some(FaultKind::MixedTabs);
            } else if column < base && self.lost == Some(base) {
                // The block began with a header that could not be read, perhaps at the wrong depth.
                self.lost = Some(column);
            } else if column < base {
                fault = Some(FaultKind::OddIndent);
            } else if column > base && column != tolerated {
                fault = Some(FaultKind::UnexpectedIndent);
            }
            tolerated = column;
            // A line that cannot be read says nothing about the depth of its block.
            let readable = self.statement(&mut out, depth);
            if readable {
                if column <= base || fault == Some(FaultKind::MixedTabs) {
                    (base, narrow) = (column, line_narrow);
                }
                if let Some(fault) = fault {
                    self.fault(fault, at);
                }
            } else if self.lost == Some(column) {
                (base, narrow) = (base.min(column), narrow.min(line_narrow));
            }
        }
        out
    }

    /// The block of a header that could not be read. Its indentation is not to be relied on: the
    /// mistake may have joined lines.
    pub fn lost_block(&mut self, outer: u32, depth: usize) -> Vec<Stmt> {
        let mut out = Vec::new();
        while self.column(self.next).is_some_and(|column| column > outer) {
            let base = self.column(self.next).unwrap_or(0);
            out.extend(self.block(base.saturating_sub(1).max(outer), depth));
            self.lost = self.column(self.next);
        }
        self.lost = Some(outer);
        out
    }

    /// Reads one statement with its blocks; `next` moves on. Tells whether its first line could be
    /// read.
    fn statement(&mut self, out: &mut Vec<Stmt>, depth: usize) -> bool {
        let at = self.next;
        let column = self.column(at).unwrap_or(0);
        if let Some(what) = self.foreign(at) {
            self.skip_foreign(column);
            out.push(Stmt { kind: StmtKind::Unsupported(what), span: self.span(at, at + 1) });
            return true;
        }
        let (first, _, last) = self.outline(at);
        match first {
            Some(Tok::Except | Tok::Finally) => {
                self.fault(FaultKind::ClauseAlone, at);
                self.next += 1;
                self.skip_deeper(column);
                out.push(Stmt { kind: StmtKind::Error, span: self.span(at, at + 1) });
                return true;
            }
            Some(Tok::Elif | Tok::Else) if self.lost != Some(column) => self.fault(FaultKind::ClauseAlone, at),
            _ => {}
        }
        self.next += 1;
        let read = self.lines.line(at).line;
        let line = match read {
            Some(line) => line,
            None => {
                out.push(Stmt { kind: StmtKind::Error, span: self.span(at, at + 1) });
                // What seems to be the block of a broken header still binds names.
                let header = first.is_some_and(Tok::opens_block) || last == Some(Tok::Colon);
                if header {
                    out.extend(self.lost_block(column, depth + 1));
                }
                return false;
            }
        };
        if !matches!(line, Line::Elif(..) | Line::Else(_)) {
            self.lost = None;
        }
        let kind = match line {
            Line::Simple(suite) => {
                statements(suite, out);
                return true;
            }
            Line::If(condition, suite) => {
                let start = self.span(at, at + 1);
                let body = self.body(at, suite, depth);
                out.push(self.clauses(Clause { condition, body, start }, column, depth));
                return true;
            }
            // Reported as clauses without an opener.
            Line::Elif(_, suite) | Line::Else(suite) => {
                out.push(Stmt { kind: StmtKind::Error, span: self.span(at, at + 1) });
                let body = self.body(at, suite, depth);
                out.extend(body);
                return true;
            }
            Line::While(condition, suite) => {
                let body = self.body(at, suite, depth);
                let otherwise = self.otherwise(column, depth);
                StmtKind::While { condition, body, otherwise }
            }
            Line::For(target, iter, suite) => {
                let body = self.body(at, suite, depth);
                let otherwise = self.otherwise(column, depth);
                StmtKind::For { target, iter, body, otherwise }
            }
            // Filtered out by `foreign`.
            Line::Def(..) | Line::Class(..) | Line::Decorator(_) => StmtKind::Error,
        };
        out.push(Stmt { kind, span: self.span(at, self.next) });
        true
    }

    /// The block of `else:` at this column, if it follows.
    fn otherwise(&mut self, column: u32, depth: usize) -> Vec<Stmt> {
        let at = self.next;
        if self.column(at) != Some(column) || self.outline(at).0 != Some(Tok::Else) {
            return Vec::new();
        }
        self.next += 1;
        match self.lines.line(at).line {
            Some(Line::Else(suite)) => self.body(at, suite, depth),
            _ => {
                let mut out = vec![Stmt { kind: StmtKind::Error, span: self.span(at, at + 1) }];
                out.extend(self.block(column, depth + 1));
                out
            }
        }
    }

    /// The `elif` and `else` behind an `if`, nested into one statement.
    fn clauses(&mut self, first: Clause, column: u32, depth: usize) -> Stmt {
        let mut clauses = vec![first];
        let mut otherwise = Vec::new();
        while self.column(self.next) == Some(column) {
            let at = self.next;
            let kind = self.outline(at).0;
            if !matches!(kind, Some(Tok::Elif | Tok::Else)) {
                break;
            }
            self.next += 1;
            match self.lines.line(at).line {
                Some(Line::Elif(condition, suite)) => {
                    let start = self.span(at, at + 1);
                    let body = self.body(at, suite, depth);
                    if clauses.len() == MAX_CLAUSES {
                        self.fault(FaultKind::TooManyClauses, at);
                    }
                    if clauses.len() < MAX_CLAUSES {
                        clauses.push(Clause { condition, body, start });
                    }
                    continue;
                }
                Some(Line::Else(suite)) => otherwise = self.body(at, suite, depth),
                // The condition is lost; the block is kept under one that counts as wrong.
                _ => {
                    let start = self.span(at, at + 1);
                    let body = self.block(column, depth + 1);
                    if clauses.len() < MAX_CLAUSES {
                        clauses.push(Clause { condition: Expr { kind: ExprKind::Error, span: start }, body, start });
                    }
                    if kind == Some(Tok::Elif) {
                        continue;
                    }
                }
            }
            break;
        }
        let end = self.span(self.next.saturating_sub(1), self.next);
        let mut result = None;
        while let Some(Clause { condition, body, start }) = clauses.pop() {
            let rest = result.take().map_or_else(|| std::mem::take(&mut otherwise), |stmt| vec![stmt]);
            let kind = StmtKind::If { condition, then: body, otherwise: rest };
            result = Some(Stmt { kind, span: start.to(end) });
        }
        result.unwrap_or(Stmt { kind: StmtKind::Error, span: end })
    }

    /// Statements with blocks that kernels do not have, in the user's words.
    fn foreign(&self, at: usize) -> Option<&'static str> {
        let (first, second, last) = self.outline(at);
        Some(match first? {
            Tok::Try => "`try`",
            Tok::With => "`with`",
            Tok::Def => "a nested function",
            Tok::Class => "a nested class",
            Tok::Async => "`async`",
            Tok::At => {
                let mut line = at;
                while self.column(line).is_some() && self.outline(line).0 == Some(Tok::At) {
                    line += 1;
                }
                match self.outline(line).0 {
                    Some(Tok::Class) => "a nested class",
                    Some(Tok::Async) => "`async`",
                    _ => "a nested function",
                }
            }
            // `match` and `type` are ordinary names elsewhere.
            Tok::Name if last == Some(Tok::Colon) && self.first_text(at) == "match" => {
                let case = self.first_text(at + 1) == "case";
                let deeper = self.column(at + 1) > self.column(at);
                if case && deeper { "`match`" } else { return None }
            }
            Tok::Name if second == Some(Tok::Name) && self.first_text(at) == "type" => "a type alias",
            _ => return None,
        })
    }

    /// Passes over a foreign statement with all its lines and clauses.
    fn skip_foreign(&mut self, column: u32) {
        // Decorators stand before what they decorate.
        while self.outline(self.next).0 == Some(Tok::At) && self.column(self.next + 1) == Some(column) {
            self.next += 1;
        }
        let is_try = self.outline(self.next).0 == Some(Tok::Try) || self.outline(self.next).0 == Some(Tok::Async);
        self.next += 1;
        self.skip_deeper(column);
        while is_try
            && self.column(self.next) == Some(column)
            && matches!(self.outline(self.next).0, Some(Tok::Except | Tok::Finally | Tok::Else))
        {
            self.next += 1;
            self.skip_deeper(column);
        }
    }
}

/// Appends the statements of one line; an import is none of a kernel's.
fn statements(suite: Vec<Small>, out: &mut Vec<Stmt>) {
    for small in suite {
        match small {
            Small::Stmt(stmt) => out.push(stmt),
            Small::Import(imports) => {
                if let Some(import) = imports.first() {
                    out.push(Stmt { kind: StmtKind::Unsupported("`import` in a function"), span: import.span });
                }
            }
        }
    }
}
