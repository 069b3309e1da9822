//! Where are the 32 lanes of a warp? They go on together; where a branch parts them, one side waits
//! until the other has come to where both meet. Lanes that would wait for each other for ever part
//! for good, and go their ways in turns.

use std::collections::HashMap;
use std::rc::Rc;

use super::bulk::Stores;
use super::cluster::AtMeeting;
use super::code::{Code, NOWHERE};
use super::findings::Thread;
use super::races::Clock;
use super::tensor::Copies;
use super::value::{LANES, Lanes};
use super::wgmma::Products;

/// Lanes that are at one instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry {
    pub mask: u32,
    pub pc: u32,
    /// Where they wait for the others.
    pub meet: u32,
    /// The call that this began with; [`NOWHERE`]: none, it is a side of a branch.
    pub call: u32,
}

/// Marks what a kernel begins with.
pub const KERNEL: u32 = u32::MAX - 1;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum State {
    Ready,
    /// At the barrier of this number, at that of the cluster.
    Barrier(usize),
    Cluster,
    /// At an instruction where it needs lanes of another part of the warp.
    Meeting(u32),
}

/// Lanes of a warp that go their way together, the side that runs last.
#[derive(Clone, Debug)]
pub struct Split {
    pub mask: u32,
    pub stack: Vec<Entry>,
    pub state: State,
    /// How often it looked in vain for what others do.
    pub polls: u32,
}

pub struct Warp {
    /// In its block, and in the launch.
    pub number: u32,
    pub id: u32,
    pub block: [u32; 3],
    /// Of its block in the cluster.
    pub rank: u32,
    pub ntid: [u32; 3],
    /// The lanes that began: fewer than 32 where the block ends.
    pub begun: u32,
    /// The lanes that have not left.
    pub live: u32,
    pub regs: Vec<Lanes>,
    pub preds: Vec<u32>,
    pub carry: u32,
    pub splits: Vec<Split>,
    /// Bytes of each lane: local memory, and what calls hand over.
    pub local: Vec<u8>,
    pub local_set: Vec<u8>,
    pub handed: Vec<u8>,
    /// Synchronisations among its lanes, and all that begin an interval.
    pub epoch: u32,
    pub time: u32,
    pub interval: Option<u32>,
    pub known: Clock,
    /// What the last fence lets others know.
    pub released: Option<Clock>,
    pub steps: u64,
    /// Of each lane, where there are any.
    pub copies: Vec<Copies>,
    pub stores: Vec<Stores>,
    pub products: Products,
    pub meeting: AtMeeting,
}

/// What a register holds that nobody wrote.
const UNSET: u64 = 0x5a5a_5a5a_5a5a_5a5a;

impl Warp {
    pub fn new(code: &Code) -> Warp {
        let mut regs = vec![[UNSET; LANES]; code.regs as usize];
        for (reg, lanes) in &code.constants {
            regs[*reg as usize] = *lanes;
        }
        Warp {
            number: 0,
            id: 0,
            block: [0; 3],
            rank: 0,
            ntid: [1; 3],
            begun: 0,
            live: 0,
            regs,
            preds: vec![0; code.preds as usize],
            carry: 0,
            splits: Vec::new(),
            local: vec![0; code.local_bytes as usize * LANES],
            local_set: vec![0; code.local_bytes as usize * LANES],
            handed: vec![0; code.call_bytes as usize * LANES],
            epoch: 0,
            time: 0,
            interval: None,
            known: Rc::new(HashMap::new()),
            released: None,
            steps: 0,
            copies: Vec::new(),
            stores: Vec::new(),
            products: Products::default(),
            meeting: AtMeeting::default(),
        }
    }

    /// At the kernel's first instruction, with these lanes.
    pub fn begin(&mut self, live: u32) {
        (self.begun, self.live) = (live, live);
        self.preds.fill(0);
        self.copies.clear();
        self.stores.clear();
        self.products = Products::default();
        self.preds[0] = u32::MAX;
        let entry = Entry { mask: live, pc: 0, meet: NOWHERE, call: KERNEL };
        self.splits.clear();
        self.splits.push(Split { mask: live, stack: vec![entry], state: State::Ready, polls: 0 });
    }

    pub fn thread(&self, lane: u32) -> Thread {
        let n = self.number * LANES as u32 + lane;
        let [x, y, _] = self.ntid;
        Thread { block: self.block, thread: [n % x, n / x % y, n / (x * y)] }
    }

    pub fn is_done(&self) -> bool {
        self.splits.is_empty()
    }

    /// What it did before is known to who sees what it writes from now on.
    pub fn fenced(&mut self) {
        self.released = Some(self.clock());
    }

    /// What it knows, and what it did before; a new interval begins.
    pub fn clock(&mut self) -> Clock {
        self.synchronised();
        let mut clock = (*self.known).clone();
        clock.insert(self.id, self.time);
        Rc::new(clock)
    }

    /// Begins a new interval.
    pub fn synchronised(&mut self) {
        self.time += 1;
        self.interval = None;
    }
}

impl Split {
    pub fn top(&self) -> Option<&Entry> {
        self.stack.last()
    }

    /// Takes lanes out of the entries of the running function, or of all.
    pub fn remove(&mut self, lanes: u32, all: bool) -> u32 {
        let mut call = KERNEL;
        for entry in self.stack.iter_mut().rev() {
            entry.mask &= !lanes;
            if entry.call != NOWHERE {
                call = entry.call;
                if !all {
                    break;
                }
            }
        }
        if all || call == KERNEL {
            self.mask &= !lanes;
            call = KERNEL;
        }
        self.clean();
        call
    }

    /// Drops sides that nobody is on.
    pub fn clean(&mut self) {
        while self.stack.last().is_some_and(|entry| entry.mask == 0) {
            self.stack.pop();
        }
    }

    /// The lanes `mask` go their own way from now on.
    pub fn part(&mut self, mask: u32) -> Split {
        let mut other = self.clone();
        other.mask &= mask;
        self.mask &= !mask;
        for (mine, theirs) in self.stack.iter_mut().zip(&mut other.stack) {
            theirs.mask &= mask;
            mine.mask &= !mask;
        }
        self.clean();
        other.clean();
        other
    }

    /// Whether the other is at the same place, so that both can go on as one.
    pub fn fits(&self, other: &Split) -> bool {
        let same = |(a, b): (&Entry, &Entry)| (a.pc, a.meet, a.call) == (b.pc, b.meet, b.call);
        self.stack.len() == other.stack.len() && self.stack.iter().zip(&other.stack).all(same)
    }

    pub fn join(&mut self, other: &Split) {
        self.mask |= other.mask;
        for (mine, theirs) in self.stack.iter_mut().zip(&other.stack) {
            mine.mask |= theirs.mask;
        }
    }
}
