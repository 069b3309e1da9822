//! `kc gradcheck` on source files: kernels launched with made-up arguments, in double precision,
//! first and second derivatives; and the kernels of `tests/gradients`, on the interpreter and on
//! the host, with each store (a pair of file and store in three, unless `KC_TESTS=all`).

#[path = "common/sample.rs"]
mod sample;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kc::abi::{HostStatus, LaunchBounds};
use kc::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, Opt};
use kc::driver::{Compiler, Gradients, Request, Store};
use kc::ir::{Const, FuncId, Function, Op, Phase};
use kc::run::devices::host::Host;
use kc::run::devices::interp::Interp;
use kc::run::devices::{self, Device, How, Job, Report};
use kc::run::gradients::gradient;
use kc::run::launch::make;
use kc::run::program::Program;

const STORES: [(&str, Store); 4] =
    [("unroll", Store::Unroll), ("stack", Store::Stack), ("tape", Store::Tape), ("checkpoint", Store::Checkpoint)];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The kernels of `tests/gradients`, some of which have loops that keep state.
fn cases() -> [PathBuf; 8] {
    ["basics", "chosen", "filled_tiles", "loops_and_overwrites", "realistic", "references", "returned", "tiles"]
        .map(|name| path(&format!("tests/gradients/{name}.py")))
}

/// The kernels of a source text, by their decorators.
fn kernels(source: &Path) -> HashSet<String> {
    let text = std::fs::read_to_string(source).expect("a source");
    let names = text.split("@wp.kernel\ndef ").skip(1).filter_map(|rest| rest.split_once('('));
    names.map(|(name, _)| name.to_string()).collect()
}

fn gradcheck(args: &[&str], source: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kc")).arg("gradcheck").args(args).arg(source).output().expect("kc runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

/// The result of each launch, by its name.
fn results(output: &Output) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn in_file(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("kernels.py"), format!("import warp as wp\n\n\n{source}")).expect("a source");
    folder
}

#[test]
fn the_examples_have_right_gradients() {
    for entry in std::fs::read_dir(path("examples")).expect("examples") {
        let source = entry.expect("an example").path();
        if source.extension().is_none_or(|e| e != "py") {
            continue;
        }
        let output = gradcheck(&["--json"], &source);
        assert_eq!(output.status.code(), Some(0), "{}\n{}", source.display(), text(&output));
        let found: HashSet<String> = results(&output).iter().filter_map(|r| Some(r["id"].as_str()?.into())).collect();
        assert_eq!(found, kernels(&source), "{}", source.display());
        for result in results(&output) {
            assert_eq!(result["double"], true, "{}: {result}", source.display());
        }
    }
}

/// The simulator runs the PTX of the gradient, and what it finds wrong ends the check.
#[test]
fn gradients_are_checked_from_their_ptx() {
    for launch in ["spmv", "springs", "summarize"] {
        let launch = path("examples/launches").join(launch).with_extension("json");
        let output = gradcheck(&["--json", "--device", "sim"], &launch);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let (sim, interp) = (results(&output), results(&gradcheck(&["--json"], &launch)));
        let norms = |results: &[serde_json::Value]| -> Vec<String> {
            let rows = results[0]["arguments"].as_array().expect("rows");
            rows.iter().map(|row| format!("{:.5e}", row["norm"].as_f64().expect("a number"))).collect()
        };
        assert_eq!(norms(&sim), norms(&interp));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("k.py");
    let kernel = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    \
                  i = wp.tid()\n    y[i] = x[i + 1]\n";
    std::fs::write(&source, kernel).expect("a source");
    let array = |name: &str| {
        let dtype = serde_json::json!({"class": "scalar", "scalar": "float32", "shape": []});
        serde_json::json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [4], "fill": "random:1",
                           "grad_fill": "random:2"})
    };
    let case =
        serde_json::json!({"format": 1, "source": "k.py", "kernel": "k", "dim": [4], "args": [array("x"), array("y")]});
    let launch = folder.path().join("case.json");
    std::fs::write(&launch, case.to_string()).expect("a launch");
    let output = gradcheck(&["--device", "sim"], &launch);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    for words in ["error[E1101]", "so nothing is checked"] {
        assert!(text(&output).contains(words), "{}", text(&output));
    }
    // A kernel that the back end refuses is named, with what checks it; the others are checked.
    let tiles = "import warp as wp\n\n@wp.kernel\ndef running(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    \
                 i = wp.tid()\n    t = wp.tile_load(x, shape=40000, offset=i * 40000)\n    \
                 wp.tile_store(y, wp.tile_scan_inclusive(t), offset=i * 40000)\n\n\
                 @wp.kernel\ndef fine(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    \
                 i = wp.tid()\n    y[i] = x[i] * x[i]\n";
    std::fs::write(&source, tiles).expect("a source");
    let output = gradcheck(&["--device", "sim"], &source);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in ["running\n  not checked: E0822\n", "error[E0822]", "`--device interp` checks", "fine\n  argument"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let output = gradcheck(&["--device", "sim", "--second-order"], &path("examples/launches/spmv.json"));
    assert!(output.status.code() != Some(0) && text(&output).contains("E1012"), "{}", text(&output));
}

#[test]
fn loops_and_overwrites_are_right_with_every_store() {
    let pairs = STORES.iter().flat_map(|store| cases().map(|cases| (store, cases)));
    for ((store, _), cases) in sample::sampled(pairs, 3) {
        let output = gradcheck(&["--json", "--store", store], &cases);
        assert_eq!(output.status.code(), Some(0), "{store}\n{}", text(&output));
        let results = results(&output);
        assert_eq!(results.len(), kernels(&cases).len(), "{store}");
        for result in results {
            assert_eq!(result["double"], true, "{store}: {result}");
            for row in result["arguments"].as_array().expect("rows") {
                let error = row["dot_product"].as_f64().expect("forward mode");
                assert!(error <= 1e-9, "{store}: {result}");
                assert_eq!(row["kink"], false, "{store}: {result}");
                // Some of these amplify rounding errors.
                assert!(row["own"].as_f64().expect("compared") < 1e-4, "{store}: {result}");
            }
        }
    }
}

#[test]
fn second_derivatives_are_right_with_every_store() {
    let pairs = STORES.iter().flat_map(|store| cases().map(|cases| (store, cases)));
    for ((store, _), cases) in sample::sampled(pairs, 3) {
        // Forty kernels of loops in loops: with every store they would take as long as all others
        // together.
        if cases.ends_with("realistic.py") && *store != "checkpoint" {
            continue;
        }
        let output = gradcheck(&["--json", "--second-order", "--store", store], &cases);
        assert_eq!(output.status.code(), Some(0), "{store}\n{}", text(&output));
        let results = results(&output);
        assert_eq!(results.len(), kernels(&cases).len(), "{store}");
        for result in results {
            assert!(result["symmetry"].as_f64().expect("a number") <= 1e-9, "{store}: {result}");
            for row in result["arguments"].as_array().expect("rows") {
                assert!(row["difference"].as_f64().expect("a number") < 1e-4, "{store}: {result}");
            }
        }
    }
}

#[test]
fn derivatives_of_decompositions_are_right() {
    let cases = path("tests/gradients/decompositions.py");
    for order in [&[][..], &["--second-order"]] {
        let output = gradcheck(&[&["--json"], order].concat(), &cases);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let results = results(&output);
        assert_eq!(results.len(), kernels(&cases).len());
        for result in results {
            assert_eq!(result["right"], true, "{result}");
            for row in result["arguments"].as_array().expect("rows") {
                assert!(row["difference"].as_f64().expect("a number") < 1e-6, "{result}");
            }
        }
    }
}

/// The gradients of all cases, as bits, after a run on a device.
fn bits(program: &Program, source: &Path, device: &dyn Device) -> Vec<(String, Vec<u64>)> {
    let module = &program.module;
    let all: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    let options = HostOptions { checked: true, opt: Opt::Lean, cpu: Cpu::Native, atomics: Atomics::Plain };
    let host = (!device.is_reference()).then(|| HostModule::compile(module, &all, &options).expect("host code"));
    let mut found = Vec::new();
    for (kernel, function) in module.kernels().filter(|(_, f)| f.phase == Phase::Forward) {
        let (launch, mut arguments) = make::launch(program, kernel, source, 1).expect("a launch");
        let bounds = LaunchBounds::new(&launch.dim).expect("a small launch");
        let active: Vec<_> = arguments.arrays.iter().filter(|a| a.grad.is_some()).cloned().collect();
        for array in &active {
            let count = arguments.floats(array, true, &module.structs).len();
            let seeds: Vec<f64> = (0..count).map(|n| 0.5 + 0.25 * n as f64).collect();
            arguments.set_floats(array, true, &module.structs, &seeds);
        }
        let mut run = |entry: FuncId, args, _: &[(u64, u64)]| {
            let Some(host) = &host else {
                let ready = devices::prepare(
                    &Interp,
                    module,
                    entry,
                    &How {
                        checked: true,
                        fmad: false,
                        tensor_cores: kc::run::devices::TensorCores::Off,
                        alone: true,
                        in_order: false,
                        cpu: kc::run::devices::Cpu::Native,
                        trial: kc::run::devices::Trial::PLAIN,
                        objects: None,
                    },
                )?;
                let job = Job::new(bounds, args, 1);
                // SAFETY: `args` was made for this entry, and its arrays live in `arguments`.
                return unsafe { ready.run(module, &job) };
            };
            let code = host.entry(entry).expect("all kernels are compiled");
            let mut status = HostStatus {
                kind: HostStatus::OK,
                site: 0,
                dim: 0,
                extent: 0,
                index: 0,
                thread: 0,
                print: None,
                user: std::ptr::null_mut(),
                note: 0,
                visited: 0,
                note_thread: 0,
            };
            // SAFETY: as above.
            unsafe { code(&bounds, args, 0, bounds.size, &raw mut status) };
            assert_eq!(status.kind, HostStatus::OK);
            Ok(Report::default())
        };
        gradient::gradient(program, kernel, &mut arguments, bounds.size, &mut run).expect("a gradient");
        let arrays = active.iter().flat_map(|array| arguments.floats(array, true, &module.structs));
        let all = arrays.chain(arguments.parameters.iter().flat_map(|p| p.gradient.clone().unwrap_or_default()));
        // The sign of a zero gradient is not fixed.
        let bits = all.map(|x| if x == 0.0 { 0 } else { x.to_bits() }).collect();
        found.push((function.source_name.clone(), bits));
    }
    found
}

#[test]
fn host_and_interpreter_agree_with_every_store() {
    let alike: usize = cases().iter().map(|source| agree(source)).sum();
    let all: usize = cases().iter().map(|source| 2 * kernels(source).len()).sum();
    assert!(alike * 10 > all * 9, "{alike} of {all} gradients are compared bit for bit");
}

/// Says how many gradients have the same bits as with another store.
fn agree(source: &Path) -> usize {
    let mut alike = 0;
    let mut first: Option<(Vec<(String, Vec<u64>)>, HashSet<String>)> = None;
    for (name, store) in STORES {
        let gradients = Gradients { store: Some(store), parameters: true, ..Gradients::default() };
        let compilation = Compiler::new().load(source, &Request { gradients, ..Request::default() });
        let program = Program {
            module: compilation.module,
            sources: compilation.sources,
            diagnostics: compilation.diagnostics.into_sorted(),
        };
        let (host, interp) = (bits(&program, source, &Host), bits(&program, source, &Interp));
        assert_eq!(host.len(), kernels(source).len());
        assert_eq!(host, interp, "{name}");
        // Where loops are unrolled, constants are folded.
        if store == Store::Unroll {
            continue;
        }
        let turned = turned(&program);
        let Some((before, turned_before)) = &first else {
            first = Some((host, turned));
            continue;
        };
        for (one, other) in before.iter().zip(&host) {
            assert!(one.0 == other.0 && one.1.len() == other.1.len(), "{name}");
            // A loop that goes forward adds in another order: the last bits of its sums may differ.
            if !turned.contains(&one.0) && !turned_before.contains(&one.0) {
                assert_eq!(one.1, other.1, "{name}, {}", one.0);
                alike += 1;
                continue;
            }
            let near = |(a, b): (&u64, &u64)| {
                let (a, b) = (f64::from_bits(*a), f64::from_bits(*b));
                (a - b).abs() <= 3e-7 * a.abs().max(b.abs())
            };
            assert!(one.1.iter().zip(&other.1).all(near), "{name}, {}: {one:?} {other:?}", one.0);
        }
    }
    alike
}

/// The kernels whose gradients have loops that go forward, though those that they are the reverse
/// of do so too: they pass nothing on and add to adjoints (`src/passes/loop_reversal.rs`).
fn turned(program: &Program) -> HashSet<String> {
    let functions = program.module.kernels().map(|(_, function)| function);
    let backward = functions.filter(|function| function.phase == Phase::Backward);
    let is_turned = |function: &Function| {
        let mut found = false;
        function.walk(function.entry, &mut |_, inst| {
            let Op::For { step, init, body, .. } = &inst.op else { return };
            let forward = function.as_const(*step).and_then(Const::as_int) == Some(1);
            let mut adds = false;
            function.walk(*body, &mut |_, inst| adds |= inst.op.properties().atomic);
            found |= forward && init.is_empty() && adds;
        });
        found
    };
    backward.filter(|function| is_turned(function)).map(|function| function.source_name.clone()).collect()
}

#[test]
fn narrow_types_are_checked_in_double_precision() {
    let folder = in_file(
        "@wp.struct
class P:
    at: wp.vec3h
    n: int


@wp.kernel
def halves(x: wp.array(dtype=wp.float16), s: wp.array(dtype=P), out: wp.array(dtype=wp.float16), c: wp.float16):
    i = wp.tid()
    p = s[i]
    out[i] = x[i] * p.at[p.n % 3] * c + wp.float16(wp.sin(float(x[i])))


@wp.kernel
def mixed(x: wp.array2d(dtype=wp.mat22), out: wp.array(dtype=wp.float64), r: wp.array2d(dtype=float)):
    i, j = wp.tid()
    state = wp.rand_init(7, i)
    m = x[i, j] * 0.5 + wp.identity(n=2, dtype=float)
    wp.atomic_add(out, j, wp.float64(wp.determinant(m) * wp.randf(state)) * wp.float64(0.25))
    w = wp.zeros(shape=3, dtype=float)
    w[1] = m[0, 1] * wp.pi
    r[i, j] = w[1] + w[2]
",
    );
    let output = gradcheck(&["--json"], &folder.path().join("kernels.py"));
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let results = results(&output);
    assert_eq!(results.len(), 2, "{text}");
    for result in results {
        assert_eq!(result["double"], true, "{text}");
        for row in result["arguments"].as_array().expect("rows") {
            assert!(row["dot_product"].as_f64().expect("forward mode") <= 1e-9, "{text}");
        }
    }
}

#[test]
fn what_double_precision_would_change_is_checked_as_it_is() {
    let bodies = [
        ("    y = wp.float32(wp.float16(x[i]))\n    out[i] = x[i] * x[i] + y\n", "rounds"),
        ("    b = wp.cast(x[i], wp.uint32)\n    out[i] = x[i] * float(b % wp.uint32(3))\n", "E0401"),
    ];
    for (body, reason) in bodies {
        let head = "@wp.kernel\ndef k(x: wp.array(dtype=float), out: wp.array(dtype=float)):\n    i = wp.tid()\n";
        let folder = in_file(&format!("{head}{body}"));
        let output = gradcheck(&["--json"], &folder.path().join("kernels.py"));
        let results = results(&output);
        assert_eq!(results[0]["double"], false, "{}", text(&output));
        let why = results[0]["own_types_because"].as_str().expect("a reason");
        assert!(why.contains(reason), "{}", text(&output));
    }
}

#[test]
fn kernels_without_a_launch_are_said_so() {
    let folder = in_file(
        "@wp.kernel
def endless(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    while n > 0:
        x[i] = x[i] * 0.5


@wp.kernel(enable_backward=False)
def without(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 0.5


@wp.kernel
def fine(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 0.5


@wp.kernel
def ordered(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.atomic_add(x, 0, y[i]) * y[i]
",
    );
    let output = gradcheck(&[], &folder.path().join("kernels.py"));
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for wanted in ["E1109", "`endless` does not run", "not checked: `enable_backward=False`", "E0601", "fine\n"] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

/// Each array grows where an access was beyond its end, and no other one with it: extents that
/// indices are computed from stay.
#[test]
fn arrays_grow_each_in_its_own_dimension() {
    let folder = in_file(
        "@wp.kernel
def flat(a: wp.array(dtype=float), o: wp.array2d(dtype=float)):
    i, j = wp.tid()
    o[i, j] = a[i * o.shape[1] + j]


@wp.kernel
def wide(a: wp.array2d(dtype=float), o: wp.array2d(dtype=float)):
    i, j = wp.tid()
    o[i, j] = a[i, i * o.shape[1] + j]


@wp.kernel
def heads(a: wp.array3d(dtype=float), o: wp.array4d(dtype=float)):
    t, d, b, h = wp.tid()
    o[t, d, b, h] = a[b, t, d * o.shape[3] + h]


@wp.kernel
def summed(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for q in range(a.shape[1]):
        for k in range(4):
            s += b[i, q * 4 + k]
    o[i] = s


@wp.kernel
def row(a: wp.array2d(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    r = a[i]
    o[i] = r[i + 3]
",
    );
    let output = gradcheck(&["--json"], &folder.path().join("kernels.py"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(results(&output).len(), 5, "{}", text(&output));
    // One that is never satisfied ends all the same.
    let folder = in_file("@wp.kernel\ndef after(x: wp.array(dtype=float)):\n    x[wp.tid()] = x[x.shape[0]]\n");
    let output = gradcheck(&[], &folder.path().join("kernels.py"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("is out of bounds for dimension 0 of `x`"), "{}", text(&output));
}

/// What kernels are given by value, in every form.
const BY_VALUE: &str = "@wp.struct
class Inner:
    a: float
    b: wp.float64
    w: wp.mat22


@wp.struct
class P:
    x: wp.array(dtype=float)
    k: float
    n: int
    v: wp.vec3
    h: wp.float16
    inner: Inner


@wp.func
def spring(p: P, t: float):
    return p.k * wp.sin(t) + wp.length(p.v) + p.inner.a * t


@wp.kernel
def loops(x: wp.array(dtype=float), y: wp.array(dtype=float), p: P, s: float, q: wp.quat, n: int):
    i = wp.tid()
    acc = float(0.0)
    u = s
    for k in range(n):
        if x[i] * float(k) > 1.5:
            break
        u = u * s + x[i]
        acc += spring(p, u) * float(k)
    if x[i] > 0.5:
        acc += float(p.inner.b) * p.inner.w[0, 1]
    else:
        acc += p.x[i] * s
    y[i] = acc + wp.quat_rotate(q, p.v)[1]


@wp.kernel
def overwrites(x: wp.array(dtype=float), s: float, m: wp.mat33, t: wp.transform):
    i = wp.tid()
    v = m * wp.vec3(x[i], s, 1.0)
    x[i] = wp.length(wp.transform_point(t, v)) * x[i]


@wp.kernel
def leaves_early(y: wp.array(dtype=float), s: float, e: float):
    i = wp.tid()
    if i > 3:
        y[i] = e * e * s
        return
    y[i] = wp.exp(s) * e
";

#[test]
fn what_is_given_by_value_is_checked() {
    let folder = in_file(BY_VALUE);
    let source = folder.path().join("kernels.py");
    for store in STORES.map(|(name, _)| name) {
        for flags in [&["--json", "--store", store][..], &["--json", "--store", store, "--own-types"]] {
            let output = gradcheck(flags, &source);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output));
            let results = results(&output);
            let names = |n: usize| -> Vec<&str> {
                let rows = results[n]["arguments"].as_array().expect("rows");
                rows.iter().map(|row| row["argument"].as_str().expect("a name")).collect()
            };
            let loops = ["x", "y", "p.x", "p.k", "p.v", "p.h", "p.inner.a", "p.inner.b", "p.inner.w", "s", "q"];
            assert_eq!(names(0), loops);
            assert_eq!(names(1), ["x", "s", "m", "t"]);
            assert_eq!(names(2), ["y", "s", "e"]);
            for row in results.iter().flat_map(|result| result["arguments"].as_array().expect("rows")) {
                let zero = ["y", "p.h"].contains(&row["argument"].as_str().expect("a name"));
                assert_eq!(row["norm"].as_f64().expect("a number") == 0.0, zero, "{row}");
                assert!(row["dot_product"].is_number(), "forward mode has them too: {row}");
            }
        }
    }
}

#[test]
fn host_and_interpreter_agree_on_what_is_given_by_value() {
    let folder = in_file(BY_VALUE);
    agree(&folder.path().join("kernels.py"));
}

#[test]
fn what_has_no_gradient_by_value_keeps_the_one_by_arrays() {
    // The bits of a parameter lead to the result.
    let folder = in_file(
        "@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float), s: float):
    i = wp.tid()
    y[i] = x[i] * wp.cast(wp.cast(s, wp.int32) + 1, wp.float32)


@wp.kernel
def counts(y: wp.array(dtype=int), s: float):
    i = wp.tid()
    y[i] = i
",
    );
    let output = gradcheck(&[], &folder.path().join("kernels.py"));
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("  x ") && !text.contains("  s "), "{text}");
    assert!(text.contains("nothing to check"), "{text}");
}

/// A launch that is in error says so as `kc run` does: which array, which thread, where.
#[test]
fn a_launch_in_error_is_told_in_words() {
    let folder = in_file(
        "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = x[i + 9] * x[i]\n",
    );
    let array = |name: &str| {
        let dtype = serde_json::json!({"class": "scalar", "scalar": "float32", "shape": []});
        serde_json::json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [4], "fill": "random:1"})
    };
    let launch = serde_json::json!({
        "format": 1, "id": "far", "source": "kernels.py", "kernel": "k", "direction": "gradient", "dim": [4], "block_dim": 256,
        "args": [array("x"), array("y")],
    });
    let launch_file = folder.path().join("far.json");
    std::fs::write(&launch_file, launch.to_string()).expect("a launch file");
    for verb in ["gradcheck", "bench"] {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).arg(verb).arg(&launch_file).output().expect("kc runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for words in
            ["[E1101]: index 9 is out of bounds for dimension 0 of `x`", "in thread (0)", "does not run, so nothing is"]
        {
            assert!(said.contains(words), "{verb}: {said}");
        }
        assert!(!said.contains("OutOfBounds"), "{verb}: {said}");
    }
}

/// In double precision there is nothing that TensorFloat-32 could be asked for: such products are
/// checked in it like all others.
#[test]
fn products_that_may_be_rounded_are_checked_in_double_precision() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("k.py");
    let product = "import warp as wp\n\n@wp.kernel\ndef gemm(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), \
                   c: wp.array2d(dtype=float)):\n    i, j = wp.tid()\n    \
                   x = wp.tile_load(a, shape=(16, 8), offset=(i * 16, 0))\n    \
                   y = wp.tile_load(b, shape=(8, 8), offset=(0, j * 8))\n    \
                   z = wp.tile_matmul(x, y, precision=\"tf32\")\n    wp.tile_store(c, z, offset=(i * 16, j * 8))\n";
    std::fs::write(&source, product).expect("a source");
    let output = gradcheck(&["--json"], &source);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let results = results(&output);
    assert_eq!((results.len(), &results[0]["double"]), (1, &serde_json::Value::from(true)), "{}", results[0]);
}

/// A file with one kernel needs no name of it, as for `kc run`.
#[test]
fn the_only_kernel_needs_no_name() {
    let folder = in_file(
        "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    y[wp.tid()] = x[wp.tid()] * x[wp.tid()]\n",
    );
    let source = std::fs::read_dir(folder.path()).expect("a folder").flatten().next().expect("a source").file_name();
    let array = |name: &str| serde_json::json!({"name": name, "kind": "array", "dtype": "float32", "ndim": 1, "shape": [8], "fill": "random:1"});
    let launch = serde_json::json!({"format": 1, "source": source.to_string_lossy(), "dim": [8], "args": [array("x"), array("y")]});
    let path = folder.path().join("k.json");
    std::fs::write(&path, launch.to_string()).expect("a launch");
    let output = gradcheck(&[], &path);
    assert!(output.status.success() && text(&output).contains("right"), "{}", text(&output));
}
