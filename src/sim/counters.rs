//! What did a launch cost? For each instruction what a profiler counts on a GPU, of addresses and
//! masks alone.

use super::machine::lanes;
use super::queues::Queues;
use super::value::LANES;
use super::windows;
use crate::ptx::Space;

/// The counts of one instruction, or of several.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// By warps; lanes that were on its side; lanes that it was not switched off for.
    pub executed: u64,
    pub threads: u64,
    pub threads_on: u64,
    /// Branches that parted lanes.
    pub divergent: u64,
    /// Accesses of global or local memory with a lane at least, their 32-byte sectors, and as few
    /// as there could be.
    pub requests: u64,
    pub sectors: u64,
    pub ideal_sectors: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
    /// Accesses of shared memory, the passes that they took, and as few as there could be.
    pub shared_requests: u64,
    pub wavefronts: u64,
    pub ideal_wavefronts: u64,
    pub shared_bytes: u64,
    /// Atomics on one address that wait for each other, beyond the first.
    pub serialised: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        for (sum, more) in [
            (&mut self.executed, other.executed),
            (&mut self.threads, other.threads),
            (&mut self.threads_on, other.threads_on),
            (&mut self.divergent, other.divergent),
            (&mut self.requests, other.requests),
            (&mut self.sectors, other.sectors),
            (&mut self.ideal_sectors, other.ideal_sectors),
            (&mut self.bytes, other.bytes),
            (&mut self.shared_requests, other.shared_requests),
            (&mut self.wavefronts, other.wavefronts),
            (&mut self.ideal_wavefronts, other.ideal_wavefronts),
            (&mut self.shared_bytes, other.shared_bytes),
            (&mut self.serialised, other.serialised),
        ] {
            *sum += more;
        }
    }
}

/// The counts of a launch.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// By instruction.
    pub counts: Vec<Counts>,
    /// The space that each access went to, where one did.
    pub spaces: Vec<Option<Space>>,
    /// The sectors of global memory that were touched at all: read, written.
    pub touched: [Sectors; 2],
    /// At addresses of global memory.
    pub queues: Queues,
    met: Met,
}

const SECTOR: u64 = 32;

/// A set of sectors of global memory: a bit each.
#[derive(Clone, Debug, Default)]
pub struct Sectors {
    bits: Vec<u64>,
    /// The number of the first one.
    base: u64,
}

impl Sectors {
    fn of(base: u64, bytes: usize) -> Sectors {
        Sectors { bits: vec![0; bytes / SECTOR as usize / 64 + 1], base: base / SECTOR }
    }

    #[inline(always)]
    fn add(&mut self, sector: u64) {
        // What lies elsewhere ends the launch.
        let at = sector.wrapping_sub(self.base);
        if let Some(word) = self.bits.get_mut((at / 64) as usize) {
            *word |= 1 << (at % 64);
        }
    }

    pub fn count(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// The different numbers among a few: a table that is empty again when it is asked anew.
#[derive(Clone, Debug)]
struct Met {
    table: Box<[(u64, u32)]>,
    now: u32,
}

/// Twice the most that a warp can ask for.
const SLOTS: usize = 512;

impl Default for Met {
    fn default() -> Met {
        Met { table: vec![(0, 0); SLOTS].into(), now: 0 }
    }
}

impl Met {
    fn clear(&mut self) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.table.fill((0, 0));
            self.now = 1;
        }
    }

    /// Whether a number is there for the first time.
    #[inline(always)]
    fn is_new(&mut self, number: u64) -> bool {
        let mut at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize;
        loop {
            let slot = &mut self.table[at % SLOTS];
            if slot.1 != self.now {
                *slot = (number, self.now);
                return true;
            }
            if slot.0 == number {
                return false;
            }
            at += 1;
        }
    }
}

impl Counters {
    /// `base`, `bytes`: of global memory.
    pub fn new(instructions: usize, base: u64, bytes: usize) -> Counters {
        Counters {
            counts: vec![Counts::default(); instructions],
            spaces: vec![None; instructions],
            touched: [Sectors::of(base, bytes), Sectors::of(base, bytes)],
            queues: Queues::default(),
            met: Met::default(),
        }
    }

    #[inline]
    pub fn executed(&mut self, pc: u32, mask: u32, active: u32) {
        let counts = &mut self.counts[pc as usize];
        counts.executed += 1;
        counts.threads += u64::from(mask.count_ones());
        counts.threads_on += u64::from(active.count_ones());
    }

    pub fn divergent(&mut self, pc: u32) {
        self.counts[pc as usize].divergent += 1;
    }

    /// A load or a store of so many bytes a lane.
    #[inline(always)]
    pub fn accessed(&mut self, pc: u32, space: Space, addresses: &[u64; LANES], mask: u32, bytes: u32, writes: bool) {
        if mask == 0 {
            return;
        }
        let first = addresses[mask.trailing_zeros() as usize];
        let space = if space == Space::Generic { windows::resolve(first).0 } else { space };
        self.spaces[pc as usize] = Some(space);
        let total = u64::from(bytes) * u64::from(mask.count_ones());
        match space {
            Space::Global => {
                let sectors = self.sectors(addresses, mask, bytes, writes);
                let counts = &mut self.counts[pc as usize];
                counts.requests += 1;
                counts.sectors += sectors;
                counts.ideal_sectors += total.div_ceil(SECTOR);
                counts.bytes += total;
            }
            // Lanes keep words of local memory side by side.
            Space::Local => {
                let sectors = self.local_sectors(addresses, mask, bytes);
                let counts = &mut self.counts[pc as usize];
                let words = u64::from(bytes.div_ceil(4));
                counts.requests += 1;
                counts.sectors += sectors;
                counts.ideal_sectors += words * u64::from(mask.count_ones()).div_ceil(8);
                counts.bytes += total;
            }
            Space::Shared => {
                let (wavefronts, ideal) = wavefronts(addresses, mask, bytes);
                let counts = &mut self.counts[pc as usize];
                counts.shared_requests += 1;
                counts.wavefronts += wavefronts;
                counts.ideal_wavefronts += ideal;
                counts.shared_bytes += total;
            }
            _ => {}
        }
    }

    /// `warp`: its number in the launch.
    pub fn atomic(&mut self, pc: u32, warp: u32, space: Space, addresses: &[u64; LANES], mask: u32, bytes: u32) {
        self.met.clear();
        let waiting = lanes(mask).filter(|&lane| !self.met.is_new(addresses[lane])).count();
        self.counts[pc as usize].serialised += waiting as u64;
        self.accessed(pc, space, addresses, mask, bytes, true);
        if mask != 0 && self.spaces[pc as usize] == Some(Space::Global) {
            self.queues.add(pc, warp, addresses, mask);
        }
    }

    /// How many sectors of local memory lanes touch: each has one word of eight lanes side by side.
    fn local_sectors(&mut self, addresses: &[u64; LANES], mask: u32, bytes: u32) -> u64 {
        self.met.clear();
        let mut count = 0;
        for lane in lanes(mask) {
            for word in addresses[lane] / 4..=addresses[lane].wrapping_add(u64::from(bytes) - 1) / 4 {
                count += u64::from(self.met.is_new(word * 4 + lane as u64 / 8));
            }
        }
        count
    }

    /// How many sectors lanes touch, which are noted.
    #[inline(always)]
    fn sectors(&mut self, addresses: &[u64; LANES], mask: u32, bytes: u32, writes: bool) -> u64 {
        let touched = &mut self.touched[usize::from(writes)];
        let (first, size) = (addresses[0], u64::from(bytes));
        // Most often lanes touch neighbours.
        let apart = (0..LANES).fold(0, |apart, l| apart | (addresses[l] ^ first.wrapping_add(l as u64 * size)));
        if mask == u32::MAX && apart == 0 {
            let (first, last) = (first / SECTOR, (first + LANES as u64 * size - 1) / SECTOR);
            (first..=last).for_each(|sector| touched.add(sector));
            return last - first + 1;
        }
        self.met.clear();
        let (mut count, mut latest) = (0, u64::MAX);
        for lane in lanes(mask) {
            let (first, last) = (addresses[lane] / SECTOR, addresses[lane].wrapping_add(size - 1) / SECTOR);
            for sector in first..=last {
                if sector != latest && self.met.is_new(sector) {
                    count += 1;
                    touched.add(sector);
                }
                latest = sector;
            }
        }
        count
    }
}

/// The passes that an access of shared memory takes, and those of one without conflicts: 32 banks
/// give a word each, and accesses of 8 and 16 bytes go by half and quarter warps.
fn wavefronts(addresses: &[u64; LANES], mask: u32, bytes: u32) -> (u64, u64) {
    let groups = bytes.div_ceil(4).max(1) as usize;
    let each = LANES / groups.min(4);
    let (mut passes, mut ideal) = (0, 0);
    for group in 0..LANES / each {
        let part = mask & ((u64::MAX >> (64 - each)) as u32) << (group * each);
        if let Some(words) = without_conflict(addresses, part, bytes) {
            passes += u64::from(words > 0);
            ideal += u64::from(words > 0);
            continue;
        }
        let mut words: Vec<u64> = lanes(part)
            .flat_map(|lane| {
                let first = addresses[lane] / 4;
                first..=(addresses[lane] + u64::from(bytes) - 1) / 4
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u64; 32];
        words.iter().for_each(|word| banks[(word % 32) as usize] += 1);
        passes += banks.iter().copied().max().unwrap_or(0);
        ideal += (words.len() as u64).div_ceil(32);
    }
    (passes, ideal)
}

/// How many words of shared memory lanes ask for, if each of them is in a bank of its own.
fn without_conflict(addresses: &[u64; LANES], mask: u32, bytes: u32) -> Option<u32> {
    let mut banks = [u64::MAX; 32];
    let mut words = 0;
    for lane in lanes(mask) {
        for word in addresses[lane] / 4..=addresses[lane].wrapping_add(u64::from(bytes) - 1) / 4 {
            let bank = &mut banks[(word % 32) as usize];
            match *bank {
                u64::MAX => words += 1,
                known if known == word => {}
                _ => return None,
            }
            *bank = word;
        }
    }
    Some(words)
}
