//! Workflow commands of GitHub Actions: one line per finding, shown beside the changed line of a
//! pull request.

use super::clamp;
use crate::diag::{Diagnostic, Level};
use crate::source::SourceMap;

pub(super) fn render(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let kind = match diagnostic.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let place = diagnostic.span().map(|span| {
        let file = sources.file(span.file);
        let range = clamp(span, sources);
        let (from, to) = (file.line_column(range.start as u32), file.line_column(range.end as u32));
        let columns =
            if from.line == to.line { format!(",col={},endColumn={}", from.column, to.column) } else { String::new() };
        let path = property(&file.path.display().to_string());
        format!("file={path},line={},endLine={}{columns},", from.line, to.line)
    });
    let title = property(&format!("{} {}", diagnostic.code.name(), diagnostic.code.slug()));
    let mut message = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        message.push('\n');
        message.push_str(help);
    }
    format!("::{kind} {}title={title}::{}\n", place.unwrap_or_default(), data(&message))
}

/// The runner reads percent escapes, and needs the line kept whole.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
