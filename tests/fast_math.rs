//! `fast_math` of modules, kernels and the command line: GPU code alone approximates, and only
//! where it was asked to.

use std::path::Path;
use std::process::Command;

use serde_json::json;

const BODY: &str = "
    i = wp.tid()
    v = x[i]
    y[i] = wp.exp(v) + wp.log(v) + wp.log2(v) + wp.log10(v) + wp.sin(v) * wp.cos(v) + wp.tan(v) / (v + 1.5) + wp.sqrt(v) + wp.pow(v, 1.5)
";

/// A kernel with these lines above it and in its decorator.
fn source(above: &str, options: &str) -> String {
    format!(
        "import warp as wp\n{above}\n@wp.kernel{options}\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):{BODY}"
    )
}

fn kc(folder: &Path, text: &str, args: &[&str]) -> (String, String, Option<i32>) {
    let path = folder.join("k.py");
    std::fs::write(&path, text).expect("a source");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.current_dir(folder).args(args).output().expect("kc starts");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (out, err, output.status.code())
}

fn emit(text: &str, what: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let args = [&["compile", "k.py", "--emit", what, "-o", "-"], more].concat();
    let (out, err, code) = kc(folder.path(), text, &args);
    assert_eq!(code, Some(0), "{err}");
    out
}

/// Lines of code alone: comments may name what they like.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

const ON: &str = "wp.set_module_options({\"fast_math\": True})";
const OFF: &str = "wp.set_module_options({\"fast_math\": False})";
const OF_KERNEL: &str = "(module=\"unique\", module_options={\"fast_math\": True})";

#[test]
fn ptx_has_the_hardware_s_approximations_where_they_are_asked_for() {
    let exact = emit(&source("", ""), "ptx", &[]);
    assert!(!exact.contains(".approx") && !exact.contains(".ftz"), "{exact}");
    assert_eq!(emit(&source(OFF, ""), "ptx", &[]), exact);
    let fast = emit(&source("", ""), "ptx", &["--fast-math"]);
    for part in ["ex2.approx.ftz.f32", "lg2.approx.ftz.f32", "sin.approx.ftz", "cos.approx.ftz", "div.approx.ftz"] {
        assert!(fast.contains(part), "no {part}:\n{fast}");
    }
    assert!(fast.contains("sqrt.approx.ftz.f32") && fast.contains("mul.rn.ftz.f32") || fast.contains("fma.rn.ftz.f32"));
    assert!(fast.contains("k_cuda_kernel_backward") && fast.lines().count() * 2 < exact.lines().count());
    assert!(!fast.contains("div.rn.f32") && !fast.contains("sqrt.rn.f32"), "{fast}");
    // Places in the file differ, but none is in the text.
    assert_eq!(emit(&source(ON, ""), "ptx", &[]), fast);
    assert_eq!(emit(&source("", OF_KERNEL), "ptx", &[]), fast);
    // float64 is exact.
    let wide = source("", "").replace("dtype=float", "dtype=wp.float64").replace("1.5", "wp.float64(1.5)");
    let ptx = emit(&wide, "ptx", &["--fast-math"]);
    assert!(!ptx.contains(".approx.ftz.f32"), "{ptx}");
}

#[test]
fn a_kernel_without_the_option_stays_exact_beside_one_with_it() {
    let function = "@wp.func\ndef both(v: float):\n    return wp.exp(v)\n\n";
    let kernel = |name: &str, options: &str| {
        format!(
            "@wp.kernel{options}\ndef {name}(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = wp.sin(x[i]) / both(x[i])\n\n"
        )
    };
    let head = format!("import warp as wp\n{function}");
    let mixed = emit(&format!("{head}{}{}", kernel("fast", OF_KERNEL), kernel("slow", "")), "ptx", &["--no-backward"]);
    let (fast, slow) = mixed.split_once(".entry slow").expect("two entries");
    assert!(fast.contains("sin.approx.ftz") && fast.contains("div.approx.ftz"), "{fast}");
    assert!(!slow.contains(".approx") && !slow.contains(".ftz"), "{slow}");
    let text = emit(&format!("{head}{}{}", kernel("fast", OF_KERNEL), kernel("slow", "")), "cuda", &["--no-backward"]);
    let (fast, slow) = text.split_once("slow_cuda").expect("two entries");
    assert!(fast.contains("__sinf(") && fast.contains("__fdividef(") && !fast.contains("__expf("), "{fast}");
    assert!(!slow.contains("__sinf(") && !slow.contains("__fdividef("), "{slow}");
}

/// Its gradient computes the value again, and looks for the same bits.
#[test]
fn a_kernel_whose_gradient_compares_bits_stays_exact() {
    let text = "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    wp.atomic_max(y, 0, wp.exp(x[i]) / x[i])\n";
    let [ptx, cuda] = ["ptx", "cuda"].map(|what| code(&emit(text, what, &["--fast-math"])));
    assert!(!ptx.contains(".approx") && !ptx.contains(".ftz"), "{ptx}");
    assert!(!cuda.contains("__expf") && !cuda.contains("__fdividef"), "{cuda}");
    let fast = emit(&text.replace("atomic_max", "atomic_add"), "ptx", &["--fast-math"]);
    assert!(fast.contains("ex2.approx.ftz"), "{fast}");
}

#[test]
fn cuda_text_has_the_intrinsics() {
    for more in [&[][..], &["--abi", "plain"]] {
        let exact = code(&emit(&source("", ""), "cuda", more));
        for part in ["__expf", "__fdividef", "fast_sqrt", "__sinf"] {
            assert!(!exact.contains(part), "{exact}");
        }
        let fast = code(&emit(&source(ON, ""), "cuda", more));
        for part in ["exp", "log", "log2", "log10", "sin", "cos", "tan", "pow"] {
            assert!(fast.contains(&format!("__{part}f(")), "no {part}:\n{fast}");
            assert!(!fast.contains(&format!(" {part}f(")), "{part} is exact:\n{fast}");
        }
        assert!(fast.contains("__fdividef(") && fast.contains("fast_sqrt("), "{fast}");
    }
    // Operators on vectors, too, if no exact kernel shares them.
    let vectors = "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n    x[i] = x[i] / x[i][0]\n";
    assert!(emit(vectors, "cuda", &["--fast-math"]).contains("__fdividef("));
    assert!(!emit(vectors, "cuda", &[]).contains("__fdividef("));
}

#[test]
fn the_host_is_exact_and_the_simulator_approximates() {
    let folder = tempfile::tempdir().expect("a folder");
    let values: Vec<f64> = (1..65).map(|n| f64::from(n) * 0.17).collect();
    let array = |name: &str, fill: serde_json::Value| json!({"name": name, "kind": "array", "dtype": "float32", "ndim": 1, "shape": [64], "fill": fill});
    let launch = json!({"format": 1, "id": "k", "source": "k.py", "kernel": "k", "direction": "forward", "dim": [64],
                        "args": [array("x", json!(values)), array("y", json!(0))]});
    std::fs::write(folder.path().join("k.json"), launch.to_string()).expect("a launch");
    let verify = |text: &str, more: &[&str]| {
        let args = [&["verify", "k.json", "--devices", "host,interp,sim"], more].concat();
        let (out, err, code) = kc(folder.path(), text, &args);
        assert_eq!(code, Some(0), "{out}{err}");
        out
    };
    let exact = verify(&source("", ""), &[]);
    assert!(!exact.contains("near") && !exact.contains("fast_math"), "{exact}");
    for said in [verify(&source("", ""), &["--fast-math"]), verify(&source(ON, ""), &[])] {
        assert!(said.contains("fast_math is on"), "{said}");
        let (host, sim) = said.split_once("k, sim").expect("two devices");
        assert!(host.contains("the same bits") && !host.contains("near"), "{said}");
        assert!(sim.contains("near"), "{said}");
    }
    let (out, err, code) =
        kc(folder.path(), &source("", ""), &["profile", "k.json", "--fast-math", "--registers", "32"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("fast_math is on"), "{out}");
    let (out, ..) = kc(folder.path(), &source("", ""), &["profile", "k.json", "--registers", "32"]);
    assert!(!out.contains("fast_math"), "{out}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["compile", "k.py", "--emit", "ptx", "-o", "-", "--fast-math", "--fmad", "off"];
    let (_, err, code) = kc(folder.path(), &source("", ""), &args);
    assert!(code != Some(0) && err.contains("E1012"), "{err}");
    for (above, options) in [
        ("wp.set_module_options({\"fast_math\": \"off\"})", ""),
        ("", "(module=\"unique\", module_options={\"fast_math\": 1})"),
    ] {
        let (out, err, code) = kc(folder.path(), &source(above, options), &["check", "k.py"]);
        let said = out + &err;
        assert!(code != Some(0) && said.contains("E0401") && said.contains("True or False"), "{said}");
    }
}
