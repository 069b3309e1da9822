//! Which parts of a file concern kc? Finds them among the lines at module level; all else is host
//! code, an opaque island that is skipped whatever it holds.

use std::ops::Range;
use std::sync::Arc;

use super::ast::*;
use super::block::Blocks;
use super::builder::{Line, Small};
use super::fault::FaultKind;
use super::line::LineReader;
use super::literal;
use super::region::Nested;
use super::token::{Tok, Token};
use crate::diag::explain::distance;
use crate::source::Span;

/// A `def` with one of these as the last part of a decorator's path is read whole. The second line
/// is the words of the built-in library.
const FUNCTION_DECORATORS: &[&str] = &[
    "kernel",
    "func",
    "func_grad",
    "func_replay",
    "func_native",
    "overload", //
    "op",
    "cuda",
    "zero_grad",
    "no_grad",
    "intrinsic",
    "host",
];
/// What other compilers call their decorators of kernels and device functions.
const FOREIGN_DECORATORS: &[&str] = &["jit", "njit", "vectorize", "guvectorize"];
/// Calls at module level that concern kernels.
const MODULE_CALLS: &[&str] = &["set_module_options"];
/// A class with such a base is an enumeration.
const ENUM_BASES: &[&str] = &["IntEnum", "IntFlag", "Enum", "Flag"];

/// The most parameters that are recovered from a header that cannot be read.
const MAX_SALVAGED: usize = 64;

/// Reads the items of a file.
pub fn items(mut lines: LineReader<'_>) -> Vec<Item> {
    let mut out = Vec::new();
    for fault in lines.layout.faults.iter().filter(|fault| fault.tears_layout()) {
        lines.report(fault);
    }
    let count = lines.layout.lines.len();
    let nested = Nested::find(&lines);
    islands(&mut lines, &nested, 0..count, 0, &mut out);
    out
}

/// Reads a range of lines as statements of one block, `depth` blocks deep in the file.
pub(super) fn islands(
    lines: &mut LineReader<'_>,
    nested: &Nested,
    range: Range<usize>,
    depth: usize,
    out: &mut Vec<Item>,
) {
    let mut at = range.start;
    while at < range.end {
        let end = island_end(lines, at).min(range.end);
        Island { lines, nested, first: at, end, depth }.read(out);
        at = end;
    }
}

/// The line behind the one at `at`, its decorated definition, and all deeper lines.
fn island_end(lines: &LineReader<'_>, mut at: usize) -> usize {
    let all = &lines.layout.lines;
    let outer = all.get(at).map_or(0, |line| line.column);
    let kind = |at: usize| all.get(at).and_then(|line| lines.tokens(line).first()).map(|token| token.kind);
    while kind(at) == Some(Tok::At) && all.get(at + 1).is_some_and(|line| line.column == outer) {
        at += 1;
    }
    at += 1;
    while all.get(at).is_some_and(|line| line.column > outer) {
        at += 1;
    }
    at
}

/// The lines of one statement of host code.
pub(super) struct Island<'r, 't> {
    pub lines: &'r mut LineReader<'t>,
    pub nested: &'r Nested,
    pub first: usize,
    pub end: usize,
    /// How many blocks are around it.
    pub depth: usize,
}

/// Whether a word is one of Warp's for types of several numbers: `vector`, `mat33f`, `quatd`.
pub fn is_composite_word(word: &str) -> bool {
    let sized = ["vec", "mat"].iter().filter_map(|family| word.strip_prefix(family));
    matches!(word, "vector" | "matrix" | "quaternion" | "transformation")
        || ["quat", "transform", "spatial_vector", "spatial_matrix"]
            .iter()
            .any(|family| word.strip_prefix(family).is_some_and(|rest| matches!(rest, "" | "f" | "d" | "h")))
        || sized.into_iter().any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl<'t> Island<'_, 't> {
    pub fn tokens(&self, index: usize) -> &'t [Token] {
        self.lines.layout.lines.get(index).map_or(&[], |line| self.lines.tokens(line))
    }

    pub fn text(&self, token: Token) -> &'t str {
        self.lines.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    fn read(&mut self, out: &mut Vec<Item>) {
        let mut header = self.first;
        while header < self.end && self.tokens(header).first().is_some_and(|token| token.kind == Tok::At) {
            header += 1;
        }
        let tokens = self.tokens(header);
        let kind = |index: usize| tokens.get(index).map(|token| token.kind);
        let is_ours = |index: usize| {
            let word = self.decorator(index);
            word.is_some_and(|name| FUNCTION_DECORATORS.contains(&self.nested.decorator(name).unwrap_or(name)))
        };
        let ours = (self.first..header).any(is_ours);
        let is_struct = (self.first..header).any(|index| self.decorator(index) == Some("struct"));
        self.maker_calls(header, out);
        self.overload_calls(header, out);
        match (kind(0), kind(1)) {
            (Some(Tok::Def), _) if ours => out.extend(self.function(header)),
            (Some(Tok::Async), Some(Tok::Def)) if ours => {
                if let Some(&token) = tokens.first() {
                    self.lines.report_at(FaultKind::AsyncKernel, token);
                }
            }
            (Some(Tok::Def | Tok::Async), _) if self.nested.holds(header) => self.function_region(header, out),
            (Some(Tok::Def | Tok::Async), _) if self.nested.launches(header) => self.function_region(header, out),
            (Some(Tok::Def), _) if self.nested.computes(header) => self.function_region(header, out),
            (Some(Tok::Def), _) => out.extend(self.plain_function(header)),
            (Some(Tok::Class), _) if is_struct || self.is_enum(header) || self.is_type(header) => {
                out.extend(self.class(header));
                if !is_struct && self.nested.holds(header) {
                    self.methods_region(header, out);
                }
            }
            (Some(Tok::Class), _) if self.nested.holds(header) || self.nested.launches(header) => {
                self.class_region(header, out);
            }
            (Some(Tok::Import | Tok::From), _) => self.imports(header, out),
            (Some(Tok::Name), Some(Tok::Assign | Tok::Colon)) if header == self.first => self.constants(header, out),
            (Some(Tok::Name), Some(second)) if header == self.first && second.augments() => {
                self.changed_constant(header, out);
            }
            (Some(Tok::Name), Some(Tok::Dot))
                if header == self.first && (kind(2), kind(3)) == (Some(Tok::Name), Some(Tok::Assign)) =>
            {
                self.attribute(header, out);
            }
            (Some(Tok::Name), Some(Tok::Dot | Tok::LeftParen | Tok::LeftBracket)) if header == self.first => {
                self.module_call(header, out);
            }
            (Some(Tok::Name), Some(Tok::Comma)) if header == self.first => self.constants(header, out),
            (Some(Tok::Return), _) => self.returned(header, out),
            (Some(Tok::Class), _) if self.has_constants(header) => self.class_region(header, out),
            (Some(Tok::Class), _) if self.makes_objects(header) => self.class_region(header, out),
            (Some(Tok::Class), _) => self.made_class(header, out),
            (Some(Tok::Async), Some(Tok::Def)) => {}
            _ if ours || is_struct => {
                if let Some(&token) = self.tokens(self.first).first() {
                    self.lines.report_at(FaultKind::DecoratorAlone, token);
                }
            }
            (Some(Tok::For), _) => self.loop_region(header, out),
            (Some(first), _) if header + 1 < self.end || first.opens_block() => self.block_region(header, out),
            _ => {}
        }
    }

    /// A class without names of its own: what a call makes it that it derives from, or that
    /// decorates it.
    fn made_class(&mut self, header: usize, out: &mut Vec<Item>) {
        let span = self.span(self.first, self.end);
        let Some(Line::Class(name, args, _)) = self.lines.quiet(header).line else { return };
        let is_made = |value: &Expr| match &value.kind {
            ExprKind::Attribute { base, .. } => matches!(base.kind, ExprKind::Call { .. }),
            kind => matches!(kind, ExprKind::Call { .. }),
        };
        let made = match args.as_slice() {
            [Arg { name: None, value }] if is_made(value) => Some(value.clone()),
            _ => None,
        };
        let decorator = |island: &mut Self| match island.lines.quiet(island.first).line {
            Some(Line::Decorator(expr)) if matches!(expr.kind, ExprKind::Call { .. }) => Some(expr),
            Some(Line::Decorator(expr)) => {
                let span = expr.span;
                Some(Expr { kind: ExprKind::Call { callee: Box::new(expr), args: Vec::new() }, span })
            }
            _ => None,
        };
        let decorated = self.first < header;
        if let Some(value) = if decorated { decorator(self) } else { made } {
            out.push(Item::Constant(Constant { name, value, span }));
        }
    }

    /// Whether a class has an `__init__` that is read.
    fn makes_objects(&self, header: usize) -> bool {
        let is_init = |at: usize| self.name_at(at, 1).is_some_and(|name| name.text == "__init__");
        (header + 1..self.end).any(|at| self.nested.computes(at) && is_init(at))
    }

    /// Whether the body of a class binds names: `NAME = value`.
    fn has_constants(&self, header: usize) -> bool {
        let lines = &self.lines.layout.lines;
        let column = lines.get(header + 1).map_or(0, |line| line.column);
        (header + 1..self.end).any(|index| {
            let kinds = self.tokens(index).get(..2).map(|two| (two[0].kind, two[1].kind));
            lines.get(index).is_some_and(|line| line.column == column)
                && matches!(kinds, Some((Tok::Name, Tok::Assign | Tok::Colon)))
        })
    }

    /// The last part of the path of a decorator line: `kernel` of
    /// `@wp.kernel(enable_backward=False)`.
    fn decorator(&self, index: usize) -> Option<&'t str> {
        self.decorated_name(index, 1)
    }

    /// The last part of the dotted path that starts at a token of a line and ends there or at a
    /// call.
    fn decorated_name(&self, index: usize, from: usize) -> Option<&'t str> {
        let tokens = self.tokens(index).get(from..)?;
        let mut name = None;
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                Tok::Name if at % 2 == 0 => name = Some(self.text(*token)),
                Tok::Dot if at % 2 == 1 => {}
                Tok::LeftParen if at % 2 == 1 => return name,
                _ => return None,
            }
        }
        name
    }

    /// Whether a class header names an enumeration among its bases.
    fn is_enum(&self, header: usize) -> bool {
        let bases = self.tokens(header).iter().skip(2);
        bases
            .take_while(|token| token.kind != Tok::Colon)
            .any(|&token| token.kind == Tok::Name && ENUM_BASES.contains(&self.text(token)))
    }

    /// Whether a class header names a vector, matrix or the like among its bases: another name of
    /// that type.
    fn is_type(&self, header: usize) -> bool {
        let bases = self.tokens(header).iter().skip(2).take_while(|token| token.kind != Tok::Colon);
        bases.into_iter().any(|&token| token.kind == Tok::Name && is_composite_word(self.text(token)))
    }

    /// The span of lines, from the first to the last token.
    pub fn span(&mut self, from: usize, to: usize) -> Span {
        Blocks { lines: self.lines, next: from, end: to, lost: None }.span(from, to)
    }

    fn decorators(&mut self, header: usize) -> Vec<Decorator> {
        let mut out = Vec::new();
        for index in self.first..header {
            let read = self.lines.line(index);
            let expr = match read.line {
                Some(Line::Decorator(expr)) => expr,
                _ => Expr { kind: ExprKind::Error, span: self.span(index, index + 1) },
            };
            out.push(Decorator { expr });
        }
        out
    }

    fn function(&mut self, header: usize) -> Option<Item> {
        let span = self.span(self.first, self.end);
        let decorators = self.decorators(header);
        let read = self.lines.line(header);
        if read.line.is_some()
            && let Some(&token) = self.tokens(header).get(2).filter(|token| token.kind == Tok::LeftBracket)
        {
            self.lines.report_at(FaultKind::TypeParameters, token);
        }
        let header_line = match read.line {
            Some(Line::Def(name, params, returns, suite)) => Some((name, params, returns, suite)),
            _ => None,
        };
        let lost = header_line.is_none();
        let (name, params, returns, suite) = match header_line {
            Some(parts) => parts,
            None => (self.name(header)?, self.salvage_params(header), None, Vec::new()),
        };
        let mut blocks = Blocks { lines: self.lines, next: header + 1, end: self.end, lost: None };
        let mut body = if lost { blocks.lost_block(0, 1) } else { blocks.body(header, suite, 0) };
        let doc = take_doc(&mut body);
        Some(Item::Function(Arc::new(Function { name, decorators, params, returns, doc, body, span })))
    }

    /// A function of the host keeps its name and parameters.
    fn plain_function(&mut self, header: usize) -> Option<Item> {
        let span = self.span(self.first, self.end);
        let (name, params) = match self.lines.quiet(header).line {
            Some(Line::Def(name, params, ..)) => (name, params),
            _ => (self.name(header)?, Vec::new()),
        };
        // Those of other compilers of kernels say what was meant, and so do slips in Warp's.
        let slip = |name: &str| {
            FUNCTION_DECORATORS.iter().any(|ours| distance(name, ours) <= name.len() / 3 && name.len() > 2)
        };
        let foreign =
            |index: &usize| self.decorator(*index).is_some_and(|name| FOREIGN_DECORATORS.contains(&name) || slip(name));
        let foreign: Vec<usize> = (self.first..header).filter(foreign).collect();
        let read = foreign.into_iter().filter_map(|index| match self.lines.quiet(index).line {
            Some(Line::Decorator(expr)) => Some(Decorator { expr }),
            _ => None,
        });
        let decorators = read.collect();
        let function = Function { name, decorators, params, returns: None, doc: None, body: Vec::new(), span };
        Some(Item::Function(Arc::new(function)))
    }

    /// The name behind `def` or `class` of a header that could not be read.
    fn name(&self, header: usize) -> Option<Name> {
        self.name_at(header, 1)
    }

    /// The name at a place of a line.
    pub fn name_at(&self, header: usize, at: usize) -> Option<Name> {
        let token = *self.tokens(header).get(at)?;
        let span = Span::new(self.lines.file, token.start, token.end);
        (token.kind == Tok::Name).then(|| Name { text: self.text(token).to_owned(), span })
    }

    /// The parameters of a header that could not be read, so that the body does not seem to use
    /// unknown names: each name before a `:`. Annotations that can be read are kept.
    pub fn salvage_params(&self, header: usize) -> Vec<Param> {
        let tokens = self.tokens(header).get(2..).unwrap_or(&[]);
        let tokens = match tokens.split_last() {
            Some((last, rest)) if last.kind == Tok::Colon => rest,
            _ => tokens,
        };
        let pairs = tokens.windows(2).enumerate();
        let named = pairs.filter(|(_, pair)| pair[0].kind == Tok::Name && pair[1].kind == Tok::Colon);
        let starts: Vec<usize> = named.map(|(at, _)| at).take(MAX_SALVAGED).collect();
        let mut params = Vec::new();
        for (index, &start) in starts.iter().enumerate() {
            let next = starts.get(index + 1).copied();
            // Up to the comma before the next one.
            let end = next.map_or(tokens.len(), |next| next.saturating_sub(1)).max(start);
            let mut piece = tokens.get(start..end).unwrap_or(&[]);
            let mut param = self.param(piece);
            // The list ends somewhere within the last piece.
            let mut tries = 0;
            while param.is_none() && next.is_none() && tries < MAX_SALVAGED {
                let Some((_, shorter)) = piece.split_last() else { break };
                piece = shorter;
                param = self.param(piece);
                tries += 1;
            }
            let name = tokens[start];
            let span = Span::new(self.lines.file, name.start, name.end);
            params.push(param.unwrap_or_else(|| Param {
                name: Name { text: self.text(name).to_owned(), span },
                annotation: Some(Expr { kind: ExprKind::Error, span }),
                default: None,
                star: Star::None,
                span,
            }));
        }
        params
    }

    /// Reads tokens as one parameter, by the grammar's rule for a definition with nothing else.
    fn param(&self, piece: &[Token]) -> Option<Param> {
        let near = *piece.first()?;
        let virtual_token = |kind| Token { kind, start: near.start, end: near.start };
        let mut line = vec![virtual_token(Tok::Def), near, virtual_token(Tok::LeftParen)];
        line.extend_from_slice(piece);
        line.extend([virtual_token(Tok::RightParen), virtual_token(Tok::Colon)]);
        match self.lines.attempt(&line).ok()?.line? {
            Line::Def(_, mut params, ..) if params.len() == 1 => params.pop(),
            _ => None,
        }
    }

    fn class(&mut self, header: usize) -> Option<Item> {
        let span = self.span(self.first, self.end);
        let decorators = self.decorators(header);
        let (name, args, suite) = match self.lines.line(header).line {
            Some(Line::Class(name, args, suite)) => (name, args, suite),
            _ => (self.name(header)?, Vec::new(), Vec::new()),
        };
        let bases = args.into_iter().filter(|arg| arg.name.is_none()).map(|arg| arg.value).collect();
        let mut members = Vec::new();
        let mut doc = None;
        self.members(suite, false, &mut members, &mut doc);
        let base = self.lines.layout.lines.get(header + 1).map_or(0, |line| line.column);
        let mut tolerated = base;
        let mut at = header + 1;
        while at < self.end {
            let column = self.lines.layout.lines.get(at).map_or(0, |line| line.column);
            let first = self.tokens(at).first().copied();
            let foreign =
                first.is_none_or(|t| t.kind.opens_block() || matches!(t.kind, Tok::At | Tok::Try | Tok::With));
            if !foreign {
                if column > base
                    && column != tolerated
                    && let Some(token) = first
                {
                    self.lines.report_at(FaultKind::UnexpectedIndent, token);
                }
                tolerated = column;
                let read = self.lines.line(at);
                if let Some(Line::Simple(smalls)) = read.line {
                    self.members(smalls, read.unsupported, &mut members, &mut doc);
                }
            }
            at += 1;
            // Methods, and whatever hangs on a line that is not ours.
            while foreign && self.lines.layout.lines.get(at).is_some_and(|line| line.column > column) && at < self.end {
                at += 1;
            }
        }
        if header + 1 == self.end
            && members.is_empty()
            && doc.is_none()
            && self.tokens(header).last().is_some_and(|t| t.kind == Tok::Colon)
            && let Some(&token) = self.tokens(header).first()
        {
            self.lines.report_at(FaultKind::MissingBody, token);
        }
        Some(Item::Class(Class { name, decorators, bases, members, doc, span }))
    }

    fn members(&self, smalls: Vec<Small>, unsupported: bool, members: &mut Vec<Member>, doc: &mut Option<String>) {
        for small in smalls {
            let Small::Stmt(stmt) = small else { continue };
            let (target, annotation, value) = match stmt.kind {
                StmtKind::AnnAssign { target, annotation, value } => (target, Some(annotation), value),
                StmtKind::Assign { mut targets, value } if targets.len() == 1 => match targets.pop() {
                    Some(target) => (target, None, Some(value)),
                    None => continue,
                },
                StmtKind::Expr(Expr { kind: ExprKind::Str(text), .. }) if members.is_empty() && doc.is_none() => {
                    *doc = Some(literal::dedent(&text));
                    continue;
                }
                _ => continue,
            };
            if let ExprKind::Name(text) = target.kind {
                let value = value.map(|value| if unsupported { opaque(value.span) } else { value });
                members.push(Member { name: Name { text, span: target.span }, annotation, value });
            }
        }
    }

    fn imports(&mut self, header: usize, out: &mut Vec<Item>) {
        if let Some(Line::Simple(smalls)) = self.lines.line(header).line {
            for small in smalls {
                match small {
                    Small::Import(imports) => out.extend(imports.into_iter().map(Item::Import)),
                    Small::Stmt(stmt) => constant(stmt, false, out),
                }
            }
        }
    }

    /// `NAME = value`: what cannot be read is host code.
    fn constants(&mut self, header: usize, out: &mut Vec<Item>) {
        let read = self.lines.quiet(header);
        let readable = read.faults.is_empty() && !read.unsupported;
        if !readable && let Some(smalls) = self.without_annotation(header) {
            smalls.into_iter().for_each(|stmt| constant(stmt, false, out));
            return;
        }
        match read.line {
            Some(Line::Simple(smalls)) => {
                for small in smalls {
                    match small {
                        Small::Import(imports) => out.extend(imports.into_iter().map(Item::Import)),
                        Small::Stmt(stmt) => constant(stmt, !readable, out),
                    }
                }
            }
            _ if self.tokens(header).iter().any(|token| token.kind == Tok::Assign) => {
                self.changed_constant(header, out);
            }
            _ => {}
        }
    }

    /// `NAME: T = value`, where only the annotation cannot be read: as if it were not there.
    fn without_annotation(&self, header: usize) -> Option<Vec<Stmt>> {
        let tokens = self.tokens(header);
        let (name, colon) = (tokens.first()?, tokens.get(1)?);
        let assign = tokens.iter().position(|token| token.kind == Tok::Assign)?;
        if name.kind != Tok::Name || colon.kind != Tok::Colon {
            return None;
        }
        let mut line = vec![*name];
        line.extend_from_slice(tokens.get(assign..)?);
        let read = self.lines.attempt(&line).ok()?;
        match read.line? {
            Line::Simple(smalls) if !read.unsupported => {
                smalls.into_iter().map(|small| if let Small::Stmt(stmt) = small { Some(stmt) } else { None }).collect()
            }
            _ => None,
        }
    }

    /// `function.name = value`, `self.name = value`
    fn attribute(&mut self, header: usize, out: &mut Vec<Item>) {
        let read = self.lines.quiet(header);
        if !read.faults.is_empty() || read.unsupported {
            return;
        }
        let Some(Line::Simple(smalls)) = read.line else { return };
        for small in smalls {
            if let Small::Stmt(stmt) = small {
                attribute_or_constant(stmt, out);
            }
        }
    }

    /// A call at module level that changes how kernels are compiled.
    fn module_call(&mut self, header: usize, out: &mut Vec<Item>) {
        let called = self.decorated_name(header, 0);
        let launch = self.nested.is_launch(self.lines, self.tokens(header));
        if !launch && !called.is_some_and(|name| MODULE_CALLS.contains(&name)) {
            return;
        }
        let Some(Line::Simple(smalls)) = self.lines.quiet(header).line else { return };
        for small in smalls {
            if let Small::Stmt(Stmt { kind: StmtKind::Expr(expr @ Expr { kind: ExprKind::Call { .. }, .. }), .. }) =
                small
            {
                out.push(Item::Call(expr));
            }
        }
    }

    /// A name whose value only the host knows.
    fn changed_constant(&mut self, header: usize, out: &mut Vec<Item>) {
        let span = self.span(header, header + 1);
        if let Some(&token) = self.tokens(header).first() {
            let name =
                Name { text: self.text(token).to_owned(), span: Span::new(self.lines.file, token.start, token.end) };
            out.push(Item::Constant(Constant { name, value: opaque(span), span }));
        }
    }
}

pub(super) fn opaque(span: Span) -> Expr {
    Expr { kind: ExprKind::Opaque, span }
}

/// The constants that a statement of host code makes. With `hide` their values are not looked at.
pub(super) fn constant(stmt: Stmt, hide: bool, out: &mut Vec<Item>) {
    let span = stmt.span;
    let (targets, value) = match stmt.kind {
        StmtKind::Assign { targets, value } => (targets, value),
        StmtKind::AnnAssign { target, value: Some(value), .. } => (vec![target], value),
        StmtKind::AugAssign { target, value, .. } => (vec![target], opaque(value.span)),
        _ => return,
    };
    for target in targets {
        let value = if hide { opaque(value.span) } else { value.clone() };
        bind(target, value, span, out);
    }
}

/// `function.name = value`, `self.name = value`: a name with a dot, which no other one has. Other
/// statements make constants.
pub(super) fn attribute_or_constant(stmt: Stmt, out: &mut Vec<Item>) {
    match &stmt.kind {
        StmtKind::Assign { targets, value }
            if let [Expr { kind: ExprKind::Attribute { base, name }, span: place }] = targets.as_slice()
                && let ExprKind::Name(base) = &base.kind =>
        {
            let name = Name { text: format!("{base}.{}", name.text), span: *place };
            out.push(Item::Attribute(Constant { name, value: value.clone(), span: stmt.span }));
        }
        _ => constant(stmt, false, out),
    }
}

/// `target = value`, where the names of a tuple get their items.
pub(super) fn bind(target: Expr, value: Expr, span: Span, out: &mut Vec<Item>) {
    match target.kind {
        ExprKind::Name(text) => {
            out.push(Item::Constant(Constant { name: Name { text, span: target.span }, value, span }));
        }
        ExprKind::Tuple(targets) | ExprKind::List(targets) => {
            for (n, target) in targets.into_iter().enumerate() {
                bind(target, item_of(&value, n), span, out);
            }
        }
        ExprKind::Starred(inner) => bind(*inner, opaque(value.span), span, out),
        _ => {}
    }
}

/// The expression `value[n]`.
fn item_of(value: &Expr, n: usize) -> Expr {
    match &value.kind {
        ExprKind::Opaque => opaque(value.span),
        ExprKind::Tuple(items) if n < items.len() && !items.iter().any(|i| matches!(i.kind, ExprKind::Starred(_))) => {
            items[n].clone()
        }
        _ => {
            let index = Expr { kind: ExprKind::Int(Some(n as u128)), span: value.span };
            let kind = ExprKind::Subscript { base: Box::new(value.clone()), indices: vec![index] };
            Expr { kind, span: value.span }
        }
    }
}

/// Takes the docstring out of a body.
fn take_doc(body: &mut Vec<Stmt>) -> Option<String> {
    match body.first() {
        Some(Stmt { kind: StmtKind::Expr(Expr { kind: ExprKind::Str(text), .. }), .. }) => {
            let doc = literal::dedent(text);
            body.remove(0);
            Some(doc)
        }
        _ => None,
    }
}
