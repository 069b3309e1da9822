//! What does a GPU do with a kernel? PTX is executed as the PTX ISA manual describes it, warp by
//! warp, and looked at while it runs.
//!
//! | file | question it answers |
//! |---|---|
//! | `decode` | what does each instruction mean? |
//! | `code` | what is executed? |
//! | `graph` | where do the sides of a branch meet again? |
//! | `value` | what is in a register, and how are numbers rounded? |
//! | `windows`, `memory` | which address belongs to which memory, and what lies there? |
//! | `heap` | what lies in the memory of devices from launch to launch, and who may use it? |
//! | `store` | where are the bytes of all that? |
//! | `machine` | what does a warp do until it has to wait? |
//! | `warp` | where are its lanes? |
//! | `access`, `together` | what do loads, stores and atomics do, lane by lane, and all lanes at once? |
//! | `tensor` | what do warps do with matrices, and copies by themselves? |
//! | `wgmma` | what do four warps multiply together? |
//! | `mbarrier` | what do barrier objects in shared memory count? |
//! | `cluster` | what do the blocks of a cluster share? |
//! | `bulk`, `tensor_map` | what do copies in bulk do, and which box of a tensor do they take? |
//! | `texture` | what do textures and surfaces give? |
//! | `exchange` | what do lanes tell each other, and warps at a barrier? |
//! | `schedule`, `chance` | in what order do blocks and warps run, and which one does a seed give? |
//! | `races` | which accesses are ordered by nothing? |
//! | `dropped` | which threads load what they drop? |
//! | `print` | what does `vprintf` print? |
//! | `footprint` | which bytes did it touch? |
//! | `queues` | how long do atomics on one address queue? |
//! | `counters`, `measured` | what did it cost, by instruction? |
//! | `findings` | what is wrong? |

mod access;
mod bulk;
mod calls;
mod chance;
mod cluster;
pub mod code;
pub mod counters;
mod decode;
mod dropped;
mod exchange;
pub mod findings;
mod float8;
mod footprint;
mod graph;
pub mod heap;
mod machine;
mod mbarrier;
mod measured;
pub mod memory;
mod print;
mod queues;
mod races;
mod schedule;
mod store;
mod tensor;
pub mod tensor_map;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_calls;
#[cfg(test)]
mod tests_of_clusters;
#[cfg(test)]
mod tests_of_copies;
pub mod texture;
mod together;
mod value;
mod warp;
mod wgmma;
mod windows;

use std::collections::{BTreeMap, HashMap};

pub use chance::Chance;
pub use cluster::in_block;
pub use code::Code;
pub use counters::{Counters, Counts};
pub use decode::{Loaded, RED_ZONE, Wanted, decode, decode_loaded, load};
pub use findings::{Finding, What};
pub use footprint::Footprint;
pub use machine::Checks;
pub use measured::{Access, AccessKind, Instruction, Measured, Text};
pub use memory::{Memory, read as word};
pub use schedule::Form;

use crate::ptx::Space;
use code::Op;
use dropped::Dropped;
use machine::Machine;
use races::{History, Intervals};

/// How a launch is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How {
    pub checks: Checks,
    /// The order of blocks and warps, and where lanes part; None: in order.
    pub seed: Option<u64>,
    /// The instructions that a warp may run.
    pub limit: u64,
    /// Count what a profiler counts.
    pub counts: bool,
    /// Note which bytes of global memory are touched.
    pub footprint: bool,
}

impl How {
    /// More instructions of one warp are taken for an endless loop.
    pub const LIMIT: u64 = 1 << 30;
}

impl Default for How {
    fn default() -> How {
        How {
            checks: Checks { races: true, uninitialised: true },
            seed: None,
            limit: How::LIMIT,
            counts: false,
            footprint: false,
        }
    }
}

/// What a launch leaves.
pub struct Outcome {
    pub memory: Memory,
    pub findings: Vec<Finding>,
    /// Nothing is to be believed of its memory.
    pub stopped: bool,
    /// In the order of the threads.
    pub printed: Vec<u8>,
    /// What conditions of graphs were set to.
    pub conditions: BTreeMap<u64, u32>,
    /// Of all instructions, if they were counted.
    pub measured: Option<Measured>,
    /// Instructions of warps.
    pub steps: u64,
    /// What was touched, if it was noted.
    pub footprint: Option<Footprint>,
}

/// The memory that a kernel's own variables lie in.
pub fn memory(code: &Code) -> Memory {
    let mut memory = Memory::default();
    for (placed, bytes) in &code.globals {
        memory.put(placed.address, bytes, placed.space == crate::ptx::Space::Const);
    }
    memory
}

/// The instructions that access memory which threads share, and whether they are atomic for threads
/// of the block only.
fn followed(code: &Code) -> Vec<(u32, bool)> {
    let shares = |space| matches!(space, Space::Global | Space::Shared | Space::Generic);
    let follows = |op: &Op| match op {
        Op::Load(access) | Op::Store(access) => shares(access.space),
        Op::Atomic(atomic) => shares(atomic.space),
        Op::CopyAsync(_) | Op::LoadMatrix(_) | Op::StoreMatrix(_) => true,
        Op::Texture(_) | Op::Surface(_) => true,
        Op::Mbarrier(_) | Op::Bulk(_) | Op::Send(_) | Op::TensorMap(_) => true,
        Op::CopyTensorMap { .. } | Op::Warpgroup(_) => true,
        _ => false,
    };
    let narrow = |op: &Op| matches!(op, Op::Atomic(atomic) if atomic.of_block);
    let found = (0..).zip(&code.insts).filter(|(_, inst)| follows(&inst.op));
    found.map(|(pc, inst)| (pc, narrow(&inst.op))).collect()
}

/// About how many intervals between synchronisations a launch has.
fn expected_intervals(code: &Code, form: &Form) -> u64 {
    let synchronises = |op: &Op| {
        matches!(op, Op::BlockBarrier(_) | Op::ClusterWait { .. } | Op::WarpBarrier { .. } | Op::Fence { .. })
    };
    let each = if code.insts.iter().any(|inst| synchronises(&inst.op)) { 64 } else { 2 };
    form.blocks().saturating_mul(form.threads().div_ceil(value::LANES as u32).into()).saturating_mul(each)
}

/// Runs a launch; `params` are the bytes of its parameters. `go_on` is asked from time to time
/// whether to.
pub fn run(
    code: &Code,
    form: &Form,
    params: Vec<u8>,
    memory: Memory,
    how: &How,
    go_on: &mut dyn FnMut() -> bool,
) -> Outcome {
    let history = if how.checks.races { History::new(memory.bytes.len()) } else { History::default() };
    let orders_blocks = code.has_fences || form.cluster_blocks() > 1;
    let mut machine = Machine {
        code,
        params,
        checks: how.checks,
        history,
        intervals: how.checks.races.then(|| {
            let exact = orders_blocks || code.has_partial_barriers;
            Intervals::new(code.insts.len(), followed(code), exact, expected_intervals(code, form))
        }),
        dropped: if how.checks.races { Dropped::of(code, form.block) } else { Dropped::default() },
        released: HashMap::new(),
        findings: Default::default(),
        printed: Vec::new(),
        printed_bytes: 0,
        conditions: Default::default(),
        counters: how.counts.then(|| Counters::new(code.insts.len(), memory.base, memory.bytes.len())),
        footprint: how.footprint.then(|| Footprint::new(memory.base, memory.bytes.len())),
        chance: how.seed.map(Chance::new),
        limit: how.limit,
        steps: 0,
        hint: 0,
        grid: form.grid,
        warps: form.threads().div_ceil(value::LANES as u32),
        orders_blocks,
        memory,
    };
    machine.launch(form, go_on);
    if let Some((pc, thread, many)) = machine.intervals.as_ref().and_then(Intervals::ended) {
        machine.findings.add(What::RacesEnd(many), pc, thread);
    }
    // Whoever prints first on a GPU, nobody knows: so it is the first thread.
    machine.printed.sort_by_key(|(thread, _)| *thread);
    let printed = machine.printed.into_iter().flat_map(|(_, text)| text).collect();
    Outcome {
        memory: machine.memory,
        stopped: machine.findings.stopped,
        findings: machine.findings.list,
        printed,
        conditions: machine.conditions,
        measured: machine.counters.map(|counters| Measured::of(code, form, &counters)),
        steps: machine.steps,
        footprint: machine.footprint,
    }
}
