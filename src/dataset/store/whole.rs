//! What makes a set whole? What describes it is written last, and all its files agree with its
//! options and its journal.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Entry, JOURNAL, LINES, OPTIONS, Shard, Store, TABLE, card, pretty, sha256};
use crate::dataset::record;
use crate::dataset::splits::SPLITS;
use crate::dataset::{Config, Result};
use crate::driver::reason;

const MANIFEST: &str = "manifest.json";
const STATS: &str = "stats.json";
const CARD: &str = "README.md";
const CROISSANT: &str = "croissant.json";

/// A file of a set that is not what it should be, and why.
pub type FileFault = (String, String);

impl Store {
    /// Writes what describes the complete set. `stats` holds its measures.
    pub fn finish(&self, stats: &Value) -> Result<()> {
        let described =
            [(STATS, pretty(stats)), (CARD, card::readme(self, stats)), (CROISSANT, pretty(&card::croissant(self)))];
        for (name, text) in &described {
            self.write(name, text.as_bytes())?;
        }
        let sums = described.iter().map(|(name, text)| (name.to_string(), json!(sha256(text.as_bytes()))));
        self.write(MANIFEST, pretty(&self.manifest(&sums.collect())).as_bytes())
    }

    /// `sums`: the SHA-256 of each file that describes the set.
    fn manifest(&self, sums: &serde_json::Map<String, Value>) -> Value {
        let files: Vec<&Entry> = self.entries().collect();
        json!({
            "schema_version": self.options.schema,
            "generator": format!("kc {}", self.options.version),
            "options": self.options,
            "rows": self.options.rows,
            "shards": self.options.shards(),
            "license": record::LICENSE,
            "tally": self.tally(),
            "files": files,
            "sha256_of_files": sha256(files.iter().map(|f| f.sha256.as_str()).collect::<String>().as_bytes()),
            "described_by": sums,
        })
    }

    /// What is wrong with the set beside its rows and the sums of its shards' files.
    pub fn file_faults(&self) -> Vec<FileFault> {
        let mut faults: Vec<FileFault> =
            self.journal_faults.iter().map(|fault| (JOURNAL.to_string(), fault.clone())).collect();
        for shard in self.shards.values() {
            faults.extend(self.layout_faults(shard).into_iter().map(|fault| (JOURNAL.to_string(), fault)));
        }
        self.expect_text(
            OPTIONS,
            &pretty(&json!(self.options)),
            "it is not what kc writes of its options",
            &mut faults,
        );
        // One that is not finished has none, and files that no line of its journal names yet.
        if self.is_complete() || self.folder.join(MANIFEST).exists() {
            self.description_faults(&mut faults);
            self.unnamed_files(&mut faults);
        }
        faults
    }

    fn expect_text(&self, name: &str, expected: &str, otherwise: &str, faults: &mut Vec<FileFault>) {
        match std::fs::read(self.folder.join(name)) {
            Ok(bytes) if bytes == expected.as_bytes() => {}
            Ok(_) => faults.push((name.to_string(), otherwise.to_string())),
            Err(error) => faults.push((name.to_string(), format!("it cannot be read: {}", reason(&error)))),
        }
    }

    /// What describes the set is what was written, and the manifest is that of the journal.
    fn description_faults(&self, faults: &mut Vec<FileFault>) {
        let text = match std::fs::read(self.folder.join(MANIFEST)) {
            Ok(text) => text,
            Err(error) => return faults.push((MANIFEST.to_string(), format!("it cannot be read: {}", reason(&error)))),
        };
        let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
        let sums = manifest["described_by"].as_object().cloned().unwrap_or_default();
        for name in [STATS, CARD, CROISSANT] {
            let fault = match (std::fs::read(self.folder.join(name)), sums.get(name)) {
                (Ok(bytes), Some(sum)) if *sum == sha256(&bytes) => continue,
                (Ok(_), Some(_)) => "its SHA-256 differs from the manifest".to_string(),
                (Ok(_), None) => "the manifest has no SHA-256 of it".to_string(),
                (Err(error), _) => format!("it cannot be read: {}", reason(&error)),
            };
            faults.push((name.to_string(), fault));
        }
        if manifest != self.manifest(&sums) {
            faults.push((MANIFEST.to_string(), "it is not that of the journal".to_string()));
        } else if text != pretty(&manifest).as_bytes() {
            faults.push((MANIFEST.to_string(), "it is not as kc writes it".to_string()));
        }
    }

    /// The files of a line of the journal are those of its shard, and hold its rows.
    fn layout_faults(&self, shard: &Shard) -> Vec<String> {
        let number = shard.shard;
        let shards = self.options.shards();
        if number >= shards {
            return vec![format!("it names shard {number}, and the set has {shards}")];
        }
        let mut faults = Vec::new();
        for entry in &shard.files {
            let named = |config: Config, end: &str| {
                let split = &entry.split;
                format!("data/{}/{split}-{number:05}-of-{shards:05}{end}", config.name()) == entry.path
            };
            let ends = [(TABLE, self.options.parquet), (LINES, self.options.jsonl)];
            let mut wanted = ends.iter().filter(|(_, wanted)| *wanted);
            if !SPLITS.contains(&entry.split.as_str())
                || !wanted.any(|(end, _)| self.options.configs().any(|config| named(config, end)))
            {
                faults.push(format!("`{}` is no file of shard {number}", entry.path));
            }
        }
        let rows: u64 =
            self.read_of(shard).filter(|entry| entry.config() == Config::Pairs).map(|entry| entry.rows).sum();
        let expected = self.options.rows_of(number);
        if rows != expected {
            faults.push(format!("shard {number} has {rows} rows, the options say {expected}"));
        }
        faults
    }

    /// Files below `data` that the journal does not name.
    fn unnamed_files(&self, faults: &mut Vec<FileFault>) {
        let named: HashSet<&str> = self.entries().map(|entry| entry.path.as_str()).collect();
        let mut unnamed = Vec::new();
        for config in Config::ALL {
            let folder = format!("data/{}", config.name());
            for file in std::fs::read_dir(self.folder.join(&folder)).into_iter().flatten().flatten() {
                let path = format!("{folder}/{}", file.file_name().to_string_lossy());
                if !named.contains(path.as_str()) {
                    unnamed.push(path);
                }
            }
        }
        unnamed.sort();
        faults.extend(unnamed.into_iter().map(|path| (path, "no line of the journal names it".to_string())));
    }
}
