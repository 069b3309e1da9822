//! What do the blocks of a cluster share? Each reaches the shared memory of the others, and all
//! wait for each other at the cluster's barrier (PTX ISA, "Cluster of Cooperative Thread Arrays").
//! A launch without clusters has clusters of one block.
//!
//! An address of shared memory counts from 0 in the own block; `mapa` gives such of a block by its
//! rank, in the upper bits.

use super::access::join;
use super::findings::{Touched, What};
use super::machine::{BARRIERS, Barrier, Machine, Pause, advance};
use super::races::{Clock, History};
use super::warp::{Split, State, Warp};

/// The bit of addresses from which on they have the rank of a block, and 1; below it lies the place
/// in the block.
const RANK_AT: u32 = 24;

/// The address of the same place in the block of a rank (`mapa`).
pub fn mapped(address: u64, rank: u64, _: u32, _: u32) -> u64 {
    let offset = address & ((1 << RANK_AT) - 1);
    address & !u64::from(u32::MAX) | ((rank as u32).wrapping_add(1) << RANK_AT) as u64 | offset
}

/// The rank of the block that an address leads to (`getctarank`).
pub fn rank_of(address: u64, own: u64, _: u32, _: u32) -> u64 {
    match address as u32 >> RANK_AT {
        0 => own,
        above => u64::from(above) - 1,
    }
}

/// The rank of the block that an address names, if it names one, and the address in it.
pub fn in_block(address: u64) -> (Option<u64>, u64) {
    match address >> RANK_AT {
        0 => (None, address),
        above => (Some(above - 1), address & ((1 << RANK_AT) - 1)),
    }
}

/// What the warps of a cluster share.
pub struct Shared {
    /// Of the cluster in the launch.
    pub number: u32,
    /// The bytes that a block has, and from where one begins to the next one.
    pub size: usize,
    pub stride: usize,
    /// Of all blocks, one after the other.
    pub bytes: Vec<u8>,
    pub set: Vec<u8>,
    pub history: History,
    /// By their ranks.
    pub blocks: Vec<Block>,
    pub meeting: Meeting,
    /// Copies of threads that have not come, and those in bulk.
    pub flying: super::tensor::Flying,
    pub coming: Vec<super::bulk::Coming>,
}

/// What the warps of a block have by themselves.
pub struct Block {
    /// In the launch.
    pub number: u32,
    /// Those that instructions number.
    pub barriers: [Barrier; BARRIERS],
    pub epoch: u32,
    /// Threads that have not left.
    pub live: u32,
}

/// The barrier of a cluster: threads arrive, and wait later for all others to have arrived.
#[derive(Default, Debug)]
pub struct Meeting {
    /// The threads that have arrived in this phase and have not left.
    arrived: u32,
    /// The phases that are over.
    phases: u32,
    /// What those did before who arrived in this phase, and in the last one.
    done: Clock,
    over: Clock,
}

/// Where the lanes of a warp are at the barrier of their cluster.
#[derive(Clone, Copy, Default, Debug)]
pub struct AtMeeting {
    /// Those that have arrived and not waited since.
    arrived: u32,
    /// Of these, those that arrived in an odd phase, and those that wait.
    odd: u32,
    waits: u32,
    /// What others did before is known to who has waited.
    acquires: bool,
}

impl Shared {
    /// The memory of a cluster, of which `blocks` are the numbers, each with so many threads and
    /// bytes.
    pub fn new(number: u32, blocks: &[u32], threads: u32, own_bytes: u32, follows: bool) -> Shared {
        let size = own_bytes as usize;
        // Whole words: one of which a part is there can be swapped.
        let stride = if blocks.len() == 1 { size.next_multiple_of(4) } else { size.next_multiple_of(16) };
        let all = stride * blocks.len();
        let begun = |&number: &u32| Block {
            number,
            barriers: std::array::from_fn(|_| Barrier::default()),
            epoch: 0,
            live: threads,
        };
        Shared {
            number,
            size,
            stride,
            bytes: vec![0; all],
            set: vec![0; all],
            history: if follows { History::new(all) } else { History::default() },
            blocks: blocks.iter().map(begun).collect(),
            meeting: Meeting::default(),
            flying: Default::default(),
            coming: Vec::new(),
        }
    }

    /// The rank of the block that an address leads to from a block, and what the address is of the
    /// first byte there.
    #[inline(always)]
    pub fn block_of(&self, address: u64, own: u32) -> (usize, u64) {
        match address >> RANK_AT {
            0 => (own as usize, 0),
            above => (above as usize - 1, above << RANK_AT),
        }
    }

    /// Where an access of a thread of the block `own` lies in the memory of the cluster; None:
    /// nowhere. `words`: as of [`super::Memory::piece`].
    #[inline(always)]
    pub fn place(&self, own: u32, address: u64, bytes: usize, words: bool) -> Option<usize> {
        let (rank, start) = self.block_of(address, own);
        let at = (address - start) as usize;
        let size = if words { self.size.next_multiple_of(4) } else { self.size };
        (rank < self.blocks.len() && at.checked_add(bytes)? <= size).then_some(rank * self.stride + at)
    }

    /// Whether a block of the cluster is not there: it has ended, or may not have begun.
    pub fn is_absent(&self, rank: usize) -> bool {
        self.meeting.phases == 0 || self.blocks.get(rank).is_none_or(|block| block.live == 0)
    }

    /// What is wrong with an access of a thread of the block `own` to the block that it leads to.
    pub fn absent(&self, own: u32, t: Touched) -> Option<What> {
        let (rank, _) = self.block_of(t.address, own);
        let block = self.blocks.get(rank).filter(|_| rank != own as usize)?;
        match () {
            _ if block.live == 0 => Some(What::Ended(t, rank as u32)),
            _ if self.meeting.phases == 0 => Some(What::NotBegun(t, rank as u32)),
            _ => None,
        }
    }

    /// The block whose memory holds a place.
    pub fn holder(&self, place: usize) -> u32 {
        self.blocks.get(place / self.stride.max(1)).map_or(0, |block| block.number)
    }

    /// Threads of the cluster that have not left.
    fn live(&self) -> u32 {
        self.blocks.iter().map(|block| block.live).sum()
    }

    /// Some lanes leave the kernel.
    pub fn left(&mut self, warp: &mut Warp, lanes: u32) {
        let leave = warp.live & lanes;
        self.blocks[warp.rank as usize].live -= leave.count_ones();
        self.meeting.arrived -= (self.meeting.now(&warp.meeting) & leave).count_ones();
        warp.meeting.arrived &= !leave;
        warp.live &= !lanes;
    }
}

impl Meeting {
    /// The lanes that have arrived in this phase.
    fn now(&self, at: &AtMeeting) -> u32 {
        at.arrived & if self.phases & 1 == 1 { at.odd } else { !at.odd }
    }

    /// Lanes that wait go on, if their phase is over.
    fn passed(&self, warp: &mut Warp) {
        let pass = warp.meeting.waits & !self.now(&warp.meeting);
        if pass == 0 {
            return;
        }
        warp.meeting.arrived &= !pass;
        warp.meeting.waits &= !pass;
        if std::mem::take(&mut warp.meeting.acquires) {
            join(&mut warp.known, &self.over);
        }
        warp.epoch += 1;
        warp.synchronised();
    }
}

impl Machine<'_> {
    /// Lanes arrive at the barrier of their cluster. `releases`: what they did before is known to
    /// those who wait.
    pub fn arrive(&mut self, shared: &mut Shared, warp: &mut Warp, active: u32, releases: bool, pc: u32) {
        if active == 0 {
            return;
        }
        let twice = warp.meeting.arrived & active;
        if twice != 0 {
            let why = "`barrier.cluster.arrive` again, without a `barrier.cluster.wait` since".to_string();
            self.findings.add(What::Cluster(why), pc, warp.thread(twice.trailing_zeros()));
            return;
        }
        let meeting = &mut shared.meeting;
        warp.meeting.arrived |= active;
        warp.meeting.odd = warp.meeting.odd & !active | if meeting.phases & 1 == 1 { active } else { 0 };
        meeting.arrived += active.count_ones();
        if releases && self.intervals.is_some() {
            join(&mut meeting.done, &warp.clock());
        }
        self.meet_all(shared);
    }

    /// Lanes wait at the barrier of their cluster; what to wait for.
    pub fn wait_for_cluster(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        split: &mut Split,
        active: u32,
        acquires: bool,
        pc: u32,
    ) -> Option<Pause> {
        let absent = active & !warp.meeting.arrived;
        if absent != 0 {
            let why = "`barrier.cluster.wait` without a `barrier.cluster.arrive` before".to_string();
            self.findings.add(What::Cluster(why), pc, warp.thread(absent.trailing_zeros()));
            return Some(Pause::Stopped);
        }
        advance(split, pc);
        warp.meeting.waits |= active;
        warp.meeting.acquires |= acquires;
        if shared.meeting.now(&warp.meeting) & active != 0 {
            split.state = State::Cluster;
            return Some(Pause::Waits);
        }
        shared.meeting.passed(warp);
        None
    }

    /// Ends the phase of the cluster's barrier if all have arrived; whether it ends.
    pub fn meet_all(&mut self, shared: &mut Shared) -> bool {
        let over = shared.meeting.arrived > 0 && shared.meeting.arrived >= shared.live();
        if over {
            let meeting = &mut shared.meeting;
            (meeting.arrived, meeting.phases) = (0, meeting.phases.wrapping_add(1));
            meeting.over = std::mem::take(&mut meeting.done);
        }
        over
    }

    /// Lets warps go on that wait for a phase which is over; whether some do.
    pub fn open_meeting(&mut self, shared: &mut Shared, warps: &mut [Warp]) -> bool {
        self.meet_all(shared);
        let mut opened = false;
        for warp in warps {
            let here = shared.meeting.now(&warp.meeting);
            shared.meeting.passed(warp);
            for split in warp.splits.iter_mut().filter(|split| split.state == State::Cluster) {
                if split.top().is_some_and(|top| top.mask & here == 0) {
                    split.state = State::Ready;
                    opened = true;
                }
            }
        }
        opened
    }
}
