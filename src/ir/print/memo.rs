//! Which functions have a text already? Programs share most functions of the library: a thread keeps the texts of those whose
//! [content](crate::ir::content) is known, by that. A text shows nothing else but the names in the function's derivative,
//! which are kept beside it and compared.

use std::cell::RefCell;

use crate::memo::Memo;

/// Bytes of text, per thread.
const MOST: usize = 4 << 20;

thread_local! {
    /// What is said of the derivative, and the whole text.
    static TEXTS: RefCell<Memo<u128, (String, String)>> = const { RefCell::new(Memo::new(MOST)) };
}

/// Appends the text of a function of this content with this derivative, if it is kept.
pub fn copy(content: u128, derivative: &str, out: &mut String) -> bool {
    TEXTS.with_borrow(|all| match all.get(&content) {
        Some((of, text)) if of == derivative => {
            out.push_str(text);
            true
        }
        _ => false,
    })
}

/// Keeps a text; the one with another derivative, if there was one, is forgotten.
pub fn keep(content: u128, derivative: String, text: &str) {
    TEXTS.with_borrow_mut(|all| _ = all.keep(content, (derivative, text.to_string()), text.len()));
}
