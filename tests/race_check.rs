//! Does a run say when the order of its threads shows? Kernels whose threads meet, and near
//! relatives in which they don't, on host and interpreter, forward and with gradient, beside
//! `kc gradcheck`. And launches that pass one array twice.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A kernel `k` and its launch.
struct Case {
    params: &'static str,
    body: &'static str,
    dim: &'static [u32],
    args: Vec<Value>,
}

fn array(name: &str, scalar: &str, shape: &[u32], fill: Value) -> Value {
    let dtype = json!({"class": "scalar", "scalar": scalar});
    let mut array = json!({"name": name, "kind": "array", "dtype": dtype, "ndim": shape.len(), "shape": shape});
    array["fill"] = fill;
    array
}

fn floats(name: &str, shape: &[u32]) -> Value {
    array(name, "float32", shape, json!("range"))
}

/// The same memory as an earlier array.
fn again(name: &str, of: &str, shape: &[u32]) -> Value {
    let mut array = floats(name, shape);
    array.as_object_mut().expect("an argument").remove("fill");
    array["alias_of"] = json!(of);
    array
}

fn vectors(name: &str) -> Value {
    let dtype = json!({"class": "vec", "shape": [3], "scalar": "float32"});
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [8], "fill": "range"})
}

fn int(name: &str, value: i64) -> Value {
    json!({"name": name, "kind": "value", "dtype": {"class": "scalar", "scalar": "int32"}, "value": value})
}

struct Folder(TempDir);

impl Folder {
    fn new(case: &Case, direction: &str) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        let body: String = case.body.lines().map(|line| format!("    {line}\n")).collect();
        let source = format!(
            "import warp as wp\n\n@wp.struct\nclass Pair:\n    u: wp.array(dtype=float)\n    v: wp.array(dtype=float)\n\n\n@wp.func\ndef twice(p: Pair, i: int):\n    return p.u[i] + p.v[i]\n\n\n@wp.kernel\ndef k({}):\n    {}{body}",
            case.params,
            if case.dim.len() == 2 { "i, j = wp.tid()\n" } else { "i = wp.tid()\n" }
        );
        std::fs::write(folder.path("k.py"), source).expect("a source");
        let launch = json!({
            "format": 1, "id": "k", "source": "k.py", "kernel": "k", "direction": direction, "dim": case.dim, "args": case.args
        });
        std::fs::write(folder.path("k.json"), launch.to_string()).expect("a launch");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn kc(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.args(args).current_dir(self.0.path()).output().expect("kc starts")
    }

    /// What the result file says, and what is shown.
    fn run(&self, more: &[&str]) -> (Value, String) {
        let output = self.kc(&[&["run", "k.json", "--out-dir", "out"], more].concat());
        let status = std::fs::read_to_string(self.path("out/k.json")).expect("a result file");
        (serde_json::from_str(&status).expect("JSON"), text(&output))
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// All ways to run the case forward agree on a code, or that there is none, and so do all with
/// gradient.
fn expect(case: &Case, forward: Option<&str>, gradient: Option<&str>) {
    for (direction, code) in [("forward", forward), ("gradient", gradient)] {
        let folder = Folder::new(case, direction);
        for device in ["host", "interp"] {
            let (status, shown) = folder.run(&["--device", device]);
            assert_eq!(status["code"].as_str(), code, "{direction} on {device}: {}\n{shown}", case.body);
            assert_eq!(code.is_some(), shown.contains("error["), "{shown}");
        }
    }
    let checked = Folder::new(case, "gradient").kc(&["gradcheck", "k.json"]);
    assert_eq!(checked.status.success(), gradient.is_none(), "{}\n{}", case.body, text(&checked));
    assert!(gradient.is_none_or(|code| text(&checked).contains(code)), "{}", text(&checked));
}

const MEETS: Option<&str> = Some("E1108");

#[test]
fn threads_that_meet_are_told() {
    let (x, y, s) = (|| floats("x", &[8]), || floats("y", &[8]), || floats("s", &[1]));
    let to = || array("to", "int32", &[8], json!([3, 2, 1, 0, 7, 6, 5, 4]));
    let cases = [
        ("x: F, s: F, y: F", "wp.atomic_add(s, 0, x[i])\ny[i] = s[0]", &[8][..], vec![x(), s(), y()]),
        ("x: F, s: F, y: F", "y[i] = s[0]\nwp.atomic_sub(s, 0, x[i])", &[8], vec![x(), s(), y()]),
        ("x: F, s: F, y: F", "wp.atomic_max(s, 0, x[i])\ny[i] = s[0]", &[8], vec![x(), s(), y()]),
        ("x: F, s: F", "wp.atomic_add(s, 0, x[i])\nif i == 3:\n    s[0] = 1.0", &[8], vec![x(), s()]),
        ("x: F, s: F", "s[0] = x[i]", &[8], vec![x(), s()]),
        ("x: F, s: F", "s[0] = s[0] + x[i]", &[8], vec![x(), s()]),
        ("a: F2", "a[i, j] = a[j, i]", &[5, 5], vec![floats("a", &[5, 5])]),
        ("a: F2", "r = a[i + 1]\na[i, 0] = r[0] * 2.0", &[8], vec![floats("a", &[9, 2])]),
        ("a: F2, y: F", "y[i] = a[i + 1, 0]\na[i, 0] = 2.0", &[8], vec![floats("a", &[9, 2]), y()]),
        ("x: F, to: I", "x[to[i]] = x[i] * 2.0", &[8], vec![x(), to()]),
        // Only the first thread reads, and before it stores.
        ("x: F, y: F, s: F", "if i == 0:\n    y[0] = s[0]\ns[0] = 5.0", &[8], vec![x(), y(), s()]),
        ("y: F, s: F", "if i == 3:\n    y[0] = s[0]\n    s[0] = 5.0\nif i == 5:\n    s[0] = 5.0", &[8], vec![y(), s()]),
        // A thread reads what it stored, but another one stores something else in between.
        ("y: F, s: F", "s[0] = 0.0\ns[0] = 5.0\ny[i] = s[0]", &[8], vec![y(), s()]),
        // The product wraps to 0 for every fourth thread.
        ("x: F, s: F", "if i % 4 == 0:\n    s[i * 1073741824] = x[i]", &[8], vec![x(), s()]),
        (
            "x: F, y: F, w: int",
            "y[i * w + j] = x[i * 4 + j]",
            &[3, 4],
            vec![floats("x", &[12]), floats("y", &[12]), int("w", 3)],
        ),
        // Both names are one array, and a thread's neighbour reads what it writes.
        ("x: F, y: F", "y[(i + 1) % 8] = x[i]", &[8], vec![x(), again("y", "x", &[8])]),
        (
            "x: F, p: Pair",
            "p.u[i] = x[7 - i] + p.v[i]",
            &[8],
            vec![
                x(),
                json!({"name": "p", "kind": "struct", "struct": "Pair", "fields": [again("u", "x", &[8]), floats("v", &[8])]}),
            ],
        ),
    ];
    for (params, body, dim, args) in cases {
        expect(&Case { params: full(params), body, dim, args }, MEETS, MEETS);
    }
    // All elements of an array are one.
    let mut broadcast = y();
    broadcast["strides"] = json!([0]);
    expect(
        &Case { params: full("x: F, y: F"), body: "y[i] = x[i]", dim: &[8], args: vec![x(), broadcast] },
        MEETS,
        MEETS,
    );
    // The same of an array that is only read: its gradient is written. So it is with rows that
    // overlap.
    let mut broadcast = x();
    broadcast["strides"] = json!([0]);
    expect(
        &Case { params: full("x: F, y: F"), body: "y[i] = x[i] * x[i]", dim: &[8], args: vec![broadcast, y()] },
        None,
        MEETS,
    );
    let mut windows = array("m", "float32", &[8, 3], json!(1.5));
    windows["strides"] = json!([4, 4]);
    expect(
        &Case { params: full("m: F2, y: F"), body: "y[i] = m[i, 0] * m[i, 2]", dim: &[8], args: vec![windows, y()] },
        None,
        MEETS,
    );
    // Which thread's value it is has no bearing on a result, but on a gradient.
    let args = vec![x(), s()];
    expect(&Case { params: full("x: F, s: F"), body: "s[0] = x[0] * 2.0", dim: &[8], args }, None, MEETS);
    // Updates of two kinds, and an exchange: gradients are refused when the kernel is compiled.
    for body in ["wp.atomic_add(s, 0, x[i])\nwp.atomic_max(s, 0, x[i])", "wp.atomic_exch(s, 0, x[i])"] {
        expect(&Case { params: full("x: F, s: F"), body, dim: &[8], args: vec![x(), s()] }, MEETS, Some("E0601"));
    }
}

/// Threads that store the same to an element may read it afterwards.
#[test]
fn threads_read_what_they_stored_themselves() {
    let (y, s) = (|| floats("y", &[8]), || floats("s", &[1]));
    for (body, forward) in [
        ("s[0] = 5.0\ny[i] = s[0]", None),
        ("s[0] = 5.0\nif i == 6:\n    y[i] = s[0]\n    s[0] = 5.0", None),
        ("s[0] = 5.0\nif i > 3:\n    y[i] = s[0]\n    s[0] = 6.0", MEETS),
        ("if i != 2:\n    s[0] = 5.0\ny[i] = s[0]", MEETS),
    ] {
        let folder =
            Folder::new(&Case { params: full("y: F, s: F"), body, dim: &[8], args: vec![y(), s()] }, "forward");
        for device in ["host", "interp", "sim"] {
            let (status, shown) = folder.run(&["--device", device]);
            assert_eq!(status["code"].as_str(), forward, "{body} on {device}\n{shown}");
        }
    }
}

/// The derivative of a minimum or a maximum looks at what its element holds after the launch.
#[test]
fn extremes_are_not_changed_afterwards() {
    let args = || {
        let at = array("at", "int32", &[8], json!([0, 1, 2, 3, 4, 5, 6, 7]));
        vec![floats("x", &[8]), floats("a", &[8]), at, floats("y", &[8])]
    };
    for (body, gradient) in [
        ("x[i] = a[i]\nwp.atomic_min(x, i, 2.5)\nx[i] = x[i] + 1.0", Some("E0601")),
        ("wp.atomic_min(x, at[i], a[i])\nx[i] = x[i] * 2.0", Some("E0601")),
        ("x[i] = a[i]\nwp.atomic_min(x, at[i], 2.5)\nwp.atomic_add(x, at[i], 1.0)", Some("E0601")),
        ("for k in range(3):\n    x[i] = x[i] * a[i]\n    wp.atomic_max(x, at[i], 2.5)", Some("E0601")),
        ("wp.atomic_min(x, i, x[i] * a[i])\nwp.atomic_min(x, i, x[i] * a[i])", Some("E0601")),
        ("s = a[i]\nfor k in range(3):\n    wp.atomic_max(x, i, s)\n    s = x[i] * 1.5", Some("E0601")),
        ("wp.atomic_min(x, i, x[i] * a[i] + 0.3)", None),
        ("x[i] = a[i]\nif i > 2:\n    wp.atomic_min(x, at[i], 2.5)\nif i > 3:\n    x[i] = x[i] + 1.0", Some("E0601")),
        ("x[i] = a[i]\nwp.atomic_min(x, at[i], 2.5)\ny[i] = x[i] * 3.0", None),
        ("x[i] = x[i] * a[i]\nwp.atomic_max(x, i, 2.5)", None),
        ("x[i] = x[i] * a[i]\nwp.atomic_max(x, i, 2.5)\nwp.atomic_min(x, i, 6.5)\ny[i] = a[i]", None),
        ("wp.atomic_max(x, 0, a[i])\nif i == 3:\n    x[1] = x[1] * 2.0", None),
    ] {
        expect(&Case { params: full("x: F, a: F, at: I, y: F"), body, dim: &[8], args: args() }, None, gradient);
    }
}

/// What shows an assumption of docs/gradients.md: the codes of `kc check`, of a checked forward
/// run, and of one with gradient.
struct Shown {
    row: &'static str,
    case: Case,
    check: &'static str,
    forward: Option<&'static str>,
    gradient: Option<&'static str>,
}

/// Each row of the table of assumptions has programs for all codes that it names, and names all
/// that they get.
#[test]
fn the_table_of_assumptions_is_true() {
    let (x, y, s) = (|| floats("x", &[8]), || floats("y", &[8]), || floats("s", &[1]));
    let to = || array("to", "int32", &[8], json!([3, 3, 1, 0, 7, 6, 5, 4]));
    let counter = || array("n", "int32", &[1], json!([0]));
    let mut wide = y();
    wide["strides"] = json!([0]);
    let shown = |row, params: &str, body, args, check, forward, gradient| Shown {
        row,
        case: Case { params: full(params), body, dim: &[8], args },
        check,
        forward,
        gradient,
    };
    let three = || vec![x(), s(), y()];
    let cases = [
        shown(
            "no thread reads an",
            "x: F, s: F, y: F",
            "wp.atomic_add(s, 0, x[i])\ny[i] = s[0]",
            three(),
            "W0602",
            MEETS,
            MEETS,
        ),
        shown(
            "no two threads store different",
            "x: F, to: I, y: F",
            "y[to[i]] = x[i]",
            vec![x(), to(), y()],
            "W0606",
            MEETS,
            MEETS,
        ),
        shown("no two threads store different", "x: F, s: F", "s[0] = x[i]", vec![x(), s()], "W0701", MEETS, MEETS),
        shown(
            "no two threads store the same",
            "x: F, s: F, to: I",
            "if x[i] > -1.0:\n    s[to[0] - 3] = x[0]",
            vec![x(), s(), to()],
            "W0606",
            None,
            MEETS,
        ),
        shown(
            "an element gets atomic updates",
            "x: F, s: F",
            "wp.atomic_add(s, 0, x[i])\nwp.atomic_max(s, 0, x[i])",
            vec![x(), s()],
            "E0601",
            MEETS,
            Some("E0601"),
        ),
        shown(
            "an element with an extreme",
            "x: F",
            "wp.atomic_max(x, i, 2.5)\nx[i] = x[i] + 1.0",
            vec![x()],
            "E0601",
            None,
            Some("E0601"),
        ),
        shown(
            "a value computed again",
            "x: F, y: F",
            "wp.atomic_max(y, i, x[i] * x[i] + 1.0)",
            vec![x(), y()],
            "",
            None,
            None,
        ),
        shown(
            "an index that overflows",
            "x: F, s: F",
            "if i % 4 == 0:\n    s[i * 1073741824] = x[i]",
            vec![x(), s()],
            "",
            MEETS,
            MEETS,
        ),
        shown(
            "an index that overflows",
            "x: F, y: F",
            "y[i + 2147483647] = x[i]",
            vec![x(), y()],
            "",
            Some("E1101"),
            Some("E1101"),
        ),
        shown(
            "old values of atomics",
            "x: F, s: F, y: F",
            "y[i] = wp.atomic_add(s, 0, x[i])",
            three(),
            "E0601",
            None,
            Some("E0601"),
        ),
        shown(
            "what a thread does after",
            "x: F, s: F, n: I, y: F",
            "wp.atomic_add(s, 0, x[i])\nk = wp.atomic_add(n, 0, 1)\nif k == 7:\n    y[0] = s[0]",
            vec![x(), s(), counter(), y()],
            "",
            None,
            MEETS,
        ),
        shown(
            "a read that only spares",
            "x: F, s: F",
            "if x[i] > s[0]:\n    wp.atomic_max(s, 0, x[i])",
            vec![x(), s()],
            "",
            None,
            None,
        ),
        shown(
            "different parameters",
            "x: F, y: F",
            "y[i] = x[i] * x[i]",
            vec![x(), again("y", "x", &[8])],
            "",
            None,
            None,
        ),
        shown("no two elements of one array", "x: F, y: F", "y[i] = x[i]", vec![x(), wide], "", MEETS, MEETS),
        shown(
            "indices are in bounds",
            "x: F, y: F",
            "y[i] = x[i + 1]",
            vec![x(), y()],
            "",
            Some("E1101"),
            Some("E1101"),
        ),
        shown(
            "components are there",
            "x: F, v: V, to: I",
            "x[i] = v[i][to[i]]",
            vec![x(), vectors("v"), to()],
            "",
            Some("E1101"),
            Some("E1101"),
        ),
    ];
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gradients.md")).expect("the page");
    let table = page.split_once("| assumption | compile |").expect("the table").1;
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 12, "{} rows", rows.len());
    let mut left: Vec<(&str, String)> = Vec::new();
    for row in &rows {
        for word in row.split(|c: char| !c.is_ascii_alphanumeric()) {
            if word.len() == 5 && word.starts_with(['E', 'W']) && word[1..].bytes().all(|byte| byte.is_ascii_digit()) {
                left.push((row, word.to_string()));
            }
        }
    }
    for Shown { row, case, check, forward, gradient } in cases {
        let row =
            *rows.iter().find(|line| line.starts_with(&format!("| {row}"))).unwrap_or_else(|| panic!("no row `{row}`"));
        let folder = Folder::new(&case, "forward");
        let said = text(&folder.kc(&["check", "--warn", "gradients", "k.py"]));
        let mut codes = vec![check.to_string()];
        assert!(said.contains(check), "{row}\n{said}");
        for (direction, code) in [("forward", forward), ("gradient", gradient)] {
            let (status, said) = Folder::new(&case, direction).run(&["--device", "interp"]);
            assert_eq!(status["code"].as_str(), code, "{direction} of {}\n{row}\n{said}", case.body);
            codes.extend(code.map(str::to_string));
        }
        for code in codes.iter().filter(|code| !code.is_empty()) {
            assert!(row.contains(code.as_str()), "{code} is not in {row}");
        }
        left.retain(|(line, code)| *line != row || !codes.contains(code));
    }
    // What other tests and pages have: constants, two gradients for one array, degenerate points.
    let elsewhere = ["W0703", "E0306", "E1010", "W1120"];
    left.retain(|(_, code)| !elsewhere.contains(&code.as_str()));
    assert!(left.is_empty(), "no program for {left:?}");
}

/// Types in short.
fn full(params: &str) -> &'static str {
    let long = params
        .replace(": V", ": wp.array(dtype=wp.vec3)")
        .replace(": F2", ": wp.array2d(dtype=float)")
        .replace(": F", ": wp.array(dtype=float)");
    long.replace(": I", ": wp.array(dtype=int)").leak()
}

#[test]
fn threads_that_do_not_meet_run() {
    let (x, y, s) = (|| floats("x", &[8]), || floats("y", &[8]), || floats("s", &[1]));
    let to = || array("to", "int32", &[8], json!("range"));
    let n = || array("n", "int32", &[1], json!(0));
    let cases = [
        ("x: F, s: F", "wp.atomic_add(s, 0, x[i] * x[i])", &[8][..], vec![x(), s()]),
        ("x: F, s: F", "s[0] += x[i]", &[8], vec![x(), s()]),
        ("x: F, y: F", "y[i] = x[i] * x[i]", &[8], vec![x(), y()]),
        ("x: F, to: I, y: F", "y[to[i]] = x[i] * x[i]", &[8], vec![x(), to(), y()]),
        ("x: F, n: I", "if x[i] > 2.0:\n    n[0] = 1", &[8], vec![x(), n()]),
        ("x: F, n: I, y: F", "at = wp.atomic_add(n, 0, 1)\nif at < 8:\n    y[at] = x[i]", &[8], vec![x(), n(), y()]),
        ("x: F, s: F", "if x[i] > s[0]:\n    wp.atomic_max(s, 0, x[i])", &[8], vec![x(), s()]),
        (
            "x: F, y: F, w: int",
            "y[i * w + j] = x[i * w + j]",
            &[3, 4],
            vec![floats("x", &[12]), floats("y", &[12]), int("w", 4)],
        ),
        ("x: F, y: F", "y[2 * i] = x[i]\ny[2 * i + 1] = y[2 * i]", &[8], vec![x(), floats("y", &[16])]),
        ("x: F, y: F", "y[-1 - i] = x[i]", &[8], vec![x(), y()]),
        ("x: F, y: F, z: F", "z[i] = x[i] * y[i]", &[8], vec![x(), again("y", "x", &[8]), floats("z", &[8])]),
    ];
    for (params, body, dim, args) in cases {
        expect(&Case { params: full(params), body, dim, args }, None, None);
    }
    // A lock orders the threads, if not their gradients.
    let lock = "while wp.atomic_cas(l, 0, 0, 1) == 1:\n    pass\ns[0] = s[0] + x[i]\nwp.atomic_exch(l, 0, 0)";
    let args = vec![x(), array("l", "int32", &[1], json!(0)), s()];
    expect(&Case { params: full("x: F, l: I, s: F"), body: lock, dim: &[8], args }, None, MEETS);
    // The second of two children goes on to their parent, with what both have left there.
    let up = "v = x[i]\nat = int(4 + i / 2)\nleaf[i] = v\nsums[i] = v\nfor level in range(3):\n    \
              if wp.atomic_add(count, at, 1) == 0:\n        break\n    v = sums[2 * (at - 4)] + sums[2 * (at - 4) + 1]\n    \
              sums[at + 4] = v\n    at = 4 + (at + 4) / 2";
    let args = vec![
        x(),
        floats("leaf", &[8]),
        array("sums", "float32", &[24], json!(0)),
        array("count", "int32", &[24], json!(0)),
    ];
    let case = Case { params: full("x: F, leaf: F, sums: F, count: I"), body: up, dim: &[8], args };
    for device in ["host", "interp"] {
        let (status, shown) = Folder::new(&case, "forward").run(&["--device", device]);
        assert_eq!(status["status"], "ok", "{shown}");
    }
    // The guard of an atomic, but of another number.
    let body = "if x[i] > s[0] * 2.0:\n    wp.atomic_max(s, 0, x[i])";
    expect(&Case { params: full("x: F, s: F"), body, dim: &[8], args: vec![x(), s()] }, MEETS, MEETS);
}

#[test]
fn both_places_and_threads_are_shown() {
    let params = full("x: F, s: F, y: F");
    let body = "wp.atomic_add(s, 0, x[i])\ny[i] = s[0]";
    let args = vec![floats("x", &[8]), floats("s", &[1]), floats("y", &[8])];
    let folder = Folder::new(&Case { params, body, dim: &[8], args }, "gradient");
    let (status, shown) = folder.run(&[]);
    for part in ["threads (0) and (1) meet at `s[0]`", "thread (1) updates it here", "thread (0) reads it here"] {
        assert!(shown.contains(part), "{shown}");
    }
    let message = status["message"].as_str().expect("a message");
    assert!(message.contains("(k.py:17:5, k.py:18:12)"), "{message}");
    // The warning comes too, as `kc check` shows it, and in the result file.
    assert!(shown.contains("warning[W0602]") && shown.contains("read here, with a gradient"), "{shown}");
    let found = &status["findings"][0];
    assert_eq!((&found["code"], &found["line"], &found["column"]), (&json!("W0602"), &json!(18), &json!(12)));
    // Unchecked, nobody looks, and nobody is kept from running it.
    let (status, shown) = folder.run(&["--unchecked"]);
    assert_eq!(status["status"], "ok", "{shown}");
    assert_eq!(status["findings"][0]["code"], "W0602");
    assert!(!shown.contains("checks it"), "{shown}");
    // Forward runs have no gradient whose assumptions they could share.
    let args = vec![floats("x", &[8]), array("to", "int32", &[8], json!("range")), floats("y", &[8])];
    let scatter = Case { params: full("x: F, to: I, y: F"), body: "y[to[i]] = x[i]", dim: &[8], args };
    let (status, shown) = Folder::new(&scatter, "forward").run(&[]);
    assert_eq!((&status["findings"], &status["threads_looked_at"]), (&json!([]), &json!(8)), "{shown}");
    let (status, shown) = Folder::new(&scatter, "gradient").run(&[]);
    assert!(status["findings"][0]["code"] == "W0606" && shown.contains("warning[W0606]"), "{shown}");
}

/// What a launch proves is not looked at; what is too long is looked at in part.
#[test]
fn the_look_is_bounded() {
    let args = vec![floats("x", &[1 << 20]), floats("y", &[1 << 20])];
    let own = Case { params: full("x: F, y: F"), body: "y[i] = wp.sin(x[i])", dim: &[1 << 20], args };
    for direction in ["forward", "gradient"] {
        let (status, shown) = Folder::new(&own, direction).run(&[]);
        assert_eq!((&status["status"], &status["threads_looked_at"]), (&json!("ok"), &Value::Null), "{shown}");
    }
    let args = vec![floats("x", &[4096]), array("to", "int32", &[4096], json!("range")), floats("y", &[4096])];
    let body = "v = float(0.0)\nfor n in range(100000):\n    v = v + x[n % 4096]\ny[to[i]] = v";
    let long = Case { params: full("x: F, to: I, y: F"), body, dim: &[4096], args };
    let (status, shown) = Folder::new(&long, "forward").run(&[]);
    let looked = status["threads_looked_at"].as_u64().expect("a number");
    assert!(status["status"] == "ok" && (10..4096).contains(&looked), "{shown}{status}");
    assert!(shown.contains(" of 4,096 threads for races"), "{shown}");
}

/// One array as two parameters: right forward, with gradient, and by gradcheck.
#[test]
fn one_array_twice_is_compiled_as_one() {
    let three = |name: &str| array(name, "float32", &[64], json!(3.0));
    let with_gradient = |mut array: Value| {
        array["grad_fill"] = json!(1.0);
        array
    };
    let body = "v = a[i]\nb[i] = v * v\na[i] = b[i] * v + a[i]";
    let inside = "v = a[i]\np.u[i] = v * v\na[i] = p.u[i] * v + a[i] + 0.0 * p.v[i]";
    let passed = "v = a[i]\np.u[i] = v * v\na[i] = twice(p, i) - p.v[i] + (a[i] - v * v) + p.u[i] * v";
    let fields = || json!([again("u", "a", &[64]), floats("v", &[64])]);
    let pair = || json!({"name": "p", "kind": "struct", "struct": "Pair", "fields": fields()});
    for (params, body, second) in [
        ("a: F, b: F", body, again("b", "a", &[64])),
        ("a: F, p: Pair", inside, pair()),
        ("a: F, p: Pair", passed, pair()),
    ] {
        // a = v^3 + v^2, so 36 and 3 v^2 + 2 v = 33.
        for (direction, a) in [("forward", three("a")), ("gradient", with_gradient(three("a")))] {
            let case = Case { params: full(params), body, dim: &[64], args: vec![a, second.clone()] };
            let folder = Folder::new(&case, direction);
            for device in ["host", "interp"] {
                let shown = text(&folder.kc(&["run", "k.json", "--device", device, "--print", "a:1"]));
                assert!(shown.contains("min 36.000000, max 36.000000"), "{direction} {device}: {body}\n{shown}");
            }
        }
        let case = Case { params: full(params), body, dim: &[64], args: vec![with_gradient(three("a")), second] };
        let folder = Folder::new(&case, "gradient");
        let checked = folder.kc(&["gradcheck", "k.json"]);
        assert!(checked.status.success() && text(&checked).contains("right"), "{body}\n{}", text(&checked));
    }
}

/// Whose gradient would it be?
#[test]
fn gradients_that_fit_no_array_are_refused() {
    let (a, b) = (|| floats("a", &[8]), || again("b", "a", &[8]));
    let mut own = b();
    own["grad_fill"] = json!(0.0);
    let mut a_grad = a();
    a_grad["grad_fill"] = json!(1.0);
    let mut other = floats("b", &[8]);
    other["grad_alias_of"] = json!("a.grad");
    let mut kept = b();
    kept["retain_grad"] = json!(true);
    for (args, runs) in
        [(vec![a_grad.clone(), own], false), (vec![a_grad.clone(), other], true), (vec![a_grad, kept], true)]
    {
        let case = Case { params: full("a: F, b: F"), body: "b[i] = a[i] * 2.0", dim: &[8], args };
        let (status, shown) = Folder::new(&case, "gradient").run(&[]);
        assert_eq!(status["code"], "E1010", "{shown}");
        let (status, shown) = Folder::new(&case, "forward").run(&[]);
        assert_eq!(status["status"] == "ok", runs, "{shown}");
    }
    // Dimensions that the kernel has no coordinate for: refused by both.
    let args = vec![floats("x", &[8]), floats("y", &[8])];
    let case = Case { params: full("x: F, y: F"), body: "y[i] = x[i] * x[i]", dim: &[8, 2, 1], args };
    expect(&case, None, Some("E1103"));
}
