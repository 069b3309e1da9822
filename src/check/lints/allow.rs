//! Which findings did the user allow in the text? `# kc: allow(W0701) reason`
//!
//! The comment holds for its line; alone on a line, for the line after it; on or above a function's
//! header, for the whole function. What allows nothing is reported, so that comments do not outlive
//! their reason.

use std::ops::Range;

use crate::check::messages;
use crate::diag::{Code, Diagnostic, Diagnostics, Level};
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
        let headers = headers(parsed, text);
        for comment in syntax::comments(text) {
            this.comment(parsed.file, text, &comment, &headers);
        }
        this
    }

    fn comment(&mut self, file: FileId, text: &str, found: &syntax::Comment, headers: &[Header]) {
        let comment = found.range.clone();
        let body = text.get(comment.clone()).unwrap_or_default();
        let words = body.trim_start_matches('#').trim_start();
        let Some(rest) = words.strip_prefix("kc:").map(str::trim_start) else { return };
        let Some(rest) = rest.strip_prefix("allow") else { return };
        let span = Span::new(file, comment.start as u32, comment.end as u32);
        let list = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(list, _)| list);
        let Some(list) = list else {
            self.faults.push(messages::lints::allow_form(span));
            return;
        };
        let before = text[..comment.start].trim_end_matches([' ', '\t']);
        let line_end = text[comment.end..].find('\n').map_or(text.len(), |at| comment.end + at + 1);
        let end = if found.alone { line_end } else { comment.end };
        let whole = Span::new(file, before.len() as u32, end as u32);
        let covers = covered(text, found, headers);
        let offset = list.as_ptr() as usize - text.as_ptr() as usize;
        let alone = !list.contains(',');
        let mut at = offset;
        for word in list.split(',') {
            let start = at + word.len() - word.trim_start().len();
            at += word.len() + 1;
            let name = word.trim();
            let word = Span::new(file, start as u32, (start + name.len()) as u32);
            match Code::ALL.iter().copied().find(|c| c.name().eq_ignore_ascii_case(name) || c.slug() == name) {
                // Whether the simulator finds something, no compilation knows.
                Some(Code::E1112 | Code::E1113 | Code::W1119) => {}
                Some(code) if code.level() != Level::Error => {
                    let covers = covers.clone();
                    self.list.push(Allow { code, covers, whole, word, alone, used: false });
                }
                Some(code) => self.faults.push(messages::lints::allowed_error(code.name(), word)),
                None => self.faults.push(messages::lints::unknown_code_allowed(name, word)),
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

    /// Reports comments that allow nothing. Those about gradients (06) are left alone: a
    /// compilation may make none; so are those of [`brought`].
    pub fn report_unused(&mut self, diagnostics: &mut Diagnostics) {
        for fault in self.faults.drain(..) {
            diagnostics.push(fault);
        }
        for allow in self.list.iter().filter(|a| !a.used && !a.code.is_gradient() && !brought(a.code)) {
            let mut diagnostic = messages::lints::allowed_in_vain(allow.code.name(), allow.word);
            if allow.alone {
                diagnostic = messages::lint_repairs::no_comment(diagnostic, allow.whole);
            }
            diagnostics.push(diagnostic);
        }
    }
}

/// The header of a function, from the first decorator to the end of its line, and the whole
/// function.
struct Header {
    lines: Range<u32>,
    function: Range<u32>,
}

/// Whether an architecture or a number of threads may bring a finding, so that a check without them
/// does not.
fn brought(code: Code) -> bool {
    matches!(code, Code::W0410 | Code::W0411 | Code::W0412 | Code::W0702)
}

/// The headers of a file, in order.
fn headers(parsed: &ast::Parsed, text: &str) -> Vec<Header> {
    let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |at| from + at);
    let header = |function: &ast::Function| Header {
        lines: function.span.start..line_end(function.name.span.end as usize) as u32 + 1,
        function: function.span.start..function.span.end,
    };
    let mut list: Vec<Header> = parsed.functions().into_iter().map(header).collect();
    list.sort_by_key(|header| header.lines.start);
    list
}

/// What a comment speaks of.
fn covered(text: &str, comment: &syntax::Comment, headers: &[Header]) -> Range<u32> {
    // Where no code follows, there is nothing to find.
    let Some(about) = comment.about.clone() else { return 0..0 };
    let end = text[about.start..].find('\n').map_or(text.len(), |at| about.start + at);
    let line = about.start as u32..end as u32 + 1;
    // Headers stand one after the other.
    let next = headers.partition_point(|header| header.lines.end <= line.start);
    match headers.get(next).filter(|header| header.lines.start < line.end) {
        Some(header) => header.function.clone(),
        None => line,
    }
}
