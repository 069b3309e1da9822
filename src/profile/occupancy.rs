//! How many blocks are resident on a multiprocessor, and what limits them? The rule and the figures
//! are those of the CUDA occupancy calculator (CUDA 13, `cuda_occupancy.h`; sizes of shared memory
//! from the CUDA C++ Programming Guide, "Compute Capabilities").

/// Where the figures and the rule are published.
pub const SOURCE: &str =
    "CUDA 13 occupancy calculator (cuda_occupancy.h), CUDA C++ Programming Guide (Compute Capabilities)";

/// What a multiprocessor has.
#[derive(Debug)]
pub struct Limits {
    /// `sm_90`
    pub arch: &'static str,
    pub warps: u32,
    pub blocks: u32,
    /// 32-bit registers, of a multiprocessor and of a block.
    pub registers: u32,
    /// Bytes of shared memory of a multiprocessor, of a block at most, and what each block has of
    /// its own.
    pub shared: u32,
    pub shared_per_block: u32,
    pub shared_reserved: u32,
    /// Shared memory is given out in units of so many bytes.
    pub shared_unit: u32,
}

const fn limits(
    arch: &'static str,
    [warps, blocks]: [u32; 2],
    [shared_kib, per_block_kib, reserved, unit]: [u32; 4],
) -> Limits {
    Limits {
        arch,
        warps,
        blocks,
        registers: 65_536,
        shared: shared_kib << 10,
        shared_per_block: per_block_kib << 10,
        shared_reserved: reserved,
        shared_unit: unit,
    }
}

/// The architectures that kc compiles for and the calculator knows.
pub const ALL: &[Limits] = &[
    limits("sm_75", [32, 16], [64, 64, 0, 256]),
    limits("sm_80", [64, 32], [164, 163, 1024, 128]),
    limits("sm_86", [48, 16], [100, 99, 1024, 128]),
    limits("sm_89", [48, 24], [100, 99, 1024, 128]),
    limits("sm_90", [64, 32], [228, 227, 1024, 128]),
    limits("sm_100", [64, 32], [228, 227, 1024, 128]),
    limits("sm_120", [48, 24], [100, 99, 1024, 128]),
];

/// What is resident.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupancy {
    pub blocks_per_sm: u32,
    pub warps_per_sm: u32,
    /// The most warps that there can be.
    pub most_warps: u32,
    /// `warps`, `blocks`, `registers`, `shared memory`; `none fits` where not one block can run.
    pub limiter: &'static str,
    /// With more registers a thread than this, fewer blocks would be resident.
    pub free_registers: u32,
}

const WARP: u32 = 32;
/// Registers are given to a warp in units of so many, and a multiprocessor has so many parts.
const REGISTER_UNIT: u32 = 256;
const PARTS: u32 = 4;
const MOST_REGISTERS: u32 = 255;

impl Limits {
    /// Of this architecture, such as `sm_90`.
    pub fn of(arch: &str) -> Option<&'static Limits> {
        ALL.iter().find(|limits| limits.arch == arch)
    }

    /// Blocks that the registers are enough for.
    fn by_registers(&self, warps: u32, registers: u32) -> u32 {
        let of_warp = (registers.max(1) * WARP).next_multiple_of(REGISTER_UNIT);
        if of_warp * warps.next_multiple_of(PARTS) > self.registers {
            return 0;
        }
        self.registers / PARTS / of_warp * PARTS / warps
    }

    /// Of blocks of so many threads, with so many bytes of shared memory each. Without `registers`
    /// (of a thread) these limit nothing.
    pub fn occupancy(&self, threads: u32, registers: Option<u32>, shared: u32) -> Occupancy {
        let warps = threads.div_ceil(WARP).max(1);
        let of_block = (shared + self.shared_reserved).next_multiple_of(self.shared_unit);
        let by_shared = match () {
            _ if shared > self.shared_per_block => 0,
            _ if of_block == 0 => u32::MAX,
            _ => self.shared / of_block,
        };
        let by_registers = registers.map_or(u32::MAX, |registers| self.by_registers(warps, registers));
        let bounds = [
            (self.warps / warps, "warps"),
            (self.blocks, "blocks"),
            (by_registers, "registers"),
            (by_shared, "shared memory"),
        ];
        let (blocks, limiter) = bounds.into_iter().min_by_key(|(blocks, _)| *blocks).unwrap_or((0, "none fits"));
        let free = (1..=MOST_REGISTERS).rev().find(|&registers| self.by_registers(warps, registers) >= blocks);
        Occupancy {
            blocks_per_sm: blocks,
            warps_per_sm: blocks * warps,
            most_warps: self.warps,
            limiter: if blocks == 0 { "none fits" } else { limiter },
            free_registers: if blocks == 0 { 0 } else { free.unwrap_or(0) },
        }
    }
}
