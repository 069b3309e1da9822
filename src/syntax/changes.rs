//! What does host code change that kernels capture, other than by `NAME = value` where it is read?
//! Functions bind names of their file (`global`), lists and objects change in place, and targets of
//! loops are names too. None of that is followed: it is enough to know that it happens.

use std::collections::HashSet;

use super::ast::Name;
use super::line::LineReader;
use super::region::OURS;
use super::token::{Tok, Token};
use crate::source::Span;

/// Methods that change lists, dicts and sets.
const CHANGING: &[&str] = &[
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "popitem",
    "clear",
    "sort",
    "reverse",
    "update",
    "setdefault",
    "add",
    "discard",
    "fill",
];

/// A change of what a name means, or of what it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub name: Name,
    /// The host function whose variable it is; None: a name of the file.
    pub owner: Option<String>,
    pub what: Changed,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Changed {
    /// The name is bound.
    Name,
    /// What it names changes: an item, or something by a method.
    Value,
    /// `NAME.member = ...`
    Member(String),
}

/// A function or class around lines.
struct Frame {
    column: u32,
    /// None: a class, whose names are none of its functions'.
    function: Option<String>,
    /// Names that are variables of the function.
    own: HashSet<String>,
    /// Names of the file, or of a function around, that it binds.
    outer: HashSet<String>,
    /// Nothing in it is host code.
    skipped: bool,
}

/// The changes of a file's host code.
pub(super) fn changes(lines: &LineReader<'_>) -> Vec<Change> {
    let text = |token: &Token| lines.text.get(token.start as usize..token.end as usize).unwrap_or("");
    let name = |token: &Token| Name {
        text: text(token).to_string(),
        span: Span { file: lines.file, start: token.start, end: token.end },
    };
    // All of the file; around a line are those of these numbers.
    let mut frames: Vec<Frame> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut found: Vec<(Name, Changed, Vec<usize>)> = Vec::new();
    let mut ours = false;
    for line in &lines.layout.lines {
        let tokens = lines.tokens(line);
        let kind = |at: usize| tokens.get(at).map(|token| token.kind);
        while open.last().is_some_and(|&at| frames[at].column >= line.column) {
            open.pop();
        }
        if kind(0) == Some(Tok::At) {
            let path = tokens.iter().skip(1).take_while(|t| matches!(t.kind, Tok::Name | Tok::Dot));
            ours |= path.filter(|t| t.kind == Tok::Name).last().is_some_and(|last| OURS.contains(&text(last)));
            continue;
        }
        let skipped = open.last().is_some_and(|&at| frames[at].skipped);
        let def = match (kind(0), kind(1)) {
            (Some(Tok::Def), _) => Some(1),
            (Some(Tok::Async), Some(Tok::Def)) => Some(2),
            _ => None,
        };
        if def.is_some() || kind(0) == Some(Tok::Class) {
            let function = def.and_then(|at| tokens.get(at)).map(|token| text(token).to_string());
            let params = tokens.iter().skip(2).filter(|token| token.kind == Tok::Name && function.is_some());
            let own = params.map(|token| text(token).to_string()).collect();
            let skipped = skipped || ours;
            frames.push(Frame { column: line.column, function, own, outer: HashSet::new(), skipped });
            open.push(frames.len() - 1);
            ours = false;
            continue;
        }
        ours = false;
        if skipped {
            continue;
        }
        let around = || open.clone();
        // `for a, b in ...`, `with ... as c`, also of `async`.
        let loops = tokens.iter().position(|token| token.kind == Tok::For);
        if let Some(at) = loops.filter(|&at| at == 0 || kind(0) == Some(Tok::Async)) {
            for token in tokens[at..].iter().take_while(|t| t.kind != Tok::In).filter(|t| t.kind == Tok::Name) {
                found.push((name(token), Changed::Name, around()));
                own(&mut frames, &open, text(token));
            }
        }
        for pair in tokens.windows(2) {
            match (pair[0].kind, pair[1].kind) {
                (Tok::As, Tok::Name) if kind(0) == Some(Tok::With) => {
                    found.push((name(&pair[1]), Changed::Name, around()));
                    own(&mut frames, &open, text(&pair[1]));
                }
                (Tok::Name, Tok::Walrus) => {
                    found.push((name(&pair[0]), Changed::Name, around()));
                    own(&mut frames, &open, text(&pair[0]));
                }
                _ => {}
            }
        }
        match kind(0) {
            Some(Tok::Global | Tok::Nonlocal) => {
                for token in tokens[1..].iter().filter(|token| token.kind == Tok::Name) {
                    if let Some(&at) = open.last() {
                        frames[at].outer.insert(text(token).to_string());
                    }
                    found.push((name(token), Changed::Name, around()));
                }
            }
            Some(Tok::Del) if kind(2) == Some(Tok::LeftBracket) => {
                tokens.get(1).into_iter().for_each(|token| found.push((name(token), Changed::Value, around())));
            }
            Some(Tok::Name) => {
                let mut depth = 0;
                let assigns = tokens.iter().any(|token| {
                    depth += i32::from(matches!(token.kind, Tok::LeftParen | Tok::LeftBracket | Tok::LeftBrace));
                    depth -= i32::from(matches!(token.kind, Tok::RightParen | Tok::RightBracket | Tok::RightBrace));
                    depth == 0 && token.kind.assigns()
                });
                match (kind(1), kind(2), kind(3)) {
                    // `globals()["NAME"] = ...`
                    (Some(Tok::LeftParen), Some(Tok::RightParen), Some(Tok::LeftBracket))
                        if text(&tokens[0]) == "globals" && kind(4) == Some(Tok::Str) =>
                    {
                        let mut named = name(&tokens[4]);
                        named.text = named.text.trim_matches(['"', '\'']).to_string();
                        found.push((named, Changed::Name, Vec::new()));
                    }
                    (Some(Tok::LeftParen), Some(Tok::Name), Some(Tok::Comma)) if text(&tokens[0]) == "setattr" => {
                        let member = tokens.get(4).filter(|token| token.kind == Tok::Str);
                        let what = match member.map(|token| text(token).trim_matches(['"', '\'']).to_string()) {
                            Some(member) => Changed::Member(member),
                            None => Changed::Value,
                        };
                        found.push((name(&tokens[2]), what, around()));
                    }
                    (Some(Tok::Dot), Some(Tok::Name), Some(Tok::LeftParen)) if CHANGING.contains(&text(&tokens[2])) => {
                        found.push((name(&tokens[0]), Changed::Value, around()));
                    }
                    (Some(Tok::Dot), Some(Tok::Name), _) if assigns => {
                        found.push((name(&tokens[0]), Changed::Member(text(&tokens[2]).to_string()), around()));
                    }
                    (Some(Tok::LeftBracket), ..) if assigns => {
                        found.push((name(&tokens[0]), Changed::Value, around()));
                    }
                    _ if assigns => {
                        let targets = tokens.iter().take_while(|token| !token.kind.assigns());
                        targets
                            .filter(|token| token.kind == Tok::Name)
                            .for_each(|token| own(&mut frames, &open, text(token)));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let owner = |name: &Name, around: &[usize]| {
        let frames = around.iter().rev().map(|&at| &frames[at]).filter(|frame| frame.function.is_some());
        let mut own = frames.filter(|frame| frame.own.contains(&name.text) && !frame.outer.contains(&name.text));
        own.next().and_then(|frame| frame.function.clone())
    };
    found.into_iter().map(|(name, what, around)| Change { owner: owner(&name, &around), name, what }).collect()
}

/// Notes a variable of the innermost function.
fn own(frames: &mut [Frame], open: &[usize], name: &str) {
    if let Some(&at) = open.last() {
        frames[at].own.insert(name.to_string());
    }
}
