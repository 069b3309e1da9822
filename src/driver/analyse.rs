//! What does an editor need to know about a text? Everything the stages found, kept apart from any
//! artefact.
//!
//! It comes in two steps, because gradients take longest:
//! [`Compiler::analyse`](super::Compiler::analyse) parses and checks, [`Pending::finish`] adds what
//! differentiation finds. That is remembered per kernel, so an edit inside one costs the gradient
//! of that one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::check::facts::EditorFacts;
use crate::check::lints::Allows;
use crate::check::{self, Checked, Instances};
use crate::diag::{Diagnostic, Diagnostics};
use crate::library::Library;
use crate::source::{FileId, FileSystem, SourceFile, SourceMap, Span};
use crate::syntax::{self, ast};
use crate::{autodiff, lower, passes};

/// A text with all that was found in it. The text is file 0 of `sources`; the others are library
/// files.
#[derive(Debug)]
pub struct Analysis {
    pub sources: SourceMap,
    pub parsed: ast::Parsed,
    pub facts: EditorFacts,
    pub diagnostics: Diagnostics,
    reads: Reads,
}

/// Files, and what was looked for among them: an analysis is as old as the first of these that
/// changes.
#[derive(Debug)]
struct Recorded {
    under: Arc<dyn FileSystem>,
    /// By the path, a hash of what was found.
    seen: Mutex<HashMap<PathBuf, u64>>,
}

/// What an analysis looked for among the files; it lives on without the analysis.
#[derive(Clone, Debug)]
pub struct Reads(Arc<Recorded>);

impl Reads {
    /// Whether the files that were looked for still say what they said, or are still missing.
    pub fn is_current(&self) -> bool {
        self.0.is_current()
    }
}

impl Recorded {
    fn hash(text: &Option<Result<String, String>>) -> u64 {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    }

    fn is_current(&self) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().all(|(path, hash)| Self::hash(&self.under.read(path)) == *hash)
    }
}

impl FileSystem for Recorded {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        let text = self.under.read(path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(path.to_path_buf()).or_insert_with(|| Self::hash(&text));
        text
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.under.absolute(path)
    }

    fn written(&self, path: &Path) -> PathBuf {
        self.under.written(path)
    }

    fn installed(&self, path: &Path) -> Vec<PathBuf> {
        self.under.installed(path)
    }

    fn shown(&self, path: &Path) -> Option<PathBuf> {
        self.under.shown(path)
    }
}

/// What is left to do after a check.
#[derive(Debug)]
pub struct Pending {
    checked: Checked,
    allows: Allows,
}

/// The findings about the gradients of the kernels of one document, by their texts and what they
/// use.
#[derive(Debug, Default)]
pub struct Memory {
    known: HashMap<u64, Vec<Diagnostic>>,
}

impl Analysis {
    /// The file that is analysed.
    pub const FILE: FileId = FileId(0);

    pub(super) fn new(path: &Path, text: String, files: Arc<dyn FileSystem>, known: &Instances) -> (Analysis, Pending) {
        let reads = Arc::new(Recorded { under: files, seen: Mutex::default() });
        let (mut sources, mut diagnostics) = (SourceMap::with_files(reads.clone()), Diagnostics::new());
        let file = sources.add(SourceFile::new(path, text));
        let parsed = syntax::parse(file, &sources.file(file).text, &mut diagnostics);
        let options = check::Options { facts: true, ..check::Options::default() };
        let mut checked = check::check(&parsed, &options, known, &mut sources, &mut diagnostics);
        let facts = std::mem::take(&mut checked.facts);
        let mut allows = Allows::read(&parsed, &sources.file(file).text);
        allows.apply(file, &mut diagnostics);
        (Analysis { sources, parsed, facts, diagnostics, reads: Reads(reads) }, Pending { checked, allows })
    }

    /// The files that are imported from.
    pub fn imported(&self) -> impl Iterator<Item = &SourceFile> {
        let own = |(id, file): &(FileId, &SourceFile)| {
            *id != Self::FILE && file.path.to_str().is_none_or(|path| Library::text(path).is_none())
        };
        self.sources.files().filter(own).map(|(_, file)| file)
    }

    /// What the analysis depends on beside its text.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// Whether they are as they were.
    pub fn is_current(&self) -> bool {
        self.reads.is_current()
    }

    /// The text that is analysed.
    pub fn text(&self) -> &str {
        &self.sources.file(Self::FILE).text
    }

    /// For each good kernel its place and the key of what its gradient depends on: its own text,
    /// and that of everything but kernels, in imported files too.
    fn keys(&self, checked: &Checked) -> HashMap<Span, u64> {
        let kernels: Vec<Span> = checked.kernels.iter().map(|&id| checked.functions[id].span).collect();
        let mut rest = DefaultHasher::new();
        self.imported().for_each(|file| file.text.hash(&mut rest));
        for item in self.parsed.all_items() {
            let span = match item {
                ast::Item::Import(import) => import.span,
                ast::Item::Function(function) if kernels.contains(&function.span) => continue,
                ast::Item::Function(function) => function.span,
                ast::Item::Class(class) => class.span,
                ast::Item::Constant(constant) => constant.span,
                ast::Item::Region(region) => region.span,
                ast::Item::Call(expr) | ast::Item::Return(expr) => expr.span,
                ast::Item::Attribute(attribute) => attribute.span,
            };
            self.sources.text(span).hash(&mut rest);
        }
        let key = |span: Span| {
            let mut hasher = rest.clone();
            self.sources.text(span).hash(&mut hasher);
            (span, hasher.finish())
        };
        kernels.into_iter().map(key).collect()
    }
}

impl Pending {
    /// The number of kernels whose gradients are not remembered.
    pub fn open(&self, analysis: &Analysis, memory: &Memory) -> usize {
        analysis.keys(&self.checked).values().filter(|key| !memory.known.contains_key(key)).count()
    }

    /// Looks for what gradients are missing. `stop` is asked between the steps; when it says yes,
    /// the rest is left out, and the result is false.
    pub fn finish(mut self, analysis: &mut Analysis, memory: &mut Memory, stop: &dyn Fn() -> bool) -> bool {
        let keys = analysis.keys(&self.checked);
        let functions = &self.checked.functions;
        let name = |span: &Span| {
            let kernel = self.checked.kernels.iter().map(|&id| &functions[id]).find(|f| f.span == *span);
            kernel.map(|kernel| kernel.source_name.clone())
        };
        // The instances of a generic kernel have one place, and names of their own.
        let known = |name: &str| {
            let of = self.checked.kernels.iter().map(|&id| &functions[id]).filter(|f| f.source_name == *name);
            of.map(|f| keys.get(&f.span)).any(|key| key.is_some_and(|key| memory.known.contains_key(key)))
        };
        let mut found = Diagnostics::new();
        if keys.keys().filter_map(name).any(|name| !known(&name)) {
            let mut module = lower::lower(&self.checked, false);
            passes::select(&mut module, |entry| !known(&entry.source_name));
            if stop() {
                return false;
            }
            passes::simplify(&mut module);
            if stop() {
                return false;
            }
            let adjoints = autodiff::Adjoints::new(0);
            let options = autodiff::Options { findings: true, ..autodiff::Options::default() };
            autodiff::differentiate(&mut module, &options, &adjoints, &mut found);
        }
        let mut now = Memory::default();
        let attributed = found.iter().all(|finding| keys.keys().any(|kernel| inside(finding, *kernel)));
        for (span, key) in &keys {
            match memory.known.get(key) {
                Some(findings) => {
                    let here = findings.iter().map(|finding| moved(finding, i64::from(span.start)));
                    here.for_each(|finding| found.push(finding));
                    now.known.insert(*key, findings.clone());
                }
                None if attributed => {
                    let own = found.iter().filter(|finding| inside(finding, *span));
                    now.known.insert(*key, own.map(|finding| moved(finding, -i64::from(span.start))).collect());
                }
                None => {}
            }
        }
        *memory = now;
        self.allows.apply(Analysis::FILE, &mut found);
        found.iter().for_each(|finding| analysis.diagnostics.push(finding.clone()));
        super::drop_echoes(&mut analysis.diagnostics, &self.checked.alone);
        self.allows.report_unused(&mut analysis.diagnostics);
        true
    }
}

/// The places of a finding.
fn places(finding: &mut Diagnostic) -> impl Iterator<Item = &mut Span> {
    let fixes = finding.fix.iter_mut().flat_map(|fix| fix.edits.iter_mut().map(|(span, _)| span));
    finding.labels.iter_mut().map(|label| &mut label.span).chain(fixes)
}

/// Whether a finding speaks of this kernel alone.
fn inside(finding: &Diagnostic, kernel: Span) -> bool {
    let mut copy = finding.clone();
    let within = |span: &mut Span| span.file != Analysis::FILE || kernel.start <= span.start && span.end <= kernel.end;
    finding.span().is_some_and(|span| span.file == Analysis::FILE) && places(&mut copy).all(within)
}

/// The finding at places this far along.
fn moved(finding: &Diagnostic, by: i64) -> Diagnostic {
    let mut copy = finding.clone();
    for span in places(&mut copy).filter(|span| span.file == Analysis::FILE) {
        let shift = |at: u32| u32::try_from(i64::from(at) + by).unwrap_or(0);
        (span.start, span.end) = (shift(span.start), shift(span.end));
    }
    copy
}
