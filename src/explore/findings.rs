//! How are findings said to a page? Places are offsets into the text in UTF-16, as JavaScript
//! counts.

use serde::Serialize;

use crate::diag::{Applicability, Diagnostic};
use crate::source::{FileId, SourceFile, SourceMap, Span};

/// A finding of the text, or of a run.
#[derive(Clone, PartialEq, Default, Serialize, Debug)]
pub struct Finding {
    pub code: &'static str,
    pub level: &'static str,
    /// With what the label at its place says.
    pub message: String,
    /// Notes, other places and help, line by line.
    pub more: String,
    /// Where it is; `line` 0: nowhere in this text.
    pub line: u32,
    pub from: usize,
    pub to: usize,
    pub fixes: Vec<Fix>,
}

/// Edits that repair a finding.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Fix {
    pub title: String,
    /// It is surely what is meant.
    pub preferred: bool,
    pub edits: Vec<Edit>,
}

#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Edit {
    pub from: usize,
    pub to: usize,
    pub text: String,
}

/// The offset of a byte, counted in UTF-16.
fn utf16(text: &str, byte: u32) -> usize {
    text.get(..byte as usize).unwrap_or(text).encode_utf16().count()
}

impl Edit {
    pub fn of(file: &SourceFile, (span, text): &(Span, String)) -> Edit {
        Edit { from: utf16(&file.text, span.start), to: utf16(&file.text, span.end), text: text.clone() }
    }
}

/// The finding for the text `main` of `sources`, at `place` if it has one there.
pub fn finding(diagnostic: &Diagnostic, place: Option<Span>, sources: &SourceMap, main: FileId) -> Finding {
    let file = sources.file(main);
    let at = place.filter(|span| span.file == main);
    let own = diagnostic.labels.iter().find(|label| Some(label.span) == place && !label.message.is_empty());
    let message = own.map_or_else(|| diagnostic.message.clone(), |l| format!("{}: {}", diagnostic.message, l.message));
    let fix = diagnostic.fix.iter().filter(|fix| fix.edits.iter().all(|(span, _)| span.file == main));
    Finding {
        code: diagnostic.code.name(),
        level: diagnostic.level.name(),
        message,
        more: more(diagnostic, place, sources, main),
        line: at.map_or(0, |span| file.line_column(span.start).line),
        from: at.map_or(0, |span| utf16(&file.text, span.start)),
        to: at.map_or(0, |span| utf16(&file.text, span.end)),
        fixes: fix
            .map(|fix| Fix {
                title: capital(&fix.message),
                preferred: fix.applicability == Applicability::Machine,
                edits: fix.edits.iter().map(|edit| Edit::of(file, edit)).collect(),
            })
            .collect(),
    }
}

fn capital(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn more(diagnostic: &Diagnostic, place: Option<Span>, sources: &SourceMap, main: FileId) -> String {
    let others = diagnostic.labels.iter().filter(|label| Some(label.span) != place && !label.message.is_empty());
    let mut lines: Vec<String> = others
        .map(|label| {
            let file = sources.file(label.span.file);
            let line = file.line_column(label.span.start).line;
            match label.span.file == main {
                true => format!("line {line}: {}", label.message),
                false => format!("{}:{line}: {}", file.path.display(), label.message),
            }
        })
        .collect();
    lines.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(diagnostic.help.iter().map(|help| format!("help: {help}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_as_javascript_does() {
        // An umlaut is one unit of two bytes, a pictogram two units of four.
        assert_eq!((utf16("\u{e4}b", 2), utf16("\u{1f600}b", 4), utf16("ab", 9)), (1, 2, 2));
    }
}
