//! Does a program give the same bits wherever it runs? The interpreter is compared with host code
//! of several kinds, with PTX on the simulator, and with CUDA text as C++ and through NVRTC. Which
//! NaN it is stays open.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use kc::abi::{HostStatus, LaunchBounds};
use kc::codegen::cuda::{CudaOptions, Texts, emit};
use kc::codegen::llvm::{
    Arch, ArrayLayout, Atomics, Checks, Cpu, Grid, HostModule, HostOptions, Opt, Prints, PtxOptions, TensorCores,
};
use kc::diag::{Code, Diagnostic, Level};
use kc::driver::{Compiler, Request};
use kc::ir::interp::{Outcome, run_kernel};
use kc::ir::{BlockThreads, FuncId, Module};
use kc::run::Fail;
use kc::run::devices::sim::Kernel;
use kc::run::devices::{self, Executable as _, How, Job, Trial};
use kc::types::Type;

use crate::arguments::{Arguments, Memory};
use crate::common::compile_cuda;
use crate::cpp;
use crate::numbers::{number, ordinary};
use crate::random::Random;
use crate::tree::{Program, file};

/// A way to run a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// As `kc run` does: checked, all optimisations, block_threads where they pay.
    Host,
    /// Without checks, for one worker alone.
    Unchecked,
    Lean,
    /// Without optimisation, for any processor: no block_threads.
    Plain,
    Sim,
    SimLean,
    /// CUDA text as C++; programs that are exact.
    Cuda,
    /// The same text as NVRTC compiles it in a process of its own, which NVRTC 13.0 ends with one
    /// program in some thousands; on the simulator.
    Nvrtc,
    /// A real one, through its driver. Only a run that names it takes this way.
    Gpu,
}

/// Processor time of this thread in microseconds, and of the compilers that it waited for.
fn spent() -> u64 {
    let seconds = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock writes to a place of ours.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
    };
    seconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What took how long, in microseconds: the front end with the interpreter, then each way.
pub static TIMES: [AtomicU64; 10] = [const { AtomicU64::new(0) }; 10];

fn timed<T>(slot: usize, work: impl FnOnce() -> T) -> T {
    let before = spent();
    let made = work();
    TIMES[slot].fetch_add(spent() - before, Ordering::Relaxed);
    made
}

impl Way {
    pub const ALL: [Way; 9] =
        [Way::Host, Way::Unchecked, Way::Lean, Way::Plain, Way::Sim, Way::SimLean, Way::Cuda, Way::Nvrtc, Way::Gpu];

    /// Those that any machine has.
    pub fn usual() -> Vec<Way> {
        Way::ALL.into_iter().filter(|&way| way != Way::Gpu).collect()
    }

    /// As a variable of the environment has it.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn host(self) -> Option<HostOptions> {
        let (checked, opt, cpu, atomics) = match self {
            Way::Host => (true, Opt::Full, Cpu::Native, Atomics::Shared),
            Way::Unchecked => (false, Opt::Full, Cpu::Native, Atomics::Plain),
            Way::Lean => (true, Opt::Lean, Cpu::Native, Atomics::Called),
            Way::Plain => (false, Opt::None, Cpu::V1, Atomics::Shared),
            Way::Sim | Way::SimLean | Way::Cuda | Way::Nvrtc | Way::Gpu => return None,
        };
        Some(HostOptions { checked, opt, cpu, atomics })
    }
}

#[derive(Clone, Debug)]
pub enum Verdict {
    /// In so many ways.
    Same(usize),
    /// The compiler says no: its code and message.
    Refused(String),
    /// It runs for too long to be compared.
    Endless,
    Wrong(Option<Way>, String),
}

/// Instructions of the interpreter for one program at most.
const STEPS: u64 = 20_000_000;

/// One verdict for each program, which are compiled as one file.
pub fn check(programs: &[&Program], ways: &[Way]) -> Vec<Verdict> {
    let all = catch_unwind(AssertUnwindSafe(|| check_file(programs, ways)));
    match all {
        Ok(Some(verdicts)) => verdicts,
        // Someone in it does not compile: each alone tells who.
        Ok(None) | Err(_) if programs.len() > 1 => {
            programs.iter().flat_map(|program| check(&[*program], ways)).collect()
        }
        Ok(None) => unreachable!("a file of one program has a verdict"),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            vec![Verdict::Wrong(None, format!("panic: {}", text.unwrap_or_default()))]
        }
    }
}

fn check_file(programs: &[&Program], ways: &[Way]) -> Option<Vec<Verdict>> {
    let mut request = Request::default();
    request.gradients.backward = false;
    // Those of one file are for the same blocks.
    let block_threads = |program: &Program| {
        program.counted.map(|counted| BlockThreads { threads: program.block_dim, counted, last: None })
    };
    if programs.iter().any(|program| block_threads(program) != block_threads(programs[0])) {
        return None;
    }
    request.block_threads = block_threads(programs[0]);
    let compilation = timed(0, || Compiler::new().load_text(Path::new("random.py"), file(programs), &request));
    if let Some(error) = compilation.diagnostics.iter().find(|d| d.level == Level::Error) {
        if programs.len() > 1 {
            return None;
        }
        let text = format!("{} {}", error.code.name(), error.message);
        return Some(vec![if error.code.name() == "E0999" {
            Verdict::Wrong(None, text)
        } else {
            Verdict::Refused(text)
        }]);
    }
    let module = &compilation.module;
    let mut runs: Vec<Run> = timed(0, || programs.iter().map(|program| Run::new(program, module)).collect());
    for &way in ways {
        timed(1 + way as usize, || compare_way(&mut runs, module, way));
    }
    Some(runs.into_iter().map(|run| run.verdict).collect())
}

/// One program of a file.
struct Run<'a> {
    program: &'a Program,
    kernel: FuncId,
    bounds: LaunchBounds,
    /// What the interpreter left.
    expected: Arguments,
    verdict: Verdict,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program, module: &Module) -> Run<'a> {
        let name = program.kernel_name();
        let kernel = module.kernels().find(|(_, f)| f.source_name == name).expect("every program is a kernel").0;
        let bounds = LaunchBounds::new(&program.dims).expect("a small launch");
        let expected = arguments(program, module, kernel);
        let mut outcome = Outcome::new(|_| {});
        outcome.steps = Some(STEPS);
        // SAFETY: the block describes memory that `expected` owns.
        unsafe { run_kernel(module, kernel, &bounds, expected.block.as_ptr().cast(), 0, bounds.size, &mut outcome) };
        let verdict = match (&outcome.trap, outcome.steps) {
            (_, Some(0)) => Verdict::Endless,
            (Some(trap), _) => Verdict::Wrong(None, format!("the interpreter traps: {}", trap.message)),
            _ => Verdict::Same(0),
        };
        let verdict = match wrong_answer(program, module, kernel, &expected) {
            Some(message) if matches!(verdict, Verdict::Same(_)) => Verdict::Wrong(None, message),
            _ => verdict,
        };
        Run { program, kernel, bounds, expected, verdict }
    }

    fn compare(&mut self, way: Way, module: &Module, run: &mut dyn FnMut(&mut Arguments) -> Result<(), String>) {
        let Verdict::Same(count) = self.verdict else { return };
        let mut found = arguments(self.program, module, self.kernel);
        if let Err(message) = run(&mut found) {
            self.verdict = Verdict::Wrong(Some(way), format!("{way:?}: {message}"));
            return;
        }
        self.verdict = Verdict::Same(count + 1);
        let function = &module.functions[self.kernel];
        let arrays = function.params().iter().enumerate().filter(|(_, p)| matches!(function.ty(**p), Type::Array(_)));
        for ((e, f), (n, _)) in self.expected.arrays.iter().zip(&found.arrays).zip(arrays) {
            if let Some(at) = e.first_difference(f) {
                let (place, scalar) = e.scalars[at];
                let bits = |m: &Memory| {
                    let bytes: Vec<u8> = m.words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    let mut bits = [0; 8];
                    let size = scalar.size() as usize;
                    bits[..size].copy_from_slice(&bytes[place..place + size]);
                    kc::ir::Const::new(scalar, u64::from_le_bytes(bits))
                };
                let shown = |c: kc::ir::Const| match c.as_float() {
                    Some(x) => format!("{x:e} ({:#x})", c.bits),
                    None => format!("{:#x}", c.bits),
                };
                let text = format!(
                    "{way:?}: array `{}`, {} number {at}: {}, the interpreter has {}",
                    function.param_name(n),
                    scalar.name(),
                    shown(bits(f)),
                    shown(bits(e))
                );
                self.verdict = Verdict::Wrong(Some(way), text);
                return;
            }
        }
    }
}

/// Where the interpreter left something else than the program must come to.
fn wrong_answer(program: &Program, module: &Module, kernel: FuncId, found: &Arguments) -> Option<String> {
    let answer = program.answer.as_ref()?;
    let function = &module.functions[kernel];
    let mut arrays = function.params().iter().filter(|&&p| matches!(function.ty(p), Type::Array(_)));
    let n = arrays.position(|&p| function.values[p].name.as_deref() == Some("o")).expect("there is an output");
    let numbers: Vec<i32> =
        found.arrays[n].words.iter().flat_map(|word| [*word as i32, (*word >> 32) as i32]).collect();
    let at = answer.iter().zip(&numbers).position(|(wanted, found)| wanted != found);
    if numbers.len() < answer.len() {
        return Some(format!("`o` has {} numbers, not {}", numbers.len(), answer.len()));
    }
    at.map(|at| format!("`o`, number {at}: the interpreter has {}, the program comes to {}", numbers[at], answer[at]))
}

pub fn arguments(program: &Program, module: &Module, kernel: FuncId) -> Arguments {
    let function = &module.functions[kernel];
    let types: Vec<Type> = function.params().iter().map(|&p| function.ty(p)).collect();
    let mut random = Random::new(program.seed ^ 0xA11C_E5ED);
    let numbers = if program.mild { ordinary } else { number };
    Arguments::new(module, &types, program.extents, &mut |scalar| numbers(&mut random, scalar))
}

fn compare_way(runs: &mut [Run], module: &Module, way: Way) {
    let mut alive: Vec<&mut Run> = runs.iter_mut().filter(|run| matches!(run.verdict, Verdict::Same(_))).collect();
    if matches!(way, Way::Cuda | Way::Nvrtc) {
        alive.retain(|run| run.program.exact);
    }
    if alive.is_empty() {
        return;
    }
    let kernels: Vec<FuncId> = alive.iter().map(|run| run.kernel).collect();
    let fail = |mut alive: Vec<&mut Run>, message: String| {
        if let [run] = &mut alive[..] {
            // A block has so much memory.
            let refused = ["E0822", CRASHED].into_iter().find(|why| message.contains(&format!(": {why} ")));
            run.verdict = match refused {
                Some(why) => Verdict::Refused(why.to_string()),
                None => Verdict::Wrong(Some(way), message),
            };
            return;
        }
        // Each alone tells who it is.
        for run in alive {
            compare_way(std::slice::from_mut(run), module, way);
        }
    };
    if let Some(options) = way.host() {
        let host = match HostModule::compile(module, &kernels, &options) {
            Ok(host) => host,
            Err(error) => return fail(alive, format!("{way:?}: {error}")),
        };
        for run in alive {
            let (kernel, bounds) = (run.kernel, run.bounds);
            run.compare(way, module, &mut |arguments| on_host(&host, kernel, &bounds, arguments));
        }
        return;
    }
    if way == Way::Cuda {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let text = match emit(module, &kernels, &CudaOptions::default(), &Texts::new(0)) {
            Ok(text) => text,
            Err(error) => return fail(alive, format!("{way:?}: {} {}", error.code.name(), error.message)),
        };
        let functions: Vec<_> = kernels.iter().map(|&id| &module.functions[id]).collect();
        let library = match cpp::build(&functions, &text, folder.path(), "-O0") {
            Ok(library) => library,
            Err(message) => return fail(alive, format!("{way:?}: {message}")),
        };
        for run in alive {
            let (kernel, bounds) = (run.kernel, run.bounds);
            run.compare(way, module, &mut |arguments| {
                cpp::run(&library, &module.functions[kernel], &bounds, arguments);
                Ok(())
            });
        }
        return;
    }
    if way == Way::Gpu {
        for run in alive {
            let (kernel, bounds, block_dim) = (run.kernel, run.bounds, run.program.block_dim);
            run.compare(way, module, &mut |arguments| on_gpu(module, kernel, &bounds, block_dim, arguments));
        }
        return;
    }
    let opt = if way == Way::SimLean { Opt::Lean } else { Opt::Full };
    let options = PtxOptions {
        arch: Arch::DEFAULT,
        opt,
        fmad: false,
        layout: ArrayLayout::Strided,
        // The threads of CUDA text take tasks in turns.
        grid: if way == Way::Nvrtc { Grid::Any } else { Grid::Covering },
        checks: Checks::None,
        prints: Prints::Driver,
        tensor_cores: TensorCores::Off,
    };
    let loaded = match way {
        Way::Nvrtc => match nvrtc(module, &kernels) {
            Ok(ptx) => Kernel::of_text(module, &kernels, ptx.into(), &options, &Trial::PLAIN),
            Err(message) => return fail(alive, format!("{way:?}: {message}")),
        },
        _ => Kernel::load_all(module, &kernels, &options, &Trial::PLAIN),
    };
    let codes = match loaded {
        Ok(codes) => codes,
        Err(error) => return fail(alive, format!("{way:?}: {} {}", error.code.name(), error.message)),
    };
    for (run, code) in alive.into_iter().zip(codes) {
        let (bounds, block_dim) = (run.bounds, run.program.block_dim);
        run.compare(way, module, &mut |arguments| on_simulator(module, &code, way, (&bounds, block_dim), arguments));
    }
}

/// The PTX that NVRTC makes of CUDA text whose products it may not fuse. A process of its own
/// compiles it.
fn nvrtc(module: &Module, kernels: &[FuncId]) -> Result<String, String> {
    let options = CudaOptions { fmad: false, ..CudaOptions::default() };
    let text = emit(module, kernels, &options, &Texts::new(0));
    let text = text.map_err(|error| format!("{} {}", error.code.name(), error.message))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("text.cu");
    let done = std::fs::write(&file, text).and_then(|()| {
        let mut this = Command::new(std::env::current_exe()?);
        this.args(["--exact", "a_text_for_another_process"]).env(OF_ANOTHER, &file).output()
    });
    let status = done.map_err(|error| error.to_string())?.status;
    if status.code().is_none() {
        return Err(format!("{CRASHED} ({status})"));
    }
    let read = |name: &str| std::fs::read_to_string(file.with_extension(name)).map_err(|error| error.to_string());
    match read("ptx") {
        Ok(ptx) => Ok(ptx),
        Err(_) => Err(read("log").unwrap_or_else(|_| format!("NVRTC's process: {status}"))),
    }
}

/// What is said where NVRTC ends its process.
const CRASHED: &str = "NVRTC ends its process";

/// The file that a process of [`nvrtc`] compiles.
const OF_ANOTHER: &str = "KC_PROGRAMS_NVRTC";

/// Compiles a text for the process that asks for it, if one does.
pub fn compile_for_another() {
    let Some(file) = std::env::var_os(OF_ANOTHER).map(PathBuf::from) else { return };
    let text = std::fs::read_to_string(&file).expect("the text");
    let (name, made) = match compile_cuda(&text, Arch::DEFAULT.name) {
        Ok(ptx) => ("ptx", ptx),
        Err(log) => ("log", log),
    };
    std::fs::write(file.with_extension(name), made).expect("a file for the result");
}

fn on_host(host: &HostModule, kernel: FuncId, bounds: &LaunchBounds, arguments: &mut Arguments) -> Result<(), String> {
    let entry = host.entry(kernel).ok_or("the host code has no such entry")?;
    let mut status = HostStatus {
        kind: HostStatus::OK,
        site: 0,
        dim: 0,
        extent: 0,
        index: 0,
        thread: 0,
        print: None,
        user: std::ptr::null_mut(),
        note: 0,
        visited: 0,
        note_thread: 0,
    };
    // SAFETY: the block describes memory that `arguments` own.
    unsafe { entry(bounds, arguments.block.as_ptr().cast(), 0, bounds.size, &raw mut status) };
    if status.kind == HostStatus::OK { Ok(()) } else { Err(format!("host code reports error {}", status.kind)) }
}

fn on_gpu(
    module: &Module,
    kernel: FuncId,
    bounds: &LaunchBounds,
    block_dim: u32,
    arguments: &mut Arguments,
) -> Result<(), String> {
    let how = How {
        checked: false,
        fmad: false,
        tensor_cores: TensorCores::Off,
        alone: true,
        in_order: false,
        cpu: Cpu::Native,
        trial: Trial::PLAIN,
        objects: None,
    };
    let said = |e: Fail| format!("{} {} {:?}", e.code.name(), e.message, e.notes);
    let code = devices::named("cuda").and_then(|gpu| devices::prepare(gpu, module, kernel, &how)).map_err(said)?;
    let memory = memory_of(arguments);
    let job = Job { block_dim, memory: &memory, ..Job::new(*bounds, arguments.block.as_ptr().cast(), 1) };
    // SAFETY: the block describes memory that `arguments` own.
    unsafe { code.run(module, &job) }.map(|_| ()).map_err(said)
}

/// Address and bytes of each array.
fn memory_of(arguments: &Arguments) -> Vec<(u64, u64)> {
    let piece = |m: &Memory| (m.words.as_ptr().expose_provenance() as u64, m.words.len() as u64 * 8);
    arguments.arrays.iter().map(piece).collect()
}

fn on_simulator(
    module: &Module,
    code: &Kernel,
    way: Way,
    (bounds, block_dim): (&LaunchBounds, u32),
    arguments: &mut Arguments,
) -> Result<(), String> {
    let memory = memory_of(arguments);
    let job = Job { block_dim, memory: &memory, ..Job::new(*bounds, arguments.block.as_ptr().cast(), 1) };
    // What NVRTC copies has bytes between the members of structs, which nobody writes (13004356).
    let counts = |finding: &&Diagnostic| way != Way::Nvrtc || finding.code != Code::E1112;
    // SAFETY: the block describes memory that `arguments` own.
    let report = unsafe { code.run(module, &job) }.map_err(|e| format!("{} {}", e.code.name(), e.message))?;
    match (report.trap, report.findings.iter().find(counts)) {
        (Some(trap), _) => Err(format!("the simulator traps: {:?}", trap.kind)),
        (None, Some(finding)) => Err(format!("{} {}", finding.code.name(), finding.message)),
        (None, None) => Ok(()),
    }
}
