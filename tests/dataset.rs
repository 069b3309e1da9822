//! `kc dataset` as a user gets it: the same bytes whatever the number of threads, interruptions and
//! machines; bad options; rows that were tampered with.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Text alone, few rows: quick enough for a debug build.
const QUICK: [&str; 11] =
    ["-n", "20", "--shard-rows", "5", "--seed", "3", "--emit", "cuda", "--repair", "--mutants", "1"];

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
    for part in ["", "data/pairs", "data/repair", "data/optimize"] {
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
fn bytes_do_not_depend_on_threads_or_machines() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let with = |more: &[&'static str]| [&QUICK[..], more].concat();
    good(&kc(&with(&["--jobs", "1"]), &at("one")));
    good(&kc(&with(&["--jobs", "2"]), &at("two")));
    same(&at("one"), &at("two"));

    good(&kc(&with(&["--shard", "0/2"]), &at("even")));
    good(&kc(&with(&["--shard", "1/2"]), &at("odd")));
    let half = at("even").to_string_lossy().into_owned();
    let lacking = kc(&["merge", &half], &at("merged"));
    assert!(lacking.status.code() == Some(1) && String::from_utf8_lossy(&lacking.stderr).contains("lack shards: 1, 3"));
    assert!(!at("merged").exists(), "nothing is begun that cannot be finished");
    let parts = [at("even"), at("odd")].map(|p| p.to_string_lossy().into_owned());
    good(&kc(&["merge", &parts[1], &parts[0]], &at("merged")));
    same(&at("one"), &at("merged"));
}

/// Twenty times, anywhere from the start to half of what a run takes; what is finished meanwhile is
/// compared, and begun anew.
#[test]
fn bytes_do_not_depend_on_kills() {
    const SMALL: [&str; 11] =
        ["-n", "6", "--shard-rows", "2", "--seed", "4", "--emit", "cuda", "--repair", "--mutants", "1"];
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let start = Instant::now();
    good(&kc(&SMALL, &at("whole")));
    let half = start.elapsed() / 2;
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let (mut kills, mut sets) = (0, 0);
    while kills < 20 {
        assert!(sets < 20, "{kills} kills only");
        let set = at(&format!("killed-{sets}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.arg("dataset").args(SMALL).args(["--resume", "-o"]).arg(&set);
        let mut child = command.stderr(Stdio::null()).spawn().expect("kc runs");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(half.mul_f64((random >> 40) as f64 / f64::from(1u32 << 24)));
        match child.try_wait().expect("a child") {
            Some(status) => {
                assert!(status.success());
                same(&at("whole"), &set);
                sets += 1;
            }
            None => {
                child.kill().expect("a running child");
                child.wait().expect("a child");
                kills += 1;
            }
        }
    }
    let set = at(&format!("killed-{sets}"));
    good(&kc(&[&SMALL[..], &["--resume"]].concat(), &set));
    same(&at("whole"), &set);
}

/// Files may not grow beyond some kB, as on a full disk: what was finished stays, and the run says
/// what it could not write.
#[test]
fn a_full_disk_leaves_what_is_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, set) = (folder.path().join("whole"), folder.path().join("set"));
    let options = "-n 6 --shard-rows 1 --seed 13 --no-verify --emit cuda --format jsonl";
    good(&kc(&options.split(' ').collect::<Vec<_>>(), &whole));
    let sizes: Vec<usize> = files(&whole).iter().filter(|f| f.0.contains("data/")).map(|f| f.1.len()).collect();
    let largest = sizes.iter().max().copied().unwrap_or(0);
    assert!(sizes[0] < largest - largest % 1024, "the first shard is to be finished: take another seed: {sizes:?}");
    let run = |limit: &str, more: &str| {
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" dataset {options} -o \"$1\" {more}");
        let mut command = Command::new("bash");
        command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_kc")).arg(&set).output().expect("bash runs")
    };
    // In blocks of 1024 bytes; the largest shard has no room.
    let full = run(&((largest - 1) / 1024).to_string(), "");
    let text = String::from_utf8_lossy(&full.stderr).into_owned();
    assert!(full.status.code() == Some(1) && text.contains("E0904") && text.contains("--resume"), "{text}");
    let finished = files(&set);
    assert!(finished.keys().all(|name| !name.ends_with(".tmp")), "nothing half-written stays");
    let shards = || finished.iter().filter(|(name, _)| name.contains("data/"));
    assert!(shards().count() > 0 && shards().all(|(name, bytes)| files(&whole)[name] == *bytes));
    good(&run("unlimited", "--resume"));
    same(&whole, &set);
}

/// The short flags that earlier generators had. Where nobody looks there is no progress line, only
/// the end.
#[test]
fn short_flags_work_and_pipes_stay_quiet() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    let output = kc(
        &["-n", "2", "-d", "cpu", "-b", "-s", "3", "--families", "axpy,csr_spmv", "--checkpoint", "--no-verify"],
        &set,
    );
    good(&output);
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("2 rows in `{}`\n", set.display()));
    assert!(output.stdout.is_empty());
    for row in rows(&set, 2) {
        assert!(["axpy", "csr_spmv"].contains(&row["family"].as_str().unwrap_or_default()), "{row:#}");
        assert!(row["llvm_ir_host"].is_string() && row["ptx"].is_null() && row["cuda_forward"].is_null(), "{row:#}");
    }
}

/// The programs before they were optimised: `show` finds them, `stats` counts them, `validate`
/// makes them again, and any number of threads makes the same bytes.
#[test]
fn slow_programs_are_shown_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (set, again) = (folder.path().join("set"), folder.path().join("again"));
    let families = ["--families", "heat_explicit,closest_segment_point", "--emit", "cuda", "--mutants", "0"];
    let with = |jobs| [&["-n", "6", "--seed", "4", "--optimize", "--jobs", jobs][..], &families].concat();
    good(&kc(&with("1"), &set));
    good(&kc(&with("2"), &again));
    same(&set, &again);
    let ask = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).arg("dataset").args(args).output().expect("kc runs");
        good(&output);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let path = set.to_string_lossy().into_owned();
    let stats = ask(&["stats", &path, "--json"]);
    let count = stats["optimize"]["rows"].as_u64().unwrap_or(0);
    assert!(count >= 3 && stats["optimize"]["changes"]["coalesce-axes"].as_u64() > Some(0), "{stats:#}");
    let mut shown = 0;
    for n in 0..6 {
        let id = format!("{n}-optimize");
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(["dataset", "show", &path, &id]).output();
        let output = output.expect("kc runs");
        if !output.status.success() {
            continue;
        }
        shown += 1;
        let row: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let pair = ask(&["show", &path, &n.to_string()]);
        assert_eq!((&row["parent_id"], &row["fast_source"]), (&pair["id"], &pair["python_source"]));
        let versions = row["versions"].as_array().expect("versions");
        let [first, last] = [&versions[0], &versions[versions.len() - 1]];
        assert_eq!((&first["source"], &last["source"]), (&row["slow_source"], &row["fast_source"]));
        assert!(first["change"].is_null() && last["reason"].is_string() && last["cuda"].is_string(), "{row:#}");
        let metric = row["gain"]["metric"].as_str().expect("a metric");
        let of = |version: &serde_json::Value| version[metric].as_f64().expect("a number");
        assert!((of(first) / of(last) - row["gain"]["factor"].as_f64().expect("a factor")).abs() < 1e-9, "{row:#}");
    }
    assert_eq!(shown, count);
    let report = ask(&["validate", &path, "--leakage", "--json"]);
    assert_eq!((report["made_again"].as_u64(), &report["faults"]), (Some(6 + count), &serde_json::json!([])));
}

/// The faulty programs: `show` finds them, `stats` counts them, `validate` makes them again; and
/// what was rejected.
#[test]
fn faulty_programs_are_shown_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (set, rejected) = (folder.path().join("set"), folder.path().join("rejected.jsonl"));
    let file = rejected.to_string_lossy().into_owned();
    // Of these, one is a program that a known collection has.
    let families = "axpy,csr_spmv,forest_inference,gather_vectors,viterbi_paths";
    let options = ["-n", "10", "--seed", "4", "--families", families, "--emit", "cuda", "--repair"];
    good(&kc(&[options.as_slice(), &["--rejected", &file]].concat(), &set));
    let ask = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).arg("dataset").args(args).output().expect("kc runs");
        good(&output);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let path = set.to_string_lossy().into_owned();
    let stats = ask(&["stats", &path, "--json"]);
    let count = stats["repair"]["rows"].as_u64().unwrap_or(0);
    let classes = stats["repair"]["classes"].as_object().expect("classes");
    assert!(count >= 8 && classes.values().filter_map(|n| n.as_u64()).sum::<u64>() == count, "{stats:#}");
    let pair = ask(&["show", &path, "4"]);
    for id in ["4-repair", "kc1-4-4-repair"] {
        let row = ask(&["show", &path, id]);
        assert_eq!((&row["parent_id"], &row["fixed_source"]), (&pair["id"], &pair["python_source"]));
    }
    let report = ask(&["validate", &path, "--leakage", "--json"]);
    assert_eq!((report["made_again"].as_u64(), &report["faults"]), (Some(10 + count), &serde_json::json!([])));
    let lines = std::fs::read_to_string(rejected).expect("a file");
    let causes: u64 = stats["tally"]["rejected"].as_object().expect("causes").values().filter_map(|n| n.as_u64()).sum();
    assert!(lines.lines().count() as u64 == causes && causes > 0, "{lines}");
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(line["cause"].is_string() && line["python_source"].as_str().is_some_and(|s| s.contains("@wp.kernel")));
    }
}

/// `examples/dataset/slurm.sh`, with the variables that Slurm sets.
#[test]
fn array_jobs_make_the_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/dataset/slurm.sh");
    let shared = folder.path().join("shared");
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kc"), bin.join("kc")).expect("a link");
    let paths = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let task = |rows: &str, number: &str, more: &[&str]| {
        let mut command = Command::new("bash");
        command.env("PATH", &paths).env("SLURM_ARRAY_TASK_ID", number).env("SLURM_ARRAY_TASK_COUNT", "3");
        good(
            &command
                .env("SLURM_CPUS_PER_TASK", "1")
                .arg(&script)
                .arg(rows)
                .arg(&shared)
                .args(more)
                .output()
                .expect("bash"),
        );
    };
    let options = ["--shard-rows", "2", "--no-verify", "--emit", "cuda"];
    for number in ["2", "0", "1"] {
        task("9", number, &options);
    }
    task("merge", "0", &[]);
    good(&kc(&[&["-n", "9"][..], &options].concat(), &folder.path().join("one")));
    same(&folder.path().join("one"), &shared.join("whole"));
}

/// `examples/dataset/ray_parts.py`, on this machine.
#[test]
#[ignore = "needs Ray, 290 MB: `scripts/setup.sh ray`, then `cargo test --test dataset -- --ignored ray`"]
fn ray_tasks_make_the_set() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--shard-rows", "2", "--no-verify", "--emit", "cuda"];
    let mut command = Command::new(root.join(".env-ray/bin/python"));
    command.arg(root.join("examples/dataset/ray_parts.py")).args(["--rows", "9", "--parts", "3", "--kc"]);
    command.arg(env!("CARGO_BIN_EXE_kc")).arg("--folder").arg(folder.path().join("shared")).args(options);
    good(&command.output().expect("`scripts/setup.sh ray` made .env-ray"));
    good(&kc(&[&["-n", "9"][..], &options].concat(), &folder.path().join("one")));
    same(&folder.path().join("one"), &folder.path().join("shared/whole"));
}

/// Somebody's own kernels: what passes is a row like others, what does not has a line, and the set
/// validates as long as the folder is the same.
#[test]
fn own_kernels_become_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let (own, set) = (folder.path().join("own"), folder.path().join("set"));
    std::fs::create_dir(&own).expect("a folder");
    let head = "# SPDX-License-Identifier: MIT\nimport warp as wp\n\nHALF = wp.constant(0.5)\n\n\n";
    let mean = "@wp.kernel\ndef mean_of_pairs(x: wp.array[float], y: wp.array[float], out: wp.array[float]):\n    \
                \"\"\"Mean of two arrays.\"\"\"\n    i = wp.tid()\n    out[i] = HALF * (x[i] + y[i])\n";
    let below = "\n\n@wp.kernel\ndef below(x: wp.array[float]):\n    x[wp.tid() - 100] = 1.0\n";
    std::fs::write(own.join("pairs.py"), format!("{head}{mean}{below}")).expect("a file");
    std::fs::write(own.join("other.py"), format!("import warp as wp\n\n\n{mean}")).expect("a file");
    let path = own.to_string_lossy().into_owned();
    let output = kc(&["--from", &path, "--emit", "cuda"], &set);
    good(&output);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("other.py: licence: ") && said.contains("pairs.py:14: kernel `below`: no launch"), "{said}");
    assert!(said.contains("1 row of 2 files"), "{said}");
    let row = &rows(&set, 1)[0];
    assert_eq!((row["license"].as_str(), row["formula"].as_str()), (Some("MIT"), Some("pairs.py:7")));
    assert_eq!((row["verify"]["host_ok"].as_bool(), row["verify"]["grad_ok"].as_bool()), (Some(true), Some(true)));
    let source = row["python_source"].as_str().expect("a program");
    assert!(source.contains("HALF = wp.constant(0.5)") && !source.contains("below"), "{source}");
    assert!(row["verify"]["mutants"].as_u64() > Some(0), "{row:#}");
    assert!(row["messages"][0]["content"].as_str().is_some_and(|text| text.contains("Mean of two arrays.")), "{row:#}");
    let check = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = command.args(["dataset", "validate"]).arg(&set).output().expect("kc runs");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    assert_eq!(check(), (Some(0), "1 row, 1 made again, 0 faults\n".to_string()));
    std::fs::write(own.join("pairs.py"), format!("{head}{}", mean.replace("HALF", "2.0"))).expect("a file");
    let (code, said) = check();
    assert!(code == Some(1) && said.contains("other kernels than when the set was begun"), "{said}");
    let gone = kc(&["--from", "/nowhere/at/all"], &folder.path().join("none"));
    assert!(gone.status.code() == Some(1) && String::from_utf8_lossy(&gone.stderr).contains("E1404"));
}

/// Conversations: each task once, the program behind it, and little else.
#[test]
fn conversations_are_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    let output = kc(&["-n", "12", "--seed", "9", "--emit", "sft", "--mutants", "2", "--format", "jsonl"], &set);
    good(&output);
    let bytes: u64 = files(&set).iter().filter(|(name, _)| name.contains("/data/")).map(|(_, f)| f.len() as u64).sum();
    assert!(bytes / 12 <= 4096, "{} bytes of a row", bytes / 12);
    for row in rows(&set, 12) {
        assert!(row["cuda_forward"].is_null() && row["io"]["inputs"] == serde_json::json!([]), "{row:#}");
        let roles: Vec<&str> =
            row["messages"].as_array().expect("a list").iter().filter_map(|m| m["role"].as_str()).collect();
        assert_eq!(roles, ["user", "assistant"]);
        let answer = row["messages"][1]["content"].as_str().unwrap_or_default();
        let program = row["python_source"].as_str().expect("a program").trim_end();
        assert_eq!(answer, format!("```python\n{program}\n```"));
        assert!((1..=5).contains(&row["difficulty"].as_u64().unwrap_or(0)));
    }
    let mixed = kc(&["-n", "2", "--emit", "sft,cuda"], &folder.path().join("mixed"));
    assert!(mixed.status.code() == Some(1) && String::from_utf8_lossy(&mixed.stderr).contains("E1404"));
}

/// What hubs index sets by, and what readers of a set ask for.
#[test]
fn the_card_says_whose_the_set_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    good(&kc(&["-n", "3", "--seed", "12", "--no-verify", "--emit", "cuda"], &set));
    let card = std::fs::read_to_string(set.join("README.md")).expect("a card");
    let head = card.strip_prefix("---\n").and_then(|rest| rest.split("---\n").next()).expect("a header");
    let wanted = ["pretty_name: Verified GPU kernels", "task_categories: [text-generation]", "size_categories: [n<1K]"];
    for line in wanted {
        assert!(head.lines().any(|other| other == line), "{line} is missing: {head}");
    }
    let stats = std::fs::read_to_string(set.join("stats.json")).expect("a file");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
    let (mut rows, mut algorithms) = (0, 0);
    for split in ["train", "validation", "test"] {
        let line = card.lines().find(|line| line.starts_with(&format!("| {split} | "))).expect("a line of the split");
        let cells: Vec<u64> = line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(cells[0], stats["splits"][split].as_u64().unwrap_or(0), "{line}");
        rows += cells[0];
        algorithms += cells[1];
        assert!(split != "test" || cells[1] >= 30, "{line}");
    }
    assert!(rows == 3 && algorithms > 130, "{rows} rows of {algorithms} algorithms");
    assert!(card.contains("@misc{kc_kernels,") && card.contains("\n## Contact\n"), "{card}");
    let croissant = std::fs::read_to_string(set.join("croissant.json")).expect("a file");
    assert!(croissant.contains("\"citeAs\": \"@misc{kc_kernels,"), "{croissant}");
}

/// Parquet holds all digits of errors: so does what a validated row is compared with.
#[test]
fn rows_of_parquet_are_verified_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    good(&kc(&["-n", "6", "--emit", "cuda,adjoint", "--format", "parquet"], &set));
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.args(["dataset", "validate", "--json"]).arg(&set).output().expect("kc runs");
    good(&output);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["made_again"], &report["faults"]), (&6.into(), &serde_json::json!([])), "{report:#}");
}

/// All columns of a thousand programs, compiled, run and compared again.
#[test]
#[ignore = "takes minutes: `cargo test --release --test dataset -- --ignored thousand`"]
fn a_thousand_rows_are_verified_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    good(&kc(&["-n", "1000", "--repair"], &set));
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.args(["dataset", "validate", "--leakage", "--json"]).arg(&set).output().expect("kc runs");
    good(&output);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["made_again"].as_u64() > Some(1900) && report["faults"] == serde_json::json!([]), "{report:#}");
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
    fails(&["-n", "2", "--families", "axpi"], &new, "there is no family `axpi`");
    fails(&["-n", "2", "--families", "axpi"], &new, "csr_spmv, ");
    fails(&["-n", "2", "--shard", "2/2"], &new, "E1404");
    fails(&["-n", "2", "--jobs", "99999"], &new, "E1404");
    // Texts that rows could not hold.
    fails(&["-n", "2", "--device", "cpu", "--emit", "ptx"], &new, "E1404");
    fails(&["-n", "2", "--device", "cuda", "--emit", "host"], &new, "E1404");
    fails(&["-n", "2", "--no-verify", "--emit", "standalone"], &new, "E1404");
    fails(&["-n", "2", "--no-backward", "--emit", "adjoint"], &new, "E1404");
    fails(&["-n", "2"], Path::new("/proc/kc"), "E0904");
    assert!(!new.exists());
    good(&kc(&["-n", "2", "--emit", "cuda", "--no-verify"], &new));
    let before = files(&new);
    fails(&["-n", "2", "--emit", "cuda", "--no-verify"], &new, "E1401");
    fails(&["-n", "2", "--emit", "cuda", "--no-verify", "--seed", "1", "--resume"], &new, "E1402");
    assert_eq!(before, files(&new));
    // A set of another version of kc.
    let old = folder.path().join("old");
    good(&kc(&["-n", "2", "--shard-rows", "1", "--emit", "cuda", "--no-verify"], &old));
    let options = std::fs::read_to_string(old.join("options.json")).expect("options");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(options.contains(&version));
    std::fs::write(old.join("options.json"), options.replace(&version, "\"version\": \"0.0.1\"")).expect("options");
    let before = files(&old);
    fails(&["-n", "2", "--shard-rows", "1", "--emit", "cuda", "--no-verify", "--resume"], &old, "E1402");
    assert_eq!(before, files(&old));
    // A journal that names files elsewhere.
    let journal = std::fs::read_to_string(new.join("journal.jsonl")).expect("a journal");
    std::fs::write(old.join("journal.jsonl"), journal.replace("data/pairs/", "../new/data/pairs/")).expect("a journal");
    let parts = old.to_string_lossy().into_owned();
    fails(&["merge", &parts], &folder.path().join("merged"), "E1403");
    let validate = |folder: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.args(["dataset", "validate", "--leakage"]).arg(folder).output().expect("kc runs")
    };
    good(&validate(&new));
    let pairs = new.join("data/pairs");
    let name = files_at(&pairs).into_iter().find(|name| name.ends_with(".jsonl.zst")).expect("a shard");
    let shard = pairs.join(&name);
    let mut bytes = std::fs::read(&shard).expect("a shard");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&shard, bytes).expect("a shard");
    let output = validate(&new);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(1) && text.contains(&name), "{text}");
    let stats = Command::new(env!("CARGO_BIN_EXE_kc")).args(["dataset", "stats"]).arg(&new).output().expect("kc runs");
    let text = String::from_utf8_lossy(&stats.stderr).into_owned();
    assert!(stats.status.code() == Some(1) && text.contains("E1403"), "{text}");
    let share = ["dataset", "validate", "--sample", "2"];
    let share = Command::new(env!("CARGO_BIN_EXE_kc")).args(share).arg(&new).output().expect("kc runs");
    assert!(share.status.code() == Some(1) && String::from_utf8_lossy(&share.stderr).contains("E1404"));
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
    good(&kc(&["-n", "12", "--shard-rows", "8", "--emit", "cuda,adjoint", "--repair", "--optimize"], &set));
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
    let (mut ran, mut gradients) = (0, 0);
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
            if ran <= 2 {
                common::build_cuda(source, "compute_80", folder.path()).expect("nvcc builds it");
            }
            assert!(passes(source, folder.path()), "{source}");
            // The test can fail: other numbers are expected.
            for mark in ["_after[] = {", "_gradient[] = {"] {
                if let Some((before, after)) = source.split_once(mark) {
                    gradients += usize::from(mark.starts_with("_g"));
                    let wrong = format!("{before}{mark}77 + {after}");
                    assert!(!passes(&wrong, folder.path()), "{wrong}");
                }
            }
        }
    }
    assert!(gradients >= 3, "only {gradients} of 8 stand-alone files launch a gradient");
    assert!(ran >= 6, "only {ran} of 8 rows have a stand-alone file");
}

/// Programs as people write them: NVRTC takes the kernels, and the whole, built for the host, does
/// what the rows say.
#[test]
fn idiomatic_programs_do_what_their_rows_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    good(&kc(&["-n", "12", "--seed", "11", "--format", "parquet", "--emit", "idiomatic"], &set));
    let mut written = 0;
    for row in rows(&set, 12) {
        let Some(text) = row["cuda_idiomatic"].as_str() else { continue };
        written += 1;
        let (kernels, _) = text.split_once("\n#define CHECK").expect("a host part");
        common::assert_cuda(&kernels.replace("#include <cstdio>\n#include <cstdlib>\n", ""), "sm_80");
        if written == 1 {
            common::build_cuda(&format!("{text}\nint main() {{ return 0; }}\n"), "compute_80", folder.path())
                .expect("nvcc builds it");
        }
    }
    assert!(written >= 10, "only {written} of 12 rows have such a program");
    let check = |more: &[&str]| {
        let mut command = Command::new(root.join(".env-data/bin/python"));
        let script = root.join("tests/dataset_idiomatic.py");
        command.arg(script).arg(&set).arg("12").args(more).output().expect("python runs")
    };
    let output = check(&[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let ran: usize = said.split(' ').next().and_then(|n| n.parse().ok()).expect("a count");
    assert!(ran >= 8, "{said}");
    // The check can fail: threads take the next one's element.
    assert!(!check(&["break"]).status.success());
}

/// Whether a stand-alone file says that its kernel is right, built for the host: without a GPU that
/// is what can be run.
fn passes(source: &str, folder: &Path) -> bool {
    let parts = source.split("<<<").enumerate();
    let without = |(n, part): (usize, &'_ str)| match n {
        0 => part.to_string(),
        _ => part.split_once(">>>").expect("a launch").1.to_string(),
    };
    let input = folder.join("alone.cpp");
    std::fs::write(&input, parts.map(without).collect::<String>()).expect("a file");
    let program = folder.join("alone");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_string());
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dataset");
    let flags = ["-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off"];
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let all = std::fs::read_dir(folder).expect("examples").flatten().map(|entry| entry.path());
    let examples: Vec<_> = all.filter(|path| path.extension().is_some_and(|e| e == "py")).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(["dataset", "identify"]).args(&examples).output();
    let output = output.expect("kc runs");
    good(&output);
    let known = include_str!("../src/dataset/known.txt");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.lines().count() >= examples.len());
    for line in printed.lines() {
        assert!(known.lines().any(|known| known == line), "`{line}` is missing in known.txt");
    }
}

fn validate(set: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.args(["dataset", "validate", "--sample", "0"]).arg(set).output().expect("kc runs");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// One byte changed, one cut off, one added, or the whole file gone, for every file of a set; and
/// what the files say of each other.
#[test]
fn no_file_of_a_set_changes_unseen() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("set");
    good(&kc(&["-n", "4", "--shard-rows", "2", "--seed", "5", "--emit", "cuda", "--repair"], &set));
    assert_eq!(validate(&set).0, Some(0), "{}", validate(&set).1);
    let whole = files(&set);
    assert!(whole.len() >= 10, "{:?}", whole.keys());
    for (name, bytes) in &whole {
        let path = set.join(name.trim_start_matches('/'));
        let middle = bytes.len() / 2;
        let changed = [&bytes[..middle], &[bytes[middle] ^ 1], &bytes[middle + 1..]].concat();
        let cut = bytes[..bytes.len() - 2].to_vec();
        let longer = [&bytes[..], b"\n"].concat();
        for (what, other) in [("changed", Some(changed)), ("cut", Some(cut)), ("longer", Some(longer)), ("gone", None)]
        {
            match other {
                Some(other) => std::fs::write(&path, other).expect("a writable file"),
                None => std::fs::remove_file(&path).expect("a file"),
            }
            let (code, said) = validate(&set);
            let file = path.file_name().expect("a name").to_string_lossy();
            // A journal that is longer by an empty line says the same.
            let same = (what, &*file) == ("longer", "journal.jsonl");
            assert_eq!(code, Some(if same { 0 } else { 1 }), "{name}, {what}: {said}");
            // Without options it is no set, and a journal that lacks lines is not that of the
            // manifest.
            let named = said.contains(&*file) || said.contains("no data set of kc") || file == "journal.jsonl";
            assert!(same || named, "{name}, {what}: {said}");
            std::fs::write(&path, bytes).expect("a writable file");
        }
    }
    let journal = std::fs::read_to_string(set.join("journal.jsonl")).expect("a journal");
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    for (other, said) in [
        (lines[0].to_string(), "manifest.json: -: it is not that of the journal"),
        (lines[1].to_string() + lines[0] + lines[0], "line 3 names shard 0 again"),
        (journal.replacen("\"rows\":", "\"rows\":1", 1), "line 1 is not what was written"),
    ] {
        std::fs::write(set.join("journal.jsonl"), &other).expect("a writable file");
        let (code, found) = validate(&set);
        assert!(code == Some(1) && found.contains(said), "{said}: {found}");
    }
    std::fs::write(set.join("journal.jsonl"), &journal).expect("a writable file");
    std::fs::write(set.join("data/pairs/train-00007-of-00009.parquet"), "").expect("a writable file");
    let (code, said) = validate(&set);
    assert!(code == Some(1) && said.contains("no line of the journal names it"), "{said}");
}

/// A limit of the process ends a command with an error of kc, not with a signal; what stood there
/// stays.
#[test]
fn limits_of_the_process_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let under = |limit: &str, args: &str| {
        let script = format!("{limit}; exec {} {args} 2>&1", env!("CARGO_BIN_EXE_kc"));
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().expect("a shell");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/nbody.py");
    std::fs::write(folder.path().join("nbody.o"), "what was there").expect("a writable folder");
    let (code, said) = under("ulimit -f 1", &format!("compile {example} --emit obj -o nbody.o"));
    assert!(code == Some(1) && said.contains("[E0904]: cannot write `nbody.o`: it grows larger"), "{said}");
    assert_eq!(std::fs::read(folder.path().join("nbody.o")).expect("the old file"), b"what was there");
    let (code, said) = under("ulimit -f 8", "dataset -n 3 --emit cuda -o set");
    assert!(code == Some(1) && said.contains("[E0904]") && said.contains("`ulimit -f`"), "{said}");
    let left: Vec<String> = files(&folder.path().join("set")).into_keys().collect();
    assert_eq!(left, ["/options.json"], "nothing half-written stays");
    let (code, said) = under("ulimit -v 4000000", "dataset -n 3 --emit cuda -o other --jobs 1000");
    assert!(code == Some(1) && said.contains("[E1404]: this machine does not start 1000 worker threads"), "{said}");
    let (code, said) = under("true", &format!("compile {example} --emit ptx -o /dev/full"));
    assert!(code == Some(1) && said.contains("[E0904]"), "{said}");
    let (code, said) = under("true", &format!("check {example} --format json --quiet 2>&1 > /dev/full"));
    assert!(!said.contains("panic") && code != Some(101), "{said}");
}

/// On a disk of 64 KiB, where the system lets users mount one.
#[test]
fn a_full_disk_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/raymarch.py");
    let script = format!(
        "mount -t tmpfs -o size=64k none . || exit 77; cd .; echo old > {dir}/b.o\n\
         {kc} compile {example} --no-backward --emit obj -o {dir}/a.o; dd if=/dev/zero of={dir}/rest bs=4k 2>/dev/null\n\
         {kc} compile {example} --emit obj -o {dir}/b.o; echo code $?; cat {dir}/b.o; {kc} dataset -n 2 --emit cuda -o {dir}/set; echo code $?",
        dir = folder.path().display(),
        kc = env!("CARGO_BIN_EXE_kc"),
    );
    let output = Command::new("unshare").args(["-rm", "sh", "-c", &script]).current_dir(folder.path()).output();
    let Ok(output) = output else { return println!("no `unshare` here: not tested") };
    if output.status.code() == Some(77) || output.stdout.is_empty() {
        return println!("no file system can be mounted here: not tested");
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("code 1\nold\n"), "{out}\n{err}");
    assert!(out.ends_with("code 1\n"), "{out}\n{err}");
    assert_eq!(err.matches("the disk is full").count(), 2, "{out}\n{err}");
}
