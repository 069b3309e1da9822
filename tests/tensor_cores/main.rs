//! Products of tiles by the instructions for matrices of a GPU: the simulator, which looks for
//! races and missing threads, gives the host's numbers as far as sums in another order can; without
//! them, its bits.

#[path = "../common/mod.rs"]
mod common;
mod text;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Element types of the factors and of the result; rows, columns and inner length of the tiles.
type Case = (&'static str, &'static str, [u32; 3]);

const HALVES: [Case; 5] = [
    ("float16", "float32", [32, 32, 16]),
    ("float16", "float16", [64, 16, 16]),
    ("bfloat16", "float32", [16, 8, 8]),
    ("bfloat16", "bfloat16", [48, 24, 24]),
    ("float64", "float64", [24, 16, 12]),
];

/// Those without an instruction: other shapes, other types.
const OTHERS: [Case; 3] =
    [("float16", "float32", [20, 32, 16]), ("float32", "float32", [32, 32, 16]), ("float16", "float32", [16, 12, 4])];

/// A product of whole matrices, in tiles, and one of single tiles that are turned.
fn program((factor, result, [m, n, k]): Case) -> String {
    format!(
        "import warp as wp

M, N, K = wp.constant({m}), wp.constant({n}), wp.constant({k})

@wp.kernel
def gemm(a: wp.array2d(dtype=wp.{factor}), b: wp.array2d(dtype=wp.{factor}), c: wp.array2d(dtype=wp.{result})):
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(M, N), dtype=wp.{result})
    for k in range((a.shape[1] + K - 1) // K):
        x = wp.tile_load(a, shape=(M, K), offset=(i * M, k * K))
        y = wp.tile_load(b, shape=(K, N), offset=(k * K, j * N))
        wp.tile_matmul(x, y, acc)
    wp.tile_store(c, acc, offset=(i * M, j * N))

@wp.kernel
def turned(a: wp.array2d(dtype=wp.{factor}), b: wp.array2d(dtype=wp.{factor}), c: wp.array2d(dtype=wp.{result})):
    i, j = wp.tid()
    x = wp.tile_load(a, shape=(K, M), offset=(0, i * M))
    y = wp.tile_load(b, shape=(N, K), offset=(j * N, 0))
    z = wp.tile_zeros(shape=(M, N), dtype=wp.{result})
    wp.tile_matmul(wp.tile_transpose(x), wp.tile_transpose(y), z)
    wp.tile_store(c, z, offset=(i * M, j * N))
"
    )
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn with(case: Case) -> Folder {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("k.py"), program(case)).expect("the folder is writable");
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn kc(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).current_dir(self.0.path()).output();
        let output = output.expect("kc starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}\n{said}\n{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    /// What is in the arrays after a run of two tiles side by side, the inner length one and a half
    /// of a tile's.
    fn run(&self, case: Case, kernel: &str, more: &[&str], names: &[&str]) -> Vec<Vec<f64>> {
        let (_, _, [_, _, k]) = case;
        self.run_with(case, if kernel == "gemm" { k + k / 2 } else { k }, kernel, more, names)
    }

    /// The same with another inner length.
    fn run_with(&self, case: Case, inner: u32, kernel: &str, more: &[&str], names: &[&str]) -> Vec<Vec<f64>> {
        let (_, _, [m, n, _]) = case;
        let shape = |rows: u32, columns: u32, turned: bool| {
            if turned { format!("{columns}x{rows}") } else { format!("{rows}x{columns}") }
        };
        let turned = kernel == "turned";
        let (a, b) = (shape(m, inner, turned), shape(inner, 2 * n, turned));
        let threads = more.iter().position(|word| *word == "--block-dim").map(|at| more[at + 1]);
        let dim = threads.map_or("1x2".to_string(), |threads| format!("1x2x{threads}"));
        let mut args: Vec<String> = ["run", "k.py", "--kernel", kernel, "--dim", &dim].map(String::from).to_vec();
        for text in [format!("a=random:1:{a}"), format!("b=random:2:{b}"), format!("c=zeros:{m}x{}", 2 * n)] {
            args.extend(["--arg".to_string(), text]);
        }
        if names.iter().any(|name| name.ends_with(".grad")) {
            args.extend(["--gradient", "--arg"].map(String::from));
            args.push(format!("c.grad=random:3:{m}x{}", 2 * n));
        }
        for name in names {
            args.extend(["--npy".to_string(), format!("{name}={name}.npy")]);
        }
        args.extend(more.iter().map(|word| word.to_string()));
        self.kc(&args.iter().map(String::as_str).collect::<Vec<_>>());
        names.iter().map(|name| numbers(&self.path(&format!("{name}.npy")))).collect()
    }
}

/// The floats of a file of NumPy's.
fn numbers(path: &Path) -> Vec<f64> {
    let bytes = std::fs::read(path).expect("kc wrote it");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let (head, data) = (String::from_utf8_lossy(&bytes[10..10 + length]).into_owned(), &bytes[10 + length..]);
    let halves = |of: fn(u16) -> f64| data.chunks_exact(2).map(|b| of(u16::from_le_bytes([b[0], b[1]]))).collect();
    if head.contains("<f8") {
        data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
    } else if head.contains("<f4") {
        data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes")).into()).collect()
    } else if head.contains("<f2") {
        halves(|bits| half::f16::from_bits(bits).to_f64())
    } else {
        assert!(head.contains("u2"), "{head}");
        halves(|bits| half::bf16::from_bits(bits).to_f64())
    }
}

/// How far a result may lie from the host's, of numbers below 1 that are sums of some hundred
/// products.
fn tolerance(scalar: &str) -> f64 {
    match scalar {
        "float64" => 1e-13,
        "float32" => 2e-5,
        "float16" => 4e-3,
        _ => 3e-2,
    }
}

#[track_caller]
fn assert_near(case: Case, what: &str, scalar: &str, got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len(), "{case:?} {what}");
    assert!(wanted.iter().any(|x| *x != 0.0), "{case:?} {what}: nothing was computed");
    let scale = wanted.iter().fold(0.0f64, |scale, x| scale.max(x.abs()));
    for (n, (x, y)) in got.iter().zip(wanted).enumerate() {
        assert!((x - y).abs() <= tolerance(scalar) * scale, "{case:?} {what}[{n}]: {x}, not {y}");
    }
}

#[test]
fn warps_compute_what_the_host_does() {
    for (n, case) in HALVES.into_iter().enumerate() {
        let folder = Folder::with(case);
        for (at, kernel) in ["gemm", "turned"].into_iter().enumerate() {
            let host = folder.run(case, kernel, &["--device", "host"], &["c"]);
            // Less than a warp, a warp, two and some more threads, more warps than there are
            // patches.
            let threads = ["7", "32", "70", "33", "160"];
            for threads in [threads[n], threads[(n + 2) % 5]].into_iter().take(2 - at) {
                let sim = folder.run(case, kernel, &["--device", "sim", "--block-dim", threads], &["c"]);
                assert_near(case, &format!("{kernel} {threads}"), case.1, &sim[0], &host[0]);
            }
        }
    }
}

/// The part of the next iteration is on its way while this one's is multiplied: with any number of
/// parts, the last one whole or not.
#[test]
fn parts_are_copied_an_iteration_ahead() {
    for case in [HALVES[0], HALVES[4]] {
        let (_, _, [_, _, k]) = case;
        let folder = Folder::with(case);
        for inner in [k / 2, k, 2 * k, 3 * k, 4 * k + k / 2, 5 * k] {
            let host = folder.run_with(case, inner, "gemm", &["--device", "host"], &["c"]);
            let sim = folder.run_with(case, inner, "gemm", &["--device", "sim", "--block-dim", "64"], &["c"]);
            assert_near(case, &format!("inner {inner}"), case.1, &sim[0], &host[0]);
        }
        let text = ptx(&folder, "sm_80", &["-k", "gemm", "--no-backward"]);
        let tiles =
            |name: &str| text.lines().filter(|line| line.contains(".shared .align") && line.contains(name)).count();
        assert_eq!([tiles("gemm_x"), tiles("gemm_y")], [2, 2], "{case:?}");
        // Between the first copy and the last product there is one barrier for each of two parts.
        let (first, last) = (text.find("cp.async.c").expect("copies"), text.rfind("mma.sync").expect("products"));
        assert_eq!(text[first..last].matches("bar.sync").count(), 2, "{text}");
    }
}

/// The gradient of a product has the factors' types: what is added up in them on the host, element
/// by element, warps round once.
#[test]
fn gradients_are_those_of_the_host() {
    for case in [HALVES[0], HALVES[3], HALVES[4]] {
        let folder = Folder::with(case);
        let names = ["a.grad", "b.grad"];
        for kernel in ["gemm", "turned"] {
            let host = folder.run(case, kernel, &["--device", "host"], &names);
            for threads in ["64"] {
                let sim = folder.run(case, kernel, &["--device", "sim", "--block-dim", threads], &names);
                for ((name, sim), host) in names.iter().zip(&sim).zip(&host) {
                    assert_near(case, &format!("{kernel} {name} {threads}"), case.0, sim, host);
                }
            }
        }
    }
}

#[test]
fn without_them_all_bits_are_the_hosts() {
    let names = ["c", "a.grad", "b.grad"];
    for case in [HALVES[0], OTHERS[1]] {
        let folder = Folder::with(case);
        let host = folder.run(case, "gemm", &["--device", "host"], &names);
        let off = ["--device", "sim", "--block-dim", "64", "--tensor-cores", "off"];
        assert_eq!(folder.run(case, "gemm", &off, &names), host, "{case:?}");
    }
    // Nor does it matter where there is no instruction for them.
    for case in OTHERS {
        let folder = Folder::with(case);
        let host = folder.run(case, "gemm", &["--device", "host"], &["c"]);
        assert_eq!(folder.run(case, "gemm", &["--device", "sim", "--block-dim", "64"], &["c"]), host, "{case:?}");
    }
}

#[test]
fn float32_is_rounded_if_that_is_asked_for() {
    let case = OTHERS[1];
    let folder = Folder::with(case);
    let host = folder.run(case, "gemm", &["--device", "host"], &["c"]);
    let sim = folder.run(case, "gemm", &["--device", "sim", "--block-dim", "64", "--tensor-cores", "tf32"], &["c"]);
    assert_near(case, "tf32", "float16", &sim[0], &host[0]);
    assert_ne!(sim, host);
}

/// `precision="tf32"` of one product rounds it and what its gradient consists of, and no other; on
/// the host it says nothing.
#[test]
fn a_product_chooses_its_precision() {
    let case = OTHERS[1];
    let (whole, own) = (Folder::with(case), Folder::with(case));
    let text = program(case).replace("(x, y, acc)", "(x, y, acc, precision=\"tf32\")");
    std::fs::write(own.path("k.py"), text).expect("the folder is writable");
    let names = ["c", "a.grad", "b.grad"];
    let sim = ["--device", "sim", "--block-dim", "64"];
    let with = |cores: &'static str| [&sim[..], &["--tensor-cores", cores]].concat();
    let host = own.run(case, "gemm", &["--device", "host"], &names);
    assert_eq!(host, whole.run(case, "gemm", &["--device", "host"], &names));
    assert_eq!(host, own.run(case, "gemm", &["--device", "interp"], &names));
    assert_eq!(host, own.run(case, "gemm", &with("off"), &names));
    let rounded = own.run(case, "gemm", &sim, &names);
    assert_eq!(rounded, whole.run(case, "gemm", &with("tf32"), &names));
    for ((name, rounded), host) in names.iter().zip(&rounded).zip(&host) {
        assert_near(case, name, "float16", rounded, host);
        assert_ne!(rounded, host, "{name}");
    }
    // The product of the other kernel says nothing.
    let plain = own.run(case, "turned", &["--device", "host"], &names);
    assert_eq!(own.run(case, "turned", &sim, &names), plain);
    // Comparisons of devices do without.
    let array = |name: &str, shape: [u32; 2], fill: &str| {
        let dtype = serde_json::json!({"class": "scalar", "scalar": "float32", "shape": []});
        serde_json::json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 2, "shape": shape, "fill": fill})
    };
    let args = [array("a", [32, 16], "random:1"), array("b", [16, 32], "random:2"), array("c", [32, 32], "random:3")];
    let launch = serde_json::json!({"format": 1, "source": "k.py", "kernel": "gemm", "direction": "gradient", "dim": [1, 1, 64],
        "block_dim": 64, "args": args});
    std::fs::write(own.path("launch.json"), launch.to_string()).expect("the folder is writable");
    own.kc(&["verify", "launch.json", "--devices", "host,interp,sim"]);
}

/// What computes the products of a file, by the plan.
fn products(folder: &Folder) -> Vec<String> {
    let plan = folder.kc(&["compile", "k.py", "--emit", "plan", "-o", "-"]);
    plan.lines()
        .filter(|line| line.starts_with("kernel ") || line.starts_with("  product "))
        .map(String::from)
        .collect()
}

#[test]
fn plans_and_metadata_say_what_a_product_asks_for() {
    let folder = Folder::with(OTHERS[1]);
    let text = program(OTHERS[1]).replace("(x, y, acc)", "(x, y, acc, precision=\"tf32\")");
    std::fs::write(folder.path("k.py"), text).expect("the folder is writable");
    let chain =
        "chains of fma, because float32 would lose bits (`--tensor-cores tf32` and `precision=\"tf32\"` round it)";
    let made = |size: &str, how: &str| format!("  product {size}, float32 by float32: {how}");
    let by = "tensor cores of sm_90, as tf32, by its `precision`";
    let cores = |patch: &str| format!("{by}, in patches of {patch}");
    assert_eq!(
        products(&folder)[..4],
        [
            "kernel gemm forward".to_string(),
            made("32 x 32 x 16", &cores("16 x 16")),
            "kernel turned forward".to_string(),
            made("32 x 32 x 16", chain),
        ]
    );
    let back: Vec<String> =
        products(&folder).into_iter().skip_while(|line| line != "kernel gemm backward").take(3).collect();
    assert_eq!(back[1..], [made("32 x 16 x 32", &cores("16 x 8")), made("16 x 32 x 32", &cores("16 x 8"))]);
    let meta = folder.kc(&["compile", "k.py", "--emit", "meta", "-o", "-"]);
    let meta: serde_json::Value = serde_json::from_str(&meta).expect("JSON");
    let of = |kernel: usize| &meta["kernels"][kernel]["entries"]["forward"]["block"]["products"][0];
    assert_eq!((&of(0)["precision"], &of(0)["tensor_cores"]), (&"tf32".into(), &"tf32".into()), "{}", of(0));
    assert_eq!((of(1).get("precision"), &of(1)["tensor_cores"]), (None, &serde_json::Value::Null), "{}", of(1));
    // The mark is in the IR, and comes back from its text.
    folder.kc(&["compile", "k.py", "--emit", "ir", "-o", "k.ir"]);
    let read = folder.kc(&["compile", "k.ir", "--emit", "plan", "-o", "-"]);
    assert_eq!(read.matches(by).count(), 3, "{read}");
}

/// Results with fewer bits than the sums are rounded once: no reason for chains.
#[test]
fn half_results_are_computed_by_tensor_cores() {
    for (case, unit) in [(HALVES[1], "f16"), (HALVES[3], "bf16")] {
        let all = products(&Folder::with(case));
        let forward: Vec<&String> = all.iter().take(4).filter(|line| line.starts_with("  product")).collect();
        let by = format!(": tensor cores of sm_90, as {unit}, in patches of ");
        assert!(forward.len() == 2 && forward.iter().all(|line| line.contains(&by)), "{all:?}");
    }
}

/// Where nothing rounds what may be rounded, `kc compile` says why.
#[test]
fn it_is_said_where_precision_is_kept() {
    let folder = Folder::with(OTHERS[1]);
    let text = program(OTHERS[1]).replace("(x, y, acc)", "(x, y, acc, precision=\"tf32\")").replace(
        "wp.tile_transpose(y), z)",
        "wp.tile_transpose(y), z)\n    wp.tile_matmul(z[:, 8:16], z[0:8], z, precision=\"tf32\")",
    );
    std::fs::write(folder.path("k.py"), &text).expect("the folder is writable");
    let said = |more: &[&str]| {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        kc.args(["compile", "k.py", "--no-backward", "--emit", "ptx", "-o", "k.ptx"])
            .args(more)
            .current_dir(folder.0.path());
        String::from_utf8_lossy(&kc.output().expect("kc starts").stderr).into_owned()
    };
    let count = |text: &str| text.matches("W0410").count();
    let part = said(&["--arch", "sm_80"]);
    assert!(count(&part) == 1 && part.contains("it is no product of whole tiles"), "{part}");
    let old = said(&["--arch", "sm_75"]);
    assert!(count(&old) == 2 && old.contains("sm_75 has no instructions for TensorFloat-32"), "{old}");
    let off = said(&["--arch", "sm_75", "--tensor-cores", "off"]);
    assert_eq!(count(&off), 0, "{off}");
    // A comment allows it, and is not idle where an architecture does what is asked.
    let allowed = text.replace("@wp.kernel\ndef", "@wp.kernel\n# kc: allow(W0410)\ndef");
    assert_ne!(allowed, text);
    std::fs::write(folder.path("k.py"), allowed).expect("the folder is writable");
    for arch in ["sm_75", "sm_90"] {
        let silent = said(&["--arch", arch]);
        assert!(count(&silent) == 0 && !silent.contains("W1304"), "{silent}");
    }
}

/// The texts of a file for an architecture, forward and backward entries.
fn ptx(folder: &Folder, arch: &str, more: &[&str]) -> String {
    let args = [&["compile", "k.py", "--emit", "ptx", "-o", "k.ptx", "--arch", arch], more].concat();
    folder.kc(&args);
    let text = std::fs::read_to_string(folder.path("k.ptx")).expect("kc wrote it");
    common::assert_ptx(&text, arch);
    text
}

#[test]
fn each_architecture_gets_what_it_has() {
    let f16 = Folder::with(HALVES[0]);
    for arch in ["sm_80", "sm_90", "sm_100", "sm_120"] {
        let text = ptx(&f16, arch, &[]);
        assert!(text.contains("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "{arch}");
        // Adjoints of the result are float32: they are multiplied in two parts.
        assert!(text.contains("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), "{arch}");
        assert!(text.contains("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), "{arch}");
        assert!(text.contains("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"), "{arch}");
        assert!(text.contains("cp.async.cg.shared.global") && text.contains("cp.async.wait_all"), "{arch}");
    }
    let turing = ptx(&f16, "sm_75", &[]);
    assert!(turing.contains("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32") && turing.contains("ldmatrix"));
    assert!(!turing.contains("m16n8k16") && !turing.contains("tf32") && !turing.contains("cp.async"));
    assert!(!ptx(&f16, "sm_90", &["--tensor-cores", "off"]).contains("mma.sync"));
    let f64s = Folder::with(HALVES[4]);
    assert!(ptx(&f64s, "sm_80", &[]).contains("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"));
    assert!(!ptx(&f64s, "sm_75", &[]).contains("mma.sync"));
    let bf16 = Folder::with(HALVES[2]);
    assert!(ptx(&bf16, "sm_80", &[]).contains("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"));
    assert!(!ptx(&bf16, "sm_75", &[]).contains("mma.sync"));
    let f32s = Folder::with(OTHERS[1]);
    assert!(!ptx(&f32s, "sm_90", &[]).contains("mma.sync"));
    assert!(ptx(&f32s, "sm_90", &["--tensor-cores", "tf32"]).contains("cvt.rna.tf32.f32"));
}
