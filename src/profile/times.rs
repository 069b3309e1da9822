//! How long does a launch take at least? What it asks of a part of a GPU, at what that part gives
//! at its best. A launch takes longer: parts wait for each other, and ptxas makes other
//! instructions of PTX. Where one part is asked for much more than the others, it is near.

use serde_json::{Value, json};

use super::gpus::{Gpu, H200};
use super::roofline::asked;
use super::{Kind, Metric, find};
use crate::sim::Measured;

/// Seconds between two atomics on one address, and the most sectors of atomics a second: measured
/// on an H200 (benches/results/gpu-h200.md), the second with the gradient of a sparse product.
const ONE_ADDRESS: f64 = 1.8e-9;
const ATOMIC_SECTORS: f64 = 85e9;

/// Sectors of atomics.
const SECTORS: [&str; 2] =
    ["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"];

/// The parts of a GPU, what takes longest first.
pub struct Times {
    pub gpu: &'static str,
    pub parts: Vec<Part>,
    /// What atomics take if warps run in step, which they need not.
    pub in_step: Part,
}

/// How long a part is busy.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub name: &'static str,
    pub milliseconds: f64,
    pub kind: Kind,
}

impl Times {
    /// On the GPUs that most are measured on. `metrics`: of the whole launch, of so many blocks.
    pub fn all(metrics: &[Metric], blocks: u64, measured: &Measured) -> Vec<Times> {
        let gpus = [Gpu::of("sm_90"), Some(&H200), Gpu::of("sm_89")];
        gpus.into_iter().flatten().map(|gpu| Times::of(metrics, blocks, measured, gpu)).collect()
    }

    fn of(metrics: &[Metric], blocks: u64, measured: &Measured, gpu: &'static Gpu) -> Times {
        let (.., demands) = asked(metrics, blocks, gpu);
        let part = |name, seconds: f64, kind| Part { name, milliseconds: 1e3 * seconds, kind };
        let mut parts: Vec<Part> = demands.iter().map(|d| part(d.part, d.busy, d.kind)).collect();
        let sectors: f64 = SECTORS.iter().filter_map(|name| find(metrics, name)).map(|metric| metric.value).sum();
        let queue = |atomics: u64| atomics as f64 * ONE_ADDRESS;
        parts.push(part("atomics", sectors / ATOMIC_SECTORS, Kind::Estimate));
        parts.push(part("atomics on one address", queue(measured.one_address), Kind::Bound));
        parts.retain(|part| part.milliseconds > 0.0);
        parts.sort_by(|a, b| b.milliseconds.total_cmp(&a.milliseconds));
        let in_step = part("atomics of warps in step", queue(measured.in_step), Kind::Estimate);
        Times { gpu: gpu.name, parts, in_step }
    }

    /// `at least 5.24 ms on H200: shared memory 5.24, instructions 1.02`
    pub fn words(&self) -> String {
        let Some(first) = self.parts.first() else { return format!("nothing is asked of {}", self.gpu) };
        let all: Vec<String> =
            self.parts.iter().map(|part| format!("{} {}", part.name, short(part.milliseconds))).collect();
        let mut text = format!("at least {} ms on {}: {}", short(first.milliseconds), self.gpu, all.join(", "));
        if self.in_step.milliseconds > first.milliseconds {
            text += &format!("; {} if warps add in step", short(self.in_step.milliseconds));
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let part = |p: &Part| json!({ "part": p.name, "milliseconds": p.milliseconds, "kind": p.kind.name() });
        let milliseconds = self.parts.first().map_or(0.0, |part| part.milliseconds);
        let parts: Vec<Value> = self.parts.iter().map(part).collect();
        json!({ "gpu": self.gpu, "milliseconds": milliseconds, "parts": parts, "in_step": part(&self.in_step) })
    }
}

/// Milliseconds with three digits.
fn short(milliseconds: f64) -> String {
    let places = if milliseconds > 0.0 { (2.0 - milliseconds.log10().floor()).clamp(0.0, 9.0) } else { 0.0 };
    format!("{milliseconds:.*}", places as usize)
}
