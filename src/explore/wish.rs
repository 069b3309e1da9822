//! What does a page ask for? One part of what there is to see of one kernel.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::driver::{Arch, Gradients, Opt, Options, Overlaid, Request};
use crate::run::devices::TensorCores;

/// A text as it is on the screen, and what is to be shown of it.
#[derive(Clone, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    pub part: Part,
    pub source: String,
    /// None: the first one.
    pub kernel: Option<String>,
    pub arch: String,
    /// `full`, `lean`
    pub opt: String,
    pub fmad: bool,
    pub tensor_cores: String,
    /// Threads of a block, for kernels that need to know.
    pub block_dim: Option<u16>,
    pub launch: LaunchWish,
}

/// A page asks for one after the other: some take longer.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Findings and generated texts.
    Text,
    /// A launch on the simulator.
    Counters,
    /// What NVIDIA's tools make of the PTX.
    Machine,
}

/// A launch, as far as somebody says what it is.
#[derive(Clone, Default, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct LaunchWish {
    /// Threads in each dimension, `256x256`; may be empty.
    pub dim: String,
    /// Threads of a block.
    pub block_dim: Option<u16>,
    /// The gradient is counted too.
    pub gradient: bool,
    /// As for `kc run --arg`; the others are made up.
    pub args: Vec<String>,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish {
            part: Part::Text,
            source: String::new(),
            kernel: None,
            arch: Arch::DEFAULT.name.to_string(),
            opt: "full".to_string(),
            fmad: true,
            tensor_cores: TensorCores::On.name().to_string(),
            block_dim: None,
            launch: LaunchWish::default(),
        }
    }
}

impl Wish {
    pub fn arch(&self) -> Arch {
        Arch::from_name(&self.arch).unwrap_or(Arch::DEFAULT)
    }

    pub fn tensor_cores(&self) -> TensorCores {
        TensorCores::from_name(&self.tensor_cores).unwrap_or_default()
    }

    /// The options of back ends.
    pub fn options(&self) -> Options {
        let opt = if self.opt == "lean" { Opt::Lean } else { Opt::Full };
        let (fmad, tensor_cores, archs) = (self.fmad, self.tensor_cores(), vec![self.arch()]);
        Options { opt, fmad, tensor_cores, archs, ..Options::default() }
    }

    /// What is compiled of a kernel.
    pub fn request(&self, kernel: &str, backward: bool) -> Request {
        Request {
            kernels: vec![kernel.to_string()],
            gradients: Gradients { backward, ..Gradients::default() },
            block_dim: self.block_dim.filter(|&threads| threads > 0).map(u32::from),
            ..Request::default()
        }
    }

    /// The files, with this text in place of the one at `path`.
    pub fn files(&self, path: &Path) -> Arc<Overlaid> {
        Arc::new(Overlaid::default().with(path, self.source.clone()))
    }
}
