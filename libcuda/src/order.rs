//! What orders the work of streams? Each stream counts its operations, and knows up to where those
//! of others are done before its next one: by events that it waits for, by waits of the host, by
//! the default stream. Two operations on the same bytes, one of them writing, of which the later
//! one does not know the earlier one, may run at once on a GPU.

use std::collections::HashMap;

use kc::sim::Footprint;
use kc::sim::heap::Origin;

/// For streams the number of operations that are known to be done.
pub type Clock = HashMap<u64, u64>;

/// An operation as messages name it.
#[derive(Clone, Debug)]
pub struct Work {
    /// `cuMemcpyHtoDAsync_v2`, or the name of a kernel.
    pub name: String,
    /// The call that asked for it.
    pub call: Origin,
    pub stream: u64,
    /// Its number in its stream, and what came before it for certain.
    pub time: u64,
    pub known: Clock,
}

/// What an operation did to a block.
#[derive(Clone, Debug)]
struct Access {
    work: Work,
    /// Bytes that were read and written, a bit each.
    bits: [Vec<u64>; 2],
}

/// Two operations that nothing orders.
#[derive(Clone, Debug)]
pub struct Unordered {
    pub before: Work,
    pub before_writes: bool,
    pub writes: bool,
    /// The first byte of both.
    pub address: u64,
}

/// A stream that is not alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The default stream: waits for the blocking ones, and they for it.
    Default,
    Blocking,
    Free,
}

#[derive(Debug, Default)]
pub struct Order {
    /// What each stream knows, itself included.
    streams: HashMap<u64, (usize, Kind, Clock)>,
    host: Clock,
    /// What the host had waited for when nothing was queued: all that is queued knows it.
    settled: Clock,
    /// By blocks, the oldest first.
    accesses: HashMap<u64, Vec<Access>>,
    /// Whether races of streams are searched (`--checks races`).
    looks: bool,
    /// Whether there is more than the default stream.
    several: bool,
}

/// More accesses of a block are not kept; the oldest go.
const MOST: usize = 64;

pub fn join(clock: &mut Clock, news: &Clock) {
    for (&stream, &time) in news {
        let known = clock.entry(stream).or_insert(0);
        *known = (*known).max(time);
    }
}

impl Order {
    pub fn new(looks: bool) -> Order {
        Order { looks, ..Order::default() }
    }

    /// Whether streams are looked at: there are several.
    pub fn watches(&self) -> bool {
        self.looks && self.several
    }

    /// Nothing is queued: what the host has waited for comes before all that is asked for from now
    /// on.
    pub fn settle(&mut self) {
        self.settled.clone_from(&self.host);
    }

    /// A new stream of a device.
    pub fn begin(&mut self, stream: u64, device: usize, kind: Kind) {
        self.several |= kind != Kind::Default;
        self.streams.entry(stream).or_insert_with(|| (device, kind, Clock::new()));
    }

    /// A stream goes; its work counts as done, so that nothing is said of it wrongly.
    pub fn end(&mut self, stream: u64) {
        self.host_waits_for(stream);
        self.streams.remove(&stream);
    }

    /// An operation that a stream is asked for.
    pub fn operation(&mut self, stream: u64, name: String, call: Origin) -> Work {
        let Some(&(device, kind, _)) = self.streams.get(&stream) else {
            return Work { name, call, stream, time: 0, known: Clock::new() };
        };
        let mut known = self.host.clone();
        // The default stream and those that block it wait for each other.
        for (&other, (of, other_kind, clock)) in &self.streams {
            let waits = match kind {
                Kind::Default => *other_kind == Kind::Blocking,
                Kind::Blocking => *other_kind == Kind::Default,
                Kind::Free => false,
            };
            if other == stream || waits && *of == device {
                join(&mut known, clock);
            }
        }
        let time = known.get(&stream).copied().unwrap_or(0) + 1;
        known.insert(stream, time);
        if let Some((.., clock)) = self.streams.get_mut(&stream) {
            *clock = known.clone();
        }
        Work { name, call, stream, time, known }
    }

    /// What a stream has done so far, for an event.
    pub fn clock(&self, stream: u64) -> Clock {
        self.streams.get(&stream).map(|(.., clock)| clock.clone()).unwrap_or_default()
    }

    /// A stream waits for an event.
    pub fn waits(&mut self, stream: u64, event: &Clock) {
        if let Some((.., clock)) = self.streams.get_mut(&stream) {
            join(clock, event);
        }
    }

    /// The host waits for an event, a stream, or all of a device.
    pub fn host_waits(&mut self, event: &Clock) {
        join(&mut self.host, event);
    }

    pub fn host_waits_for(&mut self, stream: u64) {
        let clock = self.clock(stream);
        self.host_waits(&clock);
    }

    pub fn host_waits_for_all(&mut self, device: usize) {
        let clocks: Vec<Clock> =
            self.streams.values().filter(|(of, ..)| *of == device).map(|(.., clock)| clock.clone()).collect();
        clocks.iter().for_each(|clock| self.host_waits(clock));
    }

    /// A block is given back for good, or anew.
    pub fn forget(&mut self, block: u64) {
        self.accesses.remove(&block);
    }

    /// Notes what a launch touched; the first that nothing orders with it.
    pub fn launched(&mut self, work: &Work, footprint: &Footprint, blocks: &[(u64, u64)]) -> Option<Unordered> {
        let mut first = None;
        for &(start, bytes) in blocks {
            let Some(bits) = footprint.of(start, bytes) else { continue };
            let found = self.note(start, Access { work: work.clone(), bits });
            first = first.or(found);
        }
        first
    }

    /// Notes that some bytes of a block were read or written.
    pub fn touched(&mut self, work: &Work, block: u64, offset: u64, bytes: u64, writes: bool) -> Option<Unordered> {
        if !self.watches() {
            return None;
        }
        let count = ((offset + bytes) as usize).div_ceil(64);
        let mut own = vec![0u64; count];
        let (first, last) = (offset as usize / 64, (offset + bytes - 1) as usize / 64);
        for (n, word) in own.iter_mut().enumerate().skip(first) {
            let from = if n == first { offset % 64 } else { 0 };
            let to = if n == last { (offset + bytes - 1) % 64 } else { 63 };
            *word = u64::MAX << from & u64::MAX >> (63 - to);
        }
        let none = Vec::new();
        let bits = if writes { [none, own] } else { [own, none] };
        self.note(block, Access { work: work.clone(), bits })
    }

    fn note(&mut self, block: u64, access: Access) -> Option<Unordered> {
        let list = self.accesses.entry(block).or_default();
        let settled = &self.settled;
        list.retain(|old| settled.get(&old.work.stream).is_none_or(|known| *known < old.work.time));
        let found = list.iter().find_map(|old| unordered(block, old, &access));
        if list.len() >= MOST {
            list.remove(0);
        }
        list.push(access);
        found
    }
}

fn unordered(block: u64, old: &Access, new: &Access) -> Option<Unordered> {
    let is_known = new.work.known.get(&old.work.stream).is_some_and(|known| *known >= old.work.time);
    if old.work.stream == new.work.stream || is_known {
        return None;
    }
    let common = |a: &[u64], b: &[u64]| {
        let at = a.iter().zip(b).position(|(a, b)| a & b != 0)?;
        Some(64 * at as u64 + u64::from((a[at] & b[at]).trailing_zeros()))
    };
    let pairs = [(true, true), (true, false), (false, true)];
    pairs.into_iter().find_map(|(before_writes, writes)| {
        let at = common(&old.bits[usize::from(before_writes)], &new.bits[usize::from(writes)])?;
        Some(Unordered { before: old.work.clone(), before_writes, writes, address: block + at })
    })
}
