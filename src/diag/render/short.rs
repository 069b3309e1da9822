//! One line per finding, in the form that editors and `grep` know.

use super::clamp;
use crate::diag::Diagnostic;
use crate::source::SourceMap;

pub(super) fn render(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let place = match diagnostic.span() {
        Some(span) => {
            let file = sources.file(span.file);
            let at = file.line_column(clamp(span, sources).start as u32);
            format!("{}:{}:{}", file.path.display(), at.line, at.column)
        }
        None => "kc".to_string(),
    };
    // A message never breaks the line form, whatever user text it quotes.
    let message: String = diagnostic.message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("{place}: {}[{}]: {message}\n", diagnostic.level.name(), diagnostic.code.name())
}
