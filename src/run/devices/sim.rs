//! How would a GPU run a kernel, and what does it do wrong? Its PTX is executed on this machine,
//! warp by warp ([`crate::sim`]), on copies of the launch's memory.

use crate::run::messages;
use std::ffi::c_void;
use std::sync::Arc;

use super::copies::{self, within_rank};
use super::engines::Ids;
use super::{Device, Executable, Found, How, Job, Ptx, Report, Trial, stop};
use crate::abi::{self, LaunchBounds, argument_layout};
use crate::codegen::llvm::{
    Arch, ArrayLayout, Checks as Tests, Grid, Opt, Parts, Prints, PrivateSums, PtxOptions, asked_shared,
    emit_ptx_located, has_block_sums, strips,
};
use crate::diag::{Code, Diagnostic};
use crate::ir::{FuncId, FunctionKind, Module};
use crate::run::{Fail, Result, fail};
use crate::sim::{self, Checks, Form};
use crate::types::{StructTable, Type};
use crate::{ptx, sim::Memory};

pub mod arrays;
mod foreign;
pub mod words;

use arrays::Arrays;
use words::{Shown, Source};

/// PTX on this machine.
pub struct Sim;

impl Device for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn about(&self) -> &'static str {
        "A GPU played on this machine: runs PTX, and looks for races, stray accesses and the like"
    }

    fn found(&self) -> Result<Vec<Found>> {
        let about = format!("runs PTX for {} on this machine, without a GPU", ARCH.name);
        let facts = [("arch", ARCH.name.into())].map(|(name, fact): (_, serde_json::Value)| (name.to_string(), fact));
        Ok(vec![Found { name: self.name().to_string(), about, facts: facts.into_iter().collect() }])
    }

    fn prepare(&self, module: &Module, kernel: FuncId, how: &How) -> Result<Box<dyn Executable>> {
        Ok(Box::new(prepared(module, kernel, how)?))
    }

    fn run_ptx(&self, launch: &Ptx) -> Result<Report> {
        foreign::run(launch)
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn counts(&self) -> bool {
        true
    }

    fn finds_races(&self) -> bool {
        true
    }
}

/// What PTX is made for.
const ARCH: Arch = Arch::DEFAULT;

/// A kernel as the device runs it.
pub fn prepared(module: &Module, kernel: FuncId, how: &How) -> Result<Kernel> {
    let (arch, layout) = (ARCH, ArrayLayout::Strided);
    let &How { fmad, checked, tensor_cores, trial, .. } = how;
    let (opt, grid) = (Opt::Full, Grid::Covering);
    let (checks, prints) = (if checked { Tests::Simulated } else { Tests::None }, Prints::Driver);
    let covering = PtxOptions { arch, opt, fmad, layout, grid, checks, prints, tensor_cores };
    let made = Kernel::load(module, kernel, &covering, trial)?;
    let private = PrivateSums::of(module, kernel);
    // As a GPU has it ([`super::cuda`]), where that is counted. Else a thread has one task: several
    // would hide their races.
    let turns = private.is_some() || trial.counts && made.block_sums;
    let strips = trial.counts && strips::Strips::of(module, kernel).is_some();
    let several = |grid| -> Result<_> {
        let options = PtxOptions { grid, ..covering };
        Ok(Some(Box::new(Kernel { whole_grid: true, ..Kernel::load(module, kernel, &options, trial)? })))
    };
    let in_turns = match (strips, turns) {
        (true, _) => several(Grid::Strips)?,
        (false, true) => several(Grid::Any)?,
        (false, false) => None,
    };
    Ok(Kernel { in_turns, private, ..made })
}

/// Threads that the GPU holds whose launches are counted: 132 multiprocessors of 2048.
const RESIDENT_THREADS: u64 = 132 * 2048;

/// A kernel as a GPU would have it.
pub struct Kernel {
    code: sim::Code,
    id: FuncId,
    params: Vec<Type>,
    /// Of the parameters.
    names: Vec<String>,
    structs: StructTable,
    rank: usize,
    grid: Grid,
    /// A block does a task, not a thread.
    by_block: bool,
    trial: Trial,
    /// Bytes of shared memory that its launches ask for.
    asked_shared: u32,
    /// Its blocks add up what they bring to one place.
    block_sums: bool,
    /// Each thread has one task, whatever its code can do.
    whole_grid: bool,
    /// The same for threads that take tasks in turns, and what its blocks may have copies of.
    in_turns: Option<Box<Kernel>>,
    private: Option<PrivateSums>,
    /// What its instructions are counted of.
    text: Option<sim::Text>,
    /// Bytes that arrays are moved by, for addresses that are no better aligned than they have to
    /// be.
    shift: u64,
}

impl Kernel {
    /// Compiles a kernel to PTX and decodes it.
    pub fn load(module: &Module, kernel: FuncId, options: &PtxOptions, trial: Trial) -> Result<Kernel> {
        let all = Kernel::load_all(module, &[kernel], options, &trial)?;
        all.into_iter().next().ok_or_else(|| fail(Code::E0999, "one kernel makes one"))
    }

    /// The same for kernels of one file, in their order: one text is made for all.
    pub fn load_all(module: &Module, kernels: &[FuncId], options: &PtxOptions, trial: &Trial) -> Result<Vec<Kernel>> {
        let Some(&first) = kernels.first() else { return Ok(Vec::new()) };
        let file = module.functions[first].span.file;
        let text = emit_ptx_located(module, kernels, options, &Parts::new(0), file)
            .map_err(|e| Box::new(Diagnostic::from(e)))?;
        Kernel::of_text(module, kernels, text.into(), options, trial)
    }

    /// The same of a text that was made of them.
    pub fn of_text(
        module: &Module,
        kernels: &[FuncId],
        text: Arc<str>,
        options: &PtxOptions,
        trial: &Trial,
    ) -> Result<Vec<Kernel>> {
        let parsed = ptx::parse(&text).map_err(|error| own_text(&error, &text))?;
        let load = |&kernel: &FuncId| {
            let function = &module.functions[kernel];
            let entry = abi::device_entry(&function.source_name, function.phase);
            let code = sim::decode(&parsed, &entry).map_err(|error| own_text(&error, &text))?;
            let params = function.params();
            let asked_shared =
                asked_shared(module, kernel, options, &text).map_err(|e| Box::new(Diagnostic::from(e)))?;
            let written = trial.counts.then(|| sim::Text::of(&text, &parsed, &entry));
            Ok(Kernel {
                code,
                id: kernel,
                params: params.iter().map(|&p| function.ty(p)).collect(),
                names: params.iter().map(|&p| function.values[p].name.clone().unwrap_or_default()).collect(),
                structs: module.structs.clone(),
                rank: match function.kind {
                    FunctionKind::Kernel { rank } => rank.into(),
                    FunctionKind::Device => return Err(fail(Code::E0999, "a launched function is no kernel")),
                },
                grid: options.grid,
                by_block: function.by_block,
                trial: *trial,
                asked_shared,
                block_sums: has_block_sums(&text),
                whole_grid: options.grid == Grid::Covering,
                in_turns: None,
                private: None,
                text: written,
                shift: 0,
            })
        };
        kernels.iter().map(load).collect()
    }

    /// What is known of the kernel without a launch: its entry, its text, the bytes of shared
    /// memory of a block.
    pub fn outline(&self) -> (&str, Option<&sim::Text>, u32) {
        (&self.code.entry, self.text.as_ref(), self.code.shared_bytes + self.asked_shared)
    }

    /// The same, with arrays at addresses that are multiples of `shift` only.
    pub fn shifted(self, shift: u64) -> Kernel {
        Kernel { shift, ..self }
    }

    /// # Safety
    /// As for [`Executable::run`].
    unsafe fn run_copied(&self, module: &Module, job: &Job, private: u32) -> Result<Report> {
        let (bounds, repeats) = within_rank(&job.bounds, self.rank);
        if bounds.size == 0 {
            return Ok(Report::default());
        }
        let mut memory = sim::memory(&self.code);
        let mut pieces = Vec::new();
        // SAFETY: the caller vouches for the arguments.
        let mut ids = unsafe { Ids::of(job.args, &self.params, &self.structs) };
        let all = || job.memory.iter().chain(job.constant).copied();
        for (address, len) in all().filter(|&range| !ids.lie_in(range)) {
            // SAFETY: the caller gives this memory to the launch.
            let bytes = unsafe { host_bytes(address, len) };
            pieces.push((address, len, memory.give(bytes, self.shift)));
        }
        ids.copy(&mut pieces, |_, bytes| Ok(memory.give(bytes, 0)))?;
        for (address, len) in all().filter(|&range| ids.lie_in(range)) {
            // SAFETY: the same.
            let bytes = ids.to_device(address, unsafe { host_bytes(address, len) });
            pieces.push((address, len, memory.give(&bytes, self.shift)));
        }
        // SAFETY: the same contract.
        let mut words = unsafe { copies::arguments(job.args, &self.params, &self.structs, &pieces, &ids) }?;
        let block = copies::bytes(&mut words);
        let params = self.parameters(&bounds, block)?;
        let arrays = Arrays::of(&self.params, &self.names, &self.structs, block);
        // What is counted represents a GPU. Faults are found where each thread is a block of its
        // own too.
        let block_dim = match self.trial.counts {
            true => Job::usual_blocks(job.block_dim, self.by_block),
            false => job.block_dim,
        };
        let mut form = self.form(&bounds, block_dim)?;
        form.dynamic_shared += private;
        if module.grid_sync_below(self.id).is_some() {
            form.workspace = memory.give(&[0; 8], 0);
        }
        let mut report = Report::default();
        let source = Source::Kernel {
            module,
            kernel: self.id,
            launch: bounds,
            block_dim: (self.grid == Grid::Covering).then_some(block_dim),
        };
        let shown = Shown { code: &self.code, arrays: &arrays, source, text: self.text.as_ref() };
        let runs = Runs { repeats, trial: &self.trial, stop: job.stop };
        let Some(memory) = tried(&shown, &form, &params, memory, &runs, &mut report) else {
            return Ok(report);
        };
        for &(address, len, device) in pieces.iter().filter(|&&(address, len, _)| job.memory.contains(&(address, len)))
        {
            let contents = memory.contents(device, len);
            // SAFETY: the caller gives this memory to the launch.
            let bytes = unsafe { host_bytes_mut(address, len) };
            match ids.lie_in((address, len)) {
                true => bytes.copy_from_slice(&ids.to_host(address, contents)),
                false => bytes.copy_from_slice(contents),
            }
        }
        Ok(report)
    }

    /// The code that a launch runs, and the bytes that its blocks ask for to have copies.
    ///
    /// # Safety
    /// As for [`Executable::run`].
    unsafe fn chosen(&self, job: &Job) -> (&Kernel, u32) {
        let Some(in_turns) = self.in_turns.as_deref() else { return (self, 0) };
        let (bounds, _) = within_rank(&job.bounds, self.rank);
        let block_dim = if self.trial.counts { Job::usual_blocks(job.block_dim, false) } else { job.block_dim };
        let Ok(form) = in_turns.form(&bounds, block_dim) else { return (self, 0) };
        let (_, layout) = argument_layout(&self.params, &self.structs);
        // SAFETY: the caller vouches for the argument struct.
        let args = unsafe { std::slice::from_raw_parts(job.args.cast::<u8>(), layout.size as usize) };
        let tasks = bounds.size / u64::from(form.grid[0].max(1));
        let bytes = self.private.as_ref().map_or(0, |private| private.bytes(args, tasks));
        // Where the GPU holds all threads at once, each has one task.
        let strips = in_turns.grid == Grid::Strips && bounds.size > RESIDENT_THREADS;
        let turns = bytes > 0 || strips || self.trial.counts && self.block_sums;
        if turns { (in_turns, bytes) } else { (self, 0) }
    }

    /// The bytes of the entry's parameters: the launch, then each argument.
    fn parameters(&self, bounds: &LaunchBounds, block: &[u8]) -> Result<Vec<u8>> {
        let (offsets, _) = argument_layout(&self.params, &self.structs);
        let mut bytes = vec![0; self.code.param_bytes as usize];
        let unlike = || fail(Code::E0999, "the parameters of the PTX are not those of the kernel");
        let mut given = self.code.params.iter();
        let &(at, size) = given.next().ok_or_else(unlike)?;
        let mut launch = Vec::with_capacity(size_of::<LaunchBounds>());
        bounds.shape.iter().for_each(|extent| launch.extend_from_slice(&extent.to_le_bytes()));
        launch.extend_from_slice(&bounds.size.to_le_bytes());
        if launch.len() != size as usize || given.len() != offsets.len() {
            return Err(unlike());
        }
        bytes[at as usize..at as usize + launch.len()].copy_from_slice(&launch);
        for (&(at, size), &offset) in given.zip(&offsets) {
            let (at, size, offset) = (at as usize, size as usize, offset as usize);
            // A parameter without bytes (an empty struct) takes one.
            let size = size.min(block.len() - offset.min(block.len()));
            bytes[at..at + size].copy_from_slice(&block[offset..offset + size]);
        }
        Ok(bytes)
    }

    fn form(&self, bounds: &LaunchBounds, block_dim: u32) -> Result<Form> {
        let blocks = if self.by_block { bounds.size } else { bounds.size.div_ceil(block_dim.into()) };
        if bounds.size > i32::MAX as u64 {
            let (threads, most) = (bounds.size, i32::MAX);
            return Err(fail(Code::E1107, format!("the launch has {threads} threads; one on a GPU can have {most}")));
        }
        if let Some(threads) = self.code.required_threads.filter(|&threads| threads != u64::from(block_dim)) {
            let message = format!("the kernel is made for blocks of {threads} threads, not {block_dim}");
            return Err(fail(Code::E1006, message));
        }
        // Code for any grid is run on half of one, so that threads do several tasks; where it is
        // counted, on one that a GPU holds at once.
        let blocks = match (self.grid, self.trial.counts) {
            (Grid::Any, true) => blocks.min(RESIDENT_THREADS / u64::from(block_dim)),
            (Grid::Strips, _) => strips::threads(bounds.size, RESIDENT_THREADS).div_ceil(block_dim.into()),
            _ if self.whole_grid => blocks,
            _ => blocks.div_ceil(2),
        };
        Ok(Form::new([blocks as u32, 1, 1], [block_dim, 1, 1], self.asked_shared))
    }
}

/// How often a launch runs, and who may end it.
struct Runs<'t> {
    repeats: u64,
    trial: &'t Trial,
    stop: Option<fn() -> bool>,
}

/// Runs a launch as often as the trial asks for, and `repeats` times each; the memory that the
/// first one left, if nothing stopped it.
fn tried(
    shown: &Shown,
    form: &Form,
    params: &[u8],
    memory: Memory,
    runs: &Runs,
    report: &mut Report,
) -> Option<Memory> {
    let &Runs { repeats, trial, stop } = runs;
    let checks = Checks { races: trial.races, uninitialised: trial.uninitialised };
    let mut first: Option<Memory> = None;
    for schedule in 0..trial.schedules.max(1) {
        // The first is the order of the threads.
        let seed = (schedule > 0).then(|| trial.seed.wrapping_mul(1 << 20).wrapping_add(schedule.into()));
        let how =
            sim::How { checks, seed, limit: trial.steps, counts: trial.counts && schedule == 0, footprint: false };
        let mut now = memory.clone();
        for _ in 0..repeats {
            let stop = stop::Stop::begin(stop);
            let mut go_on = || !stop.as_ref().is_some_and(stop::Stop::says_stop);
            let outcome = sim::run(shown.code, form, params.to_vec(), now, &how, &mut go_on);
            for finding in &outcome.findings {
                let found = shown.diagnostic(finding);
                match finding.what {
                    sim::What::Visit => report.visited = report.visited.or(found.span()),
                    _ => words::note(report, found),
                }
            }
            let counted = outcome.measured.map(|measured| sim::Measured { text: shown.text.cloned(), ..measured });
            report.counted.extend(counted);
            if schedule == 0 {
                report.printed.push(&outcome.printed);
            }
            if outcome.stopped {
                return None;
            }
            now = outcome.memory;
        }
        match &first {
            None => first = Some(now),
            Some(first) => {
                if let Some(differs) = shown.differs(first, &now) {
                    words::note(report, differs);
                }
            }
        }
    }
    first
}

impl Executable for Kernel {
    unsafe fn run(&self, module: &Module, job: &Job) -> Result<Report> {
        // SAFETY: the same contract.
        let (kernel, private) = unsafe { self.chosen(job) };
        // SAFETY: the same contract.
        unsafe { kernel.run_copied(module, job, private) }
    }
}

/// kc does not understand its own PTX.
fn own_text(error: &ptx::Error, text: &str) -> Fail {
    let line = text.lines().nth(error.at.line.saturating_sub(1) as usize).unwrap_or_default();
    Box::new(messages::own_ptx(&error.message, error.at.line, line.trim()))
}

/// # Safety
/// The memory is the launch's, and nobody writes to it meanwhile.
pub(in crate::run::devices) unsafe fn host_bytes<'a>(address: u64, len: u64) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    let at: *const c_void = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(at.cast(), len as usize) }
}

/// # Safety
/// The memory is the launch's, and nobody else uses it meanwhile.
unsafe fn host_bytes_mut<'a>(address: u64, len: u64) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    let at: *mut c_void = std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(at.cast(), len as usize) }
}
