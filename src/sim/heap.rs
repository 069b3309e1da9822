//! What lies in the memory of devices from launch to launch, and who may use it? One range of
//! addresses is reserved, with a zone for the host and one for each device; the address that a
//! kernel uses is that of the host. Around each block lie bytes of nobody, and what was given back
//! stays unused for a while, so that a use of it is noticed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::decode::RED_ZONE;
use super::memory::{Arena, Memory, Piece};
use super::store::{Pages, Store};

/// Whose memory a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zone {
    /// The host's, which all devices reach.
    Host,
    /// That of the device of this number.
    Device(usize),
}

/// What a block is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Memory of a device, which only kernels and copies use.
    Device,
    /// Memory of the host that devices reach.
    Pinned,
    /// Memory that host and devices share.
    Managed,
    /// A variable of a module.
    Variable,
    /// The same, which kernels can only read, and which host and devices share.
    Constant,
    ManagedVariable,
    /// What kernels allocate their memory from.
    Arena,
}

/// A line of the client's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    pub file: String,
    pub line: u32,
}

/// A call of the client: its name, its number among all calls, and where it is made, if that is
/// known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    pub name: String,
    pub number: u64,
    pub line: Option<Arc<Line>>,
}

/// Some memory that a client asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    pub start: u64,
    pub bytes: u64,
    pub zone: Zone,
    pub kind: Kind,
    /// The call that gave it.
    pub given: Origin,
    /// The call that took it back.
    pub freed: Option<Origin>,
}

impl Block {
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.start && address.checked_add(bytes).is_some_and(|end| end <= self.end())
    }
}

/// What is wrong with an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It belongs to no block.
    Nobodys,
    /// It begins in this block, and goes on beyond its end.
    Beyond(Box<Block>),
    /// It lies in the unused bytes beside this block.
    Beside(Box<Block>),
    /// Its block was given back.
    Freed(Box<Block>),
    /// It is no start of a block, but inside of this one.
    Inside(Box<Block>),
}

/// Why there is no more memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// The zone has no such room left.
    Zone,
    /// The machine has none.
    Machine,
}

/// Blocks begin at multiples of this, as those of a GPU do.
const ALIGN: u64 = 256;
/// Zones begin at multiples of this, and open so much at once.
const STEP: u64 = 2 << 20;
/// So many bytes given back stay unused in each zone, at most an eighth of it.
const QUARANTINE: u64 = 256 << 20;

/// A part of the range.
#[derive(Debug)]
struct Part {
    start: u64,
    end: u64,
    /// Bytes a client can have there.
    limit: u64,
    used: u64,
    /// Where nothing has been given yet, and up to where memory is there.
    fresh: u64,
    open: u64,
    /// What can be given again: starts and ends.
    holes: BTreeMap<u64, u64>,
    /// What was given back, the oldest first, and its bytes.
    quarantine: VecDeque<u64>,
    waiting: u64,
}

/// The memory of all devices of a process.
#[derive(Debug)]
pub struct Heap {
    range: Pages,
    /// Of each byte whether it was written.
    set: Pages,
    start: u64,
    /// That of the host, then those of the devices.
    parts: Vec<Part>,
    /// By their starts; those that wait in quarantine too.
    blocks: BTreeMap<u64, Block>,
}

impl Heap {
    /// Reserves the memory of so many devices, of `bytes` each, and as much for the host. None: the
    /// system has no such range of addresses.
    pub fn reserve(devices: usize, bytes: u64) -> Option<Heap> {
        // Unused bytes around blocks and in quarantine come on top.
        let each = (bytes.checked_mul(2)?.checked_add(2 * QUARANTINE)?).next_multiple_of(STEP);
        let all = usize::try_from(each.checked_mul(devices as u64 + 1)?.checked_add(STEP)?).ok()?;
        let range = Pages::reserve(all, false)?;
        let set = Pages::reserve(all, true)?;
        let start = (range.start().expose_provenance() as u64).next_multiple_of(STEP);
        let part = |n: u64| {
            let start = start + n * each;
            let fresh = start + u64::from(RED_ZONE);
            Part {
                start,
                end: start + each - STEP,
                limit: bytes,
                used: 0,
                fresh,
                open: start,
                holes: BTreeMap::new(),
                quarantine: VecDeque::new(),
                waiting: 0,
            }
        };
        let parts = (0..=devices as u64).map(part).collect();
        Some(Heap { range, set, start, parts, blocks: BTreeMap::new() })
    }

    fn part(zone: Zone) -> usize {
        match zone {
            Zone::Host => 0,
            Zone::Device(n) => n + 1,
        }
    }

    /// A block of `bytes` at a multiple of `align`; its address.
    pub fn give(&mut self, zone: Zone, kind: Kind, bytes: u64, align: u64, by: Origin) -> Result<u64, Full> {
        let part = self.parts.get_mut(Heap::part(zone)).ok_or(Full::Zone)?;
        if bytes > part.limit - part.used {
            return Err(Full::Zone);
        }
        let align = align.max(ALIGN);
        let room = bytes + u64::from(RED_ZONE);
        let in_hole = part.holes.iter().find_map(|(&from, &to)| {
            let start = from.next_multiple_of(align);
            (start + room <= to).then_some((from, to, start))
        });
        let start = match in_hole {
            Some((from, to, start)) => {
                part.holes.remove(&from);
                if from < start {
                    part.holes.insert(from, start);
                }
                if start + room < to {
                    part.holes.insert(start + room, to);
                }
                start
            }
            None => {
                let start = part.fresh.next_multiple_of(align);
                let end = start.checked_add(room).filter(|&end| end <= part.end).ok_or(Full::Zone)?;
                if end > part.open {
                    let open = end.next_multiple_of(STEP);
                    let base = self.range.start().expose_provenance() as u64;
                    if !self.range.open((part.open - base) as usize, (open - base) as usize) {
                        return Err(Full::Machine);
                    }
                    part.open = open;
                }
                if part.fresh < start {
                    part.holes.insert(part.fresh, start);
                }
                part.fresh = end;
                start
            }
        };
        part.used += bytes;
        self.blocks.insert(start, Block { start, bytes, zone, kind, given: by, freed: None });
        // Host code writes without a word to anybody.
        self.mark(start, bytes, kind != Kind::Device);
        Ok(start)
    }

    /// Takes a block back; it waits in quarantine before somebody else gets it.
    pub fn take(&mut self, start: u64, by: Origin) -> Result<Block, Fault> {
        let Some(block) = self.blocks.get_mut(&start) else { return Err(self.fault(start, 1)) };
        if block.freed.is_some() {
            return Err(Fault::Freed(Box::new(block.clone())));
        }
        block.freed = Some(by);
        let block = block.clone();
        let part = &mut self.parts[Heap::part(block.zone)];
        part.used -= block.bytes;
        part.waiting += block.bytes;
        part.quarantine.push_back(start);
        let most = QUARANTINE.min((part.end - part.start) / 16);
        while part.waiting > most
            && let Some(oldest) = part.quarantine.pop_front()
        {
            if let Some(gone) = self.blocks.remove(&oldest) {
                part.waiting -= gone.bytes;
                part.put_hole(gone.start, gone.end() + u64::from(RED_ZONE));
            }
        }
        Ok(block)
    }

    /// The block that holds all of `address..address + bytes`. What kernels have allocated is of
    /// none: only kernels use it (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation").
    pub fn find(&self, address: u64, bytes: u64) -> Result<&Block, Fault> {
        let before = self.blocks.range(..=address).next_back().map(|(_, block)| block);
        before
            .filter(|block| block.freed.is_none() && block.kind != Kind::Arena && block.holds(address, bytes))
            .ok_or_else(|| self.fault(address, bytes))
    }

    /// The block that an address lies in or next to, given back or not.
    pub fn nearest(&self, address: u64) -> Option<&Block> {
        let before = self.blocks.range(..=address).next_back().map(|(_, block)| block);
        let after = self.blocks.range(address..).next().map(|(_, block)| block);
        match (before, after) {
            (Some(before), Some(after)) => {
                let nearer = address.saturating_sub(before.end()) <= after.start - address;
                Some(if nearer { before } else { after })
            }
            (before, after) => before.or(after),
        }
    }

    /// What is wrong with some bytes that no block holds.
    fn fault(&self, address: u64, bytes: u64) -> Fault {
        let before = self.blocks.range(..=address).next_back().map(|(_, block)| block);
        if before.is_some_and(|block| block.kind == Kind::Arena && block.holds(address, 1)) {
            return Fault::Nobodys;
        }
        let Some(block) = before.filter(|block| address < block.end() + u64::from(RED_ZONE)) else {
            let after = self.blocks.range(address..).next().map(|(_, block)| block);
            return match after.filter(|block| block.start - address <= u64::from(RED_ZONE)) {
                Some(block) => Fault::Beside(Box::new(block.clone())),
                None => Fault::Nobodys,
            };
        };
        let block = Box::new(block.clone());
        match () {
            _ if address >= block.end() => Fault::Beside(block),
            _ if block.freed.is_some() => Fault::Freed(block),
            _ if block.holds(address, bytes) => Fault::Inside(block),
            _ => Fault::Beyond(block),
        }
    }

    /// Whether an address lies in the range at all; others are the client's own.
    pub fn reaches(&self, address: u64) -> bool {
        self.parts.first().is_some_and(|part| address >= part.start)
            && self.parts.last().is_some_and(|part| address < part.end)
    }

    /// What is in use, by address.
    pub fn live(&self) -> impl Iterator<Item = &Block> {
        self.blocks.values().filter(|block| block.freed.is_none())
    }

    /// Bytes in use and bytes that there are.
    pub fn room(&self, zone: Zone) -> (u64, u64) {
        self.parts.get(Heap::part(zone)).map_or((0, 0), |part| (part.used, part.limit))
    }

    /// Notes that bytes of a block were written, or count as never written.
    pub fn mark(&mut self, address: u64, bytes: u64, written: bool) {
        let offset = (address - self.start) as usize;
        // SAFETY: the address is one of a block, so that it lies in the range, which `set` has a
        // byte for each byte of.
        unsafe { self.set.start().add(offset).write_bytes(u8::from(written), bytes as usize) };
    }

    /// Copies between two blocks what is known of their bytes.
    pub fn copy_marks(&mut self, from: u64, to: u64, bytes: u64) {
        let base = self.set.start();
        // SAFETY: both are addresses of blocks, as in `mark`; they may overlap.
        unsafe {
            std::ptr::copy(base.add((from - self.start) as usize), base.add((to - self.start) as usize), bytes as usize)
        };
    }

    /// The memory of those blocks that a launch may use, with what kernels have allocated in an
    /// arena.
    ///
    /// # Safety
    /// While it lives nobody else uses these blocks, and none is given or taken.
    pub unsafe fn lend(&mut self, visible: &dyn Fn(&Block) -> bool, arena: Option<(Arena, &[Piece])>) -> Memory {
        let seen = |block: &&Block| block.freed.is_none() && block.kind != Kind::Arena && visible(block);
        let mut pieces: Vec<Piece> = self
            .blocks
            .values()
            .filter(seen)
            .map(|block| Piece { start: block.start, bytes: block.bytes, read_only: block.kind == Kind::Constant })
            .collect();
        let own = arena.map_or(&[][..], |(_, own)| own);
        let at = own.first().map_or(0, |first| pieces.partition_point(|piece| piece.start < first.start));
        pieces.splice(at..at, own.iter().cloned());
        let arena = arena.map(|(arena, _)| arena);
        let first = pieces.first().map(|piece| piece.start).into_iter().chain(arena.map(|arena| arena.start)).min();
        let last = pieces.last().map(Piece::end).into_iter().chain(arena.map(|arena| arena.end)).max();
        let (Some(first), Some(last)) = (first, last) else { return Memory::default() };
        let base = first & !(ALIGN - 1);
        let len = (last + u64::from(RED_ZONE) - base) as usize;
        let offset = (base - self.start) as usize;
        let start: *mut u8 = std::ptr::with_exposed_provenance_mut(base as usize);
        // SAFETY: between the first and the last block all is in the range; what is not open there
        // is in no piece, and nobody touches it.
        let bytes = unsafe { Store::lent(start, len) };
        // SAFETY: `set` is as long as the range, and open.
        let set = unsafe { Store::lent(self.set.start().add(offset), len) };
        Memory { base, bytes, pieces, set: Some(set), arena }
    }
}

impl Part {
    /// Adds what is free again to what lies beside it.
    fn put_hole(&mut self, mut start: u64, mut end: u64) {
        if let Some((&from, &to)) = self.holes.range(..=start).next_back()
            && to == start
        {
            self.holes.remove(&from);
            start = from;
        }
        if let Some(to) = self.holes.remove(&end) {
            end = to;
        }
        self.holes.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(name: &str, number: u64) -> Origin {
        Origin { name: name.to_string(), number, line: None }
    }

    fn heap(bytes: u64) -> Heap {
        Heap::reserve(2, bytes).expect("a range of addresses")
    }

    fn device(heap: &mut Heap, bytes: u64) -> u64 {
        heap.give(Zone::Device(0), Kind::Device, bytes, 1, origin("give", 1)).expect("room")
    }

    #[test]
    fn blocks_have_bytes_of_nobody_around_them() {
        let mut heap = heap(1 << 20);
        let (a, b) = (device(&mut heap, 100), device(&mut heap, 100));
        assert!(a.is_multiple_of(256) && b.is_multiple_of(256) && b >= a + 100 + u64::from(RED_ZONE));
        assert_eq!(heap.find(a + 96, 4).map(|block| block.start), Ok(a));
        assert!(matches!(heap.find(a + 97, 4), Err(Fault::Beyond(block)) if block.start == a));
        assert!(matches!(heap.find(a + 100, 4), Err(Fault::Beside(block)) if block.start == a));
        assert!(matches!(heap.find(4096, 4), Err(Fault::Nobodys)));
        assert_eq!(heap.nearest(b - 4).map(|block| block.start), Some(b));
    }

    #[test]
    fn what_was_given_back_is_known_by_both_calls() {
        let mut heap = heap(1 << 20);
        let a = device(&mut heap, 64);
        assert!(matches!(heap.take(a + 8, origin("free", 2)), Err(Fault::Inside(block)) if block.start == a));
        assert_eq!(heap.room(Zone::Device(0)), (64, 1 << 20));
        heap.take(a, origin("free", 3)).expect("it is there");
        assert_eq!(heap.room(Zone::Device(0)), (0, 1 << 20));
        let Err(Fault::Freed(block)) = heap.find(a, 4) else { panic!("it is gone") };
        assert_eq!((block.given, block.freed), (origin("give", 1), Some(origin("free", 3))));
        assert!(matches!(heap.take(a, origin("free", 4)), Err(Fault::Freed(_))));
        // Nobody gets it meanwhile.
        assert_ne!(device(&mut heap, 64), a);
    }

    #[test]
    fn quarantine_ends_and_holes_are_given_again() {
        let mut heap = heap(8 << 20);
        let mut highest = 0;
        for _ in 0..1000 {
            let at = device(&mut heap, 4 << 20);
            highest = highest.max(at - heap.parts[1].start);
            heap.take(at, origin("free", 2)).expect("it is there");
        }
        assert!(highest < 64 << 20, "{highest}");
        assert_eq!(heap.live().count(), 0);
    }

    #[test]
    fn zones_are_as_large_as_they_say() {
        let mut heap = heap(1 << 20);
        let give = |heap: &mut Heap, zone, bytes| heap.give(zone, Kind::Device, bytes, 1, origin("give", 1));
        let first = give(&mut heap, Zone::Device(0), 1 << 20).expect("all of it");
        assert_eq!(give(&mut heap, Zone::Device(0), 1), Err(Full::Zone));
        assert_eq!(give(&mut heap, Zone::Device(2), 1), Err(Full::Zone));
        let other = give(&mut heap, Zone::Device(1), 1 << 20).expect("the other device has its own");
        assert!(other > first + (1 << 20));
        assert_eq!(give(&mut heap, Zone::Host, u64::MAX), Err(Full::Zone));
    }

    #[test]
    fn the_host_has_no_memory_of_kernels() {
        let mut heap = heap(1 << 20);
        let arena = heap.give(Zone::Device(0), Kind::Arena, 4096, 1, origin("give", 1)).expect("room");
        assert_eq!(heap.find(arena + 16, 4), Err(Fault::Nobodys));
        let piece = Piece { start: arena + 256, bytes: 16, read_only: false };
        let place = Arena { start: arena, end: arena + 4096, next: arena };
        // SAFETY: nobody else uses the heap.
        let mut memory = unsafe { heap.lend(&|_| true, Some((place, &[piece]))) };
        let second = memory.allocate(8).expect("room");
        assert!(second >= arena + 256 + 16 + u64::from(RED_ZONE) && second + 8 <= arena + 4096);
        assert_eq!(memory.allocated().iter().map(|piece| piece.start).collect::<Vec<_>>(), [arena + 256, second]);
        assert_eq!((memory.release(second), memory.release(second), memory.allocate(5000)), (true, false, None));
    }

    #[test]
    fn a_launch_sees_what_it_may() {
        let mut heap = heap(1 << 20);
        let mine = device(&mut heap, 16);
        let other = heap.give(Zone::Device(1), Kind::Device, 16, 1, origin("give", 2)).expect("room");
        let pinned = heap.give(Zone::Host, Kind::Pinned, 16, 1, origin("give", 3)).expect("room");
        heap.mark(mine, 4, true);
        // SAFETY: nobody else uses the heap.
        let mut memory = unsafe { heap.lend(&|block| block.zone != Zone::Device(1), None) };
        assert_eq!(memory.pieces.iter().map(|piece| piece.start).collect::<Vec<_>>(), [pinned, mine]);
        let (at, host) = (memory.offset(mine), memory.offset(pinned));
        memory.bytes[at..at + 4].copy_from_slice(&7u32.to_le_bytes());
        let set = memory.set.as_ref().expect("it is followed");
        assert_eq!((set[at + 3], set[at + 4], set[host]), (1, 0, 1));
        drop(memory);
        let read: *const u32 = std::ptr::with_exposed_provenance(mine as usize);
        // SAFETY: the block is there.
        assert_eq!(unsafe { read.read() }, 7);
        assert!(heap.find(other, 16).is_ok());
    }
}
