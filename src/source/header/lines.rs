//! Which lines of a header count? Comments, directives and the sides of conditions that are not
//! taken become spaces, so that what is left keeps its place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Place;
use crate::source::FileSystem;

/// The text of each macro, and where it is. None: what it means depends on what is not known.
pub(super) type Macros = HashMap<String, Option<(String, Place)>>;

/// The code has this in the place of a line that a compiler may take or not.
const MAYBE: u8 = b'?';
const MOST_FILES: usize = 256;
const DEEPEST: usize = 32;

/// Headers as a compiler would see them.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Each file's path, its text, and the code in it that counts.
    pub files: Vec<(PathBuf, String, String)>,
    /// Where headers were looked for that are not there.
    pub missing: Vec<PathBuf>,
    pub macros: Macros,
}

/// Whether a compiler takes some lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    Yes,
    No,
    Maybe,
}

impl Taken {
    fn not(self) -> Taken {
        match self {
            Taken::Yes => Taken::No,
            Taken::No => Taken::Yes,
            Taken::Maybe => Taken::Maybe,
        }
    }

    fn and(self, other: Taken) -> Taken {
        match (self, other) {
            (Taken::No, _) | (_, Taken::No) => Taken::No,
            (Taken::Yes, Taken::Yes) => Taken::Yes,
            _ => Taken::Maybe,
        }
    }
}

/// An `#if` that is not closed: whether one of its sides was taken, and whether this one is.
struct Condition {
    before: Taken,
    here: Taken,
}

impl Program {
    /// Reads the first of these files that is there, and what it includes.
    pub fn read(first: &[PathBuf], include: &Path, system: &dyn FileSystem) -> Option<Program> {
        let mut program = Program::default();
        first.iter().any(|path| program.include(path, include, system, 0)).then_some(program)
    }

    /// Whether the file is there.
    fn include(&mut self, path: &Path, include: &Path, system: &dyn FileSystem, depth: usize) -> bool {
        if self.files.iter().any(|(known, ..)| known == path) {
            return true;
        }
        if depth > DEEPEST || self.files.len() >= MOST_FILES {
            return false;
        }
        let Some(Ok(text)) = system.read(path) else {
            self.missing.push(path.to_path_buf());
            return false;
        };
        if u32::try_from(text.len()).is_err() {
            return false;
        }
        let at = self.files.len();
        self.files.push((path.to_path_buf(), text.clone(), String::new()));
        let text = without_comments(&text);
        let mut code = Vec::with_capacity(text.len());
        let mut conditions: Vec<Condition> = Vec::new();
        let lines = logical_lines(&text);
        for (n, &(start, line)) in lines.iter().enumerate() {
            let taken = conditions.iter().fold(Taken::Yes, |all, condition| all.and(condition.here));
            let Some((word, rest)) = directive(line) else {
                match taken {
                    Taken::Yes => code.extend_from_slice(line.as_bytes()),
                    Taken::No => code.extend(blank(line, b' ')),
                    Taken::Maybe => code.extend(blank(line, MAYBE)),
                }
                continue;
            };
            code.extend(blank(line, b' '));
            match word {
                "if" | "ifdef" | "ifndef" => {
                    let next = lines.get(n + 1).and_then(|(_, line)| directive(line));
                    let here = self.condition(word, rest, next);
                    conditions.push(Condition { before: here, here });
                }
                "elif" | "else" => {
                    let side = if word == "else" { Taken::Yes } else { self.condition("if", rest, None) };
                    if let Some(open) = conditions.last_mut() {
                        open.here = open.before.not().and(side);
                        open.before = open.before.not().and(open.here.not()).not();
                    }
                }
                "endif" => {
                    conditions.pop();
                }
                "include" if taken == Taken::Yes => {
                    let name = rest.trim().trim_matches(['<', '>', '"']);
                    let beside = path.parent().map(|folder| folder.join(name));
                    for path in beside.into_iter().chain([include.join(name)]) {
                        if self.include(&path, include, system, depth + 1) {
                            break;
                        }
                    }
                }
                "define" | "undef" if taken != Taken::No => {
                    let place = (at, start as u32..(start + line.trim_end().len()) as u32);
                    self.define(word, rest, taken, place);
                }
                _ => {}
            }
        }
        self.files[at].2 = String::from_utf8(code).unwrap_or_default();
        true
    }

    fn define(&mut self, word: &str, rest: &str, taken: Taken, place: Place) {
        let rest = rest.trim();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, body) = rest.split_at(end);
        let value = (word == "define" && taken == Taken::Yes && !body.starts_with('('))
            .then(|| (body.trim().to_string(), place));
        let text = |value: &Option<(String, Place)>| value.as_ref().map(|(text, _)| text.clone());
        match self.macros.get_mut(name) {
            // Of two texts either may be meant.
            Some(known) if text(known) != text(&value) => *known = None,
            Some(_) => {}
            None => {
                self.macros.insert(name.to_string(), value);
            }
        }
    }

    /// Whether a condition holds. `next` is the directive behind it.
    fn condition(&self, word: &str, text: &str, next: Option<(&str, &str)>) -> Taken {
        let text = text.trim();
        match (word, text) {
            ("if", "0") => return Taken::No,
            ("if", "1") => return Taken::Yes,
            _ => {}
        }
        let (name, wanted) = match word {
            "ifdef" => (text, Taken::Yes),
            "ifndef" => (text, Taken::No),
            _ => {
                let (text, wanted) = match text.strip_prefix('!') {
                    Some(text) => (text.trim(), Taken::No),
                    None => (text, Taken::Yes),
                };
                let Some(name) = text.strip_prefix("defined") else { return Taken::Maybe };
                let name = name.trim();
                (name.strip_prefix('(').and_then(|name| name.strip_suffix(')')).unwrap_or(name).trim(), wanted)
            }
        };
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Taken::Maybe;
        }
        let defined = match self.macros.get(name) {
            Some(Some(_)) => Taken::Yes,
            Some(None) => Taken::Maybe,
            // It is defined here if nowhere else.
            None if wanted == Taken::No && next.is_some_and(|next| defines(next, name)) => Taken::No,
            // Compilers define such names.
            None if name.starts_with('_') => Taken::Maybe,
            None => Taken::No,
        };
        if wanted == Taken::Yes { defined } else { defined.not() }
    }
}

fn defines((word, rest): (&str, &str), name: &str) -> bool {
    word == "define" && rest.split_whitespace().next() == Some(name)
}

/// The word behind `#`, and what follows it.
fn directive(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// The bytes of a line with each that is no line end replaced.
fn blank(line: &str, by: u8) -> impl Iterator<Item = u8> {
    line.bytes().map(move |byte| if byte == b'\n' { byte } else { by })
}

/// Lines with their ends and where they begin; what a backslash continues is one line.
fn logical_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            lines.push((start, &text[start..end]));
            start = end;
        }
    }
    if start < end {
        lines.push((start, &text[start..end]));
    }
    lines
}

/// The text with spaces for comments, and for all that is not ASCII.
fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = bytes.iter().map(|&byte| if byte.is_ascii() { byte } else { b' ' }).collect();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let len = match rest[0] {
            b'/' if rest.starts_with(b"//") => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                rest[2..].windows(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 4)
            }
            quote @ (b'"' | b'\'') => {
                at += 1 + quoted(&rest[1..], quote);
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        out[at..at + len].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at += len;
    }
    String::from_utf8(out).unwrap_or_default()
}

/// How many bytes end at the quote that closes a string of one line.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != b'\n' {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at.min(text.len())
}
