//! What do checked runs tell beside indices of arrays (`tests/launches.rs`) and threads that meet (`tests/meeting.rs`)? Components
//! that are not there, on every device, forward and in gradients.

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

/// One thread of many, in lanes and on several workers, and the same in both directions of a gradient.
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
