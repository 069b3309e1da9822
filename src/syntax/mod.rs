//! Text to syntax tree.
//!
//! ```text
//! text -- token --> tokens -- layout --> logical lines -- item --> items, from lines read by `line` (grammar) and `block`
//! ```
//!
//! A line is the unit of the grammar and of error recovery; blocks come from the indentation alone.
//! So a mistake costs one line, and nesting costs the parser's tables nothing. [`parse`] is the
//! only door.
//!
//! Cost, measured on a shared 2-core machine: the grammar has 228 lines, the generated parser
//! 27,900; making it and checking the crate takes about 4 s. An optimised build reads 5 to 7 MB/s
//! of dense kernel code and 17 to 27 MB/s of the examples that mix kernels with host code; the
//! worst mebibyte found takes a second.

pub mod ast;
mod block;
mod builder;
mod changes;
mod fault;
mod formatted;
mod item;
mod layout;
mod line;
mod literal;
mod region;
mod token;
pub mod visit;

pub use changes::{Change, Changed};
pub use item::is_composite_word;

use std::ops::Range;

use crate::diag::Diagnostics;
use crate::source::FileId;

/// Reads a source text. Never fails: what cannot be read is reported and becomes an error node of
/// the tree; Python that does not concern kc is skipped.
pub fn parse(file: FileId, text: &str, diagnostics: &mut Diagnostics) -> ast::Parsed {
    let layout = layout::layout(text, token::lex(text));
    let lines = line::LineReader::new(file, text, &layout, diagnostics);
    let changes = changes::changes(&lines);
    ast::Parsed { file, items: item::items(lines), changes }
}

/// A comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    /// From its `#` to the end of its line.
    pub range: Range<usize>,
    /// It has its line for itself.
    pub alone: bool,
    /// The line of the code that it is about, without its end: its own, or if it is alone, the next
    /// one with code. None: no code follows.
    pub about: Option<Range<usize>>,
}

/// The comments of a text, in order. Takes time in proportion to the text.
pub fn comments(text: &str) -> Vec<Comment> {
    let tokens = token::lex(text).tokens;
    let mut found: Vec<Comment> = Vec::new();
    // The first of those at the end of the list that wait for a line with code.
    let mut waiting = 0;
    let mut from = 0;
    let mut line_start = 0;
    let ends = tokens.iter().map(|token| (token.start as usize, token.end as usize));
    for (start, end) in ends.chain([(text.len(), text.len())]) {
        // Between two tokens stand only blanks and comments, and the ends of lines without code.
        let gap = text.get(from..start).unwrap_or_default();
        let mut at = from;
        for line in gap.split_inclusive('\n') {
            if let Some(hash) = line.find('#') {
                let said = line[hash..].trim_end_matches(['\n', '\r']);
                let alone = text[line_start..at + hash].trim().is_empty();
                let own = line_start..at + hash + said.len();
                let about = (!alone).then_some(own);
                found.push(Comment { range: at + hash..at + hash + said.len(), alone, about });
            }
            at += line.len();
            if line.ends_with('\n') {
                line_start = at;
            }
        }
        let token = text.get(start..end).unwrap_or_default();
        if !token.trim().is_empty() && waiting < found.len() {
            let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
            let line = line_start..line_start + text[line_start..line_end].trim_end_matches('\r').len();
            for comment in found[waiting..].iter_mut().filter(|comment| comment.alone) {
                comment.about = Some(line.clone());
            }
            waiting = found.len();
        }
        if let Some(last) = token.rfind('\n') {
            line_start = start + last + 1;
        }
        from = end.max(from);
    }
    found
}

/// The names of a text, without keywords and the contents of comments and of strings, but with
/// those in the fields of f-strings.
pub fn names(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for token in token::lex(text).tokens {
        let range = token.start as usize..token.end as usize;
        match token.kind {
            token::Tok::Name => found.push(range),
            token::Tok::Str => {
                for field in formatted::fields(text.get(range.clone()).unwrap_or_default()) {
                    let (start, end) = (range.start + field.start, range.start + field.end);
                    let inner = text.get(start..end).map(names).unwrap_or_default();
                    found.extend(inner.into_iter().map(|name| name.start + start..name.end + start));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_are_not_parts_of_strings() {
        let text = "a = '# no' # yes\r\n\"\"\"\n# no\n\"\"\"\n# two\nb\n#end";
        let found: Vec<&str> = super::comments(text).into_iter().map(|comment| &text[comment.range]).collect();
        assert_eq!(found, ["# yes", "# two", "#end"]);
    }

    #[test]
    fn comments_know_the_line_that_they_are_about() {
        let text = "# a\n  # b\r\n\nx = (1,  # c\n     # d\n     2)\n\"\"\"\n\"\"\"  # e\nif x:\n    # f\n    y = 1; z = 2  # g\r\n# h\n";
        let found: Vec<(&str, bool, Option<&str>)> = super::comments(text)
            .into_iter()
            .map(|comment| (&text[comment.range], comment.alone, comment.about.map(|line| &text[line])))
            .collect();
        let expected = [
            ("# a", true, Some("x = (1,  # c")),
            ("# b", true, Some("x = (1,  # c")),
            ("# c", false, Some("x = (1,  # c")),
            ("# d", true, Some("     2)")),
            ("# e", false, Some("\"\"\"  # e")),
            ("# f", true, Some("    y = 1; z = 2  # g")),
            ("# g", false, Some("    y = 1; z = 2  # g")),
            ("# h", true, None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn many_comments_take_no_long_time() {
        let text = "# kc: allow(W0701)\n".repeat(200_000) + "x = 1\n";
        let start = std::time::Instant::now();
        let found = super::comments(&text);
        assert!(
            found.len() == 200_000 && found.iter().all(|comment| comment.about == Some(text.len() - 6..text.len() - 1))
        );
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
