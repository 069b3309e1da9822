//! Byte offsets to lines and characters, and back, in the encoding that client and server agreed
//! on.

use gen_lsp_types::{Position, Range};

use crate::source::{SourceFile, Span};

/// What a character is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    fn width(self, c: char) -> u32 {
        match self {
            Encoding::Utf8 => c.len_utf8() as u32,
            Encoding::Utf16 => c.len_utf16() as u32,
        }
    }

    /// The offset of a position. Lines and characters beyond the end mean the end; a position
    /// inside a character for its start.
    pub fn offset(self, file: &SourceFile, position: Position) -> u32 {
        let Some(line) = position.line.checked_add(1) else { return file.text.len() as u32 };
        let range = file.line_range(line);
        let text = file.text.get(range.start as usize..range.end as usize).unwrap_or_default();
        let mut left = position.character;
        let mut at = range.start;
        for c in text.chars() {
            let width = self.width(c);
            if left < width {
                break;
            }
            left -= width;
            at += c.len_utf8() as u32;
        }
        at
    }

    /// The position of an offset.
    pub fn position(self, file: &SourceFile, offset: u32) -> Position {
        let line = file.line_column(offset.min(file.text.len() as u32)).line;
        let start = file.line_range(line).start;
        let text = file.text.get(start as usize..(offset as usize).min(file.text.len())).unwrap_or_default();
        Position { line: line - 1, character: text.chars().map(|c| self.width(c)).sum() }
    }

    pub fn range(self, file: &SourceFile, span: Span) -> Range {
        Range { start: self.position(file, span.start), end: self.position(file, span.end) }
    }

    /// The length of a text.
    pub fn length(self, text: &str) -> u32 {
        text.chars().map(|c| self.width(c)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emoji_and_cjk() {
        let file = SourceFile::new("x", "a = '😀字'\r\nb\n".to_string());
        let at = |character| Encoding::Utf16.offset(&file, Position { line: 0, character });
        // '😀' is two units and four bytes; in its middle, its start.
        assert_eq!([at(5), at(6), at(7), at(8), at(9), at(99)], [5, 5, 9, 12, 13, 13]);
        for offset in [0, 5, 9, 12, 13, 15, 16, 17] {
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                assert_eq!(encoding.offset(&file, encoding.position(&file, offset)), offset, "{encoding:?}");
            }
        }
        assert_eq!(Encoding::Utf16.position(&file, 12), Position { line: 0, character: 8 });
        assert_eq!(Encoding::Utf8.position(&file, 12), Position { line: 0, character: 12 });
        assert_eq!(Encoding::Utf16.offset(&file, Position { line: u32::MAX, character: u32::MAX }), 17);
    }
}
