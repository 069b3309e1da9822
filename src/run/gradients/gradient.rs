//! In what order do the entries of a gradient run, and what do they share?
//!
//! A gradient run is the forward entry, then the backward entry on the same arrays. Where the
//! backward entry needs values that the launch overwrites, the augmented entry represents the
//! forward one and records them. What the compiler could not bound is measured: logs by an
//! augmented run without room on arrays that are put back afterwards; the state of loops by the
//! backward entry itself, which is run again with enough room on the gradients as they were.

use std::ffi::c_void;

use super::tape::{Taped, bytes_per_slot, most_slots, too_large};
use crate::diag::{Code, Diagnostic, Level};
use crate::ir::{Access, Derivative, FuncId, Function, Module, Op, Phase, TapeBuffer, TapeRole};
use crate::run::args::{Arguments, Snapshot};
use crate::run::devices::Report;
use crate::run::{Result, fail};
use crate::types::Type;

use crate::run::program::Program;

/// Slots of state that a thread gets at first where the compiler knows no bound.
const FIRST_SLOTS: u32 = 64;

/// The entries of a kernel besides its forward one.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    pub augmented: Option<FuncId>,
    /// None: there is nothing to differentiate.
    pub backward: Option<FuncId>,
}

/// Finds the entries of the kernel `forward`.
pub fn entries(program: &Program, forward: FuncId) -> Result<Entries> {
    let module = &program.module;
    let kernel = &module.functions[forward];
    match entries_of(module, kernel) {
        entries @ Entries { backward: Some(_), .. } => Ok(entries),
        _ if matches!(kernel.derivative, Derivative::Zero(_)) => Ok(Entries { augmented: None, backward: None }),
        _ => {
            let refused = program.diagnostics.iter().find(|d| d.level == Level::Error && d.code.is_gradient());
            let mut error = match refused {
                Some(reason) => reason.clone(),
                None => *fail(Code::E1103, format!("kernel `{}` has no backward entry", kernel.source_name)),
            };
            if refused.is_none() {
                error.notes.push(why_none(program, kernel));
            }
            Err(Box::new(error))
        }
    }
}

/// Those that there are.
pub fn entries_of(module: &Module, kernel: &Function) -> Entries {
    let find = |phase: Phase| {
        module.kernels().find(|(_, f)| f.phase == phase && f.source_name == kernel.source_name).map(|(id, _)| id)
    };
    Entries { augmented: find(Phase::Augmented), backward: find(Phase::Backward) }
}

/// Why a kernel has no backward entry although the source has no error.
fn why_none(program: &Program, kernel: &Function) -> String {
    let is_reason = |code: Code| matches!(code, Code::W0603 | Code::W0607);
    let inside = |d: &Diagnostic| {
        d.span().is_some_and(|s| s.file == kernel.span.file && s.start >= kernel.span.start && s.end <= kernel.span.end)
    };
    let reasons = || program.diagnostics.iter().filter(|d| is_reason(d.code));
    match reasons().find(|d| inside(d)).or_else(|| reasons().next()) {
        Some(reason) => format!("{}: {}", reason.code.name(), reason.message),
        None => "it is switched off with `enable_backward=False`".to_string(),
    }
}

/// Why the parameter `key` has no gradient although arrays have.
pub fn no_gradient_of(program: &Program, key: &str) -> crate::run::Fail {
    let mut error = fail(Code::E1103, format!("the argument `{key}` has no gradient"));
    let reason = program.diagnostics.iter().find(|d| d.code.name()[1..].starts_with("06"));
    error.notes.extend(reason.map(|reason| format!("{}: {}", reason.code.name(), reason.message)));
    error
}

/// Who runs the entries, and keeps what is in the arrays meanwhile. A closure runs them on arrays
/// in the memory of the host.
pub trait Runner {
    /// Runs one entry with an argument struct of its own; `more` are address and bytes of the
    /// memory that it uses besides the arrays of the launch.
    ///
    /// # Errors
    /// The launch could not be made.
    fn run(&mut self, entry: FuncId, block: *const c_void, more: &[(u64, u64)]) -> Result<Report>;

    /// Copies what the arrays hold.
    ///
    /// # Errors
    /// There is no memory for it.
    fn keep(&mut self, arguments: &Arguments) -> Result<Box<dyn Kept>> {
        Ok(Box::new(arguments.snapshot()))
    }
}

impl<F: FnMut(FuncId, *const c_void, &[(u64, u64)]) -> Result<Report>> Runner for F {
    fn run(&mut self, entry: FuncId, block: *const c_void, more: &[(u64, u64)]) -> Result<Report> {
        self(entry, block, more)
    }
}

/// What arrays held, to be put back.
pub trait Kept {
    /// Puts all of it back.
    ///
    /// # Errors
    /// The driver of a GPU refuses.
    fn restore(&self, arguments: &mut Arguments) -> Result<()>;

    /// Puts the gradient of one array back.
    ///
    /// # Errors
    /// As above.
    fn restore_gradient(&self, arguments: &mut Arguments, array: usize) -> Result<()>;
}

impl Kept for Snapshot {
    fn restore(&self, arguments: &mut Arguments) -> Result<()> {
        arguments.restore(self);
        Ok(())
    }

    fn restore_gradient(&self, arguments: &mut Arguments, array: usize) -> Result<()> {
        arguments.restore_grad(array, self);
        Ok(())
    }
}

/// Runs the backward entry alone, on arrays as the forward run left them.
pub fn backward(
    program: &Program,
    forward: FuncId,
    arguments: &mut Arguments,
    threads: u64,
    run: &mut dyn Runner,
) -> Result<Report> {
    let entries = entries(program, forward)?;
    if entries.augmented.is_some() {
        let name = &program.module.functions[forward].source_name;
        let message = format!(
            "the backward entry of kernel `{name}` needs values that the forward launch overwrites, and this launch runs it alone"
        );
        let mut error = fail(Code::E1105, message);
        error.help = Some("use the direction `gradient`, which runs both".to_string());
        return Err(error);
    }
    match entries.backward {
        Some(backward) => reverse(&program.module, forward, backward, arguments, threads, Vec::new(), run),
        None => {
            arguments.clear_parameter_gradients();
            Ok(Report::default())
        }
    }
}

/// Runs forward, then backward. The report has what the forward run printed, and the first error.
pub fn gradient(
    program: &Program,
    forward: FuncId,
    arguments: &mut Arguments,
    threads: u64,
    run: &mut dyn Runner,
) -> Result<Report> {
    let module = &program.module;
    let entries = entries(program, forward)?;
    let (mut report, logs) = match entries.augmented {
        None => (run.run(forward, arguments.block(), &[])?, Vec::new()),
        Some(augmented) => {
            let entry = &module.functions[augmented];
            let open = entry.tape.iter().any(|t| t.role == TapeRole::Log && t.slots.is_none());
            let mut slots = 0;
            if open {
                let before = run.keep(arguments)?;
                let taped = Taped::new(arguments, entry, &module.structs, |_| 0, threads, &[])?;
                run.run(augmented, taped.address(), &taped.memory)?;
                let needed = taped.needed();
                slots = needed.slots;
                before.restore(arguments)?;
                if slots > most_slots(entry, TapeRole::Log, threads) {
                    let bytes = bytes_per_slot(entry, TapeRole::Log);
                    return Err(too_large(entry, slots, Some(needed.thread), threads, bytes));
                }
            }
            let capacity = |tape: &TapeBuffer| tape.slots.unwrap_or(slots);
            let taped = Taped::new(arguments, entry, &module.structs, capacity, threads, &[])?;
            let report = run.run(augmented, taped.address(), &taped.memory)?;
            let needed = taped.needed();
            if open && needed.slots > slots {
                // Only a race can make the second run need more than the first.
                let message = format!(
                    "thread {} of kernel `{}` needs {} slots for the values that the launch overwrites, {slots} when it was measured: its threads race",
                    needed.thread, entry.source_name, needed.slots
                );
                return Err(fail(Code::E1106, message));
            }
            (report, taped.tapes)
        }
    };
    match entries.backward {
        Some(backward) if report.trap.is_none() && report.findings.iter().all(|f| f.level != Level::Error) => {
            let reversed = reverse(module, forward, backward, arguments, threads, logs, run)?;
            report.trap = reversed.trap;
            (report.note, report.visited) = (reversed.note, reversed.visited);
            report.findings.extend(reversed.findings);
        }
        Some(_) => {}
        None => arguments.clear_parameter_gradients(),
    }
    Ok(report)
}

/// Runs the backward entry with as much state as it turns out to need.
fn reverse(
    module: &Module,
    forward: FuncId,
    backward: FuncId,
    arguments: &mut Arguments,
    threads: u64,
    logs: Vec<super::tape::Tape>,
    run: &mut dyn Runner,
) -> Result<Report> {
    let entry = &module.functions[backward];
    let logs: Vec<_> = logs.into_iter().filter(super::tape::Tape::is_log).collect();
    let open = entry.tape.iter().any(|t| t.role == TapeRole::State && t.slots.is_none());
    let most = if open { most_slots(entry, TapeRole::State, threads) } else { 0 };
    let kept = kept_gradients(&module.functions[forward], arguments)?;
    let before = if open || !kept.is_empty() { Some(run.keep(arguments)?) } else { None };
    let mut slots = FIRST_SLOTS.min(most);
    loop {
        let capacity = |tape: &TapeBuffer| tape.slots.unwrap_or(slots);
        let taped = Taped::new(arguments, entry, &module.structs, capacity, threads, &logs)?;
        let report = run.run(backward, taped.address(), &taped.memory)?;
        let needed = taped.needed();
        if open && needed.slots > slots {
            // Nothing of this run stays: its gradients lack what had no room.
            before.iter().try_for_each(|before| before.restore(arguments))?;
            if needed.slots > most {
                let bytes = bytes_per_slot(entry, TapeRole::State);
                return Err(too_large(entry, needed.slots, Some(needed.thread), threads, bytes));
            }
            slots = needed.slots;
            continue;
        }
        if let Some(sums) = taped.parameter_gradients() {
            arguments.set_parameter_gradients(&sums);
        }
        for array in kept {
            before.iter().try_for_each(|before| before.restore_gradient(arguments, array))?;
        }
        return Ok(report);
    }
}

/// The arrays whose gradients a store does not clear, and that the kernel stores to and never
/// reads: their gradients stay as they are. The backward entry clears always, so one that the
/// kernel reads too is refused.
fn kept_gradients(kernel: &Function, arguments: &Arguments) -> Result<Vec<usize>> {
    let mut kept = Vec::new();
    for (n, array) in arguments.arrays.iter().enumerate() {
        if !array.retain_grad && !array.grad.as_ref().is_some_and(|g| g.external) {
            continue;
        }
        let (mut stored, mut used) = (false, false);
        let param = kernel.params().iter().find(|&&p| kernel.values[p].name.as_deref() == Some(array.key.as_str()));
        match param {
            Some(&param) if matches!(kernel.ty(param), Type::Array(_)) => {
                kernel.walk(kernel.entry, &mut |_, inst| match inst.op {
                    Op::Store { access: Access { array, .. }, .. } if array == param => stored = true,
                    Op::Extent(..) | Op::IsSet(_) | Op::Address(_) => {}
                    // Whatever else takes the array may read it.
                    _ => inst.op.for_each_operand(|v| used |= v == param),
                });
            }
            // Inside a struct: not followed.
            _ => (stored, used) = (true, true),
        }
        match (stored, used) {
            (false, _) => {}
            (true, false) => kept.push(n),
            (true, true) => {
                let message = format!(
                    "`{}` keeps its gradient through stores (`retain_grad` or `grad_external`), and the kernel reads it too: kc has no such entry",
                    array.key
                );
                return Err(fail(Code::E1103, message));
            }
        }
    }
    Ok(kept)
}
