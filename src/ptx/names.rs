//! Which register or variable is meant? Names are those of the innermost block that declares them.

use std::collections::HashMap;

use super::{Register, Type};

/// What a name represents.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Name {
    Register(Register),
    Variable(usize),
}

/// `%r<87>`: registers `%r0` to `%r86`.
struct Range<'t> {
    prefix: &'t str,
    first: Register,
    count: u32,
}

/// One `{ ... }`.
#[derive(Default)]
pub struct Scope<'t> {
    ranges: Vec<Range<'t>>,
    names: HashMap<&'t str, Name>,
    /// Labels that stand in it, and the instruction after them.
    pub labels: HashMap<&'t str, usize>,
    /// Uses of labels: operand `operand` of an instruction.
    pub wanted: Vec<Wanted<'t>>,
    pub tables: HashMap<&'t str, Vec<Wanted<'t>>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Wanted<'t> {
    pub label: &'t str,
    pub instruction: usize,
    pub operand: usize,
    pub at: super::Place,
}

impl<'t> Scope<'t> {
    pub fn declare_range(&mut self, prefix: &'t str, first: Register, count: u32) {
        self.ranges.push(Range { prefix, first, count });
    }

    /// Whether the name is new here.
    pub fn declare(&mut self, name: &'t str, what: Name) -> bool {
        self.names.insert(name, what).is_none()
    }

    fn find(&self, name: &str, prefix: &str, number: Option<u32>) -> Option<Name> {
        if let Some(number) = number {
            let range = self.ranges.iter().find(|r| r.prefix == prefix && number < r.count);
            if let Some(range) = range {
                return Some(Name::Register(range.first + number));
            }
        }
        if self.names.is_empty() { None } else { self.names.get(name).copied() }
    }
}

/// The innermost meaning of a name.
pub fn find(scopes: &[Scope], name: &str) -> Option<Name> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[prefix.len()..];
    // `%r01` is no register of `%r<2>`.
    let number = digits.parse().ok().filter(|_| digits.len() == 1 || !digits.starts_with('0'));
    scopes.iter().rev().find_map(|scope| scope.find(name, prefix, number))
}

/// Registers that stand without a declaration: none but these.
pub fn is_special(name: &str) -> bool {
    matches!(
        name,
        "laneid"
            | "warpid"
            | "nwarpid"
            | "smid"
            | "nsmid"
            | "gridid"
            | "clock"
            | "clock_hi"
            | "clock64"
            | "globaltimer"
            | "globaltimer_lo"
            | "globaltimer_hi"
            | "lanemask_eq"
            | "lanemask_le"
            | "lanemask_lt"
            | "lanemask_ge"
            | "lanemask_gt"
            | "dynamic_smem_size"
            | "total_smem_size"
            | "cluster_ctarank"
            | "cluster_nctarank"
            | "envreg1"
            | "envreg2"
    ) || is_vector(name)
}

/// Whether a special register has elements.
pub fn is_vector(name: &str) -> bool {
    VECTORS.iter().any(|[x, ..]| x.strip_suffix(".x") == Some(name))
}

/// Special registers that are vectors, by their elements (PTX ISA, section 10).
pub const VECTORS: [[&str; 3]; 8] = [
    ["tid.x", "tid.y", "tid.z"],
    ["ntid.x", "ntid.y", "ntid.z"],
    ["ctaid.x", "ctaid.y", "ctaid.z"],
    ["nctaid.x", "nctaid.y", "nctaid.z"],
    ["clusterid.x", "clusterid.y", "clusterid.z"],
    ["nclusterid.x", "nclusterid.y", "nclusterid.z"],
    ["cluster_ctaid.x", "cluster_ctaid.y", "cluster_ctaid.z"],
    ["cluster_nctaid.x", "cluster_nctaid.y", "cluster_nctaid.z"],
];

/// Special registers that PTX has and kc does not.
pub fn is_rare(name: &str) -> bool {
    const BEGINNINGS: [&str; 5] = ["envreg", "is_explicit_cluster", "aggr_smem_size", "reserved_smem", "current_graph"];
    let counts = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && !is_special(name)
        || name.strip_prefix("pm").is_some_and(counts)
}

/// The registers of a function so far.
pub fn push(registers: &mut Vec<Type>, ty: Type, count: u32) -> Register {
    let first = registers.len() as Register;
    registers.resize(registers.len() + count as usize, ty);
    first
}
