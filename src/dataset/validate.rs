//! Is a set what it says? Every row is made again from its place and compared byte by byte; splits
//! share no structure; every file is what was written.

use std::collections::HashMap;

use rayon::prelude::*;
use serde_json::{Value, json};

use super::random::Random;
use super::record::SCHEMA;
use super::store::Store;
use super::{Config, Result, fail, identity, produce, splits};
use crate::diag::{Code, Diagnostics};
use crate::driver::{Compiler, Compilers};
use crate::source::FileId;
use crate::syntax;

/// A row that is not what it should be.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Fault {
    pub file: String,
    pub row: String,
    pub reason: String,
}

/// What a validation looked at.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Report {
    pub rows: u64,
    /// Rows that were compiled, run and compared again.
    pub made_again: u64,
    /// Shards that are made elsewhere, or not yet.
    pub missing_shards: u64,
    pub faults: Vec<Fault>,
}

/// Checks a set. `share` of the rows are made again; with `leakage`, splits are compared.
pub fn validate(store: &Store, share: f64, leakage: bool) -> Result<Report> {
    let compilers = Compilers::default();
    let (theirs, ours) = ((store.options.version.as_str(), store.options.schema), (env!("CARGO_PKG_VERSION"), SCHEMA));
    if theirs != ours && share > 0.0 {
        let name = |(version, schema): (&str, u32)| format!("kc {version}, schema {schema}");
        let message = format!("the set was made by {}, this is {}", name(theirs), name(ours));
        let mut error = fail(Code::E1402, message);
        error.help = Some("`--sample 0` checks files and splits alone".to_string());
        return Err(error);
    }
    let source = match produce::Source::of(&store.options, &compilers) {
        Ok(source) => Some(source),
        Err(error) if share > 0.0 => return Err(error),
        Err(_) => None,
    };
    let mut report = Report::default();
    let mut sides = Sides::default();
    let mut parents = Parents::default();
    for entry in store.entries() {
        if !store.is_read(entry) {
            check_file(store, &entry.path, &entry.sha256, &mut report);
            continue;
        }
        let (rows, share) = match store.rows(entry) {
            Ok(rows) => (rows, share),
            Err(error) => {
                report.faults.push(Fault { file: entry.path.clone(), row: "-".into(), reason: error.message });
                // Which rows were changed, all of them can tell.
                (store.damaged_rows(entry), 1.0)
            }
        };
        if rows.len() as u64 != entry.rows && !rows.is_empty() {
            let reason = format!("it has {} rows, {} were written", rows.len(), entry.rows);
            report.faults.push(Fault { file: entry.path.clone(), row: "-".into(), reason });
        }
        report.rows += rows.len() as u64;
        for row in &rows {
            match entry.config() {
                Config::Pairs => parents.add(row),
                _ => report.faults.extend(parents.fault_of(entry, row)),
            }
        }
        if leakage && entry.config() != Config::Pairs {
            for row in &rows {
                sides.compare_beside(entry, row, &mut report);
            }
        }
        if leakage && entry.config() == Config::Pairs {
            for row in &rows {
                sides.compare(entry, row, &mut report);
            }
        }
        let chosen: Vec<&Value> = rows.iter().filter(|row| is_chosen(row, share)).collect();
        report.made_again += chosen.len() as u64;
        let faults: Vec<Option<Fault>> = chosen
            .par_iter()
            .map(|row| {
                let fault = |compiler: &_| fault_of(store, entry.config(), source.as_ref()?, row, compiler);
                let reason = compilers.lend(fault)?;
                Some(Fault { file: entry.path.clone(), row: text(row, "id"), reason })
            })
            .collect();
        report.faults.extend(faults.into_iter().flatten());
    }
    report.missing_shards = store.options.shards().saturating_sub(store.shards.len() as u64);
    let faults = store.file_faults().into_iter();
    report.faults.extend(faults.map(|(file, reason)| Fault { file, row: "-".into(), reason }));
    Ok(report)
}

fn check_file(store: &Store, path: &str, expected: &str, report: &mut Report) {
    let reason = match std::fs::read(store.folder.join(path)) {
        Ok(bytes) if super::store::sha256(&bytes) == expected => return,
        Ok(_) => "its SHA-256 differs from the journal".to_string(),
        Err(error) => crate::driver::reason(&error).to_string(),
    };
    report.faults.push(Fault { file: path.to_string(), row: "-".into(), reason });
}

fn text(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap_or_default().to_string()
}

/// The same rows each time.
fn is_chosen(row: &Value, share: f64) -> bool {
    Random::new(1, row["index"].as_u64().unwrap_or(0)).unit() < share
}

/// What is wrong with a row; None: nothing.
fn fault_of(
    store: &Store,
    config: Config,
    source: &produce::Source,
    row: &Value,
    compiler: &Compiler,
) -> Option<String> {
    let Some(number) = row["provenance"]["candidate"].as_str().and_then(|n| n.parse().ok()) else {
        return Some("`provenance.candidate` is no number".to_string());
    };
    let mut again = match produce::again(config, &store.options, source, number, compiler) {
        Ok(again) => json!(again),
        Err(rejection) => {
            return Some(format!("it does not pass the checks: {}: {}", rejection.cause, rejection.detail));
        }
    };
    for name in ["id", "index", "parent_id"] {
        if let Some(place) = again.get_mut(name) {
            *place = row[name].clone();
        }
    }
    // As it is written: what is no number in JSON is null.
    let again: Value = serde_json::from_str(&again.to_string()).ok()?;
    let (theirs, ours) = (row.as_object()?, again.as_object()?);
    for (name, _) in config.columns() {
        let name = name.split('.').next().unwrap_or(name);
        if theirs.get(name) != ours.get(name) {
            return Some(format!("`{name}` differs from what its program gives"));
        }
    }
    let extra = theirs.keys().find(|name| !ours.contains_key(*name));
    extra.map(|name| format!("`{name}` is no column"))
}

/// The programs of the table `pairs`, for the rows of the others: those of a shard follow its
/// pairs.
#[derive(Default)]
struct Parents {
    /// By index: the id and the program's hash.
    known: HashMap<u64, (String, u64)>,
}

impl Parents {
    fn add(&mut self, row: &Value) {
        let program = identity::hash64(text(row, "python_source").as_bytes());
        self.known.insert(row["index"].as_u64().unwrap_or(u64::MAX), (text(row, "id"), program));
    }

    /// What is wrong with the program that a row leads to.
    fn fault_of(&self, entry: &super::store::Entry, row: &Value) -> Option<Fault> {
        let parent = row["index"].as_u64().and_then(|index| self.known.get(&index));
        let column = entry.config().program();
        let reason = match parent {
            None => "there is no row of its program",
            Some((id, _)) if *id != text(row, "parent_id") => "`parent_id` is not the row of its program",
            // The versions of a ladder are programs of their own.
            Some(_) if !row["ladder"].is_null() => return None,
            Some((_, program)) if *program != identity::hash64(text(row, column).as_bytes()) => {
                &format!("`{column}` is not the program of its parent")
            }
            _ => return None,
        };
        Some(Fault { file: entry.path.clone(), row: text(row, "id"), reason: reason.to_string() })
    }
}

/// The structures of a set, and the split of what only one may have.
#[derive(Default)]
struct Sides {
    shapes: HashMap<u64, String>,
    owners: HashMap<u64, String>,
}

impl Sides {
    fn keys(&self, source: &str) -> Vec<u64> {
        splits::keys(&syntax::parse(FileId(0), source, &mut Diagnostics::new()))
    }

    /// The program of a row beside is in the split of its parent.
    fn compare_beside(&self, entry: &super::store::Entry, row: &Value, report: &mut Report) {
        let keys = self.keys(&text(row, entry.config().program()));
        // The kernels of a ladder need not be in any program.
        let is_own = !row["ladder"].is_null();
        let is_elsewhere = |key: &u64| self.owners.get(key).map_or(!is_own, |split| *split != entry.split);
        if keys.is_empty() || keys.iter().any(is_elsewhere) {
            let reason = "its program is in another split".to_string();
            report.faults.push(Fault { file: entry.path.clone(), row: text(row, "id"), reason });
        }
    }

    fn compare(&mut self, entry: &super::store::Entry, row: &Value, report: &mut Report) {
        let mut fault = |reason: String| {
            report.faults.push(Fault { file: entry.path.clone(), row: text(row, "id"), reason });
        };
        let source = text(row, "python_source");
        let Some(identity) = identity::of_text(&source) else {
            return fault("its source has no kernel".to_string());
        };
        if let Some(other) = self.shapes.insert(identity.shape, text(row, "id")) {
            fault(format!("it has the structure of {other}"));
        }
        for key in self.keys(&source) {
            let split = self.owners.entry(key).or_insert_with(|| entry.split.clone());
            if *split != entry.split {
                fault(format!("a kernel of it is in split {split} too"));
            }
        }
    }
}
