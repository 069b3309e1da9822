//! Which code does a launch need? Small launches with atomics get code of their own, which one
//! worker runs without them.

use std::sync::OnceLock;

use super::{Device, Executable, How, Job, Report, pieces, prepare};
use crate::abi::LaunchBounds;
use crate::analysis::{grain, order};
use crate::ir::{FuncId, Module};
use crate::run::Result;
use crate::run::engine_checks::EngineChecks;
use crate::source::SourceMap;

/// An entry of a kernel on a device: compiled when it is first needed.
pub struct Entry {
    kernel: FuncId,
    device: &'static dyn Device,
    how: How,
    /// As [`grain::smallest`].
    smallest: u64,
    has_atomics: bool,
    engines: EngineChecks,
    /// For launches that workers share, and for those that one runs.
    shared: OnceLock<Box<dyn Executable>>,
    alone: OnceLock<Box<dyn Executable>>,
}

impl Entry {
    /// The entry `kernel`, not compiled yet. Whether it runs alone is for each launch to decide.
    pub fn new(module: &Module, kernel: FuncId, device: &'static dyn Device, how: How) -> Entry {
        Entry {
            kernel,
            device,
            how,
            smallest: grain::smallest(module, kernel),
            has_atomics: order::has_atomics(module, kernel),
            engines: EngineChecks::of(module, kernel),
            shared: OnceLock::new(),
            alone: OnceLock::new(),
        }
    }

    /// What it does with engines.
    pub fn engines(&self) -> &EngineChecks {
        &self.engines
    }

    /// The code for such launches, if it is there already.
    pub fn compiled(&self, bounds: &LaunchBounds, threads: usize) -> Option<&dyn Executable> {
        self.slot(self.is_alone(bounds, threads)).get().map(Box::as_ref)
    }

    /// The code for such launches; `module` is the one that the entry was made of.
    pub fn ready(&self, module: &Module, bounds: &LaunchBounds, threads: usize) -> Result<&dyn Executable> {
        let alone = self.is_alone(bounds, threads);
        let slot = self.slot(alone);
        if let Some(executable) = slot.get() {
            return Ok(executable.as_ref());
        }
        // Two threads may both compile; one's code is kept.
        let made = prepare(self.device, module, self.kernel, &How { alone, ..self.how.clone() })?;
        Ok(slot.get_or_init(|| made).as_ref())
    }

    /// Runs code of this entry, with a look at the engines that the launch is given.
    ///
    /// # Errors
    /// Those of the run, and of [`EngineChecks::check_ids`].
    ///
    /// # Safety
    /// As for [`Executable::run`].
    pub unsafe fn run(&self, code: &dyn Executable, module: &Module, sources: &SourceMap, job: &Job) -> Result<Report> {
        // SAFETY: the struct of arguments begins with those of the kernel.
        let stale = unsafe {
            self.engines.check_ids(job.args)?;
            self.engines.stale(job.args)
        };
        // SAFETY: the caller's promise.
        let mut report = unsafe { code.run(module, job) }?;
        // SAFETY: as above.
        unsafe { self.engines.after(job.args, sources) };
        report.findings.extend(stale);
        Ok(report)
    }

    fn is_alone(&self, bounds: &LaunchBounds, threads: usize) -> bool {
        self.has_atomics && pieces::workers(bounds, threads, self.smallest) == 1
    }

    fn slot(&self, alone: bool) -> &OnceLock<Box<dyn Executable>> {
        if alone { &self.alone } else { &self.shared }
    }
}
