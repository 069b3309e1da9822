//! What can be written here? Names in scope, members of the expression before a dot, keywords of
//! the call.
//!
//! Half a line rarely parses. So the text is analysed once more with the line at the cursor
//! replaced by the one expression that matters: the one before the dot, or nothing.

use std::path::Path;

use super::File;
use super::find::{decorator, is_kernel};
use super::hover::header;
use super::names::bound;
use super::words::{self, WORDS};
use crate::check::facts::Meaning;
use crate::library::{Library, reference};
use crate::source::Span;
use crate::syntax::ast::{self, Item};
use crate::types::{Scalar, Type};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionKind {
    Function,
    Builtin,
    Variable,
    Parameter,
    Field,
    Struct,
    Type,
    Constant,
    Module,
    Keyword,
}

/// One proposal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    pub label: String,
    pub kind: CompletionKind,
    /// Its type or signature.
    pub detail: String,
    /// Markdown.
    pub doc: String,
    /// Nearer things first: the order among proposals of equal fit.
    pub rank: u8,
}

/// The proposals, and the place of the word that they replace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    pub replace: Span,
    pub list: Vec<Proposal>,
}

const KEYWORDS: &[&str] = &[
    "and", "break", "continue", "elif", "else", "False", "for", "if", "in", "not", "or", "pass", "return", "True",
    "while",
];

/// The names of types after `wp.`.
const TYPE_STEMS: &[&str] = &["vec2", "vec3", "vec4", "mat22", "mat33", "mat44", "quat", "transform"];

pub fn complete(file: &File, path: &Path, offset: u32) -> Option<Completion> {
    let text = file.text();
    let before = text.get(..offset as usize)?;
    let word_start = before.len() - before.chars().rev().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
    let replace = Span::new(crate::driver::Analysis::FILE, word_start as u32, offset);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.get(line_start..word_start)?;
    if in_comment_or_string(line) || line.trim_end().ends_with(|c: char| c.is_ascii_digit()) && !line.ends_with(' ') {
        return None;
    }
    let decorates = line.trim_start().starts_with('@');
    if !decorates && file.enclosing(offset).is_none() {
        return None;
    }
    let list = match line.strip_suffix('.') {
        Some(rest) => after_dot(file, path, line_start, primary(rest), decorates, replace)?,
        None if decorates => return None,
        None => scope(file, offset),
    };
    Some(Completion { replace, list })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a line up to the cursor ends inside a comment or a string.
fn in_comment_or_string(line: &str) -> bool {
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '#') => return true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            _ => {}
        }
    }
    quote.is_some()
}

/// The expression of names, attributes, calls and indices that a line ends with.
fn primary(line: &str) -> &str {
    let mut depth = 0usize;
    let mut start = line.len();
    for (at, c) in line.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            _ if depth > 0 || is_word(c) || c == '.' => {}
            _ => break,
        }
        start = at;
    }
    line.get(start..).unwrap_or_default()
}

/// The members of the expression before a dot.
fn after_dot(
    file: &File,
    path: &Path,
    line_start: usize,
    base: &str,
    decorates: bool,
    replace: Span,
) -> Option<Vec<Proposal>> {
    if base.is_empty() {
        return None;
    }
    if let Some(module) = module(file, base) {
        let warp = module == "warp" || module.starts_with("warp.");
        return warp.then(|| if decorates { decorators() } else { builtins() });
    }
    // The same text with `base` alone in the line.
    let text = file.text();
    let rest_of_line = text.get(replace.end as usize..)?;
    let line_end = replace.end as usize + rest_of_line.find('\n').unwrap_or(rest_of_line.len());
    let line = text.get(line_start..line_end)?;
    let indent = &line[..line.len() - line.trim_start().len()];
    let (head, tail) = neighbourhood(file, line_start, line_end);
    let at = (head.len() + indent.len()) as u32;
    let probe = File::quick(path, format!("{head}{indent}{base}{tail}"));
    let place = Span::new(replace.file, at, at + base.len() as u32);
    members(&probe, probe.analysis.facts.expressions.get(&place)?)
}

/// The text before and after a line, without the kernels that do not contain it: nothing depends on
/// them.
fn neighbourhood(file: &File, start: usize, end: usize) -> (String, String) {
    let text = file.text();
    let own = file.enclosing(start as u32);
    let others = file.functions().filter(|function| is_kernel(function) && Some(function.span) != own);
    let (mut head, mut tail) = (String::new(), String::new());
    let mut keep = |from: usize, to: usize| {
        head += text.get(from..to.min(start)).unwrap_or_default();
        tail += text.get(from.max(end)..to).unwrap_or_default();
    };
    let mut at = 0;
    for other in others {
        keep(at, other.span.start as usize);
        at = other.span.end as usize;
    }
    keep(at, text.len());
    (head, tail)
}

/// The module that a name of the file denotes.
fn module(file: &File, name: &str) -> Option<String> {
    let (first, rest) = name.split_once('.').map_or((name, ""), |(first, rest)| (first, rest));
    file.analysis.parsed.all_items().into_iter().find_map(|item| match item {
        Item::Import(import) if import.names.is_empty() => {
            let known = import.alias.as_ref().map_or(import.module.as_str(), |alias| &alias.text);
            (known == first && (rest.is_empty() || matches!(rest, "types" | "math"))).then(|| import.module.clone())
        }
        _ => None,
    })
}

fn proposal(label: &str, kind: CompletionKind, detail: impl Into<String>, rank: u8) -> Proposal {
    Proposal { label: label.to_string(), kind, detail: detail.into(), doc: String::new(), rank }
}

fn members(file: &File, meaning: &Meaning) -> Option<Vec<Proposal>> {
    let part = |name: &str, ty: Type| proposal(name, CompletionKind::Field, file.show(ty), 0);
    Some(match meaning {
        Meaning::Enum(name) => {
            let class = file.classes().find(|class| class.name.text == *name)?;
            class.members.iter().map(|member| proposal(&member.name.text, CompletionKind::Constant, "", 0)).collect()
        }
        Meaning::Value(Type::Struct(id)) => {
            let def = file.analysis.facts.structs.get(*id)?;
            def.fields.iter().map(|field| part(&field.name, field.ty)).collect()
        }
        Meaning::Value(Type::Vec(n, s)) => {
            "xyzw".chars().take(usize::from(*n)).map(|c| part(&c.to_string(), Type::Scalar(*s))).collect()
        }
        Meaning::Value(Type::Quat(s)) => "xyzw".chars().map(|c| part(&c.to_string(), Type::Scalar(*s))).collect(),
        Meaning::Value(Type::Transform(s)) => vec![part("p", Type::Vec(3, *s)), part("q", Type::Quat(*s))],
        Meaning::Value(Type::Array(array)) => vec![
            proposal("shape", CompletionKind::Field, "the extents", 0),
            proposal("dtype", CompletionKind::Field, file.show(array.element.into()), 0),
            proposal("ndim", CompletionKind::Field, array.ndim.to_string(), 0),
            proposal("grad", CompletionKind::Field, "the array of adjoints", 0),
        ],
        _ => return None,
    })
}

fn decorators() -> Vec<Proposal> {
    let decorators = WORDS.iter().filter(|word| word.decorator);
    decorators
        .map(|word| Proposal {
            doc: word.doc.to_string(),
            ..proposal(word.name, CompletionKind::Keyword, word.signature, 0)
        })
        .collect()
}

/// The members of `wp` in a kernel; docs come when the user selects one ([`describe`]).
fn builtins() -> Vec<Proposal> {
    let mut list: Vec<Proposal> =
        Library::public_names().map(|name| proposal(name, CompletionKind::Builtin, "", 1)).collect();
    list.extend(WORDS.iter().filter(|word| !word.decorator && !word.name.starts_with("array")).map(|word| Proposal {
        doc: word.doc.to_string(),
        ..proposal(word.name, CompletionKind::Builtin, word.signature, 1)
    }));
    for name in ["array", "array2d", "array3d", "array4d"] {
        list.push(proposal(name, CompletionKind::Type, "an array in device memory", 2));
    }
    for scalar in Scalar::ALL {
        list.push(proposal(scalar.name(), CompletionKind::Type, format!("{} bytes", scalar.size()), 2));
        for stem in TYPE_STEMS {
            let floats = !stem.starts_with("vec");
            if let Some(suffix) = scalar.suffix().filter(|_| !floats || scalar.is_float()) {
                list.push(proposal(&format!("{stem}{suffix}"), CompletionKind::Type, "", 3));
            }
        }
    }
    list.extend(TYPE_STEMS.iter().map(|stem| proposal(stem, CompletionKind::Type, "", 2)));
    let mut seen = std::collections::HashSet::new();
    list.retain(|proposal| seen.insert(proposal.label.clone()));
    list
}

/// Signature and doc of a built-in, for the proposal that the user selects.
pub fn describe(name: &str) -> Option<(String, String)> {
    let overloads = reference::builtin(name);
    match overloads.first() {
        Some(first) => Some((first.signature.clone(), first.doc.clone())),
        None => words::find(name).map(|word| (word.signature.to_string(), word.doc.to_string())),
    }
}

/// The names that can be used at an offset.
fn scope(file: &File, offset: u32) -> Vec<Proposal> {
    let mut list = Vec::new();
    if let Some(function) = file.function_at(offset) {
        let mut names: Vec<String> = bound(function).into_iter().collect();
        names.sort();
        for name in names {
            let variable = file.analysis.facts.variable(function.span, &name);
            let parameter = function.params.iter().any(|param| param.name.text == name);
            let kind = if parameter { CompletionKind::Parameter } else { CompletionKind::Variable };
            let detail = variable.map(|v| file.show(v.ty)).unwrap_or_default();
            list.push(proposal(&name, kind, detail, 0));
        }
    }
    for item in file.analysis.parsed.all_items() {
        match item {
            Item::Function(function) => list.extend(callable(file, function)),
            Item::Class(class) => list.push(proposal(&class.name.text, CompletionKind::Struct, "struct", 1)),
            Item::Constant(constant) if !matches!(constant.value.kind, ast::ExprKind::Opaque) => {
                list.push(proposal(&constant.name.text, CompletionKind::Constant, file.slice(constant.value.span), 1));
            }
            Item::Import(import) => {
                let names = import.names.iter().map(|name| name.alias.as_ref().unwrap_or(&name.name));
                list.extend(
                    names
                        .map(|name| &*name.text)
                        .filter(|name| *name != "*")
                        .map(|name| proposal(name, CompletionKind::Builtin, "", 2)),
                );
                if import.names.is_empty() {
                    let first = import.module.split('.').next().unwrap_or_default();
                    let name = import.alias.as_ref().map_or(first, |alias| &alias.text);
                    list.push(proposal(name, CompletionKind::Module, &import.module, 2));
                }
            }
            _ => {}
        }
    }
    list.extend(
        ["float", "int", "bool", "range", "len", "min", "max", "abs"]
            .map(|name| proposal(name, CompletionKind::Builtin, "", 3)),
    );
    list.extend(KEYWORDS.iter().map(|word| proposal(word, CompletionKind::Keyword, "", 4)));
    let mut seen = std::collections::HashSet::new();
    list.retain(|proposal| seen.insert(proposal.label.clone()));
    list
}

/// A function that kernels can call.
fn callable(file: &File, function: &ast::Function) -> Option<Proposal> {
    let doc = function.doc.clone().unwrap_or_default();
    let word = decorator(function)?;
    (word == "func" || word == "func_native")
        .then(|| Proposal { doc, ..proposal(&function.name.text, CompletionKind::Function, header(file, function), 1) })
}
