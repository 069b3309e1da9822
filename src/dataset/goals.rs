//! Does a set have what was asked of data sets? A table of numbers, each beside that of programs of
//! people where they have one, and the goal.
//!
//! *Kept*: the share of programs that stay where one goes that shares at least 0.7 of its
//! statements (Jaccard, of multisets) with one that stayed before it. A statement counts without
//! names and numbers. What takes a model or the programs of people to measure, `benches/natural.py`
//! and `benches/token_model.py` do.

use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;
use serde_json::{Value, json};

use super::diversity;
use super::identity::hash64;
use super::near::mix;
use crate::diag::Diagnostics;
use crate::source::{FileId, Span};
use crate::syntax::ast::{Item, Stmt, StmtKind};
use crate::syntax::{self, visit};

/// What the table is computed from, of each row.
pub const COLUMNS: [&str; 3] = ["python_source", "messages", "verify"];

/// Programs that are compared with each other.
const COMPARED: usize = 2_000;

/// So much of their statements two programs share that are one twice.
const ALIKE: f64 = 0.7;

/// The table of a set: of some of its rows, and of what is counted and measured of all.
pub fn table(rows: &[Value], families: usize, natural: &Value, diversity: &Value) -> Value {
    let killed: Vec<f64> = rows.iter().filter_map(|row| row["verify"]["mutants_killed"].as_f64()).collect();
    let mean = (!killed.is_empty()).then(|| killed.iter().sum::<f64>() / killed.len() as f64);
    let prompts: Vec<&str> = rows.iter().filter_map(|row| row["messages"][0]["content"].as_str()).collect();
    let distinct = prompts.iter().collect::<HashSet<_>>().len() as f64 / prompts.len().max(1) as f64;
    let sources: Vec<&str> = rows.iter().filter_map(|row| row["python_source"].as_str()).collect();
    let percent = |name: &str| natural["percent"][name]["rows"].as_f64().map(|x| x / 100.0);
    let measured = |name: &str| diversity[name].as_f64();
    let mut table = serde_json::Map::new();
    let mut line = |name: &str, set: Option<f64>, people: Option<f64>, goal: &str| {
        let set = set.map(|x| (x * 1e3).round() / 1e3);
        table.insert(name.to_string(), json!({"set": set, "people": people, "goal": goal}));
    };
    line("mutants killed, mean", mean, None, ">= 0.95");
    line("prompts distinct", Some(distinct), None, ">= 0.95");
    line("kept at 0.7", Some(kept(&sources[..sources.len().min(COMPARED)])), None, ">= 0.75");
    line("algorithms", Some(families as f64), None, ">= 250");
    line("distance of kinds", natural["kinds_variation"].as_f64(), Some(0.0), "<= 0.25");
    line("loop bound from memory", percent("loop bound from parameter or memory"), Some(0.336), ">= 0.3");
    line("index from memory", percent("index from memory or arithmetic"), Some(0.771), ">= 0.7");
    // Of all kernels in Warp's own package.
    line("built-ins", measured("builtins"), Some(242.0), ">= 120");
    line("zstd ratio", measured("zstd_ratio_200k"), Some(5.8), "<= 6.5");
    line("near duplicates", measured("near_duplicates"), Some(0.2), "<= 0.1");
    Value::Object(table)
}

/// The share of programs that stay where no two may be alike.
pub fn kept(sources: &[&str]) -> f64 {
    let programs: Vec<Statements> = sources.par_iter().map(|text| Statements::of(text)).collect();
    let mut stayed: Vec<&Statements> = Vec::new();
    for program in &programs {
        if !stayed.par_iter().any(|other| program.likeness(other) >= ALIKE) {
            stayed.push(program);
        }
    }
    stayed.len() as f64 / programs.len().max(1) as f64
}

/// The statements of a program's kernels and functions, and how often each is there.
struct Statements(BTreeMap<u64, u32>);

impl Statements {
    fn of(text: &str) -> Statements {
        let parsed = syntax::parse(FileId(0), text, &mut Diagnostics::new());
        let mut out = BTreeMap::new();
        for item in &parsed.items {
            if let Item::Function(function) = item
                && !function.decorators.is_empty()
            {
                visit::each_statement(&function.body, &mut |stmt| *out.entry(words(text, stmt)).or_default() += 1);
            }
        }
        Statements(out)
    }

    /// The share of statements that both have.
    fn likeness(&self, other: &Statements) -> f64 {
        let total = |of: &Statements| of.0.values().sum::<u32>();
        let count = |(word, times): (&u64, &u32)| other.0.get(word).map_or(0, |others| *times.min(others));
        let shared: u32 = self.0.iter().map(count).sum();
        let all = total(self) + total(other) - shared;
        f64::from(shared) / f64::from(all.max(1))
    }
}

/// A statement without its blocks, and without names and numbers.
fn words(text: &str, stmt: &Stmt) -> u64 {
    const KEPT: [&str; 19] = [
        "wp", "int", "float", "range", "if", "elif", "else", "for", "while", "and", "or", "not", "in", "return",
        "break", "continue", "min", "max", "abs",
    ];
    let at = |span: Span| text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let mut parts = Vec::new();
    if matches!(stmt.kind, StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::While { .. }) {
        // Its first word, and what is between that and the block.
        parts.push(at(stmt.span).split(' ').next().unwrap_or_default());
        visit::expressions(stmt, &mut |expr| parts.push(at(expr.span)));
    } else {
        parts.push(at(stmt.span));
    }
    let mut before = "";
    let mut hashes = Vec::new();
    for token in parts.into_iter().flat_map(diversity::tokens) {
        let is_name = token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let bare = match token {
            number if number.starts_with(|c: char| c.is_ascii_digit()) => "0",
            name if is_name && before != "." && !KEPT.contains(&name) => "_",
            word => word,
        };
        hashes.push(hash64(bare.as_bytes()));
        before = token;
    }
    mix(hashes.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: &str = "@wp.kernel\ndef add(a: wp.array(dtype=float)):\n    i = wp.tid()\n    a[i] = a[i] + 1.0\n";

    #[test]
    fn names_and_numbers_make_no_new_program() {
        let other = ADD.replace("a[i] + 1.0", "a[i] + 2.5").replace("a[", "total[").replace("a:", "total:");
        assert_eq!(kept(&[ADD, &other]), 0.5);
        let product = ADD.replace("a[i] + 1.0", "wp.sin(a[i])");
        assert_eq!(kept(&[ADD, &product]), 1.0);
        // Host code does not count.
        let host = format!("{ADD}\n\ndef main():\n    print(1)\n");
        assert_eq!(kept(&[ADD, &host]), 0.5);
    }

    #[test]
    fn goals_stand_beside_what_was_measured() {
        let row = |killed: f64, prompt: &str| json!({"python_source": ADD, "verify": {"mutants_killed": killed}, "messages": [{"content": prompt}]});
        let natural = json!({"kinds_variation": 0.2, "percent": {}});
        let table = table(&[row(1.0, "a"), row(0.5, "a")], 3, &natural, &json!({"builtins": 7}));
        assert_eq!(table["mutants killed, mean"], json!({"set": 0.75, "people": null, "goal": ">= 0.95"}));
        assert_eq!(table["prompts distinct"]["set"], json!(0.5));
        assert_eq!(table["kept at 0.7"]["set"], json!(0.5));
        assert_eq!((&table["built-ins"]["set"], &table["zstd ratio"]["set"]), (&json!(7.0), &json!(null)));
    }
}
