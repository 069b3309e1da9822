//! Do the tables of passes say what the code does? Each pass is in the table of `passes/mod.rs` and
//! in one of the two of `passes/pipelines.rs`, and a row of a pipeline names what the pipeline
//! calls.

// Other tests read more of it.
#[allow(dead_code)]
#[path = "common/rust_code.rs"]
mod rust_code;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rust_code::Code;

/// Modules of `passes` that are no passes: what several of them ask or use, and the orders.
const HELPERS: &[&str] = &["algebra", "copy", "fold", "loops", "pipelines", "rebuild"];

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a readable text")
}

/// The modules of a folder that are built outside of tests.
fn modules(path: &str) -> BTreeSet<String> {
    let code = Code::of(&read(path)).text;
    let names = code.lines().filter_map(|line| {
        let line = line.trim_start_matches("pub").trim_start_matches("(super)").trim();
        line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_string)
    });
    names.collect()
}

/// The rows of the tables in a file's header: cells without the frame.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("//! | "));
    lines.map(|line| line.trim_end_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect()).collect()
}

/// The names in a cell: `dce` in [`dce`], and in [`mod@dce`] and [`dce()`].
fn names(cell: &str) -> BTreeSet<String> {
    let marked = cell.split("[`").skip(1).filter_map(|rest| rest.split_once("`]"));
    marked.map(|(name, _)| name.trim_start_matches("mod@").trim_end_matches("()").to_string()).collect()
}

/// The bodies of the public functions.
fn functions(code: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (at, word) in code.match_indices("pub fn ") {
        let rest = &code[at + word.len()..];
        let name = rest.split('(').next().unwrap_or_default().to_string();
        let start = rest.find("{\n").expect("a body");
        let end = rest[start..].find("\n}").expect("its end") + start;
        found.insert(name, rest[start..end].to_string());
    }
    found
}

/// Whether a word stands in the code, followed by `after`.
fn calls(code: &str, word: &str, after: &str) -> bool {
    let pattern = format!("{word}{after}");
    code.match_indices(&pattern).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[test]
fn a_row_names_what_its_pipeline_calls() {
    let text = read("src/passes/pipelines.rs");
    let bodies = functions(&Code::of(&text).text);
    let passes = modules("src/passes/mod.rs");
    let pipelines: BTreeSet<&String> = bodies.keys().collect();
    let mut described = BTreeSet::new();
    for row in rows(&text) {
        let [pipeline, listed, why] = &row[..] else { panic!("{row:?}") };
        let Some(name) = names(pipeline).into_iter().next().filter(|name| pipelines.contains(name)) else { continue };
        assert!(why.len() > 10, "`{name}`: why this order?");
        let body = &bodies[&name];
        let mut called: BTreeSet<String> = passes.iter().filter(|pass| calls(body, pass, "::")).cloned().collect();
        called.extend(bodies.keys().filter(|other| **other != name && calls(body, other, "(")).cloned());
        if calls(body, "round", "(") {
            called.extend(["rewrite", "dce"].map(str::to_string));
        }
        if calls(body, "select", "(") {
            called.insert("select".to_string());
        }
        assert_eq!(names(listed), called, "what `{name}` calls");
        described.insert(name);
    }
    let missing: Vec<&&String> = pipelines.iter().filter(|name| !described.contains(**name)).collect();
    assert!(missing.is_empty(), "without a row: {missing:?}");
}

#[test]
fn every_pass_is_in_both_tables() {
    let passes: BTreeSet<String> =
        modules("src/passes/mod.rs").into_iter().filter(|name| !HELPERS.contains(&name.as_str())).collect();
    assert!(passes.len() >= 22, "{passes:?}");
    let listed: BTreeSet<String> = rows(&read("src/passes/mod.rs")).iter().flat_map(|row| names(&row[0])).collect();
    let missing: Vec<&String> = passes.difference(&listed).collect();
    assert!(missing.is_empty(), "not in the table of passes/mod.rs: {missing:?}");
    let ordered: BTreeSet<String> =
        rows(&read("src/passes/pipelines.rs")).iter().flat_map(|row| names(&row[..2].concat())).collect();
    let missing: Vec<&String> = passes.difference(&ordered).collect();
    assert!(missing.is_empty(), "in no order of passes/pipelines.rs: {missing:?}");
}

#[test]
fn steps_of_block_threads_have_reasons() {
    let folder = "src/passes/block_threads";
    let text = read(&format!("{folder}/steps.rs"));
    let count = |word: &str| text.matches(word).count();
    let steps = text.lines().filter_map(|line| line.trim().strip_prefix("name: \"")?.strip_suffix("\","));
    let steps: Vec<&str> = steps.collect();
    assert!(steps.len() >= 20 && count("        why: \"") == steps.len(), "{steps:?}");
    assert_eq!(steps.iter().collect::<BTreeSet<_>>().len(), steps.len(), "each step has its own name");
    // What is asked by steps, and is none.
    const ASKED: &[&str] = &[
        "accesses",
        "banks",
        "footprint",
        "fragments",
        "liveness",
        "products",
        "rows",
        "steps",
        "tensor",
        "zero_fill",
    ];
    let table = read(&format!("{folder}/mod.rs"));
    for module in modules(&format!("{folder}/mod.rs")) {
        assert!(table.contains(&format!("//! | `{module}` |")), "`{module}` is not in the table of {folder}/mod.rs");
        let runs = calls(&Code::of(&text).text, &module, "::");
        assert!(runs || ASKED.contains(&module.as_str()), "`{module}` is no step and not among what steps ask");
    }
}
