//! How does a shard come to disk? Row group by row group into memory, where it is compressed, then file by file.

use std::io::Write;

use serde_json::Value;

use super::parquet::Table;
use super::{Counts, Entry, LINES, SPLITS, Shard, Store, TABLE, ZSTD_LEVEL};
use crate::dataset::produce::Tally;
use crate::dataset::{Result, fail};
use crate::diag::Code;

/// Small row groups: viewers scan a group at a time.
const GROUP_ROWS: usize = 256;

/// The columns whose values are counted.
const COUNTED: [&str; 4] = ["category", "domain", "split", "difficulty"];

/// A shard on its way.
pub struct Writer {
    number: u64,
    splits: Vec<Split>,
    counts: Counts,
}

/// The files of one split.
struct Split {
    name: &'static str,
    count: u64,
    /// Less than a row group.
    waiting: Vec<Value>,
    table: Option<Table>,
    lines: Option<zstd::Encoder<'static, Vec<u8>>>,
}

impl Writer {
    pub fn new(store: &Store, number: u64) -> Result<Writer> {
        let split = |name| {
            let table = store.options.parquet.then(Table::new).transpose().map_err(failed)?;
            let lines = store.options.jsonl.then(|| zstd::Encoder::new(Vec::new(), ZSTD_LEVEL));
            Ok(Split { name, count: 0, waiting: Vec::new(), table, lines: lines.transpose().map_err(failed)? })
        };
        let splits = SPLITS.into_iter().map(split).collect::<Result<_>>()?;
        Ok(Writer { number, splits, counts: Counts::new() })
    }

    /// Adds rows, in order.
    pub fn push(&mut self, rows: Vec<Value>) -> Result<()> {
        for row in rows {
            let mut count = |column: &str, value: String| {
                *self.counts.entry(column.to_string()).or_default().entry(value).or_default() += 1;
            };
            for column in COUNTED {
                count(column, row[column].as_str().map_or_else(|| row[column].to_string(), str::to_string));
            }
            count("gradient_checked", row["verify"]["grad_ok"].to_string());
            if let Some(split) = self.splits.iter_mut().find(|split| row["split"] == split.name) {
                split.waiting.push(row);
                if split.waiting.len() >= GROUP_ROWS {
                    split.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Writes the files, then the journal's line.
    pub fn finish(mut self, store: &mut Store, tally: Tally) -> Result<()> {
        for split in &mut self.splits {
            split.flush()?;
        }
        let total = store.options.shards();
        let mut files: Vec<Entry> = Vec::new();
        for split in self.splits.into_iter().filter(|split| split.count > 0) {
            let name = format!("data/{}-{:05}-of-{total:05}", split.name, self.number);
            if let Some(table) = split.table {
                let bytes = table.finish().map_err(failed)?;
                files.push(store.file(format!("{name}{TABLE}"), split.name, split.count, &bytes)?);
            }
            if let Some(lines) = split.lines {
                let bytes = lines.finish().map_err(failed)?;
                files.push(store.file(format!("{name}{LINES}"), split.name, split.count, &bytes)?);
            }
        }
        store.add(Shard { shard: self.number, files, tally, counts: self.counts })
    }
}

impl Split {
    fn flush(&mut self) -> Result<()> {
        let Split { waiting, table, lines, .. } = self;
        if waiting.is_empty() {
            return Ok(());
        }
        let rows: &[Value] = waiting;
        let (tabled, lined) = rayon::join(
            || table.as_mut().map_or(Ok(()), |table| table.push(rows)).map_err(failed),
            || lines.as_mut().map_or(Ok(()), |lines| write_lines(rows, lines)).map_err(failed),
        );
        tabled?;
        lined?;
        self.count += waiting.len() as u64;
        waiting.clear();
        Ok(())
    }
}

fn write_lines(rows: &[Value], out: &mut impl Write) -> std::io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, row)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Only memory is written to: what fails is a fault.
fn failed(error: impl std::fmt::Display) -> crate::dataset::Fail {
    fail(Code::E0999, format!("kc could not encode a shard: {error}"))
}
