//! `kc verify`: the host and the interpreter agree on kernels whose threads part ways, and a
//! disagreement would be seen.

#[path = "common/parts.rs"]
mod parts;
#[path = "common/sample.rs"]
mod sample;

use std::path::Path;
use std::process::Command;

use serde_json::json;

/// Every thread takes its own way through branches, loops and memory.
const KERNELS: &str = r#"
import warp as wp

@wp.struct
class Particle:
    pos: wp.vec3
    mass: wp.float32

@wp.kernel
def paths(x: wp.array(dtype=float), n: wp.array(dtype=int), out: wp.array(dtype=float), seen: wp.array(dtype=int)):
    i = wp.tid()
    s = x[i]
    for k in range(n[i]):
        if k % 3 == 2:
            continue
        if s > 50.0:
            seen[k % 7 - 7] += 1
            break
        s = s * 1.5 + x[(i * 7 + k) % x.shape[0]]
    while s > 1.0:
        s = s * 0.5 - 0.001
        if s < 0.25 and i % 5 == 0:
            s = s - 2.0
    if n[i] > 8:
        out[-1 - i] = wp.sin(s) + wp.pow(wp.abs(s), 0.3)
        return
    out[-1 - i] = wp.exp(s)

@wp.kernel
def kept(x: wp.array(dtype=float), n: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=(8,), dtype=float)
    for k in range(n[i]):
        a[k % 8] = a[(k * 3) % 8] + x[i] * float(k)
    s = float(0.0)
    for k in range(8):
        s += a[k] * a[(k + i) % 8]
    out[i] = s

@wp.kernel
def grid(u: wp.array2d(dtype=wp.float64), v: wp.array2d(dtype=wp.vec2), m: wp.array2d(dtype=wp.bool), out: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    if m[i, j]:
        out[i, j] = u[i, j] / wp.float64(v[i, j][0]) + u[0, j]
    else:
        v[i, j] = v[i, j] * 2.0 + wp.vec2(1.0, float(j))
        out[i, j] = wp.float64(wp.length(v[i, j]))

@wp.kernel
def sums(x: wp.array(dtype=int), low: wp.array(dtype=int), total: wp.array(dtype=wp.int64), ticket: wp.array(dtype=int), mine: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(total, 0, wp.int64(x[i]))
    wp.atomic_min(low, 0, x[i])
    if x[i] % 2 == 0:
        wp.atomic_sub(total, 1 + x[i] % 3, wp.int64(1))
        t = wp.atomic_add(ticket, 0, 1)
        mine[i] = wp.where(t >= 0, 1, 0)
"#;

fn launch(folder: &Path, kernel: &str, dim: &[u32], args: serde_json::Value) -> std::path::PathBuf {
    let case = json!({"format": 1, "id": kernel, "source": "kernels.py", "kernel": kernel, "direction": "forward", "dim": dim, "args": args});
    let path = folder.join(format!("{kernel}.json"));
    std::fs::write(&path, case.to_string()).expect("a launch file");
    path
}

/// An array of the launch's `.npz`.
fn array(name: &str, scalar: &str, components: &[u32], shape: &[u32]) -> serde_json::Value {
    let class = if components.is_empty() { "scalar" } else { "vec" };
    json!({"name": name, "kind": "array", "dtype": {"class": class, "scalar": scalar, "shape": components}, "ndim": shape.len(), "shape": shape, "data": name})
}

fn inputs(folder: &Path) {
    let script = "import sys, numpy as np\n\
        r = np.random.default_rng(7); n = 1003; f = np.float32\n\
        a = dict(x=r.random(n, dtype=f) * f(3), n=r.integers(0, 14, n).astype(np.int32), out=np.zeros(n, f), seen=np.zeros(7, np.int32))\n\
        g = dict(u=r.random((37, 29)), v=r.random((37, 29, 2), dtype=f), m=r.integers(0, 2, (37, 29)).astype(np.uint8), grid=np.zeros((37, 29)))\n\
        s = dict(keys=r.integers(-90, 90, n).astype(np.int32), low=np.full(1, 99, np.int32), total=np.zeros(4, np.int64), ticket=np.zeros(1, np.int32), mine=np.zeros(n, np.int32))\n\
        np.savez(sys.argv[1] + '/inputs.npz', **a, **g, **s)\n";
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join(".env-test/bin/python");
    let done = Command::new(python).args(["-c", script]).arg(folder).status().expect("the test environment is there");
    assert!(done.success());
}

fn named(mut array: serde_json::Value, key: &str) -> serde_json::Value {
    array["data"] = json!(key);
    array
}

#[test]
fn the_host_agrees_with_the_interpreter() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("kernels.py"), KERNELS).expect("a source");
    inputs(path);
    let n = [1003];
    let (x, turns, out) =
        (array("x", "float32", &[], &n), array("n", "int32", &[], &n), array("out", "float32", &[], &n));
    let grid = [37, 29];
    let files = [
        launch(path, "paths", &n, json!([x, turns, out, array("seen", "int32", &[], &[7])])),
        launch(path, "kept", &n, json!([x, turns, out])),
        launch(
            path,
            "grid",
            &grid,
            json!([
                array("u", "float64", &[], &grid),
                array("v", "float32", &[2], &grid),
                array("m", "bool", &[], &grid),
                named(array("out", "float64", &[], &grid), "grid"),
            ]),
        ),
        launch(
            path,
            "sums",
            &n,
            json!([
                named(array("x", "int32", &[], &n), "keys"),
                array("low", "int32", &[], &[1]),
                array("total", "int64", &[], &[4]),
                array("ticket", "int32", &[], &[1]),
                array("mine", "int32", &[], &n),
            ]),
        ),
    ];
    for threads in ["1", "4"] {
        let output = Command::new(env!("CARGO_BIN_EXE_kc"))
            .args(["verify", "--devices", "host,interp", "--threads", threads])
            .args(&files)
            .output()
            .expect("kc starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.matches("the same bits").count(), 4 + 3 + 4 + 5, "{text}");
    }
}

#[test]
fn errors_are_no_agreement() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("kernels.py"), KERNELS).expect("a source");
    inputs(path);
    // `x` is shorter than the launch.
    let args = json!([
        array("x", "float32", &[], &[1003]),
        array("n", "int32", &[], &[1003]),
        array("out", "float32", &[], &[1003])
    ]);
    let file = launch(path, "kept", &[1010], args);
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).arg("verify").arg(file).output().expect("kc starts");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("E1101").count(), 2, "{text}");
}

/// Every launch of the examples, most with their gradients, and of the run tests one in eight
/// unless `KC_TESTS=all`.
#[test]
fn the_examples_and_the_run_tests_agree() {
    let (root, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir().expect("a folder"));
    let mut prepare = Command::new(root.join(".env-test/bin/python"));
    prepare.arg("-B").arg(root.join("tests/reference/launches.py")).arg("prepare");
    let output =
        prepare.arg(root.join("tests/run")).arg(folder.path()).output().expect("the test environment is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cases = String::from_utf8(output.stdout).expect("UTF-8");
    let cases = sample::sampled(cases.lines(), 8);
    let mut launches: Vec<_> = cases.iter().map(|id| folder.path().join(id).join("case.json")).collect();
    let examples = std::fs::read_dir(root.join("examples/launches")).expect("the examples' launches");
    launches.extend(examples.map(|entry| entry.expect("an entry").path()));
    assert!(launches.len() > if sample::whole() { 50 } else { 30 }, "{launches:?}");
    let said = parts::each(&launches, |part| {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = kc.args(["verify", "--devices", "host,interp,sim"]).args(part).output().expect("kc starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        said
    });
    let said = said.concat();
    for device in [", host", ", sim"] {
        assert_eq!(said.lines().filter(|line| line.ends_with(device)).count(), launches.len(), "{said}");
    }
}
