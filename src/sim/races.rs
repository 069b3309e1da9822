//! Data races, found by vector clocks: which accesses does nothing order? Each word of memory knows
//! its last writer and its readers since, as numbers of intervals: what a warp does between two
//! synchronisations. A table tells of each interval its block, warp and the epochs of their
//! barriers. Blocks are never ordered by barriers; what fences and atomics order is in clocks of
//! the warps, which are looked at only where two accesses conflict.

use std::cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::code::NOWHERE;
use super::findings::Thread;
use super::store::{Store, Zero};
use super::value::LANES;

/// Vector clock: for each warp, the latest time whose effects are visible.
pub type Clock = Rc<HashMap<u32, u32>>;

/// A word's history, in two tags: 0 for nobody, or from above the number of an interval and 1, of
/// an instruction among those that access memory, of a lane (5 bits), and a flag.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct Cell {
    /// Flag: others see it as atomic.
    writer: u32,
    /// Flag: several threads read the word. Then the lane field holds who issued the recorded
    /// instruction: the lane, or the warp modulo 31; [`ANYBODYS`] where two of them did.
    reader: u32,
}

// SAFETY: two numbers.
unsafe impl Zero for Cell {}

/// The tags of cells, one after the other: writer, reader.
#[inline(always)]
fn tags(cells: &[Cell]) -> &[[u32; 2]] {
    // SAFETY: a cell is two numbers in this order.
    unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) }
}

#[inline(always)]
fn tags_mut(cells: &mut [Cell]) -> &mut [[u32; 2]] {
    // SAFETY: as above, and the cells are borrowed alone.
    unsafe { std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast(), cells.len()) }
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
    /// Several warps where memory can order blocks: an interval, and those of another row.
    Set {
        before: u32,
        interval: u32,
    },
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
    /// Sets of readers that are there already: those of a block in an epoch, and those of a row
    /// with one more.
    blocks: HashMap<(u32, u32), u32>,
    sets: HashMap<(u32, u32), Joined>,
    /// A set whose intervals all came before another interval, as was found last.
    ordered: cell::Cell<(u32, u32)>,
    exact: bool,
    /// There are no more rows than this.
    most: usize,
    /// There was no room for one more: from now on nothing is noted.
    full: bool,
    /// Where that was.
    ended: Option<(u32, Thread)>,
    /// The instructions that access memory which threads share, and of each instruction its number
    /// among them.
    accesses: Vec<u32>,
    slots: Vec<u32>,
    /// By number: atomics that only threads of the block see as such.
    of_block: Vec<bool>,
    /// The bits of a tag below its interval.
    shift: u32,
}

/// What becomes of some readers with one more interval.
#[derive(Clone, Copy, Debug)]
enum Joined {
    Row(u32),
    /// The interval alone represents all: the others came before it. Whether some are of its warp,
    /// not synchronised since.
    Alone(bool),
}

/// Bits of a tag for the lane and the flag.
const LANE_BITS: u32 = 6;
/// More intervals and sets of readers take too much memory: about 1 GB.
const MOST_ROWS: usize = 1 << 24;
/// Instead of a lane: two threads or more have read there.
const ANYBODYS: u32 = 31;
/// Instructions beyond so many bits of numbers share theirs, so that there is room for intervals.
const MOST_SLOT_BITS: u32 = 10;

impl Intervals {
    /// `accesses`: the instructions whose accesses are followed, and whether they are atomic for
    /// threads of the block only. `exact`: memory can order threads of different blocks.
    /// `expected`: about so many intervals will be.
    pub fn new(instructions: usize, accesses: Vec<(u32, bool)>, exact: bool, expected: u64) -> Intervals {
        // Rather than races, the instruction on the other side of a race goes untold in large
        // launches.
        let room = (u32::BITS - LANE_BITS).saturating_sub(64 - expected.leading_zeros()).max(1);
        let bits = accesses.len().max(1).next_power_of_two().trailing_zeros().min(MOST_SLOT_BITS).min(room);
        let count = 1usize << bits;
        // Those that share their numbers are all atomic for the block only, or none is.
        let halves = count < accesses.len() && accesses.iter().any(|&(_, narrow)| narrow);
        let mut slots = vec![0; instructions];
        let mut of_block = vec![false; count];
        for (n, &(pc, narrow)) in accesses.iter().enumerate() {
            let slot = match halves {
                true => n & (count / 2 - 1) | if narrow { count / 2 } else { 0 },
                false => n & (count - 1),
            };
            slots[pc as usize] = slot as u32;
            of_block[slot] |= narrow;
        }
        let accesses = accesses.into_iter().map(|(pc, _)| pc).collect();
        let shift = LANE_BITS + bits;
        Intervals {
            rows: vec![Row::Many],
            blocks: HashMap::new(),
            sets: HashMap::new(),
            ordered: cell::Cell::new((0, 0)),
            exact,
            most: MOST_ROWS.min((u32::MAX >> shift) as usize - 1),
            full: false,
            ended: None,
            accesses,
            slots,
            of_block,
            shift,
        }
    }

    /// One more row; None: there is no room, and nothing is noted from now on.
    fn push(&mut self, row: Row) -> Option<u32> {
        if self.rows.len() >= self.most {
            self.full = true;
            return None;
        }
        self.rows.push(row);
        Some(self.rows.len() as u32 - 1)
    }

    /// A new interval of a warp; None: there are too many.
    pub fn begin(&mut self, block: u32, warp: u32, epoch: u32, warp_epoch: u32, time: u32) -> Option<u32> {
        self.push(Row::Warp { block, warp, epoch, warp_epoch, time })
    }

    /// Whether all that was noted no longer grows.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Notes the first access that is not followed.
    pub fn end_at(&mut self, pc: u32, thread: Thread) {
        self.ended.get_or_insert((pc, thread));
    }

    /// Where races were looked for no longer, and after how many intervals.
    pub fn ended(&self) -> Option<(u32, Thread, u64)> {
        self.ended.map(|(pc, thread)| (pc, thread, self.most as u64))
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
            Row::Set { .. } => self.ordered.get() == (before, who.interval) || self.is_set_ordered(before, who),
        }
    }

    fn is_set_ordered(&self, set: u32, who: &Who) -> bool {
        let mut row = set;
        while let Some(&Row::Set { before, interval }) = self.rows.get(row as usize) {
            if !self.is_ordered(interval, None, who) {
                return false;
            }
            row = before;
        }
        let all = self.is_ordered(row, None, who);
        // What a warp knows grows: it stays so for its interval.
        if all {
            self.ordered.set((set, who.interval));
        }
        all
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
        // The caller again and again for what others set does no harm to them.
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
        match self.rows.get(index as usize) {
            Some(Row::Warp { warp: w, .. }) if *w == warp && self.is_ordered(index, None, who) => mine,
            Some(Row::Warp { block: b, epoch: e, .. } | Row::Block { block: b, epoch: e })
                if *b == block && *e != epoch =>
            {
                mine
            }
            Some(Row::Warp { .. } | Row::Set { .. }) if self.exact => match self.with_one_more(index, who.interval) {
                Some(Joined::Row(row)) if row == index => old,
                Some(Joined::Row(row)) => self.joined_tag(row, old, who),
                Some(Joined::Alone(false)) => mine,
                Some(Joined::Alone(true)) => mine | ANYBODYS << 1 | 1,
                None => old,
            },
            Some(Row::Block { block: b, epoch: e }) if *b == block && *e == epoch => old,
            Some(Row::Warp { block: b, .. } | Row::Block { block: b, .. }) if *b == block => {
                let row = match self.blocks.get(&(block, epoch)) {
                    Some(&row) => row,
                    None => {
                        let Some(row) = self.push(Row::Block { block, epoch }) else { return old };
                        self.blocks.insert((block, epoch), row);
                        row
                    }
                };
                self.joined_tag(row, old, who)
            }
            _ => self.joined_tag(0, old, who),
        }
    }

    /// The intervals of a row and one more, the latest one. Words that the same warps read in the
    /// same order share their sets, and of a warp, or a block at its barriers, stays what came
    /// last: whoever comes after that comes after the rest. None: there is no room.
    fn with_one_more(&mut self, index: u32, interval: u32) -> Option<Joined> {
        if let Some(&known) = self.sets.get(&(index, interval)) {
            return Some(known);
        }
        let Some(&Row::Warp { block, warp, epoch, warp_epoch, .. }) = self.rows.get(interval as usize) else {
            return None;
        };
        let (mut list, mut row) = (Vec::new(), index);
        while let Some(&Row::Set { before, interval }) = self.rows.get(row as usize) {
            list.push(interval);
            row = before;
        }
        list.push(row);
        let joined = match list.contains(&interval) {
            true => Joined::Row(index),
            false => {
                let (count, mut lanes) = (list.len(), false);
                list.retain(|&one| match self.rows.get(one as usize) {
                    Some(&Row::Warp { block: b, warp: w, epoch: e, warp_epoch: we, .. }) => {
                        lanes |= w == warp && (e, we) == (epoch, warp_epoch);
                        w != warp && (b != block || e == epoch)
                    }
                    _ => true,
                });
                let mut rest = list.pop();
                if list.len() + 1 == count {
                    // Nothing goes: the new set is on the old one.
                    rest = Some(index);
                    list.clear();
                }
                match rest {
                    None => Joined::Alone(lanes),
                    Some(mut row) => {
                        list.reverse();
                        list.push(interval);
                        for one in list {
                            row = match self.sets.get(&(row, one)) {
                                Some(&Joined::Row(known)) => known,
                                _ => {
                                    let set = self.push(Row::Set { before: row, interval: one })?;
                                    self.sets.insert((row, one), Joined::Row(set));
                                    set
                                }
                            };
                        }
                        Joined::Row(row)
                    }
                }
            }
        };
        // What is forgotten here is only found again.
        if self.sets.len() > self.most {
            self.sets.clear();
        }
        self.sets.insert((index, interval), joined);
        Some(joined)
    }

    /// The readers `old` and one more lane of the warp: of the instructions stays that of which
    /// more is known.
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

    /// What is known of readers, to a thread that is none of the others: the instruction may be
    /// that thread's own.
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

    /// Notes reads of all lanes, each of `W` words, which lie side by side, if none races and
    /// nobody else has read there since the words were ordered last. `who` is the first lane.
    /// Whether they are noted; else nothing has changed.
    #[inline(always)]
    pub fn read_row<const W: usize>(&self, cells: &mut [Cell], who: &Who) -> bool {
        let Some(cells) = cells.get_mut(..LANES * W) else { return false };
        let reader = self.past(cells, |cell| cell.reader, who, true);
        let alone = self.are_past::<W>(cells, who, reader);
        if alone {
            let first = self.tag(who.interval, who.slot, 0, false);
            for (n, tag) in tags_mut(cells).as_flattened_mut().iter_mut().enumerate() {
                *tag = if n % 2 == 0 { *tag } else { first | ((n / 2 / W) as u32) << 1 };
            }
        }
        alone
    }

    /// The same of writes: all accesses before came before them.
    #[inline(always)]
    pub fn write_row<const W: usize>(&self, cells: &mut [Cell], who: &Who) -> bool {
        let Some(cells) = cells.get_mut(..LANES * W) else { return false };
        let reader = self.past(cells, |cell| cell.reader, who, false);
        let alone = self.are_past::<W>(cells, who, reader);
        if alone {
            let first = self.tag(who.interval, who.slot, 0, false);
            for (n, tag) in tags_mut(cells).as_flattened_mut().iter_mut().enumerate() {
                *tag = if n % 2 == 0 { first | ((n / 2 / W) as u32) << 1 } else { 0 };
            }
        }
        alone
    }

    /// Whether each word has no other thread's tags but of rows that came before: of one of
    /// writers, and one of readers, given by the upper bits of its tags.
    #[inline(always)]
    fn are_past<const W: usize>(&self, cells: &[Cell], who: &Who, reader: u32) -> bool {
        let writer = self.past(cells, |cell| cell.writer, who, false);
        let first = self.tag(who.interval, who.slot, 0, false);
        let (bits, row_bits) = (self.thread_bits(), u32::MAX << self.shift);
        let mut foreign = 0;
        for (n, &tag) in tags(cells).as_flattened().iter().enumerate() {
            let mine = first | ((n / 2 / W) as u32) << 1;
            let (bits, before) = if n % 2 == 0 { (bits, writer) } else { (bits | 1, reader) };
            // The least is 0 where one of them is: without a branch, so that several go at once.
            foreign |= tag.min((tag ^ mine) & bits).min((tag ^ before) & row_bits);
        }
        foreign == 0
    }

    /// The upper bits of the tags of the row that the first cell names, if all of it came before an
    /// access; else those of no tag. `alone`: of readers, the new one represents them.
    #[inline(always)]
    fn past(&self, cells: &[Cell], of: impl Fn(&Cell) -> u32, who: &Who, alone: bool) -> u32 {
        let tag = cells.first().map_or(0, of);
        match tag >> self.shift {
            0 => u32::MAX,
            row if row - 1 == who.interval => u32::MAX,
            row if self.is_past(row - 1, who, alone) => row << self.shift,
            _ => u32::MAX,
        }
    }

    #[inline(never)]
    fn is_past(&self, row: u32, who: &Who, alone: bool) -> bool {
        let Some(&Row::Warp { block, warp, epoch, .. }) = self.rows.get(who.interval as usize) else { return false };
        match self.rows.get(row as usize) {
            // As `joined` has it.
            Some(Row::Warp { block: b, epoch: e, .. } | Row::Block { block: b, epoch: e })
                if *b == block && *e != epoch =>
            {
                true
            }
            Some(Row::Warp { warp: w, .. }) if alone => *w == warp && self.is_ordered(row, None, who),
            _ => !alone && self.is_ordered(row, None, who),
        }
    }

    /// Notes a write; the access that it races with. `changes`: it leaves another value than it
    /// found.
    #[inline(always)]
    pub fn write(&mut self, cell: &mut Cell, who: &Who, changes: bool) -> Option<Before> {
        let mine = self.tag(who.interval, who.slot, who.lane, who.strong);
        let is_mine = |tag: u32| tag == 0 || (tag ^ mine) & self.thread_bits() == 0;
        let alone = is_mine(cell.writer) && is_mine(cell.reader) && cell.reader & 1 == 0;
        // Whoever writes what is there already shows no order.
        let race = if alone || !changes { None } else { self.write_after(*cell, who) };
        // What a thread wrote plainly stays so while nothing orders others after it, whatever it
        // does to it atomically then.
        let is_hidden = who.strong && cell.writer & 1 == 0 && cell.writer != 0 && is_mine(cell.writer);
        *cell = Cell { writer: if is_hidden { cell.writer } else { mine }, reader: 0 };
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
    words: Store<Cell>,
    parts: HashMap<usize, [Cell; 4]>,
}

impl History {
    pub fn new(bytes: usize) -> History {
        History { words: Store::zeroed(bytes.div_ceil(4)), parts: HashMap::new() }
    }

    /// The cells of whole words.
    #[inline(always)]
    pub fn row(&mut self, at: usize, bytes: usize) -> Option<&mut [Cell]> {
        let whole = self.parts.is_empty() && at.is_multiple_of(4) && bytes.is_multiple_of(4);
        self.words.get_mut(at / 4..(at + bytes) / 4).filter(|_| whole)
    }

    /// Nobody has accessed these words yet.
    pub fn forget(&mut self, at: usize, bytes: usize) {
        let words = at / 4..(at + bytes).div_ceil(4);
        self.parts.retain(|word, _| !words.contains(word));
        if let Some(cells) = self.words.get_mut(words) {
            cells.fill(Cell::default());
        }
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

    fn intervals(accesses: u32, expected: u64) -> Intervals {
        Intervals::new(accesses as usize, (0..accesses).map(|pc| (pc, false)).collect(), true, expected)
    }

    fn who(interval: u32, known: &Clock) -> Who<'_> {
        Who { interval, lane: 0, slot: 0, strong: false, of_block: false, known }
    }

    /// Tables that all warps read take as many sets as there are warps, not as there are words.
    #[test]
    fn words_with_the_same_readers_share_them() {
        let (mut all, nothing) = (intervals(4, 2000), Clock::default());
        let mut cells = vec![Cell::default(); 300];
        for warp in 0..2000 {
            // Each reads twice, and some read for several rounds.
            for time in 0..1 + warp % 3 {
                let interval = all.begin(warp, warp, 0, 0, time).expect("room");
                for _ in 0..2 {
                    cells.iter_mut().for_each(|cell| assert_eq!(all.read(cell, &who(interval, &nothing)), None));
                }
            }
        }
        assert!(all.rows.len() < 4 * 2000 * 3, "{}", all.rows.len());
        // A warp that knows of all but one of them races with that one.
        let mut known: HashMap<u32, u32> = (0..2000).map(|warp| (warp, 3)).collect();
        let last = all.begin(5000, 5000, 0, 0, 0).expect("room");
        let clock = Rc::new(known.clone());
        assert_eq!(all.write(&mut cells[0], &who(last, &clock), true), None);
        // Of warp 17, with rounds 0 to 2, the last one counts.
        known.insert(17, 2);
        let last = all.begin(5001, 5001, 0, 0, 0).expect("room");
        let clock = Rc::new(known);
        let found = all.write(&mut cells[1], &who(last, &clock), true);
        assert!(found.is_some_and(|before| !before.writes), "{found:?}");
    }

    /// A thread that reads what its warp and another read before a barrier is alone since then.
    #[test]
    fn readers_before_a_barrier_are_ordered() {
        for (epoch, races) in [(1, false), (0, true)] {
            let (mut all, nothing, mut cell) = (intervals(4, 4), Clock::default(), Cell::default());
            for warp in 0..2 {
                let before = all.begin(0, warp, 0, 0, 0).expect("room");
                all.read(&mut cell, &Who { lane: 3, ..who(before, &nothing) });
            }
            let after = all.begin(0, 0, epoch, 0, 1).expect("room");
            all.read(&mut cell, &who(after, &nothing));
            assert_eq!(all.write(&mut cell, &who(after, &nothing), true).is_some(), races, "{epoch}");
        }
    }

    /// Beyond what tags can number nothing is noted, instead of noting it for others.
    #[test]
    fn readers_beyond_the_limit_end_the_check() {
        let (mut all, nothing) = (intervals(1024, 1), Clock::default());
        let most = all.most;
        assert_eq!(most, (1 << 16) - 2);
        let mine: Vec<u32> = (0..most as u32 - 1).map(|warp| all.begin(warp, warp, 0, 0, 0).expect("room")).collect();
        assert_eq!((all.rows.len(), all.is_full()), (most, false));
        let mut cells = vec![Cell::default(); 3000];
        for (n, cell) in cells.iter_mut().enumerate() {
            // Another pair of readers for each word.
            all.read(cell, &who(mine[2 * n], &nothing));
            all.read(cell, &who(mine[2 * n + 1], &nothing));
        }
        assert!(all.is_full() && all.rows.len() == most, "{}", all.rows.len());
        // The tags still tell of their own intervals.
        cells.iter().enumerate().for_each(|(n, cell)| assert_eq!(all.row(cell.reader), mine[2 * n]));
        all.end_at(7, Thread { block: [0; 3], thread: [1, 0, 0] });
        assert_eq!(all.ended().map(|(pc, _, many)| (pc, many)), Some((7, most as u64)));
    }

    /// Many warps leave room for their intervals; atomics of blocks keep numbers of their own.
    #[test]
    fn large_launches_number_fewer_instructions() {
        assert_eq!(intervals(1024, 1 << 20).shift, LANE_BITS + 5);
        assert_eq!(intervals(16, 1 << 20).shift, LANE_BITS + 4);
        assert_eq!(intervals(1024, u64::MAX).shift, LANE_BITS + 1);
        let narrow = |n| n % 3 == 0;
        let all = Intervals::new(1024, (0..1024).map(|pc| (pc, narrow(pc))).collect(), true, 1 << 20);
        (0..1024).for_each(|pc| assert_eq!(all.of_block[all.slot(pc) as usize], narrow(pc), "{pc}"));
    }
}
