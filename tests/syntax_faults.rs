//! Every file in `tests/lang/syntax` states the exact set of its syntax errors, as
//! `# errors: LINE CODE, ...` at its end, and in its first line the functions that are kept.

use std::collections::BTreeSet;
use std::path::Path;

use kc::diag::{Applicability, Diagnostics};
use kc::source::{FileId, SourceFile};
use kc::syntax::ast::{Item, Region, RegionKind};

#[test]
fn seeded_faults_are_found_and_nothing_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/syntax");
    let mut report = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder exists").flatten() {
        let path = entry.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("tests are UTF-8");
        let expected: BTreeSet<(u32, String)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# errors:"))
            .flat_map(|list| list.split(','))
            .filter_map(|pair| pair.trim().split_once(' '))
            .map(|(line, code)| (line.parse().expect("a line number"), code.to_owned()))
            .collect();
        let mut diagnostics = Diagnostics::new();
        let parsed = kc::syntax::parse(FileId(0), &text, &mut diagnostics);
        let kept: Vec<&str> = parsed
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Function(f) => Some(f.name.text.as_str()),
                Item::Region(Region { kind: RegionKind::Function { name, .. }, .. }) => Some(name.text.as_str()),
                _ => None,
            })
            .collect();
        for wanted in text.lines().next().and_then(|line| line.strip_prefix("# keeps:")).unwrap_or("").split(' ') {
            if !wanted.is_empty() && !kept.contains(&wanted) {
                report.push(format!("{name}: `{wanted}` is lost"));
            }
        }
        let source = SourceFile::new(&path, text.clone());
        let mut found = BTreeSet::new();
        for diagnostic in diagnostics.iter() {
            let span = diagnostic.span().expect("syntax errors have a place");
            let line = source.line_column(span.start).line;
            if !found.insert((line, diagnostic.code.name().to_owned())) {
                report.push(format!("{name}:{line}: {} twice", diagnostic.code.name()));
            }
            if !expected.contains(&(line, diagnostic.code.name().to_owned())) {
                let (code, shown) = (diagnostic.code.name(), source.line_text(line));
                report.push(format!("{name}:{line}: false {code}: {}\n    {shown}", diagnostic.message));
            }
        }
        for (line, code) in expected.difference(&found) {
            report.push(format!("{name}:{line}: {code} is missed\n    {}", source.line_text(*line)));
        }
    }
    report.sort();
    assert!(report.is_empty(), "{} differences\n{}", report.len(), report.join("\n"));
}

#[test]
fn a_machine_fix_removes_its_finding() {
    let text = include_str!("lang/syntax/headers.py");
    let mut diagnostics = Diagnostics::new();
    kc::syntax::parse(FileId(0), text, &mut diagnostics);
    let mut edits = Vec::new();
    for fix in diagnostics.iter().filter_map(|d| d.fix.as_ref()) {
        if fix.applicability == Applicability::Machine {
            edits.extend(fix.edits.iter().cloned());
        }
    }
    assert_eq!(edits.len(), 9);
    edits.sort_by_key(|(span, _)| span.start);
    let mut fixed = text.to_owned();
    for (span, by) in edits.iter().rev() {
        fixed.replace_range(span.start as usize..span.end as usize, by);
    }
    let mut rest = Diagnostics::new();
    kc::syntax::parse(FileId(0), &fixed, &mut rest);
    assert_eq!(rest.len(), diagnostics.len() - edits.len());
    assert!(rest.iter().all(|d| d.fix.is_none()));
}

#[test]
fn the_examples_on_the_pages_are_right() {
    for code in kc::diag::Code::ALL.iter().filter(|code| code.is_syntax()) {
        let blocks = code.page().split("```python\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(""));
        let found: Vec<Vec<&str>> = blocks
            .map(|text| {
                let mut diagnostics = Diagnostics::new();
                kc::syntax::parse(FileId(0), text, &mut diagnostics);
                diagnostics.iter().map(|d| d.code.name()).collect()
            })
            .collect();
        match found.as_slice() {
            // The example that fails would be too long to read.
            [passes] if matches!(code.name(), "E0115" | "E0119") => assert_eq!(passes, &Vec::<&str>::new(), "{code:?}"),
            [fails, passes] => {
                assert_eq!(fails, &[code.name()], "{code:?}");
                assert_eq!(passes, &Vec::<&str>::new(), "{code:?}");
            }
            other => panic!("{code:?}: {other:?}"),
        }
    }
}
