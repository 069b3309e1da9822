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

/// The comments of a text that are for readers, in order, each with the code that it is about.
fn comments(text: &str) -> Vec<Comment> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let found = syntax::comments(text).into_iter().filter_map(|comment| {
        let said = text[comment.range].trim_start_matches('#').trim();
        let for_readers = said.contains(char::is_alphanumeric) && !DIRECTIVES.iter().any(|word| said.starts_with(word));
        let about = comment.about.filter(|_| for_readers)?;
        let line = starts.partition_point(|&start| start <= about.start) - 1;
        let end = starts.get(line + NEAR).copied().unwrap_or(text.len());
        Some(Comment { text: said.to_string(), near: about.start as u32..end as u32 })
    });
    found.collect()
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
