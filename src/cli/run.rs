//! `kc run`: launches from files, or one launch from flags.

use crate::cli::messages;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;

use super::fast_math::FastMathArg;
use super::supervise::End;
use super::tensor_cores::TensorCoresArg;
use super::trial::TrialArgs;
use super::{Exit, StoreArg, output, supervise};
use crate::diag::render::{Format, render};
use crate::diag::{Code, Diagnostic};
use crate::driver;
use crate::run::devices::{self, Device, Job};
use crate::run::files::{output as results, picture, show};
use crate::run::launch::{Launch, flags};
use crate::run::program::{Program, Wanted, kernel};
use crate::run::session::{Finished, Options, Session};
use crate::run::{Result, fail};
use crate::source::SourceMap;

/// Runs kernels on this machine.
///
/// Takes launch files (`.json`), or one kernel of a source file with its arguments as flags.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Launch files; or one source file (`.py`, or IR text `.ir`), launched as the flags say.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder for the results: `ID.npz` and `ID.json` of each launch (by flags: the kernel's name,
    /// and each array as `NAME.npy` too). It is made if missing.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Where to run.
    #[arg(long, default_value = devices::default().name(), value_parser = super::devices::parser())]
    device: &'static dyn Device,
    /// Do not test array indices.
    #[arg(long)]
    unchecked: bool,
    /// The same results on any number of cores, although sums of floats round by their order:
    /// kernels in which it shows run on one core, or on one thread or block of a GPU.
    #[arg(long)]
    deterministic: bool,
    /// Worker threads on the host; 0 takes one per core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
    /// Contraction of a * b + c on a GPU. Host and interpreter never contract, so that they agree
    /// bit for bit.
    #[arg(long, value_enum, default_value = "off")]
    fmad: Switch,
    #[command(flatten)]
    fast_math: FastMathArg,
    #[command(flatten)]
    tensor_cores: TensorCoresArg,
    /// The kernel to launch; not needed where the file has only one.
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// Threads in each dimension: `1000`, `256x256`.
    #[arg(long, value_name = "N[xN...]")]
    dim: Option<String>,
    /// Threads in a block of a GPU, 256 if not given. A kernel with tiles computes once for each
    /// block; the last dimension of its launch is that of the threads of a block.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    block_dim: Option<u16>,
    /// An argument: `a=2.0`, `v=1,2,3`, `x=@x.npy`, `x=@data.npz:x`, `x=@image.png` (floats from 0
    /// to 1, or bytes), `x=null`, `x=[[1,2],[3,4]]`, `y=zeros:f32:512x512`, `ones:SHAPE`,
    /// `full:VALUE:SHAPE`, `range:SHAPE`, `random:SEED:SHAPE` (the type may be left out),
    /// `s.dt=0.1` for a struct's field.
    #[arg(long = "arg", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Run the kernel and its gradient: that of the sum of all floats that the kernel writes, or as
    /// `--arg y.grad=ones` says of some array. The gradient of `x` is stored as `x.grad`.
    #[arg(long)]
    gradient: bool,
    /// Which runs of the steps of a launch program are looked at for races: all of them, or the
    /// first and the last of each step. What was not looked at, the result says.
    #[arg(long, value_enum, value_name = "RUNS", default_value = "all")]
    look: LookArg,
    /// Convert numbers of another type in files, such as float64 for an array of float32.
    #[arg(long)]
    convert: bool,
    /// How many bytes a compressed file may hold, however small it is: `4000000`, `64M`, `2G`. Four
    /// times its own size is always read. If not given, `KC_MAX_EXPANDED` in the environment says
    /// it, or it is 256M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_expanded: Option<u64>,
    /// Show an array after the run: `x`, or `x:20` for 20 rows; `x.grad`, and `a.grad` of a number,
    /// after a gradient run.
    #[arg(long, value_name = "NAME[:ROWS]")]
    print: Vec<String>,
    /// Give up a launch that takes longer than this, reading and compiling included, and go on with
    /// the next.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    trial: TrialArgs,
    /// Marks a worker process, which tells its supervisor what is done.
    #[arg(long, hide = true)]
    worker: bool,
    /// Where the state of loops waits for the reverse sweep in gradient runs; default: what costs
    /// least.
    #[arg(long, value_enum, value_name = "STORE")]
    store: Option<StoreArg>,
    /// Write an array as a picture: `image=out.png`, or `pixels:640x480=out.png` for a list of
    /// pixels.
    #[arg(long, value_name = "NAME[:WxH]=FILE")]
    png: Vec<String>,
    /// Write an array as NumPy stores it: `y=y.npy`.
    #[arg(long, value_name = "NAME=FILE")]
    npy: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum, Debug)]
enum LookArg {
    All,
    Ends,
}

/// An array to show or to draw.
enum View {
    Table { name: String, rows: usize },
    Picture { name: String, size: Option<(u32, u32)>, file: PathBuf },
    Npy { name: String, file: PathBuf },
}

impl View {
    fn name(&self) -> &str {
        let (View::Table { name, .. } | View::Picture { name, .. } | View::Npy { name, .. }) = self;
        name
    }
}

pub(super) fn run(args: &Args) -> Exit {
    match attempt(args) {
        Ok(exit) => exit,
        Err(error) => {
            report(&error, &SourceMap::default());
            // Options that cannot be understood are the command line's fault, all else is the
            // input's.
            if error.code == Code::E1012 { Exit::Usage } else { Exit::after([&*error]) }
        }
    }
}

fn attempt(args: &Args) -> Result<Exit> {
    let launches = args.files.iter().filter(|f| f.extension().is_some_and(|e| e == "json")).count();
    let by_flags = launches == 0;
    if launches != 0 && launches != args.files.len() || by_flags && args.files.len() > 1 {
        return Err(fail(Code::E1012, "expected either launch files (.json) or one source file"));
    }
    if !by_flags && (args.kernel.is_some() || args.dim.is_some() || !args.args.is_empty()) {
        return Err(fail(Code::E1012, "--kernel, --dim and --arg belong to a source file; a launch file says it all"));
    }
    let views = views(args)?;
    let options = Options {
        device: args.device,
        checked: !args.unchecked,
        fmad: matches!(args.fmad, Switch::On),
        tensor_cores: args.tensor_cores.choice(),
        threads: args.threads.into(),
        deterministic: args.deterministic,
        trial: args.trial.trial(),
        out_dir: args.out_dir.clone(),
        npy: by_flags,
        gradient: args.gradient,
        convert: args.convert,
        max_expanded: args.max_expanded,
        sample: args.look == LookArg::Ends,
    };
    let with = With { store: args.store.map(Into::into), parameters: true, fast_math: args.fast_math.on };
    let mut compile = |wanted: &Wanted| compile(wanted, with);
    let mut session = Session::new(options, &mut compile);
    if args.worker || by_flags && args.timeout.is_none() {
        let mut supervisor = supervise::to_supervisor().filter(|_| args.worker);
        let mut done = || supervisor.iter_mut().for_each(supervise::note);
        if by_flags {
            let end = from_flags(args, &mut session).and_then(|finished| conclude(&finished, &views));
            done();
            return end;
        }
        return Ok(run_files(args, &mut session, &views, |_| done()));
    }
    let give_up = |path: &Path, end: &End| {
        let shown = path.display().to_string();
        let error = match end {
            End::Died(how) => messages::worker_died(&shown, how),
            End::Late(limit) => messages::too_slow(&shown, limit.as_secs_f64()),
        };
        conclude(&session.abandon(path, args.kernel.clone(), error), &[]).unwrap_or(Exit::Errors)
    };
    // Without a worker, a crash costs the launches after it; better than none done.
    match supervise::supervise(&args.files, args.timeout, |files| worker(args, files), give_up) {
        Some(exit) => Ok(exit),
        None if by_flags => from_flags(args, &mut session).and_then(|finished| conclude(&finished, &views)),
        None => Ok(run_files(args, &mut session, &views, |_| {})),
    }
}

/// A number of bytes, with the units K, M and G of 1024, 1024^2 and 1024^3.
fn size(text: &str) -> std::result::Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let with_unit = units.into_iter().find_map(|(name, bits)| Some((text.strip_suffix(name)?, bits)));
    let (digits, bits) = with_unit.unwrap_or((text, 0));
    // A sign would be taken by `parse`.
    let number: Option<u64> = digits.parse().ok().filter(|_| !digits.starts_with('+'));
    let bytes = number.and_then(|n| n.checked_mul(1 << bits));
    bytes.ok_or_else(|| "expected bytes, such as 4000000, 64M or 2G".to_string())
}

/// A number of seconds above zero.
fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let duration = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.filter(|duration| !duration.is_zero()).ok_or_else(|| "expected seconds, such as 10 or 0.5".to_string())
}

/// Runs launch files one after the other; `done` is called after each.
fn run_files(args: &Args, session: &mut Session, views: &[View], mut done: impl FnMut(&Path)) -> Exit {
    let mut exit = Exit::Ok;
    for path in &args.files {
        // A fault of kc in one launch must not lose the others.
        let finished = driver::catch(|| session.run_file(path)).unwrap_or_else(|fault| {
            session.abandon(path, None, messages::panicked(&fault.place, &fault.message.replace('\n', " ")))
        });
        let end = conclude(&finished, views).unwrap_or_else(|error| {
            report(&error, &SourceMap::default());
            Exit::after([&*error])
        });
        exit = exit.max(end);
        done(path);
    }
    exit
}

/// The command line of a worker that runs `files` as `args` says.
fn worker(args: &Args, files: &[PathBuf]) -> Command {
    let mut command = driver::this_program().unwrap_or_else(|_| Command::new("kc"));
    command.arg("run").arg("--worker").arg("--threads").arg(args.threads.to_string());
    command.arg("--device").arg(args.device.name());
    if let Some(fmad) = args.fmad.to_possible_value() {
        command.arg("--fmad").arg(fmad.get_name());
    }
    command.args(args.fast_math.on.then_some("--fast-math"));
    command.args(["--tensor-cores", args.tensor_cores.choice().name()]);
    if let Some(store) = args.store.and_then(|store| store.to_possible_value()) {
        command.arg("--store").arg(store.get_name());
    }
    command.args(args.unchecked.then_some("--unchecked")).args(args.deterministic.then_some("--deterministic"));
    if let Some(look) = args.look.to_possible_value() {
        command.arg("--look").arg(look.get_name());
    }
    args.trial.pass_on(&mut command);
    if let Some(folder) = &args.out_dir {
        command.arg("--out-dir").arg(folder);
    }
    command.args(args.kernel.iter().flat_map(|name| ["--kernel", name]));
    command.args(args.dim.iter().flat_map(|dim| ["--dim", dim]));
    command.args(args.args.iter().flat_map(|text| ["--arg", text]));
    command.args(args.print.iter().flat_map(|text| ["--print", text]));
    command.args(args.png.iter().flat_map(|text| ["--png", text]));
    command.args(args.npy.iter().flat_map(|text| ["--npy", text]));
    command.args(args.gradient.then_some("--gradient")).args(args.convert.then_some("--convert"));
    command.args(args.max_expanded.iter().flat_map(|bytes| ["--max-expanded".to_string(), bytes.to_string()]));
    command.arg("--").args(files);
    command
}

fn from_flags(args: &Args, session: &mut Session) -> Result<Finished> {
    let [path] = args.files.as_slice() else { return Err(fail(Code::E1012, "expected one source file")) };
    let dim = args.dim.as_ref().map(|text| flags::parse_dim("--dim", text)).transpose()?;
    let program = session.program_for(path, args.kernel.as_deref(), args.block_dim.map(u32::from));
    let module = &program.module;
    let launch = match kernel(&program, path, args.kernel.as_deref()) {
        Ok(id) => {
            let function = &module.functions[id];
            let launch = flags::launch(path, function, &module.structs, dim.as_deref(), &args.args)?;
            // Without a word about blocks, those of a kernel with tiles have one thread, which is
            // what `--dim` counts then.
            let own = function.block_threads.map_or(1, |block_threads| block_threads.threads);
            let otherwise = if function.by_block { own } else { Job::BLOCK_DIM };
            Launch { block_dim: args.block_dim.map_or(otherwise, u32::from), ..launch }
        }
        Err(errors) => {
            let finished = Finished { errors, program: Some(program.clone()), ..Finished::default() };
            return Ok(finished);
        }
    };
    Ok(session.run(&launch, "command line"))
}

/// Shows what came of a launch.
fn conclude(finished: &Finished, views: &[View]) -> Result<Exit> {
    let write = |bytes: &[u8]| output::out(bytes).map_err(Box::new);
    write(finished.printed.as_bytes())?;
    let empty = SourceMap::default();
    let sources = finished.program.as_ref().map_or(&empty, |p| &p.sources);
    finished.findings.iter().chain(&finished.errors).for_each(|finding| report(finding, sources));
    if let (Some(arguments), Some(program)) = (&finished.arguments, &finished.program) {
        let structs = &program.module.structs;
        for view in views {
            let name = view.name();
            let Some(named) = arguments.named(name) else {
                let parameter = arguments.parameters.iter().find(|p| name.strip_suffix(".grad") == Some(&p.key));
                if let (View::Table { .. }, Some(text)) = (view, parameter.and_then(show::parameter)) {
                    write(text.as_bytes())?;
                    continue;
                }
                let message =
                    format!("{} has no array `{name}`; its arrays are: {}", finished.id, arguments.names().join(", "));
                let mut error = fail(Code::E1012, message);
                error.help = name.ends_with(".grad").then(|| "`--gradient` computes gradients".to_string());
                return Err(error);
            };
            match view {
                View::Table { rows, .. } => {
                    write(show::table(arguments, name, named, structs, *rows).as_bytes())?;
                }
                View::Picture { size, file, .. } => {
                    picture::write(arguments, name, named, structs, *size, file)?;
                    write(format!("wrote {}\n", file.display()).as_bytes())?;
                }
                View::Npy { file, .. } => {
                    results::array(arguments, name, named, structs, file)?;
                    write(format!("wrote {}\n", file.display()).as_bytes())?;
                }
            }
        }
    }
    if finished.errors.is_empty() {
        let of = match finished.gradient_of.as_slice() {
            [] => String::new(),
            arrays => format!(", gradient of the sum of {}", arrays.join(" and ")),
        };
        let allowed = match finished.allowed {
            0 => String::new(),
            1 => ", 1 finding allowed".to_string(),
            count => format!(", {count} findings allowed"),
        };
        let looked = finished.looked_at.filter(|looked| looked.is_partial());
        let looked = looked.map_or(String::new(), |looked| format!(", {looked}"));
        write(format!("{}: ok, {:.6} s{of}{allowed}{looked}\n", finished.id, finished.seconds).as_bytes())?;
        return Ok(Exit::Ok);
    }
    Ok(Exit::Errors.max(Exit::after(&finished.errors)))
}

fn views(args: &Args) -> Result<Vec<View>> {
    let mut views = Vec::new();
    for text in &args.print {
        let (name, rows) = match text.split_once(':') {
            None => (text.as_str(), show::ROWS),
            Some((name, rows)) => match rows.parse() {
                Ok(rows) => (name, rows),
                Err(_) => return Err(fail(Code::E1012, format!("--print {text}: expected NAME or NAME:ROWS"))),
            },
        };
        views.push(View::Table { name: name.to_string(), rows });
    }
    for text in &args.png {
        let (name, file) = flags::split_assignment("--png", text)?;
        let (name, size) = match name.split_once(':') {
            None => (name, None),
            Some((name, size)) => match flags::parse_dim("--png", size)?.as_slice() {
                &[width, height] => (name, Some((width, height))),
                _ => return Err(fail(Code::E1012, format!("--png {text}: expected NAME:WIDTHxHEIGHT=FILE"))),
            },
        };
        views.push(View::Picture { name: name.to_string(), size, file: PathBuf::from(file) });
    }
    for text in &args.npy {
        let (name, file) = flags::split_assignment("--npy", text)?;
        views.push(View::Npy { name: name.to_string(), file: PathBuf::from(file) });
    }
    Ok(views)
}

pub(super) fn report(error: &Diagnostic, sources: &SourceMap) {
    output::err(&render(error, sources, Format::Full, output::style()));
}

/// The front half of the compiler, from a file to IR.
pub(super) fn compile(wanted: &Wanted, with: With) -> Program {
    compile_from(&Arc::default(), wanted, with)
}

/// What else is wanted of a program.
#[derive(Clone, Copy, Default)]
pub(super) struct With {
    pub store: Option<driver::Store>,
    /// Gradients of what kernels are given by value too.
    pub parameters: bool,
    /// GPU code takes the hardware's approximations.
    pub fast_math: bool,
}

/// The same, with the texts of some files given.
pub(super) fn compile_from(files: &Arc<driver::Overlaid>, wanted: &Wanted, with: With) -> Program {
    compile_by(&driver::Compiler::new(), files, wanted, with)
}

/// The same, by a compiler that may have been used before.
pub(super) fn compile_by(
    compiler: &driver::Compiler,
    files: &Arc<driver::Overlaid>,
    wanted: &Wanted,
    with: With,
) -> Program {
    let request = driver::Request {
        kernels: wanted.gradient_of.as_ref().or(wanted.kernel.as_ref()).into_iter().cloned().collect(),
        gradients: driver::Gradients {
            backward: wanted.gradient_of.is_some(),
            store: with.store,
            parameters: with.parameters,
            ..driver::Gradients::default()
        },
        same_arrays: wanted.same_arrays.clone(),
        block_threads: wanted.block_threads,
        checked: wanted.checked,
        fast_math: with.fast_math,
        nudged: wanted.nudged,
        ..driver::Request::default()
    };
    let compilation = compiler.load_from(&wanted.source, files.clone(), &request);
    Program {
        module: compilation.module,
        sources: compilation.sources,
        diagnostics: compilation.diagnostics.into_sorted(),
    }
}
