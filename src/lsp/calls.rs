//! Who calls whom: the call hierarchy of editors. An item carries, as `data`, the file and the
//! function that it represents.

use std::path::{Path, PathBuf};

use gen_lsp_types as lsp;
use lsp_server::ErrorCode;
use serde_json::{Value, json};

use super::across::Across;
use super::answer::{Answer, Context, error};
use super::client::Client;
use crate::driver::Analysis;
use crate::ide::calls::{self, Calls, Node};
use crate::ide::project::Entity;
use crate::source::Span;

/// The functions that the name at a place represents; null where it represents none.
pub fn prepare(context: &Context, across: &mut Across, params: &Value) -> Answer {
    let Some(Entity::Item { path, name }) = context.entity(across, params) else { return Ok(Value::Null) };
    let found = across.project.file(&path).map(|file| calls::nodes(&path, &file, &name)).unwrap_or_default();
    let items: Vec<Value> = found.iter().filter_map(|node| item(across, context.client, node)).collect();
    Ok(if items.is_empty() { Value::Null } else { json!(items) })
}

/// Answers `callHierarchy/incomingCalls` and `callHierarchy/outgoingCalls`.
pub fn answer(across: &mut Across, client: &Client, method: &str, params: &Value) -> Answer {
    let data = |name: &str| params.pointer(&format!("/item/data/{name}")).and_then(Value::as_str);
    let Some(path) = data("path").map(PathBuf::from) else {
        return Err(error(ErrorCode::InvalidParams, "the item is not one of a call hierarchy of kc"));
    };
    // Nothing calls a file.
    let Some(name) = data("function") else { return Ok(json!([])) };
    across.search(&path);
    let (incoming, project) = (method == "callHierarchy/incomingCalls", &mut across.project);
    let found = if incoming { calls::incoming(project, &path, name) } else { calls::outgoing(project, &path, name) };
    let mut answer = Vec::new();
    for Calls { node, places } in found {
        let Some(item) = item(across, client, &node) else { continue };
        let caller = if incoming { &node.path } else { &path };
        let ranges: Vec<lsp::Range> = places.iter().filter_map(|place| range(across, client, caller, *place)).collect();
        answer.push(json!({if incoming { "from" } else { "to" }: item, "fromRanges": ranges}));
    }
    Ok(json!(answer))
}

fn range(across: &mut Across, client: &Client, path: &Path, span: Span) -> Option<lsp::Range> {
    let file = across.project.file(path)?;
    Some(client.encoding.range(file.analysis.sources.file(Analysis::FILE), span))
}

fn item(across: &mut Across, client: &Client, node: &Node) -> Option<Value> {
    let file_name = node.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kind = if node.function.is_some() { lsp::SymbolKind::Function } else { lsp::SymbolKind::File };
    Some(json!({
        "name": node.function.as_ref().unwrap_or(&file_name),
        "kind": kind,
        "detail": file_name,
        "uri": across.uri(&node.path),
        "range": range(across, client, &node.path, node.whole)?,
        "selectionRange": range(across, client, &node.path, node.name_span)?,
        "data": {"path": node.path, "function": node.function},
    }))
}
