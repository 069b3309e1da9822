//! Keeps the house as it is drawn in `src/lib.rs`: who may import whom, who may print or open
//! files, how long a file may be.

#[path = "common/rust_code.rs"]
mod rust_code;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rust_code::Code;

/// Which modules of the crate each module may name. A module may always name itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("ids", &[]),
    // How much of what kc compiles: one table for all stages.
    ("limits", &[]),
    ("html", &[]),
    // What a compiler keeps from program to program: a table that several stages have one of.
    ("memo", &["ids"]),
    ("source", &["ids"]),
    ("types", &["ids", "source"]),
    ("diag", &["ids", "source"]),
    // How arguments lie in memory: all who run or generate code share it.
    ("abi", &["types"]),
    // The interpreter runs on the same memory as compiled kernels.
    ("ir", &["ids", "memo", "source", "types", "abi"]),
    ("analysis", &["ids", "memo", "source", "types", "ir"]),
    ("syntax", &["ids", "limits", "source", "diag"]),
    ("library", &["html", "ids", "memo", "source", "diag", "syntax", "types", "ir"]),
    ("check", &["ids", "limits", "memo", "source", "diag", "syntax", "types", "ir", "analysis", "library"]),
    ("lower", &["ids", "source", "types", "ir", "check"]),
    ("passes", &["ids", "limits", "source", "types", "ir", "analysis"]),
    ("autodiff", &["ids", "limits", "memo", "source", "diag", "types", "abi", "ir", "analysis", "passes"]),
    ("link", &["ids", "memo", "ir", "analysis", "check", "lower", "passes", "autodiff"]),
    // Host code for lanes wants calls inlined and one exit per region.
    ("codegen", &["ids", "limits", "memo", "source", "diag", "types", "ir", "analysis", "abi", "passes"]),
    // Programs that kc is a part of may fork.
    ("process", &[]),
    // PTX of anybody: nothing of how kc makes its own.
    ("ptx", &[]),
    // Prints are formatted as the interpreter does.
    ("sim", &["ptx", "types", "ir"]),
    ("profile", &["html", "ptx", "sim"]),
    // What a launch takes for granted is proved, or looked at.
    ("engines", &["abi"]),
    (
        "run",
        &[
            "ids", "process", "source", "diag", "types", "ir", "analysis", "passes", "codegen", "abi", "ptx", "sim",
            "engines",
        ],
    ),
    (
        "driver",
        &[
            "ids", "limits", "memo", "process", "source", "diag", "types", "ir", "analysis", "syntax", "library",
            "check", "link", "lower", "passes", "autodiff", "codegen",
        ],
    ),
    ("embed", &["abi", "analysis", "diag", "driver", "ir", "run", "source", "types"]),
    (
        "dataset",
        &[
            "ids", "source", "diag", "types", "ir", "analysis", "passes", "syntax", "library", "autodiff", "codegen",
            "abi", "run", "driver", "sim", "profile",
        ],
    ),
    ("ide", &["ids", "limits", "source", "diag", "types", "syntax", "library", "check", "driver"]),
    ("lsp", &["ids", "limits", "process", "source", "diag", "library", "driver", "ide", "profile"]),
    ("explore", &["html", "source", "diag", "types", "ir", "run", "driver", "ide", "profile"]),
    (
        "cli",
        &[
            "ids", "source", "diag", "types", "ir", "codegen", "abi", "run", "driver", "library", "lsp", "dataset",
            "profile", "explore",
        ],
    ),
    // The two roots.
    ("lib", &["driver", "embed"]),
    ("main", &["cli"]),
];

/// Inside a module, which of its folders a folder may not name: what it would come to know of a
/// later step.
const FOLDERS: &[(&str, &[&str])] = &[
    ("autodiff::analysis", &["autodiff::storage", "autodiff::emit", "autodiff::normal", "autodiff::jvp"]),
    ("autodiff::storage", &["autodiff::emit", "autodiff::normal", "autodiff::jvp"]),
    ("autodiff::emit", &["autodiff::normal", "autodiff::jvp"]),
    ("autodiff::jvp", &["autodiff::storage", "autodiff::emit", "autodiff::normal"]),
    // Warnings are found on the typed tree alone.
    ("check::lints", &["check::names", "check::body", "check::calls", "check::host"]),
    ("run::devices", &["run::launch", "run::files", "run::gradients", "run::session"]),
    ("run::files", &["run::launch", "run::devices", "run::gradients", "run::session"]),
];

const MAX_LINES: &[(&str, usize)] =
    &[("src/main.rs", 60), ("grammar/", 600), ("src/", 800), ("tests/", 800), ("stdlib/", 800)];

struct File {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
}

impl File {
    /// The module a source file belongs to: `src/codegen/cuda/mod.rs` is in `codegen`.
    fn module(&self) -> &str {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        inside.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// The path of its module: `src/codegen/cuda/mod.rs` is `codegen/cuda/`, `src/lib.rs` is empty.
    fn module_path(&self) -> String {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path).trim_end_matches(".rs");
        let names = inside.split('/').filter(|name| !["mod", "lib", "main"].contains(name));
        names.map(|name| format!("{name}/")).collect()
    }
}

/// A source file with what the compiler builds of it.
struct Source {
    file: File,
    code: Code,
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
            let path = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
            File { path, text }
        })
        .collect()
}

/// The files that are built outside of tests.
static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut sources: Vec<Source> =
        files("src", "rs").into_iter().map(|file| Source { code: Code::of(&file.text), file }).collect();
    // A module that is built for tests alone, and the modules in it.
    let of_tests: Vec<(String, String)> = sources
        .iter()
        .flat_map(|Source { file, code }| {
            code.test_modules.iter().map(|module| match &module.path {
                Some(path) => {
                    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                    (format!("{folder}/{path}"), format!("{folder}/{}/", path.trim_end_matches(".rs")))
                }
                None => {
                    let stem = format!("src/{}{}", file.module_path(), module.name);
                    (format!("{stem}.rs"), format!("{stem}/"))
                }
            })
        })
        .collect();
    // Those in tests/ are no sources.
    for (file, folder) in of_tests.iter().filter(|(file, _)| !file.contains("/../")) {
        let found = sources.iter().any(|source| source.file.path == *file || source.file.path.starts_with(folder));
        assert!(found, "the module of tests in {file} was not found");
    }
    sources.retain(|Source { file, .. }| {
        !of_tests.iter().any(|(f, folder)| file.path == *f || file.path.starts_with(folder))
    });
    assert!(sources.len() > 10, "the sources were not found");
    sources
});

/// The paths in the code of the module `here` (`codegen/cuda/`): those after `crate::`, one for
/// each leaf of `crate::{a, b::{c, d}}`, and those after `super::`.
fn paths(code: &str, here: &str) -> BTreeSet<String> {
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
    for (at, word) in code.match_indices("super::") {
        let rest = &code[at + word.len()..];
        // The last of several represents all.
        if rest.starts_with(word) {
            continue;
        }
        let ups = 1 + (at - code[..at].trim_end_matches(word).len()) / word.len();
        let names: Vec<&str> = here.split_terminator('/').collect();
        let above: String = names[..names.len().saturating_sub(ups)].iter().map(|name| format!("{name}::")).collect();
        leaves(&above, rest, &mut found);
    }
    found
}

/// The first elements of these paths.
fn imports(code: &str, here: &str) -> BTreeSet<String> {
    paths(code, here).iter().map(|path| path.split(':').next().unwrap_or_default().to_string()).collect()
}

fn report(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}

#[test]
fn modules_import_along_the_arrows() {
    let modules: Vec<&str> = ARROWS.iter().map(|(module, _)| *module).collect();
    let mut faults = Vec::new();
    for Source { file, code } in SOURCES.iter() {
        let module = file.module();
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else {
            faults.push(format!("{}: `{module}` is not in the drawing; add it to ARROWS", file.path));
            continue;
        };
        for import in imports(&code.text, &file.module_path()) {
            if modules.contains(&import.as_str()) && import != module && !allowed.contains(&import.as_str()) {
                faults.push(format!("{}: `{module}` may not import `{import}`", file.path));
            }
        }
        if file.path.starts_with("src/codegen/cuda/") && code.text.contains("codegen::llvm") {
            faults.push(format!("{}: the CUDA text does not depend on LLVM", file.path));
        }
    }
    report(faults);
}

/// The evaluator that kc is compared with shares no step with it behind the parser: neither the
/// crate's, nor what tests share.
#[test]
fn the_oracle_is_independent() {
    const ALLOWED: &[&str] = &["eval", "syntax", "source", "diag"];
    let (mut seen, mut faults) = (BTreeSet::new(), Vec::new());
    for file in files("tests/oracle/eval", "rs") {
        let code = Code::of(&file.text);
        let name = file.path.trim_start_matches("tests/oracle/").trim_end_matches(".rs").trim_end_matches("/mod");
        let named = imports(&code.text.replace("kc::", "crate::"), &format!("{name}/"));
        for import in named.iter().filter(|import| !ALLOWED.contains(&import.as_str())) {
            faults.push(format!("{}: the oracle may not import `{import}`", file.path));
        }
        if code.text.contains("#[path") || code.text.contains("include!") {
            faults.push(format!("{}: the oracle has its files in its folder", file.path));
        }
        seen.extend(named);
    }
    assert!(seen.contains("syntax"), "the files of the oracle were not found");
    report(faults);
}

#[test]
fn folders_of_a_module_know_no_later_step() {
    let is_in = |path: &str, folder: &str| path == folder || path.starts_with(&format!("{folder}::"));
    let mut faults = Vec::new();
    for Source { file, code } in SOURCES.iter() {
        let here = file.module_path();
        let path = here.trim_end_matches('/').replace('/', "::");
        let Some((folder, later)) = FOLDERS.iter().find(|(folder, _)| is_in(&path, folder)) else { continue };
        for name in paths(&code.text, &here) {
            if later.iter().any(|folder| is_in(&name, folder)) {
                faults.push(format!("{}: `{folder}` may not name `{name}`", file.path));
            }
        }
    }
    for (folder, later) in FOLDERS {
        for folder in later.iter().chain([folder]) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder.replace("::", "/"));
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "`{folder}` is not there");
        }
    }
    report(faults);
}

/// The order in which passes run is decided in one place: what is outside of `passes` runs
/// pipelines, and those passes that `passes::pipelines` says run by themselves.
#[test]
fn orders_of_passes_are_pipelines() {
    // Questions about code, which passes answer.
    const ASKED: &[&str] = &["loop_exits::is_single_exit", "loop_reversal::only_adds"];
    let read = |path: &str| SOURCES.iter().find(|source| source.file.path == path).expect(path);
    let tables = &read("src/passes/pipelines.rs").file.text;
    let alone: Vec<&str> = tables.split("These run by themselves").nth(1).into_iter().flat_map(marked).collect();
    assert!(alone.contains(&"inline") && !alone.contains(&"dce"), "{alone:?}");
    let passes: Vec<&str> = marked(&read("src/passes/mod.rs").file.text).collect();
    let steps: Vec<&&str> = passes.iter().filter(|pass| !alone.contains(*pass) && **pass != "pipelines").collect();
    assert!(steps.len() >= 14, "{steps:?}");
    let mut faults = Vec::new();
    for Source { file, code } in SOURCES.iter().filter(|source| source.file.module() != "passes") {
        let named = paths(&code.text, &file.module_path());
        for step in &steps {
            let prefix = format!("passes::{step}");
            let is_step = |path: &str| path == prefix || path.starts_with(&format!("{prefix}::"));
            let asked = |path: &str| ASKED.iter().any(|asked| path == format!("passes::{asked}"));
            if named.iter().any(|path| is_step(path) && !asked(path)) {
                faults.push(format!("{}: `{step}` runs in an order of `passes::pipelines`", file.path));
            }
        }
    }
    report(faults);
}

/// The modules that the rows of tables name first: `dce` in "| [`dce`] |".
fn marked(text: &str) -> impl Iterator<Item = &str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | [`")?.split_once("`]"));
    rows.map(|(name, _)| name.trim_end_matches("()"))
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
        ("httparse::", "src/explore/http.rs"),
    ];
    let mut faults = Vec::new();
    for Source { file, code } in SOURCES.iter() {
        for (name, corner) in CORNERS {
            if code.text.contains(name) && !file.path.starts_with(corner) {
                faults.push(format!("{}: only {corner} uses {name}", file.path));
            }
        }
    }
    report(faults);
}

/// Where findings are made: the modules that have the words of a stage.
const MESSAGES: &[&str] = &[
    "src/autodiff/analysis/messages.rs",
    "src/check/messages/",
    "src/cli/messages.rs",
    "src/driver/messages.rs",
    "src/embed/messages.rs",
    "src/run/messages.rs",
    "src/syntax/fault.rs",
];

/// Those that make findings of their own. They may only become fewer.
const OTHER_MESSAGES: &[&str] = &[
    "src/autodiff/storage/report.rs",
    "src/codegen/cuda/mod.rs",
    "src/codegen/cuda/plain/prepare.rs",
    "src/codegen/llvm/options.rs",
    "src/dataset/mod.rs",
];

#[test]
fn findings_are_made_in_modules_of_messages() {
    let mut unused: BTreeSet<&str> = MESSAGES.iter().chain(OTHER_MESSAGES).copied().collect();
    let mut faults = Vec::new();
    for Source { file, .. } in SOURCES.iter().filter(|source| source.code.text.contains("Diagnostic::new")) {
        match MESSAGES.iter().chain(OTHER_MESSAGES).find(|messages| file.path.starts_with(**messages)) {
            Some(messages) => _ = unused.remove(messages),
            None => faults.push(format!("{}: a function in the stage's `messages` makes the finding", file.path)),
        }
    }
    faults.extend(unused.iter().map(|messages| format!("{messages}: makes no findings; take it off the list")));
    report(faults);
}

/// The code that lowers kernels writes LLVM IR through the façade of `builder`; raw calls of LLVM
/// are few, and each says why it is sound.
#[test]
fn llvm_is_used_through_its_wrappers() {
    const FACADE: &[&str] =
        &["builder", "instructions", "vector", "debug_info", "debug_locations", "machine", "fatal", "ffi"];
    const MOST_UNSAFE: usize = 33;
    let (mut count, mut faults) = (0, Vec::new());
    for Source { file, code } in SOURCES.iter().filter(|source| source.file.path.starts_with("src/codegen/llvm/")) {
        let name = file.path.trim_start_matches("src/codegen/llvm/").trim_end_matches(".rs");
        if code.text.contains("inkwell") && !FACADE.contains(&name) {
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
    for Source { file, code } in SOURCES.iter() {
        let (module, path) = (file.module(), &file.path);
        for word in PRINTING.iter().filter(|word| code.text.contains(**word)) {
            if module != "cli" {
                faults.push(format!("{path}: only the command line prints ({word})"));
            }
        }
        for word in WORLD.iter().filter(|word| code.text.contains(**word)) {
            // The views of kernels, and what they cost, are made by a process of their own.
            let lsp = ["src/lsp/views.rs", "src/lsp/child.rs"].contains(&path.as_str());
            // Who serves a page, and who asks other programs for one.
            let explore = ["server", "worker", "machine"].map(|name| format!("src/explore/{name}.rs")).contains(path);
            if !["cli", "driver", "run", "dataset", "main", "process"].contains(&module) && !lsp && !explore {
                faults.push(format!("{path}: the core touches no files, clock or environment ({word})"));
            }
        }
    }
    report(faults);
}

#[test]
fn nothing_is_left_to_chance() {
    let mut faults = Vec::new();
    for Source { file, code } in SOURCES.iter() {
        for (number, line) in code.text.lines().enumerate() {
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
    for file in code.chain(files("grammar", "lalrpop")).chain(files("stdlib", "py")).chain(files("algorithms", "py")) {
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

/// Turns of phrase that a reader has to translate. A few are in quotations and names.
const BANNED: [&str; 6] = ["is told", "who asks", "stands", "comes to", "but for", "of which nothing"];
const MOST_BANNED: usize = 20;
const MOST_COLUMNS: usize = 100;

/// The lines that are comments alone, with their numbers, without examples in fences and rows of
/// tables.
fn comments(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (n, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//")) {
        let words = line.trim_start().trim_start_matches(['/', '!']);
        fenced ^= words.trim_start().starts_with("```");
        if !fenced && !words.starts_with("    ") && !words.trim_start().starts_with('|') {
            found.push((n + 1, line));
        }
    }
    found
}

#[test]
fn comments_are_plain_and_short() {
    let (mut faults, mut banned) = (Vec::new(), Vec::new());
    let folders = ["src", "tests", "python/src", "benches", "examples"];
    for file in folders.into_iter().flat_map(|folder| files(folder, "rs")) {
        for (line, text) in comments(&file.text) {
            // One long word, such as an address, cannot be wrapped.
            let wraps = text.trim().split(' ').count() > 2;
            if wraps && text.chars().count() > MOST_COLUMNS {
                faults.push(format!("{}:{line}: more than {MOST_COLUMNS} columns", file.path));
            }
            let found = BANNED.iter().filter(|turn| text.to_lowercase().contains(*turn));
            banned.extend(found.map(|turn| format!("{}:{line}: `{turn}`", file.path)));
        }
    }
    if banned.len() > MOST_BANNED {
        faults.extend(banned);
    }
    report(faults);
}

#[test]
fn every_library_module_has_an_arrow() {
    let lib = SOURCES.iter().find(|source| source.file.path == "src/lib.rs").expect("src/lib.rs");
    for line in lib.code.text.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")) {
        let module = line.trim_end_matches(';');
        assert!(ARROWS.iter().any(|(name, _)| *name == module), "`{module}` has no arrows");
        let row = format!("\n//! | `{module}` | ");
        assert!(lib.file.text.contains(&row), "`{module}` is not in the map of the source");
    }
}

#[test]
fn imports_are_read_as_rust_reads_them() {
    let code = Code::of(
        "use crate::{a::{b, c}, d};\n// crate::no\nlet s = \"crate::no\";\ncrate::e::f();\nuse crate::g;\n\
         use super::i::x; super::super::h::x();",
    );
    assert_eq!(imports(&code.text, "m/n/"), ["a", "d", "e", "g", "h", "m"].map(String::from).into());
    assert_eq!(
        paths(&code.text, "m/n/"),
        ["a::b", "a::c", "d", "e::f", "g", "h::x", "m::i::x"].map(String::from).into()
    );
    let nested = "use crate::{a::{self, b as x, c::{d, e::*}}, f};";
    assert_eq!(paths(nested, "m/"), ["a::self", "a::b", "a::c::d", "a::c::e", "f"].map(String::from).into());
}

/// What follows an item for tests is code again, and a text literal with quotes is none.
#[test]
fn items_for_tests_alone_are_left_out() {
    let code = Code::of(
        r##"//! crate::no
/// crate::no
#[cfg(test)]
#[path = "t.rs"]
mod elsewhere;
#[cfg(test)]
mod tests {
    fn a() { crate::no() }
}
fn b<'a>(x: &'a str) -> char { crate::yes(x, "\" crate::no", r#"" crate::no"#); '"' }
#[cfg(test)]
pub(crate) fn c<A, B>(x: [u8; 2]) -> Map<A, B> { crate::no() }
struct S {
    #[cfg(test)]
    seen: crate::no::T,
    kept: crate::also::T,
}
#[cfg(test)]
use crate::no;
impl S {
    #[cfg(test)]
    fn d() { crate::no() }
    fn e() { crate::last() }
}
"##,
    );
    assert_eq!(imports(&code.text, "m/"), ["yes", "also", "last"].map(String::from).into());
    let [module] = &code.test_modules[..] else { panic!("one module is in a file of its own") };
    assert_eq!((&*module.name, module.path.as_deref()), ("elsewhere", Some("t.rs")));
    assert_eq!(code.text.lines().position(|line| line.contains("crate::last")), Some(22));
}

/// The most files that import each other in a circle: who changes one has to know them all.
const MAX_CIRCLE: usize = 12;

#[test]
fn circles_of_files_are_small() {
    let name = |source: &Source| source.file.module_path().trim_end_matches('/').replace('/', "::");
    let files: BTreeMap<String, &Source> = SOURCES.iter().map(|source| (name(source), source)).collect();
    let numbers: BTreeMap<&str, usize> = files.keys().enumerate().map(|(n, name)| (name.as_str(), n)).collect();
    let number = |path: &str| {
        let mut at = Some(path);
        while let Some(prefix) = at {
            if let Some(found) = numbers.get(prefix) {
                return Some(*found);
            }
            at = prefix.rfind("::").map(|end| &prefix[..end]);
        }
        None
    };
    let imports: Vec<BTreeSet<usize>> = files
        .values()
        .enumerate()
        .map(|(own, Source { file, code })| {
            let named = paths(&code.text, &file.module_path());
            named.iter().filter_map(|path| number(path)).filter(|&other| other != own).collect()
        })
        .collect();
    let reached: Vec<BTreeSet<usize>> = (0..files.len())
        .map(|start| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![start]);
            while let Some(at) = left.pop() {
                left.extend(imports[at].iter().filter(|&&next| seen.insert(next)));
            }
            seen
        })
        .collect();
    let mut largest: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (own, source) in files.values().enumerate() {
        let circle: Vec<&str> = files
            .values()
            .enumerate()
            .filter(|(other, _)| reached[own].contains(other) && reached[*other].contains(&own))
            .map(|(_, source)| source.file.path.as_str())
            .collect();
        let known = largest.entry(source.file.module()).or_default();
        if circle.len() > known.len() {
            *known = circle;
        }
    }
    let faults = largest.iter().filter_map(|(module, circle)| {
        let fault = || format!("{module}: {} files import each other: {}", circle.len(), circle.join(", "));
        (circle.len() > MAX_CIRCLE).then(fault)
    });
    report(faults.collect());
}
