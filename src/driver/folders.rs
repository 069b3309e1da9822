//! Which files does a workspace have?

use std::path::{Path, PathBuf};

/// More files than these are not looked at: a person waits.
const MAX_FILES: usize = 10_000;

/// Folders inside each other, at most.
const MAX_DEPTH: usize = 32;

/// Adds the Python files of a folder, `deep` also those of the folders in it. Hidden folders,
/// environments and what installers write are nobody's own code; links are not followed, so that no
/// circle is walked.
pub fn python_files(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) {
    visit(folder, if deep { MAX_DEPTH } else { 0 }, found);
}

fn visit(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    // A folder that cannot be read has nothing for us.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if found.len() >= MAX_FILES {
            return;
        }
        if kind.is_file() && path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        } else if kind.is_dir() && depth > 0 && !is_foreign(&path, &name) {
            visit(&path, depth - 1, found);
        }
    }
}

fn is_foreign(path: &Path, name: &str) -> bool {
    name.starts_with('.')
        || ["__pycache__", "node_modules", "site-packages", "target"].contains(&name)
        || path.join("pyvenv.cfg").exists()
}
