//! `kc compile`: artefacts from kernel files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Exit, GradientArgs, Report, TypesArg, output};
use crate::diag::render::sarif_log;
use crate::diag::{Code, Diagnostic};
use crate::driver::{Arch, ArrayLayout, Artefact, Compilation, Compiler, Cpu, Grid, Opt, Options, Overlaid, Request};
use crate::source::lined::Lined;

/// Compiles kernel files to PTX, CUDA C++, host code and descriptions of them.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Python files with kernels, or `.ir` texts.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Compile only this kernel; may be repeated.
    #[arg(short, long = "kernel", value_name = "KERNEL")]
    kernels: Vec<String>,
    #[command(flatten)]
    types: TypesArg,
    /// What to write.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ptx,cuda")]
    emit: Vec<Emit>,
    /// Folder for the results, named after the input file: FILE.ptx, FILE.cu, ... `-` prints a single result.
    #[arg(short, long = "out-dir", value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// GPU architectures for PTX: sm_75 and up. With several, files are named FILE.sm_90.ptx.
    #[arg(long, value_delimiter = ',', default_value = "sm_90", value_name = "SM", value_parser = arch)]
    arch: Vec<Arch>,
    #[command(flatten)]
    gradients: GradientArgs,
    /// How much work the optimizer puts in.
    #[arg(long, value_enum, default_value = "full")]
    opt: OptArg,
    /// Fuse `a * b + c` into one rounding on the GPU, as nvcc does.
    #[arg(long, value_enum, default_value = "on")]
    fmad: Switch,
    /// How PTX finds the elements of arrays.
    #[arg(long, value_enum, default_value = "strided")]
    layout: LayoutArg,
    /// With which grids PTX can be launched.
    #[arg(long, value_enum, default_value = "any")]
    grid: GridArg,
    /// Processor of object files: `native` (this machine's), `x86-64`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4`.
    #[arg(long, default_value = "native", value_name = "CPU", value_parser = cpu)]
    cpu: Cpu,
    /// Object files test every array index and report the first that is out of bounds.
    #[arg(long)]
    checked: bool,
    /// Print the result as JSON: its `text`, and for each line the `lines` of the source that it comes from.
    #[arg(long, hide = true)]
    lines: bool,
    /// For editors: a file, and another one that has its text as it is on the screen; may be repeated.
    #[arg(long, hide = true, num_args = 2, value_names = ["FILE", "TEXT"])]
    overlay: Vec<PathBuf>,
    /// Print how long each stage took.
    #[arg(long)]
    timings: bool,
    #[command(flatten)]
    report: Report,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum Emit {
    /// Assembly for NVIDIA GPUs (.ptx).
    Ptx,
    /// Self-contained CUDA C++ (.cu).
    Cuda,
    /// LLVM IR for the GPU, optimized (.ll).
    Llvm,
    /// kc's own IR as text (.ir).
    Ir,
    /// Object file for this machine's processor (.o).
    Obj,
    /// How this machine's processor runs each kernel: vector lanes or why not, array accesses, workers (.plan).
    Plan,
    /// C and C++ header for calling the kernels (.h).
    Header,
    /// Description of kernels, parameters and layouts (.json).
    Meta,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum LayoutArg {
    /// By the strides in their descriptors: any view of any array can be passed.
    Strided,
    /// As dense row-major arrays, aligned to their elements (up to 16 bytes): fewer registers, wide accesses; strides are not read.
    Contiguous,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum GridArg {
    /// With any: the threads of a small grid run the whole launch in turns.
    Any,
    /// With those that have a thread for each of the launch, which has fewer than 2^31: fewer registers and instructions.
    Covering,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum OptArg {
    /// Quick: for compiling in bulk. Device code calls larger library functions.
    Lean,
    /// Fast code.
    Full,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum Switch {
    On,
    Off,
}

pub(super) fn run(args: &Args) -> Exit {
    let stdout = args.out.as_os_str() == "-";
    if stdout && (args.files.len() != 1 || artefacts(args).len() != 1) {
        output::err("error: `-o -` prints one result: name one file, one `--emit` and one `--arch`\n");
        return Exit::Usage;
    }
    let policy = match args.report.levels.policy() {
        Ok(policy) => policy,
        Err(message) => {
            output::err(&format!("error: {message}\n"));
            return Exit::Usage;
        }
    };
    let mut results = String::new();
    let request = Request {
        kernels: args.kernels.clone(),
        types: args.types.types.clone(),
        gradients: args.gradients.options(),
        ..Request::default()
    };
    let mut exit = Exit::Ok;
    let mut writers: HashMap<PathBuf, &Path> = HashMap::new();
    let compiler = Compiler::new();
    let overlays = args.overlay.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
    let files = Arc::new(Overlaid::new(overlays));
    for path in &args.files {
        let mut compilation = compiler.load_from(path, files.clone(), &request);
        if compilation.kernels.is_empty() && !compilation.diagnostics.has_errors() {
            let message = format!("`{}` has no kernels to compile", path.display());
            compilation.diagnostics.push(Diagnostic::new(Code::E0908, message));
        }
        for (artefact, suffix) in artefacts(args) {
            if compilation.kernels.is_empty() {
                break;
            }
            let target = args.out.join(format!("{}.{suffix}", stem(path)));
            if let Some(first) = writers.insert(target.clone(), path)
                && first != path
            {
                let (shown, first) = (target.display(), first.display());
                let message = format!("`{shown}` was already written for `{first}`");
                compilation.diagnostics.push(Diagnostic::new(Code::E0906, message));
                continue;
            }
            let bytes = match args.lines {
                true => compilation.emit_lined(artefact, &options(args)).map(|lined| json(&lined)),
                false => compilation.emit(artefact, &options(args)),
            };
            let Some(bytes) = bytes else { continue };
            let written = compilation.timings.time("write", || match stdout {
                true => output::out(&bytes),
                false => output::write_file(&target, &bytes),
            });
            if let Err(diagnostic) = written {
                compilation.diagnostics.push(diagnostic);
            }
        }
        if args.timings {
            output::err(&timings(path, &compilation));
        }
        policy.apply(&mut compilation.diagnostics);
        exit = exit.max(Exit::after(compilation.diagnostics.iter()));
        let findings = compilation.diagnostics.into_sorted();
        let text = args.report.render(&findings, &compilation.sources, output::style());
        if args.report.is_one_document() {
            results.push_str(&text);
        } else {
            output::err(&text);
        }
    }
    if args.report.is_one_document() {
        output::err(&sarif_log(&results));
    }
    exit
}

/// `sm_90`, or `90` alone.
fn arch(text: &str) -> Result<Arch, String> {
    let number = text.strip_prefix("sm_").unwrap_or(text);
    Arch::ALL.iter().copied().find(|arch| arch.number.to_string() == number).ok_or_else(|| {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name).collect();
        format!("known architectures: {}", names.join(", "))
    })
}

fn cpu(text: &str) -> Result<Cpu, String> {
    Cpu::from_name(text).ok_or_else(|| "known processors: native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4".to_string())
}

/// What one file gives, each with the end of its name.
fn artefacts(args: &Args) -> Vec<(Artefact, String)> {
    let mut list: Vec<(Artefact, String)> = Vec::new();
    let several = args.arch.len() > 1;
    for emit in &args.emit {
        let per_arch = |of: fn(Arch) -> Artefact, suffix: &str| -> Vec<(Artefact, String)> {
            let name = |arch: &Arch| if several { format!("{}.{suffix}", arch.name) } else { suffix.to_string() };
            args.arch.iter().map(|arch| (of(*arch), name(arch))).collect()
        };
        let one = |artefact, suffix: &str| vec![(artefact, suffix.to_string())];
        list.extend(match emit {
            Emit::Ptx => per_arch(Artefact::Ptx, "ptx"),
            Emit::Llvm => per_arch(Artefact::Llvm, "ll"),
            Emit::Cuda => one(Artefact::Cuda, "cu"),
            Emit::Ir => one(Artefact::Ir, "ir"),
            Emit::Obj => one(Artefact::Object, "o"),
            Emit::Plan => one(Artefact::Plan, "plan"),
            Emit::Header => one(Artefact::Header, "h"),
            Emit::Meta => one(Artefact::Metadata, "json"),
        });
    }
    // `--emit ptx,ptx` asks for one file.
    let mut seen = std::collections::HashSet::new();
    list.retain(|(_, suffix)| seen.insert(suffix.clone()));
    list
}

fn options(args: &Args) -> Options {
    Options {
        opt: match args.opt {
            OptArg::Lean => Opt::Lean,
            OptArg::Full => Opt::Full,
        },
        fmad: matches!(args.fmad, Switch::On),
        layout: match args.layout {
            LayoutArg::Strided => ArrayLayout::Strided,
            LayoutArg::Contiguous => ArrayLayout::Contiguous,
        },
        grid: match args.grid {
            GridArg::Any => Grid::Any,
            GridArg::Covering => Grid::Covering,
        },
        cpu: args.cpu,
        checked: args.checked,
        ptx: if args.emit.contains(&Emit::Ptx) { args.arch.clone() } else { Vec::new() },
    }
}

/// A text with the lines that it comes from, for editors.
fn json(lined: &Lined) -> Vec<u8> {
    serde_json::json!({"text": lined.text, "lines": lined.lines}).to_string().into_bytes()
}

/// The input's name without folder and extension.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A table of stages and milliseconds.
fn timings(path: &Path, compilation: &Compilation) -> String {
    let stages = compilation.timings.stages();
    let mut text = format!("{}:\n", path.display());
    for (stage, spent) in stages {
        text.push_str(&format!("  {stage:<13} {:9.3} ms\n", spent.as_secs_f64() * 1e3));
    }
    let total: std::time::Duration = stages.iter().map(|(_, spent)| *spent).sum();
    text.push_str(&format!("  {:<13} {:9.3} ms\n", "total", total.as_secs_f64() * 1e3));
    text
}
