//! Are the words of pages spelt right? `aspell` asks, with British spelling; names and words of the
//! field are in scripts/site/words.txt, to which `KC_BLESS=1 cargo test --test site spelling` adds.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::{pages, root};

/// The words of prose and tables: no code, no addresses.
fn words(text: &str, into: &mut BTreeSet<String>) {
    let mut fenced = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fenced || fence {
            continue;
        }
        let mut line: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        for (start, end) in [("](", ')'), ("<", '>'), ("http", ' ')] {
            while let Some(at) = line.find(start) {
                let to = line[at..].find(end).map_or(line.len(), |to| at + to + 1);
                line.replace_range(at..to, " ");
            }
        }
        let parts = line.split(|c: char| !c.is_ascii_alphabetic() && c != '\'');
        into.extend(parts.map(|word| word.trim_matches('\'').to_string()).filter(|word| word.len() > 1));
    }
}

/// Where there is no aspell it says that it was left out.
#[test]
fn words_are_in_the_dictionary() {
    let start = Command::new("aspell")
        .args(["list", "--lang=en_GB", "--encoding=utf-8"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut aspell) = start else { return eprintln!("left out: no aspell, which `scripts/setup.sh test` installs") };
    let top = ["README.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"];
    let mut all: Vec<String> = top.iter().map(|name| format!("../{name}")).collect();
    pages(&root().join("docs"), &mut all);
    // They are the words of the compiler and of its library.
    all.retain(|page| page != "builtins.md" && page != "codes.md");
    let mut found = BTreeSet::new();
    for page in &all {
        words(&std::fs::read_to_string(root().join("docs").join(page)).expect("a page"), &mut found);
    }
    assert!(found.len() > 1500, "{} words", found.len());
    let text = found.into_iter().collect::<Vec<_>>().join("\n");
    aspell.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("aspell reads");
    let said = aspell.wait_with_output().expect("aspell ends");
    assert!(said.status.success(), "aspell failed: is aspell-en there?");
    let unknown: BTreeSet<String> = String::from_utf8_lossy(&said.stdout).lines().map(str::to_string).collect();
    let path = root().join("scripts/site/words.txt");
    let known: BTreeSet<String> =
        std::fs::read_to_string(&path).unwrap_or_default().lines().map(str::to_string).collect();
    let new: Vec<&String> = unknown.difference(&known).collect();
    if std::env::var_os("KC_BLESS").is_some() {
        let both: Vec<&str> = known.union(&unknown).map(String::as_str).collect();
        std::fs::write(path, both.join("\n") + "\n").expect("a list that can be written");
    } else {
        assert!(new.is_empty(), "misspelt, or words for scripts/site/words.txt: {new:?}");
    }
}
