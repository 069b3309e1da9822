//! The threads of a warp meet in no bank of shared memory in kernels with tiles and their
//! gradients: products, of halves too, with instructions for matrices and without, sums, softmax,
//! layer norm, attention.

#[path = "common/parts.rs"]
mod parts;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// Wavefronts of shared memory beyond those that the accesses need.
const EXCESS: &str = "derived__memory_l1_wavefronts_shared_excessive";

fn array(name: &str, shape: &[u32]) -> Value {
    typed(name, shape, "float32")
}

fn typed(name: &str, shape: &[u32], dtype: &str) -> Value {
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": shape.len(), "shape": shape, "fill": "random:3", "grad_fill": "random:4"})
}

/// A launch of a kernel of `benches/kernels`, with its gradient.
fn launch(folder: &Path, file: &str, kernel: &str, dim: &[u32], args: &[Value]) -> PathBuf {
    launch_of(folder, &format!("benches/kernels/{file}"), kernel, "gradient", dim, args)
}

fn launch_of(folder: &Path, file: &str, kernel: &str, direction: &str, dim: &[u32], args: &[Value]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let block = dim.last();
    let text = json!({"format": 1, "id": kernel, "source": source, "kernel": kernel, "direction": direction,
                      "dim": dim, "block_dim": block, "args": args});
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let path = folder.join(format!("{stem}_{kernel}_{}.json", block.copied().unwrap_or(0)));
    std::fs::write(&path, text.to_string()).expect("a launch");
    path
}

fn profile(launch: &Path) -> (String, Option<i32>) {
    gated(launch, "off", 0)
}

/// With at most so many wavefronts too many.
fn gated(launch: &Path, tensor_cores: &str, most: u32) -> (String, Option<i32>) {
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    kc.arg("profile").arg(launch).args(["--registers", "32", "--tensor-cores", tensor_cores]);
    kc.args(["--fail-if", &format!("{EXCESS} > {most}")]);
    kc.args(["--no-check", "races", "--no-check", "uninitialised"]);
    let output = kc.output().expect("kc starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

#[test]
fn gradients_of_tiles_meet_in_no_bank() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut launches = Vec::new();
    for threads in [128, 256] {
        let matrices = ["a", "b", "c"].map(|name| array(name, &[128, 128]));
        launches.push(launch(folder, "tiles.py", "gemm", &[2, 2, threads], &matrices));
        let rows = || array("a", &[4, 1024]);
        launches.push(launch(folder, "tiles.py", "row_sums", &[4, threads], &[rows(), array("s", &[4])]));
        launches.push(launch(folder, "tiles.py", "softmax", &[4, threads], &[rows(), array("b", &[4, 1024])]));
        let rest = [rows(), array("g", &[1024]), array("h", &[1024]), array("b", &[4, 1024])];
        launches.push(launch(folder, "tiles.py", "layer_norm", &[4, threads], &rest));
    }
    let said = parts::each(&launches, |part| part.iter().map(|launch| profile(launch)).collect::<Vec<_>>());
    for (text, status) in said.concat() {
        assert_eq!(status, Some(0), "{text}");
    }
}

/// Where a factor is turned, threads go down its rows; where a thread has 64 sums, it has rows and
/// columns side by side by fours.
#[test]
fn products_of_turned_and_large_tiles_meet_in_no_bank() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let matrices = ["a", "b", "c"].map(|name| array(name, &[256, 256]));
    let turned = "examples/kernelbench/017_matmul_with_transposed_b.py";
    let launches = [
        launch_of(folder, "benches/kernels/tiles_gpu.py", "gemm_large", "forward", &[2, 2, 256], &matrices),
        launch_of(folder, turned, "matmul", "forward", &[2, 2, 256], &matrices),
    ];
    for (text, status) in launches.map(|launch| profile(&launch)) {
        assert_eq!(status, Some(0), "{text}");
    }
}

/// The kernels that GPUs are compared with. What is left: a product's tile is read along both
/// dimensions in its gradient (1,024 of 136,704 wavefronts), and a factorisation by columns (612 of
/// 11,036).
#[test]
fn kernels_beside_those_by_hand_meet_in_no_bank() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut launches = Vec::new();
    for threads in [128, 256] {
        let mut add = |kernel: &str, dim: &[u32], args: &[Value], tensor_cores: &'static str, most: u32| {
            let dim = [dim, &[threads]].concat();
            launches.push((launch(folder, "tiles_gpu.py", kernel, &dim, args), tensor_cores, most));
        };
        let shape = [128, 128];
        let halves = [typed("a", &shape, "float16"), typed("b", &shape, "float16"), array("c", &shape)];
        add("gemm_half", &[2, 2], &halves, "on", 0);
        add("gemm_half", &[2, 2], &halves, "off", 0);
        add("gemm", &[2, 2], &["a", "b", "c"].map(|name| array(name, &shape)), "on", 1024);
        add("softmax", &[4], &["a", "b"].map(|name| array(name, &[4, 1024])), "on", 0);
        let [q, k, v, o] = [("q", 8), ("k", 64), ("v", 64), ("o", 8)].map(|(name, rows)| array(name, &[rows, 64]));
        add("attention", &[8], &[q, k, v, o], "on", 0);
        let mut matrix = array("a", &[4, 32, 32]);
        let element = |n: usize| if n / 32 % 32 == n % 32 { 40.0 } else { 0.25 };
        matrix["fill"] = (0..4 * 32 * 32).map(element).collect();
        add("cholesky", &[4], &[matrix, array("l", &[4, 32, 32])], "on", 612);
    }
    let run = |part: &[(PathBuf, &str, u32)]| {
        part.iter().map(|(path, cores, most)| gated(path, cores, *most)).collect::<Vec<_>>()
    };
    for (text, status) in parts::each(&launches, run).concat() {
        assert_eq!(status, Some(0), "{text}");
    }
}
