//! Real Python files parse without a syntax error. `KC_PYTHON_CORPUS` lists directories (separated by `:`) whose `.py`
//! files are read; Python itself accepts them all. The repository's own `stdlib` and `examples` are always read.

use std::path::{Path, PathBuf};
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

#[test]
fn real_files_have_no_syntax_errors() {
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
    let (mut bytes, mut time, mut functions, mut stmts, mut opaque) = (0, Duration::ZERO, 0, 0, 0);
    let mut findings = Vec::new();
    for path in &files {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
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
        let source = SourceFile::new(path, text);
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
        "{} files, {bytes} bytes, {functions} functions of ours, {stmts} statements, {opaque} opaque constants; {:.1} MB/s",
        files.len(),
        bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9)
    );
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
