//! In what order do blocks and warps run? In their order, each as far as it can; or as a seed says.
//! Blocks that wait for others (a lock, a barrier of the grid) stay while the next ones run, as on
//! a GPU with room for them.

use super::code::{Op, Special};
use super::exchange::meet;
use super::findings::What;
use super::machine::{Barrier, Machine, Pause, Shared};
use super::races::History;
use super::value::LANES;
use super::warp::{Split, State, Warp};

/// Chance with a seed (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
/// generators", 2014).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n.max(1)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for n in (1..list.len()).rev() {
            list.swap(n, self.below(n as u64 + 1) as usize);
        }
    }
}

/// A block that has begun.
struct Block {
    shared: Shared,
    warps: Vec<Warp>,
}

/// Blocks that can wait for each other at once.
const MOST_RESIDENT: usize = 4096;
/// Instructions of a warp before another one has its turn.
const SLICE: u64 = 1 << 18;

/// The form of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of shared memory that the launch adds.
    pub dynamic_shared: u32,
}

impl Form {
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
        let blocks = form.blocks();
        let mut order: Option<Vec<u32>> = None;
        if let Some(chance) = self.chance.as_mut().filter(|_| blocks <= 1 << 24) {
            let mut list: Vec<u32> = (0..blocks as u32).collect();
            chance.shuffle(&mut list);
            order = Some(list);
        }
        let mut resident: Vec<Block> = Vec::new();
        let mut free: Vec<Block> = Vec::new();
        while next < blocks || !resident.is_empty() {
            // One more, if there is room, and then a turn for each.
            if next < blocks && resident.len() < MOST_RESIDENT {
                let number = order.as_ref().map_or(next as u32, |order| order[next as usize]);
                let block = free.pop();
                resident.push(self.begin(form, number, block));
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

    /// A block at the kernel's first instruction, in the memory of one that is done.
    fn begin(&mut self, form: &Form, number: u32, old: Option<Block>) -> Block {
        let threads = form.threads();
        let count = threads.div_ceil(LANES as u32);
        let shared_bytes = (self.code.shared_bytes + form.dynamic_shared) as usize;
        let mut warps = old.map(|block| block.warps).unwrap_or_default();
        warps.resize_with(count as usize, || Warp::new(self.code));
        let [gx, gy, _] = form.grid;
        let place = [number % gx, number / gx % gy, number / (gx * gy)];
        for (k, warp) in warps.iter_mut().enumerate() {
            warp.number = k as u32;
            warp.id = number.wrapping_mul(count).wrapping_add(k as u32);
            (warp.block, warp.ntid) = (place, form.block);
            (warp.epoch, warp.time, warp.interval, warp.released, warp.steps) = (0, 0, None, None, 0);
            warp.known = Default::default();
            warp.local_set.fill(0);
            let lanes = (threads - k as u32 * LANES as u32).min(LANES as u32);
            warp.begin(u32::MAX >> (LANES as u32 - lanes));
            for &(reg, special) in &self.code.specials {
                warp.regs[reg as usize] = std::array::from_fn(|lane| self.special(special, warp, form, lane as u32));
            }
        }
        let shared = Shared {
            number,
            size: shared_bytes,
            // Whole words: one of which a part is there can be swapped.
            bytes: vec![0; shared_bytes.next_multiple_of(4)],
            set: vec![0; shared_bytes.next_multiple_of(4)],
            history: if self.intervals.is_some() { History::new(shared_bytes) } else { History::default() },
            barriers: std::array::from_fn(|_| Barrier::default()),
            epoch: 0,
            live: threads,
            flying: Default::default(),
            coming: Vec::new(),
        };
        Block { shared, warps }
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
            Special::Zero => 0,
            Special::Ones => 1,
        };
        value.into()
    }

    /// Lets the warps of a block run until all have left, or all that can wait for other blocks;
    /// whether it is done, or the launch is to end.
    fn turn(&mut self, block: &mut Block, go_on: &mut dyn FnMut() -> bool) -> bool {
        let Block { shared, warps } = block;
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
                // All that run wait for others: another block has its turn.
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

    /// Nobody can go on. Lanes that wait for others of their warp are the cause of what else waits.
    fn stuck(&mut self, shared: &Shared, warps: &[Warp]) {
        let all = || warps.iter().flat_map(|warp| warp.splits.iter().map(move |split| (warp, split)));
        let thread = |warp: &Warp, split: &Split| warp.thread(split.mask.trailing_zeros().min(31));
        for (warp, split) in all() {
            if let State::Meeting(pc) = split.state {
                let is_barrier = matches!(self.code.insts[pc as usize].op, Op::BlockBarrier(_));
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
                let at = &shared.barriers[number];
                let waiting = at.arrived.iter().map(|a| a.lanes.count_ones()).sum();
                let expected = at.count.unwrap_or(shared.live);
                self.findings.add(What::EndlessBarrier { waiting, expected }, at.pc, thread(warp, split));
                return;
            }
        }
    }
}
