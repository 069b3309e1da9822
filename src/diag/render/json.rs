//! One JSON object per finding, with every part, for tools.

use serde::Serialize;

use super::clamp;
use crate::diag::{Applicability, Diagnostic};
use crate::source::{SourceFile, SourceMap, Span};

#[derive(Serialize)]
struct Finding<'a> {
    /// None only for the remark that findings were left out.
    code: Option<&'a str>,
    slug: Option<&'a str>,
    level: &'a str,
    message: &'a str,
    /// The first one is the primary place.
    spans: Vec<Location<'a>>,
    notes: &'a [String],
    help: Option<&'a str>,
    fix: Option<Fix<'a>>,
}

#[derive(Serialize)]
struct Location<'a> {
    file: String,
    start: Position,
    end: Position,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// Bytes count from 0; lines and columns (in characters) from 1.
#[derive(Serialize)]
struct Position {
    byte: usize,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Fix<'a> {
    message: &'a str,
    /// `machine`: safe to apply; `maybe`: look at it first.
    applicability: &'a str,
    /// Each replaces its range by `text`.
    edits: Vec<Location<'a>>,
}

pub(super) fn render(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let place = |span: Span, label, text| {
        let file = sources.file(span.file);
        let range = clamp(span, sources);
        Location {
            file: file.path.display().to_string(),
            start: position(file, range.start),
            end: position(file, range.end),
            label,
            text,
        }
    };
    line(&Finding {
        code: Some(diagnostic.code.name()),
        slug: Some(diagnostic.code.slug()),
        level: diagnostic.level.name(),
        message: &diagnostic.message,
        spans: diagnostic.labels.iter().map(|label| place(label.span, Some(label.message.as_str()), None)).collect(),
        notes: &diagnostic.notes,
        help: diagnostic.help.as_deref(),
        fix: diagnostic.fix.as_ref().map(|fix| Fix {
            message: &fix.message,
            applicability: match fix.applicability {
                Applicability::Machine => "machine",
                Applicability::Maybe => "maybe",
            },
            edits: fix.edits.iter().map(|(span, text)| place(*span, None, Some(text.as_str()))).collect(),
        }),
    })
}

/// A line that is not a finding, such as the note that findings were left out.
pub(super) fn remark(message: &str) -> String {
    line(&Finding { code: None, slug: None, level: "note", message, spans: vec![], notes: &[], help: None, fix: None })
}

fn position(file: &SourceFile, byte: usize) -> Position {
    let at = file.line_column(byte as u32);
    Position { byte, line: at.line, column: at.column }
}

fn line(finding: &Finding) -> String {
    let mut text = serde_json::to_string(finding).expect("strings and numbers always serialise");
    text.push('\n');
    text
}
