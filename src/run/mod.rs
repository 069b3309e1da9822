//! How is a kernel executed? Launch files and flags, arguments in memory, the devices, results.
//!
//! | file | question it answers |
//! |---|---|
//! | [`launch`] | what does a launch ask for? |
//! | [`npy`], [`npz`] | how are arrays read and written? |
//! | [`literal`] | how does a number become the bytes of a scalar? |
//! | [`memory`] | where do the arrays of a launch live? |
//! | [`elements`] | which scalars does an array element consist of, and where is it? |
//! | [`fill`] | what stands in an array that comes from no file? |
//! | [`args`] | what does the kernel receive? |
//! | [`flags`] | how do the flags of the command line describe a launch? |
//! | [`double`] | what is a launch in double precision? |
//! | [`device`], [`gpu`] | on what does it run? |
//! | `copies` | how do workers add to one array? |
//! | [`gradient`] | in what order do the entries of a gradient run, and what do they share? |
//! | [`gradcheck`] | is the gradient right? |
//! | [`second_order`] | are second derivatives right? |
//! | [`make`] | how is a kernel launched that comes without a launch? |
//! | [`bench`] | how fast is it? |
//! | [`verify`] | do devices agree? |
//! | [`tape`] | where are values kept for the reverse sweep? |
//! | [`session`] | in what order does all this happen? |
//! | [`output`], [`show`] | what is left of it on disk, and on the screen? |
//!
//! Sources are compiled by the caller ([`session::Compile`]): nothing here knows the stages before the IR.

use crate::diag::{Code, Diagnostic};

pub mod args;
pub mod bench;
mod copies;
pub mod device;
pub mod double;
pub mod elements;
pub mod fill;
pub mod flags;
pub mod gpu;
pub mod gradcheck;
pub mod gradient;
pub mod launch;
pub mod literal;
pub mod make;
mod meeting;
pub mod memory;
pub mod npy;
pub mod npz;
pub mod output;
pub mod pieces;
pub mod random;
pub mod second_order;
pub mod session;
pub mod show;
pub mod tape;
pub mod verify;

/// Why a launch, or a part of it, could not be done. Boxed: it travels through every `Result` of this folder.
pub type Fail = Box<Diagnostic>;

pub type Result<T> = std::result::Result<T, Fail>;

/// A failure that has no place in a source text.
pub fn fail(code: Code, message: impl Into<String>) -> Fail {
    Box::new(Diagnostic::new(code, message))
}

/// `a`, `b` and `c`; long lists are cut.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{}`", launch::shorten(n))).collect();
    match (quoted.as_slice(), names.len().saturating_sub(SHOWN)) {
        (all, more @ 1..) => format!("{} and {more} more", all.join(", ")),
        ([first @ .., last], 0) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (all, _) => all.join(", "),
    }
}

#[cfg(test)]
mod tests;
