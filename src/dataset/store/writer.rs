//! How does a shard come to disk? Row group by row group into memory, where it is compressed, then
//! file by file.

use std::io::Write;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::json;

use super::parquet::Table;
use super::{Counts, Entry, LINES, Shard, Store, TABLE, ZSTD_LEVEL};
use crate::dataset::diversity::{Kernel, Kernels};
use crate::dataset::produce::{Made, Tally};
use crate::dataset::row::{Cell, Row};
use crate::dataset::splits::SPLITS;
use crate::dataset::{Config, Result, fail};
use crate::diag::Code;

/// Small row groups: viewers scan a group at a time.
const GROUP_ROWS: usize = 256;

/// The columns whose values are counted.
const COUNTED: [&str; 5] = ["category", "family", "domain", "split", "difficulty"];

/// The same of the other tables; the counts are kept as `repair.bug_class`.
const COUNTED_BESIDE: [(Config, &str); 5] = [
    (Config::Repair, "bug_class"),
    (Config::Repair, "bug_kind"),
    (Config::Repair, "found_by"),
    (Config::Optimize, "changes"),
    (Config::Optimize, "gain.metric"),
];

/// A shard on its way.
pub struct Writer {
    number: u64,
    splits: Vec<Split>,
    counts: Counts,
}

/// The files of one split of one table.
struct Split {
    config: Config,
    name: &'static str,
    count: u64,
    /// Less than a row group.
    waiting: Vec<Row>,
    table: Option<Table>,
    lines: Option<zstd::Encoder<'static, Vec<u8>>>,
    /// The text of a row group, on its way to be compressed.
    text: Vec<u8>,
    /// What is measured of its programs.
    kernels: Kernels,
}

impl Writer {
    pub fn new(store: &Store, number: u64) -> Result<Writer> {
        let split = |(config, name): (Config, _)| {
            let table = store.options.parquet.then(|| Table::new(config)).transpose().map_err(failed)?;
            let lines = store.options.jsonl.then(|| zstd::Encoder::new(Vec::new(), ZSTD_LEVEL));
            let lines = lines.transpose().map_err(failed)?;
            Ok(Split {
                config,
                name,
                count: 0,
                waiting: Vec::new(),
                table,
                lines,
                text: Vec::new(),
                kernels: Kernels::default(),
            })
        };
        let names = store.options.configs().flat_map(|config| SPLITS.map(|name| (config, name)));
        let splits = names.map(split).collect::<Result<_>>()?;
        Ok(Writer { number, splits, counts: Counts::new() })
    }

    /// Adds rows, in order.
    pub fn push(&mut self, rows: Vec<Made>) -> Result<()> {
        for Made { pair, more, kernel } in rows {
            let mut count = |column: &str, cell: &Cell| {
                if *cell == Cell::Null {
                    return;
                }
                let value = match cell {
                    Cell::Text(_) => cell.text().to_string(),
                    cell => json!(cell).to_string(),
                };
                *self.counts.entry(column.to_string()).or_default().entry(value).or_default() += 1;
            };
            for column in COUNTED {
                count(column, pair.get(column));
            }
            pair.get("kinds").list().iter().for_each(|kind| count("kinds", kind));
            count("gradient_checked", pair.get("verify.grad_ok"));
            for (config, row) in &more {
                for (_, column) in COUNTED_BESIDE.iter().filter(|(of, _)| of == config) {
                    let name = format!("{}.{column}", config.name());
                    match row.get(column) {
                        Cell::List(list) => list.iter().for_each(|cell| count(&name, cell)),
                        cell => count(&name, cell),
                    }
                }
            }
            self.add(Config::Pairs, pair, kernel)?;
            more.into_iter().try_for_each(|(config, row)| self.add(config, row, None))?;
        }
        Ok(())
    }

    fn add(&mut self, config: Config, row: Row, kernel: Option<Arc<Kernel>>) -> Result<()> {
        let name = row.get("split").text();
        let place = self.splits.iter_mut().find(|split| split.config == config && name == split.name);
        if let Some(split) = place {
            split.waiting.push(row);
            kernel.into_iter().for_each(|kernel| split.kernels.push(kernel));
            if split.waiting.len() >= GROUP_ROWS {
                split.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the files, then the journal's line. The files are encoded and written beside each
    /// other.
    pub fn finish(self, store: &mut Store, tally: Tally) -> Result<()> {
        let Writer { number, splits, counts } = self;
        let done = splits.into_par_iter().map(|split| split.finish(store, number)).collect::<Result<Vec<_>>>()?;
        let mut files: Vec<Entry> = Vec::new();
        let mut kernels = Kernels::default();
        for (written, measured) in done {
            files.extend(written);
            kernels.append(&measured, usize::MAX);
        }
        store.add(Shard { shard: number, files, tally, counts }, kernels)
    }
}

impl Split {
    fn flush(&mut self) -> Result<()> {
        let Split { waiting, table, lines, text, .. } = self;
        if waiting.is_empty() {
            return Ok(());
        }
        let rows: &[Row] = waiting;
        let (tabled, lined) = rayon::join(
            || table.as_mut().map_or(Ok(()), |table| table.push(rows)).map_err(failed),
            || lines.as_mut().map_or(Ok(()), |lines| write_lines(rows, text, lines)).map_err(failed),
        );
        tabled?;
        lined?;
        self.count += waiting.len() as u64;
        waiting.clear();
        Ok(())
    }

    /// Writes its files for shard `number`: none without rows. Returns them with what is measured.
    fn finish(mut self, store: &Store, number: u64) -> Result<(Vec<Entry>, Kernels)> {
        self.flush()?;
        let Split { config, name, count, table, lines, kernels, .. } = self;
        if count == 0 {
            return Ok((Vec::new(), kernels));
        }
        let path = format!("data/{}/{name}-{number:05}-of-{:05}", config.name(), store.options.shards());
        let file = |end: &str, bytes: Vec<u8>| store.file(format!("{path}{end}"), name, count, &bytes);
        let (table, lines) = rayon::join(
            || table.map(|table| file(TABLE, table.finish().map_err(failed)?)).transpose(),
            || lines.map(|lines| file(LINES, lines.finish().map_err(failed)?)).transpose(),
        );
        Ok((table?.into_iter().chain(lines?).collect(), kernels))
    }
}

/// By way of `text`: the encoder takes long pieces in a fraction of the time that single words
/// need.
fn write_lines(rows: &[Row], text: &mut Vec<u8>, out: &mut impl Write) -> std::io::Result<()> {
    text.clear();
    for row in rows {
        serde_json::to_writer(&mut *text, row)?;
        text.push(b'\n');
    }
    out.write_all(text)
}

/// Only memory is written to: what fails is a fault.
fn failed(error: impl std::fmt::Display) -> crate::dataset::Fail {
    fail(Code::E0999, format!("kc could not encode a shard: {error}"))
}
