//! Findings for people: a headline, the source text with labels under it, notes, help.

use std::collections::HashMap;
use std::ops::Range;

use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind, Source};

use super::{Style, clamp};
use crate::diag::{Applicability, Diagnostic, Fix, Level};
use crate::ids::Id;
use crate::source::{FileId, SourceMap};

/// Source lines longer than this many bytes are not drawn, only quoted in part.
const LONGEST_LINE: usize = 400;
/// A label over more lines than this is drawn at its first line only.
const MOST_LINES: u32 = 12;

/// The files that findings are drawn in, each taken apart into lines once.
pub(super) struct Files<'a> {
    sources: &'a SourceMap,
    lines: HashMap<usize, Source<String>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(sources: &'a SourceMap) -> Files<'a> {
        Files { sources, lines: HashMap::new() }
    }
}

pub(super) fn render(diagnostic: &Diagnostic, files: &mut Files<'_>, style: Style) -> String {
    let sources = files.sources;
    let mut text = headline(diagnostic, style);
    if let Some(drawn) = draw(diagnostic, files, style) {
        text.push_str(&drawn);
    } else {
        text.push_str(&quote(diagnostic, sources));
    }
    for note in &diagnostic.notes {
        text.push_str(&remark("note", note, style));
    }
    let fix = diagnostic.fix.as_ref().map(|fix| (fix, applied_by(fix)));
    match (&diagnostic.help, fix) {
        // The help shows the very text that the fix writes: one line says both.
        (Some(help), Some((fix, how))) if says(help, fix) => {
            text.push_str(&remark("help", &format!("{help} ({how})"), style));
        }
        (help, fix) => {
            help.iter().for_each(|help| text.push_str(&remark("help", help, style)));
            let message = fix.map(|(fix, how)| format!("{} ({how})", fix.message));
            message.iter().for_each(|message| text.push_str(&remark("fix", message, style)));
        }
    }
    text.push('\n');
    text
}

/// The command that applies a fix.
fn applied_by(fix: &Fix) -> &'static str {
    match fix.applicability {
        Applicability::Machine => "`kc fix` does it",
        Applicability::Maybe => "`kc fix --maybe` does it",
    }
}

/// Whether a help quotes what a fix writes.
fn says(help: &str, fix: &Fix) -> bool {
    let quotes_one = help.matches('`').count() == 2;
    quotes_one && fix.edits.iter().all(|(_, new)| !new.is_empty() && help.contains(&format!("`{new}`")))
}

/// `error[E0301]: message (type-mismatch)`
fn headline(diagnostic: &Diagnostic, style: Style) -> String {
    let (kind, code) = (diagnostic.level.name(), diagnostic.code);
    let (name, slug) = (code.name(), code.slug());
    let message = printable(&diagnostic.message);
    if style.color {
        let color = match diagnostic.level {
            Level::Error => 31,
            Level::Warning => 33,
            Level::Note => 36,
        };
        format!("\u{1b}[1;{color}m{kind}[{name}]\u{1b}[0;1m: {message}\u{1b}[0m \u{1b}[2m({slug})\u{1b}[0m\n")
    } else {
        format!("{kind}[{name}]: {message} ({slug})\n")
    }
}

/// `  = note: ...`, wrapped to the width with a hanging indent.
fn remark(kind: &str, message: &str, style: Style) -> String {
    let lead = format!("  = {kind}: ");
    let room = style.width.saturating_sub(lead.len()).max(20);
    let mut lines = Vec::new();
    for paragraph in printable(message).lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    let body = lines.join(&format!("\n{}", " ".repeat(lead.len())));
    let lead = if style.color { format!("  \u{1b}[36m=\u{1b}[0m \u{1b}[1m{kind}\u{1b}[0m: ") } else { lead };
    format!("{lead}{body}\n")
}

/// The labels in the source text. None when there is none, or a line is too long to draw.
fn draw(diagnostic: &Diagnostic, files: &mut Files<'_>, style: Style) -> Option<String> {
    let sources = files.sources;
    let mut ranges: Vec<(FileId, Range<usize>, &str)> = Vec::new();
    for label in &diagnostic.labels {
        let range = clip(label.span.file, clamp(label.span, sources), sources);
        ranges.push((label.span.file, range, &label.message));
    }
    let primary = ranges.first()?.clone();
    if ranges.iter().any(|(id, range, _)| is_too_long(*id, range, sources)) {
        return None;
    }
    let local = |id: FileId, range: &Range<usize>| (id.index(), range.clone());
    let config = Config::new()
        .with_color(style.color)
        .with_compact(false)
        .with_cross_gap(false)
        .with_index_type(IndexType::Byte)
        .with_char_set(CharSet::Unicode);
    let strong = match diagnostic.level {
        Level::Error => Color::Red,
        Level::Warning => Color::Yellow,
        Level::Note => Color::Cyan,
    };
    let mut report = Report::build(ReportKind::Advice, local(primary.0, &primary.1)).with_config(config);
    // In the order of the text, labels of one file share one drawing.
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by_key(|&n| (ranges[n].0 != primary.0, ranges[n].0.index(), ranges[n].1.start));
    for n in order {
        let (id, range, message) = &ranges[n];
        let color = if n == 0 { strong } else { Color::Blue };
        // A label without words would not be drawn.
        let message = if message.is_empty() { "here".to_string() } else { printable(message) };
        report.add_label(Label::new(local(*id, range)).with_color(color).with_message(message));
    }
    let mut bytes = Vec::new();
    report.finish().write(files, &mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    // ariadne's own headline goes, ours has the code and the slug; so do the line that closes the
    // box, and spaces that nobody sees.
    let mut lines: Vec<&str> = text.lines().skip(1).map(str::trim_end).collect();
    lines.pop_if(|line| line.contains('╯'));
    Some(lines.join("\n") + "\n")
}

/// A range over many lines becomes its first line.
fn clip(id: FileId, range: Range<usize>, sources: &SourceMap) -> Range<usize> {
    let file = sources.file(id);
    let first = file.line_column(range.start as u32).line;
    let last = file.line_column(range.end as u32).line;
    if last - first < MOST_LINES {
        return range;
    }
    let end = file.text[range.start..].find('\n').map_or(range.end, |n| range.start + n);
    range.start..end
}

/// Whether a line that a range begins or ends in is too long to be drawn.
fn is_too_long(id: FileId, range: &Range<usize>, sources: &SourceMap) -> bool {
    let text = &sources.file(id).text;
    let from = text[..range.start].rfind('\n').map_or(0, |n| n + 1);
    let to = text[range.start..].find('\n').map_or(text.len(), |n| range.start + n);
    to - from > LONGEST_LINE
}

/// The same text with the same byte offsets, but with nothing in it that moves a terminal's cursor
/// or that ariadne would take for a line end.
fn drawable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{85}' => out.push('·'),
            '\u{2028}' | '\u{2029}' => out.push('␤'),
            '\r' => out.push(' '),
            c if c.is_ascii_control() => out.push(' '),
            c if c.is_control() => out.extend(std::iter::repeat_n('?', c.len_utf8())),
            c => out.push(c),
        }
    }
    out
}

/// A message without characters that move a terminal's cursor.
fn printable(message: &str) -> String {
    message.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// The place in words, for labels that cannot be drawn.
fn quote(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let mut text = String::new();
    for label in &diagnostic.labels {
        let file = sources.file(label.span.file);
        let range = clamp(label.span, sources);
        let at = file.line_column(range.start as u32);
        let part: String =
            file.text[range.start..].chars().take_while(|c| *c != '\n').take(40).collect::<String>().trim().to_string();
        text.push_str(&format!("  --> {}:{}:{}", file.path.display(), at.line, at.column));
        if !part.is_empty() {
            text.push_str(&format!(" at `{}`", printable(&part)));
        }
        if !label.message.is_empty() {
            text.push_str(&format!(": {}", printable(&label.message)));
        }
        text.push('\n');
    }
    text
}

impl ariadne::Cache<usize> for &mut Files<'_> {
    type Storage = String;

    fn fetch(&mut self, id: &usize) -> Result<&Source<String>, impl std::fmt::Debug> {
        let text = || drawable(&self.sources.file(FileId::new(*id)).text);
        Ok::<_, &str>(self.lines.entry(*id).or_insert_with(|| Source::from(text())))
    }

    fn display<'a>(&self, id: &'a usize) -> Option<impl std::fmt::Display + 'a> {
        Some(self.sources.file(FileId::new(*id)).path.display().to_string())
    }
}
