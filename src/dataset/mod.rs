//! How are verified kernels made in bulk? Programs are sampled, compiled, run, checked and written
//! as a data set.
//!
//! | file | question it answers |
//! |---|---|
//! | [`families`] | which programs do people write? |
//! | [`from`] | how do the kernels of somebody's own files become rows? |
//! | [`sample`] | what is a candidate for a row? |
//! | [`random`] | where do random choices come from? |
//! | [`plan`] | what is a program, for what comes after its making? |
//! | [`launch`] | how is a step of a program launched? |
//! | [`identity`] | when are two programs the same? |
//! | [`spelling`] | which spellings of a type mean the same? |
//! | [`near`] | are two nearly the same? |
//! | [`splits`] | which programs are kept apart? |
//! | [`artefacts`] | what is made of a program? |
//! | [`verify`] | is it right? |
//! | [`mod@reference`] | does it compute what it is for? |
//! | [`mutants`] | would its checks notice a mistake? |
//! | [`standalone`] | how does its kernel run by itself? |
//! | [`idiomatic`] | how would a person write it in CUDA? |
//! | [`statics`] | what does one of its threads do? |
//! | [`perf`] | what do its launches cost a GPU? |
//! | [`record`], [`entry`] | what does a row hold? |
//! | [`row`] | what is a row? |
//! | [`columns`] | which columns do rows have? |
//! | [`optimize`] | how were kernels before somebody made them faster? |
//! | [`repair`] | what do broken kernels look like, and how are they mended? |
//! | [`produce`] | in what order are rows made, and which? |
//! | [`store`] | how do rows lie on disk? |
//! | [`diversity`] | how different are the programs of a set? |
//! | [`natural`] | do they look like those of people? |
//! | [`goals`] | has a set what was asked of sets? |
//! | [`validate`] | is a set what it says? |
//!
//! Whether a candidate becomes a row depends on the options and its own number, and on candidates
//! with smaller numbers alone. So neither the number of threads nor an interruption changes a byte
//! of the result.

pub mod artefacts;
pub mod columns;
pub mod diversity;
pub mod entry;
pub mod families;
pub mod from;
pub mod goals;
pub mod identity;
pub mod idiomatic;
pub mod launch;
pub mod mutants;
pub mod natural;
pub mod near;
pub mod optimize;
pub mod perf;
pub mod plan;
pub mod produce;
pub mod random;
pub mod record;
pub mod reference;
pub mod repair;
pub mod row;
pub mod sample;
mod spelling;
mod splits;
pub mod standalone;
pub mod statics;
pub mod store;
pub mod validate;
pub mod verify;

use std::path::PathBuf;

use crate::diag::{Code, Diagnostic};
use families::Family;

/// Why a data set could not be made, read or trusted.
pub type Fail = Box<Diagnostic>;

pub type Result<T> = std::result::Result<T, Fail>;

pub fn fail(code: Code, message: impl Into<String>) -> Fail {
    Box::new(Diagnostic::new(code, message))
}

/// Which texts rows hold besides their source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Emit {
    /// CUDA C++.
    pub cuda: bool,
    /// CUDA C++ with a host `main` that checks the kernel; needs `cuda` and `verify`.
    pub standalone: bool,
    /// CUDA C++ as people write it, with a function that launches the kernels; needs `verify`.
    #[serde(default)]
    pub idiomatic: bool,
    /// The backward entries as IR text.
    pub adjoint: bool,
    /// Host LLVM IR.
    pub host: bool,
    /// Device LLVM IR.
    pub llvm: bool,
    pub ptx: bool,
    /// Whether programs are run and their gradients checked.
    pub verify: bool,
    /// The same in other languages, which only those get who ask for it.
    #[serde(default)]
    pub torch: bool,
    #[serde(default)]
    pub triton: bool,
    #[serde(default)]
    pub numba: bool,
    /// Without what models that write programs are not trained with: arrays and sketches.
    #[serde(default)]
    pub lean: bool,
}

impl Emit {
    pub const ALL: Emit = Emit {
        cuda: true,
        standalone: true,
        idiomatic: true,
        adjoint: true,
        host: true,
        llvm: true,
        ptx: true,
        verify: true,
        torch: false,
        triton: false,
        numba: false,
        lean: false,
    };
}

/// What makes two data sets the same: equal options give equal bytes.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Options {
    pub rows: u64,
    pub shard_rows: u64,
    pub seed: u64,
    /// Names of families, none for all.
    #[serde(default)]
    pub families: Vec<String>,
    pub emit: Emit,
    pub backward: bool,
    /// The folder that programs come from, in the place of families.
    #[serde(default)]
    pub from: Option<from::From>,
    /// Folders with what no program may share text with.
    #[serde(default)]
    pub exclude: Vec<PathBuf>,
    /// Of their texts.
    #[serde(default)]
    pub excluded: u64,
    /// Whether rows come with a faulty version of themselves, in the configuration `repair`.
    #[serde(default)]
    pub repair: bool,
    /// Whether they come with the slow programs that they were made of, in `optimize`.
    #[serde(default)]
    pub optimize: bool,
    /// The release of ptxas that says how many registers their threads have; None: it is not asked.
    #[serde(default)]
    pub ptxas: Option<String>,
    /// Changed programs that the checks of each row have to notice ([`mutants`]).
    #[serde(default)]
    pub mutants: u32,
    pub parquet: bool,
    pub jsonl: bool,
    /// Of kc.
    pub version: String,
    /// Of the columns and of how rows are chosen ([`record::SCHEMA`]).
    #[serde(default)]
    pub schema: u32,
}

/// A table of a set: people load one of them at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Config {
    /// Programs with what was made of them.
    Pairs,
    /// Programs with a fault, and how it shows.
    Repair,
    /// Programs on their way from slow to fast.
    Optimize,
}

impl Config {
    pub const ALL: [Config; 3] = [Config::Pairs, Config::Repair, Config::Optimize];

    /// Of its folder and in the card.
    pub fn name(self) -> &'static str {
        match self {
            Config::Pairs => "pairs",
            Config::Repair => "repair",
            Config::Optimize => "optimize",
        }
    }

    pub fn columns(self) -> columns::Columns {
        match self {
            Config::Pairs => columns::PAIRS,
            Config::Repair => columns::REPAIR,
            Config::Optimize => columns::OPTIMIZE,
        }
    }

    /// The column that holds the program of the row's parent, or of the row itself.
    pub fn program(self) -> &'static str {
        match self {
            Config::Pairs => "python_source",
            Config::Repair => "fixed_source",
            Config::Optimize => "fast_source",
        }
    }
}

/// Rows of a full shard, where nothing else is asked for.
pub const SHARD_ROWS: u64 = 4096;

/// More rows than anyone has room for.
pub const MAX_ROWS: u64 = 100_000_000;

impl Options {
    /// The tables of the set.
    pub fn configs(&self) -> impl Iterator<Item = Config> + use<> {
        let (repair, optimize) = (self.repair, self.optimize);
        Config::ALL.into_iter().filter(move |config| match config {
            Config::Pairs => true,
            Config::Repair => repair,
            Config::Optimize => optimize,
        })
    }

    /// The shards of the whole set.
    pub fn shards(&self) -> u64 {
        self.rows.div_ceil(self.shard_rows.max(1))
    }

    /// The rows of shard number `shard`.
    pub fn rows_of(&self, shard: u64) -> u64 {
        self.rows.saturating_sub(shard * self.shard_rows).min(self.shard_rows)
    }

    /// Whether programs of shard number `shard` may be among those that are measured
    /// ([`diversity`]).
    pub fn is_measured(&self, shard: u64) -> bool {
        shard * self.shard_rows < diversity::MEASURED
    }

    /// The algorithms that programs are of; the error names one that does not exist, and lists
    /// those that do.
    pub fn algorithms(&self) -> Result<Vec<&'static Family>> {
        if self.families.is_empty() {
            return Ok(families::families().iter().collect());
        }
        let unknown = |name: &str| {
            let mut error = fail(Code::E1404, format!("there is no family `{name}`"));
            let known: Vec<&str> = families::families().iter().map(|family| family.name).collect();
            error.help = Some(format!("the families are {}", known.join(", ")));
            error
        };
        self.families.iter().map(|name| families::find(name).ok_or_else(|| unknown(name))).collect()
    }
}

#[cfg(test)]
#[path = "../../tests/expressions/mod.rs"]
pub mod expressions;
#[cfg(test)]
mod tests;
