//! In what order is a launch done? Read, compile, bind, run, write; one launch's failure is its
//! own. Several launches in one file: [`steps`].

mod steps;

use crate::run::messages;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use super::allowed::is_allowed;
use super::args::Arguments;
use super::launch::{self, AnyLaunch, Direction, Launch};
use super::{Result, fail, foreign};
use crate::abi::LaunchBounds;
use crate::analysis::order;
use crate::analysis::written::written;
use crate::codegen::llvm::{Cpu, TensorCores};
use crate::diag::{CHECKED_IN_GRADIENT_RUNS, Code, Diagnostic, Level, counted};
use crate::ir::{BlockThreads, FuncId, Function, FunctionKind, Module, Nudged};
use crate::passes::same_arrays::SameArrays;
use crate::run::devices::{Device, Entry, How, Job, Report, Trial};
use crate::run::engine_checks::EngineChecks;
use crate::run::files::output;
use crate::run::gradients::seed::seed;
use crate::run::gradients::{beside, gradient};
use crate::run::program::{Compile, Program, Wanted, compiled_for, kernel};
use crate::run::race_check::{Looked, Threads};
use crate::run::run_errors::{describe_note, describe_trap};
use crate::sim::Measured;
use crate::source::Span;

/// How launches are run.
#[derive(Clone, Debug)]
pub struct Options {
    pub device: &'static dyn Device,
    /// Test every array index.
    pub checked: bool,
    /// A GPU may fuse a * b + c into one rounding.
    pub fmad: bool,
    /// Which products of tiles a GPU's instructions for matrices do.
    pub tensor_cores: TensorCores,
    /// Worker threads on the host; 0: one per core.
    pub threads: usize,
    /// Results are the same on any number of cores: where the order of atomic updates shows, one
    /// worker runs the launch.
    pub deterministic: bool,
    pub trial: Trial,
    /// Where results go; None: nowhere.
    pub out_dir: Option<PathBuf>,
    /// Write each array as `NAME.npy` too.
    pub npy: bool,
    /// Run gradients: where a launch states no gradient, that of the sum of what its kernel writes.
    pub gradient: bool,
    /// Convert numbers of other types in files.
    pub convert: bool,
    /// How many bytes a compressed file may hold; None: as the environment says.
    pub max_expanded: Option<u64>,
    /// Of the runs of a step of a launch program, only the first and the last are looked at for
    /// races.
    pub sample: bool,
}

impl Options {
    /// Checked runs on all cores that write nothing.
    pub fn of(device: &'static dyn Device) -> Options {
        Options {
            device,
            checked: true,
            fmad: false,
            tensor_cores: TensorCores::Off,
            threads: 0,
            deterministic: false,
            trial: Trial::PLAIN,
            out_dir: None,
            npy: false,
            gradient: false,
            convert: false,
            max_expanded: None,
            sample: false,
        }
    }
}

/// How one launch ended.
#[derive(Default)]
pub struct Finished {
    pub id: String,
    /// Empty if the launch ran without error. The first one counts.
    pub errors: Vec<Diagnostic>,
    /// What the compiler says that the run takes for granted.
    pub findings: Vec<Diagnostic>,
    /// How many findings the source allows, which are not among them.
    pub allowed: usize,
    /// How many threads were looked at for races; None: the kernel proves that their order can't
    /// show, or nobody looked.
    pub looked_at: Option<LookedAt>,
    /// What the kernel printed.
    pub printed: String,
    /// The arrays whose sum the gradient is of, where the launch does not state it.
    pub gradient_of: Vec<String>,
    /// What each entry that ran cost, if it was counted, in their order.
    pub counted: Vec<Measured>,
    /// Of the launch alone.
    pub seconds: f64,
    /// For messages and for the types of the arrays; None if the launch did not get so far.
    pub program: Option<Rc<Program>>,
    /// The arrays after the run; None if it did not run.
    pub arguments: Option<Arguments>,
}

/// The threads whose accesses were compared, of those of launches that do not prove that the order
/// of threads can't show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookedAt {
    pub threads: u64,
    pub of: u64,
}

impl LookedAt {
    pub fn is_partial(self) -> bool {
        self.threads < self.of
    }

    /// Together with that of another launch.
    fn and(self, other: Option<LookedAt>) -> LookedAt {
        let other = other.unwrap_or(LookedAt { threads: 0, of: 0 });
        LookedAt { threads: self.threads.saturating_add(other.threads), of: self.of.saturating_add(other.of) }
    }
}

/// `looked at 8,325 of 200,000 threads`
impl std::fmt::Display for LookedAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let grouped = |number: u64| {
            let digits = number.to_string();
            let groups: Vec<&str> =
                digits.as_bytes().rchunks(3).rev().map(|g| str::from_utf8(g).unwrap_or("")).collect();
            groups.join(",")
        };
        write!(f, "looked at {} of {} threads for races", grouped(self.threads), grouped(self.of))
    }
}

/// Whether a launch is looked at for threads that meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    Yes,
    /// Others of the same step are; what it leaves open is only counted.
    Sampled,
    No,
}

/// A kernel that is to run.
struct Ready<'a> {
    launch: &'a Launch,
    /// Names the launch in messages.
    origin: &'a str,
    wanted: Wanted,
    program: Rc<Program>,
    id: FuncId,
    look: Look,
}

/// The runs of a launch's entries, and what they took.
struct Runs<'a> {
    wanted: &'a Wanted,
    program: &'a Program,
    bounds: LaunchBounds,
    block_dim: u32,
    /// All that the arrays lie in.
    memory: Vec<(u64, u64)>,
    seconds: f64,
    counted: Vec<Measured>,
}

/// More compiled sources than this are not kept.
const KEPT_PROGRAMS: usize = 32;

/// Runs launches one after the other and keeps what they share.
pub struct Session<'a> {
    pub options: Options,
    compile: &'a mut Compile<'a>,
    programs: HashMap<Wanted, Rc<Program>>,
    entries: HashMap<(Wanted, FuncId), Rc<Entry>>,
    /// What is known of the threads of kernels that were looked at.
    threads: HashMap<(Wanted, FuncId), Rc<Threads>>,
    /// The results that are already written by this call.
    ids: HashSet<String>,
}

impl<'a> Session<'a> {
    pub fn new(options: Options, compile: &'a mut Compile<'a>) -> Self {
        Session {
            options,
            compile,
            programs: HashMap::new(),
            entries: HashMap::new(),
            threads: HashMap::new(),
            ids: HashSet::new(),
        }
    }

    /// Runs the launch file at `path` and writes its results.
    pub fn run_file(&mut self, path: &Path) -> Finished {
        let origin = path.display().to_string();
        match launch::read_any(path) {
            Ok(AnyLaunch::One(launch)) => self.run(&launch, &origin),
            Ok(AnyLaunch::Several(program)) => self.run_steps(&program, &origin),
            Err(error) => {
                let mut finished = Finished::failed(launch::default_id(path), *error);
                self.write(&mut finished);
                finished
            }
        }
    }

    /// Runs a launch and writes its results; `origin` names it in messages.
    pub fn run(&mut self, launch: &Launch, origin: &str) -> Finished {
        let mut finished = Finished { id: launch.id.clone(), ..Finished::default() };
        if let Err(error) = self.attempt(launch, origin, &mut finished) {
            finished.errors.push(*error);
        }
        self.write(&mut finished);
        finished
    }

    /// Reports why a launch could not be finished as its result. `kernel`: the one that was asked
    /// for, if it is a source file.
    pub fn abandon(&mut self, path: &Path, kernel: Option<String>, error: Diagnostic) -> Finished {
        let by_file =
            || launch::read_any(path).map_or_else(|_| launch::default_id(path), |launch| launch.id().to_string());
        let id = kernel.unwrap_or_else(by_file);
        // What was cached may be half-made.
        self.programs.clear();
        self.entries.clear();
        self.threads.clear();
        self.ids.remove(&id);
        let mut finished = Finished::failed(id, error);
        self.write(&mut finished);
        finished
    }

    /// The forward entries of the source at `path`.
    pub fn program(&mut self, path: &Path) -> Rc<Program> {
        self.compiled(&Wanted::of(path, self.options.checked))
    }

    /// The same, for launches in blocks of so many threads, if a kernel needs to know that to
    /// compile.
    pub fn program_for(&mut self, path: &Path, name: Option<&str>, block_dim: Option<u32>) -> Rc<Program> {
        let program = self.program(path);
        let Some(threads) = block_dim.filter(|&threads| threads > 1 && kernel(&program, path, name).is_err()) else {
            return program;
        };
        // What does not compile for them either has its errors for them.
        let block_threads = Some(BlockThreads { threads, counted: false, last: None });
        self.compiled(&Wanted { block_threads, ..Wanted::of(path, self.options.checked) })
    }

    fn compiled(&mut self, wanted: &Wanted) -> Rc<Program> {
        if let Some(program) = self.programs.get(wanted) {
            return program.clone();
        }
        if self.programs.len() >= KEPT_PROGRAMS {
            self.programs.clear();
            self.entries.clear();
            self.threads.clear();
        }
        let program = Rc::new((self.compile)(wanted));
        self.programs.insert(wanted.clone(), program.clone());
        program
    }

    fn attempt(&mut self, launch: &Launch, origin: &str, finished: &mut Finished) -> Result<()> {
        let mut launch = Cow::Borrowed(launch);
        if self.options.convert {
            launch.to_mut().convert_files();
        }
        if self.options.max_expanded.is_some() {
            launch.to_mut().max_expanded = self.options.max_expanded;
        }
        if self.options.gradient {
            launch.to_mut().direction = Direction::Gradient;
        }
        if let Some(grid) = &launch.grid {
            return foreign::run(&self.options, &launch, grid, origin, finished);
        }
        let Some((wanted, program, id)) = self.prepare(&launch, finished)? else { return Ok(()) };
        if self.options.gradient {
            let module = &program.module;
            let written = written(module, id);
            finished.gradient_of = seed(launch.to_mut(), &module.functions[id], &module.structs, &written);
        }
        let (function, structs) = (&program.module.functions[id], &program.module.structs);
        let mut arguments = Arguments::bind(&launch, origin, function, structs)?;
        let look = if self.options.checked { Look::Yes } else { Look::No };
        let ready = Ready { launch: &launch, origin, wanted, program, id, look };
        let ended = self.execute(ready, &mut arguments, finished);
        self.claim_no_check(finished);
        ended?;
        finished.arguments = Some(arguments);
        Ok(())
    }

    /// The kernel of a launch, compiled for its direction. None: the errors of the source are the
    /// reason, and reported.
    fn prepare(&mut self, launch: &Launch, finished: &mut Finished) -> Result<Option<(Wanted, Rc<Program>, FuncId)>> {
        let mut wanted = Wanted::of(&launch.source, self.options.checked);
        let mut program = compiled_for(&mut wanted, launch, &mut |wanted| self.compiled(wanted));
        if launch.direction != Direction::Forward
            && let Ok(id) = kernel(&program, &launch.source, launch.kernel.as_deref())
        {
            wanted.gradient_of = Some(program.module.functions[id].source_name.clone());
            program = self.compiled(&wanted);
        }
        finished.program = Some(program.clone());
        Ok(named(&program, launch, finished)?.map(|id| (wanted, program, id)))
    }

    /// Runs a kernel on arguments that are in memory.
    fn execute(&mut self, ready: Ready, arguments: &mut Arguments, finished: &mut Finished) -> Result<()> {
        let Ready { launch, origin, mut wanted, mut program, mut id, look } = ready;
        let dim = launch.dim_by_block(&program.module.functions[id]).map_err(|mut error| {
            error.message.insert_str(0, &format!("{origin}: "));
            error
        })?;
        let Some(bounds) = LaunchBounds::new(&dim) else {
            let message = format!("{origin}: the product of dim {:?} is more than 2^63 threads", launch.dim);
            return Err(fail(Code::E1006, message));
        };
        let (function, structs) = (&program.module.functions[id], &program.module.structs);
        let same =
            arguments.same_arrays(function, structs, launch.direction != Direction::Forward).map_err(|mut error| {
                error.message.insert_str(0, &format!("{origin}: "));
                error
            })?;
        if !same.is_empty() {
            wanted.same_arrays = Some(SameArrays { kernel: function.source_name.clone(), pairs: same });
            program = self.compiled(&wanted);
            finished.program = Some(program.clone());
            match named(&program, launch, finished)? {
                Some(same) => id = same,
                None => return Ok(()),
            }
        }
        let module = &program.module;
        let function = &module.functions[id];
        finished.findings = findings(&program, id, launch.direction);
        if launch.direction != Direction::Forward {
            counts_once(function, &dim).map_err(|mut error| {
                error.message.insert_str(0, &format!("{origin}: "));
                error
            })?;
        }
        // SAFETY: the arguments were bound for this kernel.
        unsafe { EngineChecks::of(module, id).check_ids(arguments.block()) }?;
        if look != Look::No {
            let only_proves = look == Look::Sampled;
            let looked = Looked { program: &program, direction: launch.direction, bounds: &bounds, only_proves };
            let threads = self.threads.entry((wanted.clone(), id)).or_insert_with(|| Rc::new(Threads::of(module, id)));
            match threads.check(&looked, arguments) {
                Ok(threads) => {
                    finished.looked_at = threads.map(|threads| LookedAt { threads, of: bounds.size });
                }
                // It tells where in the machine's code that is.
                Err(error) if self.options.device.finds_races() => finished.errors.push(*error),
                Err(error) => return Err(error),
            }
        }
        let looks_beside = launch.direction != Direction::Forward && self.options.checked;
        let before = (looks_beside && beside::may_visit(module, id)).then(|| beside::start(arguments)).flatten();
        let mut runs = Runs {
            wanted: &wanted,
            program: &program,
            bounds,
            block_dim: launch.block_dim,
            memory: arguments.memory(),
            seconds: 0.0,
            counted: Vec::new(),
        };
        let mut run = |entry: FuncId, args, more: &[(u64, u64)]| self.run_entry(&mut runs, entry, args, more);
        let report = match launch.direction {
            Direction::Forward => run(id, arguments.block(), &[])?,
            Direction::Backward => gradient::backward(&program, id, arguments, bounds.size, &mut run)?,
            Direction::Gradient => gradient::gradient(&program, id, arguments, bounds.size, &mut run)?,
        };
        (finished.seconds, finished.counted) = (runs.seconds, runs.counted);
        finished.printed = String::from_utf8_lossy(&report.printed.bytes).into_owned();
        finished.take(report.findings, Some(function.span));
        if let Some(note) = &report.note {
            let FunctionKind::Kernel { rank } = function.kind else {
                return Err(fail(Code::E0999, "a launched function is no kernel"));
            };
            finished.findings.push(describe_note(note, &bounds, dim.len().max(rank.into())));
        }
        if let Some(trap) = report.trap {
            let FunctionKind::Kernel { rank } = function.kind else {
                return Err(fail(Code::E0999, "a launched function is no kernel"));
            };
            let dims = dim.len().max(rank.into());
            finished.errors.push(describe_trap(&trap, &bounds, dims));
        } else if let (Some(before), Some(place), None) = (before, report.visited, &report.note) {
            let mut again = |how, arguments: &mut Arguments| self.again(launch, &wanted, how, &bounds, arguments);
            finished.findings.extend(beside::note(arguments, &before, &program.module.structs, place, &mut again)?);
        }
        Ok(())
    }

    /// Runs the gradient of a launch by a program that computes beside the points without a
    /// derivative, where it compiles.
    fn again(
        &mut self,
        launch: &Launch,
        wanted: &Wanted,
        how: Nudged,
        bounds: &LaunchBounds,
        arguments: &mut Arguments,
    ) -> Result<bool> {
        let wanted = Wanted { nudged: Some(how), ..wanted.clone() };
        let program = self.compiled(&wanted);
        let Ok(id) = kernel(&program, &launch.source, launch.kernel.as_deref()) else { return Ok(false) };
        let mut runs = Runs {
            wanted: &wanted,
            program: &program,
            bounds: *bounds,
            block_dim: launch.block_dim,
            memory: arguments.memory(),
            seconds: 0.0,
            counted: Vec::new(),
        };
        let mut run = |entry: FuncId, args, more: &[(u64, u64)]| self.run_entry(&mut runs, entry, args, more);
        match launch.direction {
            Direction::Backward => gradient::backward(&program, id, arguments, bounds.size, &mut run)?,
            _ => gradient::gradient(&program, id, arguments, bounds.size, &mut run)?,
        };
        Ok(true)
    }

    /// Says of findings that promise a check of this run what became of it, where that was not all.
    fn claim_no_check(&self, finished: &mut Finished) {
        let instead = match finished.looked_at {
            _ if !self.options.checked => "this run does not check it".to_string(),
            Some(looked) if looked.is_partial() => format!("this run checks it in part: {looked}"),
            _ => return,
        };
        let notes = finished.findings.iter_mut().flat_map(|finding| &mut finding.notes);
        notes.filter(|note| *note == CHECKED_IN_GRADIENT_RUNS).for_each(|note| note.clone_from(&instead));
    }

    /// Runs one entry on memory that outlives the run.
    fn run_entry(
        &mut self,
        runs: &mut Runs,
        entry: FuncId,
        args: *const std::ffi::c_void,
        more: &[(u64, u64)],
    ) -> Result<Report> {
        let Runs { wanted, program, bounds, block_dim, memory, seconds, counted } = runs;
        let Program { module, sources, .. } = *program;
        let Options { device, deterministic, threads, .. } = self.options;
        let in_order = deterministic && order::order_shows(module, entry);
        if in_order && !device.can_keep_order(module, entry) {
            let name = &module.functions[entry].source_name;
            let error = messages::no_order_to_keep(name, device.name());
            return Err(Box::new(error.help("run it on the host, or leave `--deterministic` out")));
        }
        let threads = if in_order { 1 } else { threads };
        let entry = self.entry(wanted, module, entry);
        let executable = entry.ready(module, bounds, threads)?;
        let memory = [memory.as_slice(), more].concat();
        let start = Instant::now();
        // SAFETY: `args` was made for this entry; its arrays live in the launch's arguments, which
        // outlive the run.
        let mut report = unsafe {
            let job = Job { block_dim: *block_dim, memory: &memory, ..Job::new(*bounds, args, threads) };
            entry.run(executable, module, sources, &job)
        }?;
        *seconds += report.seconds.unwrap_or_else(|| start.elapsed().as_secs_f64());
        counted.append(&mut report.counted);
        Ok(report)
    }

    /// An entry, which is compiled once for each form that a launch of it needs.
    fn entry(&mut self, wanted: &Wanted, module: &Module, entry: FuncId) -> Rc<Entry> {
        let Options { device, checked, fmad, tensor_cores, trial, deterministic, .. } = self.options;
        let in_order = deterministic && order::order_shows(module, entry);
        let how = How { checked, fmad, tensor_cores, alone: false, in_order, cpu: Cpu::Native, trial, objects: None };
        let new = || Rc::new(Entry::new(module, entry, device, how));
        self.entries.entry((wanted.clone(), entry)).or_insert_with(new).clone()
    }

    fn write(&mut self, finished: &mut Finished) {
        let Some(folder) = self.options.out_dir.clone() else { return };
        if !self.ids.insert(finished.id.clone()) {
            finished.errors.insert(0, messages::written_twice(&finished.id));
            return;
        }
        if let Err(error) = self.write_files(&folder, finished) {
            finished.errors.push(*error);
        }
        // The status comes last: where it is, the arrays stand too.
        let first = finished.errors.first();
        let message = first.map(|e| finished.message(e));
        let others = finished.errors.iter().skip(1);
        let found = finished.findings.iter().chain(others).map(|finding| {
            let at = finding.span().zip(finished.program.as_ref()).map(|(span, program)| {
                let at = program.sources.file(span.file).line_column(span.start);
                (at.line, at.column)
            });
            let (line, column) = at.unzip();
            output::Finding { code: finding.code.name(), message: &finding.message, line, column }
        });
        let status = output::Status {
            id: &finished.id,
            status: if first.is_none() { "ok" } else { "error" },
            code: first.map(|e| e.code.name()),
            message: message.as_deref(),
            findings: found.collect(),
            findings_allowed: finished.allowed,
            threads_looked_at: finished.looked_at.map(|looked| looked.threads),
            threads_to_look_at: finished.looked_at.map(|looked| looked.of),
            printed: &finished.printed,
            seconds: finished.seconds,
            parameter_gradients: finished.arguments.as_ref().map(output::parameter_gradients).unwrap_or_default(),
        };
        if let Err(error) = output::write_status(&folder, &status) {
            finished.errors.push(*error);
        }
    }

    fn write_files(&self, folder: &Path, finished: &Finished) -> Result<()> {
        output::make_folder(folder)?;
        let Some(arguments) = &finished.arguments else { return Ok(()) };
        let Some(program) = &finished.program else { return Ok(()) };
        let structs = &program.module.structs;
        output::write_npz(folder, &finished.id, arguments, structs)?;
        if self.options.npy {
            output::write_npy(folder, arguments, structs)?;
        }
        Ok(())
    }
}

impl Finished {
    /// Takes over what a device found in this kernel, less what the source allows.
    pub fn take(&mut self, mut found: Vec<Diagnostic>, kernel: Option<Span>) {
        if let Some(program) = &self.program {
            let before = found.len();
            found.retain(|finding| !is_allowed(&program.sources, kernel, finding));
            self.allowed += before - found.len();
        }
        let (errors, findings): (Vec<_>, Vec<_>) = found.into_iter().partition(|f| f.level == Level::Error);
        self.errors.extend(errors);
        self.findings.extend(findings);
    }

    /// A launch that could not even be read.
    pub fn failed(id: String, error: Diagnostic) -> Finished {
        Finished { id, errors: vec![error], ..Finished::default() }
    }

    /// The message of a finding with its places: `... (kernel.py:12:5)`.
    pub fn message(&self, error: &Diagnostic) -> String {
        let Some(program) = &self.program else { return error.message.clone() };
        let place = |span: Span| {
            let file = program.sources.file(span.file);
            let at = file.line_column(span.start);
            let name = file.path.file_name().unwrap_or(file.path.as_os_str()).to_string_lossy();
            format!("{name}:{}:{}", at.line, at.column)
        };
        let places: Vec<String> = error.labels.iter().map(|label| place(label.span)).collect();
        if places.is_empty() { error.message.clone() } else { format!("{} ({})", error.message, places.join(", ")) }
    }
}

/// The kernel of a launch; None: the errors of the source are the reason.
fn named(program: &Program, launch: &Launch, finished: &mut Finished) -> Result<Option<FuncId>> {
    kernel(program, &launch.source, launch.kernel.as_deref()).map(Some).or_else(|mut errors| {
        let last = errors.pop();
        finished.errors = errors;
        last.map_or(Ok(None), |error| Err(Box::new(error)))
    })
}

/// What the compiler says that a run of this kernel takes for granted: threads that meet, and of
/// gradients all assumptions.
pub fn findings(program: &Program, kernel: FuncId, direction: Direction) -> Vec<Diagnostic> {
    let module = &program.module;
    let spans: Vec<Span> = module.reached_from(kernel).into_iter().map(|id| module.functions[id].span).collect();
    let inside = |span: Span| spans.iter().any(|f| f.file == span.file && f.start <= span.start && span.end <= f.end);
    let counts = |code: Code| {
        matches!(code, Code::W0701 | Code::W0702) || direction != Direction::Forward && code.name().starts_with("W06")
    };
    let all = program.diagnostics.iter();
    all.filter(|d| d.level == Level::Warning && counts(d.code) && d.span().is_some_and(inside)).cloned().collect()
}

/// Fails where a gradient launch has dimensions that the kernel has no coordinates for.
pub fn counts_once(kernel: &Function, dim: &[u32]) -> Result<()> {
    let FunctionKind::Kernel { rank } = kernel.kind else { return Ok(()) };
    if dim.iter().skip(rank.into()).all(|&n| n <= 1) {
        return Ok(());
    }
    let message = format!(
        "kernel `{}` has {} and this launch {}: each thread would count several times in its gradient",
        kernel.source_name,
        counted(rank.into(), "coordinate"),
        counted(dim.len(), "dimension")
    );
    Err(fail(Code::E1103, message))
}
