//! Where do the texts of other files come from? The stages ask; who runs them says whether that is
//! the disk, or what an editor has open.

use std::path::{Path, PathBuf};

/// The files that a source file can import from.
pub trait FileSystem: std::fmt::Debug + Send + Sync {
    /// The text of a file; None when there is no file at this path. The error says in a few words
    /// why it cannot be read.
    fn read(&self, path: &Path) -> Option<Result<String, String>>;

    /// Whether there is a file at this path.
    fn has(&self, path: &Path) -> bool {
        self.read(path).is_some()
    }

    /// The path from the root of the file system.
    fn absolute(&self, path: &Path) -> PathBuf;

    /// The path from the root of the file system with links as they are written.
    fn written(&self, path: &Path) -> PathBuf {
        self.absolute(path)
    }

    /// The folders that hold the packages that are installed for the file at this path.
    fn installed(&self, _path: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What messages call a file whose text came from elsewhere; None: its path.
    fn shown(&self, _path: &Path) -> Option<PathBuf> {
        None
    }
}
