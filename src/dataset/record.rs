//! What does a row hold? One program with everything that was made of it, and how its columns are
//! called.

use serde_json::json;

use super::artefacts::{self, Compiled, Rejection, Texts};
use super::columns::LIST;
use super::identity::Identity;
use super::perf::{self, Perf};
use super::plan::Plan;
use super::random::Random;
use super::row::{Cell, Row};
use super::sample::Sample;
use super::statics::Statics;
use super::verify::{Example, Tensor, Verdict};
use super::{Config, Options, entry, idiomatic, mutants, standalone, verify};
use crate::driver::{Compiler, Timings};
use crate::ir::Module;
use crate::syntax::ast::Parsed;

/// Version of the columns, and of how rows are chosen: sets of different versions are not continued
/// or joined.
pub const SCHEMA: u32 = 14;

/// The licence of generated rows.
pub const LICENSE: &str = "CC0-1.0";

/// Makes a row of a candidate, parsed if that gave no finding: compiles it, checks it, measures it.
/// `index` and `id` are set when its place is known.
pub fn make(
    sample: &Sample,
    parsed: Option<&Parsed>,
    identity: &Identity,
    candidate: u64,
    options: &Options,
    compiler: &Compiler,
    timings: &mut Timings,
) -> Result<Row, Rejection> {
    let plan = &sample.plan;
    let (backward, verify) = (options.backward, options.emit.verify);
    let mut names: Vec<&str> = Vec::new();
    for step in &plan.steps {
        if !names.contains(&step.kernel.as_str()) {
            names.push(&step.kernel);
        }
    }
    let compiled = artefacts::compile(&plan.text, parsed, &names, backward, verify, compiler, timings)?;
    let seed = Random::new(options.seed, candidate).word();
    let mut checked = match options.emit.verify {
        true => Some(verify::verify(plan, parsed, &compiled, seed, timings)?),
        false => None,
    };
    if let Some(checked) = checked.as_mut().filter(|_| options.mutants > 0) {
        let judge = || mutants::judge(plan, &compiled, &checked.runs, seed, options.mutants, compiler);
        let tally = timings.time("mutants", judge);
        if let Some(share) = tally.share().filter(|share| *share < mutants::LEAST) {
            let message = format!("{} of {} were noticed", tally.killed, tally.judged());
            return Err(Rejection::new("mutants survive", format!("{message}: {share:.2}")));
        }
        checked.verdict.mutants = Some(tally);
    }
    let mut texts = artefacts::texts(&compiled, options.emit, timings)?;
    if let (true, Some(checked)) = (options.emit.standalone, &checked) {
        let cuda = timings.time("cuda text", || artefacts::whole_cuda(&compiled))?;
        texts.standalone = timings.time("standalone", || standalone::source(&compiled, &cuda, plan, &checked.few));
    }
    if let (true, Some(checked)) = (options.emit.idiomatic, &checked) {
        let idiomatic = || idiomatic::source(&compiled, sample, checked.verdict.from_end);
        texts.idiomatic = timings.time("idiomatic", idiomatic);
    }
    let perf = texts
        .ptx
        .as_deref()
        .filter(|_| checked.is_some())
        .and_then(|ptx| timings.time("perf", || perf::count(plan, &compiled, ptx, seed)));
    let (verdict, example) = match checked {
        Some(checked) => {
            let example = checked.example(plan, &compiled);
            (Some(checked.verdict), example)
        }
        None => (None, Example::default()),
    };
    Ok(timings
        .time("row", || row(sample, identity, candidate, options, &compiled, verdict, &example, perf.as_ref(), texts)))
}

fn row(
    sample: &Sample,
    identity: &Identity,
    candidate: u64,
    options: &Options,
    compiled: &Compiled,
    verdict: Option<Verdict>,
    example: &Example,
    perf: Option<&Perf>,
    texts: Texts,
) -> Row {
    let plan = &sample.plan;
    let text = plan.text.as_str();
    let statics = compiled
        .kernels
        .iter()
        .map(|kernel| Statics::of(&compiled.program.module, kernel.forward))
        .fold(Statics::default(), |sum, one| sum + one);
    let instructions = counts(&compiled.program.module);
    let hex = |hash: u64| format!("{hash:016x}");
    let checked = verdict.is_some();
    let verdict = verdict.unwrap_or_default();
    // A gradient that was checked may still be zero somewhere: that is a warning, and no reason.
    let skipped = verdict.grad_skipped.clone().or_else(|| compiled.first().no_backward.clone());
    let skipped = skipped.filter(|_| verdict.grad_ok.is_none());
    let has_code = texts.ptx.is_some() || texts.llvm_nvptx.is_some();
    let mut row = Row::new(Config::Pairs);
    let meaning = &sample.meaning;
    row.set("split", meaning.split);
    row.set("category", sample.category);
    row.set("subcategory", subcategory(identity));
    row.set("domain", sample.domain);
    row.set("family", meaning.family);
    row.set("kinds", Cell::from_iter(meaning.kinds.iter().copied()));
    row.set("formula", meaning.source.as_str());
    for (n, name) in ["task.short", "task.medium", "task.long"].into_iter().enumerate() {
        row.set(name, meaning.tasks[n].as_str());
    }
    let (asked, answer) = (meaning.prompt(), format!("```python\n{}\n```", text.trim_end()));
    row.set("messages[].role", Cell::from_iter(["user", "assistant"]));
    row.set("messages[].content", Cell::from_iter([asked, answer.as_str()]));
    row.set("tags", tags(identity, plan, statics.atomics > 0, compiled));
    let lengths = [("tokens", tokens as fn(&str) -> u64), ("chars", |text| text.len() as u64)].map(|(name, count)| {
        let of = |text: &Option<String>| text.as_deref().map_or(0, count);
        let counts = [
            ("py", count(text)),
            ("cuda", of(&texts.cuda_forward) + of(&texts.cuda_backward)),
            ("adjoint", of(&texts.adjoint)),
            ("ir", of(&texts.llvm_host) + of(&texts.llvm_nvptx)),
            ("ptx", of(&texts.ptx)),
        ];
        (name, counts)
    });
    row.set("python_source", text);
    let version = texts.ptx.as_deref().and_then(ptx_version).map(str::to_string);
    row.set("cuda_forward", texts.cuda_forward);
    row.set("cuda_backward", texts.cuda_backward);
    row.set("cuda_standalone", texts.standalone);
    row.set("cuda_idiomatic", texts.idiomatic);
    let emit = options.emit;
    let wanted = [("torch_source", emit.torch), ("triton_source", emit.triton), ("numba_source", emit.numba)];
    for (n, (name, _)) in wanted.into_iter().enumerate().filter(|(_, (_, is_wanted))| *is_wanted) {
        row.set(name, meaning.translations.get(n).cloned());
    }
    row.set("adjoint_source", texts.adjoint);
    row.set("llvm_ir_host", texts.llvm_host);
    row.set("llvm_ir_nvptx", texts.llvm_nvptx);
    row.set("ptx", texts.ptx);
    row.set("ptx_arch", artefacts::arch().filter(|_| has_code).map(|arch| arch.name));
    row.set("ptx_version", version);
    entry::fill(&mut row, plan, identity, compiled);
    let shown = |list: &'_ [Tensor]| if options.emit.lean { Vec::new() } else { list.to_vec() };
    tensors(&mut row, "inputs", &shown(&example.inputs));
    tensors(&mut row, "outputs", &shown(&example.outputs));
    row.set("alpha_hash", hex(identity.alpha));
    row.set("ast_shape_hash", hex(identity.shape));
    row.set("skeleton_hash", hex(identity.skeleton));
    let sketch = identity.sketch.0.into_iter().filter(|_| !options.emit.lean);
    row.set("minhash", Cell::from_iter(sketch));
    row.set("verify.host_ok", checked.then_some(verdict.host_ok));
    row.set("verify.n_cases", verdict.shapes.len());
    row.set("verify.shapes", Cell::from_iter(verdict.shapes));
    row.set("verify.max_abs", checked.then_some(verdict.max_abs));
    row.set("verify.max_ulp", checked.then_some(verdict.max_ulp));
    row.set("verify.f64_ok", verdict.f64_ok);
    row.set("verify.f64_error", verdict.f64_ok.map(|_| verdict.f64_error));
    row.set("verify.reference_ok", verdict.reference_error.map(|_| true));
    row.set("verify.reference_error", verdict.reference_error);
    row.set("verify.order_free", checked.then_some(verdict.order_free));
    row.set("verify.mutants", verdict.mutants.map(|tally| tally.judged()));
    row.set("verify.mutants_killed", verdict.mutants.and_then(|tally| tally.share()));
    row.set("verify.grad_ok", verdict.grad_ok);
    row.set("verify.grad_rel_err", verdict.grad_ok.map(|_| verdict.grad_error));
    row.set("verify.grad_skipped_reason", skipped);
    row.set("complexity.stmts", identity.statements);
    row.set("complexity.ast_nodes", identity.nodes);
    row.set("complexity.ast_depth", identity.tree_depth);
    row.set("complexity.cf_depth", identity.control_depth);
    row.set("complexity.cyclomatic", identity.cyclomatic);
    row.set("complexity.halstead_volume", identity.volume);
    row.set("complexity.builtins", identity.builtins.len());
    row.set("complexity.ir_insts", instructions.all);
    row.set("complexity.mem_ops", instructions.memory);
    row.set("complexity.atomics", instructions.atomics);
    let score = complexity_score(identity);
    row.set("complexity_score", score);
    row.set("difficulty", difficulty(score));
    row.set("perf_static.flops", statics.flops);
    row.set("perf_static.int_ops", statics.int_ops);
    row.set("perf_static.bytes_read", statics.bytes_read);
    row.set("perf_static.bytes_written", statics.bytes_written);
    row.set("perf_static.arithmetic_intensity", statics.intensity());
    row.set("perf_static.atomics", statics.atomics);
    row.set("perf_static.accesses_next", statics.accesses_next);
    row.set("perf_static.accesses_same", statics.accesses_same);
    row.set("perf_static.accesses_other", statics.accesses_other);
    row.set("perf_static.divergent", statics.divergent);
    row.set("perf_static.open_loops", statics.open_loops);
    costs(&mut row, perf);
    for (name, counts) in lengths {
        for (of, count) in counts {
            row.set(&format!("{name}.{of}"), count);
        }
    }
    row.set("provenance.mode", meaning.mode);
    origin(&mut row, candidate, options, meaning.licence);
    row
}

/// Where a row of any table comes from.
pub fn origin(row: &mut Row, candidate: u64, options: &Options, licence: &str) {
    row.set("provenance.seed", options.seed.to_string());
    row.set("provenance.candidate", candidate.to_string());
    row.set("generator_version", format!("kc {}", options.version));
    row.set("schema_version", SCHEMA);
    row.set("license", licence);
}

/// What the launches cost, by the names of Nsight Compute for them.
fn costs(row: &mut Row, perf: Option<&Perf>) {
    let count = |metric: &str| perf.and_then(|perf| perf.count(metric));
    let value = |metric: &str| perf.and_then(|perf| perf.value(metric));
    row.set("perf.threads", perf.map(|perf| perf.threads));
    row.set("perf.warp_insts", count("smsp__inst_executed.sum"));
    row.set("perf.active_lanes", value("smsp__thread_inst_executed_per_inst_executed.ratio"));
    row.set("perf.uniform_branches", value("smsp__sass_average_branch_targets_threads_uniform.pct"));
    for (side, requests, sectors) in
        [("ld", "load_requests", "sectors_per_load"), ("st", "store_requests", "sectors_per_store")]
    {
        row.set(&format!("perf.{requests}"), count(&format!("l1tex__t_requests_pipe_lsu_mem_global_op_{side}.sum")));
        let ratio = format!("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{side}.ratio");
        row.set(&format!("perf.{sectors}"), value(&ratio));
    }
    row.set("perf.sectors", count("memory_l2_theoretical_sectors_global"));
    row.set("perf.sectors_ideal", count("memory_l2_theoretical_sectors_global_ideal"));
    let bytes = ["dram__bytes_read.sum", "dram__bytes_write.sum"].map(|metric| count(metric).unwrap_or(0));
    row.set("perf.dram_bytes", perf.map(|_| bytes.iter().sum::<u64>()));
    let (registers, warps) = (perf.and_then(|perf| perf.registers), perf.and_then(|perf| perf.warps));
    row.set("perf.registers_at_least", registers.map(|(least, _)| least));
    row.set("perf.registers_at_most", registers.map(|(_, most)| most));
    row.set("perf.warps_at_least", warps.map(|(least, _)| least));
    row.set("perf.warps_at_most", warps.map(|(_, most)| most));
}

/// Arrays as rows show them, in the list `name` of `io`.
fn tensors(row: &mut Row, name: &str, list: &[Tensor]) {
    let mut set = |field: &str, cell: fn(&Tensor) -> String| {
        row.set(&format!("io.{name}{LIST}.{field}"), Cell::from_iter(list.iter().map(cell)));
    };
    set("name", |tensor| tensor.name.clone());
    set("dtype", |tensor| tensor.dtype.clone());
    set("shape", |tensor| json!(tensor.shape).to_string());
    set("data", |tensor| tensor.data.clone());
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

/// Where a fifth of the programs of the library ends and the next begins, by their scores.
const FIFTHS: [f64; 4] = [0.61, 0.89, 1.2, 1.66];

/// From 1 to 5, by fifths of the programs.
pub fn difficulty(score: f64) -> u32 {
    1 + FIFTHS.iter().filter(|&&end| score > end).count() as u32
}

/// Grows with size, nesting and decisions; about 1 for the median program. A program has the same
/// score whatever was made of it: it is the text's.
pub fn complexity_score(identity: &Identity) -> f64 {
    let terms = f64::from(identity.statements) / 27.0
        + f64::from(identity.control_depth)
        + f64::from(identity.cyclomatic) / 4.0
        + identity.volume / 4200.0;
    (terms * 25.0).round() / 100.0
}

fn tags(identity: &Identity, plan: &Plan, atomics: bool, compiled: &Compiled) -> Cell {
    let rank = plan.steps.iter().map(|step| step.dims.len()).max().unwrap_or(1);
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
    add("gradient", compiled.has_backward());
    add("struct", plan.text.contains("@wp.struct"));
    add("kernels", compiled.kernels.len() > 1);
    add("random", identity.builtins.iter().any(|b| b == "rand_init"));
    Cell::from_iter(tags)
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
            if inst.op.access().is_some() {
                counts.memory += 1;
                counts.atomics += u32::from(inst.op.properties().atomic);
            }
        });
    }
    counts
}

/// Words, numbers and single signs: a count that every tool can repeat.
fn tokens(text: &str) -> u64 {
    // Comparisons alone, on pieces whose count fits into a byte: a row has tens of thousands of
    // bytes, and so sixteen are looked at together.
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
