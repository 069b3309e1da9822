//! How does a result get into its file? Whole or not at all: under another name beside it first,
//! which then becomes the file's.
//!
//! What a link leads to is written, not the link, and a file that is there keeps its rights and its
//! owner; one that is read-only stays as it is. What is no regular file, such as a pipe or a
//! device, has no other name: it is written straight into.

use std::fs::{File, Metadata, OpenOptions, metadata, read_link};
use std::io::{Error, ErrorKind, Result, Seek, copy};
use std::path::{Path, PathBuf};

/// Links that may lead one to another.
const MOST_LINKS: usize = 40;

/// Writes `path`: `write` fills a temporary file.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let there = match metadata(path) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let place = match &there {
        Some(there) if there.is_file() => {
            // A file that may not be written is not exchanged for another one either.
            OpenOptions::new().write(true).open(path)?;
            path.canonicalize()?
        }
        Some(_) => return write_into(path, write),
        None => end_of_links(path)?,
    };
    let folder = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[cfg(target_os = "linux")]
    if let Some(mut file) = nameless::file(folder) {
        if let Some(there) = &there {
            become_like(&file, there)?;
        }
        write(&mut file)?;
        if nameless::name(&file, &place).is_ok() {
            return Ok(());
        }
        // Another file has the name. From here to the end of the line below the new one has one of
        // its own.
        let own = folder.join(format!(".kc-{}-{:x}", std::process::id(), nameless::number()));
        nameless::name(&file, &own)?;
        return std::fs::rename(&own, &place).inspect_err(|_| drop(std::fs::remove_file(&own)));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kc-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file, less the user's umask; tempfile alone would keep it private.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(folder)?;
    if let Some(there) = &there {
        become_like(temporary.as_file(), there)?;
    }
    write(temporary.as_file_mut())?;
    temporary.persist(&place).map_err(|error| error.error)?;
    Ok(())
}

/// Files without a name, which are gone with the process that has them open, however that ends.
#[cfg(target_os = "linux")]
mod nameless {
    use std::ffi::CString;
    use std::fs::{File, OpenOptions};
    use std::io::{Error, Result};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// One in a folder, with the rights of any new file. None: the file system has none.
    pub fn file(folder: &Path) -> Option<File> {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o666).open(folder).ok()
    }

    /// Gives it a name that no file has.
    pub fn name(file: &File, path: &Path) -> Result<()> {
        let own = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let path = CString::new(path.as_os_str().as_bytes())?;
        let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: a system call that reads two texts that end with zero.
        match unsafe { libc::linkat(here, own.as_ptr(), here, path.as_ptr(), follow) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Another one for each file of the process.
    pub fn number() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

/// Copies into what cannot be replaced, and may have no positions.
fn write_into(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    // Opened first: a folder, or what may not be written, is an error before anything is computed.
    let mut target = OpenOptions::new().write(true).open(path)?;
    let mut temporary = tempfile::tempfile()?;
    write(&mut temporary)?;
    temporary.rewind()?;
    copy(&mut temporary, &mut target)?;
    Ok(())
}

/// The file that is to be made where a link leads to one that is not there; `path` itself if it is
/// no link.
fn end_of_links(path: &Path) -> Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match read_link(&place) {
            // Relative to where the link is.
            Ok(target) => place = place.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(place),
        }
    }
    Err(Error::other("too many levels of symbolic links"))
}

/// Gives a new file the rights of one that it replaces, and its owner where that is allowed.
fn become_like(new: &File, old: &Metadata) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let made = new.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            // Only the system's administrator may give files away.
            let _ = fchown(new, Some(old.uid()), Some(old.gid()));
        }
    }
    new.set_permissions(old.permissions())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::io::{Read, Write};
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    fn put(path: &Path, text: &str) -> Result<()> {
        write_whole(path, |file| file.write_all(text.as_bytes()))
    }

    #[test]
    fn links_stay_and_what_they_lead_to_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).expect("a folder");
        fs::write(at("deep/file"), "old").expect("a file");
        fs::set_permissions(at("deep/file"), Permissions::from_mode(0o640)).expect("rights");
        symlink("deep/file", at("link")).expect("a link");
        symlink("link", at("far")).expect("a link");
        put(&at("far"), "new").expect("written");
        assert_eq!(fs::read_to_string(at("deep/file")).expect("a file"), "new");
        assert_eq!(fs::metadata(at("deep/file")).expect("a file").permissions().mode() & 0o7777, 0o640);
        assert_eq!(read_link(at("link")).expect("a link"), Path::new("deep/file"));
        // A link to what is not there yet.
        symlink("deep/later", at("early")).expect("a link");
        put(&at("early"), "made").expect("written");
        assert_eq!(fs::read_to_string(at("deep/later")).expect("a file"), "made");
        assert!(read_link(at("early")).is_ok());
        // A circle leads nowhere.
        symlink("b", at("a")).expect("a link");
        symlink("a", at("b")).expect("a link");
        assert!(put(&at("a"), "lost").is_err() && read_link(at("a")).is_ok());
        // What fails leaves the file as it was, and nothing else.
        let before = fs::read_dir(at("deep")).expect("a folder").count();
        assert!(write_whole(&at("far"), |_| Err(Error::other("no"))).is_err());
        assert_eq!(fs::read_to_string(at("deep/file")).expect("a file"), "new");
        assert_eq!(fs::read_dir(at("deep")).expect("a folder").count(), before);
    }

    /// Root may write anything, so the test looks at files as somebody else does.
    #[test]
    fn files_that_may_not_be_written_stay() {
        const NOBODY: u32 = 65534;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "old").expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o444)).expect("rights");
        if std::os::unix::fs::chown(folder.path(), Some(NOBODY), None).is_ok() {
            std::os::unix::fs::chown(&file, Some(NOBODY), None).expect("root may do that");
        }
        let put_as_nobody = || {
            // SAFETY: it changes whose files this thread opens, and nothing else.
            unsafe { libc::setfsuid(NOBODY) };
            put(&file, "new")
        };
        let result = std::thread::scope(|scope| scope.spawn(put_as_nobody).join().expect("no panic"));
        assert_eq!(result.expect_err("it is read-only").kind(), ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&file).expect("a file"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn pipes_are_written_into() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).and_then(|mut file| file.read_to_string(&mut text)).map(|_| text)
            }
        });
        put(&pipe, "through").expect("written");
        assert_eq!(reader.join().expect("a reader").expect("read"), "through");
        assert!(fs::symlink_metadata(&pipe).expect("a pipe").file_type().is_fifo());
        assert!(put(folder.path(), "no file").is_err() && folder.path().is_dir());
    }
}
