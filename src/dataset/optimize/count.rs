//! Is a version of a kernel right, and what does it cost? It is compared with the right program on
//! the interpreter, and counted on the simulator at 4,096 threads or more.

use std::path::Path;

use crate::dataset::Emit;
use crate::dataset::artefacts::{self, Compiled};
use crate::dataset::launch::{self, BLOCK_DIM, Scale, Size};
use crate::dataset::perf::{self, Perf};
use crate::dataset::plan::{Extent, Given, Plan, Step};
use crate::dataset::repair::sites::Relaunch;
use crate::dataset::repair::trial::difference;
use crate::dataset::verify::{Case, STEPS};
use crate::diag::Level;
use crate::driver::{Compiler, Gradients, Request, Timings};
use crate::ir::interp;
use crate::run::args::Arguments;
use crate::run::devices::{Executable, Job, Trial, sim};
use crate::run::launch::Direction;
use crate::run::ptxas;
use crate::sim::Measured;

/// Threads of a launch that is counted: enough for all that differs between few and many.
const THREADS: u64 = 4096;

/// The most elements of all arrays of such a launch together.
const ELEMENTS: u64 = 1 << 22;

/// A program and its first launch.
pub struct Course<'a> {
    pub plan: &'a Plan,
    pub step: &'a Step,
    pub seed: u64,
    pub compiler: &'a Compiler,
    /// Whether registers are asked of ptxas.
    pub has_ptxas: bool,
}

/// A version that was counted.
pub struct Counted {
    pub cuda: Option<String>,
    /// The threads of each launch, along its dimensions.
    pub launches: Vec<Vec<u32>>,
    pub perf: Perf,
    /// Of a thread, by ptxas: those of the kernel that needs most.
    pub registers: Option<u32>,
    /// Bytes of shared memory of a block, of the kernel that needs most.
    pub shared: u32,
}

/// The registers that ptxas gives a thread; None: it is not there.
pub fn registers(counted: &[Measured]) -> Option<u32> {
    let arch = artefacts::arch()?.name;
    let of = |one: &Measured| ptxas::registers(&one.text.as_ref()?.ptx, &one.entry, arch);
    counted.iter().map(of).collect::<Option<Vec<u32>>>()?.into_iter().max()
}

pub fn shared(counted: &[Measured]) -> u32 {
    counted.iter().map(|one| one.shared_bytes).max().unwrap_or_default()
}

/// The CUDA text of all kernels.
pub fn cuda_text(compiled: &Compiled) -> Option<String> {
    let emit = Emit { cuda: true, ..Emit::default() };
    artefacts::texts(compiled, emit, &mut Timings::default()).ok()?.cuda_forward
}

impl Course<'_> {
    /// The kernel of a text, without gradient; None if kc finds a fault in it.
    pub fn compile(&self, text: &str) -> Option<Compiled> {
        let gradients = Gradients { backward: false, ..Gradients::default() };
        let request = Request { gradients, strict: true, ..Request::default() };
        let compilation = self.compiler.load_text(Path::new("kernel.py"), text.to_string(), &request);
        let faulty = compilation.diagnostics.iter().any(|finding| finding.level >= Level::Warning);
        let compiled = artefacts::entries(compilation, &[&self.step.kernel]).filter(|_| !faulty)?;
        let entry = &compiled.program.module.functions[compiled.first().forward];
        // Blocks of tiles are launched in another way.
        (!entry.by_block).then_some(compiled)
    }

    /// Whether a version leaves what the right program leaves, at each size.
    pub fn agrees(&self, right: &Compiled, version: &Compiled, launches: &[Relaunch]) -> bool {
        Scale::ALL.into_iter().all(|scale| {
            let size = launch::size(self.plan, self.step, scale);
            let expected = self.leaves(right, &size);
            let found = self.leaves(version, &self.relaunched(&size, launches));
            match (expected, found) {
                (Some(expected), Some(found)) => difference(&expected, &found, right, version).is_none(),
                _ => false,
            }
        })
    }

    /// What a launch leaves on the interpreter; None: it has a race, or ends in an error.
    fn leaves(&self, compiled: &Compiled, size: &Size) -> Option<Arguments> {
        let contents = launch::contents(self.plan, [self.step], &size.values, self.seed);
        let case =
            Case { plan: self.plan, step: self.step, compiled, kernel: compiled.first(), size, contents: &contents };
        let code = interp::Program::new(&compiled.program.module, compiled.first().forward);
        let ended = case.launch(&code, false).ok()?;
        (ended.trap.is_none() && ended.clash.is_none()).then_some(ended.arguments)
    }

    fn relaunched(&self, size: &Size, launches: &[Relaunch]) -> Size {
        let threads = launches.iter().fold(size.threads.clone(), |threads, launch| launch.of(threads));
        Size { threads, ..size.clone() }
    }

    /// What a version costs, launched as for [`THREADS`] threads of the right program.
    pub fn count(&self, version: &Compiled, launches: &[Relaunch]) -> Option<Counted> {
        let size = self.relaunched(&self.large()?, launches);
        let contents = launch::contents(self.plan, [self.step], &size.values, self.seed);
        let kernel = version.first();
        let case =
            Case { plan: self.plan, step: self.step, compiled: version, kernel, size: &size, contents: &contents };
        let trial = Trial { steps: STEPS, races: false, uninitialised: false, counts: true, ..Trial::PLAIN };
        let module = &version.program.module;
        let code = sim::Kernel::load(module, kernel.forward, &artefacts::device(artefacts::arch()?), trial).ok()?;
        let (arguments, bounds) = (case.bind(Direction::Forward).ok()?, case.bounds().ok()?);
        let memory = arguments.memory();
        let job = Job { memory: &memory, block_dim: BLOCK_DIM, ..Job::new(bounds, arguments.block(), 1) };
        // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
        let report = unsafe { code.run(module, &job) }.ok()?;
        if report.trap.is_some() || !report.findings.is_empty() {
            return None;
        }
        let perf = perf::of_launches(&report.counted, bounds.size)?;
        let registers = if self.has_ptxas { registers(&report.counted) } else { None };
        let (cuda, shared) = (cuda_text(version), shared(&report.counted));
        Some(Counted { cuda, launches: vec![size.threads], perf, registers, shared })
    }

    /// The size at which the launch has so many threads: its axes grow together. None: they are
    /// fixed, or the arrays would be too large.
    fn large(&self) -> Option<Size> {
        if self.plan.is_fixed() {
            return None;
        }
        let axes: Vec<usize> = self
            .step
            .dims
            .iter()
            .filter_map(|dim| match dim {
                Extent::Axis { axis, .. } => Some(*axis),
                Extent::Fixed(_) => None,
            })
            .collect();
        let least = launch::values(self.plan, Scale::Many);
        let grown = |factor: u32| {
            let mut values = least.clone();
            for (axis, value) in values.iter_mut().enumerate().filter(|(axis, _)| axes.contains(axis)) {
                *value = least.get(axis).copied().unwrap_or(1) * factor;
            }
            launch::sized(self.step, values)
        };
        let threads = |size: &Size| size.threads.iter().map(|&n| u64::from(n)).product::<u64>();
        let size = (1..=64).map(grown).find(|size| threads(size) >= THREADS)?;
        let elements: u64 = self
            .step
            .params
            .iter()
            .filter_map(|param| match &param.given {
                Given::Array { shape, .. } => {
                    Some(shape.iter().map(|n| u64::from(n.of(&size.values))).product::<u64>())
                }
                _ => None,
            })
            .sum();
        (elements <= ELEMENTS).then_some(size)
    }
}
