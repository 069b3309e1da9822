//! How many registers does ptxas give a thread, where it is there to be asked?

use crate::profile::{Registers, Text};
use crate::run::ptxas;

/// Of an entry on an architecture; a range without ptxas, or if it does not take the text.
pub(super) fn of(text: &Text, entry: &str, arch: &str) -> Registers {
    let range = || text.live.map_or(Registers::Unknown, Registers::of);
    ptxas::registers(&text.ptx, entry, arch).map_or_else(range, Registers::Ptxas)
}
