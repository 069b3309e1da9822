//! What is slow, in words, and at which line? Each kind of waste is counted in what it costs more
//! than it had to; small parts of a launch are not worth a word.

use std::collections::BTreeMap;

use crate::ptx::Space;
use crate::sim::{AccessKind, Counts, Instruction, Measured};

/// A sentence about a line.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// Of the source; 0 where the instruction has none.
    pub line: u32,
    pub message: String,
    /// The metric that shows it.
    pub metric: &'static str,
    /// What it costs beyond need, as a part of all of its kind.
    pub share: f64,
}

/// Less than this part of a launch's sectors, wavefronts or instructions is not worth a word.
const WORTH: f64 = 0.05;

/// Accesses that take more than this times what they had to.
pub const WASTEFUL: f64 = 1.5;

/// Warps with fewer lanes than this on the average are said to be divergent, as Nsight Compute
/// does.
const FEW_LANES: f64 = 24.0;

/// What there is to say of a launch, what costs most first.
pub fn of(measured: &Measured) -> Vec<Advice> {
    let mut list = Vec::new();
    sectors(measured, &mut list);
    banks(measured, &mut list);
    lanes(measured, &mut list);
    atomics(measured, &mut list);
    list.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.line.cmp(&b.line)));
    list
}

/// The counts of those instructions by line and `key`.
fn by_line<K: Ord>(
    measured: &Measured,
    key: impl Fn(&Instruction) -> Option<K>,
) -> BTreeMap<(u32, K), (Counts, Instruction)> {
    let mut sums: BTreeMap<(u32, K), (Counts, Instruction)> = BTreeMap::new();
    for instruction in &measured.instructions {
        let Some(key) = key(instruction) else { continue };
        let entry = sums.entry((instruction.line.unwrap_or(0), key)).or_insert((Counts::default(), *instruction));
        entry.0.add(&instruction.counts);
    }
    sums
}

/// What an access of global memory takes.
pub fn per_request(counts: &Counts) -> String {
    let each = |count: u64| count as f64 / counts.requests.max(1) as f64;
    format!("{:.1} sectors per request, ideal {:.1}", each(counts.sectors), each(counts.ideal_sectors))
}

/// What an access of shared memory takes.
pub fn wavefronts(counts: &Counts) -> String {
    let each = |count: u64| count as f64 / counts.shared_requests.max(1) as f64;
    format!("{:.1} wavefronts each, ideal {:.1}", each(counts.wavefronts), each(counts.ideal_wavefronts))
}

fn is_in(instruction: &Instruction, space: Space) -> bool {
    instruction.access.is_some_and(|access| access.space == space)
}

fn writes(instruction: &Instruction) -> bool {
    instruction.access.is_some_and(|access| !matches!(access.kind, AccessKind::Load | AccessKind::Copy))
}

fn sectors(measured: &Measured, list: &mut Vec<Advice>) {
    let sums = by_line(measured, |i| is_in(i, Space::Global).then(|| writes(i)));
    let all: u64 = sums.values().map(|(counts, _)| counts.sectors).sum();
    for ((line, writes), (counts, _)) in sums {
        let (sectors, ideal) = (counts.sectors as f64, counts.ideal_sectors.max(1) as f64);
        let share = (sectors - ideal) / all.max(1) as f64;
        if sectors < WASTEFUL * ideal || share < WORTH || counts.requests == 0 {
            continue;
        }
        let (what, metric) = if writes {
            ("stores", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio")
        } else {
            ("loads", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio")
        };
        let message = format!(
            "{what} take {}: threads side by side touch elements that lie apart; let neighbouring threads take neighbouring elements (the last index \
             from the last coordinate, a structure of arrays, or sorted indices)",
            per_request(&counts),
        );
        list.push(Advice { line, message, metric, share });
    }
}

fn banks(measured: &Measured, list: &mut Vec<Advice>) {
    let sums = by_line(measured, |i| is_in(i, Space::Shared).then_some(()));
    let all: u64 = sums.values().map(|(counts, _)| counts.wavefronts).sum();
    for ((line, ()), (counts, _)) in sums {
        let (waves, ideal) = (counts.wavefronts as f64, counts.ideal_wavefronts.max(1) as f64);
        let share = (waves - ideal) / all.max(1) as f64;
        if waves < WASTEFUL * ideal || share < WORTH {
            continue;
        }
        let message = format!(
            "accesses of shared memory take {}: lanes meet in one bank; pad rows by an element",
            wavefronts(&counts),
        );
        list.push(Advice { line, message, metric: "derived__memory_l1_wavefronts_shared_excessive", share });
    }
}

fn lanes(measured: &Measured, list: &mut Vec<Advice>) {
    let sums = by_line(measured, |_| Some(()));
    let all: u64 = sums.values().map(|(counts, _)| counts.executed).sum();
    for ((line, ()), (counts, _)) in sums {
        let active = counts.threads as f64 / counts.executed.max(1) as f64;
        let share = counts.executed as f64 / all.max(1) as f64 * (1.0 - active / 32.0);
        if active >= FEW_LANES || share < WORTH {
            continue;
        }
        let message = format!(
            "{active:.1} of 32 lanes are active on the average: threads of a warp go different ways or leave loops at different times; \
             give the threads of a warp work of one length"
        );
        let metric = "smsp__thread_inst_executed_per_inst_executed.ratio";
        list.push(Advice { line, message, metric, share });
    }
}

fn atomics(measured: &Measured, list: &mut Vec<Advice>) {
    let is_atomic = |i: &Instruction| {
        let kinds = [AccessKind::Atomic, AccessKind::Reduction];
        i.access.is_some_and(|access| kinds.contains(&access.kind)).then_some(())
    };
    let sums = by_line(measured, is_atomic);
    let all: u64 = measured.instructions.iter().map(|i| i.counts.executed).sum();
    for ((line, ()), (counts, _)) in sums {
        let share = counts.serialised as f64 / all.max(1) as f64;
        if share < WORTH {
            continue;
        }
        let message = format!(
            "{:.1} lanes of a warp wait for each other at one element: sum in registers, over a block or by rows first",
            counts.serialised as f64 / counts.executed.max(1) as f64 + 1.0
        );
        list.push(Advice { line, message, metric: "smsp__inst_executed.sum", share: share.min(1.0) });
    }
}
