//! What do the threads of a warp tell each other?

/// A question to the other threads of the warp ([`Op::Exchange`](super::Op::Exchange)).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Exchange {
    pub ask: Ask,
    /// The threads of the block, which says who is in the last warp.
    pub threads: u32,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// The value of the thread of a number in the warp.
    Shuffle,
    /// That of the thread so many before this one; its own where there is none.
    Up,
    /// That of the thread so many behind this one; its own where there is none.
    Down,
    /// That of the thread whose number differs in the bits of a mask.
    Xor,
    /// The threads in which a condition holds, as bits.
    Ballot,
    /// The threads that have the same integer, as bits.
    Match,
}

impl Ask {
    pub const ALL: [Ask; 6] = [Ask::Shuffle, Ask::Up, Ask::Down, Ask::Xor, Ask::Ballot, Ask::Match];

    /// The word in IR text.
    pub fn name(self) -> &'static str {
        match self {
            Ask::Shuffle => "shuffle",
            Ask::Up => "up",
            Ask::Down => "down",
            Ask::Xor => "xor",
            Ask::Ballot => "ballot",
            Ask::Match => "match",
        }
    }

    /// Whether it gives the value of one thread.
    pub fn shuffles(self) -> bool {
        !matches!(self, Ask::Ballot | Ask::Match)
    }
}

impl Exchange {
    /// The threads of a warp (CUDA C++ Programming Guide, "Hardware Implementation").
    pub const WARP: u32 = 32;

    /// The first thread of the last warp and the threads of that warp as bits, where it is no whole
    /// one.
    pub fn part(self) -> Option<(u32, u32)> {
        let rest = self.threads % Self::WARP;
        (rest > 0).then(|| (self.threads - rest, (1 << rest) - 1))
    }
}
