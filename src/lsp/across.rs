//! What is answered from several files: definitions, uses, renames; `calls` answers who calls whom.

use gen_lsp_types as lsp;
use gen_lsp_types::Uri;
use serde_json::{Value, json};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_server::ErrorCode;

use super::answer::{Answer, Context, error};
use super::calls;
use super::client::Client;
use super::documents::{Files, uri_of};
use crate::driver::{Analysis, Compiler};
use crate::ide::names::{Role, Symbol};
use crate::ide::project::{Entity, Kept, Place, Project};
use crate::ide::{File, hover, rename};
use crate::source::{FileSystem, Span};

/// The workspace at the moment of a request.
pub struct Across<'a> {
    pub files: &'a Arc<Files>,
    pub project: Project<'a>,
}

impl<'a> Across<'a> {
    pub fn new(files: &'a Arc<Files>, compiler: &'a Compiler, kept: &'a mut Kept) -> Across<'a> {
        Across { files, project: Project { system: files.clone(), compiler, paths: Vec::new(), kept } }
    }

    /// Finds the files in which names are searched, for a question that is asked in one of them.
    pub fn search(&mut self, asked: &Path) {
        self.project.paths = self.files.python(asked);
    }

    pub fn uri(&self, path: &Path) -> Uri {
        Uri(self.files.at(path).map_or_else(|| uri_of(path), |open| open.uri))
    }

    fn location(&mut self, path: &Path, span: Span, client: &Client) -> Option<lsp::Location> {
        let file = self.project.file(path)?;
        let range = client.encoding.range(file.analysis.sources.file(Analysis::FILE), span);
        Some(lsp::Location { uri: self.uri(path), range })
    }
}

/// The methods of [`answer`].
pub const METHODS: &[&str] = &[
    "textDocument/definition",
    "textDocument/references",
    "textDocument/hover",
    "textDocument/rename",
    "textDocument/prepareCallHierarchy",
];

/// Answers a request whose answer can lie in other files. None: this file alone answers it.
pub fn answer(context: &Context, across: &mut Across, method: &str, params: &Value) -> Option<Answer> {
    match method {
        "textDocument/definition" => context.defined_elsewhere(across, params),
        "textDocument/references" => context.used_anywhere(across, params),
        "textDocument/hover" => context.hover_elsewhere(across, params),
        "textDocument/rename" => context.rename_anywhere(across, params),
        "textDocument/prepareCallHierarchy" => Some(calls::prepare(context, across, params)),
        _ => None,
    }
}

impl Context<'_> {
    /// The entity at the place of a request.
    pub fn entity(&self, across: &mut Across, params: &Value) -> Option<Entity> {
        let occurrence = self.file.names.at(self.offset(params).ok()?)?;
        across.project.entity(self.file, &occurrence.symbol)
    }

    fn path(&self, across: &Across) -> PathBuf {
        across.files.absolute(&self.source().path)
    }

    fn defined_elsewhere(&self, across: &mut Across, params: &Value) -> Option<Answer> {
        let entity = self.entity(across, params)?;
        if entity.path() == self.path(across) {
            return None;
        }
        let (_, spans) = across.project.definitions(&entity)?;
        let places: Vec<_> =
            spans.into_iter().filter_map(|span| across.location(entity.path(), span, self.client)).collect();
        Some(Ok(json!(places)))
    }

    fn used_anywhere(&self, across: &mut Across, params: &Value) -> Option<Answer> {
        let entity = self.entity(across, params).filter(|entity| entity.name().is_some())?;
        across.search(&self.path(across));
        let declaration = params.pointer("/context/includeDeclaration").and_then(Value::as_bool).unwrap_or(true);
        let found = across.project.references(&self.path(across), &entity).into_iter();
        let wanted: Vec<Place> = found.filter(|place| declaration || place.role != Role::Definition).collect();
        let places: Vec<_> =
            wanted.iter().filter_map(|place| across.location(&place.path, place.span, self.client)).collect();
        Some(Ok(json!(places)))
    }

    fn hover_elsewhere(&self, across: &mut Across, params: &Value) -> Option<Answer> {
        let occurrence = self.file.names.at(self.offset(params).ok()?)?;
        if !matches!(occurrence.symbol, Symbol::Module(_) | Symbol::Member { .. } | Symbol::Field { .. }) {
            return None;
        }
        let entity = across.project.entity(self.file, &occurrence.symbol)?;
        if entity.path() == self.path(across) {
            return None;
        }
        let (file, spans) = across.project.definitions(&entity)?;
        let text = match &entity {
            Entity::Item { name, .. } => {
                hover::item(&file, name, *spans.first()?).or_else(|| hover::item(self.file, name, occurrence.span))?
            }
            Entity::Field { owner, name, .. } => hover::field(&file, owner, name)?,
            Entity::Parameter { .. } | Entity::Module { .. } => return None,
        };
        let from = entity.path().file_name().unwrap_or_default().to_string_lossy();
        let text = format!("{text}\n\nfrom `{from}`");
        Some(Ok(json!({"contents": self.doc(&text), "range": self.range(occurrence.span)})))
    }

    fn rename_anywhere(&self, across: &mut Across, params: &Value) -> Option<Answer> {
        let occurrence = rename::prepare(self.file, self.offset(params).ok()?).ok()?;
        across.project.entity(self.file, &occurrence.symbol)?;
        let name = params.get("newName").and_then(Value::as_str)?;
        across.search(&self.path(across));
        let files = across.files.clone();
        let places = across.project.rename(self.file, occurrence, name, &|path| files.writable(path));
        Some(match places {
            Ok(places) => self.edits(across, places, name),
            Err(reason) => Err(error(ErrorCode::RequestFailed, reason)),
        })
    }

    /// Replacements in several documents, each for the version that was looked at.
    fn edits(&self, across: &mut Across, places: Vec<Place>, name: &str) -> Answer {
        let mut by_file: BTreeMap<PathBuf, Vec<Span>> = BTreeMap::new();
        places.into_iter().for_each(|place| by_file.entry(place.path).or_default().push(place.span));
        let (mut changes, mut documents) = (json!({}), Vec::new());
        for (path, spans) in by_file {
            let moved = || error(ErrorCode::ContentModified, "a document has changed since");
            let file: Arc<File> = across.project.file(&path).ok_or_else(moved)?;
            let open = across.files.at(&path);
            if open.as_ref().is_some_and(|open| open.source.text != file.text()) {
                return Err(moved());
            }
            let source = file.analysis.sources.file(Analysis::FILE);
            let edit = |span: &Span| json!({"range": self.client.encoding.range(source, *span), "newText": name});
            let edits: Vec<Value> = spans.iter().map(edit).collect();
            let uri = across.uri(&path).0;
            let document = json!({"uri": uri, "version": open.map(|open| open.version)});
            documents.push(json!({"textDocument": document, "edits": edits}));
            changes[uri] = json!(edits);
        }
        Ok(if self.client.versioned_edits {
            json!({"documentChanges": documents})
        } else {
            json!({"changes": changes})
        })
    }
}
