//! The way to a GPU, rehearsed on a stand-in for the driver (`tests/gpu/standin.c`):
//! `tests/gpu/run.sh` as users call it, and what is said when the driver refuses. What the
//! instructions of the PTX do is not tested here; that takes a GPU.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

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

/// A folder with the driver, and with a library of host entries for every program in `host/`.
struct StandIn {
    folder: TempDir,
}

impl StandIn {
    fn shared() -> &'static StandIn {
        static ONE: OnceLock<StandIn> = OnceLock::new();
        ONE.get_or_init(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let at = |name: &str| folder.path().join(name);
            done(
                Command::new("cc")
                    .args(["-O1", "-shared", "-fPIC", "-o"])
                    .arg(at("libcuda.so"))
                    .args([root().join("tests/gpu/standin.c").as_os_str(), "-ldl".as_ref()]),
            );
            std::fs::create_dir(at("host")).expect("a folder");
            std::fs::write(at("outside.py"), OUTSIDE).expect("a file");
            let this = StandIn { folder };
            this.add(&this.path("outside.py"));
            this
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes the host entries of a program, which stand for its GPU code.
    fn add(&self, program: &Path) {
        let stem = program.file_stem().and_then(|s| s.to_str()).expect("a name");
        let objects = self.path("objects");
        done(
            Command::new(KC)
                .arg("compile")
                .arg(program)
                .args(["--checked", "--export", "--emit", "obj", "-o"])
                .arg(&objects),
        );
        let library = self.path(&format!("host/lib{stem}.so"));
        done(Command::new("cc").args(["-shared", "-o"]).arg(library).arg(objects.join(format!("{stem}.o"))).arg("-lm"));
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>, log: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.folder.path()).env("STANDIN_HOST", self.path("host"));
        command.env("STANDIN_LOG", log);
        command
    }

    /// Runs `kc` on the launch of [`OUTSIDE`] with `index` where the driver behaves as
    /// `environment` says. Gives the exit code and what was said; nothing may be left on the
    /// device.
    fn run(&self, index: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
        let logs = tempfile::tempdir().expect("a folder");
        let log = logs.path().join("log");
        let output = self
            .command(KC, &log)
            .arg("run")
            .arg(self.path("outside.py"))
            .args(["--dim", "100", "--arg", "x=ones:100", "--arg", index, "--device", "cuda", "--print", "x"])
            .envs(environment.iter().copied())
            .output()
            .expect("kc starts");
        assert_clean(&log);
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }
}

/// Every process released what it took.
fn assert_clean(log: &Path) {
    let text = std::fs::read_to_string(log).expect("the stand-in reports");
    for line in text.lines() {
        assert!(line.ends_with("left: contexts=0 modules=0 events=0 blocks=0"), "{line}");
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
    let standin = StandIn::shared();
    let kit = tempfile::tempdir().expect("a folder");
    let at = |name: &str| kit.path().join(name);
    copy(&root().join("examples"), &at("examples"));
    copy(&root().join("examples/launches"), &at("examples/launches"));
    copy(&root().join("tests/gpu"), kit.path());
    let mut launches = 0;
    for entry in std::fs::read_dir(at("examples")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "py") {
            standin.add(&path);
        }
    }
    launches += std::fs::read_dir(at("examples/launches")).expect("a folder").count();

    // One program of the run tests represents all: they are prepared in the same way.
    let programs = at("programs");
    std::fs::create_dir(&programs).expect("a folder");
    std::fs::copy(root().join("tests/run/slices.py"), programs.join("slices.py")).expect("a copy");
    let mut prepare = Command::new(root().join(".env-test/bin/python"));
    prepare.arg("-B").arg(root().join("tests/reference/launches.py")).arg("prepare").arg(&programs).arg(at("cases"));
    launches += String::from_utf8_lossy(&done(&mut prepare).stdout).lines().count();
    standin.add(&at("cases/slices.py"));

    let (log, report) = (at("log"), at("report.md"));
    let output = standin.command(at("run.sh"), &log).arg(KC).arg(&report).output().expect("the script starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!("{launches} launches agree, 0 do not.")), "{said}");
    assert_eq!(said, std::fs::read_to_string(report).expect("a report"));
    assert_clean(&log);
}

#[test]
fn without_a_gpu_the_script_fails() {
    let (standin, folder) = (StandIn::shared(), tempfile::tempdir().expect("a folder"));
    let output = standin
        .command(root().join("tests/gpu/run.sh"), &folder.path().join("log"))
        .args([KC, "report.md"])
        .current_dir(folder.path())
        .env("STANDIN_FAIL", "cuInit:100")
        .output()
        .expect("the script starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("No GPU was found"));
}

#[test]
fn arrays_go_to_the_device_and_come_back() {
    let (code, said) = StandIn::shared().run("index=0", &[]);
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

/// More shared memory than a block has without being asked: 72,000 bytes for two tiles.
#[test]
fn launches_ask_for_the_shared_memory_of_large_tiles() {
    let (standin, folder) = (StandIn::shared(), tempfile::tempdir().expect("a folder"));
    let (program, log) = (folder.path().join("large.py"), folder.path().join("log"));
    std::fs::write(&program, LARGE).expect("a file");
    standin.add(&program);
    let mut kc = standin.command(KC, &log);
    let kc = kc.arg("run").arg(&program).args(["--dim", "1x64", "--block-dim", "64", "--arg", "x=ones:9000"]);
    let output = kc.args(["--device", "cuda", "--print", "x"]).output().expect("kc starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("max 18001"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(log).expect("the stand-in reports");
    assert!(log.contains("launches=1 ") && log.contains("shared=72000 "), "{log}");
}

#[test]
fn what_the_driver_refuses_is_said_and_nothing_is_left() {
    // (what the driver does, code, part of the message)
    let cases: &[(&str, &str, &str, &str)] = &[
        ("STANDIN_FAIL", "cuInit:100", "E1104", "not available"),
        ("STANDIN_FAIL", "cuDevicePrimaryCtxRetain:2", "E1104", "context"),
        ("STANDIN_FAIL", "cuModuleLoadDataEx:222", "E1107", "too old for the PTX"),
        ("STANDIN_FAIL", "cuModuleLoadDataEx:218", "E1107", "does not take the PTX"),
        ("STANDIN_FAIL", "cuModuleGetFunction:500", "E0999", "has no kernel"),
        ("STANDIN_FAIL", "cuEventCreate:2", "E1104", "an event"),
        ("STANDIN_FAIL", "cuMemcpyHtoD_v2:1", "E1104", "a copy to the device"),
        ("STANDIN_FAIL", "cuMemcpyDtoH_v2:1", "E1104", "a copy from the device"),
        ("STANDIN_FAIL", "cuLaunchKernel:701", "E1107", "100 threads in blocks of 256"),
        ("STANDIN_FAIL", "cuCtxSynchronize:702", "E1107", "ran too long"),
        ("STANDIN_MEMORY", "100", "E1107", "has no 400 bytes free"),
    ];
    for &(name, value, wanted, part) in cases {
        let (code, said) = StandIn::shared().run("index=0", &[(name, value)]);
        // A fault of kc has a status of its own.
        let status = if wanted == "E0999" { 70 } else { 1 };
        assert_eq!(code, Some(status), "{name}={value}: {said}");
        assert!(said.contains(wanted) && said.contains(part), "{name}={value}: {said}");
        assert!(!said.contains("panicked"), "{name}={value}: {said}");
    }
}

#[test]
fn an_illegal_access_is_explained() {
    let (code, said) = StandIn::shared().run("index=7", &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("E1107") && said.contains("memory that is not an array's"), "{said}");
    assert!(said.contains("--device host"), "{said}");
}

#[test]
fn a_launch_of_more_threads_than_a_grid_is_refused() {
    let standin = StandIn::shared();
    let logs = tempfile::tempdir().expect("a folder");
    let (log, file) = (logs.path().join("log"), logs.path().join("plane.py"));
    let source =
        "import warp as wp\n\n@wp.kernel\ndef plane(x: wp.array(dtype=float)):\n    i, j = wp.tid()\n    x[0] = 1.0\n";
    std::fs::write(&file, source).expect("a file");
    standin.add(&file);
    let mut command = standin.command(KC, &log);
    command.arg("run").arg(&file).args(["--dim", "65536,65536", "--arg", "x=ones:1", "--device", "cuda"]);
    let output = command.output().expect("kc starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("E1107") && said.contains("4294967296 threads"), "{said}");
    assert_clean(&log);
}

#[test]
fn dimensions_that_a_kernel_does_not_ask_for_repeat_its_threads() {
    let standin = StandIn::shared();
    let logs = tempfile::tempdir().expect("a folder");
    let (log, file) = (logs.path().join("log"), logs.path().join("count.py"));
    let source =
        "import warp as wp\n\n@wp.kernel\ndef count(x: wp.array(dtype=int)):\n    wp.atomic_add(x, wp.tid(), 1)\n";
    std::fs::write(&file, source).expect("a file");
    standin.add(&file);
    let mut command = standin.command(KC, &log);
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
/// add up what they bring to one place has no more threads than the device holds (132
/// multiprocessors of 2,048); and a block works on the tiles of one task.
#[test]
fn grids_are_those_that_the_kernels_want() {
    let (standin, folder) = (StandIn::shared(), tempfile::tempdir().expect("a folder"));
    let program = folder.path().join("grids.py");
    std::fs::write(&program, GRIDS).expect("a file");
    standin.add(&program);
    let launch = |kernel: &str, dim: &str, flags: &[&str]| {
        let log = folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let mut kc = standin.command(KC, &log);
        kc.arg("run").arg(&program).args(["-k", kernel, "--dim", dim, "--device", "cuda"]).args(flags);
        done(&mut kc);
        let text = std::fs::read_to_string(log).expect("the stand-in reports");
        let of = |name: &str| -> u64 {
            let line = text.lines().find(|line| line.starts_with("launches=1 ")).expect("one launch");
            let from = line.split_once(&format!(" {name}=")).expect(name).1;
            from.split(' ').next().and_then(|number| number.parse().ok()).expect(name)
        };
        (of("grid"), of("block"))
    };
    assert_eq!(launch("scale", "1000", &["--arg", "x=ones:1000"]), (4, 256));
    assert_eq!(launch("scale", "1000", &["--block-dim", "64", "--arg", "x=ones:1000"]), (16, 64));
    let sums = ["--arg", "x=ones:100", "--arg", "sum=zeros:1"];
    assert_eq!(launch("total", "1000", &sums), (4, 256));
    assert_eq!(launch("total", "1000000", &sums), (132 * 2048 / 256, 256));
    assert_eq!(launch("tiles", "3x64", &["--block-dim", "64", "--arg", "x=ones:96"]), (3, 64));
}
