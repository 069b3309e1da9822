//! Where does a gradient end although the value goes on? Conversions of active floats to integers,
//! functions that are flat almost everywhere, and floats made of other floats' bits. Looked for in
//! the code as written, before functions are inlined.

use super::activity::{Activity, writing_calls};
use super::bits::BitFunctions;
use super::refuse;
use crate::analysis::effects::EffectTable;
use crate::diag::{Code, Diagnostic};
use crate::ids::IdSet;
use crate::ir::{Access, Function, Inst, Module, Op, UnaryOp, ValueDef, ValueId};

/// The findings about one function: the warnings AD-CAST, and where what is lost is no step but the
/// whole derivative, the error AD-DROP.
///
/// `parameters`: as for [`Activity::of`].
pub fn findings(
    module: &Module,
    effects: &EffectTable,
    bit_functions: &BitFunctions,
    function: &Function,
    parameters: bool,
) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    if function.library {
        return found;
    }
    let is_suspect = |inst: &Inst| match inst.op {
        Op::Cast(a) | Op::Bitcast(a) => function.ty(a).scalar_part().is_some_and(|s| s.is_float()),
        Op::Unary(op, _) => is_flat(op),
        Op::Call(callee, _) => bit_functions.casts(callee),
        _ => false,
    };
    if !function.has(is_suspect) {
        return found;
    }
    let activity = Activity::of(module, &writing_calls(module, effects, function), function, parameters);
    let is_float = |v: ValueId| function.ty(v).scalar_part().is_some_and(|s| s.is_float());
    let bits = bit_functions.spread(function, IdSet::default(), |v| activity.varies(v));
    let mut refused = false;
    function.walk(function.entry, &mut |_, inst| {
        let made = match &inst.op {
            Op::Bitcast(a) => {
                (bits.contains(a) || is_float(*a) && activity.varies(*a))
                    && inst.results.iter().any(|&r| is_float(r) && activity.is_useful(r))
            }
            Op::Call(callee, args) => {
                bit_functions.takes(*callee)
                    && args.iter().any(|a| bits.contains(a))
                    && (inst.results.iter().any(|&r| activity.is_useful(r)) || effects[*callee].stores_any)
            }
            _ => false,
        };
        if made {
            refused = true;
            found.push(refuse::no_gradient("wp.cast", "a float is made of the bits of another one", inst.span));
        }
    });
    function.walk(function.entry, &mut |_, inst| {
        let lost = match &inst.op {
            Op::Cast(a) if inst.results.iter().any(|&r| function.ty(r).scalar_part().is_some_and(|s| s.is_int())) => {
                let a = before_steps(function, *a);
                activity.varies(a).then(|| (a, "a conversion to an integer".to_string()))
            }
            Op::Bitcast(a) if is_float(*a) && !refused => {
                activity.varies(*a).then(|| (*a, "the bits of a float".to_string()))
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

/// What a float was before it was rounded.
fn before_steps(function: &Function, value: ValueId) -> ValueId {
    match function.def(value).map(|inst| &inst.op) {
        Some(Op::Unary(op, a)) if is_flat(*op) => before_steps(function, *a),
        _ => value,
    }
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
