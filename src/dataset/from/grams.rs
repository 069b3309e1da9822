//! Does a text share words with what models are measured with? Runs of thirteen words, as language
//! models are checked for contamination (Brown et al. 2020).

use std::collections::HashSet;
use std::path::Path;

use crate::dataset::identity::hash64;
use crate::dataset::{Result, fail};
use crate::diag::Code;

/// Words of a gram.
const GRAM: usize = 13;

/// Of all texts of a folder.
#[derive(Default)]
pub struct Grams {
    known: HashSet<u64>,
}

impl Grams {
    /// The grams of all files below folders; the error names one that is not there.
    pub fn read(folders: &[std::path::PathBuf]) -> Result<Grams> {
        let mut out = Grams::default();
        for folder in folders {
            if !folder.exists() {
                return Err(fail(Code::E1404, format!("`--exclude {}`: there is no such folder", folder.display())));
            }
            out.add(folder, 0);
        }
        Ok(out)
    }

    fn add(&mut self, path: &Path, depth: usize) {
        const DEEPEST: usize = 32;
        if path.is_dir() && !path.is_symlink() && depth < DEEPEST {
            let mut entries: Vec<_> = std::fs::read_dir(path).into_iter().flatten().flatten().collect();
            entries.sort_by_key(std::fs::DirEntry::path);
            entries.iter().for_each(|entry| self.add(&entry.path(), depth + 1));
        } else if let Ok(text) = std::fs::read_to_string(path) {
            self.known.extend(grams(&words(&text)).map(|(hash, _)| hash));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Of all grams, whatever their order.
    pub fn digest(&self) -> u64 {
        self.known.iter().fold(0, |sum, gram| sum ^ gram)
    }

    /// A run of words that a text shares with these; None: there is none.
    pub fn shared(&self, text: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let words = words(text);
        let found = grams(&words).find(|(hash, _)| self.known.contains(hash))?;
        Some(words[found.1..found.1 + GRAM].join(" "))
    }
}

/// Names, numbers and words in small letters; signs do not count.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The hashes of the runs, with the places where they begin.
fn grams(words: &[String]) -> impl Iterator<Item = (u64, usize)> {
    words.windows(GRAM).enumerate().map(|(at, gram)| (hash64(gram.join(" ").as_bytes()), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirteen_words_in_a_row_are_shared() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "def relu(x, y): i = wp.tid(); y[i] = max(x[i], 0.0) # the rectified linear unit";
        std::fs::write(folder.path().join("bench.py"), text).expect("a file");
        let grams = Grams::read(&[folder.path().to_path_buf()]).expect("readable");
        assert!(grams.shared(&format!("# copied\n{text}\n")).is_some());
        assert_eq!(grams.shared("def relu(x, y): return max(x, y)"), None);
        assert!(Grams::read(&[folder.path().join("gone")]).is_err());
    }
}
