//! What does the reference page of built-ins say? The entries of the library, in the order of the page.

use std::fmt::Write as _;

use super::{Decision, Library};
use crate::source::SourceMap;

/// One overload as the page shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overload {
    /// `lerp(a: Float, b: Float, t: Float) -> Float`
    pub signature: String,
    /// Markdown.
    pub doc: String,
    /// What the gradient is, in words or as the rule's text.
    pub gradient: String,
    /// The name of the library file it stands in, without ending: the subject.
    pub subject: String,
    /// The parameters as the signature writes them: `a: Float`.
    pub params: Vec<String>,
    /// The library file it stands in, as [`Library::text`] knows it.
    pub path: String,
    /// Where its name stands in that file, in bytes.
    pub name: std::ops::Range<u32>,
}

/// All overloads of a name that users can call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Builtin {
    pub name: &'static str,
    pub overloads: Vec<Overload>,
}

/// Every public built-in, by name.
pub fn builtins() -> Vec<Builtin> {
    let (mut library, mut sources) = (Library::default(), SourceMap::default());
    Library::public_names()
        .map(|name| Builtin { name, overloads: overloads(name, &mut library, &mut sources) })
        .filter(|builtin| !builtin.overloads.is_empty())
        .collect()
}

/// The overloads of one built-in; none when there is no such name.
pub fn builtin(name: &str) -> Vec<Overload> {
    overloads(name, &mut Library::default(), &mut SourceMap::default())
}

fn overloads(name: &str, library: &mut Library, sources: &mut SourceMap) -> Vec<Overload> {
    let rules = library.rules(name, sources);
    let entries = library.entries(name, sources);
    let overload = |entry: &std::rc::Rc<super::Entry>| {
        let function = &entry.function;
        let param = |param: &crate::syntax::ast::Param| sources.text(param.span).to_string();
        let params: Vec<String> = function.params.iter().map(param).collect();
        let mut signature = format!("{name}({})", params.join(", "));
        if let Some(returns) = &function.returns {
            let _ = write!(signature, " -> {}", sources.text(returns.span));
        }
        let gradient = match &entry.decision {
            Decision::Rule => {
                let own = rules.iter().find(|rule| super::belongs(&rule.function, function));
                let body = own.map(|rule| rule.function.body.iter().map(|stmt| sources.text(stmt.span)));
                body.map(|lines| lines.collect::<Vec<_>>().join("\n").replace("\n    ", "\n")).unwrap_or_default()
            }
            Decision::Body => "that of its definition".to_string(),
            Decision::Zero(reason) => format!("zero: {reason}"),
            Decision::None(reason) => format!("none: {reason}"),
            Decision::Compiler(words) => words.clone(),
            Decision::Missing => String::new(),
        };
        let path = sources.path(function.span.file);
        let subject = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = path.to_string_lossy().into_owned();
        let doc = dedent(function.doc.as_deref().unwrap_or_default());
        let name = function.name.span.start..function.name.span.end;
        Overload { signature, doc, gradient, subject, params, path, name }
    };
    entries.iter().map(overload).collect()
}

/// A doc without the indentation of its later lines.
fn dedent(doc: &str) -> String {
    let later = doc.lines().skip(1).filter(|line| !line.trim().is_empty());
    let indent = later.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let mut lines = doc.lines();
    let first = lines.next().unwrap_or_default().trim();
    let rest = lines.map(|line| line.get(indent..).unwrap_or_default().trim_end());
    let text: Vec<&str> = std::iter::once(first).chain(rest).collect();
    text.join("\n").trim_end().to_string()
}

/// The page as Markdown.
pub fn markdown() -> String {
    let mut page = "# Built-ins\n".to_string();
    for builtin in builtins() {
        let _ = write!(page, "\n## {}\n", builtin.name);
        for overload in &builtin.overloads {
            let Overload { signature, doc, gradient, subject, .. } = overload;
            let _ = write!(page, "\n```python\n{signature}\n```\n\n{doc}\n\n");
            let _ = match gradient.contains("adjoint[") {
                true => writeln!(page, "Gradient ({subject}):\n\n```python\n{gradient}\n```"),
                false => writeln!(page, "Gradient: {gradient}. ({subject})"),
            };
        }
    }
    page
}

/// The page as one self-contained HTML file with a search field.
pub fn html() -> String {
    let mut page = include_str!("reference.html").to_string();
    let mut body = String::new();
    for builtin in builtins() {
        let _ = writeln!(body, "<section id=\"{0}\"><h2><a href=\"#{0}\">{0}</a></h2>", builtin.name);
        for Overload { signature, doc, gradient, subject, .. } in &builtin.overloads {
            let _ = write!(
                body,
                "<article><pre class=\"signature\">{}</pre>\n{}<p class=\"gradient\">Gradient ({}):</p>\n<pre>{}</pre></article>\n",
                escape(signature),
                paragraphs(doc),
                escape(subject),
                escape(gradient)
            );
        }
        body += "</section>\n";
    }
    page = page.replace("<!-- built-ins -->", &body);
    page
}

/// The Markdown of docs as HTML: paragraphs, code in backquotes, fenced blocks.
fn paragraphs(doc: &str) -> String {
    let mut html = String::new();
    for (n, part) in doc.split("```").enumerate() {
        if n % 2 == 1 {
            let code = part.strip_prefix("python").unwrap_or(part);
            let _ = writeln!(html, "<pre>{}</pre>", escape(code.trim()));
            continue;
        }
        for paragraph in part.split("\n\n").map(str::trim).filter(|p| !p.is_empty()) {
            html += "<p>";
            for (k, piece) in paragraph.split('`').enumerate() {
                let piece = escape(piece);
                let _ = if k % 2 == 1 { write!(html, "<code>{piece}</code>") } else { write!(html, "{piece}") };
            }
            html += "</p>\n";
        }
    }
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_name_every_builtin() {
        let (markdown, html) = (markdown(), html());
        let all = builtins();
        assert!(all.len() > 100);
        for builtin in all {
            assert!(markdown.contains(&format!("\n## {}\n", builtin.name)), "{}", builtin.name);
            assert!(html.contains(&format!("<section id=\"{}\">", builtin.name)), "{}", builtin.name);
        }
        assert!(markdown.contains("adjoint[x] += Float(0.5) / sqrt(x) * adj_ret"));
        assert!(!html.contains("<!-- built-ins -->"));
    }
}
