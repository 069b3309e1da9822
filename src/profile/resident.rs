//! What is resident of a kernel, as far as its registers are known? The occupancy with the number
//! or the range, in words and for programs.

use serde_json::{Value, json};

use super::{Limits, Occupancy, Registers};

/// The occupancy of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    pub limits: &'static Limits,
    /// Of a block.
    pub threads: u32,
    pub registers: Registers,
    /// Bytes of shared memory of a block.
    pub shared: u32,
    pub occupancy: Occupancy,
    /// With as many registers as there may be, where their number is not known.
    pub least: Option<Occupancy>,
}

impl Resident {
    pub fn of(limits: &'static Limits, threads: u32, registers: Registers, shared: u32) -> Resident {
        let occupancy = limits.occupancy(threads, registers.known(), shared);
        let least = registers.least(limits, threads, shared);
        Resident { limits, threads, registers, shared, occupancy, least }
    }

    /// The least warps that there may be.
    pub fn least_warps(&self) -> u32 {
        self.least.unwrap_or(self.occupancy).warps_per_sm
    }

    /// A sentence.
    pub fn words(&self) -> String {
        let Occupancy { blocks_per_sm, warps_per_sm, most_warps, limiter, free_registers } = self.occupancy;
        let arch = self.limits.arch;
        if blocks_per_sm == 0 {
            return format!("occupancy on {arch}: not one block fits a multiprocessor");
        }
        let mut text = format!(
            "occupancy on {arch}: {warps_per_sm} of {most_warps} warps ({blocks_per_sm} blocks), limited by {limiter}"
        );
        if self.registers.known().is_none() {
            text += &format!(", if a thread has at most {free_registers} registers");
        }
        text += &format!("; {}", self.registers.words());
        if self.least_warps() < warps_per_sm {
            text += &format!(": at least {} warps", self.least_warps());
        }
        text
    }

    /// A line that is above a kernel:
    /// `14 to 33 registers (estimate), 64 of 64 warps at 256 threads on sm_90, 0 bytes shared`.
    pub fn short(&self) -> String {
        let Occupancy { warps_per_sm: most, most_warps, blocks_per_sm, .. } = self.occupancy;
        let warps = match self.least_warps() {
            _ if blocks_per_sm == 0 => "no block fits".to_string(),
            least if least < most => format!("{least} to {most} of {most_warps} warps"),
            _ => format!("{most} of {most_warps} warps"),
        };
        let (registers, arch) = (self.registers.short(), self.limits.arch);
        format!("{registers}, {warps} at {} threads on {arch}, {} bytes shared", self.threads, self.shared)
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Occupancy { blocks_per_sm, warps_per_sm, limiter, free_registers, .. } = self.occupancy;
        json!({
            "blocks_per_sm": blocks_per_sm,
            "warps_per_sm": warps_per_sm,
            "limiter": limiter,
            "registers_up_to": free_registers,
            "registers": self.registers.json(),
            "warps_per_sm_at_least": self.least_warps(),
            "words": self.short(),
        })
    }
}
