//! Does PTX compute what host code computes? It is run on a machine for PTX, in Python: `tests/ptx/machine.py` says how it
//! stands in for a GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

const KC: &str = env!("CARGO_BIN_EXE_kc");

fn python(script: &str) -> Command {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(root.join(".env-test/bin/python"));
    command.arg("-B").arg(root.join(script));
    command
}

/// Runs a command that must succeed; what it says.
#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.output().expect("`make test` makes .env-test");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Emulates every `every`th case below a folder; gives the number of runs and of times that whole warps met.
#[track_caller]
fn emulate(cases: &Path, every: &str) -> (u32, u32) {
    let text = done(python("tests/ptx/emulate.py").arg(KC).arg(cases).args(["--every", every]));
    let number = |before: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().position(|w| *w == before).expect("a summary");
        words[at + 1].parse().expect("a number")
    };
    (number("cases,"), number("met"))
}

#[test]
fn warps_loops_and_wide_accesses() {
    let folder = tempfile::tempdir().expect("a folder");
    done(python("tests/ptx/cases.py").arg(folder.path()));
    let (runs, met) = emulate(folder.path(), "1");
    // 48 launches, four ways each; whole warps add up floats in many of them.
    assert!(runs >= 170 && met >= 100, "{runs} runs, met {met} times");
}

#[test]
fn launches_of_the_run_tests() {
    let folder = tempfile::tempdir().expect("a folder");
    done(python("tests/reference/launches.py").args(["prepare", "tests/run"]).arg(folder.path()));
    let (runs, _) = emulate(folder.path(), "4");
    assert!(runs >= 15, "{runs} runs");
}
