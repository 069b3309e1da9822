//! What limits a launch, and what could it reach at most? What it asks of each part of a GPU,
//! beside what that part can give.
//!
//! The part that would be busy longest limits. How long that takes is not said: memory is asked for
//! more than what is counted here (caches lose), ptxas makes other instructions, and no part works
//! at its peak.

use serde_json::{Value, json};

use super::gpus::{Gpu, ISSUES};
use super::{Kind, Metric, find};

/// A launch under the roofs of a GPU.
#[derive(Debug)]
pub struct Roofline {
    pub gpu: &'static Gpu,
    pub blocks: u64,
    /// Additions, products; fused products are two. Of float32 and float64.
    pub flops: f64,
    /// Of its memory, at least.
    pub bytes: f64,
    /// What is asked of each part, what limits first.
    pub demands: Vec<Demand>,
    /// Operations a second that it cannot exceed.
    pub most_flops: Option<f64>,
    /// The same of bytes of memory a second.
    pub most_bytes: Option<f64>,
}

/// What a launch asks of a part of a GPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// `DRAM`
    pub part: &'static str,
    pub amount: f64,
    pub unit: &'static str,
    pub kind: Kind,
    /// How busy it is while that which limits is busy: 1 for this itself.
    pub busy: f64,
}

/// Operations, bytes of memory, and what is asked of each part, with how long it takes in seconds.
pub(super) fn asked(metrics: &[Metric], blocks: u64, gpu: &Gpu) -> (f64, f64, Vec<Demand>) {
    let value = |name: &str| find(metrics, name).map_or(0.0, |metric| metric.value);
    let count = |op: &str| value(&format!("smsp__sass_thread_inst_executed_op_{op}_pred_on.sum"));
    let float32 = count("fadd") + count("fmul") + count("ffma");
    let float64 = count("dadd") + count("dmul") + count("dfma");
    let flops = float32 + count("ffma") + float64 + count("dfma");
    let bytes = value("dram__bytes_read.sum") + value("dram__bytes_write.sum");
    // A block runs on one multiprocessor.
    let cycles = gpu.cycles(u32::try_from(blocks.max(1)).unwrap_or(u32::MAX));
    let of = |part, amount, unit, kind, a_second: f64| Demand { part, amount, unit, kind, busy: amount / a_second };
    let demands = vec![
        of("DRAM", bytes, "bytes", Kind::Bound, gpu.bandwidth * 1e9),
        of("float32", float32, "instructions of threads", Kind::Estimate, f64::from(gpu.float32) * cycles),
        of("float64", float64, "instructions of threads", Kind::Estimate, f64::from(gpu.float64) * cycles),
        of(
            "instructions",
            value("smsp__inst_executed.sum"),
            "instructions of warps",
            Kind::Estimate,
            f64::from(ISSUES) * cycles,
        ),
        of("shared memory", value("memory_l1_wavefronts_shared"), "wavefronts", Kind::Exact, cycles),
    ];
    (flops, bytes, demands)
}

impl Roofline {
    /// `metrics`: of the whole launch, of so many blocks.
    pub fn of(metrics: &[Metric], blocks: u64, gpu: &'static Gpu) -> Roofline {
        let (flops, bytes, mut demands) = asked(metrics, blocks, gpu);
        demands.retain(|demand| demand.amount > 0.0);
        demands.sort_by(|a, b| b.busy.total_cmp(&a.busy));
        let longest = demands.first().map(|demand| demand.busy);
        let a_second = |amount: f64| longest.filter(|_| amount > 0.0).map(|longest| amount / longest);
        let (most_flops, most_bytes) = (a_second(flops), a_second(bytes));
        demands.iter_mut().for_each(|demand| demand.busy /= longest.unwrap_or(1.0));
        Roofline { gpu, blocks, flops, bytes, demands, most_flops, most_bytes }
    }

    /// The part that limits; None: nothing is asked.
    pub fn limiter(&self) -> Option<&'static str> {
        self.demands.first().map(|demand| demand.part)
    }

    /// Operations for a byte of memory: at most, as the bytes are at least.
    pub fn intensity(&self) -> Option<f64> {
        (self.flops > 0.0 && self.bytes > 0.0).then(|| self.flops / self.bytes)
    }

    /// In words, without the GPU.
    pub fn words(&self) -> String {
        let Some(limiter) = self.limiter() else { return "nothing ran".to_string() };
        let mut text = format!("limited by {limiter}");
        let (blocks, all) = (self.blocks, self.gpu.multiprocessors);
        if blocks < all.into() {
            text += &format!(" ({blocks} of {all} multiprocessors have a block)");
        }
        match (self.most_flops, self.most_bytes) {
            (Some(flops), Some(bytes)) => {
                text += &format!(", at most {} and {}", short(flops, "FLOP/s"), short(bytes, "B/s"));
            }
            (Some(flops), None) => text += &format!(", at most {}", short(flops, "FLOP/s")),
            (None, Some(bytes)) => text += &format!(", at most {}", short(bytes, "B/s")),
            (None, None) => {}
        }
        for demand in &self.demands[1..] {
            text += &format!("; {} {:.0} % as busy", demand.part, 100.0 * demand.busy);
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let demand = |d: &Demand| json!({ "part": d.part, "amount": d.amount, "unit": d.unit, "kind": d.kind.name(), "busy": d.busy });
        json!({
            "gpu": self.gpu.name,
            "source": self.gpu.source,
            "limiter": self.limiter(),
            "flops": self.flops,
            "dram_bytes": self.bytes,
            "flops_per_byte": self.intensity(),
            "flops_per_second_at_most": self.most_flops,
            "dram_bytes_per_second_at_most": self.most_bytes,
            "demands": self.demands.iter().map(demand).collect::<Vec<_>>(),
        })
    }
}

/// A number with three digits and a unit.
pub fn short(value: f64, unit: &str) -> String {
    let (scale, letter) = match value {
        v if v >= 0.9995e12 => (1e12, "T"),
        v if v >= 0.9995e9 => (1e9, "G"),
        v if v >= 0.9995e6 => (1e6, "M"),
        v if v >= 0.9995e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let value = value / scale;
    let places = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.places$} {letter}{unit}")
}
