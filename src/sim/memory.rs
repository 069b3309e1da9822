//! What lies in global memory? Pieces with space around them that belongs to nobody, so that an
//! access beside one is noticed.

use super::decode::RED_ZONE;
use super::store::Store;
use super::windows::GLOBAL;

/// A piece of global memory.
#[derive(Clone, Debug)]
pub struct Piece {
    pub start: u64,
    pub bytes: u64,
    pub read_only: bool,
}

impl Piece {
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// Where kernels allocate memory (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation"):
/// pieces between two addresses, with space around them as around others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arena {
    pub start: u64,
    pub end: u64,
    /// Where the next one is looked for, so that what was given back stays unused for a while.
    pub next: u64,
}

/// Pieces of an arena begin at multiples of this.
const ARENA_ALIGN: u64 = 16;

#[derive(Clone, Debug)]
pub struct Memory {
    /// The address of its first byte.
    pub base: u64,
    pub bytes: Store<u8>,
    /// By their addresses.
    pub pieces: Vec<Piece>,
    /// Of each byte 1 if somebody has written it; None: all count as written.
    pub set: Option<Store<u8>>,
    /// None: kernels have no memory to allocate.
    pub arena: Option<Arena>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { base: GLOBAL, bytes: Store::default(), pieces: Vec::new(), set: None, arena: None }
    }
}

impl Memory {
    /// Where the byte at an address lies in `bytes`; of an address elsewhere a place beyond their
    /// end.
    #[inline(always)]
    pub fn offset(&self, address: u64) -> usize {
        address.wrapping_sub(self.base) as usize
    }

    /// A piece at an address beyond all others.
    pub fn put(&mut self, start: u64, data: &[u8], read_only: bool) {
        let offset = self.offset(start);
        self.bytes.grow(offset + data.len() + RED_ZONE as usize);
        self.bytes[offset..offset + data.len()].copy_from_slice(data);
        self.pieces.push(Piece { start, bytes: data.len() as u64, read_only });
    }

    /// A piece for `data`, at a multiple of 256 bytes and `shift`; its address.
    pub fn give(&mut self, data: &[u8], shift: u64) -> u64 {
        let end = self.pieces.last().map_or(0, |piece| piece.end() - self.base);
        let start = self.base + (end + u64::from(RED_ZONE)).next_multiple_of(256) + shift;
        self.put(start, data, false);
        start
    }

    /// The piece that holds all of `address..address + bytes`; `hint` is where to look first, and
    /// where it was found. `words`: of the words at its ends parts suffice, as allocators give
    /// whole ones.
    #[inline]
    pub fn piece(&self, address: u64, bytes: u64, words: bool, hint: &mut usize) -> Option<&Piece> {
        let slack = if words { 3 } else { 0 };
        let holds =
            |piece: &&Piece| address >= piece.start & !slack && address.saturating_add(bytes) <= piece.end() + slack;
        if let Some(piece) = self.pieces.get(*hint).filter(holds) {
            return Some(piece);
        }
        *hint = self.pieces.partition_point(|piece| piece.start <= address).checked_sub(1)?;
        self.pieces.get(*hint).filter(holds)
    }

    /// Allocates a piece for a kernel, with all bytes unset. None: the arena is full.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let arena = self.arena?;
        let room = |from: u64, to: u64| {
            let (mut at, mut start) = (self.pieces.partition_point(|piece| piece.end() <= from), from);
            loop {
                start = (start + u64::from(RED_ZONE)).next_multiple_of(ARENA_ALIGN);
                let end = start.checked_add(bytes)?.checked_add(RED_ZONE.into()).filter(|end| *end <= to)?;
                match self.pieces.get(at) {
                    Some(piece) if piece.start < end => start = piece.end(),
                    _ => return Some((at, start)),
                }
                at += 1;
            }
        };
        let (at, start) = room(arena.next, arena.end).or_else(|| room(arena.start, arena.end))?;
        self.pieces.insert(at, Piece { start, bytes, read_only: false });
        self.arena = Some(Arena { next: start + bytes, ..arena });
        let offset = self.offset(start);
        if let Some(set) = self.set.as_mut().and_then(|set| set.get_mut(offset..offset + bytes as usize)) {
            set.fill(0);
        }
        Some(start)
    }

    /// Takes back what a kernel allocated at an address. Whether something was.
    pub fn release(&mut self, start: u64) -> bool {
        let is_own = self.arena.is_some_and(|arena| (arena.start..arena.end).contains(&start));
        let at = self.pieces.binary_search_by_key(&start, |piece| piece.start).ok().filter(|_| is_own);
        at.map(|at| self.pieces.remove(at)).is_some()
    }

    /// The pieces that kernels have allocated.
    pub fn allocated(&self) -> Vec<Piece> {
        let is_own = |piece: &&Piece| self.arena.is_some_and(|arena| (arena.start..arena.end).contains(&piece.start));
        self.pieces.iter().filter(is_own).cloned().collect()
    }

    /// The piece that an address lies in or next to.
    pub fn nearest(&self, address: u64) -> Option<&Piece> {
        let distance = |piece: &&Piece| match address {
            a if a < piece.start => piece.start - a,
            a => a.saturating_sub(piece.end().saturating_sub(1)),
        };
        self.pieces.iter().min_by_key(distance)
    }

    /// The contents of a piece.
    pub fn contents(&self, start: u64, bytes: u64) -> &[u8] {
        let offset = self.offset(start);
        &self.bytes[offset..offset + bytes as usize]
    }
}

/// The number in some bytes, lowest first.
#[inline(always)]
pub fn read(bytes: &[u8], at: usize, size: u32) -> u64 {
    match size {
        1 => bytes[at].into(),
        2 => u16::from_le_bytes([bytes[at], bytes[at + 1]]).into(),
        4 => {
            let mut four = [0; 4];
            four.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(four).into()
        }
        _ => {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(eight)
        }
    }
}

#[inline(always)]
pub fn write(bytes: &mut [u8], at: usize, size: u32, value: u64) {
    match size {
        1 => bytes[at] = value as u8,
        2 => bytes[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes()),
        4 => bytes[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
        _ => bytes[at..at + 8].copy_from_slice(&value.to_le_bytes()),
    }
}
