use std::collections::{HashMap, HashSet};

use super::library::{Kind, companions};
use super::{families, find, sample};
use crate::dataset::artefacts;
use crate::dataset::natural::{KINDS, Looks, table};
use crate::dataset::plan::Given;
use crate::dataset::splits::SPLITS;
use crate::dataset::{identity, record, verify};
use crate::diag::Diagnostics;
use crate::driver::{Compiler, Timings};
use crate::source::FileId;
use crate::syntax;

#[test]
fn entries_say_what_they_are() {
    let mut names = HashSet::new();
    for family in families().iter().chain(companions()) {
        let name = family.name;
        assert!(names.insert(name), "{name} is there twice");
        assert!(!family.source.is_empty() && !family.task.is_empty(), "{name} has no source or no task");
        assert!(family.functions.iter().any(|function| function.kind == Kind::Reference), "{name} has no reference");
        for role in family.roles.iter().filter(|role| !role.content.starts_with("attach")) {
            assert!(!role.about.is_empty(), "{name}: `{}` means nothing", role.name);
        }
        for function in family.functions.iter().filter(|function| function.kind == Kind::Kernel) {
            assert!(!function.tags.is_empty(), "{name}: `{}` is of no kind", function.name);
            for tag in &function.tags {
                assert!(KINDS.iter().any(|(kind, _)| kind == tag), "{name}: there is no kind `{tag}`");
            }
        }
        for (kernel, _) in &family.run {
            assert!(family.functions.iter().any(|function| function.name == *kernel), "{name} runs `{kernel}`");
        }
    }
    assert!(families().len() >= 80 && find("axpy").is_some() && find("axpi").is_none());
}

/// Every algorithm passes all checks: its kernels, its gradients where there are some, and its
/// reference; and the numbers that a row shows are such that every output changes. One family in
/// twelve is looked at; `KC_TESTS=all` looks at all, `KC_FAMILY` names some.
#[test]
fn every_family_computes_what_its_reference_does() {
    let compiler = Compiler::new();
    let wanted = std::env::var("KC_FAMILY").ok();
    let whole = wanted.is_some() || std::env::var("KC_TESTS").is_ok_and(|which| which == "all");
    let mut wrong = Vec::new();
    for family in families()
        .iter()
        .step_by(if whole { 1 } else { 12 })
        .filter(|family| wanted.as_ref().is_none_or(|list| list.split(',').any(|name| name == family.name)))
    {
        let mut causes = Vec::new();
        let mut changes = false;
        let passes = |number: &u64| {
            let plan = sample(5, *number, &[family]).plan;
            let mut names: Vec<&str> = plan.steps.iter().map(|step| step.kernel.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let timings = &mut Timings::default();
            let made = artefacts::compile(&plan.text, None, &names, true, true, &compiler, timings)
                .and_then(|compiled| Ok((verify::verify(&plan, None, &compiled, 1, timings)?, compiled)));
            match made {
                Ok((checked, compiled)) => {
                    let example = checked.example(&plan, &compiled);
                    let mut kept = example.inputs.iter().filter(|tensor| plan.expected.contains(&tensor.name));
                    changes |= !kept.any(|before| {
                        example.outputs.iter().any(|after| after.name == before.name && after.data == before.data)
                    });
                    checked.verdict.reference_error.is_some()
                }
                Err(rejection) => {
                    causes.push(rejection);
                    false
                }
            }
        };
        if (0..4u64).filter(passes).count() < 3 {
            wrong.push(format!("{}: {causes:#?}", family.name));
        }
        // It counts the values out of bounds, and there is none.
        if !changes && family.name != "monte_carlo_volume" {
            wrong.push(format!("{}: each time the small launch leaves an output as it was", family.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A reference that computes something else is found out.
#[test]
fn a_wrong_reference_is_refused() {
    let compiler = Compiler::new();
    let family = find("axpy").expect("a family");
    let mut plan = sample(5, 0, &[family]).plan;
    assert!(plan.reference_text.contains(" + "), "{}", plan.reference_text);
    plan.reference_text = plan.reference_text.replacen(" + ", " - ", 1);
    let names: Vec<String> = plan.steps.iter().map(|step| step.kernel.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let timings = &mut Timings::default();
    let compiled = artefacts::compile(&plan.text, None, &names, false, true, &compiler, timings).expect("a program");
    let refused = verify::verify(&plan, None, &compiled, 1, timings).err().expect("another result");
    assert_eq!(refused.cause, "reference differs");
}

#[test]
fn programs_read_as_if_people_had_written_them() {
    let all: Vec<_> = families().iter().collect();
    let mut long = 0;
    let (mut looks, mut kinds) = (Vec::new(), std::collections::BTreeMap::new());
    for number in 0..600 {
        let made = sample(0, number, &all);
        let text = &made.plan.text;
        assert_eq!(*text, sample(0, number, &all).plan.text, "the same again");
        for mark in ["{{", "}}", "#?", "#|", "#.", " let ", " guard ", " require ", "\t", " \n", "\n\n\n\n"] {
            assert!(!text.contains(mark), "{mark:?} in\n{text}");
        }
        long += usize::from(text.lines().any(|line| line.len() > 100));
        let meaning = made.meaning;
        for task in &meaning.tasks {
            assert!(task.starts_with(char::is_uppercase) && !task.contains("  ") && !task.contains(".."), "{task}");
            let words: Vec<&str> = task.split_whitespace().collect();
            assert!(words.windows(2).all(|two| two[0] != two[1] || two[0] == "-"), "{task}");
        }
        assert!(meaning.tasks[0].len() < meaning.tasks[1].len() && meaning.tasks[1].len() < meaning.tasks[2].len());
        for kind in meaning.kinds {
            *kinds.entry(kind.to_string()).or_default() += 1;
        }
        let mut findings = Diagnostics::new();
        let parsed = syntax::parse(FileId(0), text, &mut findings);
        assert!(findings.is_empty() && identity::of_parsed(&parsed).is_some(), "{text}");
        looks.push(Looks::of(text, &parsed));
    }
    assert!(long <= 12, "{long} of 600 programs have a line of more than 100 columns");
    let found = table(looks.iter(), &kinds, 600);
    let share = |name: &str| found["percent"][name]["rows"].as_f64().unwrap_or(f64::NAN);
    for (name, low, high) in [
        ("operators as calls", 0.0, 2.0),
        ("unused parameter", 0.0, 4.0),
        ("line over 120 columns", 0.0, 2.0),
        ("three-decimal constant", 0.0, 2.0),
        ("transcendental inside transcendental", 0.0, 1.0),
        ("two signs of meaninglessness", 0.0, 5.0),
        ("any comment", 55.0, 80.0),
        ("docstring", 55.0, 80.0),
        ("in-place array", 14.0, 21.0),
        ("index from memory or arithmetic", 58.0, 85.0),
        ("loop bound from parameter or memory", 24.0, 45.0),
        ("launch code", 75.0, 100.0),
        ("several kernels", 50.0, 100.0),
    ] {
        assert!((low..=high).contains(&share(name)), "{name}: {found:#}");
    }
    assert!(found["kinds_of_80"].as_u64() >= Some(68), "{found:#}");
    assert!(found["kinds_variation"].as_f64().is_some_and(|x| x <= 0.25), "{found:#}");
}

/// Programs of two splits have no kernel in common, whatever they call things.
#[test]
fn splits_share_no_kernel() {
    let all: Vec<_> = families().iter().collect();
    let mut owners = HashMap::new();
    let mut shares: HashMap<&str, usize> = HashMap::new();
    let mut shared = HashSet::new();
    for number in 0..1500 {
        let made = sample(3, number, &all);
        let meaning = made.meaning;
        let parsed = syntax::parse(FileId(0), &made.plan.text, &mut Diagnostics::new());
        for kernel in identity::kernels_of(&parsed) {
            let (owner, first) = *owners.entry(identity::body(kernel)).or_insert((meaning.split, meaning.family));
            if owner != meaning.split {
                shared.insert((first, meaning.family, kernel.name.text.clone()));
            }
        }
        *shares.entry(meaning.split).or_default() += 1;
    }
    assert!(shared.is_empty(), "{shared:#?}");
    let share = |split: &str| shares[split] as f64 / 1500.0;
    for (split, low, high) in [("train", 0.78, 0.88), ("validation", 0.03, 0.08), ("test", 0.1, 0.18)] {
        assert!((low..high).contains(&share(split)), "{shares:?}");
    }
    let splits = families().iter().chain(companions()).map(|family| family.split);
    assert!(splits.collect::<HashSet<_>>().iter().all(|split| SPLITS.contains(split)));
}

/// What models are measured with: many algorithms, from most subjects.
#[test]
fn the_test_split_has_many_algorithms() {
    let kept: Vec<_> = families().iter().filter(|family| family.split == "test").collect();
    let subjects: HashSet<&str> = kept.iter().map(|family| family.subject).collect();
    assert!(kept.len() >= 30 && subjects.len() >= 15, "{} of {subjects:?}", kept.len());
}

/// Each difficulty has about a fifth of the programs, in each set of a thousand.
#[test]
fn difficulties_are_fifths() {
    let all: Vec<_> = families().iter().collect();
    let score = |number| {
        let parsed = syntax::parse(FileId(0), &sample(11, number, &all).plan.text, &mut Diagnostics::new());
        record::complexity_score(&identity::of_parsed(&parsed).expect("a kernel"))
    };
    let mut scores: Vec<f64> = (0..1000).map(score).collect();
    scores.sort_unstable_by(f64::total_cmp);
    let ends: Vec<f64> = (1..5).map(|n| scores[200 * n]).collect();
    for level in 1..=5 {
        let count = scores.iter().filter(|score| record::difficulty(**score) == level).count();
        assert!((160..=240).contains(&count), "{count} of 1000 have difficulty {level}; fifths end at {ends:?}");
    }
}

/// Three programs of ten are more than one function that does everything once; what steps through
/// time is checked so.
#[test]
fn host_programs_take_forms() {
    let all: Vec<_> = families().iter().collect();
    let mut forms: HashMap<&str, usize> = HashMap::new();
    for number in 0..600 {
        let made = sample(7, number, &all);
        let text = &made.plan.text;
        let marks = [
            "argparse",
            "    num_steps = 3\n    for _ in range(num_steps):",
            "sim.step()",
            "wp.ScopedCapture",
            "tape.backward(",
            "def main",
        ];
        let mark = marks.into_iter().find(|mark| text.contains(mark)).expect("a main");
        *forms.entry(mark).or_default() += 1;
        let (steps, launches) = (made.plan.steps.len(), text.matches("wp.launch").count());
        let times = if mark.contains("num_steps") { 3 } else { 1 };
        assert_eq!(steps, times * launches, "{text}");
        let broken = text.lines().find(|line| line.contains("description=") && line.matches('"').count() != 2);
        assert_eq!(broken, None, "{text}");
    }
    let plain = forms.remove("def main").unwrap_or(0);
    assert!(plain <= 420 && forms.len() == 5 && forms.values().all(|count| *count >= 6), "{plain} {forms:?}");
}

/// A kernel that another one was put in says of both what they do.
#[test]
fn joined_kernels_say_what_both_do() {
    let all: Vec<_> = families().iter().collect();
    let mut texts = (0..1500).map(|number| sample(1, number, &all).plan.text);
    // Some people write no docstrings.
    let says_both = |text: &String| {
        ["_and_sum_total", "_and_find_", "_and_sum_squares"].iter().any(|name| text.contains(name))
            && text.contains(" Then ")
    };
    let text = texts.find(says_both).expect("a program has a kernel that is joined with another one, and a docstring");
    assert!(!text.contains("def sum_total("), "{text}");
}

/// Launches of one kernel may differ in a number.
#[test]
fn launches_pass_their_own_numbers() {
    let plan = sample(1, 0, &[find("hillis_steele_scan").expect("a family")]).plan;
    let strides: Vec<Option<i64>> = plan
        .steps
        .iter()
        .map(|step| {
            step.params.iter().find_map(|param| match param.given {
                Given::Int(n) => Some(n),
                _ => None,
            })
        })
        .collect();
    assert_eq!(strides, (0..9).map(|n| Some(1 << n)).collect::<Vec<_>>());
    assert!(!plan.text.contains("stride = "), "{}", plan.text);
}

/// Texts in other languages have the names of their programs, and not those of the library.
#[test]
fn translations_have_the_names_of_their_programs() {
    let mut told = 0;
    for family in families() {
        let Some(texts) = super::library::translations(family.name) else { continue };
        assert_eq!(texts.len(), 3, "{}", family.name);
        let (mut has, mut renamed) = (false, false);
        for number in 0..12 {
            let made = sample(5, number, &[family]);
            let [torch, triton, numba] = made.meaning.translations.as_slice() else { continue };
            assert!(torch.contains("class Model") && triton.contains("@triton.jit") && numba.contains("@cuda.jit"));
            (has, renamed) = (true, renamed || torch != texts[0]);
            for param in made.plan.steps.iter().flat_map(|step| &step.params) {
                let is_array = matches!(param.given, Given::Array { .. });
                assert!(
                    !is_array || super::code::mentions(&numba.replace('\n', " "), &param.name),
                    "{numba}\n{}",
                    param.name
                );
            }
        }
        assert!(has, "{}: no program has its translations", family.name);
        told += usize::from(renamed);
    }
    assert!(told >= 12, "{told} families have a translation in other names");
}

/// As in real code, some six programs of a hundred ask a mesh, a hash grid or the like; launches
/// before may write what it is made of, and it is built again then.
#[test]
fn engines_follow_their_arrays() {
    let all: Vec<_> = families().iter().collect();
    let asks = |plan: &crate::dataset::plan::Plan| {
        let params = plan.steps.iter().flat_map(|step| &step.params);
        params.into_iter().any(|param| matches!(param.given, Given::Engine { .. }))
    };
    let count = (0..1000).filter(|&number| asks(&sample(3, number, &all).plan)).count();
    assert!((45..=80).contains(&count), "{count} of 1000 programs ask an engine");
    for (name, mark) in [("box_tree_broad_phase", ".refit()"), ("hash_grid_grains", ".build(")] {
        let family = find(name).expect("a family");
        let texts: Vec<String> = (0..24).map(|number| sample(5, number, &[family]).plan.text).collect();
        for text in &texts {
            // Kernels are launched in turn: one that writes the arrays, and one that asks.
            let lines = || text.lines().map(str::trim);
            let launched = lines().filter(|line| line.starts_with("wp.launch(")).count();
            let mut between = lines().skip_while(|line| !line.starts_with("wp.launch("));
            let repeats = text.contains("for _ in range(num_steps)");
            let follows = match name {
                "hash_grid_grains" => {
                    !repeats || lines().skip_while(|l| !l.starts_with("for _")).nth(1).is_some_and(|l| l.contains(mark))
                }
                _ => between.any(|line| line.contains(mark)),
            };
            assert!(launched >= 2 && follows, "{text}");
        }
        assert!(name != "hash_grid_grains" || texts.iter().any(|text| text.contains("num_steps")), "none repeats");
    }
}
