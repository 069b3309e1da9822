//! Gradients and tangents of a kernel: reverse mode for all launches, and forward mode for bindings
//! of other languages, which lay out the arguments themselves.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::arg::Dim;
use super::bind::{self, Bound, Signature};
use super::kernel::{execute, rank, ready, signature};
use super::resident::Residents;
use super::watch::Watch;
use super::{Error, Kernel, Module, Outcome, Warning};
use crate::abi::{LaunchBounds, argument_layout};
use crate::analysis::alias::Root;
use crate::analysis::order;
use crate::analysis::written::{Touched, read, written};
use crate::diag::Diagnostic;
use crate::diag::render::{Format, Style, render};
use crate::ir::{FuncId, Nudged};
use crate::run::Result;
use crate::run::args::Arguments;
use crate::run::devices::engines::Gradients;
use crate::run::devices::{self, Device, Entry, Job, Report};
use crate::run::gradients::{beside, gradient};
use crate::run::launch::Direction;
use crate::run::program::{self, Program};
use crate::run::race_check::{self, Looked, Threads};
use crate::run::run_errors::describe_note;
use crate::run::session;
use crate::source::Span;
use crate::types::{StructTable, Type};

/// What a gradient is asked for.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Form {
    /// Of what is given by value, too.
    pub parameters: bool,
    /// Array parameters (or fields of struct parameters) that are one array in the launch, which
    /// has one gradient.
    pub same: Vec<(Root, Root)>,
    /// Beside the points at which functions of the library have no derivative.
    pub nudged: Option<Nudged>,
}

/// Which of the two runs of a gradient.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The kernel, then its derivative.
    Both,
    /// The derivative, on arrays as the kernel left them.
    Backward,
}

/// The gradient of a number, vector or matrix that was given by value: the sum over all threads.
#[doc(hidden)]
#[derive(Clone, PartialEq, Debug)]
pub struct ParameterGradient {
    /// `s`, or `p.k` inside a struct argument.
    pub name: String,
    /// As NumPy sees it.
    pub shape: Vec<u64>,
    /// Of each of its numbers.
    pub sums: Vec<f64>,
}

/// The kernel with its gradient.
#[doc(hidden)]
pub struct Gradient {
    form: Form,
    pub(super) program: Arc<Program>,
    pub(super) forward: FuncId,
    pub(super) signature: Signature,
    /// What the backward entry reads of what the forward run left.
    reads: Touched,
    /// It needs values that the launch overwrites: an entry that records them runs instead of the
    /// forward one.
    records: bool,
    threads: Threads,
    /// Its backward entry where that takes nothing but the arguments and their gradients.
    pub(super) alone: Option<Alone>,
    pub(super) resident: Residents,
    entries: Mutex<HashMap<FuncId, Arc<Entry>>>,
    /// What its runs take for granted or leave out, until the first of them has told it.
    findings: Mutex<Vec<Diagnostic>>,
    /// Where a run was near-degenerate, and said so.
    told: Mutex<HashSet<Span>>,
    /// Which of its runs may be made again, beside a point without a derivative.
    watch: Watch,
}

/// A backward entry without memory of its own. Most are: their launches lay out nothing but the
/// struct of arguments.
pub(super) struct Alone {
    pub entry: FuncId,
    /// Bytes of its struct of arguments, which begins as that of the kernel.
    pub size: usize,
}

/// What a gradient run was.
pub(super) struct Ran {
    pub bounds: LaunchBounds,
    pub dims: usize,
    pub report: Report,
    parameters: Vec<ParameterGradient>,
    /// How many threads were looked at, if any had to be.
    looked: Option<u64>,
    /// A gradient that a convention decided, with one beside the point.
    beside: Option<Diagnostic>,
}

impl Ran {
    pub fn new(bounds: LaunchBounds, dims: usize, report: Report) -> Ran {
        Ran { bounds, dims, report, parameters: Vec::new(), looked: None, beside: None }
    }

    /// With the gradients of what was given by value.
    pub fn with(mut self, arguments: &Arguments) -> Ran {
        let found = arguments.parameters.iter().filter_map(|parameter| {
            let (name, shape) = (parameter.key.clone(), parameter.shape());
            parameter.gradient.clone().map(|sums| ParameterGradient { name, shape, sums })
        });
        self.parameters = found.collect();
        self
    }
}

/// How far a launch was looked at.
#[doc(hidden)]
pub struct Seen {
    /// False: it follows from extents and integers alone that there is nothing to look at.
    pub any: bool,
    /// Not to its end: what the first look that was not tells.
    pub partly: Option<Warning>,
}

/// A finding as it is handed out.
pub(super) fn shown(found: &Diagnostic, program: &Program) -> Warning {
    let text = render(found, &program.sources, Format::Full, Style::PLAIN).trim_end().to_string();
    Warning { code: found.code.name(), text }
}

/// What a launch that was looked at in part tells, once: `told` keeps where something was told.
pub(super) fn partly(
    program: &Program,
    kernel: FuncId,
    looked: Option<u64>,
    bounds: &LaunchBounds,
    told: &Mutex<HashSet<Span>>,
) -> Option<Diagnostic> {
    let span = program.module.functions[kernel].span;
    let found = race_check::partly(looked, bounds.size, span)?;
    told.lock().unwrap_or_else(PoisonError::into_inner).insert(span).then_some(found)
}

impl Gradient {
    pub(super) fn new(module: &Module, kernel: &str, form: &Form) -> std::result::Result<Gradient, Error> {
        let program = module.with_gradient(kernel, form)?;
        let refused = |reasons| Error::new(reasons, program.clone());
        let forward = program::kernel(&program, module.path(), Some(kernel)).map_err(refused)?;
        let entries = gradient::entries(&program, forward).map_err(|error| refused(vec![*error]))?;
        let mut signature = signature(&program, forward);
        let others = [entries.augmented, entries.backward].into_iter().flatten();
        others.for_each(|entry| signature.add(written(&program.module, entry)));
        let reads = entries.backward.map_or_else(Touched::default, |entry| read(&program.module, entry));
        let threads = Threads::of(&program.module, forward);
        let records = entries.augmented.is_some();
        let alone = entries.backward.filter(|_| !records).and_then(|entry| {
            let ir = &program.module;
            let function = &ir.functions[entry];
            let types: Vec<Type> = function.params().iter().map(|&param| function.ty(param)).collect();
            let size = argument_layout(&types, &ir.structs).1.size as usize;
            function.tape.is_empty().then_some(Alone { entry, size })
        });
        let findings = Mutex::new(session::findings(&program, forward, Direction::Gradient));
        let (entries, told) = (Mutex::default(), Mutex::default());
        let watch = Watch::new(form.nudged.is_none() && beside::may_visit(&program.module, forward));
        let form = form.clone();
        Ok(Gradient {
            form,
            program,
            forward,
            signature,
            reads,
            records,
            threads,
            alone,
            resident: Residents::default(),
            entries,
            findings,
            told,
            watch,
        })
    }

    /// What the runs take.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The structs that the types of [`Gradient::signature`] name.
    pub fn structs(&self) -> &StructTable {
        &self.program.module.structs
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// The kernel in its program.
    pub(super) fn forward(&self) -> FuncId {
        self.forward
    }

    /// Whether it needs values that the launch overwrites. Then there is no [`Part::Backward`].
    pub fn records(&self) -> bool {
        self.records
    }

    /// Whether [`Part::Backward`] takes nothing but the arguments and their gradients, as it must
    /// where the arrays are on a GPU.
    pub fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// Whether [`Part::Backward`] reads the elements of the array at `path`: the parameter, then
    /// fields.
    pub fn reads(&self, path: &[u32]) -> bool {
        self.reads.may_be(path[0], &path[1..])
    }

    /// What came of a run.
    pub(super) fn conclude(
        &self,
        kernel: &Kernel,
        ran: Ran,
    ) -> std::result::Result<(Outcome, Vec<ParameterGradient>), Error> {
        let Ran { bounds, dims, report, parameters, looked, beside } = ran;
        let mut findings = std::mem::take(&mut *self.findings.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(note) = &report.note
            && self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(note.span)
        {
            findings.push(describe_note(note, &bounds, dims.max(rank(&self.program, self.forward))));
        }
        findings.extend(beside);
        findings.extend(partly(&self.program, self.forward, looked, &bounds, &self.told));
        let mut outcome = kernel.conclude(&self.program, self.forward, &bounds, dims, report)?;
        outcome.warnings.extend(findings.iter().map(|found| shown(found, &self.program)));
        Ok((outcome, parameters))
    }

    /// Runs it.
    ///
    /// # Errors
    /// Of [`Kernel::gradient`].
    ///
    /// # Safety
    /// The arguments were laid out for [`Gradient::signature`]. Their arrays are valid memory that
    /// nobody else uses meanwhile, and share none but those of [`Form::same`] and those that are
    /// only read.
    pub(super) unsafe fn run(&self, kernel: &Kernel, dim: &Dim, bound: &Bound, part: Part) -> Result<Ran> {
        let module = &self.program.module;
        let bounds = bind::bounds(dim, &module.functions[self.forward], kernel.block_dim)?;
        session::counts_once(&module.functions[self.forward], &bounds.shape[..dim.extents().len()])?;
        let alone = self.alone.as_ref().filter(|_| part == Part::Backward && bound.overwrites_gradients());
        let watched = self.watch.takes(bound.bytes_of_arrays());
        if let Some(alone) = alone.filter(|_| !watched) {
            // SAFETY: the caller's promise.
            let report = unsafe { self.run_alone(kernel, alone, bounds, bound) }?;
            self.watch.visited(report.visited.is_some());
            return Ok(Ran::new(bounds, dim.extents().len(), report));
        }
        // SAFETY: the caller's promise.
        unsafe { kernel.shared.entry.engines().check_ids(bound.block()) }?;
        // SAFETY: the caller's promise, and `arguments` goes before the run ends.
        let mut arguments =
            unsafe { self.signature.arguments(bound, &module.functions[self.forward], &module.structs) }?;
        let looked = match part {
            Part::Both => {
                let looked = Looked {
                    program: &self.program,
                    direction: Direction::Gradient,
                    bounds: &bounds,
                    only_proves: false,
                };
                self.threads.check(&looked, &mut arguments)?
            }
            Part::Backward => None,
        };
        let before = watched.then(|| beside::start(&arguments)).flatten();
        let report = self.entries_on(kernel, bounds, part, &mut arguments)?;
        let mut found = None;
        if let (Some(place), None, None) = (report.visited, &report.note, &report.trap) {
            self.watch.visited(before.is_none());
            if let Some(before) = &before {
                let mut again = |how, arguments: &mut Arguments| {
                    let Ok(nudged) = kernel.differentiated(Form { nudged: Some(how), ..self.form.clone() }) else {
                        return Ok(false);
                    };
                    nudged.entries_on(kernel, bounds, part, arguments).map(|_| true)
                };
                let forward = &module.functions[self.forward];
                let params: Vec<Type> = forward.params().iter().map(|&param| forward.ty(param)).collect();
                // SAFETY: the block is that of this launch, whose run is over.
                let behind = unsafe { Gradients::of(arguments.block(), &params, &module.structs) };
                let noted = beside::note(&mut arguments, before, &module.structs, place, &mut again);
                // SAFETY: as above.
                unsafe { behind.put_back() };
                found = noted?;
                self.watch.compared(found.is_some());
            }
        }
        if report.trap.is_none() {
            bound.add_gradients(&arguments).map_err(|key| gradient::no_gradient_of(&self.program, &key))?;
        }
        Ok(Ran { looked, beside: found, ..Ran::new(bounds, dim.extents().len(), report).with(&arguments) })
    }

    /// Runs the entries of a gradient on arguments that are laid out.
    fn entries_on(
        &self,
        kernel: &Kernel,
        bounds: LaunchBounds,
        part: Part,
        arguments: &mut Arguments,
    ) -> Result<Report> {
        let memory = arguments.memory();
        let mut run = |id: FuncId, block, more: &[(u64, u64)]| {
            let memory = [&memory, more].concat();
            let job = Job { memory: &memory, ..kernel.job(bounds, block) };
            // SAFETY: `block` was made for this entry; its arrays are the caller's, as promised.
            unsafe { self.code(id, kernel, &job) }
        };
        let order = match part {
            Part::Both => gradient::gradient,
            Part::Backward => gradient::backward,
        };
        order(&self.program, self.forward, arguments, bounds.size, &mut run)
    }

    /// Runs the backward entry as [`gradient::backward`] does where it takes nothing else.
    ///
    /// # Safety
    /// As for [`Gradient::run`].
    unsafe fn run_alone(&self, kernel: &Kernel, alone: &Alone, bounds: LaunchBounds, bound: &Bound) -> Result<Report> {
        let module = &self.program.module;
        let mut block = bound.grown(alone.size);
        let made = bound.complete(&mut block, &module.structs)?;
        let more = made.iter().map(|gradient| (gradient.address(), gradient.bytes().len() as u64));
        let memory: SmallVec<[(u64, u64); 16]> = bound.memory.iter().copied().chain(more).collect();
        let job = Job { memory: &memory, constant: &bound.constant, ..kernel.job(bounds, block.as_ptr().cast()) };
        // SAFETY: the block is that of the entry; the arrays are the caller's, as promised.
        unsafe { self.code(alone.entry, kernel, &job) }
    }

    /// Fails as the run would where the order of two threads shows in the gradient. The arrays are
    /// as before afterwards.
    ///
    /// # Safety
    /// As for [`Gradient::run`].
    unsafe fn look(&self, kernel: &Kernel, dim: &Dim, bound: &Bound) -> Result<Seen> {
        let module = &self.program.module;
        let bounds = bind::bounds(dim, &module.functions[self.forward], kernel.block_dim)?;
        session::counts_once(&module.functions[self.forward], &bounds.shape[..dim.extents().len()])?;
        // SAFETY: as above.
        let mut arguments =
            unsafe { self.signature.arguments(bound, &module.functions[self.forward], &module.structs) }?;
        let looked =
            Looked { program: &self.program, direction: Direction::Gradient, bounds: &bounds, only_proves: false };
        let looked = self.threads.check(&looked, &mut arguments)?;
        let found = partly(&self.program, self.forward, looked, &bounds, &self.told);
        Ok(Seen { any: looked.is_some(), partly: found.map(|found| shown(&found, &self.program)) })
    }

    /// Runs an entry.
    ///
    /// # Safety
    /// As for [`crate::run::devices::Executable::run`].
    unsafe fn code(&self, id: FuncId, kernel: &Kernel, job: &Job) -> Result<Report> {
        let (entry, module) = (self.entry(id, kernel), &self.program.module);
        let code = match entry.compiled(&job.bounds, job.threads) {
            Some(code) => code,
            None => ready(&entry, module, job, &Arc::new((entry.clone(), self.program.clone())))?,
        };
        // SAFETY: the caller's promise.
        unsafe { entry.run(code, module, &self.program.sources, job) }
    }

    /// An entry, made ready when first asked for.
    fn entry(&self, id: FuncId, kernel: &Kernel) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Entry::new(&self.program.module, id, kernel.device(), kernel.shared.module.how()));
        entries.entry(id).or_insert_with(new).clone()
    }
}

/// The kernel with its forward mode: one that takes a tangent `d_x` for each parameter `x`, after
/// them all.
pub(super) struct Tangents {
    pub(super) program: Arc<Program>,
    pub(super) kernel: FuncId,
    signature: Signature,
    /// None: the order of the threads is part of what it computes, and it runs in order.
    threads: Option<Threads>,
    entry: Entry,
    pub(super) resident: Residents,
    /// Where a run was looked at in part, and said so.
    pub(super) told: Mutex<HashSet<Span>>,
}

impl Tangents {
    pub fn new(module: &Module, name: &str, device: &'static dyn Device) -> std::result::Result<Tangents, Error> {
        let (program, kernel) = module.with_tangents(name)?;
        let ir = &program.module;
        let in_order = order::moves_floats(ir, kernel);
        let device = if in_order { devices::named("interp").map_err(|error| Error::plain(*error))? } else { device };
        let entry = Entry::new(ir, kernel, device, module.how());
        let threads = (!in_order).then(|| Threads::of(ir, kernel));
        let signature = signature(&program, kernel).named(name);
        let (resident, told) = (Residents::default(), Mutex::default());
        Ok(Tangents { program, kernel, signature, threads, entry, resident, told })
    }

    /// Whether the order of the threads is part of what it computes.
    pub(super) fn is_in_order(&self) -> bool {
        self.threads.is_none()
    }

    /// Fails where the order of two threads shows; gives how many were looked at, if any had to be.
    ///
    /// # Safety
    /// As for [`Kernel::tangents_bound`].
    pub(super) unsafe fn look(&self, bounds: &LaunchBounds, bound: &Bound) -> Result<Option<u64>> {
        let Some(threads) = &self.threads else { return Ok(None) };
        let module = &self.program.module;
        // SAFETY: the caller's promise, and the arguments go before the run ends.
        let mut arguments =
            unsafe { self.signature.arguments(bound, &module.functions[self.kernel], &module.structs) }?;
        let looked = Looked { program: &self.program, direction: Direction::Forward, bounds, only_proves: false };
        threads.check(&looked, &mut arguments)
    }

    unsafe fn run(&self, kernel: &Kernel, dim: &Dim, bound: &Bound) -> Result<Ran> {
        let module = &self.program.module;
        let bounds = bind::bounds(dim, &module.functions[self.kernel], kernel.block_dim)?;
        // SAFETY: the caller's promise.
        let seen = unsafe { self.look(&bounds, bound) }?;
        let workers = if self.threads.is_some() { kernel.threads } else { 1 };
        let job = Job {
            memory: &bound.memory,
            constant: &bound.constant,
            threads: workers,
            ..kernel.job(bounds, bound.block())
        };
        // SAFETY: the caller's promise.
        let report = unsafe { execute(&self.entry, &self.program, &job, &kernel.shared) }?;
        Ok(Ran { looked: seen, ..Ran::new(bounds, dim.extents().len(), report) })
    }
}

/// For bindings of other languages.
#[doc(hidden)]
impl Kernel {
    /// Its gradient of this form, compiled when it is first asked for.
    ///
    /// # Errors
    /// The kernel has no gradient that would be right.
    pub fn gradient_of(&self, form: Form) -> std::result::Result<Arc<Gradient>, Error> {
        self.differentiated(form)
    }

    /// The same where it is compiled already.
    pub fn known_gradient(&self, form: &Form) -> Option<Arc<Gradient>> {
        self.gradients().get(form).cloned()
    }

    /// [`Kernel::gradient`] for arguments that are laid out.
    ///
    /// # Errors
    /// Those of [`Kernel::gradient`].
    ///
    /// # Safety
    /// The arguments were laid out for the signature of `gradient`, which is of this kernel. Their
    /// arrays are valid memory that nobody else uses meanwhile, and share none but those of
    /// [`Form::same`] and those that are only read.
    pub unsafe fn gradient_bound(
        &self,
        gradient: &Gradient,
        dim: &Dim,
        bound: &Bound,
        part: Part,
    ) -> std::result::Result<(Outcome, Vec<ParameterGradient>), Error> {
        let direction = match part {
            Part::Both => Direction::Gradient,
            Part::Backward => Direction::Backward,
        };
        // SAFETY: the caller's promise.
        let ran = unsafe {
            self.record_gradient(gradient, dim, bound, direction);
            gradient.run(self, dim, bound, part)
        };
        gradient.conclude(self, ran.map_err(|error| self.error(error, &gradient.program))?)
    }

    /// Whether a gradient run on these arguments would be refused, as an error; and how far that
    /// was looked at.
    ///
    /// # Errors
    /// It would.
    ///
    /// # Safety
    /// As for [`Kernel::gradient_bound`].
    pub unsafe fn look(&self, gradient: &Gradient, dim: &Dim, bound: &Bound) -> std::result::Result<Seen, Error> {
        // SAFETY: the caller's promise.
        unsafe { gradient.look(self, dim, bound) }.map_err(|error| self.error(error, &gradient.program))
    }

    /// What its forward mode takes: the arguments, then a tangent for each. A null array represents
    /// tangents of zero.
    ///
    /// # Errors
    /// The kernel has no forward mode.
    pub fn tangent_signature(&self) -> std::result::Result<(&Signature, &StructTable), Error> {
        let tangents = self.forward_mode()?;
        Ok((&tangents.signature, &tangents.program.module.structs))
    }

    /// Runs the kernel in forward mode.
    ///
    /// # Errors
    /// Those of [`Kernel::launch`]; or there is no derivative that would be right.
    ///
    /// # Safety
    /// The arguments were laid out for [`Kernel::tangent_signature`]; otherwise as for
    /// [`Kernel::launch_bound`].
    pub unsafe fn tangents_bound(&self, dim: &Dim, bound: &Bound) -> std::result::Result<Outcome, Error> {
        let tangents = self.forward_mode()?;
        // SAFETY: the caller's promise.
        let ran = unsafe { tangents.run(self, dim, bound) };
        let Ran { bounds, dims, report, looked, .. } = ran.map_err(|error| self.error(error, &tangents.program))?;
        let found = partly(&tangents.program, tangents.kernel, looked, &bounds, &tangents.told);
        let mut outcome = self.conclude(&tangents.program, tangents.kernel, &bounds, dims, report)?;
        outcome.warnings = found.iter().map(|found| shown(found, &tangents.program)).collect();
        Ok(outcome)
    }
}
