//! `kc man`: the manual pages, made from what `--help` says.

use crate::cli::messages;
use std::path::PathBuf;

use clap::CommandFactory;

use super::{Command, Exit, output};

/// Writes the manual pages, or prints one.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The command whose page is printed, such as `compile`; without one, the page of kc itself.
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Option<String>,
    /// Folder for all pages: `kc.1`, `kc-compile.1` and so on. It is made if missing.
    #[arg(short, long = "out-dir", value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Exit {
    let mut root = Command::command().disable_help_subcommand(true);
    // From here on, each command knows the ones above it.
    root.build();
    let mut pages = Vec::new();
    collect(&root, &mut pages);
    let written = match &args.out {
        Some(folder) => pages
            .iter()
            .try_for_each(|(name, page)| output::write_file(&folder.join(format!("{name}.1")), page))
            .map(|()| output::note(&format!("wrote {} pages to {}\n", pages.len(), folder.display()))),
        None => {
            let wanted = args.command.as_ref().map_or("kc".to_string(), |command| format!("kc-{command}"));
            let Some((_, page)) = pages.iter().find(|(name, _)| *name == wanted) else {
                let names: Vec<&str> = pages.iter().filter_map(|(name, _)| name.strip_prefix("kc-")).collect();
                return output::refuse(&messages::no_command(&wanted[3..], &names.join(", ")));
            };
            output::out(page)
        }
    };
    written.map_or_else(|error| output::fail(&error), |()| Exit::Ok)
}

/// The pages of a command and of those below it.
fn collect(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages);
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = clap_mangen::Man::new(command.clone()).render(&mut page);
    pages.push((name, page));
}
