//! How does a file name what is Warp's? Messages, advice and fixes are written for
//! `import warp as wp`, and said in the file's own words.

use std::collections::BTreeMap;

use super::Diagnostic;

/// The words of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spelling {
    /// `w` of `import warp as w`.
    pub module: Option<String>,
    /// `from warp import *`
    pub star: bool,
    /// `from warp import vec3 as v`: `v` by `vec3`.
    pub members: BTreeMap<String, String>,
}

impl Spelling {
    /// Says a finding in the file's words. A fix that would write what the file does not name goes.
    pub fn apply(&self, diagnostic: &mut Diagnostic) {
        if self.module.as_deref() == Some("wp") || *self == Spelling::default() {
            return;
        }
        let said = |text: &mut String| {
            let (new, known) = self.said(text);
            if let Some(new) = new {
                *text = new;
            }
            known
        };
        let labels = diagnostic.labels.iter_mut().map(|label| &mut label.message);
        for text in labels.chain(&mut diagnostic.notes).chain([&mut diagnostic.message]).chain(&mut diagnostic.help) {
            said(text);
        }
        if let Some(fix) = &mut diagnostic.fix {
            said(&mut fix.message);
            let known = fix.edits.iter_mut().fold(true, |known, (_, text)| said(text) && known);
            if !known {
                diagnostic.fix = None;
            }
        }
    }

    /// The text in the file's words, if it changes, and whether the file has words for all of it.
    fn said(&self, text: &str) -> (Option<String>, bool) {
        let (mut out, mut rest, mut known) = (String::new(), text, true);
        while let Some(at) = rest.find("wp.") {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let after = &from[3..];
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
            let name = &after[..end];
            let is_path = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
            rest = &after[end..];
            match (self.word(name), is_path || name.is_empty()) {
                (Some(word), false) => out.push_str(&word),
                (found, other) => {
                    known &= other || found.is_some();
                    out.push_str(&from[..3 + end]);
                }
            }
        }
        out.push_str(rest);
        ((out != text).then_some(out), known)
    }

    fn word(&self, name: &str) -> Option<String> {
        match (self.members.get(name), &self.module) {
            (Some(own), _) => Some(own.clone()),
            (None, Some(module)) => Some(format!("{module}.{name}")),
            (None, None) => self.star.then(|| name.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_files() {
        let module = Spelling { module: Some("w".into()), ..Spelling::default() };
        let star = Spelling { star: true, ..Spelling::default() };
        let members = Spelling { members: [("vec3".into(), "v".into())].into(), ..Spelling::default() };
        for (spelling, text, wanted, known) in [
            (&module, "write `wp.vec3(x)`, or `wp.types.vector`", "write `w.vec3(x)`, or `w.types.vector`", true),
            (&module, "`swp.x` and `a.wp.x` stay, as `wp` does", "`swp.x` and `a.wp.x` stay, as `wp` does", true),
            (&star, "wp.float64(wp.sin(x))", "float64(sin(x))", true),
            (&members, "wp.vec3(1.0)", "v(1.0)", true),
            (&members, "wp.vec3(wp.sin(x)), wp.", "v(wp.sin(x)), wp.", false),
        ] {
            let (new, all) = spelling.said(text);
            assert_eq!((new.as_deref().unwrap_or(text), all), (wanted, known), "{text}");
        }
    }
}
