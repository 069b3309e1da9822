//! Can this be renamed, and what changes then?

use super::File;
use super::names::{Occurrence, Symbol};
use crate::source::Span;

/// The name at an offset, if it can be renamed.
///
/// # Errors
/// A sentence for the user.
pub fn prepare(file: &File, offset: u32) -> Result<&Occurrence, String> {
    let occurrence = file.names.at(offset).ok_or("there is no name of a kernel here")?;
    match &occurrence.symbol {
        Symbol::Builtin(name) => Err(format!("`{name}` is a name of the kernel language")),
        Symbol::Module(name) if file.names.imports.get(name).is_none_or(|import| import.member.is_none()) => {
            Err(format!("`{name}` is a Python module; plain Python uses the name, too"))
        }
        Symbol::Module(_)
        | Symbol::Member { .. }
        | Symbol::Keyword { .. }
        | Symbol::Local { .. }
        | Symbol::Item(_)
        | Symbol::Field { .. } => Ok(occurrence),
    }
}

/// The places where the new name goes.
///
/// # Errors
/// A sentence for the user: the name is no name, or already means something in the same scope.
pub fn rename(file: &File, offset: u32, name: &str) -> Result<Vec<Span>, String> {
    let occurrence = prepare(file, offset)?;
    let old = file.slice(occurrence.span);
    check_name(name)?;
    if name == old {
        return Ok(Vec::new());
    }
    check(file, &occurrence.symbol, name)?;
    Ok(file.names.all(&occurrence.symbol).map(|o| o.span).collect())
}

/// Whether a new name is one.
///
/// # Errors
/// A sentence for the user.
pub fn check_name(name: &str) -> Result<(), String> {
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    match begins && chars.all(|c| c.is_alphanumeric() || c == '_') && !is_keyword(name) {
        true => Ok(()),
        false => Err(format!("`{name}` is not a name")),
    }
}

/// Whether a symbol of a file can be called `name` there.
///
/// # Errors
/// A sentence for the user: the name already means something in the same scope, or plain Python may
/// use the old one.
pub fn check(file: &File, symbol: &Symbol, name: &str) -> Result<(), String> {
    let clash = file.names.iter().any(|other| match (symbol, &other.symbol) {
        (Symbol::Local { function, .. }, Symbol::Local { function: f, name: n }) => f == function && n == name,
        // A file's name that the function uses would be hidden.
        (Symbol::Local { function, .. }, Symbol::Item(n) | Symbol::Module(n)) => {
            n == name && function.start <= other.span.start && other.span.end <= function.end
        }
        (Symbol::Item(_) | Symbol::Module(_), Symbol::Item(n) | Symbol::Module(n)) => n == name,
        // A local name would hide the file's, where both are used.
        (Symbol::Item(_) | Symbol::Module(_), Symbol::Local { function, name: n }) => {
            let used = |o: &Occurrence| function.start <= o.span.start && o.span.end <= function.end;
            n == name && file.names.all(symbol).any(used)
        }
        (Symbol::Field { owner, .. }, Symbol::Field { owner: o, name: n }) => o == owner && n == name,
        _ => false,
    });
    let of_file = matches!(symbol, Symbol::Item(_) | Symbol::Module(_));
    if clash || of_file && file.names.imports.contains_key(name) {
        return Err(format!("`{name}` already means something else here"));
    }
    if let Symbol::Field { name: field, .. } = symbol
        && let Some(line) = host_attribute(file, field)
    {
        return Err(format!("plain Python around the kernels uses `.{field}` (line {line}); rename it there first"));
    }
    Ok(())
}

/// The first line of plain Python that has an attribute of this name: types are not known there.
pub fn host_attribute(file: &File, field: &str) -> Option<u32> {
    let text = file.text();
    let found = crate::syntax::names(text).into_iter().find(|range| {
        let outside = !file.inside.iter().any(|s| s.start as usize <= range.start && range.end <= s.end as usize);
        let attribute = text.get(..range.start).is_some_and(|before| before.ends_with('.'));
        outside && attribute && text.get(range.clone()) == Some(field)
    })?;
    Some(file.analysis.sources.file(crate::driver::Analysis::FILE).line_column(found.start as u32).line)
}

fn is_keyword(name: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ];
    KEYWORDS.contains(&name)
}
