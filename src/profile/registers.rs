//! How many registers has a thread? ptxas decides; without it there is a range, by what is live in
//! the PTX.

use super::Limits;
use super::occupancy::Occupancy;
use crate::ptx::Live;

/// What is known of a thread's registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registers {
    /// Somebody said so.
    Given(u32),
    Ptxas(u32),
    /// Not fewer than the first or more than the second, most likely.
    Between(u32, u32),
    Unknown,
}

/// Fewer are never given out, and more a thread cannot have.
const LEAST: u32 = 8;
const MOST: u32 = 255;

impl Registers {
    /// ptxas computes again what is cheap, and shares what threads of a warp have in common: fewer.
    /// It starts loads early and unrolls loops: more. The factors are fitted to what it says of the
    /// kernels of `tests/registers.rs`.
    pub fn of(live: Live) -> Registers {
        let low = (live.of_threads * 7 / 10 + 6).clamp(LEAST, MOST);
        let high = live.all * 11 / 10 + 12;
        Registers::Between(low, high.clamp(low, MOST))
    }

    /// The number, if it is one.
    pub fn known(self) -> Option<u32> {
        match self {
            Registers::Given(registers) | Registers::Ptxas(registers) => Some(registers),
            Registers::Between(..) | Registers::Unknown => None,
        }
    }

    /// The fewest and the most that it may be.
    pub fn range(self) -> Option<(u32, u32)> {
        match self {
            Registers::Given(registers) | Registers::Ptxas(registers) => Some((registers, registers)),
            Registers::Between(least, most) => Some((least, most)),
            Registers::Unknown => None,
        }
    }

    /// The least that there may be resident, where the number is not known.
    pub fn least(self, limits: &Limits, threads: u32, shared: u32) -> Option<Occupancy> {
        match self {
            Registers::Between(_, most) => Some(limits.occupancy(threads, Some(most), shared)),
            Registers::Given(_) | Registers::Ptxas(_) | Registers::Unknown => None,
        }
    }

    /// For people.
    pub fn words(self) -> String {
        match self {
            Registers::Given(registers) => format!("{registers} registers a thread"),
            Registers::Ptxas(registers) => format!("{registers} registers a thread (ptxas)"),
            Registers::Between(least, most) => {
                format!("{least} to {most} registers a thread (estimate, by what is live in the PTX)")
            }
            Registers::Unknown => "registers are not known".to_string(),
        }
    }

    /// For people with little room.
    pub fn short(self) -> String {
        match self {
            Registers::Given(registers) => format!("{registers} registers"),
            Registers::Ptxas(registers) => format!("{registers} registers (ptxas)"),
            Registers::Between(least, most) => format!("{least} to {most} registers (estimate)"),
            Registers::Unknown => "registers unknown".to_string(),
        }
    }

    /// For programs.
    pub fn json(self) -> serde_json::Value {
        let value = |least: u32, most: u32, kind, from| serde_json::json!({ "at_least": least, "at_most": most, "kind": kind, "from": from });
        match self {
            Registers::Given(registers) => value(registers, registers, "exact", "given"),
            Registers::Ptxas(registers) => value(registers, registers, "exact", "ptxas"),
            Registers::Between(least, most) => value(least, most, "estimate", "liveness"),
            Registers::Unknown => serde_json::Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_no_more_than_there_are() {
        let live = |of_threads, all| Registers::of(Live { of_threads, all });
        assert_eq!(live(400, 500), Registers::Between(MOST, MOST));
        assert_eq!(live(0, 0), Registers::Between(LEAST, 12));
    }
}
