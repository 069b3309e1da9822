//! What can the client do, what does it want, and what do we offer it?

use gen_lsp_types::Uri;
use serde_json::{Value, json};

use super::position::Encoding;
use crate::diag::policy::{Policy, Setting};
use crate::ide::tokens;
use crate::profile::{Limits, known_architectures};

/// What was agreed on when the session began.
#[derive(Clone, Debug)]
pub struct Client {
    pub encoding: Encoding,
    /// The client asks for findings; otherwise they are pushed.
    pub pulls: bool,
    /// Findings may point to other places.
    pub related: bool,
    /// Docs may be Markdown.
    pub markdown: bool,
    /// Documents can have addresses that only we can read.
    pub content: bool,
    /// The client opens documents when asked to.
    pub shows: bool,
    /// Edits name the version that they are for.
    pub versioned_edits: bool,
    /// Findings that were asked for can be called out of date.
    pub refreshes: bool,
    /// Lenses, and hints, that were asked for can be called out of date.
    pub refreshes_lenses: bool,
    pub refreshes_hints: bool,
    /// The client can be asked to watch files.
    pub watches: bool,
    /// The user's wishes about warnings.
    pub policy: Policy,
    /// The GPU that kernels are looked at for.
    pub arch: String,
    /// What was wrong with the settings.
    pub complaints: Vec<String>,
}

impl Client {
    /// Reads `initialize`. Nothing in it can fail: what is missing or strange is as if the client
    /// could not do it.
    pub fn new(params: &Value) -> Client {
        let can = |path: &str| params.pointer(&format!("/capabilities{path}"));
        let yes = |path: &str| can(path).and_then(Value::as_bool).unwrap_or(false);
        let utf8 = can("/general/positionEncodings")
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(|encoding| encoding == "utf-8"));
        let mut client = Client {
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            pulls: can("/textDocument/diagnostic").is_some_and(Value::is_object),
            related: yes("/textDocument/publishDiagnostics/relatedInformation"),
            markdown: can("/textDocument/hover/contentFormat")
                .and_then(Value::as_array)
                .is_none_or(|list| list.iter().any(|format| format == "markdown")),
            content: can("/workspace/textDocumentContent").is_some_and(Value::is_object),
            shows: yes("/window/showDocument/support"),
            versioned_edits: yes("/workspace/workspaceEdit/documentChanges"),
            refreshes: yes("/workspace/diagnostics/refreshSupport"),
            refreshes_lenses: yes("/workspace/codeLens/refreshSupport"),
            refreshes_hints: yes("/workspace/inlayHint/refreshSupport"),
            watches: yes("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            policy: Policy::default(),
            arch: String::new(),
            complaints: Vec::new(),
        };
        client.configure(params.pointer("/initializationOptions").unwrap_or(&Value::Null));
        client
    }

    /// Takes the user's settings:
    /// `{"warn": [...], "deny": [...], "allow": [...], "arch": "sm_90"}`, perhaps under `kc`.
    pub fn configure(&mut self, settings: &Value) {
        let settings = settings.get("kc").unwrap_or(settings);
        self.policy = Policy::default().with_remarks();
        self.complaints.clear();
        self.arch = ARCH.to_string();
        if let Some(arch) = settings.get("arch").and_then(Value::as_str).filter(|arch| !arch.is_empty()) {
            match Limits::of(arch) {
                Some(limits) => self.arch = limits.arch.to_string(),
                None => self
                    .complaints
                    .push(format!("arch: `{arch}` is not known; there are {}", known_architectures().join(", "))),
            }
        }
        for (key, setting) in [("warn", Setting::Warn), ("deny", Setting::Deny), ("allow", Setting::Allow)] {
            let codes = settings.get(key).and_then(Value::as_array).into_iter().flatten();
            for code in codes.filter_map(Value::as_str) {
                if let Err(message) = self.policy.set(code, setting) {
                    self.complaints.push(format!("{key}: {message}"));
                }
            }
        }
    }
}

/// The classes of names in the protocol; [`token_type`] counts in it.
const TOKEN_TYPES: &[&str] =
    &["namespace", "type", "struct", "function", "parameter", "variable", "property", "enumMember"];

/// The names of the bits of [`tokens::Token::modifiers`], from the lowest.
const TOKEN_MODIFIERS: &[&str] = &["declaration", "readonly", "modification", "defaultLibrary", "kernel", "uniform"];

/// The number of a token's class in the protocol.
pub fn token_type(class: tokens::Class) -> u32 {
    use tokens::Class::{Constant, EnumMember, Function, Module, Parameter, Property, Struct, Type, Variable};
    match class {
        Module => 0,
        Type => 1,
        Struct => 2,
        Function => 3,
        Parameter => 4,
        Variable | Constant => 5,
        Property => 6,
        EnumMember => 7,
    }
}

/// The schemes of our own documents: views of kernels, and the library.
pub const VIEW_SCHEME: &str = "kc-view";
pub const LIBRARY_SCHEME: &str = "kc-stdlib";

/// The GPU that kernels are looked at for, without a wish.
const ARCH: &str = "sm_90";

/// The command that counts a launch of a kernel.
pub const COUNT: &str = "kc.count";

/// The command that shows a view.
pub const SHOW: &str = "kc.show";

/// What we can do, as the answer to `initialize`.
pub fn capabilities(client: &Client) -> Value {
    let encoding = match client.encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
    };
    json!({
        "capabilities": {
            "positionEncoding": encoding,
            "textDocumentSync": {"openClose": true, "change": 2, "save": false},
            "hoverProvider": true,
            "completionProvider": {"triggerCharacters": ["."], "resolveProvider": true},
            "signatureHelpProvider": {"triggerCharacters": ["(", ","]},
            "definitionProvider": true,
            "typeDefinitionProvider": true,
            "referencesProvider": true,
            "callHierarchyProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "renameProvider": {"prepareProvider": true},
            "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor.rewrite"]},
            "codeLensProvider": {"resolveProvider": true},
            "foldingRangeProvider": true,
            "selectionRangeProvider": true,
            "inlayHintProvider": true,
            "semanticTokensProvider": {
                "legend": {"tokenTypes": TOKEN_TYPES, "tokenModifiers": TOKEN_MODIFIERS},
                "full": true,
                "range": true,
            },
            "diagnosticProvider": {"identifier": "kc", "interFileDependencies": true, "workspaceDiagnostics": false},
            "executeCommandProvider": {"commands": [SHOW, COUNT]},
            "workspaceSymbolProvider": true,
            "workspace": {
                "workspaceFolders": {"supported": true, "changeNotifications": true},
                "textDocumentContent": {"schemes": [VIEW_SCHEME, LIBRARY_SCHEME]},
            },
        },
        "serverInfo": {"name": "kc", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// The address of a library file: our own scheme, or a copy that the client can open.
pub fn library_uri(client: &Client, path: &str) -> Option<Uri> {
    if client.content {
        return Some(Uri(format!("{LIBRARY_SCHEME}:/{path}")));
    }
    let file = super::views::copy_of_library(path)?;
    Some(Uri(super::documents::uri_of(&file)))
}
