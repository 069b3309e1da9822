//! Which place of the source does the number in [`HostStatus::site`](crate::abi::HostStatus::site)
//! stand for?
//!
//! The table follows from the module alone, so an object and the header and description made beside
//! it agree, whichever kernels each of them has and whatever became of a function on its way to
//! code.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::ir::{Check, Function, Module, Op};
use crate::source::{SourceMap, Span};

/// What may go wrong at a [`Site`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SiteKind {
    /// An index outside an array.
    Access,
    /// An index of a component that is not there.
    Component,
    /// A gradient by convention, or of few digits.
    Degenerate,
    /// A failed assert.
    Assert,
}

impl SiteKind {
    /// Its word in descriptions.
    pub fn name(self) -> &'static str {
        match self {
            SiteKind::Access => "access",
            SiteKind::Component => "component",
            SiteKind::Degenerate => "degenerate",
            SiteKind::Assert => "assert",
        }
    }
}

/// A place in the source that a host run may report.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    pub span: Span,
    pub kind: SiteKind,
    /// The name of the array, or of what has components, where it has one; the message of an
    /// assert.
    pub description: String,
}

/// The sites of a module, by number.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Sites {
    list: Vec<Site>,
    /// The sites of a place.
    numbers: HashMap<(Span, SiteKind), Vec<u32>>,
}

impl Sites {
    /// All sites, in the order of their places. Without `accesses`, only those of asserts: indices
    /// are not checked.
    pub fn of(module: &Module, accesses: bool) -> Sites {
        let mut list: Vec<Site> =
            module.functions.values().flat_map(|function| of_function(function, accesses)).collect();
        list.sort();
        list.dedup();
        let mut sites = Sites::default();
        list.into_iter().for_each(|site| sites.push(site));
        sites
    }

    fn push(&mut self, site: Site) {
        self.numbers.entry((site.span, site.kind)).or_default().push(self.list.len() as u32);
        self.list.push(site);
    }

    /// The number of a site. In a copy of a function the array of an access may have another name;
    /// the place decides then.
    pub fn number(&mut self, span: Span, kind: SiteKind, description: &str) -> u32 {
        let known = self.numbers.get(&(span, kind)).map(Vec::as_slice).unwrap_or_default();
        let same = known.iter().find(|&&n| self.list[n as usize].description == description);
        if let Some(&number) = same.or(known.first()) {
            return number;
        }
        self.push(Site { span, kind, description: description.to_string() });
        self.list.len() as u32 - 1
    }

    pub fn get(&self, number: u32) -> Option<&Site> {
        self.list.get(number as usize)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Site> {
        self.list.iter()
    }

    /// The table for people and programs that call an object.
    pub fn places(&self, sources: &SourceMap) -> Vec<SitePlace> {
        self.list.iter().map(|site| SitePlace::new(site, sources)).collect()
    }
}

fn of_function(function: &Function, accesses: bool) -> impl Iterator<Item = Site> {
    function.insts.values().filter_map(move |inst| {
        let (kind, description) = match &inst.op {
            Op::Assert { message, .. } => (SiteKind::Assert, message.clone()),
            Op::Check(Check::Component { name, .. } | Check::Element { name, .. }, _) if accesses => {
                (SiteKind::Component, name.clone())
            }
            Op::Check(Check::Degenerate { why }, _) if accesses => (SiteKind::Degenerate, why.clone()),
            op if accesses => {
                let viewed = if let Op::View(array, _) = op { Some(*array) } else { None };
                let array = op.access().map(|access| access.array).or(viewed)?;
                (SiteKind::Access, function.values[array].name.clone().unwrap_or_default())
            }
            // Accesses report nothing in code without checks.
            _ => return None,
        };
        Some(Site { span: inst.span, kind, description })
    })
}

/// A site as artefacts tell it.
#[derive(serde::Serialize)]
pub struct SitePlace {
    /// `access`, `component`, `degenerate` or `assert`.
    kind: &'static str,
    /// Without its folder; that of kc's own library has `stdlib/` before it.
    file: String,
    line: u32,
    column: u32,
    /// The array, or what has components, where it has a name; the message of an assert.
    what: String,
}

impl SitePlace {
    fn new(site: &Site, sources: &SourceMap) -> SitePlace {
        let file = sources.file(site.span.file);
        let at = file.line_column(site.span.start);
        let path = if file.path.starts_with("stdlib") { Some(file.path.as_os_str()) } else { file.path.file_name() };
        SitePlace {
            kind: site.kind.name(),
            file: path.unwrap_or_default().to_string_lossy().into_owned(),
            line: at.line,
            column: at.column,
            what: site.description.clone(),
        }
    }

    /// As a tuple in Rust: `("x.py", 3, 5, "y")`.
    pub fn tuple(&self) -> String {
        format!("({:?}, {}, {}, {:?})", self.file, self.line, self.column, self.what)
    }

    /// As an initialiser in C: `{"x.py", 3, 5, "y"}`.
    pub fn initialiser(&self) -> String {
        format!("{{{}, {}, {}, {}}}", c_text(&self.file), self.line, self.column, c_text(&self.what))
    }
}

/// A string literal of C and C++.
fn c_text(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte as char]),
            // `??` begins a trigraph; other bytes, of UTF-8 too, have three octal digits, which no
            // digit after them lengthens.
            0x20..=0x7e if byte != b'?' => out.push(byte as char),
            _ => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::c_text;

    #[test]
    fn a_text_in_c_says_the_same() {
        assert_eq!(c_text("a \"b\" \\ 1"), "\"a \\\"b\\\" \\\\ 1\"");
        assert_eq!(c_text("??/\n9é"), "\"\\077\\077/\\0129\\303\\251\"");
    }
}
