//! What does the reference page of built-ins say? The entries of the library, in the order of the
//! page.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Decision, Entry, Library};
use crate::html::escape;
use crate::source::SourceMap;

/// The subjects in the order of the page: the files of the library, and what they are about.
const SUBJECTS: &[(&str, &str)] = &[
    ("launch", "Launch, loops, output"),
    ("control", "Control"),
    ("construct", "Types and values"),
    ("scalar", "Scalars"),
    ("elementary", "Elementary functions"),
    ("vector", "Vectors"),
    ("matrix", "Matrices"),
    ("decomposition", "Decompositions"),
    ("quaternion", "Quaternions"),
    ("transform", "Transforms and spatial vectors"),
    ("array", "Arrays"),
    ("atomics", "Atomics"),
    ("random", "Random numbers"),
    ("noise", "Noise"),
    ("geometry", "Geometry"),
    ("dense", "Dense matrices in arrays"),
    ("mesh", "Meshes"),
    ("mesh_rays", "Meshes: rays"),
    ("bvh", "Trees of boxes"),
    ("hash_grid", "Hash grids"),
    ("volume", "Volumes"),
    ("volume_index", "Volumes of indices"),
    ("volume_maps", "Volumes and the world"),
    ("texture", "Textures"),
    ("testing", "Tests"),
    ("tile", "Tiles"),
    ("tile_threads", "Tiles and threads"),
    ("tile_queries", "Queries of a block"),
    ("syntax", "Statements that have a name in Warp"),
];

/// One overload as the page shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overload {
    /// `lerp(a: Float, b: Float, t: Float) -> Float`; for a name that represents a statement, the
    /// statement.
    pub signature: String,
    /// Markdown.
    pub doc: String,
    /// What the gradient is, in words or as the rule's text.
    pub gradient: String,
    /// The name of the library file it is in, without ending: the subject.
    pub subject: String,
    /// The parameters as the signature writes them: `a: Float`.
    pub params: Vec<String>,
    /// The library file it is in, as [`Library::text`] knows it.
    pub path: String,
    /// Where its name is in that file, in bytes.
    pub name: std::ops::Range<u32>,
}

/// All overloads of a name that users can call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Builtin {
    pub name: &'static str,
    /// The subject under which it is, an index into [`SUBJECTS`].
    subject: usize,
    pub overloads: Vec<Overload>,
}

/// Every public built-in: by subject, then by name.
pub fn builtins() -> Vec<Builtin> {
    let (library, mut sources) = (Library::default(), SourceMap::default());
    let names = Library::public_names().map(|name| (name, name.to_string()));
    let statements = Library::statements().map(|name| (name, format!("{name}.syntax")));
    let mut all: Vec<Builtin> = names
        .chain(statements)
        .map(|(name, key)| {
            let overloads = overloads(&key, &library, &mut sources);
            let place = |overload: &Overload| SUBJECTS.iter().position(|(stem, _)| *stem == overload.subject);
            let subject = overloads.iter().filter_map(place).min().unwrap_or(SUBJECTS.len());
            Builtin { name, subject, overloads }
        })
        .filter(|builtin| !builtin.overloads.is_empty())
        .collect();
    all.sort_by_key(|builtin| (builtin.subject, builtin.name));
    all
}

/// The built-ins of each subject that has any.
fn by_subject(all: &[Builtin]) -> impl Iterator<Item = (&'static str, &[Builtin])> {
    all.chunk_by(|a, b| a.subject == b.subject).map(|group| {
        let subject = group.first().and_then(|builtin| SUBJECTS.get(builtin.subject));
        (subject.map_or("Others", |(_, title)| title), group)
    })
}

/// The overloads of one built-in; none when there is no such name.
pub fn builtin(name: &str) -> Vec<Overload> {
    overloads(name, &Library::default(), &mut SourceMap::default())
}

fn overloads(key: &str, library: &Library, sources: &mut SourceMap) -> Vec<Overload> {
    let rules = library.rules(key, sources);
    let entries = library.entries(key, sources);
    let overload = |entry: &Arc<Entry>| {
        let function = &entry.function;
        let param = |param: &crate::syntax::ast::Param| sources.text(param.span).to_string();
        let params: Vec<String> = function.params.iter().map(param).collect();
        let mut signature = format!("{}({})", function.name.text, params.join(", "));
        if let Some(returns) = &function.returns {
            let _ = write!(signature, " -> {}", sources.text(returns.span));
        }
        if let Some(form) = &entry.form {
            signature = form.clone();
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

/// The names of each subject, as Markdown.
pub fn index() -> String {
    let all = builtins();
    let mut page = "# Built-ins by subject\n\n".to_string();
    let overloads: usize = all.iter().map(|builtin| builtin.overloads.len()).sum();
    let _ = write!(
        page,
        "{} names, {overloads} overloads; an overload for `Float` stands for every float type, and so on. `kc doc --out docs/`\n\
        writes the reference: signatures, docs, gradients, examples.\n\n| subject | names |\n|---|---|\n",
        all.len()
    );
    for (title, group) in by_subject(&all) {
        let names: Vec<String> = group.iter().map(|builtin| format!("`{}`", builtin.name)).collect();
        let _ = writeln!(page, "| {title} | {} |", names.join(" "));
    }
    page
}

/// The page as Markdown.
pub fn markdown() -> String {
    let mut page = "# Built-ins\n".to_string();
    for (title, group) in by_subject(&builtins()) {
        let _ = write!(page, "\n# {title}\n");
        for builtin in group {
            let _ = write!(page, "\n## {}\n", builtin.name);
            for Overload { signature, doc, gradient, .. } in &builtin.overloads {
                let _ = write!(page, "\n```python\n{signature}\n```\n\n{doc}\n\n");
                let _ = match gradient.contains("adjoint[") {
                    true => writeln!(page, "Gradient:\n\n```python\n{gradient}\n```"),
                    false => writeln!(page, "Gradient: {gradient}."),
                };
            }
        }
    }
    page
}

/// The page as one self-contained HTML file with a search field.
pub fn html() -> String {
    let mut page = include_str!("reference.html").to_string();
    let (mut body, mut contents) = (String::new(), String::new());
    for (n, (title, group)) in by_subject(&builtins()).enumerate() {
        let title = escape(title);
        let _ = writeln!(contents, "<a href=\"#subject-{n}\">{title}</a>");
        let _ = writeln!(body, "<div class=\"subject\"><h1 id=\"subject-{n}\">{title}</h1>");
        for builtin in group {
            let _ = writeln!(body, "<section id=\"{0}\"><h2><a href=\"#{0}\">{0}</a></h2>", builtin.name);
            for Overload { signature, doc, gradient, .. } in &builtin.overloads {
                let _ = write!(
                    body,
                    "<article><pre class=\"signature\">{}</pre>\n{}<p class=\"gradient\">Gradient:</p>\n<pre>{}</pre></article>\n",
                    escape(signature),
                    paragraphs(doc),
                    escape(gradient)
                );
            }
            body += "</section>\n";
        }
        body += "</div>\n";
    }
    page = page.replace("<!-- contents -->", &contents).replace("<!-- built-ins -->", &body);
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
        assert!(!html.contains("<!-- "));
        assert!(!markdown.contains("# Others\n"), "a file of the library has no subject");
    }

    /// `KC_BLESS=1 cargo test --lib reference` writes the page anew.
    #[test]
    fn the_page_of_names_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/builtins.md");
        if std::env::var_os("KC_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(path, index()).expect("docs/ can be written");
        }
        assert_eq!(
            std::fs::read_to_string(path).unwrap_or_default(),
            index(),
            "KC_BLESS=1 writes docs/builtins.md anew"
        );
    }
}
