//! Are the lists of CONTRIBUTING.md true? Every file that it names is there, what is in kc already
//! follows its recipes, and those that promise few files need no more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kc::diag::Code;
use kc::library::Library;
use kc::run::devices;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).expect("a folder").flatten() {
        let path = entry.path();
        let inner = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
        if path.is_dir() { found.extend(files(&inner)) } else { found.push(PathBuf::from(inner)) }
    }
    found
}

/// The first cells of the table of a section: the files that it says are needed.
fn recipe(title: &str) -> Vec<String> {
    let text = read("CONTRIBUTING.md");
    let section = text.split("\n## ").find(|section| section.starts_with(title)).unwrap_or_else(|| panic!("{title}"));
    section.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_string())).collect()
}

/// Whether some file has a path of this form; `NAME` and `CODE` stand for any word.
fn exists(form: &str) -> bool {
    let Some((before, after)) = form.split_once("NAME").or_else(|| form.split_once("CODE")) else {
        return root().join(form).exists();
    };
    let folder = before.rsplit_once('/').map_or(".", |(folder, _)| folder);
    files(folder).iter().any(|file| {
        let rest = file.to_str().and_then(|file| file.strip_prefix(before)).and_then(|file| file.strip_suffix(after));
        rest.is_some_and(|word| !word.is_empty() && !word.contains('/'))
    })
}

#[test]
fn every_path_is_there() {
    let text = read("CONTRIBUTING.md");
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| word.contains('/') && !word.contains(' ');
    let paths: BTreeSet<&str> = quoted.filter(is_path).collect();
    assert!(paths.len() > 20, "{paths:?}");
    let missing: Vec<&&str> = paths.iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Code that the walks show is code of the file that the line before it names last.
#[test]
fn shown_code_is_that_of_the_files() {
    let text = read("CONTRIBUTING.md");
    let trimmed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let mut shown = 0;
    let mut parts = text.split("\n```");
    let mut before = parts.next().unwrap_or_default();
    while let (Some(block), after) = (parts.next(), parts.next().unwrap_or_default()) {
        let (language, code) = block.split_once('\n').unwrap_or_default();
        if matches!(language, "rust" | "python") {
            let paths = before.split('`').skip(1).step_by(2).filter(|word| word.contains('/'));
            let path = paths.last().unwrap_or_else(|| panic!("no file is named before:\n{code}"));
            assert!(trimmed(&read(path)).contains(&trimmed(code)), "{path} has no\n{code}");
            shown += 1;
        }
        before = after;
    }
    assert!(shown >= 8, "{shown} pieces of code");
}

#[test]
fn a_builtin_takes_one_file() {
    assert_eq!(recipe("A new scalar built-in"), ["stdlib/scalar.py"]);
    // Those that have a body are not known to the compiler by name.
    let library = read("stdlib/scalar.py");
    let stages = ["check", "lower", "ir", "analysis", "passes", "autodiff", "codegen", "run"];
    let texts: Vec<String> = stages
        .iter()
        .flat_map(|stage| files(&format!("src/{stage}")))
        .filter(|file| !file.to_string_lossy().contains("tests"))
        .map(|file| read(&file.to_string_lossy()))
        .collect();
    for name in ["smoothstep", "bit_count", "nonzero"] {
        assert!(library.contains(&format!("\ndef {name}(")), "{name}");
        let quoted = format!("\"{name}\"");
        assert!(!texts.iter().any(|text| text.contains(&quoted)), "{name}");
    }
}

/// Python's tests compare the stub as a whole, and run last.
#[test]
fn the_stub_of_the_package_has_every_builtin() {
    let stub = read("python/kc/__init__.pyi");
    // Statements are not called, and `bool` is Python's.
    let statements: BTreeSet<&str> = Library::statements().collect();
    let called = |name: &&str| !statements.contains(name) && *name != "bool";
    let names: Vec<&str> = Library::public_names().filter(called).collect();
    assert!(names.len() > 200, "{} names", names.len());
    let has = |name: &str| {
        [format!("\ndef {name}("), format!("\nclass {name}("), format!("\n{name}: ")]
            .iter()
            .any(|form| stub.contains(form))
    };
    let missing: Vec<&str> = names.into_iter().filter(|name| !has(name)).collect();
    assert!(missing.is_empty(), "run python/stubs.py: {missing:?}");
}

#[test]
fn a_device_takes_two_files() {
    let list = recipe("A new device");
    assert_eq!(list, ["src/run/devices/NAME.rs", "src/run/devices/mod.rs"]);
    for device in devices::ALL {
        let own = list[0].replace("NAME", device.name());
        assert!(read(&own).contains("impl Device for "), "{own}");
    }
    // Who compares with the interpreter asks for it by name, and data sets run code that they have
    // compiled already.
    const BY_NAME: &[&str] =
        &["src/run/gradients/gradcheck.rs", "src/dataset/verify.rs", "src/dataset/repair/trial.rs"];
    for file in files("src") {
        let path = file.to_string_lossy();
        if path.starts_with("src/run/devices/") || BY_NAME.contains(&&*path) {
            continue;
        }
        for device in devices::ALL {
            let module = format!("devices::{}", device.name());
            assert!(!read(&path).contains(&module), "{path} names the device `{}`", device.name());
        }
    }
}

#[test]
fn lints_follow_their_recipe() {
    let (run, codes) = (read("src/check/lints/mod.rs"), read("src/diag/codes.rs"));
    let tests = read("tests/lang/warnings.md");
    let mut count = 0;
    for file in files("src/check/lints") {
        let text = read(&file.to_string_lossy());
        let first = text.lines().next().unwrap_or_default();
        let code = first.strip_prefix("//! ").and_then(|line| line.split(':').next()).unwrap_or_default();
        let Some(code) = Code::from_name(code) else { continue };
        let (name, stem) = (code.name(), file.file_stem().expect("a name").to_string_lossy());
        count += 1;
        // One is asked by the checker itself, where a literal gets its type.
        let asked = run.contains(&format!("pub mod {stem};"));
        assert!(asked || run.contains(&format!("{stem}::check(")), "{name} is not run");
        assert!(codes.contains(&format!("{name} \"")), "{name}");
        // Remarks are shown on request only, and have their programs elsewhere.
        assert!(name.starts_with('I') || tests.contains(name), "{name} has no program");
        assert!(read(&format!("src/diag/pages/{name}.md")).contains(name));
    }
    assert!(count >= 8, "{count} lints");
}

#[test]
fn outputs_and_passes_follow_their_recipes() {
    // What several passes ask, and no passes themselves.
    const HELPERS: &[&str] = &["functions", "loops"];
    let (emit, words) = (read("src/driver/emit.rs"), read("src/cli/compile.rs"));
    let options = read("src/driver/options.rs");
    let variants =
        options.split("pub enum Artefact {").nth(1).and_then(|rest| rest.split('}').next()).expect("Artefact");
    let variants = variants.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    for variant in variants.map(|line| line.split(['(', ',']).next().unwrap_or_default()) {
        let named = format!("Artefact::{variant}");
        assert!(emit.contains(&named) && words.contains(&named), "{named}");
    }
    for (folder, title) in [("src/passes", "A new pass"), ("src/analysis", "A new analysis")] {
        let list = recipe(title);
        assert_eq!(list[..2], [format!("{folder}/NAME.rs"), format!("{folder}/mod.rs")]);
        let table = read(&list[1]);
        let modules = table.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
        for module in modules.filter(|module| !HELPERS.contains(module)) {
            let named = [format!("[`{module}`]"), format!("[`mod@{module}`]"), format!("[`{module}()`]")];
            assert!(named.iter().any(|name| table.contains(name)), "{module} is not in the table of {}", list[1]);
        }
    }
}

#[test]
fn an_operation_takes_nine_files() {
    let list = recipe("A new operation");
    assert!(list.len() <= 9, "{list:?}");
    for file in &list {
        assert!(read(file).contains("Op::Barrier") || read(file).contains("    Barrier,\n"), "{file}");
    }
    // A statement of CUDA text; a barrier in reverse, which few operations have a part in; what
    // makes barriers.
    const OTHERS: &[&str] = &[
        "src/codegen/cuda/function.rs",
        "src/autodiff/emit/walk.rs",
        "src/passes/barrier_tests.rs",
        "src/passes/block_threads/barriers.rs",
    ];
    for file in files("src") {
        let path = file.to_string_lossy();
        let known = OTHERS.contains(&&*path) || list.iter().any(|listed| *listed == path);
        assert!(known || !read(&path).contains("Op::Barrier"), "{path} is not in the list");
    }
}

#[test]
fn operations_with_names_in_python_have_their_places() {
    let text = read("CONTRIBUTING.md");
    let after = text.split("in the places of `Fma`:\n\n").nth(1).expect("the places of `Fma`");
    let table = after.split("\n\n").next().expect("a table");
    let places: Vec<&str> = table.split('`').skip(1).step_by(2).filter(|word| word.contains('/')).collect();
    for place in &places {
        let text = read(place);
        assert!(text.contains("Fma(") || text.contains("fn fma("), "{place} does not know `Fma`");
    }
    // A product of tiles that is written out is made of it.
    const MAKER: &str = "src/check/tiles/matmul.rs";
    for file in files("src/check").into_iter().chain(files("src/lower")) {
        let path = file.to_string_lossy();
        let known = path == MAKER || places.contains(&&*path);
        assert!(known || !read(&path).contains("ExprKind::Fma"), "{path} is not in the list");
    }
}
