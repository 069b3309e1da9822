//! Library functions are the larger part of most texts, and the same ones from program to program: who prints many
//! programs in one process need not print them again.
//!
//! Kept per thread, by the [content](crate::ir::content) of a function: what a walk over it tells, its text, and what
//! the text needs above it. A text depends on nothing but the content and the names of the function and of those that it
//! calls, which are kept beside it and compared: [`super::kernel::function`] asks the module for nothing else when no type
//! is a struct of the user's, and the [`Prelude`] for nothing at all.

use std::cell::RefCell;
use std::rc::Rc;

use super::prelude::Prelude;
use super::survey::Summary;
use crate::memo::Memo;

/// Bytes of text, per thread.
const MOST: usize = 8 << 20;

/// A function that was printed.
pub struct Printed {
    /// Its name in the text, and the names of the functions that it calls, in the order of the calls.
    pub names: Vec<String>,
    pub text: String,
    /// What it needs above it.
    pub prelude: Prelude,
}

/// Summaries, per thread: some hundred bytes each.
const MOST_SUMMARIES: usize = 1 << 13;

thread_local! {
    static SUMMARIES: RefCell<Memo<u128, Rc<Summary>>> = const { RefCell::new(Memo::new(MOST_SUMMARIES)) };
    static PRINTED: RefCell<Memo<u128, Rc<Printed>>> = const { RefCell::new(Memo::new(MOST)) };
}

/// The summary of the functions of this content.
pub fn summary(content: u128, make: impl FnOnce() -> Summary) -> Rc<Summary> {
    let known = SUMMARIES.with_borrow(|all| all.get(&content).cloned());
    known.unwrap_or_else(|| {
        let made = Rc::new(make());
        SUMMARIES.with_borrow_mut(|all| _ = all.keep(content, made.clone(), 1));
        made
    })
}

/// The text of a function of this content, if one is kept; it serves where the names are the same.
pub fn printed(content: u128) -> Option<Rc<Printed>> {
    PRINTED.with_borrow(|all| all.get(&content).cloned())
}

/// Keeps a text; the one with other names, if there was one, is forgotten.
pub fn keep(content: u128, printed: Rc<Printed>) {
    let size = printed.text.len() + printed.prelude.size();
    PRINTED.with_borrow_mut(|all| _ = all.keep(content, printed, size));
}
