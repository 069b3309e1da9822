use std::collections::BTreeMap;

use serde_json::Value;

use super::trial::Trial;
use super::{Class, make};
use crate::dataset::expressions::{Category, sample};
use crate::dataset::families;
use crate::dataset::sample::Sample;
use crate::dataset::{Emit, Options};
use crate::driver::Compiler;

fn options() -> Options {
    Options {
        rows: 1,
        shard_rows: 1,
        seed: 0,
        families: Vec::new(),
        emit: Emit::ALL,
        backward: true,
        from: None,
        exclude: Vec::new(),
        excluded: 0,
        mutants: 0,
        repair: true,
        optimize: false,
        ptxas: None,
        parquet: true,
        jsonl: true,
        version: "0".to_string(),
        schema: 0,
    }
}

fn samples(count: u64) -> impl Iterator<Item = (u64, Sample, String)> {
    (0..count).map(|n| {
        let sample = sample(0, n, Category::ALL);
        let text = sample.plan.text.clone();
        (n, sample, text)
    })
}

#[test]
fn all_classes_are_made_and_show() {
    let compiler = Compiler::new();
    let mut classes: BTreeMap<String, u32> = BTreeMap::new();
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let (mut made, mut in_cuda) = (0, 0);
    for (n, sample, text) in samples(49) {
        let Some(row) = make(&sample, n, &options(), &compiler) else { continue };
        assert_eq!(Some(&row), make(&sample, n, &options(), &compiler).as_ref(), "the same again");
        let row = serde_json::json!(row);
        made += 1;
        let of = |column: &str| row[column].as_str().unwrap_or_default();
        assert_eq!(of("fixed_source"), text);
        assert_ne!(of("buggy_source"), text);
        assert!(of("unified_diff").starts_with("--- a/kernel.py\n+++ b/kernel.py\n@@ "), "{row:#}");
        assert!(!of("failure").is_empty() && !of("description").is_empty(), "{row:#}");
        let codes: Vec<&str> =
            row["diagnostic_codes"].as_array().expect("codes").iter().flat_map(|c| c.as_str()).collect();
        let any = |prefix: &str| codes.iter().any(|code| code.starts_with(prefix));
        match of("bug_class") {
            "syntax" => assert!(any("E01"), "{row:#}"),
            "type" | "shape" => assert!(any("E0") && !any("E01"), "{row:#}"),
            "bounds" => assert!(any("E1101"), "{row:#}"),
            "gradient" if of("bug_kind") == "switched-off-gradient" => {
                assert!(of("failure").ends_with("has no backward entry: no array gets a gradient"), "{row:#}");
            }
            "gradient" => assert!(any("E06") || any("W06"), "{row:#}"),
            _ => assert!(row["witness_input"].is_string(), "{row:#}"),
        }
        talks(&row);
        in_cuda += u32::from(row["buggy_cuda"].is_string());
        *classes.entry(of("bug_class").to_string()).or_default() += 1;
        *kinds.entry(of("bug_kind").to_string()).or_default() += 1;
    }
    assert!(made >= 47, "{made} of 49");
    for class in Class::ALL {
        let count = classes.get(class.name()).copied().unwrap_or(0);
        assert!(count * 3 >= made / 7, "{}: {count} of {made}: {classes:?}", class.name());
    }
    assert!(kinds.len() >= 20, "{kinds:?}");
    assert!(in_cuda >= 5, "{in_cuda} of {made}");
    for gone in ["shared-index", "extra-index", "rounded-value"] {
        assert!(!kinds.contains_key(gone), "nobody makes the fault {gone}");
    }
}

/// The turns of a row: the faulty program and what is said of it, then the right one.
fn talks(row: &Value) {
    let of = |column: &str| row[column].as_str().unwrap_or_default();
    let turns = row["messages"].as_array().expect("a list");
    let said = |n: usize| turns[n]["content"].as_str().expect("a text");
    assert!(turns.len() == 2 || turns.len() == 4, "{row:#}");
    for (n, turn) in turns.iter().enumerate() {
        assert_eq!(turn["role"], ["user", "assistant"][n % 2]);
    }
    let block = |text: &str| format!("```{}\n{}\n```", of("language"), text.trim_end());
    let (buggy, fixed, failure) = match of("language") {
        "cuda" => ("buggy_cuda", "fixed_cuda", "cuda_failure"),
        _ => ("buggy_source", "fixed_source", "failure"),
    };
    let last = turns.len() - 1;
    assert!(said(last).ends_with(&block(of(fixed))), "{row:#}");
    assert!(turns.iter().any(|turn| turn["content"].as_str().is_some_and(|text| text.contains(&block(of(buggy))))));
    // kc's own words.
    let report = said(last - 1);
    assert!(report.contains(of(failure)) || report.contains(of("rendered_terminal").trim_end()), "{row:#}");
    if !row["buggy_cuda"].is_null() {
        assert!(of("cuda_diff").starts_with("--- a/kernel.cu\n+++ b/kernel.cu\n@@ "), "{row:#}");
        assert!(of("buggy_cuda").contains("__global__") && of("buggy_cuda") != of("fixed_cuda"), "{row:#}");
    }
}

#[test]
fn a_right_program_shows_no_fault() {
    for (_, sample, text) in samples(8) {
        let trial = Trial {
            plan: &sample.plan,
            step: &sample.plan.steps[0],
            seed: 1,
            compiler: &Compiler::new(),
            in_cuda: true,
        };
        for class in Class::ALL {
            assert!(trial.show(class, &text, None).is_none(), "{}: {text}", class.name());
        }
    }
}

#[test]
fn a_fault_of_another_class_is_no_fault_of_this_one() {
    let (_, sample, text) = samples(40)
        .find(|(_, s, _)| s.plan.steps[0].dims.len() == 1 && s.plan.steps[0].block.is_none())
        .expect("a program");
    let trial =
        Trial { plan: &sample.plan, step: &sample.plan.steps[0], seed: 1, compiler: &Compiler::new(), in_cuda: true };
    let broken = text.replacen("wp.tid()", "wp.tid(", 1);
    assert!(trial.show(Class::Syntax, &broken, None).is_some());
    for class in [Class::Type, Class::Shape, Class::Semantic, Class::Race, Class::Bounds, Class::Gradient] {
        assert!(trial.show(class, &broken, None).is_none(), "{}", class.name());
    }
}

/// Kernels on tiles lose a barrier in CUDA: the simulator finds the race, and one line differs.
#[test]
fn barriers_are_lost_in_cuda() {
    let compiler = Compiler::new();
    let family = families::find("tile_row_softmax").expect("a family");
    let found = (0..12).find_map(|n| {
        let sample = families::sample(3, n, &[family]);
        let row = serde_json::json!(make(&sample, n, &options(), &compiler)?);
        (row["bug_kind"] == "missing-barrier").then_some((sample, row))
    });
    let (sample, row) = found.expect("a program without a barrier");
    let of = |column: &str| row[column].as_str().unwrap_or_default();
    assert_eq!(
        (of("buggy_source"), of("fixed_source"), of("unified_diff")),
        (&*sample.plan.text, &*sample.plan.text, "")
    );
    assert_eq!((of("found_by"), of("bug_class"), of("language")), ("simulator", "race", "cuda"));
    assert!(of("failure").starts_with("E1113") || of("failure").starts_with("E1114"), "{}", of("failure"));
    let changed: Vec<&str> = of("cuda_diff").lines().skip(2).filter(|line| line.starts_with(['+', '-'])).collect();
    assert!(
        matches!(changed.as_slice(), [one] if one.trim_start_matches('+').trim() == "__syncthreads();"),
        "{changed:?}"
    );
}
