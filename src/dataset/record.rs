//! What does a row hold? One program with everything that was made of it, and how its columns are called.

use serde_json::{Value, json};

use super::artefacts::{self, Compiled, Rejection, Texts};
use super::identity::Identity;
use super::launch;
use super::sample::tree::Given;
use super::sample::{Sample, random::Random};
use super::verify::{Example, Launched, Verdict};
use super::{Options, identity, standalone, verify};
use crate::driver::Timings;
use crate::ir::{Module, Op};
use crate::syntax::ast::Parsed;

/// Version of the columns, and of how rows are chosen: sets of different versions are not continued or joined.
pub const SCHEMA: u32 = 2;

/// The licence of generated rows.
pub const LICENSE: &str = "CC0-1.0";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    Text,
    OptionalText,
    Int,
    Float,
    Bool,
    OptionalBool,
    TextList,
}

/// The columns of both formats, in order; a dot leads into a struct.
pub const COLUMNS: &[(&str, ColumnType)] = {
    use ColumnType::*;
    &[
        ("id", Text),
        ("index", Int),
        ("split", Text),
        ("category", Text),
        ("domain", Text),
        ("tags", TextList),
        ("python_source", Text),
        ("cuda_forward", OptionalText),
        ("cuda_backward", OptionalText),
        ("cuda_standalone", OptionalText),
        ("adjoint_source", OptionalText),
        ("llvm_ir_host", OptionalText),
        ("llvm_ir_nvptx", OptionalText),
        ("ptx", OptionalText),
        ("kernel", Text),
        ("launch", Text),
        ("io", Text),
        ("hashes.alpha", Text),
        ("hashes.shape", Text),
        ("hashes.skeleton", Text),
        ("verify.host_ok", OptionalBool),
        ("verify.shapes", TextList),
        ("verify.max_ulp", Int),
        ("verify.f64_ok", OptionalBool),
        ("verify.f64_error", Float),
        ("verify.order_free", OptionalBool),
        ("verify.grad_ok", OptionalBool),
        ("verify.grad_error", Float),
        ("verify.grad_skipped", OptionalText),
        ("complexity.statements", Int),
        ("complexity.ast_nodes", Int),
        ("complexity.ast_depth", Int),
        ("complexity.control_depth", Int),
        ("complexity.cyclomatic", Int),
        ("complexity.builtins", Int),
        ("complexity.ir_instructions", Int),
        ("complexity.memory_ops", Int),
        ("complexity.atomics", Int),
        ("complexity_score", Float),
        ("difficulty", Int),
        ("tokens.python", Int),
        ("tokens.cuda", Int),
        ("tokens.ptx", Int),
        ("provenance.seed", Text),
        ("provenance.candidate", Text),
        ("provenance.mode", Text),
        ("provenance.generator", Text),
        ("schema_version", Int),
        ("license", Text),
    ]
};

/// Makes a row of a candidate, parsed if that gave no finding: compiles it, checks it, measures it. `index` and `id` are set
/// when its place is known.
pub fn make(
    sample: &Sample,
    text: &str,
    parsed: Option<&Parsed>,
    identity: &Identity,
    candidate: u64,
    options: &Options,
    timings: &mut Timings,
) -> Result<Value, Rejection> {
    let program = &sample.program;
    let (backward, verify) = (options.backward, options.emit.verify);
    let compiled = artefacts::compile(text, parsed, &program.kernel.name, backward, verify, timings)?;
    let seed = Random::new(options.seed, candidate).word();
    let checked = match options.emit.verify {
        true => Some(verify::verify(program, text, &compiled, seed, timings)?),
        false => None,
    };
    let mut texts = artefacts::texts(&compiled, options.emit, timings)?;
    if let (true, Some(cuda), Some(checked)) = (options.emit.standalone, &texts.cuda_forward, &checked) {
        let Launched { size, before, after } = &checked.few;
        texts.standalone = timings.time("standalone", || standalone::source(&compiled, cuda, size, before, after));
    }
    let (verdict, example) = match checked {
        Some(checked) => {
            let example = checked.example(&compiled);
            (Some(checked.verdict), example)
        }
        None => (None, Example::default()),
    };
    Ok(timings.time("row", || row(sample, text, identity, candidate, options, &compiled, verdict, &example, &texts)))
}

fn row(
    sample: &Sample,
    text: &str,
    identity: &Identity,
    candidate: u64,
    options: &Options,
    compiled: &Compiled,
    verdict: Option<Verdict>,
    example: &Example,
    texts: &Texts,
) -> Value {
    let program = &sample.program;
    let (instructions, memory, atomics) = counts(&compiled.program.module);
    let score = complexity_score(identity, instructions);
    let hex = |hash: u64| format!("{hash:016x}");
    let args: Vec<Value> = program
        .params
        .iter()
        .map(|param| match &param.given {
            Given::Array { shape, .. } => {
                json!({"name": param.name, "type": param.ty, "kind": "array", "shape": launch::shape_text(shape)})
            }
            Given::Count(_) => json!({"name": param.name, "type": param.ty, "kind": "count"}),
            Given::Int(n) => json!({"name": param.name, "type": param.ty, "kind": "value", "value": n}),
            Given::Float(list) => json!({"name": param.name, "type": param.ty, "kind": "value", "value": list}),
            Given::Struct(fields) => {
                let names: Vec<&String> = fields.iter().map(|f| &f.0).collect();
                json!({"name": param.name, "type": param.ty, "kind": "struct", "fields": names})
            }
        })
        .collect();
    let launch = json!({"rank": program.rank, "rounded_up": program.guarded, "block_dim": 256, "args": args});
    let checked = verdict.is_some();
    let verdict = verdict.unwrap_or_default();
    let flag = |value: bool| if checked { Value::Bool(value) } else { Value::Null };
    json!({
        "id": "",
        "index": 0,
        "split": split(identity.skeleton),
        "category": sample.category.name(),
        "domain": sample.domain.name(),
        "tags": tags(identity, program.rank, atomics, compiled),
        "python_source": text,
        "cuda_forward": texts.cuda_forward,
        "cuda_backward": texts.cuda_backward,
        "cuda_standalone": texts.standalone,
        "adjoint_source": texts.adjoint,
        "llvm_ir_host": texts.llvm_host,
        "llvm_ir_nvptx": texts.llvm_nvptx,
        "ptx": texts.ptx,
        "kernel": program.kernel.name,
        "launch": launch.to_string(),
        "io": serde_json::to_string(example).unwrap_or_default(),
        "hashes": {"alpha": hex(identity.alpha), "shape": hex(identity.shape), "skeleton": hex(identity.skeleton)},
        "verify": {
            "host_ok": flag(verdict.host_ok),
            "shapes": verdict.shapes,
            "max_ulp": verdict.max_ulp,
            "f64_ok": verdict.f64_ok,
            "f64_error": verdict.f64_error,
            "order_free": flag(verdict.order_free),
            "grad_ok": verdict.grad_ok,
            "grad_error": verdict.grad_error,
            "grad_skipped": verdict.grad_skipped.or_else(|| compiled.no_backward.clone()),
        },
        "complexity": {
            "statements": identity.statements,
            "ast_nodes": identity.nodes,
            "ast_depth": identity.tree_depth,
            "control_depth": identity.control_depth,
            "cyclomatic": identity.cyclomatic,
            "builtins": identity.builtins.len(),
            "ir_instructions": instructions,
            "memory_ops": memory,
            "atomics": atomics,
        },
        "complexity_score": score,
        "difficulty": difficulty(identity),
        "tokens": {
            "python": tokens(text),
            "cuda": texts.cuda_forward.as_deref().map_or(0, tokens) + texts.cuda_backward.as_deref().map_or(0, tokens),
            "ptx": texts.ptx.as_deref().map_or(0, tokens),
        },
        "provenance": {
            "seed": options.seed.to_string(),
            "candidate": candidate.to_string(),
            "mode": "grammar+template",
            "generator": format!("kc {}", options.version),
        },
        "schema_version": SCHEMA,
        "license": LICENSE,
    })
}

/// The split of a structure: all rows of one skeleton are on one side.
pub fn split(skeleton: u64) -> &'static str {
    match identity::hash64(&skeleton.to_le_bytes()) % 100 {
        0 => "validation",
        1 => "test",
        _ => "train",
    }
}

/// From 1 to 5, at the quantiles of people's kernels: statements 3, 5, 11, 31; nesting counts as well.
fn difficulty(identity: &Identity) -> u32 {
    let by_size = [3, 5, 11, 31].iter().filter(|&&cut| identity.statements > cut).count() as u32;
    (1 + by_size + identity.control_depth.saturating_sub(1)).min(5)
}

/// Grows with size, nesting, decisions and instructions; about 1 for the median row.
fn complexity_score(identity: &Identity, instructions: u32) -> f64 {
    let terms = f64::from(identity.statements) / 9.0
        + f64::from(identity.control_depth) / 2.0
        + f64::from(identity.cyclomatic) / 4.0
        + f64::from(instructions) / 200.0;
    (terms * 25.0).round() / 100.0
}

fn tags(identity: &Identity, rank: usize, atomics: u32, compiled: &Compiled) -> Vec<String> {
    let mut tags = vec![format!("{rank}d")];
    let mut add = |name: &str, has: bool| {
        if has {
            tags.push(name.to_string());
        }
    };
    add("loop", identity.has_loop);
    add("while", identity.has_while);
    add("branch", identity.has_branch);
    add("function", identity.calls_functions);
    add("atomic", atomics > 0);
    add("gradient", compiled.backward.is_some());
    add("random", identity.builtins.iter().any(|b| b == "rand_init"));
    tags
}

/// Instructions of all entries and functions, and those that read or write memory.
fn counts(module: &Module) -> (u32, u32, u32) {
    let (mut all, mut memory, mut atomics) = (0, 0, 0);
    for function in module.functions.values().filter(|f| !f.library) {
        function.walk(function.entry, &mut |_, inst| {
            all += 1;
            match inst.op {
                Op::Load { .. } | Op::Store { .. } => memory += 1,
                Op::Atomic { .. } | Op::AtomicCas { .. } => {
                    memory += 1;
                    atomics += 1;
                }
                _ => {}
            }
        });
    }
    (all, memory, atomics)
}

/// Words, numbers and single signs: a count that every tool can repeat.
fn tokens(text: &str) -> u64 {
    // One addition a byte and no branch: a row has tens of thousands.
    let mut count = 0;
    let mut last = Class::Blank;
    for byte in text.bytes() {
        let class = CLASSES[usize::from(byte)];
        count += u64::from((class == Class::Sign) | ((class == Class::Word) & (last != Class::Word)));
        last = class;
    }
    count
}

/// What a byte is to [`tokens`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Word,
    Sign,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Sign; 256];
    let mut byte = 0;
    while byte < 256 {
        let is = byte as u8;
        if is.is_ascii_alphanumeric() || is == b'_' || is == b'.' {
            classes[byte] = Class::Word;
        } else if is.is_ascii_whitespace() {
            classes[byte] = Class::Blank;
        }
        byte += 1;
    }
    classes
};
