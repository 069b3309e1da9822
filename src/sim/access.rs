//! What do loads, stores and atomics do to memory? Every access is looked at before it is done:
//! whether its place exists, is aligned, was ever written, and is used by no other thread at the
//! same time.

use std::rc::Rc;

use super::cluster::Shared;
use super::code::{Access, Atomic, Op, Order, Reg, Swap};
use super::decode::added_flushed;
use super::findings::{Other, Touched, What};
use super::machine::{Machine, lanes};
use super::memory::{read, write};
use super::races::{Before, Clock, Intervals, Who};
use super::together::{are_alike, extended};
use super::value::LANES;
use super::warp::{Split, Warp};
use super::windows;
use crate::ptx::Space;

/// A place in the memory that its space has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Global(usize),
    Shared(usize),
    Local(usize),
    /// Of the kernel, of a call.
    Param(usize),
    Handed(usize),
}

impl Place {
    /// That of a later byte of the access.
    fn byte(self, k: u32) -> Place {
        let k = k as usize;
        match self {
            Place::Global(at) => Place::Global(at + k),
            Place::Shared(at) => Place::Shared(at + k),
            Place::Local(at) => Place::Local(at + k),
            Place::Param(at) => Place::Param(at + k),
            Place::Handed(at) => Place::Handed(at + k),
        }
    }
}

impl Machine<'_> {
    #[inline(always)]
    pub fn load(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        split: &mut Split,
        access: &Access,
        pc: u32,
        active: u32,
    ) {
        let bytes = access.bytes * access.values.len() as u32;
        let addresses = addresses(warp, access.base, access.offset);
        self.count(pc, access.space, &addresses, active, bytes, false);
        if access.order != Order::Weak {
            split.polls += 1;
        }
        if self.load_together(shared, warp, access, &addresses, pc, active) {
            return;
        }
        for lane in lanes(active) {
            let whole = touched(access.space, addresses[lane], bytes, false);
            if whole.address & u64::from(bytes - 1) != 0 {
                self.findings.add(What::Misaligned(whole), pc, warp.thread(lane as u32));
                continue;
            }
            let touched = Touched { bytes: access.needed, ..whole };
            let swapped = access.swap != Swap::No;
            let Some(place) = self.place(shared, warp, touched, lane, pc, swapped) else { continue };
            match access.swap {
                // The element was read before; if the rest of the word has changed, the
                // compare-and-swap is tried again.
                Swap::Part => self.look_for_unset(shared, warp, place, touched, lane, pc),
                Swap::Whole | Swap::No => {
                    let strong = access.order != Order::Weak || swapped;
                    self.look(shared, warp, place, touched, lane, pc, strong, false);
                }
            }
            if access.order != Order::Weak {
                self.acquire(shared.number, warp, place, touched);
            }
            for (n, reg) in access.values.iter().enumerate().take((access.needed / access.bytes) as usize) {
                let Some(reg) = reg else { continue };
                let value = self.get(shared, warp, place, n as u32 * access.bytes, access.bytes);
                warp.regs[*reg as usize][lane] = extended(access, value);
            }
        }
    }

    #[inline(always)]
    pub fn store(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        split: &mut Split,
        access: &Access,
        pc: u32,
        active: u32,
    ) {
        let bytes = access.bytes * access.values.len() as u32;
        let addresses = addresses(warp, access.base, access.offset);
        self.count(pc, access.space, &addresses, active, bytes, true);
        split.polls = 0;
        if self.store_together(shared, warp, access, &addresses, pc, active) {
            return;
        }
        for lane in lanes(active) {
            let touched = touched(access.space, addresses[lane], bytes, true);
            let Some(place) = self.place(shared, warp, touched, lane, pc, false) else { continue };
            let mut changes = false;
            for (n, reg) in access.values.iter().enumerate() {
                let Some(reg) = reg else { continue };
                let value = warp.regs[*reg as usize][lane] & (u64::MAX >> (64 - 8 * access.bytes));
                let old = self.get(shared, warp, place, n as u32 * access.bytes, access.bytes);
                let mut earlier = lanes(active).take_while(|&l| l != lane);
                let first = earlier.find(|&l| addresses[l] == addresses[lane]);
                let alike = |first: usize| are_alike(warp.regs[*reg as usize][first], value, access.bytes);
                changes |= old != value && !first.is_some_and(alike);
            }
            let strong = access.order != Order::Weak;
            self.look(shared, warp, place, touched, lane, pc, strong, changes);
            for (n, reg) in access.values.iter().enumerate() {
                let Some(reg) = reg else { continue };
                let value = warp.regs[*reg as usize][lane];
                self.set(shared, warp, place, n as u32 * access.bytes, access.bytes, value);
            }
            if strong {
                self.release(shared.number, warp, place, touched, access.order);
            }
        }
    }

    pub fn atomic(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        split: &mut Split,
        atomic: &Atomic,
        pc: u32,
        active: u32,
    ) {
        let addresses = addresses(warp, atomic.base, atomic.offset);
        if let Some(counters) = &mut self.counters {
            counters.atomic(pc, warp.id, atomic.space, &addresses, active, atomic.all_bytes());
        }
        let mut any = false;
        for lane in lanes(active) {
            // A vector lies at a multiple of its size.
            let whole = touched(atomic.space, addresses[lane], atomic.all_bytes(), true);
            if !atomic.more.is_empty() && !whole.address.is_multiple_of(u64::from(whole.bytes)) {
                self.findings.add(What::Misaligned(whole), pc, warp.thread(lane as u32));
                continue;
            }
            for (k, a) in (0..).zip(std::iter::once(&atomic.a).chain(&atomic.more)) {
                let address = addresses[lane].wrapping_add(u64::from(atomic.bytes * k));
                let touched = touched(atomic.space, address, atomic.bytes, true);
                any |= self.update(shared, warp, atomic, touched, *a, (pc, lane));
            }
        }
        split.polls = if any { 0 } else { split.polls + 1 };
    }

    /// One place of an atomic; whether its value is another one now.
    fn update(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        atomic: &Atomic,
        touched: Touched,
        a: Reg,
        (pc, lane): (u32, usize),
    ) -> bool {
        let Some(place) = self.place(shared, warp, touched, lane, pc, atomic.swap != Swap::No) else { return false };
        let old = self.get(shared, warp, place, 0, atomic.bytes);
        let (a, b) = (warp.regs[a as usize][lane], warp.regs[atomic.b as usize][lane]);
        let new = match atomic.flushes && matches!(place, Place::Global(_)) {
            true => added_flushed(old, a),
            false => (atomic.f)(old, a, b),
        };

        if atomic.reads {
            self.look_for_unset(shared, warp, place, Touched { writes: false, ..touched }, lane, pc);
        }
        match atomic.swap {
            Swap::Part => {
                for k in (0..atomic.bytes).filter(|k| (a ^ b) >> (8 * k) & 0xff != 0) {
                    let byte = Touched { address: touched.address + u64::from(k), bytes: 1, ..touched };
                    self.look(shared, warp, place.byte(k), byte, lane, pc, true, new != old);
                }
            }
            Swap::Whole | Swap::No => self.look(shared, warp, place, touched, lane, pc, true, new != old),
        }
        self.acquire(shared.number, warp, place, touched);
        self.set(shared, warp, place, 0, atomic.bytes, new);
        self.release(shared.number, warp, place, touched, atomic.order);
        if let Some(d) = atomic.d {
            warp.regs[d as usize][lane] = old;
        }
        new != old
    }

    #[inline(always)]
    fn count(&mut self, pc: u32, space: Space, addresses: &[u64; LANES], active: u32, bytes: u32, writes: bool) {
        if let Some(counters) = &mut self.counters {
            counters.accessed(pc, space, addresses, active, bytes, writes);
        }
    }

    /// Where an access lies; None: it may not be, and has been reported. `words`: as of
    /// [`super::Memory::piece`].
    #[inline]
    fn place(&mut self, shared: &Shared, warp: &Warp, t: Touched, lane: usize, pc: u32, words: bool) -> Option<Place> {
        if t.address & u64::from(t.bytes.next_power_of_two() - 1) != 0 {
            self.findings.add(What::Misaligned(t), pc, warp.thread(lane as u32));
            return None;
        }
        let (bytes, size) = (t.bytes as usize, self.code.local_bytes as usize);
        let inside = |limit: usize| {
            usize::try_from(t.address).ok().filter(|at| at.checked_add(bytes).is_some_and(|end| end <= limit))
        };
        let found = match t.space {
            Space::Shared => {
                let absent = shared.absent(warp.rank, t).filter(|what| self.checks.races || what.is_fatal());
                if let Some(what) = absent {
                    let ends = what.is_fatal();
                    self.findings.add(what, pc, warp.thread(lane as u32));
                    if ends {
                        return None;
                    }
                }
                shared.place(warp.rank, t.address, bytes, words).map(Place::Shared)
            }
            Space::Local => inside(size).map(|at| Place::Local(lane * size + at)),
            Space::Param => {
                let at = t.address.wrapping_sub(windows::PARAM) as usize;
                let (params, handed) = (self.params.len(), self.code.call_bytes as usize);
                let start = self.code.param_bytes as usize;
                match () {
                    _ if at < start => (at + bytes <= params && !t.writes).then_some(Place::Param(at)),
                    _ if at - start + bytes <= handed => Some(Place::Handed(lane * handed + at - start)),
                    _ => None,
                }
            }
            _ => match self.memory.piece(t.address, u64::from(t.bytes), words, &mut self.hint) {
                Some(piece) if piece.read_only && t.writes => {
                    self.findings.add(What::ReadOnly(t), pc, warp.thread(lane as u32));
                    return None;
                }
                Some(_) => {
                    let at = self.memory.offset(t.address);
                    if let Some(footprint) = &mut self.footprint {
                        footprint.add(at, t.bytes, t.writes);
                    }
                    Some(Place::Global(at))
                }
                None => None,
            },
        };
        if found.is_none() {
            self.findings.add(What::Outside(t), pc, warp.thread(lane as u32));
        }
        found
    }

    /// Whether a lane may touch `bytes` from an address on, a multiple of `aligned`; else it has
    /// been reported.
    pub fn may_touch(
        &mut self,
        shared: &Shared,
        warp: &Warp,
        (space, address): (Space, u64),
        aligned: u32,
        bytes: u32,
        writes: bool,
        lane: usize,
        pc: u32,
    ) -> bool {
        let whole = touched(space, address, aligned, writes);
        if whole.address & u64::from(aligned - 1) != 0 {
            self.findings.add(What::Misaligned(whole), pc, warp.thread(lane as u32));
            return false;
        }
        let byte = |k: u32| Touched { address: whole.address + u64::from(k), bytes: 1, ..whole };
        (0..bytes).all(|k| self.place(shared, warp, byte(k), lane, pc, false).is_some())
    }

    /// What a lane reads at a place that it may touch, looked at as any read.
    pub fn fetch(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        (space, address): (Space, u64),
        bytes: u32,
        lane: usize,
        pc: u32,
    ) -> u64 {
        let t = touched(space, address, bytes, false);
        let Some(place) = self.place(shared, warp, t, lane, pc, false) else { return 0 };
        self.look(shared, warp, place, t, lane, pc, false, false);
        self.get(shared, warp, place, 0, bytes)
    }

    /// Writes at a place that a lane may touch, looked at as any write.
    pub fn leave(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        (space, address): (Space, u64),
        bytes: u32,
        value: u64,
        lane: usize,
        pc: u32,
    ) {
        let t = touched(space, address, bytes, true);
        let Some(place) = self.place(shared, warp, t, lane, pc, false) else { return };
        let changes = self.get(shared, warp, place, 0, bytes) != value;
        self.look(shared, warp, place, t, lane, pc, false, changes);
        self.set(shared, warp, place, 0, bytes, value);
    }

    /// Replaces a number of so many bytes, which all threads see change at once; what it was.
    /// `reads`: something follows from that.
    pub fn swap(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        (space, address): (Space, u64),
        bytes: u32,
        lane: usize,
        pc: u32,
        order: Order,
        reads: bool,
        f: impl FnOnce(u64) -> u64,
    ) -> Option<u64> {
        let t = touched(space, address, bytes, true);
        let place = self.place(shared, warp, t, lane, pc, false)?;
        let old = self.get(shared, warp, place, 0, bytes);
        if reads {
            self.look_for_unset(shared, warp, place, Touched { writes: false, ..t }, lane, pc);
        }
        let new = f(old);
        self.look(shared, warp, place, t, lane, pc, true, new != old);
        if matches!(order, Order::Acquire | Order::Both) {
            self.acquire(shared.number, warp, place, t);
        }
        self.set(shared, warp, place, 0, bytes, new);
        if matches!(order, Order::Release | Order::Both) {
            self.release(shared.number, warp, place, t, order);
        }
        Some(old)
    }

    /// Looks at all bytes from an address on as one read or write of a lane; None: it may not, and
    /// that has been reported.
    pub fn note(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        (space, address): (Space, u64),
        bytes: u32,
        writes: bool,
        lane: usize,
        pc: u32,
    ) -> Option<()> {
        for (at, bytes) in pieces(address, bytes) {
            let t = touched(space, at, bytes, writes);
            let place = self.place(shared, warp, t, lane, pc, false)?;
            self.look(shared, warp, place, t, lane, pc, false, true);
        }
        Some(())
    }

    /// The bytes from an address on, looked at as a read.
    pub fn bytes(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        (space, address): (Space, u64),
        bytes: u32,
        lane: usize,
        pc: u32,
    ) -> Option<Vec<u8>> {
        self.note(shared, warp, (space, address), bytes, false, lane, pc)?;
        let mut found = Vec::with_capacity(bytes as usize);
        for (at, bytes) in pieces(address, bytes) {
            let place = self.place(shared, warp, touched(space, at, bytes, false), lane, pc, false)?;
            for at in (0..bytes).step_by(8) {
                let size = bytes.min(8);
                found.extend_from_slice(&self.get(shared, warp, place, at, size).to_le_bytes()[..size as usize]);
            }
        }
        Some(found)
    }

    /// Puts bytes to an address, looked at as a write.
    pub fn put_bytes(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        (space, address): (Space, u64),
        bytes: &[u8],
        lane: usize,
        pc: u32,
    ) -> Option<()> {
        self.note(shared, warp, (space, address), bytes.len() as u32, true, lane, pc)?;
        for (to, count) in pieces(address, bytes.len() as u32) {
            let place = self.place(shared, warp, touched(space, to, count, true), lane, pc, false)?;
            let from = (to - address) as usize;
            for at in (0..count).step_by(8) {
                let mut word = [0; 8];
                let size = count.min(8) as usize;
                word[..size].copy_from_slice(&bytes[from + at as usize..from + at as usize + size]);
                self.set(shared, warp, place, at, size as u32, u64::from_le_bytes(word));
            }
        }
        Some(())
    }

    /// Looks for what an access does wrong besides.
    #[inline]
    fn look(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        place: Place,
        t: Touched,
        lane: usize,
        pc: u32,
        strong: bool,
        changes: bool,
    ) {
        self.look_for_unset(shared, warp, place, t, lane, pc);
        if !t.writes && self.dropped.lanes(pc, warp.number) >> lane & 1 == 1 {
            return;
        }
        if self.intervals.is_none() {
            return;
        }
        let at = match place {
            Place::Global(at) | Place::Shared(at) => at,
            _ => return,
        };
        if !shared.flying.is_empty() && matches!(place, Place::Shared(_)) {
            self.meets_copy(shared, warp, t, at, lane, pc);
        }
        let Some(intervals) = &mut self.intervals else { return };
        let Some(interval) = interval(intervals, shared, warp, pc) else { return };
        let history = if matches!(place, Place::Global(_)) { &mut self.history } else { &mut shared.history };
        let of_block = matches!(&self.code.insts[pc as usize].op, Op::Atomic(atomic) if atomic.of_block);
        let who = Who { interval, lane: lane as u32, slot: intervals.slot(pc), strong, of_block, known: &warp.known };
        let race = match t.writes {
            true => history.visit(at, t.bytes, |cell| intervals.write(cell, &who, changes)),
            false => history.visit(at, t.bytes, |cell| intervals.read(cell, &who)),
        };
        if let Some(before) = race {
            self.race(warp, t, lane, pc, before);
        }
    }

    /// Whether somebody has written what is read; what is written is from now on.
    #[inline]
    fn look_for_unset(&mut self, shared: &mut Shared, warp: &mut Warp, place: Place, t: Touched, lane: usize, pc: u32) {
        let bytes = t.bytes as usize;
        if self.checks.uninitialised {
            let set = match place {
                Place::Global(at) => self.memory.set.as_mut().map(|set| &mut set[at..at + bytes]),
                Place::Shared(at) => Some(&mut shared.set[at..at + bytes]),
                Place::Local(at) => Some(&mut warp.local_set[at..at + bytes]),
                _ => None,
            };
            match set {
                Some(set) if t.writes => set.fill(1),
                // Of structs with holes some bytes never are.
                Some(set) if set.iter().all(|&byte| byte == 0) => {
                    set.fill(1);
                    self.findings.add(What::Uninitialised(t), pc, warp.thread(lane as u32));
                }
                _ => {}
            }
        }
    }

    #[cold]
    pub(super) fn race(&mut self, warp: &Warp, t: Touched, lane: usize, pc: u32, before: Before) {
        let thread = before.thread.map(|(block, id, lane)| self.thread_of(warp, block, id, lane));
        let other = Other { pc: before.pc, writes: before.writes, thread };
        self.findings.add(What::Race(t, other), pc, warp.thread(lane as u32));
    }

    /// What this access sees has been made known by others.
    fn acquire(&mut self, cluster: u32, warp: &mut Warp, place: Place, t: Touched) {
        if self.released.is_empty() {
            return;
        }
        if let Some(clock) = self.released.get(&key(cluster, place, t)) {
            join(&mut warp.known, clock);
        }
    }

    /// What this access writes makes known what came before the last fence.
    fn release(&mut self, cluster: u32, warp: &mut Warp, place: Place, t: Touched, order: Order) {
        if self.intervals.is_none() {
            return;
        }
        if matches!(order, Order::Release | Order::Both) {
            warp.fenced();
        }
        if let Some(clock) = &warp.released {
            join(self.released.entry(key(cluster, place, t)).or_default(), clock);
        }
    }

    #[inline]
    fn get(&self, shared: &Shared, warp: &Warp, place: Place, offset: u32, bytes: u32) -> u64 {
        let offset = offset as usize;
        match place {
            Place::Global(at) => read(&self.memory.bytes, at + offset, bytes),
            Place::Shared(at) => read(&shared.bytes, at + offset, bytes),
            Place::Local(at) => read(&warp.local, at + offset, bytes),
            Place::Param(at) => read(&self.params, at + offset, bytes),
            Place::Handed(at) => read(&warp.handed, at + offset, bytes),
        }
    }

    #[inline]
    fn set(&mut self, shared: &mut Shared, warp: &mut Warp, place: Place, offset: u32, bytes: u32, value: u64) {
        let offset = offset as usize;
        match place {
            Place::Global(at) => write(&mut self.memory.bytes, at + offset, bytes, value),
            Place::Shared(at) => write(&mut shared.bytes, at + offset, bytes, value),
            Place::Local(at) => write(&mut warp.local, at + offset, bytes, value),
            Place::Handed(at) => write(&mut warp.handed, at + offset, bytes, value),
            Place::Param(_) => {}
        }
    }
}

/// The interval of a warp at an access, begun if it is not; None: there are too many, which is
/// reported.
#[inline(always)]
pub fn interval(intervals: &mut Intervals, shared: &Shared, warp: &mut Warp, pc: u32) -> Option<u32> {
    if warp.interval.is_none() {
        let block = &shared.blocks[warp.rank as usize];
        warp.interval = intervals.begin(block.number, warp.id, block.epoch, warp.epoch, warp.time);
    }
    if intervals.is_full() {
        intervals.end_at(pc, warp.thread(0));
        return None;
    }
    warp.interval
}

/// Where others look for what is made known: shared memory is its cluster's.
fn key(cluster: u32, place: Place, t: Touched) -> (u32, u64) {
    match place {
        Place::Shared(at) => (cluster, at as u64),
        _ => (u32::MAX, t.address),
    }
}

/// Adds what `news` knows.
pub fn join(clock: &mut Clock, news: &Clock) {
    if Rc::ptr_eq(clock, news) || news.iter().all(|(warp, time)| clock.get(warp).is_some_and(|known| known >= time)) {
        return;
    }
    let clock = Rc::make_mut(clock);
    for (&warp, &time) in news.iter() {
        let known = clock.entry(warp).or_insert(0);
        *known = (*known).max(time);
    }
}

/// Aligned parts of at most 16 bytes.
fn pieces(address: u64, bytes: u32) -> impl Iterator<Item = (u64, u32)> {
    let (mut at, end) = (address, address.saturating_add(bytes.into()));
    std::iter::from_fn(move || {
        let left = end.saturating_sub(at);
        let aligned = if at == 0 { 16 } else { 1 << at.trailing_zeros().min(4) };
        let size = aligned.min(1 << left.checked_ilog2()?.min(4));
        at += size;
        Some((at - size, size as u32))
    })
}

#[inline(always)]
pub fn addresses(warp: &Warp, base: u32, offset: i64) -> [u64; LANES] {
    // A loop, not a closure: that would be made for any processor.
    let mut addresses = warp.regs[base as usize];
    for address in &mut addresses {
        *address = address.wrapping_add(offset as u64);
    }
    addresses
}

#[inline]
fn touched(space: Space, address: u64, bytes: u32, writes: bool) -> Touched {
    let (space, address) = if space == Space::Generic { windows::resolve(address) } else { (space, address) };
    Touched { space, address, bytes, writes }
}
