//! How is a kernel executed? Launch files and flags, arguments in memory, the devices, results.
//!
//! | file | question it answers |
//! |---|---|
//! | [`launch`] | what does a launch ask for? |
//! | [`args`] | what does the kernel receive? |
//! | [`devices`] | on what does it run? |
//! | [`gradients`] | in what order do the entries of a gradient run, and are the derivatives right? |
//! | [`foreign`] | how is a kernel run that is PTX already? |
//! | [`engine_ids`] | of which parameters does it take the id of a mesh, a tree or a grid? |
//! | [`engine_checks`] | are these of the right kind, and up to date? |
//! | [`race_check`] | does the order of threads show in what a launch leaves? |
//! | [`files`] | how are arrays and results read, written and shown? |
//! | [`program`] | what does a run get from the compiler? |
//! | [`ptxas`] | how many registers does a thread have on a GPU? |
//! | [`session`] | in what order does all this happen? |
//! | `messages` | what is said of a launch? |
//! | [`run_errors`] | what does a launch that was in error say? |
//! | [`bench`] | how fast is it? |
//! | [`verify`] | do devices agree? |
//!
//! Sources are compiled by the caller ([`program::Compile`]): nothing here knows the stages before
//! the IR.

use crate::diag::{Diagnostic, first_of, listed};

pub mod allowed;
pub mod args;
pub mod bench;
pub mod devices;
pub mod engine_checks;
pub mod engine_ids;
pub mod files;
pub mod foreign;
pub mod gradients;
pub mod launch;
mod messages;
pub mod program;
pub mod ptxas;
pub mod race_check;
pub mod run_errors;
pub mod session;
pub mod verify;

pub use messages::fail;

/// Why a launch, or a part of it, could not be done. Boxed: it travels through every `Result` of
/// this folder.
pub type Fail = Box<Diagnostic>;

pub type Result<T> = std::result::Result<T, Fail>;

/// Long user text in a message would hide the message.
fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_string() } else { text.chars().take(57).chain("...".chars()).collect() }
}

/// `a`, `b` and `c`; long lists are cut.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", shorten(name))).collect();
    if names.len() > SHOWN { first_of(&names, SHOWN) } else { listed(&names, "and") }
}

#[cfg(test)]
mod tests;
