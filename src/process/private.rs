//! Folders for files that are trusted later: code in a cache, texts that an editor opens.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Whether the folder is there, or was made now, and nobody else can have put files into it: it is
/// this user's, and only this user may write there.
pub fn is_private_folder(folder: &Path) -> bool {
    if let Ok(about) = fs::metadata(folder) {
        // SAFETY: it only reads a number.
        return about.is_dir() && about.uid() == unsafe { libc::geteuid() } && about.mode() & 0o022 == 0;
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_of_others_are_not_private() {
        let made = tempfile::tempdir().expect("a folder");
        let folder = made.path();
        assert!(is_private_folder(folder) && is_private_folder(&folder.join("a/b")));
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("it is ours");
        assert!(!is_private_folder(folder));
        let file = folder.join("file");
        fs::write(&file, "").expect("a file");
        assert!(!is_private_folder(&file) && !is_private_folder(&file.join("below")));
    }
}
