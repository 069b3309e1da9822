//! No text makes kc fail: mutants of all kernels that are here end without a finding or with
//! findings that have codes, in bounded time and memory. What compiles becomes PTX that kc's own
//! parser and simulator take, and a sample is shown to ptxas and NVRTC.
//!
//! `KC_MUTANTS_SEED=N` begins with mutant N, `KC_MUTANTS_COUNT=N` makes so many,
//! `KC_MUTANTS_SHOW=1` prints the first, `KC_MUTANTS_EMIT=N` emits code for every Nth,
//! `KC_MUTANTS_TOOLS=N` shows every Nth of those to the CUDA tools.

#[path = "../common/mod.rs"]
mod common;
mod mutate;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use kc::diag::Level;
use kc::diag::render::{Format, Style, render};
use kc::driver::{Arch, Artefact, Compiler, Options, Request};
use kc::library::Library;
use mutate::{Random, mutant};

/// The first mutant of a run that names none: the same in every run, and other ones in the runs of
/// `tests/ledger.md`.
const FIRST: u64 = 1;

/// Mutants of one run.
const COUNT: u64 = 400;

/// Of the processor, for one mutant up to IR with its gradient. Unoptimised builds of kc take about
/// ten times as long.
const LIMIT: Duration = if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_secs(2) };

/// Of memory beyond what was held before.
const MEMORY: u64 = 512 << 20;

/// Mutants are made of texts of at most so many bytes.
const LENGTH: usize = 6000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn mutants_end_with_code_or_codes() {
    let first = variable("KC_MUTANTS_SEED").unwrap_or(FIRST);
    let count = variable("KC_MUTANTS_COUNT").unwrap_or(COUNT);
    let (emit, tools) = (variable("KC_MUTANTS_EMIT").unwrap_or(4), variable("KC_MUTANTS_TOOLS").unwrap_or(10));
    println!("seed {first}, {count} mutants");
    let texts = texts();
    let names: Vec<&str> = Library::public_names().collect();
    assert!(texts.len() > 100, "only {} texts", texts.len());
    let compiler = Compiler::new();
    let (mut clean, mut emitted, mut shown, mut slowest) = (0, 0, 0, Duration::ZERO);
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in first..first + count {
        let text = text_of(seed, &texts, &names);
        if seed == first && variable("KC_MUTANTS_SHOW").is_some() {
            println!("{text}");
        }
        // The tests' runner prints what was written when a test ends, and a crash ends it without:
        // this stays.
        if variable("KC_MUTANTS_TRACE").is_some() {
            eprintln!("{seed}");
        }
        match catch_unwind(AssertUnwindSafe(|| look(&compiler, &text, seed.is_multiple_of(emit)))) {
            Ok(Ok(seen)) => {
                slowest = slowest.max(seen.time);
                match seen.code {
                    Some(code) => *codes.entry(code).or_default() += 1,
                    None => clean += 1,
                }
                let Some(output) = seen.output else { continue };
                emitted += 1;
                if emitted % tools == 0 {
                    shown += 1;
                    if let Err(message) = output.for_tools() {
                        wrong.push((seed, message));
                    }
                }
            }
            Ok(Err(message)) => wrong.push((seed, message)),
            Err(panic) => {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                wrong.push((seed, format!("panic: {}", message.unwrap_or_default())));
            }
        }
    }
    println!(
        "clean {clean}, refused {}, emitted {emitted}, shown to ptxas and NVRTC {shown}, slowest {slowest:?}, wrong {}",
        codes.values().sum::<u64>(),
        wrong.len()
    );
    println!("{} codes: {codes:?}", codes.len());
    for (seed, message) in &wrong {
        println!("WRONG: seed {seed}: {message}");
    }
    assert!(wrong.is_empty(), "KC_MUTANTS_SEED=N KC_MUTANTS_COUNT=1 KC_MUTANTS_SHOW=1 shows one again");
    assert!(count < 200 || clean * 20 > count && codes.len() > 20, "mutants are all alike: {clean} clean, {codes:?}");
}

/// The text of a mutant.
fn text_of(seed: u64, texts: &[String], names: &[&str]) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (text, other) = (random.below(texts.len()), random.below(texts.len()));
    mutant(&texts[text], &texts[other], names, &mut random)
}

/// What came of a mutant.
struct Seen {
    /// Of the first error.
    code: Option<&'static str>,
    output: Option<Output>,
    time: Duration,
}

struct Output {
    ptx: String,
    cuda: String,
}

impl Output {
    fn for_tools(&self) -> Result<(), String> {
        common::assemble_ptx(&self.ptx, "sm_90").map_err(|log| format!("ptxas: {log}"))?;
        common::compile_cuda(&self.cuda, "sm_90").map(drop).map_err(|log| format!("NVRTC: {log}"))
    }
}

fn look(compiler: &Compiler, text: &str, emit: bool) -> Result<Seen, String> {
    let (before, begin) = (reset_peak(), processor_time());
    let mut compilation = compiler.load_text(Path::new("mutant.py"), text.to_string(), &Request::default());
    let time = processor_time() - begin;
    if time > LIMIT {
        return Err(format!("it takes {time:?}"));
    }
    if let (Some(before), Some(peak)) = (before, status("VmHWM:"))
        && peak > before + MEMORY
    {
        return Err(format!("it takes {} MiB", (peak - before) >> 20));
    }
    let fault = |compilation: &kc::driver::Compilation| {
        let found = compilation.diagnostics.iter().find(|d| d.code.name() == "E0999");
        found.map(|d| format!("E0999 {}", d.message))
    };
    if let Some(fault) = fault(&compilation) {
        return Err(fault);
    }
    let error = compilation.diagnostics.iter().find(|d| d.level == Level::Error);
    let code = error.map(|d| d.code.name());
    // Findings are drawn: their places must be in the text.
    if code.is_some() {
        for finding in compilation.diagnostics.iter() {
            drop(render(finding, &compilation.sources, Format::Full, Style::PLAIN));
        }
    }
    if code.is_some() || !emit || compilation.module.kernels().next().is_none() {
        return Ok(Seen { code, output: None, time });
    }
    let entries: Vec<String> = compilation
        .module
        .kernels()
        .map(|(_, kernel)| kc::abi::device_entry(&kernel.source_name, kernel.phase))
        .collect();
    let options = Options::default();
    let ptx = compilation.emit(Artefact::Ptx(Arch::DEFAULT), &options);
    let cuda = compilation.emit(Artefact::Cuda, &options);
    if let Some(fault) = fault(&compilation) {
        return Err(fault);
    }
    // A back end may refuse with a code (E0802: too much local memory), which is a finding like
    // others.
    let (Some(ptx), Some(cuda)) = (ptx, cuda) else {
        let error = compilation.diagnostics.iter().find(|d| d.level == Level::Error).ok_or("no code, and no error")?;
        return Ok(Seen { code: Some(error.code.name()), output: None, time });
    };
    let refused = compilation.diagnostics.iter().any(|d| d.level == Level::Error);
    let [ptx, cuda] = [ptx, cuda].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    decoded(&ptx, &entries, refused)?;
    Ok(Seen { code: None, output: Some(Output { ptx, cuda }), time })
}

/// Whether kc's own parser and simulator take its PTX.
fn decoded(ptx: &str, entries: &[String], refused: bool) -> Result<(), String> {
    let said = |e: kc::ptx::Error| format!("kc's PTX, line {}: {}", e.at.line, e.message);
    let parsed = kc::ptx::parse(ptx).map_err(said)?;
    // What the back end refused is not there.
    let mut made = entries.iter().filter(|entry| !refused || ptx.contains(&format!(".entry {entry}(")));
    made.try_for_each(|entry| kc::sim::decode(&parsed, entry).map(drop).map_err(said))
}

/// Kernels of the examples, the tests and the library, in pieces.
fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["examples", "tests/run", "tests/run", "tests/lang", "stdlib"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut texts = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a text of ours");
        if path.extension().is_some_and(|e| e == "md") {
            let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
            texts.extend(blocks.map(|(_, code)| code.to_string()).filter(|code| code.contains("@wp.kernel")));
        } else {
            texts.extend(pieces(&text));
        }
    }
    // One in ten of the pieces without kernels: library code is refused at its first line.
    let mut without = 0;
    texts.retain(|text: &String| {
        without += usize::from(!text.contains("@wp.kernel"));
        text.contains("@wp.kernel") || without.is_multiple_of(10)
    });
    // As files have it: most pieces and blocks go without.
    for text in texts.iter_mut().filter(|text| !text.contains("import warp")) {
        text.insert_str(0, "import warp as wp\n\n");
    }
    texts
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of ours").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "py" || e == "md") {
            files.push(path);
        }
    }
}

/// A text in pieces of whole definitions, each with the imports.
fn pieces(text: &str) -> Vec<String> {
    let head = text.split_once("\n\n\n").map_or("", |(head, _)| head).to_string() + "\n\n\n";
    // What is before the first definition names types and constants.
    let (mut all, mut piece) = (Vec::new(), String::new());
    for part in text.split_inclusive("\n\n\n") {
        if piece.len() + part.len() > LENGTH && !piece.is_empty() {
            all.push(std::mem::replace(&mut piece, head.clone()));
        }
        piece += part;
    }
    all.push(piece);
    all
}

fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock writes to a place of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Lets the greatest memory count from now; what is held now. None: the system does not tell.
fn reset_peak() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    status("VmRSS:")
}

fn status(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}
