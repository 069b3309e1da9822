//! Which accesses are ordered by nothing? Each word of memory knows its last writer and its readers since, as numbers of
//! intervals: what a warp does between two synchronisations. A table tells of each interval its block, warp and the epochs of
//! their barriers. Blocks are never ordered by barriers; what fences and atomics order is in clocks of the warps, which are
//! looked at only where two accesses conflict.

use std::collections::HashMap;
use std::rc::Rc;

/// For warps of the launch the time up to which what they did is known.
pub type Clock = Rc<HashMap<u32, u32>>;

/// A word's history. Tags are 0 for nobody, or (interval + 1) << 6 | lane << 1 | flag.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cell {
    /// Flag: others see it as atomic.
    writer: u32,
    writer_pc: u32,
    /// Flag: several lanes.
    reader: u32,
    reader_pc: u32,
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
    pub pc: u32,
    pub strong: bool,
    pub known: &'a Clock,
}

/// The other side of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Before {
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
}

/// With more intervals the history of words is not kept on.
const MOST_ROWS: usize = (1 << 26) - 2;

fn tag(interval: u32, lane: u32, flag: bool) -> u32 {
    (interval + 1) << 6 | lane << 1 | u32::from(flag)
}

impl Intervals {
    /// `exact`: memory can order threads of different blocks.
    pub fn new(exact: bool) -> Intervals {
        Intervals { rows: vec![Row::Many], blocks: HashMap::new(), exact }
    }

    /// A new interval of a warp; None: there are too many.
    pub fn begin(&mut self, block: u32, warp: u32, epoch: u32, warp_epoch: u32, time: u32) -> Option<u32> {
        if self.rows.len() >= MOST_ROWS {
            return None;
        }
        self.rows.push(Row::Warp { block, warp, epoch, warp_epoch, time });
        Some(self.rows.len() as u32 - 1)
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

    fn before(&self, tag: u32, pc: u32, writes: bool) -> Before {
        let thread = match self.rows.get((tag >> 6) as usize - 1) {
            Some(&Row::Warp { block, warp, .. }) => Some((block, warp, tag >> 1 & 31)),
            _ => None,
        };
        Before { pc, writes, thread }
    }

    fn conflict(&self, tag: u32, one_thread: bool, who: &Who) -> bool {
        tag != 0 && !self.is_ordered((tag >> 6) - 1, one_thread.then_some(tag >> 1 & 31), who)
    }

    /// Notes a read; the write that it races with.
    #[inline]
    pub fn read(&mut self, cell: &mut Cell, who: &Who) -> Option<Before> {
        let mine = tag(who.interval, who.lane, false);
        let race = (cell.writer >> 1 != mine >> 1
            && !(who.strong && cell.writer & 1 == 1)
            && self.conflict(cell.writer, true, who))
        .then(|| self.before(cell.writer, cell.writer_pc, true));
        // Who asks again and again for what others set does no harm to them.
        if !who.strong && cell.reader != mine {
            cell.reader = self.joined(cell.reader, mine, who);
            cell.reader_pc = who.pc;
        }
        race
    }

    /// The readers `old` and one more.
    fn joined(&mut self, old: u32, mine: u32, who: &Who) -> u32 {
        if old == 0 {
            return mine;
        }
        let index = (old >> 6) - 1;
        if index == who.interval {
            return mine | 1;
        }
        let Some(&Row::Warp { block, warp, epoch, .. }) = self.rows.get(who.interval as usize) else { return mine };
        if let Some(Row::List(list)) = self.rows.get_mut(index as usize) {
            if !list.contains(&who.interval) {
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
                tag(self.rows.len() as u32 - 1, 0, true)
            }
            Some(Row::Warp { block: b, .. } | Row::Block { block: b, .. }) if *b == block => {
                let rows = &mut self.rows;
                let row = *self.blocks.entry((block, epoch)).or_insert_with(|| {
                    rows.push(Row::Block { block, epoch });
                    rows.len() as u32 - 1
                });
                tag(row, 0, true)
            }
            _ => tag(0, 0, true),
        }
    }

    /// Notes a write; the access that it races with. `changes`: it leaves another value than it found.
    #[inline]
    pub fn write(&mut self, cell: &mut Cell, who: &Who, changes: bool) -> Option<Before> {
        let mine = tag(who.interval, who.lane, who.strong);
        let mut race = None;
        // Whoever writes what is there already shows no order.
        if changes {
            if cell.reader != 0 && self.conflict(cell.reader, cell.reader & 1 == 0, who) {
                race = Some(self.before(cell.reader, cell.reader_pc, false));
            }
            let both_strong = who.strong && cell.writer & 1 == 1;
            if !both_strong && self.conflict(cell.writer, true, who) {
                race = Some(self.before(cell.writer, cell.writer_pc, true));
            }
        }
        *cell = Cell { writer: mine, writer_pc: who.pc, reader: 0, reader_pc: 0 };
        race
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
    #[inline]
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
