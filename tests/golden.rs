//! What does a kernel become, stage by stage? Each folder of `tests/golden` has a `kernel.py` and
//! what comes of it: IR and CUDA text without gradients (`forward`) and with them (`gradient`),
//! PTX, and the plan for a processor with AVX-512. `KC_BLESS=1 cargo test --test golden` rewrites
//! them; read the difference.

mod common;

use std::path::{Path, PathBuf};

use kc::driver::{Abi, Artefact, Compilation, Compiler, Cpu, Gradients, Grid, Opt, Options, Request};
use kc::driver::{Arch, ArrayLayout};
use kc::ir::Phase;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = std::fs::read_dir(&folder).expect("tests/golden exists").flatten();
    let mut kernels: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    kernels.sort();
    assert!(kernels.len() >= 16, "{} kernels", kernels.len());
    let trial = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || check(&path))
    };
    libtest_mimic::run(&Arguments::from_args(), kernels.into_iter().map(trial).collect()).exit();
}

fn check(folder: &Path) -> Result<(), Failed> {
    let source = folder.join("kernel.py");
    let load = |backward| {
        let request = Request { gradients: Gradients { backward, ..Gradients::default() }, ..Request::default() };
        Compiler::new().load(&source, &request)
    };
    let (mut forward, mut both) = (load(false), load(true));
    if both.diagnostics.has_errors() {
        let errors: Vec<String> = both.diagnostics.iter().map(|d| format!("{} {}", d.code.name(), d.message)).collect();
        return Err(errors.join("\n").into());
    }
    let arch = Arch::from_name("sm_90").ok_or("there is no sm_90")?;
    let reverse = both.module.kernels().any(|(_, entry)| entry.phase != Phase::Forward);
    let mut texts = vec![
        ("forward.ir", emit(&mut forward, Artefact::Ir)?),
        ("forward.cu", emit(&mut forward, Artefact::Cuda)?),
        ("kernel.ptx", emit(&mut both, Artefact::Ptx(arch))?),
        ("kernel.plan", emit(&mut both, Artefact::Plan)?),
    ];
    if reverse {
        texts.push(("gradient.ir", emit(&mut both, Artefact::Ir)?));
        texts.push(("gradient.cu", emit(&mut both, Artefact::Cuda)?));
    }
    let mut changed = Vec::new();
    for (name, text) in &texts {
        let path = folder.join(name);
        if std::env::var_os("KC_BLESS").is_some() {
            std::fs::write(&path, text)?;
        }
        let golden = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if golden != *text {
            changed.push(format!(
                "{}:\n{}",
                path.display(),
                similar::TextDiff::from_lines(&golden, text).unified_diff()
            ));
        }
        match Path::new(name).extension().and_then(|extension| extension.to_str()) {
            Some("ptx") => common::assert_ptx(text, "sm_90"),
            Some("cu") => _ = common::assert_cuda(text, "sm_90"),
            _ => {}
        }
    }
    let known = |name: &str| name == "kernel.py" || texts.iter().any(|(text, _)| *text == name);
    for entry in std::fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !known(&name) {
            changed.push(format!("{}: nothing writes it", entry.path().display()));
        }
    }
    if changed.is_empty() { Ok(()) } else { Err(changed.join("\n").into()) }
}

fn emit(compilation: &mut Compilation, artefact: Artefact) -> Result<String, Failed> {
    let options = Options {
        opt: Opt::Full,
        fmad: true,
        layout: ArrayLayout::Strided,
        grid: Grid::Any,
        abi: Abi::Warp,
        lineinfo: false,
        cpu: Cpu::from_name("x86-64-v4").ok_or("there is no x86-64-v4")?,
        // Objects test indices; the texts for GPUs are those of launches that do not.
        checked: !matches!(artefact, Artefact::Ptx(_) | Artefact::Llvm(_)),
        ptx: Vec::new(),
        ..Options::default()
    };
    let bytes = compilation.emit(artefact, &options).ok_or_else(|| format!("no {artefact:?}"))?;
    Ok(String::from_utf8(bytes)?)
}
