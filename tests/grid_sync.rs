//! `wp.grid_sync()`: all threads of a launch wait for each other, on every device that can, and
//! what cannot says so.

#[path = "common/mod.rs"]
mod common;
#[path = "common/gpu.rs"]
mod gpu;

use std::path::Path;
use std::process::{Command, Output};

use kc::run::files::npz::Npz;
use serde_json::{Value, json};

const KERNELS: &str = "\
import warp as wp

@wp.func
def meet(step: int):
    wp.grid_sync()
    return step + 1

@wp.kernel
def spread(u: wp.array(dtype=float), v: wp.array(dtype=float), steps: int):
    i = wp.tid()
    inside = i > 0 and i < u.shape[0] - 1
    step = int(0)
    while step < steps:
        if inside:
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        wp.grid_sync()
        if inside:
            u[i] = 0.5 * (v[i - 1] + v[i + 1])
        step = meet(step)

@wp.kernel
def total(x: wp.array(dtype=float), sums: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(sums, 0, x[i])
    wp.grid_sync()
    out[i, j] = x[i] / sums[0]

@wp.kernel
def racing(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + 1.0
    wp.grid_sync()
    x[i] = y[(i + 300) % 1000]
    y[i] = 0.0

@wp.kernel
def some(x: wp.array(dtype=float)):
    i = wp.tid()
    if i < 8:
        return
    x[i] = 1.0
    wp.grid_sync()

@wp.kernel
def first(done: wp.array(dtype=float)):
    i = wp.tid()
    if done[0] == 0.0:
        done[0] = 1.0
        wp.grid_sync()

@wp.kernel
def tiled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=64)
    wp.grid_sync()
    wp.tile_atomic_add(y, t)
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), KERNELS).expect("the kernels");
    folder
}

fn kc(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kc")).current_dir(folder).args(args).output().expect("kc starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn array(name: &str, shape: &[u32], fill: impl Into<Value>) -> Value {
    json!({"name": name, "kind": "array", "dtype": "float32", "ndim": shape.len(), "shape": shape, "fill": fill.into()})
}

fn launch(folder: &Path, kernel: &str, dim: &[u32], block: u32, args: &[Value]) -> String {
    let text = json!({"format": 1, "id": kernel, "source": "k.py", "kernel": kernel, "direction": "forward",
                      "dim": dim, "block_dim": block, "args": args});
    let name = format!("{kernel}-{block}.json");
    std::fs::write(folder.join(&name), text.to_string()).expect("a launch");
    name
}

/// A launch of 1000 threads: the last block is not full.
fn spread(folder: &Path, block: u32, steps: u32) -> String {
    let steps = json!({"name": "steps", "kind": "value", "dtype": "int32", "value": steps});
    let rods = ["u", "v"].map(|name| array(name, &[1000], "random:5"));
    launch(folder, "spread", &[1000], block, &[rods[0].clone(), rods[1].clone(), steps])
}

/// `u` as a plain loop leaves it: `v` begins with other numbers at both ends.
fn spread_by_hand(u: &mut [f32], v: &mut [f32], steps: u32) {
    for _ in 0..steps {
        for i in 1..u.len() - 1 {
            v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        }
        for i in 1..u.len() - 1 {
            u[i] = 0.5 * (v[i - 1] + v[i + 1]);
        }
    }
}

#[test]
fn devices_give_the_same_bits_in_any_order() {
    let folder = folder();
    let folder = folder.path();
    let mut launches = vec![spread(folder, 128, 6), spread(folder, 32, 2)];
    let args = [array("x", &[20], "range"), array("sums", &[1], 0), array("out", &[20, 30], 0)];
    launches.push(launch(folder, "total", &[20, 30], 64, &args));
    gpu::library();
    for launch in &launches {
        let said = kc(folder, &["verify", "--devices", "interp,sim", "--schedules", "3", launch]);
        assert!(said.status.success(), "{}", text(&said));
        // The same through the driver: cooperative launches, which may come in another order.
        for seed in ["0", "7"] {
            let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
            kc.current_dir(folder);
            kc.args(["gpu", "--seed", seed, env!("CARGO_BIN_EXE_kc"), "verify", "--devices", "interp,cuda", launch]);
            let said = kc.output().expect("kc starts");
            assert!(said.status.success(), "{}", text(&said));
        }
    }
}

#[test]
fn the_interpreter_gives_what_loops_give() {
    let folder = folder();
    let run = |steps: u32| {
        let name = spread(folder.path(), 128, steps);
        let said = kc(folder.path(), &["run", &name, "--device", "interp", "--out-dir", "out"]);
        assert!(said.status.success(), "{}", text(&said));
        let mut arrays = Npz::open(&folder.path().join("out/spread.npz"), None).expect("results");
        ["u", "v"].map(|name| {
            let array = arrays.read(name, |_| Ok(())).expect("the array");
            array
                .bytes
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
                .collect::<Vec<f32>>()
        })
    };
    let ([mut u, mut v], found) = (run(0), run(9));
    spread_by_hand(&mut u, &mut v, 9);
    assert_eq!(found, [u, v]);
}

#[test]
fn tools_of_cuda_take_the_code() {
    let folder = folder();
    let all = |emit: &[&str]| {
        ["spread", "total"].map(|kernel| {
            let said = kc(folder.path(), &[&["compile", "k.py", "-k", kernel, "-o", "-"], emit].concat());
            assert!(said.status.success(), "{}", text(&said));
            String::from_utf8_lossy(&said.stdout).into_owned()
        })
    };
    for arch in common::ARCHITECTURES {
        for ptx in all(&["--emit", "ptx", "--arch", arch]) {
            common::assert_ptx(&ptx, arch);
            assert!(ptx.contains("barrier.sync") && ptx.contains("ld.acquire.gpu"), "{ptx}");
        }
        for abi in ["warp", "plain"] {
            for cuda in all(&["--emit", "cuda", "--abi", abi]) {
                let ptx = common::assert_cuda(&cuda, arch);
                assert!(ptx.contains("%envreg1") && ptx.contains("atom.release.gpu.global.add"), "{ptx}");
                assert!(!cuda.contains("__restrict__"), "{cuda}");
            }
        }
    }
}

#[test]
fn what_threads_do_between_two_barriers_may_be_a_race() {
    let folder = folder();
    let arrays = [array("x", &[1000], 1), array("y", &[1000], 0)];
    let name = launch(folder.path(), "racing", &[1000], 128, &arrays);
    let said = text(&kc(folder.path(), &["run", &name, "--device", "sim"]));
    assert!(said.contains("error[E1113]") && said.contains("y[i] = 0.0"), "{said}");
}

#[test]
fn what_cannot_wait_says_so() {
    let folder = folder();
    let folder = folder.path();
    let refused = |args: &[&str], words: &str| {
        let said = kc(folder, args);
        let all = text(&said);
        assert!(!said.status.success() && all.contains("error[E0824]") && all.contains(words), "{args:?}\n{all}");
    };
    refused(&["compile", "k.py", "-k", "spread", "--emit", "obj", "-o", "out"], "the host runs one after the other");
    refused(&["run", &spread(folder, 128, 1)], "`sim` and `interp` run it");
    refused(&["compile", "k.py", "-k", "some", "--emit", "ptx", "-o", "out"], "only some threads of `some`");
    refused(&["compile", "k.py", "-k", "tiled", "--emit", "ptx", "-o", "out"], "has tiles");
    // There is no gradient, and a word about it.
    let said = text(&kc(folder, &["check", "k.py", "--warn", "gradients"]));
    assert!(said.contains("W0607") && said.contains("behind which threads read what others wrote"), "{said}");
}

#[test]
fn a_thread_that_does_not_come_is_told() {
    let folder = folder();
    let name = launch(folder.path(), "first", &[64], 32, &[array("done", &[1], 0)]);
    let said = text(&kc(folder.path(), &["run", &name, "--device", "interp"]));
    assert!(said.contains("E1114") && said.contains("this one waits for it for ever: thread (0)"), "{said}");
    let said = text(&kc(folder.path(), &["run", &name, "--device", "sim", "--steps", "20000"]));
    assert!(said.contains("error[E1116]") || said.contains("error[E1113]"), "{said}");
}

#[test]
fn more_threads_than_run_together_are_refused() {
    let folder = folder();
    let args = [array("x", &[9000], 1), array("sums", &[1], 0), array("out", &[9000, 1], 0)];
    let name = launch(folder.path(), "total", &[9000, 1], 256, &args);
    let said = text(&kc(folder.path(), &["run", &name, "--device", "interp"]));
    assert!(said.contains("E1107") && said.contains("the interpreter runs 8192 together"), "{said}");
    // 132 multiprocessors have 2048 threads each.
    let args = [array("x", &[300_000], 1), array("sums", &[1], 0), array("out", &[300_000, 1], 0)];
    let name = launch(folder.path(), "total", &[300_000, 1], 256, &args);
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    gpu::library();
    kc.current_dir(folder.path());
    kc.args(["gpu", env!("CARGO_BIN_EXE_kc"), "run", "--device", "cuda", &name]);
    let said = text(&kc.output().expect("kc starts"));
    assert!(said.contains("E1107") && said.contains("1172 blocks of 256 threads"), "{said}");
    assert!(said.contains("fit on this GPU at once"), "{said}");
}

/// A function that waits, or whose own gradient does, one that calls it, and a kernel that asks for
/// the gradient.
const GRADIENTS: &str = "\
import warp as wp

@wp.func
def waits(x: float):
    wp.grid_sync()
    return 2.0 * x

@wp.func
def only_waits():
    wp.grid_sync()

@wp.func
def with_rule(x: float):
    wp.grid_sync()
    return x * x

@wp.func_grad(with_rule)
def adj_with_rule(x: float, r: float):
    wp.adjoint[x] += 2.0 * x * r

@wp.func
def rule_waits(x: float):
    return x * x

@wp.func_grad(rule_waits)
def adj_rule_waits(x: float, r: float):
    wp.grid_sync()
    wp.adjoint[x] += 2.0 * x * r

@wp.func
def asked(x: float):
    BODY

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = CALL(x[i])
";

#[test]
fn what_waits_below_has_no_gradient() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |body: &str, call: &str| {
        let text = GRADIENTS.replace("BODY", body).replace("CALL", call);
        std::fs::write(folder.path().join("g.py"), text).expect("a kernel");
        let said = kc(folder.path(), &["check", "g.py", "--warn", "gradients"]);
        (said.status.success(), text_of_refusal(&said))
    };
    let bodies = [
        "return waits(x) * x",
        "only_waits()\n    return x * x",
        "return with_rule(x) * x",
        "return rule_waits(x) * x",
    ];
    for body in bodies {
        // Forward code that asks for it.
        let (passes, (error, warning)) = check(body, "wp.grad(asked)");
        assert!(!passes && error && warning, "{body}");
        // And the gradient of the kernel itself.
        let (_, (error, warning)) = check(body, "asked");
        assert!(!error && warning, "{body}");
    }
    // The user's gradient is called, and the function is not.
    let (passes, said) = check("return x", "wp.grad(with_rule)");
    assert!(passes && said == (false, false));
    let (passes, said) = check("return x * x", "wp.grad(asked)");
    assert!(passes && said == (false, false));
}

/// Whether a gradient that code asks for is refused, and one that could be asked for.
fn text_of_refusal(said: &Output) -> (bool, bool) {
    let all = text(said);
    (all.contains("error[E0605]"), all.contains("W0607") && all.contains("behind which threads read"))
}
