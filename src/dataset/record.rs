//! What does a row hold? One program with everything that was made of it, and how its columns are called.

use serde_json::{Value, json};

use super::artefacts::{self, Compiled, Rejection, Texts};
use super::identity::Identity;
use super::sample::{Sample, random::Random};
use super::statics::Statics;
use super::verify::{Example, Launched, Tensor, Verdict};
use super::{Options, entry, identity, standalone, verify};
use crate::driver::Timings;
use crate::ir::{Module, Op};
use crate::syntax::ast::Parsed;

/// Version of the columns, and of how rows are chosen: sets of different versions are not continued or joined.
pub const SCHEMA: u32 = 3;

/// The licence of generated rows.
pub const LICENSE: &str = "CC0-1.0";

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
        true => Some(verify::verify(program, text, parsed, &compiled, seed, timings)?),
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
    let statics = Statics::of(&compiled.program.module, compiled.forward);
    let instructions = counts(&compiled.program.module);
    let hex = |hash: u64| format!("{hash:016x}");
    let checked = verdict.is_some();
    let verdict = verdict.unwrap_or_default();
    // A gradient that was checked may still be zero somewhere: that is a warning, and no reason.
    let skipped = verdict.grad_skipped.clone().or_else(|| compiled.no_backward.clone());
    let skipped = skipped.filter(|_| verdict.grad_ok.is_none());
    let if_checked = |value: Value| if checked { value } else { Value::Null };
    let has_code = texts.ptx.is_some() || texts.llvm_nvptx.is_some();
    let lengths = |count: fn(&str) -> u64| {
        let of = |text: &Option<String>| text.as_deref().map_or(0, count);
        json!({
            "py": count(text),
            "cuda": of(&texts.cuda_forward) + of(&texts.cuda_backward),
            "adjoint": of(&texts.adjoint),
            "ir": of(&texts.llvm_host) + of(&texts.llvm_nvptx),
            "ptx": of(&texts.ptx),
        })
    };
    json!({
        "id": "",
        "index": 0,
        "split": split(identity.skeleton),
        "category": sample.category.name(),
        "subcategory": subcategory(identity),
        "domain": sample.domain.name(),
        "tags": tags(identity, program.rank, statics.atomics > 0, compiled),
        "python_source": text,
        "cuda_forward": texts.cuda_forward,
        "cuda_backward": texts.cuda_backward,
        "cuda_standalone": texts.standalone,
        "adjoint_source": texts.adjoint,
        "llvm_ir_host": texts.llvm_host,
        "llvm_ir_nvptx": texts.llvm_nvptx,
        "ptx": texts.ptx,
        "ptx_arch": artefacts::arch().filter(|_| has_code).map(|arch| arch.name),
        "ptx_version": texts.ptx.as_deref().and_then(ptx_version),
        "entry": entry::entry(program, identity, compiled),
        "io": {"inputs": tensors(&example.inputs), "outputs": tensors(&example.outputs)},
        "alpha_hash": hex(identity.alpha),
        "ast_shape_hash": hex(identity.shape),
        "skeleton_hash": hex(identity.skeleton),
        "minhash": identity.sketch.0.as_slice(),
        "verify": {
            "host_ok": if_checked(verdict.host_ok.into()),
            "n_cases": verdict.shapes.len(),
            "shapes": verdict.shapes,
            "max_abs": if_checked(verdict.max_abs.into()),
            "max_ulp": if_checked(verdict.max_ulp.into()),
            "oob": if_checked(0.into()),
            "races": if_checked(0.into()),
            "f64_ok": verdict.f64_ok,
            "f64_error": verdict.f64_ok.map(|_| verdict.f64_error),
            "order_free": if_checked(verdict.order_free.into()),
            "grad_ok": verdict.grad_ok,
            "grad_rel_err": verdict.grad_ok.map(|_| verdict.grad_error),
            "grad_skipped_reason": skipped,
        },
        "complexity": {
            "stmts": identity.statements,
            "ast_nodes": identity.nodes,
            "ast_depth": identity.tree_depth,
            "cf_depth": identity.control_depth,
            "cyclomatic": identity.cyclomatic,
            "halstead_volume": identity.volume,
            "builtins": identity.builtins.len(),
            "ir_insts": instructions.all,
            "mem_ops": instructions.memory,
            "atomics": instructions.atomics,
        },
        "complexity_score": complexity_score(identity, instructions.all),
        "difficulty": difficulty(identity),
        "perf_static": {
            "flops": statics.flops,
            "int_ops": statics.int_ops,
            "bytes_read": statics.bytes_read,
            "bytes_written": statics.bytes_written,
            "arithmetic_intensity": statics.intensity(),
            "atomics": statics.atomics,
            "accesses_next": statics.accesses_next,
            "accesses_same": statics.accesses_same,
            "accesses_other": statics.accesses_other,
            "divergent": statics.divergent,
            "open_loops": statics.open_loops,
        },
        "tokens": lengths(tokens),
        "chars": lengths(|text| text.len() as u64),
        "provenance": {
            "seed": options.seed.to_string(),
            "candidate": candidate.to_string(),
            "mode": "grammar+template",
            "parent_id": null,
        },
        "generator_version": format!("kc {}", options.version),
        "schema_version": SCHEMA,
        "license": LICENSE,
    })
}

/// Arrays as rows show them.
fn tensors(list: &[Tensor]) -> Vec<Value> {
    let tensor =
        |t: &Tensor| json!({"name": t.name, "dtype": t.dtype, "shape": json!(t.shape).to_string(), "data": t.data});
    list.iter().map(tensor).collect()
}

/// The control flow of a kernel.
fn subcategory(identity: &Identity) -> &'static str {
    match (identity.has_while, identity.has_loop, identity.has_branch) {
        (true, _, _) => "while",
        (_, true, true) => "loop+branch",
        (_, true, _) => "loop",
        (_, _, true) => "branch",
        _ => "straight",
    }
}

/// The number after `.version`.
fn ptx_version(ptx: &str) -> Option<&str> {
    ptx.lines().find_map(|line| line.strip_prefix(".version")).map(str::trim)
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

fn tags(identity: &Identity, rank: usize, atomics: bool, compiled: &Compiled) -> Vec<String> {
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
    add("atomic", atomics);
    add("gradient", compiled.backward.is_some());
    add("random", identity.builtins.iter().any(|b| b == "rand_init"));
    tags
}

/// Instructions of all entries and functions, and those that read or write memory.
#[derive(Default)]
struct Counts {
    all: u32,
    memory: u32,
    atomics: u32,
}

fn counts(module: &Module) -> Counts {
    let mut counts = Counts::default();
    for function in module.functions.values().filter(|f| !f.library) {
        function.walk(function.entry, &mut |_, inst| {
            counts.all += 1;
            match inst.op {
                Op::Load { .. } | Op::Store { .. } => counts.memory += 1,
                Op::Atomic { .. } | Op::AtomicCas { .. } => {
                    counts.memory += 1;
                    counts.atomics += 1;
                }
                _ => {}
            }
        });
    }
    counts
}

/// Words, numbers and single signs: a count that every tool can repeat.
fn tokens(text: &str) -> u64 {
    // Comparisons alone, on pieces whose count fits into a byte: a row has tens of thousands of bytes, and so sixteen are
    // looked at together.
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() | (byte == b'_') | (byte == b'.');
    let begins = |last: u8, byte: u8| !byte.is_ascii_whitespace() & !(is_word(last) & is_word(byte));
    let Some((&first, rest)) = text.as_bytes().split_first() else { return 0 };
    let pieces = text.as_bytes().chunks(128).zip(rest.chunks(128));
    let counts = pieces.map(|(before, after)| {
        let piece = before.iter().zip(after).map(|(&last, &byte)| u8::from(begins(last, byte)));
        u64::from(piece.fold(0, u8::wrapping_add))
    });
    u64::from(begins(b' ', first)) + counts.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn words_numbers_and_signs_are_counted() {
        let long = "a_1 = 2.5e3*b[i]\n".repeat(40);
        for (text, count) in [("", 0), (" ", 0), ("x", 1), ("x y", 2), ("x+=1;", 5), (long.as_str(), 320)] {
            assert_eq!(tokens(text), count, "{text}");
        }
    }
}
