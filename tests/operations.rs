//! How many matches over the operations of the IR have an arm for all others? A new operation
//! compiles there without anybody having asked what it is. The number may only fall.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Those of today. Lower it with each that is gone; the aim is 40, each with a reason beside it.
const MOST: usize = 154;

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

/// Whether a pattern names an operation.
fn names_operation(pattern: &[TokenTree]) -> bool {
    pattern.windows(3).any(|three| match three {
        [TokenTree::Ident(name), TokenTree::Punct(a), TokenTree::Punct(b)] => {
            name == "Op" && a.as_char() == ':' && b.as_char() == ':'
        }
        _ => false,
    })
}

/// The matches over operations that have an arm `_`.
fn count(tokens: TokenStream, found: &mut usize) {
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
            let rest = |pattern: &[TokenTree]| matches!(pattern, [TokenTree::Ident(name)] if name == "_");
            if arms.iter().any(|arm| names_operation(arm)) && arms.iter().any(|arm| rest(arm)) {
                *found += 1;
            }
        }
        if let TokenTree::Group(group) = token {
            count(group.stream(), found);
        }
    }
}

fn counted(text: &str) -> usize {
    let mut found = 0;
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    count(code.parse().unwrap_or_else(|error| panic!("{error}")), &mut found);
    found
}

#[test]
fn no_new_match_forgets_operations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    visit(&root.join("src"), &mut files);
    let mut total = 0;
    let mut by_file = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        if path.ends_with("tests.rs") || path.contains("/tests/") || OTHERS.iter().any(|other| path.starts_with(other))
        {
            continue;
        }
        let here = counted(&std::fs::read_to_string(&file).expect("a readable text"));
        total += here;
        by_file.extend((here > 0).then(|| format!("{path}: {here}")));
    }
    assert_eq!(total, MOST, "a match over `Op` lists all operations that it does not treat:\n{}", by_file.join("\n"));
}

#[test]
fn an_arm_for_all_others_is_counted() {
    let code = "fn f(op: &Op) -> u32 { match op { Op::Zero => { 0 } Op::Call(a, b) => g(a, b), _ => 1 } }
                fn g(op: &Op) -> u32 { match op { Op::Zero | Op::Barrier => 0, Op::Fma(..) => match 1 { _ => 2 } } }
                fn h(op: AtomicOp) -> u32 { match op { AtomicOp::Add => 0, _ => 1 } }";
    assert_eq!(counted(code), 1);
}
