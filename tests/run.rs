//! Runs every program of `tests/run/` on the host and in the interpreter: the two must agree bit
//! for bit, and all runs with what numpy computes (`tests/reference/launches.py` says how a program
//! states its launches). One launch in six, or those whose names hold the word that
//! is given (`cargo test --test run WORD`), or with `KC_TESTS=all` every one.

#[path = "common/sample.rs"]
mod sample;

use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// How each program is run. The first two agree bit for bit; on several cores atomic sums come in
/// another order.
const RUNS: [(&str, &[&str]); 3] = [
    ("host", &["--device", "host", "--threads", "1"]),
    ("interp", &["--device", "interp"]),
    ("cores", &["--device", "host", "--threads", "4"]),
];

#[derive(serde::Deserialize)]
struct Outcome {
    id: String,
    fault: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().expect("a temporary folder");
    let launches = |args: &[&str]| {
        let script = root.join("tests/reference/launches.py");
        let output = Command::new(root.join(".env-test/bin/python"))
            .arg("-B")
            .arg(script)
            .args(args)
            .output()
            .expect("the test environment is there; `scripts/setup.sh test` makes it");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let folder = out.path().to_str().expect("UTF-8");
    let tests = root.join("tests/run");
    let prepared = launches(&["prepare", tests.to_str().expect("UTF-8"), folder]);
    let all: Vec<&str> = prepared.lines().collect();
    let wanted = match &arguments.filter {
        Some(filter) => all.iter().copied().filter(|id| id.contains(filter)).collect(),
        None => sample::sampled(all.iter().copied(), 8),
    };
    if wanted.is_empty() && arguments.filter.is_some() {
        return libtest_mimic::run(&arguments, Vec::new()).exit_code();
    }
    // What is compared are the cases that are there.
    for left_out in all.iter().filter(|id| !wanted.contains(id)) {
        std::fs::remove_dir_all(out.path().join(left_out)).expect("the case of a launch");
    }
    let files: Vec<String> = wanted.iter().map(|id| format!("{folder}/{id}/case.json")).collect();
    assert!(!files.is_empty(), "no run tests were found");
    std::thread::scope(|scope| {
        for (run, flags) in RUNS {
            // Which launch failed, and why, is in its result file; a crash leaves results missing.
            let results = format!("{folder}/{run}");
            let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
            command.args(["run", "--out-dir", &results]).args(flags).args(&files);
            scope.spawn(move || command.output().expect("kc starts"));
        }
    });
    let compared = launches(&["compare", folder, RUNS[0].0, RUNS[1].0, RUNS[2].0]);
    let trials = compared
        .lines()
        .map(|line| {
            let outcome: Outcome = serde_json::from_str(line).expect("an outcome");
            Trial::test(outcome.id, move || outcome.fault.map_or(Ok(()), |fault| Err(Failed::from(fault))))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
