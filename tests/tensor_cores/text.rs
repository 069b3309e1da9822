//! The same in CUDA text (`--cuda-tensor-cores`): NVRTC compiles it, and its PTX has kc's own bits
//! on the simulator.

use serde_json::{Value, json};

use super::common;
use super::{Case, Folder, HALVES, OTHERS, numbers, program};

/// Sizes and types that the other tests have not: a half and a float32, two kinds of halves.
const TF32: Case = ("float32", "float32", [32, 16, 24]);

fn c_type(scalar: &str) -> &str {
    match scalar {
        "float32" => "float",
        "float64" => "double",
        other => other,
    }
}

/// A kernel that makes descriptors of pointers, for what `kc compile` has of a kernel, which it
/// calls: launch files give pointers.
fn with_pointers(text: &str, kernel: &str, case: Case, shapes: [[u32; 2]; 3], backward: bool) -> String {
    let (factor, result) = (c_type(case.0), c_type(case.1));
    let entry = format!("{kernel}_cuda_kernel_{}", if backward { "backward" } else { "forward" });
    let kernel_text = format!("extern \"C\" __global__ void {entry}(");
    assert!(text.contains(&kernel_text), "{text}");
    let mut text = text.replace(&kernel_text, &format!("static __device__ void {entry}("));
    let types = [factor, factor, result];
    let names = ["a", "b", "c"];
    let mut parameters: Vec<String> = names.iter().zip(types).map(|(name, ty)| format!("{ty} *{name}")).collect();
    if backward {
        parameters.extend(names.iter().zip(types).map(|(name, ty)| format!("{ty} *{name}_grad")));
    }
    let made = |name: &str, at: usize| {
        let ([rows, columns], ty) = (shapes[at], types[at]);
        format!(
            "array2<{ty}>{{{name}, nullptr, {{{rows}, {columns}}}, {{{columns} * (int)sizeof({ty}), (int)sizeof({ty})}}, 2, 0}}"
        )
    };
    let mut args: Vec<String> = names.iter().enumerate().map(|(at, name)| made(name, at)).collect();
    if backward {
        args.extend(names.iter().enumerate().map(|(at, name)| made(&format!("{name}_grad"), at)));
    }
    text.push_str(&format!(
        "\nextern \"C\" __global__ void with_pointers({})\n{{\n    launch_bounds dim = {{{{1, 2, 1, 1}}, 2}};\n    {entry}(dim, {});\n}}\n",
        parameters.join(", "),
        args.join(", ")
    ));
    text
}

/// What the text of a kernel computes on the simulator: `c`, or the gradients of `a` and `b`.
fn run(folder: &Folder, case: Case, kernel: &str, threads: u32, cores: &str, backward: bool) -> Vec<Vec<f64>> {
    let (factor, result, [m, n, k]) = case;
    let inner = if kernel == "gemm" { k + k / 2 } else { k };
    let mut shapes = [[m, inner], [inner, 2 * n], [m, 2 * n]];
    if kernel == "turned" {
        shapes[..2].iter_mut().for_each(|shape| shape.reverse());
    }
    let args = ["compile", "k.py", "-k", kernel, "--emit", "cuda", "-o", "k.cu", "--cuda-tensor-cores"];
    folder.kc(&[&args[..], &["--tensor-cores", cores]].concat());
    let text = std::fs::read_to_string(folder.path("k.cu")).expect("kc wrote it");
    let text = with_pointers(&text, kernel, case, shapes, backward);
    let compiled = common::assert_cuda(&text, "sm_90");
    assert!(compiled.contains("mma.sync"), "{kernel} {case:?}");
    std::fs::write(folder.path("text.ptx"), compiled).expect("the folder is writable");
    let pointer = |name: &str, scalar: &str, shape: [u32; 2], fill: Value| {
        let dtype = json!({"class": "scalar", "scalar": scalar, "shape": []});
        json!({"name": name, "kind": "pointer", "dtype": dtype, "shape": shape, "fill": fill})
    };
    let scalars = [factor, factor, result];
    let fills = [json!("random:1"), json!("random:2"), json!(0)];
    let mut list: Vec<Value> = Vec::new();
    for (at, (name, fill)) in ["a", "b", "c"].into_iter().zip(fills).enumerate() {
        list.push(pointer(name, scalars[at], shapes[at], fill));
    }
    let mut written = vec!["c"];
    if backward {
        for (at, (name, fill)) in
            [("a_grad", json!(0)), ("b_grad", json!(0)), ("c_grad", json!("random:3"))].into_iter().enumerate()
        {
            list.push(pointer(name, scalars[at], shapes[at], fill));
        }
        written = vec!["a_grad", "b_grad"];
    }
    let launch = json!({
        "format": 1, "source": "text.ptx", "entry": "with_pointers", "grid": [2], "block": [threads], "args": list,
    });
    std::fs::write(folder.path("text.json"), launch.to_string()).expect("the folder is writable");
    let mut args = vec!["run".to_string(), "text.json".into(), "--device".into(), "sim".into()];
    for name in &written {
        args.extend(["--npy".to_string(), format!("{name}={name}.npy")]);
    }
    folder.kc(&args.iter().map(String::as_str).collect::<Vec<_>>());
    written.iter().map(|name| numbers(&folder.path(&format!("{name}.npy")))).collect()
}

#[test]
fn cuda_text_has_the_bits_of_ptx() {
    let cases = HALVES.into_iter().chain([OTHERS[1], TF32]);
    for (at, case) in cases.enumerate() {
        let folder = Folder::with(case);
        let cores = if case.0 == "float32" { "tf32" } else { "on" };
        for (n, kernel) in ["gemm", "turned"].into_iter().enumerate() {
            // Less than a warp, a warp, two and some more threads, more warps than patches.
            let threads = [7, 32, 70, 160][(at + n) % 4];
            let dim = threads.to_string();
            let sim = ["--device", "sim", "--block-dim", &dim, "--tensor-cores", cores];
            let ptx = folder.run(case, kernel, &sim, &["c"]);
            assert_eq!(run(&folder, case, kernel, threads, cores, false), ptx, "{case:?} {kernel} {threads}");
        }
        let sim = ["--device", "sim", "--block-dim", "64", "--tensor-cores", cores];
        let ptx = folder.run(case, "gemm", &sim, &["a.grad", "b.grad"]);
        assert_eq!(run(&folder, case, "gemm", 64, cores, true), ptx, "{case:?} gradient");
    }
}

#[test]
fn it_is_an_option_of_cuda_text() {
    let folder = Folder::with(HALVES[0]);
    let text = |more: &[&str]| folder.kc(&[&["compile", "k.py", "--emit", "cuda", "-o", "-"], more].concat());
    assert!(!text(&[]).contains("mma"));
    assert!(!text(&["--cuda-tensor-cores", "--tensor-cores", "off"]).contains("mma"));
    // The text is for the least of the architectures.
    let turing = text(&["--cuda-tensor-cores", "--arch", "sm_90,sm_75", "--no-backward"]);
    assert!(turing.contains("mma_f16_short") && !turing.contains("mma_f16,"), "{turing}");
    common::assert_cuda(&turing, "sm_75");
    let ampere = text(&["--cuda-tensor-cores", "--arch", "sm_80"]);
    assert!(ampere.contains("mma_f16,") && ampere.contains("mma_tf32_pair,"), "{ampere}");
    // Half floats of two kinds have all their bits in TensorFloat-32.
    let mixed = program(HALVES[0]).replace("b: wp.array2d(dtype=wp.float16)", "b: wp.array2d(dtype=wp.bfloat16)");
    std::fs::write(folder.path("k.py"), mixed).expect("the folder is writable");
    let mixed = text(&["--cuda-tensor-cores"]);
    assert!(mixed.contains("tile_product<mma_tf32,"), "{mixed}");
    common::assert_cuda(&mixed, "sm_80");
}
