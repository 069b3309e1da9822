//! Library functions are the larger part of most texts, and the same ones from program to program:
//! who prints many programs need not print them again.
//!
//! Kept by the [fingerprint](crate::ir::fingerprint) of a function: its text, and what the text
//! needs above it. A text depends on nothing but the fingerprint, on whether products may fuse
//! and all kernels approximate, and on the names of the function and of those that it calls, which
//! are kept beside it and compared: [`super::kernel::function`] asks the module for nothing else
//! when no type is a struct of the user's, and the [`Prelude`] for nothing at all.

use std::sync::Arc;

use super::prelude::Prelude;
use crate::memo::Memo;

/// The texts of library functions that were printed, for later programs.
#[derive(Debug)]
pub struct Texts {
    printed: Memo<u128, Arc<Printed>>,
}

/// A function that was printed.
pub(super) struct Printed {
    /// Its name in the text, and the names of the functions that it calls, in the order of the
    /// calls.
    pub names: Vec<String>,
    pub text: String,
    /// What it needs above it.
    pub prelude: Prelude,
}

impl Texts {
    /// None yet. `most`: the bytes of text that are kept.
    pub fn new(most: usize) -> Texts {
        Texts { printed: Memo::new(most) }
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.printed.size()
    }

    /// The text of a function of this fingerprint, if one is kept; it serves where the names are
    /// the same.
    pub(super) fn get(&self, fingerprint: u128) -> Option<Arc<Printed>> {
        self.printed.get(&fingerprint)
    }

    /// Keeps a text; the one with other names, if there was one, is forgotten.
    pub(super) fn keep(&self, fingerprint: u128, printed: Arc<Printed>) {
        let size = printed.text.len() + printed.prelude.size();
        self.printed.keep(fingerprint, printed, size);
    }
}
