//! What do the lanes of a warp compute together on matrices, and what do copies do that run on by
//! themselves? Fragments lie in registers as the PTX ISA manual draws them: lane `4 g + t` has rows
//! `g` and `g + 8` of the first factor, column `g` of the second.

use std::collections::VecDeque;

use half::{bf16, f16};

use super::cluster::Shared;
use super::code::{CopyAsync, Element, LoadMatrix, Matrix};
use super::findings::{Other, Touched, What};
use super::machine::{Machine, Pause, lanes, predicate, put};
use super::value::LANES;
use super::warp::Warp;
use crate::ptx::Space;

/// A copy of a lane from global to shared memory that has been asked for.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pc: u32,
    from: u64,
    to: u64,
    /// Where that lies in the memory of the cluster.
    place: usize,
    bytes: u32,
    /// So many are read, the rest is zero.
    read: u32,
}

/// The copies of a lane that have not been waited for: those of groups, and those since.
#[derive(Clone, Default, Debug)]
pub struct Copies {
    groups: VecDeque<Vec<Pending>>,
    open: Vec<Pending>,
}

/// The copies that have not come to the words of a block's shared memory: who waits for the last
/// one.
#[derive(Default, Debug)]
pub struct Flying(Vec<Word>);

#[derive(Clone, Copy, Default, Debug)]
struct Word {
    copies: u32,
    pc: u32,
    warp: u32,
    lane: u32,
}

impl Flying {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn words(&mut self, at: u64, bytes: u32) -> &mut [Word] {
        let (from, end) = (at as usize / 4, (at as usize + bytes as usize).div_ceil(4));
        self.0.get_mut(from..end).unwrap_or_default()
    }

    fn asked(&mut self, size: usize, copy: &Pending, warp: u32, lane: usize) {
        self.0.resize(size.div_ceil(4), Word::default());
        for word in self.words(copy.place as u64, copy.bytes) {
            *word = Word { copies: word.copies + 1, pc: copy.pc, warp, lane: lane as u32 };
        }
    }

    fn came(&mut self, copy: &Pending) {
        self.words(copy.place as u64, copy.bytes)
            .iter_mut()
            .for_each(|word| word.copies = word.copies.saturating_sub(1));
    }

    /// Whether a copy has not come to some of these bytes.
    #[inline]
    pub fn covers(&self, at: u64, bytes: u32) -> bool {
        self.at(at, bytes).is_some()
    }

    fn at(&self, at: u64, bytes: u32) -> Option<Word> {
        let (from, end) = (at as usize / 4, (at as usize + bytes as usize).div_ceil(4));
        self.0.get(from..end)?.iter().find(|word| word.copies > 0).copied()
    }
}

impl Machine<'_> {
    /// Tells of an access to bytes that a copy is still to come to.
    pub fn meets_copy(&mut self, shared: &Shared, warp: &Warp, t: Touched, place: usize, lane: usize, pc: u32) {
        let Some(word) = shared.flying.at(place as u64, t.bytes) else { return };
        let thread = Some(self.thread_of(warp, shared.holder(place), word.warp, word.lane));
        let other = Other { pc: word.pc, writes: true, thread };
        self.findings.add(What::Race(t, other), pc, warp.thread(lane as u32));
    }

    /// Asks for copies: what is copied arrives when it is waited for.
    pub fn copy_async(&mut self, shared: &mut Shared, warp: &mut Warp, copy: &CopyAsync, pc: u32, active: u32) {
        let from = super::access::addresses(warp, copy.from, copy.from_offset);
        let to = super::access::addresses(warp, copy.to, copy.to_offset);
        let ignored = copy.ignored.map_or(0, |p| predicate(warp, p));
        let read = |warp: &Warp, lane: usize| match copy.read {
            _ if ignored >> lane & 1 == 1 => 0,
            Some(reg) => (warp.regs[reg as usize][lane] as u32).min(copy.bytes),
            None => copy.bytes,
        };
        let reads = lanes(active).filter(|&lane| read(warp, lane) > 0).fold(0, |mask, lane| mask | 1 << lane);
        if let Some(counters) = &mut self.counters {
            counters.accessed(pc, Space::Global, &from, reads, copy.bytes, false);
        }
        warp.copies.resize(LANES, Copies::default());
        for lane in lanes(active) {
            let read = read(warp, lane);
            let (source, target) = (from[lane], to[lane]);
            // Both ends are looked at now, as are those of what has nothing to read.
            if read > 0 && !self.may_touch(shared, warp, (Space::Global, source), copy.bytes, read, false, lane, pc) {
                continue;
            }
            let ends = (Space::Shared, target);
            if !self.may_touch(shared, warp, ends, copy.bytes, copy.bytes, true, lane, pc) {
                continue;
            }
            let Some(place) = shared.place(warp.rank, target, copy.bytes as usize, false) else { continue };
            let pending = Pending { pc, from: source, to: target, place, bytes: copy.bytes, read };
            warp.copies[lane].open.push(pending);
            if self.intervals.is_some() {
                shared.flying.asked(shared.bytes.len(), &pending, warp.number, lane);
            }
        }
    }

    /// Makes the copies so far a group.
    pub fn commit_copies(&mut self, warp: &mut Warp, active: u32) {
        warp.copies.resize(LANES, Copies::default());
        for lane in lanes(active) {
            let copies = &mut warp.copies[lane];
            let group = std::mem::take(&mut copies.open);
            copies.groups.push_back(group);
        }
    }

    /// Waits for all groups but the last `left`; with None for all copies.
    pub fn wait_for_copies(&mut self, shared: &mut Shared, warp: &mut Warp, left: Option<u64>, active: u32) {
        warp.copies.resize(LANES, Copies::default());
        for lane in lanes(active) {
            while warp.copies[lane].groups.len() as u64 > left.unwrap_or(0) {
                let group = warp.copies[lane].groups.pop_front().unwrap_or_default();
                group.iter().for_each(|copy| self.arrives(shared, warp, copy, lane));
            }
            if left.is_none() {
                let open = std::mem::take(&mut warp.copies[lane].open);
                open.iter().for_each(|copy| self.arrives(shared, warp, copy, lane));
            }
        }
    }

    fn arrives(&mut self, shared: &mut Shared, warp: &mut Warp, copy: &Pending, lane: usize) {
        shared.flying.came(copy);
        // Words, except for a source that ends within one.
        for k in (0..copy.bytes).step_by(4) {
            let (from, left) = (copy.from + u64::from(k), copy.read.saturating_sub(k).min(4));
            let mut fetch = |at: u32, bytes: u32| {
                self.fetch(shared, warp, (Space::Global, from + u64::from(at)), bytes, lane, copy.pc)
            };
            let value = match left {
                4 => fetch(0, 4),
                _ => (0..left).fold(0, |value, at| value | fetch(at, 1) << (8 * at)),
            };
            self.leave(shared, warp, (Space::Shared, copy.to + u64::from(k)), 4, value, lane, copy.pc);
        }
    }

    /// Reads matrices of 8 x 8 halves, whose rows each lane names one of.
    pub fn load_matrix(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        load: &LoadMatrix,
        pc: u32,
        active: u32,
    ) -> Option<Pause> {
        if let Some(pause) = self.needs_all(warp, pc, active) {
            return Some(pause);
        }
        let addresses = super::access::addresses(warp, load.base, load.offset);
        let count = load.regs.len();
        let mut rows = vec![[0u16; 8]; 8 * count];
        let reads = (u64::MAX >> (64 - 8 * count)) as u32;
        if let Some(counters) = &mut self.counters {
            counters.accessed(pc, load.space, &addresses, reads, 16, false);
        }
        for (lane, row) in rows.iter_mut().enumerate() {
            if !self.may_touch(shared, warp, (load.space, addresses[lane]), 16, 16, false, lane, pc) {
                return None;
            }
            for (k, pair) in row.chunks_exact_mut(2).enumerate() {
                let word = self.fetch(shared, warp, (load.space, addresses[lane] + 4 * k as u64), 4, lane, pc);
                (pair[0], pair[1]) = (word as u16, (word >> 16) as u16);
            }
        }
        for (n, &to) in load.regs.iter().enumerate() {
            let matrix = &rows[8 * n..8 * n + 8];
            let pair = |lane: usize| {
                let (g, t) = (lane / 4, 2 * (lane % 4));
                match load.transposed {
                    false => [matrix[g][t], matrix[g][t + 1]],
                    true => [matrix[t][g], matrix[t + 1][g]],
                }
            };
            let halves: [u64; LANES] = std::array::from_fn(|l| {
                let [low, high] = pair(l);
                u64::from(low) | u64::from(high) << 16
            });
            put(&mut warp.regs[to as usize], &halves, active);
        }
        None
    }

    /// Writes matrices of 8 x 8 halves from registers to rows that each lane names one of.
    pub fn store_matrix(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        store: &LoadMatrix,
        pc: u32,
        active: u32,
    ) -> Option<Pause> {
        if let Some(pause) = self.needs_all(warp, pc, active) {
            return Some(pause);
        }
        let addresses = super::access::addresses(warp, store.base, store.offset);
        let count = store.regs.len();
        if let Some(counters) = &mut self.counters {
            counters.accessed(pc, store.space, &addresses, (u64::MAX >> (64 - 8 * count)) as u32, 16, true);
        }
        for (row, &address) in addresses[..8 * count].iter().enumerate() {
            let reg = &warp.regs[store.regs[row / 8] as usize];
            let half = |g: usize, k: usize| (reg[4 * g + k / 2] >> (16 * (k % 2))) as u16;
            let r = row % 8;
            let halves: [u16; 8] = std::array::from_fn(|k| if store.transposed { half(k, r) } else { half(r, k) });
            let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
            self.put_bytes(shared, warp, (store.space, address), &bytes, row, pc);
        }
        None
    }

    /// `d = a b + c` of fragments: 16 x k, k x 8 and 16 x 8.
    pub fn multiply_matrices(&mut self, warp: &mut Warp, m: &Matrix, pc: u32, active: u32) -> Option<Pause> {
        if let Some(pause) = self.needs_all(warp, pc, active) {
            return Some(pause);
        }
        if m.element == Element::F64 {
            multiply_f64(warp, m, active);
            return None;
        }
        let depth = m.depth as usize;
        let (mut a, mut b) = (vec![[0f64; 16]; depth], vec![[0f64; 8]; depth]);
        // Elements of a register, and columns (of `a`; rows of `b`) that a run of registers covers.
        let each = if m.element == Element::Tf32 { 1 } else { 2 };
        for lane in 0..LANES {
            let (g, t) = (lane / 4, lane % 4);
            for (n, &reg) in m.a.iter().enumerate() {
                for (e, value) in m.element.of(warp.regs[reg as usize][lane] as u32).into_iter().take(each).enumerate()
                {
                    a[n / 2 * 4 * each + t * each + e][g + n % 2 * 8] = value;
                }
            }
            for (n, &reg) in m.b.iter().enumerate() {
                for (e, value) in m.element.of(warp.regs[reg as usize][lane] as u32).into_iter().take(each).enumerate()
                {
                    b[n * 4 * each + t * each + e][g] = value;
                }
            }
        }
        let mut out = [[0u64; LANES]; 4];
        for (n, out) in out.iter_mut().enumerate() {
            for (lane, out) in out.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + n / 2 * 8, lane % 4 * 2 + n % 2);
                let c = f64::from(f32::from_bits(warp.regs[m.c[n] as usize][lane] as u32));
                let sum = a.iter().zip(&b).fold(c, |sum, (a, b)| sum + a[row] * b[column]) as f32;
                let sum = if sum.is_nan() { f32::from_bits(0x7fff_ffff) } else { sum };
                *out = sum.to_bits().into();
            }
        }
        for (to, out) in m.d.iter().zip(&out) {
            put(&mut warp.regs[*to as usize], out, active);
        }
        None
    }

    /// What all lanes of a warp do together is done by all.
    pub(super) fn needs_all(&mut self, warp: &Warp, pc: u32, active: u32) -> Option<Pause> {
        let missing = !active;
        if missing == 0 {
            return None;
        }
        let left = missing & warp.live == 0;
        self.findings.add(What::MissingLanes { missing, left }, pc, warp.thread(active.trailing_zeros().min(31)));
        Some(Pause::Stopped)
    }
}

/// Lane `4 g + t` has row `g`, column `t` of the first factor, row `t`, column `g` of the second,
/// row `g` and columns `2 t` and `2 t + 1` of the result.
fn multiply_f64(warp: &mut Warp, m: &Matrix, active: u32) {
    let value = |reg: u32, lane: usize| f64::from_bits(warp.regs[reg as usize][lane]);
    let out: [[u64; LANES]; 2] = std::array::from_fn(|n| {
        std::array::from_fn(|lane| {
            let (g, column) = (lane / 4, lane % 4 * 2 + n);
            let product = |sum: f64, t: usize| value(m.a[0], 4 * g + t).mul_add(value(m.b[0], 4 * column + t), sum);
            (0..4).fold(value(m.c[n], lane), product).to_bits()
        })
    });
    for (to, out) in m.d.iter().zip(&out) {
        put(&mut warp.regs[*to as usize], out, active);
    }
}

impl Element {
    /// The numbers in a register; of one there is a zero besides.
    fn of(self, bits: u32) -> [f64; 2] {
        let (low, high) = (bits as u16, (bits >> 16) as u16);
        match self {
            Element::F16 => [f16::from_bits(low).to_f64(), f16::from_bits(high).to_f64()],
            Element::Bf16 => [bf16::from_bits(low).to_f64(), bf16::from_bits(high).to_f64()],
            // The low bits of the fraction are none of its.
            Element::Tf32 => [f32::from_bits(bits & 0xffff_e000).into(), 0.0],
            // Taken apart nowhere: a number fills a register of its own.
            Element::F64 => [0.0; 2],
        }
    }
}
