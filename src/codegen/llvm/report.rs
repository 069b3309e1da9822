//! How will the host run the kernels, and why so? For people, and for tests of the decisions.

use std::fmt::Write as _;

use super::machine::Machine;
use super::options::{Cpu, HostOptions, Opt};
use super::simd::{self, Plan, Reach};
use crate::analysis::alias::{Root, root};
use crate::analysis::effects::effects;
use crate::analysis::idle_axes::IdleAxes;
use crate::codegen::privatization::{self, NamedApart};
use crate::codegen::shadow;
use crate::ir::{FuncId, Function, FunctionKind, Module, Op, ValueId, arrays, effects, jumps, nested, values};
use crate::passes::block_threads::{self, Tensor};
use crate::types::Type;

/// For each kernel: its lanes, or why it has none; where the elements are that its lanes use; how
/// workers share a launch; which coordinates it does not ask for.
///
/// ```text
/// kernel scale forward
///   lanes: 8, in vectors of 256 bits; a gain of 4.0
///     load x: neighbouring elements
///     store y: neighbouring elements, each of one thread
///   workers: each takes threads as they come
/// ```
///
/// Of products of tiles it says what computes them on a GPU, and of threads of a block what one of
/// them does for all (W0412).
///
/// An object of several versions has the lanes of each, under the name of its level.
pub fn emit_plan(module: &Module, kernels: &[FuncId], options: &HostOptions, tensor: Tensor) -> String {
    let mut text = String::new();
    let (extracted, _) = shadow::extract_all(module, kernels);
    for &kernel in kernels {
        let entry = &module.functions[kernel];
        let _ = writeln!(text, "kernel {} {}", entry.source_name, entry.phase.name());
        for cpu in options.cpu.versions() {
            if let (Cpu::Auto, Cpu::Named(processor)) = (options.cpu, cpu) {
                let _ = writeln!(text, "  {}:", processor.name);
            }
            let bits = Machine::host_vector_bits(cpu);
            match simd::prepare(&extracted, kernel, cpu) {
                _ if options.opt != Opt::Full => {
                    text.push_str("  lanes: none, because little time is spent on the code\n");
                }
                Ok((function, plan, count)) => {
                    let _ = write!(text, "  lanes: {count}, in vectors of {bits} bits; a gain of {:.1}", plan.gain);
                    if plan.vectors > 1 {
                        let lanes = count * plan.vectors;
                        let _ = write!(
                            text,
                            "; in rows of {} threads and more {lanes}, in several vectors",
                            plan.long_row(lanes)
                        );
                    }
                    text.push('\n');
                    accesses(&function, &plan, &mut text);
                    for &key in &plan.keys {
                        let _ = writeln!(text, "    one by one where two have the same {}", key_name(&function, key));
                    }
                }
                Err(why) => _ = writeln!(text, "  lanes: none, because {why}"),
            }
        }
        let _ = writeln!(text, "  workers: {}", workers(module, kernel));
        idle(module, kernel, &mut text);
        if entry.by_block {
            products(module, kernel, tensor, &mut text);
            serial(module, kernel, &mut text);
        }
    }
    text
}

/// A line for each coordinate that the kernel has and does not ask for.
fn idle(module: &Module, kernel: FuncId, text: &mut String) {
    let FunctionKind::Kernel { rank } = module.functions[kernel].kind else { return };
    let found = IdleAxes::of(module, kernel).map_or(Default::default(), |axes| axes.idle);
    for n in (0..usize::from(rank)).filter(|&n| found[n]) {
        let _ = writeln!(text, "  coordinate {n}: not asked for; kc runs one of the threads that differ in it alone");
    }
}

/// A line for each product of tiles: what computes it on a GPU.
fn products(module: &Module, kernel: FuncId, tensor: Tensor, text: &mut String) {
    for product in block_threads::products(module, kernel, tensor) {
        let _ = writeln!(text, "  product {}", product.words(tensor));
    }
}

/// A line for each part that thread 0 of a block does on a GPU for all threads.
fn serial(module: &Module, kernel: FuncId, text: &mut String) {
    for found in block_threads::unordered(module, kernel, &effects(module)).iter().filter(|found| found.serial) {
        let array = found.array.as_deref().unwrap_or("a tile");
        let _ = writeln!(text, "  one thread for all {}: stores to {array}", found.threads);
    }
}

/// A line for each way in which lanes use an array, in the order of the code.
fn accesses(function: &Function, plan: &Plan, text: &mut String) {
    let mut lines: Vec<(String, usize)> = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        let (verb, access) = match &inst.op {
            Op::Load(access) => ("load".to_string(), access),
            Op::Store { access, .. } => ("store".to_string(), access),
            Op::Atomic { op, access, .. } => (format!("atomic {}", op.name()), access),
            Op::AtomicCas { access, .. } => ("atomic cas".to_string(), access),
            values!() | Op::Call(..) | arrays!() | effects!() | nested!() | jumps!() => return,
        };
        let array = access.array;
        let mut line = format!("{verb} {}: ", name(function, array));
        line.push_str(match plan.reach(function, access) {
            _ if plan.is_of_lane(function, array) => "of each lane its own",
            Reach::Same => "one element",
            Reach::Neighbours => "neighbouring elements",
            Reach::Apart => "scattered elements",
        });
        if plan.is_sum(function, array) {
            line.push_str(", added to and nothing else");
        } else if matches!(function.ty(array), Type::Array(_)) && plan.is_private(function, array) {
            line.push_str(", each of one thread");
        }
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, times)) => *times += 1,
            None => lines.push((line, 1)),
        }
    });
    for (line, times) in lines {
        let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
        let _ = writeln!(text, "    {line}{times}");
    }
}

/// The source name of an array, of the one that it is a view of, or of the parameter that it is a
/// field of.
fn name(function: &Function, array: ValueId) -> String {
    let own = |value: ValueId| function.values[value].name.clone();
    let of_root = || match root(function, array) {
        Root::Param(n, _) => own(*function.params().get(n as usize)?),
        Root::Local(local) => own(local),
        _ => None,
    };
    own(array).or_else(of_root).unwrap_or_else(|| "an array".to_string())
}

/// A key as a person would write it: by its name, or as the element that it is read from.
fn key_name(function: &Function, key: ValueId) -> String {
    if let Some(name) = &function.values[key].name {
        return name.clone();
    }
    if let Some(Op::Load(access)) = function.op(key) {
        return format!("element of {}", name(function, access.array));
    }
    "index".to_string()
}

/// How the workers of a launch with several share it.
fn workers(module: &Module, kernel: FuncId) -> String {
    let Some(sums) = privatization::summed(module, kernel) else {
        return "their updates of arrays are atomic".to_string();
    };
    if sums.is_empty() {
        return "each takes threads as they come, without atomics".to_string();
    }
    let copied: Vec<&str> = sums.iter().filter(|sum| sum.apart.is_none()).map(|sum| sum.name.as_str()).collect();
    let shared =
        sums.iter().filter_map(|sum| Some(format!("to {} itself ({})", sum.name, in_words(sum.apart.as_ref()?))));
    let copied =
        (!copied.is_empty()).then(|| format!("to copies of {}, which are summed at the end", copied.join(", ")));
    format!("each adds {}", shared.chain(copied).collect::<Vec<_>>().join(", "))
}

fn in_words(apart: &NamedApart) -> String {
    match apart {
        NamedApart::Bands { gap: 0, head: 0 } => "rows of the launch are apart".to_string(),
        NamedApart::Bands { gap, head: 0 } => format!("rows more than {gap} others away are apart"),
        NamedApart::Bands { gap, head } => {
            format!("rows more than {gap} others away are apart, but for the first {head}")
        }
        NamedApart::Ranges { bounds, .. } => format!("rows are apart where the numbers in {bounds} rise"),
    }
}
