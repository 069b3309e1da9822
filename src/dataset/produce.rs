//! In what order are rows made, and which candidates become rows?
//!
//! Every shard has candidates of its own, of which it tries at most [`tries`]. A candidate is a duplicate if one before
//! it has the same structure: before it in its shard, or anywhere among those that an earlier shard may try. That is known from
//! the programs alone, so machines that make different shards agree without talking, and an interrupted run goes on
//! where it stopped.

use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;
use serde_json::Value;

use super::artefacts::Rejection;
use super::identity::{self, Identity};
use super::sample::{self, Category, Sample};
use super::{Options, Result, fail, record};
use crate::diag::Code;
use crate::driver;

/// Candidates that are looked at together.
const BATCH: u64 = 128;

/// What a shard's rows came from.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    pub candidates: u64,
    pub duplicates: u64,
    /// Rejected candidates by cause.
    pub rejected: BTreeMap<String, u64>,
}

/// The structures that are taken.
#[derive(Default)]
pub struct Seen {
    shapes: HashSet<u64>,
}

impl Seen {
    /// Structures that no row may have.
    pub fn excluding(shapes: impl IntoIterator<Item = u64>) -> Seen {
        Seen { shapes: shapes.into_iter().collect() }
    }
}

/// The most candidates that a shard of so many rows tries.
pub fn tries(rows: u64) -> u64 {
    rows + rows / 2 + 64
}

/// The number of candidate `at` of a shard, for its random choices.
fn number(shard: u64, at: u64) -> u64 {
    shard << 24 | at
}

struct Candidate {
    number: u64,
    sample: Sample,
    text: String,
    identity: Identity,
}

fn candidate(options: &Options, categories: &[Category], number: u64) -> Option<Candidate> {
    let sample = sample::sample(options.seed, number, categories);
    let text = sample.program.python();
    let identity = identity::of_text(&text)?;
    Some(Candidate { number, sample, text, identity })
}

/// Notes the structures of a shard that another run makes, or has made.
pub fn skip(options: &Options, categories: &[Category], shard: u64, seen: &mut Seen) {
    let count = tries(options.rows_of(shard));
    let shapes: Vec<Option<u64>> = (0..count)
        .into_par_iter()
        .map(|at| candidate(options, categories, number(shard, at)).map(|c| c.identity.shape))
        .collect();
    seen.shapes.extend(shapes.into_iter().flatten());
}

/// The rows of a shard, in order. `report` is told how many there are, every now and then.
pub fn shard(
    options: &Options,
    categories: &[Category],
    shard: u64,
    seen: &mut Seen,
    report: &mut dyn FnMut(u64),
) -> Result<(Vec<Value>, Tally)> {
    let wanted = options.rows_of(shard);
    let most = tries(wanted);
    let mut rows: Vec<Value> = Vec::with_capacity(wanted as usize);
    let mut tally = Tally::default();
    let mut at = 0;
    while at < most {
        let end = (at + BATCH.min(wanted.max(16))).min(most);
        let candidates: Vec<Option<Candidate>> =
            (at..end).into_par_iter().map(|at| candidate(options, categories, number(shard, at))).collect();
        at = end;
        let full = rows.len() as u64 == wanted;
        let fresh: Vec<Option<Candidate>> = candidates
            .into_iter()
            .map(|candidate| candidate.filter(|c| seen.shapes.insert(c.identity.shape)))
            .collect();
        if full {
            // Only their structures count from here on.
            continue;
        }
        let made: Vec<Option<std::result::Result<Value, Rejection>>> =
            fresh.into_par_iter().map(|candidate| candidate.map(|c| attempt(&c, options))).collect();
        for made in made {
            if rows.len() as u64 == wanted {
                break;
            }
            tally.candidates += 1;
            match made {
                None => tally.duplicates += 1,
                Some(Ok(mut row)) => {
                    let index = shard * options.shard_rows + rows.len() as u64;
                    row["id"] = Value::String(format!("kc1-{:x}-{index}", options.seed));
                    row["index"] = index.into();
                    rows.push(row);
                }
                Some(Err(rejection)) => *tally.rejected.entry(rejection.cause).or_default() += 1,
            }
        }
        report(rows.len() as u64);
    }
    if (rows.len() as u64) < wanted {
        let mut error = fail(
            Code::E1405,
            format!(
                "shard {shard} found {} different programs among {most} candidates, {wanted} were asked for",
                rows.len()
            ),
        );
        error.notes.push(format!("{} had a structure that was there already", tally.duplicates));
        for (cause, count) in &tally.rejected {
            error.notes.push(format!("{count} were rejected: {cause}"));
        }
        return Err(error);
    }
    Ok((rows, tally))
}

/// A panic of a stage costs one candidate, and is counted.
fn attempt(candidate: &Candidate, options: &Options) -> std::result::Result<Value, Rejection> {
    let Candidate { number, sample, text, identity } = candidate;
    driver::catch(|| record::make(sample, text, identity, *number, options))
        .unwrap_or_else(|fault| Err(Rejection::new("fault of kc", format!("{}: {}", fault.place, fault.message))))
}

/// The row that candidate number `number` makes, without its place; for validation.
pub fn again(options: &Options, categories: &[Category], number: u64) -> std::result::Result<Value, Rejection> {
    match candidate(options, categories, number) {
        Some(candidate) => attempt(&candidate, options),
        None => Err(Rejection::new("no kernel", "the program has no kernel")),
    }
}
