//! How long do atomics on one address queue? One at a time reaches it, whichever threads they are
//! of.
//!
//! Two counts: of the address that most go to; and, if warps run in step, of the longest queue each
//! time that they all come to an instruction. Warps that add to one element after the other, all in
//! the same order, queue at each.

use std::collections::HashMap;

use super::machine::lanes;
use super::value::LANES;

/// The queues of a launch at addresses of global memory.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    /// By address.
    all: HashMap<u64, u64>,
    /// How often a warp came to an instruction: by the instruction and the warp.
    times: HashMap<(u32, u32), u32>,
    /// By the instruction, how often its warps came to it, and the address.
    step: HashMap<(u32, u32, u64), u64>,
    /// The longest of these, without the address.
    longest: HashMap<(u32, u32), u64>,
}

impl Queues {
    /// A warp does an atomic.
    pub fn add(&mut self, pc: u32, warp: u32, addresses: &[u64; LANES], mask: u32) {
        let times = self.times.entry((pc, warp)).or_default();
        let longest = self.longest.entry((pc, *times)).or_default();
        for lane in lanes(mask) {
            *self.all.entry(addresses[lane]).or_default() += 1;
            let here = self.step.entry((pc, *times, addresses[lane])).or_default();
            *here += 1;
            *longest = (*longest).max(*here);
        }
        *times += 1;
    }

    /// The atomics on the address that most go to.
    pub fn one_address(&self) -> u64 {
        self.all.values().copied().max().unwrap_or(0)
    }

    /// Those that wait for each other if warps run in step.
    pub fn in_step(&self) -> u64 {
        self.longest.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_in_step_queue_at_each_address_that_they_come_to() {
        let (mut alike, mut apart) = (Queues::default(), Queues::default());
        for warp in 0..4 {
            for turn in 0..8u64 {
                alike.add(0, warp, &[64 * turn; LANES], 1);
                apart.add(0, warp, &[64 * ((turn + u64::from(warp)) % 8); LANES], 1);
            }
        }
        assert_eq!((alike.one_address(), alike.in_step()), (4, 4 * 8));
        assert_eq!((apart.one_address(), apart.in_step()), (4, 8));
        // All lanes of a warp queue, too.
        let mut lanes = Queues::default();
        lanes.add(0, 0, &[0; LANES], u32::MAX);
        assert_eq!((lanes.one_address(), lanes.in_step()), (32, 32));
    }
}
