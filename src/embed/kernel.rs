//! How is a kernel launched?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use smallvec::SmallVec;

use super::arg::{Arg, Dim};
use super::bind::{self, Bound, Signature};
use super::derivative::{Form, Gradient, Part, Tangents, shown};
use super::resident::Residents;
use super::second::Second;
use super::{Error, Module};
use crate::abi::LaunchBounds;
use crate::analysis::effects::effects;
use crate::analysis::filled::filled;
use crate::analysis::written::written;
use crate::diag::Code;
use crate::driver;
use crate::ir::{BlockThreads, FuncId, FunctionKind, Module as Ir};
use crate::run::devices::{self, Device, Entry, Executable, How, Job, Report, Trial, stop};
use crate::run::launch::other_block_threads;
use crate::run::program::{self, Program};
use crate::run::run_errors;
use crate::run::{Fail, Result, fail};
use crate::types::{MAX_DIMS, StructTable};

/// A kernel, ready to be launched: on all cores of this machine, with every array index tested.
///
/// It is compiled when it is first launched. Clones share the compiled code, and several threads
/// may launch at once.
#[derive(Clone)]
pub struct Kernel {
    pub(super) shared: Arc<Shared>,
    pub(super) threads: usize,
    /// None: as the device likes it.
    pub(super) block_dim: Option<u32>,
}

/// What came of a launch besides the contents of its arrays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// What the kernel printed.
    pub printed: String,
    /// What kc says about a gradient that was computed. Each is reported once: with the first run
    /// of the kernel that it comes of.
    pub warnings: Vec<Warning>,
}

/// A finding about a run that went through: a derivative that is lost on the way (`W06..`), or that
/// a convention decides, or that has lost digits (`W1120`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Warning {
    /// `kc explain CODE` tells more.
    pub code: &'static str,
    /// As the `kc` command shows it, with source lines and without colours.
    pub text: String,
}

pub(super) struct Shared {
    pub module: Module,
    device: &'static dyn Device,
    pub forward: FuncId,
    signature: Signature,
    pub entry: Entry,
    /// As they were asked for.
    gradients: Mutex<HashMap<Form, Arc<Gradient>>>,
    tangents: OnceLock<Tangents>,
    second: OnceLock<Second>,
    pub resident: Residents,
    /// The same kernel for launches of other blocks.
    others: Mutex<HashMap<BlockThreads, Arc<Shared>>>,
}

/// Indices are tested: a slice's neighbours are not the kernel's.
pub(super) const HOW: How = How {
    checked: true,
    fmad: false,
    tensor_cores: devices::TensorCores::On,
    alone: false,
    in_order: false,
    cpu: devices::Cpu::Native,
    trial: Trial::PLAIN,
    objects: None,
};

impl Kernel {
    pub(super) fn new(module: Module, name: &str) -> std::result::Result<Kernel, Error> {
        Kernel::on_device(module, name, devices::default())
    }

    fn on_device(module: Module, name: &str, device: &'static dyn Device) -> std::result::Result<Kernel, Error> {
        let program = module.program();
        let forward = program::kernel(program, module.path(), Some(name))
            .map_err(|reasons| Error::new(reasons, program.clone()))?;
        let signature = signature(program, forward);
        let entry = Entry::new(&program.module, forward, device, module.how());
        let (gradients, resident) = (Mutex::default(), Residents::default());
        let (tangents, second, others) = (OnceLock::new(), OnceLock::new(), Mutex::default());
        // A text that compiles for blocks of so many threads alone is launched in these.
        let stated = program.module.functions[forward].block_threads.filter(|made| made.threads > 1);
        let block_dim = module.blocks().or(stated.map(|made| made.threads));
        let shared =
            Shared { forward, signature, entry, gradients, tangents, second, resident, others, device, module };
        Ok(Kernel { shared: Arc::new(shared), threads: 0, block_dim })
    }

    /// Its name in the source.
    pub fn name(&self) -> &str {
        self.shared.signature.kernel()
    }

    /// The same kernel for another device: `host` (compiled, the default), `interp` (the reference
    /// interpreter), or `cuda` (the first NVIDIA GPU; arrays are copied there and back, indices are
    /// not tested).
    ///
    /// # Errors
    /// There is no device of this name. That the machine has none is reported by the launch.
    pub fn on(&self, device: &str) -> std::result::Result<Kernel, Error> {
        let device = devices::named(device).map_err(|error| Error::plain(*error))?;
        let kernel = Kernel::on_device(self.shared.module.clone(), self.name(), device)?;
        Ok(Kernel { threads: self.threads, block_dim: self.block_dim, ..kernel })
    }

    /// The same kernel, launched on this many threads of the host at most; 0, the default, is one
    /// per core.
    pub fn threads(&self, threads: usize) -> Kernel {
        Kernel { threads, ..self.clone() }
    }

    /// The same kernel, launched in blocks of 1 to 1024 threads.
    ///
    /// A kernel with tiles computes once for each block: a launch of `[M, N, 64]` in blocks of 64
    /// is one of `M * N` blocks, as `wp.launch_tiled(k, dim=[M, N], block_dim=64)`. Without this
    /// its dimensions are those of the blocks. To other kernels it makes no difference but on a
    /// GPU.
    pub fn block_dim(&self, threads: u32) -> Kernel {
        Kernel { block_dim: Some(threads), ..self.clone() }
    }

    /// The threads of the blocks that it is launched in, if it says so.
    #[doc(hidden)]
    pub fn threads_of_blocks(&self) -> Option<u32> {
        self.block_dim
    }

    /// The dimensions of the blocks, where `dim` is that of threads in blocks of so many.
    ///
    /// # Errors
    /// The blocks do not fit (`E1006`).
    #[doc(hidden)]
    pub fn dim_of_blocks(&self, dim: &Dim, threads: u32) -> std::result::Result<Dim, Error> {
        let bounds =
            self.block_dim(threads).bounds(dim).map_err(|error| self.error(error, self.shared.module.program()))?;
        let extents: Vec<usize> = bounds.shape[..dim.extents().len()].iter().map(|&n| n as usize).collect();
        Ok(Dim::from(&extents[..]))
    }

    /// The kernel compiled for a launch of these dimensions, where that is another one: the threads
    /// of a block have values of their own.
    #[doc(hidden)]
    pub fn made_for(&self, dim: &Dim) -> std::result::Result<Option<Kernel>, Error> {
        let shared = &*self.shared;
        let function = &shared.module.program().module.functions[shared.forward];
        let extents: SmallVec<[u32; MAX_DIMS]> =
            dim.extents().iter().map(|&n| u32::try_from(n).unwrap_or(u32::MAX)).collect();
        let block = self.block_dim.unwrap_or(1);
        let Some(block_threads) =
            other_block_threads(function, &extents, block).filter(|_| (1..=1024).contains(&block))
        else {
            return Ok(None);
        };
        let known = || shared.others.lock().unwrap_or_else(PoisonError::into_inner);
        let other = known().get(&block_threads).cloned();
        let other = match other {
            Some(other) => other,
            None => {
                let made = Kernel::on_device(
                    shared.module.with_block_threads(self.name(), block_threads)?,
                    self.name(),
                    shared.device,
                )?;
                known().entry(block_threads).or_insert(made.shared).clone()
            }
        };
        Ok(Some(Kernel { shared: other, ..self.clone() }))
    }

    /// The module that has the kernel for launches of these dimensions in blocks of so many
    /// threads, if that is another one.
    ///
    /// # Errors
    /// The kernel cannot be compiled for them.
    #[doc(hidden)]
    pub fn module_for(&self, dim: &Dim, threads: u32) -> std::result::Result<Option<Module>, Error> {
        Ok(self.block_dim(threads).made_for(dim)?.map(|other| other.shared.module.clone()))
    }

    /// A job on the device, in these blocks.
    pub(super) fn job(&self, bounds: LaunchBounds, block: *const std::ffi::c_void) -> Job<'static> {
        let block_dim = self.block_dim.unwrap_or(Job::BLOCK_DIM);
        Job { block_dim, stop: self.shared.module.launches().stop, ..Job::new(bounds, block, self.threads) }
    }

    pub(super) fn bounds(&self, dim: &Dim) -> Result<LaunchBounds> {
        let shared = &*self.shared;
        bind::bounds(dim, &shared.module.program().module.functions[shared.forward], self.block_dim)
    }

    /// Runs the kernel for every thread of `dim`.
    ///
    /// A kernel whose threads store to one element without an atomic leaves one of the numbers
    /// there, as anywhere.
    ///
    /// # Errors
    /// The arguments do not fit the kernel (codes `E10..`); or a thread was in error, such as by an
    /// index out of bounds (`E1101`) or a failed assertion (`E1102`): then the other threads have
    /// run, and the arrays have what they stored.
    pub fn launch(&self, dim: impl Into<Dim>, args: &mut [Arg<'_>]) -> std::result::Result<Outcome, Error> {
        let dim = dim.into();
        if let Some(other) = self.made_for(&dim)? {
            return other.launch(dim, args);
        }
        let shared = &*self.shared;
        let program = shared.module.program();
        self.forward(&dim, args)
            .map_err(|error| self.error(error, program))
            .and_then(|(bounds, dims, report)| self.conclude(program, shared.forward, &bounds, dims, report))
    }

    fn forward(&self, dim: &Dim, args: &[Arg]) -> Result<(LaunchBounds, usize, Report)> {
        let bounds = self.bounds(dim)?;
        let mut bound = self.shared.signature.room();
        self.shared.signature.fill(args, &self.shared.module.program().module.structs, &mut bound)?;
        self.run(bounds, dim, &bound)
    }

    fn run(&self, bounds: LaunchBounds, dim: &Dim, bound: &Bound) -> Result<(LaunchBounds, usize, Report)> {
        let shared = &*self.shared;
        let job = Job { memory: &bound.memory, constant: &bound.constant, ..self.job(bounds, bound.block()) };
        // SAFETY: the arguments fit the kernel, and their arrays are borrowed for the launch: those
        // that it writes exclusively.
        let report = unsafe { execute(&shared.entry, shared.module.program(), &job, &self.shared) }?;
        Ok((bounds, dim.0.len(), report))
    }

    /// Runs the kernel, then its derivative in reverse mode.
    ///
    /// The gradients of the arrays that the kernel writes ([`Arg::grad`]) say how a result depends
    /// on them; the gradients of those that it reads are added to, by how the result depends on
    /// these. What a kernel overwrites has no more say in the result: its gradient is zero
    /// afterwards. Arrays of floats without a gradient get one for the time of the run. Of numbers,
    /// vectors, matrices and structs that are given by value, the gradients are summed over all
    /// threads where they are asked for.
    ///
    /// # Errors
    /// As for [`Kernel::launch`]; or the kernel has no gradient that would be right (`E06..`,
    /// `E1103`, `E1108`).
    pub fn gradient(&self, dim: impl Into<Dim>, args: &mut [Arg<'_>]) -> std::result::Result<Outcome, Error> {
        let dim = dim.into();
        if let Some(other) = self.made_for(&dim)? {
            return other.gradient(dim, args);
        }
        let parameters = args.iter().any(Arg::wants_parameter_gradients);
        let compiled = self.differentiated(Form { parameters, ..Form::default() })?;
        compiled
            .signature
            .bind(args, &compiled.program.module.structs)
            // SAFETY: the arrays are borrowed for the run: those that it writes exclusively.
            .and_then(|bound| unsafe { compiled.run(self, &dim, &bound, Part::Both) })
            .map_err(|error| self.error(error, &compiled.program))
            .and_then(|ran| compiled.conclude(self, ran).map(|(outcome, _)| outcome))
    }

    /// The kernel with its gradient, compiled when it is first asked for.
    pub(super) fn differentiated(&self, form: Form) -> std::result::Result<Arc<Gradient>, Error> {
        if let Some(found) = self.gradients().get(&form) {
            return Ok(found.clone());
        }
        let made = Arc::new(Gradient::new(&self.shared.module, self.name(), &form)?);
        // Two threads may both compile; one's is kept.
        Ok(self.gradients().entry(form).or_insert(made).clone())
    }

    /// Those that are compiled, by their form.
    pub(super) fn gradients(&self) -> MutexGuard<'_, HashMap<Form, Arc<Gradient>>> {
        self.shared.gradients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its forward mode, in the same way.
    pub(super) fn forward_mode(&self) -> std::result::Result<&Tangents, Error> {
        if let Some(found) = self.shared.tangents.get() {
            return Ok(found);
        }
        let made = Tangents::new(&self.shared.module, self.name(), self.shared.device)?;
        Ok(self.shared.tangents.get_or_init(|| made))
    }

    /// Forward mode of its backward entry, in the same way.
    pub(super) fn second(&self) -> std::result::Result<&Second, Error> {
        if let Some(found) = self.shared.second.get() {
            return Ok(found);
        }
        let made = Second::new(&self.shared.module, self.name(), self.shared.device)?;
        Ok(self.shared.second.get_or_init(|| made))
    }

    pub(super) fn device(&self) -> &'static dyn Device {
        self.shared.device
    }

    /// How many coordinates its threads ask for.
    #[doc(hidden)]
    pub fn coordinates(&self) -> usize {
        rank(self.shared.module.program(), self.shared.forward)
    }

    /// Which parameters are arrays that a launch with their extents fills, whatever they held.
    #[doc(hidden)]
    pub fn fills(&self) -> Vec<bool> {
        let module = &self.shared.module.program().module;
        filled(&module.functions[self.shared.forward], &effects(module))
    }

    /// What the kernel takes, for a binding of another language that lays arguments out itself.
    #[doc(hidden)]
    pub fn signature(&self) -> &Signature {
        &self.shared.signature
    }

    /// The structs that the types of [`Kernel::signature`] name.
    #[doc(hidden)]
    pub fn structs(&self) -> &StructTable {
        &self.shared.module.program().module.structs
    }

    /// [`Kernel::launch`] for arguments that are laid out.
    ///
    /// # Safety
    /// They were laid out for the signature of this kernel. Their arrays are valid memory, which
    /// nobody else writes meanwhile, and nobody else reads if the kernel writes it.
    #[doc(hidden)]
    pub unsafe fn launch_bound(&self, dim: &Dim, bound: &Bound) -> std::result::Result<Outcome, Error> {
        let program = self.shared.module.program();
        // SAFETY: the caller's promise.
        unsafe { self.record(dim, bound) };
        self.bounds(dim)
            .and_then(|bounds| self.run(bounds, dim, bound))
            .map_err(|error| self.error(error, program))
            .and_then(|(bounds, dims, report)| self.conclude(program, self.shared.forward, &bounds, dims, report))
    }

    /// The same for the struct of arguments itself, as it lies in a caller's memory. `dims` are the
    /// dimensions of `bounds`.
    ///
    /// # Safety
    /// As for [`Kernel::launch_bound`]; the struct is aligned to 8 bytes.
    #[doc(hidden)]
    pub unsafe fn launch_block(
        &self,
        bounds: LaunchBounds,
        dims: usize,
        block: *const std::ffi::c_void,
    ) -> std::result::Result<Outcome, Error> {
        let (shared, program) = (&*self.shared, self.shared.module.program());
        let job = self.job(bounds, block);
        // SAFETY: the caller's promise.
        let ran = unsafe { execute(&shared.entry, program, &job, &self.shared) };
        let ran = ran.map_err(|error| self.error(error, program))?;
        self.conclude(program, shared.forward, &bounds, dims, ran)
    }

    /// Compiles what a launch of this size runs, if that was not done yet.
    ///
    /// # Errors
    /// It cannot be compiled.
    #[doc(hidden)]
    pub fn prepare(&self, bounds: &LaunchBounds) -> std::result::Result<(), Error> {
        let (shared, program) = (&*self.shared, self.shared.module.program());
        let job = Job::new(*bounds, std::ptr::null(), self.threads);
        ready(&shared.entry, &program.module, &job, &self.shared).map(drop).map_err(|error| self.error(error, program))
    }

    /// What a launch that ran is for its caller.
    pub(super) fn conclude(
        &self,
        program: &Arc<Program>,
        kernel: FuncId,
        bounds: &LaunchBounds,
        dims: usize,
        report: Report,
    ) -> std::result::Result<Outcome, Error> {
        let printed = String::from_utf8_lossy(&report.printed.bytes).into_owned();
        let Some(trap) = report.trap else {
            let warnings = report.findings.iter().map(|found| shown(found, program)).collect();
            return Ok(Outcome { printed, warnings });
        };
        let dims = dims.max(rank(program, kernel));
        let error = run_errors::describe_trap(&trap, bounds, dims);
        let thread = devices::coordinates(bounds, dims, trap.thread);
        Err(self.error(Box::new(error), program).with_printed(printed).with_trap(trap, thread))
    }

    pub(super) fn error(&self, error: Fail, program: &Arc<Program>) -> Error {
        Error::new(vec![*error], program.clone())
    }
}

/// How many coordinates the threads of a kernel ask for.
pub(super) fn rank(program: &Program, kernel: FuncId) -> usize {
    match program.module.functions[kernel].kind {
        FunctionKind::Kernel { rank } => rank.into(),
        FunctionKind::Device => 0,
    }
}

/// The code for a launch. LLVM's passes may recurse deep, so what is not there yet is compiled on a
/// thread with the stack for that. `owner` keeps the entry and the module alive: a program that
/// wants to end does not wait for the compiler.
pub(super) fn ready<'e>(
    entry: &'e Entry,
    module: &Ir,
    job: &Job,
    owner: &Arc<impl Send + Sync + 'static>,
) -> Result<&'e dyn Executable> {
    let (bounds, threads) = (job.bounds, job.threads);
    if let Some(code) = entry.compiled(&bounds, threads) {
        return Ok(code);
    }
    // SAFETY: the owner, which the work takes along, keeps both.
    let (kept, ir) = unsafe { (&*std::ptr::from_ref(entry), &*std::ptr::from_ref(module)) };
    let owner = owner.clone();
    let work = move || {
        let made = driver::guard(|| kept.ready(ir, &bounds, threads).map(drop));
        drop(owner);
        made.unwrap_or_else(|fault| Err(Box::new(fault.into())))
    };
    stop::unless_stopped(job.stop, work).unwrap_or_else(|| Err(fail(Code::E0999, "the launch was ended")))?;
    entry.compiled(&bounds, threads).ok_or_else(|| fail(Code::E0999, "the kernel has no code"))
}

/// Runs an entry.
///
/// # Safety
/// As for [`Executable::run`].
pub(super) unsafe fn execute(
    entry: &Entry,
    program: &Program,
    job: &Job,
    owner: &Arc<impl Send + Sync + 'static>,
) -> Result<Report> {
    let code = ready(entry, &program.module, job, owner)?;
    // SAFETY: the caller's promise.
    unsafe { entry.run(code, &program.module, &program.sources, job) }
}

pub(super) fn signature(program: &Program, kernel: FuncId) -> Signature {
    let module = &program.module;
    Signature::new(&module.functions[kernel], &module.structs, written(module, kernel))
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let device = self.shared.device.name();
        f.debug_struct("Kernel").field("name", &self.name()).field("device", &device).finish()
    }
}
