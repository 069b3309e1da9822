//! The header compiles alone as C11 and as C++17, where its own assertions check every layout, and
//! the JSON description states the same offsets.

use std::path::Path;
use std::process::Command;

use kc::codegen::header::Source;
use kc::codegen::linkage::Linkage;
use kc::codegen::llvm::{Atomics, HostModule, HostOptions};
use kc::codegen::sites::Sites;
use kc::codegen::{header, meta};
use kc::driver::{Compiler, Cpu, Gradients, Opt, Request};
use kc::ir::{FuncId, Module, parse, verify};
use kc::passes::block_threads::Tensor;
use serde_json::{Value, json};

const SOURCE: &str = r#"
struct Inner {
  flag: bool
  weight: float64
  points: array2d(dtype=vec3f)
}

struct Params {
  gravity: vec3f
  inner: Inner
  class: int16
  frame: transformd
  h: float16
}

struct Empty {
}

kernel @step(%x: array(dtype=Params), %p: Params, %on: bool, %m: mat22d, %default: int8, %q: quatf, %e: Empty) rank 2 {
  return
}

kernel @nothing() rank 1 {
  return
}

kernel @step_backward(%x: array(dtype=float32), %adj_x: array(dtype=float32), %adj_x.1: array(dtype=float32), %adj_adj_x: array(dtype=float32), %kept: array2d(dtype=float64), %turns: array2d(dtype=int32), %needed: array(dtype=int64)) rank 2 source "step" backward tape (4 log 3 "x[i] */ before", 5 state 2 "turns", 6 needed "slots") {
  return
}
"#;

fn module() -> (Module, Vec<FuncId>) {
    let module = parse::parse(SOURCE).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify::verify(&module), Ok(()));
    let kernels = module.kernels().map(|(id, _)| id).collect();
    (module, kernels)
}

fn header_of(module: &Module, kernels: &[FuncId], name: &str) -> String {
    let source = Source { name, text: SOURCE };
    header::emit(module, kernels, &source, &[], [Tensor::NONE; 2], &Linkage::default())
}

#[test]
fn the_header_compiles_as_c_and_cpp_and_its_layouts_hold() {
    let (module, kernels) = module();
    let folder = tempfile::tempdir().unwrap();
    let header_path = folder.path().join("step.h");
    std::fs::write(&header_path, header_of(&module, &kernels, "step.py")).unwrap();
    for (language, standard) in [("c", "-std=c11"), ("c++", "-std=c++17")] {
        // Included twice, and with a second header of the same types.
        let main = folder.path().join(format!("main.{language}"));
        let other = folder.path().join("other.h");
        std::fs::write(&other, header_of(&module, &[], "other.py")).unwrap();
        let body = "#include \"step.h\"\n#include \"step.h\"\n#include \"other.h\"\n\
            #ifdef __cplusplus\n\
            using namespace step;\n\
            #endif\n\
            const char *entry(void) { return step_cuda_entry; }\n\
            void run(const kc_launch_bounds *launch, const step_args *args, const nothing_args *none) {\n\
                step_cpu_kernel_forward(launch, args, 0, launch->size, NULL);\n\
                nothing_cpu_kernel_forward(launch, none, 0, launch->size, NULL);\n\
            }\n\
            void back(const kc_launch_bounds *launch, step_backward_args *args) {\n\
                args->adj_x = args->adj_x_;\n\
                args->turns.ndim = 0;\n\
                step_cpu_kernel_backward(launch, args, 0, launch->size, NULL);\n\
            }\n";
        std::fs::write(&main, body).unwrap();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
        let output = Command::new(&compiler)
            .args(["-x", language, standard, "-Wall", "-Werror", "-fsyntax-only"])
            .arg(&main)
            .output()
            .unwrap_or_else(|error| panic!("{compiler} does not start: {error}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_description_names_types_as_launch_files_do() {
    let (module, kernels) = module();
    let options = meta::MetaOptions {
        source_name: "step.py".into(),
        architectures: vec!["sm_90".into()],
        contiguous: true,
        covering: true,
        processors: Vec::new(),
        sites: Vec::new(),
        ..Default::default()
    };
    let found: Value = serde_json::from_str(&meta::emit(&module, &kernels, options)).unwrap();
    assert_eq!(found["architectures"], json!(["sm_90"]));
    assert_eq!(found["layout"], json!("contiguous"));
    assert_eq!(found["grid"], json!("covering"));
    let step = &found["kernels"][0];
    assert_eq!(step["rank"], 2);
    let backward = &step["entries"]["backward"];
    let step = &step["entries"]["forward"];
    assert_eq!(step["cpu"], "step_cpu_kernel_forward");
    assert_eq!(step["tape"], Value::Null);
    assert_eq!(backward["cuda"], "step_cuda_kernel_backward");
    let roles: Vec<&Value> = backward["params"].as_array().unwrap().iter().map(|p| &p["role"]).collect();
    assert_eq!(json!(roles), json!(["argument", "argument", "adjoint", "adjoint", "tape", "tape", "tape"]));
    assert_eq!(backward["params"][3]["of"], "adj_x");
    assert_eq!(
        backward["tape"][0],
        json!({"param": "kept", "role": "log", "scalar": "float64", "bytes_per_slot": 8, "slots": 3,
            "reason": "x[i] */ before"})
    );
    assert_eq!(backward["tape_bytes_per_thread"], 3 * 8 + 2 * 4);
    assert_eq!(
        step["params"][0],
        json!({"role": "argument", "name": "x", "kind": "array", "dtype": {"class": "struct", "name": "Params"}, "ndim": 1, "offset": 0,
            "size": 56})
    );
    assert_eq!(
        step["params"][3],
        json!({"role": "argument", "name": "m", "kind": "value", "dtype": {"class": "mat", "scalar": "float64", "shape": [2, 2]},
            "offset": 224, "size": 32})
    );
    let inner = &found["structs"]["Inner"];
    assert_eq!((&inner["size"], &inner["align"]), (&json!(72), &json!(8)));
    assert_eq!(inner["fields"][2]["offset"], 16);
    assert_eq!(found["kernels"][1]["entries"]["forward"]["params"], json!([]));
}

#[test]
fn gradients_of_parameters_are_described_and_received() {
    let source = "import warp as wp

@wp.struct
class P:
    n: int
    k: float
    v: wp.vec2d

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float), s: float, p: P):
    i = wp.tid()
    y[i] = x[i] * s * p.k

@wp.kernel
def ints(y: wp.array(dtype=int), s: float):
    y[wp.tid()] = int(s)
";
    let describe = |parameters: bool| {
        let gradients = Gradients { parameters, ..Gradients::default() };
        let request = Request { gradients, ..Request::default() };
        let module = Compiler::new().load_text(Path::new("k.py"), source.to_string(), &request).module;
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        let found: Value = serde_json::from_str(&meta::emit(&module, &kernels, Default::default())).unwrap();
        (found, header_of(&module, &kernels, "k.py"))
    };
    let (plain, silent) = describe(false);
    assert!(
        silent.contains("It gives no gradients of `s`, `p.k`, `p.v`: `kc compile --parameter-gradients` does."),
        "{silent}"
    );
    let (found, header) = describe(true);
    let backward = &found["kernels"][0]["entries"]["backward"];
    assert_eq!(
        backward["parameter_gradients"],
        json!([{"of": "s", "slot": 0, "slots": 1}, {"of": "p.k", "slot": 1, "slots": 1}, {"of": "p.v", "slot": 2, "slots": 2}])
    );
    assert_eq!(
        backward["tape"],
        json!([{"param": "parameter_gradients", "role": "parameters", "scalar": "float64", "bytes_per_slot": 8, "slots": 4,
            "reason": "`s`, `p.k`, `p.v`"}])
    );
    assert_eq!(backward["tape_bytes_per_thread"], Value::Null);
    // Warp's own interface has no such argument.
    let known = &plain["kernels"][0]["entries"]["backward"];
    assert_eq!(known["tape"], Value::Null);
    let (params, all) = (known["params"].as_array().unwrap(), backward["params"].as_array().unwrap());
    assert_eq!((params.len(), &all[..8]), (8, &params[..]));
    for found in [&plain, &found] {
        let ints = &found["kernels"][1];
        assert_eq!(ints["no_gradient"], "it stores no floats, so there is nothing to differentiate");
        assert_eq!(ints["entries"].as_object().unwrap().keys().collect::<Vec<_>>(), ["forward"]);
    }
    assert!(
        header.contains(
            "parameter_gradients: 4 float64, to which the gradients of `s`, `p.k`, `p.v` are added in this order"
        ),
        "{header}"
    );
    assert!(header.contains("KC_ARRAY(double, 1) parameter_gradients;"), "{header}");
}

const REPORTING: &str = r#"import warp as wp

@wp.func
def look(x: wp.array(dtype=float), i: int):
    return x[i]

@wp.kernel
def k(values: wp.array(dtype=float), way: int):
    i = wp.tid()
    assert way != 2, "a \"quoted\" ??/ message"
    if way == 1:
        values[i] = look(values, i + 100)
    elif way == 3:
        values[i + wp.lower_bound(values, 0, 9, 2.0)] = 0.0
    elif way == 4:
        values[i + 50] = 1.0
"#;

const PRINTS_SITES: &str = r#"#include "reporting.h"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **ways) {
    float data[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int n = 1; n < count; ++n) {
        k_args args = {{data, NULL, {4, 1, 1, 1}, {4, 4, 4, 4}, 1, 0}, atoi(ways[n])};
        kc_launch_bounds launch = {{4, 1, 1, 1}, 4};
        kc_status status = {0};
        k_cpu_kernel_forward(&launch, &args, 0, 4, &status);
        if (status.kind == KC_OK) continue;
        const kc_site *site = &reporting_sites[status.site];
        printf("%s %u %s:%u:%u %s\n", ways[n], status.kind, site->file, site->line, site->column, site->what);
    }
    return 0;
}
"#;

/// The object's reports, decoded by the tables of header and description, name place and array.
#[test]
fn a_site_of_a_report_is_a_place_in_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("reporting.py"), REPORTING).unwrap();
    std::fs::write(at("main.c"), PRINTS_SITES).unwrap();
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let assert = "2 2 reporting.py:10:5 a \"quoted\" ??/ message\n";
    let all = format!("1 1 reporting.py:5:12 x\n{assert}3 1 stdlib/array.py:19:12 arr\n4 1 reporting.py:16:9 values\n");
    // Unchecked, the ways 1, 3 and 4 would write anywhere.
    let every = ["0", "1", "2", "3", "4"].as_slice();
    for (flags, ways, expected) in [
        (["--checked"].as_slice(), every, all.as_str()),
        (&["--checked", "--opt", "lean"], every, &all),
        (&[], &["0", "2"], assert),
    ] {
        let source = ["compile", "reporting.py", "--no-backward", "--emit", "obj,header,meta"];
        run(env!("CARGO_BIN_EXE_kc"), &[&source, flags].concat());
        run(&compiler, &["-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", "reporting.o", "-o", "main", "-lm"]);
        assert_eq!(run(at("main").to_str().unwrap(), ways), expected, "{flags:?}");
        let description: Value = serde_json::from_slice(&std::fs::read(at("reporting.json")).unwrap()).unwrap();
        let sites = description["sites"].as_array().unwrap();
        let header = std::fs::read_to_string(at("reporting.h")).unwrap();
        assert_eq!(header.matches("\n    {\"").count(), sites.len(), "{header}");
        let message = json!({"kind": "assert", "file": "reporting.py", "line": 10, "column": 5,
            "what": "a \"quoted\" ??/ message"});
        assert!(sites.contains(&message), "{sites:?}");
        assert_eq!(sites.iter().all(|site| site["kind"] == "assert"), !flags.contains(&"--checked"));
    }
}

/// Code never reports a site that the table of its module lacks, whatever copies of functions it is
/// made from.
#[test]
fn the_table_of_a_module_has_every_site_of_its_code() {
    for folder in ["examples", "tests/run"] {
        for file in Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).read_dir().unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "py") {
                continue;
            }
            let made = Compiler::new().load(&file, &Request::default());
            let kernels: Vec<FuncId> = made.module.kernels().map(|(id, _)| id).collect();
            let options = HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared };
            let table = Sites::of(&made.module, true);
            for &kernel in kernels.iter().step_by(3) {
                let code = HostModule::compile(&made.module, &[kernel], &options).unwrap();
                assert_eq!(code.sites(), &table, "{}", file.display());
            }
        }
    }
}

/// Of operations that the programs above use in few of their kernels.
#[test]
fn the_table_has_swaps_and_elements_of_local_arrays() {
    let text = "import warp as wp\n\n@wp.kernel\ndef swap(x: wp.array(dtype=int), y: wp.array(dtype=int)):\n    \
                i = wp.tid()\n    y[i] = wp.atomic_cas(x, i + 1, 0, 1)\n\n\
                @wp.kernel\ndef element(x: wp.array(dtype=int), y: wp.array(dtype=float)):\n    \
                i = wp.tid()\n    local = wp.zeros(shape=4, dtype=float)\n    local[x[i]] = 1.0\n    y[i] = local[i]\n";
    let made = Compiler::new().load_text(Path::new("k.py"), text.to_string(), &Request::default());
    let kernels: Vec<FuncId> = made.module.kernels().map(|(id, _)| id).collect();
    assert_eq!(kernels.len(), 3, "two kernels, and the gradient of the one with floats");
    let options = HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared };
    let table = Sites::of(&made.module, true);
    for kernel in kernels {
        let code = HostModule::compile(&made.module, &[kernel], &options).unwrap();
        assert_eq!(code.sites(), &table);
    }
}
