//! Are two programs nearly the same? Sketches of the sets of their word 5-grams: the share of equal entries estimates the
//! Jaccard similarity of the sets (Broder 1997), and tables of parts of sketches find candidates without looking at all
//! (Indyk and Motwani 1998). So a set costs time and memory in proportion to its size.

use std::collections::HashMap;

/// Entries of a sketch.
const ENTRIES: usize = 32;

/// Entries that candidates agree in, side by side.
const BAND: usize = 4;

/// Words of a gram.
const GRAM: usize = 5;

/// So many equal entries make two programs nearly the same: an estimated similarity of .7.
const NEAR: usize = 23;

/// What stands for a program's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sketch([u16; ENTRIES]);

impl Sketch {
    /// Of a text whose words stand between blanks.
    pub fn of(text: &str) -> Sketch {
        let words: Vec<u64> = text.split_ascii_whitespace().map(|word| mix(word.bytes().map(u64::from))).collect();
        let mut least = [u64::MAX; ENTRIES];
        for gram in words.windows(GRAM.min(words.len().max(1))) {
            let hash = mix(gram.iter().copied());
            for (k, least) in least.iter_mut().enumerate() {
                *least = (*least).min(finish(hash ^ (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            }
        }
        Sketch(least.map(|hash| hash as u16))
    }

    /// The number of equal entries.
    fn agreement(&self, other: &Sketch) -> usize {
        self.0.iter().zip(&other.0).filter(|(a, b)| a == b).count()
    }
}

/// FNV-1a (Fowler, Noll, Vo), on words.
fn mix(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The end of MurmurHash3 (Appleby): spreads a number over all bits.
fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// The sketches so far.
#[derive(Default)]
pub struct Index {
    sketches: Vec<Sketch>,
    /// The first sketch with these entries in this band.
    bands: HashMap<u32, u32>,
}

impl Index {
    /// Adds a sketch unless one is there that is nearly the same; says whether it was added.
    pub fn add(&mut self, sketch: &Sketch) -> bool {
        let number = self.sketches.len() as u32;
        let keys = sketch.0.chunks(BAND).enumerate().map(|(band, part)| {
            let words = part.iter().map(|&entry| u64::from(entry));
            finish(mix(std::iter::once(band as u64).chain(words))) as u32
        });
        let keys: Vec<u32> = keys.collect();
        let near = |key: &u32| {
            let found = self.bands.get(key).and_then(|&n| self.sketches.get(n as usize));
            found.is_some_and(|other| sketch.agreement(other) >= NEAR)
        };
        if keys.iter().any(near) {
            return false;
        }
        self.sketches.push(*sketch);
        for key in keys {
            self.bands.entry(key).or_insert(number);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_share_most_words_are_near() {
        let text = |changed: usize| {
            let word = |n: usize| if n % 100 < changed { format!("other{n} ") } else { format!("word{n} ") };
            (0..400).map(word).collect::<String>()
        };
        let mut index = Index::default();
        assert!(index.add(&Sketch::of(&text(0))));
        assert!(!index.add(&Sketch::of(&text(0))));
        assert!(!index.add(&Sketch::of(&text(2))), "6 of 100 grams differ");
        assert!(index.add(&Sketch::of(&text(60))), "most grams differ");
        assert!(index.add(&Sketch::of("")) && index.add(&Sketch::of("one word")));
    }
}
