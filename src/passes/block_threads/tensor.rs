//! Which products do the instructions for matrices of an architecture compute ("tensor cores"), and
//! if none does, why?

use crate::ir::Unit;
use crate::types::Scalar;

/// Which products the instructions for matrices do ("tensor cores").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TensorCores {
    /// None: all are chains of `fma`, in the order of the host.
    Off,
    /// Those of half floats, and of `float64`.
    #[default]
    On,
    /// Those of `float32` too, rounded to TensorFloat-32.
    Tf32,
}

impl TensorCores {
    pub const ALL: [TensorCores; 3] = [TensorCores::Off, TensorCores::On, TensorCores::Tf32];

    /// The word of options and metadata.
    pub fn name(self) -> &'static str {
        match self {
            TensorCores::Off => "off",
            TensorCores::On => "on",
            TensorCores::Tf32 => "tf32",
        }
    }

    pub fn from_name(name: &str) -> Option<TensorCores> {
        TensorCores::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

/// What multiplies matrices where code is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tensor {
    pub cores: TensorCores,
    /// Of the architecture: 90 is `sm_90`.
    pub arch: u32,
    /// Whether its instructions that copy to shared memory by themselves (`cp.async`) are used.
    pub copies: bool,
}

/// The first architecture with TensorFloat-32.
const TF32: u32 = 80;

/// The first one that copies to shared memory by itself (`cp.async`).
const COPIES: u32 = 80;

impl Tensor {
    /// No instruction: chains of `fma`.
    pub const NONE: Tensor = Tensor { cores: TensorCores::Off, arch: 0, copies: false };

    /// Of PTX for an architecture.
    pub fn of_ptx(cores: TensorCores, arch: u32) -> Tensor {
        Tensor { cores, arch, copies: arch >= COPIES }
    }

    /// Of CUDA text, for an architecture and those after it: nothing copies by itself there.
    pub fn of_text(cores: TensorCores, arch: u32) -> Tensor {
        Tensor { cores, arch, copies: false }
    }

    /// Why the architecture does not have what was asked for by name.
    pub fn missing(self) -> Option<String> {
        (self.cores == TensorCores::Tf32 && self.arch < TF32).then(|| {
            let arch = self.arch;
            format!("sm_{arch} has no instructions for TensorFloat-32, which `--tensor-cores tf32` asks for")
        })
    }

    /// What multiplies elements of these types, to be added up in `sums`; or why nothing does.
    /// `tf32`: `float32` may be rounded.
    pub(super) fn unit(self, [a, b]: [Scalar; 2], sums: Scalar, size: [u32; 3], tf32: bool) -> Result<Unit, String> {
        if self.cores == TensorCores::Off {
            return Err("tensor cores are off".into());
        }
        let is_half = |s: Scalar| matches!(s, Scalar::F16 | Scalar::BF16);
        let (unit, least) = match (a, b, sums) {
            (Scalar::F16, Scalar::F16, Scalar::F32) if self.arch < 80 => (Unit::F16Short, 75),
            (Scalar::F16, Scalar::F16, Scalar::F32) => (Unit::F16, 80),
            (Scalar::BF16, Scalar::BF16, Scalar::F32) => (Unit::Bf16, 80),
            (Scalar::F64, Scalar::F64, Scalar::F64) => (Unit::F64, 80),
            // Both are whole in TensorFloat-32.
            (a, b, Scalar::F32) if is_half(a) && is_half(b) => (Unit::Tf32, 80),
            (_, _, Scalar::F32) if tf32 || self.cores == TensorCores::Tf32 => (Unit::Tf32, TF32),
            (a, b, Scalar::F32) if is_half(a) || is_half(b) => (Unit::Tf32Pair, 80),
            (_, _, Scalar::F32) => {
                return Err("float32 would lose bits (`--tensor-cores tf32` and `precision=\"tf32\"` round it)".into());
            }
            _ => return Err(format!("no instruction multiplies {} and {}", a.name(), b.name())),
        };
        if self.arch < least && unit == Unit::Tf32 && a == Scalar::F32 {
            return Err(format!("sm_{} has no instructions for TensorFloat-32", self.arch));
        }
        if self.arch < least {
            return Err(format!("sm_{} has no instruction for {} and {}", self.arch, a.name(), b.name()));
        }
        match unit.misfit(size) {
            Some(why) => Err(why),
            None => Ok(unit),
        }
    }
}
