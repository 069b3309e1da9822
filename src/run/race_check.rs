//! The dynamic race check. Where static analysis cannot rule data races out, a checked run first
//! replays the launch on the interpreter.
//!
//! What counts is stated at [`crate::ir::interp::Accesses`]; what is proved, at
//! [`crate::analysis::independence`]. A kernel that is proved costs a look at its instructions,
//! once for each shape of launch.

use crate::run::messages;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi::LaunchBounds;
use crate::analysis::independence::{Meetings, meetings};
use crate::analysis::ownership::IndexFacts;
use crate::analysis::ranges::LaunchFacts;
use crate::diag::{Code, Diagnostic};
use crate::ids::IdSet;
use crate::ir::interp::{self, AccessKind, Accesses, Clash, Outcome, Visit};
use crate::ir::{Derivative, FuncId, Function, FunctionKind, Module};
use crate::passes::pipelines::flat;
use crate::run::args::{Arguments, memory};
use crate::run::devices::engines::Gradients;
use crate::run::devices::{self, Report};
use crate::run::engine_checks::EngineChecks;
use crate::run::gradients::gradient;
use crate::run::launch::Direction;
use crate::run::program::Program;
use crate::run::{Fail, Result, fail};
use crate::source::Span;
use crate::types::{StructTable, Type};

/// The instructions that are looked at: a second of the interpreter, about.
static STEPS: AtomicU64 = AtomicU64::new(50_000_000);

/// Has other launches of this process looked at for so many instructions.
pub fn look_for(steps: u64) {
    STEPS.store(steps, Ordering::Relaxed);
}

/// What is known of the threads of a kernel.
pub struct Threads {
    forward: FuncId,
    /// Without calls; None: too large for that.
    flat: Option<Function>,
    /// It calls a function of arrays whose gradient the source states: what that does to gradients
    /// is not proved.
    custom: bool,
    engines: EngineChecks,
    /// Of the launch before this one.
    last: Mutex<Option<(LaunchFacts, Meetings)>>,
}

/// A launch that is to be looked at.
pub struct Looked<'a> {
    pub program: &'a Program,
    pub direction: Direction,
    pub bounds: &'a LaunchBounds,
    /// Nothing is run to look: the number is that of no thread where the launch does not prove that
    /// there is nothing to see.
    pub only_proves: bool,
}

impl Threads {
    pub fn of(module: &Module, forward: FuncId) -> Threads {
        let takes_arrays = |f: &Function| f.params().iter().any(|&p| f.ty(p).bears_array(&module.structs));
        let mut reached = module.reached_from(forward).into_iter().map(|id| &module.functions[id]);
        let custom = reached.any(|f| matches!(f.derivative, Derivative::Rule { .. }) && takes_arrays(f));
        let engines = EngineChecks::of(module, forward);
        Threads { forward, flat: flat(module, forward), custom, engines, last: Mutex::new(None) }
    }

    fn meetings(&self, structs: &StructTable, facts: LaunchFacts) -> Meetings {
        let Some(flat) = &self.flat else { return Meetings::default() };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, meetings)) if *known == facts => meetings.clone(),
            _ => {
                let found = meetings(flat, structs, &IndexFacts::of_launch(flat, &facts));
                *last = Some((facts, found.clone()));
                found
            }
        }
    }

    /// Fails where the order of two threads shows in what the launch leaves, or in its gradient.
    /// The arrays are as before afterwards. Gives the number of threads that were looked at: None
    /// where there was nothing to look at, fewer than the launch has where it takes longer than
    /// [`STEPS`], none where there is no room for a copy of the arrays.
    pub fn check(&self, looked: &Looked, arguments: &mut Arguments) -> Result<Option<u64>> {
        let Looked { program, direction, bounds, only_proves } = *looked;
        let module = &program.module;
        let kernel = &module.functions[self.forward];
        let FunctionKind::Kernel { rank } = kernel.kind else { return Ok(None) };
        let mut meetings = self.meetings(&module.structs, arguments.launch_facts(kernel, &module.structs, bounds));
        let gradient = direction != Direction::Forward;
        // A read of such elements is harmless; adjoints are added to them as if each were its
        // thread's own.
        let overlapping = if gradient { arguments.gradient_that_overlaps_itself(&module.structs) } else { None };
        if let Some(array) = overlapping {
            let message =
                format!("elements of `{0}` share memory by its strides, and so do those of its gradient", array.key);
            let mut error = fail(Code::E1108, message);
            error.help = Some("pass a copy whose elements are apart, and sum its gradient".to_string());
            return Err(error);
        }
        if meetings.reads_memory && !meetings.written.is_empty() && meetings.arrays.is_some() {
            let is_written = |root: &_| meetings.written.contains(root);
            let written = arguments.arrays_of(kernel, &module.structs, is_written, is_written);
            let ranges = written.iter().flat_map(|a| arguments.addresses(a, &module.structs));
            let ranges: Vec<(u64, u64)> = ranges.map(|(start, end)| (start, end - start)).collect();
            // SAFETY: the block is that of a launch of this kernel.
            if !unsafe { self.engines.are_apart(arguments.block(), &ranges) } {
                meetings.arrays = None;
            }
        }
        let repeats = bounds.shape.get(usize::from(rank)..).is_some_and(|more| more.iter().any(|&n| n > 1));
        if repeats || gradient && self.custom {
            meetings.arrays = None;
        }
        let shared = |root: &_| meetings.arrays.as_ref().is_none_or(|arrays| arrays.contains(root));
        let written = |root: &_| meetings.written.contains(root);
        let arrays = arguments.arrays_of(kernel, &module.structs, shared, written);
        if arrays.is_empty() || bounds.size < 2 || meetings.arrays.is_none() && is_read_only(&meetings, self, gradient)
        {
            return Ok(None);
        }
        // Threads that wait for each other do not run one after the other.
        if only_proves || module.grid_sync_below(self.forward).is_some() {
            return Ok(Some(0));
        }
        let watched: Vec<(u64, u64)> = arrays.iter().flat_map(|a| arguments.addresses(a, &module.structs)).collect();
        let mut ignored = meetings.ignored;
        if !gradient {
            ignored.extend(meetings.arranged);
        }
        let bytes: u64 = arguments.memory().iter().map(|&(_, bytes)| bytes).sum();
        if !memory::allows(bytes, 2) {
            return Ok(Some(0));
        }
        let params: Vec<Type> = kernel.params().iter().map(|&param| kernel.ty(param)).collect();
        // SAFETY: the block is that of a launch of this kernel, which has not begun.
        let behind = unsafe { Gradients::of(arguments.block(), &params, &module.structs) };
        let before = arguments.snapshot();
        if gradient {
            // A gradient that is zero in this run would hide where threads meet in it.
            for array in arguments.arrays.clone() {
                let ones = vec![1.0; arguments.floats(&array, true, &module.structs).len()];
                arguments.set_floats(&array, true, &module.structs, &ones);
            }
        }
        let mut run = Run { looked, watched, ignored, threads: None, clash: None };
        let mut one = |entry: FuncId, args: *const c_void, _: &[(u64, u64)]| run.one(entry, args);
        // What else goes wrong is for the run itself to tell.
        let _ = match direction {
            Direction::Forward => one(self.forward, arguments.block(), &[]),
            Direction::Backward => gradient::backward(program, self.forward, arguments, bounds.size, &mut one),
            Direction::Gradient => gradient::gradient(program, self.forward, arguments, bounds.size, &mut one),
        };
        let (threads, clash) = (run.threads, run.clash);
        arguments.restore(&before);
        // SAFETY: as above; the run is over.
        unsafe { behind.put_back() };
        match clash {
            Some(clash) => {
                let place = arguments.element_at(clash.address, &module.structs);
                Err(report(&clash, place, bounds, rank.into(), gradient))
            }
            None => Ok(threads),
        }
    }
}

/// Nothing is written, as far as is known.
fn is_read_only(meetings: &Meetings, threads: &Threads, gradient: bool) -> bool {
    threads.flat.is_some() && meetings.written.is_empty() && !gradient
}

/// The entries of a launch on the interpreter.
struct Run<'a> {
    looked: &'a Looked<'a>,
    watched: Vec<(u64, u64)>,
    ignored: IdSet<Span>,
    /// Of the entry that came least far: how many threads ran.
    threads: Option<u64>,
    clash: Option<Clash>,
}

impl Run<'_> {
    fn one(&mut self, entry: FuncId, args: *const c_void) -> Result<Report> {
        let (module, bounds) = (&self.looked.program.module, self.looked.bounds);
        let mut outcome = Outcome::new(|_| {});
        outcome.steps = Some(STEPS.load(Ordering::Relaxed));
        outcome.accesses = Some(Accesses::new(self.watched.clone(), self.ignored.clone()));
        let program = interp::Program::new(module, entry);
        let mut threads = 0;
        while threads < bounds.size && outcome.steps != Some(0) {
            let end = threads.saturating_add(1024).min(bounds.size);
            // SAFETY: `args` was made for this entry, and nothing else runs on its arrays.
            unsafe { program.run(bounds, args, threads, end, &mut outcome) };
            let Some(accesses) = &outcome.accesses else { break };
            self.clash = accesses.clash;
            // What a thread did that did not fit in is not known, so it does not count.
            if self.clash.is_some() || accesses.is_full() {
                break;
            }
            threads = end;
        }
        let stopped = outcome.trap.as_ref().filter(|trap| trap.kind == interp::TrapKind::StepLimit);
        let looked = stopped.map_or(threads, |trap| trap.thread);
        self.threads = Some(self.threads.map_or(looked, |before| before.min(looked)));
        match self.clash {
            // Ends the run; the caller knows why.
            Some(_) => Err(fail(Code::E1108, "threads meet")),
            None => Ok(Report::default()),
        }
    }
}

/// What to tell of a launch that was looked at in part.
pub fn partly(looked: Option<u64>, threads: u64, kernel: Span) -> Option<Diagnostic> {
    let looked = looked.filter(|&looked| looked < threads)?;
    let help = match looked {
        0 => "one thread takes too long, or there is no room for a copy of the arrays: a smaller launch is looked at",
        _ => "a smaller launch is looked at to its end",
    };
    Some(messages::partly_checked(&grouped(looked), &grouped(threads), help, kernel))
}

/// A number with its thousands apart.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (head, rest) = digits.split_at(first);
    let rest = rest.as_bytes().chunks(3).map(|three| format!(",{}", String::from_utf8_lossy(three)));
    head.to_string() + &rest.collect::<String>()
}

fn report(clash: &Clash, place: Option<String>, bounds: &LaunchBounds, rank: usize, gradient: bool) -> Fail {
    let Clash { earlier, later, .. } = clash;
    let thread = |visit: &Visit| {
        let at: Vec<String> = devices::coordinates(bounds, rank, visit.thread).iter().map(u64::to_string).collect();
        at.join(", ")
    };
    let place = place.map_or("one element".to_string(), |place| format!("`{place}`"));
    let what = if gradient { "the result, or its gradient," } else { "the result" };
    let message = format!(
        "threads ({}) and ({}) meet at {place}: {what} depends on which comes first",
        thread(earlier),
        thread(later)
    );
    let does = |visit: &Visit| {
        let what = match visit.kind {
            AccessKind::Read => "reads it here",
            AccessKind::Write { .. } => "stores to it here",
            AccessKind::Atomic(_) => "updates it here",
        };
        format!("thread ({}) {what}", thread(visit))
    };
    let mut error = fail(Code::E1108, message);
    let both_store = [earlier, later].iter().all(|visit| matches!(visit.kind, AccessKind::Write { .. }));
    let one_place = earlier.span == later.span && earlier.kind == later.kind;
    let first = if one_place { "both threads come here".to_string() } else { does(later) };
    *error = (*error).label(later.span, first);
    if !one_place {
        *error = (*error).label(earlier.span, does(earlier));
    }
    error.help = Some(
        match both_store {
            true => "use `wp.atomic_add`, or give each thread elements of its own",
            false => "read from one array and write to another, or use two launches",
        }
        .to_string(),
    );
    error
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_apart() {
        let shown = [0, 7, 999, 1000, 8325, 200_000, 12_345_678].map(grouped);
        assert_eq!(shown, ["0", "7", "999", "1,000", "8,325", "200,000", "12,345,678"]);
    }
}
