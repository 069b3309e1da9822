//! What does the reverse of a kernel keep, where, and why? For the metadata, the remark I0608 and
//! readers of the text.

use super::Strategy;
use super::plan::{Plan, body_of};
use crate::autodiff::Store;
use crate::autodiff::analysis::world::World;
use crate::diag::{Code, Diagnostic};
use crate::ir::{Function, Inst, Kept, Op};
use crate::source::Span;
use crate::types::Layout;

/// A store's name, as `--store` takes it.
fn name(store: Store) -> &'static str {
    match store {
        Store::Unroll => "unroll",
        Store::Stack => "stack",
        Store::Tape => "tape",
        Store::Checkpoint => "checkpoint",
    }
}

/// What a loop keeps; None: nothing, or what is left of it is no loop.
pub fn kept(world: &World<'_>, function: &Function, plan: &Plan, inst: &Inst) -> Option<Kept> {
    let (body, first) = body_of(&inst.op)?;
    if !plan.keeps() || plan.store == Store::Unroll {
        return None;
    }
    let params = &function.blocks[body].params[first..];
    let numbers = if plan.store == Store::Checkpoint { plan.snapshot.clone() } else { plan.kept() };
    let size = |&n: &usize| Layout::of(function.ty(params[n]), &world.module.structs).size;
    let mut names: Vec<String> = Vec::new();
    for &n in &numbers {
        let name = function.values[params[n]].name.as_ref().map_or("a value".to_string(), |name| format!("`{name}`"));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // A checkpoint also says which iteration it is of.
    let (bytes, slots) = match plan.store {
        Store::Checkpoint => (numbers.iter().map(size).sum::<u32>() + 4, Some(u64::from(plan.snapshots))),
        _ => (numbers.iter().map(size).sum::<u32>(), plan.iterations),
    };
    let why = match (plan.store, plan.iterations) {
        (Store::Stack, _) => "the number of iterations is known and small",
        (Store::Checkpoint, None) => {
            "the number of iterations is unknown: some states are kept and the others computed again"
        }
        (Store::Checkpoint, Some(_)) => {
            "all iterations would take too much: some states are kept and the others computed again"
        }
        (Store::Tape, _) => "the host provides the room",
        (Store::Unroll, _) => "each iteration has its own code",
    };
    Some(Kept { store: name(plan.store), bytes, slots, what: names.join(", "), why: why.to_string() })
}

/// The remarks about all loops that keep state, and about the log.
pub fn remarks(world: &World<'_>, function: &Function, strategy: &Strategy) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let remark =
        |span: Span, message: String, label: &str| Diagnostic::new(Code::I0608, message.as_str()).label(span, label);
    function.walk(function.entry, &mut |id, inst| {
        let Some(kept) = strategy.plans.get(&id).and_then(|plan| kept(world, function, plan, inst)) else { return };
        let unit = if kept.store == "checkpoint" { "snapshot" } else { "iteration" };
        let room = match (kept.store, kept.slots) {
            ("tape", _) => {
                "as many as the thread needs, in a buffer of the host; too small a buffer is reported".to_string()
            }
            (_, Some(slots)) => format!("{slots} of them in local memory"),
            (_, None) => "in local memory".to_string(),
        };
        let message = format!("{} bytes a {unit} are kept per thread ({}), {room}", kept.bytes, kept.what);
        let label = if let Op::While { .. } = inst.op {
            "the reverse of this loop reads them; the trip count is not known"
        } else {
            "the reverse of this loop reads them"
        };
        found.push(remark(inst.span, message, label).note(format!("{}: {}", kept.store, kept.why)));
    });
    let log = &strategy.log;
    if !log.at.is_empty() {
        let slots = log.slots.map_or("as many slots as the thread needs".to_string(), |n| format!("{n} slots"));
        let first = log.at.keys().min().map_or(function.span, |&id| function.insts[id].span);
        let bytes: u32 = log.scalars.iter().map(|s| s.size()).sum();
        let message = format!("{slots} of {bytes} bytes are logged per thread: {}", log.reason);
        found.push(remark(first, message, "read here").note("the augmented forward entry writes the log"));
    }
    found
}
