//! What does a fault look like in CUDA, and what does a GPU make of it? The texts are those that kc
//! prints of both programs. The PTX of the faulty one runs on the simulator.

use super::Class;
use super::trial::{difference, said};
use crate::codegen::llvm::{self, Grid, PtxOptions};
use crate::dataset::Emit;
use crate::dataset::artefacts::{self, Compiled};
use crate::dataset::launch::BLOCK_DIM;
use crate::dataset::random::Random;
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

/// The kernel of a launch without one of its barriers, in the text and in the PTX that the
/// simulator runs. Each barrier of one is that of the other: they are as many, in one order. None:
/// there is none, or no race shows without it.
pub fn without_barrier(right: &Case, random: &mut Random) -> Option<InCuda> {
    let emit = Emit { cuda: true, ..Emit::default() };
    let fixed = artefacts::texts(right.compiled, emit, &mut Timings::default()).ok()?.cuda_forward?;
    let (module, kernel, options) = (&right.compiled.program.module, right.kernel.forward, options()?);
    let ptx = llvm::emit_ptx(module, &[kernel], &options, right.compiled.compiler.device_parts()).ok()?;
    let lines = |text: &str, word: &str| -> Vec<usize> {
        text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(word)).map(|(n, _)| n).collect()
    };
    let (in_text, in_ptx) = (lines(&fixed, "__syncthreads();"), lines(&ptx, "bar.sync"));
    if in_text.is_empty() || in_text.len() != in_ptx.len() {
        return None;
    }
    let without = |text: &str, line: usize| -> String {
        let kept = text.split_inclusive('\n').enumerate().filter(|(n, _)| *n != line);
        kept.map(|(_, text)| text).collect()
    };
    let run = |ptx: String| {
        let code = sim::Kernel::of_text(module, &[kernel], ptx.into(), &options, &TRIAL).ok()?;
        Some(launched(code.first()?, right)?.0)
    };
    let clean = run(ptx.clone())?;
    if clean.trap.is_some() || !clean.findings.is_empty() {
        return None;
    }
    let mut places: Vec<usize> = (0..in_text.len()).collect();
    while !places.is_empty() {
        let n = places.swap_remove(random.below(places.len()));
        let report = run(without(&ptx, in_ptx[n]))?;
        if let Some(finding) = report.findings.first() {
            return Some(InCuda { buggy: without(&fixed, in_text[n]), fixed, failure: said(finding) });
        }
    }
    None
}

const TRIAL: Trial = Trial { steps: STEPS, uninitialised: false, ..Trial::PLAIN };

/// How PTX for the simulator is made. A thread has one task: threads with several would hide their
/// races.
fn options() -> Option<PtxOptions> {
    Some(PtxOptions { grid: Grid::Covering, ..artefacts::device(artefacts::arch()?) })
}

/// What the simulator says of a launch, and what it leaves.
fn run(case: &Case) -> Option<(Report, Arguments)> {
    let (module, kernel) = (&case.compiled.program.module, case.kernel.forward);
    launched(&sim::Kernel::load(module, kernel, &options()?, TRIAL).ok()?, case)
}

fn launched(code: &sim::Kernel, case: &Case) -> Option<(Report, Arguments)> {
    let module = &case.compiled.program.module;
    let (arguments, bounds) = (case.bind(Direction::Forward).ok()?, case.bounds().ok()?);
    let memory = arguments.memory();
    let job = Job { memory: &memory, block_dim: BLOCK_DIM, ..Job::new(bounds, arguments.block(), 1) };
    // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
    let report = unsafe { code.run(module, &job) }.ok()?;
    drop(memory);
    Some((report, arguments))
}
