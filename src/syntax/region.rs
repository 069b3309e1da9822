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
use super::item::{Island, attribute_or_constant, bind, constant, islands, opaque};
use super::line::LineReader;
use super::token::{Tok, Token};
use super::visit;
use crate::source::Span;

/// Decorators that make a nested definition one of ours.
pub(super) const OURS: &[&str] = &["kernel", "func", "func_grad", "func_replay", "func_native", "struct"];

/// Words in the header of a kernel that leave a type open.
const OPEN: &[&str] = &["Any", "Scalar", "Float", "Int"];

/// Calls that give a kernel its arguments.
const LAUNCHES: &[&str] = &["launch", "launch_tiled"];

/// The call that says for which types a kernel is compiled.
const OVERLOAD: &str = "overload";

/// How `self.name = value` begins.
const ATTRIBUTE: [Tok; 4] = [Tok::Name, Tok::Dot, Tok::Name, Tok::Assign];

/// The most lines of a function that only computes what it returns.
const MAX_COMPUTING: usize = 64;

/// The most clauses before an `else` whose conditions are read.
const MAX_CONDITIONS: usize = 16;

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
    /// Names of the file for Warp's decorators: `my_func = wp.func`.
    decorators: HashMap<String, String>,
    /// The header lines of functions that only compute what they return.
    computing: HashSet<usize>,
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
        let (computing, decorators) = (computing(lines), decorators(lines));
        let overloads = lines.text.contains(&format!("{OVERLOAD}("));
        if !nested_ours && !launches && !overloads {
            return Nested { kernels, computing, decorators, ..Nested::default() };
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
            if overloads && called_word(lines, tokens, OVERLOAD) {
                scan.mark(open.last().copied());
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
        (scan.found.computing, scan.found.decorators) = (computing, decorators);
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

    /// The decorator of Warp's that a name of the file means.
    pub fn decorator(&self, name: &str) -> Option<&str> {
        self.decorators.get(name).map(String::as_str)
    }

    /// Whether the function with this header line only computes what it returns.
    pub fn computes(&self, header: usize) -> bool {
        self.computing.contains(&header)
    }

    /// Whether a call of `name` with these tokens may concern kernels: it makes some, or is given
    /// one.
    fn concerns(&self, lines: &LineReader<'_>, name: &str, call: &[Token], of_module: bool) -> bool {
        let text = |token: &Token| lines.text.get(token.start as usize..token.end as usize).unwrap_or("");
        let names = |token: &Token| token.kind == Tok::Name && self.kernels.contains(text(token));
        self.makers.contains(name) && !of_module
            || !LAUNCHES.contains(&name) && name != OVERLOAD && call.iter().skip(1).any(names)
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

/// The names that the file gives to decorators of Warp's: `my_func = wp.func(inline=False)`.
fn decorators(lines: &LineReader<'_>) -> HashMap<String, String> {
    let text = |token: &Token| lines.text.get(token.start as usize..token.end as usize).unwrap_or("");
    let mut found = HashMap::new();
    for line in lines.layout.lines.iter().filter(|line| line.column == 0) {
        let tokens = lines.tokens(line);
        let [name, assign, rest @ ..] = tokens else { continue };
        if name.kind != Tok::Name || assign.kind != Tok::Assign {
            continue;
        }
        let word =
            |part: &[Token]| (part[0].kind == Tok::Dot && OURS.contains(&text(&part[1]))).then(|| text(&part[1]));
        if let Some(word) = rest.windows(2).find_map(word) {
            found.insert(text(name).to_owned(), word.to_owned());
        }
    }
    found
}

/// The header lines of plain functions that bind names, choose with `if`, and return something.
fn computing(lines: &LineReader<'_>) -> HashSet<usize> {
    let all = &lines.layout.lines;
    let first = |at: usize| all.get(at).and_then(|line| lines.tokens(line).first()).map(|token| token.kind);
    let mut found = HashSet::new();
    for (header, line) in all.iter().enumerate() {
        let decorated = header > 0 && first(header - 1) == Some(Tok::At);
        if first(header) != Some(Tok::Def) || decorated {
            continue;
        }
        // `def f(x): return x`, `def __init__(self, x): self.x = x`
        let kinds: Vec<Tok> = lines.tokens(line).iter().map(|token| token.kind).collect();
        let binds = kinds.windows(1 + ATTRIBUTE.len()).any(|part| part[0] == Tok::Colon && part[1..] == ATTRIBUTE);
        if binds || kinds.contains(&Tok::Return) {
            found.insert(header);
            continue;
        }
        let body = all[header + 1..].iter().take_while(|inner| inner.column > line.column).count();
        let kinds: Vec<Option<Tok>> = (header + 1..=header + body).map(first).collect();
        let plain = |kind: &Option<Tok>| {
            matches!(kind, Some(Tok::Name | Tok::Return | Tok::Str | Tok::If | Tok::Elif | Tok::Else | Tok::Raise))
        };
        // As an `__init__` has them.
        let attribute = |at: usize| {
            let tokens = all.get(at).map_or(&[][..], |line| lines.tokens(line));
            tokens.len() > ATTRIBUTE.len() && tokens.iter().zip(ATTRIBUTE).all(|(token, kind)| token.kind == kind)
        };
        let ends = kinds.contains(&Some(Tok::Return)) || (header + 1..=header + body).any(attribute);
        if body <= MAX_COMPUTING && ends && kinds.iter().all(plain) {
            found.insert(header);
        }
    }
    found
}

fn is_decorator(tokens: &[Token]) -> bool {
    tokens.first().is_some_and(|token| token.kind == Tok::At)
}

/// Whether something with this last word is called in a line: `wp.overload(...)`.
fn called_word(lines: &LineReader<'_>, tokens: &[Token], word: &str) -> bool {
    let text = |token: &Token| lines.text.get(token.start as usize..token.end as usize).unwrap_or("");
    let call = |pair: &[Token]| pair[0].kind == Tok::Name && pair[1].kind == Tok::LeftParen && text(&pair[0]) == word;
    tokens.windows(2).any(call)
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

/// Where a call begins whose name is at a place of a line: there for `f(...)`, before it for
/// `module.f(...)`.
fn call_from(tokens: &[Token], at: usize) -> Option<usize> {
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    let is_dot = |at: Option<usize>| at.and_then(kind) == Some(Tok::Dot);
    if is_call(tokens, at) {
        return Some(at);
    }
    let named = kind(at) == Some(Tok::Name) && kind(at + 1) == Some(Tok::LeftParen) && is_dot(at.checked_sub(1));
    let from = at.checked_sub(2).filter(|&from| kind(from) == Some(Tok::Name))?;
    (named && !is_dot(from.checked_sub(1))).then_some(from)
}

/// The calls of `wp.overload` in an expression; those in comprehensions are in loops.
fn overloads(expr: &Expr, out: &mut Vec<Item>) {
    match &expr.kind {
        ExprKind::Call { callee, .. } if last_word(callee) == Some(OVERLOAD) => out.push(Item::Call(expr.clone())),
        ExprKind::Comprehension(comprehension) => {
            let mut items = Vec::new();
            overloads(&comprehension.element, &mut items);
            if items.is_empty() {
                return;
            }
            for Clause { target, iter, conditions, .. } in comprehension.clauses.iter().rev() {
                if !conditions.is_empty() {
                    let runs = Runs::Where(conditions.iter().map(|condition| (condition.clone(), true)).collect());
                    items = vec![Item::Region(Region { kind: RegionKind::Block(runs), items, span: expr.span })];
                }
                let kind = RegionKind::Loop { target: target.clone(), iter: iter.clone() };
                items = vec![Item::Region(Region { kind, items, span: expr.span })];
            }
            out.append(&mut items);
        }
        _ => expr.each_child(&mut |child| overloads(child, out)),
    }
}

/// `c` of `a.b.c`
fn last_word(path: &Expr) -> Option<&str> {
    match &path.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Attribute { name, .. } => Some(&name.text),
        _ => None,
    }
}

impl Island<'_, '_> {
    /// A host function, its parameters and what its body binds.
    pub fn function_region(&mut self, header: usize, out: &mut Vec<Item>) {
        let tokens = self.tokens(header);
        let asynchronous = tokens.first().is_some_and(|token| token.kind == Tok::Async);
        let (tokens, at) = if asynchronous { (tokens.get(1..).unwrap_or(&[]), 2) } else { (tokens, 1) };
        let read = self.lines.attempt(tokens).ok().and_then(|read| read.line);
        let mut items = Vec::new();
        let (name, params) = match read {
            Some(Line::Def(name, params, _, suite)) => {
                for small in suite {
                    match small {
                        Small::Stmt(Stmt { kind: StmtKind::Return(Some(value)), .. }) => {
                            items.push(Item::Return(value))
                        }
                        Small::Stmt(stmt) => attribute_or_constant(stmt, &mut items),
                        Small::Import(imports) => items.extend(imports.into_iter().map(Item::Import)),
                    }
                }
                (name, params)
            }
            _ => match self.name_at(header, at) {
                Some(name) => (name, self.salvage_params(header)),
                None => return,
            },
        };
        let (holds, computes) = (self.nested.holds(header), self.nested.computes(header));
        let kind = match holds || computes {
            true => RegionKind::Function { name, params, computes: !holds },
            false => RegionKind::Launching { name, params },
        };
        self.region(kind, header, items, out);
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
        let runs = match first {
            Some(Tok::With | Tok::Finally | Tok::Async) => Runs::Always,
            Some(Tok::Try) => Runs::Begins,
            _ if self.is_always(header) => Runs::Always,
            _ => self.conditions(header).map_or(Runs::Maybe, Runs::Where),
        };
        let known = out.len();
        self.region(RegionKind::Block(runs), header, items, out);
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
        let is_else = self.tokens(header).first().is_some_and(|token| token.kind == Tok::Else);
        self.line_above(header).filter(|_| is_else)
    }

    /// The last line before one that is no deeper.
    fn line_above(&self, header: usize) -> Option<usize> {
        let lines = &self.lines.layout.lines;
        let column = lines.get(header)?.column;
        (0..header).rev().find(|&at| lines[at].column <= column)
    }

    /// What is true, or not, where a clause of an `if` inside host code runs.
    fn conditions(&self, header: usize) -> Option<Vec<(Expr, bool)>> {
        if self.depth == 0 {
            return None;
        }
        let mut found = Vec::new();
        let mut at = header;
        for _ in 0..MAX_CONDITIONS {
            let holds = at == header;
            let read = self.lines.quiet(at);
            let readable = read.faults.is_empty() && !read.unsupported;
            match read.line.filter(|_| readable)? {
                Line::If(condition, _) => {
                    found.push((condition, holds));
                    return Some(found);
                }
                Line::Elif(condition, _) => found.push((condition, holds)),
                Line::Else(_) if holds => {}
                _ => return None,
            }
            at = self.line_above(at)?;
        }
        None
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

    /// The calls of `wp.overload` in a line.
    pub fn overload_calls(&mut self, header: usize, out: &mut Vec<Item>) {
        if !called_word(self.lines, self.tokens(header), OVERLOAD) {
            return;
        }
        if let Some(Line::Simple(smalls)) = self.lines.quiet(header).line {
            for small in smalls {
                if let Small::Stmt(stmt) = small {
                    visit::expressions(&stmt, &mut |expr| overloads(expr, out));
                }
            }
        }
    }

    /// The calls in a line of functions that make kernels, or that are given one.
    pub fn maker_calls(&mut self, header: usize, out: &mut Vec<Item>) {
        if self.nested.makers.is_empty() && self.nested.kernels.is_empty() {
            return;
        }
        let tokens = self.tokens(header);
        if matches!(tokens.first().map(|token| token.kind), Some(Tok::Def | Tok::At)) {
            return;
        }
        for called in 0..tokens.len() {
            let Some(at) = call_from(tokens, called) else { continue };
            if !self.nested.concerns(self.lines, self.text(tokens[called]), &tokens[called..], at < called) {
                continue;
            }
            let mut depth = 0usize;
            let length = tokens[called + 1..].iter().position(|token| {
                depth += usize::from(token.kind.closing().is_some());
                depth -= usize::from(token.kind.is_closing()).min(depth);
                depth == 0
            });
            let call = tokens.get(at..called + 2 + length.unwrap_or(0)).and_then(|call| self.lines.attempt(call).ok());
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
            Small::Stmt(stmt) => {
                visit::expressions(&stmt, &mut |expr| overloads(expr, items));
                constant(stmt, true, items);
            }
            Small::Import(imports) => items.extend(imports.into_iter().map(Item::Import)),
        }
    }
}
