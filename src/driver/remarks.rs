//! The docstrings and comments of a source file, for the readers of CUDA C++.

use crate::codegen::cuda::{Comment, Remarked, Remarks};
use crate::diag::Diagnostics;
use crate::source::{FileId, SourceFile};
use crate::syntax;

/// A comment is written within so many lines of the code that it is about.
const NEAR: usize = 4;

/// What is said to tools, not to readers.
const DIRECTIVES: &[&str] =
    &["kc:", "type:", "noqa", "fmt:", "pylint:", "pragma:", "ruff:", "yapf:", "isort:", "mypy:", "pyright:"];

/// Those of the functions of a file; none if it is no Python.
pub fn remarks(file: FileId, source: &SourceFile) -> Remarks {
    let parsed = syntax::parse(file, &source.text, &mut Diagnostics::default());
    let comments = comments(&source.text);
    let of = |function: &syntax::ast::Function| {
        let before = |offset: u32| comments.partition_point(|comment| comment.near.start < offset);
        Remarked {
            name: function.name.text.clone(),
            doc: function.doc.clone().unwrap_or_default(),
            comments: comments[before(function.span.start)..before(function.span.end)].to_vec(),
        }
    };
    Remarks { functions: parsed.functions().into_iter().map(|function| (function.span, of(function))).collect() }
}

/// The comments of a text in order, each with the code that it is about: that of its line, or of the next one that has some.
fn comments(text: &str) -> Vec<Comment> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line_of = |at: usize| starts.partition_point(|&start| start <= at) - 1;
    let line = |n: usize| text[starts[n]..].lines().next().unwrap_or_default();
    let has_code = |n: usize| !line(n).trim_start().starts_with('#') && !line(n).trim().is_empty();
    // By line: the first one from there on that has code.
    let mut code: Vec<Option<usize>> = vec![None; starts.len() + 1];
    for n in (0..starts.len()).rev() {
        code[n] = if has_code(n) { Some(n) } else { code[n + 1] };
    }
    let mut found = Vec::new();
    for range in syntax::comments(text) {
        // Between two tokens may stand several.
        for (at, _) in text[range.clone()].match_indices('#').filter(|&(at, _)| {
            let before = &text[..range.start + at];
            at == 0 || before.trim_end_matches([' ', '\t']).ends_with('\n')
        }) {
            let at = range.start + at;
            let own = line_of(at);
            let said = text[at..].lines().next().unwrap_or_default().trim_start_matches('#').trim();
            let for_readers =
                said.contains(char::is_alphanumeric) && !DIRECTIVES.iter().any(|word| said.starts_with(word));
            let alone = text[starts[own]..at].trim().is_empty();
            let about = if alone { code[own + 1] } else { Some(own) };
            if let (true, Some(about)) = (for_readers, about) {
                let end = starts.get(about + NEAR).copied().unwrap_or(text.len());
                found.push(Comment { text: said.to_string(), near: starts[about] as u32..end as u32 });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::comments;

    #[test]
    fn comments_belong_to_code() {
        let text =
            "# one\n# two\n\nx = 1  # three\n    # kc: allow(W1301) no reader wants this\n# ----\ny = '# none'\n# last";
        let found: Vec<(String, &str)> = comments(text)
            .into_iter()
            .map(|comment| (comment.text, text[comment.near.start as usize..].split('\n').next().unwrap_or_default()))
            .collect();
        let expected = [("one", "x = 1  # three"), ("two", "x = 1  # three"), ("three", "x = 1  # three")];
        assert_eq!(found, expected.map(|(said, line)| (said.to_string(), line)));
    }
}
