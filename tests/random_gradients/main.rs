//! Gradients of random programs: kernels with loops, branches, overwrites, structs, matrices, local arrays, calls and
//! atomics, and kernels of tiles, from Python text to numbers. Each gradient is right or refused, whatever the program.
//!
//! `KC_RANDOM_SEED=N` checks the kernels from seed N on, `KC_RANDOM_COUNT=N` so many of them, `KC_RANDOM_SHOW=1` prints the
//! first one. `KC_RANDOM_HOST=N` compiles every Nth for the host too, which takes longest. [`generate`] and [`tiles`] make them; [`check`] says what is compared.

mod check;
mod generate;
mod tiles;

use std::collections::BTreeMap;

use check::{Extent, Outcome, check};
use generate::Kernel;
use rayon::prelude::*;

/// Kernels of one run.
const COUNT: u64 = 500;

/// The same of tiles.
const TILES: u64 = 60;

/// Host code is compared for one kernel in so many.
const HOST: u64 = 5;

/// Of 100 kernels, so many at least have a gradient: refusing is no way to pass.
const LEAST_ACCEPTED: u64 = 80;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn gradients_are_right_or_refused() {
    right_or_refused(&generate::kernel, COUNT);
}

#[test]
fn gradients_of_tiles_are_right_or_refused() {
    right_or_refused(&tiles::kernel, TILES);
}

fn right_or_refused(kernel: &(dyn Fn(u64) -> Kernel + Sync), count: u64) {
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_secs());
    let first = variable("KC_RANDOM_SEED").unwrap_or_else(|| clock() * 1_000_003 % 1_000_000_000);
    let count = variable("KC_RANDOM_COUNT").unwrap_or(count);
    let each = variable("KC_RANDOM_HOST").unwrap_or(HOST).max(1);
    println!("seed {first}, {count} kernels");
    if variable("KC_RANDOM_SHOW").is_some() {
        println!("{}", kernel(first).text);
    }
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    let mut uses: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut right, mut not_finite, mut host, mut unrolled, mut stores, mut differences) = (0, 0, 0, 0, 0, 0);
    let mut worst: f64 = 0.0;
    let outcomes: Vec<_> = (first..first + count)
        .into_par_iter()
        .map(|seed| {
            let made = kernel(seed);
            let extent = Extent { host: seed % each == 0, stores: true };
            (seed, check(&made.text, seed, extent), made.uses)
        })
        .collect();
    for (seed, outcome, used) in outcomes {
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
    assert!(count < 100 || right * 100 >= count * LEAST_ACCEPTED, "only {right} of {count} kernels have a gradient");
}
