//! How does compiled code run on the cores of this machine?

use std::ffi::c_void;
use std::path::Path;

use super::idle::{self, Idle};
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
use super::leave::Call;
use super::objects::ObjectPlace;
use super::privatization::Copies;
use super::recorded::Recorded;
use super::stop::Stop;
use super::{Device, Executable, Found, How, Job, Note, Printed, Report, pieces, pool};
use crate::abi::{HostEntry, HostStatus, LaunchBounds, argument_layout};
use crate::analysis::grain;
use crate::analysis::order::{has_atomics, prints};
use crate::codegen::llvm::{Atomics, CodegenError, HostModule, HostOptions, Opt};
use crate::codegen::privatization::{ArrayArgument, privatized};
use crate::diag::{Code, Diagnostic, counted};
use crate::ir::{FuncId, FunctionKind, Module};
use crate::run::{Result, fail};
use crate::types::Type;

/// This machine: kernels are compiled and run on all cores.
pub struct Host;

impl Device for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn about(&self) -> &'static str {
        "Compiled for this machine, on all cores"
    }

    fn found(&self) -> Result<Vec<Found>> {
        let cores = pool::cores();
        let facts = [("cores".to_string(), cores.into())].into_iter().collect();
        Ok(vec![Found {
            name: self.name().to_string(),
            about: format!("this machine, {}", counted(cores, "core")),
            facts,
        }])
    }

    fn prepare(&self, module: &Module, kernel: FuncId, how: &How) -> Result<Box<dyn Executable>> {
        let sharing = sharing(module, kernel, how.alone);
        let atomics = if matches!(sharing, Sharing::Free) { Atomics::Shared } else { Atomics::Plain };
        let options = HostOptions { checked: how.checked, opt: Opt::Full, cpu: how.cpu, atomics };
        let code = code(module, kernel, &options, how.objects.as_deref()).map_err(|e| Box::new(Diagnostic::from(e)))?;
        let entry = code.entry(kernel).ok_or_else(|| fail(Code::E0999, "the host code has no entry"))?;
        let (smallest, idle) = (grain::smallest(module, kernel), Idle::of(module, kernel));
        Ok(Box::new(Compiled { code, entry, sharing, smallest, idle }))
    }
}

/// The code of a kernel: what was kept of it in a folder, or else made now.
fn code(
    module: &Module,
    kernel: FuncId,
    options: &HostOptions,
    objects: Option<&Path>,
) -> std::result::Result<HostModule, CodegenError> {
    let Some(place) = objects.and_then(|folder| ObjectPlace::of(folder, module, kernel, options)) else {
        return HostModule::compile(module, &[kernel], options);
    };
    let kept = place.read().and_then(|object| HostModule::link(module, &[kernel], options, &object).ok());
    if let Some(code) = kept {
        return Ok(code);
    }
    let (code, object) = HostModule::compile_to_keep(module, &[kernel], options)?;
    if let Some(object) = object {
        place.write(&object);
    }
    Ok(code)
}

/// A kernel as machine code.
pub struct Compiled {
    code: HostModule,
    entry: HostEntry,
    sharing: Sharing,
    /// As [`grain::smallest`].
    smallest: u64,
    /// What threads need not run.
    idle: Option<Idle>,
}

impl Compiled {
    /// A kernel of compiled code, to be run by one worker.
    pub fn alone(code: HostModule, entry: HostEntry) -> Compiled {
        Compiled { code, entry, sharing: Sharing::Alone, smallest: u64::MAX, idle: None }
    }
}

impl Executable for Compiled {
    unsafe fn run(&self, _: &Module, job: &Job) -> Result<Report> {
        // SAFETY: the same contract.
        let run = |job: &Job| unsafe { run_host(&self.code, self.entry, &self.sharing, self.smallest, job) };
        // SAFETY: as above.
        let Some(bounds) = self.idle.as_ref().and_then(|idle| unsafe { idle.bounds(job) }) else { return Ok(run(job)) };
        let mut report = run(&Job { bounds, ..*job });
        let whole = |thread: &mut u64| *thread = idle::number(*thread, &bounds, &job.bounds);
        report.trap.iter_mut().for_each(|trap| whole(&mut trap.thread));
        report.note.iter_mut().for_each(|note| whole(&mut note.thread));
        Ok(report)
    }
}

/// Threads that run between two looks at the clock.
const MOST_UNASKED: u64 = 4096;

/// How workers may share a launch on the host.
#[derive(Clone, Debug)]
enum Sharing {
    /// Not at all: one runs it.
    Alone,
    /// As they like.
    Free,
    /// In parts, each with copies of those of these arrays that it adds to, if the launch has no
    /// more dimensions than the kernel's `rank`. The argument struct has `args` bytes.
    Copies { arrays: Vec<ArrayArgument>, rank: usize, args: usize },
}

/// How workers may share launches of a kernel.
fn sharing(module: &Module, kernel: FuncId, alone: bool) -> Sharing {
    if alone || prints(module, kernel) {
        return Sharing::Alone;
    }
    let function = &module.functions[kernel];
    let FunctionKind::Kernel { rank } = function.kind else { return Sharing::Alone };
    match has_atomics(module, kernel).then(|| privatized(module, kernel)).flatten() {
        None => Sharing::Free,
        Some(arrays) => {
            let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
            let args = argument_layout(&types, &module.structs).1.size as usize;
            Sharing::Copies { arrays, rank: rank.into(), args }
        }
    }
}

/// What the workers of a host launch share.
struct WorkerContext<'a> {
    entry: HostEntry,
    bounds: &'a LaunchBounds,
    args: *const c_void,
    status: *mut HostStatus,
    stop: Option<&'a Stop>,
}

// SAFETY: the code is reentrant, claims the status atomically, and the arrays are the kernel's own
// business (rule 15 of the IR).
unsafe impl Sync for WorkerContext<'_> {}

impl WorkerContext<'_> {
    /// Runs the threads `begin..end`.
    fn run(&self, begin: u64, end: u64) {
        // SAFETY: the caller of `run_host` promises arguments that fit; `status` outlives the
        // launch.
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
        if let Some(stop) = self.stop {
            let (bounds, args, status, entry) = (self.bounds, self.args, self.status, self.entry);
            return unsafe { super::leave::enter(&Call { bounds, args, begin, end, status, entry }, stop) };
        }
        // SAFETY: as above.
        unsafe { (self.entry)(self.bounds, self.args, begin, end, self.status) }
    }
}

/// Runs compiled code: in order on this thread if it must be alone or the launch is small, else in
/// pieces on all cores.
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
        note: 0,
        visited: 0,
        note_thread: 0,
    };
    let stop = Stop::begin(job.stop);
    let stop = stop.as_ref();
    let shared = WorkerContext { entry, bounds: &job.bounds, args: job.args, status: &raw mut status, stop };
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
                copies = unsafe { Copies::new(arrays, job.args, *args, workers, &job.bounds, smallest) };
            }
            if copies.is_none() {
                workers = 1;
            }
        }
    }
    // The caller for the end knows that the launch is not complete.
    let step = smallest.clamp(1, MOST_UNASKED);
    let run = |own: &WorkerContext, begin: u64, end: u64| match stop.filter(|_| size > step) {
        None => own.run(begin, end),
        Some(stop) => {
            let mut at = begin;
            while at < end && !stop.says_stop() {
                let next = end.min(at + step);
                own.run(at, next);
                at = next;
            }
        }
    };
    let ask = || _ = stop.map(Stop::says_stop_now);
    let asked = stop.is_some().then_some(&ask as &dyn Fn());
    if workers == 1 {
        run(&shared, 0, size);
    } else {
        let shared = &shared;
        let cut = copies.as_ref().and_then(Copies::cut);
        let piece = match copies {
            Some(_) => pieces::part(&job.bounds, workers),
            None => pieces::chunk(&job.bounds, workers, smallest),
        };
        let args = |n: u64| copies.as_ref().and_then(|copies: &Copies| copies.args(n as usize)).unwrap_or(shared.args);
        let run_piece = |n: u64| {
            let own = args(n);
            let (begin, end) = cut.map_or_else(|| (n * piece, ((n + 1) * piece).min(size)), |cut| cut.piece(n));
            run(&WorkerContext { args: own, ..*shared }, begin, end);
        };
        // Pieces are found by their number: a launch may have far more threads than a list could
        // hold.
        pool::for_each_asked(workers, cut.map_or(size.div_ceil(piece), |cut| cut.count()), &run_piece, asked);
        if let Some(cut) = cut {
            if cut.head > 0 {
                run(shared, 0, cut.head);
            }
            let gaps = if cut.gap == 0 { 0 } else { cut.count() - 1 };
            let workers = if gaps * cut.gap < smallest { 1 } else { workers };
            let run_gap = |n: u64| {
                let (begin, end) = cut.gap(n);
                // Gaps are apart in some arrays, and need copies of the others as pieces do.
                run(&WorkerContext { args: args(n), ..*shared }, begin, end);
            };
            pool::for_each_asked(workers, gaps, &run_gap, asked);
        }
        if let Some(copies) = copies {
            // SAFETY: the run is over, and its arrays are still there.
            unsafe { copies.merge(workers) };
        }
    }
    let recorded =
        Recorded { kind: status.kind, site: status.site, dim: status.dim, extent: status.extent, index: status.index };
    let trap = (status.kind != HostStatus::OK).then(|| recorded.trap(code.sites(), status.thread));
    let note = status.note.checked_sub(1).and_then(|number| {
        let site = code.sites().get(number)?;
        Some(Note { span: site.span, thread: status.note_thread, why: site.description.clone() })
    });
    let visited = status.visited.checked_sub(1).and_then(|number| code.sites().get(number)).map(|site| site.span);
    Report { printed, trap, note, visited, ..Report::default() }
}

/// Takes a printed text; `user` is a [`Printed`].
unsafe extern "C" fn receive(user: *mut c_void, text: *const u8, len: u64) {
    // SAFETY: `user` is the `Printed` of `run_host`, and only kernels that run on one thread print;
    // the text is the kernel's buffer.
    unsafe { (*user.cast::<Printed>()).push(std::slice::from_raw_parts(text, len as usize)) }
}
