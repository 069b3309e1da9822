//! What is this? Type, meaning, doc and gradient of the name at an offset, as Markdown.

use super::File;
use super::find::{decorator, is_kernel};
use super::names::Symbol;
use super::words;
use crate::check::facts::{EditorFacts, Meaning};
use crate::library::reference::{self, Overload};
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind};
use crate::types::Type;

/// The text for a place, and the place it describes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hover {
    pub markdown: String,
    pub span: Span,
}

/// What a built-in's hover shows at most: all overloads are in the reference.
const MAX_OVERLOADS: usize = 4;

pub fn hover(file: &File, offset: u32) -> Option<Hover> {
    file.enclosing(offset).or_else(|| file.names.at(offset).filter(|o| o.host).map(|o| o.span))?;
    if let Some(occurrence) = file.names.at(offset)
        && let Some(markdown) = symbol(file, &occurrence.symbol, occurrence.span, offset)
    {
        return Some(Hover { markdown, span: occurrence.span });
    }
    let expr = file.expressions_at(offset).into_iter().last()?;
    let markdown = match file.analysis.facts.expressions.get(&expr.span)? {
        // A literal says itself.
        Meaning::Constant(value, ty) => match expr.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) => code(&file.show(*ty)),
            _ => code(&format!("{}: {} = {value}", file.slice(expr.span), file.show(*ty))),
        },
        Meaning::Value(ty) | Meaning::Type(ty) => code(&one_line(file.slice(expr.span), &file.show(*ty))),
        Meaning::Many(types) => {
            let types: Vec<String> = types.iter().map(|ty| file.show(*ty)).collect();
            code(&one_line(file.slice(expr.span), &types.join(", ")))
        }
        _ => return None,
    };
    Some(Hover { markdown, span: expr.span })
}

fn code(text: &str) -> String {
    format!("```python\n{text}\n```")
}

/// `text: type`, or the type alone when the text is long.
fn one_line(text: &str, ty: &str) -> String {
    if text.contains('\n') || text.len() > 60 { ty.to_string() } else { format!("{text}: {ty}") }
}

fn symbol(file: &File, symbol: &Symbol, span: Span, offset: u32) -> Option<String> {
    let facts = &file.analysis.facts;
    match symbol {
        Symbol::Local { function, name } => Some(local(file, facts, *function, name)),
        Symbol::Item(name) => item(file, name, span),
        Symbol::Field { owner, name } => field(file, owner, name),
        Symbol::Builtin(name) => Some(builtin(file, name, span, offset)).filter(|text| !text.is_empty()),
        Symbol::Module(name) => match facts.expressions.get(&span) {
            Some(Meaning::Module(path)) => Some(code(&format!("import {path} as {name}"))),
            _ => None,
        },
        // What other files say.
        Symbol::Member { .. } | Symbol::Keyword { .. } => None,
    }
}

fn local(file: &File, facts: &EditorFacts, function: Span, name: &str) -> String {
    let Some(variable) = facts.variable(function, name) else { return code(name) };
    let mut text = code(&format!("{name}: {}", file.show(variable.ty)));
    let parameter = file
        .functions()
        .find(|f| f.span == function)
        .is_some_and(|f| f.params.iter().any(|param| param.name.text == name));
    let role = if parameter { "parameter" } else { "variable" };
    match facts.per_thread.get(&(function, name.to_string())) {
        Some(true) => text += &format!("\n\n{role}, per thread: its value can differ between the threads of a launch"),
        Some(false) => text += &format!("\n\n{role}, uniform: it is the same for all threads of a launch"),
        None => text += &format!("\n\n{role}"),
    }
    text
}

/// The header of a function as written, on one line.
pub fn header(file: &File, function: &ast::Function) -> String {
    let params: Vec<&str> = function.params.iter().map(|param| file.slice(param.span)).collect();
    let returns = function.returns.as_ref().map(|r| format!(" -> {}", file.slice(r.span))).unwrap_or_default();
    let long = params.iter().map(|param| param.len() + 2).sum::<usize>() > 80;
    let params = if long { format!("\n    {},\n", params.join(",\n    ")) } else { params.join(", ") };
    format!("{}({params}){returns}", function.name.text)
}

/// A function, struct or constant of the file.
pub fn item(file: &File, name: &str, span: Span) -> Option<String> {
    if let Some(function) = file.functions().find(|function| function.name.text == name) {
        let mut text = code(&format!("@wp.{}\ndef {}", decorator(function).unwrap_or("func"), header(file, function)));
        if let Some(doc) = &function.doc {
            text += &format!("\n\n{}", doc.trim());
        }
        if is_kernel(function) {
            text += "\n\nkernel: launched over a grid of threads";
        }
        return Some(text);
    }
    if let Some(class) = file.classes().find(|class| class.name.text == name) {
        let mut text = format!("class {name}:");
        for member in &class.members {
            let annotation = member.annotation.as_ref().map(|a| format!(": {}", file.slice(a.span)));
            let value = member.value.as_ref().map(|v| format!(" = {}", file.slice(v.span)));
            text +=
                &format!("\n    {}{}{}", member.name.text, annotation.unwrap_or_default(), value.unwrap_or_default());
        }
        let mut text = code(&text);
        if let Some(size) = size(file, name) {
            text += &format!("\n\n{size} bytes");
        }
        if let Some(doc) = &class.doc {
            text += &format!("\n\n{}", doc.trim());
        }
        return Some(text);
    }
    match file.analysis.facts.expressions.get(&span)? {
        Meaning::Constant(value, ty) => Some(code(&format!("{name}: {} = {value}", file.show(*ty)))),
        Meaning::Value(ty) => Some(code(&format!("{name}: {}", file.show(*ty)))),
        Meaning::Type(ty) => Some(code(&format!("{name} = {}", file.show(*ty)))),
        Meaning::Builtin(other) => Some(code(&format!("{name} = {other}"))),
        _ => None,
    }
}

/// The size of a struct in device memory, in bytes.
fn size(file: &File, name: &str) -> Option<u64> {
    let structs = &file.analysis.facts.structs;
    let (id, _) = structs.iter().find(|(_, def)| def.name == name)?;
    Some(u64::from(crate::types::Layout::of(Type::Struct(id), structs).size))
}

/// A field of a struct of the file.
pub fn field(file: &File, owner: &str, name: &str) -> Option<String> {
    let class = file.classes().find(|class| class.name.text == owner)?;
    let member = class.members.iter().find(|member| member.name.text == name)?;
    let annotation = member.annotation.as_ref().map(|a| format!(": {}", file.slice(a.span))).unwrap_or_default();
    let value = member.value.as_ref().map(|v| format!(" = {}", file.slice(v.span))).unwrap_or_default();
    Some(code(&format!("{owner}.{name}{annotation}{value}")))
}

/// The overloads of a built-in, the one that a call means first.
pub fn ordered(file: &File, name: &str, offset: u32) -> Vec<Overload> {
    let mut overloads = reference::builtin(name);
    let called = file.expressions_at(offset).into_iter().rev().find_map(|expr| match &expr.kind {
        ExprKind::Call { callee, .. } if callee.span.start <= offset && offset <= callee.span.end => {
            file.analysis.facts.calls.get(&expr.span)
        }
        _ => None,
    });
    if let Some(called) = called {
        let path = file.analysis.sources.path(called.name.file).to_string_lossy().into_owned();
        overloads.sort_by_key(|o| !(o.path == path && o.name.start == called.name.start));
    }
    overloads
}

fn builtin(file: &File, name: &str, span: Span, offset: u32) -> String {
    let overloads = ordered(file, name, offset);
    if overloads.is_empty() {
        let facts = &file.analysis.facts.expressions;
        let whole = file.expressions_at(offset).into_iter().rev().find(|expr| expr.span.end == span.end);
        return match whole.and_then(|expr| facts.get(&expr.span)) {
            Some(Meaning::Type(ty)) => type_page(file, name, *ty),
            _ => words::find(name).map(word_page).unwrap_or_default(),
        };
    }
    let mut text = String::new();
    let mut last = "";
    for overload in overloads.iter().take(MAX_OVERLOADS) {
        if !text.is_empty() {
            text += "\n\n";
        }
        text += &code(&overload.signature);
        if overload.doc != last {
            text += &format!("\n\n{}", overload.doc);
            last = &overload.doc;
        }
        text += "\n\n";
        text += &gradient(overload);
    }
    match overloads.len().saturating_sub(MAX_OVERLOADS) {
        0 => text,
        1 => text + "\n\n1 more overload",
        more => text + &format!("\n\n{more} more overloads"),
    }
}

fn word_page(word: &words::Word) -> String {
    let gradient = if word.gradient.is_empty() { String::new() } else { format!("\n\nAdjoint: {}", word.gradient) };
    format!("{}\n\n{}{gradient}", code(word.signature), word.doc)
}

/// The adjoint formula of an overload, or why there is none.
fn gradient(overload: &Overload) -> String {
    match overload.gradient.contains("adjoint[") {
        true => format!("Adjoint:\n\n{}", code(&overload.gradient)),
        false if overload.gradient.is_empty() => String::new(),
        false => format!("Adjoint: {}", overload.gradient),
    }
}

fn type_page(file: &File, name: &str, ty: Type) -> String {
    let shown = file.show(ty);
    let head = if shown == name { format!("type {name}") } else { format!("type {name} = {shown}") };
    let scalars = match (ty.scalar_count(), ty.scalar_part()) {
        (Some(count), Some(scalar)) => {
            let bits = scalar.size() * count;
            format!("\n\n{count} × {}, {bits} bytes", scalar.name())
        }
        _ => String::new(),
    };
    format!("{}{scalars}", code(&head))
}
