//! `kc dataset`: verified kernels in bulk.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use serde_json::{Value, json};

use super::{Exit, output};
use crate::dataset::artefacts::Rejection;
use crate::dataset::from::{self, From, Grams, LeftOut};
use crate::dataset::produce::Event;
use crate::dataset::record::SCHEMA;
use crate::dataset::store::{Store, Writer};
use crate::dataset::{
    Config, Emit, Fail, MAX_ROWS, Options, Result, diversity, fail, goals, identity, natural, produce, validate,
};
use crate::diag::render::{Format, render};
use crate::diag::{Code, counted};
use crate::driver::{Compilers, Timings};
use crate::run::ptxas;
use crate::source::SourceMap;

/// Generates verified training data: kernels with their artefacts.
///
/// It compiles each kernel, runs it, checks its gradient, and writes what passed as Parquet and
/// JSONL.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Rows.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    count: u64,
    /// Directory to write, new or empty.
    #[arg(short, long, value_name = "DIR", default_value = "dataset")]
    out: PathBuf,
    /// Equal seeds give equal bytes.
    #[arg(short, long, default_value_t = 0)]
    seed: u64,
    /// Worker threads; 0: one per core. The result does not depend on it.
    #[arg(short, long, default_value_t = 0)]
    jobs: usize,
    /// Devices whose code rows hold.
    #[arg(short, long, value_delimiter = ',', value_name = "DEVICE", default_value = "cuda,cpu")]
    device: Vec<DeviceArg>,
    /// Texts that rows hold; by default all those of the devices.
    #[arg(long, value_delimiter = ',', value_name = "TEXT")]
    emit: Vec<EmitArg>,
    /// Backward code too (the default).
    #[arg(short, long, overrides_with = "no_backward")]
    backward: bool,
    /// No backward code.
    #[arg(long)]
    no_backward: bool,
    /// Do not run the programs: their results and gradients are not checked.
    #[arg(long)]
    no_verify: bool,
    /// Change each program so often, at random, and see whether its checks notice: programs whose
    /// checks notice less than 80 % are no rows. 0: none.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=100))]
    mutants: u32,
    /// A second table, `repair`: the programs with one fault each, what kc says of it, the diff
    /// that mends it, and the launch at which it shows.
    #[arg(long, conflicts_with = "no_verify")]
    repair: bool,
    /// Another table, `optimize`: the programs as they were before one or two optimisations, with
    /// what the simulator counts of each version, and the reason in words.
    #[arg(long, conflicts_with = "no_verify")]
    optimize: bool,
    /// Ask ptxas how many registers the threads of these versions have. It is found by `KC_PTXAS`,
    /// or on the search path.
    #[arg(long, requires = "optimize")]
    ptxas: bool,
    /// Make rows of the kernels in this folder instead: of Python files under a permissive licence.
    /// kc prints what it leaves out, and why.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["families", "shard", "count", "repair", "optimize", "balance"])]
    from: Option<PathBuf>,
    /// Leave out programs that have 13 words in a row in common with the texts in this folder.
    #[arg(long, value_name = "DIR")]
    exclude: Vec<PathBuf>,
    /// Append the programs that were rejected, and why, to this file as JSON lines.
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,
    /// Families of algorithms; by default all.
    #[arg(long, alias = "family", value_delimiter = ',', value_name = "NAME")]
    families: Vec<String>,
    /// Each family as often as the others (the default).
    #[arg(long)]
    balance: bool,
    /// File formats.
    #[arg(long, value_delimiter = ',', value_name = "FORMAT", default_value = "parquet,jsonl")]
    format: Vec<FileFormat>,
    /// Make only the shards I, I + N, ... of the set: N machines make it together,
    /// `kc dataset merge` joins their parts.
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// Rows of a shard.
    #[arg(long, value_name = "N", default_value_t = crate::dataset::SHARD_ROWS)]
    shard_rows: u64,
    /// Print how long the stages took, all threads together.
    #[arg(long)]
    timings: bool,
    /// Go on with a set that was interrupted.
    #[arg(long, alias = "checkpoint")]
    resume: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Verb {
    /// Shows what a set holds.
    Stats {
        dir: PathBuf,
        /// Measure how different its programs are, and whether it has what is asked of sets.
        #[arg(long)]
        diversity: bool,
        #[arg(long)]
        json: bool,
    },
    /// Makes rows again from their programs and compares; checks files and splits. Exit code 1 if
    /// anything differs.
    Validate {
        dir: PathBuf,
        /// Share of the rows that are made again.
        #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true)]
        sample: f64,
        /// Look for structures that splits share.
        #[arg(long)]
        leakage: bool,
        #[arg(long)]
        json: bool,
    },
    /// Shows one row.
    Show {
        dir: PathBuf,
        /// Its id or its index; `-repair` behind the index asks for the faulty version, `-optimize`
        /// for the slow ones.
        id: String,
        /// Only this column, as it is: `python_source`.
        #[arg(long)]
        column: Option<String>,
    },
    /// Prints the hashes of the kernels in files, as `src/dataset/known.txt` lists those that no
    /// set may hold.
    Identify {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Joins the parts that `--shard` made.
    Merge {
        /// Directories of parts.
        #[arg(required = true)]
        parts: Vec<PathBuf>,
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum DeviceArg {
    Cuda,
    Cpu,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum EmitArg {
    Cuda,
    Standalone,
    /// CUDA as people write it, with a host function.
    Idiomatic,
    /// The same in PyTorch, in the form of KernelBench, for some families; only where it is asked
    /// for, as the next two.
    Torch,
    /// A Triton kernel and the function that launches it.
    Triton,
    /// A Numba kernel and the function that launches it.
    Numba,
    Adjoint,
    Llvm,
    Ptx,
    Host,
    /// Tasks, conversations and programs alone, for fine-tuning: about 4 kB a row.
    Sft,
    /// All texts of the compiler (the default).
    Compiler,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum FileFormat {
    Parquet,
    Jsonl,
}

pub(super) fn run(args: &Args) -> Exit {
    let end = match &args.verb {
        None => generate(args).map(|()| Exit::Ok),
        Some(Verb::Stats { dir, diversity, json }) => show_stats(dir, *diversity, *json).map(|()| Exit::Ok),
        Some(Verb::Validate { dir, sample, leakage, json }) => check(dir, *sample, *leakage, *json),
        Some(Verb::Show { dir, id, column }) => show(dir, id, column.as_deref()).map(|()| Exit::Ok),
        Some(Verb::Identify { files }) => identify(files).map(|()| Exit::Ok),
        Some(Verb::Merge { parts, out }) => merge(parts, out).map(|()| Exit::Ok),
    };
    end.unwrap_or_else(|error| {
        output::err(&render(&error, &SourceMap::default(), Format::Full, output::style()));
        Exit::Errors
    })
}

fn options(args: &Args) -> Result<Options> {
    if args.count == 0 || args.count > MAX_ROWS {
        return Err(fail(Code::E1404, format!("a set has 1 to {MAX_ROWS} rows, not {}", args.count)));
    }
    if args.shard_rows == 0 || args.shard_rows > 1 << 20 {
        return Err(fail(Code::E1404, format!("a shard has 1 to {} rows, not {}", 1 << 20, args.shard_rows)));
    }
    if args.jobs > MAX_JOBS {
        return Err(fail(Code::E1404, format!("at most {MAX_JOBS} threads work together, not {}", args.jobs)));
    }
    let has = |device: DeviceArg| args.device.contains(&device);
    if let Some((text, why)) = args.emit.iter().find_map(|&text| Some((text, missing(text, args)?))) {
        let name = format!("{text:?}").to_lowercase();
        return Err(fail(Code::E1404, format!("rows cannot hold `--emit {name}`: {why}")));
    }
    let all = args.emit.is_empty() || args.emit.contains(&EmitArg::Compiler);
    let wants = |text: EmitArg| all || args.emit.contains(&text);
    if args.emit.contains(&EmitArg::Sft) && args.emit.len() > 1 {
        return Err(fail(Code::E1404, "`--emit sft` leaves all texts but the program out: it stands alone"));
    }
    let emit = Emit {
        // A stand-alone file is made of the kernel's text.
        cuda: has(DeviceArg::Cuda) && (wants(EmitArg::Cuda) || wants(EmitArg::Standalone)),
        standalone: has(DeviceArg::Cuda) && wants(EmitArg::Standalone) && !args.no_verify,
        idiomatic: has(DeviceArg::Cuda) && wants(EmitArg::Idiomatic) && !args.no_verify,
        adjoint: wants(EmitArg::Adjoint),
        host: has(DeviceArg::Cpu) && wants(EmitArg::Host),
        llvm: has(DeviceArg::Cuda) && wants(EmitArg::Llvm),
        ptx: has(DeviceArg::Cuda) && wants(EmitArg::Ptx),
        verify: !args.no_verify,
        torch: args.emit.contains(&EmitArg::Torch),
        triton: args.emit.contains(&EmitArg::Triton),
        numba: args.emit.contains(&EmitArg::Numba),
        lean: args.emit.contains(&EmitArg::Sft),
    };
    let sorted =
        |list: &[String]| list.iter().cloned().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    let ptxas = match args.ptxas {
        true => Some(ptxas::release().ok_or_else(|| {
            fail(Code::E1404, "`--ptxas` asks ptxas, and neither `KC_PTXAS` nor the search path leads to one")
        })?),
        false => None,
    };
    let options = Options {
        rows: args.count,
        shard_rows: args.shard_rows,
        seed: args.seed,
        families: sorted(&args.families),
        emit,
        backward: !args.no_backward,
        from: None,
        exclude: args.exclude.clone(),
        excluded: Grams::read(&args.exclude)?.digest(),
        repair: args.repair,
        optimize: args.optimize,
        ptxas,
        mutants: if args.no_verify { 0 } else { args.mutants },
        parquet: args.format.contains(&FileFormat::Parquet),
        jsonl: args.format.contains(&FileFormat::Jsonl),
        version: env!("CARGO_PKG_VERSION").to_string(),
        schema: SCHEMA,
    };
    options.algorithms()?;
    Ok(options)
}

/// Threads that one run may have: each has a large stack.
const MAX_JOBS: usize = 1024;

/// Why rows cannot hold a text that was asked for.
fn missing(text: EmitArg, args: &Args) -> Option<&'static str> {
    let device = match text {
        EmitArg::Cuda | EmitArg::Standalone | EmitArg::Idiomatic | EmitArg::Llvm | EmitArg::Ptx => {
            Some(DeviceArg::Cuda)
        }
        EmitArg::Host => Some(DeviceArg::Cpu),
        EmitArg::Adjoint | EmitArg::Torch | EmitArg::Triton | EmitArg::Numba | EmitArg::Sft | EmitArg::Compiler => None,
    };
    match text {
        _ if device.is_some_and(|device| !args.device.contains(&device)) => Some("`--device` leaves its device out"),
        EmitArg::Standalone | EmitArg::Idiomatic if args.no_verify => {
            Some("its numbers come from runs, which `--no-verify` leaves out")
        }
        EmitArg::Adjoint if args.no_backward => Some("`--no-backward` leaves gradients out"),
        _ => None,
    }
}

/// `I/N`
fn part(text: &str) -> Result<(u64, u64)> {
    let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse::<u64>().ok()?, n.parse::<u64>().ok()?)));
    match parsed {
        Some((i, n)) if i < n => Ok((i, n)),
        _ => Err(fail(Code::E1404, format!("`--shard {text}`: expected I/N with I from 0 to N - 1"))),
    }
}

/// The rows of somebody's own kernels.
fn from_folder(args: &Args, folder: &Path) -> Result<()> {
    let mut options = options(args)?;
    let (pool, compilers, mut timings) = (workers(args.jobs)?, Compilers::default(), Timings::default());
    let grams = Grams::read(&options.exclude)?;
    let found = pool.install(|| from::read(folder, &grams, &compilers))?;
    options.from = Some(From { folder: folder.to_path_buf(), digest: found.digest() });
    let from::Found { files, samples, mut left_out } = found;
    let places: Vec<(String, Option<String>)> = samples
        .iter()
        .map(|sample| (sample.meaning.source.clone(), sample.plan.steps.first().map(|step| step.kernel.clone())))
        .collect();
    let source = produce::Source::own(samples, grams);
    let (rows, tally, rejected) = pool.install(|| produce::own(&options, &source, &compilers, &mut timings));
    left_out.extend(rejected.into_iter().map(|(number, why)| {
        let (place, kernel) = places[number as usize].clone();
        LeftOut { place, kernel, cause: why.cause, detail: why.detail }
    }));
    if let Some(path) = &args.rejected {
        let lines: String = left_out.iter().map(|one| format!("{}\n", json!(one))).collect();
        std::fs::write(path, lines).map_err(|error| Rejected::unwritten(path, &error))?;
    }
    for LeftOut { place, kernel, cause, detail } in left_out.iter().filter(|_| !output::quiet()) {
        let kernel = kernel.as_ref().map_or(String::new(), |kernel| format!("kernel `{kernel}`: "));
        output::err(&format!("{place}: {kernel}{cause}: {detail}\n"));
    }
    if rows.is_empty() {
        let mut error = fail(Code::E1405, format!("no kernel of {} becomes a row", counted(files as usize, "file")));
        error.help = Some("each line above says what is in the way of a file or a kernel".to_string());
        return Err(error);
    }
    options.rows = rows.len() as u64;
    let mut store = Store::create(&args.out, &options, args.resume)?;
    store.keep_intact();
    let per_shard = options.shard_rows as usize;
    for (shard, rows) in rows.chunks(per_shard).enumerate() {
        let shard = shard as u64;
        if !store.shards.contains_key(&shard) {
            let mut writer = Writer::new(&store, shard)?;
            writer.push(rows.to_vec())?;
            let tally = if shard == 0 { tally.clone() } else { produce::Tally::default() };
            pool.install(|| writer.finish(&mut store, tally))?;
        }
    }
    if args.timings {
        output::err(&stage_times(&timings, options.rows));
    }
    finish(&store, &pool)?;
    let (made, out) = (counted(rows.len(), "row"), args.out.display());
    let files = counted(files as usize, "file");
    output::err(&format!("{made} of {files} in `{out}`; {} left out\n", left_out.len()));
    Ok(())
}

fn generate(args: &Args) -> Result<()> {
    if let Some(folder) = &args.from {
        return from_folder(args, folder);
    }
    let options = options(args)?;
    let (mine, parts) = args.shard.as_deref().map_or(Ok((0, 1)), part)?;
    let mut store = Store::create(&args.out, &options, args.resume)?;
    store.keep_intact();
    let pool = workers(args.jobs)?;
    let source = produce::Source::of(&options, &Compilers::default())?;
    let own = |shard: u64| shard % parts == mine;
    let total: u64 = (0..options.shards()).filter(|&s| own(s)).map(|s| options.rows_of(s)).sum();
    let mut progress = Progress::new(total);
    let mut seen = produce::Seen::default();
    let compilers = Compilers::default();
    let mut timings = Timings::default();
    let mut rejected = args.rejected.as_deref().map(Rejected::open).transpose()?;
    let last = (0..options.shards()).rev().find(|&s| own(s) && !store.shards.contains_key(&s));
    for shard in 0..options.shards() {
        // What comes after the last shard that is to be made need not be known.
        if last.is_none_or(|last| shard > last) {
            break;
        }
        if !own(shard) || store.shards.contains_key(&shard) {
            pool.install(|| produce::skip(&options, &source, shard, &mut seen));
            if own(shard) {
                progress.done += options.rows_of(shard);
            }
            continue;
        }
        let mut writer = Writer::new(&store, shard)?;
        let tally = pool.install(|| {
            let mut report = |event: Event| match event {
                Event::Rows(rows) => progress.show(rows),
                Event::Rejected(number, why) => {
                    let text = || produce::source(&options, &source, number);
                    rejected.iter_mut().for_each(|file| file.add(number, why, &text()));
                }
            };
            let mut sink = |rows| writer.push(rows);
            produce::shard(&options, &source, shard, &mut seen, &compilers, &mut timings, &mut report, &mut sink)
        })?;
        progress.done += options.rows_of(shard);
        timings.time("write", || pool.install(|| writer.finish(&mut store, tally)))?;
    }
    progress.end();
    rejected.map_or(Ok(()), Rejected::end)?;
    if args.timings {
        output::err(&stage_times(&timings, total));
    }
    if store.is_complete() {
        finish(&store, &pool)?;
        output::err(&format!("{} in `{}`\n", counted(options.rows as usize, "row"), args.out.display()));
    } else {
        let missing = options.shards() - store.shards.len() as u64;
        output::err(&format!(
            "{total} rows in `{}`; {missing} shards of the set are made elsewhere\n",
            args.out.display()
        ));
    }
    Ok(())
}

/// So many threads; 0: one per core.
fn workers(jobs: usize) -> Result<ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(jobs);
    // The stages recurse as deep as a program nests.
    builder.stack_size(64 << 20).build().map_err(|_| {
        let count = if jobs == 0 { "the worker threads".to_string() } else { format!("{jobs} worker threads") };
        let mut error =
            fail(Code::E1404, format!("this machine does not start {count}, for lack of memory or by a limit"));
        error.help = Some("ask for fewer with `--jobs`: more than there are cores gain nothing".to_string());
        error
    })
}

/// The file that `--rejected` names.
struct Rejected {
    path: PathBuf,
    file: std::fs::File,
    /// The first line that could not be written.
    failed: Option<std::io::Error>,
}

impl Rejected {
    fn open(path: &Path) -> Result<Rejected> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| Rejected::unwritten(path, &error))?;
        Ok(Rejected { path: path.to_path_buf(), file, failed: None })
    }

    fn add(&mut self, number: u64, why: &Rejection, source: &str) {
        let line = json!({"candidate": number, "cause": why.cause, "detail": why.detail, "python_source": source});
        if let Err(error) = self.file.write_all(format!("{line}\n").as_bytes()) {
            self.failed.get_or_insert(error);
        }
    }

    fn end(self) -> Result<()> {
        self.failed.map_or(Ok(()), |error| Err(Rejected::unwritten(&self.path, &error)))
    }

    fn unwritten(path: &Path, error: &std::io::Error) -> Fail {
        fail(Code::E0904, format!("cannot write `{}`: {}", path.display(), crate::driver::reason(error)))
    }
}

/// Seconds of all threads per stage, and milliseconds of each row.
fn stage_times(timings: &Timings, rows: u64) -> String {
    let line = |&(stage, spent): &(&str, Duration)| {
        let seconds = spent.as_secs_f64();
        format!("{stage:<16} {seconds:9.3} s {:9.3} ms per row\n", 1e3 * seconds / rows.max(1) as f64)
    };
    timings.stages().iter().map(line).collect()
}

fn finish(store: &Store, pool: &ThreadPool) -> Result<()> {
    store.sort_journal()?;
    store.finish(&stats(store, pool, true)?)
}

/// Counts and, if wanted, measures of the programs.
fn stats(store: &Store, pool: &ThreadPool, with_diversity: bool) -> Result<Value> {
    let mut counts = store.counts();
    let mut of = |column: &str| json!(counts.remove(column).unwrap_or_default());
    let graded = of("gradient_checked")["true"].as_u64().unwrap_or(0);
    let mut out = json!({
        "rows": store.rows_in(Config::Pairs),
        "bytes": store.entries().map(|entry| entry.bytes).sum::<u64>(),
        "gradients_checked": graded,
        "splits": of("split"),
        "categories": of("category"),
        "families": of("family"),
        "domains": of("domain"),
        "difficulty": of("difficulty"),
        "tally": store.tally(),
    });
    if store.options.repair {
        let mut of = |column: &str| json!(counts.remove(column).unwrap_or_default());
        out["repair"] = json!({
            "rows": store.rows_in(Config::Repair),
            "classes": of("repair.bug_class"),
            "kinds": of("repair.bug_kind"),
            "found_by": of("repair.found_by"),
        });
    }
    if store.options.optimize {
        let mut of = |column: &str| json!(counts.remove(column).unwrap_or_default());
        out["optimize"] = json!({
            "rows": store.rows_in(Config::Optimize),
            "changes": of("optimize.changes"),
            "metrics": of("optimize.gain.metric"),
        });
    }
    let kernels = pool.install(|| store.kernels())?;
    let kinds = counts.remove("kinds").unwrap_or_default();
    out["natural"] = natural::table(kernels.looks(), &kinds, store.rows_in(Config::Pairs));
    if with_diversity {
        out["diversity"] = pool.install(|| diversity::measure(&kernels));
    }
    Ok(out)
}

fn open(dir: &Path) -> Result<Store> {
    Store::open(dir)
}

fn print(value: &Value) -> Result<()> {
    output::out(format!("{value:#}\n").as_bytes()).map_err(Box::new)
}

fn show_stats(dir: &Path, with_diversity: bool, json: bool) -> Result<()> {
    let store = open(dir)?;
    store.expect_intact()?;
    let pool = workers(0)?;
    let mut stats = stats(&store, &pool, with_diversity)?;
    if with_diversity {
        let rows = store.first(&goals::COLUMNS)?;
        let families = stats["families"].as_object().map_or(0, |families| families.len());
        stats["goals"] = pool.install(|| goals::table(&rows, families, &stats["natural"], &stats["diversity"]));
    }
    if json {
        return print(&stats);
    }
    let mut text = String::new();
    table(&stats, 0, &mut text);
    output::out(text.as_bytes()).map_err(Box::new)
}

/// Names and values, indented as they nest.
fn table(value: &Value, depth: usize, text: &mut String) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let indent = "  ".repeat(depth);
        if let (Some(rows), Some(people)) = (value["rows"].as_f64(), value["people"].as_f64()) {
            // A line beside what was counted in programs of people.
            let (width, goal) = (40usize.saturating_sub(2 * depth), value["goal"].as_str().unwrap_or(""));
            *text += format!("{indent}{name:<width$} {rows:6.1} % people {people:5.1} %  {goal}").trim_end();
            text.push('\n');
        } else if let (Some(goal), Some(_)) = (value["goal"].as_str(), value.get("set")) {
            let cell = |value: &Value| value.as_f64().map_or("-".to_string(), |x| format!("{x}"));
            let (width, set, people) = (40usize.saturating_sub(2 * depth), cell(&value["set"]), cell(&value["people"]));
            *text += &format!("{indent}{name:<width$} {set:>6} people {people:>6}  {goal}\n");
        } else if value.is_object() {
            *text += &format!("{indent}{name}\n");
            table(value, depth + 1, text);
        } else {
            let width = 28usize.saturating_sub(2 * depth);
            *text += &format!("{indent}{name:<width$} {value}\n");
        }
    }
}

fn check(dir: &Path, sample: f64, leakage: bool, json: bool) -> Result<Exit> {
    if !(0.0..=1.0).contains(&sample) {
        return Err(fail(Code::E1404, format!("`--sample {sample}`: expected a share from 0 to 1")));
    }
    let store = open(dir)?;
    let report = workers(0)?.install(|| validate::validate(&store, sample, leakage))?;
    if json {
        print(&json!(report))?;
    } else {
        let mut text = String::new();
        for fault in &report.faults {
            text += &format!("{}: {}: {}\n", fault.file, fault.row, fault.reason);
        }
        text += &format!(
            "{}, {} made again, {}\n",
            counted(report.rows as usize, "row"),
            report.made_again,
            counted(report.faults.len(), "fault")
        );
        if report.missing_shards > 0 {
            text += &format!("{} shards of the set are not here\n", report.missing_shards);
        }
        output::out(text.as_bytes()).map_err(Box::new)?;
    }
    Ok(if report.faults.is_empty() { Exit::Ok } else { Exit::Errors })
}

fn show(dir: &Path, id: &str, column: Option<&str>) -> Result<()> {
    let tables = Config::ALL.into_iter().filter(|config| *config != Config::Pairs);
    let of = |config: Config| Some((id.strip_suffix(config.name())?.strip_suffix('-')?, config));
    let (name, config) = tables.filter_map(of).next().unwrap_or((id, Config::Pairs));
    // The id ends in the index.
    let index: Option<u64> = name.rsplit('-').next().and_then(|index| index.parse().ok());
    let found = index.map(|index| open(dir)?.row(config, index)).transpose()?.flatten();
    let found = found.filter(|row| row["id"] == id || name.parse().ok() == row["index"].as_u64());
    let Some(row) = found else {
        return Err(fail(Code::E1404, format!("`{}` has no row `{id}`", dir.display())));
    };
    let Some(column) = column else { return print(&row) };
    match column.split('.').fold(&row, |value, name| &value[name]) {
        Value::Null => Err(fail(Code::E1404, format!("row `{id}` has nothing in `{column}`"))),
        Value::String(text) => output::out(text.as_bytes()).map_err(Box::new),
        value => print(value),
    }
}

fn identify(files: &[PathBuf]) -> Result<()> {
    let mut lines = std::collections::BTreeSet::new();
    for path in files {
        let text = std::fs::read_to_string(path).map_err(|e| {
            fail(Code::E0901, format!("cannot read `{}`: {}", path.display(), crate::driver::reason(&e)))
        })?;
        lines.extend(identity::kernels(&text).map(|kernel| identity::shape_line(&identity::of_kernel(&kernel))));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    output::out(text.as_bytes()).map_err(Box::new)
}

fn merge(parts: &[PathBuf], out: &Path) -> Result<()> {
    let opened: Vec<Store> = parts.iter().map(|part| Store::open(part)).collect::<Result<_>>()?;
    let Some(first) = opened.first() else { return Err(fail(Code::E1404, "no parts are given")) };
    let missing: Vec<String> = (0..first.options.shards())
        .filter(|s| !opened.iter().any(|part| part.shards.contains_key(s)))
        .take(8)
        .map(|s| s.to_string())
        .collect();
    if !missing.is_empty() {
        return Err(fail(Code::E1403, format!("the parts lack shards: {}", missing.join(", "))));
    }
    // One that was interrupted goes on.
    let mut store = Store::create(out, &first.options, true)?;
    store.keep_intact();
    for part in &opened {
        store.adopt(part)?;
    }
    finish(&store, &workers(0)?)
}

/// A line that is drawn again and again; nothing where nobody looks.
struct Progress {
    total: u64,
    done: u64,
    start: Instant,
    /// When it was drawn.
    drawn: Option<Instant>,
    visible: bool,
}

impl Progress {
    fn new(total: u64) -> Progress {
        let visible = std::io::stderr().is_terminal();
        Progress { total, done: 0, start: Instant::now(), drawn: None, visible }
    }

    /// `rows` of the current shard are there.
    fn show(&mut self, rows: u64) {
        if !self.visible || self.drawn.is_some_and(|at| at.elapsed().as_millis() < 200) {
            return;
        }
        self.drawn = Some(Instant::now());
        let rows = self.done + rows;
        let rate = rows as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        let left = self.total.saturating_sub(rows) as f64 / rate.max(1e-3);
        output::err(&format!("\r{rows}/{} rows, {rate:.0}/s, {left:.0} s left\x1b[K", self.total));
    }

    fn end(&self) {
        if self.visible {
            output::err("\r\x1b[K");
        }
    }
}
