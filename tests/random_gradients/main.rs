//! Gradients of random programs: kernels with loops, branches, overwrites, structs, matrices, local
//! arrays, calls and atomics, kernels of tiles, and launches whose threads meet, from Python text
//! to numbers. Each gradient is right or refused, whatever the program.
//!
//! `KC_RANDOM_SEED=N` checks the kernels from seed N on, `KC_RANDOM_COUNT=N` so many of them,
//! `KC_RANDOM_SHOW=1` prints the first one. `KC_RANDOM_HOST=N` compiles every Nth for the host too,
//! which takes longest. [`generate`], [`tiles`] and [`threads`] make them; [`check`] and
//! [`threads`] say what is compared.

mod check;
mod generate;
mod threads;
mod tiles;

use std::collections::BTreeMap;

use check::{Extent, Outcome, check};
use generate::Kernel;
use rayon::prelude::*;

/// Kernels of one run.
const COUNT: u64 = 50;

/// The same of tiles.
const TILES: u64 = 20;

/// Host code is compared for one kernel in so many.
const HOST: u64 = 5;

/// The same of launches whose threads meet.
const THREADS: u64 = 40;

/// The simulator runs one launch of threads that meet in so many.
const SIM: u64 = 5;

/// Of 100 kernels, so many at least have a gradient: refusing is no way to pass.
const LEAST_ACCEPTED: u64 = 80;

/// The same of launches whose threads meet: many of them do.
const LEAST_APART: u64 = 25;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn gradients_are_right_or_refused() {
    right_or_refused(&|seed, extent| of_kernel(generate::kernel(seed), seed, extent), COUNT, LEAST_ACCEPTED);
}

#[test]
fn gradients_of_tiles_are_right_or_refused() {
    right_or_refused(&|seed, extent| of_kernel(tiles::kernel(seed), seed, extent), TILES, LEAST_ACCEPTED);
}

#[test]
fn gradients_of_threads_that_meet_are_right_or_refused() {
    let checked = |seed, extent| {
        let mut case = threads::case(seed);
        Checked { outcome: threads::check(&mut case, extent), text: case.text, uses: case.uses }
    };
    right_or_refused(&checked, THREADS, LEAST_APART);
}

/// A program, and how its check ended.
struct Checked {
    outcome: Outcome,
    text: String,
    uses: Vec<&'static str>,
}

fn of_kernel(kernel: Kernel, seed: u64, extent: Extent) -> Checked {
    Checked { outcome: check(&kernel.text, seed, extent), text: kernel.text, uses: kernel.uses }
}

fn right_or_refused(checked: &(dyn Fn(u64, Extent) -> Checked + Sync), count: u64, least: u64) {
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_secs());
    let first = variable("KC_RANDOM_SEED").unwrap_or_else(|| clock() * 1_000_003 % 1_000_000_000);
    let count = variable("KC_RANDOM_COUNT").unwrap_or(count);
    let each = variable("KC_RANDOM_HOST").unwrap_or(HOST).max(1);
    println!("seed {first}, {count} kernels");
    let show = variable("KC_RANDOM_SHOW").is_some();
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    let mut uses: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut right, mut not_finite, mut host, mut unrolled, mut stores, mut differences) = (0, 0, 0, 0, 0, 0);
    let mut worst: f64 = 0.0;
    let outcomes: Vec<_> = (first..first + count)
        .into_par_iter()
        .map(|seed| {
            let extent = Extent { host: seed % each == 0, sim: seed % SIM == 0, stores: true };
            (seed, checked(seed, extent))
        })
        .collect();
    for (seed, Checked { outcome, text, uses: used }) in outcomes {
        if show && seed == first {
            println!("{text}");
        }
        let accepted = matches!(outcome, Outcome::Right(_));
        for what in used {
            let entry = uses.entry(what).or_default();
            entry.0 += 1;
            entry.1 += u64::from(accepted);
        }
        match outcome {
            Outcome::Right(found) => {
                right += 1;
                host += u64::from(found.host);
                unrolled += u64::from(found.unrolled);
                stores += u64::from(found.stores == 4);
                differences += u64::from(found.differences);
                worst = worst.max(found.error);
            }
            Outcome::Refused(reason) => {
                println!("refused: seed {seed}");
                *refused.entry(reason).or_default() += 1;
            }
            Outcome::NotFinite => not_finite += 1,
            Outcome::Wrong(reason) => {
                println!("WRONG: seed {seed}: {reason}");
                wrong.push(seed);
            }
        }
    }
    println!(
        "right {right}, worst error of a dot product {worst:.1e}; refused {}; not finite {not_finite}; wrong {}",
        refused.values().sum::<u64>(),
        wrong.len()
    );
    println!("compared: host {host}, four stores {stores}, unrolled {unrolled}, differences {differences}");
    for (reason, count) in refused {
        println!("  refused {count}: {reason}");
    }
    for (what, (all, accepted)) in uses {
        println!("  {what}: {all} kernels, {accepted} right");
    }
    assert!(
        wrong.is_empty(),
        "wrong gradients; run again with KC_RANDOM_SEED=N KC_RANDOM_COUNT=1 KC_RANDOM_SHOW=1: {wrong:?}"
    );
    assert!(count < 100 || right * 100 >= count * least, "only {right} of {count} kernels have a gradient");
}
