//! How many matches over the operations of the IR have an arm for all others, and does each say
//! why? A new operation compiles there without anybody having asked what it is. The number may only
//! fall. A match that need not know each operation asks a property of it, or ends in groups of
//! `src/ir/groups.rs`.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Those of today. Lower it with each that is gone.
const MOST: usize = 40;

/// Folders whose `Op` is another type: the simulator's instructions.
const OTHERS: &[&str] = &["src/sim"];

fn visit(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a readable folder").path();
        match path.is_dir() {
            true => visit(&path, found),
            false => found.extend(path.extension().is_some_and(|e| e == "rs").then_some(path)),
        }
    }
}

/// The patterns of the arms in the braces of a `match`.
fn patterns(arms: TokenStream) -> Vec<Vec<TokenTree>> {
    let is = |token: Option<&TokenTree>, mark: char| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == mark);
    let tokens: Vec<TokenTree> = arms.into_iter().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let start = at;
        while at < tokens.len() && !(is(tokens.get(at), '=') && is(tokens.get(at + 1), '>')) {
            at += 1;
        }
        found.push(tokens[start..at].to_vec());
        at += 2;
        match tokens.get(at) {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace && is(tokens.get(at + 1), ',') => {
                at += 2;
            }
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => at += 1,
            _ => {
                while at < tokens.len() && !is(tokens.get(at), ',') {
                    at += 1;
                }
                at += 1;
            }
        }
    }
    found
}

/// What stands before the guard of an arm.
fn unguarded(arm: &[TokenTree]) -> &[TokenTree] {
    let guard = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "if");
    &arm[..arm.iter().position(guard).unwrap_or(arm.len())]
}

/// Whether a pattern names an operation, itself or in its parts.
fn names_operation(pattern: &[TokenTree]) -> bool {
    let here = pattern.windows(3).any(|three| match three {
        [TokenTree::Ident(name), TokenTree::Punct(a), TokenTree::Punct(b)] => {
            name == "Op" && a.as_char() == ':' && b.as_char() == ':'
        }
        _ => false,
    });
    here || pattern.iter().any(|token| match token {
        TokenTree::Group(group) => names_operation(&group.stream().into_iter().collect::<Vec<_>>()),
        _ => false,
    })
}

/// Whether a pattern takes whatever is left: `_`, `op`, `Some(_)`, `(_, op)`.
fn takes_the_rest(pattern: &[TokenTree]) -> bool {
    !pattern.is_empty()
        && pattern.iter().all(|token| match token {
            TokenTree::Ident(word) if word == "true" || word == "false" => false,
            TokenTree::Ident(word) => {
                word == "Some" || word.to_string().starts_with(|c: char| c == '_' || c.is_lowercase())
            }
            TokenTree::Group(group) => takes_the_rest(&group.stream().into_iter().collect::<Vec<_>>()),
            TokenTree::Punct(mark) => matches!(mark.as_char(), ',' | '|' | '&'),
            TokenTree::Literal(_) => false,
        })
}

/// The lines of arms for the rest in matches over operations.
fn find(tokens: TokenStream, found: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Ident(word) = token
            && word == "match"
        {
            let braces = tokens[at..].iter().find_map(|token| match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
                _ => None,
            });
            let arms = braces.map_or_else(Vec::new, |group| patterns(group.stream()));
            if arms.iter().any(|arm| names_operation(unguarded(arm))) {
                let rest = arms.iter().filter(|arm| unguarded(arm).len() == arm.len() && takes_the_rest(arm));
                found.extend(rest.filter_map(|arm| Some(arm.first()?.span().start().line)));
            }
        }
        if let TokenTree::Group(group) = token {
            find(group.stream(), found);
        }
    }
}

/// An arm for the rest.
#[derive(Debug, PartialEq)]
struct Rest {
    line: usize,
    /// A comment beside it says why it fits operations that do not exist yet.
    has_reason: bool,
}

fn rests(text: &str) -> Vec<Rest> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    find(code.parse().unwrap_or_else(|error| panic!("{error}")), &mut found);
    let is_comment = |line: &str| line.trim_start().starts_with("// ");
    let has_reason = |line: usize| {
        line.checked_sub(2).is_some_and(|before| is_comment(lines[before])) || lines[line - 1].contains(" // ")
    };
    found.into_iter().map(|line| Rest { line, has_reason: has_reason(line) }).collect()
}

#[test]
fn no_new_match_forgets_operations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    visit(&root.join("src"), &mut files);
    let (mut total, mut places, mut bare) = (0, Vec::new(), Vec::new());
    for file in files {
        let path = file.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        if path.ends_with("tests.rs") || path.contains("/tests/") || OTHERS.iter().any(|other| path.starts_with(other))
        {
            continue;
        }
        for Rest { line, has_reason } in rests(&std::fs::read_to_string(&file).expect("a readable text")) {
            total += 1;
            places.push(format!("{path}:{line}"));
            if !has_reason {
                bare.push(format!("{path}:{line}"));
            }
        }
    }
    assert_eq!(total, MOST, "a match over `Op` lists all operations that it does not treat:\n{}", places.join("\n"));
    assert!(bare.is_empty(), "a comment beside the arm says why it fits every other operation:\n{}", bare.join("\n"));
}

#[test]
fn an_arm_for_all_others_is_counted() {
    let code = "fn f(op: &Op) -> u32 { match op { Op::Zero => { 0 } Op::Call(a, b) => g(a, b), _ => 1 } }
                fn g(op: &Op) -> u32 { match op { Op::Zero | Op::Barrier => 0, Op::Fma(..) => match 1 { _ => 2 } } }
                fn h(op: AtomicOp) -> u32 { match op { AtomicOp::Add => 0, _ => 1 } }
                fn i(op: Option<&Op>) -> u32 {
                    match op {
                        Some(Op::Zero) => 0,
                        // Others are one.
                        Some(other) => one(other),
                        None => 2,
                    }
                }
                fn j(op: &Op) -> u32 { match op { Op::Zero => 0, op if f(op) => 1, straight!() => 2 } }
                fn k(a: u32, op: &Op) -> u32 { match (a, op) { (0, Op::Zero) => 0, (_, op) => f(op) } }
                fn l(a: u32, op: &Op) -> u32 { match a { 0 if matches!(op, Op::Zero) => 0, _ => 1 } }";
    let found: Vec<(usize, bool)> = rests(code).into_iter().map(|rest| (rest.line, rest.has_reason)).collect();
    assert_eq!(found, [(1, false), (8, true), (13, false)]);
}
