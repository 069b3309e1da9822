//! What can be asked of the back ends?

use std::fmt;
use std::str::FromStr;

/// A GPU architecture by its compute capability: `sm_90` is 90.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Arch(u32);

impl Arch {
    /// The architectures that PTX is written for.
    pub const SUPPORTED: &[Arch] = &[Arch(75), Arch(80), Arch(86), Arch(87), Arch(89), Arch(90), Arch(100), Arch(120)];

    /// 90 for `sm_90`.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

impl FromStr for Arch {
    type Err = String;

    /// `sm_90`, or `90` alone.
    fn from_str(text: &str) -> Result<Arch, String> {
        let number = text.strip_prefix("sm_").unwrap_or(text).parse().ok();
        Arch::SUPPORTED.iter().copied().find(|arch| Some(arch.0) == number).ok_or_else(|| {
            let names: Vec<String> = Arch::SUPPORTED.iter().map(Arch::to_string).collect();
            format!("known architectures: {}", names.join(", "))
        })
    }
}

/// One kind of result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Artefact {
    /// Assembly for NVIDIA GPUs.
    Ptx(Arch),
    /// LLVM IR for the GPU, optimized.
    Llvm(Arch),
    /// Self-contained CUDA C++.
    Cuda,
    /// The textual IR.
    Ir,
    /// Object file for this machine.
    Object,
    /// C and C++ header.
    Header,
    /// JSON description.
    Metadata,
}

/// How much work the optimizer puts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opt {
    /// Little: for compiling in bulk.
    Lean,
    Full,
}

/// What holds for all artefacts of a compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub opt: Opt,
    /// GPU code may fuse a * b + c into one rounding.
    pub fmad: bool,
}
