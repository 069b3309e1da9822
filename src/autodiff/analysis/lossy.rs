//! Where does a gradient end although the value goes on? Conversions of active floats to integers,
//! functions that are flat almost everywhere, and floats made of other floats' bits. Looked for in
//! the code as written, before functions are inlined.

use crate::autodiff::analysis::messages;
use std::collections::HashMap;

use super::activity::{Activity, writing_calls};
use super::bits::BitFunctions;
use super::refuse;
use crate::analysis::effects::EffectTable;
use crate::diag::Diagnostic;
use crate::ids::IdSet;
use crate::ir::{
    Access, BlockId, Function, Inst, InstId, Module, Op, UnaryOp, ValueDef, ValueId, accesses, arrays, effects, jumps,
    nested, parts, straight, threads,
};

/// The findings about one function: W0604, and where what is lost is no step but the whole
/// derivative, the error E0605.
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
        Op::Const(_)
        | Op::Binary(..)
        | Op::Compare(..)
        | Op::Fma(..)
        | parts!()
        | threads!()
        | arrays!()
        | accesses!()
        | effects!()
        | nested!()
        | jumps!() => false,
    };
    if !function.has(is_suspect) {
        return found;
    }
    let activity = Activity::of(module, effects, &writing_calls(module, effects, function), function, parameters);
    let is_float = |v: ValueId| function.ty(v).scalar_part().is_some_and(|s| s.is_float());
    let bits = bit_functions.spread(function, IdSet::default(), |v| activity.varies(v));
    let mut refused = false;
    function.walk(function.entry, &mut |_, inst| {
        let made = if let Op::Bitcast(a) = &inst.op {
            (bits.contains(a) || is_float(*a) && activity.varies(*a))
                && inst.results.iter().any(|&r| is_float(r) && activity.is_useful(r))
        } else if let Op::Call(callee, args) = &inst.op {
            bit_functions.takes(*callee)
                && args.iter().any(|a| bits.contains(a))
                && (inst.results.iter().any(|&r| activity.is_useful(r)) || effects[*callee].stores_any)
        } else {
            false
        };
        if made {
            refused = true;
            found.push(refuse::no_gradient("wp.cast", "a float is made of the bits of another one", inst.span));
        }
    });
    let mut indexes = None;
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
            straight!() | nested!() | jumps!() => None,
        };
        let Some((value, what)) = lost else { return };
        // Which element is read does depend on it in steps alone, as everybody knows who looks up.
        let indexes = indexes.get_or_insert_with(|| indexing(function));
        let rounds = matches!(inst.op, Op::Cast(_) | Op::Unary(..));
        if rounds && inst.results.iter().any(|result| indexes.contains(result)) {
            return;
        }
        if found.iter().any(|d| d.span() == Some(inst.span)) {
            return;
        }
        found.push(messages::lossy(&what, source(function, value).as_deref(), inst.span));
    });
    found
}

/// The values that the indices of arrays are computed from, up to the floats that these were before
/// they were rounded and converted. What a function is called with may be an index there.
fn indexing(function: &Function) -> IdSet<ValueId> {
    let (mut left, mut owners): (Vec<ValueId>, HashMap<BlockId, InstId>) = (Vec::new(), HashMap::new());
    function.walk(function.entry, &mut |id, inst| {
        inst.op.blocks().into_iter().for_each(|block| _ = owners.insert(block, id));
        if let Op::Call(_, args) = &inst.op {
            left.extend(args.iter().copied());
        } else if let Op::View(..) = &inst.op {
            inst.op.for_each_operand(|value| left.push(value));
        } else if let Some(access) = inst.op.access() {
            left.extend(access.indices.iter().copied());
        }
    });
    let is_int = |v: ValueId| function.ty(v).scalar_part().is_some_and(|s| s.is_int());
    left.retain(|&value| is_int(value));
    let mut found = IdSet::default();
    while let Some(value) = left.pop() {
        if !found.insert(value) {
            continue;
        }
        let from = match function.values[value].def {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Param(block, _) => owners.get(&block).copied(),
        };
        let Some(inst) = from.map(|inst| &function.insts[inst]) else { continue };
        match inst.op {
            Op::Load(_) | Op::Call(..) => {}
            Op::Cast(a) => left.push(a),
            Op::Unary(op, a) if is_flat(op) => left.push(a),
            Op::Const(_)
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::Fma(..)
            | Op::Bitcast(_)
            | parts!()
            | threads!()
            | arrays!()
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | effects!()
            | nested!()
            | jumps!() => {
                let mut take = |value| left.extend(Some(value).filter(|&value| is_int(value)));
                inst.op.for_each_operand(&mut take);
                for block in inst.op.blocks() {
                    if let Some(last) = function.terminator(block) {
                        last.op.for_each_operand(&mut take);
                    }
                }
            }
        }
    }
    found
}

/// What a float was before it was rounded.
fn before_steps(function: &Function, value: ValueId) -> ValueId {
    if let Some(Op::Unary(op, a)) = function.op(value)
        && is_flat(*op)
    {
        before_steps(function, *a)
    } else {
        value
    }
}

/// Whether the derivative is zero almost everywhere.
fn is_flat(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven | UnaryOp::Round)
}

/// The variable or array that a value comes from.
fn source(function: &Function, value: ValueId) -> Option<String> {
    match function.values[value].def {
        ValueDef::Result(inst, _) => {
            if let Op::Load(Access { array, .. }) | Op::View(array, _) | Op::Extract(array, _) =
                &function.insts[inst].op
            {
                source(function, *array)
            } else {
                function.values[value].name.clone()
            }
        }
        ValueDef::Param(..) => function.values[value].name.clone(),
    }
}
