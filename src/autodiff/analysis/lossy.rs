//! Where does a gradient end although the value goes on? Conversions of active floats to integers, and functions that are
//! flat almost everywhere. Looked for in the code as written, before functions are inlined.

use super::activity::{Activity, writing_calls};
use crate::analysis::effects::EffectTable;
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, Function, Inst, Module, Op, UnaryOp, ValueDef, ValueId};

/// The warnings AD-CAST about one function.
pub fn warnings(module: &Module, effects: &EffectTable, function: &Function) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    if function.library {
        return found;
    }
    let is_suspect = |inst: &Inst| match inst.op {
        Op::Cast(a) => function.ty(a).scalar_part().is_some_and(|s| s.is_float()),
        Op::Unary(op, _) => is_flat(op),
        _ => false,
    };
    if !function.has(is_suspect) {
        return found;
    }
    let activity = Activity::of(module, &writing_calls(module, effects, function), function);
    function.walk(function.entry, &mut |_, inst| {
        let lost = match &inst.op {
            Op::Cast(a) if inst.results.iter().any(|&r| function.ty(r).scalar_part().is_some_and(|s| s.is_int())) => {
                activity.varies(*a).then(|| (*a, "a conversion to an integer".to_string()))
            }
            Op::Unary(op, a) if is_flat(*op) && inst.results.iter().any(|&r| activity.is_useful(r)) => {
                activity.varies(*a).then(|| (*a, format!("`{}`", op.name())))
            }
            _ => None,
        };
        let Some((value, what)) = lost else { return };
        if found.iter().any(|d| d.span() == Some(inst.span)) {
            return;
        }
        let mut message = format!("AD-CAST: the gradient through {what} is zero almost everywhere");
        if let Some(name) = source(function, value) {
            message.push_str(&format!("; `{name}` gets none here"));
        }
        found.push(Diagnostic::new(Code::W0604, message).label(inst.span, "no gradient passes here"));
    });
    found
}

/// Whether the derivative is zero almost everywhere.
fn is_flat(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven | UnaryOp::Round)
}

/// The variable or array that a value comes from.
fn source(function: &Function, value: ValueId) -> Option<String> {
    match function.values[value].def {
        ValueDef::Result(inst, _) => match &function.insts[inst].op {
            Op::Load(Access { array, .. }) | Op::View(array, _) | Op::Extract(array, _) => source(function, *array),
            _ => function.values[value].name.clone(),
        },
        ValueDef::Param(..) => function.values[value].name.clone(),
    }
}
