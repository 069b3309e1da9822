//! Diagnostics as text, one file per format: what does the user see?
//!
//! Rendering never fails and never panics: spans are clamped to their file and to whole characters
//! first.

mod github;
mod json;
mod sarif;
mod short;
mod terminal;

use std::ops::Range;

use super::{Diagnostic, Level, counted};
use crate::source::{SourceMap, Span};

/// How diagnostics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people: the source text with labels under it.
    Full,
    /// One line each: `file:line:column: error[E0301]: message`.
    Short,
    /// One JSON object a line, with every part.
    Json,
    /// The results of a SARIF 2.1.0 log, one JSON object a line; [`sarif_log`] makes the document.
    Sarif,
    /// Workflow commands that GitHub shows beside the changed lines.
    Github,
}

/// How a terminal shows text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Write ANSI colours.
    pub color: bool,
    /// Columns before notes are wrapped.
    pub width: usize,
}

impl Style {
    /// For files, pipes and tests.
    pub const PLAIN: Style = Style { color: false, width: 100 };
}

/// One diagnostic, with its line end.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, format: Format, style: Style) -> String {
    render_next(diagnostic, &mut terminal::Files::new(sources), sources, format, style)
}

/// One of several diagnostics, with what is kept of their files.
fn render_next(
    diagnostic: &Diagnostic,
    files: &mut terminal::Files<'_>,
    sources: &SourceMap,
    format: Format,
    style: Style,
) -> String {
    match format {
        Format::Full => terminal::render(diagnostic, files, style),
        Format::Short => short::render(diagnostic, sources),
        Format::Json => json::render(diagnostic, sources),
        Format::Sarif => sarif::render(diagnostic, sources),
        Format::Github => github::render(diagnostic, sources),
    }
}

/// A SARIF 2.1.0 document of results in the form [`Format::Sarif`].
pub fn sarif_log(results: &str) -> String {
    sarif::log(results)
}

/// A list of diagnostics, cut after `max_errors` errors (0: not cut); one line then says how many
/// were left out.
pub fn render_all(
    diagnostics: &[Diagnostic],
    sources: &SourceMap,
    format: Format,
    style: Style,
    max_errors: usize,
) -> String {
    let mut text = String::new();
    let mut files = terminal::Files::new(sources);
    let mut errors = 0;
    for (shown, diagnostic) in diagnostics.iter().enumerate() {
        if max_errors > 0 && errors == max_errors {
            let left = diagnostics.get(shown..).unwrap_or_default();
            let message = format!("not shown: {} (`--max-errors 0` shows all)", count(left));
            match format {
                Format::Json => text.push_str(&json::remark(&message)),
                Format::Sarif => {}
                Format::Github => text.push_str(&format!("::notice::{message}\n")),
                Format::Full | Format::Short => text.push_str(&format!("... {message}\n")),
            }
            break;
        }
        errors += usize::from(diagnostic.level == Level::Error);
        text.push_str(&render_next(diagnostic, &mut files, sources, format, style));
    }
    text
}

/// `2 errors, 1 warning`; `no findings` for an empty list.
pub fn count<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let mut counts = [(0, "error"), (0, "warning"), (0, "note")];
    for diagnostic in diagnostics {
        counts[2 - diagnostic.level as usize].0 += 1;
    }
    let parts: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| counted(*n, word)).collect();
    if parts.is_empty() { "no findings".to_string() } else { parts.join(", ") }
}

impl Level {
    /// `error`
    pub fn name(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// The span as a byte range that lies inside its file, on character boundaries, start before end.
fn clamp(span: Span, sources: &SourceMap) -> Range<usize> {
    let text = &sources.file(span.file).text;
    let down = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = down(span.start);
    let mut end = (span.end as usize).min(text.len()).max(start);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Applicability, Code};
    use crate::source::SourceFile;

    const STYLES: [Style; 2] = [Style::PLAIN, Style { color: true, width: 20 }];
    const FORMATS: [Format; 5] = [Format::Full, Format::Short, Format::Json, Format::Sarif, Format::Github];

    /// Every span of odd texts, valid or not, renders in every format.
    #[test]
    fn odd_spans_do_not_panic() {
        let long = format!("{}\nend", "x = 1 + ".repeat(300));
        for text in ["", "\n", "a", "é", "x = 'äöü€😀'\r\ny\u{2028}z\u{b}\u{c}w\u{85}\n\t\u{1b}[31mé", "a\n\n\n", &long]
        {
            let mut sources = SourceMap::default();
            let file = sources.add(SourceFile::new("odd.py", text.to_string()));
            let offsets = || (0..(text.len() as u32 + 3).min(40)).chain([text.len() as u32, u32::MAX]);
            for start in offsets() {
                for end in offsets() {
                    let span = Span { file, start, end };
                    let diagnostic = Diagnostic::new(Code::E0999, "message")
                        .label(span, "here")
                        .label(Span { file, start: 0, end: start }, "")
                        .note("a note")
                        .help("some help")
                        .fix("replace", span, "text", Applicability::Maybe);
                    for style in STYLES {
                        for format in FORMATS {
                            assert!(render(&diagnostic, &sources, format, style).ends_with('\n'));
                        }
                    }
                }
            }
        }
    }

    fn example(errors: usize) -> (Vec<Diagnostic>, SourceMap) {
        let mut sources = SourceMap::default();
        let file = sources.add(SourceFile::new("k.py", "x = 1\ny = é + two\n".to_string()));
        let list = (0..errors)
            .map(|n| {
                Diagnostic::new(Code::E0999, format!("message {n}"))
                    .label(Span::new(file, 15, 18), "this name")
                    .label(Span::new(file, 0, 1), "and this one")
                    .note("a note")
                    .help("some help")
                    .fix("write `too`", Span::new(file, 15, 18), "too", Applicability::Machine)
            })
            .collect();
        (list, sources)
    }

    #[test]
    fn full_form() {
        let (list, sources) = example(1);
        let text = render_all(&list, &sources, Format::Full, Style::PLAIN, 20);
        assert!(text.starts_with("error[E0999]: message 0 (internal-error)\n"), "{text}");
        assert!(text.contains("k.py:2:9"), "{text}");
        assert!(text.contains(" 2 │ y = é + two") || text.contains(" 2 │y = é + two"), "{text}");
        assert!(text.contains("this name") && text.contains("and this one"), "{text}");
        assert!(text.contains("a note") && text.contains("some help") && text.contains("write `too`"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        let colored = render_all(&list, &sources, Format::Full, Style { color: true, width: 80 }, 20);
        assert!(colored.contains('\u{1b}'), "{colored}");
    }

    #[test]
    fn short_form_and_limit() {
        let (list, sources) = example(3);
        let text = render_all(&list, &sources, Format::Short, Style::PLAIN, 2);
        assert_eq!(
            text,
            "k.py:2:9: error[E0999]: message 0\nk.py:2:9: error[E0999]: message 1\n\
             ... not shown: 1 error (`--max-errors 0` shows all)\n"
        );
    }

    #[test]
    fn json_form() {
        let (list, sources) = example(1);
        let text = render_all(&list, &sources, Format::Json, Style::PLAIN, 20);
        let value: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
        assert_eq!(value["code"], "E0999");
        assert_eq!(value["slug"], "internal-error");
        assert_eq!(value["spans"][0]["start"], serde_json::json!({"byte": 15, "line": 2, "column": 9}));
        assert_eq!(value["spans"][0]["end"], serde_json::json!({"byte": 18, "line": 2, "column": 12}));
        assert_eq!(value["spans"][1]["label"], "and this one");
        assert_eq!(value["fix"]["edits"][0]["text"], "too");
        assert_eq!(value["notes"][0], "a note");
    }

    #[test]
    fn github_form_is_one_escaped_line() {
        let (mut list, sources) = example(1);
        list[0].message = "50%\nof it".to_string();
        let text = render_all(&list, &sources, Format::Github, Style::PLAIN, 20);
        assert_eq!(
            text,
            "::error file=k.py,line=2,endLine=2,col=9,endColumn=12,title=E0999 internal-error::50%25%0Aof it%0Asome help\n"
        );
    }

    #[test]
    fn sarif_form_is_one_document() {
        let (list, sources) = example(2);
        let text = sarif_log(&render_all(&list, &sources, Format::Sarif, Style::PLAIN, 0));
        let value: serde_json::Value = serde_json::from_str(&text).expect("one document");
        assert_eq!(value["version"], "2.1.0");
        let run = &value["runs"][0];
        assert_eq!(run["results"].as_array().map(Vec::len), Some(2));
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "E0999");
        let region = &run["results"][1]["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region["startLine"], 2);
        assert_eq!(region["startColumn"], 9);
        assert_eq!(
            run["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"],
            "too"
        );
    }
}
