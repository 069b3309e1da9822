//! What do the loads and stores do that almost all are: plain ones, whose lanes all go to one
//! array, to shared or to local memory, and rightly? The same as one lane after the other
//! (`access`), with what they have in common looked at once. Whatever is out of the ordinary is
//! left to that, before anything is done.

use super::access::interval;
use super::cluster::Shared;
use super::code::{Access, Order, Swap};
use super::findings::Touched;
use super::machine::{Machine, lanes};
use super::memory::{read, write};
use super::races::{Before, Who};
use super::value::LANES;
use super::warp::Warp;
use super::windows;
use crate::ptx::Space;

/// The memory that all lanes of an access go to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Global,
    Shared,
    Local,
}

/// A race that an access shows: the lane, and the other side.
type Races = Vec<(usize, Before)>;

/// Whether two numbers are one float32 but for rounding. Lanes that write such numbers to one
/// element in one store mean the same sum: compilers make butterfly sums with fused multiply-adds,
/// whose last bits differ between lanes. Small integers are no such numbers.
pub(super) fn are_alike(a: u64, b: u64, bytes: u32) -> bool {
    const NORMAL: u32 = 1 << 23;
    let (a, b) = (a as u32, b as u32);
    let is_normal = |bits: u32| bits & 0x7fff_ffff >= NORMAL && f32::from_bits(bits).is_finite();
    bytes == 4 && is_normal(a) && is_normal(b) && (a >> 31 == b >> 31) && a.abs_diff(b) <= MOST_ULPS
}

/// In units of the last place: terms of a sum that cancel leave its rounding.
const MOST_ULPS: u32 = 1 << 11;

impl Machine<'_> {
    /// Does a load for all lanes, if it is a plain one.
    #[inline(always)]
    pub fn load_together(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        access: &Access,
        addresses: &[u64; LANES],
        pc: u32,
        active: u32,
    ) -> bool {
        if access.order != Order::Weak || access.swap != Swap::No || active == 0 {
            return false;
        }
        let bytes = access.bytes * access.values.len() as u32;
        if access.needed != bytes {
            return false;
        }
        if access.space == Space::Param {
            return self.load_parameter(warp, access, addresses, active);
        }
        let mut places = [0; LANES];
        let Some((field, row)) = self.field(shared, warp, access.space, addresses, &mut places, active, bytes, false)
        else {
            return false;
        };
        if !self.is_set(shared, warp, field, &places, row, active, bytes) {
            return false;
        }
        let mut races = Races::new();
        if field != Field::Local
            && let Some(intervals) = &mut self.intervals
            && let Some(interval) = interval(intervals, shared, warp, pc)
        {
            let slot = intervals.slot(pc);
            let history = if field == Field::Global { &mut self.history } else { &mut shared.history };
            let looked_at = active & !self.dropped.lanes(pc, warp.number);
            let who = Who { interval, lane: 0, slot, strong: false, of_block: false, known: &warp.known };
            let cells = row.filter(|_| looked_at == active && bytes >= 4).and_then(|at| history.row(at, row_of(bytes)));
            // No closure: its body would be made for any processor.
            let noted = match (cells, bytes) {
                (Some(cells), 4) => intervals.read_row::<1>(cells, &who),
                (Some(cells), 8) => intervals.read_row::<2>(cells, &who),
                (Some(cells), 16) => intervals.read_row::<4>(cells, &who),
                _ => false,
            };
            fill_row(&mut places, row.filter(|_| !noted), bytes);
            for lane in lanes(if noted { 0 } else { looked_at }) {
                let who = Who { interval, lane: lane as u32, slot, strong: false, of_block: false, known: &warp.known };
                let race = history.visit(places[lane] as usize, bytes, |cell| intervals.read(cell, &who));
                races.extend(race.map(|race| (lane, race)));
            }
        }
        for (n, reg) in access.values.iter().enumerate() {
            let Some(reg) = reg else { continue };
            let memory = match field {
                Field::Global => &*self.memory.bytes,
                Field::Shared => &shared.bytes,
                Field::Local => &warp.local,
            };
            let to = &mut warp.regs[*reg as usize];
            let offset = n * access.bytes as usize;
            if let (Some(at), 4, 4, None) = (row, bytes, access.bytes, access.sign)
                && let Some(words) = memory.get(at..at + row_of(4))
            {
                for (to, word) in to.iter_mut().zip(words.as_chunks::<4>().0) {
                    *to = u32::from_le_bytes(*word).into();
                }
                continue;
            }
            fill_row(&mut places, row, bytes);
            for lane in lanes(active) {
                to[lane] = extended(access, read(memory, places[lane] as usize + offset, access.bytes));
            }
        }
        self.tell(warp, access.space, addresses, bytes, false, pc, races);
        true
    }

    /// Does a store for all lanes, if it is a plain one.
    #[inline(always)]
    pub fn store_together(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        access: &Access,
        addresses: &[u64; LANES],
        pc: u32,
        active: u32,
    ) -> bool {
        if access.order != Order::Weak || active == 0 {
            return false;
        }
        let (each, bytes) = (access.bytes, access.bytes * access.values.len() as u32);
        let mut places = [0; LANES];
        let Some((field, row)) = self.field(shared, warp, access.space, addresses, &mut places, active, bytes, true)
        else {
            return false;
        };
        let set = match field {
            _ if !self.checks.uninitialised => None,
            Field::Global => self.memory.set.as_deref_mut(),
            Field::Shared => Some(shared.set.as_mut_slice()),
            Field::Local => Some(warp.local_set.as_mut_slice()),
        };
        match (set, row) {
            (Some(set), Some(at)) => set[at..at + row_of(bytes)].fill(1),
            (Some(set), None) => {
                for lane in lanes(active) {
                    set[places[lane] as usize..][..bytes as usize].fill(1);
                }
            }
            (None, _) => {}
        }
        let keep = u64::MAX >> (64 - 8 * each);
        let mut races = Races::new();
        let interval = match &mut self.intervals {
            Some(intervals) if field != Field::Local => interval(intervals, shared, warp, pc),
            _ => None,
        };
        let memory = match field {
            Field::Global => &mut *self.memory.bytes,
            Field::Shared => &mut shared.bytes,
            Field::Local => &mut warp.local,
        };
        let mut interval = interval;
        if let (Some(one), Some(at), Some(intervals)) = (interval, row.filter(|_| bytes >= 4), &mut self.intervals) {
            let slot = intervals.slot(pc);
            let history = if field == Field::Global { &mut self.history } else { &mut shared.history };
            let who = Who { interval: one, lane: 0, slot, strong: false, of_block: false, known: &warp.known };
            let cells = history.row(at, row_of(bytes));
            // No closure: its body would be made for any processor.
            let noted = match (cells, bytes) {
                (Some(cells), 4) => intervals.write_row::<1>(cells, &who),
                (Some(cells), 8) => intervals.write_row::<2>(cells, &who),
                (Some(cells), 16) => intervals.write_row::<4>(cells, &who),
                _ => false,
            };
            // Nothing is left to look at.
            interval = interval.filter(|_| !noted);
        }
        if let (Some(interval), Some(intervals)) = (interval, &mut self.intervals) {
            fill_row(&mut places, row, bytes);
            let slot = intervals.slot(pc);
            let history = if field == Field::Global { &mut self.history } else { &mut shared.history };
            for lane in lanes(active) {
                let at = places[lane] as usize;
                let mut changes = false;
                for (n, reg) in access.values.iter().enumerate() {
                    let Some(reg) = reg else { continue };
                    let (at, value) = (at + n * each as usize, warp.regs[*reg as usize][lane]);
                    let (old, new) = (read(memory, at, each), value & keep);
                    let mut earlier = lanes(active).take_while(|&l| l != lane);
                    changes |= old != new
                        && !earlier
                            .find(|&l| places[l] == places[lane])
                            .is_some_and(|first| are_alike(warp.regs[*reg as usize][first] & keep, new, each));
                    write(memory, at, each, value);
                }
                let who = Who { interval, lane: lane as u32, slot, strong: false, of_block: false, known: &warp.known };
                let race = history.visit(at, bytes, |cell| intervals.write(cell, &who, changes));
                races.extend(race.map(|race| (lane, race)));
            }
        } else {
            for (n, reg) in access.values.iter().enumerate() {
                let Some(reg) = reg else { continue };
                let from = &warp.regs[*reg as usize];
                if let (Some(at), 4, 4) = (row, bytes, each)
                    && let Some(words) = memory.get_mut(at..at + row_of(4))
                {
                    for (word, from) in words.as_chunks_mut::<4>().0.iter_mut().zip(from) {
                        *word = (*from as u32).to_le_bytes();
                    }
                    continue;
                }
                fill_row(&mut places, row, bytes);
                for lane in lanes(active) {
                    write(memory, places[lane] as usize + n * each as usize, each, from[lane]);
                }
            }
        }
        self.tell(warp, access.space, addresses, bytes, true, pc, races);
        true
    }

    /// A parameter of the kernel, the same for all lanes.
    #[inline(always)]
    fn load_parameter(&mut self, warp: &mut Warp, access: &Access, addresses: &[u64; LANES], active: u32) -> bool {
        let bytes = access.bytes as usize * access.values.len();
        let first = addresses[active.trailing_zeros() as usize];
        let at = first.wrapping_sub(windows::PARAM) as usize;
        let same = lanes(active).all(|lane| addresses[lane] == first);
        if !same || at >= self.code.param_bytes as usize || at + bytes > self.params.len() || at & (bytes - 1) != 0 {
            return false;
        }
        for (n, reg) in access.values.iter().enumerate() {
            let Some(reg) = reg else { continue };
            let value = extended(access, read(&self.params, at + n * access.bytes as usize, access.bytes));
            super::machine::put(&mut warp.regs[*reg as usize], &[value; LANES], active);
        }
        true
    }

    /// The memory that all lanes go to, and where in it: the first place, if they go to places side
    /// by side, else that of each. None: not all go there, or some wrongly.
    #[inline(always)]
    fn field(
        &mut self,
        shared: &Shared,
        warp: &Warp,
        space: Space,
        addresses: &[u64; LANES],
        places: &mut [u64; LANES],
        active: u32,
        bytes: u32,
        writes: bool,
    ) -> Option<(Field, Option<usize>)> {
        let first = addresses[active.trailing_zeros() as usize];
        let (space, inside) = if space == Space::Generic { windows::resolve(first) } else { (space, first) };
        let window = first.wrapping_sub(inside);
        let own = u64::from(self.code.local_bytes);
        // The first address, the bytes there, where they lie, and how far those of the next lane
        // are.
        let (field, start, size, base, step) = match space {
            Space::Global | Space::Const => {
                let piece = self.memory.piece(first, bytes.into(), false, &mut self.hint)?;
                if piece.read_only && writes {
                    return None;
                }
                (Field::Global, piece.start, piece.bytes, piece.start - self.memory.base, 0)
            }
            Space::Shared => {
                let (rank, start) = shared.block_of(inside, warp.rank);
                if rank != warp.rank as usize && shared.is_absent(rank) {
                    return None;
                }
                (Field::Shared, window + start, shared.size as u64, (rank * shared.stride) as u64, 0)
            }
            Space::Local => (Field::Local, window, own, 0, own),
            _ => return None,
        };
        let (limit, aligned) = (size.checked_sub(bytes.into())?, u64::from(bytes) - 1);
        let is_row = field != Field::Local && in_a_row(addresses, active, bytes);
        if is_row && (field == Field::Global || shared.flying.is_empty()) {
            let (at, all) = (first.wrapping_sub(start), row_of(bytes));
            if first & aligned != 0 || at > size || size - at < all as u64 {
                return None;
            }
            let at = at.wrapping_add(base) as usize;
            if let (Field::Global, Some(footprint)) = (field, &mut self.footprint) {
                footprint.add_row(at, all, writes);
            }
            return Some((field, Some(at)));
        }
        let mut wrong = 0;
        for l in 0..LANES {
            let at = addresses[l].wrapping_sub(start);
            // The top bit says that the place is not between the first and the last one.
            let stray = (at | limit.wrapping_sub(at)) >> 63 | addresses[l] & aligned;
            wrong |= stray & u64::from(active >> l & 1).wrapping_neg();
            places[l] = at.wrapping_add(base).wrapping_add(l as u64 * step);
        }
        if field == Field::Shared && !shared.flying.is_empty() && wrong == 0 {
            wrong |= u64::from(lanes(active).any(|lane| shared.flying.covers(places[lane], bytes)));
        }
        if wrong == 0
            && field == Field::Global
            && let Some(footprint) = &mut self.footprint
        {
            lanes(active).for_each(|lane| footprint.add(places[lane] as usize, bytes, writes));
        }
        (wrong == 0).then_some((field, None))
    }

    /// Whether somebody has written what lanes read.
    #[inline(always)]
    fn is_set(
        &self,
        shared: &Shared,
        warp: &Warp,
        field: Field,
        places: &[u64; LANES],
        row: Option<usize>,
        active: u32,
        bytes: u32,
    ) -> bool {
        let set: &[u8] = match (field, &self.memory.set) {
            _ if !self.checks.uninitialised => return true,
            (Field::Global, None) => return true,
            (Field::Global, Some(set)) => set,
            (Field::Shared, _) => &shared.set,
            (Field::Local, _) => &warp.local_set,
        };
        if let Some(at) = row {
            let set = &set[at..at + row_of(bytes)];
            return set.iter().fold(1, |all, &byte| all & byte) == 1
                || set.chunks_exact(bytes as usize).all(|own| own.iter().any(|&byte| byte != 0));
        }
        lanes(active).all(|lane| set[places[lane] as usize..][..bytes as usize].iter().any(|&byte| byte != 0))
    }

    #[inline(always)]
    fn tell(
        &mut self,
        warp: &Warp,
        space: Space,
        addresses: &[u64; LANES],
        bytes: u32,
        writes: bool,
        pc: u32,
        races: Races,
    ) {
        for (lane, race) in races {
            let generic = space == Space::Generic;
            let (space, address) = if generic { windows::resolve(addresses[lane]) } else { (space, addresses[lane]) };
            self.race(warp, Touched { space, address, bytes, writes }, lane, pc, race);
        }
    }
}

/// Whether all lanes go to addresses side by side.
#[inline(always)]
fn in_a_row(addresses: &[u64; LANES], active: u32, bytes: u32) -> bool {
    let mut parted = 0;
    for l in 0..LANES {
        parted |= addresses[l] ^ addresses[0].wrapping_add(l as u64 * u64::from(bytes));
    }
    active == u32::MAX && parted == 0
}

/// The places of the lanes of a row, for those who look at one after the other.
#[inline(always)]
fn fill_row(places: &mut [u64; LANES], row: Option<usize>, bytes: u32) {
    if let Some(at) = row {
        *places = std::array::from_fn(|l| at as u64 + l as u64 * u64::from(bytes));
    }
}

/// The bytes of all lanes.
#[inline(always)]
fn row_of(bytes: u32) -> usize {
    LANES * bytes as usize
}

/// A loaded value as its register holds it.
#[inline(always)]
pub fn extended(access: &Access, value: u64) -> u64 {
    match access.sign {
        Some(width) => {
            let shift = 64 - 8 * access.bytes;
            ((value << shift) as i64 >> shift) as u64 & (u64::MAX >> (64 - width))
        }
        None => value,
    }
}
