//! Which locals are in a set? A bit per local, for the analyses of one function.

use crate::check::tree::LocalId;
use crate::ids::Id;

/// A set of locals of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct LocalSet {
    words: Vec<u64>,
}

impl LocalSet {
    /// An empty set for a function with `locals` locals.
    pub fn new(locals: usize) -> LocalSet {
        LocalSet { words: vec![0; locals.div_ceil(64)] }
    }

    pub fn insert(&mut self, local: LocalId) {
        self.words[local.index() / 64] |= 1 << (local.index() % 64);
    }

    pub fn remove(&mut self, local: LocalId) {
        self.words[local.index() / 64] &= !(1 << (local.index() % 64));
    }

    pub fn contains(&self, local: LocalId) -> bool {
        self.words[local.index() / 64] >> (local.index() % 64) & 1 == 1
    }

    /// Adds every member of `other`.
    pub fn add_all(&mut self, other: &LocalSet) {
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// The members of both sets, in the order of the locals.
    pub fn common(&self, other: &LocalSet) -> Vec<LocalId> {
        let mut members = Vec::new();
        for (n, (&a, &b)) in self.words.iter().zip(&other.words).enumerate() {
            let mut word = a & b;
            while word != 0 {
                members.push(LocalId::new(n * 64 + word.trailing_zeros() as usize));
                word &= word - 1;
            }
        }
        members
    }
}
