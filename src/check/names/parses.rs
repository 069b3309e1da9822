//! Which of the files that programs import are parsed already?

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::diag::{Diagnostic, Diagnostics};
use crate::memo::lock;
use crate::source::{FileId, SourceFile};
use crate::syntax;
use crate::syntax::ast::Parsed;

/// The bytes of text of which the syntax trees are kept. A tree takes some ten times the memory.
const MOST_BYTES: usize = 24 << 20;

/// Imported files by their paths, parsed once for all programs of a compiler.
#[derive(Debug, Default)]
pub(in crate::check) struct Parses(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: HashMap<(PathBuf, PathBuf), Kept>,
    ids: HashMap<(PathBuf, PathBuf), FileId>,
    taken: HashSet<FileId>,
    bytes: usize,
    /// How often a file was asked for.
    asked: u64,
}

#[derive(Debug)]
struct Kept {
    file: Arc<ParsedFile>,
    /// When it was last asked for.
    last: u64,
}

/// A file that programs import.
#[derive(Debug)]
pub(in crate::check) struct ParsedFile {
    pub source: Arc<SourceFile>,
    pub parsed: Parsed,
    pub faults: Vec<Diagnostic>,
}

impl Parses {
    /// The file at a path, which messages call `shown`, with this text.
    pub fn of(&self, path: &Path, shown: PathBuf, text: String) -> Arc<ParsedFile> {
        let key = (path.to_path_buf(), shown);
        let id = {
            let mut table = lock(&self.0);
            if let Some(known) = table.known(&key, &text) {
                return known;
            }
            table.id(&key)
        };
        let mut faults = Diagnostics::new();
        let parsed = syntax::parse(id, &text, &mut faults);
        let source = Arc::new(SourceFile::new(key.1.clone(), text));
        let file = Arc::new(ParsedFile { source, parsed, faults: faults.into_sorted() });
        lock(&self.0).keep(key, file.clone());
        file
    }
}

impl Table {
    fn id(&mut self, key: &(PathBuf, PathBuf)) -> FileId {
        if let Some(id) = self.ids.get(key) {
            return *id;
        }
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let mut slot = hasher.finish() as u32;
        while !self.taken.insert(FileId::kept(slot)) {
            slot = slot.wrapping_add(1);
        }
        self.ids.insert(key.clone(), FileId::kept(slot));
        FileId::kept(slot)
    }

    fn known(&mut self, key: &(PathBuf, PathBuf), text: &str) -> Option<Arc<ParsedFile>> {
        self.asked += 1;
        let kept = self.files.get_mut(key).filter(|kept| kept.file.source.text == text)?;
        kept.last = self.asked;
        Some(kept.file.clone())
    }

    /// Drops the files that were used least recently (LRU) until this one fits.
    fn keep(&mut self, key: (PathBuf, PathBuf), file: Arc<ParsedFile>) {
        self.forget(&key);
        let bytes = file.source.text.len();
        if bytes > MOST_BYTES {
            return;
        }
        while self.bytes + bytes > MOST_BYTES {
            let oldest = self.files.iter().min_by_key(|(_, kept)| kept.last).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.forget(&oldest);
        }
        self.bytes += bytes;
        self.files.insert(key, Kept { file, last: self.asked });
    }

    fn forget(&mut self, key: &(PathBuf, PathBuf)) {
        if let Some(old) = self.files.remove(key) {
            self.bytes -= old.file.source.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(parses: &Parses, path: &str, text: &str) -> Arc<ParsedFile> {
        parses.of(Path::new(path), PathBuf::from(path), text.to_string())
    }

    #[test]
    fn a_text_is_parsed_once_and_a_changed_one_again() {
        let parses = Parses::default();
        let (first, again) = (file(&parses, "/a.py", "N = 3\n"), file(&parses, "/a.py", "N = 3\n"));
        assert!(Arc::ptr_eq(&first, &again));
        let changed = file(&parses, "/a.py", "N = 3\nM = 4\n");
        assert_eq!((first.parsed.items.len(), changed.parsed.items.len()), (1, 2));
        assert_eq!(first.parsed.file, changed.parsed.file);
        assert!(Arc::ptr_eq(&changed, &file(&parses, "/a.py", "N = 3\nM = 4\n")));
        assert_ne!(first.parsed.file, file(&parses, "/b.py", "N = 3\n").parsed.file);
    }

    #[test]
    fn ids_are_apart_and_memory_is_bounded() {
        let parses = Parses::default();
        let ids: HashSet<FileId> = (0..3000).map(|n| file(&parses, &format!("/{n}.py"), "").parsed.file).collect();
        assert_eq!(ids.len(), 3000);
        let long = format!("# {}\n", "x".repeat(MOST_BYTES / 3));
        let first = file(&parses, "/a.py", &long);
        let second = file(&parses, "/b.py", &long);
        assert!(Arc::ptr_eq(&first, &file(&parses, "/a.py", &long)));
        // The one that was asked for last stays.
        file(&parses, "/c.py", &long);
        assert!(Arc::ptr_eq(&first, &file(&parses, "/a.py", &long)));
        assert!(!Arc::ptr_eq(&second, &file(&parses, "/b.py", &long)));
        let huge = "#".repeat(MOST_BYTES + 1);
        assert!(!Arc::ptr_eq(&file(&parses, "/d.py", &huge), &file(&parses, "/d.py", &huge)));
        assert!(lock(&parses.0).bytes <= MOST_BYTES);
    }
}
