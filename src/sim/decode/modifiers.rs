//! The modifiers of an instruction, in any order: each is taken by what knows it, and what is left
//! is unknown.

use smallvec::SmallVec;

use crate::ptx::{Space, Type};
use crate::sim::value::Round;

pub struct Modifiers<'t> {
    left: SmallVec<[&'t str; 6]>,
}

impl<'t> Modifiers<'t> {
    pub fn new(all: &[&'t str]) -> Modifiers<'t> {
        Modifiers { left: all.iter().copied().collect() }
    }

    /// Whether it is there; then it is taken.
    pub fn take(&mut self, word: &str) -> bool {
        let at = self.left.iter().position(|m| *m == word);
        at.map(|at| self.left.remove(at)).is_some()
    }

    /// The first of those that satisfy `known`.
    pub fn find<T>(&mut self, known: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, found) = self.left.iter().enumerate().find_map(|(n, m)| Some((n, known(m)?)))?;
        self.left.remove(at);
        Some(found)
    }

    /// The types, in their order.
    pub fn types(&mut self) -> SmallVec<[Type; 2]> {
        let mut types = SmallVec::new();
        while let Some(ty) = self.find(Type::named) {
            types.push(ty);
        }
        types
    }

    pub fn space(&mut self) -> Space {
        self.find(Space::named).unwrap_or(Space::Generic)
    }

    /// The rounding that is asked for.
    pub fn rounding(&mut self) -> Option<Round> {
        self.find(|m| match m {
            "rn" => Some(Round::Near),
            "rz" => Some(Round::Zero),
            "rm" => Some(Round::Down),
            "rp" => Some(Round::Up),
            _ => None,
        })
    }

    /// Takes every one of these that is there.
    pub fn ignore(&mut self, words: &[&str]) {
        self.left.retain(|m| !words.contains(m));
    }

    /// Takes those that say how caches hold what is read or written.
    pub fn ignore_caching(&mut self) {
        let hint = |m: &str| m.starts_with("L1::") || m.starts_with("L2::") || m.starts_with("level::");
        self.left.retain(|m| !hint(m));
        self.ignore(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
    }

    /// What nobody took.
    pub fn rest(&self) -> Option<&'t str> {
        self.left.first().copied()
    }
}
