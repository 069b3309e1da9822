//! What do copies in bulk do, which run on by themselves: of bytes in a row, and of boxes that a
//! tensor map describes (PTX ISA, "cp.async.bulk")? What is copied to shared memory comes when
//! somebody waits for the mbarrier object that is told of it; what is stored from there leaves when
//! its thread waits for it, or ends. So a program that does not wait uses old values.

use std::collections::VecDeque;

use super::access::join;
use super::cluster::{Shared, mapped};
use super::code::{Bulk, BulkExtent, ChangedMap, Order, Reg, Send, Update};
use super::findings::{Thread, Touched, What};
use super::machine::{Machine, lanes};
use super::memory::{read, write};
use super::races::Clock;
use super::tensor_map::{BYTES, Swizzle, TensorMap};
use super::value::LANES;
use super::warp::Warp;
use super::windows;
use crate::ptx::Space;

/// A copy to shared memory that has not come.
#[derive(Debug)]
pub struct Coming {
    /// The place of the mbarrier object.
    told: usize,
    /// Places in shared memory, and what comes there, or what is done there with elements of so
    /// many bytes.
    parts: Vec<(usize, Vec<u8>)>,
    reduces: Option<(Update, u32)>,
    bytes: u64,
    /// What is known of what came before it.
    done: Option<Clock>,
}

/// A part of a store from shared to global memory.
#[derive(Clone, Debug)]
struct Part {
    from: u64,
    to: u64,
    bytes: u32,
}

#[derive(Clone, Debug)]
struct Going {
    parts: Vec<Part>,
    reduces: Option<(Update, u32)>,
    pc: u32,
}

/// The stores of a lane that nobody has waited for: those of groups, and those since.
#[derive(Clone, Default, Debug)]
pub struct Stores {
    groups: VecDeque<Vec<Going>>,
    open: Vec<Going>,
}

/// Where the parts of a copy lie: in shared memory, in global memory (None: outside of the tensor,
/// filled with these bytes), and their bytes.
struct Plan {
    parts: Vec<(u64, Option<u64>, u32)>,
    fill: Vec<u8>,
}

/// The bytes that stay together under a swizzle.
const CHUNK: u64 = 16;

impl Machine<'_> {
    /// Asks for copies: one for each lane.
    pub fn bulk(&mut self, shared: &mut Shared, warp: &mut Warp, bulk: &Bulk, pc: u32, active: u32) {
        let in_shared = super::access::addresses(warp, bulk.shared.0, bulk.shared.1);
        let in_global = super::access::addresses(warp, bulk.global.0, bulk.global.1);
        let told = bulk.told.map(|(base, offset)| super::access::addresses(warp, base, offset));
        for lane in lanes(active) {
            let Some(own) = self.in_shared(in_shared[lane], warp, lane, pc) else { continue };
            let Some(plan) = self.plan(shared, warp, bulk, own, in_global[lane], lane, pc) else { continue };
            match &told {
                Some(told) => {
                    let Some(told) = self.in_shared(told[lane], warp, lane, pc) else { continue };
                    let blocks = bulk.blocks.map(|mask| warp.regs[mask as usize][lane]);
                    self.asked(shared, warp, bulk, &plan, (told, blocks), lane, pc);
                }
                None => self.stored(shared, warp, bulk, &plan, lane, pc),
            }
        }
    }

    /// An address in shared memory, which may be generic.
    fn in_shared(&mut self, address: u64, warp: &Warp, lane: usize, pc: u32) -> Option<u64> {
        let (space, at) = match address < windows::SHARED {
            true => (Space::Shared, address),
            false => windows::resolve(address),
        };
        if space != Space::Shared {
            let why = "a copy in bulk has this end in shared memory, and the address is elsewhere".to_string();
            self.findings.add(What::BadBulk(why), pc, warp.thread(lane as u32));
            return None;
        }
        Some(at)
    }

    fn plan(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        bulk: &Bulk,
        own: u64,
        other: u64,
        lane: usize,
        pc: u32,
    ) -> Option<Plan> {
        let found = match &bulk.extent {
            BulkExtent::Bytes(reg) => {
                let bytes = warp.regs[*reg as usize][lane] as u32;
                match [own, other, bytes.into()].into_iter().all(|n| n.is_multiple_of(16)) {
                    true => Ok(Plan { parts: vec![(own, Some(other), bytes)], fill: Vec::new() }),
                    false => Err(format!("a copy of {bytes} bytes: both addresses and the bytes are multiples of 16")),
                }
            }
            BulkExtent::Box(coordinates) => {
                let at: Vec<i32> = coordinates.iter().map(|&reg| warp.regs[reg as usize][lane] as i32).collect();
                let bytes = self.bytes(shared, warp, (Space::Generic, other), BYTES as u32, lane, pc)?;
                let bytes: &[u8; BYTES] = bytes.first_chunk()?;
                TensorMap::read(bytes).and_then(|map| boxed(&map, &at, own))
            }
        };
        found.map_err(|why| self.findings.add(What::BadBulk(why), pc, warp.thread(lane as u32))).ok()
    }

    /// A copy to shared memory: what is there is read now, and comes later. `told`: the mbarrier
    /// object, and the blocks of the cluster that get a copy each at the same place.
    fn asked(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        bulk: &Bulk,
        plan: &Plan,
        (told, blocks): (u64, Option<u64>),
        lane: usize,
        pc: u32,
    ) {
        let mut parts = Vec::with_capacity(plan.parts.len());
        for &(own, other, bytes) in &plan.parts {
            let contents = match other {
                Some(other) => self.bytes(shared, warp, (bulk.from, other), bytes, lane, pc),
                None => Some(plan.fill.iter().copied().cycle().take(bytes as usize).collect()),
            };
            let Some(contents) = contents else { return };
            parts.push((own, contents));
        }
        let Some(blocks) = blocks else {
            return self.comes(shared, warp, told, parts, None, lane, pc);
        };
        for rank in (0..16).filter(|rank| blocks >> rank & 1 == 1) {
            let parts = parts.iter().map(|(own, contents)| (mapped(*own, rank, 0, 0), contents.clone())).collect();
            self.comes(shared, warp, mapped(told, rank, 0, 0), parts, None, lane, pc);
        }
    }

    /// Bytes are on their way to addresses of shared memory, in the own block or another one.
    pub fn comes(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        told: u64,
        parts: Vec<(u64, Vec<u8>)>,
        reduces: Option<(Update, u32)>,
        lane: usize,
        pc: u32,
    ) {
        let mut placed = Vec::with_capacity(parts.len());
        let mut bytes = 0;
        for (own, contents) in parts {
            // Whoever uses the place without waiting races with this thread.
            let size = contents.len();
            if self.note(shared, warp, (Space::Shared, own), size as u32, true, lane, pc).is_none() {
                return;
            }
            bytes += size as u64;
            placed.extend(shared.place(warp.rank, own, size, false).map(|place| (place, contents)));
        }
        let Some(told) = shared.place(warp.rank, told, 8, false) else {
            let touched = Touched { space: Space::Shared, address: told, bytes: 8, writes: true };
            self.findings.add(What::Outside(touched), pc, warp.thread(lane as u32));
            return;
        };
        let done = self.intervals.is_some().then(|| warp.clock());
        shared.coming.push(Coming { told, parts: placed, reduces, bytes, done });
    }

    /// `st.async` and `red.async`: a number for shared memory of the cluster comes later.
    pub fn send(&mut self, shared: &mut Shared, warp: &mut Warp, send: &Send, pc: u32, active: u32) {
        let to = super::access::addresses(warp, send.to.0, send.to.1);
        let told = super::access::addresses(warp, send.told.0, send.told.1);
        for lane in lanes(active) {
            let Some(own) = self.in_shared(to[lane], warp, lane, pc) else { continue };
            let Some(told) = self.in_shared(told[lane], warp, lane, pc) else { continue };
            let bytes = send.bytes as usize;
            let number = |reg: &Reg| warp.regs[*reg as usize][lane].to_le_bytes().into_iter().take(bytes);
            let contents: Vec<u8> = send.values.iter().flat_map(number).collect();
            if !own.is_multiple_of(contents.len() as u64) {
                let bytes = contents.len() as u32;
                let touched = Touched { space: Space::Shared, address: own, bytes, writes: true };
                self.findings.add(What::Misaligned(touched), pc, warp.thread(lane as u32));
                continue;
            }
            let reduces = send.reduces.map(|f| (f, send.bytes));
            self.comes(shared, warp, told, vec![(own, contents)], reduces, lane, pc);
        }
    }

    /// All that the mbarrier object at a place is told of comes.
    pub fn bulk_arrives(&mut self, shared: &mut Shared, told: usize, pc: u32, thread: Thread) {
        let mut n = 0;
        while n < shared.coming.len() {
            if shared.coming[n].told != told {
                n += 1;
                continue;
            }
            let coming = shared.coming.remove(n);
            for (to, contents) in coming.parts {
                // They were looked at when the copy was asked for.
                let places = to..to + contents.len();
                if let Some(bytes) = shared.bytes.get_mut(places.clone()) {
                    match coming.reduces {
                        None => bytes.copy_from_slice(&contents),
                        Some((f, size)) => {
                            let (old, value) = (read(bytes, 0, size), read(&contents, 0, size));
                            write(bytes, 0, size, f(old, value, value));
                        }
                    }
                }
                if let Some(set) = shared.set.get_mut(places) {
                    set.fill(1);
                }
            }
            if let Some(done) = &coming.done {
                join(self.released.entry((shared.number, told as u64)).or_default(), done);
            }
            self.bytes_came(shared, told, coming.bytes, pc, thread);
        }
    }

    fn stored(&mut self, shared: &mut Shared, warp: &mut Warp, bulk: &Bulk, plan: &Plan, lane: usize, pc: u32) {
        let mut parts = Vec::with_capacity(plan.parts.len());
        for &(from, to, bytes) in &plan.parts {
            if self.note(shared, warp, (Space::Shared, from), bytes, false, lane, pc).is_none() {
                return;
            }
            // What lies outside of the tensor is not stored.
            parts.extend(to.map(|to| Part { from, to, bytes }));
        }
        warp.stores.resize(LANES, Stores::default());
        warp.stores[lane].open.push(Going { parts, reduces: bulk.reduces, pc });
    }

    /// Makes the stores so far a group.
    pub fn commit_bulk(&mut self, warp: &mut Warp, active: u32) {
        warp.stores.resize(LANES, Stores::default());
        for lane in lanes(active) {
            let stores = &mut warp.stores[lane];
            let group = std::mem::take(&mut stores.open);
            stores.groups.push_back(group);
        }
    }

    /// Waits for all groups but the last `left`.
    pub fn wait_for_bulk(&mut self, shared: &mut Shared, warp: &mut Warp, left: u64, active: u32) {
        warp.stores.resize(LANES, Stores::default());
        for lane in lanes(active) {
            while warp.stores[lane].groups.len() as u64 > left {
                let group = warp.stores[lane].groups.pop_front().unwrap_or_default();
                group.iter().for_each(|going| self.goes(shared, warp, going, lane));
            }
        }
    }

    /// The stores of threads that end are done.
    pub fn end_bulk(&mut self, shared: &mut Shared, warp: &mut Warp, lanes_left: u32) {
        if warp.stores.is_empty() {
            return;
        }
        self.wait_for_bulk(shared, warp, 0, lanes_left);
        for lane in lanes(lanes_left) {
            let open = std::mem::take(&mut warp.stores[lane].open);
            open.iter().for_each(|going| self.goes(shared, warp, going, lane));
        }
    }

    fn goes(&mut self, shared: &mut Shared, warp: &mut Warp, going: &Going, lane: usize) {
        for part in &going.parts {
            let Some(contents) = self.bytes(shared, warp, (Space::Shared, part.from), part.bytes, lane, going.pc)
            else {
                return;
            };
            let Some((f, bytes)) = going.reduces else {
                self.put_bytes(shared, warp, (Space::Global, part.to), &contents, lane, going.pc);
                continue;
            };
            for (n, element) in contents.chunks_exact(bytes as usize).enumerate() {
                let value = read(element, 0, bytes);
                let to = (Space::Global, part.to + n as u64 * u64::from(bytes));
                self.swap(shared, warp, to, bytes, lane, going.pc, Order::Strong, true, |old| f(old, value, value));
            }
        }
    }

    /// Sets a field of a tensor map.
    pub fn change_map(&mut self, shared: &mut Shared, warp: &mut Warp, change: &ChangedMap, pc: u32, active: u32) {
        let maps = super::access::addresses(warp, change.base, change.offset);
        let (at, bytes) = change.field.place();
        for lane in lanes(active) {
            let value = warp.regs[change.value as usize][lane];
            self.leave(shared, warp, (change.space, maps[lane] + at as u64), bytes, value, lane, pc);
        }
    }

    /// Copies a tensor map from shared to global memory, once for a warp.
    pub fn copy_map(&mut self, shared: &mut Shared, warp: &mut Warp, to: u64, from: u64, lane: usize, pc: u32) {
        if let Some(map) = self.bytes(shared, warp, (Space::Shared, from), BYTES as u32, lane, pc) {
            self.put_bytes(shared, warp, (Space::Global, to), &map, lane, pc);
        }
        if self.intervals.is_some() {
            warp.fenced();
        }
    }
}

/// The parts of a box at its coordinates, which lies in shared memory from an address on.
fn boxed(map: &TensorMap, at: &[i32], own: u64) -> Result<Plan, String> {
    if map.extents.len() != at.len() {
        return Err(format!("a tensor map of {} dimensions, and {} coordinates", map.extents.len(), at.len()));
    }
    if !own.is_multiple_of(128) {
        return Err(format!("a box in shared memory at {own:#x}, no multiple of 128 bytes"));
    }
    let (size, inside) = (map.element_bytes, map.inside(at));
    let row_bytes = map.extents[0] * size;
    let first = |address: u64| address.wrapping_add((i64::from(at[0]) * i64::from(size)) as u64);
    let mut parts = Vec::new();
    for (row, address) in map.rows(at) {
        let inside = if address.is_some() { inside.start * size..inside.end * size } else { 0..0 };
        // Parts that lie together and are all inside, or all outside.
        let mut from = 0;
        while from < row_bytes {
            let end = match from {
                _ if from < inside.start => inside.start,
                _ if from < inside.end => inside.end,
                _ => row_bytes,
            };
            let chunk = match map.swizzle {
                Swizzle::NONE => row_bytes,
                _ => from - from % CHUNK as u32 + CHUNK as u32,
            };
            let end = end.min(chunk).min(row_bytes);
            let other = address.filter(|_| inside.contains(&from)).map(|a| first(a).wrapping_add(from.into()));
            parts.push((map.swizzle.apply(own + row + u64::from(from)), other, end - from));
            from = end;
        }
    }
    let fill = map.fill.to_le_bytes()[..size as usize].to_vec();
    Ok(Plan { parts, fill })
}
