//! kc's CUDA text with plain parameters beside what a person writes for the same kernel: `NAME.cu`
//! in this folder, forward and, below the line `// The adjoint.`, a gradient derived by hand. Both
//! are run against the IR, so that both are right, and their lines are counted the same way: those
//! that are neither blank nor comments.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kc::codegen::cuda::{Abi, Argument, CudaOptions, PlainEntry, Texts, emit_with_entries};
use kc::driver::{Compiler, Gradients, Request};
use kc::ir::{FuncId, Function, FunctionKind, Module, Phase};
use kc::types::Type;
use libtest_mimic::Failed;

use crate::common;
use crate::host_text::{Numbers, assert_same_plain};

pub const NAMES: &[&str] = &[
    "early_exit",
    "gather_scatter",
    "image_filter",
    "layers",
    "nbody",
    "overwrites",
    "reduction",
    "row_max",
    "saxpy",
    "softmax",
    "sorting",
    "spmv",
    "springs",
    "stencil",
    "while_loop",
];

/// The most lines of kc's text for one of the hand-written, over the whole set.
const MOST_FORWARD: f64 = 1.2;
const MOST_BACKWARD: f64 = 1.5;
/// The same for one kernel.
const MOST_OF_ONE: f64 = 1.5;

const ADJOINT: &str = "\n// The adjoint.\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn hand_text(name: &str) -> Result<String, Failed> {
    Ok(std::fs::read_to_string(folder().join("hand_written").join(name).with_extension("cu"))?)
}

/// The module that a kernel's text is made of: that of the folder beside, or one of its own.
fn module(name: &str, backward: bool) -> Module {
    let golden = folder().join("golden").join(name).join("kernel.py");
    let own = folder().join("hand_written").join(name).with_extension("py");
    let gradients = Gradients { backward, ..Gradients::default() };
    let request = Request { gradients, ..Request::default() };
    let compilation = Compiler::new().load(if own.exists() { &own } else { &golden }, &request);
    compilation.apart().cloned().unwrap_or(compilation.module)
}

fn plain_text(module: &Module) -> Result<(String, Vec<PlainEntry>), Failed> {
    let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    let options = CudaOptions { abi: Abi::Plain, ..CudaOptions::default() };
    Ok(emit_with_entries(module, &kernels, &options, &Texts::new(0)).map_err(|diagnostic| diagnostic.message)?)
}

/// Both texts of a kernel compute what its IR does.
pub fn check(name: &str) -> Result<(), Failed> {
    let module = module(name, true);
    let (text, entries) = plain_text(&module)?;
    common::assert_cuda(&text, "sm_75");
    assert_same_plain(&module, &text, &entries, &[Numbers::Near]);
    let hand = hand_text(name)?;
    common::assert_cuda(&hand, "sm_75");
    let mut written = Vec::new();
    for (id, kernel) in module.kernels().filter(|(_, kernel)| kernel.phase != Phase::Augmented) {
        let suffix = if kernel.phase == Phase::Backward { "_backward" } else { "" };
        let entry = format!("{name}{suffix}");
        match parameters(&hand, &entry) {
            Some(list) => written.push(hand_entry(id, kernel, entry, &list)?),
            None if kernel.phase == Phase::Backward && !hand.contains(ADJOINT) => {}
            None => return Err(format!("{name}.cu has no `{entry}`").into()),
        }
    }
    assert_same_plain(&module, &hand, &written, &[Numbers::Near]);
    Ok(())
}

/// The names of a kernel's parameters.
fn parameters(text: &str, entry: &str) -> Option<Vec<String>> {
    let (_, rest) = text.split_once(&format!("__global__ void {entry}("))?;
    let (list, _) = rest.split_once(')')?;
    let last = |param: &str| param.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().map(str::to_string);
    list.split(',').map(|param| last(param.trim())).collect()
}

/// What each parameter is given, by its name.
fn hand_entry(kernel: FuncId, function: &Function, name: String, list: &[String]) -> Result<PlainEntry, Failed> {
    let FunctionKind::Kernel { rank } = function.kind else { return Err("no kernel".into()) };
    let launches = ["n", "threads", "layers", "rows", "cols"];
    let mut arguments = Vec::new();
    let mut launch = 0;
    for param in list {
        let own = (0..).zip(function.params()).find(|(n, _)| function.param_name(*n as usize) == *param);
        let extent = param.rsplit_once('_').and_then(|(array, word)| {
            let (n, param) = (0..).zip(function.params()).find(|(n, _)| function.param_name(*n as usize) == array)?;
            let Type::Array(array) = function.ty(*param) else { return None };
            let dim = match word {
                "size" | "rows" => 0,
                "cols" => array.ndim - 1,
                _ => word.strip_prefix("extent")?.parse().ok()?,
            };
            Some(Argument::Extent(n, dim))
        });
        arguments.push(match (own, extent) {
            (Some((n, &param)), _) if matches!(function.ty(param), Type::Array(_)) => Argument::Array(n),
            (Some((n, _)), _) => Argument::Value(n),
            (None, Some(extent)) => extent,
            (None, None) if launches.contains(&param.as_str()) => {
                launch += 1;
                Argument::Launch(launch - 1)
            }
            (None, None) => return Err(format!("{name}: what is `{param}`?").into()),
        });
    }
    Ok(PlainEntry { kernel, name, arguments, grid: rank, by_block: false })
}

/// Lines that are neither blank nor comments.
fn lines(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// How many lines kc needs where a person needs so many.
pub fn check_ratios() -> Result<(), Failed> {
    let mut table = "| kernel | forward: kc | by hand | ratio | backward: kc | by hand | ratio |\n".to_string();
    table.push_str("|---|---:|---:|---:|---:|---:|---:|\n");
    let (mut forward, mut backward) = ([0; 2], [0; 2]);
    let mut row = |name: &str, f: [usize; 2], b: Option<[usize; 2]>| {
        let part = |[kc, hand]: [usize; 2]| format!("{kc} | {hand} | {:.2}", kc as f64 / hand as f64);
        let b = b.map_or("| |".to_string(), part);
        let _ = writeln!(table, "| {name} | {} | {b} |", part(f));
    };
    let mut long = Vec::new();
    for name in NAMES {
        let own = lines(&plain_text(&module(name, false))?.0);
        let hand = hand_text(name)?;
        let (plain, adjoint) = hand.split_once(ADJOINT).map_or((hand.as_str(), None), |(f, b)| (f, Some(b)));
        let f = [own, lines(plain)];
        let b = match adjoint {
            Some(adjoint) => Some([lines(&plain_text(&module(name, true))?.0) - own, lines(adjoint)]),
            None => None,
        };
        row(name, f, b);
        let is_long = |part: &[usize; 2]| part[0] as f64 > MOST_OF_ONE * part[1] as f64;
        long.extend([Some(f), b].into_iter().flatten().filter(is_long).map(|_| *name));
        let add = |sum: &mut [usize; 2], part: [usize; 2]| (0..2).for_each(|n| sum[n] += part[n]);
        add(&mut forward, f);
        b.into_iter().for_each(|b| add(&mut backward, b));
    }
    row("**all**", forward, Some(backward));
    println!("{table}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cuda.md");
    let text = std::fs::read_to_string(&page)?;
    if !text.contains(&table) {
        if std::env::var_os("KC_BLESS").is_none() {
            return Err(format!("docs/cuda.md has another table than this:\n{table}").into());
        }
        let start = text.find("| kernel | forward: kc").ok_or("docs/cuda.md has no table")?;
        let end = text[start..].find("\n\n").map_or(text.len(), |at| start + at + 1);
        std::fs::write(&page, format!("{}{table}{}", &text[..start], &text[end..]))?;
    }
    let ratio = |[kc, hand]: [usize; 2]| kc as f64 / hand as f64;
    if ratio(forward) > MOST_FORWARD || ratio(backward) > MOST_BACKWARD || !long.is_empty() {
        return Err(format!("kc's text is too long {long:?}:\n{table}").into());
    }
    Ok(())
}
