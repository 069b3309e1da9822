//! How does the reference interpreter run a kernel?

use super::{Device, Executable, Found, How, Job, Printed, Report, Trap, TrapKind};
use crate::ir::{Access, FuncId, Module, interp};
use crate::passes::reverse_sums::{Terms, in_chains};
use crate::run::{Result, messages};
use crate::source::Span;

/// The reference interpreter: threads in order, every index tested.
pub struct Interp;

impl Device for Interp {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn about(&self) -> &'static str {
        "The reference interpreter"
    }

    fn found(&self) -> Result<Vec<Found>> {
        let about = "the reference interpreter".to_string();
        Ok(vec![Found { name: self.name().to_string(), about, facts: serde_json::Map::new() }])
    }

    fn prepare(&self, module: &Module, kernel: FuncId, _: &How) -> Result<Box<dyn Executable>> {
        Ok(Box::new(interp::Program::new(&in_chains(module, &[kernel], Terms::There), kernel)))
    }

    fn is_reference(&self) -> bool {
        true
    }
}

impl Executable for interp::Program {
    unsafe fn run(&self, module: &Module, job: &Job) -> Result<Report> {
        let (threads, most) = (job.bounds.size, interp::MOST_THREADS);
        if self.waits() && threads > most {
            let launch = format!("{threads} threads");
            let most = format!("the interpreter runs {most} together");
            return Err(messages::too_many_to_wait(self.name(), &launch, &most));
        }
        let mut printed = Printed::default();
        let mut outcome = interp::Outcome::new(|text: &str| printed.push(text.as_bytes()));
        // SAFETY: the same contract.
        unsafe { interp::Program::run(self, &job.bounds, job.args, 0, job.bounds.size, &mut outcome) };
        let trap = outcome.trap.take().map(|trap| from_interp(module, trap));
        let (note, visited) = (outcome.note.take(), outcome.visited);
        drop(outcome);
        Ok(Report { printed, trap, note, visited, ..Report::default() })
    }
}

/// A trap with the name of the array.
pub fn from_interp(module: &Module, trap: interp::Trap) -> Trap {
    let kind = match trap.kind {
        interp::TrapKind::OutOfBounds => TrapKind::OutOfBounds {
            array: array_at(module, trap.span),
            dim: trap.dim,
            index: trap.index,
            extent: trap.extent,
        },
        interp::TrapKind::Component => TrapKind::Component {
            name: Some(trap.message).filter(|name| !name.is_empty()),
            index: trap.index,
            count: trap.extent,
        },
        interp::TrapKind::Waits => TrapKind::Waits { message: trap.message },
        interp::TrapKind::Assert | interp::TrapKind::StepLimit => TrapKind::Assert { message: trap.message },
    };
    Trap { kind, span: trap.span, thread: trap.thread }
}

/// The name of the array that the access at `span` names.
fn array_at(module: &Module, span: Span) -> Option<String> {
    let mut found = None;
    for function in module.functions.values() {
        function.walk(function.entry, &mut |_, inst| {
            if let Some(Access { array, .. }) = inst.op.access()
                && inst.span == span
                && found.is_none()
            {
                found.clone_from(&function.values[*array].name);
            }
        });
    }
    found
}
