//! How are verified kernels made in bulk? Programs are sampled, compiled, run, checked and written
//! as a data set.
//!
//! | file | question it answers |
//! |---|---|
//! | [`families`] | which programs do people write? |
//! | [`sample`] | what else can be said in the language? |
//! | [`plan`] | what is a program, for what comes after its making? |
//! | [`launch`] | how is a step of a program launched? |
//! | [`identity`] | when are two programs the same? |
//! | [`spelling`] | which spellings of a type mean the same? |
//! | [`near`] | are two nearly the same? |
//! | [`splits`] | which programs are kept apart? |
//! | [`artefacts`] | what is made of a program? |
//! | [`verify`] | is it right? |
//! | [`mod@reference`] | does it compute what it is for? |
//! | [`standalone`] | how does its kernel run by itself? |
//! | [`statics`] | what does one of its threads do? |
//! | [`perf`] | what do its launches cost a GPU? |
//! | [`record`], [`entry`] | what does a row hold? |
//! | [`row`] | what is a row? |
//! | [`columns`] | which columns do rows have? |
//! | [`repair`] | what do broken kernels look like, and how are they mended? |
//! | [`produce`] | in what order are rows made, and which? |
//! | [`store`] | how do rows lie on disk? |
//! | [`diversity`] | how different are the programs of a set? |
//! | [`natural`] | do they look like those of people? |
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
pub mod identity;
pub mod launch;
pub mod natural;
pub mod near;
pub mod perf;
pub mod plan;
pub mod produce;
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

use crate::diag::{Code, Diagnostic};
use families::Family;
use sample::{Category, Sample};

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
    /// The backward entries as IR text.
    pub adjoint: bool,
    /// Host LLVM IR.
    pub host: bool,
    /// Device LLVM IR.
    pub llvm: bool,
    pub ptx: bool,
    /// Whether programs are run and their gradients checked.
    pub verify: bool,
}

impl Emit {
    pub const ALL: Emit =
        Emit { cuda: true, standalone: true, adjoint: true, host: true, llvm: true, ptx: true, verify: true };
}

/// What makes two data sets the same: equal options give equal bytes.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Options {
    pub rows: u64,
    pub shard_rows: u64,
    pub seed: u64,
    /// Which programs are made: a name of [`Generator::NAMES`].
    #[serde(default = "stress")]
    pub config: String,
    /// Of [`Generator::Programs`]: names of families, none for all.
    #[serde(default)]
    pub families: Vec<String>,
    /// Of [`Generator::Stress`]: names of categories, none for all.
    pub categories: Vec<String>,
    pub emit: Emit,
    pub backward: bool,
    /// Whether rows come with a faulty version of themselves, in the configuration `repair`.
    #[serde(default)]
    pub repair: bool,
    pub parquet: bool,
    pub jsonl: bool,
    /// Of kc.
    pub version: String,
    /// Of the columns and of how rows are chosen ([`record::SCHEMA`]).
    #[serde(default)]
    pub schema: u32,
}

/// What older sets were made of.
fn stress() -> String {
    Generator::NAMES[1].to_string()
}

/// Which programs a set is made of.
#[derive(Clone, Debug)]
pub enum Generator {
    /// Algorithms as people write them.
    Programs(Vec<&'static Family>),
    /// Expressions of all that the language has, for tests of compilers.
    Stress(Vec<Category>),
}

impl Generator {
    /// As users write them; the first is what they get where they say nothing.
    pub const NAMES: [&str; 2] = ["programs", "stress"];

    /// Candidate number `number` of `seed`.
    pub fn sample(&self, seed: u64, number: u64) -> Sample {
        match self {
            Generator::Programs(list) => families::sample(seed, number, list),
            Generator::Stress(categories) => sample::sample(seed, number, categories),
        }
    }
}

/// A table of a set: people load one of them at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Config {
    /// Programs with what was made of them.
    Pairs,
    /// Programs with a fault, and how it shows.
    Repair,
}

impl Config {
    pub const ALL: [Config; 2] = [Config::Pairs, Config::Repair];

    /// Of its folder and in the card.
    pub fn name(self) -> &'static str {
        match self {
            Config::Pairs => "pairs",
            Config::Repair => "repair",
        }
    }

    pub fn columns(self) -> columns::Columns {
        match self {
            Config::Pairs => columns::PAIRS,
            Config::Repair => columns::REPAIR,
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
        let repair = self.repair;
        Config::ALL.into_iter().filter(move |config| repair || *config == Config::Pairs)
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

    /// What makes the programs; the error names what does not exist, and lists what does.
    pub fn generator(&self) -> Result<Generator> {
        let unknown = |what: &str, name: &str, plural: &str, known: Vec<&str>| {
            let mut error = fail(Code::E1404, format!("there is no {what} `{name}`"));
            error.help = Some(format!("the {plural} are {}", known.join(", ")));
            error
        };
        let categories = || Category::ALL.iter().map(|category| category.name()).collect::<Vec<_>>();
        let families = || families::families().iter().map(|family| family.name).collect::<Vec<_>>();
        let other = |what: &str, config: &str| {
            fail(Code::E1404, format!("the configuration `{}` has no {what}: say `--config {config}`", self.config))
        };
        match self.config.as_str() {
            "programs" if self.categories.is_empty() => {
                let find =
                    |name: &String| families::find(name).ok_or_else(|| unknown("family", name, "families", families()));
                match self.families.is_empty() {
                    true => Ok(Generator::Programs(families::families().iter().collect())),
                    false => Ok(Generator::Programs(self.families.iter().map(find).collect::<Result<_>>()?)),
                }
            }
            "programs" => Err(match self.categories.iter().find(|name| Category::from_name(name).is_none()) {
                Some(name) => unknown("category", name, "categories", categories()),
                None => other("categories", "stress"),
            }),
            "stress" if self.families.is_empty() => {
                let find = |name: &String| {
                    Category::from_name(name).ok_or_else(|| unknown("category", name, "categories", categories()))
                };
                match self.categories.is_empty() {
                    true => Ok(Generator::Stress(Category::ALL.to_vec())),
                    false => Ok(Generator::Stress(self.categories.iter().map(find).collect::<Result<_>>()?)),
                }
            }
            "stress" => Err(other("families", "programs")),
            name => Err(unknown("configuration", name, "configurations", Generator::NAMES.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests;
