//! Reading source files: what can stand in the way?

use crate::driver::messages;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::diag::{Diagnostic, Diagnostics};
pub use crate::limits::MAX_SOURCE_BYTES;
use crate::source::{FileId, FileSystem, SourceFile, SourceMap};

/// The reason of a system error in a few words, without its number.
pub fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull => return "the disk is full".to_string(),
        ErrorKind::QuotaExceeded => return "the disk quota is used up".to_string(),
        ErrorKind::FileTooLarge => return "it grows larger than this process may write (`ulimit -f`)".to_string(),
        _ => {}
    }
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// Reads a source file. None: it cannot be compiled, and why is reported.
pub fn read(path: &Path, sources: &mut SourceMap, diagnostics: &mut Diagnostics) -> Option<FileId> {
    match read_text(path) {
        Ok(text) => Some(sources.add(SourceFile::new(path, text))),
        Err(diagnostic) => {
            diagnostics.push(diagnostic);
            None
        }
    }
}

/// Imported files, as they are on the disk.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl FileSystem for Disk {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        path.is_file().then(|| read_text(path).map_err(|diagnostic| diagnostic.message))
    }

    fn has(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
    }

    fn written(&self, path: &Path) -> PathBuf {
        std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
    }

    fn installed(&self, path: &Path) -> Vec<PathBuf> {
        super::installed::folders(path)
    }
}

/// What tells whether a file on the disk is as it was: when it was written, and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp(Option<std::time::SystemTime>, u64);

impl Stamp {
    /// None: there is no such file.
    pub fn of(path: &Path) -> Option<Stamp> {
        let data = std::fs::metadata(path).ok()?;
        Some(Stamp(data.modified().ok(), data.len()))
    }
}

/// Files as they are on the disk, except for those of which other files hold the text, or that are
/// given.
#[derive(Clone, Default, Debug)]
pub struct Overlaid {
    texts: HashMap<PathBuf, PathBuf>,
    given: HashMap<PathBuf, String>,
}

impl Overlaid {
    /// Pairs of a file and the one that holds its text.
    pub fn new(texts: impl Iterator<Item = (PathBuf, PathBuf)>) -> Overlaid {
        let texts = texts.map(|(path, text)| (Disk.absolute(&path), text)).collect();
        Overlaid { texts, given: HashMap::new() }
    }

    /// The same, with the text of one more file.
    pub fn with(mut self, path: &Path, text: String) -> Overlaid {
        self.given.insert(Disk.absolute(path), text);
        self
    }

    /// The text that represents a file's own. None: the file itself counts.
    pub fn text(&self, path: &Path) -> Option<String> {
        if self.given.is_empty() && self.texts.is_empty() {
            return None;
        }
        let path = Disk.absolute(path);
        self.given.get(&path).cloned().or_else(|| read_text(self.texts.get(&path)?).ok())
    }
}

impl FileSystem for Overlaid {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        self.text(path).map_or_else(|| Disk.read(path), |text| Some(Ok(text)))
    }

    fn has(&self, path: &Path) -> bool {
        self.text(path).is_some() || Disk.has(path)
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

/// The text on standard input, which messages call `shown`.
pub fn read_stdin(shown: &str) -> Result<String, Diagnostic> {
    text_of(shown, Ok(std::io::stdin().lock()))
}

fn read_text(path: &Path) -> Result<String, Diagnostic> {
    text_of(&path.display().to_string(), std::fs::File::open(path))
}

fn text_of(shown: &str, input: std::io::Result<impl Read>) -> Result<String, Diagnostic> {
    let unreadable = |error| messages::unreadable(shown, &reason(&error));
    let mut bytes = Vec::new();
    // A pipe or device has no size to ask for, so the limit is on what is read.
    input.and_then(|input| input.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(messages::too_large(shown, MAX_SOURCE_BYTES >> 20));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let valid = &error.as_bytes()[..at];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let byte = error.as_bytes()[at];
        messages::not_utf8(shown, byte, at, line)
    })
}
