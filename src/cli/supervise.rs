//! How does a list of files get done although the process that does it may die, or never end? A
//! worker process does them and says so after each; when it dies, or takes too long, the file at
//! hand is given up and a new worker goes on with the next.
//!
//! Compiled kernels run in kc's own address space, and LLVM ends the process on an error of its
//! own. Neither may cost the results of other launches. A worker ends with its supervisor, and
//! leaves no file behind: what it says comes through a socket, its standard input.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::Exit;
use crate::driver;

/// Why a file was given up.
pub(super) enum End {
    /// The worker died on it.
    Died(String),
    /// It took longer than this.
    Late(Duration),
}

/// What a worker speaks through; None: nobody listens.
pub(super) fn to_supervisor() -> Option<UnixStream> {
    Some(UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?))
}

/// What a worker says after each input: one byte.
pub(super) fn note(supervisor: &mut UnixStream) {
    // Without the note the supervisor would give the next file up; nothing worse.
    let _ = supervisor.write_all(b".");
}

/// Does all files. `worker` makes the command for a list of files; `give_up` is reported which file
/// a worker did not finish, and why. None: no worker can be started, and nothing was done.
pub(super) fn supervise(
    files: &[PathBuf],
    timeout: Option<Duration>,
    worker: impl Fn(&[PathBuf]) -> Command,
    mut give_up: impl FnMut(&Path, &End) -> Exit,
) -> Option<Exit> {
    let mut exit = Exit::Ok;
    let mut rest = files;
    loop {
        let (ours, theirs) = UnixStream::pair().ok()?;
        ours.set_read_timeout(timeout).ok()?;
        let mut command = worker(rest);
        command.stdin(OwnedFd::from(theirs));
        driver::ends_with_this(&mut command);
        let child = command.spawn();
        // Its end of the socket is the child's alone now, and closes with the child.
        drop(command);
        let mut child = match child {
            Ok(child) => child,
            Err(_) if rest.len() == files.len() => return None,
            Err(error) => {
                let end = End::Died(error.to_string());
                rest.iter().for_each(|file| exit = exit.max(give_up(file, &end)));
                return Some(exit);
            }
        };
        let (done, late) = listen(&ours);
        if late {
            // That it has just ended by itself is no fault.
            let _ = child.kill();
        }
        let status = child.wait();
        // A worker that went through its whole list says by its exit code how that went.
        if done >= rest.len() {
            let end = match status.ok().and_then(|status| status.code()) {
                _ if late => Exit::Ok,
                Some(0) => Exit::Ok,
                Some(70) => Exit::Internal,
                _ => Exit::Errors,
            };
            return Some(exit.max(end));
        }
        let end = match timeout {
            Some(timeout) if late => End::Late(timeout),
            _ => End::Died(status.map_or_else(|error| error.to_string(), how)),
        };
        // The launches before the one it died on may have failed, too: their messages are out,
        // their sum is not.
        exit = exit.max(Exit::Errors).max(give_up(&rest[done], &end));
        rest = &rest[done + 1..];
        if rest.is_empty() {
            return Some(exit);
        }
    }
}

/// Counts the files that a worker gets done, until it ends or takes too long for one.
fn listen(worker: &UnixStream) -> (usize, bool) {
    let (mut reader, mut done, mut notes) = (worker, 0, [0; 64]);
    loop {
        match reader.read(&mut notes) {
            Ok(0) => return (done, false),
            Ok(more) => done += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (done, matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)),
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
