//! Does kc give every code that a check of a program does not show? One run for each; the codes of
//! the other families are shown by their pages (`tests/lang.rs`).

#[path = "common/gpu.rs"]
mod gpu;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use kc::diag::Code;
use kc::run::files::npz::NpzWriter;
use serde_json::{Value, json};

/// Codes that no run gives at will: LLVM takes every module that is known; kc has no known fault;
/// the loss of a device needs one (`tests/gpu.rs` is one in); meshes outlive a launch in programs
/// that kc is a part of (`python/tests/test_engine_checks.py`); and the others take gibibytes or
/// hours.
const NOT_SHOWN: &[Code] = &[Code::E0801, Code::E0999, Code::E1106, Code::E1107, Code::W1128, Code::E1405];

const PROGRAMS: &str = "import warp as wp

@wp.func_native(\"return x;\")
def text(x: float) -> float: ...

@wp.kernel
def square(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]

@wp.kernel
def unit(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i])

@wp.kernel
def scatter(to: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[to[wp.tid()]] = x[wp.tid()]

@wp.kernel
def inside(mesh: wp.uint64, x: wp.array(dtype=float)):
    x[0] = wp.mesh_query_point(mesh, wp.vec3(), 1.0).sign

@wp.kernel(enable_backward=False)
def checked(x: wp.array(dtype=float)):
    assert x[0] > 1.0e9, \"too small\"

@wp.kernel
def endless(x: wp.array(dtype=float), n: int):
    while n > 0:
        x[wp.tid()] = x[wp.tid()] * 0.5

@wp.kernel
def small(x: wp.array(dtype=wp.int8)):
    wp.atomic_add(x, 0, wp.int8(1))

@wp.kernel
def waits(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0
    wp.grid_sync()

@wp.kernel
def tiled(x: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=40000)
    wp.tile_store(x, t + wp.tile_scan_inclusive(t))

@wp.kernel
def native(x: wp.array(dtype=float)):
    x[wp.tid()] = text(x[wp.tid()])
";

/// A program of the CUDA driver, and how it may end.
const DRIVER: &str = "import ctypes

cuda = ctypes.CDLL('libcuda.so.1')
cuda.cuInit(0)
context, x = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(x), ctypes.c_size_t(400))
";
const AFTER_FREE: &str = "cuda.cuMemFree_v2(x)\ncuda.cuMemsetD32_v2(x, 0, ctypes.c_size_t(1))\n";
const STREAMS: &str = "a, b = ctypes.c_uint64(), ctypes.c_uint64()
cuda.cuStreamCreate(ctypes.byref(a), 1)
cuda.cuStreamCreate(ctypes.byref(b), 1)
for stream in (a, b):
    cuda.cuMemsetD32Async(x, 0, ctypes.c_size_t(1), stream)
";
const FREE_TWICE: &str = "cuda.cuMemFree_v2(x)\ncuda.cuMemFree_v2(x)\n";

const LOOPS: &str = "\
import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float)):
    for a in range(1000):
        for b in range(1000):
            x[a] = wp.static(float(b))
";

const LOCAL: &str = "kernel @k(%o: array(dtype=float32)) rank 1 {
  %i: int32 = thread_index 0
  %l: local(float32, 100000) = local_array
  %v: float32 = load %l[%i]
  store %o[%i], %v
  return
}
";

/// A launch of `square` with one thing changed.
fn launch(change: impl Fn(&mut Value)) -> Vec<u8> {
    let float = json!({"class": "scalar", "scalar": "float32", "shape": []});
    let x = json!({"name": "x", "kind": "array", "dtype": float, "ndim": 1, "shape": [3], "data": "x"});
    let mut launch =
        json!({"format": 1, "id": "case", "source": "../k.py", "kernel": "square", "dim": [3], "args": [x]});
    change(&mut launch);
    launch.to_string().into_bytes()
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let parameters: Vec<String> = (0..600).map(|n| format!("%a{n}: array(dtype=float32)")).collect();
    let mut npz = NpzWriter::new(std::io::Cursor::new(Vec::new()));
    let ones: Vec<u8> = [1.0f32; 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    npz.add("x", "<f4", &[3], &ones).expect("an entry");
    let arrays = npz.finish().expect("an archive").into_inner();
    vec![
        ("k.py", PROGRAMS.into()),
        ("same/k.py", PROGRAMS.into()),
        ("none.py", "x = 1\n".into()),
        ("loops.py", LOOPS.into()),
        ("bytes.py", b"x = '\xff'\n".into()),
        ("large.py", vec![b'#'; 17 << 20]),
        ("broken.ir", "kernel\n".into()),
        ("local.ir", LOCAL.into()),
        ("many.ir", format!("kernel @k({}) rank 1 {{\nreturn\n}}\n", parameters.join(", ")).into()),
        ("file", Vec::new()),
        ("taken/thesis.tex", b"years of work".into()),
        ("good/inputs.npz", arrays.clone()),
        ("broken/case.json", b"{".into()),
        ("format/case.json", launch(|launch| launch["format"] = json!(2))),
        ("type/case.json", launch(|launch| launch["args"][0]["dtype"]["scalar"] = json!("int32"))),
        ("size/case.json", launch(|launch| launch["dim"] = json!([-1]))),
        ("missing/case.json", launch(|launch| launch["args"][0]["data"] = json!("y"))),
        ("missing/inputs.npz", arrays.clone()),
        ("shape/case.json", launch(|launch| launch["args"][0]["shape"] = json!([4]))),
        ("shape/inputs.npz", arrays.clone()),
        ("strides/case.json", launch(|launch| launch["args"][0]["strides"] = json!([1]))),
        ("strides/inputs.npz", arrays.clone()),
        ("array/case.json", launch(|_| {})),
        ("array/inputs.npz", b"PK".into()),
        ("log/case.json", launch(|launch| launch["direction"] = json!("backward"))),
        ("log/inputs.npz", arrays.clone()),
        (
            "gradient/case.json",
            launch(|launch| {
                launch["direction"] = json!("gradient");
                launch["kernel"] = json!("checked");
            }),
        ),
        ("gradient/inputs.npz", arrays.clone()),
        (
            "meet/case.json",
            launch(|launch| {
                launch["direction"] = json!("gradient");
                launch["kernel"] = json!("scatter");
                let x = launch["args"][0].clone();
                let zeros = |name: &str, scalar: &str| {
                    let mut array = x.clone();
                    array.as_object_mut().expect("an argument").remove("data");
                    (array["name"], array["dtype"]["scalar"], array["fill"]) = (json!(name), json!(scalar), json!(0));
                    array
                };
                launch["args"] = json!([zeros("to", "int32"), x, zeros("y", "float32")]);
            }),
        ),
        ("meet/inputs.npz", arrays),
    ]
    .into_iter()
    .chain(ptx())
    .collect()
}

/// Launches of kernels that are PTX.
fn ptx() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let texts: [(&str, &[u8]); 3] = [
        ("faults.ptx", include_bytes!("sim/faults.ptx")),
        ("unknown.ptx", include_bytes!("sim/unknown.ptx")),
        ("malformed.ptx", include_bytes!("sim/malformed.ptx")),
    ];
    // Hundreds of accesses leave few numbers for what happens between fences.
    let head = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {\n.reg .pred %p<2>;\n\
                .reg .b32 %r<3>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, 0;\n";
    let body = "AGAIN: membar.gl; ld.global.u32 %r2, [%rd1]; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 70000; @%p1 bra AGAIN;\n";
    let long = format!("{head}{}{body}ret;\n}}\n", "ld.global.u32 %r2, [%rd1];\n".repeat(600));
    let launch = |source: &str, entry: &str| {
        let int = json!({"class": "scalar", "scalar": "int32", "shape": []});
        let out = json!({"name": "out", "kind": "pointer", "dtype": int, "shape": [64], "fill": 0});
        json!({"format": 1, "source": source, "entry": entry, "grid": [1], "block": [64], "args": [out]})
            .to_string()
            .into_bytes()
    };
    let launches = [
        ("misaligned.json", launch("faults.ptx", "misaligned")),
        ("unset.json", launch("faults.ptx", "unset")),
        ("race.json", launch("faults.ptx", "race")),
        ("divergent.json", launch("faults.ptx", "divergent")),
        ("alone.json", launch("faults.ptx", "alone")),
        ("endless.json", launch("faults.ptx", "endless")),
        ("stops.json", launch("faults.ptx", "stops")),
        ("first.json", launch("faults.ptx", "first")),
        ("unknown.json", launch("unknown.ptx", "k")),
        ("malformed.json", launch("malformed.ptx", "k")),
        ("long.ptx", long.into_bytes()),
        ("long.json", launch("long.ptx", "k")),
    ];
    texts.into_iter().map(|(name, text)| (name, text.to_vec())).chain(launches)
}

/// The runs: what is asked of kc, and the code that it gives.
const RUNS: &[(Code, &[&str])] = &[
    (Code::E0802, &["compile", "local.ir", "-o", "out"]),
    (Code::E0803, &["compile", "many.ir", "--emit", "ptx", "-o", "out"]),
    (Code::E0820, &["compile", "k.py", "-k", "small", "--emit", "cuda", "-o", "out"]),
    (Code::E0821, &["compile", "k.py", "-k", "native", "--emit", "ptx", "-o", "out"]),
    (
        Code::E0823,
        &["compile", "k.py", "-k", "square", "--emit", "ptx", "--arch", "sm_75", "--tensor-cores", "tf32", "-o", "out"],
    ),
    (Code::E0822, &["compile", "k.py", "-k", "tiled", "--emit", "ptx", "-o", "out"]),
    (Code::E0824, &["compile", "k.py", "-k", "waits", "--emit", "obj", "-o", "out"]),
    (Code::E0901, &["check", "absent.py"]),
    (Code::E0902, &["check", "bytes.py"]),
    (Code::E0903, &["check", "large.py"]),
    (Code::E0904, &["compile", "k.py", "-k", "square", "-o", "file"]),
    (Code::E0905, &["compile", "k.py", "-k", "squares", "-o", "out"]),
    (Code::E0906, &["compile", "k.py", "same/k.py", "-k", "square", "-o", "out"]),
    (Code::E0908, &["compile", "none.py", "-o", "out"]),
    (Code::E0910, &["check", "loops.py"]),
    (Code::E0909, &["check", "broken.ir"]),
    (Code::E0911, &["check", "taken"]),
    (Code::E1001, &["run", "broken/case.json"]),
    (Code::E1002, &["run", "format/case.json"]),
    (Code::E1003, &["run", "k.py", "--dim", "1"]),
    (Code::E1004, &["run", "k.py", "-k", "square", "--dim", "1", "--arg", "z=ones:1"]),
    (Code::E1005, &["run", "k.py", "-k", "square", "--dim", "1", "--arg", "x=ones:i32:1"]),
    (Code::E1006, &["run", "size/case.json"]),
    (Code::E1007, &["run", "array/case.json"]),
    (Code::E1008, &["run", "missing/case.json"]),
    (Code::E1009, &["run", "shape/case.json"]),
    (Code::E1010, &["run", "strides/case.json"]),
    (Code::E1011, &["run", "k.py", "-k", "endless", "--dim", "1", "--arg", "x=ones:1", "--arg", "n=4294967296"]),
    (Code::E1012, &["run", "k.py", "-k", "square", "--dim", "many"]),
    (Code::E1101, &["run", "k.py", "-k", "square", "--dim", "2", "--arg", "x=ones:1"]),
    (Code::E1102, &["run", "k.py", "-k", "checked", "--dim", "1", "--arg", "x=ones:1"]),
    (Code::E1103, &["run", "gradient/case.json"]),
    (Code::E1104, &["run", "k.py", "-k", "square", "--dim", "1", "--arg", "x=ones:1", "--device", "cuda"]),
    (Code::E1105, &["run", "log/case.json"]),
    (Code::E1108, &["run", "meet/case.json"]),
    (Code::E1109, &["gradcheck", "k.py", "-k", "endless"]),
    (
        Code::E1110,
        &["run", "k.py", "-k", "endless", "--dim", "1", "--arg", "x=ones:1", "--arg", "n=1", "--timeout", "0.001"],
    ),
    (Code::E0830, &["run", "--device", "sim", "malformed.json"]),
    (Code::E0831, &["run", "--device", "sim", "unknown.json"]),
    (Code::E1111, &["run", "--device", "sim", "misaligned.json"]),
    (Code::E1112, &["run", "--device", "sim", "unset.json"]),
    (Code::E1113, &["run", "--device", "sim", "race.json"]),
    (Code::E1114, &["run", "--device", "sim", "divergent.json"]),
    (Code::E1115, &["run", "--device", "sim", "alone.json"]),
    (Code::E1116, &["run", "--device", "sim", "--steps", "10000", "endless.json"]),
    (Code::E1117, &["run", "--device", "sim", "stops.json"]),
    (Code::E1123, &["gpu", "after_free.py"]),
    (Code::E1124, &["gpu", "free_twice.py"]),
    (Code::E1126, &["gpu", "streams.py"]),
    (Code::E1125, &["gpu", "--checks", "leaks", "leak.py"]),
    (Code::E1127, &["run", "k.py", "-k", "inside", "--dim", "1", "--arg", "mesh=0", "--arg", "x=ones:1"]),
    (Code::E1118, &["profile", "first.json", "--fail-if", "smsp__inst_executed.sum > 0"]),
    (Code::E1121, &["profile", "first.json", "--compare", "first.json"]),
    (Code::W1122, &["run", "--device", "sim", "long.json"]),
    (Code::W1119, &["run", "--device", "sim", "--schedules", "8", "first.json"]),
    (
        Code::W1120,
        &["run", "k.py", "-k", "unit", "--dim", "1", "--arg", "x=zeros:1", "--arg", "y=zeros:1", "--gradient"],
    ),
    (Code::E1401, &["dataset", "-n", "1", "-o", "taken"]),
    (Code::E1404, &["dataset", "-n", "0", "-o", "new"]),
    (Code::E1402, &["dataset", "-n", "1", "-o", "set", "--emit", "cuda", "--no-verify", "--seed", "1", "--resume"]),
    (Code::E1403, &["dataset", "stats", "set"]),
];

/// The codes of the findings in what kc says: `error[E0901]`.
fn codes(text: &str) -> BTreeSet<&str> {
    let kinds = ["error[", "warning[", "note["];
    let found = kinds.iter().flat_map(|kind| text.split(kind).skip(1)).filter_map(|rest| rest.split(']').next());
    found.collect()
}

fn kc(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    // A driver that is not there, whatever the machine has.
    let output = command.args(args).current_dir(folder).env("CUDA_VISIBLE_DEVICES", "").output().expect("kc runs");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_code_is_given() {
    let shown_by_pages = |code: Code| ["08", "09", "10", "11", "14"].iter().all(|family| code.name()[1..3] != **family);
    let listed: Vec<Code> = RUNS.iter().map(|(code, _)| *code).collect();
    let missing = |code: &&Code| {
        !shown_by_pages(**code) && !NOT_SHOWN.contains(code) && !listed.contains(code) && **code != Code::W0907
    };
    let missing: Vec<&str> = Code::ALL.iter().filter(missing).map(|code| code.name()).collect();
    assert!(missing.is_empty(), "no run for {missing:?}");

    gpu::library();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (name, end) in
        [("after_free.py", AFTER_FREE), ("free_twice.py", FREE_TWICE), ("leak.py", ""), ("streams.py", STREAMS)]
    {
        std::fs::write(folder.join(name), format!("{DRIVER}{end}")).expect("a file");
    }
    for (name, bytes) in files() {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    // A data set, to be gone on with by mistake, and then damaged.
    kc(folder, &["dataset", "-n", "1", "-o", "set", "--emit", "cuda", "--no-verify"]);
    let mut faults = Vec::new();
    for (code, args) in RUNS {
        if *code == Code::E1403 {
            for shard in std::fs::read_dir(folder.join("set/data/pairs")).expect("shards").flatten() {
                std::fs::write(shard.path(), "damaged").expect("a shard");
            }
        }
        let text = kc(folder, args);
        if !codes(&text).contains(code.name()) {
            faults.push(format!("{args:?} does not give {}:\n{text}", code.name()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
