//! In what order are rows made, and which candidates become rows?
//!
//! Every shard has candidates of its own, of which it tries at most [`tries`]. A candidate is a
//! duplicate if one before it has the same structure: before it in its shard, or anywhere among
//! those that an earlier shard may try. That is known from the programs alone, so machines that
//! make different shards agree without talking, and an interrupted run goes on where it stopped.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::artefacts::Rejection;
use super::diversity::Kernel;
use super::families::{self, Family};
use super::from::{self, Grams};
use super::identity::{self, Identity};
use super::row::Row;
use super::sample::Sample;

use super::{Config, Options, Result, fail, near, optimize, record, repair};
use crate::diag::{Code, Diagnostics};
use crate::driver::{self, Compiler, Compilers, Timings};
use crate::run::ptxas;
use crate::source::FileId;
use crate::syntax::{self, ast::Parsed};

/// The most candidates of one batch: not many more than rows are missing, for some are rejected.
const BATCH: u64 = 256;

/// Candidates that a thread takes at once: some cost fifty times as much as others, and at the end
/// of a batch threads wait for the last.
const GRAIN: usize = 2;

/// Where candidates come from, and what they must not share text with.
pub struct Source {
    programs: Programs,
    grams: Grams,
}

enum Programs {
    Families(Vec<&'static Family>),
    Own(Vec<Sample>),
}

impl Source {
    /// That of a set; the error names what is not there, or is not what it was.
    pub fn of(options: &Options, compilers: &Compilers) -> Result<Source> {
        let grams = Grams::read(&options.exclude)?;
        if grams.digest() != options.excluded {
            return Err(fail(Code::E1402, "the folders of `--exclude` hold other texts than when the set was begun"));
        }
        if options.ptxas.is_some() && options.ptxas != ptxas::release() {
            let release = options.ptxas.as_deref().unwrap_or_default();
            return Err(fail(Code::E1402, format!("the set was begun with ptxas {release}, which is not there now")));
        }
        let Some(from) = &options.from else {
            return Ok(Source { programs: Programs::Families(options.algorithms()?), grams });
        };
        let found = from::read(&from.folder, &grams, compilers)?;
        if found.digest() != from.digest {
            let folder = from.folder.display();
            let message = format!("`{folder}` holds other kernels than when the set was begun");
            return Err(fail(Code::E1402, message));
        }
        Ok(Source::own(found.samples, grams))
    }

    /// Programs that were read already.
    pub fn own(samples: Vec<Sample>, grams: Grams) -> Source {
        Source { programs: Programs::Own(samples), grams }
    }

    fn sample(&self, seed: u64, number: u64) -> Option<Sample> {
        match &self.programs {
            Programs::Families(algorithms) => Some(families::sample(seed, number, algorithms)),
            Programs::Own(samples) => samples.get(number as usize).cloned(),
        }
    }
}

/// What a shard's rows came from.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    pub candidates: u64,
    pub duplicates: u64,
    #[serde(default)]
    pub near_duplicates: u64,
    /// Rejected candidates by cause.
    pub rejected: BTreeMap<String, u64>,
}

/// The rows that a candidate makes.
#[derive(Clone, Debug)]
pub struct Made {
    pub pair: Row,
    /// The rows of other tables: a faulty version, where one was asked for and shows its fault; the
    /// slow ones.
    pub more: Vec<(Config, Row)>,
    /// What is measured of its program, where it may be among those that are.
    pub kernel: Option<Arc<Kernel>>,
}

/// What happens while a shard is made.
pub enum Event<'a> {
    /// So many rows are there.
    Rows(u64),
    /// The candidate with this number was rejected.
    Rejected(u64, &'a Rejection),
}

/// The programs that are there already.
#[derive(Default)]
pub struct Seen {
    shapes: HashSet<u64>,
    /// How many programs begin with a kernel of this structure.
    first: HashMap<u64, u64>,
    sketches: near::Index,
}

/// How a program is to those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Novelty {
    New,
    /// One has its structure.
    Same,
    /// One shares most of its words.
    Near,
}

impl Seen {
    /// Programs of several kernels also begin with different ones, as far as there are enough: a
    /// kernel begins a few of them.
    fn admit(&mut self, identity: &Identity, room: Room) -> Novelty {
        let first = self.first.entry(identity.first).or_default();
        *first += 1;
        match *first <= room.beginnings && self.shapes.insert(identity.shape) {
            false => Novelty::Same,
            true if self.sketches.add(&identity.sketch, room.near) => Novelty::New,
            true => Novelty::Near,
        }
    }
}

#[cfg(test)]
impl Seen {
    /// How many of these a set of so many rows would have.
    pub fn admitted(identities: &[Identity], rows: u64) -> usize {
        let mut seen = Seen::default();
        identities.iter().filter(|identity| seen.admit(identity, Room::of(rows)) == Novelty::New).count()
    }

    /// After so many candidates that have nothing in common.
    pub fn of_random(candidates: u64) -> Seen {
        let mut seen = Seen::default();
        for number in 0..candidates {
            let mut random = super::random::Random::new(1, number);
            let sketch = near::Sketch(std::array::from_fn(|_| random.word() as u32));
            let shape = random.word();
            seen.admit(&Identity { shape, first: shape, sketch, ..Identity::default() }, Room::of(1));
        }
        seen
    }
}

/// The most candidates that a shard of so many rows tries: some are rejected, and many programs of
/// one family are nearly the same as one before.
pub fn tries(rows: u64) -> u64 {
    4 * rows + 64
}

/// How like each other the programs of a set may be: more so in a large one.
#[derive(Clone, Copy)]
struct Room {
    /// How many may begin with the same kernel.
    beginnings: u64,
    /// Entries of their sketches in which two may not agree.
    near: usize,
}

impl Room {
    fn of(rows: u64) -> Room {
        // .72, .84 and .95 of the entries.
        let near = match rows {
            0..=4096 => near::NEAR,
            ..=16_384 => 54,
            _ => 61,
        };
        Room { beginnings: 1 + rows / 4096, near }
    }
}

/// The number of candidate `at` of a shard, for its random choices.
fn number(shard: u64, at: u64) -> u64 {
    shard << 24 | at
}

/// The shard of a candidate.
fn shard_of(number: u64) -> u64 {
    number >> 24
}

struct Candidate {
    number: u64,
    sample: Sample,
    /// The text as it was parsed; None: with findings.
    parsed: Option<Parsed>,
    identity: Identity,
}

fn candidate(options: &Options, source: &Source, number: u64) -> Option<Candidate> {
    let sample = source.sample(options.seed, number)?;
    let mut findings = Diagnostics::new();
    let parsed = syntax::parse(FileId(0), &sample.plan.text, &mut findings);
    let identity = identity::of_parsed(&parsed)?;
    Some(Candidate { number, sample, parsed: findings.is_empty().then_some(parsed), identity })
}

/// Notes the structures of a shard that another run makes, or has made.
pub fn skip(options: &Options, source: &Source, shard: u64, seen: &mut Seen) {
    let count = tries(options.rows_of(shard));
    let identities: Vec<Option<Identity>> = (0..count)
        .into_par_iter()
        .map(|at| candidate(options, source, number(shard, at)).map(|c| c.identity))
        .collect();
    for identity in identities.iter().flatten() {
        seen.admit(identity, Room::of(options.rows));
    }
}

/// Makes the rows of a shard and hands them to `sink`, in order. `report` is reported what happens.
pub fn shard(
    options: &Options,
    source: &Source,
    shard: u64,
    seen: &mut Seen,
    compilers: &Compilers,
    timings: &mut Timings,
    report: &mut dyn FnMut(Event),
    sink: &mut (dyn FnMut(Vec<Made>) -> Result<()> + Send),
) -> Result<Tally> {
    let wanted = options.rows_of(shard);
    let most = tries(wanted);
    let mut count = 0;
    let mut ready: Vec<Made> = Vec::new();
    let mut tally = Tally::default();
    // Shards after this one must know the structures of all its candidates.
    let last = shard + 1 >= options.shards();
    let mut at = 0;
    while at < most && !(last && count == wanted) {
        let left = wanted - count;
        let end = (at + if left == 0 { BATCH } else { BATCH.min(left + left / 16 + 2) }).min(most);
        let candidates: Vec<(Option<Candidate>, Timings)> = (at as usize..end as usize)
            .into_par_iter()
            .with_max_len(GRAIN)
            .map(|at| {
                let mut timings = Timings::default();
                (timings.time("sample", || candidate(options, source, number(shard, at as u64))), timings)
            })
            .collect();
        at = end;
        let full = count == wanted;
        let fresh: Vec<(Novelty, Option<Candidate>)> = candidates
            .into_iter()
            .map(|(candidate, spent)| {
                timings.add(&spent);
                let novelty =
                    candidate.as_ref().map_or(Novelty::Same, |c| seen.admit(&c.identity, Room::of(options.rows)));
                (novelty, candidate.filter(|_| novelty == Novelty::New))
            })
            .collect();
        if full {
            // Only their structures count from here on.
            continue;
        }
        let attempt = |candidate: Candidate| {
            let mut timings = Timings::default();
            let made = compilers.lend(|compiler| attempt(&candidate, options, source, compiler, &mut timings));
            (candidate.number, made, timings)
        };
        // What is ready is written while the next rows are made.
        let done = std::mem::take(&mut ready);
        let (made, written): (Vec<(Novelty, Option<_>)>, _) = rayon::join(
            || {
                let each = fresh.into_par_iter().with_max_len(GRAIN);
                each.map(|(novelty, candidate)| (novelty, candidate.map(attempt))).collect()
            },
            || timed(|| sink(done)),
        );
        timings.add(&written.1);
        written.0?;
        for (novelty, made) in made {
            let made = made.map(|(number, made, spent)| {
                timings.add(&spent);
                (number, made)
            });
            if count == wanted {
                break;
            }
            tally.candidates += 1;
            match made {
                None if novelty == Novelty::Near => tally.near_duplicates += 1,
                None => tally.duplicates += 1,
                Some((_, Ok(mut made))) => {
                    let index = shard * options.shard_rows + count;
                    let id = format!("kc1-{:x}-{index}", options.seed);
                    for (config, row) in &mut made.more {
                        row.set("id", format!("{id}-{}", config.name()));
                        row.set("index", index);
                        row.set("parent_id", id.as_str());
                    }
                    made.pair.set("id", id);
                    made.pair.set("index", index);
                    ready.push(made);
                    count += 1;
                }
                Some((number, Err(rejection))) => {
                    report(Event::Rejected(number, &rejection));
                    *tally.rejected.entry(rejection.cause).or_default() += 1;
                }
            }
        }
        report(Event::Rows(count));
    }
    sink(ready)?;
    if count < wanted {
        let mut error = fail(
            Code::E1405,
            format!("shard {shard} found {count} different programs among {most} candidates, {wanted} were asked for"),
        );
        error.notes.push(format!("{} had a structure that was there already", tally.duplicates));
        error.notes.push(format!("{} were nearly the same as one before", tally.near_duplicates));
        for (cause, count) in &tally.rejected {
            error.notes.push(format!("{count} were rejected: {cause}"));
        }
        return Err(error);
    }
    Ok(tally)
}

/// Makes the rows of somebody's own programs, all that pass, and says what became of the others.
pub fn own(
    options: &Options,
    source: &Source,
    compilers: &Compilers,
    timings: &mut Timings,
) -> (Vec<Made>, Tally, Vec<(u64, Rejection)>) {
    let count = match &source.programs {
        Programs::Own(samples) => samples.len() as u64,
        Programs::Families(_) => 0,
    };
    let (mut seen, mut tally, mut left_out) = (Seen::default(), Tally::default(), Vec::new());
    let mut fresh = Vec::new();
    for number in 0..count {
        tally.candidates += 1;
        let Some(candidate) = candidate(options, source, number) else { continue };
        let cause = match seen.admit(&candidate.identity, Room { beginnings: u64::MAX, ..Room::of(1) }) {
            Novelty::New => {
                fresh.push(candidate);
                continue;
            }
            Novelty::Same => {
                tally.duplicates += 1;
                "a kernel before has its structure"
            }
            Novelty::Near => {
                tally.near_duplicates += 1;
                "a kernel before is nearly the same"
            }
        };
        left_out.push((number, Rejection::new("duplicate", cause)));
    }
    let each = fresh.into_par_iter().with_max_len(GRAIN).map(|candidate| {
        let mut spent = Timings::default();
        let made = compilers.lend(|compiler| attempt(&candidate, options, source, compiler, &mut spent));
        (candidate.number, made, spent)
    });
    let mut rows = Vec::new();
    for (number, made, spent) in each.collect::<Vec<_>>() {
        timings.add(&spent);
        match made {
            Ok(mut made) => {
                let index = rows.len() as u64;
                made.pair.set("id", format!("kc1-own-{index}"));
                made.pair.set("index", index);
                rows.push(made);
            }
            Err(rejection) => {
                *tally.rejected.entry(rejection.cause.clone()).or_default() += 1;
                left_out.push((number, rejection));
            }
        }
    }
    left_out.sort_by_key(|(number, _)| *number);
    (rows, tally, left_out)
}

/// The result of a piece of work, and how long it took to write.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Timings) {
    let mut timings = Timings::default();
    (timings.time("write", work), timings)
}

/// A panic of a stage costs one candidate, and is counted.
fn attempt(
    candidate: &Candidate,
    options: &Options,
    source: &Source,
    compiler: &Compiler,
    timings: &mut Timings,
) -> std::result::Result<Made, Rejection> {
    let Candidate { number, sample, parsed, identity } = candidate;
    if parsed.as_ref().is_some_and(identity::is_known_program) {
        return Err(Rejection::new("known collection", "a collection that models are measured with has it"));
    }
    if let Some(claim) = &sample.meaning.false_claim {
        return Err(Rejection::new("text and code differ", claim.clone()));
    }
    if let Some(gram) = source.grams.shared(&sample.plan.text) {
        return Err(Rejection::new("contamination", format!("text to be left out has `{gram}` too")));
    }
    let make = || {
        let pair = record::make(sample, parsed.as_ref(), identity, *number, options, compiler, timings)?;
        let tables = options.configs().filter(|config| *config != Config::Pairs);
        let more = tables
            .filter_map(|config| {
                let row = timings.time(config.name(), || beside(config, sample, *number, options, compiler))?;
                Some((config, row))
            })
            .collect();
        let measured = parsed.as_ref().filter(|_| options.is_measured(shard_of(*number)));
        let kernel = measured.and_then(|parsed| Kernel::of_parsed(&sample.plan.text, parsed));
        Ok(Made { pair, more, kernel: kernel.map(Arc::new) })
    };
    driver::catch(make)
        .unwrap_or_else(|fault| Err(Rejection::new("fault of kc", format!("{}: {}", fault.place, fault.message))))
}

/// The row of a verified program in another table.
fn beside(config: Config, sample: &Sample, number: u64, options: &Options, compiler: &Compiler) -> Option<Row> {
    match config {
        Config::Pairs => None,
        Config::Repair => repair::make(sample, number, options, compiler),
        Config::Optimize => optimize::make(sample, number, options, compiler),
    }
}

/// The row that candidate number `number` makes in a table, without its place; for validation. Of
/// the tables `repair` and `optimize` only what they add is examined again: the program has a row
/// of its own.
pub fn again(
    config: Config,
    options: &Options,
    source: &Source,
    number: u64,
    compiler: &Compiler,
) -> std::result::Result<Row, Rejection> {
    let Some(candidate) = candidate(options, source, number) else {
        return Err(Rejection::new("no kernel", "the program has no kernel"));
    };
    match config {
        Config::Pairs => {
            let options = Options { repair: false, optimize: false, ..options.clone() };
            attempt(&candidate, &options, source, compiler, &mut Timings::default()).map(|made| made.pair)
        }
        _ => driver::catch(|| beside(config, &candidate.sample, number, options, compiler))
            .unwrap_or_default()
            .ok_or_else(|| Rejection::new(format!("no {}", config.name()), "its program gives no such row")),
    }
}

/// The program of candidate number `number`.
pub fn source(options: &Options, source: &Source, number: u64) -> String {
    source.sample(options.seed, number).map_or(String::new(), |sample| sample.plan.text)
}
