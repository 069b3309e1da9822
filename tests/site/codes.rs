//! docs/codes.md is what `kc explain` says: a row for each code, and all that there is about the
//! warnings of gradients. `KC_BLESS=1 cargo test --test site codes` writes it anew.

use std::fmt::Write;
use std::process::Command;

use crate::{root, succeed};

/// The hundreds of codes, each with its title.
const SUBJECTS: [(&str, &str); 14] = [
    ("01", "Syntax"),
    ("02", "Names"),
    ("03", "Types and statements"),
    ("04", "Calls, built-ins and launches"),
    ("05", "Values that are known while compiling"),
    ("06", "Gradients"),
    ("07", "Races and memory"),
    ("08", "Outputs"),
    ("09", "Files"),
    ("10", "Launch files and options"),
    ("11", "Runs, the simulator and `kc gpu`"),
    ("12", "Numbers"),
    ("13", "Style"),
    ("14", "Data sets"),
];

fn explain(code: &[&str]) -> String {
    succeed(Command::new(env!("CARGO_BIN_EXE_kc")).arg("explain").args(code))
}

/// The text of a code with its title as a heading of the third level.
fn in_full(code: &str) -> String {
    let text = explain(&[code]);
    let mut fenced = false;
    let lines = text.trim_end().lines().map(|line| {
        fenced ^= line.starts_with("```");
        match line.strip_prefix("# ") {
            Some(title) if !fenced => format!("### {title}"),
            _ => line.to_string(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn page() -> String {
    let list = explain(&[]);
    let rows: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once("  ")).collect();
    let mut out = String::from(
        "# All codes\n\nEvery message has a code. E is an error, W a warning, I a remark. `kc explain CODE` tells\nmore, \
         with an example that fails and one that passes:\n\n```sh\nkc explain W0602\n```\n\n`# kc: allow(W0602) reason` \
         above a kernel, or at a line, silences a warning that is meant so. This\npage is written by `kc explain`.\n",
    );
    for (hundred, title) in SUBJECTS {
        let _ = write!(out, "\n## {title}\n\n| code | name | what it says |\n|---|---|---|\n");
        let of_it: Vec<_> = rows.iter().filter(|(code, _)| code[1..3] == *hundred).collect();
        assert!(!of_it.is_empty(), "no code begins with {hundred}");
        for (code, text) in &of_it {
            let (name, what) = text.split_once(": ").expect("a name and what it is");
            let _ = writeln!(out, "| {code} | `{name}` | {what} |");
        }
        if hundred == "06" {
            for (code, _) in of_it.iter().filter(|(code, _)| code.starts_with('W')) {
                let _ = write!(out, "\n{}\n", in_full(code));
            }
        }
    }
    let listed = out.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| code")).count();
    assert_eq!(listed, rows.len(), "a code has no section");
    out
}

#[test]
fn codes_are_those_of_kc_explain() {
    let path = root().join("docs/codes.md");
    let page = page();
    if std::env::var_os("KC_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs can be written");
    }
    let text = std::fs::read_to_string(path).unwrap_or_default();
    assert!(text == page, "KC_BLESS=1 writes docs/codes.md anew");
}
