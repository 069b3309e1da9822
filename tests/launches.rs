//! `kc run` as a user calls it: exit codes, result files, messages. The kernels are IR text, so
//! that nothing but running is tested; `tests/run/` has the kernels in Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const DEVICES: [&str; 2] = ["host", "interp"];

/// y = a x + y.
const SAXPY: &str = "kernel @saxpy(%a: float32, %x: array(dtype=float32), %y: array(dtype=float32)) rank 1 {
  %i: int32 = thread_index 0
  %0: float32 = load %x[%i]
  %1: float32 = mul %a, %0
  %2: float32 = load %y[%i]
  %3: float32 = add %1, %2
  store %y[%i], %3
  return
}
";

/// Prints each thread's coordinates and asserts that the first is not 2.
const TALK: &str = "kernel @talk() rank 2 {
  %i: int32 = thread_index 0
  %j: int32 = thread_index 1
  print \"%d,%d\\n\", %i, %j
  %two: int32 = const 2
  %ok: bool = ne %i, %two
  assert %ok, \"i is two\"
  return
}
";

/// Writes its coordinates' sum over a two-dimensional array.
const SUMS: &str = "kernel @sums(%out: array2d(dtype=int32)) rank 2 {
  %i: int32 = thread_index 0
  %j: int32 = thread_index 1
  %s: int32 = add %i, %j
  store %out[%i, %j], %s
  return
}
";

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        for (name, text) in [("saxpy.ir", SAXPY), ("talk.ir", TALK), ("sums.ir", SUMS)] {
            folder.write(name, text);
        }
        folder.write("both.ir", &format!("{SAXPY}\n{TALK}"));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
        self.path(name)
    }

    /// A launch file in a folder of its own.
    fn launch(&self, id: &str, source: &str, dim: &[u32], args: Value) -> PathBuf {
        let source = self.path(source);
        let launch = json!({"format": 1, "id": id, "source": source, "dim": dim, "args": args});
        self.write(&format!("{id}/case.json"), &launch.to_string())
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kc"))
            .arg("run")
            .args(args)
            .current_dir(self.0.path())
            .output()
            .expect("kc starts")
    }

    fn status(&self, id: &str) -> Value {
        let text = std::fs::read_to_string(self.path(&format!("out/{id}.json"))).expect("a status file");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The data of a `.npy` file of 4-byte scalars, in its last bytes.
    fn npy(&self, name: &str, count: usize) -> Vec<[u8; 4]> {
        let bytes = std::fs::read(self.path(name)).expect("a result");
        assert!(bytes.starts_with(b"\x93NUMPY"));
        bytes[bytes.len() - 4 * count..].as_chunks().0.to_vec()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn flags_run_a_kernel() {
    for device in DEVICES {
        let folder = Folder::new();
        let output = folder.run(&[
            "saxpy.ir",
            "--dim",
            "5",
            "--arg",
            "a=-2",
            "--arg",
            "x=range:5",
            "--arg",
            "y=ones:f32:5",
            "--out-dir",
            "out",
            "--device",
            device,
            "--print",
            "y:3",
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let y: Vec<f32> = folder.npy("out/y.npy", 5).into_iter().map(f32::from_le_bytes).collect();
        assert_eq!(y, [1.0, -1.0, -3.0, -5.0, -7.0], "{device}");
        let shown = text(&output.stdout);
        assert!(shown.contains("y: float32 (5)") && shown.contains("-3.0") && shown.contains("2 more rows"), "{shown}");
        assert_eq!(folder.status("saxpy")["status"], "ok");
        assert!(folder.path("out/saxpy.npz").exists());
    }
}

#[test]
fn large_launches_are_complete() {
    // Many pieces, and rows that do not divide evenly.
    for (device, unchecked) in [("host", false), ("host", true), ("interp", false)] {
        let folder = Folder::new();
        let mut args = vec![
            "sums.ir",
            "--dim",
            "701x333",
            "--arg",
            "out=zeros:701x333",
            "--out-dir",
            "out",
            "--device",
            device,
            "--threads",
            "3",
        ];
        args.extend(unchecked.then_some("--unchecked"));
        let output = folder.run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let sums = folder.npy("out/out.npy", 701 * 333);
        let wrong = (0..701 * 333).find(|&n| i32::from_le_bytes(sums[n]) != (n / 333 + n % 333) as i32);
        assert_eq!(wrong, None, "{device}");
    }
}

#[test]
fn one_failure_stops_no_other() {
    for device in DEVICES {
        let folder = Folder::new();
        let value = |v: f64| json!({"name": "a", "kind": "value", "value": v, "dtype": {"class": "scalar", "scalar": "float32", "shape": []}});
        let unset = |name: &str| json!({"name": name, "kind": "array", "ndim": 1, "null": true, "dtype": {"class": "scalar", "scalar": "float32", "shape": []}});
        let files = [
            folder.launch("idle", "saxpy.ir", &[0], json!([value(1.0), unset("x"), unset("y")])),
            folder.write("broken/case.json", "{"),
            folder.path("absent/case.json"),
            folder.launch("short", "saxpy.ir", &[3], json!([value(1.0), unset("x")])),
            folder.launch("outside", "saxpy.ir", &[3], json!([value(1.0), unset("x"), unset("y")])),
            folder.launch("talk", "talk.ir", &[2, 2], json!([])),
            folder.launch("assert", "talk.ir", &[3, 1], json!([])),
            folder.launch("unnamed", "both.ir", &[1], json!([])),
            folder.launch("nowhere", "absent.ir", &[1], json!([])),
            folder.launch("last", "talk.ir", &[1], json!([])),
        ];
        let mut args: Vec<&str> = files.iter().map(|f| f.to_str().expect("UTF-8")).collect();
        args.extend(["--out-dir", "out", "--device", device]);
        let output = folder.run(&args);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        for (id, code, word) in [
            ("idle", None, ""),
            ("broken", Some("E1001"), "case.json"),
            ("absent", Some("E1001"), "case.json"),
            ("short", Some("E1004"), "`y`"),
            ("outside", Some("E1101"), "`x`, which has extent 0, in thread (0)"),
            ("talk", None, ""),
            ("assert", Some("E1102"), "thread (2, 0): i is two"),
            ("unnamed", Some("E1003"), "`saxpy` and `talk`"),
            ("nowhere", Some("E0901"), "absent.ir"),
            ("last", None, ""),
        ] {
            let status = folder.status(id);
            assert_eq!(status["status"], if code.is_some() { "error" } else { "ok" }, "{device} {id}: {status}");
            assert_eq!(status["code"], json!(code), "{device} {id}: {status}");
            assert!(status["message"].as_str().unwrap_or("").contains(word), "{device} {id}: {status}");
        }
        // Threads that print run in order, whatever the device; a failed assert lets the thread go
        // on.
        assert_eq!(folder.status("talk")["printed"], "0,0\n0,1\n1,0\n1,1\n", "{device}");
        assert_eq!(folder.status("assert")["printed"], "0,0\n1,0\n2,0\n", "{device}");
        assert!(text(&output.stdout).contains("0,0\n0,1\n1,0\n1,1\n"));
    }
}

#[test]
fn a_crash_costs_one_launch() {
    // Without index tests, a null array is read at address 0.
    let folder = Folder::new();
    let unset = |name: &str| json!({"name": name, "kind": "array", "ndim": 1, "null": true, "dtype": {"class": "scalar", "scalar": "float32", "shape": []}});
    let a = json!({"name": "a", "kind": "value", "value": 1, "dtype": {"class": "scalar", "scalar": "float32", "shape": []}});
    let files = [
        folder.launch("first", "talk.ir", &[1], json!([])),
        folder.launch("crash", "saxpy.ir", &[1], json!([a, unset("x"), unset("y")])),
        folder.launch("second", "talk.ir", &[1], json!([])),
        folder.launch("again", "saxpy.ir", &[1], json!([a, unset("x"), unset("y")])),
    ];
    let mut args: Vec<&str> = files.iter().map(|f| f.to_str().expect("UTF-8")).collect();
    args.extend(["--out-dir", "out", "--unchecked"]);
    let output = folder.run(&args);
    assert_eq!(output.status.code(), Some(70), "{}", text(&output.stderr));
    for (id, code) in [("first", None), ("crash", Some("E0999")), ("second", None), ("again", Some("E0999"))] {
        let status = folder.status(id);
        assert_eq!(status["code"], json!(code), "{id}: {status}");
    }
    assert!(text(&output.stderr).contains("signal 11"), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_run_is_said() {
    let folder = Folder::new();
    let launch = folder.launch("case", "talk.ir", &[1], json!([]));
    let launch = launch.to_str().expect("UTF-8");
    let twice = [launch, launch, "--out-dir", "out"];
    std::fs::write(folder.path("file"), "").expect("a file");
    let cases: &[(&[&str], i32, &str)] = &[
        (&[], 2, ""),
        (&["saxpy.ir"], 2, "E1012"),
        (&["saxpy.ir", "talk.ir", "--dim", "1"], 2, "E1012"),
        (&[launch, "saxpy.ir"], 2, "E1012"),
        (&[launch, "--dim", "4"], 2, "E1012"),
        (&[launch, "--arg", "a=4"], 2, "E1012"),
        (&[launch, "-k", "talk"], 2, "E1012"),
        (&["saxpy.ir", "--dim", "many"], 2, "E1012"),
        (&["talk.ir", "--dim", "1", "--print", "y:z"], 2, "E1012"),
        (&["talk.ir", "--dim", "1", "--print", "y"], 2, "E1012"),
        (&["talk.ir", "--dim", "1", "--png", "y"], 2, "E1012"),
        (&["talk.ir", "--dim", "1", "--device", "abacus"], 2, "abacus"),
        (&["talk.ir", "--dim", "1", "--threads", "100000"], 2, "100000"),
        (&["talk.ir", "--dim", "1", "--arg", "a=1"], 1, "E1004"),
        (&["both.ir", "--dim", "1"], 1, "E1003"),
        (&["both.ir", "--dim", "1", "-k", "other"], 1, "E0905"),
        (&["absent.ir", "--dim", "1"], 1, "E0901"),
        (&["talk.ir", "--dim", "2147483647x2147483647x2147483647"], 1, "E1006"),
        (&["talk.ir", "--dim", "1", "--out-dir", "file"], 1, "E0904"),
        (&["talk.ir", "--dim", "1", "--out-dir", "/proc/none"], 1, "E0904"),
        (&twice, 1, "E0906"),
    ];
    for (args, code, word) in cases {
        let output = folder.run(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
    }
}

/// Where there is a GPU, the launch runs; where there is none, the code says so. `kc devices` knows
/// which.
#[test]
fn a_launch_on_a_gpu_runs_or_says_that_there_is_none() {
    let folder = Folder::new();
    let kc = |args: &[&str]| std::process::Command::new(env!("CARGO_BIN_EXE_kc")).args(args).output().expect("kc runs");
    let devices = kc(&["devices", "--json"]);
    let listed = text(&devices.stdout);
    assert!(listed.contains(r#""device":"host""#) && listed.contains(r#""device":"interp""#), "{listed}");
    let has_gpu = listed.contains(r#""device":"cuda:0""#);
    assert_eq!((devices.status.code(), text(&devices.stderr).as_str()), (Some(0), ""));
    let table = kc(&["devices"]);
    assert_eq!(table.status.code(), Some(0), "{}", text(&table.stderr));
    assert_eq!(text(&table.stdout).contains("\ncuda    not available: "), !has_gpu, "{}", text(&table.stdout));
    let output = folder.run(&["talk.ir", "--dim", "1", "--device", "cuda"]);
    assert_eq!(output.status.code(), Some(i32::from(!has_gpu)), "{}", text(&output.stderr));
    if !has_gpu {
        assert!(text(&output.stderr).contains("E1104"));
    }
}

#[test]
fn pictures() {
    let folder = Folder::new();
    let output = folder.run(&[
        "sums.ir",
        "--dim",
        "30x40",
        "--arg",
        "out=zeros:30x40",
        "--png",
        "out=sums.png",
        "--device",
        "interp",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = std::io::BufReader::new(std::fs::File::open(folder.path("sums.png")).expect("a picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a small picture")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    assert_eq!((info.width, info.height), (40, 30));
    // 0 to 68 becomes 0 to 255.
    assert_eq!((pixels[0], pixels[30 * 40 - 1], pixels[39]), (0, 255, 146));
    for bad in ["out:3x3=a.png", "nothing=a.png"] {
        let output =
            folder.run(&["sums.ir", "--dim", "2x2", "--arg", "out=zeros:2x2", "--png", bad, "--device", "interp"]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn bench_counts_bytes_and_operations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_kc"))
        .args(["bench", "--repeats", "2", "--json"])
        .args(["saxpy", "accelerate"].map(|name| root.join(format!("examples/launches/{name}.json"))))
        .output()
        .expect("kc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let row = |id: &str, phase: &str| {
        rows.iter().find(|r| r["id"] == id && r["phase"] == phase).unwrap_or_else(|| panic!("{rows:?}"))
    };
    let saxpy = row("saxpy", "forward");
    // Two operations a thread; x is read, y is read and written.
    assert_eq!(saxpy["operations"], 2.0 * 100_003.0);
    assert_eq!(saxpy["bytes"], 3 * 4 * 100_003);
    assert_eq!(saxpy["wall"].as_array().map(Vec::len), Some(2));
    // About twenty operations for each pair of bodies.
    let forward = row("accelerate", "forward")["operations"].as_f64().expect("a number");
    let backward = row("accelerate", "backward")["operations"].as_f64().expect("a number");
    assert!(forward > 512.0 * 511.0 * 15.0 && forward < 512.0 * 511.0 * 25.0, "{forward}");
    assert!(backward > forward && backward < 5.0 * forward, "{backward}");
}

/// An element is counted once, however far apart the elements are.
#[test]
fn bench_counts_the_bytes_of_elements() {
    let folder = Folder::new();
    folder.write(
        "rows.py",
        "import warp as wp\n\n\n@wp.kernel\ndef rows(x: wp.array2d(dtype=float), o: wp.array(dtype=float)):\n    i = wp.tid()\n    s = float(0.0)\n    for j in range(x.shape[1]):\n        s += x[i, j]\n    o[i] = s\n",
    );
    for (strides, elements) in [([64, 4], 16 * 16), ([4, 64], 16 * 16), ([256, 16], 16 * 16), ([0, 4], 16)] {
        let array = |name: &str, shape: &[u32]| json!({"name": name, "kind": "array", "dtype": "float32", "ndim": shape.len(), "shape": shape, "fill": 1});
        let mut x = array("x", &[16, 16]);
        x["strides"] = json!(strides);
        let launch = folder.launch("rows", "rows.py", &[16], json!([x, array("o", &[16])]));
        let output =
            Command::new(env!("CARGO_BIN_EXE_kc")).args(["bench", "--repeats", "1", "--json"]).arg(launch).output();
        let output = output.expect("kc starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let row: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(row["bytes"], 4 * (elements + 16), "{strides:?}");
    }
}

#[test]
fn bench_of_a_source_file_says_what_a_launch_file_is() {
    let folder = Folder::new();
    let output =
        Command::new(env!("CARGO_BIN_EXE_kc")).args(["bench", "saxpy.ir"]).current_dir(folder.path("")).output();
    let output = output.expect("kc starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("E1001") && said.contains("saxpy.ir is a source file") && said.contains("docs/launches.md"));
}

/// What is behind a test is not read before it, also where nothing checks the reads: the array may
/// be absent, and the index anything.
#[test]
fn reads_behind_a_test_wait_for_it() {
    let folder = Folder::new();
    folder.write(
        "guarded.py",
        "import warp as wp

@wp.func
def row_end(offsets: wp.array(dtype=int), counts: wp.array(dtype=int), row: int):
    if counts:
        return offsets[row] + counts[row]
    return offsets[row + 1]

@wp.kernel
def ends(at: wp.array(dtype=int), counts: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = float(row_end(at, counts, i))

@wp.kernel
def chosen(at: wp.array(dtype=int), counts: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = counts[i] if counts else 1.0
    if counts and i > 2:
        s += counts[i] * counts[i]
    block = at[i] - 1
    for k in range(3):
        value = 0.0
        if block != i - 1 and block >= 0:
            value = counts[block]
        if i < 0:
            value = counts[k] * value
        s += value
    if not counts:
        out[i] = s + float(i)
        return
    while s < 10.0:
        s = s * counts[i] + 1.0
    out[i] = s

@wp.kernel
def early(at: wp.array(dtype=int), counts: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    block = at[i]
    read = float(0.0)
    if block != i:
        read = counts[1000000000]
    n = 0
    if counts:
        n = counts.shape[0]
    for k in range(n):
        read += counts[k]
    out[i] = read + float(i + 1)
",
    );
    for kernel in ["ends", "chosen", "early"] {
        for (device, unchecked) in [("host", true), ("host", false), ("interp", false)] {
            let args = ["guarded.py", "-k", kernel, "--dim", "40", "--arg", "at=range:41", "--arg", "counts=null"];
            let out = ["--arg", "out=zeros:40", "--out-dir", "out", "--device", device, "--threads", "1"];
            let output = folder.run(&[&args[..], &out, if unchecked { &["--unchecked"] } else { &[] }].concat());
            assert_eq!(output.status.code(), Some(0), "{kernel}: {}", text(&output.stderr));
            let out: Vec<f32> = folder.npy("out/out.npy", 40).into_iter().map(f32::from_le_bytes).collect();
            let expected: Vec<f32> = (1..41).map(|n| n as f32).collect();
            assert_eq!(out, expected, "{kernel} on {device}");
        }
    }
}

/// Workers that each add to a copy of their own give the sum of what each would give alone, bit by
/// bit. Workers that share the array add in another order.
#[test]
fn workers_add_to_copies_of_their_own() {
    let folder = Folder::new();
    folder.write(
        "sum.py",
        "import warp as wp

@wp.kernel
def sum(x: wp.array(dtype=float), first: int, s: wp.array2d(dtype=wp.vec3)):
    v = x[first + wp.tid()]
    wp.atomic_add(s, 0, 1, wp.vec3(v, v * v, -1.5))
",
    );
    let sum = |first: u32, dim: u32, threads: u32| -> Vec<f32> {
        let numbers = [format!("first={first}"), dim.to_string(), threads.to_string()];
        let [first, dim, threads] = numbers.each_ref().map(String::as_str);
        let arrays = ["--arg", "x=random:1:100000", "--arg", "s=zeros:1,2", "--out-dir", "out"];
        let args = [&["sum.py", "--arg", first, "--dim", dim, "--threads", threads][..], &arrays].concat();
        let output = folder.run(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        folder.npy("out/s.npy", 6).into_iter().map(f32::from_le_bytes).collect()
    };
    for workers in [2, 4] {
        let part = 100_000 / workers;
        let mut expected = vec![0.0; 6];
        for worker in 0..workers {
            let own = sum(worker * part, part, 1);
            expected.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        assert_eq!(sum(0, 100_000, workers), expected, "{workers} workers");
        assert_ne!(sum(0, 100_000, 1), expected, "the sum does not depend on its order: the test shows nothing");
    }
}

/// Workers that add to rows of their own of an array, or to ranges that memory gives, leave what
/// one leaves. The sums are exact, so that only updates that were lost, made twice or put elsewhere
/// differ.
#[test]
fn workers_add_to_rows_of_their_own() {
    let folder = Folder::new();
    folder.write(
        "rows.py",
        "import warp as wp

@wp.kernel
def guarded(x: wp.array2d(dtype=int), s: wp.array2d(dtype=int)):
    i, j = wp.tid()
    if i > 0 and i < x.shape[0] - 1:
        wp.atomic_add(s, i - 1, j, x[i, j])
        wp.atomic_add(s, i + 1, j, 3 * x[i, j])
        wp.atomic_add(s, i, (j * 7) % 100, 5)

@wp.kernel
def wrapped(x: wp.array2d(dtype=int), s: wp.array2d(dtype=int)):
    i, j = wp.tid()
    wp.atomic_add(s, i - 2, j, x[i, j])
    wp.atomic_add(s, i, j, 3 * x[i, j])
    for k in range(100):
        wp.atomic_add(s, i, k, 1)

@wp.kernel
def turned(x: wp.array2d(dtype=int), s: wp.array2d(dtype=int)):
    i, j = wp.tid()
    if i < 100:
        wp.atomic_add(s, j, i, x[i, j])

@wp.kernel
def ranges(rows: wp.array(dtype=int), x: wp.array2d(dtype=int), s: wp.array(dtype=int)):
    i, j = wp.tid()
    for k in range(rows[i], rows[i + 1]):
        wp.atomic_add(s, k, x[i, j])
",
    );
    let run = |kernel: &str, threads: &str, arrays: &[&str], count: usize| -> Vec<i32> {
        let mut args = vec!["rows.py", "-k", kernel, "--dim", "600,100", "--threads", threads, "--out-dir", "out"];
        args.extend(["--arg", "x=range:600,100"]);
        args.extend(arrays);
        let output = folder.run(&args);
        assert!(output.status.success(), "{kernel}: {}", text(&output.stderr));
        folder.npy("out/s.npy", count).into_iter().map(i32::from_le_bytes).collect()
    };
    // Numbers that rise, those that do not, and one below 0, which counts from the end.
    let rising: Vec<i32> = (0..601).map(|n| n * 7 / 2).collect();
    let mut falling = rising.clone();
    falling.reverse();
    falling.iter_mut().step_by(3).for_each(|n| *n /= 2);
    let mut negative = rising.clone();
    negative[..2].copy_from_slice(&[-9, -2]);
    for (name, numbers) in [("rising", &rising), ("falling", &falling), ("negative", &negative)] {
        let header = format!("{:<117}\n", "{'descr': '<i4', 'fortran_order': False, 'shape': (601,), }");
        let mut bytes = [&b"\x93NUMPY\x01\0"[..], &[118, 0], header.as_bytes()].concat();
        bytes.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        std::fs::write(folder.path(&format!("{name}.npy")), bytes).expect("a file");
    }
    for kernel in ["guarded", "wrapped", "turned"] {
        let of = |threads| run(kernel, threads, &["--arg", "s=zeros:600,100"], 60_000);
        let one = of("1");
        assert!(one.iter().filter(|&&n| n != 0).count() > 9000, "{kernel} adds little");
        for threads in ["2", "3", "7", "64"] {
            assert!(of(threads) == one, "{kernel} with {threads} workers");
        }
    }
    for rows in ["rising", "falling", "negative"] {
        let given = format!("rows=@{rows}.npy");
        let of = |threads| run("ranges", threads, &["--arg", &given, "--arg", "s=zeros:2200"], 2200);
        let one = of("1");
        for threads in ["2", "3", "7"] {
            assert!(of(threads) == one, "{rows} with {threads} workers");
        }
    }
}

/// Rows between the parts of workers are added to copies too, where there are copies: directly,
/// they would meet in what all rows add to. Each adds a number that is lost when it is added to the
/// sum of the first worker alone.
#[test]
fn rows_between_parts_add_to_copies_too() {
    let folder = Folder::new();
    folder.write(
        "far.py",
        "import warp as wp

@wp.kernel
def far(x: wp.array(dtype=float), s: wp.array2d(dtype=int), total: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(s, i, j, 1)
    if i >= 50 and i < s.shape[0] - 50:
        wp.atomic_add(s, i - 50, j, 1)
        wp.atomic_add(s, i + 50, j, 1)
    if j == 0:
        wp.atomic_add(total, 0, x[i])
",
    );
    let (small, large) = (f32::from_bits((127 + 35) << 23), f32::from_bits((127 + 60) << 23));
    let mut x = vec![0f32; 2400];
    x[0] = large;
    x[800..].fill(small);
    let header = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2400,), }");
    let mut bytes = [&b"\x93NUMPY\x01\0"[..], &[118, 0], header.as_bytes()].concat();
    bytes.extend(x.iter().flat_map(|n| n.to_le_bytes()));
    std::fs::write(folder.path("x.npy"), bytes).expect("a file");
    let sum = |threads: &str| {
        let arrays = ["--arg", "x=@x.npy", "--arg", "s=zeros:2400,100", "--arg", "total=zeros:1", "--out-dir", "out"];
        let args = [&["far.py", "--dim", "2400,100", "--threads", threads][..], &arrays].concat();
        let output = folder.run(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        f32::from_le_bytes(folder.npy("out/total.npy", 1)[0])
    };
    assert_eq!(sum("3"), large + 1600.0 * small);
    assert_eq!(sum("1"), large, "nothing is lost: the test shows nothing");
}

#[test]
fn deterministic_sums_are_the_same_on_any_number_of_cores() {
    let folder = Folder::new();
    folder.write(
        "sum.py",
        "import warp as wp\n\n@wp.kernel\ndef sum(x: wp.array(dtype=float), s: wp.array(dtype=float)):\n    wp.atomic_add(s, 0, x[wp.tid()])\n",
    );
    let sum = |flags: &[&str]| {
        let mut args =
            vec!["sum.py", "--dim", "100000", "--arg", "x=random:1:100000", "--arg", "s=zeros:1", "--print", "s"];
        args.extend(flags);
        let output = folder.run(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|line| line.trim_start().starts_with("[0]")).expect("a value").to_string()
    };
    let one = sum(&["--threads", "1"]);
    assert_ne!(one, sum(&["--threads", "4"]), "the sum does not depend on its order: the test shows nothing");
    for threads in ["1", "2", "4"] {
        assert_eq!(one, sum(&["--deterministic", "--threads", threads]));
    }
}
