//! Which texts are open, and what do they say? Kept as the client edits them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gen_lsp_types::{Range, TextDocumentContentChangeEvent};

use super::position::Encoding;
use crate::driver::{Disk, python_files};
use crate::source::{FileSystem, SourceFile};

/// Larger texts are kept in step but not looked at, in bytes: nobody writes them, and a check would
/// take seconds.
const MAX_TEXT: usize = 2 << 20;

/// A text at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub uri: String,
    pub version: i32,
    pub source: Arc<SourceFile>,
    /// What it imports from.
    pub files: Arc<Files>,
}

/// The files that documents import from: what is open says more than the disk.
#[derive(Debug, Default)]
pub struct Files {
    open: Mutex<HashMap<PathBuf, Open>>,
    folders: Mutex<Vec<PathBuf>>,
}

/// An open document, by its path.
#[derive(Clone, Debug)]
pub struct Open {
    pub uri: String,
    pub version: i32,
    pub source: Arc<SourceFile>,
}

impl Files {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files that are open, as they are on the screen.
    pub fn open(&self) -> Vec<Arc<SourceFile>> {
        self.lock().values().map(|open| open.source.clone()).collect()
    }

    /// The document of an absolute path, if it is open.
    pub fn at(&self, path: &Path) -> Option<Open> {
        self.lock().get(path).cloned()
    }

    fn set(&self, snapshot: &Snapshot) {
        let Snapshot { uri, version, source, .. } = snapshot.clone();
        self.lock().insert(self.absolute(&source.path), Open { uri, version, source });
    }

    /// The folders of the workspace, absolute.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds and removes folders of the workspace.
    pub fn change_folders(&self, added: &[String], removed: &[String]) {
        let paths = |uris: &[String]| uris.iter().map(|uri| self.absolute(&path(uri))).collect::<Vec<_>>();
        let (added, removed) = (paths(added), paths(removed));
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.retain(|folder| !removed.contains(folder) && !added.contains(folder));
        folders.extend(added);
    }

    /// Whether a rename may change a file: those of the workspace; without one, those that are
    /// open.
    pub fn writable(&self, path: &Path) -> bool {
        let folders = self.folders();
        match folders.is_empty() {
            true => self.at(path).is_some(),
            false => folders.iter().any(|folder| path.starts_with(folder)),
        }
    }

    /// The Python files in which names are searched: those of the workspace, and the open ones.
    /// Without a workspace, also those beside `asked`.
    pub fn python(&self, asked: &Path) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self.lock().keys().cloned().collect();
        let folders = self.folders();
        match asked.parent() {
            Some(beside) if folders.is_empty() => python_files(beside, false, &mut found),
            _ => folders.iter().for_each(|folder| python_files(folder, true, &mut found)),
        }
        found.sort();
        found.dedup();
        found
    }
}

impl FileSystem for Files {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        if let Some(open) = self.lock().get(path) {
            return Some(Ok(open.source.text.clone()));
        }
        Disk.read(path)
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        Disk.absolute(path)
    }

    fn written(&self, path: &Path) -> PathBuf {
        Disk.written(path)
    }

    fn installed(&self, path: &Path) -> Vec<PathBuf> {
        Disk.installed(path)
    }
}

impl Snapshot {
    /// Whether there can be anything of ours in it: kernels name Warp.
    pub fn concerns_us(&self) -> bool {
        self.source.text.len() <= MAX_TEXT && self.source.text.contains("warp")
    }
}

#[derive(Debug, Default)]
pub struct Documents {
    open: HashMap<String, Snapshot>,
    pub files: Arc<Files>,
}

impl Documents {
    pub fn open(&mut self, uri: String, version: i32, text: String) -> Snapshot {
        let source = Arc::new(SourceFile::new(path(&uri), text));
        let snapshot = Snapshot { uri: uri.clone(), version, source, files: self.files.clone() };
        self.files.set(&snapshot);
        self.open.insert(uri, snapshot.clone());
        snapshot
    }

    pub fn get(&self, uri: &str) -> Option<&Snapshot> {
        self.open.get(uri)
    }

    /// Every open document.
    pub fn all(&self) -> impl Iterator<Item = &Snapshot> {
        self.open.values()
    }

    pub fn close(&mut self, uri: &str) -> bool {
        let Some(snapshot) = self.open.remove(uri) else { return false };
        let path = self.files.absolute(&snapshot.source.path);
        self.files.lock().remove(&path);
        true
    }

    /// Applies edits, each to the result of the one before. None when the document is not open.
    pub fn change(
        &mut self,
        uri: &str,
        version: i32,
        edits: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Option<Snapshot> {
        let snapshot = self.open.get_mut(uri)?;
        for edit in edits {
            let source = &snapshot.source;
            let (range, new) = match edit {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(edit) => (Some(edit.range), edit.text),
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(edit) => (None, edit.text),
            };
            let text = match range {
                Some(Range { start, end }) => {
                    let start = encoding.offset(source, start) as usize;
                    let end = (encoding.offset(source, end) as usize).max(start);
                    let (before, after) = (source.text.get(..start)?, source.text.get(end..)?);
                    [before, &new, after].concat()
                }
                None => new,
            };
            snapshot.source = Arc::new(SourceFile::new(source.path.clone(), text));
        }
        snapshot.version = version;
        snapshot.files.set(snapshot);
        Some(snapshot.clone())
    }
}

/// The file behind an address; other schemes keep their text.
pub fn path(uri: &str) -> PathBuf {
    let Some(rest) = uri.strip_prefix("file://") else { return PathBuf::from(uri) };
    // After an authority, which local files leave empty.
    let rest = rest.find('/').map_or(rest, |at| &rest[at..]);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.bytes();
    while let Some(byte) = left.next() {
        let mut ahead = left.clone();
        let hex = |byte: Option<u8>| byte.and_then(|byte| (byte as char).to_digit(16));
        match (byte, hex(ahead.next()), hex(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                left = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// The address of a file.
pub fn uri_of(path: &std::path::Path) -> String {
    let mut uri = "file://".to_string();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(byte as char);
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for name in ["/tmp/a b/ü.py", "/x/100%.py"] {
            assert_eq!(path(&uri_of(std::path::Path::new(name))), PathBuf::from(name));
        }
        assert_eq!(path("untitled:1"), PathBuf::from("untitled:1"));
        assert_eq!(path("file:///a%2"), PathBuf::from("/a%2"));
    }
}
