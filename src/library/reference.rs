//! What does the reference page of built-ins say? The entries of the library, in the order of the page.

/// The examples in a doc: the fenced blocks, without their indentation.
pub fn examples(doc: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in doc.lines() {
        let indent = line.len() - line.trim_start().len();
        open = match (open, line.trim()) {
            (None, "```python") => Some((indent, String::new())),
            (Some((_, text)), "```") => {
                found.push(text);
                None
            }
            (Some((indent, text)), _) => {
                let rest = line.get(indent..).unwrap_or_default();
                Some((indent, text + rest + "\n"))
            }
            (None, _) => None,
        };
    }
    found
}
