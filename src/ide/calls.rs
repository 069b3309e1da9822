//! Who calls a function, and whom does it call? Across the files of a project; a launch in plain
//! Python is a call, too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::File;
use super::names::Role;
use super::project::{Entity, Project};
use crate::driver::Analysis;
use crate::source::Span;
use crate::syntax::ast::{Function, Item};

/// A function of the project, or the plain Python of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub path: PathBuf,
    /// None: the file.
    pub function: Option<String>,
    pub whole: Span,
    pub name_span: Span,
}

/// A caller, or what is called, with the places of the calls in the caller's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calls {
    pub node: Node,
    pub places: Vec<Span>,
}

/// The functions of this name in a file: overloads have one name.
pub fn nodes(path: &Path, file: &File, name: &str) -> Vec<Node> {
    file.functions().filter(|function| function.name.text == name).map(|function| node(path, function)).collect()
}

fn node(path: &Path, function: &Function) -> Node {
    let (path, function_name) = (path.to_path_buf(), Some(function.name.text.clone()));
    Node { path, function: function_name, whole: function.span, name_span: function.name.span }
}

/// The innermost function around a place, where the place is none of its decorators.
fn around(file: &File, at: Span) -> Option<&Function> {
    let holds = |function: &&Function| function.name.span.end <= at.start && at.end <= function.span.end;
    file.analysis.parsed.functions().into_iter().filter(holds).max_by_key(|function| function.span.start)
}

fn is_imported(file: &File, at: Span) -> bool {
    let import = |item: &Item| matches!(item, Item::Import(import) if import.span.start <= at.start && at.end <= import.span.end);
    file.analysis.parsed.all_items().into_iter().any(import)
}

/// Adds a place to the calls of a node.
fn add(all: &mut Vec<Calls>, node: Node, place: Span) {
    match all.iter_mut().find(|calls| calls.node == node) {
        Some(calls) => calls.places.push(place),
        None => all.push(Calls { node, places: vec![place] }),
    }
}

/// Where a function is called from, in the order of the files.
pub fn incoming(project: &mut Project, path: &Path, name: &str) -> Vec<Calls> {
    let entity = Entity::Item { path: path.to_path_buf(), name: name.to_string() };
    let mut found = Vec::new();
    for place in project.references(path, &entity) {
        let Some(file) =
            project.file(&place.path).filter(|file| place.role == Role::Read && !is_imported(file, place.span))
        else {
            continue;
        };
        let whole = Span::new(Analysis::FILE, 0, file.text().len() as u32);
        let outside =
            Node { path: place.path.clone(), function: None, whole, name_span: Span::new(Analysis::FILE, 0, 0) };
        let caller = around(&file, place.span).map_or(outside, |function| node(&place.path, function));
        add(&mut found, caller, place.span);
    }
    found
}

/// The functions of the project that a function calls, in the order of its calls.
pub fn outgoing(project: &mut Project, path: &Path, name: &str) -> Vec<Calls> {
    let Some(file) = project.file(path) else { return Vec::new() };
    let mut found = Vec::new();
    for occurrence in file.names.iter().filter(|occurrence| occurrence.role == Role::Read) {
        if around(&file, occurrence.span).is_none_or(|function| function.name.text != name) {
            continue;
        }
        let Some(Entity::Item { path, name }) = project.entity(&file, &occurrence.symbol) else { continue };
        let Some(other): Option<Arc<File>> = project.file(&path) else { continue };
        for called in nodes(&path, &other, &name) {
            add(&mut found, called, occurrence.span);
        }
    }
    found
}
