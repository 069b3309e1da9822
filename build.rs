//! Generates the parser from `grammar/`, the index of the built-in library from `stdlib/`, and the
//! list of the algorithms that data sets are made of from `algorithms/`.

use std::fmt::Write as _;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=grammar");
    if let Err(error) = lalrpop::Configuration::new()
        .set_in_dir("grammar")
        .set_out_dir(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"))
        .process()
    {
        panic!("grammar/: {error}");
    }
    index_library(&std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    list_families(&std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
}

/// Writes `families.rs`: the files in `algorithms/` by their names without
/// ending.
fn list_families(out_dir: &str) {
    println!("cargo:rerun-if-changed=algorithms");
    let mut paths: Vec<_> = std::fs::read_dir("algorithms")
        .expect("algorithms/ is part of the source")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .collect();
    paths.sort();
    let mut list = String::from("static FILES: &[(&str, &str)] = &[\n");
    for path in &paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(list, "    ({name:?}, {}),", text_of(path)).expect("a string grows");
    }
    list += "];\n";
    std::fs::write(Path::new(out_dir).join("families.rs"), list).expect("OUT_DIR is writable");
}

/// The expression of a file's text. It has no folder of this machine in it: checkouts that share a
/// target folder share what is generated.
fn text_of(path: &Path) -> String {
    let path = format!("/{}", path.display());
    format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))")
}

/// Writes `stdlib_index.rs`: the library's texts, and for each name where its entries stand, so
/// that a compilation parses only the entries it uses.
fn index_library(out_dir: &str) {
    println!("cargo:rerun-if-changed=stdlib");
    let mut paths: Vec<_> = std::fs::read_dir("stdlib")
        .expect("stdlib/ is part of the source")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .collect();
    paths.sort();
    let mut files = String::new();
    let mut chunks = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let text = std::fs::read_to_string(path).expect("stdlib/ holds UTF-8 text");
        writeln!(files, "    ({:?}, {}),", path.to_string_lossy(), text_of(path)).expect("a string grows");
        for (start, end) in split_chunks(&text) {
            chunks.push((chunk_name(&text[start..end]), number, start, end));
        }
    }
    chunks.sort();
    let mut index = format!("pub(super) static FILES: &[(&str, &str)] = &[\n{files}];\n");
    index += "pub(super) static CHUNKS: &[(&str, u32, u32, u32)] = &[\n";
    for (name, file, start, end) in chunks {
        writeln!(index, "    ({name:?}, {file}, {start}, {end}),").expect("a string grows");
    }
    index += "];\n";
    std::fs::write(Path::new(out_dir).join("stdlib_index.rs"), index).expect("OUT_DIR is writable");
}

/// Top-level statements of a library file: a `def` with its decorators and body, or an assignment.
fn split_chunks(text: &str) -> Vec<(usize, usize)> {
    let mut chunks: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    let mut in_decorators = false;
    for line in text.split_inclusive('\n') {
        let first = line.bytes().next().unwrap_or(b'\n');
        if first == b'@' || first == b'_' || first.is_ascii_alphabetic() {
            if !in_decorators {
                chunks.push((at, at));
            }
            in_decorators = first == b'@';
        }
        at += line.len();
        if first != b'#'
            && !line.trim().is_empty()
            && let Some(chunk) = chunks.last_mut()
        {
            chunk.1 = at;
        }
    }
    chunks
}

/// `sin`, `_TWO_PI`; a gradient rule of `sin` is `sin.grad`, what is no function but a statement
/// `load.syntax`, a type `MeshQueryPoint.struct`.
fn chunk_name(chunk: &str) -> String {
    let word =
        |text: &str| -> String { text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let statement = if chunk.contains("\n@syntax(") { ".syntax" } else { "" };
    for line in chunk.lines() {
        if let Some(rest) = line.strip_prefix("@func_grad(") {
            return format!("{}.grad", word(rest));
        }
        if let Some(rest) = line.strip_prefix("def ") {
            return word(rest) + statement;
        }
        if let Some(rest) = line.strip_prefix("class ") {
            return word(rest) + ".struct";
        }
        if !line.starts_with('@') {
            return word(line);
        }
    }
    String::new()
}
