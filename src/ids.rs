//! Typed indices: an id is a `u32` newtype, data lives in an [`IdVec`] indexed by it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense index that a [`define_id!`](crate::define_id) type implements.
pub trait Id: Copy + Eq {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

/// Defines a `u32` newtype id that prints as its prefix and number, such as `%12`.
#[macro_export]
#[doc(hidden)]
macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $crate::ids::Id for $name {
            #[inline]
            fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 ids of one kind"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

/// A vector indexed by one id type only.
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    marker: PhantomData<fn(I)>,
}

impl<I: Id, T> IdVec<I, T> {
    pub fn new() -> Self {
        Self { items: Vec::new(), marker: PhantomData }
    }

    #[inline]
    pub fn push(&mut self, item: T) -> I {
        let id = I::new(self.items.len());
        self.items.push(item);
        id
    }

    /// Drops all but the first items.
    pub fn truncate(&mut self, count: usize) {
        self.items.truncate(count);
    }

    /// Makes room for `more` items.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve(more);
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    #[inline]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::new)
    }

    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, t)| (I::new(i), t))
    }

    #[inline]
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    #[inline]
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
}

/// A small set of ids as a sorted list: quick to copy and to walk in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdList<I> {
    items: Vec<I>,
}

impl<I: Copy + Ord> IdList<I> {
    pub const fn new() -> Self {
        Self { items: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn contains(&self, id: I) -> bool {
        self.items.binary_search(&id).is_ok()
    }

    /// Says whether it was not there yet.
    pub fn insert(&mut self, id: I) -> bool {
        match self.items.binary_search(&id) {
            Ok(_) => false,
            Err(at) => {
                self.items.insert(at, id);
                true
            }
        }
    }

    pub fn remove(&mut self, id: I) {
        if let Ok(at) = self.items.binary_search(&id) {
            self.items.remove(at);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = I> {
        self.items.iter().copied()
    }
}

impl<I> Default for IdList<I> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<I: Copy + Ord> Extend<I> for IdList<I> {
    fn extend<T: IntoIterator<Item = I>>(&mut self, ids: T) {
        let before = self.items.len();
        self.items.extend(ids);
        if self.items.len() > before {
            self.items.sort_unstable();
            self.items.dedup();
        }
    }
}

impl<I: Copy + Ord> FromIterator<I> for IdList<I> {
    fn from_iter<T: IntoIterator<Item = I>>(ids: T) -> Self {
        let mut list = Self::new();
        list.extend(ids);
        list
    }
}

/// A map whose keys are ids, or made of ids.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// A set of ids, or of what is made of ids.
pub type IdSet<K> = HashSet<K, BuildHasherDefault<IdHasher>>;

/// Mixes by one multiplication per word: ids are small numbers that nobody chooses to collide.
#[derive(Clone, Copy, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.write_u64(rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        // An odd number with bits all over: 2^64 over the golden ratio.
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // Tables take the low bits, which the multiplication mixes least.
        self.0.rotate_left(26)
    }
}

impl<I: Id, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T: std::fmt::Debug> std::fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(iter: It) -> Self {
        Self { items: iter.into_iter().collect(), marker: PhantomData }
    }
}
