//! Kernels with tiles as code of the threads of a block: the simulator, which looks for races,
//! divergent barriers and memory that nobody has set, gives the bits of host and interpreter for
//! blocks of any size.

#[path = "common/parts.rs"]
mod parts;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// Less than a warp, a warp, more than two.
const BLOCKS: [u32; 3] = [7, 32, 70];

/// The launches of tiles that `tests/run` and a folder with `sources` state, as launch files.
fn prepared(sources: &Path, folder: &Path) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join(".env-test/bin/python"))
        .arg("-B")
        .arg(root.join("tests/reference/launches.py"))
        .arg("prepare")
        .args([sources, folder])
        .output()
        .expect("the test environment is there; `scripts/setup.sh test` makes it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cases = String::from_utf8(output.stdout).expect("UTF-8");
    cases.lines().map(|id| folder.join(id).join("case.json")).collect()
}

/// The launch with blocks of so many threads.
fn in_blocks(launch: &Path, threads: u32) -> PathBuf {
    let text = std::fs::read_to_string(launch).expect("a launch");
    let mut case: Value = serde_json::from_str(&text).expect("JSON");
    case["dim"].as_array_mut().expect("a list").push(json!(threads));
    case["block_dim"] = json!(threads);
    let made = launch.with_file_name(format!("blocks_of_{threads}.json"));
    std::fs::write(&made, case.to_string()).expect("the folder is writable");
    made
}

#[track_caller]
fn verify(launches: &[PathBuf]) {
    assert!(!launches.is_empty());
    let said = parts::each(launches, |part| {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = kc.args(["verify", "--devices", "host,interp,sim"]).args(part).output().expect("kc starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        said
    });
    let said = said.concat();
    assert_eq!(said.lines().filter(|line| line.ends_with(", sim")).count(), launches.len(), "{said}");
}

#[test]
fn blocks_of_any_size_give_the_bits_of_the_host() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sources, cases) = (folder.path().join("sources"), folder.path().join("cases"));
    for made in [&sources, &cases] {
        std::fs::create_dir(made).expect("the folder is writable");
    }
    for name in ["tiles.py", "tiles_in_order.py", "fourier.py"] {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run").join(name);
        std::fs::copy(tests, sources.join(name)).expect("the program is there");
    }
    let launches = prepared(&sources, &cases);
    assert!(launches.len() >= 14, "{launches:?}");
    let all: Vec<PathBuf> =
        launches.iter().flat_map(|launch| BLOCKS.map(|threads| in_blocks(launch, threads))).collect();
    verify(&all);
}

/// Each in blocks of its own size, with gradients.
#[test]
fn threads_with_values_of_their_own_give_the_bits_of_the_host() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sources, cases) = (folder.path().join("sources"), folder.path().join("cases"));
    for made in [&sources, &cases] {
        std::fs::create_dir(made).expect("the folder is writable");
    }
    for name in ["lanes.py", "warps.py"] {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run").join(name);
        std::fs::copy(tests, sources.join(name)).expect("the program is there");
    }
    let launches = prepared(&sources, &cases);
    assert!(launches.len() >= 31, "{launches:?}");
    verify(&launches);
}

/// What is set element by element takes no memory of its own, and what a loop adds up is in
/// registers: `benches/tile_quality.py` shows the same by hand.
#[test]
fn shared_memory_is_that_of_kernels_by_hand() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    kc.arg("compile").arg(root.join("benches/kernels/tiles_gpu.py"));
    kc.args(["-k", "gemm", "-k", "softmax", "-k", "attention", "-k", "cholesky", "--emit", "meta", "-o"]);
    let output = kc.arg(folder.path()).output().expect("kc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(folder.path().join("tiles_gpu.json")).expect("the metadata");
    let meta: Value = serde_json::from_str(&text).expect("JSON");
    let bytes = |kernel: &str| {
        let found = meta["kernels"].as_array().into_iter().flatten().find(|found| found["name"] == kernel);
        found.unwrap_or_else(|| panic!("{kernel}: {text}"))["entries"]["forward"]["block"]["shared_bytes"].as_u64()
    };
    // Two factors, one of longer rows, and those of the next iteration; a row and 32 sums, twice; a
    // query and the total, keys, values, scores and their weights; a matrix. Rows of keys and of
    // the matrix are four numbers longer: threads go along one each.
    let expected = [
        ("gemm", 2 * (64 * 80 + 4096)),
        ("softmax", 4096 + 2 * 128),
        ("attention", 2 * 256 + 32 * 272 + 8192 + 2 * 128),
        ("cholesky", 32 * 144),
    ];
    for (kernel, expected) in expected {
        assert_eq!(bytes(kernel), Some(expected), "{kernel}");
    }
}

/// A factorisation and a solve of a matrix of that size, as many times as there are blocks.
fn solver(size: u32) -> String {
    format!(
        "import warp as wp\n\n@wp.kernel\ndef solve(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):\n\
         \x20   i = wp.tid()\n    factor = wp.tile_cholesky(wp.tile_load(a[i], shape=({size}, {size})))\n\
         \x20   wp.tile_store(x[i], wp.tile_cholesky_solve(factor, wp.tile_load(b[i], shape={size})))\n"
    )
}

/// Loops of a factorisation that LLVM writes out are as many steps as there are elements, with
/// barriers among them: there was no text of the first one below after ten minutes.
#[test]
fn factorisations_stay_loops() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for size in [17, 24, 32] {
        let program = folder.path().join("solve.py");
        std::fs::write(&program, solver(size)).expect("the folder is writable");
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = kc.arg("compile").arg(&program).args(["--emit", "ptx,cuda", "-o"]).arg(folder.path()).output();
        let output = output.expect("kc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let count = |name: &str, what: &str| {
            let text = std::fs::read_to_string(folder.path().join(name)).expect("an output");
            (text.lines().count(), text.matches(what).count())
        };
        let ((lines, barriers), (text_lines, text_barriers)) =
            (count("solve.ptx", "bar.sync"), count("solve.cu", "__syncthreads()"));
        assert!(lines < 10_000 && barriers < 100, "{size}: {lines} lines of PTX, {barriers} barriers");
        assert!(
            text_lines < 1_000 && text_barriers < 100,
            "{size}: {text_lines} lines of CUDA, {text_barriers} barriers"
        );
    }
}

/// More than 48 KiB for each block.
const LARGE: &str = r#"import numpy as np
import warp as wp

@wp.kernel
def large(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=9000, offset=i * 9000)
    s = wp.tile_scan_inclusive(t)
    wp.tile_store(y, s * 2.0 + t, offset=i * 9000)

def cases():
    x = np.arange(18000) % 7
    sums = np.concatenate([np.cumsum(x[:9000]), np.cumsum(x[9000:])])
    yield case("large", 2, dict(x=x, y=np.zeros(18000)), dict(y=2 * sums + x))
"#;

#[test]
fn blocks_ask_for_the_shared_memory_that_they_need() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sources, cases) = (folder.path().join("sources"), folder.path().join("cases"));
    for made in [&sources, &cases] {
        std::fs::create_dir(made).expect("the folder is writable");
    }
    let program = sources.join("large.py");
    std::fs::write(&program, LARGE).expect("the folder is writable");
    verify(&prepared(&sources, &cases).iter().map(|launch| in_blocks(launch, 64)).collect::<Vec<_>>());
    let compile = |options: &[&str]| {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        kc.arg("compile").arg(&program).args(["--no-backward", "-o"]).arg(folder.path()).args(options);
        kc.output().expect("kc starts")
    };
    assert!(compile(&["--emit", "ptx,cuda,meta,header", "--arch", "sm_80"]).status.success());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("an output");
    let (ptx, meta) = (read("large.ptx"), read("large.json"));
    assert!(ptx.contains(".extern .shared .align 16 .b8 block_memory[];"), "{ptx}");
    let meta: Value = serde_json::from_str(&meta).expect("JSON");
    let block = &meta["kernels"][0]["entries"]["forward"]["block"];
    assert_eq!((&block["shared_bytes"], &block["dynamic_shared_bytes"]), (&json!(0), &json!(2 * 36_000)), "{block}");
    let (text, header) = (read("large.cu"), read("large.h"));
    assert!(text.contains("extern __shared__ __align__(16) unsigned char block_memory[];"), "{text}");
    assert!(
        text.contains("<<<grid, block, 72000>>>") && header.contains("large_cuda_shared_bytes = 72000 }"),
        "{text}"
    );
    // What an architecture does not have; CUDA text is for all of them.
    for (emit, arch) in [("ptx", "sm_75"), ("cuda", "sm_75"), ("cuda", "sm_90,sm_75")] {
        let output = compile(&["--emit", emit, "--arch", arch]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("E0822") && said.contains("has 65536"), "{said}");
    }
    assert!(compile(&["--emit", "cuda", "--arch", "sm_90,sm_86"]).status.success());
}

/// Tensor cores have the sums of the gradient's products in registers, as chains have those of the
/// forward ones.
const PRODUCTS: &str = r#"import warp as wp

@wp.kernel
def product(a: wp.array2d(dtype=wp.float16), b: wp.array2d(dtype=wp.float16), c: wp.array2d(dtype=float)):
    z = wp.tile_zeros(shape=(96, 96), dtype=float)
    for k in range(a.shape[1] // 64):
        x = wp.tile_load(a, shape=(96, 64), offset=(0, k * 64))
        y = wp.tile_load(b, shape=(64, 96), offset=(k * 64, 0))
        wp.tile_matmul(x, y, z)
        wp.tile_matmul(x, y, z)
    wp.tile_store(c, z)
"#;

#[test]
fn text_and_ptx_each_say_what_they_take() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("product.py");
    std::fs::write(&program, PRODUCTS).expect("the folder is writable");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    kc.arg("compile").arg(&program).args(["--emit", "ptx,cuda,meta,header", "-o"]).arg(folder.path());
    assert!(kc.output().expect("kc starts").status.success());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("an output");
    let (text, header) = (read("product.cu"), read("product.h"));
    let meta: Value = serde_json::from_str(&read("product.json")).expect("JSON");
    for (entry, name) in [("forward", "product"), ("backward", "product_backward")] {
        let block = &meta["kernels"][0]["entries"][entry]["block"];
        let asked = |memory: &Value| memory["dynamic_shared_bytes"].as_u64().unwrap_or(0);
        let (by_ptx, by_text) = (asked(block), asked(&block["cuda_text"]));
        assert!(by_ptx > 0 && by_ptx != by_text, "{block}");
        assert!(header.contains(&format!("{name}_cuda_shared_bytes = {by_ptx} }}")), "{by_ptx}: {header}");
        assert!(header.contains(&format!("{name}_cuda_text_shared_bytes = {by_text} }}")), "{by_text}: {header}");
        let set = format!("cudaFuncSetAttribute(product_cuda_kernel_{entry}, ");
        assert_eq!(text.contains(&set), by_text > 0, "{text}");
        let most = format!("{set}cudaFuncAttributeMaxDynamicSharedMemorySize, {by_text}).");
        assert!(by_text == 0 || text.contains(&most), "{most}: {text}");
    }
}

/// Rows of a row, of a matrix, and of more; vectors; beside text and numbers.
const PRINTS: &str = r#"import warp as wp

@wp.kernel
def prints(x: wp.array2d(dtype=float), v: wp.array(dtype=wp.vec3)):
    t = wp.tile_load(x, shape=(2, 3))
    print(t * 2.0)
    print("row 100%", t[1], 7, wp.tile_sum(t)[0])
    print(wp.tile_reshape(wp.tile_arange(8, dtype=int), shape=(2, 2, 2)))
    print(wp.tile_load(v, shape=2))
    print(wp.tile_ones(shape=(1, 1, 1, 1), dtype=wp.uint64))
"#;

const PRINTED: &str = "[[2 2 2]
 [2 2 2]] = tile(shape=(2,3))
row 100% [1 1 1] = tile(shape=(3)) 7 6
[[[0 1]
  [2 3]]

 [[4 5]
  [6 7]]] = tile(shape=(2,2,2))
[(1 1 1) (1 1 1)] = tile(shape=(2))
[[[[1]]]] = tile(shape=(1,1,1,1))
";

#[test]
fn a_block_prints_its_tiles_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("prints.py");
    std::fs::write(&file, PRINTS).expect("the folder is writable");
    for (device, dim) in [("host", "1"), ("interp", "1"), ("sim", "1"), ("sim", "1x7"), ("sim", "1x70")] {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        kc.arg("run").arg(&file).args(["--device", device, "--dim", dim]);
        kc.args(["--arg", "x=ones:2x3", "--arg", "v=ones:2"]);
        if let Some((_, block)) = dim.split_once('x') {
            kc.args(["--block-dim", block]);
        }
        let output = kc.output().expect("kc starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let printed = said.rsplit_once("prints: ok").map(|(printed, _)| printed);
        assert_eq!(printed, Some(PRINTED), "{device} {dim}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
