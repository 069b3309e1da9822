//! Which texts does a browser read? One page, as a server has it or as a file that is alone.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::wish::Wish;
use super::worker::Workers;
use crate::driver::Arch;
use crate::html::escape;
use crate::profile::Limits;
use crate::run::devices::TensorCores;

const PAGE: &str = include_str!("page/page.html");
pub const STYLE: &str = include_str!("page/page.css");

/// CodeMirror: `scripts/explorer` makes it.
pub const EDITOR: &str = include_str!("page/editor.min.js");

const SCRIPTS: [&str; 4] = [
    include_str!("page/panes.js"),
    include_str!("page/source.js"),
    include_str!("page/counters.js"),
    include_str!("page/page.js"),
];

/// The page's own script, whose names are its own.
pub fn script() -> String {
    format!("(() => {{\n'use strict';\n{}}})();\n", SCRIPTS.join("\n"))
}

/// What a page knows when it is opened.
pub struct Start<'a> {
    pub path: &'a Path,
    pub wish: &'a Wish,
    pub kernels: Vec<String>,
    /// Of a served page: what is on the disk.
    pub stamp: Option<String>,
    /// Of a copy: what there is to see, by kernel.
    pub views: Option<BTreeMap<String, Value>>,
}

impl Start<'_> {
    fn file(&self) -> String {
        self.path.file_name().map_or_else(|| "kernels.py".into(), |name| name.to_string_lossy().into_owned())
    }

    /// The page. Text of the user is data in it: no character of it can end the script.
    fn page(&self, head: &str, scripts: &str) -> String {
        let archs = Arch::ALL.iter().map(|arch| arch.name).filter(|name| Limits::of(name).is_some());
        let boot = json!({
            "live": self.stamp.is_some(), "version": env!("CARGO_PKG_VERSION"), "file": self.file(), "source": self.wish.source,
            "kernels": self.kernels, "archs": archs.collect::<Vec<_>>(), "tensor_cores": TensorCores::ALL.map(TensorCores::name),
            "wish": Wish { source: String::new(), ..self.wish.clone() }, "stamp": self.stamp, "views": self.views,
        });
        let boot = boot.to_string().replace('<', "\\u003c");
        let title = format!("{} - kc explore", escape(&self.file()));
        let mut page = String::with_capacity(PAGE.len() + boot.len() + scripts.len() + head.len());
        let mut rest = PAGE;
        for (mark, text) in [("{head}", head), ("{title}", &title), ("{boot}", &boot), ("{scripts}", scripts)] {
            if let Some((before, after)) = rest.split_once(mark) {
                page.extend([before, text]);
                rest = after;
            }
        }
        page + rest
    }

    /// As a server has it. `nonce` allows the styles that the editor makes.
    pub fn served(&self, nonce: &str) -> String {
        let script = |name| format!("<script src=\"{name}\" nonce=\"{nonce}\"></script>\n");
        let scripts = ["editor.js", "page.js"].map(script).concat();
        self.page("<link rel=\"stylesheet\" href=\"page.css\">", &scripts)
    }

    /// As a file that is alone and asks nobody for anything.
    fn alone(&self) -> String {
        const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
        let head =
            format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<style>\n{STYLE}</style>");
        self.page(&head, &format!("<script>\n{}</script>", script()))
    }
}

/// A copy of what there is to see of all kernels of a text, as one HTML file, and the names of
/// these kernels.
pub fn static_page(path: &Path, wish: &Wish, workers: &Workers) -> (String, Vec<String>) {
    let first = workers.copy(wish);
    let names = first["kernels"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let kernels: Vec<String> = names.map(str::to_string).collect();
    let shown = first["kernel"].as_str().unwrap_or_default().to_string();
    let mut views = BTreeMap::from([(shown.clone(), first)]);
    for kernel in &kernels {
        let own = || workers.copy(&Wish { kernel: Some(kernel.clone()), ..wish.clone() });
        views.entry(kernel.clone()).or_insert_with(own);
    }
    let wish = Wish { kernel: Some(shown), ..wish.clone() };
    (Start { path, wish: &wish, kernels: kernels.clone(), stamp: None, views: Some(views) }.alone(), kernels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_the_user_ends_the_data() {
        let source = "</script><script>alert(1)</script>{scripts}{boot}<!--".to_string();
        let wish = Wish { source, ..Wish::default() };
        let path = Path::new("<b>.py");
        let start = Start { path, wish: &wish, kernels: vec![], stamp: Some("1".into()), views: None };
        let page = start.served("n");
        assert!(!page.contains("alert(1)</script>") && !page.contains("<b>") && page.contains("&lt;b&gt;.py"));
        assert_eq!(page.matches("<script").count(), 3, "the data and two scripts");
        assert!(page.contains("{scripts}{boot}"), "what looks like a mark is text");
    }

    #[test]
    fn a_copy_names_no_other_file() {
        let wish = Wish { source: "x".to_string(), ..Wish::default() };
        let start = Start { path: Path::new("a.py"), wish: &wish, kernels: vec![], stamp: None, views: None };
        let page = start.alone();
        assert!(!page.contains("src=\"") && !page.contains("http://") && !page.contains("https://"), "{page}");
    }
}
