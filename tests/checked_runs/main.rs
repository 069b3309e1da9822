//! What do checked runs tell beside indices of arrays (`tests/launches.rs`) and threads that meet
//! (`tests/race_check.rs`)? Components that are not there, on every device, forward and in
//! gradients.

mod ends;

use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with a source.
struct Folder(TempDir);

impl Folder {
    fn new(source: &str) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        std::fs::write(folder.0.path().join("k.py"), source).expect("a source");
        folder
    }

    fn run(&self, kernel: &str, args: &str) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.args(["run", "k.py", "-k", kernel]).args(args.split(' ')).current_dir(self.0.path());
        let Output { status, stdout, stderr } = command.output().expect("kc starts");
        (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
    }
}

const COMPONENTS: &str = r#"import warp as wp


@wp.struct
class Body:
    spin: wp.vec3
    inertia: wp.mat33


@wp.func
def part(v: wp.vec4, k: int):
    return v[k]


@wp.kernel
def element(x: wp.array(dtype=wp.vec3), by: int, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i][(i + by) % 1000]


@wp.kernel
def called(x: wp.array(dtype=wp.vec4), by: int, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = part(x[i], by)


@wp.kernel
def written(x: wp.array(dtype=wp.vec4), by: int, y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    v[by] = 7.0
    y[i] = wp.dot(v, v)


@wp.kernel
def stored(x: wp.array(dtype=wp.quat), by: int, y: wp.array(dtype=wp.quat)):
    i = wp.tid()
    y[i] = x[i]
    y[i][by] = 1.0


@wp.kernel
def of_struct(body: Body, by: int, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = body.inertia[by, 1] * body.spin[1]


@wp.kernel
def unsigned(x: wp.array(dtype=wp.vec3), by: int, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i][wp.uint8(by)]


@wp.kernel
def guarded(x: wp.array(dtype=wp.vec4), by: int, y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    if -4 <= by and by < 4 and v[by] > 0.0:
        y[i] = v[by]
    y[i] += v[by] if -4 <= by and by < 4 else 0.5
    for k in range(4):
        y[i] += v[k]
    k = int(0)
    while k < 4:
        y[i] += v[k]
        k += 1
"#;

const DEVICES: [&str; 3] = ["host", "interp", "sim"];

#[test]
fn components_that_are_not_there() {
    let folder = Folder::new(COMPONENTS);
    let body = "body.spin=1,2,3 body.inertia=1,2,3,4,5,6,7,8,9";
    // The kernel, its arguments, a good index, a bad one, and how the whole is called.
    let cases = [
        ("called", "x=ones:5", -4, 4, "`v`, which has 4 components"),
        ("called", "x=ones:5", 3, -5, "`v`, which has 4 components"),
        ("called", "x=ones:5", 0, i64::from(i32::MIN), "`v`, which has 4 components"),
        ("written", "x=ones:5", -1, 4, "`v`, which has 4 components"),
        ("stored", "x=ones:5", 3, -5, "`y[...]`, which has 4 components"),
        ("of_struct", body, 2, 3, "`body.inertia`, which has 3 components"),
        ("of_struct", body, -3, i64::from(i32::MAX), "`body.inertia`, which has 3 components"),
        ("unsigned", "x=ones:5", 2, -1, "`x[...]`, which has 3 components"),
    ];
    for (kernel, given, good, bad, whole) in cases {
        for device in DEVICES {
            let args: String = given.split(' ').map(|one| format!("--arg {one} ")).collect();
            let run = |by: i64, more: &str| {
                let args = format!("{args}--arg by={by} --arg y=zeros:5 --dim 5 --device {device}{more}");
                folder.run(kernel, &args)
            };
            let (exit, said) = run(good, "");
            assert_eq!(exit, Some(0), "{kernel} on {device}: {said}");
            let (exit, said) = run(bad, "");
            let index = if kernel == "unsigned" { 255 } else { bad };
            assert_eq!(exit, Some(1), "{kernel} on {device}: {said}");
            for words in ["E1101", whole, &format!(" {index} "), "(0)", "k.py:"] {
                assert!(said.contains(words), "{kernel} on {device}, {words}: {said}");
            }
            assert_eq!(said.matches("error[").count(), 1, "{said}");
            // Without checks it is as if nothing had been read or written.
            let (exit, said) = run(bad, " --unchecked");
            assert_eq!(exit, Some(0), "{kernel} on {device}: {said}");
        }
    }
}

#[test]
fn an_index_that_is_tested_before_its_use_is_good() {
    let folder = Folder::new(COMPONENTS);
    for device in DEVICES {
        for (by, sum) in [(1, "10.0"), (-4, "10.0"), (9, "8.5"), (-40, "8.5")] {
            let args = format!("--arg x=ones:20 --arg by={by} --arg y=zeros:20 --dim 20 --device {device} --print y:1");
            let (exit, said) = folder.run("guarded", &args);
            assert!(exit == Some(0) && said.contains(sum), "{by} on {device}: {said}");
        }
    }
}

const GUARDED: &str = r#"import warp as wp


@wp.kernel
def product(counts: wp.array(dtype=int), columns: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    block = int(-1)
    if counts:
        if counts[i] > 0:
            block = counts[i] - 1
    v = float(0.0)
    if block != -1:
        v = x[columns[block]]
    y[i] = v
"#;

/// Neither checked nor unchecked code reads what is behind a guard: here the arrays are not there,
/// or the index is none.
#[test]
fn what_a_guard_keeps_from_is_not_read() {
    let folder = Folder::new(GUARDED);
    for device in DEVICES {
        for more in ["", " --unchecked"] {
            let run = |counts: &str, x: &str| {
                let args = format!("--arg counts={counts} --arg columns={x} --arg x={x} --arg y=ones:64 --dim 64");
                folder.run("product", &format!("{args} --device {device} --print y:1{more}"))
            };
            for (counts, x) in [("null", "null"), ("zeros:64", "null")] {
                let (exit, said) = run(counts, x);
                assert!(exit == Some(0) && said.contains("[0]           0.0"), "{device}{more}, {counts}: {said}");
            }
        }
    }
}

/// One thread of many, in lanes and on several workers, and the same in both directions of a
/// gradient.
#[test]
fn the_thread_is_told() {
    let folder = Folder::new(COMPONENTS);
    for device in DEVICES {
        for more in ["", " --gradient", " --threads 3"] {
            // (i + 223) % 1000 is 0, 1 or 2 in the threads 777 to 779 only.
            let args = format!("--arg x=ones:780 --arg by=223 --arg y=zeros:780 --dim 780 --device {device}{more}");
            let (exit, said) = folder.run("element", &args);
            assert!(exit == Some(1) && said.contains("E1101") && said.contains("`x[...]`"), "{said}");
            let args = format!("--arg x=ones:3 --arg by=0 --arg y=zeros:3 --dim 3 --device {device}{more}");
            let (exit, said) = folder.run("element", &args);
            assert!(exit == Some(0), "{said}");
            let args = format!("--arg x=ones:4 --arg by=0 --arg y=zeros:4 --dim 4 --device {device}{more}");
            let (exit, said) = folder.run("element", &args);
            assert!(exit == Some(1) && said.contains("(3)"), "{said}");
        }
    }
}

/// Where only the backward entry runs, the way that the adjoint takes is checked.
#[test]
fn the_backward_entry_alone_tells_too() {
    let folder = Folder::new(COMPONENTS);
    let array = |name: &str, class: serde_json::Value, fill: f64| {
        serde_json::json!({"name": name, "kind": "array", "dtype": class, "ndim": 1, "shape": [4], "fill": fill,
            "grad_fill": 1})
    };
    let vec3 = serde_json::json!({"class": "vec", "scalar": "float32", "shape": [3]});
    let float = serde_json::json!({"class": "scalar", "scalar": "float32"});
    let int = serde_json::json!({"class": "scalar", "scalar": "int32"});
    let launch = |by: i32| {
        let by = serde_json::json!({"name": "by", "kind": "value", "dtype": int, "value": by});
        serde_json::json!({"format": 1, "id": "k", "source": "k.py", "kernel": "element", "direction": "backward",
            "dim": [3], "args": [array("x", vec3.clone(), 1.0), by, array("y", float.clone(), 0.0)]})
    };
    for device in DEVICES {
        for (by, code) in [(0, Some(0)), (1, Some(1)), (-4, Some(1))] {
            std::fs::write(folder.0.path().join("k.json"), launch(by).to_string()).expect("a launch");
            let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
            let output = command.args(["run", "k.json", "--device", device]).current_dir(folder.0.path()).output();
            let output = output.expect("kc starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), code, "{by} on {device}: {said}");
            assert_eq!(code == Some(1), said.contains("E1101"), "{said}");
        }
    }
}

/// Kernels of one number `d` for both types of floats: `F`, `V3`, `M3`, `M2`, `Q`.
const DEGENERATE: &str = r#"
@wp.kernel
def length(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.length(V3(d[i], F(0.0), F(0.0)))


@wp.kernel
def normalize(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.normalize(V3(d[i], F(0.0), d[i]))[0]


@wp.kernel
def cosine(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.cosine_similarity(V3(F(1.0), F(2.0), F(3.0)), V3(d[i] * F(1.0e-15), F(0.0), d[i]))


@wp.kernel
def normalize_quat(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.normalize(Q(d[i], F(0.0), F(0.0), d[i]))[0]


@wp.kernel
def atan2(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.atan2(d[i], d[i] * F(2.0))


@wp.kernel
def inverse(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.inverse(M2(F(1.0), F(0.0), F(0.0), d[i]))[1, 1]


@wp.kernel
def axis_angle(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    axis, angle = wp.quat_to_axis_angle(Q(d[i], F(0.0), F(0.0), F(1.0)))
    y[i] = angle


@wp.kernel
def slerp(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.quat_slerp(Q(F(0.0), F(0.0), F(0.0), F(1.0)), Q(F(1.0), F(0.0), F(0.0), d[i]), F(0.25))[0]


@wp.kernel
def svd3(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    U, s, V = wp.svd3(wp.diag(V3(F(1.0) + d[i], F(1.0), F(0.5))))
    m = U * wp.diag(V3(wp.exp(s[0]), wp.exp(s[1]), wp.exp(s[2]))) * wp.transpose(V)
    y[i] = m[0, 1] + F(2.0) * m[1, 0] + m[0, 0]


@wp.kernel
def svd2(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    U = M2()
    s = V2()
    V = M2()
    wp.svd2(wp.diag(V2(F(1.0) + d[i], F(1.0))), U, s, V)
    m = U * wp.diag(V2(wp.exp(s[0]), wp.exp(s[1]))) * wp.transpose(V)
    y[i] = m[0, 1] + F(2.0) * m[1, 0] + m[0, 0]


@wp.kernel
def eig3(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    Q, e = wp.eig3(wp.diag(V3(F(1.0) + d[i], F(1.0), F(0.5))))
    m = Q * wp.diag(V3(wp.exp(e[0]), wp.exp(e[1]), wp.exp(e[2]))) * wp.transpose(Q)
    y[i] = m[0, 1] + F(2.0) * m[1, 0] + m[0, 0]


@wp.kernel
def qr3(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    Q, R = wp.qr3(M3(F(1.0), F(1.0), F(0.0), F(1.0), F(1.0) + d[i], F(0.0), F(0.0), d[i], F(1.0)))
    y[i] = Q[2, 1] + F(2.0) * Q[2, 2]


@wp.kernel
def arcs(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.acos(F(1.0) - d[i]) + wp.asin(d[i] - F(1.0))


@wp.kernel
def polar(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    U, s, V = wp.svd3(wp.diag(V3(F(1.0) + d[i], F(1.0), F(0.5))))
    m = U * wp.transpose(V)
    y[i] = m[0, 1] + F(2.0) * m[1, 0]


@wp.kernel
def values(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    U, s, V = wp.svd3(wp.diag(V3(F(1.0) + d[i], F(1.0), F(0.5))))
    Q, e = wp.eig3(wp.diag(V3(F(1.0) + d[i], F(1.0), F(0.5))))
    y[i] = wp.dot(s, s) + wp.dot(e, e)


@wp.kernel
def signs(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    U, s, V = wp.svd3(wp.diag(V3(F(1.0) + d[i], F(0.0), F(0.0))))
    m = U * wp.diag(s) * wp.transpose(V)
    y[i] = m[1, 1] + m[1, 2]


@wp.kernel
def first(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    Q, e = wp.eig3(wp.diag(V3(F(1.0) + d[i], F(1.0), F(0.5))))
    y[i] = e[0] - F(2.0) * e[1] + F(3.0) * e[2]


@wp.kernel
def unused(d: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    n = wp.normalize(V3(d[i], d[i], d[i]))
    y[i] = n[0] * F(0.0) + d[i] if wp.length(n) > F(2.0) else d[i]
"#;

fn degenerate(scalar: &str, short: &str) -> Folder {
    let names = [("V2", "vec2"), ("V3", "vec3"), ("M2", "mat22"), ("M3", "mat33"), ("Q", "quat")];
    let names: String = names.iter().map(|(name, ty)| format!("{name} = wp.{ty}{short}\n")).collect();
    Folder::new(&format!("import warp as wp\n\nF = wp.{scalar}\n{names}\n{DEGENERATE}"))
}

/// What a run says of a kernel at distance `d`.
fn at(folder: &Folder, kernel: &str, scalar: &str, d: f64, more: &str) -> String {
    let args = format!("--arg d=full:{d}:{scalar}:3 --arg y=zeros:3 --dim 3{more}");
    let (exit, said) = folder.run(kernel, &args);
    assert_eq!(exit, Some(0), "{kernel} {scalar} {d}: {said}");
    said
}

const DISTANCES: [f64; 6] = [0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];

/// How many of [`DISTANCES`] get a note: exact points only, or also where half of the digits are
/// lost.
#[test]
fn gradients_at_degenerate_points_are_noted() {
    let kernels = [
        ("length", 1, 1),
        ("normalize", 1, 1),
        ("cosine", 1, 1),
        ("normalize_quat", 1, 1),
        ("atan2", 1, 1),
        ("arcs", 1, 1),
        ("inverse", 1, 1),
        ("axis_angle", 1, 1),
        ("slerp", 1, 1),
        ("svd3", 5, 1),
        ("svd2", 5, 1),
        ("eig3", 5, 1),
        ("qr3", 5, 1),
        // Right wherever the values differ by more than rounding; where they don't, it can't be
        // told from another function.
        ("polar", 3, 1),
        ("values", 0, 0),
        // Which of two equal values is the larger, and the sign of one that is 0.
        ("first", 3, 1),
        ("signs", 6, 6),
        ("unused", 0, 0),
    ];
    for (scalar, short) in [("float32", "f"), ("float64", "d")] {
        let folder = degenerate(scalar, short);
        for (kernel, single, double) in kernels {
            let noted = if scalar == "float32" { single } else { double };
            // One call, so that the kernel is compiled once.
            let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
            command.args(["run", "--out-dir", "out"]).current_dir(folder.0.path());
            for (n, d) in DISTANCES.into_iter().enumerate() {
                let array = |name: &str, fill: f64| {
                    serde_json::json!({"name": name, "kind": "array", "dtype": {"class": "scalar", "scalar": scalar},
                        "ndim": 1, "shape": [3], "fill": fill, "grad_fill": if name == "y" { 1 } else { 0 }})
                };
                let launch = serde_json::json!({"format": 1, "id": n.to_string(), "source": "k.py", "kernel": kernel,
                    "direction": "gradient", "dim": [3], "args": [array("d", d), array("y", 0.0)]});
                std::fs::write(folder.0.path().join(format!("{n}.json")), launch.to_string()).expect("a launch");
                command.arg(format!("{n}.json"));
            }
            let output = command.output().expect("kc starts");
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            for (n, d) in DISTANCES.into_iter().enumerate() {
                let status = std::fs::read(folder.0.path().join(format!("out/{n}.json"))).expect("a result");
                let status: serde_json::Value = serde_json::from_slice(&status).expect("JSON");
                let findings = status["findings"].as_array().expect("a list");
                let found: Vec<&str> = findings.iter().filter_map(|finding| finding["code"].as_str()).collect();
                assert_eq!(found, if n < noted { vec!["W1120"] } else { vec![] }, "{kernel} {scalar} {d}: {status}");
                let message = findings.first().map_or("", |finding| finding["message"].as_str().unwrap_or(""));
                assert_eq!(message.contains("in thread (0): "), n < noted, "{status}");
            }
        }
    }
}

#[test]
fn every_device_notes_and_nobody_else() {
    let folder = degenerate("float32", "f");
    for device in DEVICES {
        for kernel in ["normalize", "eig3"] {
            let run = |d, more: &str| at(&folder, kernel, "float32", d, &format!(" --device {device}{more}"));
            let said = run(0.0, " --gradient --out-dir out");
            assert!(said.contains("W1120"), "{device}: {said}");
            let status = std::fs::read_to_string(folder.0.path().join(format!("out/{kernel}.json"))).expect("a result");
            let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
            let finding = &status["findings"][0];
            assert_eq!((&finding["code"], &status["status"]), (&"W1120".into(), &"ok".into()), "{status}");
            assert!(finding["line"].is_number(), "{status}");
            for (d, more) in [(0.0, " --gradient --unchecked"), (0.0, ""), (0.5, " --gradient")] {
                let said = run(d, more);
                assert!(!said.contains("W1120"), "{device}{more}: {said}");
            }
        }
    }
}

/// Checked and unchecked runs have the same gradients, and forward code has nothing of the tests.
#[test]
fn notes_change_no_number() {
    let folder = degenerate("float32", "f");
    for kernel in ["svd3", "qr3", "normalize"] {
        let shown = |more: &str| {
            let said = at(&folder, kernel, "float32", 1e-4, &format!(" --gradient --print d.grad{more}"));
            said[said.find("d.grad").expect("the gradient")..].lines().take(4).map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(shown(""), shown(" --unchecked"), "{kernel}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    command.args(["compile", "k.py", "--emit", "ir", "--checked", "-k", "normalize", "-o", "-"]);
    let output = command.current_dir(folder.0.path()).output().expect("kc starts");
    let ir = String::from_utf8_lossy(&output.stdout);
    let (_, entries) = ir.split_once("kernel @normalize(").expect("a forward entry");
    let (forward, backward) = entries.split_once("kernel @normalize_backward(").expect("a backward entry");
    assert!(!forward.contains("degenerate") && backward.contains("check degenerate"), "{ir}");
}

/// Products of functions that have no derivative at the point: of `x` three zeros for each thread.
const PRODUCTS: &str = r#"
import warp as wp


@wp.func
def rotation_vector(q: wp.quat):
    axis, angle = wp.quat_to_axis_angle(q)
    return axis * angle


@wp.kernel
def direction(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i]) * wp.length(x[i])


@wp.kernel
def exponential(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.quat_from_axis_angle(wp.normalize(x[i]), wp.length(x[i]))
    y[i] = wp.vec3(q[0], q[1], q[2])


@wp.kernel
def logarithm(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = rotation_vector(wp.quat(x[i], 1.0))


@wp.kernel
def polar(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = x[i]
    r = wp.length(wp.vec2(v[0], v[1]))
    t = wp.atan2(v[1], v[0])
    y[i] = wp.vec3(r * wp.sin(t), 0.0, 0.0)


@wp.kernel
def angle(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a = wp.acos(1.0 - x[i][0])
    y[i] = wp.vec3(a * a, 0.0, 0.0)


@wp.kernel
def guarded(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    l = wp.length(x[i])
    n = wp.vec3()
    if l > 0.0:
        n = x[i] / l
    y[i] = n * wp.sin(l)


@wp.kernel
def friction(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = -wp.normalize(x[i]) * wp.min(0.5, wp.length(x[i]))


@wp.kernel
def bent(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i]) * wp.norm_l1(x[i])


@wp.kernel
def cofactors(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a = wp.mat22(1.0, 0.0, 0.0, x[i][0])
    y[i] = wp.vec3((wp.inverse(a) * wp.determinant(a))[0, 0])


@wp.kernel
def projection(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.vec3(wp.cosine_similarity(x[i], wp.vec3(1.0, 2.0, 3.0)) * wp.length(x[i]))


@wp.kernel
def masked(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i]) * m[i] + wp.normalize(x[i]) * 0.0


@wp.kernel
def square(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    l = wp.length(x[i])
    y[i] = x[i] * l + wp.vec3(l * l)


@wp.kernel
def small(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i]) * wp.dot(x[i], x[i])


@wp.kernel
def branch(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    l = wp.length(x[i])
    y[i] = x[i]
    if l > 0.0:
        y[i] = x[i] / l * l
"#;

const NOTED: [&str; 10] = [
    "direction",
    "exponential",
    "logarithm",
    "polar",
    "angle",
    "guarded",
    "friction",
    "bent",
    "cofactors",
    "projection",
];

/// A factor 0 hides no convention that decides: what the gradient is beside the point shows it.
#[test]
fn products_of_degenerate_functions_are_noted() {
    let folder = Folder::new(PRODUCTS);
    let run = |kernel: &str, more: &str| {
        let args = format!("--arg x=zeros:3 --arg m=zeros:3 --arg y=zeros:3 --dim 3 --gradient{more}");
        let (exit, said) = folder.run(kernel, &args);
        assert_eq!(exit, Some(0), "{kernel}: {said}");
        said
    };
    for kernel in NOTED {
        assert!(run(kernel, "").contains("W1120"), "{kernel}: {}", run(kernel, ""));
        assert!(!run(kernel, " --unchecked").contains("W1120"), "{kernel}");
        // Rows that the caller has no adjoint for.
        let padded = run(kernel, " --arg y.grad=zeros");
        assert!(!padded.contains("W1120"), "{kernel}: {padded}");
    }
    for device in DEVICES {
        let said = run("direction", &format!(" --device {device} --print x.grad"));
        assert!(said.contains("W1120") && said.contains("beside this point"), "{device}: {said}");
        // The numbers are those of the conventions, as in other runs.
        assert!(said.contains("[2]  (0.0, 0.0, 0.0)"), "{device}: {said}");
    }
    for kernel in ["masked", "square", "small", "branch"] {
        let said = run(kernel, "");
        assert!(!said.contains("W1120"), "{kernel}: {said}");
    }
}

/// What `kc run` notes or passes in silence is never called wrong for that.
#[test]
fn conventions_are_not_wrong_by_differences() {
    let folder = Folder::new(PRODUCTS);
    for kernel in NOTED.into_iter().chain(["masked", "square", "small", "branch"]) {
        let array = |name: &str, dtype: &str, grad: f64| {
            serde_json::json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [1], "fill": 0,
                "grad_fill": grad})
        };
        let launch = serde_json::json!({"format": 1, "source": "k.py", "kernel": kernel, "direction": "gradient", "dim": [1],
            "args": [array("x", "vec3f", 0.0), array("m", "float32", 0.0), array("y", "vec3f", 1.0)]});
        std::fs::write(folder.0.path().join("k.json"), launch.to_string()).expect("a launch");
        for more in [&[][..], &["--own-types"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_kc"))
                .args(["gradcheck", "k.json"])
                .args(more)
                .current_dir(folder.0.path())
                .output()
                .expect("kc starts");
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{kernel} {more:?}: {said}");
            assert!(!said.contains("WRONG"), "{kernel}: {said}");
        }
    }
}

/// A difference that rounds, and a gradient that rounding leaves of 0, are no faults of the
/// gradient.
#[test]
fn rounding_is_not_wrong() {
    let text = r#"
import warp as wp


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.sin(x[i])
    c = wp.cos(x[i])
    y[i] = s * s + c * c


@wp.func
def half(x: float):
    return x * x


@wp.func_grad(half)
def _(x: float, adj_ret: float):
    wp.adjoint[x] += x * adj_ret


@wp.kernel
def wrong(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = half(x[i])
"#;
    let folder = Folder::new(text);
    for (kernel, x, agrees) in [("k", 1e8, true), ("k", 1e-8, true), ("k", 1.0, true), ("wrong", 1.0, false)] {
        let array = |name: &str, fill: f64| {
            serde_json::json!({"name": name, "kind": "array", "dtype": "float32", "ndim": 1, "shape": [2], "fill": fill,
                "grad_fill": 1})
        };
        let launch = serde_json::json!({"format": 1, "source": "k.py", "kernel": kernel, "direction": "gradient", "dim": [2],
            "args": [array("x", x), array("y", 0.0)]});
        std::fs::write(folder.0.path().join("k.json"), launch.to_string()).expect("a launch");
        let output = Command::new(env!("CARGO_BIN_EXE_kc"))
            .args(["gradcheck", "--own-types", "k.json"])
            .current_dir(folder.0.path())
            .output()
            .expect("kc starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("WRONG"), "{kernel} {x}: {said}");
        assert_eq!(!said.contains("own rule"), agrees, "{kernel} {x}: {said}");
    }
}
