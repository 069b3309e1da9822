//! How does a list of files get done although the process that does it may die? A worker process does them and notes each
//! one; when it dies, the file at hand is given up and a new worker goes on with the next.
//!
//! Compiled kernels run in kc's own address space, and LLVM ends the process on an error of its own. Neither may cost the
//! results of other launches.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::Exit;

/// What a worker notes in its file of progress after each input: one byte.
pub(super) fn note(progress: &mut File) {
    // Without the note the supervisor would give the next file up; nothing worse.
    let _ = progress.write_all(b".");
}

/// Does all files. `worker` makes the command for a list of files and a file of progress; `give_up` is told which file a
/// worker died on, and how. None: no worker can be started, and nothing was done.
pub(super) fn supervise(
    files: &[PathBuf],
    worker: impl Fn(&Path, &[PathBuf]) -> Command,
    mut give_up: impl FnMut(&Path, &str) -> Exit,
) -> Option<Exit> {
    let mut exit = Exit::Ok;
    let mut rest = files;
    loop {
        let progress = tempfile::NamedTempFile::new().ok()?;
        let status = worker(progress.path(), rest).status();
        let status = match status {
            Ok(status) => status,
            Err(_) if rest.len() == files.len() => return None,
            Err(error) => {
                rest.iter().for_each(|file| exit = exit.max(give_up(file, &error.to_string())));
                return Some(exit);
            }
        };
        let done = progress.path().metadata().map_or(0, |m| m.len() as usize);
        // A worker that went through its whole list says by its exit code how that went.
        if done >= rest.len() {
            return Some(exit.max(if status.success() { Exit::Ok } else { Exit::Errors }));
        }
        // The launches before the one it died on may have failed, too: their messages are out, their sum is not.
        exit = exit.max(Exit::Errors).max(give_up(&rest[done], &how(status)));
        rest = &rest[done + 1..];
        if rest.is_empty() {
            return Some(exit);
        }
    }
}

fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.code().map_or("no exit code".to_string(), |code| format!("exit code {code}"))
}
