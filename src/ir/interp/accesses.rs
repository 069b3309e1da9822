//! Which threads come to each element, and does their order show? Finds two accesses whose order
//! decides what a launch leaves.
//!
//! Each scalar in memory has a short list of the accesses that matter to later ones. Threads of the
//! interpreter run one after the other, but what is found holds for any order, since it is a pair
//! of accesses of two threads:
//!
//! | earlier, later | the order shows |
//! |---|---|
//! | reads | no |
//! | a read and a plain write, either way round | if the write changed the content, or the content is another one than the read found; not if the reader has written it itself, and all have written the same |
//! | two plain writes | if the second changed what the first left: two threads that store the same value agree |
//! | an atomic update and a plain access, either way round | yes |
//! | two atomic updates | if they are of different kinds; an exchange also if it changed the content and nothing reads the old one |
//!
//! That the old value of an atomic tells who came first is taken to be what the kernel is after.

use smallvec::SmallVec;

use crate::ids::{IdMap, IdSet};
use crate::ir::AtomicOp;
use crate::source::Span;

/// What a thread did to a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    Read,
    /// A plain write; `changed`: the content was another one before.
    Write {
        changed: bool,
    },
    Atomic(Update),
}

/// Atomic updates of one kind give the same in any order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    Sum,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// `ordered`: the old value is used, or the content was the same before.
    Exchange {
        ordered: bool,
    },
    Cas,
}

impl Update {
    fn new(op: AtomicOp, ordered: bool) -> Update {
        match op {
            AtomicOp::Add | AtomicOp::Sub => Update::Sum,
            AtomicOp::Min => Update::Min,
            AtomicOp::Max => Update::Max,
            AtomicOp::And => Update::And,
            AtomicOp::Or => Update::Or,
            AtomicOp::Xor => Update::Xor,
            AtomicOp::Exchange => Update::Exchange { ordered },
        }
    }

    fn commutes(self, later: Update) -> bool {
        match (self, later) {
            (Update::Exchange { .. }, Update::Exchange { ordered }) => ordered,
            (a, b) => a == b,
        }
    }
}

/// One access of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    /// Linear index.
    pub thread: u64,
    pub span: Span,
    pub kind: AccessKind,
    /// A read after which its thread changed the content: whoever writes now would have shown it
    /// another one.
    outdated: bool,
}

impl Visit {
    fn new(thread: u64, span: Span, kind: AccessKind) -> Visit {
        Visit { thread, span, kind, outdated: false }
    }

    /// Whether the order of two accesses to one scalar shows.
    fn clashes(&self, later: &Visit) -> bool {
        use AccessKind::{Atomic, Read, Write};
        self.thread != later.thread
            && match (self.kind, later.kind) {
                (Read, Read) => false,
                (Read, Write { changed }) => changed || self.outdated,
                (Write { changed }, Read) | (Write { .. }, Write { changed }) => changed,
                (Atomic(a), Atomic(b)) => !a.commutes(b),
                (Atomic(_), _) | (_, Atomic(_)) => true,
            }
    }
}

/// Two accesses whose order shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clash {
    pub address: u64,
    pub earlier: Visit,
    pub later: Visit,
}

/// The most scalars that are followed: some 500 MB while the table grows to its last size.
const MOST_SCALARS: usize = 3_600_000;

/// What came to a scalar.
#[derive(Debug, Default)]
struct Seen {
    visits: SmallVec<[Visit; 2]>,
    /// The thread that wrote to it last, by a plain write.
    writer: Option<u64>,
    /// Not all plain writes stored the same.
    mixed: bool,
}

/// What is watched, and what was seen.
#[derive(Debug, Default)]
pub struct Accesses {
    /// Address ranges, begin and end.
    watched: Vec<(u64, u64)>,
    /// Places whose accesses do not count.
    ignored: IdSet<Span>,
    /// Two threads that write to one scalar clash, whatever they write, and nothing else does.
    only_writes: bool,
    visits: IdMap<u64, Seen>,
    /// The first clash.
    pub clash: Option<Clash>,
}

impl Accesses {
    /// Watches these address ranges (begin and end), except for the accesses at the places
    /// `ignored`.
    pub fn new(mut watched: Vec<(u64, u64)>, ignored: IdSet<Span>) -> Accesses {
        watched.sort_unstable();
        Accesses { watched, ignored, ..Accesses::default() }
    }

    /// Watches all memory for two threads that write to one scalar.
    pub fn of_writes() -> Accesses {
        Accesses { watched: vec![(0, u64::MAX)], only_writes: true, ..Accesses::default() }
    }

    /// There is no room for more: later accesses are not looked at.
    pub fn is_full(&self) -> bool {
        self.visits.len() >= MOST_SCALARS
    }

    pub(super) fn read(&mut self, address: u64, thread: u64, span: Span) {
        if !self.only_writes {
            self.visit(address, Visit::new(thread, span, AccessKind::Read));
        }
    }

    pub(super) fn write(&mut self, address: u64, thread: u64, span: Span, changed: bool) {
        let changed = changed || self.only_writes;
        self.visit(address, Visit::new(thread, span, AccessKind::Write { changed }));
    }

    /// `ordered`: as in [`Update::Exchange`].
    pub(super) fn update(&mut self, address: u64, thread: u64, span: Span, op: Option<AtomicOp>, ordered: bool) {
        if !self.only_writes {
            let kind = op.map_or(Update::Cas, |op| Update::new(op, ordered));
            self.visit(address, Visit::new(thread, span, AccessKind::Atomic(kind)));
        }
    }

    fn visit(&mut self, address: u64, visit: Visit) {
        let at = self.watched.partition_point(|&(begin, _)| begin <= address);
        let inside = at.checked_sub(1).is_some_and(|n| address < self.watched[n].1);
        if !inside || self.clash.is_some() || self.ignored.contains(&visit.span) {
            return;
        }
        if self.is_full() {
            return;
        }
        let Seen { visits, writer, mixed } = self.visits.entry(address).or_default();
        let is_own = visit.kind == AccessKind::Read && *writer == Some(visit.thread) && !*mixed;
        let counts = |earlier: &Visit| !(is_own && matches!(earlier.kind, AccessKind::Write { .. }));
        if let Some(&earlier) = visits.iter().find(|earlier| earlier.clashes(&visit) && counts(earlier)) {
            self.clash = Some(Clash { address, earlier, later: visit });
            return;
        }
        if let AccessKind::Write { changed } = visit.kind {
            *mixed |= changed && writer.is_some();
            *writer = Some(visit.thread);
            // Reads of other threads have clashed.
            visits.iter_mut().for_each(|earlier| earlier.outdated |= changed && earlier.kind == AccessKind::Read);
        }
        // Two threads stand for all: whoever comes later differs from one of them.
        let alike = visits.iter().filter(|v| v.kind == visit.kind && v.outdated == visit.outdated);
        if alike.clone().count() < 2 && alike.clone().all(|v| v.thread != visit.thread) {
            visits.push(visit);
        }
    }
}
