//! Blocks that add to copies of an array in shared memory, warps that begin with a loop elsewhere,
//! and sums that threads carry: the simulator, which looks for races and stray accesses, gives what
//! the host gives, whatever the sizes, indices and arrays of a launch are.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const SOURCE: &str = r#"import warp as wp


@wp.kernel
def histogram(idx: wp.array(dtype=wp.int32), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, idx[i], x[i])


@wp.kernel
def count(idx: wp.array(dtype=wp.int32), out: wp.array(dtype=wp.int32), less: wp.array(dtype=wp.int32)):
    i = wp.tid()
    wp.atomic_add(out, idx[i], 3)
    wp.atomic_sub(less, idx[i] // 2, 1)


@wp.kernel
def forces(idx: wp.array(dtype=wp.int32), x: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_sub(out, idx[i], x[i])
    wp.atomic_sub(out, 0, x[i])


@wp.kernel
def gather(idx: wp.array(dtype=wp.int32), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 2.0 * x[idx[i]]


@wp.kernel
def looks(idx: wp.array(dtype=wp.int32), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, idx[i], 1.0)
    x[i] = out[0]


@wp.kernel
def total(x: wp.array(dtype=float), weights: wp.array(dtype=wp.vec3), out: wp.array(dtype=float), sums: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = x[i]
    w = weights[i]
    if v > 0.25:
        wp.atomic_add(out, 0, v * v)
    wp.atomic_add(sums, 1, w)


@wp.kernel
def pairs(x: wp.array(dtype=wp.vec3), n: int, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = x[j] - x[i]
        s += d / (wp.dot(d, d) + 0.01)
    out[i] = s


@wp.kernel
def near(idx: wp.array2d(dtype=wp.int32), x: wp.array(dtype=wp.vec3), k: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for n in range(k):
        d = x[i] - x[idx[i, n]]
        q = 0.2 - wp.dot(d, d)
        if q > 0.0:
            s += q * q * q
    out[i] = s


@wp.func
def step(p: wp.vec3, r: float):
    return wp.min(wp.length(p) - r, p[1] + 0.8)


@wp.kernel
def march(w: int, radius: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    d = wp.normalize(wp.vec3(float(i % w) / float(w) - 0.5, float(i // w) / float(w) - 0.5, 1.0))
    t = float(0.0)
    for k in range(24):
        t += wp.min(step(wp.vec3(0.0, 0.0, -3.0) + d * t, radius[0]), 0.25)
    out[i] = t
"#;

fn array(name: &str, shape: &[u32], dtype: Value, fill: Value) -> Value {
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": shape.len(), "shape": shape, "fill": fill})
}

fn floats(name: &str, count: u32) -> Value {
    array(name, &[count], json!("float32"), json!(format!("random:{}", 3 + name.len())))
}

fn vectors(name: &str, count: u32) -> Value {
    array(
        name,
        &[count],
        json!({"class": "vec", "scalar": "float32", "shape": [3]}),
        json!(format!("random:{}", 3 + name.len())),
    )
}

/// Numbers below `bins`; every third one counts from the end.
fn numbers(name: &str, shape: &[u32], bins: u32) -> Value {
    let count: u32 = shape.iter().product();
    let number = |n: u32| {
        let at = i64::from(n.wrapping_mul(2_654_435_761) >> 8) % i64::from(bins);
        if n.is_multiple_of(3) { at - i64::from(bins) } else { at }
    };
    array(name, shape, json!("int32"), (0..count).map(number).collect::<Vec<_>>().into())
}

fn integers(name: &str, count: u32) -> Value {
    array(name, &[count], json!("int32"), json!(7))
}

fn number(name: &str, value: u32) -> Value {
    json!({"name": name, "kind": "value", "dtype": "int32", "value": value})
}

struct Launch {
    id: String,
    kernel: &'static str,
    gradient: bool,
    dim: u32,
    block: u32,
    args: Vec<Value>,
}

fn launch(kernel: &'static str, gradient: bool, [dim, block, bins]: [u32; 3], args: Vec<Value>) -> Launch {
    Launch { id: format!("{kernel}_{gradient}_{dim}_{block}_{bins}"), kernel, gradient, dim, block, args }
}

fn write(folder: &Path, launch: &Launch) -> String {
    std::fs::write(folder.join("k.py"), SOURCE).expect("a source");
    let direction = if launch.gradient { "gradient" } else { "forward" };
    let mut args = launch.args.clone();
    if let Some(last) = args.last_mut().filter(|_| launch.gradient) {
        last["grad_fill"] = json!("random:11");
    }
    let text = json!({"format": 1, "id": launch.id, "source": "k.py", "kernel": launch.kernel, "direction": direction,
                      "dim": [launch.dim], "block_dim": launch.block, "args": args});
    let name = format!("{}.json", launch.id);
    std::fs::write(folder.join(&name), text.to_string()).expect("a launch");
    name
}

fn kc(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).current_dir(folder).output().expect("kc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

#[track_caller]
fn verify(launches: &[Launch]) {
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<String> = launches.iter().map(|launch| write(folder.path(), launch)).collect();
    let mut args = vec!["verify", "--devices", "host,sim"];
    args.extend(names.iter().map(String::as_str));
    let (text, status) = kc(folder.path(), &args);
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with(", sim")).count(), launches.len(), "{text}");
}

/// Threads of the launch, threads of a block, elements that are added to. Blocks that are filled
/// in part, warps too; one thread; as many elements as tasks of a block, more, and more than fit.
const SIZES: [[u32; 3]; 9] = [
    [1, 1, 1],
    [1000, 256, 16],
    [1024, 256, 256],
    [1000, 256, 257],
    [777, 70, 33],
    [4096, 512, 1],
    [300, 7, 5],
    [2048, 1024, 1000],
    [40_000, 1024, 13_000],
];

#[test]
fn sums_by_numbers_in_memory_are_those_of_the_host() {
    let mut launches = Vec::new();
    for size @ [dim, _, bins] in SIZES {
        let idx = || numbers("idx", &[dim], bins);
        launches.push(launch("histogram", true, size, vec![idx(), floats("x", dim), floats("out", bins)]));
        launches.push(launch("count", false, size, vec![idx(), integers("out", bins), integers("less", bins)]));
        launches.push(launch("forces", true, size, vec![idx(), vectors("x", dim), vectors("out", bins)]));
        launches.push(launch("gather", true, size, vec![idx(), floats("x", bins), floats("out", dim)]));
    }
    verify(&launches);
}

/// An array that is read or written in the kernel too, by its own name or another one, has no copy.
#[test]
fn arrays_that_are_looked_at_have_no_copy() {
    let size @ [dim, _, bins] = [512, 256, 8];
    let folder = tempfile::tempdir().expect("a folder");
    let looks = launch("looks", false, size, vec![numbers("idx", &[dim], bins), floats("x", dim), floats("out", bins)]);
    write(folder.path(), &looks);
    let ptx = |kernel: &str| {
        let (text, status) =
            kc(folder.path(), &["compile", "k.py", "-k", kernel, "--no-backward", "--emit", "ptx", "-o", "-"]);
        assert_eq!(status, Some(0), "{text}");
        text
    };
    assert!(ptx("histogram").contains("private_sums"));
    assert!(!ptx("looks").contains("private_sums") && !ptx("pairs").contains("private_sums"));
    // The sums are a part of what is added: the kernel asks where its arrays lie.
    let [dim, block, bins] = [512, 256, 512];
    let mut alias = launch(
        "histogram",
        false,
        [dim, block, bins],
        vec![numbers("idx", &[dim], bins), floats("x", dim), floats("out", bins)],
    );
    alias.args[1]["data"] = json!("same");
    alias.args[2] =
        json!({"name": "out", "kind": "array", "dtype": "float32", "ndim": 1, "shape": [bins], "alias_of": "same"});
    alias.args[0] = array("idx", &[dim], json!("int32"), json!("range"));
    verify(&[alias]);
}

#[test]
fn sums_of_a_launch_are_those_of_the_host() {
    let mut launches = Vec::new();
    for size @ [dim, ..] in SIZES {
        let args = vec![floats("x", dim), vectors("weights", dim), floats("out", 1), vectors("sums", 2)];
        launches.push(launch("total", true, size, args));
    }
    verify(&launches);
}

#[test]
fn warps_that_begin_elsewhere_add_what_the_host_adds() {
    let mut launches = Vec::new();
    for size @ [dim, ..] in SIZES.into_iter().filter(|[dim, ..]| *dim <= 1024) {
        let args = vec![vectors("x", dim), number("n", dim), vectors("out", dim)];
        launches.push(launch("pairs", true, size, args));
        let args = vec![numbers("idx", &[dim, 5], dim), vectors("x", dim), number("k", 5), floats("out", dim)];
        launches.push(launch("near", true, size, args));
        launches.push(launch("march", true, size, vec![number("w", 30), floats("radius", 1), floats("out", dim)]));
    }
    // No turn at all.
    launches.push(launch("pairs", true, [64, 32, 0], vec![vectors("x", 64), number("n", 0), vectors("out", 64)]));
    verify(&launches);
}

/// What a launch with its gradient asks of a GPU: the metrics of the entries, forward first.
fn profiled(launch: &Launch) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let name = write(folder.path(), launch);
    let (text, status) = kc(folder.path(), &["profile", &name, "--json", "--registers", "32"]);
    assert_eq!(status, Some(0), "{text}");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    all["kernels"].as_array().expect("kernels").clone()
}

fn metric(profile: &Value, name: &str) -> f64 {
    profile["metrics"][name]["value"].as_f64().unwrap_or(0.0)
}

const ATOMICS: [&str; 2] =
    ["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"];

/// Requests of atomics of global memory.
fn atomics(profile: &Value) -> f64 {
    ATOMICS.iter().map(|name| metric(profile, name)).sum()
}

/// Milliseconds that atomics take if warps run in step.
fn queue(profile: &Value) -> f64 {
    profile["at_least"][1]["in_step"]["milliseconds"].as_f64().expect("a number")
}

#[test]
fn few_atomics_reach_memory() {
    let [dim, block, bins] = [400_000, 256, 256];
    let args = vec![numbers("idx", &[dim], bins), floats("x", dim), floats("out", bins)];
    let all = profiled(&launch("histogram", true, [dim, block, bins], args));
    // 1056 blocks bring 256 sums each; without copies there were as many requests as warps.
    assert!(atomics(&all[0]) <= f64::from(1056 * bins / 32), "{}", atomics(&all[0]));
    let args = vec![floats("x", dim), vectors("weights", dim), floats("out", 1), vectors("sums", 2)];
    let all = profiled(&launch("total", false, [dim, block, 0], args));
    assert!(atomics(&all[0]) <= f64::from(1056 * 4), "{}", atomics(&all[0]));
}

#[test]
fn warps_do_not_queue_at_each_element() {
    let dim = 1024;
    let all =
        profiled(&launch("pairs", true, [dim, 256, 0], vec![vectors("x", dim), number("n", dim), vectors("out", dim)]));
    // 32 warps in step at each of 1024 elements, and three numbers each, would take 0.059 ms an
    // instruction.
    assert!(queue(&all[1]) < 0.02, "{}", queue(&all[1]));
}

#[test]
fn reverse_code_of_zeros_is_left_out() {
    let dim = 4096;
    let args = vec![numbers("idx", &[dim, 8], dim), vectors("x", dim), number("k", 8), floats("out", dim)];
    let all = profiled(&launch("near", true, [dim, 256, 0], args));
    // Nine of ten neighbours are too far away.
    let lanes = metric(&all[1], "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum");
    assert!(lanes < 0.5 * 3.0 * f64::from(dim * 8), "{lanes}");
    let all =
        profiled(&launch("march", true, [dim, 256, 0], vec![number("w", 64), floats("radius", 1), floats("out", dim)]));
    // An array of the thread's own is written without being cleared first.
    let (stores, loads) =
        ("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum");
    assert_eq!(metric(&all[1], stores), metric(&all[1], loads));
}
