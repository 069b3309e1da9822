//! What does each access cost? Loads, stores and atomics by their place in the source, in words and
//! figures.

use std::collections::BTreeMap;

use super::advice::{self, WASTEFUL};
use super::metrics::{self, Metric};
use crate::ptx::Space;
use crate::sim::{AccessKind, Counts, Instruction};

/// What is read or written at a place of the source.
#[derive(Clone, PartialEq, Debug)]
pub struct PlaceOfAccess {
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// `load`, `store`, `atomic`
    pub kind: &'static str,
    /// What a request takes, and what it had to: sectors of global memory, or wavefronts of shared
    /// memory.
    pub takes: f64,
    pub ideal: f64,
    /// `sectors`, `wavefronts`
    pub unit: &'static str,
    /// `9.1 sectors per request, ideal 3.6`
    pub words: String,
    pub metrics: Vec<Metric>,
}

impl PlaceOfAccess {
    /// Whether it takes much more than it had to.
    pub fn is_wasteful(&self) -> bool {
        self.takes >= WASTEFUL * self.ideal
    }
}

fn kind_of(instruction: &Instruction) -> Option<(&'static str, Space)> {
    let access = instruction.access?;
    let kind = match access.kind {
        AccessKind::Load | AccessKind::Copy => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic | AccessKind::Reduction => "atomic",
    };
    matches!(access.space, Space::Global | Space::Shared).then_some((kind, access.space))
}

/// In the order of the source. What is at no place of it, or goes to memory of single threads, is
/// left out.
pub fn of(instructions: &[Instruction]) -> Vec<PlaceOfAccess> {
    let mut groups: BTreeMap<(u32, u32, &str, bool), Vec<Instruction>> = BTreeMap::new();
    for instruction in instructions {
        if let (Some(line), Some((kind, space))) = (instruction.line, kind_of(instruction))
            && instruction.column > 0
        {
            groups.entry((line, instruction.column, kind, space == Space::Shared)).or_default().push(*instruction);
        }
    }
    let one = |((line, column, kind, shared), list): ((u32, u32, &'static str, bool), Vec<Instruction>)| {
        let mut sum = Counts::default();
        list.iter().for_each(|instruction| sum.add(&instruction.counts));
        let (requests, takes, ideal, words) = match shared {
            true => (sum.shared_requests, sum.wavefronts, sum.ideal_wavefronts, advice::wavefronts(&sum)),
            false => (sum.requests, sum.sectors, sum.ideal_sectors, advice::per_request(&sum)),
        };
        let each = |count: u64| count as f64 / requests as f64;
        let (takes, ideal) = (each(takes), each(ideal));
        let unit = if shared { "wavefronts" } else { "sectors" };
        let metrics = metrics::of(&list);
        (requests > 0).then_some(PlaceOfAccess { line, column, kind, takes, ideal, unit, words, metrics })
    };
    groups.into_iter().filter_map(one).collect()
}
