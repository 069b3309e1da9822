//! Are the numbers of CUDA text those of the host, where C++ leaves them undefined? The text is
//! compiled by NVRTC, whose optimiser relies on that, and its PTX runs on the simulator.

mod common;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Sums, products and negations at the ends of the integers, in all forms that the text has for
/// them, and conversions of floats without an integer.
const PROGRAM: &str = r#"import warp as wp


@wp.func
def turned(n: int, step: int) -> int:
    return n - step * 3


@wp.kernel
def k(m: int, w: wp.int64, x: float, out: wp.array(dtype=wp.int64)):
    one = wp.int64(1)
    none = wp.int64(0)
    out[0] = wp.int64(m + 1)
    out[1] = wp.where(m + 1 > m, one, none)
    out[2] = wp.int64(m * 2 // 2)
    out[3] = wp.int64(-m)
    out[4] = wp.where(-m > 0, one, none)
    out[5] = wp.int64(m - 3)
    out[6] = wp.where(m - 3 < m, one, none)
    n = m
    c = int(0)
    for _ in range(20):
        n = n + 1
        if n < 0:
            c += 1
    out[7] = wp.int64(c)
    out[8] = wp.int64(n)
    out[9] = w * wp.int64(3) + one
    out[10] = wp.where(w + one > w, one, none)
    out[11] = -w
    out[12] = wp.int64(int(x))
    out[13] = wp.int64(wp.uint32(x))
    out[14] = wp.where(int(x) + 1 > int(x), one, none)
    v = wp.vec2i(m, 5) + wp.vec2i(m, m) * 3
    out[15] = wp.int64(v[0])
    out[16] = wp.int64(v[1])
    out[17] = wp.int64(turned(m, m))
    s = int(1)
    steps = int(0)
    while s > 0 and steps < 40:
        s = s * 3 + (2 - m)
        steps += 1
    out[18] = wp.int64(s)
    out[19] = wp.int64(steps)
    p = m
    p -= 7 * m
    p *= 5
    out[20] = wp.int64(p)
    out[21] = wp.where(w * wp.int64(2) // wp.int64(2) == w, one, none)
    out[22] = wp.int64(wp.abs(m))
    out[23] = wp.int64(m << 1)
"#;

const COUNT: usize = 24;

const CASES: [(i32, i64, &str); 8] = [
    (i32::MAX, i64::MAX, "1e10"),
    (i32::MIN, i64::MIN, "-1e10"),
    (i32::MAX - 10, i64::MAX / 2 + 1, "nan"),
    (i32::MIN + 2, i64::MIN + 1, "inf"),
    (0x4000_0000, -1, "-inf"),
    (-0x4000_0001, 0, "-0.75"),
    (0, 1, "2147483648"),
    (12345, 67, "4294967040"),
];

fn kc(args: &[&str], folder: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).current_dir(folder).output().expect("kc runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The numbers in a file of NumPy.
fn numbers(path: &Path) -> Vec<i64> {
    let bytes = std::fs::read(path).expect("an array");
    let data = &bytes[bytes.len() - 8 * COUNT..];
    data.chunks_exact(8).map(|word| i64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

#[test]
fn integers_wrap_and_conversions_saturate_as_on_the_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("k.py"), PROGRAM).expect("a file");
    kc(&["compile", "k.py", "--emit", "cuda", "--abi", "plain", "--no-backward", "-o", "k.cu"], path);
    let text = std::fs::read_to_string(path.join("k.cu")).expect("a text");
    let ptx = common::assert_cuda(&text, "sm_90");
    std::fs::write(path.join("k.ptx"), &ptx).expect("a file");
    let scalar = |name: &str| json!({"class": "scalar", "scalar": name, "shape": []});
    let mut wrong = Vec::new();
    for (m, w, x) in CASES {
        let given = [format!("m={m}"), format!("w={w}"), format!("x={x}"), format!("out=zeros:{COUNT}")];
        let mut host = vec!["run", "k.py", "--dim", "1", "--npy", "out=host.npy"];
        given.iter().for_each(|given| host.extend(["--arg", given]));
        kc(&host, path);
        let float: Value = x.parse::<f64>().ok().filter(|x| x.is_finite()).map_or(json!(x), |x| json!(x));
        let launch = json!({
            "format": 1, "source": "k.ptx", "entry": "k", "grid": [1], "block": [1],
            "args": [
                {"name": "m", "kind": "value", "dtype": scalar("int32"), "value": m},
                {"name": "w", "kind": "value", "dtype": scalar("int64"), "value": w},
                {"name": "x", "kind": "value", "dtype": scalar("float32"), "value": float},
                {"name": "out", "kind": "pointer", "dtype": scalar("int64"), "shape": [COUNT], "fill": 0},
                {"name": "n", "kind": "value", "dtype": scalar("int32"), "value": 1},
            ],
        });
        std::fs::write(path.join("launch.json"), launch.to_string()).expect("a file");
        kc(&["run", "launch.json", "--device", "sim", "--npy", "out=sim.npy"], path);
        let (host, sim) = (numbers(&path.join("host.npy")), numbers(&path.join("sim.npy")));
        for (n, (host, sim)) in host.into_iter().zip(sim).enumerate().filter(|(_, (host, sim))| host != sim) {
            wrong.push(format!("m = {m}, w = {w}, x = {x}: out[{n}] is {host} on the host, {sim} by NVRTC"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{text}", wrong.join("\n"));
}

const TOTAL: &str = r#"import warp as wp


@wp.kernel
def k(x: wp.array2d(dtype=float), total: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(total, 0, x[i, j])
"#;

/// Warps add up their own first, whatever the shape of a block, and those at the border do not.
#[test]
fn sums_at_one_place_go_through_warps() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("k.py"), TOTAL).expect("a file");
    kc(&["compile", "k.py", "--emit", "cuda", "--abi", "plain", "--no-backward", "-o", "k.cu"], path);
    let text = std::fs::read_to_string(path.join("k.cu")).expect("a text");
    assert!(text.contains("warp_add(&total[0], x["), "{text}");
    std::fs::write(path.join("k.ptx"), common::assert_cuda(&text, "sm_90")).expect("a file");
    let scalar = |name: &str| json!({"class": "scalar", "scalar": name, "shape": []});
    let value = |name: &str, n: u32| json!({"name": name, "kind": "value", "dtype": scalar("int32"), "value": n});
    let (rows, cols) = (70u32, 37u32);
    for block in [[256u32, 1], [16, 16], [5, 13], [2, 32], [1, 1]] {
        let launch = json!({
            "format": 1, "source": "k.ptx", "entry": "k",
            "grid": [cols.div_ceil(block[0]), rows.div_ceil(block[1])], "block": block,
            "args": [
                {"name": "x", "kind": "pointer", "dtype": scalar("float32"), "shape": [rows, cols], "fill": 1.0},
                value("x_cols", cols),
                {"name": "total", "kind": "pointer", "dtype": scalar("float32"), "shape": [1], "fill": 0.0},
                value("rows", rows),
                value("cols", cols),
            ],
        });
        std::fs::write(path.join("launch.json"), launch.to_string()).expect("a file");
        kc(&["run", "launch.json", "--device", "sim", "--npy", "total=total.npy"], path);
        let bytes = std::fs::read(path.join("total.npy")).expect("an array");
        let total = f32::from_le_bytes(bytes[bytes.len() - 4..].try_into().expect("four bytes"));
        assert_eq!(total, (rows * cols) as f32, "blocks of {block:?}");
    }
}

const TILES: &str = r#"import warp as wp


@wp.kernel
def k(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), steps: int):
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(8, 8), dtype=float)
    for n in range(steps):
        left = wp.tile_load(a, shape=(8, 16), offset=(i * 8, n * 16))
        right = wp.tile_load(b, shape=(16, 8), offset=(n * 16, j * 8))
        wp.tile_matmul(left, right, acc)
    wp.tile_store(c, acc, offset=(i * 8, j * 8))
"#;

/// A block for each of the launch, with any number of threads, and tiles that reach beyond arrays.
#[test]
fn tiles_with_plain_parameters_are_those_of_the_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("k.py"), TILES).expect("a file");
    kc(&["compile", "k.py", "--emit", "cuda", "--abi", "plain", "--no-backward", "-o", "k.cu"], path);
    let text = std::fs::read_to_string(path.join("k.cu")).expect("a text");
    assert!(text.contains("__shared__ float left[8][16];") && text.contains("__syncthreads();"), "{text}");
    std::fs::write(path.join("k.ptx"), common::assert_cuda(&text, "sm_90")).expect("a file");
    let scalar = |name: &str| json!({"class": "scalar", "scalar": name, "shape": []});
    let (rows, cols, inner) = (13u32, 20u32, 24u32);
    let array = |name: &str, shape: [u32; 2], fill: Value| json!({"name": name, "kind": "pointer", "dtype": scalar("float32"), "shape": shape, "fill": fill});
    let value = |name: &str, n: u32| json!({"name": name, "kind": "value", "dtype": scalar("int32"), "value": n});
    for block in [32u32, 64, 96] {
        let launch = json!({
            "format": 1, "source": "k.ptx", "entry": "k",
            "grid": [rows.div_ceil(8) * cols.div_ceil(8)], "block": [block],
            "args": [
                array("a", [rows, inner], json!("range")), value("a_rows", rows), value("a_cols", inner),
                array("b", [inner, cols], json!("range")), value("b_rows", inner), value("b_cols", cols),
                array("c", [rows, cols], json!(0.0)), value("c_rows", rows), value("c_cols", cols),
                value("steps", inner.div_ceil(16)), value("rows", rows.div_ceil(8)), value("cols", cols.div_ceil(8)),
            ],
        });
        std::fs::write(path.join("launch.json"), launch.to_string()).expect("a file");
        kc(&["run", "launch.json", "--device", "sim", "--npy", "c=c.npy"], path);
        let bytes = std::fs::read(path.join("c.npy")).expect("an array");
        let found = bytes[bytes.len() - 4 * (rows * cols) as usize..].chunks_exact(4);
        let found: Vec<f32> = found.map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect();
        // Whole numbers below 2^24: every order of the sums gives the same.
        let product = |n: u32| (0..inner).map(|k| (n / cols * inner + k) * (k * cols + n % cols)).sum::<u32>() as f32;
        assert_eq!(found, (0..rows * cols).map(product).collect::<Vec<f32>>(), "blocks of {block}\n{text}");
    }
}

/// Products and sums in all forms that the text has for them: numbers, vectors, matrices, updates,
/// a product that a function returns, and the adjoints of all.
const SUMS: &str = r#"import warp as wp


@wp.func
def product(a: wp.float64, b: wp.float64) -> wp.float64:
    return a * b


@wp.kernel
def k(a: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat33), d: wp.array(dtype=wp.float64), q: wp.array(dtype=wp.quat)):
    i = wp.tid()
    x = a[i]
    x *= a[i + 1]
    x += 1.0
    a[i] = a[i] * a[i + 1] - x
    v[i] = v[i] * x + wp.cw_mul(v[i], v[i + 1])
    m[i] = m[i] * m[i + 1] + x * m[i]
    d[i] = product(d[i], d[i + 1]) + d[i]
    q[i] = q[i] * q[i + 1] + q[i] * x
"#;

#[test]
fn nothing_fuses_without_fmad() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("k.py"), SUMS).expect("a file");
    for (fmad, fuses) in [("on", true), ("off", false)] {
        for abi in ["plain", "warp"] {
            let mut args = vec!["compile", "k.py", "--emit", "cuda", "--abi", abi, "--fmad", fmad, "-o", "k.cu"];
            args.extend((abi == "plain").then_some("--no-backward"));
            kc(&args, path);
            let text = std::fs::read_to_string(path.join("k.cu")).expect("a text");
            let ptx = common::assert_cuda(&text, "sm_90");
            for instruction in ["fma.rn.f32", "fma.rn.f64"] {
                assert_eq!(ptx.contains(instruction), fuses, "--fmad {fmad} --abi {abi}: {instruction}\n{text}");
            }
        }
    }
}
