//! Why does a kernel run thread by thread?

use std::fmt;

/// What is against lanes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Refused {
    /// It would grow too large with its calls inlined.
    Inlining,
    /// A call is left, or a loop has several exits.
    Exits,
    /// The order of the threads may show: an array is stored to, and several threads may use one
    /// element of it.
    Order,
    /// Local arrays are too large to have one for each lane, or are not of numbers.
    LocalArrays,
    /// A thread runs a block, and the loops over its tiles are the wide ones.
    Tiles,
    Print,
    /// Threads use different arrays, or different views of one.
    ArrayOfThread,
    /// A component of an element is picked at run time.
    Component,
    /// It has so many instructions.
    Size(usize),
    /// So many lanes do not pay.
    Cost {
        lanes: u32,
        gain: f64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Inlining => f.write_str("it is too large with its calls inlined"),
            Refused::Exits => f.write_str("a call is left, or a loop has several exits"),
            Refused::Order => f.write_str("several threads may use one element of an array that is stored to"),
            Refused::LocalArrays => f.write_str("the local arrays of all lanes do not fit"),
            Refused::Tiles => f.write_str("a thread runs a block with its tiles"),
            Refused::Print => f.write_str("it prints"),
            Refused::ArrayOfThread => f.write_str("threads use different arrays or views"),
            Refused::Component => f.write_str("a component of an element is picked at run time"),
            Refused::Size(insts) => write!(f, "it has {insts} instructions"),
            Refused::Cost { lanes, gain } => write!(f, "{lanes} lanes would gain a factor of {gain:.1} at most"),
        }
    }
}
