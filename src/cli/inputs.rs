//! Which files does a command line mean? Files by name, folders, patterns, and `-` for standard
//! input.

use crate::cli::messages;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::driver::{self, Overlaid};

/// What standard input is called in messages; results of it are named `stdin`.
const STDIN: &str = "<stdin>";

/// A file to work on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Input {
    pub path: PathBuf,
    /// It was found in a folder or by a pattern: where it has no kernels, nobody asked for any.
    pub found: bool,
    /// The folders between the one that was named and the file.
    below: PathBuf,
    /// The text, where it comes from no file.
    pub text: Option<String>,
}

impl Input {
    fn named(path: PathBuf) -> Input {
        Input { path, found: false, below: PathBuf::new(), text: None }
    }

    /// A file that was found in a folder.
    fn found_in(folder: &Path, path: PathBuf) -> Input {
        let below = path.strip_prefix(folder.strip_prefix(".").unwrap_or(folder)).ok().and_then(Path::parent);
        Input { found: true, below: below.unwrap_or(Path::new("")).to_path_buf(), ..Input::named(path) }
    }

    pub fn is_stdin(&self) -> bool {
        self.text.is_some()
    }

    /// The files to read it and what it imports from: those of `others`, and its own text.
    pub fn files(&self, others: &Overlaid) -> Arc<Overlaid> {
        Arc::new(match &self.text {
            Some(text) => others.clone().with(&self.path, text.clone()),
            None => others.clone(),
        })
    }

    /// What results are called below their folder, without the extension: files of one name in
    /// several folders have several results.
    pub fn place(&self) -> PathBuf {
        self.below.join(self.stem())
    }

    /// The name without folder and extension, which names results.
    pub fn stem(&self) -> String {
        match self.is_stdin() {
            true => "stdin".to_string(),
            false => self.path.file_stem().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned(),
        }
    }
}

/// The files that names on the command line mean, each once, in the order of the names; what a
/// folder or a pattern represents in the order of the alphabet.
///
/// # Errors
/// A folder or a pattern without such a file, a folder that cannot be read, or a standard input
/// that is no text.
pub(super) fn inputs(names: &[PathBuf], extension: &str) -> Result<Vec<Input>, Diagnostic> {
    let mut list: Vec<Input> = Vec::new();
    let mut seen = HashSet::new();
    for name in names {
        let more = if name.as_os_str() == "-" {
            let text = driver::read_stdin(STDIN)?;
            vec![Input { text: Some(text), ..Input::named(STDIN.into()) }]
        } else if name.is_dir() {
            let mut found = Vec::new();
            walk(name, &mut |path| {
                if path.extension().is_some_and(|e| e == extension) {
                    // `.` leads to nothing else.
                    found.push(path.strip_prefix(".").unwrap_or(path).to_path_buf());
                }
            })?;
            none_is_an_error(&found, || format!("the folder `{}` has no `.{extension}` files", name.display()))?;
            found.into_iter().map(|path| Input::found_in(name, path)).collect()
        } else if let Some(pattern) = Pattern::of(name) {
            let found = pattern.files()?;
            none_is_an_error(&found, || format!("no file matches `{}`", name.display()))?;
            found.into_iter().map(|path| Input::found_in(&pattern.folder, path)).collect()
        } else {
            vec![Input::named(name.clone())]
        };
        // A file that is named is asked for, however often it was found.
        for input in more {
            if seen.insert(input.path.clone()) {
                list.push(input);
            } else if !input.found
                && let Some(first) = list.iter_mut().find(|first| first.path == input.path)
            {
                first.found = false;
            }
        }
    }
    Ok(list)
}

fn none_is_an_error(found: &[PathBuf], message: impl FnOnce() -> String) -> Result<(), Diagnostic> {
    if found.is_empty() { Err(messages::nothing_found(message())) } else { Ok(()) }
}

/// Calls `file` for every file below a folder, in order. Hidden folders, caches, installed packages
/// and links to folders are not entered: nobody keeps the kernels that they work on there.
fn walk(folder: &Path, file: &mut dyn FnMut(&Path)) -> Result<(), Diagnostic> {
    let unreadable =
        |error: std::io::Error| messages::unreadable_folder(&folder.display().to_string(), &driver::reason(&error));
    let mut entries =
        std::fs::read_dir(folder).map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.as_encoded_bytes().first() == Some(&b'.');
        match entry.file_type().map_err(unreadable)? {
            kind if kind.is_dir() => {
                let aside = hidden || name == "__pycache__" || name == "node_modules";
                if !aside && !path.join("pyvenv.cfg").exists() {
                    walk(&path, file)?;
                }
            }
            _ if hidden || path.is_dir() => {}
            _ => file(&path),
        }
    }
    Ok(())
}

/// A path with wildcards: `*` and `?` within a name, `[abc]`, `[a-z]`, `[!a]` for one character,
/// `**` for any folders.
struct Pattern {
    /// The folder before the first wildcard.
    folder: PathBuf,
    names: Vec<Vec<char>>,
}

impl Pattern {
    /// None: the path has no wildcard, or it is a file that is called so.
    fn of(path: &Path) -> Option<Pattern> {
        let text = path.to_str()?;
        if !text.contains(['*', '?', '[']) || path.exists() {
            return None;
        }
        let mut folder = PathBuf::new();
        let mut names: Vec<Vec<char>> = Vec::new();
        for part in path.components() {
            let name = part.as_os_str().to_str()?;
            if names.is_empty() && !name.contains(['*', '?', '[']) {
                folder.push(name);
            } else {
                names.push(name.chars().collect());
            }
        }
        Some(Pattern { folder, names })
    }

    fn files(&self) -> Result<Vec<PathBuf>, Diagnostic> {
        let start = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let mut found = Vec::new();
        if !start.is_dir() {
            return Ok(found);
        }
        walk(start, &mut |path| {
            let Ok(below) = path.strip_prefix(start) else { return };
            let names: Vec<Vec<char>> = below.iter().map(|name| name.to_string_lossy().chars().collect()).collect();
            if path_matches(&self.names, &names) {
                found.push(self.folder.join(below));
            }
        })?;
        Ok(found)
    }
}

fn path_matches(pattern: &[Vec<char>], names: &[Vec<char>]) -> bool {
    match (pattern, names) {
        ([], []) => true,
        ([first, rest @ ..], _) if first == &['*', '*'] => {
            (0..=names.len()).any(|skipped| path_matches(rest, &names[skipped..]))
        }
        ([first, rest @ ..], [name, names @ ..]) => name_matches(first, name) && path_matches(rest, names),
        _ => false,
    }
}

/// Matches from left to right; on a mismatch the last `*` takes one character more, so the time is
/// at most the product of the two lengths.
fn name_matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if let Some(length) = one_matches(&pattern[p..], name[n]) {
            p += length;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (p, n) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// How much of the pattern's start represents the character; None: it is another.
fn one_matches(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let negated = matches!(rest.first(), Some('!' | '^'));
            let first = usize::from(negated);
            // A bracket that comes first is one of the set; without an end, the bracket represents
            // itself.
            let Some(end) = rest.iter().skip(first + 1).position(|&c| c == ']') else {
                return (c == '[').then_some(1);
            };
            let set = &rest[first..first + 1 + end];
            let mut inside = false;
            let mut k = 0;
            while k < set.len() {
                match set[k..] {
                    [low, '-', high, ..] => {
                        inside |= (low..=high).contains(&c);
                        k += 3;
                    }
                    [one, ..] => {
                        inside |= one == c;
                        k += 1;
                    }
                    [] => break,
                }
            }
            (inside != negated).then_some(first + 1 + end + 2)
        }
        [one, ..] => (*one == c).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    fn matches(pattern: &str, name: &str) -> bool {
        let split = |text: &str| -> Vec<Vec<char>> { text.split('/').map(|part| part.chars().collect()).collect() };
        path_matches(&split(pattern), &split(name))
    }

    #[test]
    fn wildcards_stand_for_what_shells_say() {
        for (pattern, name, is) in [
            ("*.py", "a.py", true),
            ("*.py", "a.pyc", false),
            ("*.py", "b/a.py", false),
            ("**/*.py", "a.py", true),
            ("**/*.py", "c/b/a.py", true),
            ("**/b/*.py", "c/d/b/a.py", true),
            ("**/b/*.py", "c/b/d/a.py", false),
            ("?.py", "ab.py", false),
            ("a*b*c", "axxbxxbc", true),
            ("a*b*c", "axxbxx", false),
            ("[ab].py", "b.py", true),
            ("[!ab].py", "b.py", false),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[]]x", "]x", true),
            ("[a", "[a", true),
            ("[a-]", "-", true),
            ("", "", true),
            ("*", "", true),
            ("\u{e4}?", "\u{e4}\u{f6}", true),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn long_names_take_no_long_time() {
        let pattern = "*a".repeat(200);
        assert!(!matches(&pattern, &"a".repeat(199)));
        assert!(matches(&pattern, &"ba".repeat(400)));
    }

    #[test]
    fn folders_are_searched_but_for_what_is_no_work_of_the_user() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        for file in
            ["b.py", "a.py", "c.txt", "in/d.py", ".hidden/e.py", "__pycache__/f.py", "env/pyvenv.cfg", "env/g.py"]
        {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, "").expect("a file");
        }
        let names = |given: &[&str]| -> Vec<String> {
            let given: Vec<PathBuf> = given.iter().map(|name| root.join(name)).collect();
            let list = inputs(&given, "py").expect("files");
            let short = |input: &Input| {
                let path = input.path.strip_prefix(root).expect("below").display().to_string();
                if input.found { format!("({path})") } else { path }
            };
            list.iter().map(short).collect()
        };
        assert_eq!(names(&[""]), ["(a.py)", "(b.py)", "(in/d.py)"]);
        assert_eq!(names(&["*.py"]), ["(a.py)", "(b.py)"]);
        assert_eq!(names(&["**/*.py", "a.py"]), ["a.py", "(b.py)", "(in/d.py)"]);
        assert_eq!(names(&["in", "absent.py"]), ["(in/d.py)", "absent.py"]);
        for empty in ["*.cu", "__pycache__/x*", "nowhere/*.py"] {
            let error = inputs(&[root.join(empty)], "py").expect_err("nothing is there");
            assert_eq!(error.code, Code::E0911, "{empty}");
        }
    }
}
