//! CUDA text: for every `tests/cuda/NAME.ir` the text is `NAME.cu`, NVRTC accepts it without
//! include paths, and run on the host it gives what the interpreter gives. The same holds for every
//! operation on every number type. What is kept from text to text is what would be printed.
//! `KC_BLESS=1` rewrites the `.cu` files; read the difference.

#[path = "common/arguments.rs"]
mod arguments;
mod common;
// It serves several tests, and none of them needs all of it.
#[path = "common/cpp.rs"]
mod cpp;
#[allow(dead_code)]
#[path = "expressions/mod.rs"]
mod expressions;
#[path = "hand_written/check.rs"]
mod hand_written;
#[path = "common/host_text.rs"]
mod host_text;
#[path = "cuda/large.rs"]
mod large;

use std::path::{Path, PathBuf};

use kc::codegen::cuda::{Abi, CudaOptions, PlainEntry, Texts, emit, emit_marked, emit_with_entries};
// The generator of expressions names it `crate::dataset`.
use kc::dataset;
use kc::driver::{Compiler, Gradients, Request};
use kc::ir::{AtomicOp, BinaryOp, CompareOp, FuncId, Module, UnaryOp, parse, verify};
use kc::source::lined::Lined;
use kc::source::{FileId, SourceFile};
use kc::types::Scalar;
use libtest_mimic::{Arguments, Failed, Trial};

use expressions::{Category, sample};

fn main() {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    let files = std::fs::read_dir(&folder).expect("tests/cuda exists").flatten().map(|entry| entry.path());
    let mut inputs: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "ir")).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    let golden = inputs.into_iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || check(&path))
    });
    let operations = Scalar::ALL
        .into_iter()
        .map(|scalar| Trial::test(format!("operations_on_{}", scalar.name()), move || check_operations(scalar)));
    let kept = Trial::test("kept_functions_are_printed_functions", check_kept);
    let parameters = Trial::test("gradients_of_what_is_given_by_value", check_parameters);
    let beside = hand_written::NAMES
        .iter()
        .map(|name| Trial::test(format!("hand_written_{name}"), move || hand_written::check(name)));
    let ratios = Trial::test("hand_written_ratios", hand_written::check_ratios);
    let programs = PROGRAMS.iter().map(|name| Trial::test(format!("gradients_of_{name}"), move || check_program(name)));
    let blocks = Trial::test("tiles_in_memory_that_launches_ask_for", large::check);
    let trials = golden.chain(operations).chain(beside).chain(programs).chain([kept, parameters, ratios, blocks]);
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

/// Files of `tests/gradients`, full of loops that leave and arrays that are overwritten.
const PROGRAMS: &[&str] = &["loops_and_overwrites", "basics", "chosen"];

/// The plain texts of a file's kernels, with their gradients, compute what the IR does.
fn check_program(name: &str) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gradients").join(name).with_extension("py");
    let compilation = Compiler::new().load(&path, &Request::default());
    let module = compilation.apart().unwrap_or(&compilation.module);
    let options = CudaOptions { abi: Abi::Plain, ..CudaOptions::default() };
    let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    // The shim's library would call the C library's `times`; made-up indices lie outside of what
    // `slots` counts.
    let plain = |&id: &FuncId| {
        let is_left_out = ["times", "slots"].contains(&module.functions[id].source_name.as_str());
        !is_left_out && emit_with_entries(module, &[id], &options, &Texts::new(0)).is_ok()
    };
    let good: Vec<FuncId> = kernels.into_iter().filter(plain).collect();
    assert!(good.len() >= 10, "{name}: {} entries", good.len());
    let (text, entries) =
        emit_with_entries(module, &good, &options, &Texts::new(0)).map_err(|diagnostic| diagnostic.message)?;
    host_text::assert_same_plain(module, &text, &entries, &[host_text::Numbers::Near]);
    Ok(())
}

/// Every operation that a number type has, each in a kernel of its own.
fn check_operations(scalar: Scalar) -> Result<(), Failed> {
    let ty = scalar.name();
    let mut kernels = Vec::new();
    let mut add = |name: &str, line: &str, result: &str| {
        // Casts of floats to integers are undefined in host C++ outside the range, unlike on the
        // GPU.
        let finite = if name.starts_with("cast") { "_finite" } else { "" };
        let kernel = format!(
            "kernel @{name}{finite}(%a: array(dtype={ty}), %b: array(dtype={ty}), %out: array(dtype={result})) rank 1 {{\n\
             %i: int32 = thread_index 0\n%x: {ty} = load %a[%i]\n%y: {ty} = load %b[%i]\n%z: {result} = {line}\n\
             store %out[%i], %z\nreturn\n}}\n"
        );
        // The verifier knows which operations a type has.
        let exists = parse::parse(&kernel).is_ok_and(|module| verify::verify(&module).is_ok());
        if exists {
            kernels.push(kernel);
        }
    };
    for op in UnaryOp::ALL {
        add(&format!("unary_{}", op.name()), &format!("{} %x", op.name()), ty);
    }
    for op in BinaryOp::ALL {
        add(&format!("binary_{}", op.name()), &format!("{} %x, %y", op.name()), ty);
    }
    for op in CompareOp::ALL {
        add(&format!("compare_{}", op.name()), &format!("{} %x, %y", op.name()), "bool");
    }
    for to in Scalar::ALL {
        // `(unsigned)x` of a negative float is 0 on the GPU and undefined in host C++.
        if !(to == Scalar::U32 && scalar.is_float()) {
            add(&format!("cast_to_{}", to.name()), "cast %x", to.name());
        }
        add(&format!("bitcast_to_{}", to.name()), "bitcast %x", to.name());
    }
    for op in AtomicOp::ALL.iter().filter(|_| scalar.size() > 1) {
        add(&format!("atomic_{}", op.name()), &format!("atomic {} %b[%i], %x", op.name()), ty);
    }
    add("fused", "fma %x, %y, %y", ty);
    if kernels.len() < 10 {
        return Err(format!("only {} operations on {ty}", kernels.len()).into());
    }
    let module = parse::parse(&kernels.concat())?;
    let text = text_of(&module, Path::new("operations.ir"))?;
    common::assert_cuda(&text, "sm_75");
    host_text::assert_same_results(&module, &text);
    Ok(())
}

/// Backward entries that give the gradients of parameters too, and do not where the array for them
/// is null.
fn check_parameters() -> Result<(), Failed> {
    let source = "import warp as wp

@wp.struct
class P:
    x: wp.array(dtype=float)
    k: float
    h: wp.float16
    v: wp.vec3d

@wp.kernel
def fields(x: wp.array(dtype=float), y: wp.array(dtype=float), p: P):
    i = wp.tid()
    t = x[i] * p.k + float(p.v[1]) * p.x[i]
    for n in range(3):
        t = t * p.k
    y[i] = t

@wp.kernel
def matrix(y: wp.array(dtype=wp.vec2), m: wp.mat22, s: wp.float64, n: int):
    i = wp.tid()
    y[i] = m * wp.vec2(float(s), float(i)) * float(n)
";
    let gradients = Gradients { parameters: true, ..Gradients::default() };
    let request = Request { gradients, ..Request::default() };
    let module = Compiler::new().load_text(Path::new("kernel.py"), source.to_string(), &request).module;
    let text = text_of(&module, Path::new("kernel.py"))?;
    for wanted in [
        "// parameter_gradients: receives the gradients of `p.k`, `p.h`, `p.v`.",
        "atomicAdd(&parameter_gradients[0], (double)",
        "// parameter_gradients: receives the gradients of `m`, `s`.",
        "if (parameter_gradients) {",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let fields = text.split("Gradient of `matrix`").next().unwrap_or_default();
    assert!(!fields.contains("parameter_gradients[1]"), "nothing depends on p.h\n{text}");
    common::assert_cuda(&text, "sm_75");
    host_text::assert_same_results(&module, &text);
    Ok(())
}

/// A text with library functions from earlier texts of its thread is the one without, byte for
/// byte.
fn check_kept() -> Result<(), Failed> {
    let examples = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"))?.flatten();
    let examples = examples.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "py"));
    let mut sources = examples.map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    sources.push(OWN_NAMES.to_string());
    sources.extend((0..200).map(|n| sample(11, n, Category::ALL).plan.text));
    let modules: Vec<Module> = sources
        .into_iter()
        .map(|text| Compiler::new().load_text(Path::new("kernel.py"), text, &Request::default()).module)
        .collect();
    let library = |module: &Module| module.functions.values().filter(|f| f.library).count();
    let renamed = |module: &Module| text_of(module, Path::new("")).is_ok_and(|text| text.contains("float dot_vec3f("));
    assert!(modules.iter().any(renamed) && !modules.iter().all(renamed));
    assert!(modules.iter().map(library).sum::<usize>() > 500);
    // Twice, so that even the first one meets functions that others have left; and a kernel alone,
    // which has other functions and other names for them.
    for module in modules.iter().chain(&modules) {
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        for kernels in [&kernels[..], &kernels[..kernels.len().min(1)]] {
            let options = CudaOptions::default();
            let marked = emit_marked(module, kernels, &options).map_err(|diagnostic| diagnostic.message)?;
            let source = SourceFile::new("kernel.py", String::new());
            let expected = Lined::read(&marked, FileId(0), &source).text;
            let kept = emit(module, kernels, &options, &Texts::new(0)).map_err(|diagnostic| diagnostic.message)?;
            if kept != expected {
                return Err(format!("with kept functions:\n{kept}\nwithout:\n{expected}").into());
            }
        }
    }
    Ok(())
}

/// A function with the name of one of the library's, which then has another name in the text.
const OWN_NAMES: &str = "import warp as wp

@wp.func
def dot(a: wp.vec3, b: wp.vec3):
    s = a[0] * b[0]
    while s > 1.0:
        s = s - b[1]
    return s

@wp.kernel
def k(a: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    d = dot(a[i], a[i])
    n = wp.normalize(a[i])
    out[i] = d + wp.dot(n, a[i]) + wp.length(n)
";

fn check(path: &Path) -> Result<(), Failed> {
    let module = parse::parse(&std::fs::read_to_string(path)?)?;
    verify::verify(&module).map_err(|faults| faults.join("\n"))?;
    let text = text_of(&module, path)?;
    let golden = path.with_extension("cu");
    if std::env::var_os("KC_BLESS").is_some() {
        std::fs::write(&golden, &text)?;
    }
    let expected = std::fs::read_to_string(&golden).map_err(|error| format!("{}: {error}", golden.display()))?;
    if text != expected {
        return Err(format!("the text is no longer that of {}:\n{text}", golden.display()).into());
    }
    common::assert_cuda(&text, "sm_75");
    host_text::assert_same_results(&module, &text);
    check_plain(&module, path)
}

/// The same with plain parameters: the kernels that have a text so.
fn check_plain(module: &Module, path: &Path) -> Result<(), Failed> {
    let plain = |kernels: &[FuncId]| {
        let options = CudaOptions { abi: Abi::Plain, ..CudaOptions::default() };
        emit_with_entries(module, kernels, &options, &Texts::new(0))
    };
    let (mut good, mut refused) = (Vec::new(), Vec::new());
    for (id, kernel) in module.kernels() {
        match plain(&[id]) {
            Ok(_) => good.push(id),
            Err(_) => refused.push(kernel.name.as_str()),
        }
    }
    let file = path.file_stem().unwrap_or_default().to_string_lossy();
    let known = REFUSED.iter().filter(|(of, _)| *of == file).map(|(_, kernel)| *kernel);
    if !refused.iter().copied().eq(known) {
        return Err(format!("plain parameters: {file} refuses {refused:?}").into());
    }
    let (text, entries) = plain(&good).map_err(|diagnostic| diagnostic.message)?;
    assert_plain(module, &text, &entries)
}

/// Kernels that have no text with plain parameters: they use an array as a value.
const REFUSED: &[(&str, &str)] = &[("arithmetic", "slices")];

fn assert_plain(module: &Module, text: &str, entries: &[PlainEntry]) -> Result<(), Failed> {
    for array in ["struct launch_bounds", "first_task"] {
        assert!(!text.contains(array), "{text}");
    }
    common::assert_cuda(text, "sm_75");
    host_text::assert_same_plain(module, text, entries, &[host_text::Numbers::Any, host_text::Numbers::Tame]);
    Ok(())
}

fn text_of(module: &Module, path: &Path) -> Result<String, Failed> {
    let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    let source_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    emit(module, &kernels, &CudaOptions { source_name, ..CudaOptions::default() }, &Texts::new(0))
        .map_err(|diagnostic| diagnostic.message.into())
}
