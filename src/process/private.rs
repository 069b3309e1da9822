//! Folders for files that are trusted later: code in a cache, texts that an editor opens.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

/// Whether a file or folder is this user's, and only this user may write to it.
fn is_own(owner: u32, mode: u32) -> bool {
    owner == rustix::process::geteuid().as_raw() && mode & 0o022 == 0
}

/// A folder that belongs to this user, and that only this user may write to. It stays open: files
/// are read and written in the folder that was checked, even if its path leads elsewhere later. It
/// follows no links.
pub struct PrivateFolder(OwnedFd);

/// A file of such a folder.
pub struct FileInFolder {
    pub name: String,
    pub bytes: u64,
    pub modified: SystemTime,
}

impl PrivateFolder {
    /// The folder at a path, which is made if it is missing. None: it is not private.
    pub fn open(path: &Path) -> Option<PrivateFolder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || rustix::fs::open(path, flags, Mode::empty());
        let folder = open().or_else(|error| {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|_| error).and_then(|()| open())
        });
        let folder = folder.ok()?;
        let about = rustix::fs::fstat(&folder).ok()?;
        is_own(about.st_uid, about.st_mode).then_some(PrivateFolder(folder))
    }

    /// A file of this user, of at most so many bytes, for reading. None: there is no such file.
    pub fn read(&self, name: &str, most: u64) -> Option<File> {
        // A pipe must not make it wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty()).ok()?);
        let about = file.metadata().ok()?;
        let private = about.is_file() && is_own(about.uid(), about.permissions().mode());
        (private && about.len() <= most).then_some(file)
    }

    /// Writes a file whole or not at all. Until it is, its name begins with `unfinished`.
    pub fn write(&self, name: &str, unfinished: &str, parts: &[&[u8]]) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let other = format!("{unfinished}{}-{number}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.0, &*other, flags, Mode::RUSR | Mode::WUSR)?);
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        let done = written.and_then(|()| Ok(rustix::fs::renameat(&self.0, &*other, &self.0, name)?));
        done.inspect_err(|_| _ = self.remove(&other))
    }

    /// Its regular files.
    pub fn files(&self) -> io::Result<Vec<FileInFolder>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let Ok(about) = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
                continue;
            }
            let since = Duration::from_secs(about.st_mtime.try_into().unwrap_or(0));
            let modified = SystemTime::UNIX_EPOCH + since + Duration::from_nanos(about.st_mtime_nsec);
            files.push(FileInFolder { name: name.to_string(), bytes: about.st_size as u64, modified });
        }
        Ok(files)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_of_others_are_not_private() {
        let made = tempfile::tempdir().expect("a folder");
        let folder = made.path();
        let is_private_folder = |path: &Path| PrivateFolder::open(path).is_some();
        assert!(is_private_folder(folder) && is_private_folder(&folder.join("a/b")));
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("it is ours");
        assert!(!is_private_folder(folder));
        let file = folder.join("file");
        fs::write(&file, "").expect("a file");
        assert!(!is_private_folder(&file) && !is_private_folder(&file.join("below")));
    }
    fn text(folder: &PrivateFolder, name: &str) -> Option<String> {
        let mut text = String::new();
        folder.read(name, 100)?.read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[test]
    fn an_open_folder_is_the_one_that_was_looked_at() {
        let made = tempfile::tempdir().expect("a folder");
        let (path, moved) = (made.path().join("cache"), made.path().join("moved"));
        let folder = PrivateFolder::open(&path).expect("it is made");
        fs::rename(&path, &moved).expect("it is ours");
        // Somebody puts another folder in its place.
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join("a"), "theirs").expect("a file");
        folder.write("a", ".new-", &[b"ou", b"rs"]).expect("it is private");
        assert_eq!(text(&folder, "a").as_deref(), Some("ours"));
        assert_eq!(fs::read_to_string(moved.join("a")).expect("a file"), "ours");
        assert_eq!(fs::read_to_string(path.join("a")).expect("a file"), "theirs");
        assert_eq!(fs::read_dir(&moved).expect("a folder").count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn links_pipes_and_files_that_others_may_write_are_not_read() {
        let made = tempfile::tempdir().expect("a folder");
        let folder = PrivateFolder::open(made.path()).expect("it is private");
        let at = |name: &str| made.path().join(name);
        folder.write("own", ".new-", &[b"x"]).expect("it is private");
        symlink(at("own"), at("link")).expect("a link");
        fs::write(at("open"), "x").expect("a file");
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o666)).expect("it is ours");
        let flags = std::process::Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo");
        assert!(flags.success());
        folder.write("large", ".new-", &[&[b'x'; 101]]).expect("it is private");
        assert_eq!(text(&folder, "own").as_deref(), Some("x"));
        for name in ["link", "open", "pipe", "large", "none", ".", "../x"] {
            assert!(text(&folder, name).is_none(), "{name}");
        }
        let mut names: Vec<String> = folder.files().expect("a list").into_iter().map(|file| file.name).collect();
        names.sort();
        assert_eq!(names, ["large", "open", "own"], "links and pipes are no files");
        // A link in the way is replaced, not followed.
        symlink("/etc/hostname", at("new")).expect("a link");
        folder.write("new", ".new-", &[b"y"]).expect("it is private");
        assert_eq!(text(&folder, "new").as_deref(), Some("y"));
    }

    #[test]
    fn folders_that_others_may_write_are_not_opened() {
        let made = tempfile::tempdir().expect("a folder");
        assert!(PrivateFolder::open(&made.path().join("a/b")).is_some());
        for mode in [0o777, 0o720, 0o702] {
            fs::set_permissions(made.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
            assert!(PrivateFolder::open(made.path()).is_none(), "{mode:o}");
        }
        fs::set_permissions(made.path(), fs::Permissions::from_mode(0o700)).expect("it is ours");
        fs::write(made.path().join("file"), "").expect("a file");
        assert!(PrivateFolder::open(&made.path().join("file")).is_none());
    }
}
