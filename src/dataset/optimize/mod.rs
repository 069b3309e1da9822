//! How is a kernel made faster? Programs of the set as they were before one or two optimisations,
//! with what each version costs.
//!
//! | file | question it answers |
//! |---|---|
//! | [`slowings`] | which optimisations does a kernel have, and how was it without them? |
//! | [`count`] | is a version right, and what does it cost? |
//! | [`ladder`] | how do programs become faster by other kernels? |
//! | [`talk`] | what is said of it, turn by turn? |
//!
//! A row exists only where the counters show the gain: the slow version executes or moves at least
//! [`GAIN`] times as much as the fast one. The fast version is the program of a verified row, or
//! the end of a ladder, whose versions are checked as rows are.

mod count;
mod ladder;
mod slowings;
mod talk;

use similar::TextDiff;

use self::count::{Counted, Course};
use self::slowings::slowings;
use super::families::Ladder;
use super::perf::{COPIES, Perf};
use super::random::Random;
use super::record::{LICENSE, origin};
use super::repair::sites::{self, Relaunch, Sites};
use super::row::{Cell, Row};
use super::sample::Sample;
use super::{Config, Options};
use crate::driver::Compiler;

/// What a change has to gain, in one of the counters.
const GAIN: f64 = 1.25;

/// The choices of such a row are others than those of its program.
const STREAM: u64 = 0x6f70_7469_6d69_7a65;

/// What is compared: instructions that warps execute, requests, and sectors of 32 bytes in global
/// memory.
const METRICS: [(&str, &[&str]); 5] = [
    ("sectors", &["memory_l2_theoretical_sectors_global"]),
    ("warp_insts", &["smsp__inst_executed.sum"]),
    ("load_requests", &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", COPIES]),
    ("store_requests", &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"]),
    (
        "atomic_requests",
        &["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"],
    ),
];

/// A program on its way from slow to fast.
pub struct Version {
    pub text: String,
    /// The optimisation that made it of the version before; None of the first.
    pub change: Option<Change>,
    pub counted: Counted,
}

/// What makes a version of the one before.
pub struct Change {
    pub kind: &'static str,
    /// Why it is faster, in words.
    pub reason: String,
}

impl Version {
    fn metric(&self, name: &str) -> u64 {
        metric(&self.counted.perf, name)
    }
}

fn metric(perf: &Perf, name: &str) -> u64 {
    let known = METRICS.iter().filter(|(known, _)| *known == name).flat_map(|(_, metrics)| metrics.iter());
    known.filter_map(|metric| perf.count(metric)).sum()
}

/// The counter that a change lowers most, and how many times; None: it gains nothing, or costs
/// instructions or traffic elsewhere. `trades`: instructions may rise, as far as that counter falls
/// by more.
fn gain(slow: &Perf, fast: &Perf, trades: bool) -> Option<(&'static str, f64)> {
    // What falls to nothing falls by no number.
    let factor = |name: &str| match (metric(slow, name), metric(fast, name)) {
        (_, 0) => 1.0,
        (slow, fast) => slow as f64 / fast as f64,
    };
    let best = METRICS.iter().map(|(name, _)| (*name, factor(name))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let instructions = factor("warp_insts");
    let is_cheap = instructions >= 0.9 || trades && instructions * best.1 >= 1.0;
    (best.1 >= GAIN && factor("sectors") >= 0.9 && is_cheap).then_some(best)
}

/// Makes the row of a verified program. None where no optimisation of it gains.
pub fn make(sample: &Sample, candidate: u64, options: &Options, compiler: &Compiler) -> Option<Row> {
    let mut random = Random::new(options.seed ^ STREAM, candidate);
    let seed = Random::new(options.seed, candidate).word();
    if let Some((ladder, versions)) = ladder::make(sample, candidate, options, compiler, &mut random) {
        let gained = gain(&versions.first()?.counted.perf, &versions.last()?.counted.perf, true)?;
        return Some(row(sample, candidate, options, Some(ladder), &versions, gained, &mut random));
    }
    let (step, has_ptxas) = (sample.plan.steps.first()?, options.ptxas.is_some());
    let course = Course { plan: &sample.plan, step, seed, compiler, has_ptxas };
    let right = course.compile(&sample.plan.text)?;
    let counted = course.count(&right, &[])?;
    let mut text = sample.plan.text.clone();
    // From fast to slow, to be turned round.
    let mut versions = vec![Version { text: text.clone(), change: None, counted }];
    let mut launches: Vec<Relaunch> = Vec::new();
    while versions.len() < 3 {
        let used: Vec<&str> = versions.iter().filter_map(|version| version.change.as_ref()).map(|c| c.kind).collect();
        let mut changes = {
            let parsed = sites::parse(&text);
            slowings(&Sites::new(&text, &parsed), &sample.plan, course.step).list
        };
        changes.retain(|change| !used.contains(&change.kind));
        let found =
            std::iter::from_fn(|| (!changes.is_empty()).then(|| changes.swap_remove(random.below(changes.len()))))
                .find_map(|change| {
                    let slower = change.apply(&text)?;
                    let launches: Vec<Relaunch> = launches.iter().copied().chain(change.launch).collect();
                    let compiled =
                        course.compile(&slower).filter(|compiled| course.agrees(&right, compiled, &launches))?;
                    let counted = course.count(&compiled, &launches)?;
                    let fast = &versions.last()?.counted.perf;
                    gain(&counted.perf, fast, false)?;
                    // The reason of a changed launch is coalescing, so sectors have to fall.
                    let sectors = |perf| metric(perf, "sectors") as f64;
                    let by_sectors = sectors(&counted.perf) >= GAIN * sectors(fast);
                    (change.launch.is_none() || by_sectors).then_some(())?;
                    Some((change, slower, launches, counted))
                });
        let Some((change, slower, after, counted)) = found else { break };
        versions.last_mut()?.change = Some(Change { kind: change.kind, reason: change.note });
        (text, launches) = (slower.clone(), after);
        versions.push(Version { text: slower, change: None, counted });
    }
    versions.reverse();
    let gained = gain(&versions.first()?.counted.perf, &versions.last()?.counted.perf, false)?;
    (versions.len() > 1).then(|| row(sample, candidate, options, None, &versions, gained, &mut random))
}

fn row(
    sample: &Sample,
    candidate: u64,
    options: &Options,
    ladder: Option<&Ladder>,
    versions: &[Version],
    (metric, factor): (&str, f64),
    random: &mut Random,
) -> Row {
    let kernel = sample.plan.steps.first().map_or("", |step| step.kernel.as_str());
    let kernel = ladder.map_or(kernel, |ladder| ladder.family.name);
    let text = |version: Option<&Version>| version.map_or(String::new(), |version| version.text.clone());
    let (slow, fast) = (text(versions.first()), text(versions.last()));
    let changes: Vec<&Change> = versions.iter().filter_map(|version| version.change.as_ref()).collect();
    let diff = TextDiff::from_lines(&slow, &fast).unified_diff().header("a/kernel.py", "b/kernel.py").to_string();
    let turns = talk::turns(kernel, versions, random);
    let each = |of: &dyn Fn(&Version) -> Cell| Cell::from_iter(versions.iter().map(of));
    let change = |of: fn(&Change) -> &str| {
        Cell::from_iter(versions.iter().map(|version| Cell::from(version.change.as_ref().map(|c| of(c).to_string()))))
    };
    let mut row = Row::new(Config::Optimize);
    row.set("split", sample.meaning.split);
    row.set("category", sample.category);
    row.set("domain", ladder.map_or(sample.domain, |ladder| ladder.family.domain));
    row.set("kernel", kernel);
    row.set("ladder", ladder.map(|ladder| ladder.family.name));
    row.set("changes", Cell::from_iter(changes.iter().map(|change| change.kind)));
    row.set("messages[].role", Cell::from_iter((0..turns.len()).map(|n| ["user", "assistant"][n % 2])));
    row.set("messages[].content", Cell::from_iter(turns));
    row.set("slow_source", slow);
    row.set("fast_source", fast);
    row.set("unified_diff", diff);
    row.set("gain.metric", metric);
    row.set("gain.factor", factor);
    row.set("versions[].change", change(|change| change.kind));
    row.set("versions[].reason", change(|change| &change.reason));
    row.set("versions[].source", each(&|version| version.text.as_str().into()));
    row.set("versions[].cuda", each(&|version| version.counted.cuda.clone().filter(|_| options.emit.cuda).into()));
    row.set("versions[].launch_dim", each(&|version| talk::launches(version, "x", ", ").into()));
    row.set("versions[].threads", each(&|version| version.counted.perf.threads.into()));
    row.set("versions[].warp_insts", each(&|version| version.metric("warp_insts").into()));
    row.set("versions[].load_requests", each(&|version| version.metric("load_requests").into()));
    row.set("versions[].store_requests", each(&|version| version.metric("store_requests").into()));
    row.set("versions[].sectors", each(&|version| version.metric("sectors").into()));
    row.set("versions[].atomic_requests", each(&|version| version.metric("atomic_requests").into()));
    row.set("versions[].shared_bytes", each(&|version| version.counted.shared.into()));
    row.set("versions[].registers", each(&|version| version.counted.registers.into()));
    row.set(
        "versions[].registers_at_most",
        each(&|version| version.counted.perf.registers.map(|(_, most)| most).into()),
    );
    origin(&mut row, candidate, options, LICENSE);
    row
}

#[cfg(test)]
mod tests;
