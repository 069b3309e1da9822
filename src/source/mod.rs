//! Source files and positions in them: the lowest layer, known to every stage.

mod files;
pub mod header;
pub mod lined;
pub mod modules;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ids::IdVec;
pub use files::FileSystem;

crate::define_id!(
    /// One source text: the user's file, or a file of the built-in library.
    FileId, "file"
);

/// A byte range `start..end` of one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// The smallest span that holds both (of the same file).
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether all of another span is in it.
    pub fn contains(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    pub fn len(self) -> u32 {
        self.end - self.start
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// The ids of texts that all compilations share begin here; those before are a compilation's own.
const SHARED: u32 = 1 << 24;

/// Before those, the ids of imported texts, which a compiler parses once for all compilations.
const KEPT: u32 = 1 << 23;

impl FileId {
    /// The id of an imported text in slot `n`; slots repeat.
    pub fn kept(n: u32) -> FileId {
        FileId(KEPT + n % (SHARED - KEPT))
    }

    /// Whether the id is that of an imported text. It says nothing about the order of files.
    pub fn is_kept(self) -> bool {
        (KEPT..SHARED).contains(&self.0)
    }

    /// Text number `n` of those that all compilations share.
    pub fn shared(n: u32) -> FileId {
        FileId(SHARED + n)
    }

    /// Whether all compilations share the text: it is of the built-in library.
    pub fn is_shared(self) -> bool {
        self.0 >= SHARED
    }
}

/// A text with its line starts.
#[derive(Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    pub text: String,
    line_starts: Vec<u32>,
}

/// A position for people: both numbers count from 1; the column counts characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

impl SourceFile {
    pub fn new(path: impl Into<PathBuf>, text: String) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1)).collect();
        Self { path: path.into(), text, line_starts }
    }

    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1] as usize;
        let offset = (offset as usize).min(self.text.len());
        let column = self.text.get(start..offset).map_or(offset - start, |s| s.chars().count());
        LineColumn { line: line as u32, column: column as u32 + 1 }
    }

    /// The byte range of a line that counts from 1, without its line end; the end of the text for
    /// lines beyond it.
    pub fn line_range(&self, line: u32) -> std::ops::Range<u32> {
        let end_of_text = self.text.len() as u32;
        let start = self.line_starts.get(line.max(1) as usize - 1).copied().unwrap_or(end_of_text);
        let rest = self.text.get(start as usize..).unwrap_or_default();
        start..start + rest.lines().next().unwrap_or_default().len() as u32
    }

    /// The text of a line that counts from 1, without its line end.
    pub fn line_text(&self, line: u32) -> &str {
        let start = self.line_starts[line as usize - 1] as usize;
        let end = self.line_starts.get(line as usize).map_or(self.text.len(), |&e| e as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

/// All source texts of one compilation.
#[derive(Debug, Default)]
pub struct SourceMap {
    files: IdVec<FileId, SourceFile>,
    /// Imported texts, in the order in which they were first needed.
    kept: Vec<FileId>,
    kept_files: HashMap<FileId, Arc<SourceFile>>,
    /// The texts of the built-in library, once it is used.
    shared: &'static [SourceFile],
    /// Where imported files are read; None: nothing is imported.
    system: Option<Arc<dyn FileSystem>>,
}

impl SourceMap {
    /// No texts yet; imported files are read from `system`.
    pub fn with_files(system: Arc<dyn FileSystem>) -> SourceMap {
        SourceMap { system: Some(system), ..SourceMap::default() }
    }

    pub fn system(&self) -> Option<Arc<dyn FileSystem>> {
        self.system.clone()
    }

    /// The files so far, in the order in which they were added; imported ones last.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        let kept = self.kept.iter().map(|&id| (id, &*self.kept_files[&id]));
        self.files.iter().chain(kept)
    }

    /// Adds an imported text, which has an id already.
    pub fn keep(&mut self, id: FileId, file: Arc<SourceFile>) {
        if self.kept_files.insert(id, file).is_none() {
            self.kept.push(id);
        }
    }

    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.files.push(file)
    }

    /// Makes the texts known that [`FileId::shared`] numbers.
    pub fn share(&mut self, files: &'static [SourceFile]) {
        self.shared = files;
    }

    pub fn file(&self, id: FileId) -> &SourceFile {
        match id.0.checked_sub(SHARED) {
            Some(n) => &self.shared[n as usize],
            None if id.is_kept() => &self.kept_files[&id],
            None => &self.files[id],
        }
    }

    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The lines of a span, with their end; None if something else is in them, a comment too.
    pub fn whole_line(&self, span: Span) -> Option<Span> {
        let text = &self.file(span.file).text;
        let before = text.get(..span.start as usize)?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let (rest, _) = text.get(span.end as usize..)?.split_once('\n')?;
        let alone = before.get(start..)?.trim().is_empty() && rest.trim().is_empty();
        alone.then(|| Span { start: start as u32, end: span.end + rest.len() as u32 + 1, ..span })
    }

    pub fn path(&self, id: FileId) -> &Path {
        &self.file(id).path
    }
}
