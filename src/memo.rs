//! What does a thread remember of earlier programs, and how much? Most of a program is library code, which comes out the same
//! every time.

use std::hash::Hash;

use crate::ids::IdMap;

/// Things by keys that say all that they depend on, such as [contents](crate::ir::content), with a bound on their memory:
/// when they exceed it, all are forgotten. That is rare enough to need no better choice, and costs nothing in between.
pub struct Memo<K, V> {
    known: IdMap<K, V>,
    size: usize,
    most: usize,
}

impl<K: Eq + Hash, V> Memo<K, V> {
    /// `most`: the sum of the sizes, in whatever unit [`Memo::keep`] is told them, that is not exceeded by more than one thing.
    pub const fn new(most: usize) -> Memo<K, V> {
        Memo { known: IdMap::with_hasher(std::hash::BuildHasherDefault::new()), size: 0, most }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.known.get(key)
    }

    /// Keeps a thing in the place of the one that had its key, if there was one. Gives what had to be forgotten for it.
    pub fn keep(&mut self, key: K, value: V, size: usize) -> IdMap<K, V> {
        let mut forgotten = IdMap::default();
        if self.size >= self.most {
            forgotten = std::mem::take(&mut self.known);
            self.size = 0;
        }
        self.size += size;
        self.known.insert(key, value);
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_bound_is_forgotten_at_once() {
        let mut memo = Memo::new(10);
        assert!(memo.keep(1, 'a', 6).is_empty() && memo.keep(2, 'b', 6).is_empty());
        assert_eq!((memo.get(&1), memo.get(&2)), (Some(&'a'), Some(&'b')));
        assert_eq!(memo.keep(3, 'c', 1).len(), 2);
        assert_eq!((memo.get(&1), memo.get(&3)), (None, Some(&'c')));
        assert!(memo.keep(4, 'd', 6).is_empty());
    }
}
