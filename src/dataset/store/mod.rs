//! How do rows lie on disk? Shards that are written whole, a journal of those that are, and what
//! describes the set.
//!
//! ```text
//! options.json   what makes the set: written first
//! journal.jsonl  one line per finished shard, with a SHA-256 of its own, synced
//! data/pairs/    train-00000-of-00025.parquet, train-00000-of-00025.jsonl.zst, validation-..., test-...
//! data/repair/   the same of the configuration `repair`, where it was asked for; `optimize` too
//! manifest.json  files with their SHA-256; stats.json, README.md, croissant.json: written last
//! ```

mod card;
mod journal;
mod parquet;
mod whole;
mod writer;

pub use writer::Writer;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::diversity::{Kernel, Kernels, MEASURED};
use super::produce::Tally;
use super::{Config, Options, Result, fail};
use crate::diag::Code;
use crate::driver::reason;
use journal::Journal;

/// A finished file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Inside the set, with `/`.
    pub path: String,
    pub split: String,
    pub rows: u64,
    pub bytes: u64,
    pub sha256: String,
}

impl Entry {
    /// The table that it is a part of.
    pub fn config(&self) -> Config {
        let inside = |config: &Config| self.path.split('/').nth(1) == Some(config.name());
        Config::ALL.into_iter().find(inside).unwrap_or(Config::Pairs)
    }
}

/// A finished shard: a line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    pub shard: u64,
    pub files: Vec<Entry>,
    pub tally: Tally,
    #[serde(default)]
    pub counts: Counts,
}

/// How many rows have which value, by column.
pub type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// A data set on disk.
pub struct Store {
    pub folder: PathBuf,
    pub options: Options,
    /// By number.
    pub shards: BTreeMap<u64, Shard>,
    /// What is wrong with the journal.
    journal_faults: Vec<String>,
    /// What is measured of the shards that this process made, so that they need not be read: of
    /// their programs in the order of their files, of shards that are measured
    /// ([`Options::is_measured`]).
    made: BTreeMap<u64, Kernels>,
}

const OPTIONS: &str = "options.json";
const JOURNAL: &str = "journal.jsonl";
const LINES: &str = ".jsonl.zst";
const TABLE: &str = ".parquet";

/// Of both formats: higher levels cost more time than the rows themselves.
const ZSTD_LEVEL: i32 = 3;

impl Store {
    /// Begins a set in a new or empty folder, or goes on with one if `resume`.
    pub fn create(folder: &Path, options: &Options, resume: bool) -> Result<Store> {
        let shown = folder.display();
        let begun = folder.join(OPTIONS).is_file();
        if begun && !resume {
            let mut error = fail(Code::E1401, format!("`{shown}` holds a data set already"));
            error.help = Some("say `--resume` to go on with it, or name another directory".to_string());
            return Err(error);
        }
        if begun {
            let store = Store::open(folder)?;
            if let Some(difference) = difference(&store.options, options) {
                return Err(fail(Code::E1402, format!("`{shown}` was begun with {difference}")));
            }
            store.clear_remains()?;
            store.make_folders()?;
            return Ok(store);
        }
        // A run that was killed at its very beginning leaves this.
        let is_remains = |name: &std::ffi::OsStr| name == "options.tmp";
        if fs::read_dir(folder).is_ok_and(|mut all| all.any(|entry| !entry.is_ok_and(|e| is_remains(&e.file_name())))) {
            return Err(fail(Code::E1401, format!("`{shown}` is not empty, and no data set of kc")));
        }
        fs::create_dir_all(folder).map_err(|e| unwritten(folder, &e))?;
        let store = Store {
            folder: folder.to_path_buf(),
            options: options.clone(),
            shards: BTreeMap::new(),
            journal_faults: Vec::new(),
            made: BTreeMap::new(),
        };
        store.write(OPTIONS, pretty(&json!(options)).as_bytes())?;
        store.make_folders()?;
        Ok(store)
    }

    /// A set that is there. Shards whose files are missing or changed do not count.
    pub fn open(folder: &Path) -> Result<Store> {
        let damaged = |path: &Path, what: String| fail(Code::E1403, format!("`{}` {what}", path.display()));
        let path = folder.join(OPTIONS);
        let text = fs::read(&path)
            .map_err(|e| fail(Code::E1401, format!("`{}` is no data set of kc: {}", folder.display(), reason(&e))))?;
        let options: Options = serde_json::from_slice(&text).map_err(|e| damaged(&path, format!("is damaged: {e}")))?;
        let journal = match fs::read(folder.join(JOURNAL)) {
            Ok(bytes) => journal::read(&String::from_utf8_lossy(&bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Journal::default(),
            Err(error) => {
                return Err(damaged(&folder.join(JOURNAL), format!("cannot be read: {}", reason(&error))));
            }
        };
        let mut files = journal.shards.values().flat_map(|shard| &shard.files);
        if let Some(entry) = files.find(|entry| !is_inside(&entry.path)) {
            return Err(damaged(&folder.join(JOURNAL), format!("names `{}`, which is elsewhere", entry.path)));
        }
        let Journal { shards, faults } = journal;
        let folder = folder.to_path_buf();
        let store = Store { folder, options, shards, journal_faults: faults, made: BTreeMap::new() };
        Ok(store)
    }

    /// Forgets shards that are not on disk as the journal says, so that they are made again.
    pub fn keep_intact(&mut self) {
        let folder = self.folder.clone();
        self.shards.retain(|_, shard| shard.files.iter().all(|entry| is_intact(&folder, entry)));
    }

    fn make_folders(&self) -> Result<()> {
        for config in self.options.configs() {
            let folder = self.folder.join("data").join(config.name());
            fs::create_dir_all(&folder).map_err(|e| unwritten(&folder, &e))?;
        }
        Ok(())
    }

    /// The error names the first file that is not on disk as the journal says.
    pub fn expect_intact(&self) -> Result<()> {
        match self.entries().find(|entry| !is_intact(&self.folder, entry)) {
            None => Ok(()),
            Some(entry) => {
                let path = self.folder.join(&entry.path);
                let what = "is not what was written: its SHA-256 differs from the journal";
                Err(fail(Code::E1403, format!("`{}` {what}", path.display())))
            }
        }
    }

    /// Files of an interrupted run.
    fn clear_remains(&self) -> Result<()> {
        let folders = self.options.configs().map(|config| self.folder.join("data").join(config.name()));
        for entry in folders.flat_map(fs::read_dir).flatten().flatten() {
            if entry.path().extension().is_some_and(|e| e == "tmp") {
                fs::remove_file(entry.path()).map_err(|e| unwritten(&entry.path(), &e))?;
            }
        }
        Ok(())
    }

    /// Notes a shard whose files are written.
    fn add(&mut self, shard: Shard, kernels: Kernels) -> Result<()> {
        self.log(&shard)?;
        if self.options.is_measured(shard.shard) {
            self.made.insert(shard.shard, kernels);
        }
        self.shards.insert(shard.shard, shard);
        Ok(())
    }

    fn log(&self, shard: &Shard) -> Result<()> {
        let path = self.folder.join(JOURNAL);
        let write = || -> std::io::Result<()> {
            let before = fs::read(&path).unwrap_or_default();
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            // After a kill the last line may lack its end.
            if before.last().is_some_and(|&b| b != b'\n') {
                file.write_all(b"\n")?;
            }
            file.write_all(journal::line(shard).as_bytes())?;
            file.sync_all()
        };
        write().map_err(|e| unwritten(&path, &e))
    }

    fn file(&self, path: String, split: &str, rows: u64, bytes: &[u8]) -> Result<Entry> {
        self.write(&path, bytes)?;
        let size = bytes.len() as u64;
        Ok(Entry { path, split: split.to_string(), rows, bytes: size, sha256: sha256(bytes) })
    }

    /// Writes a file whole: beside its place, synced, then renamed.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(path);
        let temporary = path.with_extension("tmp");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|e| {
            // What could not be finished must not take the room of what can.
            let _ = fs::remove_file(&temporary);
            unwritten(&path, &e)
        })
    }

    /// Whether all shards are there.
    pub fn is_complete(&self) -> bool {
        self.shards.len() as u64 == self.options.shards()
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.shards.values().flat_map(|shard| &shard.files)
    }

    /// The rows of a table.
    pub fn rows_in(&self, config: Config) -> u64 {
        let counted = |entry: &&Entry| self.is_read(entry) && entry.config() == config;
        self.entries().filter(counted).map(|entry| entry.rows).sum()
    }

    /// What the shards came from, together.
    pub fn tally(&self) -> Tally {
        let mut out = Tally::default();
        for shard in self.shards.values() {
            out.candidates += shard.tally.candidates;
            out.duplicates += shard.tally.duplicates;
            out.near_duplicates += shard.tally.near_duplicates;
            for (cause, count) in &shard.tally.rejected {
                *out.rejected.entry(cause.clone()).or_default() += count;
            }
        }
        out
    }

    /// How many rows of all shards have which value.
    pub fn counts(&self) -> Counts {
        let mut out = Counts::new();
        for (column, values) in self.shards.values().flat_map(|shard| &shard.counts) {
            let column = out.entry(column.clone()).or_default();
            for (value, count) in values {
                *column.entry(value.clone()).or_default() += count;
            }
        }
        out
    }

    /// What is measured of the programs of the first rows, [`MEASURED`] at most. Files that are
    /// read for it are checked against the journal.
    pub fn kernels(&self) -> Result<Kernels> {
        let mut out = Kernels::default();
        for (number, shard) in &self.shards {
            let left = (MEASURED as usize).saturating_sub(out.len());
            if left == 0 {
                break;
            }
            match self.made.get(number) {
                Some(made) => out.append(made, left),
                None => {
                    let rows = self.first_of(shard, &["python_source"], left)?;
                    let sources = rows.par_iter().filter_map(|row| row["python_source"].as_str());
                    let read = sources.filter_map(Kernel::of_text).map(Arc::new).collect();
                    out.append(&Kernels::of(read), left);
                }
            }
        }
        Ok(out)
    }

    /// Some columns of the first rows, [`MEASURED`] at most.
    pub fn first(&self, columns: &[&str]) -> Result<Vec<Value>> {
        let mut out = Vec::new();
        for shard in self.shards.values() {
            out.extend(self.first_of(shard, columns, MEASURED as usize - out.len())?);
        }
        Ok(out)
    }

    /// Some columns of the first rows of a shard, up to `most`.
    fn first_of(&self, shard: &Shard, columns: &[&str], most: usize) -> Result<Vec<Value>> {
        let mut out = Vec::new();
        for entry in self.read_of(shard).filter(|entry| entry.config() == Config::Pairs) {
            if out.len() >= most {
                break;
            }
            let (path, bytes) = self.bytes(entry)?;
            let damaged = |what: String| fail(Code::E1403, format!("`{}` is damaged: {what}", path.display()));
            let left = most - out.len();
            match entry.path.ends_with(TABLE) {
                true => out.extend(parquet::first(&path, columns, left).map_err(|e| damaged(e.to_string()))?),
                false => out.extend(first_lines(&bytes, columns, left).map_err(|e| damaged(e.to_string()))?),
            }
        }
        Ok(out)
    }

    /// The row at a place of the set; None: the set has no such row.
    pub fn row(&self, config: Config, index: u64) -> Result<Option<Value>> {
        let Some(shard) = self.shards.get(&(index / self.options.shard_rows.max(1))) else { return Ok(None) };
        for entry in self.read_of(shard).filter(|entry| entry.config() == config) {
            if let Some(row) = self.rows(entry)?.into_iter().find(|row| row["index"].as_u64() == Some(index)) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The files of a shard from which its rows are read: both formats hold the same.
    pub fn read_of<'a>(&self, shard: &'a Shard) -> impl Iterator<Item = &'a Entry> {
        let jsonl = self.options.jsonl;
        shard.files.iter().filter(move |entry| entry.path.ends_with(if jsonl { LINES } else { TABLE }))
    }

    /// Whether rows are read from this file ([`Store::read_of`]).
    pub fn is_read(&self, entry: &Entry) -> bool {
        entry.path.ends_with(if self.options.jsonl { LINES } else { TABLE })
    }

    /// The rows of a file.
    pub fn rows(&self, entry: &Entry) -> Result<Vec<Value>> {
        let (path, bytes) = self.bytes(entry)?;
        match entry.path.ends_with(TABLE) {
            true => {
                parquet::rows(&path).map_err(|e| fail(Code::E1403, format!("`{}` is damaged: {e}", path.display())))
            }
            false => lines(&bytes, &path),
        }
    }

    /// A file, as the journal says it is.
    fn bytes(&self, entry: &Entry) -> Result<(PathBuf, Vec<u8>)> {
        let path = self.folder.join(&entry.path);
        let damaged = |what: String| fail(Code::E1403, format!("`{}` {what}", path.display()));
        let bytes = fs::read(&path).map_err(|e| damaged(format!("cannot be read: {}", reason(&e))))?;
        match sha256(&bytes) == entry.sha256 {
            true => Ok((path, bytes)),
            false => Err(damaged("is not what was written: its SHA-256 differs from the journal".to_string())),
        }
    }

    /// The rows of a file that is not what was written, as far as they can be read: lines are,
    /// tables are not.
    pub fn damaged_rows(&self, entry: &Entry) -> Vec<Value> {
        let path = self.folder.join(&entry.path);
        let is_lines = entry.path.ends_with(LINES);
        fs::read(&path).ok().filter(|_| is_lines).and_then(|bytes| lines(&bytes, &path).ok()).unwrap_or_default()
    }

    /// Adds the shards of another part of the same set.
    pub fn adopt(&mut self, part: &Store) -> Result<()> {
        if let Some(difference) = difference(&part.options, &self.options) {
            return Err(fail(Code::E1402, format!("`{}` was made with {difference}", part.folder.display())));
        }
        for (&number, shard) in &part.shards {
            if self.shards.contains_key(&number) {
                continue;
            }
            for entry in &shard.files {
                let from = part.folder.join(&entry.path);
                let bytes = fs::read(&from)
                    .map_err(|e| fail(Code::E1403, format!("`{}` cannot be read: {}", from.display(), reason(&e))))?;
                if sha256(&bytes) != entry.sha256 {
                    return Err(fail(Code::E1403, format!("`{}` is not what was written", from.display())));
                }
                self.write(&entry.path, &bytes)?;
            }
            self.log(shard)?;
            self.shards.insert(number, shard.clone());
        }
        Ok(())
    }

    /// Puts the journal's lines in order, as one uninterrupted run writes them.
    pub fn sort_journal(&self) -> Result<()> {
        let text: String = self.shards.values().map(journal::line).collect();
        self.write(JOURNAL, text.as_bytes())
    }
}

/// The rows of a file of JSON lines.
fn lines(bytes: &[u8], path: &Path) -> Result<Vec<Value>> {
    let damaged = |what: String| fail(Code::E1403, format!("`{}` {what}", path.display()));
    let mut text = String::new();
    zstd::Decoder::new(bytes)
        .and_then(|mut decoder| decoder.read_to_string(&mut text))
        .map_err(|e| damaged(format!("is damaged: {e}")))?;
    let parse = |(n, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|e| damaged(format!("line {} is damaged: {e}", n + 1)))
    };
    text.lines().enumerate().map(parse).collect()
}

/// Some columns of the first lines of a file, up to `most`.
fn first_lines(bytes: &[u8], columns: &[&str], most: usize) -> std::io::Result<Vec<Value>> {
    let lines = BufReader::new(zstd::Decoder::new(bytes)?).lines().take(most);
    let row = |line: std::io::Result<String>| {
        let row: Value = serde_json::from_str(&line?)?;
        Ok(columns.iter().map(|column| (column.to_string(), row[*column].clone())).collect())
    };
    lines.map(row).collect()
}

/// The first option that differs, in words.
fn difference(theirs: &Options, ours: &Options) -> Option<String> {
    let (theirs, ours) = (json!(theirs), json!(ours));
    let fields = theirs.as_object()?;
    let (name, value) = fields.iter().find(|(name, value)| ours[name.as_str()] != **value)?;
    Some(format!("{name} = {value}, not {}", ours[name.as_str()]))
}

/// Whether a path of the journal stays in the set.
fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn is_intact(folder: &Path, entry: &Entry) -> bool {
    fs::read(folder.join(&entry.path)).is_ok_and(|bytes| sha256(&bytes) == entry.sha256)
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn unwritten(path: &Path, error: &std::io::Error) -> super::Fail {
    let mut found = fail(Code::E0904, format!("cannot write `{}`: {}", path.display(), reason(error)));
    found.notes.push("shards that were finished are intact; `--resume` goes on with the next one".to_string());
    if error.kind() == std::io::ErrorKind::NotFound {
        let help = "if another `kc dataset` writes to this directory, wait for it: one at a time; machines make parts with `--shard`, each in its own";
        found.help = Some(help.to_string());
    }
    found
}
