//! What do results depend on? A file of rules for make, Ninja and CMake.

use std::path::{Path, PathBuf};

use crate::driver::Disk;
use crate::source::{FileSystem, SourceMap};

/// The rule of some results: they are made anew when one of the files that were read changes.
pub(super) fn rule(results: &[PathBuf], source: &Path, sources: &SourceMap) -> String {
    let mut read = vec![source.to_path_buf()];
    for (_, file) in sources.files() {
        let same = |known: &PathBuf| Disk.absolute(known) == Disk.absolute(&file.path);
        if !read.iter().any(same) {
            read.push(file.path.clone());
        }
    }
    let list = |paths: &[PathBuf]| paths.iter().map(|path| escaped(path)).collect::<Vec<_>>().join(" ");
    match results.is_empty() {
        true => String::new(),
        false => format!("{}: {}\n", list(results), list(&read)),
    }
}

/// As make reads it (GNU make manual, "Rule Syntax" and "Using Wildcard Characters in File Names").
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for c in path.display().to_string().chars() {
        match c {
            '$' => text.push('$'),
            ' ' | '#' | ':' | '\\' => text.push('\\'),
            _ => {}
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped(Path::new("a b/c#$d:e\\f")), "a\\ b/c\\#$$d\\:e\\\\f");
    }
}
