//! How does a process that kc starts end with kc, whatever ends kc?

use std::process::Command;

/// Has the system kill the process as soon as this one is gone, even if that is killed itself. (On
/// Linux; elsewhere it goes on to its end.) The thread that starts it must live as long as it may
/// run.
pub fn ends_with_this(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        let parent = std::process::id();
        let ask = move || {
            // SAFETY: two system calls without memory of ours.
            let (asked, now) = unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
            match asked {
                0 if now.cast_unsigned() == parent => Ok(()),
                0 => Err(std::io::ErrorKind::BrokenPipe.into()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: between fork and exec only system calls are made; errors that are made there hold
        // no memory.
        unsafe { command.pre_exec(ask) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// What starts this program once more, if that is not its own file: a library in another program.
static START: std::sync::OnceLock<Vec<std::ffi::OsString>> = std::sync::OnceLock::new();

/// This program is a library in another one, which these words start once more, before the
/// arguments.
pub fn started_by(words: Vec<std::ffi::OsString>) {
    START.get_or_init(|| words);
}

/// The command that starts this program once more.
///
/// # Errors
/// The program does not find its own file.
pub fn this_program() -> std::io::Result<std::process::Command> {
    if let Some([program, words @ ..]) = START.get().map(Vec::as_slice) {
        let mut command = std::process::Command::new(program);
        command.args(words);
        return Ok(command);
    }
    std::env::current_exe().map(std::process::Command::new)
}
