//! How do programs become faster by other kernels: tiles, private sums, fewer kernels, shorter
//! numbers? Versions that people wrote down, in the words of one person; each is checked like a row
//! and counted on the simulator, where it has to leave what the reference computes.

use super::{Change, METRICS, Version, count, gain};
use crate::dataset::artefacts::{self, Compiled};
use crate::dataset::families::{self, Ladder, Rung};
use crate::dataset::launch::{self, BLOCK_DIM, Scale, TILE_THREADS};
use crate::dataset::perf;
use crate::dataset::plan::{Plan, Step};
use crate::dataset::random::Random;
use crate::dataset::sample::Sample;
use crate::dataset::verify::{STEPS, verify};
use crate::dataset::{Options, reference};
use crate::driver::{Compiler, Timings};
use crate::ir::Function;
use crate::run::devices::{Trial, sim};

/// So many of 100 programs of a family with ladders come with one.
const SHARE: u32 = 40;

/// The ladder of a program, and its versions; None: its family has none, or it is not drawn.
pub fn make(
    sample: &Sample,
    candidate: u64,
    options: &Options,
    compiler: &Compiler,
    random: &mut Random,
) -> Option<(&'static Ladder, Vec<Version>)> {
    let family = sample.meaning.family?;
    let list: Vec<&'static Ladder> =
        families::ladders().iter().filter(|ladder| ladder.with.contains(&family)).collect();
    if list.is_empty() || !random.chance(SHARE) {
        return None;
    }
    let ladder = *random.pick(&list);
    let seed = random.word();
    versions(ladder, seed, candidate, options, compiler).ok().map(|versions| (ladder, versions))
}

/// The versions with their counts; or what is wrong with one.
pub fn versions(
    ladder: &'static Ladder,
    seed: u64,
    candidate: u64,
    options: &Options,
    compiler: &Compiler,
) -> Result<Vec<Version>, String> {
    let mut out: Vec<Version> = Vec::new();
    for rung in families::versions(seed, candidate, ladder) {
        let change = rung.change;
        let version = checked(rung, seed, options, compiler).map_err(|message| format!("{change}: {message}"))?;
        if let Some(before) = out.last() {
            let gained = gain(&before.counted.perf, &version.counted.perf, true);
            gained.ok_or_else(|| format!("{change} gains nothing: {}", told(&[before, &version])))?;
        }
        out.push(version);
    }
    Ok(out)
}

/// What is counted of versions, side by side.
fn told(versions: &[&Version]) -> String {
    let of = |name: &str| versions.iter().map(|version| version.metric(name).to_string()).collect::<Vec<_>>();
    METRICS.iter().map(|(name, _)| format!("{name} {}", of(name).join(" -> "))).collect::<Vec<_>>().join(", ")
}

fn checked(rung: Rung, seed: u64, options: &Options, compiler: &Compiler) -> Result<Version, String> {
    if let Some(claim) = rung.false_claim {
        return Err(claim);
    }
    let plan = &rung.plan;
    let mut names: Vec<&str> = plan.steps.iter().map(|step| step.kernel.as_str()).collect();
    names.dedup();
    let timings = &mut Timings::default();
    let compiled = artefacts::compile(&plan.text, None, &names, false, false, compiler, timings);
    let compiled = compiled.map_err(|rejection| format!("{rejection:?}\n{}", plan.text))?;
    let checked = verify(plan, None, &compiled, seed, timings).map_err(|rejection| format!("{rejection:?}"))?;
    let expected = checked.runs.last().ok_or("it did not run")?;
    let ran = simulated(&rung, &compiled, seed).ok_or("the simulator does not run it")?;
    reference::compare(plan, &expected.expected, &ran.contents).map_err(|message| format!("simulator: {message}"))?;
    let registers = match options.ptxas {
        Some(_) => count::registers(&ran.counted),
        None => None,
    };
    let perf = perf::of_launches(&ran.counted, ran.threads).ok_or("nothing was counted")?;
    let cuda = count::cuda_text(&compiled);
    let launches = plan.steps.iter().map(|step| threads(plan, step, &compiled));
    let counted =
        count::Counted { cuda, launches: launches.collect(), perf, registers, shared: count::shared(&ran.counted) };
    let change = (!rung.reason.is_empty()).then(|| Change { kind: rung.change, reason: rung.reason.clone() });
    Ok(Version { text: rung.plan.text, change, counted })
}

/// The threads of a launch, those of a block last where it works on tiles.
fn threads(plan: &Plan, step: &Step, compiled: &Compiled) -> Vec<u32> {
    let mut out = launch::size(plan, step, Scale::Many).threads;
    let kernel = compiled.kernels.iter().find(|kernel| kernel.name == step.kernel);
    let function = kernel.map(|kernel| &compiled.program.module.functions[kernel.forward]);
    if let Some(function) = function.filter(|function| function.by_block) {
        if function.block_threads.is_some_and(|threads| threads.counted) {
            out.pop();
        }
        out.push(TILE_THREADS);
    }
    out
}

/// All launches at [`Scale::Many`] on the simulator, in blocks
/// as the host program has them.
fn simulated(rung: &Rung, compiled: &Compiled, seed: u64) -> Option<perf::Ran> {
    let module = &compiled.program.module;
    let trial = Trial { steps: STEPS, races: false, uninitialised: false, counts: true, ..Trial::PLAIN };
    let ready: Option<Vec<sim::Kernel>> = compiled
        .kernels
        .iter()
        .map(|kernel| sim::Kernel::load(module, kernel.forward, &artefacts::device(artefacts::arch()?), trial).ok())
        .collect();
    let block_dim = |function: &Function| if function.by_block { TILE_THREADS } else { BLOCK_DIM };
    perf::run(&rung.plan, compiled, &ready?, seed, &block_dim)
}
