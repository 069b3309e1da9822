//! Which processors is host code made for, and what do accesses of lanes cost there?
//!
//! Names are LLVM's (`llc -march=x86-64 -mcpu=help`). The levels are those of the x86-64 psABI,
//! "Micro-architecture levels".
//!
//! `cargo bench --bench processor` measures a row on the machine that it runs on and prints it in
//! the form that it has here. Where the rows of this file are from:
//!
//! | row | source |
//! |---|---|
//! | `ZEN_4` | measured so (docs/performance.md); gathers half as many again, as on Zen 5 |
//! | `ZEN_5`, `SAPPHIRE_RAPIDS` | fitted to kernels that ran both as lanes and thread by thread |
//! | `ZEN_3` | uops.info: a gather of eight lanes takes 8 cycles; beside the branches of threads half as many again, as on Zen 5; LLVM's model of it: a masked AVX store 12 |
//! | `ZEN_2` | by the micro-operations of a gather, half as many again as on Zen 3 (Agner Fog's instruction tables); not measured |
//! | `HASWELL`, `SKYLAKE`, `SKYLAKE_512`, `ICE_LAKE`, `GOLDEN_COVE` | the cycles of LLVM's scheduling models (`llvm-mca`): gathers 6.5, 4, 8, 8 and 2.7, scatters 16 and 8, divisions of a vector and of a number 14 and 7, 5 and 3, 10 and 3 |
//! | `NEON` | no gathers, no masks: as many accesses and insertions as lanes, and as many branches |
//! | the levels | between those that have them |

/// What memory and divisions cost the lanes of a vector, with the masks and the checks of indices
/// around them: in simple instructions (quarters of a cycle) for each lane, where an access of one
/// thread counts one. The model is right where it takes the faster form.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// To read elements anywhere: a gather, or as many loads and insertions.
    pub gathered: f64,
    /// To write elements anywhere: a scatter, or as many extractions and stores.
    pub scattered: f64,
    /// Elements side by side of so many components that they are gathered: each lane has cache
    /// lines of its own, but in order.
    pub wide: f64,
    /// Masks make accesses side by side slower: an unaligned masked load is taken apart, or a
    /// masked store is microcode or branches.
    pub masks: bool,
    /// A division of all lanes, in divisions of one thread.
    pub division: f64,
}

/// SSE has neither gathers nor masks.
const SSE: Costs = Costs { gathered: 2.0, scattered: 2.0, wide: 2.0, masks: true, division: 1.0 };

const NEON: Costs = Costs { gathered: 2.0, scattered: 2.0, wide: 2.0, masks: true, division: 1.5 };

const HASWELL: Costs = Costs { gathered: 4.0, scattered: 2.5, wide: 4.0, masks: false, division: 2.0 };

/// With the microcode against CVE-2022-40982 gathers take longer, from here to Ice Lake and its
/// relatives.
const SKYLAKE: Costs = Costs { gathered: 2.5, scattered: 2.5, wide: 2.5, masks: false, division: 1.7 };

const SKYLAKE_512: Costs = Costs { gathered: 2.5, scattered: 4.0, wide: 2.5, masks: false, division: 3.3 };

const ICE_LAKE: Costs = Costs { gathered: 2.2, scattered: 2.2, wide: 2.2, masks: false, division: 3.3 };

/// For which the model was made first (the table in docs/performance.md).
const SAPPHIRE_RAPIDS: Costs = Costs { gathered: 2.0, scattered: 2.0, wide: 2.0, masks: false, division: 3.3 };

/// The cores of Sapphire Rapids without AVX-512.
const GOLDEN_COVE: Costs = Costs { gathered: 2.0, scattered: 2.5, wide: 2.0, masks: false, division: 1.7 };

const ZEN_2: Costs = Costs { gathered: 8.0, scattered: 4.0, wide: 6.0, masks: true, division: 1.1 };

const ZEN_3: Costs = Costs { gathered: 6.0, scattered: 4.0, wide: 4.0, masks: true, division: 1.1 };

/// By the bench masks cost nothing; a Jacobi step takes 0.90 ms under them and 0.86 without. As
/// lanes and thread by thread: the density of fluid particles 6.3 and 3.8, springs 12 and 6, which
/// gathers of Intel's cost would have as lanes.
const ZEN_4: Costs = Costs { gathered: 6.75, scattered: 6.1, wide: 4.5, masks: true, division: 2.2 };

/// Milliseconds thread by thread and as lanes: the density of fluid particles 3.0 and 5.5, springs
/// 4.2 and 20, the gradient of the product of 4 x 4 matrices 0.17 and 0.80 and that of inverse and
/// product of 3 x 3 matrices 3.6 and 4.6, these themselves 8.0 and 3.0, the gradient of the density
/// 20 and 9. A Jacobi step under masks 1.5, without 0.95. Since branches cost threads more, gathers
/// do, too: the gradient of a histogram takes 3.2 thread by thread and 12.5 as lanes, that of
/// springs 107 and 143, that of the density of more particles 76 and 28, and Newton's solver of
/// elastic cloth 253 and 64.
const ZEN_5: Costs = Costs { gathered: 6.0, scattered: 4.0, wide: 3.0, masks: true, division: 2.2 };

/// Any processor with AVX2, and any with AVX-512: gathers that pay on none of AMD's would be a loss
/// of a factor there, and those of Intel's would gain less.
const LEVEL_3: Costs = Costs { gathered: 4.0, scattered: 4.0, wide: 3.0, masks: true, division: 1.7 };
const LEVEL_4: Costs = Costs { gathered: 4.0, scattered: 4.0, wide: 3.0, masks: true, division: 3.3 };

/// What a processor understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isa {
    X86,
    Aarch64,
}

impl Isa {
    /// That of the machine which kc runs on.
    pub const OWN: Isa = if cfg!(target_arch = "aarch64") { Isa::Aarch64 } else { Isa::X86 };
}

/// A processor, or a level that many have.
#[derive(PartialEq, Debug)]
pub struct Processor {
    pub name: &'static str,
    pub isa: Isa,
    /// The name that LLVM has for it.
    pub llvm: &'static str,
    /// The width of its vectors.
    pub vector_bits: u32,
    /// It converts between half and float in hardware.
    pub has_half: bool,
    pub costs: Costs,
}

const fn x86(name: &'static str, vector_bits: u32, costs: Costs) -> Processor {
    Processor { name, isa: Isa::X86, llvm: name, vector_bits, has_half: vector_bits > 128, costs }
}

const fn arm(name: &'static str, llvm: &'static str) -> Processor {
    Processor { name, isa: Isa::Aarch64, llvm, vector_bits: 128, has_half: true, costs: NEON }
}

/// Those that can be named.
pub const ALL: &[Processor] = &[
    x86("x86-64", 128, SSE),
    x86("x86-64-v2", 128, SSE),
    x86("x86-64-v3", 256, LEVEL_3),
    x86("x86-64-v4", 512, LEVEL_4),
    x86("haswell", 256, HASWELL),
    x86("broadwell", 256, HASWELL),
    x86("skylake", 256, SKYLAKE),
    x86("skylake-avx512", 512, SKYLAKE_512),
    x86("cascadelake", 512, SKYLAKE_512),
    x86("cooperlake", 512, SKYLAKE_512),
    x86("icelake-client", 512, ICE_LAKE),
    x86("icelake-server", 512, ICE_LAKE),
    x86("tigerlake", 512, ICE_LAKE),
    x86("rocketlake", 512, ICE_LAKE),
    x86("sapphirerapids", 512, SAPPHIRE_RAPIDS),
    x86("emeraldrapids", 512, SAPPHIRE_RAPIDS),
    x86("graniterapids", 512, SAPPHIRE_RAPIDS),
    x86("alderlake", 256, GOLDEN_COVE),
    x86("raptorlake", 256, GOLDEN_COVE),
    x86("meteorlake", 256, GOLDEN_COVE),
    x86("arrowlake", 256, GOLDEN_COVE),
    x86("lunarlake", 256, GOLDEN_COVE),
    x86("znver1", 256, ZEN_2),
    x86("znver2", 256, ZEN_2),
    x86("znver3", 256, ZEN_3),
    x86("znver4", 512, ZEN_4),
    x86("znver5", 512, ZEN_5),
    arm("aarch64", "generic"),
    arm("cortex-a72", "cortex-a72"),
    arm("neoverse-n1", "neoverse-n1"),
    arm("neoverse-v1", "neoverse-v1"),
    arm("neoverse-v2", "neoverse-v2"),
    arm("apple-m1", "apple-m1"),
];

impl Processor {
    pub fn from_name(name: &str) -> Option<&'static Processor> {
        ALL.iter().find(|processor| processor.name == name)
    }
}

/// What accesses cost on a processor of this name for LLVM, listed or not, with vectors of so many
/// bits.
pub fn costs(name: &str, vector_bits: u32) -> Costs {
    if let Some(listed) = ALL.iter().find(|processor| processor.isa == Isa::OWN && processor.llvm == name) {
        return listed.costs;
    }
    match vector_bits {
        _ if Isa::OWN == Isa::Aarch64 => NEON,
        _ if name.starts_with("znver") => ZEN_5,
        512 => LEVEL_4,
        256 => LEVEL_3,
        _ => SSE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_their_names() {
        use crate::codegen::llvm::Cpu;
        for (name, cpu) in [("x86-64", Cpu::V1), ("x86-64-v3", Cpu::V3), ("x86-64-v4", Cpu::V4)] {
            assert_eq!(Cpu::from_name(name), Some(cpu));
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn relatives_that_are_not_listed_cost_as_their_family() {
        assert_eq!((costs("znver6", 512), costs("diamondrapids", 512)), (ZEN_5, LEVEL_4));
        assert_eq!(
            (costs("znver4", 512), costs("sapphirerapids", 512), costs("core2", 128)),
            (ZEN_4, SAPPHIRE_RAPIDS, SSE)
        );
    }
}
