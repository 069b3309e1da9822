//! Launch programs: several launches on shared arrays, in one file, with one gradient.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

const KERNELS: &str = r#"
import warp as wp


@wp.struct
class Medium:
    k: wp.float64
    source: wp.array(dtype=wp.float64)


@wp.kernel
def diffuse(m: Medium, a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    i = wp.tid()
    n = a.shape[0]
    b[i] = a[i] + m.k * (a[(i + n - 1) % n] - wp.float64(2.0) * a[i] + a[(i + 1) % n]) + m.source[i]


@wp.kernel
def square(x: wp.array(dtype=wp.float64), c: wp.float64):
    i = wp.tid()
    x[i] = c * x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def count(n: wp.array(dtype=int)):
    i = wp.tid()
    n[i] = n[i] + 1


@wp.kernel
def talk(n: wp.array(dtype=int)):
    i = wp.tid()
    print(n[i])


@wp.kernel
def shift(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    i = wp.tid()
    b[i] = a[i + 1]


@wp.kernel
def meet(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    i = wp.tid()
    b[0] = a[i]


@wp.kernel
def neighbour(n: wp.array(dtype=int), a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    """Reads what another thread writes, in one of its launches."""
    i = wp.tid()
    b[i] = a[i] * a[i]
    if n[0] == 1:
        b[i] = b[i] + b[(i + 1) % 6]


@wp.kernel
def center(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    v = x[i] * x[i]
    y[i] = v - wp.tile_sum(wp.tile(v))[0]
"#;

/// Its shapes fit in blocks of four threads only.
const IN_FOURS: &str = r#"

@wp.kernel
def in_fours(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    t = wp.tile(x[i]) * wp.tile_arange(4, dtype=wp.float64)
    y[i] = wp.untile(t)
"#;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        std::fs::write(folder.path("k.py"), KERNELS).expect("a file");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Exit code, standard output, standard error of a run of this program.
    fn run(&self, program: &Value, more: &[&str]) -> (Option<i32>, String, String) {
        std::fs::write(self.path("p.json"), program.to_string()).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = command.args(["run", "p.json"]).args(more).current_dir(self.0.path()).output().expect("kc starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn ok(&self, program: &Value, more: &[&str]) -> String {
        let (code, out, err) = self.run(program, more);
        assert_eq!(code, Some(0), "{program}\n{out}\n{err}");
        out
    }

    fn doubles(&self, name: &str) -> Vec<f64> {
        let array = kc::run::files::npz::read_npy(&self.path(name), |_| Ok(())).expect("an array");
        array.bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
    }
}

fn start() -> Vec<f64> {
    (0..6).map(|n| f64::from((n * 7 + 2) % 5) * 0.25 - 0.3).collect()
}

/// `steps` times of diffusion, then the sum of squares.
fn diffusion(steps: u32, gradient: bool) -> Value {
    let mut program = json!({
        "format": 1, "id": "p", "source": "k.py",
        "arrays": {
            "u": {"shape": [6], "fill": start()},
            "v": {"shape": [6]},
            "s": {"shape": [6], "fill": 0.01},
            "loss": {"shape": [1]}
        },
        "values": {"k": 0.125},
        "steps": [
            {"repeat": steps, "steps": [
                {"kernel": "diffuse", "dim": [6], "args": {"m": {"k": "k", "source": "s"}, "a": "u", "b": "v"}},
                {"swap": ["u", "v"]}
            ]},
            {"kernel": "total", "dim": [6], "args": {"x": "u"}}
        ]
    });
    if gradient {
        program["gradient_of"] = json!(["loss"]);
    }
    program
}

/// What that program computes: the last state, and the sum.
fn expected(u: &[f64], s: &[f64], k: f64, steps: u32) -> (Vec<f64>, f64) {
    let (mut u, n) = (u.to_vec(), u.len());
    for _ in 0..steps {
        u = (0..n).map(|i| u[i] + k * (u[(i + n - 1) % n] - 2.0 * u[i] + u[(i + 1) % n]) + s[i]).collect();
    }
    let sum = u.iter().map(|x| x * x).sum();
    (u, sum)
}

fn near(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= within * b.abs().max(1.0), "{found:?} instead of {expected:?}");
    }
}

/// Each launch has a kernel that is compiled for its blocks.
#[test]
fn threads_of_a_block_have_values_of_their_own() {
    let folder = Folder::new();
    std::fs::write(folder.path("fours.py"), format!("{KERNELS}{IN_FOURS}")).expect("a file");
    let program = |blocks: [u32; 3]| {
        let launch = |n: usize, kernel: &str, x: &str, y: &str| json!({"kernel": kernel, "dim": [8], "block_dim": blocks[n], "args": {"x": x, "y": y}});
        json!({"format": 1, "id": "p", "source": "fours.py",
            "arrays": {
                "x": {"shape": [8], "fill": [0.5, -0.25, 0.75, 1.0, 0.125, -0.5, 0.25, 0.625]}, "y": {"shape": [8]},
                "z": {"shape": [8]}, "w": {"shape": [8]}, "loss": {"shape": [1]}
            },
            "steps": [
                launch(0, "center", "x", "y"), launch(1, "center", "y", "z"), launch(2, "in_fours", "z", "w"),
                {"kernel": "total", "dim": [8], "args": {"x": "w"}}
            ],
            "gradient_of": ["loss"]
        })
    };
    let expected = |x: &[f64], block: usize| -> f64 {
        let center = |x: &[f64], block: usize| -> Vec<f64> {
            let blocks = x.chunks(block).flat_map(|part| {
                let sum: f64 = part.iter().map(|x| x * x).sum();
                part.iter().map(move |x| x * x - sum)
            });
            blocks.collect()
        };
        let z = center(&center(x, block), 2);
        z.iter().enumerate().map(|(n, z)| (z * (n % 4) as f64).powi(2)).sum()
    };
    let x = [0.5, -0.25, 0.75, 1.0, 0.125, -0.5, 0.25, 0.625];
    let h = 1e-6;
    // In blocks of 3, the last one has two threads.
    for (device, block) in [("host", 4u32), ("interp", 4), ("host", 3), ("interp", 3)] {
        let value = |x: &[f64]| expected(x, block as usize);
        let moved = |n: usize, by: f64| {
            let mut x = x;
            x[n] += by;
            value(&x)
        };
        let by_x: Vec<f64> = (0..8).map(|n| (moved(n, h) - moved(n, -h)) / (2.0 * h)).collect();
        let views = ["--npy", "x.grad=g.npy", "--npy", "loss=l.npy", "--device", device];
        folder.ok(&program([block, 2, 4]), &views);
        near(&folder.doubles("l.npy"), &[value(&x)], 1e-12);
        near(&folder.doubles("g.npy"), &by_x, 1e-7);
    }
    for (blocks, said) in
        [([4, 2, 2], "the shapes (2,) and (4,) do not fit"), ([4, 2, 1], "the shapes (1,) and (4,) do not fit")]
    {
        let (code, _, err) = folder.run(&program(blocks), &[]);
        assert!(code == Some(1) && err.contains("error[E") && err.contains(said), "{blocks:?}: {err}");
    }
}

/// Where threads meet in one of the runs of a launch, whichever that is, a gradient is refused. A
/// sample says that it is one.
#[test]
fn repeated_launches_are_looked_at() {
    for (start, refused, by_ends) in [(1, true, true), (0, true, false), (-1, true, true), (5, false, false)] {
        let program = json!({
            "format": 1, "id": "p", "source": "k.py",
            "arrays": {
                "n": {"shape": [1], "fill": [start]}, "a": {"shape": [6], "fill": [1, 2, 3, 4, 5, 6]}, "b": {"shape": [6]},
                "loss": {"shape": [1]}
            },
            "steps": [
                {"repeat": 3, "steps": [{"kernel": "neighbour", "dim": [6]}, {"kernel": "count", "dim": [1]}]},
                {"kernel": "total", "dim": [6], "args": {"x": "b"}}
            ],
            "gradient_of": ["loss"]
        });
        for device in ["host", "interp"] {
            let (code, _, err) = Folder::new().run(&program, &["--device", device]);
            assert_eq!((code, err.contains("E1108")), (Some(i32::from(refused)), refused), "from {start}: {err}");
            let folder = Folder::new();
            let (code, out, err) = folder.run(&program, &["--device", device, "--look", "ends", "--out-dir", "out"]);
            assert_eq!((code, err.contains("E1108")), (Some(i32::from(by_ends)), by_ends), "from {start}: {err}");
            if !by_ends {
                assert!(out.contains("looked at 12 of 18 threads for races"), "from {start}: {out}");
                let status: Value =
                    serde_json::from_slice(&std::fs::read(folder.path("out/p.json")).expect("a status")).expect("JSON");
                assert_eq!((&status["threads_looked_at"], &status["threads_to_look_at"]), (&json!(12), &json!(18)));
            }
        }
    }
}

#[test]
fn launches_run_in_order_on_shared_arrays() {
    let folder = Folder::new();
    for steps in [0, 1, 7, 200] {
        for device in ["host", "interp"] {
            let out =
                folder.ok(&diffusion(steps, false), &["--npy", "u=u.npy", "--npy", "loss=l.npy", "--device", device]);
            assert!(out.contains("p: ok"), "{out}");
            let (u, loss) = expected(&start(), &[0.01; 6], 0.125, steps);
            near(&folder.doubles("u.npy"), &u, 1e-13);
            near(&folder.doubles("l.npy"), &[loss], 1e-13);
        }
    }
    // Repetitions inside repetitions, texts in order, and results as of any launch.
    let program = json!({"format": 1, "id": "nested", "source": "k.py",
    "arrays": {"n": {"shape": [2]}},
    "steps": [
        {"repeat": 3, "steps": [
            {"kernel": "count", "dim": [2]},
            {"repeat": 2, "steps": [{"kernel": "count", "dim": [1]}]},
            {"kernel": "talk", "dim": [2]}
        ]},
        {"repeat": 0, "steps": [{"kernel": "count", "dim": [2]}]}
    ]});
    let out = folder.ok(&program, &["--out-dir", "out"]);
    assert!(out.starts_with("3\n1\n6\n2\n9\n3\n"), "{out}");
    let status: Value =
        serde_json::from_slice(&std::fs::read(folder.path("out/nested.json")).expect("a status")).expect("JSON");
    assert_eq!((&status["status"], &status["printed"]), (&json!("ok"), &json!("3\n1\n6\n2\n9\n3\n")));
    assert!(folder.path("out/nested.npz").exists());
}

#[test]
fn the_gradient_of_a_program_goes_through_all_launches() {
    let folder = Folder::new();
    for steps in [0, 1, 2, 7, 40] {
        let views = ["--npy", "u.grad=g.npy", "--npy", "s.grad=s.npy", "--npy", "u=u.npy", "--print", "k.grad"];
        let out = folder.ok(&diffusion(steps, true), &views);
        let loss = |u: &[f64], s: &[f64], k: f64| expected(u, s, k, steps).1;
        let (u, s, h) = (start(), [0.01; 6], 1e-6);
        let along = |list: &[f64], n: usize, by: f64| {
            let mut list = list.to_vec();
            list[n] += by;
            list
        };
        let by_u: Vec<f64> = (0..6)
            .map(|n| (loss(&along(&u, n, h), &s, 0.125) - loss(&along(&u, n, -h), &s, 0.125)) / (2.0 * h))
            .collect();
        let by_s: Vec<f64> = (0..6)
            .map(|n| (loss(&u, &along(&s, n, h), 0.125) - loss(&u, &along(&s, n, -h), 0.125)) / (2.0 * h))
            .collect();
        let by_k = (loss(&u, &s, 0.125 + h) - loss(&u, &s, 0.125 - h)) / (2.0 * h);
        // Of what `u` was in the beginning, although the names changed places.
        near(&folder.doubles("g.npy"), &by_u, 1e-7);
        near(&folder.doubles("u.npy"), &expected(&u, &s, 0.125, steps).0, 1e-13);
        if steps > 0 {
            near(&folder.doubles("s.npy"), &by_s, 1e-7);
            let found: f64 = out
                .split("k.grad: float64 ()")
                .nth(1)
                .and_then(|rest| rest.split_whitespace().next())
                .expect("a number")
                .parse()
                .expect("a number");
            near(&[found], &[by_k], 1e-7);
        }
    }
}

#[test]
fn arrays_that_are_overwritten_are_as_they_were() {
    let folder = Folder::new();
    // x becomes c^7 x^8: three squares in place.
    let program = |of: Value| {
        json!({"format": 1, "id": "p", "source": "k.py",
            "arrays": {"x": {"shape": [3], "fill": [0.5, -1.5, 0.9]}},
            "steps": [{"repeat": 3, "steps": [{"kernel": "square", "dim": [3], "args": {"c": "c"}}]}],
            "values": {"c": 1.1}, "gradient_of": of})
    };
    let x = [0.5f64, -1.5, 0.9];
    for (of, factor) in [(json!(["x"]), 1.0), (json!({"x": -2.5}), -2.5)] {
        let out = folder.ok(&program(of), &["--npy", "x.grad=g.npy", "--npy", "x=x.npy", "--print", "c.grad"]);
        near(&folder.doubles("x.npy"), &x.map(|x| 1.1f64.powi(7) * x.powi(8)), 1e-12);
        near(&folder.doubles("g.npy"), &x.map(|x| factor * 8.0 * 1.1f64.powi(7) * x.powi(7)), 1e-12);
        let found: f64 = out
            .split("c.grad: float64 ()")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next())
            .expect("a number")
            .parse()
            .expect("a number");
        near(&[found], &[x.iter().map(|x| factor * 7.0 * 1.1f64.powi(6) * x.powi(8)).sum()], 1e-12);
    }
}

#[test]
fn one_array_for_two_parameters() {
    let folder = Folder::new();
    let program = json!({"format": 1, "id": "p", "source": "k.py",
    "arrays": {"x": {"shape": [4], "fill": "range"}, "loss": {"shape": [1]}},
    "steps": [
        {"kernel": "shift", "dim": [3], "args": {"a": "x", "b": "x"}},
        {"kernel": "total", "dim": [4]}
    ]});
    let (code, _, err) = folder.run(&program, &[]);
    assert!(code == Some(1) && err.contains("E1108"), "another thread's element is read and written: {err}");
    let one = json!({"format": 1, "id": "p", "source": "k.py",
        "arrays": {"x": {"shape": [4], "fill": "range"}},
        "steps": [{"kernel": "shift", "dim": [1], "args": {"a": "x", "b": "x"}}], "gradient_of": ["x"]});
    folder.ok(&one, &["--npy", "x=x.npy", "--npy", "x.grad=g.npy"]);
    assert_eq!(folder.doubles("x.npy"), [1.0, 1.0, 2.0, 3.0]);
    assert_eq!(folder.doubles("g.npy"), [0.0, 2.0, 1.0, 1.0]);
}

#[test]
fn failures_say_which_launch() {
    let folder = Folder::new();
    let mut program = diffusion(3, false);
    program["steps"][1] = json!({"kernel": "shift", "dim": [6], "args": {"a": "u", "b": "v"}});
    program["arrays"].as_object_mut().expect("arrays").remove("loss");
    let (code, _, err) = folder.run(&program, &["--out-dir", "out"]);
    assert_eq!(code, Some(1));
    for words in ["E1101", "index 6 is out of bounds", "k.py:45", "in p.json: launch 2 (`shift`)"] {
        assert!(err.contains(words), "{words} is missing in\n{err}");
    }
    // A launch whose threads meet, at its first run.
    program["steps"][1] = json!({"kernel": "meet", "dim": [6], "args": {"a": "u", "b": "v"}});
    assert!(folder.run(&program, &[]).2.contains("E1108"));
    assert_eq!(folder.run(&program, &["--unchecked"]).0, Some(0));
    // Other verbs say what it is.
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.args(["bench", "p.json"]).current_dir(folder.path("")).output().expect("kc starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("E1001") && said.contains("launch program") && said.contains("kc run"), "{said}");
}

#[test]
fn what_is_no_program_is_refused() {
    let folder = Folder::new();
    let change = |path: &str, value: Value| {
        let mut program = diffusion(2, true);
        match path.rsplit_once('/') {
            Some((owner, name)) if !owner.is_empty() => match program.pointer_mut(owner).expect("a place") {
                Value::Array(list) => list[name.parse::<usize>().expect("a number")] = value,
                owner => owner[name] = value,
            },
            _ => program[path.trim_start_matches('/')] = value,
        }
        program
    };
    let call = |args: Value| {
        let mut steps = diffusion(2, true)["steps"].clone();
        steps.as_array_mut().expect("steps").push(json!({"kernel": "square", "dim": [6], "args": args}));
        steps
    };
    let deep = (0..40).fold(json!({"kernel": "total", "dim": [6]}), |step, _| json!({"repeat": 1, "steps": [step]}));
    for (path, value, code, words) in [
        ("/format", json!(2), "E1002", "format is 2"),
        ("/speed", json!(9), "E1001", "speed"),
        ("/id", json!("a/b"), "E1001", "id"),
        ("/source", json!(""), "E1001", "source"),
        ("/source", json!("absent.py"), "E0901", "absent.py"),
        ("/arrays/u", json!({"shape": [6], "fill": 0, "file": "x.npy"}), "E1001", "only one of"),
        ("/arrays/u", json!({"fill": 0}), "E1001", "`shape` is missing"),
        ("/arrays/u", json!({"shape": [-1]}), "E1006", "shape"),
        ("/arrays/u", json!({"shape": [6, 6]}), "E1005", "1 dimension"),
        ("/arrays/u", json!({"shap": [6]}), "E1001", "shap"),
        ("/arrays/u", json!({"file": "absent.npy"}), "E1007", "absent.npy"),
        ("/arrays/..~1up", json!({"shape": [6]}), "E1001", "a slash"),
        ("/arrays/extra", json!({"shape": [6]}), "E1004", "no launch takes `extra`"),
        ("/values/u", json!(1), "E1001", "an array and a value"),
        ("/values/k", json!("much"), "E1011", "values.k"),
        ("/gradient_of", json!("loss"), "E1001", "gradient_of"),
        ("/gradient_of", json!(["los"]), "E1004", "`los`"),
        ("/gradient_of", json!({"loss": "x"}), "E1001", "gradient_of"),
        ("/steps", json!([{"kernel": "squares", "dim": [6]}]), "E0905", "squares"),
        ("/steps", json!([{"kernel": "total"}]), "E1001", "`dim` is missing"),
        ("/steps", json!([{"dim": [6]}]), "E1001", "belong to a launch"),
        ("/steps", json!([{}]), "E1001", "expected one of"),
        ("/steps", json!([{"kernel": "total", "dim": [6], "swap": ["u", "v"]}]), "E1001", "expected one of"),
        ("/steps", json!([{"repeat": 1.5, "steps": []}]), "E1001", "repeat is 1.5"),
        ("/steps", json!([{"repeat": 2}]), "E1001", "`steps` is missing"),
        ("/steps", json!([{"swap": ["u"]}]), "E1001", "two arrays"),
        ("/steps", json!([{"swap": ["u", "w"]}]), "E1004", "`w`"),
        ("/steps", json!([{"kernel": "total", "dim": [6], "block_dim": 0, "args": {"x": "u"}}]), "E1006", "block_dim"),
        ("/steps", json!([deep]), "E1001", "inside one another"),
        ("/steps", call(json!({"x": "u", "c": 1, "d": 2})), "E1004", "`d` is not a parameter"),
        ("/steps", call(json!({"x": "u"})), "E1004", "nothing is called `c`"),
        ("/steps", call(json!({"c": 1})), "E1004", "nothing is called `x`"),
        ("/steps", call(json!({"x": "w", "c": 1})), "E1004", "`w`"),
        ("/steps", call(json!({"x": 1, "c": 1})), "E1005", "`x` is an array"),
        ("/steps", call(json!({"x": "u", "c": "u"})), "E1004", "none of the program's values"),
        ("/steps", call(json!({"x": "u", "c": [1, 2]})), "E1011", "c"),
        ("/steps", call(json!({"x": "u", "c": {"y": 1}})), "E1005", "`c`"),
        ("/steps", json!([{"kernel": "diffuse", "dim": [6], "args": {"m": 1, "a": "u", "b": "v"}}]), "E1005", "struct"),
        (
            "/steps",
            json!([{"kernel": "diffuse", "dim": [6], "args": {"m": {"q": 1}, "a": "u", "b": "v"}}]),
            "E1004",
            "`q`",
        ),
        ("/arrays/v", json!({"shape": [1]}), "E1101", "out of bounds"),
        ("/steps/0/steps/0/kernel", json!("count"), "E1004", "`m` is not a parameter"),
        (
            "/steps/1",
            json!({"repeat": 1, "steps": [
                {"kernel": "total", "dim": [6], "args": {"x": "u"}},
                {"kernel": "count", "dim": [1], "args": {"n": "u"}}
            ]}),
            "E1005",
            "`u` is no `array(dtype=int32)`",
        ),
    ] {
        let (status, out, err) = folder.run(&change(path, value.clone()), &[]);
        assert_eq!(status, Some(1), "{path} {value}: {out}\n{err}");
        let said = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(code) && said.contains(words), "{path} {value}: {code} {words} is missing in\n{err}");
    }
    let mut none = diffusion(1, false);
    none["steps"] = json!([]);
    assert!(folder.run(&none, &[]).2.contains("E1004"), "arrays that nothing takes");
    let (code, _, err) = folder.run(&diffusion(1, false), &["--gradient"]);
    assert!(code == Some(1) || code == Some(2), "{err}");
    assert!(err.contains("gradient_of"), "{err}");
}

/// The example: two hundred steps of a wave are one command, and so is their gradient.
#[test]
fn the_example_draws_a_wave() {
    let folder = Folder::new();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let kc = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = command.arg("run").args(args).current_dir(folder.path("")).output().expect("kc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let example = root.join("examples/programs/wave.json");
    kc(&[example.to_str().expect("UTF-8"), "--png", "now=wave.png", "--npy", "now=wave.npy", "--unchecked"]);
    assert!(std::fs::metadata(folder.path("wave.png")).expect("a picture").len() > 2000);
    let array = kc::run::files::npz::read_npy(&folder.path("wave.npy"), |_| Ok(())).expect("an array");
    let wave: Vec<f32> = array.bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let most = wave.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    assert!(most > 0.01 && most < 1.0 && wave.iter().all(|x| x.is_finite()), "{most}");
    // Fewer steps, differentiated: the gradient of one cell of the end with respect to the
    // beginning. The sum over all cells of a wave with damping 0 between reflecting walls is that
    // of the beginning, moved on in a straight line.
    let mut program: Value = serde_json::from_slice(&std::fs::read(example).expect("a file")).expect("JSON");
    program["source"] = json!(root.join("examples/wave2d.py"));
    program["steps"] = json!([{"repeat": 9, "steps": program["steps"][2]["steps"].clone()}]);
    program["values"]["damping"] = json!(0);
    program["gradient_of"] = json!(["now"]);
    for name in ["now", "before"] {
        program["arrays"][name] = json!({"shape": [16, 16], "fill": "random:3"});
    }
    program["steps"][0]["steps"][0]["dim"] = json!([16, 16]);
    folder.ok(&program, &["--npy", "now.grad=n.npy", "--npy", "before.grad=b.npy"]);
    let floats = |name: &str| -> Vec<f32> {
        let array = kc::run::files::npz::read_npy(&folder.path(name), |_| Ok(())).expect("an array");
        array.bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
    };
    // After n steps the sum is (n + 1) now - n before.
    assert!(floats("n.npy").iter().all(|x| (x - 10.0).abs() < 1e-3), "{:?}", floats("n.npy"));
    assert!(floats("b.npy").iter().all(|x| (x + 9.0).abs() < 1e-3), "{:?}", floats("b.npy"));
}
