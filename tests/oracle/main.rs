//! Random programs against an evaluator of its own, which shares no step behind the parser with kc:
//! what all devices of kc agree on may still be wrong.
//!
//! | variable | meaning |
//! |---|---|
//! | `KC_ORACLE_SEED=N` | begin with the program of this seed |
//! | `KC_ORACLE_COUNT=N` | so many programs |
//! | `KC_ORACLE_SHOW=1` | print the first one |
//! | `KC_ORACLE_HOST=N` | compile every Nth for the host and the simulator too |
//!
//! | file | question it answers |
//! |---|---|
//! | [`eval`] | what does a program compute, by the definition of the language? |
//! | [`case`] | what is a case? |
//! | [`check`] | does kc compute the same? |
//! | [`known`] | does the evaluator give what was worked out by hand? |
//! | [`names`] | what is a program with names under control flow? |
//! | [`launches`] | what is a launch program whose steps repeat? |
//! | [`rest`] | what is a program at a point where its parts have no derivative? |
//! | [`threads`] | and one whose threads share tiles and arrays of the block? |

mod case;
mod check;
mod eval;
mod known;
mod launches;
mod names;
#[path = "../random_programs/random.rs"]
mod random;
mod rest;
mod threads;
mod writer;

use std::collections::BTreeMap;

use case::Case;
use check::{Extent, Outcome, check};
use rayon::prelude::*;

/// The first program of a run that names none: the same in every run, and other ones in the runs of
/// `tests/ledger.md`.
const FIRST: u64 = 1;

/// The host and the simulator run one program in so many.
const HOST: u64 = 100;

/// Wrong programs of one run that are printed.
const SHOWN: usize = 8;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Of 100 programs, at least so many have a gradient that is compared: refusing is no way to pass.
fn right_or_refused(case: fn(u64) -> Case, count: u64, least: u64) {
    let first = variable("KC_ORACLE_SEED").unwrap_or(FIRST);
    let count = variable("KC_ORACLE_COUNT").unwrap_or(count);
    let each = variable("KC_ORACLE_HOST").unwrap_or(HOST).max(1);
    println!("seed {first}, {count} programs");
    if variable("KC_ORACLE_SHOW").is_some() {
        println!("{}{}", case(first).text, case(first).json(true));
    }
    let outcomes: Vec<(u64, Outcome)> = (first..first + count)
        .into_par_iter()
        .map(|seed| {
            let extent = Extent { host: seed % each == 0, sim: seed % each == 1 % each };
            (seed, check(&case(seed), seed, extent))
        })
        .collect();
    let mut uses: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut refused: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut undefined: BTreeMap<String, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut right, mut gradients, mut told, mut not_finite) = (0, 0, 0, 0);
    for (seed, outcome) in outcomes {
        let good = matches!(outcome, Outcome::Right { .. } | Outcome::Told);
        for what in case(seed).uses {
            let entry = uses.entry(what).or_default();
            *entry = (entry.0 + 1, entry.1 + u64::from(good));
        }
        match outcome {
            Outcome::Right { gradient } => (right, gradients) = (right + 1, gradients + u64::from(gradient)),
            Outcome::Told => (right, told) = (right + 1, told + 1),
            Outcome::Refused(code) => refused.entry(code).or_default().push(seed),
            Outcome::Undefined(why) => *undefined.entry(why).or_default() += 1,
            Outcome::NotFinite => not_finite += 1,
            Outcome::Wrong(reason) => wrong.push((seed, reason)),
        }
    }
    for (n, (seed, reason)) in wrong.iter().enumerate() {
        println!("WRONG: seed {seed}: {reason}");
        if n < SHOWN {
            println!("{}", case(*seed).text);
        }
    }
    println!(
        "right {right}, gradients {gradients}, told {told}; refused {}; undefined {}; not finite {not_finite}; wrong {}",
        refused.values().map(Vec::len).sum::<usize>(),
        undefined.values().sum::<u64>(),
        wrong.len()
    );
    for (code, seeds) in &refused {
        println!("  refused {}: {code} (seed {})", seeds.len(), seeds[0]);
    }
    for (why, count) in &undefined {
        println!("  undefined {count}: {why}");
    }
    for (what, (all, good)) in uses {
        println!("  {what}: {all} programs, {good} right");
    }
    let seeds: Vec<u64> = wrong.iter().map(|(seed, _)| *seed).collect();
    assert!(wrong.is_empty(), "wrong; KC_ORACLE_SEED=N KC_ORACLE_COUNT=1 KC_ORACLE_SHOW=1 runs one again: {seeds:?}");
    let compared = gradients + told;
    assert!(
        count < 100 || compared * 100 >= count * least,
        "only {compared} gradients of {count} programs are compared"
    );
}

#[test]
fn names_under_control_flow_are_right_or_refused() {
    right_or_refused(names::case, 1000, 30);
}

#[test]
fn threads_of_a_block_are_right_or_refused() {
    right_or_refused(threads::case, 250, 40);
}

#[test]
fn launch_programs_are_right_or_refused() {
    right_or_refused(launches::case, 500, 30);
}

#[test]
fn gradients_at_rest_are_right_or_told() {
    right_or_refused(rest::case, 250, 60);
}
