//! Which constants does a C header define, for a program that includes it and sets no options?
//!
//! Packages bind C libraries by compiled modules, whose constants have the names of the header:
//! `#define` with a number, and the members of enumerations. What depends on the compiler or on
//! options, and what is no number, is left out.

mod lines;
mod number;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileSystem;
use lines::Program;
pub use number::Number;
use number::Words;

/// A file among those that were read, and the bytes of it.
pub type Place = (usize, Range<u32>);

/// What a header and the headers that it includes define.
#[derive(Debug, Default)]
pub struct Header {
    /// The files, with their texts.
    pub files: Vec<(PathBuf, String)>,
    /// Where others were looked for.
    missing: Vec<PathBuf>,
    /// What `#define` gives a number.
    pub numbers: HashMap<String, (Number, Place)>,
    /// Enumerations, by the names of their types.
    pub enumerations: HashMap<String, Vec<Member>>,
}

/// A member of an enumeration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    pub name: String,
    pub value: i64,
    pub place: Place,
}

impl Header {
    /// The header of a package's name in its folder `include`, if it has one.
    pub fn of_package(folder: &Path, system: &dyn FileSystem) -> Option<Header> {
        let include = folder.join("include");
        let file = PathBuf::from(folder.file_name()?).with_extension("h");
        let within = include.join(file.file_stem()?).join(&file);
        let program = Program::read(&[within, include.join(file)], &include, system)?;
        let mut header = Header { missing: program.missing, ..Header::default() };
        let mut members = HashMap::new();
        for (at, (path, text, code)) in program.files.into_iter().enumerate() {
            header.read_enumerations(at, &code, &program.macros, &mut members);
            header.files.push((path, text));
        }
        for (name, text) in &program.macros {
            let Some((text, place)) = text else { continue };
            if let Some(number) = number::of(text, &program.macros, &members) {
                header.numbers.insert(name.clone(), (number, place.clone()));
            }
        }
        Some(header)
    }

    /// Whether the files say what they said, and no others are there.
    pub fn is_current(&self, system: &dyn FileSystem) -> bool {
        let same = |(path, text): &(PathBuf, String)| matches!(system.read(path), Some(Ok(now)) if now == *text);
        self.files.iter().all(same) && self.missing.iter().all(|path| !matches!(system.read(path), Some(Ok(_))))
    }

    /// Reads the enumerations of a file's code. `known` has all members so far.
    fn read_enumerations(
        &mut self,
        file: usize,
        code: &str,
        macros: &lines::Macros,
        known: &mut HashMap<String, Number>,
    ) {
        let mut words = Words::of(code);
        while let Some((word, _)) = words.next() {
            if word != "enum" {
                continue;
            }
            let tag = words.name();
            if words.next().map(|(word, _)| word) != Some("{") {
                continue;
            }
            let Some(members) = members(file, &mut words, macros, known) else { continue };
            // `typedef enum tag { .. } name;`
            for name in [tag, words.name()].into_iter().flatten() {
                self.enumerations.insert(name.to_string(), members.clone());
            }
        }
    }
}

/// The members up to the brace that closes them. None: the value of one is not known.
fn members(
    file: usize,
    words: &mut Words<'_>,
    macros: &lines::Macros,
    known: &mut HashMap<String, Number>,
) -> Option<Vec<Member>> {
    let mut found = Vec::new();
    let mut next = Some(0i64);
    loop {
        let (name, place) = words.next()?;
        if name == "}" {
            return Some(found);
        }
        if !number::is_name(name) {
            return None;
        }
        let mut value = next?;
        let (mut end, _) = words.next()?;
        if end == "=" {
            let text = words.until_comma()?;
            value = match number::of(text, macros, known)? {
                Number::Int(value) => value,
                Number::Float(_) => return None,
            };
            (end, _) = words.next()?;
        }
        next = value.checked_add(1);
        known.insert(name.to_string(), Number::Int(value));
        found.push(Member { name: name.to_string(), value, place: (file, place) });
        match end {
            "," => {}
            "}" => return Some(found),
            _ => return None,
        }
    }
}
