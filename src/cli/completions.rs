//! `kc completions`: what a shell needs to complete commands and options.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Command, Exit, output};

/// Prints a script that completes kc in a shell.
///
/// bash: `kc completions bash > ~/.local/share/bash-completion/completions/kc`.
/// zsh: into a file `_kc` in a folder of `$fpath`.
/// fish: `kc completions fish > ~/.config/fish/completions/kc.fish`.
/// PowerShell: `kc completions powershell | Out-String | Invoke-Expression` in the profile.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Command::command(), "kc", &mut script);
    output::out(&script).map_or_else(|error| output::fail(&error), |()| Exit::Ok)
}
