//! What does a fault look like in CUDA, and what does a GPU make of it? The texts are those that kc
//! prints of both programs. The PTX of the faulty one runs on the simulator.

use super::Class;
use super::trial::{difference, said};
use crate::codegen::llvm::{Grid, PtxOptions};
use crate::dataset::Emit;
use crate::dataset::artefacts::{self, Compiled};
use crate::dataset::launch::BLOCK_DIM;
use crate::dataset::verify::{Case, STEPS};
use crate::driver::Timings;
use crate::run::args::Arguments;
use crate::run::devices::{Executable, Job, Report, Trial, sim};
use crate::run::launch::Direction;

/// A fault in CUDA.
pub struct InCuda {
    pub buggy: String,
    pub fixed: String,
    /// What goes wrong on the simulator, in one line.
    pub failure: String,
}

/// The fault of a launch. None: the texts are the same, or the simulator does not show it.
pub fn of(class: Class, right: &Case, wrong: &Case, expected: &Arguments) -> Option<InCuda> {
    let text = |compiled: &Compiled| {
        let emit = Emit { cuda: true, ..Emit::default() };
        artefacts::texts(compiled, emit, &mut Timings::default()).ok()?.cuda_forward
    };
    let (fixed, buggy) = (text(right.compiled)?, text(wrong.compiled)?);
    if fixed == buggy {
        return None;
    }
    // What the simulator finds in the right program too is not the fault.
    let (clean, _) = run(right)?;
    if clean.trap.is_some() || !clean.findings.is_empty() {
        return None;
    }
    let (report, found) = run(wrong)?;
    let failure = match class {
        Class::Semantic if report.trap.is_none() && report.findings.is_empty() => {
            difference(expected, &found, right.compiled, wrong.compiled)?
        }
        Class::Race | Class::Bounds => said(report.findings.first()?),
        _ => return None,
    };
    Some(InCuda { buggy, fixed, failure })
}

/// What the simulator says of a launch, and what it leaves.
fn run(case: &Case) -> Option<(Report, Arguments)> {
    let (module, kernel) = (&case.compiled.program.module, case.kernel.forward);
    let trial = Trial { steps: STEPS, uninitialised: false, ..Trial::PLAIN };
    // A thread has one task: threads with several would hide their races.
    let options = PtxOptions { grid: Grid::Covering, ..artefacts::device(artefacts::arch()?) };
    let code = sim::Kernel::load(module, kernel, &options, trial).ok()?;
    let (arguments, bounds) = (case.bind(Direction::Forward).ok()?, case.bounds().ok()?);
    let memory = arguments.memory();
    let job = Job { memory: &memory, block_dim: BLOCK_DIM, ..Job::new(bounds, arguments.block(), 1) };
    // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
    let report = unsafe { code.run(module, &job) }.ok()?;
    drop(memory);
    Some((report, arguments))
}
