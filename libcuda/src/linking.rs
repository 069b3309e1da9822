//! How do several texts of PTX become one? A name that one text defines and others declare is one
//! thing; what a text defines for itself alone keeps a name of its own.

use std::collections::{HashMap, HashSet};

use kc::ptx::{self, Linkage};

use crate::images::{number, with_runtime};
use crate::modules::refused;
use crate::status::{Result, Status};

/// What a text has under a name of its own or for others.
struct Names {
    own: HashSet<String>,
    /// Defined for others: whether others may define it too.
    given: HashMap<String, bool>,
    wanted: HashSet<String>,
    version: (u32, u32),
    target: String,
}

impl Names {
    fn of(text: &str) -> Result<Names> {
        let with_runtime = with_runtime(text.to_string());
        let parsed = ptx::parse(&with_runtime).map_err(|error| refused(&error, text))?;
        let mut names = Names {
            own: HashSet::new(),
            given: HashMap::new(),
            wanted: HashSet::new(),
            version: parsed.version,
            target: parsed.target.to_string(),
        };
        let variables = parsed.variables.iter().filter(|v| v.owner.is_none());
        // Shared memory without a size is the launch's, whatever its name.
        let variables = variables.filter(|v| v.space != ptx::Space::Shared || v.linkage != Linkage::External);
        let variables = variables.map(|v| (v.name, v.linkage, v.linkage != Linkage::External, true));
        let functions = parsed.functions.iter().filter(|f| !f.name.starts_with("cudaCG"));
        let functions = functions.map(|f| (f.name, f.linkage, f.body.is_some(), false));
        for (name, linkage, is_defined, must_be) in variables.chain(functions) {
            match linkage {
                Linkage::Own => drop(names.own.insert(name.to_string())),
                Linkage::External | Linkage::Visible | Linkage::Weak if !is_defined => {
                    if must_be {
                        names.wanted.insert(name.to_string());
                    }
                }
                _ => drop(names.given.insert(name.to_string(), linkage == Linkage::Weak)),
            }
        }
        // A declaration of a function that is defined further down without a word stays its own.
        names.own.retain(|name| !names.given.contains_key(name));
        Ok(names)
    }
}

/// Several texts as one.
pub fn linked(texts: &[String]) -> Result<String> {
    let names: Vec<Names> = texts.iter().map(|text| Names::of(text)).collect::<Result<_>>()?;
    let mut defined: HashMap<&str, bool> = HashMap::new();
    for (name, &weak) in names.iter().flat_map(|names| &names.given) {
        if defined.insert(name, weak) == Some(false) && !weak {
            return Err(Status::InvalidPtx.because(format!("`{name}` is defined in two of the texts to link")));
        }
    }
    if let Some(name) = names.iter().flat_map(|names| &names.wanted).find(|name| !defined.contains_key(name.as_str())) {
        let why = format!("`{name}` is declared, and none of the texts to link defines it");
        return Err(Status::InvalidPtx.because(why));
    }
    let mut taken: HashSet<String> = defined.keys().map(|name| name.to_string()).collect();
    let mut parts = Vec::with_capacity(texts.len());
    for (n, (text, names)) in texts.iter().zip(&names).enumerate() {
        let others: HashSet<&String> = names.own.iter().filter(|name| taken.contains(*name)).collect();
        parts.push(if others.is_empty() { text.clone() } else { renamed(text, &others, &format!("$kc{n}")) });
        taken.extend(names.own.iter().cloned());
    }
    let most = names.iter().max_by_key(|names| (number(&names.target), names.version));
    let version = names.iter().map(|names| names.version).max();
    Ok(joined(&parts, version.unwrap_or((7, 8)), most.map_or("sm_75", |names| names.target.as_str())))
}

/// The text with an ending for some names, wherever they stand but in strings and comments.
fn renamed(text: &str, names: &HashSet<&String>, ending: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let mut made = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        made.push_str(word);
        if is_word(first) && names.iter().any(|name| name.as_str() == word) {
            made.push_str(ending);
        }
        rest = after;
    }
    made
}

/// The texts one after the other under a head; the numbers of source files go on.
fn joined(texts: &[String], version: (u32, u32), target: &str) -> String {
    let mut whole = format!(".version {}.{}\n.target {target}\n.address_size 64\n", version.0, version.1);
    let mut files = 0;
    for (n, text) in texts.iter().enumerate() {
        let mut most = 0;
        for line in text.lines() {
            let trimmed = line.trim_start();
            let head = [".version", ".target", ".address_size"].iter().any(|word| trimmed.starts_with(word));
            if head {
                continue;
            }
            if n > 0
                && let Some((word, number, rest)) = numbered(trimmed)
            {
                most = most.max(number);
                whole.push_str(&format!("{word} {}{rest}\n", number + files));
                continue;
            }
            if let Some((_, number, _)) = numbered(trimmed) {
                most = most.max(number);
            }
            whole.push_str(line);
            whole.push('\n');
        }
        files += most;
    }
    whole
}

/// `.file 3 "k.cu"` and `.loc 3 12 0` in their parts.
fn numbered(line: &str) -> Option<(&str, u32, &str)> {
    let word = [".file", ".loc"].into_iter().find(|word| line.starts_with(word))?;
    let rest = line[word.len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((word, rest[..end].parse().ok()?, &rest[end..]))
}
