//! Which processors is host code made for, and what do accesses of lanes cost there?
//!
//! Names are LLVM's (`llc -march=x86-64 -mcpu=help`). The levels are those of the x86-64 psABI, "Micro-architecture levels". Costs are in
//! simple instructions on one core.

/// What memory costs the lanes of a vector, for each lane, with the masks and the checks of indices around it. Fitted to kernels that ran both as
/// lanes and thread by thread: the model is right where it takes the faster form.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Elements anywhere: a gather, or as many loads and insertions.
    pub scattered: f64,
    /// Elements side by side of so many components that they are gathered: each lane has cache lines of its own, but in order.
    pub wide: f64,
    /// Masks make accesses side by side slower: an unaligned masked load is taken apart.
    pub masks: bool,
}

/// Sapphire Rapids, for which the model was made first (the table in docs/performance.md), and its relatives.
const INTEL: Costs = Costs { scattered: 2.0, wide: 2.0, masks: false };

/// Zen 5, and its relatives. Milliseconds thread by thread and as lanes: the density of fluid particles 3.0 and 5.5, springs 4.2 and 20, the gradient of
/// the product of 4 x 4 matrices 0.17 and 0.80 and that of inverse and product of 3 x 3 matrices 3.6 and 4.6, these themselves 8.0 and 3.0,
/// the gradient of the density 20 and 9.
const AMD: Costs = Costs { scattered: 4.0, wide: 3.0, masks: true };

/// A processor, or a level that many have.
#[derive(PartialEq, Debug)]
pub struct Processor {
    pub name: &'static str,
    /// The width of its vectors.
    pub vector_bits: u32,
    /// It converts between half and float in hardware.
    pub has_half: bool,
    pub costs: Costs,
}

/// Those that can be named.
pub const ALL: &[Processor] = &[
    Processor { name: "x86-64", vector_bits: 128, has_half: false, costs: INTEL },
    Processor { name: "x86-64-v2", vector_bits: 128, has_half: false, costs: INTEL },
    Processor { name: "x86-64-v3", vector_bits: 256, has_half: true, costs: INTEL },
    Processor { name: "x86-64-v4", vector_bits: 512, has_half: true, costs: INTEL },
    Processor { name: "haswell", vector_bits: 256, has_half: true, costs: INTEL },
    Processor { name: "skylake", vector_bits: 256, has_half: true, costs: INTEL },
    Processor { name: "skylake-avx512", vector_bits: 512, has_half: true, costs: INTEL },
    Processor { name: "icelake-server", vector_bits: 512, has_half: true, costs: INTEL },
    Processor { name: "sapphirerapids", vector_bits: 512, has_half: true, costs: INTEL },
    Processor { name: "znver1", vector_bits: 256, has_half: true, costs: AMD },
    Processor { name: "znver2", vector_bits: 256, has_half: true, costs: AMD },
    Processor { name: "znver3", vector_bits: 256, has_half: true, costs: AMD },
    Processor { name: "znver4", vector_bits: 512, has_half: true, costs: AMD },
    Processor { name: "znver5", vector_bits: 512, has_half: true, costs: AMD },
];

impl Processor {
    pub fn from_name(name: &str) -> Option<&'static Processor> {
        ALL.iter().find(|processor| processor.name == name)
    }
}

/// What accesses cost on a processor of this name, listed or not.
pub fn costs(name: &str) -> Costs {
    let listed = Processor::from_name(name).map(|processor| processor.costs);
    listed.unwrap_or(if name.starts_with("znver") { AMD } else { INTEL })
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
    fn relatives_that_are_not_listed_cost_as_their_family() {
        assert_eq!((costs("znver6"), costs("graniterapids")), (AMD, INTEL));
    }
}
