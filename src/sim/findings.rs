//! What is wrong with a launch? Findings name instructions, threads and addresses; who shows them
//! knows sources and arrays.

use std::collections::HashMap;

use crate::ptx::Space;

/// A thread by its block and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

/// What a thread touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
    pub writes: bool,
}

/// Another access to the same place. The thread is not known where several threads did the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Other {
    pub pc: u32,
    pub writes: bool,
    pub thread: Option<Thread>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum What {
    Outside(Touched),
    Misaligned(Touched),
    ReadOnly(Touched),
    Uninitialised(Touched),
    Race(Touched, Other),
    /// Threads of one warp of which only some are at a barrier: these.
    DivergentBarrier(u32),
    /// So many threads wait at a barrier for others that never come.
    EndlessBarrier {
        waiting: u32,
        expected: u32,
    },
    /// The barrier's number, or its count of threads, cannot be.
    BadBarrier(u64),
    /// Lanes that an exchange names and that are elsewhere, and whether they have left the kernel.
    MissingLanes {
        missing: u32,
        left: bool,
    },
    /// A lane takes part that the exchange does not name.
    Unnamed(u32),
    /// What is wrong at the barrier of a cluster.
    Cluster(String),
    /// Shared memory of the cluster's block of this rank, which has ended, or may not have begun.
    Ended(Touched, u32),
    NotBegun(Touched, u32),
    /// What is wrong with an mbarrier object.
    Mbarrier(String),
    /// What is wrong with a copy in bulk.
    BadBulk(String),
    /// What is wrong with a texture or a surface, or with a place in it.
    BadImage(String),
    /// A call to an address where no function of the module begins that takes what is given.
    NoFunction(u64),
    /// Memory that is given back where no kernel has allocated any, or not since.
    NotAllocated(u64),
    /// What the simulator does not know shows only now.
    Unknown(String),
    Assert(String),
    /// A gradient that is near-degenerate, for the reason given.
    Degenerate(String),
    /// A gradient that would be near-degenerate for an adjoint that is not 0: nothing to tell of by
    /// itself.
    Visit,
    /// An index of one of `count` components of what is called `name` that is none of them.
    NoComponent {
        name: String,
        index: i64,
        count: u32,
    },
    /// An index outside of what is called `name`, a tile or a local array.
    NoElement {
        name: String,
        dim: u32,
        index: i64,
        extent: u32,
    },
    Trap,
    Endless,
    /// So many intervals between synchronisations have been followed: races after them are not
    /// found.
    RacesEnd(u64),
}

impl What {
    /// Whether the launch ends with it.
    pub fn is_fatal(&self) -> bool {
        !matches!(
            self,
            What::Uninitialised(_)
                | What::Race(..)
                | What::NotBegun(..)
                | What::Assert(_)
                | What::NoComponent { .. }
                | What::NoElement { .. }
                | What::Degenerate(_)
                | What::Visit
                | What::RacesEnd(_)
        )
    }
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub what: What,
    pub pc: u32,
    pub thread: Thread,
    /// How often it was met.
    pub times: u64,
}

/// More different findings than this are only counted.
const MOST: usize = 64;

#[derive(Default, Debug)]
pub struct Findings {
    pub list: Vec<Finding>,
    known: HashMap<(std::mem::Discriminant<What>, u32, u32), usize>,
    /// Nothing runs on.
    pub stopped: bool,
}

impl Findings {
    pub fn add(&mut self, what: What, pc: u32, thread: Thread) {
        self.stopped |= what.is_fatal();
        let other = match &what {
            What::Race(_, other) => other.pc,
            _ => u32::MAX,
        };
        let key = (std::mem::discriminant(&what), pc, other);
        if let Some(&known) = self.known.get(&key) {
            self.list[known].times += 1;
        } else if self.list.len() < MOST || matches!(what, What::RacesEnd(_)) {
            self.known.insert(key, self.list.len());
            self.list.push(Finding { what, pc, thread, times: 1 });
        }
    }
}
