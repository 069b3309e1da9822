//! What do mbarrier objects in shared memory do? A phase is over when all threads that it waits for
//! have arrived and all bytes that it expects have come (PTX ISA, "mbarrier"). The 64 bits of an
//! object are opaque to programs; kc's hold, from below: the parity of the phase (1 bit), the
//! threads of a phase (20), those that are missing (20), the bytes that are missing (21, with a
//! sign), and a mark of two bits that memory without an object does not have by chance.

use super::cluster::Shared;
use super::code::{Mbarrier, OnMbarrier, Order};
use super::findings::{Thread, What};
use super::machine::{Machine, lanes, put_mask};
use super::warp::{Split, Warp};
use crate::ptx::Space;

/// The state of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    parity: bool,
    threads: u64,
    missing: u64,
    bytes: i64,
}

const COUNT_BITS: u32 = 20;
const MOST_THREADS: u64 = (1 << COUNT_BITS) - 1;
const BYTE_BITS: u32 = 21;
/// The most bytes that a phase may expect (PTX ISA, "tx-count").
const MOST_BYTES: i64 = (1 << (BYTE_BITS - 1)) - 1;
const MARK: u64 = 0b10;
/// What [`OnMbarrier::Invalidate`] leaves.
const NOTHING: u64 = 0;

impl State {
    fn read(word: u64) -> Option<State> {
        let field = |at: u32, bits: u32| word >> at & ((1 << bits) - 1);
        (word >> 62 == MARK).then(|| State {
            parity: word & 1 == 1,
            threads: field(1, COUNT_BITS),
            missing: field(21, COUNT_BITS),
            bytes: (field(41, BYTE_BITS) << (64 - BYTE_BITS)) as i64 >> (64 - BYTE_BITS),
        })
    }

    fn word(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTE_BITS) - 1);
        u64::from(self.parity) | self.threads << 1 | self.missing << 21 | bytes << 41 | MARK << 62
    }

    /// The next phase, if this one is over.
    fn went_on(mut self) -> State {
        if self.missing == 0 && self.bytes == 0 {
            self.parity = !self.parity;
            self.missing = self.threads;
        }
        self
    }

    fn arrived(mut self, count: u64, expected: i64, drops: bool) -> Result<State, String> {
        self.bytes += expected;
        if count > self.missing {
            let missing = self.missing;
            return Err(format!("{count} threads arrive at an mbarrier object that waits for {missing}"));
        }
        self.missing -= count;
        if drops {
            self.threads -= count.min(self.threads);
        }
        self.fits().map(State::went_on)
    }

    /// So many bytes are missing less.
    fn completed(mut self, bytes: i64) -> Result<State, String> {
        self.bytes -= bytes;
        self.fits().map(State::went_on)
    }

    fn fits(self) -> Result<State, String> {
        match () {
            _ if self.bytes.abs() > MOST_BYTES => {
                Err(format!("an mbarrier object expects {} bytes; {MOST_BYTES} are the most", self.bytes))
            }
            _ if self.missing > MOST_THREADS => {
                Err(format!("an mbarrier object waits for {} threads; {MOST_THREADS} are the most", self.missing))
            }
            _ => Ok(self),
        }
    }
}

/// What an access with the wrong object is told.
const NONE: &str = "there is no mbarrier object: `mbarrier.init` makes one";

impl Machine<'_> {
    /// One instruction on objects; whether others have to go on first.
    pub fn mbarrier(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        split: &mut Split,
        m: &Mbarrier,
        pc: u32,
        active: u32,
    ) -> bool {
        if let OnMbarrier::Pending { d, state } = m.does {
            for lane in lanes(active) {
                let state = State::read(warp.regs[state as usize][lane]);
                warp.regs[d as usize][lane] = state.map_or(0, |state| state.missing);
            }
            return false;
        }
        let places = super::access::addresses(warp, m.base, m.offset);
        let (mut yes, mut polls) = (0, false);
        for lane in lanes(active) {
            let at = match m.space {
                Space::Generic => super::windows::resolve(places[lane]),
                space => (space, places[lane]),
            };
            if at.0 != Space::Shared {
                let why = "an mbarrier object lies in shared memory, and this address does not".to_string();
                self.findings.add(What::Mbarrier(why), pc, warp.thread(lane as u32));
                continue;
            }
            let value = |reg: u32| warp.regs[reg as usize][lane];
            match m.does {
                OnMbarrier::Init { count } => {
                    let threads = value(count) as u32 as u64;
                    if threads == 0 || threads > MOST_THREADS {
                        let why = format!("an mbarrier object for {threads} threads; it waits for 1 to {MOST_THREADS}");
                        self.findings.add(What::Mbarrier(why), pc, warp.thread(lane as u32));
                        continue;
                    }
                    let state = State { parity: false, threads, missing: threads, bytes: 0 };
                    self.swap(shared, warp, at, 8, lane, pc, Order::Strong, false, |_| state.word());
                }
                OnMbarrier::Invalidate => {
                    self.swap(shared, warp, at, 8, lane, pc, Order::Strong, true, |_| NOTHING);
                }
                OnMbarrier::Arrive { d, count, expected, drops } => {
                    let (count, expected) = (value(count) as u32, expected.map_or(0, |reg| value(reg) as u32));
                    let arrives = |state: State| state.arrived(count.into(), expected.into(), drops);
                    let old = self.change(shared, warp, at, lane, pc, m.order, arrives);
                    if let (Some(d), Some(old)) = (d, old) {
                        warp.regs[d as usize][lane] = old;
                    }
                }
                OnMbarrier::Expect { bytes } => {
                    let bytes = value(bytes) as u32;
                    let expects = |state: State| state.arrived(0, bytes.into(), false);
                    self.change(shared, warp, at, lane, pc, m.order, expects);
                }
                OnMbarrier::Complete { bytes } => {
                    let bytes = value(bytes) as u32;
                    self.change(shared, warp, at, lane, pc, m.order, |state| state.completed(bytes.into()));
                }
                OnMbarrier::AfterCopies { counted } => {
                    self.wait_for_copies(shared, warp, None, 1 << lane);
                    let arrives = |mut state: State| {
                        state.missing += u64::from(!counted);
                        state.arrived(1, 0, false)
                    };
                    self.change(shared, warp, at, lane, pc, Order::Release, arrives);
                }
                OnMbarrier::Test { phase, waits, .. } => {
                    // A state, of which the lowest bit is the parity of its phase, or a parity.
                    let phase = value(phase);
                    if let Some(place) = shared.place(warp.rank, at.1, 8, false) {
                        self.bulk_arrives(shared, place, pc, warp.thread(lane as u32));
                    }
                    let Some(now) = self.change(shared, warp, at, lane, pc, m.order, Ok) else { continue };
                    let over = (now ^ phase) & 1 == 1;
                    yes |= u32::from(over) << lane;
                    polls |= waits && !over;
                }
                OnMbarrier::Pending { .. } => {}
            }
        }
        if let OnMbarrier::Test { p, .. } = m.does {
            put_mask(&mut warp.preds[p as usize], yes, active);
            split.polls += u32::from(yes != active);
        } else {
            split.polls = 0;
        }
        polls
    }

    /// Changes the object at a place; its word before.
    fn change(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        at: (Space, u64),
        lane: usize,
        pc: u32,
        order: Order,
        f: impl FnOnce(State) -> Result<State, String>,
    ) -> Option<u64> {
        let mut wrong = None;
        let old = self.swap(shared, warp, at, 8, lane, pc, order, true, |word| {
            let new = State::read(word).ok_or_else(|| NONE.to_string()).and_then(f);
            new.map_or_else(
                |why| {
                    wrong = Some(why);
                    word
                },
                State::word,
            )
        })?;
        if let Some(why) = wrong {
            self.findings.add(What::Mbarrier(why), pc, warp.thread(lane as u32));
            return None;
        }
        Some(old)
    }

    /// Bytes of a copy have come, which the object at a place of shared memory is told of.
    pub fn bytes_came(&mut self, shared: &mut Shared, place: usize, bytes: u64, pc: u32, thread: Thread) {
        let word = shared.bytes.get(place..place + 8).map(|_| super::memory::read(&shared.bytes, place, 8));
        let state = word.and_then(State::read).ok_or_else(|| NONE.to_string());
        match state.and_then(|state| state.completed(bytes as i64)) {
            Ok(state) => super::memory::write(&mut shared.bytes, place, 8, state.word()),
            Err(why) => self.findings.add(What::Mbarrier(why), pc, thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_end_when_threads_and_bytes_are_there() {
        let new = State { parity: false, threads: 2, missing: 2, bytes: 0 };
        assert_eq!(State::read(new.word()), Some(new));
        let one = new.arrived(1, 96, false).expect("one of two");
        assert_eq!(State::read(one.word()), Some(State { missing: 1, bytes: 96, ..new }));
        // Bytes may come before they are expected.
        let early = one.completed(128).expect("more bytes than expected so far");
        assert_eq!(State::read(early.word()).map(|state| state.bytes), Some(-32));
        let both = early.arrived(1, 0, false).expect("two of two");
        assert!(!both.parity, "32 bytes are too many");
        let over = both.arrived(0, 32, false).expect("the rest is expected");
        assert_eq!(over, State { parity: true, threads: 2, missing: 2, bytes: 0 });
        // The next phase waits for one thread less.
        let dropped = over.arrived(1, 0, true).expect("it leaves");
        assert_eq!(dropped.arrived(1, 0, false), Ok(State { parity: false, threads: 1, missing: 1, bytes: 0 }));
    }

    #[test]
    fn what_cannot_be_is_told() {
        assert_eq!(State::read(0), None);
        let new = State { parity: true, threads: 1, missing: 1, bytes: 0 };
        assert!(new.arrived(2, 0, false).is_err());
        assert!(new.arrived(0, MOST_BYTES + 1, false).is_err());
        assert!(new.completed(MOST_BYTES + 1).is_err());
    }
}
