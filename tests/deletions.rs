//! A person leaves out one token. For every token of the kernels in the examples: at most two
//! errors, and no panic. One token in five unless `KC_TESTS=all`.

#[path = "common/sample.rs"]
mod sample;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kc::diag::Level;
use kc::driver::{Compiler, Disk};

/// The most errors that one slip may cause: the slip, and one thing that it hides.
const MOST: usize = 2;

/// The tokens of a text from an offset on, without comments and strings.
fn tokens(text: &str, from: usize) -> Vec<Range<usize>> {
    const PAIRS: [&str; 12] = ["**", "//", "->", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=", "*="];
    let mut found = Vec::new();
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = |more: fn(char) -> bool| rest.find(|c: char| !more(c)).unwrap_or(rest.len());
        let length = if let Some(inside) = rest.strip_prefix("\"\"\"") {
            at += inside.find("\"\"\"").map_or(rest.len(), |end| end + 6);
            continue;
        } else if c == '"' || c == '\'' {
            at += rest[1..].find(c).map_or(rest.len(), |end| end + 2);
            continue;
        } else if c == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_alphabetic() || c == '_' {
            run(|c| c.is_alphanumeric() || c == '_')
        } else if c.is_ascii_digit() {
            run(|c| c.is_ascii_alphanumeric() || c == '.')
        } else if PAIRS.iter().any(|pair| rest.starts_with(pair)) {
            2
        } else {
            c.len_utf8()
        };
        found.push(at..at + length);
        at += length;
    }
    found
}

fn look(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a text");
    let start = text.find("@wp.").expect("a kernel");
    let mut faults = Vec::new();
    for token in sample::sampled(tokens(&text, start), 5) {
        let shorter = format!("{}{}", &text[..token.start], &text[token.end..]);
        let (analysis, _) = Compiler::new().analyse(path, shorter, Arc::new(Disk));
        let errors: Vec<_> = analysis.diagnostics.iter().filter(|d| d.level == Level::Error).collect();
        if errors.len() > MOST {
            let line = text[..token.start].matches('\n').count() + 1;
            let list: Vec<&str> = errors.iter().map(|d| d.message.as_str()).collect();
            faults.push(format!("{}:{line} without `{}`: {list:?}", path.display(), &text[token.clone()]));
        }
    }
    faults
}

#[test]
fn one_token_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path());
    let files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "py")).collect();
    assert!(files.len() > 5);
    let faults: Vec<String> = std::thread::scope(|scope| {
        let start = |path| std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, move || look(path));
        let threads: Vec<_> = files.iter().map(|path| start(path).expect("a thread")).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(faults.is_empty(), "{} slips give more than {MOST} errors:\n{}", faults.len(), faults.join("\n"));
}
