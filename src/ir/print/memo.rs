//! Which functions have a text already? Programs share most functions of the library: a thread keeps the texts of those whose
//! [content](crate::ir::content) is known, by that. A text shows nothing else but the names in the function's derivative,
//! which are kept beside it and compared. When the texts exceed [`MOST`], all are forgotten.

use std::cell::RefCell;

use crate::ids::IdMap;

/// Bytes of text, per thread.
const MOST: usize = 4 << 20;

#[derive(Default)]
struct Memo {
    /// What is said of the derivative, and the whole text.
    texts: IdMap<u128, (String, String)>,
    size: usize,
}

thread_local! {
    static MEMO: RefCell<Memo> = RefCell::default();
}

/// Appends the text of a function of this content with this derivative, if it is kept.
pub fn copy(content: u128, derivative: &str, out: &mut String) -> bool {
    MEMO.with_borrow(|memo| match memo.texts.get(&content) {
        Some((of, text)) if of == derivative => {
            out.push_str(text);
            true
        }
        _ => false,
    })
}

/// Keeps a text; the one with another derivative, if there was one, is forgotten.
pub fn keep(content: u128, derivative: String, text: &str) {
    MEMO.with_borrow_mut(|memo| {
        if memo.size > MOST {
            *memo = Memo::default();
        }
        memo.size += text.len();
        memo.texts.insert(content, (derivative, text.to_string()));
    });
}
