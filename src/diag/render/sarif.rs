//! SARIF 2.1.0 (OASIS), the exchange format of static analysis tools: a log with one run, a rule
//! for each code used.

use serde_json::{Value, json};

use super::clamp;
use crate::diag::{Applicability, Code, Diagnostic, Level};
use crate::source::{SourceMap, Span};

/// One result as a line of JSON.
pub(super) fn render(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let mut text = diagnostic.message.clone();
    for more in diagnostic.notes.iter().chain(&diagnostic.help) {
        text.push_str("\n\n");
        text.push_str(more);
    }
    let mut result = json!({
        "ruleId": diagnostic.code.name(),
        "level": level(diagnostic.level),
        "message": { "text": text },
    });
    let mut labels = diagnostic.labels.iter();
    if let Some(primary) = labels.next() {
        let mut location = place(primary.span, sources);
        if !primary.message.is_empty() {
            location["message"] = json!({ "text": primary.message });
        }
        result["locations"] = json!([location]);
    }
    let related: Vec<Value> = labels
        .enumerate()
        .map(|(id, label)| {
            let mut location = place(label.span, sources);
            location["id"] = json!(id);
            location["message"] = json!({ "text": label.message });
            location
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    // The format has no word for a fix that needs a look.
    if let Some(fix) = diagnostic.fix.as_ref().filter(|fix| fix.applicability == Applicability::Machine) {
        let changes: Vec<Value> = fix
            .edits
            .iter()
            .map(|(span, text)| {
                json!({
                    "artifactLocation": artifact(*span, sources),
                    "replacements": [{ "deletedRegion": region(*span, sources), "insertedContent": { "text": text } }],
                })
            })
            .collect();
        result["fixes"] = json!([{ "description": { "text": fix.message }, "artifactChanges": changes }]);
    }
    format!("{result}\n")
}

/// The document of results as [`render`] makes them.
pub(super) fn log(results: &str) -> String {
    let results: Vec<Value> = results.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let used = |code: &&Code| results.iter().any(|result| result["ruleId"] == code.name());
    let rules: Vec<Value> = Code::ALL
        .iter()
        .filter(used)
        .map(|code| {
            json!({
                "id": code.name(),
                "name": code.slug(),
                "shortDescription": { "text": code.title() },
                "help": { "text": code.page(), "markdown": code.page() },
                "defaultConfiguration": { "level": level(code.level()) },
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "kc", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn level(level: Level) -> &'static str {
    level.name()
}

fn artifact(span: Span, sources: &SourceMap) -> Value {
    let path = sources.path(span.file).to_string_lossy().replace('\\', "/");
    let escaped: String = path
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    json!({ "uri": if path.starts_with('/') { format!("file://{escaped}") } else { escaped } })
}

fn region(span: Span, sources: &SourceMap) -> Value {
    let file = sources.file(span.file);
    let range = clamp(span, sources);
    let (from, to) = (file.line_column(range.start as u32), file.line_column(range.end as u32));
    json!({
        "startLine": from.line, "startColumn": from.column, "endLine": to.line, "endColumn": to.column,
        "byteOffset": range.start, "byteLength": range.len(),
    })
}

fn place(span: Span, sources: &SourceMap) -> Value {
    json!({ "physicalLocation": { "artifactLocation": artifact(span, sources), "region": region(span, sources) } })
}
