//! Random programs over the whole language, on numbers at the edges of every type: whatever runs
//! them gives the same bits.
//!
//! | variable | meaning |
//! |---|---|
//! | `KC_PROGRAMS_SEED=N` | begin with the program of this seed |
//! | `KC_PROGRAMS_COUNT=N` | so many programs |
//! | `KC_PROGRAMS_WAYS=host,sim` | run them in these ways only: `host`, `unchecked`, `lean`, `plain`, `sim`, `simlean`, `cuda`, `nvrtc`, `gpu`; without it all but the last |
//! | `KC_PROGRAMS_TURNS=1` | each file in one of the ways only, in turn |
//! | `KC_PROGRAMS_FILE=N` | so many programs in a file |
//! | `KC_PROGRAMS_SHOW=1` | print the first one |
//! | `KC_PROGRAMS_KEEP=1` | do not make failing programs smaller |
//!
//! | file | question it answers |
//! |---|---|
//! | [`table`] | which built-ins are there, and for which types? |
//! | [`generate`], [`statements`], [`expressions`] | what is a random program? |
//! | [`tiles`] | what is a random kernel of tiles? |
//! | [`lanes`] | and one whose threads have values of their own? |
//! | [`numbers`] | what does it work on? |
//! | [`tree`] | how is it kept and printed? |
//! | [`check`] | does it give the same bits everywhere? |
//! | [`shrink`] | what is the smallest program that fails so? |

#[path = "../common/arguments.rs"]
mod arguments;
mod check;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/cpp.rs"]
mod cpp;
mod expressions;
mod generate;
mod lanes;
mod numbers;
mod random;
mod shrink;
mod statements;
mod table;
mod tiles;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use check::{TIMES, Verdict, Way, check, compile_for_another};
use generate::program;
use rayon::prelude::*;
use shrink::shrink;
use tree::{Program, file};

/// Programs of one run.
const COUNT: u64 = 30;

/// The same of tiles.
const TILES: u64 = 12;

/// The same of threads that have values of their own.
const LANES: u64 = 12;

/// The first program of a run that names none: the same in every run, and other ones in the runs of
/// `tests/ledger.md`.
const FIRST: u64 = 10_100;

/// Programs that are one file: what is done once for a file is the greater part of the work.
const FILE: u64 = 10;

/// Smaller programs tried for one that fails.
const TRIES: usize = 600;

/// Failing programs that are made smaller in one run.
const SHOWN: usize = 12;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The ways that the run is about.
fn ways() -> Vec<Way> {
    let Ok(names) = std::env::var("KC_PROGRAMS_WAYS") else { return Way::usual() };
    let way = |name: &str| Way::ALL.into_iter().find(|way| way.name() == name);
    names.split(',').map(|name| way(name).unwrap_or_else(|| panic!("there is no way `{name}`"))).collect()
}

#[test]
fn programs_give_the_same_bits_everywhere() {
    same_bits(program, COUNT);
}

/// NVRTC has exact programs to compare.
#[test]
fn cuda_text_gives_the_same_bits_through_nvrtc() {
    let programs: Vec<Program> = (FIRST..FIRST + FILE).map(program).collect();
    let verdicts = check(&programs.iter().collect::<Vec<_>>(), &[Way::Nvrtc]);
    let compared = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Same(1))).count();
    let wrong: Vec<&Verdict> = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Wrong(..))).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(compared >= 3, "only {compared} programs are exact");
}

/// What [`check`] starts this program for: NVRTC may end the process that it is in.
#[test]
fn a_text_for_another_process() {
    compile_for_another();
}

#[test]
fn tiles_give_the_same_bits_everywhere() {
    same_bits(tiles::program, TILES);
}

#[test]
fn threads_of_blocks_come_to_what_their_program_says() {
    same_bits(lanes::program, LANES);
}

fn same_bits(program: fn(u64) -> Program, count: u64) {
    let first = variable("KC_PROGRAMS_SEED").unwrap_or(FIRST);
    let count = variable("KC_PROGRAMS_COUNT").unwrap_or(count);
    println!("seed {first}, {count} programs");
    if variable("KC_PROGRAMS_SHOW").is_some() {
        println!("{}", file(&[&program(first)]));
    }
    let ways = ways();
    let turns = variable("KC_PROGRAMS_TURNS").is_some();
    let length = variable("KC_PROGRAMS_FILE").unwrap_or(FILE).max(1);
    let starts: Vec<u64> = (first..first + count).step_by(length as usize).collect();
    let mut verdicts: Vec<(Program, Verdict)> = starts
        .into_par_iter()
        .flat_map_iter(|start| {
            let programs: Vec<Program> = (start..(start + length).min(first + count)).map(program).collect();
            let turn = [ways[(start / length) as usize % ways.len()]];
            let ways = if turns { &turn[..] } else { &ways[..] };
            let verdicts = check(&programs.iter().collect::<Vec<_>>(), ways);
            programs.into_iter().zip(verdicts)
        })
        .collect();
    verdicts.sort_by_key(|(program, _)| program.seed);
    let (mut same, mut comparisons, mut endless) = (0, 0, 0);
    let mut refused: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (program, verdict) in &verdicts {
        match verdict {
            Verdict::Same(ways) => (same, comparisons) = (same + 1, comparisons + ways),
            Verdict::Endless => endless += 1,
            Verdict::Refused(why) => refused.entry(why.clone()).or_default().push(program.seed),
            Verdict::Wrong(way, why) => wrong.push((program, *way, why)),
        }
    }
    let all_refused: usize = refused.values().map(Vec::len).sum();
    println!(
        "same {same} in {comparisons} comparisons, refused {all_refused}, endless {endless}, wrong {}",
        wrong.len()
    );
    let names = std::iter::once("front end and interpreter".to_string()).chain(Way::ALL.map(|way| way.name()));
    for (name, time) in names.zip(&TIMES) {
        let time = time.load(Ordering::Relaxed) as f64 / 1000.0;
        println!("  {name}: {:.2} ms a program", time / verdicts.len().max(1) as f64);
    }
    for (why, seeds) in &refused {
        println!("  refused {}: {why} (seed {})", seeds.len(), seeds[0]);
    }
    for (n, (program, way, why)) in wrong.iter().enumerate() {
        println!("WRONG: seed {}: {why}", program.seed);
        if program.answer.is_some() && way.is_none() {
            // A smaller one has another answer.
            println!("{}", file(&[program]));
        } else if n < SHOWN && variable("KC_PROGRAMS_KEEP").is_none() {
            println!("{}", file(&[&smaller(program, *way)]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} programs are wrong; KC_PROGRAMS_SEED=N KC_PROGRAMS_COUNT=1 runs one again",
        wrong.len()
    );
    assert!(all_refused * 20 <= verdicts.len(), "{all_refused} of {} programs are refused", verdicts.len());
}

/// The smallest program that fails in the same way.
fn smaller(program: &Program, way: Option<Way>) -> Program {
    let ways: Vec<Way> = Way::ALL.into_iter().filter(|w| way.is_none_or(|way| way == *w)).collect();
    shrink(
        program,
        TRIES,
        &mut |smaller| matches!(check(&[smaller], &ways)[0], Verdict::Wrong(found, _) if found == way),
    )
}

#[test]
fn all_built_ins_are_called() {
    let mut missing: BTreeSet<&str> = table::builtins().iter().map(|builtin| builtin.name).collect();
    assert!(missing.len() > 150, "only {} built-ins are known", missing.len());
    // How many seeds it takes changes with each new built-in.
    for seed in 0..6000 {
        if missing.is_empty() {
            return;
        }
        program(seed).uses.iter().for_each(|name| _ = missing.remove(name));
    }
    assert!(missing.is_empty(), "no program calls {missing:?}");
}

#[test]
fn programs_follow_from_their_seed() {
    for seed in 0..50 {
        assert_eq!(program(seed).text(), program(seed).text());
    }
}
