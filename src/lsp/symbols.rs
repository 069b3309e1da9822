//! `workspace/symbol`: which kernels, functions, structs and constants does the workspace have?
//!
//! A list for each file is kept as long as the file stays as it is; that takes its syntax alone.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::answer::symbol_kind;
use super::client::Client;
use super::documents::{Files, uri_of};
use crate::driver::Stamp;
use crate::ide::symbols::{self, SymbolKind};
use crate::source::{FileSystem, SourceFile};

/// The most symbols of one answer.
const MOST: usize = 500;

/// What was found in the files of a workspace.
#[derive(Debug, Default)]
pub struct Index {
    files: HashMap<PathBuf, Listed>,
}

#[derive(Debug)]
struct Listed {
    version: Version,
    symbols: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    name: String,
    kind: SymbolKind,
    range: Value,
}

/// What says that a file is as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    Open(i32),
    Disk(Stamp),
}

impl Index {
    /// The symbols whose names have the letters of the query in order.
    pub fn answer(&mut self, files: &Files, client: &Client, params: &Value) -> Value {
        let query = params.get("query").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let paths = files.python(Path::new(""));
        let there: HashSet<&PathBuf> = paths.iter().collect();
        self.files.retain(|path, _| there.contains(path));
        let mut found = Vec::new();
        for path in &paths {
            let open = files.at(path);
            let version = match &open {
                Some(open) => Some(Version::Open(open.version)),
                None => Stamp::of(path).map(Version::Disk),
            };
            let Some(version) = version else { continue };
            if self.files.get(path).is_none_or(|listed| listed.version != version) {
                let symbols = listed(files, path, client);
                self.files.insert(path.clone(), Listed { version, symbols });
            }
            let symbols = self.files.get(path).map_or(&[][..], |listed| &listed.symbols);
            let mut uri = None;
            for symbol in symbols.iter().filter(|symbol| matches(&symbol.name, &query)) {
                if found.len() >= MOST {
                    return json!(found);
                }
                let uri =
                    uri.get_or_insert_with(|| open.as_ref().map_or_else(|| uri_of(path), |open| open.uri.clone()));
                let location = json!({"uri": uri, "range": symbol.range});
                found.push(json!({"name": symbol.name, "kind": symbol_kind(symbol.kind), "location": location}));
            }
        }
        json!(found)
    }
}

/// Whether a name has the letters of a query, which are small, in order.
fn matches(name: &str, query: &str) -> bool {
    let mut letters = query.chars().peekable();
    for c in name.chars().flat_map(char::to_lowercase) {
        letters.next_if_eq(&c);
    }
    letters.peek().is_none()
}

fn listed(files: &Files, path: &Path, client: &Client) -> Vec<Known> {
    let Some(Ok(text)) = files.read(path).filter(|text| text.as_ref().is_ok_and(|text| text.contains("warp"))) else {
        return Vec::new();
    };
    let source = SourceFile::new(path, text);
    let known = symbols::listed(&source.text).into_iter().map(|(name, kind)| Known {
        range: json!(client.encoding.range(&source, name.span)),
        name: name.text,
        kind,
    });
    known.collect()
}
