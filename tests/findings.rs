//! How `kc` reports what it finds: forms, limits, levels, comments that allow, and what has no page
//! that shows it.

use std::process::Command;

use serde_json::Value;

/// Runs kc on a text in a file `k.py`: exit code, standard output, standard error.
fn kc(text: &str, args: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), text).expect("a writable file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.args(args).current_dir(folder.path()).env_remove("COLUMNS").output().expect("kc runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("an exit code"), text(&output.stdout), text(&output.stderr))
}

fn check(text: &str, args: &[&str]) -> (i32, String) {
    let (code, out, _) = kc(text, &[&["check", "--no-backward", "k.py"], args].concat());
    (code, out)
}

/// One error with a fix, one warning, one remark.
const TEXT: &str = "import warp as wp\n\n\n@wp.kernel\ndef good(a: wp.array2d(dtype=float)):\n    i, j = wp.tid()\n    \
                    spare = a[j, i]\n    a[j, i] = 1.0\n\n\n@wp.kernel\ndef bad(x: wp.array(dtype=float)):\n    i = wp.tid()\n    \
                    x[i] = i\n";

#[test]
fn one_line_per_finding() {
    let (code, out) = check(TEXT, &["--format", "short"]);
    assert_eq!(code, 1);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].starts_with("k.py:7:5: warning[W1301]: `spare` is never read"), "{out}");
    assert!(lines[1].starts_with("k.py:14:12: error[E0303]: cannot store `int32`"), "{out}");
}

#[test]
fn json_has_places_and_fixes() {
    let (_, out) = check(TEXT, &["--format", "json"]);
    let found: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1]["code"], "E0303");
    assert_eq!(found[1]["spans"][0]["start"]["line"], 14);
    assert_eq!(found[1]["fix"]["applicability"], "machine");
}

#[test]
fn sarif_is_one_log() {
    let (_, out) = check(TEXT, &["--format", "sarif"]);
    let log: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let rules: Vec<&Value> = results.iter().map(|result| &result["ruleId"]).collect();
    assert_eq!(rules, ["W1301", "E0303"]);
    assert_eq!(results[1]["level"], "error");
    assert_eq!(results[1]["locations"][0]["physicalLocation"]["region"]["startLine"], 14);
    assert_eq!(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "k.py");
}

#[test]
fn github_gets_workflow_commands() {
    let (_, out) = check(TEXT, &["--format", "github"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].starts_with("::warning file=k.py,line=7,"), "{out}");
    assert!(lines[1].starts_with("::error file=k.py,line=14,"), "{out}");
}

#[test]
fn levels() {
    let codes = |args: &[&str]| {
        let (code, out) = check(TEXT, &[&["--format", "short"], args].concat());
        let found: Vec<String> =
            out.lines().filter_map(|line| Some(line.split(": ").nth(1)?.split(']').next()?.to_string())).collect();
        (code, found.join(" "))
    };
    let expect = |args: &[&str], code: i32, found: &str| assert_eq!(codes(args), (code, found.to_string()), "{args:?}");
    expect(&[], 1, "warning[W1301 error[E0303");
    expect(&["--allow", "W1301"], 1, "error[E0303");
    expect(&["--allow", "unused-variable"], 1, "error[E0303");
    expect(&["--allow", "warnings"], 1, "error[E0303");
    expect(&["--allow", "warnings", "--warn", "W1301"], 1, "warning[W1301 error[E0303");
    expect(&["--deny", "W1301"], 1, "error[W1301 error[E0303");
    expect(&["--deny", "warnings"], 1, "error[W1301 error[E0303");
    expect(&["--warn", "I0705"], 1, "warning[W1301 note[I0705 note[I0705 error[E0303");
    for (option, code) in [("--allow", "E0303"), ("--warn", "E0303"), ("--deny", "W9999"), ("--allow", "unused")] {
        let (exit, _, error) = kc(TEXT, &["check", "k.py", option, code]);
        assert!(exit == 2 && error.contains(code), "{option} {code}: {exit} {error}");
    }
    // A warning alone fails only where it is denied.
    let good = TEXT.split("\n\n\n@wp.kernel\ndef bad").next().expect("the first kernel");
    assert_eq!(check(good, &[]).0, 0);
    assert_eq!(check(good, &["--deny", "warnings"]).0, 1);
}

#[test]
fn a_limit_for_errors() {
    let body: String = (0..30).map(|n| format!("    x[{n}] = unknown{n}\n")).collect();
    let text = format!("import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n{body}");
    let count = |args: &[&str]| check(&text, &[&["--format", "short"], args].concat()).1.matches("E0201").count();
    assert_eq!((count(&[]), count(&["--max-errors", "3"]), count(&["--max-errors", "0"])), (20, 3, 30));
    let (_, out) = check(&text, &["--max-errors", "3"]);
    assert!(out.contains("not shown: 27 errors (`--max-errors 0` shows all)"), "{out}");
}

#[test]
fn every_code_is_explained() {
    let (code, list, _) = kc("", &["explain"]);
    assert_eq!(code, 0);
    for code in kc::diag::Code::ALL {
        assert!(list.contains(code.name()) && list.contains(code.slug()), "{code:?}");
    }
    let (_, page, _) = kc("", &["explain", "type-mismatch"]);
    assert!(page.contains("E0301"), "{page}");
    let (code, _, error) = kc("", &["explain", "type-mismatsh"]);
    assert!(code == 2 && error.contains("E0301"), "{error}");
}

#[test]
fn fixes_are_shown_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.py");
    std::fs::write(&file, TEXT).expect("a writable file");
    let fix = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = command.arg("fix").args(args).arg(&file).output().expect("kc runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let diff = fix(&["--diff"]);
    assert!(diff.contains("-    x[i] = i\n") && diff.contains("+    x[i] = float(i)\n"), "{diff}");
    assert_eq!(std::fs::read_to_string(&file).expect("a text"), TEXT, "`--diff` writes nothing");
    fix(&[]);
    let fixed = std::fs::read_to_string(&file).expect("a text");
    assert!(fixed.contains("x[i] = float(i)") && !fixed.contains("spare"), "{fixed}");
    fix(&[]);
    assert_eq!(std::fs::read_to_string(&file).expect("a text"), fixed, "nothing is left to fix");
}

#[test]
fn what_cuda_cannot_say() {
    let text =
        "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=wp.int8)):\n    wp.atomic_add(x, 0, wp.int8(1))\n";
    let (code, _, error) = kc(text, &["compile", "k.py", "--emit", "cuda", "-o", "-"]);
    assert!(code == 1 && error.contains("E0820"), "{error}");
    let text = text.replace("int8", "int32");
    let (code, _, error) = kc(&text, &["compile", "k.py", "--emit", "cuda", "-o", "-"]);
    assert!(code == 0, "{error}");
}

#[test]
fn too_many_syntax_errors() {
    let body = "    x[0] = = 1.0\n".repeat(2_000);
    let text = format!("import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n{body}");
    let (code, out) = check(&text, &["--format", "short", "--max-errors", "0"]);
    assert!(code == 1 && out.contains("E0119"), "{}", out.lines().last().unwrap_or_default());
}
