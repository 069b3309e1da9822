//! What is kept from program to program, and how much? Most of a program is library code, which
//! comes out the same every time. Whoever compiles owns the tables ([`crate::driver::Compiler`]);
//! several threads may use one at a time.

use std::any::Any;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ids::IdMap;

/// Things by keys that say all that they depend on, such as [fingerprints](crate::ir::fingerprint),
/// with a bound on their memory: when they exceed it, all are forgotten. That is rare enough to
/// need no better choice, and costs nothing in between.
pub struct Memo<K, V> {
    known: Mutex<Known<K, V>>,
    most: usize,
}

struct Known<K, V> {
    things: IdMap<K, V>,
    size: usize,
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// `most`: the sum of the sizes, in whatever unit [`Memo::keep`] is reported them, that is not
    /// exceeded by more than one thing.
    pub const fn new(most: usize) -> Memo<K, V> {
        let things = IdMap::with_hasher(BuildHasherDefault::new());
        Memo { known: Mutex::new(Known { things, size: 0 }), most }
    }

    pub fn get(&self, key: &K) -> Option<V> {
        lock(&self.known).things.get(key).cloned()
    }

    /// Keeps a thing in the place of the one that had its key, if there was one.
    pub fn keep(&self, key: K, value: V, size: usize) {
        let mut known = lock(&self.known);
        let forgotten = if known.size >= self.most {
            known.size = 0;
            std::mem::take(&mut known.things)
        } else {
            IdMap::default()
        };
        known.size += size;
        known.things.insert(key, value);
        // It takes time, in which others can go on.
        drop(known);
        drop(forgotten);
    }

    /// The sum of the sizes of what was kept since all was forgotten the last time.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        lock(&self.known).size
    }
}

impl<K, V> std::fmt::Debug for Memo<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = lock(&self.known);
        write!(f, "{} things, size {} of {}", known.things.len(), known.size, self.most)
    }
}

/// Whoever panicked with a lock left a table as it was before or after a change.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thing that is only equal to itself, by its address, which no other has as long as this is
/// kept.
pub struct Same<T>(pub Arc<T>);

impl<T> Clone for Same<T> {
    fn clone(&self) -> Self {
        Same(self.0.clone())
    }
}

impl<T> PartialEq for Same<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for Same<T> {}

impl<T> Hash for Same<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl<T> std::fmt::Debug for Same<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:p}", Arc::as_ptr(&self.0))
    }
}

/// What was found out about something that never changes: at most one fact of each type, which goes
/// with the thing.
#[derive(Default)]
pub struct Facts {
    known: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

impl Facts {
    /// The fact of this type, if it is known.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        lock(&self.known).iter().find(|fact| fact.is::<T>()).and_then(|fact| fact.clone().downcast().ok())
    }

    /// Keeps a fact in the place of the one of its type, if there was one.
    pub fn keep<T: Any + Send + Sync>(&self, fact: Arc<T>) {
        let mut known = lock(&self.known);
        match known.iter_mut().find(|known| known.is::<T>()) {
            Some(known) => *known = fact,
            None => known.push(fact),
        }
    }

    /// The fact of this type, found now if it is not known.
    pub fn get_or_find<T: Any + Send + Sync>(&self, find: impl FnOnce() -> T) -> Arc<T> {
        self.get().unwrap_or_else(|| {
            let fact = Arc::new(find());
            self.keep(fact.clone());
            fact
        })
    }
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} facts", lock(&self.known).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_bound_is_forgotten_at_once() {
        let memo = Memo::new(10);
        memo.keep(1, 'a', 6);
        memo.keep(2, 'b', 6);
        assert_eq!((memo.get(&1), memo.get(&2), memo.size()), (Some('a'), Some('b'), 12));
        memo.keep(3, 'c', 1);
        assert_eq!((memo.get(&1), memo.get(&2), memo.get(&3), memo.size()), (None, None, Some('c'), 1));
        memo.keep(4, 'd', 6);
        assert_eq!((memo.get(&3), memo.get(&4)), (Some('c'), Some('d')));
    }

    #[test]
    fn a_thing_has_one_fact_of_a_type() {
        let facts = Facts::default();
        assert_eq!(*facts.get_or_find(|| 1_u8), 1);
        assert_eq!(*facts.get_or_find(|| 2_u8), 1);
        assert_eq!(facts.get::<u16>(), None);
        facts.keep(Arc::new(3_u16));
        facts.keep(Arc::new(4_u16));
        assert_eq!((facts.get::<u8>().as_deref(), facts.get::<u16>().as_deref()), (Some(&1), Some(&4)));
    }

    #[test]
    fn a_thing_is_the_same_as_itself_alone() {
        let (a, b) = (Same(Arc::new(1)), Same(Arc::new(1)));
        assert!(a == a.clone() && a != b);
    }
}
