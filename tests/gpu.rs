//! The way to a GPU, rehearsed on the simulated driver (`libcuda/`), which runs the kernels' PTX:
//! `tests/gpu/run.sh` as users call it, and what is said when the driver refuses.

#[path = "common/gpu.rs"]
mod gpu;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

const KC: &str = env!("CARGO_BIN_EXE_kc");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn done(command: &mut Command) -> Output {
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A folder with the driver by the name that programs look for, and a program.
fn folder() -> &'static Path {
    static ONE: OnceLock<TempDir> = OnceLock::new();
    let made = ONE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        symlink(gpu::library(), folder.path().join("libcuda.so.1")).expect("a link");
        symlink(gpu::library(), folder.path().join("libcuda.so")).expect("a link");
        std::fs::write(folder.path().join("outside.py"), OUTSIDE).expect("a file");
        folder
    });
    made.path()
}

/// A program that finds the driver, which notes what it does.
fn command(program: impl AsRef<std::ffi::OsStr>, log: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", folder()).env("KC_SIM_LOG", log).env("KC_SIM_COUNT", "1");
    command
}

/// What the driver noted of this kind.
fn noted(log: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("the driver notes what it does");
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    events.filter(|event| event["event"] == kind).collect()
}

/// Runs `kc` on the launch of [`OUTSIDE`] with `n` elements and `index` where the driver behaves as
/// `environment` says. Gives the exit code and what was said; nothing may be left on the device.
fn run(index: &str, n: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    run_with(&[], index, n, environment)
}

fn run_with(more: &[&str], index: &str, n: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let logs = tempfile::tempdir().expect("a folder");
    let log = logs.path().join("log");
    let output = command(KC, &log)
        .arg("run")
        .arg(folder().join("outside.py"))
        .args(["--dim", "100", "--arg", &format!("x=ones:{n}"), "--arg", index, "--device", "cuda", "--print", "x"])
        .args(more)
        .envs(environment.iter().copied())
        .output()
        .expect("kc starts");
    // A driver that does not start notes nothing.
    if log.exists() {
        assert_clean(&log);
    }
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Every process released what it took.
fn assert_clean(log: &Path) {
    for end in noted(log, "end") {
        let left = end["left"].as_object().expect("what is left");
        assert!(left.len() == 5 && left.values().all(|count| count == 0), "{end}");
    }
}

const OUTSIDE: &str = "
import warp as wp

@wp.kernel
def outside(x: wp.array(dtype=float), index: int):
    i = wp.tid()
    x[index + i] = 2.0 * x[index + i]
";

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            std::fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
}

#[test]
fn the_script_runs_and_reports() {
    let kit = tempfile::tempdir().expect("a folder");
    let at = |name: &str| kit.path().join(name);
    copy(&root().join("examples"), &at("examples"));
    copy(&root().join("examples/launches"), &at("examples/launches"));
    copy(&root().join("tests/gpu"), kit.path());
    let mut launches = std::fs::read_dir(at("examples/launches")).expect("a folder").count();

    // One program of the run tests represents all: they are prepared in the same way.
    let programs = at("programs");
    std::fs::create_dir(&programs).expect("a folder");
    std::fs::copy(root().join("tests/run/slices.py"), programs.join("slices.py")).expect("a copy");
    let mut prepare = Command::new(root().join(".env-test/bin/python"));
    prepare.arg("-B").arg(root().join("tests/reference/launches.py")).arg("prepare").arg(&programs).arg(at("cases"));
    launches += String::from_utf8_lossy(&done(&mut prepare).stdout).lines().count();

    let (log, report) = (at("log"), at("report.md"));
    let mut script = command(at("run.sh"), &log);
    let output = script.arg(KC).arg(&report).env("REPEATS", "1").output().expect("the script starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!("{launches} launches agree, 0 do not.")), "{said}");
    assert_eq!(said, std::fs::read_to_string(report).expect("a report"));
    assert_clean(&log);
    assert_eq!(noted(&log, "finding"), Vec::<Value>::new());
}

#[test]
fn without_a_gpu_the_script_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(root().join("tests/gpu/run.sh"), &folder.path().join("log"))
        .args([KC, "report.md"])
        .current_dir(folder.path())
        .env("KC_SIM_FAIL", "cuInit:100")
        .output()
        .expect("the script starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("No GPU was found"));
}

#[test]
fn arrays_go_to_the_device_and_come_back() {
    let (code, said) = run("index=0", "100", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("min 2.000000, max 2.000000") && !said.contains("error"), "{said}");
}

const LARGE: &str = "
import warp as wp

@wp.kernel
def large(x: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=9000)
    wp.tile_store(x, wp.tile_scan_inclusive(t) * 2.0 + t)
";

/// More shared memory than a block has without being asked: 72,000 bytes for two tiles. A launch
/// that did not ask would be refused.
#[test]
fn launches_ask_for_the_shared_memory_of_large_tiles() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, log) = (folder.path().join("large.py"), folder.path().join("log"));
    std::fs::write(&program, LARGE).expect("a file");
    let mut kc = command(KC, &log);
    let kc = kc.arg("run").arg(&program).args(["--dim", "1x64", "--block-dim", "64", "--arg", "x=ones:9000"]);
    let output = kc.args(["--device", "cuda", "--print", "x"]).output().expect("kc starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("max 18001"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(noted(&log, "launch").len(), 1);
}

#[test]
fn what_the_driver_refuses_is_said_and_nothing_is_left() {
    // (what the driver does, code, part of the message)
    let cases: &[(&str, &str, &str, &str)] = &[
        ("KC_SIM_FAIL", "cuInit:100", "E1104", "not available"),
        ("KC_SIM_FAIL", "cuDevicePrimaryCtxRetain:2", "E1104", "context"),
        ("KC_SIM_FAIL", "cuModuleLoadDataEx:222", "E1107", "too old for the PTX"),
        ("KC_SIM_FAIL", "cuModuleLoadDataEx:218", "E1107", "does not take the PTX"),
        ("KC_SIM_FAIL", "cuModuleGetFunction:500", "E0999", "has no kernel"),
        ("KC_SIM_FAIL", "cuEventCreate:2", "E1104", "an event"),
        ("KC_SIM_FAIL", "cuMemcpyHtoD_v2:1", "E1104", "a copy to the device"),
        ("KC_SIM_FAIL", "cuMemcpyDtoH_v2:1", "E1104", "a copy from the device"),
        ("KC_SIM_FAIL", "cuLaunchKernel:701", "E1107", "100 threads in blocks of 256"),
        ("KC_SIM_FAIL", "cuLaunchKernel:701", "E1107", "help: launch it in blocks of 1024 threads at most"),
        ("KC_SIM_FAIL", "cuCtxSynchronize:702", "E1107", "ran too long"),
        ("KC_SIM_MEMORY", "1M", "E1107", "has no 2000000 bytes free for an array of the launch; 10"),
    ];
    for &(name, value, wanted, part) in cases {
        let (code, said) = run("index=0", "500000", &[(name, value)]);
        // A fault of kc has a status of its own.
        let status = if wanted == "E0999" { 70 } else { 1 };
        assert_eq!(code, Some(status), "{name}={value}: {said}");
        assert!(said.contains(wanted) && said.contains(part), "{name}={value}: {said}");
        assert!(!said.contains("panicked"), "{name}={value}: {said}");
    }
}

#[test]
fn an_illegal_access_is_explained() {
    let (code, said) = run_with(&["--unchecked"], "index=7", "100", &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("E1107") && said.contains("memory that is not an array's"), "{said}");
    assert!(said.contains("--device host"), "{said}");
    // The simulated GPU knows where.
    assert!(said.contains("error[E1101]: thread 93 of block 0 reads 4 bytes outside of every array"), "{said}");
}

/// As on the host, and the rest of the launch runs.
#[test]
fn an_index_outside_is_found_by_the_thread_that_uses_it() {
    let (code, said) = run("index=1", "100", &[]);
    assert_eq!(code, Some(1), "{said}");
    let words = "E1101]: index 100 is out of bounds for dimension 0 of `x`, which has extent 100, in thread (99)";
    assert!(said.contains(words) && said.contains("outside.py:7:26") && said.contains("x[index + i]"), "{said}");
    assert!(!said.contains("E1107"), "{said}");
    let (code, said) = run("index=-3", "100", &[]);
    assert_eq!(code, Some(0), "negative indices count from the end: {said}");
    let (code, said) = run_with(&["--gradient"], "index=1", "100", &[]);
    assert!(code == Some(1) && said.contains(words), "{said}");
}

#[test]
fn a_launch_of_more_threads_than_a_grid_is_refused() {
    let logs = tempfile::tempdir().expect("a folder");
    let (log, file) = (logs.path().join("log"), logs.path().join("plane.py"));
    let source =
        "import warp as wp\n\n@wp.kernel\ndef plane(x: wp.array(dtype=float)):\n    i, j = wp.tid()\n    x[0] = 1.0\n";
    std::fs::write(&file, source).expect("a file");
    let mut command = command(KC, &log);
    command.arg("run").arg(&file).args(["--dim", "65536,65536", "--arg", "x=ones:1", "--device", "cuda"]);
    let output = command.output().expect("kc starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("E1107") && said.contains("4294967296 threads"), "{said}");
    assert_clean(&log);
}

#[test]
fn dimensions_that_a_kernel_does_not_ask_for_repeat_its_threads() {
    let logs = tempfile::tempdir().expect("a folder");
    let (log, file) = (logs.path().join("log"), logs.path().join("count.py"));
    let source =
        "import warp as wp\n\n@wp.kernel\ndef count(x: wp.array(dtype=int)):\n    wp.atomic_add(x, wp.tid(), 1)\n";
    std::fs::write(&file, source).expect("a file");
    let mut command = command(KC, &log);
    command.arg("run").arg(&file).args(["--dim", "3,4", "--arg", "x=zeros:3", "--device", "cuda", "--print", "x"]);
    let said = String::from_utf8_lossy(&done(&mut command).stdout).into_owned();
    assert!(said.contains("min 4") && said.contains("max 4"), "{said}");
    assert_clean(&log);
}

const GRIDS: &str = "
import warp as wp

@wp.kernel
def scale(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0

@wp.kernel
def total(x: wp.array(dtype=float), sum: wp.array(dtype=float)):
    wp.atomic_add(sum, 0, x[wp.tid() % 100])

@wp.kernel
def tiles(x: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_store(x, wp.tile_load(x, shape=32, offset=i * 32) * 2.0, offset=i * 32)
";

/// Grids cover the launch, in blocks of 256 threads where nobody says how many; one whose blocks
/// add up what they bring to one place has no more threads than the device holds; and a block works
/// on the tiles of one task. The device is a T4: its 40 multiprocessors of 2,048 threads are full
/// after few of them.
#[test]
fn grids_are_those_that_the_kernels_want() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("grids.py");
    std::fs::write(&program, GRIDS).expect("a file");
    let launch = |kernel: &str, dim: &str, flags: &[&str]| {
        let log = folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let mut kc = command(KC, &log);
        kc.env("KC_SIM_ARCH", "sm_75");
        kc.arg("run").arg(&program).args(["-k", kernel, "--dim", dim, "--device", "cuda"]).args(flags);
        done(&mut kc);
        let launches = noted(&log, "launch");
        assert_eq!(launches.len(), 1);
        let of = |name: &str| -> u64 {
            let extents = launches[0][name].as_array().expect(name);
            extents.iter().map(|extent| extent.as_u64().expect(name)).product()
        };
        (of("grid"), of("block"))
    };
    assert_eq!(launch("scale", "1000", &["--arg", "x=ones:1000"]), (4, 256));
    assert_eq!(launch("scale", "1000", &["--block-dim", "64", "--arg", "x=ones:1000"]), (16, 64));
    let sums = ["--arg", "x=ones:100", "--arg", "sum=zeros:1"];
    assert_eq!(launch("total", "1000", &sums), (4, 256));
    assert_eq!(launch("total", "100000", &sums), (40 * 2048 / 256, 256));
    assert_eq!(launch("tiles", "3x64", &["--block-dim", "64", "--arg", "x=ones:96"]), (3, 64));
}
