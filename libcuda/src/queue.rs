//! In what order do streams run? Without a seed each operation runs when it is asked for. With one,
//! operations wait until the client waits for them, and run in an order that the number draws
//! among those that a GPU may choose: what a stream, an event or the default stream orders stays
//! ordered.

use std::collections::VecDeque;

use crate::order::{Clock, Work, join};
use crate::streams::Operation;

/// An operation that waits for its turn.
pub struct Queued {
    pub device: usize,
    pub operation: Operation,
    pub work: Work,
}

/// More operations do not wait: the memory of a client that never waits stays bounded.
const MOST: usize = 1024;

#[derive(Default)]
pub struct Queue {
    /// In the order of their calls.
    waiting: VecDeque<Queued>,
    /// What the client waits for: up to these operations of each stream.
    wanted: Clock,
    /// The state of the generator, if an order is drawn.
    drawn: Option<u64>,
}

impl Queue {
    pub fn new(seed: Option<u64>) -> Queue {
        Queue { drawn: seed, ..Queue::default() }
    }

    /// Whether all that was asked for is done.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn push(&mut self, queued: Queued) {
        self.waiting.push_back(queued);
    }

    /// The client goes on only after these operations.
    pub fn wait_for(&mut self, clock: &Clock) {
        join(&mut self.wanted, clock);
    }

    pub fn wait_for_all(&mut self) {
        let all = self.waiting.iter().map(|queued| (queued.work.stream, queued.work.time));
        join(&mut self.wanted, &all.collect());
    }

    /// The operation that runs next; None: the client need not wait any longer.
    pub fn next(&mut self) -> Option<Queued> {
        let Some(drawn) = &mut self.drawn else { return self.waiting.pop_front() };
        let is_wanted = |queued: &Queued| self.wanted.get(&queued.work.stream).is_some_and(|t| *t >= queued.work.time);
        if self.waiting.len() <= MOST && !self.waiting.iter().any(is_wanted) {
            return None;
        }
        // Only the first of each stream can be next, and only if it knows of no other first.
        let mut firsts: Vec<(usize, &Work)> = Vec::new();
        for (at, queued) in self.waiting.iter().enumerate() {
            if firsts.iter().all(|(_, work)| work.stream != queued.work.stream) {
                firsts.push((at, &queued.work));
            }
        }
        let knows = |work: &Work, other: &Work| work.known.get(&other.stream).is_some_and(|t| *t >= other.time);
        let ready = firsts.iter().filter(|(at, work)| firsts.iter().all(|(other, w)| other == at || !knows(work, w)));
        let ready: Vec<usize> = ready.map(|(at, _)| *at).collect();
        let chosen = ready.get((random(drawn) % ready.len().max(1) as u64) as usize).copied().unwrap_or(0);
        self.waiting.remove(chosen)
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
