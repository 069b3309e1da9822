//! What do the launches of a program cost a GPU? Counted on the simulator, of the PTX that the row
//! holds.

use std::sync::Arc;

use super::artefacts::{self, Compiled, Kernel};
use super::launch::{self, Contents, Scale};
use super::plan::Plan;
use super::verify::{Case, STEPS};
use crate::ir::{FuncId, Function};
use crate::profile::{Kind, Limits, Metric, Registers, Resident, find, metrics_of, metrics_of_memory};
use crate::run::devices::{Executable, Job, Trial, sim};
use crate::run::launch::Direction;
use crate::sim::{AccessKind, Instruction, Measured};

/// Requests of copies from global into shared memory.
pub const COPIES: &str = "requests of cp.async";

/// All launches of a program together.
#[derive(Clone, PartialEq, Debug)]
pub struct Perf {
    /// Of all launches.
    pub threads: u64,
    metrics: Vec<Metric>,
    /// Of the kernel that may need most.
    pub registers: Option<(u32, u32)>,
    /// Warps on a multiprocessor for sure and at most, of the kernel with the fewest.
    pub warps: Option<(u32, u32)>,
}

impl Perf {
    pub fn value(&self, metric: &str) -> Option<f64> {
        find(&self.metrics, metric).map(|metric| metric.value)
    }

    pub fn count(&self, metric: &str) -> Option<u64> {
        self.value(metric).map(|value| value as u64)
    }
}

/// Runs the forward launches of a program at [`Scale::Many`], each on what the one before left.
/// None: not all of them end well there, or the simulator does not know an instruction.
pub fn count(plan: &Plan, compiled: &Compiled, ptx: &str, seed: u64) -> Option<Perf> {
    let module = &compiled.program.module;
    let trial = Trial { steps: STEPS, races: false, uninitialised: false, counts: true, ..Trial::PLAIN };
    let forward: Vec<FuncId> = compiled.kernels.iter().map(|kernel: &Kernel| kernel.forward).collect();
    let ready =
        sim::Kernel::of_text(module, &forward, Arc::from(ptx), &artefacts::device(artefacts::arch()?), &trial).ok()?;
    let ran = run(plan, compiled, &ready, seed, &|_| launch::BLOCK_DIM)?;
    of_launches(&ran.counted, ran.threads)
}

/// What launches left, and what they cost.
pub struct Ran {
    pub counted: Vec<Measured>,
    pub threads: u64,
    pub contents: Contents,
}

/// Runs them at [`Scale::Many`], in blocks of so many threads.
pub fn run(
    plan: &Plan,
    compiled: &Compiled,
    ready: &[sim::Kernel],
    seed: u64,
    block_dim: &dyn Fn(&Function) -> u32,
) -> Option<Ran> {
    let module = &compiled.program.module;
    let mut contents = launch::contents(plan, &plan.steps, &launch::values(plan, Scale::Many), seed);
    let (mut threads, mut counted) = (0, Vec::<Measured>::new());
    for step in &plan.steps {
        let size = launch::size(plan, step, Scale::Many);
        let at = compiled.kernels.iter().position(|kernel| kernel.name == step.kernel)?;
        let function = &module.functions[compiled.kernels[at].forward];
        let case = Case { plan, step, compiled, kernel: &compiled.kernels[at], size: &size, contents: &contents };
        let (arguments, bounds) = (case.bind(Direction::Forward).ok()?, case.bounds().ok()?);
        let memory = arguments.memory();
        let job = Job { memory: &memory, block_dim: block_dim(function), ..Job::new(bounds, arguments.block(), 1) };
        // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
        let report = unsafe { ready.get(at)?.run(module, &job) }.ok()?;
        if report.trap.is_some() || !report.findings.is_empty() {
            return None;
        }
        let each = if function.by_block { u64::from(block_dim(function)) } else { 1 };
        threads += bounds.size * each;
        counted.extend(report.counted);
        launch::keep(&mut contents, step, &arguments, &module.structs);
    }
    Some(Ran { counted, threads, contents })
}

/// What the simulator counted in launches of so many threads.
pub fn of_launches(counted: &[Measured], threads: u64) -> Option<Perf> {
    let limits = Limits::of(artefacts::arch()?.name)?;
    let resident: Vec<Resident> = counted.iter().map(|measured| resident(measured, limits)).collect();
    let instructions: Vec<Instruction> = counted.iter().flat_map(|measured| measured.instructions.clone()).collect();
    let mut metrics = metrics_of(&instructions);
    for metric in counted.iter().flat_map(metrics_of_memory) {
        match metrics.iter_mut().find(|sum| sum.name == metric.name) {
            Some(sum) => sum.value += metric.value,
            None => metrics.push(metric),
        }
    }
    // Copies into shared memory pass by what loads are counted with.
    let is_copy = |i: &&Instruction| i.access.is_some_and(|access| access.kind == AccessKind::Copy);
    let copies: u64 = instructions.iter().filter(is_copy).map(|i| i.counts.requests).sum();
    metrics.push(Metric { name: COPIES, value: copies as f64, kind: Kind::Exact });
    let ranges: Vec<(u32, u32)> = resident.iter().filter_map(|one| one.registers.range()).collect();
    Some(Perf {
        threads,
        metrics,
        registers: ranges.iter().copied().max_by_key(|&(least, most)| (most, least)),
        warps: resident.iter().map(|one| (one.least_warps(), one.occupancy.warps_per_sm)).min(),
    })
}

fn resident(measured: &Measured, limits: &'static Limits) -> Resident {
    let live = measured.text.as_ref().and_then(|text| text.live);
    Resident::of(limits, measured.form.threads(), live.map_or(Registers::Unknown, Registers::of), measured.shared_bytes)
}
