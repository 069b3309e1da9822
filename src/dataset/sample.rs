//! What is a candidate for a row? A program and what it is for.

use super::plan::Plan;

/// One program and what it was meant to be.
#[derive(Clone, Debug)]
pub struct Sample {
    pub plan: Plan,
    pub category: &'static str,
    pub domain: &'static str,
    pub meaning: Meaning,
}

/// What a program is for.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// The algorithm ([`families`](super::families)).
    pub family: Option<&'static str>,
    /// That all its programs are of ([`splits`](super::splits)).
    pub split: &'static str,
    /// Where its formula comes from.
    pub source: String,
    /// The kinds of algorithm that its kernels belong to.
    pub kinds: Vec<&'static str>,
    /// What a person would ask for: in a sentence, in a few, and with all data.
    pub tasks: [String; 3],
    /// Which of them a conversation begins with.
    pub level: usize,
    /// What its text says and its code does not do.
    pub false_claim: Option<String>,
    /// The same in PyTorch, Triton and Numba; empty where there is no such text.
    pub translations: Vec<String>,
    /// The licence of its row.
    pub licence: &'static str,
    /// Who wrote it: `family`, the library of algorithms; `from`, somebody whose folder was read.
    pub mode: &'static str,
}

impl Meaning {
    /// The task that a conversation begins with.
    pub fn prompt(&self) -> &str {
        &self.tasks[self.level.min(self.tasks.len() - 1)]
    }
}
