//! `kc doc`: the reference page of built-ins.

use std::path::PathBuf;

use super::{Exit, output};
use crate::library::reference;

/// Writes the reference page of all built-ins: signatures, docs, gradients.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Folder for `builtins.html` and `builtins.md`, made if missing; without one, the page goes to
    /// standard output
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Forms of the page
    #[arg(long, value_enum, value_delimiter = ',', default_value = "html,md")]
    format: Vec<Form>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum Form {
    /// One self-contained file with a search field.
    Html,
    /// Markdown.
    Md,
}

pub(super) fn run(args: &Args) -> Exit {
    let mut exit = Exit::Ok;
    for form in &args.format {
        let (name, page) = match form {
            Form::Html => ("builtins.html", reference::html()),
            Form::Md => ("builtins.md", reference::markdown()),
        };
        let written = match &args.out {
            Some(folder) => output::write_file(&folder.join(name), page.as_bytes()),
            None => output::out(page.as_bytes()),
        };
        if let Err(error) = written {
            exit = output::fail(&error);
        }
    }
    exit
}
