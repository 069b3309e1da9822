//! What are the counts called, and how exact are they? Names and formulas are those of Nsight
//! Compute (Profiling Guide, "Metrics Decoder").
//!
//! Sectors and requests follow from addresses and are exact. What counts instructions counts those
//! of PTX, which ptxas makes others of: an estimate. Bank conflicts and bytes of DRAM are at least
//! so many.

use crate::ptx::Space;
use crate::sim::code::{Class, Math};
use crate::sim::{AccessKind, Instruction, Measured};

/// How a figure relates to what hardware counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Exact,
    /// At least so much.
    Bound,
    Estimate,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Exact => "exact",
            Kind::Bound => "bound",
            Kind::Estimate => "estimate",
        }
    }
}

/// A figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Metric {
    pub name: &'static str,
    pub value: f64,
    pub kind: Kind,
}

impl Metric {
    /// For JSON: counts are integers.
    pub fn number(&self) -> serde_json::Number {
        let whole = self.value.fract() == 0.0 && self.value.abs() < 9e15;
        let float = || serde_json::Number::from_f64(self.value).unwrap_or_else(|| 0.into());
        if whole { (self.value as i64).into() } else { float() }
    }
}

/// The metric of this name.
pub fn find<'a>(metrics: &'a [Metric], name: &str) -> Option<&'a Metric> {
    metrics.iter().find(|metric| metric.name == name)
}

const CLASSES: [(Class, &str); 7] = [
    (Class::Float16, "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum"),
    (Class::Float32, "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum"),
    (Class::Float64, "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum"),
    (Class::Integer, "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"),
    (Class::Conversion, "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum"),
    (Class::Control, "smsp__sass_thread_inst_executed_op_control_pred_on.sum"),
    (Class::Memory, "smsp__sass_thread_inst_executed_op_memory_pred_on.sum"),
];

const MATH: [(Class, Math, &str); 9] = [
    (Class::Float16, Math::Add, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum"),
    (Class::Float16, Math::Multiply, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum"),
    (Class::Float16, Math::Fused, "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"),
    (Class::Float32, Math::Add, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"),
    (Class::Float32, Math::Multiply, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"),
    (Class::Float32, Math::Fused, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"),
    (Class::Float64, Math::Add, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"),
    (Class::Float64, Math::Multiply, "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"),
    (Class::Float64, Math::Fused, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"),
];

/// Names for loads and for stores.
struct Sides {
    kind: AccessKind,
    requests: &'static str,
    sectors: &'static str,
    ratio: &'static str,
    efficiency: &'static str,
    local: &'static str,
    wavefronts: &'static str,
    conflicts: &'static str,
}

const SIDES: [Sides; 2] = [
    Sides {
        kind: AccessKind::Load,
        requests: "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        sectors: "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        ratio: "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
        efficiency: "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
        local: "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        wavefronts: "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        conflicts: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    },
    Sides {
        kind: AccessKind::Store,
        requests: "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        sectors: "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        ratio: "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
        efficiency: "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
        local: "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
        wavefronts: "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        conflicts: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    },
];

/// Requests and sectors of atomics.
const ATOMICS: [(AccessKind, &str, &str); 2] = [
    (
        AccessKind::Atomic,
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    ),
    (
        AccessKind::Reduction,
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    ),
];

/// What some instructions cost together. What has nothing to count is left out.
pub fn of(instructions: &[Instruction]) -> Vec<Metric> {
    let sum = |wanted: &dyn Fn(&Instruction) -> bool, count: &dyn Fn(&Instruction) -> u64| -> f64 {
        instructions.iter().filter(|i| wanted(i)).map(count).sum::<u64>() as f64
    };
    let all = |count: &dyn Fn(&Instruction) -> u64| sum(&|_| true, count);
    let mut list = Vec::new();
    let mut add = |name, value: f64, kind| list.push(Metric { name, value, kind });

    let executed = all(&|i| i.counts.executed);
    let (threads, threads_on) = (all(&|i| i.counts.threads), all(&|i| i.counts.threads_on));
    add("smsp__inst_executed.sum", executed, Kind::Estimate);
    add("smsp__thread_inst_executed.sum", threads, Kind::Estimate);
    add("smsp__thread_inst_executed_pred_on.sum", threads_on, Kind::Estimate);
    if executed > 0.0 {
        add("smsp__thread_inst_executed_per_inst_executed.ratio", threads / executed, Kind::Estimate);
        add("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", threads_on / executed, Kind::Estimate);
    }
    let branches = sum(&|i| i.branches, &|i| i.counts.executed);
    if branches > 0.0 {
        let uniform = branches - all(&|i| i.counts.divergent);
        add("smsp__sass_average_branch_targets_threads_uniform.pct", 100.0 * uniform / branches, Kind::Estimate);
    }
    for (class, name) in CLASSES {
        let count = sum(&|i| i.class == class, &|i| i.counts.threads_on);
        if count > 0.0 {
            add(name, count, Kind::Estimate);
        }
    }
    for (class, math, name) in MATH {
        let count = sum(&|i| i.class == class && i.math == Some(math), &|i| i.counts.threads_on);
        if count > 0.0 {
            add(name, count, Kind::Estimate);
        }
    }
    let is_in = |i: &Instruction, space| i.access.is_some_and(|access| access.space == space);
    let is = |i: &Instruction, space, kind| is_in(i, space) && i.access.is_some_and(|access| access.kind == kind);
    for side in &SIDES {
        let global = |i: &Instruction| is(i, Space::Global, side.kind);
        let (requests, sectors) = (sum(&global, &|i| i.counts.requests), sum(&global, &|i| i.counts.sectors));
        if requests > 0.0 {
            add(side.requests, requests, Kind::Exact);
            add(side.sectors, sectors, Kind::Exact);
            add(side.ratio, sectors / requests, Kind::Exact);
            add(side.efficiency, 100.0 * sum(&global, &|i| i.counts.bytes) / (32.0 * sectors), Kind::Exact);
        }
    }
    for (kind, requests, sectors) in ATOMICS {
        let global = |i: &Instruction| is(i, Space::Global, kind);
        let count = sum(&global, &|i| i.counts.requests);
        if count > 0.0 {
            // ptxas makes atomics whose old value is not used reductions, and may add up over a
            // warp first.
            add(requests, count, Kind::Estimate);
            add(sectors, sum(&global, &|i| i.counts.sectors), Kind::Estimate);
        }
    }
    let global = |i: &Instruction| is_in(i, Space::Global);
    let (sectors, ideal) = (sum(&global, &|i| i.counts.sectors), sum(&global, &|i| i.counts.ideal_sectors));
    if sectors > 0.0 {
        add("memory_l2_theoretical_sectors_global", sectors, Kind::Exact);
        add("memory_l2_theoretical_sectors_global_ideal", ideal, Kind::Exact);
        add("derived__memory_l2_theoretical_sectors_global_excessive", (sectors - ideal).max(0.0), Kind::Exact);
    }
    let shared = |i: &Instruction| is_in(i, Space::Shared);
    let (waves, ideal) = (sum(&shared, &|i| i.counts.wavefronts), sum(&shared, &|i| i.counts.ideal_wavefronts));
    if waves > 0.0 {
        add("memory_l1_wavefronts_shared", waves, Kind::Exact);
        add("memory_l1_wavefronts_shared_ideal", ideal, Kind::Exact);
        add("derived__memory_l1_wavefronts_shared_excessive", (waves - ideal).max(0.0), Kind::Exact);
        let accesses = sum(&shared, &|i| i.counts.shared_requests);
        add("derived__memory_l1_conflicts_shared_nway", waves / accesses, Kind::Exact);
        let asked = sum(&shared, &|i| i.counts.shared_bytes);
        add("smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct", 100.0 * asked / (128.0 * waves), Kind::Exact);
    }
    for side in &SIDES {
        let shared = |i: &Instruction| is(i, Space::Shared, side.kind);
        let conflicts = sum(&shared, &|i| i.counts.wavefronts - i.counts.ideal_wavefronts.min(i.counts.wavefronts));
        if sum(&shared, &|i| i.counts.shared_requests) > 0.0 {
            // The hardware counts lost arbitration too.
            add(side.wavefronts, sum(&shared, &|i| i.counts.wavefronts), Kind::Bound);
            add(side.conflicts, conflicts, Kind::Bound);
        }
        let local = sum(&|i| is(i, Space::Local, side.kind), &|i| i.counts.sectors);
        if local > 0.0 {
            add(side.local, local, Kind::Bound);
        }
    }
    list
}

/// What can only be said of a launch as a whole.
pub fn of_memory(measured: &Measured) -> [Metric; 2] {
    let bytes = |name, sectors: u64| Metric { name, value: 32.0 * sectors as f64, kind: Kind::Bound };
    [bytes("dram__bytes_read.sum", measured.sectors_read), bytes("dram__bytes_write.sum", measured.sectors_written)]
}
