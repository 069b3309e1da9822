//! Which findings did the user allow in the text? `# kc: allow(W0701) reason`
//!
//! The comment holds for its line; alone on a line, for the line after it; on or above a function's header, for the whole
//! function. What allows nothing is reported, so that comments do not outlive their reason.

use std::ops::Range;

use crate::diag::{Applicability, Code, Diagnostic, Diagnostics, Level};
use crate::source::{FileId, Span};
use crate::syntax::{self, ast};

/// One code of one comment.
#[derive(Debug)]
struct Allow {
    code: Code,
    /// The bytes in which findings of the code are left out.
    covers: Range<u32>,
    /// The comment with the blanks before it, or with its line if it has one for itself.
    whole: Span,
    /// The code's own place in it.
    word: Span,
    /// The comment names no other code.
    alone: bool,
    used: bool,
}

/// The comments of one file.
#[derive(Debug, Default)]
pub struct Allows {
    list: Vec<Allow>,
    /// What is wrong with the comments themselves.
    faults: Vec<Diagnostic>,
}

impl Allows {
    /// Reads the comments of a file.
    pub fn read(parsed: &ast::Parsed, text: &str) -> Allows {
        let mut this = Allows::default();
        // Most files have none: they are not lexed again.
        if !text.contains("kc: allow") && !text.contains("kc:allow") {
            return this;
        }
        for comment in syntax::comments(text) {
            this.comment(parsed, text, comment);
        }
        this
    }

    fn comment(&mut self, parsed: &ast::Parsed, text: &str, comment: Range<usize>) {
        let body = text.get(comment.clone()).unwrap_or_default();
        let words = body.trim_start_matches('#').trim_start();
        let Some(rest) = words.strip_prefix("kc:").map(str::trim_start) else { return };
        let Some(rest) = rest.strip_prefix("allow") else { return };
        let span = Span::new(parsed.file, comment.start as u32, comment.end as u32);
        let list = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(list, _)| list);
        let Some(list) = list else {
            let message = "this comment allows nothing: its form is `# kc: allow(CODE) reason`";
            self.faults.push(Diagnostic::new(Code::W1304, message).label(span, "not understood"));
            return;
        };
        let before = text[..comment.start].trim_end_matches([' ', '\t']);
        let own_line = before.is_empty() || before.ends_with('\n');
        let line_end = text[comment.end..].find('\n').map_or(text.len(), |at| comment.end + at + 1);
        let end = if own_line { line_end } else { comment.end };
        let whole = Span::new(parsed.file, before.len() as u32, end as u32);
        let covers = covered(parsed, text, &comment);
        let offset = list.as_ptr() as usize - text.as_ptr() as usize;
        let alone = !list.contains(',');
        let mut at = offset;
        for word in list.split(',') {
            let start = at + word.len() - word.trim_start().len();
            at += word.len() + 1;
            let name = word.trim();
            let word = Span::new(parsed.file, start as u32, (start + name.len()) as u32);
            match Code::ALL.iter().copied().find(|c| c.name().eq_ignore_ascii_case(name) || c.slug() == name) {
                Some(code) if code.level() != Level::Error => {
                    let covers = covers.clone();
                    self.list.push(Allow { code, covers, whole, word, alone, used: false });
                }
                Some(code) => self.faults.push(
                    Diagnostic::new(Code::W1304, format!("{} is an error and cannot be allowed", code.name()))
                        .label(word, "only warnings can be allowed"),
                ),
                None => self.faults.push(
                    Diagnostic::new(Code::W1304, format!("there is no code `{name}` to allow"))
                        .label(word, "`kc explain` lists all codes"),
                ),
            }
        }
    }

    /// Leaves out what is allowed.
    pub fn apply(&mut self, file: FileId, diagnostics: &mut Diagnostics) {
        if self.list.is_empty() {
            return;
        }
        diagnostics.retain(|diagnostic| {
            let Some(span) = diagnostic.span().filter(|span| span.file == file) else { return true };
            let found = self.list.iter_mut().find(|a| a.code == diagnostic.code && a.covers.contains(&span.start));
            match found {
                Some(allow) => {
                    allow.used = true;
                    false
                }
                None => true,
            }
        });
    }

    /// Reports comments that allow nothing. Those about gradients (06) are left alone: a compilation may make none.
    pub fn report_unused(&mut self, diagnostics: &mut Diagnostics) {
        for fault in self.faults.drain(..) {
            diagnostics.push(fault);
        }
        for allow in self.list.iter().filter(|a| !a.used && !a.code.is_gradient()) {
            let message = format!("{} is allowed here but not found", allow.code.name());
            let mut diagnostic = Diagnostic::new(Code::W1304, message).label(allow.word, "nothing to allow");
            if allow.alone {
                diagnostic = diagnostic.fix("remove the comment", allow.whole, "", Applicability::Machine);
            }
            diagnostics.push(diagnostic);
        }
    }
}

/// What a comment speaks of.
fn covered(parsed: &ast::Parsed, text: &str, comment: &Range<usize>) -> Range<u32> {
    let line_start = text[..comment.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |at| from + at);
    let mut start = line_start;
    if text[line_start..comment.start].trim().is_empty() {
        // Alone: the next line with code.
        let mut at = line_end(comment.end);
        while let Some(line) = text.get(at + 1..).map(|rest| rest.split('\n').next().unwrap_or_default()) {
            start = at + 1;
            if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                break;
            }
            at = start + line.len();
            if at >= text.len() {
                break;
            }
        }
    }
    let end = line_end(start);
    let line = start as u32..end as u32 + 1;
    for function in parsed.functions() {
        // From the first decorator to the end of the header's line.
        let header = function.span.start..line_end(function.name.span.end as usize) as u32 + 1;
        if header.start < line.end && line.start < header.end {
            return function.span.start..function.span.end;
        }
    }
    line
}
