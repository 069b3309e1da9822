//! Keeps the house as it is drawn in `src/lib.rs`: who may import whom, who may print or open files, how long a file
//! may be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which modules of the crate each module may name. A module may always name itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("ids", &[]),
    // What a thread keeps from program to program: a table that several stages have one of.
    ("memo", &["ids"]),
    ("source", &["ids"]),
    ("types", &["ids", "source"]),
    ("diag", &["ids", "source"]),
    // How arguments lie in memory: all who run or generate code share it.
    ("abi", &["types"]),
    // The interpreter runs on the same memory as compiled kernels.
    ("ir", &["ids", "memo", "source", "types", "abi"]),
    ("analysis", &["ids", "memo", "source", "types", "ir"]),
    ("syntax", &["ids", "source", "diag"]),
    ("library", &["ids", "source", "diag", "syntax", "types", "ir"]),
    ("check", &["ids", "memo", "source", "diag", "syntax", "types", "ir", "library"]),
    ("lower", &["ids", "source", "types", "ir", "check"]),
    ("passes", &["ids", "source", "types", "ir", "analysis"]),
    ("autodiff", &["ids", "memo", "source", "diag", "types", "ir", "analysis", "passes"]),
    // Host code for lanes wants calls inlined and one exit per region.
    ("codegen", &["ids", "memo", "source", "diag", "types", "ir", "analysis", "abi", "passes"]),
    ("run", &["ids", "source", "diag", "types", "ir", "codegen", "abi"]),
    (
        "driver",
        &[
            "ids", "source", "diag", "types", "ir", "syntax", "library", "check", "lower", "passes", "autodiff",
            "codegen",
        ],
    ),
    ("embed", &["abi", "analysis", "diag", "driver", "ir", "run", "source", "types"]),
    (
        "dataset",
        &[
            "ids", "source", "diag", "types", "ir", "analysis", "passes", "syntax", "library", "autodiff", "codegen",
            "abi", "run", "driver",
        ],
    ),
    ("ide", &["ids", "source", "diag", "types", "syntax", "library", "check", "driver"]),
    ("lsp", &["ids", "source", "diag", "library", "driver", "ide"]),
    ("cli", &["ids", "source", "diag", "types", "ir", "codegen", "abi", "run", "driver", "library", "lsp", "dataset"]),
    // The two roots.
    ("lib", &["driver", "embed"]),
    ("main", &["cli"]),
];

const MAX_LINES: &[(&str, usize)] =
    &[("src/main.rs", 60), ("grammar/", 600), ("src/", 800), ("tests/", 800), ("stdlib/", 800)];

struct File {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
    /// The code alone: no comments, no text literals, nothing from the first `#[cfg(test)]` of a module on.
    code: String,
}

impl File {
    /// The module a source file belongs to: `src/codegen/cuda/mod.rs` is in `codegen`.
    fn module(&self) -> &str {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        inside.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    fn is_test(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("/tests/")
    }
}

fn files(folder: &str, extension: &str) -> Vec<File> {
    fn visit(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                visit(&path, extension, found);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    visit(&root.join(folder), extension, &mut found);
    found.sort();
    found
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).expect("a readable text");
            let code = code_of(&text);
            let path = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
            File { path, text, code }
        })
        .collect()
}

fn sources() -> Vec<File> {
    let files: Vec<File> = files("src", "rs").into_iter().filter(|file| !file.is_test()).collect();
    assert!(files.len() > 10, "the sources were not found");
    files
}

/// Blanks out comments and text literals, and cuts the test module off.
fn code_of(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let mut code = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |end| end + 5)
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                end
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find("'").map_or(rest.len(), |end| end + 2)
        } else {
            code.push(c);
            c.len_utf8()
        };
        rest = &rest[skip..];
    }
    code
}

/// The paths after `crate::`, one for each leaf of `crate::{a, b::{c, d}}`.
fn paths(code: &str) -> BTreeSet<String> {
    /// The leaves of the tree of paths at the start of the text, and what follows it.
    fn leaves<'a>(prefix: &str, text: &'a str, found: &mut BTreeSet<String>) -> &'a str {
        let length = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
        let path = format!("{prefix}{}", &text[..length]);
        let mut rest = &text[length..];
        if !((path.is_empty() || path.ends_with("::")) && rest.starts_with('{')) {
            found.insert(path.trim_end_matches(':').to_string());
            return rest;
        }
        loop {
            rest = rest[1..].trim_start();
            if !rest.starts_with('}') {
                rest = leaves(&path, rest, found);
                // What a leaf is renamed to.
                rest = rest.find([',', '}']).map_or("", |end| &rest[end..]);
            }
            if !rest.starts_with(',') {
                return rest.strip_prefix('}').unwrap_or(rest);
            }
        }
    }
    let mut found = BTreeSet::new();
    for (at, word) in code.match_indices("crate::") {
        leaves("", &code[at + word.len()..], &mut found);
    }
    found
}

/// The first elements of the paths after `crate::`.
fn imports(code: &str) -> BTreeSet<String> {
    paths(code).iter().map(|path| path.split(':').next().unwrap_or_default().to_string()).collect()
}

fn report(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}

#[test]
fn modules_import_along_the_arrows() {
    let modules: Vec<&str> = ARROWS.iter().map(|(module, _)| *module).collect();
    let mut faults = Vec::new();
    for file in sources() {
        let module = file.module();
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else {
            faults.push(format!("{}: `{module}` is not in the drawing; add it to ARROWS", file.path));
            continue;
        };
        for import in imports(&file.code) {
            if modules.contains(&import.as_str()) && import != module && !allowed.contains(&import.as_str()) {
                faults.push(format!("{}: `{module}` may not import `{import}`", file.path));
            }
        }
        if file.path.starts_with("src/codegen/cuda/") && file.code.contains("codegen::llvm") {
            faults.push(format!("{}: the CUDA text does not depend on LLVM", file.path));
        }
    }
    report(faults);
}

/// The order in which passes run is decided in one place.
#[test]
fn orders_of_passes_are_pipelines() {
    const STEPS: &[&str] = &["adjacent", "dce", "forward_loads", "local_arrays", "rewrite", "sink"];
    let mut faults = Vec::new();
    for file in sources().iter().filter(|file| file.module() != "passes") {
        let named = paths(&file.code);
        for step in STEPS {
            let prefix = format!("passes::{step}");
            if named.iter().any(|path| *path == prefix || path.starts_with(&format!("{prefix}::"))) {
                faults.push(format!("{}: `{step}` runs in an order of `passes::pipelines`", file.path));
            }
        }
    }
    report(faults);
}

#[test]
fn foreign_crates_stay_in_their_corner() {
    const CORNERS: &[(&str, &str)] = &[
        ("inkwell::", "src/codegen/llvm/"),
        ("cudarc::", "src/run/devices/cuda/"),
        ("llvm_sys", "src/codegen/llvm/ffi.rs"),
        ("logos::", "src/syntax/"),
        ("lalrpop_util::", "src/syntax/"),
        ("ariadne::", "src/diag/render/"),
        ("clap::", "src/cli/"),
        ("gen_lsp_types", "src/lsp/"),
        ("lsp_server", "src/lsp/"),
    ];
    let mut faults = Vec::new();
    for file in sources() {
        for (name, corner) in CORNERS {
            if file.code.contains(name) && !file.path.starts_with(corner) {
                faults.push(format!("{}: only {corner} uses {name}", file.path));
            }
        }
    }
    report(faults);
}

/// The code that lowers kernels writes LLVM IR through the façade of `builder`; raw calls of LLVM are few, and each says why
/// it is sound.
#[test]
fn llvm_is_used_through_its_wrappers() {
    const FACADE: &[&str] = &["builder", "instructions", "vector", "debug_locations", "machine", "fatal", "ffi"];
    const MOST_UNSAFE: usize = 30;
    let (mut count, mut faults) = (0, Vec::new());
    for file in files("src/codegen/llvm", "rs") {
        let name = file.path.trim_start_matches("src/codegen/llvm/").trim_end_matches(".rs");
        if file.code.contains("inkwell") && !FACADE.contains(&name) {
            faults.push(format!("{}: inkwell is behind the façade", file.path));
        }
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        for (n, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with("//")) {
            let here = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| *word == "unsafe").count();
            let mut above = lines[..n].iter().rev().take_while(|line| line.starts_with("//"));
            if here > 0 && !above.any(|line| line.starts_with("// SAFETY: ")) {
                faults.push(format!("{}:{}: `unsafe` without a `// SAFETY:` line above", file.path, n + 1));
            }
            count += here;
        }
    }
    assert!(count > 0, "the calls of LLVM were not found");
    if count > MOST_UNSAFE {
        faults.push(format!("src/codegen/llvm: `unsafe` {count} times; at most {MOST_UNSAFE}"));
    }
    report(faults);
}

#[test]
fn the_core_is_pure() {
    const PRINTING: &[&str] = &["println!", "print!(", "eprint!(", "dbg!", "io::stdout", "io::stderr"];
    const WORLD: &[&str] = &["std::fs", "File::open", "std::time", "Instant::now", "std::env::var", "std::process"];
    let mut faults = Vec::new();
    for file in sources() {
        let (module, path) = (file.module(), &file.path);
        for word in PRINTING.iter().filter(|word| file.code.contains(**word)) {
            if module != "cli" {
                faults.push(format!("{path}: only the command line prints ({word})"));
            }
        }
        for word in WORLD.iter().filter(|word| file.code.contains(**word)) {
            // The views of kernels are made by a process of their own.
            if !["cli", "driver", "run", "dataset", "main"].contains(&module) && path != "src/lsp/views.rs" {
                faults.push(format!("{path}: the core touches no files, clock or environment ({word})"));
            }
        }
    }
    report(faults);
}

#[test]
fn nothing_is_left_to_chance() {
    let mut faults = Vec::new();
    for file in sources() {
        for (number, line) in file.code.lines().enumerate() {
            for word in [".unwrap()", "todo!(", "unimplemented!("] {
                if line.contains(word) {
                    faults.push(format!(
                        "{}:{}: `{word}`: report it, or `expect` with a reason",
                        file.path,
                        number + 1
                    ));
                }
            }
        }
    }
    report(faults);
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut faults = Vec::new();
    let code = files("src", "rs").into_iter().chain(files("tests", "rs"));
    for file in code.chain(files("grammar", "lalrpop")).chain(files("stdlib", "py")) {
        let lines = file.text.lines().count();
        let limit = MAX_LINES.iter().find(|(prefix, _)| file.path.starts_with(prefix)).map_or(800, |(_, limit)| *limit);
        if lines > limit {
            faults.push(format!("{}: {lines} lines; at most {limit}", file.path));
        }
        if file.path.ends_with(".rs") && !file.path.ends_with("tests.rs") && !file.text.starts_with("//!") {
            faults.push(format!("{}: begins with `//!` and the question it answers", file.path));
        }
    }
    report(faults);
}

#[test]
fn every_library_module_has_an_arrow() {
    let lib = files("src", "rs").into_iter().find(|file| file.path == "src/lib.rs").expect("src/lib.rs");
    for line in lib.code.lines().filter_map(|line| line.strip_prefix("pub mod ")) {
        let module = line.trim_end_matches(';');
        assert!(ARROWS.iter().any(|(name, _)| *name == module), "`{module}` has no arrows");
    }
}

#[test]
fn imports_are_read_as_rust_reads_them() {
    let code =
        code_of("use crate::{a::{b, c}, d};\n// crate::no\nlet s = \"crate::no\";\ncrate::e::f();\nuse crate::g;");
    assert_eq!(imports(&code), ["a", "d", "e", "g"].map(String::from).into());
    assert_eq!(paths(&code), ["a::b", "a::c", "d", "e::f", "g"].map(String::from).into());
    let nested = "use crate::{a::{self, b as x, c::{d, e::*}}, f};";
    assert_eq!(paths(nested), ["a::self", "a::b", "a::c::d", "a::c::e", "f"].map(String::from).into());
}
