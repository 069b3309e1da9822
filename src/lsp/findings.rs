//! How are findings said in the protocol?

use std::hash::{DefaultHasher, Hash, Hasher};

use gen_lsp_types as lsp;
use serde_json::{Value, json};

use super::answer::{Answer, Context};
use crate::diag::{Code, Diagnostic, Level};
use crate::limits::MAX_SHOWN;
use crate::source::Span;

impl Context<'_> {
    /// The findings of the document, in the order of their places.
    pub fn diagnostics(&self) -> Vec<lsp::Diagnostic> {
        let mut found: Vec<(Span, &Diagnostic)> = self.file.findings().collect();
        found.sort_by_key(|(place, _)| place.start);
        found.truncate(MAX_SHOWN);
        found.into_iter().map(|(place, diagnostic)| self.diagnostic(place, diagnostic)).collect()
    }

    pub fn diagnostic(&self, place: Span, diagnostic: &Diagnostic) -> lsp::Diagnostic {
        let severity = match diagnostic.level {
            Level::Error => lsp::DiagnosticSeverity::Error,
            Level::Warning => lsp::DiagnosticSeverity::Warning,
            Level::Note => lsp::DiagnosticSeverity::Information,
        };
        let tags = match diagnostic.code {
            Code::W1301 | Code::W1302 | Code::W1304 => Some(vec![lsp::DiagnosticTag::Unnecessary]),
            _ => None,
        };
        let others: Vec<_> = diagnostic.labels.iter().filter(|label| label.span != place).collect();
        let mut related = Vec::new();
        let mut message = diagnostic.message.clone();
        let own = diagnostic.labels.iter().find(|label| label.span == place && !label.message.is_empty());
        if let Some(label) = own {
            message += &format!("\n{}", label.message);
        }
        for label in others.iter().filter(|label| !label.message.is_empty()) {
            match self.location(label.span) {
                Some(location) if self.client.related => {
                    related.push(lsp::DiagnosticRelatedInformation { location, message: label.message.clone() });
                }
                _ => message += &format!("\n`{}`: {}", self.file.slice(label.span), label.message),
            }
        }
        for note in &diagnostic.notes {
            message += &format!("\nnote: {note}");
        }
        if let Some(help) = &diagnostic.help {
            message += &format!("\nhelp: {help}");
        }
        lsp::Diagnostic {
            range: self.range(place),
            severity: Some(severity),
            code: Some(lsp::Code::String(diagnostic.code.name().to_string())),
            code_description: None,
            source: Some("kc".to_string()),
            message: lsp::Message::String(message),
            tags,
            related_information: (!related.is_empty()).then_some(related),
            data: None,
        }
    }

    /// The answer to a client that asks for findings.
    pub fn diagnostic_report(&self, params: &Value) -> Answer {
        let items = json!(self.diagnostics());
        let mut hasher = DefaultHasher::new();
        items.to_string().hash(&mut hasher);
        let id = format!("{:x}", hasher.finish());
        let known = params.get("previousResultId").and_then(Value::as_str);
        Ok(if known == Some(&id) {
            json!({"kind": "unchanged", "resultId": id})
        } else {
            json!({"kind": "full", "resultId": id, "items": items})
        })
    }
}
