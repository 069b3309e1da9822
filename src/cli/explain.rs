//! `kc explain CODE`: the page of a diagnostic code.

use super::{Exit, output};
use crate::diag::{Code, explain};

/// Explains a diagnostic code by examples.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A code or its name: `E0301`, `type-mismatch`. Without one, all codes are listed.
    code: Option<String>,
}

pub(super) fn run(args: &Args) -> Exit {
    let Some(wanted) = &args.code else {
        let list: String =
            Code::ALL.iter().map(|code| format!("{}  {}: {}\n", code.name(), code.slug(), code.title())).collect();
        return print(&list);
    };
    match explain::page(wanted) {
        Ok(page) => print(page),
        Err(nearest) => {
            let shown: String = wanted.chars().filter(|c| !c.is_control()).take(60).collect();
            let names: Vec<String> = nearest.iter().map(|code| format!("{} ({})", code.name(), code.slug())).collect();
            let hint = if names.is_empty() {
                "`kc explain` without a code lists all".to_string()
            } else {
                format!("did you mean {}?", names.join(" or "))
            };
            output::err(&format!("error: no code is named `{shown}`; {hint}\n"));
            Exit::Usage
        }
    }
}

fn print(text: &str) -> Exit {
    match output::out(text.as_bytes()) {
        Ok(()) => Exit::Ok,
        Err(diagnostic) => {
            output::err(&format!("error: {}\n", diagnostic.message));
            Exit::Errors
        }
    }
}
