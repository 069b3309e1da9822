//! CUDA text: for every `tests/cuda/NAME.ir` the text is `NAME.cu`, NVRTC accepts it without include paths, and run on
//! the host it gives what the interpreter gives. `KC_BLESS=1` rewrites the `.cu` files; read the difference.

mod common;
#[path = "common/host_text.rs"]
mod host_text;

use std::path::{Path, PathBuf};

use kc::codegen::cuda::{CudaOptions, emit};
use kc::ir::{FuncId, Module, parse, verify};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    let files = std::fs::read_dir(&folder).expect("tests/cuda exists").flatten().map(|entry| entry.path());
    let mut inputs: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "ir")).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    let trials = inputs.into_iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || check(&path))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

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
    Ok(())
}

fn text_of(module: &Module, path: &Path) -> Result<String, Failed> {
    let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    let source_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    emit(module, &kernels, &CudaOptions { source_name }).map_err(|diagnostic| diagnostic.message.into())
}
