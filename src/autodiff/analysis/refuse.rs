//! What can't be differentiated, and why: findings with a code, before any reverse code is built.

use super::facts::ForwardFacts;
use super::floats::has_tangent;
pub use super::messages::{fault, limit, no_gradient};
use super::messages::{order, overwrite};
use super::world::World;
use crate::analysis::alias::{Root, root};
use crate::diag::Diagnostic;
use crate::ids::IdSet;
use crate::ir::{Access, AtomicOp, Derivative, Function, InstId, Op, ValueId, arrays, effects, jumps, nested, values};
use crate::limits::{MAX_ORIGINS, MAX_VIEWS};
use crate::passes::loop_exits::is_single_exit;
use crate::source::Span;
use crate::types::Type;

/// What is said of a barrier of the launch.
pub const GRID_SYNC: &str = "`grid_sync`, behind which threads read what others wrote: two launches have gradients";

/// The findings about one function in normal form, which can't compute the results of the
/// instructions `lost` again.
pub fn findings(world: &World<'_>, function: &Function, facts: &ForwardFacts, lost: &[InstId]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let structs = &world.module.structs;
    let name = &function.source_name;
    let mut unknown: IdSet<ValueId> = IdSet::default();
    if !is_single_exit(function) {
        found.push(limit(function.span, format!("`{name}` leaves a region in the middle")));
    }
    function.walk(function.entry, &mut |id, inst| {
        let active_result = facts.activity.any_result(inst);
        if matches!(inst.op, Op::GridSync) {
            found.push(limit(inst.span, GRID_SYNC.to_string()));
        }
        match &inst.op {
            Op::Atomic { op: AtomicOp::Exchange, value, .. } if facts.activity.is_active(*value) => {
                found.push(order(inst.span, "an atomic exchange of values with gradients"));
            }
            // Whether it replaces a content with an adjoint is not known afterwards, whatever the
            // value.
            Op::AtomicCas { new, .. } if function.ty(*new).holds_floats(structs) => {
                found.push(order(inst.span, "an atomic compare-and-swap of floats"));
            }
            Op::Atomic { .. } | Op::AtomicCas { .. } if active_result => {
                found.push(order(inst.span, "the value returned by a float atomic"));
            }
            Op::Call(callee, _)
                if world.module.functions[*callee].native.is_some()
                    && matches!(world.module.functions[*callee].derivative, Derivative::None(_)) =>
            {
                found.push(no_gradient(&world.module.functions[*callee].source_name, "it is CUDA text", inst.span));
            }
            // Its rule would add to the adjoints of these, and read what they held.
            Op::Call(callee, args)
                if matches!(world.module.functions[*callee].derivative, Derivative::Rule { .. })
                    && args.iter().any(|&arg| {
                        let ty = function.ty(arg);
                        ty.is_local_array() && has_tangent(ty, structs) && !facts.activity.is_fixed(arg)
                    }) =>
            {
                let callee = &world.module.functions[*callee].source_name;
                found.push(limit(
                    inst.span,
                    format!("the custom gradient of `{callee}`, which takes a tile or a local array"),
                ));
            }
            Op::Call(..) if lost.contains(&id) => {
                found.push(overwrite(inst.span, "the result of this call"));
            }
            Op::Atomic { .. } | Op::AtomicCas { .. } if lost.contains(&id) => {
                found.push(overwrite(inst.span, "the value that this atomic returned"));
            }
            Op::Load(_) | Op::Call(..) if lost.contains(&id) => {
                found.push(overwrite(inst.span, "the value that was read here"));
            }
            Op::Call(callee, args)
                if active_result
                    && matches!(world.module.functions[*callee].derivative, Derivative::Rule { replay: None, .. })
                    && !world.effects[*callee].writes_memory()
                    && args.iter().any(|&arg| {
                        function.ty(arg).bears_array(structs) && facts.written.overwrites_any(function, arg)
                    }) =>
            {
                let callee = &world.module.functions[*callee].source_name;
                found.push(overwrite(inst.span, &format!("what the custom gradient of `{callee}` reads")));
            }
            Op::Load(Access { array, .. }) | Op::Store { access: Access { array, .. }, .. }
                if matches!(function.ty(*array), Type::Local(_)) =>
            {
                let floats = if let Op::Store { value, .. } = &inst.op {
                    function.ty(*value).holds_floats(structs)
                } else {
                    active_result
                };
                // One that this function makes has a shadow, like an array of the caller's.
                let known = matches!(root(function, *array), Root::Local(_));
                if floats && !known && unknown.insert(*array) {
                    found.push(limit(inst.span, "a local array that a branch or loop chooses".to_string()));
                }
            }
            Op::Load(Access { array, .. })
            | Op::Store { access: Access { array, .. }, .. }
            | Op::Atomic { access: Access { array, .. }, .. } => {
                let floats = if let Op::Store { value, .. } | Op::Atomic { value, .. } = &inst.op {
                    function.ty(*value).holds_floats(structs)
                } else {
                    active_result
                };
                if floats
                    && let Some(array) = unknown_array(function, *array)
                    && unknown.insert(array)
                {
                    found.push(chosen(inst.span));
                }
            }
            Op::Call(callee, args)
                if world.generated.contains(callee)
                    && args.iter().any(|&arg| function.ty(arg).bears_array(structs)) =>
            {
                let callee = &world.module.functions[*callee];
                let of = match callee.derivative {
                    Derivative::AdjointOf(of) => &world.module.functions[of].source_name,
                    _ => &callee.source_name,
                };
                let name = format!("wp.grad({})", of.strip_prefix("adj_").unwrap_or(of));
                found.push(no_gradient(&name, "it writes to gradients of arrays", inst.span));
            }
            Op::Call(callee, args) if active_result || facts.writing.contains(&id) => {
                let floats = |&arg: &ValueId| match function.ty(arg) {
                    Type::Array(_) | Type::Struct(_) => has_tangent(function.ty(arg), structs),
                    _ => facts.activity.is_active(arg),
                };
                if !active_result && !args.iter().any(floats) {
                    return;
                }
                let callee = &world.module.functions[*callee];
                if let Derivative::None(reason) = &callee.derivative {
                    found.push(no_gradient(&callee.source_name, reason, inst.span));
                }
                for &arg in args.iter().filter(|&&arg| matches!(function.ty(arg), Type::Array(_))) {
                    if let Some(array) = unknown_array(function, arg)
                        && has_tangent(function.ty(array), structs)
                        && unknown.insert(array)
                    {
                        found.push(chosen(inst.span));
                    }
                }
            }
            values!() | Op::Call(..) | arrays!() | Op::AtomicCas { .. } | effects!() | nested!() | jumps!() => {}
        }
    });
    found
}

/// The array, without views of it, if its adjoints can't be found.
fn unknown_array(function: &Function, array: ValueId) -> Option<ValueId> {
    let mut at = array;
    while let Some(Op::View(inner, _)) = function.op(at) {
        at = *inner;
    }
    let mut whole = at;
    while let Some(Op::Extract(inner, _)) = function.op(whole) {
        whole = *inner;
    }
    // One inside an element of another has a gradient of its own; null has none.
    let op = function.op(whole);
    let known = root(function, at) != Root::Unknown || matches!(op, Some(Op::Load(_) | Op::Zero));
    (!known).then_some(at)
}

fn chosen(span: Span) -> Diagnostic {
    let what = format!(
        "an array that a branch or loop chooses, not among at most {MAX_ORIGINS} that are parameters or at most {MAX_VIEWS} views of them"
    );
    limit(span, what)
}
