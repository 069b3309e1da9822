//! How does a kernel, or its derivative, run where a GPU's arrays are? Behind what a stream does
//! already; only sums of parameters wait for it. For bindings of other languages, whose
//! libraries own that memory.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use super::arg::Dim;
use super::bind::{self, Bound};
use super::derivative::{Gradient, ParameterGradient, Part, Ran, Seen, Tangents, partly, shown};
use super::kernel::HOW;
use super::second::{SECOND, Second};
use super::{Error, Kernel, Outcome};
use crate::abi::LaunchBounds;
use crate::analysis::order::order_shows;
use crate::diag::Code;
use crate::driver;
use crate::ir::{FuncId, Function, TapeBuffer, TapeRole};
use crate::run::args::Arguments;
use crate::run::devices::{How, Job, Report, Resident, runs_in_order};
use crate::run::gradients::gradient::{self, Kept, Runner};
use crate::run::program::Program;
use crate::run::{Fail, Result, fail, run_errors, session};

use super::mirror::Mirror;
use super::reports;

/// Entries of one program as they are loaded on GPUs, by their numbers, those of the GPUs, and
/// whether they have tests.
#[derive(Default)]
pub(super) struct Residents {
    loaded: Mutex<HashMap<(FuncId, On), Arc<Resident>>>,
    /// They are a second derivative, which nobody loads ahead.
    is_second: bool,
}

/// Where code is loaded, and of which kind.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct On {
    /// The number of the GPU.
    pub ordinal: i32,
    /// Threads that are in error record it, and [`told`] says it.
    pub checked: bool,
    /// One thread runs a launch, in the order of its threads, where that shows.
    pub in_order: bool,
}

impl Residents {
    /// The entry on a GPU, loaded when it is first asked for, unless that is for a stream that
    /// another library captures.
    fn on(&self, on: On, program: &Arc<Program>, entry: FuncId, stream: Option<u64>) -> Result<Arc<Resident>> {
        let On { ordinal, checked, in_order } = on;
        let module = &program.module;
        let in_order = in_order && order_shows(module, entry) && runs_in_order(module, entry);
        let key = (entry, On { in_order, ..on });
        let known = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return Ok(found.clone());
        }
        if stream.is_some_and(|stream| Resident::is_captured(ordinal, stream)) {
            return Err(self.not_loaded(&module.functions[entry].source_name, ordinal));
        }
        let how = How { checked, in_order, ..HOW };
        let load = || Resident::load(module, entry, &how, ordinal);
        let made = Arc::new(driver::guard(load).unwrap_or_else(|fault| Err(Box::new(fault.into())))?);
        // Two threads may both load it; one's is kept.
        let kept = known().entry(key).or_insert(made).clone();
        if checked {
            reports::watch(ordinal, &kept, program, entry);
        }
        Ok(kept)
    }
}

impl Residents {
    pub fn of_second() -> Residents {
        Residents { is_second: true, ..Residents::default() }
    }

    /// Code is asked for while a graph is captured.
    fn not_loaded(&self, name: &str, ordinal: i32) -> Fail {
        let (what, help) = match name.strip_prefix(SECOND).filter(|_| self.is_second) {
            Some(of) => (format!("the second derivative of kernel `{of}`"), String::new()),
            None => (format!("kernel `{name}`"), format!("load it before: `{name}.load(\"cuda:{ordinal}\")`, or ")),
        };
        let text = format!("a graph is captured, and the code of {what} is not loaded on this GPU yet");
        let mut error = fail(Code::E1104, text);
        error.help = Some(format!("{help}do once what the graph is to do"));
        error
    }
}

/// Where a launch goes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The GPU in whose memory the arrays are. None: the driver is asked.
    pub ordinal: Option<i32>,
    /// As [`On::checked`].
    pub checked: bool,
    /// Where the order of threads shows, one thread of the GPU runs them in it. Kernels with tiles
    /// are refused there (`E1104`).
    pub deterministic: bool,
    /// A `CUstream`.
    pub stream: u64,
}

impl Queue {
    /// The GPU in whose memory all arrays are.
    fn on(self, bound: &Bound) -> Result<On> {
        let ordinal = self.ordinal.map_or_else(|| one_gpu(bound), Ok)?;
        Ok(On { ordinal, checked: self.checked, in_order: false })
    }
}

#[doc(hidden)]
impl Kernel {
    /// Puts a launch behind what a stream of a GPU does already, and does not wait for it.
    ///
    /// # Errors
    /// The arguments do not fit (`E1006`), there is no driver or no such GPU (`E1104`), or it
    /// refuses the launch (`E1107`).
    ///
    /// # Safety
    /// As for [`Kernel::launch_bound`], until the launch is over, in the memory of the GPU; the
    /// stream stays as long.
    pub unsafe fn launch_resident(&self, dim: &Dim, bound: &Bound, queue: Queue) -> std::result::Result<(), Error> {
        let shared = &*self.shared;
        let program = shared.module.program();
        let run = || {
            let bounds = self.bounds(dim)?;
            let to =
                Target { loaded: &shared.resident, program, on: queue.on(bound)?, deterministic: queue.deterministic };
            // SAFETY: the caller's promise.
            unsafe { self.behind(&to, shared.forward, &bounds, bound.block(), queue.stream) }
        };
        run().map_err(|error| self.error(error, program))
    }

    /// Loads what a launch runs on a GPU. With that nothing is loaded later, which a stream that is
    /// captured for a graph could not wait for.
    ///
    /// # Errors
    /// There is no driver or no such GPU (`E1104`), or it refuses the code.
    pub fn load_resident(&self, on: On) -> std::result::Result<(), Error> {
        let (shared, program) = (&*self.shared, self.shared.module.program());
        let loaded = shared.resident.on(on, program, shared.forward, None);
        loaded.map(drop).map_err(|error| self.error(error, program))
    }

    /// The same for a gradient.
    ///
    /// # Errors
    /// As there.
    pub fn load_gradient_resident(&self, gradient: &Gradient, on: On) -> std::result::Result<(), Error> {
        let run = || {
            let entries = gradient::entries(&gradient.program, gradient.forward)?;
            let alone = gradient.alone.as_ref().map(|alone| alone.entry);
            // A run of both parts has the forward entry first, where none records.
            let first = entries.augmented.unwrap_or(gradient.forward);
            let all = [Some(first), alone, entries.backward];
            let load = |entry| gradient.resident.on(on, &gradient.program, entry, None).map(drop);
            all.into_iter().flatten().try_for_each(load)
        };
        run().map_err(|error| self.error(error, &gradient.program))
    }

    /// The same for forward mode; nothing where that is the host's.
    ///
    /// # Errors
    /// As there, or there is no forward mode (`E1103`).
    pub fn load_tangents_resident(&self, on: On) -> std::result::Result<(), Error> {
        let tangents = self.forward_mode()?;
        if tangents.is_in_order() {
            return Ok(());
        }
        let loaded = tangents.resident.on(on, &tangents.program, tangents.kernel, None);
        loaded.map(drop).map_err(|error| self.error(error, &tangents.program))
    }

    /// The same for the gradient. The arrays of floats have gradients, in the memory of the same
    /// GPU. Whether the order of threads shows in them is for [`Kernel::look`] to say, of arrays on
    /// the host. What is given by value has its gradient where [`super::Form::parameters`] asks for
    /// it: that waits.
    ///
    /// # Errors
    /// As there; or an array has no gradient, or a run has to find how much the derivative keeps,
    /// and the stream is captured (`E1104`).
    ///
    /// # Safety
    /// As for [`Kernel::gradient_bound`], until the launch is over, in the memory of the GPU; the
    /// stream stays as long.
    pub unsafe fn gradient_resident(
        &self,
        gradient: &Gradient,
        dim: &Dim,
        bound: &Bound,
        part: Part,
        queue: Queue,
    ) -> std::result::Result<(Outcome, Vec<ParameterGradient>), Error> {
        // SAFETY: the caller's promise.
        let ran = unsafe { self.differentiated_on(gradient, dim, bound, part, queue) };
        gradient.conclude(self, ran.map_err(|error| self.error(error, &gradient.program))?)
    }

    /// # Safety
    /// As above.
    unsafe fn differentiated_on(
        &self,
        gradient: &Gradient,
        dim: &Dim,
        bound: &Bound,
        part: Part,
        queue: Queue,
    ) -> Result<Ran> {
        let module = &gradient.program.module;
        let forward = &module.functions[gradient.forward];
        let bounds = bind::bounds(dim, forward, self.block_dim)?;
        session::counts_once(forward, &bounds.shape[..dim.extents().len()])?;
        if !bound.overwrites_gradients() {
            return Err(fail(Code::E1104, "gradients that stores keep are kept on the host alone"));
        }
        if bound.lacks_gradients(&module.structs) {
            return Err(fail(Code::E1104, "an array in the memory of a GPU has no gradient there"));
        }
        let to = Target {
            loaded: &gradient.resident,
            program: &gradient.program,
            on: queue.on(bound)?,
            deterministic: queue.deterministic,
        };
        let dims = dim.extents().len();
        if let Some(alone) = gradient.alone.as_ref().filter(|_| part == Part::Backward) {
            let block = bound.grown(alone.size);
            // SAFETY: the block is that of the entry; the rest is the caller's promise.
            unsafe { self.behind(&to, alone.entry, &bounds, block.as_ptr().cast(), queue.stream) }?;
            return Ok(Ran::new(bounds, dims, Report::default()));
        }
        let entries = gradient::entries(&gradient.program, gradient.forward)?;
        let both = [entries.augmented, entries.backward].into_iter().flatten().map(|id| &module.functions[id]);
        if Resident::runs_later(to.on.ordinal, queue.stream)
            && let Some((entry, reason)) = both.into_iter().find_map(|entry| Some((entry, open_tape(entry)?)))
        {
            let name = &entry.source_name;
            let text = format!(
                "how much the derivative of kernel `{name}` keeps is only known once it ran, and a captured graph runs later"
            );
            let mut error = fail(Code::E1104, text);
            error.notes.extend((!reason.is_empty()).then(|| format!("kept: {reason}")));
            error.help =
                Some("give its loops a bound that the compiler sees, or leave it out of the graph".to_string());
            return Err(error);
        }
        // SAFETY: the caller's promise; nothing of the arrays is read here.
        let mut arguments = unsafe { gradient.signature.arguments(bound, forward, &module.structs) }?;
        let mirror = Mirror::new(to.on.ordinal, queue.stream)?;
        let mut run = OnGpu { kernel: self, to: &to, bounds: &bounds, mirror };
        let order = match part {
            Part::Both => gradient::gradient,
            Part::Backward => gradient::backward,
        };
        let report = order(&gradient.program, gradient.forward, &mut arguments, bounds.size, &mut run)?;
        Ok(Ran::new(bounds, dims, report).with(&arguments))
    }

    /// [`Kernel::tangents_bound`] for arrays of a GPU, behind what a stream does already. Whether
    /// the order of threads shows is for [`Kernel::look_tangents`] to say.
    ///
    /// # Errors
    /// There is no forward mode (`E1103`), the order of threads is part of it, or the GPU is not
    /// there (`E1104`), or refuses the launch (`E1107`).
    ///
    /// # Safety
    /// As for [`Kernel::tangents_bound`], until the launch is over, in the memory of the GPU.
    pub unsafe fn tangents_resident(&self, dim: &Dim, bound: &Bound, queue: Queue) -> std::result::Result<(), Error> {
        let tangents = self.forward_mode()?;
        let Tangents { program, kernel, .. } = tangents;
        let run = || {
            let bounds = bind::bounds(dim, &program.module.functions[*kernel], self.block_dim)?;
            if tangents.is_in_order() {
                let text =
                    "its threads hand floats on by atomics: in forward mode they run one after the other, on the host";
                let mut error = fail(Code::E1104, text);
                error.help = Some(ON_HOST.to_string());
                return Err(error);
            }
            let to = Target {
                loaded: &tangents.resident,
                program,
                on: queue.on(bound)?,
                deterministic: queue.deterministic,
            };
            // SAFETY: the caller's promise.
            unsafe { self.behind(&to, *kernel, &bounds, bound.block(), queue.stream) }
        };
        run().map_err(|error| self.error(error, program))
    }

    /// [`Kernel::second_bound`] for arrays of a GPU, behind what a stream does already.
    ///
    /// # Errors
    /// There is no second derivative (`E1103`), an array has no gradient, or the GPU is not there
    /// (`E1104`), or refuses the launch (`E1107`).
    ///
    /// # Safety
    /// As for [`Kernel::second_bound`], until the launch is over, in the memory of the GPU.
    pub unsafe fn second_resident(&self, dim: &Dim, bound: &Bound, queue: Queue) -> std::result::Result<(), Error> {
        let second = self.second()?;
        let Second { program, kernel, signature, resident, .. } = second;
        let run = || {
            let bounds = bind::bounds(dim, &program.module.functions[*kernel], self.block_dim)?;
            if bound.lacks_gradients(&program.module.structs) {
                return Err(fail(Code::E1104, "an array in the memory of a GPU has no gradient there"));
            }
            let to = Target { loaded: resident, program, on: queue.on(bound)?, deterministic: queue.deterministic };
            let block = bound.grown(signature.size());
            // SAFETY: the block is that of the entry; the rest is the caller's promise.
            unsafe { self.behind(&to, *kernel, &bounds, block.as_ptr().cast(), queue.stream) }
        };
        run().map_err(|error| self.error(error, program))
    }

    /// Whether forward mode on these arguments would be refused, as an error; and how far that was
    /// looked at. The arrays are as before afterwards.
    ///
    /// # Errors
    /// It would.
    ///
    /// # Safety
    /// As for [`Kernel::tangents_bound`].
    pub unsafe fn look_tangents(&self, dim: &Dim, bound: &Bound) -> std::result::Result<Seen, Error> {
        let tangents = self.forward_mode()?;
        let run = || {
            let bounds = bind::bounds(dim, &tangents.program.module.functions[tangents.kernel], self.block_dim)?;
            // SAFETY: the caller's promise.
            let looked = unsafe { tangents.look(&bounds, bound) }?;
            let found = partly(&tangents.program, tangents.kernel, looked, &bounds, &tangents.told);
            Ok(Seen { any: looked.is_some(), partly: found.map(|found| shown(&found, &tangents.program)) })
        };
        run().map_err(|error| self.error(error, &tangents.program))
    }

    /// # Safety
    /// `block` is the struct of arguments of the entry, whose arrays and the stream stay until the
    /// launch is over.
    unsafe fn behind(
        &self,
        to: &Target,
        entry: FuncId,
        bounds: &LaunchBounds,
        block: *const c_void,
        stream: u64,
    ) -> Result<()> {
        let module = &to.program.module;
        let in_order = to.deterministic && order_shows(module, entry);
        if in_order && !runs_in_order(module, entry) {
            return Err(Box::new(run_errors::order_shows(&module.functions[entry].source_name, to.on.ordinal)));
        }
        let on = On { in_order: to.deterministic, ..to.on };
        let threads = self.block_dim.unwrap_or(Job::BLOCK_DIM);
        // SAFETY: the caller's promise.
        unsafe { to.loaded.on(on, to.program, entry, Some(stream))?.launch(stream, bounds, block, threads) }
    }
}

/// What to do where only the host can.
const ON_HOST: &str = "copy the arrays to the host: from Python, with `x.to(\"cpu\")`";

/// Why an entry keeps values of which the compiler knows no number, if it does.
fn open_tape(entry: &Function) -> Option<&str> {
    let is_open = |tape: &&TapeBuffer| matches!(tape.role, TapeRole::Log | TapeRole::State) && tape.slots.is_none();
    entry.tape.iter().find(is_open).map(|tape| tape.reason.as_str())
}

/// Runs the entries of a gradient where its arrays are.
struct OnGpu<'a> {
    kernel: &'a Kernel,
    to: &'a Target<'a>,
    bounds: &'a LaunchBounds,
    mirror: Mirror,
}

impl Runner for OnGpu<'_> {
    fn run(&mut self, entry: FuncId, block: *const c_void, more: &[(u64, u64)]) -> Result<Report> {
        let stream = self.mirror.stream();
        // SAFETY: the block is that of the entry, and `more` is its memory, all of zeros before its
        // first run.
        let block = unsafe { self.mirror.block(&self.to.program.module, entry, block, more) }?;
        // SAFETY: the same; what the block names is in the memory of the GPU, and stays as the
        // caller of `gradient_resident` promises.
        unsafe { self.kernel.behind(self.to, entry, self.bounds, block.as_ptr().cast(), stream) }?;
        // SAFETY: `more` is memory of this run alone.
        unsafe { self.mirror.fetch() }?;
        Ok(Report::default())
    }

    fn keep(&mut self, arguments: &Arguments) -> Result<Box<dyn Kept>> {
        Ok(Box::new(self.mirror.keep(&arguments.memory())?))
    }
}

/// The code of a launch, and the GPU.
struct Target<'a> {
    loaded: &'a Residents,
    program: &'a Arc<Program>,
    on: On,
    deterministic: bool,
}

/// The GPU in whose memory all arrays are, by what the driver says of their addresses.
fn one_gpu(bound: &Bound) -> Result<i32> {
    let mut known = None;
    for &(address, _) in bound.memory.iter().chain(&bound.constant) {
        let ordinal = Resident::ordinal_of(address)?;
        if *known.get_or_insert(ordinal) != ordinal {
            return Err(fail(Code::E1104, "the arrays of the launch are in the memory of several GPUs"));
        }
    }
    Ok(known.unwrap_or(0))
}
