//! What is left when `kc run` is stopped? No process, no temporary file; and what is left of a
//! launch that takes too long?
#![cfg(target_os = "linux")]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A kernel that never ends where `x` is positive.
const ENDLESS: &str = "import warp as wp


@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    while x[i] > 0.0:
        x[i] = x[i] * 1.0
";

/// Launch files of it: `short.json`, whose threads end at once, and `endless.json`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.py"), ENDLESS).expect("a source");
    for (id, fill) in [("short", 0.0), ("endless", 1.0)] {
        let dtype = json!({"class": "scalar", "scalar": "float32"});
        let x = json!({"name": "x", "kind": "array", "dtype": dtype, "ndim": 1, "shape": [4], "fill": fill});
        let launch = json!({"format": 1, "id": id, "source": "k.py", "dim": [4], "args": [x]});
        std::fs::write(folder.path().join(format!("{id}.json")), launch.to_string()).expect("a launch");
    }
    std::fs::create_dir(folder.path().join("tmp")).expect("a folder");
    folder
}

fn kc(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    command.arg("run").args(args).current_dir(folder).env("TMPDIR", folder.join("tmp"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // What runs in the background of a shell inherits signals that are ignored.
    // SAFETY: `signal` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn status(folder: &Path, id: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(format!("out/{id}.json"))).expect("a result file");
    serde_json::from_str(&text).expect("JSON")
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Whether it runs; one that has ended and waits to be asked for its status does not.
fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

/// What is promised: kc and its worker are gone by then.
const SOON: Duration = Duration::from_secs(1);

fn wait_for(what: &str, limit: Duration, mut test: impl FnMut() -> bool) {
    let start = Instant::now();
    while !test() {
        assert!(start.elapsed() < limit, "{what} within {limit:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Until the worker has passed the first launch and is at the one without end.
fn at_work(folder: &Path, child: &Child) -> u32 {
    let mut worker = None;
    wait_for("a worker", Duration::from_secs(60), || {
        worker = children(child.id()).first().copied();
        worker.is_some() && folder.join("out/short.json").exists()
    });
    worker.expect("a worker")
}

#[test]
fn no_process_and_no_file_outlives_a_signal() {
    for signal in ["INT", "TERM", "HUP", "QUIT", "KILL", "ABRT"] {
        let folder = folder();
        let files = ["short.json", "endless.json", "--out-dir", "out"];
        let mut child = kc(folder.path(), &files).spawn().expect("kc starts");
        let worker = at_work(folder.path(), &child);
        let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        wait_for("the end of kc", SOON, || child.try_wait().expect("a child").is_some());
        wait_for(&format!("the end of its worker after {signal}"), SOON, || !runs(worker));
        let left: Vec<_> = std::fs::read_dir(folder.path().join("tmp")).expect("a folder").collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
        let results: Vec<String> = std::fs::read_dir(folder.path().join("out"))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        assert!(results.iter().all(|name| name.starts_with("short.")), "{signal}: {results:?}");
    }
}

#[test]
fn a_launch_that_takes_too_long_costs_itself_alone() {
    let folder = folder();
    let path = folder.path();
    std::fs::copy(path.join("short.json"), path.join("after.json")).expect("a copy");
    let text_of = std::fs::read_to_string(path.join("after.json")).expect("a launch").replace("\"short\"", "\"after\"");
    std::fs::write(path.join("after.json"), text_of).expect("a launch");
    let args = ["short.json", "endless.json", "after.json", "--out-dir", "out", "--timeout", "8"];
    let output = kc(path, &args).output().expect("kc starts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("error[E1110]: endless.json took longer than 8 s"), "{}", text(&output));
    assert_eq!(status(path, "short")["status"], "ok");
    assert_eq!(status(path, "endless")["code"], "E1110");
    assert_eq!(status(path, "after")["status"], "ok");
    assert!(!path.join("out/endless.npz").exists());
}

/// By flags, too; and a launch that is done in time is as without the option.
#[test]
fn flags_have_the_limit_too() {
    let folder = folder();
    let path = folder.path();
    let run = |x: &str, more: &[&str]| {
        let args = [&["k.py", "-k", "k", "--dim", "4", "--out-dir", "out", "--print", "x", "--arg", x], more].concat();
        kc(path, &args).output().expect("kc starts")
    };
    let late = run("x=ones:4", &["--timeout", "2.5"]);
    assert_eq!(late.status.code(), Some(1), "{}", text(&late));
    assert!(text(&late).contains("error[E1110]: k.py took longer than 2.5 s"), "{}", text(&late));
    assert_eq!(status(path, "k")["code"], "E1110");
    let (with, without) = (run("x=zeros:4", &["--timeout", "60"]), run("x=zeros:4", &[]));
    assert!(with.status.success() && without.status.success(), "{}", text(&with));
    let table = |output: &Output| text(output).lines().take(6).map(String::from).collect::<Vec<_>>();
    assert_eq!(table(&with), table(&without));
    assert_eq!(status(path, "k")["status"], "ok");
    for bad in ["0", "-1", "nan", "inf", "soon"] {
        assert_eq!(run("x=zeros:4", &["--timeout", bad]).status.code(), Some(2), "{bad}");
    }
}

/// Wherever it is in its work, writing above all.
#[test]
fn no_file_is_left_half_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] = 1.0\n";
    std::fs::write(folder.path().join("k.py"), source).expect("a source");
    std::fs::create_dir(folder.path().join("tmp")).expect("a folder");
    let args = ["k.py", "--dim", "1000000", "--arg", "x=zeros:1000000", "--out-dir", "out", "--timeout", "600"];
    let start = Instant::now();
    let whole = kc(folder.path(), &args).output().expect("kc starts");
    assert!(whole.status.success(), "{}", text(&whole));
    let time = start.elapsed();
    for n in 0..30 {
        let mut child = kc(folder.path(), &args).spawn().expect("kc starts");
        std::thread::sleep(time * n / 30);
        let workers = children(child.id());
        // SAFETY: the process is a child that nobody has waited for.
        unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
        child.wait().expect("a child");
        wait_for("the end of its worker", SOON, || !workers.iter().any(|&worker| runs(worker)));
        let results = std::fs::read_dir(folder.path().join("out")).expect("results");
        let mut results: Vec<_> = results.flatten().map(|file| file.file_name()).collect();
        results.sort();
        assert_eq!(results, ["k.json", "k.npz", "x.npy"], "after {:?}", time * n / 30);
    }
}
