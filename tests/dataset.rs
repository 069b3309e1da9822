//! `kc dataset` as a user gets it: the same bytes whatever the number of threads, interruptions and machines; bad
//! options; rows that were tampered with.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Text alone, few rows: quick enough for a debug build.
const QUICK: [&str; 9] = ["-n", "20", "--shard-rows", "5", "--seed", "3", "--emit", "cuda", "--repair"];

fn kc(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    command.arg("dataset").args(args).arg("-o").arg(folder).output().expect("kc runs")
}

fn good(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for part in ["", "data/pairs", "data/repair"] {
        for entry in std::fs::read_dir(folder.join(part)).into_iter().flatten().flatten() {
            if entry.path().is_file() {
                let name = format!("{part}/{}", entry.file_name().to_string_lossy());
                found.insert(name, std::fs::read(entry.path()).expect("a file"));
            }
        }
    }
    found
}

fn same(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(*bytes == b[name], "{name} differs");
    }
}

#[test]
fn bytes_do_not_depend_on_threads_kills_or_machines() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let with = |more: &[&'static str]| [&QUICK[..], more].concat();
    good(&kc(&with(&["--jobs", "1"]), &at("one")));
    good(&kc(&with(&["--jobs", "2"]), &at("two")));
    same(&at("one"), &at("two"));

    // Killed again and again, a little later each time.
    let mut finished = false;
    for n in 0..40 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.arg("dataset").args(QUICK).args(["--jobs", "2", "--resume", "-o"]).arg(at("killed"));
        let errors = std::fs::File::create(at("errors")).expect("a file");
        let mut child = command.stderr(Stdio::from(errors)).spawn().expect("kc runs");
        std::thread::sleep(Duration::from_millis(50).mul_f64(1.25f64.powi(n)));
        if let Some(status) = child.try_wait().expect("a child") {
            assert!(status.success(), "{}", std::fs::read_to_string(at("errors")).unwrap_or_default());
            finished = true;
            break;
        }
        child.kill().expect("a running child");
        child.wait().expect("a child");
    }
    assert!(finished, "it never got through");
    same(&at("one"), &at("killed"));

    good(&kc(&with(&["--shard", "0/2"]), &at("even")));
    good(&kc(&with(&["--shard", "1/2"]), &at("odd")));
    let parts = [at("even"), at("odd")].map(|p| p.to_string_lossy().into_owned());
    good(&kc(&["merge", &parts[1], &parts[0]], &at("merged")));
    same(&at("one"), &at("merged"));
}

#[test]
fn bad_options_are_errors_and_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&foreign).expect("a folder");
    std::fs::write(foreign.join("thesis.tex"), "years of work").expect("a file");
    let fails = |args: &[&str], folder: &Path, code: &str| {
        let output = kc(args, folder);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains(code), "{args:?}: {text}");
    };
    fails(&["-n", "2"], &foreign, "E1401");
    assert_eq!(files_at(&foreign), ["thesis.tex"]);
    let new = folder.path().join("new");
    fails(&["-n", "0"], &new, "E1404");
    fails(&["-n", "999999999999"], &new, "E1404");
    fails(&["-n", "2", "--categories", "vektor"], &new, "E1404");
    fails(&["-n", "2", "--shard", "2/2"], &new, "E1404");
    fails(&["-n", "2"], Path::new("/proc/kc"), "E0904");
    assert!(!new.exists());
    good(&kc(&["-n", "2", "--emit", "cuda", "--no-verify"], &new));
    let before = files(&new);
    fails(&["-n", "2", "--emit", "cuda", "--no-verify"], &new, "E1401");
    fails(&["-n", "2", "--emit", "cuda", "--no-verify", "--seed", "1", "--resume"], &new, "E1402");
    assert_eq!(before, files(&new));
    let validate = |folder: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.args(["dataset", "validate", "--leakage"]).arg(folder).output().expect("kc runs")
    };
    good(&validate(&new));
    let shard = new.join("data/pairs/train-00000-of-00001.jsonl.zst");
    let mut bytes = std::fs::read(&shard).expect("a shard");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&shard, bytes).expect("a shard");
    let output = validate(&new);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("train-00000-of-00001.jsonl.zst"), "{text}");
    let stats = Command::new(env!("CARGO_BIN_EXE_kc")).args(["dataset", "stats"]).arg(&new).output().expect("kc runs");
    let text = String::from_utf8_lossy(&stats.stderr).into_owned();
    assert!(stats.status.code() == Some(1) && text.contains("E1403"), "{text}");
    // A damaged shard is made again.
    good(&kc(&["-n", "2", "--emit", "cuda", "--no-verify", "--resume"], &new));
    good(&validate(&new));
}

fn files_at(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// With `datasets`, pyarrow, polars and DuckDB, which `scripts/setup.sh test` installs.
#[test]
fn sets_load_with_the_libraries_that_people_use() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(".env-data/bin/python");
    assert!(python.is_file(), "there is no .env-data: run `scripts/setup.sh test`");
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    good(&kc(&["-n", "12", "--shard-rows", "8", "--emit", "cuda,adjoint", "--repair"], &set));
    let output = Command::new(python).arg(root.join("tests/dataset_loads.py")).arg(&set).arg("12").output();
    let output = output.expect("python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The rows of a set, as `kc dataset show` gives them.
fn rows(set: &Path, count: usize) -> Vec<serde_json::Value> {
    let show = |n: usize| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = command.args(["dataset", "show"]).arg(set).arg(n.to_string()).output().expect("kc runs");
        good(&output);
        serde_json::from_slice(&output.stdout).expect("a row")
    };
    (0..count).map(show).collect()
}

/// Parquet alone; then every text of every row through the tool that it is for.
#[test]
fn texts_are_accepted_by_the_tools_and_stand_alone_files_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    good(&kc(&["-n", "8", "--seed", "5", "--format", "parquet", "--emit", "cuda,standalone,ptx"], &set));
    assert!(files(&set).keys().all(|name| !name.ends_with(".jsonl.zst")), "JSONL was not asked for");
    let mut ran = 0;
    for row in rows(&set, 8) {
        let text = |column: &str| row[column].as_str();
        for column in ["cuda_forward", "cuda_backward", "cuda_standalone"] {
            if let Some(text) = text(column) {
                common::assert_cuda(text, "sm_80");
            }
        }
        common::assert_ptx(text("ptx").expect("PTX"), "sm_80");
        if let Some(source) = text("cuda_standalone") {
            ran += 1;
            assert!(passes(source, folder.path()), "{source}");
            // The test can fail: other numbers are expected.
            if let Some((before, after)) = source.split_once("_after[] = {") {
                let wrong = format!("{before}_after[] = {{77 + {after}");
                assert!(!passes(&wrong, folder.path()), "{wrong}");
            }
        }
    }
    assert!(ran >= 6, "only {ran} of 8 rows have a stand-alone file");
}

/// Whether a stand-alone file says that its kernel is right, built for the host: without a GPU that is what can be run.
fn passes(source: &str, folder: &Path) -> bool {
    let (kernel, rest) = source.split_once("<<<").expect("a launch");
    let (_, call) = rest.split_once(">>>").expect("a launch");
    let input = folder.join("alone.cpp");
    std::fs::write(&input, format!("{kernel}{call}")).expect("a file");
    let program = folder.join("alone");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_string());
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dataset");
    let flags = ["-std=c++17", "-O1", "-w", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off"];
    let built = Command::new(compiler)
        .args(flags)
        .args(["-include", "cuda_runtime.h"])
        .arg("-I")
        .arg(include)
        .arg("-o")
        .arg(&program)
        .arg(&input)
        .output()
        .expect("the compiler starts");
    assert!(built.status.success(), "{}\n{source}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(program).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.success(), said.ends_with("PASS\n"), "{said}");
    output.status.success()
}

/// No set holds what models are measured with.
#[test]
fn kernels_of_files_have_hashes() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/saxpy.py");
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(["dataset", "identify"]).arg(example).output();
    let output = output.expect("kc runs");
    good(&output);
    let known = include_str!("../src/dataset/known.txt");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!printed.is_empty());
    for line in printed.lines() {
        assert!(known.lines().any(|known| known == line), "`{line}` is missing in known.txt");
    }
}
