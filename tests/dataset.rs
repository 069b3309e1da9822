//! `kc dataset` as a user gets it: the same bytes whatever the number of threads, interruptions and machines; bad
//! options; rows that were tampered with.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Text alone, few rows: quick enough for a debug build.
const QUICK: [&str; 8] = ["-n", "20", "--shard-rows", "5", "--seed", "3", "--emit", "cuda"];

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
    for part in ["", "data"] {
        for entry in std::fs::read_dir(folder.join(part)).expect("a folder").flatten() {
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
    let shard = new.join("data/train-00000-of-00001.jsonl.zst");
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
    good(&kc(&["-n", "12", "--shard-rows", "8", "--emit", "cuda,adjoint"], &set));
    let output = Command::new(python).arg(root.join("tests/dataset_loads.py")).arg(&set).arg("12").output();
    let output = output.expect("python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
