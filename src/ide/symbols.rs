//! What is in the file? Kernels, functions, structs and constants with their places, for outlines.

use std::collections::HashSet;

use super::File;
use super::find::{decorator, is_kernel};
use super::hover::header;
use crate::diag::Diagnostics;
use crate::driver::Analysis;
use crate::source::Span;
use crate::syntax;
use crate::syntax::ast::{Function, Item, Name};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    Kernel,
    Function,
    Struct,
    Enum,
    Field,
    Constant,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub name: String,
    pub detail: String,
    pub kind: SymbolKind,
    pub whole: Span,
    pub name_span: Span,
    pub children: Vec<Entry>,
}

/// The kernels, functions, structs and constants of a text, as far as its syntax tells: constants
/// count when kernels have their names.
pub fn listed(text: &str) -> Vec<(Name, SymbolKind)> {
    let parsed = syntax::parse(Analysis::FILE, text, &mut Diagnostics::new());
    let named = |function: &Function| {
        let code = text.get(function.span.start as usize..function.span.end as usize).unwrap_or_default();
        syntax::names(code).into_iter().map(|range| &code[range]).collect::<Vec<_>>()
    };
    let ours = parsed.functions().into_iter().filter(|function| decorator(function).is_some());
    let used: HashSet<&str> = ours.flat_map(named).collect();
    let mut list = Vec::new();
    for item in parsed.all_items() {
        match item {
            Item::Function(function) if decorator(function).is_some() => {
                let kind = if is_kernel(function) { SymbolKind::Kernel } else { SymbolKind::Function };
                list.push((function.name.clone(), kind));
            }
            Item::Class(class) if !class.decorators.is_empty() => list.push((class.name.clone(), SymbolKind::Struct)),
            Item::Constant(constant) if used.contains(constant.name.text.as_str()) => {
                list.push((constant.name.clone(), SymbolKind::Constant));
            }
            _ => {}
        }
    }
    list
}

/// The outline, in the order of the text. Constants count when kernels use them.
pub fn outline(file: &File) -> Vec<Entry> {
    let mut list = Vec::new();
    for item in file.analysis.parsed.all_items() {
        match item {
            Item::Function(function) if decorator(function).is_some() => list.push(Entry {
                name: function.name.text.clone(),
                detail: header(file, function).replace("\n    ", "").replace('\n', ""),
                kind: if is_kernel(function) { SymbolKind::Kernel } else { SymbolKind::Function },
                whole: function.span,
                name_span: function.name.span,
                children: Vec::new(),
            }),
            Item::Class(class) if !class.decorators.is_empty() => {
                let field = |member: &crate::syntax::ast::Member| Entry {
                    name: member.name.text.clone(),
                    detail: member.annotation.as_ref().map(|a| file.slice(a.span).to_string()).unwrap_or_default(),
                    kind: SymbolKind::Field,
                    whole: member.annotation.as_ref().map_or(member.name.span, |a| member.name.span.to(a.span)),
                    name_span: member.name.span,
                    children: Vec::new(),
                };
                list.push(Entry {
                    name: class.name.text.clone(),
                    detail: "struct".to_string(),
                    kind: SymbolKind::Struct,
                    whole: class.span,
                    name_span: class.name.span,
                    children: class.members.iter().map(field).collect(),
                });
            }
            Item::Constant(constant) => {
                let symbol = super::names::Symbol::Item(constant.name.text.clone());
                if file.names.all(&symbol).any(|o| !o.host) {
                    list.push(Entry {
                        name: constant.name.text.clone(),
                        detail: file.slice(constant.value.span).chars().take(60).collect(),
                        kind: SymbolKind::Constant,
                        whole: constant.span.to(constant.name.span),
                        name_span: constant.name.span,
                        children: Vec::new(),
                    });
                }
            }
            _ => {}
        }
    }
    list
}
