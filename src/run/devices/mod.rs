//! On what does a kernel run? One small interface over the interpreter, the compiled host code and GPUs.

mod copies;
pub mod gpu;
pub mod pieces;

use std::ffi::c_void;

use crate::run::devices::copies::Copies;
use crate::run::{Result, fail};
use rayon::prelude::*;

use crate::abi::{HostEntry, HostStatus, LaunchBounds, argument_layout};
use crate::codegen::llvm::{Cpu, HostModule, HostOptions, Opt};
use crate::codegen::reduced::{ArrayArgument, reduced};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, AtomicOp, FuncId, Function, FunctionKind, Inst, Module, Op, ValueId, interp};
use crate::source::{FileId, Span};
use crate::types::Type;

/// Where kernels run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Device {
    /// Compiled, on all cores.
    Host,
    /// The reference interpreter.
    Interp,
    /// The first NVIDIA GPU.
    Cuda,
}

/// One launch, ready to go.
pub struct Job<'a> {
    pub bounds: LaunchBounds,
    /// The argument struct of [`crate::abi::argument_layout`].
    pub args: *const c_void,
    /// Worker threads; 0: one per core.
    pub threads: usize,
    /// Threads in a block of the GPU.
    pub block_dim: u32,
    /// Address and bytes of all memory that the arrays lie in: a GPU works on a copy of it.
    pub memory: &'a [(u64, u64)],
}

/// What came of a launch, besides the contents of its arrays.
#[derive(Debug, Default)]
pub struct Report {
    pub printed: Printed,
    pub trap: Option<Trap>,
    /// Of the kernel alone, where the device tells.
    pub seconds: Option<f64>,
}

/// An error of a run; the first thread that met one tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    pub kind: TrapKind,
    /// The access or the assertion.
    pub span: Span,
    /// Linear index of the thread.
    pub thread: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TrapKind {
    /// `array` is the array's name in the source, where it has one; `index` is as written, before the extent is added.
    OutOfBounds {
        array: Option<String>,
        dim: u32,
        index: i64,
        extent: i64,
    },
    Assert {
        message: String,
    },
}

/// What a kernel printed, up to a limit: a runaway kernel must not fill the memory.
#[derive(Debug, Default)]
pub struct Printed {
    pub bytes: Vec<u8>,
    truncated: bool,
}

impl Printed {
    const LIMIT: usize = 64 << 20;

    pub fn push(&mut self, text: &[u8]) {
        if self.bytes.len() + text.len() <= Self::LIMIT {
            self.bytes.extend_from_slice(text);
        } else if !self.truncated {
            self.truncated = true;
            self.bytes.extend_from_slice(b"\n... further output was dropped\n");
        }
    }
}

/// Does a thread of the kernel print? Such kernels run in order on one thread, so that the output is always the same.
pub fn prints(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |_, inst| matches!(inst.op, Op::Print { .. }))
}

/// Does a thread of the kernel update memory atomically?
pub fn has_atomics(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |_, inst| matches!(inst.op, Op::Atomic { .. } | Op::AtomicCas { .. }))
}

/// Can the order in which threads reach their atomic updates show in the results? Sums of floats round by their order, and
/// old values tell who came first; sums, minima and the like of integers come out the same in any order.
pub fn order_shows(module: &Module, kernel: FuncId) -> bool {
    reaches(module, kernel, |function, inst| match &inst.op {
        Op::Atomic { op, value, .. } => {
            let rounds =
                matches!(op, AtomicOp::Add | AtomicOp::Sub) && function.ty(*value).holds_floats(&module.structs);
            rounds || *op == AtomicOp::Exchange || inst.results.iter().any(|&old| is_used(function, old))
        }
        Op::AtomicCas { .. } => true,
        _ => false,
    })
}

fn is_used(function: &Function, value: ValueId) -> bool {
    let mut used = false;
    function.walk(function.entry, &mut |_, inst| inst.op.for_each_operand(|v| used |= v == value));
    used
}

/// Whether some instruction of the kernel, or of what it calls, is such an operation.
fn reaches(module: &Module, kernel: FuncId, test: impl Fn(&Function, &Inst) -> bool) -> bool {
    module.reached_from(kernel).into_iter().any(|id| {
        let function = &module.functions[id];
        let mut found = false;
        function.walk(function.entry, &mut |_, inst| found |= test(function, inst));
        found
    })
}

/// The coordinates of a thread: as many as the launch has dimensions.
pub fn coordinates(bounds: &LaunchBounds, dims: usize, thread: u64) -> Vec<u64> {
    let mut rest = thread;
    let mut at = vec![0; dims.clamp(1, bounds.shape.len())];
    for (c, &n) in at.iter_mut().zip(&bounds.shape).rev() {
        *c = rest % u64::from(n.max(1));
        rest /= u64::from(n.max(1));
    }
    at
}

/// A kernel made ready for a device.
pub enum Executable {
    Gpu(gpu::Kernel),
    Interp(interp::Program),
    /// `smallest`: as [`pieces::smallest`].
    Host {
        code: HostModule,
        entry: HostEntry,
        sharing: Sharing,
        smallest: u64,
    },
}

/// How workers may share a launch on the host.
#[derive(Clone, Debug)]
pub enum Sharing {
    /// Not at all: one runs it.
    Alone,
    /// As they like.
    Free,
    /// In parts, each with copies of those of these arrays that it adds to, if the launch has no more dimensions than the kernel's `rank`. The argument
    /// struct has `args` bytes.
    Copies { arrays: Vec<ArrayArgument>, rank: usize, args: usize },
}

/// Makes a kernel ready for launches like this one, as it is compiled by default.
pub fn prepare_for(
    module: &Module,
    kernel: FuncId,
    device: Device,
    checked: bool,
    bounds: &LaunchBounds,
    threads: usize,
) -> Result<Executable> {
    let alone = pieces::workers(bounds, threads, pieces::smallest(module, kernel)) == 1 && has_atomics(module, kernel);
    prepare(module, kernel, device, checked, true, alone)
}

/// Makes a kernel ready to run. The interpreter checks indices in any case, a GPU never; `fmad`: a GPU may fuse a * b + c.
/// `alone` is for launches that one worker runs: then host code needs no atomics.
pub fn prepare(
    module: &Module,
    kernel: FuncId,
    device: Device,
    checked: bool,
    fmad: bool,
    alone: bool,
) -> Result<Executable> {
    if let Some(text) = module.native_below(kernel, |_| true) {
        let (kernel, span) = (&module.functions[kernel].source_name, module.functions[text].span);
        let error = fail(Code::E0821, format!("kernel `{kernel}` calls a function whose body is CUDA text"));
        return Err(Box::new(error.label(span, "it only runs where `--emit cuda` is compiled")));
    }
    match device {
        Device::Interp => Ok(Executable::Interp(interp::Program::new(module, kernel))),
        Device::Host => {
            let sharing = sharing(module, kernel, alone);
            let alone = !matches!(sharing, Sharing::Free);
            let options = HostOptions { checked, opt: Opt::Full, cpu: Cpu::Native, alone };
            let code = HostModule::compile(module, &[kernel], &options).map_err(|e| Box::new(Diagnostic::from(e)))?;
            let entry = code.entry(kernel).ok_or_else(|| fail(Code::E0999, "the host code has no entry"))?;
            Ok(Executable::Host { code, entry, sharing, smallest: pieces::smallest(module, kernel) })
        }
        Device::Cuda => Ok(Executable::Gpu(gpu::Kernel::load(module, kernel, fmad)?)),
    }
}

/// How workers may share launches of a kernel.
fn sharing(module: &Module, kernel: FuncId, alone: bool) -> Sharing {
    if alone || prints(module, kernel) {
        return Sharing::Alone;
    }
    let function = &module.functions[kernel];
    let FunctionKind::Kernel { rank } = function.kind else { return Sharing::Alone };
    match has_atomics(module, kernel).then(|| reduced(module, kernel)).flatten() {
        None => Sharing::Free,
        Some(arrays) => {
            let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
            let args = argument_layout(&types, &module.structs).1.size as usize;
            Sharing::Copies { arrays, rank: rank.into(), args }
        }
    }
}

impl Executable {
    /// Runs a launch.
    ///
    /// # Safety
    /// `job.args` points to the argument struct of the kernel, whose arrays are null or describe valid memory that nobody
    /// else uses meanwhile.
    pub unsafe fn run(&self, module: &Module, job: &Job) -> Result<Report> {
        Ok(match self {
            Executable::Interp(program) => {
                let mut printed = Printed::default();
                let mut outcome = interp::Outcome::new(|text: &str| printed.push(text.as_bytes()));
                // SAFETY: the same contract.
                unsafe { program.run(&job.bounds, job.args, 0, job.bounds.size, &mut outcome) };
                let trap = outcome.trap.take().map(|trap| from_interp(module, trap));
                drop(outcome);
                Report { printed, trap, seconds: None }
            }
            // SAFETY: the same contract.
            Executable::Host { code, entry, sharing, smallest } => unsafe {
                run_host(code, *entry, sharing, *smallest, job)
            },
            // SAFETY: the same contract; `job.memory` holds all arrays.
            Executable::Gpu(kernel) => unsafe { kernel.run(job)? },
        })
    }
}

/// What the workers of a host launch share.
struct Shared<'a> {
    entry: HostEntry,
    bounds: &'a LaunchBounds,
    args: *const c_void,
    status: *mut HostStatus,
}

// SAFETY: the code is reentrant, claims the status atomically, and the arrays are the kernel's own business (rule 15 of
// the IR).
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    /// Runs the threads `begin..end`.
    fn run(&self, begin: u64, end: u64) {
        // SAFETY: the caller of `run_host` promises arguments that fit; `status` outlives the launch.
        unsafe { (self.entry)(self.bounds, self.args, begin, end, self.status) }
    }
}

/// Runs compiled code: in order on this thread if it must be alone or the launch is small, else in pieces on all cores.
///
/// # Safety
/// As for [`Executable::run`].
unsafe fn run_host(code: &HostModule, entry: HostEntry, sharing: &Sharing, smallest: u64, job: &Job) -> Report {
    let mut printed = Printed::default();
    let mut status = HostStatus {
        kind: HostStatus::OK,
        site: 0,
        dim: 0,
        extent: 0,
        index: 0,
        thread: 0,
        print: Some(receive),
        user: (&raw mut printed).cast(),
    };
    let shared = Shared { entry, bounds: &job.bounds, args: job.args, status: &raw mut status };
    let size = job.bounds.size;
    let mut workers = pieces::workers(&job.bounds, job.threads, smallest);
    let mut copies = None;
    match sharing {
        Sharing::Alone => workers = 1,
        Sharing::Free => {}
        Sharing::Copies { arrays, rank, args } => {
            let repeats = job.bounds.shape.get(*rank..).unwrap_or_default().iter().any(|&n| n != 1);
            if workers > 1 && !repeats {
                // SAFETY: the argument struct has that many bytes.
                copies = unsafe { Copies::new(arrays, job.args, *args, workers, size) };
            }
            if copies.is_none() {
                workers = 1;
            }
        }
    }
    if workers == 1 {
        shared.run(0, size);
    } else {
        let shared = &shared;
        let piece = match copies {
            Some(_) => pieces::part(&job.bounds, workers),
            None => pieces::chunk(&job.bounds, workers, smallest),
        };
        let run = |n: u64| {
            let own = copies.as_ref().and_then(|copies: &Copies| copies.args(n as usize)).unwrap_or(shared.args);
            Shared { args: own, ..*shared }.run(n * piece, ((n + 1) * piece).min(size));
        };
        let all = || {
            // Chunks are found by their number: a launch may have far more threads than a list could hold.
            (0..size.div_ceil(piece)).into_par_iter().for_each(run);
        };
        match rayon::ThreadPoolBuilder::new().num_threads(workers).build() {
            Ok(pool) if job.threads != 0 => pool.install(all),
            // The shared pool has one worker per core.
            _ => all(),
        }
        if let Some(copies) = copies {
            // SAFETY: the run is over, and its arrays are still there.
            unsafe { copies.merge() };
        }
    }
    let trap = (status.kind != HostStatus::OK).then(|| from_host(code, &status));
    Report { printed, trap, seconds: None }
}

/// Takes a printed text; `user` is a [`Printed`].
unsafe extern "C" fn receive(user: *mut c_void, text: *const u8, len: u64) {
    // SAFETY: `user` is the `Printed` of `run_host`, and only kernels that run on one thread print; the text is the
    // kernel's buffer.
    unsafe { (*user.cast::<Printed>()).push(std::slice::from_raw_parts(text, len as usize)) }
}

fn from_host(code: &HostModule, status: &HostStatus) -> Trap {
    let site = code.sites().get(status.site as usize);
    let description = site.map(|s| s.description.clone()).unwrap_or_default();
    let kind = match status.kind {
        HostStatus::OUT_OF_BOUNDS => TrapKind::OutOfBounds {
            array: Some(description).filter(|name| !name.is_empty()),
            dim: status.dim,
            index: status.index,
            extent: status.extent.into(),
        },
        _ => TrapKind::Assert { message: description },
    };
    let nowhere = Span::new(FileId(0), 0, 0);
    Trap { kind, span: site.map_or(nowhere, |s| s.span), thread: status.thread }
}

/// The same with the name of the array.
pub fn from_interp(module: &Module, trap: interp::Trap) -> Trap {
    let kind = match trap.kind {
        interp::TrapKind::OutOfBounds => TrapKind::OutOfBounds {
            array: array_at(module, trap.span),
            dim: trap.dim,
            index: trap.index,
            extent: trap.extent,
        },
        interp::TrapKind::Assert | interp::TrapKind::StepLimit => TrapKind::Assert { message: trap.message },
    };
    Trap { kind, span: trap.span, thread: trap.thread }
}

/// The name of the array that the access at `span` names.
fn array_at(module: &Module, span: Span) -> Option<String> {
    let mut found = None;
    for function in module.functions.values() {
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Load(Access { array, .. })
            | Op::Store { access: Access { array, .. }, .. }
            | Op::Atomic { access: Access { array, .. }, .. }
            | Op::AtomicCas { access: Access { array, .. }, .. } = &inst.op
                && inst.span == span
                && found.is_none()
            {
                found.clone_from(&function.values[*array].name);
            }
        });
    }
    found
}
