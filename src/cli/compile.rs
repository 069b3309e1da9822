//! `kc compile`: artefacts from kernel files.

use crate::cli::messages;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::fast_math::FastMathArg;
use super::inputs::Input;
use super::tensor_cores::TensorCoresArg;
use super::watch::{self, Seen};
use super::{Exit, FormatArg, GradientArgs, Report, TypesArg, depfile, output, with_project};
use crate::codegen::linkage::{self, Linkage};
use crate::diag::policy::{NO_BACKWARD, Policy};
use crate::diag::render::sarif_log;
use crate::diag::{Diagnostic, Diagnostics, counted};
use crate::driver::{
    Abi, Arch, ArrayLayout, Artefact, Compilation, Compiler, Cpu, Grid, Opt, Options, Overlaid, Request,
};
use crate::source::lined::Lined;

/// Compiles kernel files to PTX, CUDA C++ or host code.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Python files with kernels, or `.ir` texts; folders and patterns (`'src/**/*.py'`) stand for
    /// the Python files there, `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Compile only this kernel; may be repeated.
    #[arg(short, long = "kernel", value_name = "KERNEL")]
    kernels: Vec<String>,
    #[command(flatten)]
    types: TypesArg,
    /// What to write [default: ptx,cuda, or what the ending of `-o FILE` says]
    #[arg(long, value_enum, value_delimiter = ',')]
    emit: Vec<Emit>,
    /// Folder for the results, named after the input file: FILE.ptx, FILE.cu, ... Those of a folder
    /// keep its folders. A name that ends as a result does, such as `-o saxpy.ptx`, is the file of
    /// a single result; `-` prints it.
    #[arg(short, long = "out-dir", value_name = "DIR|FILE", default_value = ".")]
    out: PathBuf,
    /// GPU architectures for PTX: sm_75 and up. sm_90a and its like run on one capability alone.
    /// With several, files are named FILE.sm_90.ptx.
    #[arg(long, value_delimiter = ',', default_value = "sm_90", value_name = "SM", value_parser = arch)]
    arch: Vec<Arch>,
    #[command(flatten)]
    gradients: GradientArgs,
    /// How much work the optimizer puts in.
    #[arg(long, value_enum, default_value = "full")]
    opt: OptArg,
    /// Fuse `a * b + c` into one rounding on the GPU, as nvcc does. CUDA text made without has
    /// products that no compiler fuses.
    #[arg(long, value_enum, default_value = "on")]
    fmad: Switch,
    #[command(flatten)]
    fast_math: FastMathArg,
    #[command(flatten)]
    tensor_cores: TensorCoresArg,
    /// CUDA text multiplies tiles by these instructions too, with the bits of PTX; it needs the
    /// least of the architectures then.
    #[arg(long)]
    cuda_tensor_cores: bool,
    /// How PTX finds the elements of arrays.
    #[arg(long, value_enum, default_value = "strided")]
    layout: LayoutArg,
    /// With which grids PTX can be launched.
    #[arg(long, value_enum, default_value = "any")]
    grid: GridArg,
    /// How kernels of CUDA text take their arguments.
    #[arg(long, value_enum, default_value = "warp")]
    abi: AbiArg,
    /// PTX names the source lines that its instructions come from (`.loc`), for profilers; the
    /// instructions stay the same.
    #[arg(long)]
    lineinfo: bool,
    /// Object files tell debuggers and profilers the source lines, and variables as far as they
    /// live. With `--opt lean`, a debugger steps through a kernel line by line.
    #[arg(short = 'g', long)]
    debug: bool,
    /// Processor of object files: `native` (this machine's), a level such as `x86-64-v3`, one such
    /// as `sapphirerapids`, `znver4` or `neoverse-n1`, or `auto`: code for each level from
    /// x86-64-v2 on, of which a program runs the best that its machine has.
    #[arg(long, default_value = "native", value_name = "CPU", value_parser = cpu)]
    cpu: Cpu,
    /// Object files and PTX test every array index and report the first that is out of bounds.
    #[arg(long)]
    checked: bool,
    /// A text in front of the names of kernels and structs in all results, so that programs can
    /// have two kernels of one name: `sim_`.
    #[arg(long, value_name = "TEXT", value_parser = prefix)]
    prefix: Option<String>,
    /// The C++ namespace of headers, such as `game::physics`; `''` for none [default: the name of
    /// the file]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<String>,
    /// The entries of object files can be seen from outside of the shared library that they are
    /// linked into, for `dlsym` and ctypes.
    #[arg(long)]
    export: bool,
    /// Also write which files the results are made of, as rules for make, Ninja and CMake.
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,
    /// Print the result as JSON: its `text`, and for each line the `lines` of the source that it
    /// comes from.
    #[arg(long, hide = true)]
    lines: bool,
    /// For editors: a file, and another one that has its text as it is on the screen; may be
    /// repeated.
    #[arg(long, hide = true, num_args = 2, value_names = ["FILE", "TEXT"])]
    overlay: Vec<PathBuf>,
    /// Print how long each stage took.
    #[arg(long)]
    timings: bool,
    /// Compile again whenever a file changes, until kc is ended.
    #[arg(long)]
    watch: bool,
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
    /// Assembly of that, to be read (.s).
    Asm,
    /// How this machine's processor runs each kernel: vector lanes or why not, array accesses,
    /// workers (.plan).
    Plan,
    /// C and C++ header for calling the kernels (.h).
    Header,
    /// Rust source for calling the kernels (.rs).
    Rust,
    /// Description of kernels, parameters and layouts (.json).
    Meta,
    /// All of these.
    All,
}

impl Emit {
    /// Each result and how its file ends.
    const ENDINGS: [(Emit, &str); 10] = [
        (Emit::Ptx, "ptx"),
        (Emit::Cuda, "cu"),
        (Emit::Llvm, "ll"),
        (Emit::Ir, "ir"),
        (Emit::Obj, "o"),
        (Emit::Asm, "s"),
        (Emit::Plan, "plan"),
        (Emit::Header, "h"),
        (Emit::Rust, "rs"),
        (Emit::Meta, "json"),
    ];
}

/// Where results go.
enum Target {
    Folder(PathBuf),
    File(PathBuf),
    Stdout,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum LayoutArg {
    /// By the strides in their descriptors: any view of any array can be passed.
    Strided,
    /// As dense row-major arrays, aligned to their elements (up to 16 bytes): fewer registers, wide
    /// accesses; strides are not read.
    Contiguous,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum GridArg {
    /// With any: the threads of a small grid run the whole launch in turns.
    Any,
    /// With those that have a thread for each of the launch, which has fewer than 2^31: fewer
    /// registers and instructions.
    Covering,
    /// With any; a thread does four tasks at once where it has so many. For kernels that wait for
    /// memory: launch a quarter of the threads.
    Strips,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum AbiArg {
    /// As Warp's do: the launch, and arrays as descriptors with strides.
    Warp,
    /// As people write them: pointers to dense arrays that do not overlap, sizes, numbers.
    Plain,
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
    let policy = match args.report.levels.policy() {
        Ok(policy) => policy.without_runs(),
        Err(message) => {
            output::err(&format!("error: {message}\n"));
            return Exit::Usage;
        }
    };
    let compiler = Compiler::new();
    watch::run(&args.files, args.watch, |inputs, seen| {
        plan(args, inputs).map_or_else(
            |error| output::refuse(&error),
            |(kinds, target)| compile(args, inputs, &kinds, &target, &policy, &compiler, seen),
        )
    })
}

/// What is to be written, and where.
fn plan(args: &Args, inputs: &[Input]) -> Result<(Vec<(Artefact, String)>, Target), Diagnostic> {
    args.fast_math.allows(matches!(args.fmad, Switch::On)).map_err(|error| *error)?;
    let ending = args.out.extension().and_then(|extension| extension.to_str());
    let named = Emit::ENDINGS.iter().find(|(_, of)| Some(*of) == ending).filter(|_| !args.out.is_dir());
    let default = match named {
        Some((emit, _)) => vec![*emit],
        None if args.abi == AbiArg::Plain => vec![Emit::Cuda],
        None => vec![Emit::Ptx, Emit::Cuda],
    };
    let emit = if args.emit.is_empty() { &default } else { &args.emit };
    let kinds = artefacts(args, emit);
    if args.abi == AbiArg::Plain && kinds.iter().any(|(kind, _)| !matches!(kind, Artefact::Cuda | Artefact::Ir)) {
        return Err(messages::plain_abi());
    }
    let target = match named {
        _ if args.out.as_os_str() == "-" => Target::Stdout,
        Some(_) => Target::File(args.out.clone()),
        None => return Ok((kinds, Target::Folder(args.out.clone()))),
    };
    let shown = args.out.display().to_string();
    if inputs.len() != 1 || kinds.len() != 1 {
        return Err(match target {
            Target::Stdout => messages::several_printed(),
            _ => messages::several_in_file(&shown),
        });
    }
    if let (Some((wanted, ending)), Target::File(_)) = (named, &target)
        && !emit.contains(wanted)
    {
        return Err(messages::other_ending(&shown, ending));
    }
    Ok((kinds, target))
}

fn compile(
    args: &Args,
    inputs: &[Input],
    kinds: &[(Artefact, String)],
    target: &Target,
    policy: &Policy,
    compiler: &Compiler,
    seen: &mut Seen,
) -> Exit {
    let mut results = String::new();
    let request = Request {
        kernels: args.kernels.clone(),
        types: args.types.types.clone(),
        block_dim: args.types.block_dim.map(u32::from),
        gradients: args.gradients.options(),
        checked: args.checked,
        fast_math: args.fast_math.on,
        ..Request::default()
    };
    let mut exit = Exit::Ok;
    let mut writers: HashMap<PathBuf, &Path> = HashMap::new();
    let overlays = args.overlay.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
    let overlaid = Overlaid::new(overlays);
    let mut compiled = false;
    let mut rules = String::new();
    for input in inputs {
        let path = input.path.as_path();
        let files = input.files(&overlaid);
        let mut compilation = compiler.load_from(path, files, &request);
        seen.note(path, &compilation.sources);
        let none = compilation.kernels.is_empty() && !compilation.diagnostics.has_errors();
        if none && !input.found {
            compilation.diagnostics.push(messages::no_kernels(&path.display().to_string()));
        }
        compiled |= !none;
        let mut written = Vec::new();
        for (artefact, suffix) in kinds {
            if compilation.kernels.is_empty() {
                break;
            }
            let file = match target {
                Target::Folder(folder) => folder.join(format!("{}.{suffix}", input.place().display())),
                Target::File(file) => file.clone(),
                Target::Stdout => PathBuf::new(),
            };
            if let Some(first) = writers.insert(file.clone(), path)
                && first != path
            {
                let (shown, first) = (file.display().to_string(), first.display().to_string());
                compilation.diagnostics.push(messages::written_twice(&shown, &first));
                continue;
            }
            let bytes = match args.lines {
                true => compilation.emit_lined(*artefact, &options(args, kinds)).map(|lined| json(&lined)),
                false => compilation.emit(*artefact, &options(args, kinds)),
            };
            let Some(bytes) = bytes else { continue };
            let end = compilation.timings.time("write", || match target {
                Target::Stdout => output::out(&bytes),
                _ => output::write_file(&file, &bytes),
            });
            match end {
                Err(diagnostic) => compilation.diagnostics.push(diagnostic),
                Ok(()) => written.push(file),
            }
        }
        if args.timings {
            output::err(&timings(path, &compilation));
        }
        rules.push_str(&depfile::rule(&written, path, &compilation.sources));
        let kernels = compilation.kernels.len();
        let without_gradient = missing_gradients(&compilation.diagnostics);
        match with_project(policy, path) {
            Ok(policy) => policy.apply(&mut compilation.diagnostics, &compilation.sources),
            Err(exit) => return exit,
        }
        let untold = missing_gradients(&compilation.diagnostics) < without_gradient;
        exit = exit.max(Exit::after(compilation.diagnostics.iter()));
        let findings = compilation.diagnostics.into_sorted();
        let text = args.report.render(&findings, &compilation.sources, output::style());
        if args.report.is_one_document() {
            results.push_str(&text);
        } else {
            output::err(&text);
        }
        // The other forms are read by programs.
        if matches!(args.report.format, FormatArg::Full) && !matches!(target, Target::Stdout) && !written.is_empty() {
            output::note(&wrote(kernels, untold, path, &written));
        }
    }
    if !compiled && inputs.iter().all(|input| input.found) {
        let names: Vec<String> = args.files.iter().map(|name| format!("`{}`", name.display())).collect();
        exit = exit.max(output::fail(&messages::no_kernels_in(&names.join(", "))));
    }
    if let Some(file) = &args.depfile
        && let Err(error) = output::write_file(file, rules.as_bytes())
    {
        exit = exit.max(output::fail(&error));
    }
    if args.report.is_one_document() {
        output::err(&sarif_log(&results));
    }
    exit
}

/// How many findings say of a kernel that it has no backward entry.
fn missing_gradients(diagnostics: &Diagnostics) -> usize {
    diagnostics.iter().filter(|finding| NO_BACKWARD.contains(&finding.code)).count()
}

/// One line about the files that hold what a source became. `untold`: kernels have no backward
/// entry, and no finding says so.
fn wrote(kernels: usize, untold: bool, source: &Path, files: &[PathBuf]) -> String {
    let name = |file: &PathBuf| file.strip_prefix(".").unwrap_or(file).display().to_string();
    let names: Vec<String> = files.iter().map(name).collect();
    let kernels = counted(kernels, "kernel");
    let more = if untold { "; not all have a backward entry: `--warn gradients` says why" } else { "" };
    format!("{}: wrote {kernels} to {}{more}\n", source.display(), names.join(", "))
}

/// `sm_90`, or `90` alone.
fn arch(text: &str) -> Result<Arch, String> {
    let number = text.strip_prefix("sm_").unwrap_or(text);
    Arch::ALL.iter().copied().find(|arch| arch.name.strip_prefix("sm_") == Some(number)).ok_or_else(|| {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name).collect();
        format!("known architectures: {}", names.join(", "))
    })
}

fn cpu(text: &str) -> Result<Cpu, String> {
    Cpu::from_name(text).ok_or_else(|| format!("known processors: {}", Cpu::names().collect::<Vec<_>>().join(", ")))
}

fn prefix(text: &str) -> Result<String, String> {
    match linkage::is_identifier(text) {
        true => Ok(text.to_string()),
        false => Err("letters of ASCII, digits and `_`, and no digit first".to_string()),
    }
}

fn namespace(text: &str) -> Result<String, String> {
    match text.is_empty() || text.split("::").all(linkage::is_identifier) {
        true => Ok(text.to_string()),
        false => Err("names of C++, with `::` between them".to_string()),
    }
}

/// What one file gives, each with the end of its name.
fn artefacts(args: &Args, emit: &[Emit]) -> Vec<(Artefact, String)> {
    let several = args.arch.len() > 1;
    let mut list: Vec<(Artefact, String)> = Vec::new();
    for (emit, ending) in Emit::ENDINGS.iter().filter(|(one, _)| emit.contains(one) || emit.contains(&Emit::All)) {
        let per_arch = |of: fn(Arch) -> Artefact| -> Vec<(Artefact, String)> {
            let name = |arch: &Arch| if several { format!("{}.{ending}", arch.name) } else { ending.to_string() };
            args.arch.iter().map(|arch| (of(*arch), name(arch))).collect()
        };
        let one = |artefact| vec![(artefact, ending.to_string())];
        list.extend(match emit {
            Emit::Ptx => per_arch(Artefact::Ptx),
            Emit::Llvm => per_arch(Artefact::Llvm),
            Emit::Cuda => one(Artefact::Cuda),
            Emit::Ir => one(Artefact::Ir),
            Emit::Obj => one(Artefact::Object),
            Emit::Asm => one(Artefact::Assembly),
            Emit::Plan => one(Artefact::Plan),
            Emit::Header => one(Artefact::Header),
            Emit::Rust => one(Artefact::Rust),
            Emit::Meta => one(Artefact::Metadata),
            Emit::All => Vec::new(),
        });
    }
    // `--arch sm_90,sm_90` asks for one file.
    let mut seen = std::collections::HashSet::new();
    list.retain(|(_, suffix)| seen.insert(suffix.clone()));
    list
}

fn options(args: &Args, kinds: &[(Artefact, String)]) -> Options {
    Options {
        opt: match args.opt {
            OptArg::Lean => Opt::Lean,
            OptArg::Full => Opt::Full,
        },
        fmad: matches!(args.fmad, Switch::On),
        tensor_cores: args.tensor_cores.choice(),
        cuda_tensor_cores: args.cuda_tensor_cores,
        layout: match args.layout {
            LayoutArg::Strided => ArrayLayout::Strided,
            LayoutArg::Contiguous => ArrayLayout::Contiguous,
        },
        grid: match args.grid {
            GridArg::Any => Grid::Any,
            GridArg::Covering => Grid::Covering,
            GridArg::Strips => Grid::Strips,
        },
        abi: match args.abi {
            AbiArg::Warp => Abi::Warp,
            AbiArg::Plain => Abi::Plain,
        },
        lineinfo: args.lineinfo,
        debug: args.debug.then(|| std::env::current_dir().unwrap_or_default()),
        cpu: args.cpu,
        checked: args.checked,
        archs: args.arch.clone(),
        linkage: Linkage {
            prefix: args.prefix.clone().unwrap_or_default(),
            namespace: args.namespace.clone(),
            exported: args.export,
        },
        ptx: kinds
            .iter()
            .filter_map(|(kind, _)| if let Artefact::Ptx(arch) = kind { Some(*arch) } else { None })
            .collect(),
    }
}

/// A text with the lines that it comes from, for editors.
fn json(lined: &Lined) -> Vec<u8> {
    serde_json::json!({"text": lined.text, "lines": lined.lines}).to_string().into_bytes()
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
