//! Which findings of the simulator does a source allow? `# kc: allow(E1113) reason`, in PTX
//! `// kc: allow(E1113) reason`.
//!
//! As for warnings of the compiler, a comment holds for its line; alone on a line, for the code
//! below it; above a kernel or on the line of its `def`, for all of it. What ends a launch cannot
//! be allowed.

use crate::diag::{Code, Diagnostic};
use crate::source::{SourceFile, SourceMap, Span};

/// What a source may allow: a launch goes on after these.
fn may_be(code: Code) -> bool {
    matches!(code, Code::E1112 | Code::E1113 | Code::W1119)
}

/// Whether a line that a finding is about, or the kernel around it, allows it. Of a race, either
/// access may.
pub fn is_allowed(sources: &SourceMap, kernel: Option<Span>, finding: &Diagnostic) -> bool {
    if !may_be(finding.code) {
        return false;
    }
    let at = |span: Span| {
        let file = sources.file(span.file);
        let line = file.line_column(span.start).line;
        let inside = kernel.filter(|kernel| {
            kernel.file == span.file && kernel.start <= span.start && span.start < kernel.end.max(kernel.start + 1)
        });
        by_line(file, line, finding.code)
            || inside.is_some_and(|kernel| by_header(file, file.line_column(kernel.start).line, finding.code))
    };
    finding.labels.iter().any(|label| at(label.span))
}

/// A comment on the line, or alone on the lines above it.
fn by_line(file: &SourceFile, line: u32, code: Code) -> bool {
    let above = (1..line).rev().map(|above| file.line_text(above)).take_while(|text| is_comment(text));
    comment(file.line_text(line)).into_iter().chain(above.filter_map(comment)).any(|text| names(text, code))
}

/// A comment on the lines from the first decorator to the `def`, or above them.
fn by_header(file: &SourceFile, first: u32, code: Code) -> bool {
    let is_header = |text: &str| text.trim_start().starts_with('@') || is_comment(text);
    // A span may begin at the `def`.
    let top = (1..first).rev().take_while(|&line| is_header(file.line_text(line))).last().unwrap_or(first);
    let mut line = top;
    loop {
        let text = file.line_text(line);
        if comment(text).is_some_and(|text| names(text, code)) {
            return true;
        }
        if text.trim_start().starts_with("def ") || !(is_header(text) || line < first) {
            return false;
        }
        line += 1;
    }
}

fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('#') || text.starts_with("//")
}

/// What is behind the mark of a comment of the form.
fn comment(text: &str) -> Option<&str> {
    let at = text.find("kc:")?;
    let before = text[..at].trim_end();
    (before.ends_with('#') || before.ends_with("//")).then(|| &text[at + 3..])
}

/// Whether `allow(E1112, data-race) reason` names a code.
fn names(text: &str, code: Code) -> bool {
    let list = text.trim_start().strip_prefix("allow").map(str::trim_start).and_then(|rest| rest.strip_prefix('('));
    let Some((list, _)) = list.and_then(|rest| rest.split_once(')')) else { return false };
    list.split(',').map(str::trim).any(|name| name.eq_ignore_ascii_case(code.name()) || name == code.slug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_hold_for_their_line_the_next_or_the_kernel() {
        let text = "@wp.kernel\ndef k(x: A):\n    x[0] = 1.0  # kc: allow(E1113) all write one\n    # kc: allow(E1112, data-race) so\n    # and so\n    \
                    x[1] = x[2]\n    x[3] = x[4]\n\n# kc: allow(W1119) any order\n@wp.kernel\ndef m(x: A):\n    x[5] = 0.0\n";
        let mut sources = SourceMap::default();
        let file = sources.add(SourceFile::new("k.py", text.to_string()));
        let at = |words: &str| {
            let start = text.find(words).expect("it is there") as u32;
            Span::new(file, start, start + 1)
        };
        let kernel = |from: &str, to: &str| Span::new(file, at(from).start, at(to).start + 1);
        let (first, second) = (kernel("@wp", "x[4]"), kernel("def m", "x[5]"));
        let found =
            |code, place, kernel| is_allowed(&sources, Some(kernel), &Diagnostic::new(code, "").label(at(place), ""));
        assert!(found(Code::E1113, "x[0]", first) && found(Code::E1113, "x[2]", first));
        assert!(found(Code::E1112, "x[1]", first) && !found(Code::E1112, "x[0]", first));
        assert!(!found(Code::E1113, "x[3]", first) && !found(Code::W1119, "@wp", first));
        assert!(found(Code::W1119, "x[5]", second) && found(Code::W1119, "def m", second));
        assert!(!found(Code::E1113, "x[5]", second));
        // One of both accesses is enough; what ends a launch never is.
        let race = Diagnostic::new(Code::E1113, "").label(at("x[3]"), "").label(at("x[0]"), "");
        assert!(is_allowed(&sources, None, &race));
        assert!(names("allow(E1101)", Code::E1101) && !found(Code::E1101, "x[0]", first));
        for wrong in ["allow", "allow()", "allow(E11)", "allow(E1113", "disallow(E1113)"] {
            assert!(!names(wrong, Code::E1113), "{wrong}");
        }
        assert!(comment("x = 1 // kc: allow(E1113)").is_some() && comment("kc: allow(E1113)").is_none());
    }
}
