//! Which accesses are ordered by nothing? Each word of memory knows its last writer and its readers since, as numbers of
//! intervals: what a warp does between two synchronisations. A table tells of each interval its block, warp and the epochs of
//! their barriers. Blocks are never ordered by barriers; what fences and atomics order is in clocks of the warps, which are
//! looked at only where two accesses conflict.

use std::collections::HashMap;
use std::rc::Rc;

use super::code::NOWHERE;

/// For warps of the launch the time up to which what they did is known.
pub type Clock = Rc<HashMap<u32, u32>>;

/// A word's history, in two tags: 0 for nobody, or from above the number of an interval and 1, of an instruction among those that
/// access memory, of a lane (5 bits), and a flag.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cell {
    /// Flag: others see it as atomic.
    writer: u32,
    /// Flag: several threads. Then instead of the lane stands whose the instruction is: of the readers the lane, or the warp (modulo
    /// 31) where they are of several, of which it is known; [`ANYBODYS`] where two of them are.
    reader: u32,
}

/// What an interval is, or a set of readers.
#[derive(Clone, Debug)]
enum Row {
    Warp {
        block: u32,
        warp: u32,
        epoch: u32,
        warp_epoch: u32,
        time: u32,
    },
    /// Several warps of a block in one epoch.
    Block {
        block: u32,
        epoch: u32,
    },
    /// Several blocks.
    Many,
    /// Several warps where memory can order blocks: the intervals.
    List(Vec<u32>),
}

/// Who accesses.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    pub interval: u32,
    pub lane: u32,
    /// The instruction, as [`Intervals::slot`] numbers it.
    pub slot: u32,
    pub strong: bool,
    /// Only threads of the block see it as atomic.
    pub of_block: bool,
    pub known: &'a Clock,
}

/// The other side of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Before {
    /// The instruction; [`NOWHERE`]: it is not known.
    pub pc: u32,
    pub writes: bool,
    /// Block, warp and lane, where it is one thread.
    pub thread: Option<(u32, u32, u32)>,
}

/// The intervals of a launch.
#[derive(Debug)]
pub struct Intervals {
    rows: Vec<Row>,
    /// Sets of readers that are there already.
    blocks: HashMap<(u32, u32), u32>,
    exact: bool,
    /// The instructions that access memory which threads share, and of each instruction its number among them.
    accesses: Vec<u32>,
    slots: Vec<u32>,
    /// By number: atomics that only threads of the block see as such.
    of_block: Vec<bool>,
    /// The bits of a tag below its interval.
    shift: u32,
}

/// Bits of a tag for the lane and the flag.
const LANE_BITS: u32 = 6;
/// Instead of a lane: two threads or more have read there.
const ANYBODYS: u32 = 31;
/// Instructions beyond so many bits of numbers share theirs, so that there is room for intervals.
const MOST_SLOT_BITS: u32 = 10;

impl Intervals {
    /// `accesses`: the instructions whose accesses are followed, and whether they are atomic for threads of the block only. `exact`: memory can order threads of different blocks.
    pub fn new(instructions: usize, accesses: Vec<(u32, bool)>, exact: bool) -> Intervals {
        let bits = accesses.len().max(1).next_power_of_two().trailing_zeros().min(MOST_SLOT_BITS);
        let mut slots = vec![0; instructions];
        let mut of_block = vec![false; 1 << bits];
        for (n, &(pc, narrow)) in accesses.iter().enumerate() {
            let slot = n & ((1 << bits) - 1);
            slots[pc as usize] = slot as u32;
            of_block[slot] |= narrow;
        }
        let accesses = accesses.into_iter().map(|(pc, _)| pc).collect();
        let shift = LANE_BITS + bits;
        Intervals { rows: vec![Row::Many], blocks: HashMap::new(), exact, accesses, slots, of_block, shift }
    }

    /// A new interval of a warp; None: there are too many.
    pub fn begin(&mut self, block: u32, warp: u32, epoch: u32, warp_epoch: u32, time: u32) -> Option<u32> {
        if self.rows.len() >= (u32::MAX >> self.shift) as usize - 1 {
            return None;
        }
        self.rows.push(Row::Warp { block, warp, epoch, warp_epoch, time });
        Some(self.rows.len() as u32 - 1)
    }

    /// The number of an instruction in tags.
    pub fn slot(&self, pc: u32) -> u32 {
        self.slots[pc as usize]
    }

    #[inline(always)]
    fn tag(&self, interval: u32, slot: u32, lane: u32, flag: bool) -> u32 {
        (interval + 1) << self.shift | slot << LANE_BITS | lane << 1 | u32::from(flag)
    }

    #[inline(always)]
    fn row(&self, tag: u32) -> u32 {
        (tag >> self.shift) - 1
    }

    /// The bits of a tag that tell threads apart, within their intervals.
    #[inline(always)]
    fn thread_bits(&self) -> u32 {
        u32::MAX << self.shift | 31 << 1
    }

    fn is_ordered(&self, before: u32, lane: Option<u32>, who: &Who) -> bool {
        let (Some(old), Some(Row::Warp { block, warp, epoch, warp_epoch, .. })) =
            (self.rows.get(before as usize), self.rows.get(who.interval as usize))
        else {
            return true;
        };
        match old {
            Row::Warp { block: b, warp: w, epoch: e, warp_epoch: we, time } => {
                let by_barrier = b == block && e != epoch;
                let by_warp = w == warp && (we != warp_epoch || lane == Some(who.lane));
                by_barrier || by_warp || who.known.get(w).is_some_and(|known| known > time)
            }
            Row::Block { block: b, epoch: e } => b == block && e != epoch,
            Row::Many => false,
            Row::List(list) => list.iter().all(|&one| self.is_ordered(one, None, who)),
        }
    }

    fn before(&self, tag: u32, writes: bool) -> Before {
        let thread = match self.rows.get(self.row(tag) as usize) {
            Some(&Row::Warp { block, warp, .. }) => Some((block, warp, tag >> 1 & 31)),
            _ => None,
        };
        let slot = self.slot_of(tag);
        // Where instructions share their numbers, nobody knows which it was.
        let known = self.accesses.len() <= 1 << (self.shift - LANE_BITS);
        let pc = self.accesses.get(slot).copied().filter(|_| known).unwrap_or(NOWHERE);
        Before { pc, writes, thread }
    }

    /// The number of the instruction that left a tag.
    fn slot_of(&self, tag: u32) -> usize {
        ((tag & !(u32::MAX << self.shift)) >> LANE_BITS) as usize
    }

    /// Whether a write and an access are atomic, each for the other's thread.
    fn are_atomic(&self, writer: u32, who: &Who) -> bool {
        let narrow = || who.of_block || self.of_block[self.slot_of(writer)];
        let block = |row: u32| match self.rows.get(row as usize) {
            Some(Row::Warp { block, .. }) => Some(*block),
            _ => None,
        };
        who.strong && writer & 1 == 1 && (!narrow() || block(self.row(writer)) == block(who.interval))
    }

    fn conflict(&self, tag: u32, one_thread: bool, who: &Who) -> bool {
        tag != 0 && !self.is_ordered(self.row(tag), one_thread.then_some(tag >> 1 & 31), who)
    }

    /// Notes a read; the write that it races with.
    #[inline(always)]
    pub fn read(&mut self, cell: &mut Cell, who: &Who) -> Option<Before> {
        let mine = self.tag(who.interval, who.slot, who.lane, false);
        // Most words have no writer in a launch, or its reader is their writer.
        let race = match cell.writer == 0 || (cell.writer ^ mine) & self.thread_bits() == 0 {
            true => None,
            false => self.read_after(cell.writer, who),
        };
        // Who asks again and again for what others set does no harm to them.
        if !who.strong {
            if cell.reader == 0 || (cell.reader ^ mine) & (self.thread_bits() | 1) == 0 {
                cell.reader = mine;
            } else if cell.reader >> self.shift != 1 {
                cell.reader = self.joined(cell.reader, mine, who);
            }
        }
        race
    }

    #[inline(never)]
    fn read_after(&self, writer: u32, who: &Who) -> Option<Before> {
        (!self.are_atomic(writer, who) && self.conflict(writer, true, who)).then(|| self.before(writer, true))
    }

    /// The readers `old` and one more.
    #[inline(never)]
    fn joined(&mut self, old: u32, mine: u32, who: &Who) -> u32 {
        let index = self.row(old);
        if index == who.interval {
            return self.joined_lanes(old, mine);
        }
        let Some(&Row::Warp { block, warp, epoch, .. }) = self.rows.get(who.interval as usize) else { return mine };
        if let Some(Row::List(list)) = self.rows.get_mut(index as usize) {
            // A warp reads for all its lanes, one after the other.
            if list.last() != Some(&who.interval) && !list.contains(&who.interval) {
                list.push(who.interval);
            }
            return old;
        }
        match self.rows.get(index as usize) {
            Some(Row::Warp { warp: w, .. }) if *w == warp && self.is_ordered(index, None, who) => mine,
            Some(Row::Warp { block: b, epoch: e, .. } | Row::Block { block: b, epoch: e })
                if *b == block && *e != epoch =>
            {
                mine
            }
            Some(Row::Warp { .. }) if self.exact => {
                self.rows.push(Row::List(vec![index, who.interval]));
                self.joined_tag(self.rows.len() as u32 - 1, old, who)
            }
            Some(Row::Block { block: b, epoch: e }) if *b == block && *e == epoch => old,
            Some(Row::Warp { block: b, .. } | Row::Block { block: b, .. }) if *b == block => {
                let rows = &mut self.rows;
                let row = *self.blocks.entry((block, epoch)).or_insert_with(|| {
                    rows.push(Row::Block { block, epoch });
                    rows.len() as u32 - 1
                });
                self.joined_tag(row, old, who)
            }
            _ => self.joined_tag(0, old, who),
        }
    }

    /// The readers `old` and one more lane of the warp: of the instructions stays that of which more is known.
    fn joined_lanes(&self, old: u32, mine: u32) -> u32 {
        let lane = |tag: u32| tag >> 1 & 31;
        let at_one = self.slot_of(old) == self.slot_of(mine);
        if old & 1 == 1 {
            let more = at_one && lane(old) != lane(mine);
            return if more { old | ANYBODYS << 1 } else { old };
        }
        match (at_one, lane(old)) {
            (true, _) => old | ANYBODYS << 1 | 1,
            (false, ANYBODYS) => mine | 1,
            (false, _) => old | 1,
        }
    }

    /// The readers `old` with one of another warp, as the set `row`.
    fn joined_tag(&self, row: u32, old: u32, who: &Who) -> u32 {
        let slot = self.slot_of(old) as u32;
        let whose = match self.rows.get(self.row(old) as usize) {
            _ if slot == who.slot => ANYBODYS,
            Some(Row::Warp { warp, .. }) => warp % ANYBODYS,
            // The set knows already.
            _ => old >> 1 & 31,
        };
        self.tag(row, slot, whose, true)
    }

    /// What is known of readers, to a thread that is none of the others: the instruction may be that thread's own.
    fn before_readers(&self, tag: u32, who: &Who) -> Before {
        let before = self.before(tag, false);
        if tag & 1 == 0 {
            return before;
        }
        let whose = tag >> 1 & 31;
        let own_warp = match self.rows.get(who.interval as usize) {
            Some(&Row::Warp { warp, .. }) => Some(warp),
            _ => None,
        };
        let (one, is_own) = match before.thread {
            Some((_, warp, _)) => (whose != ANYBODYS, own_warp == Some(warp) && whose == who.lane),
            None => (false, own_warp.is_some_and(|warp| warp % ANYBODYS == whose)),
        };
        match is_own && whose != ANYBODYS {
            true => Before { pc: NOWHERE, thread: None, ..before },
            false => Before { thread: before.thread.filter(|_| one), ..before },
        }
    }

    /// Notes a write; the access that it races with. `changes`: it leaves another value than it found.
    #[inline(always)]
    pub fn write(&mut self, cell: &mut Cell, who: &Who, changes: bool) -> Option<Before> {
        let mine = self.tag(who.interval, who.slot, who.lane, who.strong);
        let is_mine = |tag: u32| tag == 0 || (tag ^ mine) & self.thread_bits() == 0;
        let alone = is_mine(cell.writer) && is_mine(cell.reader) && cell.reader & 1 == 0;
        // Whoever writes what is there already shows no order.
        let race = if alone || !changes { None } else { self.write_after(*cell, who) };
        *cell = Cell { writer: mine, reader: 0 };
        race
    }

    #[inline(never)]
    fn write_after(&self, cell: Cell, who: &Who) -> Option<Before> {
        if !self.are_atomic(cell.writer, who) && self.conflict(cell.writer, true, who) {
            return Some(self.before(cell.writer, true));
        }
        self.conflict(cell.reader, cell.reader & 1 == 0, who).then(|| self.before_readers(cell.reader, who))
    }
}

/// The history of some memory: a cell for a word, and four for words of which parts are accessed.
#[derive(Debug, Default)]
pub struct History {
    words: Vec<Cell>,
    parts: HashMap<usize, [Cell; 4]>,
}

impl History {
    pub fn new(bytes: usize) -> History {
        History { words: vec![Cell::default(); bytes.div_ceil(4)], parts: HashMap::new() }
    }

    /// Calls `each` for the cells of an access; the first race.
    #[inline(always)]
    pub fn visit(
        &mut self,
        at: usize,
        bytes: u32,
        mut each: impl FnMut(&mut Cell) -> Option<Before>,
    ) -> Option<Before> {
        if bytes >= 4 && self.parts.is_empty() {
            let mut race = None;
            for cell in self.words.get_mut(at / 4..(at + bytes as usize) / 4).into_iter().flatten() {
                race = race.or(each(cell));
            }
            return race;
        }
        let mut race = None;
        let (mut at, end) = (at, at + bytes as usize);
        while at < end {
            let word = at / 4;
            let whole = at.is_multiple_of(4) && end - at >= 4;
            let Some(cell) = self.words.get_mut(word) else { break };
            if whole && !self.parts.contains_key(&word) {
                race = race.or(each(cell));
                at += 4;
                continue;
            }
            let parts = self.parts.entry(word).or_insert([*cell; 4]);
            race = race.or(each(&mut parts[at % 4]));
            at += 1;
        }
        race
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What checks take of memory: twice that of the arrays.
    #[test]
    fn a_word_has_eight_bytes_of_history() {
        assert_eq!(size_of::<Cell>(), 8);
        let history = History::new(4000);
        assert_eq!((history.words.len(), history.parts.len()), (1000, 0));
    }
}
