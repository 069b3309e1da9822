//! What does a project say of its warnings? The table `[tool.kc]` of `pyproject.toml`, in the
//! nearest folder around a file that has one:
//!
//! ```toml
//! [tool.kc]
//! allow = ["W0606"]
//! deny = ["W0701", "gradients"]
//!
//! [tool.kc.folders."tests"]
//! allow = ["warnings"]
//! ```

use std::path::{Path, PathBuf};

use crate::diag::policy::{Policy, Setting};

/// The rules for a file. Those for the deepest folder count first.
///
/// # Errors
/// A message about a rule that is none.
pub fn policy_of(path: &Path) -> Result<Policy, String> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for folder in absolute.ancestors().skip(1) {
        let file = folder.join("pyproject.toml");
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if !text.contains("[tool.kc") {
            continue;
        }
        let inner = absolute.strip_prefix(folder).unwrap_or(&absolute);
        return policy(&text, inner).map_err(|message| format!("{}: {message}", file.display()));
    }
    Ok(Policy::default())
}

/// The rules of a table: of the project, or of one of its folders.
struct Rules {
    folder: Option<PathBuf>,
    policy: Policy,
}

/// The rules in a text for a file, by its path from the folder of the text.
fn policy(text: &str, file: &Path) -> Result<Policy, String> {
    let mut tables: Vec<Rules> = Vec::new();
    let mut lines = text.lines().map(without_comment);
    let mut ours = false;
    while let Some(line) = lines.next() {
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let folder = header.trim().strip_prefix("tool.kc.folders.").map(|folder| PathBuf::from(unquoted(folder)));
            ours = header.trim() == "tool.kc" || folder.is_some();
            if ours {
                tables.push(Rules { folder, policy: Policy::default() });
            }
            continue;
        }
        let (Some(rules), Some((key, value))) = (tables.last_mut().filter(|_| ours), line.split_once('=')) else {
            continue;
        };
        let mut value = value.trim().to_string();
        while value.starts_with('[') && !value.ends_with(']') {
            let Some(more) = lines.next() else { break };
            value.push_str(more.trim());
        }
        let setting = match key.trim() {
            "allow" => Setting::Allow,
            "warn" => Setting::Warn,
            "deny" => Setting::Deny,
            other => return Err(format!("`{other}` is no key of `[tool.kc]`: there are `allow`, `warn` and `deny`")),
        };
        let Some(list) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return Err(format!("`{}` is a list of codes: `{} = [\"W0606\"]`", key.trim(), key.trim()));
        };
        for code in list.split(',').map(str::trim).filter(|code| !code.is_empty()) {
            rules.policy.set(unquoted(code), setting)?;
        }
    }
    tables.retain(|rules| rules.folder.as_ref().is_none_or(|folder| file.starts_with(folder)));
    tables.sort_by_key(|rules| rules.folder.as_ref().map_or(0, |folder| folder.components().count()));
    Ok(tables.into_iter().fold(Policy::default(), |under, rules| rules.policy.over(under)))
}

/// A line of TOML without the comment at its end, and blanks around it.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return line[..at].trim(),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    line.trim()
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::policy;
    use crate::diag::Code;
    use crate::diag::policy::Setting;

    const TEXT: &str = "[project]\nname = 'a'\nallow = 3\n\n[tool.kc]\nallow = [\n  \"W0606\",  # why\n  'W1301',\n]\n\
                        [tool.kc.folders.\"tests/deep\"]\ndeny = [\"W0606\"]\n[tool.other]\nallow = ['no such']\n";

    #[test]
    fn folders_have_rules_of_their_own() {
        let setting = |file: &str, code| policy(TEXT, Path::new(file)).expect("rules").setting(code);
        assert_eq!(setting("a.py", Code::W0606), Setting::Allow);
        assert_eq!(setting("tests/a.py", Code::W0606), Setting::Allow);
        assert_eq!(setting("tests/deep/a.py", Code::W0606), Setting::Deny);
        assert_eq!(setting("tests/deep/a.py", Code::W1301), Setting::Allow);
        assert_eq!(setting("a.py", Code::W0701), Setting::Warn);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["[tool.kc]\nallow = ['W9999']\n", "[tool.kc]\nallwo = []\n", "[tool.kc]\nallow = 'W0606'\n"] {
            assert!(policy(text, Path::new("a.py")).is_err(), "{text}");
        }
    }
}
