use std::sync::Arc;

use super::expressions::{Category, sample};
use super::record::SCHEMA;
use super::store::{Store, Writer};
use super::{Config, Emit, Options, diversity, families, identity, produce, validate};
use crate::driver::{Compilers, Timings};

pub fn options(rows: u64) -> Options {
    Options {
        rows,
        shard_rows: 4096,
        seed: 7,
        families: Vec::new(),
        emit: Emit { ptx: false, llvm: false, host: false, ..Emit::ALL },
        backward: true,
        from: None,
        exclude: Vec::new(),
        excluded: 0,
        repair: false,
        optimize: false,
        ptxas: None,
        mutants: 4,
        parquet: true,
        jsonl: true,
        version: env!("CARGO_PKG_VERSION").to_string(),
        schema: SCHEMA,
    }
}

#[test]
fn a_sample_is_its_number_alone() {
    for index in 0..50 {
        let text = |_| sample(3, index, Category::ALL).plan.text;
        assert_eq!(text(0), text(1));
    }
    let first = sample(3, 0, Category::ALL).plan.text;
    assert_ne!(first, sample(4, 0, Category::ALL).plan.text);
}

#[test]
fn programs_are_as_different_as_those_of_people() {
    let kernel = |n| diversity::Kernel::of_text(&sample(0, n, Category::ALL).plan.text);
    let kernels: Vec<Arc<diversity::Kernel>> = (0..1500).filter_map(kernel).map(Arc::new).collect();
    let mut grown = diversity::Kernels::default();
    kernels.iter().for_each(|kernel| grown.push(kernel.clone()));
    let found = diversity::measure(&diversity::Kernels::of(kernels));
    assert_eq!(diversity::measure(&grown), found, "as they come, and all together");
    let number = |name: &str| found[name].as_f64().unwrap_or(f64::NAN);
    assert_eq!(number("alpha_unique"), 1.0, "{found:#}");
    assert!(number("shape_unique") >= 0.95, "{found:#}");
    assert!(number("builtins") >= 120.0, "{found:#}");
    assert!(number("builtin_entropy_bits") >= 5.0, "{found:#}");
    assert!(number("four_gram_entropy_bits") >= 12.0, "{found:#}");
    assert!(number("near_duplicates") <= 0.05, "{found:#}");
    assert!(number("zstd_ratio_200k") <= 6.5, "{found:#}");
    assert!(number("control_depth_variation") <= 0.15, "{found:#}");
    assert!(number("functions_called") >= 0.3 && number("structs") >= 0.1 && number("while") >= 0.03, "{found:#}");
}

#[test]
fn renamed_programs_are_the_same() {
    let program =
        "import warp as wp\n\n@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    i = wp.tid()\n    a[i] = a[i] * 2.0\n";
    let of = |text: &str| identity::of_text(text).expect("a kernel");
    let renamed = of(&program.replace("a[", "x[").replace("(a:", "(x:"));
    let scaled = of(&program.replace("2.0", "3.0"));
    let other = of(&program.replace("* 2.0", "+ 2.0"));
    let first = of(program);
    assert_eq!(first.alpha, renamed.alpha);
    assert_ne!(first.alpha, scaled.alpha);
    assert_eq!(first.shape, scaled.shape);
    assert_ne!(first.shape, other.shape);
    assert_eq!(first.skeleton, other.skeleton);
}

#[test]
fn types_in_another_spelling_are_the_same() {
    let of = |array: &str, int: &str, vector: &str| {
        let text = format!(
            "import warp as wp\n\n@wp.kernel\ndef k(a: {array}):\n    s = {int}(0)\n    a[s] = {vector}(1.0, 2.0, 3.0)[s]\n"
        );
        let kernel = identity::kernel(&text).expect("a kernel");
        let identity = identity::of_kernel(&kernel);
        (identity.alpha, identity.shape, identity.first, identity::body(&kernel))
    };
    let first = of("wp.array[float]", "int", "wp.vec3");
    for array in [
        "wp.array(dtype=float)",
        "wp.array(float)",
        "wp.array(dtype=wp.float32, ndim=1)",
        "wp.array1d(dtype=float)",
        "wp.array1d[wp.float32]",
    ] {
        assert_eq!(of(array, "wp.int32", "wp.vec3f"), first, "{array}");
    }
    assert_eq!(of("wp.array(dtype=float, ndim=2)", "int", "wp.vec3"), of("wp.array2d[float]", "int", "wp.vec3"));
    for array in ["wp.array2d[float]", "wp.array[wp.float64]", "wp.indexedarray[float]"] {
        assert_ne!(of(array, "int", "wp.vec3").1, first.1, "{array}");
    }
    assert_ne!(of("wp.array[float]", "int", "wp.vec3d").1, first.1);
}

/// A run that clears what another one left takes a file from it.
#[test]
fn two_runs_in_one_directory_are_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    let store = Store::create(&set, &options(1), false).expect("an empty folder");
    std::fs::remove_dir_all(&set).expect("a folder");
    let error = store.finish(&serde_json::json!({})).expect_err("no folder");
    assert!(error.message.contains("cannot write"), "{error:?}");
    assert!(error.help.is_some_and(|help| help.contains("another `kc dataset`") && help.contains("--shard")));
}

#[test]
fn rows_are_made_again_and_damage_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { repair: true, optimize: true, ..options(6) };
    let source = produce::Source::of(&options, &Compilers::default()).expect("algorithms");
    let mut store = Store::create(folder.path(), &options, false).expect("an empty folder");
    let mut writer = Writer::new(&store, 0).expect("memory");
    let mut rows = Vec::new();
    let mut sink = |some: Vec<produce::Made>| {
        rows.extend(some.iter().cloned());
        writer.push(some)
    };
    let (seen, timings) = (&mut produce::Seen::default(), &mut Timings::default());
    let tally = produce::shard(&options, &source, 0, seen, &Compilers::default(), timings, &mut |_| {}, &mut sink)
        .expect("rows");
    writer.finish(&mut store, tally.clone()).expect("written");
    store.finish(&serde_json::json!({})).expect("written");
    let report = validate::validate(&store, 1.0, true).expect("readable");
    let of = |config: Config| -> Vec<usize> {
        (0..rows.len()).filter(|&n| rows[n].more.iter().any(|(of, _)| *of == config)).collect()
    };
    let (faulty, slow) = (of(Config::Repair), of(Config::Optimize));
    assert!(!slow.is_empty());
    let all = 6 + faulty.len() as u64 + slow.len() as u64;
    assert_eq!((report.made_again, report.faults.len()), (all, 0), "{report:?}");

    // What is measured is the same when it is read.
    let kernels = store.kernels().expect("readable");
    let read = Store::open(folder.path()).and_then(|s| s.kernels()).expect("readable");
    assert_eq!(kernels.len(), 6);
    assert_eq!(diversity::measure(&kernels), diversity::measure(&read));

    // Both formats hold the same.
    let of = |end: &str| -> Vec<serde_json::Value> {
        let found = store.entries().filter(|entry| entry.path.ends_with(end));
        found.flat_map(|entry| store.rows(entry).expect("readable")).collect()
    };
    let (lines, table) = (of(".jsonl.zst"), of(".parquet"));
    assert_eq!(lines.len(), table.len());
    for (line, row) in lines.iter().zip(&table) {
        // Numbers may lose their last digit on the way through text: both go the same way.
        let row: serde_json::Value = serde_json::from_str(&row.to_string()).expect("JSON");
        assert_eq!(row.as_object().map(|row| row.len()), line.as_object().map(|line| line.len()));
        for (name, value) in line.as_object().expect("a row") {
            assert_eq!(*value, row[name], "{name}");
        }
    }
    let pair = &lines[0];
    assert!(pair["minhash"].as_array().is_some_and(|list| list.len() == 64), "{pair:#}");
    assert!(pair["entry"]["args"][0]["dtype"].is_string() && pair["perf_static"]["flops"].is_u64(), "{pair:#}");
    for arg in
        lines.iter().filter(|row| row["entry"].is_object()).flat_map(|row| row["entry"]["args"].as_array()).flatten()
    {
        // A value is JSON, and a count is a number at the launch.
        let value = arg["value"].as_str().map(|text| serde_json::from_str(text).expect("JSON"));
        let is_right = match (arg["kind"].as_str(), value) {
            (Some("array"), value) => value.is_none() && arg["shape"].is_string(),
            (Some("count"), Some(serde_json::Value::Number(_))) => arg["extent"].is_string(),
            (Some("value" | "struct"), Some(_)) => arg["extent"].is_null(),
            _ => false,
        };
        assert!(is_right, "{arg:#}");
    }
    for column in Config::Pairs.columns() {
        let path = column.0.split("[]").next().unwrap_or_default();
        assert!(path.split('.').try_fold(pair, |row, name| row.get(name)).is_some(), "{path} is no column of {pair:#}");
    }

    let mut changed = rows.clone();
    let [first, second, ..] = faulty.as_slice() else { panic!("two programs have a fault") };
    for (n, column) in [(*first, "failure"), (*second, "fixed_source")] {
        let faulty = |(config, _): &&mut (Config, super::row::Row)| *config == Config::Repair;
        changed[n].more.iter_mut().filter(faulty).for_each(|(_, row)| row.set(column, "@wp.kernel"));
    }
    changed[2].pair.set("cuda_forward", "__global__ void nothing() {}");
    let other = tempfile::tempdir().expect("a folder");
    let mut store = Store::create(other.path(), &options, false).expect("an empty folder");
    let mut writer = Writer::new(&store, 0).expect("memory");
    writer.push(changed).expect("memory");
    writer.finish(&mut store, tally).expect("written");
    store.finish(&serde_json::json!({})).expect("written");
    let report = validate::validate(&store, 1.0, true).expect("readable");
    let found = |end: &str, reason: &str| {
        let fits = |fault: &&validate::Fault| fault.row.ends_with(end) && fault.reason.contains(reason);
        assert!(report.faults.iter().any(|fault| fits(&fault)), "{reason}: {report:?}");
    };
    found("-2", "cuda_forward");
    found(&format!("-{first}-repair"), "failure");
    found(&format!("-{second}-repair"), "not the program of its parent");
    found(&format!("-{second}-repair"), "another split");
    found(&format!("-{second}-repair"), "`fixed_source` differs");
    assert_eq!(report.faults.len(), 5, "{report:?}");

    // A file that somebody wrote again, with one row changed and the others left out; then a
    // journal without its shard.
    let entry = store.entries().find(|entry| store.is_read(entry)).expect("a file");
    let path = store.folder.join(&entry.path);
    let bytes = std::fs::read(&path).expect("a file");
    let text = String::from_utf8(zstd::decode_all(bytes.as_slice()).expect("zstd")).expect("UTF-8");
    let first = text.lines().next().expect("a row");
    let edited = format!("{}\n", first.replace("wp.tid()", "wp.tid( )"));
    std::fs::write(&path, zstd::encode_all(edited.as_bytes(), 3).expect("memory")).expect("a file");
    let report = validate::validate(&store, 0.0, false).expect("readable");
    let reasons: Vec<String> = report.faults.iter().map(|fault| format!("{}: {}", fault.row, fault.reason)).collect();
    for expected in ["SHA-256 differs", "-0: `python_source` differs", "it has 1 rows"] {
        assert!(reasons.iter().any(|reason| reason.contains(expected)), "{expected}: {reasons:#?}");
    }
    store.shards.clear();
    let report = validate::validate(&store, 0.0, false).expect("readable");
    assert_eq!((report.missing_shards, report.rows), (1, 0));
}

/// What a run keeps of every candidate, a million rows long: structures and sketches of so many
/// that differ.
#[test]
#[ignore = "takes half a minute: cargo test --release --lib dataset::tests::memory -- --ignored --nocapture"]
fn memory_of_a_million_rows_is_bounded() {
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
        4096 * text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0)
    };
    let before = resident();
    let candidates = produce::tries(4096) * 245;
    let seen = produce::Seen::of_random(candidates);
    let bytes = resident().saturating_sub(before);
    println!("{candidates} candidates of 1,003,520 rows: {bytes} bytes, {} each", bytes / candidates);
    assert!(bytes < 500 << 20, "{bytes}");
    drop(seen);
}

/// Launches are counted of the PTX that a row has.
#[test]
fn launches_are_counted_where_there_is_ptx() {
    let made = |ptx: bool| -> Vec<serde_json::Value> {
        let options = Options { emit: Emit { ptx, ..options(1).emit }, ..options(10) };
        let source = produce::Source::of(&options, &Compilers::default()).expect("algorithms");
        let mut rows = Vec::new();
        let mut sink = |some: Vec<produce::Made>| {
            rows.extend(some);
            Ok(())
        };
        let (seen, timings) = (&mut produce::Seen::default(), &mut Timings::default());
        produce::shard(&options, &source, 0, seen, &Compilers::default(), timings, &mut |_| {}, &mut sink)
            .expect("rows");
        rows.iter().map(|row| serde_json::to_value(&row.pair).expect("JSON")["perf"].clone()).collect()
    };
    let without = made(false);
    assert!(without.iter().all(|perf| perf.as_object().is_some_and(|perf| perf.values().all(|v| v.is_null()))));
    let rows = made(true);
    assert_eq!((rows.len(), without.len()), (10, 10));
    let mut wide = 0;
    for perf in rows {
        let number = |name: &str| perf[name].as_f64().unwrap_or_else(|| panic!("{name}: {perf:#}"));
        // Every thread runs, 32 of them a warp, and each array is somewhere written.
        let warps = (number("threads") / 32.0).ceil();
        assert!(number("threads") >= 1.0 && number("warp_insts") >= 3.0 * warps, "{perf:#}");
        wide += usize::from(number("threads") >= 64.0);
        assert!(number("active_lanes") > 0.0 && number("active_lanes") <= 32.0, "{perf:#}");
        assert!(number("sectors") >= 1.0 && number("dram_bytes") >= 32.0, "{perf:#}");
        assert!(number("registers_at_least") <= number("registers_at_most"), "{perf:#}");
        assert!(number("warps_at_least") <= number("warps_at_most") && number("warps_at_most") == 64.0, "{perf:#}");
        for (requests, ratio) in [("load_requests", "sectors_per_load"), ("store_requests", "sectors_per_store")] {
            let both = (perf[requests].as_f64(), perf[ratio].as_f64());
            assert!(matches!(both, (None, None)) || both.0 > Some(0.0) && both.1 >= Some(1.0) && both.1 <= Some(64.0));
        }
    }
    // A few algorithms have a thread for a document or a tree; most launch more than two warps.
    assert!(wide >= 8, "{wide} of 10");
}

/// A large set takes programs that are more alike: else there would not be enough.
#[test]
fn large_sets_have_programs_enough() {
    let families = [families::find("lattice_streaming").expect("a family")];
    let identities: Vec<_> = (0..300)
        .filter_map(|number| {
            let plan = families::sample(1, number, &families).plan;
            identity::of_text(&plan.text)
        })
        .collect();
    let [few, some, many] = [1000, 10_000, 100_000].map(|rows| produce::Seen::admitted(&identities, rows));
    assert!(few < some && some < many, "{few}, {some} and {many} of {}", identities.len());
    assert!(many >= 60, "{many} of {}", identities.len());
}
