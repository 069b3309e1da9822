//! Definitions inside host code: which functions, classes and blocks have to be read, and what do
//! they bind?
//!
//! Most host code is skipped. Read are the functions and classes that hold a kernel, function or
//! struct of ours, those that call such a function (its arguments say what its kernels are made
//! for), and blocks at the same level as definitions. What is wrong with host code is not ours to
//! report.

use std::collections::{HashMap, HashSet};

use super::ast::*;
use super::builder::{Line, Small};
use super::fault::FaultKind;
use super::item::{Island, bind, constant, islands, opaque};
use super::line::LineReader;
use super::token::{Tok, Token};
use crate::source::Span;

/// Decorators that make a nested definition one of ours.
pub(super) const OURS: &[&str] = &["kernel", "func", "func_grad", "func_replay", "func_native", "struct"];

/// Words in the header of a kernel that leave a type open.
const OPEN: &[&str] = &["Any", "Scalar", "Float", "Int"];

/// Calls that give a kernel its arguments.
const LAUNCHES: &[&str] = &["launch", "launch_tiled"];

/// Python itself reads at most this many levels of indentation.
const MAX_DEPTH: usize = 100;

/// The host code that has to be read.
#[derive(Default)]
pub(super) struct Nested {
    /// The header lines of these functions and classes.
    headers: HashSet<usize>,
    /// The names of these functions: calls of them are of interest.
    makers: HashSet<String>,
    /// The names of all kernels: launches of them are looked at.
    kernels: HashSet<String>,
    /// The header lines of functions and classes that are read for their launches alone.
    launching: HashSet<usize>,
}

impl Nested {
    /// Looks through the lines of a file.
    pub fn find(lines: &LineReader<'_>) -> Nested {
        let all = &lines.layout.lines;
        let tokens = |index: usize| all.get(index).map_or(&[][..], |line| lines.tokens(line));
        let text = |token: &Token| lines.text.get(token.start as usize..token.end as usize).unwrap_or("");
        let is_ours = |tokens: &[Token]| {
            let path = tokens.iter().skip(1).take_while(|t| matches!(t.kind, Tok::Name | Tok::Dot));
            path.filter(|token| token.kind == Tok::Name).last().is_some_and(|last| OURS.contains(&text(last)))
        };
        let nested_ours = (0..all.len()).any(|i| all[i].column > 0 && is_decorator(tokens(i)) && is_ours(tokens(i)));
        let (kernels, generic) = kernels(lines);
        let launches = !kernels.is_empty() && LAUNCHES.iter().any(|word| lines.text.contains(&format!("{word}(")));
        if !nested_ours && !launches {
            return Nested { kernels, ..Nested::default() };
        }
        let mut scan = Scan { around: Vec::with_capacity(all.len()), names: HashMap::new(), found: Nested::default() };
        let mut open: Vec<usize> = Vec::new();
        let mut calls: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut decorated = false;
        for (index, line) in all.iter().enumerate() {
            while open.last().is_some_and(|&header| all[header].column >= line.column) {
                open.pop();
            }
            scan.around.push(open.last().copied());
            let tokens = tokens(index);
            let kind = |at: usize| tokens.get(at).map(|token| token.kind);
            if is_decorator(tokens) {
                decorated |= is_ours(tokens);
                continue;
            }
            if decorated {
                scan.mark(open.last().copied());
            }
            let def = match (kind(0), kind(1)) {
                (Some(Tok::Def), _) => Some(1),
                (Some(Tok::Async), Some(Tok::Def)) => Some(2),
                _ => None,
            };
            if let (Some(at), false) = (def, decorated) {
                scan.names.insert(index, tokens.get(at).map_or("", text).to_owned());
                open.push(index);
            } else if kind(0) == Some(Tok::Class) {
                open.push(index);
            }
            decorated = false;
            match launched(lines, tokens) {
                Some(kernel) if generic.contains(kernel) => drop(scan.mark(open.last().copied())),
                Some(kernel) if kernels.contains(kernel) => scan.found.launching.extend(&open),
                _ => {}
            }
            for name in called(tokens) {
                calls.entry(text(name)).or_default().push(index);
            }
        }
        // Who calls a function that is read is read, too.
        let mut todo: Vec<String> = scan.found.makers.iter().cloned().collect();
        while let Some(name) = todo.pop() {
            for &line in calls.get(name.as_str()).map_or(&[][..], Vec::as_slice) {
                todo.extend(scan.mark(scan.around.get(line).copied().flatten()));
            }
        }
        scan.found.kernels = kernels;
        scan.found
    }

    /// Whether a line launches a kernel, or calls it as if it were a function: `k(x)`,
    /// `k[blocks, threads](x)`.
    pub fn is_launch(&self, lines: &LineReader<'_>, tokens: &[Token]) -> bool {
        if self.kernels.is_empty() {
            return false;
        }
        let first = tokens.first().and_then(|token| lines.text.get(token.start as usize..token.end as usize));
        launched(lines, tokens).or(first).is_some_and(|kernel| self.kernels.contains(kernel))
    }

    /// Whether the function or class with this header line is read for its launches alone.
    pub fn launches(&self, header: usize) -> bool {
        self.launching.contains(&header)
    }

    /// Whether the function or class with this header line is to be read.
    pub fn holds(&self, header: usize) -> bool {
        self.headers.contains(&header)
    }
}

/// The state of [`Nested::find`].
struct Scan {
    /// The header of the function or class around each line.
    around: Vec<Option<usize>>,
    /// The names of the functions, by header.
    names: HashMap<usize, String>,
    found: Nested,
}

impl Scan {
    /// Marks a function or class and all around it; returns the names of the functions that are
    /// new.
    fn mark(&mut self, mut header: Option<usize>) -> Vec<String> {
        let mut new = Vec::new();
        while let Some(at) = header
            && self.found.headers.insert(at)
        {
            if let Some(name) = self.names.get(&at)
                && self.found.makers.insert(name.clone())
            {
                new.push(name.clone());
            }
            header = self.around.get(at).copied().flatten();
        }
        new
    }
}

/// The names of all kernels, and of those with an open type in their header.
fn kernels(lines: &LineReader<'_>) -> (HashSet<String>, HashSet<String>) {
    let text = |token: &Token| lines.text.get(token.start as usize..token.end as usize).unwrap_or("");
    let (mut all, mut generic, mut kernel) = (HashSet::new(), HashSet::new(), false);
    for line in &lines.layout.lines {
        let tokens = lines.tokens(line);
        if is_decorator(tokens) {
            kernel |= tokens.iter().any(|token| token.kind == Tok::Name && text(token) == "kernel");
            continue;
        }
        let name = tokens.get(1).filter(|_| tokens[0].kind == Tok::Def);
        if let (true, Some(name)) = (kernel, name) {
            all.insert(text(name).to_owned());
            if tokens.iter().any(|token| token.kind == Tok::Name && OPEN.contains(&text(token))) {
                generic.insert(text(name).to_owned());
            }
        }
        kernel = false;
    }
    (all, generic)
}

/// The name of the kernel that a line launches: `wp.launch(k, ...)`, `wp.launch(kernel=k, ...)`.
fn launched<'t>(lines: &LineReader<'t>, tokens: &[Token]) -> Option<&'t str> {
    let text = |token: &Token| lines.text.get(token.start as usize..token.end as usize).unwrap_or("");
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    let call = |at: &usize| {
        kind(*at) == Some(Tok::Name) && kind(at + 1) == Some(Tok::LeftParen) && LAUNCHES.contains(&text(&tokens[*at]))
    };
    let inside = tokens.get((0..tokens.len()).find(call)? + 2..)?;
    let named = inside.windows(3).find(|part| {
        part[0].kind == Tok::Name
            && text(&part[0]) == "kernel"
            && part[1].kind == Tok::Assign
            && part[2].kind == Tok::Name
    });
    let token = named.map(|part| &part[2]).or(inside.first().filter(|token| token.kind == Tok::Name))?;
    Some(text(token))
}

fn is_decorator(tokens: &[Token]) -> bool {
    tokens.first().is_some_and(|token| token.kind == Tok::At)
}

/// The names that are called on their own, `f(...)`, in a line.
fn called(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    (0..tokens.len()).filter(|&at| is_call(tokens, at)).map(|at| &tokens[at])
}

fn is_call(tokens: &[Token], at: usize) -> bool {
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    let before = at.checked_sub(1).and_then(kind);
    kind(at) == Some(Tok::Name)
        && kind(at + 1) == Some(Tok::LeftParen)
        && !matches!(before, Some(Tok::Dot | Tok::Def | Tok::Class))
}

impl Island<'_, '_> {
    /// A host function, its parameters and what its body binds.
    pub fn function_region(&mut self, header: usize, out: &mut Vec<Item>) {
        let tokens = self.tokens(header);
        let asynchronous = tokens.first().is_some_and(|token| token.kind == Tok::Async);
        let (tokens, at) = if asynchronous { (tokens.get(1..).unwrap_or(&[]), 2) } else { (tokens, 1) };
        let read = self.lines.attempt(tokens).ok().and_then(|read| read.line);
        let (name, params) = match read {
            Some(Line::Def(name, params, ..)) => (name, params),
            _ => match self.name_at(header, at) {
                Some(name) => (name, self.salvage_params(header)),
                None => return,
            },
        };
        let kind = match self.nested.holds(header) {
            true => RegionKind::Function { name, params },
            false => RegionKind::Launching { name, params },
        };
        self.region(kind, header, Vec::new(), out);
    }

    /// A class that is no struct of ours.
    pub fn class_region(&mut self, header: usize, out: &mut Vec<Item>) {
        if let Some(name) = self.name_at(header, 1) {
            self.region(RegionKind::Class(name), header, Vec::new(), out);
        }
    }

    /// The functions of a class that is read as an enumeration or a name of a type; its other names
    /// are read there.
    pub fn methods_region(&mut self, header: usize, out: &mut Vec<Item>) {
        let Some(name) = self.name_at(header, 1) else { return };
        let mut read = Vec::new();
        self.region(RegionKind::Methods(name), header, Vec::new(), &mut read);
        for item in &mut read {
            if let Item::Region(region) = item {
                region.items.retain(|item| matches!(item, Item::Function(_) | Item::Region(_)));
            }
        }
        out.append(&mut read);
    }

    /// `for target in iter:`
    pub fn loop_region(&mut self, header: usize, out: &mut Vec<Item>) {
        let span = self.span(header, header + 1);
        let (target, iter, suite) = match self.lines.quiet(header).line {
            Some(Line::For(target, iter, suite)) => (target, iter, suite),
            _ => {
                let names = self.tokens(header).iter().take_while(|token| token.kind != Tok::In);
                let names = names.filter(|token| token.kind == Tok::Name).map(|&token| self.name_expr(token)).collect();
                (Expr { kind: ExprKind::Tuple(names), span }, opaque(span), Vec::new())
            }
        };
        let mut items = Vec::new();
        suite_items(suite, &mut items);
        self.region(RegionKind::Loop { target, iter }, header, items, out);
    }

    /// Any other block; `with f() as x` and `except E as x` bind names.
    pub fn block_region(&mut self, header: usize, out: &mut Vec<Item>) {
        // What type checkers alone read: what it imports is known for their sake, and nothing else
        // of it is.
        let never = self.is_never(header);
        let mut items = Vec::new();
        let span = self.span(header, header + 1);
        for pair in self.tokens(header).windows(2) {
            if pair[0].kind == Tok::As && pair[1].kind == Tok::Name {
                bind(self.name_expr(pair[1]), opaque(span), span, &mut items);
            }
        }
        if let Some(Line::If(_, suite) | Line::Elif(_, suite) | Line::Else(suite) | Line::While(_, suite)) =
            self.lines.quiet(header).line
        {
            suite_items(suite, &mut items);
        }
        let first = self.tokens(header).first().map(|token| token.kind);
        let certain = matches!(first, Some(Tok::With | Tok::Try | Tok::Finally | Tok::Async));
        let conditional = !certain && !self.is_always(header);
        let known = out.len();
        self.region(RegionKind::Block { conditional }, header, items, out);
        if let (true, Some(Item::Region(region))) = (never, out.get_mut(known)) {
            region.items.retain(|item| matches!(item, Item::Import(_)));
        }
    }

    /// Whether a line is `if TYPE_CHECKING:` or, with `not`, `if not TYPE_CHECKING:`; `typing.` may
    /// stand before the name.
    fn is_type_checking(&self, header: usize, not: bool) -> bool {
        let mut rest = self.tokens(header);
        let mut take = |kind: Tok, text: Option<&str>| match rest.split_first() {
            Some((first, after)) if first.kind == kind && text.is_none_or(|text| self.text(*first) == text) => {
                rest = after;
                true
            }
            _ => false,
        };
        let begins = take(Tok::If, None) && (!not || take(Tok::Not, None));
        let _ = take(Tok::Name, Some("typing")) && take(Tok::Dot, None);
        begins && take(Tok::Name, Some("TYPE_CHECKING")) && take(Tok::Colon, None)
    }

    /// The header of the clause before this `else`.
    fn clause_before(&self, header: usize) -> Option<usize> {
        let lines = &self.lines.layout.lines;
        let is_else = self.tokens(header).first().is_some_and(|token| token.kind == Tok::Else);
        let column = lines.get(header)?.column;
        (0..header).rev().find(|&at| lines[at].column <= column).filter(|_| is_else)
    }

    /// Whether a block never runs, for `TYPE_CHECKING` is false when programs run.
    fn is_never(&self, header: usize) -> bool {
        let after = self.clause_before(header).is_some_and(|before| self.is_type_checking(before, true));
        after || self.is_type_checking(header, false)
    }

    /// Whether it always runs, for the same reason.
    fn is_always(&self, header: usize) -> bool {
        let after = self.clause_before(header).is_some_and(|before| self.is_type_checking(before, false));
        after || self.is_type_checking(header, true)
    }

    fn region(&mut self, kind: RegionKind, header: usize, mut items: Vec<Item>, out: &mut Vec<Item>) {
        if self.depth >= MAX_DEPTH {
            if self.nested.holds(header)
                && let Some(&token) = self.tokens(header).first()
            {
                self.lines.report_at(FaultKind::TooManyBlocks, token);
            }
            return;
        }
        islands(self.lines, self.nested, header + 1..self.end, self.depth + 1, &mut items);
        if !items.is_empty() || !matches!(kind, RegionKind::Block { .. } | RegionKind::Loop { .. }) {
            let span = self.span(self.first, self.end);
            out.push(Item::Region(Region { kind, items, span }));
        }
    }

    /// `return value`
    pub fn returned(&mut self, header: usize, out: &mut Vec<Item>) {
        let read = self.lines.quiet(header);
        let readable = read.faults.is_empty() && !read.unsupported;
        let span = self.span(header, header + 1);
        let value = match read.line {
            Some(Line::Simple(mut smalls)) if readable => match smalls.pop() {
                Some(Small::Stmt(Stmt { kind: StmtKind::Return(Some(value)), .. })) => value,
                _ => opaque(span),
            },
            _ => opaque(span),
        };
        out.push(Item::Return(value));
    }

    /// The calls in a line of functions that make kernels.
    pub fn maker_calls(&mut self, header: usize, out: &mut Vec<Item>) {
        if self.nested.makers.is_empty() {
            return;
        }
        let tokens = self.tokens(header);
        for at in (0..tokens.len()).filter(|&at| is_call(tokens, at)) {
            if !self.nested.makers.contains(self.text(tokens[at])) {
                continue;
            }
            let mut depth = 0usize;
            let length = tokens[at + 1..].iter().position(|token| {
                depth += usize::from(token.kind.closing().is_some());
                depth -= usize::from(token.kind.is_closing()).min(depth);
                depth == 0
            });
            let call = tokens.get(at..at + 2 + length.unwrap_or(0)).and_then(|call| self.lines.attempt(call).ok());
            if let Some(Line::Simple(smalls)) = call.and_then(|read| read.line)
                && let [Small::Stmt(Stmt { kind: StmtKind::Expr(expr), .. })] = smalls.as_slice()
            {
                out.push(Item::Call(expr.clone()));
            }
        }
    }

    fn name_expr(&self, token: Token) -> Expr {
        let span = Span::new(self.lines.file, token.start, token.end);
        Expr { kind: ExprKind::Name(self.text(token).to_owned()), span }
    }
}

/// The bindings of the statements behind a `:`; whether they run is not known.
fn suite_items(suite: Vec<Small>, items: &mut Vec<Item>) {
    for small in suite {
        match small {
            Small::Stmt(stmt) => constant(stmt, true, items),
            Small::Import(imports) => items.extend(imports.into_iter().map(Item::Import)),
        }
    }
}
