//! What would a launch cost a GPU, and why? Counts of the simulator under the names of Nsight
//! Compute, and what follows from them.
//!
//! | file | question it answers |
//! |---|---|
//! | `metrics` | what are the counts called, and how exact are they? |
//! | `occupancy` | how many blocks are resident on a multiprocessor, and what limits them? |
//! | `accesses` | what does each access of the source cost? |
//! | `advice` | what is slow, in words, and at which line? |
//! | `resident` | what follows from registers and shared memory, as far as they are known? |
//! | `registers` | how many registers has a thread? |
//! | `gpus`, `roofline` | what limits a launch on a GPU, and what could it reach at most? |
//! | `times` | how long does a launch take at least? |
//! | `plot`, `font` | how does that look? |
//! | `summary` | what does a page that changes while it is looked at show of a launch? |
//! | `html`, `program_page` | how does a person look at launches, and at all those of a program? |
//! | `compare` | what did a GPU count? |
//! | `gate` | does a launch hold a bound? |
//!
//! Addresses and masks say what is asked of a GPU, and with that how long its parts take at least;
//! not how long a launch takes.

mod accesses;
mod advice;
pub mod compare;
mod font;
mod gate;
pub mod gpus;
mod html;
mod metrics;
pub mod occupancy;
mod plot;
mod program_page;
mod registers;
mod resident;
mod roofline;
mod summary;
#[cfg(test)]
mod tests;
mod times;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use accesses::PlaceOfAccess;
pub use advice::Advice;
pub use gate::{Gate, Verdict};
pub use gpus::Gpu;
pub use html::{Page, report};
pub use metrics::{Kind, Metric, find, of as metrics_of, of_memory as metrics_of_memory};
pub use occupancy::{Limits, Occupancy};
pub use plot::Picture;
pub use program_page::program_page;
pub use registers::Registers;
pub use resident::Resident;
pub use roofline::Roofline;
pub use times::Times;

use crate::sim::Measured;
pub use crate::sim::Text;
use compare::Pair;

/// The architectures whose multiprocessors are known.
pub fn known_architectures() -> Vec<&'static str> {
    occupancy::ALL.iter().map(|limits| limits.arch).collect()
}

/// What is known of one launch of an entry.
pub struct Profile {
    pub measured: Measured,
    pub metrics: Vec<Metric>,
    /// The lines of the source, in order.
    pub lines: Vec<Line>,
    /// Accesses by their places in the source.
    pub accesses: Vec<PlaceOfAccess>,
    /// The lines of the PTX, where its text is known.
    pub ptx: Vec<PtxLine>,
    pub resident: Resident,
    /// Under the roofs of the architecture's GPU.
    pub roofline: Option<Roofline>,
    /// At least, on some GPUs.
    pub times: Vec<Times>,
    /// What costs most first.
    pub advice: Vec<Advice>,
}

/// What is wrong with a launch, for programs.
pub struct Found {
    pub code: &'static str,
    pub message: String,
    /// Of the source, where there is one.
    pub line: Option<u32>,
}

/// What a line of the source costs.
pub struct Line {
    pub line: u32,
    pub metrics: Vec<Metric>,
}

/// What a line of the PTX costs.
pub struct PtxLine {
    pub line: u32,
    pub text: String,
    /// The line of the source that it comes from.
    pub source: Option<u32>,
    pub metrics: Vec<Metric>,
}

/// The lines of the PTX that ran.
fn ptx_lines(measured: &Measured) -> Vec<PtxLine> {
    let Some(text) = &measured.text else { return Vec::new() };
    let mut by_line: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    measured.instructions.iter().for_each(|i| by_line.entry(i.ptx_line).or_default().push(*i));
    let texts: Vec<&str> = text.ptx.lines().collect();
    let one = |(line, list): (u32, Vec<_>)| PtxLine {
        line,
        text: texts.get(line as usize - 1).map_or("", |text| text.trim()).to_string(),
        source: list.first().and_then(|i: &crate::sim::Instruction| i.line),
        metrics: metrics::of(&list),
    };
    by_line.into_iter().filter(|(line, _)| *line > 0).map(one).collect()
}

/// Puts lines and columns in place of the offsets that PTX of kc's own gives as lines; `place` says
/// both for an offset.
pub fn locate(measured: &mut Measured, place: impl Fn(u32) -> (u32, u32)) {
    for instruction in &mut measured.instructions {
        let found = instruction.line.map(|offset| place(offset - 1));
        (instruction.line, instruction.column) = (found.map(|(line, _)| line), found.map_or(0, |(_, column)| column));
    }
}

/// The metrics that are shown where not all are.
pub const USUAL: [&str; 12] = [
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    "memory_l2_theoretical_sectors_global",
    "derived__memory_l2_theoretical_sectors_global_excessive",
    "derived__memory_l1_wavefronts_shared_excessive",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
];

impl Profile {
    /// `registers`: of a thread, as far as they are known.
    pub fn of(measured: Measured, limits: &'static Limits, registers: Registers) -> Profile {
        let all = metrics::of(&measured.instructions);
        let mut by_line: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for instruction in &measured.instructions {
            if let Some(line) = instruction.line {
                by_line.entry(line).or_default().push(*instruction);
            }
        }
        let lines = by_line.iter().map(|(&line, list)| Line { line, metrics: metrics::of(list) }).collect();
        let mut metrics = all;
        metrics.extend(metrics::of_memory(&measured));
        let shared = measured.shared_bytes + measured.form.dynamic_shared;
        let blocks = measured.form.grid.iter().map(|&extent| u64::from(extent)).product();
        Profile {
            times: Times::all(&metrics, blocks, &measured),
            roofline: Gpu::of(limits.arch).map(|gpu| Roofline::of(&metrics, blocks, gpu)),
            resident: Resident::of(limits, measured.form.threads(), registers, shared),
            ptx: ptx_lines(&measured),
            accesses: accesses::of(&measured.instructions),
            advice: advice::of(&measured),
            metrics,
            lines,
            measured,
        }
    }

    /// For programs; `file` is the source, `findings` what is wrong with the launch, `pairs` what a
    /// GPU counted beside it.
    pub fn json(&self, file: &str, arch: &str, findings: &[Found], pairs: Option<&[Pair]>) -> Value {
        let metrics = |list: &[Metric]| {
            let one = |m: &Metric| (m.name.to_string(), json!({ "value": m.number(), "kind": m.kind.name() }));
            Value::Object(list.iter().map(one).collect::<Map<_, _>>())
        };
        let lines: Vec<Value> = self
            .lines
            .iter()
            .map(|line| json!({ "file": file, "line": line.line, "metrics": metrics(&line.metrics) }))
            .collect();
        let accesses: Vec<Value> = self
            .accesses
            .iter()
            .map(|access| {
                json!({
                    "file": file, "line": access.line, "column": access.column, "kind": access.kind, "takes": access.takes,
                    "ideal": access.ideal, "unit": access.unit, "wasteful": access.is_wasteful(), "words": access.words, "metrics": metrics(&access.metrics),
                })
            })
            .collect();
        let ptx: Vec<Value> = self
            .ptx
            .iter()
            .map(|ptx| json!({ "line": ptx.line, "text": ptx.text, "source_line": ptx.source, "metrics": metrics(&ptx.metrics) }))
            .collect();
        let advice: Vec<Value> = self
            .advice
            .iter()
            .map(|advice| json!({ "line": advice.line, "message": advice.message, "metric": advice.metric }))
            .collect();
        let findings: Vec<Value> = findings
            .iter()
            .map(|found| json!({ "code": found.code, "message": found.message, "file": file, "line": found.line }))
            .collect();
        let mut all = json!({
            "entry": self.measured.entry,
            "grid": self.measured.form.grid,
            "block": self.measured.form.block,
            "arch": arch,
            "metrics": metrics(&self.metrics),
            "lines": lines,
            "accesses": accesses,
            "ptx": ptx,
            "occupancy": self.resident.json(),
            "roofline": self.roofline.as_ref().map(Roofline::json),
            "at_least": self.times.iter().map(Times::json).collect::<Vec<_>>(),
            "advice": advice,
            "findings": findings,
        });
        if let Some(pairs) = pairs {
            let pair = |p: &Pair| {
                let value =
                    json!({ "simulated": p.ours, "measured": p.theirs, "percent": p.percent(), "kind": p.kind.name() });
                (p.name.to_string(), value)
            };
            all["compared"] = Value::Object(pairs.iter().map(pair).collect());
        }
        all
    }
}
