//! In what order do blocks and warps run? In their order, each as far as it can; or as a seed says.
//! Blocks that wait for others (a lock, a barrier of the grid) stay while the next ones run, as on
//! a GPU with room for them.

use super::cluster::Shared;
use super::code::{Op, Special};
use super::exchange::meet;
use super::findings::What;
use super::machine::{Machine, Pause};
use super::value::LANES;
use super::warp::{Split, State, Warp};

/// A cluster of blocks that has begun.
struct Cluster {
    shared: Shared,
    /// Of all its blocks, by their ranks.
    warps: Vec<Warp>,
}

/// Clusters that can wait for each other at once.
const MOST_RESIDENT: usize = 4096;
/// The most blocks of a cluster; portable kernels have 8.
const MOST_OF_CLUSTER: u32 = 16;
/// Instructions of a warp before another one has its turn.
const SLICE: u64 = 1 << 18;

/// The form of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of shared memory that the launch adds.
    pub dynamic_shared: u32,
    /// The blocks of a cluster; the grid is a multiple of it.
    pub cluster: [u32; 3],
    /// Of a cooperative launch: the address of two words that are zero before and after it, through
    /// whose second one its blocks wait for each other. 0: it is none.
    pub workspace: u64,
}

impl Form {
    /// A launch whose blocks are clusters of their own.
    pub fn new(grid: [u32; 3], block: [u32; 3], dynamic_shared: u32) -> Form {
        Form { grid, block, dynamic_shared, cluster: [1; 3], workspace: 0 }
    }

    /// The blocks of a cluster.
    pub fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().fold(1, |all, &extent| all.saturating_mul(extent))
    }

    /// The blocks of a cluster by its number in the launch: their numbers, by rank.
    fn blocks_of(&self, number: u32) -> Vec<u32> {
        let ([gx, gy, _], [cx, cy, cz]) = (self.grid, self.cluster);
        let (across, down) = (gx / cx, gy / cy);
        let first = [number % across * cx, number / across % down * cy, number / (across * down) * cz];
        let all = (0..cz).flat_map(|z| (0..cy).flat_map(move |y| (0..cx).map(move |x| [x, y, z])));
        all.map(|[x, y, z]| first[0] + x + gx * (first[1] + y + gy * (first[2] + z))).collect()
    }

    /// With the clusters that a kernel asks for (`.reqnctapercluster`), or why there is no such
    /// launch.
    pub fn for_kernel(mut self, asked: Option<[u32; 3]>) -> Result<Form, String> {
        let words = |extents: [u32; 3]| extents.map(|extent| extent.to_string()).join(" x ");
        if let Some(asked) = asked {
            if self.cluster != [1; 3] && self.cluster != asked {
                let given = words(self.cluster);
                return Err(format!("clusters of {given} blocks; the kernel is made for {}", words(asked)));
            }
            self.cluster = asked;
        }
        let blocks = self.cluster_blocks();
        if blocks == 0 || blocks > MOST_OF_CLUSTER {
            return Err(format!("clusters of {} blocks; one has 1 to {MOST_OF_CLUSTER}", words(self.cluster)));
        }
        let fits = |(&grid, &cluster): (&u32, &u32)| grid.is_multiple_of(cluster);
        match self.grid.iter().zip(&self.cluster).all(fits) {
            true => Ok(self),
            false => {
                let (grid, cluster) = (words(self.grid), words(self.cluster));
                Err(format!("a grid of {grid} blocks is not made of clusters of {cluster}"))
            }
        }
    }

    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }
}

impl Machine<'_> {
    /// Runs all blocks. `go_on` is asked from time to time whether to.
    pub fn launch(&mut self, form: &Form, go_on: &mut dyn FnMut() -> bool) {
        let mut next = 0;
        let clusters = form.blocks() / u64::from(form.cluster_blocks().max(1));
        let mut order: Option<Vec<u32>> = None;
        if let Some(chance) = self.chance.as_mut().filter(|_| clusters <= 1 << 24) {
            let mut list: Vec<u32> = (0..clusters as u32).collect();
            chance.shuffle(&mut list);
            order = Some(list);
        }
        let mut resident: Vec<Cluster> = Vec::new();
        let mut free: Vec<Cluster> = Vec::new();
        while next < clusters || !resident.is_empty() {
            // One more, if there is room, and then a turn for each.
            if next < clusters && resident.len() < MOST_RESIDENT {
                let number = order.as_ref().map_or(next as u32, |order| order[next as usize]);
                let old = free.pop();
                resident.push(self.begin(form, number, old));
                next += 1;
            }
            let mut n = resident.len();
            while n > 0 {
                n -= 1;
                let done = self.turn(&mut resident[n], go_on);
                if self.findings.stopped || !go_on() {
                    return;
                }
                if done {
                    free.push(resident.swap_remove(n));
                }
            }
        }
    }

    /// A cluster at the kernel's first instruction, in the memory of one that is done.
    fn begin(&mut self, form: &Form, number: u32, old: Option<Cluster>) -> Cluster {
        let threads = form.threads();
        let count = threads.div_ceil(LANES as u32);
        let blocks = form.blocks_of(number);
        let shared = Shared::new(
            number,
            &blocks,
            threads,
            self.code.shared_bytes + form.dynamic_shared,
            self.intervals.is_some(),
        );
        let mut warps = old.map(|cluster| cluster.warps).unwrap_or_default();
        warps.resize_with(count as usize * blocks.len(), || Warp::new(self.code));
        let [gx, gy, _] = form.grid;
        for (n, warp) in warps.iter_mut().enumerate() {
            let (rank, k) = (n as u32 / count, n as u32 % count);
            let block = blocks[rank as usize];
            (warp.number, warp.rank) = (k, rank);
            warp.id = block.wrapping_mul(count).wrapping_add(k);
            (warp.block, warp.ntid) = ([block % gx, block / gx % gy, block / (gx * gy)], form.block);
            (warp.epoch, warp.time, warp.interval, warp.released, warp.steps) = (0, 0, None, None, 0);
            (warp.known, warp.meeting) = Default::default();
            warp.local_set.fill(0);
            let lanes = (threads - k * LANES as u32).min(LANES as u32);
            warp.begin(u32::MAX >> (LANES as u32 - lanes));
            for &(reg, special) in &self.code.specials {
                warp.regs[reg as usize] = std::array::from_fn(|lane| self.special(special, warp, form, lane as u32));
            }
        }
        Cluster { shared, warps }
    }

    fn special(&self, special: Special, warp: &Warp, form: &Form, lane: u32) -> u64 {
        let n = warp.number * LANES as u32 + lane;
        let [x, y, _] = form.block;
        let value = match special {
            Special::Tid(0) => n % x,
            Special::Tid(1) => n / x % y,
            Special::Tid(_) => n / (x * y),
            Special::Ntid(axis) => form.block[axis],
            Special::Ctaid(axis) => warp.block[axis],
            Special::Nctaid(axis) => form.grid[axis],
            Special::Lane => lane,
            Special::Warp => warp.number,
            Special::Warps => form.threads().div_ceil(LANES as u32),
            Special::MaskEq => 1 << lane,
            Special::MaskLe => u32::MAX >> (31 - lane),
            Special::MaskLt => (1 << lane) - 1,
            Special::MaskGe => u32::MAX << lane,
            Special::MaskGt => u32::MAX.checked_shl(lane + 1).unwrap_or(0),
            Special::DynamicShared => form.dynamic_shared,
            Special::TotalShared => self.code.shared_bytes + form.dynamic_shared,
            Special::Environment(1) => (form.workspace >> 32) as u32,
            Special::Environment(_) => form.workspace as u32,
            Special::Zero => 0,
            Special::Ones => 1,
            Special::RankInCluster => warp.rank,
            Special::BlocksOfCluster => form.cluster_blocks(),
            Special::InCluster(axis) => warp.block[axis] % form.cluster[axis],
            Special::Cluster(axis) => warp.block[axis] / form.cluster[axis],
            Special::ClusterExtent(axis) => form.cluster[axis],
            Special::Clusters(axis) => form.grid[axis] / form.cluster[axis],
        };
        value.into()
    }

    /// Lets the warps of a cluster run until all have left, or all that can wait for others.
    /// Whether it is done, or the launch is to end.
    fn turn(&mut self, cluster: &mut Cluster, go_on: &mut dyn FnMut() -> bool) -> bool {
        let Cluster { shared, warps } = cluster;
        loop {
            if !go_on() {
                return true;
            }
            let mut order: Vec<usize> = (0..warps.len()).filter(|&w| !warps[w].is_done()).collect();
            if order.is_empty() {
                return true;
            }
            if let Some(chance) = &mut self.chance {
                chance.shuffle(&mut order);
            }
            let (mut ran, mut went_on) = (false, false);
            for w in order {
                let pauses = self.turn_of_warp(shared, &mut warps[w]);
                if self.findings.stopped {
                    return true;
                }
                ran |= pauses.0;
                went_on |= pauses.1;
            }
            if self.open_barriers(shared, warps) {
                continue;
            }
            let mut joined = false;
            for warp in warps.iter_mut() {
                joined |= meet(warp);
            }
            if joined || went_on {
                continue;
            }
            if warps.iter().all(Warp::is_done) {
                return true;
            }
            if ran {
                // All that run wait for others: another cluster has its turn.
                return false;
            }
            self.stuck(shared, warps);
            return true;
        }
    }

    /// Runs the parts of a warp; whether some ran, and whether some can go on at once.
    fn turn_of_warp(&mut self, shared: &mut Shared, warp: &mut Warp) -> (bool, bool) {
        let (mut ran, mut goes_on) = (false, false);
        let mut n = 0;
        while n < warp.splits.len() {
            if warp.splits[n].state != State::Ready {
                n += 1;
                continue;
            }
            ran = true;
            let mut split = warp.splits.swap_remove(n);
            let slice = self.chance.as_mut().map_or(SLICE, |chance| 1 + chance.below(64));
            let slice = slice.min(self.limit.saturating_sub(warp.steps)).max(1);
            let before = self.steps;
            let pause = self.run(shared, warp, &mut split, slice);
            warp.steps += self.steps - before;
            if matches!(pause, Pause::Slice | Pause::Polls) && warp.steps >= self.limit {
                let pc = split.top().map_or(0, |top| top.pc);
                let thread = warp.thread(split.mask.trailing_zeros().min(31));
                self.findings.add(What::Endless, pc, thread);
            }
            goes_on |= matches!(pause, Pause::Slice | Pause::Waits);
            if pause != Pause::Done {
                warp.splits.push(split);
                // The one that stood last is here now, and has its turn too.
                let last = warp.splits.len() - 1;
                warp.splits.swap(n, last);
                n += 1;
            }
            if self.findings.stopped {
                break;
            }
        }
        (ran, goes_on)
    }

    /// Nobody can go on. Lanes that wait for others of their warp are the cause of what else waits;
    /// at the barrier of a cluster threads wait only for those that are stuck elsewhere.
    fn stuck(&mut self, shared: &Shared, warps: &[Warp]) {
        let all = || warps.iter().flat_map(|warp| warp.splits.iter().map(move |split| (warp, split)));
        let thread = |warp: &Warp, split: &Split| warp.thread(split.mask.trailing_zeros().min(31));
        for (warp, split) in all() {
            if let State::Meeting(pc) = split.state {
                let is_barrier = matches!(
                    self.code.insts[pc as usize].op,
                    Op::BlockBarrier(_) | Op::ClusterArrive { .. } | Op::ClusterWait { .. }
                );
                let missing = warp.live & !split.mask;
                let what = if is_barrier {
                    What::DivergentBarrier(split.mask)
                } else {
                    What::MissingLanes { missing, left: false }
                };
                self.findings.add(what, pc, thread(warp, split));
                return;
            }
        }
        for (warp, split) in all() {
            if let State::Barrier(number) = split.state {
                let block = &shared.blocks[warp.rank as usize];
                let at = &block.barriers[number];
                let waiting = at.arrived.iter().map(|a| a.lanes.count_ones()).sum();
                let expected = at.count.unwrap_or(block.live);
                self.findings.add(What::EndlessBarrier { waiting, expected }, at.pc, thread(warp, split));
                return;
            }
        }
    }
}
