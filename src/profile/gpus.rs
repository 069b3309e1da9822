//! What can a GPU do at most? One product for each architecture, by its published figures.

/// Where the operations of a multiprocessor in a cycle are published.
pub const SOURCE: &str = "CUDA C++ Programming Guide (Arithmetic Instructions)";

/// A product.
#[derive(Debug)]
pub struct Gpu {
    pub arch: &'static str,
    pub name: &'static str,
    pub multiprocessors: u32,
    /// The boost clock.
    pub megahertz: u32,
    /// Gigabytes a second from its memory.
    pub bandwidth: f64,
    /// Threads for which a multiprocessor starts an addition, product or fused product a cycle.
    pub float32: u32,
    pub float64: u32,
    /// Where the figures are published. Those of a multiprocessor: CUDA C++ Programming Guide,
    /// "Arithmetic Instructions".
    pub source: &'static str,
}

const fn gpu(
    arch: &'static str,
    name: &'static str,
    [multiprocessors, megahertz]: [u32; 2],
    bandwidth: f64,
    [float32, float64]: [u32; 2],
    source: &'static str,
) -> Gpu {
    Gpu { arch, name, multiprocessors, megahertz, bandwidth, float32, float64, source }
}

/// In the order of the architectures.
pub const ALL: &[Gpu] = &[
    gpu("sm_75", "T4", [40, 1590], 320.0, [64, 2], "NVIDIA T4 datasheet"),
    gpu("sm_80", "A100 SXM 40 GB", [108, 1410], 1555.0, [64, 32], "NVIDIA A100 architecture whitepaper"),
    gpu("sm_86", "GeForce RTX 3090", [82, 1695], 936.0, [128, 2], "NVIDIA Ampere GA102 whitepaper"),
    gpu("sm_89", "GeForce RTX 4090", [128, 2520], 1008.0, [128, 2], "NVIDIA Ada architecture whitepaper"),
    gpu("sm_90", "H100 SXM", [132, 1980], 3350.0, [128, 64], "NVIDIA H100 datasheet"),
    gpu("sm_100", "B200", [148, 1965], 8000.0, [128, 64], "NVIDIA HGX B200 datasheet"),
    gpu("sm_120", "GeForce RTX 5090", [170, 2407], 1792.0, [128, 2], "NVIDIA RTX Blackwell whitepaper"),
];

/// A second product of an architecture.
pub const H200: Gpu = gpu("sm_90", "H200", [132, 1980], 4800.0, [128, 64], "NVIDIA H200 datasheet");

/// Warp instructions that a multiprocessor starts a cycle: one for each of its parts.
pub const ISSUES: u32 = 4;

impl Gpu {
    pub fn of(arch: &str) -> Option<&'static Gpu> {
        ALL.iter().find(|gpu| gpu.arch == arch)
    }

    /// Cycles a second of so many multiprocessors, all of them at most.
    pub fn cycles(&self, multiprocessors: u32) -> f64 {
        f64::from(multiprocessors.min(self.multiprocessors)) * f64::from(self.megahertz) * 1e6
    }

    /// Operations a second, a fused product counted as two.
    pub fn flops32(&self) -> f64 {
        2.0 * f64::from(self.float32) * self.cycles(self.multiprocessors)
    }

    pub fn flops64(&self) -> f64 {
        2.0 * f64::from(self.float64) * self.cycles(self.multiprocessors)
    }
}
