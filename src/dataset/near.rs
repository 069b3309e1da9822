//! Are two programs nearly the same? Sketches of the sets of their word 5-grams: the share of equal
//! entries estimates the Jaccard similarity of the sets (Broder 1997), and tables of parts of
//! sketches find candidates without looking at all (Indyk and Motwani 1998). So a set costs time
//! and memory in proportion to its size.

use std::collections::HashMap;

/// Entries of a sketch.
pub const ENTRIES: usize = 64;

/// Entries that candidates agree in, side by side.
const BAND: usize = 4;

/// Bands of which tables are kept: more find more, and cost memory.
const BANDS: usize = 8;

/// Words of a gram.
const GRAM: usize = 5;

/// So many equal entries make two programs nearly the same: an estimated similarity of .7.
pub const NEAR: usize = 46;

/// What represents a program's words: in each class of grams by their hash, the least hash (Li,
/// Owen and Zhang 2012). A class without grams takes the entry of another, drawn from its number
/// (Shrivastava 2017).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sketch(pub [u32; ENTRIES]);

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch([0; ENTRIES])
    }
}

impl Sketch {
    /// Of the [`words`] of a text.
    pub fn of(words: &[u64]) -> Sketch {
        /// No hash of a gram.
        const NONE: u64 = u64::MAX;
        let mut least = [NONE; ENTRIES];
        for gram in words.windows(GRAM.min(words.len().max(1))) {
            let hash = finish(mix(gram.iter().copied()));
            let class = &mut least[(hash >> 32) as usize % ENTRIES];
            *class = (*class).min(hash & u64::from(u32::MAX));
        }
        if words.is_empty() {
            return Sketch::default();
        }
        let filled = |class: usize| {
            let others = (1u64..).map(|turn| finish((class as u64) << 32 | turn) as usize % ENTRIES);
            std::iter::once(class).chain(others).map(|class| least[class]).find(|&hash| hash != NONE)
        };
        Sketch(std::array::from_fn(|class| filled(class).unwrap_or(0) as u32))
    }

    /// The last bits of the entries, enough to tell them apart (Li and Koenig 2010).
    fn narrow(&self) -> Narrow {
        self.0.map(|entry| entry as u8)
    }
}

type Narrow = [u8; ENTRIES];

/// The number of equal entries.
fn agreement(a: &Narrow, b: &Narrow) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}

/// The hashes of a text's words, which stand between blanks.
pub fn words(text: &str) -> Vec<u64> {
    text.split_ascii_whitespace().map(|word| mix(word.bytes().map(u64::from))).collect()
}

/// FNV-1a (Fowler, Noll, Vo), on words.
pub fn mix(words: impl Iterator<Item = u64>) -> u64 {
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
    sketches: Vec<Narrow>,
    /// The first sketch with these entries in this band.
    bands: HashMap<u32, u32>,
}

impl Index {
    /// Adds a sketch unless one is there that agrees with it in so many entries; says whether it
    /// was added.
    pub fn add(&mut self, sketch: &Sketch, most: usize) -> bool {
        let number = self.sketches.len() as u32;
        let keys = sketch.0.chunks(BAND).take(BANDS).enumerate().map(|(band, part)| {
            let words = part.iter().map(|&entry| u64::from(entry));
            finish(mix(std::iter::once(band as u64).chain(words))) as u32
        });
        let keys: Vec<u32> = keys.collect();
        let narrow = sketch.narrow();
        let near = |key: &u32| {
            let found = self.bands.get(key).and_then(|&n| self.sketches.get(n as usize));
            found.is_some_and(|other| agreement(&narrow, other) >= most)
        };
        if keys.iter().any(near) {
            return false;
        }
        self.sketches.push(narrow);
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
        let of = |text: &str| Sketch::of(&words(text));
        let mut index = Index::default();
        let mut add = |text: &str, most: usize| index.add(&of(text), most);
        assert!(add(&text(0), NEAR));
        assert!(!add(&text(0), ENTRIES));
        assert!(!add(&text(2), NEAR), "6 of 100 grams differ");
        assert!(add(&text(2), ENTRIES), "some do");
        assert!(add(&text(60), NEAR), "most grams differ");
        assert!(add("", NEAR) && add("one word", NEAR));
    }
}
