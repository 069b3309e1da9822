//! Text to syntax tree.
//!
//! ```text
//! text -- token --> tokens -- layout --> logical lines -- item --> items, from lines read by `line` (grammar) and `block`
//! ```
//!
//! A line is the unit of the grammar and of error recovery; blocks come from the indentation alone. So a mistake costs
//! one line, and nesting costs the parser's tables nothing. [`parse`] is the only door.
//!
//! Cost, measured on a shared 2-core machine: the grammar has 228 lines, the generated parser 27,900; making it and
//! checking the crate takes about 4 s. An optimised build reads 5 to 7 MB/s of dense kernel code and 17 to 27 MB/s of the
//! examples that mix kernels with host code; the worst mebibyte found takes a second.

pub mod ast;
mod block;
mod builder;
mod fault;
mod item;
mod layout;
mod line;
mod literal;
mod region;
mod token;
pub mod visit;

use crate::diag::Diagnostics;
use crate::source::FileId;

/// Reads a source text. Never fails: what cannot be read is reported and becomes an error node of the tree; Python
/// that does not concern kc is skipped.
pub fn parse(file: FileId, text: &str, diagnostics: &mut Diagnostics) -> ast::Parsed {
    let layout = layout::layout(text, token::lex(text));
    let items = item::items(line::LineReader::new(file, text, &layout, diagnostics));
    ast::Parsed { file, items }
}

/// The comments of a text, each from its `#` to the end of its line.
pub fn comments(text: &str) -> Vec<std::ops::Range<usize>> {
    let tokens = token::lex(text).tokens;
    let mut found = Vec::new();
    let mut from = 0;
    let end = tokens.iter().map(|token| (token.start as usize, token.end as usize));
    for (start, end) in end.chain([(text.len(), text.len())]) {
        // Between two tokens stand only blanks and comments.
        let gap = text.get(from..start).unwrap_or_default();
        if let Some(at) = gap.find('#') {
            let comment = gap[at..].trim_end_matches(['\n', '\r']);
            found.push(from + at..from + at + comment.len());
        }
        from = end.max(from);
    }
    found
}

/// The names of a text, without keywords and the contents of strings and comments.
pub fn names(text: &str) -> Vec<std::ops::Range<usize>> {
    let tokens = token::lex(text).tokens;
    let names = tokens.iter().filter(|token| token.kind == token::Tok::Name);
    names.map(|token| token.start as usize..token.end as usize).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_are_not_parts_of_strings() {
        let text = "a = '# no' # yes\r\n\"\"\"\n# no\n\"\"\"\n# two\nb\n#end";
        let found: Vec<&str> = super::comments(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["# yes", "# two", "#end"]);
    }
}
