//! How are the answers of [`crate::ide`] said in the protocol? One function per request; what needs
//! more room has a file of its own.

use std::sync::Arc;

use gen_lsp_types as lsp;
use gen_lsp_types::{Position, Range, Uri};
use lsp_server::{ErrorCode, ResponseError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::{Client, library_uri, token_type};
use super::costs::{Access, Count};
use super::position::Encoding;
use crate::driver::Analysis;
use crate::ide::define::Target;
use crate::ide::names::Role;
use crate::ide::{self, File, complete, define, fold, hints, hover, rename, signature, symbols, tokens};
use crate::library::Library;
use crate::source::{SourceFile, Span};

/// A file at the moment of a request, and the caller.
pub struct Context<'a> {
    pub file: &'a File,
    pub uri: &'a str,
    pub version: i32,
    pub client: &'a Client,
    /// What launches took, for the answers that show it ([`SHOW_COUNTS`]).
    pub counts: Vec<Arc<Count>>,
    /// What computes the product of tiles that a hover asks for.
    pub product: Option<(Span, String)>,
}

/// The methods whose answers show what launches took.
pub const SHOW_COUNTS: [&str; 2] = ["textDocument/hover", "textDocument/inlayHint"];

pub type Answer = Result<Value, ResponseError>;

pub fn error(code: ErrorCode, message: impl Into<String>) -> ResponseError {
    ResponseError { code: code as i32, message: message.into(), data: None }
}

/// Reads the parameters of a request.
pub fn params<P: DeserializeOwned>(value: &Value) -> Result<P, ResponseError> {
    P::deserialize(value).map_err(|fault| error(ErrorCode::InvalidParams, fault.to_string()))
}

/// Something that can be said, as JSON.
fn say<T: serde::Serialize>(value: T) -> Answer {
    serde_json::to_value(value).map_err(|fault| error(ErrorCode::InternalError, fault.to_string()))
}

/// A doc, as the client can show it: Markdown reads well as plain text, too.
fn doc(client: &Client, text: &str) -> Value {
    json!({"kind": if client.markdown { "markdown" } else { "plaintext" }, "value": text})
}

/// Answers a request about one document. None: there is no such request.
pub fn answer(context: &Context, method: &str, params: &Value) -> Option<Answer> {
    Some(match method {
        "textDocument/hover" => context.hover(params),
        "textDocument/completion" => context.completion(params),
        "textDocument/signatureHelp" => context.signature(params),
        "textDocument/definition" => context.definition(params),
        "textDocument/typeDefinition" => context.type_definition(params),
        "textDocument/references" => context.references(params),
        "textDocument/documentHighlight" => context.highlights(params),
        "textDocument/documentSymbol" => context.symbols(),
        "textDocument/prepareRename" => context.prepare_rename(params),
        "textDocument/rename" => context.rename(params),
        "textDocument/codeAction" => context.actions(params),
        "textDocument/codeLens" => context.lenses(),
        "textDocument/foldingRange" => context.folds(),
        "textDocument/selectionRange" => context.selections(params),
        "textDocument/inlayHint" => context.hints(params),
        "textDocument/semanticTokens/full" => context.tokens(None),
        "textDocument/semanticTokens/range" => {
            context.range_param(params).and_then(|range| context.tokens(Some(range)))
        }
        "textDocument/diagnostic" => context.diagnostic_report(params),
        _ => return None,
    })
}

/// The methods of [`answer`].
pub fn is_about_document(method: &str) -> bool {
    method.starts_with("textDocument/")
}

impl Context<'_> {
    pub fn encoding(&self) -> Encoding {
        self.client.encoding
    }

    pub fn source(&self) -> &SourceFile {
        self.file.analysis.sources.file(Analysis::FILE)
    }

    pub fn range(&self, span: Span) -> Range {
        self.encoding().range(self.source(), span)
    }

    pub fn uri(&self) -> Uri {
        Uri(self.uri.to_string())
    }

    pub fn offset(&self, value: &Value) -> Result<u32, ResponseError> {
        let at: lsp::TextDocumentPositionParams = params(value)?;
        Ok(self.encoding().offset(self.source(), at.position))
    }

    fn offsets(&self, range: Range) -> std::ops::Range<u32> {
        let start = self.encoding().offset(self.source(), range.start);
        start..self.encoding().offset(self.source(), range.end).max(start)
    }

    fn range_param(&self, value: &Value) -> Result<std::ops::Range<u32>, ResponseError> {
        let range: Range = params(value.get("range").unwrap_or(&Value::Null))?;
        Ok(self.offsets(range))
    }

    /// A place, also of a library file.
    pub fn location(&self, span: Span) -> Option<lsp::Location> {
        let sources = &self.file.analysis.sources;
        let uri = match span.file {
            Analysis::FILE => self.uri(),
            other if sources.path(other).is_absolute() => Uri(super::documents::uri_of(sources.path(other))),
            other => library_uri(self.client, &sources.path(other).to_string_lossy())?,
        };
        Some(lsp::Location { uri, range: self.encoding().range(sources.file(span.file), span) })
    }

    pub fn doc(&self, text: &str) -> Value {
        doc(self.client, text)
    }

    fn hover(&self, value: &Value) -> Answer {
        let offset = self.offset(value)?;
        let mut parts = Vec::new();
        let mut range = None;
        if let Some(found) = hover::hover(self.file, offset) {
            range = Some(found.span);
            parts.push(found.markdown);
        }
        if let Some((_, product)) = &self.product {
            parts.push(product.clone());
        }
        if let Some((span, costs)) = self.costs_at(offset) {
            range = range.or(Some(span));
            parts.push(costs);
        }
        let Some(range) = range else { return Ok(Value::Null) };
        Ok(json!({"contents": doc(self.client, &parts.join("\n\n")), "range": self.range(range)}))
    }

    /// What launches took at the innermost access around an offset.
    fn costs_at(&self, offset: u32) -> Option<(Span, String)> {
        let around = |access: &Access| {
            let span = self.file.access_at(access.offset)?;
            (span.start <= offset && offset <= span.end).then_some(span)
        };
        let all = || {
            self.counts.iter().flat_map(|count| {
                let of = |phase, list: &'_ [Access]| {
                    let one = |access: &Access| (phase, count.clone(), access.clone());
                    list.iter().map(one).collect::<Vec<_>>()
                };
                [of("", &count.accesses), of("backward ", &count.backward)].concat()
            })
        };
        let span = all().filter_map(|(_, _, access)| around(&access)).min_by_key(|span| span.len())?;
        let here = all().filter(|(_, _, access)| self.file.access_at(access.offset) == Some(span));
        let mut lines: Vec<String> = here
            .map(|(phase, count, access)| format!("{phase}{} (`{}`, {})", access.words, count.kernel, count.launch))
            .collect();
        lines.dedup();
        Some((span, lines.join("  \n")))
    }

    fn completion(&self, value: &Value) -> Answer {
        let offset = self.offset(value)?;
        let Some(found) = complete::complete(self.file, &self.source().path, offset) else { return Ok(Value::Null) };
        let range = self.range(found.replace);
        // Thousands of items are written by hand: one range for all of them.
        let items: Vec<Value> = found.list.iter().map(|proposal| self.item(proposal, range)).collect();
        Ok(json!({"isIncomplete": false, "items": items}))
    }

    fn item(&self, proposal: &complete::Proposal, range: Range) -> Value {
        use complete::CompletionKind;
        let kind = match proposal.kind {
            CompletionKind::Function | CompletionKind::Builtin => lsp::CompletionItemKind::Function,
            CompletionKind::Variable | CompletionKind::Parameter => lsp::CompletionItemKind::Variable,
            CompletionKind::Field => lsp::CompletionItemKind::Field,
            CompletionKind::Struct | CompletionKind::Type => lsp::CompletionItemKind::Struct,
            CompletionKind::Constant => lsp::CompletionItemKind::Constant,
            CompletionKind::Module => lsp::CompletionItemKind::Module,
            CompletionKind::Keyword => lsp::CompletionItemKind::Keyword,
        };
        let mut item = json!({
            "label": proposal.label,
            "kind": kind,
            "sortText": format!("{}{}", proposal.rank, proposal.label),
            "textEdit": {"range": range, "newText": proposal.label},
        });
        if !proposal.detail.is_empty() {
            item["detail"] = json!(proposal.detail);
        }
        if !proposal.doc.is_empty() {
            item["documentation"] = doc(self.client, &proposal.doc);
        } else if proposal.kind == CompletionKind::Builtin {
            item["data"] = json!(proposal.label);
        }
        item
    }

    fn signature(&self, value: &Value) -> Answer {
        let Some(help) = signature::help(self.file, self.offset(value)?) else { return Ok(Value::Null) };
        let signatures: Vec<Value> = help
            .signatures
            .iter()
            .map(|signature| {
                let params: Vec<Value> = signature.params.iter().map(|label| json!({"label": label})).collect();
                json!({
                    "label": signature.label,
                    "documentation": doc(self.client, &signature.doc),
                    "parameters": params,
                })
            })
            .collect();
        Ok(json!({"signatures": signatures, "activeSignature": help.active, "activeParameter": help.argument}))
    }

    fn definition(&self, value: &Value) -> Answer {
        let Some((_, targets)) = define::definitions(self.file, self.offset(value)?) else { return Ok(Value::Null) };
        let places: Vec<lsp::Location> = targets.iter().filter_map(|target| self.target(target)).collect();
        say(places)
    }

    fn target(&self, target: &Target) -> Option<lsp::Location> {
        match target {
            Target::Here(span) => self.location(*span),
            Target::Library { path, name } => {
                let file = SourceFile::new(path, Library::text(path)?.to_string());
                let range = self.encoding().range(&file, Span::new(Analysis::FILE, name.start, name.end));
                Some(lsp::Location { uri: library_uri(self.client, path)?, range })
            }
        }
    }

    fn type_definition(&self, value: &Value) -> Answer {
        let span = define::type_definition(self.file, self.offset(value)?);
        say(span.and_then(|span| self.location(span)))
    }

    fn references(&self, value: &Value) -> Answer {
        let declaration = value.pointer("/context/includeDeclaration").and_then(Value::as_bool).unwrap_or(true);
        let found = define::references(self.file, self.offset(value)?);
        let wanted = found.into_iter().filter(|o| declaration || o.role != Role::Definition);
        say(wanted.filter_map(|occurrence| self.location(occurrence.span)).collect::<Vec<_>>())
    }

    fn highlights(&self, value: &Value) -> Answer {
        let found = define::references(self.file, self.offset(value)?).into_iter();
        // 2 is a read, 3 a write.
        let kind = |role| if role == Role::Read { 2 } else { 3 };
        Ok(found.map(|o| json!({"range": self.range(o.span), "kind": kind(o.role)})).collect())
    }

    fn symbols(&self) -> Answer {
        Ok(symbols::outline(self.file).iter().map(|entry| self.symbol(entry)).collect())
    }

    fn symbol(&self, entry: &symbols::Entry) -> Value {
        json!({
            "name": entry.name,
            "detail": entry.detail,
            "kind": symbol_kind(entry.kind),
            "range": self.range(entry.whole),
            "selectionRange": self.range(entry.name_span),
            "children": entry.children.iter().map(|child| self.symbol(child)).collect::<Vec<_>>(),
        })
    }

    fn prepare_rename(&self, value: &Value) -> Answer {
        let found = rename::prepare(self.file, self.offset(value)?);
        let occurrence = found.map_err(|reason| error(ErrorCode::RequestFailed, reason))?;
        Ok(json!({"range": self.range(occurrence.span), "placeholder": self.file.slice(occurrence.span)}))
    }

    fn rename(&self, value: &Value) -> Answer {
        let name = value.get("newName").and_then(Value::as_str);
        let name = name.ok_or_else(|| error(ErrorCode::InvalidParams, "newName is missing"))?;
        let places = rename::rename(self.file, self.offset(value)?, name);
        let places = places.map_err(|reason| error(ErrorCode::RequestFailed, reason))?;
        Ok(self.edit(places.into_iter().map(|span| (span, name.to_string())).collect()))
    }

    /// Replacements in this document, for the version they were made for.
    pub fn edit(&self, edits: Vec<(Span, String)>) -> Value {
        let edits: Vec<Value> =
            edits.into_iter().map(|(span, text)| json!({"range": self.range(span), "newText": text})).collect();
        match self.client.versioned_edits {
            true => {
                let document = json!({"uri": self.uri, "version": self.version});
                json!({"documentChanges": [{"textDocument": document, "edits": edits}]})
            }
            false => json!({"changes": {self.uri: edits}}),
        }
    }

    fn actions(&self, value: &Value) -> Answer {
        let only = value.pointer("/context/only").and_then(Value::as_array);
        let wanted = |kind: &str| {
            let under = |of: &str| kind == of || kind.strip_prefix(of).is_some_and(|rest| rest.starts_with('.'));
            only.is_none_or(|list| list.iter().filter_map(Value::as_str).any(under))
        };
        let actions = ide::actions::actions(self.file, self.range_param(value)?);
        let found: Vec<(Span, &crate::diag::Diagnostic)> = self.file.findings().collect();
        let said = actions.into_iter().filter_map(|action| {
            let kind = if action.finding.is_some() { "quickfix" } else { "refactor.rewrite" };
            let mut said = json!({"title": action.title, "kind": kind, "edit": self.edit(action.edits)});
            if let Some((place, diagnostic)) = action.finding.and_then(|number| found.get(number)) {
                said["diagnostics"] = json!([self.diagnostic(*place, diagnostic)]);
                said["isPreferred"] = json!(action.preferred);
            }
            wanted(kind).then_some(said)
        });
        Ok(said.collect())
    }

    fn lenses(&self) -> Answer {
        let kernels = self.file.functions().filter(|function| ide::find::is_kernel(function));
        let lenses = kernels.flat_map(|kernel| {
            let range = self.range(kernel.name.span);
            ide::view::View::ALL
                .map(|view| {
                    let arguments = json!([self.uri, kernel.name.text, view.name()]);
                    let command =
                        json!({"title": view.title(), "command": super::client::SHOW, "arguments": arguments});
                    json!({"range": range, "command": command})
                })
                .into_iter()
                // Those take a while, and are filled where they are seen.
                .chain([json!({"range": range, "data": {"uri": self.uri, "kernel": kernel.name.text}})])
        });
        Ok(lenses.collect())
    }

    fn folds(&self) -> Answer {
        let line = |position: Position| position.line;
        let folds = fold::folds(self.file).into_iter().map(|span| {
            // A place that ends with a line end ends on the line before.
            let end = span.start + self.file.slice(span).trim_end().len() as u32;
            let range = self.range(Span { end, ..span });
            json!({"startLine": line(range.start), "endLine": line(range.end)})
        });
        Ok(folds.collect())
    }

    fn selections(&self, value: &Value) -> Answer {
        let wanted: lsp::SelectionRangeParams = params(value)?;
        let chains = wanted.positions.into_iter().map(|position| {
            let offset = self.encoding().offset(self.source(), position);
            let empty = json!({"range": Range { start: position, end: position }});
            let spans = fold::around(self.file, offset);
            spans
                .into_iter()
                .rev()
                .fold(None, |parent: Option<Value>, span| {
                    let mut this = json!({"range": self.range(span)});
                    if let Some(parent) = parent {
                        this["parent"] = parent;
                    }
                    Some(this)
                })
                .unwrap_or(empty)
        });
        Ok(chains.collect())
    }

    fn hints(&self, value: &Value) -> Answer {
        let wanted = self.range_param(value)?;
        let hints = hints::hints(self.file, wanted.clone()).into_iter();
        let said = hints.map(|hint| {
            let position = self.encoding().position(self.source(), hint.offset);
            // 1 is a type, 2 a parameter.
            let kind = if hint.parameter { 2 } else { 1 };
            json!({"position": position, "label": hint.label.trim_end(), "kind": kind, "paddingRight": hint.parameter})
        });
        Ok(said.chain(self.costs_of_accesses(&wanted)).collect())
    }

    /// What the launch that was counted last took, behind each access.
    fn costs_of_accesses(&self, wanted: &std::ops::Range<u32>) -> Vec<Value> {
        let mut shown: Vec<Span> = Vec::new();
        let mut list = Vec::new();
        for count in self.counts.iter().rev() {
            for access in &count.accesses {
                let Some(span) = self.file.access_at(access.offset) else { continue };
                if shown.contains(&span) || span.end < wanted.start || wanted.end < span.start {
                    continue;
                }
                shown.push(span);
                let position = self.encoding().position(self.source(), span.end);
                let tooltip = format!("{} (`{}`, {})", access.words, count.kernel, count.launch);
                list.push(
                    json!({"position": position, "label": access.short, "tooltip": tooltip, "paddingLeft": true}),
                );
            }
        }
        list
    }

    fn tokens(&self, range: Option<std::ops::Range<u32>>) -> Answer {
        let mut data: Vec<u32> = Vec::new();
        let mut last = Position { line: 0, character: 0 };
        for token in tokens::tokens(self.file) {
            if range.as_ref().is_some_and(|range| token.span.end < range.start || range.end < token.span.start) {
                continue;
            }
            let at = self.encoding().position(self.source(), token.span.start);
            let line = at.line - last.line;
            let start = if line == 0 { at.character - last.character } else { at.character };
            let length = self.encoding().length(self.file.slice(token.span));
            data.extend([line, start, length, token_type(token.class), token.modifiers]);
            last = at;
        }
        Ok(json!({"data": data}))
    }
}

/// The kind of an outline's entry in the protocol.
pub fn symbol_kind(kind: symbols::SymbolKind) -> lsp::SymbolKind {
    match kind {
        symbols::SymbolKind::Kernel | symbols::SymbolKind::Function => lsp::SymbolKind::Function,
        symbols::SymbolKind::Struct => lsp::SymbolKind::Struct,
        symbols::SymbolKind::Enum => lsp::SymbolKind::Enum,
        symbols::SymbolKind::Field => lsp::SymbolKind::Field,
        symbols::SymbolKind::Constant => lsp::SymbolKind::Constant,
    }
}

/// The whole item for one that a person looks at.
pub fn resolve(client: &Client, item: &Value) -> Answer {
    let mut item = item.clone();
    if let Some((signature, text)) = item.get("data").and_then(Value::as_str).and_then(complete::describe) {
        item["detail"] = json!(signature);
        item["documentation"] = doc(client, &text);
    }
    Ok(item)
}
