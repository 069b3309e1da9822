//! Real Python files parse without a syntax error. `KC_PYTHON_CORPUS` lists directories (separated
//! by `:`) whose `.py` files are read; Python itself accepts them all. The repository's own
//! `stdlib` and `examples` are always read. The trees are compared with those of Python's own
//! parser: that of the test environment, or of the interpreter `KC_PYTHON`.

#[path = "syntax/dump.rs"]
mod dump;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kc::diag::{Diagnostics, Level};
use kc::source::{FileId, SourceFile};
use kc::syntax::ast::{Item, Stmt, StmtKind};

fn python_files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            python_files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            out.push(path);
        }
    }
}

fn statements(body: &[Stmt]) -> usize {
    body.iter()
        .map(|stmt| match &stmt.kind {
            StmtKind::If { then, otherwise, .. } => 1 + statements(then) + statements(otherwise),
            StmtKind::For { body, otherwise, .. } | StmtKind::While { body, otherwise, .. } => {
                1 + statements(body) + statements(otherwise)
            }
            _ => 1,
        })
        .sum()
}

/// The files of the corpus with their texts, in a fixed order.
fn corpus() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    python_files(&root.join("stdlib"), &mut files);
    python_files(&root.join("examples"), &mut files);
    for folder in std::env::var("KC_PYTHON_CORPUS").unwrap_or_default().split(':').filter(|f| !f.is_empty()) {
        let before = files.len();
        python_files(Path::new(folder), &mut files);
        assert!(files.len() > before, "KC_PYTHON_CORPUS: no .py files in {folder}");
    }
    files.sort();
    files.into_iter().filter_map(|path| std::fs::read_to_string(&path).ok().map(|text| (path, text))).collect()
}

#[test]
fn trees_are_those_of_python() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(".env-test/bin/python");
    let python = std::env::var_os("KC_PYTHON").map_or(own, PathBuf::from);
    assert!(python.is_file(), "there is no {}: run `scripts/setup.sh test`", python.display());
    let files = corpus();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/syntax/dump.py");
    let list: Vec<_> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let list_path = folder.path().join("files");
    std::fs::write(&list_path, list.join("\n")).expect("the temporary folder can be written");
    let status = Command::new(python)
        .arg(script)
        .arg(folder.path())
        .stdin(std::fs::File::open(&list_path).expect("just written"))
        .status()
        .expect("KC_PYTHON can be run");
    assert!(status.success());
    let mut differences = Vec::new();
    let mut lines = 0;
    for (index, (path, text)) in files.into_iter().enumerate() {
        let expected = std::fs::read_to_string(folder.path().join(format!("{index}.dump"))).expect("one dump a file");
        let parsed = kc::syntax::parse(FileId(0), &text, &mut Diagnostics::new());
        let found = dump::items(&parsed, &SourceFile::new(&path, text));
        lines += expected.lines().count();
        for (expected, found) in expected.lines().zip(found.lines()) {
            if expected != found {
                differences.push(format!("{}\n  Python: {expected}\n  kc:     {found}", path.display()));
                break;
            }
        }
        if expected.lines().count() != found.lines().count() {
            differences.push(format!("{}: the number of lines differs", path.display()));
        }
    }
    println!("{lines} lines compared");
    assert!(differences.is_empty(), "{} files differ\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn real_files_have_no_syntax_errors() {
    let files = corpus();
    let count = files.len();
    let (mut bytes, mut time, mut functions, mut stmts, mut opaque) = (0, Duration::ZERO, 0, 0, 0);
    let mut findings = Vec::new();
    for (path, text) in files {
        let mut diagnostics = Diagnostics::new();
        let start = Instant::now();
        let parsed = kc::syntax::parse(FileId(0), &text, &mut diagnostics);
        time += start.elapsed();
        bytes += text.len();
        for item in &parsed.items {
            match item {
                Item::Function(function) if !function.decorators.is_empty() => {
                    functions += 1;
                    stmts += statements(&function.body);
                }
                Item::Constant(constant) if matches!(constant.value.kind, kc::syntax::ast::ExprKind::Opaque) => {
                    opaque += 1;
                }
                _ => {}
            }
        }
        let source = SourceFile::new(&path, text);
        for diagnostic in diagnostics.iter().filter(|d| d.level == Level::Error) {
            let line = diagnostic.span().map_or(0, |span| source.line_column(span.start).line);
            let shown = if line > 0 { source.line_text(line) } else { "" };
            findings.push(format!(
                "{}:{line}: {}: {}\n    {shown}",
                path.display(),
                diagnostic.code.name(),
                diagnostic.message
            ));
        }
    }
    println!(
        "{count} files, {bytes} bytes, {functions} functions of ours, {stmts} statements, {opaque} opaque constants; {:.1} MB/s",
        bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9)
    );
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
