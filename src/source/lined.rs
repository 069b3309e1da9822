//! Which source lines does each line of a generated text come from?
//!
//! A printer brackets what it writes for a place with marks ([`begin`], [`END`]); [`Lined::read`]
//! takes them out again and keeps what they say.

use super::{FileId, SourceFile, Span};
use crate::ids::Id;

/// The marks are control characters, which no printer writes otherwise.
const BEGIN: char = '\u{1}';
const MIDDLE: char = '\u{2}';

/// Ends what [`begin`] began.
pub const END: char = '\u{3}';

/// The mark before what comes from a place.
pub fn begin(span: Span) -> String {
    format!("{BEGIN}{} {}{MIDDLE}", span.file.index(), span.start)
}

/// A text and the origin of its lines.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Lined {
    pub text: String,
    /// For each line of the text the lines of the source that it comes from, from 1 and in order;
    /// none for what kc adds.
    pub lines: Vec<Vec<u32>>,
}

impl Lined {
    /// Reads a marked text. What comes from other files than `file` counts as added by kc.
    pub fn read(marked: &str, file: FileId, source: &SourceFile) -> Lined {
        let mut this = Lined { text: String::with_capacity(marked.len()), lines: Vec::new() };
        // The places around the cursor, innermost last.
        let mut around: Vec<Option<u32>> = Vec::new();
        for line in marked.lines() {
            let mut from = Vec::new();
            let mut rest = line.chars();
            while let Some(c) = rest.next() {
                match c {
                    BEGIN => {
                        let mark: String = rest.by_ref().take_while(|&c| c != MIDDLE).collect();
                        around.push(place(&mark, file, source));
                    }
                    END => drop(around.pop()),
                    _ => {
                        this.text.push(c);
                        if !c.is_whitespace() {
                            from.extend(around.last().copied().flatten());
                        }
                    }
                }
            }
            this.text.push('\n');
            from.sort_unstable();
            from.dedup();
            this.lines.push(from);
        }
        this
    }

    /// The text without some of its lines, which count from 0.
    pub fn without(&self, gone: std::ops::Range<usize>) -> Lined {
        let kept = |n: &usize| !gone.contains(n);
        let text = self.text.lines().enumerate().filter(|(n, _)| kept(n)).flat_map(|(_, line)| [line, "\n"]).collect();
        let lines = self.lines.iter().enumerate().filter(|(n, _)| kept(n)).map(|(_, from)| from.clone()).collect();
        Lined { text, lines }
    }
}

/// The source line that a mark names.
fn place(mark: &str, file: FileId, source: &SourceFile) -> Option<u32> {
    let (number, offset) = mark.split_once(' ')?;
    let ours = number.parse() == Ok(file.index());
    ours.then(|| offset.parse().ok()).flatten().map(|offset| source.line_column(offset).line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_nest() {
        let source = SourceFile::new("x.py", "one\ntwo\nthree\n".to_string());
        let at = |file, start| begin(Span::new(FileId(file), start, start));
        let marked = format!(
            "head\n{}if {{\n  {}x{END} {}y{END}\n\n  {}z{END}\n}}{END}\ntail\n",
            at(0, 0),
            at(0, 4),
            at(0, 8),
            at(1, 0)
        );
        let read = Lined::read(&marked, FileId(0), &source);
        assert_eq!(read.text, "head\nif {\n  x y\n\n  z\n}\ntail\n");
        assert_eq!(read.lines, [vec![], vec![1], vec![2, 3], vec![], vec![], vec![1], vec![]]);
        let short = read.without(1..4);
        assert_eq!((short.text.as_str(), short.lines.len()), ("head\n  z\n}\ntail\n", 4));
        // What is no mark does not end the process.
        Lined::read("\u{1}\u{1}7\u{2}\u{3}\u{3}\u{3}x\u{1}", FileId(0), &source);
    }
}
