//! Gradients as a user gets them: `kc run` with the directions `gradient` and `backward`, and
//! `kc gradcheck`. The entries are IR text written by hand, so that only the running and checking
//! is tested here.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;
use tempfile::TempDir;

/// y = x * x, computed in place; the augmented entry logs x, which the backward entry needs.
const SQUARE: &str = r#"kernel @square(%x: array(dtype=float32)) rank 1 {
  %i: int32 = thread_index 0
  %0: float32 = load %x[%i]
  %1: float32 = mul %0, %0
  store %x[%i], %1
  return
}

kernel @square_augmented(%x: array(dtype=float32), %kept: array2d(dtype=float32), %needed: array(dtype=int64)) rank 1 source "square" augmented tape (1 log "x[i] before it is overwritten", 2 needed "the slots") {
  %i: int32 = thread_index 0
  %zero: int32 = const 0
  %one: int32 = const 1
  %0: float32 = load %x[%i]
  %wanted: int64 = const 4294967296
  %1: int64 = atomic max %needed[%zero], %wanted
  %slots: int32 = extent %kept, 0
  %room: bool = lt %zero, %slots
  if %room {
    store %kept[%zero, %i], %0
  }
  %2: float32 = mul %0, %0
  store %x[%i], %2
  return
}

kernel @square_backward(%x: array(dtype=float32), %adj_x: array(dtype=float32), %kept: array2d(dtype=float32)) rank 1 source "square" backward tape (2 log "x[i] before it is overwritten") {
  %i: int32 = thread_index 0
  %zero: int32 = const 0
  %given: bool = is_set %adj_x
  %own: array(dtype=float32) = gradient %x
  %grad: array(dtype=float32) = select %given, %adj_x, %own
  %0: float32 = load %kept[%zero, %i]
  %1: float32 = load %grad[%i]
  %2: float32 = add %0, %0
  %3: float32 = mul %2, %1
  store %grad[%i], %3
  return
}
"#;

/// y = x * c: needs nothing, so the backward entry may run alone.
const SCALE: &str = r#"kernel @scale(%x: array(dtype=float32), %y: array(dtype=float32)) rank 1 {
  %i: int32 = thread_index 0
  %c: float32 = const 3
  %0: float32 = load %x[%i]
  %1: float32 = mul %0, %c
  store %y[%i], %1
  return
}

kernel @scale_backward(%x: array(dtype=float32), %y: array(dtype=float32), %adj_x: array(dtype=float32), %adj_y: array(dtype=float32)) rank 1 source "scale" backward {
  %i: int32 = thread_index 0
  %c: float32 = const 3
  %given_x: bool = is_set %adj_x
  %own_x: array(dtype=float32) = gradient %x
  %grad_x: array(dtype=float32) = select %given_x, %adj_x, %own_x
  %given_y: bool = is_set %adj_y
  %own_y: array(dtype=float32) = gradient %y
  %grad_y: array(dtype=float32) = select %given_y, %adj_y, %own_y
  %0: float32 = load %grad_y[%i]
  %zero: float32 = const 0
  store %grad_y[%i], %zero
  %1: float32 = mul %0, %c
  %2: float32 = atomic add %grad_x[%i], %1
  return
}
"#;

struct Folder(TempDir);

impl Folder {
    /// A folder with a source and a launch of it; each array is `(name, contents, gradient)`.
    fn new(text: &str, kernel: &str, direction: &str, arrays: &[(&str, &[f32], Option<&[f32]>)]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        std::fs::write(folder.path("kernel.ir"), text).expect("a source");
        let mut npz = kc::run::files::npz::NpzWriter::new(std::io::Cursor::new(Vec::new()));
        let mut add = |name: &str, values: &[f32]| {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            npz.add(name, "<f4", &[values.len() as u64], &bytes).expect("an entry");
        };
        let mut args = Vec::new();
        for (name, values, gradient) in arrays {
            add(name, values);
            gradient.iter().for_each(|gradient| add(&format!("{name}.grad"), gradient));
            args.push(json!({
                "name": name, "kind": "array", "dtype": {"class": "scalar", "scalar": "float32", "shape": []},
                "ndim": 1, "shape": [values.len()], "data": name, "grad": format!("{name}.grad")
            }));
        }
        std::fs::write(folder.path("inputs.npz"), npz.finish().expect("an archive").into_inner()).expect("arrays");
        let launch = json!({"format": 1, "id": "case", "source": "kernel.ir", "kernel": kernel,
                            "direction": direction, "dim": [arrays[0].1.len()], "args": args});
        std::fs::write(folder.path("case.json"), launch.to_string()).expect("a launch");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn kc(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.args(args).arg(self.path("case.json")).output().expect("kc runs")
    }

    /// Runs the launch and reads an array of the results.
    fn result(&self, device: &str, name: &str) -> Vec<f32> {
        let out = self.path("out");
        let output = self.kc(&["run", "--device", device, "--out-dir", out.to_str().expect("UTF-8")]);
        assert!(output.status.success(), "{}", text(&output));
        read(&out.join("case.npz"), name)
    }
}

fn read(path: &Path, name: &str) -> Vec<f32> {
    let array = kc::run::files::npz::Npz::open(path, None).expect("results").read(name, |_| Ok(())).expect("the array");
    array.bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

const X: [f32; 3] = [1.0, -2.0, 4.0];

#[test]
fn a_log_carries_what_is_overwritten() {
    let folder = Folder::new(SQUARE, "square", "gradient", &[("x", &X, Some(&[1.0, 1.0, 0.5]))]);
    for device in ["host", "interp"] {
        assert_eq!(folder.result(device, "x"), [1.0, 4.0, 16.0], "{device}");
        assert_eq!(folder.result(device, "x.grad"), [2.0, -4.0, 4.0], "{device}");
    }
}

#[test]
fn a_missing_gradient_is_zero() {
    let folder = Folder::new(SCALE, "scale", "gradient", &[("x", &X, None), ("y", &[0.0; 3], Some(&[1.0, 2.0, 3.0]))]);
    for device in ["host", "interp"] {
        assert_eq!(folder.result(device, "x.grad"), [3.0, 6.0, 9.0], "{device}");
        assert_eq!(folder.result(device, "y.grad"), [0.0; 3], "{device}");
        assert_eq!(folder.result(device, "y"), [3.0, -6.0, 12.0], "{device}");
    }
}

#[test]
fn backward_alone_adds_and_changes_no_values() {
    let arrays: [(&str, &[f32], Option<&[f32]>); 2] =
        [("x", &X, Some(&[1.0; 3])), ("y", &[7.0; 3], Some(&[1.0, 2.0, 3.0]))];
    let folder = Folder::new(SCALE, "scale", "backward", &arrays);
    for device in ["host", "interp"] {
        assert_eq!(folder.result(device, "x.grad"), [4.0, 7.0, 10.0], "{device}");
        assert_eq!(folder.result(device, "y"), [7.0; 3], "{device}");
    }
}

#[test]
fn backward_alone_is_refused_where_it_needs_a_log() {
    let folder = Folder::new(SQUARE, "square", "backward", &[("x", &X, Some(&[1.0; 3]))]);
    let output = folder.kc(&["run"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("E1105"), "{}", text(&output));
}

/// Products of tiles in a loop, and a map of their sum.
const PRODUCTS: &str = "import warp as wp

@wp.kernel
def products(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(32, 32), dtype=float)
    for k in range((a.shape[1] + 15) // 16):
        x = wp.tile_load(a, shape=(32, 16), offset=(i * 32, k * 16))
        y = wp.tile_load(b, shape=(16, 32), offset=(k * 16, j * 32))
        wp.tile_matmul(x, y, acc)
    wp.tile_store(c, wp.tile_map(wp.sin, acc), offset=(i * 32, j * 32))

@wp.kernel
def in_place(a: wp.array2d(dtype=float)):
    x = wp.tile_load(a, shape=(32, 16))
    for k in range(a.shape[0]):
        x = wp.tile_map(wp.sin, x)
    wp.tile_store(a, x)
";

/// Backward entries make tiles anew. A log is for what loops carry and change.
#[test]
fn tiles_take_no_log() {
    let compilation =
        kc::driver::Compiler::new().load_text("tiles.py".as_ref(), PRODUCTS.to_string(), &Default::default());
    for (kernel, logs) in [("products", false), ("in_place", true)] {
        let has = |phase| compilation.module.entry(kernel, phase).is_some();
        assert!(has(kc::ir::Phase::Backward), "{kernel}");
        assert_eq!(has(kc::ir::Phase::Augmented), logs, "{kernel}");
    }
}

#[test]
fn gradcheck_tells_right_from_wrong() {
    let arrays: [(&str, &[f32], Option<&[f32]>); 2] = [("x", &X, None), ("y", &[7.0; 3], None)];
    for (source, kernel, arrays) in [(SCALE, "scale", &arrays[..]), (SQUARE, "square", &arrays[..1])] {
        let output = Folder::new(source, kernel, "gradient", arrays).kc(&["gradcheck"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }
    // The derivative of a square without its factor 2, and a store that leaves the adjoint.
    let faults = [
        (SQUARE.replace("%2: float32 = add %0, %0", "%2: float32 = abs %0"), "square", &arrays[..1]),
        (SCALE.replace("store %grad_y[%i], %zero", "store %grad_y[%i], %0"), "scale", &arrays[..]),
    ];
    for (source, kernel, arrays) in faults {
        let output = Folder::new(&source, kernel, "gradient", arrays).kc(&["gradcheck", "--json"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains("\"right\":false"), "{}", text(&output));
    }
}

/// Kernels in the source language whose launch overwrites what the gradient needs, against forward
/// mode.
#[test]
fn kernels_that_overwrite_what_they_read() {
    let bodies = [
        "    x[i] *= y[i]\n",
        "    x[i] /= y[i] * x[i] + 3.0\n",
        "    for j in range(3 + i):\n        x[i] = x[i] * x[i] * 0.25 + y[i]\n",
        "    while x[i] > 0.5:\n        x[i] *= 0.5 * y[i]\n",
        "    for j in range(4):\n        if x[i] > 1.0:\n            break\n        x[i] = x[i] * y[i] + 1.0\n        y[i] *= x[i]\n",
    ];
    for body in bodies {
        let folder = loop_folder(body);
        let output = folder.kc(&["gradcheck"]);
        assert_eq!(output.status.code(), Some(0), "{body}{}", text(&output));
    }
}

/// Loops that keep state, for each store.
const LOOPS: [&str; 4] = [
    "    s = x[i]\n    while wp.abs(s * s - y[i]) > 1.0e-4:\n        s = 0.5 * (s + y[i] / s)\n    x[i] = s * x[i]\n",
    "    p = float(1.0)\n    for k in range(5):\n        p *= x[i] + p\n    y[i] = p\n",
    "    v = wp.vec3(x[i], y[i], 1.0)\n    n = int(0)\n    for k in range(i + 2):\n        v = wp.cross(v, wp.vec3(v[1], x[i], v[0])) * 0.25\n        for j in range(n):\n            v = v * (v[j % 3] * 0.1 + 0.5)\n        n = (n * 3 + k) % 4\n    y[i] = v[0] + v[1] * v[2]\n",
    "    for k in range(i + 3):\n        if x[i] > 2.0:\n            break\n        x[i] = x[i] * x[i] + y[i] * y[i]\n",
];

fn loop_folder(body: &str) -> Folder {
    let folder = Folder::new("", "k", "gradient", &[("x", &X, None), ("y", &[0.5, 0.75, 0.25], None)]);
    let launch = std::fs::read_to_string(folder.path("case.json")).expect("a launch");
    std::fs::write(folder.path("case.json"), launch.replace("kernel.ir", "kernel.py")).expect("a launch");
    let head = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n";
    std::fs::write(folder.path("kernel.py"), format!("{head}{body}")).expect("a source");
    folder
}

#[test]
fn all_stores_give_the_same_bits() {
    for body in LOOPS {
        let folder = loop_folder(body);
        let mut first: Option<Vec<u32>> = None;
        for store in ["unroll", "stack", "tape", "checkpoint"] {
            for device in ["host", "interp"] {
                let out = folder.path("out");
                let out_dir = out.to_str().expect("UTF-8");
                let output = folder.kc(&["run", "--store", store, "--device", device, "--out-dir", out_dir]);
                assert!(output.status.success(), "{store} {device}\n{body}{}", text(&output));
                let names = ["x", "x.grad", "y.grad"];
                let bits = names.iter().flat_map(|name| read(&out.join("case.npz"), name)).map(f32::to_bits).collect();
                assert_eq!(*first.get_or_insert_with(|| Vec::clone(&bits)), bits, "{store} {device}\n{body}");
            }
            let output = folder.kc(&["gradcheck", "--store", store]);
            assert_eq!(output.status.code(), Some(0), "{store}\n{body}{}", text(&output));
        }
    }
}

#[test]
fn cuda_tools_take_every_store() {
    for body in LOOPS {
        let folder = loop_folder(body);
        for store in ["unroll", "stack", "tape", "checkpoint"] {
            let out = folder.path("text");
            let output = Command::new(env!("CARGO_BIN_EXE_kc"))
                .args(["compile", "--emit", "ptx,cuda", "--arch", "sm_75", "--store", store, "-o"])
                .args([&out, &folder.path("kernel.py")])
                .output()
                .expect("kc runs");
            assert!(output.status.success(), "{}", text(&output));
            common::assert_ptx(&std::fs::read_to_string(out.join("kernel.ptx")).expect("PTX"), "sm_75");
            common::assert_cuda(&std::fs::read_to_string(out.join("kernel.cu")).expect("CUDA text"), "sm_75");
        }
    }
}

/// A launch of a Python kernel `k` of float32 arrays.
fn python_folder(source: &str, arrays: &[(&str, &[f32], Option<&[f32]>)], dim: &[u32]) -> Folder {
    let folder = Folder::new("", "k", "gradient", arrays);
    let launch = std::fs::read_to_string(folder.path("case.json")).expect("a launch").replace("kernel.ir", "kernel.py");
    let mut launch: serde_json::Value = serde_json::from_str(&launch).expect("JSON");
    launch["dim"] = json!(dim);
    std::fs::write(folder.path("case.json"), launch.to_string()).expect("a launch");
    std::fs::write(folder.path("kernel.py"), source).expect("a source");
    folder
}

const SCATTER: &str = "import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float), to: wp.array(dtype=float)):
    i = wp.tid()
    y[int(to[i])] = x[i] * x[i]
";

#[test]
fn threads_that_meet_are_found() {
    let seeds: &[f32] = &[1.0, 2.0, 3.0];
    let arrays = |to: &'static [f32]| [("x", &X[..], None), ("y", &[0.0; 3][..], Some(seeds)), ("to", to, None)];
    for device in ["host", "interp"] {
        let apart = python_folder(SCATTER, &arrays(&[2.0, 0.0, 1.0]), &[3]);
        assert_eq!(apart.result(device, "x.grad"), [6.0, -4.0, 16.0], "{device}");
        let together = python_folder(SCATTER, &arrays(&[2.0, 0.0, 2.0]), &[3]);
        let output = together.kc(&["run", "--device", device]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains("E1108"), "{}", text(&output));
        assert!(text(&output).contains("threads (0) and (2)"), "{}", text(&output));
    }
}

/// The same of IR text, with the backward entry in it and without; the store is in a function that
/// the kernel calls.
#[test]
fn threads_that_meet_are_found_in_ir_text() {
    let called = SCATTER.replace("    y[int(to[i])] = x[i] * x[i]", "    put(y, int(to[i]), x[i] * x[i])").replace(
        "@wp.kernel",
        "@wp.func\ndef put(y: wp.array(dtype=float), at: int, v: float):\n    if v > 1.0e9:\n        return\n    y[at] = v\n\n@wp.kernel",
    );
    for source in [SCATTER, &called] {
        let seeds: &[f32] = &[1.0, 2.0, 3.0];
        let arrays = |to: &'static [f32]| [("x", &X[..], None), ("y", &[0.0; 3][..], Some(seeds)), ("to", to, None)];
        let python = python_folder(source, &arrays(&[0.0, 1.0, 2.0]), &[3]);
        let output = Command::new(env!("CARGO_BIN_EXE_kc"))
            .args(["compile", "--emit", "ir", "-o"])
            .args([python.path("text"), python.path("kernel.py")])
            .output()
            .expect("kc runs");
        assert!(output.status.success(), "{}", text(&output));
        let both = std::fs::read_to_string(python.path("text/kernel.ir")).expect("IR");
        assert!(both.contains(" backward assumes_disjoint ("), "{both}");
        let functions = both.split_inclusive("\n}\n");
        let forward: String =
            functions.filter(|f| !f.lines().any(|line| line.contains(" backward assumes_disjoint"))).collect();
        assert!(forward.len() < both.len());
        for ir in [&both, &forward] {
            let apart = Folder::new(ir, "k", "gradient", &arrays(&[2.0, 0.0, 1.0]));
            assert_eq!(apart.result("host", "x.grad"), [6.0, -4.0, 16.0], "{ir}");
            let together = Folder::new(ir, "k", "gradient", &arrays(&[2.0, 0.0, 2.0]));
            let output = together.kc(&["run"]);
            assert_eq!(output.status.code(), Some(1), "{ir}\n{}", text(&output));
            assert!(text(&output).contains("E1108"), "{}", text(&output));
            assert!(text(&output).contains("threads (0) and (2)"), "{}", text(&output));
        }
    }
}

#[test]
fn more_dimensions_than_coordinates_are_refused() {
    let source = "import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
";
    let arrays: [(&str, &[f32], Option<&[f32]>); 2] = [("x", &X, None), ("y", &[0.0; 3], Some(&[1.0; 3]))];
    assert_eq!(python_folder(source, &arrays, &[3, 1]).result("host", "x.grad"), [2.0, -4.0, 8.0]);
    let output = python_folder(source, &arrays, &[3, 2]).kc(&["run"]);
    assert!(text(&output).contains("E1103"), "{}", text(&output));
}

#[test]
fn a_missing_entry_says_why() {
    let source = "import warp as wp

@wp.func
def square_at(x: wp.array(dtype=float), i: int) -> float:
    return x[i] * x[i]

@wp.func_grad(square_at)
def adj_square_at(x: wp.array(dtype=float), i: int, adj_ret: float):
    wp.adjoint[x][i] += 2.0 * x[i] * adj_ret

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = square_at(x, i)
";
    let output = python_folder(source, &[("x", &X, None), ("y", &[0.0; 3], None)], &[3]).kc(&["run"]);
    assert!(text(&output).contains("E1103"), "{}", text(&output));
    assert!(text(&output).contains("W0603: no backward entry"), "{}", text(&output));
}

#[test]
fn a_custom_gradient_of_a_function_without_results() {
    let source = "import warp as wp

@wp.func
def put(y: wp.array(dtype=float), i: int, v: float):
    y[i] = v * v

@wp.func_grad(put)
def adj_put(y: wp.array(dtype=float), i: int, v: float):
    wp.adjoint[v] += 2.0 * v * wp.adjoint[y][i]
    wp.adjoint[y][i] = 0.0

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    put(y, i, x[i])
";
    let arrays: [(&str, &[f32], Option<&[f32]>); 2] = [("x", &X, None), ("y", &[0.0; 3], Some(&[1.0, 2.0, 3.0]))];
    for device in ["host", "interp"] {
        assert_eq!(python_folder(source, &arrays, &[3]).result(device, "x.grad"), [2.0, -8.0, 24.0], "{device}");
    }
}

/// A function that keeps what it computes, for the backward entry to find: where it is floats, the
/// place says nothing of a derivative.
#[test]
fn what_a_replay_finds_again_needs_a_derivative() {
    let source = "import warp as wp

@wp.func
def squared(x: float, kept: wp.array(dtype=float), i: int):
    y = x * x
    kept[i] = y
    return y

@wp.func_replay(squared)
def squared_again(x: float, kept: wp.array(dtype=float), i: int):
    return kept[i]

@wp.kernel
def k(x: wp.array(dtype=float), kept: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    h = squared(x[i], kept, i)
    y[i] = h * h
";
    let rule = "
@wp.func_grad(squared)
def adj_squared(x: float, kept: wp.array(dtype=float), i: int, adjoint: float):
    wp.adjoint[x] += 2.0 * x * (adjoint + wp.adjoint[kept][i])
    wp.adjoint[kept][i] = 0.0

@wp.kernel";
    let arrays: [(&str, &[f32], Option<&[f32]>); 3] =
        [("x", &X, None), ("kept", &[0.0; 3], None), ("y", &[0.0; 3], Some(&[1.0; 3]))];
    for device in ["host", "interp"] {
        let output = python_folder(source, &arrays, &[3]).kc(&["run", "--device", device]);
        assert!(text(&output).contains("E1103"), "{}", text(&output));
        assert!(text(&output).contains("`squared` gives or stores floats"), "{}", text(&output));
        let ruled = source.replace("\n@wp.kernel", rule);
        assert_eq!(python_folder(&ruled, &arrays, &[3]).result(device, "x.grad"), [4.0, -32.0, 256.0], "{device}");
    }
}

#[test]
fn a_gradient_of_a_gradient() {
    let source = "import warp as wp

@wp.func
def cube(x: float):
    return x * x * x

@wp.func
def slope(x: float):
    return wp.grad(cube)(x)

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.grad(slope)(x[i])
";
    let arrays: [(&str, &[f32], Option<&[f32]>); 2] = [("x", &X, None), ("y", &[0.0; 3], Some(&[1.0, 2.0, 3.0]))];
    for device in ["host", "interp"] {
        let folder = python_folder(source, &arrays, &[3]);
        assert_eq!(folder.result(device, "y"), [6.0, -12.0, 24.0], "{device}");
        assert_eq!(folder.result(device, "x.grad"), [6.0, 12.0, 18.0], "{device}");
    }
}
