use std::collections::BTreeSet;

use super::super::plan::Step;
use super::super::repair::sites::{self, Sites};
use super::super::{families, splits};
use super::slowings::slowings;
use super::*;

/// The kinds of changes that a kernel has, and the text that the last one of a kind gives.
fn changed(body: &str, dim: &str, kind: &str) -> (Vec<&'static str>, String) {
    let text = format!(
        "import warp as wp\n\n\n@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array2d(dtype=float), n: int):\n{body}\n\n\ndef main():\n    wp.launch(k, dim={dim}, inputs=[a, b, n])\n"
    );
    let parsed = sites::parse(&text);
    let step = Step { kernel: "k".to_string(), dims: Vec::new(), block: None, params: Vec::new(), bound: Vec::new() };
    let list = slowings(&Sites::new(&text, &parsed), &Default::default(), &step).list;
    let kinds = list.iter().map(|change| change.kind).collect();
    let slow = list.iter().find(|change| change.kind == kind).and_then(|change| change.apply(&text));
    (kinds, slow.unwrap_or_default())
}

#[test]
fn axes_are_swapped_in_the_kernel_and_in_its_launch() {
    let (_, slow) = changed("    i, j = wp.tid()\n    b[i, j] = a[j]", "(n, 2 * n)", "coalesce-axes");
    assert!(slow.contains("j, i = wp.tid()") && slow.contains("dim=(2 * n, n)"), "{slow}");
}

#[test]
fn sums_go_to_the_array() {
    let body = "    i = wp.tid()\n    s = float(0.0)\n    for k in range(n):\n        s += b[i, k] * 2.0\n    a[i] = s";
    let (_, slow) = changed(body, "n", "accumulate-in-register");
    let wanted = "    a[i] = float(0.0)\n    for k in range(n):\n        a[i] = a[i] + (b[i, k] * 2.0)\n\n";
    assert!(slow.contains(wanted), "{slow}");
    // One that is read elsewhere stays, and one whose array is read.
    for more in ["    b[i, 0] = s\n", "    a[0] = 1.0\n"] {
        let (kinds, _) = changed(&body.replace("    a[i] = s", &format!("{more}    a[i] = s")), "n", "");
        assert_eq!(kinds, [""; 0], "{more}");
    }
}

#[test]
fn atomics_go_into_the_loop() {
    let body = "    i = wp.tid()\n    s = float(0.0)\n    for k in range(n):\n        s += b[i, k]\n    wp.atomic_add(a, 0, s)";
    let (_, slow) = changed(body, "n", "aggregate-atomics");
    assert!(slow.contains("    for k in range(n):\n        wp.atomic_add(a, 0, b[i, k])\n"), "{slow}");
    assert!(!slow.contains("s = float"), "{slow}");
}

#[test]
fn loads_go_into_the_loop() {
    let body = "    i = wp.tid()\n    x = a[i]\n    for k in range(n):\n        b[i, k] = x + float(k)";
    let (_, slow) = changed(body, "n", "load-once");
    assert!(slow.contains("b[i, k] = a[i] + float(k)") && !slow.contains("x = a[i]"), "{slow}");
    // The array is stored to, or the index changes.
    for (from, to) in [("b[i, k] =", "a[i] ="), ("for k in range(n):\n", "for k in range(n):\n        i = k\n")] {
        let (kinds, _) = changed(&body.replace(from, to), "n", "");
        assert!(!kinds.contains(&"load-once"), "{to}");
    }
}

/// Rows of the library: the counters of each version fall, and the last one is the program.
#[test]
fn programs_of_the_library_become_faster() {
    let names = ["heat_explicit", "quaternion_integration", "closest_segment_point", "cg_step"];
    let (options, compiler) = (super::super::tests::options(1), Compiler::default());
    let mut kinds = BTreeSet::new();
    for (number, name) in (0..4).flat_map(|number| names.map(|name| (number, name))) {
        let sample = families::sample(5, number, &[families::find(name).expect(name)]);
        let Some(row) = make(&sample, number, &options, &compiler) else { continue };
        let numbers = |column: &str| -> Vec<u64> {
            let cells = row.get(column).list().iter();
            cells.map(|cell| if let Cell::Int(n) = cell { *n } else { panic!("{cell:?}") }).collect()
        };
        assert_eq!(row.get("fast_source").text(), sample.plan.text);
        assert_eq!(row.get("versions[].source").list().last().map(Cell::text), Some(sample.plan.text.as_str()));
        assert!(matches!(row.get("gain.factor"), Cell::Float(factor) if *factor >= GAIN));
        let threads = numbers("versions[].threads");
        assert!(threads.last().is_some_and(|n| *n >= 4096), "{threads:?}");
        for column in ["versions[].warp_insts", "versions[].sectors"] {
            let list = numbers(column);
            assert!(list.windows(2).all(|pair| pair[0] as f64 >= 0.9 * pair[1] as f64), "{column}: {list:?}");
        }
        assert_eq!(row.get("messages[].role").list().len(), 2 * (threads.len() - 1));
        kinds.extend(row.get("changes").list().iter().map(|kind| kind.text().to_string()));
    }
    let wanted = ["accumulate-in-register", "coalesce-axes", "load-once", "thread-per-element"];
    assert!(wanted.iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
}

/// Each ladder, in two persons' words: every version leaves what its reference computes, on the
/// host, on the interpreter and on the simulator, and gains.
#[test]
fn ladders_are_right_and_gain() {
    let (options, compiler) = (super::super::tests::options(1), Compiler::default());
    let wanted = std::env::var("KC_FAMILY").ok();
    let mut kinds = BTreeSet::new();
    let mut wrong = Vec::new();
    for ladder in families::ladders().iter().filter(|one| wanted.as_ref().is_none_or(|name| name == one.family.name)) {
        for number in 0..2 {
            match ladder::versions(ladder, 7, number, &options, &compiler) {
                Ok(versions) => {
                    assert!(versions[0].change.is_none() && versions.len() > 1, "{}", ladder.family.name);
                    let threads = versions.iter().map(|version| version.counted.perf.threads).max().unwrap_or_default();
                    assert!(threads >= 4096, "{}: {threads} threads", ladder.family.name);
                    kinds.extend(versions.iter().filter_map(|version| version.change.as_ref()).map(|one| one.kind));
                    if wanted.is_some() {
                        versions
                            .iter()
                            .for_each(|version| println!("{}\n{}", version.text, talk::counters("k", version)));
                    }
                }
                Err(message) => wrong.push(format!("{}: {message}", ladder.family.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for kind in ["tile-in-shared-memory", "sums-private-to-a-block", "fuse-kernels", "half-storage", "coalesce-axes"] {
        assert!(wanted.is_some() || kinds.contains(kind), "{kinds:?}");
    }
}

/// No version of a ladder has a kernel that programs of another split have, and all families that
/// it goes with are of its split.
#[test]
fn ladders_keep_to_their_split() {
    let keys = |text: &str| splits::keys(&sites::parse(text));
    let mut owners = std::collections::BTreeMap::new();
    for family in families::families() {
        for number in 0..3 {
            for key in keys(&families::sample(5, number, &[family]).plan.text) {
                owners.entry(key).or_insert((family.split, family.name));
            }
        }
    }
    let (mut met, mut wrong) = (0, BTreeSet::new());
    for ladder in families::ladders() {
        for with in &ladder.with {
            let split = families::find(with).map(|family| family.split);
            assert_eq!(split, Some(ladder.family.split), "{} with {with}", ladder.family.name);
        }
        for rung in (0..3).flat_map(|number| families::versions(5, number, ladder)) {
            for key in keys(&rung.plan.text) {
                if let Some((split, family)) = owners.get(&key) {
                    met += 1;
                    if *split != ladder.family.split {
                        wrong.insert(format!("{}: {} has a kernel of {family}", ladder.family.name, rung.change));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(met > 0, "no kernel of a ladder is one of a program: the keys are others");
}
